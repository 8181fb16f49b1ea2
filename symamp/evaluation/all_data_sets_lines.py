"""Lines of integration of the bound over all data sets, and their integrals for each corner, in floats."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, pi, sqrt

import numpy as np

from symamp.evaluation.all_data_sets_floats import FloatClasses, log_integrands
from symamp.evaluation.all_data_sets_plan import Term
from symamp.evaluation.all_data_sets_saddles import FEW_POSITIVE, MOST_STEPS, REACH, SMOOTHING, positive_messages
from symamp.evaluation.gparv import Floats
from symamp.evaluation.work import spend
from symamp.numbers.scipy_functions import erfcx

SMOOTHER, _FEW = 0.006, 150.0
_FAR, _SCREEN = 30.0, 3
_POINT = 0.03  # units of work
_MOST_TERMS = 2e7
"""So many terms of a sum, widths of the main lobe times values of the laws, take seconds: a line that asks for more is
not used."""


def smoothing(n: int) -> float:
    """Return sigma^2 s^2, more of it with few users, who cost frequencies."""
    return SMOOTHING * (1.0 + _FEW / n)


def best_lines(g: FloatClasses, n: int, rates: Floats, near: Sequence[float], weights: Floats) -> list[Term]:
    """Return for each rate the line of integration that is best for a weighted sum of the corners.

    With |M|^N taken as normal in u, the integral of |M|^N/|zeta|^2 is e^(N K) pi erfcx(s (N K''/2)^(1/2))/s.
    """
    least = 0.0 if positive_messages(g, n) > FEW_POSITIVE else SMOOTHER
    smooth = sqrt(max(smoothing(n), least))
    plus = np.maximum(g.values, 0.0)
    lam = np.repeat(rates[:, None], 60, axis=1)
    s = np.geomspace(0.3 * min(near), 3.0 * (max(near) + rates), 60).T
    for points in (60, 25, 25):
        lam = lam[:, :points]
        spend(_POINT * s.size * g.values.size)
        heights = g.log_mgf(s, lam)
        x = s[..., None, None] * g.values - lam[..., None, None] * plus
        tilted = g.masses * np.exp(x - heights[..., None])
        spread = (tilted * g.values**2).sum(axis=-1) - (tilted * g.values).sum(axis=-1) ** 2
        sizes = np.einsum("...xk,xk->...x", np.exp((s - lam)[..., None, None] * plus), g.masses * plus)
        height, curvature, size = (g.at_corners(found) for found in ((n - 1) * heights, (n - 1) * spread, sizes))
        at = s[..., None]
        value = height + np.log(weights * size * erfcx(at * np.sqrt(0.5 * np.maximum(curvature, 0.0))) / at)
        value = np.logaddexp.reduce(value, axis=-1)
        i = np.where(np.isfinite(value), value, np.inf).argmin(axis=1)
        rows = np.arange(len(rates))
        best = s[rows, i]
        s = np.geomspace(s[rows, np.maximum(i - 1, 0)], s[rows, np.minimum(i + 1, points - 1)], 25).T
    return [Term(1.0, float(rate), float(x), smooth / float(x)) for rate, x in zip(rates, best, strict=True)]


def log_term(g: FloatClasses, n: int, term: Term, p_lo: float, weights: Floats, reach: float | None = None) -> Floats:
    """Return log of the integral of one term with a = 1 for each corner, by the trapezoidal rule.

    ``reach`` restricts it to so many widths of the main lobe: enough for choosing parameters.
    """
    heights = (n - 1) * g.log_mgf(np.array([term.s]), np.array([term.lam]))[0]
    near = heights > heights.max() - _FAR
    variance = (n - 1) * float(g.variance(term.s, term.lam)[near].max(initial=0.0)) + 2.0 / term.s**2
    unusable = np.full(len(weights), np.inf)
    if not 0.0 < variance < inf:  # beyond the range of doubles: such a term is not used
        return unusable
    width = 1.0 / sqrt(variance)
    top = REACH / term.sigma if reach is None else min(reach * width, REACH / term.sigma)
    if not 0.0 < top / width < min(MOST_STEPS, _MOST_TERMS / g.values.size):
        return unusable
    steps = int(np.ceil(2.5 * top / width))
    u = np.linspace(0.0, top, steps + 1)
    if len(g.values) > _SCREEN and reach is None and g.corners is None:
        # Where the classes with the largest M(s) are negligible, the others are taken to be so too.
        screen, _ = g.only(np.argsort(heights)[-_SCREEN:].tolist()).transforms(term.s, term.lam, term.sigma, p_lo, u)
        u = u[~((n - 1) * (screen - screen[0]) <= -30.0).all(axis=1)]  # what is beyond the range of doubles is kept
    parts = [
        log_integrands(g, *g.transforms(term.s, term.lam, term.sigma, p_lo, part), n, weights)
        for part in np.array_split(u, max(1, len(u) * g.values.size // 200_000))
    ]
    value = np.concatenate(parts)
    value += (0.5 * term.sigma**2 * (term.s**2 - u * u) - np.log(term.s**2 + u * u))[:, None]
    peak = value.max(axis=0)
    sizes = np.exp(value - peak)
    # Twice the half line: the integrand is even.
    found = peak + np.log((sizes.sum(axis=0) - 0.5 * sizes[0]) * (top / steps) / pi)
    return np.asarray(found) if np.isfinite(found).all() else unusable
