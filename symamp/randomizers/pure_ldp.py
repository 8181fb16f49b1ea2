"""Any eps0-LDP randomizer: nothing is known but the budget."""

from __future__ import annotations

import sympy as sp

from symamp.decompositions.budget import VariationRatio
from symamp.formulas.parameter import EPS0, Value
from symamp.randomizers.families.randomized_response import RandomizedResponse
from symamp.randomizers.family import Parametrised
from symamp.randomizers.mechanism import NotebookView, SubjectBase

_MEMBERS = (2, 3, 4, 5, 6, 8, 12, 20)


class PureLDP(NotebookView, Parametrised, SubjectBase):
    """Every randomizer with local budget eps0 at once, the same for all users.

    Upper bounds hold for all of them. The lower bound is that of the worst of ``members()``, because an upper bound for
    all randomizers cannot be smaller than the truth for one. There is no decomposition.

    >>> PureLDP(eps0=1)
    PureLDP(eps0=1)
    """

    name = "any eps0-LDP randomizer"
    slug = "pure-ldp"
    declared = (EPS0,)

    def __init__(self, *, eps0: Value = None) -> None:
        super().__init__(eps0=eps0)

    def members(self) -> tuple[RandomizedResponse, ...]:
        return tuple(RandomizedResponse(k=k, eps0=self["eps0"]) for k in _MEMBERS)

    def degradation(self) -> str:
        return "every randomizer with a smaller budget is one with a larger"

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0."""
        return sp.exp(self["eps0"])

    def variation_ratio(self) -> VariationRatio:
        """Return the worst (p, beta, q) = (t, (t-1)/(t+1), t)."""
        t = self.local_ratio()
        return VariationRatio(t, (t - 1) / (t + 1), t)
