"""A local randomizer given as a table: what may be given as one, its entries, and which inputs are neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, isfinite
from typing import Any, Self

import numpy as np
import sympy as sp
from flint import fmpq

from symamp.decompositions.checks import check_probabilities
from symamp.decompositions.numeric_table import Exact, NumericTable, expression
from symamp.decompositions.randomizer import Orbit, known_label
from symamp.errors import ArgumentError, FormatError, Problem, RowSumError
from symamp.formulas.order import sign
from symamp.formulas.parameter import EPS0, Parameter, admissible_points, check_range, probing_points
from symamp.numbers import reading
from symamp.numbers.rationals import fmpq_of, rational_of
from symamp.numbers.substitution import put
from symamp.numbers.unevaluated import PRINTABLE_BITS
from symamp.randomizers.mechanism import Mechanism, check_free
from symamp.randomizers.protocols import Protocol, of_table

_LARGEST_COUNTED_LENGTH = 30  # longer strings and larger sets are far too many for a table, whatever their number

# --- What may be given as a table: mappings, matrices, arrays, lists of rows, data frames; as labelled rows of values

_SHAPE = (
    "a mapping {input: {message: probability}}, a list of rows, a NumPy array or SymPy matrix with one row per input, "
    "or a pandas frame"
)
_WITHIN = fmpq(1, 2**20)
"""How far from 1 a row may sum and still be taken as rounded."""


def rows_of(table: object) -> dict[str, dict[str, object]]:
    """Return the table as {input: {message: value}}; FormatError for anything that is not a table."""
    if isinstance(table, Mapping):
        return _labelled(table)
    if isinstance(table, sp.MatrixBase):
        return _numbered([[table[i, j] for j in range(table.cols)] for i in range(table.rows)])
    if isinstance(table, np.ndarray):
        if table.ndim != 2:
            raise FormatError("table", f"an array with {table.ndim} axes", _SHAPE)
        return _numbered(table.tolist())
    if str(type(table).__module__).partition(".")[0] == "pandas" and getattr(table, "ndim", 0) == 2:
        return _framed(table)
    if not _is_row(table):
        raise FormatError("table", type(table).__name__, _SHAPE)
    return _numbered(table)


def normalised(rows: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Return the rows with those of rational numbers divided by their exact sum, where it is 1 but for rounding."""
    result = {}
    for x, row in rows.items():
        numbers = {y: rational(value) for y, value in row.items()}
        exact = {y: number for y, number in numbers.items() if number is not None}
        if len(exact) != len(row):
            result[x] = row
            continue
        whole = sum(exact.values(), fmpq(0))
        if not abs(whole - 1) <= _WITHIN:
            off = Problem(f"the probabilities sum to {float(reading.fraction(whole) or 0):.9g}")
            raise RowSumError(f'row of input "{x}"', off, "normalise=True divides sums within 2**-20 of 1 only")
        result[x] = {y: number / whole for y, number in exact.items()}
    return result


def rational(value: object) -> fmpq | None:
    """Return the exact value of a number of Python, NumPy, mpmath or python-flint; None for anything else."""
    if isinstance(value, fmpq):
        return value
    if isinstance(value, float) and isfinite(value):
        return fmpq(*value.as_integer_ratio())
    number = reading.fraction(value)
    if number is None or not reading.fits(number) or number.denominator.bit_length() > PRINTABLE_BITS:
        return None
    return fmpq_of(number)


def _labelled(table: Mapping[Any, Any]) -> dict[str, dict[str, object]]:
    rows: dict[str, dict[str, object]] = {}
    for key, row in table.items():
        x = _label(key)
        if not isinstance(row, Mapping):
            raise FormatError(f'table["{x}"]', type(row).__name__, "a mapping {message: probability}")
        entries = {_label(y): value for y, value in row.items()}
        if x in rows or len(entries) != len(row):
            twice = Problem("two labels are the same text")
            raise FormatError(f'table["{x}"]', twice, "give labels that differ as text")
        rows[x] = entries
    return rows


def _numbered(rows: Any) -> dict[str, dict[str, object]]:
    for i, row in enumerate(rows):
        if not _is_row(row):
            raise FormatError(f"row {i} of the table", type(row).__name__, "a list of probabilities")
        if len(row) != len(rows[0]):
            told = Problem(f"it has {len(row)} entries, row 0 has {len(rows[0])}")
            raise FormatError(f"row {i} of the table", told, "give each row one entry for each message")
    return {f"x{i}": {f"y{j}": value for j, value in enumerate(row)} for i, row in enumerate(rows)}


def _framed(frame: Any) -> dict[str, dict[str, object]]:
    inputs, messages = ([_label(key) for key in axis] for axis in (frame.index, frame.columns))
    for labels in (inputs, messages):
        if len(set(labels)) != len(labels):
            raise FormatError("table", Problem("two labels are the same text"), "give labels that differ as text")
    values = frame.to_numpy(dtype=object).tolist()
    return {x: dict(zip(messages, row, strict=True)) for x, row in zip(inputs, values, strict=True)}


