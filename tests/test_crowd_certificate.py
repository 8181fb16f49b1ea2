"""Certificates of users who differ: valid ones verify, and no mutated one that states a false claim is accepted."""

import copy
import json
from fractions import Fraction
from random import Random

import pytest
from falsehoods import refused_falsehoods
from oracle import users_who_differ as oracle

import symamp as sa
from symamp.verifier import verify

F = Fraction
LEVELS = [F(1), F(5, 4), F(3, 2), F(2), F(7, 2)]


def respond(k, eps0):
    return sa.RandomizedResponse(k=k, eps0=eps0)


def table(weight):
    return sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], [weight, weight, f"1-2*({weight})"]])


MANY = [(500, respond(10, 1)), (400, respond(10, 2)), (100, respond(10, 3))]
BUDGETS = [(500, sa.PureLDP(eps0=1)), (500, sa.PureLDP(eps0=5))]
FEW = [(3, respond(3, 1)), (2, respond(3, 2))]
MIXED = [*BUDGETS[:1], (2, BUDGETS[1][1])]
COINS = [(2, respond(2, "log(2)")), (3, respond(2, "log(3)"))]
TABLES = [(50, table("1/3")), (40, table("2/5"))]


def among(groups, shuffled, **options):
    crowd = {key: options.pop(key) for key in ("dropout", "honest") if key in options}
    question = sa.delta if "eps" in options else sa.epsilon
    return lambda: question(sa.heterogeneous(groups, shuffled=shuffled, **crowd), **options)


ANSWERS = {
    "data, k-ary": among(MANY, "data", delta="1e-6"),
    "data, budgets": among(BUDGETS, "data", delta="1e-6"),
    "data, delta": among(BUDGETS, "data", eps="0.9"),
    "data, a budget below eps": among(MIXED, "data", eps=2, gap=1e-3),
    "data, few": among(FEW, "data", delta="1e-9"),
    "data, nothing to show": among(BUDGETS, "data", delta="99/100"),
    "messages, a hundred million": among([(n * 10**5, m) for n, m in MANY], "messages", delta="1e-6", victim=2),
    "messages, drop-out": among(MANY[1:], "messages", dropout="1/4", delta="1e-5", victim=0),
    "messages, tables": among(TABLES, "messages", delta="1e-2", gap=1e-3),
    "messages, few": among(COINS, "messages", eps="log(3/2)"),
    "messages, thirty": among([(20, respond(10, 1)), (10, respond(10, 2))], "messages", delta="1e-4"),
    "messages, alone": among(COINS, "messages", honest=[0, 1], eps="1/2"),
    "messages, the local budget": among(FEW, "messages", delta="1e-40"),
}


@pytest.mark.parametrize("name", list(ANSWERS))
def test_brackets_have_certificates(name):
    answer = ANSWERS[name]()
    data = answer.certificate()
    verdict = verify(json.dumps(data))
    assert verdict.status == "valid", verdict
    ends = [float(F(data["claim"][end])) for end in ("lower", "upper")]
    assert ends == [answer.lower, answer.upper]
    listed = 1 if answer.question.subject.shuffled == "data" else len(answer.victims)
    assert len(data["above"]) in (listed, 6 * listed)  # a table has six ordered pairs
    assert bool(data["below"]) == (answer.lower > 0)


def test_few_users_have_the_mean_over_counts_checked():
    """For few users the upper end is the mean over the numbers of hidden users, and so is what is checked."""
    answer = ANSWERS["messages, thirty"]()
    above = answer.certificate()["above"]
    assert {evidence["evaluator"] for evidence in above} == {"mean over counts"}


@pytest.mark.parametrize("name", ["data, budgets", "data, delta", "messages, drop-out", "messages, thirty"])
def test_tightened_claims_are_refused(name):
    data = ANSWERS[name]().certificate()
    for end, factor in (("upper", 1 - F(1, 10**4)), ("lower", 1 + F(1, 10**4))):
        changed = copy.deepcopy(data)
        changed["claim"][end] = str(F(data["claim"][end]) * factor)
        for evidence in changed["above" if end == "upper" else "below"]:
            if data["claim"]["quantity"] == "epsilon":
                evidence["eps"] = changed["claim"][end]
        assert verify(json.dumps(changed)).status == "invalid"
    for key in ("evaluated", "dropped"):
        changed = copy.deepcopy(data)
        if changed["above"][0]["plan"] and changed["above"][0]["plan"][key]:
            changed["above"][0]["plan"][key].pop()
            assert verify(json.dumps(changed)).status != "valid"


