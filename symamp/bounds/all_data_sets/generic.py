"""The generic bound over all data sets: every eps0-LDP randomizer refined to messages of two levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import ClassVar

import sympy as sp

from symamp.bounds.all_data_sets.bound import AllDataSetsPairBound
from symamp.bounds.bound import Bound, MaxOverPairs, PairBound
from symamp.bounds.hypotheses import BUDGET, ProofStatus
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.decomposition import Component, Decomposition
from symamp.formulas.normal_form import normal
from symamp.numbers.rationals import rational_of

NAME = "generic_all_data_sets"
SOURCE = "Theorem H (docs/proofs/generic_all_data_sets.md)"
# What is tuned. All cells give a bound; these trade the time of each against the width that cells add. Rules of thumb.
_CELLS, _DENOMINATOR = 12.0, 64
"""How many cells of p there would be at t = e^eps0 = 1, as the range of p shrinks as 1/t; their ends, parts of that
range, have denominators up to the second, so that formulas stay short."""
_MOST_GRADED, _GRADED = 1.8, ((0, 1), (1, 2), (7, 8), (63, 64), (1, 1))
"""Up to this t the upper end is so much worse than the others that these cells do."""
_LEAST_USERS = 12
"""For fewer users the generic bound was the smaller one wherever both were compared, and this one takes seconds."""
_LEAST_SHARE = sp.Rational(-1, 10)
"""The share of p below which the blanket is small enough."""

Vertex = tuple[sp.Expr, sp.Expr, sp.Expr, sp.Expr]


@dataclass(frozen=True)
class PatternCell(AllDataSetsPairBound):
    """All randomizers of messages of two levels whose pair of inputs differs on masses p of one cell.

    ``triples`` are the largest laws at each end: every law that another input may have is below a mixture of theirs in
    convex order. ``shares`` are the ends, parts of the way from 1/(t + 2) to 1/(t + 1); below 0 of that from 1/(t + 2)
    to twice as much.
    """

    shares: tuple[sp.Rational, sp.Rational] = (sp.Integer(0), sp.Integer(1))

    method: ClassVar[str] = NAME
    source: ClassVar[str] = SOURCE


def generic_all_data_sets_bound(subject: Subject) -> MaxOverPairs:
    """Return the bound: the blanket for small p, and a part for each cell of p between that and 1/(t + 1).

    p is the mass of the blanket on messages that x0 sends with ratio t = e^eps0 and x1 with ratio 1, after the
    randomizer has been refined so that there are no other ratios.

    Guarantee
    ---------
    For 0 <= eps <= eps0 the largest divergence of the parts is at least that of the shuffled reports of every two
    neighbouring data sets, for every eps0-LDP randomizer. Proof: docs/proofs/generic_all_data_sets.md.
    """
    return MaxOverPairs.of(_parts(subject.local_ratio()))


def _parts(t: sp.Expr) -> Iterator[PairBound]:
    for ends in pairwise((_LEAST_SHARE, *_shares(float(t)))):
        found = below if ends[0] < 0 else above
        masses = [_mass(t, share) for share in ends]
        yield PatternCell(tuple(_vertex_law(t, p, v) for p in masses for v in found(t, p)), ends, mixed=True)
    yield _low_blanket(t, _mass(t, _LEAST_SHARE))


def _mass(t: sp.Expr, share: sp.Rational) -> sp.Expr:
    low, high = 1 / (t + 2), 1 / (t + 1)
    return normal(low + share * (low if share < 0 else high - low))


def _shares(t: float) -> list[sp.Rational]:
    """Return the ends of the cells, 0 to 1: finer at the worst p, which is the lower end above t = 2, else the upper.

    At t = 2 all p are nearly as bad. Every choice is valid.
    """
    if t <= _MOST_GRADED:
        return [sp.Rational(*x) for x in _GRADED]
    count = max(2, ceil(_CELLS / t))
    power = 1.0 + min(1.0, abs(t - 2.0))
    graded = {Fraction((k / count) ** power).limit_denominator(_DENOMINATOR) for k in range(count + 1)}
    shares = graded if t > 2.0 else {1 - x for x in graded}
    return [rational_of(x) for x in sorted(shares)]


def below(t: sp.Expr, p: sp.Expr) -> tuple[Vertex, ...]:
    """Return (x1, x2, f1, f2) of laws above those of all third inputs, up to mixtures, for p <= 1/(t + 2).

    x1 and x2 are the masses of the patterns (t, 1) and (1, t) that the third input has at ratio t; f1 is t times the
    mass of (t, t) that it has at ratio 1, and f2 the mass of (1, 1) that it has at ratio t.
    """
    zero, rest = sp.Integer(0), 1 - p * (1 + t)
    most = (t * p + rest) / (1 + t)
    return (p, zero, t * rest / (1 + t), rest / (1 + t)), (zero, zero, rest - most, most)


def above(t: sp.Expr, p: sp.Expr) -> tuple[Vertex, ...]:
    """Return the same for 1/(t + 2) <= p <= 1/(t + 1)."""
    zero, rest = sp.Integer(0), 1 - p * (1 + t)
    return ((p, zero, t * rest / (1 + t), rest / (1 + t)), (p - rest, zero, zero, rest), (zero, p - rest, zero, rest))


def _vertex_law(t: sp.Expr, p: sp.Expr, vertex: Vertex) -> Reduction:
    """Return the triple (R(x0), R(x1), R(x)) for the third input of a vertex."""
    x1, x2, f1, f2 = vertex
    one, rest = sp.Integer(1), 1 - p * (1 + t)
    atoms = (
        (t, one, p - x1),
        (one, 1 / t, t * x1),
        (one, t, p - x2),
        (1 / t, one, t * x2),
        (t, t, f1 / t),
        (one, one, rest - f1 - f2),
        (1 / t, 1 / t, t * f2),
    )
    components = tuple(Component(r0, r1, mass) for r0, r1, m in atoms if (mass := normal(m)) != 0)
    return Reduction(NAME, ProofStatus.PROVED, SOURCE, Decomposition(components), (("x", one),))


def _low_blanket(t: sp.Expr, p: sp.Expr) -> Reduction:
    """Return the blanket with the largest divergence among those of masses up to p."""
    one, rest = sp.Integer(1), normal((1 - p * (1 + t)) / t)
    components = (Component(t, one, p), Component(one, t, p), Component(t, t, rest))
    return Reduction(NAME, ProofStatus.PROVED, SOURCE, Decomposition(components))


def _floor(subject: Subject) -> Iterator[Reduction]:
    """Yield the worst constant data sets of binary and of three-ary response: the bound holds for these, too."""
    t, zero = subject.local_ratio(), sp.Integer(0)
    binary, ternary = 1 / (t + 1), 1 / (t + 2)
    yield _vertex_law(t, binary, (binary, zero, zero, zero))
    yield _vertex_law(t, ternary, (zero, zero, zero, ternary))


GENERIC_ALL_DATA_SETS = Bound(
    NAME,
    ProofStatus.PROVED,
    SOURCE,
    "the budget alone, all data sets at once: less than generic",
    "generic_all_data_sets",
    BUDGET,
    generic_all_data_sets_bound,
    rank=4,
    floor=_floor,
    too_costly=lambda subject, level, n, patience: n * patience < _LEAST_USERS,
)
