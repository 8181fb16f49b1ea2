"""Unary encodings whose bits are summed one by one: two bits matter, and the sums of two data sets are enumerated.

PROVED: above, that two rounds of one bit bound what all sums tell of an input; below, that the divergence of two data
sets is at least the number that is returned (docs/proofs/coordinates.md).
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

from flint import arb, fmpq

from ..check import Check
from ..mechanisms import ALL, Mechanism
from ..setting import At
from ..sums import binomial
from .message_counts import message_one

KIND = "sums of coordinates"
SHAPE: dict[str, Any] = {"held": (int, int), "counts": [(int, int)]}
"""The users who hold x0, and x1, and the counts of both sums."""
_MOST_FEW = 64
_ZERO = arb(0)


def bits(check: Check, mechanism: Mechanism, what: str) -> tuple[arb, arb]:
    """Return the chances of a 1 in a bit whose option is held, and in one whose is not, the first the larger."""
    listed = mechanism.stands_for == ALL and not mechanism.mixed
    good = listed and len(mechanism.pairs) == 2 and mechanism.data.get("compared") is None
    check.require(good and len(mechanism.laws(mechanism.pairs[0])) == 2, f"{what}: not the two inputs of a bit")
    pair = mechanism.pairs[0]
    p, q, _ = message_one(check, mechanism.triple(pair, [(pair[0], fmpq(1))]), what)
    return p, q


def bound(at: At, data: dict[str, Any], up: bool, what: str) -> arb:
    """Return a ball whose lower end is at most the divergence of the sums for the victim at x0 and at x1."""
    check, n, (a, b) = at.check, at.n, data["held"]
    size = at.setting.coordinates
    check.require(size is not None, f"{what}: evidence about sums of coordinates", "invalid")
    good = min(a, b) >= 0 and (a + b == n - 1 if size == 2 else a + b < n)
    check.require(good, f"{what}: not so many other users", "invalid")
    check.require(len(data["counts"]) == 2, f"{what}: not two sums")
    p, q = bits(check, at.setting.groups[0].mechanism, what)
    u0, u1 = _laws(check, (a, n - 1 - a), (p, q), data["counts"][0], (p, q), what)
    v0, v1 = (
        list(accumulate(law, initial=_ZERO))
        for law in _laws(check, (b, n - 1 - b), (p, q), data["counts"][1], (q, p), what)
    )
    factor, end, result = arb(check.number(f"exp({at.eps})")), 0, _ZERO
    check.spend(12 * (len(u0) + len(v0)), hard=True)
    for x, y in zip(u0, u1, strict=True):
        while end + 1 < len(v0) and x * (v0[end + 1] - v0[end]) > factor * y * (v1[end + 1] - v1[end]):
            end += 1
        result += x * v0[end] - factor * y * v1[end]
    return result


def _laws(
    check: Check, users: tuple[int, int], chances: tuple[arb, arb], counts: Any, victim: tuple[arb, arb], what: str
) -> tuple[list[arb], list[arb]]:
    """Return the chances of the counts of one sum, for both victims; of few users each is added by itself."""
    (many, share), (few, other) = sorted(zip(users, chances, strict=True), key=lambda group: -group[0])
    first, last = counts
    check.require(0 <= first <= last <= sum(users) + 1 and few <= _MOST_FEW, f"{what}: counts out of range", "invalid")
    start = first - few - 1
    check.spend((last - start + 1) * (12 + 4 * few), hard=True)
    odds, found = share / (1 - share), [_ZERO] * (last - start + 1)
    begin = max(start, 0)
    if begin <= many:
        here = binomial(many, begin) * share**begin * (1 - share) ** (many - begin)
        for k in range(begin, min(last, many) + 1):
            found[k - start] = here
            here = here * odds * (many - k) / (k + 1)
    for _ in range(few):
        found = [(1 - other) * y + other * x for x, y in pairwise(found)]
    first_law, second_law = ([(1 - v) * y + v * x for x, y in pairwise(found)] for v in victim)
    return first_law, second_law
