"""The variation-ratio parameters (p, beta, q) of a mechanism (Wang 2023), as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.order import maximum, sign
from symamp.algebra.parameter import Parameter
from symamp.derivation.decomposition import Decomposition
from symamp.derivation.derived import derived
from symamp.derivation.infimum import infimum
from symamp.derivation.local_budget import compared_ratio, largest_ratio
from symamp.derivation.pairs import pair_classes
from symamp.derivation.randomizer import LocalRandomizer


class VariationRatio(NamedTuple):
    """Of the pairs x0, x1 that are compared, and of any third input x.

    p: largest ratio R(x0)/R(x1); beta: largest total variation of a pair; q: largest ratio of either to any R(x).
    """

    p: sp.Expr
    beta: sp.Expr
    q: sp.Expr


@derived
def variation_ratio(mechanism: LocalRandomizer) -> VariationRatio:
    """Return (p, beta, q), each the maximum over the pairs that the description lists.

    p and q are ``oo`` when a message has probability 0 on one input and not on another.
    Raises UndecidedOrderError if an order cannot be proved.
    """
    parameters = mechanism.parameters
    if mechanism.is_composed:
        distances = [_distance(c.decomposition, parameters) for c in pair_classes(mechanism)]
        return VariationRatio(compared_ratio(mechanism), _largest(distances, parameters), largest_ratio(mechanism))
    ratios: list[sp.Expr] = []
    variations: list[sp.Expr] = []
    reach: list[sp.Expr] = []
    for pair in mechanism.pairs():
        variation = sp.Integer(0)
        for orbit in mechanism.orbits(pair):
            if orbit.measure == 0:
                continue
            a, b = (normal(d) for d in orbit.density)
            order = 0 if a == b else sign(a - b, parameters)
            high, low = (a, b) if order >= 0 else (b, a)
            variation += orbit.measure * (high - low) / 2
            if high != 0:
                ratios.append(sp.oo if low == 0 else normal(high / low))
                least = infimum(orbit, parameters)
                reach.append(sp.oo if least == 0 else normal(high / least))
        variations.append(normal(variation))
    return VariationRatio(
        _largest(ratios, parameters),
        _largest(variations, parameters),
        _largest([*reach, largest_ratio(mechanism)], parameters),
    )


def _distance(found: Decomposition, parameters: Sequence[Parameter]) -> sp.Expr:
    """Return the total variation of A0 and A1 from the components of their triple."""
    excess = [m * (a - b) for a, b, m in found.components] + [a - b for a, b in found.singular]
    return normal(sp.Add(*(e for e in excess if e != 0 and sign(e, parameters) > 0)))


def _largest(values: list[sp.Expr], parameters: Sequence[Parameter]) -> sp.Expr:
    distinct = list(dict.fromkeys(values))
    return sp.oo if sp.oo in distinct else distinct[maximum(distinct, parameters)]
