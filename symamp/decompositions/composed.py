"""Decompositions of several mechanisms at once: products and weighted unions, exact or enclosed by two laws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import expm1, floor, lcm, prod, sqrt
from typing import Any, TypeAlias

import flint
import numpy as np
import sympy as sp
from flint import arb, arb_poly, fmpq, fmpz_poly
from numpy.typing import NDArray

from symamp.decompositions.decomposition import Component, Decomposition
from symamp.decompositions.printing import text
from symamp.decompositions.to_law import law_of, number
from symamp.errors import ArgumentError, Problem, SupportMismatchError
from symamp.formulas.normal_form import normal, normal_product
from symamp.formulas.parameter import Parameter
from symamp.laws.law import Atom, Law, Number, RationalLaw, total
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.surroundings import at_precision

# What products may take: time and memory against exact merging. Beyond it laws around the product are used.
_LARGEST_FACTORED = 10**12  # numerators and denominators of ratios that are factored
_LARGEST_EXPONENT = 2**48  # of a common base of all ratios
_LARGEST_ROW_CODE = 2**62  # rows that fit into one integer are sorted ten times as fast
MOST_CELLS = 60_000  # components after merging
_MOST_CELL_PAIRS = 6_000_000  # that one product multiplies
_MOST_CELL_PAIRS_IN_ALL = 30_000_000  # that all products of a mechanism multiply
_LARGEST_POWER_GRID = 50_000  # places of a power that is taken as that of a polynomial
_MOST_RATIONAL_CELLS = 400  # components of which fractions are made
_LATTICE_ATOMS = 6_000  # about, of the laws around a product (half of them where one ratio is 1): width against time
_LARGEST_PRECISION = 16_384  # bits of masses of large powers
_SPARE_BITS = 256  # beyond twice the wanted ones, at first
_MOST_SHOWN_CELLS = 40  # components that are printed
_MOST_CELLS_IN_GROUP = 800  # components of equal parts that are multiplied first
_MOST_FORMULAS = 1_000  # components that are written as formulas

# ------------- Products of many ratios, keyed by the exponents of what they are made of: equal keys mean equal products

Powers: TypeAlias = Mapping[sp.Expr, sp.Rational]
Integers: TypeAlias = NDArray[np.int64]
FLAGS = 3
"""Columns of a key before the exponents: no hiding mass; A0 vanishes; A1 vanishes."""


def powers_of(ratio: sp.Expr) -> dict[sp.Expr, sp.Rational]:
    """Return {base: exponent} whose product is the positive expression: primes, exponentials, and whatever is left.

    >>> powers_of(sp.exp(sp.Symbol("eps0") / 2) * 12)
    {2: 2, 3: 1, exp(eps0): 1/2}
    """
    found: dict[sp.Expr, sp.Rational] = {}
    for factor in sp.Mul.make_args(sp.powsimp(ratio) if ratio.is_Mul else ratio):
        for base, exponent in _factor(factor):
            total = found.get(base, sp.Integer(0)) + exponent
            if total == 0:
                found.pop(base, None)
            else:
                found[base] = total
    return found


def _factor(factor: sp.Expr) -> list[tuple[sp.Expr, sp.Rational]]:
    if factor.is_Rational:
        if not _is_short(factor):
            return [(factor, sp.Integer(1))]
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


@dataclass(frozen=True)
class Cell:
    """Messages with equal ratios: A0 = ratio0 * mass and A1 = ratio1 * mass, with A2 = mass, or 0 if ``singular``."""

    ratio0: sp.Expr
    ratio1: sp.Expr
    mass: sp.Expr
    singular: bool = False


def cells_of(components: Sequence[tuple[sp.Expr, sp.Expr, sp.Expr]], singular: Sequence[Any]) -> tuple[Cell, ...]:
    """Return components and singular masses as cells, each of the latter with a ratio that is 1 or 0."""
    one, zero = sp.Integer(1), sp.Integer(0)
    alone = (
        Cell(one, normal(b / a), a, singular=True) if a != 0 else Cell(zero, one, b, singular=True) for a, b in singular
    )
    return (*(Cell(*c) for c in components), *alone)


class Basis:
    """What all ratios of some cells are products of, and the common denominator of each exponent."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        ratios = dict.fromkeys(r for cell in cells for r in (cell.ratio0, cell.ratio1))
        self._powers = {r: powers_of(r) if r != 0 else {} for r in ratios}
        found: dict[sp.Expr, int] = {}
        for powers in self._powers.values():
            for base, exponent in powers.items():
                found[base] = lcm(found.get(base, 1), int(exponent.q))
        self.bases, self.denominators, self.size = tuple(found), tuple(found.values()), len(found)

    def keys(self, cells: Sequence[Cell]) -> Integers:
        """Return one row for each cell: flags, the exponents of ratio0, those of ratio1."""
        rows = []
        for cell in cells:
            both = (self._powers[r] for r in (cell.ratio0, cell.ratio1))
            bases = list(zip(self.bases, self.denominators, strict=True))
            exponents = [int(powers.get(b, sp.Integer(0)) * d) for powers in both for b, d in bases]
            rows.append([int(cell.singular), int(cell.ratio0 == 0), int(cell.ratio1 == 0), *exponents])
        if max((abs(x) for row in rows for x in row), default=0) > _LARGEST_EXPONENT:
            most = len(str(_LARGEST_EXPONENT)) - 1
            wrong = Problem(f"the budgets of the parts have a common denominator of more than {most} digits")
            raise SupportMismatchError("mechanism", wrong, "round the budgets, such as 0.1 to 1/10")
        return np.array(rows, dtype=np.int64).reshape(len(rows), FLAGS + 2 * self.size)

    def multiplied(self, a: Integers, b: Integers) -> tuple[Integers, Integers]:
        """Return the distinct products of two lists of keys, and where each of the pairs is among them."""
        rows = (a[:, None, :] + b[None, :, :]).reshape(len(a) * len(b), a.shape[1])
        rows[:, :FLAGS] = np.minimum(rows[:, :FLAGS], 1)
        for k in (0, 1):
            rows[rows[:, 1 + k] == 1, FLAGS + k * self.size : FLAGS + (k + 1) * self.size] = 0
        # What neither data set sends counts only where others send it: there it is part of the mass.
        kept = (rows[:, 0] & rows[:, 1] & rows[:, 2]) == 0
        keys, place = distinct(rows[kept])
        places = np.full(len(rows), -1, dtype=np.int64)
        places[kept] = place
        return keys, places.reshape(len(a), len(b))


