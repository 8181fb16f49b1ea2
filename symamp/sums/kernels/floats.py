"""The two-sided sum in floats, for any payoff and transform: an estimate, and the plan of a certified one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import FloatGparv
from symamp.numbers.systems import NUMPY
from symamp.sums.kernels.kernel import Cut, Kernel, TwoSided, partition
from symamp.sums.kernels.tilted import (
    Plan,
    Power,
    TiltedFloats,
    Transform,
    Window,
    choose_window,
    gaussian_estimate,
    lower_tilt,
    normal_spread,
    raised_tilt,
    saddle_tilt,
)

# What is tuned of a plan. Any choice gives a bound; these trade frequencies against width, and were chosen so that the
# families of the catalogue meet gaps of 1e-3 to 1e-8 with the fewest frequencies.
_SMOOTHING = 6.8
"""d^2 in units of the gap and the spread of the payoff, by which majorant and minorant are about the gap apart."""
_ALIASING, _DROPPED = 0.01, 1e-4
"""The parts of the gap that go to aliasing, which a longer window pays, and to each dropped block."""
_ROUNDS = 12
"""Trials for one gap; three are usual."""
_WIDER, _WIDEST = 8.0, 0.1
"""Where the gap takes too many frequencies it is widened by this factor, up to this gap."""
_FAR_BELOW = 0.1
"""An estimate is that of a sum with rare large values if what is found is below this part of it."""


@dataclass(frozen=True)
class FloatSum:
    """Estimates of the two sums in units of M(theta)^n, log M(theta)^n, and the parameters that gave them."""

    lower: float
    upper: float
    log_scale: float
    window: Window
    terms: int
    cut: Cut

    @property
    def gap(self) -> float:
        """Relative gap between the two sums."""
        found = (self.upper - self.lower) / self.upper if self.upper > 0.0 else np.inf
        return found if found == found else np.inf  # windows of many hundreds overflow while there are few terms

    @property
    def log_value(self) -> float:
        """Natural logarithm of the middle, an estimate of log E[S_+]."""
        middle = 0.5 * (max(self.lower, 0.0) + self.upper)
        return self.log_scale + log(middle) if middle > 0.0 else -np.inf

    @cached_property
    def plan(self) -> Plan:
        """The parameters as plain numbers."""
        return Plan(self.window, self.terms, self.cut.blocks())


def float_sum(g: FloatGparv, n: int, gap: float, most: int, saddle: float | None = None) -> FloatSum:
    """Return what ``two_sided_sum`` does for E[S_+] of n copies of G, which must take a positive value."""
    return two_sided_sum(Power(g, n), gap, most, saddle=saddle)


def two_sided_sum(
    transform: Transform, gap: float, most: int, payoff: type[TwoSided] = Kernel, saddle: float | None = None
) -> FloatSum:
    """Estimate E[f(S)] from both sides, refining until the relative gap is met or ``most`` frequencies are needed.

    An estimate: rounding is kept small but is not bounded. S must be positive with some probability. ``saddle`` is
    the saddle point if it is known.
    """
    with np.errstate(all="ignore"):
        return _search(transform, payoff, gap, most, saddle or saddle_tilt(transform, payoff)).found()


def sharp_sum(g: FloatGparv, n: int, gap: float, most: int, saddle: float) -> FloatSum | None:
    """Return what ``float_sum`` does where it meets the gap, else None: without a search for what can be had."""
    with np.errstate(all="ignore"):
        found = _search(Power(g, n), Kernel, gap, most, saddle).refined(gap)
        return found if found is not None and found.gap <= gap else None


def _search(transform: Transform, payoff: type[TwoSided], gap: float, most: int, saddle: float) -> _Search:
    """Return the search under the raised tilt, or under a lower one where rare large values make its window long."""
    raised = raised_tilt(transform, saddle, payoff)
    search, lower = _Search(transform.tilted(raised), payoff, gap, most), lower_tilt(transform, saddle, raised)
    if lower is None or lower <= payoff.least_tilt:
        return search
    other = _Search(transform.tilted(lower), payoff, gap, most)
    return other if other.window.length < search.window.length / 2.0 else search


def chernoff_sum(tilted: TiltedFloats) -> FloatSum:
    """Return the bounds without any frequency: from above a small multiple of Chernoff's."""
    with np.errstate(all="ignore"):
        search = _Search(tilted, Kernel, _WIDEST, 0)
        found = search.trial(search.window.length, _WIDEST, search.estimate)
        assert found is not None
        return found


