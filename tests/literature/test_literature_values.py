"""Values of the bounds in the literature, each with where it comes from; and that sound bounds stay above the truth.

Values marked "exact" were computed in exact fractions or in mpmath by code that shares nothing with the package; those
marked "formula" by evaluating the formula by hand in mpmath; those marked "print" stand in a paper.
"""

import csv
import json
import math
from fractions import Fraction
from importlib.util import find_spec
from math import ceil, exp, expm1, log, sqrt
from random import Random

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpq
from published.table_three import cheu_zhilyaev
from scipy.special import gammaln

import symamp as sa
from symamp.errors import ArgumentError
from symamp.literature.closed_form import Setting
from symamp.literature.compare import CLOSED_FORMS
from symamp.literature.forms.blanket_tails import Moments, bennett, hoeffding, moments_of
from symamp.literature.forms.normal import gaussian_delta
from symamp.literature.forms.renyi_divergences import shuffled_order
from symamp.literature.forms.variation_ratio_forms import _Pair
from tests.oracle.laws import merged, positive_part, sums
from tests.sampled import some


def krr(k, eps0):
    return sa.RandomizedResponse(k=k, eps0=eps0)


def pure(eps0):
    return sa.PureLDP(eps0=eps0)


def eps(name, subject, n, delta):
    return CLOSED_FORMS[name].epsilon_at(subject, n, fmpq(*Fraction(delta).as_integer_ratio()))


def delta(name, subject, n, level):
    return CLOSED_FORMS[name].delta_at(subject, n, sp.Rational(level))


@pytest.mark.parametrize(
    ("name", "subject", "n", "d", "value"),
    [
        ("efmrtt_2019", pure("0.4"), 10**4, "1e-6", 0.178412265065),
        ("csuzz_2019", krr(2, 1), 10**4, "1e-6", 0.156719244694),
        ("fmt_2022", pure(1), 10**4, "1e-6", 0.214025651931),
        ("fmt_2022_code", pure(1), 10**4, "1e-6", 0.233265596124),
        ("fmt_2023", pure(1), 10**4, "1e-6", 0.180006367731),
        ("wang_4_7", pure(1), 10**4, "1e-6", 0.0715477048362),
        ("wang_4_8", pure(1), 10**4, "1e-6", 0.180014576364),
        ("wang_4_7", krr(100, 1), 10**4, "1e-12", 0.0109137335),
        ("gspa", pure("0.1"), 10**4, "1e-6", 0.072942131),
        ("gspa", pure(1), 10**4, "1e-6", 0.09893815),
        ("gspa", pure(4), 10**4, "1e-6", 0.42004985),
        ("gspa", pure(3), 10**3, "1e-12", 1.3616015),
        ("gspa", pure(4), 10**3, "1e-6", 1.4493771),
        ("gspa", pure(5), 10**3, "1e-2", 1.0361931),
        ("gspa", pure(5), 10**4, "1e-6", 0.71323032),
        ("gspa", pure(6), 10**4, "1e-12", 1.9091929),
        ("gspa", pure(6), 10**5, "1e-6", 0.35431758),
    ],
)
def test_values_of_eps(name, subject, n, d, value):
    """Formula: each written out by hand in double precision."""
    found = eps(name, subject, n, d)
    assert found.value == pytest.approx(value, rel=2e-7)
    assert all(c.met for c in found.conditions)


@pytest.mark.parametrize(
    ("name", "subject", "level", "value"),
    [
        ("hoeffding_bbgn", pure(1), "1/5", 1.52534480e-08),
        ("bennett_bbgn", pure(1), "1/5", 1.55051897e-08),
        ("hoeffding", krr(2, 1), "1/10", 3.90162235e-17),
        ("bennett", krr(2, 1), "1/10", 1.51961516e-16),
        ("hoeffding", krr(10, 1), "1/20", 3.62922285e-05),
        ("bennett", krr(10, 1), "1/20", 7.59623907e-14),
        ("hoeffding_generic", krr(10, 1), "1/10", 3.90162235e-17),
    ],
)
def test_values_of_delta(name, subject, level, value):
    """Formula, n = 10^4."""
    assert delta(name, subject, 10**4, level).value == pytest.approx(value, rel=1e-8)