def distinct(rows: Integers) -> tuple[Integers, Integers]:
    """Return the distinct rows, in lexicographic order, and where each row is among them."""
    if len(rows):
        low = rows.min(axis=0)
        widths = [int(w) for w in rows.max(axis=0) - low + 1]
        if prod(widths) < _LARGEST_ROW_CODE:  # one number for each row: sorted ten times as fast
            strides = np.array([prod(widths[i + 1 :]) for i in range(len(widths))], dtype=np.int64)
            _, first, place = np.unique((rows - low) @ strides, return_index=True, return_inverse=True)
            return rows[first], place.reshape(-1)
    keys, place = np.unique(rows, axis=0, return_inverse=True)
    return keys, place.reshape(-1)


# --- Which components of the parts make which component of a product or a union: found once, for all kinds of numbers

Convert = Callable[[sp.Expr], Any]


class MergedCells:
    """Which cells of the parts make which cell of the whole: found once, used for every kind of number."""

    def __init__(self, whole: Composed) -> None:
        self.whole = whole
        self.cells = {leaf: cells_of(leaf.components, leaf.singular) for leaf in whole.leaves}
        self.basis = Basis(c for found in self.cells.values() for c in found)
        self._leaf_keys = {leaf: self.basis.keys(found) for leaf, found in self.cells.items()}
        self._steps: dict[Decomposition, list[tuple[int, Integers]]] = {}
        self._merged: dict[Decomposition, Integers] = {}
        self._chains: dict[tuple[Decomposition, int], list[Integers]] = {}
        self._codes: dict[tuple[Decomposition, int], tuple[Integers, Integers] | None] = {}
        self._pairs = 0
        self.keys = self._keys(whole)

    def _keys(self, node: Decomposition) -> Integers:
        if not isinstance(node, Composed):
            return self._leaf_keys[node]
        if node in self._merged:
            return self._merged[node]
        parts = [self._keys(p) for p in node.parts]
        if node.weights:
            keys, place = distinct(np.concatenate(parts))
            self._steps[node] = [(-1, place)]
        else:
            steps: list[tuple[int, Integers]] = []
            keys = np.zeros((1, parts[0].shape[1]), dtype=np.int64)
            for i, (part, power) in enumerate(zip(parts, node.powers, strict=True)):
                group = keys[:1] * 0
                chain = []
                for _ in range(power):
                    group, places = self._multiplied(group, part)
                    chain.append(places)
                self._chains[node, i] = chain
                self._codes[node, i] = _codes(part, group, power)
                keys, places = self._multiplied(keys, group)
                steps.append((i, places))
            self._steps[node] = steps
        self._merged[node] = keys
        return keys

    def _multiplied(self, a: Integers, b: Integers) -> tuple[Integers, Integers]:
        self._pairs += len(a) * len(b)
        if len(a) * len(b) > _MOST_CELL_PAIRS or self._pairs > _MOST_CELL_PAIRS_IN_ALL:
            raise _too_many(self._pairs)
        keys, places = self.basis.multiplied(a, b)
        if len(keys) > MOST_CELLS:
            raise _too_many(len(keys))
        return keys, places

    @property
    def is_rational(self) -> bool:
        """Whether all ratios and masses are rational numbers."""
        masses = [cell.mass for cells in self.cells.values() for cell in cells]
        weights = [w for node in self._merged if isinstance(node, Composed) for w in node.weights]
        given = (*self.basis.bases, *masses, *weights)
        return all(d == 1 for d in self.basis.denominators) and all(e.is_Rational for e in given)

    def masses(self, convert: Convert) -> list[Any]:
        """Return the masses of all cells, in the numbers that ``convert`` makes of the formulas of the leaves."""
        return self._masses(self.whole, convert, {})

    def _masses(self, node: Decomposition, convert: Convert, known: dict[Decomposition, list[Any]]) -> list[Any]:
        if node in known:
            return known[node]
        if not isinstance(node, Composed):
            known[node] = [convert(cell.mass) for cell in self.cells[node]]
            return known[node]
        parts = [self._masses(p, convert, known) for p in node.parts]
        found: list[Any]
        if node.weights:
            weights = [convert(w) for w in node.weights]
            together = [w * m for w, masses in zip(weights, parts, strict=True) for m in masses]
            found = _gathered(together, self._steps[node][0][1], len(self._merged[node]))
        else:
            found = [convert(sp.Integer(1))]
            for i, places in self._steps[node]:
                found = _product(found, self._power(node, i, parts[i]), places)
        known[node] = found
        return found

    def _power(self, node: Composed, i: int, masses: list[Any]) -> list[Any]:
        """Return the masses of the i-th part taken as often as the node says."""
        codes = self._codes[node, i]
        if codes is not None and isinstance(masses[0], arb):
            # One polynomial whose exponents encode the ratios: the library takes its power.
            coefficients = [arb(0)] * (int(codes[0].max()) + 1)
            for code, mass in zip(codes[0].tolist(), masses, strict=True):
                coefficients[code] = coefficients[code] + mass
            power = arb_poly(coefficients) ** node.powers[i]
            return [power[code] for code in codes[1].tolist()]
        found = [masses[0] * 0 + 1]
        for places in self._chains[node, i]:
            found = _product(found, masses, places)
        return found

    def ratios(self) -> list[tuple[sp.Expr, sp.Expr]]:
        """Return (r0, r1) of all cells as formulas."""

        def formula(exponents: tuple[int, ...] | None) -> sp.Expr:
            if exponents is None:
                return sp.Integer(0)
            powers = zip(self.basis.bases, self.basis.denominators, exponents, strict=True)
            return normal(sp.Mul(*(b ** sp.Rational(e, d) for b, d, e in powers)))

        return [(formula(first), formula(second)) for first, second in self.exponents()]

    def exponents(self) -> list[tuple[tuple[int, ...] | None, tuple[int, ...] | None]]:
        """Return the exponents of (r0, r1) for all cells, None for a ratio of 0."""
        cut = FLAGS + self.basis.size
        rows = self.keys.tolist()
        return [(None if row[1] else tuple(row[FLAGS:cut]), None if row[2] else tuple(row[cut:])) for row in rows]


