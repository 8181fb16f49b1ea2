"""Client and server: how a mechanism is run, and the usual unbiased estimate of frequencies or means from its reports.

A frequency is estimated by *scores*: what one report adds for an item has mean 1 for users who hold the item and 0 for
all others, so that the mean of scores is unbiased for every data set, and its variance is a mean of two numbers. Most
frequency oracles are *pure* (Wang, Blocki, Li, Jha 2017): a report supports some items, that of a user who holds one
with probability p and any other with probability q; the score is ([supports] - q)/(p - q).

Samplers use NumPy's random bits and doubles. The laws they draw from are those of the tables up to rounding; that a
program in doubles is private is not certified by that (Mironov 2012 attacks the low bits of noise).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import sympy as sp
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from symamp.errors import ArgumentError, Problem, SupportMismatchError
from symamp.formulas.normal_form import normal
from symamp.numbers.rationals import fmpq_of, rational_of
from symamp.numbers.reading import exact_number
from symamp.numbers.unevaluated import binomial

Array: TypeAlias = NDArray[Any]
Rng: TypeAlias = np.random.Generator

FREQUENCIES, MEAN, VECTOR = "frequencies", "mean", "mean vector"
_FACTORS, _MOST_CHOSEN = 32, 10_000
"""A quotient of binomial coefficients is multiplied out up to so many factors, in symbols and in numbers; more items
are not run, nor vectors of more signs."""
_ENTRIES = 4_000_000
"""About how many random numbers are held at once."""


# ------------------------------------------------------------------------------------- What values and reports may be


class Domain(NamedTuple):
    """Arrays with one row per user: numbers from ``low`` to ``high``, in so many columns, or a vector if None.

    Sets have different numbers in a row; unit vectors have length 1.
    """

    low: sp.Expr
    high: sp.Expr
    columns: sp.Expr | None = None
    integers: bool = True
    sets: bool = False
    unit: bool = False

    def checked(self, given: object, name: str) -> Array:
        """Return the array; ArgumentError for one of another shape, or with a number that is out of range."""
        columns = None if self.columns is None else whole(self.columns)
        try:
            found = np.asarray(given)
        except (TypeError, ValueError):
            raise ArgumentError(name, Problem("rows of different lengths"), f"give {self}") from None
        if found.dtype.kind not in "biuf" and found.size:
            wrong: str | None = f"of dtype {found.dtype}"
        elif found.ndim == 0 or len(found) == 0:
            wrong = "no user"
        elif found.ndim != (1 if columns is None else 2) or found.shape[1:] not in ((), (columns,)):
            wrong = f"of shape {found.shape}"
        elif np.ma.is_masked(given) or not np.isfinite(found).all():
            wrong = "with entries that are missing, or not finite"
        else:
            wrong = None
        if wrong is not None:
            raise ArgumentError(name, Problem(wrong), f"give {self}")
        low, high = (float(x) if x.is_infinite else double(x) for x in (self.low, self.high))
        bad = (found < low) | (found > high)
        if self.integers and found.dtype.kind == "f":
            bad |= found != np.floor(found)
        if bad.any():
            raise ArgumentError(name, found[bad].flat[0].item(), str(self))
        if self.integers:
            found = found.astype(np.int64, copy=False)
        if self.sets and columns and columns > 1 and (np.diff(np.sort(found, axis=1), axis=1) == 0).any():
            raise ArgumentError(name, Problem("a row has a number twice"), str(self))
        if self.unit and (abs((found.astype(float) ** 2).sum(axis=1) - 1) > 1e-9).any():
            raise ArgumentError(name, Problem("a row is not a unit vector"), str(self))
        return found

    def __str__(self) -> str:
        what = "integers" if self.integers else "numbers"
        place = "one" if self.columns is None else f"a row of {self.columns} {'different ' if self.sets else ''}"
        return f"an array of {what} from {self.low} to {self.high}, {place.strip()} for each user"


def items(number: sp.Expr, columns: sp.Expr | None = None) -> Domain:
    """Return the domain of items 0 to number - 1; with columns, of sets of so many items."""
    return Domain(sp.S.Zero, number - 1, columns, sets=columns is not None)


def interval(low: sp.Expr, high: sp.Expr, columns: sp.Expr | None = None) -> Domain:
    """Return the domain of real numbers between two, or of vectors of such."""
    return Domain(low, high, columns, integers=False)


_LARGEST = 10**8
"""The largest size that is run: of a report, or of the items that are counted."""


def whole(size: sp.Expr) -> int:
    """Return a size as an integer; ArgumentError for a symbol, and for more than is run."""
    if double(size) > _LARGEST:
        raise ArgumentError("mechanism", Problem(f"the size {size} is too large to run"), f"take at most {_LARGEST}")
    return int(size)


@lru_cache(maxsize=4096)
def double(number: sp.Expr) -> float:
    """Return the nearest double; ArgumentError for a formula with free symbols."""
    if number.free_symbols:
        free = ", ".join(sorted(map(str, number.free_symbols)))
        raise ArgumentError("mechanism", Problem(f"it has no number for {free}"), "give it by .at(...)")
    return float(sp.N(number, 17))


def formula_of(value: object, name: str) -> sp.Expr:
    """Return a SymPy expression as it is, and anything else as an exact number."""
    return value if isinstance(value, sp.Expr) and value.free_symbols else exact_number(value, name)


# --------------------------------------------------------------------------------------------------------- A protocol


@dataclass(frozen=True)
class Protocol:
    """How reports are drawn from values, and the estimate and its variance; parameters may be symbols in the latter.

    ``own`` and ``other`` are what the variance of a score is for users who hold the item and for those who do not (the
    largest, where it differs); of a mean both are the largest variance over all data that one report adds, of a mean
    vector that averaged over coordinates. ``label`` names the message of the table that a report is, ``shown`` tells
    values of some of its inputs.
    """

    estimand: str
    values: Domain
    reports: Domain
    draw: Callable[[Array, Rng], Array] = field(repr=False)
    estimator: Callable[[Array], Any] = field(repr=False)
    own: sp.Expr = sp.nan
    other: sp.Expr = sp.nan
    label: Callable[[Any], str] = field(repr=False, default=str)
    shown: Callable[[], Mapping[str, Any]] = field(repr=False, default=dict)

    def variance(self, frequency: sp.Expr) -> sp.Expr:
        """Return the variance of what one report adds, for an item of that frequency; refuse what has no estimate."""
        if self.own is sp.nan:
            self.estimator(np.zeros(1, dtype=np.int64))
        return self.own if self.own == self.other else frequency * self.own + (1 - frequency) * self.other


def no_estimate(name: str, instead: str) -> Callable[[Array], Any]:
    """Return an estimator that refuses."""

    def refuse(reports: Array) -> Any:
        raise SupportMismatchError("mechanism", Problem(f"{name} has no estimate from its reports alone"), instead)

    return refuse


def pure(p: sp.Expr, q: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return (own, other) of a pure protocol."""
    own, other = (normal(x * (1 - x) / (p - q) ** 2) for x in (p, q))
    return own, other


