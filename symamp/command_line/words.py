"""What the words of a command mean: a mechanism and its parameters, which typer leaves to us, and numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from symamp.analyses.subject import Subject
from symamp.errors import ArgumentError
from symamp.mechanisms.catalogue import by_name
from symamp.mechanisms.files.load import load_mechanism
from symamp.mechanisms.mechanism import Mechanism

_OPTION = re.compile(r"--[A-Za-z]")


def subject(words: Sequence[str], file: Path | None) -> Subject:
    """Return the mechanism of the catalogue, or of the file, that the words and the option --mechanism say.

    >>> subject(["krr", "--k", "10", "--eps0=1"], None)
    RandomizedResponse(k=10, eps0=1)
    """
    name, values = read_words(words)
    if name is not None and file is None:
        family = by_name(name)
        family.check_names(values)
        return family(**values)
    if name is None and file is not None:
        loaded = load_mechanism(file)
        return loaded.at(**values) if values else loaded
    raise ArgumentError("mechanism", "both" if name else "none", "a name from `symamp mechanisms`, or --mechanism")


def described(words: Sequence[str], file: Path | None) -> Mechanism:
    """Return the mechanism that the words say, if it has a decomposition of its own."""
    found = subject(words, file)
    if found.mechanism is None:
        raise ArgumentError("mechanism", "pure-ldp", "a mechanism with a decomposition, see `symamp mechanisms`")
    return found.mechanism


def read_words(words: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """Return the word that is no option, if any, and the values of the options --name value and --name=value.

    >>> read_words(["--k", "10", "krr"])
    ('krr', {'k': '10'})
    """
    plain: str | None = None
    values: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if _OPTION.match(word):
            name, equals, value = word[2:].partition("=")
            if not equals and (not rest or _OPTION.match(rest[0])):
                raise ArgumentError(f"option --{name}", "no value", "a value")
            values[name] = value if equals else rest.pop(0)
        elif plain is not None or word.startswith("-"):
            raise ArgumentError("argument", word, "one mechanism, and options of the form --name value")
        else:
            plain = word
    return plain, values


def refuse_repeated(words: Sequence[str]) -> None:
    """Raise ArgumentError for an option that is given twice: typer would take the last one in silence."""
    counts = Counter(word.partition("=")[0] for word in words if _OPTION.match(word))
    for option, count in counts.items():
        if count > 1:
            raise ArgumentError("options", f"{option} twice", "each option once")


def read_gap(word: str) -> float:
    """Return the number that --gap is, in or out of its range.

    >>> read_gap("1e-6")
    1e-06
    """
    try:
        return float(word)
    except ValueError:
        raise ArgumentError("gap", word, "a number from 1e-12 to 0.1") from None
