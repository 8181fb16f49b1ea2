"""The first check of a document: its size, and its shape against the published JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Never

from symamp.errors import ArgumentError, FormatError, Problem, one_of

_MOST_DEPTH, _MOST_VALUES, _MOST_BITS = 16, 500_000, 4000


def schema_names() -> tuple[str, ...]:
    """Return the names of the published schemas.

    >>> schema_names()
    ('certificate', 'combined', 'family', 'mechanism')
    """
    return tuple(sorted(f.name.removesuffix(".json") for f in files(__package__).iterdir() if f.name.endswith(".json")))


def schema_text(name: str) -> str:
    """Return a published JSON Schema as text; ArgumentError unless the name is one of ``schema_names()``.

    >>> json.loads(schema_text("mechanism"))["required"][:3]
    ['format', 'version', 'name']
    """
    if name not in schema_names():
        raise ArgumentError("schema", name, one_of(schema_names(), name))
    return (files(__package__) / f"{name}.json").read_text(encoding="utf-8")


def check_document(document: object, name: str) -> dict[str, Any]:
    """Return the decoded document, after checking that it is a JSON object of bounded size with the schema's shape.

    Raises FormatError with the place; what is accepted there is the ``description`` that the schema gives it.

    >>> check_document({"format": "symamp-mechanism", "version": 1, "name": ""}, "mechanism")
    Traceback (most recent call last):
    ...
    symamp.errors.FormatError: document: missing key 'inputs'; required are format, version, name, inputs, messages, table
    """  # noqa: E501
    if not isinstance(document, dict):
        refuse("document", document, "an object, as json.loads returns it")
    _check_size(document)
    import fastjsonschema  # its validators take time to import and to build, and few runs read a file

    try:
        _validator(name)(document)
    except fastjsonschema.JsonSchemaValueException as error:
        _explain(error, document)
    return document


@cache
def _validator(name: str) -> Callable[[object], object]:
    import fastjsonschema

    compiled: Callable[[object], object] = fastjsonschema.compile(json.loads(schema_text(name)), use_default=False)
    return compiled


def _check_size(document: object) -> None:
    """Refuse what no JSON file holds, and what is too deep (or contains itself) or too large to be looked at."""
    level, seen = [document], 0
    for _ in range(_MOST_DEPTH):
        seen += len(level)
        if seen > _MOST_VALUES:
            raise FormatError("document", Problem("it is too long"), f"give at most {_MOST_VALUES} values")
        inner: list[object] = []
        for value in level:
            if isinstance(value, dict):
                for key in value:
                    if not isinstance(key, str):
                        refuse("key of the document", key, "text")
                inner += value.values()
            elif isinstance(value, list):
                inner += value
        level = inner
    if level:
        wrong = Problem("lists or objects are nested too deeply")
        raise FormatError("document", wrong, f"use at most {_MOST_DEPTH} levels")


def _explain(error: Any, document: dict[str, Any]) -> Never:
    rule, definition, value = error.rule, error.definition, error.value
    place = _place(document, error.name.removeprefix("data")) or "document"
    if rule == "required":
        missing = next(key for key in definition["required"] if key not in value)
        extra = next((k for k in value if k not in definition.get("properties", value)), None)
        told = f"missing key {missing!r}" + ("" if extra is None else f", and unknown key {extra!r}")
        raise FormatError(place, Problem(told), f"required are {', '.join(definition['required'])}")
    accepted = definition.get("description", "what the schema says")
    if rule == "additionalProperties":
        known, patterns = definition.get("properties", {}), definition.get("patternProperties", {})
        extra = next(k for k in value if k not in known and not any(re.search(p, k) for p in patterns))
        if patterns:
            refuse(f"{place}[{json.dumps(extra)}]", extra, accepted)
        raise FormatError(place, Problem(f"unknown key {extra!r}"), f"the keys are {', '.join(known)}")
    if rule == "uniqueItems":
        twice = next(x for i, x in enumerate(value) if x in value[:i])
        raise FormatError(place, Problem(f"{str(twice)!r} occurs twice"), f"give {accepted}")
    refuse(place, value, accepted)


def _place(value: object, name: str, outer: str = "") -> str | None:
    """Return the place that ``name``, such as .table.a[0], stands for: keys may hold any signs, dots too.

    >>> _place({"table": {"a.b": [1, 2]}}, ".table.a.b[1]")
    'table["a.b"][1]'
    """
    if not name:
        return outer
    if isinstance(value, dict):
        for key, inner in value.items():
            if name.startswith(f".{key}"):
                place = f"{outer}[{json.dumps(key)}]" if outer else key
                found = _place(inner, name[len(key) + 1 :], place)
                if found is not None:
                    return found
    elif isinstance(value, list) and (index := re.match(r"\[(\d+)\]", name)):
        return _place(value[int(index[1])], name[index.end() :], f"{outer}{index[0]}")
    return None


def refuse(place: str, value: object, accepted: str) -> Never:
    """Raise FormatError; containers are named rather than shown, since they may be large or contain themselves."""
    shown = f"a {type(value).__name__}"
    if isinstance(value, str):
        shown = repr(value)
    elif isinstance(value, Decimal | float | None) or (isinstance(value, int) and value.bit_length() < _MOST_BITS):
        shown = str(value)
    elif isinstance(value, list | dict):
        shown = f"{'a list' if isinstance(value, list) else 'an object'} of length {len(value)}"
    raise FormatError(place, shown, accepted)
