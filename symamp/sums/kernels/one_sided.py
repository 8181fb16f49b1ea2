"""E(K - T)_+ for a sum T of n nonnegative summands of mean 1, from the Laplace transform of one on a vertical line.

The payoff (K - x)_+ has the transform 1/w^2, and what is folded onto a window is known but for its tails: nothing is
smoothed, and digits cost bits, not frequencies (docs/proofs/random_allocation.md). T needs no exponential moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import acosh, ceil, cos, exp, expm1, floor, frexp, inf, ldexp, log, log1p, pi, sin, sqrt
from typing import Any, NamedTuple

import flint
import numpy as np
import scipy
from flint import acb, acb_poly, arb, arb_poly

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import Floats, Number
from symamp.numbers.doubles import log_ndtr
from symamp.numbers.surroundings import at_precision
from symamp.sums.kernels.balls import power, powers_of, sums_of_powers

# What is tuned. Every line gives a bound; these trade time against width.
MOST_FREQUENCIES, _MOST_WORK, _BENT, _COUNTS = 50_000, 4e9, 200.0, np.geomspace(1.0, 1e6, 300)
"""Of one line; of frequencies, times nodes, times bits; how much more such a term costs on a bent contour; and the
numbers that estimates distinguish. Windows far wider than the deviation of T need more."""
_SPARE_BITS, _ROUGH_BITS = 40, 64
"""Bits beyond those that the magnitudes say, and those of bounds on what is dropped."""
_ROUGH_STEP, _ROUGH_REACH, _LARGEST_LOG, _SMALL_LOG = 0.04, 14.0, 700.0, -60.0
"""Nodes of a standard normal variable in doubles, for searches, the largest logarithm that they raise, and that below
which Laplace's method is better."""
_MOMENT_BITS, _MOST_VALUES = 128, 20_000
"""Bits of moments, and values of the transform for one of them."""
_CHUNK = 32
"""Coefficients over which Horner's rule goes: each step may cost half a bit."""
_SURE, _LONGER = 0.8, 1.1
"""For what part of the most a line is begun; and after how many more frequencies, relatively, the rest is bounded
again."""
_HEIGHTS, _ANGLES = tuple(float(x) for x in np.geomspace(1.0, 300.0, 16)), (0.1, 0.2, 0.35, 0.5, 0.65, 0.8)
_OF_STRIP, _LEAST_PART, _WIDE = 0.97, 0.6, 5.0
"""Of bent contours: K times their scale, and their angles, that are tried; their strip, as a part of what it may be;
the least K, as a part of the largest; and about the width of strips around a value of the transform."""
_QUARTER, _TURNS, _FAR = 1.2, (0.1, 0.2, 0.3, 0.45, 0.6, 0.7), 1e300
"""The angle within which contours are turned, where cosines are not small; turns that are tried for a line; and the
largest argument at which a saddle point is looked for."""
_ANGLES_BEYOND = np.geomspace(1e-4, 1.5, 33)[:, None]
"""Angles that are tried for a bound on what is far out."""
_LEAST_TILT, _MANY_TILTS, _FEWER, _WIDER, _RELATIVE = 1e-4, 161, 8, (1.0, 2.0, 4.0, 8.0, 16.0, 33.0), 32.0
"""Tilts that are tried for what is folded from below: the least, in units of the inverse deviation of T or of its mean,
how many, and one of how many of them makes a plan; windows that are tried, over K; and
minus the logarithm of what is folded from above, relative to a small E(T - K)_+."""


# ------------------------------------------------------------- The Laplace transform of a lognormal variable of mean 1


