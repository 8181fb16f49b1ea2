"""The true divergence of the shuffled reports of two data sets, in integers: by convolution over histograms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import flint
import sympy as sp
from flint import Ordering, arb, fmpq, fmpz, fmpz_mpoly_ctx

from symamp.decompositions.randomizer import known_label
from symamp.errors import ArgumentError, Problem, checked_call
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero
from symamp.numbers.dyadic import float_above, float_below
from symamp.numbers.reading import budget
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.numbers.systems import arb_value
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism

# ---- The probabilities of a finite mechanism as integers: messages merged, rounded down and up to a common denominator


Column = tuple[sp.Expr, ...]
Bounds = tuple[int, int]

BITS = 192
"""Binary places of irrational entries at first. More cost time in proportion, and are taken where ends are apart."""
_MOST_INPUTS, _MOST_MESSAGES = 400, 4000
"""Larger members of families are refused: every entry of their tables is a formula."""
_LARGEST_EPS = 3000
"""Larger budgets are refused: integers would have as many more bits."""


@dataclass(frozen=True)
class Weights:
    """Integers with ``lower[x][y] <= scale * R(x)(y) <= upper[x][y]``; equal if all probabilities are rational."""

    lower: tuple[tuple[int, ...], ...]
    upper: tuple[tuple[int, ...], ...]
    scale: int

    @property
    def is_exact(self) -> bool:
        """Whether nothing was rounded."""
        return self.lower == self.upper


@dataclass(frozen=True)
class ScaledLevel:
    """The order E = e^eps as a formula, and integers with ``lower <= scale * E <= upper``."""

    expression: sp.Expr
    lower: int
    upper: int
    scale: int

    @property
    def is_exact(self) -> bool:
        """Whether E is rational."""
        return self.lower == self.upper


def finite_table(mechanism: object) -> FiniteMechanism:
    """Return the table of the mechanism, whose probabilities are numbers."""
    if isinstance(mechanism, Family | FiniteMechanism) and mechanism.parameters:
        free = ", ".join(p.name for p in mechanism.parameters)
        raise ArgumentError("mech", Problem(f"{mechanism!r} has no number for {free}"), "give it by .at(...)")
    if isinstance(mechanism, FiniteMechanism):
        return mechanism
    if not isinstance(mechanism, Family):
        raise ArgumentError("mech", type(mechanism).__name__, "a FiniteMechanism, or a member of a family")
    for name, value in mechanism.values.items():
        most = int(math.log2(_MOST_MESSAGES)) if name in mechanism.exponents else _MOST_INPUTS
        if value.is_Integer and value > most:
            raise ArgumentError(name, value, f"at most {most}, for a table that is written out")
    return _table(mechanism)


@lru_cache(maxsize=64)
def _table(mechanism: Family) -> FiniteMechanism:
    return mechanism.table()


@lru_cache(maxsize=256)
def merged_columns(table: FiniteMechanism, inputs: tuple[str, ...]) -> tuple[Column, ...]:
    """Return the columns of the table over the given inputs, proportional columns added up and zeros left out.

    Guarantee
    ---------
    The divergence of the shuffled reports of data sets over these inputs stays the same: proportional messages are
    merged by a sufficient statistic. Proof: docs/proofs/histograms.md.
    """
    rows = [table.rows[table.inputs.index(x)] for x in inputs]
    found: dict[object, list[Column]] = {}
    for column in zip(*rows, strict=True):
        entries = tuple(normal(entry) for entry in column)
        first = next((i for i, entry in enumerate(entries) if entry != 0), None)
        if first is not None:
            key = (first, tuple(normal(entry / entries[first]) for entry in entries))
            found.setdefault(key, []).append(entries)
    return tuple(
        columns[0] if len(columns) == 1 else tuple(normal(sp.Add(*entries)) for entries in zip(*columns, strict=True))
        for columns in found.values()
    )


def weights_of(columns: Sequence[Column], bits: int) -> Weights:
    """Return the columns as integers: over the least common denominator, or rounded outward to ``bits`` places."""
    rows = tuple(zip(*columns, strict=True))
    if all(entry.is_Rational for row in rows for entry in row):
        scale = math.lcm(*(int(entry.q) for row in rows for entry in row))
        exact = tuple(tuple(int(entry.p) * (scale // int(entry.q)) for entry in row) for row in rows)
        return Weights(exact, exact, scale)
    bounds = [[_bounds(entry, bits) for entry in row] for row in rows]
    return Weights(
        tuple(tuple(max(low, 0) for low, _ in row) for row in bounds),
        tuple(tuple(high for _, high in row) for row in bounds),
        1 << bits,
    )


def level_of_budget(eps: sp.Expr, bits: int) -> ScaledLevel:
    """Return the order e^eps, eps >= 0, rounded outward unless it is rational; ArgumentError if it is beyond 3000."""
    if eps > _LARGEST_EPS:
        raise ArgumentError("eps", eps, f"a number from 0 to {_LARGEST_EPS}")
    e = normal(sp.exp(eps))
    if e.is_Rational:
        return ScaledLevel(e, int(e.p), int(e.p), int(e.q))
    return ScaledLevel(e, *_bounds(e, bits), 1 << bits)


def _bounds(value: sp.Expr, bits: int) -> Bounds:
    """Return integers a <= value * 2^bits <= b, next to each other or almost."""
    if value.is_Rational:
        shifted = int(value.p) << bits
        return shifted // int(value.q), -(-shifted // int(value.q))
    with at_precision(bits + 64):
        ball = arb_value(value, bits + 64)
        return _floor(ball.lower(), bits), -_floor(-ball.upper(), bits)


def _floor(x: arb, bits: int) -> int:
    mantissa, exponent = x.man_exp()
    shift = int(exponent) + bits
    return int(mantissa) << shift if shift >= 0 else int(mantissa) >> -shift


# ---------- Laws of histograms as polynomials: one variable for each message, one coefficient for each histogram

Polynomial = Any  # flint.fmpz_mpoly


class HistogramLaw(NamedTuple):
    """Polynomials whose coefficients bound, from both sides, a multiple of the probabilities of the histograms."""

    lower: Polynomial
    upper: Polynomial

    def times(self, other: HistogramLaw) -> HistogramLaw:
        """Return the law of the sum of independent histograms."""
        lower = self.lower * other.lower
        both_exact = self.lower is self.upper and other.lower is other.upper
        return HistogramLaw(lower, lower if both_exact else self.upper * other.upper)


class HistogramLaws:
    """Laws of the histograms of independent reports, by the number of users who hold each input.

    The law of c copies of one input is computed once. Coefficients are multiplied by ``weights.scale`` to the power of
    the number of users.
    """

    def __init__(self, weights: Weights) -> None:
        messages = range(len(weights.lower[0]))
        self._context = fmpz_mpoly_ctx.get(tuple(f"y{j}" for j in messages), Ordering.lex)
        self._units = [tuple(int(i == j) for i in messages) for j in messages]
        self._reports: list[HistogramLaw] = []
        for low, high in zip(weights.lower, weights.upper, strict=True):
            lower = self.linear(low)
            self._reports.append(HistogramLaw(lower, lower if low == high else self.linear(high)))
        self._powers: dict[tuple[int, int], HistogramLaw] = {}

    def linear(self, coefficients: Sequence[int]) -> Polynomial:
        """Return the homogeneous linear polynomial with the given coefficients."""
        return self._context.from_dict({unit: c for unit, c in zip(self._units, coefficients, strict=True) if c})

    def copies(self, index: int, count: int) -> HistogramLaw:
        """Return the law of ``count`` reports on one input."""
        if (index, count) not in self._powers:
            lower, upper = self._reports[index]
            power = lower**count
            self._powers[index, count] = HistogramLaw(power, power if lower is upper else upper**count)
        return self._powers[index, count]

    def of(self, counts: Mapping[int, int]) -> HistogramLaw:
        """Return the law of the reports of a data set, given as {index of an input: number of users}."""
        unit = self._context.constant(1)
        law = HistogramLaw(unit, unit)
        for index, count in counts.items():
            law = law.times(self.copies(index, count))
        return law

    def hockey_stick(self, common: HistogramLaw, excess: HistogramLaw) -> tuple[int, int]:
        """Return bounds on the sum of the positive coefficients of ``common * excess``; equal if all is exact.

        ``common`` bounds nonnegative coefficients, ``excess`` coefficients of either sign.
        """
        if common.lower is common.upper and excess.lower is excess.upper:
            value = _positive_sum(common.lower * excess.lower)
            return value, value
        gain, loss = _parts(self._context, excess.lower)
        lower = _positive_sum(common.lower * gain - common.upper * loss)
        gain, loss = _parts(self._context, excess.upper)
        return lower, _positive_sum(common.upper * gain - common.lower * loss)


def _positive_sum(polynomial: Polynomial) -> int:
    return int(sum((c for c in polynomial.coeffs() if c > 0), flint.fmpz(0)))


def _parts(context: Any, polynomial: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Return two polynomials with nonnegative coefficients, whose difference is the given one."""
    terms = polynomial.to_dict()
    gain = context.from_dict({h: c for h, c in terms.items() if c > 0})
    return gain, context.from_dict({h: -c for h, c in terms.items() if c < 0})


