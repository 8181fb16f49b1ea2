"""symamp: privacy amplification by shuffling, derived as formulas and evaluated with a guarantee."""

from symamp import describe, errors, exact
from symamp.accounting.composition import ComposedAnswer
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
from symamp.bounds.proof_status import ProofStatus
from symamp.decompositions.decomposition import Decomposition
from symamp.formulas.parameter import Parameter
from symamp.literature.compare import Comparison, compare
from symamp.questions.answer import Answer
from symamp.questions.ask import delta, epsilon
from symamp.questions.choose import Candidate, Ranking, choose
from symamp.questions.curve import Curve
from symamp.questions.estimate import Estimate, estimate
from symamp.questions.inverse import Inverse, largest_eps0, least_n
from symamp.questions.method_check import method_check
from symamp.questions.sum_law import SumLaw, sum_law
from symamp.questions.sweep import Sweep, curve, sweep
from symamp.questions.users_who_differ import HeterogeneousAnswer
from symamp.randomizers.combined import joint, parallel, poisson_subsample
from symamp.randomizers.discrete_laplace import DiscreteLaplace
from symamp.randomizers.families.block_hadamard import BlockHadamardResponse
from symamp.randomizers.families.cms import CountMeanSketch
from symamp.randomizers.families.collision import Collision
from symamp.randomizers.families.d_bit_flip import DBitFlip
from symamp.randomizers.families.duchi_vector import DuchiVector
from symamp.randomizers.families.exponential import ExponentialMechanism
from symamp.randomizers.families.hadamard_response import HadamardResponse
from symamp.randomizers.families.harmony import Harmony
from symamp.randomizers.families.hcms import HadamardCountMeanSketch
from symamp.randomizers.families.local_hashing import LocalHashing
from symamp.randomizers.families.one_bit_mean import OneBitMean
from symamp.randomizers.families.pckv_grr import PCKVGRR
from symamp.randomizers.families.piecewise import PiecewiseMechanism
from symamp.randomizers.families.priv_kv import PrivKV
from symamp.randomizers.families.priv_unit import PrivUnit
from symamp.randomizers.families.randomized_response import RandomizedResponse
from symamp.randomizers.families.sampling_rappor import SamplingRappor
from symamp.randomizers.families.square_wave import SquareWave
from symamp.randomizers.families.staircase import Staircase
from symamp.randomizers.families.subset_exponential import SubsetExponential
from symamp.randomizers.families.subset_selection import SubsetSelection
from symamp.randomizers.families.unary_encoding import UnaryEncoding
from symamp.randomizers.families.wheel import Wheel
from symamp.randomizers.files.load import load_mechanism, mechanism_from_json
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.noise.cauchy import Cauchy
from symamp.randomizers.noise.clipped_laplace import ClippedLaplace
from symamp.randomizers.noise.density_mechanism import DensityMechanism
from symamp.randomizers.noise.discrete_gaussian import DiscreteGaussian
from symamp.randomizers.noise.gaussian import Gaussian
from symamp.randomizers.noise.laplace import Laplace
from symamp.randomizers.noise.logistic import Logistic
from symamp.randomizers.noise.planar_laplace import PlanarLaplace
from symamp.randomizers.pure_ldp import PureLDP
from symamp.settings.users_who_differ import HeterogeneousUsers, heterogeneous

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
    "HeterogeneousAnswer",
    "HeterogeneousUsers",
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
    "ProofStatus",
    "PureLDP",
    "RandomizedResponse",
    "Ranking",
    "RenyiCurve",
    "SamplingRappor",
    "SquareWave",
    "Staircase",
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
