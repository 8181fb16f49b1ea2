"""E[S_+] by binomial tails: the counts of all values but two are listed, the last two are summed in closed form.

The work grows with the spread of the counts that are listed, to any number of digits. It is for what kernels are poor
at: sums that are nearly always the same, or nearly on a lattice (docs/proofs/binomial_tails.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from math import comb, inf, log, log1p, prod, sqrt

import flint
from flint import arb

from symamp.laws.law import BallGparv, total
from symamp.numbers.surroundings import at_precision
from symamp.sums.kernels.tilted import TiltedLaw

# What is tuned. Every plan gives a bound; these trade time against width, and all but the first two only time.
_MOST_VALUES = 24
"""Laws of more values have too many counts to list: they are left to kernels."""
_LARGEST_STEP = 200.0
"""How much further the radius of the counts goes at most when a plan left out too much."""
_PREFIX_WORK, _WALK_WORK, _CONSIDERED = 40, 0.12, 5
"""The time of a choice of the outer counts and of a step of the threshold, in steps of the listed value, by which the
order of values is chosen; and how many of the likeliest are tried in front."""
_LONGEST_WALK = 64
"""By more steps of the threshold a tail is summed afresh: a rule of thumb."""
_MOST_MULTIPLIED = 64
"""Binomial coefficients are exact up to so many factors, and a quotient of gamma functions beyond."""


@dataclass(frozen=True)
class TailPlan:
    """The tilt, the radius of the region of counts that are listed, and the order of the values.

    Counts are listed as long as n times their relative entropy to the tilted law is at most ``radius``. ``order`` has
    the indices of the values, the null symbol last in numbering; ``tilted`` their tilted probabilities.
    """

    theta: float
    radius: float
    order: tuple[int, ...]
    tilted: tuple[float, ...]
    leaps: bool = False
    """Whether the threshold leaps from each count of the third value to the next, so that each tail is summed anew."""

    @property
    def parameters(self) -> dict[str, float]:
        """What there is to tell of the plan, by name."""
        return {"theta": self.theta, "radius": self.radius, "values": len(self.order)}

    def widened(self, excess: float) -> TailPlan:
        """Return the plan that leaves out less by a factor of ``excess``, and some more."""
        return replace(self, radius=self.radius + min(max(log(excess), 0.0) + 3.0, _LARGEST_STEP))

    def windows(self, n: int, more: float) -> list[tuple[int, int]]:
        """Return windows of counts, each alone within the radius, and ``more``: of all values but the likeliest two."""
        rare = sorted(self.tilted, reverse=True)[2:]
        return [window(n, min(p / sum(self.tilted), 1.0), self.radius + more) for p in rare]


def plan_tails(tilted: TiltedLaw, n: int, log_allowance: float) -> TailPlan | None:
    """Return the plan that leaves out about e^``log_allowance`` times M^n; None for unsuitable laws."""
    masses = [*map(float, tilted.probabilities), tilted.null_probability]
    order = sorted((i for i, p in enumerate(masses) if p > 0.0), key=lambda i: -masses[i])
    if not 2 <= len(order) <= _MOST_VALUES:
        return None
    values = [*map(float, tilted.g.values), 0.0]
    radius = max(2.0 - log_allowance - log(tilted.theta), 1.0) + log(2.0 * len(order))
    order = _ordered(order, values, [sqrt(8.0 * radius * n * p * (1.0 - min(p, 1.0))) + 1.0 for p in masses])
    first, second = values[order[0]], values[order[1]]
    if abs(first - second) <= 1e-9 * max(abs(first), abs(second)):
        return None
    theta = tilted.theta * 2.0**-tilted.g.exponent
    leaps = len(order) > 2 and abs(min(first, second) - values[order[2]]) > _LONGEST_WALK * abs(first - second)
    return TailPlan(theta, radius, tuple(order), tuple(masses[i] for i in order), leaps) if theta > 0.0 else None


def _ordered(order: list[int], values: list[float], widths: list[float]) -> list[int]:
    """Return the order with those of the likeliest values in front that take the least time."""

    def work(front: tuple[int, ...]) -> float:
        first, second, *third = (values[i] for i in front)
        apart = abs(first - second)
        steps = min(abs(min(first, second) - third[0]) / apart, _LONGEST_WALK) if third and apart else _LONGEST_WALK
        outer = prod(widths[i] for i in order if i not in front)
        return outer * (_PREFIX_WORK + prod(widths[i] for i in front[2:]) * (1.0 + _WALK_WORK * steps))

    best = min(permutations(order[:_CONSIDERED], min(len(order), 3)), key=work)
    return [*best, *(i for i in order if i not in best)]


def lost_bits(g: BallGparv, n: int, plan: TailPlan) -> int:
    """Return about how many bits tails lose to differences of numbers near 1, where E[S_+] is small."""
    theta = arb(plan.theta)
    m = g.null_mass + total([p * (theta * v).exp() for v, p in zip(g.values, g.masses, strict=True)])
    return max(int(-n * float(m.log()) / log(2.0)), 0) if m > 0 else 0


def tail_work(plan: TailPlan, n: int, most: int) -> int:
    """Return about how many steps ``tail_sum`` takes, or ``most + 1`` as soon as there are more than ``most``."""
    work, share = 0, plan.tilted[0] / (plan.tilted[0] + plan.tilted[1])
    third = min(plan.tilted[2] / sum(plan.tilted[:3]), 1.0) if len(plan.tilted) > 2 else 0.0
    summed, listed = 2.0 * plan.radius * share * (1.0 - share), 8.0 * third * (1.0 - third)
    for _, left, budget in _prefixes(plan, n):
        # About the width of the window of counts, which takes a search.
        counts = min(int(sqrt(listed * budget * left)), left)
        work += _PREFIX_WORK + counts + int(sqrt(summed * left)) * (max(counts, 1) if plan.leaps else 1)
        if work > most:
            return most + 1
    return work


def tail_sum(g: BallGparv, n: int, plan: TailPlan) -> tuple[arb, arb]:
    """Return balls (lower, upper) such that lower <= E[S_+] <= upper for S the sum of n copies of G.

    Guarantee
    ---------
    The left end of the first ball and the right end of the second enclose E[S_+] for every plan with theta > 0 and an
    ``order`` that lists every value with positive mass once. Proof: docs/proofs/binomial_tails.md.
    """
    values, masses = [*g.values, arb(0)], [*g.masses, g.null_mass]
    values, masses = [values[i] for i in plan.order], [masses[i] for i in plan.order]
    theta = arb(plan.theta)
    grown = [p * (theta * v).exp() for v, p in zip(values, masses, strict=True)]
    # Values that the order leaves out can only be of no mass to speak of; they count as left out.
    m = g.null_mass
    for v, p in zip(g.values, g.masses, strict=True):
        m += p * (theta * v).exp()
    inner = sum(grown[:3], arb(0))
    lines = _Lines(values[:3], masses[:3], [x / inner for x in grown[:3]])
    result = kept = arb(0)
    for counts, left, budget in _prefixes(plan, n):
        weight, offset, users = arb(1), arb(0), n
        for count, value, mass in zip(reversed(counts), reversed(values), reversed(masses), strict=False):
            weight *= coefficient(users, count) * mass**count
            offset += value * count
            users -= count
        low, high = _innermost(plan, left, budget)
        result += weight * lines.expectation(left, offset, low, high)
        kept += weight * (theta * offset).exp() * inner**left * (1 - lines.beyond(left, low, high))
    scale = m**n
    dropped = (scale - kept).max(arb(0)) / (theta * arb.const_e())
    return result, result + dropped


def _prefixes(plan: TailPlan, n: int) -> Iterator[tuple[tuple[int, ...], int, float]]:
    """Yield (counts of the values from the last in the order to the fourth, users left, entropy left)."""
    remaining = [sum(plan.tilted[: i + 1]) for i in range(len(plan.tilted))]

    def visit(
        i: int, counts: tuple[int, ...], left: int, budget: float
    ) -> Iterator[tuple[tuple[int, ...], int, float]]:
        if i < 3:
            yield counts[::-1], left, budget
            return
        share = min(plan.tilted[i] / remaining[i], 1.0)
        low, high = window(left, share, budget)
        for count in range(low, high + 1):
            rest = budget - _entropy(left, count, share)
            if rest >= 0.0:
                yield from visit(i - 1, (*counts, count), left - count, rest)

    yield from visit(len(plan.tilted) - 1, (), n, plan.radius)


def _innermost(plan: TailPlan, left: int, budget: float) -> tuple[int, int]:
    if len(plan.tilted) < 3:
        return 0, 0
    return window(left, min(plan.tilted[2] / sum(plan.tilted[:3]), 1.0), budget)


def _entropy(n: int, k: int, p: float) -> float:
    """Return n times the relative entropy of k/n to p: P(Bin(n, p) beyond k) is at most e to minus that."""
    if (p >= 1.0 and k < n) or (n * p <= 0.0 and k > 0):
        return inf
    above = k * log(k / (n * p)) if k else 0.0
    below = (n - k) * (log((n - k) / n) - log1p(-p)) if k < n else 0.0
    return max(above + below, 0.0)


def window(n: int, p: float, budget: float) -> tuple[int, int]:
    """Return the counts between which ``_entropy`` is at most the budget."""
    if n == 0:
        return 0, 0
    middle = min(int(n * p), n)

    def last(inside: int, outside: int) -> int:
        if _entropy(n, outside, p) <= budget:
            return outside
        while abs(outside - inside) > 1:
            probe = (inside + outside) // 2
            inside, outside = (probe, outside) if _entropy(n, probe, p) <= budget else (inside, probe)
        return inside

    return last(middle, 0), last(middle, n)


class _Lines:
    """Three values, the third listed and the other two summed: what does not depend on the outer counts."""

    def __init__(self, values: list[arb], masses: list[arb], tilted: list[arb]) -> None:
        upper, lower = (0, 1) if values[0].mid() > values[1].mid() else (1, 0)
        self._low, self._spacing = values[lower], values[upper] - values[lower]
        self._pair = masses[0] + masses[1]
        self._shares = masses[upper] / self._pair, masses[lower] / self._pair
        self._listed = None if len(values) < 3 else (values[2], masses[2], tilted[2])

    def expectation(self, n: int, offset: arb, low: int, high: int) -> arb:
        """Return E[(offset + sum)_+; low <= count of the listed value <= high] times the total mass to the n."""
        value, mass, _ = self._listed or (arb(0), arb(0), arb(0))
        weight = coefficient(n, high) * mass**high * self._pair ** (n - high)
        # The threshold for the number of higher values is start + count * slope.
        start, slope = -(offset + n * self._low) / self._spacing, (self._low - value) / self._spacing
        tail = _BinomialTail(*self._shares, n - high, start + high * slope)
        result, ratio = arb(0), arb(0) if mass.is_zero() else self._pair / mass
        for count in range(high, low - 1, -1):
            if count < high:
                tail.add_user()
            result += weight * tail.excess(start + count * slope)
            weight *= ratio * count / (n - count + 1)
        return result * self._spacing

    def beyond(self, n: int, low: int, high: int) -> arb:
        """Return a bound on the tilted probability that the count of the listed value is not within the window."""
        if self._listed is None:
            return arb(0)
        p = self._listed[2]
        q, result = 1 - p, arb(0)
        for k, odds, last in ((high + 1, p / q, n - high - 1), (low - 1, q / p, low - 1)):
            if 0 <= k <= n:
                ratio = odds * last / (n - last + 1)
                bound = coefficient(n, k) * p**k * q ** (n - k) / (1 - ratio)
                result += bound if ratio < 1 else arb(1)
        return result.min(arb(1))


class _BinomialTail:
    """P(a = k) and P(a >= k) for a of the law Bin(m, p), moved in steps of one in m and k; q is 1 - p."""

    def __init__(self, p: arb, q: arb, m: int, x: arb) -> None:
        self._p, self._q = p, q
        self._against, self._odds = self._q / p, p / self._q
        self._m = m
        self._restart(x)

    def _restart(self, x: arb) -> None:
        m = self._m
        self._k = k = min(max(_floor(x) + 1, 0), m + 1)
        if k > m:
            self._point = self._tail = arb(0)
            return
        self._point = coefficient(m, k) * self._p**k * self._q ** (m - k)
        if k == 0:
            self._tail = arb(1)
        elif k > m * float(self._p):
            self._tail = _geometric_sum(self._point, lambda i: self._odds * (m - k - i) / (k + i + 1), m - k)
        else:
            below = self._point * k * self._against / (m - k + 1)
            self._tail = 1 - _geometric_sum(below, lambda i: self._against * (k - 1 - i) / (m - k + 2 + i), k - 1)

    def add_user(self) -> None:
        """Go from m to m + 1 draws."""
        m, k = self._m, self._k
        if k <= m:
            part = self._point * self._q / (m - k + 1)
            self._tail += part * k
            self._point = part * (m + 1)
        elif k == m + 1:
            self._point = self._tail = self._p**k
        self._m = m + 1

    def excess(self, x: arb) -> arb:
        """Return E[(a - x)_+]; the threshold moves with x."""
        if abs(self._k - min(max(_floor(x) + 1, 0), self._m + 1)) > _LONGEST_WALK:
            self._restart(x)
        while self._k > 0 and x < self._k - 1:
            self._lower()
        while self._k <= self._m and not x < self._k:
            self._raise()
        m, k, p = self._m, self._k, self._p
        result = (m * p - x) * self._tail + self._q * k * self._point
        if k > 0 and not x >= k - 1:
            # The ball does not tell whether k - 1 counts; if it does, then for little.
            point = p**m if k == m + 1 else self._point * k * self._against / (m - k + 1)
            result += point * (k - 1 - x).max(arb(0)).union(arb(0))
        return result

    def _lower(self) -> None:
        m, k = self._m, self._k
        if k <= m:
            self._point = self._point * k * self._against / (m - k + 1)
            self._tail += self._point
        elif k == m + 1:
            self._point = self._tail = self._p**m
        self._k = k - 1

    def _raise(self) -> None:
        m, k = self._m, self._k
        self._tail = self._tail - self._point if k < m else arb(0)
        self._point = self._point * (m - k) * self._odds / (k + 1)
        self._k = k + 1


def _geometric_sum(first: arb, ratio: Callable[[int], arb], last: int) -> arb:
    """Return first * (1 + r(0) + r(0) r(1) + ...), terms 0..last, for ratios that fall; the end is bounded."""
    term = result = first
    for i in range(last):
        r = ratio(i)
        term *= r
        result += term
        # Upper ends: a ball around what is far below its radius never proves that it is small beside another.
        if i % 8 == 7 and r < 1 and term.upper() <= result.upper() * arb(2) ** -(flint.ctx.prec + 4):
            return result + (term * r / (1 - r)).union(arb(0))
    return result


def _floor(x: arb) -> int:
    return int(x.mid().floor().unique_fmpz()) if x.is_finite() else 0


def coefficient(n: int, k: int) -> arb:
    """Return a ball around the binomial coefficient."""
    if min(k, n - k) <= _MOST_MULTIPLIED:
        return arb(comb(n, k))
    with at_precision(flint.ctx.prec + 2 * n.bit_length() + 8):
        return (arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()).exp()
