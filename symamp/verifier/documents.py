"""From the text of a certificate to data: size limits first, then the shape; and why a certificate is not valid.

No key may stand twice in an object, no number may have a point or an exponent, and lists and objects are as deep, and
as many, as certificates have them. Refusals are typed errors, and a verdict for the reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import cycle
from typing import Any, NamedTuple

# --- Why a certificate is not valid ----------------------------------------------------------------------------------


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
        kind = Invalid if status == "invalid" else TooLarge if "too large" in reason else Malformed
        raise kind(reason)


def judged(made: Callable[[], Verdict]) -> Verdict:
    """Return a verdict, or that on what was raised instead: nothing is raised, whatever the certificate is."""
    try:
        return made()
    except Refusal as refusal:
        return Verdict.of(refusal)
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        return Verdict("malformed", f"no certificate that can be checked ({type(error).__name__})", error="Malformed")


# --- Data within the limits, of the right shape ----------------------------------------------------------------------

MOST_BYTES, MOST_ITEMS, MOST_DEPTH, MOST_DIGITS = 2**25, 10**6, 16, 40
"""Of the text; of all lists, objects and their entries; of brackets within brackets; of an integer."""
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A string, whole or cut off by the end of the text, which no JSON text is; or a bracket."""


def parsed(text: str) -> Any:
    """Return the data of a JSON text, which is within the limits; a refusal is raised otherwise."""
    require(isinstance(text, str), f"give a certificate as text, as json.dumps writes it, not as {type(text).__name__}")
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    require(size <= MOST_BYTES, f"too large: {size} bytes, more than {MOST_BYTES}")
    items = text.count(",") + text.count("[") + text.count("{") + 1
    require(items <= MOST_ITEMS, f"too large: more than {MOST_ITEMS} items")
    depth = deepest = 0
    for found in _BRACKETS.finditer(text):
        sign = found[0]
        depth += 1 if sign in ("[", "{") else -1 if sign in ("]", "}") else 0
        deepest = max(deepest, depth)
    require(deepest <= MOST_DEPTH, f"too large: nested more than {MOST_DEPTH} levels deep")
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_int=_integer, parse_float=_refused, parse_constant=_refused
        )
    except (ValueError, RecursionError, MemoryError) as error:
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else "too deep or long"
        raise Malformed(f"not JSON: {where if text.strip() else 'the document is empty'}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    require(len(dict(pairs)) == len(pairs), "a key twice in one object")
    return dict(pairs)


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise TooLarge(f"too large: an integer of more than {MOST_DIGITS} digits")
    return int(text)


def _refused(text: str) -> Any:
    raise Malformed(f"{text[:40]} is no integer: write other numbers as text, such as '1/50'")


def shaped(data: Any, shape: Any, what: str) -> None:
    """Refuse data of another shape: an object with other keys, a value of another type, a list of another length."""
    if isinstance(shape, dict):
        require(type(data) is dict, f"{what} is not an object")
        for keys, wrong in ((set(shape) - set(data), "missing"), (set(data) - set(shape), "unknown")):
            require(not keys, f"{what}: {wrong} key {', '.join(map(ascii, sorted(keys))):.99}")
        for key in shape:
            if (key, data[key]) != ("plan", None):
                shaped(data[key], shape[key], f"{what}.{key}")
    elif isinstance(shape, type):
        require(type(data) is shape, f"{what} is not of type {shape.__name__}")
    else:  # a list: of any length if the shape is one, and as long as the shape if that is a tuple
        good = type(data) is list and (type(shape) is list or len(data) == len(shape))
        require(good, f"{what} is not a list of the right length")
        for item, kind in zip(data, cycle(shape), strict=False):
            if type(item) is not kind:
                shaped(item, kind, f"an entry of {what}")
