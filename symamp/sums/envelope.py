"""The envelope of several laws: one that dominates them all, in balls and in doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import flint
import numpy as np
from flint import arb

from symamp.laws.law import BallGparv, FloatGparv, Floats, Law, Level, ball_gparv, nearest_doubles, quick_gparv
from symamp.laws.stop_loss import DominatingLaw, binary_size, dominating_law
from symamp.numbers.limits import ABOVE, Limits, kept
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Enclosure, Settings, enclose_level, estimate_log_level, positive_part
from symamp.sums.inversion import approximate_log_law, estimate_root, largest_epsilon

# ---------- About the law whose stop-loss transform is the largest of several, in doubles: what a search asks for often

_SAME, _TIE = 1e-9, 1e-13


def float_envelope(laws: Sequence[FloatGparv]) -> FloatGparv | None:
    """Return the law above some laws of one mean and one E[G_+] that a row of doubles resolves, else None. No bound.

    All transforms agree at 0. So values above 0 and below 0 are found apart, each from the far end: sums of one sign.

    >>> fair = FloatGparv(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 0.0, 0.0, 0.0)
    >>> rare = FloatGparv(np.array([-2.0, 2.0]), np.array([0.25, 0.25]), 0.5, 0.0, 0.0)
    >>> float_envelope([fair, rare]).values.tolist()
    [-2.0, 2.0]
    """
    first, is_negative = laws[0], not any(g.is_positive or g.singular for g in laws)
    if len(laws) == 1 or is_negative:
        return first
    if any(g.exponent or g.singular for g in laws):
        return None
    gains = np.array([g.masses @ np.maximum(g.values, 0.0) for g in laws])
    if not np.ptp(gains) <= _SAME * gains.max():
        return None
    (above, right), (below, left) = (_above([(sign * g.values, g.masses) for g in laws]) for sign in (1.0, -1.0))
    masses = np.concatenate([left[::-1], right])
    return FloatGparv(
        np.concatenate([-below[::-1], above]), masses, max(1.0 - float(masses.sum()), 0.0), first.mean, 0.0
    )


def _above(laws: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return values > 0 and masses of the largest of the transforms u -> E[(w - u)_+] for u >= 0."""
    values = np.sort(np.concatenate([v for v, _ in laws]))
    values = values[values > 0.0]
    nodes = np.append(0.0, values[np.append(np.diff(values) > _SAME * values[1:], True)[: len(values)]])
    masses = np.zeros((len(laws), len(nodes)))
    for row, (v, m) in zip(masses, laws, strict=True):
        np.add.at(row, np.searchsorted(nodes, v[v > 0.0]), m[v > 0.0])
    tails = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1][:, 1:]  # minus the slopes between nodes
    parts = tails * np.diff(nodes)
    heights = np.append(np.cumsum(parts[:, ::-1], axis=1)[:, ::-1], np.zeros((len(laws), 1)), axis=1)
    is_top = heights >= heights.max(axis=0) * (1.0 - _TIE)
    whole = is_top[:, :-1] & is_top[:, 1:]  # of the largest all along an interval
    winner = whole.argmax(axis=0)
    slopes = tails[winner, np.arange(len(nodes) - 1)]
    crossed = np.flatnonzero(~whole.any(axis=0))
    if len(crossed):
        found = [_crossings(heights[:, k], heights[:, k + 1], tails[:, k], nodes[k]) for k in crossed.tolist()]
        slopes[crossed] = [last for *_, last in found]
        nodes = np.concatenate([nodes, *(at for at, *_ in found)])
        slopes = np.concatenate([slopes, *(before for _, before, _ in found)])
        order = np.argsort(nodes[1:], kind="stable")
        nodes, slopes = np.append(0.0, nodes[1:][order]), slopes[order]
    slopes = np.maximum.accumulate(slopes[::-1])[::-1]
    jumps = slopes - np.append(slopes[1:], 0.0)
    seen = jumps > _TIE * slopes
    return nodes[1:][seen], jumps[seen]


