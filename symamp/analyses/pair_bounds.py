"""All ordered pairs of rows of a table at once: which are worst, and which are proved to lie below a bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb, arb_mat

from symamp.analyses.bound import Progress
from symamp.analyses.pair_kernel import kernel_bounds
from symamp.analyses.pair_ranking import best, chi_squares, excesses, log_divergences, log_moments, tilts
from symamp.derivation.numeric_table import Floats, NumericTable
from symamp.errors import PrecisionError
from symamp.evaluation.fast import float_sum
from symamp.evaluation.gparv import float_gparv
from symamp.evaluation.inversion import log_of_ball
from symamp.evaluation.law import Law, Level
from symamp.evaluation.work import spend
from symamp.numbers.surroundings import at_precision

Pair = tuple[int, int]
MOMENTS = "moments"
"""The evaluator of what moments prove."""
_ENTRY, _EXPONENTIALS = 0.15, 20  # units of work of one product of balls, and exponentials in these
_KERNEL_GAP, _MOST_FREQUENCIES, _MOST_TERMS = 0.05, 400, 10_000


def worst_pairs(table: NumericTable, level: Level, n: int, most: int) -> list[Pair]:
    """Return the ordered pairs of rows whose blanket has the largest divergence, by estimates in doubles."""
    scores = log_divergences(table.floats, table.least_floats, level.rough_minus_one(), n)
    return best(np.where(table.admissible, scores, -np.inf), most)


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
    progress: Progress | None = None,
) -> list[Pair]:
    """Return those of the pairs that are still not proved to have a divergence of at most ``bound``.

    The divergence of one user alone is tried first, as it bounds that of n; then the compact kernel with the plan that
    suits ``worst``, the law of one of the worst pairs; ``progress`` is told (done, all) of its terms.

    Guarantee
    ---------
    Every pair that is left out has D_E <= ``bound`` at n users. Proof: docs/proofs/all_pairs.md.
    """
    alone = excesses(table.floats, _e(level)) + _room(table)
    left = [pair for pair in pairs if not arb(float(alone[pair])) <= bound]
    rough = float_gparv(worst, level)
    if n == 1 or not left or not rough.is_positive:
        return left
    with at_precision(128 + 2 * n.bit_length()):
        plan = float_sum(rough, n, _KERNEL_GAP, _MOST_FREQUENCIES).plan
        if plan.terms > _MOST_TERMS:  # one pair by itself leaves most of them out
            return left
        try:
            bounds = kernel_bounds(table, level, n, left, plan, progress)
        except PrecisionError:  # then each pair is evaluated by itself
            return left
        lone = singular_above(table, level)
        return [p for p, value in zip(left, bounds, strict=True) if not value.upper() + float(lone[p]) <= bound]


def moment_bounds(table: NumericTable, level: Level, n: int, pairs: Sequence[Pair]) -> list[arb]:
    """Return an upper bound on the divergence of the blanket of each pair: one user alone, or moments at a tilt.

    What M(theta)^n/(n e theta) with a tilt for each pair gives is larger by a small factor than a sum over frequencies.

    Guarantee
    ---------
    Every pair has D_E of at most its number at n users. Proof: docs/proofs/all_pairs.md.
    """
    alone, lone = excesses(table.floats, _e(level)) + _room(table), singular_above(table, level)
    found = [arb(float(alone[pair])) for pair in pairs]
    with at_precision(128 + 2 * n.bit_length()):
        for k, theta in enumerate(_own_tilts(table, level, n, pairs)):
            if theta > 0.0:
                moment = _moment(table, level, arb(theta), pairs[k])
                bound = (moment**n / (n * arb(theta) * arb(1).exp()) + float(lone[pairs[k]])).upper()
                found[k] = bound if bound < found[k] else found[k]
    return found


def _own_tilts(table: NumericTable, level: Level, n: int, pairs: Sequence[Pair]) -> list[float]:
    """Return the best tilt of a grid for each pair, by doubles; 0 for none."""
    minus_one, rows, hidden = level.rough_minus_one(), table.floats, table.least_floats
    first, second = (list(side) for side in zip(*pairs, strict=True))
    least, best_tilts = np.full(len(pairs), np.inf), np.zeros(len(pairs))
    for theta in tilts(minus_one, n, chi_squares(rows, hidden)).tolist():
        logs = (n * log_moments(rows, hidden, minus_one, theta) - np.log(theta))[first, second]
        is_less = logs < least
        least, best_tilts = np.where(is_less, logs, least), np.where(is_less, theta, best_tilts)
    return [float(theta) for theta in best_tilts]


def _moment(table: NumericTable, level: Level, theta: arb, pair: Pair) -> arb:
    """Return M(theta) of one pair."""
    spend(_ENTRY * _EXPONENTIALS * len(table.messages))
    e, found, seen = level.exponential(), arb(0), arb(0)
    for y, r in enumerate(table.least):
        if not table.is_null(int(r)):
            hidden, first, second = (table.ball(int(rank)) for rank in (r, *table.ranks[list(pair), y]))
            found += hidden * (theta * (first - e * second) / hidden).exp()
            seen += hidden
    return found + (1 - seen).max(arb(0))


def _root(x: arb, n: int) -> arb:
    """Return a number whose n-th power is at most x, for the comparison with moments; -1 if there is none."""
    return (x.log() / n).exp().lower() if x > 0 else arb(-1)


def _moments(table: NumericTable, level: Level, theta: arb) -> tuple[arb_mat, arb]:
    """Return sum over y of m(y) e^(theta (r0 - E r1)) for all pairs, and the mass of the null symbol."""
    spend(_ENTRY * table.floats.size * (_EXPONENTIALS + len(table.inputs)))
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
