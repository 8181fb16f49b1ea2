"""The command crowd: users who differ, in groups that run mechanisms of their own."""

from __future__ import annotations

from pathlib import Path

import click

from symamp.amplification import questions
from symamp.analyses.crowd import heterogeneous
from symamp.analyses.subject import Subject
from symamp.command_line.output import print_json, print_line, write_certificate
from symamp.command_line.words import member, read_gap
from symamp.errors import ArgumentError
from symamp.mechanisms.catalogue import by_name
from symamp.numbers.arguments import users

_SHAPE = "groups such as 500:krr:k=10,eps0=1 or 400:pure-ldp:eps0=2"


@click.command()
@click.argument("groups", nargs=-1, required=True, metavar="GROUP...")
@click.option("--shuffled", type=click.Choice(["messages", "data"]), required=True, help="What the shuffler permutes.")
@click.option("--delta", metavar="NUMBER", help="In (0, 1): asks for eps.")
@click.option("--eps", metavar="NUMBER", help="A number >= 0: asks for delta.")
@click.option("--honest", metavar="NUMBERS", help="How many users of each group do not collude, such as 400,100.")
@click.option("--dropout", default="0", metavar="NUMBER", help="Chance that another user's message is lost unseen.")
@click.option("--victim", type=int, metavar="GROUP", help="Only victims of this group: 0 is the first.")
@click.option("--gap", default="1e-6", metavar="NUMBER", help="Relative width in delta to aim at.")
@click.option(
    "--certificate", type=click.Path(path_type=Path), help="Write a certificate for `symamp verify`; - prints it."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
def crowd(
    groups: tuple[str, ...],
    shuffled: str,
    delta: str | None,
    eps: str | None,
    honest: str | None,
    dropout: str,
    victim: int | None,
    gap: str,
    certificate: Path | None,
    as_json: bool,
) -> None:
    """Certified bracket for users who differ. A GROUP is NUMBER:MECHANISM:PARAMETERS, such as 500:krr:k=10,eps0=1."""
    if (delta is None) == (eps is None):
        raise ArgumentError("options", "both" if delta else "none", "one of --delta and --eps")
    counts = None if honest is None else [0 if x.strip() == "0" else x.strip() for x in honest.split(",")]
    found = heterogeneous([_group(g) for g in groups], shuffled=shuffled, honest=counts, dropout=dropout)
    if eps is None:
        answer = questions.epsilon(found, delta=delta, victim=victim, gap=read_gap(gap))
    else:
        answer = questions.delta(found, eps=eps, victim=victim, gap=read_gap(gap))
    if write_certificate(answer, certificate):
        return
    if as_json:
        print_json(answer.to_dict())
        return
    print_line(str(answer))
    if shuffled == "messages":
        for group, (low, high) in answer.victims.items():
            print_line(f"victims of group {group}: [{low:.10g}, {high:.10g}]")


def _group(word: str) -> tuple[int, Subject]:
    count, _, rest = word.partition(":")
    name, _, parameters = rest.partition(":")
    if not name:
        raise ArgumentError("group", word, _SHAPE)
    values = {}
    for item in parameters.split(",") if parameters else ():
        key, equals, value = item.partition("=")
        if not equals:
            raise ArgumentError("group", item, _SHAPE)
        values[key.strip()] = value.strip()
    return users(count), member(by_name(name), values)
