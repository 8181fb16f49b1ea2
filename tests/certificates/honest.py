"""Tiny certificates of every kind of evidence, about random mechanisms, with plans that are drawn at random.

A claim is put where the evidence just proves it (``aimed``): what is accepted is as sharp as it can be.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import log
from random import Random
from typing import Any

import flint

import symamp as sa
from symamp.verifier.one_round import Check
from symamp.verifier.refusals import Refusal
from symamp.verifier.working import working
from tests.oracle import envelope, histograms

F = Fraction

Data = dict[str, Any]
LEVELS = [F(1), F(11, 10), F(3, 2), F(2), F(7, 2)]
TEXTS = {"mechanism": "m", "method": "m", "proof_status": "proved", "source": "s"}
COMMON = {"method": "m", "proof_status": "proved"}


def eps_text(E: F) -> str:
    return "0" if E == 1 else f"log({E})"


def certificate(n: int, E: F, above: list[Data], below: list[Data], version: int = 2, **claim: Any) -> Data:
    claim = {"quantity": "delta", "n": n, "eps": eps_text(E), "lower": "0", "upper": "1"} | claim
    return {"format": "symamp-certificate", "version": version, **TEXTS, "claim": claim, "above": above, "below": below}


# --- random mechanisms, few of each size, so that their truth is computed once ----------------------------------------


@cache
def pool(inputs: int, messages: int, seed: int) -> tuple[tuple[F, ...], ...]:
    rng, rows = Random(f"{inputs} {messages} {seed}"), []
    for _ in range(inputs):
        weights = [rng.choice((0, 1, 1, 2, 3, 4) if seed % 3 == 0 else (1, 2, 3, 4)) for _ in range(messages)]
        weights[rng.randrange(messages)] += sum(weights) == 0
        rows.append(tuple(F(w, sum(weights)) for w in weights))
    return tuple(rows)


def drawn(rng: Random, inputs: int, messages: int, positive: bool = False) -> tuple[tuple[F, ...], ...]:
    seed = rng.randrange(24)
    return pool(inputs, messages, 3 * seed + 1 if positive else seed)


def texts(rows: Any) -> list[list[str]]:
    return [[str(x) for x in row] for row in rows]


# --- plans ------------------------------------------------------------------------------------------------------------


def number(rng: Random, low: float, high: float) -> str:
    return str(F(low * (high / low) ** rng.random()).limit_denominator(1000) or F(1, 1000))


def kernel_plan(rng: Random, theta: float = 2.0) -> Data:
    t = F(number(rng, theta / 8, theta * 8))
    terms = rng.choice((1, 2, 5, 12, 24, 40))
    plan: Data = {
        "theta": str(t),
        "W": number(rng, 0.5, 40),
        "theta_above": str(t * (1 + F(rng.randint(1, 30), 20))),
        "theta_below": str(t * F(rng.randint(1, 19), 20)),
        "N": terms,
        "evaluated": [],
        "dropped": [],
    }
    start = 1
    while start < terms:
        end = min(start + rng.choice((0, 1, 3, 10, 40)), terms - 1)
        plan["dropped" if start > 1 and rng.random() < 0.3 else "evaluated"].append([start, end])
        start = end + 1
    return plan


def tails_plan(rng: Random, n: int, values: int) -> Data:
    windows = []
    for _ in range(rng.randint(0, max(values - 2, 0)) if rng.random() < 0.3 else max(values - 2, 0)):
        low = rng.choice((0, 0, 0, 0, 1, rng.randint(0, n)))
        windows.append([low, rng.choice((n, n, rng.randint(low, n)))])
    return {"theta": number(rng, 0.05, 40), "windows": windows}


def evaluation(rng: Random, n: int, values: int, kinds: str = "ekntx") -> tuple[str, Any]:
    kind = rng.choice(kinds)
    if kind == "k":
        return "compact kernel", kernel_plan(rng)
    if kind == "t":
        return "binomial tails", tails_plan(rng, n, values + 1)
    return {"e": "enumeration", "n": "no positive value", "x": "exact"}[kind], None


# --- kinds of evidence ------------------------------------------------------------------------------------------------


def law_of(a0: Any, a1: Any, a2: Any) -> Data:
    rows = list(zip(a0, a1, a2, strict=True))
    return {
        "components": [[str(a / m), str(b / m), str(m)] for a, b, m in rows if m],
        "singular": [[str(a), str(b)] for a, b, m in rows if not m and (a or b)],
    }


def one_triple(rng: Random, a0: Any, a1: Any, a2: Any, n: int, E: F) -> Data:
    law = law_of(a0, a1, a2)
    name, plan = evaluation(rng, n, len(law["components"]))
    return COMMON | {
        "pair": ["a", "b"], "others": [], **law, "eps": eps_text(E), "evaluator": name, "precision": 128, "plan": plan,
    }  # fmt: skip


def triples(rng: Random) -> Data:
    n, E = rng.randint(1, 6), rng.choice(LEVELS)
    table = drawn(rng, 3, rng.choice((2, 3, 3, 4)))
    (i, j), k = rng.sample(range(3), 2), rng.randrange(3)
    least = [min(column) for column in zip(*table, strict=True)]
    law = least if rng.random() < 0.5 else table[k]
    sides = [[one_triple(rng, table[i], table[j], law, n, E)] for _ in range(2)]
    if rng.random() < 0.1:
        sides[0].append(one_triple(rng, table[j], table[i], law, n, E))
    keep = rng.choice(("above", "below", "both"))
    return certificate(n, E, sides[0] if keep != "below" else [], sides[1] if keep != "above" else [])


def limits(rng: Random) -> Data:
    table, n = pool(3, 3, 3 * rng.randrange(8)), rng.randint(1, 4)
    i, j, k = (rng.randrange(3) for _ in range(3))
    evidence = one_triple(rng, table[i], table[j], table[k], n, F(1))
    evidence |= {"evaluator": "limit", "eps": "inf", "plan": None}
    claim = {"quantity": "epsilon", "delta": str(F(1, rng.choice((2, 10, 50, 1000)))), "lower": "inf", "upper": "inf"}
    data = certificate(n, F(1), [], [evidence])
    del data["claim"]["eps"]
    data["claim"] |= claim
    return data


def few(rng: Random) -> Data:
    n, E = rng.randint(1, 4), rng.choice(LEVELS)
    table = drawn(rng, rng.choice((2, 3)), rng.choice((2, 3)))
    size = len(table)
    pairs = [list(p) for p in permutations(range(size), 2)]
    if rng.random() < 0.2:
        i, j = rng.choice(pairs)
        pairs = [[i, j], [j, i]]
    common = COMMON | {"eps": eps_text(E), "evaluator": "histograms", "precision": 128, "rows": texts(table)}
    held = [0] * size
    for _ in range(n - 1):
        held[rng.randrange(size)] += 1
    above = [common | {"compared": pairs, "others": None}]
    below = [common | {"compared": [rng.choice(pairs)], "others": held}]
    return certificate(n, E, above, below if rng.random() < 0.7 else [])


def tilts(rng: Random) -> Data:
    n, E = rng.randint(1, 5), rng.choice(LEVELS)
    table = drawn(rng, rng.choice((2, 3)), rng.choice((2, 3)))
    pairs = []
    for pair in permutations(range(len(table)), 2):
        if rng.random() < 0.6:
            name, plan = evaluation(rng, n, 3)
            pairs.append({"pair": list(pair), "evaluator": name, "plan": plan})
    evidence = COMMON | {
        "eps": eps_text(E), "evaluator": "common tilt", "theta": number(rng, 0.05, 20), "precision": 128,
        "rows": texts(table), "pairs": pairs,
    }  # fmt: skip
    upper = histograms.worst_blanket_divergence(table, n, E)[0] * (1 + F(rng.randint(0, 30), 20))
    return certificate(n, E, [evidence], [], upper=str(upper) if upper else "1/1000")


def laws(rng: Random) -> Data:
    """One pair of inputs, the laws of all inputs of the others: one user, or a law above all."""
    n, E = rng.randint(1, 4), rng.choice(LEVELS)
    table = drawn(rng, 3, rng.choice((2, 3)), positive=rng.random() < 0.7)
    i, j = rng.sample(range(3), 2)
    g = envelope.difference(table[i], table[j], E)
    listed = [{"other": str(k), **law_of(table[i], table[j], row)} for k, row in enumerate(table)]
    name, plan = evaluation(rng, n, 4, "ekt")
    evidence = COMMON | {
        "pair": ["a", "b"], "eps": eps_text(E), "precision": 128, "laws": listed, "evaluator": name, "plan": plan,
    }  # fmt: skip
    if rng.random() < 0.15:
        return certificate(n, E, [evidence | {"evaluator": "one user", "plan": None, "dominating": None}], [])
    law, alone = envelope.envelope_law([envelope.own_law(g, row) for row in table])
    found = dict(law.items() if isinstance(law, dict) else law)
    missing = 1 - sum(found.values())
    if missing:
        found[F(0)] = found.get(F(0), F(0)) + missing
    alone += F(rng.choice((0, 0, 0, 1)), 100)
    evidence["dominating"] = {
        "values": [str(v) for v in found], "masses": [str(m) for m in found.values()], "singular": str(alone),
    }  # fmt: skip
    if rng.random() < 0.1:
        evidence["rounded"] = str(F(rng.randint(0, 3), 1000))
    return certificate(n, E, [evidence], [])


def _sum(rng: Random, n: int) -> Data:
    theta = F(number(rng, 0.1, 4))
    period = rng.choice((3, 5, 9, 21, 21, 41))
    return {
        "k": rng.randint(1, n) if rng.random() < 0.5 else (n + 2) // 2,
        "theta": str(theta), "nearer": str(theta * F(rng.randint(0, 19), 20)),
        "further": str(theta * (1 + F(rng.randint(1, 40), 20))), "period": period,
        "last": rng.choice((period // 2, period // 2, rng.randint(0, period // 2))),
    }  # fmt: skip


def counts(rng: Random) -> Data:
    """Reports of two messages: boxes of counts above, one data set below."""
    n, E = rng.randint(2, 6), rng.choice(LEVELS)
    table = drawn(rng, 3, 2, positive=True)
    i, j = rng.sample(range(3), 2)
    listed = [{"other": str(k), **law_of(table[i], table[j], row)} for k, row in enumerate(table)]
    common = COMMON | {
        "pair": ["a", "b"], "eps": eps_text(E), "precision": 128, "laws": listed,
        "evaluator": "counts of messages", "dominating": None,
    }  # fmt: skip
    boxes, start = [], 0
    while start < n:
        end = min(start + rng.choice((0, 0, 0, 1, 2)), n - 1)
        boxes.append({"from": start, "to": end, "spread": rng.random() < 0.25, "sum": _sum(rng, n)})
        start = end + 1
    held = [0] * 3
    for _ in range(n - 1):
        held[rng.randrange(3)] += 1
    above = [common | {"plan": {"boxes": boxes}}]
    below = [common | {"plan": {"counts": held, "sum": _sum(rng, n)}}]
    keep = rng.choice(("above", "below", "both"))
    return certificate(n, E, above if keep != "below" else [], below if keep != "above" else [])


@cache
def _planned(kind: str) -> list[Data]:
    """Certificates of integrals over all data sets, with an eighth of their cells or fewer."""
    if kind == "budget":
        answer = sa.delta(sa.PureLDP(eps0="log(3)"), n=30, eps="log(6/5)", method="generic_all_data_sets", gap=1e-1)
    else:
        table = sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"], ["1/8", "3/8", "1/2"]])
        answer = sa.delta(table, n=12, eps="log(6/5)", method="all_data_sets", gap=1e-1)
    data = json.loads(json.dumps(answer.certificate()))
    found = []
    for evidence in data["above"]:
        plans = evidence["cells"] if kind == "budget" else [evidence["plan"]]
        if plans == [None]:
            continue
        found.append(evidence)
    return found


def _thinned(rng: Random, plan: Data) -> Data:
    plan = copy.deepcopy(plan)
    by, change = rng.choice((8, 8, 12, 20)), rng.random() < 0.4
    for term in plan["terms"]:
        cells = len(term["ends"]) - 1
        at = list(range(0, cells, by))
        term["ends"] = [term["ends"][i] for i in at] + [term["ends"][-1]]
        term["scales"] = [term["scales"][min(i + by // 2, cells - 1)] for i in at]
        for key in ("s", "sigma", "tail", "a") if change else ():
            low, high = (1.0, 1.1) if key == "a" else (0.9, 1.1)
            term[key] = str(F(term[key]) * F(rng.uniform(low, high)).limit_denominator(100))
    for key in ("a", "b") if change else ():
        plan[key] = str(F(plan[key]) * F(rng.uniform(0.5, 1.6)).limit_denominator(100))
    if change:
        plan["p_lo"] = str(F(plan["p_lo"]) * F(rng.uniform(1.0, 1.5)).limit_denominator(100))
    return plan


def integrals(rng: Random) -> Data:
    """All data sets at once, with coarse cells and parameters near those that were found; now and then other laws."""
    evidence = copy.deepcopy(rng.choice(_planned("laws")))
    evidence["plan"], evidence["precision"] = _thinned(rng, evidence["plan"]), 128
    E, n = F(6, 5), rng.choice((8, 12, 12, 12))
    if rng.random() < 0.1:
        table = pool(2, 3, 3 * rng.randrange(3) + 1)
        evidence["laws"] = [{"other": str(k), **law_of(table[0], table[1], row)} for k, row in enumerate(table)]
    return certificate(n, E, [evidence], [])


def budgets(rng: Random) -> Data:
    evidence = copy.deepcopy(rng.choice(_planned("budget")))
    n, t = rng.choice((1, 2, 4, 12, 30)), F(3) if rng.random() < 0.7 else F(rng.choice((2, 4, 6)))
    evidence |= {"ratio": str(t), "precision": 128}
    thin = n == 30
    evidence["cells"] = [
        _thinned(rng, plan) if plan and n > 1 and (thin or rng.random() < 0.1) else None for plan in evidence["cells"]
    ]
    name, plan = evaluation(rng, n, 3, "ekn")
    evidence["low"] = {"evaluator": name, "plan": plan}
    return certificate(n, F(6, 5), [evidence], [])


# --- users who differ -------------------------------------------------------------------------------------------------


def positions(rng: Random) -> Data:
    groups = [rng.randint(1, 2) for _ in range(rng.choice((1, 2, 2)))]
    n, E = sum(groups), rng.choice(LEVELS)
    known: list[Data] = []
    for _ in groups:
        table = drawn(rng, 3, 3, positive=True)
        least = [min(column) for column in zip(*table, strict=True)]
        known.append({"components": law_of(table[0], table[1], least)["components"]})
    budgets_too = [{"ratio": str(rng.choice((F(3, 2), F(2), F(4))))} if rng.random() < 0.5 else x for x in known]

    def one(laws: list[Data]) -> Data:
        name, plan = evaluation(rng, n, 3, "ekn")
        return COMMON | {
            "data": "all", "eps": eps_text(E), "precision": 128, "groups": groups, "positions": laws,
            "evaluator": name, "plan": plan,
        }  # fmt: skip

    keep, victims = rng.choice(("above", "below", "both")), list(range(len(groups)))
    above = [one(known if keep == "both" else budgets_too)] if keep != "below" else []
    return certificate(n, E, above, [one(known)] if keep != "above" else [], 4, victims=victims)


def _crowd(rng: Random) -> tuple[list[int], list[tuple[tuple[F, ...], ...]], F, F]:
    groups = [rng.randint(1, 2) for _ in range(rng.choice((1, 2, 2)))]
    tables = [drawn(rng, 3, rng.choice((2, 3)), positive=rng.random() < 0.8) for _ in groups]
    size = len(tables[0][0])
    tables = [t if len(t[0]) == size else drawn(rng, 3, size) for t in tables]
    return groups, tables, rng.choice((F(1), F(1), F(3, 4))), rng.choice(LEVELS)


def _columns(tables: list[Any]) -> list[Any]:
    return [
        [{"size": 1, "on": [str(t[0][y]), str(t[1][y])], "further": [str(t[2][y])]} for y in range(len(t[0]))]
        for t in tables
    ]


def messages(rng: Random) -> Data:
    """Theorem D above, for every victim or one; a threshold for a sum of steps below."""
    groups, tables, kept, E = _crowd(rng)
    n = sum(groups)
    common = COMMON | {"data": "all", "eps": eps_text(E), "precision": 128, "groups": groups, "kept": str(kept)}
    victims = [rng.randrange(len(groups))] if rng.random() < 0.4 else list(range(len(groups)))
    above = []
    for victim in victims:
        name, plan = rng.choice([("mean over counts", None), evaluation(rng, n, 3, "ekn")])
        above.append(
            common
            | {"victim": victim, "pair": ["a", "b"], "columns": _columns(tables), "evaluator": name, "plan": plan}
        )
    victim = rng.choice(victims)
    held = [t[rng.randrange(2)] for t in tables]
    signs = [rng.choice((-1, 0, 1)) for _ in tables[0][0]]
    nodes = rng.choice((5, 9, 13, 20))
    steps = common | {
        "victim": victim, "pair": ["a", "b"], "signs": signs, "evaluator": "steps",
        "own": [[str(tables[victim][b][y]) for b in (0, 1)] for y in range(len(signs))], "others": texts(held),
        "plan": {
            "threshold": rng.randint(1 - n, n), "theta": number(rng, 0.2, 5), "N": nodes,
            "last": rng.choice((nodes // 2, nodes // 2, rng.randint(0, nodes // 2))),
        },
    }  # fmt: skip
    keep = rng.choice(("above", "below", "both"))
    sides = above if keep != "below" else [], [steps] if keep != "above" else []
    return certificate(n, E, *sides, 4, victims=victims)


# --- many rounds ------------------------------------------------------------------------------------------------------


def _composed(rounds: list[Data], above: Any, below: Any, E: F) -> Data:
    # The level is written as eps, a fraction near to it.
    eps = F(round(log(E), 9)).limit_denominator(10**9)
    claim = {"quantity": "delta", "eps": str(eps), "lower": "0", "upper": "1"}
    return {
        "format": "symamp-composed-certificate", "version": 2, "claim": claim, "rounds": rounds,
        "above": above, "below": below,
    }  # fmt: skip


def _side(rng: Random, curves: list[Data]) -> Data:
    plan = kernel_plan(rng, 1.5) if rng.random() < 0.9 else None
    if plan and rng.random() < 0.8:
        terms = rng.choice((24, 60, 120))
        plan |= {"N": terms, "evaluated": [[1, terms - 1]], "dropped": [], "W": number(rng, 4, 30)}
        plan |= {"theta": "2", "theta_above": number(rng, 3, 12), "theta_below": number(rng, 0.1, 1.5)}
    return {"rounds": curves, "floor": rng.choice((0, 8, 64, 100)) or 40, "precision": 128, "plan": plan}


def given(rng: Random) -> Data:
    """Rounds of given profiles."""
    rounds, curves = [], []
    for i in range(rng.choice((1, 1, 2))):
        levels = sorted({F(1), *(1 + F(rng.randint(1, 30), 10) for _ in range(rng.randint(1, 3)))})
        low, points = F(rng.randint(5, 60), 100), []
        for e in levels:
            points.append([str(e), str(low)])
            low *= F(rng.randint(10, 80), 100)
        top = str(levels[-1] + F(rng.randint(1, 20), 10)) if rng.random() < 0.5 else None
        rounds.append(
            {"round": f"r{i}", "count": rng.choice((1, 2)), "n": None, "rate": "1", "given": True, "top": top}
        )
        bottom = str(1 / F(top)) if top and rng.random() < 0.5 else None
        curves.append({"round": i, "bottom": bottom, "top": top, "first": points, "second": None})
    return _composed(rounds, _side(rng, curves), None, rng.choice(LEVELS[1:]))


@cache
def _truth(a0: Any, a1: Any, a2: Any, n: int, E: F) -> F:
    return histograms.triple_divergence(a0, a1, a2, n, E)


def rounds(rng: Random) -> Data:
    """Rounds of binary response, each point with a certificate, from above and from below."""
    t, n, count = F(rng.choice((2, 3, 4))), rng.randint(2, 4), rng.choice((1, 2))
    a0, a1 = (t / (t + 1), 1 / (t + 1)), (1 / (t + 1), t / (t + 1))
    least = (1 / (t + 1), 1 / (t + 1))
    stated = [{"round": "m", "count": count, "n": n, "rate": "1", "given": False, "top": str(t)}]
    levels = sorted({F(1), *(1 + F(rng.randint(1, 15), 10) for _ in range(rng.randint(2, 4)))})

    def point(E: F, law: Any, both: bool) -> Data:
        evidence = one_triple(Random(0), a0, a1, law, n, E) | {"evaluator": "exact", "plan": None}
        truth, room = _truth(a0, a1, law, n, E), F(rng.choice((0, 1)), 1000)
        claim = {"lower": str(truth * (1 - room)) if both else "0", "upper": str(min(truth * (1 + room), F(1)))}
        return certificate(n, E, [evidence], [evidence] if both else [], **claim)

    def curve(law: Any, both: bool) -> Data:
        top = str(t) if rng.random() < 0.7 else None
        points = [point(E, law, both) for E in levels if not top or t > E]
        return {"round": 0, "bottom": str(1 / t) if top else None, "top": top, "first": points, "second": None}

    keep = rng.choice(("above", "below", "both"))
    above = _side(rng, [curve(least, False)]) if keep != "below" else None
    below = _side(rng, [curve(a0, True)]) if keep != "above" else None
    if below is not None:  # a data set in one order and in the other
        below["rounds"][0] |= {"second": [_turned(p) for p in below["rounds"][0]["first"]], "top": None, "bottom": None}
    return _composed(stated, above, below, rng.choice(LEVELS[1:3]))


def _turned(point: Data) -> Data:
    turned = copy.deepcopy(point)
    E = F(turned["claim"]["eps"].removeprefix("log(").removesuffix(")")) if turned["claim"]["eps"] != "0" else F(1)
    evidence = turned["above"][0]
    for row in evidence["components"]:
        row[0], row[1] = row[1], row[0]
    rows = [tuple(map(F, row)) for row in evidence["components"]]
    law = tuple(m for *_, m in rows)
    truth = _truth(tuple(a * m for a, _, m in rows), tuple(b * m for _, b, m in rows), law, turned["claim"]["n"], E)
    turned["claim"] |= {"lower": str(truth), "upper": str(truth)}
    turned["below"] = [evidence]
    return turned


KINDS: dict[str, tuple[Callable[[Random], Data], int]] = {
    "triples": (triples, 30), "limits": (limits, 3), "few": (few, 10), "tilts": (tilts, 8), "laws": (laws, 12),
    "counts": (counts, 10), "integrals": (integrals, 3), "budgets": (budgets, 3), "positions": (positions, 9),
    "messages": (messages, 12), "given": (given, 8), "rounds": (rounds, 6),
}  # fmt: skip


def some_certificate(rng: Random, kinds: dict[str, Any] | None = None) -> tuple[str, Data]:
    known = kinds or KINDS
    (name,) = rng.choices(list(known), [weight for _, weight in known.values()])
    return name, known[name][0](rng)


# --- claims that are just proved --------------------------------------------------------------------------------------


def aimed(data: Data, rng: Random) -> Data:
    """The certificate with its claim moved to where its evidence reaches, as far as the verifier gets there."""
    if data.get("format") != "symamp-certificate":
        return _aimed_rounds(data)
    data = copy.deepcopy(data)
    claim = data["claim"]
    try:
        check = Check()
        check.opened(data)
        ends: dict[str, list[F]] = {"above": [], "below": []}
        for side in ends:
            for i, evidence in enumerate(data[side]):
                with working(evidence["precision"]):
                    level = check.number(claim["delta" if claim["quantity"] == "epsilon" else "upper"])
                    found = check.bound(evidence, claim["n"], side, level, f"{side}[{i}]")
                    ends[side].append(dyadic(found, side == "above"))
    except (Refusal, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError, MemoryError):
        return data
    if claim["quantity"] == "epsilon":
        if ends["below"] and not ends["above"] and 0 < min(ends["below"]) < 1:
            claim["delta"] = str(min(ends["below"]) * (1 - F(1, 10**9)))
        return data
    if ends["above"] and "theta" not in data["above"][0]:
        claim["upper"] = str(min(max(ends["above"]), F(1)))
    if ends["below"]:
        claim["lower"] = str(max(min(ends["below"]), F(0)))
    return data


def _aimed_rounds(data: Data) -> Data:
    from symamp.verifier import many_rounds

    data = copy.deepcopy(data)
    try:
        check = Check(many_rounds.MOST_WORK)
        many_rounds._opened(data)
        eps, stated = many_rounds._number(data["claim"]["eps"]), data["rounds"]
        for name, up in (("above", True), ("below", False)):
            side = data[name]
            if side is None:
                continue
            curves = [
                (many_rounds._curve(check, r, stated[r["round"]], up, side["floor"]), stated[r["round"]]["count"])
                for r in side["rounds"]
            ]
            with working(side["precision"] + 64):
                found = many_rounds._divergence(curves, flint.arb(eps), side["plan"], up)
            end = dyadic(found, up)
            data["claim"]["upper" if up else "lower"] = str(min(end, F(1)) if up else max(end, F(0)))
    except (Refusal, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError, MemoryError):
        pass
    return data


def dyadic(x: Any, up: bool) -> F:
    """The upper or lower end of a number, exactly; ValueError if it is none."""
    if isinstance(x, flint.fmpq):
        return F(int(x.p), int(x.q))
    x = flint.arb(x)
    end = x.upper() if up else x.lower()
    if not end.is_finite() or abs(end) > 10**6:
        raise ValueError
    mantissa, exponent = end.man_exp()
    if abs(int(exponent)) > 3000:
        raise ValueError
    return F(int(mantissa)) * F(2) ** int(exponent)
