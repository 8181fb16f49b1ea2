"""The two sums of a unary encoding in which x0 and x1 differ: the divergence of two data sets, by all likely counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, product
from math import log, sqrt

import numpy as np
from flint import arb

from symamp.laws.law import Floats, Level, Number
from symamp.numbers.doubles import root_between
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.sums.binomial_tails import coefficient

# What is tuned: every set of counts gives a lower bound. Rules of thumb.
_SPARE, _MORE, _MOST_COUNTS = 46.0, 60, 1_000_000
"""The tails that are left out are below delta e^-spare, or so; counts more than deviations say; counts that are looked
at."""
_MOST_LISTED, _MOST_FEW = 8, 8
"""Up to so many other users all numbers are tried; so many may differ from all others."""
_LEAST_LOG = -640.0
"""Smaller logarithms of delta are left to balls."""
_NEARER = (1e-12, 4e-12, 1e-10, 1e-8, 1e-6, 1e-4)
"""How far below its estimate an eps is tried, relatively."""

Held = tuple[int, int]
"""How many of the other users hold x0, and x1."""
Range = tuple[int, int]
"""The first and the last count."""


@dataclass(frozen=True)
class UnarySums:
    """The sums of the bits x0 and x1 of n users, for the victim at x0 and at x1; ``held`` says what others hold.

    A bit is 1 with probability p for the users who hold its option, and q < p for the others. Counts are looked at
    where they matter for a delta of e^log_delta.
    """

    p: Number
    q: Number
    n: int
    held: Held
    log_delta: float

    @staticmethod
    def candidates(n: int, size: int) -> Iterator[Held]:
        """Yield the numbers of others that are tried: all if they are few, else those of whom nearly all agree."""
        m = n - 1
        if m <= _MOST_LISTED:
            held = ((a, b) for a, b in product(range(m + 1), repeat=2) if a + b <= m)
            yield from (x for x in held if size > 2 or sum(x) == m)
            return
        yield from ((m, 0), (m - 1, 1), (0, m), (1, m - 1))
        yield from ((0, 0), (1, 0), (1, 1)) if size > 2 else ()

    @cached_property
    def _chances(self) -> tuple[float, float]:
        with at_precision(64):
            return float(self.p()), float(self.q())

    @cached_property
    def ranges(self) -> tuple[Range, Range]:
        """The counts that are looked at, of each of the two sums."""
        return self._range(self.held[0]), self._range(self.held[1])

    def _range(self, holders: int) -> Range:
        p, q = self._chances
        mean = holders * p + (self.n - holders) * q
        spread = sqrt(2.0 * (_SPARE - self.log_delta)) * sqrt(holders * p * (1 - p) + (self.n - holders) * q * (1 - q))
        spread += _MORE - self.log_delta
        return max(int(mean - spread), 0), min(int(mean + spread) + 1, self.n)

    @property
    def is_feasible(self) -> bool:
        """Whether there are few enough counts to look at."""
        return sum(last - first for first, last in self.ranges) <= _MOST_COUNTS

    def _groups(self, holders: int) -> tuple[tuple[int, bool], tuple[int, bool]]:
        """Return the larger and the smaller group of others, each with whether it holds the option."""
        rest = self.n - 1 - holders
        groups = (holders, True), (rest, False)
        found = groups if holders >= rest else groups[::-1]
        assert found[1][0] <= _MOST_FEW
        return found

    # ------------------------------------------------------------------------------------------ in doubles, to search

    @cached_property
    def _floats(self) -> tuple[Floats, ...]:
        """The laws of the first and of the second sum, each for the victim at x0 and at x1."""
        p, q = self._chances
        found = list[Floats]()
        for holders, (first, last), own in zip(self.held, self.ranges, ((p, q), (q, p)), strict=True):
            (many, is_p), (few, few_p) = self._groups(holders)
            start = first - few - 1
            law = _binomial_in_doubles(many, p if is_p else q, start, last)
            for _ in range(few):
                law = _one_more(law, p if few_p else q)
            found += [_one_more(law, x) for x in own]
        return tuple(found)

    def estimate(self, level: Level) -> float:
        """Return an estimate of the divergence, in doubles."""
        u0, u1, v0, v1 = self._floats
        with at_precision(64), np.errstate(all="ignore"):
            e = float(level.exponential())
            own, other = u0 / u1, v1 / v0
            ends = np.searchsorted(np.maximum.accumulate(np.nan_to_num(other)), own / e, side="left")
            sums = [np.concatenate(([0.0], np.cumsum(v))) for v in (v0, v1)]
            return float((u0 * sums[0][ends] - e * u1 * sums[1][ends]).sum())

    # ------------------------------------------------------------------------------------------- in balls, to be proved

    @cached_property
    def _balls(self) -> tuple[list[arb], ...]:
        """The same laws in balls; those of the second sum summed up from 0."""
        with at_precision(BALL_BITS):
            p, q = self.p(), self.q()
            found = list[list[arb]]()
            for holders, (first, last), own in zip(self.held, self.ranges, ((p, q), (q, p)), strict=True):
                (many, is_p), (few, few_p) = self._groups(holders)
                law = binomial(many, p if is_p else q, first - few - 1, last)
                for _ in range(few):
                    law = _one_more_ball(law, p if few_p else q)
                found += [_one_more_ball(law, x) for x in own]
            return (*found[:2], *(list(accumulate(law, initial=arb(0))) for law in found[2:]))

    def divergence(self, level: Level) -> arb:
        """Return a ball whose lower end is at most the divergence of the two sums of the data sets.

        Guarantee
        ---------
        It is P(B) - e^eps Q(B) for a set B of counts. Proof: docs/proofs/coordinates.md.
        """
        u0, u1, v0, v1 = self._balls
        with at_precision(BALL_BITS):
            factor, end, result = level.exponential(), 0, arb(0)
            # The first ratio grows with the count and the second falls: B has all second counts below some end.
            for a, b in zip(u0, u1, strict=True):
                while end + 1 < len(v0) and a * (v0[end + 1] - v0[end]) > factor * b * (v1[end + 1] - v1[end]):
                    end += 1
                result += a * v0[end] - factor * b * v1[end]
            return result

    def epsilon(self, delta: arb, most: float) -> float:
        """Return an eps up to ``most`` at which the divergence is proved to be above delta; 0 if none is found."""
        return proved_epsilon(self._value, self.divergence, delta, most)

    @property
    def _value(self) -> Callable[[float], float]:
        """The logarithm of the divergence at an eps, for a search."""

        def in_doubles(eps: float) -> float:
            return log(max(self.estimate(Level.of_float(eps)), 1e-300))

        def in_balls(eps: float) -> float:
            with at_precision(BALL_BITS):
                found = self.divergence(Level.of_float(eps))
                return float(found.log()) if found > 0 else 2.0 * self.log_delta

        return in_doubles if self.log_delta > _LEAST_LOG else in_balls


def proved_epsilon(
    log_value: Callable[[float], float], divergence: Callable[[Level], arb], delta: arb, most: float
) -> float:
    """Return an eps up to ``most`` at which a divergence is proved to be above delta; 0 if none is found."""
    with at_precision(BALL_BITS):
        target = float(delta.log())
    if not log_value(0.0) > target:
        return 0.0
    root = (
        most if log_value(most) > target else root_between(lambda eps: log_value(eps) - target, 0.0, most, rtol=1e-13)
    )
    for nearer in _NEARER:
        eps = root * (1.0 - nearer)
        with at_precision(BALL_BITS):
            if divergence(Level.of_float(eps)) > delta:
                return eps
    return 0.0


def _binomial_in_doubles(m: int, share: float, first: int, last: int) -> Floats:
    """Return the chances of the counts from ``first`` to ``last`` of m bits; there are none below 0 and above m."""
    k = np.arange(first, last + 1, dtype=np.float64)
    mode = min(max(int(m * share), first, 0), last, m)
    with at_precision(BALL_BITS):  # doubles lose digits of these logarithms
        top = float((coefficient(m, mode) * arb(share) ** mode * (1 - arb(share)) ** (m - mode)).log())
    with np.errstate(all="ignore"):
        steps = np.log((m - k[:-1]) / (k[:-1] + 1.0)) + log(share) - np.log1p(-share)
    found = np.full(len(k), -np.inf)
    at = mode - first
    found[at] = top
    found[at + 1 :] = top + np.cumsum(steps[at:])
    found[:at] = top - np.cumsum(steps[:at][::-1])[::-1]
    return np.where((k >= 0) & (k <= m), np.exp(np.nan_to_num(found, nan=-np.inf)), 0.0)


def _one_more(law: Floats, chance: float) -> Floats:
    """Return the law with one more bit, of this chance, from the second count on."""
    return np.asarray((1.0 - chance) * law[1:] + chance * law[:-1])


def binomial(m: int, share: arb, first: int, last: int) -> list[arb]:
    """Return the same in balls, from the chance at the mode by quotients."""
    mode = min(max(int(m * float(share)), first, 0), last, m)
    top = coefficient(m, mode) * share**mode * (1 - share) ** (m - mode)
    odds, found = share / (1 - share), [arb(0)] * (last - first + 1)
    found[mode - first] = here = top
    for k in range(mode, min(last, m)):
        here = here * odds * (m - k) / (k + 1)
        found[k + 1 - first] = here
    here = top
    for k in range(mode, max(first, 0), -1):
        here = here * k / (odds * (m - k + 1))
        found[k - 1 - first] = here
    return found


def _one_more_ball(law: Sequence[arb], chance: arb) -> list[arb]:
    rest = 1 - chance
    return [rest * law[i + 1] + chance * law[i] for i in range(len(law) - 1)]
