"""The commands with many questions or inverse questions: compare, curve, sweep, plan, choose."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from symamp.accounting.sweep import Sweep, curve, sweep
from symamp.bounds.subject import Subject
from symamp.command_line import options
from symamp.command_line.output import print_found
from symamp.errors import ArgumentError, FormatError, Problem
from symamp.literature.compare import compare as compared
from symamp.numbers.dyadic import decimal_end
from symamp.numbers.reading import exact_number
from symamp.planning.inverse import Inverse, largest_eps0, least_n, most_rounds
from symamp.planning.plan import plan as plan_of


@click.command(cls=options.MechanismCommand)
@options.numbers("--n", required=True, help="Numbers of users, such as 1e6 or 1e4,1e6.")
@options.numbers("--eps0", help="The local budget, or several, of a mechanism that has one.")
@options.numbers("--delta", help="Compare bounds on eps at these deltas, in (0, 1).")
@options.numbers("--eps", help="Compare bounds on delta at these eps, >= 0.")
@options.numbers("--names", metavar="NAMES", help="Compare these bounds only, separated by commas.")
@options.neighbours
@options.participation
@options.view
@options.effort
@options.written
def compare(found: Subject, csv: Path | None, plot: Path | None, as_json: bool, **asked: Any) -> None:
    """Compare every bound in print with the certified bracket.

    Several values of n, eps0, delta or eps make a grid.
    """
    print_found(compared(found, **asked), as_json, csv=csv, plot=plot)


_AXES = ("n", "eps0", "delta", "eps", "method", "gap", "effort", "participation", "view")


@click.command("curve", cls=options.MechanismCommand)
@options.numbers("--n", required=True, help="Numbers of users, separated by commas.")
@options.numbers("--eps", help="Bracket delta at these central eps, separated by commas.")
@options.numbers("--delta", help="Bracket epsilon at these deltas, separated by commas.")
@options.method
@options.participation
@options.view
@options.effort
@options.written
def curve_command(found: Subject, csv: Path | None, plot: Path | None, as_json: bool, **asked: Any) -> None:
    """Bracket delta over eps, or epsilon over delta.

    One curve for each number of users; all ends are certified.
    """
    _show(curve(found, **asked), csv, plot, as_json)


@click.command("sweep")
@click.argument("file", type=click.Path(path_type=Path))
@options.written_to("--points", help="Save points in this file, and resume from it.")
@click.option("--workers", type=click.IntRange(1, 256), default=1, help="Number of processes.")
@options.written
def sweep_command(
    file: Path, points: Path | None, workers: int, csv: Path | None, plot: Path | None, as_json: bool
) -> None:
    """Bracket all combinations that a TOML file lists.

    All ends are certified. The file has n and delta (or eps). It may have eps0, method, gap, effort, participation and
    view. Each mechanism has a table [mechanisms.NAME] with `family` and its parameters, or with `file`, a mechanism
    file.
    """
    data = _read(file)
    listed = data.pop("mechanisms").items()
    mechanisms = {str(name): options.listed_member(entry, file.parent, "family") for name, entry in listed}
    with nullcontext(None) if workers == 1 else ProcessPoolExecutor(workers) as executor:
        result = sweep(mechanisms, **data, file=points, executor=executor)
    _show(result, csv, plot, as_json)


rounds = options.together(
    click.option("--sampled-from", metavar="NUMBER", help="Number of people from whom a round draws its n users."),
    options.participation,
    options.effort,
    options.written,
)
goal = options.together(
    click.option("--eps", required=True, metavar="NUMBER", help="The central eps to reach."),
    click.option("--delta", required=True, metavar="NUMBER", help="The central delta to reach, in (0, 1)."),
)
MOST = "most"


@click.command("plan", cls=options.MechanismCommand)
@goal
@click.option("--n", metavar="NUMBER", help="Number of users; leave it out to find the least one.")
@click.option("--rounds", default="1", metavar="NUMBER", help="Number of rounds, or `most` to find the most.")
@options.view
@rounds
def plan_command(
    found: Subject,
    eps: str,
    delta: str,
    n: str | None,
    rounds: str,
    csv: Path | None,
    plot: Path | None,
    as_json: bool,
    sampled_from: str | None,
    **setting: Any,
) -> None:
    """Find the largest eps0, the least n or the most rounds.

    With --n it is the largest eps0, without it the least n, with `--rounds most` the most rounds.
    """
    asked: dict[str, Any] = {"eps": eps, "delta": delta, **setting}
    if plot is not None and (rounds != "1" or sampled_from is not None):
        raise ArgumentError("option --plot", Problem("only one round without sampling can be drawn"), "leave it out")
    if rounds == MOST:
        answer = most_rounds(found, n=n, sampled_from=sampled_from, **asked)
    elif n is None:
        if sampled_from is not None:
            told = Problem("with sampling, fewer users may be more private, so no least n exists")
            raise ArgumentError("option --sampled-from", told, "give --n")
        answer = least_n(found, rounds=rounds, **asked)
    else:
        answer = largest_eps0(found, n=n, rounds=rounds, sampled_from=sampled_from, **asked)
    line = f"Monotonicity is not proved: only {answer.quantity} = {answer.safe!r} is certified."
    if answer.monotone is not None:
        others = {"eps0": "Every smaller eps0 is", "n": "Every larger n is", "rounds": "Fewer rounds are"}
        line = f"{others[answer.quantity]} also private: {answer.monotone}."
    draw = partial(_around, answer, found, eps, n, setting)
    print_found(answer, as_json, csv=csv, plot=plot, draw=draw, lines=(str(answer), line))


@click.command("choose")
@click.argument(
    "candidates", nargs=-1, required=True, metavar="CANDIDATE...", type=options.MechanismWord(of_attributes=True)
)
@goal
@click.option("--n", required=True, metavar="NUMBER", help="Number of users.")
@options.whole("--rounds", default=1, help="Number of rounds.")
@rounds
def choose_command(
    candidates: tuple[tuple[str, Any], ...], csv: Path | None, plot: Path | None, as_json: bool, **asked: Any
) -> None:
    """Rank mechanisms at equal central privacy; certify the best.

    The least error of the estimate comes first. A CANDIDATE is a mechanism, such as krr:k=16, or an attribute with its
    shape, a number of categories or "number", such as browser=16 minutes=number.
    """
    attributes: dict[str, Any] = {}
    for word, meant in candidates:
        if isinstance(meant, tuple):
            if meant[0] in attributes:
                raise ArgumentError("candidate", Problem(f"attribute {meant[0]} is given twice"), "give it once")
            attributes[meant[0]] = meant[1]
        else:
            attributes.setdefault("value", {})[word] = meant
    found = plan_of(attributes, **asked)
    if not as_json:
        Console().print(found.table(), markup=False)
    chosen = (f"{attribute}: {mechanism!r}" for attribute, mechanism in found.mechanisms.items())
    print_found(found, as_json, csv=csv, plot=plot, lines=(*chosen, str(found.answer)))


COMMANDS = (compare, curve_command, sweep_command, plan_command, choose_command)


def _read(file: Path) -> dict[str, Any]:
    data = options.read_toml(file)
    unknown = set(data) - {*_AXES, "mechanisms"}
    if unknown or not isinstance(data.get("mechanisms"), dict) or "n" not in data:
        known = f"the keys are mechanisms, n, and optionally {', '.join(_AXES[1:])}"
        missing = Problem(f"missing {'key n' if 'n' not in data else 'tables [mechanisms.NAME]'}")
        raise FormatError("file", Problem(f"unknown key {', '.join(sorted(unknown))}") if unknown else missing, known)
    if "participation" in data:
        data["participation"] = options.read_participation(data["participation"])
    return data


def _around(answer: Inverse, found: Subject, eps: str, n: str | None, setting: dict[str, Any]) -> Any:
    """Draw delta around the answer, with the delta that was asked for."""
    ends = [x for x in (answer.lower, answer.upper) if isfinite(x)]
    middle = (ends[0] * ends[-1]) ** 0.5
    grid = [middle * 2.0 ** (k / 4) for k in range(-4, 5, 2)]
    at: dict[str, Any] = {"n": n, "eps0": grid}
    if n is None:
        at = {"n": list(dict.fromkeys(max(round(x), 1) for x in grid))}
    result = sweep(found, **at, eps=eps, gap=1e-2, progress=False, **setting)
    axes = result.plot(x="n" if n is None else "eps0")
    axes.axhline(float(exact_number(dict(answer.asked)["delta"], "delta")), color="0.3", linestyle="--")
    return axes


def _show(result: Sweep, csv: Path | None, plot: Path | None, as_json: bool) -> None:
    def line(row: Any) -> str:
        name, eps0, n, given, low, high, *_, by = row
        local = "" if eps0 is None else f"eps0 = {eps0}, "
        at = f"{name}, {local}n = {n:,}, {result.columns[3]} = {given}"
        ends = f"[{decimal_end(low, 10, down=True)}, {decimal_end(high, 10, down=False)}]"
        return f"{result.quantity} in {ends}  ({at}; {by})"

    print_found(result, as_json, csv=csv, plot=plot, lines=map(line, result.rows()))
