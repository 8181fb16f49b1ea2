"""The optimal (blanket) decomposition: m(y) = inf_x R(x)(y)."""

from __future__ import annotations

from symamp.algebra.normal_form import normal
from symamp.derivation.ball_check import checked, least
from symamp.derivation.decomposition import Decomposition, merged
from symamp.derivation.derived import derived
from symamp.derivation.infimum import infimum
from symamp.derivation.randomizer import LocalRandomizer
from symamp.derivation.table_decomposition import table_blanket


@derived
def blanket(mechanism: LocalRandomizer, pair: tuple[str, str]) -> Decomposition:
    """Return the triple A0 = R(x0), A1 = R(x1), A2 = m (and a null symbol of mass 1 - gamma), merged.

    It dominates every decomposition bound (000, Theorems 5 and 6); components with equal ratios merge (Theorem 7).

    Guarantee
    ---------
    The components are exact. The divergence of the triple at n users is at least that of the shuffled reports of
    any two data sets that differ in one user's input x0 or x1. Proof: docs/proofs/blanket_reduction.md.
    """
    if mechanism.numeric is not None:
        rows = mechanism.inputs.index(pair[0]), mechanism.inputs.index(pair[1])
        return table_blanket(mechanism.numeric, rows)
    if (found := mechanism.decomposed(pair, None)) is not None:
        return found
    parts = []
    orbits = mechanism.orbits(pair)
    for orbit in orbits:
        lowest = infimum(orbit, mechanism.parameters)
        parts.append((normal(orbit.mass(0)), normal(orbit.mass(1)), normal(orbit.measure * lowest)))
    return checked(merged(parts, mechanism.parameters, pair), orbits, least)