# ------------------------------------------------------------------------------------ The divergence of two data sets

# What is tuned: memory and time against what is answered at all, by rules of thumb.
MOST_HISTOGRAMS, _MOST_BITS, _BITS_OF_COUNT = 2_000_000, 1_000_000_000, 8
"""Histograms that are listed, bits of all their weights, and bits that a count takes beside."""
_PRECISIONS, _DIGITS, _MOST_USERS_AGAIN = tuple(BITS << k for k in range(4)), 70, 500
"""Binary places of irrational entries: more until the ends agree to the digits, for so many users at most, beyond whom
a second, larger precision would cost too much memory."""


@dataclass(frozen=True)
class Divergence:
    """A hockey-stick divergence: the number itself where it is known exactly, and floats rounded outward.

    >>> print(Divergence(sp.Rational(1, 4), 0.25, 0.25), Divergence(None, 0.1, 0.2))
    1/4 [0.1, 0.2]
    """

    exact: sp.Rational | None
    lower: float
    upper: float

    def __str__(self) -> str:
        return str(self.exact) if self.exact is not None else f"[{self.lower!r}, {self.upper!r}]"


@checked_call
@undisturbed()
def divergence(mech: object, data0: Sequence[object], data1: Sequence[object], eps: object) -> Divergence:
    """Return D_E(P0 || P1), E = e^eps, for the shuffled reports of two data sets of the same size.

    ``mech`` is a FiniteMechanism or a member of a family, ``data0`` and ``data1`` are sequences of input labels (those
    of ``mech.table()``; neighbours or not), ``eps`` is a number >= 0. With rational probabilities and rational E (such
    as ``eps="log(3/2)"``) the result is exact; otherwise it is enclosed.

    Raises ArgumentError for free parameters, sizes that differ or are too large, and eps out of range;
    UnknownInputError for a label that the mechanism does not have; UndecidedOrderError if the algebra cannot separate
    a difference of probabilities from 0.

    Guarantee
    ---------
    ``exact``, if it is not None, is the divergence; it lies in [``lower``, ``upper``] in any case.
    Proof: docs/proofs/histograms.md.

    >>> import symamp as sa
    >>> rr = sa.RandomizedResponse(k=5, eps0="log(6)")
    >>> sa.exact.divergence(rr, ["x0"] * 4, ["x1"] + ["x0"] * 3, "log(11/2)").exact
    27/2500
    """
    table = finite_table(mech)
    counts0, counts1 = _counted(table, "data0", data0), _counted(table, "data1", data1)
    if counts0.total() != counts1.total():
        raise ArgumentError("data1", f"{counts1.total()} users", f"as many as data0 has, {counts0.total()}")
    level = budget(eps)
    inputs = tuple(x for x in table.inputs if counts0[x] or counts1[x])
    columns = merged_columns(table, inputs)
    for bits in _PRECISIONS:
        weights, order = weights_of(columns, bits), level_of_budget(level, bits)
        if bits == _PRECISIONS[0]:
            check_size("data0", counts0.total(), weights)
        low, high = _enclosure(columns, weights, order, _indexed(counts0, inputs), _indexed(counts1, inputs))
        if low == high or (high - low) * 2**_DIGITS < high or counts0.total() > _MOST_USERS_AGAIN:
            break
    return as_divergence(low, high, weights.scale ** counts0.total() * order.scale)


