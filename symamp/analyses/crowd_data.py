"""Data shuffled: the laws of the positions, from above (Theorem C) and from below (one data set)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import sympy as sp
from flint import arb

from symamp.analyses.crowd import Crowd
from symamp.analyses.part import DataSets
from symamp.derivation.crossing import law_of, number
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.pairs import only_pair
from symamp.errors import SymampError
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
    G of every eps0-LDP randomizer is at most the result in the increasing convex order. Proof:
    docs/proofs/users_who_differ.md, section 3.
    """
    t, e = ratio(), level.exponential()
    low, mass = 1 - t * e, 1 / (t + 1)
    if t >= e:
        high, share = t - e, mass
    elif t < e:
        high, share = t * (t - e), mass / t
    else:  # the balls do not tell: a value that is not positive is raised to 0
        high, share = (t - e).upper().max(arb(0)), mass
    return BallGparv((high, low), (share, mass), 1 - share - mass, arb(0))


@dataclass(frozen=True)
class Positions:
    """What is known of the positions, group by group: a decomposition, or, as an expression, the ratio of a budget."""

    counts: tuple[int, ...]
    known: tuple[Decomposition | sp.Expr, ...]
    complete: bool = False

    @cached_property
    def _laws(self) -> list[Callable[[Level], Callable[[], BallGparv]]]:
        return [
            _of_law(law_of(x, self.complete)) if isinstance(x, Decomposition) else _of_budget(number(x))
            for x in self.known
        ]

    def __call__(self, level: Level) -> list[Group]:
        """Return the laws of all positions at a level."""
        return [Group(c, law(level)) for c, law in zip(self.counts, self._laws, strict=True)]


def positions_above(crowd: Crowd) -> Positions:
    """Return the laws whose sum bounds n times the divergence: blankets where all are known, else those of budgets.

    Guarantee
    ---------
    E[S_+]/n is at least the divergence of the published outputs for every two neighbouring data sets.
    Proof: docs/proofs/users_who_differ.md, section 3.
    """
    ratios = tuple(subject.local_ratio() for _, subject in crowd.groups)
    return Positions(tuple(count for count, _ in crowd.groups), _blankets(crowd) or ratios)


def positions_below(crowd: Crowd) -> Iterator[tuple[DataSets, Positions]]:
    """Yield (data sets, laws) whose sums are n times the divergence of one pair of data sets, exactly."""
    counts = tuple(count for count, _ in crowd.groups)
    for name, mechanisms in _members(crowd):
        pair = mechanisms[0].pairs()[0]
        others = [(*m.further_inputs(pair), *pair) for m in mechanisms]
        for x in others[0]:
            if all(x in found for found in others):
                laws = tuple(m.dataset(*pair, x) for m in mechanisms)
                if not any(law.singular for law in laws):
                    yield DataSets(*pair, ((x, "1"),), name), Positions(counts, laws, complete=True)


def _members(crowd: Crowd) -> Iterator[tuple[str, tuple[Mechanism, ...]]]:
    known = crowd.mechanisms
    if known is None:
        for k in _MEMBERS:
            budgets = (sp.log(subject.local_ratio()) for _, subject in crowd.groups)
            yield f"{k}-ary response", tuple(RandomizedResponse(k=k, eps0=b) for b in budgets)
    elif len({type(m) for m in known}) == 1 and len({m.pairs() for m in known}) == 1:
        yield "", known


def _blankets(crowd: Crowd) -> tuple[Decomposition, ...] | None:
    """Return the blankets where every mechanism has the same for all pairs of inputs."""
    known = crowd.mechanisms
    if known is None:
        return None
    try:
        found = tuple(m.blanket(*only_pair(m)) for m in known)
    except SymampError:
        return None
    return None if any(d.singular for d in found) else found


def _of_law(law: Law) -> Callable[[Level], Callable[[], BallGparv]]:
    return lambda level: lambda: ball_gparv(law, level)


def _of_budget(ratio: Callable[[], arb]) -> Callable[[Level], Callable[[], BallGparv]]:
    return lambda level: lambda: budget_gparv(ratio, level)
