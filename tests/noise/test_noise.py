"""Noise on an interval: families, cut tails, and densities of one's own, against numbers from elsewhere."""

import math

import flint
import numpy as np
import pytest
import sympy as sp
from flint import acb, arb

import symamp as sa
from symamp.laws.law import Level
from symamp.numbers.systems import Holomorphic
from symamp.randomizers.noise.additive_noise import Z
from tests.between import enclosed
from tests.sampled import some

X, Y = sp.symbols("x y", real=True)
FAMILIES = [sa.Laplace(eps0=2), sa.Logistic(eps0=1), sa.Cauchy(scale=1), sa.Gaussian(sigma=2)]
# Blanket eps at delta = 1e-6, from Gauss-Legendre sums in doubles with two tilts and two cuts.
GAUSSIAN = [(10**6, "5", 0.00048307717052), (10**6, "2", 0.0016150162965), (10**3, "5", 0.02247111687)]


@pytest.mark.parametrize(("n", "sigma", "eps"), some(GAUSSIAN, 1))
def test_gaussian_brackets_contain_the_reference(n, sigma, eps):
    answer = sa.epsilon(sa.Gaussian(sigma=sigma), n=n, delta="1e-6", method="worst_pair")
    assert answer.bound.lower < eps < answer.bound.upper
    assert answer.bound.upper / answer.bound.lower - 1 < 8e-4
    assert answer.method == "worst_pair"


@pytest.mark.parametrize("noise", FAMILIES, ids=repr)
def test_the_mass_of_the_blanket_is_twice_the_tail(noise):
    with flint.ctx.workprec(100):
        gamma = arb(str(sp.N(noise.gamma(), 28)))
        assert abs(2 * noise.survival(arb(0.5)) - gamma) < arb(10) ** -25


@pytest.mark.parametrize("noise", FAMILIES, ids=repr)
def test_survival_is_the_integral_of_the_density(noise):
    density = Holomorphic(noise.half_density(), Z)
    with flint.ctx.workprec(100):
        for a, b in ((0.25, 1.0), (1.0, 3.0)):
            whole = acb.integral(lambda z, _: density(z), a, b).real
            assert abs(noise.survival(arb(a)) - noise.survival(arb(b)) - whole) < arb(10) ** -20


@pytest.mark.parametrize("noise", FAMILIES[:3], ids=repr)
def test_the_local_ratio_is_the_largest_ratio(noise):
    largest, seen = float(noise.local_ratio()), 0.0
    ratios = [(float(s.start), min(float(s.end), 60.0), Holomorphic(s.ratio, sp.Symbol("y"))) for s in noise.sides()]
    with flint.ctx.workprec(128):
        for start, end, ratio in ratios:
            seen = max(seen, *(float(ratio(acb(start + (end - start) * k / 2000)).real) for k in range(2001)))
    assert largest * (1 - 1e-4) < seen < largest * (1 + 1e-12)


@pytest.mark.parametrize("noise", FAMILIES[1:3], ids=repr)
def test_more_cells_lie_between_fewer(noise):
    n, level = 10**4, Level.of_float(0.03)
    law, _ = noise.blanket_laws(level, n)
    found, fewer = (enclosed(law, level, n, cells=cells) for cells in (0, 40))
    assert fewer.lower.lower() < found.lower.lower() < found.upper.upper() < fewer.upper.upper()
    assert fewer.upper.upper() < 1.02 * fewer.lower.lower()


def test_a_density_of_ones_own_is_the_family_where_they_are_the_same():
    given = sa.DensityMechanism(sp.exp(-sp.Abs(Y - X)) / 2, X, Y)
    one, other = (sa.delta(m, n=10**6, eps="0.004", method="worst_pair") for m in (given, sa.Laplace(eps0=1)))
    assert one.bound.lower < other.bound.upper
    assert other.bound.lower < one.bound.upper
    assert given.worst_pair().proved


def test_only_the_width_of_the_interval_of_inputs_counts():
    wide = sa.DensityMechanism(sp.exp(-sp.Abs(Y - X) / 4) / 8, X, Y, inputs=(-2, 2))
    assert wide == sa.DensityMechanism(sp.exp(-sp.Abs(Y - X)) / 2, X, Y)
    for wrong in ((1, 0), (0, 0), (0,), 3):
        with pytest.raises(sa.errors.ArgumentError, match="inputs"):
            sa.DensityMechanism(sp.exp(-sp.Abs(Y - X)) / 2, X, Y, inputs=wrong)


