"""Questions asked backwards about many rounds, samples and users who differ: against exact products of few users."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product as every
from math import exp

import pytest
from oracle import composition as oracle
from oracle import world
from oracle.histograms import divergence_of_users, randomized_response

import symamp as sa
from symamp.accounting.composition import Composition

E, EPS = Fraction(3, 2), "log(3/2)"
KRR = sa.RandomizedResponse(k=16)
FREE = sa.heterogeneous([(2, KRR)], shuffled="messages")


def many_rounds(table, n, count):
    """The largest divergence of so many equal rounds in which all others hold one input: a lower bound of the truth."""
    found = Fraction(0)
    for x0, x1, other in every(range(len(table)), repeat=3):
        if x0 != x1:
            pair = oracle.pair_of_triple((table[x0], table[x1], table[other]), n)
            found = max(found, oracle.divergence(oracle.product([pair] * count), E))
    return found


def near(eps0, factor):
    return Fraction(round(exp(eps0 * factor) * 10**4), 10**4)


@pytest.mark.parametrize(("k", "n", "count"), [(3, 2, 2), (2, 3, 3), (2, 1, 3)])
def test_the_largest_budget_of_many_rounds(k, n, count):
    delta = Fraction(1, 20)
    found = sa.largest_eps0(sa.RandomizedResponse(k=k), n=n, rounds=count, eps=EPS, delta=delta)
    assert 0 < found.lower < found.upper < 1.05 * found.lower
    assert found.private.upper <= delta < found.not_private.lower
    assert str(found.private).startswith("delta <= 0.0")
    assert str(found.not_private).startswith("delta >= 0.0")
    assert many_rounds(randomized_response(k, near(found.lower, 0.999)), n, count) <= delta
    assert many_rounds(randomized_response(k, near(found.upper, 1.001)), n, count) > delta


def test_the_most_rounds():
    table, delta = randomized_response(2, Fraction(2)), Fraction(1, 10)
    truths = [many_rounds(table, 3, count) for count in range(1, 8)]
    found = sa.most_rounds(sa.RandomizedResponse(k=2, eps0="log(2)"), n=3, eps=EPS, delta=delta)
    assert 1 <= found.lower <= found.upper < 7
    assert truths[found.lower - 1] <= delta < truths[found.upper]
    again = sa.most_rounds(sa.profile(sa.RandomizedResponse(k=2, eps0="log(2)"), n=3), eps=EPS, delta=delta)
    assert (again.lower, again.upper) == (found.lower, found.upper)
    day = sa.profile(sa.RandomizedResponse(k=2, eps0="log(2)"), n=3).rounds(2)
    assert sa.most_rounds(day, eps=EPS, delta=delta).lower == found.lower // 2


def test_the_least_number_of_users_of_two_rounds():
    table, delta = randomized_response(2, Fraction(2)), Fraction(1, 12)
    found = sa.least_n(sa.RandomizedResponse(k=2, eps0="log(2)"), rounds=2, eps=EPS, delta=delta)
    assert many_rounds(table, found.upper, 2) <= delta < many_rounds(table, found.lower - 1, 2)
    assert found.upper <= found.lower + 1


@pytest.mark.slow
def test_rounds_samples_and_who_takes_part_agree_with_the_questions_forwards():
    month = sa.largest_eps0(KRR, n=10**6, rounds=30, eps=1, delta="1e-8")
    assert sa.profile(KRR.at(eps0=month.lower), n=10**6).rounds(30).epsilon("1e-8").upper <= 1
    assert sa.profile(KRR.at(eps0=month.upper), n=10**6).rounds(30).epsilon("1e-8").lower > 1
    assert month.gap < 2e-3
    missing = sa.participation(dropout="1/5")
    fewer = sa.largest_eps0(KRR, n=10**6, rounds=30, eps=1, delta="1e-8", participation=missing)
    assert fewer.upper < month.lower
    assert sa.least_n(KRR.at(eps0=fewer.lower), rounds=30, eps=1, delta="1e-8", participation=missing).upper < 1.01e6


@pytest.mark.slow
def test_a_sample():
    found = sa.largest_eps0(KRR, n=10**4, sampled_from=10**5, rounds=100, eps="1/2", delta="1e-6")
    drawn = sa.profile(KRR.at(eps0=found.lower), n=10**4).sampled(n=10**4, of=10**5)
    assert drawn.rounds(100).delta("1/2", gap=1e-3).upper <= 1e-6
    assert sa.most_rounds(drawn, eps="1/2", delta="1e-6").lower in range(95, 110)


def worst_of_two(first, second):
    """The largest divergence of two users with tables of their own, over all data sets, the victim being either."""
    found, tables = Fraction(0), (first, second)
    for victim, a, b, c in every(range(2), *[range(len(first))] * 3):
        other = tables[1 - victim][c]
        found = max(found, divergence_of_users([tables[victim][a], other], [tables[victim][b], other], E))
    return found


def test_users_who_differ():
    groups = [(1, sa.RandomizedResponse(k=3)), (1, sa.RandomizedResponse(k=3, eps0="log(2)"))]
    crowd = sa.heterogeneous(groups, shuffled="messages")
    delta, fixed = Fraction(1, 4), randomized_response(3, Fraction(2))
    found = sa.largest_eps0(crowd, eps=EPS, delta=delta)
    assert found.monotone == "a smaller eps0 draws the input anew with some probability"
    assert worst_of_two(randomized_response(3, near(found.lower, 0.999)), fixed) <= delta
    assert worst_of_two(randomized_response(3, near(found.upper, 1.001)), fixed) > delta
    values = [worst_of_two(randomized_response(3, Fraction(4 + i, 4)), fixed) for i in range(8)]
    assert values == sorted(values)


def test_one_group_may_hide_all_whatever_they_report():
    """No end above exists then: the other user's report alone hides an input that is sent as it is."""
    fixed = sa.RandomizedResponse(k=3, eps0="log(2)")
    crowd = sa.heterogeneous([(1, sa.RandomizedResponse(k=3)), (1, fixed)], shuffled="messages")
    found = sa.largest_eps0(crowd, eps=EPS, delta="7/8")
    as_it_is = [[Fraction(x == y) for y in range(3)] for x in range(3)]
    assert worst_of_two(as_it_is, randomized_response(3, Fraction(2))) <= Fraction(7, 8)
    assert (found.lower, found.upper) == (300, math.inf)
    assert "larger ones are not looked at" in str(found)


