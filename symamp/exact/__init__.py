"""Exact small cases: the true divergence of shuffled reports and the worst data set, without a bound.

>>> import symamp as sa
>>> coin = sa.FiniteMechanism({"a": {"0": "2/3", "1": "1/3"}, "b": {"0": "1/3", "1": "2/3"}})
>>> sa.exact.divergence(coin, ["a", "b", "b"], ["b", "b", "b"], "log(3/2)")
Divergence(exact=1/54, lower=0.0185..., upper=0.0185...)
"""

from symamp.exact.histograms import Divergence, divergence
from symamp.exact.worst_dataset import Neighbours, WorstDataset, worst_dataset

__all__ = ["Divergence", "Neighbours", "WorstDataset", "divergence", "worst_dataset"]


def __dir__() -> list[str]:
    return __all__
