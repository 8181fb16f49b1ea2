"""Evidence by counts of messages, where a report is one of two.

PROVED: above, that the divergence of a pair of inputs is at most the number that is returned, whatever inputs the other
users hold; below, that it is at least that for the data set with the listed counts (docs/proofs/two_messages.md).
"""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any, NamedTuple

from flint import acb, arb, fmpq

from ..check import NEARLY
from ..mechanisms import ALL, Triple
from ..setting import At

_SUM: dict[str, Any] = {"k": int, "theta": str, "nearer": str, "further": str, "period": int, "last": int}
_PIECES = 20
"""Into so many pieces the thresholds within 1 of the tilted mean are cut: more than the search
takes (sums/two_messages.py)."""
_ZERO, _ONE = arb(0), arb(1)

Number = Any
Group = tuple[arb, int]  # users who send the message 1 with the same probability, and how many


def shape(data: dict[str, Any], above: bool) -> dict[str, Any]:
    """Return the shape of the evidence: boxes of counts above, the counts of one data set below."""
    if above:
        return {"pair": (int, int), "boxes": [{"from": int, "to": int, "spread": bool, "sum": _SUM}]}
    return {"pair": (int, int), "others": [(int, int)], "sum": _SUM}


class _Victim(NamedTuple):
    """P0(1) - E P1(1) and E - 1, and the checks of the certificate."""

    gain: arb
    more: arb
    check: Any
    what: str


