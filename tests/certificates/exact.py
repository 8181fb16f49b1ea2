"""What certificates claim, in fractions: from the definitions and the oracle, with nothing of the verifier's code.

``falsehood`` says whether a claim about what its own evidence lists is false. Levels e^eps that are no fractions are
replaced by fractions on the side where a falsehood stays one: what is called false is false.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations_with_replacement, pairwise, permutations, product
from math import factorial

from tests.oracle import composition, histograms, two_messages
from tests.oracle import users_who_differ as oracle

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


# --- laws -------------------------------------------------------------------------------------------------------------


def triple(evidence: dict) -> tuple[list[F], list[F], list[F]]:
    """The masses of A0, A1 and A2 on the listed symbols."""
    rows = [tuple(map(fraction, row)) for row in evidence["components"]]
    alone = [tuple(map(fraction, row)) for row in evidence.get("singular", [])]
    if any(x < 0 for row in (*rows, *alone) for x in row):
        raise NoLawError
    a0 = [r0 * m for r0, _, m in rows] + [a for a, _ in alone]
    a1 = [r1 * m for _, r1, m in rows] + [b for _, b in alone]
    a2 = [m for *_, m in rows] + [F(0)] * len(alone)
    if not (sum(a0) == sum(a1) == 1 and sum(a2) <= 1):
        raise NoLawError
    return a0, a1, a2


_of_triple = lru_cache(maxsize=1 << 14)(histograms.triple_divergence)


def of_triple(evidence: dict, n: int, E: F) -> F:
    a0, a1, a2 = (tuple(x) for x in triple(evidence))
    if n > MOST_USERS or len(a0) > 5:
        raise NotComparedError
    return _of_triple(a0, a1, a2, n, E)


def merged_by_ratio(law: dict) -> dict[object, list[F]]:
    """The masses under A0, A1 and A2 of messages that tell x0 from x1 alike: together they tell no more than apart."""
    a0, a1, a2 = triple(law)
    found: dict[object, list[F]] = {}
    for row in (*zip(a0, a1, a2, strict=True), (F(0), F(0), 1 - sum(a2))):
        key = "null" if row[0] == row[1] == 0 else row[0] / row[1] if row[1] else "never"
        place = found.setdefault(key, [F(0)] * 3)
        place[:] = [x + y for x, y in zip(place, row, strict=True)]
    return found


@lru_cache(maxsize=1 << 13)
def _worst(rows0: tuple, rows1: tuple, others: tuple, n: int, E: F) -> F:
    best = F(0)
    for chosen in combinations_with_replacement(others, n - 1):
        best = max(best, histograms.divergence_of_users([rows0, *chosen], [rows1, *chosen], E))
    return best


def of_laws(evidence: dict, n: int, E: F) -> F:
    """A number that the divergence of some data set reaches: of those with one input, or of all if messages match."""
    laws = [merged_by_ratio(law) for law in evidence["laws"]]
    if len(laws) > 4 or n > MOST_USERS:
        raise NotComparedError
    keys = list(dict.fromkeys(key for law in laws for key in law))
    rows = [[law.get(key, [F(0)] * 3) for key in keys] for law in laws]
    pairs = {tuple((a, b) for a, b, _ in row) for row in rows}
    if len(pairs) > 1 or len(keys) > 5:
        return max(of_triple({**law, "singular": law["singular"]}, n, E) for law in evidence["laws"])
    first = [a for a, _, _ in rows[0]], [b for _, b, _ in rows[0]]
    others = tuple(sorted({tuple(m for *_, m in row) for row in rows}))
    plan = evidence.get("plan") or {}
    if "counts" in plan:
        if len(plan["counts"]) != len(rows) or sum(plan["counts"]) != n - 1 or min(plan["counts"]) < 0:
            raise NoLawError
        held = [[m for *_, m in row] for row, c in zip(rows, plan["counts"], strict=True) for _ in range(c)]
        return histograms.divergence_of_users([first[0], *held], [first[1], *held], E)
    return _worst(tuple(first[0]), tuple(first[1]), others, n, E)


def table(evidence: dict) -> tuple[tuple[F, ...], ...]:
    rows = tuple(tuple(map(fraction, row)) for row in evidence["rows"])
    if (
        len({len(row) for row in rows}) != 1
        or any(x < 0 for row in rows for x in row)
        or any(sum(r) != 1 for r in rows)
    ):
        raise NoLawError
    return rows


@lru_cache(maxsize=4096)
def _of_pairs(rows: tuple, pairs: tuple, n: int, E: F) -> F:
    return max(
        histograms.divergence_of_users([rows[i], *chosen], [rows[j], *chosen], E)
        for i, j in pairs
        for chosen in combinations_with_replacement(rows, n - 1)
    )


def of_table(evidence: dict, n: int, E: F, above: bool) -> F:
    """The largest divergence of the pairs that are compared, over all data sets or of the one listed."""
    rows = table(evidence)
    if len(rows) > 5 or len(rows[0]) > 4 or n > 6:
        raise NotComparedError
    if "compared" not in evidence:
        return _blankets(rows, n, E)
    pairs = tuple(tuple(pair) for pair in evidence["compared"])
    if any(i == j or not (0 <= i < len(rows) and 0 <= j < len(rows)) for i, j in pairs):
        raise NoLawError
    if above:
        return _of_pairs(rows, pairs, n, E)
    held = [row for row, count in zip(rows, evidence["others"], strict=True) for _ in range(count)]
    if len(held) != n - 1:
        raise NoLawError
    ((i, j),) = pairs
    return histograms.divergence_of_users([rows[i], *held], [rows[j], *held], E)


@lru_cache(maxsize=4096)
def _blankets(rows: tuple, n: int, E: F) -> F:
    return max(histograms.blanket_divergence(rows, i, j, n, E) for i, j in permutations(range(len(rows)), 2))


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


def merged(atoms):
    law = {}
    for value, mass in atoms:
        law[value] = law.get(value, F(0)) + mass
    return law


def of_positions(evidence: dict, n: int, E: F) -> F:
    laws = []
    for entry, count in zip(evidence["positions"], evidence["groups"], strict=True):
        if "ratio" in entry:
            if fraction(entry["ratio"]) < 1:
                raise NoLawError
            laws += [oracle.budget_law(fraction(entry["ratio"]), E)] * count
            continue
        a0, a1, a2 = triple(entry)
        values = [(a - E * b) / m for a, b, m in zip(a0, a1, a2, strict=True) if m]
        if any(a or b for a, b, m in zip(a0, a1, a2, strict=True) if not m):
            raise NoLawError
        masses = [m for m in a2 if m]
        laws += [merged([*zip(values, masses, strict=True), (F(0), 1 - sum(a2))])] * count
    return oracle.expectation(laws) / n


def columns(evidence: dict) -> tuple[list[int], list[list[list[F]]]]:
    found = [[(c["size"], [fraction(x) for x in (*c["on"], *c["further"])]) for c in g] for g in evidence["columns"]]
    sizes = [size for size, _ in found[0]]
    for group in found:
        if [size for size, _ in group] != sizes or min((x for _, row in group for x in row), default=F(0)) < 0:
            raise NoLawError
        if any(sum(size * row[b] for size, row in group) != 1 for b in (0, 1)) or min(sizes) < 1:
            raise NoLawError
    return sizes, [[row for _, row in group] for group in found]


def crowd(evidence: dict) -> tuple[F, list[int]]:
    kept, v, counts = fraction(evidence["kept"]), evidence["victim"], evidence["groups"]
    if not (0 < kept <= 1 and 0 <= v < len(counts)):
        raise NoLawError
    return kept, [c - (i == v) for i, c in enumerate(counts)]


def of_columns(evidence: dict, n: int, E: F) -> F:
    """The largest divergence where each other user holds x0 or x1: the victim's message comes with theirs, shuffled."""
    (kept, others), (sizes, rows) = crowd(evidence), columns(evidence)
    if n > 5 or sum(sizes) > 6:
        raise NotComparedError

    def row(group, b, share):
        full = [r[b] * share for s, r in zip(sizes, rows[group], strict=True) for _ in range(s)]
        return (*full, 1 - share)

    return _of_crowd(
        tuple(row(evidence["victim"], b, F(1)) for b in (0, 1)),
        tuple((tuple(row(i, b, kept) for b in (0, 1)), c) for i, c in enumerate(others)),
        E,
    )


