"""The search in floats for the plan of a sum over groups of users whose laws differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import inf, log
from typing import Any

import numpy as np

from symamp.errors import PrecisionError
from symamp.evaluation.divergence import Settings
from symamp.evaluation.fast import FloatSum, searched
from symamp.evaluation.gparv import BallGparv, FloatGparv, Floats, nearest_doubles
from symamp.evaluation.plan import gaussian_estimate
from symamp.evaluation.tilted import Cumulants, TiltedFloats, TiltedLaw, cumulants
from symamp.numbers.scipy_functions import brentq


@dataclass(frozen=True)
class Group:
    """So many users whose summands share the law that ``source`` gives in balls at the ambient precision."""

    count: int
    source: Callable[[], BallGparv]


@dataclass(frozen=True)
class _Average(TiltedFloats):
    """All groups under one tilt, per user."""

    theta: float
    cumulants: Cumulants
    tilted: tuple[TiltedLaw, ...]
    counts: Floats

    def _mean(self, of_groups: Iterable[Any]) -> Any:
        return sum(c * x for c, x in zip(self.counts, of_groups, strict=True)) / self.counts.sum()

    @property
    def log_null(self) -> float:
        return float(self._mean(t.log_null for t in self.tilted))

    def log_mgf(self, tilts: Floats) -> Floats:
        return np.asarray(self._mean(t.log_mgf(tilts) for t in self.tilted))

    def log_phi(self, u: Floats) -> tuple[Floats, Floats]:
        both = [t.log_phi(u) for t in self.tilted]
        return self._mean(x for x, _ in both), self._mean(x for _, x in both)

    def decays(self, n: int, middle: Floats, half: Floats) -> Floats:
        factors = (t.decays(int(c), middle, half) for t, c in zip(self.tilted, self.counts, strict=True))
        return np.asarray(reduce(np.multiply, factors))


class GroupSearch:
    """The search in floats for the parameters of the sum."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.counts = np.array([float(g.count) for g in groups])
        self.n = int(sum(g.count for g in groups))
        self.laws = [_unscaled(nearest_doubles(g.source)) for g in groups]

    def rough(self) -> float:
        """Return the saddle-point approximation of log E[S_+], without a plan."""
        with np.errstate(all="ignore"):
            at = self._average(self._saddle())
            return self.n * at.cumulants.k0 + log(gaussian_estimate(at, self.n))

    def sum(self, settings: Settings) -> FloatSum:
        """Return the estimate of E[S_+] with its plan."""
        with np.errstate(all="ignore"):
            theta = self._saddle()
            theta += float(np.sqrt(1.2 / (self.n * self._cumulants(theta).k2 + 2.0 / theta**2)))
            at = self._average(theta)
            if not np.isfinite((at.cumulants.k0, at.deviation)).all():
                raise PrecisionError("eps", "a sum that is positive only far out", "a sum in the range of doubles")
            return searched(at, self.n, settings.gap, settings.most_frequencies)

    def _cumulants(self, theta: float) -> Cumulants:
        """Return the averages over users."""
        rows = np.array([(c.k0, c.k1, c.k2) for c in (cumulants(g, theta) for g in self.laws)])
        return Cumulants(*(float(x) for x in self.counts @ rows / self.n))

    def _average(self, theta: float) -> _Average:
        tilted = tuple(TiltedLaw.of(g, theta) for g in self.laws)
        return _Average(theta, self._cumulants(theta), tilted, self.counts)

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


def _unscaled(g: FloatGparv) -> FloatGparv:
    unit = 2.0**g.exponent
    return g if g.exponent == 0 else replace(g, values=g.values * unit, mean=g.mean * unit, exponent=0)
