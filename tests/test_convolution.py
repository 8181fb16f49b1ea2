"""Sums on a lattice for few users: against exact sums in fractions, and against the kernel for laws with a density."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import symamp as sa
from symamp.evaluation.convolution import convolved_sum
from symamp.evaluation.divergence import Settings
from symamp.evaluation.gparv import BallGparv, FloatGparv
from symamp.evaluation.law import Level
from symamp.evaluation.smooth_divergence import _by_convolution, enclose_smooth

LAWS = [
    {Fraction(3, 7): Fraction(1, 3), Fraction(-5, 7): Fraction(1, 2)},
    {
        Fraction(9, 10): Fraction(1, 100),
        Fraction(1, 3): Fraction(1, 5),
        Fraction(-22, 7): Fraction(3, 10),
        Fraction(-1, 10): Fraction(1, 4),
    },
    {Fraction(1): Fraction(1, 1000), Fraction(-40): Fraction(999, 1000)},
    {Fraction(2): Fraction(1, 10**4), Fraction(-1, 64): Fraction(1, 2), Fraction(1, 65): Fraction(1, 10)},
]


def exact(law, n):
    one = law | {Fraction(0): 1 - sum(law.values())}
    sums = {Fraction(0): Fraction(1)}
    for _ in range(n):
        following = {}
        for a, p in sums.items():
            for b, q in one.items():
                following[a + b] = following.get(a + b, 0) + p * q
        sums = following
    return sum(a * p for a, p in sums.items() if a > 0)


def ball(x):
    return arb(x.numerator) / x.denominator


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_exact_sum_lies_between_the_ends(law, n):
    values, masses = list(law), list(law.values())
    g = BallGparv(tuple(map(ball, values)), tuple(map(ball, masses)), ball(1 - sum(masses)), arb(0))
    floats = [np.array([float(x) for x in xs]) for xs in (values, masses)]
    mean = float(sum(v * m for v, m in law.items()))
    lower, upper = convolved_sum(g, g, FloatGparv(*floats, float(1 - sum(masses)), mean, 0.0), n, 1e-3)
    truth = exact(law, n)
    assert Fraction(lower) <= truth <= Fraction(upper)
    assert upper - lower < 0.02 * upper


@pytest.mark.parametrize(("noise", "n", "eps"), [(sa.Gaussian(sigma=1), 40, 0.5), (sa.Laplace(eps0=2), 20, 0.3)])
def test_it_overlaps_with_the_kernel(noise, n, eps):
    level = Level.of_float(eps)
    law = noise.blanket_laws(level, n)[1]
    found, other = (f(law, level, n, Settings(gap=5e-3)) for f in (_by_convolution, enclose_smooth))
    assert found.lower.lower() <= other.upper.upper()
    assert other.lower.lower() <= found.upper.upper()
    assert found.relative_gap < 0.05
