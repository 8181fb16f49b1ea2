"""Which frequencies are evaluated and which are dropped with a bound.

sqrt(1 - |phi|^2) is Lipschitz with the tilted standard deviation as constant, so one value of |phi| in the middle of a
block bounds the whole block (docs/proofs/kernel_sandwich.md, dropped blocks).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symamp.evaluation.gparv import Floats
from symamp.evaluation.work import spend

Ranges = tuple[tuple[int, int], ...]
"""Inclusive ranges of indices j, for frequencies j h."""
Pairs = np.ndarray[tuple[int, int], np.dtype[np.int64]]
_LEAF, _NONE = 4, np.empty((0, 2), dtype=np.int64)
_BLOCKS, _BLOCK = 40.0, 0.15  # units of work
NEGLIGIBLE = 1e-18
"""Where what the density of G says of |phi|^n is below this, phi itself is not looked at."""


@dataclass(frozen=True)
class Blocks:
    """Inclusive index ranges of frequencies j h: ``evaluated`` one by one, ``dropped`` with a bound."""

    evaluated: Ranges
    dropped: Ranges

    @property
    def evaluations(self) -> int:
        """Number of frequencies evaluated one by one."""
        return sum(b - a + 1 for a, b in self.evaluated)


@dataclass(frozen=True, eq=False)
class Cut:
    """Blocks as arrays of first and last indices: a search tries many of them and keeps one.

    ``spent`` is what the dropped ones cost, in units of (2/W) * sum abs(B phi^n).
    """

    evaluated: Pairs
    dropped: Pairs
    spent: float

    @property
    def frequencies(self) -> int:
        """Number of frequencies evaluated one by one."""
        return int((self.evaluated[:, 1] - self.evaluated[:, 0] + 1).sum())

    @property
    def indices(self) -> NDArray[np.int64]:
        """What is evaluated one by one."""
        first, last = self.evaluated.T
        lengths = last - first + 1
        return np.repeat(last - lengths.cumsum() + 1, lengths) + np.arange(lengths.sum())

    def blocks(self) -> Blocks:
        """Return the blocks as plain numbers."""
        return Blocks(_ranges(self.evaluated), _ranges(self.dropped))


def partition(
    bound: Callable[[Floats, Floats], Floats],
    modulus: Callable[[Floats], Floats],
    step: float,
    last: int,
    allowance: float,
    most: int,
) -> Cut | None:
    """Split the frequencies 1..last times ``step`` so that each dropped block costs at most ``allowance``.

    ``bound`` gives bounds on |phi^n| from the middles and half widths of blocks, ``modulus`` one on the kernel from
    the start of a block on. Chosen in floats: the ball evaluation recomputes every bound. None if more than ``most``
    frequencies would have to be evaluated.
    """
    evaluated, dropped = [_NONE], [_NONE]
    spent, kept = 0.0, 0
    # |phi|^n falls fastest near zero, so blocks start as [1], [2, 3], [4, 7], ...
    starts = 2 ** np.arange(last.bit_length(), dtype=np.int64)
    level = np.column_stack([starts, np.minimum(2 * starts - 1, last)])
    while len(level):
        if kept + len(level) > most:
            return None
        spend(_BLOCKS + _BLOCK * len(level))
        a, b = level[:, 0], level[:, 1]
        beta = bound(0.5 * step * (a + b).astype(np.float64), 0.5 * step * (b - a))
        cost = (step / np.pi) * (b - a + 1) * beta * modulus(a * step)
        drop = cost <= allowance
        spent += float(cost[drop].sum())
        leaf = ~drop & (b - a < _LEAF)
        dropped.append(level[drop])
        evaluated.append(level[leaf])
        kept += int((b - a + 1)[leaf].sum())
        split = level[~drop & ~leaf]
        middle = (split[:, 0] + split[:, 1]) // 2
        level = np.concatenate([np.column_stack([split[:, 0], middle]), np.column_stack([middle + 1, split[:, 1]])])
    return Cut(_joined(_sorted(evaluated)), _sorted(dropped), spent)


def _sorted(parts: list[Pairs]) -> Pairs:
    pairs = np.concatenate(parts)
    return pairs[np.argsort(pairs[:, 0])]


def _joined(pairs: Pairs) -> Pairs:
    """Return the ranges with neighbours made one."""
    apart = np.flatnonzero(pairs[1:, 0] > pairs[:-1, 1] + 1)
    return np.column_stack([pairs[np.append(0, apart + 1), 0], pairs[np.append(apart, -1), 1]]) if len(pairs) else pairs


def _ranges(pairs: Pairs) -> Ranges:
    return tuple((a, b) for a, b in pairs.tolist())
