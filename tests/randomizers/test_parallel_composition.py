"""Advanced parallel composition: range queries by a hierarchy of levels, against exhaustion and against Theorem 6.1."""

from fractions import Fraction

import pytest
import sympy as sp

import symamp as sa
from symamp.bounds.budget import corrected_reduction
from symamp.decompositions.budget import VariationRatio
from tests.oracle.histograms import randomized_response as response
from tests.oracle.users_who_differ import messages_shuffled

F = Fraction


def levels(height, eps0):
    asked = [sa.RandomizedResponse(k=2**h, eps0=eps0) for h in range(1, height + 1)]
    return sa.parallel([(sp.Rational(1, height), m) for m in asked])


def table(height, t):
    """The laws of the leaves, level by level."""
    rows = []
    for leaf in range(2**height):
        parts = [response(2**h, t)[leaf >> (height - h)] for h in range(1, height + 1)]
        rows.append([v / height for part in parts for v in part])
    return rows


@pytest.mark.parametrize(("t", "n", "E"), [(2, 2, F(7, 4)), (3, 3, F(2)), (6, 2, F(11, 2))])
def test_range_queries_by_exhaustion(t, n, E):
    rows = table(2, F(t))
    truth = max(messages_shuffled([rows[0], rows[x]], [rows] * (n - 1), E) for x in (1, 2))
    answer = sa.delta(levels(2, f"log({t})"), n=n, eps=f"log({E})")
    assert float(truth) <= answer.upper * (1 + 1e-12)


@pytest.mark.parametrize("height", [6, 11])
def test_what_is_saved(height):
    """eps0 = 1, n = 10^4: the optimal decomposition is below the corrected bound, and that far below the basic one."""
    best = sa.epsilon(levels(height, 1), n=10**4, delta="1e-6", method="blanket")
    t = sp.E
    beta = sum((t - 1) / (t + 2**h - 1) for h in range(1, height + 1)) / height
    triple = corrected_reduction(VariationRatio(t, beta, t)).decomposition
    corrected = sa.epsilon(triple, n=10**4, delta="1e-6").upper
    basic = sa.epsilon(sa.PureLDP(eps0=1), n=10**4, delta="1e-6", method="generic").upper
    assert best.upper < corrected < 1.002 * best.upper
    assert 1 - best.upper / basic == pytest.approx({6: 0.389, 11: 0.554}[height], abs=1e-3)
    assert best.lower > 0.92 * best.upper
