"""Random allocation by three accountants in one run: ``python -m benchmarks.training_accountants`` prints a table.

Needs the packages dp-accounting and PLD-accounting. Each case runs in a process of its own, with a limit of processor
time; seconds are those of the processor, without imports. dp_accounting has no random allocation in this version:
its column is Poisson sampling at the rate 1/steps, which is another mechanism.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from time import process_time

LIMIT = 120
CASES = [("1", 100, "1e-6"), ("1", 1000, "1e-6"), ("1", 1000, "1e-15"), ("0.3", 10, "1e-6")]


def by_symamp(sigma: str, steps: int, delta: str) -> tuple[float, float]:
    """Return the certified bracket."""
    import symamp as sa

    noise = sa.training.GaussianStep(sigma=sigma)
    found = sa.training.random_allocation(noise=noise, steps=steps, neighbours="add_remove").epsilon(delta)
    return found.lower, found.upper


def by_pld_accounting(sigma: str, steps: int, delta: str) -> tuple[float, float]:
    """Return its bounds at their default accuracy."""
    from PLD_accounting import gaussian_allocation_epsilon_range

    upper, lower = gaussian_allocation_epsilon_range(delta=float(delta), sigma=float(sigma), num_steps=steps)
    return lower, upper


def by_dp_accounting(sigma: str, steps: int, delta: str) -> tuple[float]:
    """Return the upper end for Poisson sampling."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_gaussian_mechanism(float(sigma), sampling_prob=1.0 / steps)
    return (one.self_compose(steps).get_epsilon_for_delta(float(delta)),)


ACCOUNTANTS: dict[str, Callable[[str, int, str], tuple[float, ...]]] = {
    "symamp": by_symamp,
    "PLD-accounting": by_pld_accounting,
    "dp-accounting": by_dp_accounting,
}


def alone(name: str, *case: str) -> None:
    """Print the cells of one accountant, in this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
    __import__("symamp.training" if name == "symamp" else name.replace("-", "_"))
    start = process_time()
    try:
        ends = ACCOUNTANTS[name](case[0], int(case[1]), case[2])
        shown = ", ".join(f"{x:.10g}" for x in ends)
        print(f"[{shown}]" if len(ends) > 1 else shown, "|", f"{process_time() - start:.1f}")
    except (ValueError, RuntimeError, ArithmeticError) as error:
        print(f"{type(error).__name__}: {str(error)[:60]}", "|", f"{process_time() - start:.1f}")


def main() -> None:
    """Print the table."""
    named = {name: name if name == "symamp" else f"{name} {version(name)}" for name in ACCOUNTANTS}
    print("| sigma | steps | delta | " + " | ".join(f"{name} | s" for name in named.values()) + " |")
    print("|" + " --- |" * (3 + 2 * len(ACCOUNTANTS)))
    for case in CASES:
        cells = []
        for name in ACCOUNTANTS:
            words = [sys.executable, "-m", "benchmarks.training_accountants", name, *map(str, case)]
            found = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
            cells.append(found or f"none | over {LIMIT}")
        print("| " + " | ".join([*map(str, case), *cells]) + " |", flush=True)


if __name__ == "__main__":
    alone(*sys.argv[1:]) if sys.argv[1:] else main()
