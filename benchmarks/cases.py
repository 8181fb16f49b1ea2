"""The cases that the benchmarks share: 10-ary randomized response at eps0 = 1, delta = 0.01/n."""

from functools import lru_cache

import symamp as sa
from symamp.bounds.registry import BOUNDS
from symamp.laws.law import Law, Level

MECHANISM = sa.RandomizedResponse(k=10, eps0=1)
DELTAS = {10**3: "1e-5", 10**4: "1e-6", 10**8: "1e-10", 10**12: "1e-14"}
"""0.01/n as exact strings."""


def blanket_law() -> Law:
    """The law of the blanket bound: what the evaluation sees of the mechanism."""
    return BOUNDS["blanket"].bound(MECHANISM).parts[0].law


@lru_cache
def answer(n: int) -> sa.Answer:
    """The certified epsilon at n users; asking for it also warms the caches of the derivation."""
    return sa.epsilon(MECHANISM, n=n, delta=DELTAS[n])


def level(n: int) -> Level:
    """The level at which one evaluation of delta is timed: the certified epsilon."""
    return Level.of_float(answer(n).upper)