def rounds_of_two(first, second, count):
    """The largest divergence of so many rounds of two users with tables of their own, the data always the same."""
    groups = tuple(world.Group(1, world.Table(tuple(map(tuple, table)))) for table in (first, second))
    return world.Truth(world.World(groups, rounds=count)).delta(E)


def test_rounds_of_users_who_differ():
    response, goal = lambda t: randomized_response(2, t), {"eps": EPS, "delta": Fraction(2, 5)}
    crowd = sa.heterogeneous([(1, sa.RandomizedResponse(k=2)), (1, sa.RandomizedResponse(k=2, eps0="log(2)"))],
                             shuffled="messages")  # fmt: skip
    found = sa.largest_eps0(crowd, rounds=2, **goal)
    assert found.monotone is not None
    assert 0.3 < found.lower < found.upper < 2
    assert rounds_of_two(response(near(found.lower, 0.999)), response(Fraction(2)), 2) <= goal["delta"]
    assert rounds_of_two(response(near(found.upper, 1.001)), response(Fraction(2)), 2) > goal["delta"]
    member = crowd.at(eps0="log(3/2)")
    most = sa.most_rounds(member, **goal)
    assert rounds_of_two(response(Fraction(3, 2)), response(Fraction(2)), most.lower) <= goal["delta"]
    assert rounds_of_two(response(Fraction(3, 2)), response(Fraction(2)), most.upper + 1) > goal["delta"]
    assert sa.least_n(member, rounds=most.lower, **goal).lower == 2


