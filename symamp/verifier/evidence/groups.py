"""Users who differ, in groups (docs/proofs/users_who_differ.md).

PROVED: where data are shuffled, the sum of the blankets of all positions, or of laws made from their local ratios
alone, bounds the divergence of every pair of inputs; where messages are shuffled, a common blanket does, for one group
of victims and one pair, also where the victim may be missing, and for Poisson numbers of the others. From below: one
pair of data sets, or a threshold for a sum of steps, which may be that of several messages of the victim.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from operator import mul
from typing import Any, NamedTuple

from flint import acb, arb, arb_poly

from .. import sums
from ..check import ZERO, Number, lesser
from ..mechanisms import Component, Mechanism, Pair, Triple, View, law, members
from ..setting import DATA, MESSAGES, At, drawn
from . import triples

POSITIONS, HIDDEN, STEPS = "positions", "hidden users", "steps"
PLAN: dict[str, Any] = {"threshold": int, "theta": str, "N": int, "last": int}
_MOST_COUNTS, _LONGEST = 2**10, 64
"""Users who may be hidden, where a mean goes over how many are; the longest step."""


def shape(data: dict[str, Any], above: bool) -> dict[str, Any]:
    """Return the shape of one piece of evidence."""
    if data["kind"] == STEPS:
        order = {"order": int} if "order" in data else {}
        return {"victim": int, "pair": (int, int), "others": [[(int, int)]], "signs": [int], "plan": PLAN} | order
    if data["kind"] == HIDDEN:
        return {"victim": int} | triples.shape(data, above)
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
            weights = drawn(check, data, what)
            check.require(weights, f"{what}: no inputs of others", "invalid")
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


def _seen(at: At, data: dict[str, Any], what: str, own: int = 1) -> tuple[list[View], tuple[int, int], list[int]]:
    """Return the messages of all groups, where the pair stands, and how many are not the ``own`` ones."""
    check, groups, pair, v = at.check, at.setting.groups, (data["pair"][0], data["pair"][1]), data["victim"]
    good = at.setting.shuffled == MESSAGES and at.rate == 1
    check.require(good, f"{what}: evidence about shuffled messages", "invalid")
    check.require(v in at.setting.victims, f"{what}: a victim of whom nothing is claimed", "invalid")
    check.require(groups[v].mechanism.is_compared(pair), f"{what}: a pair that is not compared", "invalid")
    views = [g.mechanism.view(pair) for g in groups]
    same = all(view.inputs == views[0].inputs for view in views)
    same = same and all([s for s, *_ in view.texts] == [s for s, *_ in views[0].texts] for view in views)
    check.require(same, f"{what}: groups without the same messages", "invalid")
    return views, views[0].places(pair), [g.users - own * (i == v) for i, g in enumerate(groups)]


def key(at: At, victim: int, pair: Pair, order: int = 0) -> Any:
    """Return what pairs of a victim's inputs share only if their laws, and the common blanket, are the same."""
    views, taking = [g.mechanism.view(pair) for g in at.setting.groups], at.setting.who
    places, worlds = views[victim].places(pair), taking.worlds(order)
    kinds = zip(*(view.kinds() for view in views), strict=True)
    rows = (
        (*(on[i] if there else "" for i, there in zip(places, worlds, strict=True)), size, *k)
        for (size, on, _), k in zip(views[victim].texts, kinds, strict=True)
    )
    return victim, order, tuple(sorted(rows))


