"""Combined mechanisms: several attributes at once, one of several drawn at random, a sample of the users."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from html import escape
from itertools import chain, combinations, combinations_with_replacement, islice, product
from math import prod
from typing import Any, Self, cast

import sympy as sp
from flint import arb

from symamp.decompositions.blanket import blanket, triple
from symamp.decompositions.budget import compared_ratio, largest_ratio
from symamp.decompositions.composed import Composed, same_input
from symamp.decompositions.decomposition import Component, Decomposition, EnclosedDecomposition
from symamp.decompositions.pairs import pair_classes
from symamp.decompositions.printing import text
from symamp.decompositions.randomizer import LocalRandomizer, Orbit
from symamp.decompositions.worst_pair import dominating_pair
from symamp.errors import (
    ArgumentError,
    FormatError,
    Problem,
    SupportMismatchError,
    UndecidedOrderError,
    checked_call,
    one_of,
)
from symamp.formulas.normal_form import normal_product
from symamp.formulas.order import is_zero, largest, sign
from symamp.formulas.parameter import Parameter
from symamp.laws.density import finite_law
from symamp.laws.law import Atom, Law
from symamp.numbers.reading import Real, printable_number
from symamp.randomizers.family import Family
from symamp.randomizers.finite import ALL, FiniteMechanism, check_size
from symamp.randomizers.mechanism import Mechanism, check_free, free_budget
from symamp.randomizers.noise.additive_noise import AdditiveNoise, cut_laws
from symamp.randomizers.protocols import Protocol, generator

# What combinations may take.
_NOISE_CELLS = 96  # of the laws around noise as a part: width against the number of components
_MOST_PAIR_CLASSES = 2000  # of all parts together
_MOST_LABELS = 400  # inputs that are listed by their labels
_LISTED_PARTS = 4  # a mechanism of at most so many parts is listed as a table, if inputs and messages are few
_LISTED_INPUTS = 20  # of such a table
_LISTED_MESSAGE_BITS = 6  # of its messages
_MOST_PARTS = 10_000  # of one mechanism

# ------------------------------------------------------- The constant mechanism: what is sent by users who take no part


class _Whole(Mechanism):
    """A mechanism whose decompositions are known without its messages, which are not listed."""

    is_composed = True

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Refuse: no messages are listed."""
        raise SupportMismatchError("mechanism", Problem(f"the messages of {self!r} are not listed"), "use its .table()")


class ConstantMechanism(_Whole):
    """The constant mechanism: a message that does not depend on the input."""

    name = "silent"
    parameters = ()
    inputs = ("-",)
    messages, rows = ("-",), ((sp.Integer(1),),)
    first_input_stands_for_all = True

    def message_bits(self) -> sp.Expr:
        return sp.Integer(0)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        return ()

    def key(self) -> tuple[object, ...]:
        return ("silent",)

    def decomposed(self, pair: tuple[str, str], other: str | None) -> Decomposition:
        """Return one component (1, 1) of mass 1."""
        one = sp.Integer(1)
        return Decomposition((Component(one, one, one),), pair=pair)

    def composed_ratio(self) -> sp.Expr:
        return sp.Integer(1)

    def __repr__(self) -> str:
        return "silent"


# --- Noise with a density as a part of a combined mechanism: two finite laws around it take the place of components

_END = "1"


