"""Mechanism families: randomizers with declared parameters, as classes or described by data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import Any, ClassVar, Self

import sympy as sp

from symamp.decompositions.blanket import blanket, triple
from symamp.decompositions.checks import check_probabilities
from symamp.decompositions.decomposition import Decomposition, merged
from symamp.decompositions.pair_groups import ComparedLaws, compare_laws
from symamp.decompositions.printing import text
from symamp.decompositions.randomizer import groups_of
from symamp.errors import ArgumentError, Problem, VerificationError, one_of
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import Parameter, check_range
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import printable_number
from symamp.numbers.substitution import put as substituted
from symamp.public_names import PublicNames
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import Mechanism

# -------------------------------------------------------------------- A family's description against its explicit table


def _verified(family: Mechanism, member: Mechanism, table: FiniteMechanism, swap: Mapping[sp.Expr, sp.Expr]) -> str:
    """Return one line if what is derived is what the table gives; ``swap`` puts numbers for the family's symbols."""
    check_probabilities(member)
    for pair in member.pairs():
        expected = blanket(table, pair)
        _compare(member, f"components for {pair}", blanket(member, pair), expected)
        if pair in family.pairs():
            _compare(member, f"closed form for {pair}", _at(family, swap, pair), expected)
        for other in (*member.further_inputs(pair), *pair):
            weights = ((other, sp.Integer(1)),)
            _compare(member, f"data set with {other}", triple(member, pair, weights), triple(table, pair, weights))
    budget, expected_budget = member.local_epsilon(), table.local_epsilon()
    if normal(sp.exp(budget)) != normal(sp.exp(expected_budget)):
        raise VerificationError(f"local epsilon of {member!r}", budget, f"{expected_budget}, from its table")
    first = blanket(member, member.pairs()[0])
    return f"{member!r}: {len(first.components)} components, gamma = {first.gamma}, local epsilon = {budget}"


def _at(family: Mechanism, swap: Mapping[sp.Expr, sp.Expr], pair: tuple[str, str]) -> Decomposition:
    """Return the family's closed form with the member's numbers put in; components without mass drop out."""
    closed = blanket(family, pair)

    def put(expr: sp.Expr) -> sp.Expr:
        return normal(substituted(expr, swap))

    parts = [(put(m * r0), put(m * r1), put(m)) for r0, r1, m in closed.components]
    parts += [(put(a), put(b), sp.Integer(0)) for a, b in closed.singular]
    return merged([p for p in parts if any(e != 0 for e in p)], (), pair)


def _compare(member: Mechanism, what: str, found: Decomposition, expected: Decomposition) -> None:
    if _positive(found) != _positive(expected):
        raise VerificationError(
            f"{what} of {member!r}", str(found.components), f"{expected.components}, from its table"
        )


def _positive(decomposition: Decomposition) -> tuple[frozenset[object], frozenset[object]]:
    components, singular = decomposition.signature()
    return frozenset(c for c in components if c.mass != 0), frozenset(s for s in singular if s != (0, 0))


# ------------------------------------------------------------- Mechanism families: randomizers with declared parameters

_LARGEST_EXPANDED, _LARGEST_EXPONENT = 24, 10**18
_MOST_CHECKED = 20_000


