"""Check a certificate: python-flint and the standard library, no search, nothing of symamp outside this folder.

``python -m verifier cert.json`` prints one line, from wherever a copy of this folder lies; exit code 0: valid,
1: invalid, 2: malformed or too large to check.
"""

from __future__ import annotations

import json

from . import many_rounds, one_round
from .one_round import MOST_CHARACTERS, MOST_PRECISION, Verdict

__all__ = ["MOST_PRECISION", "Verdict", "main", "verify"]


def verify(text: str) -> Verdict:
    """Return the verdict on a certificate, about one round or many, as JSON text; nothing is raised."""
    if many_rounds.FORMAT in text and len(text) <= 4 * MOST_CHARACTERS:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError, MemoryError):
            data = None
        if isinstance(data, dict) and data.get("format") == many_rounds.FORMAT:
            return many_rounds.verify(data)
    return one_round.verify(text)


def main(path: str) -> int:
    """Print the verdict on a file and return the exit code."""
    try:
        with open(path, encoding="utf-8") as file:
            verdict = verify(file.read(4 * MOST_CHARACTERS + 1))
    except (ValueError, OSError) as error:
        verdict = Verdict("malformed", f"not a readable file: {error}")
    print(": ".join(verdict))
    return ("valid", "invalid", "malformed").index(verdict.status)
