"""Which components of the parts make which component of a product or a union: found once, for all kinds of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import sympy as sp
from flint import arb, arb_poly

from symamp.algebra.normal_form import normal
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.monomials import FLAGS, Basis, Integers, cells_of, distinct
from symamp.errors import ArgumentError

MOST_CELLS = 60_000
"""How many components a product may have after merging."""
_MOST_PAIRS, _MOST_PAIRS_OF_ALL = 6_000_000, 30_000_000
_LONGEST_POWER = 50_000
Convert = Callable[[sp.Expr], Any]


class Parts(Decomposition):
    """A decomposition made of those of parts: with powers for a product of them, with weights for a union."""

    parts: tuple[Decomposition, ...]
    powers: tuple[int, ...]
    weights: tuple[sp.Expr, ...]

    @cached_property
    def leaves(self) -> tuple[Decomposition, ...]:
        """The decompositions that are given by their components, each once."""
        found: dict[Decomposition, None] = {}
        for part in self.parts:
            found.update(dict.fromkeys(part.leaves if isinstance(part, Parts) else (part,)))
        return tuple(found)


class MergedCells:
    """Which cells of the parts make which cell of the whole: found once, used for every kind of number."""

    def __init__(self, whole: Parts) -> None:
        self.whole = whole
        self.cells = {leaf: cells_of(leaf.components, leaf.singular) for leaf in whole.leaves}
        self.basis = Basis.of([c for found in self.cells.values() for c in found])
        self._leaf_keys = {leaf: self.basis.keys(found) for leaf, found in self.cells.items()}
        self._steps: dict[Decomposition, list[tuple[int, Integers]]] = {}
        self._merged: dict[Decomposition, Integers] = {}
        self._chains: dict[tuple[Decomposition, int], list[Integers]] = {}
        self._codes: dict[tuple[Decomposition, int], tuple[Integers, Integers] | None] = {}
        self._pairs = 0
        self.keys = self._keys(whole)

    def _keys(self, node: Decomposition) -> Integers:
        if not isinstance(node, Parts):
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
        if len(a) * len(b) > _MOST_PAIRS or self._pairs > _MOST_PAIRS_OF_ALL:
            raise _too_many(self._pairs)
        keys, places = self.basis.multiplied(a, b)
        if len(keys) > MOST_CELLS:
            raise _too_many(len(keys))
        return keys, places

    def given(self) -> list[sp.Expr]:
        """Return the masses of the leaves' cells, and all weights."""
        weights = [w for node in self._merged if isinstance(node, Parts) for w in node.weights]
        return [cell.mass for cells in self.cells.values() for cell in cells] + weights

    def masses(self, convert: Convert) -> list[Any]:
        """Return the masses of all cells, in the numbers that ``convert`` makes of the formulas of the leaves."""
        return self._masses(self.whole, convert, {})

    def _masses(self, node: Decomposition, convert: Convert, known: dict[Decomposition, list[Any]]) -> list[Any]:
        if node in known:
            return known[node]
        if not isinstance(node, Parts):
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

    def _power(self, node: Parts, i: int, masses: list[Any]) -> list[Any]:
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
