"""Lower bounds: data sets (x0, x*, ..., x*) against (x1, x*, ..., x*), x* an input or a mixture of some."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.decompositions.blanket import Weights, triple
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.randomizer import LocalRandomizer

SOURCE = "Su, Cheng, Wang 2025, Theorem 14"


def dataset_reduction(mechanism: LocalRandomizer, pair: tuple[str, str], others: Weights) -> Reduction:
    """Return the triple A0 = R(x0), A1 = R(x1), A2 = sum of w R(x*) over the weighted inputs of the other users.

    Guarantee
    ---------
    Its divergence is at most that of the shuffled reports for the worst pair of neighbouring data sets: equal to one
    of them if a single input has weight 1, and an average over some of them otherwise.
    Proof: docs/proofs/blanket_reduction.md.
    """
    return Reduction("data set", ProofStatus.LOWER, SOURCE, triple(mechanism, pair, others), others)


def held_by_others(x: str, law: Decomposition) -> Reduction:
    """Return the same for one input, whose triple is known.

    Guarantee
    ---------
    Its divergence is that of two neighbouring data sets, if the triple is that of the input and a pair.
    Proof: docs/proofs/identity.md.
    """
    return Reduction("data set", ProofStatus.LOWER, SOURCE, law, ((x, sp.Integer(1)),))


def pure_datasets(mechanism: LocalRandomizer, pair: tuple[str, str]) -> Iterator[Reduction]:
    """Yield the reductions in which all other users hold the same input, x0 and x1 included."""
    one = sp.Integer(1)
    for x in (*mechanism.further_inputs(pair), *pair):
        yield dataset_reduction(mechanism, pair, ((x, one),))
