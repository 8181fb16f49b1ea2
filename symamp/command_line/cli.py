"""The commands: questions, compositions, users who differ, certificates, mechanisms and schemas."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Never

import click

from symamp import __version__, verifier
from symamp.accounting.privacy_profile import profile
from symamp.accounting.several_reports import SEEN, SHUFFLED, several_reports
from symamp.bounds.subject import Subject
from symamp.command_line import options, output
from symamp.command_line.compose import compose, renyi, risk, tradeoff
from symamp.command_line.curves import COMMANDS
from symamp.command_line.training import training
from symamp.command_line.words import starting
from symamp.decompositions.pairs import pair_classes
from symamp.errors import ArgumentError, ContradictionError, SymampError
from symamp.questions.methods import methods
from symamp.randomizers.catalogue import named
from symamp.schemas.validation import schema_names, schema_text
from symamp.settings.users_who_differ import heterogeneous

# ----------------------------------------------------------------- How the command line fails: exit code 2 and one line


def one_line(message: str) -> str:
    """Return the message on one line, with control characters written out.

    >>> one_line("no such file: a\\tb")
    'no such file: a\\\\tb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message.replace("\n", " "))


def guarded(run: Callable[[list[str]], object], words: list[str]) -> Never:
    """Run the command on the words; refusals end with exit code 2 and one line on standard error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # tables on terminals that know no lines
    for word in words:
        if not _can_name_a_file(word):
            _fail(f"{word}: not a word that a terminal can pass on")
    try:
        code = run(words)
        print(end="", flush=True)  # a full disk is found out here, not when the interpreter ends
    except SymampError as error:
        _fail(str(error))
    except ContradictionError as error:
        _fail(str(error), 70)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        _fail(f"cannot write: {error.strerror or error}")
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see `{context.command_path} --help`)" if context is not None else ""
        _fail(" ".join(error.format_message().split()).rstrip(".") + hint)
    sys.exit(code if isinstance(code, int) else 0)


def _can_name_a_file(word: str) -> bool:
    try:
        return b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        return False


def _drop_output() -> None:
    """Send what is still to be written nowhere, so that the interpreter does not fail on it when it ends."""
    with suppress(OSError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int = 2) -> Never:
    print(f"symamp: {one_line(message)}", file=sys.stderr)
    sys.exit(code)


# -------------------- The command line: questions, compositions, users who differ, certificates, mechanisms and schemas

question = options.together(
    click.option("--n", required=True, metavar="NUMBER", help="Number of users, such as 1e6."),
    options.method,
    options.neighbours,
    options.participation,
    options.view,
)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="symamp", message="%(prog)s %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Privacy amplification by shuffling: derive, evaluate with a guarantee, show."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@app.command(cls=options.MechanismCommand)
@click.option("--pair", metavar="X,Y", help="Two inputs, separated by a comma.")
@options.as_json
def derive(found: Subject, pair: str | None, as_json: bool) -> None:
    """Derive the optimal (blanket) decomposition as formulas. Parameters left out stay symbols (--k 10 --eps0 1)."""
    if found.noise is not None and pair is None:
        output.print_pieces(found.noise, as_json)
        return
    mechanism = options.described(found)
    if pair is None:
        output.print_decompositions(mechanism, [c.decomposition for c in pair_classes(mechanism)], as_json)
        return
    labels = options.separated(pair)
    if len(labels) != 2:
        raise ArgumentError("pair", pair, "two inputs, separated by a comma")
    output.print_decompositions(mechanism, [mechanism.blanket(*labels)], as_json)


@app.command(cls=options.MechanismCommand)
@click.option("--delta", required=True, metavar="NUMBER", help="The delta to meet, in (0, 1), also far below 1e-300.")
@question
@options.asks
def epsilon(found: Any, **setting: Any) -> object:
    """Bracket the central epsilon of n shuffled users.

    The ends are certified.
    """
    return profile(found, **setting)


@app.command(cls=options.MechanismCommand)
@click.option("--eps", required=True, metavar="NUMBER", help="The central eps, a number >= 0, such as 0.1 or log(3/2).")
@question
@options.asks
def delta(found: Any, **setting: Any) -> object:
    """Bracket delta at a central epsilon.

    The ends are certified.
    """
    return profile(found, **setting)


@app.command()
@click.argument("groups", nargs=-1, required=True, metavar="GROUP...", type=options.GroupWord())
@click.option("--shuffled", type=click.Choice(["messages", "data"]), required=True, help="What the shuffler permutes.")
@options.eps_or_delta
@options.numbers("--honest", help="How many users of each group do not collude, such as 400,100.")
@click.option("--dropout", default="0", metavar="NUMBER", help="Chance that another user's message is lost unseen.")
@click.option("--victim", type=int, metavar="GROUP", help="Only victims of this group: 0 is the first.")
@options.whole("--rounds", default=1, help="Number of rounds, up to 1e6.")
@options.participation
@options.asks
def crowd(
    groups: tuple[tuple[int, Subject], ...],
    honest: list[str] | None,
    victim: int | None,
    rounds: str,
    participation: Any,
    **model: str,
) -> object:
    """Bracket eps or delta of users who differ. A GROUP is NUMBER:MECHANISM:PARAMETERS, such as 500:krr:k=10,eps0=1."""
    counts = None if honest is None else [0 if x == "0" else x for x in honest]
    users = profile(heterogeneous(groups, honest=counts, **model).seen(participation), victim=victim)
    return users if rounds == "1" else users.rounds(rounds)


@app.command(cls=options.MechanismCommand)
@click.option("--n", required=True, metavar="NUMBER", help="Number of users, such as 1e6.")
@options.whole("--reports", required=True, help="How many reports each user sends.")
@click.option(
    "--seen",
    default=SHUFFLED,
    metavar="WORD",
    shell_complete=starting(SEEN),
    help="What the adversary sees: all reports shuffled together, in rounds, or bundled by user.",
)
@click.option("--kept", is_flag=True, help="Draw each report once and send it again on as many days as --reports says.")
@click.option(
    "--attending", metavar="NUMBER", help="Number of users who attend the same days as the victim, with --kept."
)
@options.participation
@options.eps_or_delta
@options.asks
def reports(found: Subject, **seen: Any) -> object:
    """Bracket eps or delta where each user sends several reports.

    The ends are certified.
    """
    return several_reports(found, **seen)


for command in (compose, renyi, tradeoff, risk, training, *COMMANDS):
    app.add_command(command)


@app.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--patience", type=click.IntRange(1), default=1, help="How many times the usual work it may take.")
def verify(file: Path, patience: int) -> int:
    """Check a certificate without any search.

    The exit code is 0 for valid, 1 for invalid, 2 for malformed.
    """
    return verifier.main(str(file), patience)


@app.command()
@click.argument("name", type=click.Choice(schema_names()))
def schema(name: str) -> None:
    """Print a JSON Schema, of certificates or of mechanism files."""
    click.echo(schema_text(name), nl=False)


@app.command("methods")
@options.as_json
def methods_command(as_json: bool) -> None:
    """Explain each bound that --method can name, in one line."""
    found = methods()
    if as_json:
        output.print_json([dict(zip(found.columns, row, strict=True)) for row in found])
        return
    print(found)


@app.command()
@options.as_json
def mechanisms(as_json: bool) -> None:
    """List the mechanisms of the catalogue with their parameters."""
    rows = [(slug, ", ".join(p.describe() for p in found.declared), found.name) for slug, found in named().items()]
    if as_json:
        output.print_json([{"name": a, "parameters": b, "description": c} for a, b, c in rows])
        return
    output.print_table(("name", "parameters", "mechanism"), rows)


def main() -> None:
    """Run the command line; bad input ends with exit code 2 and one line."""

    def run(words: list[str]) -> object:
        options.refuse_repeated(words)
        return app.main(args=words, prog_name="symamp", standalone_mode=False)

    guarded(run, sys.argv[1:])


if __name__ == "__main__":
    main()
