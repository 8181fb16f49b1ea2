"""A density on an interval of inputs: the ends are proved to be the worst pair, or else one law bounds all pairs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import sympy as sp

from symamp.decompositions.worst_pair import WorstPair
from symamp.errors import UndecidedOrderError
from symamp.randomizers.noise.densities import Densities
from symamp.randomizers.noise.fallback_law import Atom3, Boxes, boxes, fallback_atoms
from symamp.randomizers.noise.worst_ends import ends_are_worst


class IntervalDensities(Densities):
    """A message from an interval on each input of an interval; made by ``DensityMechanism``.

    ``inputs`` lists the ends: the data sets of the lower bound are at the ends. The upper bound holds for all pairs of
    inputs. Masses are checked at the ends, and at the middle.
    """

    is_interval = True

    def __init__(
        self,
        density: sp.Expr,
        x: sp.Symbol,
        y: sp.Symbol,
        inputs: tuple[sp.Expr, sp.Expr],
        messages: tuple[sp.Expr, sp.Expr],
        masses: Mapping[sp.Expr, sp.Expr],
    ) -> None:
        if any(end.is_infinite for end in messages):
            raise UndecidedOrderError("messages", messages, "a bounded interval (a, b) where inputs are an interval")
        Densities(density, x, y, ((inputs[0] + inputs[1]) / 2, *inputs), messages, masses)
        super().__init__(density, x, y, inputs, messages, masses)
        self._symbols, self._formulas = (x, y), tuple(masses.values())

    def key(self) -> tuple[object, ...]:
        return (*super().key(), self.density, self._symbols, self._formulas)

    @property
    def boxes(self) -> Boxes:
        """Bounds of the density on boxes of inputs and messages."""
        return _boxes(self)

    def fallback(self) -> tuple[Atom3, ...]:
        """Return (r0, r1, mass) of the law above those of all pairs of inputs."""
        return fallback_atoms(self.boxes)

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0 where the ends are the worst pair, else a number above it: by a percent, or more if steep."""
        if self.worst_pair().proved:
            return self._largest
        return sp.Rational(float((self.boxes.most.max(axis=0) / self.boxes.least).max()) * (1.0 + 1e-12))

    def worst_pair(self) -> WorstPair:
        """Return the ends, and whether they are proved to be worst; if not, the upper bound is that of one law.

        >>> import symamp as sa
        >>> x, y = sp.symbols("x y", real=True)
        >>> cut = sp.exp(-sp.Abs(y - x)) / (2 - sp.exp(-x) - sp.exp(x - 1))
        >>> sa.DensityMechanism(cut, inputs=(0, 1), messages=(0, 1)).worst_pair().reason
        'Corollary 4 of Theorem P, its conditions checked in balls on cells of inputs (docs/proofs/worst_pair.md)'
        """
        pair = (self.inputs[0], self.inputs[1])
        if _ends_are_worst(self):
            known = "Corollary 4 of Theorem P, its conditions checked in balls on cells of inputs"
            return WorstPair(pair, True, f"{known} (docs/proofs/worst_pair.md)")
        told = "no theorem applies: the upper bound holds for all pairs of inputs by the fallback law"
        return WorstPair(pair, False, f"{told} (docs/proofs/fallback_law.md)")

    def __repr__(self) -> str:
        return f"DensityMechanism({self.density}, inputs=({', '.join(self.inputs)}), messages={self.messages})"


@lru_cache(maxsize=16)
def _boxes(mechanism: IntervalDensities) -> Boxes:
    low, high = mechanism.values
    return boxes(mechanism.density, mechanism._symbols, (low, high), mechanism.messages, mechanism._formulas)


@lru_cache(maxsize=64)
def _ends_are_worst(mechanism: IntervalDensities) -> bool:
    low, high = mechanism.values
    if mechanism.masses:
        return False
    return ends_are_worst(mechanism.density, mechanism._symbols, (low, high), mechanism.messages)
