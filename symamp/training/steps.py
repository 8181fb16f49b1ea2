"""One step of training: the dominating pair of its output with and without the example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import count, pairwise
from math import ceil, inf, log, log1p, sqrt
from typing import Any, TypeAlias

import flint
import numpy as np
import sympy as sp
from flint import arb, fmpq

from symamp.certificates.text import expression_text
from symamp.decompositions.to_law import number
from symamp.errors import ArgumentError, FormatError, Problem, SupportMismatchError, checked_class
from symamp.formulas.order import sign
from symamp.laws.density import finite_sandwich
from symamp.laws.law import Atom, Floats, Law, RationalLaw, total
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import exact_number, listed
from symamp.public_names import PublicNames
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.randomizers.noise.distributions import Laplace, Logistic
from symamp.settings.question import checked_subject
from symamp.sums.kernels.one_sided import Lognormal

_CELLS, _FEWER_CELLS, _SPARE, _SPARE_OF_TWO = 400, 64, 3.0, 25.0
"""Cells of messages of a step with normal noise, and with noise whose ratios are bounded, and by how much, in the
logarithm, what lies beyond them is less than what matters, with one example and with two: width against time."""
_GRID, _GRID_REACH, _PER_SIZE, _FAR = 40_001, 40.0, 30.0, 50.0
"""Places from which the cells of a statistic are found, in deviations; how many deviations of its sum its values take;
and the logarithm that stands for an infinite ratio."""
_LARGEST_NUMBER = 2.0**60
"""Of a message: far more than the numbers of a statistic, and a whole number in doubles and in 64 bits."""
_LOGISTIC_REACH = 14.0
"""Where the cells of logistic noise end, in units of its scale: ratios hardly change beyond."""
_MOST_POINTS = 4_000
"""Integers with a mass of their own, of discrete noise."""

Between: TypeAlias = tuple[Law, Law]
Shifts: TypeAlias = tuple[int, int, int]
"""By how much messages are moved in the first world, in the second, and if the example is in another step."""
WITH_WITHOUT: Shifts = (1, 0, 0)
OPPOSITE: Shifts = (1, -1, 0)
Numbering: TypeAlias = dict[str, Any]
"""A whole number for each message, modulo ``size``: of a table and of integers the ``numbers`` themselves, of noise
with a density the ``first`` one, and the ``places`` at which it rises by 1."""
Row: TypeAlias = tuple[arb, arb, arb]
Cells: TypeAlias = tuple[float, float, int]
"""Where cells of messages begin and end, and how many there are."""


class Step(PublicNames):
    """One step: what it publishes with the example and without, where that dominates all gradients of norm at most 1.

    Steps are plain data.
    """

    _internal_names = (
        "beyond cells data is_flat laws limits masses messages numbered numbering ratio ratios rough summand"
    )

    def __getstate__(self) -> dict[str, object]:
        """Return what travels: laws hold functions, and are made again where they are needed."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def laws(self, shifts: Shifts, log_least: float) -> Between:
        """Return two finite laws between whose divergences that of the triple lies, at every level and number of steps.

        The triple is that of the messages moved by the three shifts; the first is at least the second.
        ``log_least`` is the logarithm of what is too small a probability to matter. Messages far out are one in the
        lower law, and reveal the data set in the upper one.

        Guarantee
        ---------
        D_E of the first law <= that of the triple <= D_E of the second, for both orders, every E >= 0 and every number
        of steps. Proof: docs/proofs/random_allocation.md, section 4.
        """
        cells = self.cells(shifts, log_least)
        assert cells is not None
        return _finite_laws(self, shifts, cells)

    def data(self) -> dict[str, Any] | None:
        """Return what a certificate says of the step; None if it has none."""
        return None

    def cells(self, shifts: Shifts, log_least: float) -> Cells | None:
        """Return which cells of messages, or integers, finite laws have; None for tables."""
        return None

    def messages(self, shifts: Shifts, cells: Cells) -> Iterator[tuple[Row, list[Row]]]:
        """Yield masses of messages in three worlds, and (r0, r1, mass) that dominate them: none for those far out."""
        raise NotImplementedError

    def rough(self, shifts: Shifts) -> tuple[Floats, list[Floats]]:
        """Return messages, and logarithms of their masses in the three worlds up to a factor, in doubles."""
        what = Problem(f"no lower end for {self!r} is known")
        raise SupportMismatchError("selected", what, "take a GaussianStep or a TableStep")

    def numbering(self, shifts: Shifts, rate: float, steps: int, size: int) -> Numbering:
        """Return a whole number for each message, in units of which the sum over all steps takes about ``size``."""
        messages, (*worlds, rest) = self.rough(shifts)
        first, second = (np.logaddexp(log1p(-rate) + rest, log(rate) + x) for x in worlds)
        with np.errstate(invalid="ignore"):
            logs = np.clip(np.nan_to_num(first - second, nan=0.0), -_FAR, _FAR)
        weights = np.exp(rest - rest.max())
        mean = float(weights @ logs / weights.sum())
        variance = float(weights @ (logs - mean) ** 2 / weights.sum())
        unit = (_PER_SIZE * sqrt(steps * variance) or 1.0) / size
        values = np.clip(logs / unit, -_LARGEST_NUMBER, _LARGEST_NUMBER)
        return {"size": size, "first": 0, "places": [], "numbers": []} | self._numbers(messages, values)

    def _numbers(self, messages: Floats, values: Floats) -> Numbering:
        return {"numbers": np.floor(values).astype(int).tolist()}

    def numbered(self, shifts: Shifts, numbering: Numbering) -> tuple[list[arb], ...]:
        """Return the law of the number of a message for each shift."""
        laws = tuple([arb(0)] * numbering["size"] for _ in shifts)
        for law, shift in zip(laws, shifts, strict=True):
            for k, mass in self.masses(shifts, shift, numbering):
                law[k % numbering["size"]] += mass
        return laws

    def masses(self, shifts: Shifts, shift: int, numbering: Numbering) -> Iterable[tuple[int, arb]]:
        """Return numbers with the probabilities of the messages that have them."""
        raise NotImplementedError

    @property
    def summand(self) -> Lognormal | None:
        """The likelihood ratio of the two worlds where its Laplace transform is at hand, else None."""
        return None

    @property
    def ratios(self) -> tuple[sp.Expr, sp.Expr]:
        """The least and the largest likelihood ratio of a message with the example and without."""
        raise NotImplementedError


