"""At which levels the curve of a round is evaluated: few points, dense where the losses of many rounds come from."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, inf, sqrt

from flint import fmpq

_POINTS = 12.3
"""The relative width of the bracket of eps is about this over the square of the number of points."""
_STEP, _LONGEST, _EVEN = 4.34, 0.5, 0.04
_MOST = 20_000


@dataclass(frozen=True)
class Grid:
    """What decides the levels: loss ``centre`` and ``deviation`` of one round under the tilt, the range, the density.

    The spacing is proportional to the cube root of the inverse density, which makes the error of the variance least;
    with 0 ``points`` it is even, for questions that are not known yet.
    """

    centre: float
    deviation: float
    end: float
    points: float
    tail: int = 0
    furthest: float = inf

    def levels(self) -> tuple[fmpq, ...]:
        """Return the levels E >= 1, the first of them 1, each the dyadic number next to e^l.

        ``tail`` more levels follow geometrically up to ``furthest``, for moments that reach into the far tail.

        >>> [float(e.p) / float(e.q) for e in Grid(0.0, 1.0, 2.0, 4.0).levels()[:3]]
        [1.0, 1.648..., 2.718...]
        """
        losses = [0.0]
        while losses[-1] < self.end and len(losses) < _MOST:
            z = (losses[-1] - self.centre) / self.deviation
            dense = _STEP / self.points * exp(min(z * z / 6.0, 50.0)) if self.points else _EVEN
            losses.append(losses[-1] + self.deviation * min(dense, _LONGEST))
        if self.tail and losses[-1] < self.furthest < inf:
            ratio = (self.furthest / losses[-1]) ** (1.0 / self.tail)
            losses += [losses[-1] * ratio**k for k in range(1, self.tail)]
        return tuple(dict.fromkeys(1 + fmpq(*expm1(x).as_integer_ratio()) for x in losses))


def points_for(gap: float) -> float:
    """Return the number of points for a relative width of eps; 0 for an even grid, which has no such width.

    >>> round(points_for(3e-4))
    202
    """
    return sqrt(_POINTS / gap) if gap > 0.0 else 0.0