class NoiseTriple(EnclosedDecomposition):
    """R(x0), R(x1) and the blanket, or R(other), of noise at the ends of the interval: enclosed, not listed."""

    def __init__(self, noise: AdditiveNoise, pair: tuple[str, str], other: str | None) -> None:
        vars(self).update(noise=noise, parameters=noise.parameters, pair=pair, other=other)

    noise: AdditiveNoise
    other: str | None
    _known_by = ("noise", "parameters", "pair", "other")

    @property
    def gamma(self) -> sp.Expr:
        return self.noise.gamma() if self.other is None else sp.Integer(1)

    @property
    def numeric_law(self) -> Law | None:
        """The law above the blanket, below a data set; None with symbols."""
        around = self.enclosing_laws
        return None if around is None else around[1 if self.other is None else 0]

    @property
    def enclosing_laws(self) -> tuple[Law, Law] | None:
        """(below, above): finite laws whose divergences enclose that of the triple; None with symbols.

        Guarantee
        ---------
        They lie below and above the law of the ratios in planar convex order. Proof: docs/proofs/joint.md.
        """
        if self.parameters:
            return None
        below, above = (_seen(law, self.pair, self.other) for law in _around(self.noise))
        return below, above

    def swapped(self) -> NoiseTriple:
        return NoiseTriple(self.noise, (self.pair[1], self.pair[0]), self.other)

    def signature(self) -> tuple[frozenset[object], frozenset[object]]:  # type: ignore[override]
        """Return what is the same for the mirror image, too: its messages are those of 1 - y."""
        seen = (*self.pair, self.other)
        turned = tuple(x if x is None else "1" if x == "0" else "0" for x in seen)
        return frozenset((self.noise, x) for x in (seen, turned)), frozenset()

    def __str__(self) -> str:
        return f"{self.noise!r}: a density, gamma = {self.gamma}"

    def _repr_latex_(self) -> str:
        return self.noise._repr_latex_()


class NoisePart(_Whole):
    """Additive noise as a part: its inputs are the ends of the interval, which are the worst pair."""

    first_input_stands_for_all = True  # no input is easier to tell from the others than an end
    lists_all_inputs = False  # nor inputs between the ends
    inputs = ("0", _END)

    def __init__(self, noise: AdditiveNoise) -> None:
        self.sent, self.name, self.parameters = noise, noise.name, noise.parameters

    @staticmethod
    def of(noise: AdditiveNoise) -> NoisePart:
        """Return noise as a part; SupportMismatchError where its ratios are unbounded: no cut fits all n and levels."""
        if noise.local_ratio() is sp.oo:
            raise SupportMismatchError("mechanism", Problem(f"{noise!r} has no finite local budget"), "clip its output")
        return NoisePart(noise)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        return (("0", _END),)

    def key(self) -> tuple[object, ...]:
        return ("noise", self.sent.key())

    def decomposed(self, pair: tuple[str, str], other: str | None) -> Decomposition:
        """Return the triple of two ends, equal ones included."""
        return NoiseTriple(self.sent, pair, other)

    def dominating(self) -> tuple[str, str]:
        """Return the ends of the interval.

        Guarantee
        ---------
        For all inputs x, x', equal ones included, and all E >= 0: r_x - E r_x' is at most r_0 - E r_1 in convex order.
        Proof: docs/proofs/joint.md.
        """
        return "0", _END

    def composed_ratio(self) -> sp.Expr:
        return self.sent.local_ratio()

    def protocol(self) -> Protocol:
        return self.sent.protocol()

    def at(self, /, **values: object) -> NoisePart:
        """Return the part with some parameters fixed."""
        return NoisePart(self.sent.at(**values))

    def __repr__(self) -> str:
        return repr(self.sent)


@lru_cache(maxsize=64)
def _around(noise: AdditiveNoise) -> tuple[Law, Law]:
    """Return finite laws below and above the blanket of (0, 1)."""
    law = noise.exact_law()
    lower, upper = (law, law) if law is not None else cut_laws(noise, 1.0)
    return finite_law(lower, False, _NOISE_CELLS), finite_law(upper, True, _NOISE_CELLS)


def _seen(law: Law, pair: tuple[str, str], other: str | None) -> Law:
    """Return the law of (R(x0), R(x1), R(other)), or the blanket, from that of (R(0), R(1), blanket)."""
    i, j = (int(x) for x in pair)
    atoms = tuple(_seen_atom(a, i, j, None if other is None else int(other)) for a in law.atoms)
    singular = tuple((both[i], both[j]) for both in law.singular)
    return Law(atoms, singular, other is not None or law.complete)


