"""The interface of a proposer of data sets, and the space that it is given: pairs, other inputs, divergences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import sympy as sp

from symamp.bounds.bound import DataSetBound
from symamp.decompositions.blanket import Weights
from symamp.decompositions.numeric_table import NumericTable
from symamp.laws.law import Level

Pair: TypeAlias = tuple[str, str]
Proposals: TypeAlias = Iterable[DataSetBound | None]
"""Data sets; None where a setting cannot evaluate what was proposed."""

_ONE = sp.Integer(1)


class DataSpace:
    """The neighbouring data sets of one setting: every setting gives its own, and every proposer works on all.

    ``member`` names the mechanism if a question is about many. ``table`` has the probabilities of all inputs, if they
    are listed.
    """

    member = ""
    table: NumericTable | None = None

    @property
    def pairs(self) -> Sequence[Pair]:
        """The ordered pairs (x0, x1) that are compared: at least one of each class."""
        raise NotImplementedError

    def others(self, pair: Pair) -> Sequence[str]:
        """Return the inputs that other users may hold: at least one of each class."""
        raise NotImplementedError

    @property
    def proposed(self) -> DataSpace:
        """The space that proposers are asked about: of a setting in which everyone takes part."""
        return self

    def seen(self, part: DataSetBound, level: Level | None, n: int) -> Iterable[DataSetBound]:
        """Return what data sets that are proposed are in this setting."""
        return (part,)

    def held(self, pair: Pair, inputs: Sequence[str], n: int) -> DataSetBound | None:
        """Return the divergence where the n - 1 other users hold these inputs in turn, again and again.

        Where such data sets cannot be evaluated it is that where inputs are drawn in these proportions, which is an
        average over data sets.
        """
        counts = in_turn(inputs, n - 1)
        if len(counts) == 1:
            return self.constant(pair, inputs[0])
        return self.drawn(pair, tuple((x, sp.Rational(count, n - 1)) for x, count in counts.items()))

    def drawn(self, pair: Pair, weights: Weights) -> DataSetBound | None:
        """Return the average divergence where every other user draws an input with these probabilities."""
        raise NotImplementedError

    def constant(self, pair: Pair, other: str) -> DataSetBound | None:
        """Return the divergence where all other users hold the same input."""
        return self.drawn(pair, ((other, _ONE),))


def in_turn(inputs: Sequence[str], users: int) -> dict[str, int]:
    """Return how many users hold each input if they hold these in turn; without users, none hold the first.

    >>> in_turn(["x", "y"], 5)
    {'x': 3, 'y': 2}
    """
    counts = dict.fromkeys(inputs, 0)
    for i, x in enumerate(inputs):
        counts[x] += len(range(i, users, len(inputs)))
    return {x: count for x, count in counts.items() if count} or {inputs[0]: 0}


Propose: TypeAlias = Callable[[DataSpace, Level | None, int], Proposals]


@dataclass(frozen=True)
class Proposer:
    """A way to propose data sets, found by its folder and asked for every lower end.

    ``propose`` is given the space of data sets, the level (None: for every eps, however large) and the number of users.
    Any data set is a true lower bound. A poor proposal costs time, and width where ``effort`` limits the work of a
    question: both ends share it.

    >>> from symamp.data_sets.search import PROPOSERS
    >>> {"constant_background", "declared_inputs"} <= {p.name for p in PROPOSERS}
    True
    """

    name: str
    propose: Propose = field(repr=False)
    applies: Callable[[DataSpace], bool] = field(repr=False, default=lambda space: True)
