"""Many digits: balls against mpmath, and as many as are proved."""

import random
import re
from fractions import Fraction

import mpmath
import pytest
import sympy as sp

import symamp as sa
from symamp.bounds.registry import BOUNDS
from symamp.numbers.dyadic import Dyadic
from symamp.questions.bracket import Interval, decimal_text

BINARY = sa.RandomizedResponse(k=2, eps0=1)
TEN = sa.RandomizedResponse(k=10, eps0=1)
TABLE = sa.FiniteMechanism([["1/2", "1/3", "1/6"], ["1/6", "1/2", "1/3"], ["1/3", "1/6", "1/2"]])
EVEN = sa.RandomizedResponse(k=2, eps0="log(3)")
X, Y = sp.symbols("x y", real=True)
PURE = [(20, sa.PureLDP(eps0=1)), (10, sa.PureLDP(eps0=2))]
MIXED = [(12, sa.RandomizedResponse(k=2, eps0=1)), (8, sa.RandomizedResponse(k=2, eps0=2))]
KINDS = {
    "table": (TABLE, {"n": 30}),
    "family": (sa.HadamardResponse(K=8, eps0=1), {"n": 50}),
    "a million values": (sa.RandomizedResponse(k=10**6, eps0="1e-6"), {"n": 10**6}),
    "noise, one user": (sa.Laplace(eps0=1), {"n": 1}),
    "noise, few users": (sa.Laplace(eps0=1), {"n": 3}),
    "noise, some users": (sa.Laplace(eps0=1), {"n": 50}),
    "neighbours": (sa.Laplace(eps0=1), {"n": 3, "neighbours": "1/2"}),
    "density on a list": (sa.DensityMechanism(sp.exp(-sp.Abs(Y - X)) / 2, X, Y, inputs=[0, 1]), {"n": 3}),
    "discrete noise": (sa.DiscreteLaplace(B=2, eps0=1), {"n": 50}),
    "generic": (sa.PureLDP(eps0=1), {"n": 50}),
    "joint": (sa.joint(EVEN, TABLE), {"n": 5}),
    "parallel": (sa.parallel([("1/4", EVEN), ("3/4", TABLE)]), {"n": 20}),
    "merged": (sa.joint(*(sa.RandomizedResponse(k=3, eps0=f"1/{i}") for i in (2, 3, 4, 5))), {"n": 3}),
    "triple": (EVEN.blanket(), {"n": 30}),
    "data shuffled": (sa.heterogeneous(PURE, shuffled="data"), {}),
    "messages shuffled": (sa.heterogeneous(MIXED, shuffled="messages"), {}),
    "method": (TABLE, {"n": 30, "method": "all_data_sets"}),
    "no guarantee": (BINARY, {"n": 100, "method": "variation_ratio_2023"}),
}
SLOW = {"noise, some users", "merged", "density on a list", "method", "noise, few users", "generic", "discrete noise"}
SLOW |= {"data shuffled", "parallel", "table"}
QUESTIONS = ((sa.delta, {"eps": "1/4"}), (sa.epsilon, {"delta": "1e-3"}))


def width(answer):
    """The relative width of what is proved of the value of the analysis."""
    evidence = answer.evidence_of_digits or answer.evidence_above
    if answer.quantity == "delta" and evidence:
        with mpmath.workdps(60):
            low, high = (max(getattr(e, end).as_mpf() for e in evidence) for end in ("lower", "upper"))
            merging = max(e.merging for e in evidence)
            assert low == 0 or high - low >= merging
            return 0 if all(e.exact for e in evidence) else (high - low) / high
    low, high = answer.bound.lower, answer.bound.upper
    return 0 if low == high else (high - low) / high


@pytest.mark.parametrize("digits", [8, *(pytest.param(d, marks=pytest.mark.slow) for d in (2, 12))])
@pytest.mark.parametrize("kind", [pytest.param(k, marks=[pytest.mark.slow] * (k in SLOW)) for k in KINDS])
def test_digits_are_met_or_refused_with_what_can_be_had(kind, digits):
    subject, given = KINDS[kind]
    for ask, level in QUESTIONS:
        try:
            answer = ask(subject, **given, **level, digits=digits)
        except sa.errors.PrecisionError as refused:
            (fewer,) = re.findall(r"digits: got \d+, expected at most (\d+) here: ", str(refused))
            assert int(fewer) < digits
            if fewer == "0":
                continue
            digits = int(fewer)
            answer = ask(subject, **given, **level, digits=digits)
        assert answer.digits >= digits
        assert width(answer) <= 10.0**-digits * (1 + 1e-9)


def test_where_delta_falls_slowly_digits_of_epsilon_take_more_of_delta():
    answer = sa.epsilon(sa.RandomizedResponse(k=10**6, eps0="1e-6"), n=10**6, delta="5e-13", digits=6)
    assert answer.digits >= 6
    assert 0 < answer.lower < answer.upper


