"""The law above several, in doubles: against the exact one of the oracle."""

import random
from fractions import Fraction

import numpy as np
import pytest

from symamp.laws.law import FloatGparv
from symamp.sums.envelope import float_envelope
from tests.oracle.envelope import envelope_law, own_law


def as_floats(law, mean):
    atoms = {v: m for v, m in law.items() if v != 0}
    values, masses = (np.array([float(x) for x in column]) for column in (atoms.keys(), atoms.values()))
    return FloatGparv(values, masses, float(law.get(0, 0)), float(mean), 0.0)


def transform(g, u):
    """E[(w - u)+] for u >= 0, E[(u - w)+] below: both are sums of one sign."""
    return float(g.masses @ np.maximum(g.values - u if u >= 0 else u - g.values, 0.0))


@pytest.mark.parametrize("seed", range(30))
def test_transforms_are_those_of_the_exact_law(seed):
    rng = random.Random(seed)
    weights = [[rng.choice([1, 1, 2, 5, 40]) for _ in range(rng.choice([3, 5, 8]))]]
    weights += [[rng.choice([1, 1, 2, 5, 40]) for _ in weights[0]] for _ in range(rng.choice([1, 2, 5]))]
    rows = [[Fraction(w, sum(row)) for w in row] for row in weights]
    e = Fraction(rng.choice([10, 11, 15, 30]), 10)
    g = [a - e * b for a, b in zip(rows[0], rows[1], strict=True)]
    laws = [own_law(g, row)[0] for row in rows]
    exact, _ = envelope_law([own_law(g, row) for row in rows])
    found = float_envelope([as_floats(law, 1 - e) for law in laws])
    expected = as_floats(exact, 1 - e)
    if not found.is_positive:
        assert not expected.is_positive
        return
    for u in [0.0, *expected.values, *found.values, *(0.5 * expected.values)]:
        assert transform(found, u) == pytest.approx(transform(expected, u), rel=1e-9, abs=1e-12)
    assert found.masses.sum() + found.null_mass == pytest.approx(1.0)
