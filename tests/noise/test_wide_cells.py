"""Densities whose formulas say little on wide cells: their bounds are those of a lattice and its Fourier transform."""

import numpy as np
import pytest
import sympy as sp
from flint import acb, arb

import symamp as sa
from symamp.numbers.systems import Holomorphic
from symamp.randomizers.noise.additive_noise import Y
from symamp.randomizers.noise.density import steady

X, MESSAGE = sp.symbols("x y", real=True)
Z = sp.Symbol("z", positive=True)
POINTS = 400_000


def logistic(rate):
    return rate * sp.exp(-rate * Z) / (1 + sp.exp(-rate * Z)) ** 2, 1 / (1 + sp.exp(-rate * Z)) - sp.Rational(1, 2)


SQUARE = 1 / sp.cosh(Z) ** 4, sp.tanh(Z) - sp.tanh(Z) ** 3 / 3
CAUCHY = 1 / (1 + 25 * Z**2), sp.atan(5 * Z) / 5
STUDENT = (1 + Z**2 / 2) ** sp.Rational(-3, 2), Z / sp.sqrt(1 + Z**2 / 2)
GAMMA = (1 + 3 * Z) * sp.exp(-3 * Z), (2 - (2 + 3 * Z) * sp.exp(-3 * Z)) / 3


def in_window(half, low, high):
    """The density of noise that is truncated to a window."""
    density, mass = half
    return density.subs(Z, sp.Abs(MESSAGE - X)) / (mass.subs(Z, high - X) + mass.subs(Z, X - low))


def by_lattice(density, low, high, n, eps):
    """The divergence of the blanket of the inputs 0 and 1, from n-fold sums of a variable on a lattice."""
    places = low + (high - low) * (np.arange(POINTS) + 0.5) / POINTS
    first, second = (sp.lambdify(MESSAGE, sp.N(density.subs(X, x)), "numpy")(places) for x in (0, 1))
    blanket = np.minimum(first, second)
    g, mass = (first - np.exp(eps) * second) / blanket, blanket * (high - low) / POINTS
    size, deviation = 2**18, np.sqrt(n * (mass @ g**2))
    step = 40.0 * deviation / size
    left = np.floor(g / step)
    share = g / step - left
    weights = np.zeros(size)
    np.add.at(weights, left.astype(int) % size, mass * (1.0 - share))
    np.add.at(weights, (left.astype(int) + 1) % size, mass * share)
    weights[0] += 1.0 - mass.sum()
    law = np.fft.irfft(np.fft.rfft(weights) ** n, size)
    values = step * np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size)
    return float(np.maximum(values, 0.0) @ law) / n


@pytest.mark.parametrize(
    ("half", "far", "eps"),
    [
        (logistic(sp.Rational(5, 2)), 40, 0.25),
        (logistic(sp.Integer(6)), 40, 1.9),
        (SQUARE, 40, 0.4),
        (CAUCHY, 40, 0.55),
        (GAMMA, 40, 0.28),
        (STUDENT, 20, 0.09),
    ],
)
def test_windows_far_beyond_the_inputs(half, far, eps):
    density = in_window(half, -far, far)
    mechanism = sa.DensityMechanism(density, X, MESSAGE, inputs=[0, 1], messages=(-far, far))
    bound = sa.delta(mechanism, n=1000, eps=eps, method="density_pairs").bound
    expected = max(by_lattice(d, -far, far, 1000, eps) for d in (density, density.subs(X, 1 - X)))
    assert bound.lower * (1 - 1e-3) < expected < bound.upper * (1 + 1e-3)
    assert bound.gap < 2e-2


ROOT = 1 / sp.sqrt(1 + Z**2), sp.log(Z + sp.sqrt(1 + Z**2))


@pytest.mark.parametrize(("half", "far"), [(ROOT, 4), (ROOT, 40), (STUDENT, 4), (STUDENT, 40)])
def test_largest_ratios_of_formulas_with_roots(half, far):
    density = in_window(half, -far, far)
    mechanism = sa.DensityMechanism(density, X, MESSAGE, inputs=[0, 1], messages=(-far, far))
    places = np.linspace(-far, far, POINTS + 1)
    first, second = (sp.lambdify(MESSAGE, sp.N(density.subs(X, x)), "numpy")(places) for x in (0, 1))
    largest = np.maximum(first / second, second / first).max()
    assert float(mechanism.local_ratio()) == pytest.approx(largest, rel=1e-8)


def test_a_root_that_is_nowhere_has_no_slope():
    wide = acb(arb(0, 1))
    for formula in (Y + sp.sqrt(Y), sp.sqrt(Y), Y + sp.log(Y), Y * sp.sqrt(2 + Y) + sp.atan(2 * Y + 2 * sp.sqrt(Y))):
        assert not Holomorphic(formula, Y).with_slope(wide)[1].is_finite()


@pytest.mark.parametrize("rate", [sp.Rational(5, 2), sp.Rational(1, 2), sp.Rational(7, 3), sp.pi / 2])
def test_logistic_noise_written_as_a_formula(rate):
    density = logistic(rate)[0].subs(Z, sp.Abs(MESSAGE - X))
    noise = sa.DensityMechanism(density, X, MESSAGE)
    answer = sa.epsilon(noise, n=1000, delta="1e-6")
    assert answer.upper < 1.01 * answer.lower
    eps, far = answer.upper, int(90 / rate)
    bound = sa.delta(noise, n=1000, eps=eps, method="worst_pair").bound
    expected = by_lattice(density, -far, far + 1, 1000, eps)
    assert bound.lower * (1 - 1e-3) < expected < bound.upper * (1 + 1e-3)
    assert bound.gap < 1e-3


@pytest.mark.parametrize("half", [GAMMA, SQUARE])
def test_ends_are_proved_worst_without_warnings(half):
    mechanism = sa.DensityMechanism(in_window(half, 0, 1), X, MESSAGE, inputs=(0, 1), messages=(0, 1))
    assert mechanism.worst_pair().proved


def test_normalisations_that_need_an_identity():
    u = MESSAGE - X
    whole = (sp.tanh(1) + 1 / sp.tanh(1)) * sp.tanh(2) / 4  # 1/2
    logarithm = sp.sinh(1) / (sp.cosh(2 * u) + sp.cosh(1))
    for density in (whole / sp.cosh(u) ** 2, logarithm):
        assert sa.DensityMechanism(density, X, MESSAGE).worst_pair().proved
    with pytest.raises(sa.errors.RowSumError, match="divide it by that"):
        sa.DensityMechanism(sp.exp(-sp.Abs(u)), X, MESSAGE)
    with pytest.raises(sa.errors.UndecidedOrderError, match="bound the messages"):
        sa.DensityMechanism(sp.exp(-sp.sqrt(1 + u**2)), X, MESSAGE)


def test_the_largest_exponential_is_taken_out():
    formula = (sp.exp(Y) + 1) ** 2 / (sp.exp(Y) + sp.exp(-(Y**2)))
    for far in (-30, 1, 30):
        found = steady(formula, {Y: sp.Integer(far)})
        assert sp.simplify(found / formula) == 1
        inner = [a for a in found.atoms(sp.Add) if a.has(sp.exp) and a.func is sp.Add and a.is_number is False]
        assert all(float(abs(a.subs(Y, far))) < 3 for a in inner if not a.is_polynomial(Y))


def test_few_users_of_steep_noise_have_a_narrow_bracket():
    answer = sa.epsilon(sa.Laplace(eps0=4), n=400, delta="1e-6")
    assert answer.method == "interval"
    assert answer.upper < 1.012 * answer.lower
