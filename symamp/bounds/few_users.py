"""Few users: the exact divergence of each data set of a small table."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log
from typing import ClassVar

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.bound import AttainedBound, Bound, DataSets, PairBoundDefaults
from symamp.bounds.hypotheses import SHUFFLED, TABLE, ProofStatus, table_of
from symamp.bounds.subject import Subject
from symamp.errors import ArgumentError, Problem
from symamp.exact.histograms import BITS
from symamp.exact.worst_dataset import Counts, EveryDataSet, Pair, work
from symamp.laws.law import Level
from symamp.numbers.limits import EVERY_LAW, NO_LIMITS, QUESTION, WORST_OF_ALL, Limits
from symamp.numbers.reading import exact_number
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.finite import FiniteMechanism
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.inversion import estimate_root, log_of_ball

SOURCE = "enumeration (docs/proofs/histograms.md)"
HISTOGRAMS = "histograms"
"""The name of the evaluator."""
_SHARE, _LEVELS = 0.15, 8
"""The part of the usual work of a question that all data sets may take, and the number of levels it is for."""
_MOST_ON_REQUEST, _MOST_USERS = 50_000_000, 64
"""Terms of all divergences on request, some seconds; users in a default question."""
_MOST_BITS = 8192
"""At this precision ends are returned as they are, even if they differ."""


@dataclass(frozen=True)
class RowsOfTable(PairBoundDefaults):
    """The divergences of an ordered pair of rows of a table, whose entries are numbers."""

    table: FiniteMechanism
    rows: Pair

    @property
    def held(self) -> Counts | None:
        """How many of the other users hold each input; None for all data sets."""
        return None

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs (x0, x1) that is compared."""
        return self.table.inputs[self.rows[0]], self.table.inputs[self.rows[1]]

    def ends(self, level: Level, n: int, bits: int, limits: Limits) -> tuple[fmpq, fmpq]:
        """Return bounds on the divergence to so many bits."""
        raise NotImplementedError

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        with at_precision(64):
            return log_of_ball(arb(self.ends(level, n, BITS, settings.limits)[1]))

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the divergence, as narrow as asked.

        Guarantee
        ---------
        The divergence lies between the outer ends. Proof: docs/proofs/histograms.md.
        """
        bits = BITS
        while True:
            low, high = self.ends(level, n, bits, settings.limits)
            with at_precision(bits):
                known = low if low == high else None
                found = Enclosure(arb(low), arb(high), HISTOGRAMS, bits, exact=known)
            if found.relative_gap <= settings.gap or 2 * bits > _MOST_BITS:
                return found
            bits *= 2

    def largest_eps(self) -> float:
        """Return about the eps from which on the divergence is 0, inf if there is none."""
        assert self.table.numeric is not None
        first, second = self.table.numeric.floats[list(self.rows)].tolist()
        return log(max(a / b if b > 0.0 else inf for a, b in zip(first, second, strict=True) if a > 0.0))


@dataclass(frozen=True)
class CountedUsers(RowsOfTable):
    """Two neighbouring data sets, given by the number of other users at each input."""

    counts: Counts

    method: ClassVar[str] = "data set"
    proof_status: ClassVar[ProofStatus] = ProofStatus.LOWER
    source: ClassVar[str] = SOURCE

    @property
    def held(self) -> Counts:
        return self.counts

    @property
    def data_sets(self) -> DataSets:
        """The data sets, with numbers of users."""
        held = tuple((x, str(c)) for x, c in zip(self.table.inputs, self.counts, strict=True) if c)
        return DataSets(*self.pair, held, counted=True)

    @property
    def signature(self) -> Hashable:
        """Who holds what."""
        return self.method, self.rows, self.counts

    def ends(self, level: Level, n: int, bits: int, limits: Limits) -> tuple[fmpq, fmpq]:
        limits.charge(WORST_OF_ALL.call)
        return _every(self.table, n, bits, limits).divergence(self.rows, self.counts, _eps(level))

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        value = lru_cache(lambda eps: self.log_estimate(Level.of_float(eps), n, settings))
        return estimate_root(value, value, n, log_delta, settings, self.largest_eps(), start)


@dataclass(frozen=True)
class FewUsers(RowsOfTable, AttainedBound):
    """The largest divergence of an ordered pair of rows over all data sets of the other users."""

    method: ClassVar[str] = "every_data_set"
    proof_status: ClassVar[ProofStatus] = ProofStatus.PROVED
    source: ClassVar[str] = SOURCE

    @property
    def signature(self) -> Hashable:
        """The pair."""
        return self.method, self.rows

    def ends(self, level: Level, n: int, bits: int, limits: Limits) -> tuple[fmpq, fmpq]:
        limits.charge(WORST_OF_ALL.of(_work(self.table, n) / _pairs(self.table)))
        return _every(self.table, n, bits, limits).extreme(self.rows, _eps(level))[:2]

    def attained(self, level: Level, n: int) -> CountedUsers:
        worst = _every(self.table, n, BITS, NO_LIMITS).extreme(self.rows, _eps(level))
        return CountedUsers(self.table, self.rows, worst.counts)


def _every(table: FiniteMechanism, n: int, bits: int, limits: Limits) -> EveryDataSet:
    asked = _work(table, n)
    if asked > _MOST_ON_REQUEST:
        many = Problem(f"{FewUsers.method} has {asked} terms for {n} users, more than {_MOST_ON_REQUEST}")
        raise ArgumentError("n", many, "take fewer users, inputs or messages, or another method")
    limits.charge(EVERY_LAW.of(asked / (_pairs(table) * len(table.messages))), once=(table, n, bits))
    return EveryDataSet.of(table, n, bits)


def _work(table: FiniteMechanism, n: int) -> int:
    return work(len(table.inputs), len(table.messages), n)


def _pairs(table: FiniteMechanism) -> int:
    return len(table.inputs) * (len(table.inputs) - 1)


@lru_cache(maxsize=256)
def _eps(level: Level) -> sp.Expr:
    return exact_number(level.text, "eps")


def _parts(subject: Subject) -> Iterator[FewUsers]:
    table = table_of(subject)
    assert table is not None
    assert table.numeric is not None
    return (FewUsers(table, rows) for rows in table.numeric.pairs)


def are_few(table: FiniteMechanism, n: int, patience: float = 1.0) -> bool:
    """Return whether all data sets of n users can be enumerated within a multiple of the usual work of a question."""
    if n > _MOST_USERS:
        return False
    terms, pairs = _work(table, n), _pairs(table)
    taken = EVERY_LAW.of(terms / (pairs * len(table.messages))) + _LEVELS * pairs * WORST_OF_ALL.of(terms / pairs)
    return taken <= _SHARE * QUESTION * patience


def _has_many_users(subject: Subject, level: Level, n: int, patience: float) -> bool:
    table = table_of(subject)
    return table is None or not are_few(table, n, patience)


EVERY_DATA_SET = Bound(
    "every_data_set",
    ProofStatus.PROVED,
    SOURCE,
    "every data set of few users, one by one: the truth",
    "histograms",
    (*SHUFFLED, TABLE),
    _parts,
    rank=1,
    too_costly=_has_many_users,
)
