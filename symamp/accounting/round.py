"""One round: n shuffled users, a sample drawn from more people, or a given profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import ceil, exp, expm1, floor, inf, log, log1p, pi, sqrt
from typing import NamedTuple

import numpy as np
import sympy as sp
from flint import arb, fmpq

from symamp.accounting import curves
from symamp.bounds.bound import Evidence, MaxOverPairs, PairBound, largest_upper
from symamp.bounds.densities import SmoothPairBound
from symamp.bounds.interval import NoiseInterval
from symamp.bounds.reduction import Reduction, is_triple
from symamp.bounds.registry import CandidateBounds, OnlyBound
from symamp.data_sets.search import DataSetSearch, Repeated
from symamp.data_sets.users_who_differ import DataOfPositions, StepSums
from symamp.decompositions.to_law import rounded_fraction
from symamp.errors import PrecisionError
from symamp.laws.law import Level
from symamp.numbers.dyadic import ZERO, Dyadic, float_above
from symamp.numbers.limits import BELOW, CHEAP, FAR, NEAR, Limits
from symamp.numbers.rationals import log_ball, rational_of
from symamp.numbers.surroundings import at_precision
from symamp.questions.answer import Answer
from symamp.questions.profile import OneRound
from symamp.settings.question import Query, Question
from symamp.settings.rounds import COVERED, OF_GROUPS, Drawn, Sample
from symamp.sums.divergence import Settings
from symamp.sums.inversion import log_of_ball

# ---------------------------------------------- A round: what composition asks of it, and the round of n shuffled users

# What is tuned: the width of a curve against the time of its points, all relative. Every width gives a bound.
_NEGLIGIBLE = -(curves.LEAST_BITS + 1) * log(2.0)
_POINT, _POINT_OF_FEW = (Settings(gap=x, most_steps=25_000, negligible=_NEGLIGIBLE) for x in (1e-5, 1e-4))
_SLOW_POINT, _POINT_OF_BOXES, _OF_WIDTH, _OF_BOXES = 1e-3, 1.5e-2, 1 / 30, 9.0
"""How close the values of a round are taken: their width must stay below what a cell of the grid costs, and need be no
less than a part of the width of eps. Boxes of pairs are fewer where they are less close, and then there are more
levels: the last says by how much they may be less close than other values."""
_OF_SLOW = 4
"""At so many levels floats tell how much less a slow bound is than a fast one; elsewhere a line through them does."""
_FEW_LEVELS, _OF_FIRST, _BETWEEN = 4, 2.0, 4
"""So few are no curve; how much more the first point of a slow bound takes than others, which take over from it, if it
is not of boxes of pairs; and in how many parts fast points divide what is between far levels, where it is not, either:
there a chord is far above."""
_FEW_USERS = 1_000
"""For at most this many users kernels need many frequencies, and data sets do not attain the bounds: the values and the
levels of a curve are less fine."""
USUAL_GAP, _NOISE_GAP, _WIDEST_GAP, _SLOW_GAP = 3e-4, 1e-3, 5e-3, 1e-2
"""Widths of eps that are aimed at. Usually; of noise with a density, where sums on lattices are no closer than some
ten-thousandths of delta, and the most for few users; the most of noise; of bounds that cost a tenth of a second and
more at each point: over all data sets, which are themselves no closer than that, and of ratios without a limit."""
_SHARE = 4e-3
"""Of few users and of noise, where points cost much and data sets stay below the bound: so much of the difference
between their logarithms of delta two deviations out, which is about a fiftieth of the bracket of eps."""
_PAYS = 0.1
"""A slow bound is used if it lowers log delta by this, two deviations out: about 2% of eps."""
_UNFELT = 0.2
"""And where it may lower log delta of all rounds by this, in units of the width of eps."""
_SHARPER_BELOW = 12.0
"""How much finer the lower end is if points of the upper one are slow. A rule of thumb."""
_OF_END = 0.3
"""The gap of the search for the largest loss of a grid, about a tenth of log delta."""
_INSIDE = 0.9
"""Data sets are compared up to this part of the largest loss; beyond it they are the same."""
_TEST_BITS = 128
"""Bits of the chances of tests."""
_LEAST_VARIATION = 1e-100
"""Grids are in units of the deviation: where no two messages differ, or by less than this, it stands in."""


class Aim(NamedTuple):
    """What points of a curve are for: the ``width`` of eps, of so many rounds if these are known, under a tilt.

    ``rate`` is the part of the people of the round that takes part in it.
    """

    width: float = USUAL_GAP
    rounds: int = 0
    tilt: float = 0.0
    rate: float = 1.0

    def is_felt(self, loss: float, log_divergence: float) -> bool:
        """Return whether it may tell if the curve is 0 or this near a loss.

        Under the tilt log delta grows by the integral of tilt (1 + tilt) e^(tilt l) times what each round's curve
        grows by at losses l.
        """
        seen = log1p(self.rate * expm1(loss))
        weight = self.rounds * self.tilt * (1.0 + self.tilt) * self.rate * seen
        return weight <= 0.0 or log_divergence + self.tilt * seen > log(_UNFELT * self.width / weight)


USUAL_AIM = Aim()


class Round:
    """What composition asks of one round. Rounds are plain data: equal ones have equal curves."""

    @property
    def budget(self) -> float:
        """The eps from which on no divergence is left, rounded up; inf if there is none."""
        if self.top is None:
            return inf
        with at_precision(128):
            return float_above(arb(self.top).log())

    @property
    def text(self) -> str:
        """The round as a text."""
        raise NotImplementedError

    @property
    def covered(self) -> str:
        """What may depend on the outputs of earlier rounds."""
        return COVERED

    @property
    def ratio(self) -> sp.Expr | None:
        """The level from which on no divergence is left, as an exact number; None if there is none."""
        raise NotImplementedError

    @cached_property
    def top(self) -> fmpq | None:
        """The same as a fraction, rounded up."""
        return None if self.ratio is None else rounded_fraction(self.ratio)

    @property
    def deviation(self) -> float:
        """An estimate of the standard deviation of the loss."""
        raise NotImplementedError

    @property
    def rough_deviation(self) -> float:
        """About the same, in less time where bounds are slow."""
        return self.deviation

    @property
    def gap(self) -> float:
        """The relative width of eps aimed at by default: larger where each upper bound is costly."""
        return USUAL_GAP

    @property
    def is_slow(self) -> bool:
        """Whether points of the upper end take long."""
        return self.gap >= _SLOW_GAP

    @property
    def gap_below(self) -> float:
        """The same for the lower end."""
        return self.gap

    def end(self, log_delta: float) -> float:
        """Return an estimate of the eps at which the divergence is delta; inf if there is none."""
        raise NotImplementedError

    def above(
        self, levels: Iterable[fmpq], *, limits: Limits, far: bool = False, aim: Aim = USUAL_AIM
    ) -> tuple[curves.CurvePoint, ...]:
        """Return upper bounds at levels E >= 1 on the divergence for every ordered pair of neighbours.

        ``far`` says that they matter little, so that cheap ones will do, and ``aim`` what they are for. Where the part
        of ``limits`` that each curve has is spent, some levels have fast ones, or are left out.
        """
        raise NotImplementedError

    def is_estimated(self, up: bool) -> bool:
        """Return whether floats tell about the points of one side, in less time than these take."""
        return False

    def estimated(self, levels: Iterable[fmpq]) -> tuple[curves.CurvePoint, ...]:
        """Return about the points of ``above``, where they are estimated: no bounds."""
        raise NotImplementedError

    def below(self, eps: float) -> tuple[Repeated, int] | None:
        """Return a data set with one input x* for all others that is bad near eps, and n; None if none is known."""
        return None

    def take_turns(self, eps: float) -> tuple[tuple[Repeated, int], ...]:
        """Return data sets that are each those of an equal part of the rounds, as a rule one for all, with n."""
        found = self.below(eps)
        return () if found is None else (found,)

    def alone(self, query: Query) -> Answer | None:
        """Return the answer for one round by itself, None where nothing better than composition is known."""
        return None


@dataclass(frozen=True)
class ShuffledRound(Round):
    """One round of n users whose messages are shuffled; what was derived of one ``like`` it, of other n, serves it."""

    question: Question
    like: ShuffledRound | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __getstate__(self) -> dict[str, object]:
        """Return what travels: bounds are made again where they are needed."""
        return {name: value for name, value in vars(self).items() if name not in ("_bounds", "like")}

    @property
    def text(self) -> str:
        method = "" if self.question.method is None else f", {self.question.method}"
        victim = "" if self.question.victim is None else f", victim in group {self.question.victim}"
        return f"{self.question.subject!r}, n = {self.question.n:,}{method}{victim}"

    @property
    def covered(self) -> str:
        return OF_GROUPS if self.question.victims else COVERED

    @property
    def ratio(self) -> sp.Expr | None:
        ratio = self.question.compared_ratio()
        return None if ratio is sp.oo else ratio

    @cached_property
    def deviation(self) -> float:
        return self._deviation(self._chosen[0][1])

    @cached_property
    def rough_deviation(self) -> float:
        return self._deviation(self._bounds.first.ranked(Level.of_float(0.0), self.question.n, _search())[0])

    @property
    def gap(self) -> float:
        if self._is_slow or self.top is None:
            return _SLOW_GAP
        if isinstance(self._chosen[0][1], SmoothPairBound):
            return min(max(_NOISE_GAP, _SHARE * self._choice[1]), _WIDEST_GAP)
        return usual_gap(self.question.n, self._choice[1])

    @property
    def gap_below(self) -> float:
        return max(USUAL_GAP, self.gap / _SHARPER_BELOW) if self._is_slow and self.top is not None else self.gap

    def accuracy(self, width: float) -> Settings:
        """Return how close the values of the curve are taken for a width of eps."""
        return _settings(self.question.n, width)

    def end(self, log_delta: float) -> float:
        whole = floor(log_delta)  # near questions share it
        if whole not in self._ends:
            try:
                # Farther than that of a slow bound.
                rough = replace(_search().rough, gap=_OF_END)
                self._ends[whole] = self._chosen[-1][0].root(self.question.n, whole, rough)[0]
            except PrecisionError:  # a root next to the local budget, where floats see no difference
                self._ends[whole] = inf
        return self._ends[whole]

    @cached_property
    def _ends(self) -> dict[int, float]:
        return {}

    def above(
        self, levels: Iterable[fmpq], *, limits: Limits, far: bool = False, aim: Aim = USUAL_AIM
    ) -> tuple[curves.CurvePoint, ...]:
        """Return upper bounds at levels E >= 1 on the divergence for every ordered pair of neighbours.

        Guarantee
        ---------
        ``high`` is at least D_E of the shuffled reports of every two neighbouring data sets, in both orders.
        Proof: docs/proofs/blanket_reduction.md, docs/proofs/all_data_sets.md, docs/proofs/interval.md,
        docs/proofs/users_who_differ.md, docs/proofs/kernel_sandwich.md.
        """
        levels, accuracy = tuple(levels), self.accuracy(aim.width)

        def point(level: fmpq, limits: Limits, *, far: bool) -> curves.CurvePoint:
            found, work = self._evaluated(level, accuracy, far=far)
            limits.charge(work)
            return curves.CurvePoint.of_ends(level, ZERO, largest_upper(found))

        own = limits.part(FAR if far else NEAR)
        if far or len(self._chosen) == 1 or not levels:
            return curves.descend(levels, lambda e: point(e, own, far=far), accuracy.gap, own)
        # As many as there is time for, by what the middle one takes; they end where the fast bound hardly matters.
        fewest = min(len(levels), _FEW_LEVELS)
        last = max(len(levels) - 2, fewest)
        while last > fewest and not self._is_felt(levels[last - 1], aim):
            last -= 1
        is_boxes = isinstance(self._chosen[0][1], NoiseInterval)
        parts = 1 if is_boxes else _BETWEEN
        inside = levels[:last]
        ends = [a + (b - a) * k / parts for a, b in pairwise(levels[last - 1 :]) for k in range(1, parts + 1)]
        middle = inside[-(len(inside) // 2)]
        work = self._evaluated(middle, accuracy, far=False)[1]
        some = curves.spread(inside, (1.0 if is_boxes else _OF_FIRST) * own.most / max(work, 1.0))
        slow = curves.descend(some, lambda e: point(e, own, far=False), accuracy.gap, own)
        found = {point(middle, own, far=False), *slow, *(point(e, own, far=True) for e in ends)}
        if len(some) == len(inside) and not own.was_met:
            return tuple(sorted(found, key=lambda p: p.level))
        own.charge(own.most)
        own.is_spent()  # more effort has more of them
        known, more = {p.level: p for p in found}, limits.part(CHEAP)
        cheap = curves.descend(levels, lambda e: known.get(e) or point(e, more, far=True), accuracy.gap, more)
        return tuple(sorted({*found, *cheap}, key=lambda p: p.level))

    def _is_felt(self, level: fmpq, aim: Aim) -> bool:
        """Return whether it may tell how far a slow bound is below the fast one."""
        value = self._chosen[-1][1].log_estimate(level_at(level), self.question.n, _POINT.rough)
        return aim.is_felt(log1p(level_at(level).rough_minus_one()), value)

    def is_estimated(self, up: bool) -> bool:
        is_quick = not self.is_slow or isinstance(self._chosen[0][1], NoiseInterval)
        return is_quick if up else not self.question.victims

    def estimated(self, levels: Iterable[fmpq]) -> tuple[curves.CurvePoint, ...]:
        (_, fast), *slow = self._chosen[::-1]
        levels = tuple(levels)
        logs = np.array(_log_estimates(fast, levels, self.question.n))
        for _, part in slow if levels else ():  # how much less it is hardly bends, but far out, where it matters little
            step = ceil(len(levels) / _OF_SLOW)
            found = _log_estimates(part, levels[::step], self.question.n)
            losses = np.log1p([level_at(e).rough_minus_one() for e in levels])
            less = np.array(found) + 2.0 * _POINT_OF_BOXES - logs[::step]  # boxes are less close than estimates say
            logs += np.minimum(np.polyval(np.polyfit(losses[::step], less, len(less) - 1), losses), 0.0)
        return _rough_points(levels, logs.tolist())

    def evidence(self, level: fmpq, width: float = USUAL_GAP) -> tuple[Evidence, ...]:
        """Return certified evaluations of a bound at a level E >= 1; the largest upper end bounds all pairs.

        It is the least bound, or a fast one where no other was evaluated for this width.
        """
        accuracy = self.accuracy(width)
        far = (level, accuracy, True) in self._known and (level, accuracy, False) not in self._known
        return self._evaluated(level, accuracy, far=far)[0]

    def _evaluated(self, level: fmpq, accuracy: Settings, *, far: bool) -> tuple[tuple[Evidence, ...], float]:
        """Return evidence with the work it took, the first time: levels do not depend on what was asked before."""
        if (level, accuracy, far) in self._known:
            return self._known[level, accuracy, far]
        limits = Limits()
        at, best = level_at(level), tuple[Evidence, ...]()
        some = self._chosen[-1:] if far else self._chosen[::-1]
        by_boxes = isinstance(some[-1][1], NoiseInterval)
        for bound, part in some[::-1] if by_boxes else some:
            if (
                by_boxes
                and best
                and log_of_ball(largest_upper(best).ball) < part.log_estimate(at, self.question.n, accuracy.rough)
            ):
                break  # what takes long is not evaluated where boxes are less by an estimate
            first = part if part in bound.parts else None
            slow = part.estimate_error > 0.0
            boxes = max(_POINT_OF_BOXES, _OF_BOXES * accuracy.gap)
            own = boxes if isinstance(part, NoiseInterval) else _SLOW_POINT if slow else accuracy.gap
            settings = replace(accuracy, gap=own, above=True).under(limits)
            with suppress(PrecisionError) if best else nullcontext():
                found = tuple(bound.evidence(at, self.question.n, settings, None, first, best))
                best = min((e for e in (found, best) if e), key=largest_upper)
        self._known[level, accuracy, far] = best, limits.spent
        return self._known[level, accuracy, far]

    def below(self, eps: float) -> tuple[Repeated, int] | None:
        level = Level.of_float(min(eps, _INSIDE * self.budget))
        found = self._data_sets.repeatable(level, self.question.n, _search())
        return None if found is None else (found, self.question.n)

    def alone(self, query: Query) -> Answer | None:
        return OneRound(self.question).answer(query)

    @cached_property
    def _known(self) -> dict[tuple[fmpq, Settings, bool], tuple[tuple[Evidence, ...], float]]:
        """What was evaluated before, with its work: a certificate repeats no search."""
        return {}

    def log_estimate(self, level: Level) -> float:
        """Return about the logarithm of the least bound at a level, in floats. Not a bound."""
        return min(part.log_estimate(level, self.question.n, _search()) for _, part in self._chosen)

    @property
    def _is_slow(self) -> bool:
        return self._chosen[0][1].estimate_error > 0.0

    @cached_property
    def _data_sets(self) -> DataSetSearch:
        return self.like._data_sets if self.like else DataSetSearch(self.question.victims or self.question.subject)

    @cached_property
    def _bounds(self) -> CandidateBounds:
        if self.like:
            return self.like._bounds
        if self.question.victims:  # whoever it is, of all groups that are asked about
            return OnlyBound(MaxOverPairs.of(p for v in self.question.victims for p in v.bound.parts))
        return CandidateBounds(self.question.subject, self.question.method, many=True)

    @property
    def _chosen(self) -> tuple[tuple[MaxOverPairs, PairBound], ...]:
        return self._choice[0]

    @cached_property
    def _choice(self) -> tuple[tuple[tuple[MaxOverPairs, PairBound], ...], float]:
        """The least bound two deviations out of those whose values cost little, or the one that was asked for.

        A slow bound comes before it if it helps: the smaller of both bounds at each level is a bound. And by how much
        the logarithm of delta is larger there than that of the data sets that are the worst.
        """
        ladder, n, settings = self._bounds, self.question.n, _search()
        level = Level.of_float(min(2.0 * self.rough_deviation, self.budget / 2.0))
        low, _ = self._data_sets.largest_value(level, n, settings)
        value, bound, part = ladder.least_value(level, n, settings, low, exact=True)
        if value > low + _PAYS:
            least, slow, slow_part = ladder.least_value(level, n, settings, low)
            if least < value - _PAYS:
                return ((slow, slow_part), (bound, part)), least - low
        return ((bound, part),), value - low if value > low else 0.0

    def _deviation(self, part: PairBound) -> float:
        return deviation_of(exp(part.log_estimate(Level.of_float(0.0), self.question.n, _search().rough)))


@dataclass(frozen=True)
class RoundAbove(ShuffledRound):
    """A round of which only upper bounds are used: what is asked about reveals less."""

    def is_estimated(self, up: bool) -> bool:
        return up and super().is_estimated(up)

    def below(self, eps: float) -> tuple[Repeated, int] | None:
        return None

    def alone(self, query: Query) -> Answer | None:
        return None


def _search() -> Settings:
    """Return the accuracy and the limits of a search in floats, of which a round makes few, whatever it is asked."""
    return Settings(limits=Limits.of("default"))


def usual_gap(n: int, excess: float) -> float:
    """Return a width of eps for n users where log delta of the upper end exceeds that of data sets by so much."""
    return USUAL_GAP if n > _FEW_USERS else min(max(USUAL_GAP, _SHARE * excess), _NOISE_GAP)


def deviation_of(variation: float) -> float:
    """Return the standard deviation of the normal loss with this total variation, and something where that is 0."""
    return min(max(variation, _LEAST_VARIATION), 0.8) * sqrt(2.0 * pi)


def level_at(e: fmpq) -> Level:
    """Return the level whose E is a fraction."""
    return Level(lambda: log_ball(e), lambda: f"log({e})", e)


def is_symmetric(found: Repeated) -> bool:
    """Return whether both orders of the data sets have the same law; of users who differ it is not looked for."""
    if isinstance(found, DataOfPositions | StepSums):
        return False
    reduction = found if isinstance(found, Reduction) else found.seen
    rational = reduction.law.rational
    if rational is not None:
        other = rational.swapped()
        return set(other.atoms) == set(rational.atoms) and set(other.singular) == set(rational.singular)
    return reduction.swapped().decomposition.signature() == reduction.decomposition.signature()


def points_of(
    found: Repeated,
    n: int,
    levels: Iterable[fmpq],
    top: fmpq | None,
    bits: int,
    *,
    limits: Limits,
    width: float,
    rough: bool = False,
) -> curves.CurvePoints:
    """Return enclosures of the divergence of a data set of n users at E >= 1 and, from the other order, at 1/E.

    Ends below 2^-bits are moved outward. Where the part of ``limits`` for it is spent levels are left out. ``width`` is
    that of eps which is aimed at. ``rough`` points are estimates, not bounds.
    """
    levels, orders = tuple(levels), [found]
    if isinstance(found, StepSums):
        return curves.CurvePoints.of_tests(_tests(found, levels, bits))
    if not is_symmetric(found):
        orders.append(found.swapped())
    parts = [(order, limits.part(BELOW / len(orders))) for order in orders]
    right, *left = (
        estimates(order, levels, n) if rough else _descended(order, levels, n, bits, _settings(n, width).under(part))
        for order, part in parts
    )
    return curves.CurvePoints.of_orders(right, *left, bottom=None if top is None else 1 / top, top=top)


def _tests(found: StepSums, levels: tuple[fmpq, ...], bits: int) -> Iterator[tuple[fmpq, fmpq]]:
    """Yield (p, q): a set of views has at least the chance p in the first data set, and at most q in the second."""
    for order in (found, found.swapped()):
        for low, high in order.chances([level_at(e) for e in levels]):
            with at_precision(_TEST_BITS):
                p, q = (Dyadic.of(x).fraction for x in ((low * 1).lower(), (high * 1).upper()))
            if p > fmpq(1, 1 << bits) and q < 1:  # the complement tells as much in the other order
                yield (p, q) if order is found else (1 - q, 1 - p)


def evidence_below(found: Repeated, level: Level, n: int, width: float) -> Evidence:
    """Return the evaluation of a data set of n users at a level, for a width of eps."""
    return Evidence.of(found, level, found.enclose(level, n, _settings(n, width)))


def estimates(part: PairBound, levels: Sequence[fmpq], n: int) -> tuple[curves.CurvePoint, ...]:
    """Return about the points of a bound, or of data sets, at levels E >= 1, in floats: no bounds."""
    return _rough_points(levels, _log_estimates(part, levels, n))


def _log_estimates(part: PairBound, levels: Iterable[fmpq], n: int) -> list[float]:
    return [part.log_estimate(level_at(e), n, _POINT.rough) for e in levels]


def _rough_points(levels: Sequence[fmpq], logs: Sequence[float]) -> tuple[curves.CurvePoint, ...]:
    values = ((e, Dyadic.of_float(exp(min(x, 0.0)))) for e, x in zip(levels, logs, strict=True))
    return tuple(curves.CurvePoint.of_ends(e, x, x) for e, x in values)


def _settings(n: int, width: float) -> Settings:
    return (_POINT_OF_FEW if n <= _FEW_USERS else _POINT).at_least(_OF_WIDTH * width)


def _descended(
    order: Repeated, levels: tuple[fmpq, ...], n: int, bits: int, settings: Settings
) -> tuple[curves.CurvePoint, ...]:
    def point(e: fmpq) -> curves.CurvePoint:
        found = order.enclose(level_at(e), n, settings)
        return curves.CurvePoint.of_ends(e, *found.ends).floored(bits)

    return curves.descend(levels, point, settings.gap, settings.limits)


# -------------------- A round whose two worlds keep their order: one direction of composition, enclosed from both sides


class DirectedRound(Round):
    """A round with one order of the two worlds, the same in every round, and a divergence that is enclosed.

    Each direction is composed by itself, which is exact where no query can exchange the worlds. Both ends of many
    rounds are those of the pair of this round, which some data attain unless ``is_attained`` is False.
    """

    direction: str
    """The name of the order: rounds of different ones are not composed."""
    is_attained: bool
    """Whether some data have the divergence of the pair; else only upper ends are theirs."""

    def enclose(self, level: Level, log_least: float) -> tuple[Dyadic, Dyadic]:
        """Return a lower and an upper end of the divergence at a level E >= 1; e^log_least is too small to matter."""
        raise NotImplementedError

    @property
    def infinite(self) -> fmpq:
        """A chance that the loss of the pair is infinite: at least this is left at every level."""
        return fmpq(0)

    def rough_log(self, eps: float) -> float:
        """Return about the logarithm of the divergence, in doubles; 0 where no estimate is at hand."""
        return 0.0

    def reversed(self) -> DirectedRound:
        """Return the round with the other order."""
        raise NotImplementedError

    def points(self, right: Iterable[fmpq], left: Iterable[fmpq], log_least: float, bits: int) -> curves.CurvePoints:
        """Return enclosures at levels E >= 1 and, from the other order, at 1/E for others."""

        def found(one: DirectedRound, levels: Iterable[fmpq]) -> tuple[curves.CurvePoint, ...]:
            def point(e: fmpq) -> curves.CurvePoint:
                return curves.CurvePoint.of_ends(e, *one.enclose(level_at(e), log_least)).floored(bits)

            return curves.descend(tuple(e for e in levels if one.top is None or e < one.top), point, _POINT.gap)

        other = self.reversed()
        orders, bottom = (found(self, right), found(other, left)), None if other.top is None else 1 / other.top
        return curves.CurvePoints.of_orders(*orders, bottom=bottom, top=self.top, least=self.infinite)


# -------------------- A round that was analysed elsewhere: upper bounds on its privacy profile, taken as they are given


@dataclass(frozen=True)
class GivenRound(Round):
    """A round of which upper bounds at some levels E >= 1 are given, for both orders of neighbours. No lower side."""

    points: tuple[curves.CurvePoint, ...]
    name: str = "given profile"

    @property
    def text(self) -> str:
        return self.name

    @property
    def ratio(self) -> sp.Rational | None:
        return next((rational_of(p.level) for p in self.points if p.high == 0), None)

    @property
    def deviation(self) -> float:
        high = curves.pessimistic(curves.CurvePoints.of_orders(self.points)).divergence(fmpq(1))
        with at_precision(64):
            return deviation_of(float(arb(high)))

    def end(self, log_delta: float) -> float:
        with at_precision(64):
            for p in self.points:
                if p.high == 0 or float(arb(p.high).log()) <= log_delta:
                    return float(arb(p.level).log())
        return inf

    def above(
        self, levels: Iterable[fmpq], *, limits: Limits, far: bool = False, aim: Aim = USUAL_AIM
    ) -> tuple[curves.CurvePoint, ...]:
        """Return the points that were given, whatever the levels; none of them is far."""
        return () if far else self.points


# ---------------------------- A round in which only a random part of the people take part: sampling without replacement


_DEVIATIONS = 2.0, 5.0
"""Where the bounds of a sample are compared, in deviations of the loss: near the eps of many rounds, and of one."""


@dataclass(frozen=True)
class _ChosenForSample:
    """A bound on the sample itself with its largest part, if it helps; whether that of the unsampled round does.

    ``excess`` is by how much the logarithm of delta of the former is larger than that of a data set, ``deviation``
    about that of its losses.
    """

    bound: MaxOverPairs | None
    part: PairBound | None
    unsampled: bool
    excess: float
    deviation: float


@dataclass(frozen=True)
class SampledRound(Round):
    """A round of the n users drawn from ``of`` people, uniformly and without replacement, anew in every round."""

    base: ShuffledRound
    n: int
    of: int

    @property
    def rate(self) -> fmpq:
        """The probability that one of them takes part."""
        return fmpq(self.n, self.of)

    @property
    def text(self) -> str:
        return f"{self.base.text}, sampled from {self.of:,}"

    @property
    def ratio(self) -> sp.Expr | None:
        return None if self.base.ratio is None else 1 + rational_of(self.rate) * (self.base.ratio - 1)

    @property
    def deviation(self) -> float:
        return self.base.deviation * self.n / self.of if self._chosen.unsampled else self._chosen.deviation

    @property
    def gap(self) -> float:
        return self.base.gap if self._chosen.unsampled else usual_gap(self.n, self._chosen.excess)

    @property
    def gap_below(self) -> float:
        return self.base.gap_below if self._chosen.unsampled else self.gap

    def end(self, log_delta: float) -> float:
        ends = []
        if self._chosen.bound is not None:
            ends.append(self._chosen.bound.root(self.n, log_delta, _search().rough)[0])
        if self._chosen.unsampled:
            inner = self.base.end(log_delta - log(self.n / self.of))
            ends.append(inner if inner == inf else log1p(self.n / self.of * expm1(inner)))
        return min(ends)

    def above(
        self, levels: Iterable[fmpq], *, limits: Limits, far: bool = False, aim: Aim = USUAL_AIM
    ) -> tuple[curves.CurvePoint, ...]:
        """Return upper bounds at levels E >= 1 on the divergence for every ordered pair of neighbours.

        Guarantee
        ---------
        ``high`` is at least D_E of the outputs of every two neighbouring data sets, in both orders: by a bound on the
        sample itself, or the rate times the bound of the unsampled round at 1 + (E - 1)/rate.
        Proof: docs/proofs/composition.md, section 4.
        """
        levels, found = tuple(levels), list[curves.CurvePoint]()
        if self._chosen.bound is not None:
            own = limits.part(FAR if far else NEAR)

            def point(level: fmpq) -> curves.CurvePoint:
                evidence, work = self._evaluated(level, aim.width)
                own.charge(work)
                return curves.CurvePoint.of_ends(level, ZERO, largest_upper(evidence))

            found += curves.descend(levels, point, self.base.accuracy(aim.width).gap, own)
        if self._chosen.unsampled:
            inner = aim._replace(rate=aim.rate * self.n / self.of)
            found += self._seen(self.base.above(self._inner(levels), far=far, limits=limits, aim=inner))
        return _least_of_levels(found)

    def is_estimated(self, up: bool) -> bool:
        return not (up and self._chosen.unsampled) or self.base.is_estimated(up)

    def estimated(self, levels: Iterable[fmpq]) -> tuple[curves.CurvePoint, ...]:
        levels, part = tuple(levels), self._chosen.part
        found = [] if part is None else list(estimates(part, levels, self.n))
        found += self._seen(self.base.estimated(self._inner(levels))) if self._chosen.unsampled else ()
        return _least_of_levels(found)

    def evidence(self, level: fmpq, high: fmpq, width: float = USUAL_GAP) -> tuple[Evidence, ...] | None:
        """Return certified evaluations of the bound on the sample itself; None where that is not at most ``high``."""
        known = self._known.get((level, self.base.accuracy(width)))
        return known[0] if known is not None and largest_upper(known[0]).fraction <= high else None

    def _evaluated(self, level: fmpq, width: float) -> tuple[tuple[Evidence, ...], float]:
        """Return evidence with the work it took, the first time."""
        accuracy, bound, part = self.base.accuracy(width), self._chosen.bound, self._chosen.part
        assert bound is not None
        if (level, accuracy) not in self._known:
            limits, first = Limits(), part if part in bound.parts else None
            found = bound.evidence(level_at(level), self.n, accuracy.under(limits), None, first)
            self._known[level, accuracy] = found, limits.spent
        return self._known[level, accuracy]

    @cached_property
    def _known(self) -> dict[tuple[fmpq, Settings], tuple[tuple[Evidence, ...], float]]:
        return {}

    def _inner(self, levels: Iterable[fmpq]) -> list[fmpq]:
        """Return the levels of the unsampled round that tell of levels of this one."""
        return [1 + (e - 1) / self.rate for e in levels]

    def _seen(self, inner: Iterable[curves.CurvePoint]) -> tuple[curves.CurvePoint, ...]:
        """Return the points of this round from those of the unsampled one."""
        return tuple(curves.CurvePoint(1 + self.rate * (p.level - 1), fmpq(0), self.rate * p.high) for p in inner)

    @cached_property
    def _made(self) -> tuple[MaxOverPairs, ...]:
        question = self.base.question
        return tuple(Sample(question.subject, self.n, self.of).above(question.method))

    def _largest(self, bound: MaxOverPairs, eps: float) -> tuple[float, PairBound]:
        level, settings = Level.of_float(eps), _search()
        part = bound.ranked(level, self.n, settings)[0]
        return part.log_estimate(level, self.n, settings.usual), part

    @cached_property
    def _chosen(self) -> _ChosenForSample:
        """The bounds that are the least near eps or far out."""
        if not self._made:
            return _ChosenForSample(None, None, True, 0.0, 0.0)
        deviation = min(deviation_of(exp(self._largest(bound, 0.0)[0])) for bound in self._made)
        near, far = (min(x * deviation, self.budget / 2.0) for x in _DEVIATIONS)
        found = [(*self._largest(bound, near), bound) for bound in self._made]
        value, part, bound = min(found, key=lambda x: x[0])
        worst = self.below(near)
        low = -inf if worst is None else worst[0].log_estimate(Level.of_float(near), self.n, _search())
        own, other = (value, self._largest(bound, far)[0]), list[float]()
        if value > low + _PAYS:
            at = (log1p(expm1(x) * self.of / self.n) for x in (near, far))
            other = [self.base.log_estimate(Level.of_float(x)) + log(self.n / self.of) for x in at]
        excess = value - low if -inf < low < value else 0.0
        if other and all(x < y for x, y in zip(other, own, strict=True)):
            return _ChosenForSample(None, None, True, excess, deviation)
        is_less = any(x < y for x, y in zip(other, own, strict=False))
        return _ChosenForSample(bound, part, is_less, excess, deviation)

    def below(self, eps: float) -> tuple[Repeated, int] | None:
        """Return the data set of the unsampled round, seen through the sampling, and n."""
        found = self.base.below(log1p(expm1(eps) * self.of / self.n))
        if found is None:
            return None
        triple, at = found[0], Level.of_float(eps)
        assert is_triple(triple)  # of those who are drawn everyone takes part
        # Where a sample is small one order is much worse than the other.
        drawn = (Drawn.of(order, sp.Rational(self.n, self.of)) for order in (triple, triple.swapped()))
        return max(drawn, key=lambda x: x.log_estimate(at, found[1], _search())), found[1]


def _least_of_levels(points: Iterable[curves.CurvePoint]) -> tuple[curves.CurvePoint, ...]:
    least = dict[fmpq, curves.CurvePoint]()
    for p in sorted(points, key=lambda p: (p.level, -p.high)):
        least[p.level] = p
    return tuple(least.values())
