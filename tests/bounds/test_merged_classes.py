"""Few laws in place of many: they dominate, keep mean and E[G_+], and what they bound is still bounded."""

from fractions import Fraction
from random import Random

import flint
import numpy as np
import pytest
from flint import arb
from test_all_data_sets import TABLES, laws_of, level_of, rows_maximum, upper_of

import symamp as sa
from symamp.bounds.registry import BOUNDS
from symamp.laws.law import BallGparv, Level
from symamp.sums.all_data_sets import laws as module
from symamp.sums.all_data_sets.bound import enclose_all_data_sets
from symamp.sums.all_data_sets.laws import merged_classes
from symamp.sums.all_data_sets.search import Searches
from symamp.sums.divergence import Settings
from symamp.sums.envelope import enclose_envelope


@pytest.fixture
def few(monkeypatch):
    """Merge what is hardly many."""

    def to(classes, nodes):
        names = ("MANY_CLASSES", "MANY_ATOMS", "MOST_CLASSES", "MOST_NODES")
        for name, value in zip(names, (1, 1, classes, nodes), strict=True):
            monkeypatch.setattr(module, name, value)

    return to


def random_laws(rng, inputs, messages):
    """Exact laws (value, mass) of one pair of rows under each row."""
    weights = [[rng.randint(1, 12) for _ in range(messages)] for _ in range(inputs)]
    rows = [[Fraction(w, sum(row)) for w in row] for row in weights]
    gains = [a - Fraction(9, 8) * b for a, b in zip(rows[0], rows[1], strict=True)]
    return [[(g / p, p) for g, p in zip(gains, row, strict=True)] for row in rows]


def ball_law(law):
    nonzero = [(v, p) for v, p in law if v]
    values, masses = ([arb(flint.fmpq(*x.as_integer_ratio())) for x in column] for column in zip(*nonzero, strict=True))
    return BallGparv(tuple(values), tuple(masses), 1 - sum(masses, arb(0)), arb(0))


def transform(g, u):
    gains = [p * (v - u).max(arb(0)) for v, p in zip(g.values, g.masses, strict=True)]
    return sum(gains, g.null_mass * (-u).max(arb(0)))


@pytest.mark.parametrize(("seed", "classes", "nodes"), [(0, 1, 4), (1, 2, 6), (2, 3, 9), (3, 2, 40), (4, 9, 3)])
def test_each_law_is_dominated_by_one_with_its_mean_and_gain(seed, classes, nodes, few):
    few(classes, nodes)
    laws = random_laws(Random(seed), 8, 7)
    with flint.ctx.workprec(160):
        balls = [ball_law(law) for law in laws]
        found, loss = merged_classes(balls, -0.125, 1000, 0.05)
        assert len(found) <= classes
        for g in found:
            values, masses = [*g.values, arb(0)], [*g.masses, g.null_mass]
            assert len(values) <= nodes + 6
            assert not any(p < 0 for p in masses)
            assert sum(masses, arb(0)).overlaps(arb(1))
            mean = sum((v * p for v, p in zip(values, masses, strict=True)), arb(0))
            assert mean.overlaps(arb(-0.125))
            assert mean.rad() < 1e-20
            assert transform(g, arb(0)).overlaps(transform(balls[0], arb(0)))
        kinks = [v for g in (*balls, *found) for v in g.values] + [arb(0)]
        for law in balls:
            above = [g for g in found if all(not transform(g, u) < transform(law, u) for u in kinks)]
            assert above
            raised = [max(float(transform(g, u) - transform(law, u)) for u in kinks) for g in above]
            assert 0.0 <= min(raised) <= loss + 1e-9


def test_few_laws_are_left_alone():
    with flint.ctx.workprec(160):
        balls = [ball_law(law) for law in random_laws(Random(5), 6, 5)]
        assert merged_classes(balls, -0.125, 1000, 0.05) == (balls, 0.0)


@pytest.mark.parametrize(("classes", "nodes"), [(1, 3), (2, 5)])
def test_merged_laws_bound_every_data_set(classes, nodes, few):
    """Against all inputs of the others, exactly: a node less than there are values, and one law less than inputs."""
    table, n, E = TABLES[2], 12, Fraction(13, 10)
    maxima = rows_maximum(table, n, E)
    few(classes, nodes)
    for pair in ((0, 1), (0, 2), (1, 2)):
        assert maxima[pair] < upper_of(enclose_all_data_sets(Searches(laws_of(table, pair)), level_of(E), n))


def line_of_inputs(size):
    """Inputs on a line, messages near them more likely, all probabilities fractions."""
    step = Fraction(2 * size - 3, 2 * size)
    weights = [[step ** abs(x - y) for y in range(size)] for x in range(size)]
    rows = [[w / sum(row) for w in row] for row in weights]
    return sa.FiniteMechanism({f"x{x}": {str(y): p for y, p in enumerate(row)} for x, row in enumerate(rows)})


