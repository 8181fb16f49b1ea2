"""Families with symbolic sizes from JSON documents: format version 1, docs/family_format.md."""

from __future__ import annotations

from typing import Any

import sympy as sp

from symamp.algebra.order import sign
from symamp.algebra.parameter import Parameter, admissible_points
from symamp.derivation.orbit import Orbit
from symamp.errors import FormatError
from symamp.mechanisms.described import DescribedFamily, described_family
from symamp.mechanisms.families.local_hashing import LocalHashing
from symamp.mechanisms.family_description import COUNTS, SIZE, Description, normalised
from symamp.mechanisms.files.file_parts import read_document, read_expression, read_label
from symamp.mechanisms.structures.exchangeable import Share
from symamp.mechanisms.structures.one_hot import Letter
from symamp.numbers.substitution import put as substituted
from symamp.schemas.validation import refuse


def family_from_json(data: object) -> DescribedFamily:
    """Return the family that a decoded JSON document describes, with all parameters free.

    Raises FormatError for a document that does not have the documented shape, ExpressionError for an expression
    outside the grammar, and what ``described_family`` raises.

    >>> family_from_json({
    ...     "format": "symamp-family", "version": 1, "name": "noisy one-hot vector",
    ...     "parameters": {"D": {"lower": 2, "integer": True}, "f": {"lower": 0, "upper": "1/2"}},
    ...     "structure": {"one-hot": {"size": "D", "letters": [
    ...         {"label": "0", "own": "f", "other": "1 - f"}, {"label": "1", "own": "1 - f", "other": "f"}]}},
    ... }).at(D=2).blanket().gamma
    2*f
    """
    document, name, parameters = read_document(data, "family")
    reader = _Reader(parameters)
    if "structure" not in document:
        return described_family(Description(name, parameters, **reader.orbits(document, "", "orbits", "density")))
    ((kind, content),) = document["structure"].items()
    read = {
        "one-hot": reader.one_hot,
        "exchangeable-sets": reader.sets,
        "hashing": reader.hashing,
        "statistic": reader.statistic,
    }[kind]
    return described_family(Description(name, parameters, **read(content, f'structure["{kind}"]')))


class _Reader:
    """Reads the parts of a document, whose shape has been checked, over the declared parameters."""

    def __init__(self, parameters: tuple[Parameter, ...]) -> None:
        self.parameters = parameters
        self.symbols = {p.name: p.symbol for p in parameters}
        self.points = admissible_points(parameters)
        self.seen: dict[str, sp.Expr] = {}

    def one_hot(self, value: dict[str, Any], place: str) -> dict[str, Any]:
        letters = []
        for i, letter in enumerate(value["letters"]):
            at = f'{place}["letters"][{i}]'
            label = read_label(letter["label"], f'{at}["label"]')
            letters.append(Letter(label, *(self._member(letter, at, key) for key in ("own", "other"))))
        return {"size": value["size"], "letters": tuple(letters)}

    def sets(self, value: dict[str, Any], place: str) -> dict[str, Any]:
        shares = []
        for key, items in value["shares"].items():
            found = []
            for i, share in enumerate(items):
                at = f'{place}["shares"]["{key}"][{i}]'
                label = f": {read_label(share['label'], at)}" if "label" in share else ""
                found.append(Share(label, *(self._member(share, at, k) for k in ("measure", "inside", "outside"))))
            shares.append((COUNTS[key], tuple(found)))
        levels = tuple(self._member(value, place, key) for key in ("high", "low"))
        return {"size": value["size"], "levels": levels, "shares": tuple(shares)}

    def hashing(self, value: dict[str, Any], place: str) -> dict[str, Any]:
        high, low, values = (self._member(value, place, key) for key in ("high", "low", "range"))
        size = value["size"]
        if size not in self.symbols:
            refuse(f'{place}["size"]', size, SIZE)
        if not values.is_integer or sign(values - 2, self.parameters) < 0:
            raise FormatError(f'{place}["range"]', str(values), "an integer of at least 2")
        # Local hashing with these symbols: only the mechanism behind the hash differs.
        swap = dict(zip((p.symbol for p in LocalHashing.declared[:2]), (values, self.symbols[size]), strict=True))

        def put(expr: sp.Expr | None) -> sp.Expr | None:
            return None if expr is None else substituted(expr, swap)

        shares = tuple(
            (counts, tuple(Share(s.label, *(put(e) for e in s[1:])) for s in LocalHashing().shares(*counts)))
            for counts in COUNTS.values()
        )
        return {"size": size, "levels": (high, low), "shares": shares}

    def statistic(self, value: dict[str, Any], place: str) -> dict[str, Any]:
        found = self.orbits(value, place, "values", "weights")
        return {key: part if key == "size" else normalised(part) for key, part in found.items()}

    def orbits(self, value: dict[str, Any], place: str, name: str, densities: str) -> dict[str, Any]:
        found: dict[str, Any] = {"size": value["size"]} if "size" in value else {}
        for key, field in ((name, "orbits"), ("third", "third")):
            here = f'{place}["{key}"]' if place else key
            if key in value:
                found[field] = tuple(self._orbit(o, f"{here}[{i}]", densities) for i, o in enumerate(value[key]))
        return found

    def _orbit(self, value: dict[str, Any], place: str, densities: str) -> Orbit:
        label = read_label(value["label"], f'{place}["label"]') if "label" in value else place
        density = tuple(self._entry(d, f'{place}["{densities}"][{i}]') for i, d in enumerate(value[densities]))
        rest = tuple(
            (self._entry(d, f'{place}["rest"][{i}][0]'), self._entry(n, f'{place}["rest"][{i}][1]'))
            for i, (d, n) in enumerate(value.get("rest", ()))
        )
        return Orbit(label, self._member(value, place, "measure"), density, rest)

    def _member(self, value: dict[str, Any], place: str, key: str) -> Any:
        return self._entry(value[key], f'{place}["{key}"]')

    def _entry(self, value: object, place: str) -> Any:
        """Return the expression, or None where null stands (and the schema admits it)."""
        return None if value is None else read_expression(value, place, self.symbols, self.seen, self.points)
