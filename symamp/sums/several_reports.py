"""Several reports of the victim among many others, all shuffled: a lower bound by one sum of steps of all messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import acos, exp, expm1, inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from flint import arb, arb_poly

from symamp.laws.law import Floats, Level, Number, total
from symamp.numbers.surroundings import at_precision
from symamp.sums.coordinate_sums import binomial, proved_epsilon

# What is tuned: every set of sums gives a lower bound. Rules of thumb.
_SPARE, _MORE, _MOST_SUMS, _MOST_OWN, _LARGEST_STEP = 46.0, 60, (500_000, 200_000), 6_000, 8
"""The tails that are left out are below delta e^-spare, or so; sums more than deviations say; sums that are looked
at, for steps of two values and of more, and those of the victim's messages alone; the largest step up or down where
messages are lost."""
_LEAST_BITS, _BITS_OF_DELTA = 192, 1.6
"""Bits of balls, and more for each e-fold of 1/delta: what is left out is seen as what all chances lack of 1."""
_ROOM, _LARGEST_TILT, _MOST_NODES = 45.0, 40.0, 80_000
"""By how much, in logarithms, what a plan leaves out is below the divergence; the largest tilt; the most nodes."""

Steps = tuple[Number, ...]
"""The chances of the steps 0, 1, ... of a message."""


class ThresholdPlan(NamedTuple):
    """Steps up and down, a threshold of their sum, and a tilt and nodes by which it is seen how likely it is."""

    up: int
    down: int
    threshold: int
    tilt: float
    nodes: int
    last: int


@dataclass(frozen=True)
class SumOfSteps:
    """The sum of the steps of all messages: ``victims`` of the victim, at x0 or x1, ``others`` of the other users.

    Sums are looked at where chances of e^log_least matter.
    """

    first: Steps
    second: Steps
    other: Steps
    victims: int
    others: int
    log_least: float

    @property
    def _bits(self) -> int:
        return _LEAST_BITS + int(_BITS_OF_DELTA * max(-self.log_least, 0.0))

    def _range(self, steps: Steps, users: int) -> tuple[int, int]:
        """Return the first and the last sum that is looked at, of so many messages."""
        with at_precision(64):
            chances = [float(x()) for x in steps]
        mean = sum(i * x for i, x in enumerate(chances))
        spread = sqrt(2.0 * (_SPARE - self.log_least) * users * sum((i - mean) ** 2 * x for i, x in enumerate(chances)))
        spread += _MORE - self.log_least
        return max(int(users * mean - spread), 0), min(int(users * mean + spread) + 1, users * (len(chances) - 1))

    @property
    def is_feasible(self) -> bool:
        """Whether there are few enough sums to look at."""
        own, rest = (last - first for first, last in (self._range(*x) for x in self._messages))
        return own <= _MOST_OWN and own + rest <= _MOST_SUMS[len(self.other) > 2]

    @property
    def _messages(self) -> tuple[tuple[Steps, int], ...]:
        return (self.first, self.victims), (self.other, self.others)

    @cached_property
    def _laws(self) -> tuple[list[arb], list[arb], arb]:
        """The chances of the sums for the victim at x0 and at x1, and at most what is left out of either."""
        return self._all[1:]

    @cached_property
    def _all(self) -> tuple[int, list[arb], list[arb], arb]:
        """The same, after the least sum that is looked at."""
        with at_precision(self._bits):
            least, rest = self._power(self.other, self.others)
            own = [self._power(steps, self.victims) for steps in (self.first, self.second)]
            start = min(first for first, _ in own)
            both = [[arb(0)] * (first - start) + (arb_poly(x) * arb_poly(rest)).coeffs() for first, x in own]
            longest = max(map(len, both))
            u, v = ([*x, *[arb(0)] * (longest - len(x))] for x in both)
            return least + start, u, v, (1 - total(v)).max(arb(0))

    def _power(self, steps: Steps, users: int) -> tuple[int, list[arb]]:
        """Return the first sum of so many messages that is looked at, and the chances from there on, or less."""
        first, last = self._range(steps, users)
        if len(steps) == 2 and 0 < steps[1]() < 1:
            return first, binomial(users, steps[1](), first, last)
        if users == 0:
            return 0, [arb(1)]
        start, half = self._power(steps, users // 2)
        whole, start = arb_poly(half) ** 2, 2 * start
        if users % 2:
            whole *= arb_poly([x() for x in steps])
        coefficients = whole.coeffs()
        return max(first, start), coefficients[max(first - start, 0) : last - start + 1]

    def divergence(self, level: Level) -> arb:
        """Return a ball whose lower end is at most the divergence of the two data sets.

        Guarantee
        ---------
        It is at most P(B) - e^eps Q(B) for a set B of sums. Proof: docs/proofs/several_reports.md.
        """
        u, v, lack = self._laws
        with at_precision(self._bits):
            e = level.exponential()
            gains = [x - e * y for x, y in zip(u, v, strict=True)]
            return total([x for x in gains if x > 0]) - e * lack

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        u, v, _ = self._laws
        with at_precision(64):
            return np.array([float(x) for x in u]), np.array([float(x) for x in v])

    def log_estimate(self, eps: float) -> float:
        """Return an estimate of the logarithm of the divergence, in doubles."""
        u, v = self._floats
        return log(max(float(np.maximum(u - exp(eps) * v, 0.0).sum()), 1e-300))

    @property
    def _middle(self) -> int:
        """The step of messages that reveal nothing, or are lost; 0 where steps distinguish two kinds of messages."""
        return next((i for i in range(1, len(self.other) - 1) if self.other[i] is not _never), 0)

    def plan(self, eps: float) -> ThresholdPlan | None:
        """Return the threshold that tells most, with a saddle point; None if none does, or it takes too many nodes."""
        (u, v), middle = self._floats, self._middle
        gains = np.cumsum((u - exp(eps) * v)[::-1])[::-1]
        best = int(gains.argmax())
        if not gains[best] > 0.0:
            return None
        threshold = self._all[0] + best - middle * (self.victims + self.others)
        steps = np.arange(len(self.other)) - middle
        with at_precision(64):
            first, second, other = (
                np.array([float(x()) for x in law]) for law in (self.first, self.second, self.other)
            )

        def log_mgf(tilt: float) -> tuple[float, float, float]:
            grown = other * np.exp(tilt * steps)
            mean = float(grown @ steps) / float(grown.sum())
            spread = float(grown @ steps**2) / float(grown.sum()) - mean**2
            return self.others * log(float(grown.sum())), self.others * mean, self.others * spread

        low, tilt = 0.0, _LARGEST_TILT
        for _ in range(60):
            middle_tilt = (low + tilt) / 2.0
            low, tilt = (middle_tilt, tilt) if log_mgf(middle_tilt)[1] < threshold else (low, middle_tilt)
        tilt = max(tilt, min(1.0, 0.5 / max(log_mgf(0.0)[2], 1.0) ** 0.5))
        own = [
            self.victims * log(float(max(first @ np.exp(x * steps), second @ np.exp(x * steps))))
            for x in (tilt, 2 * tilt)
        ]
        here, beyond = (log_mgf(x)[0] + y - x * threshold for x, y in zip((tilt, 2.0 * tilt), own, strict=True))
        least = log(float(gains[best])) - _ROOM
        nodes = int((max(0.0, beyond) - least) / tilt) + 3
        tilted = other * np.exp(tilt * steps)
        near = float(tilted[1:] @ tilted[:-1]) * 2.0 * self.others / float(tilted.sum()) ** 2
        size = here + log((self.victims + exp(min(eps, 600.0)) + 2.0) / -expm1(-tilt)) - least
        last = nodes // 2
        if near > size:
            last = min(last, int(acos(1.0 - 2.0 * size / near) * nodes / (2.0 * pi)) + 2)
        up, down = len(self.other) - 1 - middle, -middle
        return None if last > _MOST_NODES else ThresholdPlan(up, down, threshold, tilt, nodes, last)

    def epsilon(self, delta: arb, most: float) -> float:
        """Return an eps up to ``most`` at which the divergence is proved to be above delta; 0 if none is found."""
        return proved_epsilon(self.log_estimate, self.divergence, delta, most)


def _never() -> arb:
    return arb(0)


def steps_of(
    rows: Sequence[tuple[Number, Number, Number]], *, only_two: bool = False, may_be_lost: bool = False
) -> tuple[Steps, Steps, Steps] | None:
    """Return the chances of steps under x0, x1 and x*, from those of messages: 1 more where x0 is likelier than x1.

    ``only_two`` kinds of messages are told apart: those likelier under x0, and the others. None where balls tell no
    message from another. Where messages ``may_be_lost`` (rows that the victim never sends) steps are numbers in
    proportion to what messages tell.
    """

    def added(numbers: list[Number]) -> Number:
        return lambda: total([x() for x in numbers])

    with at_precision(_LEAST_BITS):
        signs = [1 if a() > b() else -1 if a() < b() and not only_two else 0 for a, b, _ in rows]
    kinds = sorted(set(signs))
    if len(kinds) < 2:
        return None
    first, second, other = (
        {kind: added([row[i] for row, s in zip(rows, signs, strict=True) if s == kind]) for kind in kinds}
        for i in range(3)
    )
    values = {kind: i for i, kind in enumerate(kinds)}
    if may_be_lost and kinds == [-1, 0, 1]:
        # A lost message changes nothing if steps of the others are 0 in the mean.
        with at_precision(_LEAST_BITS):
            up, down = (abs(float((first[k]() - second[k]()) / other[k]())) if other[k]() > 0 else inf for k in (1, -1))
        share = Fraction(min(max(up / down, 1 / _LARGEST_STEP), _LARGEST_STEP)).limit_denominator(_LARGEST_STEP)
        values = {-1: 0, 0: share.denominator, 1: share.numerator + share.denominator}
    found: list[list[Number]] = [[_never] * (max(values.values()) + 1) for _ in range(3)]
    for steps, chances in zip(found, (first, second, other), strict=True):
        for kind, x in chances.items():
            steps[values[kind]] = x
    return tuple(found[0]), tuple(found[1]), tuple(found[2])
