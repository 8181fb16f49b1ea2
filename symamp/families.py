"""Every named local randomizer: the catalogue, noise, and any randomizer with a given budget.

The most common ones are at the top level, too: ``sa.RandomizedResponse`` is ``sa.families.RandomizedResponse``.

>>> import symamp as sa
>>> sa.families.NarrowCollision().name
'Collision, s < l <= 2s'
>>> [name for name in dir(sa.families) if "Hadamard" in name]
['BlockHadamardResponse', 'HadamardCountMeanSketch', 'HadamardResponse']
"""

from typing import TYPE_CHECKING

from symamp.randomizers.catalogue import named
from symamp.randomizers.discrete_laplace import DiscreteLaplace
from symamp.randomizers.families.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from symamp.randomizers.families.duchi_vector import CorrectedDuchiVector, DuchiVector, EvenDuchiVector
from symamp.randomizers.families.hadamard import BlockHadamardResponse, HadamardResponse
from symamp.randomizers.families.priv_unit import PrivUnit
from symamp.randomizers.families.randomized_response import ExponentialMechanism, LocalHashing, RandomizedResponse
from symamp.randomizers.families.sampled_coordinate import Harmony, PrivKV
from symamp.randomizers.families.sampling_rappor import SamplingRappor
from symamp.randomizers.families.sparse import PCKVGRR, Collision, NarrowCollision, Wheel
from symamp.randomizers.families.staircase import Staircase
from symamp.randomizers.families.subsets import SubsetExponential, SubsetSelection
from symamp.randomizers.families.unary_encoding import DBitFlip, OptimisedUnaryEncoding, Rappor, UnaryEncoding
from symamp.randomizers.families.windows import OneBitMean, PiecewiseMechanism, SquareWave
from symamp.randomizers.noise.distributions import Cauchy, ClippedLaplace, DiscreteGaussian, Gaussian, Laplace, Logistic
from symamp.randomizers.noise.nearby import PlanarLaplace
from symamp.randomizers.pure_ldp import PureLDP

__all__ = [
    "PCKVGRR",
    "BlockHadamardResponse",
    "Cauchy",
    "ClippedLaplace",
    "Collision",
    "CorrectedDuchiVector",
    "CountMeanSketch",
    "DBitFlip",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DuchiVector",
    "EvenDuchiVector",
    "ExponentialMechanism",
    "Gaussian",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "Harmony",
    "Laplace",
    "LocalHashing",
    "Logistic",
    "NarrowCollision",
    "OneBitMean",
    "OptimisedUnaryEncoding",
    "PiecewiseMechanism",
    "PlanarLaplace",
    "PrivKV",
    "PrivUnit",
    "PureLDP",
    "RandomizedResponse",
    "Rappor",
    "SamplingRappor",
    "SquareWave",
    "Staircase",
    "SubsetExponential",
    "SubsetSelection",
    "UnaryEncoding",
    "Wheel",
]


def _all() -> dict[str, object]:
    """Return all classes by name: those above, and families in files that were added to the folder of the catalogue."""
    return {**{name: globals()[name] for name in __all__}, **{found.__name__: found for found in named().values()}}


def __dir__() -> list[str]:
    return sorted(_all())


if not TYPE_CHECKING:  # type checkers know the names above

    def __getattr__(name: str) -> object:
        try:
            return _all()[name]
        except KeyError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
