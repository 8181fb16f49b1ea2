"""A pair of inputs that is worse than every other one, whatever is multiplied to its ratios."""

from __future__ import annotations

from functools import lru_cache

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.order import is_zero, minimum
from symamp.derivation.local_budget import largest_ratio
from symamp.derivation.pairs import pair_classes
from symamp.derivation.randomizer import LocalRandomizer
from symamp.errors import UndecidedOrderError


@lru_cache(maxsize=1024)
def dominating_pair(mechanism: LocalRandomizer) -> tuple[str, str] | None:
    """Return a pair (a, b) whose G = r_a - E r_b is largest in convex order for every E >= 0; None if none is proved.

    Proved are three cases: all pairs have the same components; all ratios are 1 or e^eps0, where the pair with the
    least overlap is worst; and a mechanism whose parts have such pairs.

    Guarantee
    ---------
    For all inputs x, x', equal ones included, and all E >= 0: r_x - E r_x' is at most r_a - E r_b in convex order.
    Proof: docs/proofs/joint.md.

    >>> import symamp as sa
    >>> dominating_pair(sa.RandomizedResponse(k=3)), dominating_pair(sa.HadamardResponse(K=8))
    (('x0', 'x1'), ('1', '2'))
    """
    if mechanism.is_composed:
        return mechanism.dominating()
    classes = pair_classes(mechanism)
    if any(c.decomposition.singular for c in classes):
        return None
    if len(classes) == 1 and mechanism.lists_all_inputs:
        return classes[0].pairs[0]
    t = largest_ratio(mechanism)
    overlaps = []
    for c in classes:
        levels = {r: _is_high(r, t) for component in c.decomposition.components for r in component[:2]}
        if any(high is None for high in levels.values()):
            return None
        overlaps.append(normal(sp.Add(*(m for a, b, m in c.decomposition.components if levels[a] and levels[b]))))
    try:
        return classes[minimum(overlaps, mechanism.parameters)].pairs[0]
    except UndecidedOrderError:
        return None


def _is_high(ratio: sp.Expr, t: sp.Expr) -> bool | None:
    """Whether a ratio is t rather than 1, None if it is neither."""
    if ratio == 1 or ratio == t:
        return bool(ratio == t and t != 1)
    try:
        return False if is_zero(ratio - 1) else True if is_zero(ratio - t) else None
    except UndecidedOrderError:
        return None
