"""How many evaluations an answer takes: what cannot help is not tried."""

from math import comb, exp, log
from types import SimpleNamespace

import numpy as np
import pytest

from symamp.sums import enumeration
from symamp.sums.divergence import Settings
from symamp.sums.enumeration import count_outcomes
from symamp.sums.inversion import estimate_root


def outcomes(values, n):
    """Count the outcomes with a positive sum, one by one."""

    def visit(rest, left, partial):
        if len(rest) == 1:
            return int(partial + left * rest[0] > 0.0)
        return sum(visit(rest[1:], left - c, partial + c * rest[0]) for c in range(left + 1))

    return visit(values, n, 0.0)


@pytest.mark.parametrize("seed", range(12))
def test_no_more_outcomes_are_foretold_than_there_are(seed):
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(2, 9)), int(rng.integers(2, 6))
    values = sorted(rng.normal(0.0, 1.0, size) * 10.0 ** rng.uniform(-2, 2, size), reverse=True)
    values[0] = abs(values[0]) + max(values[1], 0.0)
    true = outcomes(values, n)
    assert exp(enumeration._log_fewest(values, n)) <= true * (1 + 1e-9)
    law = SimpleNamespace(values=values, null_mass=0.0)
    assert true <= count_outcomes(law, n, 10**6) <= 10**6


def test_outcomes_that_are_many_are_not_counted_one_by_one():
    """Values over as many powers of two as a table of 64 inputs has, half of them positive."""
    values = [2.0 ** (63 - 2 * y) - 2.0**20 for y in range(44)]
    assert enumeration._log_fewest(values, 10_000) > log(comb(10_000, 5))
    law = SimpleNamespace(values=values, null_mass=0.0)
    assert count_outcomes(law, 10_000, 10**12) == 10**12 + 1  # one by one this would never end


def test_a_jump_of_estimates_is_not_followed_to_the_last_digit():
    asked = []

    def value(eps):
        asked.append(eps)
        return -12.0 - eps + (0.7 if eps < 1.2345678901234 else -0.7)

    root = estimate_root(value, lambda eps: -12.0 - eps, 10**6, -13.2, Settings(), 50.0)
    assert root == pytest.approx(1.2345678901234, rel=1e-3)
    assert len(asked) < 40


def test_a_steep_root_is_found():
    """Next to the budget the curve falls from anything to nothing: no jump."""
    top = 3.0
    root = estimate_root(lambda e: 50 * log(max(top - e, 1e-300)), lambda e: -e, 10**6, -400.0, Settings(), top)
    assert root == pytest.approx(top - exp(-8.0), rel=1e-9)
