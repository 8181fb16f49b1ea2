"""Laplace noise on an interval: every pair of inputs, whatever inputs the other users hold, from a grid of inputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import cosh, exp, inf, log, log1p, sinh
from typing import ClassVar, NamedTuple

import numpy as np
import sympy as sp
from flint import arb
from numpy.typing import NDArray

from symamp.bounds.all_data_sets.pair import AllDataSetsPairBound
from symamp.bounds.bound import Bound, MaxOverPairs, PairBoundDefaults
from symamp.bounds.hypotheses import SHUFFLED, Hypothesis, every
from symamp.bounds.pairs_of_a_table import bounds_by_moments, log_divergences
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.decomposition import LawTriple
from symamp.decompositions.to_law import number
from symamp.laws.law import Atom, Floats, Law, Level, Number
from symamp.numbers.disks import LARGEST, UNIT, exponentials, logarithms_above
from symamp.numbers.limits import TRIPLES, Limits
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.noise.distributions import Laplace
from symamp.sums.all_data_sets.floats import Parameters
from symamp.sums.all_data_sets.laws import raised_to_majorant
from symamp.sums.all_data_sets.search import Found
from symamp.sums.divergence import Enclosure, Settings

SOURCE = "Theorem I (docs/proofs/interval.md)"
_BITS = 192
"""The precision at which the table above the noise is made; its numbers are exact at any."""
_GRID = 2.0**20
"""Places are multiples of 1/_GRID of the interval: exact doubles, as are their mirror images."""

# What is tuned. All grids, boxes and tilts give a bound; these trade time against width. Rules of thumb.
_ROOM, _OF_MOMENTS = 2e-4, 4.5e-3
"""How far, relatively in epsilon, the bound may be above that of the pair of the ends, for what cells cost; and more,
in log delta, for what moments do."""
_FIRST, _NO_WORSE = 0.035, 0.992
"""The first cell of other users' inputs, in units of the scale of the noise, which costs 2e-4 of epsilon; how large,
relatively, the chi-square of an inner input may become by thinning."""
_MESSAGES = 56
"""About so many messages of the table are evenly spaced; more are nearer to the noise and slower."""
_SHORTEST, _LONGEST = 0.003, 0.125
"""The least and the largest cell of compared inputs, as parts of the interval."""
_OF_CELL, _OF_REMAINDER = 0.4, 0.04
"""Shares of the room: of a cell of either side, and of the remainder of either side in units of delta."""
_OF_SLACK = 0.8
"""What cells may take, in log delta, of the distance of their pairs from the worst one; moments cost some of it."""
_MOST_LOWERED = 0.4
"""Cells lower eps by at most this part of it, on either side."""
_CUTS, _WORTH = 8, 0.1
"""How often cells are cut in two, and which part of the room a cell has to cost."""
_LEAST_USERS = 100
"""For fewer users the blanket is as good."""
_LEAST_LOG = -600.0
"""Smaller divergences, in logarithms, are left to other bounds: doubles come to their end."""
_MOST_PAIRS = 1_500
"""With more pairs of places cells are not cut further."""
_SETTLED = 0.3
"""What a blanket shows to be below this part of the aim is settled."""
_SEARCHED = np.geomspace(1e-3, 30.0, 120)
_TILTS = np.geomspace(0.15, 30.0, 18)
"""Tilts of remainders, and of blankets, in units of a rough guess."""
_PLACES = 40
"""So many places of compared inputs are ranked, for the sizes of cells."""


# ------------------- The table above Laplace noise: discrete Laplace noise, whose messages are the places of the inputs


class LaplaceTable:
    """The table above Laplace noise on an interval for the inputs at ``cuts``, parts of its length from 0 to 1.

    Message i has the probability mu_i e^(-abs(c_i - x)) on input x, in units of the scale of the noise.

    >>> from symamp.randomizers.noise.distributions import Laplace
    >>> table = LaplaceTable(number(Laplace(eps0=1)["eps0"]), (0.0, 0.25, 0.5, 1.0))
    >>> with at_precision(128):
    ...     print(sum(table.row(0.25), arb(0)).contains(1))
    True
    """

    def __init__(self, length: Number, cuts: Sequence[float]) -> None:
        self.length, self.cuts = length, tuple(cuts)
        self._decay: dict[float, list[arb]] = {}
        with at_precision(_BITS):
            halves = [((arb(b) - arb(a)) * length() / 2).tanh() / 2 for a, b in pairwise(cuts)]
            ends = [arb(1) / 2, *halves], [*halves, arb(1) / 2]
            self.masses = [a + b for a, b in zip(*ends, strict=True)]

    def decay(self, place: float) -> list[arb]:
        """Return e^(-abs(c_i - x)) for the input x at a place, at a fixed precision."""
        if place not in self._decay:
            with at_precision(_BITS):
                far = (abs(arb(c) - arb(place)) for c in self.cuts)
                self._decay[place] = [(-self.length() * d).exp() for d in far]
        return self._decay[place]

    def row(self, place: float) -> list[arb]:
        """Return the probabilities of the messages on the input at a place."""
        with at_precision(_BITS):
            return [m * d for m, d in zip(self.masses, self.decay(place), strict=True)]

    def rows(self, places: Sequence[float]) -> Floats:
        """Return the same in doubles, each the nearest to the exact number, one row a place."""
        return np.array([[float(x) for x in self.row(place)] for place in places])

    def law(self, pair: tuple[float, float], other: float, thinned: float) -> Law:
        """Return the law of a pair where others hold a place, thinned as for a cell of this length."""
        with at_precision(_BITS):
            kept = self.kept(thinned)
            columns = zip(self.decay(pair[0]), self.decay(pair[1]), self.decay(other), self.masses, strict=True)
            numbers = [(a / (o * kept), b / (o * kept), m * o * kept) for a, b, o, m in columns]
            atoms = [Atom(_fixed(a), _fixed(b), _fixed(mass)) for a, b, mass in numbers]
            if thinned > 0.0:  # another user's own symbol says nothing of the victim
                atoms.append(Atom(_fixed(arb(0)), _fixed(arb(0)), _fixed(1 - kept), True))
        return Law(tuple(atoms), (), True)

    def kept(self, length: float) -> arb:
        """Return 1/cosh(h/2): the part of the law of a place that every input of a cell of this length has."""
        return 1 / (arb(length) * self.length() / 2).cosh()


def _fixed(value: arb) -> Number:
    return lambda: value


# ------------------------------------------------------------------ Where others are: places, each thinned by its cells


def others_places(length: float) -> tuple[tuple[float, float], ...]:
    """Return (place, length of the longer cell beside it) for a grid of the other users' inputs, by doubles.

    As few places as leave those at the ends the worst: an inner one is hardly harmed by being thinned.

    >>> [round(x, 3) for x, _ in others_places(1.0)]
    [0.0, 0.035, 0.317, 0.5, 0.683, 0.965, 1.0]
    """
    places = [0.0, _rounded(min(_FIRST / length, 0.5))]
    for _ in range(64):
        last = places[-1]
        longest = _longest_cell(last * length, length) / length
        if 0.5 - last <= 1.15 * longest:
            places += [0.5] if last < 0.5 else []
            break
        if 1.0 - 2.0 * last <= longest:
            break
        places.append(_rounded(last + longest))
    half = [x for x in places if x < 0.5]
    places = [*half, *([0.5] if 0.5 in places else []), *(1.0 - x for x in reversed(half))]
    cells = [b - a for a, b in pairwise(places)]
    return tuple((x, max(cells[max(k - 1, 0) : k + 1])) for k, x in enumerate(places))


def _longest_cell(place: float, length: float) -> float:
    """Return how long a cell beside a place may be such that the end of the interval remains worse."""
    pairs = [(a, length) for a in np.linspace(0.0, length, 9)[:-1]] + [
        (0.0, b) for b in np.linspace(0.0, length, 9)[1:-1]
    ]
    worst = max(_chi_square(pair, place, length) for pair in pairs)
    ratio = max(_NO_WORSE * _chi_square((0.0, length), 0.0, length) / worst, 1.0 + 1e-6)
    return 2.0 * float(np.arccosh(ratio))


def _chi_square(pair: tuple[float, float], x: float, length: float) -> float:
    """Return the integral of (R(a) - R(b))^2/R(x): ends apart, messages are integrated by the trapezoidal rule."""
    y = np.linspace(0.0, length, 257)
    squares = 0.5 * (np.exp(-np.abs(y - pair[0])) - np.exp(-np.abs(y - pair[1]))) ** 2 * np.exp(np.abs(y - x))
    ends = squares[0] + squares[-1]
    return float((squares.sum() - 0.5 * ends) * length / 256.0 + ends)


def _rounded(place: float) -> float:
    return round(place * _GRID) / _GRID


# ------------------------------------- The compared user: cells of inputs between two places, and what a mixture leaves


class Side(NamedTuple):
    """A cell of one compared input: (1 + kappa) or (1 - kappa) times a mixture of its ends leaves at most ``rest``."""

    kappa: float
    rest: float


class Cell(NamedTuple):
    """A cell of Laplace noise: its length h, the least m of its inputs' infimum, e^L, in units of the scale."""

    length: float
    least: float
    ratio: float

    @staticmethod
    def of(start: float, end: float, length: float) -> Cell:
        """Return a cell of places by doubles."""
        least = 0.5 * exp(-length * max(start, 1.0 - start, end, 1.0 - end))
        return Cell((end - start) * length, least, exp(length))


