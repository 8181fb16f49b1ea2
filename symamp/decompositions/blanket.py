"""The optimal (blanket) decomposition and the triple of a data set, exactly, from orbits of messages or a table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, lru_cache, wraps
from typing import Any, TypeVar, TypeVarTuple, cast

import numpy as np
import sympy as sp
from flint import arb

from symamp.decompositions.checks import Value, checked, least
from symamp.decompositions.decomposition import Component, Decomposition, KnownBy, merged
from symamp.decompositions.numeric_table import NumericTable, Share, expression
from symamp.decompositions.randomizer import LocalRandomizer, Orbit, known_label
from symamp.errors import ArgumentError, Problem, UndecidedOrderError
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_nonnegative, minimum
from symamp.formulas.parameter import Parameter
from symamp.laws.law import Law
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import exact_number
from symamp.numbers.substitution import put

# ------------- A decorator for steps of the derivation: done once for a family, then numbers are put in for its members

Ts = TypeVarTuple("Ts")
R = TypeVar("R")


def derived(step: Callable[[LocalRandomizer, *Ts], R]) -> Callable[[LocalRandomizer, *Ts], R]:
    """Return the step with a memory: done for ``mechanism.general()``, then with its values put in.

    Powers with large exponents are so never multiplied out. Results are expressions, tuples of them, decompositions.
    """

    @lru_cache(maxsize=8192)
    @wraps(step)
    def found(mechanism: LocalRandomizer, *args: Any) -> Any:
        general, values = mechanism.general()
        return _put(found(general, *args), values, mechanism.parameters) if values else step(mechanism, *args)

    return cast("Callable[[LocalRandomizer, *Ts], R]", found)


def _put(result: Any, values: Mapping[sp.Symbol, sp.Expr], parameters: tuple[Parameter, ...]) -> Any:
    match result:
        case Decomposition():
            return result.put(values, parameters)
        case tuple():
            return type(result)(*(put(e, values) for e in result))
    return put(result, values)


# ---------------------- Infimum and supremum over inputs of the density on one orbit of messages, by proved comparisons


def infimum(orbit: Orbit, parameters: Sequence[Parameter]) -> sp.Expr:
    """Return inf_x R(x)(y) / measure for the messages y of the orbit."""
    sure, possible = densities(orbit, parameters)
    values = list(dict.fromkeys([*sure, *possible]))
    least = values[minimum(values, parameters)]
    if least not in sure:
        number = {normal(d): number for d, number in orbit.rest}[least]
        raise UndecidedOrderError(
            f"infimum on the messages '{orbit.label}'",
            Problem(f"the least density {least} belongs to further inputs, which are not proved to exist"),
            f"assume lower bounds of the sizes{'' if number is None else f' such that {number} >= 1'}",
        )
    return least


def densities(orbit: Orbit, parameters: Sequence[Parameter]) -> tuple[list[sp.Expr], list[sp.Expr]]:
    """Return (sure, possible): densities that some input has on every message of the orbit, and the others listed."""
    sure = [normal(d) for d in orbit.density]
    possible: list[sp.Expr] = []
    for density, number in orbit.rest:
        if number is None or number != 0:
            (sure if number is not None and is_nonnegative(number - 1, parameters) else possible).append(
                normal(density)
            )
    return list(dict.fromkeys(sure)), [d for d in dict.fromkeys(possible) if d not in sure]


# --------- The decomposition of a table of numbers: its law directly from the entries, formulas only when they are read


class TableDecomposition(KnownBy, Decomposition):
    """The triple of two rows of a table: A2 = m without ``others``, the mixture of other rows with them."""

    table: NumericTable
    rows: tuple[int, int]
    others: Share
    _known_by = ("table", "rows", "others", "parameters", "pair")

    def __init__(self, table: NumericTable, rows: tuple[int, int], others: Share = ()) -> None:
        labels = table.inputs[rows[0]], table.inputs[rows[1]]
        vars(self).update(table=table, rows=rows, others=others, parameters=(), pair=labels)

    @cached_property
    def numeric_law(self) -> Law:
        """The law, directly from the entries."""
        return self.table.law(self.rows, self.others)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The merged components as SymPy expressions."""
        return self._formulas.components

    @cached_property
    def singular(self) -> tuple[tuple[sp.Expr, sp.Expr], ...]:
        return self._formulas.singular

    @cached_property
    def _formulas(self) -> Decomposition:
        rational = self.numeric_law.rational
        if rational is not None:
            components = tuple(Component(*(expression(e) for e in atom)) for atom in rational.atoms)
            return Decomposition(components, tuple((expression(a), expression(b)) for a, b in rational.singular))
        table, (i, j) = self.table, self.rows
        parts = []
        for y in range(len(table.messages)):
            hiding = [expression(w) * expression(table.entry(x, y)) for x, w in self.others]
            hidden = sp.Add(*hiding) if hiding else expression(table.numbers[table.least[y]])
            parts.append((expression(table.entry(i, y)), expression(table.entry(j, y)), hidden))
        return merged(parts, (), self.pair)

    @property
    def fingerprint(self) -> Hashable:
        """What decompositions share only if they have the same divergences: the entries by rank, without formulas."""
        table, (i, j) = self.table, self.rows
        hidden = [table.ranks[x] for x, _ in self.others] or [table.least]
        columns = np.stack([table.ranks[i], table.ranks[j], *hidden])
        weights = tuple((int(w.p), int(w.q)) for _, w in self.others)
        return table, weights, columns[:, np.lexsort(columns)].tobytes()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TableDecomposition) and self.table is other.table:
            return (self.rows, self.others) == (other.rows, other.others)
        return isinstance(other, Decomposition) and (
            (self.components, self.singular, self.parameters, self.pair)
            == (other.components, other.singular, other.parameters, other.pair)
        )

    def __hash__(self) -> int:
        return hash((self.pair, self.others))


