"""Two laws of a bounded number of atoms around a product of many parts: where the exact one would have too many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import expm1, floor, sqrt
from typing import Any

import flint
import sympy as sp
from flint import arb, arb_poly, fmpz_poly

from symamp.derivation.crossing import law_of, number
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.merged_cells import Parts
from symamp.errors import ArgumentError
from symamp.evaluation.law import Atom, Law, Number, total
from symamp.numbers.surroundings import at_precision

_MOST_ATOMS = 6_000
"""About how many lattice points there are; products of parts of which one ratio is 1 lie on half of them."""
_LARGEST_PRECISION, _SPARE_BITS = 16_384, 256
Cell = tuple[int, int, int]
"""Which atom of a part, and the place of what is made of it on the lattice of the logarithms of both ratios."""
_Places = dict[Decomposition, list[tuple[float, float]]]
_Value = Callable[[list["_Atom"], Cell], arb]


class _Atom:
    """An atom of a part in balls at the ambient precision."""

    def __init__(self, atom: Atom) -> None:
        self.ratios = atom.ratio0(), atom.ratio1()
        self.mass = atom.mass()


def coarse_laws(whole: Parts, leaves: Sequence[Decomposition], complete: bool) -> tuple[Law, Law]:
    """Return (below, above): laws of some thousand atoms whose divergences enclose that of the whole, for all n.

    ``leaves`` are the parts that are rounded, each as a whole: the fewer, the closer the two laws.

    Both live on a lattice of step h in the logarithms of the two ratios. Above, each atom of a part is spread over the
    lattice points around it, with its mean; the product of the parts lies on the lattice then. Below, atoms of the
    product whose parts have the same sum of rounded places become one atom at their mean.

    Guarantee
    ---------
    D_E of ``below`` <= D_E of the whole <= D_E of ``above`` for every E >= 0 and every n. Proof: docs/proofs/joint.md.

    Raises ArgumentError for parts with ratios that are 0, or with messages that name their sender.
    """
    found = _Lattice(whole, leaves, complete)
    return found.below(), found.above()


class _Lattice:
    def __init__(self, whole: Parts, leaves: Sequence[Decomposition], complete: bool) -> None:
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
                            "more components than can be merged exactly, some of them with a ratio of 0",
                            "parts whose messages all inputs may send, or fewer parts",
                        )
                    places[leaf] = [(float(a.log()), float(b.log())) for a, b in ratios]
        widths = [high - low for low, high in (_range(whole, e) for e in _extents(self.places[1]))]
        self.step = max(widths) / _MOST_ATOMS if min(widths) == 0.0 else sqrt(widths[0] * widths[1] / _MOST_ATOMS)
        # A number in general position: no ratio but 1 lies on the lattice.
        self.step = float(f"{self.step:.6g}") + 1e-11 * self.step

    # --------------------------------------------------------------------------------------------------------- cells

    @cached_property
    def _means(self) -> dict[Decomposition, list[Cell]]:
        return {
            leaf: [(i, round(a / self.step), round(b / self.step)) for i, (a, b) in enumerate(places)]
            for leaf, places in self.places[0].items()
        }

    @cached_property
    def _corners(self) -> dict[Decomposition, list[Cell]]:
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

    def _share(self, atom: _Atom, cell: Cell) -> arb:
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
            raise ArgumentError("mechanism", "a ratio on the lattice of merged components", "another budget")
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
        """Return the law of cell means."""
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
        """Return the law of corners."""
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
            assert isinstance(node, Parts)
            if node.weights:
                return total([number(w)() * of(p, k) for p, w in zip(node.parts, node.weights, strict=True)])
            found = arb(0)
            for own in (of(p, k) for p, power in zip(node.parts, node.powers, strict=True) for _ in range(power)):
                found = found + own - found * own
            return found

        return lambda: of(self.whole, 0), lambda: of(self.whole, 1)


class _Polynomials:
    """The whole as a polynomial in two variables, whose exponents are places; packed into one variable."""

    def __init__(self, lattice: _Lattice, cells: dict[Decomposition, list[Cell]], side: int) -> None:
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
        assert isinstance(node, Parts)
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
        """Return the coefficients."""
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
        """Return one of them as a number."""
        return lambda: self.at()[row][i]


def _extents(places: dict[Decomposition, list[tuple[Any, Any]]]) -> list[dict[Decomposition, tuple[Any, Any]]]:
    """Return for each of the two ratios the least and the largest place of every leaf."""
    columns = [{leaf: [both[k] for both in found] for leaf, found in places.items()} for k in (0, 1)]
    return [{leaf: (min(found), max(found)) for leaf, found in column.items()} for column in columns]


def _range(node: Decomposition, extents: dict[Decomposition, tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return the least and the largest place of a node, from those of its leaves."""
    if node in extents:
        return extents[node]
    assert isinstance(node, Parts)
    ranges = [_range(p, extents) for p in node.parts]
    if node.weights:
        return min(low for low, _ in ranges), max(high for _, high in ranges)
    lows, highs = zip(*ranges, strict=True)
    low, high = (sum(p * x for p, x in zip(node.powers, ends, strict=True)) for ends in (lows, highs))
    return low, high
