"""Users who differ, in groups (docs/proofs/users_who_differ.md).

PROVED: where data are shuffled, the sum of the blankets of all positions, or of laws made from their local ratios
alone, bounds the divergence of every pair of inputs; where messages are shuffled, a common blanket does, for one group
of victims and one pair. From below: one pair of data sets, or a threshold for a sum of steps.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from operator import mul
from typing import Any

from flint import acb, arb, arb_poly, fmpq

from . import sums
from .check import ZERO, Number, lesser
from .mechanisms import Mechanism, Pair, View, law, members
from .setting import DATA, MESSAGES, At

POSITIONS, HIDDEN, STEPS = "positions", "hidden users", "steps"
_PLAN: dict[str, Any] = {"threshold": int, "theta": str, "N": int, "last": int}
_MOST_COUNTS = 2**10
"""Users who may be hidden, where a mean goes over how many are."""


def shape(data: dict[str, Any], above: bool) -> dict[str, Any]:
    """Return the shape of one piece of evidence."""
    if data["kind"] == STEPS:
        return {"victim": int, "pair": (int, int), "others": [[(int, int)]], "signs": [int], "plan": _PLAN}
    if data["kind"] == HIDDEN:
        return {"victim": int, "pair": (int, int)} | sums.shape(None)
    if above:
        return {"pairs": type(None) if data.get("pairs") is None else [(int, int)]} | sums.shape(None)
    return {"pair": (int, int), "others": [(int, str)]} | sums.shape(None)


# --- data shuffled ---------------------------------------------------------------------------------------------------


def positions(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper end (above) or lower end (below) bounds the divergence where data are shuffled.

    Above, each position has the blanket that all pairs of its inputs share, or the law of its local ratio alone
    (Theorem C); below, all others hold one input, or draw one with the given weights.
    """
    check, groups = at.check, at.setting.groups
    check.require(at.setting.shuffled == DATA, f"{what}: evidence about shuffled data", "invalid")
    known: list[Mechanism] = [g.mechanism for g in groups]
    if up and data["pairs"] is None:
        e = check.number(f"exp({at.eps})")
        laws = [_of_ratio(check, m.ratio(False), e, what) for m in known]
    else:
        if up:
            pairs = [(pair[0], pair[1]) for pair in data["pairs"]]
            check.require(len(pairs) == len(known), f"{what}: not one pair for each group")
            alike = all(m.key(p) == m.key(q) for m, q in zip(known, pairs, strict=True) for p in m.pairs)
            check.require(alike, f"{what}: pairs of inputs with other blankets", "invalid")
            triples = [m.blanket(pair) for m, pair in zip(known, pairs, strict=True)]
        else:
            if "members" in data:
                check.require(len(data["members"]) == len(known), f"{what}: not one member for each group")
                known = list(members(check, data["members"], known, what))
            else:
                alike = all(m.is_compared((data["pair"][0], data["pair"][1])) for m in known)
                check.require(alike, f"{what}: a pair that is not compared", "invalid")
            weights = [(x, check.number(w)) for x, w in data["others"]]
            good = all(w > 0 for _, w in weights) and check.total(w for _, w in weights) == 1
            good = good and len({x for x, _ in weights}) == len(weights) <= 64
            check.require(good, f"{what}: weights are not those of a mean", "invalid")
            triples = [m.triple((data["pair"][0], data["pair"][1]), weights) for m in known]
        found = [law(check, triple, at.eps) for triple in triples]
        check.require(all(x.visible == 0 for x in found), f"{what}: a singular part", "invalid")
        laws = [(x.atoms, x.null) for x in found]
    return _sum(check, [(*x, g.users) for x, g in zip(laws, groups, strict=True)], data, up, what) / at.n


def _of_ratio(check: Any, t: Number, e: Number, what: str) -> tuple[list[Any], Number]:
    """Return the law of G above those of all randomizers with this ratio: its values with masses, the mass of 0."""
    check.require(1 <= t < arb("inf"), f"{what}: a ratio below 1, or without a limit", "invalid")
    low, mass = 1 - t * e, 1 / (t + 1)
    high, share = (t * (t - e), mass / t) if t < e else (t - e, mass)
    if not (t < e or t >= e):  # not told: a value that is not positive is raised to 0
        high = check.larger(arb(high).upper())
    return [(high, share), (low, mass)], 1 - share - mass


