"""Laplace noise on [0, 1]: certified brackets against an inversion in mpmath that shares no code with them."""

import json
from fractions import Fraction
from itertools import pairwise

import flint
import pytest
import sympy as sp
from flint import arb

import symamp as sa
from symamp.decompositions.to_law import level_of
from symamp.laws.density import finite_sandwich
from symamp.laws.law import Level
from symamp.sums.divergence import Settings, enclose_divergence, estimate_log_divergence
from symamp.verifier import verify
from tests.between import enclosed
from tests.oracle.laplace import blanket_divergence

CASES = [
    ("1/10", 10**3, "0.0128", "2.114849801867e-8"),
    ("1/10", 10**6, "0.000403", "7.350582256033e-10"),
    ("1/10", 10**12, "0.000000403", "7.349266458127e-13"),
    ("1", 10**3, "0.141", "2.698657816343e-7"),
    ("1", 10**6, "0.00446", "7.898897903705e-9"),
    ("1", 10**12, "0.00000446", "7.881284658420e-12"),
    pytest.param("4", 10**3, "1.05", "9.121512284313e-6", marks=pytest.mark.slow),
    ("4", 10**6, "0.0333", "5.936305355510e-8"),
    ("4", 10**12, "0.0000333", "5.831148262361e-11"),
]


def _law(eps0, n):
    low, high = sa.Laplace(eps0=eps0).blanket_laws(None, n)
    assert low is high
    return low


@pytest.mark.parametrize(("eps0", "n", "eps", "digits"), CASES)
def test_brackets_contain_the_reference(eps0, n, eps, digits):
    found = enclosed(_law(eps0, n), level_of(sp.Rational(eps)), n)
    value = blanket_divergence(sp.Rational(eps0), n, sp.Rational(eps))
    assert abs(Fraction(str(value)) / Fraction(digits) - 1) < Fraction(1, 10**12)
    with flint.ctx.workprec(128):
        assert found.lower.lower() < arb(str(value)) < found.upper.upper()
    assert found.relative_gap < 1e-3
    for finite in finite_sandwich(_law(eps0, n)):
        near = estimate_log_divergence(finite, level_of(sp.Rational(eps)), n)
        assert abs(near - float(arb(digits).log())) < 1e-3


@pytest.mark.parametrize(("eps0", "eps", "digits"), [("1", "0.00446", "7.898897903705e-9")])
def test_twice_as_many_cells_are_four_times_as_near(eps0, eps, digits):
    n, gaps = 10**6, []
    for cells in (40, 80):
        low, high = finite_sandwich(_law(eps0, n), cells)
        below, above = (
            enclose_divergence(law, level_of(sp.Rational(eps)), n, Settings(gap=1e-7)) for law in (low, high)
        )
        assert below.lower.lower() < arb(digits) < above.upper.upper()
        gaps.append(float((above.upper / below.lower - 1).mid()))
    # The gap is of second order in the width of the cells.
    assert 3.5 < gaps[0] / gaps[1] < 4.5
    assert gaps[1] < 2e-3


def test_a_question_about_all_pairs_of_inputs():
    answer = sa.epsilon(sa.Laplace(eps0=1), n=10**6, delta="1e-6", method="worst_pair")
    assert answer.proof_status.is_guarantee
    assert answer.pair == ("0", "1")
    assert answer.bound.lower < 0.00306568364313 < answer.bound.upper
    assert answer.bound.upper / answer.bound.lower - 1 < 3e-5
    assert 0.002497 < answer.lower < answer.upper
    assert str(answer.dataset) == "victim 0 against 1, everyone else holds 0"


def test_delta_of_one_user_and_beyond_the_budget():
    assert sa.delta(sa.Laplace(eps0=1), n=1000, eps=1).upper == 0.0
    alone = sa.delta(sa.Laplace(eps0=1), n=1, eps=0)
    # One user alone: total variation 1 - e^(-1/2).
    low, high = (sp.Rational(x) for x in (alone.bound.lower, alone.bound.upper))
    assert low < 1 - sp.exp(sp.Rational(-1, 2)) < high
    assert alone.gap < 1e-4


def test_a_table_of_rounded_messages_is_no_worse():
    """Rounding messages is processing: a table of the rounded mechanism lies below, and close where bins are fine."""
    n, eps, bins = 2000, "0.1", 24
    table = {}
    for x in (Fraction(0), Fraction(1, 2), Fraction(1)):
        cdf = [Fraction(0)]
        for k in range(1, bins):
            z = float(Fraction(k, bins) - x)
            tail = Fraction(float(sp.exp(-abs(sp.Float(z, 30))) / 2))
            cdf.append(tail if z < 0 else 1 - tail)
        cdf.append(Fraction(1))
        table[str(x)] = {str(k): b - a for k, (a, b) in enumerate(pairwise(cdf))}
    found = sa.delta(sa.FiniteMechanism(table), n=n, eps=eps, method="blanket")
    whole = sa.delta(sa.Laplace(eps0=1), n=n, eps=eps, method="worst_pair")
    assert found.lower <= sa.delta(sa.Laplace(eps0=1), n=n, eps=eps).upper
    assert 0.95 * whole.bound.lower < found.bound.upper < 1.0001 * whole.bound.upper


