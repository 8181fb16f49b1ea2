"""Certificates as tests judge them: those of answers have the published schema and are valid."""

import json
import re
from fractions import Fraction

from symamp.schemas.validation import check_document
from symamp.verifier import verify


def checked(answer):
    """Return the certificate of an answer, which has the published schema and is valid."""
    data = answer.certificate()
    check_document(data, "certificate")
    verdict = verify(json.dumps(data))
    assert verdict.status == "valid", verdict
    return data


def number(text):
    """A fraction, or a dyadic number a*2**(b); 0 for one that is too small to be written out."""
    dyadic = re.fullmatch(r"(\d+)\*2\*\*\((-?\d+)\)", text)
    if dyadic and int(dyadic[2]) < -(10**6):
        return Fraction(0)
    return Fraction(int(dyadic[1])) * Fraction(2) ** int(dyadic[2]) if dyadic else Fraction(text)
