"""symamp: privacy amplification by shuffling, derived as formulas and evaluated with a guarantee."""

from symamp import describe, errors, exact, families, training
from symamp.accounting.composition import Composition
from symamp.accounting.coordinates import CoordinateSums
from symamp.accounting.privacy_profile import (
    GivenProfile,
    Profile,
    compose,
    delta,
    epsilon,
    from_privacy_profile,
    pld_accountant,
    profile,
)
from symamp.accounting.renyi import RenyiCurve
from symamp.accounting.several_reports import SeveralReports, several_reports
from symamp.accounting.sweep import Sweep, curve, sweep
from symamp.accounting.tradeoff import TradeOff
from symamp.bounds.hypotheses import ProofStatus
from symamp.decompositions.decomposition import Decomposition
from symamp.families import (
    PCKVGRR,
    BlockHadamardResponse,
    Cauchy,
    ClippedLaplace,
    Collision,
    CountMeanSketch,
    DBitFlip,
    DiscreteGaussian,
    DiscreteLaplace,
    DuchiVector,
    ExponentialMechanism,
    Gaussian,
    HadamardCountMeanSketch,
    HadamardResponse,
    Harmony,
    Laplace,
    LocalHashing,
    Logistic,
    OneBitMean,
    PiecewiseMechanism,
    PlanarLaplace,
    PrivKV,
    PrivUnit,
    PureLDP,
    RandomizedResponse,
    SamplingRappor,
    SquareWave,
    Staircase,
    SubsetExponential,
    SubsetSelection,
    UnaryEncoding,
    Wheel,
)
from symamp.formulas.parameter import Parameter
from symamp.literature.compare import Comparison, compare
from symamp.planning.inverse import Inverse, largest_eps0, least_n, most_rounds
from symamp.planning.plan import Candidate, Plan, plan
from symamp.questions.answer import Answer
from symamp.questions.curve import Curve
from symamp.questions.methods import Methods, methods
from symamp.questions.one_analysis import Estimate, SumLaw, estimate, method_check, sum_law
from symamp.questions.risk import Risk
from symamp.questions.sampler_audit import InputAudit, SamplerAudit, audit_sampler
from symamp.randomizers.combined import joint, parallel, poisson_subsample
from symamp.randomizers.files.load import load_mechanism, mechanism_from_json
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.noise.density_mechanism import DensityMechanism
from symamp.settings.participation import Participation
from symamp.settings.saying import participation
from symamp.settings.users_who_differ import HeterogeneousUsers, heterogeneous

__version__: str

__all__ = [
    "PCKVGRR",
    "Answer",
    "BlockHadamardResponse",
    "Candidate",
    "Cauchy",
    "ClippedLaplace",
    "Collision",
    "Comparison",
    "Composition",
    "CoordinateSums",
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
    "HeterogeneousUsers",
    "InputAudit",
    "Inverse",
    "Laplace",
    "LocalHashing",
    "Logistic",
    "Methods",
    "OneBitMean",
    "Parameter",
    "Participation",
    "PiecewiseMechanism",
    "Plan",
    "PlanarLaplace",
    "PrivKV",
    "PrivUnit",
    "Profile",
    "ProofStatus",
    "PureLDP",
    "RandomizedResponse",
    "RenyiCurve",
    "Risk",
    "SamplerAudit",
    "SamplingRappor",
    "SeveralReports",
    "SquareWave",
    "Staircase",
    "SubsetExponential",
    "SubsetSelection",
    "SumLaw",
    "Sweep",
    "TradeOff",
    "UnaryEncoding",
    "Wheel",
    "audit_sampler",
    "compare",
    "compose",
    "curve",
    "delta",
    "describe",
    "epsilon",
    "errors",
    "estimate",
    "exact",
    "families",
    "from_privacy_profile",
    "heterogeneous",
    "joint",
    "largest_eps0",
    "least_n",
    "load_mechanism",
    "mechanism_from_json",
    "method_check",
    "methods",
    "most_rounds",
    "parallel",
    "participation",
    "plan",
    "pld_accountant",
    "poisson_subsample",
    "profile",
    "several_reports",
    "sum_law",
    "sweep",
    "training",
]
