"""The value of Theorem D itself, enclosed as closely as wanted: an integral by the rules of Gauss and of Radau."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from flint import arb

from symamp.analyses.crowd_counts import MOST, mean_of_counts
from symamp.analyses.crowd_messages import Victim
from symamp.evaluation.divergence import Enclosure, Settings
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.grouped import enclose_groups
from symamp.evaluation.grouped_search import Group
from symamp.evaluation.law import Level, total

_FIRST, _FALL = 0.5, 16.0
"""The width of the first panel, in units of 1/(the expected number m of hidden users + 1), and how far f is followed:
until e^(-_FALL) times its integral, which is about f(1)/m, bounds what is left."""


@dataclass(frozen=True)
class Mean:
    """One side of the bound of Theorem D: a ball of which one end is the bound, and what repeats it.

    ``rule`` is "gauss" (from below) or "radau" (from above), with the ends of the panels, as distances from 1, and the
    sums at all nodes; or "mean over counts", which needs neither.
    """

    value: arb
    rule: str
    ends: tuple[float, ...] = ()
    sums: tuple[Enclosure, ...] = ()


def mean_over_counts(victim: Victim, level: Level, settings: Settings, most: int = MOST) -> tuple[Mean, Mean]:
    """Return balls whose lower end, and upper end, enclose the bound of Theorem D for one victim and pair of inputs.

    Up to ``most`` outcomes of all counts are enumerated; otherwise there are sums at nodes.

    Guarantee
    ---------
    ``lower.value.lower() <= E[Delta_(C+1)] + sigma <= upper.value.upper()``.
    Proof: docs/proofs/users_who_differ.md, section 4.
    """
    law, shares = victim.blanket(level)
    hidden = [(count, g) for count, g in zip(victim.counts, shares, strict=True) if count and g > 0]
    counted = mean_of_counts(victim, level, most) if hidden else victim.alone(level)
    if counted is not None:
        mean = Mean(counted, "mean over counts")
        return mean, mean
    ends = _ends(1.0 + float(total([count * g for count, g in hidden]).mid()))

    def f(u: arb) -> tuple[Enclosure, arb]:
        """Return E[(L_1 + ... + L_(C+1))_+] where each hidden user counts u, one more is seen, and the whole weight."""
        weights = [1 - g + g * u for _, g in hidden]
        thinned = [_thinned(law, g * u / w) for (_, g), w in zip(hidden, weights, strict=True)]
        groups = [Group(count, source) for (count, _), source in zip(hidden, thinned, strict=True)]
        whole = arb(1)
        for (count, _), w in zip(hidden, weights, strict=True):
            whole *= w**count
        return enclose_groups([Group(1, lambda: law), *groups], settings), whole

    def by(rule: str, nodes: Sequence[tuple[arb, arb]]) -> Mean:
        result, sums = law.singular, list[Enclosure]()
        for u, weight in _nodes(ends, nodes, rule == "radau"):
            found, whole = f(u)
            result += weight * whole * (found.lower.lower() if rule == "gauss" else found.upper.upper())
            sums.append(found)
        return Mean(result, rule, ends, tuple(sums))

    return by("gauss", _gauss()), by("radau", _radau())


def _nodes(ends: Sequence[float], nodes: Sequence[tuple[arb, arb]], last: bool) -> Iterator[tuple[arb, arb]]:
    """Yield nodes and weights on all panels; on what is left below them f is at most what it is at its upper end."""
    for near, far in pairwise(map(arb, ends)):
        middle, half = 1 - (near + far) / 2, (far - near) / 2
        yield from ((middle + half * x, half * w) for x, w in nodes)
    if last and ends[-1] < 1.0:
        yield 1 - arb(ends[-1]), 1 - arb(ends[-1])


def _thinned(law: BallGparv, share: arb) -> Callable[[], BallGparv]:
    masses = tuple(share * m for m in law.masses)
    return lambda: BallGparv(law.values, masses, 1 - share * total(law.masses), arb(0))


def _ends(expected: float) -> tuple[float, ...]:
    """Return how far the ends of panels are from 1: wider where f, about e^(-expected (1 - u)), is small."""
    ends, width = [0.0], _FIRST
    while ends[-1] < min(expected, _FALL + log(expected)):
        ends.append(min(ends[-1] + width, expected))
        width = _FIRST * 2.0 ** (ends[-1] / 6.0)
    return tuple(x / expected for x in ends)


def _gauss() -> tuple[tuple[arb, arb], ...]:
    """Return nodes and weights on [-1, 1] of the rule that is right up to degree 5."""
    x = (arb(3) / 5).sqrt()
    return (-x, arb(5) / 9), (arb(0), arb(8) / 9), (x, arb(5) / 9)


def _radau() -> tuple[tuple[arb, arb], ...]:
    """Return those of the rule with a node at 1 that is right up to degree 4."""
    root = arb(6).sqrt()
    return (arb(1), arb(2) / 9), ((root - 1) / 5, (16 + root) / 18), (-(root + 1) / 5, (16 - root) / 18)
