"""The exponentially tilted law of a G with a density, in balls: nodes, and a ball for what they leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import acb, arb

from symamp.evaluation.flat_cells import FlatCells, Loss
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.law import Level, total
from symamp.evaluation.plan import Window
from symamp.evaluation.smooth_law import Nodes, SmoothLaw
from symamp.evaluation.tilted_balls import TiltedBalls


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
class TiltedNodes:
    """One G under a tilt: what ``TiltedBalls`` is for finite laws.

    Guarantee
    ---------
    M, phi and the bounds on aliasing contain those of the law itself; the deviation is at least its own.
    Proof: docs/proofs/smooth_laws.md.
    """

    balls: TiltedBalls
    nodes: Nodes
    flat: FlatCells
    e: arb

    @staticmethod
    def of(g: BallGparv, found: Nodes, flat: FlatCells, e: arb, n: int, tilt: float) -> TiltedNodes:
        """Tilt the law of some nodes, and of its cells, by the double ``tilt``, an exact number."""
        theta = arb(tilt)
        weights = [p * (theta * v).exp() for v, p in zip(g.values, g.masses, strict=True)]
        m = g.null_mass + total(weights) + _around(found.remainder(e, theta, arb(0)))
        null = g.null_mass / m
        tilted = TiltedBalls(g, n, theta, m, tuple(weight / m for weight in weights), null, null**n)
        return TiltedNodes(tilted, found, flat, e)

    @property
    def n(self) -> int:
        """The number of users."""
        return self.balls.n

    @property
    def theta(self) -> arb:
        """The tilt."""
        return self.balls.theta

    @property
    def m(self) -> arb:
        """M(theta)."""
        return self.balls.m

    @property
    def null_n(self) -> arb:
        """The tilted probability that all n draws are null."""
        return self.balls.null_n

    def phi(self, u: arb) -> acb:
        """Return the characteristic function E_theta[e^(iuG)]."""
        error = _around(self.nodes.remainder(self.e, self.theta, u) / self.m)
        return self.balls.phi(u) + acb(error, error)

    def power(self, u: arb) -> acb:
        """Return phi(u)^n less the probability that all draws are null."""
        value = self.phi(u)
        return ((value.log() * self.n).exp() if value.real > 0 else value**self.n) - self.null_n

    def moduli(self, step: arb, indices: Sequence[int]) -> list[arb]:
        """Return |phi(j step)|, or more, for each index j."""
        if not indices:
            return []
        # The remainder grows with the frequency: the last one's is a bound for all.
        error = self.nodes.remainder(self.e, self.theta, step * max(indices)) / self.m
        return [found + error for found in self.balls.moduli(step, indices)]

    def deviation(self) -> arb:
        """Return the root of E_theta[(G - c)^2] for a number c near the mean: at least the standard deviation."""
        g = self.balls.g
        c = total([p * v for v, p in zip(g.values, self.balls.probabilities, strict=True)]).mid()
        square = total([p * (v - c) ** 2 for v, p in zip(g.values, self.balls.probabilities, strict=True)])
        square += self.balls.null * c * c
        return (square + self.nodes.remainder(self.e, self.theta, arb(0), c) / self.m).upper().sqrt()

    def loss(self) -> Loss:
        """Return what is known of |phi| at all high frequencies, from the density of G alone."""
        return self.flat.tilted(self.theta, self.m)

    def aliasing(self, window: Window) -> arb:
        """Return A, the bound on the periodised tails in units of M(theta)^n."""
        w, result, g = arb(window.length), arb(0), self.balls.g
        for tilt in (window.theta_above, window.theta_below):
            other = arb(tilt)
            weights = [p * (other * v).exp() for v, p in zip(g.values, g.masses, strict=True)]
            left_out = _around(self.nodes.remainder(self.e, other, arb(0)))
            ratio = (g.null_mass + total(weights) + left_out) / self.m
            result += ratio**self.n / arb.const_e() / other / (abs(other - self.theta) * w).expm1()
        return result


def _around(bound: arb) -> arb:
    """Return a ball around 0 that reaches to the bound on both sides."""
    return bound.upper() * arb(0, 1)
