"""Tiny certificates of every kind of evidence, about random mechanisms, with plans that are drawn at random.

A claim is put where the evidence just proves it (``aimed``): what is accepted is as sharp as it can be.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from math import log
from random import Random
from typing import Any

import flint

import symamp as sa
from symamp.verifier import certificate as checks
from symamp.verifier import rounds, verify
from symamp.verifier.check import Check, working
from symamp.verifier.documents import Refusal
from symamp.verifier.evidence import kinds
from symamp.verifier.setting import At, Setting
from tests.oracle import envelope, histograms

F = Fraction

Data = dict[str, Any]
LEVELS = [F(1), F(11, 10), F(3, 2), F(2), F(7, 2)]


def eps_text(E: F) -> str:
    return "0" if E == 1 else f"log({E})"


def of_table(table: Any, **options: Any) -> Data:
    data = {"kind": "table", "inputs": [f"x{i}" for i in range(len(table))], "compared": None, "rows": texts(table)}
    return data | {"rounded": None} | options


def of_orbits(rng: Random, table: Any) -> Data:
    """The table as orbits: equal columns together, seen from one pair each, all other inputs listed or in the rest."""
    size, entries = len(table), []
    hidden = rng.random() < 0.3
    for i, j in combinations(range(size), 2):
        seen = [i, j] if hidden else [i, j, *(k for k in range(size) if k not in (i, j))]
        columns: dict[Any, int] = {}
        for column in zip(*table, strict=True):
            rest = tuple(sorted(str(column[k]) for k in range(size) if k not in seen))
            key = tuple(str(column[k]) for k in seen), rest
            columns[key] = columns.get(key, 0) + 1
        entries.append(
            {
                "pair": [i, j],
                "inputs": seen,
                "columns": [
                    {"size": str(count), "on": list(on), "rest": [[d, str(rest.count(d))] for d in sorted(set(rest))]}
                    for (on, rest), count in columns.items()
                ],
            }
        )
    stand_for = "blanket" if hidden else "all"
    return {"kind": "orbits", "inputs": [f"x{i}" for i in range(size)], "stand_for": stand_for, "pairs": entries}


def of_triples(laws: list[tuple[tuple[int, int], Any, list[tuple[int, Any]]]], exact: bool) -> Data:
    pairs = [
        {
            "pair": list(pair), "compared": above is not None, "above": None if above is None else law_of(*above),
            "others": [{"input": k, **law_of(*law)} for k, law in others],
        }
        for pair, above, others in laws
    ]  # fmt: skip
    return {"kind": "triples", "inputs": ["a", "b", "c"], "exact": exact, "mixed": False, "pairs": pairs}


def mechanism(rng: Random, table: Any) -> Data:
    return of_table(table) if rng.random() < 0.7 else of_orbits(rng, table)


def one(groups: list[tuple[int, bool, Data]], **options: Any) -> Data:
    listed = [{"users": n, "victim": victim, "mechanism": data} for n, victim, data in groups]
    return {"name": "m", "count": 1, "rate": "1", "shuffled": "messages", "kept": "1", "groups": listed} | options


def certificate(settings: Any, E: F, above: list[Data] | None, below: list[Data] | None, **claim: Any) -> Data:
    """A claim about one round, with evidence at one level; (n, mechanism) stand for users who all run one."""
    listed = [one([(settings[0], True, settings[1])])] if isinstance(settings, tuple) else settings
    sides = {"above": above, "below": below}
    return {
        "format": "symamp-certificate", "version": 6,
        "claim": {"quantity": "delta", "eps": eps_text(E), "lower": "0", "upper": "1"} | claim, "settings": listed,
        **{k: None if x is None else {"eps": eps_text(E), "precision": 128, "evidence": x} for k, x in sides.items()},
        "supposed": ["s"],
    }  # fmt: skip


def sides(rng: Random, above: list[Data], below: list[Data]) -> tuple[list[Data] | None, list[Data] | None]:
    keep = rng.choice(("above", "below", "both"))
    return above if keep != "below" else None, below if keep != "above" else None


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


def large_plan(rng: Random, values: int) -> Data:
    """A threshold with some number of plans: where it is not that of the values above the plan is refused."""
    plans = [{"plan": rng.choice((None, kernel_plan(rng)))} for _ in range(1 + rng.randint(0, min(values, 2)))]
    return {"threshold": str(F(rng.randint(-20, 40), 20)), "plans": plans}


def evaluation(rng: Random, n: int, values: int, kinds: str = "ektxl") -> Data:
    kind = rng.choice(kinds)
    if kind == "l":
        return {"evaluator": "large values", "plan": large_plan(rng, values)}
    if kind == "k":
        return {"evaluator": "compact kernel", "plan": kernel_plan(rng)}
    if kind == "t":
        return {"evaluator": "binomial tails", "plan": tails_plan(rng, n, values + 1)}
    return {"evaluator": {"e": "enumeration", "n": "one user", "x": "exact", "v": "visible"}[kind], "plan": None}


# --- kinds of evidence ------------------------------------------------------------------------------------------------


def law_of(a0: Any, a1: Any, a2: Any) -> Data:
    rows = list(zip(a0, a1, a2, strict=True))
    return {
        "components": [[str(a / m), str(b / m), str(m)] for a, b, m in rows if m],
        "singular": [[str(a), str(b)] for a, b, m in rows if not m and (a or b)],
    }


def _held(rng: Random, size: int) -> list[list[Any]]:
    if rng.random() < 0.7:
        return [[rng.randrange(size), "1"]]
    i, j = rng.sample(range(size), 2)
    w = F(rng.randint(1, 7), 8)
    return [[i, str(w)], [j, str(1 - w)]]


def _values(rng: Random, table: Any) -> int:
    """How many values there may be: with more windows than that a plan is refused."""
    return len(table[0]) - rng.choice((0, 0, 1))


def triples(rng: Random) -> Data:
    """Blankets of all pairs of a table or of orbits above, now and then too few; one data set below."""
    n, E = rng.randint(1, 6), rng.choice(LEVELS)
    table = drawn(rng, rng.choice((2, 3)), rng.choice((2, 3, 3, 4)))
    data = mechanism(rng, table)
    if data["kind"] == "table" and rng.random() < 0.15:
        data["compared"] = [rng.sample(range(len(table)), 2)]
    pairs = [p for p in permutations(range(len(table)), 2) if rng.random() < 0.95]
    if data.get("compared"):
        pairs = [p for p in pairs if set(p) == set(data["compared"][0])]
    above = [{"kind": "blanket", "pair": list(p)} | evaluation(rng, n, _values(rng, table), "eekttxl") for p in pairs]
    others = [[p, "1"] for p in rng.sample(range(2), 1)] if data.get("stand_for") == "blanket" else None
    pair = [0, 1] if others else rng.sample(range(len(table)), 2)
    below = {"kind": "data set", "pair": pair, "others": others or _held(rng, len(table))}
    return certificate((n, data), E, *sides(rng, above, [below | evaluation(rng, n, _values(rng, table), "ekttxvl")]))


def listed(rng: Random) -> Data:
    """Triples that are listed themselves."""
    n, E = rng.randint(1, 6), rng.choice(LEVELS)
    table = drawn(rng, 3, rng.choice((2, 3)))
    i, j, k = rng.sample(range(3), 3)
    law = table[k] if rng.random() < 0.5 else [min(column) for column in zip(*table, strict=True)]
    exact = rng.random() < 0.5
    known = [(x, (table[i], table[j], table[x])) for x in ([k] if rng.random() < 0.8 else rng.sample(range(3), 2))]
    data = of_triples([((i, j), (table[i], table[j], law), known)], exact)
    if rng.random() < 0.2:
        data["pairs"][0]["above"] = None
    above = [{"kind": "blanket", "pair": [i, j]} | evaluation(rng, n, _values(rng, table), "ekttxl")]
    others = [] if exact and rng.random() < 0.5 else [[rng.choice(known)[0], "1"]]
    below = [{"kind": "data set", "pair": [i, j], "others": others} | evaluation(rng, n, 3, "ektxvl")]
    return certificate((n, data), E, *sides(rng, above, below))


def limits(rng: Random) -> Data:
    table, n = pool(3, 3, 3 * rng.randrange(8)), rng.randint(1, 4)
    i, j = rng.sample(range(3), 2)
    found = {"kind": "data set", "pair": [i, j], "others": _held(rng, 3), "evaluator": "limit", "plan": None}
    data = certificate((n, of_table(table)), F(1), None, [found])
    data["below"]["eps"] = "inf"
    delta = str(F(1, rng.choice((2, 10, 50, 1000))))
    data["claim"] = {"quantity": "epsilon", "delta": delta, "lower": "inf", "upper": "inf"}
    return data


def few(rng: Random) -> Data:
    n, E = rng.randint(1, 4), rng.choice(LEVELS)
    table = drawn(rng, rng.choice((2, 3)), rng.choice((2, 3)))
    size = len(table)
    pairs = list(combinations(range(size), 2))
    compared = [list(rng.choice(pairs))] if rng.random() < 0.2 else None
    held = [0] * size
    for _ in range(n - 1):
        held[rng.randrange(size)] += 1
    below = [{"kind": "histograms", "pair": compared[0] if compared else rng.sample(range(size), 2), "others": held}]
    data = of_table(table, compared=compared)
    return certificate((n, data), E, [{"kind": "histograms"}], below if rng.random() < 0.7 else None)


def tilts(rng: Random) -> Data:
    n, E = rng.randint(1, 5), rng.choice(LEVELS)
    table = drawn(rng, rng.choice((2, 3)), rng.choice((2, 3)))
    above: list[Data] = [{"kind": "common tilt", "theta": number(rng, 0.05, 20)}]
    for pair in permutations(range(len(table)), 2):
        if rng.random() < 0.6:
            above.append({"kind": "blanket", "pair": list(pair)} | evaluation(rng, n, 3))
    upper = histograms.worst_blanket_divergence(table, n, E)[0] * (1 + F(rng.randint(0, 30), 20))
    rounded = None if rng.random() < 0.8 or not 0 < upper < 1 else str(upper / (1 + E) / n * F(rng.randint(0, 4), 4))
    return certificate((n, of_table(table, rounded=rounded)), E, above, None, upper=str(upper) if upper else "1/1000")


def laws(rng: Random) -> Data:
    """The laws of all inputs of the others: a law above all for each pair."""
    n, E = rng.randint(1, 4), rng.choice(LEVELS)
    table = drawn(rng, rng.choice((2, 3, 3)), rng.choice((2, 3)), positive=rng.random() < 0.7)
    above = []
    for i, j in permutations(range(len(table)), 2):
        g = envelope.difference(table[i], table[j], E)
        law, alone = envelope.envelope_law([envelope.own_law(g, row) for row in table])
        found = dict(law.items() if isinstance(law, dict) else law)
        missing = 1 - sum(found.values())
        if missing:
            found[F(0)] = found.get(F(0), F(0)) + missing
        alone += F(rng.choice((0, 0, 0, 1)), 100)
        dominating = {
            "values": [str(v) for v in found], "masses": [str(m) for m in found.values()], "singular": str(alone),
        }  # fmt: skip
        above.append({"kind": "envelope", "pair": [i, j], "dominating": dominating} | evaluation(rng, n, 4, "ektl"))
    data = mechanism(rng, table)
    if data["kind"] == "table" and rng.random() < 0.1:
        data["rounded"] = str(F(rng.randint(0, 3), 1000))
    return certificate((n, data), E, above, None)


def _steps_plan(rng: Random, n: int, least: int) -> Data:
    nodes = rng.choice((5, 9, 13, 20))
    return {
        "threshold": rng.randint(least, n), "theta": number(rng, 0.2, 5), "N": nodes,
        "last": rng.choice((nodes // 2, nodes // 2, rng.randint(0, nodes // 2))),
    }  # fmt: skip


def counts(rng: Random) -> Data:
    """Reports of two messages: boxes of counts above, one data set below."""
    n, E = rng.randint(2, 6), rng.choice(LEVELS)
    table = drawn(rng, 3, 2, positive=True)
    above = []
    for pair in permutations(range(3), 2):
        boxes, start = [], 0
        while start < n:
            end = min(start + rng.choice((0, 0, 0, 1, 2)), n - 1)
            boxes.append({"from": start, "to": end, "spread": rng.random() < 0.25, "plan": _steps_plan(rng, n, 1)})
            start = end + 1
        if table[pair[0]] != table[pair[1]]:  # no message tells them apart
            above.append({"kind": "message counts", "pair": list(pair), "boxes": boxes})
    held = [0] * 3
    for _ in range(n - 1):
        held[rng.randrange(3)] += 1
    pair = list(rng.sample(range(3), 2))
    below = {
        "kind": "steps",
        "victim": 0,
        "pair": pair,
        "others": [[[x, c] for x, c in enumerate(held)]],
        "signs": [int(a > b) for a, b in zip(table[pair[0]], table[pair[1]], strict=True)],
        "plan": _steps_plan(rng, n, 1),
    }
    return certificate((n, of_table(table)), E, *sides(rng, above, [below]))


@cache
def _planned(kind: str) -> Data:
    """Certificates of integrals over all data sets."""
    if kind == "budget":
        answer = sa.delta(sa.PureLDP(eps0="log(3)"), n=30, eps="log(6/5)", method="generic_all_data_sets", gap=1e-1)
    else:
        table = sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"], ["1/8", "3/8", "1/2"]])
        answer = sa.delta(table, n=12, eps="log(6/5)", method="all_data_sets", gap=1e-1)
    found: Data = json.loads(json.dumps(answer.certificate()))
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
    data = copy.deepcopy(_planned("laws"))
    for found in data["above"]["evidence"]:
        if "plan" in found and "terms" in found["plan"]:
            found["plan"] = _thinned(rng, found["plan"])
    data["above"]["precision"], data["below"] = 128, None
    data["claim"] |= {"lower": "0", "upper": "1"}
    data["settings"][0]["groups"][0]["users"] = rng.choice((8, 12, 12, 12))
    if rng.random() < 0.1:
        rows = pool(3, 3, 3 * rng.randrange(3) + 1)
        data["settings"][0]["groups"][0]["mechanism"] |= {"rows": texts(rows)}
    return data


def budgets(rng: Random) -> Data:
    found = copy.deepcopy(_planned("budget")["above"]["evidence"][0])
    n, t = rng.choice((1, 2, 4, 12, 30)), F(3) if rng.random() < 0.7 else F(rng.choice((2, 4, 6)))
    thin = n == 30
    found["cells"] = [
        _thinned(rng, plan) if plan and n > 1 and (thin or rng.random() < 0.1) else None for plan in found["cells"]
    ]
    found["low"] = evaluation(rng, n, 3, "ekn")
    if rng.random() < 0.3:
        found = {"kind": "blanket", "pair": [0, 1]} | evaluation(rng, n, 2)
    member = of_table(histograms.randomized_response(rng.choice((2, 3)), rng.choice((t, t, t, F(3), F(9)))))
    held = {"kind": "data set", "pair": [0, 1], "others": [[rng.randrange(2), "1"]], "members": [member]}
    below = [held | evaluation(rng, n, 3, "ex")] if n < 9 else None
    return certificate((n, {"kind": "budget", "ratio": str(t)}), F(6, 5), [found], below)


# --- users who differ -------------------------------------------------------------------------------------------------


def positions(rng: Random) -> Data:
    """Data shuffled: binary tables, whose pairs have one blanket, or budgets."""
    groups = [rng.randint(1, 2) for _ in range(rng.choice((1, 2, 2)))]
    n, E = sum(groups), rng.choice(LEVELS)
    ratios = [rng.choice((F(3, 2), F(2), F(4))) for _ in groups]
    tables = [histograms.randomized_response(rng.choice((2, 3)) if len(groups) == 1 else 2, t) for t in ratios]
    by_ratio = rng.random() < 0.5
    data = [
        {"kind": "budget", "ratio": str(t)} if by_ratio else mechanism(rng, m)
        for t, m in zip(ratios, tables, strict=True)
    ]
    pairs = None if by_ratio or rng.random() < 0.1 else [[0, 1]] * len(groups)
    above = {"kind": "positions", "pairs": pairs} | evaluation(rng, n, 3, "ekn")
    below = {"kind": "positions", "pair": [0, 1], "others": _held(rng, 2)} | evaluation(rng, n, 3, "ekn")
    below |= {"members": [of_table(m) for m in tables]} if by_ratio else {}
    setting = one([(c, True, m) for c, m in zip(groups, data, strict=True)], shuffled="data")
    return certificate([setting], E, *sides(rng, [above], [below]))


def messages(rng: Random) -> Data:
    """Theorem D above, for every victim or one; a threshold for a sum of steps below."""
    groups = [rng.randint(1, 2) for _ in range(rng.choice((1, 2, 2)))]
    tables = [drawn(rng, 3, rng.choice((2, 3)), positive=rng.random() < 0.8) for _ in groups]
    size = len(tables[0][0])
    tables = [t if len(t[0]) == size else drawn(rng, 3, size) for t in tables]
    kept, E, n = rng.choice((F(1), F(1), F(3, 4))), rng.choice(LEVELS), sum(groups)
    victims = [rng.randrange(len(groups))] if rng.random() < 0.4 else list(range(len(groups)))
    setting = one(
        [(c, i in victims, of_table(t)) for i, (c, t) in enumerate(zip(groups, tables, strict=True))], kept=str(kept)
    )
    above = []
    for victim in victims:
        for pair in permutations(range(3), 2):
            how = rng.choice([{"evaluator": "mean over counts", "plan": None}, evaluation(rng, n, 3, "ekn")])
            above.append({"kind": "hidden users", "victim": victim, "pair": list(pair)} | how)
    victim = rng.choice(victims)
    held = []
    for i, c in enumerate(groups):
        first = rng.randint(0, c - (i == victim))
        held.append([[rng.randrange(3), first], [rng.randrange(3), c - (i == victim) - first]])
    below = {
        "kind": "steps", "victim": victim, "pair": rng.sample(range(3), 2), "others": held,
        "signs": [rng.choice((-1, 0, 1)) for _ in tables[0][0]],
        "plan": _steps_plan(rng, n, 1 - n),
    }  # fmt: skip
    return certificate([setting], E, *sides(rng, above, [below]))


# --- many rounds ------------------------------------------------------------------------------------------------------


def _composed(settings: list[Data], above: Any, below: Any, E: F) -> Data:
    # The level is written as eps, a fraction near to it.
    eps = F(round(log(E), 9)).limit_denominator(10**9)
    data = certificate(settings, F(1), None, None, eps=str(eps))
    return data | {"above": above, "below": below}


def _side(rng: Random, curves: list[Data]) -> Data:
    plan = kernel_plan(rng, 1.5) if rng.random() < 0.9 else None
    if plan and rng.random() < 0.8:
        terms = rng.choice((24, 60, 120))
        plan |= {"N": terms, "evaluated": [[1, terms - 1]], "dropped": [], "W": number(rng, 4, 30)}
        plan |= {"theta": "2", "theta_above": number(rng, 3, 12), "theta_below": number(rng, 0.1, 1.5)}
    return {"curves": curves, "floor": rng.choice((0, 8, 64, 100)) or 40, "precision": 128, "plan": plan}


def given(rng: Random) -> Data:
    """Rounds of given profiles."""
    settings, curves = [], []
    for i in range(rng.choice((1, 1, 2))):
        levels = sorted({F(1), *(1 + F(rng.randint(1, 30), 10) for _ in range(rng.randint(1, 3)))})
        low, points = F(rng.randint(5, 60), 100), []
        for e in levels:
            points.append([str(e), str(low)])
            low *= F(rng.randint(10, 80), 100)
        top = str(levels[-1] + F(rng.randint(1, 20), 10)) if rng.random() < 0.5 else None
        points += [[top, "0"]] if top else []
        settings.append(one([(1, True, {"kind": "given", "points": points})], count=rng.choice((1, 2))))
        bottom = str(1 / F(top)) if top and rng.random() < 0.5 else None
        curves.append({"setting": i, "bottom": bottom, "top": top, "first": [], "second": None})
    return _composed(settings, _side(rng, curves), None, rng.choice(LEVELS[1:]))


@cache
def _truth(a0: Any, a1: Any, a2: Any, n: int, E: F) -> F:
    return histograms.triple_divergence(a0, a1, a2, n, E)


def several(rng: Random) -> Data:
    """Rounds of binary response, each point with evidence of its own, from above and from below."""
    t, n, count = F(rng.choice((2, 3, 4))), rng.randint(2, 4), rng.choice((1, 2))
    a0, a1 = (t / (t + 1), 1 / (t + 1)), (1 / (t + 1), t / (t + 1))
    least = (1 / (t + 1), 1 / (t + 1))
    rate = rng.choice((F(1), F(1), F(1, 2)))
    table = (a0, a1)
    settings = [one([(n, True, mechanism(rng, table))], count=count, rate=str(rate))]
    levels = sorted({F(1), *(1 + F(rng.randint(1, 15), 10) for _ in range(rng.randint(2, 4)))})
    exact = {"evaluator": "exact", "plan": None}

    def point(E: F, order: tuple[int, int], law: Any, up: bool) -> Data:
        first, second = table[order[0]], table[order[1]]
        if not up:
            first, second = (
                tuple(rate * x + (1 - rate) * y for x, y in zip(row, law, strict=True)) for row in (first, second)
            )
        truth, room = _truth(first, second, law, n, E), F(rng.choice((0, 1)), 1000)
        ends = {"low": "0" if up else str(truth * (1 - room)), "high": str(min(truth * (1 + room), F(1)))}
        known = {"pair": list(order)} | exact
        found = {"kind": "blanket"} | known if up else {"kind": "data set", "others": [[0, "1"]]} | known
        return {"level": str(E), **ends, "precision": 128, "evidence": [found]}

    def curve(law: Any, up: bool) -> Data:
        limit = 1 + rate * (t - 1) if up else t
        top = str(limit) if up and rng.random() < 0.7 else None
        kept = [E for E in levels if not top or limit > 1 + rate * (E - 1)]
        first = [point(E, (0, 1), law, up) for E in kept]
        second = None if up else [point(E, (1, 0), law, up) for E in kept]
        return {"setting": 0, "bottom": str(1 / limit) if top else None, "top": top, "first": first, "second": second}

    keep = rng.choice(("above", "below", "both"))
    above = _side(rng, [curve(least, True)]) if keep != "below" else None
    below = _side(rng, [curve(a0, False)]) if keep != "above" else None
    return _composed(settings, above, below, rng.choice(LEVELS[1:3]))


KINDS: dict[str, tuple[Callable[[Random], Data], int]] = {
    "triples": (triples, 30), "listed": (listed, 8), "limits": (limits, 3), "few": (few, 10), "tilts": (tilts, 8),
    "laws": (laws, 12), "counts": (counts, 10), "integrals": (integrals, 3), "budgets": (budgets, 3),
    "positions": (positions, 9), "messages": (messages, 12), "given": (given, 8), "several": (several, 6),
}  # fmt: skip


def some_certificate(rng: Random, kinds: dict[str, Any] | None = None) -> tuple[str, Data]:
    known = kinds or KINDS
    (name,) = rng.choices(list(known), [weight for _, weight in known.values()])
    return name, known[name][0](rng)


# --- claims that are just proved --------------------------------------------------------------------------------------

_FAULTS = (Refusal, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError)


def aimed(data: Data, rng: Random) -> Data:
    """The certificate with its claim moved to where its evidence reaches, as far as the verifier gets there."""
    data = copy.deepcopy(data)
    ends: Data = {}
    try:
        claim = data["claim"]
        check = Check(checks.MOST_WORK * checks.MANY)
        with working(256):
            settings = [Setting(check, item, "s") for item in data["settings"]]
        for name, side in ((name, data[name]) for name in ("above", "below")):
            if side is None:
                continue
            checks._opened(side, name)
            up = name == "above"
            if "curves" in side:
                known = rounds.curves(check, settings, side, up)
                with working(side["precision"] + 64):
                    eps = check.number(claim["eps"])
                    ends[name] = dyadic(rounds.divergence(check, settings, known, side, eps, up), up)
                continue
            with working(side["precision"]):
                # What is left to one user alone, or to a tilt, is proved of every claim that is large enough.
                level = check.number(claim["delta" if claim["quantity"] == "epsilon" else "upper"])
                at = At(check, settings[0], side["eps"], level)
                ends[name] = dyadic((kinds.above if up else kinds.below)(at, side["evidence"], name), up)
    except _FAULTS:
        return data
    except (TypeError, AttributeError):  # of data that have lost their shape, and not of what is called here
        if verify(json.dumps(data)).status != "malformed":
            raise
        return data
    if claim["quantity"] == "epsilon":
        if "below" in ends and 0 < ends["below"] < 1:
            claim["delta"] = str(ends["below"] * (1 - F(1, 10**9)))
        return data
    if "above" in ends and not any(e["kind"] == "common tilt" for e in data["above"].get("evidence", ())):
        claim["upper"] = str(min(max(ends["above"], F(0)), F(1)))
    if "below" in ends:
        claim["lower"] = str(max(ends["below"], F(0)))
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
