"""The integral of one term over all frequencies, in balls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf, log

import numpy as np
from flint import acb, arb, arb_mat

from symamp.laws.law import BallGparv, Floats, total
from symamp.sums.all_data_sets.floats import Term, best_inverse_scale

# --- The transforms M_x, and P, Q, R of A_x = G+ P + Q R, of one term and one class of inputs, with derivatives in u


@dataclass(frozen=True)
class Derivatives:
    """A function of u, and its first two derivatives, at one ball."""

    f0: acb
    f1: acb
    f2: acb

    def log_modulus(self) -> tuple[arb, arb, arb] | None:
        """Return log|f| and its first two derivatives in u; None where f is not seen to be nonzero."""
        size = abs(self.f0)
        if not size > 0:
            return None
        ratio = self.f1 / self.f0
        return size.log(), ratio.real, (self.f2 / self.f0 - ratio * ratio).real

    def __add__(self, other: Derivatives) -> Derivatives:
        return Derivatives(self.f0 + other.f0, self.f1 + other.f1, self.f2 + other.f2)

    def __mul__(self, other: Derivatives) -> Derivatives:
        second = self.f2 * other.f0 + 2 * self.f1 * other.f1 + self.f0 * other.f2
        return Derivatives(self.f0 * other.f0, self.f1 * other.f0 + self.f0 * other.f1, second)

    def scaled(self, factor: arb) -> Derivatives:
        """Return a multiple."""
        return Derivatives(factor * self.f0, factor * self.f1, factor * self.f2)


@dataclass(frozen=True)
class Transforms:
    """M_x and the three factors of A_x = G+ P + Q R at one ball of frequencies."""

    m: Derivatives
    p: Derivatives
    q: Derivatives
    r: Derivatives


class ClassTransforms:
    """One class of inputs on the line s + iu of one term."""

    def __init__(self, g: BallGparv, term: Term, p_lo: float) -> None:
        s, lam, sigma = arb(term.s), arb(term.lam), arb(term.sigma)
        self.s, self.square, self.null = s, sigma * sigma, g.null_mass
        positive = [(z, p) for z, p in zip(g.values, g.masses, strict=True) if z > 0]
        negative = [(z, p) for z, p in zip(g.values, g.masses, strict=True) if z < 0]
        self.values = [z for z, _ in positive + negative]
        tilted, slow, plain = [], [], []
        for z, p in positive:
            beta = 1 / (1 + (1 + z / arb(p_lo)).sqrt())
            plain.append(p * z * (-lam * beta * z).exp())
            slow.append(plain[-1] * (s * z).exp())
            tilted.append(p * ((s - lam) * z).exp())
        below = [p * (s * z).exp() for z, p in negative]
        zero = [arb(0)] * len(negative)
        zeros = [arb(0)] * len(positive)
        rows = []
        for k in range(4):  # E[z^k e^(..)] over the positive values
            rows.append([w * z**k for (z, _), w in zip(positive, tilted, strict=True)] + zero)
        for k in range(3):
            rows.append([w * z**k for (z, _), w in zip(positive, slow, strict=True)] + zero)
        for k in range(4):
            rows.append(zeros + [w * z**k for (z, _), w in zip(negative, below, strict=True)])
        self.weights = arb_mat(rows)
        whole = [a + b for a, b in zip(rows[0], rows[7], strict=True)]
        self.whole = arb_mat([whole])
        self.plain = total(plain)
        self.mgf = self.null + total(whole)
        mean = total([w * z for w, z in zip(whole, self.values, strict=True)]) / self.mgf
        second = total([w * z * z for w, z in zip(whole, self.values, strict=True)]) / self.mgf
        self.deviation = (second - mean * mean).max(arb(0)).sqrt()
        self.positive = total(rows[1])  # E[z+ e^((s - lam) z+)], at least |P|
        self.mixed = total(rows[4]) + self.plain  # with square |zeta|^2 plain at least |Q|
        self.lost = -total(rows[8])  # E[z- e^(-s z-)], at least |R|

    def relative_modulus(self, lo: arb, hi: arb) -> arb:
        """Return a bound on |M(s + iu)|/M(s) for lo <= u <= hi."""
        middle = (lo + hi) / 2
        ((im, re),) = (self.whole * arb_mat([(middle * z).sin_cos() for z in self.values])).tolist()
        re += self.null
        modulus2 = (re * re + im * im) / (self.mgf * self.mgf)
        distance = (1 - modulus2).max(arb(0)).sqrt() - self.deviation * (hi - lo) / 2
        distance = distance.max(arb(0)).min(arb(1))
        return (1 - distance * distance).max(arb(0)).sqrt()

    def at(self, *frequencies: arb) -> list[Transforms]:
        """Return the transforms at some balls of frequencies."""
        columns = []
        for z in self.values:
            row = []
            for u in frequencies:
                sine, cosine = (u * z).sin_cos()
                row += [cosine, sine]
            columns.append(row)
        sums = (self.weights * arb_mat(columns)).tolist()
        return [
            self._assembled(u, [acb(row[2 * j], row[2 * j + 1]) for row in sums]) for j, u in enumerate(frequencies)
        ]

    def _assembled(self, u: arb, e: list[acb]) -> Transforms:
        i = acb(0, 1)
        zeta, square, plain = acb(self.s, u), self.square, self.plain
        m = Derivatives(self.null + e[0] + e[7], i * (e[1] + e[8]), -(e[2] + e[9]))
        p = Derivatives(e[1], i * e[2], -e[3])
        q0 = e[4] + plain * (square * zeta * zeta - 1)
        q = Derivatives(q0, i * (e[5] + 2 * square * plain * zeta), -(e[6] + 2 * square * plain))
        r = Derivatives(-e[8], -i * e[9], e[10])
        return Transforms(m, p, q, r)


# ----------------------------------------------- Bounds on the integral of one term over cells of frequencies, in balls

_FLOOR = 70.0  # |M|^N is not followed below e^-70 of its largest value
_MOST_GROWTH = 50.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)


@dataclass(frozen=True)
class CellBound:
    """Bounds on the integrals over one cell, one for each class, and what they would be without slack.

    They were obtained with c = scale e^(slope (u - middle)).
    """

    uppers: tuple[arb, ...]
    scale: float
    ideals: tuple[float, ...] = ()
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

    ``mixed`` says that all mixtures of the classes may occur too; ``weights`` are what each class counts for in the
    choice of c.
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
        weights: Sequence[float] | None = None,
    ) -> None:
        self.count = len(laws)
        self._log_weights = np.log(np.ones(self.count) if weights is None else np.array(weights))
        self.term, self.N, self.unit = term, arb(n - 1), arb(unit)
        self.s, self.square = arb(term.s), arb(term.sigma) ** 2
        self.classes = [ClassTransforms(g, term, p_lo) for g in laws]
        self.gains = [*gains] if mixed else [gains[0]] * len(laws)
        self.most_gain, self.mixed = reduce(arb.max, gains), mixed
        lost = [c.lost for c in self.classes]
        self.lost = [reduce(arb.max, lost)] * len(lost) if mixed else lost
        self.log_mgf = [self.N * c.mgf.log() for c in self.classes]
        floats = [float(x) for x in self.log_mgf]
        self.order = sorted(range(len(laws)), key=lambda i: -floats[i])

    def _size(self, i: int, modulus2: arb) -> arb:
        """Return a bound on |A| of one class where |zeta|^2 is at most ``modulus2``."""
        c = self.classes[i]
        return self.most_gain * c.positive + (c.mixed + self.square * modulus2 * c.plain) * self.lost[i]

    @property
    def width(self) -> float:
        """The frequency at which the integrand has fallen by about e^(-1/2): a first size of cells."""
        spread = max(float(c.deviation) for c in self.classes)
        return float(1.0 / np.sqrt(float(self.N) * spread**2 + 2.0 / self.term.s**2))

    def coarse(self, lo: float, hi: float, scale: float | None = None, most: float = inf) -> CellBound:
        """Return one bound for all from |M| <= M(s) (1 - distance^2)^(1/2): good where the integrand is negligible.

        inf as soon as one class shows that it will be above ``most``.
        """
        left, right = arb(lo), arb(hi)
        common = self._log_weight(left) - self.unit
        limit = log(most / (hi - lo)) - float(common)
        found: dict[int, tuple[arb, arb]] = {}
        for i in self.order:
            exponent, alpha = found[i] = self._crude(i, left, right)
            if float(exponent + alpha.log()) > limit:
                return CellBound((arb("inf"),) * self.count, 1.0)
        lines = [found[i] for i in range(len(found))]
        scale = scale or self._scale(*zip(*lines, strict=True))
        top = reduce(arb.max, [self._raised(e, a / arb(scale)) for e, a in lines])
        return CellBound(((right - left) * arb(scale) * (top - 1 + common).exp(),) * self.count, scale)

    def fine(self, lo: float, hi: float, c: tuple[float, float] | None = None) -> CellBound:
        """Return bounds from second-order expansions of the exponent of every class at the middle of the cell.

        ``c`` is (scale, slope).
        """
        left, right = arb(lo), arb(hi)
        middle, half = (left + right) / 2, (right - left) / 2
        across = left.union(right)
        known = {i: self.classes[i].at(middle, across) for i in self.order}
        found: dict[int, _Expansion | None] = {}
        for i, at in known.items():
            crossed = self._crossed(i, at[1], {j: known[j][1] for j, x in found.items() if x is not None})
            found[i] = self._expanded(i, at[0], at[1], crossed)
        rough = [found[i] or self._crude(i, left, right, beside_others=self.mixed) for i in range(self.count)]
        if c is None:
            c = self._sloped(rough, float(half))
        scale, slope = c
        c_middle, gamma, weight = arb(scale), arb(slope), self._weight_parabola(middle, across)
        c_least = c_middle * (-half * abs(gamma)).exp()
        highest = self._log_weight(left) - self.unit - 1 + c_middle.log() + half * abs(gamma)

        def flat(height: arb, alpha: arb) -> _Parabola:
            return _Parabola(self._raised(height, alpha / c_least) + highest, arb(0), arb(0))

        parabolas = [
            flat(*x) if isinstance(x, tuple) else self._parabola(x, c_middle, gamma, half, weight) for x in rough
        ]
        uppers = tuple(_integral(q, half) for q in parabolas)
        ideals = _ideals(parabolas, float(half))
        ideals[[i for i, x in found.items() if x is None]] = 0.0
        return CellBound(uppers, scale, tuple(ideals.tolist()), slope)

    def tail(self, start: float, scale: float | None = None) -> CellBound:
        """Return one bound for all integrals beyond ``start``, from |M| <= M(s): c = scale (1 + sigma^2 |zeta|^2)."""
        u = arb(start)
        sizes = [self._size(i, arb(0)).max(c.plain * self.lost[i]) for i, c in enumerate(self.classes)]
        alphas = [self.N * size / c.mgf for size, c in zip(sizes, self.classes, strict=True)]
        scale = scale or self._scale(self.log_mgf, alphas)
        top = reduce(arb.max, [e + a / arb(scale) for e, a in zip(self.log_mgf, alphas, strict=True)])
        power = top - 1 + self.square * (self.s**2 - u * u) / 2 - self.unit
        bound = arb(scale) * power.exp() * (1 / u**2 + self.square) / (self.square * u)
        return CellBound((bound,) * self.count, scale)

    def _scales(self, exponents: Floats, alphas: Floats) -> list[float]:
        """Return the best c for a sum over the classes, row by row, from N log|M| and N alpha of the classes."""
        with np.errstate(all="ignore"):
            v = best_inverse_scale(exponents + self._log_weights, np.maximum(alphas, 1e-300))
            c = 1.0 / v
        return np.where(np.isfinite(c) & (c > 0.0), c, 1.0).tolist()  # type: ignore[no-any-return]

    def _scale(self, exponents: Sequence[arb], alphas: Sequence[arb]) -> float:
        return self._scales(*(np.array([[float(x) for x in row]]) for row in (exponents, alphas)))[0]

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

    def _sloped(self, rough: Sequence[_Expansion | tuple[arb, arb]], half: float) -> tuple[float, float]:
        """Return the best c in the middle of a cell, and the slope of its logarithm from the best ones at the ends."""
        lines, n = list[tuple[float, ...]](), float(self.N)
        for x in rough:
            if isinstance(x, tuple):
                lines.append((float(x[0]), 0.0, 0.0, float(x[1]), 0.0, 0.0))
            else:
                (_, _, m2), (_, _, a2) = x.log_m_all, x.log_a_all
                m1, m2, a1, a2 = (float(f) for f in (x.slope_m, m2, x.slope_a, a2))
                lines.append((float(x.height), n * m1, 0.5 * n * m2, float(x.alpha), a1 - m1, 0.5 * (a2 - m2)))
        rows = np.array(lines)
        t = np.array([[0.0], [-half], [half]])
        exponents = rows[:, 0] + t * (rows[:, 1] + t * rows[:, 2])
        grown = np.minimum(t * (rows[:, 4] + t * rows[:, 5]), _MOST_GROWTH)
        middle, *ends = self._scales(exponents, rows[:, 3] * np.exp(grown))
        return middle, log(ends[1] / ends[0]) / (2.0 * half)

    def _log_weight(self, u: arb) -> arb:
        return self.square * (self.s**2 - u * u) / 2 - (self.s**2 + u * u).log()

    def _weight_parabola(self, middle: arb, across: arb) -> _Parabola:
        modulus2, modulus2_all = self.s**2 + middle**2, self.s**2 + across**2
        slope = -self.square * middle - 2 * middle / modulus2
        bend = self.square + 2 * (self.s**2 - across**2) / modulus2_all**2
        return _Parabola(self._log_weight(middle), slope, bend)


def _integral(q: _Parabola, half: arb) -> arb:
    """Return a bound on the integral of exp(a parabola) over the cell; one that bends upward is raised to a chord."""
    bend = q.bend.lower().max(arb(0))
    curve = bend * half * half
    raised = q.height + (bend - q.bend.lower()) * half * half / 2
    flattened = (1 - curve / 6 + curve * curve / 40).min(arb(1))
    return 2 * half * raised.exp() * (2 + (half * q.slope).cosh()) / 3 * flattened


def _ideals(parabolas: Sequence[_Parabola], half: float) -> Floats:
    t = half * _NODES
    rows = np.array([[float(q.height), float(q.slope), float(q.bend)] for q in parabolas])
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.exp(rows[:, :1] + rows[:, 1:2] * t - 0.5 * rows[:, 2:] * t * t) @ _WEIGHTS
    return np.asarray(half * found)
