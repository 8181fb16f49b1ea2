"""The bound over all data sets at once: whatever inputs the other users hold (docs/proofs/all_data_sets.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from math import exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np
from flint import acb, arb, arb_mat

from symamp.laws.law import BallGparv, Floats, Level, total
from symamp.numbers.limits import CELL, Limits
from symamp.numbers.surroundings import at_precision
from symamp.sums.all_data_sets.floats import (
    REACH,
    AllDataSetsEvidence,
    Cells,
    Parameters,
    Term,
    Waves,
    best_inverse_scale,
)
from symamp.sums.all_data_sets.laws import raised_to_majorant
from symamp.sums.all_data_sets.moments import MOMENTS
from symamp.sums.all_data_sets.normal import MANY_USERS, is_worth_asking, moments_of_laws, normal_bound
from symamp.sums.all_data_sets.search import SHARP, Found, Searches
from symamp.sums.divergence import Enclosure, Settings, starting_precision

# --- The transforms M_x, and P, Q, R of A_x = G+ P + Q R, of one term and all classes of inputs, with derivatives in u


class Derivatives(NamedTuple):
    """A function of zeta = s + iu, and its first two derivatives in zeta, at one ball."""

    f0: acb
    f1: acb
    f2: acb

    def slope(self) -> arb:
        """Return the derivative of log|f| in u."""
        return -(self.f1 / self.f0).imag

    def slopes(self) -> tuple[arb, arb]:
        """Return the first two derivatives of log|f| in u."""
        ratio = self.f1 / self.f0
        return -ratio.imag, (ratio * ratio - self.f2 / self.f0).real


class Transforms(NamedTuple):
    """M_x and the three factors of A_x = G+ P + Q R at one ball of frequencies."""

    m: Derivatives
    p: Derivatives
    q: Derivatives
    r: Derivatives

    def size(self, gain: arb) -> Derivatives:
        """Return A_x."""
        (p0, p1, p2), (q0, q1, q2), (r0, r1, r2) = self.p, self.q, self.r
        return Derivatives(
            gain * p0 + q0 * r0, gain * p1 + q1 * r0 + q0 * r1, gain * p2 + q2 * r0 + 2 * q1 * r1 + q0 * r2
        )


def _with_powers(masses: list[arb], values: Sequence[arb], count: int) -> list[list[arb]]:
    """Return the masses times z^k for each k below the count."""
    rows = [masses]
    for _ in range(count - 1):
        rows.append([w * z for w, z in zip(rows[-1], values, strict=True)])
    return rows


class ClassTransforms:
    """One class of inputs on the line s + iu of one term: what bounds its transforms at all frequencies.

    ``rows`` are the masses in E[z^k e^(..)] for k from 0: of M and P, and of Q, over the positive values, and of R over
    the negative ones.
    """

    def __init__(self, g: BallGparv, term: Term, p_lo: float) -> None:
        s, lam = arb(term.s), arb(term.lam)
        self.null = g.null_mass
        positive = [(z, p) for z, p in zip(g.values, g.masses, strict=True) if z > 0]
        negative = [(z, p) for z, p in zip(g.values, g.masses, strict=True) if z < 0]
        self.above, self.below = [z for z, _ in positive], [z for z, _ in negative]
        plain = [p * z * (-lam * z / (1 + (1 + z / arb(p_lo)).sqrt())).exp() for z, p in positive]
        slow = [x * (s * z).exp() for x, z in zip(plain, self.above, strict=True)]
        tilted, left = [p * ((s - lam) * z).exp() for z, p in positive], [p * (s * z).exp() for z, p in negative]
        self.rows = [
            *_with_powers(tilted, self.above, 4),
            *_with_powers(slow, self.above, 3),
            *_with_powers(left, self.below, 4),
        ]
        sums = [total(row) for row in self.rows]
        self.plain = total(plain)
        self.mgf = self.null + sums[0] + sums[7]
        mean, second = (sums[1] + sums[8]) / self.mgf, (sums[2] + sums[9]) / self.mgf
        self.deviation = (second - mean * mean).max(arb(0)).sqrt()
        self.positive = sums[1]  # E[z+ e^((s - lam) z+)], at least |P|
        self.mixed = sums[4] + self.plain  # with square |zeta|^2 plain at least |Q|
        self.lost = -sums[8]  # E[z- e^(-s z-)], at least |R|


# ----------------------------------------------- Bounds on the integral of one term over cells of frequencies, in balls

_FLOOR = 70.0  # |M|^N is not followed below e^-70 of its largest value
_MOST_GROWTH = 50.0
_LENGTHS = np.geomspace(0.3, 1e6, 60)
"""Lengths of cells, in units of the main lobe, that are tried where the integrand may be negligible."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)


