"""The envelope bound: one law that dominates the laws of G for every input that another user may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

import flint
from flint import arb

from symamp.laws.law import BallGparv, FloatGparv, Law, Level, ball_gparv, nearest_doubles, quick_gparv
from symamp.laws.stop_loss import DominatingLaw, binary_size, dominating_law
from symamp.numbers.limits import ABOVE, Limits, kept
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Enclosure, Settings, enclose_level, estimate_log_level, positive_part
from symamp.sums.inversion import approximate_log_law, estimate_root, largest_epsilon

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

    def floats(self, level: Level, bits: int = 128) -> FloatGparv:
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
    if not _may_be_positive(above.laws, level):
        return -inf
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
