"""The command ``symamp crowd``: users who differ, in groups that run mechanisms of their own."""

from __future__ import annotations

from pathlib import Path

import click
import mpmath

from symamp.bounds.subject import Subject
from symamp.command_line.options import GroupWord, as_json, certificate, effort, eps_or_delta, gap, numbers, read_gap
from symamp.command_line.output import print_json, print_line, write_certificate
from symamp.numbers.reading import asked
from symamp.questions.bracket import outward_decimal
from symamp.questions.profile import Profile
from symamp.settings.question import Question
from symamp.settings.users_who_differ import heterogeneous


@click.command()
@click.argument("groups", nargs=-1, required=True, metavar="GROUP...", type=GroupWord())
@click.option("--shuffled", type=click.Choice(["messages", "data"]), required=True, help="What the shuffler permutes.")
@eps_or_delta
@numbers("--honest", help="How many users of each group do not collude, such as 400,100.")
@click.option("--dropout", default="0", metavar="NUMBER", help="Chance that another user's message is lost unseen.")
@click.option("--victim", type=int, metavar="GROUP", help="Only victims of this group: 0 is the first.")
@gap
@effort
@certificate
@as_json
def crowd(
    groups: tuple[tuple[int, Subject], ...],
    shuffled: str,
    delta: str | None,
    eps: str | None,
    honest: list[str] | None,
    dropout: str,
    victim: int | None,
    gap: str,
    effort: str,
    certificate: Path | None,
    as_json: bool,
) -> None:
    """Certified bracket for users who differ. A GROUP is NUMBER:MECHANISM:PARAMETERS, such as 500:krr:k=10,eps0=1."""
    counts = None if honest is None else [0 if x == "0" else x for x in honest]
    found = heterogeneous(groups, shuffled=shuffled, honest=counts, dropout=dropout)
    (quantity, given), profile = asked(delta, eps), Profile(Question.of_users(found, victim))
    ask = profile.epsilon if quantity == "epsilon" else profile.delta
    answer = ask(given, gap=read_gap(gap), effort=effort)
    if write_certificate(answer.certificate, certificate):
        return
    if as_json:
        print_json(answer.to_dict())
        return
    print_line(str(answer))
    if shuffled == "messages":
        for group, ends in answer.victims.items():
            print_line(f"victims of group {group}: {_shown(ends)}")


def _shown(ends: tuple[float, float]) -> str:
    low, high = (outward_decimal(mpmath.mpf(x), down=down) for x, down in zip(ends, (True, False), strict=True))
    return f"[{low}, {high}]"