class CellBound(NamedTuple):
    """Bounds on the integrals over one cell, one for each class, and what they would be without slack.

    They were obtained with c = scale e^(slope (u - middle)).
    """

    uppers: tuple[arb, ...]
    scale: float
    ideals: tuple[float, ...] = ()
    slope: float = 0.0


class _Parabola(NamedTuple):
    """E(middle + t) <= height + slope t - bend t^2/2 on the cell, for the exponent of one class."""

    height: arb
    slope: arb
    bend: arb


class _Expansion(NamedTuple):
    """N log|M| and N alpha in the middle, the slopes of log|M| and log|A| there.

    And N alpha and the first two derivatives of both logarithms across the cell. alpha is raised by a constant factor
    where A is not that of the class alone.
    """

    height: arb
    alpha: arb
    slope_m: arb
    slope_a: arb
    alpha_all: arb
    log_m_all: tuple[arb, arb]
    log_a_all: tuple[arb, arb]


_Sums = tuple[Sequence[arb], Sequence[Sequence[arb]]]
"""Values, and their masses in several rows."""


class _Waves:
    """Sums of e^(iuz) over values z with some masses in several rows; values that classes share are taken once."""

    def __init__(self, classes: Sequence[_Sums]) -> None:
        every = [float(z) for values, _ in classes for z in values]
        are_shared = 2 * len(set(every)) <= len(every)
        self._blocks = [_block(some) for some in ([classes] if are_shared else [[one] for one in classes])]

    def at(self, *frequencies: arb) -> list[list[acb]]:
        """Return the sums at some balls of frequencies, frequency by frequency."""
        rows = list[list[arb]]()
        for values, masses in self._blocks:
            turned = [[x for u in frequencies for x in (u * z).sin_cos()] for z in values]
            rows += (masses * arb_mat(turned)).tolist()
        return [[acb(row[j + 1], row[j]) for row in rows] for j in range(0, 2 * len(frequencies), 2)]

    def in_floats(self, u: Floats) -> Waves:
        """Return the sums at frequencies in doubles, one row a frequency."""
        return np.hstack([np.exp(1j * np.outer(u, values)) @ masses for values, masses in self._in_doubles])

    @cached_property
    def _in_doubles(self) -> list[tuple[Floats, Floats]]:
        blocks = ((values, masses.tolist()) for values, masses in self._blocks)
        return [
            (np.array([float(z) for z in values]), np.array([[float(x) for x in row] for row in rows]).T)
            for values, rows in blocks
        ]