# --- messages shuffled, above ----------------------------------------------------------------------------------------


def _seen(at: At, data: dict[str, Any], what: str) -> tuple[list[View], tuple[int, int], list[int]]:
    """Return the messages of all groups, the same ones, where the pair stands, and how many others there are."""
    check, groups, pair, v = at.check, at.setting.groups, (data["pair"][0], data["pair"][1]), data["victim"]
    check.require(
        at.setting.shuffled == MESSAGES and at.rate == 1, f"{what}: evidence about shuffled messages", "invalid"
    )
    check.require(v in at.setting.victims, f"{what}: a victim of whom nothing is claimed", "invalid")
    check.require(groups[v].mechanism.is_compared(pair), f"{what}: a pair that is not compared", "invalid")
    views = [g.mechanism.view(pair) for g in groups]
    same = all(view.inputs == views[0].inputs for view in views)
    same = same and all([s for s, *_ in view.texts] == [s for s, *_ in views[0].texts] for view in views)
    check.require(same, f"{what}: groups without the same messages", "invalid")
    return views, views[0].places(pair), [g.users - (i == v) for i, g in enumerate(groups)]


def key(at: At, victim: int, pair: Pair) -> Any:
    """Return what pairs of a victim's inputs share only if their laws, and the common blanket, are the same."""
    views = [g.mechanism.view(pair) for g in at.setting.groups]
    i, j = views[victim].places(pair)
    kinds = zip(*(view.kinds() for view in views), strict=True)
    return victim, tuple(
        sorted((on[i], on[j], size, *k) for (size, on, _), k in zip(views[victim].texts, kinds, strict=True))
    )


