"""A search for a violation of Theorem 4.8 of Wang (2023) at the edge of its condition, where it claims most.

Run: python docs/findings/theorem_4_8.py [seconds]. Draws cells (k-ary response, budget, delta; n the least that the
condition allows, or a few times that), and asks whether the certified divergence at the claimed eps exceeds delta.
Prints the number of cells, how many are refuted, and the largest ratio of the certified divergence to delta.
"""

import sys
import time
from math import ceil
from random import Random

from flint import fmpq

import symamp as sa
from symamp.literature.shelf import CLOSED_FORMS

FORM = CLOSED_FORMS["wang_4_8"]
SIZES, BUDGETS = (3, 4, 5, 8, 10, 30, 100, 1000, 10**5), ("0.1", "0.5", "1", "2", "3", "4", "6", "8")
DELTAS = range(1, 13)


def cell(k, eps0, power, factor):
    """Return (n, eps claimed, certified divergence over delta), or None where the formula says nothing."""
    mechanism, delta = sa.RandomizedResponse(k=k, eps0=eps0), fmpq(1, 10**power)
    low, high = 2, 10**12
    while low < high:
        n = (low + high) // 2
        low, high = (low, n) if all(c.met for c in FORM.epsilon_at(mechanism, n, delta).conditions) else (n + 1, high)
    n = ceil(low * factor)
    claimed = FORM.epsilon_at(mechanism, n, delta).value
    if claimed is None or claimed >= float(eps0):
        return None
    return n, claimed, sa.delta(mechanism, n=n, eps=claimed, method="blanket").lower * 10.0**power


if __name__ == "__main__":
    seconds, random = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0, Random(8)
    start, seen, bad, most = time.monotonic(), 0, 0, (0.0, None)
    while time.monotonic() - start < seconds:
        drawn = random.choice(SIZES), random.choice(BUDGETS), random.choice(DELTAS), random.choice((1, 1, 2, 10))
        found = cell(*drawn)
        if found is not None:
            seen, bad = seen + 1, bad + (found[2] > 1.0)
            most = max(most, (found[2], (*drawn, found[0], found[1])), key=lambda m: m[0])
            print(f"{seen} cells, {bad} refuted, largest ratio {most[0]:.3g} at {most[1]}", flush=True)
