"""All ordered pairs of rows of a table at once: which are worst, and which are proved to lie below a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, floor, inf, log
from typing import TypeAlias

import numpy as np
from flint import acb, arb, arb_mat, fmpq
from numpy.typing import NDArray

from symamp.bounds.bound import (
    Evidence,
    MaxOverPairs,
    MaxOverSearchedPairs,
    PairBound,
    Progress,
    evaluated,
    sharp_enough,
)
from symamp.decompositions.blanket import table_blanket
from symamp.decompositions.numeric_table import Floats, NumericTable
from symamp.decompositions.pairs import distinct_pairs
from symamp.decompositions.to_law import law_of
from symamp.errors import PrecisionError, Problem
from symamp.laws.law import Law, Level, float_gparv
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.limits import FREQUENCY, RANKING, TRIPLES, Limits
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import FLINT
from symamp.sums.all_data_sets.floats import Booleans, Parameters
from symamp.sums.all_data_sets.moments import bounds_by_moments, rough_bounds
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.inversion import log_of_ball
from symamp.sums.kernels.balls import power
from symamp.sums.kernels.floats import float_sum
from symamp.sums.kernels.kernel import Kernel
from symamp.sums.kernels.tilted import Plan

# ------------------------- What trades time against width: any values are valid. Chosen by the tables of tests/golden

FEW_INPUTS, FEW_ENTRIES = 6, 256
"""Up to this size every pair is estimated by itself. Rankings are quicker, but for few users not to be trusted."""
ESTIMATED = 8
"""How many of a ranking are estimated one by one. Of 89 random tables the worst was among these for 86."""
_ALIKE = 0.01
"""Levels within about this relative distance share rankings over the inputs of other users."""
_MOST_HIDING, _FAR_BEHIND = 100, 0.5
"""Up to this many inputs each is tried for the other users; of more, those with the largest chi-square. And how far, in
the logarithm, the worst data set may be above all with another input for that to be left out."""
_AROUND, _MOST_TILTS = 4.0, 33
"""Tilts are sought this many octaves beyond the saddle points of normal laws, half an octave apart if they are few."""
_NEAR_THE_WORST, _SMALL = 2.0, -2.0
"""And this many octaves about the tilt of the worst pair, once one is known, unless the worst is at their end, or its
log D is above the second."""
_LEAST_SHARE = 0.1
"""Of the pairs, those whose rows differ least: their saddle points are not looked for."""
_KERNEL_GAP, _MOST_FREQUENCIES, _MOST_TERMS = 0.05, 400, 10_000
"""The gap of bounds on many pairs at once. With more terms than that, one pair by itself rules out most others."""
_MOST, _MOST_UNITS, _FEW = 30_000_000, 4.0, 20
"""Triples (pair, x, y) that take seconds; above how many units cells of frequencies make no bound less than one; and
for how many pairs they take no longer than without."""

# ----------------------- The range in which doubles, with their error bounds, are of use: beyond it nothing is returned

_EXPONENTIALS = 20
"""How many terms of a product of matrices take the time of the exponentials of an entry."""
_ROUNDINGS = 2.0**-50
_TINY = arb(2) ** -60
_SMALLEST, _LARGEST = 1e-100, 1e100
_LEAST_ENTRY, _LARGEST_E = 1e-200, 1e12


def is_small(table: NumericTable) -> bool:
    """Return whether every pair of rows of a table is estimated by itself, without any ranking."""
    return len(table.inputs) <= FEW_INPUTS and len(table.inputs) * len(table.messages) <= FEW_ENTRIES


# --- Which pairs of rows of a table are worst: a saddle-point score of all of them at once, in doubles. Not a bound


def chi_squares(rows: Floats, hidden: Floats) -> Floats:
    """Return sum over messages of (R(i) - R(j))^2/A2 for all pairs, over the messages where A2 has mass.

    >>> chi_squares(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0.25, 0.25]))[0, 1]
    np.float64(2.0)
    """
    seen = hidden > 0.0
    scaled = rows[:, seen] / np.sqrt(hidden[seen])
    # Centred: differences of rows that are nearly equal must not cancel.
    scaled = scaled - scaled.mean(axis=0)
    gram = scaled @ scaled.T
    norms = np.diagonal(gram)
    return np.asarray(np.maximum(norms[:, None] + norms[None, :] - 2.0 * gram, 0.0))


def excesses(rows: Floats, e: float) -> Floats:
    """Return sum over messages of (R(i) - E R(j))_+ for all pairs: the divergence of one user, for any blanket.

    >>> excesses(np.array([[0.75, 0.25], [0.25, 0.75]]), 1.0).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    if not rows.shape[1]:
        return np.zeros((len(rows), len(rows)))
    return np.array([np.maximum(row - e * rows, 0.0).sum(axis=1) for row in rows])


