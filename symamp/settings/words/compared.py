"""How two neighbouring data sets differ: by the victim's input, by the victim's report, or by a default report."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from symamp.bounds.subject import Subject
from symamp.errors import ArgumentError, Problem, SupportMismatchError
from symamp.randomizers.finite import FiniteMechanism
from symamp.settings.participation import REMOVAL, REPLACEMENT, Participation, Word, one_word, probability

DEFAULT = "default"
"""The word, and the name of the input whose law a default report has."""
Report = str | tuple[tuple[str, sp.Rational], ...] | None


def _law(given: object, name: str) -> Report:
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        raise ArgumentError(name, given, "'uniform', an input, or a dictionary of the probabilities of messages")
    found = tuple((str(y), probability(p, name)) for y, p in given.items())
    if sum(p for _, p in found) != 1:
        raise ArgumentError(name, given, "probabilities that sum to 1")
    return found


def with_default(subject: Subject, default: Report) -> FiniteMechanism:
    """Return the table in which the default report is an input, compared with every other one.

    Raises SupportMismatchError for a mechanism without a table, ArgumentError for a law on other messages.
    """
    table: Any = subject if isinstance(subject, FiniteMechanism) else None
    if table is None and subject.mechanism is not None and hasattr(subject.mechanism, "table"):
        table = subject.mechanism.table()
    if not isinstance(table, FiniteMechanism) or table.numeric is None or not table.compares_all:
        told = Problem(f"{subject!r} is not a table of numbers in which any two inputs are compared")
        raise SupportMismatchError(DEFAULT, told, "give a table, or a small family")
    inputs, messages = table.inputs, table.messages
    if isinstance(default, str) and default in inputs:
        return table.near([(x, default) for x in inputs if x != default])
    if isinstance(default, str) and default != "uniform":
        raise ArgumentError(DEFAULT, default, f"'uniform' or an input, one of {', '.join(inputs[:8])}")
    law = dict.fromkeys(messages, sp.Rational(1, len(messages))) if isinstance(default, str) else dict(default or ())
    if not set(law) <= set(messages):
        raise ArgumentError(DEFAULT, sorted(set(law) - set(messages)), f"messages such as {messages[0]}")
    if DEFAULT in inputs:
        raise ArgumentError(DEFAULT, Problem(f"an input has the reserved name {DEFAULT!r}"), "rename the input")
    rows: dict[str, dict[str, Any]] = {
        x: dict(zip(messages, row, strict=True)) for x, row in zip(inputs, table.rows, strict=True)
    }
    rows[DEFAULT] = {y: law.get(y, sp.S.Zero) for y in messages}
    return FiniteMechanism(rows, name=table.name).near([(x, DEFAULT) for x in inputs])


_TOGETHER = "give default together with compared='default'"


def _is_given(who: Participation) -> bool:
    return DEFAULT in dict(who.words)


COMPARED = Word(
    "compared",
    'neighbouring data sets differ by "replacement" of the victim\'s input; by "removal" of the victim\'s report, if '
    'the number of users is random; or by a "default" report in place of the victim\'s.',
    one_word((REPLACEMENT, REMOVAL, DEFAULT), "the two data sets must differ in one report"),
    lambda who, word: replace(who, compared=word),
    REPLACEMENT,
    refusals=(
        (
            lambda who: who.removal and not who.is_poisson and who.present == 1,
            "the number of reports shows whether the victim's is there, so that delta is 1",
            "give dropout or arrivals='poisson', or take compared='default' or 'replacement'",
        ),
    ),
)
DEFAULT_REPORT = Word(
    DEFAULT,
    'the law of that report: "uniform", an input, or {message: probability}. Other users may send it, too.',
    _law,
    lambda who, law: replace(who, runs=(*who.runs, (with_default, law))),
    None,
    refusals=(
        (lambda who: who.compared == DEFAULT and not _is_given(who), "no default report is given", _TOGETHER),
        (lambda who: who.compared != DEFAULT and _is_given(who), "compared is not 'default'", _TOGETHER),
    ),
)