@dataclass(frozen=True)
class Lognormal:
    """L = exp(Z/s - 1/(2 s^2)), Z standard normal: the likelihood ratio of N(1, s^2) and N(0, s^2) under the second.

    Guarantee
    ---------
    The balls contain phi(w) for every w with |arg w| < pi and Im w >= 0; ``bound`` and ``beyond`` bound |phi|.
    Proof: docs/proofs/random_allocation.md, section 3.
    """

    sigma: Number

    def phi(self, w: acb, bits: float) -> acb:
        """Return phi(w) by the trapezoidal rule, on a line that is shifted by -i s times a turn, |arg w| < pi."""
        s, size, theta = float(self.sigma().mid()), float(abs(w).mid()), float(w.arg().mid())
        # Where the contour has to be turned, a narrow strip needs less of it.
        a = min(sqrt(2.0 * log(2.0) * bits), s * (_QUARTER if theta == 0.0 else min(_QUARTER, _WIDE / s)))
        tau = max(theta + a / s - _QUARTER, 0.0)
        edge, decay = size * cos(theta - tau + a / s), size * cos(theta - tau)
        lost = s * s * tau * tau / 2.0
        wanted = log(2.0) * bits + lost - self._rough_bound(decay)
        rule = self._rule(wanted, a, a * a / 2.0 + s * tau * a, edge, decay)
        with at_precision(int(bits + lost / log(2.0)) + _SPARE_BITS):
            s, turn, a = self.sigma(), arb(tau), arb(a)
            modulus, left = abs(w), w.arg() - turn
            rate = -modulus * acb(left.cos(), left.sin()) if tau or not left.is_zero() else -modulus
            terms = [weight * (rate * value).exp() for weight, value in self.grid(*rule)]
            found = _at(terms, s * turn * rule.h) * acb(0, s * turn * rule.h * rule.first).exp()
            edges = [(modulus * (left + sign * a / s).cos(), -sign * s * turn * a) for sign in (1, -1)]
            return (s * s * turn * turn / 2).exp() * self._with_error(found, rule, a, edges, modulus * left.cos())

    def along(self, c: arb, step: arb, first: int, number: int, bits: float) -> list[acb]:
        """Return phi(c + i j step) for so many j from the first on, with errors of about 2^-bits phi(c)."""
        rule, a, lost = self._shared_rule(float(c.mid()), log(2.0) * bits)
        with at_precision(int(bits + lost / log(2.0)) + _SPARE_BITS):
            s, width = self.sigma(), arb(a)
            turn = width / s
            grid, back = self.grid(*rule), acb(0, -turn).exp()
            start, hop = -back * acb(c, step * first), -back * acb(0, step)
            turned = powers_of(acb(0, s * turn * rule.h).exp(), len(grid))
            left = [weight * x * (start * value).exp() for (weight, value), x in zip(grid, turned, strict=True)]
            found = sums_of_powers(left, [(hop * value).exp() for _, value in grid], number)
            edges = [(c, -width * width), (c * (2 * turn).cos(), width * width)]
            scale = (width * width / 2).exp()
            error = self._with_error(acb(0), rule, width, edges, c * turn.cos())
            scale_of_found = acb(0, s * turn * rule.h * rule.first).exp()
            return [scale * (scale_of_found * x + error) for x in found]

    def bound(self, c: arb) -> arb:
        """Return a bound on phi(c), c > 0: L lies above its tangent at the saddle point, or at any other point."""
        s = self.sigma()
        place = arb(float(self._saddle(min(float(c.mid()), _FAR)).real))
        slope = c * (-place - 1 / (2 * s * s)).exp()
        return (slope * slope / (2 * s * s) - slope * (1 + place)).exp()

    def _rough_bound(self, c: float) -> float:
        place = float(self._saddle(min(c, _FAR)).real)
        return -(float(self.sigma().mid()) ** 2) * (place + place * place / 2.0)

    def _rule(self, wanted: float, a: float, growth: float, edge: float, decay: float) -> _Rule:
        """Return the rule whose error is about e^-wanted, from the strip of half width a.

        Integrands are at its edges at most phi at ``edge`` but for growth, and fall as e^(-decay L) themselves. Steps
        are at most 2: then weights of nodes sum to at most 2.
        """
        s, room = float(self.sigma().mid()), wanted + growth + 3.0
        h = 2.0 * pi * a / max(room + self._rough_bound(edge), pi * a)
        reach = ceil(sqrt(2.0 * room) / h) + 1
        last = ceil((s * log(room / decay) + 0.5 / s) / h) + 1
        return _Rule(h, -reach, max(min(last, reach), 1 - reach))

    def _shared_rule(self, c: float, wanted: float) -> tuple[_Rule, float, float]:
        """Return the rule of fewest nodes for a line, relative to phi(c), its strip, and what cancels, in logs."""
        s, size, found = float(self.sigma().mid()), self._rough_bound(c), []
        for turn in _TURNS:
            a = min(turn * s, sqrt(2.0 * wanted))
            rule = self._rule(wanted - size, a, 2.0 * a * a, c * cos(2.0 * a / s), c * cos(a / s))
            found.append((rule.last - rule.first, rule, a, a * a / 2.0 + self._rough_bound(c * cos(a / s)) - size))
        return min(found)[1:]

    def _with_error(self, found: acb, rule: _Rule, a: arb, edges: Sequence[tuple[arb, arb]], decay: arb) -> acb:
        """Return the ball around a sum over nodes, widened by what the trapezoidal rule and left out nodes may add."""
        s = self.sigma()
        error = sum((self.bound(c) * growth.exp() for c, growth in edges), arb(0)) * (a * a / 2).exp()
        error /= (2 * arb.pi() * a / rule.h).expm1()
        error += (-rule.first * rule.h / arb(2).sqrt()).erfc()
        if rule.last < -rule.first:
            error += 2 * (-decay * (rule.last * rule.h / s - 1 / (2 * s * s)).exp()).exp()
        ball = error.upper() * arb(0, 1)
        return found + acb(ball, ball)

    def grid(self, h: float, first: int, last: int) -> tuple[tuple[arb, arb], ...]:
        """Return weights h e^(-z^2/2)/sqrt(2 pi) and values of L at z = first h, ..., last h."""
        return _grid(self, h, first, last, flint.ctx.prec)

    def nodes(self, c: float, bits: float) -> float:
        """Return how many nodes the rule has that all frequencies of the line at c share."""
        rule = self._shared_rule(c, log(2.0) * bits)[0]
        return float(rule.last - rule.first)

    def rough(self, tilts: Floats) -> Floats:
        """Return log phi at real tilts, about, in doubles."""
        weights, values = self.rough_nodes
        with np.errstate(all="ignore"):
            exponents = -np.outer(tilts, values)
            missing = np.expm1(exponents) @ weights
            found = np.where(
                missing > -0.5, np.log1p(missing), np.logaddexp.reduce(exponents + np.log(weights), axis=1)
            )
            place, s = self._saddle(tilts).real, float(self.sigma().mid())
            return np.where(found > _SMALL_LOG, found, -s * s * (place + place * place / 2.0) - np.log1p(place) / 2.0)

    def rough_decay(self, c: float, u: Floats) -> Floats:
        """Return about what ``beyond`` says of log |phi(c + iu)/phi(c)|."""
        return np.asarray(self._turned(c, u)[1] - self._rough_log(np.array([c])))

    def _turned(self, c: float, u: Floats) -> tuple[Floats, Floats]:
        """Return the angle that makes the bound of ``beyond`` least, of those tried, and its logarithm, in doubles."""
        s, most = float(self.sigma()), np.arctan2(u, c) * (1.0 - 1e-9)
        angles = np.minimum(np.vstack([self._saddle(c + 1j * u).imag, _ANGLES_BEYOND * np.ones((1, len(u)))]), most)
        logs = (s * angles) ** 2 / 2.0 + self._rough_log(c * np.cos(angles) + u * np.sin(angles))
        best = logs.argmin(axis=0), np.arange(len(u))
        return angles[best], logs[best]

    def _rough_log(self, tilts: Floats) -> Floats:
        """Return about log phi at real tilts, from a table of its logarithms."""
        known, logs = self._rough_table
        return np.asarray(-np.exp(np.interp(np.log(tilts), known, logs)))

    @cached_property
    def _rough_table(self) -> tuple[Floats, Floats]:
        tilts = np.geomspace(1e-150, 1e150, 1501)
        return np.log(tilts), np.log(-self.rough(tilts))

    def _saddle(self, w: Any) -> Any:
        """Return where the integrand of phi(w) is stationary, at -s times this, in doubles."""
        s = float(self.sigma())
        return scipy.special.lambertw(w * exp(-0.5 / s**2) / s**2)

    def rough_tail(self, x: float) -> float:
        """Return about log E(L - x)_+ = log(P(Z > z - 1/s) - x P(Z > z)), in doubles, z where L is x."""
        s = float(self.sigma())
        z = s * log(x) + 0.5 / s
        high, low = log_ndtr(1.0 / s - z), log(x) + log_ndtr(-z)
        return high + log1p(-exp(low - high)) if low < high else -inf

    def rough_above(self, x: float) -> float:
        """Return about log P(L > x), in doubles."""
        s = float(self.sigma())
        return float(log_ndtr(-s * log(x) - 0.5 / s))

    def rough_beyond(self, x: Floats) -> tuple[Floats, Floats]:
        """Return about the logarithms of P(L > x) and E[L; L > x] for an array, in doubles."""
        s = float(self.sigma())
        z = s * np.log(x) + 0.5 / s
        return log_ndtr(-z), log_ndtr(1.0 / s - z)

    def rough_variance(self, x: float) -> float:
        """Return about E[L^2; L <= x] - 1, at least 0, in doubles."""
        s = float(self.sigma())
        return max(expm1(min(1.0 / s**2 + log_ndtr(s * log(x) - 1.5 / s), _LARGEST_LOG)), 0.0)

    @cached_property
    def rough_nodes(self) -> tuple[Floats, Floats]:
        """Weights and values of L at nodes of a standard normal variable, in doubles."""
        with at_precision(_ROUGH_BITS):
            s = float(self.sigma())
        h = min(_ROUGH_STEP, s * _ROUGH_STEP)
        z = np.arange(-_ROUGH_REACH, _ROUGH_REACH, h)
        values = np.exp(np.minimum(z / s - 0.5 / s**2, _LARGEST_LOG))
        return h * np.exp(-z * z / 2.0) / sqrt(2.0 * pi), values

    def beyond(self, c: arb, u: arb) -> arb:
        """Return e^(s^2 a^2/2) phi(c cos a + u sin a), for the angle a of the saddle point of phi(c + iu)."""
        with at_precision(_ROUGH_BITS + _SPARE_BITS):
            s, a = self.sigma(), arb(self.turn(c, u))
            inner = self.phi(acb(c * a.cos() + u * a.sin()), _ROUGH_BITS).real
            return ((s * s * a * a / 2).exp() * inner).upper()

    def turn(self, c: arb, u: arb) -> float:
        """Return about the angle of the saddle point of phi(c + iu), at most that of c + iu."""
        return float(self._turned(float(c), np.array([float(u)]))[0][0])

    def above(self, x: arb, power: int) -> arb:
        """Return E[L^k; L > x] for a power k and x >= 0."""
        s, factor = self.sigma(), (arb(power * (power - 1)) / (2 * self.sigma() ** 2)).exp()
        if x.is_zero():
            return factor
        return factor * ((s * x.log() + (1 / (2 * s)) - power / s) / arb(2).sqrt()).erfc() / 2

    def density(self, x: arb) -> arb:
        """Return the density of L at x > 0; it falls from x = 1 on."""
        s = self.sigma()
        z = s * x.log() + 1 / (2 * s)
        return s * (-z * z / 2).exp() / (x * (2 * arb.pi()).sqrt())

    @cached_property
    def variance(self) -> float:
        """e^(1/s^2) - 1."""
        with at_precision(_ROUGH_BITS):
            x = (1 / self.sigma() ** 2).expm1()
            return float(x) if x < 1e300 else inf


