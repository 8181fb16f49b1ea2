"""A described mechanism as a table of numbers: its orbits of messages, seen from the inputs that it names."""

from __future__ import annotations

from functools import lru_cache

from symamp.decompositions.numeric_table import NumericTable
from symamp.decompositions.randomizer import LocalRandomizer
from symamp.numbers.rationals import fmpq_of


@lru_cache(maxsize=256)
def seen_table(mechanism: LocalRandomizer, pair: tuple[str, str]) -> NumericTable:
    """Return the probabilities of the orbits for the pair and its further inputs, one row each.

    Parameters must be numbers. The triple of a data set over these inputs is that of these rows, since on an orbit all
    ratios are constant; the blanket is not the minimum of the rows, as other inputs count there.

    >>> import symamp as sa
    >>> seen_table(sa.RandomizedResponse(k=100, eps0="log(3)"), ("x0", "x1")).floats.shape
    (4, 5)
    """
    inputs = (*pair, *mechanism.further_inputs(pair))
    orbits = mechanism.orbits(inputs)
    rows = [[orbit.mass(i) for orbit in orbits] for i in range(len(inputs))]
    exact = [[fmpq_of(e) if e.is_Rational else e for e in row] for row in rows]
    return NumericTable(inputs, [orbit.label for orbit in orbits], exact)
