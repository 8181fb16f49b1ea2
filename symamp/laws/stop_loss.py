"""Stop-loss transforms, and one law that dominates several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import flint
from flint import arb

from symamp.errors import ArgumentError, Problem
from symamp.laws.law import BallGparv
from symamp.numbers.surroundings import at_precision

# ------------------ Stop-loss transforms u -> limit + E[(w - u)_+] of laws on a grid, in integers: maximum and thinning

# A law with finitely many values is known by its stop-loss transform, which is convex and piecewise linear with slope
# -1 on the far left and 0 on the far right. The larger transform is the larger law in increasing convex order.

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


# ------------------------------- One law with exact dyadic values and masses that dominates several laws given in balls

_SPARE_BITS = 24
"""What lifts the transform by less than 2^_SPARE_BITS grid units is rounding: values that close are one value."""


@dataclass(frozen=True)
class DominatingLaw:
    """A law whose stop-loss transform is at least those of some laws, and by how much at most.

    ``law`` holds exact dyadic numbers (balls of radius 0) whose masses sum to 1 with the null mass; its ``singular``
    is the limit of the transform at +oo. ``rounding`` and ``merging`` are upper bounds for what the transform, and
    with it the divergence at every n, was lifted by rounding and by the merging of values.
    """

    law: BallGparv
    rounding: arb
    merging: arb


def dominating_law(laws: Sequence[BallGparv], most_nodes: int | None = None) -> DominatingLaw:
    """Return a law whose stop-loss transform is at least that of every given law, everywhere.

    The stop-loss transform of a law G with singular part s is u -> s + E[(G - u)_+]. Values are rounded upward to a
    grid that is as fine as the ambient precision for the largest of them, tails P(G >= v) likewise, and the maximum
    of the transforms is taken in integers. At most ``most_nodes`` values remain, merged in increasing convex order.

    Guarantee
    ---------
    For every u the transform of the result is at least that of each given law, and exceeds their maximum by at most
    ``rounding + merging``. Proof: docs/proofs/envelope.md.

    Raises ArgumentError if there is no law, or a ball is not finite.

    >>> from flint import arb
    >>> fair = BallGparv((arb(-1), arb(1)), (arb(0.5), arb(0.5)), arb(0), arb(0))
    >>> sure = BallGparv((arb(0.5),), (arb(1),), arb(0), arb(0))
    >>> law = dominating_law([fair, sure]).law
    >>> law.values, law.masses, law.null_mass
    ((1.00000000000000,), (0.500000000000000,), 0.500000000000000)
    """
    if not laws:
        raise ArgumentError("laws", Problem("the list is empty"), "give at least one law")
    atoms = [list(zip(g.values, g.masses, strict=True)) for g in laws]
    for law, g in zip(atoms, laws, strict=True):
        if not g.null_mass.is_zero() or not law:
            law.append((arb(0), g.null_mass))
    numbers = [x for law in atoms for atom in law for x in atom] + [g.singular for g in laws]
    if not all(x.is_finite() for x in numbers):
        raise ArgumentError("laws", Problem("a value or mass is not finite"), "give finite balls")
    precision = flint.ctx.prec
    size = max(binary_size(v) for law in atoms for v, _ in law)
    grid = precision - size
    with at_precision(precision + _SPARE_BITS):
        found = [_on_grid(law, g.singular, grid, precision) for law, g in zip(atoms, laws, strict=True)]
    largest, rounds = [f for f, _ in found], 0
    while len(largest) > 1:
        pairs = zip(largest[::2], largest[1::2], strict=False)
        rest = [largest[-1]] if len(largest) % 2 else []
        largest, rounds = [maximum(f, g) for f, g in pairs] + rest, rounds + 1
    exact = largest[0]
    close = 1 << _SPARE_BITS
    tidy = thinned(_with_zero(exact, close), len(exact.nodes) + 1, close << precision, frozenset((0,)))
    final = tidy if most_nodes is None else thinned(tidy, most_nodes)
    height_bits = grid + precision
    # Each maximum adds at most a chord of one grid unit, whose slopes differ by at most 1.
    chords = rounds << precision
    rounding = max(loss for _, loss in found) + _dyadic(chords + excess(tidy, exact), height_bits)
    return DominatingLaw(_law(final, grid), rounding.upper(), _dyadic(excess(final, tidy), height_bits))


def _on_grid(law: Iterable[tuple[arb, arb]], singular: arb, grid: int, mass_bits: int) -> tuple[StopLoss, arb]:
    """Return a transform on the grid that is at least that of the law, and a bound on the difference."""
    merged: dict[int, arb] = {}
    shift = arb(0)
    for value, mass in law:
        node = _ceiling(value, grid)
        merged[node] = merged.get(node, arb(0)) + mass
        shift = shift.max(_dyadic(node, grid) - value.lower())
    one = 1 << mass_bits
    nodes, tails = sorted(merged), []
    tail, previous, loss = arb(0), 0, shift
    for k in range(len(nodes) - 1, -1, -1):
        tail += merged[nodes[k]]
        # The least value has the tail 1 exactly; tails are monotone because the true ones are.
        previous = max(previous, min(_ceiling(tail, mass_bits), one)) if k else one
        tails.append(previous)
        if k:
            loss += (_dyadic(previous, mass_bits) - tail.lower()) * _dyadic(nodes[k] - nodes[k - 1], grid)
    limit = _ceiling(singular, grid + mass_bits)
    loss += _dyadic(limit, grid + mass_bits) - singular.lower()
    return StopLoss(tuple(nodes), tuple(reversed(tails)), limit, mass_bits), loss.upper()


def _with_zero(f: StopLoss, close: int) -> StopLoss:
    """Return the transform with a node at 0 if there are nodes so close to it that they stand for 0."""
    near = [node for node in f.nodes if abs(node) <= close]
    if not near or 0 in near or not f.nodes[0] < 0 < f.nodes[-1]:
        return f
    k = next(k for k, node in enumerate(f.nodes) if node > 0)
    return StopLoss((*f.nodes[:k], 0, *f.nodes[k:]), (*f.tails[:k], f.tails[k], *f.tails[k:]), f.limit, f.mass_bits)


def _law(f: StopLoss, grid: int) -> BallGparv:
    atoms = list(zip(f.nodes, f.masses, strict=True))
    null = sum(m for node, m in atoms if node == 0)
    return BallGparv(
        tuple(_dyadic(node, grid) for node, _ in atoms if node != 0),
        tuple(_dyadic(m, f.mass_bits) for node, m in atoms if node != 0),
        _dyadic(null, f.mass_bits),
        _dyadic(f.limit, grid + f.mass_bits),
    )


def _dyadic(numerator: int, bits: int) -> arb:
    """Return numerator * 2^-bits, without rounding."""
    with at_precision(max(numerator.bit_length(), 2)):
        return arb(numerator) * arb(2) ** -bits


def _ceiling(x: arb, bits: int) -> int:
    """Return an integer that is at least x * 2^bits."""
    mantissa, exponent = x.upper().man_exp()
    m, shift = int(mantissa), int(exponent) + bits
    return m << shift if shift >= 0 else -(-m >> -shift)


def binary_size(x: arb) -> int:
    """Return e such that |x| < 2^e for every number of the ball; very small for 0."""
    mantissa, exponent = abs(x).upper().man_exp()
    m = int(mantissa)
    return m.bit_length() + int(exponent) if m else -flint.ctx.prec
