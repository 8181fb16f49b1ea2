"""The bound over all data sets at once: whatever inputs the other users hold (docs/proofs/all_data_sets.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import pairwise
from math import exp, inf, log

import flint
import numpy as np
from flint import arb

from symamp.errors import ArgumentError
from symamp.evaluation.all_data_sets_cells import CellBound, TermBalls
from symamp.evaluation.all_data_sets_floats import FloatClasses
from symamp.evaluation.all_data_sets_majorant import raised_to_majorant
from symamp.evaluation.all_data_sets_plan import AllDataSetsEvidence, Cells, Parameters, Region, RegionEvidence
from symamp.evaluation.all_data_sets_regions import FoundRegion, covering, searched
from symamp.evaluation.all_data_sets_search import REACH, SHARP, Found, saddles
from symamp.evaluation.divergence import Enclosure, Settings, positive_part, starting_precision
from symamp.evaluation.gparv import BallGparv, ball_gparv
from symamp.evaluation.law import Law, Level, total
from symamp.evaluation.merged_classes import merged_classes

_SLACK, _MOST_SLACK = 1e-3, 0.03  # relative, of one cell
_NEGLIGIBLE = 3e-3  # of a term, for one cell, in units of the slack
_FEWEST_POSITIVE = 1.0
_MOST_CELLS = 3_000


@dataclass(frozen=True)
class AllDataSetsEnclosure(Enclosure):
    """An upper bound on the divergence of every data set, with 0 below it, and what it can be recomputed from.

    ``evidence`` is None where the bound is that of one user, E[G_+]: no better one was found.
    """

    evidence: AllDataSetsEvidence | None = field(default=None, repr=False)


def enclose_all_data_sets(
    laws: Sequence[Law], level: Level, n: int, settings: Settings | None = None, *, mixed: bool = False
) -> AllDataSetsEnclosure:
    """Return an enclosure of the divergence for every data set of the other n - 1 users, 0 at the lower end.

    ``laws`` are those of G^x = (R(x0) - E R(x1))/R(x) under R(x), one for every input x that another user may hold,
    each complete; classes of inputs with the same law may be given once. ``mixed`` allows every mixture of the laws, as
    the vertices of a polytope (docs/proofs/generic_all_data_sets.md): then they need not share E[G_+].

    Guarantee
    ---------
    For every choice of inputs, one for each of the n - 1 other users, the divergence D_E of the two shuffled
    histograms is at most ``upper.upper()``. Parameters and cells are searched in floats; that is sound because all of
    them give valid bounds, and the last evaluation is in balls. Proof: docs/proofs/all_data_sets.md.

    Raises ArgumentError if the laws have a null symbol or cannot belong to one pair of inputs.
    """
    gap = (settings or Settings()).gap
    bits, slack = starting_precision(n, gap), min(max(_SLACK, 0.5 * gap), _MOST_SLACK)
    distinct, gains, loss = _prepared(laws, level, n, bits, mixed)
    regions = _covered(tuple(laws), level, n, mixed)
    with flint.ctx.workprec(bits):
        everywhere = max(gains, key=lambda x: float(x.upper())).upper()
        upper, evidence = arb(0), list[RegionEvidence]()
        for r in regions:
            parameters = None
            if r.found is not None and r.log_value < float(everywhere.log()):
                parameters = raised_to_majorant(r.found.parameters)
            if r.found is None or parameters is None:
                break
            # Cells need not be sharp where another region has the larger bound.
            sharp = min(max(slack, 0.3 * (regions[0].log_value - r.log_value)), _MOST_SLACK)
            corners = r.region.corners(len(distinct)) if r.region.steps else ()
            found, cells = _certified(distinct, gains, parameters, r.found, n, mixed, sharp, corners)
            upper = upper.max(found).upper()
            evidence.append(RegionEvidence(r.region, parameters, cells))
            if not upper < everywhere:
                break
        else:
            whole = AllDataSetsEvidence(tuple(evidence))
            return AllDataSetsEnclosure(arb(0), upper, "all data sets", bits, merging=arb(loss), evidence=whole)
        return AllDataSetsEnclosure(arb(0), everywhere, "one user", bits)


def estimate_log_all_data_sets(
    laws: Sequence[Law], level: Level, n: int, *, mixed: bool = False, halved: bool = True
) -> float:
    """Return an estimate of the logarithm of the bound, computed in floats; -inf for zero. Not a bound.

    Without ``halved`` all data sets are one region: what is asked for repeatedly is asked so first.
    """
    _, gains, _ = _prepared(laws, level, n, 128, mixed)
    found = (_covered if halved else _whole)(tuple(laws), level, n, mixed)
    with flint.ctx.workprec(128):
        trivial = max(float(gain.log()) if gain > 0 else -inf for gain in gains)
    return min(max(r.log_value for r in found), trivial)


def recomputed_bound(
    laws: Sequence[Law], level: Level, n: int, evidence: AllDataSetsEvidence, *, mixed: bool = False
) -> arb:
    """Return the bound for given parameters and cells, at the ambient precision; without their majorant's proof."""
    balls = [ball_gparv(law, level) for law in laws]
    gains = [positive_part(g) for g in (balls if mixed else balls[:1])]
    largest = arb(0)
    for found in evidence.regions:
        corners = found.region.corners(len(balls)) if found.region.steps else ()
        result = _bad_part(balls, found.parameters, n, corners)
        for term, cells in zip(found.parameters.terms, found.cells, strict=True):
            line = TermBalls(balls, gains, term, found.parameters.p_lo, n, 0.0, mixed=mixed, corners=corners)
            parts = [line.tail(cells.ends[-1], cells.tail_scale).upper]
            for (lo, hi), scale in zip(pairwise(cells.ends), cells.scales, strict=True):
                bounds = [line.coarse(lo, hi, scale).upper, line.fine(lo, hi, scale).upper]
                parts.append(min((b.upper() for b in bounds if b.is_finite()), key=float, default=arb("inf")))
            result += arb(term.a) / arb.pi() * total(parts)
        largest = largest.max(result)
    return largest


