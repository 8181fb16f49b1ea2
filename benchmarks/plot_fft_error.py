"""Draws docs/fft_error.svg: the FFT engine and Algorithm 7 of Su, Cheng, Wang (2025) against certified values.

Run from the root of the repository: ``python -m benchmarks.plot_fft_error``. Takes about a minute.
"""

from functools import partial
from math import expm1
from pathlib import Path

import matplotlib
import numpy as np

import symamp as sa
from benchmarks import algorithm7
from benchmarks.cases import MECHANISM, blanket_law
from symamp.laws.law import Level
from symamp.sums.divergence import Settings, enclose_divergence

STEP = expm1(1.0) / 120
"""Ten times that of the paper, so that Algorithm 7 fits into memory."""
TARGET = 0.1
LONGEST = 8_000_000

gparv = partial(algorithm7.randomized_response, 10, 1.0)


def level(n: int) -> float:
    """A level at which delta falls about like 0.01/n."""
    return 2.3 / n**0.5


def certified(n: int) -> float:
    """delta of the blanket bound, to nine digits."""
    return float(enclose_divergence(blanket_law(), Level.of_float(level(n)), n, Settings(gap=1e-9)).upper)


def errors(n: int) -> tuple[float, float, float]:
    """Relative errors at the common step: Algorithm 7, upper and lower end of the FFT engine."""
    truth = certified(n)
    found = sa.sum_law(MECHANISM, n=n, eps=level(n), step=STEP, context="numpy")
    plain = algorithm7.divergence(gparv(level(n)), n, STEP)
    return plain / truth - 1.0, found.upper / truth - 1.0, 1.0 - found.lower / truth


def coarsest_by_algorithm7(n: int) -> float | None:
    """The coarsest step of a grid of ratio 1.1 at which Algorithm 7 errs by at most TARGET, None beyond LONGEST."""
    truth, values = certified(n), [v for v, _ in gparv(level(n))]
    step = 1.0
    while n * (max(values) - min(values)) / step <= LONGEST:
        if algorithm7.divergence(gparv(level(n)), n, step) <= truth * (1.0 + TARGET):
            return step
        step /= 1.1
    return None


def main() -> None:
    """Compute both panels and write the figure."""
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "fft_error"
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    sizes = [round(10 ** (k / 4)) for k in range(4, 18)]
    plain, upper, lower = np.array([errors(n) for n in sizes]).T
    left.loglog(sizes, plain, "o-", markersize=3, label="Algorithm 7")
    left.loglog(sizes, lower, "s-", markersize=3, label="FFT engine, lower end")
    left.loglog(sizes, upper, "^-", markersize=3, label="FFT engine, upper end")
    left.set(xlabel="n", ylabel="relative error of delta", title=f"equal lattice, step {STEP:.4f}")
    left.legend()

    by_plain = [(n, coarsest_by_algorithm7(n)) for n in (round(10 ** (k / 3)) for k in range(3, 11))]
    reached = [(n, step) for n, step in by_plain if step is not None]
    right.loglog(*zip(*reached, strict=True), "o-", markersize=3, label="Algorithm 7, above only")
    ours = [round(10 ** (k / 3)) for k in range(3, 19)]
    steps = [sa.sum_law(MECHANISM, n=n, eps=level(n), gap=TARGET, context="numpy").step for n in ours]
    right.loglog(ours, steps, "s-", markersize=3, label="FFT engine, both sides")
    right.set(xlabel="n", ylabel="step", title=f"lattice for {TARGET:.0%} accuracy")
    right.legend()
    for axes in (left, right):
        axes.grid(alpha=0.3)
    target = Path(__file__).resolve().parent.parent / "docs" / "fft_error.svg"
    figure.savefig(target, metadata={"Date": None})
    for n, *row in zip(sizes, plain, upper, lower, strict=True):
        print(f"n = {n}: Algorithm 7 {row[0]:.3g}, upper {row[1]:.3g}, lower {row[2]:.3g}")
    print("Algorithm 7:", ", ".join(f"{n}: {step:.3g}" for n, step in reached))
    print("FFT engine:", ", ".join(f"{n}: {step:.3g}" for n, step in zip(ours, steps, strict=True)))


if __name__ == "__main__":
    main()