@lru_cache(maxsize=64)
def _finite_laws(step: Step, shifts: Shifts, cells: Cells) -> tuple[Law, Law]:
    """Return finite laws around a triple: one message for each cell below, and those that dominate it above."""

    @lru_cache(maxsize=4)
    def rows(bits: int) -> tuple[list[Row], list[Row], list[tuple[arb, arb]]]:
        below, above, named = [], [], []
        for masses, dominating in step.messages(shifts, cells):
            below.append(_mean(masses))
            above += dominating
            named += [] if dominating else [(masses[0], arb(0)), (arb(0), masses[1])]
        return below, above, named

    def entry(side: int, i: int, j: int) -> arb:
        return rows(flint.ctx.prec)[side][i][j]

    def entries(side: int, width: int) -> list[Any]:
        many = len(rows(flint.ctx.prec)[side])
        return [tuple(partial(entry, side, i, j) for j in range(width)) for i in range(many)]

    below, above = (Law(tuple(Atom(*row) for row in entries(side, 3))) for side in (0, 1))
    return below, replace(above, singular=tuple(entries(2, 2)))


def _mean(masses: Row) -> Row:
    return masses[0] / masses[2], masses[1] / masses[2], masses[2]


def _corners(masses: Row, start: Sequence[arb], end: Sequence[arb], flat: Sequence[bool]) -> list[Row]:
    """Return messages at the ends of a cell and at the corner of their ratios; ``flat`` ones are the same all over."""
    (p, r, q), (a0, a1), (b0, b1) = masses, start, end
    if all(flat):
        return [(a0, a1, q)]
    second = (r - a1 * q) / (b1 - a1) if flat[0] else (p - a0 * q) / (b0 - a0)
    if any(flat):
        return [(a0, a1, q - second), (b0, b1, second)]
    first = (r - b1 * q) / (a1 - b1)
    return [(a0, a1, first), (b0, b1, second), (a0, b1, q - first - second)]


