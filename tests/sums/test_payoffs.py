"""A payoff whose transform needs tilts above 1, (e^x - 1)_+, against sums by hand; and plans that have others."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from symamp.errors import PrecisionError
from symamp.laws.law import BallGparv
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Settings
from symamp.sums.groups import Group, TiltedGroups, enclose_payoff
from symamp.sums.kernels.balls import tilted_sum
from symamp.sums.kernels.hockey_stick import HockeyStickKernel
from symamp.sums.kernels.kernel import Kernel
from tests.sampled import some


class CallKernel(HockeyStickKernel):
    """(e^x - 1)_+ e^(-theta x) = (1 - e^(-x))_+ e^(-(theta - 1) x)."""

    least_tilt = 1.0

    def __init__(self, numbers, theta, window, terms):
        super().__init__(numbers, theta - 1, window, terms)

    def peak(self, tilt):
        return super().peak(tilt - 1)

    @staticmethod
    def pull(theta):
        assert theta > 1.0
        return HockeyStickKernel.pull(theta - 1.0)

    @staticmethod
    def spread(theta, mean, sigma):
        return HockeyStickKernel.spread(theta - 1.0, mean, sigma)

    @staticmethod
    def log_peak(tilts):
        assert (tilts >= 1.0).all()
        return np.where(tilts > 1.0, HockeyStickKernel.log_peak(np.maximum(tilts - 1.0, 1e-300)), 0.0)


def law(values, masses):
    """Return the law of a summand; what its masses lack of 1 is at 0."""

    def source():
        balls = (tuple(arb(x.numerator) / x.denominator for x in numbers) for numbers in (values, masses))
        rest = 1 - sum(masses)
        return BallGparv(*balls, arb(rest.numerator) / rest.denominator, arb(0))

    return source


def truth(groups):
    """Return E(e^S - 1)_+ by all sums that groups (count, values, masses) may have, with exact probabilities."""
    sums = {Fraction(0): Fraction(1)}
    for count, values, masses in groups:
        for _ in range(count):
            step = Counter[Fraction]()
            for s, w in sums.items():
                for v, m in [*zip(values, masses, strict=True), (0, 1 - sum(masses))]:
                    step[s + v] += w * m
            sums = step
    with mpmath.workdps(60):
        terms = (
            mpmath.mpf(w.numerator) / w.denominator * mpmath.expm1(s.numerator / mpmath.mpf(s.denominator))
            for s, w in sums.items()
            if s > 0
        )
        return Fraction(mpmath.nstr(mpmath.fsum(terms), 50))


H, T = Fraction(1, 2), Fraction(1, 3)
CASES = {
    "both signs": [(25, (3 * H, -T), (T / 2, H))],
    "two groups": [(12, (H, -H), (T, H)), (7, (Fraction(1, 5), -1), (H, T))],
    "rare": [(30, (Fraction(2), -H), (Fraction(1, 1000), Fraction(9, 10)))],
    "mean 122": [(20, (Fraction(8), Fraction(1)), (Fraction(7, 8), Fraction(1, 10)))],
    "large mean": [(60, (Fraction(9), Fraction(10)), (H, T))],
    "small steps": [(40, (Fraction(1, 100), Fraction(-1, 90)), (H, T))],
}


@pytest.mark.parametrize("gap", some([1e-2, 1e-4], 1))
@pytest.mark.parametrize("name", CASES)
def test_a_payoff_that_needs_tilts_above_1_contains_the_sum_by_hand(name, gap):
    found = enclose_payoff([Group(count, law(v, m)) for count, v, m in CASES[name]], CallKernel, Settings(gap))
    known = truth(CASES[name])
    with at_precision(256):
        exact = arb(known.numerator) / known.denominator
        assert found.lower.lower() <= exact * (1 + arb("1e-40"))
        assert exact * (1 - arb("1e-40")) <= found.upper.upper()
        assert float(found.upper.upper() - found.lower.lower()) < 2 * gap * float(exact)
    assert found.plan.window.theta_below > 1.0


@pytest.mark.parametrize(("payoff", "low"), [(CallKernel, 0.9), (HockeyStickKernel, -0.1), (Kernel, -0.1)])
def test_a_plan_with_smaller_tilts_is_refused(payoff, low):
    groups = [Group(5, law((H, -H), (T, H)))]
    plan = enclose_payoff(groups, payoff, Settings(1e-2)).plan
    with at_precision(128):
        whole = TiltedGroups.of(groups, plan.window.theta)
        for window in (replace(plan.window, theta_below=low), replace(plan.window, theta=low, theta_below=low)):
            with pytest.raises(PrecisionError, match="tilts above"):
                tilted_sum(whole, replace(plan, window=window), payoff)


def test_sums_beyond_doubles_are_refused_by_type():
    for scale in (Fraction(10) ** 100, Fraction(1, 10**100)):
        with suppress(PrecisionError):
            found = enclose_payoff([Group(5, law((scale, -scale), (T, H)))], CallKernel, Settings(1e-2))
            assert found.lower.lower() <= found.upper.upper()


@pytest.mark.parametrize("payoff", [Kernel, HockeyStickKernel, CallKernel])
def test_a_sum_that_is_never_positive_has_the_payoff_0(payoff):
    found = enclose_payoff([Group(3, law((-H, Fraction(0)), (T, H))), Group(2, law((-T,), (H,)))], payoff)
    assert found.lower == found.upper == 0


class NowhereKernel(Kernel):
    """A payoff that gives no window."""

    @staticmethod
    def log_peak(tilts):
        return np.full(len(tilts), np.nan)


def test_a_payoff_without_a_window_is_refused_by_type():
    with pytest.raises(PrecisionError, match="no window"):
        enclose_payoff([Group(40, law((H, -H), (T, H)))], NowhereKernel, Settings(1e-2))
