"""The generic bound: binary randomized response dominates every eps0-LDP randomizer."""

from __future__ import annotations

import sympy as sp

from symamp.bounds.analysis import Bound
from symamp.bounds.hypotheses import BUDGET
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.formulas.normal_form import normal

SOURCE = (
    "Theorem B (docs/proofs/generic_bound.md); data shuffled, randomizers chosen adaptively: "
    "Theorem C (docs/proofs/users_who_differ.md)"
)


def generic_reduction(subject: Subject) -> Reduction:
    """Return the triple (t/(t+1), 1/(t+1)), its mirror image, and blanket (1/(t+1), 1/(t+1)), for t = e^eps0.

    It is the blanket of binary randomized response, and the stronger clone of Feldman, McMillan, Talwar (2023), whose
    published proof was withdrawn; Theorem B proves it for users who all run the same eps0-LDP randomizer, Theorem C for
    data that are shuffled before randomizers chosen adaptively, each eps0-LDP given all earlier outputs.

    Guarantee
    ---------
    For every eps0-LDP randomizer and 0 <= eps <= eps0 its divergence is at least that of the blanket.
    Proof: docs/proofs/generic_bound.md; adaptive: docs/proofs/users_who_differ.md, section 3.
    """
    t = subject.local_ratio()
    one, mass = sp.Integer(1), normal(1 / (t + 1))
    components = (Component(normal(t), one, mass), Component(one, normal(t), mass))
    return Reduction("generic", ProofStatus.PROVED, SOURCE, Decomposition(components))


def _needless(subject: Subject) -> bool:
    """Return whether the blanket is known: it is never above the generic bound (Theorem B)."""
    return subject.mechanism is not None


GENERIC = Bound(
    "generic",
    ProofStatus.PROVED,
    SOURCE,
    "any randomizer of the same budget, adaptively chosen ones included where the data are shuffled",
    "generic_bound",
    BUDGET,
    lambda subject: (generic_reduction(subject),),
    rank=0,
    skip_by_default=_needless,
)
