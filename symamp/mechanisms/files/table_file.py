"""Mechanisms with finitely many inputs and messages, as tables in JSON documents (docs/mechanism_format.md)."""

from __future__ import annotations

import json

import sympy as sp

from symamp.algebra.parameter import admissible_points, probing_points
from symamp.errors import FormatError
from symamp.mechanisms.files.file_parts import read_document, read_expression, read_label
from symamp.mechanisms.finite import FiniteMechanism
from symamp.schemas.validation import refuse

_MOST_ENTRIES = 40_000


def table_from_json(data: object) -> FiniteMechanism:
    """Return the mechanism whose table a decoded JSON document holds.

    Raises FormatError, ExpressionError, and what ``FiniteMechanism`` raises (see ``load_mechanism``).

    >>> table_from_json({
    ...     "format": "symamp-mechanism", "version": 1, "name": "coin", "inputs": ["no", "yes"], "messages": ["0", "1"],
    ...     "table": {"no": {"0": 0.75, "1": 0.25}, "yes": {"0": 0.25, "1": 0.75}}}).blanket("no", "yes").gamma
    1/2
    """
    document, name, parameters = read_document(data, "mechanism")
    inputs, messages = (_labels(document[key], key) for key in ("inputs", "messages"))
    if len(inputs) * len(messages) > _MOST_ENTRIES:
        sizes = f"{len(inputs)} inputs and {len(messages)} messages"
        raise FormatError("table", sizes, f"at most {_MOST_ENTRIES} entries")
    rows = document["table"]
    for x in (*rows, *inputs):
        if (x in rows) != (x in inputs):
            refuse("table", x if x in rows else f"no {x}", "one row for each of the inputs")
    symbols = {parameter.name: parameter.symbol for parameter in parameters}
    points, probes = admissible_points(parameters), probing_points(parameters)
    seen: dict[str, sp.Expr] = {}  # tables repeat themselves, and building an expression is what takes time
    table: dict[str, dict[str, sp.Expr]] = {}
    for x in inputs:
        place = f"table[{json.dumps(x)}]"
        table[x] = {y: sp.Integer(0) for y in messages}
        for y, value in rows[x].items():
            if y not in table[x]:
                refuse(place, y, "keys that are messages")
            table[x][y] = read_expression(value, f"{place}[{json.dumps(y)}]", symbols, seen, points, probes)
    return FiniteMechanism(table, parameters=parameters, name=name)


def _labels(labels: list[str], place: str) -> tuple[str, ...]:
    return tuple(read_label(label, f"{place}[{i}]") for i, label in enumerate(labels))
