"""What SymPy makes of a formula is compared with the formula; huge sizes; parameters with predicates.

The reference values are computed by hand in balls or fractions.
"""

import json
import math

import flint
import pytest
import sympy as sp

import symamp as sa
from symamp.command_line.cli import main
from symamp.decompositions import checks as ball_check
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.errors import ArgumentError, ExpressionError, SymampError, VerificationError
from symamp.formulas.normal_form import normal
from symamp.formulas.order import constant_sign
from symamp.formulas.parameter import Parameter, admissible_points, check_range
from symamp.numbers import reading
from symamp.numbers.reading import parse_expression
from symamp.numbers.substitution import put
from symamp.numbers.systems import arb_value
from symamp.numbers.unevaluated import binomial, long_power, power
from symamp.randomizers.families.duchi_vector import CorrectedDuchiVector, EvenDuchiVector
from symamp.randomizers.families.sampling_rappor import SamplingRappor

D, k = Parameter("D", lower=4, integer=True), Parameter("k", lower=2, integer=True)
x = Parameter("x")
SYMBOLS = {p.name: p.symbol for p in (D, k, x)}


def at(expr, **numbers):
    return arb_value(put(expr, {SYMBOLS[n]: sp.Integer(v) for n, v in numbers.items()}), 128)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sqrt(binomial(D, 3)**2)", 220),
        ("(binomial(D, 3)**2)**(3/2)", 220**3),
        ("binomial(D, binomial(D, 7))", 0),
        ("1/2 + sqrt(binomial(D, 3)**2)/(4*binomial(D, 3))", 0.75),
        ("(binomial(D - 1, 5)**2)**(1/2)", math.comb(11, 5)),
        ("(binomial(D, 7)**4)**(1/4)", math.comb(12, 7)),
    ],
)
def test_sympy_knows_no_sign_of_binomials(text, value):
    assert at(sp.sympify(parse_expression(text, SYMBOLS)).replace(sp.Abs, lambda e: e), D=12).overlaps(flint.arb(value))


def test_the_mechanism_with_a_false_bound_is_no_longer_certified():
    """It was read as 1/4 for 3/4, and epsilon in [0, 0] was called proved at a local budget of log 3."""
    near, far = (f"1/2 {s} sqrt(binomial(D, 3)**2)/(4*binomial(D, 3))" for s in "+-")
    try:
        coin = sa.FiniteMechanism({"a": {"0": near, "1": far}, "b": {"0": far, "1": near}}, parameters=[D])
        found = sa.epsilon(coin.at(D=5), n=100, delta=1e-3)
    except SymampError:
        return
    exact = sa.FiniteMechanism({"a": {"0": "3/4", "1": "1/4"}, "b": {"0": "1/4", "1": "3/4"}})
    assert found.upper >= sa.epsilon(exact, n=100, delta=1e-3).lower > 0


def _lies(function):
    """Return a stand-in for a function of SymPy that rewrites wrongly where the argument is a sum."""
    return lambda *args: function(*args) * (1 + sp.Integer(any(a.is_Add for a in args)))


@pytest.mark.parametrize("text", ["exp(x + 1)", "1 + log(x**2 + 1)*exp(-x)", "x + exp(x + k)/3"])
def test_whatever_sympy_rewrites_wrongly_is_refused(monkeypatch, text):
    parse_expression(text, SYMBOLS)
    for function in (sp.exp, sp.log):
        monkeypatch.setitem(reading.EVALUATED, function, _lies(function))
    with pytest.raises(ExpressionError, match="reads as it is written"):
        parse_expression(text, SYMBOLS, argument="entry")
    entry = sp.exp(x.symbol + 1)
    with pytest.raises(ExpressionError, match="reads as it is written"):
        reading.read_formula(entry, "entry", {x.symbol: x.symbol})


