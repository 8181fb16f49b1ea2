"""Training with noise (DP-SGD): random allocation, shuffled batches and Poisson sampling, with certified answers.

>>> import symamp as sa
>>> noise = sa.training.GaussianStep(sigma=2)
>>> print(sa.training.random_allocation(noise=noise, steps=1000, neighbours="add_remove").epsilon("1e-6"))
epsilon in [0.05923145677, 0.05923145678]  (delta = 1e-6; 1 of 1,000 steps, GaussianStep(sigma=2); larger: remove)
"""

from symamp.training.mechanisms import (
    Training,
    from_dp_event,
    least_sigma,
    most_epochs,
    poisson,
    random_allocation,
    shuffled_batches,
)
from symamp.training.steps import DiscreteGaussianStep, GaussianStep, NoiseStep, Step, TableStep

__all__ = [
    "DiscreteGaussianStep",
    "GaussianStep",
    "NoiseStep",
    "Step",
    "TableStep",
    "Training",
    "from_dp_event",
    "least_sigma",
    "most_epochs",
    "poisson",
    "random_allocation",
    "shuffled_batches",
]


def __dir__() -> list[str]:
    return __all__
