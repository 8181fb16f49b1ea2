"""Decompositions of several mechanisms at once: products and weighted unions of components, merged by exponents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import Any, TypeVar

import flint
import numpy as np
import sympy as sp
from flint import arb, arb_poly, fmpq

from symamp.algebra.normal_form import normal
from symamp.algebra.parameter import Parameter
from symamp.derivation.decomposition import Component, Decomposition
from symamp.derivation.monomials import FLAGS, Basis, Cell, Integers, cells_of, distinct
from symamp.errors import ArgumentError
from symamp.evaluation.law import Atom, Law, Number, RationalLaw
from symamp.numbers.systems import FLINT, compile_expression

MOST_CELLS = 60_000
"""How many components a product may have after merging."""
_MOST_PAIRS = 6_000_000
_MOST_RATIONAL = 400
_LONGEST_POWER = 50_000
_MOST_SHOWN = 40
_T = TypeVar("_T")
Convert = Callable[[sp.Expr], Any]


class Composed(Decomposition):
    """The decomposition of mechanisms that a user runs together: all of them, or one of them drawn by weight.

    ``weights`` is empty for a product, in which ``powers`` counts equal parts; for a union the masses of part i are
    multiplied by weights[i]. Components are merged by the exponents of their ratios, so that m equal parts of two
    levels have at most (m + 1)^2; formulas are made when somebody looks at them, numbers without them.
    """

    parts: tuple[Decomposition, ...]
    powers: tuple[int, ...]
    weights: tuple[sp.Expr, ...]

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
        given = {
            "parts": tuple(parts),
            "powers": tuple(powers) or (1,) * len(parts),
            "weights": tuple(weights),
            "parameters": parameters,
            "pair": pair,
            "complete": complete,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    # ---------------------------------------------------------------------------------------------------- structure

    @cached_property
    def leaves(self) -> tuple[Decomposition, ...]:
        """The decompositions that are given by their components, each once."""
        found: dict[Decomposition, None] = {}
        for part in self.parts:
            found.update(dict.fromkeys(part.leaves if isinstance(part, Composed) else (part,)))
        return tuple(found)

    @cached_property
    def _structure(self) -> _Structure:
        return _Structure(self)

    @property
    def size(self) -> int:
        """The number of components, singular ones included."""
        return len(self._structure.keys)

    @cached_property
    def numeric_law(self) -> Law | None:
        """The law with masses and ratios in balls at any precision, from those of the parts; None with symbols."""
        return None if self.parameters else _law(self._structure, bool(getattr(self, "complete", False)))

    # ----------------------------------------------------------------------------------------------------- formulas

    @cached_property
    def _formulas(self) -> tuple[tuple[Component, ...], tuple[tuple[sp.Expr, sp.Expr], ...]]:
        found = self._structure
        masses = found.masses(_same)
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
        """(A0 mass, A1 mass) of the messages where A2 vanishes."""
        return self._formulas[1]

    @cached_property
    def gamma(self) -> sp.Expr:
        """Total mass of A2: the product, or the weighted sum, of those of the parts."""
        if self.weights:
            return normal(sp.Add(*(w * p.gamma for w, p in zip(self.weights, self.parts, strict=True))))
        return normal(sp.Mul(*(p.gamma**k for p, k in zip(self.parts, self.powers, strict=True))))

    @property
    def is_large(self) -> bool:
        """Whether there are too many components to show them one by one."""
        return self.size > _MOST_SHOWN

    def swapped(self) -> Composed:
        """Return the decomposition for the other order of the pair."""
        return self._with([p.swapped() for p in self.parts], self.parameters, (self.pair[1], self.pair[0]))

    def put(self, values: Any, parameters: tuple[Parameter, ...]) -> Composed:
        """Return the decomposition with numbers for some symbols."""
        return self._with([p.put(values, parameters) for p in self.parts], parameters, self.pair)

    def _with(self, parts: Sequence[Decomposition], parameters: Any, pair: tuple[str, str]) -> Composed:
        return Composed(
            parts,
            powers=self.powers,
            weights=self.weights,
            parameters=parameters,
            pair=pair,
            complete=bool(getattr(self, "complete", False)),
        )

    def signature(self) -> Any:
        """Return what two compositions of the same parts share, whatever the order of the parts."""
        how = self.weights or self.powers
        counts: dict[object, Any] = {}
        for part, number in zip(self.parts, how, strict=True):
            key = part.signature()
            counts[key] = counts.get(key, 0) + number
        return bool(self.weights), frozenset(counts.items())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composed):
            return NotImplemented
        return self is other or self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        return (self.parts, self.powers, self.weights, self.parameters, self.pair, getattr(self, "complete", False))

    def __getstate__(self) -> dict[str, object]:
        names = ("parts", "powers", "weights", "parameters", "pair", "complete")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        if not self.is_large:
            return super().__str__()
        head = f"{self.size:,} components, gamma = {self.gamma}: {self._said()}"
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
        for part, number in zip(self.parts, how, strict=True):
            table = part._repr_latex_().strip("$").removeprefix(r"\displaystyle ")
            shown = sp.latex(number)
            tables.append(
                rf"{shown}\cdot\left({table}\right)" if self.weights else rf"\left({table}\right)^{{{shown}}}"
            )
        return rf"$\displaystyle {sign.join(tables)}$"


def _same(expr: sp.Expr) -> sp.Expr:
    return expr


class _Structure:
    """Which cells of the parts make which cell of the whole: found once, used for every kind of number."""

    def __init__(self, whole: Composed) -> None:
        self.whole = whole
        cells = {leaf: cells_of(leaf.components, leaf.singular) for leaf in whole.leaves}
        self.basis = Basis.of([c for found in cells.values() for c in found])
        self._cells = cells
        self._leaf_keys = {leaf: self.basis.keys(found) for leaf, found in cells.items()}
        self._steps: dict[Decomposition, list[tuple[int, Integers]]] = {}
        self._merged: dict[Decomposition, Integers] = {}
        self._chains: dict[tuple[Decomposition, int], list[Integers]] = {}
        self._codes: dict[tuple[Decomposition, int], tuple[Integers, Integers] | None] = {}
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
        if len(a) * len(b) > _MOST_PAIRS:
            raise _too_many(len(a) * len(b))
        keys, places = self.basis.multiplied(a, b)
        if len(keys) > MOST_CELLS:
            raise _too_many(len(keys))
        return keys, places

    def masses(self, convert: Convert) -> list[Any]:
        """Return the masses of all cells, in the numbers that ``convert`` makes of the formulas of the leaves."""
        return self._masses(self.whole, convert, {})

    def _masses(self, node: Decomposition, convert: Convert, known: dict[Decomposition, list[Any]]) -> list[Any]:
        if node in known:
            return known[node]
        if not isinstance(node, Composed):
            known[node] = [convert(cell.mass) for cell in self._cells[node]]
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
            # One polynomial whose exponents tell the ratios apart: the library takes its power.
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
        return [(self._formula(row, 0), self._formula(row, 1)) for row in self.keys]

    def _exponents(self, row: Integers, k: int) -> tuple[int, ...] | None:
        size = self.basis.size
        return None if row[1 + k] else tuple(int(e) for e in row[FLAGS + k * size : FLAGS + (k + 1) * size])

    def _formula(self, row: Integers, k: int) -> sp.Expr:
        exponents = self._exponents(row, k)
        if exponents is None:
            return sp.Integer(0)
        return normal(
            sp.Mul(
                *(
                    b ** sp.Rational(e, d)
                    for b, d, e in zip(self.basis.bases, self.basis.denominators, exponents, strict=True)
                )
            )
        )

    def exponents(self) -> list[tuple[tuple[int, ...] | None, tuple[int, ...] | None]]:
        """Return the exponents of (r0, r1) for all cells, None for a ratio of 0."""
        return [(self._exponents(row, 0), self._exponents(row, 1)) for row in self.keys]


def _codes(part: Integers, group: Integers, power: int) -> tuple[Integers, Integers] | None:
    """Return one exponent for each key of a part and of its power, None where a flag is set or there are too many."""
    if power == 1 or part[:, :FLAGS].any():
        return None
    low = part.min(axis=0)
    widths = [int(w) * power + 1 for w in part.max(axis=0) - low]
    if prod(widths) > _LONGEST_POWER:
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
    return ArgumentError("mechanism", f"a product of {count:,} components", f"at most {MOST_CELLS:,} after merging")


class _Balls:
    """Masses and ratios of all cells in balls, made again only for a higher precision."""

    def __init__(self, structure: _Structure) -> None:
        self.structure = structure
        self.exponents = structure.exponents()
        self.compiled = [compile_expression(b, ()) for b in structure.basis.bases]
        self.bits = 0
        self.known: tuple[list[arb], list[tuple[arb, arb]]] = ([], [])

    def at(self) -> tuple[list[arb], list[tuple[arb, arb]]]:
        if flint.ctx.prec + 32 > self.bits:
            self.bits = 2 * flint.ctx.prec + 64  # searches ask for more and more: what is finer serves them all
            with flint.ctx.workprec(self.bits):
                masses = self.structure.masses(_ball)
                values = [f(FLINT, {}) for f in self.compiled]
                roots = [
                    v if d == 1 else v.root(d) for v, d in zip(values, self.structure.basis.denominators, strict=True)
                ]
                powers: dict[tuple[int, ...] | None, arb] = {None: arb(0)}
                for both in self.exponents:
                    for e in both:
                        if e is not None and e not in powers:
                            product = arb(1)
                            for root, k in zip(roots, e, strict=True):
                                product *= root**k
                            powers[e] = product
                self.known = masses, [(powers[a], powers[b]) for a, b in self.exponents]
        return self.known


def _ball(expr: sp.Expr) -> arb:
    if isinstance(expr, sp.Rational):
        return arb(fmpq(int(expr.p), int(expr.q)))
    return compile_expression(expr, ())(FLINT, {})


def _law(structure: _Structure, complete: bool) -> Law:
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


def _rational(structure: _Structure) -> RationalLaw | None:
    basis = structure.basis
    masses = [c.mass for cells in structure._cells.values() for c in cells]
    weights = [w for node in structure._merged if isinstance(node, Composed) for w in node.weights]
    if len(structure.keys) > _MOST_RATIONAL or not all(e.is_Rational for e in (*basis.bases, *masses, *weights)):
        return None
    if any(d != 1 for d in basis.denominators):
        return None
    values = [_fraction(b) for b in basis.bases]
    numbers = structure.masses(_fraction)
    atoms, singular = [], []
    for row, both, m in zip(structure.keys, structure.exponents(), numbers, strict=True):
        r0, r1 = (_power(values, e) for e in both)
        if row[0]:
            singular.append((m * r0, m * r1))
        else:
            atoms.append((r0, r1, m))
    return RationalLaw(tuple(atoms), tuple(singular))


def _power(values: Sequence[fmpq], exponents: tuple[int, ...] | None) -> fmpq:
    if exponents is None:
        return fmpq(0)
    found = fmpq(1)
    for value, k in zip(values, exponents, strict=True):
        found *= value**k
    return found


def _fraction(expr: sp.Expr) -> fmpq:
    return fmpq(int(expr.p), int(expr.q))


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


__all__ = ["MOST_CELLS", "Cell", "Composed", "same_input"]
