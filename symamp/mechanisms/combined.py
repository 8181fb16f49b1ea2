"""Mechanisms made of others: what holds for all of them, whether parts are sent together or one of them is drawn."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from html import escape
from itertools import combinations, combinations_with_replacement, product
from math import prod
from typing import Self

import sympy as sp

from symamp.algebra.order import maximum
from symamp.algebra.parameter import Parameter
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.dominating_pair import dominating_pair
from symamp.derivation.local_budget import compared_ratio
from symamp.derivation.orbit import Orbit
from symamp.errors import ArgumentError, SupportMismatchError, UndecidedOrderError
from symamp.mechanisms.budget_order import free_budget
from symamp.mechanisms.combined_part import different_pairs, equal_pairs, further_values, part_triple
from symamp.mechanisms.continuous.additive_noise import AdditiveNoise
from symamp.mechanisms.family import Family
from symamp.mechanisms.finite import FiniteMechanism
from symamp.mechanisms.mechanism import Mechanism
from symamp.mechanisms.noise_part import NoisePart

NEIGHBOURS = ("all", "one_attribute")
_PARTS = "a smaller eps0 randomizes the report of each part once more"
_MOST_PAIRS = 2000
_MOST_LABELS = 400
_FEW_PARTS, _FEW_INPUTS, _FEW_BITS = 4, 20, 6
Choice = tuple[str, ...]


class Combined(Mechanism):
    """A mechanism whose decompositions follow from those of its parts; an input has one value for each part.

    ``neighbours`` says which inputs of the victim are compared: "all", any two; "one_attribute", two that differ in
    the value for a single part.
    """

    is_composed = True
    lists_all_inputs = False  # pairs that are dominated are left out

    def __init__(self, parts: Sequence[Mechanism], neighbours: str) -> None:
        if neighbours not in NEIGHBOURS:
            raise ArgumentError("neighbours", neighbours, f"one of {', '.join(NEIGHBOURS)}")
        self.parts = tuple(parts)
        self.neighbours = neighbours
        self.parameters = _parameters(self.parts)

    # ------------------------------------------------------------------------------------------------- what is asked

    @property
    def _kinds(self) -> tuple[object, ...]:
        """What tells the parts apart, one by one: parts of one kind can be exchanged."""
        return self.parts

    @property
    def compares_all(self) -> bool:
        """Whether any two inputs are compared: not those that differ for several parts where one may differ."""
        return self.neighbours == "all" and all(p.compares_all for p in self.parts)

    def are_compared(self, x0: str, x1: str) -> bool:
        """Return whether two inputs, given by their labels, are compared."""
        return self._are_compared(self._labels[x0], self._labels[x1])

    def _are_compared(self, x0: Choice, x1: Choice) -> bool:
        """Return whether two choices of values are: each value that differs is compared, and one or any number are."""
        differ = [(p, a, b) for p, a, b in zip(self.parts, x0, x1, strict=True) if a != b]
        few = len(differ) == 1 or (self.neighbours == "all" and bool(differ))
        return few and all(p.are_compared(a, b) for p, a, b in differ)

    @cached_property
    def _pairs(self) -> tuple[tuple[Choice, Choice], ...]:
        """The pairs of inputs that have to be compared, one for each class."""
        found: dict[object, tuple[Choice, Choice]] = {}
        kinds = [self._kinds.index(kind) for kind in self._kinds]
        for chosen in self._candidates():
            if all(a == b for a, b in chosen):
                continue
            pair = tuple(a for a, _ in chosen), tuple(b for _, b in chosen)
            how = Counter((kind, a, b) for kind, (a, b) in zip(kinds, chosen, strict=True))
            found.setdefault(frozenset(how.items()), pair)
            if len(found) > _MOST_PAIRS:
                raise SupportMismatchError(
                    "mechanism", f"more than {_MOST_PAIRS} classes of pairs", "parts with dominating pairs, or fewer"
                )
        return tuple(found.values())

    def _candidates(self) -> Iterator[tuple[tuple[str, str], ...]]:
        if self.neighbours == "one_attribute":
            for i in dict.fromkeys(self._kinds.index(kind) for kind in self._kinds):
                yield from self._choices(
                    [different_pairs(p) if i == j else equal_pairs(p) for j, p in enumerate(self.parts)], i
                )
            return
        # Where one part alone has a choice, inputs that differ do so for it.
        alone = sum(len(p.inputs) > 1 for p in self.parts) == 1
        yield from self._choices(
            [
                different_pairs(p) if alone or dominating_pair(p) else [*different_pairs(p), *equal_pairs(p)]
                for p in self.parts
            ]
        )

    def _choices(
        self, options: Sequence[Sequence[tuple[str, str]]], alone: int | None = None
    ) -> Iterator[tuple[tuple[str, str], ...]]:
        """Yield one option for each part; parts that are equal are not told apart."""
        groups: dict[object, list[int]] = {}
        for i, kind in enumerate(self._kinds):
            groups.setdefault((kind, i == alone), []).append(i)
        for found in _combinations([(options[members[0]], len(members)) for members in groups.values()]):
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
        return self.compares_all and all(dominating_pair(p) for p in self.parts)

    def dominating(self) -> tuple[str, str] | None:
        """Return the labels of a pair that dominates all others for every eps and n, None if none is proved to."""
        return self.pairs()[0] if self.worst_is_all_different else None

    @property
    def compared(self) -> str:
        """What upper bounds range over, and why that is enough.

        >>> import symamp as sa
        >>> sa.joint([sa.RandomizedResponse(k=3)] * 2).compared
        'two inputs that differ for every part, proved to be worst (docs/proofs/joint.md)'
        """
        if self.worst_is_all_different:
            return "two inputs that differ for every part, proved to be worst (docs/proofs/joint.md)"
        if self.neighbours == "all" and not self.compares_all:
            return "two inputs that the part compares"
        count = len(self._pairs)
        classes = "1 class of pairs" if count == 1 else f"the largest over {count:,} classes of pairs"
        if self.neighbours == "one_attribute":
            return f"{classes} that differ for one part"
        return f"{classes}: not every part has a pair that dominates the others"

    def _repr_html_(self) -> str:
        return f"{super()._repr_html_()}<br>compared: {escape(self.compared)}"

    # ------------------------------------------------------------------------------------- what is told to derivation

    @cached_property
    def _labels(self) -> dict[str, Choice]:
        """The inputs by their labels: all of them where they are few, else those that are compared."""
        each = [p.inputs for p in self.parts]
        if prod(len(inputs) for inputs in each) <= _MOST_LABELS:
            return {choice_label(choice): choice for choice in product(*each)}
        used = [c for pair in self._pairs for c in (*pair, *self._others(pair))]
        return {choice_label(choice): choice for choice in dict.fromkeys(used)}

    @property
    def inputs(self) -> tuple[str, ...]:
        """All inputs, or those that have to be compared where there are many."""
        return tuple(self._labels)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs that have to be compared: one where all coordinates differ if that is proved to be worst."""
        return tuple((choice_label(a), choice_label(b)) for a, b in self._pairs)

    def further_inputs(self, pair: tuple[str, str]) -> tuple[str, ...]:
        """Return some inputs outside the pair, for data sets: a further value for every part, mixed with the pair's."""
        x0, x1 = (self._labels[x] for x in pair)
        return tuple(x for c in self._others((x0, x1)) if (x := choice_label(c)) not in pair)

    def _others(self, pair: tuple[Choice, Choice]) -> list[Choice]:
        found: list[Choice] = []
        further = [further_values(p, a, b) for p, a, b in zip(self.parts, *pair, strict=True)]
        for rest in pair:
            for k in range(min(max(map(len, further)), 2)):
                found.append(tuple(f[min(k, len(f) - 1)] if f else x for f, x in zip(further, rest, strict=True)))
        return list(dict.fromkeys(found))

    def degradation(self) -> str | None:
        """Return that it is so for each part that depends on eps0; None where this is not proved for all."""
        moving = [p for p in dict.fromkeys(self.parts) if free_budget(p.parameters) is not None]
        return _PARTS if moving and all(p.degradation() for p in moving) else None

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
    def _table(self, tables: list[FiniteMechanism]) -> FiniteMechanism:
        """Return the explicit table made of those of the parts, its inputs in the order of the product of theirs."""

    def composed_compared_ratio(self) -> sp.Expr | None:
        """Return the largest ratio of a part: one value differs, or the one part that has a choice compares some."""
        return largest([compared_ratio(p) for p in self.parts], self.parameters)

    @cached_property
    def listed(self) -> Mechanism:
        """The table over all inputs and messages where they are few, for bounds over all data sets; else itself.

        >>> import symamp as sa
        >>> len(sa.joint([sa.RandomizedResponse(k=3, eps0=1)] * 2).listed.inputs)
        9
        """
        bits = [p.message_bits() for p in self.parts]
        if self.parameters or len(bits) > _FEW_PARTS or any(b is None or b > _FEW_BITS for b in bits):
            return self
        if prod(len(p.inputs) for p in self.parts) > _FEW_INPUTS:
            return self
        with suppress(SupportMismatchError):
            table = self.table()
            if len(table.inputs) <= _FEW_INPUTS and len(table.messages) <= 2**_FEW_BITS:
                return table
        return self

    def table(self) -> FiniteMechanism:
        """Return the explicit table over all inputs and messages, for small parts; it compares what this one does.

        Raises SupportMismatchError for parts without tables, and for free parameters where not all inputs are compared.
        """
        tables = self._tables()
        found = self._table(tables)
        if self.compares_all:
            return found
        if self.parameters:
            raise SupportMismatchError(
                "table", repr(self), "numbers for all parameters, where some inputs are compared"
            )
        choices = zip(found.inputs, product(*(t.inputs for t in tables)), strict=True)
        return found.near([(x, z) for (x, a), (z, b) in combinations(choices, 2) if self._are_compared(a, b)])

    def _tables(self) -> list[FiniteMechanism]:
        found: dict[Mechanism, FiniteMechanism] = {}
        for part in dict.fromkeys(self.parts):
            if not isinstance(part, FiniteMechanism | Family | Combined):
                raise SupportMismatchError("table", repr(part), "parts that have tables")
            found[part] = part if isinstance(part, FiniteMechanism) else part.table()
        return [found[part] for part in self.parts]


