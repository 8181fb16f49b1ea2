"""Expressions from text: what they mean, what is refused, and that nothing hangs or escapes."""

import time
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from symamp.errors import ArgumentError, ExpressionError, SymampError
from symamp.formulas.parameter import EPS0, Parameter
from symamp.numbers.reading import exact_number, parse_expression
from symamp.numbers.unevaluated import binomial
from tests.fuzz.test_formulas import wrong

REAL = {name: Parameter(name).symbol for name in ("x", "y", "p")}
WHOLE = {name: Parameter(name, integer=True).symbol for name in ("D", "k")}
SYMBOLS = {**REAL, **WHOLE, "eps0": EPS0.symbol}
x, y, p, D, k, eps0 = SYMBOLS.values()


def parse(text):
    return parse_expression(text, SYMBOLS, argument="here")


def test_decimals_are_the_fractions_that_are_written():
    for text, value in {
        "0.1": "1/10", "1e-6": "1/1000000", ".5": "1/2", "1.": "1", "1.e2": "100", "1E+2": "100", "2.50": "5/2",
    }.items():  # fmt: skip
        assert parse(text) == sp.Rational(value)
    assert parse("1e-3000") == sp.Rational(1, 10**3000)
    assert parse("1" * 1000) == int("1" * 1000)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/3", sp.Rational(1, 3)),
        ("-x**2", -(x**2)),
        ("2**3**2", sp.Integer(512)),
        ("2**-3", sp.Rational(1, 8)),
        ("8/4/2", sp.Integer(1)),
        ("1 - 2 - 3", sp.Integer(-4)),
        ("x/y*p", x * p / y),
        ("x - -y", x + y),
        ("+x", x),
        ("-(-2)**2", sp.Integer(-4)),
        (" ( 1 +\n\t2 ) ", sp.Integer(3)),
        ("exp(eps0)/(exp(eps0) + D - 1)", sp.exp(eps0) / (sp.exp(eps0) + D - 1)),
        ("2**D", 2**D),
        ("(x + 1)**(D - 1)", (x + 1) ** (D - 1)),
        ("x**(1/D)", x ** (1 / D)),
        ("(-1)**D", (-1) ** D),
        ("sqrt(2)", sp.sqrt(2)),
        ("8**(1/3)", sp.Integer(2)),
        ("exp(1)", sp.E),
        ("log(3)", sp.log(3)),
        ("log(exp(x))", x),
        ("exp(log(3)/2)", sp.sqrt(3)),
        ("exp(-log(1 + exp(eps0)))", 1 / (1 + sp.exp(eps0))),
        ("binomial(10, 3)", sp.Integer(120)),
        ("binomial(D, k)*p**k*(1 - p)**(D - k)", binomial(D, k) * p**k * (1 - p) ** (D - k)),
        ("0*log(x)", sp.Integer(0)),
        ("0**2", sp.Integer(0)),
        ("sqrt(0)", sp.Integer(0)),
        ("exp(exp(x))", sp.exp(sp.exp(x))),
    ],
)
def test_meaning(text, value):
    assert parse(text) == value


REFUSED = [
    # not an expression of the grammar
    "", " ", "(", ")", "1+", "x y", "2^3", "1if 2else 3", "1()", "x.y", "x[0]", "f(x)", "exp", "exp()", "exp(x, y)",
    "exp(*x)", "exp(x=1)", "exp(**x)", "binomial(3)", "lambda: 1", "lambda", "x if y else 1", "not x", "x and y",
    "x < y", "x == 1", "x := 1", "x, y", "[1]", "{1}", "'a'", "True", "None", "...", "1;2", "yield", "await x",
    "1 # one", "1\\\n+1", "1//2", "1 % 2", "x @ y", "~x", "abs(x)", "z", "e", "E", "I", "pi", "oo", "nan", "zoo", "inf",
    "__import__('os')", "x.__class__", "exp(x).args", "(x for x in y)", "(yield)",
    # numbers
    "0x10", "0b1", "1_000", "1j", "1e", "1e+", "007", "1..2", "1.2.3", "x1", "1x", "1e99999999999999999999",
    # characters
    "\0", "1\0", "\ud800", "é", "²", "x\u2212y", "１", "\ufeff1", "1\u00a0+1",
    # values
    "1/0", "1/(x - x)", "x/(1 - 1)", "0**-1", "0**x", "0**(-x)", "log(0)", "log(x - x)", "log(-1)", "log(1 - sqrt(2))",
    "sqrt(-1)", "sqrt(1 - sqrt(2))", "(-1)**(1/2)", "(-8)**(1/3)", "(-2)**x", "sqrt(-x**2)", "binomial(-1, 2)",
    "binomial(1/2, 2)", "binomial(x, 2)", "binomial(sqrt(2), 9)", "1/((x + 1)*(x - 1) - x**2 + 1)",
    "log(6) - log(2) - log(3)", "1/(sqrt(5 + 2*sqrt(6)) - sqrt(2) - sqrt(3))",
]  # fmt: skip

