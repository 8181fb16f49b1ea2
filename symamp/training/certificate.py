"""Certificates of training: plans, which the verifier evaluates itself, and points of curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log
from typing import Any

from flint import fmpq

from symamp.accounting.pairs import RoundCurve
from symamp.accounting.round import Round, level_at
from symamp.accounting.rounds_proof import RoundsProof, Side
from symamp.certificates.evidence import kernel_plan
from symamp.certificates.text import accepted, fraction_text
from symamp.errors import ArgumentError, Problem
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic
from symamp.settings.question import Query
from symamp.settings.rounds import Rounds
from symamp.training.rounds import FAR_BELOW, Allocation, Counted, Maximum, OneEpoch
from symamp.training.steps import Step

Data = dict[str, Any]
_WIDER = (fmpq(0), fmpq(1, 10**9), fmpq(1, 10**5), fmpq(1, 10**4), fmpq(1, 10**3), fmpq(1, 100))
"""By how much, relatively, ends are moved outward until the verifier, which rounds otherwise and has cells of its own,
accepts them: from the first on those of eps, from the second those of delta, from the third those of many epochs."""
_BEYOND, _ROOM, _ROOM_OF_LAWS = fmpq(1, 10**9), fmpq(1, 10**11), fmpq(1, 10**7)
"""How far beyond the largest ratio a curve is 0; by how much points of curves are moved outward, beside their width;
and how much of this counts at most where laws tell the ends, which are evaluated alike."""
_SPARE_BITS, _WHOLE, _NO_LESS = 32, fmpq(1), (fmpq(1, 2**128), fmpq(1, 2**4096))
"""Of sums over the losses of all epochs; the rate of steps that are not sampled; and how small a delta is claimed of
many epochs and of one, as balls tell no smaller one from 0 where a loss is eps itself."""
_SUPPOSED = (
    "examples draw their steps independently of each other and of all data, anew in every epoch",
    "the gradient of an example has norm at most 1 after clipping, and the noise is fresh in every step",
)


@dataclass(frozen=True)
class Sampled:
    """What a certificate says of training: so many steps at random, or each with a probability; or shuffled batches."""

    step: Step
    steps: int
    selected: int = 1
    rate: fmpq = _WHOLE
    shuffled: bool = False

    def data(self, epochs: int, neighbours: str) -> Data | None:
        """Return it as data; None for steps of which the verifier knows nothing."""
        step = self.step.data()
        numbers = {"steps": self.steps, "selected": self.selected, "epochs": epochs}
        about = {"step": step, "rate": fraction_text(self.rate), "neighbours": neighbours, **numbers}
        return step and (about | {"shuffled": True} if self.shuffled else about)


@dataclass(frozen=True)
class TrainingProof:
    """What is asked about, and what proves both ends for each direction: a round by itself, or rounds composed.

    ``training`` is that of the certificate; None where it has none.
    """

    training: Data | None = field(hash=False)
    directions: tuple[tuple[str, Round | RoundsProof, Round | RoundsProof], ...]
    larger: str

    @property
    def shown(self) -> str:
        """What the ends rest on, in one line."""
        return "; ".join(
            f"{name}: {found.shown if isinstance(found, RoundsProof) else 'the epoch by itself'}"
            for name, found, _ in self.directions
        )

    def certificate(self, asked: Query, least: Dyadic, most: Dyadic, rounds: Rounds) -> Data:
        """Return the bracket and what proves it for all directions; ``verify`` has accepted the result.

        Raises ArgumentError for training that has none, PrecisionError if it is not accepted.
        """
        if self.training is None:
            what = Problem("the step has a density that the verifier does not read")
            told = "ask about a TableStep that dominates it, or Laplace, logistic, discrete or normal noise"
            raise ArgumentError("certificate", what, told)
        if most.exponent is None:
            raise ArgumentError("certificate", Problem("no number bounds the answer"), "take a larger delta")
        is_epsilon, points = asked.quantity == "epsilon", _Points()
        found = {(name, up): (below, above)[up] for name, above, below in self.directions for up in (False, True)}
        alone = not any(isinstance(x, RoundsProof) for x in found.values())
        given = fraction_text(asked.given) if isinstance(asked.given, fmpq) else str(asked.given)
        small = (asked.log_delta if is_epsilon else log(most.above or 1.0)) - FAR_BELOW
        ends = [Level.of_float(x) if is_epsilon else asked.level for x in (most.above, least.below)]

        def evidence(name: str, up: bool) -> Data:
            proof = found[name, up]
            if isinstance(proof, RoundsProof):
                return points.product(proof.above if up else proof.below)
            return _plan(proof, ends[not up], small)

        low, high = least.fraction, most.fraction
        behind: Any = found[self.larger, False]
        shown = evidence(self.larger, False) if low > 0 else None
        if isinstance(behind, RoundsProof) and behind.below is not None:
            behind = behind.below.curves[0].round
        about: Data = {
            "training": self.training,
            "above": {name: evidence(name, True) for name, *_ in self.directions},
            "below": shown and {"direction": behind.direction, "evidence": shown},
            "points": points.listed,
            "supposed": list(_SUPPOSED),
        }
        if shown and isinstance(behind, Counted | Maximum):
            about["statistic"] = behind.statistic

        def claim(wider: fmpq) -> Data:
            most_ = high * (1 + wider) if is_epsilon else min(max(high, _NO_LESS[alone]) * (1 + wider), fmpq(1))
            ends = {"lower": fraction_text(low * (1 - wider)), "upper": fraction_text(most_)}
            return {"quantity": asked.quantity, "delta" if is_epsilon else "eps": given, **ends}

        widths = _WIDER[0 if alone and is_epsilon else 1 if alone else 2 :]
        documents = ({"claim": claim(wider), **about} for wider in widths)
        return accepted(documents, asked.effort, "take another eps")


class _Points:
    """Points of curves of one epoch, each once."""

    def __init__(self) -> None:
        self.listed: list[Data] = []
        self._places: dict[tuple[Round, fmpq], int] = {}

    def product(self, side: Side | None) -> Data:
        """Return the evidence for one end of many epochs."""
        if side is None:
            raise ArgumentError("certificate", Problem("no points belong to this end"), "take another eps")
        curves = [self._curve(c) for c in side.curves]
        plan = None if side.plan is None else kernel_plan(side.plan)
        return {"kind": "rounds", "precision": side.precision + _SPARE_BITS, "plan": plan, "curves": curves}

    def _curve(self, curve: RoundCurve) -> Data:
        epoch, points = curve.round, curve.points
        assert isinstance(epoch, OneEpoch)
        right = [(p.level, p.low, p.high) for p in points.inside() if p.level >= 1]
        left = [
            (1 / p.level, (p.low - 1 + p.level) / p.level, (p.high - 1 + p.level) / p.level)
            for p in points.inside()
            if p.level < 1
        ]
        # From the largest ratio on the divergence is 0: balls see that a little beyond, fractions at once.
        ends = (epoch, right, points.top), (epoch.reversed(), left, points.bottom and 1 / points.bottom)
        for one, side, end in ends:
            if end is not None:
                level = level_at(end)
                how = _plan(one, level, one.asked(level))
                is_exact = how["kind"] == "laws" and "cells" not in how
                side.append((end if is_exact else end * (1 + _BEYOND), fmpq(0), fmpq(0)))
        steps = epoch.steps if isinstance(epoch, Allocation | Counted | Maximum) else 1
        return {
            "steps": steps,
            "right": [self._place(epoch, steps, *p) for p in right],
            "left": [self._place(epoch.reversed(), steps, *p) for p in left],
        }

    def _place(self, epoch: OneEpoch, steps: int, level: fmpq, low: fmpq, high: fmpq) -> int:
        key = epoch, level
        if key not in self._places:
            self._places[key] = len(self.listed)
            how = _plan(epoch, level_at(level), epoch.asked(level_at(level)))
            width = min(high - low, high * _ROOM_OF_LAWS) if how["kind"] == "laws" else high - low
            room = width + high * _ROOM  # evaluations are repeated with other roundings
            ends = {"low": max(low - room, fmpq(0)), "high": min(high + room, fmpq(1))}
            texts = {name: fraction_text(x) for name, x in ends.items()}
            place = {"direction": epoch.direction, "steps": steps, "level": fraction_text(level)}
            self.listed.append({**place, **texts, "evidence": how})
        return self._places[key]


def _plan(epoch: Round, level: Level, log_least: float) -> Data:
    assert isinstance(epoch, OneEpoch)
    plan = epoch.found(level, log_least).plan()
    if plan is None:
        what = Problem("no terms are known that show this end to the verifier")
        raise ArgumentError("certificate", what, "take a larger delta, or more noise")
    found: Data = _as_data(plan)
    return found


def _as_data(plan: Any) -> Any:
    """Return the plan with doubles as fractions."""
    if isinstance(plan, dict):
        return {name: _as_data(x) for name, x in plan.items()}
    if isinstance(plan, float):
        return fraction_text(fmpq(*plan.as_integer_ratio()))
    return [_as_data(x) for x in plan] if isinstance(plan, list) else plan
