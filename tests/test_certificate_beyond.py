"""Certificates of what is not one triple: envelopes, all data sets, binomial tails, tables with many pairs."""

import copy
import json
import math
import re
from fractions import Fraction
from functools import lru_cache, partial
from random import Random

import pytest
from falsehoods import checked, judged

import symamp as sa
from symamp.bounds.reduction import Reduction
from symamp.errors import ArgumentError
from symamp.randomizers.catalogue import by_name
from symamp.verifier import verify
from tests.oracle.users_who_differ import expectation

DEFAULT = {
    "envelope by the kernel": (sa.HadamardResponse(K=16, eps0=2), 10**4, "1e-6"),
    "envelope by binomial tails": (sa.HadamardResponse(K=128, eps0=8), 10**4, "1e-6"),
    "all data sets": (sa.RandomizedResponse(k=2, eps0=1), 10**3, "1e-6"),
    "a million users": (sa.RandomizedResponse(k=2, eps0=1), 10**6, "1e-6"),
    "local hashing": (sa.LocalHashing(D=100, l=2, eps0=4), 10**4, "1e-6"),
}
CATALOGUE = [
    (name, n, eps0) for name in ("krr", "rappor", "oue", "hadamard-response") for n in (10**3, 10**6) for eps0 in (1, 4)
]


def table(size, seed, top=9):
    """A table of random fractions."""
    rng = Random(seed)
    rows = [[rng.randint(0 if seed % 2 else 1, top) for _ in range(size)] for _ in range(size)]
    return [[Fraction(v, sum(row)) for v in row] for row in rows]


def mechanism(rows):
    return sa.FiniteMechanism({f"x{i}": {str(j): str(v) for j, v in enumerate(row)} for i, row in enumerate(rows)})


@pytest.mark.parametrize("name", DEFAULT)
def test_default_answers_have_certificates(name):
    subject, n, delta = DEFAULT[name]
    method = "all_data_sets" if subject == sa.RandomizedResponse(k=2, eps0=1) else None
    answer = sa.epsilon(subject, n=n, delta=delta, method=method)
    data = checked(answer)
    assert Fraction(data["claim"]["upper"]) == Fraction(answer.upper)
    triples = all(isinstance(e.part, Reduction) for e in answer.evidence_below)
    assert Fraction(data["claim"]["lower"]) == (Fraction(answer.lower) if triples else 0)
    assert data["version"] == 2
    tightened = copy.deepcopy(data)
    tightened["claim"]["upper"] = str(Fraction(answer.lower) * Fraction(9, 10))
    assert verify(json.dumps(tightened)).status == "invalid"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n", "eps0"), CATALOGUE)
def test_default_answers_over_the_catalogue_have_certificates(name, n, eps0):
    sizes = {"krr": {"k": 5}, "rappor": {"D": 20}, "oue": {"D": 20}, "hadamard-response": {"K": 32}}
    subject = by_name(name)(eps0=eps0, **sizes[name])
    checked(sa.epsilon(subject, n=n, delta="1e-6"))
    checked(sa.delta(subject, n=n, eps="1/10"))


@pytest.mark.parametrize("method", ["envelope", "all_data_sets"])
def test_delta_by_each_analysis(method):
    checked(sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps="1/10", method=method))
    checked(sa.delta(sa.RandomizedResponse(k=3, eps0=1), n=1, eps="1/10", method=method))


# --- the truth of what is claimed, in fractions -----------------------------------------------------------------------


@lru_cache(maxsize=4096)
def expected(law, n):
    """E[S_+]/n for a tuple of (value, mass), by convolution."""
    masses = {}
    for v, m in law:
        masses[v] = masses.get(v, 0) + m
    return expectation([masses] * n) / n


def triple_divergence(components, singular, n, e):
    """The divergence of a triple of fractions; None if it is no triple with a message law as A2."""
    masses = [m for *_, m in components]
    whole = [sum(c[b] * c[2] for c in components) + sum(s[b] for s in singular) for b in (0, 1)]
    if whole != [1, 1] or sum(masses) > 1 or any(x < 0 for row in (*components, *singular) for x in row):
        return None
    law = (*((a - e * b, m) for a, b, m in components), (Fraction(0), 1 - sum(masses)))
    return expected(law, n) + sum(max(a - e * b, Fraction(0)) for a, b in singular)


