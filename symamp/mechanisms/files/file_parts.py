"""What all mechanism files share: parameters, expressions, labels. Their shape has been checked by the schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import sympy as sp

from symamp.algebra.parameter import Parameter
from symamp.errors import ArgumentError, FormatError
from symamp.numbers.enclosure import Point
from symamp.numbers.exact_number import exact_number
from symamp.numbers.expression import parse_expression
from symamp.schemas.validation import check_document, refuse

Symbols = dict[str, sp.Symbol]


def read_document(data: object, schema: str) -> tuple[dict[str, Any], str, tuple[Parameter, ...]]:
    """Return the document, its name and its parameters, after a check of its shape (FormatError)."""
    document = check_document(data, schema)
    if type(document["version"]) is not int:  # to JSON Schema 1.0 is an integer
        refuse("version", document["version"], "1, the only version so far")
    return document, read_label(document["name"], "name"), read_parameters(document.get("parameters", {}))


def read_parameters(declared: dict[str, Any]) -> tuple[Parameter, ...]:
    """Return the declared parameters; bounds may use those that come before."""
    found: list[Parameter] = []
    for name, members in declared.items():
        place = f"parameters[{json.dumps(name)}]"
        symbols = {parameter.name: parameter.symbol for parameter in found}
        lower, upper = (
            read_expression(members[side], f'{place}["{side}"]', symbols, {}) if side in members else None
            for side in ("lower", "upper")
        )
        integer = members.get("integer", False)
        try:
            found.append(Parameter(name, lower, upper, integer))
        except ArgumentError as error:
            raise FormatError(place, str(error.value), error.accepted) from None
    return tuple(found)


def read_expression(
    value: object,
    place: str,
    symbols: Symbols,
    seen: dict[str, sp.Expr],
    points: Sequence[Point] = (),
    probes: Sequence[Point] = (),
) -> sp.Expr:
    """Return the number or expression; ``seen`` remembers what has been parsed.

    A float counts as the shortest decimal that denotes it. ``points`` are admissible values of the symbols, ``probes``
    some at which it must be real and finite.
    """
    if not isinstance(value, str):
        return exact_number(repr(value) if isinstance(value, float) else value, place)
    if value not in seen:
        seen[value] = parse_expression(value, symbols, argument=place, points=points, probes=probes)
    return seen[value]


def read_label(value: str, place: str) -> str:
    """Return a text fit to be a label."""
    return value if value.isprintable() else refuse(place, value, "printable characters")
