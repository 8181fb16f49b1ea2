"""Normal forms, proved orders, ball values."""

import time
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from symamp.errors import ArgumentError, ExpressionError, UndecidedOrderError
from symamp.formulas.normal_form import normal
from symamp.formulas.order import compare, constant_sign, is_zero, maximum, minimum, sign, strictly_positive
from symamp.formulas.parameter import EPS0, Parameter
from symamp.numbers.systems import FLINT, MPMATH, NUMPY, arb_value, compile_expression

R = sp.Rational
K = Parameter("k", sp.Integer(2), integer=True)
D = Parameter("D", sp.Integer(2), integer=True)
Q = Parameter("q", sp.Integer(0), sp.Integer(1))
P = Parameter("p", Q.symbol, sp.Integer(1))
e, k, d, q, p = (x.symbol for x in (EPS0, K, D, Q, P))
t, s = sp.exp(e), sp.exp(e / 2)
ALL = (EPS0, K, D, Q, P)

EQUAL = [
    (1 - (k - 1) / (t + k - 1), t / (t + k - 1)),
    (sp.exp(e + sp.log(3)), 3 * t),
    (sp.exp(e / 2) ** 2 - 1, (s - 1) * (s + 1)),
    (2 ** (d - 1), 2**d / 2),
    (4**d - 1, (2**d - 1) * (2**d + 1)),
    (6**d / 2**d, 3**d),
    (R(2, 3) ** d * 3**d, 2**d),
    (sp.exp(d * sp.log(6)), 2**d * 3**d),
    ((s + 1) ** (-d) * (s + 1) ** 3, (s + 1) ** (3 - d)),
    ((2 * s + 2) ** d, 2**d * (s + 1) ** d),
    ((p / (1 - p)) ** d, p**d * (1 - p) ** (-d)),
    ((p * q) ** d / q**d, p**d),
    (1 / (1 + sp.sqrt(2)), sp.sqrt(2) - 1),
    (1 / (1 + sp.sqrt(2) + sp.sqrt(3)), (2 + sp.sqrt(2) - sp.sqrt(6)) / 4),
    (1 / (1 + 2 ** R(1, 3)), (1 - 2 ** R(1, 3) + 2 ** R(2, 3)) / 3),
    ((p + sp.sqrt(p)) / sp.sqrt(p), 1 + sp.sqrt(p)),
    (sp.sqrt(4 * t + 4), 2 * sp.sqrt(t + 1)),
    (sp.log(12), 2 * sp.log(2) + sp.log(3)),
    (sp.log(R(3, 4)), sp.log(3) - 2 * sp.log(2)),
    (sp.exp(sp.log(3)), sp.Integer(3)),
    (sp.exp(1) ** R(1, 3), sp.exp(R(1, 3))),
    (sp.binomial(d - 1, k - 1) / sp.binomial(d, k), k / d),
    (sp.binomial(d + 2, k), sp.binomial(d, k) * (d + 1) * (d + 2) / (d + 1 - k) / (d + 2 - k)),
    (sp.binomial(d, 2), d * (d - 1) / 2),
    (sp.binomial(10, k - 1), sp.binomial(10, k) * k / (11 - k)),
    (sp.exp(e * (k + 1)), sp.exp(e * k) * t),
]


@pytest.mark.parametrize(("a", "b"), EQUAL, ids=str)
def test_equal_functions_have_identical_forms(a, b):
    assert normal(a) == normal(b)
    assert hash(normal(a)) == hash(normal(b))
    assert normal(normal(a)) == normal(a)
    assert is_zero(a - b)
    assert compare(a, b, ALL) == 0


def test_forms_display_well():
    assert str(normal(1 - (k - 1) / (t + k - 1))) == "exp(eps0)/(k + exp(eps0) - 1)"
    assert str(normal(s / (1 + s) ** 2)) == "exp(eps0/2)/(exp(eps0/2) + 1)**2"
    assert str(normal((1 - p) / (1 + p))) == "(1 - p)/(p + 1)"
    assert str(normal(sp.exp(1) / (sp.exp(1) + 9))) == "E/(E + 9)"


@pytest.mark.parametrize(
    "bad",
    [sp.Float(0.5), sp.Float(1.5) * e, sp.Abs(p), sp.sin(1), sp.I, (-2) ** d, sp.floor(e), sp.Max(p, q), sp.oo, sp.nan],
    ids=str,
)
def test_unsupported_expressions_are_refused(bad):
    with pytest.raises(ExpressionError):
        normal(bad)


