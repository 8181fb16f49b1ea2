"""How likely the sum of the steps of all messages reaches a threshold: few nodes of a circle, for any number of users.

Messages of one user, whose laws are compared, are among those of groups of others; each message counts as many as its
step says. What other nodes and other periods bring is bounded in balls (docs/proofs/step_sums.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial, reduce
from math import ceil, exp, expm1, floor, inf, log, log1p, log2, pi
from operator import mul
from typing import Any

import numpy as np
from flint import acb, arb

from symamp.laws.law import Floats, Level, Number, total
from symamp.numbers.doubles import root_between
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.surroundings import at_precision
from symamp.sums.kernels.balls import power

# What is tuned. Every plan gives a bound; these trade time against width, and are rules of thumb.
_ROOM, _MOST_NODES, _LONGEST, _LARGEST_TILT, _BITS = 45.0, 200_000, 2**36, 300.0, 128
"""By how much, in logarithms, what a plan leaves out is below the value; nodes that are evaluated, and of the whole
circle; the largest tilt of steps of 1, and bits beyond those that rounding takes."""
_LARGE = 30.0
"""Exponents from which on logarithms are taken of what is left over."""
_AROUND, _LARGEST_SQUARE = 3, 100.0
"""How many thresholds on each side are compared, up to which variance of the sum."""


@dataclass(frozen=True)
class Steps:
    """The chances of the steps other than 0 of a message, how many such messages there are, and the mass of their law.

    The law has less mass than 1 where a message may be seen alone.
    """

    chances: Mapping[int, arb]
    count: int = 1
    mass: arb = field(default_factory=partial(arb, 1))

    @property
    def floats(self) -> FloatSteps:
        """The same in doubles, with the chance of 0."""
        found = {s: float(x) for s, x in self.chances.items()}
        return found | {0: max(float(self.mass - total(list(self.chances.values()))), 0.0)}, self.count

    def factor(self, powers: Mapping[int, acb]) -> acb:
        """Return the generating function of all such messages, from the powers of e^z."""
        one = self.mass + sum((x * (powers[s] - 1) for s, x in self.chances.items()), acb(0))
        return one if self.count == 1 else power(one, self.count)

    def spread(self, powers: Mapping[int, acb]) -> arb:
        """Return kappa: under a tilt |phi(v)|^2 <= 1 - kappa (1 - cos v)."""
        tilted = {s: x * powers[s].real for s, x in self.chances.items()}
        tilted[0] = (self.mass - total(list(self.chances.values()))).max(arb(0))
        return _kappa(tilted, arb(0)) / total(list(tilted.values())) ** 2

    def __reduce__(self) -> tuple[object, ...]:
        """Return what travels: balls as their midpoints and radii."""
        places, balls = [*self.chances], [*self.chances.values(), self.mass]
        return _steps_from, (places, self.count, [(Dyadic.of(x), Dyadic.of(x.rad())) for x in balls])


def _steps_from(places: Sequence[int], count: int, balls: Sequence[tuple[Dyadic, Dyadic]]) -> Steps:
    *chances, mass = (arb(middle.ball, radius.ball) for middle, radius in balls)
    return Steps(dict(zip(places, chances, strict=True)), count, mass)


def _kappa(tilted: Mapping[int, Any], zero: Any) -> Any:
    return sum((2 * x * tilted.get(s + 1, zero) for s, x in tilted.items()), zero)


FloatSteps = tuple[Mapping[int, float], int]
"""The chances of all steps, and how many messages."""


@dataclass(frozen=True)
class StepPlan:
    """A threshold, a tilt, the nodes of the full circle and the last one, on one side, that is evaluated; bits.

    ``log_value`` is an estimate of the logarithm of the value; -inf where it is not positive.
    """

    threshold: int
    theta: float
    nodes: int
    last: int
    bits: int
    log_value: float


@dataclass(frozen=True)
class FloatVictim:
    """The victim's messages in doubles: for plans. ``gains`` are V0 - e^(eps/count) V1 by steps, ``second`` is V1."""

    gains: Mapping[int, float]
    first: Mapping[int, float]
    second: Mapping[int, float]
    eps: float
    count: int = 1

    @staticmethod
    def of(on_x0: Steps, on_x1: Steps, level: Level) -> FloatVictim:
        """Return the laws in doubles, at the ambient precision."""
        more = level.exponential_minus_one() if on_x0.count == 1 else (level.eps() / on_x0.count).expm1()
        laws = [{**x.chances, 0: x.mass - total(list(x.chances.values()))} for x in (on_x0, on_x1)]
        gains = {s: max(float((laws[0].get(s, arb(0)) - y) - more * y), -1e300) for s, y in laws[1].items()}
        first, second = ({s: max(float(x), 0.0) for s, x in law.items()} for law in laws)
        return FloatVictim(gains, first, second, float(level.eps()), on_x0.count)

    @cached_property
    def tilt(self) -> float | None:
        """The tilt at which both laws are alike; None where the first one is nowhere likelier."""

        def apart(t: float) -> float:
            return sum(x * exp((s - top) * t) for s, x in self.gains.items())

        top = max(self.gains)
        if not self.gains[top] > 0.0:
            return None
        if not apart(0.0) < 0.0:
            return 0.0
        most = _LARGEST_TILT / max(top, -min(self.gains))
        return root_between(apart, 0.0, most, rtol=1e-12) if apart(most) > 0.0 else most

    def plan(self, others: Sequence[FloatSteps], room: float = _ROOM) -> StepPlan | None:
        """Return a plan for the threshold that distinguishes most; None where none does."""
        tilt = self.tilt
        if tilt is None:
            return None
        others = [x for x in others if x[1]]
        if self.count > 1:
            return self._climbed(others, tilt, room)
        mean, square, _ = _moments(others, tilt)
        middle = ceil(mean - 0.5)
        thresholds: Sequence[int] = range(middle - _AROUND, middle + _AROUND + 1)
        if set(self.gains) == {0, 1}:  # one more than the mode of a sum of Bernoulli variables
            thresholds = floor(mean) + 1, floor(mean) + 2
        elif square >= _LARGEST_SQUARE:
            thresholds = (middle,)
        return self._planned(others, tilt, thresholds, square, room)

    def _climbed(self, others: Sequence[FloatSteps], least: float, room: float) -> StepPlan | None:
        """Return a plan for several messages of the victim: the best threshold is found step by step."""
        every = [*others, (self.first, self.count)]
        top = max(self.gains)
        most = _LARGEST_TILT / max(top, -min(self.gains))

        def at(k: int) -> StepPlan | None:
            def short(t: float) -> float:
                return _moments(every, t)[0] - k

            # Below the least tilt the second chance times e^eps is larger than the first, and rounding is that of it.
            if short(least) >= 0.0 or short(most) <= 0.0:
                tilt = least if short(least) >= 0.0 else most
            else:
                tilt = root_between(short, least, most, rtol=1e-3)
            return self._planned(others, tilt, (k,), _moments([*others, (self.first, self.count - 1)], tilt)[1], room)

        mean, square, _ = _moments(every, least)
        stride, last = max(int(square**0.5), 1), top * sum(c for _, c in every)
        best = at(min(ceil(mean), last))
        while best is not None and stride:
            k = best.threshold
            up, down = (at(k + i) if k + i <= last else None for i in (stride, -stride))
            best = max((x for x in (best, up, down) if x is not None), key=lambda p: p.log_value)
            if best.log_value == -inf and up is not None:  # the ratio of the chances grows with the threshold
                best = up
            elif best.threshold == k:
                stride //= 2
        return best

    def _planned(
        self, others: Sequence[FloatSteps], tilt: float, thresholds: Sequence[int], square: float, room: float
    ) -> StepPlan | None:
        """Return a plan for the best of neighbouring thresholds; ``square`` is the variance at the tilt."""
        k, deviation = thresholds[len(thresholds) // 2], max(square, 1.0) ** 0.5
        theta = max(tilt, min(1.0, 1.0 / deviation))
        kappa = _moments(others, theta)[2]
        scale, here, beyond = (
            _log_mgf(others, t) - t * k + c * log(sum(x * exp(s * t) for s, x in self.first.items()))
            for t, c in ((theta, 0), (theta, self.count), (2.0 * theta, self.count))
        )
        gain = sum(max(x, 0.0) for x in self.gains.values())
        low = here + log(gain) - log(3.0 * deviation) - log1p((deviation * theta) ** 2) - room
        of_second = log(max(sum(x * exp(s * theta) for s, x in self.second.items()), 1e-300))
        peak = max(here, scale + self.eps + self.count * of_second)
        size = peak + log(2.0) - log(-expm1(-theta)) - low
        length = (max(self.eps, self.eps + beyond, beyond) - low) / theta + 3.0
        if not length < _LONGEST:
            return None
        nodes = int(length)
        last = min(nodes // 2, _MOST_NODES)
        if kappa > size:
            last = min(last, ceil(float(np.arccos(1.0 - 2.0 * size / kappa)) * nodes / (2.0 * pi)) + 1)
        values = self._values(others, theta, thresholds, nodes, last) - theta * (np.array(thresholds) - k)
        best = int(values.argmax())
        users = self.count + sum(c for _, c in others)
        bits = _BITS + 4 * users.bit_length() + max(int(-log2(gain)), 0) + int((peak - here) / log(2.0))
        return StepPlan(thresholds[best], theta, nodes, last, bits, scale + float(values[best]))

    @np.errstate(all="ignore")  # what is no number is no value
    def _values(
        self, others: Sequence[FloatSteps], theta: float, thresholds: Sequence[int], nodes: int, last: int
    ) -> Floats:
        """Return the logarithms of the tilted sums at thresholds; -inf where one is not positive."""
        u = 2.0 * pi / nodes * np.arange(last + 1)
        logs = np.zeros(last + 1, dtype=np.complex128)
        for law, count in others:
            weights = {s: x * exp(s * theta) for s, x in law.items()}
            whole = sum(weights.values())
            real, imaginary = np.zeros((2, len(u)))
            for s, x in weights.items():  # from differences, for many users multiply what is rounded
                real -= 2.0 * x / whole * np.sin(0.5 * s * u) ** 2
                imaginary += x / whole * np.sin(s * u)
            modulus = np.log1p(np.maximum(2.0 * real + real**2 + imaginary**2, -1.0 + 2.0**-53))
            logs += count * (0.5 * modulus + 1j * np.arctan2(imaginary, 1.0 + real))
        z = theta + 1j * u
        apart = sum(x * np.exp(s * z) for s, x in self.gains.items())
        kernel = apart / -np.expm1(-z)
        if self.count > 1:
            second = exp(self.eps / self.count) * sum(x * np.exp(s * z) for s, x in self.second.items())
            with np.errstate(all="ignore"):
                ratio = np.expm1(self.count * np.log1p(apart / second)) / (apart / second)
                kernel = kernel * np.where(np.isfinite(ratio), ratio, self.count)
            logs += (self.count - 1) * np.log(second)
        top = float(logs[0].real)
        shares = np.where((u == 0.0) | (2 * np.arange(last + 1) == nodes), 1.0, 2.0) / nodes
        sums = (np.exp(logs - top - 1j * np.outer(thresholds, u)) * kernel).real @ shares
        return np.asarray(top + np.log(sums, where=sums > 0.0, out=np.full(len(sums), -inf)))


def _moments(groups: Sequence[FloatSteps], tilt: float) -> tuple[float, float, float]:
    """Return mean, variance and the sum of kappa of the tilted sum."""
    mean = variance = kappa = 0.0
    for law, n in groups:
        top = max(law)
        tilted = {s: x * exp((s - top) * tilt) for s, x in law.items()}
        whole = sum(tilted.values())
        first = sum(s * x for s, x in tilted.items()) / whole
        mean += n * first
        variance += n * sum((s - first) ** 2 * x for s, x in tilted.items()) / whole
        kappa += n * _kappa(tilted, 0.0) / whole**2
    return mean, variance, kappa


def _log_mgf(groups: Sequence[FloatSteps], tilt: float) -> float:
    result = 0.0
    for law, n in groups:
        top = max(law)
        if top * tilt < _LARGE:
            grown = sum(x * expm1(s * tilt) for s, x in law.items())
            result += n * log1p(max(grown, -1.0 + 2.0**-53))
        else:
            result += n * (top * tilt + log(sum(x * exp((s - top) * tilt) for s, x in law.items())))
    return result


@dataclass(frozen=True)
class StepSum:
    """The sum of the steps of all messages: those of the victim on either input, and those of the groups of others.

    What is tested is whether the sum reaches a threshold.
    """

    on_x0: Steps
    on_x1: Steps
    others: tuple[Steps, ...]

    def plan(self, level: Level) -> StepPlan | None:
        """Return a plan for the threshold that distinguishes most at a level; None where none does."""
        with at_precision(_BITS):
            return FloatVictim.of(self.on_x0, self.on_x1, level).plan([s.floats for s in self.others])

    def log_estimate(self, level: Level) -> float:
        """Return an estimate of the logarithm of the divergence at the best threshold; -inf where there is none."""
        plan = self.plan(level)
        return -inf if plan is None else plan.log_value

    def below(self, level: Level) -> arb:
        """Return a number that is at most D_E of the sums, 0 where no threshold tells.

        Guarantee
        ---------
        The result is at most the divergence of the sums of steps. Proof: docs/proofs/step_sums.md.
        """
        plan = self.plan(level)
        if plan is None:
            return arb(0)
        with at_precision(plan.bits):
            return self.enclosed(plan, arb(1), level.exponential(), (plan.threshold,))[0][0].max(arb(0))

    def chances(self, plan: StepPlan) -> tuple[arb, arb]:
        """Return how likely the sum reaches the threshold: on x0 at least the first, on x1 at most the second.

        Guarantee
        ---------
        Both are bounds on these sides. Proof: docs/proofs/step_sums.md.
        """
        with at_precision(plan.bits):
            on_x0, on_x1 = (self.enclosed(plan, arb(w), arb(1 - w), (plan.threshold,))[0][0] for w in (1, 0))
            return on_x0.max(arb(0)), (-on_x1).upper()

    def enclosed(self, plan: StepPlan, first: arb, second: arb, thresholds: Sequence[int]) -> list[tuple[arb, arb]]:
        """Return bounds on first P0(S >= k) - second P1(S >= k), both weights at least 0, for thresholds k.

        Guarantee
        ---------
        The number lies between the two, for every plan with a tilt above 0. Proof: docs/proofs/step_sums.md.
        """
        theta, nodes, values = arb(plan.theta), plan.nodes, [arb(0) for _ in thresholds]
        for j in range(plan.last + 1):
            z = acb(theta, 2 * arb.pi() * j / nodes)
            value = reduce(mul, self._factors(self._powers(z), first, -second))
            value *= (1 if j == 0 or 2 * j == nodes else 2) / (1 - (-z).exp())
            values = [x + (value * (-z * k).exp()).real for x, k in zip(values, thresholds, strict=True)]
        once, twice = (self._powers(acb(t)) for t in (theta, 2 * theta))
        left, found = arb(0), list[tuple[arb, arb]]()
        if 2 * plan.last + 1 < nodes:
            kappa = total([s.count * s.spread(once) for s in self.others])
            fall = 1 - (2 * arb.pi() * (plan.last + 1) / nodes).cos()
            left = reduce(mul, self._factors(once, first, second)).real * (-kappa * fall / 2).exp()
            left /= 1 - (-theta).exp()
        around = 1 / (theta * nodes).expm1()
        wide = [w * reduce(mul, self._factors(twice, *both)).real for w, both in ((first, (1, 0)), (second, (0, 1)))]
        for value, k in zip(values, thresholds, strict=True):
            missed = left * (-theta * k).exp()
            less, more = (around * (w + x * (-2 * theta * k).exp()) for w, x in zip((first, second), wide, strict=True))
            found.append(((value / nodes - missed - less).lower(), (value / nodes + missed + more).upper()))
        return found

    def _powers(self, z: acb) -> dict[int, acb]:
        return {s: (s * z).exp() for s in {s for x in (self.on_x0, self.on_x1, *self.others) for s in x.chances}}

    def _factors(self, powers: Mapping[int, acb], first: Any, second: Any) -> list[acb]:
        victim = first * self.on_x0.factor(powers) + second * self.on_x1.factor(powers)
        return [victim, *(s.factor(powers) for s in self.others)]


_LARGEST_STEP, _CHANCE_BITS = 8, 512
"""The largest step up or down where messages are lost, and bits of the chances of steps."""


def steps_of(
    rows: Sequence[tuple[Number, Number, Number]], counts: tuple[int, int], *, only_two: bool, may_be_lost: bool
) -> tuple[StepSum, int, int] | None:
    """Return the sum of the steps of messages with chances under x0, x1 and x*, and the steps up and down.

    ``counts`` are how many messages the victim has, and the others. Up are messages that are likelier under x0, down
    those that are likelier under x1, unless ``only_two`` kinds are told apart; None where balls tell no message from
    another. Where messages ``may_be_lost`` (rows that the victim never sends) steps are in proportion to what messages
    tell.
    """
    with at_precision(_CHANCE_BITS):
        chances = [[x() for x in row] for row in rows]
        kinds = [1 if a > b else -1 if a < b and not only_two else 0 for a, b, _ in chances]
        if len(set(kinds)) < 2:
            return None

        def chance_of(kind: int, i: int) -> arb:
            return total([row[i] for row, k in zip(chances, kinds, strict=True) if k == kind])

        up, down = 1, -1 if 0 in kinds else 0
        if may_be_lost and len(set(kinds)) == 3:
            # A lost message changes nothing if steps of the others are 0 in the mean.
            told = ([chance_of(k, i) for i in range(3)] for k in (1, -1))
            high, low = (abs(float((a - b) / c)) if c > 0 else inf for a, b, c in told)
            share = Fraction(min(max(high / low, 1 / _LARGEST_STEP), _LARGEST_STEP)).limit_denominator(_LARGEST_STEP)
            up, down = share.numerator, -share.denominator
        values = {up: 1, down: -1}
        laws = [
            Steps({s: chance_of(k, i) for s, k in values.items() if s}, c) for i, c in enumerate((counts[0], *counts))
        ]
        return StepSum(laws[0], laws[1], tuple(x for x in laws[2:] if x.count)), up, down
