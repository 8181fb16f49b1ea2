"""What proves a bracket about many rounds, as plain data, and its certificate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy as sp
from flint import fmpq

from symamp.accounting.curves import CurvePoint
from symamp.accounting.pairs import RoundCurve
from symamp.accounting.round import (
    GivenRound,
    Round,
    SampledRound,
    ShuffledRound,
    evidence_below,
    is_symmetric,
    level_at,
    swapped,
)
from symamp.bounds.bound import largest_upper
from symamp.bounds.reduction import Reduction
from symamp.certificates.evidence import At, evidence_data, kernel_plan
from symamp.certificates.one_round import Claim, certificate, unchecked
from symamp.certificates.text import fraction_text
from symamp.errors import ArgumentError, PrecisionError, Problem
from symamp.numbers.dyadic import ZERO, Dyadic
from symamp.numbers.rationals import rational_of
from symamp.numbers.reading import exact_number
from symamp.settings.question import Query
from symamp.settings.rounds import Rounds
from symamp.sums.tilted import Plan
from symamp.verifier import verify
from symamp.verifier.many_rounds import FORMAT

# ---------------------------------------------------- What proves one end of a bracket about many rounds, as plain data


@dataclass(frozen=True)
class Side:
    """The curves of all rounds, the eps in question as an expression, and the plan of the evaluation."""

    curves: tuple[RoundCurve, ...]
    eps: str
    plan: Plan | None
    precision: int


# --------------- A certificate about many rounds: a certificate for each point of each curve, and one plan for each end

_MORE_BITS = 32


def composed_certificate(
    claim: dict[str, str], rounds: tuple[tuple[str, int], ...], above: Side | None, below: Side | None
) -> dict[str, Any]:
    """Return the certificate of a bracket; an end without a side claims nothing. ``verify`` has accepted the result.

    Raises ArgumentError for rounds whose values have no certificate, PrecisionError if it is not accepted.
    """
    sides = tuple(side for side in (above, below) if side is not None)
    data = {
        "format": FORMAT,
        "version": 2,
        "claim": claim,
        "rounds": [_stated(text, count, sides) for text, count in rounds],
        "below": None if below is None else _side(below, rounds, _below),
    }
    for careful in (False, True):  # points that are checked one by one, too, take twice the time
        found = None if above is None else _side(above, rounds, partial(_above, careful=careful))
        verdict = verify(json.dumps(data | {"above": found}))
        if verdict.status == "valid":
            return data | {"above": found}
    raise PrecisionError("certificate", Problem(f"the verifier refuses it: {verdict.reason}"), "ask with a larger gap")


def _stated(text: str, count: int, sides: Sequence[Side]) -> dict[str, Any]:
    """Return what the claim says of a round: nothing that it is proved from may say less."""
    found = next((c.round for side in sides for c in side.curves if c.round.text == text), None)
    base, rate = _unsampled(found)
    return {
        "round": text,
        "count": count,
        "n": base.question.n if isinstance(base, ShuffledRound) else None,
        "rate": fraction_text(rate),
        "given": isinstance(base, GivenRound),
        "top": None if found is None or found.top is None else fraction_text(found.top),
    }


def _unsampled(found: Round | None) -> tuple[Round | None, fmpq]:
    return (found.base, found.rate) if isinstance(found, SampledRound) else (found, fmpq(1))


def _side(
    side: Side, rounds: Sequence[tuple[str, int]], made: Callable[[RoundCurve], dict[str, Any]]
) -> dict[str, Any]:
    plan, free, curves = side.plan, list(enumerate(rounds)), list[dict[str, Any]]()
    for c in side.curves:
        place = next(found for found in free if found[1] == (c.round.text, c.count))
        free.remove(place)
        curves.append({"round": place[0], **made(c)})
    return {
        "rounds": curves,
        "floor": max(c.floor for c in side.curves),
        "precision": side.precision,
        "plan": None if plan is None else kernel_plan(plan),
    }


def _ends(curve: RoundCurve) -> dict[str, Any]:
    known = curve.points
    return {
        "bottom": None if known.bottom is None else fraction_text(known.bottom),
        "top": None if known.top is None else fraction_text(known.top),
    }


def _right(curve: RoundCurve) -> Iterator[CurvePoint]:
    return (p for p in curve.points.inside() if p.level >= 1)


def _above(curve: RoundCurve, careful: bool) -> dict[str, Any]:
    found, rate = _unsampled(curve.round)
    ends = {**_ends(curve), "second": None}
    if isinstance(found, GivenRound):
        return ends | {"first": [[fraction_text(p.level), fraction_text(p.high)] for p in _right(curve)]}
    if not isinstance(found, ShuffledRound):
        raise ArgumentError("certificate", Problem(f"{curve.round.text} has none"), "certify rounds of shuffled users")
    return ends | {"first": [_point_above(found, 1 + (p.level - 1) / rate, careful) for p in _right(curve)]}


def _point_above(found: ShuffledRound, level: fmpq, careful: bool) -> dict[str, Any]:
    evidence = found.evidence(level, far=found.is_cheap(level))
    part = evidence[0].part
    asked = Query("delta", sp.log(rational_of(level)), f"log({level})")
    claim = Claim(found.question, asked, ZERO, largest_upper(evidence), evidence, ())
    if careful:
        return certificate(claim, part.method, part.proof_status, part.source)
    return unchecked(claim, part.method, part.proof_status, part.source)(_MORE_BITS)


def _below(curve: RoundCurve) -> dict[str, Any]:
    assert curve.data_set is not None
    reduction, n = curve.data_set
    levels = [p.level for p in _right(curve)]
    orders = {"first": [_point_below(reduction, n, e, curve) for e in levels], "second": None}
    if not is_symmetric(reduction):
        other = swapped(reduction)
        orders["second"] = [_point_below(other, n, e, curve) for e in levels]
    return {**_ends(curve), **orders}


def _point_below(reduction: Reduction, n: int, level: fmpq, curve: RoundCurve) -> dict[str, Any]:
    at = At.of(sp.log(rational_of(level)))
    found = evidence_below(reduction, level_at(level), n)
    data = evidence_data(reduction, at, found, n, _MORE_BITS)
    # Rounded outward to what doubles carry: the evaluation is repeated with other roundings.
    low, high = (Dyadic.of_float(x).fraction for x in (found.lower.below, found.upper.above))
    ends = {"lower": fraction_text(max(low, fmpq(0))), "upper": fraction_text(min(high, fmpq(1)))}
    return {
        "format": "symamp-certificate",
        "version": 2,
        "mechanism": curve.round.text,
        "method": reduction.method,
        "proof_status": reduction.proof_status.value,
        "source": reduction.source,
        "claim": {"quantity": "delta", "n": n, "eps": at.text, **ends},
        "above": [data],
        "below": [data],
    }


# --------------------------------------------------------------- What proves both ends, and its certificate

_SLACK = fmpq(1, 10**9)


@dataclass(frozen=True)
class RoundsProof:
    """What proves the ends of a bracket about many rounds, from above and from below; None where nothing does."""

    above: Side | None
    below: Side | None

    @property
    def shown(self) -> str:
        """The evaluations behind both ends, in one line."""
        return "; ".join(
            f"{name}: " + ("none" if side is None else f"at {side.eps} by {side.plan}")
            for name, side in (("above", self.above), ("below", self.below))
        )

    def certificate(self, asked: Query, least: Dyadic, most: Dyadic, rounds: Rounds) -> dict[str, Any]:
        """Return the bracket and all that is needed to check it without a search, as JSON-ready data.

        Each point of each curve has a certificate of its own, as the numbers of one round have. The ends are wider by
        a part in 10^9, for roundings; a lower end from cells of messages is not claimed. Takes some seconds.

        Raises ArgumentError for answers without points, and for rounds whose bounds no certificate can carry.
        """
        if self.above is None and self.below is None:
            raise ArgumentError(
                "certificate", Problem(f"{rounds} has no points behind it"), "ask for epsilon or delta of rounds"
            )
        given = exact_number(asked.written, asked.quantity)
        if not given.is_Rational:
            raise ArgumentError("certificate", asked.written, "a rational number")
        listed = self.below is not None and all(
            c.data_set is None or c.data_set[0].decomposition.is_listed for c in self.below.curves
        )
        low = least.fraction * (1 - _SLACK) if listed and least.exponent is not None else None
        high = most.fraction * (1 + _SLACK) if self.above is not None and most.exponent is not None else None
        claim = {
            "quantity": asked.quantity,
            "delta" if asked.quantity == "epsilon" else "eps": fraction_text(given),
            "lower": "0" if low is None else fraction_text(low),
            "upper": ("inf" if asked.quantity == "epsilon" else "1") if high is None else fraction_text(high),
        }
        return composed_certificate(claim, rounds.listed, self.above, self.below if low else None)
