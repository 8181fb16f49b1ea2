"""The plan for a law with a density: found in floats, with nodes that are good for all its frequencies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, log

import flint
import numpy as np

from symamp.errors import PrecisionError
from symamp.evaluation.blocks import NEGLIGIBLE
from symamp.evaluation.fast import FloatSum, float_sum
from symamp.evaluation.flat_cells import FlatCells, flat_cells
from symamp.evaluation.float_law import FloatLaw, evaluated
from symamp.evaluation.gparv import BallGparv, FloatGparv, nearest_doubles
from symamp.evaluation.law import Level
from symamp.evaluation.plan import Plan, raised_tilt, relative_overshoot, saddle_tilt
from symamp.evaluation.smooth_law import Nodes, SmoothLaw, nodes
from symamp.evaluation.tilted import TiltedLaw
from symamp.evaluation.tilted_nodes import node_gparv
from symamp.numbers.surroundings import at_precision

SEARCHED = 64
"""Bits of nodes that say where to look."""
_BITS, _BITS_OF_GAPS, _SLACK, _SHARE = 128, 40, 1.05, 4.0
_LOSS, _STEPS = -log(NEGLIGIBLE), 400


@dataclass(frozen=True)
class Search:
    """What floats have found: G of the nodes in doubles, the sum, and the tilt and frequencies that nodes are for."""

    g: FloatGparv
    sum: FloatSum | None
    tilt: float
    reach: float
    flat: FlatCells


def search(law: SmoothLaw, level: Level, n: int, gap: float, most: int) -> Search:
    """Return the plan, found with nodes that are good for all its frequencies; no sum if there is none to be had."""
    g = rough_gparv(law, level, 0.0, 0.0, SEARCHED)
    if not g.is_positive:
        return Search(g, None, 0.0, 0.0, FlatCells(()))
    saddle = saddle_tilt(g, n)
    tilt, unit = raised_tilt(g, n, saddle), 2.0**g.exponent
    flat = _flat(law, level, saddle / unit)
    g = replace(g, flat=flat.floats(g.exponent))
    tilted = TiltedLaw.of(g, tilt)
    # About what the search will ask for: with too few nodes phi would not fall, and it would ask for much more.
    width = np.sqrt(n) * tilted.deviation * np.sqrt(_SHARE * gap * relative_overshoot(tilted, n))
    if not width > 0.0:  # one value has all the mass of the tilted law
        return Search(g, None, 0.0, 0.0, flat)
    reach = float(min(2.0 * np.pi / width, _far_from(tilted, n)))
    while True:
        try:
            g = replace(rough_gparv(law, level, tilt / unit, reach / unit, accuracy_of(n)), flat=g.flat)
        except PrecisionError:  # too many nodes
            return Search(g, None, 0.0, 0.0, flat)
        found = float_sum(g, n, gap, most)
        needed = _needed(found.plan, g, n)
        if needed <= _SLACK * reach:
            return Search(g, found, tilt / unit, reach / unit, flat)
        reach = 2.0 ** np.ceil(np.log2(needed))


def accuracy_of(n: int) -> int:
    """Return bits for which n errors of nodes are far below every gap that is aimed at first."""
    return n.bit_length() + _BITS_OF_GAPS


def _far_from(tilted: TiltedLaw, n: int) -> float:
    """Return a frequency from which on |phi|^n is negligible by the density of G alone, inf if there is none."""
    cells = tilted.g.flat
    if cells is None or not len(cells.width):
        return inf
    u = np.geomspace(2.0 / cells.width.max(), 1e4 / cells.width.min(), _STEPS)
    enough = n * tilted.loss(u) > _LOSS
    return float(u[enough.argmax()]) if enough.any() else inf


def _needed(plan: Plan, g: FloatGparv, n: int) -> float:
    """Return the largest frequency at which nodes have to give phi, in units of the floats."""
    window, blocks = plan.window, plan.blocks
    tilted = TiltedLaw.of(g, window.theta * 2.0**g.exponent)
    far = _far_from(tilted, n)
    step = 2.0 * np.pi / window.length * 2.0**g.exponent
    ends = [last * step for _, last in blocks.evaluated]
    return max(
        ends + [(first + last) / 2.0 * step for first, last in blocks.dropped if first * step < far], default=0.0
    )


def _flat(law: SmoothLaw, level: Level, theta: float) -> FlatCells:
    with at_precision(64):
        e = level.exponential()
    return flat_cells(law, e, _above(float(e)), _above(theta))


def rough_gparv(law: SmoothLaw, level: Level, tilt: float, reach: float, accuracy: int) -> FloatGparv:
    """Return G of the nodes in doubles, from balls at the level only where doubles do not resolve it."""

    def source() -> BallGparv:
        return node_gparv(law, level, nodes_near(law, level, tilt, reach, flint.ctx.prec, accuracy))

    known = _float_law(law, nodes_near(law, level, tilt, reach, _BITS, accuracy))
    return (known and known.gparv(level)) or nearest_doubles(source, _BITS)


@lru_cache(maxsize=64)
def _float_law(law: SmoothLaw, found: Nodes) -> FloatLaw | None:
    with at_precision(_BITS):
        rows = [(r0 - r1, r1, mass) for r0, r1, mass in found.values]
        return FloatLaw.of_rows([*rows, *(evaluated(atom) for atom in law.atoms)], law.null(), law.singular)


def nodes_near(law: SmoothLaw, level: Level, theta: float, reach: float, bits: int, accuracy: int) -> Nodes:
    """Return nodes for levels, tilts and frequencies near those given: neighbours share them."""
    with at_precision(64):
        e = float(level.exponential())
    return nodes(law.pieces, *(_above(x) for x in (e, theta, reach)), bits, accuracy)


def _above(x: float) -> float:
    """Return a power of sqrt 2 that is at least x."""
    return 0.0 if x == 0.0 else float(2.0 ** (np.ceil(2.0 * np.log2(x)) / 2.0))
