"""symamp: privacy amplification by shuffling, derived as formulas and evaluated with a guarantee."""

from symamp import describe, errors, exact
from symamp.accounting.composed_answer import ComposedAnswer
from symamp.accounting.privacy_profile import (
    GivenProfile,
    Profile,
    compose,
    from_privacy_profile,
    pld_accountant,
    profile,
)
from symamp.accounting.renyi import RenyiCurve
from symamp.accounting.rounds import ComposedCurve, Composition
from symamp.accounting.tradeoff import TradeOff
from symamp.algebra.parameter import Parameter
from symamp.amplification.answer import Answer
from symamp.amplification.choose import Candidate, Ranking, choose
from symamp.amplification.crowd_answer import CrowdAnswer
from symamp.amplification.curve import Curve
from symamp.amplification.estimate import Estimate, estimate
from symamp.amplification.inverse import largest_eps0, least_n
from symamp.amplification.inverse_bracket import Inverse
from symamp.amplification.method_check import method_check
from symamp.amplification.questions import delta, epsilon
from symamp.amplification.sum_law import SumLaw, sum_law
from symamp.amplification.sweep import curve, sweep
from symamp.amplification.sweep_result import Sweep
from symamp.analyses.crowd import Crowd, heterogeneous
from symamp.analyses.standing import Standing
from symamp.derivation.decomposition import Decomposition
from symamp.literature.compare import compare
from symamp.literature.comparison import Comparison
from symamp.mechanisms.continuous.cauchy import Cauchy
from symamp.mechanisms.continuous.clipped_laplace import ClippedLaplace
from symamp.mechanisms.continuous.density_mechanism import DensityMechanism
from symamp.mechanisms.continuous.discrete_gaussian import DiscreteGaussian
from symamp.mechanisms.continuous.gaussian import Gaussian
from symamp.mechanisms.continuous.laplace import Laplace
from symamp.mechanisms.continuous.logistic import Logistic
from symamp.mechanisms.continuous.planar_laplace import PlanarLaplace
from symamp.mechanisms.discrete_laplace import DiscreteLaplace
from symamp.mechanisms.families.block_hadamard import BlockHadamardResponse
from symamp.mechanisms.families.cms import CountMeanSketch
from symamp.mechanisms.families.collision import Collision
from symamp.mechanisms.families.d_bit_flip import DBitFlip
from symamp.mechanisms.families.duchi_vector import DuchiVector
from symamp.mechanisms.families.exponential import ExponentialMechanism
from symamp.mechanisms.families.hadamard_response import HadamardResponse
from symamp.mechanisms.families.harmony import Harmony
from symamp.mechanisms.families.hcms import HadamardCountMeanSketch
from symamp.mechanisms.families.local_hashing import LocalHashing
from symamp.mechanisms.families.one_bit_mean import OneBitMean
from symamp.mechanisms.families.pckv_grr import PCKVGRR
from symamp.mechanisms.families.piecewise import PiecewiseMechanism
from symamp.mechanisms.families.priv_kv import PrivKV
from symamp.mechanisms.families.priv_unit import PrivUnit
from symamp.mechanisms.families.randomized_response import RandomizedResponse
from symamp.mechanisms.families.sampling_rappor import SamplingRappor
from symamp.mechanisms.families.square_wave import SquareWave
from symamp.mechanisms.families.staircase import Staircase
from symamp.mechanisms.families.subset_exponential import SubsetExponential
from symamp.mechanisms.families.subset_selection import SubsetSelection
from symamp.mechanisms.families.unary_encoding import UnaryEncoding
from symamp.mechanisms.families.wheel import Wheel
from symamp.mechanisms.files.load import load_mechanism, mechanism_from_json
from symamp.mechanisms.finite import FiniteMechanism
from symamp.mechanisms.joint import joint
from symamp.mechanisms.parallel import parallel, poisson_subsample
from symamp.mechanisms.pure_ldp import PureLDP

__version__ = "0.1.0"

__all__ = [
    "PCKVGRR",
    "Answer",
    "BlockHadamardResponse",
    "Candidate",
    "Cauchy",
    "ClippedLaplace",
    "Collision",
    "Comparison",
    "ComposedAnswer",
    "ComposedCurve",
    "Composition",
    "CountMeanSketch",
    "Crowd",
    "CrowdAnswer",
    "Curve",
    "DBitFlip",
    "Decomposition",
    "DensityMechanism",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DuchiVector",
    "Estimate",
    "ExponentialMechanism",
    "FiniteMechanism",
    "Gaussian",
    "GivenProfile",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "Harmony",
    "Inverse",
    "Laplace",
    "LocalHashing",
    "Logistic",
    "OneBitMean",
    "Parameter",
    "PiecewiseMechanism",
    "PlanarLaplace",
    "PrivKV",
    "PrivUnit",
    "Profile",
    "PureLDP",
    "RandomizedResponse",
    "Ranking",
    "RenyiCurve",
    "SamplingRappor",
    "SquareWave",
    "Staircase",
    "Standing",
    "SubsetExponential",
    "SubsetSelection",
    "SumLaw",
    "Sweep",
    "TradeOff",
    "UnaryEncoding",
    "Wheel",
    "choose",
    "compare",
    "compose",
    "curve",
    "delta",
    "describe",
    "epsilon",
    "errors",
    "estimate",
    "exact",
    "from_privacy_profile",
    "heterogeneous",
    "joint",
    "largest_eps0",
    "least_n",
    "load_mechanism",
    "mechanism_from_json",
    "method_check",
    "parallel",
    "pld_accountant",
    "poisson_subsample",
    "profile",
    "sum_law",
    "sweep",
]
