"""Stop-loss transforms u -> limit + E[(w - u)_+] of laws on a grid, in integers: maximum and thinning.

A law with finitely many values is known by its stop-loss transform, which is convex and piecewise linear with slope -1
on the far left and 0 on the far right. The larger transform is the larger law in increasing convex order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

_Cells = tuple[list[int], list[int]]


@dataclass(frozen=True)
class StopLoss:
    """Nodes in grid units, ascending; P(w >= node) in units of 2^-mass_bits, the first exactly 1; the limit at +oo.

    Heights and ``limit`` are in units of (grid unit) * 2^-mass_bits, so that every height at a grid point is an
    integer. The slope between two nodes is minus the tail of the right one.
    """

    nodes: tuple[int, ...]
    tails: tuple[int, ...]
    limit: int
    mass_bits: int

    @property
    def masses(self) -> tuple[int, ...]:
        """Return P(w = node) in units of 2^-mass_bits."""
        return tuple(a - b for a, b in zip(self.tails, (*self.tails[1:], 0), strict=True))

    def on(self, nodes: Sequence[int]) -> _Cells:
        """Return P(w >= u) and the height at each of the ascending nodes u, which include those of the law."""
        tails, heights = [0] * len(nodes), [self.limit] * len(nodes)
        j, tail = len(self.nodes) - 1, 0
        for k in range(len(nodes) - 1, -1, -1):
            if k + 1 < len(nodes):
                heights[k] = heights[k + 1] + tail * (nodes[k + 1] - nodes[k])
            if j >= 0 and self.nodes[j] == nodes[k]:
                tail = self.tails[j]
                j -= 1
            tails[k] = tail
        return tails, heights


def maximum(f: StopLoss, g: StopLoss) -> StopLoss:
    """Return the least transform on the grid that is linear between grid points and at least max(f, g).

    It equals max(f, g) except within one grid unit around a crossing between grid points, where it is the chord.

    >>> f, g = StopLoss((0,), (4,), 0, 2), StopLoss((-2, 2), (4, 2), 0, 2)
    >>> maximum(f, g) == g
    True
    """
    nodes = sorted({*f.nodes, *g.nodes})
    (f_tails, f_heights), (g_tails, g_heights) = f.on(nodes), g.on(nodes)
    kept, tails = [nodes[0]], [f_tails[0]]
    for k in range(1, len(nodes)):
        left, right = f_heights[k - 1] - g_heights[k - 1], f_heights[k] - g_heights[k]
        before, after = (f_tails[k], g_tails[k]) if left > 0 or (left == 0 and right > 0) else (g_tails[k], f_tails[k])
        if left * right < 0:
            start = nodes[k - 1]
            steps, rest = divmod((nodes[k] - start) * left, left - right)
            if steps:
                kept.append(start + steps)
                tails.append(before)
            if rest:
                # One grid unit wide: the slope of the chord is a difference of heights, an integer.
                top = max(f_heights[k - 1], g_heights[k - 1]) - before * steps
                bottom = min(f_heights[k - 1], g_heights[k - 1]) - after * (steps + 1)
                kept.append(start + steps + 1)
                tails.append(top - bottom)
            before = after
        if kept[-1] != nodes[k]:
            kept.append(nodes[k])
            tails.append(before)
    return _without_empty(kept, tails, max(f.limit, g.limit), f.mass_bits)


def excess(larger: StopLoss, smaller: StopLoss) -> int:
    """Return the largest difference of heights; both are linear between the union of their nodes."""
    nodes = sorted({*larger.nodes, *smaller.nodes})
    return max(a - b for a, b in zip(larger.on(nodes)[1], smaller.on(nodes)[1], strict=True))


def thinned(f: StopLoss, most: int, tolerance: int = 0, keep: frozenset[int] = frozenset()) -> StopLoss:
    """Return a transform of at most ``most`` nodes that is at least f: masses move to both neighbours of a node.

    The mean is kept (up to one mass unit, moved to the right). Nodes go in the order of the second moment that this
    adds, and first of all those whose removal lifts the transform by at most ``tolerance``. First and last node
    stay, so that the values keep their range; nodes in ``keep`` stay while they have mass.

    >>> thinned(StopLoss((0, 1, 4), (16, 12, 4), 0, 4), 2)
    StopLoss(nodes=(0, 4), tails=(16, 6), limit=0, mass_bits=4)
    """
    nodes, masses, size = list(f.nodes), list(f.masses), len(f.nodes)
    previous, following = list(range(-1, size - 1)), list(range(1, size + 1))
    present = [True] * size

    def gaps(k: int) -> tuple[int, int]:
        return nodes[k] - nodes[previous[k]], nodes[following[k]] - nodes[k]

    def remove(k: int) -> None:
        left, right = gaps(k)
        share = masses[k] * right // (left + right)
        masses[previous[k]] += share
        masses[following[k]] += masses[k] - share
        following[previous[k]], previous[following[k]] = following[k], previous[k]
        present[k] = False

    for k in range(1, size - 1):
        left, right = gaps(k)
        if nodes[k] not in keep and masses[k] * left * right <= tolerance * (left + right):
            remove(k)
    inner = [k for k in range(1, size - 1) if present[k]]
    surplus = len(inner) + min(size, 2) - max(most, 2)
    if surplus > 0:

        def cost(k: int) -> int:
            left, right = gaps(k)
            return masses[k] * left * right

        heap = [(cost(k), k) for k in inner]
        heapify(heap)
        while surplus > 0:
            old, k = heappop(heap)
            if not present[k]:
                continue
            if (new := cost(k)) > old:  # its neighbours have changed since
                heappush(heap, (new, k))
                continue
            remove(k)
            surplus -= 1
    kept = [k for k in range(size) if present[k]]
    tails, tail = [], 0
    for k in reversed(kept):
        tail += masses[k]
        tails.append(tail)
    return _without_empty([nodes[k] for k in kept], tails[::-1], f.limit, f.mass_bits)


def _without_empty(nodes: list[int], tails: list[int], limit: int, mass_bits: int) -> StopLoss:
    """Return the transform without the nodes that have no mass."""
    kept = [k for k in range(len(nodes)) if tails[k] != (tails[k + 1] if k + 1 < len(nodes) else 0)]
    return StopLoss(tuple(nodes[k] for k in kept), tuple(tails[k] for k in kept), limit, mass_bits)
