"""E[S_+] for a sum over groups of users whose laws differ: one power of a characteristic function per group.

The kernel sandwich never uses that the summands share one law (docs/proofs/users_who_differ.md, section 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, inf, log

import flint
import numpy as np
from flint import acb, arb

from symamp.errors import PrecisionError
from symamp.evaluation.blocks import decay, partition
from symamp.evaluation.divergence import Enclosure, Settings, positive_part, starting_precision
from symamp.evaluation.gparv import BallGparv, FloatGparv, Floats, nearest_doubles
from symamp.evaluation.kernel import Kernel
from symamp.evaluation.law import total
from symamp.evaluation.plan import Plan, Window, gaussian_estimate, relative_overshoot
from symamp.evaluation.tilted import Cumulants, TiltedLaw, cumulants, log_mgf
from symamp.evaluation.tilted_balls import TiltedBalls
from symamp.numbers.number_system import FLINT, NUMPY

_ENUMERATE = 2_000
_ROUNDS = 6
_LARGEST_PRECISION = 4096


@dataclass(frozen=True)
class Group:
    """So many users whose summands share the law that ``source`` gives in balls at the ambient precision."""

    count: int
    source: Callable[[], BallGparv]


def enclose_groups(groups: Sequence[Group], settings: Settings | None = None) -> Enclosure:
    """Return an enclosure of E[S_+], S the sum over all users of all groups, each group with a law of its own.

    Guarantee
    ---------
    ``lower.lower() <= E[S_+] <= upper.upper()``, whatever the plan that floats have found.
    Proof: docs/proofs/users_who_differ.md, section 1.

    Raises PrecisionError if rounding still dominates the gap at the largest working precision.
    """
    settings = settings or Settings()
    present = [g for g in groups if g.count > 0]
    n = sum(g.count for g in present)
    bits = starting_precision(max(n, 1), settings.gap)
    with flint.ctx.workprec(bits):
        balls = [g.source() for g in present]
        if not any(v > 0 for b in balls for v in b.values) or _largest(present, balls) <= 0:
            most = total([g.count * positive_part(b) for g, b in zip(present, balls, strict=True)])
            return Enclosure(arb(0), most.min(_largest(present, balls).max(arb(0))), "no positive value", bits)
        if _outcomes(present, balls) <= _ENUMERATE:
            value = _enumerated(present, balls)
            return Enclosure(value, value, "enumeration", bits)
    plan = _Search(present, settings).plan()
    while bits <= _LARGEST_PRECISION:
        with flint.ctx.workprec(bits):
            found = _sum(present, plan, bits)
            noise = max(float(found.lower.rad() / found.upper), float(found.upper.rad() / found.upper))
            if noise < 0.01 * max(settings.gap, found.relative_gap):
                return found
        bits *= 2
    raise PrecisionError("precision", bits, f"at most {_LARGEST_PRECISION} bits")


def estimate_log_groups(groups: Sequence[Group], settings: Settings | None = None) -> float:
    """Return an estimate of log E[S_+] in floats where they suffice; -inf for zero. Not a bound."""
    settings = settings or Settings()
    present = [g for g in groups if g.count > 0]
    with flint.ctx.workprec(128):
        balls = [g.source() for g in present]
        if not _largest(present, balls) > 0:
            return -inf
        if _outcomes(present, balls) <= _ENUMERATE:
            return _log(_enumerated(present, balls))
    try:
        return _Search(present, settings).log_value()
    except PrecisionError:  # out of the range of doubles
        return -inf


def approximate_log_groups(groups: Sequence[Group]) -> float:
    """Return the saddle-point approximation of log E[S_+], cheap and good to a few per cent; -inf for zero."""
    search = _Search([g for g in groups if g.count > 0], Settings())
    value = search.rough() if search.can_be_positive else -inf
    return value if value == value else -inf


def _log(x: arb) -> float:
    return float(x.mid().log()) if x.mid() > 0 else -inf


def _largest(groups: Sequence[Group], balls: Sequence[BallGparv]) -> arb:
    """Return the largest value of S."""
    result = arb(0)
    for group, ball in zip(groups, balls, strict=True):
        values = [*ball.values, *([] if ball.null_mass.is_zero() else [arb(0)])]
        top = values[0]
        for v in values[1:]:
            top = top.max(v)
        result += group.count * top
    return result


def _outcomes(groups: Sequence[Group], balls: Sequence[BallGparv]) -> int:
    result = 1
    for group, ball in zip(groups, balls, strict=True):
        result *= comb(group.count + len(ball.values), len(ball.values)) if group.count < _ENUMERATE else _ENUMERATE + 1
        if result > _ENUMERATE:
            break
    return result


def _enumerated(groups: Sequence[Group], balls: Sequence[BallGparv]) -> arb:
    """Return a ball around E[S_+]: all outcomes of all groups."""
    sums = [(arb(0), arb(1))]
    for group, ball in zip(groups, balls, strict=True):
        law = [*zip(ball.values, ball.masses, strict=True), (arb(0), ball.null_mass)]
        # Each partial sum carries how many users of the group are still to be placed; the last value takes all.
        placed = [(s, w, group.count) for s, w in sums]
        for i, (value, mass) in enumerate(law):
            placed = [
                (s + k * value, w * comb(left, k) * _power(mass, k), left - k)
                for s, w, left in placed
                for k in ((left,) if i == len(law) - 1 else range(left + 1))
            ]
        sums = [(s, w) for s, w, _ in placed]
    return total([w * s.max(arb(0)) for s, w in sums])


def _power(mass: arb, k: int) -> arb:
    """Return mass^k; the library has no number for the power of a ball around 0."""
    if k and mass.mid() == 0 and not mass.is_zero():
        most = mass.upper() ** k
        return most.union(-most)
    return mass**k


def _sum(groups: Sequence[Group], plan: Plan, bits: int) -> Enclosure:
    """Return the two-sided sum in balls at the ambient precision."""
    window = plan.window
    tilted = [TiltedBalls.of(g.source(), g.count, window.theta) for g in groups]
    theta, w = arb(window.theta), arb(window.length)
    null = _product([t.null_n for t in tilted])

    def power(u: arb) -> acb:
        result = acb(1)
        for t in tilted:
            result *= t.power(u) + t.null_n
        return result - null

    kernel = Kernel(FLINT, theta, w, plan.terms)
    below, above = kernel.sums((j for a, b in plan.blocks.evaluated for j in range(a, b + 1)), power, 1 - null)
    square = theta**-2
    excesses = abs(kernel.minorant_at_zero() - square), abs(kernel.majorant_at_zero() - square)
    deviations = [t.deviation() for t in tilted]
    for first, last in plan.blocks.dropped:
        beta, zero = arb(1), arb(0)
        for t, deviation in zip(tilted, deviations, strict=True):
            phi = t.phi(kernel.step * (first + last) / 2)
            modulus2 = phi.real * phi.real + phi.imag * phi.imag
            distance = (1 - modulus2).max(zero).sqrt() - deviation * kernel.step * (last - first) / 2
            distance = distance.max(zero).min(arb(1))
            beta *= (1 - distance * distance).max(zero).sqrt() ** t.n
        most = 1 / (square**-1 + (kernel.step * first) ** 2)
        size = (last - first + 1) * (beta + null)
        below, above = below - size * (most + excesses[0]), above + size * (most + excesses[1])
    aliasing = arb(0)
    for tilt in (window.theta_above, window.theta_below):
        other = arb(tilt)
        ratio = _product([(_mgf(t.g, other) / t.m) ** t.n for t in tilted])
        aliasing += ratio / arb.const_e() / other / (abs(other - theta) * w).expm1()
    scale = _product([t.m**t.n for t in tilted])
    mean = total([t.n * total([v * p for v, p in zip(t.g.values, t.g.masses, strict=True)]) for t in tilted])
    alone = total([t.n * positive_part(t.g) for t in tilted])
    lower, upper = scale * (2 / w * below - aliasing), scale * 2 / w * above
    lower = lower.max(mean).max(arb(0)) if lower.is_finite() else mean.max(arb(0))
    upper = upper.min(alone) if upper.is_finite() else alone
    return Enclosure(lower, upper, "compact kernel, groups", bits, plan)


def _mgf(g: BallGparv, theta: arb) -> arb:
    return g.null_mass + total([p * (theta * v).exp() for v, p in zip(g.values, g.masses, strict=True)])


def _product(factors: Sequence[arb]) -> arb:
    result = arb(1)
    for x in factors:
        result *= x
    return result


@dataclass(frozen=True)
class _Average:
    """All groups under one tilt, per user: what the choice of parameters asks of a ``TiltedLaw``."""

    theta: float
    cumulants: Cumulants
    tilted: tuple[TiltedLaw, ...]
    shares: Floats

    @property
    def deviation(self) -> float:
        return float(np.sqrt(self.cumulants.k2))

    def log_phi(self, u: Floats) -> tuple[Floats, Floats]:
        both = [t.log_phi(u) for t in self.tilted]
        return sum(s * a for s, (a, _) in zip(self.shares, both, strict=True)), sum(
            s * b for s, (_, b) in zip(self.shares, both, strict=True)
        )


class _Search:
    """The search in floats for the parameters of the sum."""

    def __init__(self, groups: Sequence[Group], settings: Settings) -> None:
        self.settings = settings
        self.counts = np.array([float(g.count) for g in groups])
        self.n = int(sum(g.count for g in groups))
        self.laws = [_unscaled(nearest_doubles(g.source)) for g in groups]
        self._found: tuple[float, Plan] | None = None

    def plan(self) -> Plan:
        return self._searched()[1]

    def log_value(self) -> float:
        return self._searched()[0]

    def rough(self) -> float:
        with np.errstate(all="ignore"):
            at = self._average(self._saddle())
            shape: TiltedLaw = at  # type: ignore[assignment]
            return self.n * at.cumulants.k0 + log(gaussian_estimate(shape, self.n))

    def _searched(self) -> tuple[float, Plan]:
        if self._found is None:
            with np.errstate(all="ignore"):
                self._found = self._search()
        return self._found

    def _search(self) -> tuple[float, Plan]:
        gap, most = self.settings.gap, self.settings.most_frequencies
        theta = self._saddle()
        theta += float(np.sqrt(1.2 / (self.n * self._cumulants(theta).k2 + 2.0 / theta**2)))
        at = self._average(theta)
        if not np.isfinite((at.cumulants.k0, at.deviation)).all():
            raise PrecisionError("eps", "a sum that is positive only far out", "a sum in the range of doubles")
        shape: TiltedLaw = at  # type: ignore[assignment]
        estimate = gaussian_estimate(shape, self.n)
        window = self._window(at, float(-np.log(0.01 * gap * estimate)))
        d = float(np.sqrt(self.n) * at.deviation * np.sqrt(6.8 * gap * relative_overshoot(shape, self.n)))
        best: tuple[float, float, Plan] | None = None
        for _ in range(_ROUNDS):
            found = self._try(at, window, min(d, window.length), estimate, gap, most)
            if found is None:
                break
            low, high, plan = found
            width = (high - low) / high if high > 0.0 else inf
            if best is None or not width >= best[0]:
                middle = 0.5 * (max(low, 0.0) + high)
                best = width, self.n * at.cumulants.k0 + log(middle) if middle > 0.0 else -inf, plan
            if width <= gap:
                break
            d *= float(np.clip(0.95 * np.sqrt(gap / width), 0.25, 0.9))
        if best is None:
            found = self._try(at, window, 2.5 * window.length / most, estimate, gap, 4 * most)
            if found is None:
                raise PrecisionError("gap", gap, f"a gap that {most} frequencies reach")
            return self.n * at.cumulants.k0 + log(max(found[1], 1e-300)), found[2]
        return best[1], best[2]

    def _try(
        self, at: _Average, window: Window, d: float, estimate: float, gap: float, most: int
    ) -> tuple[float, float, Plan] | None:
        terms, step = int(np.ceil(window.length / d)), 2.0 * np.pi / window.length
        if terms > 2**40:
            return None
        logs = [np.log(t.null_probability) if t.null_probability > 0.0 else -inf for t in at.tilted]
        null = float(np.exp(self.counts @ np.array(logs)))

        def bound(middle: Floats, half: Floats) -> Floats:
            factors = [decay(t, int(c), 0.0, middle, half) for t, c in zip(at.tilted, self.counts, strict=True)]
            return np.asarray(np.prod(factors, axis=0) + null)

        found = partition(bound, lambda u: 1.0 / (window.theta**2 + u**2), step, terms - 1, 1e-4 * gap * estimate, most)
        if found is None:
            return None
        blocks, dropped = found
        ranges = [np.arange(a, b + 1, dtype=np.float64) for a, b in blocks.evaluated]

        def power(u: Floats) -> Floats:
            modulus, phase = at.log_phi(u)
            return np.asarray(np.exp(self.n * modulus + 1j * (self.n * phase)) - null)

        kernel = Kernel(NUMPY, window.theta, window.length, terms)
        low, high = kernel.sums([np.concatenate(ranges or [np.empty(0)])], power, 1.0 - null)
        aliasing = 0.0
        for other in (window.theta_above, window.theta_below):
            k = float(self._log_mgf(np.array([other]))[0]) - self.n * at.cumulants.k0
            distance = abs(other - window.theta) * window.length
            aliasing += float(np.exp(k - 1.0 - distance) / other / -np.expm1(-distance))
        w = window.length
        plan = Plan(window, terms, blocks)
        return float(2.0 * low / w - aliasing - dropped), float(2.0 * high / w + dropped), plan

    def _cumulants(self, theta: float) -> Cumulants:
        """Return the averages over users."""
        rows = np.array([(c.k0, c.k1, c.k2) for c in (cumulants(g, theta) for g in self.laws)])
        return Cumulants(*(float(x) for x in self.counts @ rows / self.n))

    def _log_mgf(self, theta: Floats) -> Floats:
        return np.asarray(sum(c * log_mgf(g, theta) for c, g in zip(self.counts, self.laws, strict=True)))

    def _average(self, theta: float) -> _Average:
        tilted = tuple(TiltedLaw.of(g, theta) for g in self.laws)
        return _Average(theta, self._cumulants(theta), tilted, self.counts / self.n)

    @cached_property
    def _table(self) -> tuple[Floats, Floats, Floats]:
        """Values and masses with one row for each group, the null value last, and the largest value of each."""
        width = max(len(g.values) for g in self.laws)
        values, masses = (np.zeros((len(self.laws), width + 1)) for _ in range(2))
        for i, g in enumerate(self.laws):
            values[i, : len(g.values)], masses[i, : len(g.values)], masses[i, -1] = g.values, g.masses, g.null_mass
        return values, masses, np.where(masses > 0.0, values, -inf).max(axis=1)

    @property
    def can_be_positive(self) -> bool:
        """Whether the sum can be positive, as far as doubles tell."""
        return bool(self.counts @ self._table[2] > 0.0)

    def _saddle(self) -> float:
        """Return the solution of theta K'(theta) = 2 for the sum over all users."""
        from scipy.optimize import brentq  # here, because it doubles the time of ``import symamp``

        top = max(float(g.values.max(initial=0.0)) for g in self.laws)

        values, masses, largest = self._table
        if not self.can_be_positive:
            raise PrecisionError("eps", "a sum that is never positive in doubles", "a smaller eps")

        def excess(log_theta: float) -> float:
            theta = float(np.exp(log_theta))
            weights = masses * np.exp(np.minimum(theta * (values - largest[:, None]), 0.0))
            means = (weights * values).sum(axis=1) / weights.sum(axis=1)
            return theta * float(self.counts @ means) - 2.0

        low = high = float(np.log(1.0 / top)) - 0.5 * log(self.n)
        while excess(high) < 0.0:
            high += 1.0
        while excess(low) > 0.0:
            low -= 1.0
        return float(np.exp(brentq(excess, low, high, xtol=1e-3, rtol=1e-3)))

    def _window(self, at: _Average, allowance: float) -> Window:
        """Return the window that keeps each side of the aliasing below e^(-allowance)."""
        theta = at.theta
        scale = np.sqrt(2.0 * max(allowance, 1.0)) / max(np.sqrt(self.n) * at.deviation, 1e-3 / theta)
        above = scale * np.geomspace(0.1, 10.0, 33)
        below = np.minimum(above, theta * np.linspace(0.02, 0.98, 33))
        k0 = self.n * at.cumulants.k0
        high = (self._log_mgf(theta + above) - k0 + allowance - np.log(theta + above) - 1.0) / above
        low = (self._log_mgf(theta - below) - k0 + allowance - np.log(theta - below) - 1.0) / below
        i, j = int(np.nanargmin(high)), int(np.nanargmin(low))
        length = float(np.fmax(np.fmax(high[i], low[j]), 1.0 / theta))
        return Window(theta, length, theta + float(above[i]), theta - float(below[j]))


def _unscaled(g: FloatGparv) -> FloatGparv:
    unit = 2.0**g.exponent
    return g if g.exponent == 0 else replace(g, values=g.values * unit, mean=g.mean * unit, exponent=0)
