"""The command training: random allocation, shuffled batches and Poisson sampling of Gaussian steps."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from symamp.command_line.options import as_json, certificate, effort, eps_or_delta, gap, whole
from symamp.command_line.output import asked_of, print_answer, print_json
from symamp.errors import ArgumentError, Problem
from symamp.numbers.dyadic import decimal_end
from symamp.training import GaussianStep, Training, least_sigma, poisson, random_allocation, shuffled_batches
from symamp.training.mechanisms import ADD_REMOVE, REPLACE


@click.command()
@click.argument("batches", type=click.Choice(["allocation", "shuffled", "poisson"]))
@click.option(
    "--sigma",
    metavar="NUMBER",
    help="Standard deviation of the noise, divided by the clipping norm; the least one if it is not given.",
)
@whole("--steps", required=True, help="Number of steps of an epoch.")
@whole("--selected", default=1, help="Number of steps that an example takes part in (allocation only).")
@click.option("--rate", metavar="NUMBER", help="Probability of taking part in a step (poisson only), such as 1/1000.")
@whole("--epochs", default=1, help="Number of epochs, each with fresh draws.")
@click.option(
    "--neighbours",
    type=click.Choice([ADD_REMOVE, REPLACE]),
    required=True,
    help="How data sets differ: an example is there or not, or is another one.",
)
@eps_or_delta
@gap
@effort
@certificate
@as_json
def training(
    batches: str,
    sigma: str | None,
    selected: str,
    rate: str | None,
    eps: str | None,
    delta: str | None,
    gap: str | None,
    effort: str,
    certificate: Path | None,
    as_json: bool,
    **common: Any,
) -> None:
    """Bracket eps or delta of training with noise (DP-SGD).

    The argument says how batches are drawn; the ends are certified. Without --sigma, and with both --eps and --delta:
    bracket the least sigma that is enough.
    """
    if (rate is not None) != (batches == "poisson"):
        wrong = Problem("poisson needs it, and no other sampler has it")
        raise ArgumentError("option --rate", wrong, "give it with poisson only")
    if selected != "1" and batches != "allocation":
        raise ArgumentError("option --selected", Problem(f"{batches} does not have it"), "leave it out")

    def made(sigma: Any) -> Training:
        noise = GaussianStep(sigma=sigma)
        if batches == "allocation":
            return random_allocation(noise=noise, selected=selected, **common)
        if batches == "poisson":
            return poisson(noise=noise, rate=rate or 1, **common)
        return shuffled_batches(noise=noise, **common)

    if sigma is None:
        if eps is None or delta is None or certificate is not None:
            told = Problem("it is not given")
            raise ArgumentError("option --sigma", told, "give it, or both --eps and --delta for the least one")
        ends = [str(x) for x in least_sigma(made, eps=eps, delta=delta, **({} if gap is None else {"gap": gap}))]
        if as_json:
            print_json({"quantity": "sigma", "lower": ends[0], "upper": ends[1], "eps": eps, "delta": delta})
        else:
            low, high = (
                decimal_end(float(Fraction(x)), 6, down=down) for x, down in zip(ends, (True, False), strict=True)
            )
            click.echo(f"least sigma in ({low}, {high}]: private at the second, exactly {ends[1]}")
        return
    answer = asked_of(made(sigma), delta, eps, gap, effort)
    print_answer(answer, certificate, as_json)
    if not as_json and str(certificate) != "-":
        for name, found in answer.of_directions:
            click.echo(f"{name}: {found}")
