"""A finite table of which a mechanism with densities is a post-processing: what bounds over all data sets can use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise

import sympy as sp
from flint import acb, arb

from symamp.algebra.order import is_zero
from symamp.derivation.crossing import number
from symamp.errors import PrecisionError, SymampError
from symamp.mechanisms.continuous.densities import Densities
from symamp.mechanisms.continuous.density_cells import Part
from symamp.mechanisms.continuous.density_integral import integral
from symamp.mechanisms.continuous.resolved import Y
from symamp.mechanisms.finite import FiniteMechanism
from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.surroundings import at_precision

ROUNDED = sp.Rational(1, 2**90)
"""Total variation, at most, between a row of the table and the one that it is rounded from."""

_NODES, _BITS, _DIGITS = 64, 256, 120
Column = list[arb]


@lru_cache(maxsize=32)
def dominating_table(mechanism: Densities) -> FiniteMechanism:
    """Return a table of rational numbers over the inputs of the mechanism.

    Guarantee
    ---------
    There is a table whose rows differ from these by at most ``ROUNDED`` in total variation, and a random map of its
    messages that turns it into the mechanism, on all inputs at once. Proof: docs/proofs/dominating_table.md.

    Raises PrecisionError if balls are too wide.
    """
    with at_precision(_BITS):
        inner = sum(1 for p in mechanism.parts if not p.is_tail)
        columns = [c for p in mechanism.parts for c in _columns(p, max(4, _NODES // max(inner, 1)))]
        columns += [[number(m)() for m in masses] for _, masses in mechanism.masses]
        rows = [_row([c[k] for c in columns]) for k in range(len(mechanism.inputs))]
    names = [f"y{j}" for j in range(len(columns))]
    table = {x: dict(zip(names, row, strict=True)) for x, row in zip(mechanism.inputs, rows, strict=True)}
    return FiniteMechanism(table, name=f"a table above {mechanism!r}")


def _columns(part: Part, cells: int) -> Iterator[Column]:
    size = len(part.densities)
    ratios = [part.ratio(k, 0) for k in range(size)]
    varying = [k for k in range(size) if ratios[k].free_symbols]
    if part.is_tail or not varying:
        yield [integral(d, part.start, part.end)() for d in part.densities]
        return
    wide = part.end - part.start
    nodes = [part.start + wide * sp.Rational(k, cells) for k in range(cells + 1)]
    masses = [[integral(d, a, b)() for d in part.densities] for a, b in pairwise(nodes)]
    functions = [Holomorphic(r, Y) for r in ratios]
    places = [number(e)() for e in nodes]
    lead = functions[varying[0]]
    boxes = [a.union(b) for a, b in pairwise(places)]
    slopes = [lead.with_slope(acb(box))[1].real for box in boxes]
    if all(s > 0 or s < 0 for s in slopes) and _is_straight(ratios, varying[0], part):
        yield from _on_a_line([[f(acb(y)).real for f in functions] for y in places], masses, varying[0])
        return
    for box, mass in zip(boxes, masses, strict=True):
        yield from _in_a_simplex([f(acb(box)).real for f in functions], mass, varying)


def _on_a_line(corners: Sequence[Column], masses: Sequence[Column], lead: int) -> Iterator[Column]:
    """Yield a message for each node: that of a cell is sent to its ends, so that the mean of the ratios is kept."""
    weights = [arb(0) for _ in corners]
    for k, mass in enumerate(masses):
        low, high = corners[k][lead], corners[k + 1][lead]
        share = (mass[lead] - low * mass[0]) / (high - low)
        weights[k] += mass[0] - share
        weights[k + 1] += share
    for weight, corner in zip(weights, corners, strict=True):
        yield [weight * r for r in corner]


def _in_a_simplex(ranges: Column, mass: Column, varying: Sequence[int]) -> Iterator[Column]:
    """Yield the corners of a right simplex around the box of all ratios, with the weights that keep their means."""
    base = [r.lower() if k in varying else r for k, r in enumerate(ranges)]
    rest = mass[0]
    for k in varying:
        step = len(varying) * (ranges[k].upper() - base[k])
        share = (mass[k] - base[k] * mass[0]) / step
        rest -= share
        yield [share * (r + step if j == k else r) for j, r in enumerate(base)]
    yield [rest * r for r in base]


def _is_straight(ratios: Sequence[sp.Expr], lead: int, part: Part) -> bool:
    """Return whether all ratios are proved to be affine functions of one of them."""
    ends = [{Y: part.start}, {Y: part.end}]
    low, high = (ratios[lead].xreplace(e) for e in ends)
    for ratio in ratios:
        first, last = (ratio.xreplace(e) for e in ends)
        with suppress(SymampError):
            if is_zero((ratio - first) * (high - low) - (last - first) * (ratios[lead] - low)):
                continue
        return False
    return True


def _row(entries: Column) -> list[sp.Rational]:
    """Return rational numbers >= 0 with the sum 1 next to some balls."""
    if not all(v.is_finite() for v in entries):
        raise PrecisionError("density", "a cell of messages", "ratios that are finite on every cell")
    scale = 2**_DIGITS
    found = [sp.Rational(max(int((arb(v.mid()) * scale + 0.5).floor().unique_fmpz()), 0), scale) for v in entries]
    missing = 1 - sum(found)
    error = sum((v.rad() for v in entries), arb(0)) + arb(len(found) + 1) / scale
    error += abs(arb(int(missing.p)) / int(missing.q))
    if not error < arb(1) / int(ROUNDED.q):
        raise PrecisionError("density", "masses of cells", "masses that balls find to thirty digits")
    largest = max(range(len(found)), key=found.__getitem__)
    found[largest] += missing
    return found
