"""Numbers and expressions as the texts of a certificate: exact, and short to check."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import sympy as sp
from flint import fmpq
from sympy.printing.str import StrPrinter

from symamp.decompositions.to_law import level_of
from symamp.errors import PrecisionError, Problem
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.limits import EFFORTS
from symamp.verifier import verify
from symamp.verifier.certificate import FORMAT, VERSION

_LEAST_HEX = 10**4000
"""From here on integers are written in base 16: Python reads decimal ones of up to 4300 digits only."""
THOROUGH = f"with effort='thorough': its certificates are verified with --patience {int(EFFORTS['thorough'])}"
"""What to ask instead of what takes the verifier too long."""
_SPARE_BITS = 52
"""By two to minus this, relatively, points of curves are moved outward: their evaluations are repeated with other
roundings."""


def patience(effort: str) -> int:
    """Return how many times the usual work the verifier may take for an answer of this effort."""
    return max(int(EFFORTS[effort]), 1)


def accepted(
    documents: Iterable[dict[str, Any]], effort: str, remedy: str, smaller: str | None = None
) -> dict[str, Any]:
    """Return the first document that the verifier accepts, with format and version, or raise PrecisionError.

    What to do is the ``remedy``; of one that is too large what makes it ``smaller``, if that is another.
    """
    for document in documents:
        data = {"format": FORMAT, "version": VERSION, **document}
        verdict = verify(json.dumps(data), patience(effort))
        if verdict.status == "valid":
            return data
        if verdict.error == "TooLarge":  # the next ones are as large, or larger
            more = "operations" in verdict.reason and patience(effort) < patience("thorough")
            remedy = (smaller or remedy) + f", or {THOROUGH}" * more
            break
    raise PrecisionError("certificate", Problem(f"the verifier refuses it: {verdict.reason}"), remedy)


def exact_double(x: float) -> str:
    """Return a double as an exact fraction, inf as "inf".

    >>> exact_double(0.375)
    '3/8'
    """
    return fraction_text(Fraction(x)) if x < inf else "inf"


def expression_text(expr: sp.Expr) -> str:
    """Return an expression as the verifier reads it.

    >>> expression_text(sp.sqrt(2) / (sp.E + 9))
    'sqrt(2)/(E + 9)'
    """
    return str(_Printer().doprint(expr))


class _Printer(StrPrinter):  # type: ignore[misc]
    def _print_Integer(self, expr: sp.Integer) -> str:  # noqa: N802
        return integer_text(int(expr.p))

    def _print_Rational(self, expr: sp.Rational) -> str:  # noqa: N802
        return f"{integer_text(int(expr.p))}/{integer_text(int(expr.q))}"


def fraction_text(x: Any) -> str:
    """Return a fraction of Python or of FLINT as the verifier reads it."""
    p, q = (x.numerator, x.denominator) if isinstance(x, Fraction) else (int(x.p), int(x.q))
    return integer_text(p) if q == 1 else f"{integer_text(p)}/{integer_text(q)}"


def outward(x: Dyadic, *, up: bool) -> fmpq:
    """Return a bound on a divergence that is a little above, or below, this end of an enclosure.

    >>> outward(Dyadic(1), up=True), 1 - outward(Dyadic(1), up=False)
    (1, 1/4503599627370496)
    """
    spare = fmpq(1, 1 << _SPARE_BITS)
    return min(x.fraction * (1 + spare), fmpq(1)) if up else max(x.fraction * (1 - spare), fmpq(0))


def dyadic_text(x: Dyadic) -> str:
    """Return a finite dyadic number as a fraction."""
    assert x.exponent is not None
    shift = 2 ** abs(x.exponent)
    whole = x.exponent >= 0
    return integer_text(x.mantissa * shift) if whole else fraction_text(Fraction(x.mantissa, shift))


def integer_text(x: int) -> str:
    """Return an integer: decimal, or in base 16 where Python would not read it otherwise."""
    return str(x) if abs(x) < _LEAST_HEX else hex(x)


@dataclass(frozen=True)
class At:
    """A level of evaluation: as a law sees it, as an expression (None for the limit of large eps) and as text."""

    level: Level | None
    eps: sp.Expr | None
    text: str

    @staticmethod
    def of(eps: sp.Expr) -> At:
        """Return the level of an exact eps."""
        level = level_of(eps)
        # exp(log(q)) is the one exponential that the verifier knows as a fraction.
        exact = level.rational is not None and level.rational != 1
        return At(level, eps, f"log({fraction_text(level.rational)})" if exact else expression_text(eps))


LIMIT = At(None, None, "inf")
