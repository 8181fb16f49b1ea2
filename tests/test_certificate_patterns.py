"""Certificates of every randomizer of a budget, all data sets at once: the verifier makes the laws by itself."""

import copy
import json
from fractions import Fraction
from functools import lru_cache
from math import comb, isqrt
from random import Random

import pytest
from falsehoods import checked, judged
from flint import fmpq

import symamp as sa
from symamp.bounds.all_data_sets.generic import above, below
from symamp.numbers.rationals import rational_of
from symamp.verifier import patterns, verify

METHOD, N = "generic_all_data_sets", 3000


@pytest.mark.parametrize(
    "asked",
    [
        lambda: sa.epsilon(sa.PureLDP(eps0=1), n=10**6, delta="1e-6"),
        lambda: sa.delta(sa.PureLDP(eps0="log(8)"), n=10**6, eps="log(101/100)"),
        lambda: sa.epsilon(sa.PureLDP(eps0=1), n=20, delta="1e-6", method=METHOD),
        lambda: sa.delta(sa.PureLDP(eps0=1), n=3, eps=1, method=METHOD),
    ],
    ids=["eps", "delta in fractions", "one user in every cell", "the local budget"],
)
def test_answers_have_certificates(asked):
    answer = asked()
    data = checked(answer)
    assert answer.method == METHOD
    assert Fraction(data["claim"]["upper"]) == Fraction(answer.upper)
    if answer.upper > 0:
        assert data["above"][0]["evaluator"] == "all randomizers"
        data["claim"]["upper"] = str(Fraction(answer.upper) * Fraction(99, 100))
        assert verify(json.dumps(data)).status == "invalid"


def test_other_families_of_which_only_the_budget_is_used_have_them():
    answer = sa.epsilon(sa.Harmony(d=10, eps0=2), n=10**5, delta="1e-6")
    assert answer.method == METHOD
    assert checked(answer)["above"][0]["ratio"] == "exp(2)"


@pytest.mark.parametrize(
    ("t", "share"), [("3/2", "0"), ("3", "1/7"), ("9/5", "1/2"), ("8", "1"), ("5", "-1/10"), ("3/2", "-1/2")]
)
def test_the_verifier_makes_the_laws(t, share):
    t, share, e = rational_of(Fraction(t)), Fraction(share), fmpq(11, 10)
    p = 1 / (t + 2) + rational_of(share) * (1 / (t + 2) if share < 0 else 1 / (t + 1) - 1 / (t + 2))
    rho, order = 1 - p * (1 + t), rational_of(Fraction(11, 10))
    expected = set()
    for a, b, f, h in (below if share < 0 else above)(t, p):
        values = (t - order, (t - order) / t, 1 - t * order, (1 - t * order) / t)
        values += (t * (1 - order), 1 - order, (1 - order) / t)
        atoms = zip(values, (p - a, t * a, p - b, t * b, f / t, rho - f - h, t * h), strict=True)
        expected.add(frozenset((str(v), str(m)) for v, m in atoms if m != 0))
    found = patterns._laws(fmpq(int(t.p), int(t.q)), 1 - e, fmpq(share.numerator, share.denominator), share < 0)
    laws = {frozenset((str(v), str(m)) for v, m in atoms) for atoms, null in found if null == 0}
    assert laws == expected
    for atoms in laws:
        values = [(Fraction(v), Fraction(m)) for v, m in atoms]
        assert sum(m for _, m in values) == 1
        assert sum(v * m for v, m in values) == Fraction(-1, 10)
        assert sum(max(v, 0) * m for v, m in values) == Fraction(str(p)) * Fraction(str(t - order))


