"""Bounds for noise and densities: the worst pair, all pairs, finite laws above them, and a table above them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, log
from typing import ClassVar

import numpy as np
import sympy as sp
from flint import arb

from symamp.bounds.all_data_sets.bound import AllDataSetsPairBound
from symamp.bounds.bound import Bound, MaxOverPairs, PairBoundDefaults
from symamp.bounds.envelope import EnvelopePairBound
from symamp.bounds.hypotheses import FINITE_BUDGET, LISTED_DENSITIES, SHUFFLED, Hypothesis, ProofStatus, every
from symamp.bounds.reduction import PairOfInputs, Reduction, pairs_of_inputs
from symamp.bounds.subject import Subject
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.decompositions.to_law import log_above
from symamp.errors import PrecisionError
from symamp.laws.density import SmoothLaw, finite_law
from symamp.laws.law import Law, Level, ball_gparv, quick_gparv
from symamp.numbers.rationals import rational_below, rational_of
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.randomizers.noise.densities import ROUNDED, Densities, dominating_table
from symamp.sums.convolution import convolved_sum, estimated_log_sum
from symamp.sums.divergence import Enclosure, Settings, enclose_divergence, estimate_log_divergence
from symamp.sums.inversion import LARGEST_EPS, approximate_log_law, estimate_root

# What is tuned. Every cut and every finite law gives a bound; these trade time against width. Rules of thumb.
_LEAST_LOG_DELTA = -200.0 * log(10.0)
"""The least delta for which the tails of unbounded ratios are cut."""
_GAP = 1e-4
"""The least relative gap of sums: cells leave about as much."""
_CELLS, _DIGITS, _BITS = 112, 128, 256
"""Cells of the finite law above a density: more are closer and slower; binary places of its numbers, which decide the
size of a certificate, and the precision at which they are found."""
_RARE_RATIO = 1e6
"""Rare ratios beyond it are far too large for kernels."""
_ROUGH_CELLS, _CELLS_OF_TAILS = 25, 200
"""Cells of a piece in a search for eps, and where ratios are unbounded."""
_LARGEST_RATIO = 300
"""Rare larger ratios make an evaluation of the finite law take minutes."""
_MOST_INPUTS = 4
"""The most inputs of a table whose pairs are all tried by default."""

# ------------------------------------------------ A part whose divergence lies between those of two finite laws

_ALLOWED = "a number of at least 1e-200 for noise with unbounded ratios, whose tails are cut"


@dataclass(frozen=True)
class SmoothPairBound(PairBoundDefaults):
    """One ordered pair of inputs with the blanket, or with the input ``other`` that all other users hold.

    The divergence lies between those of two finite laws, of cells of messages.
    """

    noise: AdditiveNoise | Densities
    pair: tuple[str, str]
    method: str
    source: str
    other: str | None = None

    @property
    def proof_status(self) -> ProofStatus:
        """Proved, or a lower bound where all others hold one input."""
        return ProofStatus.PROVED if self.other is None else ProofStatus.LOWER

    def laws(self, level: Level, n: int, only_above: bool = False) -> tuple[Law, Law]:
        """Return the laws between whose divergences that of the part lies; perhaps ``only_above`` that, twice."""
        laws = self.noise.laws(self.pair, level, n, self.other)
        above = finite_law(laws[1], True, self._cells)
        return above if only_above else finite_law(laws[0], False, self._cells), above

    @property
    def _cells(self) -> int:
        return _CELLS_OF_TAILS if self.noise.local_ratio() is sp.oo else 0

    def _law(self, level: Level, n: int, cells: int = 0) -> Law:
        upper = self.other is None
        return finite_law(self.noise.laws(self.pair, level, n, self.other)[upper], upper, cells or self._cells)

    @property
    def signature(self) -> Hashable:
        """The noise, the pair, the input of the others, and which bound it is."""
        return self.method, self.noise, self.pair, self.other

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        law = self._law(level, n)
        g = quick_gparv(law, level)
        if n > 1 and self._has_rare_ratios and g.is_positive and (value := estimated_log_sum(g, n)) > -inf:
            singular = log(g.singular) if g.singular > 0.0 else -inf
            return float(np.logaddexp(min(value - log(n), g.log_gain), singular))
        return estimate_log_divergence(law, level, n, settings.at_least(self.gap_floor))

    @property
    def _has_rare_ratios(self) -> bool:
        """Whether ratios of rare messages are so large that only sums on a lattice tell what they do."""
        return isinstance(self.noise, AdditiveNoise) and self.noise.largest_kept_ratio() > _RARE_RATIO

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        ratio = self.noise.local_ratio()
        if ratio is sp.oo and log_delta < _LEAST_LOG_DELTA:
            raise PrecisionError("delta", f"about 1e{log_delta / log(10):.0f}", _ALLOWED)

        def rough(eps: float) -> float:
            level = Level.of_float(eps)
            return approximate_log_law(quick_gparv(self._law(level, n, _ROUGH_CELLS), level), n)

        def value(eps: float) -> float:
            return self.log_estimate(Level.of_float(eps), n, settings)

        top = min(log_above(ratio), LARGEST_EPS)
        return estimate_root(value, rough, n, log_delta, settings.at_least(self.gap_floor), top, start)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the divergence.

        Guarantee
        ---------
        The divergence of the pair, or of the data sets, lies between the outer ends.
        Proof: docs/proofs/smooth_laws.md.
        """
        settings = settings.at_least(self.gap_floor)
        laws = self.laws(level, n, settings.above)
        if n > 1 and self._has_rare_ratios:
            with at_precision(_BITS):
                below, above = (ball_gparv(law, level) for law in laws)
                g = quick_gparv(laws[1], level)
                sums = convolved_sum(below, above, g, n, settings.gap) if g.is_positive else None
                if sums is not None:
                    low = arb(0) if settings.above else below.singular + arb(sums[0]) / n
                    ends = low, above.singular + arb(sums[1]) / n
                    return Enclosure(*ends, "finite sandwich, convolution", _BITS)
        high = enclose_divergence(laws[1], level, n, settings)
        low = arb(0) if settings.above else enclose_divergence(laws[0], level, n, settings).lower
        return Enclosure(low, high.upper, f"finite sandwich, {high.evaluator}", high.precision, high.plan)

    @property
    def gap_floor(self) -> float:
        """What cells of messages cost, and the cut of an unbounded tail."""
        return _GAP


