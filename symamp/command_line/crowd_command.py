"""The command crowd: users who differ, in groups that run mechanisms of their own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from symamp.amplification import questions
from symamp.analyses.crowd import heterogeneous
from symamp.analyses.subject import Subject
from symamp.command_line.mechanism_words import GroupWord
from symamp.command_line.options import as_json, certificate, eps_or_delta, gap, numbers
from symamp.command_line.output import print_json, print_line, write_certificate
from symamp.command_line.words import read_gap
from symamp.numbers.arguments import asked


@click.command()
@click.argument("groups", nargs=-1, required=True, metavar="GROUP...", type=GroupWord())
@click.option("--shuffled", type=click.Choice(["messages", "data"]), required=True, help="What the shuffler permutes.")
@eps_or_delta
@numbers("--honest", help="How many users of each group do not collude, such as 400,100.")
@click.option("--dropout", default="0", metavar="NUMBER", help="Chance that another user's message is lost unseen.")
@click.option("--victim", type=int, metavar="GROUP", help="Only victims of this group: 0 is the first.")
@gap
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
    certificate: Path | None,
    as_json: bool,
) -> None:
    """Certified bracket for users who differ. A GROUP is NUMBER:MECHANISM:PARAMETERS, such as 500:krr:k=10,eps0=1."""
    counts = None if honest is None else [0 if x == "0" else x for x in honest]
    found = heterogeneous(groups, shuffled=shuffled, honest=counts, dropout=dropout)
    quantity, given = asked(delta, eps)
    ask = partial(questions.epsilon, delta=given) if quantity == "epsilon" else partial(questions.delta, eps=given)
    answer = ask(found, victim=victim, gap=read_gap(gap))
    if write_certificate(answer, certificate):
        return
    if as_json:
        print_json(answer.to_dict())
        return
    print_line(str(answer))
    if shuffled == "messages":
        for group, (low, high) in answer.victims.items():
            print_line(f"victims of group {group}: [{low:.10g}, {high:.10g}]")
