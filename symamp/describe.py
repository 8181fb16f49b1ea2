"""The words in which mechanisms and analyses are described: what a family or an analysis of one's own needs.

>>> from symamp import describe
>>> describe.Orbit("y = x0", 1, (1,)).label
'y = x0'
"""

from symamp.algebra.normal_form import normal
from symamp.algebra.parameter import EPS0, Parameter
from symamp.analyses.analysis import Analysis, finite_budget, one_mechanism
from symamp.analyses.part import Evidence, Part
from symamp.analyses.reduction import Reduction
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject
from symamp.derivation.decomposition import Component, Decomposition
from symamp.derivation.orbit import Orbit
from symamp.mechanisms.described import DescribedFamily, described_family
from symamp.mechanisms.family import Family
from symamp.mechanisms.family_description import Description
from symamp.mechanisms.finite import FiniteMechanism
from symamp.mechanisms.mechanism import Mechanism
from symamp.mechanisms.structures.disjoint_cover import DisjointCover
from symamp.mechanisms.structures.exchangeable import ExchangeableSets, Share
from symamp.mechanisms.structures.one_hot import Letter, OneHot
from symamp.mechanisms.structures.state_channel import StateChannel

__all__ = [
    "EPS0",
    "Analysis",
    "Component",
    "Decomposition",
    "DescribedFamily",
    "Description",
    "DisjointCover",
    "Evidence",
    "ExchangeableSets",
    "Family",
    "FiniteMechanism",
    "Letter",
    "Mechanism",
    "OneHot",
    "Orbit",
    "Parameter",
    "Part",
    "Reduction",
    "Share",
    "Standing",
    "StateChannel",
    "Subject",
    "described_family",
    "finite_budget",
    "normal",
    "one_mechanism",
]