class _Rule(NamedTuple):
    """A trapezoidal rule: its step, and the first and the last node."""

    h: float
    first: int
    last: int


@lru_cache(maxsize=64)
def _grid(law: Lognormal, h: float, first: int, last: int, bits: int) -> tuple[tuple[arb, arb], ...]:
    s = law.sigma()
    scale, start = h / (2 * arb.pi()).sqrt(), -1 / (2 * s * s)
    places = [arb(h) * k for k in range(first, last + 1)]
    return tuple((scale * (-z * z / 2).exp(), (z / s + start).exp()) for z in places)


# -------------------------------------- A line of frequencies, and what it says of E(K - T)_+ at every K up to a limit


@dataclass(frozen=True)
class Plan:
    """The line c + iR, c = ``tilt``, in steps of 2 pi/W; a further tilt for what is folded from below.

    ``log_accuracy`` is the logarithm of the error that is aimed at up to K = ``largest``, ``bits`` what it takes. Both
    c and the step have few bits, so that frequencies are exact: turning a contour enlarges what they are off by.
    """

    tilt: float
    step: float
    further: float
    log_accuracy: float
    bits: int
    largest: float

    @staticmethod
    def of(summand: Lognormal, n: int, k: float, log_accuracy: float) -> Plan:
        """Return a plan for all K up to k, found in doubles: every plan gives a bound."""
        unit = 1.0 / sqrt(n * min(summand.variance, float(n)))
        # Up to K = n, with room for its rounding, E(T - K)_+ is not small.
        lam = _RELATIVE if k > 1.001 * n else max(log(n) - log_accuracy, 1.0)
        tilts = np.geomspace(unit * _LEAST_TILT, max(unit / _LEAST_TILT, lam / k), _MANY_TILTS)
        logs = n * summand.rough(tilts)
        with np.errstate(all="ignore"):
            windows = (lam + tilts * k + logs - 1.0 - np.log(tilts) - log_accuracy) / tilts
        windows[~(windows > 0.0)] = inf
        best = int(np.nanargmin(windows))
        tried = [(best, k * wider) for wider in _WIDER] + [(i, float(windows[i])) for i in range(best, 0, -_FEWER)]
        plans = []
        for i, window in tried:
            if not window < k * _WIDER[-1]:
                continue
            further = max(float(tilts[i]), 2.0 * lam / window)
            if window < k and further > tilts[i]:  # the tilt is not far below the one that the window is for
                height = further * k + float(n * summand.rough(np.array([further]))[0]) - log(further)
                window = min(max(window, (lam + height - log_accuracy) / further), k)
            tilt, step = short(lam / window), short(2.0 * pi / window)
            height = tilt * k + float(n * summand.rough(np.array([tilt]))[0]) - 2.0 * log(tilt)
            bits = (height - log_accuracy) / log(2.0) + log(n) / log(2.0) + _SPARE_BITS
            plans.append(Plan(tilt, step, max(further, 2.0 * tilt), log_accuracy, max(int(bits), 64), k))
        return min(plans, key=lambda plan: plan.work(summand, n))

    def work(self, summand: Lognormal, n: int) -> float:
        """Return about the work of the line, in terms times bits; inf if it takes too many frequencies."""
        found = self.frequencies(summand, n)
        return found * summand.nodes(self.tilt, self.bits) * self.bits if found < _SURE * MOST_FREQUENCIES else inf

    def frequencies(self, summand: Lognormal, n: int) -> float:
        """Return about how many frequencies the line takes, in doubles."""
        u = self.step * _COUNTS
        logs = n * (float(summand.rough(np.array([self.tilt]))[0]) + summand.rough_decay(self.tilt, u))
        small = logs - np.log(u) < self.log_accuracy - self.tilt * self.largest
        return float(_COUNTS[small.argmax()]) if small.any() else inf


