"""E(K - T)_+ for a sum T of n nonnegative summands of mean 1, from the Laplace transform of one on a vertical line.

The payoff (K - x)_+ has the transform 1/w^2, and what is folded onto a window is known but for its tails: nothing is
smoothed, and digits cost bits, not frequencies (docs/proofs/random_allocation.md). T needs no exponential moments.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, exp, floor, frexp, inf, ldexp, log, log1p, pi, sqrt
from typing import Any, Protocol

import flint
import numpy as np
from flint import acb, acb_mat, acb_poly, arb, arb_poly

from symamp.errors import PrecisionError, Problem
from symamp.laws.law import Floats, Number
from symamp.numbers.optional import lambertw, log_ndtr
from symamp.numbers.surroundings import at_precision

# What is tuned. Every line gives a bound; these trade time against width.
MOST_FREQUENCIES, _MOST_WORK, _COUNTS = 50_000, 1.2e10, np.geomspace(1.0, 1e6, 300)
"""Of one line; of frequencies, times nodes, times bits; and the numbers that estimates tell apart. Windows far wider
than the deviation of T need more."""
_SPARE_BITS, _ROUGH_BITS = 40, 64
"""Bits beyond those that the magnitudes say, and those of bounds on what is dropped."""
_ROUGH_STEP, _ROUGH_REACH, _LARGEST_LOG = 0.04, 14.0, 700.0
"""Nodes of a standard normal variable in doubles, for searches, and the largest logarithm that they raise."""
_MOMENT_BITS, _MOST_VALUES = 128, 20_000
"""Bits of moments, and values of the transform for one of them."""
_CHUNK = 32
"""Coefficients over which Horner's rule goes: each step may cost half a bit."""
_SURE, _LONGER = 0.8, 1.1
"""For what part of the most a line is begun; and after how many more frequencies, relatively, the rest is bounded
again."""
_TILTS = np.geomspace(1e-4, 1e4, 161)
"""Tilts that are tried for what is folded from below, in units of the inverse deviation of T or of its mean."""


class Summand(Hashable, Protocol):
    """The Laplace transform phi(w) = E e^(-wL) of one summand L >= 0 with mean 1, for Re w > 0 and Im w >= 0."""

    def phi(self, w: acb, bits: float) -> acb:
        """Return phi(w), with an absolute error of about 2^-bits."""

    def along(self, c: arb, step: arb, first: int, number: int, bits: float) -> list[acb]:
        """Return phi(c + i j step) for so many j from the first on, with absolute errors of about 2^-bits."""

    def nodes(self, bits: float) -> float:
        """Return about how many terms one value of phi has."""

    def rough(self, tilts: Floats) -> Floats:
        """Return log phi at real tilts, about, in doubles."""

    def rough_decay(self, c: float, u: Floats) -> Floats:
        """Return about log |phi(c + iu)/phi(c)|, in doubles."""

    def rough_tail(self, x: float) -> float:
        """Return about log E(L - x)_+, in doubles; -inf for what is below them."""

    def rough_above(self, x: float) -> float:
        """Return about log P(L > x), in doubles."""

    def turn(self, c: arb, u: arb) -> float:
        """Return the angle with which ``beyond`` turns the contour."""

    def above(self, x: arb, power: int) -> arb:
        """Return E[L^k; L > x] for a power k and x >= 0."""

    def density(self, x: arb) -> arb:
        """Return the density of L at x > 0; it falls from x = 1 on."""

    def beyond(self, c: arb, u: arb, bits: float) -> arb:
        """Return a bound on |phi(w)| wherever Re w = c and Im w >= u, with an absolute error of about 2^-bits."""

    @property
    def variance(self) -> float:
        """About the variance of L; inf if it has none that is a double."""


# ------------------------------------------------------------- The Laplace transform of a lognormal variable of mean 1