def test_every_key_is_needed():
    for name in ("data, few", "messages, few"):
        data = ANSWERS[name]().certificate()
        for side in ("above", "below"):
            for key in data[side][0]:
                changed = copy.deepcopy(data)
                del changed[side][0][key]
                assert verify(json.dumps(changed)).status == "malformed", key


# ----------------------------------------------------------------------------------- mutations, the truth in fractions


def exact_bound(evidence, n, E):
    """What the evidence bounds, in fractions and from its text alone; None where it states no laws."""
    counts = evidence["groups"]
    if "positions" in evidence:
        laws = []
        for entry, count in zip(evidence["positions"], counts, strict=True):
            if "ratio" in entry:
                if F(entry["ratio"]) < 1:
                    return None
                laws += [oracle.budget_law(F(entry["ratio"]), E)] * count
                continue
            atoms = [tuple(map(F, row)) for row in entry["components"]]
            sums = [sum(m for *_, m in atoms), *(sum(row[b] * row[2] for row in atoms) for b in (0, 1))]
            if min(x for row in atoms for x in row) < 0 or sums[0] > 1 or sums[1:] != [1, 1]:
                return None
            laws += [merged([(r0 - E * r1, m) for r0, r1, m in atoms] + [(F(0), 1 - sums[0])])] * count
        return oracle.expectation(laws) / n
    kept, v = F(evidence["kept"]), evidence["victim"]
    if not (0 < kept <= 1 and 0 <= v < len(counts)):
        return None
    others = [c - (i == v) for i, c in enumerate(counts)]
    return with_blanket(evidence, others, kept, E) if "columns" in evidence else with_steps(evidence, others, kept, E)


def merged(atoms):
    law = {}
    for value, mass in atoms:
        law[value] = law.get(value, F(0)) + mass
    return law


def with_blanket(evidence, others, kept, E):
    columns = [[(c["size"], [F(x) for x in (*c["on"], *c["further"])]) for c in group] for group in evidence["columns"]]
    sizes = [size for size, _ in columns[0]]
    for group in columns:
        if [size for size, _ in group] != sizes or min(x for _, row in group for x in row) < 0:
            return None
        if any(sum(size * row[b] for size, row in group) != 1 for b in (0, 1)):
            return None
    gains = [row[0] - E * row[1] for _, row in columns[evidence["victim"]]]
    alone = sum(size * max(g, F(0)) for size, g in zip(sizes, gains, strict=True))
    present = [i for i, c in enumerate(others) if c]
    if not present:
        return alone
    low = [min(min(columns[i][j][1]) for i in present) for j in range(len(sizes))]
    whole = sum(size * x for size, x in zip(sizes, low, strict=True))
    if whole == 0:
        return alone
    g = [kept * min(min(columns[i][j][1]) * whole / x for j, x in enumerate(low) if x) for i in present]
    own = [(gains[j] * whole / x, sizes[j] * x / whole) for j, x in enumerate(low) if x]
    shares = [mass for mass, i in zip(g, present, strict=True) for _ in range(others[i])] + [min(g)]
    sigma = sum(sizes[j] * max(gains[j], F(0)) for j, x in enumerate(low) if not x)
    if evidence["evaluator"] == "mean over counts":
        chances, law = {0: F(1)}, merged(own)
        for mass in shares[:-1]:
            chances = merged((c + b, p * (mass if b else 1 - mass)) for c, p in chances.items() for b in (0, 1))
        return min(alone, sum(p * oracle.expectation([law] * (c + 1)) / (c + 1) for c, p in chances.items()) + sigma)
    laws = [merged([(v, mass * m) for v, m in own] + [(F(0), 1 - mass)]) for mass in shares]
    return min(alone, oracle.expectation(laws) / sum(shares) + sigma)


def with_steps(evidence, others, kept, E):
    rows = [[F(x) for x in row] for row in (*zip(*evidence["own"], strict=True), *evidence["others"])]
    signs = evidence["signs"]
    if any(len(row) != len(signs) or sum(row) != 1 or min(row) < 0 for row in rows):
        return None

    def law(row, share):
        steps = merged(zip(signs, (share * x for x in row), strict=True))
        return merged([*steps.items(), (0, 1 - share)])

    tail = []
    for own in rows[:2]:
        total = law(own, F(1))
        for row, count in zip(rows[2:], others, strict=True):
            for _ in range(count):
                total = merged((a + b, p * q) for a, p in total.items() for b, q in law(row, kept).items())
        tail.append(sum(p for s, p in total.items() if s >= evidence["plan"]["threshold"]))
    return tail[0] - E * tail[1]


