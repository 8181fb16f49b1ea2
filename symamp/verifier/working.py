"""The arithmetic of a verification: its precision, whatever the caller's is, and nothing of it left behind.

The settings of FLINT belong to the process, not to a thread, so that one verification waits for another.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from flint import ctx

_LOCK = RLock()
_TERMS = 10
"""The terms of power series: fewer would drop what bounds on curvature are read from."""


@contextmanager
def working(bits: int) -> Iterator[None]:
    """Set the precision of balls and the length of series within the block; the caller's are restored after it."""
    with _LOCK:
        before = ctx.prec, ctx.cap
        ctx.prec, ctx.cap = bits, _TERMS
        try:
            yield
        finally:
            ctx.prec, ctx.cap = before