def test_moments_of_randomized_response_are_those_of_the_paper():
    """Formula: the closed parameters of Balle, Bell, Gascón, Nissim for k-ary response."""
    k, t, e = 10, math.e, 1.25
    gamma = k / (t + k - 1)
    (law,) = Setting(krr(k, 1), 1).laws
    found = moments_of(law, arb(e))
    assert float(found.gamma) == pytest.approx(gamma)
    assert float(found.range) == pytest.approx((1 - gamma) * k * (e + 1))
    assert float(found.largest) == pytest.approx(gamma * (1 - e) + (1 - gamma) * k)
    square = gamma * (2 - gamma) * (e - 1) ** 2 + (1 - gamma) ** 2 * k * (e * e + 1)
    assert float(found.square) == pytest.approx(square)


@pytest.mark.parametrize("inequality", [hoeffding, bennett])
@pytest.mark.parametrize(
    ("k", "t", "n", "e"), some([(2, 2, 3, "3/2"), (3, 3, 5, "2"), (4, 6, 4, "11/2"), (2, 3, 40, "11/10")], 2)
)
def test_the_inequalities_are_above_the_exact_sum(inequality, k, t, n, e):
    """Exact: E[S_+]/n of the blanket, enumerated in fractions."""
    level, mass = Fraction(e), Fraction(1, t + k - 1)
    atoms = [(t - level, mass), (1 - t * level, mass), (1 - level, (k - 2) * mass), (Fraction(0), 1 - k * mass)]
    exact = positive_part(sums([merged(atoms)] * n)) / n
    (triple,) = Setting(krr(k, f"log({t})"), 1).laws
    ball = arb(fmpq(level.numerator, level.denominator))
    assert inequality(moments_of(triple, ball), n, ball.log()) >= arb(fmpq(exact.numerator, exact.denominator))


def test_renyi_value():
    """Formula: gamma functions in mpmath."""
    t, n, order = mpmath.e, 1000, 8
    clones = mpmath.floor((n - 1) / (2 * t)) + 1
    total = 1 + mpmath.binomial(order, 2) * (t - 1) ** 2 / (clones * t) + mpmath.exp(order - (n - 1) / (8 * t))
    for j in range(3, order + 1):
        step = mpmath.sqrt(2 * (t * t - 1) ** 2 / (clones * t * t))
        total += mpmath.binomial(order, j) * j * mpmath.gamma(mpmath.mpf(j) / 2) * step**j
    found = shuffled_order(Setting(pure(1), n), order)
    assert float(found) == pytest.approx(float(mpmath.log(total) / (order - 1)), rel=1e-12)
    assert float(found) == pytest.approx(0.223425683609, rel=1e-11)


def test_gaussian_delta_by_quadrature():
    """Exact: the integral of the positive part of the difference of two normal densities."""
    mu, level = mpmath.mpf("0.3"), mpmath.mpf("0.2")
    edge = level / mu + mu / 2
    value = mpmath.quad(lambda x: mpmath.npdf(x, mu) - mpmath.exp(level) * mpmath.npdf(x), [edge, edge + 3, mpmath.inf])
    assert float(gaussian_delta(arb("0.3"), arb("0.2"))) == pytest.approx(float(value), rel=1e-10)


def test_the_normal_approximation_by_hand():
    """Formula: RAPPOR, whose blanket has a component with equal ratios; and the value for 2-RR, n = 10^4."""
    t, n = math.exp(3), 100
    p = 1 / (t + 1) ** 2
    square = 2 * p * (t * t - 1) ** 2
    found = eps("shuffle_index", sa.UnaryEncoding.rappor(D=16, eps0=6), n, "1e-4").value
    mu = math.sqrt(square / n)
    x = found / mu
    value = mu * (math.exp(-x * x / 2) / math.sqrt(2 * math.pi) - x * math.erfc(x / math.sqrt(2)) / 2)
    assert value == pytest.approx(1e-4, rel=1e-6)
    assert eps("shuffle_index", pure(1), 10**4, "1e-6").value == pytest.approx(0.04313144700, rel=1e-8)


