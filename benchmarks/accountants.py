"""Three accountants on the same round, in one run: ``python -m benchmarks.accountants`` prints two tables.

The round is that of every randomizer with budget 4 and 10^4 users (the generic bound). First eps at delta = 1e-6, with
the seconds of processor time; then what happens at the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from time import process_time
from typing import Any

from scipy.optimize import brentq

import symamp as sa
from benchmarks.koskela import ClonePair, composed, divergence

EPS0, N, DELTA = 4, 10**4, "1e-6"
POINTS, LENGTH = 10**7, 20.0
T = exp(EPS0)


def generic(n: int = N) -> sa.Profile:
    """Return the round, prepared anew."""
    return sa.profile(sa.PureLDP(eps0=EPS0), n=n, method="generic")


def clones(n: int = N) -> ClonePair:
    """Return the pair that Koskela's algorithm takes for the same round."""
    return ClonePair(n, T, 2.0 / (T + 1.0))


def by_symamp(count: int, delta: str = DELTA) -> float:
    """Return the upper end for many rounds; the bound itself is less than 2e-4 below."""
    return float(generic().rounds(count).epsilon(delta).upper)


def by_dp_accounting(count: int, delta: str = DELTA) -> float:
    """Return eps from the package dp_accounting, on certified values of the curve."""
    one = generic().to_dp_accounting()
    return float(one.self_compose(count).get_epsilon_for_delta(float(delta)))


def by_koskela(count: int, delta: str = DELTA, length: float = LENGTH) -> float:
    """Return eps from the convolution of all counts, rounded up to a grid."""
    masses = clones().grid(POINTS, length)
    many = composed(masses, count)
    return float(brentq(lambda eps: divergence(many, length, eps) - float(delta), 0.0, length, xtol=1e-7))


def _timed(call: Callable[..., Any], *words: Any) -> tuple[Any, float]:
    start = process_time()
    found = call(*words)
    return found, process_time() - start


def main() -> None:
    """Print the tables."""
    print("| rounds | symamp | s | dp_accounting | s | Koskela | s |\n|" + " --- |" * 7)
    by_symamp(2)
    for count in (2, 16, 128):
        upper, seconds = _timed(by_symamp, count)
        cells = [f"{upper:.7g} | {seconds:.1f}"]
        for call in (by_dp_accounting, by_koskela):
            found, seconds = _timed(call, count)
            cells.append(f"{found:.7g} ({found / upper - 1:+.1e}) | {seconds:.1f}")
        print(f"| {count} |", " | ".join(cells), "|", flush=True)
    print("\n| case | symamp | the other |\n| --- | --- | --- |")
    krr = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6)
    pld = krr.to_dp_accounting(delta="1e-30").self_compose(1000)
    for delta in ("1e-14", "1e-15", "1e-17", "1e-30"):
        ours = krr.rounds(1000).epsilon(delta)
        theirs = pld.get_epsilon_for_delta(float(delta))
        case, bracket = f"10-RR, 1,000 rounds, delta = {delta}", f"[{ours.lower:.6f}, {ours.upper:.6f}]"
        print(f"| {case} | {bracket} | dp_accounting: {theirs:.6f} |")
    for eps in ("1", "3.6"):
        truth = sa.delta(sa.PureLDP(eps0=EPS0), n=50, eps=eps, method="generic").bound
        for every in (True, False):
            masses = clones(50).grid(10**6, LENGTH, every)
            found, lost = divergence(masses, LENGTH, float(eps)), 1.0 - masses.sum()
            name = "all counts" if every else f"without b = 0, mass {lost:.4f} lost"
            print(f"| n = 50, one round, delta at eps = {eps} | {truth.upper:.6g} | Koskela, {name}: {found:.6g} |")
    ours, masses = generic().rounds(1024).delta("19").upper, composed(clones().grid(POINTS, LENGTH), 1024)
    case = f"n = {N:,}, 1,024 rounds, delta at eps = 19"
    print(f"| {case} | {ours:.4g} | Koskela, grid to {LENGTH:g}: {divergence(masses, LENGTH, 19.0):.4g} |")


if __name__ == "__main__":
    main()