@dataclass(frozen=True, eq=False)
class Line:
    """phi(w)^n/w^2 at w = c + 2 pi i j/W for j = 0, 1, ..., and ``rest``, a bound on the sum over all further j.

    Guarantee
    ---------
    ``stop_loss`` returns a ball that contains E(K - T)_+, for every K > 0 and every plan.
    Proof: docs/proofs/random_allocation.md, sections 2 and 3.
    """

    summand: Lognormal
    n: int
    plan: Plan
    values: tuple[acb, ...]
    rest: arb
    further: arb
    """n log phi at the further tilt."""

    @staticmethod
    def of(summand: Lognormal, n: int, plan: Plan, most: int = MOST_FREQUENCIES) -> Line:
        """Return the line. Raises PrecisionError if it needs more than ``most`` frequencies."""
        with at_precision(plan.bits + 32):
            c, step = arb(plan.tilt), arb(plan.step)
            values: list[acb] = []
            target = (arb(plan.log_accuracy) - c * arb(plan.largest)).exp() / step
            following, rest, ahead = 1, None, int(_LONGER * plan.frequencies(summand, n)) + _CHUNK
            while rest is None:
                if len(values) > most:
                    told = Problem(f"more than {most} frequencies are needed")
                    raise PrecisionError("noise", told, "take a larger gap")
                start = len(values)
                for k, phi in enumerate(summand.along(c, step, start, min(ahead, most + 1), plan.bits), start):
                    w = acb(c, step * k)
                    values.append(power(phi, n) / (w * w))
                    if k + 1 >= following and abs(values[-1]) < target:
                        rest = _rest(summand, n, c, step, k + 1)
                        if rest <= target:
                            break
                        rest, following = None, ceil(_LONGER * k)
                ahead = len(values) // 4 + _CHUNK
            further = arb(plan.further)
            return Line(summand, n, plan, tuple(values), rest, n * summand.phi(acb(further), plan.bits).real.log())

    @property
    def shown(self) -> dict[str, str | int | float]:
        """What a certificate says of the line."""
        with at_precision(_ROUGH_BITS):
            turn = self.summand.turn(arb(self.plan.tilt), arb(self.plan.step) * len(self.values))
        about = {"tilt": self.plan.tilt, "step": self.plan.step, "further": self.plan.further, "turn": turn}
        return {"kind": "line", "precision": self.plan.bits + 32, "count": len(self.values), **about}

    def stop_loss(self, k: arb) -> arb:
        """Return a ball around E(K - T)_+."""
        with at_precision(self.plan.bits + 32):
            n, c, step = self.n, arb(self.plan.tilt), arb(self.plan.step)
            window = 2 * arb.pi() / step
            turned = _at(self.values, step * k).real * 2 - self.values[0].real
            rest = 2 * self.rest.upper() * arb(0, 1)
            folded = (c * k).exp() / window * (turned + rest)
            q = (-c * window).exp()
            known = ((k - n) + window / (1 - q)) * q / (1 - q)
            # What is folded from above: E(T - x)_+ for x > K, at most n, and at most that at K.
            unknown = q / (1 - q) * (folded - known + n - k).upper().min(arb(n)).max(arb(0))
            if not window >= k:
                other = arb(self.plan.further)
                peak = (other * k + self.further - 1).exp() / other
                unknown += peak / ((other - c) * window).expm1()
            return (folded - known - _from_zero_to(unknown)).max(arb(0))