def check_size(argument: str, n: int, weights: Weights, laws: int = 1) -> None:
    """Raise ArgumentError for n reports with too many histograms, or if so many laws would fill the memory."""
    messages = len(weights.lower[0])
    histograms = comb(n + messages - 1, messages - 1)
    bits = n * weights.scale.bit_length() * laws + _BITS_OF_COUNT * messages
    if histograms > MOST_HISTOGRAMS or histograms * bits > _MOST_BITS:
        many = Problem(f"{n} users and {messages} messages have {histograms} histograms, too many to list")
        raise ArgumentError(argument, many, f"take fewer users or messages: at most {MOST_HISTOGRAMS} histograms")


def excess_of_pair(
    laws: HistogramLaws, columns: Sequence[Column], weights: Weights, pair: tuple[int, int], level: ScaledLevel
) -> HistogramLaw:
    """Return bounds on R(x0) - E R(x1) as linear polynomials, times ``weights.scale * level.scale``.

    Differences that the bounds cannot separate from 0 are decided by algebra.
    """
    x0, x1 = pair
    lower = [a * level.scale - b * level.upper for a, b in zip(weights.lower[x0], weights.upper[x1], strict=True)]
    upper = [a * level.scale - b * level.lower for a, b in zip(weights.upper[x0], weights.lower[x1], strict=True)]
    for y, column in enumerate(columns):
        if lower[y] <= 0 <= upper[y] and lower[y] < upper[y] and is_zero(column[x0] - level.expression * column[x1]):
            lower[y] = upper[y] = 0
    polynomial = laws.linear(lower)
    return HistogramLaw(polynomial, polynomial if lower == upper else laws.linear(upper))


