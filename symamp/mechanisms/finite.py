"""A local randomizer given as a table: {input: {message: probability}}."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from math import comb
from typing import Self

import sympy as sp
from flint import fmpq

from symamp.algebra.parameter import Parameter, check_range
from symamp.derivation.numeric_table import NumericTable, expression
from symamp.derivation.orbit import Orbit
from symamp.derivation.validity import check_probabilities
from symamp.errors import ArgumentError, FormatError
from symamp.mechanisms.mechanism import Mechanism
from symamp.mechanisms.neighbours import neighbouring
from symamp.mechanisms.table_entries import Entries, declared_parameters
from symamp.mechanisms.table_input import normalised, rows_of
from symamp.numbers.exact_number import printable_number
from symamp.numbers.substitution import put

_MOST_INPUTS, _MOST_MESSAGES, _MOST_ENTRIES = 400, 4000, 160_000
_UNCOUNTED = 30
"""Exponents from here on count as this: even two letters make more strings than a table has messages."""


class FiniteMechanism(Mechanism):
    """A finite local randomizer: the probability of each message on each input, as exact expressions.

    ``table`` is {input: {message: entry}} (a message that is left out has probability 0), or rows in a list, a NumPy
    array, a SymPy matrix or a pandas frame; without labels, inputs are x0, x1, ... and messages y0, y1, ... Entries
    are numbers (a float counts as the binary fraction it is), SymPy expressions, or strings such as
    ``"exp(eps0)/(exp(eps0) + 1)"``. Symbols are parameters: ``eps0`` is positive unless declared otherwise; a SymPy
    symbol brings its own sign; others are declared with ``parameters``.

    Rows are proved to sum to 1 and entries to be nonnegative under the assumptions: RowSumError,
    NegativeProbabilityError or UndecidedOrderError otherwise; FormatError for a table of the wrong shape. Rows of
    floats rarely sum to exactly 1: with ``normalise=True`` each row of numbers that does within 2**-20 is divided by
    its exact sum, and the mechanism is the one with these probabilities.

    >>> coin = FiniteMechanism({"a": {"0": "2/3", "1": "1/3"}, "b": {"0": "1/3", "1": "2/3"}})
    >>> coin.local_epsilon()
    log(2)
    >>> FiniteMechanism([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2]], normalise=True).messages
    ('y0', 'y1', 'y2')
    """

    def __init__(
        self,
        table: object,
        *,
        parameters: Sequence[Parameter] = (),
        name: str = "finite mechanism",
        normalise: bool = False,
    ) -> None:
        rows = rows_of(table)
        declared = declared_parameters(parameters)
        if not isinstance(name, str):
            raise FormatError("name", name, "text")
        if not isinstance(normalise, bool):
            raise ArgumentError("normalise", normalise, "True or False")
        self.name = name
        self._inputs = tuple(rows)
        self._messages = tuple(dict.fromkeys(y for row in rows.values() for y in row))
        check_size(len(self._inputs), len(self._messages))
        read = Entries(declared)
        entries = {
            x: {y: read.exact(value, x, y) for y, value in row.items()}
            for x, row in (normalised(rows) if normalise else rows).items()
        }
        zero = fmpq(0)
        values = [[entries[x].get(y, zero) for y in self._messages] for x in self._inputs]
        self.parameters = tuple({**read.found, **declared}[n] for n in {**declared, **read.found})
        self._values = values
        self._numeric = None if self.parameters else NumericTable(self._inputs, self._messages, values)
        check_probabilities(self)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The labels of the rows."""
        return self._inputs

    @property
    def messages(self) -> tuple[str, ...]:
        """The labels of the columns."""
        return self._messages

    @cached_property
    def rows(self) -> tuple[tuple[sp.Expr, ...], ...]:
        """The probabilities, one tuple per input, in the order of ``messages``."""
        made = {value: expression(value) for row in self._values for value in row}
        return tuple(tuple(made[value] for value in row) for row in self._values)

    @property
    def numeric(self) -> NumericTable | None:
        """The table as exact numbers, None if a parameter is free."""
        return self._numeric

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All ordered pairs, as a table promises no symmetry; those of neighbours where others are not compared."""
        if self._numeric is not None:
            return tuple((self._inputs[i], self._inputs[j]) for i, j in self._numeric.pairs)
        return tuple((x, z) for x in self._inputs for z in self._inputs if x != z)

    def near(self, neighbours: object) -> Self:
        """Return the table of which only neighbouring inputs are compared; other users may hold any input.

        ``neighbours`` is a distance, for inputs whose labels are numbers or points (such as ``1/2`` or ``(1, 2)``; the
        metric is Euclidean), or a list of pairs of inputs, for every other metric. Both orders of a pair are compared.
        The local budget stays that of all inputs.

        Raises ArgumentError for a table with free parameters, for labels without a metric, and if no pair is left.

        >>> rows = {"0": {"a": "2/3", "b": "1/3"}, "1": {"a": "1/2", "b": "1/2"}, "2": {"a": "1/3", "b": "2/3"}}
        >>> FiniteMechanism(rows).near(1).pairs()
        (('0', '1'), ('1', '0'), ('1', '2'), ('2', '1'))
        """
        if self._numeric is None:
            raise ArgumentError("neighbours", repr(self), "a table with numbers for all parameters")
        found = copy(self)
        for cached in ("_key", "_hash"):
            found.__dict__.pop(cached, None)
        found._numeric = self._numeric.between(neighbouring(self._inputs, neighbours))
        return found

    def further_inputs(self, pair: tuple[str, str]) -> tuple[str, ...]:
        """All inputs outside the pair."""
        return tuple(x for x in self._inputs if x not in pair)

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Each message by itself."""
        chosen = [self._inputs.index(x) for x in distinguished]
        rest = [i for i in range(len(self._inputs)) if i not in chosen]
        one = sp.Integer(1)
        return tuple(
            Orbit(y, one, tuple(self.rows[i][j] for i in chosen), tuple((self.rows[i][j], one) for i in rest))
            for j, y in enumerate(self._messages)
        )

    def key(self) -> tuple[object, ...]:
        """Return labels, entries and assumptions."""
        return self._key

    @cached_property
    def _key(self) -> tuple[object, ...]:
        if self._numeric is None:
            return ("FiniteMechanism", self._inputs, self._messages, self.rows, self.parameters)
        return ("FiniteMechanism", self._inputs, self._messages, self._numeric.key)

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    def __hash__(self) -> int:
        return self._hash

    def at(self, /, **values: object) -> Self:
        """Return the mechanism with some parameters fixed.

        >>> rr = FiniteMechanism({"a": {"0": "exp(eps0)/(exp(eps0)+1)", "1": "1/(exp(eps0)+1)"},
        ...                       "b": {"1": "exp(eps0)/(exp(eps0)+1)", "0": "1/(exp(eps0)+1)"}})
        >>> rr.at(eps0="log(3)").blanket("a", "b").gamma
        1/2
        """
        by_name = {p.name: p for p in self.parameters}
        numbers: dict[str, sp.Expr] = {}
        for name, value in values.items():
            if name not in by_name:
                raise ArgumentError(
                    "parameter", name, f"one of {', '.join(by_name)}" if by_name else "none: all are fixed"
                )
            numbers[name] = printable_number(value, name)
        swap = {by_name[name].symbol: number for name, number in numbers.items()}
        for name, number in numbers.items():
            check_range(by_name[name], number, swap)
        table = {
            x: {y: put(self.rows[i][j], swap) for j, y in enumerate(self._messages)} for i, x in enumerate(self._inputs)
        }
        left = tuple(p.given(swap) for p in self.parameters if p.name not in numbers)
        return type(self)(table, parameters=left, name=self.name)

    def __repr__(self) -> str:
        shown = f"{self.name!r}, {len(self._inputs)} inputs, {len(self._messages)} messages"
        if self._numeric is not None and self._numeric.is_restricted:
            shown += f", {len(self._numeric.pairs)} ordered pairs of neighbours"
        return f"FiniteMechanism({shown})"


