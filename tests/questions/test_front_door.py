"""The front door: reference numbers, trivial regimes, extreme arguments, refusals."""

import contextlib
import json
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, permutations

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy.special import gammaln, logsumexp

import symamp as sa
from symamp import errors
from symamp.bounds.registry import BOUNDS
from symamp.numbers.optional import optional
from symamp.sums import binomial_tails
from tests.exactly import log_of
from tests.sampled import some

KRR = sa.RandomizedResponse(k=10, eps0=1)
SMALL = sa.RandomizedResponse(k=3, eps0="log(2)")


def per_user(n):
    """The reference tables' delta = 0.01/n."""
    return Fraction(1, 100 * n)


# ------------------------------------------------------------------------------------------------- reference numbers


def test_the_reference_bracket_of_10_ary_randomized_response():
    answer = sa.epsilon(KRR, n=10**4, delta="1e-6")
    assert 0.02325257 <= answer.lower <= answer.upper <= 0.02325332
    assert (answer.method, answer.proof_status) == ("blanket", sa.ProofStatus.PROVED)


def test_the_reference_bracket_with_a_narrow_gap():
    answer = sa.epsilon(KRR, n=10**4, delta="1e-6", gap=1e-9)
    assert answer.upper == pytest.approx(0.02325330590, abs=3e-11)
    assert answer.lower == pytest.approx(0.02325257762, abs=3e-11)
    assert answer.upper - answer.bound.lower < 1e-10
    assert answer.dataset.others[0][0] not in answer.pair


@pytest.mark.parametrize(
    ("n", "value"),
    [(10**3, 0.06648549), (10**6, 0.00272920214), (10**8, 0.000309034162), (10**10, 3.41897143e-5)],
)
def test_the_reference_values_over_n(n, value):
    """The printed values are upper ends at some gap: the certified one must be as good, and not below the truth."""
    answer = sa.epsilon(KRR, n=n, delta=per_user(n))
    assert answer.upper == pytest.approx(value, rel=3e-7)
    assert answer.lower < answer.upper
    assert answer.upper - answer.lower < 3e-4 * value


@pytest.mark.parametrize(
    ("method", "n", "value"),
    [
        ("generic", 10**4, 0.0432062),
        ("generic", 10**6, 0.00501162),
        ("generic", 10**8, 0.000563644),
        ("standard_clone", 10**4, 0.0530053),
        ("standard_clone", 10**6, 0.00612548),
        ("standard_clone", 10**8, 0.000687472),
    ],
)
def test_the_reference_values_of_the_generic_analyses(method, n, value):
    answer = sa.epsilon(KRR, n=n, delta=per_user(n), method=method)
    assert answer.upper == pytest.approx(value, rel=2e-6)
    assert answer.bound.upper - answer.bound.lower < 1e-5 * value
    assert answer.method == method
    assert answer.upper > sa.epsilon(KRR, n=n, delta=per_user(n)).upper


@pytest.mark.parametrize(
    ("eps", "value"), [("0.1", 8.2012e-5), ("0.2", 2.2657e-9), ("0.4", 5.7705e-26), ("0.8", 2.3117e-88)]
)
def test_the_reference_deltas_of_binary_randomized_response(eps, value):
    answer = sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps=eps, method="blanket")
    assert answer.upper == pytest.approx(value, rel=5e-5)
    assert answer.bound.upper <= answer.bound.lower * (1 + 2e-6)


def test_only_the_budget_known():
    """Theorem B from above, the worst known member from below; binary randomized response attains the upper side."""
    answer = sa.epsilon(sa.PureLDP(eps0=1), n=10**4, delta="1e-6", method="generic")
    generic = sa.epsilon(KRR, n=10**4, delta="1e-6", method="generic")
    binary = sa.epsilon(sa.RandomizedResponse(k=2, eps0=1), n=10**4, delta="1e-6", method="blanket")
    assert answer.upper == pytest.approx(generic.upper, rel=1e-7)
    assert answer.upper == pytest.approx(binary.upper, rel=1e-6)
    assert binary.lower * (1 - 1e-6) <= answer.lower <= answer.upper


# -------------------------------------------------------------------------------------------------- trivial regimes

