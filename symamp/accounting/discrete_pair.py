"""A pair of distributions (P, Q) with finitely many likelihood ratios, in exact rationals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import fmpq

from symamp.numbers.convex_hull import Vertex

_ZERO = fmpq(0)


@dataclass(frozen=True)
class DiscretePair:
    """A pair (P, Q) as its ratios: ``atoms`` lists (E, P-mass at dP/dQ = E), increasing in E > 0.

    ``infinite`` is the P-mass where Q has none. What Q has where P has none is the rest of Q.
    """

    atoms: tuple[Vertex, ...]
    infinite: fmpq = _ZERO

    @staticmethod
    def of_curve(vertices: Sequence[Vertex]) -> DiscretePair:
        """Return the pair whose divergence E -> D_E is the convex function with these vertices, from (0, 1) on.

        It is constant after the last vertex. The Q-mass at a ratio is the change of slope there.

        >>> from flint import fmpq
        >>> DiscretePair.of_curve([(fmpq(0), fmpq(1)), (fmpq(1, 3), fmpq(2, 3)), (fmpq(3), fmpq(0))]).atoms
        ((1/3, 1/4), (3, 3/4))
        """
        slopes = [(d1 - d0) / (e1 - e0) for (e0, d0), (e1, d1) in pairwise(vertices)] + [_ZERO]
        masses = [right - left for left, right in pairwise(slopes)]
        atoms = ((e, e * q) for (e, _), q in zip(vertices[1:], masses, strict=True) if q != 0)
        return DiscretePair(tuple(atoms), vertices[-1][1])

    def swapped(self) -> DiscretePair:
        """Return (Q, P).

        >>> from flint import fmpq
        >>> DiscretePair(((fmpq(1, 3), fmpq(1, 4)), (fmpq(2), fmpq(1, 2))), fmpq(1, 4)).swapped().atoms
        ((1/2, 1/4), (3, 3/4))
        """
        atoms = tuple((1 / e, p / e) for e, p in self.atoms[::-1])
        return DiscretePair(atoms, 1 - sum((q for _, q in atoms), _ZERO))

    def divergence(self, level: fmpq) -> fmpq:
        """Return D_E(P || Q) at the level E >= 0, exactly.

        >>> from flint import fmpq
        >>> DiscretePair(((fmpq(1, 3), fmpq(1, 4)), (fmpq(3), fmpq(3, 4)))).divergence(fmpq(1))
        1/2
        """
        return sum((p * (1 - level / e) for e, p in self.atoms if e > level), self.infinite)
