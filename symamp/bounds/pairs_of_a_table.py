"""All ordered pairs of rows of a table at once: which are worst, and which are proved to lie below a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import exp, inf, log, pi, sqrt
from typing import Any, TypeAlias

import numpy as np
from flint import acb, arb, arb_mat
from numpy.typing import NDArray

from symamp.bounds.bound import Progress
from symamp.decompositions.numeric_table import Floats, NumericTable
from symamp.errors import PrecisionError, Problem
from symamp.laws.law import Law, Level, float_gparv
from symamp.numbers.disks import LARGEST, UNIT, exponentials, logarithms_above, turns
from symamp.numbers.limits import FREQUENCY, RANKING, Limits
from symamp.numbers.surroundings import at_precision
from symamp.numbers.systems import FLINT
from symamp.sums.all_data_sets.floats import Parameters
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
_MOST_HIDING = 100
"""Up to this many inputs each is tried for the other users; of more, those with the largest chi-square."""
_AROUND, _MOST_TILTS = 4.0, 33
"""Tilts are sought this many octaves beyond the saddle points of normal laws, half an octave apart if they are few."""
_LEAST_SHARE = 0.1
"""Of the pairs, those whose rows differ least: their saddle points are not looked for."""
_KERNEL_GAP, _MOST_FREQUENCIES, _MOST_TERMS = 0.05, 400, 10_000
"""The gap of bounds on many pairs at once. With more terms than that, one pair by itself rules out most others."""
_MOST, _CHUNK = 30_000_000, 130_000
"""Triples (pair, x, y) that take seconds, and those that are in memory at once."""


_NEAR_CELLS, _BETWEEN_CELLS, _FAR_CELLS = 64, 40, 48
"""How many cells of frequencies there are up to s, between that and where waves are taken, and beyond."""
_MULTIPLES, _LEAST_SMOOTHING = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5), 0.04
"""What multiples of the line of each term, in the unit of each pair, are tried; the least sigma s. All give a bound."""
_FAR_FROM, _FAR_STEP, _AT_MOST, _WITHIN = 0.35, 0.2, 1e4, 0.3
"""Where waves are taken from at most, and the cells there, in units of the tilted spread; the largest angle."""
_DEPTH = 12.0
"""|M|^N is not followed below e^-12 of its largest value: the shape of docs/proofs/all_pairs.md."""
_NEAR_BY = 0.25, 0.15, 0.08
"""Which messages bend |M|: those so near to the tilted mean, in units of the spread of the sum. The best counts."""
_TOO_MUCH = 1.0
"""A term has a multiple of its own where that of the main term makes it e times as large."""
_SMOOTHED = 6.0
"""Sigma times the last frequency."""

# ----------------------- The range in which doubles, with their error bounds, are of use: beyond it nothing is returned

_EXPONENTIALS = 20
"""How many terms of a product of matrices take the time of the exponentials of an entry."""
_ROUNDINGS = 2.0**-50
_TINY = arb(2) ** -60
_SMALLEST, _LARGEST = 1e-100, 1e100
_LEAST_ENTRY, _LARGEST_E, _LARGEST_EXPONENT = 1e-200, 1e12, 1e10
_CENTRED, _BLURRED, _SLACK = 1e-6, 1e-9, 1.0 + 1e-4
_OF_WAVES = 1e-8


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
    return np.array([np.maximum(row - e * rows, 0.0).sum(axis=1) for row in rows])


def log_divergences(rows: Floats, hidden: Floats, e_minus_one: float, n: int, alone: Floats | None = None) -> Floats:
    """Return an estimate of log D_E at n users for all ordered pairs of rows, -inf on the diagonal.

    The saddle point of M(theta)^n/theta^2, M(theta) = E e^(theta G), is sought on a grid of theta that all pairs share,
    so that each theta costs one product of matrices. No divergence is above that of one user, which is what is left
    where few messages hide a report: ``alone``, the ``excesses`` of the rows, if they are known.
    """
    e = 1.0 + e_minus_one
    with np.errstate(all="ignore"):
        score = np.log(excesses(rows, e) if alone is None else alone)
        if n > 1:
            lone = np.log(excesses(rows[:, hidden <= 0.0], e))
            score = np.minimum(score, np.logaddexp(_log_sums(rows, hidden, e_minus_one, n) - np.log(n), lone))
    np.fill_diagonal(score, -np.inf)
    return np.asarray(np.where(np.isnan(score), -np.inf, score))


def _log_sums(rows: Floats, hidden: Floats, e_minus_one: float, n: int) -> Floats:
    """Return the saddle-point estimate of log E[S_+] for all pairs: height and bend of a parabola in log theta."""
    squares = chi_squares(rows, hidden)
    grid = tilts(e_minus_one, n, squares)
    best, before, after, tilt = (np.full(squares.shape, np.inf) for _ in range(4))
    last, is_last = best, np.zeros(squares.shape, dtype=np.bool_)
    for theta in grid:
        height = n * log_moments(rows, hidden, e_minus_one, theta) - 2.0 * np.log(theta)
        height[np.isnan(height)] = np.inf
        after[is_last] = height[is_last]
        is_last = height < best
        if not is_last.any():  # log M is convex: what has begun to rise rises on
            break
        before[is_last], best[is_last], after[is_last], tilt[is_last] = last[is_last], height[is_last], np.inf, theta
        last = height
    bend, slope = before + after - 2.0 * best, 0.5 * (after - before)
    inside = np.isfinite(bend) & (bend > 0.0)
    height = np.where(inside, best - 0.5 * slope**2 / bend, best)
    step = float(np.log(grid[1] / grid[0])) if len(grid) > 1 else 1.0
    # n theta^2 K'' + 2, the bend in log theta, is at least 2.
    bend = np.where(inside, np.maximum(bend / step**2, 2.0), 2.0)
    return np.asarray(np.where(squares > 0.0, height + np.log(tilt) - 0.5 * np.log(2.0 * np.pi * bend), -np.inf))


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

    All of them are ranked: the chi-square sum over messages of (R(x0) - R(x1))^2/R(x*) chooses x* where there are many
    inputs, saddle points choose among the triples.

    >>> import symamp as sa
    >>> [found] = worst_triples(sa.RandomizedResponse(k=3, eps0=1).table().numeric, Level.of_float(0.01), 1000, 1)
    >>> sorted(found)
    [0, 1, 2]
    """
    found = list[tuple[float, tuple[int, int, int]]]()
    for other, scores in _scores(table, level, n):
        # A tie goes to an input outside the pair: that is the data set that papers name.
        found += [(scores[i, j] - 1e-9 * (other in (i, j)), (i, j, other)) for i, j in best(scores, most)]
    found.sort(key=lambda item: (-item[0], item[1]))
    return [triple for _, triple in found[:most]] or [(i, j, i) for i, j in table.pairs[:1]]


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
    return np.asarray(reduce(np.maximum, (scores for _, scores in _scores(table, level, n))))


