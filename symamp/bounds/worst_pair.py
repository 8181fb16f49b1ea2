"""The bound of the worst pair of inputs, where a theorem says which pair that is."""

from __future__ import annotations

from symamp.bounds.analysis import Bound
from symamp.bounds.bound import MaxOverPairs
from symamp.bounds.density_pairs import DensityPair
from symamp.bounds.hypotheses import SHUFFLED, Hypothesis, every
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.smooth_part import WORST_PAIR, WorstPairBound
from symamp.bounds.subject import Subject

ENDS = "Corollary 4 of Theorem P (docs/proofs/worst_pair.md)"


class WorstEnds(DensityPair):
    """The blanket of the two ends of an interval of inputs, which is worse than that of every other pair."""

    method, source = "worst_pair", ENDS


def worst_pair_bound(subject: Subject) -> MaxOverPairs:
    """Return the bound of one pair, the ends of the interval of inputs, that covers all pairs of inputs.

    Guarantee
    ---------
    The divergence of this part is at least that of the shuffled reports of every two neighbouring data sets, for
    every level and number of users. Proof: docs/proofs/worst_pair.md.
    """
    if subject.noise is not None:
        return MaxOverPairs((WorstPairBound(subject.noise),))
    found = subject.densities
    assert found is not None
    return MaxOverPairs((WorstEnds(found, found.worst_pair().pair),))


def has_worst_ends(subject: Subject) -> bool:
    """Return whether the ends of an interval of inputs are proved to be the worst pair of a density."""
    found = subject.densities
    return found is not None and found.is_interval and found.worst_pair().proved


def _no_ends(subject: Subject) -> str | None:
    known = subject.noise is not None or has_worst_ends(subject)
    return None if known else "here no worst pair is proved: leave out the method"


WORST_ENDS = Hypothesis(
    "worst_ends",
    "Messages have a density, inputs fill an interval, and its ends are proved to be the worst pair.",
    every(_no_ends),
)
BOUND = Bound(
    "worst_pair",
    ProofStatus.PROVED,
    f"{WORST_PAIR}; {ENDS}",
    "the worst pair of inputs, by a theorem",
    "worst_pair",
    (*SHUFFLED, WORST_ENDS),
    worst_pair_bound,
    rank=0,
)
