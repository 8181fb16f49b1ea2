"""A round in which only a random part of the people take part: sampling without replacement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import expm1, inf, log, log1p

import sympy as sp
from flint import fmpq

from symamp.accounting.curve_points import CurvePoint
from symamp.accounting.round import Round
from symamp.analyses.reduction import Reduction
from symamp.derivation.decomposition import Component, Decomposition
from symamp.numbers.rationals import rational_of


@dataclass(frozen=True)
class SampledRound(Round):
    """A round of the n users drawn from ``of`` people, uniformly and without replacement, anew in every round."""

    base: Round
    n: int
    of: int

    @property
    def rate(self) -> fmpq:
        """The probability that one of them takes part."""
        return fmpq(self.n, self.of)

    @property
    def text(self) -> str:
        """The round and the sampling."""
        return f"{self.base.text}, sampled from {self.of:,}"

    @property
    def ratio(self) -> sp.Expr | None:
        """The level from which on no divergence is left, None if there is none."""
        return None if self.base.ratio is None else 1 + rational_of(self.rate) * (self.base.ratio - 1)

    @property
    def deviation(self) -> float:
        """An estimate of the standard deviation of the loss."""
        return self.base.deviation * self.n / self.of

    @property
    def gap(self) -> float:
        """The relative width of eps that is worth its time."""
        return self.base.gap

    @property
    def gap_below(self) -> float:
        """The same for the lower end."""
        return self.base.gap_below

    def end(self, log_delta: float) -> float:
        """Return an estimate of the eps at which the divergence is delta; inf if there is none."""
        inner = self.base.end(log_delta - log(self.n / self.of))
        return inner if inner == inf else log1p(self.n / self.of * expm1(inner))

    def above(self, levels: Iterable[fmpq], *, far: bool = False, sparing: bool = False) -> tuple[CurvePoint, ...]:
        """Return upper bounds at levels E >= 1 on the divergence for every ordered pair of neighbours.

        Guarantee
        ---------
        ``high`` is at least D_E of the outputs of every two neighbouring data sets, in both orders: it is the rate
        times the bound of the unsampled round at 1 + (E - 1)/rate. Proof: docs/proofs/composition.md, section 4.
        """
        inner = self.base.above([1 + (e - 1) / self.rate for e in levels], far=far, sparing=sparing)
        return tuple(CurvePoint(self._outside(p.level), fmpq(0), self.rate * p.high) for p in inner)

    def below(self, eps: float) -> tuple[Reduction, int] | None:
        """Return the data set of the unsampled round, seen through the sampling, and n.

        All others hold x*: who is drawn instead of the first person holds it, too. So the first of the n messages is
        drawn from (1 - rate) R(x*) + rate R(x0), or R(x1), and the rest from R(x*).
        """
        found = self.base.below(log1p(expm1(eps) * self.of / self.n))
        if found is None:
            return None
        reduction, n = found
        d, rate = reduction.decomposition, sp.Rational(self.n, self.of)
        rest = 1 - rate
        components = tuple(Component(rest + rate * c.ratio0, rest + rate * c.ratio1, c.mass) for c in d.components)
        singular = tuple((rate * a, rate * b) for a, b in d.singular)
        return replace(reduction, decomposition=Decomposition(components, singular, d.parameters, d.pair)), n

    def _outside(self, level: fmpq) -> fmpq:
        return 1 + self.rate * (level - 1)
