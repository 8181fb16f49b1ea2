"""Evidence by histograms of few reports: every data set of a table, or one.

PROVED: above, that the divergence of each pair of rows that is compared is at most the number that is returned, for
whatever inputs the other users hold; below, that it is at least that for the pair and the numbers of others that are
listed (docs/proofs/histograms.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from math import comb, lcm
from typing import Any

from flint import arb, fmpq

from ..mechanisms import Table
from ..setting import At

_MOST_USERS, _MOST_BITS = 10**4, 2**16
"""Histograms of more users are not listed, nor of longer weights: users times bits of the denominator."""
_ZERO = fmpq(0)

Number = Any  # a whole number, a fraction or a ball
Law = dict[tuple[int, ...], Number]
"""Probabilities of histograms."""


def shape(data: dict[str, Any], above: bool) -> dict[str, Any]:
    """Return the shape of the evidence: below a pair, and how many of the others hold each input."""
    return {} if above else {"pair": (int, int), "others": [int]}


def bound(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper end (above) or lower end (below) bounds the divergence, of all pairs or of one."""
    mechanism, check, n = at.owner(data, what), at.check, at.n
    good = isinstance(mechanism, Table) and n <= _MOST_USERS and at.rate == 1
    check.require(good, f"{what}: no table, or too many users")
    view, pairs = mechanism.view((0, 1)), mechanism.pairs if up else [(data["pair"][0], data["pair"][1])]
    size = len(view.inputs)
    check.require(all(0 <= x < size for pair in pairs for x in pair), f"{what}: no such pair")
    rows = [list(row) for row in zip(*(c.on for c in view.columns), strict=True)]
    e, scale = check.number(f"exp({at.eps})"), 1
    if all(isinstance(x, fmpq) for row in rows for x in row):  # whole numbers over one denominator
        scale = lcm(*(int(x.q) for row in rows for x in row))
        check.require(n * scale.bit_length() <= _MOST_BITS, f"{what}: too large: denominators")
        rows = [[int((x * scale).p) for x in row] for row in rows]
    else:
        rows = [[arb(x) for x in row] for row in rows]
    p, q = (int(e.p), int(e.q)) if isinstance(e, fmpq) else (e, 1)
    messages = len(rows[0])
    histograms, wide = comb(n + messages - 1, messages - 1), 1 + n * scale.bit_length() // 1024
    if up:
        data_sets = comb(n + size - 2, size - 1)
        check.spend(data_sets * (len(pairs) + 1) * histograms * messages * wide, hard=True)
        laws = _laws(rows, {(0,) * messages: 1}, n - 1)
    else:
        counts = data["others"]
        good = len(counts) == size and all(c >= 0 for c in counts) and sum(counts) == n - 1
        check.require(good, f"{what}: not one number of users for each row, or not of all others", "invalid")
        check.spend(n * histograms * messages * wide, hard=True)
        laws = iter([_of_counts(rows, counts)])
    gains = [[q * a - p * b for a, b in zip(rows[i], rows[j], strict=True)] for i, j in pairs]
    exact = all(isinstance(x, int) for g in gains for x in g)
    values = (x for law in laws for x in _divergences(law, gains, exact))
    return reduce(check.larger, ((fmpq(x) if exact else x) / scale**n / q for x in values), _ZERO)


def _divergences(law: Law, gains: list[list[Number]], exact: bool) -> Iterator[Number]:
    """Yield the sums of positive parts of what the gains of the victim's messages add up to at each histogram."""
    sources: dict[tuple[int, ...], list[tuple[int, Number]]] = {}
    for histogram, mass in law.items():
        number = mass if exact else arb(mass)
        for y in range(len(histogram)):
            longer = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
            sources.setdefault(longer, []).append((y, number))
    zero = 0 if exact else arb(0)
    for g in gains:
        totals = (sum((g[y] * mass for y, mass in found), zero) for found in sources.values())
        yield sum((max(x, 0) if exact else x.max(zero) for x in totals), zero)


def _with_one_more(law: Law, row: list[Number]) -> Law:
    """Return the law of one more report."""
    found: Law = {}
    for histogram, mass in law.items():
        for y, weight in enumerate(row):
            if weight != 0:
                longer = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
                found[longer] = found[longer] + mass * weight if longer in found else mass * weight
    return found


def _laws(rows: list[list[Number]], law: Law, users: int) -> Iterator[Law]:
    """Yield the laws of the histograms of all data sets of so many more users, each once."""
    if users == 0:
        yield law
        return
    for x in range(len(rows)):
        yield from _laws(rows[x:], _with_one_more(law, rows[x]), users - 1)


def _of_counts(rows: list[list[Number]], counts: list[int]) -> Law:
    law: Law = {(0,) * len(rows[0]): 1}
    for row, count in zip(rows, counts, strict=True):
        for _ in range(count):
            law = _with_one_more(law, row)
    return law
