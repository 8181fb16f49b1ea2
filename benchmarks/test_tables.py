"""Tables of floats: the whole road from an array to the certified epsilon, by size; and its first step."""

import numpy as np
import pytest

import symamp as sa

SIZES = [pytest.param(k, m, id=f"{k} x {m}") for k, m in ((16, 16), (64, 64), (4, 1000), (64, 200))]
"""400 x 400 takes about a minute on one core; run with OPENBLAS_NUM_THREADS=1 where cores are shared."""


def rows(inputs, messages):
    weights = np.random.default_rng(1).random((inputs, messages)) + 0.5
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("inputs", "messages"), SIZES)
@pytest.mark.benchmark(group="a table read and checked")
def test_table(benchmark, inputs, messages):
    table = rows(inputs, messages)
    assert benchmark(sa.FiniteMechanism, table, normalise=True).numeric is not None


@pytest.mark.parametrize(("inputs", "messages"), SIZES)
@pytest.mark.benchmark(group="certified epsilon of a table, n = 1e4, blanket", max_time=0.1, min_rounds=1)
def test_certified_epsilon(benchmark, inputs, messages):
    mechanism = sa.FiniteMechanism(rows(inputs, messages), normalise=True)
    found = benchmark(sa.epsilon, mechanism, n=10**4, delta="1e-6", method="blanket")
    assert 0 < found.lower < found.upper
    benchmark.extra_info["lower, upper"] = (found.lower, found.upper)


@pytest.mark.parametrize("alpha", [1.0, 3.0, 10.0])
@pytest.mark.benchmark(group="certified epsilon of a Dirichlet table, 64 x 64, n = 1e6", max_time=0.1, min_rounds=1)
def test_dirichlet(benchmark, alpha):
    weights = np.random.default_rng(0).dirichlet([alpha] * 64, size=64)
    mechanism = sa.FiniteMechanism(weights, normalise=True)
    found = benchmark(sa.epsilon, mechanism, n=10**6, delta="1e-6")
    assert 0 < found.lower < found.upper < 1.1 * found.lower
