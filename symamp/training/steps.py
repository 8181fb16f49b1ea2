"""One step of training: the dominating pair of its output with and without the example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, copysign, floor, log, log1p, sqrt
from typing import Any, TypeAlias

import flint
import numpy as np
import sympy as sp
from flint import arb, fmpq

from symamp.decompositions.to_law import number
from symamp.errors import ArgumentError, FormatError, Problem, SupportMismatchError, checked_class
from symamp.formulas.order import sign
from symamp.laws.density import SmoothLaw
from symamp.laws.law import Atom, Floats, Law, RationalLaw, total
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import exact_number, listed
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.sums.kernels.one_sided import Lognormal, Summand

_CELLS, _SPARE = 400, 25.0
"""Cells of messages of a step with normal noise, and by how much, in the logarithm, what lies beyond them is less than
what matters: width against time."""
_GRID, _GRID_REACH, _PER_SIZE, _FAR = 40_001, 40.0, 30.0, 50.0
"""Places from which the cells of a statistic are found, in deviations; how many deviations of its sum its values take;
and the logarithm that stands for an infinite ratio."""
_MOST_POINTS = 4_000
"""Integers with a mass of their own, of discrete noise."""

AnyLaw: TypeAlias = Law | SmoothLaw
Between: TypeAlias = tuple[AnyLaw, AnyLaw]
Shifts: TypeAlias = tuple[int, int, int]
"""By how much messages are moved in the first world, in the second, and if the example is in another step."""
WITH_WITHOUT: Shifts = (1, 0, 0)
Masses: TypeAlias = Callable[[], tuple[arb, ...]]


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

    def lattice(self, shifts: Shifts, rate: float, steps: int, size: int) -> tuple[list[arb], ...]:
        """Return the laws, for each shift, of a whole number modulo ``size`` that a message is given.

        The number rises with the likelihood ratio of a message that is in a step with probability ``rate``, in units
        of which the sum over all steps takes about ``size``. Any number of the message will do for a bound from below.
        """
        raise SupportMismatchError(
            "selected", Problem(f"no lower end for {self!r} is known"), "take a GaussianStep or a TableStep"
        )

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


class _Unbounded(Step):
    """Noise whose likelihood ratio rises with the message, from 0 to infinity."""

    sigma: sp.Expr

    @property
    def ratios(self) -> tuple[sp.Expr, sp.Expr]:
        """0 and oo."""
        return sp.S.Zero, sp.oo

    def ratio(self, y: arb, shift: int, other: int) -> arb:
        """Return the density moved by one shift over that moved by another."""
        s = number(self.sigma)()
        return ((shift - other) * (2 * y - shift - other) / (2 * s * s)).exp()

    def _reach(self, log_least: float) -> float:
        return sqrt(2.0 * (_SPARE - log_least)) * float(number(self.sigma)().mid())


@checked_class
@dataclass(frozen=True, init=False)
class GaussianStep(_Unbounded):
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
        return _gaussian_laws(self, shifts, log_least)

    def lattice(self, shifts: Shifts, rate: float, steps: int, size: int) -> tuple[list[arb], ...]:
        """Return the laws, for each shift, of a whole number modulo ``size`` that a message is given."""
        s = float(number(self.sigma)().mid())
        z = np.linspace(-_GRID_REACH, _GRID_REACH, _GRID)
        y, density = s * z, np.exp(-z * z / 2.0)
        logs = _mixed_log(y, s, shifts[0], rate) - _mixed_log(y, s, shifts[1], rate)
        mean = float(density @ logs / density.sum())
        unit = _PER_SIZE * sqrt(steps * float(density @ (logs - mean) ** 2 / density.sum())) / size
        first, last = (floor(x / unit) for x in (logs[0], logs[-1]))
        # Messages at which the number rises: found in doubles, and then these doubles are the definition.
        places = np.interp(unit * np.arange(first + 1, last + 1), logs, y).tolist()

        def law(shift: int) -> list[arb]:
            found = [arb(0)] * size
            beyond = [arb(1), *(self.beyond(arb(place), shift) for place in places), arb(0)]
            for k, (a, b) in enumerate(pairwise(beyond), first):
                found[k % size] += a - b
            return found

        return tuple(law(shift) for shift in shifts)

    def beyond(self, y: arb, shift: int) -> arb:
        """Return the probability of a message above y."""
        return ((y - shift) / (number(self.sigma)() * arb(2).sqrt())).erfc() / 2


def _mixed_log(y: Floats, s: float, shift: int, rate: float) -> Floats:
    """Return log(1 - rate + rate f(y - shift)/f(y)) for the normal density f."""
    return (
        np.asarray(np.logaddexp(log1p(-rate), log(rate) + shift * (2.0 * y - shift) / (2.0 * s * s)))
        if shift
        else 0 * y
    )


@lru_cache(maxsize=64)
def _gaussian_laws(step: GaussianStep, shifts: Shifts, log_least: float) -> tuple[Law, Law]:
    reach = step._reach(log_least)
    low, high = min(shifts) - reach, max(shifts) + reach
    places = [arb(low + (high - low) * k / _CELLS) for k in range(_CELLS + 1)]

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
    cells = [(masses(a, b), x, y) for (a, b), (x, y) in zip(pairwise(places), pairwise(at), strict=True)]
    return _laws(cells, [masses(None, places[0]), masses(places[-1], None)])


@checked_class
@dataclass(frozen=True, init=False)
class DiscreteGaussianStep(_Unbounded):
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
        return _discrete_laws(self, shifts, log_least)


@lru_cache(maxsize=64)
def _discrete_laws(step: DiscreteGaussianStep, shifts: Shifts, log_least: float) -> tuple[Law, Law]:
    reach = ceil(step._reach(log_least)) + 1
    first, last = min(shifts) - reach, max(shifts) + reach
    if last - first > _MOST_POINTS:
        raise ArgumentError("sigma", step.sigma, f"noise on at most {_MOST_POINTS} integers, or GaussianStep")

    def weights(bits: int) -> tuple[dict[int, arb], arb]:
        s = number(step.sigma)()
        found = {z: (-arb(z * z) / (2 * s * s)).exp() for z in range(first - 2, last + 3)}
        # The sum over all integers is a theta function; here what is beyond is at most a geometric series.
        end = min(-first, last) + 2
        ratio = (-arb(2 * end + 1) / (2 * s * s)).exp()
        beyond = 2 * (-arb((end + 1) ** 2) / (2 * s * s)).exp() / (1 - ratio)
        inner = total([found[z] for z in range(-end, end + 1)])
        return found, inner + beyond.upper() / 2 + beyond.upper() / 2 * arb(0, 1)

    kept = lru_cache(maxsize=4)(weights)

    def masses(y: int) -> Masses:
        def found(bits: int) -> tuple[arb, ...]:
            values, whole = kept(bits)
            return tuple(values[y - s] / whole for s in shifts)

        return _at_precision(found)

    def edges(y: int) -> Masses:
        return _at_precision(lambda _: tuple(step.ratio(arb(y), s, shifts[2]) for s in shifts[:2]))

    def tails(bits: int) -> tuple[arb, ...]:
        values, whole = kept(bits)
        inner = [total([values[y - s] for y in range(first, last + 1)]) / whole for s in shifts]
        return tuple((1 - x).max(arb(0)) for x in inner)

    points = [(masses(y), edges(y), None) for y in range(first, last + 1)]
    return _laws(points, [_at_precision(tails)])


def _at_precision(found: Callable[[int], tuple[arb, ...]]) -> Masses:
    """Return the function of the precision with a memory, called at the ambient one."""
    kept = lru_cache(maxsize=4)(found)
    return lambda: kept(flint.ctx.prec)


def _laws(cells: Sequence[tuple[Masses, Masses, Masses | None]], tails: Sequence[Masses]) -> tuple[Law, Law]:
    """Return finite laws around a triple, from the masses of cells and the two ratios at their ends; None for points.

    Below, a cell is one message. Above, its messages are at its ends and at the corner that has the first ratio of the
    one and the second of the other, with the masses and means of the cell: the ratios run through an arc on that side
    of the chord. Tails are one message below, and name their world above.
    """
    below = [_mean(m) for m in tails]
    above: list[Atom] = []
    for masses, start, end in cells:
        if end is None:
            point = Atom(_entry(start, 0), _entry(start, 1), _entry(masses, 2))
            below.append(point)
            above.append(point)
            continue
        below.append(_mean(masses))
        above += _spread(masses, start, end)
    named = [((_entry(m, 0), _zero), (_zero, _entry(m, 1))) for m in tails]
    return Law(tuple(below), (), False), Law(tuple(above), tuple(x for pair in named for x in pair), False)


def _zero() -> arb:
    return arb(0)


def _entry(masses: Masses, i: int) -> Callable[[], arb]:
    return lambda: masses()[i]


def _mean(masses: Masses) -> Atom:
    return Atom(lambda: masses()[0] / masses()[2], lambda: masses()[1] / masses()[2], _entry(masses, 2))


def _spread(masses: Masses, start: Masses, end: Masses) -> list[Atom]:
    def shares(_: int) -> tuple[arb, ...]:
        (p0, p1, q), (a0, a1), (b0, b1) = masses(), start(), end()
        second = (p0 - a0 * q) / (b0 - a0)
        if (a1 - b1).is_zero():
            return q - second, second
        first = (p1 - b1 * q) / (a1 - b1)
        return first, second, q - first - second

    kept = _at_precision(shares)
    atoms = [Atom(_entry(y, 0), _entry(y, 1), _entry(kept, i)) for i, y in enumerate((start, end))]
    if not _is_flat(start, end):
        atoms.append(Atom(_entry(start, 0), _entry(end, 1), _entry(kept, 2)))
    return atoms


def _is_flat(start: Masses, end: Masses) -> bool:
    return bool((start()[1] - end()[1]).is_zero())


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

    def lattice(self, shifts: Shifts, rate: float, steps: int, size: int) -> tuple[list[arb], ...]:
        """Return the laws, for each shift, of a whole number modulo ``size`` that a message is given."""
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
        found = tuple([arb(0)] * size for _ in shifts)
        for row, x in zip(self.rows, logs, strict=True):
            for law, c in zip(found, columns, strict=True):
                law[floor(x / unit) % size] += arb(fmpq_of(row[c]))
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
class NoiseStep(Step):
    """A step with noise of the catalogue, such as ``sa.Laplace(eps0=1)``, on clipped numbers in [0, 1] or [-1, 0].

    Its density is even and falls away from 0, so that a shift by 1 dominates all smaller ones.

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
        Both laws are that of the triple. Proof: docs/proofs/random_allocation.md, section 4.
        """
        if shifts != WITH_WITHOUT:
            what = Problem(f"{self.noise!r} does not say what a replaced example does")
            raise SupportMismatchError("noise", what, "take a GaussianStep, or neighbours='add_remove'")
        law = _noise_law(self.noise)
        return law, law


@lru_cache(maxsize=64)
def _noise_law(noise: AdditiveNoise) -> SmoothLaw:
    law = noise.exact_law()
    assert law is not None
    return law.among_first().swapped()
