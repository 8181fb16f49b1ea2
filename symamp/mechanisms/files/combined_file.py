"""Mechanisms made of others from JSON documents: format version 1, docs/combined_format.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symamp.errors import FormatError
from symamp.mechanisms.catalogue import by_name
from symamp.mechanisms.files.file_parts import read_document
from symamp.mechanisms.joint import joint
from symamp.mechanisms.mechanism import Mechanism
from symamp.mechanisms.parallel import parallel, poisson_subsample

_KINDS = ("joint", "parallel", "sampled")
_DEEPEST = 8
FORMAT = "symamp-combined"


def combined_from_json(data: object, read: Callable[[object], Mechanism], depth: int = 0) -> Mechanism:
    """Return the joint, parallel or sampled mechanism that a decoded JSON document describes.

    ``read`` reads the documents of parts that are no combinations themselves. Raises FormatError for a document that
    does not have the documented shape, UnknownMechanismError for a family that there is not, and what ``joint``,
    ``parallel`` and the families raise.

    >>> combined_from_json({"format": "symamp-combined", "version": 1, "name": "eight questions",
    ...     "joint": [{"family": "krr", "parameters": {"k": 4, "eps0": "1/8"}, "times": 8}]}, read=None)
    joint([RandomizedResponse(k=4, eps0=1/8)] * 8)
    """
    document, _, _ = read_document(data, "combined")
    kinds = [kind for kind in _KINDS if kind in document]
    if len(kinds) != 1 or depth > _DEEPEST:
        got = f"nested {depth} deep" if len(kinds) == 1 else ", ".join(kinds) or "none of them"
        raise FormatError("document", got, f"one of {', '.join(_KINDS)}, nested at most {_DEEPEST} deep")
    neighbours = document.get("neighbours", "all")

    def part(value: dict[str, Any], place: str) -> list[Mechanism]:
        if ("family" in value) == ("mechanism" in value):
            raise FormatError(place, sorted(value), "one of family and mechanism")
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
