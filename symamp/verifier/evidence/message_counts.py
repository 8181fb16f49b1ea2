"""Evidence by counts of messages, where a report is one of two.

PROVED: that the divergence of a pair of inputs is at most the number that is returned, whatever inputs the other users
hold (docs/proofs/two_messages.md).
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from flint import acb, arb

from ..check import NEARLY
from ..mechanisms import ALL, Triple
from ..setting import At, covering
from .groups import PLAN, checked, reached

SHAPE: dict[str, Any] = {"pair": (int, int), "boxes": [{"from": int, "to": int, "spread": bool, "plan": PLAN}]}
_MOST_THRESHOLDS, _PIECES = 8, 20
"""A ball around a mean says nothing if it has more; into so many pieces the thresholds within 1 of the tilted mean are
cut: more than the search takes (sums/two_messages.py)."""
_ZERO = arb(0)
Number = Any


def bound(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper end bounds the divergence."""
    mechanism, check, n, pair = at.owner(data, what), at.check, at.n, (data["pair"][0], data["pair"][1])
    check.require(mechanism.stands_for == ALL, f"{what}: not all inputs of other users are listed", "invalid")
    seen = [message_one(check, triple, what) for _, triple in mechanism.laws(pair)]
    check.require(seen, f"{what}: no inputs of other users")
    first, second = seen[0][:2]
    near = all(abs(x - y) <= x * arb(2) ** -NEARLY for row in seen for x, y in zip(row, (first, second), strict=False))
    check.require(near, f"{what}: the laws do not belong to one pair of inputs", "invalid")
    boxes = covering(data["boxes"], 0, n - 1, what)
    more = arb(check.number(at.eps)).expm1()
    gain = first - second - more * second
    if not gain > 0 or n == 1:
        return gain.max(_ZERO)
    ones = [p for *_, p in seen]
    ends, result = (reduce(arb.max, ones), reduce(arb.min, ones)), _ZERO
    for box in boxes:
        if box["spread"]:
            value = _spread(check, (gain, more), ends, (box["from"], box["to"], n - 1), box["plan"], what)
            result = result.max(value if value.is_finite() else gain)
            continue
        counts = box["from"], n - 1 - box["to"]
        # The best threshold is one more than the mode of a sum of Bernoulli variables, within 1 of its mean.
        mean = sum((c * p / (p + (1 - p) * gain / (gain + more)) for p, c in zip(ends, counts, strict=True)), _ZERO)
        told = mean.is_finite() and mean.rad() < _MOST_THRESHOLDS
        check.require(told, f"{what}: a threshold is not told", "invalid")
        low, high = (int(x.floor().mid().fmpz()) for x in (mean.lower(), mean.upper()))
        thresholds = range(low + 1, high + 3)
        victim = (arb(1), {1: first}), (arb(1), {1: second})
        laws = [({1: p}, c) for p, c in zip(ends, counts, strict=True) if c]
        values = [x for _, x in reached(check, victim, laws, 1, 1 + more, box["plan"], thresholds, what)]
        result = result.max(reduce(arb.max, values) if all(x.is_finite() for x in values) else gain)
    return result.min(gain)


def message_one(check: Any, triple: Triple, what: str) -> tuple[arb, arb, arb]:
    """Return the probabilities under x0, x1 and x of the message that is likelier under x0 than under x1."""
    rows = [(arb(c.ratio0 * c.mass), arb(c.ratio1 * c.mass), arb(c.mass)) for c in triple.components]
    rows += [(arb(a), arb(b), _ZERO) for _, a, b in triple.singular]
    check.require(len(rows) == 2, f"{what}: a law has not two messages", "invalid")
    rows.sort(key=lambda row: float((row[1] - row[0]).mid()))
    check.require(rows[0][0] > rows[0][1], f"{what}: the two messages are not told apart", "invalid")
    return rows[0]


def _spread(
    check: Any, victim: tuple[arb, arb], ones: tuple[arb, arb], box: tuple[int, int, int], plan: Any, what: str
) -> arb:
    """Return a ball whose upper end bounds the divergence for every composition of a box, by a mean value theorem."""
    (gain, more), (start, end, users), nodes = victim, box, plan["N"]
    theta = checked(check, plan, what)
    check.spend((plan["last"] + 1) * (60 + 12 * _PIECES), hard=True)
    length, half = end - start, arb(1) / _PIECES
    own = [p / (p + (1 - p) * gain / (gain + more)) for p in ones]
    mean, slope = start * own[0] + (users - start) * own[1], own[0] - own[1]
    shares = [p / (p + (1 - p) * (-theta).exp()) for p in ones]
    logs = [(1 + p * theta.expm1()).log() for p in ones]
    drift = logs[0] - logs[1] - slope * theta
    either = _ZERO.union(arb(1)).union(-arb(1))
    all_x, near = arb(length) / 2 * (1 + either), half * either
    middles = [arb(2 * i + 1) / _PIECES - 1 for i in range(_PIECES)]
    sums = [[_ZERO] * 4 for _ in middles]
    for j in range(plan["last"] + 1):
        u = 2 * arb.pi() * j / nodes
        s, turn = acb(theta, u), acb(0, u).exp()
        phases = [(1 + w * (turn - 1)).log() for w in shares]
        moved = phases[0] - phases[1] + drift - acb(0, slope * u)
        term = (start * phases[0] + (users - start) * phases[1] - acb(0, mean * u)).exp()
        term *= (gain - more / (s.exp() - 1)) * (1 if j == 0 or 2 * j == nodes else 2)
        last, along, around = (moved * length).exp(), (moved * all_x).exp(), (s * near).exp()
        for found, y in zip(sums, middles, strict=True):
            here = term * (-s * y).exp()
            parts = here, here * last, here * around * along * moved, here * around * (along * s)
            found[:] = [x + part.real for x, part in zip(found, parts, strict=True)]
    result = -arb("inf")
    for left, right, along_x, along_y in sums:
        from_left = left.upper() + length * along_x.upper().max(_ZERO)
        from_right = right.upper() + length * (-along_x).upper().max(_ZERO)
        result = result.max(from_left.min(from_right) + half * abs(along_y).upper())
    scale = (start * logs[0] + (users - start) * logs[1] - mean * theta).exp()
    fall = 1 - (2 * arb.pi() * (plan["last"] + 1) / nodes).cos() if 2 * plan["last"] + 1 < nodes else None
    missed = wide = _ZERO
    for count in (start, end):
        most = [1 + p * (2 * theta).expm1() for p in ones]
        middle = count * own[0] + (users - count) * own[1]
        wide = wide.max((count * most[0].log() + (users - count) * most[1].log() - 2 * theta * (middle - 1)).exp())
        if fall is not None:
            spread = count * shares[0] * (1 - shares[0]) + (users - count) * shares[1] * (1 - shares[1])
            missed = missed.max((-spread * fall).exp())
    missed *= scale * (1 + (length * drift).exp()) * theta.exp() * (gain + more / theta.expm1())
    return scale / nodes * result + missed + (gain + more) * (1 + wide) / (theta * nodes).expm1()