def _codes(part: Integers, group: Integers, power: int) -> tuple[Integers, Integers] | None:
    """Return one exponent for each key of a part and of its power, None where a flag is set or there are too many."""
    if power == 1 or part[:, :FLAGS].any():
        return None
    low = part.min(axis=0)
    widths = [int(w) * power + 1 for w in part.max(axis=0) - low]
    if prod(widths) > _LARGEST_POWER_GRID:
        return None
    strides = np.array([prod(widths[:i]) for i in range(len(widths))], dtype=np.int64)
    return (part - low) @ strides, (group - power * low) @ strides


def _product(a: Sequence[Any], b: Sequence[Any], places: Integers) -> list[Any]:
    return _gathered([x * y for x in a for y in b], places.reshape(-1), int(places.max()) + 1)


def _gathered(values: Sequence[Any], places: Integers, size: int) -> list[Any]:
    found: list[Any] = [None] * size
    for place, value in zip(places.tolist(), values, strict=True):
        if place >= 0:
            before = found[place]
            found[place] = value if before is None else before + value
    return found


def _too_many(count: int) -> ArgumentError:
    wrong = Problem(f"the product has {count:,} components, more than {MOST_CELLS:,}")
    return ArgumentError("mechanism", wrong, "take fewer parts, or equal ones")


# --- The law of merged components in balls and, where everything is rational, in rationals: no formula of it is made


