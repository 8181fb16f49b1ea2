"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from symamp.analyses.registry import ANALYSES
from symamp.command_line.words import separated

Command = Callable[..., Any]


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return what adds all of these options, in their order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


numbers = partial(click.option, type=separated, metavar="NUMBERS")
"""An option with a list that is separated by commas."""


def starting(names: Iterable[str]) -> Callable[[object, object, str], list[CompletionItem]]:
    """Return what completes a word to one of the names."""
    return lambda _, __, incomplete: [CompletionItem(name) for name in names if name.startswith(incomplete)]


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
certificate = click.option(
    "--certificate", type=click.Path(path_type=Path), help="Write a certificate for `symamp verify`; - prints it."
)
gap = click.option("--gap", default="1e-6", metavar="NUMBER", help="Relative width in delta to aim at.")
method = click.option(
    "--method", metavar="NAME", shell_complete=starting(ANALYSES), help=f"One of {', '.join(ANALYSES)}."
)
neighbours = click.option(
    "--neighbours",
    default="all",
    metavar="DISTANCE",
    help="Compare inputs at distance at most so much, or pairs such as 'a,b; b,c'.",
)
plot = click.option("--plot", type=click.Path(path_type=Path), help="Draw the brackets, such as out.svg.")
csv = click.option("--csv", type=click.Path(path_type=Path), help="Write one line for each point.")
eps_or_delta = together(
    click.option("--delta", metavar="NUMBER", help="In (0, 1): eps is bracketed."),
    click.option("--eps", metavar="NUMBER", help="A number >= 0: delta is bracketed."),
)
written = together(csv, plot, as_json)