def check_size(inputs: int, messages: int) -> None:
    """Raise FormatError for a table that is too large; whoever writes one out asks before.

    >>> check_size(3, 10**12)
    Traceback (most recent call last):
    ...
    symamp.errors.FormatError: table: got 1000000000000 messages; accepted: 1 to 4000 messages and at most 160000 ...
    """
    if not 2 <= inputs <= _MOST_INPUTS:
        raise FormatError("table", f"{_shown(inputs)} inputs", f"2 to {_MOST_INPUTS} inputs")
    if not 1 <= messages <= _MOST_MESSAGES or inputs * messages > _MOST_ENTRIES:
        accepted = f"1 to {_MOST_MESSAGES} messages and at most {_MOST_ENTRIES} entries"
        raise FormatError("table", f"{_shown(messages)} messages", accepted)


def _shown(count: int) -> str:
    return str(count) if count < 10**18 else "10^18 or more"


def strings(letters: int, length: int) -> int:
    """Return how many strings of that length there are over an alphabet; too many to be listed are not counted.

    >>> strings(3, 4), strings(2, 10**18) == 2**_UNCOUNTED
    (81, True)
    """
    return int(letters ** min(length, _UNCOUNTED))


def subsets(size: int, chosen: int) -> int:
    """Return how many sets of ``chosen`` of ``size`` elements there are; too many to be listed are not counted.

    >>> subsets(5, 2), subsets(10**18, 10**17) > 10**300
    (10, True)
    """
    return comb(size, min(chosen, size - chosen, _UNCOUNTED))