def _seen_atom(atom: Atom, i: int, j: int, k: int | None) -> Atom:
    ratios = atom.ratio0, atom.ratio1
    if k is None:
        return Atom(ratios[i], ratios[j], atom.mass, i == j or atom.equal_ratios)
    hidden = ratios[k]
    return Atom(
        lambda: arb(1) if i == k else ratios[i]() / hidden(),
        lambda: arb(1) if j == k else ratios[j]() / hidden(),
        lambda: atom.mass() * hidden(),
        i == j or atom.equal_ratios,
    )


# ---------- What a combined mechanism asks of one of its parts: pairs of values, equal ones included, and their triples


def part_triple(part: Mechanism, x0: str, x1: str, other: str | None) -> Decomposition:
    """Return R(x0), R(x1) and the blanket or R(other) of a part, for equal inputs, too."""
    if (found := part.decomposed((x0, x1), other)) is not None:
        return found
    if x0 != x1:
        return _of_pair(part, (x0, x1), other)
    further = next(x for x in part.inputs if x != x0)
    return same_input(_of_pair(part, (x0, further), other), 0)


def _of_pair(part: Mechanism, pair: tuple[str, str], other: str | None) -> Decomposition:
    return blanket(part, pair) if other is None else triple(part, pair, ((other, sp.Integer(1)),))


def different_pairs(part: LocalRandomizer) -> list[tuple[str, str]]:
    """The pairs of different inputs that stand for all."""
    if len(part.inputs) == 1:
        return [(part.inputs[0],) * 2]
    if (best := dominating_pair(part)) is not None:
        return [best]
    if not part.lists_all_inputs and not part.is_composed:
        partial = Problem(f"{part!r} does not describe all its pairs of inputs")
        raise SupportMismatchError("mechanism", partial, "take its .table(), or another part")
    return [c.pairs[0] for c in pair_classes(part)]


def equal_pairs(part: Mechanism) -> list[tuple[str, str]]:
    """One pair (x, x) for each law of a single input."""
    if part.first_input_stands_for_all:
        return [(part.inputs[0],) * 2]
    if not part.lists_all_inputs and dominating_pair(part) is None:
        wrong = Problem(f"{part!r} does not describe all its inputs")
        raise SupportMismatchError("mechanism", wrong, "take its .table(), or another part")
    found = {part_triple(part, x, x, None).signature(): (x, x) for x in part.inputs[::-1]}
    return list(found.values())


def _all_pairs(part: Mechanism) -> list[tuple[str, str]]:
    """Return pairs of different inputs, and of equal ones unless the former are proved to be worse."""
    found = different_pairs(part)
    return found if dominating_pair(part) else list(dict.fromkeys([*found, *equal_pairs(part)]))


def further_values(part: Mechanism, x0: str, x1: str) -> tuple[str, ...]:
    """Values beside x0 and x1, one of each class; a different one, for data sets, where the two are equal."""
    if part.first_input_stands_for_all:
        return ()
    return part.further_inputs((x0, x1)) if x0 != x1 else tuple(x for x in part.inputs if x != x0)[:1]


# --- Mechanisms made of others: what holds for all of them, whether parts are sent together or one of them is drawn

NEIGHBOURS = ("all", "one_attribute")
_PARTS = "a smaller eps0 randomizes the report of each part once more"
Choice = tuple[str, ...]
Row = list[tuple[str, sp.Expr]]


