"""One question at three sizes: the whole certified answer, one estimate in floats, one enclosure in balls."""

import pytest

import symamp as sa
from benchmarks.cases import DELTAS, MECHANISM, answer, blanket_law, level
from symamp.sums.divergence import enclose_divergence, estimate_log_divergence

SIZES = [pytest.param(10**e, id=f"n=1e{e:02}") for e in (4, 8, 12)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.benchmark(group="certified epsilon, after import")
def test_certified_epsilon(benchmark, n):
    expected = answer(n)
    found = benchmark(sa.epsilon, MECHANISM, n=n, delta=DELTAS[n])
    assert (found.lower, found.upper) == (expected.lower, expected.upper)
    benchmark.extra_info["lower, upper"] = (found.lower, found.upper)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.benchmark(group="delta estimated in floats")
def test_estimated_delta(benchmark, n):
    benchmark(estimate_log_divergence, blanket_law(), level(n), n)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.benchmark(group="delta enclosed in balls")
def test_enclosed_delta(benchmark, n):
    found = benchmark(enclose_divergence, blanket_law(), level(n), n)
    assert found.plan is not None
    benchmark.extra_info["relative gap"] = found.relative_gap
    benchmark.extra_info["frequencies evaluated"] = found.plan.blocks.evaluations
    benchmark.extra_info["blocks dropped"] = len(found.plan.blocks.dropped)
    benchmark.extra_info["frequencies in all"] = found.plan.terms - 1
    benchmark.extra_info["bits"] = found.precision
