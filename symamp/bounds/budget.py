"""Bounds from the local budget alone, or from the budget, a total variation and one more ratio."""

from __future__ import annotations

import sympy as sp

from symamp.bounds.bound import Bound
from symamp.bounds.hypotheses import ANY_TWO, BUDGET, FINITE_BUDGET, PROBABILITIES, SHUFFLED, ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.decomposition import Component, Decomposition, merged
from symamp.decompositions.envelope import two_level_law
from symamp.formulas.normal_form import normal

# ------------------------------------ The generic bound: binary randomized response dominates every eps0-LDP randomizer

GENERIC_SOURCE = (
    "Theorem B (docs/proofs/generic_bound.md); data shuffled, randomizers chosen adaptively: "
    "Theorem C (docs/proofs/users_who_differ.md)"
)


def generic_reduction(subject: Subject) -> Reduction:
    """Return the triple (t/(t+1), 1/(t+1)), its mirror image, and blanket (1/(t+1), 1/(t+1)), for t = e^eps0.

    It is the blanket of binary randomized response, and the stronger clone of Feldman, McMillan, Talwar (2023), whose
    published proof was withdrawn.

    Guarantee
    ---------
    For every eps0-LDP randomizer and 0 <= eps <= eps0 its divergence is at least that of the blanket.
    Proof: docs/proofs/generic_bound.md; adaptive: docs/proofs/users_who_differ.md, section 3.
    """
    return generic_triple(subject.local_ratio())


def generic_triple(t: sp.Expr) -> Reduction:
    """Return that triple for a ratio t."""
    one, mass = sp.Integer(1), normal(1 / (t + 1))
    components = (Component(normal(t), one, mass), Component(one, normal(t), mass))
    return Reduction("generic", ProofStatus.PROVED, GENERIC_SOURCE, Decomposition(components))


def removed_reduction(subject: Subject) -> Reduction:
    """Return the triple (R(x), R(x), R(x)/t): every other user sends this part of what the victim does.

    Guarantee
    ---------
    Of every eps0-LDP randomizer the law of each report is at least R(x)/t, t = e^eps0, and what is above that only
    hides more. Proof: docs/proofs/participation.md, section 2.
    """
    t = subject.local_ratio()
    return Reduction("generic", ProofStatus.PROVED, GENERIC_SOURCE, Decomposition((Component(t, t, 1 / t),)))


GENERIC = Bound(
    "generic",
    ProofStatus.PROVED,
    GENERIC_SOURCE,
    "the budget alone: binary randomized response stands for every randomizer",
    "generic_bound",
    BUDGET,
    lambda subject: (generic_reduction(subject),),
    rank=0,
    skip_by_default=lambda subject: subject.mechanism is not None,  # its blanket is never above (Theorem B)
    triples=True,
    ordered=True,
    removed=lambda subject: (removed_reduction(subject),),
)


# ---------------------------------------------------------- The standard clone of Feldman, McMillan, Talwar (FOCS 2021)

CLONE_SOURCE = "Feldman, McMillan, Talwar 2021, Theorem 3.2"


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
    return Reduction("standard_clone", ProofStatus.PROVED, CLONE_SOURCE, Decomposition(components))


STANDARD_CLONE = Bound(
    "standard_clone",
    ProofStatus.PROVED,
    CLONE_SOURCE,
    "the budget alone, as published in 2021: larger than generic",
    "standard_clone",
    BUDGET,
    lambda subject: (standard_clone_reduction(subject),),
    triples=True,
)


# ---------------- The variation-ratio bound of Wang (2023): as corrected by Theorem A, and as printed, which is refuted

VARIATION_RATIO_SOURCE = "Theorem A (docs/proofs/variation_ratio.md), correcting Wang 2023, Theorem 4.1"
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
    return Reduction("variation_ratio", ProofStatus.PROVED, VARIATION_RATIO_SOURCE, Decomposition(kept))


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
    VARIATION_RATIO_SOURCE,
    "three parameters (p, beta, q) of the mechanism, corrected",
    "variation_ratio",
    BUDGET,
    lambda subject: (corrected_reduction(subject.variation_ratio()),),
    rank=0,
    skip_by_default=lambda subject: not subject.known_by_parameters,
    triples=True,
)
VARIATION_RATIO_2023 = Bound(
    "variation_ratio_2023",
    ProofStatus.REFUTED,
    PRINTED_SOURCE,
    "three parameters (p, beta, q) of the mechanism, as printed",
    "",
    BUDGET,
    lambda subject: (printed_reduction(subject.variation_ratio()),),
)


# ------------------- The two-level bound: a law of four atoms in the local budget and the largest total variation alone

TWO_LEVEL_SOURCE = "Theorem F (docs/proofs/envelope.md); four points as in Feldman, McMillan, Talwar 2023, Theorem 7.4"


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
    return Reduction("two_level", ProofStatus.PROVED, TWO_LEVEL_SOURCE, Decomposition(kept))


TWO_LEVEL = Bound(
    "two_level",
    ProofStatus.PROVED,
    TWO_LEVEL_SOURCE,
    "the budget and the total variation alone",
    "envelope",
    (*SHUFFLED, PROBABILITIES, FINITE_BUDGET, ANY_TWO),
    lambda subject: (two_level_reduction(subject),),
    triples=True,
    ordered=True,
)
