"""What proves one end of a bracket about many rounds, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from symamp.accounting.curve_points import CurvePoints
from symamp.accounting.round import Round
from symamp.analyses.reduction import Reduction
from symamp.evaluation.plan import Plan


@dataclass(frozen=True)
class RoundCurve:
    """Points of the curve of a round that is run ``count`` times; from below with the ``data_set`` and its n."""

    round: Round
    count: int
    points: CurvePoints
    floor: int
    data_set: tuple[Reduction, int] | None = None


@dataclass(frozen=True)
class Side:
    """The curves of all rounds, the eps in question as an expression, and the plan of the evaluation."""

    curves: tuple[RoundCurve, ...]
    eps: str
    plan: Plan | None
    precision: int
