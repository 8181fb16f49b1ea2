"""Worlds in which the package once said what is false: each by its name, against the truth."""

from fractions import Fraction
from random import Random

import pytest

import symamp as sa
from tests.oracle.world import (
    AnyTwo,
    Chosen,
    Data,
    Drawn,
    Group,
    Joint,
    Listed,
    OneAttribute,
    Table,
    Truth,
    Within,
    World,
)
from tests.sampled import some
from tests.worlds import ask, levels
from tests.worlds.draw import response

F = Fraction
TWO = Joint((response(2, F(3)),) * 2)
ONE_OF_TWO = Drawn(((F(1, 10), response(2, F(50))), (F(9, 10), response(2, F(50)))))
UNLIKE = Drawn(((F(3, 10), response(2, F(3))), (F(7, 10), response(3, F(3)))))
OUTSIDER = Table(
    tuple(tuple(F(p, 100) for p in row) for row in ((34, 33, 33), (33, 34, 33), (10, 10, 80))), (F(0), F(1), F(5))
)


def world(n, runs, neighbours=None, **words):
    return World((Group(n, runs, neighbours or OneAttribute()),), **words)


def examined(found, question, *arguments):
    """Ask one question of a world; every outcome must be right, and one must be an answer or a refusal."""
    case = ask.Case(found, Random(1))
    question(case, *arguments)
    assert case.outcomes
    assert not [outcome for outcome in case.outcomes if outcome.is_finding]
    return case


# --- two attributes, one differs: whose budget a bound takes


@pytest.mark.parametrize("method", [None, *ask.TABLE_METHODS])
@pytest.mark.parametrize("E", ["1", "2", "3", "17/5"])
def test_one_attribute_of_two(method, E):
    examined(world(4, TWO), ask.ask_delta, method, levels.of_order(F(E)))


@pytest.mark.parametrize("question", ["delta", "epsilon", "renyi", "tradeoff"])
@pytest.mark.parametrize("method", ["generic", "variation_ratio", "two_level", "standard_clone"])
def test_rounds_of_one_attribute(question, method):
    examined(world(2, TWO), ask.rounds_of, 2, question, method)


@pytest.mark.parametrize("method", ["generic", "variation_ratio", "standard_clone", None])
def test_least_n_of_one_attribute(method):
    coin = sa.RandomizedResponse(k=2, eps0="log(3)")
    truths = {n: Truth(world(n, TWO)).delta(F(1)) for n in (1, 2, 3, 4)}
    found = sa.least_n(sa.joint([coin] * 2, neighbours="one_attribute"), eps=0, delta=truths[3], method=method)
    assert found.lower <= 3
    assert all(truth <= truths[3] for n, truth in truths.items() if n >= found.upper)


@pytest.mark.parametrize("question", [ask.ask_compare, ask.ask_curve, ask.ask_budget_alone])
def test_questions_of_one_attribute(question):
    examined(world(3, TWO), question)


def test_data_shuffled_with_one_attribute():
    found = World((Group(1, TWO, OneAttribute()), Group(2, TWO, OneAttribute())), seen=Data())
    for E in ("1", "2", "3"):
        examined(found, ask.ask_delta, None, levels.of_order(F(E)))


# --- the largest budget of what is made of several reports


@pytest.mark.parametrize("neighbours", ["all", "one_attribute"])
@pytest.mark.parametrize(
    "method", some([None, "blanket", "generic", "standard_clone", "variation_ratio"], lambda m: m is None)
)
def test_the_largest_budget_of_two_reports(neighbours, method):
    """eps0 is that of each report: two of them may tell more than eps0 = eps."""
    family = sa.joint([sa.RandomizedResponse(k=2)] * 2, neighbours=neighbours)
    relation = OneAttribute() if neighbours == "one_attribute" else AnyTwo()
    found = sa.largest_eps0(family, n=3, eps="log(3)", delta="1e-3", method=method)
    t = levels.exponential(F(found.lower))[0]
    assert Truth(world(3, Joint((response(2, t),) * 2), relation)).delta(F(3)) <= F(1, 1000)


def test_what_uses_any_two_inputs_is_refused_where_one_attribute_differs():
    joint = sa.joint([sa.RandomizedResponse(k=2)] * 2, neighbours="one_attribute")
    with pytest.raises(sa.errors.SupportMismatchError, match="any two"):
        sa.least_n(joint.at(eps0=1), eps=0, delta="1/3", method="two_level")
    with pytest.raises(sa.errors.SupportMismatchError, match="any two"):
        sa.largest_eps0(joint, n=3, eps="log(3)", delta="1e-3", method="two_level")


# --- people who are drawn


@pytest.mark.parametrize("E", ["1", "101/100", "102/100"])
def test_drawn_people_and_inputs_far_away(E):
    """Who is drawn instead of the victim may hold any input: the relation is no help there."""
    near = world(4, OUTSIDER, Listed(((0, 1),)), takes_part=Chosen(2))
    assert Truth(near).delta(F(101, 100)) == F(1, 500)
    examined(near, ask.ask_delta, None, levels.of_order(F(E)))
    examined(world(4, OUTSIDER, Within(F(1)), takes_part=Chosen(2)), ask.ask_delta, None, levels.of_order(F(E)))


def test_drawn_people_and_one_attribute():
    drawn = world(3, TWO, takes_part=Chosen(2))
    assert Truth(drawn).delta(F(5, 2)) == F(5, 1536)
    examined(drawn, ask.ask_delta, None, levels.of_order(F(5, 2)))