# ------------------------------------------------- A contour that is bent to the left: for few summands, at any level


@dataclass(frozen=True)
class BentPlan:
    """The contour w(x) = scale (1 + sin(ix - angle)), in steps of x; its strip has the half width ``width``."""

    scale: float
    angle: float
    width: float
    step: float
    count: int
    bits: int

    @staticmethod
    def of(summand: Lognormal, n: int, k: float, log_accuracy: float) -> BentPlan:
        """Return a plan for K up to k, found in doubles: every plan gives a bound."""
        spread, found = n * float(summand.sigma().mid()) ** 2 / 2.0, []
        for height, angle in product(_HEIGHTS, _ANGLES):
            width = min(angle, pi / 2.0 - angle) * _OF_STRIP
            base = height + log(k / height) - log_accuracy
            rises = [spread * x * x - height * sin(x) - 1.5 * log1p(-sin(x)) for x in (angle - width, angle + width)]
            due, room = max(base + max(rises), 1.0), base + spread * angle**2 - 1.5 * log1p(-sin(angle))
            step = 2.0 * pi * width / (due + 2.0)
            end = acosh(max(room / (height * sin(angle) * _LEAST_PART), 1.0))
            lost = height + spread * angle**2
            bits = (lost + max(log(k / height), 0.0) - log_accuracy + log(n)) / log(2.0) + _SPARE_BITS
            scale, count = short(height / k), ceil(end / step)
            found.append(BentPlan(scale, short(angle), short(width), short(step), count, int(bits)))
        return min(found, key=lambda plan: plan.count * plan.bits)

    def work(self, summand: Lognormal) -> float:
        """Return about the work of the values, in terms times bits."""
        return self.count * summand.nodes(self.scale, self.bits) * self.bits