def test_an_answer_is_plain_data():
    import pickle

    answer = sa.delta(sa.Laplace(eps0=1), n=10**6, eps="0.004")
    assert pickle.loads(pickle.dumps(answer)) == answer
    with pytest.raises(sa.errors.ArgumentError, match="finite_sandwich"):
        sa.delta(sa.Cauchy(scale=1), n=10**6, eps="0.002", method="worst_pair").certificate()


def test_a_finite_law_above_the_noise_is_what_a_certificate_carries():
    exact = sa.delta(sa.Laplace(eps0=1), n=10**6, eps="0.00446", method="worst_pair").bound
    answer = sa.delta(sa.Laplace(eps0=1), n=10**6, eps="0.00446", method="finite_sandwich")
    assert exact.upper < answer.bound.lower < answer.upper < exact.lower * 1.0005
    found = answer.certificate()
    assert verify(json.dumps(found)).status == "valid"
    (law,) = (pair["above"] for pair in found["settings"][0]["groups"][0]["mechanism"]["pairs"])
    # Only rational numbers: no formula of the noise is left.
    assert all(set(x) <= set("0123456789/*-()+ ") for row in law["components"] for x in row)
    assert sa.estimate(sa.Laplace(eps0=1), n=10**6, eps="0.00446", method="finite_sandwich").method == "finite_sandwich"


def test_noise_whose_tail_is_cut_has_a_finite_law_for_certificates():
    noise = sa.Gaussian(sigma=2)
    answer = sa.delta(noise, n=10**6, eps="0.002", method="finite_sandwich")
    whole = sa.delta(noise, n=10**6, eps="0.002", method="worst_pair").bound
    assert whole.lower <= answer.upper <= 1.002 * whole.upper
    assert verify(json.dumps(answer.certificate())).status == "valid"


@pytest.mark.slow
def test_the_finite_law_is_above_and_named_where_a_triple_is_needed():
    # The refusals of what needs a triple name the analysis that has one.
    for ask in (sa.estimate, sa.method_check, sa.sum_law):
        with pytest.raises(sa.errors.SupportMismatchError, match="finite_sandwich"):
            ask(sa.Laplace(eps0=1), n=100, eps="0.3")
    with pytest.raises(sa.errors.ArgumentError, match=r"'finite_sandwich' has certificates, but .*at most 300"):
        sa.delta(sa.Gaussian(sigma=1), n=100, eps="0.3").certificate()
    with pytest.raises(sa.errors.SupportMismatchError, match="ratios are at most"):
        sa.delta(sa.Gaussian(sigma=1), n=100, eps="0.3", method="finite_sandwich")
    for noise, n, eps in ((sa.Laplace(eps0="1/2"), 10**7, "0.0008"), (sa.Logistic(eps0=2), 10**6, "0.009")):
        finite, exact = (sa.delta(noise, n=n, eps=eps, method=m).bound for m in ("finite_sandwich", "worst_pair"))
        assert exact.lower < finite.upper < 1.05 * exact.upper


def test_only_the_width_over_the_scale_counts():
    assert sa.Laplace.on("-1/2", "1/2", scale="1/4") == sa.Laplace(eps0=4)
    for wrong in ((1, 1, 1), (2, 1, 1), (0, 1, 0), (0, 1, -1), (0, float("nan"), 1)):
        with pytest.raises(sa.errors.ArgumentError):
            sa.Laplace.on(*wrong[:2], scale=wrong[2])


def test_other_analyses_bound_the_same_noise():
    loose = sa.delta(sa.Laplace(eps0=1), n=10**4, eps="0.05", method="standard_clone")
    assert loose.upper > sa.delta(sa.Laplace(eps0=1), n=10**4, eps="0.05").upper
    with pytest.raises(sa.errors.SupportMismatchError):
        sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=100, eps=0.1, method="worst_pair")


def test_levels_just_below_the_local_budget():
    """The divergence is beyond doubles."""
    inside = enclosed(_law(1, 10**4), Level.of_float(0.999), 10**4)
    assert inside.relative_gap < 0.15
    with flint.ctx.workprec(64):
        below, above = (float(x.log() / arb(10).log()) for x in (inside.lower.lower(), inside.upper.upper()))
        assert below < -2326.921 < above


def test_few_users_next_to_the_local_budget():
    assert enclosed(_law(1, 5), Level.of_float(0.9), 5).relative_gap < 2e-3
