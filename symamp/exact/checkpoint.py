"""What is finished of a long search, in a file: written whole or not at all, checked when read."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from symamp.errors import ArgumentError, FormatError, Problem

_FORMAT = "symamp worst_dataset 2"

Case = tuple[int, int, tuple[int, ...]]
"""Indices of x0 and x1, and how many other users hold each input."""


@dataclass(frozen=True)
class State:
    """How many cases are finished, how many pairs of data sets they held, and which of these may be largest."""

    done: int = 0
    examined: int = 0
    best: tuple[Case, ...] = ()


def save(path: Path, question: str, state: State) -> None:
    """Write the state; a reader finds the old file or the new one, never a part of it.

    Raises ArgumentError if the file cannot be written.
    """
    body = {"format": _FORMAT, "question": _digest(question), **_body(state)}
    temporary = path.with_name(path.name + ".part")
    try:
        temporary.write_text(json.dumps({**body, "check": _digest(json.dumps(body))}) + "\n", encoding="utf-8")
        os.replace(temporary, path)
    except OSError:
        raise ArgumentError("resume", str(path), "a file that can be written") from None


def load(path: Path, question: str, cases: int, inputs: int) -> State:
    """Return the state in the file, an empty one if there is no file.

    Raises FormatError for a file that is damaged, or that belongs to another question.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return State()
    except (OSError, ValueError, RecursionError):
        raise FormatError(
            "resume", str(path), "a checkpoint of worst_dataset, or a name that no file has yet"
        ) from None
    if not isinstance(body, dict) or body.pop("check", None) != _digest(json.dumps(body)):
        raise FormatError("resume", Problem(f"{path} is damaged"), "delete it, or give another name")
    if (body.get("format"), body.get("question")) != (_FORMAT, _digest(question)):
        raise FormatError("resume", Problem(f"{path} belongs to another question"), "give another name")
    try:
        state = State(body["done"], body["examined"], tuple((a, b, tuple(c)) for a, b, c in body["best"]))
        known = set(range(inputs))
        sound = 0 <= state.done <= cases and all({a, b} <= known and len(c) == inputs for a, b, c in state.best)
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise FormatError("resume", Problem(f"{path} is damaged"), "delete it, or give another name")
    return state


def _body(state: State) -> dict[str, object]:
    return {"done": state.done, "examined": state.examined, "best": [[a, b, list(c)] for a, b, c in state.best]}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
