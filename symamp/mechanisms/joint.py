"""Several attributes at once: every user sends a report about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, Self, cast

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.derivation.composed import Composed
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.local_budget import largest_ratio
from symamp.errors import ArgumentError
from symamp.mechanisms.combined import Combined, checked_part, choice_label
from symamp.mechanisms.finite import FiniteMechanism, check_size
from symamp.mechanisms.mechanism import Mechanism

_MOST_PARTS = 10_000


class Joint(Combined):
    """All parts at once, as one message: each user sends (R_1(x_1), ..., R_m(x_m))."""

    name = "joint"

    def key(self) -> tuple[object, ...]:
        """Return the parts in their order."""
        return ("joint", self.neighbours, *self.parts)

    def composed_ratio(self) -> sp.Expr:
        """Return the product of the largest ratios: other users may hold any values."""
        ratios = [largest_ratio(p) for p in self.parts]
        return sp.oo if sp.oo in ratios else normal(sp.Mul(*ratios))

    def _composed(self, found: list[Decomposition], pair: tuple[str, str], *, complete: bool) -> Decomposition:
        counts = Counter(found)
        return Composed(
            list(counts), powers=list(counts.values()), parameters=self.parameters, pair=pair, complete=complete
        )

    def _of(self, parts: list[Mechanism]) -> Self:
        return type(self)(parts, self.neighbours)

    def _table(self, tables: list[FiniteMechanism]) -> FiniteMechanism:
        check_size(prod(len(t.inputs) for t in tables), prod(len(t.messages) for t in tables))
        rows = {}
        for choice in product(*(range(len(t.inputs)) for t in tables)):
            entries = product(*(zip(t.messages, t.rows[i], strict=True) for t, i in zip(tables, choice, strict=True)))
            label = choice_label(tuple(t.inputs[i] for t, i in zip(tables, choice, strict=True)))
            rows[label] = {choice_label([y for y, _ in e]): sp.Mul(*(p for _, p in e)) for e in entries}
        return FiniteMechanism(rows, name=repr(self), parameters=self.parameters)

    def __repr__(self) -> str:
        end = "" if self.neighbours == "all" else f", neighbours={self.neighbours!r}"
        if len(set(self.parts)) == 1 and len(self.parts) > 1:
            return f"joint([{self.parts[0]!r}] * {len(self.parts)}{end})"
        return f"joint({', '.join(map(repr, self.parts))}{end})"


def joint(*mechanisms: Mechanism | Sequence[Mechanism], neighbours: str = "all") -> Mechanism:
    """Return the mechanism in which every user sends all reports at once: one message (R_1(x_1), ..., R_m(x_m)).

    Arguments are mechanisms, or one list of them such as ``[m] * 8``; noise with a finite local budget is one. Equal
    ones stay cheap; where unequal ones leave too many components, and for noise, some thousand atoms enclose them. The
    parts' symbols stay symbols, and symbols of one name are one. ``neighbours="one_attribute"`` compares inputs that
    differ for one part only, "all" any two. Raises ArgumentError for what is no mechanism, or symbols of one name with
    different ranges, SupportMismatchError for noise with unbounded ratios.

    Guarantee
    ---------
    The blanket of the result is the exact one; of too many components, it lies between two laws, and their distance is
    part of every bracket. If each part has a pair of inputs that dominates all its pairs, two inputs that differ for
    every part are worst for every eps and n, and only they are compared; otherwise every class of pairs is.
    Proof: docs/proofs/joint.md.

    >>> import symamp as sa
    >>> pair = sa.joint([sa.RandomizedResponse(k=2)] * 2)
    >>> pair.blanket().gamma, pair.local_epsilon()
    (4/(exp(eps0) + 1)**2, 2*eps0)
    >>> many = sa.joint([sa.RandomizedResponse(k=10, eps0="1/8")] * 8)
    >>> sa.epsilon(many, n=10**6, delta="1e-8").upper
    0.000616...
    """
    single = len(mechanisms) == 1 and isinstance(mechanisms[0], list | tuple)
    listed: Sequence[Any] = mechanisms[0] if single else mechanisms  # type: ignore[assignment]
    parts = [checked_part(m) for m in listed]
    if not parts or len(parts) > _MOST_PARTS:
        raise ArgumentError("mechanisms", f"{len(parts)} mechanisms", f"1 to {_MOST_PARTS}")
    return cast(Mechanism, listed[0]) if len(parts) == 1 else Joint(parts, neighbours)