TABLES = {
    "three inputs": {"a": ["1/2", "1/2"], "b": ["1/4", "3/4"], "c": ["1/8", "7/8"]},
    "not symmetric": {"a": ["1/2", "1/3", "1/6"], "b": ["1/6", "1/2", "1/3"], "c": ["2/5", "2/5", "1/5"]},
    "zeros": {"a": ["1/2", "1/2", "0"], "b": ["1/2", "0", "1/2"], "c": ["1/3", "1/3", "1/3"]},
    "one zero": {"a": ["1/2", "1/2", "0"], "b": ["3/20", "4/5", "1/20"]},
    "small leak": {"a": ["1/2", "499/1000", "1/1000", "0"], "b": ["499/1000", "1/2", "0", "1/1000"]},
    "constant": {"a": ["1/3", "2/3"], "b": ["1/3", "2/3"]},
    "identity": {"a": ["1", "0"], "b": ["0", "1"]},
}


def mechanism(name):
    return sa.FiniteMechanism({x: {f"y{j}": p for j, p in enumerate(row)} for x, row in TABLES[name].items()})


def local_divergence(name, E):
    """max over ordered pairs of sum (p - E q)_+, by hand."""
    rows = [[Fraction(p) for p in row] for row in TABLES[name].values()]
    return max(sum(max(p - E * q, Fraction(0)) for p, q in zip(a, b, strict=True)) for a, b in permutations(rows, 2))


def singular_mass(name):
    """max over ordered pairs of the mass of R(x0) where R(x1) has none: below it no eps is enough for any n."""
    rows = [[Fraction(p) for p in row] for row in TABLES[name].values()]
    return max(sum(p for p, q in zip(a, b, strict=True) if q == 0) for a, b in permutations(rows, 2))


@pytest.mark.parametrize("eps", ["log(2)", sp.log(2), 1, "0.7", "1000000", Fraction(7, 10), Decimal("0.694")])
@pytest.mark.parametrize("method", ["blanket", "generic", "standard_clone"])
@pytest.mark.parametrize("n", [1, 10**4, 10**15])
def test_delta_is_exactly_zero_from_the_local_budget_on(eps, method, n):
    answer = sa.delta(SMALL, n=n, eps=eps, method=method)
    assert answer.lower == answer.upper == answer.bound.lower == answer.bound.upper == 0.0
    assert answer.log10_lower == answer.log10_upper == -math.inf


def test_the_budget_of_a_table_and_of_pure_ldp_count_too():
    assert sa.delta(mechanism("three inputs"), n=10, eps="2*log(2)").upper == 0.0
    assert sa.delta(mechanism("three inputs"), n=10, eps="2*log(2) - 1e-9").lower > 0.0
    assert sa.delta(sa.PureLDP(eps0=1), n=10, eps=1).upper == 0.0


@pytest.mark.parametrize("n", some([1, 2, 30, 10**4], lambda n: n in (1, 10**4)))
def test_epsilon_never_exceeds_the_local_budget(n):
    for delta in ("1e-3", "1e-300", "1e-1000"):
        assert sa.epsilon(KRR, n=n, delta=delta).upper <= 1.0
        assert sa.epsilon(sa.PureLDP(eps0=1), n=n, delta=delta, method="standard_clone").upper <= 1.0


@pytest.mark.parametrize("delta", [0.9, "0.999999", Fraction(1, 2), "1/3"])
@pytest.mark.parametrize("n", [1, 2, 10**4, 10**15])
def test_a_large_delta_needs_no_epsilon(n, delta):
    """The total variation distance of SMALL is 1/4 for one user, and less for more."""
    answer = sa.epsilon(SMALL, n=n, delta=delta)
    assert answer.lower == answer.upper == 0.0


def test_the_total_variation_distance_itself_needs_no_epsilon():
    assert sa.epsilon(SMALL, n=1, delta="1/4").upper == 0.0
    assert sa.epsilon(SMALL, n=1, delta="1/4 - 1e-12").upper > 0.0


@pytest.mark.parametrize("n", [1, 2, 1000, 10**15])
def test_a_mechanism_that_ignores_its_input(n):
    assert sa.epsilon(mechanism("constant"), n=n, delta="1e-1000").upper == 0.0
    assert sa.delta(mechanism("constant"), n=n, eps=0).upper == 0.0


@pytest.mark.parametrize("E", [Fraction(1), Fraction(10, 9), Fraction(3, 2), Fraction(2), Fraction(7, 2), Fraction(9)])
@pytest.mark.parametrize("name", TABLES)
def test_one_user_has_the_local_divergence(name, E):
    exact = local_divergence(name, E)
    answer = sa.delta(mechanism(name), n=1, eps=log_of(E))
    assert Fraction(answer.lower) <= exact <= Fraction(answer.upper)
    assert answer.upper <= math.nextafter(math.nextafter(answer.lower, 1.0), 1.0)
    if exact in (Fraction(0), Fraction(1)):
        assert answer.lower == answer.upper == exact


