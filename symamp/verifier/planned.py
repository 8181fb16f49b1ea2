"""The work that evidence announces, counted before any of it is done: sums over frequencies, counts and cells.

What is counted is at most what the evaluation spends; what depends on the numbers themselves is counted as it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

_CAP = 10**12


def planned(evidence: dict[str, Any]) -> int:
    """Return how many operations a piece of evidence of the right shape announces, or about 10^12 if there are more."""
    hard = 2 + (int(evidence["precision"]) // 512) ** 2
    width = max((len(x) for x in _lists(evidence)), default=1)
    sums = sum(_of_plan(x, width) for x in _objects(evidence))
    return min(hard * (sums + _of_histograms(evidence)), _CAP)


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects within data."""
    if isinstance(data, dict):
        yield data
        for value in data.values():
            yield from _objects(value)
    elif isinstance(data, list):
        for value in data:
            if isinstance(value, dict | list):
                yield from _objects(value)


def _lists(evidence: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the lists of values with masses of which every frequency takes a sum."""
    if "components" in evidence:
        yield evidence["components"]
    for key in ("laws", "positions"):
        yield from (x["components"] for x in evidence.get(key, ()) if "components" in x)
    if isinstance(evidence.get("dominating"), dict):
        yield evidence["dominating"]["values"]


def _of_plan(plan: dict[str, Any], width: int) -> int:
    """Return the operations of one object, if it is the plan of a sum."""
    if "evaluated" in plan:
        frequencies: int = sum(max(b - a + 1, 0) for a, b in plan["evaluated"])
        return min(frequencies, _CAP) * max(width - 1, 1)
    if "windows" in plan:
        counted: int = prod(max(high - low + 1, 0) for low, high in plan["windows"][:64])
        return min(counted, _CAP) * 30
    if "last" in plan:
        return min(max(int(plan["last"]) + 1, 0), _CAP) * 12
    if "ends" in plan:
        return len(plan["ends"]) * max(width - 1, 1)
    return 0


def _of_histograms(evidence: dict[str, Any]) -> int:
    """Return the operations of an enumeration of histograms of reports."""
    if "compared" not in evidence or not evidence["rows"]:
        return 0
    return len(evidence["rows"]) * len(evidence["rows"][0]) + len(evidence["compared"])
