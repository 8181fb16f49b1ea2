"""Certificates of users who differ: the claim of an answer, with all that is needed to check it without a search."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from symamp.amplification.certificate import FORMAT, MORE_BITS
from symamp.amplification.certificate_evidence import At
from symamp.amplification.certificate_text import exact_double, fraction_text
from symamp.amplification.crowd_evidence import Found
from symamp.amplification.crowd_party import Party
from symamp.analyses.crowd import DATA, Crowd
from symamp.analyses.standing import Standing
from symamp.errors import PrecisionError
from symamp.evaluation.divergence import Settings
from symamp.numbers.arguments import budget, failure_probability
from symamp.verifier import MOST_PRECISION, verify

VERSION = 4

Located = tuple[At, Found]
"""An evaluation, and at which eps."""


@dataclass(frozen=True)
class CrowdClaim:
    """What is claimed: the quantity ("epsilon", "delta" or "theorem_d"), what is given as text, and two ends."""

    quantity: str
    given: Mapping[str, str]
    lower: float
    upper: float
    source: str


def bracket_evidence(
    claim: CrowdClaim, parties: Mapping[int, Sequence[Party]], settings: Settings
) -> tuple[list[Located], list[Located]]:
    """Return what proves a bracket: above, for all victims that were asked about; below, for one of them."""
    everybody = [party for found in parties.values() for party in found]
    if claim.quantity == "epsilon":
        low, high = (At.of(sp.Rational(end)) for end in (claim.lower, claim.upper))  # doubles are exact numbers
    else:
        low = high = At.of(budget(claim.given["eps"]))
    assert low.level is not None
    assert high.level is not None
    above, below = [], list[Located]()
    if claim.quantity == "epsilon" or claim.upper < 1.0:
        above = [(high, party.most(high.level, settings)) for party in everybody]
    if claim.lower > 0.0:
        below = [largest((low, party.below.found(low.level, settings)) for party in everybody)]
    return above, below


def largest(found: Iterable[Located]) -> Located:
    """Return the evaluation with the largest lower end."""
    return max(found, key=lambda item: float(item[1].value.lower()))


def crowd_certificate(
    crowd: Crowd, claim: CrowdClaim, groups: Iterable[int], above: Sequence[Located], below: Sequence[Located]
) -> dict[str, Any]:
    """Return the certificate of a claim about these groups of victims, with its evidence.

    The claim says whose guarantee it is: ``victims`` are the numbers of these groups.
    Raises PrecisionError if the verifier accepts it at no precision.
    """
    name, given = ("delta", failure_probability) if claim.quantity == "epsilon" else ("eps", budget)
    # Where data are shuffled, nobody's place is known: what holds for one holds for all.
    value, victims = given(claim.given[name]), sorted(range(len(crowd.groups)) if crowd.shuffled == DATA else groups)
    for more in MORE_BITS:
        data: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": f"{crowd!r}, victims of groups {', '.join(map(str, victims))}",
            "method": f"{crowd.shuffled}_shuffled",
            "standing": Standing.PROVED.value,
            "source": claim.source,
            "claim": {
                "quantity": claim.quantity,
                "n": crowd.n,
                "victims": victims,
                "lower": exact_double(claim.lower),
                "upper": exact_double(claim.upper),
                name: fraction_text(value) if name == "delta" else At.of(value).text,
            },
            "above": [_data(crowd, at, found, more) for at, found in above],
            "below": [_data(crowd, at, found, more) for at, found in below],
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
