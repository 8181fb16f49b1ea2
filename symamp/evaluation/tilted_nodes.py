"""The exponentially tilted law of a G with a density, in balls: nodes, and a ball for what they leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from flint import acb, arb

from symamp.evaluation.flat_cells import FlatCells, Loss
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.law import Level, total
from symamp.evaluation.smooth_law import Nodes, SmoothLaw
from symamp.evaluation.tilted_balls import RoughlyTilted, TiltedBalls, tilted_numbers


def node_gparv(law: SmoothLaw, level: Level, found: Nodes) -> BallGparv:
    """Return G of the nodes and atoms in balls at the ambient precision, with the null mass of the law itself."""
    e, minus = level.exponential(), -level.exponential_minus_one()
    values = [r0 - e * r1 for r0, r1, _ in found.values]
    masses = [m for _, _, m in found.values]
    for atom in law.atoms:
        values.append(atom.ratio0() * minus if atom.equal_ratios else atom.ratio0() - e * atom.ratio1())
        masses.append(atom.mass())
    singular = total([(a0() - e * a1()).max(arb(0)) for a0, a1 in law.singular])
    return BallGparv(tuple(values), tuple(masses), law.null(), singular)


@dataclass(frozen=True)
class TiltedNodes(TiltedBalls):
    """n copies of G under a tilt: what ``TiltedBalls`` is for finite laws.

    Guarantee
    ---------
    M, phi and the bounds on aliasing contain those of the law itself; the deviation is at least its own.
    Proof: docs/proofs/smooth_laws.md.
    """

    nodes: Nodes
    flat: FlatCells
    e: arb

    @classmethod
    def of_nodes(cls, g: BallGparv, found: Nodes, flat: FlatCells, e: arb, n: int, tilt: float) -> Self:
        """Tilt the law of some nodes, and of its cells, by the double ``tilt``, an exact number."""
        theta = arb(tilt)
        left_out = _around(found.remainder(e, theta, arb(0)))
        return cls(g, n, *tilted_numbers(g, n, theta, left_out), found, flat, e)

    def mgf(self, tilt: arb) -> arb:
        """Return M(tilt) of one G."""
        return super().mgf(tilt) + _around(self.nodes.remainder(self.e, tilt, arb(0)))

    def missed(self, u: arb) -> acb:
        """Return a ball around what phi(u) is beside the sum over nodes."""
        error = _around(self.nodes.remainder(self.e, self.theta, u) / self.m)
        return acb(error, error)

    def moduli(self, step: arb, indices: Sequence[int]) -> list[arb]:
        """Return |phi(j step)|, or more, for each index j."""
        if not indices:
            return []
        # The remainder grows with the frequency: the last one's is a bound for all.
        error = self.nodes.remainder(self.e, self.theta, step * max(indices)) / self.m
        return [found + error for found in super().moduli(step, indices)]

    def deviation(self) -> arb:
        """Return the root of E_theta[(G - c)^2] for a number c near the mean: at least the standard deviation."""
        c = total([p * v for v, p in zip(self.g.values, self.probabilities, strict=True)]).mid()
        square = total([p * (v - c) ** 2 for v, p in zip(self.g.values, self.probabilities, strict=True)])
        square += self.null * c * c
        return (square + self.nodes.remainder(self.e, self.theta, arb(0), c) / self.m).upper().sqrt()

    def loss(self) -> Loss:
        """Return what is known of |phi| at all high frequencies, from the density of G alone."""
        return self.flat.tilted(self.theta, self.m)


class RoughlyTiltedNodes(RoughlyTilted, TiltedNodes):
    """The same with the sum over nodes in doubles, and balls around it."""


def _around(bound: arb) -> arb:
    """Return a ball around 0 that reaches to the bound on both sides."""
    return bound.upper() * arb(0, 1)