def _crossings(left: Floats, right: Floats, slopes: Floats, start: float) -> tuple[list[float], list[float], float]:
    """Return where the largest of some falling lines changes, the slopes before each place, and that after the last."""
    i = int(np.lexsort((-slopes, left))[-1])
    at, before, last = list[float](), list[float](), int(np.lexsort((-slopes, right))[-1])
    while i != last and slopes[i] > slopes[last]:
        flatter = np.flatnonzero(slopes < slopes[i])
        places = (left[i] - left[flatter]) / (slopes[i] - slopes[flatter])
        k = int(places.argmin())
        at.append(start + max(float(places[k]), 0.0))
        before.append(float(slopes[i]))
        i = int(flatter[k])
    return at, before, float(slopes[i])


# ------------------ The envelope bound: one law that dominates the laws of G for every input that another user may hold

_FEW_NODES = 128
_BITS = 256
_USUAL_SIZE = 16
_DEEP = 64
"""A value below -2^64 times the largest one makes every sum of up to 10^18 terms negative, however deep it lies."""


def envelope_law(laws: Sequence[Law], level: Level, most_nodes: int | None = None) -> DominatingLaw:
    """Return a dyadic law that dominates G = (R(x0) - E R(x1))/R(x) of each law, at more than the ambient precision.

    More, because the working precision suits relative errors, and rounding the law costs an absolute one, of the order
    of the largest value. ``most_nodes`` is at least 128 and twice the atoms of the largest law unless given. Values
    are at least -2^64 times the largest, where that is above 1: lower ones are lifted.
    """
    most = most_nodes or _usual_nodes(laws)
    bits = 2 * flint.ctx.prec
    with at_precision(bits):
        balls = _lifted([ball_gparv(law, level) for law in laws])
        size = max((binary_size(v) for g in balls for v in g.values), default=0)
        if size <= _USUAL_SIZE:
            return dominating_law(balls, most)
    with at_precision(bits + 2 * size):
        return dominating_law(_lifted([ball_gparv(law, level) for law in laws]), most)


def _lifted(laws: Sequence[BallGparv]) -> list[BallGparv]:
    """Return laws above the given ones, whose values are not so far below 0 that grids for them have many bits."""
    largest = max((v.upper() for g in laws for v in g.values), default=arb(1)).max(arb(1))
    least = -(largest * arb(2) ** _DEEP)
    return [replace(g, values=tuple(v.max(least) for v in g.values)) for g in laws]


def _usual_nodes(laws: Sequence[Law]) -> int:
    return max(_FEW_NODES, 2 * max((len(law.atoms) for law in laws), default=0))


@dataclass(frozen=True)
class _Above:
    """The law above some laws at every level; what was built in balls is kept."""

    laws: tuple[Law, ...]
    most_nodes: int | None = None

    def __hash__(self) -> int:
        return hash((len(self.laws), self.laws[:1], self.most_nodes))

    def floats(self, level: Level) -> FloatGparv:
        """Return about the law: from the laws in doubles where these resolve it."""
        found = float_envelope([quick_gparv(law, level) for law in self.laws]) if self.laws else None
        most = self.most_nodes or _usual_nodes(self.laws)
        if found is not None and len(found.values) <= most:
            return found
        return nearest_doubles(lambda: self.balls(level))

    def matched(self, level: Level, _: FloatGparv, bits: int) -> FloatGparv:
        """Return the dominating law in doubles."""
        return nearest_doubles(lambda: self.balls(level), bits)

    def balls(self, level: Level) -> BallGparv:
        """Return the dominating law."""
        return _dominating(self, level, flint.ctx.prec).law

    @property
    def work(self) -> float:
        """What it takes to make the law."""
        return ABOVE.of(sum(len(law.atoms) for law in self.laws))


@lru_cache(maxsize=64)
def _dominating(above: _Above, level: Level, bits: int) -> DominatingLaw:
    """Return the law made at a precision."""
    with at_precision(bits):
        return envelope_law(above.laws, level, above.most_nodes)


