"""The blanket bound: the optimal decomposition of the mechanism itself."""

from __future__ import annotations

from symamp.analyses.analysis import Analysis, one_mechanism
from symamp.analyses.reduction import Reduction
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject
from symamp.derivation.pairs import pair_classes

SOURCE = "Su, Cheng, Wang 2025, Theorems 5 to 7 and 12"


def blanket_reductions(subject: Subject) -> tuple[Reduction, ...]:
    """Return one reduction per class of ordered pairs; the bound is the maximum over them.

    Guarantee
    ---------
    The largest divergence of these triples is at least the divergence of the shuffled reports of every two
    neighbouring data sets. Proof: docs/proofs/blanket_reduction.md.
    """
    assert subject.mechanism is not None
    classes = pair_classes(subject.mechanism)
    return tuple(Reduction("blanket", Standing.PROVED, SOURCE, c.decomposition) for c in classes)


BLANKET = Analysis(
    "blanket", Standing.PROVED, SOURCE, "optimal decomposition", blanket_reductions, lacks=one_mechanism, rank=0
)