def _block(classes: Sequence[_Sums]) -> tuple[list[arb], arb_mat]:
    """Return all values of some classes, those that overlap as one, and the masses, a row for each of theirs."""
    found, first = list[tuple[arb, dict[int, arb]]](), 0
    for values, rows in classes:
        found += [(z, {first + i: row[k] for i, row in enumerate(rows)}) for k, z in enumerate(values)]
        first += len(rows)
    values, columns = [arb(0)], list[dict[int, arb]]([{}])
    for z, masses in sorted(found, key=lambda one: float(one[0])):
        if z.overlaps(values[-1]):
            values[-1] = z.union(values[-1])
            columns[-1] |= {i: columns[-1].get(i, arb(0)) + mass for i, mass in masses.items()}
        else:
            values.append(z)
            columns.append(masses)
    return values, arb_mat([[column.get(i, arb(0)) for column in columns] for i in range(first)])


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
        self._above = _Waves([(c.above, c.rows[:7]) for c in self.classes])
        self._below = _Waves([(c.below, c.rows[7:]) for c in self.classes])
        self._whole = _Waves([(c.above + c.below, [[x / c.mgf for x in c.rows[0] + c.rows[7]]]) for c in self.classes])
        self.gains = [*gains] if mixed else [gains[0]] * len(laws)
        self.most_gain, self.mixed = reduce(arb.max, gains), mixed
        lost = [c.lost for c in self.classes]
        self.lost = [reduce(arb.max, lost)] * len(lost) if mixed else lost
        self.log_mgf = [self.N * c.mgf.log() for c in self.classes]
        self.order = sorted(range(len(laws)), key=lambda i: -float(self.log_mgf[i]))
        self._floor = (-_FLOOR / self.N).exp()
        sizes = [(self._size(i, self.s**2), self.square * c.plain * self.lost[i]) for i, c in enumerate(self.classes)]
        rows = [
            (height, c.null / c.mgf, c.deviation, self.N * size / c.mgf, self.N * more / c.mgf)
            for height, c, (size, more) in zip(self.log_mgf, self.classes, sizes, strict=True)
        ]
        self._in_floats = np.array([[float(x) for x in row] for row in rows]).T

    def _size(self, i: int, modulus2: arb) -> arb:
        """Return a bound on |A| of one class where |zeta|^2 is at most ``modulus2``."""
        c = self.classes[i]
        return self.most_gain * c.positive + (c.mixed + self.square * modulus2 * c.plain) * self.lost[i]

    @property
    def width(self) -> float:
        """The frequency at which the integrand has fallen by about e^(-1/2): a first size of cells."""
        spread = max(float(c.deviation) for c in self.classes)
        return float(1.0 / np.sqrt(float(self.N) * spread**2 + 2.0 / self.term.s**2))

    def coarse(self, lo: float, hi: float, scale: float | None = None) -> CellBound:
        """Return one bound for all from |M| <= M(s) (1 - distance^2)^(1/2): good where the integrand is negligible."""
        left, right = arb(lo), arb(hi)
        lines = [self._crude(i, share, right) for i, share in enumerate(self._relative_moduli(left, right))]
        scale = scale or _common_scale(lines)
        top = reduce(arb.max, [self._raised(e, a / arb(scale)) for e, a in lines])
        whole = (right - left) * arb(scale) * (top - 1 + self._log_weight(left) - self.unit).exp()
        return CellBound((whole,) * self.count, scale)

    def furthest(self, lo: float, top: float, most: float) -> float:
        """Return how far a cell from ``lo`` on may reach for its coarse bound to be ``most``, by an estimate in floats.

        ``lo`` itself where that is nowhere.
        """
        height, null, deviation, size, more = self._in_floats
        ends = np.append(lo + self.width * _LENGTHS, top)
        ends = ends[ends <= top]
        half, N = 0.5 * (ends - lo)[:, None], float(self.N)
        fallen = 1.0 - np.abs(self._whole.in_floats(lo + half[:, 0]) + null) ** 2
        distance = np.clip(np.sqrt(np.maximum(fallen, 0.0)) - deviation * half, 0.0, 1.0 - 1e-15)
        share = np.maximum(0.5 * np.log1p(-distance * distance), -_FLOOR / N)
        exponents, alphas = height + N * share, (size + more * ends[:, None] ** 2) * np.exp(-share)
        highest = exponents.max(axis=1)
        scales = (alphas / (1.0 + highest[:, None] - exponents)).max(axis=1)
        room = log(most) - float(self._log_weight(arb(lo)) - self.unit) - np.log(2.0 * half[:, 0])
        return float(ends[highest + np.log(scales) < room].max(initial=lo))

    def fine(self, lo: float, hi: float, c: tuple[float, float] | None = None) -> CellBound:
        """Return bounds from second-order expansions of the exponent of every class at the middle of the cell.

        ``c`` is (scale, slope).
        """
        left, right = arb(lo), arb(hi)
        middle, half = (left + right) / 2, (right - left) / 2
        across = left.union(right)
        inside, everywhere = self._transforms(middle, across)
        found: dict[int, _Expansion | None] = {}
        for i in self.order:
            crossed = self._crossed(i, everywhere[i], {j: everywhere[j] for j, x in found.items() if x is not None})
            found[i] = self._expanded(i, inside[i], everywhere[i], crossed)
        shares = [] if all(found.values()) else self._relative_moduli(left, right)
        rough = [found[i] or self._crude(i, shares[i], right, beside_others=self.mixed) for i in range(self.count)]
        if c is None:
            c = self._sloped(rough, float(half))
        scale, slope = c
        c_middle, gamma, weight = arb(scale), arb(slope), self._weight_parabola(middle, across)
        c_least = c_middle * (-half * abs(gamma)).exp()
        highest = self._log_weight(left) - self.unit - 1 + c_middle.log() + half * abs(gamma)

        def flat(height: arb, alpha: arb) -> _Parabola:
            return _Parabola(self._raised(height, alpha / c_least) + highest, arb(0), arb(0))

        parabolas = [
            self._parabola(x, c_middle, gamma, half, weight) if isinstance(x, _Expansion) else flat(*x) for x in rough
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
        scale = scale or _common_scale([*zip(self.log_mgf, alphas, strict=True)])
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

    def _relative_moduli(self, lo: arb, hi: arb) -> list[arb]:
        """Return a bound on |M(s + iu)|/M(s) of each class for lo <= u <= hi."""
        (waves,), half, found = self._whole.at((lo + hi) / 2), (hi - lo) / 2, list[arb]()
        for c, wave in zip(self.classes, waves, strict=True):
            real, imag = wave.real + c.null / c.mgf, wave.imag
            fallen = (1 - real * real - imag * imag).max(arb(0)).sqrt()
            distance = (fallen - c.deviation * half).max(arb(0)).min(arb(1))
            found.append((1 - distance * distance).max(arb(0)).sqrt())
        return found

    def _transforms(self, *frequencies: arb) -> list[list[Transforms]]:
        """Return the transforms of each class at some balls of frequencies, frequency by frequency."""
        found = []
        for u, above, below in zip(
            frequencies, self._above.at(*frequencies), self._below.at(*frequencies), strict=True
        ):
            zeta, some = acb(self.s, u), list[Transforms]()
            turned = self.square * zeta
            smooth0, smooth1, smooth2 = turned * zeta - 1, 2 * turned, 2 * self.square
            for i, c in enumerate(self.classes):
                p0, p1, p2, p3, q0, q1, q2 = above[7 * i : 7 * i + 7]
                r0, r1, r2, r3 = below[4 * i : 4 * i + 4]
                q = Derivatives(q0 + c.plain * smooth0, q1 + c.plain * smooth1, q2 + c.plain * smooth2)
                m, r = Derivatives(c.null + p0 + r0, p1 + r1, p2 + r2), Derivatives(-r1, -r2, -r3)
                some.append(Transforms(m, Derivatives(p1, p2, p3), q, r))
            found.append(some)
        return found

    def _crude(self, i: int, share: arb, right: arb, beside_others: bool = False) -> tuple[arb, arb]:
        """Return N log Mhat and N |A|/Mhat for a constant Mhat >= |M| on the cell, a ``share`` of M(s).

        ``beside_others``: with what is owed to mixtures with classes whose own |A| is taken.
        """
        share = share.max(self._floor)
        sizes = [self._size(j, self.s**2 + right**2) for j in (range(len(self.classes)) if beside_others else ())]
        size = self._size(i, self.s**2 + right**2) + reduce(arb.max, sizes, arb(0))
        return self.log_mgf[i] + self.N * share.log(), self.N * size / (self.classes[i].mgf * share)

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
        size, size_all = m.size(self.gains[i]), a.size(self.gains[i])
        m_all, a_all = abs(a.m.f0), abs(size_all.f0)
        if not (m_all > 0 and a_all > 0):
            return None
        raised, modulus = self.N if crossed is None else self.N * (1 + crossed / a_all), abs(m.m.f0)
        return _Expansion(
            self.N * modulus.log(),
            raised * abs(size.f0) / modulus,
            m.m.slope(),
            size.slope(),
            raised * a_all / m_all,
            a.m.slopes(),
            size_all.slopes(),
        )

    def _parabola(self, x: _Expansion, c: arb, gamma: arb, half: arb, weight: _Parabola) -> _Parabola:
        (m1, m2), (a1, a2) = x.log_m_all, x.log_a_all
        share, share_all = x.alpha / c, x.alpha_all / (c * (gamma * half * arb(0, 1)).exp())
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
            if isinstance(x, _Expansion):
                m1, m2, a1, a2 = (float(f) for f in (x.slope_m, x.log_m_all[1], x.slope_a, x.log_a_all[1]))
                lines.append((float(x.height), n * m1, 0.5 * n * m2, float(x.alpha), a1 - m1, 0.5 * (a2 - m2)))
            else:
                lines.append((float(x[0]), 0.0, 0.0, float(x[1]), 0.0, 0.0))
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


def _common_scale(lines: Sequence[tuple[arb, arb]]) -> float:
    """Return a c for which no class has E + alpha/c far above the largest E, from E and alpha of each."""
    top = max(float(e) for e, _ in lines)
    return max(float(a) / (1.0 + top - float(e)) for e, a in lines)


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


# -------------------------------------------------------- The bound: parameters in floats, then one evaluation in balls


_SLACK, _OF_GAP, _MOST_SLACK, _OF_EXCESS = 1.2e-3, 2.5, 0.03, 0.06  # relative, of one cell: all together take less
_NEGLIGIBLE, _OF_NEGLIGIBLE = 0.03, 0.4  # of a term, for one cell, in units of the slack; the part that is aimed at
_PLAIN, _SHORT = 30.0, 0.3
"""Up to which size of the last cell, in these units, the fast bound is tried, and how short a cell it may have beside
those of the sharp one, which takes five times as long or more."""
_EVEN, _LEAST_SHARE, _AIM = 0.5, 0.015, 0.4
"""A cell with integral I may exceed it by the slack times the least of I and _EVEN I^(1/2): cells of unlike integrals
then cost about alike; _LEAST_SHARE times the slack is allowed to all. Sizes aim at the part _AIM of that."""
_OF_OTHERS = 0.5
_BY_MOMENTS = 0.012
"""Where so much may be given away in the logarithm moments are asked before cells: they take a tenth of the time. It is
more than the gaps of certificates, which need cells."""
_SURPLUS = 0.3
"""So far may estimates be above what moments are to show, with parameters of another pair that moments use better."""
_MOST_CELLS = 3_000
_NONE = CellBound((arb("inf"),), 1.0, (inf,))
_NO_TERMS = AllDataSetsEvidence(Parameters(1.0, 0.0, 0.0, ()), ())
"""What shows the bound by the normal law: it has no parameters."""


def enclose_all_data_sets(
    known: Searches, level: Level, n: int, settings: Settings | None = None, *, rough: bool = False
) -> Enclosure:
    """Return an enclosure of the divergence for every data set of the other n - 1 users, 0 at the lower end.

    ``known`` are the searches of the laws of G^x = (R(x0) - E R(x1))/R(x) under R(x), one for every input x that
    another user may hold, each complete, with all their mixtures if it says so (docs/proofs/generic_all_data_sets.md);
    ``rough``: parameters of another pair will do.

    Guarantee
    ---------
    For every choice of inputs, one for each of the n - 1 other users, the divergence D_E of the two shuffled
    histograms is at most ``upper.upper()``. Parameters and cells are searched in floats; that is sound because all of
    them give valid bounds, and the last evaluation is in balls. Proof: docs/proofs/all_data_sets.md.

    Raises ArgumentError if the laws have a null symbol or cannot belong to one pair of inputs.
    """
    settings = settings or Settings()
    gap, limits = settings.gap, settings.limits
    bits, slack = starting_precision(n, gap), max(_SLACK, _OF_GAP * gap)
    level = known.resolved(level, n, bits)
    distinct, gains, loss = known.prepared(level, n, bits)
    if (sharp := known.normal(level, n, bits)) is not None:
        return Enclosure(arb(0), sharp, MANY_USERS, bits, merging=arb(loss), evidence=_NO_TERMS)
    found = known.found(level, n, limits, rough)
    with at_precision(bits):
        everywhere = reduce(arb.max, gains).upper()
        if found is not None and (normal := _normal(distinct, gains, n, found)) < arb(found.log_value).exp():
            return Enclosure(arb(0), normal, MANY_USERS, bits, merging=arb(loss), evidence=_NO_TERMS)
        if found is not None and found.log_value < float(everywhere.log()):
            parameters = raised_to_majorant(found.parameters)
            if parameters is not None and gap >= _BY_MOMENTS:
                upper = known.by_moments(level, n, bits, found.parameters, found.log_value)
                if upper < arb(found.log_value + gap).exp():
                    return Enclosure(arb(0), upper.upper(), MOMENTS, bits, merging=arb(loss))
            if parameters is not None:
                # Cells need not be sharp where all parameters are poor.
                slack = max(slack, _of_poor(found))
                upper, cells = _certified(distinct, gains, parameters, found, n, known.mixed, slack)
                limits.charge(sum(len(c.ends) for c in cells) * CELL.of(sum(len(g.values) for g in distinct)))
                if upper.upper() < everywhere:
                    evidence, name = AllDataSetsEvidence(parameters, cells), "all data sets"
                    return Enclosure(arb(0), upper.upper(), name, bits, merging=arb(loss), evidence=evidence)
        return Enclosure(arb(0), everywhere, "one user", bits)


def moments_below(known: Searches, level: Level, n: int, log_limit: float, limits: Limits) -> Enclosure | None:
    """Return an enclosure by moments whose upper end is at most e^log_limit, None where parameters at hand give none.

    Guarantee
    ---------
    For every choice of inputs of the n - 1 other users, the divergence is at most ``upper.upper()``.
    Proof: docs/proofs/all_pairs.md.
    """
    level = known.resolved(level, n, 128)
    if known.normal(level, n, 128) is not None:
        return None
    with at_precision(128):
        limit, loss = arb(log_limit).exp(), arb(known.prepared(level, n, 128)[2])
        if (lent := known.lent(level, n, log_limit)) is not None:
            upper = known.by_moments(level, n, 128, lent, log_limit)
            if upper <= limit:
                return Enclosure(arb(0), upper.upper(), MOMENTS, 128, merging=loss)
        found = known.at_hand(level, n, limits)
        # Neither a data set nor poor parameters are above what is to be shown.
        if found is None or not max(found.log_value - found.excess, found.log_value - _SURPLUS) < log_limit:
            return None
        upper = known.by_moments(level, n, 128, found.parameters, found.log_value)
        return Enclosure(arb(0), upper.upper(), MOMENTS, 128, merging=loss) if upper <= limit else None


def estimate_log_all_data_sets(
    known: Searches, level: Level, n: int, settings: Settings | None = None, *, rough: bool = False
) -> float:
    """Return an estimate of the logarithm of the bound, computed in floats; -inf for zero. Not a bound."""
    level = known.resolved(level, n, 128)
    distinct, gains, _ = known.prepared(level, n, 128)
    if (sharp := known.normal(level, n, 128)) is not None:
        with at_precision(128):
            return float(sharp.log())
    found = known.found(level, n, (settings or Settings()).limits, rough)
    with at_precision(128):
        trivial = max(float(gain.log()) if gain > 0 else -inf for gain in gains)
        if found is None:
            return trivial
        normal = float(_normal(distinct, gains, n, found).log())
    return min(found.log_value + _of_poor(found), trivial, normal)


def _normal(laws: Sequence[BallGparv], gains: Sequence[arb], n: int, found: Found) -> arb:
    """Return the bound by the normal law, inf where its error is too large to be asked for."""
    return normal_bound(moments_of_laws(laws, gains), n) if is_worth_asking(found.log_value, n) else arb("inf")


def _of_poor(found: Found) -> float:
    """Return how far cells may be above what poor parameters give: most of it remains in the bound."""
    return min(_OF_EXCESS * max(found.excess - SHARP, 0.0), _MOST_SLACK)


def _certified(
    laws: Sequence[BallGparv],
    gains: Sequence[arb],
    parameters: Parameters,
    found: Found,
    n: int,
    mixed: bool,
    slack: float,
) -> tuple[arb, tuple[Cells, ...]]:
    results, cells = bad_parts(laws, parameters, n), []
    by_class, rows = found.by_class, found.weights
    if len(by_class) != len(results):  # at another precision laws may coincide, or be merged otherwise
        by_class, rows = np.full(len(results), found.log_value), np.ones((len(rows), len(results)))
    # Cells need not be sharp for classes that do not matter.
    slacks = [max(slack, min(0.3 * (found.log_value - x), _OF_OTHERS)) for x in by_class.tolist()]
    for term, log_term, weights in zip(parameters.terms, found.log_terms, rows.tolist(), strict=True):
        unit = log_term - log(term.a)
        line = TermBalls(laws, gains, term, parameters.p_lo, n, unit, mixed=mixed, weights=weights)
        share = exp(min(found.log_value - log_term, 12.0))  # small terms need not be sharp
        if not any(reduce(arb.max, results) < gain for gain in gains):
            return arb("inf"), ()
        wanted = [x * max(1.0, 0.1 * share) for x in slacks]
        integrals, chosen = _marched(line, _NEGLIGIBLE * slack * share, wanted)
        factor = arb(term.a) / arb.pi() * arb(unit).exp()
        results = [x + factor * integral for x, integral in zip(results, integrals, strict=True)]
        cells.append(chosen)
    return reduce(arb.max, results), tuple(cells)


def _marched(line: TermBalls, negligible: float, slacks: Sequence[float]) -> tuple[list[arb], Cells]:
    """Return bounds on one integral over u > 0 for each class, cell by cell, each as wide as is sharp enough."""
    top, lobe = REACH / line.term.sigma, line.width
    ends, scales, slopes, results = [0.0], [], [], [arb(0)] * line.count
    size, least, last = 0.6 * lobe, 1e-3 * lobe, inf
    while len(ends) <= _MOST_CELLS:
        lo, bound = ends[-1], _NONE
        hi = line.furthest(lo, top, _OF_NEGLIGIBLE * negligible) if last < _PLAIN * negligible else lo
        if hi > lo and hi >= min(lo + _SHORT * size, top):
            bound = line.coarse(lo, hi)
        if not bound.uppers[0] < negligible:
            hi = min(lo + size, top)
            bound = line.fine(lo, hi)
            over = _excess(bound, slacks, negligible)
            if over > 1.0 and size > least:
                size *= max((_AIM / over) ** 0.25, 0.5)  # a cell's excess grows as the fourth power
                continue
            if over == inf:
                break
            size = max(size * min((_AIM / max(over, 1e-9)) ** 0.25, 1.5), least)
        results = [x + y for x, y in zip(results, bound.uppers, strict=True)]
        last = float(reduce(arb.max, bound.uppers))
        ends.append(hi)
        scales.append(bound.scale)
        slopes.append(bound.slope)
        if hi >= top:
            tail = line.tail(top)
            results = [x + y for x, y in zip(results, tail.uppers, strict=True)]
            return results, Cells(tuple(ends), tuple(scales), tail.scale, tuple(slopes))
    return [arb("inf")] * line.count, Cells(tuple(ends), tuple(scales), 1.0, tuple(slopes))


def _excess(bound: CellBound, slacks: Sequence[float], negligible: float) -> float:
    """Return how far a cell is from what it would be without slack, in units of what is allowed."""
    if not all(x.is_finite() for x in bound.uppers) or bound is _NONE:
        return inf
    return max(
        (float(x.upper()) - ideal) / max(slack * max(min(ideal, _EVEN * sqrt(abs(ideal))), _LEAST_SHARE), negligible)
        for x, ideal, slack in zip(bound.uppers, bound.ideals, slacks, strict=True)
    )


def bad_parts(laws: Sequence[BallGparv], parameters: Parameters, n: int) -> list[arb]:
    """Return max_x E[z+ e^(b z)] e^(a p_lo) E[e^(b z - a z+)]^N at each class."""
    a, b = arb(parameters.tilt_a), arb(parameters.tilt_b)
    victim, logs = arb(0), list[arb]()
    for g in laws:
        atoms = list(zip(g.values, g.masses, strict=True))
        victim = victim.max(total([p * z * (b * z).exp() for z, p in atoms if z > 0]))
        logs.append((g.null_mass + total([p * (b * z - a * z.max(arb(0))).exp() for z, p in atoms])).log())
    return [victim * (a * arb(parameters.p_lo) + (n - 1) * x).exp() for x in logs]
