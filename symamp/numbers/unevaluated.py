"""Functions that SymPy does not rewrite: binomial coefficients of which it knows no sign, powers left as they are."""

from __future__ import annotations

import math
from typing import Any

import sympy as sp
from sympy.printing.precedence import PRECEDENCE

PRINTABLE_BITS = 13_289
"""Bits of the longest integer that is printed, 10**4000: Python refuses those of more than 4300 digits."""
MOST_FACTORS = 10_000
"""A binomial coefficient of more factors than this is evaluated by log-gamma instead of multiplied out."""
MOST_EXPONENT, _MOST_POWER_BITS = 1000, 4000  # of powers that are multiplied out

# SymPy 1.14 takes ``binomial(D, 3)`` for negative where D is an integer of unknown sign (docs/findings/
# sympy_assumptions.md), and it multiplies ``2**10**9`` out as soon as it sees it.


class binomial(sp.binomial):  # type: ignore[misc]  # noqa: N801  (printed by this name)
    """The number of k-sets of n things: an integer if printable, else the expression itself, without a sign.

    >>> D = sp.Symbol("D", integer=True)
    >>> binomial(10, 3), binomial(D, 3), binomial(D, 3).is_nonnegative, binomial(10**9, 10**8)
    (120, binomial(D, 3), None, binomial(1000000000, 100000000))
    """

    is_number = False  # SymPy takes the sign of a number from a float

    @classmethod
    def eval(cls, n: sp.Expr, k: sp.Expr) -> sp.Expr | None:
        """Return the number for two integers, None for everything else."""
        if not (n.is_Integer and k.is_Integer and n.p >= 0):
            return None
        if not 0 <= k.p <= n.p:
            return sp.S.Zero
        few = min(int(k.p), int(n.p - k.p))
        if few > PRINTABLE_BITS or few * int(n.p).bit_length() > 20 * PRINTABLE_BITS:
            return None
        bits = (math.lgamma(n.p + 1) - math.lgamma(k.p + 1) - math.lgamma(n.p - k.p + 1)) / math.log(2)
        return sp.Integer(math.comb(int(n.p), int(k.p))) if few < 2 or bits < PRINTABLE_BITS else None

    def _eval_is_nonnegative(self) -> None:
        return None


class power(sp.Function):  # type: ignore[misc]  # noqa: N801
    """base**exponent, never multiplied out: for exponents of which only balls can make anything.

    >>> power(2, 10**9) / 3
    2**1000000000/3
    """

    nargs = 2
    is_number = False
    precedence = PRECEDENCE["Pow"]

    def as_power(self) -> sp.Pow:
        """Return the power as SymPy writes it, unevaluated."""
        return sp.Pow(*self.args, evaluate=False)

    def _eval_is_real(self) -> bool:
        return True

    def _sympystr(self, printer: Any) -> str:
        return str(printer._print(self.as_power()))

    def _pretty(self, printer: Any) -> Any:
        return printer._print(self.as_power())

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        inner = str(printer._print(self.as_power()))
        return inner if exp is None else rf"\left({inner}\right)^{{{exp}}}"


def long_power(base: sp.Expr, exponent: int) -> sp.Expr:
    """Return base**exponent, multiplied out only if that is short."""
    return power(base, exponent) if is_large(base, exponent) else sp.Pow(base, exponent)


def is_large(base: sp.Expr, exponent: int) -> bool:
    """Return whether the power is too long to be multiplied out."""
    if isinstance(base, sp.exp) and not base.has(sp.log):
        return False  # exp(x)**n = exp(n*x)
    bits = max(int(base.p).bit_length(), int(base.q).bit_length()) if base.is_Rational else 1
    most = _MOST_POWER_BITS if base in (0, 1, -1) or base.is_Rational else MOST_EXPONENT
    return bits > 1 and abs(exponent) * bits > most if base.is_Rational else abs(exponent) > most