def log_divergences(rows: Floats, hidden: Floats, e_minus_one: float, n: int) -> Floats:
    """Return an estimate of log D_E at n users for all ordered pairs of rows, -inf on the diagonal.

    By saddle points on a grid of tilts that all pairs share: each costs one product of matrices. No divergence is above
    that of one user.
    """
    return _log_divergences(rows, hidden, e_minus_one, n, excesses(rows, 1.0 + e_minus_one))[0]


def _log_divergences(
    rows: Floats, hidden: Floats, e_minus_one: float, n: int, alone: Floats, enough: tuple[float, float] | None = None
) -> tuple[Floats, Floats]:
    """Return the same with the tilts; ``alone`` are the ``excesses`` of the rows.

    Where no estimate is above the second of ``enough``, as is seen at the first, a tilt, nearly nothing is done.
    """
    with np.errstate(all="ignore"):
        score, tilt = np.log(alone), np.zeros_like(alone)
        asked = np.ones(score.shape, dtype=np.bool_)
        if n > 1:
            lone = np.log(excesses(rows[:, hidden <= 0.0], 1.0 + e_minus_one))
            if enough is not None:
                highest = n * log_moments(rows, hidden, e_minus_one, enough[0]) - 1.0 - np.log(n * enough[0])
                score = np.minimum(score, np.logaddexp(highest, lone))
                asked = score > enough[1]
                if not asked.any():
                    return np.full_like(alone, -np.inf), tilt
            worst = enough[0] if enough is not None and enough[1] < _SMALL else None
            sums, tilt = _log_sums(rows, hidden, e_minus_one, n, asked, worst)
            score = np.minimum(score, np.logaddexp(sums - np.log(n), lone))
    np.fill_diagonal(score, -np.inf)
    return np.asarray(np.where(np.isnan(score), -np.inf, score)), tilt


def _log_sums(
    rows: Floats, hidden: Floats, e_minus_one: float, n: int, asked: Booleans, worst: float | None = None
) -> tuple[Floats, Floats]:
    """Return the saddle-point estimate of log E[S_+] for the pairs that are asked: a parabola in log theta.

    And the tilts theta. Other pairs may have more than their own, as with about the tilt of the ``worst`` pair.
    """
    squares = chi_squares(rows, hidden)
    grid = tilts(e_minus_one, n, squares)
    if worst is not None:
        grid = grid[np.abs(np.log2(grid / worst)) <= _NEAR_THE_WORST]
    best, before, after, tilt = (np.full(squares.shape, np.inf) for _ in range(4))
    last, is_last = best, np.zeros(squares.shape, dtype=np.bool_)
    for theta in grid:
        height = n * log_moments(rows, hidden, e_minus_one, theta) - 2.0 * np.log(theta)
        height[np.isnan(height)] = np.inf
        after[is_last] = height[is_last]
        is_last = height < best
        if not (is_last & asked).any():  # log M is convex: what has begun to rise rises on
            break
        before[is_last], best[is_last], after[is_last], tilt[is_last] = last[is_last], height[is_last], np.inf, theta
        last = height
    bend, slope = before + after - 2.0 * best, 0.5 * (after - before)
    inside = np.isfinite(bend) & (bend > 0.0)
    height = np.where(inside, best - 0.5 * slope**2 / bend, best)
    step = float(np.log(grid[1] / grid[0])) if len(grid) > 1 else 1.0
    # n theta^2 K'' + 2, the bend in log theta, is at least 2.
    bend = np.where(inside, np.maximum(bend / step**2, 2.0), 2.0)
    found = np.where(squares > 0.0, height + np.log(tilt) - 0.5 * np.log(2.0 * np.pi * bend), -np.inf)
    at = np.where(asked, found, -np.inf).argmax()
    if worst is not None and (not len(grid) or tilt.flat[at] in (grid[0], grid[-1])):
        return _log_sums(rows, hidden, e_minus_one, n, asked)
    return np.asarray(found), tilt


