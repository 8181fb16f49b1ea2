"""At which levels the curve of a round is evaluated: few points, dense where the losses of many rounds come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, expm1, inf, sqrt

from flint import fmpq

_POINTS = 12.3
"""The relative width of the bracket of eps is about this over the square of the number of points."""
_STEP, _LONGEST, _EVEN = 4.34, 0.5, 8.1
_MOST = 20_000
_FURTHEST = 700.0
"""Beyond it no double is e^l."""


@dataclass(frozen=True)
class Grid:
    """What decides the levels: loss ``centre`` and ``deviation`` of one round under the tilt, the range, the density.

    The spacing is proportional to the cube root of the inverse density, which makes the error of the variance least;
    or it is ``even``, for questions that are not known yet. Far from 0 and from the centre, where only losses that are
    large and rare can be, it grows with the distance.
    """

    centre: float
    deviation: float
    end: float
    points: float
    even: bool = False

    def levels(self) -> tuple[fmpq, ...]:
        """Return the levels E >= 1, the first of them 1, each the dyadic number next to e^l.

        >>> [float(e.p) / float(e.q) for e in Grid(0.0, 1.0, 2.0, 4.0).levels()[:3]]
        [1.0, 1.648..., 2.718...]
        """
        return _levels(self._losses)

    def tail(self, points: int, furthest: float) -> tuple[fmpq, ...]:
        """Return geometrically spaced levels beyond, up to ``furthest``: for moments that reach into the far tail.

        >>> [round(float(e.p) / float(e.q), 2) for e in Grid(0.0, 1.0, 1.0, 4.0).tail(3, 8.0)]
        [7.39, 54.6]
        """
        last = self._losses[-1]
        ratio = (furthest / last) ** (1.0 / points) if points and last < furthest < inf else 1.0
        return _levels(last * ratio**k for k in range(1, points)) if ratio > 1.0 else ()

    @property
    def _losses(self) -> list[float]:
        losses = [0.0]
        while losses[-1] < self.end and len(losses) < _MOST:
            z = (losses[-1] - self.centre) / self.deviation
            step = _EVEN / self.points if self.even else _STEP / self.points * exp(min(z * z / 6.0, 50.0))
            far = min(_EVEN / self.points, _LONGEST) * min(losses[-1] / self.deviation, abs(z))
            losses.append(min(losses[-1] + self.deviation * min(step, max(_LONGEST, far)), self.end))
        return losses


def _levels(losses: Iterable[float]) -> tuple[fmpq, ...]:
    return tuple(dict.fromkeys(1 + fmpq(*expm1(x).as_integer_ratio()) for x in losses if x <= _FURTHEST))


def points_for(gap: float) -> float:
    """Return the number of points for a relative width of eps.

    >>> round(points_for(3e-4))
    202
    """
    return sqrt(_POINTS / gap)
