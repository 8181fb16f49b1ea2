"""The constant data sets that may be the worst, by saddle points in floats, and what few positive messages add."""

from __future__ import annotations

from math import isfinite, log, pi, sqrt

import numpy as np

from symamp.evaluation.all_data_sets_floats import FloatClasses
from symamp.evaluation.gparv import Floats

FEW_POSITIVE, MOST_STEPS = 100.0, 1e6
SMOOTHING = 0.0014  # sigma^2 s^2
REACH = 5.5  # frequencies up to REACH / sigma
_TILTS = np.linspace(0.0, 1.2, 7)
_WIDE_TILTS = np.append(_TILTS, np.geomspace(1.5, 24.0, 9))
"""Tilts b of the bad part in units of the saddle point; more where few messages tell the inputs apart."""
_NEAR, _MOST_NEAR = 1.0, 3
_BETWEEN = np.linspace(0.0, 1.0, 21)
_CANCELLED = 1e-12  # what is left of a sum of doubles of either sign


def saddles(g: FloatClasses, n: int) -> list[tuple[float, int, float]]:
    """Return (height, corner, v) where height = N log M(v) - 2 log v is least in v, for the corners of largest height.

    Those within ``_NEAR`` of the largest: these data sets may be the worst.
    """
    variance = g.variance(0.0, 0.0).max()
    guess = (-g.mean + sqrt(g.mean**2 + 8.0 * variance / n)) / (2.0 * variance)
    top = float(g.values.max())
    guess = min(guess, 300.0 / top)
    # Rare messages that speak strongly against x0 make the guess much too small.
    grid = np.geomspace(0.03 * guess, max(30.0 * guess, 60.0 / top), 60)
    heights = _heights(g, n, grid)
    found = []
    for x in np.argsort(-heights.min(axis=0), kind="stable")[:_MOST_NEAR].tolist():
        own, around = heights[:, x], grid
        for _ in range(2):
            i = int(own.argmin())
            low, high = around[max(i - 1, 0)], around[min(i + 1, len(around) - 1)]
            around = low * (high / low) ** _BETWEEN
            own = _heights(g.corner(x), n, around)[:, 0]
        found.append((float(own.min()), x, float(around[int(own.argmin())])))
    found.sort(reverse=True)
    return [at for at in found if at[0] >= found[0][0] - _NEAR]


def _heights(g: FloatClasses, n: int, v: Floats) -> Floats:
    found = (n - 1) * g.at_corners(g.log_mgf(v, np.zeros(1))) - 2.0 * np.log(v)[:, None]
    return np.where(np.isfinite(found), found, np.inf)


def log_size_at(g: FloatClasses, n: int, v: float) -> float:
    """Return an estimate of log E[S_+]/n at a corner: by the saddle point, with few positive ones by an integral."""
    curvature = (n - 1) * float(g.at_corners(g.variance(v, 0.0))[0]) + 2.0 / v**2
    top = (n - 1) * float(g.at_corners(g.log_mgf(np.array([v]), np.zeros(1)))[0, 0]) - 2.0 * log(v)
    rough = top - 0.5 * log(2.0 * pi * curvature) - log(n)
    if not isfinite(rough) or positive_messages(g, n) > FEW_POSITIVE:
        return rough
    square = SMOOTHING / v**2
    reach = REACH / sqrt(square)
    steps = int(min(np.ceil(2.5 * reach * sqrt(curvature)), MOST_STEPS))
    zeta = v + 1j * np.linspace(0.0, reach, steps + 1)
    logs = np.log1p(np.einsum("uxk,xk->ux", np.expm1(zeta[:, None, None] * g.values), g.masses))
    logs = (n - 1) * g.at_corners(logs)[:, 0] + np.mean(logs, axis=1)
    terms = np.exp(logs - logs[0].real + 0.5 * square * zeta**2) / zeta**2
    value = max(float(terms.real.sum() - 0.5 * terms[0].real), _CANCELLED * float(np.abs(terms).sum()))
    return log(value * reach / (steps * pi * n)) + float(logs[0].real)


def positive_messages(g: FloatClasses, n: int) -> float:
    """Return how many messages of the others that are likelier under x0 than under x1 there are, by their spread."""
    return (n - 1) * g.gain**2 / float((g.masses * np.maximum(g.values, 0.0) ** 2).sum(axis=1).max())


def log_bads_at(g: FloatClasses, n: int, p_lo: float, tilts: Floats, b: float) -> Floats:
    """Return the logarithm of the first line of the bound at each corner, row by row for some tilts a."""
    victim = (g.masses * np.maximum(g.values, 0.0) * np.exp(b * g.values)).sum(axis=1).max()
    others = g.at_corners(g.log_mgf(np.full_like(tilts, b), tilts))
    return np.asarray((tilts * p_lo + np.log(victim))[:, None] + (n - 1) * others)


def bad_part(g: FloatClasses, n: int, v: float, log_target: float) -> tuple[float, float, float] | None:
    """Return (p_lo, a, b) with the largest p_lo whose bad part is at most the target.

    S + v > 0 asks for p above m - v: where m is nearly certain to be large, p_lo may be many times the mean of p, with
    b far above the saddle point.
    """
    plus = np.maximum(g.values, 0.0)
    positive = positive_messages(g, n)
    scale = positive / ((n - 1) * g.gain)
    best = (0.0, 0.0, 0.0)
    for b in v * (_WIDE_TILTS if positive < FEW_POSITIVE else _TILTS):
        victim = float((g.masses * plus * np.exp(b * g.values)).sum(axis=1).max())
        tilts = np.geomspace(1e-3 * scale, max(30.0 * scale, 4.0 * b), 40)
        for _ in range(2):
            others = g.at_corners(g.log_mgf(np.full_like(tilts, b), tilts)).max(axis=1)
            p = (log_target - log(victim) - (n - 1) * others) / tilts
            if np.isnan(p).all():  # beyond the range of doubles
                break
            i = int(np.nanargmax(p))
            best = max(best, (float(p[i]), float(tilts[i]), float(b)))
            tilts = np.geomspace(tilts[max(i - 1, 0)], tilts[min(i + 1, 39)], 40)
    return best if best[0] > 0.0 else None