def test_drawn_people_just_below_the_end():
    rows = Table(((F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))))
    for by in ("-1e-19", "-1e-12"):
        for n, people in ((1, 2), (2, 3)):
            drawn = world(people, rows, AnyTwo(), takes_part=Chosen(n))
            last = Truth(drawn).kinks()[-1]
            examined(drawn, ask.ask_delta, None, levels.moved(last, by))


# --- one attribute that is drawn


def test_equal_parts_with_weights_of_their_own():
    """Two equal parts are two coordinates: only one of them differs."""
    only = world(1, ONE_OF_TWO)
    assert Truth(only).delta(F(1)) == F(9, 10) * F(49, 51)
    examined(only, ask.ask_delta, None, levels.of_order(F(1)))
    for n in (1, 2, 3):
        for E in ("1", "5/2", "49"):
            examined(world(n, ONE_OF_TWO), ask.ask_delta, None, levels.of_order(F(E)))


@pytest.mark.parametrize("method", [None, *ask.TABLE_METHODS])
def test_unlike_parts_of_which_one_is_drawn(method):
    found = world(4, UNLIKE)
    examined(found, ask.ask_delta, method, levels.of_order(F(213, 100)))


@pytest.mark.parametrize("weights", [("2/9", "7/9"), ("1/4", "3/4"), ("1/100", "99/100"), ("1/2", "1/2")])
@pytest.mark.parametrize("n", [1, 2])
def test_weights_of_equal_parts(weights, n):
    runs = Drawn(tuple((F(w), response(2, F(7))) for w in weights))
    for E in ("1", "2", "4", "7"):
        examined(world(n, runs), ask.ask_delta, None, levels.of_order(F(E)))


# --- levels that are one double, and victims by name


@pytest.mark.parametrize(
    ("k", "t", "n", "texts"),
    [
        (3, "50", 1, ["log(50)", "2", "2", "log(50)-1e-19"]),
        (2, "3", 4, ["log(5/3)+1e-19", "log(5/3)", "0", "log(3)-1e-12"]),
        (2, "50", 2, ["log(2501/100)", "log(50)", "log(25009999999999999999999997499/1000000000000000000000000000)"]),
    ],
)
def test_a_curve_at_levels_that_are_one_double(k, t, n, texts):
    mechanism = sa.RandomizedResponse(k=k, eps0=f"log({t})")
    answers = sa.profile(mechanism, n=n).curve(eps=texts).answers
    alone = [sa.delta(mechanism, n=n, eps=text) for text in texts]
    for together, single in zip(answers, alone, strict=True):
        assert together.lower <= single.upper
        assert single.lower <= together.upper


@pytest.mark.parametrize("t", [10**15, 2 * 10**20, F(2 * 10**40 + 10**20, 10**20 + 1)])
def test_a_budget_whose_delta_is_nearly_one(t):
    answer = sa.delta(sa.PureLDP(eps0=f"log({t})"), n=1, eps=3, method="generic_all_data_sets")
    low, high = levels.exponential(F(3))
    ask.check_delta(answer, (t - high) / (t + 1), lambda: (t - low) / F(t + 1))


def test_a_victim_is_of_the_group_that_was_listed():
    """Groups without an honest user count where a victim is named, or the name is refused."""
    first, last = Table(((F(32, 63), F(31, 63)), (F(1, 2), F(1, 2)))), Table(((F(4, 5), F(1, 5)), (F(7, 10), F(3, 10))))
    groups = Group(1, response(2, F(3)), honest=0), Group(2, first, honest=2), Group(1, last, honest=1)
    for victim in (1, 2):
        examined(World(groups, victim=victim), ask.ask_delta, None, levels.of_order(F(1)))


# --- what ended in an error of the language


def test_data_shuffled_at_a_level_near_a_large_budget():
    tiny = F(1, 500000000000000000001)
    groups = (
        Group(1, Table(((F(1, 6), F(5, 6)), (F(2, 5), F(3, 5))))),
        Group(3, Table(((F(5, 7), F(2, 7)), (tiny, 1 - tiny)))),
    )
    level = levels.of_order(F(135000000000000000000445, 504))
    examined(World(groups, seen=Data()), ask.ask_delta, None, level)


def test_a_root_that_is_sought_more_closely_than_doubles_allow():
    tiny = F(1, 3 * 10**30 + 10**10 + 1)
    rows = (10**10 * tiny, 3 * 10**30 * tiny, tiny), (F(7, 18), F(1, 9), F(1, 2))
    others = (F(3, 10), F(7, 15), F(7, 30)), (F(1, 10), F(2, 5), F(1, 2))
    groups = Group(1, Table(rows), Listed(((0, 1),))), Group(2, Table(others), Listed(((0, 1),)))
    examined(World(groups, seen=Data()), ask.ask_epsilon_at, F(1, 3))


def test_eps_at_a_delta_that_is_reached_where_eps_is_large():
    share = F(1, 60000000001)
    rows = Table(
        (
            (F(14, 29), F(14, 29), F(1, 29)),
            (20000000000 * share, share, 40000000000 * share),
            (F(1, 9), F(1, 3), F(5, 9)),
        )
    )
    delta = F(503999999910959999999333, 1044000000034800000000290)
    examined(world(2, rows, AnyTwo()), ask.ask_epsilon_at, delta)