def tilts(e_minus_one: float, n: int, squares: Floats) -> Floats:
    """Return a grid of tilts around the saddle points of normal laws with these variances, in geometric progression.

    >>> tilts(0.0, 800, np.array([[0.0, 1.0], [1.0, 0.0]]))[[0, 8, 16]].round(9).tolist()
    [0.003125, 0.05, 0.8]
    """
    known = squares[squares > 0.0]
    if not known.size:
        return np.empty(0)
    square = np.array([known.max(), np.quantile(known, _LEAST_SHARE)])
    low, high = np.log2((e_minus_one + np.sqrt(e_minus_one**2 + 8.0 * square / n)) / (2.0 * square))
    octaves = high - low + 2.0 * _AROUND
    return np.exp2(np.linspace(low - _AROUND, high + _AROUND, min(round(2.0 * octaves) + 1, _MOST_TILTS)))


def log_moments(rows: Floats, hidden: Floats, e_minus_one: float, theta: float) -> Floats:
    """Return log E e^(theta G) for all ordered pairs: e^(theta r0) e^(-theta E r1) is a product of matrices.

    Built from e^x - 1, so that nothing of the small logarithm cancels before n multiplies it, but for large tilts,
    where the terms of e^x - 1 would cancel themselves. What overflows is nan or inf.
    """
    seen = hidden > 0.0
    weights, ratios = hidden[seen], theta * rows[:, seen] / hidden[seen]
    with np.errstate(all="ignore"):
        up, down = np.expm1(ratios), np.expm1(-(1.0 + e_minus_one) * ratios)
        grown = up @ weights
        small = grown < 1.0
        found = np.empty((len(rows), len(rows)))
        if small.any():
            found[small] = np.log1p((up[small] * weights) @ down.T + grown[small, None] + (down @ weights)[None, :])
        if not small.all():
            rest = max(1.0 - float(weights.sum()), 0.0)
            found[~small] = np.log((weights * np.exp(ratios[~small])) @ np.exp(-(1.0 + e_minus_one) * ratios).T + rest)
        return found


def ranking_work(table: NumericTable) -> float:
    """Return the work of one ranking of all pairs of rows."""
    return RANKING.of(table.floats.size * (len(table.inputs) + _EXPONENTIALS))


