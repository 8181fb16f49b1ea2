"""What the words of a command mean: a mechanism and its parameters, looked up before the rest is read, and numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from symamp.analyses.subject import Subject
from symamp.errors import ArgumentError
from symamp.mechanisms.mechanism import Mechanism

_OPTION = re.compile(r"--[A-Za-z]")


def mentioned(words: Sequence[str], flags: Collection[str]) -> tuple[str | None, Path | None]:
    """Return the first word that is no option, if any, and the file that --mechanism names.

    All options but the ``flags`` take a value: ArgumentError for one without.

    >>> mentioned(["--eps0", "1", "krr", "--json"], ["--json"])
    ('krr', None)
    """
    name, file, rest = None, None, list(words)
    while rest:
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        if not _OPTION.match(word):
            name = name if name is not None or word.startswith("-") else word
        elif option not in flags:
            if not equals and (not rest or _OPTION.match(rest[0])):
                raise ArgumentError(f"option {option}", "no value", "a value")
            value = value if equals else rest.pop(0)
            file = Path(value) if option == "--mechanism" else file
    return name, file


def described(found: Subject) -> Mechanism:
    """Return the subject if it is a mechanism with a decomposition of its own."""
    if found.mechanism is None:
        raise ArgumentError("mechanism", repr(found), "a mechanism with a decomposition, see `symamp mechanisms`")
    return found.mechanism


def refuse_repeated(words: Sequence[str]) -> None:
    """Raise ArgumentError for an option that is given twice: click would take the last one in silence."""
    counts = Counter(word.partition("=")[0] for word in words if _OPTION.match(word))
    for option, count in counts.items():
        if count > 1:
            raise ArgumentError("options", f"{option} twice", "each option once")


def read_neighbours(word: str) -> object:
    """Return what --neighbours says: "all", a distance, or pairs of inputs.

    >>> read_neighbours("1/2"), read_neighbours("a,b; b,c")
    ('1/2', [('a', 'b'), ('b', 'c')])
    """
    if "," not in word:
        return word
    return [tuple(x.strip() for x in pair.split(",")) for pair in word.split(";")]


def read_gap(word: str, least: str = "1e-12") -> float:
    """Return the number that --gap is, in or out of its range, which begins at ``least``.

    >>> read_gap("1e-6")
    1e-06
    """
    try:
        return float(word)
    except ValueError:
        raise ArgumentError("gap", word, f"a number from {least} to 0.1") from None


def separated(words: str) -> list[str]:
    """Return the words of a list that is separated by commas.

    >>> separated("2, 8,64")
    ['2', '8', '64']
    """
    return [word.strip() for word in words.split(",")]
