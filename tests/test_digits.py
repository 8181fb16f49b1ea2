"""Many digits: balls against mpmath, and as many as are proved."""

import mpmath
import pytest

import symamp as sa

BINARY = sa.RandomizedResponse(k=2, eps0=1)
TEN = sa.RandomizedResponse(k=10, eps0=1)


@pytest.mark.parametrize(
    ("eps", "reference"), [("0.1", 8.2012e-5), ("0.2", 2.2657e-9), ("0.4", 5.7705e-26), ("0.8", 2.3117e-88)]
)
def test_twenty_digits_of_binary_randomized_response(eps, reference):
    answer = sa.delta(BINARY, n=1000, eps=eps, digits=30, method="blanket")
    assert answer.digits >= 30
    opinion = sa.estimate(BINARY, n=1000, eps=eps, digits=30, system="mpmath")
    assert isinstance(opinion, sa.Estimate)
    with mpmath.workdps(60):
        assert abs(answer.as_mpf()[1] / opinion.value - 1) < mpmath.mpf(10) ** -30
        assert float(opinion) == pytest.approx(reference, rel=5e-5)


@pytest.mark.parametrize("delta", ["1e-40", "1e-300", "1e-1000"])
def test_tiny_deltas_to_six_digits(delta):
    eps = sa.epsilon(TEN, n=10**6, delta=delta).upper
    answer = sa.delta(TEN, n=10**6, eps=eps, digits=8)
    opinion = sa.estimate(TEN, n=10**6, eps=eps, digits=60, system="mpmath")
    assert answer.digits >= 8
    with mpmath.workdps(70):
        blanket = answer.evidence_above[0]
        assert abs(mpmath.mpf(answer.as_mpf()[1]) / opinion.value - 1) < mpmath.mpf(10) ** -8
        assert opinion.value <= mpmath.mpf(delta)
        assert opinion.value > mpmath.mpf(delta) * (1 - mpmath.mpf(10) ** -5)
        assert blanket.relative_gap < 1e-8


def test_rational_laws_are_exact():
    answer = sa.delta(sa.RandomizedResponse(k=3, eps0="log(3)"), n=12, eps="log(3/2)", digits=50)
    assert answer.digits == 1000
    assert answer.parameters["evaluator"] == "exact"


def test_float_estimates_say_what_they_are():
    estimate = sa.estimate(BINARY, n=1000, eps="0.1", system="numpy")
    assert float(estimate) == pytest.approx(8.2012e-5, rel=1e-4)
    assert "no guarantee" in str(estimate)
    with pytest.raises(sa.errors.ArgumentError, match="system"):
        sa.estimate(BINARY, n=1000, eps="0.1", system="abacus")
    with pytest.raises(sa.errors.ArgumentError, match="digits"):
        sa.delta(BINARY, n=1000, eps="0.1", digits=0)
