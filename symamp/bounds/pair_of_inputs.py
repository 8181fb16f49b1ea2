"""What the analyses beyond the blanket are given: for a pair of inputs, the laws under every other input."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from heapq import nlargest
from math import inf, isfinite
from typing import ClassVar

import sympy as sp

from symamp.bounds.bound import ROUGH, PairBoundDefaults
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction, dataset_reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.envelope import envelope_classes
from symamp.laws.law import Law, Level, quick_gparv
from symamp.numbers.optional import brentq
from symamp.numbers.work import spend
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.inversion import LARGEST_EPS, approximate_log_law, largest_epsilon

_STEPS = 8
_ATOM = 10.0  # units of work
_MOST_INPUTS, _MOST_ENTRIES = 6, 256
_FAR, _CLOSE = 1e6, 1e-3
_PLACE = replace(ROUGH, gap=0.05)
"""Accuracy of the place from which the search starts."""
_COARSE = 0.05
"""Up to this part of the tolerance in the logarithm of delta, relatively, eps is looked for where a function jumps."""
_COMPARED = 6
"""How many of the data sets of a pair are compared by more than their saddle points."""


def pairs_of_inputs(subject: Subject) -> Iterator[tuple[Reduction, ...]]:
    """Yield, for each class of ordered pairs, the triples (R(x0), R(x1), R(x)) over all classes of other inputs x."""
    mechanism = subject.mechanism
    assert mechanism is not None
    one = sp.Integer(1)
    for found in envelope_classes(mechanism):
        yield tuple(dataset_reduction(mechanism, found.pair, ((x, one),)) for x in found.others)


def listed(subject: Subject) -> Subject:
    """Return the subject with all inputs listed, where these are few and it does not show them itself."""
    return subject if subject.mechanism is None else subject.mechanism.listed


def is_large_table(subject: Subject) -> bool:
    """Return whether the subject is a table so large that one evaluation for each pair of inputs takes long."""
    mechanism = subject.mechanism
    table = None if mechanism is None else mechanism.numeric
    if table is None:
        return False
    return len(table.inputs) > _MOST_INPUTS or len(table.inputs) * len(table.messages) > _MOST_ENTRIES


@dataclass(frozen=True)
class PairOfInputs(PairBoundDefaults):
    """A part of a bound that knows a pair of inputs by its laws under every other input, and nothing else.

    ``triples`` lists one data set (x0, x, ..., x) for each class of inputs x that another user may hold.
    ``estimate_error`` is the relative distance of its estimates from its certified values.
    """

    triples: tuple[Reduction, ...]

    method: ClassVar[str]
    proof_status: ClassVar[ProofStatus] = ProofStatus.PROVED
    source: ClassVar[str]

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs (x0, x1) that is compared."""
        return self.triples[0].pair

    @property
    def signature(self) -> Hashable:
        """The set of laws, and which analysis it is."""
        return self.method, frozenset(t.signature for t in self.triples)

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The laws that cross to the evaluation, each complete."""
        found = tuple(t.law for t in self.triples)
        spend(_ATOM * sum(len(law.atoms) for law in found))
        return found

    def __getstate__(self) -> dict[str, object]:
        """Return what travels: laws are functions, and are made again where they are needed, as are searches."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.compare}

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the bound is delta: 0 if it is smaller at 0, inf if never."""
        triples = self.triples
        if start is not None and 0.0 < start < inf:
            triples = (self.worst_triple(Level.of_float(start), n),)
        lowest, worst = max(((t.root(n, log_delta, _PLACE, start), t) for t in triples), key=lambda found: found[0])
        if lowest in (0.0, inf):  # no data set says where to look
            return start if start is not None and lowest == 0.0 else lowest

        def miss(eps: float) -> float:
            return max(self.rough_estimate(Level.of_float(eps), n), -_FAR) - log_delta

        first = lowest * (1.0 + _CLOSE)
        below, above = (worst.log_estimate(Level.of_float(x), n, ROUGH) for x in (lowest, first))
        slope = max((below - above) / (first - lowest), 1e-3)
        top = max(largest_epsilon(law) for law in self.laws)

        def known(eps: float) -> float:
            return self.known_root(n, log_delta, settings, eps)

        return falling_root(miss, first, slope, top, max(0.02 * settings.gap, self.estimate_error), known)

    def known_root(self, n: int, log_delta: float, settings: Settings, start: float | None) -> float:
        """Return an eps from which on this bound is of no use, because another one is delta there; inf if none is."""
        return inf

    def worst_triple(self, level: Level, n: int) -> Reduction:
        """Return the triple with the largest estimated divergence."""
        triples: Iterable[Reduction] = self.triples
        if len(self.triples) > _COMPARED:  # saddle points say which are worth a better estimate
            scores = [approximate_log_law(quick_gparv(law, level), n) for law in self.laws]
            triples = (self.triples[i] for i in nlargest(_COMPARED, range(len(scores)), key=scores.__getitem__))
        return max(triples, key=lambda t: t.log_estimate(level, n, ROUGH))

    @property
    def fixed_background(self) -> tuple[Reduction, ...]:
        """The triples."""
        return self.triples

    def rough_estimate(self, level: Level, n: int) -> float:
        """Return an estimate that the search for a root may ask for often."""
        return self.log_estimate(level, n)

    def slope_proxy(self, level: Level, n: int) -> Reduction | None:
        """Return a data set of the same pair."""
        return self.worst_triple(level, n)

    def log_estimate(self, level: Level, n: int, settings: Settings | None = None) -> float:
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
        raise NotImplementedError

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the bound."""
        raise NotImplementedError


def falling_root(
    miss: Callable[[float], float],
    start: float,
    slope: float,
    top: float,
    tolerance: float,
    known: Callable[[float], float] = lambda _: inf,
    furthest: float = LARGEST_EPS,
) -> float:
    """Return where a decreasing function is about 0, in few evaluations: secant steps, the first with a given slope.

    inf if it is still positive at ``top`` or beyond the ``furthest`` place that matters. Where steps fail, ``known`` is
    asked for a place beyond which no root is wanted; it is returned where the function is positive there. Floats: what
    is found is certified afterwards.
    """
    miss = cache(miss)  # estimates become rougher where work is spent, and ends must keep their signs
    x, value = start, miss(start)
    for _ in range(_STEPS):
        if abs(value) <= tolerance:
            return x
        following = x + value / slope
        if not 0.0 < following < top or following == x:
            break
        there = miss(following)
        if there == inf:  # no more is asked of this bound
            return following
        steeper = (value - there) / (following - x)
        slope = steeper if isfinite(steeper) and steeper > 0.0 else slope
        x, value = following, there
    low = high = x
    while miss(low) < 0.0:
        if low < 1e-300:
            return 0.0
        low *= 0.8
    if value > 0.0:
        end = known(x)
        if end <= x or (end < top and miss(end) > 0.0):
            return end
        top = min(top, end)
    while miss(high) > 0.0:
        if high >= top or high > furthest:
            return high if isfinite(top) else inf
        high = min(1.25 * high, top)
    if low == high:
        return low

    def coarse(eps: float) -> float:
        found = miss(eps)
        return 0.0 if abs(found) <= tolerance else found

    return brentq(coarse, low, high, rtol=max(1e-13, _COARSE * tolerance))
