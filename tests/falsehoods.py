"""Certificates as tests judge them: those of answers are valid, no mutation that states a falsehood is accepted."""

import json

from symamp.schemas.validation import check_document
from symamp.verifier import verify


def checked(answer):
    """Return the certificate of an answer, which has the published schema and is valid."""
    data = answer.certificate()
    check_document(data, "certificate")
    verdict = verify(json.dumps(data))
    assert verdict.status == "valid", verdict
    return data


def refused_falsehoods(certificate, mutated, states_a_truth, rounds):
    """Return how many of so many mutations state a falsehood, having seen the verifier refuse each of them."""
    assert verify(json.dumps(certificate)).status == "valid"
    assert states_a_truth(certificate)
    refused = 0
    for changed in (mutated(certificate) for _ in range(rounds)):
        if not states_a_truth(changed):
            refused += 1
            assert verify(json.dumps(changed)).status != "valid", changed
    return refused


def judged(certificate, mutated, states_a_truth, count, rng):
    """Return how many of so many mutations state a falsehood, none of which is accepted, and how many are accepted."""
    assert states_a_truth(certificate)
    false = accepted = 0
    for changed in (mutated(certificate, rng) for _ in range(count)):
        if changed["claim"]["n"] < 1:
            continue
        good, true = verify(json.dumps(changed)).status == "valid", states_a_truth(changed)
        assert true or not good, json.dumps(changed)[:3000]
        false, accepted = false + (not true), accepted + good
    return false, accepted
