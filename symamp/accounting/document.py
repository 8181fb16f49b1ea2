"""A profile as a document: exact levels and bounds, out and in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import sympy as sp
from flint import fmpq

from symamp.accounting.curve_points import CurvePoint
from symamp.accounting.given import GivenRound
from symamp.derivation.crossing import number
from symamp.errors import FormatError
from symamp.numbers.arguments import budget
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.exact_number import exact_number
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.surroundings import at_precision

FORMAT, VERSION = "symamp-privacy-profile", 1
_MOST, _BITS = 100_000, 128


def to_document(text: str, points: Iterable[CurvePoint]) -> dict[str, Any]:
    """Return upper bounds on a profile as JSON-ready data: pairs (E, bound) as fractions in base 16.

    >>> to_document("a round", [CurvePoint(fmpq(3, 2), fmpq(0), fmpq(1, 16))])["points"]
    [['3/2', '1/10']]
    """
    pairs = [[_hex(p.level), _hex(p.high)] for p in points]
    return {"format": FORMAT, "version": VERSION, "round": text, "base": 16, "points": pairs}


def from_document(data: Mapping[str, Any]) -> GivenRound:
    """Return the round of a document. Raises FormatError if it is none.

    >>> from_document(to_document("a round", [CurvePoint(fmpq(3, 2), fmpq(0), fmpq(1, 16))])).points[0].high
    1/16
    """
    if not isinstance(data, Mapping) or (data.get("format"), data.get("version"), data.get("base")) != (
        FORMAT,
        VERSION,
        16,
    ):
        raise FormatError("profile", "a document of another kind", f"format {FORMAT}, version {VERSION}, base 16")
    pairs, text = data.get("points"), data.get("round")
    if not isinstance(pairs, list) or not 0 < len(pairs) <= _MOST or not isinstance(text, str):
        raise FormatError("profile", "no points", f"a name, and 1 to {_MOST} points [E, bound]")
    if not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
        raise FormatError("profile", "a point of another shape", "pairs [E, bound]")
    return given_round([(_fraction(e), _fraction(d)) for e, d in pairs], text)


def given_round(values: Iterable[tuple[fmpq, fmpq]], text: str) -> GivenRound:
    """Return the round with upper bounds at levels E >= 1, checked and sorted."""
    points = tuple(CurvePoint(e, fmpq(0), min(d, fmpq(1))) for e, d in sorted(values))
    good = all(a.level < b.level for a, b in pairwise(points))
    if not (points and good and points[0].level >= 1 and all(p.high >= 0 for p in points)):
        raise FormatError("profile", "no profile", "different levels eps >= 0, with bounds in [0, 1]")
    return GivenRound(points, text)


def points_of_profile(points: Iterable[tuple[object, object]]) -> list[tuple[fmpq, fmpq]]:
    """Return (E, delta) for pairs (eps, delta); e^eps is rounded up, where the bound holds all the more."""
    return [(_exponential(budget(eps)), _bound(delta)) for eps, delta in points]


def _exponential(eps: sp.Expr) -> fmpq:
    e = sp.exp(eps)
    if e.is_Rational:
        return fmpq_of(e)
    with at_precision(_BITS):
        return Dyadic.of(number(e)().upper()).fraction


def _bound(delta: object) -> fmpq:
    value = exact_number(delta, "delta")
    if not (value.is_Rational and 0 <= value <= 1):
        raise FormatError("delta", str(delta), "a rational number in [0, 1]")
    return fmpq_of(value)


def _hex(x: fmpq) -> str:
    p, q = int(x.p), int(x.q)
    return f"{p:x}" if q == 1 else f"{p:x}/{q:x}"


def _fraction(text: object) -> fmpq:
    match = re.fullmatch(r"([0-9a-f]+)(?:/([0-9a-f]+))?", text) if isinstance(text, str) else None
    q = int(match[2], 16) if match and match[2] else 1
    if match is None or q == 0:
        raise FormatError("profile", text, "fractions in base 16, such as 3/2")
    return fmpq(int(match[1], 16), q)
