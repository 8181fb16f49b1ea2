"""Mechanisms from JSON files, format version 1 (docs/mechanism_format.md), and what that of families shares with it.

A file is data: expressions go through ``parse_expression``, nothing is executed, and all sizes are limited.
"""

from __future__ import annotations

import json
import keyword
import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Never

import sympy as sp

from symamp.algebra.parameter import Parameter
from symamp.errors import FormatError
from symamp.numbers.exact_number import exact_number
from symamp.numbers.expression import parse_expression

if TYPE_CHECKING:
    from symamp.mechanisms.described import DescribedFamily
    from symamp.mechanisms.finite import FiniteMechanism

FORMAT, FAMILY_FORMAT, VERSION = "symamp-mechanism", "symamp-family", 1
_MOST_BYTES = 4 * 2**20
_MOST_INPUTS, _MOST_MESSAGES, _MOST_ENTRIES, _MOST_PARAMETERS = 400, 4000, 40_000, 16
_MOST_DIGITS, _MOST_LABEL, _MOST_DESCRIPTION = 1000, 200, 10_000
_REQUIRED, _OPTIONAL = ("format", "version", "name"), ("description", "parameters")
_RESERVED = ("exp", "log", "sqrt", "binomial")


def load_mechanism(path: str | os.PathLike[str]) -> FiniteMechanism | DescribedFamily:
    """Return the mechanism or family that the JSON file describes, checked: rows sum to 1, no entry is negative.

    A file with the format "symamp-mechanism" gives a ``FiniteMechanism``, one with "symamp-family" a
    ``DescribedFamily``, whose sizes may be symbols (docs/family_format.md).

    Raises FormatError for a file that cannot be read or does not have the documented shape, ExpressionError for an
    expression outside the grammar, and what ``FiniteMechanism`` raises for a table that is no local randomizer
    (RowSumError, NegativeProbabilityError, UndecidedOrderError). The place is named, as in ``table["a"]["y"]``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "coin.json")
    ...     _ = file.write_text('''{"format": "symamp-mechanism", "version": 1, "name": "biased coin",
    ...         "inputs": ["no", "yes"], "messages": ["0", "1"],
    ...         "table": {"no": {"0": 0.75, "1": 0.25}, "yes": {"0": 0.25, "1": 0.75}}}''')
    ...     load_mechanism(file).name
    'biased coin'
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise FormatError("path", type(path).__name__, "the path of a JSON file")
    place = _printable(os.fspath(path))
    try:
        # Only regular files: opening a pipe would wait, and a device may never end.
        if not Path(path).is_file():
            raise FormatError("path", place, "an existing file")
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise FormatError("path", place, f"a file of at most {_MOST_BYTES} bytes")
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError("path", place, f"a file in UTF-8 (byte {error.start} is not)") from None
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        why = getattr(error, "strerror", None) or error  # without the path
        raise FormatError("path", place, f"a file that can be read ({why})") from None
    return mechanism_from_json(_decoded(text, place))


def mechanism_from_json(data: object) -> FiniteMechanism | DescribedFamily:
    """Return the mechanism or family that a decoded JSON document describes (``load_mechanism`` says what is raised).

    A float counts as the shortest decimal that denotes it, as it does in a file: 0.1 is 1/10.

    >>> mechanism_from_json({
    ...     "format": "symamp-mechanism", "version": 1, "name": "binary randomized response",
    ...     "parameters": {"eps0": {"lower": "0"}}, "inputs": ["a", "b"], "messages": ["a", "b"],
    ...     "table": {"a": {"a": "exp(eps0)/(exp(eps0)+1)", "b": "1/(exp(eps0)+1)"},
    ...               "b": {"b": "exp(eps0)/(exp(eps0)+1)", "a": "1/(exp(eps0)+1)"}}}).inputs
    ('a', 'b')
    """
    if isinstance(data, dict) and data.get("format") == FAMILY_FORMAT:
        from symamp.mechanisms.family_format import family_from_json

        return family_from_json(data)
    from symamp.mechanisms.finite import FiniteMechanism

    document, name, parameters = read_header(data, FORMAT, ("inputs", "messages", "table"), ())
    inputs = read_labels(document["inputs"], "inputs", _MOST_INPUTS)
    messages = read_labels(document["messages"], "messages", _MOST_MESSAGES)
    if len(inputs) * len(messages) > _MOST_ENTRIES:
        sizes = f"{len(inputs)} inputs and {len(messages)} messages"
        raise FormatError("table", sizes, f"at most {_MOST_ENTRIES} entries")
    rows = read_members(document["table"], "table", inputs, ())
    symbols = {parameter.name: parameter.symbol for parameter in parameters}
    seen: dict[str, sp.Expr] = {}  # tables repeat themselves, and building an expression is what takes time
    table: dict[str, dict[str, sp.Expr]] = {}
    for x in inputs:
        row = read_members(rows[x], f"table[{json.dumps(x)}]", (), messages)
        table[x] = {y: sp.Integer(0) for y in messages}
        for y, value in row.items():
            table[x][y] = read_expression(value, f"table[{json.dumps(x)}][{json.dumps(y)}]", symbols, seen)
    return FiniteMechanism(table, parameters=parameters, name=name)


def read_header(
    data: object, form: str, required: tuple[str, ...], optional: tuple[str, ...]
) -> tuple[dict[str, object], str, tuple[Parameter, ...]]:
    """Return the document, its name and its parameters, after checking the members that all formats share."""
    document = read_members(data, "document", (*_REQUIRED, *required), (*_OPTIONAL, *optional))
    if document["format"] != form:
        refuse("format", document["format"], f'"{FORMAT}" or "{FAMILY_FORMAT}"')
    if type(document["version"]) is not int or document["version"] != VERSION:
        refuse("version", document["version"], f"{VERSION}, the only version so far")
    name = read_label(document["name"], "name")
    description = document.get("description", "")
    if not isinstance(description, str) or len(description) > _MOST_DESCRIPTION:
        refuse("description", description, f"text of at most {_MOST_DESCRIPTION} characters")
    return document, name, read_parameters(document.get("parameters", {}))


def _decoded(text: str, place: str) -> object:
    """Return the JSON document, with decimals kept exact; unlike ``json``, refuse all that RFC 8259 leaves open."""

    def number(digits: str) -> int:
        if len(digits) > _MOST_DIGITS:
            raise FormatError(place, digits, f"integers of at most {_MOST_DIGITS} digits")
        return int(digits)

    def constant(word: str) -> Never:
        raise FormatError(place, word, "finite numbers")

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:
                raise FormatError(place, f"the key {_printable(key)} twice", "each key once in an object")
            found[key] = value
        return found

    try:
        return json.loads(
            text, parse_float=Decimal, parse_int=number, parse_constant=constant, object_pairs_hook=members
        )
    except json.JSONDecodeError as error:
        raise FormatError(place, f"{error.msg} in line {error.lineno}", "a JSON document") from None
    except RecursionError:
        raise FormatError(place, "lists or objects nested too deeply", "a JSON document") from None


def read_members(value: object, place: str, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, object]:
    """Return the object, after checking that it has the required keys and no unknown ones."""
    if not isinstance(value, dict):
        refuse(place, value, "an object")
    known = {*required, *optional}
    for key in value:
        if key not in known:
            refuse(place, key, "the keys " + _listed((*required, *optional)))
    for key in required:
        if key not in value:
            raise FormatError(place, f"no {_printable(key)}", "the keys " + _listed(required))
    return value


def read_parameters(value: object) -> tuple[Parameter, ...]:
    """Return the declared parameters; bounds may use those that come before."""
    if not isinstance(value, dict) or len(value) > _MOST_PARAMETERS:
        refuse("parameters", value, f"an object of at most {_MOST_PARAMETERS} parameters")
    found: list[Parameter] = []
    for name, content in value.items():
        place = f"parameters[{json.dumps(name) if isinstance(name, str) else '?'}]"
        if not isinstance(name, str) or keyword.iskeyword(name) or name in _RESERVED or not _is_name(name):
            refuse(place, name, "as name an ASCII identifier of at most 32 characters, no function or Python keyword")
        members = read_members(content, place, (), ("lower", "upper", "integer"))
        integer = members.get("integer", False)
        if not isinstance(integer, bool):
            refuse(f'{place}["integer"]', integer, "true or false")
        # A bound may use the parameters declared before, as Parameter says.
        symbols = {parameter.name: parameter.symbol for parameter in found}
        lower, upper = (
            read_expression(members[side], f'{place}["{side}"]', symbols, {}) if side in members else None
            for side in ("lower", "upper")
        )
        gap = sp.Integer(1) if lower is None or upper is None else upper - lower
        if (gap == 0 and not integer) or (gap.is_Rational and gap.p < 0):
            raise FormatError(place, f"lower {lower}, upper {upper}", "a range that is not empty")
        found.append(Parameter(name, lower, upper, integer))
    return tuple(found)


def read_expression(value: object, place: str, symbols: dict[str, sp.Symbol], seen: dict[str, sp.Expr]) -> sp.Expr:
    """Return the number or expression; ``seen`` remembers what has been parsed."""
    if isinstance(value, str):
        if value not in seen:
            seen[value] = parse_expression(value, symbols, argument=place)
        return seen[value]
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        refuse(place, value, "an expression in a string, or a number")
    return exact_number(repr(value) if isinstance(value, float) else value, place)


def read_labels(value: object, place: str, most: int) -> tuple[str, ...]:
    """Return a list of different labels."""
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        refuse(place, value, f"a list of 1 to {most} labels")
    labels = tuple(read_label(label, f"{place}[{i}]") for i, label in enumerate(value))
    if len(set(labels)) < len(labels):
        twice = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise FormatError(place, f"{twice} twice", "each label once")
    return labels


def read_label(value: object, place: str) -> str:
    """Return a text fit to be a label."""
    if not isinstance(value, str) or not 1 <= len(value) <= _MOST_LABEL or not value.isprintable():
        refuse(place, value, f"1 to {_MOST_LABEL} printable characters")
    return value


def _is_name(name: str) -> bool:
    return name.isascii() and name.isidentifier() and len(name) <= 32


def refuse(place: str, value: object, accepted: str) -> Never:
    """Raise FormatError; containers are named rather than shown, since they may be large or contain themselves."""
    shown = f"a {type(value).__name__}"
    if isinstance(value, str):
        shown = _printable(value)
    elif isinstance(value, Decimal | float | None) or (isinstance(value, int) and value.bit_length() < 1000):
        shown = str(value)
    elif isinstance(value, list | dict):
        shown = f"a {'list' if isinstance(value, list) else 'n object'} of length {len(value)}"
    raise FormatError(place, shown, accepted)


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _listed(keys: tuple[str, ...]) -> str:
    return ", ".join(keys[:20]) + (", ..." if len(keys) > 20 else "")
