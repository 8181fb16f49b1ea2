"""Evidence about users who differ, in groups.

Where data are shuffled, the laws of the positions are listed, or budgets alone; where messages are shuffled, the
probabilities of the messages of each group, from which the common blanket is made here. From below, either laws of one
pair of data sets, or a threshold for a sum of steps (docs/proofs/users_who_differ.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import prod
from operator import mul
from typing import Any

from flint import acb, arb, arb_poly, fmpq

from . import sums

_COMMON: dict[str, Any] = dict.fromkeys(("method", "proof_status", "eps", "evaluator"), str)
_COMMON |= {"data": str, "precision": int, "groups": [int]}
_VICTIM: dict[str, Any] = {"victim": int, "pair": (str, str), "kept": str}
_COLUMN: dict[str, Any] = {"size": int, "on": (str, str), "further": [str]}
_STEPS: dict[str, Any] = {"own": [(str, str)], "others": [[str]], "signs": [int]}
_PLAN: dict[str, Any] = {"threshold": int, "theta": str, "N": int, "last": int}
_MOST_GROUPS, _MOST_COLUMNS, _MOST_COUNTS = 64, 2**12, 2**10
_ZERO, _ONE = fmpq(0), fmpq(1)

Number = Any


def shape(data: dict[str, Any], plan: dict[str, Any], above: bool) -> dict[str, Any]:
    """Return the shape of one piece of evidence."""
    if "signs" in data and not above:
        return _COMMON | _VICTIM | _STEPS | {"plan": _PLAN}
    if "columns" in data and above:
        columns = tuple([_COLUMN] for _ in data["columns"]) if type(data["columns"]) is list else []
        return _COMMON | _VICTIM | {"columns": columns, "plan": plan}
    laws = data["positions"] if type(data.get("positions")) is list else []
    known = tuple({"ratio": str} if _is_budget(x) and above else {"components": [(str, str, str)]} for x in laws)
    return _COMMON | {"positions": known, "plan": plan}


def _is_budget(entry: Any) -> bool:
    return type(entry) is dict and "ratio" in entry


def bound(check: Any, data: dict[str, Any], n: int, up: bool, what: str) -> Number:
    """Return a number whose upper end (above) or lower end (below) bounds the divergence."""
    counts = data["groups"]
    good = 0 < len(counts) <= _MOST_GROUPS and min(counts) >= 1 and sum(counts) == n
    check.require(good, f"{what}: groups that are not of n users in all, or more than {_MOST_GROUPS}")
    e = check.number(f"exp({data['eps']})")
    if "positions" in data:
        check.require(len(data["positions"]) == len(counts), f"{what}: not one law for each group")
        laws = [_position(check, entry, data["eps"], e, what) for entry in data["positions"]]
        return _sum(check, [(*law, c) for law, c in zip(laws, counts, strict=True)], data, up, what) / n
    check.require(0 <= data["victim"] < len(counts), f"{what}: no such group of victims")
    kept = check.number(data["kept"])
    check.require(0 < kept <= 1, f"{what}: kept is no probability", "invalid")
    others = [c - (i == data["victim"]) for i, c in enumerate(counts)]
    args = check, data, others, kept, e
    return _blanket(*args, what) if "columns" in data else _steps(*args, what)


# --- data shuffled ---------------------------------------------------------------------------------------------------


def _position(check: Any, entry: dict[str, Any], eps: str, e: Number, what: str) -> tuple[list[Any], Number]:
    """Return the nonzero values of G with their masses, and the mass of 0."""
    if "ratio" not in entry:
        components, _ = check.triple({**entry, "singular": []}, what)
        atoms, null, _ = check.values(entry, components, [], eps)
        return atoms, null
    t = check.number(entry["ratio"])
    check.require(t >= 1, f"{what}: a ratio below 1", "invalid")
    low, mass = 1 - t * e, 1 / (t + 1)
    high, share = (t * (t - e), mass / t) if t < e else (t - e, mass)
    if not (t < e or t >= e):  # not told: a value that is not positive is raised to 0
        high = check.larger(arb(high).upper())
    return [(high, share), (low, mass)], 1 - share - mass


# --- messages shuffled, above ----------------------------------------------------------------------------------------


def _blanket(check: Any, data: dict[str, Any], others: list[int], kept: Number, e: Number, what: str) -> Number:
    """Return what Theorem D gives with the least probabilities as blanket; at most what her own message tells."""
    columns, sizes = data["columns"], {tuple(c["size"] for c in group) for group in data["columns"]}
    good = len(columns) == len(others) and len(sizes) == 1 and all(0 < s < 2**63 for s in next(iter(sizes)))
    check.require(good and len(columns[0]) <= _MOST_COLUMNS, f"{what}: groups without the same columns")
    size = next(iter(sizes))
    on = [[tuple(map(check.number, c["on"])) for c in group] for group in columns]
    rest = [[list(map(check.number, c["further"])) for c in group] for group in columns]
    for group, more in zip(on, rest, strict=True):
        good = all(x >= 0 for column in (*group, *more) for x in column)
        check.require(good, f"{what}: a probability is not proved to be >= 0", "invalid")
        for x in (0, 1):
            _require_one(check, (s * p[x] for s, p in zip(size, group, strict=True)), what)
    gains = [p - e * q for p, q in on[data["victim"]]]
    alone = check.total(s * check.larger(g) for s, g in zip(size, gains, strict=True))
    present = [i for i, c in enumerate(others) if c]
    if not present:
        return alone
    least = [[_least((*p, *q)) for p, q in zip(on[i], rest[i], strict=True)] for i in present]
    low = [_least(column) for column in zip(*least, strict=True)]
    check.require(all(x == 0 or x > 0 for x in low), f"{what}: a least probability is not told from 0", "invalid")
    seen, whole = [j for j, x in enumerate(low) if x > 0], check.total(s * x for s, x in zip(size, low, strict=True))
    if not seen:
        return alone
    masses = [kept * whole * _least([row[j] / low[j] for j in seen]) for row in least]
    atoms = [(gains[j] * whole / low[j], size[j] * low[j] / whole) for j in seen]
    sigma = check.total(size[j] * check.larger(g) for j, g in enumerate(gains) if j not in seen)
    hidden = [(g, others[i]) for g, i in zip(masses, present, strict=True) if g > 0]  # others as if it were 0
    if not hidden:
        return alone
    if data["evaluator"] == "mean over counts":
        return -check.larger(-_mean(check, atoms, hidden, what) - sigma, -alone)
    slot = _least([g for g, _ in hidden])
    parts = [([(v, g * m) for v, m in atoms], check.larger(1 - g), c) for g, c in [*hidden, (slot, 1)]]
    value = _sum(check, parts, data, True, what) / (check.total(g * c for g, c in hidden) + slot) + sigma
    return -check.larger(-value, -alone)


Hidden = list[tuple[Number, int]]
"""The mass of each group with the number of its users who are not the victim."""


def _mean(check: Any, atoms: list[Any], hidden: Hidden, what: str) -> Number:
    """Return E[(L_1 + ... + L_m)_+ / m], m one more than the users who are hidden, each with the probability g."""
    check.require(sum(c for _, c in hidden) < _MOST_COUNTS, f"{what}: too many users for a mean over counts")
    chances = prod((arb_poly([check.larger(1 - arb(g)), g]) ** c for g, c in hidden), start=arb_poly([1]))
    law = [(arb(v), arb(m)) for v, m in atoms]
    return check.total(p * check.larger(sums.enumerated(check, [(law, None, m)])) / m for m, p in enumerate(chances, 1))


def _require_one(check: Any, numbers: Iterable[Number], what: str) -> None:
    total = check.total(numbers)
    good = total == 1 if isinstance(total, fmpq) else total.contains(1) and total.rad() < arb(2) ** -99
    check.require(good, f"{what}: probabilities do not sum to 1", "invalid")


def _least(numbers: Iterable[Number]) -> Number:
    def lesser(x: Number, y: Number) -> Number:
        return min(x, y) if isinstance(x, fmpq) and isinstance(y, fmpq) else arb(x).min(arb(y))

    return reduce(lesser, numbers)


# --- sums over groups ------------------------------------------------------------------------------------------------


def _sum(check: Any, groups: list[Any], data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper or lower end bounds E[S_+]."""
    name, plan = data["evaluator"], data["plan"]
    mean = check.total(n * v * m for atoms, _, n in groups for v, m in atoms)
    alone = check.total(n * m * check.larger(v) for atoms, _, n in groups for v, m in atoms)
    if name == "no positive value":
        tops = (reduce(check.larger, [v for v, _ in atoms] + [_ZERO] * _has_null(null)) for atoms, null, _ in groups)
        value = check.larger(check.total(n * top for top, (*_, n) in zip(tops, groups, strict=True))) if up else _ZERO
    elif name == "compact kernel" and plan is not None:
        balls = [([(arb(v), arb(m)) for v, m in atoms], arb(null), n) for atoms, null, n in groups]
        value = sums.kernel(check, balls, plan, up, what)
    else:
        check.require(name == "enumeration", f"{what}: unknown evaluator {name[:40]!a}")
        value = sums.enumerated(check, [(atoms, null if _has_null(null) else None, n) for atoms, null, n in groups])
    return -check.larger(-value, -alone) if up else check.larger(value, mean)


