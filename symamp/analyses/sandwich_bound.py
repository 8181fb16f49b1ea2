"""The bound of a finite law above noise with a density, in rational numbers: what a certificate can carry."""

from __future__ import annotations

from functools import lru_cache

import flint
import sympy as sp
from flint import arb

from symamp.analyses.analysis import Analysis
from symamp.analyses.bound import Bound
from symamp.analyses.reduction import Reduction
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject
from symamp.derivation.decomposition import Component, Decomposition
from symamp.evaluation.sandwich import even_cuts, finite_sandwich
from symamp.mechanisms.continuous.additive_noise import AdditiveNoise

SOURCE = "docs/proofs/smooth_laws.md, section 1, with Corollary 2 of Theorem P (docs/proofs/worst_pair.md)"
_CELLS, _BITS, _DIGITS = 96, 256, 128
_LARGEST = 300
"""Rare larger ratios make an evaluation of the finite law take minutes."""


def sandwich_bound(subject: Subject) -> Bound:
    """Return the bound of one finite law, with rational numbers, that lies above the blanket of the worst pair.

    Guarantee
    ---------
    The divergence of this triple is at least that of the shuffled reports of every two neighbouring data sets, for
    every level and number of users. Proof: docs/proofs/smooth_laws.md.
    """
    assert subject.noise is not None
    return Bound((Reduction("finite_sandwich", Standing.PROVED, SOURCE, _upper(subject.noise)),))


@lru_cache(maxsize=32)
def _upper(noise: AdditiveNoise) -> Decomposition:
    """Return the upper law of the sandwich with all numbers rounded down; what that leaves over names its sender."""
    with flint.ctx.workprec(_BITS):
        _, above = finite_sandwich(noise.upper_law(), _CELLS, _BITS, even_cuts)
        atoms = [tuple(_below(x) for x in (a.ratio0(), a.ratio1(), a.mass())) for a in above.atoms]
    components = tuple(Component(*atom) for atom in atoms if atom[2] > 0)
    over = tuple(1 - sp.Add(*(c[i] * c.mass for c in components)) for i in (0, 1))
    return Decomposition(components, ((over[0], sp.Integer(0)), (sp.Integer(0), over[1])), (), ("0", "1"))


def _below(x: arb) -> sp.Rational:
    """Return a multiple of 2^-128 that is at most a positive number, and no smaller than 0."""
    scaled = (x * arb(2) ** _DIGITS).lower().floor().unique_fmpz()
    return sp.Rational(max(int(scaled), 0), 2**_DIGITS)


def _lacks(subject: Subject) -> str | None:
    noise = subject.noise
    if noise is not None and (noise.parameters or noise.largest_kept_ratio() <= _LARGEST):
        return None
    return f"noise that is added to inputs in an interval, with ratios of at most {_LARGEST} up to where it is cut"


SANDWICH = Analysis(
    "finite_sandwich", Standing.PROVED, SOURCE, "a finite law above noise with a density", sandwich_bound, _lacks
)
