"""Whether a smaller budget eps0 is a randomization of a larger one: then privacy can only fall as eps0 grows."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.order import is_zero, sign
from symamp.algebra.parameter import Parameter
from symamp.errors import SymampError, UndecidedOrderError
from symamp.mechanisms.combined import Combined
from symamp.mechanisms.mechanism import Mechanism
from symamp.mechanisms.structures.one_hot import OneHot

_TWO_LEVELS = "a smaller eps0 mixes the report with one that does not depend on the input"
_PARTS = "a smaller eps0 randomizes the report of each part once more"
_BINARY_COORDINATES = "a smaller eps0 randomizes every coordinate of the report once more"


def degradation(family: Mechanism) -> str | None:
    """Return why each member is a randomization of the members with larger eps0; None where this is not proved.

    ``family`` has the parameter eps0 free.

    Guarantee
    ---------
    A text means: for eps0' < eps0 there is one kernel that turns the report of the member with eps0 into that of the
    member with eps0', for every input. So the true delta of n shuffled users does not fall as eps0 grows.
    Proof: docs/proofs/inverse_questions.md.

    >>> import symamp as sa
    >>> degradation(sa.RandomizedResponse(k=3))
    'a smaller eps0 mixes the report with one that does not depend on the input'
    """
    free = [p for p in family.parameters if p.name == "eps0"]
    if not free:
        return None
    budget = free[0].symbol
    if isinstance(family, Combined):
        moving = [p for p in dict.fromkeys(family.parts) if any(q.name == "eps0" for q in p.parameters)]
        return _PARTS if all(degradation(p) for p in moving) else None
    try:
        if isinstance(family, OneHot) and _binary_coordinates(family, budget):
            return _BINARY_COORDINATES
        return _TWO_LEVELS if _two_levels(family, budget) else None
    except (SymampError, NotImplementedError):
        return None


def _two_levels(family: Mechanism, budget: sp.Symbol) -> bool:
    """Whether all densities against one measure are h or l with h/l = e^eps0, and only they depend on eps0."""
    levels: list[sp.Expr] = []
    for orbit in family.orbits(family.pairs()[0]):
        # The numbers of further inputs say which messages there are: they may not move with eps0 either.
        counts = [number for _, number in orbit.rest if number is not None]
        if any(e.has(budget) for e in (orbit.measure, *counts)):
            return False
        if orbit.measure != 0:
            levels += [normal(d) for d in (*orbit.density, *(d for d, _ in orbit.rest))]
    distinct = list(dict.fromkeys(levels))
    if len(distinct) != 2 or any(d == 0 for d in distinct):
        return False
    a, b = distinct
    return any(is_zero(high / low - sp.exp(budget)) for high, low in ((a, b), (b, a)))


def _binary_coordinates(family: OneHot, budget: sp.Symbol) -> bool:
    """Whether both likelihood ratios of a coordinate with two letters move away from 1 as eps0 grows."""
    letters = family.letters()
    if len(letters) != 2:
        return False
    (_, p, q), (_, p1, q1) = sorted(letters, key=lambda letter: -_order(letter.own - letter.other, family.parameters))
    ratios = p / q, q1 / p1
    return all(_order(r - 1, family.parameters) >= 0 for r in ratios) and all(
        _order(sp.diff(r, budget), family.parameters) >= 0 for r in ratios
    )


def _order(expr: sp.Expr, parameters: Sequence[Parameter]) -> int:
    value = normal(expr)
    if value == 0:
        return 0
    found = sign(value, parameters)
    if found not in (-1, 0, 1):
        raise UndecidedOrderError("sign", str(expr), "an expression of one sign")
    return found