class _Balls:
    """Masses and ratios of all cells in balls, made again only for a higher precision."""

    def __init__(self, structure: MergedCells) -> None:
        self.structure = structure
        self.exponents = structure.exponents()
        self.bases = [number(b) for b in structure.basis.bases]
        self.bits = 0
        self.known: tuple[list[arb], list[tuple[arb, arb]]] = ([], [])

    def at(self) -> tuple[list[arb], list[tuple[arb, arb]]]:
        if flint.ctx.prec + 32 > self.bits:
            bits = 2 * flint.ctx.prec + 64  # searches ask for more and more: what is finer serves them all
            with at_precision(bits):
                masses = self.structure.masses(lambda formula: number(formula)())
                values = [base() for base in self.bases]
                roots = [
                    v if d == 1 else v.root(d) for v, d in zip(values, self.structure.basis.denominators, strict=True)
                ]
                powers = {e: _power(roots, e, arb) for e in {e for both in self.exponents for e in both}}
                self.known, self.bits = (masses, [(powers[a], powers[b]) for a, b in self.exponents]), bits
        return self.known


def merged_law(structure: MergedCells, complete: bool) -> Law:
    """Return the law of merged components; numbers are made when they are read, at the precision of that time."""
    balls = _Balls(structure)

    def mass(i: int) -> Number:
        return lambda: balls.at()[0][i]

    def ratio(i: int, k: int) -> Number:
        return lambda: balls.at()[1][i][k]

    def product(i: int, k: int) -> Number:
        return lambda: balls.at()[0][i] * balls.at()[1][i][k]

    atoms, singular = [], []
    for i, row in enumerate(structure.keys):
        if row[0]:
            singular.append((product(i, 0), product(i, 1)))
        else:
            first, second = balls.exponents[i]
            atoms.append(Atom(ratio(i, 0), ratio(i, 1), mass(i), first == second))
    return Law(tuple(atoms), tuple(singular), complete, _rational(structure))


def _rational(structure: MergedCells) -> RationalLaw | None:
    basis = structure.basis
    if len(structure.keys) > _MOST_RATIONAL_CELLS or not structure.is_rational:
        return None
    values = [fmpq_of(b) for b in basis.bases]
    numbers = structure.masses(fmpq_of)
    atoms, singular = [], []
    for row, both, m in zip(structure.keys, structure.exponents(), numbers, strict=True):
        r0, r1 = (_power(values, e, fmpq) for e in both)
        if row[0]:
            singular.append((m * r0, m * r1))
        else:
            atoms.append((r0, r1, m))
    return RationalLaw(tuple(atoms), tuple(singular))


def _power(values: Sequence[Any], exponents: tuple[int, ...] | None, kind: Any) -> Any:
    if exponents is None:
        return kind(0)
    return prod((value**k for value, k in zip(values, exponents, strict=True)), start=kind(1))


# -------- Two laws of a bounded number of atoms around a product of many parts: where the exact one would have too many

LatticeCell = tuple[int, int, int]
"""Which atom of a part, and the place of what is made of it on the lattice of the logarithms of both ratios."""
_Places = dict[Decomposition, list[tuple[float, float]]]
_Value = Callable[[list["_Atom"], LatticeCell], arb]


class _Atom:
    """An atom of a part in balls at the ambient precision."""

    def __init__(self, atom: Atom) -> None:
        self.ratios = atom.ratio0(), atom.ratio1()
        self.mass = atom.mass()


