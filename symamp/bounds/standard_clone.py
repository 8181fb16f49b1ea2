"""The standard clone of Feldman, McMillan, Talwar (FOCS 2021)."""

from __future__ import annotations

from symamp.bounds.analysis import Bound
from symamp.bounds.hypotheses import BUDGET
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.formulas.normal_form import normal

SOURCE = "Feldman, McMillan, Talwar 2021, Theorem 3.1"


def standard_clone_reduction(subject: Subject) -> Reduction:
    """Return the triple (t/(t+1), 1/(t+1)), its mirror image, and clones (1/(2t), 1/(2t)), for t = e^eps0.

    Guarantee
    ---------
    For every eps0-LDP randomizer its divergence is at least that of the shuffled reports.
    Proof: docs/proofs/standard_clone.md.
    """
    t = subject.local_ratio()
    high, low, mass = normal(2 * t**2 / (t + 1)), normal(2 * t / (t + 1)), normal(1 / (2 * t))
    components = (Component(high, low, mass), Component(low, high, mass))
    return Reduction("standard_clone", ProofStatus.PROVED, SOURCE, Decomposition(components))


STANDARD_CLONE = Bound(
    "standard_clone",
    ProofStatus.PROVED,
    SOURCE,
    "any randomizer of the same budget, by cloning every message",
    "standard_clone",
    BUDGET,
    lambda subject: (standard_clone_reduction(subject),),
)