TOO_LARGE = [
    "1" * 5000, "1" * 1001, "x+" * 2047 + "x", "1e3001", "1e-3001", "1e2999", "(" * 2000 + "1" + ")" * 2000,
    "(" * 150 + "1" + ")" * 150 + "**" * 3, "-" * 4000 + "1", "-" * 900 + "1", "sqrt(" * 90 + "x" + ")" * 90,
    "10**10**10", "2**(10**10)", "2**10001", "x**1001", "x**(1/101)", "x**0.123456789", "(2**1000)**1000",
    "((2**900)**900)**900", "((x**900)**900)**900", "2**(2**D)", "D**D**D", "x**log(3)", "x**exp(y)", "x**sqrt(2)",
    "2**(x + 10**9)*2**(-x)", "(2**(1000*x))**(1000/x)", "exp(10**9*log(2))", "exp(10**9*log(2)*x)",
    "exp((10**9*log(2))*x)**(1/x)", "exp(x*log(1 + 10**9*log(2)))", "exp(10**9)", "exp(-10**9)", "exp(exp(1000))",
    "exp(exp(exp(1000)))", "exp(exp(exp(x)))", "binomial(10**9, 5*10**8)",
    "binomial(D, 10**9)", "*".join(["2**4000"] * 100), "*".join(["(2**4000*x)"] * 100), "sqrt(10**400)",
    "sqrt(1e-2000)", "*".join(f"sqrt({n})" for n in range(2, 300)), "**".join(["2"] * 400), "**".join(["x"] * 400),
    "log(" + "*".join(f"(1 + sqrt({n}))" for n in range(2, 400)) + ")", "sqrt(1 + " * 62 + "2" + ")" * 62,
    "1e1500*1e1500", "(10**1000 + 1)**9",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED + TOO_LARGE, ids=lambda text: ascii(text[:30]))
def test_refusals_are_typed_and_fast(text):
    start = time.perf_counter()
    with pytest.raises(ExpressionError) as refusal:
        parse(text)
    assert time.perf_counter() - start < 2
    assert refusal.value.argument == "here"
    str(refusal.value).encode()  # can be printed


def test_refusals_show_the_part_and_the_remedy():
    with pytest.raises(ExpressionError, match=r"^here: got 1 - 1 in x/\(1 - 1\), expected a denominator other than 0$"):
        parse("x/(1 - 1)")
    with pytest.raises(ExpressionError, match=r"\*\* for powers"):
        parse("x^2")
    with pytest.raises(ExpressionError, match=r"got z in x \+ z, expected a declared name: x, y"):
        parse("x + z")
    with pytest.raises(ExpressionError, match="text"):
        parse(b"1")


def test_symbols_with_a_sign_are_refused():
    """With them SymPy isolates roots of polynomials on its own account, and a degree of 999 takes minutes."""
    with pytest.raises(ExpressionError, match="was made with a sign"):
        parse_expression("x", {"x": sp.Symbol("x", positive=True)})