# ------------------------------------------------------------------------------------------------ 002, Theorem 4.7


def test_the_printed_theorem_is_refuted_although_its_conditions_hold():
    table = sa.compare(
        krr(100, 1), n=10**4, delta="1e-12", names=["wang_4_7", "wang_4_7_corrected", "wang_4_7_generic"]
    )
    printed = table["wang_4_7"]
    assert printed.refuted_here
    assert printed.applies
    assert printed.verdict == "refuted at this point"
    assert table.truth.lower == pytest.approx(0.01415791087, rel=1e-8)
    assert not table["wang_4_7_corrected"].applies
    assert not table["wang_4_7_corrected"].refuted_here
    assert table["wang_4_7_generic"].value > table.truth.upper


@pytest.mark.parametrize(("eps0", "n", "d"), [(4, 1000, "1e-3"), (6, 10**4, "1e-3"), (6, 10**4, "1e-6")])
def test_the_printed_theorem_has_no_value_although_its_conditions_hold(eps0, n, d):
    found = eps("wang_4_7", pure(eps0), n, d)
    assert found.value is None
    assert all(c.met for c in found.conditions)


# ------------------------------------------------------------------------------------------- values of numerical bounds


@pytest.mark.parametrize(
    ("method", "subject", "value"),
    [
        ("standard_clone", pure(1), 0.05300531814),
        ("generic", pure(1), 0.04320615945),
        ("blanket", krr(10, 1), 0.02325330590),
    ],
)
def test_numerical_bounds(method, subject, value):
    """Formula: an independent implementation in floats; the four-point bound of k-RR is its blanket. n = 10^4, 1e-6."""
    answer = sa.epsilon(subject, n=10**4, delta="1e-6", method=method)
    assert answer.upper == pytest.approx(value, rel=1e-7)


def test_the_data_set_of_krr():
    """Formula: (x0, x2, ...) against (x1, x2, ...), 10-RR, n = 10^4, 1e-6."""
    answer = sa.epsilon(krr(10, 1), n=10**4, delta="1e-6")
    assert answer.lower == pytest.approx(0.02325257762, rel=2e-7)


@pytest.mark.parametrize(
    ("k", "level", "lower", "upper"),
    [(2, "1/10", 9.312933568e-24, 1.763570726e-18), (10, "1/20", 8.941615814e-16, 9.004986609e-16)],
)
def test_certified_deltas(k, level, lower, upper):
    """Formula: brackets by the blanket and its data sets; other bounds may lie lower, not below the first end."""
    answer = sa.delta(krr(k, 1), n=10**4, eps=level, method="blanket")
    assert answer.upper == pytest.approx(upper, rel=1e-6)
    assert lower * (1 - 1e-6) <= answer.lower <= upper


def test_tails_for_laplace_noise_by_their_moments():
    """Formula: the four numbers of Laplace noise at E = e^0.1, eps0 = 1, n = 10^4; checked there by quadrature."""
    t, h, e = math.e, math.exp(0.5), math.exp(0.1)
    square = (e * e + 1) * (2 * h + 1 / t) / 3 - 2 * e * (2 / h - 1 / t)
    found = Moments(arb(1 / h), arb((e + 1) * (h - 1 / h)), arb(h * (1 - e / t)), arb(square))
    assert float(hoeffding(found, 10**4, arb("0.1"))) == pytest.approx(1.51678705e-15, rel=1e-6)
    assert float(bennett(found, 10**4, arb("0.1"))) == pytest.approx(4.03023145e-20, rel=1e-6)


