"""Convex order between two laws: which pair of inputs is worse for every number of users."""

from __future__ import annotations

import sympy as sp
from flint import arb

from symamp.decompositions.composed import Composed
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.to_law import number
from symamp.formulas.normal_form import normal
from symamp.laws.law import Level, total
from symamp.numbers.surroundings import at_precision

_BITS = 192


def is_worse(worse: Decomposition, better: Decomposition, level: Level) -> bool:
    """Return True if ``worse`` is proved to have the larger divergence at this level for every n.

    The stop-loss transforms E(G - u)_+ are compared at all kinks, and the singular parts by themselves. Balls decide
    each comparison, so False means "not proved". Components that both share cancel as formulas before.

    Guarantee
    ---------
    True implies D_E of ``better`` <= D_E of ``worse`` for every n. Proof: docs/proofs/convex_order.md.

    >>> import symamp as sa
    >>> d = sa.RandomizedResponse(k=3, eps0=1).blanket()
    >>> is_worse(d, d, Level.of_float(0.5))
    True
    """
    if any(isinstance(d, Composed) and d.is_large for d in (worse, better)):
        return False  # each of so many components would be compared with each
    if not (worse.is_listed and better.is_listed):
        return False  # known by numbers alone
    difference = _difference(worse, better)
    with at_precision(_BITS):
        e = level.exponential()
        regular = not worse.singular and not better.singular
        if not regular and not _singular(worse, e) >= _singular(better, e):
            return set(worse.singular) == set(better.singular) and not difference
        kinks = [(number(r0)() - e * number(r1)(), number(mass)()) for r0, r1, mass in difference]
        # Both laws have mean 1 - E when nothing is singular; then the difference of means is exactly 0.
        mean = arb(0) if regular else total([v * m for v, m in kinks])
        return mean >= 0 and all(_gain(kinks, j, mean) >= 0 for j in range(len(kinks))) and _null_gain(kinks) >= 0


def _difference(worse: Decomposition, better: Decomposition) -> list[tuple[sp.Expr, sp.Expr, sp.Expr]]:
    masses: dict[tuple[sp.Expr, sp.Expr], sp.Expr] = {}
    for sign, decomposition in ((1, worse), (-1, better)):
        for r0, r1, mass in decomposition.components:
            masses[r0, r1] = masses.get((r0, r1), sp.Integer(0)) + sign * mass
    return [(r0, r1, m) for (r0, r1), mass in masses.items() if (m := normal(mass)) != 0]


def _gain(kinks: list[tuple[arb, arb]], j: int, mean: arb) -> arb:
    """Return the difference of E(G - u)_+ at u = the j-th kink, from the side of u on which the null atom is not."""
    u = kinks[j][0]
    zero = arb(0)
    others = [(v, m) for i, (v, m) in enumerate(kinks) if i != j]
    if u >= 0:
        return total([m * (v - u).max(zero) for v, m in others])
    if u < 0:
        return total([m * (u - v).max(zero) for v, m in others]) + mean
    return arb("nan")


def _null_gain(kinks: list[tuple[arb, arb]]) -> arb:
    """Return the difference of E(G)_+, the stop-loss transform at the null value."""
    return total([m * v.max(arb(0)) for v, m in kinks])


def _singular(decomposition: Decomposition, e: arb) -> arb:
    return total([(number(a)() - e * number(b)()).max(arb(0)) for a, b in decomposition.singular])
