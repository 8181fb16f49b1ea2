"""The command compare: every bound of the literature at one question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from symamp.bounds.subject import Subject
from symamp.command_line.mechanism_command import MechanismCommand
from symamp.command_line.options import (
    effort,
    neighbours,
    numbers,
    participation,
    read_neighbours,
    read_participation,
    written,
)
from symamp.command_line.output import print_json, print_line, save_plot, write_points
from symamp.literature.compare import Comparison
from symamp.literature.compare import compare as compared


@click.command(cls=MechanismCommand)
@numbers("--n", required=True, help="Numbers of users, such as 1e6 or 1e4,1e6.")
@numbers("--eps0", help="The local budget, or several, of a mechanism that has one.")
@numbers("--delta", help="In (0, 1): values of eps are compared.")
@numbers("--eps", help=">= 0: values of delta are compared.")
@numbers("--names", metavar="NAMES", help="Only these bounds, separated by commas.")
@neighbours
@participation
@effort
@written
def compare(
    found: Subject,
    neighbours: str,
    participation: str | None,
    csv: Path | None,
    plot: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Every bound of the literature at one question, or over a grid of them, beside the certified truth."""
    taking = read_participation(participation)
    grid = compared(found, neighbours=read_neighbours(neighbours), participation=taking, **asked)
    write_points(csv, grid.to_csv)
    save_plot(grid.plot, plot)
    if as_json:
        points = [{"truth": point.truth.to_dict(), "rows": point.to_dicts()} for point in grid]
        print_json(points[0] if len(points) == 1 else points)
        return
    for point in grid:
        _print(point)


def _print(table: Comparison) -> None:
    print_line(f"{table.truth.subject}: {table.truth}")
    width = max(len(row.name) for row in table.rows)
    print_line(f"{'name':<{width}} {table.truth.quantity:>14} {'ratio':>10}  verdict (conditions) source")
    for row in table.rows:
        told = " ".join(f"({text})" for text in (row.conditions, row.note) if text)
        print_line(
            f"{row.name:<{width}} {_shown(row.value):>14} {_shown(row.ratio, 4):>10}  {row.verdict} {told} {row.source}"
        )


def _shown(x: float | None, digits: int = 8) -> str:
    return "" if x is None else f"{x:.{digits}g}"