def bound(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper end (above) or lower end (below) bounds the divergence."""
    mechanism, check, n, pair = at.owner(data, what), at.check, at.n, (data["pair"][0], data["pair"][1])
    check.require(mechanism.stands_for == ALL or not up, f"{what}: not all inputs of other users are listed", "invalid")
    held = mechanism.laws(pair) if up else [(x, mechanism.triple(pair, [(x, fmpq(1))])) for x, _ in data["others"]]
    seen = [message_one(check, triple, what) for _, triple in held]
    check.require(seen, f"{what}: no inputs of other users")
    first, second = seen[0][:2]
    near = all(abs(x - y) <= x * arb(2) ** -NEARLY for row in seen for x, y in zip(row, (first, second), strict=False))
    check.require(near, f"{what}: the laws do not belong to one pair of inputs", "invalid")
    ones, more = [p for *_, p in seen], arb(check.number(at.eps)).expm1()
    victim = _Victim(first - second - more * second, more, check, what)
    if not up:
        counts = [c for _, c in data["others"]]
        check.require(
            at.rate == 1 and all(c >= 0 for c in counts) and sum(counts) == n - 1,
            f"{what}: not all other users",
            "invalid",
        )
        if not victim.gain > 0 or n == 1:
            return victim.gain.max(_ZERO)
        return _value(victim, list(zip(ones, counts, strict=True)), data["sum"])[0]
    boxes = sorted(data["boxes"], key=lambda box: int(box["from"]))
    starts = [box["from"] for box in boxes]
    good = starts[:1] == [0] and [*starts[1:], n] == [box["to"] + 1 for box in boxes]
    good = good and all(box["from"] <= box["to"] for box in boxes)
    check.require(good, f"{what}: boxes do not cover all counts", "invalid")
    if not victim.gain > 0 or n == 1:
        return victim.gain.max(_ZERO)
    ends, result = (reduce(arb.max, ones), reduce(arb.min, ones)), _ZERO
    for box in boxes:
        if box["spread"]:
            value = _spread(victim, ends, (box["from"], box["to"], n - 1), box["sum"])
        else:
            groups = list(zip(ends, (box["from"], n - 1 - box["to"]), strict=True))
            value = _value(victim, groups, box["sum"])[1]
        result = result.max(value if value.is_finite() else victim.gain)
    return result.min(victim.gain)


def message_one(check: Any, triple: Triple, what: str) -> tuple[arb, arb, arb]:
    """Return the probabilities under x0, x1 and x of the message that is likelier under x0 than under x1."""
    rows = [(arb(c.ratio0 * c.mass), arb(c.ratio1 * c.mass), arb(c.mass)) for c in triple.components]
    rows += [(arb(a), arb(b), _ZERO) for _, a, b in triple.singular]
    check.require(len(rows) == 2, f"{what}: a law has not two messages", "invalid")
    rows.sort(key=lambda row: float((row[1] - row[0]).mid()))
    check.require(rows[0][0] > rows[0][1], f"{what}: the two messages are not told apart", "invalid")
    return rows[0]


# --- one data set ----------------------------------------------------------------------------------------------------


def _tilts(victim: _Victim, plan: dict[str, Any], users: int) -> tuple[arb, arb, arb]:
    check, what = victim.check, victim.what
    theta, nearer, further = (arb(check.number(plan[key])) for key in ("theta", "nearer", "further"))
    period, last = plan["period"], plan["last"]
    good = 0 <= nearer < theta < further < 2**10 and period % 2 == 1 and 0 <= last <= period // 2 < 2**62
    check.require(good and 1 <= plan["k"] <= users + 1, f"{what}: parameters of a sum out of range", "invalid")
    return theta, nearer, further


def _value(victim: _Victim, groups: list[Group], plan: dict[str, Any]) -> tuple[arb, arb]:
    """Return balls whose lower and upper end enclose the divergence of the number of ones."""
    gain, more, check, _ = victim
    users, k, period = sum(c for _, c in groups), plan["k"], plan["period"]
    theta, nearer, further = _tilts(victim, plan, users)
    check.spend((plan["last"] + 1) * (30 + 8 * len(groups)), hard=True)
    shares = [p / (p + (1 - p) * (-theta).exp()) for p, _ in groups]
    value, steps = _ZERO, [_ZERO] * 4
    for j in range(plan["last"] + 1):
        u = 2 * arb.pi() * j / period
        turn, shrink = acb(0, u).exp(), acb(-theta, -u).exp()
        term = reduce(mul, (_power(1 + w * (turn - 1), c) for w, (_, c) in zip(shares, groups, strict=True)))
        term *= acb(0, -u * (k - 1)).exp() * (2 if j else 1)
        value += (term * (gain - more * shrink / (1 - shrink))).real
        term *= (gain - (gain + more) * shrink) / shrink**2
        steps = [step + (term * shrink**i).real for i, step in enumerate(steps)]
    grown = reduce(mul, ((1 + p * theta.expm1()) ** c for p, c in groups)) * (-theta * (k - 1)).exp() / period
    hidden = 2 * grown * _unseen(check, groups, shares, plan)
    below = _wrapped(groups, theta, nearer, period)
    above = _wrapped(groups, theta, further, period) if k - 3 + period <= users else _ZERO
    either = _ZERO.union(_ONE).union(-_ONE)
    ends = (-nearer * (k - 1)).exp() * below + (-further * (k - 1)).exp() * above
    whole = hidden * (gain + more / theta.expm1()) + ends * (gain + more)
    threshold = grown * value + whole * either
    enclosed = []
    for i, step in enumerate(steps, -2):
        # A step that reaches below 0 ones is none.
        lost = (-nearer * (k + i - 1)).exp() * below if k + i >= period else _ZERO
        lost += hidden * (-theta * i).exp() + (-further * (k + i - 1)).exp() * above
        enclosed.append(grown * step + lost * (2 * gain + more) * either)
    (less, before, here, after), lower = enclosed, threshold.max(_ZERO)
    upper = threshold
    if k > 1 and not before <= 0:
        upper = upper.max(threshold + before) if k == 2 or less <= 0 else gain
    if k <= users and not here >= 0:
        upper = upper.max(threshold - here) if k == users or after >= 0 else gain
    return lower, upper


def _power(base: acb, n: int) -> acb:
    return (base.log() * n).exp() if base.real > 0 else base**n


def _wrapped(groups: list[Group], theta: arb, tilt: arb, period: int) -> arb:
    """Return Chernoff's bound at a tilt, for the threshold 0, on all that the period folds onto one side."""
    ratio = (-abs(theta - tilt) * period).exp()
    return reduce(mul, ((1 + p * tilt.expm1()) ** c for p, c in groups)) * ratio / (1 - ratio)


def _unseen(check: Any, groups: list[Group], shares: list[arb], plan: dict[str, Any]) -> arb:
    """Return a bound on the sum of the modulus over the frequencies last < j <= period/2, in blocks that double."""
    spread = sum((c * w * (1 - w) for w, (_, c) in zip(shares, groups, strict=True)), _ZERO)
    first, end, result = plan["last"] + 1, plan["period"] // 2, _ZERO
    while first <= end:
        check.spend(8, hard=True)
        upto = min(2 * first - 1, end)
        result += (upto - first + 1) * (-2 * spread * (arb.pi() * first / plan["period"]).sin() ** 2).exp()
        first = upto + 1
    return result


# --- many compositions -----------------------------------------------------------------------------------------------


def _spread(victim: _Victim, ones: tuple[arb, arb], box: tuple[int, int, int], plan: dict[str, Any]) -> arb:
    """Return a ball whose upper end bounds the divergence for every composition of a box, by a mean value theorem."""
    gain, more, check, _ = victim
    (start, end, users), period = box, plan["period"]
    theta, nearer, further = _tilts(victim, plan, users)
    check.spend((plan["last"] + 1) * (60 + 12 * _PIECES), hard=True)
    length, half = end - start, _ONE / _PIECES
    own = [p / (p + (1 - p) * gain / (gain + more)) for p in ones]
    mean, slope = start * own[0] + (users - start) * own[1], own[0] - own[1]
    shares = [p / (p + (1 - p) * (-theta).exp()) for p in ones]
    logs = [(1 + p * theta.expm1()).log() for p in ones]
    drift = logs[0] - logs[1] - slope * theta
    all_x = arb(length) / 2 + arb(length) / 2 * _ZERO.union(_ONE).union(-_ONE)
    near = half * _ZERO.union(_ONE).union(-_ONE)
    middles = [arb(2 * i + 1) / _PIECES - 1 for i in range(_PIECES)]
    sums = [[_ZERO] * 4 for _ in middles]
    for j in range(plan["last"] + 1):
        u = 2 * arb.pi() * j / period
        s, turn, shrink = acb(theta, u), acb(0, u).exp(), acb(-theta, -u).exp()
        phases = [(1 + w * (turn - 1)).log() for w in shares]
        moved = phases[0] - phases[1] + drift - acb(0, slope * u)
        term = (start * phases[0] + (users - start) * phases[1] - acb(0, mean * u)).exp()
        term *= (gain - more * shrink / (1 - shrink)) * (2 if j else 1)
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
    scale = (start * logs[0] + (users - start) * logs[1] - mean * theta).exp() / period
    rest = wrapped = _ZERO
    for count in (start, end):
        groups = [(ones[0], count), (ones[1], users - count)]
        middle = count * own[0] + (users - count) * own[1]
        rest = rest.max(_unseen(check, groups, shares, plan))
        folded = [_wrapped(groups, theta, t, period) * (-t * (middle - 1)).exp() for t in (nearer, further)]
        wrapped = wrapped.max(2 * folded[0].max(folded[1]))
    most = scale * (1 + (length * drift).exp()) * theta.exp()
    hidden = 2 * most * rest * (gain + more / theta.expm1())
    return scale * result + hidden + wrapped * (gain + more)