@pytest.mark.parametrize("E", [Fraction(21, 20), Fraction(5, 4), Fraction(3, 2)])
@pytest.mark.parametrize("name", ["three inputs", "not symmetric", "one zero"])
def test_one_user_has_the_local_epsilon(name, E):
    delta = local_divergence(name, E)
    assert local_divergence(name, E * Fraction(1001, 1000)) < delta  # no plateau: delta determines eps
    answer = sa.epsilon(mechanism(name), n=1, delta=delta)
    with mpmath.workdps(40):
        eps = mpmath.log(mpmath.mpf(E.numerator) / E.denominator)
        assert mpmath.mpf(answer.lower) <= eps <= mpmath.mpf(answer.upper)
    assert answer.upper - answer.lower < 1e-4 * answer.upper


@pytest.mark.parametrize("n", some([1, 2, 3, 100, 10**4, 10**6, 10**9, 10**15], 4))
@pytest.mark.parametrize("name", ["zeros", "small leak", "identity"])
def test_no_epsilon_is_enough_below_the_singular_mass(name, n):
    mass = singular_mass(name)
    for delta in (mass * Fraction(999, 1000), mass / 100, Fraction(1, 10**300), "1e-1000"):
        answer = sa.epsilon(mechanism(name), n=n, delta=delta)
        assert answer.upper == math.inf
        assert answer.lower == math.inf
    for eps in (0, "1", "1000"):
        assert Fraction(sa.delta(mechanism(name), n=n, eps=eps).upper) >= mass


@pytest.mark.parametrize("n", [1, 2, 3, 100, 10**4, 10**9])
def test_some_epsilon_is_enough_above_the_singular_mass(n):
    answer = sa.epsilon(mechanism("small leak"), n=n, delta="11/10000")
    assert answer.lower <= answer.upper < math.inf
    answer = sa.epsilon(mechanism("small leak"), n=n, delta="2/1000")
    assert answer.lower <= answer.upper < 1e-8


def test_the_exact_singular_mass_as_delta():
    """From the eps on where all else is covered, delta is the singular mass itself; rational tables can tell."""
    table = {"a": {"x": "2/3", "y": "1/3"}, "b": {"x": "2/3", "z": "1/3"}}
    answer = sa.epsilon(sa.FiniteMechanism(table), n=1, delta="1/3")
    assert answer.lower == answer.upper == 0.0


# --------------------------------------------------------------------------------------------------------- extremes


def assert_sane(answer):
    """An answer that can be trusted on its face: ordered, no NaN, printable, and complete."""
    ends = (answer.lower, answer.bound.lower, answer.bound.upper, answer.upper, *answer.as_mpf())
    assert not any(math.isnan(end) for end in ends)
    assert 0.0 <= answer.lower <= answer.upper
    assert 0.0 <= answer.bound.lower <= answer.bound.upper == answer.upper
    assert answer.quantity == "epsilon" or answer.upper <= 1.0
    assert answer.log10_lower <= answer.log10_upper
    assert answer.as_mpf()[0] <= answer.as_mpf()[1]
    assert "nan" not in str(answer)
    assert "\n" not in str(answer)
    json.dumps(answer.certificate(), allow_nan=False)
    assert answer.parameters


DELTAS = ("1e-3", "1e-6", "1e-300", "1e-1000")


@pytest.mark.parametrize("n", some([1, 2, 10, 10**2, 10**3, 10**5, 10**8, 10**12, 10**15], 5))
def test_tiny_deltas_and_all_sizes(n):
    previous = 0.0
    for delta in DELTAS:
        answer = sa.epsilon(KRR, n=n, delta=delta, method="blanket")
        assert_sane(answer)
        assert previous <= answer.upper * (1 + 1e-5)  # a smaller delta needs a larger eps
        assert answer.bound.upper - answer.bound.lower <= 2e-5 * answer.upper
        previous = answer.lower


@pytest.mark.parametrize("delta", DELTAS)
def test_more_users_never_hurt(delta):
    sizes = [1, 2, 3, 10, 30, 100, 300, 10**3, 10**4, 10**6, 10**9, 10**12, 10**15]
    answers = [sa.epsilon(KRR, n=n, delta=delta, method="blanket") for n in sizes]
    for few, many in pairwise(answers):
        assert many.lower <= few.upper
        assert many.bound.lower <= few.bound.upper
        assert many.upper <= few.upper * (1 + 1e-5)


