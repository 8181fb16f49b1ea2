"""A part of a bound, and one certified evaluation of it as plain data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import ClassVar, Protocol

import sympy as sp
from flint import arb, fmpq

from symamp.analyses.standing import Standing
from symamp.evaluation.all_data_sets import AllDataSetsEnclosure
from symamp.evaluation.all_data_sets_plan import AllDataSetsEvidence
from symamp.evaluation.binomial_tails import TailPlan
from symamp.evaluation.counts_plan import CountsEvidence
from symamp.evaluation.divergence import Enclosure, Settings
from symamp.evaluation.law import Level
from symamp.evaluation.plan import Plan
from symamp.evaluation.two_messages import CountsEnclosure
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.rounding import float_above
from symamp.numbers.surroundings import at_precision

_GUARD = 64


@dataclass(frozen=True)
class DataSets:
    """Two neighbouring data sets: the first user holds x0 or x1, all others an input drawn with the given weights.

    ``member`` is the mechanism, where the question was about many (``PureLDP``). Where ``counted``, weights are numbers
    of users and nothing is drawn.
    """

    x0: str
    x1: str
    others: tuple[tuple[str, str], ...]
    member: str = ""
    counted: bool = False

    def __str__(self) -> str:
        if self.counted and len(self.others) > 1:
            held = " and ".join(f"{w} user{'s' * (w != '1')} at {x}" for x, w in self.others)
            return f"({self.x0}, {held}) against ({self.x1}, {held})"
        rest = (
            self.others[0][0] if len(self.others) == 1 else "{" + ", ".join(f"{x}: {w}" for x, w in self.others) + "}"
        )
        member = f" for {self.member}" if self.member else ""
        return f"({self.x0}, {rest}, ...) against ({self.x1}, {rest}, ...){member}"


class PartDefaults(Protocol):
    """What a part is unless its class says otherwise: no triple, known by no data sets, in no relation to others."""

    is_triple: ClassVar[bool] = False
    """Whether the part is the divergence of a triple."""
    is_attained: ClassVar[bool] = False
    """Whether the bound is the largest divergence of all data sets itself: no other bound is less."""
    rounded: ClassVar[sp.Rational] = sp.Integer(0)
    """Total variation, at most, between the laws of one message in ``constant`` and those they stand for."""

    @property
    def accuracy(self) -> float:
        """The relative distance of estimates from certified values; 0 where the gap of the question decides."""
        return 0.0

    @property
    def finest(self) -> float:
        """The relative gap that enclosures are not aimed below, whatever the gap of the question."""
        return 0.0

    @property
    def constant(self) -> tuple[Part, ...]:
        """The data sets (x0, x, ..., x), one for each class of inputs x, where the part is known by them; else none."""
        return ()

    @property
    def cheaper(self) -> Part | None:
        """A part for the same inputs whose divergence is at least this one's and is evaluated sooner, None if none."""
        return None

    def settles(self, other: Part, level: Level) -> bool:
        """Return whether the divergence of ``other`` is proved not to be larger at this level, for every n."""
        return False

    def limit(self, n: int) -> arb:
        """Return a ball around the limit of the divergence as eps grows, or 0 where none is known."""
        return arb(0)

    @property
    def plateau(self) -> float:
        """An eps from which on the divergence is positive and does not fall any more; inf where none is known."""
        return inf

    def attained(self, level: Level, n: int) -> DataSetPart | None:
        """Return the data sets by which the bound itself is nearly attained, None if none are known."""
        return None

    def alike(self, level: Level, n: int) -> Part | None:
        """Return a part that falls alike as eps grows and is cheaper to estimate, None if there is none."""
        return None


