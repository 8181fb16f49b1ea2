"""The interface of a certified evaluator: law, level and n in, two balls around the divergence out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb

from symamp.laws.law import BallGparv, FloatGparv, Law, Level


@dataclass(frozen=True)
class Case:
    """A law at a level and a number of users, with its G in doubles and, at the ambient precision, in balls."""

    law: Law
    level: Level
    n: int
    rough: FloatGparv
    balls: BallGparv

    def of_sum(self, low: arb, high: arb) -> tuple[arb, arb]:
        """Return the ends of the divergence from those of E[S_+]."""
        return low / self.n + self.balls.singular, high / self.n + self.balls.singular


@dataclass(frozen=True)
class Evaluator:
    """A method by name: ``enclose`` returns a lower and an upper end in balls, None for cases it is not made for.

    Guarantee
    ---------
    The outer ends of the two balls enclose the divergence. Each has its own proof; for the first of them see
    docs/proofs/kernel_sandwich.md.
    """

    name: str
    enclose: Callable[[Case], tuple[arb, arb] | None]