def supported(
    chances: tuple[sp.Expr, sp.Expr],
    values: Domain,
    reports: Domain,
    draw: Callable[[Array, Rng], Array],
    count: Callable[[Array], Array],
    **told: Any,
) -> Protocol:
    """Return the pure protocol of chances (p, q), from how many reports support each item."""
    p, q = chances

    def estimated(found: Array) -> Array:
        high, low = double(p), double(q)
        return np.asarray((count(found) / len(found) - low) / (high - low))

    return Protocol(FREQUENCIES, values, reports, draw, estimated, *pure(p, q), **told)


def generator(rng: object) -> Rng:
    """Return a generator; ArgumentError for what is neither one nor a seed."""
    try:
        return np.random.default_rng(rng)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ArgumentError("rng", rng, "a numpy.random.Generator, a seed >= 0, or None") from None


def retried(size: int, draw: Callable[[Array], Array], accept: Callable[[Array, Array], Array]) -> Array:
    """Return a draw for each of so many users, anew until it is accepted; both functions are told whose they are."""
    users = np.arange(size)
    found = draw(users)
    while len(users := users[~accept(found[users], users)]):
        found[users] = draw(users)
    return found


def in_parts(draw: Callable[[Array, Rng], Array], width: sp.Expr) -> Callable[[Array, Rng], Array]:
    """Return the same for some users at a time, where each takes so many random numbers."""

    def drawn(values: Array, rng: Rng) -> Array:
        step = max(_ENTRIES // whole(width), 1)
        return np.concatenate([draw(values[i : i + step], rng) for i in range(0, len(values), step)])

    return drawn


# ----------------------------------- Sets: a k-subset of d items, with weight t if it meets the s items that a user has


def set_probabilities(d: sp.Expr, s: sp.Expr, k: sp.Expr, t: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return (p, q): the chances that an item is sent by a user who has it, and by one who has not.

    >>> set_probabilities(*map(sp.Integer, (4, 1, 1, 3)))
    (1/2, 1/6)
    """
    few, many = (s, k) if s.is_Integer and not (k.is_Integer and k < s) else (k, s)
    if few.is_Integer and few <= (_FACTORS if not (d.is_Integer and many.is_Integer) else _MOST_CHOSEN):
        factors = [(d - many - i, d - i) for i in range(int(few))]
        misses = sp.Mul(*(x for x, _ in factors)) / sp.Mul(*(y for _, y in factors))
    else:
        misses = binomial(d - s, k) / binomial(d, k)
    total = t + (1 - t) * misses
    # Of the k-subsets that miss the user's items a share k/(d - s) has a given other one.
    return normal(t * k / d / total), normal((t * k / d + (1 - t) * misses * k / (d - s)) / total)


def sets(d: sp.Expr, s: sp.Expr, k: sp.Expr, t: sp.Expr, **told: Any) -> Protocol:
    """Send k of d items, each k-subset with weight t if it has an item of the user's s and 1 if not.

    With s = 1 or k = 1 values or reports are vectors of items, otherwise rows of different items.
    """

    def draw(values: Array, rng: Rng) -> Array:
        size, held, sent = whole(d), whole(s), whole(k)
        if min(held, sent) > _MOST_CHOSEN:
            raise ArgumentError("mechanism", Problem(f"{min(held, sent)} items are too many to run"), "take fewer")
        own, n = values.reshape(len(values), held), len(values)
        common = rng.choice(min(held, sent) + 1, size=n, p=_common(size, held, sent, double(1 / t)))
        if sent > 1:
            return in_parts(lambda some, r: _subsets(some, r, size, sent), d)(np.column_stack((common, own)), rng)
        mine = own[np.arange(n), rng.integers(held, size=n)]
        other = rng.integers(size - held, size=n)
        for column in np.sort(own, axis=1).T:  # skips the user's items
            other += other >= column
        return np.where(common == 1, mine, other)

    values, reports = items(d, None if s == 1 else s), items(d, None if k == 1 else k)
    chances = set_probabilities(d, s, k, t)
    return supported(chances, values, reports, draw, lambda y: np.bincount(y.ravel(), minlength=whole(d)), **told)


def first_two() -> dict[str, Any]:
    """Return the items 0 and 1."""
    return {"x0": 0, "x1": 1}


def as_set(report: int | Sequence[int]) -> str:
    """Return the label of a set in tables: a tuple."""
    return str((report,) if isinstance(report, int) else tuple(report))


def two_sets(s: sp.Expr) -> dict[str, Any]:
    """Return the first and the second s items."""
    first, second = range(int(s)), range(int(s), 2 * int(s))
    return {"x0": list(first), "x1": list(second)} if s > 1 else first_two()


def _common(d: int, s: int, k: int, least: float) -> list[float]:
    """Return the law of how many of the s items are sent, with weight ``least`` for none and 1 for others."""
    ways = [comb(s, j) * comb(d - s, k - j) if k - j <= d - s else 0 for j in range(min(s, k) + 1)]
    none, *some = (number / comb(d, k) for number in ways)
    total = none * least + sum(some)
    return [none * least / total, *(share / total for share in some)]


def _subsets(common_and_own: Array, rng: Rng, d: int, k: int) -> Array:
    """Return random k-subsets, sorted, with as many of a user's own items as the first column says."""
    common, own = common_and_own[:, :1], common_and_own[:, 1:]
    keys = rng.random((len(own), d)) + 1.0
    np.put_along_axis(keys, own, np.take_along_axis(keys, own, 1) - 1.0, 1)
    order = np.argsort(keys, axis=1)  # the user's items first, then the others, both in random order
    place = np.arange(k)[None, :]
    return np.sort(np.take_along_axis(order, np.where(place < common, place, own.shape[1] + place - common), 1), axis=1)


# ------------------------------------------------------------- Bits: one for each item, or for d of them that are drawn


def bits(
    size: sp.Expr, p: sp.Expr, q: sp.Expr, *, sampled: sp.Expr = sp.S.One, drawn: sp.Expr | None = None, **told: Any
) -> Protocol:
    """Send a bit for each item, 1 with probability p for one of the user's items that is sampled and q for all others.

    With ``drawn`` only so many items, drawn for each user, have a bit, and the others -1.
    """
    share = sp.S.One if drawn is None else drawn / size
    mine = normal(p / sampled + q * (1 - 1 / sampled))
    own, other = pure(mine, q)

    def draw(values: Array, rng: Rng) -> Array:
        width, n = whole(size), len(values)
        kept = values.reshape(n, whole(sampled))[np.arange(n), rng.integers(whole(sampled), size=n)]
        found = (rng.random((n, width)) < double(q)).astype(np.int8)
        found[np.arange(n), kept] = rng.random(n) < double(p)
        if drawn is not None:
            found[np.argsort(np.argsort(rng.random((n, width)), axis=1), axis=1) >= whole(drawn)] = -1
        return found

    def estimated(reports: Array) -> Array:
        ones, there = (reports == 1).sum(axis=0), (reports >= 0).sum(axis=0)
        return np.asarray((ones - double(q) * there) / (double(mine - q) * double(share) * len(reports)))

    own, other = normal((own + 1) / share - 1), normal(other / share)
    values = items(size, None if sampled == 1 else sampled)
    reports = Domain(sp.Integer(0 if drawn is None else -1), sp.S.One, size)
    return Protocol(FREQUENCIES, values, reports, in_parts(draw, size), estimated, own, other, **told)


def with_key(sent: Protocol, keys: sp.Expr) -> Protocol:
    """Return the protocol with a uniform number in front of each report, which tells nothing."""
    reports = sent.reports._replace(high=sp.Max(keys - 1, sent.reports.high), columns=1 + (sent.reports.columns or 1))

    def draw(values: Array, rng: Rng) -> Array:
        return np.column_stack((rng.integers(whole(keys), size=len(values)), sent.draw(values, rng)))

    return replace(sent, reports=reports, draw=draw, estimator=lambda found: sent.estimator(found[:, 1:]))


def hashed(size: sp.Expr, l: sp.Expr, p: sp.Expr, q: sp.Expr, **told: Any) -> Protocol:
    """Send a random function from the items to l values, written out, and behind it the hash, kept with chance p."""

    def draw(values: Array, rng: Rng) -> Array:
        width, number, n = whole(size), whole(l), len(values)
        found = rng.integers(number, size=(n, width + 1), dtype=np.int64)
        kept = rng.random(n) < double(p)
        hashes = found[np.arange(n), values]
        # Any other value is equally likely.
        found[:, -1] = np.where(kept, hashes, (hashes + 1 + rng.integers(number - 1, size=n)) % number)
        return found

    reports, drawn = Domain(sp.S.Zero, l - 1, size + 1), in_parts(draw, size + 1)
    return supported((p, q), items(size), reports, drawn, lambda y: (y[:, :-1] == y[:, -1:]).sum(axis=0), **told)


# ---------------------------------------------------------------------------------------- Rows of a Hadamard matrix


def transformed(counts: Array) -> Array:
    """Return the product with Sylvester's Hadamard matrix, along the last axis.

    >>> transformed(np.array([3, 0, 1, 0]))
    array([4, 4, 2, 2])
    """
    found, half = np.array(counts), 1
    while half < found.shape[-1]:
        pairs = found.reshape(*found.shape[:-1], -1, 2, half)
        a, b = pairs[..., 0, :], pairs[..., 1, :]
        found = np.stack((a + b, a - b), -2).reshape(found.shape)
        half *= 2
    return found


def _odd(x: Array) -> Array:
    """Return whether the number of bits that are 1 is odd."""
    for shift in (32, 16, 8, 4, 2, 1):
        x = x ^ (x >> shift)
    return (x & 1).astype(bool)


def rows(block: sp.Expr, blocks: sp.Expr, t: sp.Expr, used: sp.Expr | None = None, **told: Any) -> Protocol:
    """Send a column of a block of a Hadamard matrix, with weight t where the entry of the user's row is +1, else 1.

    Item i is row i + 1 of the first block and so on; each block has block - 1 rows, or the first has ``used``.
    """
    # The probability of each message, block * blocks times.
    inside = blocks * block / (block / 2 * (t - 1) + blocks * block)
    scale = 2 * blocks / ((t - 1) * inside)

    def draw(values: Array, rng: Rng) -> Array:
        width, n, number = whole(block), len(values), whole(blocks)
        where, row = np.divmod(values, width - 1)
        row = row + 1
        high = rng.random(n) < double(t * inside / (2 * blocks))
        y = rng.integers(width, size=n)
        place = where * width
        if number > 1:  # outside the set of the row: the rest of its block, or the other blocks
            away = ~high & (rng.random(n) < double((blocks - 1) / (blocks - sp.Rational(1, 2))))
            place = np.where(away, (where + 1 + rng.integers(number - 1, size=n)) % number * width, place)
            fixed = away
        else:
            fixed = np.zeros(n, dtype=bool)
        # Turning one bit that the row has exchanges its columns +1 and -1.
        wrong = ~fixed & (_odd(y & row) == high)
        return place + np.where(wrong, y ^ (row & -row), y)

    def estimated(reports: Array) -> Array:
        width = whole(block)
        counts = np.bincount(reports, minlength=width * whole(blocks)).reshape(whole(blocks), width)
        found: Array = transformed(counts)[:, 1:].ravel() * (double(scale) / len(reports))
        return found if used is None else found[: whole(used)]

    # A score is +scale or -scale in the block of the item: in it there is at most the share of a user's own block.
    square = normal(scale**2 * (t + 1) * inside / (2 * blocks))
    size = blocks * (block - 1) if used is None else used
    return Protocol(
        FREQUENCIES, items(size), items(block * blocks), draw, estimated, normal(square - 1), square, **told
    )


def signs(size: sp.Expr, keys: sp.Expr, t: sp.Expr, **told: Any) -> Protocol:
    """Send a key, a column and the sign of the user's row there, which is flipped with probability 1/(t + 1).

    The row of item v is v + key mod size: hash functions under which no two items collide.
    """
    scale = (t + 1) / (t - 1)

    def draw(values: Array, rng: Rng) -> Array:
        key, column = (rng.integers(whole(number), size=len(values)) for number in (keys, size))
        minus = _odd(column & (values + key) % whole(size)) ^ (rng.random(len(values)) < double(1 / (t + 1)))
        return np.column_stack((key, column, np.where(minus, -1, 1)))

    def estimated(reports: Array) -> Array:
        width = whole(size)
        sums = np.zeros((min(width, whole(keys)), width))
        np.add.at(sums, (reports[:, 0] % width, reports[:, 1]), reports[:, 2])
        found = sum(np.roll(row, -key) for key, row in enumerate(transformed(sums)))
        return np.asarray(found * (double(scale) / len(reports)))

    reports = Domain(-sp.S.One, sp.Max(keys, size) - 1, sp.Integer(3))
    return Protocol(FREQUENCIES, items(size), reports, draw, estimated, normal(scale**2 - 1), normal(scale**2), **told)


# --------------------------------------------------------------------------------------- Means: reports made unbiased


def mean(
    values: Domain,
    reports: Domain,
    draw: Callable[[Array, Rng], Array],
    largest: sp.Expr,
    unbiased: Callable[[Array], Array] = np.asarray,
    **told: Any,
) -> Protocol:
    """Return a protocol whose estimate is the mean over the users of what makes a report unbiased."""

    def estimated(reports: Array) -> Any:
        found = np.asarray(unbiased(reports), dtype=float).mean(axis=0)
        return found if found.ndim else float(found)

    estimand = MEAN if values.columns is None else VECTOR
    return Protocol(estimand, values, reports, draw, estimated, largest, largest, **told)


def added(
    values: Domain,
    noise: Callable[[int, Rng], Array],
    variance: sp.Expr,
    clip: tuple[sp.Expr, sp.Expr] | None = None,
    **told: Any,
) -> Protocol:
    """Return the protocol of a report x + Z, of that variance; clipped, an end counts as the first or second number.

    These are the means of what was clipped to the ends, for noise whose tails do not depend on where they begin.
    """

    def draw(given: Array, rng: Rng) -> Array:
        found: Array = given + noise(len(given), rng)
        return found if clip is None else np.clip(found, double(values.low), double(values.high))

    def unbiased(reports: Array) -> Array:
        if clip is None:
            return reports
        ends = reports <= double(values.low), reports >= double(values.high)
        return np.select(ends, [double(x) for x in clip], reports)

    reports = values if clip is not None else Domain(-sp.oo, sp.oo, values.columns, values.integers)
    return mean(values, reports, draw, variance, unbiased, **told)


def two_sided_geometric(stop: sp.Expr) -> Callable[[int, Rng], Array]:
    """Return what draws integers z with probability proportional to (1 - stop)^|z|."""

    return lambda n, rng: rng.geometric(double(stop), size=n) - rng.geometric(double(stop), size=n)


def window(values: Domain, ends: tuple[sp.Expr, sp.Expr], width: sp.Expr, t: sp.Expr, **told: Any) -> Protocol:
    """Send a number between the ends, with density t times as high in a window, which moves with the value, as outside.

    The window of the lowest value begins at the first end, that of the highest ends at the second.
    """
    start, end = ends
    low = 1 / (width * t + end - start - width)  # the density outside
    more, room = (t - 1) * low * width, end - start - width
    # What the window has more moves by the room, the rest has its mean in the middle: that of a report is linear.
    slope, centre, middle = more * room / (values.high - values.low), (start + end) / 2, (values.low + values.high) / 2
    # The window is furthest from the middle at the ends.
    square = (low * (end - start) ** 3 + more * width**2) / 12 + more * (1 - more) * room**2 / 4

    def draw(given: Array, rng: Rng) -> Array:
        a, b, c = (double(v) for v in (start, end, width))
        begin = a + (b - a - c) * (given - double(values.low)) / double(values.high - values.low)
        inside = rng.random(len(given)) < double(t * low * width)
        u = rng.random(len(given))
        outside = a + u * (b - a - c)
        return np.asarray(np.where(inside, begin + u * c, np.where(outside < begin, outside, outside + c)))

    reports, largest = interval(start, end), normal(square / slope**2)
    return mean(values, reports, draw, largest, lambda y: (y - double(centre)) / double(slope) + double(middle), **told)


def corners(
    d: sp.Expr, chance: sp.Expr, shares: tuple[sp.Expr, sp.Expr], ties: tuple[bool, bool], **told: Any
) -> Protocol:
    """Round a vector to a corner v of the cube, send a uniform corner y of the half of v, or of the opposite one.

    The first is so with that chance; ``shares`` are those of the two halves of all corners, ``ties`` whether they have
    the y with <y, v> = 0.
    """
    m = sp.floor(d / 2) if d.is_Integer else (d - 1) / 2
    if m.is_Integer and m > _MOST_CHOSEN:
        raise ArgumentError("mechanism", Problem(f"{d} signs are too many to run"), "take a smaller dimension")
    # The mean of <y, v>_+ is d times half of this, over all corners.
    mean_sign = sp.Rational(comb(2 * int(m), int(m)), 4 ** int(m)) if m.is_Integer else binomial(2 * m, m) / 4**m
    scale = normal((chance / shares[0] - (1 - chance) / shares[1]) * mean_sign / 2)

    def draw(values: Array, rng: Rng) -> Array:
        n, width = values.shape
        v = np.where(rng.random((n, width)) < (1 + values) / 2, 1, -1).astype(np.int8)
        side = np.where(rng.random(n) < double(chance), 1, -1)

        def corner(users: Array) -> Array:
            return (2 * rng.integers(2, size=(len(users), width), dtype=np.int8) - 1).astype(np.int8)

        def fits(y: Array, users: Array) -> Array:
            inner = (y.astype(np.int32) * v[users]).sum(axis=1) * side[users]
            return np.asarray((inner > 0) | ((inner == 0) & np.where(side[users] > 0, *ties)))

        return retried(n, corner, fits)

    values, reports, largest = interval(-sp.S.One, sp.S.One, d), Domain(-sp.S.One, sp.S.One, d), normal(1 / scale**2)
    return mean(values, reports, in_parts(draw, d), largest, lambda y: y / double(scale), **told)


# ----------------------------------------------------------------------------------------------------------- A table


_MOST_EXACT = 20_000
"""Entries of a table times inputs, up to which variances are fractions where the entries are."""


def of_table(rows: Sequence[Sequence[sp.Expr]], inputs: Mapping[str, int], messages: Sequence[str]) -> Protocol:
    """Return the protocol of a table of numbers: row and column numbers are values and reports."""
    table = np.array([[double(p) for p in row] for row in rows])
    n_inputs, n_messages = table.shape
    sums = np.cumsum(table, axis=1)
    sums /= sums[:, -1:]

    def draw(values: Array, rng: Rng) -> Array:
        found = np.empty(len(values), dtype=np.int64)
        for x in np.unique(values):
            mine = values == x
            found[mine] = np.searchsorted(sums[x], rng.random(int(mine.sum())), side="right")
        return found

    def scores() -> Array:
        """What each message adds for each input: its inverse from the right, messages weighted by their mean law."""
        if np.linalg.matrix_rank(table) < n_inputs:
            mixed = Problem("inputs are mixtures of others: frequencies do not follow from the reports")
            raise SupportMismatchError("mechanism", mixed, "take linearly independent rows")
        weighted = np.divide(table, table.mean(axis=0), out=np.zeros_like(table), where=table.mean(axis=0) > 0)
        return np.asarray(np.linalg.solve(weighted @ table.T, weighted).T)

    def estimated(reports: Array) -> Array:
        return np.asarray(np.bincount(reports, minlength=n_messages) / len(reports) @ scores())

    def variances() -> tuple[sp.Expr, sp.Expr]:
        """The largest over the items, and over what others hold."""
        is_exact = all(p.is_Rational for row in rows for p in row) and table.size * n_inputs <= _MOST_EXACT
        if is_exact:
            exact = fmpq_mat([[fmpq_of(p) for p in row] for row in rows])
            means = [sum((exact[i, j] for i in range(n_inputs)), fmpq(0)) for j in range(n_messages)]
            weighted = exact.transpose()
            for j in range(n_messages):
                for i in range(n_inputs):
                    weighted[j, i] = exact[i, j] / means[j] if means[j] else fmpq(0)
            right = weighted * (exact * weighted).inv()
            squares = exact * fmpq_mat([[x * x for x in row] for row in right.tolist()])
            second = [[rational_of(x) for x in row] for row in squares.tolist()]
        else:
            second = [[sp.Float(x) for x in row] for row in table @ scores() ** 2]
        own = max(second[i][i] - 1 for i in range(n_inputs))
        return own, max((second[i][j] for i in range(n_inputs) for j in range(n_inputs) if i != j), default=sp.S.Zero)

    values, reports = (items(sp.Integer(number)) for number in table.shape)
    own, other = variances() if np.linalg.matrix_rank(table) == n_inputs else (sp.nan, sp.nan)
    return Protocol(FREQUENCIES, values, reports, draw, estimated, own, other, messages.__getitem__, lambda: inputs)
