"""Binomial tails, and the regimes where kernels are poor: large and tiny budgets, rare values, many digits."""

import math
from fractions import Fraction
from math import comb
from random import Random

import flint
import pytest
from falsehoods import checked
from flint import arb, fmpq
from test_evaluation import by_convolution, contains, krr, law_of, level_of, random_law

import symamp as sa
from symamp.laws.law import Atom, Law, Level, RationalLaw, ball_gparv, float_gparv
from symamp.sums.binomial_tails import TailPlan, plan_tails, tail_sum, tail_work
from symamp.sums.divergence import Settings, enclose_divergence
from symamp.sums.kernels.tilted import Power, saddle_tilt


@pytest.mark.parametrize("seed", range(80))
@pytest.mark.parametrize("allowance", [1e-1, 1e-12])
def test_sums_contain_the_exact_value(seed, allowance):
    rng = Random(seed)
    rational, e, n = random_law(rng), fmpq(rng.randint(4, 12), 4), rng.randint(1, 9)
    law, level = law_of(rational), level_of(e)
    rough = float_gparv(law, level)
    if not rough.is_positive:
        return
    plan = plan_tails(Power(rough, n).tilted(saddle_tilt(Power(rough, n))), n, math.log(allowance))
    if plan is None:
        return
    with flint.ctx.workprec(128):
        low, high = tail_sum(ball_gparv(law, level), n, plan)
        assert contains(low / n, high / n, by_convolution(rational, e, n))
        assert tail_work(plan, n, 10**6) <= 10**6


@pytest.mark.parametrize("seed", range(20))
def test_any_plan_gives_bounds(seed):
    """Tilt, radius and order may be anything: the bounds get wide, not false."""
    rng = Random(seed)
    values = [fmpq(rng.randint(-9, 9), rng.randint(1, 3)) for _ in range(4)]
    masses = [fmpq(rng.randint(1, 9)) for _ in values]
    whole = sum(masses, fmpq(rng.randint(0, 5)))
    rational = RationalLaw(tuple((v + 20, fmpq(20), m / whole) for v, m in zip(values, masses, strict=True)))
    law, level, n = law_of(rational), level_of(fmpq(1)), 6
    exact = by_convolution(rational, fmpq(1), n)
    with flint.ctx.workprec(128):
        g = ball_gparv(law, level)
        order = [i for i in range(len(g.values) + 1) if i < len(g.values) or g.null_mass > 0]
        rng.shuffle(order)
        if len({0 if i == len(g.values) else float(g.values[i]) for i in order[:2]}) < 2:
            return
        shares = [rng.random() for _ in order]
        plan = TailPlan(rng.choice([0.01, 0.3, 2.0]), rng.choice([0.5, 3.0, 40.0]), tuple(order), tuple(shares))
        low, high = tail_sum(g, n, plan)
        assert contains(low / n, high / n, exact)


def test_binary_randomized_response_at_a_million_users_to_fifty_digits():
    """E[(a - b)_+] type sums by hand: here S is a multiple of a difference of counts."""
    found = enclose_divergence(krr(2), Level.of_float(0.005), 10**6, Settings.of_digits(50))
    again = enclose_divergence(krr(2), Level.of_float(0.005), 10**6)
    assert found.digits >= 50
    assert found.lower.lower() >= again.lower.lower()
    assert found.upper.upper() <= again.upper.upper()


