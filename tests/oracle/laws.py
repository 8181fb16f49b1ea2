"""Finite laws as dictionaries from values, or views, to exact masses, which may be signed. No code of the package."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from operator import add
from typing import Any

ZERO, ONE = Fraction(0), Fraction(1)
Law = dict[Any, Any]


def merged(masses: Iterable[tuple[Hashable, Any]]) -> Law:
    """The law of values with their masses, of which some may be equal."""
    law: Law = {}
    for value, mass in masses:
        law[value] = law.get(value, 0) + mass
    return law


def mixed(*weighted: tuple[Fraction, Mapping]) -> Law:
    """The law that is one of some with these weights."""
    return merged((v, weight * p) for weight, law in weighted for v, p in law.items())


def combined(laws: Iterable[Mapping], plus: Callable[[Any, Any], Any], start: Mapping) -> Law:
    """The law of independent values, put together one by one."""
    for law in laws:
        start = merged((plus(a, b), p * q) for a, p in start.items() for b, q in law.items())
    return dict(start)


def sums(laws: Iterable[Mapping]) -> Law:
    """The law of the sum of independent values."""
    return combined(laws, add, {0: ONE})


def positive_part(law: Mapping) -> Any:
    """E[S_+]."""
    return sum(value * mass for value, mass in law.items() if value > 0)


def together(*laws: Mapping) -> Law:
    """The law of independent views."""
    return {tuple(v for v, _ in c): math.prod(p for _, p in c) for c in product(*(law.items() for law in laws))}


def histogram(rows: Sequence[Sequence[Fraction]], start: Mapping | None = None) -> Law:
    """The law of the histogram of one message from each row, besides those that are there at the start."""
    rows_ = ({y: p for y, p in enumerate(row) if p} for row in rows)
    start = {(0,) * len(rows[0]): ONE} if start is None else start
    return combined(rows_, lambda seen, y: (*seen[:y], seen[y] + 1, *seen[y + 1 :]), start)


def in_order(rows: Sequence[Sequence[Fraction]]) -> Law:
    """The same by all sequences of messages, each sorted."""
    every = product(*(enumerate(row) for row in rows))
    return merged((tuple(sorted(y for y, _ in c)), math.prod(p for _, p in c)) for c in every)


def above(p: Mapping, q: Mapping, E: Fraction) -> Fraction:
    """The hockey-stick divergence: sum (P - E Q)_+."""
    return sum((max(mass - E * q.get(v, ZERO), ZERO) for v, mass in p.items()), ZERO)
