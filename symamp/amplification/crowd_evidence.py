"""Evaluations for users who differ, with what repeats them, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flint import arb

from symamp.amplification.certificate_evidence import kernel_plan
from symamp.amplification.certificate_text import exact_double, expression_text
from symamp.analyses.crowd_data import Positions
from symamp.analyses.crowd_mean import Mean, mean_over_counts
from symamp.analyses.crowd_messages import Victim
from symamp.analyses.part import DataSets
from symamp.derivation.decomposition import Decomposition
from symamp.evaluation.divergence import Enclosure, Settings
from symamp.evaluation.law import Level
from symamp.evaluation.plan import Plan
from symamp.numbers.surroundings import at_precision

BITS = 192
"""The precision of what is done besides the sums."""


@dataclass(frozen=True)
class Found:
    """One evaluation: a ball of which one end is a bound, the data set, and what repeats it, as data."""

    value: arb
    name: DataSets | None = None
    precision: int = BITS
    evidence: Callable[[], dict[str, Any]] = dict


def theorem_d(victim: Victim, at: Level, settings: Settings, most: int) -> tuple[Found, Found]:
    """Return the bound of Theorem D for a victim: one ball whose lower end, and one whose upper end, encloses it."""

    def found(mean: Mean) -> Found:
        told: dict[str, Any] = {"evaluator": mean.rule, "plan": None}
        if mean.sums:
            told["plan"] = {"ends": [exact_double(x) for x in mean.ends], "sums": [evaluation(x) for x in mean.sums]}
        bits = max((x.precision for x in mean.sums), default=BITS)
        return Found(mean.value, precision=bits, evidence=lambda: victim_data(victim) | columns_data(victim) | told)

    with at_precision(BITS):
        low, high = mean_over_counts(victim, at, settings, most)
    return found(low), found(high)


def evaluation(found: Enclosure) -> dict[str, Any]:
    """Return what repeats the sum of an enclosure, as data."""
    name = found.evaluator.partition(",")[0]
    return {"evaluator": name, "plan": kernel_plan(found.plan) if isinstance(found.plan, Plan) else None}


def positions_data(positions: Positions) -> dict[str, Any]:
    """Return the laws of positions as data."""
    laws: list[dict[str, Any]] = [
        {"components": [[expression_text(e) for e in c] for c in x.components]}
        if isinstance(x, Decomposition)
        else {"ratio": expression_text(x)}
        for x in positions.known
    ]
    return {"positions": laws}


def victim_data(v: Victim) -> dict[str, Any]:
    """Return which victim it is, and the chance that a message of another user arrives, as data."""
    return {"victim": v.group, "pair": list(v.pair), "kept": expression_text(1 - v.crowd.dropout)}


def columns_data(v: Victim) -> dict[str, Any]:
    """Return the probabilities of the messages of all groups as data."""
    return {
        "columns": [
            [
                {
                    "size": c.size,
                    "on": [expression_text(x.expr) for x in (c.on_x0, c.on_x1)],
                    "further": sorted({expression_text(x.expr) for x in c.further}),
                }
                for c in columns
            ]
            for columns in v.columns
        ]
    }
