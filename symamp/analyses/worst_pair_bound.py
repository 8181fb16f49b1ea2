"""The bound of the worst pair of inputs, where a theorem says which pair that is."""

from __future__ import annotations

from symamp.analyses.analysis import Analysis
from symamp.analyses.bound import Bound
from symamp.analyses.smooth_part import WORST_PAIR, WorstPairPart
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject


def worst_pair_bound(subject: Subject) -> Bound:
    """Return the bound of one pair, (0, 1), that covers all pairs of inputs.

    Guarantee
    ---------
    The divergence of this part is at least that of the shuffled reports of every two neighbouring data sets, for
    every level and number of users. Proof: docs/proofs/worst_pair.md.
    """
    assert subject.noise is not None
    return Bound((WorstPairPart(subject.noise),))


def _lacks(subject: Subject) -> str | None:
    return None if subject.noise is not None else "noise that is added to inputs in an interval"


BOUND = Analysis(
    "worst_pair", Standing.PROVED, WORST_PAIR, "the worst pair of inputs, by a theorem", worst_pair_bound, _lacks, 0
)
