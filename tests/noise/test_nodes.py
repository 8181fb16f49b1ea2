"""Nodes of laws with a density at extreme levels and tilts, and formulas that give their derivatives."""

import flint
import sympy as sp
from flint import acb, acb_series, arb

import symamp as sa
from symamp.laws.law import Level
from symamp.numbers.systems import Holomorphic
from symamp.sums.density import enclose_smooth


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
    """The divergence is beyond doubles, and at frequencies that no node could follow the finite sandwich serves."""
    law, _ = sa.Laplace(eps0=1).blanket_laws(None, 10**4)
    inside = enclose_smooth(law, Level.of_float(0.999), 10**4)
    assert inside.relative_gap < 0.15
    with flint.ctx.workprec(64):
        below, above = (float(x.log() / arb(10).log()) for x in (inside.lower.lower(), inside.upper.upper()))
        assert below < -2326.921 < above


def test_small_tilts_are_served_by_the_nodes_of_large_ones():
    """With five users a tilt beyond needs large exponents, of which small tilts see nothing."""
    law, _ = sa.Laplace(eps0=1).blanket_laws(None, 5)
    assert enclose_smooth(law, Level.of_float(0.9), 5).relative_gap < 2e-3