class _Noise(Step):
    """Noise with an even density whose likelihood ratio rises with the message."""

    def ratio(self, y: arb, shift: int) -> arb:
        """Return the density moved by a shift over that which is not moved."""
        raise NotImplementedError

    def beyond(self, y: arb, shift: int) -> arb:
        """Return the probability of a message above y."""
        raise NotImplementedError

    def limits(self, shift: int) -> tuple[arb, arb] | None:
        """Return the ratio far out on both sides; None where it has no bound."""
        return None

    def is_flat(self, start: float, end: float, shift: int) -> bool:
        """Return whether the ratio of a shift is the same between two places."""
        return shift == 0

    def messages(self, shifts: Shifts, cells: Cells) -> Iterator[tuple[Row, list[Row]]]:
        low, high, number_of_cells = cells
        places = [low + (high - low) * k / number_of_cells for k in range(number_of_cells + 1)]
        far = [self.limits(shift) for shift in shifts[:2]]
        ratios: list[list[arb] | None] = [[self.ratio(arb(y), s) for s in shifts[:2]] for y in places]
        left, right = (None if None in far else [x[side] for x in far if x] for side in (0, 1))
        ends = zip(pairwise([-inf, *places, inf]), pairwise([left, *ratios, right]), strict=True)
        for (a, b), (start, end) in ends:
            masses = tuple(self._between(a, b, s) for s in shifts)
            flat = [self.is_flat(a, b, s) for s in shifts[:2]]
            yield masses, [] if start is None or end is None else _corners(masses, start, end, flat)

    def _between(self, a: float, b: float, shift: int) -> arb:
        """Return the probability between two places; small ones are exact on both sides, as noise is even."""
        if b < 0.0:
            a, b, shift = -b, -a, -shift
        above = arb(1) if a == -inf else self.beyond(arb(a), shift)
        return above if b == inf else above - self.beyond(arb(b), shift)

    def _numbers(self, messages: Floats, values: Floats) -> Numbering:
        first, last = (int(np.floor(x)) for x in (values[0], values[-1]))
        # Messages at which the number rises: found in doubles, and then these doubles are the definition.
        places = np.interp(np.arange(first + 1, last + 1), values, messages).tolist()
        return {"first": first, "places": [str(Fraction(x)) for x in places]}

    def masses(self, shifts: Shifts, shift: int, numbering: Numbering) -> Iterable[tuple[int, arb]]:
        places = [arb(fmpq(*Fraction(y).as_integer_ratio())) for y in numbering["places"]]
        beyond = [arb(1), *(self.beyond(y, shift) for y in places), arb(0)]
        return zip(count(numbering["first"]), (a - b for a, b in pairwise(beyond)), strict=False)


