"""Many rounds: certified brackets of the privacy that is left after all of them, for adaptive queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, floor, fsum, inf, log, sqrt
from typing import Any, Self

import sympy as sp
from flint import arb, fmpq

from symamp.accounting.curves import CurvePoints, DominatingPair, Grid, optimistic, pessimistic, points_for
from symamp.accounting.losses import (
    FloatProduct,
    Found,
    enclose_divergence,
    epsilon_above,
    epsilon_below,
    estimate_divergence,
    gaussian_epsilon,
    gaussian_log_delta,
)
from symamp.accounting.round import (
    USUAL_GAP,
    GivenRound,
    Round,
    SampledRound,
    ShuffledRound,
    evidence_below,
    level_at,
    points_of,
    swapped,
)
from symamp.bounds.reduction import Reduction
from symamp.certificates.rounds import Curve, Rounds, certificate
from symamp.certificates.text import exact_double, expression_text, fraction_text
from symamp.decompositions.to_law import level_of
from symamp.errors import ArgumentError, Problem, UndecidedOrderError
from symamp.formulas.order import sign
from symamp.laws.law import total
from symamp.numbers.dyadic import INFINITE, ZERO, Dyadic, float_above
from symamp.numbers.limits import checked_effort
from symamp.numbers.reading import budget, exact_number, failure_probability
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.public_names import PublicNames
from symamp.questions.answer import Answer
from symamp.questions.bracket import Bracket
from symamp.settings.question import Query
from symamp.sums.inversion import log_of
from symamp.sums.tilted import Plan

# ---------------------------------------------------- What proves one end of a bracket about many rounds, as plain data


@dataclass(frozen=True)
class RoundCurve:
    """Points of the curve of a round that is run ``count`` times; from below with the ``data_set`` and its n."""

    round: Round
    count: int
    points: CurvePoints
    floor: int
    data_set: tuple[Reduction, int] | None = None


@dataclass(frozen=True)
class Side:
    """The curves of all rounds, the eps in question as an expression, and the plan of the evaluation."""

    curves: tuple[RoundCurve, ...]
    eps: str
    plan: Plan | None
    precision: int


# -------------------------------------------------- What certificates repeat of it: evaluations at the levels of points


def _proof(
    side: Side | None, rounds: Sequence[tuple[str, int]], made: Callable[[RoundCurve], dict[str, Any]]
) -> Rounds | None:
    """Return the side with the evaluations behind its points, each curve at its place among the rounds."""
    if side is None:
        return None
    free, curves = list(enumerate(rounds)), list[Curve]()
    for c in side.curves:
        place = next(found for found in free if found[1] == (c.round.text, c.count))
        free.remove(place)
        base, rate = (c.round.base, c.round.rate) if isinstance(c.round, SampledRound) else (c.round, fmpq(1))
        question = base.question if isinstance(base, ShuffledRound) else None
        curves.append(Curve(place[0], question, rate, c.points.bottom, c.points.top, **made(c)))
    return Rounds(curves, max(c.floor for c in side.curves), side.precision, side.plan)


def _above(curve: RoundCurve) -> dict[str, Any]:
    sampled = curve.round if isinstance(curve.round, SampledRound) else None
    base, rate = (sampled.base, sampled.rate) if sampled else (curve.round, fmpq(1))
    if isinstance(base, GivenRound):
        return {"given": [(p.level, p.high) for p in base.points]}
    if not isinstance(base, ShuffledRound):
        raise ArgumentError("certificate", Problem(f"{curve.round.text} has none"), "certify rounds of shuffled users")
    levels = [1 + (p.level - 1) / rate for p in curve.points.inside() if p.level >= 1]
    return {"points": [(e, base.evidence(e, far=base.is_cheap(e))) for e in levels]}


def _below(curve: RoundCurve) -> dict[str, Any]:
    assert curve.data_set is not None
    reduction, n = curve.data_set
    levels = [p.level for p in curve.points.inside() if p.level >= 1]
    orders = (reduction, swapped(reduction))
    first, second = ([(e, (evidence_below(order, level_at(e), n),)) for e in levels] for order in orders)
    return {"points": first, "second": second}


# --------------------- The answer about many rounds: a certified bracket with the evidence for both ends, as plain data

COVERED = (
    "adaptive rounds with fresh randomness: mechanism, users (n or more) and all inputs may depend on earlier outputs; "
    "not covered: memoised randomness, budgets chosen from the transcript"
)
_SLACK = fmpq(1, 10**9)
_ABOUT = 1.5
"""The number of points for a gap is a rule of thumb."""


@dataclass(frozen=True, repr=False)
class ComposedAnswer(Bracket):
    """A certified bracket for ``epsilon`` or ``delta`` of many rounds.

    All rounds together are private at ``upper``, for adaptive queries; some data sets and queries are not below
    ``lower``. Both are doubles rounded outward. ``covered`` says what may adapt. ``gaussian`` is what the approximation
    by a normal loss says (mu-GDP): no bound, None for one round; ``gaussian_place`` tells its error. ``gap_limited_by``
    says why a bracket of eps is wider than was asked for.

    >>> import symamp as sa
    >>> answer = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).rounds(100).epsilon(delta="1e-8", gap=1e-3)
    >>> 0.03089 < answer.lower < answer.upper < 0.03095
    True
    """

    _internal_names = "above aimed alone below"

    quantity: str
    given: str
    least: Dyadic
    most: Dyadic
    rounds: tuple[tuple[str, int], ...]
    above: Side | None = None
    below: Side | None = None
    gaussian: float | None = None
    alone: Answer | None = None
    aimed: float | None = None

    @property
    def is_probability(self) -> bool:
        """Whether the bracket is one of delta."""
        return self.quantity == "delta"

    @property
    def asked_about(self) -> str:
        """The question in one line."""
        return f"{self.quantity} of {self._question()}"

    @property
    def shown_evidence(self) -> str:
        """The evaluations behind both ends, in one line."""
        return "; ".join(
            f"{name}: " + ("none" if side is None else f"at {side.eps} by {side.plan}")
            for name, side in (("above", self.above), ("below", self.below))
        )

    @property
    def gap_limited_by(self) -> str:
        """What keeps the bracket of eps wider than the ``gap`` that was aimed at, in words; "" where nothing does."""
        if self.aimed is None or self.upper <= self.lower * (1.0 + _ABOUT * self.aimed):
            return ""
        width = self.upper / self.lower - 1.0 if self.lower > 0.0 else inf
        return f"the bounds of one round are apart: the width is {width:.2g}, aimed at was {self.aimed:.2g}"

    @property
    def gaussian_place(self) -> str:
        """Where the Gaussian approximation lies: how far below or above the certified bracket."""
        if self.gaussian is None or self.gaussian == self.upper:
            return "inside the bracket"
        if self.gaussian < self.lower:
            return f"{1.0 - self.gaussian / self.lower:.2g} relative below the bracket"
        above = self.gaussian / self.upper - 1.0 if self.upper > 0.0 else inf
        return f"{above:.2g} relative above the bracket" if above > 0.0 else "inside the bracket"

    @property
    def covered(self) -> str:
        """What the upper end covers, and what it does not."""
        return COVERED

    @undisturbed()
    def certificate(self) -> dict[str, Any]:
        """Return the bracket and all that is needed to check it without a search, as JSON-ready data.

        Each point of each curve has a certificate of its own, as the numbers of one round have. The ends are wider by
        a part in 10^9, for roundings; a lower end from cells of messages is not claimed. Takes some seconds. One round
        by itself has the certificate of its ``Answer``.

        Raises ArgumentError for answers without points, and for rounds whose bounds no certificate can carry.
        """
        if self.alone is not None:
            return self.alone.certificate()
        if self.above is None and self.below is None:
            raise ArgumentError(
                "certificate", Problem(f"{self} has no points behind it"), "ask for epsilon or delta of rounds"
            )
        given = exact_number(self.given, self.quantity)
        if not given.is_Rational:
            raise ArgumentError("certificate", self.given, "a rational number")
        listed = self.below is not None and all(
            c.data_set is None or c.data_set[0].decomposition.is_listed for c in self.below.curves
        )
        low = self.least.fraction * (1 - _SLACK) if listed and self.least.exponent is not None else None
        high = self.most.fraction * (1 + _SLACK) if self.above is not None and self.most.exponent is not None else None
        claim = {
            "quantity": self.quantity,
            "delta" if self.quantity == "epsilon" else "eps": fraction_text(given),
            "lower": "0" if low is None else fraction_text(low),
            "upper": ("inf" if self.quantity == "epsilon" else "1") if high is None else fraction_text(high),
        }
        above, below = (
            _proof(side, self.rounds, made)
            for side, made in ((self.above, _above), (self.below if low else None, _below))
        )
        return certificate(claim, self.rounds, above, below)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer for machines: numbers and texts only, infinities as "inf"."""
        low, high = self.decimals()
        return {
            "quantity": self.quantity,
            **self.ends_json(),
            "lower_text": low,
            "upper_text": high,
            "delta" if self.quantity == "epsilon" else "eps": self.given,
            "rounds": [{"round": text, "count": count} for text, count in self.rounds],
            "covered": self.covered,
            "gaussian": self.gaussian,
            "gap_limited_by": self.gap_limited_by,
            "gaussian_place": None if self.gaussian is None else self.gaussian_place,
        }

    def __str__(self) -> str:
        low, high = self.decimals()
        return f"{self.quantity} in [{low}, {high}]  ({self._question()})"

    def _question(self) -> str:
        name = "delta" if self.quantity == "epsilon" else "eps"
        what = " + ".join(f"{count:,} x ({text})" for text, count in self.rounds)
        return f"{name} = {self.given}; {what}"


