"""Messages shuffled: the common blanket of the others for one group of victims (Theorem D), and data sets below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce

import flint
import sympy as sp
from flint import arb

from symamp.analyses.crowd import Crowd
from symamp.analyses.part import DataSets
from symamp.derivation.crossing import number
from symamp.errors import SupportMismatchError
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.grouped_search import Group
from symamp.evaluation.law import Level, Number, total
from symamp.evaluation.walks import Steps, Walk
from symamp.mechanisms.families.randomized_response import RandomizedResponse
from symamp.mechanisms.finite import FiniteMechanism
from symamp.numbers.surroundings import at_precision

_MOST_INPUTS = 8


@dataclass(frozen=True)
class Constant:
    """An exact number: a ball around it at the ambient precision, made once for each."""

    expr: sp.Expr
    ball: Number
    known: dict[int, arb] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(expr: sp.Expr) -> Constant:
        """Return the constant expression."""
        return Constant(expr, number(expr))

    def __call__(self) -> arb:
        """Return a ball around the number."""
        bits = flint.ctx.prec
        if bits not in self.known:
            self.known[bits] = self.ball()
        return self.known[bits]


@dataclass(frozen=True)
class Column:
    """Messages alike for one mechanism: how many, and the probability of each on x0, on x1 and on further inputs.

    ``sums`` are the probabilities of all of them together on the inputs that the others may hold in a data set.
    """

    size: int
    on_x0: Constant
    on_x1: Constant
    further: tuple[Constant, ...]
    sums: tuple[Constant, ...]

    def least(self) -> arb:
        """Return the least probability of a message over all inputs."""
        return reduce(arb.min, (x() for x in (self.on_x0, self.on_x1, *self.further)))


@dataclass(frozen=True)
class StepTest:
    """A sum over messages and a data set: which columns count 1, which -1, and what all others hold."""

    name: DataSets
    up: tuple[int, ...]
    down: tuple[int, ...]
    other: int
    walk: Walk


@dataclass(frozen=True)
class Victim:
    """One group of victims and one pair of inputs: the columns of all mechanisms, message by message the same."""

    crowd: Crowd
    group: int
    pair: tuple[str, str]
    others: tuple[str, ...]
    columns: tuple[tuple[Column, ...], ...]

    @property
    def counts(self) -> list[int]:
        """How many users of each group there are besides the victim."""
        return [count - (i == self.group) for i, (count, _) in enumerate(self.crowd.groups)]

    def alone(self, level: Level) -> arb:
        """Return D_E of the victim's own message: nothing that others send makes it worse."""
        e = level.exponential()
        return total([c.size * (c.on_x0() - e * c.on_x1()).max(arb(0)) for c in self.columns[self.group]])

    def blanket(self, level: Level) -> tuple[BallGparv, list[arb]]:
        """Return the law of L under a common B, with the singular part, and the masses g of the groups.

        B is proportional to the least probability of each message over all groups and inputs: of every other B the
        bound would hold as well.
        """
        e, own = level.exponential(), self.columns[self.group]
        present = [i for i, count in enumerate(self.counts) if count]
        if not present:
            return BallGparv((), (), arb(1), self.alone(level)), [arb(0)] * len(self.counts)
        rows = zip(*(self.columns[i] for i in present), strict=True)
        least = [reduce(arb.min, (c.least() for c in row)) for row in rows]
        whole = total([c.size * x for c, x in zip(own, least, strict=True)])
        if not whole > 0:
            return BallGparv((), (), arb(1), self.alone(level)), [arb(0)] * len(self.counts)
        b = [x / whole for x in least]
        values, masses, null, singular = [], [], arb(0), arb(0)
        for c, share in zip(own, b, strict=True):
            gain = c.on_x0() - e * c.on_x1()
            if share > 0:
                values.append(gain / share)
                masses.append(c.size * share)
            else:
                singular += c.size * gain.max(arb(0))
        kept = 1 - number(self.crowd.dropout)()
        shares = [arb(0)] * len(self.counts)
        for i in present:
            seen = (c.least() / share for c, share in zip(self.columns[i], b, strict=True) if share > 0)
            shares[i] = (reduce(arb.min, seen) * kept).max(arb(0)).min(arb(1))
        return BallGparv(tuple(values), tuple(masses), null, singular), shares

    def sides(self, level: Level, above: bool) -> tuple[list[Group], Callable[[], arb], Callable[[], arb]]:
        """Return (groups, divisor, rest): E[S_+]/divisor + rest is above, or below, the bound of Theorem D.

        Guarantee
        ---------
        With ``above`` it is at least the divergence of the shuffled messages for this pair of the victim's inputs,
        whatever the others hold. Proof: docs/proofs/users_who_differ.md, section 4.
        """
        counts = self.counts
        known: dict[int, tuple[BallGparv, list[arb]]] = {}

        def found() -> tuple[BallGparv, list[arb]]:
            bits = flint.ctx.prec
            if bits not in known:
                known[bits] = self.blanket(level)
            return known[bits]

        with at_precision(64):
            _, rough = found()
        hidden = [i for i, (count, g) in enumerate(zip(counts, rough, strict=True)) if count and g > 0]
        if not hidden:
            return [], lambda: arb(1), lambda: self.alone(level)

        def slot() -> arb:
            shares = found()[1]
            return reduce(arb.min if above else arb.max, (shares[i] for i in hidden))

        def thinned(share: Callable[[], arb]) -> Callable[[], BallGparv]:
            def source() -> BallGparv:
                law, g = found()[0], share()
                return BallGparv(law.values, tuple(g * m for m in law.masses), 1 - g * total(law.masses), arb(0))

            return source

        def share_of(i: int) -> Callable[[], arb]:
            return lambda: found()[1][i]

        groups = [Group(counts[i], thinned(share_of(i))) for i in hidden] + [Group(1, thinned(slot))]

        def divisor() -> arb:
            shares = found()[1]
            return total([counts[i] * shares[i] for i in hidden]) + slot()

        return groups, divisor, lambda: found()[0].singular

    def tests(self, level: Level) -> Iterator[StepTest]:
        """Yield data sets with sums of steps: all others hold one input, and only a sum over messages counts.

        Messages that are likelier, by more than E, on x0 count 1, those that are so on x1 count -1, or nothing. To
        merge messages and to choose a threshold can only lose.
        """
        e, own = level.exponential(), self.columns[self.group]
        up = tuple(i for i, c in enumerate(own) if c.on_x0() - e * c.on_x1() > 0)
        down = tuple(i for i, c in enumerate(own) if c.on_x1() - c.on_x0() > 0)
        kept = 1 - number(self.crowd.dropout)()
        # Without a message that counts 0 the two signs are one statistic, and every other sum is impossible.
        for below in (down, ()) if len(up) + len(down) < len(own) else ((),):
            on_x0 = _steps([c.size * c.on_x0() for c in own], up, below)
            on_x1 = _steps([c.size * c.on_x1() for c in own], up, below)
            for j, other in enumerate(self.others):
                others = tuple(
                    _steps([kept * c.sums[j]() for c in columns], up, below, count)
                    for columns, count in zip(self.columns, self.counts, strict=True)
                    if count
                )
                yield StepTest(DataSets(*self.pair, ((other, "1"),)), up, below, j, Walk(on_x0, on_x1, others))