def test_large_but_accepted_is_fast():
    """Texts at the limits, among them what makes SymPy factor, test for primality or compare many terms."""
    for text in [
        "1e1500 + 1", "log(1e1500 + 7)", "(2**1000 - 1)**4", "sqrt(10**140 + 7)", "binomial(4990, 2400)", "x**1000",
        "+".join(f"x**{n}" for n in range(1, 140)), "*".join(f"(x + {n})" for n in range(1, 160)),
        "2**(1/97)*3**(1/89)*5**(1/83)*7**(1/79)*11**(1/71)", "+".join(f"{n}**x" for n in range(2, 140)),
        "exp(x*(" + "+".join(f"log({n}+x)" for n in range(2, 20)) + "))", "(1 + 2*x)**1000", "1 - exp(-1e-300)",
        "log(" + "*".join(f"(1 + sqrt({n}))" for n in range(2, 60)) + ")", "-" * 60 + "x", "(" * 60 + "x" + ")" * 60,
        "log((((sqrt(log(D)))**((y+p)))**((x*k))*exp((((1/2)**(k)*k)+D))))",
    ]:  # fmt: skip
        start = time.perf_counter()
        expr = parse(text)
        assert time.perf_counter() - start < 5, text
        str(expr)  # integers are short enough for Python to print


# Random texts. Only ExpressionError may escape, and the whole must be over soon: a hang would show in the total.

PIECES = [
    "x", "y", "p", "D", "k", "0", "1", "2", "7", "10", "999", "1000003", "0.5", "1e-6", "1e300", "1e-300", "1e1499",
    "1/97", "10**9", "2**100", "-1", "sqrt(2)", "log(3)", "exp(1)",
]  # fmt: skip
SHAPES = [
    "({}+{})", "({}-{})", "({}*{})", "({}/{})", "({})**({})", "exp({})", "log({})", "sqrt({})", "binomial({},{})",
    "{}*{}*{}", "-{}", "{}**2", "({})**(1/2)", "exp({}*log({}))",
]  # fmt: skip


@st.composite
def _shaped(draw, parts):
    shape = draw(st.sampled_from(SHAPES))
    return shape.format(*(draw(parts) for _ in range(shape.count("{}"))))


well_formed = st.recursive(st.sampled_from(PIECES), _shaped, max_leaves=12)
tokens = st.lists(st.sampled_from([*PIECES, *"+-*/()^,.e ", "**", "//", "if", "else", "not", "exp(", "log", "1_0"]))
fuzz = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)


def _parse_or_refuse(text):
    start = time.perf_counter()
    try:
        return parse(text)
    except ExpressionError as refusal:
        str(refusal).encode()
        return None
    finally:
        seconds = time.perf_counter() - start
        assert seconds < 10, text


@settings(fuzz, max_examples=1000)
@given(st.text())
@example("\ud800")
@example("1if 2else 3")
def test_fuzz_any_text(text):
    _parse_or_refuse(text)


@settings(fuzz, max_examples=500)
@given(tokens.map("".join))
def test_fuzz_tokens(text):
    _parse_or_refuse(text)


@settings(fuzz, max_examples=200)
@given(well_formed)
def test_fuzz_well_formed(text):
    """What is accepted has the value that ball arithmetic finds from the text alone."""
    expr = _parse_or_refuse(text)
    if expr is None:
        return
    assert not expr.has(sp.I, sp.nan, sp.zoo, sp.oo, -sp.oo, sp.Float)
    str(expr)
    if not expr.free_symbols:
        assert exact_number(expr, "number") == expr
    assert wrong(text) is None


