"""One law with exact dyadic values and masses that dominates several laws given in balls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import flint
from flint import arb

from symamp.errors import ArgumentError
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.stop_loss import StopLoss, excess, maximum, thinned
from symamp.evaluation.work import spend
from symamp.numbers.surroundings import at_precision

_ATOM, _WORD = 10.0, 2000.0  # units of work, and bits
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
        raise ArgumentError("laws", "none", "at least one law")
    atoms = [list(zip(g.values, g.masses, strict=True)) for g in laws]
    for law, g in zip(atoms, laws, strict=True):
        if not g.null_mass.is_zero() or not law:
            law.append((arb(0), g.null_mass))
    numbers = [x for law in atoms for atom in law for x in atom] + [g.singular for g in laws]
    if not all(x.is_finite() for x in numbers):
        raise ArgumentError("laws", "a ball that is not finite", "finite numbers")
    precision = flint.ctx.prec
    spend(_ATOM * (1.0 + precision / _WORD) * len(numbers))
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
    """Return e such that |x| < 2^e for every number of the ball; very small for 0.

    >>> binary_size(arb(5))
    3
    """
    mantissa, exponent = abs(x).upper().man_exp()
    m = int(mantissa)
    return m.bit_length() + int(exponent) if m else -flint.ctx.prec
