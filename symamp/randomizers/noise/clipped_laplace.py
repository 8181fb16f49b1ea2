"""Laplace noise whose messages are clipped to the interval of inputs: the same law as without clipping."""

from __future__ import annotations

from typing import ClassVar

import sympy as sp

from symamp.decompositions.decomposition import Component
from symamp.decompositions.worst_pair import WorstPair
from symamp.formulas.parameter import EPS0
from symamp.randomizers.noise.laplace import Laplace


class ClippedLaplace(Laplace):
    """Send x + Z clipped to [0, 1], for x in [0, 1] and Z with density (eps0/2) e^(-eps0 abs(z)).

    A message is 0 or 1 with the mass of the tail beyond it. Ratios are constant on the tails of Laplace noise, so that
    each tail may be merged into one message: the law, and all bounds, are those of ``Laplace``.

    >>> ClippedLaplace(eps0=1).gamma()
    exp(-1/2)
    >>> ClippedLaplace().end()
    Component(ratio0=1, ratio1=exp(eps0), mass=exp(-eps0)/2)
    """

    _internal_names = "end"

    name = "Laplace noise clipped to [0, 1]"
    slug: ClassVar[str] = "clipped-laplace"
    declared = (EPS0,)

    def end(self) -> Component:
        """Return the point mass of the message 1 in the blanket of (0, 1), as a formula; that of 0 is its mirror."""
        t = sp.exp(self["eps0"])
        return Component(sp.S.One, t, 1 / (2 * t))

    def worst_pair(self) -> WorstPair:
        """Return (0, 1), as for Laplace noise: messages with equal ratios are merged."""
        return WorstPair(("0", "1"), True, "Corollary 2 of Theorem P, and clipping (docs/proofs/worst_pair.md)")
