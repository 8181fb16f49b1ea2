"""One-hot product channels: D coordinates over a finite alphabet, one of which depends on the input."""

from __future__ import annotations

from abc import abstractmethod
from itertools import product
from typing import NamedTuple

import sympy as sp

from symamp.decompositions.randomizer import Orbit
from symamp.formulas.normal_form import normal
from symamp.randomizers.mechanism import free_budget, is_wider_with_budget
from symamp.randomizers.structures.exchangeable import AlikeInputs

_BINARY_COORDINATES = "a smaller eps0 randomizes every coordinate of the report once more"


class Letter(NamedTuple):
    """A value of one coordinate: its probability at the input's own coordinate, and at any other."""

    label: str
    own: sp.Expr
    other: sp.Expr


class OneHot(AlikeInputs):
    """A family whose message has ``size`` independent coordinates; coordinate x follows ``own``, the rest ``other``.

    The reference measure is the law of a message that encodes no input. Its densities are own/other at the
    coordinate of x. Among the further coordinates only the first letter in the list that occurs is recorded.
    """

    _internal_names = "letters"

    @abstractmethod
    def letters(self) -> tuple[Letter, ...]:
        """Return the alphabet; letters with small own/other first give the fewest undecided orders."""

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """The pair and a third input, which two letters can do without (docs/proofs/envelope.md, section 4)."""
        described = len(self.inputs) > 2 or self[self.size] == 2 or len(self.letters()) == 2
        return (*pair, *self.further_inputs(pair)) if described else None

    def degradation(self) -> str | None:
        """Return that coordinates of two letters are randomized once more, or what is known of two levels."""
        budget, letters = free_budget(self.parameters), [(x.own, x.other) for x in self.letters()]
        if budget is not None and len(letters) == 2 and is_wider_with_budget(letters, self.parameters, budget):
            return _BINARY_COORDINATES
        return super().degradation()

    def support_probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Return the chances of the second of two letters."""
        if len(self.letters()) != 2:
            return super().support_probabilities()
        one = self.letters()[1]
        return normal(one.own), normal(one.other)

    def message_bits(self) -> sp.Expr:
        """Return log2 of the number of words."""
        return self[self.size] * sp.log(len(self.letters()), 2)

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """One orbit for each word at the distinguished coordinates and first letter among the others."""
        letters = self.letters()
        rest = self[self.size] - len(distinguished)
        found = []
        for word in product(letters, repeat=len(distinguished)):
            measure = sp.Mul(*(a.other for a in word))
            density = tuple(a.own / a.other for a in word)
            label = "".join(a.label for a in word)
            if rest == 0:
                found.append(Orbit(label, measure, density))
                continue
            for j, first in enumerate(letters):
                # All further coordinates have a letter from the j-th on, and not all from the (j+1)-th on.
                tail = sp.Add(*(a.other for a in letters[j:])) if j else sp.Integer(1)
                following = sp.Add(*(a.other for a in letters[j + 1 :]))
                share = tail**rest - (following**rest if j + 1 < len(letters) else 0)
                seen: list[tuple[sp.Expr, sp.Expr | None]] = [(first.own / first.other, sp.Integer(1))]
                seen += [(a.own / a.other, None) for a in letters[j + 1 :]]
                found.append(Orbit(f"{label}, then {first.label}", measure * share, density, tuple(seen)))
        return tuple(found)