@lru_cache(maxsize=4096)
def _of_crowd(own: tuple, others: tuple, E: F) -> F:
    best = F(0)
    for chosen in product(*(combinations_with_replacement(rows, c) for rows, c in others)):
        held = [row for group in chosen for row in group]
        best = max(best, histograms.divergence_of_users([own[0], *held], [own[1], *held], E))
    return best


def of_steps(evidence: dict, n: int, E: F) -> F:
    """The divergence of the data set whose classes of messages are listed."""
    kept, others = crowd(evidence)
    rows = [[fraction(x) for x in row] for row in (*zip(*evidence["own"], strict=True), *evidence["others"])]
    if any(len(row) != len(evidence["signs"]) or sum(row) != 1 or min(row) < 0 for row in rows):
        raise NoLawError
    if len(rows) != len(others) + 2:
        raise NoLawError
    if n > 8:
        raise NotComparedError
    held = [[*(x * kept for x in row), 1 - kept] for row, c in zip(rows[2:], others, strict=True) for _ in range(c)]
    return histograms.divergence_of_users([[*rows[0], F(0)], *held], [[*rows[1], F(0)], *held], E)


# --- one round --------------------------------------------------------------------------------------------------------


def value(evidence: dict, n: int, E: F, above: bool) -> F:
    """What an upper end must not be below, or a lower end must not be above."""
    if "groups" in evidence:
        if sum(evidence["groups"]) != n or min(evidence["groups"]) < 1:
            raise NoLawError
        if n > 6:
            raise NotComparedError
        if "positions" in evidence:
            return of_positions(evidence, n, E)
        return of_columns(evidence, n, E) if "columns" in evidence else of_steps(evidence, n, E)
    if "ratio" in evidence:
        return of_budget(fraction(evidence["ratio"]), n, E)
    if "rows" in evidence:
        return of_table(evidence, n, E, above)
    return of_laws(evidence, n, E) if "laws" in evidence else of_triple(evidence, n, E)


