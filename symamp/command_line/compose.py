"""The commands compose, renyi, tradeoff and risk: many rounds, of one mechanism or listed in a TOML file."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
import sympy as sp

from symamp.accounting.composition import Composition
from symamp.accounting.coordinates import MESSAGES, CoordinateSums, is_by_coordinates
from symamp.accounting.privacy_profile import compose as composed
from symamp.accounting.privacy_profile import profile
from symamp.command_line import options
from symamp.command_line.output import asked_of, print_answer, print_found, save_plot, write_document
from symamp.command_line.words import mentioned
from symamp.errors import ArgumentError, FormatError, Problem
from symamp.numbers.reading import budget
from symamp.questions.risk import RATES

_UNSAID: dict[str, Any] = {
    **dict.fromkeys(("n", "method", "sampled_from", "participation")),
    "rounds": "1",
    "view": MESSAGES,
}
"""What is said about the rounds of a mechanism, and what counts where it is left out."""


class RoundsCommand(options.MechanismCommand):
    """A command about a mechanism, or about the rounds that a file with the ending .toml lists."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        file, _ = mentioned(args, ["--json", "--help", "-h"])
        if file is None or not file.endswith(".toml"):
            return super().parse_args(ctx, args)
        rest = click.Command.parse_args(self, ctx, args)
        if ctx.params.pop("name") != file or ctx.params.pop("mechanism") is not None:
            raise ArgumentError("mechanism", Problem(f"{file} already names the mechanisms"), "name no other")
        ctx.params["found"] = read_rounds(Path(file))
        return rest


def read_rounds(file: Path) -> Composition:
    """Return the rounds of a TOML file: tables [[round]] with mechanism or file, n, rounds, and parameters.

    ``method``, ``sampled_from``, ``participation`` and ``view`` may be added. Numbers count as they are written. Raises
    FormatError.
    """
    data = options.read_toml(file)
    tables = data.get("round")
    if set(data) != {"round"} or not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise FormatError("file", Problem(f"{file} has other content than tables [[round]]"), "remove it")
    return composed([_rounds(table, file.parent) for table in tables])


def _rounds(table: dict[str, Any], folder: Path) -> Composition:
    if "n" not in table or "rounds" not in table:
        missing = Problem(f"missing key {'n' if 'n' not in table else 'rounds'!r}")
        raise FormatError("round", missing, "give n, rounds, and one of mechanism and file")
    found = options.listed_member(table, folder, "mechanism", tuple(_UNSAID))
    given = {key: table.get(key, unsaid) for key, unsaid in _UNSAID.items()}
    if "participation" in table:
        given["participation"] = options.read_participation(table["participation"])
    return _composition(found, **given)


def _composition(
    found: Any, n: Any, rounds: Any, method: str | None, sampled_from: Any, participation: Any, view: str
) -> Composition:
    is_by_coordinates(view, participation, (method, sampled_from))
    one = profile(found, n=n, method=method, participation=participation, view=view)
    if sampled_from is None or isinstance(one, CoordinateSums):
        return one.rounds(rounds)
    return one.sampled(n=n, of=sampled_from).rounds(rounds)


def _asked(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all of the commands; ``whole`` is what they say about the rounds."""

    @wraps(command)
    def with_rounds(found: Any, **others: Any) -> None:
        given = {key: others.pop(key) for key in _UNSAID}
        command(whole=_all(found, given), **others)

    added = options.together(
        click.option("--n", metavar="NUMBER", help="Number of users in a round, such as 1e6."),
        options.whole("--rounds", default=1, help="Number of rounds, up to 1e6."),
        options.method,
        click.option("--sampled-from", metavar="NUMBER", help="Number of people from whom a round draws its n users."),
        options.participation,
        options.view,
        options.gap,
        options.effort,
        options.as_json,
    )
    return added(with_rounds)


def _all(found: Any, given: dict[str, Any]) -> Composition:
    if isinstance(found, Composition):
        if given != _UNSAID:
            told = Problem(f"the file already says {', '.join(key for key in _UNSAID if key != 'view')} and view")
            raise ArgumentError("options", told, "leave these options out")
        return found
    if given["n"] is None:
        raise ArgumentError("option --n", Problem("missing"), "give the number of users")
    return _composition(found, **given)


@click.command(cls=RoundsCommand)
@options.eps_or_delta
@options.certificate
@options.written_to("--export", help="Write the profile (JSON) for `sa.GivenProfile.from_dict`; - prints it.")
@options.plot
@_asked
def compose(
    whole: Composition,
    delta: str | None,
    eps: str | None,
    certificate: Path | None,
    export: Path | None,
    plot: Path | None,
    as_json: bool,
    **fit: Any,
) -> None:
    """Bracket eps or delta after many adaptive rounds.

    The rounds are those of a mechanism, or of a TOML file; the ends are certified.
    """
    answer = asked_of(whole, delta, eps, **fit)
    if export is not None and write_document("export", whole.to_dict(), export):
        return
    middle = answer.upper if delta is not None else float(sp.N(budget(eps)))
    save_plot(lambda: whole.plot([middle * k / 8 for k in range(4, 13)]), plot)
    print_answer(answer, certificate, as_json)


@click.command(cls=RoundsCommand)
@options.numbers("--order", required=True, help="Orders above 1, separated by commas.")
@options.plot
@_asked
def renyi(whole: Composition, order: list[str], plot: Path | None, as_json: bool, **fit: Any) -> None:
    """Bracket the Renyi divergence after one or many rounds.

    The ends are certified.
    """
    print_found(whole.renyi(order, **fit), as_json, plot=plot)


@click.command(cls=RoundsCommand)
@options.numbers("--level", required=True, help="Errors of the first kind, separated by commas.")
@options.plot
@_asked
def tradeoff(whole: Composition, level: list[str], plot: Path | None, as_json: bool, **fit: Any) -> None:
    """Bracket the trade-off function (f-DP) of one or many rounds.

    The ends are certified.
    """
    print_found(whole.tradeoff(level, **fit), as_json, plot=plot)


@click.command(cls=RoundsCommand)
@click.option("--prior", default="1/2", metavar="NUMBER", help="Probability, before, of the input that is accused.")
@options.numbers("--rates", default=",".join(RATES), help="False positive rates, separated by commas.")
@_asked
def risk(whole: Composition, prior: str, rates: list[str], as_json: bool, **fit: Any) -> None:
    """Bracket what an attacker gains after one or many rounds.

    The ends are certified.
    """
    print_found(whole.risk(prior=prior, rates=rates, **fit), as_json)