def _has_null(null: Number) -> bool:
    return not (isinstance(null, fmpq) and null == 0)


# --- messages shuffled, below ----------------------------------------------------------------------------------------


def _steps(check: Any, data: dict[str, Any], others: list[int], kept: Number, e: Number, what: str) -> Number:
    """Return the difference of the chances that the sum of all steps reaches the threshold, from below."""
    signs, plan = data["signs"], data["plan"]
    rows = [[check.number(x) for x in row] for row in (*zip(*data["own"], strict=True), *data["others"])]
    good = len(rows) == len(others) + 2 and {len(row) for row in rows} == {len(signs)} and set(signs) <= {-1, 0, 1}
    check.require(good and data["evaluator"] == "steps" and plan is not None, f"{what}: rows without the same columns")
    for row in rows:
        check.require(all(x >= 0 for x in row), f"{what}: a probability is not proved to be >= 0", "invalid")
        _require_one(check, row, what)
    up, down = (
        [arb(check.total(x for x, s in zip(r, signs, strict=True) if s == sign)) for r in rows] for sign in (1, -1)
    )
    laws = [(kept * u, kept * d, c) for u, d, c in zip(up[2:], down[2:], others, strict=True) if c]
    theta, nodes, last, k = arb(check.number(plan["theta"])), plan["N"], plan["last"], plan["threshold"]
    check.require(0 < theta < 2**10 and 0 <= last <= nodes // 2 < 2**40 and abs(k) < 2**63, f"{what}: plan", "invalid")
    check.spend((last + 1) * (12 + 8 * len(laws)), hard=True)
    more, a, b = arb(e) - 1, up[0] - arb(e) * up[1], down[0] - arb(e) * down[1]
    result = arb(0)
    for j in range(last + 1):
        z = acb(theta, 2 * arb.pi() * j / nodes)
        x, y = z.exp(), (-z).exp()
        steps = (((1 + u * (x - 1) + d * (y - 1)) ** c) for u, d, c in laws)
        value = reduce(mul, steps, (a * x - b - more / (1 - y)) * (-z * k).exp())
        result += value.real * (1 if j == 0 or 2 * j == nodes else 2)
    wide = prod(((1 + u * (2 * theta).expm1() + d * (-2 * theta).expm1()) ** c for u, d, c in laws), start=arb(1))
    rest = 1 + wide * (-2 * theta * (k - 1)).exp()
    lost = rest / (theta * nodes).expm1()
    if 2 * last + 1 < nodes:  # nodes that are left out
        grown = [(u * theta.exp(), d * (-theta).exp(), 1 - u - d, c) for u, d, c in laws]
        spread = check.total(2 * s * (u + d) * c / (u + d + s) ** 2 for u, d, s, c in grown)
        whole = prod(((u + d + s) ** c for u, d, s, c in grown), start=(-theta * k).exp())
        fall = 1 - (2 * arb.pi() * (last + 1) / nodes).cos()
        lost += whole * (more / (1 - (-theta).exp()) + abs(a) * theta.exp() + abs(b)) * (-spread * fall / 2).exp()
    return result / nodes - lost
