"""What noise with a density shows of itself: a table of pieces, the curve of ratios, the distribution of G."""

from math import exp, log, sinh

import numpy as np
import pytest
import sympy as sp

import symamp as sa


def test_the_table_of_pieces():
    table = sa.Laplace()._repr_latex_()
    assert table.count(r"\\") == 3
    assert r"e^{\varepsilon_0}" in table
    assert r"\infty" in table
    assert "Send" not in table


def test_pictures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = sa.Laplace(eps0=1).plot_ratios()
    first, second = (line.get_xydata() for line in ax.lines)
    # An L: one ratio is 1, the other runs to e.
    assert {round(v, 6) for v in first[:, 0]} == {1.0} == {round(v, 6) for v in second[:, 1]}
    assert first[:, 1].max() == pytest.approx(np.e) == second[:, 0].max()
    points = ax.collections[0].get_offsets()
    assert sorted(map(tuple, np.round(points, 6))) == [(1.0, round(np.e, 6)), (round(np.e, 6), 1.0)]
    steps = sa.Laplace(eps0=1).plot_distribution("1/4").lines[0].get_xydata()
    assert steps[-1, 1] == pytest.approx(1.0)
    assert (np.diff(steps[:, 1]) >= 0).all()
    assert steps[0, 0] == pytest.approx(1 - np.exp(1.25))
    assert sa.Gaussian(sigma=2).plot_ratios() is not None
    with pytest.raises(sa.errors.SymampError):
        sa.Laplace(eps0=1).plot_distribution("much")


def test_a_formula_is_written_once_and_as_a_person_would():
    """f(y - 1)/f(y) = e^((2y - 1)/(2 sigma^2)) on all messages right of 1/2."""
    table = sa.Gaussian()._repr_latex_()
    assert table.count(r"\\") == 2  # the head, and one row
    assert r"e^{\frac{2 y - 1}{2 \sigma^{2}}}" in table


def test_the_distribution_of_g_of_laplace_noise_is_that_of_appendix_b():
    """Su, Cheng, Wang, Appendix B, for inputs {0, 1}: the masses of r1 under the blanket, here integrated by hand."""
    found = sa.Laplace().ratio_distribution()
    eps0 = sa.Laplace().parameters[0].symbol
    v = sp.Symbol("v", positive=True)
    at = sp.lambdify((v, eps0), found, "math")
    for budget in (0.5, 2.0):
        # Right of 1/2 the blanket is eps0/2 e^(-eps0 y), and r1 <= v up to y = (1 + log(v)/eps0)/2.
        for ratio in (1.0, 1.3, exp(budget) - 1e-9):
            expected = (exp(-budget / 2) - exp(-budget / 2 * (1 + log(ratio) / budget))) / 2
            assert at(ratio, budget) == pytest.approx(expected, rel=1e-12, abs=1e-15)
        assert at(exp(budget) + 1e-9, budget) == pytest.approx(exp(-budget / 2) / 2, rel=1e-12)
    assert sp.simplify((found - sa.Laplace().gamma() / 2).subs({eps0: 2, v: 100})) == 0


def test_a_ratio_that_is_not_inverted_is_refused():
    x, y = sp.symbols("x y", real=True)
    noise = sa.DensityMechanism((1 + sp.Abs(y - x)) * sp.exp(-sp.Abs(y - x)) / 4, x, y)
    with pytest.raises(sa.errors.UndecidedOrderError, match="does not invert"):
        noise.ratio_distribution()
    assert sa.Gaussian(sigma=1).ratio_distribution().has(sp.erf)


def test_laplace_noise_between_two_inputs_is_nearly_a_mixture_of_that_at_both():
    """The identity of docs/findings/laplace.md: what is missing lies between them, with a mass of (eps0 h)^2/8."""
    eps0, width = 3.0, 0.25
    y = np.linspace(-1.0, 1.5, 20_001)

    def density(x):
        return eps0 / 2 * np.exp(-eps0 * np.abs(y - x))

    for x in (0.05, 0.125, 0.2):
        weights = [sinh(eps0 * d) / sinh(eps0 * width) for d in (width - x, x)]
        rest = density(x) - weights[0] * density(0.0) - weights[1] * density(width)
        assert np.abs(rest[(y <= 0.0) | (y >= width)]).max() < 1e-12
        assert rest.min() > -1e-12
        assert 1.0 - sum(weights) <= (eps0 * width) ** 2 / 8
