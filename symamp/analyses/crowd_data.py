"""Data shuffled: the laws of the positions, from above (Theorem C) and from below (one data set)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import sympy as sp
from flint import arb

from symamp.analyses.crowd import Crowd
from symamp.derivation.crossing import law_of, number
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.pairs import only_pair
from symamp.errors import SymampError, UnknownInputError
from symamp.evaluation.gparv import BallGparv, ball_gparv
from symamp.evaluation.grouped_search import Group
from symamp.evaluation.law import Law, Level
from symamp.mechanisms.families.randomized_response import RandomizedResponse
from symamp.mechanisms.mechanism import Mechanism

_MEMBERS = (3, 2)


def budget_gparv(ratio: Callable[[], arb], level: Level) -> BallGparv:
    """Return the law G* that dominates the blanket of every randomizer with this ratio t, at any E >= 1.

    Guarantee
    ---------
    G of every eps0-LDP randomizer is at most the result in the convex order. Proof: docs/proofs/users_who_differ.md,
    section 3.
    """
    t, e = ratio(), level.exponential()
    low, mass = 1 - t * e, 1 / (t + 1)
    if t >= e:
        high, share = t - e, mass
    elif t < e:
        high, share = t * (t - e), mass / t
    else:  # the balls do not tell: both laws are within
        high, share = (t - e).union(t * (t - e)), mass.union(mass / t)
    return BallGparv((high, low), (share, mass), 1 - share - mass, arb(0))


Positions: TypeAlias = Callable[[Level], list[Group]]
"""The laws of all positions at a level."""


def positions_above(crowd: Crowd) -> Positions:
    """Return the laws whose sum bounds n times the divergence: blankets where all are known, else those of budgets.

    Guarantee
    ---------
    E[S_+]/n is at least the divergence of the published outputs for every two neighbouring data sets.
    Proof: docs/proofs/users_who_differ.md, section 3.
    """
    blankets = _blankets(crowd)
    counts = [count for count, _ in crowd.groups]
    if blankets is not None:
        return _of_laws(counts, blankets)
    ratios = [number(subject.local_ratio()) for _, subject in crowd.groups]
    return lambda level: [Group(c, _by_budget(t, level)) for c, t in zip(counts, ratios, strict=True)]


def positions_below(crowd: Crowd) -> Iterator[tuple[str, Positions]]:
    """Yield (data sets, laws) whose sums are n times the divergence of one pair of data sets, exactly."""
    counts = [count for count, _ in crowd.groups]
    for name, mechanisms in _members(crowd):
        pair = mechanisms[0].pairs()[0]
        others = [(*m.further_inputs(pair), *pair) for m in mechanisms]
        for x in others[0]:
            if all(x in found for found in others):
                laws = [law_of(m.dataset(*pair, x), True) for m in mechanisms]
                if not any(law.singular for law in laws):
                    text = f"({pair[0]}, {x}, ...) against ({pair[1]}, {x}, ...){name}"
                    yield text, _of_laws(counts, laws)


def _members(crowd: Crowd) -> Iterator[tuple[str, tuple[Mechanism, ...]]]:
    known = crowd.mechanisms
    if known is None:
        for k in _MEMBERS:
            budgets = (sp.log(subject.local_ratio()) for _, subject in crowd.groups)
            yield f" for {k}-ary response", tuple(RandomizedResponse(k=k, eps0=b) for b in budgets)
    elif len({type(m) for m in known}) == 1 and len({m.pairs() for m in known}) == 1:
        yield "", known


def _blankets(crowd: Crowd) -> list[Law] | None:
    """Return the laws of the blankets where every mechanism has the same law for all pairs of inputs."""
    known = crowd.mechanisms
    if known is None:
        return None
    try:
        found: list[Decomposition] = [m.blanket(*only_pair(m)) for m in known]
    except (UnknownInputError, SymampError):
        return None
    return None if any(d.singular for d in found) else [law_of(d) for d in found]


def _of_laws(counts: list[int], laws: list[Law]) -> Positions:
    return lambda level: [Group(c, _of(law, level)) for c, law in zip(counts, laws, strict=True)]


def _of(law: Law, level: Level) -> Callable[[], BallGparv]:
    return lambda: ball_gparv(law, level)


def _by_budget(ratio: Callable[[], arb], level: Level) -> Callable[[], BallGparv]:
    return lambda: budget_gparv(ratio, level)