def _prepared(
    laws: Sequence[Law], level: Level, n: int, bits: int, mixed: bool
) -> tuple[list[BallGparv], list[arb], float]:
    """Return few laws that cover all, G+, one number if it is common, and how far merging raised a transform.

    The singular part, if any, is in G+ only.
    """
    if not laws:
        raise ArgumentError("laws", "none", "the law of at least one input")
    if not all(law.complete for law in laws):
        raise ArgumentError("laws", "a law with a null symbol", "laws of messages under a real input")
    with flint.ctx.workprec(bits):
        balls = [ball_gparv(law, level) for law in laws]
        gains = [positive_part(g) + g.singular for g in balls]
        if mixed:
            return _merged(balls), gains, 0.0
        if not all(gain.overlaps(gains[0]) for gain in gains):
            raise ArgumentError("laws", "laws with different E[G_+]", "laws that belong to one pair of inputs")
        few, loss = _few(_merged(balls), level, n)
        return few, [min(gains, key=lambda x: float(x.rad()))], loss


def _few(laws: list[BallGparv], level: Level, n: int) -> tuple[list[BallGparv], float]:
    """Return the laws, or fewer that cover them where one for each input would take long, and the loss."""
    if n < 2 or not _has_bound(laws):
        return laws, 0.0
    mean = -float(level.exponential_minus_one())
    with np.errstate(all="ignore"):
        _, _, v = saddles(FloatClasses.of(laws, mean), n)[0]
        return merged_classes(laws, mean, n, v)


def _merged(laws: Sequence[BallGparv]) -> list[BallGparv]:
    """Return the laws without repetitions: laws whose balls overlap become one, of the unions of the balls."""
    result: list[BallGparv] = []
    for g in laws:
        order = sorted(range(len(g.values)), key=lambda k: (float(g.values[k]), float(g.masses[k])))
        law = BallGparv(tuple(g.values[k] for k in order), tuple(g.masses[k] for k in order), g.null_mass, g.singular)
        for i, other in enumerate(result):
            pairs = list(zip(_numbers(law), _numbers(other), strict=False))
            if len(law.values) == len(other.values) and all(a.overlaps(b) for a, b in pairs):
                both = [a.union(b) for a, b in pairs]
                k = len(law.values)
                result[i] = BallGparv(tuple(both[:k]), tuple(both[k : 2 * k]), both[-2], both[-1])
                break
        else:
            result.append(law)
    return result


def _numbers(g: BallGparv) -> tuple[arb, ...]:
    return (*g.values, *g.masses, g.null_mass, g.singular)


def _has_bound(laws: Sequence[BallGparv]) -> bool:
    """Whether the theorem applies: no message names its sender, and all values have a sign."""
    if any(not g.singular.is_zero() for g in laws) or any(v.contains(0) for g in laws for v in g.values):
        return False
    return all(any(v > 0 for v in g.values) for g in laws)


