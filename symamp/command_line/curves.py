"""The commands that ask many questions, or ask backwards: curve, sweep, plan, choose."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from math import isfinite
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from symamp.amplification.choose import choose
from symamp.amplification.inverse import Inverse, largest_eps0, least_n
from symamp.amplification.sweep import curve, sweep
from symamp.amplification.sweep_result import Sweep
from symamp.analyses.subject import Subject
from symamp.command_line.mechanism_command import MechanismCommand
from symamp.command_line.output import print_json, print_line, save_plot
from symamp.command_line.words import member, read_gap, separated
from symamp.errors import ArgumentError, FormatError
from symamp.mechanisms.catalogue import by_name
from symamp.mechanisms.files.load import load_mechanism
from symamp.mechanisms.utility import UTILITIES
from symamp.numbers.exact_number import exact_number

_AXES = ("n", "eps0", "delta", "eps", "method", "gap")
_MOST_BYTES = 2**20
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")


def written(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where the points go."""
    options = (
        click.option("--csv", type=click.Path(path_type=Path), help="Write one line for each point."),
        click.option("--plot", type=click.Path(path_type=Path), help="Draw the brackets, such as out.svg."),
        as_json,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command("curve", cls=MechanismCommand)
@click.option("--n", required=True, metavar="NUMBERS", help="Numbers of users, separated by commas.")
@click.option("--eps", metavar="NUMBERS", help="Central budgets, separated by commas: brackets of delta.")
@click.option("--delta", metavar="NUMBERS", help="Deltas, separated by commas: brackets of epsilon.")
@click.option("--method", metavar="NAME", help="One analysis instead of the least of all proved ones.")
@written
def curve_command(
    found: Subject,
    n: str,
    eps: str | None,
    delta: str | None,
    method: str | None,
    csv: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Certified brackets of delta over eps, or of epsilon over delta, for each number of users."""
    result = curve(found, n=_numbers(n), eps=_numbers(eps), delta=_numbers(delta), method=method)
    _show(result, csv, plot, as_json)


@click.command("sweep")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--points", type=click.Path(path_type=Path), help="Keep finished points there, and go on from them.")
@click.option("--workers", type=click.IntRange(1, 256), default=1, help="So many processes.")
@written
def sweep_command(
    file: Path, points: Path | None, workers: int, csv: Path | None, plot: Path | None, as_json: bool
) -> None:
    """Certified brackets for all combinations that a TOML file lists.

    The file has n and delta (or eps), and if wanted eps0, method and gap; and a table [mechanisms.NAME] for each
    mechanism, with `family` and its parameters, or with `file`, a mechanism file.
    """
    data = _read(file)
    mechanisms = {str(name): _mechanism(entry, file.parent) for name, entry in data.pop("mechanisms").items()}
    with nullcontext(None) if workers == 1 else ProcessPoolExecutor(workers) as executor:
        result = sweep(mechanisms, **data, file=points, executor=executor)
    _show(result, csv, plot, as_json)


@click.command("plan", cls=MechanismCommand)
@click.option("--eps", required=True, metavar="NUMBER", help="The central budget that is wanted.")
@click.option("--delta", required=True, metavar="NUMBER", help="In (0, 1).")
@click.option("--n", metavar="NUMBER", help="Number of users; left out, the least one is sought.")
@written
def plan_command(
    found: Subject, eps: str, delta: str, n: str | None, csv: Path | None, plot: Path | None, as_json: bool
) -> None:
    """How large eps0 may be for n users, or how many users it takes (without --n)."""
    answer = least_n(found, eps=eps, delta=delta) if n is None else largest_eps0(found, n=n, eps=eps, delta=delta)
    write_points(csv, answer.to_csv)
    save_plot(lambda: _around(answer, found, eps, n), plot)
    if as_json:
        print_json(answer.to_dict())
        return
    print_line(str(answer))
    why = "nothing is proved of what lies between or beyond" if answer.monotone is None else answer.monotone
    print_line(f"private on the whole safe side: {why}" if answer.monotone else f"at these two values; {why}")


@click.command("choose")
@click.argument("mechanisms", nargs=-1, required=True, metavar="MECHANISM...")
@click.option("--n", required=True, metavar="NUMBER", help="Number of users.")
@click.option("--eps", required=True, metavar="NUMBER", help="The central budget.")
@click.option("--delta", required=True, metavar="NUMBER", help="In (0, 1).")
@click.option("--utility", type=click.Choice(UTILITIES), default="frequency", help="What is estimated.")
@written
def choose_command(
    mechanisms: tuple[str, ...],
    n: str,
    eps: str,
    delta: str,
    utility: str,
    csv: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Rank mechanisms, such as krr:k=16 oue:D=16, at equal central privacy by the error of the estimate."""
    families = {word: _word(word) for word in mechanisms}
    found = choose(families, n=n, eps=eps, delta=delta, utility=utility)
    write_points(csv, found.to_csv)
    save_plot(found.plot, plot)
    if as_json:
        print_json(found.to_dict())
    else:
        Console().print(found.table(), markup=False)


COMMANDS = (curve_command, sweep_command, plan_command, choose_command)


def _numbers(words: str | None) -> list[str] | None:
    return None if words is None else separated(words)


def _word(word: str) -> Any:
    """Return the family that a word such as krr:k=16,eps0=1 names."""
    name, _, rest = word.partition(":")
    values = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise ArgumentError("mechanism", word, "a name with parameters, such as krr:k=16")
        values[key.strip()] = value.strip()
    return member(by_name(name), values)


def _read(file: Path) -> dict[str, Any]:
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            raise FormatError("file", str(file), "an existing TOML file of at most 1 MiB")
        data = tomllib.loads(file.read_text(encoding="utf-8"), parse_float=str)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FormatError("file", str(file), f"a TOML file ({error})") from None
    unknown = set(data) - {*_AXES, "mechanisms"}
    if unknown or not isinstance(data.get("mechanisms"), dict) or "n" not in data:
        raise FormatError(
            "file", ", ".join(sorted(unknown)) or "incomplete", f"mechanisms, n, and {', '.join(_AXES[1:])}"
        )
    if "gap" in data:
        data["gap"] = read_gap(str(data["gap"]))
    return data


def _mechanism(entry: Any, folder: Path) -> Any:
    if not isinstance(entry, dict) or ("family" in entry) == ("file" in entry):
        raise FormatError("mechanisms", entry, "a table with family and its parameters, or with file")
    values = {key: str(value) for key, value in entry.items() if key not in ("family", "file")}
    named = "family" in entry
    return member(by_name(str(entry["family"])) if named else load_mechanism(folder / str(entry["file"])), values)


def _around(answer: Inverse, found: Subject, eps: str, n: str | None) -> Any:
    """Draw delta around the answer, with the delta that was asked for."""
    ends = [x for x in (answer.lower, answer.upper) if isfinite(x)]
    middle = (ends[0] * ends[-1]) ** 0.5
    grid = [middle * 2.0 ** (k / 4) for k in range(-4, 5, 2)]
    if n is None:
        result = sweep(found, n=list(dict.fromkeys(max(round(x), 1) for x in grid)), eps=eps, gap=1e-2, progress=False)
    else:
        result = sweep(found, n=n, eps0=grid, eps=eps, gap=1e-2, progress=False)
    axes = result.plot(x="n" if n is None else "eps0")
    axes.axhline(float(exact_number(dict(answer.asked)["delta"], "delta")), color="0.3", linestyle="--")
    return axes


def write_points(csv: Path | None, to_csv: Callable[[Path], None]) -> None:
    """Write the points to the file, if one is named."""
    if csv is not None:
        try:
            to_csv(csv)
        except OSError as error:
            raise ArgumentError("csv", str(csv), f"a file that can be written ({error})") from None


def _show(result: Sweep, csv: Path | None, plot: Path | None, as_json: bool) -> None:
    write_points(csv, result.to_csv)
    save_plot(result.plot, plot)
    if as_json:
        print_json(result.to_dict())
        return
    for name, eps0, n, given, low, high, *_, method in result.rows():
        local = "" if eps0 is None else f"eps0 = {eps0}, "
        at = f"{name}, {local}n = {n}, {result.columns[3]} = {given}"
        print_line(f"{result.quantity} in [{low!r}, {high!r}]  ({at}; {method})")
