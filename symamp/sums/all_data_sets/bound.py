"""The bound over all data sets at once: whatever inputs the other users hold (docs/proofs/all_data_sets.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import exp, inf, log, sqrt

import numpy as np
from flint import arb

from symamp.laws.law import BallGparv, Level, total
from symamp.numbers.limits import CELL
from symamp.numbers.surroundings import at_precision
from symamp.sums.all_data_sets.floats import REACH, AllDataSetsEvidence, Cells, Parameters
from symamp.sums.all_data_sets.integral import CellBound, TermBalls
from symamp.sums.all_data_sets.laws import raised_to_majorant
from symamp.sums.all_data_sets.moments import MOMENTS, bound_of_laws
from symamp.sums.all_data_sets.normal import is_worth_asking, moments_of_laws, normal_bound
from symamp.sums.all_data_sets.search import SHARP, Found, Searches
from symamp.sums.divergence import Enclosure, Settings, starting_precision

_SLACK, _MOST_SLACK, _OF_EXCESS = 1e-3, 0.03, 0.06  # relative, of one cell
_NEGLIGIBLE = 1e-2  # of a term, for one cell, in units of the slack
_PLAIN = 30.0
_EVEN, _LEAST_SHARE, _AIM = 0.5, 0.015, 0.4
"""A cell with integral I may exceed it by the slack times the least of I and _EVEN I^(1/2): cells of unlike integrals
then cost about alike; _LEAST_SHARE times the slack is allowed to all. Sizes aim at the part _AIM of that."""
_OF_OTHERS = 0.5
_BY_MOMENTS = 0.03
"""Where so much may be given away in the logarithm moments are asked before cells: they take a tenth of the time."""
_MOST_CELLS = 3_000
_NONE = CellBound((arb("inf"),), 1.0, (inf,))


def enclose_all_data_sets(
    known: Searches, level: Level, n: int, settings: Settings | None = None, *, rough: bool = False
) -> Enclosure:
    """Return an enclosure of the divergence for every data set of the other n - 1 users, 0 at the lower end.

    ``known`` are the searches of the laws of G^x = (R(x0) - E R(x1))/R(x) under R(x), one for every input x that
    another user may hold, each complete, with all their mixtures if it says so (docs/proofs/generic_all_data_sets.md);
    ``rough``: parameters of another pair will do.

    Guarantee
    ---------
    For every choice of inputs, one for each of the n - 1 other users, the divergence D_E of the two shuffled
    histograms is at most ``upper.upper()``. Parameters and cells are searched in floats; that is sound because all of
    them give valid bounds, and the last evaluation is in balls. Proof: docs/proofs/all_data_sets.md.

    Raises ArgumentError if the laws have a null symbol or cannot belong to one pair of inputs.
    """
    settings = settings or Settings()
    gap, limits = settings.gap, settings.limits
    bits, slack = starting_precision(n, gap), max(_SLACK, 0.5 * gap)
    level = known.resolved(level, n, bits)
    distinct, gains, loss = known.prepared(level, n, bits)
    found = known.found(level, n, limits, rough)
    with at_precision(bits):
        everywhere = reduce(arb.max, gains).upper()
        if found is not None and (normal := _normal(distinct, gains, n, found)) < arb(found.log_value).exp():
            evidence = AllDataSetsEvidence(replace(found.parameters, terms=()), ())
            return Enclosure(arb(0), normal, "many users", bits, merging=arb(loss), evidence=evidence)
        if found is not None and found.log_value < float(everywhere.log()):
            parameters = raised_to_majorant(found.parameters)
            if parameters is not None and gap >= _BY_MOMENTS:
                units = bound_of_laws(distinct, known.mixed, n, parameters, found.log_value)
                if units < exp(gap):
                    upper = arb(units) * arb(found.log_value).exp()
                    return Enclosure(arb(0), upper.upper(), MOMENTS, bits, merging=arb(loss))
            if parameters is not None:
                # Cells need not be sharp where all parameters are poor.
                slack = max(slack, _of_poor(found))
                upper, cells = _certified(distinct, gains, parameters, found, n, known.mixed, slack)
                limits.charge(sum(len(c.ends) for c in cells) * CELL.of(sum(len(g.values) for g in distinct)))
                if upper.upper() < everywhere:
                    evidence, name = AllDataSetsEvidence(parameters, cells), "all data sets"
                    return Enclosure(arb(0), upper.upper(), name, bits, merging=arb(loss), evidence=evidence)
        return Enclosure(arb(0), everywhere, "one user", bits)


def estimate_log_all_data_sets(
    known: Searches, level: Level, n: int, settings: Settings | None = None, *, rough: bool = False
) -> float:
    """Return an estimate of the logarithm of the bound, computed in floats; -inf for zero. Not a bound."""
    level = known.resolved(level, n, 128)
    distinct, gains, _ = known.prepared(level, n, 128)
    found = known.found(level, n, (settings or Settings()).limits, rough)
    with at_precision(128):
        trivial = max(float(gain.log()) if gain > 0 else -inf for gain in gains)
        if found is None:
            return trivial
        normal = float(_normal(distinct, gains, n, found).log())
    return min(found.log_value + _of_poor(found), trivial, normal)


def _normal(laws: Sequence[BallGparv], gains: Sequence[arb], n: int, found: Found) -> arb:
    """Return the bound by the normal law, inf where its error is too large to be asked for."""
    return normal_bound(moments_of_laws(laws, gains), n) if is_worth_asking(found.log_value, n) else arb("inf")


def _of_poor(found: Found) -> float:
    """Return how far cells may be above what poor parameters give: most of it remains in the bound."""
    return min(_OF_EXCESS * max(found.excess - SHARP, 0.0), _MOST_SLACK)


def _certified(
    laws: Sequence[BallGparv],
    gains: Sequence[arb],
    parameters: Parameters,
    found: Found,
    n: int,
    mixed: bool,
    slack: float,
) -> tuple[arb, tuple[Cells, ...]]:
    results, cells = bad_parts(laws, parameters, n), []
    by_class, rows = found.by_class, found.weights
    if len(by_class) != len(results):  # at another precision laws may coincide, or be merged otherwise
        by_class, rows = np.full(len(results), found.log_value), np.ones((len(rows), len(results)))
    # Cells need not be sharp for classes that do not matter.
    slacks = [max(slack, min(0.3 * (found.log_value - x), _OF_OTHERS)) for x in by_class.tolist()]
    for term, log_term, weights in zip(parameters.terms, found.log_terms, rows.tolist(), strict=True):
        unit = log_term - log(term.a)
        line = TermBalls(laws, gains, term, parameters.p_lo, n, unit, mixed=mixed, weights=weights)
        share = exp(min(found.log_value - log_term, 12.0))  # small terms need not be sharp
        if not any(reduce(arb.max, results) < gain for gain in gains):
            return arb("inf"), ()
        wanted = [x * max(1.0, 0.1 * share) for x in slacks]
        integrals, chosen = _marched(line, _NEGLIGIBLE * slack * share, wanted)
        factor = arb(term.a) / arb.pi() * arb(unit).exp()
        results = [x + factor * integral for x, integral in zip(results, integrals, strict=True)]
        cells.append(chosen)
    return reduce(arb.max, results), tuple(cells)


def _marched(line: TermBalls, negligible: float, slacks: Sequence[float]) -> tuple[list[arb], Cells]:
    """Return bounds on one integral over u > 0 for each class, cell by cell, each as wide as is sharp enough."""
    top, lobe = REACH / line.term.sigma, line.width
    ends, scales, slopes, results = [0.0], [], [], [arb(0)] * line.count
    size, least, last = 0.6 * lobe, 1e-3 * lobe, inf
    for _ in range(_MOST_CELLS):
        lo = ends[-1]
        hi = min(lo + size, top)
        # Where the integrand matters the fast bound is not tried.
        bound = line.coarse(lo, hi, most=negligible) if last < _PLAIN * negligible else _NONE
        if not bound.uppers[0] < negligible:
            bound = line.fine(lo, hi) if size <= 2.0 * lobe else _NONE
            over = _excess(bound, slacks, negligible)
            if over > 1.0 and size > least:
                size *= max((_AIM / over) ** 0.25, 0.5)  # a cell's excess grows as the fourth power
                continue
            if over == inf:
                break
            growth = min((_AIM / max(over, 1e-9)) ** 0.25, 1.5)
        else:
            growth = 4.0 if last > negligible else 64.0
        results, last = (
            [x + y for x, y in zip(results, bound.uppers, strict=True)],
            float(reduce(arb.max, bound.uppers)),
        )
        ends.append(hi)
        scales.append(bound.scale)
        slopes.append(bound.slope)
        if hi >= top:
            tail = line.tail(top)
            results = [x + y for x, y in zip(results, tail.uppers, strict=True)]
            return results, Cells(tuple(ends), tuple(scales), tail.scale, tuple(slopes))
        size = max(size * growth, least)
    return [arb("inf")] * line.count, Cells(tuple(ends), tuple(scales), 1.0, tuple(slopes))


def _excess(bound: CellBound, slacks: Sequence[float], negligible: float) -> float:
    """Return how far a cell is from what it would be without slack, in units of what is allowed."""
    if not all(x.is_finite() for x in bound.uppers) or bound is _NONE:
        return inf
    return max(
        (float(x.upper()) - ideal) / max(slack * max(min(ideal, _EVEN * sqrt(abs(ideal))), _LEAST_SHARE), negligible)
        for x, ideal, slack in zip(bound.uppers, bound.ideals, slacks, strict=True)
    )


def bad_parts(laws: Sequence[BallGparv], parameters: Parameters, n: int) -> list[arb]:
    """Return max_x E[z+ e^(b z)] e^(a p_lo) E[e^(b z - a z+)]^N at each class."""
    a, b = arb(parameters.tilt_a), arb(parameters.tilt_b)
    victim, logs = arb(0), list[arb]()
    for g in laws:
        atoms = list(zip(g.values, g.masses, strict=True))
        victim = victim.max(total([p * z * (b * z).exp() for z, p in atoms if z > 0]))
        logs.append((g.null_mass + total([p * (b * z - a * z.max(arb(0))).exp() for z, p in atoms])).log())
    return [victim * (a * arb(parameters.p_lo) + (n - 1) * x).exp() for x in logs]
