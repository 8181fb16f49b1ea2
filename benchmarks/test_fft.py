"""The FFT engine against Algorithm 7 of Su, Cheng, Wang (2025): times in the tables, errors at equal lattice beside."""

from functools import partial
from math import expm1

import pytest

import symamp as sa
from benchmarks import algorithm7
from benchmarks.cases import MECHANISM, blanket_law
from symamp.laws.law import Level
from symamp.sums.divergence import Settings, enclose_divergence

STEP = expm1(1.0) / algorithm7.STEPS

gparv = partial(algorithm7.randomized_response, 10, 1.0)
sizes = pytest.mark.parametrize("n", [pytest.param(10**3, id="n=1e3"), pytest.param(10**4, id="n=1e4")])


def level(n: int) -> float:
    return 2.3 / n**0.5


def certified(n: int) -> float:
    return float(enclose_divergence(blanket_law(), Level.of_float(level(n)), n, Settings(gap=1e-9)).upper)


@sizes
def test_algorithm7(benchmark, n):
    benchmark.group = f"the law of the sum at n = {n}, step {STEP:.5f}"
    found = benchmark.pedantic(lambda: algorithm7.divergence(gparv(level(n)), n, STEP), rounds=1, iterations=1)
    truth = certified(n)
    assert found >= truth
    benchmark.extra_info["relative error"] = found / truth - 1.0


@sizes
def test_fft_at_the_same_step(benchmark, n):
    benchmark.group = f"the law of the sum at n = {n}, step {STEP:.5f}"

    def run():
        return sa.sum_law(MECHANISM, n=n, eps=level(n), step=STEP, context="numpy")

    run()
    record(benchmark, benchmark.pedantic(run, rounds=3, iterations=1), n)


@sizes
@pytest.mark.parametrize("context", ["numpy", "flint"])
def test_fft_at_one_percent(benchmark, n, context):
    benchmark.group = f"delta within 1 % at n = {n}, any lattice"

    def run():
        return sa.sum_law(MECHANISM, n=n, eps=level(n), gap=1e-2, context=context)

    run()
    record(benchmark, benchmark.pedantic(run, rounds=3, iterations=1), n)


def record(benchmark, found, n):
    truth = certified(n)
    assert found.lower <= truth * (1.0 + 1e-9)
    assert found.upper >= truth * (1.0 - 1e-9)
    benchmark.extra_info["relative error of the upper end"] = found.upper / truth - 1.0
    benchmark.extra_info["relative error of the lower end"] = 1.0 - found.lower / truth
    benchmark.extra_info["step"] = found.step
    benchmark.extra_info["lattice points"] = found.grid.size