def states_a_truth(certificate, E):
    n = certificate["claim"]["n"]
    for side in ("above", "below"):
        for evidence in certificate[side]:
            if sum(evidence["groups"]) != n or min(evidence["groups"]) < 1:
                return False
            value, end = exact_bound(evidence, n, E), F(certificate["claim"]["upper" if side == "above" else "lower"])
            if value is None or (value > end if side == "above" else value < end):
                return False
    return True


def places(data, path=()):
    """Yield the paths of all numbers of a certificate."""
    if isinstance(data, dict):
        for key, item in data.items():
            if key not in ("eps", "precision", "version", "pair", "format", "quantity"):
                yield from places(item, (*path, key))
    elif isinstance(data, list):
        for i, item in enumerate(data):
            yield from places(item, (*path, i))
    elif isinstance(data, int) or (isinstance(data, str) and data[:1].isdigit()):
        yield path


def mutated(certificate, rng):
    changed = copy.deepcopy(certificate)
    *path, last = rng.choice(list(places(changed)))
    target = changed
    for key in path:
        target = target[key]
    if isinstance(target[last], int):
        target[last] += rng.choice([-2, -1, 1, 3])
    else:
        target[last] = str(F(target[last]) * rng.choice([F(0), F(1, 2), 1 - F(1, 10**6), 1 + F(1, 1000), F(3)]))
    return changed


@pytest.mark.parametrize("seed", range(12))
def test_no_mutation_that_states_a_falsehood_is_accepted(seed):
    """Sixty mutations a seed; the truth is computed in fractions, by another method."""
    rng = Random(seed)
    shuffled, k, E = ("data", "messages")[seed % 2], rng.choice((2, 3)), rng.choice(LEVELS)
    counts = [rng.randint(1, 3) for _ in range(2)]
    ratios = [rng.choice((F(3, 2), F(2), F(3), F(6))) for _ in counts]
    mechanisms = [
        sa.PureLDP(eps0=f"log({t})") if seed % 4 == 0 else sa.RandomizedResponse(k=k, eps0=f"log({t})") for t in ratios
    ]
    options = {"dropout": "1/3"} if seed % 8 == 5 else {}
    crowd = sa.heterogeneous(list(zip(counts, mechanisms, strict=True)), shuffled=shuffled, **options)
    certificate = sa.delta(crowd, eps=f"log({E})").certificate()
    if seed % 4 == 1:  # the bound for many users, which is above the mean over counts
        above = [evidence.update(evaluator="enumeration") or evidence for evidence in certificate["above"]]
        certificate["claim"]["upper"] = str(max(exact_bound(evidence, sum(counts), E) for evidence in above))
    assert refused_falsehoods(certificate, lambda c: mutated(c, rng), lambda c: states_a_truth(c, E), 60) > 15


@pytest.mark.parametrize("seed", range(4))
def test_the_kernel_over_groups_encloses_the_exact_sum(seed):
    """A dozen users each: a claim just above the exact bound of the laws is accepted, one below it is not."""
    rng = Random(seed)
    ratios = [F(3, 2), rng.choice((F(2), F(4)))]
    counts = [rng.randint(12, 20) for _ in ratios]
    E = rng.choice((F(11, 10), F(6, 5)))
    crowd = sa.heterogeneous(
        [(c, sa.PureLDP(eps0=f"log({t})")) for c, t in zip(counts, ratios, strict=True)], shuffled="data"
    )
    certificate = sa.delta(crowd, eps=f"log({E})", gap=1e-3).certificate()
    assert certificate["above"][0]["evaluator"] == "compact kernel"
    exact = exact_bound(certificate["above"][0], sum(counts), E)
    certificate["claim"]["lower"], certificate["below"] = "0", []
    for factor, status in ((1 + F(1, 50), "valid"), (1 - F(1, 10**30), "invalid")):
        certificate["claim"]["upper"] = str(exact * factor)
        assert verify(json.dumps(certificate)).status == status
