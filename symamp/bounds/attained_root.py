"""The eps at which a bound that data sets attain is delta: from the worst data set at one level to that at the next."""

from __future__ import annotations

from collections.abc import Hashable
from math import inf

from symamp.bounds.bound import PairBound
from symamp.laws.law import Level
from symamp.sums.divergence import Settings
from symamp.sums.inversion import LARGEST_EPS

_ROUNDS, _INSIDE = 6, 0.999


def attained_root(
    part: PairBound, largest: float, n: int, log_delta: float, settings: Settings, start: float | None
) -> float:
    """Return an estimate of the eps at which the part is delta: 0 if it is smaller at 0, inf if never.

    ``largest`` is about the eps from which on it is 0, inf if there is none.
    """
    top = min(largest, LARGEST_EPS)
    if top == LARGEST_EPS and part.log_estimate(Level.of_float(top), n, settings) > log_delta:
        return inf
    root = start if start is not None and 0.0 < start < top else 0.0
    seen: dict[Hashable, float] = {}
    for _ in range(_ROUNDS):
        worst = part.attained(Level.of_float(min(root, _INSIDE * top)), n)
        if worst is None or worst.signature in seen:
            break
        seen[worst.signature] = worst.root(n, log_delta, settings, root or None)
        root = max(seen.values())
    return root
