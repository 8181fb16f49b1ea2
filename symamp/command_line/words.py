"""The words that a shell completes, known without loading the rest of symamp.

SymPy is not loaded for it: all words that the commands know are listed in ``words.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from click import Command
from click.shell_completion import CompletionItem, get_completion_class

from symamp.errors import ArgumentError, Problem

OPTION = re.compile(r"--[A-Za-z]")
WORDS = Path(__file__).with_suffix(".json")
"""The options of each command, with their values, and the parameters of each mechanism, as ``python -m tests.words``
writes them from the commands themselves."""


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
        if not OPTION.match(word):
            name = name if name is not None or word.startswith("-") else word
        elif option not in flags:
            if not equals and (not rest or OPTION.match(rest[0])):
                raise ArgumentError(f"option {option}", Problem("it has no value"), f"write {option} VALUE")
            value = value if equals else rest.pop(0)
            file = Path(value) if option == "--mechanism" else file
    return name, file


def starting(names: Iterable[str]) -> Callable[[object, object, str], list[CompletionItem]]:
    """Return what completes a word to one of the names."""
    return lambda _, __, incomplete: [CompletionItem(name) for name in names if name.startswith(incomplete)]


def mechanisms_starting(word: str, known: Mapping[str, Iterable[str]]) -> list[CompletionItem]:
    """Return the names, or the parameters of the mechanism that is named, as in krr:k=.

    >>> [item.value for item in mechanisms_starting("krr:k=2,e", {"krr": ["k", "eps0"]})]
    ['krr:k=2,eps0=']
    """
    name, colon, rest = word.partition(":")
    if not colon:
        return starting(known)(None, None, name)
    last = rest.rpartition(",")[2]
    head = word.removesuffix(last) if last else word
    return [CompletionItem(f"{head}{p}=") for p in known.get(name, ()) if p.startswith(last)]


def groups_starting(word: str, known: Mapping[str, Iterable[str]]) -> list[CompletionItem]:
    """Return the completions of what follows the number, as in 500:krr:k=."""
    count, colon, rest = word.partition(":")
    return [CompletionItem(f"{count}:{item.value}") for item in mechanisms_starting(rest, known)] if colon else []


def completions(args: Sequence[str], incomplete: str) -> list[CompletionItem]:
    """Return what the last word may become after those before it, as click does with all of symamp loaded.

    >>> [item.value for item in completions(["epsilon", "krr"], "--e")]
    ['--eps0', '--effort']
    """
    known = json.loads(WORDS.read_text(encoding="utf-8"))
    if not args:
        shown = known["options"] if incomplete.startswith("-") else {c: w["help"] for c, w in known["commands"].items()}
        return _explained(shown, incomplete)
    command, given = known["commands"].get(args[0]), list(args[1:])
    if command is None:
        return []
    if OPTION.match(incomplete) and "=" in incomplete:
        option, _, incomplete = incomplete.partition("=")
        given.append(option)
    values, argument, mechanisms = command["values"], command["argument"], known["mechanisms"]
    flags = set(command["options"]) - set(values)
    if given and OPTION.match(given[-1]) and given[-1] not in flags:
        return _values(values.get(given[-1], []), incomplete)
    try:
        name, _ = mentioned(given, flags)
    except ArgumentError:
        name = None
    if incomplete.startswith("-"):
        own = mechanisms.get(name, {}) if argument == "name" else {}
        every = {f"--{p}": text for p, text in own.items()} | command["options"]
        return _explained({option: text for option, text in every.items() if option not in given}, incomplete)
    if argument in ("mechanisms", "groups"):
        return (mechanisms_starting if argument == "mechanisms" else groups_starting)(incomplete, mechanisms)
    return [] if name is not None else _values([*mechanisms] if argument == "name" else argument, incomplete)


def _explained(words: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word, help=text) for word, text in words.items() if word.startswith(incomplete)]


def _values(names: Any, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")] if names == "file" else starting(names)(None, None, incomplete)


def answers_the_shell(instruction: str) -> bool:
    """Print what a shell asks for, such as bash_complete; return False where the listed words do not say it.

    They do not where ``--mechanism`` names a file, whose parameters are options.
    """
    shell, _, task = instruction.partition("_")
    found = get_completion_class(shell)
    if found is None or task not in ("source", "complete"):
        return False
    made = type("FromWords", (found,), {"get_completions": lambda _, args, incomplete: completions(args, incomplete)})
    completer = made(Command("symamp"), {}, "symamp", "_SYMAMP_COMPLETE")
    if task == "complete" and "--mechanism" in completer.get_completion_args()[0][:-1]:
        return False
    print(completer.source() if task == "source" else completer.complete())
    return True
