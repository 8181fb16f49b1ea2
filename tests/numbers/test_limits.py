"""Limits of one question: what they leave is certified, is the same every time, and says so."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from math import exp, inf
from random import Random

import pytest
import sympy as sp
from command import run

import symamp as sa
from symamp.bounds.registry import BOUNDS
from symamp.errors import ArgumentError
from symamp.laws.law import Level
from symamp.numbers import limits as numbers_limits
from symamp.numbers.limits import NO_LIMITS, Limits, kept
from symamp.questions.profile import OneRound
from symamp.settings.question import Question
from symamp.sums.divergence import Settings
from symamp.sums.inversion import falling_root
from tests.oracle import histograms as oracle
from tests.sampled import some

LITTLE = (0.0, 1e3, *(pytest.param(most, marks=pytest.mark.slow) for most in (1e4, 3e4)))


def table_of(seed):
    return oracle.random_table(Random(seed), zeros=seed % 3 == 0)


def larger(seed, inputs=7, messages=5):
    rng = Random(seed)
    rows = [[rng.randint(1, 12) for _ in range(messages)] for _ in range(inputs)]
    return sa.FiniteMechanism(oracle.normalised(rows))


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
@pytest.mark.parametrize("seed", some(range(4), 2))
def test_brackets_hold_however_little_work_there_is(seed, most, monkeypatch):
    set_usual(monkeypatch, most)
    table, n, delta = table_of(seed), 3, Fraction(1, 20)
    mechanism, laws = sa.FiniteMechanism(table), oracle.multiset_laws(table, n)

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


@pytest.mark.slow
def test_the_effort_alone_decides_whether_a_search_is_capped(monkeypatch):
    mechanism = larger(7, inputs=3)
    set_usual(monkeypatch, 0.0)
    for accuracy in ({}, {"gap": 2e-6}, {"gap": 1e-2}, {"digits": 3}):
        assert sa.delta(mechanism, n=200, eps="1/4", **accuracy).limited
        assert not sa.delta(mechanism, n=200, eps="1/4", effort="thorough", **accuracy).limited
    assert sa.epsilon(mechanism, n=200, delta=1e-3).limited
    assert not sa.epsilon(mechanism, n=200, delta=1e-3, digits=4, effort="thorough").limited


@pytest.mark.parametrize(
    ("effort", "n", "is_enumerated"),
    some(
        [
            ("quick", 10, True),
            ("quick", 30, False),
            ("default", 30, True),
            ("default", 50, False),
            ("thorough", 50, True),
        ],
        lambda case: case[:2] != ("default", 30),
    ),
)
def test_effort_says_which_bounds_take_too_long(effort, n, is_enumerated):
    mechanism = sa.FiniteMechanism([[Fraction(x, 12) for x in row] for row in ((7, 3, 2), (3, 7, 2), (2, 3, 7))])
    too_costly = BOUNDS["every_data_set"].too_costly(mechanism, Level.of_float(0.1), n, Limits.of(effort).patience)
    assert too_costly != is_enumerated
    if n < 50:
        answer = sa.epsilon(mechanism, n=n, delta="1e-3", effort=effort)
        assert (answer.method == "every_data_set") == is_enumerated


def test_what_is_used_again_is_charged_once():
    limits = Limits(10.0)
    for work, once in ((1.0, "a"), (2.0, "a"), (4.0, "b"), (4.0, None), (4.0, None)):
        limits.until(0.5).charge(work, once)
    assert limits.spent == 13.0


@pytest.mark.parametrize("rough_from", range(1, 12))
def test_a_root_is_found_where_estimates_become_rougher(rough_from):
    """Each place has one value, however often it is asked for: ends of a bracket keep their signs."""
    asked = []

    def miss(eps):
        asked.append(eps)
        return (1.0 - eps**3) if len(asked) < rough_from else -0.5 - eps

    assert 0.0 <= falling_root(miss, 0.3, 0.5, 9.0, 1e-6) <= 9.0
    assert len(asked) == len(set(asked))


# ------------------------------------------------------------------------------------------------------ every door

KRR = sa.RandomizedResponse(k=3, eps0=1)
DOORS = {
    "epsilon": lambda effort: sa.epsilon(KRR, n=100, delta="1e-3", effort=effort),
    "delta": lambda effort: sa.delta(KRR, n=100, eps="1/4", effort=effort),
    "curve of a profile": lambda effort: sa.profile(KRR, n=100).curve(["1/4"], effort=effort),
    "users who differ": lambda effort: sa.epsilon(
        sa.heterogeneous([(3, KRR)], shuffled="data"), delta="1e-3", effort=effort
    ),
    "rounds, epsilon": lambda effort: sa.profile(KRR, n=100).rounds(3).epsilon("1e-3", gap=1e-2, effort=effort),
    "rounds, delta": lambda effort: sa.profile(KRR, n=100).rounds(3).delta("1/2", gap=1e-2, effort=effort),
    "rounds, curve": lambda effort: sa.profile(KRR, n=100).rounds(3).curve(["1/2"], gap=1e-2, effort=effort),
    "rounds, Renyi": lambda effort: sa.profile(KRR, n=100).rounds(3).renyi(2, gap=1e-2, effort=effort),
    "rounds, trade-off": lambda effort: sa.profile(KRR, n=100).rounds(3).tradeoff("0.1", gap=1e-2, effort=effort),
    "one round": lambda effort: sa.profile(KRR, n=100).rounds(1).epsilon("1e-3", effort=effort),
    "compare": lambda effort: sa.compare(KRR, n=100, delta="1e-3", names=["blanket"], effort=effort),
    "largest_eps0": lambda effort: sa.largest_eps0(
        sa.RandomizedResponse(k=3), n=100, eps="1/2", delta="1e-2", effort=effort
    ),
    "least_n": lambda effort: sa.least_n(KRR, eps="1/2", delta="1e-2", effort=effort),
    "most_rounds": lambda effort: sa.most_rounds(KRR, n=100, eps=2, delta="1e-2", effort=effort),
    "plan": lambda effort: sa.plan(
        {"x": [sa.RandomizedResponse(k=3)]}, n=100, eps="1/2", delta="1e-2", method="blanket", effort=effort
    ),
    "sweep": lambda effort: sa.sweep(KRR, n=100, eps="1/4", effort=effort, progress=False),
    "curve": lambda effort: sa.curve(KRR, n=100, eps="1/4", effort=effort),
}


@pytest.mark.parametrize("door", some(DOORS, 4))
def test_every_question_has_an_effort(door):
    DOORS[door]("quick")
    with pytest.raises(ArgumentError, match="effort"):
        DOORS[door]("slow")


@pytest.mark.parametrize(
    "words",
    [
        "epsilon krr --k 3 --eps0 1 --n 100 --delta 1e-3",
        pytest.param("delta krr --k 3 --eps0 1 --n 100 --eps 1/4", marks=pytest.mark.slow),
        "compose krr --k 3 --eps0 1 --n 100 --rounds 3 --delta 1e-3",
        pytest.param("renyi krr --k 3 --eps0 1 --n 100 --order 2", marks=pytest.mark.slow),
        pytest.param("tradeoff krr --k 3 --eps0 1 --n 100 --level 0.1", marks=pytest.mark.slow),
        "compare krr --k 3 --eps0 1 --n 100 --delta 1e-3 --names blanket",
        pytest.param("curve krr --k 3 --eps0 1 --n 100 --eps 1/4", marks=pytest.mark.slow),
        "plan krr --k 3 --n 100 --eps 1/2 --delta 1e-2",
        pytest.param("choose krr:k=3 --n 100 --eps 1/2 --delta 1e-2", marks=pytest.mark.slow),
        "crowd 3:krr:k=3,eps0=1 --shuffled data --delta 1e-3",
    ],
)
def test_every_command_has_an_effort(words, monkeypatch, capsys):
    assert run(monkeypatch, capsys, *words.split(), "--effort", "quick")[0] == 0
    code, _, told = run(monkeypatch, capsys, *words.split(), "--effort", "slow")
    assert code == 2
    assert "effort" in told


# -------------------------------------------------------------------------------------------- one question, one limit


@pytest.mark.slow
def test_questions_in_threads_and_within_one_another_do_not_see_each_others_limits():
    """However they are interleaved, a question has the answer that it has alone, with what that took."""
    mechanism = larger(8)

    def ask(effort):
        return sa.delta(mechanism, n=200, eps="1/3", effort=effort)

    alone = {effort: ask(effort) for effort in ("quick", "thorough")}
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(ask, ["quick", "thorough"] * 2))
    for effort, found in zip(["quick", "thorough"] * 2, together, strict=True):
        assert (ends(found), found.limited) == (ends(alone[effort]), alone[effort].limited)
    seen = []

    def progress(done, every):
        if not seen:
            seen.append(ask("quick"))

    nested = OneRound(Question.of(mechanism, 200, None), progress).delta("1/3", effort="thorough")
    assert seen
    assert ends(nested) == ends(alone["thorough"])
    assert ends(seen[0]) == ends(alone["quick"])


@pytest.mark.parametrize("seed", [5, pytest.param(9, marks=pytest.mark.slow), pytest.param(11, marks=pytest.mark.slow)])
def test_more_effort_gives_no_wider_bracket(seed, monkeypatch):
    """On tables that are hard for what each effort may take here."""
    for effort, work in (("quick", 3e4), ("default", 4e5), ("thorough", 1e8)):
        monkeypatch.setitem(numbers_limits.EFFORTS, effort, work / numbers_limits.QUESTION)
    mechanism = larger(seed)
    found = [sa.delta(mechanism, n=300, eps="1/2", effort=effort) for effort in numbers_limits.EFFORTS]
    assert [a.limited for a in found][::2] == [True, False]
    for less, more in pairwise(found):
        assert more.lower >= less.lower * (1.0 - 2e-3)
        assert more.upper <= less.upper * (1.0 + 2e-3)
    assert found[-1].upper < found[0].upper


@pytest.mark.slow
def test_digits_are_never_looser_whatever_the_effort(monkeypatch):
    mechanism = larger(12, inputs=4)
    for work in (0.0, 3e4, 1e7):
        set_usual(monkeypatch, work)
        usual = sa.delta(mechanism, n=100, eps="1/2")
        digits = sa.delta(mechanism, n=100, eps="1/2", digits=3)
        assert digits.lower >= usual.lower * (1.0 - 1e-6)
        assert digits.upper <= usual.upper * (1.0 + 1e-6)
