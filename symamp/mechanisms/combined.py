"""Mechanisms made of others: several attributes at once, one of several at random, a sample of the users."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import prod
from typing import Any, Self

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.order import is_zero, maximum, sign
from symamp.algebra.parameter import Parameter
from symamp.derivation.blanket import blanket
from symamp.derivation.composed import Composed, same_input
from symamp.derivation.decomposition import Component, Decomposition
from symamp.derivation.dominating_pair import dominating_pair
from symamp.derivation.local_budget import largest_ratio
from symamp.derivation.orbit import Orbit
from symamp.derivation.pairs import pair_classes
from symamp.derivation.randomizer import LocalRandomizer
from symamp.derivation.triple import triple
from symamp.errors import ArgumentError, SupportMismatchError, UndecidedOrderError
from symamp.mechanisms.family import Family
from symamp.mechanisms.finite import FiniteMechanism
from symamp.mechanisms.mechanism import Mechanism
from symamp.numbers.exact_number import printable_number

NEIGHBOURS = ("all", "one_attribute")
_MOST_PAIRS = 2000
_MOST_LABELS = 400
_MOST_PARTS = 10_000
Choice = tuple[str, ...]


class Combined(Mechanism):
    """A mechanism whose decompositions follow from those of its parts; an input has one value for each part.

    ``neighbours`` says which inputs of the victim are compared: "all", any two; "one_attribute", two that differ in
    the value for a single part.
    """

    def __init__(self, parts: Sequence[Mechanism], neighbours: str) -> None:
        if neighbours not in NEIGHBOURS:
            raise ArgumentError("neighbours", neighbours, f"one of {', '.join(NEIGHBOURS)}")
        self.parts = tuple(parts)
        self.neighbours = neighbours
        self.parameters = _parameters(self.parts)

    @property
    def is_composed(self) -> bool:
        """True."""
        return True

    # ------------------------------------------------------------------------------------------------- what is asked

    @cached_property
    def _pairs(self) -> tuple[tuple[Choice, Choice], ...]:
        """The pairs of inputs that have to be compared, one for each class."""
        found: dict[object, tuple[Choice, Choice]] = {}
        for chosen in self._candidates():
            if all(a == b for a, b in chosen):
                continue
            pair = tuple(a for a, _ in chosen), tuple(b for _, b in chosen)
            how = Counter((_group(p), a, b) for p, (a, b) in zip(self.parts, chosen, strict=True))
            found.setdefault(frozenset(how.items()), pair)
            if len(found) > _MOST_PAIRS:
                raise SupportMismatchError(
                    "mechanism", f"more than {_MOST_PAIRS} classes of pairs", "parts with dominating pairs, or fewer"
                )
        return tuple(found.values())

    def _candidates(self) -> Iterator[tuple[tuple[str, str], ...]]:
        if self.neighbours == "one_attribute":
            for i in dict.fromkeys(self.parts.index(p) for p in self.parts):
                yield from self._choices([_different(p) if i == j else _equal(p) for j, p in enumerate(self.parts)], i)
            return
        yield from self._choices(
            [_different(p) if dominating_pair(p) else [*_different(p), *_equal(p)] for p in self.parts]
        )

    def _choices(
        self, options: Sequence[Sequence[tuple[str, str]]], alone: int | None = None
    ) -> Iterator[tuple[tuple[str, str], ...]]:
        """Yield one option for each part; parts that are equal are not told apart."""
        groups: dict[object, list[int]] = {}
        for i, part in enumerate(self.parts):
            groups.setdefault((part, i == alone), []).append(i)
        each = [combinations_with_replacement(options[members[0]], len(members)) for members in groups.values()]
        for found in product(*each):
            chosen: list[tuple[str, str]] = [("", "")] * len(self.parts)
            for members, values in zip(groups.values(), found, strict=True):
                for i, value in zip(members, values, strict=True):
                    chosen[i] = value
            yield tuple(chosen)

    @property
    def worst_is_all_different(self) -> bool:
        """Whether two inputs that differ for every part are proved to be worst for every eps and n.

        Proof: docs/proofs/joint.md.
        """
        return self.neighbours == "all" and all(dominating_pair(p) for p in self.parts)

    def dominating(self) -> tuple[str, str] | None:
        """Return the labels of a pair that dominates all others for every eps and n, None if none is proved to."""
        return self.pairs()[0] if self.worst_is_all_different else None

    # ------------------------------------------------------------------------------------- what is told to derivation

    @cached_property
    def _labels(self) -> dict[str, Choice]:
        """The inputs by their labels: all of them where they are few, else those that are compared."""
        each = [p.inputs for p in self.parts]
        if prod(len(inputs) for inputs in each) <= _MOST_LABELS:
            return {_label(choice): choice for choice in product(*each)}
        used = [c for pair in self._pairs for c in (*pair, *self._others(pair))]
        return {_label(choice): choice for choice in dict.fromkeys(used)}

    @property
    def inputs(self) -> tuple[str, ...]:
        """All inputs, or those that have to be compared where there are many."""
        return tuple(self._labels)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs that have to be compared: one where all coordinates differ if that is proved to be worst."""
        return tuple((_label(a), _label(b)) for a, b in self._pairs)

    def further_inputs(self, pair: tuple[str, str]) -> tuple[str, ...]:
        """Return some inputs outside the pair, for data sets: a further value for every part, mixed with the pair's."""
        x0, x1 = (self._labels[x] for x in pair)
        return tuple(x for c in self._others((x0, x1)) if (x := _label(c)) not in pair)

    def _others(self, pair: tuple[Choice, Choice]) -> list[Choice]:
        found: list[Choice] = []
        further = [_further(p, a, b) for p, a, b in zip(self.parts, *pair, strict=True)]
        for rest in pair:
            for k in range(min(max(map(len, further)), 2)):
                found.append(tuple(f[min(k, len(f) - 1)] if f else x for f, x in zip(further, rest, strict=True)))
        return list(dict.fromkeys(found))

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """None: the inputs of other users are not all described."""
        return None

    @property
    def lists_all_inputs(self) -> bool:
        """False: pairs that are dominated are left out."""
        return False

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Refuse: no messages are listed."""
        raise SupportMismatchError("mechanism", repr(self), "a mechanism that lists its messages, such as .table()")

    def decomposed(self, pair: tuple[str, str], other: str | None) -> Decomposition:
        """Return the triple made of those of the parts."""
        choices = zip(*(self._labels[x] for x in pair), strict=True)
        others: Iterable[str | None] = (None,) * len(self.parts) if other is None else self._labels[other]
        found = [part_triple(p, a, b, x) for p, (a, b), x in zip(self.parts, choices, others, strict=True)]
        return self._composed(found, pair, complete=other is not None)

    @abstractmethod
    def _composed(self, found: list[Decomposition], pair: tuple[str, str], *, complete: bool) -> Decomposition:
        """Return the decomposition from those of the parts."""

    def at(self, /, **values: object) -> Self:
        """Return the mechanism with some parameters fixed, in all parts that have them free.

        >>> import symamp as sa
        >>> sa.joint([sa.RandomizedResponse(k=3)] * 2).at(eps0=1)
        joint([RandomizedResponse(k=3, eps0=1)] * 2)
        """
        known = {p.name for p in self.parameters}
        for name in values:
            if name not in known:
                raise ArgumentError("parameter", name, f"one of {', '.join(sorted(known))}" if known else "none")
        made = {p: _at(p, values) for p in dict.fromkeys(self.parts)}
        return self._of([made[p] for p in self.parts])

    @abstractmethod
    def _of(self, parts: list[Mechanism]) -> Self:
        """Return the same combination of other parts."""

    @abstractmethod
    def table(self) -> FiniteMechanism:
        """Return the explicit table over all inputs and messages, for small parts."""

    def _tables(self) -> list[FiniteMechanism]:
        found = []
        for part in self.parts:
            if not isinstance(part, FiniteMechanism | Family | Combined):
                raise SupportMismatchError("table", repr(part), "parts that have tables")
            found.append(part if isinstance(part, FiniteMechanism) else part.table())
        return found


class Joint(Combined):
    """All parts at once, as one message: each user sends (R_1(x_1), ..., R_m(x_m))."""

    name = "joint"

    def key(self) -> tuple[object, ...]:
        """Return the parts in their order."""
        return ("joint", self.neighbours, *self.parts)

    def composed_ratio(self) -> sp.Expr:
        """Return the product of the largest ratios, or the largest of them if one attribute differs."""
        ratios = [largest_ratio(p) for p in self.parts]
        if sp.oo in ratios:
            return sp.oo
        return _most(ratios, self.parameters) if self.neighbours == "one_attribute" else normal(sp.Mul(*ratios))

    def _composed(self, found: list[Decomposition], pair: tuple[str, str], *, complete: bool) -> Decomposition:
        counts = Counter(found)
        return Composed(
            list(counts), powers=list(counts.values()), parameters=self.parameters, pair=pair, complete=complete
        )

    def _of(self, parts: list[Mechanism]) -> Self:
        return type(self)(parts, self.neighbours)

    def table(self) -> FiniteMechanism:
        """Return the table over all combinations of inputs and of messages."""
        tables = self._tables()
        rows = {}
        for choice in product(*(range(len(t.inputs)) for t in tables)):
            entries = product(*(zip(t.messages, t.rows[i], strict=True) for t, i in zip(tables, choice, strict=True)))
            label = _label(tuple(t.inputs[i] for t, i in zip(tables, choice, strict=True)))
            rows[label] = {_label([y for y, _ in e]): sp.Mul(*(p for _, p in e)) for e in entries}
        return FiniteMechanism(rows, name=repr(self), parameters=self.parameters)

    def __repr__(self) -> str:
        end = "" if self.neighbours == "all" else f", neighbours={self.neighbours!r}"
        if len(set(self.parts)) == 1 and len(self.parts) > 1:
            return f"joint([{self.parts[0]!r}] * {len(self.parts)}{end})"
        return f"joint({', '.join(map(repr, self.parts))}{end})"


class Parallel(Combined):
    """One part, drawn with its weight: each user sends (i, R_i(x_i))."""

    name = "parallel"

    def __init__(self, weights: Sequence[sp.Expr], parts: Sequence[Mechanism], neighbours: str) -> None:
        super().__init__(parts, neighbours)
        self.weights = tuple(weights)

    def key(self) -> tuple[object, ...]:
        """Return the weighted parts in their order."""
        return ("parallel", self.neighbours, *zip(self.weights, self.parts, strict=True))

    def composed_ratio(self) -> sp.Expr:
        """Return the largest of the parts' ratios."""
        ratios = [largest_ratio(p) for p in self.parts]
        return sp.oo if sp.oo in ratios else _most(ratios, self.parameters)

    def _composed(self, found: list[Decomposition], pair: tuple[str, str], *, complete: bool) -> Decomposition:
        return Composed(found, weights=self.weights, parameters=self.parameters, pair=pair, complete=complete)

    def _of(self, parts: list[Mechanism]) -> Self:
        return type(self)(self.weights, parts, self.neighbours)

    def _choices(
        self, options: Sequence[Sequence[tuple[str, str]]], alone: int | None = None
    ) -> Iterator[tuple[tuple[str, str], ...]]:
        return product(*options)

    def table(self) -> FiniteMechanism:
        """Return the table over all combinations of inputs and the messages of all parts."""
        tables = self._tables()
        rows = {}
        for choice in product(*(range(len(t.inputs)) for t in tables)):
            label = _label([t.inputs[i] for t, i in zip(tables, choice, strict=True)])
            rows[label] = {
                _label([str(k), y]): w * p
                for k, (t, i, w) in enumerate(zip(tables, choice, self.weights, strict=True))
                for y, p in zip(t.messages, t.rows[i], strict=True)
            }
        return FiniteMechanism(rows, name=repr(self), parameters=self.parameters)

    def __repr__(self) -> str:
        if len(self.parts) == 2 and isinstance(self.parts[1], Silent):
            return f"poisson_subsample({self.parts[0]!r}, {self.weights[0]})"
        shown = ", ".join(f"({w}, {p!r})" for w, p in zip(self.weights, self.parts, strict=True))
        return f"parallel([{shown}]{'' if self.neighbours == 'all' else f', neighbours={self.neighbours!r}'})"


