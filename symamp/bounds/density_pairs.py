"""The blanket bound of every pair of finitely many inputs with densities."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from symamp.bounds.analysis import Bound
from symamp.bounds.bound import MaxOverPairs
from symamp.bounds.hypotheses import LISTED_DENSITIES, SHUFFLED
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.smooth_part import SmoothPairBound
from symamp.bounds.subject import Subject
from symamp.laws.density import SmoothLaw
from symamp.laws.law import Level
from symamp.randomizers.noise.densities import Densities

SOURCE = "Su, Cheng, Wang 2025, Theorem 5, in balls (docs/proofs/smooth_laws.md, section 5)"


@dataclass(frozen=True)
class DensityPair(SmoothPairBound):
    """The blanket of one ordered pair of inputs, made of the least density on every cell of messages."""

    noise: Densities
    pair: tuple[str, str]

    method: ClassVar[str] = "density_pairs"
    proof_status: ClassVar[ProofStatus] = ProofStatus.PROVED
    source: ClassVar[str] = SOURCE

    @property
    def signature(self) -> Hashable:
        """The mechanism and the pair."""
        return self.method, self.noise, self.pair

    def laws(self, level: Level, n: int) -> tuple[SmoothLaw, SmoothLaw]:
        """Return one law, whatever the level."""
        law = self.noise.law(self.pair)
        return law, law


def _bound(subject: Subject) -> MaxOverPairs:
    """Return the bound with one part for each ordered pair.

    Guarantee
    ---------
    The largest divergence of the parts is at least that of the shuffled reports of every two neighbouring data sets,
    for every level and number of users. Proof: docs/proofs/smooth_laws.md.
    """
    found = subject.densities
    assert found is not None
    return MaxOverPairs(tuple(DensityPair(found, pair) for pair in found.pairs()))


DENSITY_PAIRS = Bound(
    "density_pairs",
    ProofStatus.PROVED,
    SOURCE,
    "all pairs of inputs with a density",
    "smooth_laws",
    (*SHUFFLED, LISTED_DENSITIES),
    _bound,
    rank=0,
)