@dataclass(frozen=True, eq=False)
class BentLine:
    """w and phi(w)^n w'(x)/w^2 at the places x = 0, h, 2h, ... of a contour.

    Guarantee
    ---------
    ``stop_loss`` returns a ball that contains E(K - T)_+, for every K > 0 and every plan.
    Proof: docs/proofs/random_allocation.md, section 2.
    """

    summand: Lognormal
    n: int
    plan: BentPlan
    values: tuple[tuple[acb, acb], ...]

    @staticmethod
    def of(summand: Lognormal, n: int, plan: BentPlan) -> BentLine:
        """Return the contour."""
        with at_precision(plan.bits + 32):
            values, scale, angle = [], arb(plan.scale), arb(plan.angle)
            for j in range(plan.count):
                x = arb(plan.step) * j
                w = scale * acb(1 - angle.sin() * x.cosh(), angle.cos() * x.sinh())
                slope = scale * acb(angle.cos() * x.cosh(), angle.sin() * x.sinh())
                values.append((w, power(summand.phi(w, plan.bits), n) * slope / (w * w)))
            return BentLine(summand, n, plan, tuple(values))

    @property
    def shown(self) -> dict[str, str | int | float]:
        """What a certificate says of the contour."""
        about = {name: getattr(self.plan, name) for name in ("scale", "angle", "width", "step", "count")}
        return {"kind": "contour", "precision": self.plan.bits + 32, **about}

    def stop_loss(self, k: arb) -> arb:
        """Return a ball around E(K - T)_+."""
        with at_precision(self.plan.bits + 32):
            scale, angle, width, h = (
                arb(x) for x in (self.plan.scale, self.plan.angle, self.plan.width, self.plan.step)
            )
            found = sum((((w * k).exp() * y).real for w, y in self.values[1:]), arb(0)) * 2
            found += ((self.values[0][0] * k).exp() * self.values[0][1]).real
            spread, height = self.n * self.summand.sigma() ** 2 / 2, scale * k

            def largest(turn: arb, far: arb) -> arb:
                rise = spread * turn * turn + height * (1 - turn.sin() * far)
                return rise.exp() * arb(2).sqrt() / (scale * (1 - turn.sin()) ** arb(1.5))

            inside = arb.pi() * (largest(angle - width, arb(1)) + largest(angle + width, arb(1)))
            end = h * (self.plan.count - 1)
            error = inside / (2 * arb.pi() * width / h).expm1() + 4 * largest(angle, end.cosh()) * (-end).exp()
            ball = error.upper() * arb(0, 1)
            return ((h * found + ball) / (2 * arb.pi())).max(arb(0))


