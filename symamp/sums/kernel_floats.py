"""The two-sided sum in floats: an estimate with a numerical gap, and the search for the plan of a certified one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from symamp.laws.law import FloatGparv, Floats
from symamp.numbers.systems import NUMPY
from symamp.sums.kernel import Cut, Kernel, partition
from symamp.sums.tilted import (
    Plan,
    TiltedFloats,
    TiltedLaw,
    Window,
    choose_window,
    gaussian_estimate,
    raised_tilt,
    relative_overshoot,
    saddle_tilt,
)

_ROUNDS = 12
_WIDER, _WIDEST = 8.0, 0.1
_SHARPER, _COARSER, _MANY = 0.25, 8.0, 1_000
"""Plans of many frequencies that are so much sharper than asked for are made coarser."""


@dataclass(frozen=True)
class _Sums:
    """Estimates of the two sums in units of M(theta)^n."""

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """Relative gap between the two sums."""
        return (self.upper - self.lower) / self.upper if self.upper > 0.0 else np.inf


@dataclass(frozen=True)
class _Trial(_Sums):
    """One of the many that a search makes: the window is known, and plain numbers are made of the last cut only."""

    terms: int
    cut: Cut

    def in_window(self, tilted: TiltedFloats, n: int, window: Window) -> FloatSum:
        plan = Plan(window.in_units(tilted.exponent), self.terms, self.cut.blocks())
        return FloatSum(self.lower, self.upper, n * tilted.cumulants.k0 + tilted.exponent * log(2.0), plan)


@dataclass(frozen=True)
class FloatSum(_Sums):
    """The two sums with log M(theta)^n and the plan that gave them."""

    log_scale: float
    plan: Plan

    @property
    def log_value(self) -> float:
        """Natural logarithm of the middle, an estimate of log E[S_+]."""
        middle = 0.5 * (max(self.lower, 0.0) + self.upper)
        return self.log_scale + log(middle) if middle > 0.0 else -np.inf


def float_sum(g: FloatGparv, n: int, gap: float, most: int, saddle: float | None = None) -> FloatSum:
    """Estimate E[S_+] from both sides, refining until the relative gap is met or ``most`` frequencies are needed.

    An estimate: rounding is kept small but is not bounded. G must take a positive value. ``saddle`` is the saddle
    point if it is known.
    """
    with np.errstate(all="ignore"):
        return searched(TiltedLaw.of(g, raised_tilt(g, n, saddle or saddle_tilt(g, n))), n, gap, most)


def sharp_sum(g: FloatGparv, n: int, gap: float, most: int, saddle: float) -> FloatSum | None:
    """Return what ``float_sum`` does where it meets the gap, else None: without a search for what can be had."""
    with np.errstate(all="ignore"):
        tilted = TiltedLaw.of(g, raised_tilt(g, n, saddle))
        estimate = gaussian_estimate(tilted, n)
        window = _window(tilted, n, gap, estimate)
        found = _refined(tilted, n, window, gap, estimate, most)
        return found.in_window(tilted, n, window) if found is not None and found.gap <= gap else None


def chernoff_sum(tilted: TiltedLaw, n: int) -> FloatSum:
    """Return the bounds without any frequency: from above a small multiple of Chernoff's."""
    with np.errstate(all="ignore"):
        estimate = gaussian_estimate(tilted, n)
        window = _window(tilted, n, _WIDEST, estimate)
        found = _trial(tilted, n, window, window.length, _WIDEST, estimate, 0)
        assert found is not None
        return found.in_window(tilted, n, window)


def planned_sum(g: FloatGparv, n: int, plan: Plan) -> FloatSum:
    """Estimate E[S_+] with a plan that was made for a neighbour of the law; values must not be scaled."""
    with np.errstate(all="ignore"):
        tilted = TiltedLaw.of(g, plan.window.theta)
        lower, upper = _bounds(tilted, n, plan.window, _shared_weights(plan))
        return FloatSum(lower, upper, n * tilted.cumulants.k0, plan)


def searched(tilted: TiltedFloats, n: int, gap: float, most: int) -> FloatSum:
    """Return what ``float_sum`` does for summands under a good tilt; they may differ from user to user."""
    estimate = gaussian_estimate(tilted, n)
    window = _window(tilted, n, gap, estimate)
    best = _refined(tilted, n, window, gap, estimate, most)
    while (best is None or not best.gap <= gap) and gap < _WIDEST:
        # The plan is too long: the sharpest that is not, to a factor of a few.
        gap *= _WIDER
        found = _refined(tilted, n, window, gap, estimate, most)
        best = found if best is None or (found is not None and found.gap < best.gap) else best
    if best is None:
        # No frequency at all is still a bound, of Chernoff's quality.
        best = _trial(tilted, n, window, 2.5 * window.length / most, gap, estimate, most)
        best = best or _trial(tilted, n, window, window.length, gap, estimate, most)
    assert best is not None
    return best.in_window(tilted, n, window)