@pytest.mark.parametrize(
    ("eps0", "n", "d", "gaussian", "lower", "upper"),
    [
        ("0.1", 10**4, "1e-6", 0.072942131, 0.002722113, 0.0027940292),
        (1, 10**4, "1e-6", 0.09893815, 0.037998054, 0.043206159),
        (4, 10**4, "1e-6", 0.42004985, 0.40662981, 0.41081231),
        (3, 10**3, "1e-12", 1.3616015, 1.393529, 1.4682697),
        (4, 10**3, "1e-6", 1.4493771, 1.7968832, 1.8529066),
        (5, 10**3, "1e-2", 1.0361931, 1.2138218, 1.2248331),
        (5, 10**4, "1e-6", 0.71323032, 0.73882469, 0.74213231),
        (6, 10**5, "1e-6", 0.35431758, 0.35652967, 0.3570263),
    ],
)
def test_the_gaussian_approximation_beside_the_generic_bound(eps0, n, d, gaussian, lower, upper):
    """Formula: equal budgets; brackets by the generic bound and data sets of k-ary responses."""
    answer = sa.epsilon(pure(eps0), n=n, delta=d, method="generic")
    assert answer.upper == pytest.approx(upper, rel=1e-6)
    assert lower * (1 - 1e-6) <= answer.lower
    assert (gaussian < lower) == (gaussian < answer.lower)


RENYI = {
    "0.5": (3.177931103e-4, 6.355860451e-4, 1.271170547e-3, 2.542328183e-3, 5.084550827e-3),
    "1": (1.588726907e-3, 3.17746238e-3, 6.355000134e-3, 1.271063069e-2, 2.542641496e-2),
    "2": (9.755929569e-3, 1.95151894e-2, 3.905976789e-2, 7.836831436e-2, 0.158878238),
}


@pytest.mark.parametrize("eps0", RENYI)
def test_renyi_divergences_of_the_generic_pair(eps0):
    """Formula: sums over the binomial number of clones, n = 1000, without terms of first order."""
    t, n = math.exp(float(eps0)), 1000
    shared = 2 / (t + 1)
    orders, totals = (2, 4, 8, 16, 32), [0.0] * 5
    middle, spread = (n - 1) * shared, math.sqrt((n - 1) * shared * (1 - shared))
    for c in range(max(0, int(middle - 9 * spread)), min(n - 1, int(middle + 9 * spread)) + 1):
        share = gammaln(n) - gammaln(c + 1) - gammaln(n - c) + c * math.log(shared / 2)
        share += (n - 1 - c) * math.log1p(-shared) if c < n - 1 else 0.0
        a = np.arange(c + 2.0)
        ways = np.exp(share + gammaln(c + 2) - gammaln(a + 1) - gammaln(c - a + 2)) / (c + 1)
        p, q = (t * a + c + 1 - a) / (t + 1), (a + t * (c + 1 - a)) / (t + 1)
        x = (p - q) / q
        for i, order in enumerate(orders):
            totals[i] += float((ways * q * (np.expm1(order * np.log1p(x)) - order * x)).sum())
    found = [math.log1p(total) / (order - 1) for total, order in zip(totals, orders, strict=True)]
    assert found == pytest.approx(RENYI[eps0], rel=1e-8)


@pytest.mark.slow
def test_renyi_divergences_by_the_package():
    """The certified curve of the generic bound encloses the exact values."""
    curve = sa.profile(pure(1), n=1000, method="generic").renyi([2, 8], gap=1e-2)
    for i, value in enumerate((RENYI["1"][0], RENYI["1"][2])):
        assert value * (1 - 1e-8) <= curve.upper[i] <= 1.02 * value


def test_the_mean_of_gspa():
    """Formula: mu for 10^4 users of budget 1."""
    t = math.e
    mu = math.sqrt(2 * (t + 1) / (10**4 - 1))
    assert mu == pytest.approx(0.0272714271494, rel=1e-11)
    found = eps("gspa", pure(1), 10**4, "1e-6").value
    assert float(gaussian_delta(arb(mu), arb(found))) == pytest.approx(1e-6, rel=1e-6)


