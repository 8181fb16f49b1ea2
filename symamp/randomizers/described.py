"""Families described by data, such as a JSON file: their messages, and the checks that the parts fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import permutations
from typing import Any, ClassVar, NamedTuple

import sympy as sp

from symamp.decompositions.blanket import triple
from symamp.decompositions.checks import check_nonnegative, check_probabilities
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.decompositions.pair_groups import PairGroup
from symamp.decompositions.printing import text
from symamp.decompositions.randomizer import Orbit
from symamp.errors import ArgumentError, ExpressionError, FormatError, Problem, RowSumError, UndecidedOrderError, shown
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero, sign, strictly_positive
from symamp.formulas.parameter import Parameter
from symamp.numbers.substitution import put
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.structures import ExchangeableSets, Letter, OneHot, Share

# ---------------------------- What describes a family: its messages as data, and the checks that the parts fit together

COUNTS = {f"{i},{n - i}": (i, n - i) for n in (2, 3) for i in range(n, -1, -1)}
"""Of how many given inputs a message lies in the sets, and of how many it does not."""
SIZE = "the name of an integer parameter with a lower bound of at least 2"


class Other(NamedTuple):
    """A law that stands for other inputs at the pair of the orbits; ``attained``: some input has just this one."""

    label: str
    law: tuple[Component, ...]
    attained: bool = False


@dataclass(frozen=True)
class Description:
    """The data of a described family (``described_family``). Expressions are over the symbols of the ``parameters``.

    One of these is given: ``orbits``, messages as seen from inputs x0 and x1, all pairs of inputs being like this one
    or its reverse (and, if inputs are equivalent, as seen from x0, x1, x2 in ``third``); the ``letters`` of a one-hot
    channel; ``levels`` (high, low) with ``shares`` of the messages by numbers (inside, outside) of given inputs, 2 of
    them and perhaps 3, whose sets contain a message or not.

    ``size`` names the parameter that counts the inputs; only orbits without ``third`` may do without. ``others`` are
    laws that stand for all further inputs at the pair of the orbits (docs/proofs/other_inputs.md). ``exponents``
    are found. ``table`` is a function that writes members out, for ``verify``.
    """

    name: str = field(compare=False)
    parameters: tuple[Parameter, ...]
    size: str = ""
    orbits: tuple[Orbit, ...] = ()
    third: tuple[Orbit, ...] = ()
    others: tuple[Other, ...] = ()
    letters: tuple[Letter, ...] = ()
    levels: tuple[sp.Expr, ...] = ()
    shares: tuple[tuple[tuple[int, int], tuple[Share, ...]], ...] = ()
    exponents: tuple[str, ...] = ()
    table: Callable[[Any], FiniteMechanism] | None = field(default=None, compare=False)


def normalised(orbits: Sequence[Orbit]) -> tuple[Orbit, ...]:
    """Return the orbits with densities that are weights divided by the total weight under the first input."""
    total = normal(sp.Add(*(orbit.mass(0) for orbit in orbits)))
    if total == 0:
        raise FormatError("weights", Problem("their total is 0"), "give at least one positive weight")
    return tuple(
        replace(o, density=tuple(d / total for d in o.density), rest=tuple((d / total, n) for d, n in o.rest))
        for o in orbits
    )


def check_description(data: Description) -> None:
    """Refuse undeclared symbols, a size that counts no inputs, and descriptions with parts missing or left over."""
    symbols = {p.symbol for p in data.parameters}
    if len(symbols) < len(data.parameters):
        raise FormatError("parameters", ", ".join(p.name for p in data.parameters), "each name once")
    unknown = sorted({str(s) for e in expressions(data) for s in e.free_symbols - symbols})
    if unknown:
        told = Problem(f"undeclared symbols {', '.join(unknown)}")
        raise FormatError("expressions", told, "declare them as parameters")
    if sum(map(bool, (data.orbits, data.letters, data.shares))) != 1 or len(data.levels) != 2 * bool(data.shares):
        wrong = Problem("none or several of orbits, letters and shares are given")
        raise FormatError("description", wrong, "give orbits, or letters, or shares with two levels")
    if data.others and not data.orbits:
        raise FormatError("others", Problem("there are no orbits"), "give the orbits of the pair that they are for")
    lengths = [{len(o.density) for o in section} for section in (data.orbits, data.third)]
    if (data.third and not data.orbits) or lengths[0] - {2} or lengths[1] - {3}:
        told = Problem("wrong number of densities")
        raise FormatError("density", told, "give 2 in each of orbits, 3 in each of third")
    if any(counts not in COUNTS.values() for counts, _ in data.shares):
        raise FormatError("shares", Problem("unknown numbers of inputs"), f"(inside, outside) are {', '.join(COUNTS)}")
    if data.size or data.third or not data.orbits:
        counted = next((p for p in data.parameters if p.name == data.size), None)
        bound = None if counted is None or not counted.integer else counted.lower
        if bound is None or sign(bound - 2, data.parameters) < 0:
            raise FormatError("size", data.size or "none", SIZE)


def expressions(value: object) -> Iterator[sp.Expr]:
    """Yield the expressions of a description, or of a part of one."""
    if isinstance(value, Description):
        value = (value.orbits, value.third, value.others, value.letters, value.levels, value.shares)
    elif isinstance(value, Orbit):
        value = (value.measure, value.density, value.rest)
    if isinstance(value, sp.Expr):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from expressions(part)


# ---------------- Families from data: message orbits with symbolic sizes, or a structure filled in, in place of a class

_MOST_EXPONENT = 1000


def described_family(data: Description) -> DescribedFamily:
    """Return the family that the data describe, with all parameters free.

    Raises FormatError for parts that do not fit together; RowSumError, NegativeProbabilityError or
    UndecidedOrderError unless this is proved to be a local randomizer for all admissible parameters.

    >>> p = Parameter("p", lower="1/2", upper=1)
    >>> seen = Orbit("0", 1, (p.symbol, 1 - p.symbol)), Orbit("1", 1, (1 - p.symbol, p.symbol))
    >>> coin = described_family(Description("coin", (p,), orbits=seen))
    >>> coin.blanket().gamma, coin.at(p="3/4").local_epsilon()
    (2 - 2*p, log(3))
    """
    check_description(data)
    powers = {
        s.name for e in expressions(data) for power in e.atoms(sp.Pow) for s in power.exp.free_symbols if s.is_integer
    }
    if data.letters:
        powers.add(data.size)
    for p in data.parameters:  # proofs by cases put the lower bound in
        if p.name in powers and p.lower is not None and p.lower.is_Rational and p.lower > _MOST_EXPONENT:
            raise FormatError("parameters", p.describe(), f"lower bounds of at most {_MOST_EXPONENT} in exponents")
    family = member(replace(data, exponents=tuple(sorted(powers))), {})
    counted = next((p for p in data.parameters if p.name == data.size), None)
    three = data.third or any(sum(counts) == 3 for counts, _ in data.shares)
    if three and counted is not None and counted.lower == 2 and counted.upper != 2:
        # What three inputs see holds from a size of 3 on, and is checked for these sizes now rather than at the first.
        family.at(**{data.size: replace(counted, lower=3)})
    return family


def member(data: Description, given: Mapping[str, object]) -> DescribedFamily:
    """Return the member with the given parameters; those left out stay symbols."""
    kind = _OneHot if data.letters else _Sets if data.shares else _Orbits
    names = {"name": data.name, "declared": data.parameters, "size": data.size, "exponents": data.exponents}
    found: DescribedFamily = type("DescribedFamily", (kind,), {**names, "data": data})(**given)
    return found


class DescribedFamily(Family):
    """A family that data describe, made by ``described_family`` or from JSON, and used like one of the catalogue.

    It is checked when it is made, and again when parameters are fixed or narrowed.
    """

    slug, source, small = "described", "described by its user", ()
    typical: ClassVar[dict[str, object]] = {}
    data: ClassVar[Description]
    size: str

    def __init__(self, **given: object) -> None:
        super().__init__(**given)
        values = {p.symbol: self.values[p.name] for p in self.declared}
        self._swap = {symbol: value for symbol, value in values.items() if symbol != value}
        if not self.general()[1]:  # otherwise the general family has been checked, for all values
            _checked(self)

    def check(self) -> None:
        """Return if this is a local randomizer for all parameters in their ranges, else raise what is wrong."""
        check_probabilities(self)
        seen = [self.orbits(self.inputs[:m]) for m in range(2, len(self.inputs) + 1)]
        for m, orbits in enumerate(seen, 2):
            _check_further_inputs(orbits, self[self.size] - m if self.size else None, self.parameters)
        if len(seen) > 1:
            _check_third(seen[0], seen[1], self.parameters)

    def put(self, expr: sp.Expr | int) -> sp.Expr:
        """Return an expression of the description at the values of this member."""
        value = sp.Integer(expr) if isinstance(expr, int) else put(expr, self._swap)
        if value.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
            raise ExpressionError("parameters", Problem(f"{expr} is not real at {self!r}"), "give other values")
        return value

    def table(self) -> FiniteMechanism:
        """Return the table that the description gives; ArgumentError if it gives none."""
        if self.data.table is None:
            raise ArgumentError("table", Problem("the family has no table"), "give tables by with_table")
        return self.data.table(self)

    def with_table(self, table: Callable[[Any], FiniteMechanism]) -> DescribedFamily:
        """Return the family with a function that writes its members out as tables, so that ``verify`` can compare."""
        return member(replace(self.data, table=table), self._given())

    def key(self) -> tuple[object, ...]:
        return (self.data, *self.values.items(), self.parameters)

    def _given(self) -> dict[str, object]:
        return {**self.values, **{p.name: p for p in self.parameters}}

    def __repr__(self) -> str:
        return f"DescribedFamily({', '.join([repr(self.name), *(f'{k}={text(v)}' for k, v in self.values.items())])})"

    def __reduce__(self) -> tuple[object, ...]:
        return member, (self.data, self._given())


class _Orbits(DescribedFamily):
    """Message ``orbits`` as seen from x0 and x1; optionally ``third``, as seen from x0, x1, x2."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return ("x0", "x1", "x2") if self.data.third and self.count(self.size) > 2 else ("x0", "x1")

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        described = len(self.inputs) > 2 or (bool(self.size) and self[self.size] == 2)
        return (*pair, *self.further_inputs(pair)) if described else None

    @property
    def lists_all_inputs(self) -> bool:
        return self.covering_inputs(("x0", "x1")) is not None

    def pair_groups(self) -> tuple[PairGroup, ...] | None:
        """One group: x0, x1 and the laws that the data give for all other inputs; None without any."""
        if not self.data.others:
            return None
        laws = {x: triple(self, ("x0", "x1"), ((x, sp.Integer(1)),)) for x in ("x0", "x1")}
        for name, law, _ in self.data.others:
            parts = [Component(*(self.put(e) for e in part)) for part in law]
            laws[name] = Decomposition(tuple(part for part in parts if part.mass != 0), pair=("x0", "x1"))
        held = tuple((other.label, laws[other.label]) for other in self.data.others if other.attained)
        return (PairGroup(("x0", "x1"), tuple(laws.values()), None, held),)

    def check(self) -> None:
        super().check()
        for name, law, _ in self.data.others:
            _check_other(name, [Component(*map(self.put, part)) for part in law], self)

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        places = [("x0", "x1", "x2").index(x) for x in distinguished]
        if len(places) < 3 and 2 in places:  # inputs are equivalent: x2 replaces x0 or x1
            places = [next(j for j in (0, 1) if j not in places) if i == 2 else i for i in places]
        found = []
        for orbit in self.data.third if len(places) == 3 else self.data.orbits:
            density = [self.put(d) for d in orbit.density]
            rest = [(d, sp.Integer(1)) for i, d in enumerate(density) if i not in places]
            rest += [(self.put(d), None if n is None else self.put(n)) for d, n in orbit.rest]
            found.append(Orbit(orbit.label, self.put(orbit.measure), tuple(density[i] for i in places), tuple(rest)))
        return tuple(orbit for orbit in found if orbit.measure != 0)


