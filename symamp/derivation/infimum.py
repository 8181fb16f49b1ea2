"""Infimum and supremum over inputs of the density on one orbit of messages, by proved comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.order import maximum, minimum, sign
from symamp.algebra.parameter import Parameter
from symamp.derivation.orbit import Orbit
from symamp.errors import UndecidedOrderError


def infimum(orbit: Orbit, parameters: Sequence[Parameter]) -> sp.Expr:
    """Return inf_x R(x)(y) / measure for the messages y of the orbit.

    Raises UndecidedOrderError when no density is proved least, or when the least one belongs to inputs whose number
    is not proved positive.
    """
    sure, possible = densities(orbit, parameters)
    values = list(dict.fromkeys([*sure, *possible]))
    least = values[minimum(values, parameters)]
    if least not in sure:
        number = {normal(d): number for d, number in orbit.rest}[least]
        raise UndecidedOrderError(
            f"infimum on the messages '{orbit.label}'",
            f"the least density {least} is that of {'some' if number is None else number} further inputs",
            f"parameters under which {'such inputs exist' if number is None else f'{number} >= 1'} can be proved: "
            "assume a lower bound",
        )
    return least


def densities(orbit: Orbit, parameters: Sequence[Parameter]) -> tuple[list[sp.Expr], list[sp.Expr]]:
    """Return (sure, possible): densities that some input has on every message of the orbit, and the others listed."""
    sure = [normal(d) for d in orbit.density]
    possible: list[sp.Expr] = []
    for density, number in orbit.rest:
        if number is None or number != 0:
            (sure if number is not None and _at_least_one(number, parameters) else possible).append(normal(density))
    return list(dict.fromkeys(sure)), [d for d in dict.fromkeys(possible) if d not in sure]


def supremum(values: Sequence[sp.Expr], parameters: Sequence[Parameter]) -> sp.Expr:
    """Return the proved largest of some densities."""
    return values[maximum(values, parameters)]


def _at_least_one(number: sp.Expr, parameters: Sequence[Parameter]) -> bool:
    try:
        return sign(number - 1, parameters) >= 0
    except UndecidedOrderError:
        return False