# ------------------------------------------------------------------------------------ All pairs of finitely many inputs

PAIRS = "Su, Cheng, Wang 2025, Theorem 5, in balls (docs/proofs/smooth_laws.md, section 3)"


def density_pairs_bound(subject: Subject) -> MaxOverPairs:
    """Return the bound with one part for each ordered pair.

    Guarantee
    ---------
    The largest divergence of the parts is at least that of the shuffled reports of every two neighbouring data sets,
    for every level and number of users. Proof: docs/proofs/smooth_laws.md.
    """
    found = _noise_of(subject)
    return MaxOverPairs(tuple(SmoothPairBound(found, pair, "density_pairs", PAIRS) for pair in found.pairs()))


DENSITY_PAIRS = Bound(
    "density_pairs",
    ProofStatus.PROVED,
    PAIRS,
    "each pair of a list of inputs with a density",
    "smooth_laws",
    (*SHUFFLED, LISTED_DENSITIES),
    density_pairs_bound,
    rank=0,
)


# ---------------------------------------------------- The worst pair of inputs, where a theorem says which pair that is

WORST_PAIR = "Corollary 2 of Theorem P (docs/proofs/worst_pair.md)"
ENDS = "Corollary 4 of Theorem P (docs/proofs/worst_pair.md)"


