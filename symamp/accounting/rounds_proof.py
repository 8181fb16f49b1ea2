"""The evidence for a bracket about many rounds, as plain data, and its certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from symamp.accounting.pairs import RoundCurve
from symamp.accounting.round import GivenRound, SampledRound, ShuffledRound, evidence_below, level_at
from symamp.certificates.rounds import Curve, Sums, certificate
from symamp.certificates.rounds import Rounds as OfRounds
from symamp.certificates.text import expression_text, fraction_text, outward
from symamp.data_sets.search import Repeated
from symamp.errors import ArgumentError, PrecisionError, Problem
from symamp.numbers.dyadic import Dyadic
from symamp.settings.participation import Repeatable, triple_behind
from symamp.settings.question import Query
from symamp.settings.rounds import Rounds
from symamp.sums.kernels.tilted import Plan

# ---------------------------------------------------- What proves one end of a bracket about many rounds, as plain data


@dataclass(frozen=True)
class Side:
    """The curves of all rounds, the eps in question as an expression, and the plan of the evaluation."""

    curves: tuple[RoundCurve, ...]
    eps: str
    plan: Plan | None
    precision: int


# -------------------------------------------------- What certificates repeat of it: evaluations at the levels of points


def _proof(
    side: Side | None, rounds: Sequence[tuple[str, int]], made: Callable[[RoundCurve], dict[str, Any]]
) -> OfRounds | None:
    """Return the side with the evaluations behind its points, each curve at its place among the rounds."""
    if side is None:
        return None
    free, curves = list(enumerate(rounds)), list[Curve]()
    for c in side.curves:
        place = next(found for found in free if found[1] == (c.round.text, c.count))
        free.remove(place)
        base, rate = (c.round.base, c.round.rate) if isinstance(c.round, SampledRound) else (c.round, fmpq(1))
        question = base.question if isinstance(base, ShuffledRound) else None
        curves.append(Curve(place[0], question, rate, c.points.bottom, c.points.top, **made(c)))
    return OfRounds(curves, max(c.floor for c in side.curves), side.precision, side.plan)


def _above(curve: RoundCurve) -> dict[str, Any]:
    sampled = curve.round if isinstance(curve.round, SampledRound) else None
    base, rate = (sampled.base, sampled.rate) if sampled else (curve.round, fmpq(1))
    if isinstance(base, GivenRound):
        return {"given": [(p.level, p.high) for p in base.points]}
    if not isinstance(base, ShuffledRound):
        raise ArgumentError(
            "certificate", Problem(f"{curve.round.text} has no certificate"), "certify rounds of shuffled users"
        )
    levels = [1 + (p.level - 1) / rate for p in curve.points.inside() if p.level >= 1]
    return {"points": [(e, base.evidence(e, far=base.is_cheap(e))) for e in levels]}


def _below(curve: RoundCurve) -> dict[str, Any]:
    assert curve.data_set is not None
    found, n = curve.data_set
    levels = [p.level for p in curve.points.inside() if p.level >= 1]
    orders = (found, found.swapped())
    first, second = ([(e, (evidence_below(order, level_at(e), n),)) for e in levels] for order in orders)
    return {"points": first, "second": second}


def _is_listed(found: Repeated) -> bool:
    return isinstance(found, Repeatable) and triple_behind(found).decomposition.is_listed


# --------------------------------------------------------------- What proves both ends, and its certificate

SLACK, MORE_SLACK = fmpq(1, 10**9), fmpq(1, 10**6)
"""By this part of themselves ends are wider in a certificate, for roundings; and where the verifier needs more room."""


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

    def certificate(
        self, asked: Query, least: Dyadic, most: Dyadic, rounds: Rounds, sums: Sums | None = None
    ) -> dict[str, Any]:
        """Return the bracket and all that is needed to check it without a search, as JSON-ready data.

        Each point of each curve has a certificate of its own, as the numbers of one round have. The ends are wider by
        a part in 10^9, for roundings, or in 10^6 where a plan is so fine that it depends on them; a lower end from
        cells of messages is not claimed. Takes some seconds. ``sums`` prove the lower end where coordinates are summed,
        as it is.

        Raises ArgumentError for answers without points, and for rounds whose bounds no certificate can carry.
        """
        if self.above is None and self.below is None:
            raise ArgumentError(
                "certificate", Problem(f"no certified points belong to {rounds}"), "ask for epsilon or delta of rounds"
            )
        with suppress(PrecisionError):
            return self._claimed(asked, least, most, rounds, sums, SLACK)
        return self._claimed(asked, least, most, rounds, sums, MORE_SLACK)

    def _claimed(
        self, asked: Query, least: Dyadic, most: Dyadic, rounds: Rounds, sums: Sums | None, slack: fmpq
    ) -> dict[str, Any]:
        is_epsilon = asked.quantity == "epsilon"
        listed = self.below is not None and all(
            c.data_set is None or _is_listed(c.data_set[0]) for c in self.below.curves
        )
        low = least.fraction * (1 - slack) if listed and least.exponent is not None else None
        low = low if sums is None else outward(least, up=False)
        high = most.fraction * (1 + slack) if self.above is not None and most.exponent is not None else None
        high = None if high is not None and not is_epsilon and high >= 1 else high
        claim = {
            "quantity": asked.quantity,
            "delta" if is_epsilon else "eps": (fraction_text if is_epsilon else expression_text)(asked.given),
            "lower": "0" if low is None else fraction_text(low),
            "upper": ("inf" if is_epsilon else "1") if high is None else fraction_text(high),
        }
        listed_rounds = rounds.listed
        above = _proof(self.above, listed_rounds, _above)
        below = _proof(self.below if low and sums is None else None, listed_rounds, _below)
        return certificate(claim, listed_rounds, above, below, sums)
