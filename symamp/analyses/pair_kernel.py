"""Upper bounds for many pairs of rows of a table at once: one plan, one product of matrices for each frequency."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

from symamp.analyses.bound import Progress
from symamp.derivation.numeric_table import Floats, NumericTable
from symamp.errors import PrecisionError
from symamp.evaluation.kernel import Kernel
from symamp.evaluation.law import Level
from symamp.evaluation.plan import Plan
from symamp.evaluation.tilted_balls import power
from symamp.evaluation.work import spend
from symamp.numbers.number_system import FLINT

Pair = tuple[int, int]
_ROUNDINGS = 2.0**-50
_FREQUENCY, _PAIR, _TERM = 50.0, 8.0, 0.002  # units of work
_TINY = arb(2) ** -60
_SMALLEST, _LARGEST = 1e-100, 1e100


def kernel_bounds(
    table: NumericTable, level: Level, n: int, pairs: Sequence[Pair], plan: Plan, progress: Progress | None = None
) -> list[arb]:
    """Return an upper bound on E[S_+]/n for the blanket of each pair, as balls at the ambient precision.

    The majorant of the compact kernel, with tilt, window and smoothing of the plan, is the same for all laws; what
    differs is M(theta + iu) at the frequencies, and that is e^(s r0) e^(-s E r1) summed over messages: a product of
    two matrices. It is taken in doubles, with a radius for all roundings.

    Guarantee
    ---------
    Every upper end is at least E[S_+]/n of its pair. Proof: docs/proofs/all_pairs.md.
    """
    theta, w = arb(plan.window.theta), arb(plan.window.length)
    kernel = Kernel(FLINT, theta, w, plan.terms)
    moments = _Moments(table, level, theta, kernel.step, pairs)
    scale = moments.at_zero
    sums = [kernel.at_zero()[1] / 2 for _ in pairs]
    for j in range(1, plan.terms):
        spend(_FREQUENCY + len(pairs) * (_PAIR + _TERM * len(table.messages)))
        if progress is not None:
            progress(j, plan.terms)
        _, weight = kernel.at(kernel.step * j)
        for i, moment in enumerate(moments.following()):
            sums[i] += (weight * power(moment / scale[i], n)).real
    return [2 / w * value.max(arb(0)) * z**n / n for value, z in zip(sums, scale, strict=True)]


class _Moments:
    """M(theta + i j h) of all pairs, j = 1, 2, ... in turn, and M(theta)."""

    def __init__(self, table: NumericTable, level: Level, theta: arb, step: arb, pairs: Sequence[Pair]) -> None:
        e = level.exponential()
        seen = [y for y, r in enumerate(table.least) if not table.is_null(int(r))]
        hidden = [table.ball(int(table.least[y])) for y in seen]
        firsts, seconds = (sorted(set(side)) for side in zip(*pairs, strict=True))
        self._places = [(firsts.index(i), seconds.index(j)) for i, j in pairs]
        up, self._up_turn = _side(table, firsts, seen, hidden, theta, step)
        down, self._down_turn = _side(table, seconds, seen, hidden, -theta * e, -step * e)
        self._up = up * np.array([float(m) for m in hidden])
        self._down = down
        self._powers = [np.ones_like(self._up_turn), np.ones_like(self._down_turn)]
        self._j, self._messages = 0, len(seen)
        self._missing = (1 - sum(hidden, arb(0))).max(arb(0))
        # The same product without a turn: positive terms, so that its roundings are relative.
        whole = self._up @ self._down.T
        relative = arb(0, (2 * self._messages + 64) * _ROUNDINGS)
        # What is below the smallest size counts as 0: no term then is off by more than that size times ``up``.
        lost = _SMALLEST * (1.0 + 1.01 * self._up.sum(axis=1))
        self._lost = [float(lost[i]) for i, _ in self._places]
        self._sizes = [
            arb(float(whole[place])) * (1 + relative) + arb(0, lost)
            for place, lost in zip(self._places, self._lost, strict=True)
        ]
        self.at_zero = [size + self._missing for size in self._sizes]

    def following(self) -> list[acb]:
        """Return balls around the moments at the next frequency."""
        self._j += 1
        for k, turn in enumerate((self._up_turn, self._down_turn)):
            self._powers[k] = self._powers[k] * turn
        a, b = self._up * self._powers[0], self._down * self._powers[1]
        # Four real products: nothing is assumed of how a library multiplies complex matrices.
        real = a.real @ b.real.T - a.imag @ b.imag.T
        imaginary = a.real @ b.imag.T + a.imag @ b.real.T
        share = arb((4 * self._j + 4 * self._messages + 64) * _ROUNDINGS)
        found = []
        for place, size, lost in zip(self._places, self._sizes, self._lost, strict=True):
            radius = (size * share).upper() + lost
            found.append(
                acb(
                    arb(float(real[place])) + self._missing + arb(0, float(radius) * 1.01),
                    arb(float(imaginary[place])) + arb(0, float(radius) * 1.01),
                )
            )
        return found


def _side(
    table: NumericTable, rows: Sequence[int], seen: Sequence[int], hidden: Sequence[arb], tilt: arb, turn: arb
) -> tuple[Floats, NDArray[np.complex128]]:
    """Return e^(tilt r) and e^(i turn r) for some rows, each the double next to the exact number."""
    sizes, turns = [], []
    for x in rows:
        ratios = [table.ball(int(table.ranks[x, y])) / m for y, m in zip(seen, hidden, strict=True)]
        grown = [(tilt * r).exp() for r in ratios]
        circle = [(turn * r).sin_cos() for r in ratios]
        if any(g.rel_accuracy_bits() < 60 for g in grown) or any(s.rad() > _TINY for s, _ in circle):
            raise PrecisionError("table", "entries with few digits", "at least 60 bits at the working precision")
        if not all(g < _LARGEST for g in grown):
            raise PrecisionError("table", "moments beyond doubles", "a tilt that keeps them below 1e100")
        sizes.append([float(g) if g > _SMALLEST else 0.0 for g in grown])
        turns.append([complex(float(c), float(s)) for s, c in circle])
    return np.array(sizes), np.array(turns)
