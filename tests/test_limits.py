"""Limits of one question: what they leave is certified, is the same every time, and says so."""

from fractions import Fraction
from math import exp, inf
from random import Random

import pytest
import sympy as sp

import symamp as sa
from symamp.errors import ArgumentError
from symamp.numbers import limits as numbers_limits
from symamp.numbers.limits import NO_LIMITS, Limits, kept
from symamp.sums.divergence import Settings
from symamp.sums.inversion import falling_root
from tests.oracle import histograms as oracle

LITTLE = (0.0, 1e3, *(pytest.param(most, marks=pytest.mark.slow) for most in (1e4, 3e4)))


def table_of(seed):
    return oracle.random_table(Random(seed), zeros=seed % 3 == 0)


def mechanism_of(table):
    return sa.FiniteMechanism([[sp.Rational(p.numerator, p.denominator) for p in row] for row in table])


def larger(seed, inputs=7, messages=5):
    rng = Random(seed)
    rows = [[rng.randint(1, 12) for _ in range(messages)] for _ in range(inputs)]
    return mechanism_of([[Fraction(x, sum(row)) for x in row] for row in rows])


def set_usual(monkeypatch, work):
    """Let a question of the default effort take so much."""
    monkeypatch.setitem(numbers_limits.EFFORTS, "default", work / numbers_limits.QUESTION)


def ends(answer):
    return answer.lower, answer.upper


# ------------------------------------------------------------------------------------------------------- the limits


def test_a_search_ends_where_the_work_is_spent_and_that_is_remembered():
    limits = Limits(10.0)
    early = limits.until(0.4)
    limits.charge(4.0)
    assert not limits.is_spent()
    assert not limits.was_met
    assert early.is_spent()
    assert limits.was_met
    assert (limits.spent, limits.left) == (4.0, 6.0)
    early.charge(7.0)
    assert limits.is_spent()
    assert limits.left == 0.0


def test_where_nobody_sets_limits_nothing_is_counted():
    NO_LIMITS.charge(1e300)
    assert NO_LIMITS.spent == 0.0
    assert not NO_LIMITS.is_spent()
    assert Settings().limits is NO_LIMITS


def test_what_is_kept_is_charged_every_time_and_knows_no_limit():
    asked = []

    @kept(maxsize=8)
    def inner(limits, x):
        asked.append(x)
        limits.charge(x)
        return limits.is_spent()

    @kept(maxsize=8)
    def outer(limits, x):
        limits.charge(1.0)
        return inner(limits, x), inner(limits, x)

    for _ in range(3):
        limits = Limits(1.0)
        assert outer(limits, 3.0) == (False, False)
        assert limits.spent == 7.0
    assert asked == [3.0]


def test_limits_are_no_part_of_what_is_kept():
    assert Settings(limits=Limits(1.0)) == Settings()
    assert hash(Settings(limits=Limits(1.0))) == hash(Settings())
    limits = Limits(1.0)
    for settings in (Settings(limits=limits).rough, Settings(limits=limits).usual):
        assert settings.limits is limits


@pytest.mark.parametrize("effort", ["slow", "", None, 1, "Quick"])
def test_an_effort_is_one_of_three_words(effort):
    with pytest.raises(ArgumentError, match="quick"):
        sa.delta(larger(1), n=10, eps="1/2", effort=effort)


# ---------------------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize("most", LITTLE)
@pytest.mark.parametrize("seed", range(4))
def test_brackets_hold_however_little_work_there_is(seed, most, monkeypatch):
    set_usual(monkeypatch, most)
    table, n, delta = table_of(seed), 3, Fraction(1, 20)
    mechanism, laws = mechanism_of(table), oracle.multiset_laws(table, n)

    def truth(E):
        return oracle.worst_true_divergence(table, n, E, laws)[0]

    for method in (None, "blanket", "envelope", "all_data_sets"):
        for E in (Fraction(1), Fraction(3, 2)):
            eps = sp.log(sp.Rational(E.numerator, E.denominator))
            answer = sa.delta(mechanism, n=n, eps=eps, method=method)
            assert answer.lower <= truth(E) <= answer.upper
        answer = sa.epsilon(mechanism, n=n, delta="1/20", method=method)
        if answer.upper < inf:
            assert truth(Fraction(exp(answer.upper))) <= delta + Fraction(1, 10**12)
        if 0.0 < answer.lower < inf:
            assert truth(Fraction(exp(answer.lower))) >= delta - Fraction(1, 10**12)


@pytest.mark.slow
@pytest.mark.parametrize("most", LITTLE)
def test_brackets_of_larger_tables_overlap_what_more_work_gives(most, monkeypatch):
    mechanism = larger(5)
    whole = sa.epsilon(mechanism, n=300, delta=1e-3), sa.delta(mechanism, n=300, eps="1/2")
    assert not any(answer.limited for answer in whole)
    set_usual(monkeypatch, most)
    less = sa.epsilon(mechanism, n=300, delta=1e-3), sa.delta(mechanism, n=300, eps="1/2")
    assert all(answer.limited for answer in less)
    assert "effort='thorough'" in less[0].gap_limited_by
    for part, all_of_it in zip(less, whole, strict=True):
        assert part.lower <= all_of_it.upper
        assert all_of_it.lower <= part.upper


def test_answers_do_not_depend_on_what_was_asked_before(monkeypatch):
    mechanism = larger(6)
    set_usual(monkeypatch, 3e4)
    first = [sa.epsilon(mechanism, n=200, delta=1e-4), sa.delta(mechanism, n=200, eps="1/3")]
    again = [sa.epsilon(mechanism, n=200, delta=1e-4), sa.delta(mechanism, n=200, eps="1/3")]
    assert [ends(a) for a in first] == [ends(a) for a in again]
    assert all(a.limited for a in first)


def test_the_effort_alone_decides_whether_a_search_is_capped(monkeypatch):
    mechanism = larger(7, inputs=3)
    set_usual(monkeypatch, 0.0)
    for accuracy in ({}, {"gap": 2e-6}, {"gap": 1e-2}, {"digits": 3}):
        assert sa.delta(mechanism, n=200, eps="1/4", **accuracy).limited
        assert not sa.delta(mechanism, n=200, eps="1/4", effort="thorough", **accuracy).limited
    assert sa.epsilon(mechanism, n=200, delta=1e-3).limited
    assert not sa.epsilon(mechanism, n=200, delta=1e-3, digits=4, effort="thorough").limited


@pytest.mark.parametrize("rough_from", range(1, 12))
def test_a_root_is_found_where_estimates_become_rougher(rough_from):
    """Each place has one value, however often it is asked for: ends of a bracket keep their signs."""
    asked = []

    def miss(eps):
        asked.append(eps)
        return (1.0 - eps**3) if len(asked) < rough_from else -0.5 - eps

    assert 0.0 <= falling_root(miss, 0.3, 0.5, 9.0, 1e-6) <= 9.0
    assert len(asked) == len(set(asked))
