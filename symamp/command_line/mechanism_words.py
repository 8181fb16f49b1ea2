"""Mechanisms as words and as tables of TOML files: a name, or a file, and parameters."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from symamp.analyses.subject import Subject
from symamp.command_line.options import starting
from symamp.errors import ArgumentError, FormatError
from symamp.mechanisms.catalogue import by_name, named
from symamp.mechanisms.files.load import load_mechanism
from symamp.numbers.arguments import users

NAMES = tuple(named())
_MOST_BYTES = 2**20


class MechanismWord(click.ParamType):  # type: ignore[type-arg]
    """A mechanism such as krr:k=16,eps0=1, completed as far as it goes: the word itself, and what it stands for."""

    name = "mechanism"

    def convert(self, value: str, param: Any, ctx: Any) -> tuple[str | int, Subject]:
        """Return the word and its mechanism."""
        name, _, rest = value.partition(":")
        pairs = [part.partition("=") for part in rest.split(",") if part]
        if not name or not all(equals for _, equals, _ in pairs):
            raise ArgumentError(self.name, value, "a name with parameters, such as krr:k=16,eps0=1")
        values: dict[str, str] = {}
        for key, _, given in pairs:
            if key.strip() in values:
                raise ArgumentError(self.name, f"{key.strip()} twice in {value}", "each parameter once")
            values[key.strip()] = given.strip()
        return value, member(by_name(name), values)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names, or the parameters of the one that is named."""
        name, colon, rest = incomplete.partition(":")
        if not colon:
            return starting(NAMES)(ctx, param, name)
        last = rest.rpartition(",")[2]
        head = incomplete.removesuffix(last) if last else incomplete
        known = named()[name].names() if name in named() else ()
        return [CompletionItem(f"{head}{p}=") for p in known if p.startswith(last)]


class GroupWord(MechanismWord):
    """A number of users with their mechanism, such as 500:krr:k=10,eps0=1."""

    name = "group"

    def convert(self, value: str, param: Any, ctx: Any) -> tuple[str | int, Subject]:
        """Return the number of users and their mechanism."""
        count, _, rest = value.partition(":")
        if not rest:
            raise ArgumentError("group", value, "groups such as 500:krr:k=10,eps0=1 or 400:pure-ldp:eps0=2")
        return users(count), super().convert(rest, param, ctx)[1]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the completions of what follows the number."""
        count, colon, rest = incomplete.partition(":")
        found = super().shell_complete(ctx, param, rest) if colon else []
        return [CompletionItem(f"{count}:{item.value}") for item in found]


def member(family: Any, values: Mapping[str, str]) -> Subject:
    """Return the member of a family of the catalogue, or of a mechanism from a file, with these values.

    >>> member(by_name("krr"), {"k": "3", "eps0": "1"})
    RandomizedResponse(k=3, eps0=1)
    """
    if isinstance(family, type):
        family.check_names(values)  # type: ignore[attr-defined]
    found: Subject = family(**values) if isinstance(family, type) else family.at(**values) if values else family
    return found


def listed_member(table: Any, folder: Path, named_by: str, own: Collection[str] = ()) -> Subject:
    """Return the mechanism of a table: a name or a file, with all keys but the ``own`` ones as parameters."""
    if not isinstance(table, dict) or (named_by in table) == ("file" in table):
        raise FormatError("mechanism", table, f"a table with {named_by} and its parameters, or with file")
    values = {key: str(value) for key, value in table.items() if key not in (named_by, "file", *own)}
    name = table.get(named_by)
    return member(load_mechanism(folder / str(table["file"])) if name is None else by_name(str(name)), values)


def read_toml(file: Path) -> dict[str, Any]:
    """Return what a TOML file holds, with numbers as they are written; FormatError for anything else."""
    accepted = "an existing TOML file of at most 1 MiB"
    try:
        if file.is_file() and file.stat().st_size <= _MOST_BYTES:
            return tomllib.loads(file.read_text(encoding="utf-8"), parse_float=str)
    except (OSError, ValueError) as error:
        accepted += f" ({error})"
    raise FormatError("file", str(file), accepted)
