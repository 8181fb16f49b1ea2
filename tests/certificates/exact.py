"""What certificates claim, in fractions: from the definitions and the oracle, with nothing of the verifier's code.

``falsehood`` says whether a claim about what its own evidence lists is false. Levels e^eps that are no fractions are
replaced by fractions on the side where a falsehood stays one: what is called false is false.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations_with_replacement, pairwise, permutations, product
from math import factorial

from tests.oracle import composition, histograms, two_messages
from tests.oracle import users_who_differ as oracle
from tests.oracle.laws import merged

F = Fraction

MOST_USERS, MOST_BITS = 14, 6000


class NoLawError(Exception):
    """The evidence lists no law, or one that has nothing to do with the claim: no certificate may be accepted."""


class NotComparedError(Exception):
    """The claim cannot be compared at little cost."""


class NothingClaimedError(Exception):
    """Both ends are those that always hold."""


# --- numbers ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def fraction(text: str) -> F:
    """The number of a text; NotComparedError unless it is a fraction, a dyadic one or a product of exp(log) and one."""
    dyadic = re.fullmatch(r"(-?\d+)\*2\*\*\((-?\d+)\)", text)
    if dyadic and len(dyadic[2]) < 6:
        return F(int(dyadic[1])) * F(2) ** int(dyadic[2])
    if again := re.fullmatch(r"exp\((?:log\(([^()]+)\)|0)\)\*\(([^()]+)\)", text):
        return fraction(again[1] or "1") * fraction(again[2])
    try:
        found = F(text)
    except (ValueError, ZeroDivisionError):
        raise NotComparedError from None
    if found.numerator.bit_length() + found.denominator.bit_length() > MOST_BITS:
        raise NotComparedError
    return found


@lru_cache(maxsize=4096)
def level(text: str) -> tuple[F, F]:
    """Fractions at most and at least e^eps: both the number itself for 0 and log(fraction)."""
    if text == "0":
        return F(1), F(1)
    if known := re.fullmatch(r"log\(([0-9/]+)\)", text):
        return fraction(known[1]), fraction(known[1])
    x = fraction(text)
    if not 0 <= x <= 20:
        raise NotComparedError
    terms = 90
    low = sum((x**k / factorial(k) for k in range(terms)), F(0))
    rest = 2 * x**terms / factorial(terms)  # the terms fall at least by half from here on
    return F(int(low * 2**200), 2**200), F(int((low + rest) * 2**200) + 1, 2**200)


# --- mechanisms -------------------------------------------------------------------------------------------------------

Rows = tuple[tuple[F, ...], ...]


def _law(row: tuple[F, ...]) -> tuple[F, ...]:
    if any(x < 0 for x in row) or sum(row) != 1:
        raise NoLawError
    return row


@dataclass(frozen=True)
class Seen:
    """A pair of inputs with the messages one by one: the laws of the listed inputs, and the least on any input."""

    pair: tuple[int, int]
    rows: dict[int, tuple[F, ...]]
    low: tuple[F, ...]

    def __hash__(self) -> int:
        return hash((self.pair, tuple(self.rows.items()), self.low))


def seen(mechanism: dict) -> list[Seen]:
    """All ordered pairs that are compared."""
    if mechanism["kind"] == "table":
        rows = [_law(tuple(map(fraction, row))) for row in mechanism["rows"]]
        if len({len(row) for row in rows}) != 1 or len(rows) > 5 or len(rows[0]) > 5:
            raise NotComparedError
        low, known = tuple(map(min, zip(*rows, strict=True))), dict(enumerate(rows))
        compared = mechanism["compared"]
        pairs = permutations(known, 2) if compared is None else {p for i, j in compared for p in ((i, j), (j, i))}
        if any(not {i, j} <= set(known) or i == j for i, j in pairs if compared is not None):
            raise NoLawError
        pairs = permutations(known, 2) if compared is None else sorted(pairs)
        return [Seen(pair, known, low) for pair in pairs]
    if mechanism["kind"] != "orbits":
        raise NotComparedError
    found = []
    for entry in mechanism["pairs"]:
        columns = []
        for c in entry["columns"]:
            size, on = fraction(c["size"]), [fraction(x) for x in c["on"]]
            rest = [fraction(d) for d, _ in c["rest"]]
            if size.denominator != 1 or not 1 <= size <= 6 or min([*on, *rest]) < 0:
                raise NoLawError if size <= 0 or min([*on, *rest]) < 0 else NotComparedError
            columns += [(on, min([*on, *rest]))] * int(size)
        if len(columns) > 6:
            raise NotComparedError
        rows = {x: _law(tuple(on[k] for on, _ in columns)) for k, x in enumerate(entry["inputs"])}
        i, j = entry["pair"]
        found += [Seen(pair, rows, tuple(low for _, low in columns)) for pair in ((i, j), (j, i))]
    return found


_of_triple = lru_cache(maxsize=1 << 14)(histograms.triple_divergence)


def of_triple(a0: tuple[F, ...], a1: tuple[F, ...], a2: tuple[F, ...], n: int, E: F) -> F:
    if n > MOST_USERS or len(a0) > 6:
        raise NotComparedError
    return _of_triple(a0, a1, a2, n, E)


@lru_cache(maxsize=1 << 13)
def true_divergence(view: Seen, n: int, E: F) -> F:
    """The largest divergence of a pair over all data sets of the listed inputs."""
    if n > 6 or (n > 4 and len(view.rows) > 3):
        raise NotComparedError
    i, j = view.pair
    return max(
        histograms.divergence_of_users([view.rows[i], *chosen], [view.rows[j], *chosen], E)
        for chosen in combinations_with_replacement(view.rows.values(), n - 1)
    )


def listed(mechanism: dict, pair: tuple[int, int], other: int | None) -> tuple[tuple[F, ...], ...]:
    """A triple that is listed itself."""
    for entry in mechanism["pairs"]:
        laws = {x["input"]: x for x in entry["others"]} | ({None: entry["above"]} if entry["above"] else {})
        if tuple(entry["pair"]) == pair and other in laws:
            return triple(laws[other])
    raise NoLawError


def triple(data: dict) -> tuple[tuple[F, ...], ...]:
    rows = [tuple(map(fraction, row)) for row in data["components"]]
    alone = [tuple(map(fraction, row)) for row in data["singular"]]
    a0 = tuple([r0 * m for r0, _, m in rows] + [a for a, _ in alone])
    a1 = tuple([r1 * m for _, r1, m in rows] + [b for _, b in alone])
    a2 = tuple([m for *_, m in rows] + [F(0)] * len(alone))
    if min([*a0, *a1, *a2], default=F(0)) < 0 or not (sum(a0) == sum(a1) == 1 and sum(a2) <= 1):
        raise NoLawError
    return a0, a1, a2


def held(mechanism: dict, pair: tuple[int, int], others: list) -> tuple[tuple[F, ...], ...]:
    """(A0, A1, A2) of a data set in which the others draw inputs with the given weights."""
    if mechanism["kind"] == "triples":
        return listed(mechanism, pair, others[0][0] if others else None)
    view = next((v for v in seen(mechanism) if v.pair == pair), None)
    weights = [(x, fraction(w)) for x, w in others]
    if view is None or sum(w for _, w in weights) != 1 or any(w <= 0 or x not in view.rows for x, w in weights):
        raise NoLawError
    mixture = tuple(sum(w * view.rows[x][y] for x, w in weights) for y in range(len(view.low)))
    return view.rows[pair[0]], view.rows[pair[1]], mixture


# --- what evidence proves ---------------------------------------------------------------------------------------------

_BLANKETS = {"blanket", "common tilt"}


def least_above(setting: dict, evidence: list, n: int, E: F) -> F:
    """A number below which no claim is right: the truth, or what a bound gives that all this evidence is above."""
    groups, kinds = setting["groups"], {e["kind"] for e in evidence}
    if len(groups) > 1 or setting["kept"] != "1" or kinds & {"positions", "hidden users"}:
        return least_of_groups(setting, n, E)
    mechanism = groups[0]["mechanism"]
    if mechanism["kind"] == "budget":
        return of_budget(fraction(mechanism["ratio"]), n, E)
    if mechanism["kind"] == "triples":
        entries = [p for p in mechanism["pairs"] if p["compared"]]
        known = [(tuple(p["pair"]), [None] if p["above"] else [x["input"] for x in p["others"]]) for p in entries]
        laws = [listed(mechanism, pair, x) for pair, inputs in known for x in inputs]
        return max((of_triple(*law, n, E) for law in laws), default=F(0))
    result = F(0)
    for view in seen(mechanism):
        first, second = view.rows[view.pair[0]], view.rows[view.pair[1]]
        if kinds <= _BLANKETS:
            # A pair that is left to one user alone is bounded by that: no less than its blanket.
            result = max(result, of_triple(first, second, view.low, n, E))
        else:
            result = max(result, true_divergence(view, n, E))
    if mechanism.get("rounded") is not None:
        result += (1 + E) * n * fraction(mechanism["rounded"])
    return result


def most_below(setting: dict, evidence: list, n: int, E: F) -> F:
    """The divergence of the data sets that are listed."""
    mechanism, result = setting["groups"][0]["mechanism"], F(0)
    for e in evidence:
        pair = tuple(e["pair"])
        owner = e["members"][0] | {"compared": None} if "members" in e else mechanism
        if "members" in e and mechanism["kind"] == "budget" and e["kind"] != "positions":
            view = seen(owner)[0]
            columns = zip(*view.rows.values(), strict=True)
            if any(max(c) > fraction(mechanism["ratio"]) * min(c) for c in columns):
                return F(-1)
        if e["kind"] == "data set":
            found = held(owner, pair, e["others"])
            if e["evaluator"] == "limit":
                E = F(10) ** 30
            result = max(result, of_triple(*found, n, E))
            continue
        if e["kind"] in ("positions", "steps"):
            result = max(result, below_of_groups(setting, e, n, E))
            continue
        view = next((v for v in seen(owner) if v.pair == pair), None)
        if view is None:
            raise NoLawError
        counts = list(enumerate(e["others"])) if e["kind"] == "histograms" else e["others"]
        if sum(c for _, c in counts) != n - 1 or min(c for _, c in counts) < 0:
            raise NoLawError
        if n > 8:
            raise NotComparedError
        rows = [view.rows[x] for x, c in counts for _ in range(c)]
        found = histograms.divergence_of_users([view.rows[pair[0]], *rows], [view.rows[pair[1]], *rows], E)
        result = max(result, found)
    return result


@lru_cache(maxsize=4096)
def of_budget(ratio: F, n: int, E: F) -> F:
    """The largest divergence of some randomizers of a local budget."""
    if ratio <= 1 or n > 40:
        raise NotComparedError
    if n > 5:
        high, low = ratio / (ratio + 1), 1 / (ratio + 1)
        return max(two_messages.compositions(high, low, E, high, low, n))
    tables = [histograms.randomized_response(k, ratio) for k in (2, 3)]
    return max(histograms.worst_true_divergence(t, n, E)[0] for t in tables)


# --- users who differ -------------------------------------------------------------------------------------------------


def _values(a0: tuple[F, ...], a1: tuple[F, ...], a2: tuple[F, ...], E: F) -> dict[F, F]:
    if any((a or b) and not m for a, b, m in zip(a0, a1, a2, strict=True)):
        raise NoLawError
    values = [((a - E * b) / m, m) for a, b, m in zip(a0, a1, a2, strict=True) if m]
    return merged([*values, (F(0), 1 - sum(a2))])


def least_of_groups(setting: dict, n: int, E: F) -> F:
    groups, kept = setting["groups"], fraction(setting["kept"])
    if n > 5:
        raise NotComparedError
    if setting["shuffled"] == "data":
        laws = []
        for g in groups:
            if g["mechanism"]["kind"] == "budget":
                laws += [oracle.budget_law(fraction(g["mechanism"]["ratio"]), E)] * g["users"]
                continue
            view = seen(g["mechanism"])[0]
            laws += [_values(view.rows[view.pair[0]], view.rows[view.pair[1]], view.low, E)] * g["users"]
        return oracle.expectation(laws) / n
    views = [{v.pair: v for v in seen(g["mechanism"] | {"compared": None})} for g in groups]

    def row(view: Seen, x: int, share: F) -> tuple[F, ...]:
        return (*(p * share for p in view.rows[x]), 1 - share)

    best = F(0)
    for i, g in enumerate(groups):
        if not g["victim"]:
            continue
        for view in seen(g["mechanism"]):
            pair = view.pair
            others = tuple(
                (tuple(row(views[k][pair], x, kept) for x in views[k][pair].rows), other["users"] - (k == i))
                for k, other in enumerate(groups)
            )
            if sum(c for _, c in others) > 3:
                raise NotComparedError
            best = max(best, _of_crowd(tuple(row(view, x, F(1)) for x in pair), others, E))
    return best


@lru_cache(maxsize=4096)
def _of_crowd(own: tuple, others: tuple, E: F) -> F:
    best = F(0)
    for chosen in product(*(combinations_with_replacement(rows, c) for rows, c in others)):
        rows = [row for group in chosen for row in group]
        best = max(best, histograms.divergence_of_users([own[0], *rows], [own[1], *rows], E))
    return best


def below_of_groups(setting: dict, e: dict, n: int, E: F) -> F:
    """The divergence of the data sets that are listed."""
    groups, pair = setting["groups"], tuple(e["pair"])
    if n > 8:
        raise NotComparedError
    owners = [m | {"compared": None} for m in e.get("members", ())] or [g["mechanism"] for g in groups]
    for g, owner in zip(groups, owners, strict=True):
        if g["mechanism"]["kind"] == "budget":
            columns = zip(*seen(owner)[0].rows.values(), strict=True)
            if any(max(c) > fraction(g["mechanism"]["ratio"]) * min(c) for c in columns):
                return F(-1)
    if e["kind"] == "positions":
        laws = []
        for g, owner in zip(groups, owners, strict=True):
            laws += [_values(*held(owner, pair, e["others"]), E)] * g["users"]
        return oracle.expectation(laws) / n
    kept, v = fraction(setting["kept"]), e["victim"]
    if not groups[v]["victim"]:
        return F(-1)
    if pair not in [view.pair for view in seen(groups[v]["mechanism"])]:
        raise NoLawError
    views = [next(view for view in seen(g["mechanism"] | {"compared": None}) if view.pair == pair) for g in groups]
    own = [(*views[v].rows[x], F(0)) for x in pair]
    for k, (group, g) in enumerate(zip(e["others"], groups, strict=True)):
        if sum(c for _, c in group) != g["users"] - (k == v) or min(c for _, c in group) < 0:
            raise NoLawError
    rows = [
        (*(p * kept for p in view.rows[x]), 1 - kept)
        for view, group in zip(views, e["others"], strict=True)
        for x, c in group
        for _ in range(c)
    ]
    return histograms.divergence_of_users([own[0], *rows], [own[1], *rows], E)


# --- one round --------------------------------------------------------------------------------------------------------


def falsehood(data: dict) -> str | None:
    """What is false about an accepted certificate, None if nothing is; NotComparedError where that is not found out."""
    claim, settings = data["claim"], data["settings"]
    is_epsilon = claim["quantity"] == "epsilon"
    ends = {}
    for side in ("above", "below"):
        text = claim["upper" if side == "above" else "lower"]
        ends[side] = None if text == "inf" else fraction(text)
    if None not in ends.values() and ends["below"] > ends["above"]:
        return "the ends cross"
    claimed = 0
    for side, end in ends.items():
        above = side == "above"
        if (end is None and above) or (end == 0 and not above) or (above and not is_epsilon and end >= 1):
            continue
        claimed += 1
        if data[side] is None:
            return f"nothing is listed {side}"
        if end is None:  # no eps suffices: not even a huge one
            low = high = F(10) ** 30
        else:
            low, high = level(claim["upper" if above else "lower"] if is_epsilon else claim["eps"])
        bound = fraction(claim["delta"]) if is_epsilon else end
        E = high if above else low
        try:
            if "curves" in data[side]:
                found = of_rounds(settings, data[side], E, above)
            else:
                (setting,) = settings
                if setting["count"] != 1 or setting["rate"] != "1":
                    return "evidence about another number of rounds"
                n = sum(g["users"] for g in setting["groups"])
                found = (least_above if above else most_below)(setting, data[side]["evidence"], n, E)
        except NoLawError:
            return f"no law is listed {side}"
        if found > bound if above else (found < bound or (is_epsilon and found == bound)):
            return f"{side}: {float(found)} against {float(bound)}"
    if not claimed:
        raise NothingClaimedError
    return None


# --- many rounds ------------------------------------------------------------------------------------------------------


def hull_pair(points: list[tuple[F, F]]) -> composition.Pair:
    """The pair whose curve is the largest convex one that is nowhere above the points, and falls."""
    found = [(F(0), F(1))]
    for e, d in sorted(points):
        if d > found[-1][1]:
            continue
        while len(found) > 1 and (found[-1][1] - found[-2][1]) * (e - found[-2][0]) >= (d - found[-2][1]) * (
            found[-1][0] - found[-2][0]
        ):
            found.pop()
        found.append((e, d))
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(found)] + [F(0)]
    pair: composition.Pair = {None: found[-1][1]}
    for (e, _), a, b in zip(found[1:], slopes, slopes[1:], strict=False):
        pair[e] = pair.get(e, F(0)) + e * (b - a)
    return pair


def _round_pair(setting: dict, curve: dict, above: bool) -> composition.Pair:
    mechanism, rate, n = setting["groups"][0]["mechanism"], fraction(setting["rate"]), setting["groups"][0]["users"]
    if above and mechanism["kind"] == "given":
        right = [(fraction(e), fraction(d)) for e, d in mechanism["points"]]
        if rate != 1:
            raise NotComparedError
        return hull_pair(right + [(1 / e, 1 - 1 / e + d / e) for e, d in right if e > 1])
    if n > 6:
        raise NotComparedError
    if above:
        view = seen(mechanism)[0]
        if len(view.rows) > 2 or rate != 1 or view.rows[0] != view.rows[1][::-1]:
            raise NotComparedError
        return composition.pair_of_triple((view.rows[view.pair[0]], view.rows[view.pair[1]], view.low), n)
    (e,) = curve["first"][0]["evidence"]
    if "members" in e:
        raise NotComparedError
    a0, a1, a2 = held(mechanism, tuple(e["pair"]), e["others"])
    first, second = (tuple(rate * x + (1 - rate) * y for x, y in zip(row, a2, strict=True)) for row in (a0, a1))
    return composition.pair_of_triple((first, second, a2), n)


def of_rounds(settings: list, side: dict, E: F, above: bool) -> F:
    pairs = []
    for curve in side["curves"]:
        setting = settings[curve["setting"]]
        if setting["count"] > 3:
            raise NotComparedError
        pairs += [_round_pair(setting, curve, above)] * setting["count"]
    if above and {c["setting"] for c in side["curves"]} != set(range(len(settings))):
        return F(2)
    if len(pairs) > 4 or not pairs:
        raise NotComparedError
    return composition.divergence(reduce(lambda p, q: composition.product([p, q]), pairs), E)


def kinds(data: dict) -> Counter:
    """How often each kind of evidence occurs."""
    found = ((side, data.get(side) or {}) for side in ("above", "below"))
    return Counter(
        f"{name} {e.get('kind')}" for name, side in found for e in side.get("evidence", ({"kind": "curves"},))
    )