def as_divergence(low: int, high: int, scale: int) -> Divergence:
    """Return the divergence between low/scale and high/scale."""
    value = sp.Rational(low, scale) if low == high else None
    with at_precision(256):
        ends = [arb(fmpq(fmpz(number), fmpz(scale))) for number in (low, high)]
        return Divergence(value, max(0.0, float_below(ends[0])), float_above(ends[1]))


def _enclosure(
    columns: Sequence[Column], weights: Weights, level: ScaledLevel, counts0: Counter[int], counts1: Counter[int]
) -> tuple[int, int]:
    """Return integers around D_E(P0 || P1) times ``weights.scale**n * level.scale``."""
    common = counts0 & counts1
    alone0, alone1 = counts0 - common, counts1 - common
    laws = HistogramLaws(weights)
    if alone0.total() == 1:
        (x0,), (x1,) = alone0, alone1
        excess = excess_of_pair(laws, columns, weights, (x0, x1), level)
    else:
        law0, law1 = laws.of(alone0), laws.of(alone1)
        lower = law0.lower * level.scale - law1.upper * level.upper
        exact = weights.is_exact and level.is_exact
        excess = HistogramLaw(lower, lower if exact else law0.upper * level.scale - law1.lower * level.lower)
    return laws.hockey_stick(laws.of(common), excess)


def _counted(table: FiniteMechanism, name: str, data: object) -> Counter[str]:
    accepted = "a sequence of one or more input labels"
    if isinstance(data, str) or not isinstance(data, Sequence):
        raise ArgumentError(name, data if isinstance(data, str) else type(data).__name__, accepted)
    if not data:
        raise ArgumentError(name, "no users", accepted)
    known = dict.fromkeys(table.inputs)
    return Counter(known_label(name, x, known) for x in data)


def _indexed(counts: Counter[str], inputs: tuple[str, ...]) -> Counter[int]:
    return Counter({i: counts[x] for i, x in enumerate(inputs) if counts[x]})
