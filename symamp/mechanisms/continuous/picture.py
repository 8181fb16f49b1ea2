"""Pictures of a law with a density: the distribution of G, and the curve of the two ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from flint import acb, arb

from symamp.derivation.axes import axes_for
from symamp.evaluation.law import Level
from symamp.evaluation.sandwich import finite_sandwich
from symamp.evaluation.smooth_law import SmoothLaw
from symamp.numbers.surroundings import at_precision

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELLS, _POINTS, _BITS = 60, 60, 64


def plot_ratios(law: SmoothLaw, ax: Axes | None = None) -> Axes:
    """Draw the curve (r0, r1) that the messages run through, and its atoms as points; return the matplotlib Axes."""
    ax = axes_for(ax)
    with at_precision(_BITS):
        for piece in law.pieces:
            start, end = piece.start(), piece.end()
            places = [acb(start + (end - start) * k / _POINTS) for k in range(_POINTS + 1)]
            curve = [(float(piece.ratio0(y).real), float(piece.ratio1(y).real)) for y in places]
            ax.plot(*zip(*curve, strict=True), color="tab:blue")
        atoms = [(float(a.ratio0()), float(a.ratio1()), float(a.mass())) for a in law.atoms]
    if atoms:
        r0, r1, mass = zip(*atoms, strict=True)
        ax.scatter(r0, r1, s=20.0 + 400.0 * np.array(mass), color="tab:red", label="atoms, by mass")
        ax.legend()
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("r0 = R(0)/m")
    ax.set_ylabel("r1 = R(1)/m")
    return ax


def plot_distribution(law: SmoothLaw, level: Level, ax: Axes | None = None) -> Axes:
    """Draw the distribution function of G at a level, null symbol included; return the matplotlib Axes."""
    ax = axes_for(ax)
    below, _ = finite_sandwich(law, _CELLS, _BITS)
    with at_precision(_BITS):
        e = level.exponential()
        steps = [(float(a.ratio0() - e * a.ratio1()), float(a.mass())) for a in below.atoms]
        steps.append((0.0, float(law.null().max(arb(0)))))
    steps.sort()
    g, mass = (np.array(column) for column in zip(*steps, strict=True))
    ax.step(g, np.cumsum(mass), where="post")
    ax.set_xlabel("G = r0 - e^eps r1")
    ax.set_ylabel("P(G <= g)")
    return ax
