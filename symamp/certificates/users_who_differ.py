"""Certificates of users who differ: the claim of an answer, with all that is needed to check it without a search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sympy as sp
from flint import fmpq

from symamp.bounds.bound import Evidence, PairBound
from symamp.bounds.proof_status import ProofStatus
from symamp.certificates.evidence import At, kernel_plan
from symamp.certificates.one_round import FORMAT, MORE_BITS, Claim
from symamp.certificates.text import exact_double, expression_text, fraction_text
from symamp.data_sets.users_who_differ import DataOfPositions, StepSums
from symamp.decompositions.decomposition import Decomposition
from symamp.errors import ArgumentError, PrecisionError, Problem
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic
from symamp.randomizers.mechanism import DATA
from symamp.settings.users_who_differ import HeterogeneousUsers, Positions, Victim
from symamp.settings.victims import STEPS, CommonBlanket, ShuffledData, Victims
from symamp.sums.divergence import LATTICE
from symamp.sums.tilted import Plan
from symamp.verifier import MOST_PRECISION, verify

VERSION = 4
_GAPS = (1e-4, 1e-7, 1e-10)


def crowd_certificate(claim: Claim, groups: Sequence[int]) -> dict[str, Any]:
    """Return the certificate of a bracket for these groups of victims, by number.

    The claim says whose guarantee it is: ``victims`` are the places of these groups.
    Raises PrecisionError if the verifier accepts it at no precision.
    """
    crowd: HeterogeneousUsers = claim.question.subject
    asked, lower, upper = claim.asked, claim.least.below, claim.most.above
    found = [v for v in Victims.of(crowd, None) if v.number in groups]
    if asked.quantity == "epsilon":
        low, high = (At.of(sp.Rational(end)) for end in (lower, upper))  # doubles are exact numbers
        goal = asked.given
    else:
        low = high = At.of(asked.given)
        goal = Dyadic.of_float(upper).fraction
    above, below = [], list[tuple[At, Evidence]]()
    if asked.quantity == "epsilon" or upper < 1.0:
        above = [(high, _proved(part, high, claim, goal)) for v in found for part in v.bound.parts]
    if lower > 0.0:
        below = [(low, claim.below[0])]
    # Where data are shuffled, nobody's place is known: what holds for one holds for all.
    places = list(range(len(crowd.groups))) if crowd.shuffled == DATA else [v.group for v in found]
    name = "delta" if asked.quantity == "epsilon" else "eps"
    part = found[0].bound.parts[0]
    for more in MORE_BITS:
        data: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": f"{crowd!r}, victims of groups {', '.join(map(str, places))}",
            "method": f"{crowd.shuffled}_shuffled",
            "proof_status": ProofStatus.PROVED.value,
            "source": part.source,
            "claim": {
                "quantity": asked.quantity,
                "n": crowd.n,
                "victims": places,
                "lower": exact_double(lower),
                "upper": exact_double(upper),
                name: fraction_text(asked.given) if name == "delta" else At.of(asked.given).text,
            },
            "above": [_data(crowd, at, e, None, more) for at, e in above],
            "below": [_data(crowd, at, e, e.part, more) for at, e in below],
        }
        verdict = verify(json.dumps(data))
        if verdict.status == "valid":
            return data
    raise PrecisionError("certificate", Problem(f"the verifier refuses it: {verdict.reason}"), "ask with a larger gap")


def _proved(part: PairBound, at: At, claim: Claim, goal: fmpq) -> Evidence:
    """Return an evaluation that proves the goal: one that is known, or one as close as it takes."""
    assert at.level is not None
    known = next((e for e in claim.above if e.part == part and e.eps == at.text), None)
    if known is not None:
        return known
    for gap in (claim.asked.settings.gap, *_GAPS):
        settings = replace(claim.asked.settings, gap=gap)
        found = Evidence.of(part, at.level, part.enclose(at.level, claim.question.n, settings))
        if found.is_at_most(goal):
            break
    return found


def _data(crowd: HeterogeneousUsers, at: At, found: Evidence, below: Any, more: int) -> dict[str, Any]:
    if found.evaluator == LATTICE:
        raise ArgumentError("certificate", Problem("sums on a lattice have none"), "ask with another gap")
    part, level = found.part, at.level
    assert level is not None
    if isinstance(part, StepSums):
        told = _step_data(part, level)
    elif isinstance(part, ShuffledData | DataOfPositions):
        assert part.positions is not None
        told = positions_data(part.positions) | _evaluation(found)
    else:
        assert isinstance(part, CommonBlanket)
        told = victim_data(part.victim) | columns_data(part.victim) | _evaluation(found)
    return {
        "method": f"{crowd.shuffled}_shuffled",
        "proof_status": ProofStatus.PROVED.value,
        "data": "all" if below is None else str(below.data_sets),
        "eps": at.text,
        "precision": min(found.precision + more, MOST_PRECISION),
        "groups": [count for count, _ in crowd.groups],
        **told,
    }


def _evaluation(found: Evidence) -> dict[str, Any]:
    """Return what repeats a sum, as data."""
    name = found.evaluator.partition(",")[0]
    return {"evaluator": name, "plan": kernel_plan(found.plan) if isinstance(found.plan, Plan) else None}


def _step_data(part: StepSums, level: Level) -> dict[str, Any]:
    test, v = part.test(level), part.victim
    assert test is not None
    plan = test.walk.plan(level)
    assert plan is not None
    if len(part.inputs) > 1:
        raise ArgumentError("certificate", Problem(f"{part.data_sets} has none"), "all others must hold one input")
    other = v.others.index(part.inputs[0])
    own = [[expression_text(c.size * x.expr) for x in (c.on_x0, c.on_x1)] for c in v.columns[v.group]]
    return {
        **victim_data(v),
        "own": own,
        "others": [[expression_text(c.sums[other].expr) for c in columns] for columns in v.columns],
        "signs": [(i in test.up) - (i in test.down) for i in range(len(own))],
        "evaluator": STEPS,
        "plan": {
            "threshold": plan.threshold,
            "theta": exact_double(plan.tilt),
            "N": plan.nodes,
            "last": plan.last,
        },
    }


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
