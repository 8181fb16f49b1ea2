"""Certificates as tests judge them: those of answers have the published schema and are valid."""

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
