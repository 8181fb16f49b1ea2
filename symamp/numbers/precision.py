"""The working precision of ball arithmetic, always restored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import flint


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Set the precision of python-flint to ``bits`` inside the block, and restore it whatever happens.

    >>> before = flint.ctx.prec
    >>> with working_precision(200):
    ...     flint.ctx.prec
    200
    >>> flint.ctx.prec == before
    True
    """
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before
