"""High frequencies bounded by the density of G: against transforms by numerical integration, and where they matter."""

import flint
import numpy as np
import pytest
import sympy as sp
from flint import acb, acb_series, arb

import symamp as sa
from symamp.laws.density import flat_cells
from symamp.laws.law import Level
from symamp.numbers.systems import Holomorphic
from symamp.sums.density import enclose_smooth
from symamp.sums.kernels.tilted import TiltedLaw


def _transform(e, theta, u):
    """Return M(theta) and |phi(u)| of Laplace noise with eps0 = 1 at (0, 1), by Simpson's rule in doubles."""
    y, step = np.linspace(0.5, 1.0, 20001, retstep=True)
    w = step / 3 * np.where(np.arange(20001) % 2, 4.0, 2.0)
    w[[0, -1]] = step / 3
    ratio = np.exp(2 * y - 1)

    def moment(s):
        arms = sum(np.sum(w * np.exp(-y) / 2 * np.exp(s * g)) for g in (ratio - e, 1 - e * ratio))
        return 1 - np.exp(-0.5) + arms + sum(np.exp(s * g - 1) / 2 for g in (np.e - e, 1 - e * np.e))

    return moment(theta), abs(moment(theta + 1j * u)) / moment(theta)


@pytest.mark.parametrize(("eps", "theta"), [(0.1, 1.0), (0.7, 12.0)])
def test_the_bound_is_above_the_transform(eps, theta):
    law, _ = sa.Laplace(eps0=1).blanket_laws(None, 100)
    seen = []
    with flint.ctx.workprec(64):
        cells = flat_cells(law, arb(eps).exp(), 1.5, theta)
        for u in (8.0, 40.0, 200.0):
            m, modulus = _transform(np.exp(eps), theta, u)
            loss = cells.tilted(arb(theta), arb(m)).beyond(arb(u))
            assert modulus <= 1 - float(loss) + 1e-9
            seen.append(float(loss))
    assert seen == sorted(seen)
    assert seen[-1] > 0.004


def test_floats_and_balls_agree():
    law, _ = sa.Laplace(eps0=1).blanket_laws(None, 100)
    with flint.ctx.workprec(64):
        cells = flat_cells(law, arb(1.5), 1.5, 2.0)
        balls = cells.tilted(arb(2.0), arb(1))
        tilted = object.__new__(TiltedLaw)
        g = type("G", (), {"flat": cells.floats(0)})()
        for name, value in (("g", g), ("theta", 2.0), ("cumulants", type("K", (), {"k0": 0.0})())):
            object.__setattr__(tilted, name, value)
        for u in (5.0, 50.0, 500.0):
            assert float(balls.beyond(arb(u))) == pytest.approx(tilted.loss(np.array([u]))[0], rel=1e-12, abs=1e-12)


def test_formulas_give_their_derivatives():
    y = sp.Symbol("y")
    formula = sp.exp(-(y**2)) * sp.sqrt(1 + y) / sp.log(y + 2) ** 3
    with flint.ctx.workprec(80):
        found = Holomorphic(formula, y)(acb_series([acb(arb(2)), acb(1)], 2))
        slope = arb(str(sp.N(sp.diff(formula, y).subs(y, 2), 25)))
        assert abs(found[1].real - slope) < arb(10) ** -18
        across = Holomorphic(sp.log(y), y)(acb_series([acb(arb(0, 1)), acb(1)], 2))
        assert not (across[0] if isinstance(across, acb_series) else acb(across)).is_finite()


def test_levels_just_below_the_local_budget():
    """The divergence is beyond doubles, and frequencies that no node could follow are not looked at."""
    law, _ = sa.Laplace(eps0=1).blanket_laws(None, 10**4)
    inside = enclose_smooth(law, Level.of_float(0.999), 10**4)
    assert inside.relative_gap < 1e-5
    with flint.ctx.workprec(64):
        assert abs(float(inside.upper.log() / arb(10).log()) + 2326.921) < 0.01


def test_small_tilts_are_served_by_the_nodes_of_large_ones():
    """With five users a tilt beyond needs large exponents, of which small tilts see nothing."""
    law, _ = sa.Laplace(eps0=1).blanket_laws(None, 5)
    assert enclose_smooth(law, Level.of_float(0.9), 5).relative_gap < 2e-3
