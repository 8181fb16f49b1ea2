"""The value of Theorem D itself, enclosed as closely as wanted: an integral by the rules of Gauss and of Radau."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flint import arb

from symamp.analyses.crowd_counts import MOST, mean_of_counts
from symamp.analyses.crowd_messages import Victim
from symamp.evaluation.divergence import Settings
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.grouped import enclose_groups
from symamp.evaluation.grouped_search import Group
from symamp.evaluation.law import Level, total

_FIRST, _FAR = 0.5, 60.0
"""The width of the first panel, and where the last begins, in units of 1/(the expected number of hidden users + 1)."""


def mean_over_counts(victim: Victim, level: Level, settings: Settings) -> tuple[arb, arb]:
    """Return balls whose lower end, and upper end, enclose the bound of Theorem D for one victim and pair of inputs.

    Guarantee
    ---------
    ``lower.lower() <= E[Delta_(C+1)] + sigma <= upper.upper()``. Proof: docs/proofs/users_who_differ.md, section 4.
    """
    law, shares = victim.blanket(level)
    hidden = [(count, g) for count, g in zip(victim.counts, shares, strict=True) if count and g > 0]
    if not hidden:
        alone = victim.alone(level)
        return alone, alone
    counted = mean_of_counts(victim, level, MOST)
    if counted is not None:
        return counted, counted
    expected = 1.0 + float(total([count * g for count, g in hidden]).mid())

    def f(u: arb, above: bool) -> arb:
        """Return a bound on E[u^C (L_1 + ... + L_(C+1))_+]: each hidden user counts u, one more is always seen."""
        weights = [1 - g + g * u for _, g in hidden]
        groups = [Group(1, lambda: law)]
        groups += [
            Group(count, _thinned(law, g * u / w)) for (count, g), w in zip(hidden, weights, strict=True) if u > 0
        ]
        found = enclose_groups(groups, settings)
        value = found.upper.upper() if above else found.lower.lower()
        for (count, _), w in zip(hidden, weights, strict=True):
            value *= w**count
        return value

    lower = upper = law.singular
    for left, right in _panels(expected):
        middle, half = (left + right) / 2, (right - left) / 2
        lower += half * total([w * f(middle + half * x, False) for x, w in _gauss()])
        upper += half * total([w * f(middle + half * x, True) for x, w in _radau()])
    last = left
    return lower, upper + last * f(last, True)  # f increases: what is left is at most this


def _thinned(law: BallGparv, share: arb) -> Callable[[], BallGparv]:
    masses = tuple(share * m for m in law.masses)
    return lambda: BallGparv(law.values, masses, 1 - share * total(law.masses), arb(0))


def _panels(expected: float) -> Iterator[tuple[arb, arb]]:
    """Yield panels from 1 down, wider where f, about e^(-expected (1 - u)), is small."""
    x, width = 0.0, _FIRST
    while x < min(expected, _FAR):
        following = min(x + width, expected)
        yield 1 - arb(following) / expected, 1 - arb(x) / expected
        x, width = following, _FIRST * 2.0 ** (following / 6.0)


def _gauss() -> tuple[tuple[arb, arb], ...]:
    """Return nodes and weights on [-1, 1] of the rule that is right up to degree 5."""
    x = (arb(3) / 5).sqrt()
    return (-x, arb(5) / 9), (arb(0), arb(8) / 9), (x, arb(5) / 9)


def _radau() -> tuple[tuple[arb, arb], ...]:
    """Return those of the rule with a node at 1 that is right up to degree 4."""
    root = arb(6).sqrt()
    return (arb(1), arb(2) / 9), ((root - 1) / 5, (16 + root) / 18), (-(root + 1) / 5, (16 - root) / 18)
