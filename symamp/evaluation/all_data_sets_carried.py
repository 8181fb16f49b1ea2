"""Parameters of the bound over all data sets that are taken over, from a level near by or from another pair."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np

from symamp.evaluation.all_data_sets_floats import FloatClasses
from symamp.evaluation.all_data_sets_lines import log_term
from symamp.evaluation.all_data_sets_plan import Parameters, Term
from symamp.evaluation.all_data_sets_saddles import log_bads_at, log_size_at, saddles
from symamp.evaluation.all_data_sets_search import LOBE, OTHERS, SHARP, Found

_REACHED, _REACHED_POOR, _DRIFT, _DRIFT_POOR = 1.5, 1.0, 2e-3, 0.3
"""How far in log delta parameters are taken over, good ones and poor ones, and by how much they may be worse there."""
_TILTS_NEAR = np.geomspace(0.5, 2.0, 9)


def carried(found: Found, g: FloatClasses, n: int, gain: float | None = None) -> Found | None:
    """Return the parameters of a level near by on lines that suit this one; None where they do not suit it.

    Their distance from the best constant data set may grow by ``_DRIFT``; p_lo and the majorant are the same. ``gain``
    is E[G_+] of another pair of inputs, if they are of one: then units and the choice of c are those of this pair.
    """
    with np.errstate(all="ignore"):
        near = saddles(g, n)
        if gain is not None:
            found = _in_units(found, g.gain / gain)
            weights = np.where(np.arange(len(g.values)) == near[0][1], 1.0, OTHERS)
            found = replace(found, binding=weights, weights=np.tile(weights, (len(found.log_terms), 1)))
        log_size = max(log_size_at(g.corner(x), n, v) for _, x, v in near)
        is_good = found.excess < SHARP
        if not abs(log_size - (found.log_value - found.excess)) < (_REACHED if is_good else _REACHED_POOR):
            return None
        # Corners that tie have saddle points of their own, and lines stay with one.
        saddle = min((v for *_, v in near), key=lambda v: abs(log(v / found.saddle)))
        p, ratio = found.parameters, saddle / found.saddle
        terms = tuple(replace(t, s=t.s * ratio, sigma=t.sigma / ratio) for t in p.terms)
        tilts = p.tilt_a * _TILTS_NEAR
        rows = log_bads_at(g, n, p.p_lo, tilts, ratio * p.tilt_b)
        log_bads, tilt = min(zip(rows, tilts.tolist(), strict=True), key=lambda at: float(at[0].max()))
        # The share beyond the main lobe changes little, but for laws that return to it again and again.
        is_alike = is_good and gain is None
        reach, rests = (LOBE, found.rests) if is_alike else (None, np.zeros_like(found.weights))
        integrals = [log_term(g, n, t, p.p_lo, row, reach) for t, row in zip(terms, found.weights, strict=True)]
        by_term = np.log([[t.a] for t in terms]) + np.array(integrals) + rests
        by_corner = np.logaddexp.reduce([log_bads, *by_term])
        value = float(by_corner.max())
        if not value - log_size <= found.excess + _DRIFT + _DRIFT_POOR * max(found.excess - SHARP, 0.0):
            return None
    return replace(
        found,
        parameters=Parameters(p.p_lo, tilt, ratio * p.tilt_b, terms),
        log_value=value,
        log_terms=tuple(by_term.max(axis=1).tolist()),
        by_corner=by_corner,
        excess=value - log_size,
        saddle=saddle,
    )


def _in_units(found: Found, unit: float) -> Found:
    """Return parameters for G times the unit: the bound is homogeneous."""
    p = found.parameters
    terms = tuple(Term(t.a / unit**2, t.lam / unit, t.s / unit, t.sigma * unit) for t in p.terms)
    scaled = Parameters(p.p_lo * unit, p.tilt_a / unit, p.tilt_b / unit, terms)
    return replace(found, parameters=scaled, log_value=found.log_value + log(unit), saddle=found.saddle / unit)
