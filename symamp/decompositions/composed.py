"""Decompositions of several mechanisms at once: products and weighted unions, exact or enclosed by two laws.

A composition is a tree whose leaves are decompositions with components, or with laws around them. Whatever is asked of
it is made of what its parts answer by a rule for products and one for unions (``_folded``): the exact components, keyed
by the exponents of what their ratios are made of, so that equal keys mean equal ratios; and where these are too many,
polynomials whose exponents are places on a lattice of the logarithms of both ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from itertools import repeat
from math import floor, lcm, prod, sqrt
from typing import Any, TypeAlias, TypeVar

import flint
import sympy as sp
from flint import arb, arb_poly, fmpq, fmpz_poly

from symamp.decompositions.decomposition import Component, Decomposition, KnownBy, merged
from symamp.decompositions.printing import text
from symamp.decompositions.to_law import law_of, number
from symamp.errors import ArgumentError, Problem
from symamp.formulas.normal_form import normal, normal_product
from symamp.formulas.parameter import Parameter
from symamp.laws.law import Atom, Law, Number, RationalLaw, total
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.surroundings import at_precision

# What products may take: time and memory against exact merging. Beyond it laws around the product are used.
_LARGEST_FACTORED = 10**12  # numerators and denominators of ratios that are factored
MOST_CELLS = 6_000  # components after merging
_MOST_CELL_PAIRS = 1_000_000  # that all products of a mechanism multiply
_MOST_RATIONAL_CELLS = 400  # components of which fractions are made
_LATTICE_ATOMS = 6_000  # about, of the laws around a product (half of them where one ratio is 1): width against time
_LARGEST_PRECISION = 16_384  # bits of masses of large powers
_SPARE_BITS = 256  # beyond twice the wanted ones, at first
_MOST_SHOWN_CELLS = 40  # components that are printed
_MOST_FORMULAS = 1_000  # components that are written as formulas

_T = TypeVar("_T")


def _folded(
    node: Decomposition,
    leaf: Callable[[Decomposition], _T],
    product: Callable[[list[tuple[_T, int]]], _T],
    union: Callable[[list[tuple[_T, sp.Expr]]], _T],
) -> _T:
    """Return what a composition has, from what its leaves have: parts with their powers, or with their weights."""
    if not isinstance(node, Composed):
        return leaf(node)
    parts = [_folded(part, leaf, product, union) for part in node.parts]
    if node.weights:
        return union(list(zip(parts, node.weights, strict=True)))
    return product(list(zip(parts, node.powers, strict=True)))


# ------------- Products of many ratios, keyed by the exponents of what they are made of: equal keys mean equal products


def powers_of(ratio: sp.Expr) -> dict[sp.Expr, sp.Rational]:
    """Return {base: exponent} whose product is the positive expression: primes, exponentials, and whatever is left.

    >>> powers_of(sp.exp(sp.Symbol("eps0") / 2) * 12)
    {2: 2, 3: 1, exp(eps0): 1/2}
    """
    found: dict[sp.Expr, sp.Rational] = {}
    for factor in sp.Mul.make_args(sp.powsimp(ratio) if ratio.is_Mul else ratio):
        for base, exponent in _factor(factor):
            found[base] = found.get(base, sp.Integer(0)) + exponent
    return {base: exponent for base, exponent in found.items() if exponent != 0}


def _factor(factor: sp.Expr) -> list[tuple[sp.Expr, sp.Rational]]:
    if factor.is_Rational and _is_short(factor):
        return [(sp.Integer(p), sp.Integer(k)) for p, k in sp.factorrat(factor).items()]
    if isinstance(factor, sp.exp):
        terms = (term.as_coeff_Mul() for term in sp.Add.make_args(factor.exp))
        return [(sp.exp(r), c) if _is_short(c) else (sp.exp(c * r), sp.Integer(1)) for c, r in terms]
    if factor.is_Pow and factor.exp.is_Rational:
        inner = powers_of(factor.base) if factor.base.is_Mul or factor.base.is_Rational else {factor.base: 1}
        return [(base, exponent * factor.exp) for base, exponent in inner.items()]
    return [(factor, sp.Integer(1))]


def _is_short(c: sp.Expr) -> bool:
    return bool(c.is_Rational) and max(abs(c.p), c.q) <= _LARGEST_FACTORED


_UNHIDDEN, _NO_0, _NO_1 = 1, 2, 4
Key: TypeAlias = tuple[int, int, int]
"""What A0, A1 and A2 lack on some messages (flags: A2, A0, A1 vanish), and the exponents of both ratios.