def kappas(cell: Cell, n: int, log_rest: float, above: bool) -> tuple[float, float]:
    """Return (kappa, s) of least kappa by doubles: what s proves of the remainder is about e^log_rest.

    ``above``: of R - (1 + kappa) P, else of (1 - kappa) P - R. inf where there is none.
    """
    h, m, t = cell
    eta, top = 2.0 * sinh(0.25 * h) ** 2 / cosh(0.5 * h), 0.5 * float(np.tanh(0.5 * h))
    spread = float(np.sqrt(h * top * top / (3.0 * m) + eta * eta * t))
    s = _SEARCHED * (-2.0 * log_rest / n) ** 0.5 / spread
    with np.errstate(all="ignore"):
        aim = (log_rest + np.log(n * s) + 1.0) / n
        if not above:
            need = 0.5 * s * s * eta * eta * t * np.exp(s * eta * t) + s * s * h * top * top / (6.0 * m)
            found = (need - np.expm1(aim)) / s
        else:
            v = s * top / m
            need = 0.5 * s * s * eta * eta * t + m * h * _third(v) / v - np.expm1(aim)
            square, line = 0.5 * s * s * t, s - s * s * t * eta
            root = line * line - 4.0 * square * need
            found = np.where((line > 0.0) & (root > 0.0), 2.0 * need / (line + np.sqrt(root)), inf)
            found = np.where(s * (eta + found) * t < 1.99, found, inf)
    found = np.where(np.isfinite(found) & (found > 0.0), found, inf)
    k = int(found.argmin())
    whole = (float(np.expm1(0.5 * h)) if above else eta) * (1.0 + 1e-12)  # with which nothing is left
    return min(float(found[k]), whole), float(s[k])