@pytest.mark.parametrize("bad", [1 / (t * t - sp.exp(2 * e) + sp.sin(0)), 1 / ((1 + t) ** 2 - 1 - 2 * t - t**2)])
def test_hidden_division_by_zero_is_refused(bad):
    with pytest.raises(ExpressionError):
        normal(bad)


def test_exponents_that_are_exact_doubles():
    a = R(0.9)
    half, whole = sp.exp(a / 2), sp.exp(a)
    assert normal((half - 1) / (whole - 1)) == normal(1 / (half + 1))
    assert is_zero(half / (1 + half) + 1 / (1 + half) - 1)
    assert sign(half / (1 + half) - sp.exp(R(1, 3))) == -1  # no common unit of degree 10**15
    assert sign(sp.exp(R(0.1)) + sp.exp(R(0.7)) - 3) == 1


def test_a_power_too_large_to_expand_is_refused():
    with pytest.raises(ExpressionError, match="terms"):
        normal((1 + t + k) ** 10**6)
    assert normal(t**10**6) == sp.exp(10**6 * e)


POSITIVE = [
    t / (t + k - 1) - 1 / (t + k - 1),
    s / (1 + s) - R(1, 2),
    1 / (2 * (t + 1)) - 1 / (2 ** (d - 1) * (t + 1)),  # BLH
    (1 / s) / (s + 1) ** 2 - (1 / s) / (s + 1) ** d,  # RAPPOR
    (1 / (2 * (t + 1)) - 1 / (2 * (t + 1) ** (d - 1))) / t,  # OUE
    p - q,
    p / q - (1 - p) / (1 - q),
    p * (1 - q) / (q * (1 - p)) - 1,
    p**2 - p * q + q**2,
    sp.E * p - q,
    k - 2,
    (k - 2) * (k - 3),
    (k - 4) ** 2 * (p - q),
    2**d + d - 6,
    2 ** (-d) * 4 - 3 * R(4, 3) * 4 ** (-d),
    (1 - p) ** 2 - (1 - p) ** d,
    sp.exp(d * e) - 1,
    1 - sp.exp(-e * d),
    sp.log(t + 1),
    sp.log(3) * t - 1,
    e,
    sp.sqrt(p) - sp.sqrt(q),
    sp.sqrt(p - q),
    sp.binomial(k, 2) - 1,
]


@pytest.mark.parametrize("expr", POSITIVE, ids=str)
def test_proved_signs(expr):
    assert sign(expr, ALL) == 1
    assert sign(-expr, ALL) == -1
    assert compare(expr, sp.S.Zero, ALL) == 1
    assert not is_zero(expr)


def test_real_symbol_without_bounds():
    x = Parameter("x")
    assert sign(x.symbol**2 + 1, [x]) == 1
    assert strictly_positive(x.symbol**4 + 3, [x])
    assert sign(x.symbol**2, [x]) == 1
    with pytest.raises(UndecidedOrderError, match="lower bound for x"):
        sign(x.symbol**3 + 1, [x])


def test_binomial_of_parameters():
    n = Parameter("n", sp.Integer(2), integer=True)
    m = Parameter("m", sp.Integer(1), n.symbol, integer=True)
    ratio = sp.binomial(n.symbol - 1, m.symbol - 1) / sp.binomial(n.symbol, m.symbol)
    assert normal(ratio) == m.symbol / n.symbol
    assert strictly_positive(sp.binomial(n.symbol, m.symbol), [n, m])
    assert sign(1 - ratio, [n, m]) == 1
    with pytest.raises(UndecidedOrderError):
        sign(sp.binomial(n.symbol, m.symbol), [n, Parameter("m", integer=True)])


def test_closed_integer_ranges_are_told_from_open_real_ones():
    j = Parameter("j", sp.Integer(2), sp.Integer(9), integer=True)
    x = Parameter("x", sp.Integer(2), sp.Integer(9))
    for low, high in [(j.symbol - 2, 9 - j.symbol)]:
        assert sign(low, [j]) == sign(high, [j]) == 1
        assert not strictly_positive(low, [j])
        assert not strictly_positive(high, [j])
    assert strictly_positive(j.symbol - 1, [j])
    assert strictly_positive(10 - j.symbol, [j])
    assert strictly_positive((j.symbol - 1) * (10 - j.symbol), [j])
    assert strictly_positive(x.symbol - 2, [x])
    assert strictly_positive(9 - x.symbol, [x])
    assert not strictly_positive(x.symbol - 3, [x])


def test_only_an_upper_bound():
    x = Parameter("x", None, sp.Integer(3))
    assert sign(x.symbol - 3, [x]) == -1
    assert strictly_positive(4 - x.symbol, [x])


