"""Limits of the searches of one question: an object that the question creates and passes on, never a global.

Work is counted in about microseconds of an idle core, from the sizes of what is evaluated and never from a clock: the
same question gets the same answer on every machine. What ends by it is a search, never an evaluation: bounds are as
certified as before, and wider.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import lru_cache, update_wrapper
from math import inf
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from symamp.errors import ArgumentError, one_of

P = ParamSpec("P")
T = TypeVar("T")

EFFORTS = {"quick": 0.1, "default": 1.0, "thorough": 6.0}
"""What ``effort`` may be, and how many times the usual work its searches may take: seconds against width."""
QUESTION = 7e6
"""The usual work of a question: with it all but few of the random tables of docs/findings/fuzzing.md, of up to 64
inputs and 200 messages, are searched to the end."""


NEAR, FAR, CHEAP, BELOW, TRADE_OFF = 2.1e6, 3.5e5, 7e5, 1.4e6, 4.2e5
"""The usual work of the values of the curve of a round: for the levels that matter and for those far out, for cheap
bounds where slow ones take too long, for a lower end, and for each curve behind a trade-off function. Fewer values are
farther apart, and make eps some percent wider."""


class Work(NamedTuple):
    """What an evaluation takes: a part for each call, and a part for each item that it goes through."""

    call: float
    item: float = 0.0

    def of(self, items: float) -> float:
        """Return the work for a number of items."""
        return self.call + self.item * items


# What evaluations take in microseconds of an idle core: least squares of relative errors over the recorded questions
# (tests/golden) and hard tables; half of all evaluations are within a third of it. Where they are wrong the same
# answers are found in other times, and searches that are capped end earlier or later.

KERNEL_PLAN = Work(1000.0, 0.05)
"""A plan for a kernel that is searched, in doubles; values x frequencies."""
KERNEL_IN_BALLS, KERNEL_IN_DOUBLES, TABLE = Work(260.0, 0.95), Work(220.0, 0.023), 13_000
"""A kernel in balls, and in doubles with radii, where each value has a table that takes as much as so many
frequencies; values x frequencies."""
CHOICE, OUTCOME, MISCOUNTED, STEP = 300.0, 2.0, 0.05, Work(330.0, 0.9)
"""A choice between them; an outcome that is enumerated, and one of those that are too many; the steps of binomial
tails."""
LATTICE_SUM, CERTIFIED_LATTICE_SUM = 17_000.0, 60_000.0
"""Sums on lattices: their sizes are limited, and hardly depend on the law."""
LAW, ABOVE = Work(30.0, 3.0), Work(260.0, 15.0)
"""A law at a level, and the law above several; atoms."""
SADDLES, LINES, TERM, PROGRAM = Work(1000.0, 1.0), Work(500.0, 4.5), Work(260.0, 0.0063), 600.0
"""The search over all data sets: saddle points (values), lines of integration (rates x values), an integral
(frequencies x what ``log_terms`` says), a linear program."""
CELL = Work(260.0, 5.6)
"""One cell of a certified integral over all data sets; values."""
RANKING, TRIPLES, FREQUENCY = Work(1000.0, 0.0066), Work(8000.0, 0.06), Work(50.0, 8.0)
"""All pairs of rows at once: a ranking (rows x entries), moments for all data sets (pairs x entries, times terms and 3
more but where they are rough), one frequency of the kernel (pairs)."""
ROUNDS = Work(4000.0, 40.0)
"""The divergence of many rounds at a level; atoms of one of each kind."""
POINT, COUNTS = Work(400.0, 0.5), 2000.0
"""One evaluation of the counts of values (points); the counts of the users of one kind."""
EVERY_LAW, WORST_OF_ALL = Work(400.0, 2.3), Work(250.0, 0.006)
"""The laws of all data sets of few users (data sets x histograms), and the largest divergence of a pair of inputs (data
sets x histograms x messages)."""


@dataclass
class _Account:
    spent: float = 0.0
    was_met: bool = False
    known: set[Hashable] = field(default_factory=set)
    within: _Account | None = None


@dataclass(frozen=True, eq=False)
class Limits:
    """What a question may take, ``most``, and what its evaluations have taken; searches end at the ``share`` of it.

    A question makes one and hands it on. Those for its stages (``until``) have the same account. ``patience`` is how
    many times the usual work the question may take: what takes too long by itself is not begun.
    """

    most: float = inf
    share: float = 1.0
    patience: float = 1.0
    _account: _Account = field(default_factory=_Account, repr=False)

    @staticmethod
    def of(effort: str, usual: float = QUESTION) -> Limits:
        """Return new limits for one question, or for another search that usually takes so much."""
        return Limits(usual * EFFORTS[effort], patience=EFFORTS[effort])

    def until(self, share: float) -> Limits:
        """Return the limits of a stage, whose searches end when so much of the whole is spent, whatever came before."""
        return replace(self, share=share)

    def part(self, usual: float) -> Limits:
        """Return limits for another search, which usually takes so much; that it had to end is remembered here, too."""
        account = _Account(within=self._account)
        return Limits(usual * self.patience, patience=self.patience, _account=account)

    def charge(self, work: float, once: Hashable = None) -> None:
        """Count an evaluation; ``once`` names what later ones use again, and is counted the first time only."""
        if once is None or once not in self._account.known:
            self._account.spent += work
            self._account.known.add(once)

    @property
    def spent(self) -> float:
        """What evaluations have taken."""
        return self._account.spent

    @property
    def left(self) -> float:
        """What the question may still take."""
        return max(self.most - self.spent, 0.0)

    def is_spent(self) -> bool:
        """Return whether a search has to end; that it had to is remembered."""
        if self.spent < self.share * self.most:
            return False
        account: _Account | None = self._account
        while account is not None:
            account.was_met, account = True, account.within
        return True

    @property
    def was_met(self) -> bool:
        """Whether a search has ended for what the question had taken."""
        return self._account.was_met


class _NoLimits(Limits):
    """Limits that count nothing."""

    def charge(self, work: float, once: Hashable = None) -> None:
        """Count nothing."""


NO_LIMITS = _NoLimits()


def checked_effort(effort: object) -> str:
    """Return the effort if it is one."""
    if isinstance(effort, str) and effort in EFFORTS:
        return effort
    raise ArgumentError("effort", effort, one_of(EFFORTS, effort))


def kept(maxsize: int) -> Callable[[Callable[Concatenate[Limits, P], T]], Callable[Concatenate[Limits, P], T]]:
    """Return a decorator that keeps results as ``lru_cache`` does, whatever the limits of the one who asks.

    The function gets limits of its own, without an end; each time its result is asked for it is charged what it took,
    so that no answer depends on what was asked before.
    """

    def decorated(function: Callable[Concatenate[Limits, P], T]) -> Callable[Concatenate[Limits, P], T]:
        @lru_cache(maxsize=maxsize)
        def found(*args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
            own = Limits()
            return function(own, *args, **kwargs), own.spent

        def charged(limits: Limits, /, *args: P.args, **kwargs: P.kwargs) -> T:
            result, taken = found(*args, **kwargs)  # type: ignore[arg-type]
            limits.charge(taken)
            return result

        vars(charged)["cache_clear"] = found.cache_clear
        update_wrapper(charged, function)
        return charged

    return decorated
