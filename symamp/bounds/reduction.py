"""Parts of bounds: a triple (A0, A1, A2) with a name, a proof status and a source; a pair and its laws."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from operator import itemgetter
from typing import ClassVar, TypeGuard

import sympy as sp
from flint import arb

from symamp.bounds.bound import COARSE, DataSets, PairBound, PairBoundDefaults
from symamp.bounds.hypotheses import ProofStatus
from symamp.bounds.pairs_of_a_table import is_small
from symamp.bounds.subject import Subject
from symamp.decompositions.blanket import Weights, triple
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.envelope import envelope_classes
from symamp.decompositions.randomizer import LocalRandomizer
from symamp.decompositions.to_law import law_of
from symamp.laws.law import Law, Level, quick_gparv
from symamp.numbers.limits import Limits, kept
from symamp.randomizers.mechanism import Mechanism
from symamp.sums.divergence import Enclosure, Settings, enclose_divergence, estimate_log_divergence
from symamp.sums.inversion import (
    FEW,
    approximate_log_law,
    estimate_epsilon,
    falling_root,
    largest_epsilon,
    limit_divergence,
)

DATA_SETS = "Su, Cheng, Wang 2025, Theorem 14"


@dataclass(frozen=True)
class Reduction(PairBoundDefaults):
    """A decomposition as a bound: ``dataset`` weights the inputs of the other users (empty for upper bounds).

    ``member`` says which mechanism it is of where the question was about many.
    """

    method: str
    proof_status: ProofStatus
    source: str
    decomposition: Decomposition
    dataset: tuple[tuple[str, sp.Rational], ...] = ()
    member: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs (x0, x1) that is compared."""
        return self.decomposition.pair

    @property
    def has_null(self) -> bool:
        """Whether A2 may have a null symbol: that of data sets is the law of a real message."""
        return not self.dataset

    @property
    def law(self) -> Law:
        """The law that crosses to the evaluation; ArgumentError if a parameter is still a symbol."""
        return law_of(self.decomposition, not self.has_null)

    @property
    def data_sets(self) -> DataSets:
        """The data sets that have this triple, where it is a lower bound."""
        return DataSets(*self.pair, tuple((x, str(w)) for x, w in self.dataset), self.member)

    @property
    def signature(self) -> Hashable:
        """The component list, or what says as much."""
        return self.decomposition.fingerprint

    def swapped(self) -> Reduction:
        """Return the triple with the two data sets exchanged."""
        return replace(self, decomposition=self.decomposition.swapped())

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        if settings.limits.is_spent():
            return self.saddle_estimate(level, n)
        return _estimated(settings.limits, self.decomposition, not self.has_null, level, n, settings)

    def saddle_estimate(self, level: Level, n: int) -> float:
        return approximate_log_law(quick_gparv(self.law, level), n)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        return estimate_epsilon(
            self.law, n, log_delta, settings, start, lambda level: self.log_estimate(level, n, settings)
        )

    def limit(self, n: int) -> arb:
        return limit_divergence(self.law, n) if largest_epsilon(self.law) == inf else arb(0)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the divergence.

        Guarantee
        ---------
        The divergence of the triple lies between the outer ends. Proof: docs/proofs/kernel_sandwich.md.
        """
        return _enclosed(settings.limits, self.decomposition, not self.has_null, level, n, settings)


def is_triple(part: PairBound) -> TypeGuard[Reduction]:
    """Return whether the part is a triple: then it has a law, and a certificate can carry it."""
    return isinstance(part, Reduction)


def dataset_reduction(mechanism: LocalRandomizer, pair: tuple[str, str], others: Weights) -> Reduction:
    """Return the triple A0 = R(x0), A1 = R(x1), A2 = sum of w R(x*) over the weighted inputs of the other users.

    Guarantee
    ---------
    Its divergence is at most that of the shuffled reports for the worst pair of neighbouring data sets: equal to one
    of them if a single input has weight 1, and an average over some of them otherwise.
    Proof: docs/proofs/blanket_reduction.md.
    """
    return Reduction("data set", ProofStatus.LOWER, DATA_SETS, triple(mechanism, pair, others), others)


# A search comes back to the same triple at the same level: nothing is evaluated twice.
@kept(maxsize=8192)
def _estimated(
    limits: Limits, decomposition: Decomposition, complete: bool, level: Level, n: int, settings: Settings
) -> float:
    return estimate_log_divergence(law_of(decomposition, complete), level, n, settings.under(limits))


@kept(maxsize=1024)
def _enclosed(
    limits: Limits, decomposition: Decomposition, complete: bool, level: Level, n: int, settings: Settings
) -> Enclosure:
    settings = settings.under(limits)
    around = decomposition.enclosing_laws
    if around is None:
        return enclose_divergence(law_of(decomposition, complete), level, n, settings)
    below, above = (enclose_divergence(law, level, n, settings) for law in around)
    bits = max(below.precision, above.precision)
    return Enclosure(below.lower, above.upper, f"{above.evaluator}, merged atoms", bits, above.plan)


# ---------------------- A pair of inputs with the laws under every other input: what the bounds beyond the blanket need


_FAR, _CLOSE, _ALIKE, _OF_ERROR = 1e6, 1e-3, 0.5, 0.75
"""-log of what counts as no divergence; the relative distance of the two places that give a first slope; how far from
delta, in the logarithm, a saddle point may be at a known place to be of use; and how near the root is sought, in errors
of the estimate: what is left of one is for evaluations that are above it."""


def pairs_of_inputs(subject: Subject) -> Iterator[tuple[Reduction, ...]]:
    """Yield, for each class of ordered pairs, the triples (R(x0), R(x1), R(x)) over all classes of other inputs x."""
    mechanism = subject.mechanism
    assert mechanism is not None
    one = sp.Integer(1)
    for found in envelope_classes(mechanism):
        yield tuple(dataset_reduction(mechanism, found.pair, ((x, one),)) for x in found.others)


def triples_of_rows(mechanism: Mechanism, rows: tuple[int, int]) -> tuple[Reduction, ...]:
    """Return the same for a pair of rows of a table, over all rows."""
    inputs, one = mechanism.inputs, sp.Integer(1)
    pair = inputs[rows[0]], inputs[rows[1]]
    return tuple(dataset_reduction(mechanism, pair, ((x, one),)) for x in inputs)


def listed(subject: Subject) -> Subject:
    """Return the subject with all inputs listed, where these are few and it does not show them itself."""
    return subject if subject.mechanism is None else subject.mechanism.listed


def is_large_table(subject: Subject) -> bool:
    """Return whether the subject is a table so large that one evaluation for each pair of inputs takes long."""
    mechanism = subject.mechanism
    table = None if mechanism is None else mechanism.numeric
    return table is not None and not is_small(table)


@dataclass(frozen=True)
class PairOfInputs(PairBoundDefaults):
    """A part of a bound that knows a pair of inputs by its laws under every other input, and nothing else.

    ``triples`` lists one data set (x0, x, ..., x) for each class of inputs x that another user may hold.
    ``estimate_error`` is the relative distance of its estimates from its certified values. ``mixed`` says that the laws
    of other inputs may be below any mixtures of those of the triples, for one pair or for several.
    """

    triples: tuple[Reduction, ...]
    mixed: bool = field(default=False, kw_only=True)

    method: ClassVar[str]
    proof_status: ClassVar[ProofStatus] = ProofStatus.PROVED
    source: ClassVar[str]

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs (x0, x1) that is compared."""
        return self.triples[0].pair

    @property
    def signature(self) -> Hashable:
        """The set of laws, and which bound it is."""
        return self.method, frozenset(t.signature for t in self.triples)

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The laws that cross to the evaluation, each complete."""
        return tuple(t.law for t in self.triples)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        place, rough = replace(settings.rough, gap=COARSE), settings.rough

        def estimate(t: Reduction, eps: float) -> float:
            """Return a saddle point where a place is known: it tells how the curve falls, and few users have none."""
            level = Level.of_float(eps)
            return t.saddle_estimate(level, n) if is_known else t.log_estimate(level, n, rough)

        is_known = start is not None and 0.0 < start < inf and n > FEW
        if start is not None and is_known:
            at = start
            worst = max(self.triples, key=lambda t: estimate(t, at))
            is_known = abs(estimate(worst, at) - log_delta) < _ALIKE
        if start is not None and is_known:
            lowest = estimate_epsilon(worst.law, n, log_delta, place, start, lambda x: worst.saddle_estimate(x, n))
        else:
            lowest, worst = max(((t.root(n, log_delta, place, start), t) for t in self.triples), key=itemgetter(0))
        self._leading[n] = worst
        if lowest in (0.0, inf):  # no data set says where to look
            return start if start is not None and lowest == 0.0 else lowest

        def miss(eps: float) -> float:
            return max(self.log_estimate(Level.of_float(eps), n, settings.usual), -_FAR) - log_delta

        first = lowest * (1.0 + _CLOSE)
        slope = max((estimate(worst, lowest) - estimate(worst, first)) / (first - lowest), 1e-3)
        top = max(largest_epsilon(law) for law in self.laws)
        return falling_root(miss, first, slope, top, max(0.02 * settings.gap, _OF_ERROR * self.estimate_error))

    @property
    def fixed_background(self) -> tuple[Reduction, ...]:
        return self.triples

    @cached_property
    def _leading(self) -> dict[int, Reduction]:
        """The worst data set at the last root, for a number of users."""
        return {}

    def steepest(self, n: int) -> tuple[PairBound, ...]:
        return (self._leading[n],) if n in self._leading else self.triples
