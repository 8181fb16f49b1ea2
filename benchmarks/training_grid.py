"""Random allocation over the whole range: ``python -m benchmarks.training_grid`` prints width and time of questions.

Seconds are those of the processor, with empty caches; the width is that of the wider direction, relatively.
"""

from __future__ import annotations

import sys
from itertools import product
from math import inf
from time import process_time
from types import ModuleType

import symamp as sa
from symamp.errors import SymampError
from symamp.sums.kernels import one_sided, replaced
from symamp.training import rounds, steps

SIGMAS, STEPS = ("0.3", "0.5", "0.7", "1", "2", "5", "20"), (1, 10, 1000, 10**6)
DELTAS, NEIGHBOURS = ("1e-3", "1e-6", "1e-30", "1e-300"), ("add_remove", "replace")
MODULES = (rounds, steps, one_sided, replaced)


def forget(modules: tuple[ModuleType, ...] = MODULES) -> None:
    """Empty all caches of modules."""
    for known in (f for module in modules for f in vars(module).values() if hasattr(f, "cache_clear")):
        known.cache_clear()


def main(chosen: list[str]) -> None:
    """Print a line for each question; words choose those whose line begins with them."""
    print("| sigma | steps | delta | neighbours | epsilon | relative width | s |", "| --- |" + " --- |" * 6, sep="\n")
    for sigma, t, delta, neighbours in product(SIGMAS, STEPS, DELTAS, NEIGHBOURS):
        about = f"{sigma} | {t:,} | {delta} | {neighbours}"
        if chosen and not any(about.startswith(word) for word in chosen):
            continue
        forget()
        start = process_time()
        try:
            noise = sa.training.GaussianStep(sigma=sigma)
            found = sa.training.random_allocation(noise=noise, steps=t, neighbours=neighbours).epsilon(delta)
            width = max((high - low) / low if low else inf if high else 0.0 for low, high in found.directions.values())
            said = f"[{found.lower:.10g}, {found.upper:.10g}] | {width:.1e}"
        except SymampError as error:
            said = f"{type(error).__name__} | "
        print(f"| {about} | {said} | {process_time() - start:.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
