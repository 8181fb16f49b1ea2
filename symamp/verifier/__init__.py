"""The verifier of certificates: python-flint and the standard library, no search, no other code of symamp.

``python -m verifier cert.json`` prints the whole claim, and apart from it what the certificate says without proof, from
wherever a copy of this folder lies; exit code 0: valid, 1: invalid, 2: malformed or too large to check. A number behind
the file says how many times the usual work a check may take.
"""

from __future__ import annotations

from . import certificate
from .check import MOST_PRECISION
from .documents import MOST_BYTES, Verdict, judged, parsed

__all__ = ["MOST_PRECISION", "Verdict", "main", "verify"]


def verify(text: str, patience: int = 1) -> Verdict:
    """Return the verdict on a certificate, as JSON text; nothing is raised.

    The size of the text is counted before it is read, and the work of the whole certificate before any of it is done:
    up to ``patience`` times the usual most, which takes a minute or two.
    """
    return judged(lambda: certificate.verdict(parsed(text), patience))


def main(path: str, patience: int = 1) -> int:
    """Print the verdict on a file and return the exit code."""
    try:
        with open(path, encoding="utf-8") as file:
            verdict = verify(file.read(MOST_BYTES + 1), patience)
    except (ValueError, OSError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        verdict = Verdict("malformed", f"cannot read the file {path}: {why}", error="Malformed")
    print(verdict.text())
    return ("valid", "invalid", "malformed").index(verdict.status)
