"""Measures on graded lattices: near 0 on multiples of a small step, farther out of larger ones, in doubles.

A large value keeps its relative accuracy with few points, so that a law with rare large values takes hardly more room
than one without. Every move is one in the increasing convex order, upward by spreads and downward by contractions
(docs/proofs/convolution.md); nothing is subtracted but masses that were moved from what is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, fsum

import numpy as np

from symamp.evaluation.gparv import Floats
from symamp.evaluation.work import spend

UP, DOWN = 1.0 + 2.0**-50, 1.0 - 2.0**-50
_SAFE = 1.0 - 1e-10
_CONVOLUTION, _LEVEL, _PRODUCT = 60.0, 40.0, 0.0007  # units of work
_PASSES, _PER_LEVEL, _JAGGED, _MOST_LONGER = 4, 32, 1.5, 1

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
        key, step = (level[i], floors[i]), 2.0 ** level[i]
        point = floors[i] * step
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
        mass = fsum(run)
        if i == count and surplus > 0.0:
            key, mass = _lifted(found, key, mass, surplus / step)
        found[key] = found.get(key, 0.0) + mass * DOWN
    rows = {}
    for one in {level for level, _ in found}:
        row = {place: mass for (level, place), mass in found.items() if level == one}
        first = min(row)
        points = np.zeros(max(row) - first + 1)
        points[np.array(list(row)) - first] = list(row.values())
        rows[one] = first, points
    return rows


def _lifted(
    found: dict[tuple[int, int], float], key: tuple[int, int], mass: float, surplus: float
) -> tuple[tuple[int, int], float]:
    """Return where the last run goes: to the next point, where one above it has the mass that its mean asks for."""
    level, place = key
    for other, there in sorted(found.items()):
        if other[0] == level and other[1] > place + 1:
            needed = (mass - surplus * _SAFE) / ((other[1] - place - 1) * _SAFE)
            if 0.0 < needed <= 0.5 * there:
                found[other] = (there - needed) * DOWN
                return (level, place + 1), mass + needed
    return key, mass


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
    """Return the measure without the levels below the base; downward only where little is lost by that."""
    found = dict(rows)
    for level in range(min(found, default=grading.base), grading.base):
        here = found.pop(level, None)
        above = coarser(here, grading.upward)
        if not grading.upward and here is not None and grading.base - level <= _MOST_LONGER:
            moved = _second_moment(here) - 4.0 * (_second_moment(above) if above else 0.0)
            if moved > _JAGGED * float(here[1].sum()):
                found[level] = here
                break
        both = sum_of(above, found.get(level + 1))
        if both is not None:
            found[level + 1] = both
    return found


def _second_moment(row: Row) -> float:
    return float(np.square(row[0] + np.arange(len(row[1]), dtype=np.float64)) @ row[1])


def convolved(a: Rows, b: Rows, grading: Grading) -> tuple[dict[int, Row], int]:
    """Return (convolution, terms): that of two measures, and how many roundings a mass has undergone at most."""
    if not a or not b:
        return {}, 0
    is_square, lowest = a is b, min(*a, *b, grading.base)
    spend(_CONVOLUTION)
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
        spend(_LEVEL)
        of_a, of_b = a.get(level), b.get(level)
        here: Row | None = None
        if is_square:
            pairs = [(of_a, sum_of(of_a, carried_a and (carried_a[0], 2.0 * carried_a[1])))]
        else:
            pairs = [(sum_of(of_a, carried_a), of_b), (of_a, carried_b)]
        for first, second in pairs:
            if first is not None and second is not None:
                spend(_PRODUCT * len(first[1]) * len(second[1]))
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
            # One rounding, of places and shift alike, is made good for the side that the end is for.
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