def choice_label(choice: Sequence[str]) -> str:
    """Return a label for the values: (x0, x1), or 8 * (x0) where all of many are equal."""
    if len(choice) > 3 and len(set(choice)) == 1:
        return f"({choice[0]}) * {len(choice)}"
    return f"({', '.join(repr(x) if set(x) & set('(),') and x[:1] != '(' else x for x in choice)})"


def checked_part(part: object, *, alone: bool = False) -> Mechanism:
    """Return the part if it is a mechanism, or raise ArgumentError; noise is wrapped.

    Beside other parts it must compare any two of its inputs: which inputs of both are compared would be open.
    """
    if isinstance(part, AdditiveNoise):
        return NoisePart.of(part)
    if not isinstance(part, Mechanism):
        told = "a mechanism of symamp, or noise that is added to inputs in an interval"
        raise ArgumentError("mechanism", type(part).__name__, told)
    if not (alone or part.compares_all):
        raise ArgumentError("mechanism", repr(part), "a part all of whose inputs are compared")
    return part


def largest(ratios: Sequence[sp.Expr], parameters: Sequence[Parameter]) -> sp.Expr:
    """Return the largest of the ratios, as sympy.Max where no proof says which."""
    if sp.oo in ratios:
        return sp.oo
    distinct = list(dict.fromkeys(ratios))
    try:
        return distinct[maximum(distinct, parameters)]
    except UndecidedOrderError:
        return sp.Max(*distinct, evaluate=False)


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


def _combinations(
    groups: Sequence[tuple[Sequence[tuple[str, str]], int]],
) -> Iterator[tuple[tuple[tuple[str, str], ...], ...]]:
    """Yield all choices of so many options from each group, one by one: there may be too many to list."""
    if not groups:
        yield ()
        return
    (options, count), *rest = groups
    for first in combinations_with_replacement(options, count):
        for others in _combinations(rest):
            yield first, *others
