"""Whether a smaller budget eps0 is a randomization of a larger one: then privacy can only fall as eps0 grows."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.order import is_zero, sign
from symamp.algebra.parameter import Parameter
from symamp.derivation.randomizer import LocalRandomizer
from symamp.errors import SymampError, UndecidedOrderError, shown

_TWO_LEVELS = "a smaller eps0 mixes the report with one that does not depend on the input"


def free_budget(parameters: Sequence[Parameter]) -> sp.Symbol | None:
    """Return the symbol of the parameter eps0, None if it is fixed."""
    return next((p.symbol for p in parameters if p.name == "eps0"), None)


def two_levels_degrade(family: LocalRandomizer) -> str | None:
    """Return that the members are mixtures, if all densities against one measure are h or l with h/l = e^eps0."""
    budget = free_budget(family.parameters)
    try:
        return _TWO_LEVELS if budget is not None and _two_levels(family, budget) else None
    except (SymampError, NotImplementedError):
        return None


def _two_levels(family: LocalRandomizer, budget: sp.Symbol) -> bool:
    """Whether there are two levels of ratio e^eps0, and only they depend on eps0."""
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


def is_wider_with_budget(
    letters: Sequence[tuple[sp.Expr, sp.Expr]], parameters: Sequence[Parameter], budget: sp.Symbol
) -> bool:
    """Return whether both ratios of two letters (own, other) are proved to move away from 1 as eps0 grows."""
    try:
        (p, q), (p1, q1) = sorted(letters, key=lambda letter: -_order(letter[0] - letter[1], parameters))
        ratios = p / q, q1 / p1
        return all(_order(r - 1, parameters) >= 0 and _order(sp.diff(r, budget), parameters) >= 0 for r in ratios)
    except (SymampError, NotImplementedError):
        return False


def _order(expr: sp.Expr, parameters: Sequence[Parameter]) -> int:
    value = normal(expr)
    if value == 0:
        return 0
    found = sign(value, parameters)
    if found not in (-1, 0, 1):
        raise UndecidedOrderError("sign", shown(expr), "an expression of one sign")
    return found