@pytest.mark.parametrize("name", ["three inputs", "not symmetric", "small leak"])
@pytest.mark.parametrize("n", some([2, 10**6, 20], 2))
def test_delta_decreases_in_eps(name, n):
    """Both ends do, not only the truth in between: a bound that is lost when eps shrinks was within reach."""
    answers = [
        sa.delta(mechanism(name), n=n, eps=eps, method="blanket") for eps in ("0", "1e-4", "1e-3", "0.01", "0.1", "0.3")
    ]
    for small, large in pairwise(answers):
        assert large.upper <= small.upper * (1 + 1e-5)
        assert large.lower <= small.lower * (1 + 1e-5)


@pytest.mark.parametrize("n", [3, 1000, 10**9])
@pytest.mark.parametrize("method", ["blanket", "generic", "standard_clone"])
def test_delta_and_epsilon_are_inverse(n, method):
    answer = sa.epsilon(KRR, n=n, delta="1e-9", method=method)
    above = sa.delta(KRR, n=n, eps=Fraction(answer.upper), method=method)
    below = sa.delta(KRR, n=n, eps=Fraction(answer.lower), method=method)
    assert above.bound.lower <= 1e-9
    assert below.upper >= 1e-9 * (1 - 1e-5)


def binary_log10_delta(eps0, eps, n):
    """log10 of the blanket bound of binary randomized response, by the sum over counts in logarithms."""
    t, E = math.exp(eps0), math.exp(eps)
    a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    value = a * (t - E) + b * (1 - t * E)
    keep = (a + b <= n) & (value > 0)
    a, b, value = a[keep], b[keep], value[keep]
    logs = gammaln(n + 1) - gammaln(a + 1) - gammaln(b + 1) - gammaln(n - a - b + 1)
    logs += (a + b) * -math.log(t + 1) + (n - a - b) * math.log((t - 1) / (t + 1)) + np.log(value)
    return (logsumexp(logs) - math.log(n)) / math.log(10)


@pytest.mark.parametrize(("eps", "n"), [("0.5", 40), ("0.5", 1200), ("0.9", 1200), ("0.99", 1200)])
def test_below_the_smallest_double(eps, n):
    answer = sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=n, eps=eps, method="blanket")
    expected = binary_log10_delta(1.0, float(eps), n)
    assert answer.log10_upper == pytest.approx(expected, abs=1e-6)
    assert answer.log10_lower <= expected + 1e-8
    if expected < -330:
        assert (answer.lower, answer.upper) == (0.0, 5e-324)
    for log, value in zip((answer.log10_lower, answer.log10_upper), answer.as_mpf(), strict=True):
        assert log == pytest.approx(float(mpmath.log10(value)), rel=1e-12)


def test_one_delta_in_many_types():
    """What denotes the same number gets the same answer; a float counts as the binary fraction it is."""
    given_ = ["1e-3", "0.001", "1/1000", Fraction(1, 1000), Decimal("0.001"), sp.Rational(1, 1000)]
    assert len({(a.lower, a.upper) for a in (sa.epsilon(KRR, n=10**4, delta=d) for d in given_)}) == 1
    given_ = [2**-10, np.float64(2**-10), np.float32(2**-10), mpmath.mpf(2) ** -10, sp.Float(2) ** -10, "2**-10"]
    assert len({(a.lower, a.upper) for a in (sa.epsilon(KRR, n=10**4, delta=d) for d in given_)}) == 1
    with mpmath.workdps(30):
        tiny = [sa.epsilon(KRR, n=10**6, delta=d) for d in ("1e-1000", mpmath.mpf("1e-1000"), Decimal("1e-1000"))]
    assert [a.upper for a in tiny] == pytest.approx([tiny[0].upper] * 3, rel=1e-12)


def test_one_n_in_many_types():
    given_ = [1000, "1000", "1e3", 1e3, np.int64(1000), np.uint16(1000), sp.Integer(1000), Fraction(1000)]
    assert {sa.epsilon(SMALL, n=n, delta="1e-6").n for n in given_} == {1000}


@pytest.mark.parametrize("k", [2, 3, 10**3, 10**6, 10**9, 10**12, 10**18])
def test_large_alphabets(k):
    # Boxes of counts, the default for two messages, have no certificate.
    method = "all_data_sets" if k == 2 else None
    answer = sa.epsilon(sa.RandomizedResponse(k=k, eps0=1), n=1000, delta="1e-6", method=method)
    assert_sane(answer)
    assert answer.upper < 0.15


