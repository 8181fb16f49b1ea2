"""The certificate of many rounds: evidence for each point of each curve, and one plan for each end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy as sp
from flint import fmpq

from symamp.bounds.bound import Evidence, largest_upper
from symamp.certificates import one_round
from symamp.certificates.evidence import kernel_plan
from symamp.certificates.mechanisms import Described
from symamp.certificates.one_round import FORMAT, MORE_BITS, VERSION, Above, Data, setting
from symamp.certificates.text import At, fraction_text, outward
from symamp.certificates.users_who_differ import crowd_rounds
from symamp.errors import PrecisionError, Problem
from symamp.numbers.rationals import rational_of
from symamp.settings.question import Question
from symamp.sums.kernels.tilted import Plan
from symamp.verifier import verify

ALL_DATA_SETS = "all_data_sets"
_BITS_OF_POINTS = MORE_BITS[1]
"""How many bits the points of a curve have beyond their evaluations."""


@dataclass(frozen=True)
class Curve:
    """What proves the curve of one kind of round on one side: its place among the rounds, and evaluations by level.

    Of a round whose bounds were given there is no question, and its points are the ``given`` ones. From below, the
    evaluations are of one data set, in one order and in the other.
    """

    place: int
    question: Question | None
    rate: fmpq
    bottom: fmpq | None
    top: fmpq | None
    points: Sequence[tuple[fmpq, tuple[Evidence, ...]]] = ()
    second: Sequence[tuple[fmpq, tuple[Evidence, ...]]] = ()
    given: Sequence[tuple[fmpq, fmpq]] = ()


@dataclass(frozen=True)
class Rounds:
    """What proves one end: the curves of the rounds, and the plan of the evaluation."""

    curves: Sequence[Curve]
    floor: int
    precision: int
    plan: Plan | None


_NOTHING = Described({}, ())


@dataclass(frozen=True)
class Sums:
    """What proves the lower end where coordinates are summed: how many there are, the level, its bits, the evidence.

    The rounds are then those of one bit, two for each of the unary encoding.
    """

    size: int
    eps: str
    precision: int
    evidence: Data


def certificate(
    claim: Data,
    rounds: Sequence[tuple[str, int]],
    above: Rounds | None,
    below: Rounds | None,
    sums: Sums | None = None,
) -> Data:
    """Return the certificate of a bracket; an end without a side claims nothing. ``verify`` has accepted the result.

    Raises ArgumentError for rounds whose values have no certificate, PrecisionError if it is not accepted.
    """
    crowds = {c.place: crowd_rounds(c.question, c.points) for c in _curves(above) if c.question and c.question.victims}
    proofs = {
        c.place: [_proof(c.question, *p, _listed(c)) for p in c.points]
        for c in _curves(above)
        if c.question is not None and c.place not in crowds
    }
    known = [_NOTHING if i in crowds else _described(i, proofs.get(i, []), above, below) for i in range(len(rounds))]
    rates = {c.place: c.rate for c in (*_curves(above), *_curves(below))}
    users = {c.place: c.question.n for c in (*_curves(above), *_curves(below)) if c.question is not None}
    settings = [
        crowds[i][0] | {"name": text, "count": count}
        if i in crowds
        else setting(text, [(users.get(i, 1), True, known[i].data)], count, fraction_text(rates.get(i, fmpq(1))))
        | _taking_part(c.question for c in (*_curves(above), *_curves(below)) if c.place == i)
        for i, (text, count) in enumerate(rounds)
    ]
    data = {"format": FORMAT, "version": VERSION, "claim": claim, "settings": settings}
    data["below"] = None if below is None else _side(below, lambda c: _below(known[c.place], c))
    if sums is not None:
        settings[0] |= {"count": rounds[0][1] // 2, "coordinates": sums.size}
        data["below"] = {"eps": sums.eps, "precision": sums.precision, "evidence": [sums.evidence]}
    told = (("participation" not in settings[i], found) for i, found in proofs.items())
    data["supposed"] = list(
        dict.fromkeys(
            (
                *(s for every, f in told for s in one_round.supposed((e for p, _ in f for e in p.found), every)),
                *(s for *_, supposed in crowds.values() for s in supposed),
            )
        )
    )
    for point in (_same, _each):  # points that are checked one by one, too, take twice the time
        write = partial(_above, known, proofs, point)
        made = None if above is None else _side(above, lambda c: crowds[c.place][1] if c.place in crowds else write(c))  # noqa: B023
        verdict = verify(json.dumps(data | {"above": made}))
        if verdict.status == "valid":
            return data | {"above": made}
    raise PrecisionError("certificate", Problem(f"the verifier refuses it: {verdict.reason}"), "ask with a larger gap")


def _curves(side: Rounds | None) -> Sequence[Curve]:
    return () if side is None else side.curves


def _listed(curve: Curve) -> Question | None:
    """Return the question about the table of a composed mechanism, if points are about it: then all are to be."""
    question, methods = curve.question, {e.part.method for _, found in curve.points for e in found}
    if question is None or ALL_DATA_SETS not in methods or methods == {ALL_DATA_SETS}:
        return None
    mechanism = question.subject.randomizers[0].mechanism
    if mechanism is None or not mechanism.is_composed or question.subject.participation is not None:
        return None
    return Question.of(mechanism.listed, question.n, None)


def _proof(question: Question, level: fmpq, found: tuple[Evidence, ...], listed: Question | None) -> tuple[Above, str]:
    """Return what proves a point above, and its upper end as a text."""
    at = At.of(sp.log(rational_of(level)))
    high = outward(largest_upper(found), up=True)
    about = question if listed is None or found[0].part.method == ALL_DATA_SETS else listed
    return one_round.proof_above(about, found, at, high), fraction_text(high)


def _described(
    place: int, proofs: Sequence[tuple[Above, str]], above: Rounds | None, below: Rounds | None
) -> Described:
    """Return the mechanism of a kind of round as data; of one that no evidence is about, that nothing is known."""
    every = [c for c in (*_curves(above), *_curves(below)) if c.place == place]
    question = next((c.question for c in every if c.question is not None), None)
    if question is None:
        points = next((c.given for c in every), [(fmpq(1), fmpq(1))])
        return Described({"kind": "given", "points": [[fraction_text(e), fraction_text(d)] for e, d in points]}, ())
    shown = [e for c in _curves(below) if c.place == place for points in (c.points, c.second) for _, (e,) in points[:1]]
    return one_round.described_behind(question.subject, [p for p, _ in proofs], shown, None)


def _taking_part(questions: Iterable[Question | None]) -> Data:
    """Return who takes part in a kind of round as data, where not everyone does."""
    return next((one_round.taking_part(q) for q in questions if q is not None), {})


def _side(side: Rounds, made: Callable[[Curve], Data]) -> Data:
    return {
        "curves": [{"setting": c.place, **_ends(c), **made(c)} for c in side.curves],
        "floor": side.floor,
        "precision": side.precision,
        "plan": None if side.plan is None else kernel_plan(side.plan),
    }


def _ends(curve: Curve) -> Data:
    ends = {"bottom": curve.bottom, "top": curve.top}
    return {key: None if x is None else fraction_text(x) for key, x in ends.items()}


def _above(known: Sequence[Described], proofs: dict[int, list[tuple[Above, str]]], point: Any, curve: Curve) -> Data:
    every = zip(curve.points, proofs.get(curve.place, []), strict=True)
    return {
        "first": [point(known[curve.place], curve.question, level, *proof) for (level, _), proof in every],
        "second": None,
    }


def _same(known: Described, question: Question, level: fmpq, above: Above, high: str) -> Data:
    """Return a point above, each evaluation with the same number of further bits."""
    made = one_round.pieces(known, above, question.n, _BITS_OF_POINTS)
    return {"level": fraction_text(level), "low": "0", "high": high} | {k: made[k] for k in ("precision", "evidence")}


def _each(known: Described, question: Question, level: fmpq, above: Above, high: str) -> Data:
    """Return a point above with as many bits as the verifier takes to accept it by itself."""
    claim = {"quantity": "delta", "eps": above.at.text, "lower": "0", "upper": high}
    alone = [setting("", [(question.n, True, known.data)]) | one_round.taking_part(question)]
    found = one_round.accepted(
        claim, alone, {"above": lambda more: one_round.pieces(known, above, question.n, more), "below": None}, []
    )
    made = found["above"]
    return {"level": fraction_text(level), "low": "0", "high": high} | {k: made[k] for k in ("precision", "evidence")}


def _below(known: Described, curve: Curve) -> Data:
    first, second = ([_point_below(known, curve, *p) for p in points] for points in (curve.points, curve.second))
    return {"first": first, "second": second or None}


def _point_below(known: Described, curve: Curve, level: fmpq, evidence: tuple[Evidence, ...]) -> Data:
    assert curve.question is not None
    (found,) = evidence
    at = At.of(sp.log(rational_of(level)))
    piece = one_round.piece_below(known, curve.question.subject, at, found, curve.question.n)
    return {
        "level": fraction_text(level),
        "low": fraction_text(outward(found.lower, up=False)),
        "high": fraction_text(outward(found.upper, up=True)),
        "precision": one_round.bits([found], _BITS_OF_POINTS),
        "evidence": [piece],
    }