def test_fixed_numbers_of_inputs():
    """Formula and exact: 2-RR, n = 1000, half of the others at each input, eps two deviations: slightly below truth."""
    t, n = math.e, 1000
    mu = math.sqrt((t - 1) ** 2 / (t * n))
    asked = sp.Rational(*(2 * mu).as_integer_ratio())
    assert CLOSED_FORMS["fixed_composition"].delta_at(krr(2, 1), n, asked).value == pytest.approx(
        2.7982775e-4, rel=1e-6
    )
    up, e = t / (t + 1), math.exp(2 * mu)
    found = []
    for first in (499, 500):
        law = np.convolve(
            *[
                [math.comb(m, i) * x**i * (1 - x) ** (m - i) for i in range(m + 1)]
                for m, x in ((first, up), (999 - first, 1 - up))
            ]
        )
        shifted, stays = np.append(0.0, law), np.append(law, 0.0)
        p, q = up * shifted + (1 - up) * stays, (1 - up) * shifted + up * stays
        found += [np.maximum(p - e * q, 0.0).sum(), np.maximum(q - e * p, 0.0).sum()]
    assert max(found) == pytest.approx(2.8814428e-4, rel=2e-3)


@pytest.mark.parametrize(("k", "eps0", "d"), [(3, 4, "1/2"), (10, 3, "1/10"), (100, 8, "1e-6"), (10**4, 6, "1e-12")])
def test_theorem_4_8_at_the_edge_of_its_condition(k, eps0, d):
    """With the fewest users that it allows, Theorem A at the printed eps is below delta/10, as the proof says."""
    t = exp(eps0)
    n = ceil(8 * log(2 / Fraction(d)) * (t + k - 1))
    found = eps("wang_4_8", krr(k, eps0), n, d)
    assert all(c.met for c in found.conditions)
    assert found.value < eps0
    assert sa.delta(krr(k, eps0), n=n, eps=found.value, method="variation_ratio").upper < 0.1 * float(Fraction(d))


def test_the_exponent_of_theorem_4_8():
    """The bound on the exponent in its proof, for random a = p alpha, v = 1/p and y, with E <= p."""
    random = Random(48)
    for _ in range(5000):
        y, v = random.uniform(0, sqrt(8)), random.random() ** 2
        a, phi = random.random() / (1 + v), y / 16
        if a * y * v <= 1:
            rest = (1 / a - 1 - v) * expm1(-phi * a * y)
            f = expm1(phi * (1 - a * y * v)) + expm1(-phi * (1 + a * y)) + rest
            assert f <= -(y**2) / 32 * (1 - 1e-12)


def test_theorem_4_7_for_a_multi_message_protocol():
    """Formula: Cheu and Zhilyaev, f = 2/5, 29 blanket messages, delta = 1e-4: the claim, and the truth."""
    pair = _Pair(30, arb(9) / 4, arb(1) / 5, arb(3) / 2)
    claimed = float(pair.excess(pair.clones(arb("1e-4")), arb("1e-4")).log1p())
    assert claimed == pytest.approx(0.20376007, rel=1e-6)
    truth = sa.delta(cheu_zhilyaev("2/5").triple, n=30, eps="log(123/100)")
    assert truth.lower == pytest.approx(0.00109377476, rel=1e-5)
    assert math.log(1.23) > claimed
    assert truth.lower > 10 * 1e-4
    many = _Pair(100, arb(9) / 4, arb(1) / 5, arb(3) / 2)
    values = [float(many.excess(many.clones(arb(d)), arb(d)).log1p()) for d in ("1e-9", "1e-12")]
    assert values == pytest.approx([0.2336, 0.2208], abs=1e-4)