def _window(tilted: TiltedFloats, n: int, gap: float, estimate: float) -> Window:
    return choose_window(tilted, n, float(-np.log(0.01 * gap * estimate)))


def _refined(tilted: TiltedFloats, n: int, window: Window, gap: float, estimate: float, most: int) -> _Trial | None:
    """Return the sum at the gap, or with as many frequencies as may be evaluated; None if the first has too many."""
    d = float(np.sqrt(n) * tilted.deviation * np.sqrt(6.8 * gap * relative_overshoot(tilted, n)))
    d = min(d, window.length)
    best: _Trial | None = None
    for _ in range(_ROUNDS):
        found = _trial(tilted, n, window, d, gap, estimate, most)
        if found is None:
            break
        is_met = best is not None and best.gap <= gap
        if best is None or not found.gap >= best.gap or (is_met and found.gap <= gap):
            best = found
        if is_met or (found.gap <= gap and (found.gap > _SHARPER * gap or found.cut.frequencies < _MANY)):
            break
        if found.upper > 0.0:
            estimate = min(estimate, found.upper)
        # Once more where rare large values make the first guess many times as dear as it had to be.
        d *= float(np.clip(0.95 * np.sqrt(gap / found.gap), 0.25, 0.9 if found.gap > gap else _COARSER))
    return best


def _trial(
    tilted: TiltedFloats, n: int, window: Window, d: float, gap: float, estimate: float, most: int
) -> _Trial | None:
    step = 2.0 * np.pi / window.length
    if not d > window.length * 2.0**-40:
        return None
    terms = int(np.ceil(window.length / d))
    null_n = float(np.exp(n * tilted.log_null))
    cut = partition(
        lambda middle, half: tilted.decays(n, middle, half) + null_n,
        lambda u: 1.0 / (tilted.theta**2 + u**2),
        step,
        terms - 1,
        1e-4 * gap * estimate,
        most,
    )
    if cut is None:
        return None
    lower, upper = _bounds(tilted, n, window, _weights(window, terms, cut.indices))
    return _Trial(lower - cut.spent, upper + cut.spent, terms, cut)


_Weights = tuple[Floats, tuple[float, NDArray[np.complex128]], tuple[float, NDArray[np.complex128]]]
"""Frequencies, and for each of B- and B+ half of its value at 0 and its values there."""


def _bounds(tilted: TiltedFloats, n: int, window: Window, weights: _Weights) -> tuple[float, float]:
    theta, w, null_n = window.theta, window.length, float(np.exp(n * tilted.log_null))
    u, (low, below), (high, above) = weights
    modulus, phase = tilted.log_phi(u)
    power = np.exp(n * modulus + 1j * (n * phase)) - null_n
    low = low * (1.0 - null_n) + float((below * power).real.sum())
    high = high * (1.0 - null_n) + float((above * power).real.sum())
    k = tilted.log_mgf(np.array([window.theta_above, window.theta_below])) - tilted.cumulants.k0
    aliasing = sum(
        np.exp(n * float(kk) - 1.0 - abs(other - theta) * w) / other / -np.expm1(-abs(other - theta) * w)
        for kk, other in zip(k, (window.theta_above, window.theta_below), strict=True)
    )
    return float(2.0 * low / w - aliasing), float(2.0 * high / w)


@lru_cache(maxsize=32)
def _shared_weights(plan: Plan) -> _Weights:
    """Return the weights of a plan: the laws of neighbouring levels share them."""
    evaluated = [np.arange(a, b + 1) for a, b in plan.blocks.evaluated]
    return _weights(plan.window, plan.terms, np.concatenate(evaluated or [np.empty(0, dtype=np.int64)]))


def _weights(window: Window, terms: int, indices: NDArray[np.int64]) -> _Weights:
    kernel = Kernel(NUMPY, window.theta, window.length, terms)
    u = kernel.step * indices.astype(np.float64)
    (below, above), (low, high) = kernel.at(u), kernel.at_zero()
    return u, (low / 2.0, below), (high / 2.0, above)