class _Sets(DescribedFamily, ExchangeableSets):
    """Two-level sets: densities ``high`` and ``low``, ``shares`` by numbers of given inputs (inside, outside)."""

    @property
    def inputs(self) -> tuple[str, ...]:
        known = max(sum(counts) for counts, _ in self.data.shares)
        return tuple(f"x{i}" for i in range(self.count(self.size, known)))

    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        high, low = self.data.levels
        return self.put(high), self.put(low)

    def shares(self, inside: int, outside: int) -> tuple[Share, ...]:
        if inside + outside > 1:
            given: tuple[Share, ...] = dict(self.data.shares).get((inside, outside), ())
            return tuple(Share(s.label, *(None if e is None else self.put(e) for e in s[1:])) for s in given)
        # The shares of one input are those of two, where the other one is a further input.
        one, other = self.shares(inside + 1, outside), self.shares(inside, outside + 1)
        return (
            *(s._replace(inside=None if s.inside is None else s.inside + 1) for s in one),
            *(s._replace(outside=None if s.outside is None else s.outside + 1) for s in other),
        )


class _OneHot(DescribedFamily, OneHot):
    """A one-hot product channel with an alphabet of ``letters``."""

    def letters(self) -> tuple[Letter, ...]:
        return tuple(Letter(a.label, self.put(a.own), self.put(a.other)) for a in self.data.letters)

    def check(self) -> None:
        for i, column in enumerate(Letter._fields[1:], 1):
            for a in self.letters():
                check_nonnegative(a[i], f'{column} of "{a.label}"', self.parameters)
                if i == 2 and not strictly_positive(a.other, self.parameters):
                    place, value = f'other of "{a.label}"', shown(a.other)
                    raise UndecidedOrderError(place, Problem(f"it is not proved that {shown(value)} > 0"), "assume it")
            total = sp.Add(*(a[i] for a in self.letters()))
            if not is_zero(total - 1):
                wrong = Problem(f"the probabilities sum to {shown(total)}, not to 1")
                raise RowSumError(column, wrong, "make them sum to 1")