class _Lattice:
    """Laws of some thousand atoms whose divergences enclose that of the whole, for all n.

    ``leaves`` are the parts that are rounded, each as a whole: the fewer, the closer the two laws.

    Both live on a lattice of step h in the logarithms of the two ratios. Above, each atom of a part is spread over the
    lattice points around it, with its mean; the product of the parts lies on the lattice then. Below, atoms of the
    product whose parts have the same sum of rounded places become one atom at their mean.

    Guarantee
    ---------
    D_E of ``below`` <= D_E of the whole <= D_E of ``above`` for every E >= 0 and every n. Proof: docs/proofs/joint.md.

    Raises ArgumentError for parts with ratios that are 0, or with messages that name their sender.
    """

    def __init__(self, whole: Composed, leaves: Sequence[Decomposition], complete: bool) -> None:
        self.whole, self.complete = whole, complete
        self.laws = {leaf: leaf.enclosing_laws or (law_of(leaf, complete),) * 2 for leaf in leaves}
        self.places: tuple[_Places, _Places] = ({}, {})
        with at_precision(128):
            for leaf, both in self.laws.items():
                for places, law in zip(self.places, both, strict=True):
                    ratios = [(a.ratio0(), a.ratio1()) for a in law.atoms]
                    if any(not r > 0 for pair in ratios for r in pair):
                        raise ArgumentError(
                            "mechanism",
                            Problem("there are too many components to merge exactly, and some have a ratio of 0"),
                            "take parts all of whose inputs may send every message, or fewer parts",
                        )
                    places[leaf] = [(float(a.log()), float(b.log())) for a, b in ratios]
        widths = [high - low for low, high in (_range(whole, e) for e in _extents(self.places[1]))]
        self.step = max(widths) / _LATTICE_ATOMS if min(widths) == 0.0 else sqrt(widths[0] * widths[1] / _LATTICE_ATOMS)
        # A number in general position: no ratio but 1 lies on the lattice.
        self.step = float(f"{self.step:.6g}") + 1e-11 * self.step

    # --------------------------------------------------------------------------------------------------------- cells

    @cached_property
    def _means(self) -> dict[Decomposition, list[LatticeCell]]:
        return {
            leaf: [(i, round(a / self.step), round(b / self.step)) for i, (a, b) in enumerate(places)]
            for leaf, places in self.places[0].items()
        }

    @cached_property
    def _corners(self) -> dict[Decomposition, list[LatticeCell]]:
        return {
            leaf: [(i, x, y) for i, both in enumerate(places) for x, y in self._around(both)]
            for leaf, places in self.places[1].items()
        }

    def _around(self, places: tuple[float, float]) -> list[tuple[int, int]]:
        """Return the corners of an atom: both ratios go up together as far as possible, so that G spreads least."""
        (low0, up0), (low1, up1) = (self._divided(x) for x in places)
        if up0 == 0.0 or up1 == 0.0:
            return [(low0 + i, low1 + j) for i in range(1 + (up0 > 0.0)) for j in range(1 + (up1 > 0.0))]
        if places[0] == places[1]:
            return [(low0, low1), (low0 + 1, low1 + 1)]
        return [(low0, low1), (low0 + (up0 > up1), low1 + (up1 > up0)), (low0 + 1, low1 + 1)]

    def _divided(self, place: float) -> tuple[int, float]:
        """Return the lattice point below exp(place), and the share of the one above."""
        if place == 0.0:
            return 0, 0.0
        low = floor(place / self.step)
        return low, expm1(place - low * self.step) / expm1(self.step)

    def _share(self, atom: _Atom, cell: LatticeCell) -> arb:
        """Return the share of the atom's mass that goes to a corner: the atom's ratios are the mean of the corners."""
        lows, ups = zip(*(self._up(ratio) for ratio in atom.ratios), strict=True)
        up = [end > low for end, low in zip(cell[1:], lows, strict=True)]
        one = arb(1)
        if up[0] and up[1]:
            share = ups[0].min(ups[1])
        elif up[0] or up[1]:
            share = ups[up[1]] - ups[up[0]]
        else:
            share = one - ups[0].max(ups[1])
        if not share > 0:
            raise ArgumentError("mechanism", Problem("a ratio lies on the lattice of merged components"), "change eps0")
        return share

    def _up(self, ratio: arb) -> tuple[int, arb]:
        """Return the lattice point below a ratio, and the share of the one above."""
        if ratio == 1:
            return 0, arb(0)
        low = floor(float(ratio.log()) / self.step)
        least, most = (arb(self.step) * low).exp(), (arb(self.step) * (low + 1)).exp()
        return low, (ratio - least) / (most - least)

    # ---------------------------------------------------------------------------------------------------------- laws

    def below(self) -> Law:
        values: list[_Value] = [
            lambda atoms, c: atoms[c[0]].mass,
            lambda atoms, c: atoms[c[0]].mass * atoms[c[0]].ratios[0],
            lambda atoms, c: atoms[c[0]].mass * atoms[c[0]].ratios[1],
        ]
        numbers = _Numbers(_Polynomials(self, self._means, 0), values)

        def ratio(i: int, k: int) -> Number:
            return lambda: numbers.at()[1 + k][i] / numbers.at()[0][i]

        count = len(numbers.polynomials.support)
        atoms = (Atom(ratio(i, 0), ratio(i, 1), numbers.entry(0, i)) for i in range(count))
        alone = self._alone(0)
        return Law(tuple(atoms), () if alone is None else (alone,), self.complete)

    def above(self) -> Law:
        numbers = _Numbers(
            _Polynomials(self, self._corners, 1), [lambda atoms, c: atoms[c[0]].mass * self._share(atoms[c[0]], c)]
        )

        def ratio(place: int) -> Number:
            return lambda: (arb(self.step) * place).exp()

        support = numbers.polynomials.support
        atoms = (Atom(ratio(x), ratio(y), numbers.entry(0, i), x == y) for i, (x, y) in enumerate(support))
        alone, zero = self._alone(1), number(sp.Integer(0))
        singular = () if alone is None else ((alone[0], zero), (zero, alone[1]))
        return Law(tuple(atoms), singular, self.complete)

    def _alone(self, side: int) -> tuple[Number, Number] | None:
        """Return the masses of A0 and A1 on messages some part of which names its sender, None if there are none."""
        known = {leaf: both[side].singular for leaf, both in self.laws.items()}
        if not any(known.values()):
            return None

        def of(node: Decomposition, k: int) -> arb:
            if node in known:
                return total([pair[k]() for pair in known[node]])
            assert isinstance(node, Composed)
            if node.weights:
                return total([number(w)() * of(p, k) for p, w in zip(node.parts, node.weights, strict=True)])
            found = arb(0)
            for own in (of(p, k) for p, power in zip(node.parts, node.powers, strict=True) for _ in range(power)):
                found = found + own - found * own
            return found

        return lambda: of(self.whole, 0), lambda: of(self.whole, 1)