def test_unevaluated_objects_are_compared_with_their_own_tree():
    entry = sp.Pow(sp.Pow(x.symbol, 2, evaluate=False), sp.Rational(1, 2), evaluate=False)
    found = reading.read_formula(entry, "entry", {x.symbol: x.symbol}, [{"x": sp.Rational(-3)}])
    assert arb_value(put(found.replace(sp.Abs, lambda e: -e), {x.symbol: sp.Integer(-3)}), 64) == 3


def test_a_wrong_decomposition_is_refused():
    mechanism = sa.RandomizedResponse()
    right, orbits = mechanism.blanket(), mechanism.orbits(("x0", "x1"))
    assert ball_check.checked(right, orbits, ball_check.least) is right
    for place in range(3):
        first = right.components[0]
        wrong = Component(*(e * 2 if i == place else e for i, e in enumerate(first)))
        with pytest.raises(VerificationError, match="decomposition"):
            ball_check.checked(
                Decomposition((wrong, *right.components[1:]), (), right.parameters), orbits, ball_check.least
            )


def test_numbers_are_put_in_without_multiplying_out():
    huge = sp.Integer(10**18)
    expr = x.symbol * (x.symbol + 1) ** (-D.symbol - 2) * ((x.symbol + 1) ** D.symbol + 1)
    found = put(expr, {D.symbol: huge, x.symbol: sp.Integer(1)})
    assert len(str(found)) < 100
    assert arb_value(found, 256).overlaps((1 + flint.arb(2) ** -(10**18)) / 4)
    assert put(expr, {D.symbol: sp.Integer(3)}) == expr.subs(D.symbol, 3)
    assert (long_power(sp.Integer(2), 10), power(2, 10).is_positive) == (1024, None)
    assert normal(power(2, 10**9) * 3 / power(2, 10**9)) == 3


def test_large_binomials_are_valued_in_balls():
    with flint.ctx.workprec(200):
        found, known = arb_value(binomial(20_050, 10_025), 200), flint.arb(math.comb(20_050, 10_025))
    assert found.overlaps(known)
    assert found.rel_accuracy_bits() > 100
    assert binomial(10**18, 5 * 10**17).is_positive is None


@pytest.mark.parametrize("size", [10**5, 10**6, 10**9, 10**18])
@pytest.mark.parametrize(
    "member",
    [
        lambda n: sa.LocalHashing(D=n, l=2, eps0=1),
        lambda n: sa.LocalHashing(D=n, l=1000, eps0="log(3)"),
        lambda n: sa.UnaryEncoding.rappor(D=n, eps0=1),
        lambda n: sa.UnaryEncoding.oue(D=n, eps0=2),
        lambda n: CorrectedDuchiVector(m=n, eps0=1),
    ],
)
def test_huge_sizes_are_answered(member, size):
    mechanism = member(size)
    found = mechanism.blanket(*mechanism.pairs()[0])
    assert max(len(repr(found)), len(str(found.gamma)), len(str(mechanism.local_epsilon()))) < 5000
    answer = sa.epsilon(mechanism, n=10**6, delta=1e-8, method="blanket")
    assert 0 < answer.lower <= answer.upper < 2


@pytest.mark.parametrize(
    "member",
    [
        lambda: sa.LocalHashing(D=10**18 + 1, l=2, eps0=1),
        lambda: sa.UnaryEncoding(D=10**300, p="1/2", q="1/4"),
        lambda: EvenDuchiVector(m=10**6, eps0=1),
        lambda: SamplingRappor(s=10**6, d=10**7, eps0=1),
    ],
)
def test_sizes_without_an_answer_are_refused_at_once(member):
    with pytest.raises(ArgumentError, match="at most"):
        member()


def test_huge_sizes_have_the_limit_of_large_ones():
    """2-ary local hashing at D options has the blanket 2/(t + 1) (1 + (t - 1) 2^-D), decreasing to that of D = oo."""
    gamma = arb_value(sa.LocalHashing(D=10**9, l=2, eps0=1).blanket().gamma, 128)
    assert gamma.overlaps(2 / (1 + flint.arb(1).exp()))