@pytest.mark.parametrize("eps0", ["1e-1000", "1e-300", "1e-30", "1e-10", "1e-3", "3", "10", "30", "50", "100"])
def test_small_and_large_local_budgets(eps0):
    answer = sa.epsilon(sa.RandomizedResponse(k=3, eps0=eps0), n=1000, delta="1e-6")
    assert_sane(answer)
    assert Fraction(answer.upper) <= max(Fraction(eps0) * (1 + Fraction(1, 2**50)), Fraction(5e-324))


@pytest.mark.parametrize("eps0", ["700", "800", "1e6", "1e15", "1e400"])
def test_absurd_local_budgets_are_answered_or_refused(eps0):
    with contextlib.suppress(errors.SymampError):
        answer = sa.epsilon(sa.RandomizedResponse(k=3, eps0=eps0), n=1000, delta="1e-6")
        assert_sane(answer)
        assert Fraction(answer.lower) <= Fraction(eps0)


# --------------------------------------------------------------------------------------------------------- refusals

COIN = {"a": {"0": "2/3", "1": "1/3"}, "b": {"0": "1/3", "1": "2/3"}}
LEAK = {"a": {"0": "1/2", "1": "1/2"}, "b": {"0": "1"}}


def ask(**changes):
    return lambda: sa.epsilon(KRR, **{"n": 10, "delta": "1e-3", **changes})


def ask_delta(**changes):
    return lambda: sa.delta(KRR, **{"n": 10, "eps": "1/2", **changes})


def table(row):
    return lambda: sa.FiniteMechanism({**COIN, "b": row})


