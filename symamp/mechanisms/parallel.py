"""One of several attributes at random, or a sample of the users: one part is drawn and sent with its index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Self

import sympy as sp

from symamp.algebra.order import is_zero, sign
from symamp.derivation.composed import Composed
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.local_budget import largest_ratio
from symamp.derivation.printing import text
from symamp.errors import ArgumentError
from symamp.mechanisms.combined import Combined, checked_part, choice_label, largest
from symamp.mechanisms.finite import FiniteMechanism, check_size
from symamp.mechanisms.mechanism import Mechanism
from symamp.mechanisms.neighbours import ALL
from symamp.mechanisms.silent import Silent
from symamp.numbers.exact_number import printable_number


class Parallel(Combined):
    """One part, drawn with its weight: each user sends (i, R_i(x_i))."""

    name = "parallel"

    def __init__(self, weights: Sequence[sp.Expr], parts: Sequence[Mechanism], neighbours: str) -> None:
        super().__init__(parts, neighbours)
        self.weights = tuple(weights)

    @property
    def _kinds(self) -> tuple[object, ...]:
        """The weighted parts: equal ones of different weights are not exchanged."""
        return tuple(zip(self.weights, self.parts, strict=True))

    def key(self) -> tuple[object, ...]:
        """Return the weighted parts in their order."""
        return ("parallel", self.neighbours, *zip(self.weights, self.parts, strict=True))

    def composed_ratio(self) -> sp.Expr:
        """Return the largest of the parts' ratios."""
        return largest([largest_ratio(p) for p in self.parts], self.parameters)

    def _composed(self, found: list[Decomposition], pair: tuple[str, str], *, complete: bool) -> Decomposition:
        return Composed(found, weights=self.weights, parameters=self.parameters, pair=pair, complete=complete)

    def _of(self, parts: list[Mechanism]) -> Self:
        return type(self)(self.weights, parts, self.neighbours)

    def _choices(
        self, options: Sequence[Sequence[tuple[str, str]]], alone: int | None = None
    ) -> Iterator[tuple[tuple[str, str], ...]]:
        return product(*options)

    def _table(self, tables: list[FiniteMechanism]) -> FiniteMechanism:
        check_size(prod(len(t.inputs) for t in tables), sum(len(t.messages) for t in tables))
        rows = {}
        for choice in product(*(range(len(t.inputs)) for t in tables)):
            label = choice_label([t.inputs[i] for t, i in zip(tables, choice, strict=True)])
            rows[label] = {
                choice_label([str(k), y]): w * p
                for k, (t, i, w) in enumerate(zip(tables, choice, self.weights, strict=True))
                for y, p in zip(t.messages, t.rows[i], strict=True)
            }
        return FiniteMechanism(rows, name=repr(self), parameters=self.parameters)

    def __repr__(self) -> str:
        if len(self.parts) == 2 and isinstance(self.parts[1], Silent):
            return f"poisson_subsample({self.parts[0]!r}, {text(self.weights[0])})"
        shown = ", ".join(f"({text(w)}, {p!r})" for w, p in zip(self.weights, self.parts, strict=True))
        return f"parallel([{shown}]{'' if self.neighbours == 'all' else f', neighbours={self.neighbours!r}'})"


def parallel(weighted: Iterable[tuple[object, Mechanism]], *, neighbours: str = "all") -> Mechanism:
    """Return the mechanism in which a user sends (i, R_i(x_i)), i drawn with the given weights.

    Every part is asked about a value of its own. For one value that all parts are asked about, the upper bounds hold
    as they stand, and lower ones if the data set that is shown holds equal values. Weights are exact numbers that sum
    to 1; parts of weight 0 are left out. Raises ArgumentError otherwise.

    Guarantee
    ---------
    The blanket of the result is the exact one, and as for ``joint`` the pairs that are compared are enough.
    Proof: docs/proofs/joint.md.

    >>> import symamp as sa
    >>> asked = sa.RandomizedResponse(k=2, eps0="log(3)"), sa.RandomizedResponse(k=6, eps0="log(3)")
    >>> sa.parallel([("1/2", asked[0]), ("1/2", asked[1])]).blanket().gamma
    5/8
    """
    if isinstance(weighted, str | bytes) or not isinstance(weighted, Iterable):
        raise ArgumentError("weighted", type(weighted).__name__, "a list of (weight, mechanism)")
    found = []
    for item in weighted:
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise ArgumentError("weighted", repr(item), "pairs (weight, mechanism)")
        weight, part = printable_number(item[0], "weight"), item[1]
        checked_part(part)
        if sign(weight) < 0:
            raise ArgumentError("weight", item[0], "a number >= 0")
        if weight != 0:
            found.append((weight, part))
    if not is_zero(sp.Add(*(w for w, _ in found)) - 1):
        raise ArgumentError("weight", str(sp.Add(*(w for w, _ in found))), "weights that sum to exactly 1")
    if len(found) == 1:
        return found[0][1]
    return Parallel([w for w, _ in found], [checked_part(p) for _, p in found], neighbours)


def poisson_subsample(mechanism: Mechanism, rate: object) -> Mechanism:
    """Return the mechanism in which a user takes part with probability ``rate``, and else sends a silent message.

    ``n`` then counts all users, those who are silent included. Rate 1 gives the mechanism itself. Raises ArgumentError
    for a rate outside (0, 1].

    Guarantee
    ---------
    The blanket of the result is the exact one. Proof: docs/proofs/joint.md.

    >>> import symamp as sa
    >>> asked = sa.RandomizedResponse(k=2, eps0="log(3)")
    >>> sa.poisson_subsample(asked, "1/10").blanket().gamma, asked.blanket().gamma
    (19/20, 1/2)
    """
    share = printable_number(rate, "rate")
    if sign(share) <= 0 or sign(1 - share) < 0:
        raise ArgumentError("rate", rate, "a number in (0, 1]")
    if share == 1:
        checked_part(mechanism)
        return mechanism
    return Parallel([share, 1 - share], [checked_part(mechanism, alone=True), Silent()], ALL)