@pytest.mark.parametrize("shuffled", ["data", "messages"])
def test_digits_of_users_who_differ_take_a_finer_gap_where_that_helps(shuffled):
    crowd = sa.heterogeneous([(1, sa.RandomizedResponse(k=2, eps0=1))], shuffled=shuffled)
    answer = sa.epsilon(crowd, delta="1e-3", digits=13)
    with mpmath.workdps(30):
        exact = mpmath.log(mpmath.e - (1 + mpmath.e) / 1000)  # delta = (e - e^eps)/(1 + e)
        assert answer.lower <= exact <= answer.upper
        assert answer.upper - answer.lower <= 1e-13 * exact


def test_parts_that_are_only_shown_to_be_smaller_cost_no_digits():
    answer = sa.delta(TABLE, n=50, eps="1/4", digits=8)
    assert answer.digits >= 8 > -mpmath.log10(max(e.relative_gap for e in answer.evidence_above))


def test_a_bound_that_is_infinite_or_at_another_level_has_no_digits():
    with pytest.raises(sa.errors.PrecisionError, match="at most 0 here"):
        sa.delta(sa.Gaussian(sigma=1), n=2, eps=1000, digits=3)
    assert Interval(1.0, float("inf")).gap == 1.0


@pytest.mark.parametrize(
    ("eps", "reference"),
    [
        pytest.param("0.1", 8.2012e-5, marks=pytest.mark.slow),
        pytest.param("0.2", 2.2657e-9, marks=pytest.mark.slow),
        pytest.param("0.4", 5.7705e-26, marks=pytest.mark.slow),
        ("0.8", 2.3117e-88),
    ],
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
    answer = sa.delta(TEN, n=10**6, eps=eps, digits=8, method="blanket")
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


@pytest.mark.parametrize(
    ("ask", "given"), [(sa.epsilon, {"delta": "1e-8"}), (sa.delta, {"eps": "0.003"})], ids=["epsilon", "delta"]
)
def test_digits_never_give_a_looser_bracket_than_the_default(ask, given):
    """The least bound is not known to many digits: it is the upper end, and digits are those of another."""
    mechanism = sa.UnaryEncoding.rappor(D=16, eps0=1)
    usual = ask(mechanism, n=10**6, **given)
    for digits in (3, 6):
        answer = ask(mechanism, n=10**6, **given, digits=digits)
        # A search in doubles that is run again may end an ulp away: no looser than by what no digit shows.
        assert usual.lower * (1 - 1e-9) <= answer.lower <= answer.upper <= usual.upper * (1 + 1e-9)
        assert answer.digits >= digits
        assert width(answer) <= 10.0**-digits
        assert answer.method == "all_data_sets"
    assert answer.certificate()["claim"]
    named = ask(mechanism, n=10**6, **given, digits=6, method="envelope")
    assert named.upper > usual.upper
    assert named.bound.upper == pytest.approx(answer.bound.upper, rel=1e-6)


# ------------------------------------------------------------------------------------- Ends as decimals, for printing


@pytest.mark.parametrize("kind", "efg")
def test_ends_are_printed_outward_and_no_wider_than_asked_for(kind):
    draw = random.Random(3)
    for _ in range(500):
        end = Dyadic(draw.getrandbits(draw.choice([1, 10, 53, 120])) | 1, draw.randint(-300, 100))
        digits = draw.randint(kind == "g", 12)
        value = Fraction(end.mantissa) * Fraction(2) ** end.exponent
        low, high = (Fraction(decimal_text(end, digits, kind, down=down)) for down in (True, False))
        place = Fraction(1, 10**digits) * (1 if kind == "f" else value * (10 if kind == "g" else 1))
        assert low <= value <= high <= low + place * Fraction(101, 100)


def test_numbers_that_no_fraction_carries_are_printed_too():
    tiny = Dyadic(1, -(10**18))
    assert [decimal_text(tiny, 4, "g", down=down)[:6] for down in (True, False)] == ["6.113e", "6.114e"]
    assert decimal_text(Dyadic(0, None), 4, "f", down=False) == "inf"
    assert (decimal_text(Dyadic(0), 2, "f", down=True), decimal_text(Dyadic(1, -9), 0, "f", down=False)) == (
        "0.00",
        "1",
    )


def test_every_method_is_explained_once_in_a_group():
    rows = list(sa.methods())
    assert sorted(name for _, name, *_ in rows) == sorted(BOUNDS)
    assert all(len(what) > 10 and source for _, _, what, source in rows)
    assert {group for group, *_ in rows} <= {"default", "proved", "approximations", "refuted"}
    assert all((group in ("default", "proved")) == BOUNDS[name].proof_status.is_guarantee for group, name, *_ in rows)
    assert sa.methods().to_latex().count("\n") == len(rows) + 3