class Combined(_Whole):
    """A mechanism whose decompositions follow from those of its parts; an input has one value for each part.

    ``neighbours`` says which inputs of the victim are compared: "all", any two; "one_attribute", two that differ in
    the value for a single part.
    """

    _internal_names = "compared worst_is_all_different"

    lists_all_inputs = False  # pairs that are dominated are left out

    def __init__(self, parts: Sequence[Mechanism], neighbours: str) -> None:
        if neighbours not in NEIGHBOURS:
            raise ArgumentError("neighbours", neighbours, one_of(NEIGHBOURS, neighbours))
        self.parts = tuple(parts)
        self.neighbours = neighbours
        self.parameters = _parameters(self.parts)

    # ------------------------------------------------------------------------------------------------- what is asked

    @property
    def _kinds(self) -> tuple[object, ...]:
        """The kind of each part: parts of one kind can be exchanged."""
        return self.parts

    @property
    def compares_all(self) -> bool:
        """Whether any two inputs are compared: not those that differ for several parts where one may differ."""
        return self.neighbours == "all" and all(p.compares_all for p in self.parts)

    def are_compared(self, x0: str, x1: str) -> bool:
        return self._are_compared(self._labels[x0], self._labels[x1])

    def _are_compared(self, x0: Choice, x1: Choice) -> bool:
        """Return whether two choices of values are: each value that differs is compared, and one or any number are."""
        differ = [(p, a, b) for p, a, b in zip(self.parts, x0, x1, strict=True) if a != b]
        few = len(differ) == 1 or (self.neighbours == "all" and bool(differ))
        return few and all(p.are_compared(a, b) for p, a, b in differ)

    @cached_property
    def _pairs(self) -> tuple[tuple[Choice, Choice], ...]:
        """The pairs of inputs that have to be compared, one for each class; equal parts are not distinguished."""
        found = list(islice(self._candidates(), _MOST_PAIR_CLASSES + 1))
        if len(found) > _MOST_PAIR_CLASSES:
            many = Problem(f"the parts have more than {_MOST_PAIR_CLASSES} classes of pairs")
            raise SupportMismatchError("mechanism", many, "take fewer parts, or equal ones")
        return tuple(found)

    def _candidates(self) -> Iterator[tuple[Choice, Choice]]:
        alike: dict[object, list[int]] = {}
        for i, kind in enumerate(self._kinds):
            alike.setdefault(kind, []).append(i)
        groups = list(alike.values())
        if self.neighbours == "one_attribute":
            # Of the parts of one kind one differs.
            chosen = [
                [(g[:1], different_pairs), (g[1:], equal_pairs), *((h, equal_pairs) for h in groups if h is not g)]
                for g in groups
            ]
        else:
            # Where one part alone has a choice, inputs that differ do so for it.
            alone = sum(len(p.inputs) > 1 for p in self.parts) == 1
            chosen = [[(g, different_pairs if alone else _all_pairs) for g in groups]]
        for options in chosen:
            # More than are compared in all need not be listed of one group.
            some = [
                islice(combinations_with_replacement(pairs(self.parts[g[0]]), len(g)), _MOST_PAIR_CLASSES + 2)
                for g, pairs in options
                if g
            ]
            for values in product(*some):
                of = dict(zip((i for g, _ in options for i in g), chain(*values), strict=True))
                pair = tuple(tuple(of[i][k] for i in range(len(self.parts))) for k in (0, 1))
                if pair[0] != pair[1]:
                    yield pair[0], pair[1]

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

    # ----------------------------------------------------------------------------------- what the derivation is told

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
        check_free(values, self.parameters)
        made = {p: _at(p, values) for p in dict.fromkeys(self.parts)}
        return self._of([made[p] for p in self.parts])

    @abstractmethod
    def _of(self, parts: list[Mechanism]) -> Self:
        """Return the same combination of other parts."""

    @abstractmethod
    def _row(self, parts: list[Row]) -> dict[str, sp.Expr]:
        """Return the row of an input from those of its values: {message: probability}, as lists of both."""

    def _message_number(self, sizes: list[int]) -> int:
        """Return how many messages there are, from the numbers of those of the parts."""
        return prod(sizes)

    def composed_compared_ratio(self) -> sp.Expr | None:
        """Return the largest ratio of a part: one value differs, or the one part that has a choice compares some."""
        return _largest([compared_ratio(p) for p in self.parts], self.parameters)

    @cached_property
    def listed(self) -> Mechanism:
        """The table over all inputs and messages where they are few, for bounds over all data sets; else itself."""
        bits = [p.message_bits() for p in self.parts]
        if self.parameters or len(bits) > _LISTED_PARTS or any(b is None or b > _LISTED_MESSAGE_BITS for b in bits):
            return self
        if prod(len(p.inputs) for p in self.parts) > _LISTED_INPUTS:
            return self
        if self._message_number([int(2**b) for b in bits if b is not None]) > 2**_LISTED_MESSAGE_BITS:
            return self
        with suppress(SupportMismatchError, FormatError):
            found = self.table()
            return found if len(found.inputs) <= _LISTED_INPUTS else self
        return self

    def table(self) -> FiniteMechanism:
        """Return the explicit table over all inputs and messages, for small parts; it compares what this one does.

        Raises SupportMismatchError for parts without tables, and for free parameters where not all inputs are compared.
        """
        tables = self._tables()
        sizes = [len(t.messages) for t in tables]
        check_size(prod(len(t.inputs) for t in tables), self._message_number(sizes))
        rows = [[list(zip(t.messages, row, strict=True)) for row in t.rows] for t in tables]
        labels = [choice_label(choice) for choice in product(*(t.inputs for t in tables))]
        made = dict(zip(labels, (self._row(list(parts)) for parts in product(*rows)), strict=True))
        found = FiniteMechanism(made, name=repr(self), parameters=self.parameters)
        if self.compares_all:
            return found
        if self.parameters:
            free = Problem(f"{self!r} compares some inputs only and has free parameters")
            raise SupportMismatchError("table", free, "give numbers by .at(...)")
        choices = zip(found.inputs, product(*(t.inputs for t in tables)), strict=True)
        return found.near([(x, z) for (x, a), (z, b) in combinations(choices, 2) if self._are_compared(a, b)])

    def _tables(self) -> list[FiniteMechanism | ConstantMechanism]:
        found: dict[Mechanism, FiniteMechanism | ConstantMechanism] = {}
        for part in dict.fromkeys(self.parts):
            if not isinstance(part, FiniteMechanism | ConstantMechanism | Family | Combined):
                raise SupportMismatchError("table", Problem(f"{part!r} has no table"), "take a part that has one")
            found[part] = part if isinstance(part, FiniteMechanism | ConstantMechanism) else part.table()
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
        restricted = Problem(f"{part!r} compares some of its inputs only")
        raise ArgumentError("mechanism", restricted, "combine it without .near, then take .table().near(...)")
    return part