def positive_messages(table: NumericTable, level: Level, n: int) -> float:
    """Return about how many messages tell the inputs of a bad pair apart where others hold what hides it worst."""
    asked = best(badly_hidden(table, level, n), ESTIMATED) or table.pairs[:1]
    first, second = (table.floats[list(rows)] for rows in zip(*asked, strict=True))
    excess = np.maximum(first - _e(level) * second, 0.0)
    with np.errstate(all="ignore"):
        squares = np.where(excess > 0.0, excess * excess / table.floats[:, None, :], 0.0).sum(axis=2).max(axis=0)
        return float(((n - 1) * excess.sum(axis=1) ** 2 / squares).min())


def _scores(table: NumericTable, level: Level, n: int) -> Iterator[tuple[int, Any]]:
    """Yield inputs x* of the others with estimates of log D for all pairs."""
    rows, minus_one = table.floats, level.rough_minus_one()
    alone = excesses(rows, 1.0 + minus_one)
    for other in _hiding(table):
        yield other, np.where(table.admissible, log_divergences(rows, rows[other], minus_one, n, alone), -np.inf)


@lru_cache(maxsize=8)
def _hiding(table: NumericTable) -> list[int]:
    rows = table.floats
    if len(table.inputs) <= _MOST_HIDING:
        return list(range(len(rows)))
    with np.errstate(all="ignore"):
        largest = [float(chi_squares(rows, row).max()) for row in rows]
    return [int(i) for i in np.argsort(largest)[::-1][: _MOST_HIDING // 4]]


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

    The majorant of the compact kernel, with tilt, window and smoothing of the plan, is the same for all laws; what
    differs is M(theta + iu) at the frequencies, and that is e^(s r0) e^(-s E r1) summed over messages: a product of
    two matrices. It is taken in doubles, with a radius for all roundings.

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
            raise PrecisionError(
                "table", Problem("entries have less than 60 bits at this precision"), "take a higher one"
            )
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

    One tilt theta serves all of them: x_+ <= e^(theta x)/(e theta), so that E[S_+]/n <= M(theta)^n/(n e theta), and
    all M(theta) are the entries of one product of two matrices of balls. Pairs near the worst stay open.

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

Mean: TypeAlias = Callable[[Floats], Floats]
Booleans: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class _Common:
    """What all pairs share: the other users, parameters for a pair with E[G_+] = ``gain``, a unit.

    ``main`` is the line of the term that decides. ``far`` are the ends of cells of frequencies, as long as each other,
    beyond those at which moments tell enough.
    """

    others: int
    parameters: Parameters
    gain: float
    main: float
    far: Floats
    log_unit: float

    def smoothing(self, s: float) -> float:
        """Return sigma times s for a line at s."""
        return max(_SMOOTHED * s / float(self.far[-1]), _LEAST_SMOOTHING)


def common_bounds(
    table: NumericTable, level: Level, n: int, pairs: Sequence[Pair], of: tuple[Pair, Parameters], log_unit: float
) -> Floats:
    """Return upper bounds on the divergence of pairs of rows for every data set, in units of e^log_unit; nan for none.

    ``of`` is a pair with its parameters of the bound over all data sets: the majorant, which must be proved, the tilts
    of the bad part, and the lines of its terms.

    Guarantee
    ---------
    Every pair has at most this divergence at n users, whatever inputs the others hold. Proof: docs/proofs/all_pairs.md.
    """
    minus_one, rows = level.rough_minus_one(), table.floats
    tiny = (rows < _LEAST_ENTRY) & ((table.ranks > 0) | (not table.is_null(0)))
    worst, parameters = of
    if n < 2 or minus_one > _LARGEST_E or tiny.any() or len(pairs) * rows.size > _MOST:
        return np.full(len(pairs), np.nan)
    first, second = (rows[[x, *others]] for x, others in zip(worst, zip(*pairs, strict=True), strict=True))
    levels, size = np.full((len(first), 1), 1.0 + minus_one), max(_CHUNK // rows.size, 1)
    return bounds_by_moments(rows, (first, second), levels, n, parameters, log_unit, size)[1:]


def bounds_by_moments(
    classes: Floats,
    pairs: tuple[Floats, Floats],
    e: Floats,
    n: int,
    parameters: Parameters,
    log_unit: float,
    size: int = _CHUNK,
) -> Floats:
    """Return upper bounds on D(P - E Q) for the rows P and Q of some pairs where others hold laws of some classes.

    ``e`` is a column of the levels E, one for each pair; ``parameters`` suit the first pair. All rows may miss mass of
    probability, and ``size`` pairs are in memory at once. In units of e^log_unit; nan for none.

    Guarantee
    ---------
    Every pair has at most this divergence at n users, whichever classes the others have.
    Proof: docs/proofs/all_pairs.md.
    """
    first, second = pairs
    nothing = np.full(len(first), np.nan)
    g = first[0] - e[0] * second[0]
    gain = float(np.maximum(g, 0.0).sum())
    main = max(parameters.terms, key=lambda t: log(t.a) - t.lam * (n - 1) * gain)
    spread, fourth = _spreads(classes, g)
    if not gain > 0.0 or parameters.tilt_a * parameters.p_lo > _LARGEST_EXPONENT:
        return nothing
    # Up to half of the square at which fourth moments outweigh second ones, they say how |M| falls.
    start = max(2.0 * main.s, min(_FAR_FROM, (6.0 / (3.0 + fourth)) ** 0.5) / spread)
    # Waves of huge values are known up to a frequency.
    step = min(
        _FAR_STEP / spread,
        0.5 * start,
        (_WITHIN * _AT_MOST / _reach(classes, first[0] + e[0] * second[0]) - start) / _FAR_CELLS,
    )
    if not step > 0.0:
        return nothing
    far = np.asarray(start + step * np.arange(_FAR_CELLS + 1.0))
    common = _Common(n - 1, parameters, gain, main.s, far, log_unit)
    with np.errstate(all="ignore"):  # what is no number proves nothing
        parts = [slice(i, i + size) for i in range(0, len(first), size)]
        return np.concatenate([_bounds(classes, first[some], second[some], e[some], common) for some in parts])


def _spreads(classes: Floats, g: Floats) -> tuple[float, float]:
    """Return the largest root of a second moment, and the largest fourth moment in units of the second one's square."""
    with np.errstate(all="ignore"):
        squares = np.where(classes > 0.0, g * g / classes, 0.0)
        second, fourth = squares.sum(axis=1), np.where(classes > 0.0, squares**2 / classes, 0.0).sum(axis=1)
        return sqrt(float(np.nanmax(second))), float(np.nanmax(fourth / second**2))


def _reach(classes: Floats, size: Floats) -> float:
    with np.errstate(all="ignore"):
        return float(np.nanmax(np.where(classes > 0.0, size / classes, 0.0)))


def _bounds(classes: Floats, first: Floats, second: Floats, e: Floats, c: _Common) -> Floats:
    """Return upper bounds on the divergences of some pairs over all data sets in the unit; nan for none."""
    p, terms = c.parameters, c.parameters.terms
    g, size = first - e * second, first + e * second
    gains = np.maximum(g + 8.0 * UNIT * size, 0.0).sum(axis=1)
    unit = (np.maximum(g, 0.0).sum(axis=1) / c.gain)[:, None]
    gains = gains[:, None] / unit
    scaled = unit[:, :, None] * classes
    seen = (scaled > 0.0) | (size[:, None, :] > 0.0)  # elsewhere nothing is ever sent
    w = np.where(seen, g[:, None, :] / scaled, 0.0)
    reach = np.where(seen, size[:, None, :] / scaled, 0.0).max(axis=(1, 2))[:, None]

    def mean(values: Floats) -> Floats:
        return np.asarray(np.einsum("xy,pxy->px", classes, values))

    above = np.maximum(w, 0.0)
    lines = _lines(w, above, c, mean)
    tilt = (reduce(np.maximum, lines) + max(t.lam for t in terms) + p.tilt_a + p.tilt_b) * reach
    doubt = 16.0 * UNIT * reach
    error = 2.0 * UNIT * (classes.shape[1] + 16.0 + 64.0 * float(np.minimum(tilt, LARGEST).max()))
    plus, minus = (np.maximum(x + doubt[:, :, None], 0.0) for x in (w, -w))

    def powers_of(moments: Floats) -> Floats:
        return c.others * logarithms_above(moments * (1.0 + error))

    beyond = mean(plus * exponentials(p.tilt_b * w)).max(axis=1, keepdims=True)
    few = powers_of(mean(exponentials(p.tilt_b * w - p.tilt_a * above)))
    bad = p.tilt_a * p.p_lo + logarithms_above(beyond) + few
    found, valid = _raised(bad - c.log_unit), (tilt <= LARGEST) & (error <= _BLURRED)
    valid = valid & (c.far[-1] * reach <= _AT_MOST)
    below = above / (1.0 + np.sqrt(1.0 + above / p.p_lo))  # beta(w+) w+ of docs/proofs/all_data_sets.md
    tilts = [exponentials(s[:, :, None] * w - t.lam * above) for t, s in zip(terms, lines, strict=True)]
    shapes, known = _integrals(w, lines, tilts, mean, doubt, c)
    valid = valid & known
    for t, s, weights, (own, wide) in zip(terms, lines, tilts, shapes, strict=True):
        tilted, smoothing = exponentials(s[:, :, None] * w), c.smoothing(t.s)
        slow = exponentials(s[:, :, None] * w - t.lam * below)
        against = mean(minus * tilted)
        mixed, smoothed = s * mean(plus * plus * slow) * against, smoothing**2 * gains * against
        moments = mean(weights)
        powers = powers_of(moments)
        # |A| is at most the first plus the second times u^2/s^2, as |zeta|/s - 1 is at most half of that.
        sizes = np.stack([gains * mean(plus * weights) + mixed + smoothed, 0.5 * mixed + smoothed]) / moments
        # c(u) such that no input is above the worst: ratios of at most 1 + half of the distance of their powers.
        scales = (sizes / (1.0 + 0.5 * (powers.max(axis=1, keepdims=True) - powers))).max(axis=2, keepdims=True)
        ratios = (sizes / scales).max(axis=0)
        integrals = scales[0] * own + scales[1] * wide
        exponent = powers + (ratios * (1.0 + _CENTRED) - 1.0) + _DEPTH / c.others + 0.5 * smoothing**2
        found = found + t.a * c.others / (2.0 * pi) * integrals * _raised(exponent - c.log_unit)
    worst = np.where(valid, found, np.nan).max(axis=1)
    return np.asarray(unit[:, 0] * worst * _SLACK)


def _raised(exponent: Floats) -> Floats:
    """Return e^exponent or more; what is far below 1 is rounded up to one value, what is far above it is inf."""
    return np.where(exponent < LARGEST, exponentials(np.clip(exponent, -LARGEST, LARGEST)), inf)


def _lines(w: Floats, above: Floats, c: _Common, mean: Mean) -> list[Floats]:
    """Return the line s of each term for each pair, by doubles: any lines give bounds.

    All are multiplied by what suits the main one, but for terms of which that makes too much.
    """

    multiples = np.array(_MULTIPLES)

    def heights(s: float, lam: float) -> Floats:
        tilted = (np.exp(x * s * w - lam * above) for x in _MULTIPLES)
        logs = np.stack([c.others * np.log(mean(weights)).max(axis=1) for weights in tilted])
        return np.asarray(np.nan_to_num(logs - 2.0 * np.log(multiples)[:, None], nan=inf))

    usual, pairs, lines = heights(c.main, 0.0).argmin(axis=0), np.arange(len(w)), []
    for t in c.parameters.terms:
        height = heights(t.s, t.lam)
        best = height.argmin(axis=0)
        is_usual = height[usual, pairs] <= height[best, pairs] + _TOO_MUCH
        lines.append(t.s * multiples[np.where(is_usual, usual, best)][:, None])
    return lines


def _integrals(
    w: Floats, lines: Sequence[Floats], tilts: Sequence[Floats], mean: Mean, doubt: Floats, c: _Common
) -> tuple[list[tuple[Floats, Floats]], Booleans]:
    """Return bounds on the integrals of |M|^N e^(-sigma^2 u^2/2)/|zeta|^2, and of u^2/s^2 times that, for each term.

    And where roundings are far below the spread of the tilted laws. |M| is in units of its largest value.
    """
    far, N = c.far, c.others
    step = far[1] - far[0]
    real, imag = turns((far[0] + 0.5 * step) * w)  # the waves e^(iuw) in the middles of cells, for all terms at once
    step_real, step_imag = turns(step * w)
    moments, moduli = [mean(weights) for weights in tilts], [list[Floats]() for _ in tilts]
    for _ in range(_FAR_CELLS):
        for weights, whole, squares in zip(tilts, moments, moduli, strict=True):
            squares.append((mean(weights * real) ** 2 + mean(weights * imag) ** 2) / whole**2)
        real, imag = real * step_real - imag * step_imag, real * step_imag + imag * step_real
    found, valid = list[tuple[Floats, Floats]](), np.ones(1, dtype=np.bool_)
    for t, s, weights, whole, squares in zip(c.parameters.terms, lines, tilts, moments, moduli, strict=True):
        sigma, near = c.smoothing(t.s) / s, _cells_near(s, float(far[0]))
        centre = mean(weights * w) / whole
        away = w - centre[:, :, None]
        once = weights * away
        twice = once * away
        shift, square = (mean(x) / whole for x in (once, twice))
        valid = valid & (np.abs(shift) <= _CENTRED * np.sqrt(square)) & (doubt <= _BLURRED * np.sqrt(square))
        falls = list[Floats]()
        for part in _NEAR_BY:  # of messages that are far away nothing is used but that cosines are at most 1
            near_by = np.abs(away) <= part * np.sqrt(N * square)[:, :, None]
            some, first, second, fourth = (
                mean(np.where(near_by, x, 0.0)) / whole for x in (weights, once, twice, twice * away * away)
            )
            crossed = 8.0 * np.abs(first) * np.sqrt(second * fourth)
            variance = some * second * (1.0 - 1e-6) - first**2 * (1.0 + 1e-6)
            variance = np.where((variance > 0.5 * some * second) & (variance > 2e-3 * square), variance, 0.0)[..., None]
            quartic = np.maximum((2.0 * some * fourth + 6.0 * second**2 + crossed) * (1.0 + 1e-5), _LEAST_ENTRY)
            reach = np.where(variance > 0.0, 24.0 * variance / quartic[..., None], inf)
            falls.append(_near_powers(near, N * variance, reach))
            if near_by.all():
                break
        apart = np.sqrt(np.maximum(1.0 - np.stack(squares, axis=-1) - _OF_WAVES, 0.0))
        apart = np.maximum(apart - 0.5 * step * np.sqrt(square * (1.0 + 1e-5))[..., None], 0.0)
        powers = np.minimum.reduce(falls), _power(0.5 * N * apart**2)
        parts = (_over(cells, power, s, sigma) for cells, power in zip((near, far), powers, strict=True))
        last = exponentials(-np.minimum(0.5 * (sigma * far[-1]) ** 2, LARGEST))
        tails = last / far[-1], last * np.minimum(sqrt(0.5 * pi) / sigma, 1.0 / (sigma**2 * far[-1])) / s**2
        own, wide = (2.0 * (x + y + tail) for x, y, tail in zip(*parts, tails, strict=True))
        found.append((own, wide))
    return found, valid


def _cells_near(s: Floats, far: float) -> Floats:
    """Return the ends of cells of frequencies up to where waves are taken: evenly up to s, then by a constant ratio."""
    first = np.minimum(s, far)[:, :, None]
    even = np.broadcast_to(np.linspace(0.0, 1.0, _NEAR_CELLS + 1)[:-1], (len(s), 1, _NEAR_CELLS))
    return np.asarray(
        first * np.concatenate([even, (far / first) ** np.linspace(0.0, 1.0, _BETWEEN_CELLS + 1)], axis=-1)
    )


def _over(cells: Floats, powers: Floats, s: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """Return both integrals over cells on which the mean power is given; the rest is largest on one side."""
    left, right, square_s = cells[..., :-1] ** 2, cells[..., 1:] ** 2, (s * s)[:, :, None]
    smooth = exponentials(-np.minimum(0.5 * sigma[:, :, None] ** 2 * left, LARGEST))
    whole = (powers + exp(-_DEPTH)) * np.diff(cells) * smooth
    own, wide = whole / (square_s + left), whole * right / (square_s + right) / square_s
    return own.sum(axis=-1), wide.sum(axis=-1)


def _power(fall: Floats) -> Floats:
    return exponentials(-np.clip(fall, 0.0, LARGEST))


def _near_powers(cells: Floats, bend: Floats, reach: Floats) -> Floats:
    """Return bounds on the means of e^-f over cells, f(u) = bend u^2 (1 - u^2/reach)/2 where that does not fall.

    The largest value, or what a tangent of f gives where f is convex.
    """

    def fall(u: Floats) -> Floats:
        return 0.5 * bend * u * u * np.maximum(1.0 - u * u / reach, 0.0)

    middle, half = 0.5 * (cells[..., 1:] + cells[..., :-1]), 0.5 * np.diff(cells)
    largest = _power(np.minimum(fall(cells[..., :-1]), fall(cells[..., 1:])))
    rise = bend * middle * (1.0 - 2.0 * middle * middle / reach) * half
    known = (6.0 * cells[..., 1:] ** 2 <= reach) & (rise <= 1.0)
    raised = exponentials(np.where(known, rise, 0.0))
    return np.where(
        known, np.minimum(_power(fall(middle)) * (2.0 + 0.5 * (raised + 1.0 / raised)) / 3.0, largest), largest
    )
