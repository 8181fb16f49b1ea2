"""One step of training: the dominating pair of its output with and without the example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from math import ceil, copysign, floor, inf, log, log1p, sqrt
from typing import Any, TypeAlias

import flint
import numpy as np
import sympy as sp
from flint import arb, fmpq

from symamp.certificates.text import expression_text
from symamp.decompositions.to_law import number
from symamp.errors import ArgumentError, FormatError, Problem, SupportMismatchError, checked_class
from symamp.formulas.order import sign
from symamp.laws.density import SmoothLaw
from symamp.laws.law import Atom, Floats, Law, RationalLaw
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import exact_number, listed
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.randomizers.noise.distributions import Laplace, Logistic
from symamp.sums.kernels.one_sided import Lognormal, Summand

_CELLS, _FEWER_CELLS, _SPARE = 400, 64, 25.0
"""Cells of messages of a step with normal noise, and with noise whose ratios are bounded, and by how much, in the
logarithm, what lies beyond them is less than what matters: width against time."""
_GRID, _GRID_REACH, _PER_SIZE, _FAR = 40_001, 40.0, 30.0, 50.0
"""Places from which the cells of a statistic are found, in deviations; how many deviations of its sum its values take;
and the logarithm that stands for an infinite ratio."""
_LOGISTIC_REACH = 14.0
"""Where the cells of logistic noise end, in units of its scale: ratios hardly change beyond."""
_MOST_POINTS = 4_000
"""Integers with a mass of their own, of discrete noise."""

AnyLaw: TypeAlias = Law | SmoothLaw
Between: TypeAlias = tuple[AnyLaw, AnyLaw]
Shifts: TypeAlias = tuple[int, int, int]
"""By how much messages are moved in the first world, in the second, and if the example is in another step."""
WITH_WITHOUT: Shifts = (1, 0, 0)
Masses: TypeAlias = Callable[[], tuple[arb, ...]]
Flat: TypeAlias = tuple[bool, bool]
Numbering: TypeAlias = dict[str, Any]
"""A whole number for each message, modulo ``size``: of a table and of integers the ``numbers`` themselves, of noise
with a density the ``first`` one, and the ``places`` at which it rises by 1."""


class Step:
    """One step: what it publishes with the example and without, where that dominates all gradients of norm at most 1.

    Steps are plain data.
    """

    def laws(self, shifts: Shifts, log_least: float) -> Between:
        """Return two laws between whose divergences that of the triple lies, at every level and number of steps.

        The triple is that of the messages moved by the three shifts; the first is at least the second.
        ``log_least`` is the logarithm of what is too small a probability to matter.

        Guarantee
        ---------
        D_E of the first law <= that of the triple <= D_E of the second, for both orders, every E >= 0 and every number
        of steps. Proof: docs/proofs/random_allocation.md, section 4.
        """
        raise NotImplementedError

    def finite(self, shifts: Shifts, log_least: float) -> tuple[Law, Law]:
        """Return two such laws that are finite, of which certificates are made."""
        below, above = self.laws(shifts, log_least)
        assert isinstance(below, Law)
        assert isinstance(above, Law)
        return below, above

    def data(self) -> dict[str, Any] | None:
        """Return what a certificate says of the step; None if it has none."""
        return None

    def cells(self, shifts: Shifts, log_least: float) -> dict[str, Any] | None:
        """Return which cells of messages, or integers, finite laws have; None for tables."""
        return None

    def numbering(self, shifts: Shifts, rate: float, steps: int, size: int) -> Numbering:
        """Return a whole number for each message, in units of which the sum over all steps takes about ``size``.

        It rises with the likelihood ratio of a step in which the example is with probability ``rate``. Any number of
        the message will do for a bound from below.
        """
        raise SupportMismatchError(
            "selected", Problem(f"no lower end for {self!r} is known"), "take a GaussianStep or a TableStep"
        )

    def numbered(self, shifts: Shifts, numbering: Numbering) -> tuple[list[arb], ...]:
        """Return the law of the number of a message for each shift."""
        raise NotImplementedError

    @property
    def summand(self) -> Summand | None:
        """The likelihood ratio of the two worlds where its Laplace transform is at hand, else None."""
        return None

    @property
    def ratios(self) -> tuple[sp.Expr, sp.Expr]:
        """The least and the largest likelihood ratio of a message with the example and without."""
        raise NotImplementedError


def _positive(value: object, name: str) -> sp.Expr:
    found = exact_number(value, name)
    if sign(found, ()) <= 0:
        raise ArgumentError(name, value, "a number > 0")
    return found


class _Noise(Step):
    """Noise whose likelihood ratio rises with the message."""

    def ratio(self, y: arb, shift: int, other: int) -> arb:
        """Return the density moved by one shift over that moved by another."""
        raise NotImplementedError

    def beyond(self, y: arb, shift: int) -> arb:
        """Return the probability of a message above y."""
        raise NotImplementedError

    def limits(self, shifts: Shifts) -> tuple[Masses, Masses] | None:
        """Return the ratios far out on both sides; None where they have no bound."""
        return None

    def are_flat(self, start: float, end: float, shifts: Shifts) -> Flat:
        """Return of the ratio of each world whether it is the same between two places."""
        return shifts[0] == shifts[2], shifts[1] == shifts[2]

    def rough(self, shifts: Shifts) -> tuple[Floats, Floats, list[Floats]]:
        """Return messages, their weights without the example, and logarithms of ratios of both worlds, in doubles."""
        raise NotImplementedError

    def finite(self, shifts: Shifts, log_least: float) -> tuple[Law, Law]:
        """Return laws of cells of messages."""
        cells = self.cells(shifts, log_least)
        return _laws_of_cells(self, shifts, cells["from"], cells["to"], cells["count"])

    def cells(self, shifts: Shifts, log_least: float) -> dict[str, Any]:
        """Return where cells of messages begin and end, and how many there are."""
        reach = self.reach(log_least)
        return {"from": min(shifts) - reach, "to": max(shifts) + reach, "count": _CELLS}

    def reach(self, log_least: float) -> float:
        """Return how far from the shifts cells go."""
        raise NotImplementedError

    def numbering(self, shifts: Shifts, rate: float, steps: int, size: int) -> Numbering:
        """Return the number of messages below the first place, and places at which it rises."""
        y, logs, unit = self._statistic(shifts, rate, steps, size)
        first, last = (floor(x / unit) for x in (logs[0], logs[-1]))
        # Messages at which the number rises: found in doubles, and then these doubles are the definition.
        places = np.interp(unit * np.arange(first + 1, last + 1), logs, y).tolist()
        return {"size": size, "first": first, "places": [str(Fraction(x)) for x in places], "numbers": []}

    def _statistic(self, shifts: Shifts, rate: float, steps: int, size: int) -> tuple[Floats, Floats, float]:
        """Return messages, logarithms of ratios of a Poisson step, and the unit in which these are counted."""
        y, weights, worlds = self.rough(shifts)
        mixed = [np.logaddexp(log1p(-rate), log(rate) + x) if x.any() else x for x in worlds]
        logs = mixed[0] - mixed[1]
        mean = float(weights @ logs / weights.sum())
        variance = float(weights @ (logs - mean) ** 2 / weights.sum())
        return y, logs, _PER_SIZE * sqrt(steps * variance) / size

    def numbered(self, shifts: Shifts, numbering: Numbering) -> tuple[list[arb], ...]:
        """Return the law of the number of a message for each shift."""

        def law(shift: int) -> list[arb]:
            found = [arb(0)] * numbering["size"]
            places = [arb(fmpq(*Fraction(y).as_integer_ratio())) for y in numbering["places"]]
            beyond = [arb(1), *(self.beyond(y, shift) for y in places), arb(0)]
            for k, (a, b) in enumerate(pairwise(beyond), numbering["first"]):
                found[k % numbering["size"]] += a - b
            return found

        return tuple(law(shift) for shift in shifts)


class _Normal(_Noise):
    """Noise whose likelihood ratio is that of normal laws, from 0 to infinity."""

    sigma: sp.Expr

    @property
    def ratios(self) -> tuple[sp.Expr, sp.Expr]:
        """0 and oo."""
        return sp.S.Zero, sp.oo

    def ratio(self, y: arb, shift: int, other: int) -> arb:
        """Return the density moved by one shift over that moved by another."""
        s = number(self.sigma)()
        return ((shift - other) * (2 * y - shift - other) / (2 * s * s)).exp()

    def reach(self, log_least: float) -> float:
        """Return how far from the shifts cells go."""
        return sqrt(2.0 * (_SPARE - log_least)) * float(number(self.sigma)().mid())

    def rough(self, shifts: Shifts) -> tuple[Floats, Floats, list[Floats]]:
        """Return messages, their weights without the example, and logarithms of ratios of both worlds, in doubles."""
        s = float(number(self.sigma)().mid())
        z = self._rough_places(s)
        return s * z, np.exp(-z * z / 2.0), [x * (2.0 * s * z - x) / (2.0 * s * s) for x in shifts[:2]]

    def _rough_places(self, s: float) -> Floats:
        return np.linspace(-_GRID_REACH, _GRID_REACH, _GRID)


@checked_class
@dataclass(frozen=True, init=False)
class GaussianStep(_Normal):
    """A sum of clipped gradients with normal noise: ``sigma`` is its deviation over the norm at which they are clipped.

    >>> GaussianStep(sigma="1/2")
    GaussianStep(sigma=1/2)
    """

    sigma: sp.Expr

    def __init__(self, *, sigma: object) -> None:
        object.__setattr__(self, "sigma", _positive(sigma, "sigma"))

    def __repr__(self) -> str:
        return f"GaussianStep(sigma={self.sigma})"

    @cached_property
    def summand(self) -> Summand:
        """A lognormal variable."""
        return Lognormal(number(self.sigma))

    def laws(self, shifts: Shifts, log_least: float) -> Between:
        """Return finite laws of cells of messages; in the upper one a message beyond the cells reveals the data set.

        Guarantee
        ---------
        D_E of the first law <= that of the triple <= D_E of the second, for both orders, every E >= 0 and every number
        of steps. Proof: docs/proofs/random_allocation.md, section 4.
        """
        return self.finite(shifts, log_least)

    def data(self) -> dict[str, Any] | None:
        """Return what a certificate says of the step; None for a sigma that is no fraction."""
        return {"kind": "gaussian", "sigma": str(self.sigma)} if self.sigma.is_Rational else None

    def beyond(self, y: arb, shift: int) -> arb:
        """Return the probability of a message above y."""
        return ((y - shift) / (number(self.sigma)() * arb(2).sqrt())).erfc() / 2


@lru_cache(maxsize=64)
def _laws_of_cells(step: _Noise, shifts: Shifts, low: float, high: float, count: int) -> tuple[Law, Law]:
    doubles = [low + (high - low) * k / count for k in range(count + 1)]
    places = [arb(y) for y in doubles]

    def masses(start: arb | None, end: arb | None) -> Masses:
        def found(_: int) -> tuple[arb, ...]:
            first = [arb(1) if start is None else step.beyond(start, s) for s in shifts]
            last = [arb(0) if end is None else step.beyond(end, s) for s in shifts]
            if start is not None and end is not None and end < 0:  # of small tails differences are exact
                mirrored = [(step.beyond(-end, -s), step.beyond(-start, -s)) for s in shifts]
                return tuple(a - b for a, b in mirrored)
            return tuple(a - b for a, b in zip(first, last, strict=True))

        return _at_precision(found)

    def edges(y: arb) -> Masses:
        return _at_precision(lambda _: tuple(step.ratio(y, s, shifts[2]) for s in shifts[:2]))

    at = [edges(y) for y in places]
    flat = [step.are_flat(a, b, shifts) for a, b in pairwise([-inf, *doubles, inf])]
    every = zip(pairwise(places), pairwise(at), flat[1:-1], strict=True)
    cells = [(masses(a, b), x, y, known) for (a, b), (x, y), known in every]
    tails, far = [masses(None, places[0]), masses(places[-1], None)], step.limits(shifts)
    if far is None:
        return _laws(cells, tails)
    return _laws([(tails[0], far[0], at[0], flat[0]), *cells, (tails[1], at[-1], far[1], flat[-1])], [])


@checked_class
@dataclass(frozen=True, init=False)
class DiscreteGaussianStep(_Normal):
    """A sum of clipped integers with noise Z, P(Z = z) proportional to e^(-z^2/(2 sigma^2)); each is at most 1.

    >>> DiscreteGaussianStep(sigma=4)
    DiscreteGaussianStep(sigma=4)
    """

    sigma: sp.Expr

    def __init__(self, *, sigma: object) -> None:
        object.__setattr__(self, "sigma", _positive(sigma, "sigma"))

    def __repr__(self) -> str:
        return f"DiscreteGaussianStep(sigma={self.sigma})"

    def laws(self, shifts: Shifts, log_least: float) -> Between:
        """Return laws of integers: those far out are one message in the lower law and reveal the data set in the upper.

        Guarantee
        ---------
        D_E of the first law <= that of the triple <= D_E of the second, for both orders, every E >= 0 and every number
        of steps. Proof: docs/proofs/random_allocation.md, section 4.
        """
        return self.finite(shifts, log_least)

    def finite(self, shifts: Shifts, log_least: float) -> tuple[Law, Law]:
        """Return the laws of ``laws``."""
        cells = self.cells(shifts, log_least)
        return _discrete_laws(self, shifts, int(cells["from"]), int(cells["to"]))

    def cells(self, shifts: Shifts, log_least: float) -> dict[str, Any]:
        """Return the integers that have a mass of their own."""
        reach = ceil(self.reach(log_least)) + 1
        first, last = min(shifts) - reach, max(shifts) + reach
        if last - first > _MOST_POINTS:
            raise ArgumentError("sigma", self.sigma, f"noise on at most {_MOST_POINTS} integers, or GaussianStep")
        return {"from": float(first), "to": float(last), "count": last - first}

    def data(self) -> dict[str, Any]:
        """Return what a certificate says of the step."""
        return {"kind": "discrete", "sigma": expression_text(self.sigma)}

    def _rough_places(self, s: float) -> Floats:
        most = min(ceil(_GRID_REACH * s), _MOST_POINTS)
        return np.arange(-most, most + 1) / s

    def numbering(self, shifts: Shifts, rate: float, steps: int, size: int) -> Numbering:
        """Return the numbers of integers from -m to m; all others have the number 0."""
        _, logs, unit = self._statistic(shifts, rate, steps, size)
        return {"size": size, "first": 0, "places": [], "numbers": np.floor(logs / unit).astype(int).tolist()}

    def numbered(self, shifts: Shifts, numbering: Numbering) -> tuple[list[arb], ...]:
        """Return the law of the number of an integer for each shift."""
        found = tuple([arb(0)] * numbering["size"] for _ in shifts)
        most = len(numbering["numbers"]) // 2
        values, _, whole = _weights(self, most + 2, flint.ctx.prec)
        for law, shift in zip(found, shifts, strict=True):
            rest = arb(1)
            for z, k in enumerate(numbering["numbers"], -most):
                mass = values[abs(z - shift)] / whole
                law[k % numbering["size"]] += mass
                rest -= mass
            law[0] += rest
        return found


@lru_cache(maxsize=16)
def _weights(step: DiscreteGaussianStep, end: int, bits: int) -> tuple[list[arb], list[arb], arb]:
    """Return weights of 0, ..., end, sums over all integers from each of these on, and the sum over all integers.

    Far out, where it is negligible even beside what is beyond the end, a geometric series bounds the rest.
    """
    s = number(step.sigma)()
    far = ceil(sqrt(end**2 + 2.0 * float(s) ** 2 * bits)) + 1
    found = [(-arb(z * z) / (2 * s * s)).exp() for z in range(far + 2)]
    beyond = [found.pop() / (1 - (-arb(2 * far + 3) / (2 * s * s)).exp()) * arb(0.5, 0.5)]
    for weight in reversed(found):
        beyond.append(beyond[-1] + weight)
    beyond.reverse()
    return found, beyond, found[0] + 2 * beyond[1]


@lru_cache(maxsize=64)
def _discrete_laws(step: DiscreteGaussianStep, shifts: Shifts, first: int, last: int) -> tuple[Law, Law]:
    kept = partial(_weights, step, max(-first, last) + 2)

    def masses(y: int) -> Masses:
        def found(bits: int) -> tuple[arb, ...]:
            values, _, whole = kept(bits)
            return tuple(values[abs(y - s)] / whole for s in shifts)

        return _at_precision(found)

    def edges(y: int) -> Masses:
        return _at_precision(lambda _: tuple(step.ratio(arb(y), s, shifts[2]) for s in shifts[:2]))

    def tails(bits: int) -> tuple[arb, ...]:
        _, beyond, whole = kept(bits)
        return tuple((beyond[last + 1 - s] + beyond[s + 1 - first]) / whole for s in shifts)

    points = [(masses(y), edges(y), edges(y), (True, True)) for y in range(first, last + 1)]
    return _laws(points, [_at_precision(tails)])


def _at_precision(found: Callable[[int], tuple[arb, ...]]) -> Masses:
    """Return the function of the precision with a memory, called at the ambient one."""
    kept = lru_cache(maxsize=4)(found)
    return lambda: kept(flint.ctx.prec)


def _laws(cells: Sequence[tuple[Masses, Masses, Masses, Flat]], tails: Sequence[Masses]) -> tuple[Law, Law]:
    """Return finite laws around a triple, from the masses of cells and the two ratios at their ends.

    Of each ratio it is said whether it is the same all over a cell.

    Below, a cell is one message. Above, its messages are at its ends and at the corner that has the first ratio of the
    one and the second of the other, with the masses and means of the cell: the ratios run through an arc on that side
    of the chord. Tails are one message below, and name their world above.
    """
    below = [_mean(m) for m in tails]
    above: list[Atom] = []
    for masses, start, end, flat in cells:
        if all(flat):
            point = Atom(_entry(start, 0), _entry(start, 1), _entry(masses, 2))
            below.append(point)
            above.append(point)
            continue
        below.append(_mean(masses))
        above += _spread(masses, start, end, flat)
    named = [((_entry(m, 0), _zero), (_zero, _entry(m, 1))) for m in tails]
    return Law(tuple(below), (), False), Law(tuple(above), tuple(x for pair in named for x in pair), False)


def _zero() -> arb:
    return arb(0)


def _entry(masses: Masses, i: int) -> Callable[[], arb]:
    return lambda: masses()[i]


def _mean(masses: Masses) -> Atom:
    return Atom(lambda: masses()[0] / masses()[2], lambda: masses()[1] / masses()[2], _entry(masses, 2))


def _spread(masses: Masses, start: Masses, end: Masses, flat: Flat) -> list[Atom]:
    def shares(_: int) -> tuple[arb, ...]:
        (p0, p1, q), (a0, a1), (b0, b1) = masses(), start(), end()
        second = (p1 - a1 * q) / (b1 - a1) if flat[0] else (p0 - a0 * q) / (b0 - a0)
        if any(flat):
            return q - second, second
        first = (p1 - b1 * q) / (a1 - b1)
        return first, second, q - first - second

    kept = _at_precision(shares)
    atoms = [Atom(_entry(y, 0), _entry(y, 1), _entry(kept, i)) for i, y in enumerate((start, end))]
    if not any(flat):
        atoms.append(Atom(_entry(start, 0), _entry(end, 1), _entry(kept, 2)))
    return atoms


# --------------------------------------------------------------------------- Steps with finitely many messages, exactly


_ROWS = "rows of 2 or 3 rational probabilities"


@checked_class
@dataclass(frozen=True, init=False)
class TableStep(Step):
    """A step with finitely many messages: rows of their probabilities with the example and without.

    The pair has to dominate the step for all data: D_E(with || without) and D_E(without || with) are at least those of
    every example, for all E. A third column are probabilities with another example, for neighbours by replacement.

    >>> TableStep([("1/6", "1/2"), ("1/3", "1/3"), ("1/2", "1/6")]).ratios
    (1/3, 3)
    """

    rows: tuple[tuple[sp.Rational, ...], ...]

    def __init__(self, rows: Iterable[Sequence[object]]) -> None:
        listed_rows = [listed(row, "rows", _ROWS) for row in listed(rows, "rows", _ROWS)]
        found = tuple(tuple(exact_number(x, "rows") for x in row) for row in listed_rows)
        widths = {len(row) for row in found}
        if widths not in ({2}, {3}) or not all(x.is_Rational and x >= 0 for row in found for x in row):
            raise FormatError("rows", Problem("the rows form no table"), f"give {_ROWS}")
        if any(sum(row[i] for row in found) != 1 for i in range(max(widths))):
            raise FormatError("rows", Problem("a column does not sum to 1"), "give probabilities of all messages")
        object.__setattr__(self, "rows", found)

    def __repr__(self) -> str:
        return f"TableStep({len(self.rows)} messages)"

    @property
    def ratios(self) -> tuple[sp.Expr, sp.Expr]:
        """The least and the largest quotient."""
        found = [sp.oo if row[1] == 0 else row[0] / row[1] for row in self.rows if row[0] or row[1]]
        return sp.Min(*found), sp.Max(*found)

    def data(self) -> dict[str, Any]:
        """Return what a certificate says of the step."""
        return {"kind": "table", "rows": [[str(x) for x in row] for row in self.rows]}

    def numbering(self, shifts: Shifts, rate: float, steps: int, size: int) -> Numbering:
        """Return the number of each message."""
        columns = self._columns(shifts)
        logs, weights = [], []
        for row in self.rows:
            p, q, m = (float(row[c]) for c in columns)
            a, b = ((1.0 - rate) * m + rate * x for x in (p, q))
            logs.append(log(a / b) if a > 0.0 and b > 0.0 else copysign(_FAR, a - b) if a != b else 0.0)
            weights.append(m)
        mean = sum(w * x for w, x in zip(weights, logs, strict=True))
        deviation = sqrt(steps * sum(w * (x - mean) ** 2 for w, x in zip(weights, logs, strict=True)))
        unit = max(_PER_SIZE * deviation, 1e-300) / size
        return {"size": size, "first": 0, "places": [], "numbers": [floor(x / unit) for x in logs]}

    def numbered(self, shifts: Shifts, numbering: Numbering) -> tuple[list[arb], ...]:
        """Return the law of the number of a message for each shift."""
        found = tuple([arb(0)] * numbering["size"] for _ in shifts)
        for law, c in zip(found, self._columns(shifts), strict=True):
            for row, k in zip(self.rows, numbering["numbers"], strict=True):
                law[k % numbering["size"]] += arb(fmpq_of(row[c]))
        return found

    def _columns(self, shifts: Shifts) -> tuple[int, ...]:
        columns = {1: 0, 0: 1, -1: 2}
        if any(s not in columns or columns[s] >= len(self.rows[0]) for s in shifts):
            what = Problem("the table does not say what other examples do")
            raise SupportMismatchError("neighbours", what, "add a third column, or take neighbours='add_remove'")
        return tuple(columns[s] for s in shifts)

    def laws(self, shifts: Shifts, log_least: float) -> Between:
        """Return the law twice; SupportMismatchError for worlds that the table does not have.

        Guarantee
        ---------
        Both laws are that of the triple, in fractions. Proof: docs/proofs/random_allocation.md, section 4.
        """
        columns = self._columns(shifts)
        if -1 in shifts and not _opposite(self.rows):
            what = Problem("the two examples do not shift the messages in opposite directions")
            raise SupportMismatchError("rows", what, "give the two examples that are farthest apart")
        worlds = [[fmpq_of(row[c]) for row in self.rows] for c in columns]
        law = _table_law(tuple(zip(*worlds, strict=True)))
        return law, law


def _opposite(rows: tuple[tuple[sp.Rational, ...], ...]) -> bool:
    """Return whether one ratio to the second column falls where the other rises."""
    ratios = sorted((p / m, -r / m) for p, m, r in rows if m != 0)
    return len(ratios) == len(rows) and all(a[1] <= b[1] for a, b in pairwise(ratios))


@lru_cache(maxsize=64)
def _table_law(rows: tuple[tuple[fmpq, fmpq, fmpq], ...]) -> Law:
    atoms = tuple((p / m, q / m, m) for p, q, m in rows if m != 0)
    singular = tuple((p, q) for p, q, m in rows if m == 0 and (p or q))
    balls = tuple(Atom(_ball(a), _ball(b), _ball(m), a == b) for a, b, m in atoms)
    return Law(balls, tuple((_ball(p), _ball(q)) for p, q in singular), True, RationalLaw(atoms, singular))


def _ball(x: fmpq) -> Callable[[], arb]:
    return lambda: arb(x)


# ----------------------------------------------------------------------- Steps with a density that symamp knows already


@checked_class
@dataclass(frozen=True)
class NoiseStep(_Noise):
    """A step with noise of the catalogue, such as ``sa.Laplace(eps0=1)``, on clipped numbers in [0, 1] or [-1, 0].

    Its density is even and falls away from 0, so that a shift by 1 dominates all smaller ones. Certificates and several
    steps of an epoch are for Laplace and logistic noise, replacement for Laplace noise.

    >>> import symamp as sa
    >>> NoiseStep(sa.Laplace(eps0=1)).ratios
    (exp(-1), E)
    """

    noise: Any

    def __post_init__(self) -> None:
        if not isinstance(self.noise, AdditiveNoise) or self.noise.exact_law() is None:
            told = "noise with bounded ratios, such as sa.Laplace(eps0=1), or a TableStep"
            raise ArgumentError("noise", self.noise, told)

    @property
    def ratios(self) -> tuple[sp.Expr, sp.Expr]:
        """The local budget and its inverse."""
        ratio = self.noise.local_ratio()
        return 1 / ratio, ratio

    def laws(self, shifts: Shifts, log_least: float) -> Between:
        """Return the law twice; SupportMismatchError for other worlds than with and without the example.

        Guarantee
        ---------
        Both laws are that of the triple; by replacement they are laws of cells around it.
        Proof: docs/proofs/random_allocation.md, section 4.
        """
        if shifts == WITH_WITHOUT:
            law = _noise_law(self.noise)
            return law, law
        if self._kind != "laplace":
            what = Problem(f"{self.noise!r} does not say what a replaced example does")
            told = "take a GaussianStep, sa.Laplace(eps0=...), or neighbours='add_remove'"
            raise SupportMismatchError("noise", what, told)
        return self.finite(shifts, log_least)

    def data(self) -> dict[str, Any] | None:
        """Return what a certificate says of the step; None of other noise than Laplace and logistic noise."""
        return {"kind": self._kind, "eps0": expression_text(self.noise["eps0"])} if self._kind else None

    @property
    def _kind(self) -> str:
        return {Laplace: "laplace", Logistic: "logistic"}.get(type(self.noise), "")

    def finite(self, shifts: Shifts, log_least: float) -> tuple[Law, Law]:
        """Return laws of cells; SupportMismatchError for noise of which none are known."""
        self._require_cells()
        return super().finite(shifts, log_least)

    def _require_cells(self) -> None:
        if not self._kind:
            what = Problem(f"no cells of messages are known of {self.noise!r}")
            told = "take sa.Laplace(eps0=...), sa.Logistic(eps0=...), a GaussianStep or a TableStep"
            raise SupportMismatchError("noise", what, told)

    def are_flat(self, start: float, end: float, shifts: Shifts) -> Flat:
        """Return of each ratio whether it is the same between two places: of Laplace noise beyond both shifts."""
        if self._kind == "logistic":
            return super().are_flat(start, end, shifts)
        first, second = (end <= min(s, shifts[2]) or start >= max(s, shifts[2]) for s in shifts[:2])
        return first, second

    def cells(self, shifts: Shifts, log_least: float) -> dict[str, Any]:
        """Return where cells of messages begin and end, and how many there are: ratios hardly change beyond."""
        if self._kind == "laplace":
            return {"from": float(min(shifts)), "to": float(max(shifts)), "count": _FEWER_CELLS}
        reach = _LOGISTIC_REACH / float(number(self.noise["eps0"])())
        return {"from": min(shifts) - reach, "to": max(shifts) + reach, "count": _CELLS}

    def beyond(self, y: arb, shift: int) -> arb:
        """Return the probability of a message above y."""
        z = y - shift
        return self.noise.survival(z) if z >= 0 else 1 - self.noise.survival(-z)

    def ratio(self, y: arb, shift: int, other: int) -> arb:
        """Return the density moved by one shift over that moved by another."""
        rate = number(self.noise["eps0"])()
        if self._kind == "logistic":
            return ((rate * (y - other) / 2).cosh() / (rate * (y - shift) / 2).cosh()) ** 2
        return (rate * (abs(y - other) - abs(y - shift))).exp()

    def limits(self, shifts: Shifts) -> tuple[Masses, Masses]:
        """Return the ratios far out on both sides."""

        def at(side: int) -> Masses:
            return lambda: tuple((side * (s - shifts[2]) * number(self.noise["eps0"])()).exp() for s in shifts[:2])

        return at(-1), at(1)

    def rough(self, shifts: Shifts) -> tuple[Floats, Floats, list[Floats]]:
        """Return messages, their weights without the example, and logarithms of ratios of both worlds, in doubles."""
        self._require_cells()
        rate, reach = float(number(self.noise["eps0"])()), 2.0
        if self._kind == "logistic":
            reach += _GRID_REACH / rate
        y = np.linspace(-reach, reach, _GRID)
        logs = [-rate * abs(y - s) for s in shifts]
        if self._kind == "logistic":  # 4 cosh^2 is e^|z| (1 + e^-|z|)^2
            logs = [x - 2.0 * np.log1p(np.exp(x)) for x in logs]
        return y, np.exp(logs[2]), [x - logs[2] for x in logs[:2]]


@lru_cache(maxsize=64)
def _noise_law(noise: AdditiveNoise) -> SmoothLaw:
    law = noise.exact_law()
    assert law is not None
    return law.among_first().swapped()
