"""The classes that describe mechanisms, bounds and data sets: what a new family or a new bound imports.

>>> from symamp import describe
>>> describe.Orbit("y = x0", 1, (1,)).label
'y = x0'
"""

from symamp.bounds.bound import Bound as Bound
from symamp.bounds.bound import Evidence as Evidence
from symamp.bounds.bound import PairBound as PairBound
from symamp.bounds.bound import PairBoundDefaults as PairBoundDefaults
from symamp.bounds.hypotheses import ANY_TWO as ANY_TWO
from symamp.bounds.hypotheses import BUDGET as BUDGET
from symamp.bounds.hypotheses import FINITE_BUDGET as FINITE_BUDGET
from symamp.bounds.hypotheses import PROBABILITIES as PROBABILITIES
from symamp.bounds.hypotheses import SHUFFLED as SHUFFLED
from symamp.bounds.hypotheses import Hypothesis as Hypothesis
from symamp.bounds.hypotheses import ProofStatus as ProofStatus
from symamp.bounds.hypotheses import every as every
from symamp.bounds.reduction import Reduction as Reduction
from symamp.bounds.subject import Setting as Setting
from symamp.bounds.subject import Subject as Subject
from symamp.data_sets.proposer import DataSpace as DataSpace
from symamp.data_sets.proposer import Proposals as Proposals
from symamp.data_sets.proposer import Proposer as Proposer
from symamp.decompositions.decomposition import Component as Component
from symamp.decompositions.decomposition import Decomposition as Decomposition
from symamp.decompositions.randomizer import Orbit as Orbit
from symamp.decompositions.to_law import number as number
from symamp.formulas.normal_form import normal as normal
from symamp.formulas.parameter import EPS0 as EPS0
from symamp.formulas.parameter import Parameter as Parameter
from symamp.laws.law import Level as Level
from symamp.numbers.surroundings import at_precision as at_precision
from symamp.randomizers.described import DescribedFamily as DescribedFamily
from symamp.randomizers.described import Description as Description
from symamp.randomizers.described import described_family as described_family
from symamp.randomizers.families.sampled_coordinate import StateChannel as StateChannel
from symamp.randomizers.family import Family as Family
from symamp.randomizers.finite import FiniteMechanism as FiniteMechanism
from symamp.randomizers.mechanism import Mechanism as Mechanism
from symamp.randomizers.structures import DisjointCover as DisjointCover
from symamp.randomizers.structures import ExchangeableSets as ExchangeableSets
from symamp.randomizers.structures import Letter as Letter
from symamp.randomizers.structures import OneHot as OneHot
from symamp.randomizers.structures import Share as Share
from symamp.sums.divergence import Enclosure as Enclosure
from symamp.sums.divergence import Settings as Settings

__all__ = [name for name in globals() if name[0].isalpha()]
