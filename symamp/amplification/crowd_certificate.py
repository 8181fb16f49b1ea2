"""Certificates of users who differ: the claim of an answer, with all that is needed to check it without a search."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from symamp.amplification.certificate import FORMAT, MORE_BITS
from symamp.amplification.certificate_evidence import At
from symamp.amplification.certificate_text import exact_double, fraction_text
from symamp.amplification.crowd_party import Found, Party
from symamp.amplification.question import accuracy
from symamp.analyses.crowd import Crowd
from symamp.analyses.standing import Standing
from symamp.errors import PrecisionError
from symamp.numbers.arguments import budget, failure_probability
from symamp.verifier import MOST_PRECISION, verify

VERSION = 3


@dataclass(frozen=True)
class CrowdClaim:
    """What is asked, and the two ends that were found."""

    quantity: str
    given: Mapping[str, str]
    lower: float
    upper: float
    gap: float
    source: str


def crowd_certificate(crowd: Crowd, claim: CrowdClaim, parties: Mapping[int, Sequence[Party]]) -> dict[str, Any]:
    """Return the certificate of a bracket: above all victims that were asked about, below one of them.

    Raises PrecisionError if the verifier accepts it at no precision.
    """
    (settings, _), everybody = accuracy(claim.gap, None), [party for found in parties.values() for party in found]
    if claim.quantity == "epsilon":
        given = {"delta": fraction_text(failure_probability(claim.given["delta"]))}
        low, high = (At.of(sp.Rational(end)) for end in (claim.lower, claim.upper))  # doubles are exact numbers
    else:
        low = high = At.of(budget(claim.given["eps"]))
        given = {"eps": high.text}
    assert low.level is not None
    assert high.level is not None
    is_trivial = claim.quantity == "delta" and claim.upper >= 1.0
    above = [] if is_trivial else [party.most(high.level, settings) for party in everybody]
    below: list[Found] = []
    if claim.lower > 0.0:
        known = [party.below.found(low.level, settings) for party in everybody]
        below = [max(known, key=lambda found: float(found.value.lower()))]
    for more in MORE_BITS:
        data: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": f"{crowd!r}, victims of groups {', '.join(map(str, parties))}",
            "method": f"{crowd.shuffled}_shuffled",
            "standing": Standing.PROVED.value,
            "source": claim.source,
            "claim": {
                "quantity": claim.quantity,
                "n": crowd.n,
                "lower": exact_double(claim.lower),
                "upper": exact_double(claim.upper),
                **given,
            },
            "above": [_data(crowd, high, found, more) for found in above],
            "below": [_data(crowd, low, found, more) for found in below],
        }
        verdict = verify(json.dumps(data))
        if verdict.status == "valid":
            return data
    raise PrecisionError("certificate", verdict.reason, f"a claim that can be checked within {MOST_PRECISION} bits")


def _data(crowd: Crowd, at: At, found: Found, more: int) -> dict[str, Any]:
    return {
        "method": f"{crowd.shuffled}_shuffled",
        "standing": Standing.PROVED.value,
        "data": "all" if found.name is None else str(found.name),
        "eps": at.text,
        "precision": min(found.precision + more, MOST_PRECISION),
        "groups": [count for count, _ in crowd.groups],
        **found.evidence(),
    }
