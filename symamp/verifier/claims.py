"""The claim of a certificate: whole, with both ends rounded outward, and whose guarantee it is.

What the certificate says without proof is printed apart, with every sign escaped that is not plain ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, NamedTuple

from flint import arb, fmpq

from .check import Check, working
from .documents import CrossedEnds, require, shaped

Number = Any
_DIGITS, _MOST_TEXT, _MOST_SHOWN, _MOST_NAMES = 10, 60, 120, 8
"""Of what is printed: digits of a number, signs of a formula and of a text that the document gives, and names."""
_PLAIN = re.compile(r"[0-9a-zE+\-*/() ]+", re.ASCII)
_MOST_BITS = 4096
"""Of a fraction that is printed as what it is."""
_DECIMALS = Context(_DIGITS + 1, Emin=MIN_EMIN, Emax=MAX_EMAX)
_NUMBER = re.compile(r"(-?\d+)(?:\.(\d*))?(?:e([+-]?\d+))?")


class Claim(NamedTuple):
    """What a certificate claims: the quantity, the key of what is given, both ends and what is given as numbers."""

    is_epsilon: bool
    key: str
    lower: Number
    upper: Number
    at: Number

    @staticmethod
    def of(check: Check, data: Any, most: Number) -> Claim:
        """Return a claim whose numbers are in their range, an eps below ``most``."""
        is_epsilon = data.get("quantity") == "epsilon"
        key = "delta" if is_epsilon else "eps"
        shaped(data, dict.fromkeys(("quantity", "lower", "upper", key), str), "claim")
        require(data["quantity"] in ("epsilon", "delta"), "claim: another quantity")
        with working(256):
            lower, upper, at = (check.number(data[x]) for x in ("lower", "upper", key))
            require(0 < at < 1 if is_epsilon else 0 <= at < most, "claim: a number out of range")
            # All are false of what is no number.
            good = lower >= 0 and upper >= 0 and (is_epsilon or (lower <= 1 and upper <= 1))
            require(good, "claim: a number out of range")
            if lower > upper:
                raise CrossedEnds("claim: the lower end is above the upper end")
        return Claim(is_epsilon, key, lower, upper, at)

    def told(self, data: Any) -> tuple[str, str]:
        """Return the ends, and what is given, in words."""
        quantity, given_ = ("epsilon" if self.is_epsilon else "delta"), given(data[self.key], self.at)
        return f"{quantity} in {between(self.lower, self.upper)}", f"{self.key} = {given_}"


def outward(x: Number, up: bool) -> str:
    """Return a decimal number that is not below (up) or not above x, of ten digits; x itself where that has few.

    >>> from flint import fmpq
    >>> outward(fmpq(1, 3), True), outward(fmpq(1, 3), False), outward(fmpq(1, 4), True)
    ('0.3333333334', '0.3333333333', '0.25')
    """
    if x == 0:
        return "0"
    with working(256):
        if x == arb("inf"):
            return "inf"
        exact = isinstance(x, fmpq) and x.p.bit_length() + x.q.bit_length() < _MOST_BITS
        end = x if exact else arb(x).upper() if up else arb(x).lower()
        # The nearest number of ten digits is on one side or the other; so is the next one.
        found = _NUMBER.fullmatch(arb(end).str(_DIGITS, radius=False))
        if found is None:
            return "some number"
        digits, power = int(found[1] + (found[2] or "")), int(found[3] or 0) - len(found[2] or "")
        scale = max(_DIGITS - len(str(abs(digits))), 0)
        near, power = digits * 10**scale, power - scale

        def reaches(near: int) -> bool:
            value: Number = arb(f"{near}e{power}")
            if exact:
                value = fmpq(near * 10 ** max(power, 0), 10 ** max(-power, 0))
            return bool(value >= end if up else value <= end)

        while not reaches(near):
            near += 1 if up else -1
    shown = _DECIMALS.normalize(Decimal(f"{near}e{power}"))
    return f"{shown:f}" if -7 <= shown.adjusted() <= 15 else f"{shown:e}"  # plain unless that is long


def between(lower: Number, upper: Number) -> str:
    """Return a bracket in decimal numbers, rounded outward."""
    return f"[{outward(lower, False)}, {outward(upper, True)}]"


def given(text: str, value: Number) -> str:
    """Return what a claim supposes as an exact text, or between decimal numbers where that is long.

    Only the signs of expressions that have been read are printed.
    """
    if len(text) <= _MOST_TEXT and _PLAIN.fullmatch(text):
        return text
    return f"a number in {between(value, value)}"


def quoted(text: Any) -> str:
    """Return an unchecked text in quotation marks, on one line and in ASCII: no sign of it moves a cursor."""
    text = text if isinstance(text, str) else str(text)
    return ascii(text[:_MOST_SHOWN]) + (f" and {len(text) - _MOST_SHOWN} more signs" if len(text) > _MOST_SHOWN else "")


def some(names: Iterable[str]) -> str:
    """Return different texts, each in quotation marks; of many the first ones and how many more there are."""
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return ", ".join(quoted(name) for name in found[:_MOST_NAMES]) + more
