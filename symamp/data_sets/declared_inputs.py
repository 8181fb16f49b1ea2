"""Data sets in which all other users hold an input that the family declares as a representative."""

from __future__ import annotations

import sympy as sp

from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import DATA_SETS, Reduction
from symamp.data_sets.mechanisms import MechanismSpace
from symamp.data_sets.proposer import DataSpace, Proposals, Proposer
from symamp.decompositions.randomizer import groups_of
from symamp.laws.law import Level


def _propose(space: DataSpace, level: Level | None, n: int) -> Proposals:
    assert isinstance(space, MechanismSpace)
    for group in groups_of(space.mechanism) or ():
        for x, law in group.held:
            yield Reduction("data set", ProofStatus.LOWER, DATA_SETS, law, ((x, sp.Integer(1)),), space.member)


def _are_declared(space: DataSpace) -> bool:
    return isinstance(space, MechanismSpace) and any(group.held for group in groups_of(space.mechanism) or ())


DECLARED_INPUTS = Proposer("declared_inputs", _propose, _are_declared)
