"""Many rounds: brackets, curves, Renyi divergences and trade-off functions of all of them, for adaptive queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, fsum, inf, sqrt
from typing import Any

import sympy as sp
from flint import arb, fmpq

from symamp.accounting import losses
from symamp.accounting.curves import CurvePoints, curve_above
from symamp.accounting.exports import (
    EXPORT_EFFORT,
    event_classes,
    loss_distribution,
    opendp_profile,
    profile_callable,
    to_document,
)
from symamp.accounting.pairs import RoundCurve, RoundPairs, composition_gap, round_count
from symamp.accounting.renyi import RenyiCurve, renyi_curve, renyi_epsilon
from symamp.accounting.round import USUAL_GAP, DirectedRound, Round
from symamp.accounting.rounds_proof import RoundsProof, Side
from symamp.accounting.tradeoff import TradeOff, composed_above, trade_off
from symamp.certificates.text import exact_double, expression_text
from symamp.errors import ArgumentError, PrecisionError, Problem
from symamp.numbers.dyadic import INFINITE, ZERO, Dyadic
from symamp.numbers.reading import Count, Real, failure_probability
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.public_names import PublicNames
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval
from symamp.questions.curve import HasCurve
from symamp.questions.risk import RATES, Accusation, Risk, risk_of
from symamp.settings.question import Query, Question
from symamp.settings.rounds import Rounds
from symamp.sums.inversion import log_of

EXPORT_DELTA = "1e-12"
"""How far the tails matter where it is not said."""
_DELTA_PER_WIDTH = 3.0
"""What sums over frequencies may leave open of delta, in units of the width of eps: a rule of thumb."""
_LEAST_BITS, _BITS, _BITS_APART = 64, 256, 100
"""Of what is proved by the largest losses alone; and by which part of its distance from 1 a level is rounded down."""
_LARGEST_EPS, _SMALL = 700.0, -250.0
"""Beyond the first levels are long fractions; and the logarithm of a delta that all rounds tell of."""


class Exported(PublicNames):
    """A base class for rounds of any kind, or training: what an attacker gains, and bounds on their curve for others.

    Of training each order of the two worlds has rounds of its own, of other rounds both share them.
    """

    @property
    def _words(self) -> str:
        """What they are."""
        raise NotImplementedError

    @property
    def _orders(self) -> list[RoundPairs]:
        """The rounds that dominate in each order."""
        raise NotImplementedError

    def _tradeoffs(self, levels: tuple[object, ...], gap: Real | None, effort: str) -> list[TradeOff]:
        """Return the trade-off function of each order, closest at the levels."""
        raise NotImplementedError

    def _points(self, delta: Real) -> CurvePoints:
        """Return bounds above both orders, down to about delta."""
        raise NotImplementedError

    @undisturbed()
    def risk(
        self, *, prior: Real = "1/2", rates: Iterable[object] = RATES, gap: Real | None = None, effort: str = "default"
    ) -> Risk:
        """Return what an attacker gains from all outputs: certified ranges, of both orders of neighbours the larger.

        ``prior`` is the probability, before, of the input (in training: the world) that is accused, ``rates`` are false
        positive rates; ``gap`` and ``effort`` are those of ``tradeoff``.

        Guarantee
        ---------
        No attacker on neighbouring data sets exceeds the upper ends; on some, an attacker reaches the lower ones.
        Proof: docs/proofs/risk.md, with docs/proofs/random_allocation.md for training.

        >>> import symamp as sa
        >>> risk = sa.profile(sa.RandomizedResponse(k=16, eps0=6), n=10**6).rounds(30).risk(rates=["0.01"], gap="0.1")
        >>> 0.055 < risk.advantage.lower < risk.advantage.upper < 0.063
        True
        """
        accused = Accusation.of(prior, rates)
        found = self._tradeoffs(tuple(name for name, _ in accused.rates), gap, effort)
        return Risk.largest([risk_of(self._words, f.above, f.below, accused) for f in found])

    def to_dp_accounting(self, *, interval: float | None = None, delta: Real = EXPORT_DELTA) -> Any:
        """Return all rounds as a ``PrivacyLossDistribution`` of dp_accounting, pessimistic, for both orders.

        ``interval`` is the step of its lattice (None: a twentieth of the least deviation of a round's loss), ``delta``
        how small a probability matters. The values on the lattice are upper bounds, so that eps is as a rule some
        hundredths of a per cent above the ``upper`` of ``epsilon``; what dp_accounting rounds is not controlled. Needs
        the package dp-accounting.

        >>> import symamp as sa
        >>> month = sa.profile(sa.RandomizedResponse(k=16, eps0=6), n=10**6).rounds(30)
        >>> 0.76 < month.to_dp_accounting().get_epsilon_for_delta(1e-8) < 0.78
        True
        """
        return loss_distribution(self._orders, interval, delta)

    @undisturbed()
    def to_callable(self, *, delta: Real = EXPORT_DELTA) -> Callable[[float], float]:
        """Return delta as a function of eps, an upper bound everywhere: chords of certified values, rounded up.

        ``delta`` says how far down the values go; below, the function is constant. The curve is convex, so its chords
        lie above it: at the ``upper`` of an answer for eps the function is as a rule up to some per cent above the
        delta asked for, and the least eps that it allows up to some tenths of a per cent above ``upper``. ``to_opendp``
        and ``to_dict`` hand on the same chords.

        Guarantee
        ---------
        All rounds together are (eps, delta)-private for adaptive queries, for delta the value at any eps >= 0.
        Proof: docs/proofs/composition.md, section 2.

        >>> import symamp as sa
        >>> month = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).rounds(30)
        >>> 0.94e-8 < month.to_callable(delta="1e-9")(0.0165) < 0.95e-8
        True
        """
        return profile_callable(curve_above(self._points(delta)))

    def to_opendp(self, *, delta: Real = EXPORT_DELTA) -> Any:
        """Return all rounds as a ``PrivacyProfile`` of opendp, made of the callable. Needs the package opendp."""
        return opendp_profile(lambda: self.to_callable(delta=delta))

    @undisturbed()
    def to_dict(self, *, delta: Real = EXPORT_DELTA) -> dict[str, Any]:
        """Return upper bounds of all rounds together at some levels as JSON-ready data, exact fractions throughout.

        ``GivenProfile.from_dict`` reads it as one round.

        >>> import symamp as sa
        >>> profile = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6)
        >>> again = sa.GivenProfile.from_dict(profile.to_dict())
        >>> abs(again.rounds(100).epsilon("1e-8").upper / 0.030937 - 1) < 1e-3
        True
        """
        return to_document(self._words, [p for p in self._points(delta).points if p.level >= 1])


class Accounted(Exported):
    """A base class for rounds of any kind: what their curves say of all of them together, and exports."""

    @property
    def _all(self) -> RoundPairs:
        raise NotImplementedError

    def renyi(
        self, order: object | Sequence[object], *, gap: Real | None = None, effort: str = "default"
    ) -> RenyiCurve:
        """Return certified brackets of the Renyi divergence at an order above 1, or at several.

        ``gap`` is about half of the relative width.

        >>> import symamp as sa
        >>> print(sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).renyi([2, 64], gap=1e-3))
        1 x (RandomizedResponse(k=10, eps0=1), n = 1,000,000)
        order 2: [5.03...e-07, 5.04...e-07]
        order 64: [0.0000161..., 0.0000161...]
        """
        return renyi_curve(self._all, list(order) if isinstance(order, list | tuple) else [order], gap, effort)

    def renyi_epsilon(self, delta: Real, *, gap: Real | None = None, effort: str = "default") -> float:
        """Return the eps that follows from a Renyi divergence: valid, and larger than that of ``epsilon``."""
        return renyi_epsilon(self._all, delta, gap, effort)

    def tradeoff(
        self, level: object | Sequence[object] = (), *, gap: Real | None = None, effort: str = "default"
    ) -> TradeOff:
        """Return the trade-off function, bracketed, with its bounds at a level, or at several.

        >>> import symamp as sa
        >>> f = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**4).tradeoff("0.1", gap=1e-2)
        >>> 0.89 < f.lower[0] <= f.upper[0] < 0.9
        True
        """
        return trade_off(self._all, tuple(level) if isinstance(level, list | tuple) else (level,), gap, effort)

    def to_dp_event(self) -> Any:
        """Return all rounds as a ``DpEvent`` of dp_accounting, for accountants made by ``symamp.pld_accountant``."""
        return event_classes()[0](_of_both_orders(self._all))

    @property
    def _words(self) -> str:
        return self._all.rounds[0][0].text if self._all.count == 1 else str(self._all)

    @property
    def _orders(self) -> list[RoundPairs]:
        return [_of_both_orders(self._all)]

    def _tradeoffs(self, levels: tuple[object, ...], gap: Real | None, effort: str) -> list[TradeOff]:
        _of_both_orders(self._all)
        return [self.tradeoff(levels, gap=gap, effort=effort)]

    def _points(self, delta: Real) -> CurvePoints:
        return points_above(_of_both_orders(self._all), delta)


def points_above(rounds: RoundPairs, delta: Real) -> CurvePoints:
    """Return bounds on the divergence of all rounds together, down to about delta: at E >= 1 those of their order."""
    log_delta = log_of(failure_probability(delta))
    if rounds.count == 1:
        return rounds.pairs(True, 0.0, log_delta, None, even=True, effort=EXPORT_EFFORT).curves[0].points
    return composed_above(rounds, log_delta)


@dataclass(frozen=True)
class Composition(HasCurve, Accounted):
    """Rounds, each with how often it is run, composed adaptively.

    Covered: mechanisms, users (at least n) and all inputs may depend on the outputs of earlier rounds; fresh randomness
    in each round; stopping early. Not covered: randomness that is kept for later rounds (memoisation), and budgets
    that are chosen from the transcript.

    A single round is answered as by ``symamp.epsilon``. ``gap`` is the width that the accounting adds; if the bounds of
    one round differ, so do those of many, and ``gap_limited_by`` says so. By default ``gap`` is

    - 3e-4, and up to 1e-3 for at most a thousand users;
    - 1e-3 to 5e-3 for noise with a density, about a fiftieth of the bracket of one round;
    - 1e-2 above and 8e-4 below if the upper end uses a bound that is slow at each point ("all_data_sets", "interval",
      "two_messages"), as it does where that lowers eps by 2% or more, and for noise without a local budget.

    ``effort`` ("quick", "default", "thorough") limits the number of points of each end. If the limit is reached,
    ``limited`` is True and "thorough" may be some percent narrower.

    >>> import symamp as sa
    >>> rounds = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).rounds(1000)
    >>> 0.1032 < rounds.epsilon(delta="1e-8", gap=1e-3).upper < 0.1034
    True
    """

    _internal_names = "delta_of is_estimated is_slow known log_estimate of repeated rough_mu"

    rounds: tuple[tuple[Round, int], ...]

    @staticmethod
    def of(rounds: Iterable[tuple[Round, int]]) -> Composition:
        """Return the composition; equal rounds are counted together."""
        return Composition(RoundPairs.of(rounds).rounds)

    def repeated(self, times: int, places: dict[Any, tuple[float, float]]) -> Composition:
        """Return all rounds so many times; other numbers of times that share ``places`` share points."""
        found = Composition.of((one, count * times) for one, count in self.rounds)
        vars(found)["known"] = RoundPairs(found.rounds, places)
        return found

    @cached_property
    def known(self) -> RoundPairs:
        """The pairs that dominate all rounds or are dominated, kept for further questions."""
        return RoundPairs(self.rounds)

    @property
    def count(self) -> int:
        """How many rounds there are."""
        return self.known.count

    @property
    def is_slow(self) -> bool:
        """Whether points of the upper end take long."""
        return any(found.is_slow for found, _ in self.rounds)

    @property
    def mu(self) -> float:
        """The parameter of the Gaussian approximation (not a bound): all rounds together are about mu-GDP."""
        return self.known.mu

    @property
    def rough_mu(self) -> float:
        """About the same, in less time where bounds are slow."""
        return sqrt(fsum(count * found.rough_deviation**2 for found, count in self.rounds))

    def _asked(self, quantity: str, given: object, gap: Real | None, effort: str) -> Answer:
        width, kernel = _widths(gap)
        query = Query.of(quantity, given, kernel, effort=effort)
        return self._epsilon(query, width) if quantity == "epsilon" else self.delta_of(query, width)

    def _epsilon(self, query: Query, width: float | None) -> Answer:
        alone = self._alone(query)
        if alone is not None:
            return alone
        guess = losses.gaussian_epsilon(self.mu, query.log_delta)
        above = self.known.pairs(True, guess, query.log_delta, width, effort=query.effort)
        below = self.known.pairs(False, guess, query.log_delta, width, effort=query.effort)
        high, low = losses.certified_bracket(above.pairs, below.pairs, query, guess)
        ends = ((above, high), (below, low))
        proved = [Side(x.curves, exact_double(eps), plan, bits) if bits else None for x, (eps, plan, bits) in ends]
        if self.known.largest <= high[0]:
            high = self.known.largest, None, 0
            proved[0] = None if high[0] == inf else self._beyond_all(exact_double(high[0]))
        proof = RoundsProof(proved[0], proved[1])
        aimed = width or max(found.gap for found, _ in self.rounds)
        least, most = (INFINITE if x == inf else Dyadic.of_float(x) for x in (low[0], high[0]))
        own, limited = Interval(least.below, most.above), above.limited or below.limited
        return Answer(
            self._question, query, least, most, own, limited=limited, gaussian=guess, aimed=aimed, proof=proof
        )

    def delta_of(self, query: Query, width: float | None, sides: tuple[bool, ...] = (False, True)) -> Answer:
        """Return the answer for delta to a query; only the ends of ``sides`` are computed, the other one is trivial.

        ``sides`` are True for the upper end, False for the lower one.
        """
        alone = self._alone(query)
        if alone is not None:
            return alone
        if self.known.exceeds_all(query.given):
            proof = RoundsProof(self._beyond_all(expression_text(query.given)), None)
            return Answer(self._question, query, ZERO, ZERO, Interval(0.0, 0.0), proof=proof)
        value = float(sp.N(query.given, 17))
        # All rounds have at least the divergence of one, which may be that of a rare loss.
        alone_logs = (r.rough_log(value) for r, _ in self.rounds if isinstance(r, DirectedRound))
        log_delta = max(losses.gaussian_log_delta(self.mu, value), -1e5, *(x for x in alone_logs if x < 0.0))
        ends, limited = [ZERO, Dyadic(1)], False
        proved: list[Side | None] = [None, None]
        only = self._only_level(query)
        for up in sides:
            try:
                found = self.known.pairs(up, value, log_delta, width, effort=query.effort, level=only)
            except PrecisionError:  # so small a divergence may be known to be less than another, if no more
                found = self.known.pairs(up, value, max(log_delta, _SMALL), width, effort=query.effort, level=only)
            limited = limited or found.limited
            if not found.pairs:
                continue
            found = found.near(value) if up and only is None else found
            plan = None
            if only is None or not up or sum(e > only for e, _ in found.pairs[0][0].atoms) > 1:
                plan = losses.estimate_divergence(losses.FloatProduct.of(found.pairs), value, query.settings.gap).plan
            with at_precision(256):
                ball = query.level.eps()
            lower, upper, bits = losses.enclose_divergence(found.pairs, ball, plan)
            with at_precision(64):
                ends[up] = Dyadic.of(upper.upper() if up else lower.lower())
            proved[up] = Side(found.curves, expression_text(query.given), plan, bits)
        least, most = ends[0] if ends[0].mantissa > 0 else ZERO, min(ends[1], Dyadic(1))
        gaussian = exp(losses.gaussian_log_delta(self.mu, value))
        own, proof = Interval(least.below, most.above), RoundsProof(proved[True], proved[False])
        aimed = inf if len(sides) == 1 else None
        return Answer(
            self._question, query, least, most, own, limited=limited, gaussian=gaussian, aimed=aimed, proof=proof
        )

    def is_estimated(self, up: bool) -> bool:
        """Return whether floats tell about an end, the upper one or the lower one, in less time than it takes."""
        return self.count > 1 and all(found.is_estimated(up) for found, _ in self.rounds)

    def log_estimate(self, query: Query, width: float | None, up: bool) -> float:
        """Return about the logarithm of an end for delta, in floats. Not a bound."""
        value = float(sp.N(query.given, 17))
        log_delta = max(losses.gaussian_log_delta(self.mu, value), -1e5)
        found = self.known.pairs(up, value, log_delta, width, effort=query.effort, rough=True)
        if not found.pairs:
            return 0.0 if up else -inf
        pairs = found.near(value).pairs if up else found.pairs
        told = losses.estimate_divergence(losses.FloatProduct.of(pairs), value, query.settings.gap)
        return told.log_upper if up else told.log_lower

    def _beyond_all(self, eps: str) -> Side:
        """Return what proves that nothing is left at an eps that is at least the largest losses of all rounds."""
        tops = [(found, count, found.top or fmpq(1)) for found, count in self.rounds]
        curves = (RoundCurve(found, count, CurvePoints((), None, top), _LEAST_BITS, inf) for found, count, top in tops)
        return Side(tuple(curves), eps, None, _BITS)

    def _only_level(self, query: Query) -> fmpq | None:
        """Return a level just below that of the question as a fraction, if there is one round: no other one matters.

        Balls tell it from the level, so that losses there are not counted as larger than eps.
        """
        if self.count > 1 or sp.N(query.given, 17) > _LARGEST_EPS:
            return None
        with at_precision(128):
            excess = query.level.exponential_minus_one()
            below = Dyadic.of((excess - excess * arb(2) ** -_BITS_APART).lower())
        return 1 + below.fraction

    @undisturbed()
    def gaussian_epsilon(self, delta: Real) -> float:
        """Return the eps of the Gaussian approximation, in floats. Not a bound: it may be below the truth.

        >>> import symamp as sa
        >>> round(sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).rounds(100).gaussian_epsilon("1e-8"), 4)
        0.0309
        """
        return losses.gaussian_epsilon(self.mu, log_of(failure_probability(delta)))

    def _alone(self, query: Query) -> Answer | None:
        return self.rounds[0][0].alone(query.usual) if self.count == 1 else None

    @property
    def _all(self) -> RoundPairs:
        return self.known

    @property
    def _question(self) -> Question:
        covered = "; ".join(dict.fromkeys(found.covered for found, _ in self.rounds))
        return Question(Rounds(tuple((found.text, count) for found, count in self.rounds), covered), 0)

    def __str__(self) -> str:
        return str(self.known)


class RoundProfile(Accounted):
    """What can be asked of one round of any kind: many of them, and what is asked of many."""

    _internal_names = "answer question round"

    @property
    def round(self) -> Round:
        """The round."""
        raise NotImplementedError

    def rounds(self, count: Count) -> Composition:
        """Return ``count`` rounds, adaptively composed.

        >>> import symamp as sa
        >>> profile = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6)
        >>> 0.0308 < profile.rounds(100).epsilon(delta="1e-8", gap=1e-3).upper < 0.0310
        True
        """
        return Composition.of([(self.round, round_count(count))])

    @property
    def _all(self) -> RoundPairs:
        return self.rounds(1).known


def _widths(gap: object) -> tuple[float | None, float]:
    """Return the width, and that of delta which the sums over frequencies aim at."""
    width = composition_gap(gap)
    return width, min(losses.WIDEST_SUM, _DELTA_PER_WIDTH * (width or USUAL_GAP))


def _of_both_orders(rounds: RoundPairs) -> RoundPairs:
    if any(isinstance(found, DirectedRound) for found, _ in rounds.rounds):
        told = Problem("these rounds have one direction, and both are needed")
        raise ArgumentError("rounds", told, "ask the training itself, such as training.risk() or training.to_dict()")
    return rounds
