"""Renyi divergences of rounds, certified from both sides, and the eps that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log, log1p, sqrt
from typing import Any

import numpy as np
import scipy
from flint import arb, fmpq
from numpy.typing import NDArray

from symamp.accounting.curves import DominatingPair
from symamp.accounting.pairs import RoundPairs
from symamp.decompositions.printing import axes_for
from symamp.errors import ArgumentError, ContradictionError
from symamp.laws.law import total
from symamp.numbers.dyadic import float_above, float_below
from symamp.numbers.rationals import fmpq_of, log_ball
from symamp.numbers.reading import Real, exact_number, failure_probability
from symamp.numbers.surroundings import BALL_BITS, at_precision, undisturbed
from symamp.questions.bracket import Interval, ManyEnds
from symamp.sums.inversion import log_of

_REACH = 6.5
"""How many deviations beyond the centre of a moment its grid is dense: a rule of thumb."""
LARGEST_ORDER = 10**6
"""Larger orders are refused, and not tried for an epsilon."""


@dataclass(frozen=True, repr=False)
class RenyiCurve(ManyEnds):
    """Brackets of the Renyi divergence at some orders, as doubles rounded outward.

    ``upper`` holds for every pair of neighbours and adaptive queries; some data sets have at least ``lower``.

    >>> import symamp as sa
    >>> curve = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).renyi(2)
    >>> 5.036e-07 < curve.lower[0] < curve.upper[0] < 5.041e-07
    True
    """

    orders: tuple[fmpq, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    text: str

    columns = ("order", "lower", "upper")

    def __post_init__(self) -> None:
        """Raise ContradictionError for ends that cross: at an order, or at two, for the divergence does not fall."""
        for i, high in enumerate(self.upper):
            for j, low in enumerate(self.lower):
                if self.orders[j] <= self.orders[i] and not 0.0 <= low <= high:
                    told = f"at least {low!r} at order {self.orders[j]}, at most {high!r} at {self.orders[i]}"
                    raise ContradictionError(f"Renyi divergence of {self.text}", told)

    @property
    def order(self) -> NDArray[np.float64]:
        """The orders, as the nearest doubles."""
        return np.array([float(a.p) / float(a.q) for a in self.orders])

    def plot(self, ax: Any = None) -> Any:
        """Draw the bracket over the order; return the matplotlib Axes."""
        ax = axes_for(ax)
        ax.fill_between(self.order, self.lower, self.upper, alpha=0.4, linewidth=0)
        ax.plot(self.order, self.upper, linewidth=1, label=self.text)
        ax.set(xscale="log", yscale="log", xlabel="order", ylabel="Rényi divergence")
        ax.legend()
        return ax

    def rows(self) -> list[tuple[object, ...]]:
        """Return (order, lower, upper) for each order."""
        return list(zip(self.orders, self.lower, self.upper, strict=True))

    def _title(self) -> str:
        return f"Renyi divergence of {self.text}"

    def _text(self, shown: Callable[[Interval], str]) -> str:
        found = zip(self.orders, map(Interval, self.lower, self.upper), strict=True)
        return "\n".join([self.text, *(f"order {a}: {shown(ends)}" for a, ends in found)])


@undisturbed()
def renyi_curve(rounds: RoundPairs, orders: Sequence[object], gap: Real | None, effort: str = "default") -> RenyiCurve:
    """Return brackets of the Renyi divergences of all rounds together, of relative width about twice ``gap``.

    Guarantee
    ---------
    After all rounds, for adaptive queries, the divergence of the order is at most ``upper``; for some queries and data
    sets it is at least ``lower``. Proof: docs/proofs/composition.md, section 5.
    """
    exact = tuple(_order(a) for a in orders)
    ends = [_bracket(rounds, a, gap, effort) for a in exact]
    return RenyiCurve(exact, tuple(x for x, _ in ends), tuple(y for _, y in ends), str(rounds))


@undisturbed()
def renyi_epsilon(rounds: RoundPairs, delta: Real, gap: Real | None, effort: str = "default") -> float:
    """Return the eps that follows from one Renyi divergence, the order chosen by the Gaussian approximation.

    An upper bound like that of ``Composition.epsilon``, and a larger one: the price of the detour.

    Guarantee
    ---------
    All rounds together are (eps, delta)-private for adaptive queries. Proof: docs/proofs/composition.md, section 5.

    >>> import symamp as sa
    >>> rounds = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).rounds(100)
    >>> 0.0320 < rounds.renyi_epsilon("1e-8") < 0.0345
    True
    """
    target = failure_probability(delta)
    log_delta, variance = log_of(target), rounds.mu**2

    def epsilon(log_excess: float) -> float:
        a = 1.0 + float(np.exp(log_excess))
        return a * variance / 2.0 + log1p(-1.0 / a) - (log_delta + log(a)) / (a - 1.0)

    most = log(LARGEST_ORDER)
    guess = min(log(sqrt(-2.0 * log_delta / variance)), most)
    bounds = (guess - 3.0, min(guess + 3.0, most))
    best = float(np.exp(scipy.optimize.minimize_scalar(epsilon, bounds=bounds, method="bounded").x))
    order = 1 + fmpq(*best.as_integer_ratio())
    upper = _bracket(rounds, order, gap, effort)[1]
    if upper == inf:
        return inf
    with at_precision(BALL_BITS):
        a = arb(order)
        return max(0.0, float_above(arb(upper) + (1 - 1 / a).log() - (arb(target) * a).log() / (a - 1)))


def _order(order: object) -> fmpq:
    number = exact_number(order, "order")
    if not (number.is_Rational and 1 < number <= LARGEST_ORDER):
        raise ArgumentError("order", order, f"a rational number above 1, up to {LARGEST_ORDER}")
    return fmpq_of(number)


def _bracket(rounds: RoundPairs, order: fmpq, gap: Real | None, effort: str) -> tuple[float, float]:
    middle = float(order.p) / float(order.q) - 0.5
    # The grid is dense where the moment comes from, some deviations beyond its centre.
    reach = max(middle * r.deviation + _REACH for r, _ in rounds.rounds)
    log_reach = -reach * reach / 2.0 + log(1e6 * rounds.count)
    budgets = [r.budget for r, _ in rounds.rounds]
    tail = (middle + 1.0) * max((b for b in budgets if b < inf), default=0.0) + 100.0
    ends = []
    for up in (False, True):
        found = rounds.pairs(up, middle * rounds.mu**2, log_reach, gap, tail, effort=effort)
        infinite = any(pair.infinite > 0 for pair, _ in found.pairs)
        with at_precision(BALL_BITS):
            value = arb(0) if infinite else total([count * _divergence(p, order) for p, count in found.pairs])
            ends.append(inf if infinite else max(0.0, float_above(value) if up else float_below(value)))
    return ends[0], ends[1]


def _divergence(pair: DominatingPair, order: fmpq) -> arb:
    """Return a ball around the Renyi divergence of a pair without infinite ratios."""
    power = arb(order - 1)
    excess = total([arb(p) * (power * log_ball(e)).expm1() for e, p in pair.atoms])
    return (excess + arb(sum((p for _, p in pair.atoms), fmpq(-1)))).log1p() / power
