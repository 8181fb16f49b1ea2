"""Formulas as they are shown: equal in value to the normal form, never longer than it, and read as in the papers."""

import numpy as np
import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.pairs import pair_classes
from symamp.decompositions.printing import latex, setting, text
from symamp.formulas.arrangement import arranged
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0
from symamp.randomizers.catalogue import catalogue
from tests.sampled import some

FAMILIES = list(catalogue().values())


def cells(family):
    """Pairs (shown, exact) of all formulas in the tables of a family, the letters t and s put back."""
    for found in pair_classes(family):
        d, shown = found.decomposition, setting(found.decomposition)
        exact = [e for c in d.components for e in c] + [d.gamma, 1 - d.gamma, *(e for pair in d.singular for e in pair)]
        printed = [e for row in shown.rows for e in row[:3]]
        printed += [shown.gamma, shown.null_mass, *(e for pair in shown.singular for e in pair)]
        letters = {letter: value for letter, value in shown.legend if letter.name != "E"}
        yield from ((p, p.xreplace(letters), e) for p, e in zip(printed, exact, strict=True))


def visible(tex):
    for command in (r"\left", r"\right", r"\frac", "{", "}", " "):
        tex = tex.replace(command, "")
    return tex


@pytest.mark.parametrize("family", some(FAMILIES, 14), ids=lambda f: f.slug)
def test_shown_is_equal_to_the_normal_form_and_no_longer(family):
    for shown, value, exact in cells(family()):
        assert normal(value - exact) == 0
        before = sp.factor(normal(shown))  # the normal form in the letters of the table, exponents together
        assert len(text(shown)) <= len(str(before))
        assert len(visible(latex(shown))) <= len(visible(latex(before)))
    for formula in (family().local_epsilon(), family().shuffle_index()):
        assert len(text(formula)) < 200


def test_as_in_the_papers():
    def shown(slug):
        return [text(row[2]) for row in setting(catalogue()[slug]().blanket("x0", "x1")).rows]

    assert shown("rappor")[0] == "s/(s + 1)**D + s/(s + 1)**2"
    assert shown("local-hashing")[0] == "(l**(1 - D)*t + (l - 1)**2/l)/(l + t - 1)"
    assert shown("subset-selection")
    assert text(setting(catalogue()["local-hashing"]().blanket()).gamma) == "(l + l**(1 - D)*(t - 1))/(l + t - 1)"
    k, d = sp.symbols("k d", integer=True)
    assert text(k - d) == text(-d + k) == "k - d"
    assert latex(k - d) == "k - d"


@pytest.mark.parametrize("slug", ["rappor", "local-hashing", "cms"])
def test_large_exponents_are_shown_as_they_stand(slug):
    (name,) = catalogue()[slug].exponents
    for shown, value, exact in cells(catalogue()[slug](**{name: 32})):
        assert normal(value - exact) == 0
        assert len(text(shown)) < 60
    large = catalogue()[slug](**{name: 10**4}).blanket()
    assert "10000" in text(setting(large).rows[0][2]) or slug != "rappor"
    small = catalogue()[slug](**{name: 40}).blanket()
    assert normal(small.gamma - sum(c.mass for c in small.components)) == 0


@pytest.mark.parametrize(
    "formula",
    [
        "1/(x - 1) + 1/(x - 2)", "2**D/(2**D + 1) - 1", "(x - 1)**3/(1 - x)", "x**D*y**D - x**D - y**D + 1",
        "(x + 1)**40 + (x + 1)**(-41)", "-x/(y - x)", "1/2 + x/2", "sqrt(2)*x/(sqrt(2) + 1)", "exp(x)*3**D/9",
    ],
)  # fmt: skip
def test_any_formula_keeps_its_value(formula):
    x, y = sp.symbols("x y", real=True)
    expr = sp.sympify(formula, {"x": x, "y": y, "D": sp.Symbol("D", integer=True)})
    found = arranged(expr)
    assert normal(found - expr) == 0
    assert len(str(found)) <= len(str(normal(expr))) or formula.startswith("(x + 1)**40")


def test_what_has_no_normal_form_stays():
    for expr in (sp.oo, sp.Max(EPS0.symbol, 1), sp.sin(EPS0.symbol)):
        assert arranged(expr) == expr


def test_doubles_are_shown_as_they_were_typed():
    typed, exact = sa.RandomizedResponse(k=3, eps0=0.1), sa.RandomizedResponse(k=3, eps0="0.1")
    assert repr(typed) == "RandomizedResponse(k=3, eps0=0.1)"
    assert repr(exact) == "RandomizedResponse(k=3, eps0=1/10)"
    assert repr(sa.RandomizedResponse(k=3, eps0=np.float64(0.5))) == "RandomizedResponse(k=3, eps0=1/2)"
    assert typed != exact
    assert typed.local_epsilon() == sp.Rational(*(0.1).as_integer_ratio())
    assert "e^{0.1}" in typed.blanket()._repr_latex_()
    for page in (typed.blanket()._repr_latex_(), str(typed.blanket()), text(typed.shuffle_index())):
        assert "3602879701896397" not in page
    assert text(-sp.Rational(*(0.3).as_integer_ratio())) == "-0.3"


def test_lambdify_broadcasts_over_arrays():
    evaluate = catalogue()["rappor"]().blanket().lambdify()
    budgets, sizes = np.array([[0.5], [1.0]]), np.array([2.0, 3.0, 5.0])
    found = evaluate(eps0=budgets, D=sizes)
    assert {x.shape for row in found for x in row} == {(2, 3)}
    for i, e in enumerate(budgets[:, 0]):
        for j, size in enumerate(sizes):
            one = evaluate(eps0=float(e), D=int(size))
            for many, single in zip(found, one, strict=True):
                for a, b in zip(many, single, strict=True):
                    assert a[i, j] == pytest.approx(b, rel=1e-12)
