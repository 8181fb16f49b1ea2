"""Discrete Gaussian noise against sums over messages."""

import itertools
from math import exp

import pytest
import sympy as sp

import symamp as sa
from symamp.data_sets.mechanisms import SmoothDataSet
from symamp.laws.law import Level
from symamp.sums.divergence import Settings


def _excess(size, sigma, eps, n):
    """E[(G_1 + ... + G_n)_+]/n of the blanket of (0, B) by enumeration in floats, messages within 12 sigma."""
    reach = range(-12 * sigma, 12 * sigma + size + 1)
    row = {y: [exp(-((y - x) ** 2) / (2 * sigma**2)) for x in (0, size)] for y in reach}
    totals = [sum(row[y][i] for y in reach) for i in (0, 1)]
    law = [(a / totals[0], b / totals[1]) for a, b in row.values()]
    steps = [((a - exp(eps) * b) / min(a, b), min(a, b)) for a, b in law]
    steps.append((0.0, 1.0 - sum(mass for _, mass in steps)))
    result = 0.0
    for draws in itertools.product(steps, repeat=n):
        mass = 1.0
        for _, m in draws:
            mass *= m
        result += mass * max(sum(g for g, _ in draws), 0.0)
    return result / n


@pytest.mark.parametrize(("size", "sigma", "eps", "n"), [(1, 1, 0.5, 1), (2, 1, 0.25, 2), (3, 2, 0.125, 2)])
def test_discrete_gaussian_noise_of_few_users(size, sigma, eps, n):
    found = sa.delta(sa.DiscreteGaussian(B=size, sigma=sigma), n=n, eps=eps, method="worst_pair").bound
    known = _excess(size, sigma, eps, n)
    assert found.lower * (1 - 1e-9) <= known <= found.upper * (1 + 1e-9)
    assert found.upper < found.lower * 1.001


@pytest.mark.slow
def test_fine_integer_noise_is_close_to_gaussian_noise():
    fine = sa.epsilon(sa.DiscreteGaussian(B=10, sigma=10), n=10**6, delta="1e-6", method="worst_pair")
    smooth = sa.epsilon(sa.Gaussian(sigma=1), n=10**6, delta="1e-6", method="worst_pair")
    assert smooth.bound.lower * (1 - 1e-5) <= fine.bound.lower < fine.bound.upper <= smooth.bound.upper * (1 + 1e-5)
    assert smooth.bound.upper / smooth.bound.lower < 1.001
    assert fine.lower <= fine.bound.lower


def test_integer_noise_is_checked():
    for wrong in ({"B": 0, "sigma": 1}, {"B": 2, "sigma": 0}, {"B": "1/2", "sigma": 1}):
        with pytest.raises(sa.errors.ArgumentError):
            sa.DiscreteGaussian(**wrong)
    noise = sa.DiscreteGaussian(B=4, sigma=1)
    assert noise.local_epsilon() is sp.oo
    assert noise.worst_pair().proved
    assert r"e^{4 \left(y - 2\right)}" in noise._repr_latex_()
    with pytest.raises(sa.errors.SymampError):
        sa.delta(noise, n=10, eps=1, method="generic")


def test_clipped_laplace_noise():
    clipped, noise = sa.ClippedLaplace(eps0=1), sa.Laplace(eps0=1)
    assert clipped != noise
    one, other = (sa.delta(m, n=10**6, eps="0.00446") for m in (clipped, noise))
    assert one.bound == other.bound


@pytest.mark.parametrize("other", ["0", "1"])
def test_estimates_where_values_are_far_apart_are_at_most_those_of_one_user(other):
    """With B = 8 sigma ratios reach e^100: sums on a lattice lose the values of which one alone decides."""
    noise = sa.DiscreteGaussian(sigma=1, B=8)
    for eps in (62.0, 151.0):
        level = Level.of_float(eps)
        many, one = (
            SmoothDataSet(noise, ("0", "1"), "data set", "", other).log_estimate(level, n, Settings())
            for n in (10**4, 1)
        )
        assert many <= one + 0.02


@pytest.mark.slow
def test_values_that_are_far_apart_have_an_answer():
    answer = sa.epsilon(sa.DiscreteGaussian(sigma=1, B=8), n=10**4, delta=1e-8)
    # Not below: where all others hold B, one message 13 sigma below B decides; not above: no other user at all.
    alone = sa.epsilon(sa.DiscreteGaussian(sigma=1, B=8), n=1, delta=1e-8)
    assert 60.0 < answer.lower < answer.upper <= alone.upper
