"""Reports whose law does not depend on the input: of what users run, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from symamp.bounds.subject import Subject
from symamp.errors import ArgumentError, Problem, SupportMismatchError
from symamp.randomizers.finite import FiniteMechanism
from symamp.settings.participation import probability

Report = str | tuple[tuple[str, sp.Rational], ...] | None
"""The law of a report: "uniform", that of an input, or the probabilities of messages."""


def report(given: object, name: str) -> Report:
    """Return the law of a report that is given."""
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        raise ArgumentError(name, given, "'uniform', an input, or a dictionary of the probabilities of messages")
    found = tuple((str(y), probability(p, name)) for y, p in given.items())
    if sum(p for _, p in found) != 1:
        raise ArgumentError(name, given, "probabilities that sum to 1")
    return found


def table_of(subject: Subject, name: str) -> FiniteMechanism:
    """Return what users run as a table of numbers in which any two inputs are compared, or SupportMismatchError."""
    table: Any = subject if isinstance(subject, FiniteMechanism) else None
    if table is None and subject.mechanism is not None and hasattr(subject.mechanism, "table"):
        table = subject.mechanism.table()
    if not isinstance(table, FiniteMechanism) or table.numeric is None or not table.compares_all:
        told = Problem(f"{subject!r} is not a table of numbers in which any two inputs are compared")
        raise SupportMismatchError(name, told, "give a table, or a small family")
    return table


def law_on(table: FiniteMechanism, given: Report, name: str) -> dict[str, Any]:
    """Return the probability of each message of a table, or ArgumentError for a law on other messages."""
    messages = table.messages
    if isinstance(given, str) and given in table.inputs:
        return dict(zip(messages, table.rows[table.inputs.index(given)], strict=True))
    if isinstance(given, str) and given != "uniform":
        raise ArgumentError(name, given, f"'uniform' or an input, one of {', '.join(table.inputs[:8])}")
    law = dict.fromkeys(messages, sp.Rational(1, len(messages))) if isinstance(given, str) else dict(given or ())
    if not set(law) <= set(messages):
        raise ArgumentError(name, sorted(set(law) - set(messages)), f"messages such as {messages[0]}")
    return {y: law.get(y, sp.S.Zero) for y in messages}