def test_a_density_whose_tail_is_cut():
    """Ratios still vary far out: a cut costs less than the gap."""
    given = sa.DensityMechanism(1 / (4 * sp.cosh((Y - X) / 2) ** 2), X, Y)
    assert sp.simplify(given.gamma() - sa.Logistic(eps0=1).gamma()) == 0
    assert given.local_ratio() == sp.E
    asked = {"n": 10**6, "eps": "0.0018", "method": "worst_pair"}
    one, other = (sa.delta(m, **asked) for m in (given, sa.Logistic(eps0=1)))
    assert one.bound.lower < other.bound.upper
    assert other.bound.lower < one.bound.upper
    assert one.bound.upper / one.bound.lower < 1 + 8e-4


@pytest.mark.slow
def test_noise_whose_tail_is_an_arctangent():
    """The hyperbolic secant; delta from Gauss-Legendre sums and the inversion integral in doubles."""
    given = sa.DensityMechanism(1 / (sp.pi * sp.cosh(Y - X)), X, Y)
    assert abs(float(given.gamma()) - 4 / np.pi * np.arctan(np.exp(-0.5))) < 1e-14
    assert given.local_ratio() == sp.E
    found = sa.delta(given, n=10**5, eps="0.006", method="worst_pair").bound
    assert found.lower < 1.45150684844e-5 < found.upper < found.lower * (1 + 4e-4)


@pytest.mark.parametrize(
    ("density", "error"),
    [
        (sp.exp(-sp.Abs(Y - X)), sa.errors.RowSumError),
        (sp.exp(-sp.Abs(Y - 2 * X)) / 2, sa.errors.ArgumentError),
        (sp.exp(-sp.Abs(Y)) / 2, sa.errors.ArgumentError),
        (0.5 * sp.exp(-sp.Abs(Y - X)), sa.errors.ArgumentError),
        (1 / (sp.pi * (1 + (Y - X) ** 2)), sa.errors.UndecidedOrderError),
        ((Y - X) ** 2 * sp.exp(-sp.Abs(Y - X)) / 4, sa.errors.UndecidedOrderError),
        (sp.exp(-((Y - X - 1) ** 2)) / sp.sqrt(sp.pi), sa.errors.ArgumentError),
    ],
)
def test_what_is_not_proved_is_refused(density, error):
    with pytest.raises(error):
        sa.DensityMechanism(density, X, Y)


def test_parameters_that_are_left_free_have_formulas_but_no_numbers():
    assert sa.Logistic().local_epsilon() == sa.Parameter("eps0", lower=0).symbol
    with pytest.raises(sa.errors.ArgumentError, match="eps0"):
        sa.epsilon(sa.Laplace(), n=100, delta=1e-6)
    with pytest.raises(sa.errors.ArgumentError):
        sa.Gaussian(sigma=0)


@pytest.mark.parametrize("name", ["limit", "simplify", "integrate"])
def test_what_sympy_gets_wrong_about_a_density_is_noticed(name, monkeypatch):
    x, y = sp.symbols("x y", real=True)
    right = getattr(sp, name)
    wrong = {
        "limit": lambda *_: sp.Integer(2),
        "simplify": lambda e: right(e) * (2 if e.has(sp.exp) else 1),
        "integrate": lambda *args, **kw: right(*args, **kw) * (1 if not kw else 2),
    }
    monkeypatch.setattr(sp, name, wrong[name])
    with pytest.raises(sa.errors.SymampError):
        sa.DensityMechanism(sp.exp(-3 * sp.Abs(y - x)) * sp.Rational(3, 2), x, y)


def test_a_level_beyond_doubles_has_the_cut_of_a_lower_one():
    assert sa.Gaussian(sigma=2).ratio_at_cut(Level.of_float(800.0), 13) < math.inf
    assert 0.0 <= sa.delta(sa.Gaussian(sigma=2), n=13, eps=800).upper < 1e-200
    with pytest.raises(sa.errors.PrecisionError, match="1e-200"):
        sa.epsilon(sa.Gaussian(sigma=2), n=13, delta="1e-250")


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "eps"), some([(2, "1/2"), (1, 4)], 1))
def test_small_divergences_of_gaussian_noise_are_told_from_both_sides(sigma, eps):
    """Of some 1e-26 and 1e-38: what is cut off must be small beside the divergence, not beside 1."""
    answer = sa.delta(sa.Gaussian(sigma=sigma), n=1000, eps=eps)
    assert 0.0 < answer.lower < answer.upper < 2.0 * answer.lower < 1e-25


@pytest.mark.slow
def test_very_many_users_with_normal_noise_of_small_scale_have_a_positive_lower_end():
    """Sums on a lattice say nothing of others at 1, whose ratios are huge, and much of others at 0."""
    answer = sa.epsilon(sa.Gaussian(sigma="1/2"), n=10**8, delta="1e-6")
    assert 0.0018 < answer.lower < answer.upper < 0.0029
    assert answer.dataset.others[0][0] == "0"
