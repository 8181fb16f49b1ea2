"""Trade-off functions (f-DP): the least error of the second kind at a level, bracketed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import scipy
from flint import arb, fmpq

from symamp.accounting.curves import CurvePoint, CurvePoints, curve_above, descend, minorant
from symamp.accounting.losses import (
    WIDEST_SUM,
    FloatProduct,
    Rounds,
    enclose_divergence,
    estimate_divergence,
    gaussian_epsilon,
    gaussian_log_delta,
)
from symamp.accounting.pairs import RoundPairs
from symamp.accounting.round import DirectedRound
from symamp.decompositions.printing import axes_for
from symamp.errors import ArgumentError, ContradictionError
from symamp.numbers.dyadic import ZERO, Dyadic, float_above, float_below
from symamp.numbers.limits import ROUNDS, TRADE_OFF, Limits
from symamp.numbers.rationals import Vertex, fmpq_of, log_ball
from symamp.numbers.reading import Real, exact_number
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.questions.bracket import Interval, ManyEnds

# What is tuned: sums against how close the curve is between levels. Rules of thumb, but for the last.
_PER_DEVIATION, _REACH = 3, 6.0
"""Levels for each deviation of the loss, and how many deviations beyond its mean they go."""
_AT_LEVEL = 0.1
"""How far apart, in deviations, three levels are about where the normal law decides at an error of the first kind."""
_PER_DEVIATION_EXPORTED, _MOST_LEVELS = 8, 400
"""The same where chords between them are exported, and the most of them."""
_LEVELS_OF_RARE, _FARTHER, _NEARLY, _CLIFFS, _AROUND = 30, 1.4, 1.0, 8, 3
"""Further levels, and by steps of which factor they are sought, where delta is larger by this in the logarithm than
that of the normal law; and about how many multiples of the largest loss of a round, and at how many deviations on each
side, are more."""
_LOG_RARE = -14.0
"""The logarithm of the least error of the first kind for which rare losses are looked at."""
_AGREE = WIDEST_SUM
"""How near chords are where no more levels are evaluated, relatively: the sums at these know no more."""
_LARGEST_LOSS = 750.0
"""Levels E beyond e^750 tell only of errors of the first kind below 1/E, which no double is; and exact fractions of
such sizes are slow."""


@dataclass(frozen=True, repr=False)
class TradeOff(ManyEnds):
    """A lower and an upper bound of the trade-off function (f-DP), both convex.

    For every pair of neighbours, every test of level x has an error of the second kind of at least ``at(x)[0]``; for
    some data sets a test has an error of at most ``at(x)[1]``. ``levels`` are the requested levels, ``lower`` and
    ``upper`` the bounds there. ``above`` and ``below`` are the vertices of functions on both sides of E -> D_E from
    which both follow. ``mu`` is the parameter of the Gaussian approximation. ``is_pure`` is True if no loss is
    infinite: then a test that never errs on one side always errs on the other.

    >>> import symamp as sa
    >>> f = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).rounds(100).tradeoff("0.05")
    >>> 0.9485 < f.lower[0] < f.upper[0] < 0.9495
    True
    >>> f.at("0.05") == (f.lower[0], f.upper[0])
    True
    """

    above: tuple[Vertex, ...]
    below: tuple[Vertex, ...]
    text: str
    mu: float
    levels: tuple[object, ...] = ()
    is_pure: bool = False

    columns = ("level", "lower", "upper")

    @property
    def lower(self) -> tuple[float, ...]:
        """Lower bounds at ``levels``."""
        return tuple(self.at(x)[0] for x in self.levels)

    @property
    def upper(self) -> tuple[float, ...]:
        """Upper bounds at ``levels``."""
        return tuple(self.at(x)[1] for x in self.levels)

    @undisturbed()
    def at(self, level: object) -> tuple[float, float]:
        """Return lower and upper bounds on the trade-off function at a level in [0, 1], rounded outward.

        Guarantee
        ---------
        The first is at most the error of the second kind of every test of this level, whatever the neighbours; the
        second is at least that of the best test for some neighbours. Proof: docs/proofs/composition.md, section 5.
        """
        x = _level(level)
        if self.is_pure and x == 0:
            return 1.0, 1.0
        low, high = (max(1 - d - e * x for e, d in curve) for curve in (self.above, self.below))
        if low > max(high, 0):
            told = f"at least {low} and at most {high} at level {level}"
            raise ContradictionError(f"trade-off function of {self.text}", told)
        with at_precision(128):
            return max(0.0, float_below(arb(low))), max(0.0, float_above(arb(high)))

    def plot(self, ax: Any = None, levels: Iterable[object] | None = None) -> Any:
        """Draw the band of the trade-off function; return the matplotlib Axes."""
        ax = axes_for(ax)
        x = np.linspace(0.0, 1.0, 201) if levels is None else np.array([float(str(v)) for v in levels])
        low, high = np.array([self.at(float(v)) for v in x]).T
        ax.fill_between(x, low, high, alpha=0.4, linewidth=0)
        ax.plot(x, low, linewidth=1, label=self.text)
        inner = x[(x > 0.0) & (x < 1.0)]
        normal = scipy.special.ndtr(scipy.special.ndtri(1.0 - inner) - self.mu)
        ax.plot(inner, normal, "k:", linewidth=1, label="Gaussian approximation, no bound")
        ax.set(xlabel="error of the first kind", ylabel="error of the second kind")
        ax.legend()
        return ax

    def rows(self) -> list[tuple[object, ...]]:
        """Return (level, lower, upper) for each level that was asked for."""
        return list(zip(self.levels, self.lower, self.upper, strict=True))

    def _title(self) -> str:
        return f"trade-off function of {self.text}"

    def _text(self, shown: Callable[[Interval], str]) -> str:
        found = zip(self.levels, map(Interval, self.lower, self.upper), strict=True)
        return "\n".join([self.text, *(f"level {x}: error of the second kind in {shown(ends)}" for x, ends in found)])


@undisturbed()
def trade_off(rounds: RoundPairs, levels: tuple[object, ...], gap: Real | None, effort: str = "default") -> TradeOff:
    """Return the trade-off function of all rounds together, from certified values of their curve."""
    rates = [float(_level(level)) for level in levels]
    reach = ceil(_PER_DEVIATION * (_REACH + rounds.mu / 2.0))
    losses = (rounds.mu * k / _PER_DEVIATION for k in range(reach + 1))
    grid = [x for x in losses if x <= _LARGEST_LOSS]
    middle = rounds.mu * (1.0 + rounds.mu / 2.0)
    log_delta = max(gaussian_log_delta(rounds.mu, grid[-1]), -1e5)
    above, below = (rounds.pairs(up, middle, log_delta, gap, effort=effort).pairs for up in (True, False))
    tilts = [float(scipy.special.ndtri(1.0 - x)) - rounds.mu / 2.0 for x in rates if 0.0 < x < 1.0]
    near = (rounds.mu * abs(z + k * _AT_LEVEL) for z in tilts for k in (-1, 0, 1))
    rare = _with_rare(grid, rounds, above, max(log_delta, _LOG_RARE))
    is_normal = rare[-1] == grid[-1]
    grid = sorted({*grid, *(x for x in near if x < grid[-1])}) if is_normal else rare

    def curve(pairs: Rounds, has_orders: bool = True) -> CurvePoints:
        orders = [pairs, [(pair.swapped(), count) for pair, count in pairs]][: 1 + has_orders]
        return CurvePoints.of_orders(*(_points(order, grid, Limits.of(effort, TRADE_OFF)) for order in orders))

    dominating = curve(above, any(isinstance(found, DirectedRound) for found, _ in rounds.rounds))
    known: list[Vertex] = minorant(curve(below)) if below else [(fmpq(0), fmpq(1)), (fmpq(1), fmpq(0))]
    pure = all(found.top is not None for found, _ in rounds.rounds)
    return TradeOff(tuple(curve_above(dominating)), tuple(known), str(rounds), rounds.mu, levels, pure)


@undisturbed()
def composed_above(rounds: RoundPairs, log_delta: float) -> CurvePoints:
    """Return upper bounds on the divergence of all rounds together at levels E >= 1, down to about delta."""
    most = min(rounds.largest, _LARGEST_LOSS)
    reach = min(gaussian_epsilon(rounds.mu, log_delta), most)
    steps = min(ceil(_PER_DEVIATION_EXPORTED * reach / rounds.mu) + 1, _MOST_LEVELS)
    above = rounds.pairs(True, reach / 2.0, log_delta, None).pairs
    grid = _with_rare([reach * k / steps for k in range(steps + 1)], rounds, above, log_delta)
    return CurvePoints.of_orders(_points(above, grid, Limits.of("default")))


def _with_rare(grid: list[float], rounds: RoundPairs, above: Rounds, log_delta: float) -> list[float]:
    """Return the losses of a grid with those beyond at which delta is not yet so small: of reports that leak."""
    product, reach, most = FloatProduct.of(above), grid[-1], min(rounds.largest, _LARGEST_LOSS)
    far = reach
    while far < most and product.log_infinite < log_delta + _NEARLY < _log_divergence(product, far):
        far = min(_FARTHER * far, most)
    if far == reach:
        return sorted({*grid})
    further = (reach + (far - reach) * k / _LEVELS_OF_RARE for k in range(1, _LEVELS_OF_RARE + 1))
    cliffs = {k * found.budget for found, count in rounds.rounds for k in range(1, min(count, _CLIFFS) + 1)}
    near = (x + k * rounds.mu for x in cliffs for k in range(-_AROUND, _AROUND + 1))
    return sorted({*grid, *further, *(x for x in near if reach < x < far)})


def _log_divergence(product: FloatProduct, eps: float) -> float:
    return estimate_divergence(product, eps, WIDEST_SUM).log_upper


def _level(level: object) -> fmpq:
    number = exact_number(level, "level")
    if not (number.is_Rational and 0 <= number <= 1):
        raise ArgumentError("level", level, "a rational number in [0, 1]")
    return fmpq_of(number)


def _points(rounds: Rounds, grid: list[float], limits: Limits) -> tuple[CurvePoint, ...]:
    """Return enclosures of the curve of a product at levels near e^eps, as many as the work allows."""
    product = FloatProduct.of(rounds)

    def point(eps: float) -> CurvePoint:
        with at_precision(64):
            level = 1 + Dyadic.of(arb(eps).expm1()).fraction
        low, high, bits = _enclosed(rounds, product, eps, level, limits)
        with at_precision(bits):
            low_end = Dyadic.of(low.lower()) if low > 0 else ZERO
            return CurvePoint.of_ends(level, low_end, Dyadic.of(high.upper()))

    return descend(grid, point, _AGREE, limits)


def _enclosed(rounds: Rounds, product: FloatProduct, eps: float, level: fmpq, limits: Limits) -> tuple[arb, arb, int]:
    """Return balls around the divergence at a level, about e^eps, and their precision: a sum for one round alone."""
    with at_precision(256):
        if sum(count for _, count in rounds) == 1:
            value = arb(rounds[0][0].divergence(level))
            return value, value, 256
        exact = log_ball(level)
    limits.charge(ROUNDS.of(sum(len(pair.atoms) for pair, _ in rounds)))
    return enclose_divergence(rounds, exact, estimate_divergence(product, eps, WIDEST_SUM).plan)
