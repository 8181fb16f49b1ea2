"""The triple of a data set: A0 = R(x0), A1 = R(x1), A2 a mixture of the randomizer at given inputs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import sympy as sp
from flint import arb

from symamp.algebra.normal_form import normal
from symamp.derivation.ball_check import Value, checked
from symamp.derivation.decomposition import Decomposition, merged
from symamp.derivation.derived import derived
from symamp.derivation.orbit import Orbit
from symamp.derivation.randomizer import LocalRandomizer, known_label
from symamp.derivation.table_decomposition import TableDecomposition
from symamp.errors import ArgumentError
from symamp.numbers.exact_number import exact_number
from symamp.numbers.rationals import fmpq_of

Weights = tuple[tuple[str, sp.Rational], ...]


@derived
def triple(mechanism: LocalRandomizer, pair: tuple[str, str], others: Weights) -> Decomposition:
    """Return the merged triple in which every other user holds one of the inputs ``others``, with their weights.

    >>> import symamp as sa
    >>> triple(sa.RandomizedResponse(k=4), ("x0", "x1"), (("x2", sp.Integer(1)),)).gamma
    1
    """
    if mechanism.numeric is not None:
        index = {x: i for i, x in enumerate(mechanism.inputs)}
        share = tuple((index[x], fmpq_of(w)) for x, w in others)
        return TableDecomposition(mechanism.numeric, (index[pair[0]], index[pair[1]]), share)
    if mechanism.is_composed:
        if len(others) > 1:
            raise ArgumentError("others", f"{len(others)} inputs", "one input, for a mechanism made of others")
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
        raise ArgumentError("others", others, "different inputs")
    weights = tuple((x, exact_number(w, f"weight of {x}")) for x, w in zip(labels, given.values(), strict=True))
    for x, weight in weights:
        if not weight.is_Rational or weight < 0:
            raise ArgumentError(f"weight of {x}", weight, "a rational number >= 0")
    if sum(w for _, w in weights) != 1:
        raise ArgumentError("others", given, "weights that sum to 1")
    return weights
