"""The two-level bound: a law of four atoms in the local budget and the largest total variation alone."""

from __future__ import annotations

from symamp.bounds.analysis import Bound
from symamp.bounds.hypotheses import ANY_TWO, FINITE_BUDGET, PROBABILITIES, SHUFFLED
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.envelope import two_level_law

SOURCE = "Theorem F (docs/proofs/envelope.md); four points as in Feldman, McMillan, Talwar 2023, Theorem 7.4"


def two_level_reduction(subject: Subject) -> Reduction:
    """Return the triple (t, 1), (1, t) of mass p each and (1, 1) of mass 1 - p - t p, p = beta/(t - 1), t = e^eps0.

    beta is the largest total variation between two inputs. It is the valid form of the special bound of Feldman,
    McMillan, Talwar (2023), and the envelope itself of two-level mechanisms with equal distances.

    Guarantee
    ---------
    For 0 <= eps <= eps0 its divergence is at least that of the shuffled reports of every two neighbouring data sets.
    Proof: docs/proofs/envelope.md.
    """
    law = two_level_law(subject.local_ratio(), subject.variation_ratio().beta)
    kept = tuple(c for c in law.components if c.mass != 0)
    return Reduction("two_level", ProofStatus.PROVED, SOURCE, Decomposition(kept))


TWO_LEVEL = Bound(
    "two_level",
    ProofStatus.PROVED,
    SOURCE,
    "any randomizer of the same budget and total variation",
    "envelope",
    (*SHUFFLED, PROBABILITIES, FINITE_BUDGET, ANY_TWO),
    lambda subject: (two_level_reduction(subject),),
)