def _third(v: Floats) -> Floats:
    return np.where(v < 0.05, v**3 / 6.0 * (1.0 + v / 4.0 + v * v / 20.0), np.expm1(v) - v - 0.5 * v * v)


def remainder(start: float, end: float, length: arb, n: int, kappa: float, s: float, above: bool) -> arb:
    """Return a bound on D(R - (1 + kappa) P), or on D((1 - k) P - R) for some k <= kappa, for the inputs of a cell.

    P is a mixture of the laws of its ends, one for each input. ``s`` > 0 is a tilt. inf where nothing is proved.

    Guarantee
    ---------
    It is at least that divergence for every input of the cell and all inputs of the n - 1 other users.
    Proof: docs/proofs/interval.md.
    """
    h = (arb(end) - arb(start)) * length
    half = (h / 2).tanh() / 2
    eta, ratio, tilt, k = 1 - 1 / (h / 2).cosh(), length.exp(), arb(s), arb(kappa)
    far = (arb(x).max(1 - arb(x)) for x in (start, end))
    least = (-length * arb.max(*far)).exp() / 2
    if k >= ((h / 2).exp() - 1 if above else eta):
        return arb(0)
    if above:
        tau, v = eta + k, tilt * half / least
        if not tilt * tau * ratio <= 2:
            return arb("inf")
        moment = 1 - tilt * k + (tilt * tau) ** 2 * ratio / 2 + least * h * (v.exp() - 1 - v - v * v / 2) / v
    else:
        tau = (eta - k).max(arb(0))
        moment = 1 - tilt * k + (tilt * tau) ** 2 * (length + tilt * tau * ratio).exp() / 2
        moment += tilt * tilt * h * half * half / (6 * least)
    return (moment**n / (n * tilt * arb(1).exp())).upper() if moment > 0 else arb("inf")


