"""The envelope bound: one law that dominates the laws of G for every input that another user may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import inf

import flint
from flint import arb

from symamp.errors import ArgumentError, Problem
from symamp.laws.law import BallGparv, FloatGparv, Law, Level, ball_gparv, nearest_doubles, quick_gparv
from symamp.numbers.limits import ABOVE, Limits, kept
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Enclosure, Settings, enclose_level, estimate_log_level, positive_part
from symamp.sums.inversion import approximate_log_law, estimate_root, largest_epsilon

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
    """Return the least transform on the grid that is linear between grid points and at least max(f, g)."""
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

    First of all nodes go whose removal lifts the transform by at most ``tolerance``; those in ``keep``, the first and
    the last stay.
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
    is the limit of the transform at +oo. ``merging`` is an upper bound for what the transform, and with it the
    divergence at every n, was lifted by the merging of values; rounding lifts it by far less.
    """

    law: BallGparv
    merging: arb


def dominating_law(laws: Sequence[BallGparv], most_nodes: int | None = None) -> DominatingLaw:
    """Return a law whose stop-loss transform is at least that of every given law, everywhere.

    The stop-loss transform of a law G with singular part s is u -> s + E[(G - u)_+]. Values are rounded upward to a
    grid that is as fine as the ambient precision for the largest of them, tails P(G >= v) likewise, and the maximum
    of the transforms is taken in integers. At most ``most_nodes`` values remain, merged in increasing convex order.

    Guarantee
    ---------
    For every u the transform of the result is at least that of each given law, and ``merging`` bounds what merging
    values adds to it. Proof: docs/proofs/envelope.md.

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
        largest = [_on_grid(law, g.singular, grid, precision) for law, g in zip(atoms, laws, strict=True)]
    while len(largest) > 1:
        pairs = zip(largest[::2], largest[1::2], strict=False)
        largest = [maximum(f, g) for f, g in pairs] + largest[len(largest) // 2 * 2 :]
    exact = largest[0]
    close = 1 << _SPARE_BITS
    tidy = thinned(_with_zero(exact, close), len(exact.nodes) + 1, close << precision, frozenset((0,)))
    final = tidy if most_nodes is None else thinned(tidy, most_nodes)
    return DominatingLaw(_law(final, grid), _dyadic(excess(final, tidy), grid + precision))


def _on_grid(law: Iterable[tuple[arb, arb]], singular: arb, grid: int, mass_bits: int) -> StopLoss:
    """Return a transform on the grid that is at least that of the law."""
    merged: dict[int, arb] = {}
    for value, mass in law:
        node = _ceiling(value, grid)
        merged[node] = merged.get(node, arb(0)) + mass
    nodes, tails, tail, one = sorted(merged), [0], arb(0), 1 << mass_bits
    for node in reversed(nodes):
        tail += merged[node]
        tails.append(max(tails[-1], min(_ceiling(tail, mass_bits), one)))  # monotone because the true ones are
    tails[-1] = one  # the least value has the tail 1 exactly
    return StopLoss(tuple(nodes), tuple(tails[:0:-1]), _ceiling(singular, grid + mass_bits), mass_bits)


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


# ----------------------------------------------------------------------------- The divergence of the law that dominates


_FEW_NODES = 128
_BITS = 256
_USUAL_SIZE = 16
_DEEP = 64
"""A value below -2^64 times the largest one makes every sum of up to 10^18 terms negative, however deep it lies."""


def envelope_law(laws: Sequence[Law], level: Level, most_nodes: int | None = None) -> DominatingLaw:
    """Return a dyadic law that dominates G = (R(x0) - E R(x1))/R(x) of each law, at more than the ambient precision.

    More, because the working precision suits relative errors, and rounding the law costs an absolute one, of the order
    of the largest value. ``most_nodes`` is at least 128 and twice the atoms of the largest law unless given. Values
    are at least -2^64 times the largest, where that is above 1: lower ones are lifted.
    """
    most = most_nodes or max(_FEW_NODES, 2 * max((law.size for law in laws), default=0))
    bits = 2 * flint.ctx.prec
    with at_precision(bits):
        balls = _lifted([ball_gparv(law, level) for law in laws])
        size = max((binary_size(v) for g in balls for v in g.values), default=0)
        if size <= _USUAL_SIZE:
            return dominating_law(balls, most)
    with at_precision(bits + 2 * size):
        return dominating_law(_lifted([ball_gparv(law, level) for law in laws]), most)


def _lifted(laws: Sequence[BallGparv]) -> list[BallGparv]:
    """Return laws above the given ones, whose values are not so far below 0 that grids for them have many bits."""
    largest = max((v.upper() for g in laws for v in g.values), default=arb(1)).max(arb(1))
    least = -(largest * arb(2) ** _DEEP)
    return [replace(g, values=tuple(v.max(least) for v in g.values)) for g in laws]


@dataclass(frozen=True)
class _Above:
    """The law above some laws at every level; what was built in balls is kept."""

    laws: tuple[Law, ...]
    most_nodes: int | None = None

    def __hash__(self) -> int:
        return hash((len(self.laws), self.laws[:1], self.most_nodes))

    def floats(self, level: Level, bits: int = 128) -> FloatGparv:
        """Return the dominating law in doubles."""
        return nearest_doubles(lambda: self.balls(level), bits)

    def balls(self, level: Level) -> BallGparv:
        """Return the dominating law."""
        return _dominating(self, level, flint.ctx.prec).law

    @property
    def work(self) -> float:
        """What it takes to make the law."""
        return ABOVE.of(sum(law.size for law in self.laws))


@lru_cache(maxsize=64)
def _dominating(above: _Above, level: Level, bits: int) -> DominatingLaw:
    """Return the law made at a precision."""
    with at_precision(bits):
        return envelope_law(above.laws, level, above.most_nodes)


@dataclass(frozen=True)
class AboveAll:
    """The law above those that a function gives in balls at the ambient precision, for each level."""

    laws: Callable[[Level], Sequence[BallGparv]]

    def floats(self, level: Level, bits: int = 128) -> FloatGparv:
        """Return the dominating law in doubles."""
        return nearest_doubles(lambda: self.balls(level), bits)

    def balls(self, level: Level) -> BallGparv:
        """Return the dominating law."""
        return dominating_law(self.laws(level)).law


def enclose_envelope(
    laws: Sequence[Law], level: Level, n: int, settings: Settings | None = None, most_nodes: int | None = None
) -> Enclosure:
    """Return an enclosure of the envelope bound U_n = E[S_+]/n, S the sum of n copies of the dominating law.

    ``laws`` are the triples (R(x0), R(x1), R(x)), one for each class of inputs x that other users may hold, x0 and x1
    included. What is enclosed is the divergence of the dominating law, before any of its values were merged; the lower
    end is none for the mechanism.

    Guarantee
    ---------
    ``upper.upper()`` is at least the divergence of the histograms of every two data sets that differ in one user's
    input x0 or x1 while every other user's message has one of the laws A2. Proof: docs/proofs/envelope.md.

    Raises ArgumentError without a law, PrecisionError if rounding dominates at the largest working precision.

    >>> from symamp.laws.law import Atom
    >>> def number(p, q=1): return lambda: arb(p) / q
    >>> def law(*atoms): return Law(tuple(Atom(*(number(*x) for x in atom)) for atom in atoms), complete=True)
    >>> own = law(((1,), (1, 3), (3, 4)), ((1,), (3,), (1, 4)))
    >>> other = law(((3,), (1,), (1, 4)), ((1, 3), (1,), (3, 4)))
    >>> enclose_envelope([own, other], Level.of_float(0.5), 10).upper.str(5, radius=False)
    '0.040703'
    """
    settings = settings or Settings()
    if not laws or _may_be_positive(laws, level):
        above = _Above(tuple(laws), most_nodes)
        settings.limits.charge(above.work)
        found = enclose_level(above, level, n, settings)
        merging = _dominating(above, level, found.precision).merging
        with at_precision(found.precision):
            return replace(found, lower=(found.lower - merging).max(arb(0)), merging=merging)
    with at_precision(_BITS):
        # The bound falls with n, and at n = 1 it is the largest E[G_+].
        upper = arb(0)
        for law in laws:
            g = ball_gparv(law, level)
            upper = upper.max(positive_part(g) + g.singular)
        return Enclosure(arb(0), upper, "no positive value", _BITS)


def estimate_log_envelope(laws: Sequence[Law], level: Level, n: int, settings: Settings | None = None) -> float:
    """Return an estimate of log U_n, computed in floats; -inf for zero. Not a bound."""
    return _told(_Above(tuple(laws)), level, n, settings or Settings())


def _told(above: _Above, level: Level, n: int, settings: Settings) -> float:
    """Return an estimate; a rough one where the question has taken what it may."""
    if settings.limits.is_spent():
        return max(approximate_log_law(quick_gparv(law, level), n) for law in above.laws)
    return _estimated(settings.limits, above, level, n, settings)


@kept(maxsize=1024)
def _estimated(limits: Limits, above: _Above, level: Level, n: int, settings: Settings) -> float:
    if not _may_be_positive(above.laws, level):
        return -inf
    limits.charge(above.work)
    return estimate_log_level(above, level, n, settings.under(limits))


def estimate_envelope_epsilon(
    laws: Sequence[Law], n: int, log_delta: float, settings: Settings, start: float | None = None
) -> float:
    """Return an estimate of the eps at which U_n is delta: 0 if it is less at eps = 0, inf if nowhere. Not a bound."""
    above = _Above(tuple(laws))
    return estimate_root(
        lambda eps: _told(above, Level.of_float(eps), n, settings),
        lambda eps: approximate_log_law(above.floats(Level.of_float(eps)), n),
        n,
        log_delta,
        settings,
        max(largest_epsilon(law) for law in laws),
        start,
    )


def _may_be_positive(laws: Sequence[Law], level: Level) -> bool:
    """Whether some G is positive or has a singular part: a value that is 0 by its formula must not be rounded up."""
    found = (quick_gparv(law, level) for law in laws)
    return any(g.singular > 0.0 or g.is_positive for g in found)