def falsehood(data: dict) -> str | None:
    """What is false about an accepted certificate, None if nothing is; NotComparedError where that is not found out."""
    if data["format"] != "symamp-certificate":
        return _of_rounds(data)
    claim = data["claim"]
    quantity, n = claim["quantity"], claim["n"]
    is_epsilon = quantity == "epsilon"
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
        if not data[side]:
            return f"nothing is listed {side}"
        if end is None:  # no eps suffices: not even a huge one
            low = high = F(10) ** 30
        else:
            low, high = level(claim["upper" if above else "lower"] if is_epsilon else claim["eps"])
        bound = fraction(claim["delta"]) if is_epsilon else end
        for evidence in data[side]:
            try:
                found = value(evidence, n, high if above else low, above)
            except NoLawError:
                return f"no law is listed {side}"
            if found > bound if above else (found < bound or (is_epsilon and found == bound)):
                return f"{side}: {float(found)} against {float(bound)}"
    of_victims = "victims" in claim and data["above"] and "victim" in data["above"][0]
    if of_victims and not {e["victim"] for e in data["above"]} >= set(claim["victims"]):
        return "a victim is not covered"
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


def _curve_points(curve: dict, entries: list) -> Iterator[tuple[F, F]]:
    for e, d in entries:
        yield fraction(e), fraction(d)


def _round_pair(curve: dict, stated: dict, above: bool) -> composition.Pair:
    if fraction(stated["rate"]) != 1:
        raise NotComparedError
    if above and stated["given"]:
        right = list(_curve_points(curve, curve["first"]))
        second = list(_curve_points(curve, curve["second"])) if curve["second"] else right
        points = right + [(1 / e, 1 - 1 / e + d / e) for e, d in second if e > 1]
        if stated["top"] is not None:  # supposed of the round, in both orders
            top = fraction(stated["top"])
            points += [(top, F(0)), (1 / top, 1 - 1 / top)] if top >= 1 else []
        return hull_pair(points)
    entries = [*curve["first"], *(curve["second"] or [])]
    listed = {tuple(map(tuple, triple(e))) for p in curve["first"] for e in p["above"]}
    if len(listed) != 1 or any(p["claim"]["n"] != stated["n"] for p in entries) or stated["n"] > 6:
        raise NotComparedError
    return composition.pair_of_triple(next(iter(listed)), stated["n"])


def _of_rounds(data: dict) -> str | None:
    claim = data["claim"]
    is_epsilon = claim["quantity"] == "epsilon"
    lower, upper = fraction(claim["lower"]), None if claim["upper"] == "inf" else fraction(claim["upper"])
    if upper is not None and lower > upper:
        return "the ends cross"
    claimed = 0
    for side, end in (("above", upper), ("below", lower)):
        above = side == "above"
        if end is None or (not above and end == 0) or (above and not is_epsilon and end >= 1):
            continue
        claimed += 1
        pairs = []
        for curve in data[side]["rounds"]:
            stated = data["rounds"][curve["round"]]
            if stated["count"] > 3:
                raise NotComparedError
            pairs += [_round_pair(curve, stated, above)] * stated["count"]
        if len(pairs) > 4:
            raise NotComparedError
        low, high = level(claim["upper" if above else "lower"] if is_epsilon else claim["eps"])
        bound = fraction(claim["delta"]) if is_epsilon else end
        found = composition.divergence(reduce(lambda p, q: composition.product([p, q]), pairs), high if above else low)
        if found > bound if above else (found < bound or (is_epsilon and found == bound)):
            return f"{side}: {float(found)} against {float(bound)}"
    if not claimed:
        raise NothingClaimedError
    return None


def kinds(data: dict) -> Counter:
    """How often each evaluator occurs."""
    if data.get("format") != "symamp-certificate":
        return Counter(["rounds"])
    return Counter(
        f"{side} {e.get('evaluator')}" for side in ("above", "below") for e in data.get(side, ()) if isinstance(e, dict)
    )