def test_huge_sizes_on_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["symamp", "derive", "local-hashing", "--D", "100000", "--eps0", "1", "--json"])
    with pytest.raises(SystemExit) as done:
        main()
    printed = capsys.readouterr().out
    assert not done.value.code
    assert len(printed) < 20_000
    json.loads(printed)


@pytest.mark.parametrize(
    "range_",
    [
        {"lower": 2, "upper": 1}, {"lower": 1, "upper": 1}, {"lower": "log(3)", "upper": "log(2)"},
        {"lower": 3, "upper": 2, "integer": True}, {"lower": "5/2", "upper": "8/3", "integer": True},
        {"lower": 9, "upper": 15, "integer": True, "predicate": "a power of two"},
    ],
)  # fmt: skip
def test_empty_ranges_are_refused(range_):
    with pytest.raises(ArgumentError, match="range of p"):
        Parameter("p", **range_)


def test_predicates_are_checked_and_shown():
    q = Parameter("q", lower=2, integer=True, predicate="a prime power")
    assert [n for n in range(2, 30) if q.meets(n)] == [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29]
    assert q.describe() == "integer q >= 2 (a prime power)"
    assert [n for n in range(6) if Parameter("n", integer=True, predicate="even").meets(n)] == [0, 2, 4]
    check_range(q, sp.Integer(49), {})
    with pytest.raises(ArgumentError, match="a prime power"):
        check_range(q, sp.Integer(6), {})
    for bad in ({"predicate": "prime", "integer": True}, {"predicate": "even"}, {"predicate": 3, "integer": True}):
        with pytest.raises(ArgumentError, match="predicate"):
            Parameter("q", **bad)
    response = sa.HadamardResponse(K=Parameter("K", lower=8, integer=True))
    assert "a power of two" in str(response.blanket())
    with pytest.raises(ArgumentError, match="a power of two"):
        response.at(K=12)
    with pytest.raises(ArgumentError, match="a power of two"):
        sa.HadamardResponse(K=Parameter("K", lower=8, integer=True, predicate="even"))


def test_admissible_points_lie_within_the_ranges():
    q = Parameter("q", lower=0, upper=1)
    p = Parameter("p", lower=q.symbol, upper=1)
    d = Parameter("d", lower=2, integer=True)
    m = Parameter("m", lower=1, upper=d.symbol - 1, integer=True)
    K = Parameter("K", lower=4, integer=True, predicate="a power of two")
    points = admissible_points((q, p, d, m, K), 6)
    assert len(points) == 6
    for point in points:
        assert 0 < point["q"] < point["p"] < 1
        assert 1 <= point["m"] < point["d"]
        assert point["K"] in {4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}


@pytest.mark.parametrize("lower", [-100, -3, -1, None])
@pytest.mark.parametrize(
    "text", ["binomial(m, m)", "binomial(m, m - 1)", "binomial(2*m, m)", "binomial(m, m)*m", "binomial(m - 3, m)/10"]
)
def test_binomials_of_what_may_be_negative_are_refused(lower, text):
    """The number of k-sets of n things: there is none for n < 0."""
    rows = {"a": {"u": f"({text})/3", "v": f"1 - ({text})/3"}, "b": {"u": "1/3", "v": "2/3"}}
    with pytest.raises(sa.errors.SymampError):
        sa.FiniteMechanism(rows, parameters=[sa.Parameter("m", lower=lower, integer=True)])


def test_binomials_with_a_number_are_polynomials_until_a_negative_one_is_put_in():
    rows = {"a": {"u": "(binomial(m, 2) + 1)/100", "v": "1 - (binomial(m, 2) + 1)/100"}, "b": {"u": "1/3", "v": "2/3"}}
    table = sa.FiniteMechanism(rows, parameters=[sa.Parameter("m", lower=-3, upper=5, integer=True)])
    assert table.at(m=4).rows[0][0] == sp.Rational(7, 100)
    with pytest.raises(SymampError):
        table.at(m=-3)


def test_what_sympy_takes_for_algebraic_and_is_not_is_left_undecided():
    with pytest.raises(sa.errors.SymampError):
        constant_sign(binomial(-3, -3) - binomial(-4, -4))
