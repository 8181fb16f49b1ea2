"""The search in floats for the plan of a sum over groups of users whose laws differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log

import numpy as np

from symamp.errors import PrecisionError
from symamp.evaluation.blocks import decay, partition
from symamp.evaluation.divergence import Settings
from symamp.evaluation.gparv import BallGparv, FloatGparv, Floats, nearest_doubles
from symamp.evaluation.kernel import Kernel
from symamp.evaluation.plan import Plan, Window, gaussian_estimate, relative_overshoot
from symamp.evaluation.tilted import Cumulants, TiltedLaw, cumulants, log_mgf
from symamp.numbers.number_system import NUMPY
from symamp.numbers.scipy_functions import brentq

_ROUNDS = 6


@dataclass(frozen=True)
class Group:
    """So many users whose summands share the law that ``source`` gives in balls at the ambient precision."""

    count: int
    source: Callable[[], BallGparv]


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


class GroupSearch:
    """The search in floats for the parameters of the sum."""

    def __init__(self, groups: Sequence[Group], settings: Settings) -> None:
        self.settings = settings
        self.counts = np.array([float(g.count) for g in groups])
        self.n = int(sum(g.count for g in groups))
        self.laws = [_unscaled(nearest_doubles(g.source)) for g in groups]
        self._found: tuple[float, Plan] | None = None

    def plan(self) -> Plan:
        """Return the plan that was found."""
        return self._searched()[1]

    def log_value(self) -> float:
        """Return the estimate of log E[S_+] that belongs to the plan."""
        return self._searched()[0]

    def rough(self) -> float:
        """Return the saddle-point approximation of log E[S_+], without a plan."""
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
        if not window.length <= 2**40 * d:  # also where d is 0
            return None
        terms, step = int(np.ceil(window.length / d)), 2.0 * np.pi / window.length
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