@dataclass(frozen=True, init=False, repr=False)
class _Normal(_Noise):
    """Noise whose likelihood ratio is that of normal laws, from 0 to infinity."""

    sigma: sp.Expr

    def __init__(self, *, sigma: object) -> None:
        found = sp.S.Zero if sigma is None else exact_number(sigma, "sigma")
        if sign(found, ()) <= 0:
            told = "a number > 0: the deviation of the noise over the norm at which each example's gradient is clipped"
            raise ArgumentError("sigma", sigma, told)
        object.__setattr__(self, "sigma", found)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sigma={self.sigma})"

    @property
    def ratios(self) -> tuple[sp.Expr, sp.Expr]:
        return sp.S.Zero, sp.oo

    def ratio(self, y: arb, shift: int) -> arb:
        return (shift * (2 * y - shift) / (2 * number(self.sigma)() ** 2)).exp()

    def cells(self, shifts: Shifts, log_least: float) -> Cells:
        spare = _SPARE_OF_TWO if shifts == OPPOSITE else _SPARE
        reach = sqrt(2.0 * (spare - log_least)) * self._deviation
        return min(shifts) - reach, max(shifts) + reach, _CELLS

    @property
    def _deviation(self) -> float:
        return float(number(self.sigma)().mid())

    def rough(self, shifts: Shifts) -> tuple[Floats, list[Floats]]:
        y = self._rough_places()
        return y, [-(((y - x) / self._deviation) ** 2) / 2.0 for x in shifts]

    def _rough_places(self) -> Floats:
        return self._deviation * np.linspace(-_GRID_REACH, _GRID_REACH, _GRID)


@checked_class
class GaussianStep(_Normal):
    """A sum of clipped gradients with normal noise: ``sigma`` is its deviation over the norm at which they are clipped.

    >>> GaussianStep(sigma="1/2")
    GaussianStep(sigma=1/2)
    """

    def __init__(self, *, sigma: object) -> None:
        super().__init__(sigma=sigma)

    @cached_property
    def summand(self) -> Lognormal:
        return Lognormal(number(self.sigma))

    def data(self) -> dict[str, Any]:
        return {"kind": "gaussian", "sigma": expression_text(self.sigma)}

    def beyond(self, y: arb, shift: int) -> arb:
        return ((y - shift) / (number(self.sigma)() * arb(2).sqrt())).erfc() / 2


@checked_class
class DiscreteGaussianStep(_Normal):
    """A sum of clipped integers with noise Z, P(Z = z) proportional to e^(-z^2/(2 sigma^2)); each is at most 1.

    >>> DiscreteGaussianStep(sigma=4)
    DiscreteGaussianStep(sigma=4)
    """

    def __init__(self, *, sigma: object) -> None:
        super().__init__(sigma=sigma)

    def cells(self, shifts: Shifts, log_least: float) -> Cells:
        low, high, _ = super().cells(shifts, log_least)
        first, last = -ceil(-low) - 1, ceil(high) + 1
        if last - first > _MOST_POINTS:
            raise ArgumentError("sigma", self.sigma, f"noise on at most {_MOST_POINTS} integers, or GaussianStep")
        return float(first), float(last), last - first

    def messages(self, shifts: Shifts, cells: Cells) -> Iterator[tuple[Row, list[Row]]]:
        first, last = int(cells[0]), int(cells[1])
        weights, beyond, whole = self._weights(max(-first, last) + 2)
        yield tuple((beyond[last + 1 - s] + beyond[s + 1 - first]) / whole for s in shifts), []
        for y in range(first, last + 1):
            masses = tuple(weights[abs(y - s)] / whole for s in shifts)
            yield masses, [(self.ratio(arb(y), shifts[0]), self.ratio(arb(y), shifts[1]), masses[2])]

    def data(self) -> dict[str, Any]:
        return {"kind": "discrete", "sigma": expression_text(self.sigma)}

    def _rough_places(self) -> Floats:
        most = min(ceil(_GRID_REACH * self._deviation), _MOST_POINTS)
        return np.arange(-float(most), most + 1.0)

    def _numbers(self, messages: Floats, values: Floats) -> Numbering:
        """Return the numbers of integers from -m to m; all others have the number 0."""
        return Step._numbers(self, messages, values)

    def masses(self, shifts: Shifts, shift: int, numbering: Numbering) -> Iterable[tuple[int, arb]]:
        numbers = numbering["numbers"]
        most = len(numbers) // 2
        weights, _, whole = self._weights(most + 2)
        found = [(k, weights[abs(z - shift)] / whole) for z, k in enumerate(numbers, -most)]
        return [*found, (0, 1 - total([mass for _, mass in found]))]

    def _weights(self, end: int) -> tuple[list[arb], list[arb], arb]:
        """Return weights of 0, ..., end, sums over all integers from each of these on, and over all integers."""
        s = number(self.sigma)()
        far = ceil(sqrt(end**2 + 2.0 * float(s) ** 2 * flint.ctx.prec)) + 1
        found = [(-arb(z * z) / (2 * s * s)).exp() for z in range(far + 2)]
        beyond = [found.pop() / (1 - (-arb(2 * far + 3) / (2 * s * s)).exp()) * arb(0.5, 0.5)]
        for weight in reversed(found):
            beyond.append(beyond[-1] + weight)
        beyond.reverse()
        return found, beyond, found[0] + 2 * beyond[1]