def worst_pair_bound(subject: Subject) -> MaxOverPairs:
    """Return the bound of one pair, the ends of the interval of inputs, that covers all pairs of inputs.

    Guarantee
    ---------
    The divergence of this part is at least that of the shuffled reports of every two neighbouring data sets, for
    every level and number of users. Proof: docs/proofs/worst_pair.md.
    """
    found, source = _noise_of(subject), ENDS if subject.noise is None else WORST_PAIR
    return MaxOverPairs((SmoothPairBound(found, found.worst_pair().pair, "worst_pair", source),))


def _noise_of(subject: Subject) -> AdditiveNoise | Densities:
    found = subject.noise or subject.densities
    assert found is not None
    return found


def has_worst_ends(subject: Subject) -> bool:
    """Return whether the ends of an interval of inputs are proved to be the worst pair."""
    found = subject.noise or subject.densities
    return found is not None and found.worst_pair().proved


WORST_ENDS = Hypothesis(
    "worst_ends",
    "Messages have a density, inputs fill an interval, and its ends are proved to be the worst pair.",
    every(lambda x: None if has_worst_ends(x) else "here no worst pair is proved: leave out the method"),
)
WORST_PAIR_BOUND = Bound(
    "worst_pair",
    ProofStatus.PROVED,
    f"{WORST_PAIR}; {ENDS}",
    "the worst pair of inputs, by a theorem",
    "worst_pair",
    (*SHUFFLED, WORST_ENDS),
    worst_pair_bound,
    rank=0,
)


# ------------------- One finite law, in rational numbers, above the blankets of all pairs: what a certificate can carry

_SANDWICH = "docs/proofs/smooth_laws.md, section 1, with Corollaries 2 and 4 of Theorem P (docs/proofs/worst_pair.md)"
_FALLBACK = "Theorem U (docs/proofs/fallback_law.md)"


def law_above_density(subject: Subject) -> Iterator[Decomposition]:
    """Yield the upper law of a finite sandwich for the worst pair of inputs, or for every pair where none is known.

    All numbers are rounded down; what that leaves over names its sender.

    Guarantee
    ---------
    The largest divergence of these triples is at least that of the shuffled reports of every two neighbouring data
    sets, for every level and number of users. Proof: docs/proofs/smooth_laws.md.
    """
    found = _noise_of(subject)
    for pair in (found.worst_pair().pair,) if has_worst_ends(subject) else found.pairs():
        yield _rounded(found.law(pair) if isinstance(found, Densities) else found.upper_law(), pair)


@lru_cache(maxsize=64)
def _rounded(law: SmoothLaw, pair: tuple[str, str]) -> Decomposition:
    with at_precision(_BITS):
        above = finite_law(law, True, _CELLS)
        numbers = [[rational_below(x, _DIGITS) for x in (a.ratio0(), a.ratio1(), a.mass())] for a in above.atoms]
    components = tuple(Component(*(max(x, sp.S.Zero) for x in atom)) for atom in numbers if atom[2] > 0)
    over = tuple(1 - sp.Add(*(c[i] * c.mass for c in components)) for i in (0, 1))
    return Decomposition(components, ((over[0], sp.Integer(0)), (sp.Integer(0), over[1])), (), pair)


@lru_cache(maxsize=16)
def law_above_interval(mechanism: Densities) -> Decomposition:
    """Return a law above those of all pairs of an interval of inputs, whatever the pair.

    Guarantee
    ---------
    The divergence of this triple is at least that of the shuffled reports of every two neighbouring data sets, for
    every level and number of users. Proof: docs/proofs/fallback_law.md.
    """
    components = tuple(Component(*map(rational_of, atom)) for atom in mechanism.fallback())
    return Decomposition(components, (), (), (mechanism.inputs[0], mechanism.inputs[1]))


def _no_density(subject: Subject) -> str | None:
    found = subject.densities
    known = (found is not None and not found.is_interval) or has_worst_ends(subject)
    return None if known else "here there is no density, or no proof which pair is the worst: leave out the method"


def _large_ratios(subject: Subject) -> str | None:
    noise = subject.noise
    if noise is not None and noise.parameters:
        return None
    largest = subject.local_ratio() if noise is None else noise.largest_kept_ratio()
    return None if largest <= _LARGEST_RATIO else "here they are larger: leave out the method"


