"""E[S_+] by convolving lattice laws in doubles: sums of products of nonnegative numbers only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from math import ceil, exp, floor, frexp, fsum, inf, ldexp, log, log2, sqrt

import numpy as np
from flint import arb

from symamp.laws.law import BallGparv, FloatGparv, Floats
from symamp.numbers.dyadic import float_above, float_below
from symamp.sums.kernels.tilted import Power, saddle_tilt

# What roundings ask for: proved, not tuned.
_UNIT, UP, DOWN = 2.0**-53, 1.0 + 2.0**-50, 1.0 - 2.0**-50
_SAFE, _SLACK = 1.0 - 1e-10, 1.0 + 1e-6
_PER_LEVEL, _ROUNDINGS, _NOISE = 32, 8, 1e-290
_SMALLEST, _LARGEST = 1e-250, 1e250
_SIDES = (False, True)

# What is tuned. Every lattice gives a bound; these trade time against width, and were chosen on noise with few users
# and on laws with rare large values. A uniform lattice with an FFT is no alternative there: at 2 to 15 times the time
# its enclosures of noise with 30 to 100 users are 6 to 300 times as wide, for values range over many powers of ten.
_FIRST, _FINE, _MOST_WORK = 8, 64, 240_000
"""Points per width at first and next, and up to which squares of them, times the doublings, they are doubled."""
_WIDE, _DEVIATIONS = 8, 3.0
"""How many widths rows keep their finest step for, and how wide these are."""
_STALLED, _HALF, _LESS, _GUESSES = 0.8, 0.5, 1.0, 12
"""Where refining wins less than the first it ends. While a sum is less than the second of what it may be, and e^-1 of
the size it was cut for, its size is guessed anew: so often, each time with what is cut less by a factor e."""
_NEGLIGIBLE, _ROUGH = 1e-5, 1e-3
"""The part of the gap that what is cut may cost, and the gap of estimates."""
_MOST_ERROR, _MOST_EXCESS = 0.01, 0.05
"""Relative roundings, and raised masses, up to which a sum is worth anything."""
_RARE, _MANY_USERS = 3.0, 1_000
"""Values that fewer draws than this have in the mean do not count for the centre; from so many users on 0 is none."""
_PASSES = 4
"""Passes that pair odd masses."""

# ------------- Measures on graded lattices: near 0 on multiples of a small step, farther out of larger ones, in doubles

# A large value keeps its relative accuracy with few points, so that a law with rare large values takes hardly more
# room than one without. Every move is one in the increasing convex order, upward by spreads and downward by
# contractions (docs/proofs/convolution.md); nothing is subtracted but masses that were moved from what is left.


Row = tuple[int, Floats]
"""The masses of ``first``, ``first + 1``, ... times a step."""
Rows = Mapping[int, Row]
"""For levels l, the rows of multiples of 2^l. The measure is their sum; levels may overlap."""


@dataclass(frozen=True)
class Grading:
    """Which multiples are kept: of 2^base up to ``half`` times that, beyond of the least step that does the same."""

    base: int
    half: int
    upward: bool


def sum_of(a: Row | None, b: Row | None) -> Row | None:
    """Return the sum of two rows of one level; None stands for 0."""
    if a is None or b is None:
        return b if a is None else a
    first = min(a[0], b[0])
    masses = np.zeros(max(x[0] + len(x[1]) for x in (a, b)) - first)
    for start, row in (a, b):
        masses[start - first : start - first + len(row)] += row
    return first, masses


def of_atoms(values: Floats, masses: Floats, grading: Grading) -> dict[int, Row]:
    """Return a measure above, or below, that of the atoms."""
    levels = np.maximum(np.frexp(values / grading.half)[1], grading.base)
    levels[values == 0.0] = grading.base
    places = np.ldexp(values, -levels)  # exact
    if not grading.upward:
        return _contracted(places, masses, levels)
    floors = np.floor(places)
    part = np.minimum((places - floors) * UP, 1.0)
    shares = np.concatenate([masses * (1.0 - part) * UP, masses * part * UP])
    points = np.concatenate([floors, floors + 1.0])
    both = np.concatenate([levels, levels])
    return {int(level): _row(points[both == level], shares[both == level]) for level in np.unique(levels)}


def _row(places: Floats, masses: Floats) -> Row:
    """Return the row that has these masses: each sum is rounded once."""
    order = np.argsort(places, kind="stable")
    found, starts = np.unique(places[order], return_index=True)
    first = int(found[0])
    row = np.zeros(int(found[-1]) - first + 1)
    row[found.astype(np.int64) - first] = [fsum(x) for x in np.split(masses[order], starts[1:])]
    return first, row


def _contracted(places: Floats, masses: Floats, levels: np.ndarray[tuple[int], np.dtype[np.int32]]) -> dict[int, Row]:
    """Return a measure below: runs of atoms go to the lattice point below the first, which is about their mean."""
    steps = np.ldexp(1.0, levels)
    kept = np.lexsort((levels, -places * steps))
    kept = kept[masses[kept] > 0.0]
    values, floors = (places[kept] * steps[kept]).tolist(), np.floor(places[kept]).astype(np.int64).tolist()
    left, level = masses[kept].tolist(), levels[kept].tolist()
    found: dict[tuple[int, int], float] = {}
    i, count = 0, len(values)
    while i < count:
        key, point = (level[i], floors[i]), floors[i] * 2.0 ** level[i]
        run: list[float] = []
        surplus = 0.0
        while i < count:
            value, here = values[i], left[i]
            if value >= point:
                run.append(here)
                surplus, i = surplus + here * (value - point), i + 1
                continue
            # No more mass from below the point than the mean allows.
            most = surplus * _SAFE / (point - value)
            if here <= most:
                run.append(here)
                surplus, i = surplus * _SAFE - here * (point - value), i + 1
                continue
            left[i] = (here - most) * DOWN
            run.append(most)
            surplus = 0.0
            break
        found[key] = found.get(key, 0.0) + fsum(run) * DOWN
    every = {one: [(place, m) for (level, place), m in found.items() if level == one] for one, _ in found}
    return {one: _row(*np.array(row).T) for one, row in every.items()}


def coarser(row: Row | None, upward: bool) -> Row | None:
    """Return a row of the next level: a measure above or below the one that is given."""
    if row is None:
        return None
    first, masses = row
    if not masses.any():
        return None
    lead = first % 2
    masses = np.concatenate([np.zeros(lead), masses, np.zeros((len(masses) + lead + 1) % 2)])
    found, odd = masses[0::2].copy(), masses[1::2]
    if upward:
        found[:-1] += 0.5 * odd
        found[1:] += 0.5 * odd
    else:
        _contract(found, odd)
    return (first - lead) // 2, found


def _contract(found: Floats, odd: Floats) -> None:
    """Add to ``found`` the masses halfway between its points, and move others, so that the measure is one below."""
    paired = np.minimum(odd[:-1], odd[1:])
    found[1:-1] += paired
    rest = odd * (DOWN * DOWN)
    rest[:-1] -= 0.5 * paired
    rest[1:] -= 0.5 * paired
    rest = np.maximum(rest, 0.0)
    for _ in range(_PASSES):
        here = np.flatnonzero(rest)
        low, high = here[: len(here) - 1 : 2], here[1::2]
        moved = np.minimum(rest[low], rest[high])
        found[low + 1] += moved
        found[high] += moved
        rest[low] = (rest[low] - moved) * DOWN
        rest[high] = (rest[high] - moved) * DOWN
    tails = np.cumsum(rest[::-1])[::-1]
    if not len(rest) or not tails[0] > 0.0:
        return
    # The upper part goes down, the lower one up, and a little more of the lower masses as far as the mean allows.
    split = int(np.flatnonzero(tails >= 0.5 * (2.0 - _SAFE) * tails[0])[-1])
    surplus = (tails[split] - (tails[0] - tails[split])) * _SAFE - (1.0 - _SAFE) * tails[0]
    found[split : len(rest)] += rest[split:]
    found[1 : split + 1] += rest[:split]
    if split and surplus > 0.0:
        costs = np.cumsum(2.0 * found[split - 1 :: -1] * np.arange(1.0, split + 1.0)) / _SAFE
        whole = int((costs <= surplus).sum())
        lifted = found[split - whole : split].tolist()
        found[split - whole : split] = 0.0
        if whole < split:
            last = split - whole - 1
            left = surplus - (costs[whole - 1] if whole else 0.0)
            lifted.append(min(0.5 * left / (split - last) * _SAFE, found[last]))
            found[last] = (found[last] - lifted[-1]) * DOWN
        found[split] += fsum(lifted)


def raised(rows: Rows, grading: Grading) -> dict[int, Row]:
    """Return the measure without the levels below the base."""
    found = dict(rows)
    for level in range(min(found, default=grading.base), grading.base):
        both = sum_of(coarser(found.pop(level, None), grading.upward), found.get(level + 1))
        if both is not None:
            found[level + 1] = both
    return found


def convolved(a: Rows, b: Rows, grading: Grading) -> tuple[dict[int, Row], int]:
    """Return (convolution, terms): that of two measures, and how many roundings a mass has undergone at most."""
    if not a or not b:
        return {}, 0
    is_square, lowest = a is b, min(*a, *b, grading.base)
    a = raised(a, grading)
    b = a if is_square else raised(b, grading)
    found: dict[int, Row] = {}
    if not a or not b:
        return found, 0
    level, top = min(*a, *b), max(*a, *b)
    half = grading.half << max(grading.base - level, 0)
    carried_a: Row | None = None  # what lies on lower levels
    carried_b: Row | None = None
    beyond: Row | None = None
    terms = 0
    while level <= top or beyond is not None:
        of_a, of_b = a.get(level), b.get(level)
        here: Row | None = None
        if is_square:
            pairs = [(of_a, sum_of(of_a, carried_a and (carried_a[0], 2.0 * carried_a[1])))]
        else:
            pairs = [(sum_of(of_a, carried_a), of_b), (of_a, carried_b)]
        for first, second in pairs:
            if first is not None and second is not None:
                # The sum as defined, not by transforms: that keeps the relative accuracy of every mass.
                here = sum_of(here, (first[0] + second[0], np.convolve(first[1], second[1])))
                terms = max(terms, min(len(first[1]), len(second[1])))
        if level < top:
            carried_a = coarser(sum_of(carried_a, of_a), grading.upward)
            carried_b = carried_a if is_square else coarser(sum_of(carried_b, of_b), grading.upward)
        here = sum_of(here, beyond)
        inside, beyond = _parted(here, half, grading.upward)
        if inside is not None:
            found[level] = inside
        level += 1
    return found, terms + (level - lowest) * _PER_LEVEL


def _parted(row: Row | None, half: int, upward: bool) -> tuple[Row | None, Row | None]:
    """Return what lies within ``half`` steps, and the rest on the next level."""
    if row is None:
        return None, None
    first, masses = row
    start = min(max(-half - first, 0), len(masses))
    end = max(min(half + 1 - first, len(masses)), start)
    inside = (first + start, masses[start:end]) if end > start else None
    left = coarser((first, masses[:start]), upward) if start else None
    right = coarser((first + end, masses[end:]), upward) if end < len(masses) else None
    return inside, sum_of(left, right)


def places_of(level: int, row: Row) -> Floats:
    """Return the values whose masses the row has."""
    return np.ldexp(row[0] + np.arange(len(row[1]), dtype=np.float64), level)


def expected_positive_part(a: Rows, b: Rows, shift: float, upward: bool) -> tuple[float, int]:
    """Return (E[(A + B + shift)_+], terms): a sum of tails of sums of tails, no masses subtracted.

    The shift is rounded upward or downward.
    """
    value, terms = 0.0, 0
    for level, (first, masses) in b.items():
        step = 2.0**level
        tails = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        # E[(B - x)_+] at the points x of the row, with 0 behind them.
        stop_loss = np.append(np.cumsum(tails[:0:-1])[::-1] * step, 0.0)
        for other, row in a.items():
            # One rounding, of places and of the shift, is made good for the side that the end is for.
            least = np.nextafter(-(places_of(other, row) + shift), -np.inf if upward else np.inf)
            index = np.clip(np.ceil(least / step) - first, 0, len(masses)).astype(np.int64)
            rest = np.maximum((first + index) * step - least, 0.0)
            value += float((row[1] * (stop_loss[index] + rest * tails[index])).sum())
            terms = max(terms, len(row[1]) + 2 * len(masses))
    return value, terms + len(a) * len(b)


def cut(
    rows: Rows, centre: float, edge: float, costs: tuple[float, float], allowed: float, upward: bool
) -> tuple[dict[int, Row], float]:
    """Return (rows without what hardly counts, what that costs at most): left of an edge < 0, and at both ends.

    Places of rows are those of sums less the ``centre``. A mass at the sum x costs (max(x, 0) + costs[1]) costs[0]
    times itself where it is left out. Upward, masses left of the edge go to it.
    """
    found: dict[int, Row] = {}
    lost = 0.0
    for level, (first, masses) in rows.items():
        drop = min(floor((edge - centre) * 2.0**-level), ceil(-centre * 2.0**-level) - 1) - first
        drop = min(drop, len(masses) - 1)
        if drop > 0:
            at_edge = fsum(masses[: drop + 1].tolist()) if upward else float(masses[drop])
            first, masses = first + drop, np.append(at_edge, masses[drop + 1 :])
        cost = costs[0] * (np.maximum(places_of(level, (first, masses)) + centre, 0.0) + costs[1]) * masses
        right, left = np.cumsum(cost[::-1])[::-1], np.cumsum(cost)
        end = int((right > allowed).sum())
        start = min(int((left <= allowed).sum()), end)
        lost += float(right[end]) if end < len(masses) else 0.0
        lost += float(left[start - 1]) if start > 0 else 0.0
        if end > start:
            found[level] = first + start, masses[start:end]
    return found, lost


# --------------------------- E[S_+] by convolving lattice laws in doubles: sums of products of nonnegative numbers only

# A law is moved to a lattice, upward and downward, and added up by doubling. The kernels ask for very many frequencies
# where phi falls slowly, as for few users with large budgets, and where one rare large value decides.


@dataclass(frozen=True)
class _Sum:
    """A measure with the number of roundings of each mass at most, and what the masses left out can add to E[S_+]."""

    rows: Rows
    roundings: int
    left_out: float = 0.0


def convolved_sum(
    below: BallGparv, above: BallGparv, rough: FloatGparv, n: int, gap: float
) -> tuple[float, float] | None:
    """Return (lower, upper): E[S_+] of the law ``below`` is at least lower, that of ``above`` at most upper.

    ``rough`` is one of them in doubles. The lattice is refined until the ends, with the singular parts, are within the
    relative gap or nothing is won; None if E[S_+] is too small for doubles.

    Guarantee
    ---------
    Both ends hold whatever the lattice and the windows are. Proof: docs/proofs/convolution.md.

    >>> from flint import arb
    >>> from symamp.laws.law import BallGparv, FloatGparv
    >>> fair = BallGparv((arb(1), arb(-1)), (arb("0.5"), arb("0.5")), arb(0), arb(0))
    >>> floats = FloatGparv(np.array([1.0, -1.0]), np.array([0.5, 0.5]), 0.0, 0.0, 0.0)
    >>> [round(x, 9) for x in convolved_sum(fair, fair, floats, 4, 1e-3)]
    [0.75, 0.75]
    """
    scales = _scales(rough, n)
    if scales is None:
        return None
    unit = 2.0**rough.exponent
    scales = replace(scales, theta=scales.theta / unit, step=scales.step * unit)
    log_size = scales.log_size + rough.log_unit
    centres = {c * unit for c in scales.centres}
    sides = [(g, _masses(g, upward), upward) for g, upward in zip((below, above), _SIDES, strict=True)]
    laws = {c: [(_values(g, c, upward), masses) for g, masses, upward in sides] for c in centres}
    if not max(np.abs(x[0]).max() for both in laws.values() for x in both) * n < _LARGEST:
        return None
    alone = n * float(below.singular.lower()), n * float(above.singular.upper())
    found, width, fineness, guesses = (0.0, inf), inf, _FIRST, _GUESSES
    while fineness**2 * log2(n + 1) <= _MOST_WORK:
        log_loss = max(log_size, log(alone[1]) if alone[1] > 0.0 else -inf) + log(gap * _NEGLIGIBLE)
        tried = {
            c: [_of_atoms(*x, scales.plan(c, log_loss, fineness, x[0], up)) for x, up in zip(both, _SIDES, strict=True)]
            for c, both in laws.items()
            if c in centres
        }
        ends = {c: (low[0], high[1]) for c, (low, high) in tried.items()}
        centres = {min(ends, key=lambda c: ends[c][1] - ends[c][0])}
        found = max(found[0], *(low for low, _ in ends.values())), min(found[1], *(high for _, high in ends.values()))
        # The size may be known so poorly that too much was cut.
        shown = max(high[0] for _, high in tried.values())
        if guesses and found[1] - shown > _HALF * found[1] and log(max(found[1], _SMALLEST)) < log_size - _LESS:
            log_size, guesses = log(max(found[1], _SMALLEST)), guesses - 1
            continue
        last, width = width, found[1] + alone[1] - found[0] - alone[0]
        if not found[1] > 0.0 or width <= gap * (found[1] + alone[1]) or (fineness > _FINE and width > _STALLED * last):
            break
        log_size = log(found[1])
        fineness = max(2 * fineness, _FINE)
    return found if _SMALLEST < found[1] < inf else None


def estimated_log_sum(g: FloatGparv, n: int) -> float:
    """Return an estimate of log E[S_+], good to about a thousandth; -inf if it is too small for doubles."""
    scales = _scales(g, n)
    if scales is None:
        return -inf
    masses, centres, log_size = np.append(g.masses, g.null_mass), scales.centres, scales.log_size
    fineness = _FIRST
    for attempt in count(1):
        found = []
        for centre in centres:
            values = np.append(g.values, 0.0) - centre
            plan = scales.plan(centre, log_size + log(_ROUGH * _NEGLIGIBLE), fineness, values, upward=True)
            found.append((*_of_atoms(values, masses, plan)[::-1], centre))
        above, below, best = min(found)
        if not _SMALLEST < above < inf:
            return -inf
        size_is_known = above - below < _HALF * above or log(above) > log_size - _LESS
        log_size, centres = log(above), (best,)
        if (size_is_known and fineness > _FIRST) or attempt > _GUESSES:
            break
        fineness = 4 * _FIRST if size_is_known else _FIRST
    return log_size + g.log_unit


@dataclass(frozen=True)
class _Scales:
    """What floats say of a sum: the tilt at its saddle, log M there, its size, centres, and the scale of the sum."""

    n: int
    theta: float
    log_m: float
    log_size: float
    centres: tuple[float, ...]
    step: float

    def plan(self, centre: float, log_loss: float, fineness: int, values: Floats, upward: bool) -> _Plan:
        largest = float(np.abs(values).max())
        return _Plan(self.n, centre, self.theta, self.log_m, log_loss, self.step / fineness, fineness, largest, upward)


def _scales(g: FloatGparv, n: int) -> _Scales | None:
    """Return what a sum is about, in units of the floats; None if it has no positive value."""
    tilted = Power(g, n).tilted(saddle_tilt(Power(g, n)))
    most = n * float(g.masses @ np.maximum(g.values, 0.0))
    if not 0.0 < most < inf or not 0.0 < tilted.theta < inf:
        return None
    centres, typical = _centres(g, n)
    log_size = min(n * tilted.cumulants.k0 - log(tilted.theta) - 1.0, log(most))
    # Where one large value decides the tilted law is wide; what counts is how fast its tail falls, and most values.
    scale = min(sqrt(n) * tilted.deviation, _DEVIATIONS / tilted.theta, 2.0 * sqrt(n) * typical)
    return _Scales(n, tilted.theta, tilted.cumulants.k0, log_size, centres, scale) if scale > 0.0 else None


@dataclass(frozen=True)
class _Plan:
    """Where sums are cut and how fine they are: tilt, log M, the log of what may be lost, and the side of the bound.

    Values are those of G less the ``centre``, of which n multiples are exact. ``step`` is that of the
    sum of all, ``largest`` the largest modulus of a value.
    """

    n: int
    centre: float
    theta: float
    log_m: float
    log_loss: float
    step: float
    fineness: int
    largest: float
    upward: bool

    def edge(self, k: int) -> float:
        """Return a sum of k users from which the others hardly come back, in floats."""
        return (self.log_loss + log(self.theta) + 1.0 - (self.n - k) * self.log_m) / self.theta

    def grading(self, k: int) -> Grading:
        """Return the lattice of the sum of k users: its step grows as the deviation, at first as the range."""
        half = _WIDE * self.fineness
        step = min(self.step * sqrt(k / self.n), k * self.largest / half)
        return Grading(floor(log2(step)), half, self.upward)


def _centres(g: FloatGparv, n: int) -> tuple[tuple[float, ...], float]:
    """Return centres, about the median of G and the mean of what is not rare among n users, and the mean distance."""
    values, masses = np.append(g.values, 0.0), np.append(g.masses, g.null_mass)
    order = np.argsort(values)
    values, masses = values[order], masses[order]
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
    median = float(values[min(int(np.searchsorted(below, 0.5 * masses.sum())), len(values) - 1)])
    often = (np.minimum(below, above) * n > _RARE) | (values == median)
    mean = float(values[often] @ masses[often] / masses[often].sum())
    some = (0.0, median, mean) if n < _MANY_USERS else (median, mean)
    return tuple(dict.fromkeys(_short(x, n) for x in some)), float(np.abs(values - median) @ masses)


def _short(x: float, n: int) -> float:
    """Return about x, with so few digits that multiples up to n are exact."""
    fraction, exponent = frexp(x)
    digits = 52 - n.bit_length()
    return ldexp(round(ldexp(fraction, digits)), exponent - digits) if digits > 0 else 0.0


def _values(g: BallGparv, centre: float, upward: bool) -> Floats:
    """Return values less the centre, that of the null symbol last, rounded upward or downward."""
    rounded = float_above if upward else float_below
    return np.array([*(rounded(v - centre) for v in g.values), rounded(arb(-centre))])


def _masses(g: BallGparv, upward: bool) -> Floats:
    """Return masses, that of the null symbol last, rounded upward or downward."""
    rounded = float_above if upward else float_below
    return np.array([max(rounded(m), 0.0) for m in (*g.masses, g.null_mass)])


def _of_atoms(values: Floats, masses: Floats, plan: _Plan) -> tuple[float, float]:
    """Return E[S_+] of n draws from both sides; (0, inf) if roundings raise the mass of all too much."""
    edge = plan.edge(1) - plan.centre
    if plan.upward:
        values = np.maximum(values, edge)
    else:
        kept = values >= edge
        values, masses = values[kept], masses[kept]
    if not len(values):
        return 0.0, inf
    one = _Sum(of_atoms(values, masses, plan.grading(1)), _ROUNDINGS)
    total = sum(float(m.sum()) for _, m in one.rows.values())
    excess = plan.n * (max(total - 1.0, 0.0) + 128.0 * _UNIT)
    return _expected(one, plan, _SLACK + 2.0 * excess) if excess < _MOST_EXCESS else (0.0, inf)


def _expected(one: _Sum, plan: _Plan, whole: float) -> tuple[float, float]:
    """Return E[S_+] of n draws from both sides, ``whole`` at least the mass of all; (0, inf) if roundings count."""

    def gain(rows: Rows, k: int) -> float:
        """Return E[S_+] of k users."""
        centre = k * plan.centre
        return sum(float((np.maximum(places_of(x, row) + centre, 0.0) * row[1]).sum()) for x, row in rows.items())

    mean, lost = gain(one.rows, 1), 0.0

    def together(a: _Sum, b: _Sum, k: int) -> _Sum:
        nonlocal lost
        rows, terms = convolved(a.rows, b.rows, plan.grading(k))
        blocks = float(plan.n // k)
        costs = blocks, blocks * (gain(rows, k) + 2.0 * mean)
        rows, more = cut(rows, k * plan.centre, plan.edge(k), costs, exp(min(plan.log_loss, 600.0)), plan.upward)
        lost += more * whole
        return _Sum(rows, a.roundings + b.roundings + terms + 1)

    def of(k: int) -> _Sum:
        if k == 1:
            return one
        half = of(k // 2)
        found = together(half, half, k - k % 2)
        return together(found, one, k) if k % 2 else found

    if plan.n == 1:
        a, b = one, _Sum({plan.grading(1).base: (0, np.ones(1))}, 0)
    else:
        a = b = of(plan.n // 2)
        if plan.n % 2:
            b = together(a, one, plan.n // 2 + 1)
    value, terms = expected_positive_part(a.rows, b.rows, plan.n * plan.centre, plan.upward)
    error = (a.roundings + b.roundings + terms + 64) * _UNIT * 1.01
    if error > _MOST_ERROR:
        return 0.0, inf
    noise = _NOISE * max([1.0, *(2.0**level for level in (*a.rows, *b.rows))])
    return max(value * (1.0 - error) - noise, 0.0), (value + lost) * (1.0 + 2.0 * error) * UP + noise
