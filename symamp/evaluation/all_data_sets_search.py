"""The parameters of the bound over all data sets, searched in floats: poor ones give poor bounds, never wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, log, pi, sqrt

import numpy as np

from symamp.evaluation.all_data_sets_floats import FloatClasses, log_integrands
from symamp.evaluation.all_data_sets_plan import Parameters, Term
from symamp.evaluation.gparv import Floats
from symamp.numbers.scipy_functions import erfcx, linprog

_RATES = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 100.0])
_NARROW, _TWO_RATES = 0.97, np.array([0.0, 3.0])
"""Where p_lo is near to P = N G+ and P is large, (1 + 2 e^(-3 (p/P - 1)))/3 bends as (P/p)^2 does: two terms do."""
_BAD_SHARES, _BAD_SHARE = (0.002, 0.03, 0.3), 1e-4  # of the bound; the last with many positive messages
_FEW_POSITIVE, _MANY_POSITIVE = 100.0, 1e3
_TILTS = np.linspace(0.0, 1.2, 7)
_WIDE_TILTS = np.append(_TILTS, np.geomspace(1.5, 24.0, 9))
"""Tilts b of the bad part in units of the saddle point; more where few messages tell the inputs apart."""
SHARP = 0.1
"""So near to the best constant data set, in the logarithm, the search is not continued."""
_NEAR, _MOST_NEAR = 1.0, 3
_SMOOTHING, _SMOOTHER, _FEW = 0.0014, 0.006, 150.0  # sigma^2 s^2, more of it with few users, who cost frequencies
REACH = 5.5  # frequencies up to REACH / sigma
_LOBE, _WIDER_LOBE, _RETURNS, _FAR = 6.0, 15.0, 200.0, 30.0
_ROUNDS, _OTHERS, _MORE_OF_OTHERS, _SOLVED = 3, 0.1, 0.5, 3
_REACHED, _REACHED_POOR, _DRIFT, _DRIFT_POOR = 1.5, 1.0, 2e-3, 0.05
"""How far in log delta parameters are taken over, good ones and poor ones, and by how much they may be worse there."""
_TILTS_NEAR = np.geomspace(0.5, 2.0, 9)
_GRID = 120
_BETWEEN = np.linspace(0.0, 1.0, 21)
_SCREEN = 3
_MOST_STEPS = 1e6
_CANCELLED = 1e-12  # what is left of a sum of doubles of either sign
_SOLUTIONS, _COST_RANGE = 3, 22.0


@dataclass(frozen=True, eq=False)
class Found:
    """Parameters, the logarithm of the bound they give, and that of each term, all estimated in floats.

    ``excess`` is how far ``log_value`` is above the largest divergence of a corner, ``binding`` what each corner counts
    for in the largest bound of a corner, ``saddle`` the tilt v of the worst one. A row for each term, a column for each
    corner: ``weights`` in the choice of c, ``rests`` what is beyond the main lobe, in the logarithm.
    """

    parameters: Parameters
    log_value: float
    log_terms: tuple[float, ...]
    by_corner: Floats
    excess: float
    binding: Floats
    saddle: float
    weights: Floats
    rests: Floats


def search(g: FloatClasses, n: int) -> Found | None:
    """Return good parameters, None if there are none: too few positive messages are expected."""
    with np.errstate(all="ignore"):  # what overflows is no candidate
        return _search(g, n)


def _search(g: FloatClasses, n: int) -> Found | None:
    near = saddles(g, n)
    log_size = max(_log_size(g.corner(x), n, v) for _, x, v in near)
    if not isfinite(log_size):
        return None
    are_few = _positive_messages(g, n) < _FEW_POSITIVE
    best: Found | None = None
    columns = _Columns(g, n, near, log_size)
    for share in _BAD_SHARES if are_few else (_BAD_SHARE,):
        bads = [_bad_part(g, n, v, log_size + log(share)) for _, _, v in near]
        bad = max((b for b in bads if b is not None), default=None)
        found = None if bad is None else columns.found(bad)
        if found is None:
            continue
        if best is not None and found.log_value >= best.log_value:
            break
        best = found
        if best.excess < SHARP:
            break
    if best is None or not are_few or best.excess > SHARP:
        return best
    p, factor = best.parameters, sqrt(min(_SMOOTHING * (1.0 + _FEW / n) / _SMOOTHER, 1.0))
    p = replace(p, terms=tuple(replace(t, sigma=t.sigma * factor) for t in p.terms))
    return _evaluated(g, n, p, best.weights, best.binding, best.saddle, log_size) or best


class _Columns:
    """Lines of integration with weights of the corners for c: what may become a term.

    The lines and c are the best ones for a weighted sum of the corners: first for the one with the largest divergence;
    where that is not sharp, for all alike, and for the weights with which the least sum is the least maximum. Lines are
    offered by their main lobes; those that are chosen are asked for all they cost.
    """

    def __init__(self, g: FloatClasses, n: int, near: Sequence[tuple[float, int, float]], log_size: float) -> None:
        self._g, self._n, self._near, self._log_size = g, n, near, log_size
        self._positive = _positive_messages(g, n)
        self._lines, self._rows, self._lobes = list[Term](), list[Floats](), list[Floats]()

    def found(self, bad: tuple[float, float, float]) -> Found | None:
        """Return parameters for a given (p_lo, a, b) with a small bound for the worst corner."""
        g, n, p_lo = self._g, self._n, bad[0]
        log_bads, rounds = _log_bads(g, n, p_lo, np.array([bad[1]]), bad[2])[0], 1 if self._lines else _ROUNDS
        others = _OTHERS if g.mixed or self._positive < _FEW_POSITIVE else _MORE_OF_OTHERS
        weights = np.where(np.arange(len(log_bads)) == self._near[0][1], 1.0, others)
        best: Found | None = None
        for i in range(rounds):
            if rounds > 1:
                self._offer(p_lo, weights)
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
            found = _evaluated(g, n, Parameters(*bad, terms), rows, binding, saddle, self._log_size)
            if found is not None and (best is None or found.log_value < best.log_value):
                best = found
            if best is None or best.excess < SHARP or len(log_bads) == 1:
                break
            weights = np.ones(len(log_bads)) if i == 0 else np.maximum(binding / binding.max(), _OTHERS)
        return best

    def _offer(self, p_lo: float, weights: Floats) -> None:
        g, n = self._g, self._n
        P = max((n - 1) * g.gain, p_lo)
        rates = _TWO_RATES if p_lo > _NARROW * P and self._positive > _MANY_POSITIVE else _RATES
        new = _lines(g, n, rates / P, [v for *_, v in self._near], weights)
        self._lines += new
        self._rows += [weights] * len(new)
        reach = _WIDER_LOBE if self._positive < _FEW_POSITIVE else _LOBE
        self._lobes += [_log_term(g, n, t, p_lo, weights, reach) for t in new]

    def _solved(self, p_lo: float, log_bads: Floats) -> tuple[Floats, Floats, Floats] | None:
        """Return the weights a_i, what each corner counts for, and the logarithms of the sizes of the terms."""
        costs, asked = np.array(self._lobes), set[int]()
        P, lam = max((self._n - 1) * self._g.gain, p_lo), np.array([t.lam for t in self._lines])
        for i in range(_SOLVED):
            if i == _SOLVED - 1:  # of those that were asked
                costs[[k for k in range(len(lam)) if k not in asked]] = inf
            solved = _majorant(p_lo, P, lam * P, costs, log_bads)
            if solved is None:
                return None
            a, binding = solved
            new = set(np.flatnonzero(a > 0.0).tolist()) - asked
            if self._positive > _FEW_POSITIVE or not new:
                break
            for k in new:
                costs[k] = _log_term(self._g, self._n, self._lines[k], p_lo, self._rows[k], _RETURNS)
            asked |= new
        return a, binding, np.log(a) + costs.max(axis=1)


def _evaluated(
    g: FloatClasses, n: int, p: Parameters, weights: Floats, binding: Floats, saddle: float, log_size: float
) -> Found | None:
    """Return what parameters give; None where it is beyond the range of doubles."""
    logs = np.log([[t.a] for t in p.terms])
    integrals, lobes = (
        np.array([_log_term(g, n, t, p.p_lo, row, reach) for t, row in zip(p.terms, weights, strict=True)])
        for reach in (None, _LOBE)
    )
    log_bads = _log_bads(g, n, p.p_lo, np.array([p.tilt_a]), p.tilt_b)[0]
    by_corner = np.logaddexp.reduce([log_bads, *(logs + integrals)])
    value = float(by_corner.max())
    if not isfinite(value):
        return None
    log_terms = tuple((logs + integrals).max(axis=1).tolist())
    excess = value - log_size
    return Found(p, value, log_terms, by_corner, excess, binding, saddle, weights, integrals - lobes)


def carried(found: Found, g: FloatClasses, n: int) -> Found | None:
    """Return the parameters of a level near by on lines that suit this one; None where they do not suit it.

    Their distance from the best constant data set may grow by ``_DRIFT``; p_lo and the majorant are the same.
    """
    with np.errstate(all="ignore"):
        near = saddles(g, n)
        log_size = max(_log_size(g.corner(x), n, v) for _, x, v in near)
        is_good = found.excess < SHARP
        if not abs(log_size - (found.log_value - found.excess)) < (_REACHED if is_good else _REACHED_POOR):
            return None
        p, ratio = found.parameters, near[0][2] / found.saddle
        terms = tuple(replace(t, s=t.s * ratio, sigma=t.sigma / ratio) for t in p.terms)
        tilts = p.tilt_a * _TILTS_NEAR
        rows = _log_bads(g, n, p.p_lo, tilts, ratio * p.tilt_b)
        log_bads, tilt = min(zip(rows, tilts.tolist(), strict=True), key=lambda at: float(at[0].max()))
        # The share beyond the main lobe changes little, but for laws that return to it again and again.
        reach, rests = (_LOBE, found.rests) if is_good else (None, np.zeros_like(found.rests))
        integrals = [_log_term(g, n, t, p.p_lo, row, reach) for t, row in zip(terms, found.weights, strict=True)]
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
        saddle=near[0][2],
    )


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


def _log_size(g: FloatClasses, n: int, v: float) -> float:
    """Return an estimate of log E[S_+]/n at a corner: by the saddle point, with few positive ones by an integral."""
    curvature = (n - 1) * float(g.at_corners(g.variance(v, 0.0))[0]) + 2.0 / v**2
    top = (n - 1) * float(g.at_corners(g.log_mgf(np.array([v]), np.zeros(1)))[0, 0]) - 2.0 * log(v)
    rough = top - 0.5 * log(2.0 * pi * curvature) - log(n)
    if not isfinite(rough) or _positive_messages(g, n) > _FEW_POSITIVE:
        return rough
    square = _SMOOTHING / v**2
    reach = REACH / sqrt(square)
    steps = int(min(np.ceil(2.5 * reach * sqrt(curvature)), _MOST_STEPS))
    zeta = v + 1j * np.linspace(0.0, reach, steps + 1)
    logs = np.log1p(np.einsum("uxk,xk->ux", np.expm1(zeta[:, None, None] * g.values), g.masses))
    logs = (n - 1) * g.at_corners(logs)[:, 0] + np.mean(logs, axis=1)
    terms = np.exp(logs - logs[0].real + 0.5 * square * zeta**2) / zeta**2
    value = max(float(terms.real.sum() - 0.5 * terms[0].real), _CANCELLED * float(np.abs(terms).sum()))
    return log(value * reach / (steps * pi * n)) + float(logs[0].real)


def _positive_messages(g: FloatClasses, n: int) -> float:
    """Return how many messages of the others that are likelier under x0 than under x1 there are, by their spread."""
    return (n - 1) * g.gain**2 / float((g.masses * np.maximum(g.values, 0.0) ** 2).sum(axis=1).max())


def _log_bads(g: FloatClasses, n: int, p_lo: float, tilts: Floats, b: float) -> Floats:
    """Return the logarithm of the first line of the bound at each corner, row by row for some tilts a."""
    victim = (g.masses * np.maximum(g.values, 0.0) * np.exp(b * g.values)).sum(axis=1).max()
    others = g.at_corners(g.log_mgf(np.full_like(tilts, b), tilts))
    return np.asarray((tilts * p_lo + np.log(victim))[:, None] + (n - 1) * others)


def _bad_part(g: FloatClasses, n: int, v: float, log_target: float) -> tuple[float, float, float] | None:
    """Return (p_lo, a, b) with the largest p_lo whose bad part is at most the target.

    S + v > 0 asks for p above m - v: where m is nearly certain to be large, p_lo may be many times the mean of p, with
    b far above the saddle point.
    """
    plus = np.maximum(g.values, 0.0)
    positive = _positive_messages(g, n)
    scale = positive / ((n - 1) * g.gain)
    best = (0.0, 0.0, 0.0)
    for b in v * (_WIDE_TILTS if positive < _FEW_POSITIVE else _TILTS):
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


def _lines(g: FloatClasses, n: int, rates: Floats, near: Sequence[float], weights: Floats) -> list[Term]:
    """Return for each rate the line of integration that is best for a weighted sum of the corners.

    With |M|^N taken as normal in u, the integral of |M|^N/|zeta|^2 is e^(N K) pi erfcx(s (N K''/2)^(1/2))/s.
    """
    least = 0.0 if _positive_messages(g, n) > _FEW_POSITIVE else _SMOOTHER
    smoothing = sqrt(max(_SMOOTHING * (1.0 + _FEW / n), least))
    plus = np.maximum(g.values, 0.0)
    lam = np.repeat(rates[:, None], 60, axis=1)
    s = np.geomspace(0.3 * min(near), 3.0 * (max(near) + rates), 60).T
    for points in (60, 25, 25):
        lam = lam[:, :points]
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
    return [Term(1.0, float(rate), float(x), smoothing / float(x)) for rate, x in zip(rates, best, strict=True)]


def _log_term(g: FloatClasses, n: int, term: Term, p_lo: float, weights: Floats, reach: float | None = None) -> Floats:
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
    if not 0.0 < top / width < _MOST_STEPS:
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


def _majorant(
    p_lo: float, P: float, rates: Floats, log_costs: Floats, log_bads: Floats
) -> tuple[Floats, Floats] | None:
    """Return a_i >= 0 with sum a_i e^(-lam_i p) >= 1/p^2 on a grid of p >= p_lo, of least cost at the worst corner.

    And what each corner counts for in the maximum. ``log_costs`` has a row for each rate, a column for each corner.
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
        rows = np.block([[-columns[:, usable], np.zeros((len(x), 1))], [scaled, -np.ones((len(bads), 1))]])
        ends = np.concatenate([-np.ones(len(x)), -bads])
        solution = linprog(np.append(np.zeros(len(usable)), 1.0), A_ub=rows, b_ub=ends, method="highs")
        if solution.status != 0:
            return None
        weights[:] = 0.0
        weights[usable] = np.maximum(solution.x[:-1], 0.0)
        before, whole = whole, whole + log(max(float(solution.fun), 1e-300))
        if whole > before - 0.5 * _COST_RANGE:
            break
    return weights * np.exp(units), -solution.ineqlin.marginals[len(x) :]
