"""What moments alone prove of all data sets, for many pairs or laws at once, in doubles: docs/proofs/all_pairs.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import ceil, exp, inf, log, nan, pi, sqrt
from typing import TypeAlias, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symamp.laws.law import BallGparv, Floats
from symamp.numbers.disks import LARGEST, UNIT, exponentials, logarithms_above, turns
from symamp.sums.all_data_sets.floats import FloatClasses, Parameters, Term

# ------------------------- What trades time against width: any values are valid. Chosen by the tables of tests/golden

_NEAR_CELLS, _BETWEEN_CELLS, _FAR_CELLS = 64, 40, 96
"""How many cells of frequencies there are up to s, between that and where waves are taken, and beyond."""
_MULTIPLES, _LEAST_SMOOTHING = np.linspace(0.5, 1.5, 11), 0.04
"""What multiples of the line of each term, in the unit of each pair, are tried; the least sigma s. All give a bound."""
_FAR_FROM, _FAR_STEP, _OF_START, _AT_MOST, _WITHIN = 0.35, 0.4, 0.3, 1e4, 0.3
"""Where waves are taken from at most, and the cells there, in units of the tilted spread, or as a part of the first
frequency: |M|^N may return to nearly 1 between longer ones; the largest angle."""
_DOUBLED = 3
"""A block has 2^3 of these cells."""
_DEPTH = 12.0
"""|M|^N is not followed below e^-12 of its largest value: the shape of docs/proofs/all_pairs.md."""
_NEAR_BY, _FEW_TURN = (1.0, 0.5, 0.25, 0.15, 0.08), 0.25
"""Which messages bend |M|: those so near to the tilted mean, in units of the spread of the sum. The best counts.
And the part from which on waves of the rest are taken: they cost much, and once is enough."""
_SHARES, _LITTLE = (1.0, 0.5, 0.25), 0.003
"""What multiples of the tilt b are tried of pairs where few positive messages are not below a part of the unit."""
_SMOOTHED = 6.0
"""Sigma times the last frequency."""
_OF_LINES = 8
"""How many of the worst classes of each pair choose its lines."""
_OF_SADDLE = np.geomspace(0.2, 4.0, 25)
"""What multiples of the saddle point of a normal law are tried for the line of a rough bound."""
_OF_FEW, _ROUGHLY_NEAR, _FALLEN, _SMOOTHED_ROUGHLY = 0.05, 0.04, 0.15, 3.0
"""Of rough bounds: the part of few positive messages, which messages bend |M|, up to which part of the square of their
reach, and sigma times that frequency."""
_CHUNK = 32_000
"""Triples (pair, x, y) that are taken at once: what a cache holds."""

# ----------------------- The range in which doubles, with their error bounds, are of use: beyond it nothing is returned

_LEAST, _LARGEST_EXPONENT, _LEAST_BITS = 1e-200, 1e10, 60
_CENTRED, _BLURRED, _SLACK = 1e-6, 1e-9, 1.0 + 1e-4
_OF_WAVES = 1e-8
_TURNED = 1.0
"""Angles on a cell of messages whose waves are taken."""

MOMENTS = "moments"
"""What evaluations by these bounds are called: no certificate repeats them."""
Mean: TypeAlias = Callable[[Floats], Floats]
Booleans: TypeAlias = NDArray[np.bool_]
Scalar = TypeVar("Scalar", np.float64, np.complex128)
_Fall: TypeAlias = tuple[Floats, Floats, tuple[Floats, Floats] | None]


@dataclass(frozen=True)
class _Common:
    """What all pairs share: the other users, parameters for a pair with E[G_+] = ``gain``, a unit.

    ``main`` is the line of the term that decides. ``far`` are the ends of cells of frequencies, as long as each other,
    beyond those at which moments tell enough. ``has_cells``: otherwise integrals are in closed form.
    """

    others: int
    parameters: Parameters
    gain: float
    main: float
    far: Floats
    log_unit: float
    has_cells: bool = True


def bounds_by_moments(
    classes: Floats,
    pairs: tuple[Floats, Floats],
    e: Floats,
    n: int,
    parameters: Parameters,
    log_unit: float,
    has_cells: bool = True,
) -> Floats:
    """Return upper bounds on D(P - E Q) for the rows P and Q of some pairs where others hold laws of some classes.

    ``e`` is a column of the levels E, one for each pair; ``parameters`` suit the first pair. All rows may miss mass of
    probability. Without cells of frequencies they are rougher, and take a fifth of the time. In units of e^log_unit;
    nan for none.

    Guarantee
    ---------
    Every pair has at most this divergence at n users, whichever classes the others have.
    Proof: docs/proofs/all_pairs.md.
    """
    first, second = pairs
    g, size_of_g = first[0] - e[0] * second[0], first[0] + e[0] * second[0]
    with np.errstate(all="ignore"):  # what is no number proves nothing
        w, reach = (np.where(classes > 0.0, x / classes, 0.0) for x in (g, size_of_g))
        common = _common(w, classes, float(np.nanmax(reach)), float(np.maximum(g, 0.0).sum()), n, parameters, log_unit)
        if common is None:
            return np.full(len(first), nan)
        common = replace(common, has_cells=has_cells)
        parts = _chunks(len(first), classes)
        return np.concatenate([_bounds(classes, first[some], second[some], e[some], common) for some in parts])


def rough_bounds(classes: Floats, pairs: tuple[Floats, Floats], e: Floats, n: int, log_unit: float) -> Floats:
    """Return bounds as ``bounds_by_moments`` does, rougher ones in a thirtieth of the time: most pairs need no more.

    One constant term, with parameters of each pair's own and integrals in closed form. In units of e^log_unit; nan for
    none.

    Guarantee
    ---------
    Every pair has at most this divergence at n users, whichever classes the others have.
    Proof: docs/proofs/all_pairs.md.
    """
    with np.errstate(all="ignore"):  # what is no number proves nothing
        first, second = pairs
        s = _saddles(classes, first, second, e, n)
        parts = _chunks(len(s), classes)
        return np.concatenate([_rough(classes, first[x], second[x], e[x], s[x], n, log_unit) for x in parts])


def _chunks(count: int, classes: Floats) -> list[slice]:
    size = max(_CHUNK // classes.size, 1)
    return [slice(i, i + size) for i in range(0, count, size)]


def bound_of_laws(laws: Sequence[BallGparv], mixed: bool, n: int, parameters: Parameters, log_unit: float) -> float:
    """Return an upper bound on the divergence where others have some of these laws of G; nan for none.

    The laws are those of one pair of inputs, or with ``mixed`` such that all mixtures with equal E[G_+] may occur.
    In units of e^log_unit.

    Guarantee
    ---------
    It is at least the divergence at n users, whichever laws the others have. Proof: docs/proofs/all_pairs.md.
    """
    numbers = [x for g in laws for x in (*g.values, *g.masses, g.null_mass) if not x.is_zero()]
    is_known = all(x.rel_accuracy_bits() >= _LEAST_BITS for x in numbers)
    if n < 2 or not is_known or any(not g.singular.is_zero() for g in laws):
        return nan
    whole = [BallGparv((*g.values, arb(0)), (*g.masses, g.null_mass), arb(0), arb(0)) for g in laws]
    g = FloatClasses.of(whole, 0.0)
    reach, gains = float(np.abs(g.values).max()), g.gains * (1.0 + 16.0 * UNIT)
    with np.errstate(all="ignore"):
        common = _common(g.values, g.masses, reach, float(gains.max()), n, parameters, log_unit)
        if common is None:
            return nan
        found = _worst(g.values[None], g.masses, gains[None], np.array([[reach]]), common, mixed=mixed)
        return float(found[0]) * _SLACK


def _common(
    w: Floats, masses: Floats, reach: float, gain: float, n: int, parameters: Parameters, log_unit: float
) -> _Common | None:
    """Return what suits the values and masses of one pair, a row for each class; None where nothing does."""
    second, fourth = ((masses * w**k).sum(axis=1) for k in (2, 4))
    spread, heavy = sqrt(float(np.nanmax(second))), float(np.nanmax(fourth / second**2))
    if not gain > 0.0 or parameters.tilt_a * parameters.p_lo > _LARGEST_EXPONENT:
        return None
    main = max(parameters.terms, key=lambda t: log(t.a) - t.lam * (n - 1) * gain)
    # Up to half of the square at which fourth moments outweigh second ones, they say how |M| falls.
    start = max(2.0 * main.s, min(_FAR_FROM, (6.0 / (3.0 + heavy)) ** 0.5) / spread)
    # Waves of huge values are known up to a frequency.
    step = min(_FAR_STEP / spread, _OF_START * start, (_WITHIN * _AT_MOST / reach - start) / _FAR_CELLS)
    if not step > 0.0:
        return None
    needed = (_SMOOTHED / _LEAST_SMOOTHING * max(t.s for t in parameters.terms) - start) / step
    cells = min(max(ceil(needed / 2**_DOUBLED), 1) << _DOUBLED, _FAR_CELLS)
    far = np.asarray(start + step * np.arange(cells + 1.0))
    return _Common(n - 1, parameters, gain, main.s, far, log_unit)


def _bounds(classes: Floats, first: Floats, second: Floats, e: Floats, c: _Common) -> Floats:
    """Return upper bounds on the divergences of some pairs over all data sets in the unit; nan for none."""
    unit = (np.maximum(first - e * second, 0.0).sum(axis=1) / c.gain)[:, None]
    w, (gains, _), reach = _values(classes, first, second, e, unit)
    return np.asarray(unit[:, 0] * _worst(w, classes, gains, reach, c) * _SLACK)


def _values(
    classes: Floats, first: Floats, second: Floats, e: Floats, unit: Floats
) -> tuple[Floats, tuple[Floats, Floats], Floats]:
    """Return the values w of some pairs, numbers above and below E[w+], and what roundings of w are relative to."""
    g, size = first - e * second, first + e * second
    above, below = (np.maximum(g + sign * 8.0 * UNIT * size, 0.0).sum(axis=1)[:, None] / unit for sign in (1.0, -1.0))
    scaled = unit[:, :, None] * classes
    seen = (scaled > 0.0) | (size[:, None, :] > 0.0)  # elsewhere nothing is ever sent
    w = np.where(seen, g[:, None, :] / scaled, 0.0)
    reach = np.where(seen, size[:, None, :] / scaled, 0.0).max(axis=(1, 2))[:, None]
    return w, (above, below), reach


def _worst(w: Floats, masses: Floats, gains: Floats, reach: Floats, c: _Common, mixed: bool = False) -> Floats:
    """Return upper bounds in the unit, but for roundings, from values w with these masses: pair, class, message.

    ``gains`` are E[w+] and ``reach`` what roundings are relative to: pair, class or one for all.
    """
    p, terms = c.parameters, c.parameters.terms

    def mean(values: Floats) -> Floats:
        return np.asarray(np.einsum("xy,pxy->px", masses, values))

    above = np.maximum(w, 0.0)
    lines = _lines(w, masses, c)
    tilt = (reduce(np.maximum, lines) + max(t.lam for t in terms) + p.tilt_b) * reach
    doubt, whole = 16.0 * UNIT * reach, tilt + p.tilt_a * reach
    error = _error(masses, whole)
    plus, minus = (np.maximum(x + doubt[:, :, None], 0.0) for x in (w, -w))

    def powers_of(moments: Floats) -> Floats:
        return c.others * logarithms_above(moments * (1.0 + error))

    found, valid = np.full(w.shape[:2], inf), (tilt <= LARGEST) & (error <= _BLURRED)
    valid &= (whole <= _AT_MOST) & (c.far[-1] * reach <= _AT_MOST)
    for share in _SHARES:  # few positive messages
        if (some := np.flatnonzero(~(found.max(axis=1) <= _LITTLE))).size:
            v, b = w[some], share * p.tilt_b
            beyond = mean(plus[some] * exponentials(b * v)).max(axis=1, keepdims=True)
            few = powers_of(mean(exponentials(np.maximum(b * v - p.tilt_a * above[some], -LARGEST))))
            part = _raised(p.tilt_a * p.p_lo + logarithms_above(beyond) + few - c.log_unit)
            is_less = part.max(axis=1, keepdims=True) < found[some].max(axis=1, keepdims=True)
            found[some] = np.where(is_less, part, found[some])
    below = above / (1.0 + np.sqrt(1.0 + above / p.p_lo))  # beta(w+) w+ of docs/proofs/all_data_sets.md
    tilts = [exponentials(s[:, :, None] * w - t.lam * above) for t, s in zip(terms, lines, strict=True)]
    laws = [_Tilted.of(w, s, x, mean) for s, x in zip(lines, tilts, strict=True)]
    shapes = (
        _integrals(laws, w, masses, mean, c) if c.has_cells else [_normal_integrals(x, mean, c.others) for x in laws]
    )
    for t, s, weights, law, (smoothing, *integrals) in zip(terms, lines, tilts, laws, shapes, strict=True):
        valid = valid & law.is_known(doubt)
        tilted, fast = exponentials(s[:, :, None] * w), exponentials(-t.lam * below)
        slow = tilted * fast
        # |e^(zeta w) - 1| is at most e^(s w) - 1 plus x (1 + x)/2 times u^2/s^2, x = s w
        x = s[:, :, None] * plus
        shifted = np.minimum(x * slow, slow * (1.0 + error) - fast * (1.0 - error))
        against, alone = mean(minus * tilted), mean(plus * weights)
        for_it, bent = mean(plus * shifted), 0.5 * mean(plus * x * (1.0 + x) * fast)
        powers = powers_of(law.moments)
        order = np.argsort(-powers, axis=1, kind="stable") if mixed else None
        unlike, unlike_bent = (_product(x, against, order) for x in (for_it, bent))
        smoothed = smoothing**2 * _product(gains, against, order)
        sizes = np.stack([_product(gains, alone, order) + unlike + smoothed, unlike_bent + smoothed]) / law.moments
        found = found + t.a * _term(powers, sizes, integrals, smoothing, c.others, c.log_unit)
    return np.asarray(np.where(valid, found, np.nan).max(axis=1))


def _error(masses: Floats, tilt: Floats) -> float:
    """Return the relative error of means of exponentials whose exponents, and tilts times roundings, are below that."""
    return float(2.0 * UNIT * (masses.shape[1] + 16.0 + 64.0 * np.minimum(tilt, _AT_MOST).max()))


def _term(
    powers: Floats, sizes: Floats, integrals: Sequence[Floats], smoothing: Floats, others: int, log_unit: float
) -> Floats:
    """Return the term of weight 1 from N log M(s), bounds on |A|/M(s), and integrals.

    |A|/M(s) is at most the first of ``sizes`` plus the second times u^2/s^2; the ``integrals`` are of 1 and u^2/s^2.
    """
    # c(u) such that no input is above the worst: ratios of at most 1 + half of the distance of their powers.
    scales = (sizes / (1.0 + 0.5 * (powers.max(axis=1, keepdims=True) - powers))).max(axis=2, keepdims=True)
    ratios = (sizes / scales).max(axis=0)
    exponent = powers + (ratios * (1.0 + _CENTRED) - 1.0) + _DEPTH / others + 0.5 * smoothing**2
    whole = scales[0] * integrals[0] + scales[1] * integrals[1]
    return np.asarray(others / (2.0 * pi) * whole * _raised(exponent - log_unit))


def _product(x: Floats, y: Floats, order: NDArray[np.intp] | None) -> Floats:
    """Return the product of two means of each class, with what mixtures with those before it in the order add to it."""
    if order is None:
        return np.asarray(x * y)
    some, other = (np.take_along_axis(np.broadcast_to(z, order.shape), order, axis=1) for z in (x, y))
    apart = np.abs((some[:, :, None] - some[:, None, :]) * (other[:, :, None] - other[:, None, :]))
    added = np.zeros(order.shape)
    np.put_along_axis(added, order, np.tril(apart).max(axis=2), axis=1)
    return np.asarray(x * y + added)


def _raised(exponent: Floats) -> Floats:
    """Return e^exponent or more; what is far below 1 is rounded up to one value, what is far above it is inf."""
    return np.where(exponent < LARGEST, exponentials(np.clip(exponent, -LARGEST, LARGEST)), inf)


def _lines(w: Floats, masses: Floats, c: _Common) -> list[Floats]:
    """Return the line s of each term for each pair, by doubles, from the worst classes: any lines give bounds."""
    few = min(_OF_LINES, len(masses))

    def line(t: Term) -> Floats:
        moments = np.einsum("xy,pxy->px", masses, np.exp(t.s * w - t.lam * np.maximum(w, 0.0)))
        worst = np.argpartition(-moments, few - 1, axis=1)[:, :few]
        heights = _heights(np.take_along_axis(w, worst[:, :, None], axis=1), masses[worst], t.s * _MULTIPLES, t.lam, c)
        return np.asarray(t.s * _MULTIPLES[np.nan_to_num(heights, nan=inf).argmin(axis=1)][:, None])

    return [line(t) for t in c.parameters.terms]


def _heights(w: Floats, masses: Floats, s: Floats, lam: float, c: _Common) -> Floats:
    """Return about the logarithm of a term on some lines: c(u) as in ``_term``, for |M|^N the shape of a normal law."""
    above = np.maximum(w, 0.0)
    fallen, slowly = np.exp(-lam * above), np.exp(-lam * above / (1.0 + np.sqrt(1.0 + above / c.parameters.p_lo)))
    shapes = fallen, fallen * w, fallen * w * w, fallen * above, slowly * above
    columns = masses[..., None] * np.stack(shapes, axis=-1)
    risen = _progression(np.exp(s[0] * w), np.exp((s[1] - s[0]) * w), len(s))
    moments, first, second, alone, slow = np.moveaxis(risen @ columns, 3, 0)
    spread, powers = c.others * (second / moments - (first / moments) ** 2), c.others * np.log(moments)
    against = (masses * (above - w)).sum(axis=2)[..., None]
    sizes = (c.gain * alone + (slow - columns[..., 4].sum(axis=2)[..., None]) * against) / moments
    scale = (sizes / (1.0 + 0.5 * (powers.max(axis=1, keepdims=True) - powers))).max(axis=1, keepdims=True)
    logs = powers + sizes / scale - 0.5 * np.log(spread + 2.0 / (pi * s * s))
    return np.asarray((logs + np.log(scale)).max(axis=1) - 2.0 * np.log(s))


@dataclass(frozen=True)
class _Tilted:
    """The laws of w tilted by e^(s w - lam w+): the weights, their sums before, w about the means, and variances."""

    s: Floats
    weights: Floats
    moments: Floats
    away: Floats
    square: Floats
    shift: Floats

    @staticmethod
    def of(w: Floats, s: Floats, weights: Floats, mean: Mean) -> _Tilted:
        """Return the laws with weights that need not have sum 1."""
        moments = mean(weights)
        weights, away = weights / moments[:, :, None], w - (mean(weights * w) / moments)[:, :, None]
        once = weights * away
        return _Tilted(s, weights, moments, away, mean(once * away), mean(once))

    def is_known(self, doubt: Floats) -> Booleans:
        """Return whether roundings are far below the spread of the laws."""
        spread = np.sqrt(self.square)
        return (np.abs(self.shift) <= _CENTRED * spread) & (doubt <= _BLURRED * spread)


def _integrals(
    laws: Sequence[_Tilted], w: Floats, masses: Floats, mean: Mean, c: _Common
) -> list[tuple[Floats, Floats, Floats]]:
    """Return sigma s, and bounds on the integrals of |M|^N e^(-sigma^2 u^2/2)/|zeta|^2 and of u^2/s^2 times that.

    For the law of each term. |M| is in units of its largest value.
    """
    far, N = c.far, c.others
    step = far[1] - far[0]
    # of messages whose waves turn within a cell nothing is used but that cosines are at most 1
    slow = [np.where(np.abs(law.away) * step <= _TURNED, law.weights, 0.0) for law in laws]
    waves = _waves((far[0] + 0.5 * step) * w, step * w, [masses * x for x in slow], len(far) >> _DOUBLED)
    found = list[tuple[Floats, Floats, Floats]]()
    for t, law, slowly, wave in zip(c.parameters.terms, laws, slow, waves, strict=True):
        s, away, near = law.s, law.away, _cells_near(law.s, float(far[0]))
        smoothing = np.full_like(s, max(_SMOOTHED * t.s / float(far[-1]), _LEAST_SMOOTHING))
        sigma, spread = smoothing / s, np.sqrt(N * law.square)[:, :, None]
        falls = list[_Fall]()
        turned: tuple[Floats, Floats] | None = None
        for part, near_by in _sets_of_messages((x, np.abs(away) <= x * spread) for x in _NEAR_BY):
            inside, variance, reach = _bend(law, near_by, mean)
            some = None
            if turned is None and part <= _FEW_TURN and not near_by.all():  # of the others at most waves are used
                some = turned = _turned(near, np.where(near_by, 0.0, law.weights), away, masses, inside, N)
            falls.append((N * variance[..., None], reach[..., None], some))
        kept = mean(slowly)
        apart = np.sqrt(np.maximum((kept * kept)[..., None] - wave.real**2 - wave.imag**2 - _OF_WAVES, 0.0))
        wide_there = kept * mean(slowly * away * away)
        apart = np.maximum(apart - 0.5 * step * np.sqrt(wide_there * (1.0 + 1e-5))[..., None], 0.0)
        powers = _near_powers(near, falls), _power(0.5 * N * apart**2)
        parts = (_over(cells, power, s, sigma) for cells, power in zip((near, far), powers, strict=True))
        last = exponentials(-np.minimum(0.5 * (sigma * far[-1]) ** 2, LARGEST))
        tails = last / far[-1], last * np.minimum(sqrt(0.5 * pi) / sigma, 1.0 / (sigma**2 * far[-1])) / s**2
        own, wide = (2.0 * (x + y + tail) for x, y, tail in zip(*parts, tails, strict=True))
        found.append((smoothing, own, wide))
    return found


def _waves(first: Floats, step: Floats, weights: Sequence[Floats], blocks: int) -> list[NDArray[np.complex128]]:
    """Return the means of e^(i(first + k step)) with some weights, for k below 2^3 times ``blocks``: pair, class, k.

    Those of each block are waves of the first block turned together, so that the sums are products of matrices.
    """
    (start, turn) = (real + 1j * imag for real, imag in map(turns, (first, step)))

    near = _progression(start, turn, 1 << _DOUBLED)
    for _ in range(_DOUBLED):
        turn = turn * turn
    far = _progression(np.ones_like(turn), turn, blocks)
    means = ((far * x[:, :, None]) @ near.swapaxes(2, 3) for x in weights)
    return [m.reshape(*first.shape[:2], blocks << _DOUBLED) for m in means]


def _progression(first: NDArray[Scalar], ratio: NDArray[Scalar], count: int) -> NDArray[Scalar]:
    """Return numbers in geometric progression, on a new axis before the last one."""
    found = np.empty((*first.shape[:2], count, first.shape[2]), first.dtype)
    found[:, :, 0] = first
    for k in range(1, count):
        np.multiply(found[:, :, k - 1], ratio, out=found[:, :, k])
    return found


def _cells_near(s: Floats, far: float) -> Floats:
    """Return the ends of cells of frequencies up to where waves are taken: evenly up to s, then by a constant ratio."""
    first = np.minimum(s, far)[:, :, None]
    even = np.broadcast_to(np.linspace(0.0, 1.0, _NEAR_CELLS + 1)[:-1], (len(s), 1, _NEAR_CELLS))
    return np.asarray(
        first * np.concatenate([even, (far / first) ** np.linspace(0.0, 1.0, _BETWEEN_CELLS + 1)], axis=-1)
    )


def _over(cells: Floats, powers: Floats, s: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """Return both integrals over cells on which the mean power is given; the rest is largest on one side."""
    left, right, square_s = cells[..., :-1] ** 2, cells[..., 1:] ** 2, (s * s)[:, :, None]
    smooth = exponentials(-np.minimum(0.5 * sigma[:, :, None] ** 2 * left, LARGEST))
    whole = (powers + exp(-_DEPTH)) * np.diff(cells) * smooth
    own, wide = whole / (square_s + left), whole * right / (square_s + right) / square_s
    return own.sum(axis=-1), wide.sum(axis=-1)


def _power(fall: Floats) -> Floats:
    return exponentials(-np.clip(fall, 0.0, LARGEST))


def _turned(
    cells: Floats, weights: Floats, away: Floats, masses: Floats, inside: tuple[Floats, Floats, Floats], N: int
) -> tuple[Floats, Floats]:
    """Return by how much more |M|^N falls on the even cells, at least, as few values turn round, and its slope.

    ``weights`` are of values far away, ``inside`` the first moments of the others, without sign.
    """
    there = np.flatnonzero((weights > 0.0).any(axis=(0, 1)))
    weights, away = weights[:, :, there] * masses[:, there], away[:, :, there]
    step = cells[:, :, 1:2]
    angles, both = step * away, [weights, weights * away]
    cosines, sines = (np.zeros((*weights.shape[:2], cells.shape[2] - 1)) for _ in range(2))
    wave, sloped = _waves(0.5 * angles, angles, both, _NEAR_CELLS >> _DOUBLED)
    cosines[..., :_NEAR_CELLS], sines[..., :_NEAR_CELLS] = wave.real, sloped.imag
    size, square = (np.sum(x, axis=2)[..., None] for x in (weights, weights * away * away))
    some, first, second = (x[..., None] for x in inside)
    last, half = cells[..., 1:], 0.5 * np.diff(cells)
    lost = size * (first * last + 0.5 * second * last * last)
    fall = some * (size * (1.0 - _OF_WAVES) - cosines - 0.5 * half * half * square) - lost * (1.0 + 1e-5)
    of_even = (fall > 0.0) & (np.arange(fall.shape[2]) < _NEAR_CELLS)
    rounded = _OF_WAVES * np.sqrt(size * square)
    return np.where(of_even, N * fall, 0.0), np.where(of_even, N * (some * np.abs(sines) + rounded) * half, 0.0)


def _sets_of_messages(some: Iterable[tuple[float, Booleans]]) -> list[tuple[float, Booleans]]:
    """Return sets with their sizes, each in the one before: of those that are everything the last."""
    found = list[tuple[float, Booleans]]()
    for size, one in some:
        if one.all():
            found.clear()
        found.append((size, one))
    return found


def _bend(law: _Tilted, near_by: Booleans, mean: Mean) -> tuple[tuple[Floats, Floats, Floats], Floats, Floats]:
    """Return the first three moments about the centre, without sign, of some values, and how |M|^2 falls by them.

    It is at most e^-f, f(u) = V u^2 (1 - u^2/reach): the variance V, and the reach.
    """
    weights = np.where(near_by, law.weights, 0.0)
    once = weights * law.away
    twice = once * law.away
    some, first, second, fourth = (mean(x) for x in (weights, once, twice, twice * law.away**2))
    crossed = 8.0 * np.abs(first) * np.sqrt(second * fourth)
    variance = some * second * (1.0 - 1e-6) - first**2 * (1.0 + 1e-6)
    variance = np.where((variance > 0.5 * some * second) & (variance > 2e-4 * law.square), variance, 0.0)
    quartic = np.maximum((2.0 * some * fourth + 6.0 * second**2 + crossed) * (1.0 + 1e-5), _LEAST)
    return (some, np.abs(first), second), variance, np.where(variance > 0.0, 24.0 * variance / quartic, inf)


def _near_powers(cells: Floats, falls: Sequence[_Fall]) -> Floats:
    """Return bounds on the means of e^-f over cells, for the best of some f that bound how |M|^N falls.

    f(u) = bend u^2 (1 - u^2/reach)/2 where that does not fall: its least value, or what a tangent of f gives where f is
    convex. A fall may have ``more``: what f has beyond that there, and how much that changes on half of a cell.
    """
    middle, half = 0.5 * (cells[..., 1:] + cells[..., :-1]), 0.5 * np.diff(cells)
    none = np.zeros(1), np.zeros(1)
    best, fallen, rise = np.zeros((3, *np.broadcast_shapes(middle.shape, falls[0][0].shape)))

    def consider(fall: Floats, risen: Floats) -> None:
        """Take the mean of e^-(fall + rise t), |t| <= 1, where it is less by an estimate of its logarithm."""
        score = fall - risen * risen / 6.0
        is_better = score > best
        for known, some in ((best, score), (fallen, fall), (rise, risen)):
            np.copyto(known, some, where=is_better)

    for bend, reach, more in falls:
        at_ends, inside = (0.5 * bend * u**2 * np.maximum(1.0 - u**2 / reach, 0.0) for u in (cells, middle))
        consider(np.minimum(at_ends[..., :-1], at_ends[..., 1:]), none[0])
        slope = bend * middle * (1.0 - 2.0 * middle**2 / reach) * half
        for deeper, steeper in (none,) if more is None else (none, more):
            known = (6.0 * cells[..., 1:] ** 2 <= reach) & (slope + steeper <= 1.0)
            consider(np.where(known, inside + deeper, 0.0), np.where(known, slope + steeper, 0.0))
    raised = exponentials(rise)
    return _power(fallen) * (2.0 + 0.5 * (raised + 1.0 / raised)) / 3.0


# ---------- Rougher bounds on pairs, most of which are far below the worst: one constant term, integrals in closed form


def _saddles(classes: Floats, first: Floats, second: Floats, e: Floats, n: int) -> Floats:
    """Return a line s for each pair, a column: about the saddle point where others have the class of most variance."""
    g = first - e * second
    mean = g.sum(axis=1)
    variances = (g * g) @ np.where(classes > 0.0, 1.0 / classes, 0.0).T - mean[:, None] ** 2
    worst = variances.argmax(axis=1)
    variance, masses = variances.max(axis=1), classes[worst]
    w = np.where(masses > 0.0, g / masses, 0.0)
    found = ((np.sqrt(mean**2 + 8.0 * variance / (n - 1)) - mean) / (2.0 * variance))[:, None]
    moments = np.stack([(masses * np.exp(x * found * w)).sum(axis=1) for x in _OF_SADDLE])
    heights = (n - 1) * np.log(moments) - 2.0 * np.log(_OF_SADDLE)[:, None]
    return np.asarray(found * _OF_SADDLE[np.nan_to_num(heights, nan=inf).argmin(axis=0)][:, None])


def _rough(classes: Floats, first: Floats, second: Floats, e: Floats, s: Floats, n: int, log_unit: float) -> Floats:
    """Return rough bounds on the divergences of some pairs with the lines ``s`` of their own; nan for none."""
    w, (gain, least_gain), reach = _values(classes, first, second, e, np.ones_like(s))
    doubt, tilt, N = 16.0 * UNIT * reach, 4.0 * s * reach, n - 1
    error = _error(classes, tilt)

    def mean(values: Floats) -> Floats:
        return np.asarray(np.einsum("xy,pxy->px", classes, values))

    def powers_of(moments: Floats) -> Floats:
        return N * logarithms_above(moments * (1.0 + error))

    plus, minus = (np.maximum(x + doubt[:, :, None], 0.0) for x in (w, -w))
    tilted = exponentials(s[:, :, None] * w)
    grown = mean(plus * tilted)
    # the part of few positive messages, with tilts 2s and s, is a share of the unit: that is what p_lo is for
    few = powers_of(mean(np.minimum(tilted, 1.0 / tilted))).max(axis=1, keepdims=True)
    beyond = logarithms_above(grown.max(axis=1, keepdims=True))
    p_lo = (log(_OF_FEW) + log_unit - beyond - few) / (2.0 * s)
    valid = (p_lo > 0.0) & (2.0 * s * p_lo <= _LARGEST_EXPONENT) & (tilt <= LARGEST) & (error <= _BLURRED)

    law = _Tilted.of(w, s, tilted, mean)
    smoothing, *integrals = _normal_integrals(law, mean, N)
    x, against = s[:, :, None] * plus, mean(minus * law.weights)
    smoothed = smoothing**2 * gain * against
    shifted, bent = (grown * (1.0 + error) - least_gain * (1.0 - error)) * against, 0.5 * mean(plus * x * (1.0 + x))
    sizes = np.stack([gain * grown / law.moments + shifted + smoothed, bent * against + smoothed])
    found = _OF_FEW + _term(powers_of(law.moments), sizes, integrals, smoothing, N, log_unit) / p_lo**2
    return np.asarray(np.where(valid & law.is_known(doubt), found, np.nan).max(axis=1)) * _SLACK


def _normal_integrals(law: _Tilted, mean: Mean, N: int) -> tuple[Floats, Floats, Floats]:
    """Return what ``_integrals`` does in closed form, where |M|^N is at most e^(-bend u^2/2) up to a frequency."""
    s, near_by = law.s, np.abs(law.away) <= _ROUGHLY_NEAR * np.sqrt(N * law.square)[:, :, None]
    _, variance, reach = _bend(law, near_by, mean)
    last = np.where(variance > 0.0, np.sqrt(_FALLEN * reach), 0.0)
    sigma = _SMOOTHED_ROUGHLY / np.take_along_axis(last, law.moments.argmax(axis=1)[:, None], axis=1)
    bend = (1.0 - _FALLEN) * N * variance + sigma**2
    z, whole = s * np.sqrt(0.5 * bend), np.sqrt(2.0 * pi / bend)
    tail, rest = 2.0 * exponentials(-np.minimum(0.5 * (sigma * last) ** 2, LARGEST)), exp(-_DEPTH)
    own = 2.0 * sqrt(pi) / s / (z + np.sqrt(z * z + 4.0 / pi)) + np.minimum(tail / last, pi / s) + rest * pi / s
    wide = whole * np.minimum(1.0 / (s * s * bend), 1.0) + rest * sqrt(2.0 * pi) / sigma
    return sigma * s, own, (wide + tail * np.minimum(sqrt(0.5 * pi) / sigma, 1.0 / (sigma**2 * last))) / s**2