def _no_interval(subject: Subject) -> str | None:
    known = subject.densities is not None and subject.densities.is_interval
    return None if known else "here there is no such density: leave out the method"


def _parts(name: str, source: str, laws: Iterable[Decomposition]) -> tuple[Reduction, ...]:
    return tuple(Reduction(name, ProofStatus.PROVED, source, law) for law in laws)


FINITE_PAIRS = Hypothesis(
    "finite_pairs",
    "Messages have a density, and finitely many pairs of inputs are proved to be enough.",
    every(_no_density),
)
MODERATE_RATIOS = Hypothesis(
    "moderate_ratios", f"Ratios are at most {_LARGEST_RATIO}, up to where tails are cut.", every(_large_ratios)
)
DENSITY_ON_INTERVAL = Hypothesis(
    "density_on_interval",
    "Messages have a density, given as a formula, and inputs fill an interval.",
    every(_no_interval),
)
SANDWICH = Bound(
    "finite_sandwich",
    ProofStatus.PROVED,
    _SANDWICH,
    "finite laws above noise, or above each pair of inputs of a density",
    "smooth_laws",
    (*SHUFFLED, FINITE_PAIRS, MODERATE_RATIOS),
    lambda subject: _parts("finite_sandwich", _SANDWICH, law_above_density(subject)),
    triples=True,
    ordered=True,
)
FALLBACK = Bound(
    "fallback_law",
    ProofStatus.PROVED,
    _FALLBACK,
    "one law above those of all pairs of an interval of inputs",
    "fallback_law",
    (*SHUFFLED, DENSITY_ON_INTERVAL),
    lambda subject: _parts("fallback_law", _FALLBACK, (law_above_interval(subject.densities),)),
    rank=0,
    skip_by_default=has_worst_ends,
    triples=True,
    ordered=True,
)


# ------------------------------ All data sets of finitely many inputs: the bounds of a finite table above the densities

TABLE_ABOVE = "Theorems E and G of a table above the densities (docs/proofs/dominating_table.md)"


class AboveDensities(PairOfInputs):
    """A part of a bound for a table of rounded numbers, with what the rounding may have taken away."""

    source = TABLE_ABOVE
    rounded: ClassVar[sp.Rational] = ROUNDED

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure whose upper end bounds the divergence of the pair, whatever the other users hold.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair and every data set of the others.
        Proof: docs/proofs/dominating_table.md.
        """
        found = super().enclose(level, n, settings)  # type: ignore[safe-super]
        with at_precision(found.precision):
            lost = (1 + level.exponential()) * n / int(self.rounded.q)
            upper = (found.upper + lost).min(arb(1))
        return replace(found, lower=arb(0), upper=upper)


class DensityEnvelope(AboveDensities, EnvelopePairBound):
    """The envelope of a pair of inputs in the table."""

    method = "density_envelope"


class DensityDataSets(AboveDensities, AllDataSetsPairBound):
    """All data sets of a pair of inputs in the table."""

    method = "density_data_sets"


def _over_tables(part: type[AboveDensities], summary: str, rank: int) -> Bound:
    def bound(subject: Subject) -> MaxOverPairs:
        assert subject.densities is not None
        return MaxOverPairs.of(map(part, pairs_of_inputs(dominating_table(subject.densities))))

    hypotheses = (*SHUFFLED, LISTED_DENSITIES, FINITE_BUDGET)
    return Bound(
        part.method,
        ProofStatus.PROVED,
        TABLE_ABOVE,
        summary,
        "dominating_table",
        hypotheses,
        bound,
        rank,
        lambda subject: subject.densities is not None and len(subject.densities.inputs) > _MOST_INPUTS,
    )


DENSITY_ENVELOPE = _over_tables(DensityEnvelope, "a law above those of all inputs, for densities", 1)
DENSITY_DATA_SETS = _over_tables(DensityDataSets, "all data sets at once, for densities", 3)