Exponents are packed into one integer each, so that a sum of two has the exponents of a product.
"""
Cells: TypeAlias = dict[Key, Any]
"""The mass of A2 for each key, or what A0 and A1 are ratios to where A2 has none."""


class MergedCells:
    """The components of a composition, merged by equal ratios: in formulas, in balls and in fractions alike."""

    def __init__(self, whole: Composed) -> None:
        self.whole = whole
        leaves = {leaf: list(_cells(leaf)) for leaf in whole.leaves}
        given = dict.fromkeys(r for cells in leaves.values() for _, *both, _ in cells for r in both)
        powers = {r: powers_of(r) for r in given}
        self.denominators: dict[sp.Expr, int] = {}
        for found in powers.values():
            for base, e in found.items():
                self.denominators[base] = lcm(self.denominators.get(base, 1), int(e.q))
        exponents = {r: [int(p.get(b, 0) * d) for b, d in self.denominators.items()] for r, p in powers.items()}
        # More bits than sums of exponents ever need.
        self._width = 128 + max((abs(e) for row in exponents.values() for e in row), default=0).bit_length()
        codes = {r: sum(e << self._width * i for i, e in enumerate(row)) for r, row in exponents.items()}
        self._leaves = {leaf: [((f, codes[a], codes[b]), m) for f, a, b, m in cells] for leaf, cells in leaves.items()}
        masses = [m for cells in leaves.values() for *_, m in cells]
        self.is_rational = all(e.is_Rational for e in (*given, *masses, *whole.all_weights))
        self.keys = list(self.masses(lambda _: 1))

    def masses(self, convert: Callable[[sp.Expr], Any]) -> Cells:
        """Return the masses of all keys, in the numbers that ``convert`` makes of the formulas of the leaves."""
        pairs = 0

        def leaf(node: Decomposition) -> Cells:
            return _gathered((key, convert(mass)) for key, mass in self._leaves[node])

        def times(a: Cells, b: Cells) -> Cells:
            nonlocal pairs
            pairs += len(a) * len(b)
            if pairs > _MOST_CELL_PAIRS:
                raise _too_many(pairs)
            # What neither data set sends counts only where others send it: there it is part of the mass.
            return _gathered(
                ((f | g, 0 if (f | g) & _NO_0 else x + u, 0 if (f | g) & _NO_1 else y + v), m * w)
                for (f, x, y), m in a.items()
                for (g, u, v), w in b.items()
                if f | g != _UNHIDDEN | _NO_0 | _NO_1
            )

        def product(parts: list[tuple[Cells, int]]) -> Cells:
            # Each part by itself first: its powers have few different ratios.
            powers = [reduce(times, repeat(part, power)) for part, power in parts]
            return reduce(times, powers)

        def union(parts: list[tuple[Cells, sp.Expr]]) -> Cells:
            return _gathered((key, convert(w) * m) for part, w in parts for key, m in part.items())

        return _folded(self.whole, leaf, product, union)

    def ratios(self, root: Callable[[sp.Expr, sp.Rational], Any], kind: Callable[[int], Any]) -> list[tuple[Any, Any]]:
        """Return (r0, r1) of all keys, as products of powers of the bases that ``root`` makes."""

        def made(code: int) -> Any:
            parts = []
            for base, denominator in self.denominators.items():
                exponent = code & (1 << self._width) - 1
                exponent -= (exponent >> self._width - 1) << self._width
                code = code - exponent >> self._width
                if exponent:
                    parts.append(root(base, sp.Rational(exponent, denominator)))
            return prod(parts, start=kind(1))

        known = {code: made(code) for code in {code for _, *both in self.keys for code in both}}
        return [(kind(0) if f & _NO_0 else known[x], kind(0) if f & _NO_1 else known[y]) for f, x, y in self.keys]


def _cells(leaf: Decomposition) -> Iterable[tuple[int, sp.Expr, sp.Expr, sp.Expr]]:
    """Yield (flags, ratio0, ratio1, mass) of the components, a ratio that is 0 as 1, and of what is not hidden."""
    one = sp.Integer(1)
    for r0, r1, mass in leaf.components:
        yield _NO_0 * (r0 == 0) + _NO_1 * (r1 == 0), r0 if r0 != 0 else one, r1 if r1 != 0 else one, mass
    for a, b in leaf.singular:
        lacks = _UNHIDDEN + _NO_0 * (a == 0) + _NO_1 * (b == 0)
        yield lacks, one, one if lacks != _UNHIDDEN else normal(b / a), b if a == 0 else a


def _gathered(items: Iterable[tuple[Key, Any]]) -> Cells:
    found: Cells = {}
    for key, value in items:
        before = found.get(key)
        found[key] = value if before is None else before + value
    if len(found) > MOST_CELLS:
        raise _too_many(len(found))
    return found


def _too_many(count: int) -> ArgumentError:
    wrong = Problem(f"the product has {count:,} components, more than {MOST_CELLS:,}")
    return ArgumentError("mechanism", wrong, "take fewer parts, or equal ones")


# --- The law of merged components in balls and, where everything is rational, in rationals: no formula of it is made


class _Refined:
    """Rows of balls, made again only for a higher precision, with bits enough to resolve them."""

    def __init__(self, make: Callable[[], list[list[arb]]]) -> None:
        self._make, self._bits, self._known = make, 0, list[list[arb]]()

    def at(self) -> list[list[arb]]:
        wanted = flint.ctx.prec + 32
        if wanted > self._bits:
            bits, before = 2 * wanted + _SPARE_BITS, -1
            while True:
                with at_precision(bits):
                    self._known = self._make()
                accuracy = min(x.rel_accuracy_bits() for row in self._known for x in row)
                if accuracy >= wanted or accuracy == before or bits > _LARGEST_PRECISION:
                    break
                bits, before = bits + max(wanted - accuracy, 64), accuracy
            self._bits = max(wanted, min(accuracy, bits))
        return self._known

    def entry(self, row: int, i: int) -> Number:
        return lambda: self.at()[row][i]

    def product(self, i: int, *rows: int) -> Number:
        return lambda: prod((self.at()[row][i] for row in rows), start=arb(1))


def merged_law(merged: MergedCells, complete: bool) -> Law:
    """Return the law of merged components; numbers are made when they are read, at the precision of that time."""
    if merged.is_rational and len(merged.keys) <= _MOST_RATIONAL_CELLS:
        both = merged.ratios(lambda base, e: fmpq_of(base) ** int(e), fmpq)
        cells = list(zip(merged.keys, both, merged.masses(fmpq_of).values(), strict=True))
        listed = tuple((r0, r1, m) for (f, *_), (r0, r1), m in cells if not f & _UNHIDDEN)
        alone = tuple((m * r0, m * r1) for (f, *_), (r0, r1), m in cells if f & _UNHIDDEN)
        return RationalLaw(listed, alone).in_balls(complete)

    def rows() -> list[list[arb]]:
        ratios = merged.ratios(lambda base, e: number(base)() ** arb(fmpq_of(e)), arb)
        return [list(merged.masses(lambda formula: number(formula)()).values()), *map(list, zip(*ratios, strict=True))]

    balls, atoms, singular = _Refined(rows), [], []
    for i, (flags, x, y) in enumerate(merged.keys):
        if flags & _UNHIDDEN:
            singular.append((balls.product(i, 0, 1), balls.product(i, 0, 2)))
        else:
            equal = x == y and flags in (0, _NO_0 | _NO_1)
            atoms.append(Atom(balls.entry(1, i), balls.entry(2, i), balls.entry(0, i), equal))
    return Law(tuple(atoms), tuple(singular), complete)


# -------- Two laws of a bounded number of atoms around a product of many parts: where the exact one would have too many

Places: TypeAlias = Mapping[Decomposition, Sequence[tuple[Any, Any]]]
"""For each leaf where what is made of its atoms is: the logarithms of both ratios, or whole steps of the lattice."""


class _Lattice:
    """Laws of some thousand atoms whose divergences enclose that of the whole, for all n.

    Both live on a lattice of step h in the logarithms of the two ratios. Above, each atom of a leaf is spread over the
    lattice points around it, with its mean; the product of the leaves lies on the lattice then. Below, atoms of the
    product whose parts have the same sum of rounded places become one atom at their mean.

    Guarantee
    ---------
    D_E of ``below`` <= D_E of the whole <= D_E of ``above`` for every E >= 0 and every n. Proof: docs/proofs/joint.md.

    Raises ArgumentError for parts with ratios that are 0.
    """

    def __init__(self, whole: Composed, complete: bool) -> None:
        self.whole, self.complete = whole, complete
        self.laws = {leaf: leaf.enclosing_laws or (law_of(leaf, complete),) * 2 for leaf in whole.leaves}
        places: list[Places] = []
        with at_precision(128):
            for side in (0, 1):
                ratios = {x: [(a.ratio0(), a.ratio1()) for a in both[side].atoms] for x, both in self.laws.items()}
                if any(not r > 0 for found in ratios.values() for pair in found for r in pair):
                    raise ArgumentError(
                        "mechanism",
                        Problem("there are too many components to merge exactly, and some have a ratio of 0"),
                        "take parts all of whose inputs may send every message, or fewer parts",
                    )
                places.append({x: [(float(a.log()), float(b.log())) for a, b in found] for x, found in ratios.items()})
        widths = [high - low for low, high in (_ends(whole, places[1], k) for k in (0, 1))]
        step = max(widths) / _LATTICE_ATOMS if min(widths) == 0.0 else sqrt(widths[0] * widths[1] / _LATTICE_ATOMS)
        # A number in general position: no ratio but 1 lies on the lattice.
        self.step = float(f"{step:.6g}") + 1e-11 * step
        self.rounded = {x: [(round(a / self.step), round(b / self.step)) for a, b in y] for x, y in places[0].items()}

    def below(self) -> Law:
        def values(leaf: Decomposition) -> list[list[arb]]:
            rows = [[a.mass(), a.mass() * a.ratio0(), a.mass() * a.ratio1()] for a in self.laws[leaf][0].atoms]
            return [list(row) for row in zip(*rows, strict=True)]

        support, numbers = self._expanded(self.rounded, values)

        def ratio(i: int, k: int) -> Number:
            return lambda: numbers.at()[1 + k][i] / numbers.at()[0][i]

        atoms = (Atom(ratio(i, 0), ratio(i, 1), numbers.entry(0, i)) for i in range(len(support)))
        alone = self._alone(0)
        return Law(tuple(atoms), () if alone is None else (alone,), self.complete)

    def above(self) -> Law:
        with at_precision(128):
            around = {leaf: [self._around(a) for a in laws[1].atoms] for leaf, laws in self.laws.items()}

        def corners(leaf: Decomposition) -> list[tuple[int, int, arb]]:
            atoms = zip(self.laws[leaf][1].atoms, around[leaf], strict=True)
            return [corner for atom, points in atoms for corner in self._corners(atom, *points)]

        with at_precision(128):
            places = {leaf: [(x, y) for x, y, _ in corners(leaf)] for leaf in self.laws}
        support, numbers = self._expanded(places, lambda leaf: [[mass for *_, mass in corners(leaf)]])

        def ratio(place: int) -> Number:
            return lambda: (arb(self.step) * place).exp()

        atoms = (Atom(ratio(x), ratio(y), numbers.entry(0, i), x == y) for i, (x, y) in enumerate(support))
        alone, zero = self._alone(1), number(sp.Integer(0))
        return Law(tuple(atoms), () if alone is None else ((alone[0], zero), (zero, alone[1])), self.complete)

    def _around(self, atom: Atom) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return for each ratio the lattice points around it; one point where it is 1 exactly."""

        def around(ratio: arb) -> tuple[int, int]:
            if ratio == 1:
                return 0, 0
            if ratio.contains(1):  # as that of noise at the middle
                return -1, 1
            low = floor(float(ratio.log()) / self.step)
            return low, low + 1

        return around(atom.ratio0()), around(atom.ratio1())

    def _corners(self, atom: Atom, points0: tuple[int, int], points1: tuple[int, int]) -> list[tuple[int, int, arb]]:
        """Return the points around an atom with masses: both ratios go up together, so that G spreads least."""

        def up(ratio: arb, low: int, high: int) -> arb:
            """Return the share of the upper point."""
            least, most = (arb(self.step) * low).exp(), (arb(self.step) * high).exp()
            return arb(0) if low == high else (ratio - least) / (most - least)

        (low0, high0), (low1, high1) = points0, points1
        up0, up1 = up(atom.ratio0(), low0, high0), up(atom.ratio1(), low1, high1)
        middle = (high0, low1) if up0 > up1 else (low0, high1)
        shares = [
            (low0, low1, 1 - up0.max(up1)),
            (*middle, arb(0) if atom.equal_ratios else abs(up0 - up1)),
            (high0, high1, up0.min(up1)),
        ]
        found = [(x, y, atom.mass() * share) for x, y, share in shares if not share.is_zero()]
        if not all(share > 0 or share.is_zero() for *_, share in shares):
            raise ArgumentError("mechanism", Problem("a ratio lies on the lattice of merged components"), "change eps0")
        return found

    def _expanded(
        self, places: Places, values: Callable[[Decomposition], list[list[arb]]]
    ) -> tuple[list[tuple[int, int]], _Refined]:
        """Return the places of the whole, and for each row of values of the leaves what the whole has there."""
        (low0, high0), (low1, _) = (_ends(self.whole, places, k) for k in (0, 1))
        width = high0 - low0 + 1
        least = {leaf: [min(place[k] for place in found) for k in (0, 1)] for leaf, found in places.items()}
        codes = {x: [a - least[x][0] + width * (b - least[x][1]) for a, b in found] for x, found in places.items()}

        def expanded(row: Callable[[Decomposition], Sequence[Any]], weight: Callable[[sp.Expr], Any], kind: Any) -> Any:
            """Return the polynomial whose exponents are codes, those of each part from its own least place on."""

            def leaf(node: Decomposition) -> tuple[Any, list[int]]:
                found = [0] * (max(codes[node]) + 1)
                for code, value in zip(codes[node], row(node), strict=True):
                    found[code] += value
                return kind(found), least[node]

            def product(parts: list[tuple[tuple[Any, list[int]], int]]) -> tuple[Any, list[int]]:
                whole = prod((p**power for (p, _), power in parts), start=kind([1]))
                return whole, [sum(low[k] * power for (_, low), power in parts) for k in (0, 1)]

            def union(parts: list[tuple[tuple[Any, list[int]], sp.Expr]]) -> tuple[Any, list[int]]:
                least = [min(low[k] for (_, low), _ in parts) for k in (0, 1)]
                whole = kind([0])
                for (p, low), w in parts:
                    whole += p * kind([0] * (low[0] - least[0] + width * (low[1] - least[1])) + [weight(w)])
                return whole, least

            return _folded(self.whole, leaf, product, union)[0]

        counts = expanded(lambda leaf: [1] * len(codes[leaf]), lambda _: 1, fmpz_poly).coeffs()
        used = [code for code, count in enumerate(counts) if count != 0]

        def rows() -> list[list[arb]]:
            made = {leaf: values(leaf) for leaf in places}
            found = []
            for k in range(len(next(iter(made.values())))):
                whole = expanded(lambda leaf, k=k: made[leaf][k], lambda w: number(w)(), arb_poly)  # type: ignore[misc]
                found.append([whole[code] for code in used])
            return found

        return [(code % width + low0, code // width + low1) for code in used], _Refined(rows)

    def _alone(self, side: int) -> tuple[Number, Number] | None:
        """Return the masses of A0 and A1 on messages some part of which names its sender, None if there are none."""
        known = {leaf: both[side].singular for leaf, both in self.laws.items()}
        if not any(known.values()):
            return None

        def of(k: int) -> arb:
            return _folded(
                self.whole,
                lambda leaf: total([pair[k]() for pair in known[leaf]]),
                lambda parts: reduce(lambda a, b: a + b - a * b, (x for x, power in parts for _ in range(power))),
                lambda parts: total([number(w)() * x for x, w in parts]),
            )

        return lambda: of(0), lambda: of(1)


def _ends(whole: Composed, places: Places, k: int) -> tuple[Any, Any]:
    """Return the least and the largest place of the whole on one of the two axes."""
    return _folded(
        whole,
        lambda leaf: (min(x[k] for x in places[leaf]), max(x[k] for x in places[leaf])),
        lambda parts: (sum(low * n for (low, _), n in parts), sum(high * n for (_, high), n in parts)),
        lambda parts: (min(low for (low, _), _ in parts), max(high for (_, high), _ in parts)),
    )


# -------- Decompositions of several mechanisms at once: products and weighted unions of components, merged by exponents


class Composed(KnownBy, Decomposition):
    """The decomposition of mechanisms that a user runs together: all of them, or one of them drawn by weight.

    ``weights`` is empty for a product, in which ``powers`` counts equal parts; for a union the masses of part i are
    multiplied by weights[i]. Components are merged by the exponents of their ratios, so that m equal parts of two
    levels have at most (m + 1)^2; formulas are made when they are read, numbers without them.
    """

    parts: tuple[Decomposition, ...]
    powers: tuple[int, ...]
    weights: tuple[sp.Expr, ...]
    complete: bool
    _known_by = ("parts", "powers", "weights", "parameters", "pair", "complete")

    def __init__(
        self,
        parts: Sequence[Decomposition],
        *,
        powers: Sequence[int] = (),
        weights: Sequence[sp.Expr] = (),
        parameters: tuple[Parameter, ...] = (),
        pair: tuple[str, str] = ("x0", "x1"),
        complete: bool = False,
    ) -> None:
        counts = tuple(powers) or (1,) * len(parts)
        vars(self).update(parts=tuple(parts), powers=counts, weights=tuple(weights))
        vars(self).update(parameters=parameters, pair=pair, complete=complete)

    @cached_property
    def leaves(self) -> tuple[Decomposition, ...]:
        """The decompositions that are given by their components, each once."""
        inner = (part.leaves if isinstance(part, Composed) else (part,) for part in self.parts)
        return tuple(dict.fromkeys(leaf for leaves in inner for leaf in leaves))

    @property
    def all_weights(self) -> tuple[sp.Expr, ...]:
        """Those of all unions in the composition."""
        return sum((part.all_weights for part in self.parts if isinstance(part, Composed)), self.weights)

    @cached_property
    def is_listed(self) -> bool:
        return all(leaf.is_listed for leaf in self.leaves)

    @cached_property
    def _merged(self) -> MergedCells | None:
        """The exact components; None where a part has none, or there are too many."""
        try:
            return MergedCells(self) if self.is_listed else None
        except ArgumentError:
            return None

    @property
    def size(self) -> int | None:
        """The number of components, singular ones included; None where they are too many."""
        return None if self._merged is None else len(self._merged.keys)

    @cached_property
    def numeric_law(self) -> Law | None:
        """The law with masses and ratios in balls at any precision, from those of the parts; None with symbols.

        Where it has too many atoms, one above it; for a data set, which bounds from below, one below it.
        """
        if self.parameters:
            return None
        around = self.enclosing_laws
        if around is not None:
            return around[0 if self.complete else 1]
        assert self._merged is not None
        return merged_law(self._merged, self.complete)

    @cached_property
    def enclosing_laws(self) -> tuple[Law, Law] | None:
        """Laws of some thousand atoms below and above the law where this has too many atoms; else None.

        Guarantee
        ---------
        Their divergences enclose that of the law for every eps >= 0 and every n. Proof: docs/proofs/joint.md.
        """
        if self.parameters or self._merged is not None:
            return None
        found = _Lattice(self, self.complete)
        return found.below(), found.above()

    # ----------------------------------------------------------------------------------------------------- formulas

    @cached_property
    def _formulas(self) -> Decomposition:
        found = self._merged
        if found is None:
            _ = [part.components for part in self.parts]  # a part without a finite list refuses
        if found is None or len(found.keys) > _MOST_FORMULAS:
            raise ArgumentError(
                "mechanism",
                Problem(f"{self._told_size()} are too many to write as formulas"),
                f"take parts with at most {_MOST_FORMULAS:,}; answers need no formulas",
            )
        masses = found.masses(lambda formula: formula).values()
        cells = zip(found.keys, found.ratios(sp.Pow, sp.Integer), masses, strict=True)
        orbits = ((m * r0, m * r1, 0 if flags & _UNHIDDEN else m) for (flags, *_), (r0, r1), m in cells)
        return merged(orbits, self.parameters, self.pair)

    @property
    def components(self) -> tuple[Component, ...]:
        """The merged components as SymPy expressions."""
        return self._formulas.components

    @property
    def singular(self) -> tuple[tuple[sp.Expr, sp.Expr], ...]:
        return self._formulas.singular

    @cached_property
    def gamma(self) -> sp.Expr:
        """Total mass of A2: the product, or the weighted sum, of those of the parts."""
        if self.weights:
            return normal(sp.Add(*(w * p.gamma for w, p in zip(self.weights, self.parts, strict=True))))
        return normal_product((p.gamma, k) for p, k in zip(self.parts, self.powers, strict=True))

    def swapped(self) -> Composed:
        return self._with([p.swapped() for p in self.parts], self.parameters, (self.pair[1], self.pair[0]))

    def put(self, values: Any, parameters: tuple[Parameter, ...]) -> Composed:
        return self._with([p.put(values, parameters) for p in self.parts], parameters, self.pair)

    def _with(self, parts: Sequence[Decomposition], parameters: Any, pair: tuple[str, str]) -> Composed:
        return Composed(**{**self.__getstate__(), "parts": parts, "parameters": parameters, "pair": pair})

    def signature(self) -> Any:
        """Return what two compositions of the same parts share, whatever the order of the parts."""
        counts: dict[object, Any] = {}
        for part, times in zip(self.parts, self.weights or self.powers, strict=True):
            key = part.signature()
            counts[key] = counts.get(key, 0) + times
        return bool(self.weights), frozenset(counts.items())

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Composed({', '.join(f'{name}={value!r}' for name, value in self.__getstate__().items())})"

    # -------------------------------------------------------------------------------------------------------- shown

    def _told_size(self) -> str:
        return f"more than {MOST_CELLS:,} components" if self.size is None else f"{self.size:,} components"

    @property
    def _is_short(self) -> bool:
        return self.size is not None and self.size <= _MOST_SHOWN_CELLS

    def __str__(self) -> str:
        if self._is_short:
            return super().__str__()
        how = "the union of the parts below, masses times " if self.weights else "the product of the parts below, "
        how += ", ".join(map(str, self.weights) if self.weights else (f"taken {k} times" for k in self.powers))
        head = f"{self._told_size() if self.is_listed else 'a density'}, gamma = {text(self.gamma)}: {how}"
        return "\n\n".join([head, *(str(p) for p in dict.fromkeys(self.parts))])

    def _repr_latex_(self) -> str:
        if self._is_short:
            return super()._repr_latex_()
        tables = [rf"\left({p.to_latex()}\right)" for p in self.parts]
        if self.weights:
            sign, shown = r"\ \cup\ ", [rf"{sp.latex(w)}\cdot{t}" for t, w in zip(tables, self.weights, strict=True)]
        else:
            sign, shown = r"\ \times\ ", [rf"{t}^{{{k}}}" for t, k in zip(tables, self.powers, strict=True)]
        return rf"$\displaystyle {sign.join(shown)}$"


def same_input(found: Decomposition, which: int) -> Decomposition:
    """Return the triple (A, A, A2), A = A0 (``which`` 0) or A1 of a decomposition: both data sets hold one input."""
    pair = (found.pair[which],) * 2
    if isinstance(found, Composed):
        return found._with([same_input(p, which) for p in found.parts], found.parameters, pair)
    masses: dict[sp.Expr, sp.Expr] = {}
    for component in found.components:
        masses[component[which]] = masses.get(component[which], sp.Integer(0)) + component.mass
    alone = normal(sp.Add(*(both[which] for both in found.singular)))
    components = tuple(Component(r, r, normal(m)) for r, m in masses.items())
    return Decomposition(components, () if alone == 0 else ((alone, alone),), found.parameters, pair)