# ---------------------------------------------------------------------------- All boxes of pairs at one level, together


@dataclass(frozen=True)
class LaplaceInterval(PairBoundDefaults):
    """All pairs of inputs of an interval with Laplace noise: boxes of pairs, each by the pairs of its corners.

    The worst corners are 0 and 1; ``ends`` is their bound, whatever the others hold.
    """

    noise: Laplace

    pair: ClassVar[tuple[str, str]] = ("0", "1")
    method: ClassVar[str] = "interval"
    proof_status: ClassVar[ProofStatus] = ProofStatus.PROVED
    source: ClassVar[str] = SOURCE
    estimate_error: ClassVar[float] = 1e-3

    @property
    def signature(self) -> Hashable:
        """The noise, and which bound it is."""
        return self.method, self.noise

    @cached_property
    def length(self) -> float:
        """The length of the interval in units of the scale, about eps0."""
        with at_precision(_BITS):
            return float(self.exact_length())

    @cached_property
    def exact_length(self) -> Number:
        """The same as an exact number."""
        return number(self.noise["eps0"])

    @cached_property
    def places(self) -> tuple[tuple[float, float], ...]:
        """Where others are, and the cell by which each is thinned."""
        return others_places(self.length)

    def table(self, more: Sequence[float] = ()) -> LaplaceTable:
        """Return the table above the noise with these places among its inputs."""
        even = (_rounded(k / _MESSAGES) for k in range(_MESSAGES + 1))
        fixed = {0.0, 0.5, 1.0, *(x for x, _ in self.places), *more}
        near = 0.3 / _MESSAGES
        free = (x for x in even if all(abs(x - y) > near for y in fixed))
        return LaplaceTable(self.exact_length, sorted({*fixed, *free}))

    @cached_property
    def ends(self) -> AllDataSetsPairBound:
        """The bound of the pair of the ends over all data sets."""
        table, held = self.table(), (("others", sp.Integer(1)),)
        laws = (LawTriple(table.law((0.0, 1.0), *place), self.pair) for place in self.places)
        return AllDataSetsPairBound(tuple(Reduction(self.method, self.proof_status, SOURCE, x, held) for x in laws))

    def __getstate__(self) -> dict[str, object]:
        """Return what travels: laws are functions, and are made again where they are needed."""
        return {"noise": self.noise}

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
        value = self.ends.log_estimate(level, n, settings.usual)
        found = self.ends.searches.found(level, n, settings.limits)
        if found is None or not found.log_value > _LEAST_LOG:
            return inf
        return value + _room(found, level, n)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the bound is delta: 0 if it is smaller at 0, inf if never."""
        return (1.0 + _ROOM) * self.ends.root(n, log_delta - _OF_MOMENTS, settings.usual, start)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure whose upper end bounds the divergence of every pair of inputs of the interval.

        Guarantee
        ---------
        The upper end is at least the divergence for every pair of inputs and every choice of the other users' inputs.
        Proof: docs/proofs/interval.md.
        """
        found = self.ends.searches.found(level, n, settings.limits)
        with at_precision(_BITS):
            everywhere = one_user(self, level)
            parameters = None if found is None else raised_to_majorant(found.parameters)
            if found is None or parameters is None or not _LEAST_LOG < found.log_value < 0.0:
                return Enclosure(arb(0), everywhere, "one user", _BITS)
            upper = _Boxes(self, level, n, found, parameters, settings.limits).largest()
        return Enclosure(arb(0), upper.min(everywhere), "boxes of pairs", _BITS)


