"""Certificates: valid ones verify, and no mutated one that states a false claim is accepted."""

import ast
import copy
import json
import re
import sys
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from falsehoods import refused_falsehoods
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.histograms import random_table

import symamp as sa
from symamp.verifier import verify

SOURCES = sorted(Path(sa.__file__).parent.glob("verifier/[!_]*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_verifier_stands_alone(source):
    imported = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported.add((node.module or "").split(".")[0])
    assert imported <= {"flint", *sys.stdlib_module_names}


ANSWERS = {
    "epsilon of 10-RR": lambda: sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**6, delta="1e-8"),
    "a trillion users": lambda: sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**12, delta="1e-14"),
    "tiny delta": lambda: sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**5, delta="1e-1000"),
    "delta of RAPPOR": lambda: sa.delta(sa.UnaryEncoding.rappor(D=16, eps0=1), n=10**4, eps="0.05"),
    "eps beyond eps0": lambda: sa.delta(sa.RandomizedResponse(k=3, eps0=1), n=100, eps=2),
    "one user": lambda: sa.delta(sa.RandomizedResponse(k=3, eps0="log(3)"), n=1, eps="log(2)"),
    "standard clone": lambda: sa.delta(sa.PureLDP(eps0=1), n=1000, eps="0.1", method="standard_clone"),
    "names its sender": lambda: sa.delta(
        sa.FiniteMechanism({"a": {"0": "9/10", "1": "1/10"}, "b": {"0": "9/10", "2": "1/10"}}), n=50, eps="0.2"
    ),
}


@pytest.mark.parametrize("name", list(ANSWERS))
def test_certificates_of_answers_are_valid(name):
    text = json.dumps(ANSWERS[name]().certificate())
    verdict = verify(text)
    assert verdict.status == "valid", verdict.reason


def number(text):
    """A fraction, or a dyadic number a*2**(b)."""
    dyadic = re.fullmatch(r"(\d+)\*2\*\*\((-?\d+)\)", text)
    return Fraction(int(dyadic[1])) * Fraction(2) ** int(dyadic[2]) if dyadic else Fraction(text)


def exact_delta(evidence, n, e):
    """E[S_+]/n and the singular part in Python fractions, from the text of the evidence alone."""
    law = [(Fraction(a) - e * Fraction(b), Fraction(m)) for a, b, m in evidence["components"]]
    law.append((Fraction(0), 1 - sum(m for _, m in law)))
    total = {Fraction(0): Fraction(1)}
    for _ in range(n):
        following = {}
        for s, p in total.items():
            for v, m in law:
                following[s + v] = following.get(s + v, Fraction(0)) + p * m
        total = following
    singular = sum(max(Fraction(a) - e * Fraction(b), Fraction(0)) for a, b in evidence["singular"])
    return sum(p * s for s, p in total.items() if s > 0) / n + singular


def states_a_truth(certificate, e):
    """Whether the mutated certificate is a correct statement about correct triples."""
    claim = certificate["claim"]
    n = claim["n"]
    if n < 1:
        return False
    for side in ("above", "below"):
        for evidence in certificate[side]:
            masses = [Fraction(m) for *_, m in evidence["components"]]
            for i in (0, 1):
                whole = sum(Fraction(c[i]) * Fraction(c[2]) for c in evidence["components"])
                if whole + sum(Fraction(s[i]) for s in evidence["singular"]) != 1:
                    return False
            if min(masses, default=0) < 0 or sum(masses) > 1:
                return False
            value = exact_delta(evidence, n, e)
            if side == "above" and value > number(claim["upper"]):
                return False
            if side == "below" and value < number(claim["lower"]):
                return False
    return True


def mutated(certificate, rng):
    """Change one field: a number of the claim, of a triple, or of the plan."""
    changed = copy.deepcopy(certificate)
    places = [("claim", "n"), ("claim", "lower"), ("claim", "upper")]
    for side in ("above", "below"):
        for i, evidence in enumerate(changed[side]):
            places += [(side, i, "components", j, k) for j in range(len(evidence["components"])) for k in range(3)]
            places += [(side, i, "singular", j, k) for j in range(len(evidence["singular"])) for k in range(2)]
            if evidence["plan"]:
                places += [(side, i, "plan", key) for key in ("theta", "W", "theta_above", "theta_below", "N")]
    *path, last = rng.choice(places)
    target = changed
    for key in path:
        target = target[key]
    old = target[last]
    if isinstance(old, int):
        target[last] = max(1, old + rng.choice([-2, -1, 1, 3]))
    else:
        factor = rng.choice([Fraction(0), Fraction(1, 2), 1 - Fraction(1, 10**6), 1 + Fraction(1, 1000), Fraction(3)])
        target[last] = str(number(old) * factor)
    return changed


@pytest.mark.parametrize("seed", range(10))
def test_no_mutation_that_states_a_falsehood_is_accepted(seed):
    """A hundred mutations a seed, a thousand in all; the truth is computed in fractions, by another method."""
    rng = Random(seed)
    k, t = rng.randint(2, 4), rng.choice([2, 3, 5])
    n = rng.randint(1, 5)
    e = Fraction(rng.randint(5, 5 * t - 1), 5)
    answer = sa.delta(sa.RandomizedResponse(k=k, eps0=f"log({t})"), n=n, eps=f"log({e})", method="blanket")
    certificate = answer.certificate()
    assert refused_falsehoods(certificate, lambda c: mutated(c, rng), lambda c: states_a_truth(c, e), 100) > 30


def test_tightened_claims_of_the_kernel_are_refused():
    answer = sa.delta(sa.RandomizedResponse(k=10, eps0=1), n=10**6, eps="0.0027", method="blanket")
    certificate = answer.certificate()
    for end, factor in (("upper", 1 - Fraction(1, 10**5)), ("lower", 1 + Fraction(1, 10**5))):
        changed = copy.deepcopy(certificate)
        changed["claim"][end] = str(number(certificate["claim"][end]) * factor)
        assert verify(json.dumps(changed)).status == "invalid"
    for key in ("evaluated", "dropped"):
        changed = copy.deepcopy(certificate)
        changed["above"][0]["plan"][key].pop()
        assert verify(json.dumps(changed)).status != "valid"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=60) | st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists).map(json.dumps))
def test_anything_else_is_malformed(text):
    assert verify(text).status == "malformed"


def agree(seed):
    """The verifier accepts what the evaluator certified, for a random table and a random question."""
    rng = Random(seed)
    table = random_table(rng, zeros=seed % 3 == 0)
    rows = {f"x{i}": {f"y{j}": p for j, p in enumerate(row)} for i, row in enumerate(table)}
    n = rng.choice([1, 2, 7, 60, 1000, 10**6])
    answer = sa.delta(
        sa.FiniteMechanism(rows), n=n, eps=f"log({Fraction(rng.randint(10, 30), 10)})", gap=1e-4, method="blanket"
    )
    verdict = verify(json.dumps(answer.certificate()))
    assert verdict.status == "valid", (seed, verdict.reason)


@pytest.mark.parametrize("chunk", range(4))
def test_verifier_agrees_with_evaluator_on_random_laws(chunk):
    for seed in range(10 * chunk, 10 * chunk + 10):
        agree(seed)


def test_a_table_of_many_inputs_beyond_its_budget_has_a_certificate():
    agree(1888)  # delta = 0


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(20))
def test_verifier_agrees_with_evaluator_on_a_thousand_random_laws(chunk):
    for seed in range(1000 + 50 * chunk, 1000 + 50 * chunk + 50):
        agree(seed)