def _check_other(name: str, law: Sequence[Component], family: DescribedFamily) -> None:
    """Check that a law is one of R(x0) and R(x1), measured by another row, that distinguishes the two as they do.

    Between ratios r0/r1 no probability may be shifted: so E (r0 - E r1)_+ is that of the pair at every level E.
    """
    place = f"others: {name}"
    for part in law:
        for value in part:
            check_nonnegative(value, place, family.parameters)
    total = sp.Add(*(mass for *_, mass in law))
    if not is_zero(total - 1):
        raise RowSumError(place, Problem(f"the masses sum to {shown(normal(total))}, not to 1"), "make them sum to 1")
    seen: dict[sp.Expr, sp.Expr] = {}
    pair = [(orbit.mass(0), orbit.mass(1)) for orbit in family.orbits(("x0", "x1"))]
    for sign_, atoms in ((1, [(r0 * mass, r1 * mass) for r0, r1, mass in law]), (-1, pair)):
        for first, second in atoms:
            if normal(first) != 0 or normal(second) != 0:
                ratio = normal(second / first) if normal(first) != 0 else sp.oo
                seen[ratio] = seen.get(ratio, sp.Integer(0)) + sign_ * (second if ratio is sp.oo else first)
    if not all(is_zero(rest) for rest in seen.values()):
        wrong = Problem("ratio0/ratio1 does not have the law that it has for the pair")
        raise FormatError(place, wrong, "make it the same: every input sees the same R(x0) and R(x1)")


