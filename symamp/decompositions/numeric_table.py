"""A table of numbers: exact entries by rank, and the blanket without a formula for every entry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from math import inf
from typing import TypeAlias

import flint
import numpy as np
import sympy as sp
from flint import arb, fmpq
from numpy.typing import NDArray

from symamp.decompositions.to_law import kept_ball
from symamp.decompositions.to_law import number as to_number
from symamp.errors import Problem, UndecidedOrderError
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero, sign
from symamp.laws.law import Atom, Law, Number, RationalLaw, total
from symamp.numbers.surroundings import CAREFUL_BITS, at_precision

Exact: TypeAlias = fmpq | sp.Expr
"""A rational number, or a constant that is not known to be one."""
Floats: TypeAlias = NDArray[np.float64]
Share: TypeAlias = tuple[tuple[int, fmpq], ...]
"""Inputs by index with positive weights that sum to 1."""
Parts: TypeAlias = tuple[tuple[int, fmpq | int], ...]
"""Entries by rank with weights: what hides the report."""
Column: TypeAlias = tuple[int, int, tuple[int, ...]]
"""The ranks of one message: in both rows, and in those that hide them."""

_ONE = 1
"""Its hash is quick, unlike that of a fraction."""
_APART = 1e-9
"""Ratios of doubles that are so far apart, relatively, are not of equal fractions."""
_PRECISIONS = 8
"""At how many precisions balls are kept."""


class NumericTable:
    """The probabilities R(x)(y) of a table without free parameters.

    The distinct entries are kept exactly and in increasing order, so that ``ranks[x, y]`` decides every comparison of
    two entries; ``floats`` is the same matrix in doubles, for searching only. Columns are as given.
    ``admissible`` marks the ordered pairs of rows that are compared: all different ones, or those of ``between``.
    """

    def __init__(self, inputs: Sequence[str], messages: Sequence[str], entries: Sequence[Sequence[Exact]]) -> None:
        self.inputs, self.messages = tuple(inputs), tuple(messages)
        flat = [entry for row in entries for entry in row]
        self.is_rational = all(isinstance(entry, fmpq) for entry in flat)
        self.numbers, ranks = _ordered(flat) if self.is_rational else _ordered_constants(flat)
        self.ranks = np.array(ranks, dtype=np.int32).reshape(len(self.inputs), len(self.messages))
        self.floats: Floats = np.array([_double(number) for number in self.numbers])[self.ranks]
        self.admissible = ~np.eye(len(self.inputs), dtype=np.bool_)
        self._compiled: list[Number] = []
        self._balls: dict[int, list[arb]] = {}
        self._divided: dict[tuple[int, Parts], Number] = {}
        self._ratios: dict[tuple[int, Parts], tuple[int, Parts]] = {}
        self._first: dict[tuple[sp.Expr, ...], tuple[int, Parts]] = {}
        self._buckets: dict[tuple[int, int], list[tuple[int, Parts]]] = {}
        self._factors: dict[int, tuple[sp.Expr, sp.Expr]] = {}
        self._quotients: dict[tuple[sp.Expr, sp.Expr], sp.Expr] = {}

    def __getstate__(self) -> dict[str, object]:
        """Return what travels: balls and functions are made again where they are needed."""
        return {**vars(self), "_compiled": [], "_balls": {}, "_divided": {}}

    def entry(self, x: int, y: int) -> Exact:
        """Return one probability exactly."""
        return self.numbers[self.ranks[x, y]]

    def between(self, pairs: Iterable[tuple[int, int]]) -> NumericTable:
        """Return the table of which only these pairs of rows are compared, in both orders."""
        found = copy(self)
        found.__dict__.pop("key", None)
        found.admissible = np.zeros_like(self.admissible)
        for i, j in pairs:
            found.admissible[i, j] = found.admissible[j, i] = True
        return found

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The ordered pairs of rows that are compared."""
        return [(int(i), int(j)) for i, j in np.argwhere(self.admissible)]

    @property
    def is_restricted(self) -> bool:
        """Whether some different rows are not compared."""
        return int(self.admissible.sum()) < len(self.inputs) * (len(self.inputs) - 1)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What identifies the numbers of the table, and the pairs that are compared."""
        numbers = ((int(n.p), int(n.q)) if isinstance(n, fmpq) else n for n in self.numbers)
        return (*numbers, self.ranks.tobytes(), self.admissible.tobytes())

    @cached_property
    def least(self) -> NDArray[np.int32]:
        """The rank of the least entry of each column."""
        return np.asarray(self.ranks.min(axis=0))

    @cached_property
    def least_floats(self) -> Floats:
        """The blanket m(y) = min over inputs, in doubles."""
        return np.asarray(self.floats.min(axis=0))

    def is_null(self, rank: int) -> bool:
        """Return whether the entry of this rank is 0; entries are nonnegative, so that only the first can be."""
        return rank == 0 and self.numbers[0] == 0

    def row_sum(self, x: int) -> Exact:
        """Return the exact sum of a row, as a formula where it is not rational."""
        counts = np.bincount(self.ranks[x], minlength=1)
        parts = [(self.numbers[r], int(counts[r])) for r in np.flatnonzero(counts)]
        if self.is_rational:
            return sum((value * count for value, count in parts), fmpq(0))
        return sp.Add(*(expression(value) * count for value, count in parts))

    def sums_to_one(self, x: int) -> bool:
        """Return whether a row sums to exactly 1, proved either way."""
        if self.is_rational:
            return bool(self.row_sum(x) == 1)
        with at_precision(CAREFUL_BITS):
            near = total([self.ball(int(r)) for r in self.ranks[x]]).contains(1)
        return near and is_zero(self.row_sum(x) - 1)

    def largest_ratio(self) -> sp.Expr:
        """Return e^eps0 = max over messages and inputs of R(x)(y)/R(x')(y): ``oo`` if a zero meets a nonzero."""
        return self._largest((int(a), int(b)) for a, b in zip(self.ranks.max(axis=0), self.least, strict=True))

    def compared_ratio(self) -> sp.Expr:
        """Return the same for the pairs of rows that are compared."""
        return self._largest(
            (int(a), int(b)) for i, j in self.pairs for a, b in zip(self.ranks[i], self.ranks[j], strict=True) if a >= b
        )

    def _largest(self, ranks: Iterable[tuple[int, int]]) -> sp.Expr:
        """Return the largest quotient of two entries, the first of which is not less; 0 to 0 does not count."""
        ends = set(ranks)
        if any(self.is_null(low) and not self.is_null(high) for high, low in ends):
            return sp.oo
        ends = {(high, low) for high, low in ends if not self.is_null(high)}
        if self.is_rational:
            return expression(max(self.numbers[high] / self.numbers[low] for high, low in ends))
        best: sp.Expr = sp.Integer(1)
        for high, low in sorted(ends):
            ratio = normal(expression(self.numbers[high]) / expression(self.numbers[low]))
            if ratio != best and sign(ratio - best) > 0:
                best = ratio
        return best

    # ------------------------------------------------------------------------------------------------------- laws

    def law(self, pair: tuple[int, int], others: Share = ()) -> Law:
        """Return the law of an ordered pair of rows: A2 is the mean of the rows of others, without any the blanket.

        Components with equal ratios are merged: all of a rational table, else those whose entries are the same numbers.
        """
        hidden = self.ranks[[x for x, _ in others]] if others else self.least[None]
        weights = tuple(_ONE if w == 1 else w for _, w in others) or (_ONE,)
        rows = (self.ranks[i].tolist() for i in pair)
        columns = list(zip(*rows, zip(*hidden.tolist(), strict=True), strict=True))
        if self.is_rational and len(hidden) == 1 and self._are_unlike(pair[0], others[0][0] if others else None):
            return _EntryLaw(self, columns, bool(others))
        if self.is_rational:
            return self.rational_law(columns, weights, complete=bool(others))
        balls = [(i, j, tuple(zip(parts, weights, strict=True))) for i, j, parts in columns]
        return self._ball_law(balls, bool(others))

    def _are_unlike(self, row: int, other: int | None) -> bool:
        """Return whether doubles tell all ratios of a row to another, or to the blanket, apart: nothing is merged."""
        with np.errstate(all="ignore"):
            ratios = np.sort(self.floats[row] / (self.least_floats if other is None else self.floats[other]))
            return bool((np.diff(ratios) > _APART * ratios[1:]).all()) and bool(np.isfinite(ratios).all())

    def rational_law(self, columns: Sequence[Column], weights: tuple[fmpq | int, ...], *, complete: bool) -> Law:
        """Return a law in fractions, from the ranks of its entries."""
        # By numerators and denominators: python-flint hashes a fraction slowly.
        atoms: dict[tuple[int, ...], tuple[fmpq, fmpq, fmpq]] = {}
        singular: dict[tuple[int, int], tuple[fmpq, fmpq]] = {}

        def ratio(entry: fmpq, hidden: fmpq) -> tuple[fmpq, int, int]:
            exact = entry / hidden
            return exact, int(exact.p), int(exact.q)

        for i, j, parts in columns:
            a, b, m = self.numbers[i], self.numbers[j], self._mixed(parts, weights)
            if m != 0:
                (r0, *first), (r1, *second) = ratio(a, m), ratio(b, m)
                key = (*first, *second)
                atoms[key] = r0, r1, atoms[key][2] + m if key in atoms else m
            elif a != 0 or b != 0:
                share = a / (a + b)
                before = singular.get((int(share.p), int(share.q)), (fmpq(0), fmpq(0)))
                singular[int(share.p), int(share.q)] = (before[0] + a, before[1] + b)
        return RationalLaw(tuple(atoms.values()), tuple(singular.values())).in_balls(complete)

    def _mixed(self, ranks: tuple[int, ...], weights: tuple[fmpq | int, ...]) -> fmpq:
        if weights == (_ONE,):
            return self.numbers[ranks[0]]
        return sum((w * self.numbers[r] for r, w in zip(ranks, weights, strict=True)), fmpq(0))

    def _ball_law(self, columns: Sequence[tuple[int, int, Parts]], complete: bool) -> Law:
        counts: dict[tuple[int, int, Parts], int] = {}
        for column in columns:
            counts[column] = counts.get(column, 0) + 1
        merged: dict[tuple[tuple[int, Parts], tuple[int, Parts]], list[Number]] = {}
        singular = []
        for (i, j, parts), count in counts.items():
            if not all(self.is_null(r) for r, _ in parts):
                keys = self._ratio(i, parts), self._ratio(j, parts)
                merged.setdefault(keys, []).append(self._mass(parts, count))
            elif not (self.is_null(i) and self.is_null(j)):
                singular.append((self._mass(((i, _ONE),), count), self._mass(((j, _ONE),), count)))
        atoms = [
            Atom(self._quotient(*a), self._quotient(*b), _sum(masses), a == b) for (a, b), masses in merged.items()
        ]
        return Law(tuple(atoms), tuple(singular), complete)

    def _ratio(self, rank: int, parts: Parts) -> tuple[int, Parts]:
        """Return the first known (rank, hiding entries) with the same quotient, if that is proved."""
        key = rank, parts
        if key not in self._ratios:
            shared = self._shared(*key)
            first = self._first.get(shared)
            if first is None:
                with at_precision(CAREFUL_BITS):
                    bucket = self._buckets.setdefault(_rounded(self._quotient(*key)().mid()), [])
                formula = self._formula(*key) if bucket else sp.S.Zero
                first = next((other for other in bucket if is_zero(self._formula(*other) - formula)), key)
                self._first[shared] = first
                if first is key:
                    bucket.append(key)
            self._ratios[key] = first
        return self._ratios[key]

    def _shared(self, rank: int, parts: Parts) -> tuple[sp.Expr, ...]:
        """Return what only equal quotients share: two factors without and with powers of e, or the formula itself.

        SymPy takes long for quotients, and those of exponentials differ in powers alone.
        """
        (hidden, weight), *others = parts
        if others or weight != 1:
            return (self._formula(rank, parts),)
        (above, power), (below, less) = self._split(rank), self._split(hidden)
        if (above, below) not in self._quotients:
            self._quotients[above, below] = above / below
        return self._quotients[above, below], power - less

    def _split(self, rank: int) -> tuple[sp.Expr, sp.Expr]:
        """Return (f, x) where an entry is f e^x."""
        if rank not in self._factors:
            factors = sp.Mul.make_args(expression(self.numbers[rank]))
            powers = [x.args[0] for x in factors if isinstance(x, sp.exp)]
            rest = sp.Mul(*(x for x in factors if not isinstance(x, sp.exp)))
            self._factors[rank] = rest, sp.Add(*powers)
        return self._factors[rank]

    def _formula(self, rank: int, parts: Parts) -> sp.Expr:
        hidden = sp.Add(*(expression(w) * expression(self.numbers[r]) for r, w in parts))
        return expression(self.numbers[rank]) / hidden

    def _quotient(self, rank: int, parts: Parts) -> Number:
        if len(parts) == 1 and parts[0][0] == rank:
            return lambda: arb(1)
        if (rank, parts) not in self._divided:
            mass = self._mass(parts)
            self._divided[rank, parts] = kept_ball(lambda: self.ball(rank) / mass())
        return self._divided[rank, parts]

    def _mass(self, parts: Parts, count: int = 1) -> Number:
        if len(parts) == 1:
            rank = parts[0][0]
            return lambda: count * self.ball(rank)
        return lambda: count * total([arb(w) * self.ball(r) for r, w in parts])

    def ball(self, rank: int) -> arb:
        """Return a ball around a distinct entry at the ambient precision."""
        return self.balls()[rank]

    def balls(self) -> list[arb]:
        """Return balls around all distinct entries at the ambient precision; those of the last precisions are kept."""
        if flint.ctx.prec not in self._balls:
            if len(self._balls) == _PRECISIONS:
                self._balls.clear()
            self._compiled = self._compiled or [to_number(x) for x in self.numbers]
            self._balls[flint.ctx.prec] = [number() for number in self._compiled]
        return self._balls[flint.ctx.prec]


class _EntryLaw(Law):
    """The law of columns of ranks whose ratios differ: fractions and functions are made where they are asked for."""

    _table: NumericTable
    _columns: Sequence[Column]
    __eq__, __hash__ = object.__eq__, object.__hash__

    def __init__(self, table: NumericTable, columns: Sequence[Column], complete: bool) -> None:
        vars(self).update(_table=table, _columns=columns, complete=complete, singular=())

    @cached_property
    def _listed(self) -> Law:
        return self._table.rational_law(self._columns, (_ONE,), complete=self.complete)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return self._listed.atoms

    @property
    def rational(self) -> RationalLaw | None:
        return self._listed.rational

    @property
    def size(self) -> int:
        return len(self._columns)

    def numbers(self) -> list[tuple[arb, arb, arb, bool]]:
        ball = self._table.balls()
        return [(ball[i] / ball[m], ball[j] / ball[m], ball[m], i == j) for i, j, (m,) in self._columns]


def expression(value: Exact) -> sp.Expr:
    """Return an exact number as a SymPy number."""
    return sp.Rational(int(value.p), int(value.q)) if isinstance(value, fmpq) else value


def _sum(masses: list[Number]) -> Number:
    return masses[0] if len(masses) == 1 else lambda: total([mass() for mass in masses])


def _rounded(x: arb) -> tuple[int, int]:
    """Return a key that equal numbers share, but for those few that a rounding boundary parts."""
    mantissa, exponent = (int(part) for part in x.man_exp())
    excess = mantissa.bit_length() - CAREFUL_BITS // 2
    return (mantissa >> excess if excess > 0 else mantissa << -excess), exponent + excess


def _double(number: Exact) -> float:
    """Return the nearest double of a rational, a near one of a constant."""
    if not isinstance(number, fmpq):
        with at_precision(CAREFUL_BITS):
            return float(to_number(number)())
    try:
        return int(number.p) / int(number.q)
    except OverflowError:
        return inf


def _ordered(flat: list[fmpq]) -> tuple[list[Exact], list[int]]:
    """Sort by doubles, which keeps the order of the exact numbers, and exactly where several share a double."""
    keys = [(int(number.p), int(number.q)) for number in flat]  # python-flint hashes a fraction slowly
    distinct = dict(zip(keys, flat, strict=True))
    order = sorted(distinct, key=lambda key: (_double(distinct[key]), distinct[key]))
    position = {key: i for i, key in enumerate(order)}
    return [distinct[key] for key in order], [position[key] for key in keys]


def _ordered_constants(flat: list[Exact]) -> tuple[list[Exact], list[int]]:
    """Sort by balls; what balls cannot separate is proved equal by algebra, or refused."""
    with at_precision(CAREFUL_BITS):
        balls = {entry: to_number(entry)() for entry in flat}
        numbers: list[Exact] = []
        position: dict[Exact, int] = {}
        last = arb(-1)
        for entry in sorted(balls, key=lambda e: balls[e].mid()):
            near = balls[entry]
            if near.contains(0) and is_zero(expression(entry)):
                near = arb(0)
            if numbers and not last < near:
                if not is_zero(expression(entry) - expression(numbers[-1])):
                    close = Problem(f"{CAREFUL_BITS} bits do not tell {entry} from {numbers[-1]}")
                    raise UndecidedOrderError("table", close, "write equal entries alike, or round them")
            else:
                numbers.append(fmpq(0) if near.is_zero() else entry)
                last = near
            position[entry] = len(numbers) - 1
    return numbers, [position[entry] for entry in flat]