REFUSALS = {
    "n = 0": (ask(n=0), errors.ArgumentError, "n", "0", "integer from 1"),
    "n < 0": (ask_delta(n=-3), errors.ArgumentError, "n", "-3", "integer from 1"),
    "n = 3/2": (ask(n=1.5), errors.ArgumentError, "n", "1.5", "integer from 1"),
    "n = nan": (ask(n=math.nan), errors.ArgumentError, "n", "nan", "real number"),
    "n = True": (ask(n=True), errors.ArgumentError, "n", "True", "integer from 1"),
    "n = None": (ask(n=None), errors.ArgumentError, "n", "it is missing", "number of users"),
    "n huge": (ask(n=10**400), errors.ArgumentError, "n", "1000", "integer from 1"),
    "n beyond printing": (ask(n=10**5000), errors.ArgumentError, "n", "", "integer from 1"),
    "delta = 0": (ask(delta=0), errors.ArgumentError, "delta", "0", "(0, 1)"),
    "delta = 1": (ask(delta=1), errors.ArgumentError, "delta", "1", "(0, 1)"),
    "delta < 0": (ask(delta=-1e-9), errors.ArgumentError, "delta", "-1e-09", "(0, 1)"),
    "delta = 2": (ask(delta="2"), errors.ArgumentError, "delta", "2", "(0, 1)"),
    "delta = nan": (ask(delta=math.nan), errors.ArgumentError, "delta", "nan", "finite"),
    "delta = inf": (ask(delta=math.inf), errors.ArgumentError, "delta", "inf", "finite"),
    "delta irrational": (ask(delta=1 / sp.pi), errors.ArgumentError, "delta", "", "number"),
    "delta complex": (ask(delta=1j), errors.ArgumentError, "delta", "1j", "number"),
    "delta a word": (ask(delta="small"), errors.SymampError, "delta", "small", "number"),
    "eps < 0": (ask_delta(eps=-1), errors.ArgumentError, "eps", "-1", ">= 0"),
    "eps = inf": (ask_delta(eps=math.inf), errors.ArgumentError, "eps", "inf", "finite"),
    "eps = nan": (ask_delta(eps=math.nan), errors.ArgumentError, "eps", "nan", "finite"),
    "eps a symbol": (ask_delta(eps=sp.Symbol("x")), errors.ArgumentError, "eps", "x", "number"),
    "eps a word": (ask_delta(eps="inf"), errors.SymampError, "eps", "inf", "number"),
    "gap = 0": (ask(gap=0), errors.ArgumentError, "gap", "0", "from 1e-12 to 0.1"),
    "gap = 1": (ask(gap=1), errors.ArgumentError, "gap", "1", "from 1e-12 to 0.1"),
    "gap = nan": (ask(gap=math.nan), errors.ArgumentError, "gap", "nan", "from 1e-12 to 0.1"),
    "gap a large fraction": (ask(gap="1/5"), errors.ArgumentError, "gap", "1/5", "from 1e-12 to 0.1"),
    "gap a word": (ask(gap="small"), errors.ExpressionError, "gap", "small", "1/3"),
    "gap huge": (ask(gap=10**400), errors.ArgumentError, "gap", "1000", "from 1e-12 to 0.1"),
    "method": (ask(method="magic"), errors.ArgumentError, "method", "magic", ", ".join(BOUNDS)),
    "method = 0": (ask_delta(method=0), errors.ArgumentError, "method", "0", "blanket"),
    "no mechanism": (
        lambda: sa.epsilon("krr", n=10, delta="0.1"), errors.ArgumentError, "mechanism", "str", "a mechanism of symamp",
    ),
    "a free parameter": (
        lambda: sa.epsilon(sa.RandomizedResponse(k=10), n=10, delta="0.1"),
        errors.ArgumentError, "mechanism", "eps0 free", "numbers for all parameters",
    ),
    "k = 1": (lambda: sa.RandomizedResponse(k=1), errors.ArgumentError, "k", "1", "k >= 2"),
    "k = 5/2": (lambda: sa.RandomizedResponse(k=2.5), errors.ArgumentError, "k", "5/2", "integer k >= 2"),
    "eps0 = 0": (lambda: sa.RandomizedResponse(k=2, eps0=0), errors.ArgumentError, "eps0", "0", "eps0 > 0"),
    "eps0 < 0": (lambda: sa.PureLDP(eps0=-1), errors.ArgumentError, "eps0", "-1", "eps0 > 0"),
    "eps0 = inf": (lambda: sa.PureLDP(eps0=math.inf), errors.ArgumentError, "eps0", "inf", "finite"),
    "eps0 = nan": (lambda: sa.PureLDP(eps0=math.nan), errors.ArgumentError, "eps0", "nan", "finite"),
    "unknown parameter": (lambda: sa.RandomizedResponse().at(d=3), errors.ArgumentError, "parameter", "d", "eps0, k"),
    "unknown parameter of a table": (
        lambda: sa.FiniteMechanism(COIN).at(eps0=1), errors.ArgumentError, "parameter", "eps0", "none",
    ),
    "rows": (table({"0": "1/3", "1": "1/3"}), errors.RowSumError, "b", "2/3", "sum to 1"),
    "negative": (
        table({"0": "4/3", "1": "-1/3"}), errors.NegativeProbabilityError, 'table["b"]["1"]', "-1/3", "0",
    ),
    "negative somewhere": (
        table({"0": "eps0", "1": "1 - eps0"}), errors.SymampError, 'table["b"]["1"]', "1 - eps0", "",
    ),
    "nan entry": (table({"0": math.nan, "1": 0}), errors.ArgumentError, 'table["b"]["0"]', "nan", "finite"),
    "text entry": (
        table({"0": "import os", "1": 0}), errors.ExpressionError, 'table["b"]["0"]', "import os", "keyword of Python",
    ),
    "unknown symbol": (
        table({"0": "q", "1": "1 - q"}), errors.ExpressionError, 'table["b"]["0"]', "q", "name",
    ),
    "one input": (
        lambda: sa.FiniteMechanism({"a": {"0": 1}}), errors.FormatError, "table", "1 inputs", "2 to 400 inputs",
    ),
    "one row": (lambda: sa.FiniteMechanism([[1]]), errors.FormatError, "table", "1 inputs", "2 to 400 inputs"),
    "no table": (lambda: sa.FiniteMechanism({1, 2}), errors.FormatError, "table", "set", "mapping"),
    "undecided order": (
        lambda: sa.FiniteMechanism(
            {"a": {"0": "p", "1": "1 - p"}, "b": {"0": "q", "1": "1 - q"}},
            parameters=[sa.Parameter(s, sp.Integer(0), sp.Integer(1)) for s in ("p", "q")],
        ).blanket("a", "b"),
        errors.UndecidedOrderError, "", "p", "",
    ),
    "unknown input": (
        lambda: sa.FiniteMechanism(COIN).blanket("a", "c"), errors.UnknownInputError, "input", "c", "a, b",
    ),
    "equal inputs": (lambda: KRR.blanket("x0", "x0"), errors.UnknownInputError, "pair", "x0", "two different inputs"),
    "support": (
        lambda: sa.epsilon(sa.FiniteMechanism(LEAK), n=10, delta="0.1", method="generic"),
        errors.SupportMismatchError, "method", "generic", "blanket",
    ),
    "no file": (lambda: sa.load_mechanism("no/such/file.json"), errors.FormatError, "path", "file.json", "existing"),
    "no document": (lambda: sa.mechanism_from_json([]), errors.FormatError, "document", "list", "object"),
    "a number system": (
        lambda: KRR.blanket().lambdify("fortran"), errors.ArgumentError, "system", "fortran", "numpy, mpmath, flint",
    ),
    "a parameter's name": (
        lambda: sa.Parameter("not a name"), errors.ArgumentError, "parameter name", "not a name", "identifier",
    ),
}  # fmt: skip


