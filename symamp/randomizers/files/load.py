"""Mechanisms from JSON files: tables, families, and mechanisms made of others; one reader a format."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Never

import sympy as sp

from symamp.decompositions.decomposition import Component
from symamp.decompositions.randomizer import Orbit
from symamp.errors import ArgumentError, FormatError, Problem, checked_call, one_of
from symamp.formulas.order import sign
from symamp.formulas.parameter import Parameter, admissible_points, probing_points
from symamp.numbers.reading import Point, exact_number, parse_expression
from symamp.numbers.substitution import put as substituted
from symamp.randomizers.catalogue import by_name
from symamp.randomizers.combined import joint, parallel, poisson_subsample
from symamp.randomizers.described import COUNTS, SIZE, DescribedFamily, Description, Other, described_family, normalised
from symamp.randomizers.families.randomized_response import LocalHashing
from symamp.randomizers.finite import FiniteMechanism
from symamp.randomizers.mechanism import Mechanism
from symamp.randomizers.structures import Letter, Share
from symamp.schemas.validation import check_document, refuse

# ---------- What all mechanism files share: parameters, expressions, labels. Their shape has been checked by the schema

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
            raise FormatError(place, error.value, error.accepted) from None
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


# ------------ Mechanisms with finitely many inputs and messages, as tables in JSON documents (docs/mechanism_format.md)

_MOST_ENTRIES = 40_000


def table_from_json(data: object) -> FiniteMechanism:
    """Return the mechanism whose table a decoded JSON document holds."""
    document, name, parameters = read_document(data, "mechanism")
    inputs, messages = (
        [read_label(label, f"{key}[{i}]") for i, label in enumerate(document[key])] for key in ("inputs", "messages")
    )
    if len(inputs) * len(messages) > _MOST_ENTRIES:
        sizes = f"{len(inputs)} inputs and {len(messages)} messages"
        raise FormatError("table", sizes, f"at most {_MOST_ENTRIES} entries")
    rows = document["table"]
    for x in (*rows, *inputs):
        if (x in rows) != (x in inputs):
            told = f"{x!r} has a row and is no input" if x in rows else f"input {x!r} has no row"
            raise FormatError("table", Problem(told), "give one row for each of the inputs")
    symbols = {parameter.name: parameter.symbol for parameter in parameters}
    points, probes = admissible_points(parameters), probing_points(parameters)
    seen: dict[str, sp.Expr] = {}  # tables repeat themselves, and building an expression is what takes time
    table: dict[str, dict[str, sp.Expr]] = {}
    for x in inputs:
        place = f"table[{json.dumps(x)}]"
        table[x] = {y: sp.Integer(0) for y in messages}
        for y, value in rows[x].items():
            if y not in table[x]:
                raise FormatError(place, Problem(f"{y!r} is no message"), f"it takes {one_of(messages, y)}")
            table[x][y] = read_expression(value, f"{place}[{json.dumps(y)}]", symbols, seen, points, probes)
    return FiniteMechanism(table, parameters=parameters, name=name)


# ----------------------------- Mechanisms made of others from JSON documents: format version 1, docs/combined_format.md

_KINDS = ("joint", "parallel", "sampled")
_DEEPEST = 8
FORMAT = "symamp-combined"


def combined_from_json(data: object, read: Callable[[object], Mechanism], depth: int = 0) -> Mechanism:
    """Return the joint, parallel or sampled mechanism that a decoded JSON document describes.

    ``read`` reads the documents of parts that are no combinations themselves. Raises FormatError for a document that
    does not have the documented shape, UnknownMechanismError for a family that there is not, and what ``joint``,
    ``parallel`` and the families raise.
    """
    document, _, _ = read_document(data, "combined")
    kinds = [kind for kind in _KINDS if kind in document]
    if len(kinds) != 1 or depth > _DEEPEST:
        given = f"the keys {', '.join(kinds)} exclude each other" if kinds else "it says nothing to combine"
        deep = f"mechanisms are combined more than {_DEEPEST} deep"
        advice = f"give one of {', '.join(_KINDS)}, at most {_DEEPEST} deep"
        raise FormatError("document", Problem(deep if len(kinds) == 1 else given), advice)
    neighbours = document.get("neighbours", "all")

    def part(value: dict[str, Any], place: str) -> list[Mechanism]:
        if ("family" in value) == ("mechanism" in value):
            raise FormatError(place, sorted(value), "exactly one of the keys family and mechanism")
        numbers = dict(value.get("parameters", {}))
        found: Any
        if "family" in value:
            found = by_name(value["family"])(**numbers)
        else:
            inner = value["mechanism"]
            nested = inner.get("format") == FORMAT
            found = combined_from_json(inner, read, depth + 1) if nested else read(inner)
            found = found.at(**numbers) if numbers else found
        return [found] * value.get("times", 1)

    def one(value: dict[str, Any], place: str) -> Mechanism:
        found = part(value, place)
        return found[0] if len(found) == 1 else joint(found)

    if kinds == ["joint"]:
        parts = [m for i, value in enumerate(document["joint"]) for m in part(value, f"joint[{i}]")]
        return joint(parts, neighbours=neighbours)
    if kinds == ["sampled"]:
        return poisson_subsample(one(document["sampled"]["part"], "sampled"), document["sampled"]["rate"])
    weighted = [(v["weight"], one(v["part"], f"parallel[{i}]")) for i, v in enumerate(document["parallel"])]
    return parallel(weighted, neighbours=neighbours)


# ---------------------------- Families with symbolic sizes from JSON documents: format version 1, docs/family_format.md


def family_from_json(data: object) -> DescribedFamily:
    """Return the family that a decoded JSON document describes, with all parameters free."""
    document, name, parameters = read_document(data, "family")
    reader = _Reader(parameters)
    if "structure" not in document:
        given = {key: document[key] for key in ("size", "orbits", "third", "others") if key in document}
        content = reader.read(given, "")
        found = {**_orbits(content, "orbits", "density"), "others": _others(content.get("others", ()))}
    else:
        ((kind, given),) = document["structure"].items()
        content = reader.read(given, f'structure["{kind}"]')
        if kind == "one-hot":
            found = {"letters": tuple(Letter(**letter) for letter in content["letters"])}
        elif kind == "statistic":
            found = {k: normalised(v) for k, v in _orbits(content, "values", "weights").items()}
        else:
            shares = _hashed(content, parameters) if kind == "hashing" else _shares(content)
            found = {"levels": (content["high"], content["low"]), "shares": tuple(shares)}
    return described_family(Description(name, parameters, content.get("size", ""), **found))


class _Reader:
    """Reads documents whose shape has been checked, over the declared parameters."""

    def __init__(self, parameters: tuple[Parameter, ...]) -> None:
        self.symbols = {p.name: p.symbol for p in parameters}
        self.points = admissible_points(parameters)
        self.seen: dict[str, sp.Expr] = {}

    def read(self, value: Any, place: str, key: str = "") -> Any:
        """Return a part with tuples for lists and expressions for numbers and formulas; ``key`` is what it is."""
        match value:
            case dict():
                return {k: self.read(v, f'{place}["{k}"]' if place else k, k) for k, v in value.items()}
            case list():
                return tuple(self.read(v, f"{place}[{i}]", key) for i, v in enumerate(value))
        if key == "label":
            return read_label(value, place)
        if key in ("size", "attained") or value is None:
            return value
        return read_expression(value, place, self.symbols, self.seen, self.points)


_Shares = Iterator[tuple[tuple[int, int], tuple[Share, ...]]]


def _shares(value: dict[str, Any]) -> _Shares:
    for key, some in value["shares"].items():
        labels = (f": {s['label']}" if "label" in s else "" for s in some)
        found = (Share(label, s["measure"], s["inside"], s["outside"]) for label, s in zip(labels, some, strict=True))
        yield COUNTS[key], tuple(found)


def _hashed(value: dict[str, Any], parameters: tuple[Parameter, ...]) -> _Shares:
    """Yield the shares of local hashing with these symbols: only the mechanism behind the hash differs."""
    size, values = next((p.symbol for p in parameters if p.name == value["size"]), None), value["range"]
    if size is None:
        refuse('structure["hashing"]["size"]', value["size"], SIZE)
    if not values.is_integer or sign(values - 2, parameters) < 0:
        raise FormatError('structure["hashing"]["range"]', str(values), "an integer parameter of at least 2")
    swap = dict(zip((p.symbol for p in LocalHashing.declared[:2]), (values, size), strict=True))
    for counts in COUNTS.values():
        shares = LocalHashing().shares(*counts)
        yield counts, tuple(Share(s[0], *(None if e is None else substituted(e, swap) for e in s[1:])) for s in shares)


def _orbits(value: dict[str, Any], name: str, densities: str) -> dict[str, Any]:
    return {
        field: tuple(
            Orbit(o.get("label", f"{key}[{i}]"), o["measure"], o[densities], o.get("rest", ()))
            for i, o in enumerate(value[key])
        )
        for key, field in ((name, "orbits"), ("third", "third"))
        if key in value
    }


def _others(value: tuple[dict[str, Any], ...]) -> tuple[Other, ...]:
    found: dict[str, Other] = {}
    for i, other in enumerate(value):
        name = other["label"]
        if name in (*found, "x0", "x1"):
            refuse(f'others[{i}]["label"]', name, "another label than those before, and than x0 and x1")
        found[name] = Other(name, tuple(Component(*atom) for atom in other["law"]), other.get("attained", False))
    return tuple(found.values())


# ---------- Mechanisms from JSON files, format version 1 (docs/mechanism_format.md): the file, the document, the reader

# A file is data: expressions go through ``parse_expression``, nothing is executed, and all sizes are limited.

_MOST_BYTES = 4 * 2**20
_MOST_DIGITS = 1000


@checked_call
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
    place = os.fspath(path)
    try:
        # Only regular files: opening a pipe would wait, and a device may never end.
        if not Path(path).is_file():
            raise FormatError("path", Problem(f"there is no file {place}"), "give the path of an existing file")
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise FormatError("path", place, f"a file of at most {_MOST_BYTES} bytes")
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError("path", Problem(f"byte {error.start} of {place} is not UTF-8"), "save it in UTF-8") from None
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        why = getattr(error, "strerror", None) or error  # without the path
        raise FormatError("path", Problem(f"{place} cannot be read: {why}"), "name another file") from None
    return mechanism_from_json(_decoded(text, place))


@checked_call
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


_READERS: dict[object, Callable[[object], Any]] = {
    "symamp-mechanism": table_from_json,
    "symamp-family": family_from_json,
    FORMAT: lambda data: combined_from_json(data, mechanism_from_json),
}


def _decoded(text: str, place: str) -> object:
    """Return the JSON document, with decimals kept exact; unlike ``json``, refuse all that RFC 8259 leaves open."""

    def number(digits: str) -> int:
        if len(digits) > _MOST_DIGITS:
            raise FormatError(place, digits, f"an integer of at most {_MOST_DIGITS} digits")
        return int(digits)

    def constant(word: str) -> Never:
        raise FormatError(place, word, "a finite number")

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:
                raise FormatError(place, Problem(f"the key {key!r} occurs twice"), "give it once")
            found[key] = value
        return found

    try:
        return json.loads(
            text, parse_float=Decimal, parse_int=number, parse_constant=constant, object_pairs_hook=members
        )
    except json.JSONDecodeError as error:
        told = f"no JSON: {error.msg} in line {error.lineno}, column {error.colno}" if text.strip() else "it is empty"
        raise FormatError(place, Problem(told), "write a JSON object; `symamp schema` prints what it holds") from None
    except RecursionError:
        raise FormatError(place, Problem("lists or objects are nested too deeply"), "see symamp schema") from None
