"""Slices of the campaigns against the verifier (``python -m tests.certificates.run`` runs them whole)."""

import copy
import json
from fractions import Fraction
from random import Random

import pytest
from flint import arb

from symamp.verifier import sums, verify
from tests.certificates import exact, honest, run
from tests.sampled import some

F = Fraction

# Kinds whose certificates take seconds to write are left to the whole campaigns.
QUICK = {name: kind for name, kind in honest.KINDS.items() if name not in ("integrals", "budgets")}


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(honest, "KINDS", QUICK)


def judged(campaign, count, seed):
    """How often each outcome occurred, after a look at each that is false."""
    found = run.run(campaign, count, seed)
    assert found.of("false") == found.of("slow") == 0, found
    return found


@pytest.mark.parametrize("seed", some(range(2), 1))
@pytest.mark.parametrize("count", some([180, 300], 1))
def test_no_mutation_that_states_a_falsehood_is_accepted(quick, seed, count):
    found = judged("mutations", count, 1000 + seed)
    assert found.of("compared") > count // 6
    assert found.of("refused") > count // 4


@pytest.mark.parametrize("seed", some(range(2), 1))
@pytest.mark.parametrize("count", some([150, 250], 1))
def test_no_plan_proves_a_falsehood(quick, seed, count):
    assert judged("plans", count, 2000 + seed).of("compared") > count // 2


def test_no_text_is_told_as_checked(quick):
    assert judged("texts", 100, 3000).of("compared") > 60


@pytest.mark.slow
@pytest.mark.parametrize("campaign", ["mutations", "plans", "texts"])
def test_all_kinds(campaign):
    assert judged(campaign, 200 if campaign == "texts" else 5000, 4000).of("compared") > 150


def test_a_hole_would_be_found(monkeypatch):
    """With what once was wrong about symbols of mass 0, plans prove falsehoods."""
    right = sums._outside
    monkeypatch.setattr(sums, "_outside", lambda n, p, low, high: arb(0) if p.is_zero() else right(n, p, low, high))
    monkeypatch.setattr(honest, "KINDS", {"listed": honest.KINDS["listed"]})
    assert run.run("plans", 400, 3).of("false") > 0


@pytest.mark.parametrize("kind", QUICK)
@pytest.mark.parametrize("seeds", [30, pytest.param(60, marks=pytest.mark.slow)])
def test_every_kind_is_drawn_accepted_and_compared(kind, seeds):
    outcomes = set()
    for seed in range(seeds):
        rng = Random(seed)
        outcomes.add(run.judged(kind, honest.aimed(honest.KINDS[kind][0](rng), rng))[1])
    assert "compared" in outcomes
    assert "false" not in outcomes


def test_the_comparison_itself_finds_claims_a_little_too_good():
    false = 0
    for seed in range(60):
        data = honest.few(Random(seed))
        E = exact.level(data["claim"]["eps"])[0]
        setting = data["settings"][0]
        truth = exact.least_above(setting, data["above"]["evidence"], setting["groups"][0]["users"], E)
        if not 0 < truth < 1:
            continue
        data["below"], data["claim"]["upper"] = None, str(truth)
        assert exact.falsehood(data) is None
        data["claim"]["upper"] = str(truth * (1 - F(1, 10**30)))
        assert exact.falsehood(data)
        assert verify(json.dumps(data)).status == "invalid"
        false += 1
    assert false > 30


def test_counts_of_a_data_set_are_those_of_all_other_users():
    """Of one user, and where x0 tells nothing, they were not looked at."""
    for seed in range(40):
        data = honest.counts(Random(seed))
        if data["below"] is None:
            continue
        data["above"] = None
        data["claim"] |= {"upper": "1", "lower": "1/10**9"}
        group, evidence = data["settings"][0]["groups"][0], data["below"]["evidence"][0]
        for n, held in ((1, [0, 0, 0]), (group["users"], [c for _, c in evidence["others"][0]])):
            group["users"] = n
            for wrong in ([*held, 0], held[:-1], [held[0] + 1, *held[1:]], [held[0] + 2, held[1] - 2, held[2]]):
                changed = copy.deepcopy(data)
                changed["below"]["evidence"][0]["others"] = [[[x, c] for x, c in enumerate(wrong)]]
                assert verify(json.dumps(changed)).status != "valid" or (min(wrong) >= 0 and sum(wrong) == n - 1)
