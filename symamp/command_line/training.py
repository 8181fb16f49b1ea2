"""The command training: random allocation, shuffled batches and Poisson sampling of Gaussian steps."""

from __future__ import annotations

from typing import Any

import click

from symamp.command_line.options import as_json, effort, eps_or_delta, read_gap, whole_number
from symamp.command_line.output import print_answer
from symamp.errors import ArgumentError, Problem
from symamp.numbers.reading import asked
from symamp.training import GaussianStep, Training, poisson, random_allocation, shuffled_batches


@click.command()
@click.argument("batches", type=click.Choice(["allocation", "shuffled", "poisson"]))
@click.option(
    "--sigma", required=True, metavar="NUMBER", help="Standard deviation of the noise, divided by the clipping norm."
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
@as_json
def training(
    batches: str,
    sigma: str,
    steps: str,
    selected: str,
    rate: str | None,
    epochs: str,
    neighbours: str,
    eps: str | None,
    delta: str | None,
    gap: str | None,
    effort: str,
    as_json: bool,
) -> None:
    """Bracket eps or delta of training (DP-SGD) whose BATCHES are drawn at random; the ends are certified."""
    common: dict[str, Any] = {"noise": GaussianStep(sigma=sigma), "neighbours": neighbours}
    common |= {"steps": whole_number(steps, "steps"), "epochs": whole_number(epochs, "epochs")}
    chosen = whole_number(selected, "selected")
    if (rate is not None) != (batches == "poisson"):
        raise ArgumentError(
            "option --rate", Problem("poisson needs it, and no other sampler has it"), "give it with poisson only"
        )
    if chosen != 1 and batches != "allocation":
        raise ArgumentError("option --selected", Problem(f"{batches} does not have it"), "leave it out")
    found: Training
    if batches == "allocation":
        found = random_allocation(selected=chosen, **common)
    elif batches == "poisson":
        found = poisson(rate=rate, **common)
    else:
        found = shuffled_batches(**common)
    quantity, given = asked(delta, eps)
    fit: dict[str, Any] = {"gap": None if gap is None else read_gap(gap, "1e-5"), "effort": effort}
    answer = found.epsilon(given, **fit) if quantity == "epsilon" else found.delta(given, **fit)
    print_answer(answer, None, as_json)
    if not as_json:
        for name, (low, high) in answer.directions.items():
            click.echo(f"{name}: [{low!r}, {high!r}]")
