"""CPU time and width of default answers, for everything that has a name: what misses the bars is listed in the end.

``python -m benchmarks.named [REGEX]`` asks each member of the catalogue whose name matches, such as
"priv-kv .* n=1000000 ", twice in a process of its own that has imported symamp and answered one unrelated question:
the second time at another delta. ``--profile`` shows where the time of the first question goes. Run it with
OPENBLAS_NUM_THREADS=1. It needs ``os.fork``.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pickle
import pstats
import re
from collections.abc import Iterator
from math import inf
from time import process_time
from typing import NamedTuple

import symamp as sa
from symamp.errors import SymampError
from symamp.randomizers.catalogue import by_name, catalogue

BUDGETS, USERS, DELTAS = ("1/2", "1", "2", "4"), (10**4, 10**6, 10**9), ("1e-6", "1e-12")
NOISE = (*((slug, {}) for slug in ("laplace", "clipped-laplace", "logistic")), ("discrete-laplace", {"B": 32}))
FIRST, NEXT, FIRST_OF_NOISE, WIDEST = 0.5, 0.2, 3.0, 1.002
"""The bars: CPU seconds of a first and of a second answer, and the upper over the lower end."""
_ON_INTERVALS = ("laplace", "clipped-laplace", "logistic")


class Case(NamedTuple):
    """A member of the catalogue and a question about it."""

    slug: str
    sizes: dict[str, object]
    eps0: str
    n: int
    delta: str

    def __str__(self) -> str:
        sizes = "".join(f"{name}={value} " for name, value in self.sizes.items())
        return f"{self.slug} {sizes}eps0={self.eps0} n={self.n} delta={self.delta} "


class Figures(NamedTuple):
    """CPU seconds of two questions, and upper over lower ends."""

    first: float
    second: float
    ratio: float
    method: str

    def misses(self, case: Case) -> str:
        """Return which bars are missed, in words; "" if none is."""
        first = FIRST_OF_NOISE if case.slug in _ON_INTERVALS else FIRST
        found = {"first": self.first > first, "next": self.second > NEXT, "width": not self.ratio <= WIDEST}
        return ", ".join(name for name, is_missed in found.items() if is_missed)


def cases() -> Iterator[Case]:
    """All members of the catalogue, at all budgets, numbers of users and deltas."""
    members = [(slug, dict(cls.typical)) for slug, cls in catalogue().items()] + [("krr", {"k": 2})]
    for slug, sizes in (*members, *NOISE):
        has_budget = any(p.name == "eps0" for p in by_name(slug).declared)
        for eps0 in BUDGETS if has_budget else ("",):
            yield from (Case(slug, sizes, eps0, n, delta) for n in USERS for delta in DELTAS)


def measured(case: Case, shows_profile: bool) -> Figures:
    """Return the figures of a case, in this process."""
    profile = cProfile.Profile()
    started = process_time()
    if shows_profile:
        profile.enable()
    mechanism = by_name(case.slug)(**case.sizes, **({"eps0": case.eps0} if case.eps0 else {}))
    found = sa.epsilon(mechanism, n=case.n, delta=case.delta)
    profile.disable()
    first, started = process_time() - started, process_time()
    sa.epsilon(mechanism, n=case.n, delta=f"3{case.delta[1:]}")
    second = process_time() - started
    if shows_profile:
        pstats.Stats(profile).sort_stats("cumulative").print_stats("symamp", 45)
    return Figures(first, second, found.upper / found.lower if found.lower else inf, found.method)


def in_a_child(case: Case, shows_profile: bool) -> Figures | None:
    """Return the figures of a case, measured in a process of its own; None where it is refused."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            figures = measured(case, shows_profile)
        except SymampError:
            os._exit(1)
        os.write(write, pickle.dumps(tuple(figures)))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        told = stream.read()
    os.waitpid(child, 0)
    return Figures(*pickle.loads(told)) if told else None


def main() -> None:
    """Print one line for each case, then those that miss a bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    sa.epsilon(sa.RandomizedResponse(k=7, eps0="3/2"), n=10**5, delta="1e-7")
    missed = []
    for case in cases():
        if re.search(asked.pattern, str(case)):
            found = in_a_child(case, asked.profile)
            if found is None:
                print(f"{case}: refused", flush=True)
                continue
            line = f"{case}: first {found.first:.2f} s, next {found.second:.2f} s, {found.ratio:.5f}, {found.method}"
            print(f"{line}  {found.misses(case)}".rstrip(), flush=True)
            if found.misses(case):
                missed.append(f"{line}  {found.misses(case)}")
    print(f"\n{len(missed)} cases miss a bar:", *missed, sep="\n")


if __name__ == "__main__":
    main()
