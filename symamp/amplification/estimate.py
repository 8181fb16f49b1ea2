"""An estimate: a number without a guarantee, and never to be mistaken for an answer."""

from __future__ import annotations

from dataclasses import dataclass

import mpmath


@dataclass(frozen=True)
class Estimate:
    """The value of one analysis, computed in floats or in mpmath: rounding is kept small but is not bounded.

    >>> print(Estimate("delta", mpmath.mpf("8.2e-5"), "numpy", "blanket"))
    delta ~ 8.2e-5 (estimate by numpy, no guarantee; blanket)
    """

    quantity: str
    value: mpmath.mpf
    context: str
    method: str

    @property
    def log10(self) -> float:
        """log10 of the value."""
        return float(mpmath.log10(self.value))

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        shown = mpmath.nstr(self.value, 15)
        return f"{self.quantity} ~ {shown} (estimate by {self.context}, no guarantee; {self.method})"