class Silent(Mechanism):
    """The constant mechanism: a message that does not depend on the input."""

    name = "silent"
    parameters = ()
    inputs = ("-",)
    is_composed = True

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """None: there is one input."""
        return ()

    def further_inputs(self, pair: tuple[str, str]) -> tuple[str, ...]:
        """None."""
        return ()

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """One message."""
        one = sp.Integer(1)
        return (Orbit("-", one, (one,) * len(distinguished)),)

    def key(self) -> tuple[object, ...]:
        """Return the name."""
        return ("silent",)

    def decomposed(self, pair: tuple[str, str], other: str | None) -> Decomposition:
        """Return one component (1, 1) of mass 1."""
        one = sp.Integer(1)
        return Decomposition((Component(one, one, one),), pair=pair)

    def composed_ratio(self) -> sp.Expr:
        """Return 1."""
        return sp.Integer(1)

    def __repr__(self) -> str:
        return "silent"


def joint(*mechanisms: Mechanism | Sequence[Mechanism], neighbours: str = "all") -> Mechanism:
    """Return the mechanism in which every user sends all reports at once: one message (R_1(x_1), ..., R_m(x_m)).

    Arguments are mechanisms, or one list of them such as ``[m] * 8``; equal ones stay cheap. The parts' symbols stay
    symbols, and symbols of one name are one. ``neighbours="one_attribute"`` compares inputs that differ for one part
    only, "all" any two. Raises ArgumentError for what is no mechanism, or symbols of one name with different ranges.

    Guarantee
    ---------
    The blanket of the result is the exact one. If each part has a pair of inputs that dominates all its pairs, two
    inputs that differ for every part are worst for every eps and n, and only they are compared; otherwise every class
    of pairs is. Proof: docs/proofs/joint.md.

    >>> import symamp as sa
    >>> pair = sa.joint([sa.RandomizedResponse(k=2)] * 2)
    >>> pair.blanket().gamma, pair.local_epsilon()
    (4/(exp(eps0) + 1)**2, 2*eps0)
    >>> many = sa.joint([sa.RandomizedResponse(k=10, eps0="1/8")] * 8)
    >>> sa.epsilon(many, n=10**6, delta="1e-8").upper
    0.000616...
    """
    listed = mechanisms[0] if len(mechanisms) == 1 and isinstance(mechanisms[0], list | tuple) else mechanisms
    parts = [_checked(m) for m in listed]
    if not parts or len(parts) > _MOST_PARTS:
        raise ArgumentError("mechanisms", f"{len(parts)} mechanisms", f"1 to {_MOST_PARTS}")
    return parts[0] if len(parts) == 1 else Joint(parts, neighbours)


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
        weight, part = printable_number(item[0], "weight"), _checked(item[1])
        if sign(weight) < 0:
            raise ArgumentError("weight", item[0], "a number >= 0")
        if weight != 0:
            found.append((weight, part))
    if not is_zero(sp.Add(*(w for w, _ in found)) - 1):
        raise ArgumentError("weight", str(sp.Add(*(w for w, _ in found))), "weights that sum to exactly 1")
    if len(found) == 1:
        return found[0][1]
    return Parallel([w for w, _ in found], [p for _, p in found], neighbours)


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
    return parallel([(share, mechanism), (1 - share, Silent())])


