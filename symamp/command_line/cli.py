"""The command line: derive, epsilon, delta, verify, audit, mechanisms."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from symamp import __version__, verifier
from symamp.amplification import questions
from symamp.analyses.registry import ANALYSES
from symamp.command_line.failure import guarded
from symamp.command_line.output import (
    print_answer,
    print_decompositions,
    print_findings,
    print_json,
    print_table,
    write_certificate,
)
from symamp.command_line.words import described, read_gap, refuse_repeated, subject
from symamp.derivation.pairs import pair_classes
from symamp.errors import ArgumentError
from symamp.literature.audit import audit as audit_findings
from symamp.mechanisms.catalogue import catalogue
from symamp.mechanisms.family import Parametrised
from symamp.mechanisms.pure_ldp import PureLDP

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_MORE = {"ignore_unknown_options": True}

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME|--PARAMETER VALUE",
        help="A mechanism of the catalogue (see `symamp mechanisms`), and parameters such as --k 10 --eps0 1.",
    ),
]
File = Annotated[Path | None, typer.Option("--mechanism", help="A mechanism file (JSON) instead of a name.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Users = Annotated[str, typer.Option("--n", help="Number of users, such as 1e6.")]
Method = Annotated[str | None, typer.Option("--method", help=f"One of {', '.join(ANALYSES)}.")]
Gap = Annotated[str, typer.Option("--gap", help="Relative width in delta to aim at.")]
Certificate = Annotated[Path | None, typer.Option("--certificate", help="Write a certificate for `symamp verify`.")]


@app.callback(invoke_without_command=True)
def symamp(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Privacy amplification by shuffling: derive, evaluate with a guarantee, show."""
    if version:
        print(f"symamp {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command(context_settings=_MORE)
def derive(
    words: Words = None,
    mechanism: File = None,
    pair: Annotated[str | None, typer.Option("--pair", help="Two inputs, separated by a comma.")] = None,
    as_json: Json = False,
) -> None:
    """Derive the optimal (blanket) decomposition as formulas. Parameters left out stay symbols (--k 10 --eps0 1)."""
    found = described(words or (), mechanism)
    if pair is None:
        print_decompositions(found, [c.decomposition for c in pair_classes(found)], as_json)
        return
    labels = [part.strip() for part in pair.split(",")]
    if len(labels) != 2:
        raise ArgumentError("pair", pair, "two inputs, separated by a comma")
    print_decompositions(found, [found.blanket(*labels)], as_json)


@app.command(context_settings=_MORE)
def epsilon(
    n: Users,
    delta: Annotated[str, typer.Option("--delta", help="In (0, 1), also far below 1e-300.")],
    words: Words = None,
    mechanism: File = None,
    method: Method = None,
    gap: Gap = "1e-6",
    certificate: Certificate = None,
    as_json: Json = False,
) -> None:
    """Certified bracket of the central epsilon of n shuffled users."""
    found = subject(words or (), mechanism)
    answer = questions.epsilon(found, n=n, delta=delta, method=method, gap=read_gap(gap))
    write_certificate(answer, certificate)
    print_answer(answer, as_json)


@app.command(context_settings=_MORE)
def delta(
    n: Users,
    eps: Annotated[str, typer.Option("--eps", help="A number >= 0, such as 0.1 or log(3/2).")],
    words: Words = None,
    mechanism: File = None,
    method: Method = None,
    gap: Gap = "1e-6",
    certificate: Certificate = None,
    as_json: Json = False,
) -> None:
    """Certified bracket of delta at a central epsilon."""
    found = subject(words or (), mechanism)
    answer = questions.delta(found, n=n, eps=eps, method=method, gap=read_gap(gap))
    write_certificate(answer, certificate)
    print_answer(answer, as_json)


@app.command()
def verify(file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate (JSON).")]) -> None:
    """Check a certificate without any search: exit code 0 if valid, 1 if invalid, 2 if malformed."""
    raise typer.Exit(verifier.main(str(file)))


@app.command()
def audit(as_json: Json = False) -> None:
    """Compare every formula that the papers print for these mechanisms with the derived one."""
    findings = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("comparing", total=None)
        for finding in audit_findings():
            progress.advance(task)
            findings.append(finding)
    print_findings(findings, as_json)


@app.command()
def mechanisms(as_json: Json = False) -> None:
    """List the mechanisms of the catalogue with their parameters."""
    listed: dict[str, type[Parametrised]] = {**catalogue(), PureLDP.slug: PureLDP}
    rows = [(slug, ", ".join(p.describe() for p in family.declared), family.name) for slug, family in listed.items()]
    if as_json:
        print_json([{"name": a, "parameters": b, "description": c} for a, b, c in rows])
        return
    print_table(("name", "parameters", "mechanism"), rows)


def main() -> None:
    """Run the command line; bad input ends with exit code 2 and one line."""

    def run(words: list[str]) -> object:
        refuse_repeated(words)
        return app(args=words, prog_name="symamp", standalone_mode=False)

    guarded(run, sys.argv[1:])


if __name__ == "__main__":
    main()
