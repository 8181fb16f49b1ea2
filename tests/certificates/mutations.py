"""Structured mutations of certificates: numbers, items, whole pieces of evidence, claims."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

from symamp.verifier.evidence.kinds import KINDS
from tests.certificates.honest import Data, aimed, some_certificate

F = Fraction

_TEXTS = {"format", "name", "inputs", "supposed"}
_WORDS = [
    ["enumeration", "exact", "compact kernel", "binomial tails", "large values", "one user", "limit", "visible",
     "mean over counts"],
    list(KINDS), ["messages", "data"], ["all", "convex order", "blanket"], ["table", "orbits", "triples", "budget"],
]  # fmt: skip
Path = tuple[Any, ...]


def places(data: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all values that are neither lists nor objects."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in _TEXTS:
                yield from places(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from places(value, (*path, i))
    else:
        yield path


def lists(data: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all lists."""
    if isinstance(data, list):
        yield path
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from lists(value, (*path, key))


def at(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data


def _chosen(data: Any, rng: Random, found: Iterator[Path]) -> Path | None:
    """A path, each group of paths that differ in numbers of items only being as likely as another."""
    groups: dict[Path, list[Path]] = {}
    for path in found:
        groups.setdefault(tuple(x for x in path if isinstance(x, str)), []).append(path)
    return rng.choice(rng.choice(list(groups.values()))) if groups else None


def change_number(data: Data, rng: Random) -> None:
    path = _chosen(data, rng, places(data))
    if path is None:
        return
    place, key = at(data, path[:-1]), path[-1]
    value = place[key]
    if isinstance(value, bool):
        place[key] = not value
    elif isinstance(value, int):
        place[key] = rng.choice([value - 2, value - 1, value + 1, value + 3, 0, 1, -1, 2 * value])
    elif isinstance(value, str):
        place[key] = _text(value, rng)
    else:
        place[key] = rng.choice(["1", 1, [], {}])


def _text(text: str, rng: Random) -> str:
    for words in _WORDS:
        if text in words:
            return rng.choice(words)
    if text.startswith("log("):
        return rng.choice(["0", "log(3/2)", "log(1)", "log(2)", "1/10", f"log({_text(text[4:-1], rng)})"])
    try:
        x = F(text)
    except (ValueError, ZeroDivisionError):
        return rng.choice(["0", "1", "inf", "1/2"])
    close = F(1, 10 ** rng.choice((2, 6, 12, 30)))
    found = [F(0), F(1), x / 2, 2 * x, 1 - x, -x, x * (1 + close), x * (1 - close), x + 1, 1 / x if x else F(1)]
    return rng.choice(
        [str(rng.choice(found)), str(rng.choice(found)), "inf" if rng.random() < 0.05 else str(x * F(9, 10))]
    )


def two_numbers(data: Data, rng: Random) -> None:
    """Move mass from one place of a list to another, or exchange two."""
    path = _chosen(data, rng, lists(data))
    if path is None:
        return
    rows = at(data, path)
    if len(rows) < 2:
        return
    i, j = rng.sample(range(len(rows)), 2)
    a, b = rows[i], rows[j]
    if isinstance(a, list) and isinstance(b, list) and a and b:
        k = rng.randrange(min(len(a), len(b)))
        a[k], b[k] = b[k], a[k]
        return
    if not (isinstance(a, str) and isinstance(b, str)):
        rows[i], rows[j] = b, a
        return
    try:
        x, y = F(a), F(b)
    except (ValueError, ZeroDivisionError):
        return
    part = x * rng.choice([F(1), F(1, 2), F(1, 10)])
    rows[i], rows[j] = str(x - part), str(y + part)


def change_items(data: Data, rng: Random) -> None:
    path = _chosen(data, rng, lists(data))
    if path is None:
        return
    items = at(data, path)
    what = rng.choice(["drop", "drop", "twice", "swap", "empty"])
    if what == "empty":
        items.clear()
    elif items and what == "drop":
        del items[rng.randrange(len(items))]
    elif items and what == "twice":
        items.append(copy.deepcopy(rng.choice(items)))
    elif len(items) > 1:
        i, j = rng.sample(range(len(items)), 2)
        items[i], items[j] = items[j], items[i]


def zero_mass(data: Data, rng: Random) -> None:
    """Set the mass of a component to 0: its row is kept, dropped, or made singular."""
    found = [p for p in lists(data) if p and p[-1] in ("components", "masses")]
    if not found:
        return
    path = rng.choice(found)
    rows = at(data, path)
    if not rows:
        return
    i = rng.randrange(len(rows))
    if path[-1] == "masses":
        rows[i] = "0"
        return
    owner, row = at(data, path[:-1]), list(rows[i])
    what = rng.choice(["zero", "singular", "append", "null"])
    if what == "append":
        rows.append([rng.choice(["0", "1", "5"]), rng.choice(["0", "1", "5"]), "0"])
    elif what == "null":
        rows.append(["0", "0", rng.choice(["0", "1/10", "1/4"])])
    elif what == "zero":
        rows[i] = [*row[:2], "0"]
    elif "singular" in owner:
        try:
            owner["singular"].append([str(F(row[0]) * F(row[2])), str(F(row[1]) * F(row[2]))])
            del rows[i]
        except (ValueError, ZeroDivisionError):
            pass


def change_windows(data: Data, rng: Random) -> None:
    """Delete, shift or narrow a window, a block, a box or a cell."""
    keys = ("windows", "evaluated", "dropped", "boxes", "ends", "scales", "cells", "shares", "others", "first")
    found = [p for p in lists(data) if p and p[-1] in keys]
    if not found:
        change_number(data, rng)
        return
    items = at(data, rng.choice(found))
    what = rng.choice(["drop", "shift", "narrow", "add", "add"])
    if what == "add":
        items.append(
            copy.deepcopy(rng.choice(items))
            if items and rng.random() < 0.5
            else [rng.choice((0, 1, 2)), rng.choice((1, 2, 3))]
        )
        return
    if not items:
        return
    i = rng.randrange(len(items))
    if what == "drop":
        del items[i]
    elif isinstance(items[i], list) and len(items[i]) == 2 and all(isinstance(x, int) for x in items[i]):
        low, high = items[i]
        items[i] = (
            [low + 1, high + 1] if what == "shift" else [low + 1, high] if rng.random() < 0.6 else [low, high - 1]
        )
    elif isinstance(items[i], dict):
        for key in items[i]:
            if isinstance(items[i][key], int) and not isinstance(items[i][key], bool):
                items[i][key] += rng.choice((-1, 1))
                break


def change_claim(data: Data, rng: Random) -> None:
    claim = data["claim"]
    key = rng.choice(list(claim))
    if key == "quantity":
        claim["quantity"] = rng.choice(["epsilon", "delta"])
        name = "delta" if claim["quantity"] == "epsilon" else "eps"
        for other in ("eps", "delta"):
            claim.pop(other, None)
        claim[name] = rng.choice(["1/10", "1/100", "0", "log(3/2)"])
    else:
        claim[key] = _text(claim[key], rng)


def change_setting(data: Data, rng: Random) -> None:
    """Another number of users or rounds, other victims, another sampling; or a mechanism with fewer pairs or inputs."""
    setting = rng.choice(data["settings"])
    group = rng.choice(setting["groups"])
    mechanism = group["mechanism"]
    what = rng.choice(["users", "count", "victim", "rate", "kept", "compared", "inputs", "groups", "pairs"])
    if what == "users":
        group["users"] = rng.choice([1, 2, 3, 4, 5, group["users"] + 1, max(group["users"] - 1, 0)])
    elif what == "count":
        setting["count"] = rng.choice([0, 1, 2, 3])
    elif what == "victim":
        group["victim"] = not group["victim"]
    elif what in ("rate", "kept"):
        setting[what] = rng.choice(["1", "1/2", "0", "2", "9/10"])
    elif what == "compared" and "compared" in mechanism:
        mechanism["compared"] = rng.choice([None, [[0, 1]], [[1, 0], [0, 1]], [[0, 2]], [[0, 0]], []])
    elif what == "inputs" and "rows" in mechanism:
        rows = mechanism["rows"]
        rows.append(copy.deepcopy(rng.choice(rows)))
        mechanism["inputs"].append("new")
    elif what == "pairs" and mechanism.get("pairs"):
        del mechanism["pairs"][rng.randrange(len(mechanism["pairs"]))]
    elif what == "groups":
        setting["groups"].append(copy.deepcopy(group))


def exchange(data: Data, rng: Random) -> None:
    """Evidence of another certificate, of its own kind or not, or of the other side; or its mechanism."""
    _, other = some_certificate(rng)
    what = rng.choice(["swap sides", "copy", "take", "take all", "key", "mechanism", "settings"])
    side = rng.choice(("above", "below"))
    mine, theirs = (x[side] for x in (data, other))
    if what == "swap sides":
        data["above"], data["below"] = data["below"], data["above"]
    elif what == "copy":
        data[side] = copy.deepcopy(data["below" if side == "above" else "above"])
    elif what == "take all":
        data[side] = theirs
    elif what == "mechanism":
        data["settings"][0]["groups"][0]["mechanism"] = other["settings"][0]["groups"][0]["mechanism"]
    elif what == "settings":
        data["settings"] = other["settings"]
    elif mine and theirs and what == "take":
        mine["evidence"] = [*mine["evidence"], *theirs["evidence"]]
    elif mine and theirs:
        one, another = rng.choice(mine["evidence"]), rng.choice(theirs["evidence"])
        key = rng.choice([key for key in one if key in another])
        one[key] = another[key]


def within(data: Data, rng: Random) -> None:
    """Exchange two entries of the certificate that stand under the same key."""
    found: dict[str, list[Path]] = {}
    for path in [*places(data), *lists(data)]:
        if path and isinstance(path[-1], str):
            found.setdefault(path[-1], []).append(path)
    several = [paths for paths in found.values() if len(paths) > 1]
    if not several:
        return
    p, q = rng.sample(rng.choice(several), 2)
    a, b = at(data, p[:-1]), at(data, q[:-1])
    a[p[-1]], b[q[-1]] = copy.deepcopy(b[q[-1]]), copy.deepcopy(a[p[-1]])


def keys(data: Data, rng: Random) -> None:
    """A key dropped, added or renamed."""
    path = _chosen(data, rng, places(data))
    place = at(data, path[:-1]) if path else data
    while isinstance(place, list) and path:
        path = path[:-1]
        place = at(data, path[:-1]) if path else data
    if not isinstance(place, dict) or not place:
        return
    key = rng.choice(list(place))
    if rng.random() < 0.5:
        del place[key]
    else:
        place[rng.choice(["extra", "windows", "rounded", "victim", "members"])] = place[key]


CHANGES: list[tuple[Callable[[Data, Random], None], int]] = [
    (change_number, 8), (two_numbers, 5), (change_items, 5), (zero_mass, 5), (change_windows, 6), (change_claim, 4),
    (change_setting, 6), (exchange, 4), (within, 3), (keys, 1),
]  # fmt: skip


def mutant(rng: Random) -> tuple[str, Data]:
    """A certificate of some kind, changed once to three times; its claim may be put anew where the evidence reaches."""
    name, data = some_certificate(rng)
    data = copy.deepcopy(aimed(data, rng) if rng.random() < 0.9 else data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        (change,) = rng.choices([c for c, _ in CHANGES], [w for _, w in CHANGES])
        with suppress(LookupError, TypeError, AttributeError, ValueError):  # what was changed before has lost its shape
            change(data, rng)
    if rng.random() < 0.6:
        data = aimed(data, rng)
    return name, data
