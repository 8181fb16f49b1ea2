"""The parameters of the bound over all data sets, searched in floats; the bound holds for all their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf, isfinite, log, sqrt

import numpy as np
from flint import arb

from symamp.laws.law import BallGparv, Floats, Law, Level
from symamp.numbers.limits import LINES, PROGRAM, SADDLES, Limits
from symamp.numbers.linear_programme import maximum
from symamp.numbers.surroundings import at_precision
from symamp.sums.all_data_sets import floats
from symamp.sums.all_data_sets.laws import has_bound, heights_at, prepared_laws, raised_to_majorant
from symamp.sums.all_data_sets.moments import bound_of_laws
from symamp.sums.all_data_sets.normal import MANY, moments_of_laws, sharp_normal_bound

# --- The parameters of the bound over all data sets, searched in floats: poor ones give poor bounds, never wrong ones

_RATES = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 100.0])
_JUST_BELOW = 1.0 - 1e-9
"""By this factor a chosen rate is smaller where it is looked up: its last digit decides nothing."""
_NARROW, _FEW_RATES = 0.9, np.array([0.0, 2.0, 3.0, 4.0, 6.0])
"""Where p_lo is near to P = N G+ and P is large, (1 + 2 e^(-3 (p/P - 1)))/3 bends as (P/p)^2 does: few terms do."""
_BAD_SHARE, _BAD_SHARE_OF_FEW = 1e-4, 2e-3  # of the bound; the second where few messages are positive
_MANY_POSITIVE = 300.0
SHARP, SHARPER = 0.1, 0.02
"""So near to the best constant data set, in the logarithm, parameters are good; nearer than the second no other lines
are tried."""
_OF_SMOOTHING = 0.005
"""What more smoothing costs where few messages are positive, until parameters are known."""
_HOPELESS = 30.0
"""So far above it, too: other weights do not make up for that, and each takes as long."""
LOBE, _WIDER_LOBE, _RETURNS = 6.0, 15.0, 200.0
_ROUNDS, OTHERS, _MORE_OF_OTHERS, _SOLVED = 3, 0.1, 0.5, 3
_GAINED = 0.1
"""Other lines are sought again where the last ones took away this part of the excess."""
_SMOOTHEST = 0.02
_FEWER_TERMS = 8e-4, 5e-3
"""What a sharp bound, and a poor one, may grow by in the logarithm where it has fewer terms, or fewer frequencies."""
_FEWER_CLASSES, _OF_DOMINATED, _ALIKE = 0.7, 0.1, 1e-9
"""Up to which part of the classes are searched without the others, what these count for in c then, and up to which part
of the largest transforms are told apart."""
_GRID = 120
_SOLUTIONS, _COST_RANGE = 3, 22.0


@dataclass(frozen=True, eq=False)
class Found:
    """Parameters, the logarithm of the bound they give, and that of each term, all estimated in floats.

    ``excess`` is how far ``log_value`` is above the largest divergence of a class, ``binding`` what each class counts
    for in the largest bound of a class, ``saddle`` the tilt v of the worst one. A row for each term, a column for each
    class: ``weights`` in the choice of c, ``rests`` what is beyond the main lobe, in the logarithm, and the logarithms
    of the ``integrals``, where they are known whole.
    """

    parameters: floats.Parameters
    log_value: float
    log_terms: tuple[float, ...]
    by_class: Floats
    excess: float
    binding: Floats
    saddle: float
    weights: Floats
    rests: Floats
    integrals: Floats


def search(g: floats.FloatClasses, n: int, limits: Limits) -> Found | None:
    """Return good parameters, None if there are none: too few positive messages are expected."""
    with np.errstate(all="ignore"):  # what overflows is no candidate
        worst = _undominated(g)
        if len(worst) == len(g.values):
            return _search(g, n, limits)
        found = _search(g.only(worst), n, limits)
        if found is None:
            return None
        binding, weights = np.zeros(len(g.values)), np.full((len(found.weights), len(g.values)), _OF_DOMINATED)
        binding[worst], weights[:, worst] = found.binding, found.weights
        log_size = found.log_value - found.excess
        return _evaluated(g, n, found.parameters, weights, binding, found.saddle, log_size, limits, found.rests)


def _undominated(g: floats.FloatClasses) -> list[int]:
    """Return the classes whose stop-loss transforms are below that of no other with the same E[z+]; all if most are."""
    heights, gains = heights_at(g, np.unique(np.append(g.values, 0.0))), g.gains
    below = (heights[:, None, :] <= heights + _ALIKE * heights.max()).all(axis=2)
    below &= np.abs(gains[:, None] - gains) <= _ALIKE * gains.max()
    earlier = np.tri(len(heights), k=-1, dtype=bool)
    found: list[int] = np.flatnonzero(~(below & (~below.T | earlier)).any(axis=1)).tolist()
    return found if len(found) <= _FEWER_CLASSES * len(heights) else list(range(len(heights)))


def _search(g: floats.FloatClasses, n: int, limits: Limits) -> Found | None:
    limits.charge(SADDLES.of(g.values.size))
    near = floats.saddles(g, n)
    log_size = max(floats.log_size_at(g.only([x]), n, v) for _, x, v in near)
    if not isfinite(log_size):
        return None
    are_few = floats.positive_messages(g, n) < floats.FEW_POSITIVE
    bads = [floats.bad_part(g, n, v, _log_share(g, n, log_size)) for _, _, v in near]
    bad = max((b for b in bads if b is not None), default=None)
    best = None if bad is None else _Columns(g, n, near, log_size, limits).found(bad)
    if best is None or best.excess > _HOPELESS or limits.is_spent():
        return best
    best = _thinned(g, n, best, limits)
    if not are_few:
        return best
    p, is_sharp = best.parameters, best.excess <= SHARP
    # Poor parameters bear more smoothing: they need fewer frequencies, and |M|^N returns less often.
    factor = sqrt(min(floats.smoothing(n) / floats.SMOOTHER, 1.0) if is_sharp else _SMOOTHEST / floats.SMOOTHER)
    p = replace(p, terms=tuple(replace(t, sigma=t.sigma * factor) for t in p.terms))
    other = _evaluated(g, n, p, best.weights, best.binding, best.saddle, log_size, limits)
    is_better = other is not None and (is_sharp or other.log_value < best.log_value + _FEWER_TERMS[1])
    return other if is_better else best


def _log_share(g: floats.FloatClasses, n: int, log_size: float) -> float:
    """Return the logarithm of what the bad part may be."""
    are_few = floats.positive_messages(g, n) < floats.FEW_POSITIVE
    return log_size + log(_BAD_SHARE_OF_FEW if are_few else _BAD_SHARE)


def _thinned(g: floats.FloatClasses, n: int, found: Found, limits: Limits) -> Found:
    """Return parameters with fewer terms, where the bound hardly grows without those that take most frequencies."""
    p, log_size = found.parameters, found.log_value - found.excess
    P = max((n - 1) * g.gain, p.p_lo)
    log_bads = floats.log_bads_at(g, n, p.p_lo, np.array([p.tilt_a]), p.tilt_b)[0]
    costs, lam, kept = found.integrals, np.array([t.lam for t in p.terms]), list(range(len(p.terms)))
    weights = np.array([t.a for t in p.terms])
    spread = [(n - 1) * float(g.variance(t.s, t.lam).max()) + 2.0 / t.s**2 for t in p.terms]
    for k in sorted(kept, key=lambda k: -sqrt(spread[k]) / p.terms[k].sigma):
        fewer = [i for i in kept if i != k]
        limits.charge(PROGRAM)
        solved = _majorant(p.p_lo, P, P * lam[fewer], costs[fewer], log_bads) if fewer else None
        if solved is not None:
            by_class = np.logaddexp.reduce([log_bads, *(np.log(solved[0])[:, None] + costs[fewer])])
            if by_class.max() < found.log_value + _FEWER_TERMS[found.excess > SHARP]:
                kept, weights = fewer, solved[0]
    used = [(i, a) for i, a in zip(kept, weights.tolist(), strict=True) if a > 0.0]
    rows, terms = [i for i, _ in used], tuple(replace(p.terms[i], a=a) for i, a in used)
    fewer_terms = replace(found, weights=found.weights[rows], rests=found.rests[rows])
    return _summed(fewer_terms, replace(p, terms=terms), costs[rows], log_bads, log_size) or found


class _Columns:
    """Lines of integration with weights of the classes for c: what may become a term.

    The lines and c are the best ones for a weighted sum of the classes: first for the one with the largest divergence;
    where that is not sharp, for the weights with which the least sum is the least maximum, and for all alike, which go
    first where few messages are positive. Lines are offered by their main lobes; those that are chosen are asked for
    all they cost.
    """

    def __init__(
        self, g: floats.FloatClasses, n: int, near: Sequence[tuple[float, int, float]], log_size: float, limits: Limits
    ) -> None:
        self._g, self._n, self._near, self._log_size, self._limits = g, n, near, log_size, limits
        self._positive = floats.positive_messages(g, n)
        self._lines, self._rows, self._lobes = list[floats.Term](), list[Floats](), list[Floats]()

    def found(self, bad: tuple[float, float, float]) -> Found | None:
        """Return parameters for a given (p_lo, a, b) with a small bound for the worst class."""
        g, n, p_lo = self._g, self._n, bad[0]
        log_bads = floats.log_bads_at(g, n, p_lo, np.array([bad[1]]), bad[2])[0]
        others = OTHERS if g.mixed or self._positive < floats.FEW_POSITIVE else _MORE_OF_OTHERS
        weights = np.where(np.arange(len(log_bads)) == self._near[0][1], 1.0, others)
        best: Found | None = None
        P, used = max((n - 1) * g.gain, p_lo), list[int]()
        are_few = self._positive < floats.FEW_POSITIVE
        enough = SHARPER + _OF_SMOOTHING * are_few
        rates = _FEW_RATES if p_lo > _NARROW * P and self._positive > _MANY_POSITIVE else _RATES
        for i in range(_ROUNDS):
            # Other lines are offered near those that were chosen, if these are good.
            chosen = np.array([self._lines[k].lam * P for k in used])
            near = np.abs(np.searchsorted(rates, chosen * _JUST_BELOW)[:, None] - np.arange(len(rates))) <= 1
            self._offer(p_lo, rates[near.any(axis=0)] if best and best.excess <= SHARP else rates, P, weights)
            solved = self._solved(p_lo, log_bads)
            if solved is None:
                return best
            a, binding, sizes = solved
            used = np.flatnonzero(a > 0.0).tolist()
            shares = np.exp(sizes[used] - np.logaddexp.reduce(sizes[used]))
            # A term that is a small share of the bound bears more smoothing, and needs fewer frequencies then.
            wider = np.sqrt(np.clip(0.2 / shares, 1.0, 200.0)).tolist()
            lines = [(self._lines[k], float(a[k]), wide) for k, wide in zip(used, wider, strict=True)]
            terms = tuple(replace(t, a=weight, sigma=t.sigma * wide) for t, weight, wide in lines)
            rows, saddle = np.array([self._rows[k] for k in used]), self._near[0][2]
            parameters = floats.Parameters(*bad, terms)
            found = _evaluated(g, n, parameters, rows, binding, saddle, self._log_size, self._limits)
            before = best
            if found is not None and (best is None or found.log_value < best.log_value):
                best = found
            if best is None or not enough <= best.excess <= _HOPELESS or len(log_bads) == 1 or self._limits.is_spent():
                break
            if before is not None and before.excess - best.excess < _GAINED * best.excess:
                break
            alike, bound = np.ones(len(log_bads)), np.maximum(binding / binding.max(), OTHERS)
            weights = alike if are_few == (i == 0) else bound
        return best

    def _offer(self, p_lo: float, rates: Floats, P: float, weights: Floats) -> None:
        g, n = self._g, self._n
        self._limits.charge(LINES.of(len(rates) * g.values.size))
        new = floats.best_lines(g, n, rates / P, [v for *_, v in self._near], weights)
        self._lines += new
        rows = [weights] * len(new)
        reach = _WIDER_LOBE if self._positive < floats.FEW_POSITIVE else LOBE
        self._rows += rows
        self._lobes += [*floats.log_terms(g, n, new, p_lo, np.array(rows), self._limits, reach)]

    def _solved(self, p_lo: float, log_bads: Floats) -> tuple[Floats, Floats, Floats] | None:
        """Return the weights a_i, what each class counts for, and the logarithms of the sizes of the terms."""
        costs, asked = np.array(self._lobes), set[int]()
        P, lam = max((self._n - 1) * self._g.gain, p_lo), np.array([t.lam for t in self._lines])
        for i in range(_SOLVED):
            if i == _SOLVED - 1 or self._limits.is_spent():  # of those that were asked
                costs[[k for k in range(len(lam)) if k not in asked]] = inf
            self._limits.charge(PROGRAM)
            solved = _majorant(p_lo, P, lam * P, costs, log_bads)
            if solved is None:
                return None
            a, binding = solved
            new = set(np.flatnonzero(a > 0.0).tolist()) - asked
            if self._positive > floats.FEW_POSITIVE or not new:
                break
            if ks := list(new):
                lines, rows = [self._lines[k] for k in ks], np.array([self._rows[k] for k in ks])
                costs[ks] = floats.log_terms(self._g, self._n, lines, p_lo, rows, self._limits, _RETURNS)
            asked |= new
        return a, binding, np.log(a) + costs.max(axis=1)


def _evaluated(
    g: floats.FloatClasses,
    n: int,
    p: floats.Parameters,
    weights: Floats,
    binding: Floats,
    saddle: float,
    log_size: float,
    limits: Limits,
    rests: Floats | None = None,
) -> Found | None:
    """Return what parameters give; None where it is beyond the range of doubles.

    ``rests`` are known for some of the classes: then only the main lobes are integrated.
    """

    def integrated(reach: float | None) -> Floats:
        return floats.log_terms(g, n, p.terms, p.p_lo, weights, limits, reach)

    lobes = integrated(LOBE)
    integrals = integrated(None) if rests is None else lobes + rests.max(axis=1, keepdims=True)
    log_bads = floats.log_bads_at(g, n, p.p_lo, np.array([p.tilt_a]), p.tilt_b)[0]
    found = Found(p, 0.0, (), log_bads, 0.0, binding, saddle, weights, integrals - lobes, integrals)
    return _summed(found, p, integrals, log_bads, log_size)


def _summed(found: Found, p: floats.Parameters, integrals: Floats, log_bads: Floats, log_size: float) -> Found | None:
    """Return what is found with the value of parameters, from integrals of terms of weight 1; None beyond doubles."""
    by_term = np.log([[t.a] for t in p.terms]) + integrals
    by_class = np.logaddexp.reduce([log_bads, *by_term])
    value = float(by_class.max())
    if not isfinite(value):
        return None
    return replace(
        found,
        parameters=p,
        log_value=value,
        log_terms=tuple(by_term.max(axis=1).tolist()),
        by_class=by_class,
        excess=value - log_size,
        integrals=integrals,
    )


def _majorant(
    p_lo: float, P: float, rates: Floats, log_costs: Floats, log_bads: Floats
) -> tuple[Floats, Floats] | None:
    """Return a_i >= 0 with sum a_i e^(-lam_i p) >= 1/p^2 on a grid of p >= p_lo, of least cost at the worst class.

    And what each class counts for in the maximum. ``log_costs`` has a row for each rate, a column for each class.
    """
    top = 4.0 * P + 2.0 * p_lo
    # Denser near p_lo, where the steepest exponentials bend.
    x = np.append(p_lo * (top / p_lo) ** (np.linspace(0.0, 1.0, _GRID) ** 1.5), 1.5 * top) / P
    log_columns = 2.0 * np.log(x)[:, None] - np.outer(x - 1.0, rates)
    largest = log_columns.max(axis=0)  # of x^2 e^(-lam (x - 1)), so that every column has maximum 1
    columns = np.exp(log_columns - largest)
    columns[-1, rates > 0.0] = 0.0  # beyond the grid the constant terms alone
    # x^2 sum w_i e^(-rate_i (x-1) - largest_i) >= 1 with x = p/P
    units = rates - largest - 2.0 * log(P)
    cost = log_costs + units[:, None]
    highest = cost.max(axis=1)
    whole = float(np.min(highest[(rates == 0.0) & np.isfinite(highest)], initial=np.inf))
    if whole == np.inf:
        return None
    weights = np.zeros(len(rates))
    for _ in range(_SOLUTIONS):
        usable = np.flatnonzero(highest < whole + _COST_RANGE)
        # Solvers fail where costs differ by too many powers of ten: what is negligible need not be less than that.
        scaled = np.exp(np.maximum(cost[usable] - whole, -_COST_RANGE)).T
        bads = np.exp(np.clip(log_bads - whole, -_COST_RANGE, _COST_RANGE))
        # The dual: the largest sum of what points of the grid and classes are worth, classes together at most 1. Those
        # of the largest bad part stand for the rest of 1, so that 0 is admitted.
        first = int(bads.argmax())
        rows = np.block([[columns[:, usable].T, (scaled[first] - scaled).T], [np.ones(len(x) + len(bads))]])
        rows[-1, : len(x)] = 0.0
        found = maximum(np.append(np.ones(len(x)), bads - bads[first]), rows, np.append(scaled[first], 1.0))
        if found is None:
            return None
        worth, best, value = found
        binding = worth[len(x) :]
        binding[first] += 1.0 - binding.sum()
        weights[:] = 0.0
        weights[usable] = np.maximum(best[:-1], 0.0)
        before, whole = whole, whole + log(max(value + float(bads[first]), 1e-300))
        if whole > before - 0.5 * _COST_RANGE:
            break
    # What the solver leaves uncovered, as costs differ so much, all weights make up for: the proof would raise them.
    covered = float((columns @ weights).min())
    return (weights / min(covered, 1.0) * np.exp(units), binding) if covered > 0.0 else None


# ------------ Parameters of the bound over all data sets that are taken over, from a level near by or from another pair

_REACHED, _REACHED_POOR, _DRIFT, _DRIFT_POOR = 20.0, 1.0, 2e-3, 0.3
"""How far in log delta parameters are taken over, good ones and poor ones, and by how much they may be worse there."""
_REACHED_RULED_OUT, _DRIFT_RULED_OUT, _RULED_OUT_BY = 4.0, 0.2, 0.3
"""The same where parameters need only rule out a few groups of pairs; and how far below the bound of the other pair
this one is ruled out, however poor they are."""
_STEADY = 1.0
"""Up to which distance in log delta what is beyond the main lobe is taken over from poor parameters, too."""
_NEAREST = 3
"""So many levels are tried."""
_BELOW_LARGEST = 0.01
"""How far below the largest bound at a level others are ruled out there."""


def carried(
    found: Found,
    g: floats.FloatClasses,
    n: int,
    limits: Limits,
    gain: float | None = None,
    far: bool = False,
    enough: float = -inf,
    drift: float = _DRIFT,
) -> Found | None:
    """Return parameters on the lines of a level near by, moved to suit this one; None where they do not suit it.

    Their distance from the best constant data set may grow by the ``drift``, unless they may come from ``far`` or give
    what is ``enough``. ``gain`` is E[G_+] of another pair of inputs, if they are of one: then units and the choice of c
    are those of this pair.
    """
    worst, count = _undominated(g), len(g.values)
    g = g.only(worst)
    limits.charge(SADDLES.of(g.values.size) + PROGRAM)
    with np.errstate(all="ignore"):
        near = floats.saddles(g, n)
        if gain is not None:
            enough = max(enough, found.log_value - _RULED_OUT_BY)
            found = _in_units(found, g.gain / gain)
            weights = np.where(np.arange(count) == worst[near[0][1]], 1.0, OTHERS)
            tall = np.tile(found.rests.max(axis=1, keepdims=True), count)
            rows, by_class = np.tile(weights, (len(found.log_terms), 1)), np.full(count, found.log_value)
            found = replace(found, binding=weights, weights=rows, rests=tall, by_class=by_class)
        log_size = max(floats.log_size_at(g.only([x]), n, v) for _, x, v in near)
        is_good = found.excess < SHARP
        reached = _REACHED if is_good else _REACHED_POOR
        if gain is not None:
            reached, drift = _REACHED_RULED_OUT, _DRIFT_RULED_OUT
        if not (far or log_size < enough or abs(log_size - (found.log_value - found.excess)) < reached):
            return None
        # Classes that tie have saddle points of their own, and lines stay with one.
        saddle = min((v for *_, v in near), key=lambda v: abs(log(v / found.saddle)))
        bad = floats.bad_part(g, n, saddle, _log_share(g, n, log_size))
        if bad is None:
            return None
        ratio, P = saddle / found.saddle, max((n - 1) * g.gain, bad[0])
        terms = tuple(replace(t, s=t.s * ratio, sigma=t.sigma / ratio) for t in found.parameters.terms)
        log_bads = floats.log_bads_at(g, n, bad[0], np.array([bad[1]]), bad[2])[0]
        # The share beyond the main lobe changes little, but for laws that return to it again and again, far away.
        is_steady = is_good or abs(log_size - (found.log_value - found.excess)) < _STEADY
        reach, rests = (LOBE, found.rests[:, worst]) if is_steady else (None, 0.0)
        costs = floats.log_terms(g, n, terms, bad[0], found.weights[:, worst], limits, reach) + rests
        solved = _majorant(bad[0], P, P * np.array([t.lam for t in terms]), costs, log_bads)
        if solved is None:
            return None
        used = np.flatnonzero(solved[0] > 0.0)
        terms = tuple(replace(terms[i], a=float(solved[0][i])) for i in used)
        moved = replace(found, saddle=saddle, weights=found.weights[used], rests=found.rests[used])
        here = _summed(moved, floats.Parameters(*bad, terms), costs[used], log_bads, log_size)
        poor = max(found.excess - SHARP, 0.0)
        # Those of another pair that are poor here say nothing of this pair unless they rule it out.
        most = inf if far else found.excess + drift + (_DRIFT_POOR if gain is None else -1.0) * poor
        if here is None or not (here.excess <= most or here.log_value < enough):
            return None
    every = found.by_class + (here.log_value - found.log_value)
    every[worst] = here.by_class
    return replace(here, by_class=every)


def _least(some: Iterable[Found | None]) -> Found | None:
    """Return the least, or the first one that is sharp: others would not be better by much."""
    best: Found | None = None
    for found in some:
        if found is not None and (best is None or found.log_value < best.log_value):
            best = found
        if best is not None and best.excess <= SHARP:
            break
    return best


def _in_units(found: Found, unit: float) -> Found:
    """Return parameters for G times the unit: the bound is homogeneous."""
    p = found.parameters
    terms = tuple(floats.Term(t.a / unit**2, t.lam / unit, t.s / unit, t.sigma * unit) for t in p.terms)
    scaled = floats.Parameters(p.p_lo * unit, p.tilt_a / unit, p.tilt_b / unit, terms)
    return replace(found, parameters=scaled, log_value=found.log_value + log(unit), saddle=found.saddle / unit)


def _for_users(found: Found, users: int, n: int) -> tuple[Found, float]:
    """Return parameters of so many users for n of them, and the drift: their terms fall with all positive messages."""
    if users == n:
        return found, _DRIFT
    terms = tuple(replace(t, lam=t.lam * (users - 1) / (n - 1)) for t in found.parameters.terms)
    return replace(found, parameters=replace(found.parameters, terms=terms)), _DRIFT_OF_USERS


# ---------------------- What searches have found for one pair of inputs: parameters that other levels near by take over

_FEWEST_POSITIVE, _LEAST_SPREAD = 1.0, 1e-2
"""With fewer positive messages, plainly or by their spread, no parameters give a bound near to the truth."""
_MOST_KEPT, _MOST_SEARCHED = 256, 63
_FAR_FROM_FEWER, _NEAR_FEWER = 0.15, 1.0
"""How far, in log delta, the bound of laws of fewer values may be from what their parameters give for all values; and
up to which distance of levels the difference is used again."""
_FEWER_USERS, _DRIFT_OF_USERS = 2.0, 5e-3
"""Up to which factor the parameters of other numbers of users are taken over, and by how much they may be worse."""
_MOST_BORROWED = 2
"""So many of what was searched last for other pairs are tried."""
_RARE = -1.0
"""Where few positive messages have so small a part of a limit, in the logarithm, moments may show the limit."""
_JUST_ABOVE = 1.0 + 1e-3
"""Up to this multiple of an eps what was borrowed there is kept as it is."""

Prepared = tuple[list[BallGparv], list[arb], float]


class Others:
    """What was found for many pairs of inputs that share it.

    ``searched`` are n, E[G_+] and the parameters, the last one last; ``largest`` the logarithm of the largest bound of
    a pair at a level and a number of users: pairs that are below it need no better parameters, where only the largest
    bound counts.
    """

    def __init__(self, *, are_compared: bool = True) -> None:
        self._are_compared = are_compared
        self.searched: list[tuple[int, float, Found]] = []
        self.largest: dict[tuple[Level, int], float] = {}

    def add(self, n: int, gain: float, found: Found) -> None:
        """Keep what was searched."""
        self.searched.append((n, gain, found))
        del self.searched[:-_MOST_SEARCHED]

    def tell(self, level: Level, n: int, found: Found) -> None:
        """Keep what a pair has at a level."""
        if self._are_compared:
            self.largest[level, n] = max(found.log_value, self.largest.get((level, n), -inf))


class Searches:
    """The searches for the laws of one pair of inputs: nothing is searched twice, and near levels share parameters.

    A level takes over the weights of one that was searched, with the same number of users, where by an estimate they
    are hardly worse there; on lines that suit it. ``others`` is a list that many pairs of inputs share: where rough
    parameters will do, those of another pair may be taken over. ``most`` is that of ``prepared_laws``; ``fewer`` is
    about laws of fewer values, whose parameters may serve these.
    """

    def __init__(
        self,
        laws: Sequence[Law],
        mixed: bool = False,
        others: Others | None = None,
        most: int | None = None,
        fewer: Searches | None = None,
    ) -> None:
        self._laws, self.mixed, self._others, self._most = tuple(laws), mixed, others, most
        self._fewer = fewer
        self._found: dict[tuple[Level, int], Found | None] = {}
        self._searched: list[tuple[int, float, Found | None]] = []  # n, the mean 1 - E, and what was found
        self._borrowed: dict[tuple[Level, int], Found] = {}
        self._taken: dict[tuple[Level, int], Found] = {}  # from laws of fewer values
        self._less: tuple[int, float, float] | None = None  # n, the logarithm there, and how much less it is here
        self._classes: tuple[tuple[Level, int], floats.FloatClasses | None] | None = None
        self._prepared: tuple[tuple[Level, int, int], Prepared] | None = None
        self._normal: tuple[tuple[Level, int, int], arb | None] | None = None
        self._by_moments: tuple[tuple[Level, int, int, floats.Parameters], arb] | None = None

    def prepared(self, level: Level, n: int, bits: int) -> Prepared:
        """Return what ``prepared_laws`` makes of the laws; the last is kept."""
        if self._prepared is None or self._prepared[0] != (level, n, bits):
            self._prepared = (level, n, bits), prepared_laws(self._laws, level, n, bits, self.mixed, self._most)
        return self._prepared[1]

    def resolved(self, level: Level, n: int, bits: int) -> Level:
        """Return the level, or one just below it at which no value is 0: the theorem supposes that all have a sign."""
        unknown = any(v.contains(0) for g in self.prepared(level, n, bits)[0] for v in g.values)
        return level.just_below() if unknown else level

    def normal(self, level: Level, n: int, bits: int) -> arb | None:
        """Return the bound by the normal law where nothing is to be searched, as it is sharp; the last is kept."""
        if self._normal is None or self._normal[0] != (level, n, bits):
            laws, gains, _ = self.prepared(level, n, bits)
            with at_precision(bits):
                is_known = n >= MANY and has_bound(laws)
                found = sharp_normal_bound(moments_of_laws(laws, gains), n) if is_known else None
                self._normal = (level, n, bits), found
        return self._normal[1]

    def by_moments(self, level: Level, n: int, bits: int, parameters: floats.Parameters, log_unit: float) -> arb:
        """Return the bound that moments give with some parameters, inf where they give none; the last is kept.

        ``log_unit`` is near its logarithm.

        Guarantee
        ---------
        It is at least the divergence at n users, whichever of the laws they have. Proof: docs/proofs/all_pairs.md.
        """
        if self._by_moments is None or self._by_moments[0] != (level, n, bits, parameters):
            laws, raised = self.prepared(level, n, bits)[0], raised_to_majorant(parameters)
            units = inf if raised is None else bound_of_laws(laws, self.mixed, n, raised, log_unit)
            with at_precision(bits):
                found = arb(units) * arb(log_unit).exp() if units < inf else arb("inf")
                self._by_moments = (level, n, bits, parameters), found
        return self._by_moments[1]

    def is_settled(self, level: Level, n: int) -> bool:
        """Return whether the normal law was asked for last at this level, and is sharp."""
        return self._normal is not None and self._normal[0][:2] == (level, n) and self._normal[1] is not None

    def found(self, level: Level, n: int, limits: Limits, rough: bool = False) -> Found | None:
        """Return what is found, None if nothing; where it may be ``rough`` perhaps that of another pair."""
        borrowed = self._borrowed_at(level, n, limits) if self._others is not None and not self._searched else None
        is_good = borrowed is not None and (rough or self._is_as_good(borrowed, n))
        if is_good:
            return borrowed
        return self._of_fewer(level, n, limits) or self._own(level, n, limits)

    def at_hand(self, level: Level, n: int, limits: Limits) -> Found | None:
        """Return parameters that are known here, or borrowed from another pair, None where they would be searched."""
        return self.known(level, n) or (None if self._searched else self._borrowed_at(level, n, limits))

    def lent(self, level: Level, n: int, log_limit: float) -> floats.Parameters | None:
        """Return the last parameters of another pair as they are, but for the unit, if they may show the limit here.

        None where this pair has some, or where few positive messages are not rare enough.
        """
        others = [] if self._others is None or self.has_answered(level, n) else self._others.searched[-1:]
        g = self._floats(level, n) if others and others[0][0] == n else None
        if g is None:
            return None
        _, gain, found = others[0]
        p = _in_units(found, g.gain / gain).parameters
        with np.errstate(all="ignore"):
            log_bad = floats.log_bads_at(g, n, p.p_lo, np.array([p.tilt_a]), p.tilt_b).max()
        return p if log_bad < log_limit + _RARE else None

    def _is_as_good(self, borrowed: Found, n: int) -> bool:
        """Return whether parameters of another pair are about as near to a data set here as they are there."""
        assert self._others is not None
        own = (found.excess for users, _, found in self._others.searched if users == n)
        return borrowed.excess <= min([*own, SHARP]) + _DRIFT

    def _borrowed_at(self, level: Level, n: int, limits: Limits) -> Found | None:
        """Return the parameters of another pair that suit this one, None without any."""
        others, known = self._others, self._borrowed_near(level, n)
        if others is None or limits.is_spent() or known is not None:
            return known
        g, enough = self._floats(level, n), others.largest.get((level, n), -inf) - _BELOW_LARGEST
        for users, gain, other in others.searched[: -_MOST_BORROWED - 1 : -1]:
            found = None if g is None or users != n else carried(other, g, n, limits, gain, enough=enough)
            if found is not None:
                self._borrowed[level, n] = found
                break
        return self._borrowed.get((level, n))

    def _borrowed_near(self, level: Level, n: int) -> Found | None:
        """Return what was borrowed at a level, or at one so little below that the bound is hardly less here."""
        eps = level.double or 0.0
        near = (
            found
            for (other, users), found in self._borrowed.items()
            if users == n and other.double and other.double < eps < _JUST_ABOVE * other.double
        )
        return self._borrowed.get((level, n)) or next(near, None)

    def _of_fewer(self, level: Level, n: int, limits: Limits) -> Found | None:
        """Return what parameters found for laws of fewer values give here, None where those laws are too far away.

        How much less that is hardly depends on the level: levels near by share it.
        """
        if self._fewer is None or (level, n) in self._taken:
            return self._taken.get((level, n))
        found = self._fewer.found(level, n, limits)
        if found is None:
            return None
        if self._less is None or self._less[0] != n or abs(self._less[1] - found.log_value) > _NEAR_FEWER:
            g = self._floats(level, n)
            if g is None or len(found.binding) != len(g.values):
                return None
            size, rows = found.log_value - found.excess, (found.weights, found.binding, found.saddle)
            with np.errstate(all="ignore"):
                whole = _evaluated(g, n, found.parameters, *rows, size, limits)
            if whole is None or abs(whole.log_value - found.log_value) > _FAR_FROM_FEWER:
                self._fewer = None
                return None
            self._less = n, found.log_value, found.log_value - whole.log_value
        less = self._less[2]
        self._taken[level, n] = replace(found, log_value=found.log_value - less, excess=found.excess - less)
        return self._taken[level, n]

    def known(self, level: Level, n: int) -> Found | None:
        """Return the parameters that nobody has to search, None if there are none."""
        return self._found.get((level, n)) or self._borrowed_near(level, n)

    def knows(self, level: Level, n: int) -> bool:
        """Return whether nothing is searched at this level any more."""
        return (level, n) in self._found or self._borrowed_near(level, n) is not None

    def has_answered(self, level: Level, n: int) -> bool:
        """Return whether a bound is known at this level: by parameters, or by the normal law."""
        return self.knows(level, n) or self.is_settled(level, n)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was asked yet."""
        return not self._found and not self._borrowed

    def are_for(self, n: int) -> bool:
        """Return whether something was searched for so many users, for other levels to take over."""
        return any(users == n for users, *_ in self._searched)

    def _own(self, level: Level, n: int, limits: Limits) -> Found | None:
        if (level, n) in self._found:
            return self._found[level, n]
        near = [x for x in self._searched if n / _FEWER_USERS <= x[0] <= _FEWER_USERS * n]
        g = self._floats(level, n) if near or not limits.is_spent() else None
        if g is None:
            return None
        # Laws that are merged may be more or fewer at another level.
        near = sorted(near, key=lambda x: (x[0] != n, abs(x[1] - g.mean)))
        same = ((users, x) for users, _, x in near if x is not None and x.weights.shape[1] == len(g.values))
        alike = [_for_users(x, users, n) for users, x in islice(same, _NEAREST)]
        found = _least(carried(x, g, n, limits, drift=drift) for x, drift in alike)
        if found is None:
            found = None if limits.is_spent() else search(g, n, limits)
            if found is None or found.excess > SHARP:  # what is poor may be less so elsewhere
                found = _least([found, *(carried(x, g, n, limits, far=True) for x, _ in alike)])
            if self._others is not None and found is not None:
                self._others.add(n, g.gain, found)
            if found is None and limits.is_spent():  # other questions may ask for it again
                return None
            self._searched = [*self._searched[-_MOST_SEARCHED:], (n, g.mean, found)]
        if len(self._found) >= _MOST_KEPT:
            self._found.clear()
        self._found[level, n] = found
        if self._others is not None and found is not None:
            self._others.tell(level, n, found)
        return found

    def _floats(self, level: Level, n: int) -> floats.FloatClasses | None:
        """Return the classes of inputs for the search; None where there is nothing to search."""
        if self._classes is None or self._classes[0] != (level, n):
            self._classes = (level, n), self._made(level, n)
        return self._classes[1]

    def _made(self, level: Level, n: int) -> floats.FloatClasses | None:
        balls, *_ = self.prepared(level, n, 128)
        if n < 2 or not has_bound(balls):
            return None
        with at_precision(128):
            mean = -float(level.exponential_minus_one())
        classes = floats.FloatClasses.of(balls, mean, self.mixed)
        if not (n - 1) * classes.gain > _FEWEST_POSITIVE:
            return None
        return classes if floats.positive_messages(classes, n) > _LEAST_SPREAD else None