@lru_cache(maxsize=4096)
def table_blanket(table: NumericTable, rows: tuple[int, int]) -> TableDecomposition:
    """Return the optimal decomposition of an ordered pair of rows, the same object each time."""
    return TableDecomposition(table, rows)


# ------------------------------------------------------------ The optimal (blanket) decomposition: m(y) = inf_x R(x)(y)


@derived
def blanket(mechanism: LocalRandomizer, pair: tuple[str, str]) -> Decomposition:
    """Return the triple A0 = R(x0), A1 = R(x1), A2 = m (and a null symbol of mass 1 - gamma), merged.

    No decomposition gives a smaller bound; components with equal ratios are merged (Su, Cheng, Wang 2025, Theorems 5
    to 7).

    Guarantee
    ---------
    The components are exact. The divergence of the triple at n users is at least that of the shuffled reports of
    any two data sets that differ in one user's input x0 or x1. Proof: docs/proofs/blanket_reduction.md.
    """
    if mechanism.numeric is not None:
        rows = mechanism.inputs.index(pair[0]), mechanism.inputs.index(pair[1])
        return table_blanket(mechanism.numeric, rows)
    if (found := mechanism.decomposed(pair, None)) is not None:
        return found
    parts = []
    orbits = mechanism.orbits(pair)
    for orbit in orbits:
        lowest = infimum(orbit, mechanism.parameters)
        parts.append((normal(orbit.mass(0)), normal(orbit.mass(1)), normal(orbit.measure * lowest)))
    return checked(merged(parts, mechanism.parameters, pair), orbits, least)


# --------------------- The triple of a data set: A0 = R(x0), A1 = R(x1), A2 a mixture of the randomizer at given inputs

Weights = tuple[tuple[str, sp.Rational], ...]


@derived
def triple(mechanism: LocalRandomizer, pair: tuple[str, str], others: Weights) -> Decomposition:
    """Return the merged triple in which every other user holds one of the inputs ``others``, with their weights."""
    if mechanism.numeric is not None:
        index = {x: i for i, x in enumerate(mechanism.inputs)}
        share = tuple((index[x], fmpq_of(w)) for x, w in others)
        return TableDecomposition(mechanism.numeric, (index[pair[0]], index[pair[1]]), share)
    if mechanism.is_composed:
        if len(others) > 1:
            raise ArgumentError(
                "others", f"{len(others)} inputs", "one input for a joint, parallel or sampled mechanism"
            )
        found = mechanism.decomposed(pair, others[0][0])
        assert found is not None
        return found
    distinguished = tuple(dict.fromkeys([*pair, *(x for x, _ in others)]))
    at = {x: i for i, x in enumerate(distinguished)}
    parts = []
    orbits = mechanism.orbits(distinguished)
    for orbit in orbits:
        hiding = sp.Add(*(w * orbit.mass(at[x]) for x, w in others))
        parts.append((normal(orbit.mass(0)), normal(orbit.mass(1)), normal(hiding)))

    def hidden(orbit: Orbit, value: Value) -> arb:
        return sum((value(w) * value(orbit.density[at[x]]) for x, w in others), arb(0))

    return checked(merged(parts, mechanism.parameters, pair), orbits, hidden)


def checked_weights(mechanism: LocalRandomizer, others: object) -> Weights:
    """Return the weights as exact numbers, after checking that inputs are known and weights sum to 1."""
    given = others if isinstance(others, Mapping) else {others: 1} if isinstance(others, Hashable) else None
    if given is None or None in given:
        raise ArgumentError("others", others, "an input, or a mapping {input: weight}")
    labels = [known_label("others", x, mechanism.inputs) for x in given]
    if len(set(labels)) < len(labels):
        raise ArgumentError("others", others, "each input once")
    weights = tuple((x, exact_number(w, f"weight of {x}")) for x, w in zip(labels, given.values(), strict=True))
    for x, weight in weights:
        if not weight.is_Rational or weight < 0:
            raise ArgumentError(f"weight of {x}", weight, "a rational number >= 0")
    if sum(w for _, w in weights) != 1:
        raise ArgumentError("others", given, "weights that sum to 1")
    return weights