def test_theorem_4_7_where_it_is_worst():
    table = sa.compare(krr(100, 4), n=10**4, delta="1e-12", names=["wang_4_7"])
    assert table["wang_4_7"].value == pytest.approx(0.2883, abs=1e-4)
    assert table["wang_4_7"].refuted_here
    assert table.truth.lower >= 0.38595311 * (1 - 1e-6)
    at = sa.delta(krr(100, 1), n=10**4, eps="0.0109137335", method="blanket")
    assert 1.564888627e-09 * (1 - 1e-6) <= at.lower <= at.upper <= 1.564888824e-09 * (1 + 1e-6)


# ------------------------------------------------------------------------------------------ 002, Table 4; the grid

TABLE_4 = {
    ("0.1", 10**4): (0.00280, 0.00279402924),
    ("0.1", 10**6): (0.000346, 0.0003454063792),
    ("0.1", 10**8): (0.0000404, 4.02787668e-05),
    ("1", 10**4): (0.0433, 0.04320615944),
    ("1", 10**6): (0.00503, 0.005011620976),
    ("1", 10**8): (0.000566, 0.0005636439169),
    ("3", 10**4): (0.227, 0.2260789867),
    ("3", 10**6): (0.0255, 0.02537236272),
    ("3", 10**8): (0.00283, 0.002809750783),
    ("5", 10**4): (0.743, 0.7421323064),
    ("5", 10**6): (0.0778, 0.07751524249),
    ("5", 10**8): (0.00853, 0.008499601389),
}


@pytest.mark.parametrize(("eps0", "n"), TABLE_4)
def test_table_4_of_002(eps0, n):
    """Print: the column of 20 iterations lies above the certified bound, by less than 1 per cent."""
    printed, certified = TABLE_4[eps0, n]
    answer = sa.epsilon(pure(eps0), n=n, delta=Fraction(1, 100 * n), method="generic")
    assert answer.upper == pytest.approx(certified, rel=1e-6)
    assert answer.upper < printed < 1.01 * answer.upper


GRID = [
    (subject, n, d)
    for subject in (krr(10, 1), krr(2, 4), krr(3, "0.1"), pure(2))
    for n, d in ((200, "1e-2"), (10**4, "1e-6"), (10**7, "1e-12"))
]


@pytest.mark.parametrize(("subject", "n", "d"), some(GRID, 1), ids=str)
def test_sound_bounds_are_never_below_the_truth(subject, n, d):
    table = sa.compare(subject, n=n, delta=d)
    for row in table.rows:
        if row.proof_status in ("proved", "proved for a class") and row.value is not None:
            assert not row.refuted_here, row
            assert row.ratio is None or not row.applies or row.ratio > 0.999
    assert {"blanket", "fmt_2023", "gspa"} - {row.name for row in table.rows} <= {"blanket"}


@pytest.mark.parametrize("level", ["0.2", "0.01"])
def test_both_directions_agree(level):
    """The delta at which a formula gives eps, put back, gives at most eps and nearly it."""
    subject, n = krr(10, 1), 10**4
    for form in CLOSED_FORMS.values():
        if form.unsupported_reason(subject) is None and form.epsilon is not None and form.delta is None:
            found = form.delta_at(subject, n, sp.Rational(level)).value
            if found is not None and found > 1e-300:
                back = form.epsilon_at(subject, n, fmpq(*found.as_integer_ratio())).value
                assert back <= float(level) * (1 + 1e-9), form.name
                # As printed, Theorem 4.7 of 002 jumps where its first condition fails, and does not fall with delta.
                assert form.name == "wang_4_7" or back > 0.5 * float(level), form.name


def test_what_is_refused():
    for given in ({}, {"delta": "1e-6", "eps": 1}):
        with pytest.raises(ArgumentError, match="exactly one"):
            sa.compare(pure(1), n=10, **given)
    with pytest.raises(ArgumentError, match="names"):
        sa.compare(pure(1), n=10, delta="1e-6", names=["nothing"])
    with pytest.raises(ArgumentError, match="0 values"):
        sa.compare(pure(1), n=[], delta="1e-6")


