"""A bound for many compositions at once: the count's divergence as a smooth function of composition and threshold.

Removing users costs a factor e^(1/n) each, too much where all compositions are nearly alike, as they are for many
users. Here their number stays: what changes along the box is bounded by a derivative (docs/proofs/two_messages.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import acb, arb

from symamp.evaluation.counts_plan import CountPlan
from symamp.evaluation.two_binomials import Group, Victim, Wrapped, unseen

_PIECES = 16
"""Into so many pieces the thresholds within 1 of the tilted mean are cut."""


@dataclass(frozen=True)
class Range:
    """The data sets with ``first`` to ``last`` of ``users`` others at one probability, all others at another."""

    first: int
    last: int
    users: int

    @property
    def ends(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The compositions at both ends."""
        return (self.first, self.users - self.first), (self.last, self.users - self.last)


def spread_bound(victim: Victim, ones: tuple[arb, arb], box: Range, plan: CountPlan) -> arb:
    """Return a ball whose upper end bounds the divergence of every data set of the range.

    ``ones`` are the two probabilities of the message 1. ``plan`` is that of one of the data sets; its threshold is not
    used.

    Guarantee
    ---------
    The upper end is at least D for every composition of the range, for every plan with 0 <= nearer < theta < further,
    odd period and 0 <= last <= period/2. Proof: docs/proofs/two_messages.md.
    """
    theta, period, length = arb(plan.theta), plan.period, box.last - box.first
    gain, minus_one = victim.gain, victim.minus_one
    own = [p / (p + (1 - p) * gain / (gain + minus_one)) for p in ones]  # tilted to where the steps change sign
    middle, slope = box.first * own[0] + (box.users - box.first) * own[1], own[0] - own[1]
    inverse = (-theta).exp()
    shares = [p / (p + (1 - p) * inverse) for p in ones]
    cumulants = [(1 + p * theta.expm1()).log() for p in ones]
    drift = cumulants[0] - cumulants[1] - slope * theta
    sums = _Sums(length)
    for j in range(plan.last + 1):
        u = 2 * arb.pi() * j / period
        sine, cosine = u.sin_cos()
        s, shrink = acb(theta, u), acb(cosine, -sine) * inverse
        logs = [(1 + w * acb(cosine - 1, sine)).log() for w in shares]
        term = (box.first * logs[0] + (box.users - box.first) * logs[1] - acb(0, middle * u)).exp()
        term *= (gain - minus_one * shrink / (1 - shrink)) * (1 if j else arb(1) / 2)
        sums.add(term, s, logs[0] - logs[1] + drift - acb(0, slope * u))
    scale = (box.first * cumulants[0] + (box.users - box.first) * cumulants[1] - middle * theta).exp()
    # From here on bounds that hold for all compositions and thresholds: logarithms are linear in the composition.
    most = scale * (1 + (length * drift).exp()) * theta.exp()
    rest, wrapped = arb(0), arb(0)
    for counts in box.ends:
        groups = [Group(p, c) for p, c in zip(ones, counts, strict=True)]
        rest = rest.max(unseen(groups, shares, plan))
        mean = sum((c * p for c, p in zip(counts, own, strict=True)), arb(0))
        around = [Wrapped.of(groups, plan, tilt).bound(mean - 1) for tilt in (plan.nearer, plan.further)]
        wrapped = wrapped.max(2 * around[0].max(around[1]))
    result = 2 * scale / period * sums.bound() + 2 * most / period * rest * (gain + minus_one * inverse / (1 - inverse))
    return result + wrapped * (gain + minus_one)


class _Sums:
    """Values of the sum at thresholds within 1 of the mean, and its derivatives in threshold and composition."""

    def __init__(self, length: int) -> None:
        self._along, self._length, self._half = arb(length) / 2, length, arb(1) / _PIECES
        self._middles = [arb(2 * i + 1) / _PIECES - 1 for i in range(_PIECES)]
        self._here = [arb(0)] * _PIECES
        self._there = [arb(0)] * _PIECES
        self._steepness = [arb(0)] * _PIECES
        self._turn = [arb(0)] * _PIECES

    def add(self, term: acb, s: acb, drift: acb) -> None:
        """Add a frequency: term e^(x drift - y s), x from 0 to the length, y from -1 to 1."""
        all_x = (drift * (self._along + self._along * arb(0, 1))).exp()
        last, nearby = (drift * self._length).exp(), (s * (self._half * arb(0, 1))).exp()
        for i, y in enumerate(self._middles):
            here = term * (-s * y).exp()
            there, everywhere = here * last, here * nearby
            self._here[i] += here.real
            self._there[i] += there.real
            self._steepness[i] += (everywhere * all_x * drift).real
            self._turn[i] += (everywhere * (s if self._length == 0 else s * all_x)).real

    def bound(self) -> arb:
        """Return a bound on the largest sum: from either end, plus what the derivatives may add."""
        result = arb(0)
        for here, there, slope, turn in zip(self._here, self._there, self._steepness, self._turn, strict=True):
            from_left = here.upper() + self._length * slope.upper().max(arb(0))
            from_right = there.upper() + self._length * (-slope).upper().max(arb(0))
            result = result.max(from_left.min(from_right) + self._half * abs(turn).upper())
        return result