@pytest.mark.slow
def test_users_who_differ_are_counted_in_copies():
    crowd = sa.heterogeneous([(2, sa.PureLDP(eps0=1)), (3, sa.PureLDP(eps0=2))], shuffled="data")
    found = sa.least_n(crowd, eps="1/2", delta="1e-4")
    assert found.upper % 5 == 0
    assert sa.delta(crowd.copies(found.upper // 5), eps="1/2").upper <= 1e-4
    assert found.not_private is None or sa.delta(crowd.copies((found.lower - 1) // 5), eps="1/2").lower > 1e-4


def test_what_is_not_proved_is_said():
    tables = sa.FiniteMechanism([["1/2", "1/2"], ["1/3", "2/3"]])
    assert sa.heterogeneous([(2, tables)], shuffled="messages").degradation() is None
    assert sa.heterogeneous([(2, sa.PureLDP()), (1, sa.PureLDP(eps0=1))], shuffled="data").degradation()
    assert sa.largest_eps0(sa.PiecewiseMechanism(), n=10**5, eps=1, delta="1e-3").monotone is None


@pytest.mark.parametrize("delta", ["1e-12", "1e-100"])
@pytest.mark.parametrize("n", [1, pytest.param(10**9, marks=pytest.mark.slow)])
def test_far_out(n, delta):
    found = sa.largest_eps0(sa.RandomizedResponse(k=2), n=n, rounds=2, eps=1, delta=delta, method="blanket")
    assert 0.4 < found.lower < found.upper
    assert sa.most_rounds(sa.RandomizedResponse(k=2, eps0=2), n=n, eps=1, delta=delta, method="blanket").upper >= 0


def test_what_needs_no_search():
    coin = sa.RandomizedResponse(k=2, eps0=1)
    assert sa.most_rounds(coin, n=1, eps="1/2", delta="1e-6").lower == 0
    assert sa.most_rounds(coin, n=1, eps=0, delta="1e-6").upper == 0
    assert sa.most_rounds(coin, n=2, eps="101/100", delta="1/100").lower == 1
    nothing = sa.FiniteMechanism([["1/2", "1/2"], ["1/2", "1/2"]])
    assert sa.most_rounds(nothing, n=10, eps=0, delta="1e-6").upper == float("inf")
    assert sa.least_n(coin, rounds=2, eps=2, delta="1e-6").upper == 1


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: sa.largest_eps0(KRR, n=10, rounds=0, eps=1, delta="1e-6"), "rounds"),
        (lambda: sa.largest_eps0(KRR, n=10, rounds=1.5, eps=1, delta="1e-6"), "rounds"),
        (lambda: sa.largest_eps0(KRR, eps=1, delta="1e-6"), "n"),
        (lambda: sa.largest_eps0(KRR, n=10, sampled_from=5, eps=1, delta="1e-6"), "fewer users"),
        (
            lambda: sa.most_rounds(sa.profile(KRR.at(eps0=1), n=10), n=3, eps=1, delta="1e-6"),
            "already says who takes part",
        ),
        (lambda: sa.most_rounds(KRR, n=3, eps=1, delta="1e-6"), "eps0"),
        (
            lambda: sa.most_rounds(sa.epsilon(KRR.at(eps0=1), n=10, delta="1e-6"), eps=1, delta="1e-6"),
            "got Answer, expected a mechanism",
        ),
        (lambda: sa.largest_eps0(KRR, n=10, eps=10**6, delta="1e-6"), "eps: got 1000000, expected a number below 300"),
        (lambda: sa.epsilon(FREE, delta="1e-6"), "free"),
        (
            lambda: sa.largest_eps0(sa.heterogeneous([(2, KRR)], shuffled="messages"), n=2, eps=1, delta="1e-6"),
            "groups",
        ),
        (lambda: sa.least_n(FREE.at(eps0=1), rate="1/2", eps=1, delta=".1"), "one bound"),
        (lambda: sa.most_rounds(FREE.at(eps0=1), n=2, eps=1, delta=".1"), "groups"),
    ],
)
def test_refusals(ask, message):
    with pytest.raises(sa.errors.SymampError, match=message):
        ask()


def sampled_rounds(table, n, per_user, count):
    """The largest divergence of rounds of n out of per_user * n people, when all but the victim hold one input."""
    found, rate = Fraction(0), Fraction(1, per_user)
    for x0, x1, other in every(range(len(table)), repeat=3):
        if x0 != x1:
            rest = table[other]
            mixed = ([r + rate * (p - r) for r, p in zip(rest, table[x], strict=True)] for x in (x0, x1))
            pair = oracle.pair_of_triple((*mixed, rest), n)
            found = max(found, oracle.divergence(oracle.product([pair] * count), E))
    return found


@pytest.mark.parametrize(
    ("k", "per_user", "count", "delta"),
    [
        (2, 2, 2, "1/20"),
        pytest.param(3, 2, 2, "1/10", marks=pytest.mark.slow),
        pytest.param(2, 3, 3, "1/30", marks=pytest.mark.slow),
    ],
)
def test_the_least_number_at_a_rate(k, per_user, count, delta):
    table, most = randomized_response(k, Fraction(4)), Fraction(delta)
    member = sa.RandomizedResponse(k=k, eps0="log(4)")
    found = sa.least_n(member, eps=EPS, delta=delta, rounds=count, rate=f"1/{per_user}")
    truth = [sampled_rounds(table, n, per_user, count) for n in range(1, int(found.lower) + 2)]
    assert truth == sorted(truth, reverse=True)
    assert 1 < found.lower <= found.upper
    assert all(x > most for x in truth[: int(found.lower) - 1])
    assert sampled_rounds(table, int(found.upper), per_user, count) <= most
    assert found.private.upper <= most < found.not_private.lower


@pytest.mark.parametrize("rate", ["2/3", 0, 1, -1, "x", float("nan")])
def test_rates_are_one_over_a_whole_number(rate):
    with pytest.raises(sa.errors.SymampError, match="rate"):
        sa.least_n(sa.RandomizedResponse(k=2, eps0=1), eps=1, delta="1e-6", rate=rate)


@pytest.mark.slow
def test_no_number_of_users_is_enough():
    found = sa.least_n(sa.RandomizedResponse(k=16, eps0=60), eps="0.1", delta="1e-8")
    assert (found.lower, found.upper, found.private) == (10**18 + 1, math.inf, None)
    assert found.not_private.lower > 1e-8
    assert "none is proved to be enough" in str(found)


def test_wide_brackets_say_so():
    """Not of neighbours, of ends without a number, nor of narrow brackets."""
    wide = sa.least_n(sa.RandomizedResponse(k=2, eps0=4), eps=1, delta="1e-8", rounds=30, rate="1/10")
    assert wide.upper > 1.1 * wide.lower
    assert wide.caution in str(wide)
    assert wide.caution.startswith("WIDE: upper/lower = 1.8")
    assert wide.to_dict()["caution"] == wide.caution
    capped = replace(wide, private=replace(wide.private, limited=True))
    assert "capped" in capped.caution
    for lower, upper in ((1, 2), (0.0, 1.0), (1, math.inf), (100, 105)):
        assert replace(wide, lower=lower, upper=upper).caution == ""
    assert replace(wide, quantity="eps0", lower=0.5, upper=1.0).caution


def test_losses_that_are_very_negative_keep_their_digits():
    """Of a budget of 250 some ratios are e^-250; without them the ends are log of the largest ratio, three times."""
    assert sa.profile(sa.RandomizedResponse(k=4, eps0=250), n=3).rounds(3).epsilon("1e-8").lower > 749
    assert sa.profile(sa.RandomizedResponse(k=4, eps0=250), n=3).renyi(2).lower[0] > 249.9


def of_two_groups(users):
    """Users of whom half have the budget that is sought: beyond some budget no more of it changes anything."""
    free, fixed = sa.RandomizedResponse(k=3), sa.RandomizedResponse(k=3, eps0=2)
    return sa.heterogeneous([(users, free), (users, fixed)], shuffled="messages")


@pytest.mark.slow
def test_losses_that_are_far_below_zero():
    """The other order has losses of -50, of which all bits are known."""
    found = sa.profile(of_two_groups(500).at(eps0=50)).rounds(30).epsilon("1e-6", gap=1e-2)
    assert 5.1 < found.lower < found.upper < 5.4


@pytest.mark.slow
def test_budgets_that_change_nothing():
    """Rare losses of 140 take no more frequencies than those of 50."""
    at_50, at_140 = (sa.profile(of_two_groups(100).at(eps0=eps0)).rounds(3).delta(10, gap=1e-2) for eps0 in (50, 140))
    assert at_140.lower < at_50.upper < at_140.upper * 1.01 < at_50.upper * 1.1


@pytest.mark.slow
def test_the_largest_budget_where_delta_is_flat():
    found = sa.largest_eps0(of_two_groups(500), eps="5.2", delta="1e-6", rounds=30)
    assert 6.3 < found.lower < found.upper < 7.5
    assert sa.largest_eps0(of_two_groups(500), eps=10, delta="1e-6", rounds=30).lower > 140


def test_leaks_of_two_rounds_are_found_from_both_sides():
    """Just above eps for one leak sums are those of rare values, and a coarse sum must not have a lower end of 0."""
    some = sa.participation(dropout="1/5", leaks="1/1000")
    family, goal = sa.SubsetSelection(d=16, k=4), {"n": 10**6, "eps": 1, "delta": "1e-8"}
    found = sa.largest_eps0(family, **goal, rounds=2, participation=some)
    assert 0.5606 < found.lower < found.upper < 1.004 * found.lower


def test_no_number_of_users_hides_a_leak(monkeypatch):
    """Delta hardly falls with n: the largest n is asked about at once, and estimates are not made there."""
    asked, known = [], Composition.log_estimate
    monkeypatch.setattr(Composition, "log_estimate", lambda self, *args: asked.append(self) or known(self, *args))
    some = sa.participation(leaks="1/1000")
    found = sa.least_n(sa.RandomizedResponse(k=2, eps0=2), eps=1, delta="1e-8", rounds=3, participation=some)
    assert found.upper == math.inf
    assert len(asked) <= 5
