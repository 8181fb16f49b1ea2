"""The ends of an interval of inputs as the worst pair, against stop-loss transforms summed in floats from the laws."""

import numpy as np
import pytest
import sympy as sp

import symamp as sa
from symamp.randomizers.noise.density_mechanism import ends_are_worst, strips

X, Y = sp.symbols("x y", real=True)
Q, UNIT = sp.Rational, (sp.S.Zero, sp.S.One)
CELLS = (np.arange(1000) + 0.5) / 1000


def laplace(eps0):
    return eps0 * sp.exp(-eps0 * sp.Abs(Y - X)) / (2 - sp.exp(-eps0 * X) - sp.exp(eps0 * (X - 1)))


def logistic(scale):
    survival = [1 / (1 + sp.exp(z / scale)) for z in (-X, 1 - X)]
    w = sp.exp((X - Y) / scale)
    return w / (1 + w) ** 2 / scale / (survival[0] - survival[1])


def gaussian(scale):
    half = [sp.erf(z / (scale * sp.sqrt(2))) / 2 for z in (X, 1 - X)]
    return sp.exp(-((Y - X) ** 2) / (2 * scale**2)) / (scale * sp.sqrt(2 * sp.pi)) / sum(half)


def cauchy(scale):
    half = [sp.atan(z / scale) for z in (X, 1 - X)]
    return scale / (scale**2 + (Y - X) ** 2) / sum(half)


def student(scale):
    half = [z / sp.sqrt(scale**2 + z**2) for z in (X, 1 - X)]
    return scale**2 / (scale**2 + (Y - X) ** 2) ** Q(3, 2) / sum(half)


def largest_excess(density):
    """D_u(R_x || m) - D_u(R_0 || m) at its largest, m the least density, and how far m lies below that of the ends."""
    value = sp.lambdify((X, Y), density, ["scipy", "numpy"])
    rows = np.array([value(x, CELLS) for x in np.linspace(0.0, 1.0, 41)])
    least = rows.min(axis=0)
    levels = np.linspace(1.0, (rows / least).max(), 100)
    losses = np.array([np.maximum(rows - u * least, 0.0).mean(axis=1) for u in levels])
    return (losses - losses[:, :1]).max(), (np.minimum(rows[0], rows[-1]) - least).max()


@pytest.mark.parametrize(
    "density",
    [
        laplace(4),
        pytest.param(student(2), marks=pytest.mark.slow),
        pytest.param(student(1), marks=pytest.mark.slow),  # flat at the corners (0, 1) and (1, 0)
        gaussian(Q(1, 4)),  # condition 4 holds by less than two per cent
        pytest.param(cauchy(1), marks=pytest.mark.slow),
        pytest.param(gaussian(Q(1, 5)), marks=pytest.mark.slow),
        pytest.param(laplace(Q(1, 10)), marks=pytest.mark.slow),
        pytest.param(logistic(Q(3, 10)), marks=pytest.mark.slow),
    ],
    ids=[
        "laplace 4",
        "student 2",
        "student 1",
        "gaussian 1/4",
        "cauchy 1",
        "gaussian 1/5",
        "laplace 1/10",
        "logistic 3/10",
    ],
)
def test_ends_that_are_worst_are_proved_to_be(density):
    excess, below = largest_excess(density)
    assert max(excess, below) < 1e-6  # the midpoint rule
    assert ends_are_worst(density, (X, Y), UNIT, UNIT)


def test_inputs_are_those_of_any_interval():
    shifted = laplace(1).subs({X: (X - 2) / 3, Y: (Y + 1) / 2}, simultaneous=True) / 2
    assert ends_are_worst(shifted, (X, Y), (sp.Integer(2), sp.Integer(5)), (sp.Integer(-1), sp.Integer(1)))


def test_ends_that_are_not_worst_are_not():
    narrow = student(Q(1, 10))
    excess, below = largest_excess(narrow)
    assert min(excess, below) > 1e-3
    assert not ends_are_worst(narrow, (X, Y), UNIT, UNIT)


@pytest.mark.parametrize(
    "density",
    [
        sp.Piecewise((Q(3, 2), sp.Abs(Y - X) < Q(1, 4)), (Q(1, 2), True)),  # jumps on lines
        sp.Piecewise((sp.S.One, Q(1, 2) > X), (2 * Y, True)),  # a case that changes at an input
        (1 + X) * (1 + Y) ** X / (2 ** (1 + X) - 1),  # not symmetric
        1 - (Y - Q(1, 2)) * (X - Q(1, 2)),  # ratios that fall
        1 + (X - Q(1, 2)) ** 2 * ((Y - Q(1, 2)) ** 2 - Q(1, 12)),  # the middle message is rarest at the ends
    ],
)
def test_other_densities_are_left_to_the_law_above_all_pairs(density):
    assert not ends_are_worst(density, (X, Y), UNIT, UNIT)


def test_strips_cover_the_plane():
    columns = strips([sp.Abs(X + Y - 1) + sp.Max(X, Y)], UNIT, UNIT)
    areas = [sp.integrate(s.top - s.bottom, (sp.Symbol("x", real=True), s.left, s.right)) for c in columns for s in c]
    assert sum(areas) == 1
    assert all(a > 0 for a in areas)


@pytest.mark.slow
def test_pairs_of_five_inputs_are_not_above_the_ends():
    whole = sa.DensityMechanism(laplace(1), inputs=(0, 1), messages=(0, 1))
    most = sa.delta(whole, n=10**4, eps="0.02", method="worst_pair").upper
    five = sa.DensityMechanism(laplace(1), inputs=[Q(k, 4) for k in range(5)], messages=(0, 1))
    assert sa.delta(five, n=10**4, eps="0.02", method="density_pairs").lower <= most
