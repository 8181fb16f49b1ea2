"""Stretches of messages with a density for each input, cut into cells on which one density is the least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import sympy as sp
from flint import arb

from symamp.algebra.normal_form import normal
from symamp.algebra.order import sign
from symamp.derivation.crossing import number
from symamp.errors import UndecidedOrderError
from symamp.evaluation.law import Atom, Number, total
from symamp.evaluation.smooth_law import Piece, SmoothLaw
from symamp.mechanisms.continuous.density_integral import integral, masses_beyond
from symamp.mechanisms.continuous.least_density import least_cells
from symamp.mechanisms.continuous.resolved import Y
from symamp.numbers.holomorphic import Holomorphic

_ZERO, _ONE = sp.S.Zero, sp.S.One


@dataclass(frozen=True)
class Part:
    """An interval of messages, and the density there of each input: one analytic formula each, positive or 0."""

    start: sp.Expr
    end: sp.Expr
    densities: tuple[sp.Expr, ...]

    @property
    def is_tail(self) -> bool:
        """Whether an end is infinite."""
        return bool(self.start.is_infinite or self.end.is_infinite)

    def ratio(self, i: int, j: int) -> sp.Expr:
        """Return the ratio of two densities in normal form."""
        return _ratio(self.densities[i], self.densities[j])


class Shown(NamedTuple):
    """Messages between two numbers: the density of the blanket, and the ratios of R(x0) and R(x1) to it."""

    start: sp.Expr
    end: sp.Expr
    blanket: sp.Expr
    ratio0: sp.Expr
    ratio1: sp.Expr


@lru_cache(maxsize=4096)
def _ratio(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    return _ONE if a == b else normal(a / b)


def law_of_cells(
    parts: Sequence[Part], masses: Sequence[tuple[sp.Expr, ...]], pair: tuple[int, int], other: int | None
) -> SmoothLaw:
    """Return the triple of two inputs and the least density, or that of a third input; ``masses`` are of points."""
    pieces: list[Piece] = []
    atoms: list[Atom] = []
    singular: list[tuple[Number, Number]] = []
    for part in parts:
        bases = range(len(part.densities)) if other is None else (other,)
        if any(part.densities[k] == 0 for k in bases):
            ends = [integral(part.densities[k], part.start, part.end) for k in pair]
            none = number(_ZERO)
            singular += [(ends[0], none), (none, ends[1])]
            continue
        for start, end, density, r0, r1 in cells_of(part, pair, other):
            if r0.free_symbols or r1.free_symbols:
                beyond = masses_beyond((density, part.densities[pair[0]], part.densities[pair[1]]))
                m, ratio0, ratio1 = (Holomorphic(f, Y) for f in (density, r0, r1))
                pieces.append(Piece(number(start), number(end), m, ratio0, ratio1, beyond))
            else:
                atoms.append(Atom(number(r0), number(r1), integral(density, start, end), r0 == r1))
    for found in masses:
        least = _least(found) if other is None else found[other]
        if least == 0:
            singular.append((number(found[pair[0]]), number(found[pair[1]])))
        else:
            r0, r1 = (normal(found[k] / least) for k in pair)
            atoms.append(Atom(number(r0), number(r1), number(least), r0 == r1))
    return SmoothLaw(tuple(pieces), tuple(atoms), _rest(pieces, atoms), tuple(singular))


def cells_of(part: Part, pair: tuple[int, int], other: int | None) -> Iterator[Shown]:
    """Yield the formulas of the cells of a stretch on which every density is positive."""
    for start, end, base, factor in _cells(part, other):
        r0, r1 = (normal(part.ratio(k, base) / factor) for k in pair)
        yield Shown(start, end, normal(part.densities[base] * factor), r0, r1)


def _cells(part: Part, other: int | None) -> list[tuple[sp.Expr, sp.Expr, int, sp.Expr]]:
    if part.is_tail:
        ratios = [part.ratio(k, 0) for k in range(len(part.densities))]
        if any(r.free_symbols for r in ratios):
            raise UndecidedOrderError(
                "density", str(part.densities), "ratios that are constant far out, or an interval"
            )
        least = _least(tuple(ratios))
        return [(part.start, part.end, ratios.index(least) if other is None else other, _ONE)]
    if other is not None:
        return [(part.start, part.end, other, _ONE)]
    return list(_least_cells(part))


@lru_cache(maxsize=256)
def _least_cells(part: Part) -> tuple[tuple[sp.Expr, sp.Expr, int, sp.Expr], ...]:
    return tuple(least_cells([Holomorphic(d, Y) for d in part.densities], part.start, part.end))


def _least(values: tuple[sp.Expr, ...]) -> sp.Expr:
    best = values[0]
    for v in values[1:]:
        best = v if sign(best - v) > 0 else best
    return best


def _rest(pieces: list[Piece], atoms: list[Atom]) -> Number:
    """Return the mass of the null symbol."""
    masses = [integral(p.density.formula, p.start, p.end) for p in pieces if isinstance(p.density, Holomorphic)]

    def value() -> arb:
        return (1 - total([*(m() for m in masses), *(a.mass() for a in atoms)])).max(arb(0))

    return value