@pytest.mark.parametrize("call, kind, argument, shown, accepted", REFUSALS.values(), ids=REFUSALS)  # noqa: PT006
def test_every_refusal_is_typed_and_says_what_is_accepted(call, kind, argument, shown, accepted):
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert isinstance(error, errors.SymampError)
    assert isinstance(error, ValueError)
    assert argument in error.argument
    assert shown in str(error)
    assert accepted in error.accepted
    assert error.argument
    assert error.accepted
    assert len(str(error)) < 1000


def test_arguments_are_keywords():
    for ask_ in (sa.epsilon, sa.delta):
        with pytest.raises(TypeError, match="positional"):
            ask_(KRR, 10, "1e-3")
    with pytest.raises(TypeError, match="positional"):
        sa.RandomizedResponse(10, 1)


def test_floats_that_do_not_sum_to_one_exactly():
    """0.3 + 0.7 is 1 as a double, but not in the fractions that the doubles are; the refusal says how to write it."""
    with pytest.raises(errors.RowSumError) as caught:
        sa.FiniteMechanism({"a": {"0": 0.3, "1": 0.7}, "b": {"0": 0.7, "1": 0.3}})
    assert "not to 1" in str(caught.value)
    assert "write decimals as text" in caught.value.accepted
    assert sa.FiniteMechanism({"a": {"0": "0.3", "1": "0.7"}, "b": {"0": "0.7", "1": "0.3"}}).local_epsilon()


@pytest.mark.parametrize("other", [sp.Dummy("x", positive=True), sp.Symbol("x", real=True)], ids=["dummy", "real"])
def test_two_symbols_of_one_name_are_not_silently_identified(other):
    """SymPy tells them from Symbol("x", positive=True); a table that holds both must not merge them."""
    first, second = (y**2 / (1 + y**2) for y in (sp.Symbol("x", positive=True), other))
    with pytest.raises(errors.SymampError):
        sa.FiniteMechanism({"a": {"0": first, "1": 1 - first}, "b": {"0": second, "1": 1 - second}})


# ---------------------------------------------------------------------------- what once took the process down with it


FLOATS = {
    "eps": (
        [0.1, 0.9, 0.5, 1e-5, 1e-300],
        "sa.delta(sa.RandomizedResponse(k=10, eps0=1), n=1000, eps=value).upper",
    ),
    "eps0": (
        [0.1, 0.9, 1.1, 3.3, 1e-5],
        "sa.epsilon(sa.RandomizedResponse(k=10, eps0=value), n=1000, delta='1e-7').upper",
    ),
    "an entry": (
        [0.25, 0.3, 1 / 3, 1e-5],
        "sa.epsilon(sa.FiniteMechanism({'a': {'0': value, '1': 1 - sp.Rational(value)},"
        "                               'b': {'0': 1 - sp.Rational(value), '1': value}}), n=1000, delta='1e-7').upper",
    ),
}
HUGE_POWERS = ["x**(10**9)", "(1 + x)**-(10**7)", "x**sp.Rational(1, 10**9 + 7)", "2**(10**8*x)"]


def run_in_a_process(*lines):
    """Run the code in a process of its own, since what is tested may end in an abort of the C library, or never."""
    limit = [
        "import contextlib",
        "with contextlib.suppress(ImportError, ValueError, OSError):",
        "    import resource",
        "    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))",
        "    resource.setrlimit(resource.RLIMIT_CPU, (30, 30))",
    ]
    code = "\n".join([*limit, "import symamp as sa, sympy as sp", *lines])
    try:
        done = subprocess.run(
            [sys.executable, "-u", "-W", "error", "-c", code], capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"took more than 300 seconds; printed before: {late.stdout!r}")
    assert done.returncode == 0, f"exit code {done.returncode}; printed before: {done.stdout}\n{done.stderr[-500:]}"
    return done.stdout