def test_roots_in_a_denominator_leave_signs_of_terms():
    root = sp.sqrt(q + 1)
    shares = (q * t / (2 * q * t + root), root / (root + t - 1), -1 / (q + root))
    assert [sign(x, (EPS0, Q)) for x in shares] == [1, 1, -1]
    assert strictly_positive(shares[0], (EPS0, Q))
    vanishes = sp.sqrt(K.symbol - 2) / (1 + root)
    assert sign(vanishes, (K, Q)) == 1
    assert not strictly_positive(vanishes, (K, Q))
    for open_ in (sp.sqrt(q) - sp.sqrt(1 - q), 1 / (sp.sqrt(q) - sp.sqrt(1 - q)), q * (sp.sqrt(q) - R(1, 2))):
        with pytest.raises(UndecidedOrderError):
            sign(open_, (Q,))


def test_strictness_of_powers():
    assert strictly_positive((s + 1) ** (-d), ALL)
    assert strictly_positive(2**d - 3, ALL)
    assert not strictly_positive(2**d - 4, ALL)
    assert strictly_positive(t - 1, ALL)


UNDECIDED = [
    (p - q, [Parameter("q", sp.S.Zero, sp.S.One), Parameter("p", sp.S.Zero, sp.S.One)], "p > q", [Q, P], 1),
    (t - 3, [EPS0], r"exp\(eps0\) > 3", [Parameter("eps0", sp.log(3))], 1),
    (k - 3, [K], "k > 3", [Parameter("k", sp.Integer(3), integer=True)], 1),
    (k + 1, [Parameter("k", integer=True)], "assume a lower bound for k", [K], 1),
    (k + 1, [], "declare k", [K], 1),
    (s - 2, [EPS0], r"exp\(eps0/2\) > 2", [Parameter("eps0", sp.log(4))], 1),
    (2 * p - 1, [Q, P], r"2\*p > 1", [Parameter("p", R(1, 2))], 1),
    (2**d - 8, [D], r"2\*\*D > 8", [Parameter("D", sp.Integer(3), integer=True)], 1),
    (t - k, [EPS0, K], r"exp\(eps0\) > k", [K, Parameter("eps0", sp.log(k))], 1),
    (sp.log(p), [Parameter("p", sp.S.Zero)], "tighten", [Parameter("p", sp.S.Zero, sp.S.One)], -1),
    (t - 1 - e, [EPS0], r"eps0 \+ 1 > exp\(eps0\)|exp\(eps0\) > eps0 \+ 1", None, 1),
]


@pytest.mark.parametrize(("expr", "given_", "named", "better", "expected"), UNDECIDED, ids=lambda v: str(v)[:30])
def test_what_is_missing_is_named_and_helps(expr, given_, named, better, expected):
    with pytest.raises(UndecidedOrderError, match=named):
        sign(expr, given_)
    assert not strictly_positive(expr, given_)
    assert not strictly_positive(-expr, given_)
    if better is not None:
        assert sign(expr, better) == expected


def test_bounds_must_be_declared_before():
    with pytest.raises(ArgumentError, match="bound of p"):
        sign(p - q, [P, Q])


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (R(-3, 7), -1),
        (sp.Integer(0), 0),
        (sp.exp(1) - 3, -1),
        (sp.exp(1) / (sp.exp(1) + 9) - R(1, 10), 1),
        (sp.sqrt(2) + sp.sqrt(3) - sp.sqrt(5 + 2 * sp.sqrt(6)), 0),
        (sp.exp(sp.log(3)) - 3, 0),
        (sp.sqrt(2) * sp.sqrt(3) - sp.sqrt(6), 0),
        (sp.log(8) - 3 * sp.log(2), 0),
        (sp.exp(R(1, 10**40)) - 1, 1),
        (sp.exp(R(1, 10**300)) - 1 - R(1, 10**300), 1),
        (sp.pi - R(355, 113), -1),
        (sp.exp(sp.pi) - sp.pi - 20, -1),
        (2 ** R(1, 3) - R(126, 100), -1),
        (sp.binomial(10, 3) - 120, 0),
    ],
    ids=str,
)
def test_constants(expr, expected):
    assert sign(expr) == constant_sign(expr) == expected
    assert is_zero(expr) is (expected == 0)
    assert strictly_positive(expr) is (expected == 1)


def test_a_constant_too_close_to_zero_is_undecided():
    tiny = sp.exp(R(1, 10**1400)) - 1 - R(1, 10**1400)
    with pytest.raises(UndecidedOrderError, match="4096 bits"):
        sign(tiny)


