"""CPU time of certified epsilon for noise with a density: the usual cases and the hard ones (docs/performance.md).

Each case is asked once, with the caches of the noise empty; ``python benchmarks/noise.py`` prints the table. The last
column is the width of the enclosure of the bound itself, in epsilon.
"""

from __future__ import annotations

from time import process_time

import symamp as sa

LAPLACE = [
    (sa.Laplace(eps0=eps0), n, delta)
    for eps0 in ("1/10", "1", "4")
    for n, delta in ((10**3, "1e-6"), (10**6, "1e-6"), (10**9, "1e-9"), (10**12, "1e-9"))
]
GAUSSIAN = [(sa.Gaussian(sigma=sigma), n, "1e-6") for sigma in ("5", "2", "1") for n in (10**6, 10**3)]
HARD = [
    (sa.Gaussian(sigma="1/2"), 10**6, "1e-6"),
    (sa.Gaussian(sigma=1), 100, "1e-6"),
    (sa.Gaussian(sigma=1), 10, "1e-4"),
    (sa.Gaussian(sigma=2), 2, "1e-4"),
    (sa.Laplace(eps0=1), 10, "1e-4"),
    (sa.Laplace(eps0=4), 100, "1e-6"),
    (sa.Laplace(eps0=8), 30, "1e-6"),
    (sa.Laplace(eps0=8), 10**4, "1e-6"),
    (sa.Gaussian(sigma="1/2"), 10**3, "1e-6"),
    (sa.Gaussian(sigma="1/2"), 100, "1e-6"),
    (sa.Gaussian(sigma="1/4"), 10**6, "1e-6"),
    (sa.Gaussian(sigma="1/4"), 10**3, "1e-6"),
    (sa.Gaussian(sigma=1), 10**6, "1e-60"),
]


def main() -> None:
    """Print one line for each case."""
    sa.epsilon(sa.RandomizedResponse(k=2, eps0=1), n=1000, delta="1e-6")
    for noise, n, delta in (*LAPLACE, *GAUSSIAN, *HARD):
        start = process_time()
        found = sa.epsilon(noise, n=n, delta=delta, method="worst_pair")
        spent = process_time() - start
        gap = found.bound.upper / found.bound.lower - 1
        print(f"| {noise!r} | {n:,} | {delta} | {spent:.2f} s | {found.bound.upper:.6g} | {gap:.0e} |", flush=True)


if __name__ == "__main__":
    main()
