"""Bounds on the integral of one term over cells of frequencies, in balls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, log

import numpy as np
from flint import arb

from symamp.evaluation.all_data_sets_floats import best_inverse_scale
from symamp.evaluation.all_data_sets_plan import Term
from symamp.evaluation.all_data_sets_transforms import ClassTransforms
from symamp.evaluation.gparv import BallGparv

_FLOOR = 70.0  # |M|^N is not followed below e^-70 of its largest value
_FAR = 60.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)


@dataclass(frozen=True)
class CellBound:
    """A bound on the integral over one cell, the number c it was obtained with, and what it would be without slack."""

    upper: arb
    scale: float
    ideal: float


@dataclass(frozen=True)
class _Parabola:
    """E(middle + t) <= height + slope t - bend t^2/2 on the cell, for the exponent of one class."""

    height: arb
    slope: arb
    bend: arb


class TermBalls:
    """One term and all classes; every bound is in units of e^unit."""

    def __init__(self, laws: Sequence[BallGparv], gain: arb, term: Term, p_lo: float, n: int, unit: float) -> None:
        self.term, self.N, self.unit = term, arb(n - 1), arb(unit)
        self.s, self.square = arb(term.s), arb(term.sigma) ** 2
        self.classes = [ClassTransforms(g, gain, term, p_lo) for g in laws]
        self.log_mgf = [self.N * c.mgf.log() for c in self.classes]
        floats = [float(x) for x in self.log_mgf]
        self.order = sorted(range(len(laws)), key=lambda i: -floats[i])
        self.far = [x < max(floats) - _FAR for x in floats]

    @property
    def width(self) -> float:
        """The frequency at which the integrand has fallen by about e^(-1/2): a first size of cells."""
        spread = max(float(c.deviation) for c, far in zip(self.classes, self.far, strict=True) if not far)
        return float(1.0 / np.sqrt(float(self.N) * spread**2 + 2.0 / self.term.s**2))

    def coarse(self, lo: float, hi: float, scale: float | None = None, most: float = inf) -> CellBound:
        """Return a bound from |M| <= M(s) (1 - distance^2)^(1/2): cheap, and good where the integrand is negligible.

        inf as soon as one class shows that it will be above ``most``.
        """
        left, right = arb(lo), arb(hi)
        modulus2 = self.s**2 + right**2
        exponents, alphas = [], []
        floor, common = (-_FLOOR / self.N).exp(), self._log_weight(left) - self.unit
        limit = log(most / (hi - lo)) - float(common)
        for i in self.order:
            c = self.classes[i]
            share = c.relative_modulus(left, right).max(floor)
            exponents.append(self.log_mgf[i] + self.N * share.log())
            alphas.append(self.N * c.largest_size(modulus2) / (c.mgf * share))
            if float(exponents[-1] + alphas[-1].log()) > limit:
                return CellBound(arb("inf"), 1.0, inf)
        scale = scale or self._scale(exponents, alphas)
        top = _maximum([e + a / arb(scale) for e, a in zip(exponents, alphas, strict=True)])
        return CellBound((right - left) * arb(scale) * (top - 1 + common).exp(), scale, inf)

    def fine(self, lo: float, hi: float, scale: float | None = None) -> CellBound:
        """Return a bound from second-order expansions of the exponent of every class at the middle of the cell."""
        left, right = arb(lo), arb(hi)
        middle, half = (left + right) / 2, (right - left) / 2
        across = left.union(right)
        near = [i for i in range(len(self.classes)) if not self.far[i]]
        found = {i: self._expanded(i, middle, across) for i in near}
        heights = [found[i][0] for i in near]
        alphas = [found[i][1] for i in near]
        if not all(h.is_finite() and a.is_finite() for h, a in zip(heights, alphas, strict=True)):
            return CellBound(arb("inf"), 1.0, inf)
        scale = scale or self._scale(heights, alphas)
        c, weight = arb(scale), self._weight_parabola(middle, across)
        parabolas = [self._parabola(found[i], c, weight) for i in near]
        top = max(parabolas, key=lambda q: float(q.height))
        modulus2 = self.s**2 + right**2
        for i, is_far in enumerate(self.far):
            if is_far:
                size = self.N * self.classes[i].largest_size(modulus2) / self.classes[i].mgf
                height = self.log_mgf[i] + size / c - 1 + c.log() + self._log_weight(left) - self.unit
                if not height < top.height - 20:
                    parabolas.append(self._parabola(self._expanded(i, middle, across), c, weight))
                else:
                    parabolas.append(_Parabola(height, arb(0), arb(0)))
        return CellBound(_integral(parabolas, top, half), scale, _ideal(top, float(half)))

    def tail(self, start: float, scale: float | None = None) -> CellBound:
        """Return a bound on the integral beyond ``start``, from |M| <= M(s), with c = scale (1 + sigma^2 |zeta|^2)."""
        u = arb(start)
        alphas = [self.N * c.size.max(c.growth) / c.mgf for c in self.classes]
        scale = scale or self._scale(self.log_mgf, alphas)
        top = _maximum([e + a / arb(scale) for e, a in zip(self.log_mgf, alphas, strict=True)])
        power = top - 1 + self.square * (self.s**2 - u * u) / 2 - self.unit
        return CellBound(arb(scale) * power.exp() * (1 / u**2 + self.square) / (self.square * u), scale, inf)

    def _scale(self, exponents: Sequence[arb], alphas: Sequence[arb]) -> float:
        top = max(exponents, key=float)
        lines = [(float(e - top), max(float(a), 1e-300)) for e, a in zip(exponents, alphas, strict=True)]
        for e, a in sorted(lines, reverse=True):
            # Where one class alone is the maximum, its own alpha is the best c.
            if isfinite(a) and all(other + slope / a <= e + 1.0 for other, slope in lines):
                return a
        pair = np.array(lines)
        v = float(best_inverse_scale(pair[:, 0], pair[:, 1]))
        return 1.0 / v if isfinite(v) and v > 0.0 and isfinite(1.0 / v) else 1.0

    def _expanded(self, i: int, middle: arb, across: arb) -> tuple[arb, arb, _Logs | None]:
        """Return N log|M| and N alpha in the middle, and log|M|, log|A| with derivatives there and across."""
        (m, a), (m_all, a_all) = self.classes[i].at(middle, across)
        logs = [f.log_modulus() for f in (m, a, m_all, a_all)]
        if any(x is None for x in logs):
            return arb("inf"), arb("inf"), None
        return self.N * logs[0][0], self.N * (logs[1][0] - logs[0][0]).exp(), logs  # type: ignore[index, return-value]

    def _parabola(self, expanded: tuple[arb, arb, _Logs | None], c: arb, weight: _Parabola) -> _Parabola:
        height, alpha, logs = expanded
        if logs is None:
            return _Parabola(arb("inf"), arb(0), arb(0))
        (_, l1, _), (_, a1, _), (m0, m1, m2), (b0, b1, b2) = logs
        share = alpha / c
        share_all = self.N * (b0 - m0).exp() / c
        bend = -(self.N * m2 + share_all * (b2 - m2 + (b1 - m1) ** 2))
        return _Parabola(
            height + share - 1 + c.log() + weight.height - self.unit,
            self.N * l1 + share * (a1 - l1) + weight.slope,
            bend + weight.bend,
        )

    def _log_weight(self, u: arb) -> arb:
        return self.square * (self.s**2 - u * u) / 2 - (self.s**2 + u * u).log()

    def _weight_parabola(self, middle: arb, across: arb) -> _Parabola:
        modulus2, modulus2_all = self.s**2 + middle**2, self.s**2 + across**2
        slope = -self.square * middle - 2 * middle / modulus2
        bend = self.square + 2 * (self.s**2 - across**2) / modulus2_all**2
        return _Parabola(self._log_weight(middle), slope, bend)


_Logs = list[tuple[arb, arb, arb]]


def _integral(parabolas: Sequence[_Parabola], top: _Parabola, half: arb) -> arb:
    """Return a bound on the integral of exp(max of the parabolas) over the cell."""
    zero = arb(0)
    square = half * half
    bend = top.bend.lower().max(zero)
    ends = []
    for side in (-1, 1):
        # A class that bends less is raised, so that all share one bend; one that bends upward is raised to a chord.
        ends.append(
            _maximum(
                [q.height + side * q.slope * half + (bend - q.bend.lower()).max(zero) * square / 2 for q in parabolas]
            )
        )
    middle, spread = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2
    curve = bend * square
    flattened = (1 - curve / 6 + curve * curve / 40).min(arb(1))
    return 2 * half * middle.exp() * (2 + spread.cosh()) / 3 * flattened


def _ideal(top: _Parabola, half: float) -> float:
    t = half * _NODES
    height, slope, bend = (float(x) for x in (top.height, top.slope, top.bend))
    with np.errstate(over="ignore", invalid="ignore"):
        return half * float(_WEIGHTS @ np.exp(height + slope * t - 0.5 * bend * t * t))


def _maximum(values: Sequence[arb]) -> arb:
    result = values[0]
    for value in values[1:]:
        result = result.max(value)
    return result
