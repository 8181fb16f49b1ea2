"""The value of Theorem D itself for few users: the numbers of hidden users one by one, each with its outcomes."""

from __future__ import annotations

from math import comb

from flint import arb, arb_poly

from symamp.analyses.crowd_messages import Victim
from symamp.evaluation.enumeration import enumerated_sum
from symamp.evaluation.law import Level, total

QUICK, MOST = 150_000, 3 * 10**7
"""How many outcomes there may be over all counts: for every answer, and where the value itself is asked for."""


def mean_of_counts(victim: Victim, level: Level, most: int = QUICK) -> arb | None:
    """Return a ball around the bound of Theorem D; None if nobody hides the victim, or outcomes are more than ``most``.

    Guarantee
    ---------
    The ball contains E[Delta_(C+1)] + sigma: C has the law of a product of polynomials, and each Delta is enumerated.
    Proof: docs/proofs/users_who_differ.md, section 4.
    """
    law, shares = victim.blanket(level)
    hidden = [(count, g) for count, g in zip(victim.counts, shares, strict=True) if count and g > 0]
    largest, values = 1 + sum(count for count, _ in hidden), len(law.values)
    if not hidden or largest > most or largest * comb(largest + values - 1, values - 1) > most:
        return None
    chances = arb_poly([1])
    for count, g in hidden:
        chances *= arb_poly([1 - g, g]) ** count
    return law.singular + total([chances[m - 1] * enumerated_sum(law, m) / m for m in range(1, largest + 1)])