def _largest(ratios: Sequence[sp.Expr], parameters: Sequence[Parameter]) -> sp.Expr:
    """Return the largest of the ratios, as sympy.Max where no proof says which."""
    try:
        return largest(ratios, parameters)
    except UndecidedOrderError:
        return sp.Max(*dict.fromkeys(ratios), evaluate=False)


def _parameters(parts: Sequence[Mechanism]) -> tuple[Parameter, ...]:
    found: dict[str, Parameter] = {}
    for part in dict.fromkeys(parts):
        for p in part.parameters:
            if found.setdefault(p.name, p) != p:
                ranges = Problem(f"the parts declare {p.describe()} and {found[p.name].describe()}")
                raise ArgumentError("parameters", ranges, "give one range, or another name")
    return tuple(found.values())


def _at(part: Mechanism, values: dict[str, object]) -> Mechanism:
    free = {p.name for p in part.parameters}
    given = {name: value for name, value in values.items() if name in free}
    return part.at(**given) if given else part  # type: ignore[attr-defined]


# ----------------------------------------------------- Several attributes at once: every user sends a report about each


class Joint(Combined):
    """All parts at once, as one message: each user sends (R_1(x_1), ..., R_m(x_m))."""

    name = "joint"

    def key(self) -> tuple[object, ...]:
        return ("joint", self.neighbours, *self.parts)

    def composed_ratio(self) -> sp.Expr:
        """Return the product of the largest ratios: other users may hold any values."""
        ratios = Counter(largest_ratio(p) for p in self.parts)
        return sp.oo if sp.oo in ratios else normal_product(ratios.items())

    def _composed(self, found: list[Decomposition], pair: tuple[str, str], *, complete: bool) -> Decomposition:
        counts = Counter(found)
        return Composed(
            list(counts), powers=list(counts.values()), parameters=self.parameters, pair=pair, complete=complete
        )

    def _of(self, parts: list[Mechanism]) -> Self:
        return type(self)(parts, self.neighbours)

    def _row(self, parts: list[Row]) -> dict[str, sp.Expr]:
        return {choice_label([y for y, _ in e]): sp.Mul(*(p for _, p in e)) for e in product(*parts)}

    @property
    def estimand(self) -> tuple[Any, ...]:  # type: ignore[override]
        """What ``estimate`` returns, for each part."""
        return tuple(p.estimand for p in self.parts)

    def randomize(self, values: object, rng: object = None) -> tuple[Any, ...]:  # type: ignore[override]
        """Return the reports about each part, a tuple of arrays; ``values`` are those for each part, one after another.

        Raises what the parts raise, and ArgumentError for another number of parts, or of users in one of them.

        >>> import symamp as sa
        >>> both = sa.joint([sa.RandomizedResponse(k=4, eps0=1), sa.OneBitMean(eps0=1)])
        >>> items, bits = both.randomize(([0, 3, 1], [0.5, 0.25, 1]), rng=1)
        >>> items.shape, bits.shape
        ((3,), (3,))
        """
        random = generator(rng)
        return tuple(p.randomize(x, random) for p, x in self._of_parts(values, "values"))

    def estimate(self, reports: object) -> tuple[Any, ...]:
        """Return the estimate of each part, from a tuple of their reports.

        >>> import symamp as sa
        >>> rr = sa.RandomizedResponse(k=2, eps0="log(3)")
        >>> sa.joint([rr, rr]).estimate(([0, 0, 0, 1], [1, 1, 1, 0]))
        (array([1., 0.]), array([0., 1.]))
        """
        return tuple(p.estimate(y) for p, y in self._of_parts(reports, "reports"))

    def variance(self, n: object = 1, *, frequency: object = 0) -> tuple[Any, ...]:
        """Return the variance of the estimate of each part, as formulas.

        >>> import symamp as sa
        >>> sa.joint([sa.RandomizedResponse(k=2, eps0="log(3)"), sa.OneBitMean(eps0="log(3)")]).variance()
        (3/4, 1)
        """
        return tuple(p.variance(n, frequency=frequency) for p in self.parts)

    def _of_parts(self, given: object, name: str) -> list[tuple[Mechanism, Any]]:
        """Return what is given for each part."""
        if not isinstance(given, list | tuple) or len(given) != len(self.parts):
            told = f"a tuple with those of each of the {len(self.parts)} parts, one after another"
            raise ArgumentError(name, Problem("they are not given part by part"), told)
        found = list(zip(self.parts, given, strict=True))
        sizes = {len(x) for p, x in found if hasattr(x, "__len__") and not isinstance(p, Joint)}
        if len(sizes) > 1:
            raise ArgumentError(name, Problem("parts have different numbers of users"), "one of each for every user")
        return found

    def __repr__(self) -> str:
        end = "" if self.neighbours == "all" else f", neighbours={self.neighbours!r}"
        if len(set(self.parts)) == 1 and len(self.parts) > 1:
            return f"joint([{self.parts[0]!r}] * {len(self.parts)}{end})"
        return f"joint({', '.join(map(repr, self.parts))}{end})"