# --- the truth from below, in fractions -------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def of_ternary_response(t, order, n):
    """The divergence if all others of three-ary response hold the third input, or somewhat less: likely counts only."""
    value, mean = Fraction(0), 2 * n // (int(t) + 2)
    for count in range(max(0, mean - 5 * isqrt(mean)), min(n, mean + 5 * isqrt(mean)) + 1):  # messages x0 and x1
        rest = count * (1 - t * order) + Fraction(n - count) / t * (1 - order)
        more = t - order - (1 - t * order)  # that a message x0 in place of x1 adds to the gain
        zeros = first = 0
        for zero in range(count, -1, -1):
            if zero * more + rest <= 0:
                break
            ways = comb(count, zero)
            zeros, first = zeros + ways, first + zero * ways
        value += comb(n, count) * t ** (n - count) * (more * first + rest * zeros)
    return value / n / (t + 2) ** n


def is_true(data):
    """Whether the claim is not refuted by three-ary response."""
    claim, evidence = data["claim"], data["above"][0]
    try:
        ratio, order = Fraction(evidence["ratio"]), Fraction(claim["eps"][4:-1])
        return of_ternary_response(ratio, order, claim["n"]) <= Fraction(claim["upper"])
    except (ValueError, ZeroDivisionError):
        return False


@lru_cache(maxsize=1)
def small():
    data = checked(sa.delta(sa.PureLDP(eps0="log(8)"), n=N, eps="log(6/5)", method=METHOD, gap=0.05))
    truth = of_ternary_response(Fraction(8), Fraction(6, 5), N)
    assert truth < Fraction(data["claim"]["upper"]) < truth * Fraction(11, 10)
    data["claim"]["lower"], data["below"] = "0", []
    return data


def places(data, path=()):
    if isinstance(data, dict):
        for key in sorted(set(data) & {"ratio", "shares", "cells", "low", "p_lo", "plan", "terms", "theta", "N"}):
            yield from places(data[key], (*path, key))
        for key in sorted(set(data) & {"a", "b", "lam", "s", "sigma", "ends", "scales", "tail", "W", "evaluated"}):
            yield from places(data[key], (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from places(value, (*path, i))
    else:
        yield path


def mutated(data, rng):
    """The claim, or just less than the truth, with one number changed or one entry of a list left out."""
    changed = copy.deepcopy(data)
    if rng.random() < 0.7:
        truth = of_ternary_response(Fraction(8), Fraction(6, 5), N)
        changed["claim"]["upper"] = str(truth * Fraction(999, 1000))
    groups = {}
    for path in places(changed["above"][0]):
        groups.setdefault(tuple(step for step in path if isinstance(step, str)), []).append(path)
    *path, last = rng.choice(rng.choice(list(groups.values())))
    place = changed["above"][0]
    for step in path:
        place = place[step]
    if isinstance(place, list) and rng.random() < 0.3:
        del place[last]
    elif type(place[last]) is int:
        place[last] = max(0, place[last] + rng.choice([-2, -1, 1, 5]))
    elif place[last] is not None:
        factors = [Fraction(0), Fraction(1, 2), 1 - Fraction(1, 10**3), Fraction(5, 4), Fraction(-1)]
        place[last] = str(Fraction(place[last]) * rng.choice(factors))
    return changed


def judged_cases(count, seed):
    false, _ = judged(small(), mutated, is_true, count, Random(seed))
    assert false > count // 2


def test_no_mutation_that_states_a_falsehood_is_accepted():
    judged_cases(12, 6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_of_more_mutations_none_that_states_a_falsehood_is_accepted(seed):
    judged_cases(100, seed)


def without(data, **changes):
    changed = copy.deepcopy(data)
    changed["above"][0] |= changes
    return verify(json.dumps(changed))


def test_cells_must_cover_all_randomizers():
    evidence = small()["above"][0]
    assert len(evidence["cells"]) > 1
    shares, cells = evidence["shares"], evidence["cells"]
    assert without(small(), shares=shares[1:], cells=cells[1:]).status == "invalid"
    assert without(small(), shares=shares[:-1], cells=cells[:-1]).status == "invalid"
    assert without(small(), shares=shares[::-1]).status == "invalid"
    assert without(small(), ratio="9").status == "invalid"
    for changes in ({"low": None}, {"cells": 3}, {"low": {"evaluator": 3, "plan": None}}):
        assert without(small(), **changes).status == "malformed"
