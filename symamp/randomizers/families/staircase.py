"""The staircase mechanism (Geng, Viswanath 2014): additive noise for inputs in [0, 1]."""

from __future__ import annotations

from typing import Self

import sympy as sp

from symamp.errors import ArgumentError
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter
from symamp.numbers.reading import exact_number
from symamp.randomizers.finite import FiniteMechanism, check_size
from symamp.randomizers.structures.sliding_window import SlidingWindow

_HALF = sp.Rational(1, 2)


class Staircase(SlidingWindow):
    """Send x + Z, x in [0, 1], where the density of Z is a on abs(z) < g, a/t on g < abs(z) < 1, 1/t of it one further.

    a = (t - 1)/(2(g t + 1 - g)), t = e^eps0. The noise is even and does not increase away from 0, so that the ends
    (``x0``, ``x1``) are the worst pair and the infimum over all inputs is the one over the ends
    (docs/proofs/worst_pair.md); all ratios to it are powers of t between 1 and t. Without a value g is a symbol
    between 0 and 1/2; numbers may be up to 1.

    >>> Staircase().blanket().gamma
    (2*g*exp(eps0) - 2*g + exp(eps0) + 1)*exp(-eps0)/(2*(g*exp(eps0) - g + 1))
    """

    name = "staircase"
    slug = "staircase"
    source = "Geng, Viswanath 2014"
    small = tuple(
        {"g": g, "eps0": f"log({t})"} for g, t in (("1/4", 2), ("2/5", 3), ("3/10", 5), ("1/8", 3), ("3/8", "5/2"))
    )
    typical = {"g": "1/4"}
    declared = (Parameter("g", lower=sp.Integer(0), upper=sp.Integer(1)), EPS0)

    def __init__(self, *, g: object = None, eps0: object = None) -> None:
        super().__init__(g=Parameter("g", lower=sp.Integer(0), upper=_HALF) if g is None else g, eps0=eps0)
        ranges = [p for p in self.parameters if p.name == "g"]
        if any(p.upper is None or not p.upper <= _HALF for p in ranges):
            raise ArgumentError("g", ranges[0].describe(), "a number, or a range below 1/2")

    @classmethod
    def optimal(cls, *, eps0: object) -> Self:
        """Return the member with the least mean of abs(Z): g = 1/(1 + e^(eps0/2)).

        >>> Staircase.optimal(eps0="log(4)")["g"]
        1/3
        """
        budget = exact_number(eps0, "eps0")
        return cls(g=normal(1 / (1 + sp.exp(budget / 2))), eps0=budget)

    def coverage(self) -> sp.Expr:
        """The share of the blanket on which R(0), say, is t times as likely: (1/gamma - 1)/(t - 1)."""
        g, t = self["g"], sp.exp(self["eps0"])
        total = 2 * (g * t + 1 - g)
        if g.is_number and g > _HALF:
            # The heights on (1/2, g), (g, 1) and beyond 1, twice, times t(gt + 1 - g).
            gamma = 1 / t + (t - 1) * (2 * (g - _HALF) + 2 * (1 - g) / t) / total
        else:
            gamma = (total + t - 1) / (t * total)
        return sp.cancel(sp.together((1 / gamma - 1) / (t - 1)))

    def table(self) -> FiniteMechanism:
        """Return the table of noise on cells, clipped to as many steps as have ratios of their own.

        Beyond -1 and 2 the density of every input falls by t with each step, so such messages are merged.
        """
        g, t = self["g"], sp.exp(self["eps0"])
        per_unit = 2 * int(sp.ilcm(1 / self.cell(g), 2))
        size = sp.Rational(1, per_unit)
        check_size(5, 3 * per_unit)
        high = (t - 1) / (2 * (g * t + 1 - g)) * size

        def cell(k: int) -> sp.Expr:
            """The probability of the k-th cell to the right of the input."""
            step, place = divmod(k, per_unit)
            return high * t ** -(step if place < g * per_unit else step + 1)

        rows = {}
        for x in range(0, per_unit + 1, per_unit // 4):
            row = {}
            for y in range(-per_unit, 2 * per_unit):
                far = cell(y - x if y >= x else x - y - 1)
                # Messages one unit further out are 1/t as likely for every input: 1 + 1/t + ... = t/(t - 1).
                row[str(y)] = far if 0 <= y < per_unit else far * t / (t - 1)
            rows[{0: "x0", per_unit: "x1"}.get(x, f"x = {x * size}")] = row
        return FiniteMechanism(rows, name=repr(self))
