"""A decomposition of a table of numbers: its law directly from the entries, its formulas only when they are read."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp

from symamp.decompositions.decomposition import Component, Decomposition, merged
from symamp.decompositions.numeric_table import NumericTable, Share, expression
from symamp.laws.law import Law

_MANY_MESSAGES = 64
"""With more components decompositions are compared by their entries, without making formulas."""


class TableDecomposition(Decomposition):
    """The triple of two rows of a table: A2 = m without ``others``, the mixture of other rows with them."""

    table: NumericTable
    rows: tuple[int, int]
    others: Share

    def __init__(self, table: NumericTable, rows: tuple[int, int], others: Share = ()) -> None:
        labels = table.inputs[rows[0]], table.inputs[rows[1]]
        vars(self).update(table=table, rows=rows, others=others, parameters=(), pair=labels)

    def __getstate__(self) -> dict[str, object]:
        return {name: vars(self)[name] for name in ("table", "rows", "others", "parameters", "pair")}

    @cached_property
    def numeric_law(self) -> Law:
        """The law, directly from the entries."""
        if self.others:
            return self.table.dataset_law(self.rows, self.others)
        return self.table.blanket_law(self.rows)

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
        """What decompositions share only if they have the same divergences: of many messages the entries by rank."""
        table, (i, j) = self.table, self.rows
        if len(table.messages) <= _MANY_MESSAGES:
            return self.signature()
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
