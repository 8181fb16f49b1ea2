"""Shuffled batches, random allocation and Poisson sampling at the same noise: the table of docs/training.md.

Run: python docs/findings/shuffled_batches.py (some minutes).
"""

from __future__ import annotations

from itertools import product

import symamp as sa
from symamp.numbers.dyadic import decimal_end

DELTA = "1e-6"


def row(sigma: str, steps: int) -> list[str]:
    """Return the cells of one row; every number is a certified end, rounded outward."""
    noise = sa.training.GaussianStep(sigma=sigma)
    allocation = sa.training.random_allocation(noise=noise, steps=steps, neighbours="add_remove").epsilon(DELTA)
    poisson = sa.training.poisson(noise=noise, steps=steps, rate=f"1/{steps}", neighbours="add_remove").epsilon(DELTA)
    shuffled = sa.training.shuffled_batches(noise=noise, steps=steps, neighbours="add_remove").epsilon(DELTA)
    low, high = shuffled.lower, shuffled.upper
    shown = "**yes**" if poisson.upper < low else "no"
    factor = f"{low / poisson.upper:.2g}" if poisson.upper < low else ""
    return [
        sigma,
        f"{steps:,}",
        decimal_end(allocation.upper, 6, down=False),
        f"[{decimal_end(poisson.lower, 5, down=True)}, {decimal_end(poisson.upper, 5, down=False)}]",
        decimal_end(low, 5, down=True),
        decimal_end(high, 5, down=False),
        shown,
        factor,
    ]


if __name__ == "__main__":
    print("| sigma | steps | allocation | Poisson | shuffled, at least | at most | Poisson below? | factor |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for sigma, steps in product(("1", "2", "4"), (100, 1000, 10_000)):
        print("| " + " | ".join(row(sigma, steps)) + " |", flush=True)
