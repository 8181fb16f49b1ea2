"""Two-level set systems: each input has a set of messages, with weight high inside and low outside."""

from __future__ import annotations

from abc import abstractmethod
from itertools import product
from typing import NamedTuple

import sympy as sp

from symamp.decompositions.randomizer import Orbit
from symamp.randomizers.family import Family
from symamp.randomizers.mechanism import of_two_levels


class Share(NamedTuple):
    """Some of the messages with a given membership pattern: their measure, and how the further inputs see them.

    ``inside`` and ``outside`` are the numbers of further inputs whose set contains them, or not; None if it varies.
    """

    label: str
    measure: sp.Expr
    inside: sp.Expr | None
    outside: sp.Expr | None


class AlikeInputs(Family):
    """A family whose inputs can be exchanged; ``size`` is the parameter that counts them."""

    _internal_names = "size"

    size: str

    @property
    def inputs(self) -> tuple[str, ...]:
        """Up to four inputs stand for all."""
        return tuple(f"x{i}" for i in range(self.count(self.size)))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """One pair: inputs can be exchanged."""
        return (("x0", "x1"),)

    @property
    def lists_all_inputs(self) -> bool:
        """Whether a third input is shown, or there are but two."""
        return len(self.inputs) > 2 or bool(self[self.size] == 2)


class ExchangeableSets(AlikeInputs):
    """A family in which R(x)(y) is ``high`` if y is in the set of x and ``low`` if not, and inputs can be exchanged.

    A subclass gives ``size``, ``levels`` and ``shares``.
    """

    _internal_names = "levels shares"

    @abstractmethod
    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        """Return the densities (high, low) against the reference measure."""

    @abstractmethod
    def shares(self, inside: int, outside: int) -> tuple[Share, ...]:
        """Return the messages in the sets of ``inside`` given inputs and not in those of ``outside`` others."""

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """The pair and a third input, which two levels can do without (docs/proofs/envelope.md, section 4)."""
        return (*pair, *self.further_inputs(pair))

    def support_probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return the chances of the set of an input."""
        return of_two_levels(self, sp.exp(self["eps0"]))

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """One orbit for each pattern of membership, and each share of it."""
        high, low = self.levels()
        found = []
        for pattern in product((True, False), repeat=len(distinguished)):
            names = [x for x, member in zip(distinguished, pattern, strict=True) if member]
            for share in self.shares(sum(pattern), len(pattern) - sum(pattern)):
                if share.measure == 0:
                    continue
                label = f"y in the sets of {', '.join(names) or 'none'}{share.label}"
                density = tuple(high if member else low for member in pattern)
                found.append(Orbit(label, share.measure, density, ((high, share.inside), (low, share.outside))))
        return tuple(found)