class Part(PartDefaults, Protocol):
    """What an analysis says of one class of ordered pairs of inputs: a divergence for every level and number of users.

    Parts are plain data. Two with equal ``signature`` have equal divergences. ``pair`` represents the class.
    """

    @property
    def method(self) -> str:
        """The name of the analysis."""

    @property
    def standing(self) -> Standing:
        """What is known of the analysis."""

    @property
    def source(self) -> str:
        """Where its theorem is stated."""

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs (x0, x1) that is compared."""

    @property
    def signature(self) -> Hashable:
        """What parts with the same divergence share."""

    def log_estimate(self, level: Level, n: int, settings: Settings | None = None) -> float:
        """Return an estimate of the logarithm of the divergence, in floats; -inf for zero. Not a bound."""

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the divergence is delta: 0 if it is smaller at 0, inf if never."""

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the divergence."""


class DataSetPart(Part, Protocol):
    """A part of a lower bound: two neighbouring data sets."""

    @property
    def data_sets(self) -> DataSets:
        """The data sets."""

    @property
    def dataset(self) -> tuple[tuple[str, sp.Rational], ...]:
        """The inputs that the other users draw, with their weights; empty where it is not drawn what they hold."""

    @property
    def member(self) -> str:
        """Which mechanism it is of where the question was about many, else empty."""


@dataclass(frozen=True)
class Evidence:
    """A part of a bound, the exact level eps as an expression, and ends that enclose its divergence there.

    ``exact`` is the divergence itself as (numerator, denominator) where it is known as a fraction. ``plan`` holds the
    parameters that the evaluator searched, ``details`` what another evaluator needs to repeat the evaluation.
    ``merging`` is how far the merging of many values or inputs raised a stop-loss transform at most, a double rounded
    up: a divergence by a law above all others is raised by no more than that.
    """

    part: Part
    eps: str
    lower: Dyadic
    upper: Dyadic
    evaluator: str
    precision: int
    plan: Plan | TailPlan | None = field(default=None, repr=False)
    exact: tuple[int, int] | None = field(default=None, repr=False)
    details: AllDataSetsEvidence | CountsEvidence | None = field(default=None, repr=False)
    merging: float = field(default=0.0, repr=False)

    @staticmethod
    def of(part: Part, eps: Level | str, found: Enclosure) -> Evidence:
        """Return the enclosure of a part at a level as evidence."""
        exact = None if found.exact is None else (int(found.exact.p), int(found.exact.q))
        with at_precision(found.precision + _GUARD):  # at a lower one the ends themselves would be rounded
            ends = Dyadic.of(found.lower.lower()), Dyadic.of(found.upper.upper())
        text = eps if isinstance(eps, str) else eps.text
        details = found.evidence if isinstance(found, AllDataSetsEnclosure | CountsEnclosure) else None
        merging = float_above(found.merging)
        return Evidence(part, text, *ends, found.evaluator, found.precision, found.plan, exact, details, merging)

    @property
    def fraction(self) -> fmpq | None:
        """The divergence itself where it is known as a fraction."""
        return None if self.exact is None else fmpq(*self.exact)

    def is_at_most(self, delta: fmpq | Dyadic) -> bool:
        """Whether the divergence is proved to be at most delta; ties with a fraction are decided if it is known."""
        if isinstance(delta, Dyadic):
            return not delta < self.upper
        exact = self.fraction
        return bool(exact <= delta) if exact is not None else self.upper.at_most(delta)

    def is_above(self, delta: fmpq) -> bool:
        """Whether the divergence is proved to be above delta."""
        exact = self.fraction
        return bool(exact > delta) if exact is not None else self.lower.exceeds(delta)

    @property
    def relative_gap(self) -> float:
        """(upper - lower)/upper as a float for judging quality; 0 for an exact value."""
        if self.exact is not None or self.upper.mantissa == 0:
            return 0.0
        with at_precision(self.precision + _GUARD):
            upper, lower = self.upper.ball, self.lower.ball
            return float((upper - lower.max(arb(0))) / upper)


def largest_upper(evidence: Iterable[Evidence]) -> Dyadic:
    """Return what is at least the divergence of every part."""
    return max(e.upper for e in evidence)


def gap_of_largest(evidence: Sequence[Evidence]) -> float:
    """Return the relative width of what is proved of the largest divergence: others are only shown to be smaller."""
    largest = max(evidence, key=lambda e: e.upper)
    known = largest.fraction
    if known is not None and all(e.is_at_most(known) for e in evidence):
        return 0.0
    return replace(largest, lower=max(e.lower for e in evidence), exact=None).relative_gap