@pytest.mark.parametrize("size", [8, pytest.param(24, marks=pytest.mark.slow)])
def test_many_inputs(size):
    """By name also for many inputs: the two ends are nearly met by one data set, where the blanket is far above."""
    table = line_of_inputs(size)
    answer, blanket = (sa.delta(table, n=3000, eps="0.12", method=m, gap=1e-2) for m in ("all_data_sets", "blanket"))
    assert answer.lower <= answer.upper <= 1.01 * blanket.upper
    if size == 8:
        assert answer.upper < 1.1 * answer.lower < 0.5 * blanket.upper


def test_the_envelope_of_many_inputs():
    """Each pair by its own envelope, which is never above its blanket; what blankets settle is not evaluated."""
    table = line_of_inputs(9)
    bound = BOUNDS["envelope"].bound(table)
    assert {p.method for p in bound.proposed(level_of(Fraction(21, 20)), 500, Settings())} == {"envelope"}
    ends = [sa.delta(table, n=500, eps="0.05", method=m, gap=1e-4).upper for m in ("envelope", "blanket")]
    assert ends[0] <= ends[1] * (1 + 1e-3)


def test_what_merging_loses_is_stated_on_the_answer(few):
    """One law for all inputs is above the largest transform: it raises each by what that one is above it, at least."""
    few(1, 40)
    rows, E = TABLES[0], Fraction(11, 10)
    table = sa.FiniteMechanism({f"x{x}": {str(y): p for y, p in enumerate(row)} for x, row in enumerate(rows)})
    answer = sa.delta(table, n=400, eps="log(11/10)", method="all_data_sets")
    assert not answer.tight
    assert answer.worst_data_set is None
    for evidence in answer.evidence_above:
        first, second = (rows[int(x[1:])] for x in evidence.part.pair)
        gains = [a - E * b for a, b in zip(first, second, strict=True)]
        kinks = [g / p for row in rows for g, p in zip(gains, row, strict=True)]
        raised = [[sum(max(g - u * p, 0) for g, p in zip(gains, row, strict=True)) for u in kinks] for row in rows]
        tops = [max(column) for column in zip(*raised, strict=True)]
        loss = max(max(t - x for t, x in zip(tops, row, strict=True)) for row in raised)
        assert 0 < loss <= Fraction(evidence.merging) * (1 + Fraction(1, 10**9))
    assert answer.parameters["merging"] == answer.evidence_above[0].merging


def _random_table(random, inputs, messages, spread):
    rows = np.exp(random.uniform(0, spread, (inputs, messages)))
    return sa.FiniteMechanism(rows / rows.sum(axis=1, keepdims=True), normalise=True)


@pytest.mark.slow
def test_levels_may_have_different_numbers_of_merged_laws():
    """Parameters of a level near by are for as many laws as it has."""
    table = _random_table(np.random.default_rng(1), 64, 16, 1.4)
    found = sa.epsilon(table, n=10**4, delta="1e-6", method="all_data_sets")
    assert found.lower < found.upper < sa.epsilon(table, n=10**4, delta="1e-6", method="blanket").upper


@pytest.mark.slow
def test_cells_do_not_shrink_to_nothing():
    random = np.random.default_rng(11)
    sizes = int(random.integers(17, 40)), int(random.integers(4, 17))
    table = _random_table(random, *sizes, random.choice([0.5, 1.4, 3.0]))
    found = sa.epsilon(table, n=300, delta="1e-6", method="all_data_sets")
    assert found.lower < found.upper


def test_the_envelope_of_few_laws_is_above_that_of_all_and_above_every_data_set():
    rows = np.random.default_rng(4).dirichlet([1.0] * 30, size=24)
    table = sa.FiniteMechanism(rows, normalise=True)
    level, n = Level.of_float(0.9), 20_000
    part = BOUNDS["all_data_sets"].bound(table).part((0, 1))
    found = part.looser_proxy.enclose(level, n, Settings(gap=1e-3))
    assert enclose_envelope(part.laws, level, n, Settings(gap=1e-3)).lower <= found.upper
    assert all(t.enclose(level, n, Settings(gap=1e-3)).lower <= found.upper for t in part.triples)
    assert found.lower == 0
    assert found.merging > 0


def test_a_law_of_entries_is_that_of_their_fractions():
    """Where all ratios differ it has the numbers of the fractions; equal ones are merged."""
    rows = [["1/2", "1/3", "1/6"], ["1/5", "2/5", "2/5"], ["2/9", "3/9", "4/9"], ["1/7", "2/7", "4/7"]]
    table = sa.FiniteMechanism({f"x{i}": dict(zip("abc", row, strict=True)) for i, row in enumerate(rows)}).numeric
    for pair in ((0, 1), (2, 0), (1, 3)):
        for others in ((), ((2, flint.fmpq(1)),), ((3, flint.fmpq(1)),)):
            law = table.law(pair, others)
            numbers = zip(law.numbers(), law.rational.atoms, law.atoms, strict=True)
            for (*balls, equal), exact, atom in numbers:
                assert all(ball.contains(x) for ball, x in zip(balls, exact, strict=True))
                assert equal == atom.equal_ratios == (exact[0] == exact[1])
    alike = sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/4", "1/8", "5/8"], ["1/4", "1/8", "5/8"]]).numeric
    assert len(alike.law((0, 1), ((2, flint.fmpq(1)),)).numbers()) == 2
