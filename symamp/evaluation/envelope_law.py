"""The envelope bound: one law that dominates the laws of G for every input that another user may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import flint
from flint import arb

from symamp.evaluation.divergence import (
    Enclosure,
    Settings,
    enclose_law,
    estimate_log_law,
    positive_part,
)
from symamp.evaluation.dominating_law import DominatingLaw, binary_size, dominating_law
from symamp.evaluation.gparv import BallGparv, ball_gparv, float_gparv, nearest_doubles
from symamp.evaluation.inversion import approximate_log_law, estimate_root, largest_epsilon
from symamp.evaluation.law import Law, Level

_FEW_NODES = 128
_BITS = 256
_USUAL_SIZE = 16


def envelope_law(laws: Sequence[Law], level: Level, most_nodes: int | None = None) -> DominatingLaw:
    """Return a dyadic law that dominates G = (R(x0) - E R(x1))/R(x) of each law, at more than the ambient precision.

    More, because the working precision suits relative errors, and rounding the law costs an absolute one, of the order
    of the largest value. ``most_nodes`` is at least 128 and twice the atoms of the largest law unless given.
    """
    most = most_nodes or max(_FEW_NODES, 2 * max((len(law.atoms) for law in laws), default=0))
    bits = 2 * flint.ctx.prec
    with flint.ctx.workprec(bits):
        balls = [ball_gparv(law, level) for law in laws]
        size = max((binary_size(v) for g in balls for v in g.values), default=0)
        if size <= _USUAL_SIZE:
            return dominating_law(balls, most)
    with flint.ctx.workprec(bits + 2 * size):
        return dominating_law([ball_gparv(law, level) for law in laws], most)


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

    >>> from symamp.evaluation.law import Atom
    >>> def number(p, q=1): return lambda: arb(p) / q
    >>> def law(*atoms): return Law(tuple(Atom(*(number(*x) for x in atom)) for atom in atoms), complete=True)
    >>> own = law(((1,), (1, 3), (3, 4)), ((1,), (3,), (1, 4)))
    >>> other = law(((3,), (1,), (1, 4)), ((1, 3), (1,), (3, 4)))
    >>> enclose_envelope([own, other], Level.of_float(0.5), 10).upper.str(5, radius=False)
    '0.040703'
    """
    settings = settings or Settings()
    if not laws or _may_be_positive(laws, level):
        # The floats are searched on the law that is then certified: it is built once for each precision.
        known: dict[int, DominatingLaw] = {}

        def source() -> BallGparv:
            bits = flint.ctx.prec
            if bits not in known:
                known[bits] = envelope_law(laws, level, most_nodes)
            return known[bits].law

        found = enclose_law(source, n, settings)
        merging = known[max(known)].merging
        with flint.ctx.workprec(found.precision):
            return replace(found, lower=(found.lower - merging).max(arb(0)), merging=merging)
    with flint.ctx.workprec(_BITS):
        # The bound falls with n, and at n = 1 it is the largest E[G_+].
        upper = arb(0)
        for law in laws:
            g = ball_gparv(law, level)
            upper = upper.max(positive_part(g) + g.singular)
        return Enclosure(arb(0), upper, "no positive value", _BITS)


def estimate_log_envelope(laws: Sequence[Law], level: Level, n: int, settings: Settings | None = None) -> float:
    """Return an estimate of log U_n, computed in floats; -inf for zero. Not a bound."""
    if not _may_be_positive(laws, level):
        return float("-inf")
    return estimate_log_law(lambda: envelope_law(laws, level).law, n, settings or Settings())


def estimate_envelope_epsilon(
    laws: Sequence[Law], n: int, log_delta: float, settings: Settings, start: float | None = None
) -> float:
    """Return an estimate of the eps at which U_n is delta: 0 if it is less at eps = 0, inf if nowhere. Not a bound."""

    def rough(eps: float) -> float:
        level = Level.of_float(eps)
        if not _may_be_positive(laws, level):
            return float("-inf")
        return approximate_log_law(nearest_doubles(lambda: envelope_law(laws, level).law), n)

    return estimate_root(
        lambda eps: estimate_log_envelope(laws, Level.of_float(eps), n, settings),
        rough,
        n,
        log_delta,
        settings,
        max(largest_epsilon(law) for law in laws),
        start,
    )


def _may_be_positive(laws: Sequence[Law], level: Level) -> bool:
    """Whether some G is positive or has a singular part: a value that is 0 by its formula must not be rounded up."""
    with flint.ctx.workprec(64):
        for law in laws:
            g = ball_gparv(law, level)
            if g.singular > 0 or any(v > 0 for v in g.values):
                return True
    return any(float_gparv(law, level).is_positive for law in laws)
