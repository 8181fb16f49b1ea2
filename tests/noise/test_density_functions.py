"""erf, erfc and atan in densities: values, where atan is holomorphic, and truncated noise normalised by them."""

import flint
import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import acb, acb_series, arb

import symamp as sa
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero
from symamp.numbers.substitution import put
from symamp.numbers.systems import FLINT, MPMATH, NUMPY, Holomorphic, compile_expression

X, Y = sp.symbols("x y", real=True)
GAUSSIAN = sp.exp(-((Y - X) ** 2) / 2) * sp.sqrt(2 / sp.pi) / (sp.erf((1 - X) / sp.sqrt(2)) + sp.erf(X / sp.sqrt(2)))
CAUCHY = 2 / ((4 + (Y - X) ** 2) * (sp.atan((1 - X) / 2) + sp.atan(X / 2)))


@pytest.mark.parametrize("name", ["erf", "erfc", "atan"])
def test_values_in_all_number_systems(name):
    compiled = compile_expression(getattr(sp, name)(X), (X,))
    for x in (-3, -1, 0, 1, 2):
        expected = getattr(mpmath, name)(x)
        with flint.ctx.workprec(100):
            assert abs(compiled(FLINT, {"x": arb(x)}) - arb(str(expected))) < 1e-12
        assert float(abs(compiled(MPMATH, {"x": mpmath.mpf(x)}) - expected)) < 1e-12
        assert abs(compiled(NUMPY, {"x": float(x)}) - float(expected)) < 1e-12


def test_atan_is_finite_off_its_cuts_only():
    f = Holomorphic(sp.atan(Y), Y)
    for real, imaginary, finite in ((0, 0.5, True), (2, 3, True), (0, 1.5, False), (0.05, -2, False)):
        box = acb(arb(real, 0.1), arb(imaginary, 0.1))
        assert bool(f(box).is_finite()) is finite
        assert bool(f.with_slope(box)[0].is_finite()) is finite


def test_algebra_of_opaque_functions():
    assert normal(sp.erfc(X) + sp.erf(X)) == 1
    assert is_zero(sp.erf(2 * (X - 1)) + sp.erf(2 - 2 * X))
    assert not is_zero(sp.atan(X) - X)
    # A relation that normal forms do not know is not taken for its absence.
    with pytest.raises(sa.errors.UndecidedOrderError):
        is_zero(2 * sp.atan(X) - sp.atan(2 * X / (1 - X**2)))
    assert put(sp.erf(X) / sp.pi, {X: sp.Rational(1, 2)}) == sp.erf(sp.Rational(1, 2)) / sp.pi


@pytest.mark.slow
@pytest.mark.parametrize("density", [pytest.param(GAUSSIAN, marks=pytest.mark.slow), CAUCHY])
def test_truncated_noise_against_quadrature(density):
    found = sa.DensityMechanism(density, inputs=(0, 1), messages=(0, 1))
    assert found.worst_pair().proved
    places = (np.arange(20_000) + 0.5) / 20_000
    both = [sp.lambdify(Y, sp.N(density.subs(X, x)), "numpy")(places) for x in (0, 1)]
    for eps in (0.0, 0.125):
        expected = max(np.maximum(a - np.exp(eps) * b, 0.0).mean() for a, b in (both, both[::-1]))
        alone = sa.delta(found, n=1, eps=eps, method="worst_pair").bound
        assert alone.lower * (1 - 1e-4) < expected < alone.upper * (1 + 1e-4)
        assert alone.gap < 1e-3


def test_formulas_give_their_derivatives():
    y = sp.Symbol("y")
    formula = sp.exp(-(y**2)) * sp.sqrt(1 + y) / sp.log(y + 2) ** 3
    with flint.ctx.workprec(80):
        found = Holomorphic(formula, y)(acb_series([acb(arb(2)), acb(1)], 2))
        slope = arb(str(sp.N(sp.diff(formula, y).subs(y, 2), 25)))
        assert abs(found[1].real - slope) < arb(10) ** -18
        across = Holomorphic(sp.log(y), y)(acb_series([acb(arb(0, 1)), acb(1)], 2))
        assert not (across[0] if isinstance(across, acb_series) else acb(across)).is_finite()
