"""The shuffle index chi of a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import sympy as sp

from symamp.algebra.arrangement import arranged
from symamp.algebra.normal_form import normal, quotient
from symamp.algebra.order import maximum, sign
from symamp.algebra.parameter import Parameter
from symamp.derivation.derived import derived
from symamp.derivation.pairs import pair_classes
from symamp.derivation.randomizer import LocalRandomizer
from symamp.derivation.same_value import compared, inverse_root
from symamp.errors import UndecidedOrderError


def inverse_square(components: tuple[tuple[sp.Expr, sp.Expr, sp.Expr], ...]) -> sp.Expr:
    """Return chi^-2 = sum of mass * (r0 - r1)^2 of a component list, in normal form."""
    return normal(sp.Add(*(m * (r0 - r1) ** 2 for r0, r1, m in components)))


@derived
def shuffle_index(mechanism: LocalRandomizer) -> sp.Expr:
    """Return the least chi over ordered pairs; 0 where a message names its sender; Min(...) if undecided."""
    classes = pair_classes(mechanism)
    if any(a != b for c in classes for a, b in c.decomposition.singular):
        return sp.Integer(0)
    values = list(dict.fromkeys(inverse_square(c.decomposition.components) for c in classes))
    with suppress(UndecidedOrderError):
        values = [values[maximum(values, mechanism.parameters)]]
    roots = [sp.oo if v == 0 else _inverse_root(v, mechanism.parameters) for v in values]
    return roots[0] if len(roots) == 1 else sp.Min(*(r for r in roots if r is not sp.oo), evaluate=False)


def _inverse_root(value: sp.Expr, parameters: Sequence[Parameter]) -> sp.Expr:
    """Return value^(-1/2) for a positive value, with squares taken out of the root where their sign is proved."""
    content, factors = quotient(value).factored
    outside, inside = sp.Integer(1), 1 / content
    for base, exponent in factors:
        pairs = int(exponent / 2)  # towards 0: x**(-1/2) stays below the root
        inside *= base ** (2 * pairs - exponent)
        outside *= _absolute(base, parameters) ** -pairs
    written = (outside * sp.sqrt(x) for x in (inside, arranged(inside, tuple(parameters))))
    return compared(min(written, key=lambda e: len(str(e))), value, parameters, inverse_root)


def _absolute(base: sp.Expr, parameters: Sequence[Parameter]) -> sp.Expr:
    try:
        return base if sign(base, parameters) >= 0 else -base
    except UndecidedOrderError:
        return sp.Abs(base, evaluate=False)
