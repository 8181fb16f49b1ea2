"""The generic bound: binary randomized response dominates every eps0-LDP randomizer."""

from __future__ import annotations

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.analyses.reduction import Reduction
from symamp.analyses.standing import Standing
from symamp.derivation.decomposition import Component, Decomposition


def generic_reduction(t: sp.Expr) -> Reduction:
    """Return the triple (t/(t+1), 1/(t+1)), its mirror image, and blanket (1/(t+1), 1/(t+1)), for t = e^eps0.

    It is the blanket of binary randomized response, and the stronger clone of Feldman, McMillan, Talwar (2023), whose
    published proof was withdrawn; Theorem B proves it for users who all run the same eps0-LDP randomizer.

    Guarantee
    ---------
    For every eps0-LDP randomizer and 0 <= eps <= eps0 its divergence is at least that of the blanket.
    Proof: docs/proofs/generic_bound.md.
    """
    one, mass = sp.Integer(1), normal(1 / (t + 1))
    components = (Component(normal(t), one, mass), Component(one, normal(t), mass))
    return Reduction("generic", Standing.PROVED, "Theorem B (docs/proofs/generic_bound.md)", Decomposition(components))
