"""The variation-ratio bound of Wang (2023): as corrected by Theorem A, and as printed, which is refuted."""

from __future__ import annotations

import sympy as sp

from symamp.bounds.analysis import Bound
from symamp.bounds.hypotheses import BUDGET
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.decomposition import Component, Decomposition, merged
from symamp.formulas.normal_form import normal

SOURCE = "Theorem A (docs/proofs/variation_ratio.md), correcting Wang 2023, Theorem 4.1"
PRINTED_SOURCE = "Wang 2023, Theorem 4.1 as printed"


def corrected_reduction(parameters: VariationRatio) -> Reduction:
    """Return the corrected triple: ratios (q, q/p), (q/p, q), (q, q) with masses r, r, (1 - alpha - p alpha)/q.

    alpha = beta/(p - 1), r = alpha p/q; the rest is the null symbol. The parameters must be those of a randomizer, so
    that beta <= (p - 1)/(p + 1) and beta <= q - 1.

    Guarantee
    ---------
    Its divergence is at least that of the shuffled reports for every pair with R(x0) <= p R(x1), R(x1) <= p R(x0),
    total variation at most beta and R(x0), R(x1) <= q R(x) for all inputs x of the others.
    Proof: docs/proofs/variation_ratio.md.
    """
    p, q = parameters.p, parameters.q
    mass, third = _masses(parameters)
    components = (
        Component(normal(q), normal(q / p), mass),
        Component(normal(q / p), normal(q), mass),
        Component(normal(q), normal(q), normal(third / q)),
    )
    kept = tuple(c for c in components if c.mass != 0)
    return Reduction("variation_ratio", ProofStatus.PROVED, SOURCE, Decomposition(kept))


def printed_reduction(parameters: VariationRatio) -> Reduction:
    """Return the triple as printed: the third symbol is shared, with A2 mass 1 - 2 r. Not a bound.

    Refuted by exact computation (docs/theory.md): for comparison only.
    """
    p, q = parameters.p, parameters.q
    mass, third = _masses(parameters)
    high, low = normal(mass * q), normal(mass * q / p)
    parts = [(high, low, mass), (low, high, mass), (third, third, normal(1 - 2 * mass))]
    decomposition = merged([part for part in parts if any(e != 0 for e in part)], (), ("x0", "x1"))
    return Reduction("variation_ratio_2023", ProofStatus.REFUTED, PRINTED_SOURCE, decomposition)


def _masses(parameters: VariationRatio) -> tuple[sp.Expr, sp.Expr]:
    """Return (r, 1 - alpha - p alpha)."""
    p, beta, q = parameters
    alpha = sp.Integer(0) if beta == 0 else beta / (p - 1)
    return normal(alpha * p / q), normal(1 - alpha - p * alpha)


VARIATION_RATIO = Bound(
    "variation_ratio",
    ProofStatus.PROVED,
    SOURCE,
    "three parameters of the mechanism, corrected",
    "variation_ratio",
    BUDGET,
    lambda subject: (corrected_reduction(subject.variation_ratio()),),
    rank=0,
    skip_by_default=lambda subject: not subject.known_by_parameters,
)
VARIATION_RATIO_2023 = Bound(
    "variation_ratio_2023",
    ProofStatus.REFUTED,
    PRINTED_SOURCE,
    "three parameters of the mechanism, as printed",
    "",
    BUDGET,
    lambda subject: (printed_reduction(subject.variation_ratio()),),
)