class Parametrised(PublicNames):
    """Declared parameters, each given as a number, left as a symbol, or given as a Parameter with a narrower range.

    ``slug`` is the name on the command line and in files; ``numbers`` names those that cannot be symbols.
    """

    _internal_names = "check_names count declared exponents keep key names numbers slug"

    name: str
    slug: ClassVar[str]
    declared: ClassVar[tuple[Parameter, ...]]
    exponents: ClassVar[tuple[str, ...]] = ()
    numbers: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **given: object) -> None:
        self.check_names(given)
        self.values: dict[str, sp.Expr] = {}
        free = []
        for parameter in self.declared:
            value = given.get(parameter.name)
            is_symbol = isinstance(value, sp.Basic) and value == parameter.symbol  # an array would compare its elements
            if isinstance(value, Parameter) or value is None or is_symbol:
                kept = _narrowed(parameter, value if isinstance(value, Parameter) else parameter)
                self.values[parameter.name] = kept.symbol
                free.append(kept)
            else:
                number = printable_number(value, parameter.name)
                check_range(
                    parameter, number, {p.symbol: self.values[p.name] for p in self.declared if p.name in self.values}
                )
                if parameter.name in self.exponents and number > _LARGEST_EXPONENT:
                    raise ArgumentError(parameter.name, value, f"a size of at most {_LARGEST_EXPONENT}")
                self.values[parameter.name] = number
        known_values = {p.symbol: self.values[p.name] for p in self.declared if not self.values[p.name].free_symbols}
        self.parameters = tuple(p.given(known_values) for p in free)
        for name in self.numbers:
            if self.values[name].free_symbols:
                raise ArgumentError(name, self.values[name], "a number, no symbol")

    __iter__ = None  # values are found by name: without this, iteration would ask for 0, 1, ...

    def __getitem__(self, name: str) -> sp.Expr:
        return self.values[name]

    def keep(self, name: str, number: int | None) -> None:
        """Count a number that is no declared parameter among the values, if it is given."""
        if number is not None:
            self.values[name] = sp.Integer(number)

    def key(self) -> tuple[object, ...]:
        """Return the class, its parameter values and the ranges of those that are free."""
        return (type(self).__qualname__, *self.values.items(), self.parameters)

    @classmethod
    def check_names(cls, names: Iterable[str]) -> None:
        """Raise ArgumentError unless all names are those of parameters."""
        for name in names:
            if name not in cls.names():
                raise ArgumentError("parameter", name, one_of(sorted(cls.names()), name))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the parameters, in their order.

        >>> import symamp as sa
        >>> sa.HadamardResponse.names()
        ('K', 'eps0', 'D')
        """
        keywords = tuple(p.name for p in signature(cls).parameters.values() if p.kind is p.KEYWORD_ONLY)
        return keywords or tuple(p.name for p in cls.declared)

    def at(self, /, **values: object) -> Self:
        """Return the member of the family with the given parameters fixed.

        >>> import symamp as sa
        >>> sa.RandomizedResponse().at(k=10, eps0=1)
        RandomizedResponse(k=10, eps0=1)
        """
        self.check_names(values)
        free = {p.name: p for p in self.parameters}
        kept: dict[str, object] = {name: free.get(name, value) for name, value in self.values.items()}
        fixed = {
            name: printable_number(value, name)
            for name, value in values.items()
            if name in free and not isinstance(value, Parameter) and value is not None
        }
        together = {p.symbol: fixed.get(p.name, self.values[p.name]) for p in self.declared}
        for name, number in fixed.items():
            check_range(free[name], number, together)
        return type(self)(**{**kept, **values})

    def count(self, name: str, most: int = 4) -> int:
        """Return how many inputs a size parameter guarantees, at most ``most``: its value, or its lower bound."""
        value = self.values[name]
        if value.is_Integer:
            return min(int(value), most)
        lower = next(p.lower for p in self.parameters if p.name == name)
        return min(int(lower), most) if lower is not None and lower.is_Integer else 2

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={text(v)}' for k, v in self.values.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parametrised) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())


class Family(Parametrised, Mechanism):
    """A local randomizer with declared parameters, described once for all sizes.

    The table of a member is the same mechanism written out message by message from its published definition, not
    from the orbits: ``verify`` compares what is derived from the two.

    ``exponents`` names the parameters that occur as exponents: large values of these are derived as symbols and put in
    at the end, because powers such as (s + 1)^10000 must not be multiplied out.

    ``source`` is the citation of the definition, ``small`` are parameter values at which the table is small,
    ``typical`` the sizes shown in the gallery (budgets left out).
    """

    _internal_names = "general small typical"

    source: ClassVar[str]
    small: ClassVar[tuple[Mapping[str, object], ...]]
    typical: ClassVar[Mapping[str, object]]

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """One pair, which stands for all others or is the worst, unless a family says otherwise."""
        return (("x0", "x1"),)

    def general(self) -> tuple[Self, dict[sp.Symbol, sp.Expr]]:
        """Return the family with large exponents as symbols, and their values; (self, {}) if there are none."""
        given = {p.name: (p, self.values[p.name]) for p in self.declared if p.name in self.exponents}
        large = {name: p for name, (p, x) in given.items() if x.is_Integer and x > _LARGEST_EXPANDED}
        if not large:
            return self, {}
        free: dict[str, object] = {name: value for name, value in self.values.items() if name not in large}
        kept: dict[str, object] = {p.name: p for p in self.parameters}
        general = type(self)(**{**free, **kept, **{p.name: p for p in large.values()}})
        return general, {p.symbol: self.values[p.name] for p in large.values()}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "table" in vars(cls):
            cls.table = _of_numbers(cls.table)  # type: ignore[assignment]

    @abstractmethod
    def table(self) -> FiniteMechanism:
        """Return the explicit table of this member, whose parameters are all numbers (and whose sizes are small).

        Its inputs include ``self.inputs``, under the same labels.
        """

    def verify(self, *sizes: Mapping[str, object]) -> tuple[str, ...]:
        """Check the description against the explicit table at each of the given parameter values.

        Components for the representative pairs, gamma, local epsilon and the lower-bound triples must agree exactly.
        Where the table is small and rational, and the family declares ``pair_groups``, the law of every input at every
        pair must be below a mixture of what is declared (``compared_laws``); the line says so.
        Returns one line per size. Raises VerificationError with both values at the first disagreement.

        >>> import symamp as sa
        >>> sa.RandomizedResponse().verify({"k": 4, "eps0": "log(3)"})
        ('RandomizedResponse(k=4, eps0=log(3)): 3 components, gamma = 2/3, local epsilon = log(3)',)
        """
        lines = []
        for size in sizes:
            family = self.at(**{name: size[name] for name in self.numbers if name in size})
            member = family.at(**dict(size))
            swap = {family.values[name]: member.values[name] for name in family.values}
            table = member.table()
            line, compared = _verified(family, member, table, swap), _compared(member, table)
            if isinstance(compared, ComparedLaws):
                if compared.refuted:
                    pair, proofs = compared.refuted[0].pair, "; ".join(map(str, compared.refuted))
                    raise VerificationError(f"{member!r}: pair {pair}", Problem(proofs), "a group that bounds it")
                line += f", {len(compared.weights)} laws below those declared"
            lines.append(line)
        return tuple(lines)

    def compared_laws(self, /, **size: object) -> dict[str, Any]:
        """Return weights, in fractions, by which the laws of all inputs of a member lie below those it declares.

        For all ordered pairs of inputs of its table, all other inputs and two levels: "pairs" names the group that
        bounds a pair, "below" has the weights of mixtures above each law, "mixtures" those of rows that mix others.
        Where a pair has no group, "refuted" has a function for each group whose mean is larger for one input than for
        all laws of the group. Whoever has the document can check it: docs/proofs/other_inputs.md shows how. Raises
        ArgumentError where the member declares no laws, or its table is not small and rational.

        >>> import symamp as sa
        >>> found = sa.Harmony().compared_laws(d=1, eps0="log(3)")
        >>> len(found["below"]), found["refuted"]
        (6, [])
        """
        member = self.at(**size)
        found = _compared(member, member.table())
        if isinstance(found, str):
            raise ArgumentError("size", Problem(f"{member!r}: {found}"), "a family with pair_groups, at a small size")
        return found.document()


def _compared(member: Family, table: FiniteMechanism) -> ComparedLaws | str:
    """Return what a member declares of all inputs against its table, or why the two are not compared."""
    groups, orbits = groups_of(member), table.orbits(table.inputs)
    entries = [[normal(orbit.mass(i)) for orbit in orbits] for i in range(len(table.inputs))]
    if groups is None:
        return "it declares no laws for other inputs"
    if not all(p.is_Rational for row in entries for p in row):
        return "its table has irrational entries"
    if len(entries) ** 3 * len(orbits) > _MOST_CHECKED:
        return "its table is large"
    rows = {x: list(map(fmpq_of, row)) for x, row in zip(table.inputs, entries, strict=True)}
    return compare_laws(rows, groups, fmpq_of(normal(sp.exp(member.local_epsilon()))))


def _of_numbers(table: Callable[[Any], FiniteMechanism]) -> Callable[[Any], FiniteMechanism]:
    """Return the function that writes a member out, with a refusal where a parameter is still a symbol."""

    @wraps(table)
    def written_out(self: Family) -> FiniteMechanism:
        if self.parameters:
            free = ", ".join(p.name for p in self.parameters)
            raise ArgumentError("table", Problem(f"{self!r} has no number for {free}"), "give it by .at(...)")
        return table(self)

    return written_out


def _narrowed(declared: Parameter, given: Parameter) -> Parameter:
    other = given.predicate is not None and declared.predicate not in (None, given.predicate)
    if given.name != declared.name or (declared.integer and not given.integer) or other:
        raise ArgumentError(declared.name, given.describe(), f"a range for {declared.describe()}")
    return replace(given, predicate=given.predicate or declared.predicate)
