"""The demonstration behind ``make demo``: derive, show, certify, with the time each step took."""

from __future__ import annotations

from time import perf_counter

from rich.console import Console

import symamp as sa
from symamp.decompositions.printing import decomposition_table, gamma_line


def main() -> None:
    """Print the decomposition of 10-ary randomized response and the certified bracket of its central epsilon."""
    console = Console()
    start = perf_counter()
    family = sa.RandomizedResponse(k=10)
    decomposition = family.blanket()
    derived = perf_counter()
    console.print("10-ary randomized response, eps0 a symbol: the optimal decomposition, derived from the definition")
    console.print(decomposition_table(decomposition))
    console.print(gamma_line(decomposition), highlight=False)
    console.print(f"derived in {1e3 * (derived - start):.0f} ms\n", highlight=False)
    start = perf_counter()
    answer = sa.epsilon(family.at(eps0=1), n=10**6, delta="1e-8")
    seconds = perf_counter() - start
    console.print(f"certified: {answer}", highlight=False, soft_wrap=True)
    console.print(f"in {1e3 * seconds:.0f} ms, derivation at eps0 = 1 included", highlight=False)


if __name__ == "__main__":
    main()