def test_private_at_zero_and_the_grid():
    table = sa.compare(krr(2, "0.1"), n=10**6, delta="1e-2", names=["generic", "fmt_2023"])
    assert table.truth.upper == 0.0
    assert [point.rows for point in table] == [table.rows]
    assert str(table.truth) in table._repr_html_()
    assert all(row.ratio is None and row.note == "private at eps = 0" for row in table.rows)
    grid = sa.compare(krr(100, 1), n=10**4, delta=["1e-6", "1e-12"], names=["wang_4_7", "blanket"])
    pytest.importorskip("pandas")
    frame = grid.to_pandas()
    assert {"name", "value", "ratio", "proof_status", "conditions", "refuted_here", "source"} <= set(frame.columns)
    assert list(frame[frame.name == "wang_4_7"].refuted_here) == [False, True]


def test_the_chart():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    grid = sa.compare(krr(10, 1), n=[10**3, 10**4], delta="1e-6", names=["blanket", "gspa"])
    assert grid._repr_html_().count("<tr>") == 1 + len(grid.rows)
    axes = grid.plot()
    assert axes.get_xlabel() == "n"
    assert axes.get_ylabel() == "epsilon"
    plt.close(axes.figure)


def test_grids_on_the_command_line(capsys, monkeypatch, tmp_path):
    from symamp.command_line.cli import main

    monkeypatch.chdir(tmp_path)
    words = "symamp compare krr --k 100 --eps0 1,2 --n 1e4 --delta 1e-6,1e-12 --names blanket,wang_4_7 --csv out.csv"
    words += " --json" + (" --plot out.svg" if find_spec("matplotlib") else "")
    monkeypatch.setattr("sys.argv", words.split())
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    points = json.loads(capsys.readouterr().out)
    with open("out.csv", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line for line in lines if line["subject"].endswith("eps0=1)")] == lines[:4]
    asked = [(point["rows"][0]["subject"][-2], point["truth"]["delta"]) for point in points]
    assert asked == [("1", "1e-6"), ("1", "1e-12"), ("2", "1e-6"), ("2", "1e-12")]
    found = [[row["refuted_here"] for row in point["rows"] if row["name"] == "wang_4_7"] for point in points]
    assert found[:2] == [[False], [True]]
    assert [line["refuted_here"] == "True" for line in lines if line["name"] == "wang_4_7"] == [x for (x,) in found]
    assert (tmp_path / "out.svg").exists() == ("--plot" in words)


def test_a_grid_of_budgets_is_that_of_the_members():
    grid = sa.compare(sa.RandomizedResponse(k=10), eps0=["1/2", 1], n=10**4, delta="1e-6", names=["blanket"])
    assert grid.eps0 == ("1/2", "1")
    with pytest.raises(ArgumentError, match="2 questions"):
        print(grid.truth)
    for point, budget in zip(grid, ("1/2", 1), strict=True):
        alone = sa.compare(krr(10, budget), n=10**4, delta="1e-6", names=["blanket"])
        assert point.rows == alone.rows
    with pytest.raises(ArgumentError, match="free"):
        sa.compare(krr(10, 1), eps0=[1, 2], n=10**4, delta="1e-6")
    with pytest.raises(ArgumentError, match="at most"):
        sa.compare(krr(10, 1), n=range(1, 10**6), delta="1e-6")


def test_the_command(capsys, monkeypatch):
    from symamp.command_line.cli import main

    words = ["symamp", "compare", "krr", "--k", "100", "--eps0", "1", "--n", "1e4", "--delta", "1e-12"]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [x for x in lines if x.startswith("wang_4_7 ")]
    assert "refuted at this point" in line


def test_a_bound_that_rises_again_has_a_value():
    """Hoeffding's inequality for 2-RR grows with eps far above the place where it reaches delta."""
    table = sa.compare(sa.RandomizedResponse(k=2, eps0=6), n=10**4, delta="1e-2", names=("hoeffding",))
    (row,) = (row for row in table.rows if row.name == "hoeffding")
    assert row.value == pytest.approx(0.7181600673, rel=1e-9)
