"""What noise with a density shows of itself: a table of pieces, the curve of ratios, the distribution of G."""

import numpy as np
import pytest

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
