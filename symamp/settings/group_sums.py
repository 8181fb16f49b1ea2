"""Bounds that are E[S_+] of a sum over groups of users, and roots of what is known by estimates of its logarithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from flint import arb

from symamp.bounds.bound import PairBound
from symamp.laws.law import Level
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.sums.divergence import NO_POSITIVE_VALUE, Enclosure, Settings
from symamp.sums.groups import Group, approximate_log_groups, enclose_groups, estimate_log_groups
from symamp.sums.inversion import estimate_root

COUNTED = "mean over counts"
_MANY = 10**6
"""Tells the search for a root that there are many users: then it starts from rough estimates."""
_SMALLEST = -1e300

Sides = tuple[Sequence[Group], Callable[[], arb], Callable[[], arb]]
"""Groups, what E[S_+] is divided by, and what is added."""
Estimate = Callable[[float], float]


class ByEstimates(PairBound):
    """A part whose root is sought by estimates of its logarithm."""

    @property
    def top(self) -> float:
        """An eps from which on the divergence is 0, inf if there is none."""
        raise NotImplementedError

    def estimates(self, n: int, settings: Settings) -> tuple[Estimate, Estimate]:
        """Return the logarithm at an eps, and the same faster."""
        return (
            lambda eps: self.log_estimate(Level.of_float(eps), n, settings),
            lambda eps: self.log_estimate(Level.of_float(eps), n, settings.rough),
        )

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        with at_precision(BALL_BITS):
            limit = self.limit(n)
            if limit > 0 and float(limit.log()) > log_delta:
                return inf
        return estimate_root(*self.estimates(n, settings), _MANY, log_delta, settings, self.top, start)


class GroupSum(ByEstimates):
    """E[S_+]/divisor + rest, where S is a sum over groups of users."""

    def sides(self, level: Level, n: int) -> Sides:
        """Return the groups, the divisor and the rest."""
        raise NotImplementedError

    def counted(self, level: Level) -> arb | None:
        """Return a ball around the value itself, where it is known without a sum over groups."""
        return None

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        return self._log(level, n, self._sharp(settings))

    def estimates(self, n: int, settings: Settings) -> tuple[Estimate, Estimate]:
        sharp = self._sharp(settings)
        return (
            lambda eps: self._log(Level.of_float(eps), n, sharp),
            lambda eps: self._log(Level.of_float(eps), n, approximate_log_groups),
        )

    def _sharp(self, settings: Settings) -> Callable[[Sequence[Group]], float]:
        """Return the estimate of log E[S_+]: one kind for all levels, for a search would run after the difference."""
        settings = settings.rough if settings.limits.is_spent() else settings
        aimed, kernel_tells = self._aimed(settings), True

        def sharp(groups: Sequence[Group]) -> float:
            nonlocal kernel_tells
            found = estimate_log_groups(groups, aimed) if kernel_tells else None
            kernel_tells = found is not None
            return approximate_log_groups(groups) if found is None else found

        return sharp

    def _aimed(self, settings: Settings) -> Settings:
        return replace(settings, gap=max(settings.gap, self.gap_floor))

    def _log(self, level: Level, n: int, estimate: Callable[[Sequence[Group]], float]) -> float:
        with at_precision(BALL_BITS):
            value = self.counted(level)
            if value is None:
                groups, divisor, rest = self.sides(level, n)
                sums = estimate(groups) - float(divisor().log()) if groups else -inf
                value = (arb(sums).exp() if sums > _SMALLEST else arb(0)) + rest()
            return float(value.mid().log()) if value.mid() > 0 else -inf

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the value.

        Guarantee
        ---------
        The value lies between the outer ends. Proof: docs/proofs/users_who_differ.md, sections 1 and 4; for Poisson
        numbers of users docs/proofs/participation.md, section 3.
        """
        with at_precision(BALL_BITS):
            value = self.counted(level)
            if value is not None:
                return Enclosure(value, value, COUNTED, BALL_BITS)
        groups, divisor, rest = self.sides(level, n)
        found = Enclosure(arb(0), arb(0), NO_POSITIVE_VALUE, BALL_BITS)
        found = enclose_groups(groups, self._aimed(settings)) if groups else found
        bits = max(found.precision, BALL_BITS)
        with at_precision(bits):
            low, high = (x / divisor() + rest() for x in (found.lower, found.upper))
            return replace(found, lower=low, upper=high, precision=bits)