def line_of(summand: Lognormal, n: int, k: float, log_accuracy: float) -> Line | BentLine | None:
    """Return what gives E(K - T)_+ for K up to k with the least work; None where all take too much."""
    straight, bent = Plan.of(summand, n, k, log_accuracy), BentPlan.of(summand, n, k, log_accuracy)
    work, work_bent = straight.work(summand, n), _BENT * bent.work(summand)
    if min(work, work_bent) > _MOST_WORK:
        return None
    return Line.of(summand, n, straight) if work <= work_bent else BentLine.of(summand, n, bent)


def _at(coefficients: Sequence[arb] | Sequence[acb], angle: arb) -> acb:
    """Return the polynomial at e^(i angle): by Horner's rule over few coefficients only, as its boxes turn."""
    x = acb(0, angle).exp()
    parts = [acb_poly(list(coefficients[i : i + _CHUNK]))(x) for i in range(0, len(coefficients), _CHUNK)]
    found = acb(0)
    for part, turn in zip(parts, powers_of(acb(0, angle * _CHUNK).exp(), len(parts)), strict=True):
        found += part * turn
    return found


def short(x: float) -> float:
    """Return the number rounded to 24 bits."""
    mantissa, exponent = frexp(x)
    return ldexp(round(ldexp(mantissa, 24)), exponent - 24)


