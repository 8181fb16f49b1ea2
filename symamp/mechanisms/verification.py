"""A family's description against its explicit table."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.derivation.blanket import blanket
from symamp.derivation.decomposition import Decomposition, merged
from symamp.derivation.triple import triple
from symamp.derivation.validity import check_probabilities
from symamp.errors import VerificationError
from symamp.mechanisms.finite import FiniteMechanism
from symamp.mechanisms.mechanism import Mechanism
from symamp.numbers.substitution import put as substituted


def verify(family: Mechanism, member: Mechanism, table: FiniteMechanism, swap: Mapping[sp.Expr, sp.Expr]) -> str:
    """Return one line if what is derived for the family, at the member's sizes, is what its table gives.

    ``swap`` puts the member's values for the family's symbols. Compared are: the family's closed forms with the sizes
    put in, the member's own components, its local epsilon and the triples of its data sets with one further input.
    Raises VerificationError otherwise.
    """
    check_probabilities(member)
    for pair in member.pairs():
        expected = blanket(table, pair)
        _compare(member, f"components for {pair}", blanket(member, pair), expected)
        if pair in family.pairs():
            _compare(member, f"closed form for {pair}", _at(family, swap, pair), expected)
        for other in (*member.further_inputs(pair), *pair):
            weights = ((other, sp.Integer(1)),)
            _compare(member, f"data set with {other}", triple(member, pair, weights), triple(table, pair, weights))
    budget, expected_budget = member.local_epsilon(), table.local_epsilon()
    if normal(sp.exp(budget)) != normal(sp.exp(expected_budget)):
        raise VerificationError(f"{member!r} local epsilon", budget, str(expected_budget))
    first = blanket(member, member.pairs()[0])
    return f"{member!r}: {len(first.components)} components, gamma = {first.gamma}, local epsilon = {budget}"


def _at(family: Mechanism, swap: Mapping[sp.Expr, sp.Expr], pair: tuple[str, str]) -> Decomposition:
    """Return the family's closed form with the member's numbers put in; components without mass drop out."""
    closed = blanket(family, pair)

    def put(expr: sp.Expr) -> sp.Expr:
        return normal(substituted(expr, swap))

    parts = [(put(m * r0), put(m * r1), put(m)) for r0, r1, m in closed.components]
    parts += [(put(a), put(b), sp.Integer(0)) for a, b in closed.singular]
    return merged([p for p in parts if any(e != 0 for e in p)], (), pair)


def _compare(member: Mechanism, what: str, found: Decomposition, expected: Decomposition) -> None:
    if _positive(found) != _positive(expected):
        raise VerificationError(f"{member!r} {what}", str(found.components), str(expected.components))


def _positive(decomposition: Decomposition) -> tuple[frozenset[object], frozenset[object]]:
    components, singular = decomposition.signature()
    return frozenset(c for c in components if c.mass != 0), frozenset(s for s in singular if s != (0, 0))