@pytest.mark.parametrize("every", some([False, True], 1))
@pytest.mark.parametrize("argument", FLOATS)
def test_floats_count_as_the_binary_fractions_they_are(argument, every):
    """0.9 is a fraction with denominator 2**53, which must not become an exponent of a polynomial."""
    values, question = FLOATS[argument]
    values = values if every else values[1::2]
    printed = run_in_a_process(
        f"for pair in {[(value, str(value)) for value in values]!r}:",
        f"    print(pair[1], *({question} for value in pair))",
    )
    for line in printed.splitlines():
        value, binary, decimal = line.split()
        assert float(binary) == pytest.approx(float(decimal), rel=1e-5), value


def test_huge_exponents_in_sympy_entries():
    run_in_a_process(
        "x = sp.Symbol('x', positive=True)",
        f"for power in {HUGE_POWERS!r}:",
        "    print(power)",
        "    p = 1/(2 + eval(power))",
        "    with contextlib.suppress(sa.errors.SymampError):",
        "        sa.FiniteMechanism({'a': {'0': p, '1': 1 - p}, 'b': {'0': 1 - p, '1': p}}).blanket('a', 'b').gamma",
    )


@pytest.mark.parametrize(
    "raised", [KeyboardInterrupt, ImportError("half of it is there"), ModuleNotFoundError(name="x")]
)
def test_only_a_package_that_is_missing_is_said_to_be_missing(monkeypatch, raised):
    def fails(name):
        raise raised

    monkeypatch.setattr("symamp.numbers.optional.import_module", fails)
    with pytest.raises(raised if isinstance(raised, type) else type(raised)) as told:
        optional("package.part", "symamp[part]")
    assert "not installed" not in str(told.value)


def test_a_package_of_which_all_or_a_part_is_missing_is_said_to_be_missing():
    for name in ("no_such_package.part", "json.no_such_part"):
        with pytest.raises(ImportError, match="not installed"):
            optional(name, "symamp[part]")


INTERRUPTED = dict.fromkeys(("symamp.errors", "flint", "sympy"), "symamp.PureLDP(eps0=1)") | {
    "scipy.optimize": "symamp.profile(symamp.RandomizedResponse(k=2, eps0=1), n=10).rounds(2).renyi_epsilon('1e-3')",
    "matplotlib.pyplot": "symamp.curve(symamp.RandomizedResponse(k=2, eps0=1), n=10, eps=[0, 1]).plot()",
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interruption_while_a_package_is_loaded_comes_through(name):
    code = f"""
import sys
class Interrupting:
    @staticmethod
    def find_spec(found, path=None, target=None):
        if found == {name!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting)
try:
    import symamp
    {INTERRUPTED[name]}
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "interrupted\n"


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
@pytest.mark.parametrize("away", [10, 15])
def test_next_to_delta_1_epsilon_is_that_of_what_is_left(n, away):
    """{1 - q, q} against {q, 1 - q}: 1 - q - E q = 1 - 10^-away at n = 1, and others who never send it hide nothing."""
    q = Fraction(1, 10**20)
    table = sa.FiniteMechanism([[q, 1 - q], [1 - q, q]])
    answer = sa.epsilon(table, n=n, delta=1 - Fraction(1, 10**away))
    exact = math.log(10 ** (20 - away) - 1)
    assert answer.upper <= exact * (1 + 1e-6)
    if n == 1:
        assert exact * (1 - 1e-6) <= answer.lower <= exact * (1 + 1e-12)
        assert answer.upper >= exact * (1 - 1e-12)


def test_sums_of_binomial_tails_end_where_a_share_is_far_below_the_precision(monkeypatch):
    """The smaller of two shares is 3e-38: 1 less the other is a ball around 0, beside which nothing is small."""
    steps, whole = [], binomial_tails._geometric_sum

    def counted(first, ratio, last):
        return whole(first, lambda i: steps.append(i) or ratio(i), last)

    monkeypatch.setattr(binomial_tails, "_geometric_sum", counted)
    tiny = Fraction(1, 10**32), Fraction(3, 10**38)
    rows = [[*tiny, 1 - sum(tiny)], [1 - Fraction(8, 10**37), Fraction(7, 10**37), Fraction(1, 10**37)]]
    answer = sa.epsilon(sa.FiniteMechanism(rows), n=10**6, delta=1 - Fraction(1, 10**10), method="envelope")
    assert answer.lower <= answer.upper < math.inf
    assert len(steps) < 10_000