def hidden(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return what Theorem D gives with the least probabilities as blanket; at most what her own message tells."""
    check, (kept, shuffled), e = at.check, at.setting.hidden, at.check.number(f"exp({at.eps})")
    views, (i, j), others = _seen(at, data, what)
    victim, kinds = views[data["victim"]], zip(*(view.kinds() for view in views), strict=True)
    alike: dict[Any, list[int]] = {}
    for y, ((_, on, _), same) in enumerate(zip(victim.texts, kinds, strict=True)):
        alike.setdefault((on[i], on[j], same), []).append(y)
    size = [check.total(victim.columns[y].size for y in found) for found in alike.values()]
    first = [found[0] for found in alike.values()]
    gains = [victim.columns[y].on[i] - e * victim.columns[y].on[j] for y in first]
    seen_alone = check.total(s * check.larger(g) for s, g in zip(size, gains, strict=True))
    alone, revealed, gains = shuffled * seen_alone, (1 - shuffled) * seen_alone, [shuffled * g for g in gains]
    present = [k for k, c in enumerate(others) if c]
    least = [[views[k].columns[y].low for y in first] for k in present]
    low = [reduce(lesser, column) for column in zip(*least, strict=True)]
    seen, whole = [y for y, x in enumerate(low) if x > 0], check.total(s * x for s, x in zip(size, low, strict=False))
    if not seen:
        return seen_alone
    masses = [kept * whole * reduce(lesser, [row[y] / low[y] for y in seen]) for row in least]
    atoms = [(gains[y] * whole / low[y], size[y] * low[y] / whole) for y in seen]
    sigma = check.total(size[y] * check.larger(g) for y, g in enumerate(gains) if y not in seen)
    found = [(g, others[k]) for g, k in zip(masses, present, strict=True) if g > 0]  # others as if it were 0
    if not found:
        return seen_alone
    if data["evaluator"] == "mean over counts":
        return lesser(_mean(check, atoms, found, what) + sigma, alone) + revealed
    slot = reduce(lesser, [g for g, _ in found])
    parts = [([(v, g * m) for v, m in atoms], check.larger(1 - g), c) for g, c in [*found, (slot, 1)]]
    value = _sum(check, parts, data, True, what) / (check.total(g * c for g, c in found) + slot) + sigma
    return lesser(value, alone) + revealed


def alone(at: At, victim: int, pair: Pair) -> Number:
    """Return the divergence of the victim's own message: nothing that others send makes it worse."""
    view = at.setting.groups[victim].mechanism.view(pair)
    return law(at.check, view.triple(pair, None), at.eps).alone(at.check)


def _mean(check: Any, atoms: list[Any], hidden: list[tuple[Number, int]], what: str) -> Number:
    """Return E[(L_1 + ... + L_m)_+ / m], m one more than the users who are hidden, each with the probability g."""
    check.require(sum(c for _, c in hidden) < _MOST_COUNTS, f"{what}: too many users for a mean over counts")
    chances = prod((arb_poly([check.larger(1 - arb(g)), g]) ** c for g, c in hidden), start=arb_poly([1]))
    law = [(arb(v), arb(m)) for v, m in atoms]
    return check.total(p * check.larger(sums.enumerated(check, [(law, None, m)])) / m for m, p in enumerate(chances, 1))


# --- sums over groups ------------------------------------------------------------------------------------------------


def _sum(check: Any, groups: list[Any], data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper or lower end bounds E[S_+]."""
    name, plan = data["evaluator"], data["plan"]
    mean = check.total(n * v * m for atoms, _, n in groups for v, m in atoms)
    alone = check.total(n * m * check.larger(v) for atoms, _, n in groups for v, m in atoms)
    if name == "one user":
        tops = (reduce(check.larger, [v for v, _ in atoms] + [ZERO] * _has_null(null)) for atoms, null, _ in groups)
        value = check.larger(check.total(n * top for top, (*_, n) in zip(tops, groups, strict=True))) if up else ZERO
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


def steps(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return the difference of the chances that the sum of all steps reaches the threshold, from below.

    ``others`` lists how many users of each group hold which input; messages count 1, -1 or 0 by their ``signs``.
    """
    check, signs, plan, e = at.check, data["signs"], data["plan"], at.check.number(f"exp({at.eps})")
    kept, shuffled = at.setting.hidden
    views, (i, j), others = _seen(at, data, what)
    held = [[(views[0].places((x, x))[0], c) for x, c in group] for group in data["others"]]
    good = all(c >= 0 for group in held for _, c in group) and [sum(c for _, c in group) for group in held] == others
    check.require(good and sum(map(len, held)) <= 4096, f"{what}: not all other users", "invalid")
    columns = [view.columns for view in views]
    good = len(signs) == len(columns[0]) and set(signs) <= {-1, 0, 1} and plan is not None
    check.require(good, f"{what}: signs of other messages, or no plan")
    own = columns[data["victim"]]
    seen = [
        ([c.size * c.on[x] for c in g], count) for g, group in zip(columns, held, strict=True) for x, count in group
    ]
    rows = [[c.size * c.on[i] for c in own], [c.size * c.on[j] for c in own], *(row for row, _ in seen)]
    up_, down = (
        [arb(check.total(x for x, s in zip(r, signs, strict=True) if s == sign)) for r in rows] for sign in (1, -1)
    )
    counts = [count for _, count in seen]
    laws = [(kept * u, kept * d, c) for u, d, c in zip(up_[2:], down[2:], counts, strict=True) if c]
    theta, nodes, last, k = arb(check.number(plan["theta"])), plan["N"], plan["last"], plan["threshold"]
    check.require(0 < theta < 2**10 and 0 <= last <= nodes // 2 < 2**40 and abs(k) < 2**63, f"{what}: plan", "invalid")
    check.spend((last + 1) * (12 + 8 * len(laws)), hard=True)
    more, a, b = arb(e) - 1, up_[0] - arb(e) * up_[1], down[0] - arb(e) * down[1]
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
    pair = data["pair"][0], data["pair"][1]
    return shuffled * (result / nodes - lost) + (1 - shuffled) * alone(at, data["victim"], pair)
