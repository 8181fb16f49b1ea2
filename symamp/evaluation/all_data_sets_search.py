"""The parameters of the bound over all data sets, searched in floats: poor ones give poor bounds, never wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite, log, pi, sqrt

import numpy as np

from symamp.evaluation.all_data_sets_floats import FloatClasses, log_integrand
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
_SMOOTHING, _FEW = 0.0014, 150.0  # sigma^2 s^2, more of it with few users, who cost more frequencies
REACH = 5.5  # frequencies up to REACH / sigma
_LOBE = 6.0
_REACHED, _REACHED_POOR, _DRIFT = 1.5, 0.3, 2e-3
"""How far in log delta parameters are taken over, good ones and poor ones, and by how much they may be worse there."""
_TILTS_NEAR = np.geomspace(0.5, 2.0, 9)
_GRID = 400
_SCREEN = 3
_MOST_STEPS = 1e6
_CANCELLED = 1e-12  # what is left of a sum of doubles of either sign
_SOLUTIONS, _COST_RANGE = 3, 22.0


@dataclass(frozen=True)
class Found:
    """Parameters, the logarithm of the bound they give, and that of each term, all estimated in floats.

    ``excess`` is how far ``log_value`` is above the largest divergence of a corner, ``by_corner`` the shares of the
    bound where each corner attains the maximum inside of the integrals. ``saddle`` is the tilt v of the worst corner,
    ``rests`` what each term has beyond its main lobe, in the logarithm.
    """

    parameters: Parameters
    log_value: float
    log_terms: tuple[float, ...]
    excess: float
    by_corner: tuple[float, ...]
    saddle: float
    rests: tuple[float, ...]


def search(g: FloatClasses, n: int) -> Found | None:
    """Return good parameters, None if there are none: too few positive messages are expected."""
    with np.errstate(all="ignore"):  # what overflows is no candidate
        return _search(g, n)


def _search(g: FloatClasses, n: int) -> Found | None:
    classes = saddles(g, n)
    log_size = max(_log_size(g.corner(x), n, v) for _, x, v in classes)
    if not isfinite(log_size):
        return None
    best: Found | None = None
    for near in (classes[:1], classes) if g.corners is None and len(classes) > 1 else (classes,):
        for share in _BAD_SHARES if _positive_messages(g, n) < _FEW_POSITIVE else (_BAD_SHARE,):
            bads = [_bad_part(g, n, v, log_size + log(share)) for _, _, v in near]
            bad = max((b for b in bads if b is not None), default=None)
            found = None if bad is None else _with_bad_part(g, n, near, bad, log_size)
            if found is None:
                continue
            if best is not None and found.log_value >= best.log_value:
                break
            best = found
            if best.excess < SHARP:
                return best
    return best


def _with_bad_part(
    g: FloatClasses, n: int, near: Sequence[tuple[float, int, float]], bad: tuple[float, float, float], log_size: float
) -> Found | None:
    """Return the best parameters for a given (p_lo, a, b), on lines that suit one of the corners ``near``."""
    p_lo, tilt_a, tilt_b = bad
    P = max((n - 1) * g.gain, p_lo)
    is_narrow = p_lo > _NARROW * P and _positive_messages(g, n) > _MANY_POSITIVE
    rates = _TWO_RATES if is_narrow else _RATES
    offered = [_lines(g.corner(x), n, rates / P, v) for _, x, v in near]
    all_costs = np.array([[_log_term(g, n, t, p_lo, reach=_LOBE)[0] for t in lines] for lines in offered])
    lines = [offered[k][i] for i, k in enumerate(all_costs.argmin(axis=0))]
    costs = all_costs.min(axis=0)
    weights = _majorant(p_lo, P, rates, costs)
    if weights is None:
        return None
    whole = np.log(weights, where=weights > 0.0, out=np.full(len(weights), -np.inf)) + costs
    shares = np.exp(whole - np.logaddexp.reduce(whole))
    # A term that is a small share of the bound bears more smoothing, and needs fewer frequencies then.
    chosen = [
        Term(float(a), t.lam, t.s, t.sigma * sqrt(min(max(0.2 / share, 1.0), 200.0)))
        for a, t, share in zip(weights, lines, shares, strict=True)
        if a > 0.0
    ]
    parameters = Parameters(p_lo, tilt_a, tilt_b, tuple(chosen))
    integrals = [_log_term(g, n, t, p_lo) for t in chosen]
    log_terms = tuple(log(t.a) + integral for t, (integral, _) in zip(chosen, integrals, strict=True))
    log_bad, corner = _log_bad(g, n, p_lo, tilt_a, tilt_b)
    value = float(np.logaddexp.reduce([log_bad, *log_terms]))
    if not isfinite(value):
        return None
    by_corner = np.exp(np.array(log_terms) - value) @ np.array([share for _, share in integrals])
    by_corner[corner] += exp(log_bad - value)
    lobes = [_log_term(g, n, t, p_lo, reach=_LOBE)[0] for t in chosen]
    rests = tuple(integral - lobe for (integral, _), lobe in zip(integrals, lobes, strict=True))
    return Found(parameters, value, log_terms, value - log_size, tuple(by_corner.tolist()), near[0][2], rests)


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
        tilts = [(_log_bad(g, n, p.p_lo, a, ratio * p.tilt_b)[0], float(a)) for a in p.tilt_a * _TILTS_NEAR]
        log_bad, tilt = min(tilts)
        # The share beyond the main lobe changes little, but for laws that return to it again and again.
        reach, rests = (_LOBE, found.rests) if is_good else (None, (0.0,) * len(terms))
        integrals = [_log_term(g, n, t, p.p_lo, reach)[0] for t in terms]
        log_terms = tuple(log(t.a) + x + rest for t, x, rest in zip(terms, integrals, rests, strict=True))
        value = float(np.logaddexp.reduce([log_bad, *log_terms]))
        if not value - log_size <= found.excess + _DRIFT:
            return None
    parameters = Parameters(p.p_lo, tilt, ratio * p.tilt_b, terms)
    return Found(parameters, value, log_terms, value - log_size, found.by_corner, near[0][2], found.rests)


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
            around = np.geomspace(around[max(i - 1, 0)], around[min(i + 1, len(around) - 1)], 21)
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


def _log_bad(g: FloatClasses, n: int, p_lo: float, a: float, b: float) -> tuple[float, int]:
    victim = (g.masses * np.maximum(g.values, 0.0) * np.exp(b * g.values)).sum(axis=1).max()
    others = g.at_corners(g.log_mgf(np.array([b]), np.array([a])))[0]
    return float(a * p_lo + log(victim) + (n - 1) * others.max()), int(others.argmax())


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


def _lines(g: FloatClasses, n: int, rates: Floats, v: float) -> list[Term]:
    """Return for each rate the line of integration that is best for one corner.

    With |M|^N taken as normal in u, the integral of |M|^N/|zeta|^2 is e^(N K) pi erfcx(s (N K''/2)^(1/2))/s.
    """
    smoothing = sqrt(_SMOOTHING * (1.0 + _FEW / n))
    plus = np.maximum(g.values, 0.0)
    lam = np.repeat(rates[:, None], 60, axis=1)
    s = np.geomspace(0.3 * v, 3.0 * (v + rates), 60).T
    for points in (60, 25, 25):
        lam = lam[:, :points]
        heights = g.log_mgf(s, lam)
        x = s[..., None, None] * g.values - lam[..., None, None] * plus
        tilted = g.masses * np.exp(x - heights[..., None])
        spread = (tilted * g.values**2).sum(axis=-1) - (tilted * g.values).sum(axis=-1) ** 2
        sizes = np.einsum("...xk,xk->...x", np.exp((s - lam)[..., None, None] * plus), g.masses * plus)
        height, curvature, size = (g.at_corners(found)[..., 0] for found in (heights, (n - 1) * spread, sizes))
        value = (n - 1) * height + np.log(size * erfcx(s * np.sqrt(0.5 * np.maximum(curvature, 0.0))) / s)
        i = np.where(np.isfinite(value), value, np.inf).argmin(axis=1)
        rows = np.arange(len(rates))
        best = s[rows, i]
        s = np.geomspace(s[rows, np.maximum(i - 1, 0)], s[rows, np.minimum(i + 1, points - 1)], 25).T
    return [Term(1.0, float(rate), float(x), smoothing / float(x)) for rate, x in zip(rates, best, strict=True)]


def _log_term(g: FloatClasses, n: int, term: Term, p_lo: float, reach: float | None = None) -> tuple[float, Floats]:
    """Return log of the integral of one term with a = 1, by the trapezoidal rule, and the share of each corner.

    ``reach`` restricts it to so many widths of the main lobe: enough for choosing parameters.
    """
    variance = (n - 1) * float(g.variance(term.s, term.lam).max()) + 2.0 / term.s**2
    unusable = float("inf"), np.zeros(len(g.values))
    if not 0.0 < variance < float("inf"):  # beyond the range of doubles: such a term is not used
        return unusable
    width = 1.0 / sqrt(variance)
    top = REACH / term.sigma if reach is None else min(reach * width, REACH / term.sigma)
    if not 0.0 < top / width < _MOST_STEPS:
        return unusable
    steps = int(np.ceil(2.5 * top / width))
    u = np.linspace(0.0, top, steps + 1)
    if len(g.values) > _SCREEN and reach is None and g.corners is None:
        # Where the classes with the largest M(s) are negligible, the others are taken to be so too.
        heights = g.log_mgf(np.array([term.s]), np.array([term.lam]))[0]
        screen, _ = g.only(np.argsort(heights)[-_SCREEN:].tolist()).transforms(term.s, term.lam, term.sigma, p_lo, u)
        u = u[~((n - 1) * (screen - screen[0]) <= -30.0).all(axis=1)]  # what is beyond the range of doubles is kept
    parts = [
        log_integrand(g, *g.transforms(term.s, term.lam, term.sigma, p_lo, part), n)
        for part in np.array_split(u, max(1, len(u) * g.values.size // 200_000))
    ]
    value = np.concatenate([found for found, _ in parts])
    value += 0.5 * term.sigma**2 * (term.s**2 - u * u) - np.log(term.s**2 + u * u)
    peak = float(value.max())
    if not isfinite(peak):
        return unusable
    sizes = np.exp(value - peak)
    corners = np.bincount(np.concatenate([at for _, at in parts]), weights=sizes, minlength=len(g.values))
    # Twice the half line: the integrand is even.
    return peak + log((sizes.sum() - 0.5 * sizes[0]) * (top / steps) / pi), corners / sizes.sum()


def _majorant(p_lo: float, P: float, rates: Floats, log_costs: Floats) -> Floats | None:
    """Return a_i >= 0 with sum a_i e^(-lam_i p) >= 1/p^2 on a grid of p >= p_lo, of least total cost."""
    top = 4.0 * P + 2.0 * p_lo
    # Denser near p_lo, where the steepest exponentials bend.
    x = np.append(p_lo * (top / p_lo) ** (np.linspace(0.0, 1.0, _GRID) ** 1.5), 1.5 * top) / P
    log_columns = 2.0 * np.log(x)[:, None] - np.outer(x - 1.0, rates)
    largest = log_columns.max(axis=0)  # of x^2 e^(-lam (x - 1)), so that every column has maximum 1
    columns = np.exp(log_columns - largest)
    columns[-1, 1:] = 0.0  # beyond the grid the constant term alone
    cost = log_costs - largest + rates
    usable = np.isfinite(cost) & (cost < np.min(cost[np.isfinite(cost)], initial=np.inf) + 200.0)
    if not usable[0]:
        return None
    weights = np.zeros(len(rates))
    whole = float(cost[0])
    for _ in range(_SOLUTIONS):
        # Solvers fail where costs differ by too many powers of ten: what is negligible need not be less than that.
        scaled = np.exp(np.clip(cost[usable] - whole, -_COST_RANGE, _COST_RANGE))
        solution = linprog(scaled, A_ub=-columns[:, usable], b_ub=-np.ones(len(x)), method="highs")
        if solution.status != 0:
            return None
        weights[usable] = np.maximum(solution.x, 0.0)
        before, whole = whole, whole + log(max(float(solution.fun), 1e-300))
        if whole > before - 0.5 * _COST_RANGE:
            break
    # x^2 sum w_i e^(-rate_i (x-1) - largest_i) >= 1 with x = p/P
    a = weights * np.exp(rates - largest) / P**2
    return np.asarray(a)
