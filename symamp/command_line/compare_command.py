"""The command compare: every bound of the literature at one question."""

from __future__ import annotations

import click

from symamp.amplification.answer import Answer
from symamp.analyses.subject import Subject
from symamp.command_line.mechanism_command import MechanismCommand
from symamp.command_line.output import print_json, print_line
from symamp.command_line.words import read_neighbours
from symamp.errors import ArgumentError
from symamp.literature.compare import Comparison
from symamp.literature.compare import compare as compared

neighbours = click.option(
    "--neighbours",
    default="all",
    metavar="DISTANCE",
    help="Compare inputs at distance at most so much, or pairs such as 'a,b; b,c'.",
)


@click.command(cls=MechanismCommand)
@click.option("--n", required=True, metavar="NUMBER", help="Number of users, such as 1e6.")
@click.option("--delta", metavar="NUMBER", help="In (0, 1): values of eps are compared.")
@click.option("--eps", metavar="NUMBER", help="A number >= 0: values of delta are compared.")
@neighbours
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
def compare(found: Subject, n: str, delta: str | None, eps: str | None, neighbours: str, as_json: bool) -> None:
    """Every bound of the literature at one question, beside the certified truth."""
    if (delta is None) == (eps is None):
        raise ArgumentError("options", "both" if delta else "none", "one of --delta and --eps")
    table = compared(found, n=n, delta=delta, eps=eps, neighbours=read_neighbours(neighbours))
    assert isinstance(table, Comparison)
    assert isinstance(table.truth, Answer)  # a crowd has no words here
    if as_json:
        print_json({"truth": table.truth.to_dict(), "rows": table.to_dicts()})
        return
    print_line(str(table.truth))
    width = max(len(row.name) for row in table.rows)
    print_line(f"{'name':<{width}} {table.truth.quantity:>14} {'ratio':>10}  verdict (conditions) source")
    for row in table.rows:
        told = " ".join(f"({text})" for text in (row.conditions, row.note) if text)
        print_line(
            f"{row.name:<{width}} {_shown(row.value):>14} {_shown(row.ratio, 4):>10}  {row.verdict} {told} {row.source}"
        )


def _shown(x: float | None, digits: int = 8) -> str:
    return "" if x is None else f"{x:.{digits}g}"