def _from_zero_to(bound: arb) -> arb:
    half = bound.upper() / 2
    return half + half.upper() * arb(0, 1)


def _rest(summand: Lognormal, n: int, c: arb, step: arb, first: int) -> arb:
    """Return a bound on the sum of |phi^n/w^2| over the frequencies from ``first`` on."""
    weight = (arb(1) / (first * first) + arb(1) / first) / (step * step)
    return (weight * summand.beyond(c, step * first) ** n).upper()


# ---------------------------------------------------------- Moments of a sum of lognormal variables, as of Renyi orders


def log_moment(law: Lognormal, n: int, order: int) -> arb:
    """Return a ball around log E[(T/n)^order] for a whole order >= 0: a coefficient of the n-th power of a series.

    Guarantee
    ---------
    The ball contains the logarithm of the moment. Proof: docs/proofs/random_allocation.md, section 9.
    """
    with at_precision(_MOMENT_BITS + 8 * n.bit_length() + 16 * order):
        rate, factorial = 1 / (2 * law.sigma() ** 2), arb(1)
        terms = []
        for j in range(order + 1):
            factorial *= max(j, 1)
            terms.append((rate * (j * (j - 1))).exp() / factorial)
        return (power_of_series(terms, n)[order] * factorial).log() - order * arb(n).log()


def power_of_series(terms: Sequence[arb], n: int) -> arb_poly:
    """Return the n-th power of a series, up to the order to which it is given."""
    square, found = arb_poly(list(terms)), arb_poly([1])
    while n:
        found = arb_poly((found * square).coeffs()[: len(terms)]) if n & 1 else found
        square, n = arb_poly((square * square).coeffs()[: len(terms)]), n >> 1
    return found


def log_negative_moment(law: Lognormal, n: int, order: arb) -> arb:
    """Return a ball around log E[(T/n)^-order] for an order > 0: the trapezoidal rule for Gamma's integral.

    Raises PrecisionError where that takes too many values.

    Guarantee
    ---------
    The ball contains the logarithm of the moment. Proof: docs/proofs/random_allocation.md, section 9.
    """
    with at_precision(_MOMENT_BITS + n.bit_length()):
        s, z, wanted = law.sigma(), float(order), 45.0
        spread = n * float(s) ** 2
        height = min(1.4, sqrt(2.0 * wanted / spread))
        h = 2.0 * pi * height / (spread * height * height / 2.0 + wanted)
        middle, steeper = log(z / n), order + 20
        largest = steeper + order
        bound = (largest / (2 * s * s) + largest**2 / (2 * n * s * s) - largest * arb(n).log()).exp()
        bound *= (largest * (largest.log() - 1)).exp()
        goal = order.gamma().log() - order * arb(n).log() - wanted
        first, last = floor((middle - (wanted + 10.0) / z) / h), ceil(middle / h)

        def beyond(k: int) -> arb:
            return h * bound * (-steeper * h * k).exp() / (1 - (-steeper * h).exp())

        while not beyond(last).log() < goal:
            last += ceil(0.2 / h)
        if last - first > _MOST_VALUES:
            raise PrecisionError("order", Problem(f"more than {_MOST_VALUES} values are needed"), "take a larger order")
        found = arb(0)
        for k in range(first, last):
            x = arb(h) * k
            phi = law.phi(acb(x.exp()), _MOMENT_BITS - 20 + n.bit_length()).real
            found += (order * x).exp() * phi**n
        tails = beyond(last) + h * (order * h * first).exp() / (1 - (-order * h).exp())
        total = found * h + _from_zero_to(tails)
        error = 2 * (s * s * n * arb(height) ** 2 / 2).exp() / (2 * arb.pi() * height / h).expm1()
        return (total / (1 + error.upper() * arb(0, 1))).log() - order.gamma().log() + order * arb(n).log()
