"""Integrals of a density in balls: by an antiderivative whose derivative is proved, else by quadrature."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

import sympy as sp
from flint import acb, arb
from sympy.polys.polyerrors import BasePolynomialError

from symamp.algebra.order import is_zero
from symamp.derivation.crossing import number
from symamp.errors import SymampError, UndecidedOrderError
from symamp.evaluation.law import Number
from symamp.mechanisms.continuous.resolved import Y
from symamp.numbers.holomorphic import Holomorphic
from symamp.numbers.surroundings import at_precision

_FAR, _SMALL = 2**14, 2.0**-200
_OF_SYMPY = (NotImplementedError, ValueError, TypeError, AttributeError, RecursionError)


@lru_cache(maxsize=1024)
def antiderivative(density: sp.Expr) -> sp.Expr | None:
    """Return a formula whose derivative is proved to be the density, None if SymPy finds none, or none that is proved.

    >>> antiderivative(sp.exp(-Y))
    -exp(-y)
    """
    with suppress(SymampError, BasePolynomialError, *_OF_SYMPY):
        # Constants such as erf(1), and products of exponentials, lead SymPy astray.
        constant, moving = density.as_independent(Y, as_Add=False)
        found = constant * sp.integrate(sp.powsimp(moving, combine="exp"), Y)
        if not found.has(sp.Integral) and is_zero(sp.diff(found, Y) - density):
            Holomorphic(found, Y)  # functions that balls do not know are refused here
            return found
    return None


def integral(density: sp.Expr, start: sp.Expr | Number, end: sp.Expr | Number) -> Number:
    """Return the integral between two messages as a function that gives a ball at the ambient precision.

    An end may be infinite where the antiderivative has the limit 0 there, as that of an exponential has.
    Raises UndecidedOrderError for other infinite ends.

    >>> float(integral(sp.exp(-Y), sp.Integer(0), sp.oo)())
    1.0
    """
    if density == 0:
        return lambda: arb(0)
    found = antiderivative(density)
    if found is None:
        if any(isinstance(e, sp.Expr) and e.is_infinite for e in (start, end)):
            raise UndecidedOrderError("density", str(density), "a tail with an antiderivative that SymPy finds")
        return _quadrature(Holomorphic(density, Y), _finite(start), _finite(end))
    compiled = Holomorphic(found, Y)
    ends = [_end(compiled, e) for e in (start, end)]
    return lambda: ends[1]() - ends[0]()


def _finite(end: sp.Expr | Number) -> Number:
    return number(end) if isinstance(end, sp.Expr) else end


def _end(compiled: Holomorphic, end: sp.Expr | Number) -> Number:
    if isinstance(end, sp.Expr) and end.is_infinite:
        with at_precision(256):
            far = [compiled(acb(_FAR * k if end is sp.oo else -_FAR * k)) for k in (1, 2)]
        if not all(abs(v).upper() < _SMALL for v in far):
            raise UndecidedOrderError("density", str(compiled.formula), "a tail that falls like an exponential")
        return lambda: arb(0)
    place = _finite(end)
    return lambda: compiled(acb(place())).real


def _quadrature(f: Holomorphic, start: Number, end: Number) -> Number:
    def integrand(y: acb, _: bool) -> acb:
        return f(y)

    return lambda: acb.integral(integrand, acb(start()), acb(end())).real


def masses_beyond(densities: tuple[sp.Expr, sp.Expr, sp.Expr]) -> Callable[[arb], tuple[arb, arb, arb]] | None:
    """Return the masses beyond a message, up to constants, as a function of it; None if a formula is missing."""
    found = [antiderivative(d) for d in densities]
    if any(f is None for f in found):
        return None
    first, second, third = (Holomorphic(f, Y) for f in found)
    return lambda y: (-first(acb(y)).real, -second(acb(y)).real, -third(acb(y)).real)
