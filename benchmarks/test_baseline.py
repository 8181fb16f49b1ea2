"""Algorithm 7 of Su, Cheng, Wang (2025) against symamp: times in the tables, accuracy beside them."""

from functools import partial
from math import exp, expm1, log

import pytest

import symamp as sa
from benchmarks import algorithm7
from benchmarks.cases import DELTAS, MECHANISM, answer, blanket_law, level
from symamp.laws.law import Level
from symamp.sums.divergence import Settings, enclose_divergence, estimate_log_divergence
from symamp.sums.inversion import estimate_epsilon

STEP = expm1(1.0) / algorithm7.STEPS
HALVINGS = 20
DEEP = 0.3
"""A level at which delta is below the rounding error of a full-length FFT in doubles."""

gparv = partial(algorithm7.randomized_response, 10, 1.0)
sizes = pytest.mark.parametrize("n", [pytest.param(10**3, id="n=1e3"), pytest.param(10**4, id="n=1e4")])


def enclosed(n: int, eps: float) -> tuple[float, float]:
    found = enclose_divergence(blanket_law(), Level.of_float(eps), n)
    return float(found.lower), float(found.upper)


@sizes
def test_delta_by_algorithm7(benchmark, n):
    benchmark.group = f"one delta at n = {n}"
    eps = answer(n).upper
    rounds = 5 if n == 10**3 else 1
    found = benchmark.pedantic(lambda: algorithm7.divergence(gparv(eps), n, STEP), rounds=rounds, iterations=1)
    lower, upper = enclosed(n, eps)
    assert found >= lower  # it rounds up, and here delta is far above the rounding error
    benchmark.extra_info["Algorithm 7"] = found
    benchmark.extra_info["certified enclosure"] = (lower, upper)
    benchmark.extra_info["relative error of Algorithm 7"] = found / upper - 1.0
    if n == 10**3:
        deep = algorithm7.divergence(gparv(DEEP), n, STEP)
        benchmark.extra_info[f"Algorithm 7 at eps = {DEEP}: rounding error, no bound"] = deep
        benchmark.extra_info[f"certified enclosure at eps = {DEEP}"] = enclosed(n, DEEP)


@sizes
def test_delta_estimated(benchmark, n):
    benchmark.group = f"one delta at n = {n}"
    found = benchmark(estimate_log_divergence, blanket_law(), level(n), n)
    lower, upper = enclosed(n, answer(n).upper)
    assert lower * (1.0 - 1e-9) <= exp(found) <= upper * (1.0 + 1e-9)


@sizes
def test_delta_enclosed(benchmark, n):
    benchmark.group = f"one delta at n = {n}"
    found = benchmark(enclose_divergence, blanket_law(), level(n), n)
    assert found.relative_gap <= 1e-6


@sizes
def test_delta_answered(benchmark, n):
    """The whole answer, with the lower bound on the true divergence and its search over data sets."""
    benchmark.group = f"one delta at n = {n}"
    eps = answer(n).upper
    sa.delta(MECHANISM, n=n, eps=eps)
    benchmark(sa.delta, MECHANISM, n=n, eps=eps)


@pytest.mark.benchmark(group="one epsilon at n = 1000")
def test_epsilon_by_algorithm7(benchmark):
    n = 10**3
    found = benchmark.pedantic(
        lambda: algorithm7.epsilon(gparv, n, float(DELTAS[n]), STEP, 1.0, HALVINGS), rounds=1, iterations=1
    )
    bound = answer(n).bound
    benchmark.extra_info["Algorithm 7"] = found
    benchmark.extra_info["certified enclosure of the same bound"] = (bound.lower, bound.upper)
    benchmark.extra_info["relative error of Algorithm 7"] = found / bound.upper - 1.0
    benchmark.extra_info["evaluations of delta"] = HALVINGS


@pytest.mark.benchmark(group="one epsilon at n = 1000")
def test_epsilon_estimated(benchmark):
    n = 10**3
    found = benchmark(estimate_epsilon, blanket_law(), n, log(float(DELTAS[n])), Settings())
    bound = answer(n).bound
    assert bound.lower * (1.0 - 1e-9) <= found <= bound.upper * (1.0 + 1e-9)


@pytest.mark.benchmark(group="one epsilon at n = 1000")
def test_epsilon_answered(benchmark):
    n = 10**3
    answer(n)
    benchmark(sa.epsilon, MECHANISM, n=n, delta=DELTAS[n])