def best(scores: Floats, most: int, within: float = inf) -> list[tuple[int, int]]:
    """Return the positions of the largest entries, largest first, ``within`` so much of the first; without -inf."""
    flat = scores.ravel()
    some = np.argpartition(-flat, most)[:most] if most < flat.size else np.arange(flat.size)
    order = some[np.argsort(-flat[some], kind="stable")]
    least = flat[order[0]] - within
    return [(int(i // len(scores)), int(i % len(scores))) for i in order if flat[i] > -np.inf and flat[i] >= least]


def worst_triples(table: NumericTable, level: Level, n: int, most: int) -> list[tuple[int, int, int]]:
    """Return triples (x0, x1, x*) of rows with a large divergence of (x0, x*, ...) against (x1, x*, ...), by estimates.

    At most ``ESTIMATED`` of them.

    >>> import symamp as sa
    >>> [found] = worst_triples(sa.RandomizedResponse(k=3, eps0=1).table().numeric, Level.of_float(0.01), 1000, 1)
    >>> sorted(found)
    [0, 1, 2]
    """
    _, found = _hidden_by_one(table, _near_by(level), n)
    return found[:most] or [(i, j, i) for i, j in table.pairs[:1]]


def work_of_triples(table: NumericTable) -> float:
    """Return the work of ranking all triples."""
    return len(_hiding(table)) * ranking_work(table)


def badly_hidden(table: NumericTable, level: Level, n: int) -> Floats:
    """Return estimates of the largest log D of each ordered pair of rows where all others hold the same input.

    >>> import symamp as sa
    >>> table = sa.RandomizedResponse(k=3, eps0=1).table().numeric
    >>> badly_hidden(table, Level.of_float(0.01), 1000)[0].round(1).tolist()
    [-inf, -4.7, -4.7]
    """
    return _hidden_by_one(table, _near_by(level), n)[0]


def positive_messages(table: NumericTable, level: Level, n: int) -> float:
    """Return about how many messages tell the inputs of a bad pair apart where others hold what hides it worst."""
    asked = best(_hidden_by_one(table, _near_by(level), n)[0], ESTIMATED) or table.pairs[:1]
    first, second = (table.floats[list(rows)] for rows in zip(*asked, strict=True))
    excess = np.maximum(first - _e(level) * second, 0.0)
    with np.errstate(all="ignore"):
        squares = np.where(excess > 0.0, excess * excess / table.floats[:, None, :], 0.0).sum(axis=2).max(axis=0)
        return float(((n - 1) * excess.sum(axis=1) ** 2 / squares).min())


@lru_cache(maxsize=8)
def _hidden_by_one(table: NumericTable, minus_one: float, n: int) -> tuple[Floats, list[tuple[int, int, int]]]:
    """Return the largest estimates of log D over the inputs x* of all others, and the worst triples."""
    rows, found = table.floats, list[tuple[float, tuple[int, int, int]]]()
    alone, largest = excesses(rows, 1.0 + minus_one), np.full((len(rows), len(rows)), -np.inf)
    enough: tuple[float, float] | None = None
    for other in _hiding(table):
        scores, tilt = _log_divergences(rows, rows[other], minus_one, n, alone, enough)
        scores = np.where(table.admissible, scores, -np.inf)
        np.maximum(largest, scores, out=largest)
        at = np.unravel_index(scores.argmax(), scores.shape)
        if scores[at] > (-inf if enough is None else enough[1] + _FAR_BEHIND) and 0.0 < tilt[at] < inf:
            enough = float(tilt[at]), float(scores[at]) - _FAR_BEHIND
        # A tie goes to an input outside the pair: that is the data set that papers name.
        found += [(scores[i, j] - 1e-9 * (other in (i, j)), (i, j, other)) for i, j in best(scores, ESTIMATED)]
    found.sort(key=lambda item: (-item[0], item[1]))
    return largest, [triple for _, triple in found[:ESTIMATED]]


def _near_by(level: Level) -> float:
    """Return E - 1 or a little less, as levels near by share it: above it there may be nothing to rank."""
    minus_one = level.rough_minus_one()
    return exp(_ALIKE * floor(log(minus_one) / _ALIKE)) if 0.0 < minus_one < inf else minus_one


@lru_cache(maxsize=8)
def _hiding(table: NumericTable) -> list[int]:
    rows = table.floats
    with np.errstate(all="ignore"):
        largest = [float(chi_squares(rows, row).max()) for row in rows]
    order: list[int] = np.argsort(largest)[::-1].tolist()
    return order if len(order) <= _MOST_HIDING else order[: _MOST_HIDING // 4]


def most_revealing(table: NumericTable) -> list[tuple[int, int]]:
    """Return the pairs where x0 has most mass on messages that x1 never sends: there others at x1 hide nothing."""
    never = table.floats == 0.0
    masses = table.floats @ never.T
    return best(np.where((masses > 0.0) & table.admissible, masses, -np.inf), 2)


# --------- Upper bounds for many pairs of rows of a table at once: one plan, one product of matrices for each frequency

Pair = tuple[int, int]


def kernel_bounds(
    table: NumericTable, level: Level, n: int, pairs: Sequence[Pair], plan: Plan, progress: Progress | None = None
) -> list[arb]:
    """Return an upper bound on E[S_+]/n for the blanket of each pair, as balls at the ambient precision.

    Guarantee
    ---------
    Every upper end is at least E[S_+]/n of its pair. Proof: docs/proofs/all_pairs.md.
    """
    theta, w = arb(plan.window.theta), arb(plan.window.length)
    kernel = Kernel(FLINT, theta, w, plan.terms)
    moments = _Moments(table, level, theta, kernel.step, pairs)
    scale = moments.at_zero
    sums = [kernel.at_zero()[1] / 2 for _ in pairs]
    for j in range(1, plan.terms):
        if progress is not None:
            progress(j, plan.terms)
        _, weight = kernel.at(kernel.step * j)
        for i, moment in enumerate(moments.following()):
            sums[i] += (weight * power(moment / scale[i], n)).real
    return [2 / w * value.max(arb(0)) * z**n / n for value, z in zip(sums, scale, strict=True)]


class _Moments:
    """M(theta + i j h) of all pairs, j = 1, 2, ... in turn, and M(theta)."""

    def __init__(self, table: NumericTable, level: Level, theta: arb, step: arb, pairs: Sequence[Pair]) -> None:
        e = level.exponential()
        seen = [y for y, r in enumerate(table.least) if not table.is_null(int(r))]
        hidden = [table.ball(int(table.least[y])) for y in seen]
        firsts, seconds = (sorted(set(side)) for side in zip(*pairs, strict=True))
        self._places = [(firsts.index(i), seconds.index(j)) for i, j in pairs]
        up, self._up_turn = _side(table, firsts, seen, hidden, theta, step)
        down, self._down_turn = _side(table, seconds, seen, hidden, -theta * e, -step * e)
        self._up = up * np.array([float(m) for m in hidden])
        self._down = down
        self._powers = [np.ones_like(self._up_turn), np.ones_like(self._down_turn)]
        self._j, self._messages = 0, len(seen)
        self._missing = (1 - sum(hidden, arb(0))).max(arb(0))
        # The same product without a turn: positive terms, so that its roundings are relative.
        whole = self._up @ self._down.T
        relative = arb(0, (2 * self._messages + 64) * _ROUNDINGS)
        # What is below the smallest size counts as 0: no term then is off by more than that size times ``up``.
        lost = _SMALLEST * (1.0 + 1.01 * self._up.sum(axis=1))
        self._lost = [float(lost[i]) for i, _ in self._places]
        self._sizes = [
            arb(float(whole[place])) * (1 + relative) + arb(0, lost)
            for place, lost in zip(self._places, self._lost, strict=True)
        ]
        self.at_zero = [size + self._missing for size in self._sizes]

    def following(self) -> list[acb]:
        """Return balls around the moments at the next frequency."""
        self._j += 1
        for k, turn in enumerate((self._up_turn, self._down_turn)):
            self._powers[k] = self._powers[k] * turn
        a, b = self._up * self._powers[0], self._down * self._powers[1]
        # Four real products: nothing is assumed of how a library multiplies complex matrices.
        real = a.real @ b.real.T - a.imag @ b.imag.T
        imaginary = a.real @ b.imag.T + a.imag @ b.real.T
        share = arb((4 * self._j + 4 * self._messages + 64) * _ROUNDINGS)
        found = []
        for place, size, lost in zip(self._places, self._sizes, self._lost, strict=True):
            radius = (size * share).upper() + lost
            found.append(
                acb(
                    arb(float(real[place])) + self._missing + arb(0, float(radius) * 1.01),
                    arb(float(imaginary[place])) + arb(0, float(radius) * 1.01),
                )
            )
        return found


def _side(
    table: NumericTable, rows: Sequence[int], seen: Sequence[int], hidden: Sequence[arb], tilt: arb, turn: arb
) -> tuple[Floats, NDArray[np.complex128]]:
    """Return e^(tilt r) and e^(i turn r) for some rows, each the double next to the exact number."""
    sizes, turns = [], []
    for x in rows:
        ratios = [table.ball(int(table.ranks[x, y])) / m for y, m in zip(seen, hidden, strict=True)]
        grown = [(tilt * r).exp() for r in ratios]
        circle = [(turn * r).sin_cos() for r in ratios]
        if any(g.rel_accuracy_bits() < 60 for g in grown) or any(s.rad() > _TINY for s, _ in circle):
            wrong = Problem("entries have less than 60 bits at this precision")
            raise PrecisionError("table", wrong, "take a higher one")
        if not all(g < _LARGEST for g in grown):
            raise PrecisionError("table", Problem("moments are beyond 1e100"), "take a smaller tilt")
        sizes.append([float(g) if g > _SMALLEST else 0.0 for g in grown])
        turns.append([complex(float(c), float(s)) for s, c in circle])
    return np.array(sizes), np.array(turns)


# ------------- All ordered pairs of rows of a table at once: which are worst, and which are proved to lie below a bound

IN_COMMON = "all pairs at once"
"""The evaluator of what sums for many pairs of rows prove."""


def badly_blanketed(table: NumericTable, level: Level, n: int) -> Floats:
    """Return estimates of log D of the blanket of each ordered pair of rows, in doubles."""
    scores = log_divergences(table.floats, table.least_floats, level.rough_minus_one(), n)
    return np.where(table.admissible, scores, -np.inf)


def open_pairs(table: NumericTable, level: Level, n: int, bound: arb, theta: float | None = None) -> list[Pair]:
    """Return the compared pairs of rows that are not proved to have a divergence of at most ``bound`` by their blanket.

    One tilt serves all of them. Pairs near the worst stay open.

    Guarantee
    ---------
    Every ordered pair of rows that are compared and not returned has D_E <= ``bound`` at n users.
    Proof: docs/proofs/all_pairs.md.
    """
    theta = theta or common_tilt(table, level, n, bound)
    if theta is None:
        return table.pairs
    with at_precision(128 + 2 * n.bit_length()):
        moments, missing = _moments(table, level, arb(theta))
        factor = n * theta * arb(1).exp()
        lone = singular_above(table, level)
        common = _root(bound * factor, n)
        closed = [
            [m + missing <= (_root((bound - s) * factor, n) if s else common) for m, s in zip(row, parts, strict=True)]
            for row, parts in zip(moments.tolist(), lone.tolist(), strict=True)
        ]
    return [(int(i), int(j)) for i, j in np.argwhere(table.admissible & ~np.array(closed, dtype=np.bool_))]


def narrowed(
    table: NumericTable,
    level: Level,
    n: int,
    bound: arb,
    pairs: list[Pair],
    worst: Law,
    limits: Limits,
    progress: Progress | None = None,
) -> dict[Pair, arb]:
    """Return those of the pairs that are still not proved to have a divergence of at most ``bound``, with what is.

    The divergence of one user alone is tried first, as it bounds that of n; then the compact kernel with the plan that
    suits ``worst``, the law of one of the worst pairs; ``progress`` is called with (done, all) of its terms.

    Guarantee
    ---------
    Every pair has D_E of at most its number at n users, and of at most ``bound`` if it is left out.
    Proof: docs/proofs/all_pairs.md.
    """
    if not pairs:
        return {}
    alone = excesses(table.floats, _e(level)) + _room(table)
    left = {pair: one for pair in pairs if not (one := arb(float(alone[pair]))) <= bound}
    rough = float_gparv(worst, level)
    if n == 1 or not left or not rough.is_positive:
        return left
    with at_precision(128 + 2 * n.bit_length()):
        plan = float_sum(rough, n, _KERNEL_GAP, _MOST_FREQUENCIES).plan
        if plan.terms > _MOST_TERMS:  # one pair by itself leaves most of them out
            return left
        limits.charge(plan.terms * FREQUENCY.of(len(left)))
        try:
            bounds = kernel_bounds(table, level, n, list(left), plan, progress)
        except PrecisionError:  # then each pair is evaluated by itself
            return left
        lone = singular_above(table, level)
        known = {pair: (value.upper() + float(lone[pair])).upper() for pair, value in zip(left, bounds, strict=True)}
        return {
            pair: value if value < left[pair] else left[pair] for pair, value in known.items() if not value <= bound
        }


def _root(x: arb, n: int) -> arb:
    """Return a number whose n-th power is at most x, for the comparison with moments; -1 if there is none."""
    return (x.log() / n).exp().lower() if x > 0 else arb(-1)


def _moments(table: NumericTable, level: Level, theta: arb) -> tuple[arb_mat, arb]:
    """Return sum over y of m(y) e^(theta (r0 - E r1)) for all pairs, and the mass of the null symbol."""
    e = level.exponential()
    hidden = [table.ball(int(r)) for r in table.least]
    seen = [y for y, r in enumerate(table.least) if not table.is_null(int(r))]
    up, down = [], []
    for x in range(len(table.inputs)):
        ratios = [theta * table.ball(int(table.ranks[x, y])) / hidden[y] for y in seen]
        up.append([hidden[y] * r.exp() for y, r in zip(seen, ratios, strict=True)])
        down.append([(-e * r).exp() for r in ratios])
    missing = 1 - sum((hidden[y] for y in seen), arb(0))
    return arb_mat(up) * arb_mat(down).transpose(), missing.max(arb(0))


def singular_above(table: NumericTable, level: Level) -> Floats:
    """Return upper bounds on the singular parts: sums of doubles with room for all their roundings."""
    alone = table.floats[:, [table.is_null(int(r)) for r in table.least]]
    found = excesses(alone, _e(level)) + _room(table)
    # A row that is 0 wherever the blanket is has no singular part at all.
    return np.asarray(np.where(np.any(alone > 0.0, axis=1, keepdims=True), found, 0.0))


def common_tilt(table: NumericTable, level: Level, n: int, bound: arb) -> float | None:
    """Return a tilt at which many pairs are closed, by doubles; None if it closes none."""
    minus_one, log_bound = level.rough_minus_one(), log_of_ball(bound)
    rows, hidden = table.floats, table.least_floats
    grid = tilts(minus_one, n, chi_squares(rows, hidden))
    found: dict[float, int] = {}
    for factors in (np.ones(1), np.exp2(np.linspace(-0.4, 0.4, 5))):
        for theta in np.outer(factors, max(found, key=found.__getitem__) if found else grid).ravel():
            logs = n * log_moments(rows, hidden, minus_one, theta) - 1.0 - np.log(n * theta)
            found[float(theta)] = int((logs <= log_bound).sum())
    theta = max(found, key=found.__getitem__, default=0.0)
    return theta if found and found[theta] > 0 else None


def _room(table: NumericTable) -> float:
    """Return more than the roundings of one user's divergence: terms that are not 0 are as large as a few entries."""
    return float((len(table.messages) + 8) * 2.0**-50)


def _e(level: Level) -> float:
    return 1.0 + level.rough_minus_one()


# --------- All data sets for many pairs of rows of a table at once: what moments alone prove (docs/proofs/all_pairs.md)


def common_bounds(
    table: NumericTable,
    level: Level,
    n: int,
    pairs: Sequence[Pair],
    of: tuple[Pair, Parameters] | None,
    log_unit: float,
    limits: Limits,
) -> Floats:
    """Return upper bounds on the divergence of pairs of rows for every data set, in units of e^log_unit; nan for none.

    ``of`` is a pair with its parameters of the bound over all data sets: the majorant, which must be proved, the tilts
    of the bad part, and the lines of its terms; None for rough bounds.

    Guarantee
    ---------
    Every pair has at most this divergence at n users, whatever inputs the others hold. Proof: docs/proofs/all_pairs.md.
    """
    minus_one, rows = level.rough_minus_one(), table.floats
    tiny = (rows < _LEAST_ENTRY) & ((table.ranks > 0) | (not table.is_null(0)))
    found = np.full(len(pairs), np.nan)
    if n < 2 or minus_one > _LARGEST_E or tiny.any() or len(pairs) * rows.size > _MOST:
        return found

    def asked(some: Sequence[Pair]) -> tuple[tuple[Floats, Floats], Floats]:
        first, second = (rows[list(side)] for side in zip(*some, strict=True))
        return (first, second), np.full((len(some), 1), 1.0 + minus_one)

    if of is None:
        limits.charge(TRIPLES.of(len(pairs) * rows.size))
        return rough_bounds(rows, *asked(pairs), n, log_unit)
    worst, parameters = of
    for has_cells, share in ((False, 1), (True, 4))[len(pairs) <= _FEW :]:
        # What rougher ones show to be at most 1 unit, or very many, is not looked at again.
        left = np.flatnonzero(~((found <= 1.0) | (found >= _MOST_UNITS))).tolist()
        if left:
            limits.charge(TRIPLES.of(len(left) * rows.size * (3 + len(parameters.terms)) * share))
            some = [worst, *(pairs[k] for k in left)]
            found[left] = bounds_by_moments(rows, *asked(some), n, parameters, log_unit, has_cells)[1:]
    return found


# ---------------- The largest divergence over all pairs of rows: the worst one evaluated, the others ruled out together


Closer: TypeAlias = Callable[[PairBound | None, Level, int, arb, list[Pair], Limits], list[Pair]]
"""Returns those of some pairs that it does not prove to lie below a bound, given the worst part; roughly without it."""
Ranking: TypeAlias = Callable[[NumericTable, Level, int], Floats]
"""Returns estimates of the logarithms of the divergences of all ordered pairs, -inf for those that do not count."""
Groups: TypeAlias = Callable[[NumericTable, Sequence[Pair]], list[list[Pair]]]

_BEHIND = 0.1
"""Pairs whose estimates are further behind the worst one, in the logarithm, are left to the certified evaluation."""
_RULING_OUT = 6
"""The work of ruling out pairs by one tilt and putting the rest in order, in rankings."""


@dataclass(frozen=True)
class MaxOverRows(MaxOverSearchedPairs):
    """A bound over all compared pairs of rows of a table, whose parts are made when they are needed.

    ``part`` makes the part of a pair of rows; its divergence must be at most that of the blanket of the pair, since
    pairs are ranked and ruled out by their blankets. ``groups`` puts pairs in groups with the same divergence of their
    parts: those with equal blankets, unless the part is another bound. ``closer`` rules out more pairs at once.
    ``ranking`` proposes pairs: by their blankets, unless the part is another bound. ``progress`` is called with how
    many ordered pairs are ruled out, and with how many there are.
    """

    table: NumericTable
    part: Callable[[Pair], PairBound]
    progress: Progress | None = None
    groups: Groups = distinct_pairs
    closer: Closer | None = None
    ranking: Ranking = badly_blanketed

    def watched(self, progress: Progress) -> MaxOverRows:
        return replace(self, progress=progress)

    @property
    def searched_table(self) -> NumericTable:
        return self.table

    @property
    def _every(self) -> int:
        size = len(self.table.inputs)
        return size * (size - 1)

    @property  # type: ignore[misc]
    def parts(self) -> tuple[PairBound, ...]:
        """One part for each class of pairs: all of them, which may be many."""
        return tuple(self.part(group[0]) for group in self.groups(self.table, self.table.pairs))

    def proposed(self, level: Level, n: int, settings: Settings) -> Sequence[PairBound]:
        if is_small(self.table):
            return self.parts
        settings.limits.charge(ranking_work(self.table))
        found = best(self.ranking(self.table, level, n), ESTIMATED, _BEHIND) or self.table.pairs[:1]
        return [self.part(group[0]) for group in self.groups(self.table, found)]

    def root(
        self, n: int, log_delta: float, settings: Settings, start: float | None = None, first: PairBound | None = None
    ) -> tuple[float, PairBound]:
        if is_small(self.table):
            return MaxOverPairs.of(self.parts).root(n, log_delta, settings, start, first)
        return super().root(n, log_delta, settings, start, first)

    def own(self, part: PairBound | None) -> PairBound | None:
        return None if part is None else self.part(self._rows(part))

    def _rows(self, part: PairBound) -> Pair:
        return self.table.inputs.index(part.pair[0]), self.table.inputs.index(part.pair[1])

    def evidence(
        self,
        level: Level,
        n: int,
        settings: Settings,
        goal: fmpq | None = None,
        first: PairBound | Evidence | None = None,
        known: Iterable[Evidence] = (),
    ) -> tuple[Evidence, ...]:
        """Return certified evaluations whose largest upper end bounds the divergence of every pair at this level.

        Pairs that are proved to lie below the goal, or below what is already found, leave no evidence. With a ``goal``
        the search ends at the first evaluation that is not proved to be at most the goal. ``known`` ones are not used.

        Guarantee
        ---------
        Every ordered pair of inputs that are compared has a divergence of at most the largest ``upper`` of the result,
        or of the goal if that is larger, unless the last of them is above the goal. Proof: docs/proofs/all_pairs.md.
        """
        limits = settings.limits
        found = [evaluated(first or self.ranked(level, n, settings)[0], level, n, settings)]
        if goal is not None and not found[0].is_at_most(goal):
            return tuple(found)
        limit: fmpq | Dyadic = found[0].upper if goal is None else goal
        groups, in_common = self._others(level, n, limit, found[0].part, limits)
        every, report, closer = self._every, self.progress or _no_progress, self.closer
        while groups:
            report(every - len(groups), every)
            if limits.is_spent():
                pair = max((group[0] for group in groups), key=in_common.__getitem__)
                found.append(Evidence.of(self.part(pair), level, Enclosure(arb(0), in_common[pair], IN_COMMON, 256)))
                break
            group = groups.pop(0)
            part = self.part(group[0])
            tried = sharp_enough(part, level, n, limit, settings)
            if not tried.is_at_most(limit):
                found.append(tried)
                if goal is not None:
                    break
                limit = tried.upper
            if closer is not None and groups:  # parameters of this one may suit some of the others better
                left = set(closer(part, level, n, _ball(limit), [group[0] for group in groups], limits))
                closer = closer if len(left) < len(groups) else None
                groups = [group for group in groups if group[0] in left]
        report(every, every)
        return tuple(sorted(found, key=lambda e: e.upper, reverse=True) if goal is None else found)

    def _others(
        self, level: Level, n: int, limit: fmpq | Dyadic, worst: PairBound, limits: Limits
    ) -> tuple[list[list[Pair]], dict[Pair, arb]]:
        """Return what no common bound rules out, worst first, in groups of which one stands for all, and these bounds.

        Guarantee
        ---------
        No part of one of these pairs has a divergence above its bound. Proof: docs/proofs/all_pairs.md.
        """
        first = self._rows(worst)
        every, report = self._every, self.progress or _no_progress
        report(0, every)
        with at_precision(256):
            ball = _ball(limit)
            limits.charge(_RULING_OUT * ranking_work(self.table))
            left = open_pairs(self.table, level, n, ball)
            if self.closer is not None and left:
                left = self.closer(None, level, n, ball, left, limits)
            groups = [group for group in self.groups(self.table, [first, *left]) if first not in group]

            def of_sums(done: int, terms: int) -> None:
                if len(left) * done // terms > len(left) * (done - 1) // terms:
                    report(every - len(left) + len(left) * done // terms, every)

            rest, are_few = [group[0] for group in groups], len(groups) <= _FEW
            if self.closer is not None and are_few:
                rest = self.closer(worst, level, n, ball, rest, limits)
            law = law_of(table_blanket(self.table, first))
            bounds = narrowed(self.table, level, n, ball, rest, law, limits, of_sums)
            rest = [*bounds]
            if len(rest) > 1:
                scores = self.ranking(self.table, level, n)
                rest.sort(key=lambda pair: -scores[pair])
            if self.closer is not None and rest and not are_few:
                rest = self.closer(worst, level, n, ball, rest, limits)
        group_of = {group[0]: group for group in groups}
        return [group_of[pair] for pair in rest], bounds


def _ball(limit: fmpq | Dyadic) -> arb:
    with at_precision(256):
        return limit.ball if isinstance(limit, Dyadic) else arb(limit)


def _no_progress(done: int, every: int) -> None:
    """Report nothing."""
