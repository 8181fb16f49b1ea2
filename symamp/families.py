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
from symamp.randomizers.discrete_laplace import DiscreteLaplace as DiscreteLaplace
from symamp.randomizers.families.count_mean_sketch import CountMeanSketch as CountMeanSketch
from symamp.randomizers.families.count_mean_sketch import HadamardCountMeanSketch as HadamardCountMeanSketch
from symamp.randomizers.families.duchi_vector import CorrectedDuchiVector as CorrectedDuchiVector
from symamp.randomizers.families.duchi_vector import DuchiVector as DuchiVector
from symamp.randomizers.families.duchi_vector import EvenDuchiVector as EvenDuchiVector
from symamp.randomizers.families.hadamard import BlockHadamardResponse as BlockHadamardResponse
from symamp.randomizers.families.hadamard import HadamardResponse as HadamardResponse
from symamp.randomizers.families.priv_unit import PrivUnit as PrivUnit
from symamp.randomizers.families.randomized_response import ExponentialMechanism as ExponentialMechanism
from symamp.randomizers.families.randomized_response import LocalHashing as LocalHashing
from symamp.randomizers.families.randomized_response import RandomizedResponse as RandomizedResponse
from symamp.randomizers.families.sampled_coordinate import Harmony as Harmony
from symamp.randomizers.families.sampled_coordinate import PrivKV as PrivKV
from symamp.randomizers.families.sampling_rappor import SamplingRappor as SamplingRappor
from symamp.randomizers.families.sparse import PCKVGRR as PCKVGRR
from symamp.randomizers.families.sparse import Collision as Collision
from symamp.randomizers.families.sparse import NarrowCollision as NarrowCollision
from symamp.randomizers.families.sparse import Wheel as Wheel
from symamp.randomizers.families.staircase import Staircase as Staircase
from symamp.randomizers.families.subsets import SubsetExponential as SubsetExponential
from symamp.randomizers.families.subsets import SubsetSelection as SubsetSelection
from symamp.randomizers.families.unary_encoding import DBitFlip as DBitFlip
from symamp.randomizers.families.unary_encoding import OptimisedUnaryEncoding as OptimisedUnaryEncoding
from symamp.randomizers.families.unary_encoding import Rappor as Rappor
from symamp.randomizers.families.unary_encoding import UnaryEncoding as UnaryEncoding
from symamp.randomizers.families.windows import OneBitMean as OneBitMean
from symamp.randomizers.families.windows import PiecewiseMechanism as PiecewiseMechanism
from symamp.randomizers.families.windows import SquareWave as SquareWave
from symamp.randomizers.noise.distributions import Cauchy as Cauchy
from symamp.randomizers.noise.distributions import ClippedLaplace as ClippedLaplace
from symamp.randomizers.noise.distributions import DiscreteGaussian as DiscreteGaussian
from symamp.randomizers.noise.distributions import Gaussian as Gaussian
from symamp.randomizers.noise.distributions import Laplace as Laplace
from symamp.randomizers.noise.distributions import Logistic as Logistic
from symamp.randomizers.noise.nearby import PlanarLaplace as PlanarLaplace
from symamp.randomizers.pure_ldp import PureLDP as PureLDP

__all__ = sorted(name for name, found in globals().items() if isinstance(found, type))


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
