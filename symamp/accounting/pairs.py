"""Dominating pairs below and above many rounds, from the curve of each round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, floor, fsum, inf, log, sqrt
from typing import Any, Self

import sympy as sp
from flint import arb, fmpq

from symamp.accounting.curves import CurvePoints, DominatingPair, Grid, optimistic, pessimistic, points_for
from symamp.accounting.round import Aim, DirectedRound, Round, points_of
from symamp.data_sets.search import Repeated
from symamp.errors import ArgumentError, Problem, UndecidedOrderError
from symamp.formulas.order import sign
from symamp.laws.law import total
from symamp.numbers.dyadic import float_above
from symamp.numbers.limits import Limits, checked_effort
from symamp.numbers.reading import Real, relative_gap, whole_number
from symamp.numbers.surroundings import at_precision, undisturbed

# What is tuned of grids: points, each of which takes certified sums, against width. Every grid gives a bound.
LARGEST_ROUNDS = 10**6
"""More are refused."""
_BEYOND, _BEYOND_SPARSE = 1e-6, 1e-3
"""The part of delta that all losses beyond the grid may take; and where points of the upper end cost much."""
_LARGEST_EXCESS = 800.0
"""Losses that are so much larger than eps count as infinite: e^-800 is below all doubles."""
_FAR_BEYOND, _FLAT = 15.0, 1 + fmpq(1, 10_000)
"""Points so far above eps tell nothing of it, nor do those before them where the curve falls by less than this factor
up to there."""
_CENTRES, _LOG_DELTAS, _NEAR_CENTRES = 4.0, 5.0, 0.5
"""Neighbouring questions share their grid: centres to a quarter of a deviation, log delta to five; and those about
other numbers of the same rounds where centres are so near."""
_TAIL_POINTS, _SPARE_BITS = 60, 200
"""Points up to the local budget where no loss may be infinite, and how many bits below delta points are kept: rules of
thumb."""


@dataclass(frozen=True)
class RoundCurve:
    """Points of the curve of a round that is run ``count`` times; from below with the ``data_set`` and its n.

    ``width`` is the one of eps that they are for.
    """

    round: Round
    count: int
    points: CurvePoints
    floor: int
    width: float
    data_set: tuple[Repeated, int] | None = None


@dataclass(frozen=True)
class Pairs:
    """The points of all rounds on one side, and the pairs that they make; whether some were left out for the effort."""

    curves: tuple[RoundCurve, ...]
    pairs: tuple[tuple[DominatingPair, int], ...]
    limited: bool

    def near(self, eps: float) -> Pairs:
        """Return pairs that dominate, in which losses that are much larger than eps are infinite.

        Their chance counts in full at eps, but for a part of e^-15, and sums with rare losses that are much larger than
        all others take many frequencies.
        """
        curves = tuple(replace(c, points=c.points.without_far(eps + _FAR_BEYOND, _FLAT)) for c in self.curves)
        if all(a is b for a, b in zip((c.points for c in curves), (c.points for c in self.curves), strict=True)):
            return self
        return Pairs(curves, tuple((pessimistic(c.points), c.count) for c in curves), self.limited)


@dataclass(frozen=True)
class RoundPairs:
    """Rounds, each with how often it is run, and the pairs that dominate all of them or are dominated.

    Other numbers of the same rounds may share ``places``: where the first grid of a kind is, its centre and log delta.
    """

    rounds: tuple[tuple[Round, int], ...]
    places: dict[Any, tuple[float, float]] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, rounds: Iterable[tuple[Round, int]]) -> Self:
        """Return the rounds; equal rounds are counted together."""
        counts: dict[Round, int] = {}
        for found, count in rounds:
            counts[found] = counts.get(found, 0) + count
        directions = {r.direction if isinstance(r, DirectedRound) else None for r in counts}
        if len(directions) > 1:
            mixed = Problem("some rounds have another direction than others")
            raise ArgumentError("rounds", mixed, "compose each direction by itself, and take the larger answer")
        if not counts or sum(counts.values()) > LARGEST_ROUNDS:
            raise ArgumentError("rounds", sum(counts.values()), f"1 to {LARGEST_ROUNDS} rounds in all")
        return cls(tuple(counts.items()))

    @property
    def count(self) -> int:
        """How many rounds there are."""
        return sum(count for _, count in self.rounds)

    @cached_property
    def mu(self) -> float:
        """The parameter of the Gaussian approximation (not a bound): all rounds together are about mu-GDP."""
        return sqrt(fsum(count * r.deviation**2 for r, count in self.rounds))

    @undisturbed()
    def pairs(
        self,
        up: bool,
        eps: float,
        log_delta: float,
        gap: Real | None,
        tail: float = 0.0,
        *,
        even: bool = False,
        effort: str = "default",
        level: fmpq | None = None,
        rough: bool = False,
    ) -> Pairs:
        """Return points and pairs that dominate the rounds (up) or are dominated, good near eps and delta.

        One round that is asked about one ``level`` E >= 1 needs no other point above.

        ``even`` ones are for questions that are not known yet. A ``tail`` asks for further points up to the local
        budget, so that no loss is infinite that is finite; it says how small a divergence there matters, as minus its
        logarithm. ``rough`` pairs are of estimates, where rounds have these: they are no bounds.
        """
        widest = max(r.deviation for r, _ in self.rounds)
        ratio = round(eps / self.mu**2 * widest * _CENTRES) / _CENTRES / widest
        place = ratio, _LOG_DELTAS * floor(log_delta / _LOG_DELTAS)
        kind = up, composition_gap(gap), tail, even, checked_effort(effort), rough
        first = place if self.places is None else self.places.setdefault(kind, place)
        if abs(first[0] - ratio) * widest <= _NEAR_CENTRES and abs(first[1] - place[1]) <= _LOG_DELTAS:
            place = first
        alone = level if up and self.count == 1 else None
        key = (up, *place, *kind[1:5], alone, rough)
        if key not in self._made:
            self._made[key] = self._pairs(*key)
        return self._made[key]

    @cached_property
    def _made(self) -> dict[Any, Pairs]:
        return {}

    def _pairs(
        self,
        up: bool,
        ratio: float,
        log_delta: float,
        gap: float | None,
        tail: float,
        even: bool,
        effort: str,
        level: fmpq | None,
        rough: bool,
    ) -> Pairs:
        curves, limits = list[RoundCurve](), Limits.of(effort)
        widest = max(r.deviation for r, _ in self.rounds)
        bits = int(max(tail, -log_delta) / log(2.0)) + _SPARE_BITS
        for found, count in self.rounds:
            if isinstance(found, DirectedRound) and not (up or found.is_attained):
                continue
            top, s = found.top, found.deviation
            budget_ = found.budget
            centre = s * s * ratio
            left = s * sqrt(2.0 * log(1e3 * count * (1.0 + (min(budget_, 10.0) / s) ** 2))) - centre
            slow = found.is_slow and not even
            log_beyond = log_delta + log((_BEYOND_SPARSE if slow else _BEYOND) / self.count)
            end = found.end(log_beyond)
            if end == inf:  # some loss is infinite with a larger probability
                end = centre + s * sqrt(-2.0 * log_beyond)
            end = max(end, left)
            far = max(_LARGEST_EXCESS + 2.0 * ratio * self.mu**2, left)
            if not tail:
                end = min(end, far)
            reaches = tail > 0 or end >= budget_ * (1.0 - 1e-9)
            width = gap or (found.gap if up else found.gap_below)
            grid = Grid(centre, s, min(end, budget_), points_for(width), even, up and slow)
            levels, tails = (
                tuple(e for e in part if top is None or e < top)
                for part in (grid.levels(), grid.tail(_TAIL_POINTS if tail else 0, budget_))
            )
            if level is not None:
                levels, tails = tuple(e for e in sorted({fmpq(1), level}) if top is None or e < top), ()
            if isinstance(found, DirectedRound):
                log_least = log_delta + log(_BEYOND / self.count)
                sides = []
                for one, middle in ((found, centre), (found.reversed(), -centre)):
                    last = min(max(one.end(log_least), left), one.budget)
                    sides.append(Grid(middle, s, last if tail else min(last, far), points_for(width), even).levels())
                curves.append(RoundCurve(found, count, found.points(sides[0], sides[1], log_least, bits), bits, width))
                continue
            bottom = None if top is None else 1 / top
            if up:
                aim = Aim(width, 0 if even or tail else count, ratio + 0.5 / _CENTRES / widest)
                near = found.estimated(levels) if rough else found.above(levels, limits=limits, aim=aim)
                beyond = found.above(tails, far=True, limits=limits, aim=aim)
                points = tuple(p.floored(bits) for p in (*near, *beyond))
                if points and not tail:  # no digit shows that a finite loss beyond counts as infinite
                    last = max(points[0].level, 1 << ceil(far / log(2.0)))
                    points = tuple(p for p in points if p.level <= last)
                curve = CurvePoints.of_orders(points, bottom=bottom, top=top if reaches else None)
                curves.append(RoundCurve(found, count, curve, bits, width))
                continue
            worst = () if top == 1 else found.take_turns(max(centre, s / 2.0))
            for data_set in worst:
                at = (*levels, *tails)
                below = points_of(*data_set, at, top, bits, limits=limits, width=width, rough=rough)
                curves.append(RoundCurve(found, count // len(worst), below, bits, width, data_set))
        make = pessimistic if up else optimistic
        return Pairs(tuple(curves), tuple((make(c.points), c.count) for c in curves), limits.was_met)

    @cached_property
    def largest(self) -> float:
        """The largest losses of all rounds together, rounded up; inf if one has none."""
        tops = [(arb(r.top), count) for r, count in self.rounds if r.top is not None]
        if len(tops) < len(self.rounds):
            return inf
        with at_precision(128):
            return float_above(total([count * top.log() for top, count in tops]))

    def exceeds_all(self, eps: sp.Expr) -> bool:
        """Return whether eps is proved to be at least the largest losses of all rounds together."""
        ratios = [(r.ratio, count) for r, count in self.rounds]
        if any(ratio is None for ratio, _ in ratios):
            return False
        try:
            return sign(eps - sp.Add(*(count * sp.log(ratio) for ratio, count in ratios))) >= 0
        except UndecidedOrderError:
            return False

    def __str__(self) -> str:
        return " + ".join(f"{count:,} x ({found.text})" for found, count in self.rounds)


def round_count(count: object, name: str = "rounds") -> int:
    """Return how many rounds there are, as an int."""
    return whole_number(count, name, LARGEST_ROUNDS)


def composition_gap(gap: object) -> float | None:
    """Return the relative width of eps that is aimed at, from 1e-5 to 0.1; None for the default."""
    return None if gap is None else relative_gap(gap, "1e-5")
