"""A round that was analysed elsewhere: upper bounds on its privacy profile, taken as they are given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import sympy as sp
from flint import arb, fmpq

from symamp.accounting.curve_points import CurvePoint, CurvePoints
from symamp.accounting.pessimistic import pessimistic
from symamp.accounting.round import Round, deviation_of
from symamp.numbers.rationals import rational_of
from symamp.numbers.surroundings import at_precision


@dataclass(frozen=True)
class GivenRound(Round):
    """A round of which upper bounds at some levels E >= 1 are given, for both orders of neighbours. No lower side."""

    points: tuple[CurvePoint, ...]
    name: str = "given profile"

    @property
    def text(self) -> str:
        """The name it was given."""
        return self.name

    @property
    def ratio(self) -> sp.Rational | None:
        """The first level with divergence 0, None if there is none."""
        return next((rational_of(p.level) for p in self.points if p.high == 0), None)

    @property
    def deviation(self) -> float:
        """That of the normal loss with the same total variation."""
        high = pessimistic(CurvePoints.symmetric(self.points)).divergence(fmpq(1))
        with at_precision(64):
            return deviation_of(float(arb(high)))

    def end(self, log_delta: float) -> float:
        """Return the eps of the first point with a divergence of at most delta; inf if there is none."""
        with at_precision(64):
            for p in self.points:
                if p.high == 0 or float(arb(p.high).log()) <= log_delta:
                    return float(arb(p.level).log())
        return inf

    def above(self, levels: Iterable[fmpq], *, far: bool = False, sparing: bool = False) -> tuple[CurvePoint, ...]:
        """Return the points that were given, whatever the levels; none of them is far."""
        return () if far else self.points
