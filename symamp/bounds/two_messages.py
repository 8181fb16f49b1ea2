"""Reports of two messages: the truth over all data sets, by boxes of counts, and the data sets that attain it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any, ClassVar

import sympy as sp
from flint import arb

from symamp.bounds.bound import AttainedBound, Bound, DataSets, PairBoundDefaults
from symamp.bounds.hypotheses import ANY_TWO, EVERY_CLASS, PROBABILITIES, SHUFFLED, Hypothesis, ProofStatus, every
from symamp.bounds.reduction import PairOfInputs, Reduction, dataset_reduction, listed, pairs_of_inputs
from symamp.bounds.subject import Subject
from symamp.decompositions.envelope import describes_all_inputs, envelope_classes
from symamp.decompositions.pairs import pair_classes
from symamp.errors import PrecisionError, Problem
from symamp.laws.law import Law, Level, Number
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.mechanism import Mechanism
from symamp.sums import two_messages
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.inversion import estimate_root, largest_epsilon

# -------------------------- Lower bounds: data sets in which fixed numbers of the other users hold one input or another

_BITS = 4096
"""Two inputs may differ in the last of very many digits."""


@dataclass(frozen=True)
class FixedCounts(PairBoundDefaults):
    """The data sets (x0, others) and (x1, others), with ``counts`` of the others at each of two inputs.

    There are two messages. ``triples`` lists one constant data set for each class of inputs; the two that count are
    those under which the message that is likelier under x0 is most and least probable.
    """

    triples: tuple[Reduction, ...]
    counts: two_messages.Counts

    method: ClassVar[str] = "data set"
    proof_status: ClassVar[ProofStatus] = ProofStatus.LOWER
    source: ClassVar[str] = "docs/proofs/two_messages.md"

    @staticmethod
    def of(triples: tuple[Reduction, ...], held: Mapping[str, int]) -> FixedCounts | None:
        """Return the data sets with given numbers of the others at two inputs; None if these send the same."""
        most, least = FixedCounts(triples, (0, 0)).inputs
        return None if most == least else FixedCounts(triples, (held[most], held[least]))

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs (x0, x1) that is compared."""
        return self.triples[0].pair

    @cached_property
    def reports(self) -> two_messages.TwoMessages:
        """The probabilities of the messages."""
        return reports_of([t.law for t in self.triples])

    @cached_property
    def _extremes(self) -> tuple[Reduction, Reduction]:
        with at_precision(_BITS):
            shares = [(_own(t.law)(), t) for t in self.triples]
        most = reduce(lambda one, other: other if other[0] > one[0] else one, shares)
        least = reduce(lambda one, other: other if other[0] < one[0] else one, shares)
        return most[1], least[1]

    @property
    def fixed_background(self) -> tuple[Reduction, ...]:
        """The constant data sets of the inputs that others hold."""
        return tuple(t for t, c in zip(self._extremes, self.counts, strict=True) if c) or self._extremes[:1]

    @property
    def inputs(self) -> tuple[str, str]:
        """The inputs of the others: the one with the largest, and the one with the least probability."""
        most, least = (t.dataset[0][0] for t in self._extremes)
        return most, least

    @property
    def data_sets(self) -> DataSets:
        """The data sets, with numbers of users."""
        held = tuple((x, str(c)) for x, c in zip(self.inputs, self.counts, strict=True) if c)
        return DataSets(*self.pair, held, counted=True)

    @property
    def signature(self) -> Hashable:
        """Who holds what."""
        return self.method, self.pair, self.inputs, self.counts

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        return two_messages.Search.of(self.reports, level, sum(self.counts) + 1).at(self.counts)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        value = lru_cache(lambda eps: self.log_estimate(Level.of_float(eps), n, settings))
        with at_precision(64):
            ratio = self.reports.first() / self.reports.second()
            top = float(ratio.log()) if ratio.is_finite() else float("inf")
        return estimate_root(value, value, n, log_delta, settings, top, start)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the divergence.

        Guarantee
        ---------
        The divergence lies between the outer ends. Proof: docs/proofs/two_messages.md.
        """
        return two_messages.enclose_counts(self.reports, level, n, self.counts)


def reports_of(laws: Sequence[Law]) -> two_messages.TwoMessages:
    """Return the probabilities of the message that is likelier under x0 than under x1, from a pair's laws.

    Each law has two messages, after messages with equal ratios are merged.
    """
    first, second, _ = _likelier(laws[0])
    ones = [_own(law) for law in laws]
    return two_messages.TwoMessages(
        first, second, lambda: reduce(arb.max, (p() for p in ones)), lambda: reduce(arb.min, (p() for p in ones))
    )


def _likelier(law: Law) -> tuple[Number, Number, Number]:
    """Return (R(x0), R(x1), R(x)) of the message that is likelier under x0 than under x1.

    Raises PrecisionError if balls do not distinguish the two inputs.
    """
    seen = [(_product(a.ratio0, a.mass), _product(a.ratio1, a.mass), a.mass) for a in law.atoms]
    seen += [(a, b, lambda: arb(0)) for a, b in law.singular]
    one, other = seen
    with at_precision(_BITS):
        # One of two messages may be rare, and the other nearly certain under both inputs.
        for found, rest in ((one, other), (other, one)):
            if found[0]() > found[1]() or rest[0]() < rest[1]():
                return found
    wrong = Problem(f"two inputs agree in {_BITS} bits")
    raise PrecisionError("mechanism", wrong, "make them equal, or change an entry")


def _product(ratio: Number, mass: Number) -> Number:
    return lambda: ratio() * mass()


def _own(law: Law) -> Number:
    return _likelier(law)[2]


# ----------------------------------------------------------- The upper bound: the largest divergence over all data sets

SOURCE = "Theorem T (docs/proofs/two_messages.md)"


@dataclass(frozen=True)
class TwoMessagesPairBound(AttainedBound, PairOfInputs):
    """The largest divergence of one pair of inputs over all data sets, where there are two messages."""

    method: ClassVar[str] = "two_messages"
    source: ClassVar[str] = SOURCE
    estimate_error: ClassVar[float] = 1e-4

    @cached_property
    def reports(self) -> two_messages.TwoMessages:
        """The probabilities of the message that is likelier under x0 than under x1."""
        return reports_of(self.laws)

    def attained(self, level: Level, n: int) -> FixedCounts:
        """Return the worst data set that is found: some users at one extreme input, all others at the other."""
        return FixedCounts(self.triples, two_messages.Search.of(self.reports, level, n).best[0])

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        return two_messages.Search.of(self.reports, level, n).best[1]

    def largest_eps(self) -> float:
        return largest_epsilon(self.laws[0])

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the largest divergence over all data sets, for this pair.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold; the lower one is
        at most that of some data set. Proof: docs/proofs/two_messages.md.
        """
        return two_messages.enclose_two_messages(self.reports, level, n, settings)


