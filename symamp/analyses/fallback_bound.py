"""The bound of one finite law that lies above the blankets of all pairs of an interval of inputs."""

from __future__ import annotations

from functools import lru_cache

import sympy as sp

from symamp.analyses.analysis import Analysis
from symamp.analyses.bound import Bound
from symamp.analyses.reduction import Reduction
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject
from symamp.derivation.decomposition import Component, Decomposition
from symamp.mechanisms.continuous.densities import Densities

SOURCE = "Theorem U (docs/proofs/fallback_law.md)"


def fallback_bound(subject: Subject) -> Bound:
    """Return the bound of one law, whatever the pair of inputs.

    Guarantee
    ---------
    The divergence of this triple is at least that of the shuffled reports of every two neighbouring data sets, for
    every level and number of users. Proof: docs/proofs/fallback_law.md.
    """
    assert subject.densities is not None
    return Bound((Reduction("fallback_law", Standing.PROVED, SOURCE, _decomposition(subject.densities)),))


@lru_cache(maxsize=16)
def _decomposition(mechanism: Densities) -> Decomposition:
    shown = [tuple(sp.Rational(v.numerator, v.denominator) for v in atom) for atom in mechanism.fallback()]
    return Decomposition(tuple(Component(*a) for a in shown), (), (), (mechanism.inputs[0], mechanism.inputs[1]))


def _lacks(subject: Subject) -> str | None:
    known = subject.densities is not None and subject.densities.is_interval
    return None if known else "a density on an interval of inputs, not that of noise"


FALLBACK = Analysis(
    "fallback_law", Standing.PROVED, SOURCE, "a law above those of all pairs of inputs", fallback_bound, _lacks, rank=0
)
