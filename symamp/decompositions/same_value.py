"""Formulas that users get, compared in balls with what they were derived from: no rewriting by SymPy is trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Never

import sympy as sp

from symamp.errors import Problem, VerificationError
from symamp.formulas.parameter import Parameter, admissible_points
from symamp.numbers.reading import Formula, difference, from_sympy

_CHECK_POINTS = 3  # admissible values of the parameters at which formulas are compared


class _NoValueError(Exception):
    """A part, such as a maximum, that has no value in balls."""


def log(part: Formula) -> Formula:
    """Return the logarithm of a formula, as it is written."""
    return Formula("log", (part,))


def inverse_root(part: Formula) -> Formula:
    """Return one over the root of a formula, as it is written."""
    return Formula("**", (part, Formula("number", number=Fraction(-1, 2))))


def compared(
    found: sp.Expr, derived: sp.Expr, parameters: Sequence[Parameter], function: Callable[[Formula], Formula]
) -> sp.Expr:
    """Return ``found`` if its balls agree with those of a function of what was derived, at admissible points.

    Formulas with a part that has no value in balls, such as a maximum that is left open, are returned as they are.
    Raises VerificationError if the balls are apart.

    >>> x = Parameter("x", lower=sp.Integer(1))
    >>> compared(2 * sp.log(x.symbol), x.symbol**2, [x], log)
    2*log(x)
    >>> compared(sp.log(x.symbol), x.symbol**2, [x], log)
    Traceback (most recent call last):
    ...
    symamp.errors.VerificationError: formula: log(x) differs from log of x**2: another ...; please report this
    """
    try:
        read, written = (from_sympy(e, _refuse) for e in (found, derived))
    except (_NoValueError, RecursionError):
        return found
    points = admissible_points(parameters, _CHECK_POINTS) if parameters else [{}]
    wrong = difference(function(written), read, points, least=0)
    if wrong:
        differs = Problem(f"{found} differs from {function.__name__} of {derived}: {wrong}")
        raise VerificationError("formula", differs, "please report this")
    return found


def _refuse(part: sp.Basic) -> Never:
    raise _NoValueError(part)
