"""Mutations of a certificate: none that states a falsehood may be accepted."""

import json

from symamp.verifier import verify


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