def _steps(masses: list[arb], up: tuple[int, ...], down: tuple[int, ...], count: int = 1) -> Steps:
    return Steps(total([masses[i] for i in up]), total([masses[i] for i in down]), count)


def victims(crowd: Crowd) -> Iterator[Victim]:
    """Yield every group of victims with every ordered pair of inputs that has a law of its own.

    Raises SupportMismatchError unless all mechanisms are k-ary responses of one k, or tables with one message space.
    """
    mechanisms = crowd.mechanisms
    assert mechanisms is not None
    if all(isinstance(m, RandomizedResponse) for m in mechanisms):
        if len({m["k"] for m in mechanisms if isinstance(m, RandomizedResponse)}) > 1:
            raise SupportMismatchError("groups", "responses of different k", "one message space")
        rows = tuple(_response(m) for m in mechanisms if isinstance(m, RandomizedResponse))
        others = ("x0", "x1", "x2")[: len(rows[0])] if len(rows[0]) > 2 else ("x0", "x1")
        for i in range(len(mechanisms)):
            yield Victim(crowd, i, ("x0", "x1"), others, rows)
        return
    tables = [m for m in mechanisms if isinstance(m, FiniteMechanism)]
    same = len({(t.inputs, t.pairs(), frozenset(t.messages)) for t in tables}) == 1
    if len(tables) < len(mechanisms) or not same or len(tables[0].inputs) > _MOST_INPUTS:
        told = f"k-ary responses of one k, or tables with the same messages and the same inputs, at most {_MOST_INPUTS}"
        raise SupportMismatchError("groups", ", ".join(type(m).__name__ for m in mechanisms), told)
    for pair in tables[0].pairs():
        rows = tuple(_table(t, tables[0].messages, pair) for t in tables)
        for i in range(len(tables)):
            yield Victim(crowd, i, pair, tables[0].inputs, rows)


def _response(m: RandomizedResponse) -> tuple[Column, ...]:
    k, levels = m["k"], m.levels()
    high, low = (Constant.of(x) for x in levels)
    first = Column(1, high, low, (), (high, low, low))
    second = Column(1, low, high, (), (low, high, low))
    if k == 2:
        return first, second
    some, one = Constant.of((k - 2) * levels[1]), Constant.of(levels[0] + (k - 3) * levels[1])
    return first, second, Column(int(k) - 2, low, low, (), (some, some, one))


def _table(m: FiniteMechanism, messages: tuple[str, ...], pair: tuple[str, str]) -> tuple[Column, ...]:
    place = {y: j for j, y in enumerate(m.messages)}
    columns = []
    for y in messages:
        entries = {x: Constant.of(m.rows[i][place[y]]) for i, x in enumerate(m.inputs)}
        further = tuple(entries[x] for x in m.inputs if x not in pair)
        columns.append(Column(1, entries[pair[0]], entries[pair[1]], further, tuple(entries.values())))
    return tuple(columns)