def _not_two(subject: Subject) -> str | None:
    mechanism = listed(subject).mechanism
    if mechanism is None or not describes_all_inputs(mechanism) or _has_two(mechanism):
        return None  # the hypotheses before this one refuse the first two
    return "here there are more: take method='all_data_sets'"


def _has_two(mechanism: Mechanism) -> bool:
    table = mechanism.numeric
    if table is not None:
        return len(table.messages) == 2 and bool((table.ranks != table.ranks[0]).any())
    # Messages that no triple distinguishes are one message in the blanket, which is at hand.
    if any(len(c.decomposition.components) > 2 for c in pair_classes(mechanism)):
        return False
    triples = (t for found in envelope_classes(mechanism) for t in found.triples)
    return all(len(t.components) + len(t.singular) == 2 for t in triples)


def _parts(subject: Subject) -> Iterator[TwoMessagesPairBound]:
    mechanism = listed(subject).mechanism
    assert mechanism is not None
    if mechanism.numeric is None:
        return (TwoMessagesPairBound(triples) for triples in pairs_of_inputs(mechanism))
    ends = [
        mechanism.inputs[int(i)] for ranks in [mechanism.numeric.ranks[:, 0]] for i in (ranks.argmax(), ranks.argmin())
    ]
    return (TwoMessagesPairBound(tuple(_triple(mechanism, pair, x) for x in ends)) for pair in (ends, ends[::-1]))


def _triple(mechanism: Any, pair: list[str], other: str) -> Reduction:
    return dataset_reduction(mechanism, (pair[0], pair[1]), ((other, sp.Integer(1)),))


TWO_KINDS = Hypothesis(
    "two_messages", "There are two messages, up to equal ratios, and some two inputs differ.", every(_not_two)
)
TWO_MESSAGES = Bound(
    "two_messages",
    ProofStatus.PROVED,
    SOURCE,
    "two messages: every composition of the other users",
    "two_messages",
    (*SHUFFLED, PROBABILITIES, EVERY_CLASS, ANY_TWO, TWO_KINDS),
    _parts,
    rank=2,
)