def test_zero_test_is_proved_both_ways():
    assert not is_zero(sp.exp(1 / (k + 1)) - sp.exp(k / (k + 1)))
    with pytest.raises(UndecidedOrderError):  # equal, but the form cannot see it
        is_zero(sp.exp(1 / (k + 1)) - sp.E / sp.exp(k / (k + 1), evaluate=False))
    assert not is_zero(sp.sqrt(p + 1) * sp.sqrt(q + 1) - sp.sqrt(p + q + 1))
    assert not is_zero(sp.sqrt(2) * t - sp.E)


def test_least_and_greatest():
    row = [t / (t + k - 1), 1 / (t + k - 1), 1 / (t + k - 1), t**2 / (t + k - 1)]
    assert minimum(row, ALL) == 1
    assert maximum(row, ALL) == 3
    assert minimum([p, q, q / 2], ALL) == 2
    assert maximum([sp.Integer(2)], ()) == 0
    x, y = Parameter("x", sp.S.Zero, sp.S.One), Parameter("y", sp.S.Zero, sp.S.One)
    assert minimum([x.symbol, y.symbol, sp.S.Zero], [x, y]) == 2  # x and y cannot be compared, and need not be
    with pytest.raises(UndecidedOrderError):
        minimum([x.symbol, y.symbol], [x, y])
    with pytest.raises(ValueError, match="empty"):
        minimum([], ())


def test_speed_of_tables():
    started = time.perf_counter()
    table = [[(t if i == j else 1) / (t + 9) for j in range(10)] for i in range(10)]
    for row in table:
        assert is_zero(sum(row) - 1)
    for column in zip(*table, strict=True):
        assert normal(column[minimum(column, [EPS0])]) == normal(1 / (t + 9))
    assert time.perf_counter() - started < 2  # measured: under 0.02 s; the margin is for a loaded machine


# Random rational functions: a proved sign must hold at every admissible sample point.

ATOMS = st.sampled_from([t, s, k, p, q, 2**d, (s + 1) ** (-d), sp.Integer(1), sp.Integer(2), R(1, 3), sp.E, d])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda x: x[0] + x[1]),
        st.tuples(inner, inner).map(lambda x: x[0] - x[1]),
        st.tuples(inner, inner).map(lambda x: x[0] * x[1]),
        st.tuples(inner, inner).map(lambda x: x[0] / (x[1] ** 2 + 1)),
        st.tuples(inner, st.integers(1, 3)).map(lambda x: x[0] ** x[1]),
    ),
    max_leaves=6,
)
POINTS = [
    {"eps0": a, "k": b, "D": c, "q": x, "p": x + (1 - x) * y}
    for a, b, c, x, y in [
        (R(1, 100), 2, 2, R(1, 100), R(1, 100)),
        (R(1), 2, 3, R(1, 2), R(1, 2)),
        (R(5), 3, 2, R(99, 100), R(9, 10)),
        (R(1, 2), 50, 5, R(1, 3), R(1, 50)),
        (R(8), 7, 20, R(1, 1000), R(999, 1000)),
    ]
]


def at(expr, point):
    """The ball at a point: independent of the normal form."""
    with flint.ctx.workprec(300):
        values = {n: v if isinstance(v, int) else flint.arb(flint.fmpq(v.p, v.q)) for n, v in point.items()}
        return flint.arb(compile_expression(expr, tuple(x.symbol for x in ALL))(FLINT, values))


@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS)
def test_proved_signs_hold_at_sample_points(a, b):
    expr = a - b
    try:
        proved = sign(expr, ALL)
    except UndecidedOrderError:
        proved = None
    strict = {1: strictly_positive(expr, ALL), -1: strictly_positive(-expr, ALL)}
    for point in POINTS:
        value = at(sp.sympify(expr), point)
        if proved == 0:
            assert value.contains(0)
        elif proved is not None:
            assert not (value * proved < 0)
            if strict[proved]:
                assert not (value.rad() == 0 and value == 0)
        assert at(normal(expr), point).overlaps(value)
    assert is_zero(expr) is (normal(expr) == 0)


@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS)
def test_normal_form_is_stable_and_canonical(a):
    form = normal(a)
    assert normal(form) == form
    assert normal(sp.expand(a)) == form
    assert normal(a * (t + 3) / (t + 3) + p - p) == form


@given(st.fractions(max_denominator=50), st.fractions(max_denominator=50), st.integers(1, 4))
def test_constant_order_agrees_with_numbers(a, b, n):
    x = R(a.numerator, a.denominator) * sp.sqrt(2) + sp.exp(R(n, 3)) * R(b.numerator, b.denominator)
    with mpmath.workprec(400):
        value = mpmath.mpf(a.numerator) / a.denominator * mpmath.sqrt(2)
        value += mpmath.exp(mpmath.mpf(n) / 3) * b.numerator / b.denominator
        assert sign(x) == (value > 0) - (value < 0)


