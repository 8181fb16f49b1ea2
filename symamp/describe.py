"""The words in which mechanisms and analyses are described: what a family or an analysis of one's own needs.

>>> from symamp import describe
>>> describe.Orbit("y = x0", 1, (1,)).label
'y = x0'
"""

from symamp.bounds.analysis import Bound
from symamp.bounds.bound import Evidence, PairBound
from symamp.bounds.hypotheses import (
    ANY_TWO,
    BUDGET,
    FINITE_BUDGET,
    PROBABILITIES,
    SHUFFLED,
    Hypothesis,
    every,
)
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.decompositions.randomizer import Orbit
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.described import DescribedFamily, Description, described_family
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import Mechanism
from symamp.randomizers.structures.disjoint_cover import DisjointCover
from symamp.randomizers.structures.exchangeable import ExchangeableSets, Share
from symamp.randomizers.structures.one_hot import Letter, OneHot
from symamp.randomizers.structures.state_channel import StateChannel

__all__ = [
    "ANY_TWO",
    "BUDGET",
    "EPS0",
    "FINITE_BUDGET",
    "PROBABILITIES",
    "SHUFFLED",
    "Bound",
    "Component",
    "Decomposition",
    "DescribedFamily",
    "Description",
    "DisjointCover",
    "Evidence",
    "ExchangeableSets",
    "Family",
    "FiniteMechanism",
    "Hypothesis",
    "Letter",
    "Mechanism",
    "OneHot",
    "Orbit",
    "PairBound",
    "Parameter",
    "ProofStatus",
    "Reduction",
    "Share",
    "StateChannel",
    "Subject",
    "described_family",
    "every",
    "normal",
]