def number(text):
    """A fraction, or a dyadic number a*2**(b); ValueError if it is neither."""
    dyadic = re.fullmatch(r"(-?\d+)\*2\*\*\((-?\d+)\)", text)
    return Fraction(int(dyadic[1])) * Fraction(2) ** int(dyadic[2]) if dyadic else Fraction(text)


def numbers(rows):
    return [tuple(map(Fraction, row)) for row in rows]


def is_true(data, e):
    """Whether each constant data set, and each pair of rows of a table, is at most the claim."""
    try:
        n, upper = data["claim"]["n"], number(data["claim"]["upper"])
        triples = []
        for evidence in data["above"]:
            if "rows" in evidence:
                rows = numbers(evidence["rows"])
                least = [min(column) for column in zip(*rows, strict=True)]
                for i, j in ((i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j):
                    columns = list(zip(rows[i], rows[j], least, strict=True))
                    seen = [(a / m, b / m, m) for a, b, m in columns if m]
                    triples.append((seen, [(a, b) for a, b, m in columns if not m]))
            else:
                laws = evidence.get("laws", [evidence])
                triples += [(numbers(law["components"]), numbers(law["singular"])) for law in laws]
        found = [triple_divergence(c, s, n, e) for c, s in triples]
        return all(d is not None and d <= upper for d in found)
    except (ValueError, ZeroDivisionError, KeyError):
        return False


def places(data, path=()):
    """The paths of all numbers of the evidence above and of the claim."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in (
                "method",
                "proof_status",
                "evaluator",
                "precision",
                "eps",
                "other",
                "lower",
                "below",
                "source",
            ):
                yield from places(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from places(value, (*path, i))
    elif (isinstance(data, str) and is_number(data)) or type(data) is int:
        yield path


def is_number(text):
    try:
        return number(text) is not None
    except (ValueError, ZeroDivisionError):
        return False


def mutated(data, rng):
    """One number changed, or a number of a plan or law with a preference for those that matter."""
    changed = copy.deepcopy(data)
    paths = list(places(changed))
    groups = {}
    for path in paths:
        groups.setdefault(tuple(step for step in path if isinstance(step, str)), []).append(path)
    *path, last = rng.choice(rng.choice(list(groups.values())))
    place = changed
    for step in path:
        place = place[step]
    if type(place[last]) is int:
        place[last] = max(0, place[last] + rng.choice([-2, -1, 1, 2, 5]))
    else:
        factor = rng.choice([Fraction(0), Fraction(1, 2), 1 - Fraction(1, 10**6), Fraction(9, 10), Fraction(3, 2)])
        place[last] = str(number(place[last]) * factor)
    return changed


SMALL = {
    "envelope": lambda: sa.delta(sa.RandomizedResponse(k=2, eps0="log(4)"), n=6, eps="log(3/2)", method="envelope"),
    "three laws": lambda: sa.delta(mechanism(table(3, 2)), n=5, eps="log(5/4)", method="envelope"),
    "all data sets": lambda: sa.delta(
        sa.RandomizedResponse(k=2, eps0="log(2)"), n=40, eps="log(11/10)", method="all_data_sets", gap=1e-1
    ),
    "a table": lambda: sa.delta(mechanism(table(5, 4)), n=4, eps="log(6/5)", method="blanket"),
    "a table with zeros": lambda: sa.delta(mechanism(table(6, 5, top=3)), n=3, eps="log(3/2)", method="blanket"),
}


@lru_cache(maxsize=8)
def small(name):
    return SMALL[name]().certificate()


LEVELS = {
    "envelope": "3/2",
    "three laws": "5/4",
    "all data sets": "11/10",
    "a table": "6/5",
    "a table with zeros": "3/2",
}


def judged_cases(name, count, seed):
    data = small(name)
    assert data["version"] == 2
    return judged(data, mutated, partial(is_true, e=Fraction(LEVELS[name])), count, Random(f"{name} {seed}"))


@pytest.mark.parametrize("name", SMALL)
def test_no_mutation_that_states_a_falsehood_is_accepted(name):
    false, _ = judged_cases(name, 25, 0)
    assert false > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("name", SMALL)
def test_of_more_mutations_none_that_states_a_falsehood_is_accepted(name, seed):
    false, accepted = judged_cases(name, 300, seed)
    assert false > 20
    assert accepted > 0


def replaced(data, *path, to):
    changed = copy.deepcopy(data)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return changed


def test_a_law_that_does_not_dominate_is_refused():
    data = small("envelope")
    values = data["above"][0]["dominating"]["values"]
    for i, value in enumerate(values):
        less = str(Fraction(value) - Fraction(1, 2**40))
        verdict = verify(json.dumps(replaced(data, "above", 0, "dominating", "values", i, to=less)))
        assert (verdict.status, "dominated" in verdict.reason) == ("invalid", True)
    masses = data["above"][0]["dominating"]["masses"]
    verdict = verify(json.dumps(replaced(data, "above", 0, "dominating", "masses", to=["-1", "2", *masses[2:]])))
    assert verdict.status == "invalid"


def test_what_is_refused_of_all_data_sets_and_why():
    data = small("all data sets")
    plan = data["above"][0]["plan"]
    assert plan is not None, "a plan, not the bound of one user"
    terms = plan["terms"]
    path = ("above", 0, "plan")
    ends = terms[0]["ends"]
    for changed, word in [
        (replaced(data, *path, "terms", to=[]), "1/p^2"),
        (
            replaced(data, *path, "terms", to=[{**t, "a": str(Fraction(t["a"]) * Fraction(99, 100))} for t in terms]),
            "1/p^2",
        ),
        (replaced(data, *path, "p_lo", to=f"1/{10**30}"), "1/p^2"),
        (replaced(data, *path, "terms", 0, "ends", to=["1", *ends[1:]]), "cells"),
        (replaced(data, *path, "terms", 0, "ends", to=[ends[0], ends[2], ends[1], *ends[3:]]), "cells"),
        (replaced(data, *path, "terms", 0, "scales", 0, to="0"), "cells"),
        (replaced(data, *path, "terms", 0, "sigma", to="0"), "cells"),
        (replaced(data, "above", 0, "laws", to=data["above"][0]["laws"][:1] * 2000), "laws"),
    ]:
        verdict = verify(json.dumps(changed))
        assert verdict.status != "valid", word
        assert word in verdict.reason
    another = small("envelope")["above"][0]["laws"][0]
    changed = replaced(data, "above", 0, "laws", 0, to=another)
    assert "one pair" in verify(json.dumps(changed)).reason


def test_a_pair_of_rows_that_is_left_out_is_missed():
    data = small("a table")
    assert data["above"][0]["pairs"]
    changed = replaced(data, "above", 0, "pairs", to=[])
    assert verify(json.dumps(changed)).status == "invalid"


def test_tables_beyond_64_inputs_are_refused():
    answer = sa.delta(mechanism(table(65, 2)), n=10**3, eps="1/2", method="blanket")
    with pytest.raises(ArgumentError, match="64 inputs"):
        answer.certificate()


def test_version_1_has_triples_only():
    for name in SMALL:
        assert verify(json.dumps(replaced(small(name), "version", to=1))).status == "malformed"


def test_work_is_bounded():
    data = small("all data sets")
    term = data["above"][0]["plan"]["terms"][0]
    many = {**term, "ends": [str(i) for i in range(10**5)], "scales": ["1"] * (10**5 - 1)}
    verdict = verify(json.dumps(replaced(data, "above", 0, "plan", "terms", to=[many] * 20)))
    assert verdict.status != "valid"
    tails = {"theta": "1", "windows": [[0, 10**9], [0, 10**9]]}
    changed = replaced(data, "above", 0, "evaluator", to="binomial tails")
    dominating = {"values": ["3", "2", "1", "-1"], "masses": ["1/4"] * 4, "singular": "0"}
    changed["above"][0] |= {"plan": tails, "dominating": dominating}
    changed["claim"]["n"] = 10**12
    assert verify(json.dumps(changed)).status != "valid"


def test_tails_agree_with_a_sum_by_hand():
    data = checked(sa.delta(sa.HadamardResponse(K=128, eps0=8), n=300, eps="log(3)", method="envelope", gap=1e-9))
    used = {e["evaluator"] for e in data["above"]}
    assert used
    assert math.isfinite(float(Fraction(data["claim"]["upper"])))
