"""The commands compose, renyi and tradeoff: many rounds, of one mechanism or listed in a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import reduce, wraps
from pathlib import Path
from typing import Any

import click
import sympy as sp

from symamp.accounting.privacy_profile import compose as composed
from symamp.accounting.privacy_profile import profile
from symamp.accounting.rounds import Composition
from symamp.command_line.mechanism_command import MechanismCommand
from symamp.command_line.output import print_json, print_line, save_plot, write_certificate
from symamp.command_line.words import member, mentioned, read_gap, separated
from symamp.errors import ArgumentError, FormatError
from symamp.mechanisms.catalogue import by_name
from symamp.mechanisms.files.load import load_mechanism
from symamp.numbers.arguments import budget

_OWN = ("mechanism", "file", "n", "rounds", "method", "sampled_from")


class RoundsCommand(MechanismCommand):
    """A command about a mechanism, or about the rounds that a file with the ending .toml lists."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; a TOML file takes the place of a mechanism."""
        file, _ = mentioned(args, ["--json", "--help", "-h"])
        if file is None or not file.endswith(".toml"):
            return super().parse_args(ctx, args)
        rest = click.Command.parse_args(self, ctx, args)
        if ctx.params.pop("name") != file or ctx.params.pop("mechanism") is not None:
            raise ArgumentError("mechanism", file, "a TOML file as the only mechanism")
        ctx.params["found"] = read_rounds(Path(file))
        return rest


def read_rounds(file: Path) -> Composition:
    """Return the rounds of a TOML file: tables [[round]] with mechanism or file, n, rounds, and parameters.

    ``method`` and ``sampled_from`` may be added. Numbers count as they are written. Raises FormatError.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"), parse_float=str)
    except OSError as error:
        raise FormatError("file", str(file), f"a file that can be read ({error.strerror})") from None
    except ValueError as error:
        raise FormatError("file", str(file), f"TOML ({error})") from None
    tables = data.get("round")
    if set(data) != {"round"} or not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise FormatError("file", str(file), "tables [[round]] and nothing else")
    return composed([_rounds(table, file.parent) for table in tables])


def _rounds(table: dict[str, Any], folder: Path) -> Composition:
    if "n" not in table or "rounds" not in table or ("mechanism" in table) == ("file" in table):
        raise FormatError("round", table, "n, rounds, and one of mechanism and file")
    values = {name: str(value) for name, value in table.items() if name not in _OWN}
    named = "mechanism" in table
    family = by_name(str(table["mechanism"])) if named else load_mechanism(folder / str(table["file"]))
    found = member(family, values)
    return _composition(found, table["n"], table["rounds"], table.get("method"), table.get("sampled_from"))


def _composition(found: Any, n: Any, count: Any, method: str | None, sampled_from: Any) -> Composition:
    one = profile(found, n=n, method=method)
    whole = _whole(count)
    return one.rounds(whole) if sampled_from is None else one.sampled(n=n, of=sampled_from).rounds(whole)


def _whole(count: Any) -> int:
    try:
        value = float(count)
    except (TypeError, ValueError, OverflowError):
        value = 0.5
    if not value.is_integer():
        raise ArgumentError("rounds", count, "a whole number, such as 100 or 1e4")
    return int(value)


def _asked(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all three commands; ``whole`` and ``gap`` are what they say about the rounds."""

    @wraps(command)
    def with_rounds(
        found: Any,
        n: str | None,
        rounds: str,
        method: str | None,
        sampled_from: str | None,
        gap: str | None,
        **others: Any,
    ) -> None:
        width = None if gap is None else read_gap(gap, "1e-5")
        command(whole=_all(found, n, rounds, method, sampled_from), gap=width, **others)

    options = (
        click.option("--n", metavar="NUMBER", help="Number of users in a round, such as 1e6."),
        click.option("--rounds", metavar="NUMBER", default="1", help="Number of rounds, up to 1e6."),
        click.option("--method", metavar="NAME", help="An analysis by name, such as blanket or all_data_sets."),
        click.option("--sampled-from", metavar="NUMBER", help="People that the n users are drawn from in each round."),
        click.option("--gap", metavar="NUMBER", help="Relative width in eps to aim at."),
        click.option("--plot", type=click.Path(path_type=Path), help="Draw the brackets, such as out.svg."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines."),
    )
    return reduce(lambda made, option: option(made), reversed(options), with_rounds)


def _all(found: Any, n: str | None, rounds: str, method: str | None, sampled_from: str | None) -> Composition:
    if isinstance(found, Composition):
        if n is not None or rounds != "1" or method is not None or sampled_from is not None:
            raise ArgumentError(
                "options", "n, rounds, method or sampled-from", "what the file says, and nothing beside it"
            )
        return found
    if n is None:
        raise ArgumentError("option --n", "no value", "the number of users")
    return _composition(found, n, rounds, method, sampled_from)


@click.command(cls=RoundsCommand)
@click.option("--delta", metavar="NUMBER", help="In (0, 1): eps is bracketed.")
@click.option("--eps", metavar="NUMBER", help="A number >= 0: delta is bracketed.")
@click.option(
    "--certificate", type=click.Path(path_type=Path), help="Write a certificate for `symamp verify`; - prints it."
)
@_asked
def compose(
    whole: Composition,
    gap: float | None,
    delta: str | None,
    eps: str | None,
    certificate: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Certified bracket of eps, or of delta, after many adaptive rounds of a mechanism, or those of a TOML file."""
    if (delta is None) == (eps is None):
        raise ArgumentError("options", "both" if delta else "none", "one of --delta and --eps")
    answer = whole.epsilon(delta, gap=gap) if delta is not None else whole.delta(eps, gap=gap)
    middle = answer.upper if delta is not None else float(sp.N(budget(eps)))
    save_plot(lambda: whole.plot([middle * k / 8 for k in range(4, 13)]), plot)
    if write_certificate(answer, certificate):
        return
    if as_json:
        print_json(answer.to_dict())
        return
    print_line(str(answer))
    if answer.gaussian is not None:
        print_line(f"Gaussian approximation, no bound: {answer.gaussian:.6g} ({answer.gaussian_place})")
    print_line(f"covered: {answer.covered}")


@click.command(cls=RoundsCommand)
@click.option("--order", required=True, metavar="NUMBERS", help="Orders above 1, separated by commas.")
@_asked
def renyi(whole: Composition, gap: float | None, order: str, plot: Path | None, as_json: bool) -> None:
    """Certified brackets of the Renyi divergence after one or many rounds."""
    curve = whole.renyi(separated(order), gap=gap)
    save_plot(curve.plot, plot)
    if as_json:
        orders = [str(a) for a in curve.orders]
        upper = [x if x < float("inf") else "inf" for x in curve.upper]
        print_json({"order": orders, "lower": list(curve.lower), "upper": upper, "rounds": curve.text})
        return
    print_line(str(curve))


@click.command(cls=RoundsCommand)
@click.option("--level", required=True, metavar="NUMBERS", help="Errors of the first kind, separated by commas.")
@_asked
def tradeoff(whole: Composition, gap: float | None, level: str, plot: Path | None, as_json: bool) -> None:
    """Certified brackets of the trade-off function (f-DP) after one or many rounds."""
    found = whole.tradeoff(separated(level), gap=gap)
    save_plot(found.plot, plot)
    if as_json:
        data = {"level": found.levels, "lower": found.lower, "upper": found.upper, "rounds": found.text}
        print_json(data)
        return
    print_line(str(found))