# Exact numbers


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, sp.Integer(3)),
        (10**12, sp.Integer(10**12)),
        (0.1, sp.Rational(3602879701896397, 36028797018963968)),
        (5e-324, sp.Rational(1, 2**1074)),
        (-0.0, sp.Integer(0)),
        (Fraction(1, 3), sp.Rational(1, 3)),
        (Decimal("0.1"), sp.Rational(1, 10)),
        (Decimal("1e-1000"), sp.Rational(1, 10**1000)),
        ("0.1", sp.Rational(1, 10)),
        (" -1e-3 ", sp.Rational(-1, 1000)),
        ("+.5", sp.Rational(1, 2)),
        ("1.e1", sp.Integer(10)),
        ("1e-300", sp.Rational(1, 10**300)),
        ("1e-100000", sp.Rational(1, 10**100000)),
        ("1/3", sp.Rational(1, 3)),
        ("log(3)", sp.log(3)),
        (mpmath.mpf("0.5"), sp.Rational(1, 2)),
        (mpmath.mpf(-3), sp.Integer(-3)),
        (sp.Rational(2, 7), sp.Rational(2, 7)),
        (sp.Float("0.5"), sp.Rational(1, 2)),
        (sp.Float(0.1), sp.Rational(3602879701896397, 36028797018963968)),
        (sp.log(3), sp.log(3)),
        (sp.sqrt(2) - 1, sp.sqrt(2) - 1),
        (sp.E, sp.E),
        (np.float64(0.25), sp.Rational(1, 4)),
        (np.float32(0.1), sp.Rational(13421773, 134217728)),
        (np.longdouble(0.25), sp.Rational(1, 4)),
        (np.int64(7), sp.Integer(7)),
        (np.uint8(255), sp.Integer(255)),
        (flint.fmpz(5), sp.Integer(5)),
        (flint.fmpq(5, 10), sp.Rational(1, 2)),
    ],
)
def test_exact_number(value, number):
    result = exact_number(value, "delta")
    assert result == number
    assert not result.has(sp.Float)


class _Rude:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    "value",
    [
        True, np.True_, float("nan"), float("inf"), -float("inf"), 1j, 1 + 0j, None, [1], (1,), {}, object(), _Rude(),
        b"1", np.float64("nan"), np.float32("inf"), np.complex128(1), np.array([1.0]), np.array(1.0), Decimal("nan"),
        Decimal("sNaN"), Decimal("Infinity"), Decimal("1e-999999999"), Decimal("1e999999999"), mpmath.mpf("nan"),
        mpmath.mpf("inf"), mpmath.mpf("-inf"), mpmath.mpc(1, 0), mpmath.ldexp(1, -(10**12)), mpmath.ldexp(1, 10**12),
        mpmath.iv.mpf(1), sp.nan, sp.oo, -sp.oo, sp.zoo, sp.I, sp.pi, sp.true, sp.Symbol("x"), sp.Symbol("x") + 1,
        sp.sqrt(-2), sp.log(-1), sp.sin(1), 1.5 * sp.sqrt(2), sp.exp(sp.exp(sp.exp(1000))), sp.exp(-(10**9)),
        sp.log(6) - sp.log(2) - sp.log(3), sp.Float(mpmath.ldexp(1, -(10**12))), sp.Integer(10) ** 99999, sp.EmptySet,
        sp.Matrix([1]), 10**99999, -(10**99999), Fraction(1, 10**200000), "1e-100001", "1e100000", "1e-99999999999",
        "9" * 2000, flint.arb(1),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_exact_number_refuses(value):
    with pytest.raises(ArgumentError, match=r"^delta: got ") as refusal:
        exact_number(value, "delta")
    assert "finite real number" in refusal.value.accepted


@pytest.mark.parametrize("text", ["", "nan", "inf", "-inf", "x", "1e", "1,5", "0x10", "1_0", "1\0", "\ud800", "1/0"])
def test_exact_number_refuses_text(text):
    with pytest.raises(ExpressionError, match=r"^delta: got "):
        exact_number(text, "delta")


def test_exact_number_says_what_the_caller_accepts():
    with pytest.raises(ArgumentError, match="expected a number in "):
        exact_number(None, "delta", accepted="a number in (0, 1)")


@settings(fuzz, max_examples=500)
@given(
    st.one_of(
        st.integers(), st.floats(), st.fractions(), st.decimals(), st.text(), st.complex_numbers(), st.booleans(),
        st.none(), st.floats().map(str), st.decimals(allow_nan=False).map(str), st.binary(),
        st.floats().map(np.float64),
    )
)  # fmt: skip
def test_fuzz_exact_number(value):
    try:
        number = exact_number(value, "number")
    except SymampError as refusal:
        str(refusal).encode()
    else:
        if isinstance(value, int | float | Fraction | Decimal):
            assert Fraction(int(number.p), int(number.q)) == Fraction(value)
