"""Who is tried for lower ends: what is proposed is a data set, and every kind of question uses it."""

from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from math import prod
from random import Random

import pytest
from flint import arb, fmpq
from sympy import Rational

import symamp as sa
from symamp.data_sets import search
from symamp.data_sets.mechanisms import MechanismSpace
from symamp.data_sets.proposer import Proposer, in_turn
from symamp.data_sets.search import DataSetSearch
from symamp.data_sets.users_who_differ import DataOfPositions, StepSums
from symamp.laws.law import Level
from symamp.settings.victims import Victims
from symamp.sums.divergence import Settings
from tests.exactly import level_of
from tests.oracle.histograms import divergence_of_users, normalised, true_divergence
from tests.oracle.histograms import randomized_response as response
from tests.oracle.users_who_differ import random_table

TWO = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)]]
THREE = [[Fraction(a, 8) for a in row] for row in ([5, 2, 1], [1, 6, 1], [2, 2, 4])]


def drawn(rng, inputs, messages):
    rows = [[rng.randint(0, 4) + (y == 0) for y in range(messages)] for _ in range(inputs)]
    return normalised(rows)


def enclosed(part, n, level):
    return part.enclose(Level.of_float(float(level)), n, Settings(gap=1e-9))


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("rows", [TWO, THREE], ids=["two messages", "three messages"])
def test_inputs_held_in_turn_are_that_data_set(rows, n):
    space = MechanismSpace(sa.FiniteMechanism(rows))
    for held in ((0, 1), (0, 2), (2, 1, 1), (1, 1)):
        others = [held[i % len(held)] for i in range(n - 1)]
        part = space.held(("x0", "x2"), [f"x{i}" for i in held], n)
        truth = true_divergence(rows, [0, *others], [2, *others], Fraction(1))
        found = enclosed(part, n, 0)
        assert float(found.lower) <= float(truth) * (1 + 1e-12)
        assert float(truth) <= float(found.upper) * (1 + 1e-12)
        assert abs(float(found.upper) - float(found.lower)) <= 1e-8


def test_counts_of_two_messages_and_of_few_users_agree(monkeypatch):
    space = MechanismSpace(sa.FiniteMechanism(TWO))
    one = space.held(("x0", "x2"), ("x0", "x1"), 8)
    monkeypatch.setattr("symamp.data_sets.mechanisms.are_few", lambda table, n: False)
    other = space.held(("x0", "x2"), ("x0", "x1"), 8)
    assert type(one) is not type(other)
    assert str(one.data_sets) == str(other.data_sets) == "victim x0 against x2, 4 users hold x0 and 3 users hold x1"
    assert float(enclosed(one, 8, 0.25).lower) == pytest.approx(float(enclosed(other, 8, 0.25).lower), rel=1e-8)


def test_where_counts_are_too_many_they_become_an_average_over_data_sets():
    part = MechanismSpace(sa.FiniteMechanism(THREE)).held(("x0", "x1"), ("x0", "x2", "x2"), 10**6 + 1)
    assert [x for x, _ in part.dataset] == ["x0", "x2"]
    assert sum(w for _, w in part.dataset) == 1


def test_inputs_in_turn_are_held_by_everybody():
    rng = Random(1)
    for _ in range(100):
        inputs, users = rng.choices("abc", k=rng.randint(1, 5)), rng.randint(1, 40)
        counts = in_turn(inputs, users)
        assert counts == {x: k for x in "abc" if (k := sum(inputs[i % len(inputs)] == x for i in range(users)))}


@pytest.fixture
def proposing(monkeypatch):
    """Add a way to propose data sets."""
    return lambda propose: monkeypatch.setattr(search, "PROPOSERS", (*search.PROPOSERS, Proposer("added", propose)))


@pytest.mark.parametrize("seed", range(6))
def test_no_proposal_raises_the_lower_end_above_the_truth(seed, proposing):
    rng = Random(seed)
    rows, n = drawn(rng, 3, rng.choice([2, 3])), rng.choice([2, 3, 4])
    every = [(x, y) for x in ("x0", "x1", "x2") for y in ("x0", "x1", "x2")]
    proposing(lambda space, level, n: (space.held(p, xy, n) for p in space.pairs for xy in every))
    truth = max(
        true_divergence(rows, [a, *others], [b, *others], Fraction(3, 2))
        for a, b in permutations(range(3), 2)
        for others in combinations_with_replacement(range(3), n - 1)
    )
    found = sa.delta(sa.FiniteMechanism(rows), n=n, eps="log(3/2)", method="blanket")
    assert found.lower <= float(truth) * (1 + 1e-12)
    assert float(truth) <= found.upper * (1 + 1e-12)


