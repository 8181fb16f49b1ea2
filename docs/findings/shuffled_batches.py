"""Shuffled batches, random allocation and Poisson sampling at the same noise: the table of docs/training.md.

Run: python docs/findings/shuffled_batches.py (some minutes).
"""

from __future__ import annotations

from itertools import product

import symamp as sa

DELTA = "1e-6"


def row(sigma: str, steps: int) -> list[str]:
    """Return the cells of one row; every number is a certified end, rounded outward to five digits."""
    noise = sa.training.GaussianStep(sigma=sigma)
    allocation = sa.training.random_allocation(noise=noise, steps=steps).epsilon(DELTA)
    poisson = sa.training.poisson(noise=noise, steps=steps, rate=f"1/{steps}").epsilon(DELTA)
    shuffled = sa.training.shuffled_batches(noise=noise, steps=steps).epsilon(DELTA)
    low, high = shuffled.lower, shuffled.upper
    shown = "**yes**" if poisson.upper < low else "no"
    factor = f"{low / poisson.upper:.2g}" if poisson.upper < low else ""
    return [
        sigma,
        f"{steps:,}",
        f"{allocation.lower:.6f}",
        f"[{poisson.lower:.5f}, {poisson.upper:.5f}]",
        f"{low:.5f}",
        f"{high:.5f}",
        shown,
        factor,
    ]


if __name__ == "__main__":
    print("| sigma | steps | allocation | Poisson | shuffled, at least | at most | Poisson below? | factor |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for sigma, steps in product(("1", "2", "4"), (100, 1000, 10_000)):
        print("| " + " | ".join(row(sigma, steps)) + " |", flush=True)