# Number systems.

VALUES = [
    sp.E,
    sp.exp(R(1, 3)),
    sp.sqrt(2),
    2 ** R(1, 3),
    sp.log(3),
    sp.pi,
    sp.exp(1) / (sp.exp(1) + 9),
    sp.binomial(40, 20),
    sp.binomial(R(1, 2), 3, evaluate=False),
    R(5, 2) ** R(-3, 2),
    (1 + sp.exp(R(1, 2))) ** -30,
]


@pytest.mark.parametrize("expr", VALUES, ids=str)
@pytest.mark.parametrize("bits", [64, 200, 1000])
def test_balls_contain_the_value_and_are_narrow(expr, bits):
    ball = arb_value(expr, bits)
    with mpmath.workprec(bits + 200):
        exact = compile_expression(expr)(MPMATH, {})
        reference = sp.N(expr, (bits + 200) // 4)
        assert abs(exact - mpmath.mpf(str(reference))) <= abs(exact) * mpmath.mpf(10) ** (-(bits + 100) // 4)
        man, exponent = int(exact.man), int(exact.exp)
    with flint.ctx.workprec(bits + 300):
        point = flint.arb(man * (-1 if exact < 0 else 1)) * flint.arb(2) ** exponent
        assert ball.overlaps(point + flint.arb(0, abs(point) * flint.arb(2) ** (-bits - 150)))
    assert ball.rel_accuracy_bits() >= bits - 12
    assert float(compile_expression(expr)(NUMPY, {})) == pytest.approx(float(exact), rel=1e-13)


def test_compiled_expressions_take_values_in_each_system():
    f = compile_expression(t**2 / (k + 2**d) + sp.binomial(d, k) + sp.sqrt(p), (e, k, d, p))
    assert f(NUMPY, {"eps0": np.log(2.0), "k": 4, "D": 5, "p": 0.25}) == pytest.approx(4 / 36 + 5 + 0.5)
    with flint.ctx.workprec(200):
        ball = f(FLINT, {"eps0": flint.arb(2).log(), "k": 4, "D": 5, "p": flint.arb(0.25)})
        assert ball.contains(flint.fmpq(4, 36) + flint.fmpq(11, 2))
    arrays = compile_expression(t + k, (e, k))(NUMPY, {"eps0": np.zeros(3), "k": 1})
    assert arrays.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ExpressionError, match="binomial"):
        compile_expression(sp.binomial(d, k), (d, k))(NUMPY, {"D": 3.5, "k": 1.5})


@pytest.mark.parametrize("bad", [sp.Float(0.1), k + 1, sp.sin(1), sp.Piecewise((1, k > 1), (2, True)), sp.I], ids=str)
def test_compile_refuses(bad):
    with pytest.raises(ExpressionError):
        compile_expression(bad)


@pytest.mark.parametrize("bad", [sp.log(-2, evaluate=False), 1 / (sp.exp(1) - sp.exp(1, evaluate=False))], ids=str)
def test_values_that_are_not_real_are_refused(bad):
    with pytest.raises(ExpressionError):
        arb_value(bad, 64)


def test_precision_is_restored():
    before = flint.ctx.prec
    arb_value(sp.pi, 777)
    assert flint.ctx.prec == before
    with pytest.raises(ExpressionError):
        arb_value(sp.sin(1), 777)
    assert flint.ctx.prec == before
    with pytest.raises(ZeroDivisionError), flint.ctx.workprec(99):
        Fraction(flint.ctx.prec, 0)
    assert flint.ctx.prec == before


@pytest.mark.parametrize("large", [2**62, 2**63, 10**300])
def test_large_coefficients_keep_their_normal_form(large):
    k = sp.Symbol("k", integer=True)
    first, second = normal((k - 2) * (large * k + 1)), normal(sp.expand((k - 2) * (large * k + 1)))
    assert first == second
    assert sign((k - 2) * (large * k + 1), [Parameter("k", lower=2, integer=True)]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "1/(1+exp(eps0)+exp(10**9*eps0))",
        "1/(1+2**(1/97)+2**(1/89)+2**(1/83)+2**(1/79))",
        "1/(1+exp(eps0)+exp(3602879701896397/36028797018963968*eps0))",
    ],
)
def test_incommensurable_exponents_are_refused(text):
    with pytest.raises(ExpressionError):
        normal(sp.sympify(text, locals={"eps0": sp.Symbol("eps0", real=True)}))
