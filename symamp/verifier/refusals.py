"""Why a certificate is not valid, as typed errors, and the verdict for the reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Refusal(Exception):  # noqa: N818
    """A certificate is not valid: ``status`` is what the reader is told, ``args`` hold the reason."""

    status = "malformed"


class Malformed(Refusal):
    """The text is no certificate."""


class TooLarge(Refusal):
    """The certificate asks for more than the limits on size and work allow."""


class Invalid(Refusal):
    """The evidence does not prove the claim."""

    status = "invalid"


class CrossedEnds(Invalid):
    """A lower end lies above an upper end: of the claim, or of what is proved about one and the same mechanism."""


class Verdict(NamedTuple):
    """The status ("valid", "invalid" or "malformed") and one line: the whole claim, or why it is refused.

    ``checked`` are further lines, of what has been proved; ``supposed`` those of what the certificate says and nobody
    has checked, with every sign escaped that could be taken for another line. ``error`` is the name of the refusal.
    """

    status: str
    reason: str
    checked: tuple[str, ...] = ()
    supposed: tuple[str, ...] = ()
    error: str = ""

    def text(self) -> str:
        """Return all lines, what is only supposed in a section of its own."""
        lines = [f"{self.status}: {self.reason}", *(f"  {line}" for line in self.checked)]
        if self.supposed:
            lines += ["supposed, not checked:", *(f"  {line}" for line in self.supposed)]
        return "\n".join(lines)

    @staticmethod
    def of(refusal: Refusal) -> Verdict:
        """Return the verdict that a refusal stands for, its reason in one line of ASCII."""
        reason = ascii(" ".join(str(refusal.args[0]).split())[:300])[1:-1].replace("\\'", "'")
        return Verdict(refusal.status, reason, error=type(refusal).__name__)


def require(condition: object, reason: str, status: str = "malformed") -> None:
    """Raise the refusal of that status unless the condition holds."""
    if not condition:
        raise Invalid(reason) if status == "invalid" else _sized(reason)


def _sized(reason: str) -> Refusal:
    return TooLarge(reason) if "too large" in reason else Malformed(reason)


def judged(made: Callable[[], Verdict]) -> Verdict:
    """Return a verdict, or that on what was raised instead: nothing is raised, whatever the certificate is."""
    try:
        return made()
    except Refusal as refusal:
        return Verdict.of(refusal)
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        return Verdict("malformed", f"no certificate that can be checked ({type(error).__name__})", error="Malformed")
