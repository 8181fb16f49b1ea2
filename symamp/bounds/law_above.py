"""Bounds of one finite law, in rational numbers, above the blankets of all pairs: what a certificate can carry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import sympy as sp

from symamp.bounds.analysis import Bound
from symamp.bounds.hypotheses import SHUFFLED, Hypothesis, every
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.bounds.worst_pair import has_worst_ends
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.laws.density import SmoothLaw, even_cuts, finite_sandwich
from symamp.numbers.rationals import rational_below, rational_of
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.noise.densities import Densities

_SANDWICH = "docs/proofs/smooth_laws.md, section 1, with Corollaries 2 and 4 of Theorem P (docs/proofs/worst_pair.md)"
_FALLBACK = "Theorem U (docs/proofs/fallback_law.md)"
_CELLS, _BITS, _DIGITS = 96, 256, 128
_LARGEST = 300
"""Rare larger ratios make an evaluation of the finite law take minutes."""


def law_above_density(subject: Subject) -> Iterator[Decomposition]:
    """Yield the upper law of a finite sandwich for the worst pair of inputs, or for every pair where none is known.

    All numbers are rounded down; what that leaves over names its sender.

    Guarantee
    ---------
    The largest divergence of these triples is at least that of the shuffled reports of every two neighbouring data
    sets, for every level and number of users. Proof: docs/proofs/smooth_laws.md.
    """
    if subject.noise is not None:
        yield _rounded(subject.noise.upper_law(), ("0", "1"))
        return
    found = subject.densities
    assert found is not None
    for pair in (found.worst_pair().pair,) if found.is_interval else found.pairs():
        yield _rounded(found.law(pair), pair)


@lru_cache(maxsize=64)
def _rounded(law: SmoothLaw, pair: tuple[str, str]) -> Decomposition:
    with at_precision(_BITS):
        _, above = finite_sandwich(law, _CELLS, _BITS, even_cuts)
        numbers = [[rational_below(x, _DIGITS) for x in (a.ratio0(), a.ratio1(), a.mass())] for a in above.atoms]
    components = tuple(Component(*(max(x, sp.S.Zero) for x in atom)) for atom in numbers if atom[2] > 0)
    over = tuple(1 - sp.Add(*(c[i] * c.mass for c in components)) for i in (0, 1))
    return Decomposition(components, ((over[0], sp.Integer(0)), (sp.Integer(0), over[1])), (), pair)


@lru_cache(maxsize=16)
def law_above_interval(mechanism: Densities) -> Decomposition:
    """Return a law above those of all pairs of an interval of inputs, whatever the pair.

    Guarantee
    ---------
    The divergence of this triple is at least that of the shuffled reports of every two neighbouring data sets, for
    every level and number of users. Proof: docs/proofs/fallback_law.md.
    """
    components = tuple(Component(*map(rational_of, atom)) for atom in mechanism.fallback())
    return Decomposition(components, (), (), (mechanism.inputs[0], mechanism.inputs[1]))


def _no_density(subject: Subject) -> str | None:
    found = subject.densities
    known = subject.noise is not None or (found is not None and (not found.is_interval or has_worst_ends(subject)))
    return None if known else "here there is no density, or no proof which pair is the worst: leave out the method"


def _large_ratios(subject: Subject) -> str | None:
    noise = subject.noise
    if noise is not None and noise.parameters:
        return None
    largest = subject.local_ratio() if noise is None else noise.largest_kept_ratio()
    return None if largest <= _LARGEST else "here they are larger: leave out the method"


def _no_interval(subject: Subject) -> str | None:
    known = subject.densities is not None and subject.densities.is_interval
    return None if known else "here there is no such density: leave out the method"


def _parts(name: str, source: str, laws: Iterable[Decomposition]) -> tuple[Reduction, ...]:
    return tuple(Reduction(name, ProofStatus.PROVED, source, law) for law in laws)


FINITE_PAIRS = Hypothesis(
    "finite_pairs",
    "Messages have a density, and finitely many pairs of inputs are proved to be enough.",
    every(_no_density),
)
MODERATE_RATIOS = Hypothesis(
    "moderate_ratios", f"Ratios are at most {_LARGEST}, up to where tails are cut.", every(_large_ratios)
)
DENSITY_ON_INTERVAL = Hypothesis(
    "density_on_interval",
    "Messages have a density, given as a formula, and inputs fill an interval.",
    every(_no_interval),
)
SANDWICH = Bound(
    "finite_sandwich",
    ProofStatus.PROVED,
    _SANDWICH,
    "finite laws above noise, or above the pairs of a density",
    "smooth_laws",
    (*SHUFFLED, FINITE_PAIRS, MODERATE_RATIOS),
    lambda subject: _parts("finite_sandwich", _SANDWICH, law_above_density(subject)),
)
FALLBACK = Bound(
    "fallback_law",
    ProofStatus.PROVED,
    _FALLBACK,
    "a law above those of all pairs of inputs",
    "fallback_law",
    (*SHUFFLED, DENSITY_ON_INTERVAL),
    lambda subject: _parts("fallback_law", _FALLBACK, (law_above_interval(subject.densities),)),
    rank=0,
    skip_by_default=has_worst_ends,
)