# ------------------ Many rounds: certified brackets of the privacy that is left after all of them, for adaptive queries

LARGEST_ROUNDS = 10**6
_BEYOND = 1e-6
"""The part of delta that all losses beyond the grid may take."""
_FAR = 800.0
"""Losses that are so much larger than eps count as infinite: e^-800 is below all doubles."""
_CENTRES, _DECADES = 4.0, 10.0
"""Neighbouring questions share their grid: centres to a quarter of a deviation, log delta to ten."""
_KERNEL_GAP, _PER_GAP = 1e-3, 3.0
_TAIL, _SPARE_BITS = 60, 200


@dataclass(frozen=True)
class Pairs:
    """The points of all rounds on one side, and the pairs that they make."""

    curves: tuple[RoundCurve, ...]
    pairs: tuple[tuple[DominatingPair, int], ...]


@dataclass(frozen=True)
class Composition(PublicNames):
    """Rounds, each with how often it is run: the brackets of epsilon and delta."""

    _internal_names = "of pairs"

    rounds: tuple[tuple[Round, int], ...]

    @classmethod
    def of(cls, rounds: Iterable[tuple[Round, int]]) -> Self:
        """Return the composition; equal rounds are counted together."""
        counts: dict[Round, int] = {}
        for found, count in rounds:
            counts[found] = counts.get(found, 0) + count
        if not counts or sum(counts.values()) > LARGEST_ROUNDS:
            raise ArgumentError("rounds", sum(counts.values()), f"1 to {LARGEST_ROUNDS} rounds in all")
        return cls(tuple(counts.items()))

    @undisturbed()
    def epsilon(self, delta: object, *, gap: float | None = None, effort: str = "default") -> ComposedAnswer:
        """Return a certified bracket of the least eps for delta after all rounds; ``gap`` is its relative width.

        delta may be far below the smallest double ("1e-1000"). A single round is answered as by ``symamp.epsilon``.
        The width is that of the accounting; where the bounds of one round are apart, so are those of many, and the
        answer says so (``gap_limited_by``). Without a ``gap`` it is 3e-4; up to 1e-3 for at most a thousand users, and
        1e-3 to 5e-3 for noise with a density, where it is about a fiftieth of the bracket of one round; and 1e-2 (8e-4
        from below) where the upper end is from bounds that cost much at each of the points ("all_data_sets",
        "two_messages"), which stand in for the others where they take 2% or more off eps, and for noise without a
        local budget. Each end has as many points as the ``effort`` allows ("quick", "default", "thorough"): where large
        budgets, few users or bounds over all data sets make points dear, "thorough" may be some percent narrower.

        Raises ArgumentError for arguments out of range.

        Guarantee
        ---------
        All rounds together are (``upper``, delta)-private for adaptive queries, and for every eps < ``lower`` there are
        queries and data sets for which they are not (eps, delta)-private. Proof: docs/proofs/composition.md.
        """
        width, kernel = _widths(gap)
        query = Query.of_epsilon(delta, kernel, effort=effort)
        alone = self._alone(delta, None, query.effort)
        if alone is not None:
            return self._answer("epsilon", query.written, alone.least, alone.most, alone=alone)
        guess = gaussian_epsilon(self.mu, query.log_delta)
        above = self.pairs(True, guess, query.log_delta, width, effort=effort)
        high = epsilon_above(above.pairs, query, guess)
        if self._largest <= high[0]:
            high = self._largest, None, 0
        below = self.pairs(False, guess, query.log_delta, width, effort=effort)
        low: Found = (0.0, None, 0)
        if below.pairs:
            low = epsilon_below(below.pairs, query, min(guess, high[0]))
        proof = {
            name: _proved_side(pairs, found) if found[2] else None
            for name, pairs, found in (("above", above, high), ("below", below, low))
        }
        told = {"gaussian": guess, "aimed": width or max(found.gap for found, _ in self.rounds)}
        return self._answer("epsilon", query.written, _dyadic(low[0]), _dyadic(high[0]), **proof, **told)

    @undisturbed()
    def delta(self, eps: object, *, gap: float | None = None, effort: str = "default") -> ComposedAnswer:
        """Return a certified bracket of delta at ``eps`` after all rounds; ``gap`` is the width of eps, not of delta.

        A relative change of eps by g changes delta by about eps g/s relative, s^2 the variance of the loss times
        1/eps; the bracket of delta is wider by that factor.

        Raises ArgumentError for arguments out of range.

        Guarantee
        ---------
        All rounds together are (eps, ``upper``)-private for adaptive queries; there are queries and data sets for
        which they are not (eps, < ``lower``)-private. Proof: docs/proofs/composition.md.
        """
        exact, width, kernel = budget(eps), *_widths(gap)
        alone = self._alone(None, eps, checked_effort(effort))
        if alone is not None:
            return self._answer("delta", str(eps), alone.least, alone.most, alone=alone)
        if self._exceeds_all(exact):
            return self._answer("delta", str(eps), ZERO, ZERO)
        value = float(sp.N(exact, 17))
        log_delta = max(gaussian_log_delta(self.mu, value), -1e5)
        ends, sides = [ZERO, Dyadic(1)], list[Side | None]()
        for i, up in enumerate((False, True)):
            found = self.pairs(up, value, log_delta, width, effort=effort)
            if not found.pairs:
                sides.append(None)
                continue
            plan = estimate_divergence(FloatProduct.of(found.pairs), value, kernel).plan
            with at_precision(256):
                ball = level_of(exact).eps()
            lower, upper, bits = enclose_divergence(found.pairs, ball, plan)
            with at_precision(64):
                ends[i] = Dyadic.of((upper * 1).upper() if up else (lower * 1).lower())
            sides.append(Side(found.curves, expression_text(exact), plan, bits))
        low = ends[0] if ends[0].mantissa > 0 else ZERO
        gaussian = exp(gaussian_log_delta(self.mu, value))
        proof = {"above": sides[1], "below": sides[0], "gaussian": gaussian}
        return self._answer("delta", str(eps), low, min(ends[1], Dyadic(1)), **proof)

    @property
    def count(self) -> int:
        """How many rounds there are."""
        return sum(count for _, count in self.rounds)

    @cached_property
    def mu(self) -> float:
        """The parameter of the Gaussian approximation (not a bound): all rounds together are about mu-GDP."""
        return sqrt(fsum(count * r.deviation**2 for r, count in self.rounds))

    @undisturbed()
    def gaussian_epsilon(self, delta: object) -> float:
        """Return the eps of the Gaussian approximation, in floats. Not a bound: it may be below the truth.

        >>> import symamp as sa
        >>> round(sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).rounds(100).gaussian_epsilon("1e-8"), 4)
        0.0309
        """
        return gaussian_epsilon(self.mu, log_of(failure_probability(delta)))

    @undisturbed()
    def pairs(
        self,
        up: bool,
        eps: float,
        log_delta: float,
        gap: float | None,
        tail: float = 0.0,
        *,
        even: bool = False,
        effort: str = "default",
    ) -> Pairs:
        """Return points and pairs that dominate the rounds (up) or are dominated, good near eps and delta.

        ``even`` ones are for questions that are not known yet. A ``tail`` asks for further points up to the local
        budget, so that no loss is infinite that is finite; it says how small a divergence there matters, as minus its
        logarithm.
        """
        widest = max(r.deviation for r, _ in self.rounds)
        ratio = round(eps / self.mu**2 * widest * _CENTRES) / _CENTRES / widest
        key = (
            up,
            ratio,
            _DECADES * floor(log_delta / _DECADES),
            composition_gap(gap),
            tail,
            even,
            checked_effort(effort),
        )
        if key not in self._made:
            self._made[key] = self._pairs(*key)
        return self._made[key]

    @cached_property
    def _made(self) -> dict[Any, Pairs]:
        return {}

    def _pairs(
        self, up: bool, ratio: float, log_delta: float, gap: float | None, tail: float, even: bool, effort: str
    ) -> Pairs:
        curves: list[RoundCurve] = []
        bits = int(max(tail, -log_delta) / log(2.0)) + _SPARE_BITS
        for found, count in self.rounds:
            top, s = found.top, found.deviation
            budget_ = found.budget
            centre = s * s * ratio
            left = s * sqrt(2.0 * log(1e3 * count * (1.0 + (min(budget_, 10.0) / s) ** 2))) - centre
            end = found.end(log_delta + log(_BEYOND / self.count))
            if end == inf:  # some loss is infinite with a larger probability
                end = centre + s * sqrt(-2.0 * (log_delta + log(_BEYOND / self.count)))
            end = max(end, left)
            far = max(_FAR + 2.0 * ratio * self.mu**2, left)
            if not tail:
                end = min(end, far)
            reaches = tail > 0 or end >= budget_ * (1.0 - 1e-9)
            width = gap or (found.gap if up else found.gap_below)
            grid = Grid(centre, s, min(end, budget_), points_for(width), even)
            levels, tails = (
                tuple(e for e in part if top is None or e < top)
                for part in (grid.levels(), grid.tail(_TAIL if tail else 0, budget_))
            )
            bottom = None if top is None else 1 / top
            if up:
                near, beyond = found.above(levels, effort=effort), found.above(tails, far=True, effort=effort)
                points = tuple(p.floored(bits) for p in (*near, *beyond))
                if points and not tail:  # no digit shows that a finite loss beyond counts as infinite
                    last = max(points[0].level, 1 << ceil(far / log(2.0)))
                    points = tuple(p for p in points if p.level <= last)
                curve = CurvePoints.symmetric(points, bottom, top if reaches else None)
                curves.append(RoundCurve(found, count, curve, bits))
                continue
            worst = None if top == 1 else found.below(max(centre, s / 2.0))
            if worst is not None:
                below = points_of(*worst, (*levels, *tails), top, bits, effort=effort)
                curves.append(RoundCurve(found, count, below, bits, worst))
        make = pessimistic if up else optimistic
        return Pairs(tuple(curves), tuple((make(c.points), c.count) for c in curves))

    @cached_property
    def _largest(self) -> float:
        """The largest losses of all rounds together, rounded up; inf if one has none."""
        tops = [(arb(r.top), count) for r, count in self.rounds if r.top is not None]
        if len(tops) < len(self.rounds):
            return inf
        with at_precision(128):
            return float_above(total([count * top.log() for top, count in tops]))

    def _exceeds_all(self, eps: sp.Expr) -> bool:
        """Return whether eps is proved to be at least the largest losses of all rounds together."""
        ratios = [(r.ratio, count) for r, count in self.rounds]
        if any(ratio is None for ratio, _ in ratios):
            return False
        try:
            return sign(eps - sp.Add(*(count * sp.log(ratio) for ratio, count in ratios))) >= 0
        except UndecidedOrderError:
            return False

    def _alone(self, delta: object | None, eps: object | None, effort: str) -> Any:
        return self.rounds[0][0].alone(delta, eps, effort) if self.count == 1 else None

    def _answer(self, quantity: str, given: str, low: Dyadic, high: Dyadic, **proof: Any) -> ComposedAnswer:
        return ComposedAnswer(quantity, given, low, high, tuple((r.text, c) for r, c in self.rounds), **proof)

    def __str__(self) -> str:
        return " + ".join(f"{count:,} x ({found.text})" for found, count in self.rounds)


def composition_gap(gap: object) -> float | None:
    """Return the relative width of eps that is aimed at, from 1e-5 to 0.1; None for what is worth its time.

    >>> composition_gap(1e-3)
    0.001
    """
    if gap is None:
        return None
    number = exact_number(gap, "gap")
    if not 1e-5 <= float(number) <= 0.1:
        raise ArgumentError("gap", gap, "a number from 1e-5 to 0.1")
    return float(number)


def _widths(gap: object) -> tuple[float | None, float]:
    """Return the width, and that of delta which the sums over frequencies aim at."""
    width = composition_gap(gap)
    return width, min(_KERNEL_GAP, _PER_GAP * (width or USUAL_GAP))


def _dyadic(x: float) -> Dyadic:
    return INFINITE if x == inf else Dyadic.of_float(x)


def _proved_side(found: Pairs, proved: Found) -> Side:
    return Side(found.curves, exact_double(proved[0]), proved[1], proved[2])
