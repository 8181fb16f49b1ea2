"""Arguments of many types: what is taken for a number, what is refused, and that refusals can be printed and sent."""

import pickle
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
import sympy as sp

import symamp as sa
from symamp import errors
from symamp.command_line import cli
from symamp.numbers.reading import check_formula, relative_gap, users

x, y = sp.Symbol("x", positive=True), sp.Symbol("y")
D = sp.Symbol("D", integer=True, positive=True)


@pytest.mark.parametrize("n", [10, "10", "1e1", 10.0, Decimal(10), Fraction(10), np.int8(10), mpmath.mpf(10), sp.S(10)])
def test_n_is_any_exact_integer(n):
    assert users(n) == 10


@pytest.mark.parametrize("gap", [0.001, Decimal("0.001"), Fraction(1, 1000), np.float64(0.001), sp.Rational(1, 1000)])
def test_gap_is_any_number(gap):
    assert relative_gap(gap) == 0.001


VALUES = [3, 3.0, "3", Decimal(3), Fraction(3), np.int64(3), np.float32(3), mpmath.mpf(3), sp.Integer(3), "log(exp(3))"]


@pytest.mark.parametrize("system", ["numpy", "mpmath", "flint"])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_compiled_decompositions_take_numbers_of_all_types(system, value):
    (r0, r1, mass), *_ = sa.RandomizedResponse(k=3).blanket().lambdify(system)(eps0=value)
    assert [float(r0), float(r1), float(mass)] == pytest.approx([np.exp(3), 1.0, 1 / (np.exp(3) + 2)])


def test_compiled_decompositions_keep_arrays_and_balls():
    evaluate = sa.RandomizedResponse(k=3).blanket().lambdify
    assert evaluate("numpy")(eps0=np.array([1.0, 2.0]))[0][0] == pytest.approx(np.exp([1.0, 2.0]))
    assert evaluate("flint")(eps0=flint.arb(1, 0.1))[0][0].overlaps(flint.arb(1.05).exp())
    with pytest.raises(errors.ArgumentError, match="eps0"):
        evaluate("mpmath")(eps0=np.array([1.0, 2.0]))


@pytest.mark.parametrize("system", ["numpy", "mpmath", "flint"])
def test_compiled_decompositions_take_counts_in_binomials(system):
    exact = sa.DuchiVector(m=5, eps0="log(3)").blanket().components
    found = sa.DuchiVector().blanket().lambdify(system)(m=5.0, eps0="log(3)")
    assert sorted(float(m) for _, _, m in found) == pytest.approx(sorted(float(c.mass) for c in exact))


REFUSED = {
    "power": x ** (10**9),
    "root": x ** sp.Rational(1, 10**9 + 7),
    "symbolic power": 2 ** (10**8 * D),
    "tower": 2 ** (2**D),
    "powers of powers": (1 + (1 + x**100) ** 100) ** 100,
    "levels of exp": sp.exp(sp.exp(sp.exp(x))),
    "exp of log": sp.exp(10**6 * sp.log(1 + x) * x),
    "a function": sp.sin(x),
    "a matrix element": sp.MatrixSymbol("M", 2, 2)[0, 0],
    "pi": sp.pi * x,
    "i": sp.I * x,
    "nan": sp.Add(x, sp.nan, evaluate=False),
    "long number": x / 10**5000,
    "many parts": sp.Add(*(sp.Symbol(f"x{i}") ** 3 for i in range(10_000))),
}


@pytest.mark.parametrize("expr", REFUSED.values(), ids=REFUSED)
def test_formulas_beyond_the_grammar_are_refused(expr):
    with pytest.raises(errors.ExpressionError, match="entry"):
        check_formula(expr, "entry")


def test_deep_formulas_are_refused():
    expr = y
    for _ in range(90):
        expr = 1 / (1 + expr)
    with pytest.raises(errors.ExpressionError, match="levels"):
        check_formula(expr, "entry")


@pytest.mark.parametrize(
    "expr", [x**1000, (1 + x) ** D, 2 ** (1 - D), sp.exp(x / 2) / (1 + sp.sqrt(x)), sp.binomial(D, 3) / 10**300]
)
def test_formulas_within_the_grammar_are_accepted(expr):
    check_formula(expr, "entry")


def test_refusals_survive_pickling():
    with pytest.raises(errors.ArgumentError) as caught:
        sa.RandomizedResponse(k=1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (errors.ArgumentError, str(caught.value))


def test_refusals_of_values_that_cannot_be_printed():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    error = errors.ArgumentError("argument", Broken(), "a value")
    assert str(error) == "argument: got a value of type Broken that cannot be printed, expected a value"
    assert len(str(errors.ArgumentError("a" * 10**6, "b" * 10**6, "c" * 10**6))) < 5000


def test_floats_that_miss_one_say_how_to_write_them():
    with pytest.raises(errors.RowSumError, match="Fraction"):
        sa.FiniteMechanism({"a": {"0": 0.3, "1": 0.6, "2": 0.1}, "b": {"0": 1}})
    with pytest.raises(errors.RowSumError, match='row of input "a"') as caught:
        sa.FiniteMechanism({"a": {"0": "0.3", "1": "0.6"}, "b": {"0": 1}})
    assert "Fraction" not in str(caught.value)


def test_the_lower_bound_of_a_budget_names_the_member():
    answer = sa.epsilon(sa.PureLDP(eps0=1), n=10**6, delta="1e-8", gap=1e-3, method="generic")
    assert "for RandomizedResponse(k=" in str(answer.dataset)


@pytest.mark.parametrize(("words", "start"), [(["--version"], f"symamp {sa.__version__}"), (["-h"], ""), ([], "")])
def test_version_and_help(words, start, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["symamp", *words])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith(start)