def enclose_envelope(
    laws: Sequence[Law], level: Level, n: int, settings: Settings | None = None, most_nodes: int | None = None
) -> Enclosure:
    """Return an enclosure of the envelope bound U_n = E[S_+]/n, S the sum of n copies of the dominating law.

    ``laws`` are the triples (R(x0), R(x1), R(x)), one for each class of inputs x that other users may hold, x0 and x1
    included. What is enclosed is the divergence of the dominating law, before any of its values were merged; the lower
    end is none for the mechanism.

    Guarantee
    ---------
    ``upper.upper()`` is at least the divergence of the histograms of every two data sets that differ in one user's
    input x0 or x1 while every other user's message has one of the laws A2. Proof: docs/proofs/envelope.md.

    Raises ArgumentError without a law, PrecisionError if rounding dominates at the largest working precision.

    >>> from symamp.laws.law import Atom
    >>> def number(p, q=1): return lambda: arb(p) / q
    >>> def law(*atoms): return Law(tuple(Atom(*(number(*x) for x in atom)) for atom in atoms), complete=True)
    >>> own = law(((1,), (1, 3), (3, 4)), ((1,), (3,), (1, 4)))
    >>> other = law(((3,), (1,), (1, 4)), ((1, 3), (1,), (3, 4)))
    >>> enclose_envelope([own, other], Level.of_float(0.5), 10).upper.str(5, radius=False)
    '0.040703'
    """
    settings = settings or Settings()
    if not laws or _may_be_positive(laws, level):
        above = _Above(tuple(laws), most_nodes)
        settings.limits.charge(above.work)
        found = enclose_level(above, level, n, settings)
        merging = _dominating(above, level, found.precision).merging
        with at_precision(found.precision):
            return replace(found, lower=(found.lower - merging).max(arb(0)), merging=merging)
    with at_precision(_BITS):
        # The bound falls with n, and at n = 1 it is the largest E[G_+].
        upper = arb(0)
        for law in laws:
            g = ball_gparv(law, level)
            upper = upper.max(positive_part(g) + g.singular)
        return Enclosure(arb(0), upper, "no positive value", _BITS)


def estimate_log_envelope(laws: Sequence[Law], level: Level, n: int, settings: Settings | None = None) -> float:
    """Return an estimate of log U_n, computed in floats; -inf for zero. Not a bound."""
    return _told(_Above(tuple(laws)), level, n, settings or Settings())


def _told(above: _Above, level: Level, n: int, settings: Settings) -> float:
    """Return an estimate; a rough one where the question has taken what it may."""
    if settings.limits.is_spent():
        return max(approximate_log_law(quick_gparv(law, level), n) for law in above.laws)
    return _estimated(settings.limits, above, level, n, settings)


@kept(maxsize=1024)
def _estimated(limits: Limits, above: _Above, level: Level, n: int, settings: Settings) -> float:
    limits.charge(above.work)
    return estimate_log_level(above, level, n, settings.under(limits))


def estimate_envelope_epsilon(
    laws: Sequence[Law], n: int, log_delta: float, settings: Settings, start: float | None = None
) -> float:
    """Return an estimate of the eps at which U_n is delta: 0 if it is less at eps = 0, inf if nowhere. Not a bound."""
    above = _Above(tuple(laws))
    return estimate_root(
        lambda eps: _told(above, Level.of_float(eps), n, settings),
        lambda eps: approximate_log_law(above.floats(Level.of_float(eps)), n),
        n,
        log_delta,
        settings,
        max(largest_epsilon(law) for law in laws),
        start,
    )


def _may_be_positive(laws: Sequence[Law], level: Level) -> bool:
    """Whether some G is positive or has a singular part: a value that is 0 by its formula must not be rounded up."""
    found = (quick_gparv(law, level) for law in laws)
    return any(g.singular > 0.0 or g.is_positive for g in found)
