"""The envelope bound: one law that dominates the laws of G for every input that another user may hold."""

from __future__ import annotations

from collections.abc import Sequence

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
from symamp.evaluation.gparv import ball_gparv, float_gparv
from symamp.evaluation.law import Law, Level

_FEW_NODES = 128
_BITS = 256


def envelope_law(laws: Sequence[Law], level: Level, most_nodes: int | None = None) -> DominatingLaw:
    """Return a dyadic law that dominates G = (R(x0) - E R(x1))/R(x) of each law, at more than the ambient precision.

    More, because the working precision suits relative errors, and rounding the law costs an absolute one, of the order
    of the largest value. ``most_nodes`` is at least 128 and twice the atoms of the largest law unless given.
    """
    most = most_nodes or max(_FEW_NODES, 2 * max((len(law.atoms) for law in laws), default=0))
    bits = 2 * flint.ctx.prec
    size = max((binary_size(v) for law in laws for v in ball_gparv(law, level).values), default=0)
    with flint.ctx.workprec(bits + 2 * max(0, size)):
        return dominating_law([ball_gparv(law, level) for law in laws], most)


def enclose_envelope(
    laws: Sequence[Law], level: Level, n: int, settings: Settings | None = None, most_nodes: int | None = None
) -> Enclosure:
    """Return an enclosure of the envelope bound U_n = E[S_+]/n, S the sum of n copies of the dominating law.

    ``laws`` are the triples (R(x0), R(x1), R(x)), one for each class of inputs x that other users may hold, x0 and x1
    included. What is enclosed is the divergence of the dominating law, whose transform ``envelope_law`` compares with
    those that were given; the lower end is none for the mechanism.

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
        return enclose_law(lambda: envelope_law(laws, level, most_nodes).law, n, settings)
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


def _may_be_positive(laws: Sequence[Law], level: Level) -> bool:
    """Whether some G is positive or has a singular part: a value that is 0 by its formula must not be rounded up."""
    with flint.ctx.workprec(_BITS):
        for law in laws:
            g = ball_gparv(law, level)
            if g.singular > 0 or any(v > 0 for v in g.values):
                return True
    return any(float_gparv(law, level).is_positive for law in laws)
