"""The blanket reduction: the optimal decomposition of the mechanism itself."""

from __future__ import annotations

from symamp.analyses.reduction import Reduction
from symamp.analyses.standing import Standing
from symamp.derivation.pairs import pair_classes
from symamp.derivation.randomizer import LocalRandomizer

SOURCE = "Su, Cheng, Wang 2025, Theorems 5 to 7 and 12"


def blanket_reductions(mechanism: LocalRandomizer) -> tuple[Reduction, ...]:
    """Return one reduction per class of ordered pairs; the bound is the maximum over them.

    Guarantee
    ---------
    The largest divergence of these triples is at least the divergence of the shuffled reports of every two
    neighbouring data sets. Proof: docs/proofs/blanket_reduction.md.
    """
    return tuple(Reduction("blanket", Standing.PROVED, SOURCE, c.decomposition) for c in pair_classes(mechanism))