def _is_row(row: object) -> bool:
    if isinstance(row, np.ndarray):
        return bool(row.ndim == 1)
    return isinstance(row, Sequence) and not isinstance(row, str | bytes)


def _label(key: object) -> str:
    try:
        return str(key)
    except Exception:  # Python does not print integers of more than 4300 digits, and str may raise
        raise FormatError("label", key, "a label that can be printed") from None


# --- The entries of a table: numbers, text and SymPy expressions as exact numbers, or as formulas in the parameters


def declared_parameters(parameters: object) -> dict[str, Parameter]:
    """Return the parameters by name; FormatError for anything but a list of different ones."""
    if not isinstance(parameters, Sequence) or not all(isinstance(p, Parameter) for p in parameters):
        raise FormatError("parameters", parameters, "a list of Parameter, such as [Parameter('p', lower=0, upper=1)]")
    declared = {p.name: p for p in parameters}
    if len(declared) != len(parameters):
        raise FormatError("parameters", [p.name for p in parameters], "each name once")
    return declared


class Entries:
    """Reads entries as expressions over the parameters' own symbols; ``found`` are the parameters not declared."""

    def __init__(self, declared: Mapping[str, Parameter]) -> None:
        self.declared = declared
        self.found: dict[str, Parameter] = {}
        self.symbols: dict[str, sp.Symbol] = {}
        self.seen: dict[object, sp.Expr] = {}
        self.points: dict[tuple[str, ...], tuple[list[reading.Point], list[reading.Point]]] = {}

    def exact(self, value: object, x: str, y: str) -> Exact:
        """Return the probability of message y on input x, as a fraction where it is one."""
        number = rational(value)
        if number is not None:
            return number
        entry = self.entry(value, f'table["{x}"]["{y}"]')
        return fmpq_of(entry) if entry.is_Rational else entry

    def entry(self, value: object, place: str) -> sp.Expr:
        """Return an entry as an expression, read once."""
        if not isinstance(value, str | sp.Expr):
            return reading.printable_number(value, place)
        if value not in self.seen:
            constant = isinstance(value, sp.Expr) and not value.free_symbols
            read = self.text if isinstance(value, str) else reading.printable_number if constant else self.formula
            self.seen[value] = read(value, place)
        return self.seen[value]

    def text(self, value: str, place: str) -> sp.Expr:
        """Return what text says; symbols without declaration are found parameters."""
        known = self.known()
        symbols = {n: p.symbol for n, p in known.items()}
        points, probes = self.admissible()
        entry = reading.parse_expression(value, symbols, argument=place, points=points, probes=probes)
        for symbol in sorted(entry.free_symbols, key=str):
            self.found.setdefault(symbol.name, known[symbol.name])
        return entry

    def formula(self, value: sp.Expr, place: str) -> sp.Expr:
        """Return a SymPy expression over the parameters' own symbols."""
        swap = {}
        for symbol in sorted(value.free_symbols, key=str):
            if self.symbols.setdefault(symbol.name, symbol) != symbol:
                twice = Problem(f"two different SymPy symbols are named {symbol.name}")
                raise FormatError(place, twice, "make it once and use it everywhere")
            parameter = self.declared.get(symbol.name) or self.found.setdefault(symbol.name, _assumed(symbol))
            swap[symbol] = parameter.symbol
        return reading.read_formula(value, place, swap, *self.admissible(), floats=True)

    def known(self) -> dict[str, Parameter]:
        """Return all parameters that an entry may have."""
        return {EPS0.name: EPS0, **self.found, **self.declared}

    def admissible(self) -> tuple[list[reading.Point], list[reading.Point]]:
        """Return points at which what SymPy makes of an entry is compared with it, and some where it must be real."""
        known = self.known()
        names = tuple(known)
        if names not in self.points:
            parameters = tuple(known.values())
            self.points[names] = [*admissible_points(parameters)], [*probing_points(parameters)]
        return self.points[names]


def _assumed(symbol: sp.Symbol) -> Parameter:
    """Return the parameter that a SymPy symbol's own assumptions describe."""
    if symbol.name == EPS0.name:
        return EPS0
    integer = bool(symbol.is_integer)
    if symbol.is_positive:
        return Parameter(symbol.name, lower=sp.Integer(1 if integer else 0), integer=integer)
    return Parameter(symbol.name, lower=0 if integer and symbol.is_nonnegative else None, integer=integer)


# ----------------------------- Which inputs are neighbours: all, those at distance at most d, or pairs given one by one

ALL = "all"
_ACCEPTED = "'all', a distance > 0, or a list of pairs of inputs"
_PAIRS = "a pair of two different inputs"
_METRIC = "label inputs by numbers or points, such as 1/2 or (1, 2), or give neighbours as a list of pairs"