# --------------------------------------------------------------------------- Steps with finitely many messages, exactly


_ROWS = "rows of 2 or 3 rational probabilities"


@checked_class
@dataclass(frozen=True, init=False)
class TableStep(Step):
    """A step with finitely many messages: rows of their probabilities with the example and without.

    The pair has to dominate the step for all data: D_E(with || without) and D_E(without || with) are at least those of
    every example, for all E. A third column are probabilities with another example, for neighbours by replacement: it
    is the first one with the messages in another order.

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
        found = [sp.oo if row[1] == 0 else row[0] / row[1] for row in self.rows if row[0] or row[1]]
        return sp.Min(*found), sp.Max(*found)

    def data(self) -> dict[str, Any]:
        return {"kind": "table", "rows": [[str(x) for x in row] for row in self.rows]}

    def rough(self, shifts: Shifts) -> tuple[Floats, list[Floats]]:
        with np.errstate(divide="ignore"):
            logs = [np.log(np.array([float(x) for x in column])) for column in self._worlds(shifts)]
        return np.arange(float(len(self.rows))), logs

    def masses(self, shifts: Shifts, shift: int, numbering: Numbering) -> Iterable[tuple[int, arb]]:
        column = self._worlds(shifts)[shifts.index(shift)]
        return zip(numbering["numbers"], map(arb, map(fmpq_of, column)), strict=True)

    def _worlds(self, shifts: Shifts) -> list[tuple[sp.Rational, ...]]:
        columns, kinds = list(zip(*self.rows, strict=True)), {1: 0, 0: 1, -1: 2}
        if any(s not in kinds or kinds[s] >= len(columns) for s in shifts):
            what = Problem("the table does not say what other examples do")
            raise SupportMismatchError("neighbours", what, "add a third column, or take neighbours='add_remove'")
        return [columns[kinds[s]] for s in shifts]

    def laws(self, shifts: Shifts, log_least: float) -> Between:
        """Return the law of the triple twice, in fractions; SupportMismatchError for worlds that it does not have."""
        worlds = self._worlds(shifts)
        if -1 in shifts and not _opposite(self.rows):
            what = Problem("the two examples are no mirror images, or do not shift messages in opposite directions")
            raise SupportMismatchError("rows", what, "give the two examples that are farthest apart")
        law = _table_law(tuple(tuple(map(fmpq_of, row)) for row in zip(*worlds, strict=True)))
        return law, law


def _opposite(rows: tuple[tuple[sp.Rational, ...], ...]) -> bool:
    """Return whether one ratio to the second column falls where the other rises, and both orders are alike."""
    ratios = sorted((p / m, -r / m) for p, m, r in rows if m != 0)
    falls = len(ratios) == len(rows) and all(a[1] <= b[1] for a, b in pairwise(ratios))
    return falls and sorted(rows) == sorted(row[::-1] for row in rows)


@lru_cache(maxsize=64)
def _table_law(rows: tuple[tuple[fmpq, fmpq, fmpq], ...]) -> Law:
    atoms = tuple((p / m, q / m, m) for p, q, m in rows if m != 0)
    singular = tuple((p, q) for p, q, m in rows if m == 0 and (p or q))
    return RationalLaw(atoms, singular).in_balls(True)


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
        if isinstance(self.noise, AdditiveNoise):
            checked_subject(self.noise)
        if not isinstance(self.noise, AdditiveNoise) or self.noise.exact_law() is None:
            told = "noise with bounded ratios, such as sa.Laplace(eps0=1), or a TableStep"
            raise ArgumentError("noise", self.noise, told)

    @property
    def ratios(self) -> tuple[sp.Expr, sp.Expr]:
        """The local budget and its inverse."""
        ratio = self.noise.local_ratio()
        return 1 / ratio, ratio

    def laws(self, shifts: Shifts, log_least: float) -> Between:
        """Return laws of cells around that of the triple.

        SupportMismatchError for other worlds than with and without the example, but for Laplace noise.

        Guarantee
        ---------
        D_E of the triple lies between those of the laws, for both orders, every E >= 0 and every number of steps.
        Proof: docs/proofs/random_allocation.md, section 4.
        """
        if shifts != WITH_WITHOUT and self._kind != "laplace":
            what = Problem(f"{self.noise!r} does not say what a replaced example does")
            told = "take a GaussianStep, sa.Laplace(eps0=...), or neighbours='add_remove'"
            raise SupportMismatchError("noise", what, told)
        if self._kind:
            return super().laws(shifts, log_least)
        law = self.noise.exact_law()
        assert law is not None
        return finite_sandwich(law.among_first().swapped())

    def data(self) -> dict[str, Any] | None:
        """Return what a certificate says of the step; None of other noise than Laplace and logistic noise."""
        return {"kind": self._kind, "eps0": expression_text(self.noise["eps0"])} if self._kind else None

    @property
    def _kind(self) -> str:
        return {Laplace: "laplace", Logistic: "logistic"}.get(type(self.noise), "")

    @property
    def _rate(self) -> arb:
        if not self._kind:
            what = Problem(f"no cells of messages are known of {self.noise!r}")
            told = "take sa.Laplace(eps0=...), sa.Logistic(eps0=...), a GaussianStep or a TableStep"
            raise SupportMismatchError("noise", what, told)
        return number(self.noise["eps0"])()

    def is_flat(self, start: float, end: float, shift: int) -> bool:
        """Return whether the ratio of a shift is the same between two places: of Laplace noise beyond both corners."""
        beyond = end <= min(shift, 0) or start >= max(shift, 0)
        return shift == 0 or (self._kind == "laplace" and beyond)

    def cells(self, shifts: Shifts, log_least: float) -> Cells:
        """Return where cells of messages begin and end, and how many there are: ratios hardly change beyond."""
        reach = _LOGISTIC_REACH / float(self._rate)
        if self._kind == "laplace":
            return float(min(shifts)), float(max(shifts)), _FEWER_CELLS
        return min(shifts) - reach, max(shifts) + reach, _CELLS

    def beyond(self, y: arb, shift: int) -> arb:
        z = y - shift
        return self.noise.survival(z) if z >= 0 else 1 - self.noise.survival(-z)

    def ratio(self, y: arb, shift: int) -> arb:
        if self._kind == "logistic":
            return ((self._rate * y / 2).cosh() / (self._rate * (y - shift) / 2).cosh()) ** 2
        return (self._rate * (abs(y) - abs(y - shift))).exp()

    def limits(self, shift: int) -> tuple[arb, arb]:
        return (-shift * self._rate).exp(), (shift * self._rate).exp()

    def rough(self, shifts: Shifts) -> tuple[Floats, list[Floats]]:
        rate = float(self._rate)
        reach = 2.0 + (_GRID_REACH / rate if self._kind == "logistic" else 0.0)
        y = np.linspace(-reach, reach, _GRID)
        logs = [-rate * abs(y - s) for s in shifts]
        if self._kind == "logistic":  # 4 cosh^2 is e^|z| (1 + e^-|z|)^2
            logs = [x - 2.0 * np.log1p(np.exp(x)) for x in logs]
        return y, logs
