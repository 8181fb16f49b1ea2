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

import symamp as sa
from tests.oracle.world import (
    AnyTwo,
    Chosen,
    Coordinates,
    Data,
    Days,
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
    Replaced,
    Runs,
    Silent,
    Table,
    TakesPart,
    Truth,
    Unary,
    Within,
    World,
)
from tests.worlds import ask, levels
from tests.worlds.draw import response
from tests.worlds.subjects import is_crowd, taking

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
    "a unary encoding": _world(Unary(2, F(3, 4), F(1, 4))),
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
    "all may be lost and replaced, a table": _world(ROWS, None, Replaced(F(1, 3), ((0, F(1, 2)), (1, F(1, 2))))),
    "others lost, within a distance": _world(ROWS, NEAR, OthersLost(F(1, 3))),
    "some collude by chance, a table": replace(_world(ROWS), colluding=F(1, 4)),
    "all may be lost, some collude, joint": replace(_world(BOTH, None, Poisson(F(2, 3))), colluding=F(1, 4)),
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
    "messages: some collude by chance": _crowd(ROWS, OTHER, colluding=F(1, 4)),
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
    "2 reports": lambda case: _reports(case),
    "kept reports": lambda case: _kept(case),
    "coordinates": lambda case: _coordinates(case),
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


def _asked(case: ask.Case, seen_by: World, call: Callable[[], object]) -> None:
    """delta at the level, against the truth of another view."""

    def check(answer: object) -> None:
        truth = Truth(seen_by)
        ask.check_delta(answer, truth.delta(LEVEL.high), lambda: truth.delta(LEVEL.low))

    case.ask("delta", "default", call, check)


def _is_plain(world: World) -> bool:
    """Whether everyone runs one mechanism and takes part."""
    return not is_crowd(world) and taking(world) is None and isinstance(world.takes_part, Everyone)


def _reports(case: ask.Case) -> None:
    """Two reports of each user, all shuffled together."""
    if _is_plain(case.world):
        ask_two = lambda: sa.several_reports(case.subject, n=2, reports=2).delta(LEVEL.text, gap=0.1)  # noqa: E731
        _asked(case, replace(case.world, reports=2), ask_two)


def _kept(case: ask.Case) -> None:
    """One report of each user, sent on two days on which both are there."""
    if _is_plain(case.world):
        ask_days = lambda: sa.several_reports(case.subject, n=2, reports=2, kept=True)  # noqa: E731
        _asked(case, replace(case.world, seen=Days(((0, 1),) * 2)), lambda: ask_days().delta(LEVEL.text, gap=0.1))


def _coordinates(case: ask.Case) -> None:
    """The view by coordinates."""
    if _is_plain(case.world):
        call = lambda: sa.delta(case.subject, n=case.n, eps=LEVEL.text, gap=0.1, view="coordinates")  # noqa: E731
        _asked(case, replace(case.world, seen=Coordinates()), call)


RESPONSE, FAMILY = sa.RandomizedResponse(k=3, eps0=1), sa.RandomizedResponse(k=3)
CROWD = sa.heterogeneous([(3, RESPONSE), (2, FAMILY.at(eps0=2))], shuffled="messages")
WORDS: dict[str, dict[str, object]] = {
    'dropout="1/5"': {"dropout": "1/5"},
    'dropout="1/5", victim_drops=True': {"dropout": "1/5", "victim_drops": True},
    'dropout="1/5", victim_drops=True, filled="uniform"': {"dropout": "1/5", "victim_drops": True, "filled": "uniform"},
    "colluders=2": {"colluders": 2},
    'colluding_share="1/5"': {"colluding_share": "1/5"},
    'colluding="1/5"': {"colluding": "1/5"},
    'leaks="1/10"': {"leaks": "1/10"},
    'unshuffled="1/10"': {"unshuffled": "1/10"},
    'arrivals="poisson"': {"arrivals": "poisson"},
    'arrivals="poisson", compared="removal"': {"arrivals": "poisson", "compared": "removal"},
    'compared="default", default="uniform"': {"compared": "default", "default": "uniform"},
    "batches=3": {"batches": 3},
    "batches={3: 2, 2: 2}": {"batches": {3: 2, 2: 2}},
    'batches="drawn"': {"batches": "drawn"},
}
"""The words of ``sa.participation``."""


def _rounds(who: sa.Participation) -> sa.Composition:
    return sa.profile(RESPONSE, n=10, participation=who).rounds(2)


ANSWERS: dict[str, Callable[[sa.Participation], object]] = {
    "delta": lambda who: sa.delta(RESPONSE, n=10, eps="1/2", participation=who),
    "least n": lambda who: sa.least_n(RESPONSE, eps="1/2", delta="1/10", participation=who),
    "largest eps0": lambda who: sa.largest_eps0(FAMILY, n=10, eps="1/2", delta="1/10", participation=who),
    "2 rounds": lambda who: _rounds(who).delta("1/2", gap=0.1),
    "certificate": lambda who: sa.delta(RESPONSE, n=10, eps="1/2", participation=who).certificate(),
    "budget alone": lambda who: sa.delta(sa.PureLDP(eps0=1), n=10, eps="1/2", participation=who),
    "noise": lambda who: sa.delta(sa.Laplace(eps0=1), n=10, eps="1/4", gap=0.1, participation=who),
    "users who differ": lambda who: sa.delta(CROWD, eps="1/2", participation=who),
    "coordinates": lambda who: sa.delta(
        sa.UnaryEncoding.oue(D=2, eps0=1), n=10, eps="1/2", gap=0.1, participation=who, view="coordinates"
    ),
}
"""Questions about who takes part."""


class Notes:
    """Reasons of refusals, numbered as they come."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def number(self, reason: str) -> int:
        """The number of a reason."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return self.reasons.index(reason) + 1


def said(notes: Notes) -> Iterator[str]:
    """The lines of the table of words for who takes part."""
    yield "| `sa.participation(...)` | " + " | ".join(ANSWERS) + " |"
    yield "| --- |" + " --- |" * len(ANSWERS)
    for words, given in WORDS.items():
        found = []
        for question in ANSWERS.values():
            try:
                question(sa.participation(**given))
                found.append("yes")
            except sa.errors.SymampError as error:
                found.append(f"[{notes.number(f'`{error.argument}`: {error.accepted}')}]")
        yield f"| `{words}` | " + " | ".join(found) + " |"


def case_of(world: World) -> ask.Case:
    """The world with choices that are the same every time."""
    return ask.Case(world, Random("combinations"))


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
    taking_part = list(said(notes))
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
        "replacement. *Others lost*, *some collude*, *reports leak* and *removal* are said by `sa.participation`. "
        "*Rounds*, *Rényi* and *trade-off* are those of two rounds, *callable* is "
        "`profile.to_callable()`, which other accountants are given. *2 reports* and *kept reports* are those of "
        '`sa.several_reports`, *coordinates* is `view="coordinates"`, and *budget alone* asks `sa.PureLDP` with the '
        "budget of what is run; other questions, such as profiles that are given and rounds of several kinds, are "
        "asked of random worlds only.",
        "",
        "## Questions",
        "",
        *questions,
        "",
        "## Who takes part",
        "",
        "All words of `sa.participation`, asked of ten users of randomized response where the column names nothing "
        "else. Here *yes* says that there is an answer; the settings above compare answers with the truth.",
        "",
        *taking_part,
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
