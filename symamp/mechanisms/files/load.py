"""Mechanisms from JSON files, format version 1 (docs/mechanism_format.md): the file, the document, the reader.

A file is data: expressions go through ``parse_expression``, nothing is executed, and all sizes are limited.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Never

from symamp.errors import FormatError
from symamp.mechanisms.files.combined_file import FORMAT, combined_from_json
from symamp.mechanisms.files.family_file import family_from_json
from symamp.mechanisms.files.table_file import table_from_json
from symamp.mechanisms.mechanism import Mechanism
from symamp.schemas.validation import printable

_MOST_BYTES = 4 * 2**20
_MOST_DIGITS = 1000
_READERS: dict[object, Callable[[object], Any]] = {
    "symamp-mechanism": table_from_json,
    "symamp-family": family_from_json,
    FORMAT: lambda data: combined_from_json(data, mechanism_from_json),
}


def load_mechanism(path: str | os.PathLike[str]) -> Any:
    """Return the mechanism or family that the JSON file describes, checked: rows sum to 1, no entry is negative.

    A file with the format "symamp-mechanism" gives a ``FiniteMechanism``, one with "symamp-family" a
    ``DescribedFamily``, whose sizes may be symbols (docs/family_format.md), and one with "symamp-combined" a joint,
    parallel or sampled mechanism (docs/combined_format.md).

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
    place = printable(os.fspath(path))
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


def mechanism_from_json(data: object) -> Any:
    """Return the mechanism or family that a decoded JSON document describes (``load_mechanism`` says what is raised).

    A float counts as the shortest decimal that denotes it, as it does in a file: 0.1 is 1/10.

    >>> mechanism_from_json({
    ...     "format": "symamp-mechanism", "version": 1, "name": "binary randomized response",
    ...     "parameters": {"eps0": {"lower": "0"}}, "inputs": ["a", "b"], "messages": ["a", "b"],
    ...     "table": {"a": {"a": "exp(eps0)/(exp(eps0)+1)", "b": "1/(exp(eps0)+1)"},
    ...               "b": {"b": "exp(eps0)/(exp(eps0)+1)", "a": "1/(exp(eps0)+1)"}}}).inputs
    ('a', 'b')
    """
    form = data.get("format") if isinstance(data, dict) else None
    found: Mechanism = _READERS.get(form if isinstance(form, str) else None, table_from_json)(data)
    return found


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
                raise FormatError(place, f"the key {printable(key)} twice", "each key once in an object")
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