@lru_cache(maxsize=1024)
def _checked(family: DescribedFamily) -> None:
    family.check()


def _check_further_inputs(orbits: Sequence[Orbit], total: sp.Expr | None, parameters: Sequence[Parameter]) -> None:
    """Check densities of the further inputs, that each message knows all of them, and that their rows sum to 1."""
    rows: sp.Expr | None = sp.Integer(0)
    for orbit in orbits:
        place = f"rest of '{orbit.label}'"
        for density, number in orbit.rest:
            check_nonnegative(density, place, parameters)
            if number is not None:  # such as k - 3 on messages that there are from k = 3 on
                check_nonnegative(number, place, parameters, proved=False)
        if any(number is None for _, number in orbit.rest):
            rows = None  # not known for all messages
            continue
        number = normal(sp.Add(*(n for _, n in orbit.rest)))
        total = number if total is None else normal(total)
        if not is_zero(number - total):
            counts = Problem(f"the numbers sum to {shown(number)}")
            raise FormatError(place, counts, f"make them sum to {shown(total)}, the number of further inputs")
        rows = None if rows is None else rows + orbit.measure * sp.Add(*(d * n for d, n in orbit.rest))
    if rows is not None and total is not None and not is_zero(rows - total):
        found = Problem(f"they sum to {shown(normal(rows))} in all")
        raise RowSumError("rows of the further inputs", found, f"make each of the {shown(total)} rows sum to 1")


def _check_third(pair: Sequence[Orbit], three: Sequence[Orbit], parameters: Sequence[Parameter]) -> None:
    """Check that the messages as seen from any two of three inputs are those that are seen from the pair."""

    def law(orbits: Sequence[Orbit], i: int, j: int) -> dict[tuple[sp.Expr, sp.Expr], sp.Expr]:
        found: dict[tuple[sp.Expr, sp.Expr], sp.Expr] = {}
        for orbit in orbits:
            densities = normal(orbit.density[i]), normal(orbit.density[j])
            found[densities] = normal(found.get(densities, 0) + orbit.measure)
        return {densities: measure for densities, measure in found.items() if measure != 0}

    for orbit in three:
        check_nonnegative(orbit.measure, f"measure of '{orbit.label}'", parameters, proved=False)
    for i, j in permutations(range(3), 2):
        if law(three, i, j) != law(pair, 0, 1):
            differs = Problem(f"x{i} and x{j} have other densities than x0 and x1 in orbits")
            raise FormatError("third", differs, "give all pairs of inputs the same joint densities")
