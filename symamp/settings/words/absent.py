"""Reports that are lost: seen by their number, or replaced."""

from dataclasses import replace

import sympy as sp

from symamp.bounds.subject import Subject
from symamp.formulas.normal_form import normal
from symamp.randomizers.finite import FiniteMechanism
from symamp.settings import participation

DROPOUT = participation.Word(
    "dropout",
    "each other user, independently, sends nothing with this probability. The adversary sees how many reports arrive.",
    participation.below_one,
    lambda who, chance: replace(who, present=who.present * (1 - chance)),
)
VICTIM_DROPS = participation.Word(
    "victim_drops",
    "``True``: the victim's report is lost with the same probability.",
    participation.yes_or_no,
    lambda who, drops: replace(who, victim_drops=drops),
    False,
    text=lambda word: {"yes": True, "no": False, "True": True, "False": False}.get(word, word),
)


def filled(subject: Subject, given: tuple[sp.Rational, participation.Report]) -> FiniteMechanism:
    """Return the table of what arrives where a report of another law takes the place of one that is lost."""
    lost, law = given
    table = participation.table_of(subject, FILLED.name)
    instead = participation.law_on(table, law, FILLED.name)
    rows = {
        x: {y: normal((1 - lost) * p + lost * instead[y]) for y, p in zip(table.messages, row, strict=True)}
        for x, row in zip(table.inputs, table.rows, strict=True)
    }
    return FiniteMechanism(rows, name=table.name)


def _fill(who: participation.Participation, law: participation.Report) -> participation.Participation:
    runs = (*who.runs, (filled, (1 - who.present, law)))
    return replace(who, present=sp.S.One, victim_drops=False, runs=runs)


FILLED = participation.Word(
    "filled",
    'a report of this law ("uniform", an input, or {message: probability}) takes the place of each lost one, the '
    "victim's, too, so that nobody sees how many are lost.",
    participation.report,
    _fill,
    None,
    refusals=(
        (
            lambda who: _is_filled(who) and not {"dropout", "victim_drops"} <= dict(who.words).keys(),
            "it is not said that all reports, the victim's, too, may be lost",
            "give dropout and victim_drops=True, or leave out filled: reports whose number is seen hide less",
        ),
        (
            lambda who: _is_filled(who) and who.compared != participation.REPLACEMENT,
            "a report that is replaced cannot be missing",
            "leave out filled, or take compared='replacement'",
        ),
    ),
)


def _is_filled(who: participation.Participation) -> bool:
    return FILLED.name in dict(who.words)