class _Search:
    """The search for the number of terms of a sum under a good tilt; summands may differ."""

    def __init__(self, tilted: TiltedFloats, payoff: type[TwoSided], gap: float, most: int) -> None:
        self.tilted, self.payoff, self.gap, self.most = tilted, payoff, gap, most
        self.aim(gaussian_estimate(tilted, payoff))

    def aim(self, estimate: float) -> None:
        """Choose the window for a sum of this size, under the tilt."""
        self.estimate = estimate
        self.window = choose_window(self.tilted, float(-np.log(_ALIASING * self.gap * estimate)), self.payoff)

    def found(self) -> FloatSum:
        """Return the sum at the gap, or the sharpest that may be had, to a factor of a few."""
        gap = self.gap
        best = self.refined(gap)
        while best is not None and self._is_misjudged(best, gap):  # rare large values: the window is too short
            self.aim(best.upper)
            best = self.refined(gap)
        length = self.window.length
        while (best is None or not best.gap <= gap) and gap < _WIDEST:
            # The plan is too long: the sharpest that is not.
            gap *= _WIDER
            found = self.refined(gap)
            best = found if best is None or (found is not None and found.gap < best.gap) else best
        if best is None:
            # No frequency at all is still a bound, of Chernoff's quality.
            best = self.trial(2.5 * length / self.most, gap, self.estimate) or self.trial(length, gap, self.estimate)
        if best is None:
            raise PrecisionError("eps", Problem("the best tilt is beyond the range of doubles"), "take another eps")
        return best

    def refined(self, gap: float) -> FloatSum | None:
        """Return the sum at a gap, or with as many frequencies as may be evaluated; None if the first has too many."""
        spread = normal_spread(self.tilted, self.payoff)
        if not 0.0 < spread < np.inf:  # no normal shape: the integral of the payoff
            with np.errstate(over="ignore"):
                spread = float(self.payoff(NUMPY, np.float64(self.tilted.theta), self.window.length, 1).modulus(0.0))
        d = min(float(np.sqrt(_SMOOTHING * gap * spread)), self.window.length)
        best, estimate = None, self.estimate
        for _ in range(_ROUNDS):
            found = self.trial(d, gap, estimate)
            if found is None:
                break
            # Below 0 the lower sum says nothing yet, and a gap that grows is no reason to keep the former.
            if best is None or not found.gap >= best.gap or 0.0 < found.upper < best.upper:
                best = found
            if found.gap <= gap or self._is_misjudged(found, gap):
                break
            if found.upper > 0.0:
                estimate = min(estimate, found.upper)
            # Once more where rare large values make the first guess many times as large as necessary.
            d *= float(np.clip(0.95 * np.sqrt(gap / found.gap), 0.25, 0.9))
        return best

    def _is_misjudged(self, found: FloatSum, gap: float) -> bool:
        return found.gap > gap and 0.0 < found.upper < _FAR_BELOW * self.estimate

    def trial(self, d: float, gap: float, estimate: float) -> FloatSum | None:
        """Return the sum for a smoothing length, None if it takes too many frequencies."""
        tilted, window = self.tilted, self.window
        if not d > window.length * 2.0**-40:
            return None
        terms = int(np.ceil(window.length / d))
        null_n = float(np.exp(tilted.n * tilted.log_null))
        kernel = self.payoff(NUMPY, window.theta, window.length, terms)
        cut = partition(
            lambda middle, half: tilted.decays(middle, half) + null_n,
            kernel.modulus,
            kernel.step,
            terms - 1,
            _DROPPED * gap * estimate,
            self.most,
        )
        if cut is None:
            return None
        n, u = tilted.n, kernel.step * cut.indices.astype(np.float64)
        modulus, phase = tilted.log_phi(u)
        power = np.exp(n * modulus + 1j * (n * phase)) - null_n
        others = np.array([window.theta_above, window.theta_below])
        grown, far = n * (tilted.log_mgf(others) - tilted.cumulants.k0), np.abs(others - window.theta) * window.length
        aliasing = float((np.exp(grown + self.payoff.log_peak(others) - far) / -np.expm1(-far)).sum())
        lower, upper = (
            2.0 / window.length * (0.5 * half * (1.0 - null_n) + float((values * power).real.sum()))
            for half, values in zip(kernel.at_zero(), kernel.at(u), strict=True)
        )
        in_units = window.in_units(tilted.exponent)
        return FloatSum(lower - aliasing - cut.spent, upper + cut.spent, tilted.log_scale, in_units, terms, cut)
