"""What a computation finds around it, and belongs to all: flint's precision, and what NumPy does with errors.

python-flint has one precision for the whole process, mpmath another: two threads that set them by turns compute at
those of each other, and leave them changed. So whoever sets them holds one lock until they are set back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import flint
import mpmath
import numpy as np

_lock = RLock()
_BITS = 53
"""What python-flint and mpmath start with."""
CAREFUL_BITS = 256
"""Bits of balls that are made once and then rounded or compared: far more than doubles have, and hardly slower."""
BALL_BITS = 192
"""Bits of sums in balls whose ends become doubles: more than their roundings and the numbers of users take off."""


def _forked() -> None:
    """Let a process that was forked while some thread held the lock have a lock of its own."""
    global _lock
    _lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class at_precision:  # noqa: N801 - stands where flint.ctx.workprec would
    """A context in which balls have a given precision, whatever other threads of symamp do.

    >>> before = flint.ctx.prec
    >>> with at_precision(256):
    ...     flint.ctx.prec
    256
    >>> flint.ctx.prec == before
    True
    """

    __slots__ = ("_before", "_bits", "_held")

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def __enter__(self) -> None:
        self._held = _lock
        self._held.acquire()
        self._before = flint.ctx.prec
        try:
            flint.ctx.prec = self._bits
        except BaseException:
            self._held.release()
            raise

    def __exit__(self, *_: object) -> None:
        flint.ctx.prec = self._before
        self._held.release()


@contextmanager
def mpmath_at(bits: int) -> Iterator[None]:
    """Let mpmath compute with a given precision; the precision of balls stays."""
    with at_precision(flint.ctx.prec), mpmath.workprec(bits):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Compute, or decorate a function, with the usual settings of numerical libraries, one thread at a time.

    Balls and mpmath have the precision, and NumPy the handling of errors, that they start with.
    """
    with (
        at_precision(_BITS),
        mpmath.workprec(_BITS),
        np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"),
    ):
        yield