def neighbouring(inputs: Sequence[str], neighbours: reading.Compared) -> list[tuple[int, int]]:
    """Return the pairs of inputs, by index, that are neighbours: in one order each, at least one pair."""
    if isinstance(neighbours, Sequence) and not isinstance(neighbours, str | bytes):
        found = [_pair(inputs, item) for item in neighbours]
    else:
        square = distance(neighbours) ** 2
        points = [_point(x) for x in inputs]
        if len({len(p) for p in points}) > 1:
            raise ArgumentError("neighbours", Problem("the inputs are points of different dimensions"), _METRIC)
        apart = {
            (i, j): sum(((a - b) ** 2 for a, b in zip(points[i], points[j], strict=True)), Fraction(0))
            for i, j in combinations(range(len(points)), 2)
        }
        found = [pair for pair, squared in apart.items() if sign(square - rational_of(squared)) >= 0]
    if not found:
        raise ArgumentError("neighbours", Problem("no two inputs are neighbours"), "give a larger distance, or pairs")
    return found


def distance(value: object) -> sp.Expr:
    """Return a distance as an exact positive number."""
    number = reading.exact_number(value, "neighbours", accepted=_ACCEPTED)
    if sign(number) <= 0:
        raise ArgumentError("neighbours", value, _ACCEPTED)
    return number


def _pair(inputs: Sequence[str], item: object) -> tuple[int, int]:
    if isinstance(item, str | bytes) or not isinstance(item, Sequence) or len(item) != 2:
        raise ArgumentError("neighbours", item, _PAIRS)
    first, second = (known_label("neighbours", x, inputs) for x in item)
    if first == second:
        raise ArgumentError("neighbours", item, _PAIRS)
    return inputs.index(first), inputs.index(second)


def _point(label: str) -> tuple[Fraction, ...]:
    try:
        return tuple(Fraction(part.strip()) for part in label.strip().removeprefix("(").removesuffix(")").split(","))
    except (ValueError, ZeroDivisionError):
        raise ArgumentError("neighbours", Problem(f"the input {label!r} has no distance to others"), _METRIC) from None


# ------------------------------------------------- A local randomizer given as a table: {input: {message: probability}}

_MOST_INPUTS, _MOST_MESSAGES, _MOST_ENTRIES = 400, 4000, 160_000


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

    def message_bits(self) -> sp.Expr:
        return sp.log(len(self._messages), 2)

    def protocol(self) -> Protocol:
        """Values are the numbers of inputs, reports those of messages, in the order of ``inputs`` and ``messages``.

        Of all linear estimates that are unbiased it is the one with the least variances for uniform data.
        """
        if self.parameters:
            free = ", ".join(p.name for p in self.parameters)
            raise ArgumentError("mechanism", Problem(f"it has no number for {free}"), "give it by .at(...)")
        return of_table(self.rows, dict(zip(self.inputs, range(len(self.inputs)), strict=True)), self.messages)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All ordered pairs, as a table promises no symmetry; those of neighbours where others are not compared."""
        if self._numeric is not None:
            return tuple((self._inputs[i], self._inputs[j]) for i, j in self._numeric.pairs)
        return tuple((x, z) for x in self._inputs for z in self._inputs if x != z)

    def near(self, neighbours: reading.Compared) -> Self:
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
            wrong = Problem(f"{self!r} has free parameters")
            raise ArgumentError("neighbours", wrong, "give numbers by .at(...) first")
        found = copy(self)
        for cached in ("_key", "_hash"):
            found.__dict__.pop(cached, None)
        found._numeric = self._numeric.between(neighbouring(self._inputs, neighbours))
        return found

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        chosen = [self._inputs.index(x) for x in distinguished]
        rest = [i for i in range(len(self._inputs)) if i not in chosen]
        one = sp.Integer(1)
        return tuple(
            Orbit(y, one, tuple(self.rows[i][j] for i in chosen), tuple((self.rows[i][j], one) for i in rest))
            for j, y in enumerate(self._messages)
        )

    def key(self) -> tuple[object, ...]:
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
        check_free(values, self.parameters)
        by_name = {p.name: p for p in self.parameters}
        numbers = {name: reading.printable_number(value, name) for name, value in values.items()}
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
    """Raise FormatError for a table that is too large; asked before one is written out."""
    if not 2 <= inputs <= _MOST_INPUTS:
        raise FormatError("table", f"{_shown(inputs)} inputs", f"2 to {_MOST_INPUTS} inputs")
    if not 1 <= messages <= _MOST_MESSAGES or inputs * messages > _MOST_ENTRIES:
        accepted = f"1 to {_MOST_MESSAGES} messages and at most {_MOST_ENTRIES} entries"
        raise FormatError("table", f"{_shown(messages)} messages", accepted)


def _shown(count: int) -> str:
    return str(count) if count < 10**18 else "10^18 or more"


def strings(letters: int, length: int) -> int:
    """Return how many strings of that length there are over an alphabet; too many to be listed are not counted."""
    return int(letters ** min(length, _LARGEST_COUNTED_LENGTH))


def subsets(size: int, chosen: int) -> int:
    """Return how many sets of ``chosen`` of ``size`` elements there are; too many to be listed are not counted."""
    return comb(size, min(chosen, size - chosen, _LARGEST_COUNTED_LENGTH))
