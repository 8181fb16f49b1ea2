"""Questions asked backwards: against exact truths, and against the questions asked forwards."""

import pickle
from fractions import Fraction

import pytest
import sympy as sp
from oracle.histograms import randomized_response, subset_selection, unary_encoding, worst_true_divergence

import symamp as sa

MILLION = 10**6


def truth(table, n, E):
    return worst_true_divergence(table, n, E)[0]


@pytest.mark.parametrize(
    ("t", "E", "delta"), [(3, Fraction(3, 2), Fraction(1, 10)), (2, Fraction(6, 5), Fraction(1, 20))]
)
def test_the_least_number_of_users_against_every_data_set(t, E, delta):
    table = randomized_response(3, Fraction(t))
    least = next(n for n in range(1, 9) if truth(table, n, E) <= delta)
    found = sa.least_n(sa.RandomizedResponse(k=3, eps0=f"log({t})"), eps=f"log({E})", delta=delta)
    assert found.lower <= least <= found.upper
    assert found.private.upper <= delta
    assert found.not_private is None or found.not_private.lower > delta


@pytest.mark.parametrize(
    ("mechanism", "eps", "delta", "method"),
    [
        (sa.RandomizedResponse(k=2, eps0=1), "0.01", "1e-3", "blanket"),
        (sa.RandomizedResponse(k=3, eps0=1), "0", "0.05", None),
        (sa.RandomizedResponse(k=3, eps0=1), "0.01", "0.05", "blanket"),
        pytest.param(sa.RandomizedResponse(k=3, eps0=1), "0.1", "0.01", None, marks=pytest.mark.slow),
        (sa.FiniteMechanism([["9/13", "4/13"], ["27/56", "29/56"], ["7/9", "2/9"]]), "0", "0.05", "blanket"),
    ],
)
def test_few_users_are_found_from_an_estimate_that_is_off_by_one(mechanism, eps, delta, method):
    found = sa.least_n(mechanism, eps=eps, delta=delta, method=method)
    assert found.upper <= 1.2 * found.lower + 2 or method == "blanket"
    own = sa.delta(mechanism, n=found.upper, eps=eps, method=method)
    assert own.upper <= float(delta) < sa.delta(mechanism, n=found.upper - 3, eps=eps, method=method).bound.upper
    assert sa.delta(mechanism, n=found.lower - 1, eps=eps).lower > float(delta)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_largest_budget_against_every_data_set(n):
    E, delta = Fraction(3, 2), Fraction(1, 10)
    found = sa.largest_eps0(sa.RandomizedResponse(k=3), n=n, eps="log(3/2)", delta=delta)
    for t, private in (
        (Fraction(sp.Rational(str(round(2.718281828 ** (s * f), 9)))), f < 1)
        for s, f in ((found.lower, 0.999), (found.upper, 1.001))
    ):
        assert (truth(randomized_response(3, t), n, E) <= delta) is private


@pytest.mark.parametrize(
    "mechanism",
    [
        sa.RandomizedResponse(k=10, eps0=1),
        sa.HadamardResponse(K=16, eps0=1),
        pytest.param(sa.PureLDP(eps0=1), marks=pytest.mark.slow),
    ],
)
def test_users_and_deltas_agree(mechanism):
    eps, delta = "0.01", "1e-7"
    found = sa.least_n(mechanism, eps=eps, delta=delta)
    assert sa.delta(mechanism, n=found.upper, eps=eps).upper <= 1e-7
    assert sa.delta(mechanism, n=found.lower - 1, eps=eps).lower > 1e-7
    assert found.lower <= found.upper
    assert isinstance(found.upper, int)
    assert found.safe == found.upper


@pytest.mark.parametrize(
    "family",
    [sa.RandomizedResponse(k=10), sa.UnaryEncoding.oue(D=8), pytest.param(sa.PureLDP(), marks=pytest.mark.slow)],
)
def test_budgets_and_deltas_agree(family):
    found = sa.largest_eps0(family, n=MILLION, eps="0.01", delta="1e-8")
    assert sa.delta(family.at(eps0=found.lower), n=MILLION, eps="0.01").upper <= 1e-8
    assert sa.delta(family.at(eps0=found.upper), n=MILLION, eps="0.01").lower > 1e-8
    assert 0 < found.lower < found.upper
    assert found.safe == found.lower
    assert found.monotone


def test_there_and_back():
    found = sa.largest_eps0(sa.RandomizedResponse(k=10), n=MILLION, eps="0.0027292", delta="1e-8")
    assert found.lower < 1.0 + 1e-4
    assert found.upper > 1.0 - 1e-4
    assert found.gap < 1e-3