def test_many_rounds_take_no_data_sets_in_which_inputs_are_drawn(proposing):
    table, half = sa.FiniteMechanism(THREE), Rational(1, 2)
    before = DataSetSearch(table).repeatable(Level.of_float(0.1), 50, Settings())
    proposing(lambda space, level, n: (space.drawn(p, (("x0", half), ("x2", half))) for p in space.pairs))
    proposing(lambda space, level, n: (space.held(p, ("x0", "x2"), n) for p in space.pairs))
    found = DataSetSearch(table).repeatable(Level.of_float(0.1), 50, Settings())
    assert found == before
    assert len(found.dataset) == 1


def test_what_a_setting_cannot_evaluate_is_left_out(proposing):
    asked = []

    def propose(space, level, n):
        asked.append(type(space).__name__)
        yield from (space.held(p, space.others(p), n) for p in space.pairs)

    proposing(propose)
    noise = sa.Laplace(eps0=1)
    assert sa.delta(noise, n=100, eps="0.1").lower > 0
    assert asked[0] == "SmoothSpace"


@pytest.mark.parametrize("held", [(0, 1), (1, 0, 0), (0,)])
@pytest.mark.parametrize("victim", [0, 1])
def test_where_messages_are_shuffled_the_others_hold_inputs_in_turn(held, victim):
    E, counts, tables = Fraction(6, 5), (3, 2), [response(2, Fraction(2)), response(2, Fraction(5))]
    crowd = sa.heterogeneous(
        [(c, sa.FiniteMechanism(table)) for c, table in zip(counts, tables, strict=True)], shuffled="messages"
    )
    (victims,) = Victims.of(crowd, victim)
    part = StepSums(victims, ("x0", "x1"), tuple(f"x{i}" for i in held))
    groups = [g for g, c in enumerate(counts) for _ in range(c - (g == victim))]
    others = [tables[g][held[i % len(held)]] for i, g in enumerate(groups)]
    truth = divergence_of_users([tables[victim][0], *others], [tables[victim][1], *others], E)
    found = float(part.enclose(Level(lambda: arb("1.2").log(), lambda: "log(6/5)", fmpq(6, 5)), 5, Settings()).lower)
    assert found == pytest.approx(float(truth), rel=1e-9)
    assert found <= float(truth)


@pytest.mark.parametrize("seed", range(8))
def test_held_inputs_never_lower_bound_more_than_is_true(seed):
    rng = Random(seed)
    E, counts = Fraction(rng.choice([5, 6, 8]), 5), (2, 2)
    tables = [random_table(3, 3, rng) for _ in counts]
    crowd = sa.heterogeneous(
        [(c, sa.FiniteMechanism(t)) for c, t in zip(counts, tables, strict=True)], shuffled="messages"
    )
    (victims,) = Victims.of(crowd, 0)
    for held in ((0, 1), (2, 0), (1, 2, 2)):
        others = [tables[g][held[i]] for i, g in zip((0, 1, 2 % len(held)), (0, 1, 1), strict=True)]
        truth = divergence_of_users([tables[0][0], *others], [tables[0][2], *others], E)
        part = StepSums(victims, ("x0", "x2"), tuple(f"x{i}" for i in held))
        level = level_of(E)
        assert float(part.enclose(level, 4, Settings()).lower) <= float(truth) * (1 + 1e-12)


def test_where_data_are_shuffled_others_may_be_drawn():
    E, tables = Fraction(6, 5), [response(3, Fraction(2)), response(3, Fraction(5)), response(3, Fraction(5))]
    crowd = sa.heterogeneous([(1, sa.FiniteMechanism(tables[0])), (2, sa.FiniteMechanism(tables[1]))], shuffled="data")
    (victims,) = Victims.of(crowd, None)
    part = DataOfPositions(victims, "", ("x0", "x1"), (("x0", Rational(1, 2)), ("x2", Rational(1, 2))))
    mixed = [[(row[0] + row[1]) / 2 for row in zip(t[0], t[2], strict=True)] for t in tables]
    truth = Fraction(0)
    for outputs in product(range(3), repeat=3):
        seen = [mixed[i][y] for i, y in enumerate(outputs)]
        gain = sum((tables[i][0][y] - E * tables[i][1][y]) / seen[i] for i, y in enumerate(outputs))
        truth += prod(seen) * max(gain, Fraction(0)) / 3
    level = Level(lambda: arb("1.2").log(), lambda: "log(6/5)", fmpq(6, 5))
    found = part.enclose(level, 3, Settings(gap=1e-9))
    assert float(found.lower) <= float(truth) * (1 + 1e-12)
    assert float(truth) <= float(found.upper) * (1 + 1e-12)
    assert float(found.lower) == pytest.approx(float(truth), rel=1e-8)
