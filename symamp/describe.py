"""The classes that describe mechanisms, bounds and data sets: what a new family or a new bound imports.

>>> from symamp import describe
>>> describe.Orbit("y = x0", 1, (1,)).label
'y = x0'
"""

from symamp.bounds.bound import Bound, Evidence, PairBound, PairBoundDefaults
from symamp.bounds.hypotheses import (
    ANY_TWO,
    BUDGET,
    FINITE_BUDGET,
    PROBABILITIES,
    SHUFFLED,
    Hypothesis,
    ProofStatus,
    every,
)
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Setting, Subject
from symamp.data_sets.proposer import DataSpace, Proposals, Proposer
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.decompositions.randomizer import Orbit
from symamp.decompositions.to_law import number
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter
from symamp.laws.law import Level
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.described import DescribedFamily, Description, described_family
from symamp.randomizers.families.sampled_coordinate import StateChannel
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import Mechanism
from symamp.randomizers.structures import DisjointCover, ExchangeableSets, Letter, OneHot, Share
from symamp.sums.divergence import Enclosure, Settings

__all__ = [
    "ANY_TWO",
    "BUDGET",
    "EPS0",
    "FINITE_BUDGET",
    "PROBABILITIES",
    "SHUFFLED",
    "Bound",
    "Component",
    "DataSpace",
    "Decomposition",
    "DescribedFamily",
    "Description",
    "DisjointCover",
    "Enclosure",
    "Evidence",
    "ExchangeableSets",
    "Family",
    "FiniteMechanism",
    "Hypothesis",
    "Letter",
    "Level",
    "Mechanism",
    "OneHot",
    "Orbit",
    "PairBound",
    "PairBoundDefaults",
    "Parameter",
    "ProofStatus",
    "Proposals",
    "Proposer",
    "Reduction",
    "Setting",
    "Settings",
    "Share",
    "StateChannel",
    "Subject",
    "at_precision",
    "described_family",
    "every",
    "normal",
    "number",
]
