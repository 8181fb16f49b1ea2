"""The certificate of one epoch of random allocation with normal noise: plans, which the verifier evaluates itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import log
from typing import Any

from flint import fmpq

from symamp.accounting.round import Round
from symamp.certificates.text import fraction_text
from symamp.errors import ArgumentError, PrecisionError, Problem
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.rationals import fmpq_of
from symamp.settings.question import Query
from symamp.settings.rounds import Rounds
from symamp.training.rounds import FAR_BELOW, Allocation
from symamp.training.steps import WITH_WITHOUT, GaussianStep
from symamp.verifier import verify
from symamp.verifier.training import FORMAT, VERSION

Data = dict[str, Any]
_WIDER = fmpq(1, 10**9)
"""By how much, relatively, ends of delta are moved outward."""
_SUPPOSED = (
    "examples draw their steps independently of each other and of all data, anew in every epoch",
    "the gradient of an example has norm at most 1 after clipping, and the noise is fresh in every step",
)


@dataclass(frozen=True)
class EpochProof:
    """The epoch in each direction, by name; only one epoch of one step with normal noise has a certificate."""

    directions: tuple[tuple[str, Round], ...]
    larger: str

    @property
    def shown(self) -> str:
        """What the ends rest on, in one line."""
        return "lines of frequencies, or one large summand"

    def certificate(self, asked: Query, least: Dyadic, most: Dyadic, rounds: Rounds) -> Data:
        """Return the bracket and plans for both directions; ``verify`` has accepted the result.

        Raises ArgumentError for training that has none, PrecisionError if it is not accepted.
        """
        found = dict(self.directions)
        one = next(iter(found.values()), None)
        if not (isinstance(one, Allocation) and isinstance(one.step, GaussianStep) and one.shifts == WITH_WITHOUT):
            told = "one epoch of one of several steps with normal noise, an example there or not"
            raise ArgumentError("certificate", Problem("training of this kind has no certificate"), f"ask about {told}")
        if not one.step.sigma.is_Rational:
            raise ArgumentError("certificate", Problem("sigma is not a fraction"), "give a rational sigma")
        key = "delta" if asked.quantity == "epsilon" else "eps"
        given = fraction_text(asked.given) if isinstance(asked.given, fmpq) else str(asked.given)
        low, high = least.fraction, most.fraction
        if key == "eps":  # the evaluation is repeated with other roundings
            low, high = low * (1 - _WIDER), min(high * (1 + _WIDER), fmpq(1))
        claimed = {"lower": fraction_text(low), "upper": fraction_text(high)}
        small = asked.log_delta if key == "delta" else log(most.above or 1.0)
        ends = [Level.of_float(x) if key == "delta" else asked.level for x in (most.above, least.below)]
        data = {
            "format": FORMAT,
            "version": VERSION,
            "claim": {"quantity": asked.quantity, **claimed, key: given},
            "training": {"sigma": fraction_text(fmpq_of(one.step.sigma)), "steps": one.steps},
            "above": {name: _plan(epoch, ends[0], small - FAR_BELOW) for name, epoch in found.items()},
            "below": {"direction": self.larger, "evidence": _plan(found[self.larger], ends[1], small - FAR_BELOW)},
            "supposed": list(_SUPPOSED),
        }
        verdict = verify(json.dumps(data))
        if verdict.status != "valid":
            raise PrecisionError(
                "certificate", Problem(f"the verifier refuses it: {verdict.reason}"), "take another eps"
            )
        return data


def _plan(epoch: Round, level: Level, log_least: float) -> Data:
    assert isinstance(epoch, Allocation)
    plan = epoch.plan(level, log_least)
    if plan is None:
        raise ArgumentError(
            "certificate",
            Problem("an end by finite laws of cells has no certificate"),
            "take more noise, or more steps",
        )
    return {k: fraction_text(fmpq(*v.as_integer_ratio())) if isinstance(v, float) else v for k, v in plan.items()}
