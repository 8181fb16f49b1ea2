"""The command training: random allocation, shuffled batches and Poisson sampling of Gaussian steps."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from symamp.command_line.options import as_json, certificate, effort, eps_or_delta, read_gap, whole_number
from symamp.command_line.output import print_answer, print_json
from symamp.errors import ArgumentError, Problem
from symamp.numbers.dyadic import decimal_end
from symamp.numbers.reading import asked
from symamp.training import GaussianStep, Training, least_sigma, poisson, random_allocation, shuffled_batches


@click.command()
@click.argument("batches", type=click.Choice(["allocation", "shuffled", "poisson"]))
@click.option(
    "--sigma",
    metavar="NUMBER",
    help="Standard deviation of the noise, divided by the clipping norm; the least one if it is not given.",
)
@click.option("--steps", required=True, metavar="COUNT", help="Number of steps of an epoch.")
@click.option(
    "--selected", metavar="COUNT", default="1", help="Number of steps that an example takes part in (allocation only)."
)
@click.option("--rate", metavar="NUMBER", help="Probability of taking part in a step (poisson only), such as 1/1000.")
@click.option("--epochs", metavar="COUNT", default="1", help="Number of epochs, each with fresh draws.")
@click.option("--neighbours", default="add_remove", help="How data sets differ: add_remove or replace.")
@eps_or_delta
@click.option("--gap", metavar="NUMBER", help="Relative width in eps to aim at, for many epochs.")
@effort
@certificate
@as_json
def training(
    batches: str,
    sigma: str | None,
    steps: str,
    selected: str,
    rate: str | None,
    epochs: str,
    neighbours: str,
    eps: str | None,
    delta: str | None,
    gap: str | None,
    effort: str,
    certificate: Path | None,
    as_json: bool,
) -> None:
    """Bracket eps or delta of training with noise (DP-SGD).

    The argument says how batches are drawn; the ends are certified. Without --sigma, and with both --eps and --delta:
    bracket the least sigma that is enough.
    """
    common: dict[str, Any] = {"neighbours": neighbours}
    common |= {"steps": whole_number(steps, "steps"), "epochs": whole_number(epochs, "epochs")}
    chosen = whole_number(selected, "selected")
    if (rate is not None) != (batches == "poisson"):
        raise ArgumentError(
            "option --rate", Problem("poisson needs it, and no other sampler has it"), "give it with poisson only"
        )
    if chosen != 1 and batches != "allocation":
        raise ArgumentError("option --selected", Problem(f"{batches} does not have it"), "leave it out")

    def made(sigma: Any) -> Training:
        noise = GaussianStep(sigma=sigma)
        if batches == "allocation":
            return random_allocation(noise=noise, selected=chosen, **common)
        if batches == "poisson":
            return poisson(noise=noise, rate=rate or 1, **common)
        return shuffled_batches(noise=noise, **common)

    fit = {"gap": None if gap is None else read_gap(gap, "1e-5")}
    if sigma is None:
        if eps is None or delta is None or certificate is not None:
            told = Problem("it is not given")
            raise ArgumentError("option --sigma", told, "give it, or both --eps and --delta for the least one")
        ends = [str(x) for x in least_sigma(made, eps=eps, delta=delta, **{k: v for k, v in fit.items() if v})]
        if as_json:
            print_json({"quantity": "sigma", "lower": ends[0], "upper": ends[1], "eps": eps, "delta": delta})
        else:
            low, high = (
                decimal_end(float(Fraction(x)), 6, down=down) for x, down in zip(ends, (True, False), strict=True)
            )
            click.echo(f"least sigma in ({low}, {high}]: private at the second, exactly {ends[1]}")
        return
    quantity, given = asked(delta, eps)
    found = made(sigma)
    answer = getattr(found, quantity)(given, effort=effort, **fit)
    print_answer(answer, certificate, as_json)
    if not as_json and str(certificate) != "-":
        for name, (low, high) in answer.directions.items():
            click.echo(f"{name}: [{low!r}, {high!r}]")