def _room(found: Found, level: Level, n: int) -> float:
    """Return how far, in log delta, the bound may be above that of the pair of the ends."""
    minus_one = level.rough_minus_one()
    return _OF_MOMENTS + _ROOM * log1p(minus_one) * (n - 1) * found.saddle * (1.0 + minus_one)


def one_user(part: LaplaceInterval, level: Level) -> arb:
    """Return the divergence of one user alone, which no pair and no number of users exceeds."""
    half = (part.exact_length() / 2).exp()
    e = level.exponential()
    # 1 - E^(1/2) e^(-L/2), the divergence of two Laplace laws at distance L
    return (1 - e.sqrt() / half).max(arb(0)).upper()


class _Boxes:
    """Boxes of pairs at one level and number of users: their sizes by doubles, then what is proved of each corner."""

    def __init__(
        self, part: LaplaceInterval, level: Level, n: int, found: Found, parameters: Parameters, limits: Limits
    ) -> None:
        self.part, self.level, self.n, self.ends, self.limits = part, level, n, exp(found.log_value), limits
        self.parameters, self.length = parameters, part.length
        self.e = 1.0 + level.rough_minus_one()
        self.room = _room(found, level, n)
        self.aim = self.ends * exp(self.room)
        self.tilt, self.slope = found.saddle, (n - 1) * found.saddle * self.e

    def largest(self) -> arb:
        """Return a bound on the divergence of all pairs in all boxes; cells of boxes above the aim are cut in two."""
        first, second = (self._places(above) for above in (True, False))
        least = inf
        for _ in range(_CUTS):
            values, kappas = self._values(first, second)
            least = min(least, float(values.max()))
            high = np.argwhere(values > self.aim)
            firsts, seconds = (x[high[:, k]] for k, x in enumerate(kappas))
            first, cut = _cut(first, high[firsts >= seconds, 0], kappas[0] * self.slope / self.room)
            second, cut_too = _cut(second, high[firsts < seconds, 1], kappas[1] * self.slope / self.room)
            if not (cut or cut_too) or len(first) * len(second) > _MOST_PAIRS:
                break
        return arb(least * (1.0 + 1e-12))

    def _values(self, first: Sequence[float], second: Sequence[float]) -> tuple[Floats, tuple[Floats, Floats]]:
        """Return bounds on the divergences of the pairs of each box, and the kappas of both sides."""
        sides = [
            [self._side(a, b, above) for a, b in pairwise(places)] for places, above in ((first, True), (second, False))
        ]
        table = self.part.table([*first, *second])
        nodes = self._nodes(table, first, second, self._levels(first, second, *sides))
        corners = np.maximum.reduce([nodes[:-1, :-1], nodes[1:, :-1], nodes[:-1, 1:], nodes[1:, 1:]])
        (up, left), (down, right) = (np.array(side).T for side in sides)
        values = (1.0 + up[:, None]) * corners + left[:, None] + self.e * (1 + 4 * UNIT) * right
        return np.where(self._compared(first, second), values, 0.0), (up, down)

    def _compared(self, first: Sequence[float], second: Sequence[float]) -> NDArray[np.bool_]:
        """Return which boxes have pairs that are compared: others are mirror images."""
        return np.asarray(np.array(first[:-1])[:, None] < np.array(second[1:])[None, :])

    def _places(self, above: bool) -> tuple[float, ...]:
        """Return places of one compared input, with cells as long as the distance from the worst pair allows."""
        slack = self._slack(above)
        log_rest = log(_OF_REMAINDER * self.room * self.ends)
        places = [0.0]
        most = _MOST_LOWERED * log(self.e)
        while places[-1] < 1.0:
            last = places[-1]
            budget = min((_OF_CELL * self.room + _OF_SLACK * slack(last)) / self.slope, most)

            size = _LONGEST
            while size > _SHORTEST:
                ends = (last, min(last + size, 1.0)) if above else (1.0 - min(last + size, 1.0), 1.0 - last)
                if kappas(Cell.of(*ends, self.length), self.n, log_rest, above)[0] <= budget:
                    break
                size *= 0.9
            following = last + _rounded(size)
            places.append(1.0 if following > 1.0 - 0.3 * size else following)
        return tuple(places) if above else tuple(1.0 - x for x in reversed(places))

    def _slack(self, above: bool) -> Callable[[float], float]:
        """Return how far, in log delta, pairs with one input away from its end are below the pair of the ends."""
        places = [_rounded(x) for x in np.linspace(0.0, 1.0, _PLACES + 1) ** 2.0]
        if not above:
            places = [1.0 - x for x in places]
        even = (_rounded(k / 32) for k in range(33))
        table = LaplaceTable(self.part.exact_length, sorted({*places, *even, *(x for x, _ in self.part.places)}))
        end = 1.0 if above else 0.0
        rows, fixed = table.rows(places), table.rows([end])
        worst = np.full(len(places), -inf)
        for hidden in self._classes(table):
            scores = log_divergences(np.vstack([rows, fixed]), hidden, self.e - 1.0, self.n)
            worst = np.maximum(worst, scores[:-1, -1] if above else scores[-1, :-1])
        gaps = np.maximum.accumulate(np.nan_to_num(worst[0] - worst, posinf=1e3, neginf=0.0))
        far = np.array([x if above else 1.0 - x for x in places])
        return lambda x: float(np.interp(x, far, gaps))

    def _classes(self, table: LaplaceTable) -> Floats:
        """Return the rows of the others' places, thinned."""
        kept = np.array([float(table.kept(cell)) for _, cell in self.part.places])[:, None]
        return kept * table.rows([x for x, _ in self.part.places])

    def _side(self, start: float, end: float, above: bool) -> Side:
        """Return what a cell leaves."""
        log_rest = log(_OF_REMAINDER * self.room * self.ends)
        kappa, s = kappas(Cell.of(start, end, self.length), self.n, log_rest, above)
        rest = remainder(start, end, self.part.exact_length(), self.n, kappa, s, above)
        return Side(kappa, float(rest) * (1.0 + 4.0 * UNIT))

    def _levels(
        self, first: Sequence[float], second: Sequence[float], firsts: Sequence[Side], seconds: Sequence[Side]
    ) -> Floats:
        """Return E' for each pair of places: the least of the boxes that it is a corner of."""
        up = np.array([1.0 + x.kappa for x in firsts])[:, None]
        down = np.array([1.0 - x.kappa for x in seconds])[None, :]
        boxes = np.where(self._compared(first, second), self.e * down / up * (1.0 - 2.0**-46), inf)
        wide = np.pad(boxes, 1, constant_values=inf)
        return np.asarray(np.minimum.reduce([wide[:-1, :-1], wide[1:, :-1], wide[:-1, 1:], wide[1:, 1:]]))

    def _nodes(self, table: LaplaceTable, first: Sequence[float], second: Sequence[float], levels: Floats) -> Floats:
        """Return bounds on the divergences of all pairs of places at their levels; 0 for those that are not asked."""
        rows0, rows1 = table.rows(first), table.rows(second)
        found = np.zeros(levels.shape)
        asked = np.argwhere(np.isfinite(levels))
        i, j = asked.T
        e = levels[i, j][:, None]
        hidden = np.minimum(table.rows([0.0])[0], table.rows([1.0])[0])
        values = _by_blanket(hidden, (rows0[i], rows1[j]), e, self.n, self.tilt * _TILTS, log(self.aim)) * self.aim
        values = np.where(e[:, 0] >= 1.0, values, inf)
        open_ = np.flatnonzero(~(values <= _SETTLED * self.aim) & (e[:, 0] >= 1.0))
        if len(open_):
            classes = self._classes(table)
            thinned = [[float(1 - table.kept(cell))] for _, cell in self.part.places]
            classes = np.hstack([classes, np.array(thinned)])
            pairs = np.pad(rows0[i[open_]], ((0, 0), (0, 1))), np.pad(rows1[j[open_]], ((0, 0), (0, 1)))
            order = np.argsort([first[a] + 1.0 - second[b] for a, b in asked[open_]])
            work = len(open_) * classes.size * (3 + len(self.parameters.terms))
            self.limits.charge(TRIPLES.of(work))
            better = bounds_by_moments(
                classes, (pairs[0][order], pairs[1][order]), e[open_][order], self.n, self.parameters, log(self.aim), 64
            )
            better = np.nan_to_num(better, nan=inf) * self.aim * (1.0 + 1e-12)
            values[open_[order]] = np.minimum(values[open_[order]], better)
        found[i, j] = values
        return found


