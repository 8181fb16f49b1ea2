"""Work of one question: what a limit leaves is certified, is the same every time, and says so."""

import threading
from fractions import Fraction
from math import exp, inf
from random import Random

import pytest
import sympy as sp

import symamp as sa
from symamp.bounds.pair_of_inputs import falling_root
from symamp.numbers.work import is_spent, kept, question, spend, spent, stage, was_limited, work_left
from symamp.questions import profile
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


def ends(answer):
    return answer.lower, answer.upper


# ------------------------------------------------------------------------------------------------------ the account


def test_outside_of_questions_there_is_no_limit():
    spend(1e30)
    assert not is_spent()
    with question(10.0):
        assert not is_spent()
        assert not was_limited()
        assert work_left() == 10.0
        spend(4.0)
        with stage(0.4):
            assert is_spent()
        assert not is_spent()
        assert was_limited()
        assert spent() == 4.0


def test_a_question_counts_from_nothing_and_is_work_of_the_one_around_it():
    with question(10.0):
        spend(6.0)
        with question(5.0):
            assert not is_spent()
            spend(5.0)
            assert is_spent()
        assert spent() == 11.0
        assert is_spent()


def test_what_is_kept_is_charged_every_time_and_knows_no_limit():
    asked = []

    @kept(maxsize=8)
    def inner(x):
        asked.append(x)
        spend(x)
        return is_spent()

    @kept(maxsize=8)
    def outer(x):
        spend(1.0)
        return inner(x), inner(x)

    for _ in range(3):
        with question(1.0):
            assert outer(3.0) == (False, False)
            assert spent() == 7.0
    assert asked == [3.0]


def test_threads_have_accounts_of_their_own():
    found = []
    with question(1.0):
        spend(2.0)
        thread = threading.Thread(target=lambda: found.append(is_spent()))
        thread.start()
        thread.join()
        assert is_spent()
    assert found == [False]


# ---------------------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize("most", LITTLE)
@pytest.mark.parametrize("seed", range(4))
def test_brackets_hold_however_little_work_there_is(seed, most, monkeypatch):
    monkeypatch.setattr(profile, "QUESTION", most)
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
    monkeypatch.setattr(profile, "QUESTION", most)
    less = sa.epsilon(mechanism, n=300, delta=1e-3), sa.delta(mechanism, n=300, eps="1/2")
    assert all(answer.limited for answer in less)
    assert "work" in less[0].gap_limited_by
    for part, all_of_it in zip(less, whole, strict=True):
        assert part.lower <= all_of_it.upper
        assert all_of_it.lower <= part.upper


def test_answers_do_not_depend_on_what_was_asked_before(monkeypatch):
    mechanism = larger(6)
    monkeypatch.setattr(profile, "QUESTION", 3e4)
    first = [sa.epsilon(mechanism, n=200, delta=1e-4), sa.delta(mechanism, n=200, eps="1/3")]
    again = [sa.epsilon(mechanism, n=200, delta=1e-4), sa.delta(mechanism, n=200, eps="1/3")]
    assert [ends(a) for a in first] == [ends(a) for a in again]
    assert all(a.limited for a in first)


def test_a_gap_that_is_asked_for_lifts_the_limit(monkeypatch):
    mechanism = larger(7, inputs=3)
    monkeypatch.setattr(profile, "QUESTION", 0.0)
    assert sa.delta(mechanism, n=200, eps="1/4").limited
    assert not sa.delta(mechanism, n=200, eps="1/4", gap=2e-6).limited
    assert not sa.epsilon(mechanism, n=200, delta=1e-3, digits=4).limited


@pytest.mark.parametrize("rough_from", range(1, 12))
def test_a_root_is_found_where_estimates_become_rougher(rough_from):
    """Each place has one value, however often it is asked for: ends of a bracket keep their signs."""
    asked = []

    def miss(eps):
        asked.append(eps)
        return (1.0 - eps**3) if len(asked) < rough_from else -0.5 - eps

    assert 0.0 <= falling_root(miss, 0.3, 0.5, 9.0, 1e-6) <= 9.0
    assert len(asked) == len(set(asked))
