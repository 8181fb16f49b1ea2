"""Many rounds: certified brackets of the privacy that is left after all of them, for adaptive queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, floor, fsum, inf, log, sqrt
from typing import Any, Self

import sympy as sp
from flint import arb

from symamp.accounting.composed_answer import ComposedAnswer
from symamp.accounting.composed_divergence import enclose_divergence
from symamp.accounting.composed_inverse import Found, epsilon_above, epsilon_below
from symamp.accounting.curve_points import CurvePoints
from symamp.accounting.discrete_pair import DiscretePair
from symamp.accounting.float_divergence import estimate_divergence
from symamp.accounting.float_product import FloatProduct
from symamp.accounting.gaussian_approximation import gaussian_epsilon, gaussian_log_delta
from symamp.accounting.grid import Grid, points_for
from symamp.accounting.optimistic import optimistic
from symamp.accounting.pessimistic import pessimistic
from symamp.accounting.round import USUAL_GAP, Round, points_of
from symamp.accounting.side import RoundCurve, Side
from symamp.algebra.order import sign
from symamp.amplification.certificate_text import exact_double, expression_text
from symamp.derivation.crossing import level_of
from symamp.errors import ArgumentError, UndecidedOrderError
from symamp.evaluation.inversion import log_of
from symamp.evaluation.law import total
from symamp.numbers.arguments import budget, failure_probability
from symamp.numbers.dyadic import INFINITE, ZERO, Dyadic
from symamp.numbers.exact_number import exact_number
from symamp.numbers.rounding import float_above
from symamp.numbers.surroundings import at_precision, undisturbed

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
    pairs: tuple[tuple[DiscretePair, int], ...]


@dataclass(frozen=True)
class Composition:
    """Rounds, each with how often it is run: the brackets of epsilon and delta."""

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
    def epsilon(self, delta: object, *, gap: float | None = None) -> ComposedAnswer:
        """Return a certified bracket of the least eps for delta after all rounds; ``gap`` is its relative width.

        delta may be far below the smallest double ("1e-1000"). A single round is answered as by ``symamp.epsilon``.
        The width is that of the accounting; where the bounds of one round are apart, so are those of many, and the
        answer says so (``gap_limited_by``). Without a ``gap`` it is 3e-4; up to 1e-3 for at most a thousand users, and
        1e-3 to 5e-3 for noise with a density, where it is about a fiftieth of the bracket of one round; and 1e-2 (8e-4
        from below) where the upper end is from bounds that cost much at each of the points ("all_data_sets",
        "two_messages"), which stand in for the others where they take 2% or more off eps, and for noise without a
        local budget. Each end has as many points as some seconds of counted work allow: where large budgets, few users
        or bounds over all data sets make points dear, it is some percent wider than with a ``gap``, which has all of
        them, in up to minutes.

        Raises ArgumentError for arguments out of range.

        Guarantee
        ---------
        All rounds together are (``upper``, delta)-private for adaptive queries, and for every eps < ``lower`` there are
        queries and data sets for which they are not (eps, delta)-private. Proof: docs/proofs/composition.md.
        """
        target, width, kernel = failure_probability(delta), *_widths(gap)
        alone = self._alone(delta, None)
        if alone is not None:
            return self._answer("epsilon", str(delta), alone.least, alone.most, alone=alone)
        guess = gaussian_epsilon(self.mu, log_of(target))
        above = self.pairs(True, guess, log_of(target), width)
        high = epsilon_above(above.pairs, target, guess, kernel)
        if self._largest <= high[0]:
            high = self._largest, None, 0
        below = self.pairs(False, guess, log_of(target), width)
        low: Found = (0.0, None, 0)
        if below.pairs:
            low = epsilon_below(below.pairs, target, min(guess, high[0]), kernel)
        proof = {
            name: _side(pairs, found) if found[2] else None
            for name, pairs, found in (("above", above, high), ("below", below, low))
        }
        told = {"gaussian": guess, "aimed": width or max(found.gap for found, _ in self.rounds)}
        return self._answer("epsilon", str(delta), _dyadic(low[0]), _dyadic(high[0]), **proof, **told)

    @undisturbed()
    def delta(self, eps: object, *, gap: float | None = None) -> ComposedAnswer:
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
        alone = self._alone(None, eps)
        if alone is not None:
            return self._answer("delta", str(eps), alone.least, alone.most, alone=alone)
        if self._exceeds_all(exact):
            return self._answer("delta", str(eps), ZERO, ZERO)
        value = float(sp.N(exact, 17))
        log_delta = max(gaussian_log_delta(self.mu, value), -1e5)
        ends, sides = [ZERO, Dyadic(1)], list[Side | None]()
        for i, up in enumerate((False, True)):
            found = self.pairs(up, value, log_delta, width)
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
        self, up: bool, eps: float, log_delta: float, gap: float | None, tail: float = 0.0, *, even: bool = False
    ) -> Pairs:
        """Return points and pairs that dominate the rounds (up) or are dominated, good near eps and delta.

        ``even`` ones are for questions that are not known yet. A ``tail`` asks for further points up to the local
        budget, so that no loss is infinite that is finite; it says how small a divergence there matters, as minus its
        logarithm.
        """
        widest = max(r.deviation for r, _ in self.rounds)
        ratio = round(eps / self.mu**2 * widest * _CENTRES) / _CENTRES / widest
        key = (up, ratio, _DECADES * floor(log_delta / _DECADES), composition_gap(gap), tail, even)
        if key not in self._made:
            self._made[key] = self._pairs(*key)
        return self._made[key]

    @cached_property
    def _made(self) -> dict[Any, Pairs]:
        return {}

    def _pairs(self, up: bool, ratio: float, log_delta: float, gap: float | None, tail: float, even: bool) -> Pairs:
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
            sparing = gap is None  # a width that was asked for may take its time
            if up:
                near, beyond = found.above(levels, sparing=sparing), found.above(tails, far=True, sparing=sparing)
                points = tuple(p.floored(bits) for p in (*near, *beyond))
                if points and not tail:  # no digit shows that a finite loss beyond counts as infinite
                    last = max(points[0].level, 1 << ceil(far / log(2.0)))
                    points = tuple(p for p in points if p.level <= last)
                curve = CurvePoints.symmetric(points, bottom, top if reaches else None)
                curves.append(RoundCurve(found, count, curve, bits))
                continue
            worst = None if top == 1 else found.below(max(centre, s / 2.0))
            if worst is not None:
                below = points_of(*worst, (*levels, *tails), top, bits, sparing=sparing)
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

    def _alone(self, delta: object | None, eps: object | None) -> Any:
        return self.rounds[0][0].alone(delta, eps) if self.count == 1 else None

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


def _side(found: Pairs, proved: Found) -> Side:
    return Side(found.curves, exact_double(proved[0]), proved[1], proved[2])
