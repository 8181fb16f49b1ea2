"""Bounds on the integral of one term over cells of frequencies, in balls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import exp, inf, isfinite, log

import numpy as np
from flint import arb

from symamp.evaluation.all_data_sets_floats import best_inverse_scale
from symamp.evaluation.all_data_sets_panels import Jet, Panel, PanelSource
from symamp.evaluation.all_data_sets_plan import Term
from symamp.evaluation.all_data_sets_transforms import ClassTransforms, Transforms
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.law import total

_FLOOR = 70.0  # |M|^N is not followed below e^-70 of its largest value
_FAR = 60.0
_FEW_LINES = 5
_MOST_GROWTH = 50.0
_MANY_USERS = 10_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)


@dataclass(frozen=True)
class CellBound:
    """A bound on the integral over one cell, and what it would be without slack.

    It was obtained with c = scale e^(slope (u - middle)).
    """

    upper: arb
    scale: float
    ideal: float
    slope: float = 0.0


@dataclass(frozen=True)
class _Parabola:
    """E(middle + t) <= height + slope t - bend t^2/2 on the cell, for the exponent of one class."""

    height: arb
    slope: arb
    bend: arb


@dataclass(frozen=True)
class _Expansion:
    """N log|M| and N alpha in the middle, the slopes of log|M| and log|A| there, and both with derivatives across.

    alpha is ``raised`` by a constant factor where A is not that of the class alone.
    """

    height: arb
    alpha: arb
    slope_m: arb
    slope_a: arb
    log_m_all: tuple[arb, arb, arb]
    log_a_all: tuple[arb, arb, arb]
    raised: arb


class TermBalls:
    """One term and all classes; every bound is in units of e^unit.

    ``mixed`` says that all mixtures of the classes may occur too; ``corners`` are those of a region of data sets.
    """

    def __init__(
        self,
        laws: Sequence[BallGparv],
        gains: Sequence[arb],
        term: Term,
        p_lo: float,
        n: int,
        unit: float,
        *,
        mixed: bool = False,
        corners: Sequence[Sequence[float]] = (),
    ) -> None:
        self.term, self.N, self.unit = term, arb(n - 1), arb(unit)
        self.s, self.square = arb(term.s), arb(term.sigma) ** 2
        self.classes = [ClassTransforms(g, term, p_lo) for g in laws]
        self.gains = [*gains] if mixed else [gains[0]] * len(laws)
        self.most_gain, self.mixed = reduce(arb.max, gains), mixed
        self._shares = [[(i, share) for i, share in enumerate(row) if share > 0.0] for row in corners]
        self.corners = [[(i, arb(share)) for i, share in row] for row in self._shares]
        lost = [c.lost for c in self.classes]
        self.lost = [reduce(arb.max, lost)] * len(lost) if mixed else lost
        self.log_mgf = [self.N * c.mgf.log() for c in self.classes]
        floats = [float(x) for x in self.log_mgf]
        self.order = sorted(range(len(laws)), key=lambda i: -floats[i])
        sizes = [float(self._size(i, arb(0)) / c.mgf) for i, c in enumerate(self.classes)]
        largest = sizes[self.order[0]]
        self.far = [
            not (mixed or corners) and x < max(floats) - _FAR and a < 20.0 * largest
            for x, a in zip(floats, sizes, strict=True)
        ]

    def _size(self, i: int, modulus2: arb) -> arb:
        """Return a bound on |A| of one class where |zeta|^2 is at most ``modulus2``."""
        c = self.classes[i]
        return self.most_gain * c.positive + (c.mixed + self.square * modulus2 * c.plain) * self.lost[i]

    def at_corners(self, values: Sequence[arb]) -> list[arb]:
        """Return at the corners what is linear in the shares of the classes."""
        return [total([share * values[i] for i, share in row]) for row in self.corners] or list(values)

    def _floats_at_corners(self, values: Sequence[float]) -> list[float]:
        return [sum(share * values[i] for i, share in row) for row in self._shares] or list(values)

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
        common = self._log_weight(left) - self.unit
        limit = log(most / (hi - lo)) - float(common)
        found: dict[int, tuple[arb, arb]] = {}
        for i in self.order:
            exponent, alpha = found[i] = self._crude(i, left, right)
            if not self.corners and float(exponent + alpha.log()) > limit:
                return CellBound(arb("inf"), 1.0, inf)
        lines = [found[i] for i in range(len(found))]
        scale = scale or self._scale(*(self.at_corners(column) for column in zip(*lines, strict=True)))
        top = reduce(arb.max, self.at_corners([self._raised(e, a / arb(scale)) for e, a in lines]))
        return CellBound((right - left) * arb(scale) * (top - 1 + common).exp(), scale, inf)

    def panels(self, most: float) -> PanelSource | None:
        """Return where the cells of this term find expansions that they share, with remainders of at most ``most``."""
        if self.mixed:
            return None
        near = {i: self.classes[i] for i in self.order if not self.far[i]}
        return PanelSource(near, self.most_gain, self.N, (6.0 if self.N > _MANY_USERS else 2.0) * self.width, most)

    def fine(self, lo: float, hi: float, c: tuple[float, float] | None = None, panel: Panel | None = None) -> CellBound:
        """Return a bound from second-order expansions of the exponent of every class at the middle of the cell.

        They are those of a panel that holds the cell, if there is one. ``c`` is (scale, slope).
        """
        left, right = arb(lo), arb(hi)
        middle, half = (left + right) / 2, (right - left) / 2
        across = left.union(right)
        near = [i for i in self.order if not self.far[i]]
        known = {i: self.classes[i].at(middle, across) for i in near} if panel is None else {}
        found: dict[int, _Expansion | None] = {}
        for i, at in known.items():
            crossed = self._crossed(i, at[1], {j: known[j][1] for j, x in found.items() if x is not None})
            found[i] = self._expanded(i, at[0], at[1], crossed)
        if panel is not None:
            found = {i: self._assembled(panel.at(i, middle), panel.at(i, across)) for i in near}
        crude = {i: self._crude(i, left, right, beside_others=self.mixed) for i in near if found[i] is None}
        # A class that is far below the others wherever theirs are large may have the largest alpha where they are not.
        outer = {i: self._flat(i, right) for i, is_far in enumerate(self.far) if is_far}
        rough = [(x, *crude.get(i, (arb(0), arb(0)))) for i, x in sorted(found.items())]
        rough += [(None, *at) for at in outer.values()]
        scale, slope = self._sloped(rough, float(half)) if c is None else c
        c_middle, gamma, weight = arb(scale), arb(slope), self._weight_parabola(middle, across)
        c_least = c_middle * (-half * abs(gamma)).exp()
        highest = self._log_weight(left) - self.unit - 1 + c_middle.log() + half * abs(gamma)

        def flat(height: arb, alpha: arb) -> _Parabola:
            return _Parabola(self._raised(height, alpha / c_least) + highest, arb(0), arb(0))

        curved = {i: self._parabola(x, c_middle, gamma, half, weight) for i, x in found.items() if x is not None}
        parabolas = curved | {i: flat(*at) for i, at in crude.items()}
        if self.corners:
            return self._of_region(parabolas, half, scale, slope, set(crude))
        top = max(parabolas.values(), key=lambda q: float(q.height))
        resolved = not any(q is top for i, q in parabolas.items() if i in crude)
        for i, bounds in outer.items():
            parabolas[i] = flat(*bounds)
            at = [] if parabolas[i].height < top.height - 20 else self.classes[i].at(middle, across)
            expansion = self._expanded(i, at[0], at[1], None) if at else None
            if expansion is not None:
                parabolas[i] = self._parabola(expansion, c_middle, gamma, half, weight)
        ideal = _ideal(top, float(half)) if resolved else 0.0
        return CellBound(_integral(list(parabolas.values()), top, half), scale, ideal, slope)

    def _of_region(
        self, classes: dict[int, _Parabola], half: arb, scale: float, slope: float, crude: set[int]
    ) -> CellBound:
        """Return the bound of a cell from the parabolas of the classes, which are linear in their shares."""
        numbers = [[q.height, q.slope, q.bend] for q in (classes[i] for i in range(len(classes)))]
        columns = [self.at_corners(column) for column in zip(*numbers, strict=True)]
        parabolas = [_Parabola(*row) for row in zip(*columns, strict=True)]
        k = max(range(len(parabolas)), key=lambda k: float(parabolas[k].height))
        is_rough = any(i in crude for i, _ in self.corners[k])
        upper = _integral(parabolas, parabolas[k], half)
        return CellBound(upper, scale, 0.0 if is_rough else _ideal(parabolas[k], float(half)), slope)

    def tail(self, start: float, scale: float | None = None) -> CellBound:
        """Return a bound on the integral beyond ``start``, from |M| <= M(s), with c = scale (1 + sigma^2 |zeta|^2)."""
        u = arb(start)
        sizes = [self._size(i, arb(0)).max(c.plain * self.lost[i]) for i, c in enumerate(self.classes)]
        alphas = [self.N * size / c.mgf for size, c in zip(sizes, self.classes, strict=True)]
        heights, alphas = self.at_corners(self.log_mgf), self.at_corners(alphas)
        scale = scale or self._scale(heights, alphas)
        top = reduce(arb.max, [e + a / arb(scale) for e, a in zip(heights, alphas, strict=True)])
        power = top - 1 + self.square * (self.s**2 - u * u) / 2 - self.unit
        return CellBound(arb(scale) * power.exp() * (1 / u**2 + self.square) / (self.square * u), scale, inf)

    def _scale(self, exponents: Sequence[arb | float], alphas: Sequence[arb | float]) -> float:
        heights = [float(e) for e in exponents]
        top = max(heights)
        lines = [(e - top, max(float(a), 1e-300)) for e, a in zip(heights, alphas, strict=True)]
        for e, a in sorted(lines, reverse=True):
            # Where one class alone is the maximum, its own alpha is the best c.
            if isfinite(a) and all(other + slope / a <= e + 1.0 for other, slope in lines):
                return a
        if len(lines) <= _FEW_LINES:
            # Else two classes meet there.
            meeting = [(e - f) / (b - a) for (e, a), (f, b) in combinations(lines, 2) if (e - f) * (b - a) > 0.0]
            usable = [v for v in meeting if isfinite(v) and isfinite(1.0 / v)]
            if usable:
                return 1.0 / min(usable, key=lambda v: max(e + a * v for e, a in lines) - log(v))
        pair = np.array(lines)
        v = float(best_inverse_scale(pair[:, 0], pair[:, 1]))
        return 1.0 / v if isfinite(v) and v > 0.0 and isfinite(1.0 / v) else 1.0

    def _flat(self, i: int, right: arb) -> tuple[arb, arb]:
        """Return bounds on N log|M| and N |A|/M(s), with M(s) for |M|, up to a frequency."""
        transforms = self.classes[i]
        return self.log_mgf[i], self.N * self._size(i, self.s**2 + right**2) / transforms.mgf

    def _crude(self, i: int, left: arb, right: arb, beside_others: bool = False) -> tuple[arb, arb]:
        """Return N log Mhat and N |A|/Mhat for a constant Mhat >= |M| on the cell.

        ``beside_others``: with what is owed to mixtures with classes whose own |A| is taken.
        """
        transforms = self.classes[i]
        share = transforms.relative_modulus(left, right).max((-_FLOOR / self.N).exp())
        sizes = [self._size(j, self.s**2 + right**2) for j in (range(len(self.classes)) if beside_others else ())]
        size = self._size(i, self.s**2 + right**2) + reduce(arb.max, sizes, arb(0))
        return self.log_mgf[i] + self.N * share.log(), self.N * size / (transforms.mgf * share)

    def _raised(self, exponent: arb, share: arb) -> arb:
        """Return N log Mhat + N |A|/(Mhat c), the second term being ``share``, for the best of all larger Mhat."""
        return exponent + share if share <= self.N else exponent + self.N * (1 + (share / self.N).log())

    def _crossed(self, i: int, own: Transforms, before: Mapping[int, Transforms]) -> arb | None:
        """Return a bound on what mixtures with the classes before this one add to its |A|; None without mixtures."""
        if not self.mixed:
            return None
        added = arb(0)
        for j, x in before.items():
            p, q, r = abs(own.p.f0 - x.p.f0), abs(own.q.f0 - x.q.f0), abs(own.r.f0 - x.r.f0)
            added = added.max(abs(self.gains[i] - self.gains[j]) * p + q * r)
        return added

    def _expanded(self, i: int, m: Transforms, a: Transforms, crossed: arb | None) -> _Expansion | None:
        """Return log|M| and log|A| with derivatives in the middle and across the cell; None near a zero."""
        size, size_all = (x.p.scaled(self.gains[i]) + x.q * x.r for x in (m, a))
        log_m, log_a, log_m_all, log_a_all = (f.log_modulus() for f in (m.m, size, a.m, size_all))
        if log_m is None or log_a is None or log_m_all is None or log_a_all is None:
            return None
        raised = arb(1) if crossed is None else 1 + crossed / log_a_all[0].exp()
        alpha = self.N * (log_a[0] - log_m[0]).exp() * raised
        return _Expansion(self.N * log_m[0], alpha, log_m[1], log_a[1], log_m_all, log_a_all, raised)

    def _assembled(self, at: tuple[Jet, Jet], over: tuple[Jet, Jet]) -> _Expansion:
        (m, a), one = at, arb(1)
        return _Expansion(self.N * m[0], self.N * (a[0] - m[0]).exp(), m[1], a[1], *over, one)

    def _parabola(self, x: _Expansion, c: arb, gamma: arb, half: arb, weight: _Parabola) -> _Parabola:
        (m0, m1, m2), (a0, a1, a2) = x.log_m_all, x.log_a_all
        share = x.alpha / c
        share_all = self.N * x.raised * (a0 - m0).exp() / (c * (gamma * half * arb(0, 1)).exp())
        bend = -(self.N * m2 + share_all * (a2 - m2 + (a1 - m1 - gamma) ** 2))
        return _Parabola(
            x.height + share - 1 + c.log() + weight.height - self.unit,
            self.N * x.slope_m + share * (x.slope_a - x.slope_m - gamma) + gamma + weight.slope,
            bend + weight.bend,
        )

    def _sloped(self, rough: Sequence[tuple[_Expansion | None, arb, arb]], half: float) -> tuple[float, float]:
        """Return the best c in the middle of a cell, and the slope of its logarithm from the best ones at the ends."""
        found, lines, n = [], list[tuple[float, ...]](), float(self.N)
        for x, exponent, alpha in rough:
            if x is None:
                lines.append((float(exponent), 0.0, 0.0, float(alpha), 0.0, 0.0))
            else:
                (_, _, m2), (_, _, a2) = x.log_m_all, x.log_a_all
                m1, m2, a1, a2 = (float(f) for f in (x.slope_m, m2, x.slope_a, a2))
                lines.append((float(x.height), n * m1, 0.5 * n * m2, float(x.alpha), a1 - m1, 0.5 * (a2 - m2)))
        for t in (0.0, -half, half):
            exponents = [e + t * (f + t * g) for e, f, g, *_ in lines]
            alphas = [a * exp(min(t * (b + t * c), _MOST_GROWTH)) for *_, a, b, c in lines]
            found.append(self._scale(self._floats_at_corners(exponents), self._floats_at_corners(alphas)))
        return found[0], log(found[2] / found[1]) / (2.0 * half)

    def _log_weight(self, u: arb) -> arb:
        return self.square * (self.s**2 - u * u) / 2 - (self.s**2 + u * u).log()

    def _weight_parabola(self, middle: arb, across: arb) -> _Parabola:
        modulus2, modulus2_all = self.s**2 + middle**2, self.s**2 + across**2
        slope = -self.square * middle - 2 * middle / modulus2
        bend = self.square + 2 * (self.s**2 - across**2) / modulus2_all**2
        return _Parabola(self._log_weight(middle), slope, bend)


def _integral(parabolas: Sequence[_Parabola], top: _Parabola, half: arb) -> arb:
    """Return a bound on the integral of exp(max of the parabolas) over the cell."""
    zero = arb(0)
    square = half * half
    bend = top.bend.lower().max(zero)
    ends = []
    # A class that bends less is raised, so that all share one bend; one that bends upward is raised to a chord.
    raised = [q.height + (bend - q.bend.lower()).max(zero) * square / 2 for q in parabolas]
    for side in (-half, half):
        ends.append(reduce(arb.max, [height + side * q.slope for height, q in zip(raised, parabolas, strict=True)]))
    middle, spread = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2
    curve = bend * square
    flattened = (1 - curve / 6 + curve * curve / 40).min(arb(1))
    return 2 * half * middle.exp() * (2 + spread.cosh()) / 3 * flattened


def _ideal(top: _Parabola, half: float) -> float:
    t = half * _NODES
    height, slope, bend = (float(x) for x in (top.height, top.slope, top.bend))
    with np.errstate(over="ignore", invalid="ignore"):
        return half * float(_WEIGHTS @ np.exp(height + slope * t - 0.5 * bend * t * t))