def test_one_binomial_tail_by_hand():
    """G = 1 or -1 with probability 1/4 and 3/4: an exact sum of binomials at n = 2000."""
    n, quarter = 2000, fmpq(1, 4)
    law = Law(
        (
            Atom(lambda: arb(2), lambda: arb(1), lambda: arb(quarter)),
            Atom(lambda: arb(0), lambda: arb(1), lambda: arb(fmpq(3, 4))),
        ),
        (),
        True,
    )
    exact = sum(Fraction(comb(n, a) * 3 ** (n - a) * (2 * a - n), 4**n) for a in range(n // 2, n + 1)) / n
    found = enclose_divergence(law, Level(lambda: arb(0), lambda: "0", fmpq(1)), n, Settings.of_digits(60))
    assert found.digits >= 60
    assert contains(found.lower, found.upper, exact)


@pytest.mark.parametrize("k", [2, 3, 10, 10**6])
@pytest.mark.parametrize("eps0", [1e-12, 1e-6, 0.01, 12.0, 40.0, 60.0, 200.0])
@pytest.mark.parametrize(("n", "share"), [(10, 0.5), (1000, 0.1), (1000, 0.9), (10**6, 0.0), (10**9, 0.0)])
def test_the_gap_is_met_at_tiny_and_large_budgets(k, eps0, n, share):
    found = enclose_divergence(krr(k, eps0), Level.of_float(share * eps0), n)
    assert found.relative_gap <= 1e-6


@pytest.mark.parametrize(("k", "eps0", "eps"), [(3, 60.0, 59.0), (3, 40.0, 20.0), (2, 200.0, 20.0), (10, 8.0, 7.0)])
def test_no_bound_is_worse_than_that_of_fewer_users(k, eps0, eps):
    """The divergence falls with n; whatever is evaluated, the ends do not contradict that, nor exceed n = 1."""
    law, level = krr(k, eps0), Level.of_float(eps)
    lowest = None
    with flint.ctx.workprec(200):
        for n in (1, 2, 10, 1000, 10**6, 10**9, 10**12):
            found = enclose_divergence(law, level, n)
            if n == 1:
                one = found.upper.upper() * (1 + arb(2) ** -100)
            assert found.upper.upper() <= one
            assert lowest is None or found.lower.lower() <= lowest
            lowest = found.upper.upper()


def test_upper_bounds_fall_with_eps():
    last = None
    for step in range(12):
        found = enclose_divergence(krr(3, 60.0), Level.of_float(5.0 * step), 10**9)
        assert last is None or found.lower.lower() <= last
        last = found.upper.upper()


def test_a_plateau_of_one_user_is_exact():
    """Where E does not matter any more, D is 2/3 itself: a tie is a tie."""
    third = fmpq(1, 3)
    rational = RationalLaw((), ((2 * third, fmpq(0)), (third, 2 * third), (fmpq(0), third)))
    found = enclose_divergence(law_of(rational), Level.of_float(0.7), 1)
    assert found.exact == 2 * third
    assert found.is_at_most(2 * third)
    assert not found.is_above(2 * third)


@pytest.mark.parametrize(
    ("k", "eps0", "n", "delta"),
    [
        (2, "1e-12", 1000, "1e-14"),
        (3, "1e-12", 10, "1e-16"),
        (2, "40", 1000, "1e-6"),
        (3, "200", 10**6, "0.3"),
        (10**6, "1e-6", 10**6, "1e-15"),
        (10, "1", 1000, "0.0089500074551"),
    ],
)
def test_epsilon_is_bracketed_at_tiny_and_large_budgets(k, eps0, n, delta):
    """The last delta is just below the divergence at eps = 0, where a root search used to give up."""
    found = sa.epsilon(sa.RandomizedResponse(k=k, eps0=eps0), n=n, delta=delta)
    width = found.upper - found.lower
    assert width <= 2e-6 * found.upper or width <= 1e-6 / n**0.5


@pytest.mark.parametrize(("n", "delta"), [(1, "2/3"), (2, "2/3"), (100, "2/3")])
def test_a_total_variation_that_is_not_dyadic_is_a_tie(n, delta):
    table = {"a": {"x": "1/3", "y": "2/3"}, "b": {"y": "1/3", "z": "2/3"}}
    found = sa.epsilon(sa.FiniteMechanism(table), n=n, delta=delta)
    assert (found.lower, found.upper) == (0.0, 0.0)


def test_delta_is_at_most_that_of_one_user():
    found = sa.delta(sa.RandomizedResponse(k=3, eps0=60), n=10**9, eps=59)
    assert 0.63 < found.lower <= found.upper < 0.6322


SHOWN = sa.FiniteMechanism([["1/10", "6/10", "3/10"], [0, "3/10", "7/10"]])
"""A message that one input sends with probability 1/10, and the other never."""


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 10**6])
def test_what_is_left_for_large_eps_is_a_tie(n):
    # From eps = log 2 on the divergence is 1/10 for every n: nothing but that message tells (0, 1) apart.
    answer = sa.epsilon(SHOWN, n=n, delta="1/10")
    assert math.log(2) <= answer.upper <= math.log(2) * (1 + 1e-5)
    assert answer.lower < math.log(2)
    checked(answer)
    assert sa.epsilon(SHOWN, n=n, delta="0.0999999").lower == math.inf
    assert sa.delta(SHOWN, n=n, eps=1).evidence_above[0].fraction == fmpq(1, 10)


@pytest.mark.parametrize("n", [1, 2, 10])
def test_near_what_is_left_for_large_eps_the_bracket_is_narrow(n):
    answer = sa.epsilon(SHOWN, n=n, delta="0.10000001", method="blanket")
    assert answer.bound.upper - answer.bound.lower < 1e-4


def test_a_plan_may_leave_out_less_than_the_smallest_double():
    """50 digits of a sum of size 1e-277 were a domain error."""
    rough = float_gparv(krr(2, fmpq(3)), Level.of_float(0.1))
    tilted = Power(rough, 10**4).tilted(saddle_tilt(Power(rough, 10**4)))
    plan, finer = (plan_tails(tilted, 10**4, -allowance * math.log(10)) for allowance in (50, 327))
    assert finer.radius - plan.radius == pytest.approx(277 * math.log(10))
