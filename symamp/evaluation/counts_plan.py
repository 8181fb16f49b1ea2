"""From what an evaluation of two-message reports can be repeated: plain numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CountPlan:
    """Threshold k, tilt theta, period N (odd), frequencies 0..J; tilts on either side that bound the wrap-around."""

    k: int
    theta: float
    nearer: float
    further: float
    period: int
    last: int


@dataclass(frozen=True)
class Box:
    """The data sets with ``first`` to ``last`` of the other users at the largest probability, all others at the least.

    ``plan`` evaluates the data set of all users that these have in common, or the spread bound.
    """

    first: int
    last: int
    plan: CountPlan
    spread: bool = False


@dataclass(frozen=True)
class CountsEvidence:
    """Boxes that cover all data sets; or the ``counts`` of one at the most and the least probable, and its only box."""

    boxes: tuple[Box, ...]
    counts: tuple[int, int] | None = None