def part_triple(part: Mechanism, x0: str, x1: str, other: str | None) -> Decomposition:
    """Return R(x0), R(x1) and the blanket or R(other) of a part, for equal inputs, too."""
    if isinstance(part, Combined | Silent):
        return part.decomposed((x0, x1), other)
    if x0 != x1:
        return _of_pair(part, (x0, x1), other)
    further = next(x for x in part.inputs if x != x0)
    return same_input(_of_pair(part, (x0, further), other), 0)


def _of_pair(part: Mechanism, pair: tuple[str, str], other: str | None) -> Decomposition:
    return blanket(part, pair) if other is None else triple(part, pair, ((other, sp.Integer(1)),))


def _different(part: LocalRandomizer) -> list[tuple[str, str]]:
    """The pairs of different inputs that stand for all."""
    if isinstance(part, Silent):
        return [("-", "-")]
    if (best := dominating_pair(part)) is not None:
        return [best]
    if not part.lists_all_inputs and not isinstance(part, Combined):
        raise SupportMismatchError("mechanism", repr(part), "a part all of whose pairs of inputs are described")
    return [c.pairs[0] for c in pair_classes(part)]


def _equal(part: Mechanism) -> list[tuple[str, str]]:
    """One pair (x, x) for each law of a single input."""
    if isinstance(part, Silent):
        return [("-", "-")]
    if not part.lists_all_inputs and dominating_pair(part) is None:
        raise SupportMismatchError("mechanism", repr(part), "a part all of whose inputs are described")
    found = {part_triple(part, x, x, None).signature(): (x, x) for x in part.inputs[::-1]}
    return list(found.values())


