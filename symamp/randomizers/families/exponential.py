"""The exponential mechanism (McSherry, Talwar 2007) on equidistant options."""

from __future__ import annotations

import sympy as sp

from symamp.randomizers.families.randomized_response import RandomizedResponse
from symamp.randomizers.finite import FiniteMechanism, check_size


class ExponentialMechanism(RandomizedResponse):
    """Send option y of k with weight e^(-eps0*dist(x, y)/2), where dist(x, y) = 1 for y != x and dist(x, x) = 0.

    eps0 is the nominal budget, for distances that change by at most 1. On equidistant options the normalisation does
    not depend on the input, and the exact budget is half of it.

    >>> ExponentialMechanism().local_epsilon()
    eps0/2
    """

    name = "exponential mechanism on equidistant options"
    slug = "exponential"
    source = "McSherry, Talwar 2007"
    small = tuple({"k": k, "eps0": "log(9)"} for k in (2, 3, 4, 5, 7))

    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        """The reference measure counts messages; only the option at distance 0 is raised."""
        k, far = self["k"], sp.exp(-self["eps0"] / 2)
        return 1 / (1 + (k - 1) * far), far / (1 + (k - 1) * far)

    def table(self) -> FiniteMechanism:
        """Return the k by k table."""
        check_size(int(self["k"]), int(self["k"]))
        options = range(int(self["k"]))
        rows = {}
        for x in options:
            weights = [sp.exp(-self["eps0"] * (0 if y == x else 1) / 2) for y in options]
            rows[f"x{x}"] = {f"x{y}": w / sp.Add(*weights) for y, w in enumerate(weights)}
        return FiniteMechanism(rows, name=repr(self))