def hidden(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return what Theorem D gives with the least probabilities as blanket; at most what her own message tells.

    Where the victim may be missing, and for Poisson numbers, it is the divergence of a triple; below, of a Poisson
    number of others who all draw their inputs with the given weights.
    """
    taking = at.setting.who
    if not taking.is_plain(at.n):
        weights = None if up else drawn(at.check, data, what)
        return triples.seen(at, taking, _behind(at, data, weights, what), data, up, what)
    plain = "order" not in data and "each" not in data
    at.check.require(plain, f"{what}: evidence about users who do not all take part")
    at.check.require(up, f"{what}: one law of all others, whose numbers are no Poisson numbers", "invalid")
    check, (kept, shuffled), e = at.check, at.setting.who.hidden, at.check.number(f"exp({at.eps})")
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


def _behind(at: At, data: dict[str, Any], weights: list[tuple[int, Number]] | None, what: str) -> Triple:
    """Return the laws of a victim's messages with what those of all others share, or have on the mean."""
    check, taking = at.check, at.setting.who
    views, (i, j), others = _seen(at, data, what)
    poisson = taking.poisson
    known = weights is None or (poisson and weights)
    check.require(known, f"{what}: no law of the inputs of a Poisson number of others", "invalid")
    held = [(views[0].places((x, x))[0], w) for x, w in weights or ()]
    check.spend(4 * len(views) * len(views[0].texts) * (1 + len(held)), hard=True)
    rows, alone = [], []
    for y, own in enumerate(views[data["victim"]].columns):
        on = [view.columns[y] for view in views]
        found = [c.low if weights is None else check.total(w * c.on[x] for x, w in held) for c in on]
        if poisson:
            mass = check.total(g.users * x for g, x in zip(at.setting.groups, found, strict=True)) / at.n
        else:
            mass = reduce(lesser, [x for x, c in zip(found, others, strict=True) if c] or [ZERO])
        check.require(mass == 0 or mass > 0, f"{what}: a probability is not told from 0", "invalid")
        if mass == 0:
            alone.append(("", own.size * own.on[i], own.size * own.on[j]))
        else:
            rows.append(Component("", own.on[i] / mass, own.on[j] / mass, own.size * mass))
    return Triple(rows, alone, check.larger(1 - check.total(c.mass for c in rows)))


def alone(at: At, victim: int, pair: Pair, order: int = 0) -> Number:
    """Return the divergence of the victim's own message: nothing that others send makes it worse."""
    taking = at.setting.who
    if not taking.is_plain(at.n):
        base = _behind(at, {"victim": victim, "pair": pair}, None, "mechanism")
        return taking.alone(at.check, law(at.check, taking.triple(at.check, base, order), at.eps), at.eps, order)
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
    mean = check.total(n * v * m for atoms, _, n in groups for v, m in atoms)
    alone = check.total(n * m * check.larger(v) for atoms, _, n in groups for v, m in atoms)
    if data["evaluator"] == "one user":
        return alone if up else check.larger(mean)
    value = sums.evaluated(check, data, groups, up, what)
    return -check.larger(-value, -alone) if up else check.larger(value, mean)


# --- messages shuffled, below ----------------------------------------------------------------------------------------


def steps(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return the difference of the chances that the sum of all steps reaches the threshold, from below.

    ``others`` lists how many messages of the others of each group are about which input; messages count as many as
    their ``signs`` say, up or down, and so does a missing one, the last, where the victim may be missing.
    """
    check, signs, plan, own = at.check, data["signs"], data["plan"], at.setting.reports
    views, (i, j), others = _seen(at, data, what, own)
    slots = _Slots.of(at, data, what)
    held = [[(views[0].places((x, x))[0], c) for x, c in group] for group in data["others"]]
    good = all(c >= 0 for group in held for _, c in group) and [sum(c for _, c in group) for group in held] == others
    check.require(good and sum(map(len, held)) <= 4096, f"{what}: not all other users", "invalid")
    columns, victim = [view.columns for view in views], views[data["victim"]].columns
    good = len(signs) == len(victim) + slots.may_miss and all(abs(s) <= _LONGEST for s in signs)
    check.require(good, f"{what}: signs of other messages")

    def law_of(row: list[Number]) -> dict[int, arb]:
        chances: dict[int, arb] = {}
        for x, s in zip(row, signs, strict=True):
            chances[s] = chances.get(s, arb(0)) + arb(x)
        return {s: x for s, x in chances.items() if s}

    rows = (slots.victim(b, [c.size * c.on[x] for c in victim]) for b, x in enumerate((i, j)))
    hiding, shown = zip(*rows, strict=True)
    limit = slots.limit(check, hiding, shown, sum(others))
    if at.eps == "inf":
        return limit
    e = check.number(f"exp({at.eps})")
    seen = check.total(check.larger(x - e * y) for x, y in zip(*shown, strict=True))
    limit = check.larger(limit, seen)
    if plan is None:
        return limit
    whole, step, e = [arb(check.total(row)) for row in hiding], [law_of(row) for row in hiding], arb(e)
    laws = [
        (law_of(slots.other([c.size * c.on[x] for c in group])), count)
        for group, listed in zip(columns, held, strict=True)
        for x, count in listed
        if count
    ]
    low, _ = reached(check, tuple(zip(whole, step, strict=True)), laws, own, e, plan, [plan["threshold"]], what)[0]
    return check.larger(low + seen, limit)


Law = dict[int, arb]


def checked(check: Any, plan: dict[str, Any], what: str) -> arb:
    """Return the tilt of a sum of steps, whose nodes are in order."""
    theta = arb(check.number(plan["theta"]))
    good = 0 < theta < 2**10 and 0 <= plan["last"] <= plan["N"] // 2 < 2**40 and abs(plan["threshold"]) < 2**63
    check.require(good, f"{what}: plan", "invalid")
    return theta


def reached(
    check: Any,
    victim: Any,
    laws: list[tuple[Law, int]],
    own: int,
    e: arb,
    plan: dict[str, Any],
    thresholds: Sequence[int],
    what: str,
) -> list[tuple[arb, arb]]:
    """Return bounds on P0(S >= k) - e P1(S >= k), S the sum of the steps of all messages, for thresholds k.

    ``victim`` has the mass and the steps of a message of the victim in both data sets, of which there are ``own``;
    ``laws`` are those of others, with their numbers.
    """
    theta, nodes, last = checked(check, plan, what), plan["N"], plan["last"]
    kinds = sorted({s for law, _ in laws for s in law} | {s for _, law in victim for s in law})
    check.spend((last + 1) * (12 + (4 + 4 * len(kinds)) * (2 + len(laws))), hard=True)

    def moved(chances: Law, powers: dict[int, Any]) -> Any:
        return sum((x * (powers[s] - 1) for s, x in chances.items()), arb(0))

    def powers_at(z: Any) -> dict[int, Any]:
        return {s: (s * z).exp() for s in kinds}

    def grown(powers: dict[int, Any]) -> Any:
        return reduce(mul, (sums.raised(1 + moved(law, powers), c) for law, c in laws), arb(1))

    results = [arb(0)] * len(thresholds)
    for n in range(last + 1):
        z = acb(theta, 2 * arb.pi() * n / nodes)
        powers = powers_at(z)
        first, second = (sums.raised(t + moved(law, powers), own) for t, law in victim)
        value = (first - e * second) / (1 - (-z).exp()) * grown(powers) * (1 if n == 0 or 2 * n == nodes else 2)
        results = [x + (value * (-z * k).exp()).real for x, k in zip(results, thresholds, strict=True)]
    once, twice = powers_at(theta), powers_at(2 * theta)
    wide, missed = grown(twice), arb(0)
    if 2 * last + 1 < nodes:  # nodes that are left out
        spread = check.total(c * _spread(law, once) for law, c in laws)
        fall = 1 - (2 * arb.pi() * (last + 1) / nodes).cos()
        either = sum((w * (t + moved(law, once)) ** own for w, (t, law) in zip((1, e), victim, strict=True)), arb(0))
        missed = grown(once) * either / (1 - (-theta).exp()) * (-spread * fall / 2).exp()
    found, around = list[tuple[arb, arb]](), 1 / (theta * nodes).expm1()
    for k, result in zip(thresholds, results, strict=True):
        less, more = (
            w * around * (1 + wide * (-2 * theta * k).exp() * (t + moved(law, twice)) ** own)
            for w, (t, law) in zip((1, e), victim, strict=True)
        )
        left = missed * (-theta * k).exp()
        found.append((result / nodes - less - left, result / nodes + more + left))
    return found


def _spread(law: dict[int, arb], powers: dict[int, arb]) -> arb:
    """Return what |phi(v)|^2 of a tilted step is below 1 by, at least, in units of 1 - cos v."""
    chances = {s: x * powers[s] for s, x in law.items()} | {0: (1 - sum(law.values(), arb(0))).max(arb(0))}
    whole = sum(chances.values(), arb(0))
    return sum((2 * x * chances.get(s + 1, arb(0)) for s, x in chances.items()), arb(0)) / whole**2


class _Slots(NamedTuple):
    """Of whom a message may be among those that are shuffled, or missing, and with which chance it is seen alone."""

    kept: Number
    missing: Number
    unshuffled: Number
    leaks: Number
    worlds: tuple[Number, Number]

    @staticmethod
    def of(at: At, data: dict[str, Any], what: str) -> _Slots:
        """Return those of a setting, of one order of the data sets where a report is removed."""
        taking = at.setting.who
        good = ("order" in data) == taking.removal
        at.check.require(good, f"{what}: an order of data sets", "invalid")
        at.check.require(not taking.poisson and taking.is_of_all(at.n), f"{what}: other numbers of users", "invalid")
        missing, worlds = taking.honest * (1 - taking.present), taking.worlds(data.get("order", 0))
        return _Slots(taking.hidden[0], missing, taking.unshuffled, taking.leaks, worlds)

    @property
    def may_miss(self) -> bool:
        """Whether the victim may be missing, so that missing reports are counted."""
        return self.worlds != (1, 1)

    def victim(self, b: int, row: list[Number]) -> tuple[list[Number], list[Number]]:
        """Return the chances of what others hide of the victim in a data set, and of what is seen alone."""
        there, shuffled = self.worlds[b], 1 - self.unshuffled
        kept, none = shuffled * (1 - self.leaks), [1 - there] * self.may_miss
        hidden, shown = ([there * share * x for x in row] for share in (kept, 1 - kept))
        return hidden + [shuffled * x for x in none], shown + [self.unshuffled * x for x in none]

    def limit(self, check: Any, hiding: Any, shown: Any, others: int) -> Number:
        """Return the chance of what the second data set never shows, of a removal: no divergence is below it."""
        if 0 not in self.worlds:
            return ZERO
        alone, seen = (check.total(x for x, y in zip(*rows, strict=True) if y == 0) for rows in (hiding, shown))
        rest = self.missing if self.worlds[1] == 0 else self.kept
        return seen + alone * arb(1 - rest) ** others

    def other(self, row: list[Number]) -> list[Number]:
        """Return the chances of another user's message, and that there is none."""
        return [self.kept * x for x in row] + [self.missing] * self.may_miss
