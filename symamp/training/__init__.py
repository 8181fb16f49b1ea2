"""Training with noise (DP-SGD): random allocation, shuffled batches and Poisson sampling, with certified answers."""

from symamp.training.mechanisms import Training, random_allocation
from symamp.training.steps import DiscreteGaussianStep, GaussianStep, NoiseStep, Step, TableStep

__all__ = ["DiscreteGaussianStep", "GaussianStep", "NoiseStep", "Step", "TableStep", "Training", "random_allocation"]
