"""Which combinations of setting, question and method are answered: ``python -m tests.worlds.combinations`` writes it.

The page docs/combinations.md is made of small worlds, one for each setting; every answer in it is compared with the
truth when it is made, and a test makes it anew.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

from tests.oracle.world import (
    AnyTwo,
    Chosen,
    Data,
    Drawn,
    Everyone,
    Group,
    Joint,
    Listed,
    Messages,
    Neighbours,
    OneAttribute,
    OthersLost,
    Poisson,
    Removed,
    Runs,
    Silent,
    Table,
    TakesPart,
    Truth,
    Within,
    World,
)
from tests.worlds import ask, levels
from tests.worlds.draw import response
from tests.worlds.subjects import is_crowd

F = Fraction
PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "combinations.md"

ROWS = Table(tuple(tuple(F(p, 12) for p in row) for row in ((9, 3), (6, 6), (3, 9))))
OTHER = Table(tuple(tuple(F(p, 12) for p in row) for row in ((8, 4), (6, 6), (5, 7))))
THREE = Table(tuple(tuple(F(p, 12) for p in row) for row in ((6, 4, 2), (3, 6, 3), (2, 3, 7))))
FIRST, SECOND = response(2, F(3)), Table(((F(2, 3), F(1, 3)), (F(1, 2), F(1, 2))))
ALIKE = response(2, F(3)), response(2, F(3))
BOTH, EITHER = Joint((FIRST, SECOND)), Drawn(((F(1, 3), FIRST), (F(2, 3), SECOND)))


def _world(runs: Runs, neighbours: Neighbours | None = None, takes_part: TakesPart | None = None) -> World:
    users = 3 if isinstance(takes_part, Chosen) else 2
    return World((Group(users, runs, neighbours or AnyTwo()),), takes_part or Everyone())


def _crowd(first: Runs, second: Runs, *, data: bool = False, relation: Neighbours | None = None, **words) -> World:
    near, honest = relation or AnyTwo(), words.pop("honest", None)
    groups = Group(2, first, near, honest), Group(1, second, near)
    return World(groups, seen=Data() if data else Messages(), **words)


NEAR, LISTED, ONE = Within(F(1)), Listed(((0, 1),)), OneAttribute()
SETTINGS: dict[str, World] = {
    "a table": _world(ROWS),
    "a table, pairs of a list": _world(ROWS, LISTED),
    "a table, inputs within a distance": _world(ROWS, NEAR),
    "a table of three messages": _world(THREE),
    "randomized response": _world(response(3, F(3))),
    "joint": _world(BOTH),
    "joint, one attribute differs": _world(BOTH, ONE),
    "parallel": _world(EITHER),
    "parallel, one attribute differs": _world(EITHER, ONE),
    "Poisson sample of a table": _world(Silent(ROWS, F(1, 2))),
    "Poisson sample of a table, within a distance": _world(Silent(ROWS, F(1, 2)), NEAR),
    "Poisson sample of a joint, one attribute": _world(Silent(BOTH, F(1, 2)), ONE),
    "joint of responses": _world(Joint(ALIKE)),
    "joint of responses, one attribute": _world(Joint(ALIKE), ONE),
    "parallel of responses, one attribute": _world(Drawn(((F(1, 3), ALIKE[0]), (F(2, 3), ALIKE[1]))), ONE),
    "joint of a parallel and a table": _world(Joint((EITHER, FIRST))),
    "2 of 3 people, a table": _world(ROWS, None, Chosen(2)),
    "2 of 3 people, within a distance": _world(ROWS, NEAR, Chosen(2)),
    "2 of 3 people, joint": _world(BOTH, None, Chosen(2)),
    "2 of 3 people, joint, one attribute": _world(BOTH, ONE, Chosen(2)),
    "2 of 3 people, Poisson sample of a table": _world(Silent(ROWS, F(1, 2)), None, Chosen(2)),
    "others lost, a table": _world(ROWS, None, OthersLost(F(1, 3))),
    "others lost, within a distance": _world(ROWS, NEAR, OthersLost(F(1, 3))),
    "reports leak, a table": replace(_world(ROWS), leaks=F(1, 10)),
    "reports leak, joint": replace(_world(BOTH), leaks=F(1, 10)),
    "removal among others who may be lost": _world(ROWS, Removed(), OthersLost(F(1, 3))),
    "removal, all may be lost, reports leak": replace(_world(ROWS, Removed(), Poisson(F(2, 3))), leaks=F(1, 10)),
    "messages: tables that differ": _crowd(ROWS, OTHER),
    "messages: responses that differ": _crowd(response(3, F(3)), response(3, F(2))),
    "messages: tables, within a distance": _crowd(ROWS, OTHER, relation=NEAR),
    "messages: joints": _crowd(BOTH, BOTH),
    "messages: some lost": _crowd(ROWS, OTHER, takes_part=OthersLost(F(1, 3))),
    "messages: reports leak": replace(_crowd(ROWS, OTHER), leaks=F(1, 10)),
    "messages: removal among others who may be lost": _crowd(
        ROWS, OTHER, relation=Removed(), takes_part=OthersLost(F(1, 3))
    ),
    "messages: some dishonest": _crowd(ROWS, OTHER, honest=1),
    "messages: a victim by name": _crowd(ROWS, OTHER, victim=1),
    "data: tables that differ": _crowd(ROWS, OTHER, data=True),
    "data: tables, within a distance": _crowd(ROWS, OTHER, data=True, relation=NEAR),
    "data: joints, one attribute": _crowd(BOTH, BOTH, data=True, relation=ONE),
    "data: some dishonest": _crowd(ROWS, OTHER, data=True, honest=1),
}
"""One small world for each setting."""

LEVEL = levels.of_order(F(6, 5))
QUESTIONS: dict[str, Callable[[ask.Case], None]] = {
    "delta": lambda case: ask.ask_delta(case, None, LEVEL),
    "epsilon": lambda case: _epsilon(case),
    "curve": ask.ask_curve,
    "least n": lambda case: _least_n(case),
    "largest eps0": lambda case: _largest_eps0(case),
    "compare": ask.ask_compare,
    "exact": lambda case: ask.ask_exact(case, LEVEL),
    "rounds": lambda case: ask.rounds_of(case, 2, "delta"),
    "Rényi": lambda case: ask.rounds_of(case, 2, "renyi"),
    "trade-off": lambda case: ask.rounds_of(case, 2, "tradeoff"),
    "callable": lambda case: _export(case),
    "budget alone": lambda case: (ask.ask_budget_alone if not is_crowd(case.world) else ask.ask_budgets_alone)(case),
}
"""What is asked of every setting."""


def _epsilon(case: ask.Case) -> None:
    """eps at a delta that is reached."""
    ask.ask_epsilon_at(case, case.truth.delta(F(6, 5)))


def _least_n(case: ask.Case) -> None:
    """The least n for what three users have."""
    if not is_crowd(case.world) and not isinstance(case.world.takes_part, Chosen):
        ask.least_n_at(case, LEVEL, Truth(ask.sized(case.world, 3)).delta(LEVEL.low))


def _largest_eps0(case: ask.Case) -> None:
    """The largest budget, where everything is a response."""
    if not is_crowd(case.world) and not isinstance(case.world.takes_part, Chosen):
        ask.largest_eps0_at(case, LEVEL, F(1, 10))


def _export(case: ask.Case) -> None:
    """delta as a function."""
    ask.export_of(case, "callable", 0.1)


def case_of(world: World) -> ask.Case:
    """The world with choices that are the same every time."""
    return ask.Case(world, Random("combinations"))


class Notes:
    """Reasons of refusals, numbered as they come."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def number(self, reason: str) -> int:
        """The number of a reason."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return self.reasons.index(reason) + 1


def cell(case: ask.Case, question: Callable[[], None], notes: Notes) -> str:
    """What became of a question: yes, the number of a note, or nothing where it has no meaning."""
    before = len(case.outcomes)
    question()
    found = case.outcomes[before:]
    wrong = [outcome for outcome in found if outcome.status in ("false", "crash")]
    if wrong:
        raise AssertionError(f"{case.world}: {wrong[0]}")
    if not found:
        return ""
    return "yes" if found[0].status != "refused" else f"[{notes.number(found[0].reason)}]"


def rows(columns: dict[str, Callable[[ask.Case], None]], notes: Notes, only: Callable[[World], bool]) -> Iterator[str]:
    """The lines of a table of settings and columns."""
    yield "| setting | " + " | ".join(columns) + " |"
    yield "| --- |" + " --- |" * len(columns)
    for name, world in SETTINGS.items():
        if only(world):
            found = []
            for question in columns.values():
                case = case_of(world)
                found.append(cell(case, lambda case=case, question=question: question(case), notes))
            yield f"| {name} | " + " | ".join(found) + " |"


def page() -> str:
    """The whole page."""
    notes = Notes()
    questions = list(rows(QUESTIONS, notes, lambda world: True))
    methods = {f"`{m}`": lambda case, m=m: ask.ask_delta(case, m, LEVEL) for m in ask.TABLE_METHODS}
    by_method = list(rows(methods, notes, lambda world: not is_crowd(world)))
    lines = [
        "# What is answered where",
        "",
        "Settings, questions and methods, each combination asked of a small world whose truth is known in exact "
        "fractions. *yes*: answered, and the answer encloses the truth; a number: refused, with the reason below; "
        "empty: the question has no meaning there. `make test` makes this page anew, by "
        "`python -m tests.worlds.combinations`, and asks two thousand random worlds of all these settings; "
        "`python -m tests.worlds.run --worlds 200000` asks as many as you like.",
        "",
        "Users who differ are *messages* or *data*, after what is shuffled. *2 of 3 people* are drawn without "
        "replacement. *Others lost*, *reports leak* and *removal* are said by `sa.participation`. "
        "*Rounds*, *Rényi* and *trade-off* are those of two rounds, *callable* is "
        "`profile.to_callable()`, which other accountants are given, and *budget alone* asks `sa.PureLDP` with the "
        "budget of what is run; other questions, such as profiles that are given and rounds of several kinds, are "
        "asked of random worlds only.",
        "",
        "## Questions",
        "",
        *questions,
        "",
        "## delta by each method",
        "",
        "Users who differ have one bound, and no `method`.",
        "",
        *by_method,
        "",
        "## Reasons",
        "",
        *(f"{i}. {reason}" for i, reason in enumerate(notes.reasons, 1)),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
