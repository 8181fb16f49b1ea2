"""The pair of inputs with the largest divergence, and the theorem that proves it."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import sympy as sp
from flint import fmpq

from symamp.decompositions.budget import largest_ratio
from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.pairs import pair_classes
from symamp.decompositions.randomizer import LocalRandomizer
from symamp.errors import UndecidedOrderError
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero, minimum

_MOST_COMPARED_ENTRIES = 400  # of a rational table in which Theorem P is looked for

# ---------------------------- A pair of inputs that is worse than every other one, whatever is multiplied to its ratios


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


# ---------------------------------------- The pair of inputs with the largest blanket divergence, and how that is known


class WorstPair(NamedTuple):
    """The ordered pair of inputs with the largest blanket divergence, whether that is proved, and by what."""

    pair: tuple[str, str]
    proved: bool
    reason: str


def worst_pair(mechanism: LocalRandomizer) -> WorstPair:
    """Return a pair that is worst for every number of users and every level, or else where a search would start.

    Guarantee
    ---------
    If ``proved``, the blanket divergence of every pair of inputs is at most that of this one, for all eps and n.
    Proof: docs/proofs/worst_pair.md, docs/proofs/joint.md.
    """
    found = dominating_pair(mechanism)
    if found is not None:
        if mechanism.is_composed:
            known = "each part has a pair that dominates its others"
        elif len(pair_classes(mechanism)) == 1:
            known = "all pairs have the same components"
        else:
            known = "all ratios are 1 or e^eps0, and this pair overlaps least"
        return WorstPair(found, True, f"{known} (docs/proofs/joint.md)")
    classes = pair_classes(mechanism)
    if not mechanism.lists_all_inputs and len(classes) == 1:
        shown = "the argument in the docstring of the family, which shows no other pair"
        return WorstPair(classes[0].pairs[0], True, shown)
    table = mechanism.numeric
    rows = None if table is None else _rows(table)
    if rows is not None:
        ends = theorem_p(rows)
        if ends is not None:
            pair = (mechanism.inputs[ends[0]], mechanism.inputs[ends[1]])
            return WorstPair(pair, True, "Theorem P, both conditions compared exactly (docs/proofs/worst_pair.md)")
    if len(classes) == 1:
        return WorstPair(classes[0].pairs[0], True, "all pairs of inputs have the same components")
    reason = "no theorem applies: bounds are the largest over all pairs, and this is but one of them"
    return WorstPair(classes[0].pairs[0], False, reason)


def _rows(table: NumericTable) -> list[list[fmpq]] | None:
    """Return the entries of a small rational table, None for others."""
    if not table.is_rational or len(table.inputs) * len(table.messages) > _MOST_COMPARED_ENTRIES:
        return None
    return [[fmpq(table.entry(x, y)) for y in range(len(table.messages))] for x in range(len(table.inputs))]


def theorem_p(rows: list[list[fmpq]]) -> tuple[int, int] | None:
    """Return two inputs that meet both conditions of Theorem P, compared in fractions, None if no two do.

    >>> half, third = fmpq(1, 2), fmpq(1, 3)
    >>> theorem_p([[half, third, 1 - half - third], [third, third, third], [1 - half - third, third, half]])
    (0, 2)
    """
    least = [min(column) for column in zip(*rows, strict=True)]
    if any(m == 0 for m in least):
        return None
    ratios = [[p / m for p, m in zip(row, least, strict=True)] for row in rows]
    places = sorted({r for row in ratios for r in row})
    zero = fmpq(0)
    # Stop-loss transforms are piecewise linear with corners at the ratios: one comparison at each corner is enough.
    losses = [
        [sum((p - u * m for p, m in zip(row, least, strict=True) if p > u * m), zero) for u in places] for row in rows
    ]
    largest = [max(column) for column in zip(*losses, strict=True)]
    ends = [x for x, loss in enumerate(losses) if loss == largest]
    for a in ends:
        for b in ends:
            if a != b and _are_comonotone(ratios[a], ratios[b]):
                return a, b
    return None


def _are_comonotone(up: list[fmpq], down: list[fmpq]) -> bool:
    """Return whether the second list never rises where the first one does."""
    order = sorted(zip(up, (-d for d in down), strict=True))  # where the first list is equal the second one falls
    return all(before <= after for (_, before), (_, after) in pairwise(order))
