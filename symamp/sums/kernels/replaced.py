"""E(T - E T')_+ for sums T, T' of the two likelihood ratios of a message that is moved by 1 or by -1, over unmoved.

Both have heavy tails. The transform of one summand is an integral whose path is moved to where both ratios damp it.
Frequencies are at equal distances, those of a wave, or in geometric progression: for few summands or huge ratios, where
values of many magnitudes matter (docs/proofs/random_allocation.md, section 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, floor, lgamma, log, pi, sin, sqrt
from typing import Any

import numpy as np
from flint import acb, acb_poly, arb, arb_poly

from symamp.laws.law import Floats, total
from symamp.numbers.surroundings import at_precision
from symamp.sums.kernels.balls import power, powers_of, sums_of_powers
from symamp.sums.kernels.one_jump import parameters_of_jumps, stop_loss_of_jumps
from symamp.sums.kernels.one_sided import MOST_FREQUENCIES, Lognormal, power_of_series

# What is tuned. Every choice gives a bound; these trade time against width.
_QUICK, _MOST_WORK, _MOST_WORK_OF_WAVES, _SPARE_BITS, _BITS_OF_BOUNDS = 3e5, 8e7, 2e9, 40, 64
"""Frequencies, and nodes, times bits: about a tenth of a second, and some twenty, also of waves; bits beyond those that
magnitudes say, and those of a bound on what is left."""
_FARTHER, _MOST_TRIES, _PART = 1.25, 30, 16.0
"""By how much, and how often, what T exceeds is enlarged until that is proved to be rare enough; and the height of a
wave where it may be 0, as a part of what lies below."""
_ORDERS, _STRIPS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96), np.linspace(0.01, 1.54, 154)
_FEW, _OF_DEVIATIONS = 8, 2.0
"""Numbers of moments, and half widths of the strip, that are tried: so few in any case, and more for more deviations
that matter, over that of the logarithm of a ratio."""
_FAR_LEFT, _PLACES, _FAR, _ROOM = 60.0, 300, 4.0, 2.0
"""How far below 1/E, in the logarithm, and at how many frequencies damping is looked at; how far the series in place of
the transform goes, over what it must; and by how much, in the logarithm, estimates are meant to be below."""
_NODES, _TILTS = np.linspace(-40.0, 40.0, 801), np.geomspace(1e-4, 1e20, 401)
"""Places at which normal variables are looked at, and tilts that are tried."""
_TURNS = np.concatenate([np.geomspace(2e-3, 0.04, 6), np.linspace(0.05, 1.5, 10)])
"""Turns that are tried: with much noise the best ones are small."""
_TURN, _TURN_OF_BOUNDS, _LARGEST_EPS = 1.2, 1.5, 600.0
"""By what angle paths are moved at most; strips of real integrands are as wide as the second allows; and the largest
eps that doubles see."""


@dataclass(frozen=True)
class Frequencies:
    """Frequencies, and the ``turn`` by which what is beyond them is bounded; ``bits`` are those of their transforms."""

    turn: float
    bits: int

    def work(self, law: Lognormal) -> float:
        """Return about how long they take: frequencies, and nodes, times bits."""
        raise NotImplementedError

    def precision(self, law: Lognormal) -> int:
        """Return the bits of frequencies and of the level: moving a path enlarges what they are off by."""
        a = _width_of_path(float(law.sigma().mid()), self.bits)
        return int(self.bits + 0.75 * a * a / log(2.0)) + _SPARE_BITS

    def shown(self, law: Lognormal, n: int) -> dict[str, Any] | None:
        """Return what a certificate says of them; None where nothing proves what is left out."""
        raise NotImplementedError

    def expected_excess(self, law: Lognormal, n: int, e: arb) -> tuple[arb, arb]:
        """Return balls whose outer ends enclose E(T - E T')_+ at the level E, whatever was chosen."""
        raise NotImplementedError

    def _beyond(self, law: Lognormal, n: int, e: arb, u: arb) -> arb:
        """Return a bound on the transform of T - E T' at u and beyond."""
        s, turn = law.sigma(), arb(self.turn)
        # Its n-th power matters, and what moving the path by this turn enlarges it by.
        bits = _BITS_OF_BOUNDS + self.bits / n + float((s * turn) ** 2) / (2.0 * log(2.0))
        return (((s * turn) ** 2 / 2).exp() * damping(law, e, u * turn.sin(), bits)).upper() ** n


# ---------------------------------------------------------------------------------- At equal distances: those of a wave


@dataclass(frozen=True)
class Wave(Frequencies):
    """The wave that rises from 0 to ``peak`` and falls again, then is 0 for the length ``left``; and its frequencies.

    T - ``end`` and ``start`` - T are positive so seldom that they are left out; ``tilt`` proves it of the latter.
    """

    start: float
    end: float
    tilt: float
    peak: float
    left: float
    count: int

    @staticmethod
    def of(law: Lognormal, n: int, eps: float, log_accuracy: float) -> Wave | None:
        """Return a wave for one level with an error of about e^log_accuracy; None if it takes too much work."""
        start, tilt = _seldom_below(law, n, log_accuracy)
        end, damped = _seldom_above(law, n, log_accuracy), _damped_from(law, n, eps, log_accuracy - log(4.0 / pi))
        if end is None or damped is None:
            return None
        left = (exp(eps) * end - start) * (1.0 + 1e-9)
        peak = max((end - exp(eps) * start) * (1.0 + 1e-9), left / _PART)
        step = 2.0 * pi / (2.0 * peak + left)
        bits = int((log(n / step) - log_accuracy) / log(2.0)) + _SPARE_BITS
        found = Wave(damped[1], bits, start, end, tilt, peak, left, ceil(max(exp(damped[0]) / step, 1.0)))
        return found if found.count < MOST_FREQUENCIES and found.work(law) < _MOST_WORK_OF_WAVES else None

    def work(self, law: Lognormal) -> float:
        a, _, last = _path(float(law.sigma().mid()), self.bits)
        return self.count * 2.0 * last * (self.bits + a * a / 2.0)

    def shown(self, law: Lognormal, n: int) -> dict[str, Any] | None:
        tail = parameters_of_jumps(law, n, self.end)
        names = ("start", "end", "tilt", "peak", "left", "turn")
        about: dict[str, Any] = {name: float(getattr(self, name)) for name in names}
        about |= {"kind": "wave", "precision": self.precision(law), "count": self.count}
        return None if tail is None else about | {"tail": tail.shown}

    def expected_excess(self, law: Lognormal, n: int, e: arb) -> tuple[arb, arb]:
        """Return balls whose outer ends enclose E(T - E T')_+ at the level E, for every wave.

        Guarantee
        ---------
        The value lies between them. Proof: docs/proofs/random_allocation.md, section 2, a wave.
        """
        with at_precision(self.precision(law)):
            peak, left, start, end, tilt = (arb(x) for x in (self.peak, self.left, self.start, self.end, self.tilt))
            period = 2 * peak + left
            if not (peak >= end - e * start and left >= e * end - start and peak > 0 and left > 0):
                return arb(0), arb("+inf")
            step, found, beyond = 2 * arb.pi() / period, arb(0), self.count + 1
            for k, phi in enumerate(transforms_of_wave(law, e, step, self.count, self.bits), 1):
                x = step * k
                found += ((1 - (x * peak).cos()) / (x * x) * (acb(0, -x * peak).exp() * power(phi, n))).real
            rest = 8 * self._beyond(law, n, e, step * beyond) / (period * step * step)
            rest *= arb(1) / beyond**2 + arb(1) / beyond
            value, above, below = (peak * peak + 4 * found) / period, stop_loss_of_jumps(law, n, end)[1], arb(0)
            if start > 0:
                below = (tilt * start - 1).exp() * power(law.phi(acb(tilt), _BITS_OF_BOUNDS), n).real / tilt
            high, low = above + e * below, below + e * above
            return (value - rest - low).max(arb(0)), (value + rest + 2 * high).max(arb(0))


def transforms_of_wave(law: Lognormal, e: arb, step: arb, count: int, bits: float) -> list[acb]:
    """Return E exp(iu(L - E L')) at u = step, 2 step, ..., with errors of about 2^-bits (section 3)."""
    a, h, last = _path(float(law.sigma().mid()), bits)
    with at_precision(int(bits + a * a / 2.0 / log(2.0)) + _SPARE_BITS):
        width, s = arb(a), law.sigma()
        back = acb(0, width / s - arb.pi() / 2).exp()
        grid = law.grid(h, -last, last)
        rates = [-step * (back * x + e * back.conjugate() * y) for (_, x), (_, y) in zip(grid, grid[::-1], strict=True)]
        ratios = [x.exp() for x in rates]
        turned = powers_of(acb(0, -width * h).exp(), len(grid))
        first = [w * x * y for (w, _), x, y in zip(grid, turned, ratios, strict=True)]
        scale, missed = acb(0, width * h * last).exp() * (width * width / 2).exp(), _missed(width, arb(h), last)
        return [scale * x + missed for x in sums_of_powers(first, ratios, count)]


def _path(s: float, bits: float) -> tuple[float, float, int]:
    """Return by how much the path is moved, which is the strip's half width, a step and the last node."""
    a, wanted = _width_of_path(s, bits), bits * log(2.0) + 3.0
    h = 2.0 * pi * a / (wanted + 2.0 * a * a)
    return a, h, ceil(sqrt(2.0 * wanted + a * a) / h) + 1


def _width_of_path(s: float, bits: float) -> float:
    return min(sqrt((bits * log(2.0) + 3.0) / 2.0), _TURN * s)


def _missed(width: arb, h: arb, last: int, more: arb | int = 0) -> acb:
    """Return a ball around 0 for what the trapezoidal rule and nodes beyond the last may add, and for some more."""
    grown = (width * width / 2).exp()
    error = grown * ((width * width).exp() + (-width * width).exp()) / (2 * arb.pi() * width / h).expm1()
    ball = ((error + more + (last * h / arb(2).sqrt()).erfc()) * grown).upper() * arb(0, 1)
    return acb(ball, ball)


def damping(law: Lognormal, e: arb, y: arb, bits: float) -> arb:
    """Return a bound on E exp(-y(L + E L')), y > 0 (section 3)."""
    s, wanted = float(law.sigma().mid()), bits * log(2.0)
    a = min(sqrt(2.0 * wanted), _TURN_OF_BOUNDS * s)
    h = 2.0 * pi * a / (wanted + a * a / 2.0)
    last = ceil(sqrt(2.0 * wanted) / h) + 1
    grid = law.grid(h, -last, last)
    found = sum((w * (-y * (x + e * z)).exp() for (w, x), (_, z) in zip(grid, grid[::-1], strict=True)), arb(0))
    width = arb(a)
    error = 2 * (width * width / 2).exp() / (2 * arb.pi() * width / h).expm1()
    return (found + error + (arb(last) * h / arb(2).sqrt()).erfc()).upper()


@lru_cache(maxsize=64)
def _seldom_above(law: Lognormal, n: int, log_accuracy: float) -> float | None:
    """Return a number a with E(T - a)_+ of about e^log_accuracy or less; None if none is found."""
    excess = sqrt(n * min(law.variance, float(n))) * sqrt(2.0 * max(-log_accuracy, 1.0))
    while log(n) + law.rough_tail(1.0 + excess) > log_accuracy:
        excess *= _FARTHER
    for _ in range(_MOST_TRIES):
        with at_precision(_BITS_OF_BOUNDS):
            if stop_loss_of_jumps(law, n, arb(n + excess))[1] < arb(log_accuracy).exp():
                return n + excess
        excess *= _FARTHER
    return None


@lru_cache(maxsize=64)
def _seldom_below(law: Lognormal, n: int, log_accuracy: float) -> tuple[float, float]:
    """Return a number b >= 0 with E(b - T)_+ of about e^log_accuracy or less, and the tilt that shows it."""
    tilts = _TILTS / sqrt(n * min(law.variance, float(n)))
    places = (log_accuracy - n * law.rough(tilts) + 1.0 + np.log(tilts)) / tilts
    best = int(np.nanargmax(places))
    return max(float(places[best]), 0.0), float(tilts[best])


@lru_cache(maxsize=64)
def _damped_from(law: Lognormal, n: int, eps: float, log_accuracy: float) -> tuple[float, float] | None:
    """Return the logarithm of a frequency from which on the n-th power hardly counts, and the turn that shows it."""
    s = float(law.sigma().mid())
    # Where both ratios are equal nothing is damped before the last of these.
    logs = np.linspace(-_FAR_LEFT - eps, 0.5 / s**2 - eps / 2.0 + log(1.0 - log_accuracy) + _ROOM, _PLACES)
    with np.errstate(over="ignore"):
        both = np.exp(_NODES / s - 0.5 / s**2) + np.exp(eps - _NODES / s - 0.5 / s**2)
        exponents = -np.outer(np.exp(logs), both) - _NODES**2 / 2.0
    largest = exponents.max(axis=1, keepdims=True)
    damped = largest[:, 0] + np.log(np.exp(exponents - largest).sum(axis=1) * (_NODES[1] - _NODES[0]) / sqrt(2.0 * pi))
    bounds = np.array([np.interp(logs + log(sin(x)), logs, damped) for x in _TURNS])
    bounds += (s * _TURNS[:, None]) ** 2 / 2.0
    small = n * np.minimum(bounds.min(axis=0), 0.0) - logs < log_accuracy
    at = int(small.argmax())
    return (float(logs[at]), float(_TURNS[bounds[:, at].argmin()])) if small.any() else None


# --------------------------------------------------------------------------------------------- In geometric progression


@dataclass(frozen=True)
class Progression(Frequencies):
    """So many frequencies e^(j ``step``), from the index ``first`` on.

    Below them ``order`` moments stand for the transform, in a series that falls as e^(-``rate`` u). The transform is
    bounded within the angle ``strip``.
    """

    order: int
    rate: float
    first: int
    step: float
    count: int
    strip: float

    @staticmethod
    def of(law: Lognormal, n: int, eps: float, log_accuracy: float) -> Progression | None:
        """Return frequencies for one level with an error of about e^log_accuracy; None if they take too much work."""
        s, log_accuracy = float(law.sigma().mid()), min(log_accuracy, -_ROOM)
        end = _damped_from(law, n, eps, log_accuracy - _ROOM) if eps < _LARGEST_EPS else None
        if end is None:
            return None
        # Further moments are those of values that are too rare to matter.
        orders = [k for k in _ORDERS if k <= max(_FEW, _OF_DEVIATIONS * s * sqrt(-2.0 * log_accuracy))]
        logs, spread = _log_moments(law, n, eps, orders[-1]), n * (s * _STRIPS) ** 2 / 2.0
        factorials = np.array([lgamma(j + 1.0) for j in range(len(logs))])
        found: list[Progression] = []
        for k in orders:
            # All moments are at most 1 in units of the rate; then the series is no larger than it need be.
            rate = float((logs[1 : k + 1] / np.arange(1.0, k + 1.0)).max())
            scaled = logs[: k + 1] - rate * np.arange(k + 1.0)
            series = np.array([np.logaddexp.reduce(scaled[: j + 1] - factorials[j::-1]) for j in range(1, k)])
            rest = float(np.logaddexp.reduce(scaled[:k] - factorials[k:0:-1])) + 1.0
            start = (log_accuracy - _ROOM - k * rate - np.logaddexp(scaled[k], rest)) / (k - 1.0)
            start = min(float(start), -rate)
            last = max(end[0], log(_FAR * (abs(log_accuracy) + abs(rate) + 2.0 * k)) - rate)
            sizes = series + np.maximum(factorials[1:k] - np.log(np.arange(1.0, k)), 0.0)
            edges = np.logaddexp.reduce(sizes[:, None] - np.outer(np.arange(k - 1.0), np.log(np.cos(_STRIPS))), axis=0)
            edges = np.logaddexp(np.logaddexp(edges, spread + max(scaled[k], 0.0)), rest) + rate
            steps = 2.0 * pi * _STRIPS / np.maximum(edges - log_accuracy + _ROOM, 1.0)
            best = int(steps.argmax())
            step = float(steps[best])
            lost = log(n) - min(start, 0.0) + max(float(np.logaddexp.reduce(sizes)), 0.0)
            bits = int((lost - log_accuracy) / log(2.0)) + _SPARE_BITS
            first, count = floor(start / step), ceil((last - start) / step) + 2
            found.append(Progression(end[1], bits, k, rate, first, step, count, float(_STRIPS[best])))
        plan = min(found, key=lambda plan: plan.work(law))
        return plan if plan.work(law) < _MOST_WORK else None

    def is_quick(self, law: Lognormal) -> bool:
        """Return whether it is not worth to look for anything else."""
        return self.work(law) < _QUICK

    def work(self, law: Lognormal) -> float:
        rule = _Rule.of(float(law.sigma().mid()), self.bits, self.step)
        return float(self.count * rule.parts + 2 * rule.last) * rule.bits * (1.0 + self.count / rule.together / 8.0)

    def shown(self, law: Lognormal, n: int) -> dict[str, Any]:
        names = ("order", "rate", "first", "step", "count", "strip", "turn")
        about = {name: getattr(self, name) for name in names}
        return {"kind": "progression", "precision": self.precision(law), **about}

    def expected_excess(self, law: Lognormal, n: int, e: arb) -> tuple[arb, arb]:
        """Return balls whose outer ends enclose E(T - E T')_+ at the level E, for every progression.

        Guarantee
        ---------
        The value lies between them. Proof: docs/proofs/random_allocation.md, section 2, frequencies in geometric
        progression.
        """
        k, first, count = self.order, self.first, self.count
        with at_precision(self.precision(law)):
            s, h, strip, rate = (law.sigma(), *(arb(x) for x in (self.step, self.strip, self.rate)))
            rate = rate.exp()
            start, end = (h * first).exp(), (h * (first + count)).exp()
            good = h > 0 and strip > 0 and max(self.strip, self.turn) < 1.57 and self.turn >= 0
            if not (good and rate * start <= 1 and rate * end >= 2 * k):
                return arb(0), arb("+inf")
            sizes, signed = (moments(law, n, x, k) for x in (e, -e))
            scales = [rate**j / arb(j + 1).gamma() for j in range(k + 1)]
            series = _series(signed[:k], scales)
            # What both series lack below 1/rate, over u^k; and what is on an edge of the strip, below that and above.
            rest = arb(1).exp() * total([sizes[i] * scales[k - i] for i in range(k)])
            tame, spread = rate * strip.cos(), (n * (s * strip) ** 2 / 2).exp()
            integrals = [arb(j - 1).gamma() / tame ** (j - 1) for j in range(2, k)]
            edge = (spread * sizes[k] + rest) / rate ** (k - 1) / (k - 1) + rate * (1 + spread + abs(series[1]) / tame)
            edge += total([abs(c) * x for c, x in zip(series[2:], integrals, strict=True)])
            error = 2 * edge / (2 * arb.pi() * strip / h).expm1()
            error += (sizes[k] + rest) * start ** (k - 1) * h / (1 - (-(k - 1) * h).exp())
            error += self._beyond(law, n, e, end) * h / end / (1 - (-h).exp())
            far = total([abs(c) * end**j for j, c in enumerate(series)]) * (-rate * end).exp() / end
            error += far * h / (1 - (-rate * end * h / 2).exp())
            value = rate - total([c.real * arb(j - 1).gamma() / rate ** (j - 1) for j, c in enumerate(series[2:], 2)])
            polynomial = arb_poly([c.real for c in series])
            for j, phi in enumerate(transforms(law, e, self), first):
                u = (h * j).exp()
                value += h * (polynomial(u) * (-rate * u).exp() - power(phi, n).real) / u
            value, error = n * (1 - e) / 2 + value / arb.pi(), (error / arb.pi()).upper()
            return (value - error).max(arb(0)), (value + error).max(arb(0))


def moments(law: Lognormal, n: int, e: arb, order: int) -> list[arb]:
    """Return E(T + e T')^j/j! for j <= order, of either sign of e: coefficients of the n-th power of a series."""
    s, terms = law.sigma(), []
    for j in range(order + 1):
        # L' is exp(-1/s^2)/L.
        logs = [((2 * i - j) * (2 * i - j - 1) - 2 * (j - i)) / (2 * s * s) for i in range(j + 1)]
        terms.append(
            total([e ** (j - i) * x.exp() / arb(i + 1).gamma() / arb(j - i + 1).gamma() for i, x in enumerate(logs)])
        )
    found = power_of_series(terms, n)
    return [found[j] for j in range(order + 1)]


def _series(signed: Sequence[arb], scales: Sequence[arb]) -> list[acb]:
    """Return the coefficients of e^(rate u) times the series of E e^(iuS), as many as moments are given."""
    turned = [acb(x) * acb(0, 1) ** j for j, x in enumerate(signed)]
    return [sum((turned[i] * scales[j - i] for i in range(j + 1)), acb(0)) for j in range(len(turned))]


def transforms(law: Lognormal, e: arb, plan: Progression) -> list[acb]:
    """Return E exp(iu(L - E L')) at the frequencies of the plan, with errors of about 2^-bits (section 3)."""
    rule = _Rule.of(float(law.sigma().mid()), plan.bits, plan.step)
    with at_precision(rule.bits):
        s, fine = law.sigma(), arb(plan.step) / rule.parts
        width, h, base = arb(rule.a), s * fine, arb(plan.step) * plan.first - 1 / (2 * s * s)
        back, least = acb(0, width / s - arb.pi() / 2).exp(), -rule.last
        most = rule.parts * (plan.count - 1) + rule.last
        tables, missing = [], arb(0)
        for rate in (back, e * back.conjugate()):  # messages with larger ratios add next to nothing
            far = floor((log(rule.wanted / float(rate.real)) - float(base)) / float(fine)) + 1
            tables.append([(-rate * (base + fine * i).exp()).exp() for i in range(least, min(far, most) + 1)])
            missing += 2 * (-rate.real * (base + fine * (far + 1)).exp()).exp()
        missed = _missed(width, h, rule.last, missing)
        # e^(-z^2/2) with z = h (p - q)/2 is a product over p and q, but for a power of their sum.
        half, turn, unit, found = h * h / 4, acb(0, -width * h / 2), h / (2 * arb.pi()).sqrt(), list[acb]()
        unit *= (width * width / 2).exp()
        for j in range(0, plan.count, rule.together):
            last = min(j + rule.together, plan.count) - 1
            start, end, middle = rule.parts * j - rule.last, rule.parts * last + rule.last, rule.parts * (j + last) // 2
            factors = [
                acb_poly([
                    x * (sign * turn * p - half * (p - middle) ** 2).exp()
                    for p, x in enumerate(table[start - least : end + 1 - least], start)
                ])
                for table, sign in zip(tables, (1, -1), strict=True)
            ]  # fmt: skip
            product = factors[0] * factors[1]
            for p in range(rule.parts * j, rule.parts * last + 1, rule.parts):
                scale = unit * (2 * half * (p - middle) ** 2).exp()
                found.append(scale * product[2 * (p - start)] + missed)
        return found


@dataclass(frozen=True)
class _Rule:
    """The trapezoidal rule of ``transforms``: by how much the path is moved, nodes up to an index, so many to a step.

    So many frequencies are taken ``together``: more would cost more bits.
    """

    a: float
    parts: int
    last: int
    together: int
    wanted: float
    bits: int

    @staticmethod
    def of(s: float, bits: int, step: float) -> _Rule:
        a, wanted = _width_of_path(s, bits), bits * log(2.0) + 3.0
        parts = ceil(step * s * (wanted + 2.0 * a * a) / (2.0 * pi * a))
        reach = sqrt(2.0 * wanted + a * a)
        last, together = ceil(reach * parts / (step * s)) + 1, ceil(reach / (step * s))
        lost = a * a / 2.0 + reach * reach / 8.0
        return _Rule(a, parts, last, together, wanted + a * a, int(bits + lost / log(2.0)) + _SPARE_BITS)


@lru_cache(maxsize=64)
def _log_moments(law: Lognormal, n: int, eps: float, order: int) -> Floats:
    """Return about log E(T + E T')^j/j! for j <= order."""
    with at_precision(2 * _BITS_OF_BOUNDS):
        return np.array([float(x.log()) for x in moments(law, n, arb(eps).exp(), order)])