class _Polynomials:
    """The whole as a polynomial in two variables, whose exponents are places; packed into one variable."""

    def __init__(self, lattice: _Lattice, cells: dict[Decomposition, list[LatticeCell]], side: int) -> None:
        self.lattice, self.cells, self.side = lattice, cells, side
        self.extents = _extents({leaf: [(x, y) for _, x, y in own] for leaf, own in cells.items()})
        (low0, high0), (low1, _) = (_range(lattice.whole, e) for e in self.extents)
        self.width = high0 - low0 + 1
        present = self._made(lattice.whole, lambda leaf: [1] * len(cells[leaf]), lambda _: 1, fmpz_poly)
        self.codes = [code for code, count in enumerate(present.coeffs()) if count != 0]
        self.support = [(code % self.width + low0, code // self.width + low1) for code in self.codes]

    def values(self, value: _Value) -> list[arb]:
        """Return the coefficients where they are not 0, at the ambient precision."""

        def leaf_values(leaf: Decomposition) -> list[arb]:
            atoms = [_Atom(a) for a in self.lattice.laws[leaf][self.side].atoms]
            return [value(atoms, cell) for cell in self.cells[leaf]]

        found = self._made(self.lattice.whole, leaf_values, lambda w: number(w)(), arb_poly)
        return [found[code] for code in self.codes]

    def _made(
        self,
        node: Decomposition,
        values: Callable[[Decomposition], list[Any]],
        weight: Callable[[sp.Expr], Any],
        kind: Any,
    ) -> Any:
        """Return the polynomial of a node whose least exponents are shifted to 0."""
        low = [_range(node, e)[0] for e in self.extents]
        if node in self.lattice.laws:
            found: dict[int, Any] = {}
            for (_, x, y), v in zip(self.cells[node], values(node), strict=True):
                code = x - low[0] + self.width * (y - low[1])
                found[code] = found[code] + v if code in found else v
            return kind([found.get(code, 0) for code in range(max(found) + 1)])
        assert isinstance(node, Composed)
        if not node.weights:
            whole = kind([1])
            for part, power in zip(node.parts, node.powers, strict=True):
                whole *= self._made(part, values, weight, kind) ** power
            return whole
        whole = kind([0])
        for part, w in zip(node.parts, node.weights, strict=True):
            own = [_range(part, e)[0] - least for e, least in zip(self.extents, low, strict=True)]
            shift = [0] * (own[0] + self.width * own[1]) + [weight(w)]
            whole += kind(shift) * self._made(part, values, weight, kind)
        return whole


class _Numbers:
    """Coefficients of some polynomials, made again only for a higher precision, with bits enough to resolve them."""

    def __init__(self, polynomials: _Polynomials, values: list[_Value]) -> None:
        self.polynomials, self._values = polynomials, values
        self._bits = 0
        self._known: list[list[arb]] = []

    def at(self) -> list[list[arb]]:
        wanted = flint.ctx.prec + 32
        if wanted > self._bits:
            bits, before = 2 * wanted + _SPARE_BITS, -1
            while True:
                with at_precision(bits):
                    self._known = [self.polynomials.values(value) for value in self._values]
                accuracy = min(x.rel_accuracy_bits() for row in self._known for x in row)
                if accuracy >= wanted or accuracy == before or bits > _LARGEST_PRECISION:
                    break
                bits, before = bits + max(wanted - accuracy, 64), accuracy
            self._bits = max(wanted, min(accuracy, bits))
        return self._known

    def entry(self, row: int, i: int) -> Number:
        return lambda: self.at()[row][i]


def _extents(places: dict[Decomposition, list[tuple[Any, Any]]]) -> list[dict[Decomposition, tuple[Any, Any]]]:
    """Return for each of the two ratios the least and the largest place of every leaf."""
    columns = [{leaf: [both[k] for both in found] for leaf, found in places.items()} for k in (0, 1)]
    return [{leaf: (min(found), max(found)) for leaf, found in column.items()} for column in columns]


def _range(node: Decomposition, extents: dict[Decomposition, tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return the least and the largest place of a node, from those of its leaves."""
    if node in extents:
        return extents[node]
    assert isinstance(node, Composed)
    ranges = [_range(p, extents) for p in node.parts]
    if node.weights:
        return min(low for low, _ in ranges), max(high for _, high in ranges)
    lows, highs = zip(*ranges, strict=True)
    low, high = (sum(p * x for p, x in zip(node.powers, ends, strict=True)) for ends in (lows, highs))
    return low, high


# -------- Decompositions of several mechanisms at once: products and weighted unions of components, merged by exponents


class Composed(Decomposition):
    """The decomposition of mechanisms that a user runs together: all of them, or one of them drawn by weight.

    ``weights`` is empty for a product, in which ``powers`` counts equal parts; for a union the masses of part i are
    multiplied by weights[i]. Components are merged by the exponents of their ratios, so that m equal parts of two
    levels have at most (m + 1)^2; formulas are made when they are read, numbers without them.
    """

    parts: tuple[Decomposition, ...]
    powers: tuple[int, ...]
    weights: tuple[sp.Expr, ...]
    complete: bool

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

    # ---------------------------------------------------------------------------------------------------- structure

    @cached_property
    def leaves(self) -> tuple[Decomposition, ...]:
        """The decompositions that are given by their components, each once."""
        found: dict[Decomposition, None] = {}
        for part in self.parts:
            found.update(dict.fromkeys(part.leaves if isinstance(part, Composed) else (part,)))
        return tuple(found)

    @cached_property
    def _merged(self) -> MergedCells:
        return MergedCells(self)

    @cached_property
    def is_listed(self) -> bool:
        return all(leaf.is_listed for leaf in self.leaves)

    @property
    def size(self) -> int:
        """The number of components, singular ones included."""
        return len(self._merged.keys)

    @cached_property
    def numeric_law(self) -> Law | None:
        """The law with masses and ratios in balls at any precision, from those of the parts; None with symbols.

        Where it has too many atoms, one above it; for a data set, which bounds from below, one below it.
        """
        if self.parameters:
            return None
        around = self.enclosing_laws
        return merged_law(self._merged, self.complete) if around is None else around[0 if self.complete else 1]

    @cached_property
    def enclosing_laws(self) -> tuple[Law, Law] | None:
        """Laws of some thousand atoms below and above the law where this has too many atoms; else None.

        Guarantee
        ---------
        Their divergences enclose that of the law for every eps >= 0 and every n. Proof: docs/proofs/joint.md.
        """
        if self.parameters or not self._has_too_many:
            return None
        found = _Lattice(*self._in_groups(), self.complete)
        return found.below(), found.above()

    def _in_groups(self) -> tuple[Composed, tuple[Decomposition, ...]]:
        """Return the same with factors multiplied out in groups of some hundred components, and these groups."""
        made: list[tuple[Decomposition, tuple[Decomposition, ...]]] = []
        if self.weights:
            made = [_grouped(part) for part in self.parts]
            return self._with([whole for whole, _ in made], (), self.pair), sum((own for _, own in made), ())
        group: list[Decomposition] = []
        count = 1
        for part in (p for p, power in zip(self.parts, self.powers, strict=True) for _ in range(power)):
            own = _MOST_CELLS_IN_GROUP + 1  # alone in its group
            if not isinstance(part, Composed) and part.is_listed:
                own = len(part.components) + len(part.singular)
            if group and count * own > _MOST_CELLS_IN_GROUP:
                made.append(_grouped(self._product(group)))
                group, count = [], 1
            group.append(part)
            count *= own
        made.append(_grouped(self._product(group)))
        return self._product([whole for whole, _ in made]), sum((own for _, own in made), ())

    def _product(self, factors: Sequence[Decomposition]) -> Any:
        """Return the product of some of the factors; one alone is itself."""
        if len(factors) == 1:
            return factors[0]
        counts = Counter(factors)
        return Composed(list(counts), powers=list(counts.values()), pair=self.pair, complete=self.complete)

    @cached_property
    def _has_too_many(self) -> bool:
        if not self.is_listed:
            return True
        try:
            return not len(self._merged.keys)
        except ArgumentError:
            return True

    # ----------------------------------------------------------------------------------------------------- formulas

    @cached_property
    def _formulas(self) -> tuple[tuple[Component, ...], tuple[tuple[sp.Expr, sp.Expr], ...]]:
        found = self._merged
        if len(found.keys) > _MOST_FORMULAS:
            many = Problem(f"{len(found.keys):,} components are too many to write as formulas")
            raise ArgumentError(
                "mechanism", many, f"take parts with at most {_MOST_FORMULAS:,}; answers need no formulas"
            )
        masses = found.masses(lambda formula: formula)
        components: list[Component] = []
        singular: dict[sp.Expr, list[tuple[sp.Expr, sp.Expr]]] = {}
        for row, (r0, r1), mass in zip(found.keys, found.ratios(), masses, strict=True):
            if row[0]:
                singular.setdefault(normal(r0 / (r0 + r1)), []).append((mass * r0, mass * r1))
            else:
                components.append(Component(r0, r1, normal(mass)))
        alone = [tuple(normal(sp.Add(*(both[k] for both in group))) for k in (0, 1)) for group in singular.values()]
        return tuple(components), tuple((a, b) for a, b in alone)

    @property
    def components(self) -> tuple[Component, ...]:
        """The merged components as SymPy expressions."""
        return self._formulas[0]

    @property
    def singular(self) -> tuple[tuple[sp.Expr, sp.Expr], ...]:
        return self._formulas[1]

    @cached_property
    def gamma(self) -> sp.Expr:
        """Total mass of A2: the product, or the weighted sum, of those of the parts."""
        if self.weights:
            return normal(sp.Add(*(w * p.gamma for w, p in zip(self.weights, self.parts, strict=True))))
        return normal_product((p.gamma, k) for p, k in zip(self.parts, self.powers, strict=True))

    @property
    def is_large(self) -> bool:
        """Whether there are too many components to show them one by one."""
        return self._has_too_many or self.size > _MOST_SHOWN_CELLS

    def swapped(self) -> Composed:
        return self._with([p.swapped() for p in self.parts], self.parameters, (self.pair[1], self.pair[0]))

    def put(self, values: Any, parameters: tuple[Parameter, ...]) -> Composed:
        return self._with([p.put(values, parameters) for p in self.parts], parameters, self.pair)

    def _with(self, parts: Sequence[Decomposition], parameters: Any, pair: tuple[str, str]) -> Composed:
        return Composed(
            parts,
            powers=self.powers,
            weights=self.weights,
            parameters=parameters,
            pair=pair,
            complete=self.complete,
        )

    def signature(self) -> Any:
        """Return what two compositions of the same parts share, whatever the order of the parts."""
        how = self.weights or self.powers
        counts: dict[object, Any] = {}
        for part, times in zip(self.parts, how, strict=True):
            key = part.signature()
            counts[key] = counts.get(key, 0) + times
        return bool(self.weights), frozenset(counts.items())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composed):
            return NotImplemented
        return self is other or self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        return (self.parts, self.powers, self.weights, self.parameters, self.pair, self.complete)

    def __getstate__(self) -> dict[str, object]:
        names = ("parts", "powers", "weights", "parameters", "pair", "complete")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"Composed({', '.join(f'{name}={value!r}' for name, value in self.__getstate__().items())})"

    def __str__(self) -> str:
        if not self.is_large:
            return super().__str__()
        size = f"more than {MOST_CELLS:,}" if self._has_too_many else f"{self.size:,}"
        told = f"{size} components" if self.is_listed else "a density"
        head = f"{told}, gamma = {text(self.gamma)}: {self._said()}"
        return "\n\n".join([head, *(str(p) for p in dict.fromkeys(self.parts))])

    def _said(self) -> str:
        if self.weights:
            return "the union of the parts below, masses times " + ", ".join(map(str, self.weights))
        return "the product of the parts below, " + ", ".join(f"taken {k} times" for k in self.powers)

    def _repr_latex_(self) -> str:
        if not self.is_large:
            return super()._repr_latex_()
        sign, how = (r"\ \cup\ ", self.weights) if self.weights else (r"\ \times\ ", self.powers)
        tables = []
        for part, times in zip(self.parts, how, strict=True):
            table = part.to_latex()
            shown = sp.latex(times)
            tables.append(
                rf"{shown}\cdot\left({table}\right)" if self.weights else rf"\left({table}\right)^{{{shown}}}"
            )
        return rf"$\displaystyle {sign.join(tables)}$"


def _grouped(part: Decomposition) -> tuple[Decomposition, tuple[Decomposition, ...]]:
    return part._in_groups() if isinstance(part, Composed) and part._has_too_many else (part, (part,))


def same_input(found: Decomposition, which: int) -> Decomposition:
    """Return the triple (A, A, A2), A = A0 (``which`` 0) or A1 of a decomposition: both data sets hold one input."""
    if isinstance(found, Composed):
        parts = [same_input(p, which) for p in found.parts]
        return found._with(parts, found.parameters, (found.pair[which],) * 2)
    masses: dict[sp.Expr, sp.Expr] = {}
    for component in found.components:
        masses[component[which]] = masses.get(component[which], sp.Integer(0)) + component.mass
    alone = normal(sp.Add(*(both[which] for both in found.singular)))
    return Decomposition(
        tuple(Component(r, r, normal(m)) for r, m in masses.items()),
        () if alone == 0 else ((alone, alone),),
        found.parameters,
        (found.pair[which], found.pair[which]),
    )
