"""The bound over all data sets at once, by integrals.

PROVED: for every choice of the other users' classes, from the numbers of the certificate alone, the divergence is at
most the number that is returned (docs/proofs/all_data_sets.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import cos, exp, inf, log, pi, prod, sin, sqrt
from operator import mul
from typing import Any

from flint import acb, acb_series, arb, arb_mat, arb_series

from ..check import INFINITY, largest

_LOG_FLOOR, _NEED_NOT_BE_SHARP = 70, 1e-5
"""|M|^N is not followed below e^-70 of its largest value; a cell below this part of the result need not be sharp."""
_TILTS = (0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.15, 1.3, 1.5)
"""Multiples of the tilts of another pair that are tried."""
_SHARES = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
"""Multiples of its a and b, of what bounds sums of few positive values."""
_FEW, _SEEN, _LARGEST, _TINY = 10, 0.3, 600.0, 1e-100
"""The frequencies of an estimate of an integral; how far a value turns on a cell that shows its phase; limits of
doubles."""
_ZERO, _ONE = arb(0), arb(1)


def bound(
    check: Any,
    laws: list[Any],
    gains: list[arb],
    n: int,
    plan: dict[str, Any],
    what: str,
    is_other: bool = False,
    enough: arb = _ZERO,
    most: arb = INFINITY,
) -> arb:
    """Return a number whose upper end bounds the divergence, for laws ([(value, mass), ...], mass at 0) of classes.

    ``gains`` are E[G_+]: one number for all; or one for each law, and then all mixtures of the laws may occur too
    (docs/proofs/generic_all_data_sets.md). A plan without terms asks for the normal law. With ``is_other`` the plan is
    that of another pair, and its tilts are changed to what suits the laws. What is at most ``enough`` need not be
    sharp, and what is above ``most`` is infinity.
    """
    if not plan["terms"]:
        return normal(check, laws, gains, n, what)
    found = _AllDataSets(check, laws, gains, n, plan, what)
    if is_other:
        found.suit()
    return found.bound(enough, most)


def normal(check: Any, laws: list[Any], gains: list[arb], n: int, what: str) -> arb:
    """Return the bound by the normal law ("Very many users"), with the largest moments of all classes."""
    check.require(n > 2, f"{what}: too few users for the normal law", "invalid")
    check.spend(16 * sum(len(atoms) + 1 for atoms, _ in laws), hard=True)
    m, most = n - 2, _ZERO
    means = [sum((p * z for z, p in atoms), _ZERO) for atoms, _ in laws]
    mean = means[0]
    for x in means[1:]:
        mean = mean.union(x)
    up, down, both, variance, inverse, skew, size = [_ZERO] * 7
    for atoms, null in laws:
        plus, minus = (sum((p * z * z for z, p in atoms if s * z > 0), _ZERO) for s in (1, -1))
        centred = [(abs(z - mean), p) for z, p in [*atoms, (_ZERO, null)]]
        own, cubes = (sum((prod([z] * k, start=p) for z, p in centred), _ZERO) for k in (2, 3))
        up, down, both = up.max(plus), down.max(minus), both.max(plus + minus)
        variance, inverse, skew = variance.max(own), inverse.max(1 / own), skew.max(cubes / own)
        most, size = most.max(largest([z for z, _ in atoms])), size.max(largest([abs(z) for z, _ in atoms]))
        check.require(all(z > 0 or z < 0 for z, _ in atoms), f"{what}: a value that may be 0", "invalid")
    gain, log_rare = -largest([-x for x in gains]), -2 * arb(n).log() - 8
    loss, deviation, shift = gain - mean, (m * variance).sqrt(), m * mean
    least, fourth = _ONE, _ZERO
    for centre, square in ((gain, up), (loss, down)):
        share = 1 - (-2 * square * log_rare / m).sqrt() / centre
        if not share > 0:  # too few users
            return INFINITY
        least, fourth = least * share, fourth + (3 * square**2 + square * size**2 / m).sqrt() / (m * centre**2)

    y, high = shift / deviation, largest(gains)
    value = shift * (-y / arb(2).sqrt()).erfc() / 2 + deviation * (-y * y / 2).exp() / (2 * arb.pi()).sqrt()
    value += skew / 2 + variance.sqrt().min(2 * high - mean + abs(mean))
    # How likely the sum of all is near 0, by the theorem of Berry and Esseen, whose constant is at most 14/25.
    near = ((8 * size / (2 * arb.pi()).sqrt() + 28 * skew / 25) * (inverse / m).sqrt()).min(_ONE)
    value += near * (up / gain + (both * down).sqrt() / loss) + 2 * mean.max(_ZERO)
    value += 3 * fourth * (deviation + most + shift.max(_ZERO)) / (2 * least)
    return (n - 1) * value / arb(m) ** 2 + 2 * n * high * log_rare.exp()


class _AllDataSets:
    """Theorem G in balls, with the numbers of the certificate."""

    def __init__(self, check: Any, laws: list[Any], gains: list[arb], n: int, plan: dict[str, Any], what: str) -> None:
        self.check, self.laws, self.N, self.what = check, laws, n - 1, what
        self.mixed, self.most = len(gains) > 1, largest(gains)
        self.gains = gains if self.mixed else gains * len(laws)
        self.p_lo, self.a, self.b = (arb(check.number(plan[key])) for key in ("p_lo", "a", "b"))
        self.terms, self.names = list[dict[str, Any]](), list[list[tuple[str, str]]]()
        self._waves: dict[tuple[tuple[str, str], int, bool], arb_mat] = {}
        for term in plan["terms"]:
            numbers: dict[str, Any] = {key: arb(check.number(term[key])) for key in ("a", "lam", "s", "sigma", "tail")}
            numbers |= {key: [arb(check.number(x)) for x in term[key]] for key in ("ends", "scales")}
            cells = len(numbers["ends"]) - 1  # the scales may be followed by the slopes of log c
            scales, slopes = numbers["scales"][:cells], numbers["scales"][cells:]
            numbers |= {"scales": scales, "slopes": slopes or [_ZERO] * cells}
            self.terms.append(numbers)
            self.names.append(list(pairwise(term["ends"])))
        every = [x for t in self.terms for y in t.values() for x in (y if type(y) is list else [y])]
        good = all(x.is_finite() for x in (self.p_lo, self.a, self.b, *every))
        good = good and self.p_lo > 0 and self.a >= 0 and self.b >= 0
        for t in self.terms:
            positive = t["s"], t["sigma"], t["tail"], *t["scales"]
            good = good and t["a"] >= 0 and t["lam"] >= 0 and all(x > 0 for x in positive)
            good = good and len(t["ends"]) == len(t["scales"]) + 1 == len(t["slopes"]) + 1 > 1 and t["ends"][0] == 0
            good = good and all(x < y for x, y in pairwise(t["ends"]))
        check.require(good, f"{what}: parameters or cells out of range", "invalid")
        check.spend(sum(len(t["scales"]) for t in self.terms) * len(laws), hard=True)

    def suit(self) -> None:
        """Change a, b, tilts and c to about the best for these laws, and frequencies in common; any give a bound."""
        laws = [([(float(z), float(m)) for z, m in atoms], float(null)) for atoms, null in self.laws]
        a, b = self.shares(laws)
        self.a, self.b = self.a * a, self.b * b
        tilts, rough = list[float](), _Rough(laws, float(self.most), self.N, self.p_lo, self.terms[0]["ends"])
        for t in self.terms:
            k, known = _TILTS.index(1.0), dict[int, tuple[float, float]]()
            while True:  # down to the valley
                for j in {max(k - 1, 0), k, min(k + 1, len(_TILTS) - 1)} - known.keys():
                    self.check.spend(sum(len(atoms) for atoms, _ in laws))
                    known[j] = rough.integral(t, _TILTS[j])
                best = min(known, key=known.__getitem__)
                if not known[best] < known[k]:
                    break
                k = best
            tilts.append(_TILTS[k])
            c = arb(known[k][1]) / t["scales"][0]
            t |= {"s": t["s"] * tilts[-1], "scales": [x * c for x in t["scales"]], "tail": t["tail"] * c}
        for t in self.terms:
            t |= {"sigma": t["sigma"] / tilts[0], "ends": [x * tilts[0] for x in t["ends"]]}
            t["slopes"] = [x / tilts[0] for x in t["slopes"]]

    def shares(self, laws: list[Any]) -> tuple[float, float]:
        """Return the multiples of a and b with the least bound on sums of few positive values, in doubles."""
        self.check.spend(len(_SHARES) ** 2 * sum(len(atoms) for atoms, _ in laws))
        a, b, p, found = float(self.a), float(self.b), float(self.p_lo), dict[tuple[float, float], float]()
        falls = {x: [[exp(-x * a * max(z, 0.0)) for z, _ in atoms] for atoms, _ in laws] for x in _SHARES}
        for y in _SHARES:
            grown = [[m * exp(min(y * b * z, _LARGEST)) for z, m in atoms] for atoms, _ in laws]
            every = list(zip(laws, grown, strict=True))
            victim = max(sum(max(z, 0.0) * w for (z, _), w in zip(atoms, up, strict=True)) for (atoms, _), up in every)
            for x, down in falls.items():
                others = max(null + sum(map(mul, up, z)) for ((_, null), up), z in zip(every, down, strict=True))
                found[x, y] = log(max(victim, _TINY)) + x * a * p + self.N * log(max(others, _TINY))
        return min(found, key=found.__getitem__)

    def bound(self, enough: arb, most: arb) -> arb:
        """Return the sum of all terms; cells are made sharper, the largest first, until that is enough or too much."""
        self.majorant()
        victim, others = _ZERO, []
        for atoms, null in self.laws:
            victim = victim.max(sum((m * z * (self.b * z).exp() for z, m in atoms if z > 0), _ZERO))
            others.append(sum((m * (self.b * z - self.a * z.max(_ZERO)).exp() for z, m in atoms), null).log())
        rest, cells = [victim * (self.a * self.p_lo + self.N * x).exp() for x in others], list[_Cell]()
        for t, names in zip(self.terms, self.names, strict=True):
            line = self.line(t)
            rest = [x + y for x, y in zip(rest, self.tails(t, line), strict=True)]
            cells += self.cells(t, line, names)
        cells.sort(key=lambda x: -float(largest(x.bounds).log()))
        totals = self.totals(rest, cells)
        for i, cell in enumerate(cells):
            result = largest(totals)
            if result <= enough or largest(cell.bounds) <= result * _NEED_NOT_BE_SHARP:
                break
            if most.is_finite() and largest(self.totals(rest, cells[:i])) > most:
                return INFINITY
            self.sharpen(cell, [k for k, x in enumerate(totals) if self.mixed or not x <= enough])
            totals = self.totals(rest, cells)
        return largest(totals)

    def totals(self, rest: list[arb], cells: Sequence[_Cell]) -> list[arb]:
        """Return the bound of each class."""
        every = zip(rest, *(x.bounds for x in cells), strict=True)
        return [sum(parts, _ZERO) for parts in every]

    def majorant(self) -> None:
        """Prove sum a_i e^(-lam_i p) >= 1/p^2 from p_lo on: a tangent of the left above a chord of the right side."""
        terms, left, ratio = [(t["a"], t["lam"]) for t in self.terms], self.p_lo, 1.016
        constant = sum((a for a, lam in terms if lam == 0), _ZERO)
        while not left * left * constant >= 1:
            self.check.spend(8 + 4 * len(terms), hard=True)
            right = arb((left * ratio).mid())
            middle, half = (left + right) / 2, (right - left) / 2
            parts = [(a * (-lam * middle).exp(), lam) for a, lam in terms]
            q, slope = sum((x for x, _ in parts), _ZERO), sum((x * lam for x, lam in parts), _ZERO)
            if right > left and (q + slope * half) * left**2 >= 1 and (q - slope * half) * right**2 >= 1:
                left, ratio = right, min(2 * ratio - 1, 2.0)
            else:
                ratio = 1 + (ratio - 1) / 2
                self.check.require(ratio > 1.00001, f"{self.what}: q >= 1/p^2 is not proved", "invalid")

    def line(self, term: dict[str, Any]) -> list[_Class]:
        """Return all classes on the line of a term."""
        classes = [_Class(atoms, null, term, self.p_lo) for atoms, null in self.laws]
        most = largest([x.lost for x in classes])
        for x in classes:
            x.sized(self.most, most if self.mixed else x.lost)
        return classes

    def tails(self, term: dict[str, Any], classes: list[_Class]) -> list[arb]:
        """Return a bound on the integral of a term beyond the last cell, for each class."""
        s, square, N = term["s"], term["sigma"] ** 2, self.N
        last, c = term["ends"][-1], term["tail"]
        top = largest([N * x.mgf.log() + N * x.size.max(x.growth) / (x.mgf * c) for x in classes])
        power = (top - 1 + square * (s**2 - last**2) / 2).exp()
        return [term["a"] / arb.pi() * c * power * (1 / last**2 + square) / (square * last)] * len(classes)

    def cells(self, term: dict[str, Any], classes: list[_Class], names: list[tuple[str, str]]) -> Iterator[_Cell]:
        """Yield the cells of a term with rough bounds on its integral over each, one for each class."""
        s, square = term["s"], term["sigma"] ** 2
        for name, (lo, hi), c, gamma in zip(names, pairwise(term["ends"]), term["scales"], term["slopes"], strict=True):
            half = (hi - lo) / 2
            waves = [self.waves(name, k, x, (lo + hi) / 2) for k, x in enumerate(classes)]
            self.check.spend(sum(len(x.values) // 8 for x in classes) + 8)
            weight = square * (s**2 - lo**2) / 2 - (s**2 + lo**2).log() + c.log() + abs(gamma) * half - 1
            cell = _Cell(term, classes, name, (lo, hi), (c, gamma), weight, waves)
            crude = self.crude(cell)
            crude = [largest(crude)] * len(crude) if self.mixed else crude
            cell.bounds = [term["a"] / arb.pi() * 2 * half * (x + weight).exp() for x in crude]
            yield cell

    def waves(self, name: tuple[str, str], k: int, law: _Class, u: arb, is_wide: bool = False) -> arb_mat:
        """Return waves of a class in the middle of a cell, or across it: the same for all terms."""
        if (name, k, is_wide) not in self._waves:
            self.check.spend(len(law.values) + 8, hard=True)
            self._waves[name, k, is_wide] = law.waves(u)
        return self._waves[name, k, is_wide]

    def crude(self, cell: _Cell, beside: Sequence[arb] = (_ZERO, _ZERO)) -> list[arb]:
        """Return N (log|M| + alpha/c) or more on a cell, for each class."""
        (lo, hi), (c, gamma) = cell.ends, cell.scale
        least = c * (-abs(gamma) * (hi - lo) / 2).exp()  # c = scale e^(gamma (u - middle)) is nowhere less
        both = zip(cell.classes, cell.waves, strict=True)
        return [x.crude(x.modulus(wave), lo, hi, self.N, least, beside) for x, wave in both]

    def sharpen(self, cell: _Cell, asked: Sequence[int]) -> None:
        """Bound the integral over a cell by the curvature of its exponent, for some classes."""
        term, classes, (lo, hi), weight = cell.term, cell.classes, cell.ends, cell.weight
        s, square, middle, half, across = term["s"], term["sigma"] ** 2, (lo + hi) / 2, (hi - lo) / 2, lo.union(hi)
        # With mixtures a class whose |A| is bounded roughly, beside others whose own is taken, bears theirs, too.
        beside = [_ZERO, _ZERO]
        if self.mixed:
            beside = [largest([x.size for x in classes]), largest([x.growth for x in classes])]
        chosen = sorted(asked, key=lambda k: -float(classes[k].mgf.mid()))
        self.check.spend(sum(len(classes[k].values) + 16 for k in chosen))
        parts = [(height + weight, _ZERO, _ZERO) for height in self.crude(cell, beside)]
        there = {k: classes[k].at(middle, cell.waves[k]) for k in chosen}
        wide = {k: classes[k].at(across, self.waves(cell.name, k, classes[k], across, True)) for k in chosen}
        for k, at, over, factor in self.sizes(there, wide):
            parts[k] = _parabola(at, over, factor, middle, across, s, square, self.N, cell.scale) or parts[k]
        curved = [term["a"] / arb.pi() * _cell(part, half) for part in parts]
        if not self.mixed:
            both = zip(curved, cell.bounds, strict=True)
            cell.bounds = [x if x.is_finite() and x.upper() < y.upper() else y for x, y in both]
        elif sum(curved, _ZERO) < sum(cell.bounds, _ZERO):  # all classes are bounded in the same way
            cell.bounds = curved

    def sizes(self, at: dict[int, Any], over: dict[int, Any]) -> Iterator[tuple[int, Any, Any, arb]]:
        """Yield the classes with (M, A) in the middle of a cell and across it, and a factor by which |A| is larger."""
        before: list[int] = []
        for k in at:
            (m, p, q, r), (m_all, p_all, q_all, r_all) = at[k], over[k]
            a, a_all = self.gains[k] * p + q * r, self.gains[k] * p_all + q_all * r_all
            added, least = _ZERO, abs(acb(a_all[0]))
            for j in before if self.mixed else ():
                far = [abs(acb((x - y)[0])) for x, y in zip(over[k][1:], over[j][1:], strict=True)]
                added = added.max(abs(self.gains[k] - self.gains[j]) * far[0] + far[1] * far[2])
            before.append(k)
            yield k, (m, a), (m_all, a_all), 1 + added / least if least > 0 else _ONE


class _Rough:
    """The integral of a term in doubles, by |M| at some frequencies in units of the tilt, and |A|/|M| as it is at 0."""

    def __init__(self, laws: list[Any], gain: float, N: int, p_lo: arb, ends: Sequence[arb]) -> None:
        self.laws, self.gain, self.N, self.p_lo = laws, gain, N, max(float(p_lo), _TINY)
        every, last = [float(x) for x in ends], len(ends) - 1
        chosen = [*range(0, last, -(-last // _FEW)), last]
        self.places, self.cells = [every[k] for k in chosen], [every[k] - every[k - 1] for k in chosen[1:]]
        beside = zip([0.0, *self.places[:-1]], [*self.places[1:], self.places[-1]], strict=True)
        self.widths = [(y - x) / 2 for x, y in beside]
        self._waves: dict[float, list[list[tuple[list[float], list[float]]]]] = {}

    def waves(self, factor: float) -> list[list[tuple[list[float], list[float]]]]:
        """Return cosines and sines of frequencies times values, which have no phase where cells are too long for it."""
        if factor not in self._waves:
            both = [(factor * u, _SEEN / (factor * x)) for u, x in zip(self.places[1:], self.cells, strict=True)]
            angles = [[[u * z if z < most else 0.0 for z, _ in atoms] for u, most in both] for atoms, _ in self.laws]
            self._waves[factor] = [[(list(map(cos, x)), list(map(sin, x))) for x in law] for law in angles]
        return self._waves[factor]

    def integral(self, term: dict[str, Any], factor: float) -> tuple[float, float]:
        """Return its logarithm at a multiple of the tilt, and N |A|/|M| of the class that is the worst."""
        lam, sigma, s = float(term["lam"]), float(term["sigma"]), max(min(float(term["s"]), 1 / _TINY), _TINY)
        smoothed, s = sigma * s * sigma * s, factor * s
        found = list[tuple[list[float], float, float]]()
        for (atoms, null), waves in zip(self.laws, self.waves(factor), strict=True):
            tilted = [m * exp(min(s * z - lam * max(z, 0.0), _LARGEST)) for z, m in atoms]
            gained, lost, unlike, second = 0.0, 0.0, 0.0, _TINY
            for (z, m), w in zip(atoms, tilted, strict=True):
                second += w * z * z
                if z > 0:
                    gained += w * z
                    slow = m * z * exp(-lam * z / (1 + sqrt(1 + z / self.p_lo)))
                    unlike += slow * (exp(min(s * z, _LARGEST)) + smoothed - 1)
                else:
                    lost -= w * z
            moment = max(null + sum(tilted), _TINY)
            size = max(self.N * (self.gain * gained + unlike * lost) / moment, _TINY)
            sums = [(moment, 0.0)] + [(null + sum(map(mul, tilted, x)), sum(map(mul, tilted, y))) for x, y in waves]
            powers = [self.N / 2 * log(max(x * x + y * y, _TINY)) for x, y in sums]
            found.append((powers, size, sqrt(pi * moment / (2 * self.N * second))))
        top = max(powers[0] for powers, _, _ in found)
        c, parts = max(size / (1 + (top - powers[0]) / 2) for powers, size, _ in found), list[float]()
        if not 0 < c < inf:  # beyond the range of doubles: there is no such bound
            return inf, 1.0
        for k, (u, width) in enumerate(zip(self.places, self.widths, strict=True)):
            height, narrow = max((powers[k] + size / c, narrow) for powers, size, narrow in found)
            width = width if k else min(width, narrow / factor)  # that of the largest value of |M|
            parts.append(height - (sigma * u) ** 2 / 2 + log(width * factor * c / (s * s + (factor * u) ** 2)))
        whole = max(parts) + log(sum(exp(x - max(parts)) for x in parts))
        return (whole, c) if whole < inf else (inf, 1.0)


@dataclass
class _Cell:
    """A cell of frequencies of a term with its name and ends, c in the middle, the slope of log c, and waves there.

    ``weight`` bounds the logarithm of what does not depend on the class, ``bounds`` the integral for each class.
    """

    term: dict[str, Any]
    classes: list[_Class]
    name: tuple[str, str]
    ends: tuple[arb, arb]
    scale: tuple[arb, arb]
    weight: arb
    waves: list[arb_mat]
    bounds: list[arb] = field(default_factory=list)


class _Class:
    """M and A of one class of inputs on the line s + iu of one term."""

    def __init__(self, atoms: list[Any], null: arb, term: dict[str, Any], p_lo: arb) -> None:
        s, lam = term["s"], term["lam"]
        self.s, self.square, self.null = s, term["sigma"] ** 2, null
        self.values = [z for z, _ in atoms]
        whole = [m * (s * z - lam * z.max(_ZERO)).exp() for z, m in atoms]
        slow = [m * z * (-lam * z / (1 + (1 + z / p_lo).sqrt())).exp() if z > 0 else _ZERO for z, m in atoms]
        rows = [whole]  # M, the two factors of A over positive values, and that over negative ones
        rows += [[w * z if z > 0 else _ZERO for (z, _), w in zip(atoms, whole, strict=True)]]
        rows += [[x * (s * z).exp() for (z, _), x in zip(atoms, slow, strict=True)]]
        rows += [[-w * z if z < 0 else _ZERO for (z, _), w in zip(atoms, whole, strict=True)]]
        self.plain, (_, self.gained, self.fast, self.lost) = sum(slow, _ZERO), (sum(row, _ZERO) for row in rows)
        self.mgf = sum(whole, null)
        mean = sum((w * z for w, z in zip(whole, self.values, strict=True)), _ZERO) / self.mgf
        second = sum((w * z * z for w, z in zip(whole, self.values, strict=True)), _ZERO) / self.mgf
        self.deviation = (second - mean**2).max(_ZERO).sqrt()
        self.rows, self.whole = rows, arb_mat([whole])

    @cached_property
    def weights(self) -> arb_mat:
        """What M, and the factors of A, and their derivatives are sums of."""
        powers = [[_ONE] * len(self.values), self.values, [z * z / 2 for z in self.values]]
        return arb_mat([[w * x for w, x in zip(row, power, strict=True)] for row in self.rows for power in powers])

    def sized(self, gain: arb, lost: arb) -> None:
        """MaxOverPairs |A| without its part in sigma^2 |zeta|^2, and the factor of that."""
        self.size, self.growth = gain * self.gained + (self.fast + self.plain) * lost, self.plain * lost

    def waves(self, u: arb) -> arb_mat:
        """Return cosines and sines of u times the values."""
        return arb_mat([[cosine, sine] for sine, cosine in [(u * z).sin_cos() for z in self.values]])

    def modulus(self, waves: arb_mat) -> arb:
        """Return |M| where these waves are."""
        (real, imag), *_ = (self.whole * waves).tolist()
        return abs(acb(real + self.null, imag))

    def at(self, u: arb, waves: arb_mat) -> tuple[acb_series, acb_series, acb_series, acb_series]:
        """Return the Taylor series in t of M, P, Q and R at s + i(u + t), up to t^2: A is gain P + Q R."""
        sums = (self.weights * waves).tolist()
        unit = [acb(1), acb(0, 1), acb(-1)]
        m, gained, slow, lost = (
            acb_series([unit[k] * acb(*sums[3 * row + k]) for k in range(3)], prec=3) for row in range(4)
        )
        zeta = acb_series([acb(self.s, u), acb(0, 1)], prec=3)
        return m + self.null, gained, slow + self.plain * (self.square * zeta * zeta - 1), lost

    def crude(self, modulus: arb, lo: arb, hi: arb, N: int, c: arb, beside: Sequence[arb]) -> arb:
        """Return N (log|M| + alpha/c) with the best constant above |M|; ``beside`` is added to the two parts of |A|."""
        distance = (1 - (modulus / self.mgf) ** 2).max(_ZERO).sqrt() - self.deviation * (hi - lo) / 2
        size = self.size + beside[0] + self.square * (self.s**2 + hi**2) * (self.growth + beside[1])
        least = (arb(-_LOG_FLOOR) / N).exp().max(size / (self.mgf * c))
        share = (1 - distance.max(_ZERO).min(_ONE) ** 2).max(_ZERO).sqrt().max(least)
        return N * (self.mgf * share).log() + N * size / (self.mgf * share * c)


def _parabola(
    at: Any, over: Any, factor: arb, u: arb, across: arb, s: arb, square: arb, N: int, scale: tuple[arb, arb]
) -> tuple[arb, arb, arb] | None:
    """Return (e, f, g) with exponent(u + t) <= e + f t + g t^2 on the cell; None near a zero of M or A.

    |A| is multiplied by ``factor``; ``scale`` is c in the middle and the slope of its logarithm.
    """
    found = []
    for (m, a), x in ((at, u), (over, across)):
        if not (abs(acb(m[0])) > 0 and abs(acb(a[0])) > 0):
            return None
        log_m, log_a = (arb_series([f[k].real for k in range(3)], prec=3) for f in (m.log(), a.log()))
        v = arb_series([x, 1], prec=3)
        modulus = s**2 + v * v
        log_c = scale[0].log() + scale[1] * (v - u)
        exponent = N * (log_m + factor * (log_a - log_m - log_c).exp()) + log_c - 1
        found.append(exponent + square * (2 * s**2 - modulus) / 2 - modulus.log())
    e, f, g = arb(found[0][0]), arb(found[0][1]), arb(found[1][2])
    return (e, f, g) if e.is_finite() and f.is_finite() and g.is_finite() else None


def _cell(part: tuple[arb, arb, arb], half: arb) -> arb:
    """Return a bound on the integral of exp(e + f t + g t^2) over |t| <= half; one with g > 0 is raised to a chord."""
    e, f, g = part
    bend = g.upper().min(_ZERO)
    raised, curve = e + (g.upper() - bend) * half**2, -2 * bend * half**2
    return 2 * half * raised.exp() * (2 + (f * half).cosh()) / 3 * (1 - curve / 6 + curve**2 / 40).min(_ONE)