def _classes(laws: tuple[Law, ...], level: Level, n: int, mixed: bool) -> FloatClasses | None:
    """Return the classes of inputs for the search; None where there is nothing to search."""
    balls, *_ = _prepared(laws, level, n, 128, mixed)
    if n < 2 or not _has_bound(balls):
        return None
    with flint.ctx.workprec(128):
        mean = -float(level.exponential_minus_one())
    classes = FloatClasses.of(balls, mean, mixed)
    return classes if (n - 1) * classes.gain > _FEWEST_POSITIVE else None


@lru_cache(maxsize=256)
def _whole(laws: tuple[Law, ...], level: Level, n: int, mixed: bool) -> tuple[FoundRegion, ...]:
    """Return what the search in floats finds for all data sets at once."""
    classes = _classes(laws, level, n, mixed)
    return (FoundRegion(Region(), None) if classes is None else searched(classes, n, Region()),)


@lru_cache(maxsize=256)
def _covered(laws: tuple[Law, ...], level: Level, n: int, mixed: bool) -> tuple[FoundRegion, ...]:
    """Return what it finds for regions that cover all: an estimate and an enclosure at one level share it."""
    (whole,) = found = _whole(laws, level, n, mixed)
    if whole.found is None or whole.found.excess < SHARP:
        return found
    classes = _classes(laws, level, n, mixed)
    return found if classes is None else covering(classes, n, whole.found)


def _certified(
    laws: Sequence[BallGparv],
    gains: Sequence[arb],
    parameters: Parameters,
    found: Found,
    n: int,
    mixed: bool,
    slack: float,
    corners: Sequence[Sequence[float]],
) -> tuple[arb, tuple[Cells, ...]]:
    result, cells = _bad_part(laws, parameters, n, corners), []
    for term, log_term in zip(parameters.terms, found.log_terms, strict=True):
        unit = log_term - log(term.a)
        line = TermBalls(laws, gains, term, parameters.p_lo, n, unit, mixed=mixed, corners=corners)
        share = exp(min(found.log_value - log_term, 12.0))  # small terms need not be sharp
        if not any(result < gain for gain in gains):
            return arb("inf"), ()
        integral, chosen = _marched(line, _NEGLIGIBLE * slack * share, slack * max(1.0, 0.1 * share))
        result += arb(term.a) / arb.pi() * integral * arb(unit).exp()
        cells.append(chosen)
    return result, tuple(cells)


def _marched(line: TermBalls, negligible: float, slack: float) -> tuple[arb, Cells]:
    """Return a bound on one integral over u > 0, cell by cell, each as wide as the wanted sharpness allows."""
    top, lobe = REACH / line.term.sigma, line.width
    ends, scales, result = [0.0], [], arb(0)
    size = lobe / 2.0
    for _ in range(_MOST_CELLS):
        lo = ends[-1]
        hi = min(lo + size, top)
        bound = line.coarse(lo, hi, most=negligible)
        if not bound.upper < negligible:
            bound = line.fine(lo, hi) if size <= 2.0 * lobe else CellBound(arb("inf"), 1.0, 0.0)
            excess = float(bound.upper.upper()) - bound.ideal if bound.upper.is_finite() else inf
            allowed = max(slack * min(bound.ideal, 1.0), negligible)
            if excess > allowed and size > 1e-3 * lobe:
                size *= 0.5
                continue
            if excess == inf:
                break
            growth = 1.5 if excess < 0.2 * allowed else 1.0
        else:
            growth = 2.0
        result += bound.upper
        ends.append(hi)
        scales.append(bound.scale)
        if hi >= top:
            tail = line.tail(top)
            return result + tail.upper, Cells(tuple(ends), tuple(scales), tail.scale)
        size *= growth
    return arb("inf"), Cells(tuple(ends), tuple(scales), 1.0)


def _bad_part(laws: Sequence[BallGparv], parameters: Parameters, n: int, corners: Sequence[Sequence[float]]) -> arb:
    """Return max_x E[z+ e^(b z)] e^(a p_lo) max_x (E[e^(b z - a z+)])^N, the second maximum over the corners."""
    a, b = arb(parameters.tilt_a), arb(parameters.tilt_b)
    victim, logs = arb(0), list[arb]()
    for g in laws:
        atoms = list(zip(g.values, g.masses, strict=True))
        victim = victim.max(total([p * z * (b * z).exp() for z, p in atoms if z > 0]))
        logs.append((g.null_mass + total([p * (b * z - a * z.max(arb(0))).exp() for z, p in atoms])).log())
    rows = [total([arb(share) * x for share, x in zip(row, logs, strict=True)]) for row in corners] or logs
    return victim * (a * arb(parameters.p_lo) + (n - 1) * reduce(arb.max, rows)).exp()