@checked_call
def joint(*mechanisms: Mechanism | Sequence[Mechanism], neighbours: str = "all") -> Mechanism:
    """Return the mechanism in which every user sends all reports at once: one message (R_1(x_1), ..., R_m(x_m)).

    Arguments are mechanisms, or one list of them such as ``[m] * 8``; a single one is returned as it is. Noise with a
    finite local budget may be a part. Equal parts add little work. If unequal parts, or noise, would give too many
    components, some thousand atoms enclose the law. Free symbols of the parts stay free, and symbols of one name are
    the same symbol. ``neighbours="one_attribute"`` compares inputs that differ in one part only, "all" any two.

    Raises ArgumentError for anything but mechanisms and for symbols of one name with different ranges,
    SupportMismatchError for noise with unbounded ratios.

    Guarantee
    ---------
    The blanket of the result is exact; if there are too many components it lies between two laws, and their distance
    is part of every bracket. If each part has a pair of inputs that dominates all its pairs, two inputs that differ in
    every part are worst for every eps and n, and only they are compared; otherwise every class of pairs is compared.
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
        raise ArgumentError("mechanisms", f"{len(parts)} mechanisms", f"1 to {_MOST_PARTS} of them")
    return cast(Mechanism, listed[0]) if len(parts) == 1 else Joint(parts, neighbours)


# ------------- One of several attributes at random, or a sample of the users: one part is drawn and sent with its index


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
        return ("parallel", self.neighbours, *zip(self.weights, self.parts, strict=True))

    def composed_ratio(self) -> sp.Expr:
        return _largest([largest_ratio(p) for p in self.parts], self.parameters)

    def _composed(self, found: list[Decomposition], pair: tuple[str, str], *, complete: bool) -> Decomposition:
        return Composed(found, weights=self.weights, parameters=self.parameters, pair=pair, complete=complete)

    def _of(self, parts: list[Mechanism]) -> Self:
        return type(self)(self.weights, parts, self.neighbours)

    def _message_number(self, sizes: list[int]) -> int:
        return sum(sizes)

    def _row(self, parts: list[Row]) -> dict[str, sp.Expr]:
        weighted = enumerate(zip(self.weights, parts, strict=True))
        return {choice_label([str(k), y]): w * p for k, (w, row) in weighted for y, p in row}

    def __repr__(self) -> str:
        if len(self.parts) == 2 and isinstance(self.parts[1], ConstantMechanism):
            return f"poisson_subsample({self.parts[0]!r}, {text(self.weights[0])})"
        shown = ", ".join(f"({text(w)}, {p!r})" for w, p in zip(self.weights, self.parts, strict=True))
        return f"parallel([{shown}]{'' if self.neighbours == 'all' else f', neighbours={self.neighbours!r}'})"


@checked_call
def parallel(weighted: Iterable[tuple[Real, Mechanism]], *, neighbours: str = "all") -> Mechanism:
    """Return the mechanism in which a user sends (i, R_i(x_i)), i drawn with the given weights.

    Each part randomizes a value of its own. If all parts randomize one value, the upper bounds still hold, and the
    lower bounds do if the data set shown holds equal values. Weights are exact numbers that sum to 1. Parts of weight 0
    are left out and not counted by i, and a single part is returned as it is. Raises ArgumentError for other weights.

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
            raise ArgumentError("weighted", repr(item), "a pair (weight, mechanism)")
        weight, part = printable_number(item[0], "weight"), item[1]
        checked_part(part)
        if sign(weight) < 0:
            raise ArgumentError("weight", item[0], "a number >= 0")
        if weight != 0:
            found.append((weight, part))
    if not is_zero(sp.Add(*(w for w, _ in found)) - 1):
        off = Problem(f"the weights sum to {sp.Add(*(w for w, _ in found))}, not to 1")
        raise ArgumentError("weight", off, "make them sum to exactly 1, written as text such as '1/3'")
    if len(found) == 1:
        return found[0][1]
    return Parallel([w for w, _ in found], [checked_part(p) for _, p in found], neighbours)


@checked_call
def poisson_subsample(mechanism: Mechanism, rate: Real) -> Mechanism:
    """Return the mechanism in which a user takes part with probability ``rate`` and otherwise sends a constant message.

    ``n`` counts all users, also those who take no part. Rate 1 gives the mechanism itself. Raises
    ArgumentError for a rate outside (0, 1].

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
        checked_part(mechanism, alone=True)
        return mechanism
    return Parallel([share, 1 - share], [checked_part(mechanism, alone=True), ConstantMechanism()], ALL)