def _cut(places: Sequence[float], cells: Floats, losses: Floats) -> tuple[tuple[float, ...], bool]:
    """Return the places with the middles of some cells, of those that lose more than a part of the room.

    ``losses`` are in units of the room.
    """
    wide = {int(k) for k in cells if losses[int(k)] > _WORTH and places[int(k) + 1] - places[int(k)] > _SHORTEST / 4}
    middles = (_rounded(0.5 * (places[k] + places[k + 1])) for k in wide)
    return tuple(sorted({*places, *middles})), bool(wide)


def _by_blanket(
    hidden: Floats, pairs: tuple[Floats, Floats], e: Floats, n: int, tilts: Floats, log_unit: float
) -> Floats:
    """Return upper bounds on D(P - E Q) of pairs of rows by the blanket and one tilt, in units; inf for none.

    Guarantee
    ---------
    Every pair has at most this divergence, whatever laws above ``hidden`` the other users have.
    Proof: docs/proofs/interval.md.
    """
    first, second = pairs
    with np.errstate(all="ignore"):
        g, size = first - e * second, first + e * second
        w, reach = g / hidden, (size / hidden).max(axis=1)
        rest = max(1.0 - float(hidden.sum()), 0.0) + (len(hidden) + 8) * 4.0 * UNIT
        best = np.full(len(first), inf)
        for theta in tilts.tolist():
            error = 2.0 * UNIT * (len(hidden) + 16.0 + 64.0 * np.minimum(theta * reach, LARGEST))
            moments = (exponentials(theta * w) @ hidden + rest) * (1.0 + error)
            logs = n * logarithms_above(moments) - 1.0 - log(n * theta)
            best = np.fmin(best, np.where(theta * reach <= LARGEST, logs, inf))
        room = 1e-9 + 1e-13 * np.abs(best)
        return np.asarray(np.exp(np.minimum(best + room - log_unit, 700.0)) * (1.0 + 1e-12))


def interval_bound(subject: Subject) -> MaxOverPairs:
    """Return the bound of one part, for all pairs of inputs and all data sets.

    Guarantee
    ---------
    Its divergence is at least that of the shuffled reports of every two neighbouring data sets, for every level and
    number of users. Proof: docs/proofs/interval.md.
    """
    noise = subject.noise
    assert isinstance(noise, Laplace)
    return MaxOverPairs((LaplaceInterval(noise),))


def _no_laplace(subject: Subject) -> str | None:
    return None if isinstance(subject.noise, Laplace) else "here it is none: leave out the method"


LAPLACE = Hypothesis("laplace", "Messages carry Laplace noise, and inputs fill an interval.", every(_no_laplace))
INTERVAL = Bound(
    "interval",
    ProofStatus.PROVED,
    SOURCE,
    "all pairs of an interval of inputs and all data sets, for Laplace noise",
    "interval",
    (*SHUFFLED, LAPLACE),
    interval_bound,
    rank=3,
    too_costly=lambda subject, level, n, patience: n < _LEAST_USERS,
)
