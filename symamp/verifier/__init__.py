"""Check a certificate: python-flint and the standard library, no search, nothing of symamp outside this folder.

``python -m verifier cert.json`` prints the whole claim, and apart from it what the certificate says without proof, from
wherever a copy of this folder lies; exit code 0: valid, 1: invalid, 2: malformed or too large to check.
"""

from __future__ import annotations

from . import many_rounds, one_round
from .documents import MOST_BYTES, parsed
from .one_round import MOST_PRECISION
from .refusals import Verdict, judged

__all__ = ["MOST_PRECISION", "Verdict", "main", "verify"]


def verify(text: str) -> Verdict:
    """Return the verdict on a certificate, about one round or many, as JSON text; nothing is raised.

    The size of the text is counted before it is read, and the work of the whole certificate before any of it is done.
    """
    return judged(lambda: _verdict(parsed(text)))


def _verdict(data: object) -> Verdict:
    if isinstance(data, dict) and data.get("format") == many_rounds.FORMAT:
        return many_rounds.verify(data)
    return one_round.Check().certificate(data)


def main(path: str) -> int:
    """Print the verdict on a file and return the exit code."""
    try:
        with open(path, encoding="utf-8") as file:
            verdict = verify(file.read(MOST_BYTES + 1))
    except (ValueError, OSError) as error:
        verdict = Verdict("malformed", f"not a readable file: {type(error).__name__}", error="Malformed")
    print(verdict.text())
    return ("valid", "invalid", "malformed").index(verdict.status)
