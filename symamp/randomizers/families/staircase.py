"""The staircase mechanism (Geng, Viswanath 2014): additive noise for inputs in [0, 1]."""

from __future__ import annotations

from itertools import pairwise
from typing import Self

import sympy as sp

from symamp.decompositions.randomizer import Orbit
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
    between 0 and 1/2; numbers may be up to 1. With a number further inputs are shown at which a step of the noise falls
    on one of that around an end: 2g and 1 - 2g, modulo 1. Where all other users hold the same input none is worse than
    one of these or an end, since the law of a message is affine in the input between them.

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

    def places(self) -> dict[str, sp.Expr]:
        """Return where the inputs that are shown are in [0, 1]."""
        places = {"x0": sp.Integer(0), "x1": sp.Integer(1)}
        if self["g"].is_number:
            first = normal(2 * self["g"] - sp.floor(2 * self["g"]))
            inside = [x for x in dict.fromkeys((first, normal(1 - first))) if x not in (0, 1)]
            places |= {f"x{i + 2}": x for i, x in enumerate(inside)}
        return places

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ends of the interval of inputs, and where steps fall together."""
        return tuple(self.places())

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """The messages between two steps, those a whole number further outside put together."""
        if {"x0", "x1"}.issuperset(distinguished):
            return super().orbits(distinguished)
        g, t, places = self["g"], sp.exp(self["eps0"]), self.places()
        steps = {normal(x + side * (g + k)) for x in places.values() for side in (1, -1) for k in (0, 1, 2)}
        inside = [y for y in {*steps, sp.Integer(0), sp.Integer(1)} if -1 < y < 2]
        high = (t - 1) / (2 * (g * t + 1 - g))
        found = []
        for start, end in pairwise([sp.Integer(-1), *sorted(inside), sp.Integer(2)]):
            # Messages one unit further out are 1/t as likely for every input: 1 + 1/t + ... = t/(t - 1).
            measure = (end - start) * (1 if 0 <= start < 1 else t / (t - 1))
            density = {
                x: high * t ** -sp.Max(0, sp.floor(abs((start + end) / 2 - place) - g) + 1)
                for x, place in places.items()
            }
            ends = tuple((density[x], sp.Integer(1)) for x in ("x0", "x1") if x not in distinguished)
            found.append(Orbit(f"{start} < y < {end}", measure, tuple(density[x] for x in distinguished), ends))
        return tuple(found)

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

        rows, names = {}, {int(x * per_unit): name for name, x in self.places().items()}
        for x in sorted({*range(0, per_unit + 1, per_unit // 4), *names}):
            row = {}
            for y in range(-per_unit, 2 * per_unit):
                far = cell(y - x if y >= x else x - y - 1)
                # Messages one unit further out are 1/t as likely for every input: 1 + 1/t + ... = t/(t - 1).
                row[str(y)] = far if 0 <= y < per_unit else far * t / (t - 1)
            rows[names.get(x, f"x = {x * size}")] = row
        return FiniteMechanism(rows, name=repr(self))
