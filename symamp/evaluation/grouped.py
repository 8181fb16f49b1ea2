"""E[S_+] for a sum over groups of users whose laws differ: one power of a characteristic function per group.

The kernel sandwich never uses that the summands share one law (docs/proofs/users_who_differ.md, section 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import comb, inf
from operator import mul

from flint import acb, arb

from symamp.errors import PrecisionError
from symamp.evaluation.blocks import Ranges
from symamp.evaluation.certified import tilted_sum
from symamp.evaluation.divergence import Enclosure, Settings, positive_part, settled, starting_precision
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.grouped_search import Group, GroupSearch
from symamp.evaluation.law import total
from symamp.evaluation.plan import Plan
from symamp.evaluation.tilted_balls import Tilted, TiltedBalls
from symamp.numbers.surroundings import at_precision

_ENUMERATE = 2_000
_LARGEST_PRECISION = 4096


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
    with at_precision(bits):
        balls = [g.source() for g in present]
        if not any(v > 0 for b in balls for v in b.values) or _largest(present, balls) <= 0:
            most = total([g.count * positive_part(b) for g, b in zip(present, balls, strict=True)])
            return Enclosure(arb(0), most.min(_largest(present, balls).max(arb(0))), "no positive value", bits)
        if _outcomes(present, balls) <= _ENUMERATE:
            value = _enumerated(present, balls)
            return Enclosure(value, value, "enumeration", bits)
    plan = GroupSearch(present).sum(settings).plan
    found = settled(lambda bits: _sum(present, plan, bits), bits, settings.gap, _LARGEST_PRECISION)
    if found is None:
        raise PrecisionError("precision", "rounding that dominates", f"what {_LARGEST_PRECISION} bits can tell")
    return found


def estimate_log_groups(groups: Sequence[Group], settings: Settings | None = None) -> float | None:
    """Return an estimate of log E[S_+] in floats where they suffice; -inf for zero. Not a bound.

    None where the sums of a kernel that may be had leave the value open: what they say then is no estimate.
    """
    settings = settings or Settings()
    present = [g for g in groups if g.count > 0]
    with at_precision(128):
        balls = [g.source() for g in present]
        if not _largest(present, balls) > 0:
            return -inf
        if _outcomes(present, balls) <= _ENUMERATE:
            return _log(_enumerated(present, balls))
    try:
        found = GroupSearch(present).sum(settings)
    except PrecisionError:  # out of the range of doubles
        return -inf
    return found.log_value if found.lower > 0.0 else None


def approximate_log_groups(groups: Sequence[Group]) -> float:
    """Return the saddle-point approximation of log E[S_+], cheap and good to a few per cent; -inf for zero."""
    search = GroupSearch([g for g in groups if g.count > 0])
    value = search.rough() if search.can_be_positive else -inf
    return value if value == value else -inf


def _log(x: arb) -> float:
    return float(x.mid().log()) if x.mid() > 0 else -inf


def _largest(groups: Sequence[Group], balls: Sequence[BallGparv]) -> arb:
    """Return the largest value of S."""
    result = arb(0)
    for group, ball in zip(groups, balls, strict=True):
        values = [*ball.values, *([] if ball.null_mass.is_zero() else [arb(0)])]
        result += group.count * reduce(arb.max, values)
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


@dataclass(frozen=True)
class TiltedGroups(Tilted):
    """The sum over all users of all groups under one tilt."""

    theta: arb
    null_n: arb
    groups: tuple[TiltedBalls, ...]

    @staticmethod
    def of(laws: Sequence[tuple[BallGparv, int]], tilt: float) -> TiltedGroups:
        """Tilt laws, each of so many users, by the double ``tilt``, an exact number."""
        groups = tuple(TiltedBalls.of(g, count, tilt) for g, count in laws)
        return TiltedGroups(arb(tilt), _product(t.null_n for t in groups), groups)

    @property
    def scale(self) -> arb:
        """M(theta), the product over all users."""
        return _product(t.scale for t in self.groups)

    def powers(self, step: arb, first: int, last: int) -> Iterator[acb]:
        """Yield the characteristic function of the sum, less ``null_n``, at the frequencies j step."""
        for row in zip(*(t.powers(step, first, last) for t in self.groups), strict=True):
            result = acb(1)
            for t, factor in zip(self.groups, row, strict=True):
                result *= factor + t.null_n
            yield result - self.null_n

    def growth(self, tilt: arb) -> arb:
        """Return M(tilt)/M(theta)."""
        return _product(t.growth(tilt) for t in self.groups)

    def decays(self, step: arb, blocks: Ranges) -> list[arb]:
        """Return the products of what the groups give for each block."""
        return [_product(bounds) for bounds in zip(*(t.decays(step, blocks) for t in self.groups), strict=True)]


def _sum(groups: Sequence[Group], plan: Plan, bits: int) -> Enclosure:
    """Return the two-sided sum in balls at the ambient precision."""
    whole = TiltedGroups.of([(g.source(), g.count) for g in groups], plan.window.theta)
    tilted, (lower, upper) = whole.groups, tilted_sum(whole, plan)
    mean = total([t.n * total([v * p for v, p in zip(t.g.values, t.g.masses, strict=True)]) for t in tilted])
    alone = total([t.n * positive_part(t.g) for t in tilted])
    lower = lower.max(mean) if lower.is_finite() else mean.max(arb(0))
    upper = upper.min(alone) if upper.is_finite() else alone
    return Enclosure(lower, upper, "compact kernel, groups", bits, plan)


def _product(factors: Iterable[arb]) -> arb:
    return reduce(mul, factors, arb(1))