def _further(part: Mechanism, x0: str, x1: str) -> tuple[str, ...]:
    if isinstance(part, Silent):
        return ()
    return part.further_inputs((x0, x1)) if x0 != x1 else tuple(x for x in part.inputs if x != x0)[:1]


def _group(part: Mechanism) -> Any:
    return part


def _label(choice: Sequence[str]) -> str:
    """Return a label for the values: (x0, x1), or 8 * (x0) where all of many are equal."""
    if len(choice) > 3 and len(set(choice)) == 1:
        return f"({choice[0]}) * {len(choice)}"
    return f"({', '.join(repr(x) if set(x) & set('(),') and x[:1] != '(' else x for x in choice)})"


def _checked(part: object) -> Mechanism:
    if not isinstance(part, Mechanism):
        raise ArgumentError("mechanism", type(part).__name__, "a mechanism of symamp")
    return part


def _parameters(parts: Sequence[Mechanism]) -> tuple[Parameter, ...]:
    found: dict[str, Parameter] = {}
    for part in dict.fromkeys(parts):
        for p in part.parameters:
            if found.setdefault(p.name, p) != p:
                raise ArgumentError("parameters", f"{p.describe()} and {found[p.name].describe()}", "one range for it")
    return tuple(found.values())


def _at(part: Mechanism, values: dict[str, object]) -> Mechanism:
    free = {p.name for p in part.parameters}
    given = {name: value for name, value in values.items() if name in free}
    return part.at(**given) if given else part  # type: ignore[attr-defined]


def _most(ratios: Sequence[sp.Expr], parameters: Sequence[Parameter]) -> sp.Expr:
    distinct = list(dict.fromkeys(ratios))
    try:
        return distinct[maximum(distinct, parameters)]
    except UndecidedOrderError:
        return sp.Max(*distinct)