@dataclass(frozen=True)
class Lognormal:
    """L = exp(Z/s - 1/(2 s^2)), Z standard normal: the likelihood ratio of N(1, s^2) and N(0, s^2) under the second.

    Guarantee
    ---------
    The balls contain phi(w), and E[L^2 e^(-cL)], for every w with Re w > 0 and Im w >= 0; ``beyond`` bounds |phi|.
    Proof: docs/proofs/random_allocation.md, section 3.
    """

    sigma: Number

    def phi(self, w: acb, bits: float) -> acb:
        """Return phi(w) by the trapezoidal rule, on a line that is shifted by -i s ``turn``."""
        with at_precision(_ROUGH_BITS):
            rough_s, rough_angle = float(self.sigma()), float(w.arg())
        wanted = log(2.0) * bits
        # The integrand is bounded in a strip of half width a if the angle that is left and a/s are at most pi/2.
        a = min(sqrt(2.0 * wanted), rough_s * pi / 2)
        turned = max(rough_angle + a / rough_s - pi / 2, 0.0) * (1.0 + 1e-9)
        # All w share the nodes of the largest turn: a/s, which is a quarter of a circle where the strip is narrow.
        grown = a * a / 2.0
        with at_precision(int(bits + grown / log(2.0)) + _SPARE_BITS):
            s, modulus, angle, quarter = self.sigma(), abs(w), w.arg(), arb.pi() / 2
            turn, width, left = arb(turned), arb(a), angle - arb(turned)
            if not (left >= 0 and left + width / s <= quarter):
                turn, width, left = angle, width.min(s * quarter), arb(0)
            h = 2.0 * pi * a / (a * a / 2.0 + a * a + grown + wanted + 2.0)
            reach = ceil(sqrt(2.0 * (wanted + grown)) / h) + 1
            rate = -modulus if left.is_zero() else acb(-modulus * left.cos(), modulus * -left.sin())
            grid = _grid(self, h, reach, flint.ctx.prec)
            used = len(grid)
            if left.is_zero():  # beyond, integrands are below what is aimed at
                used = bisect_left(grid, float(wanted / modulus), key=lambda node: float(node[1]))
            terms = [weight * (rate * value).exp() for weight, value in grid[:used]]
            found = _at(terms, s * turn * h) * acb(0, -s * turn * h * reach).exp()
            edge = (s * turn * width).cosh() * (width * width / 2).exp()
            error = 2 * edge / (2 * arb.pi() * width / h).expm1() + (arb(reach) * h / arb(2).sqrt()).erfc()
            if used < len(grid):
                error += 2 * (-modulus * grid[used][1]).exp()
            ball = error.upper() * arb(0, 1)
            return (s * s * turn * turn / 2).exp() * (found + acb(ball, ball))

    def along(self, c: arb, step: arb, first: int, number: int, bits: float) -> list[acb]:
        """Return phi(c + i j step) for so many j from the first on, with absolute errors of about 2^-bits.

        One turn for all frequencies: then they are an arithmetic progression still, and the sums over nodes are a
        product of two matrices of powers, whose entries are products and no exponentials.
        """
        wanted = log(2.0) * bits
        a, grown, h, reach = self._rule(wanted)
        with at_precision(int(bits + grown / log(2.0)) + _SPARE_BITS):
            s, width = self.sigma(), arb(a)
            turn = width / s
            grid, back = _grid(self, h, reach, flint.ctx.prec), acb(0, -turn).exp()
            decay = c * turn.cos()  # at least that of every frequency
            used = bisect_left(grid, float((wanted + grown) / decay), key=lambda node: float(node[1]))
            rows = ceil(sqrt(number))
            start, hop = -back * acb(c, step * first), -back * acb(0, step)
            turned = _powers(acb(0, s * turn * h).exp(), used)
            left = [weight * x * (start * value).exp() for (weight, value), x in zip(grid, turned, strict=False)]
            small = [_powers((hop * value).exp(), rows + 1) for _, value in grid[:used]]
            large = [_powers(powers[rows], rows) for powers in small]
            first_factor = acb_mat([[x * y[k] for x, y in zip(left, large, strict=True)] for k in range(rows)])
            found = first_factor * acb_mat([powers[:rows] for powers in small])
            edge = (s * turn * width).cosh() * (width * width / 2).exp()
            error = 2 * edge / (2 * arb.pi() * width / h).expm1() + (arb(reach) * h / arb(2).sqrt()).erfc()
            if used < len(grid):
                error += 2 * (-decay * grid[used][1]).exp()
            ball = error.upper() * arb(0, 1)
            scale = (s * s * turn * turn / 2).exp() * acb(0, -s * turn * h * reach).exp()
            return [scale * (found[j // rows, j % rows] + acb(ball, ball)) for j in range(number)]

    def _rule(self, wanted: float) -> tuple[float, float, float, int]:
        """Return the strip of the turned rule, the logarithm of its growth, its step and how many nodes it has."""
        with at_precision(_ROUGH_BITS):
            a = min(sqrt(2.0 * wanted), float(self.sigma()) * pi / 4 * (1.0 - 1e-9))
        grown = a * a / 2.0
        h = 2.0 * pi * a / (a * a / 2.0 + a * a + grown + wanted + 2.0)
        return a, grown, h, ceil(sqrt(2.0 * (wanted + grown)) / h) + 1

    def nodes(self, bits: float) -> float:
        """Return how many nodes the turned rule has."""
        return 2.0 * self._rule(log(2.0) * bits)[3]

    def rough(self, tilts: Floats) -> Floats:
        """Return log phi at real tilts, about, in doubles."""
        weights, values = self._rough_nodes
        with np.errstate(all="ignore"):
            exponents = -np.outer(tilts, values)
            missing = np.expm1(exponents) @ weights
            return np.where(missing > -0.5, np.log1p(missing), np.logaddexp.reduce(exponents + np.log(weights), axis=1))

    def rough_decay(self, c: float, u: Floats) -> Floats:
        """Return about log |phi(c + iu)/phi(c)|, or what ``beyond`` says of it: the integrand at its saddle point."""
        s = float(self.sigma())
        place = self._saddle(np.concatenate([[c], c + 1j * u]))
        logs = (-s * s * (place + place * place / 2.0)).real
        return np.asarray(logs[1:] - logs[0])

    def _saddle(self, w: Any) -> Any:
        """Return where the integrand of phi(w) is stationary, at -s times this, in doubles."""
        s = float(self.sigma())
        return lambertw(w * exp(-0.5 / s**2) / s**2)

    def rough_tail(self, x: float) -> float:
        """Return about log E(L - x)_+ = log(P(Z > z - 1/s) - x P(Z > z)), in doubles, z where L is x."""
        s = float(self.sigma())
        z = s * log(x) + 0.5 / s
        high, low = log_ndtr(1.0 / s - z), log(x) + log_ndtr(-z)
        return high + log1p(-exp(low - high)) if low < high else -inf

    def rough_above(self, x: float) -> float:
        """Return about log P(L > x), in doubles."""
        s = float(self.sigma())
        return log_ndtr(-s * log(x) - 0.5 / s)

    @cached_property
    def _rough_nodes(self) -> tuple[Floats, Floats]:
        with at_precision(_ROUGH_BITS):
            s = float(self.sigma())
        h = min(_ROUGH_STEP, s * _ROUGH_STEP)
        z = np.arange(-_ROUGH_REACH, _ROUGH_REACH, h)
        values = np.exp(np.minimum(z / s - 0.5 / s**2, _LARGEST_LOG))
        return h * np.exp(-z * z / 2.0) / sqrt(2.0 * pi), values

    def beyond(self, c: arb, u: arb, bits: float) -> arb:
        """Return e^(s^2 a^2/2) phi(c cos a + u sin a), for the angle a of the saddle point of phi(c + iu)."""
        turn = self.turn(c, u)
        with at_precision(_ROUGH_BITS):
            grown = float(self.sigma()) ** 2 * turn * turn / 2.0
        bits += grown / log(2.0)
        with at_precision(int(bits) + _SPARE_BITS):
            s, a = self.sigma(), arb(turn)
            inner = self.phi(acb(c * a.cos() + u * a.sin()), bits).real
            return ((s * s * a * a / 2).exp() * inner).upper()

    def turn(self, c: arb, u: arb) -> float:
        """Return about the angle of the saddle point of phi(c + iu), at most that of c + iu."""
        angle = float(acb(c, u).arg().lower()) * (1.0 - 1e-9)
        return min(float(self._saddle(complex(float(c), float(u))).imag), angle)

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


@lru_cache(maxsize=64)
def _grid(law: Lognormal, h: float, reach: int, bits: int) -> tuple[tuple[arb, arb], ...]:
    """Return weights h e^(-z^2/2)/sqrt(2 pi) and values of L at z = -reach h, ..., reach h."""
    s = law.sigma()
    scale, start = h / (2 * arb.pi()).sqrt(), -1 / (2 * s * s)
    places = [arb(h) * k for k in range(-reach, reach + 1)]
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
    def of(summand: Summand, n: int, k: float, log_accuracy: float) -> Plan:
        """Return a plan for all K up to k, found in doubles: every plan gives a bound."""
        unit = 1.0 / sqrt(n * min(summand.variance, float(n)))
        tilts = unit * _TILTS
        logs = n * summand.rough(tilts)
        lam = log(n) - log_accuracy
        with np.errstate(all="ignore"):
            windows = (lam + tilts * k + logs - 1.0 - np.log(tilts) - log_accuracy) / tilts
        windows[~(windows > 0.0)] = inf
        best = int(np.nanargmin(windows))
        window = min(float(windows[best]), k) if k * tilts[best] > 1.0 else float(windows[best])
        tilt, step = _short(lam / window), _short(2.0 * pi / window)
        height = tilt * k + float(n * summand.rough(np.array([tilt]))[0]) - 2.0 * log(tilt)
        bits = (height - log_accuracy) / log(2.0) + log(n) / log(2.0) + _SPARE_BITS
        return Plan(tilt, step, max(float(tilts[best]), 2.0 * tilt), log_accuracy, max(int(bits), 64), k)

    def is_affordable(self, summand: Summand, n: int) -> bool:
        """Return whether the line takes few frequencies, as it seems, and little work."""
        found = self.frequencies(summand, n)
        return found < _SURE * MOST_FREQUENCIES and found * summand.nodes(self.bits) * self.bits < _MOST_WORK

    def frequencies(self, summand: Summand, n: int) -> float:
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

    summand: Summand
    n: int
    plan: Plan
    values: tuple[acb, ...]
    rest: arb
    further: arb
    """n log phi at the further tilt."""

    @staticmethod
    def of(summand: Summand, n: int, plan: Plan, most: int = MOST_FREQUENCIES) -> Line:
        """Return the line. Raises PrecisionError if it needs more than ``most`` frequencies."""
        with at_precision(plan.bits + 32):
            c, step = arb(plan.tilt), arb(plan.step)
            values: list[acb] = []
            target = (arb(plan.log_accuracy) - c * arb(plan.largest)).exp() / step
            following, rest, ahead = 1, None, int(_LONGER * plan.frequencies(summand, n)) + _CHUNK
            enough = _ROUGH_BITS - float(target.log()) / (n * log(2.0))
            while rest is None:
                if len(values) > most:
                    told = Problem(f"more than {most} frequencies are needed")
                    raise PrecisionError("noise", told, "take a larger gap")
                start = len(values)
                for k, phi in enumerate(summand.along(c, step, start, min(ahead, most + 1), plan.bits), start):
                    w = acb(c, step * k)
                    values.append(_power(phi, n) / (w * w))
                    if k + 1 >= following and abs(values[-1]) < target:
                        rest = _rest(summand, n, c, step, k + 1, enough)
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
            unknown = n * q / (1 - q)
            if not window >= k:
                other = arb(self.plan.further)
                peak = (other * k + self.further - 1).exp() / other
                unknown += peak / ((other - c) * window).expm1()
            return (folded - known - _from_zero_to(unknown)).max(arb(0))


def _at(coefficients: Sequence[arb] | Sequence[acb], angle: arb) -> acb:
    """Return the polynomial at e^(i angle): by Horner's rule over few coefficients only, as its boxes turn."""
    x = acb(0, angle).exp()
    parts = [acb_poly(list(coefficients[i : i + _CHUNK]))(x) for i in range(0, len(coefficients), _CHUNK)]
    found = acb(0)
    for part, power in zip(parts, _powers(acb(0, angle * _CHUNK).exp(), len(parts)), strict=True):
        found += part * power
    return found


def _short(x: float) -> float:
    """Return the number rounded to 24 bits."""
    mantissa, exponent = frexp(x)
    return ldexp(round(ldexp(mantissa, 24)), exponent - 24)


def _powers(x: acb, number: int) -> list[acb]:
    """Return the powers of x from the 0th on, by squaring: boxes turn a few times only."""
    powers = [acb(1), x]
    for k in range(2, number):
        powers.append(powers[k // 2] * powers[k - k // 2])
    return powers[:number]


def _power(base: acb, n: int) -> acb:
    return (base.log() * n).exp() if base.real > 0 else base**n


def _from_zero_to(bound: arb) -> arb:
    half = bound.upper() / 2
    return half + half.upper() * arb(0, 1)


def _rest(summand: Summand, n: int, c: arb, step: arb, first: int, bits: float) -> arb:
    """Return a bound on the sum of |phi^n/w^2| over the frequencies from ``first`` on."""
    weight = (arb(1) / (first * first) + arb(1) / first) / (step * step)
    return (weight * summand.beyond(c, step * first, bits) ** n).upper()


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
        power, result, k = arb_poly(terms), arb_poly([1]), n
        while k:
            result = _cut(result * power, order) if k & 1 else result
            power, k = _cut(power * power, order), k >> 1
        return (result[order] * factorial).log() - order * arb(n).log()


def _cut(p: arb_poly, order: int) -> arb_poly:
    return arb_poly(p.coeffs()[: order + 1])


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