def test_what_needs_no_search():
    alone = sa.least_n(sa.RandomizedResponse(k=2, eps0=1), eps=1, delta="1e-6")
    assert (alone.lower, alone.upper) == (1, 1)
    never = sa.FiniteMechanism({"a": {"y": "1/2", "a": "1/2"}, "b": {"y": "1/2", "b": "1/2"}})
    hopeless = sa.least_n(never, eps=1, delta="0.1")
    assert hopeless.upper == float("inf")
    assert hopeless.lower > 10**9


def test_the_order_of_the_parts_is_that_of_the_whole():
    parts = sa.RandomizedResponse(k=3), sa.UnaryEncoding.oue(D=4)
    assert sa.joint(*parts).degradation()
    assert sa.poisson_subsample(parts[0], "1/2").degradation()
    assert sa.joint(parts[0], sa.RandomizedResponse(k=2, eps0=1)).degradation()
    assert sa.joint(parts[0], sa.PrivKV(s=1, d=4)).degradation() is None
    found = sa.largest_eps0(sa.joint([parts[0]] * 2), n=10**5, eps="0.05", delta="1e-6")
    assert found.monotone
    assert found.lower < found.upper


def test_where_no_order_is_proved_it_is_said():
    skewed = sa.FiniteMechanism(
        {
            "a": {"0": "exp(eps0)/(exp(eps0)+2)", "1": "2/(exp(eps0)+2)"},
            "b": {"0": "1/(2+eps0)", "1": "(1+eps0)/(2+eps0)"},
        }
    )
    assert skewed.degradation() is None


@pytest.mark.parametrize(
    ("family", "table"),
    [
        (sa.RandomizedResponse(k=3), lambda t: randomized_response(3, t)),
        (sa.SubsetSelection(d=4, k=2), lambda t: subset_selection(4, 2, t)),
        (sa.UnaryEncoding.oue(D=2), lambda t: unary_encoding(2, Fraction(1, 2), 1 / (t + 1))),
    ],
)
def test_divergences_grow_with_the_budget_where_that_is_claimed(family, table):
    assert family.degradation()
    values = [truth(table(Fraction(4 + i, 4)), 2, Fraction(11, 10)) for i in range(1, 8)]
    assert values == sorted(values)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (sa.RandomizedResponse(), "a number for each parameter but eps0"),
        (sa.RandomizedResponse(k=2, eps0=1), "leave eps0 out"),
        (sa.RandomizedResponse, "leave eps0 out"),
        (3, "leave eps0 out"),
    ],
)
def test_refusals(family, message):
    with pytest.raises(sa.errors.ArgumentError, match=message):
        sa.largest_eps0(family, n=10, eps=1, delta="1e-6")


def test_plain_data():
    found = sa.least_n(sa.RandomizedResponse(k=3, eps0=1), eps="0.1", delta="1e-6")
    assert pickle.loads(pickle.dumps(found)) == found
    shown = found.to_dict()
    assert shown["lower"] == found.lower
    assert shown["private"]["upper"] <= 1e-6
    blanket = sa.least_n(sa.RandomizedResponse(k=3, eps0=1), eps="0.1", delta="1e-6", method="blanket")
    assert blanket.private.certificate()
    assert found.upper <= blanket.upper


@pytest.mark.slow
def test_a_delta_that_is_what_is_left_of_many_users():
    """One message names its sender with probability 1/5: no number of users is private, and few are seen not to be."""
    table = sa.FiniteMechanism([["1/5", "1/5", "3/5"], ["1/2", "0", "1/2"]])
    found = sa.least_n(table, eps=0, delta=".2", method="blanket")
    assert found.upper == float("inf")
    assert found.lower > 100
    assert found.not_private is not None


@pytest.mark.parametrize("family", [sa.RandomizedResponse(k=16), sa.PiecewiseMechanism()])
def test_leaks_count_from_the_central_eps_on(family):
    given = {"n": 10**6, "eps": "0.1", "delta": "1e-8"}
    leaks = sa.participation(leaks="1/10")
    found = sa.largest_eps0(family, **given, participation=leaks)
    assert 0.1 < found.lower < found.upper < 0.1 + 2e-6
    n, eps = given["n"], given["eps"]
    private, not_private = (
        sa.delta(family.at(eps0=x), n=n, eps=eps, participation=leaks) for x in (found.lower, found.upper)
    )
    assert private.upper <= 1e-8 < not_private.lower


def test_what_the_most_users_miss_is_met_by_none():
    found = sa.least_n(sa.RandomizedResponse(k=16, eps0=60), eps="0.1", delta="1e-8")
    assert (found.lower, found.upper, found.private) == (10**18 + 1, float("inf"), None)
    assert sa.delta(sa.RandomizedResponse(k=16, eps0=60), n=10**18, eps="0.1").lower > 1e-8
