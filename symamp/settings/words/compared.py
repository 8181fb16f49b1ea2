"""How two neighbouring data sets differ: by the victim's input, by the victim's report, or by a default report."""

from dataclasses import replace
from typing import Any

from symamp.bounds.subject import Subject
from symamp.errors import ArgumentError, Problem
from symamp.randomizers.finite import FiniteMechanism
from symamp.settings import participation

DEFAULT = "default"
"""The word, and the name of the input whose law a default report has."""


def with_default(subject: Subject, default: participation.Report) -> FiniteMechanism:
    """Return the table in which the default report is an input, compared with every other one.

    Raises SupportMismatchError for a mechanism without a table, ArgumentError for a law on other messages.
    """
    table = participation.table_of(subject, DEFAULT)
    if isinstance(default, str) and default in table.inputs:
        return table.near([(x, default) for x in table.inputs if x != default])
    law = participation.law_on(table, default, DEFAULT)
    if DEFAULT in table.inputs:
        raise ArgumentError(DEFAULT, Problem(f"an input has the reserved name {DEFAULT!r}"), "rename the input")
    rows: dict[str, dict[str, Any]] = {
        x: dict(zip(table.messages, row, strict=True)) for x, row in zip(table.inputs, table.rows, strict=True)
    }
    rows[DEFAULT] = law
    return FiniteMechanism(rows, name=table.name).near([(x, DEFAULT) for x in table.inputs])


_TOGETHER = "give default together with compared='default'"


def _is_given(who: participation.Participation) -> bool:
    return DEFAULT in dict(who.words)


COMPARED = participation.Word(
    "compared",
    'neighbouring data sets differ by "replacement" of the victim\'s input; by "removal" of the victim\'s report, if '
    'the number of users is random; or by a "default" report in place of the victim\'s.',
    participation.one_word(
        (participation.REPLACEMENT, participation.REMOVAL, DEFAULT), "the two data sets must differ in one report"
    ),
    lambda who, word: replace(who, compared=word),
    participation.REPLACEMENT,
    refusals=(
        (
            lambda who: who.removal and not who.is_poisson and who.present == 1,
            "the number of reports shows whether the victim's is there, so that delta is 1",
            "give dropout or arrivals='poisson', or take compared='default' or 'replacement'",
        ),
    ),
)
DEFAULT_REPORT = participation.Word(
    DEFAULT,
    'the law of that report: "uniform", an input, or {message: probability}. Other users may send it, too.',
    participation.report,
    lambda who, law: replace(who, runs=(*who.runs, (with_default, law))),
    None,
    refusals=(
        (lambda who: who.compared == DEFAULT and not _is_given(who), "no default report is given", _TOGETHER),
        (lambda who: who.compared != DEFAULT and _is_given(who), "compared is not 'default'", _TOGETHER),
    ),
)
