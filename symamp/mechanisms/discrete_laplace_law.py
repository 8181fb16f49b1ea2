"""The law of discrete Laplace noise at its worst pair as formulas in B, the budget and the number of the message."""

from __future__ import annotations

from typing import NamedTuple

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.parameter import EPS0, Parameter
from symamp.derivation.decomposition import Component

B = Parameter("B", lower=sp.Integer(1), integer=True)
"""The largest input."""
J = sp.Symbol("j", integer=True, nonnegative=True)
"""The number of a message."""


class Run(NamedTuple):
    """Messages ``first`` to ``last``: the component of message j as a formula in j; none if last < first."""

    first: sp.Expr
    last: sp.Expr
    component: Component


def discrete_laplace_law() -> tuple[Run, ...]:
    """Return the blanket of (0, B) for inputs and messages 0..B, B a symbol: the lower half of the messages.

    The messages B - j are their mirror images, with r0 and r1 exchanged; a message B/2 has both ratios 1 and comes
    once. Clipped or not, the law is the same. With a = e^(-eps0/B) the ratio of message j is a^-(B - 2j), its mass
    a^(B - j) times 1/(1 + a) at the end and (1 - a)/(1 + a) inside (docs/proofs/worst_pair.md).

    >>> end, inside = discrete_laplace_law()
    >>> end.component.ratio0
    exp(eps0)
    >>> inside.first, inside.last
    (1, floor(B/2))
    """
    size, eps0 = B.symbol, EPS0.symbol
    a = sp.exp(-eps0 / size)
    ratio = sp.exp(eps0 * (size - 2 * J) / size)
    mass = sp.exp(-eps0 * (size - J) / size)
    inside = Component(ratio, sp.S.One, (1 - a) / (1 + a) * mass)
    end = Component(normal(sp.exp(eps0)), sp.S.One, sp.exp(-eps0) / (1 + a))
    return Run(sp.S.Zero, sp.S.Zero, end), Run(sp.S.One, sp.floor(size / 2), inside)


def discrete_laplace_gamma(even: bool) -> sp.Expr:
    """Return the mass of the blanket as a formula in B and eps0: e^(-eps0/2) for even B, less for odd ones.

    >>> discrete_laplace_gamma(even=True)
    exp(-eps0/2)
    """
    size, eps0 = B.symbol, EPS0.symbol
    whole = sp.exp(-eps0 / 2)
    a = sp.exp(-eps0 / size)
    return whole if even else whole * 2 * sp.sqrt(a) / (1 + a)
