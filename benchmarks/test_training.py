"""Training whose batches are drawn at random: certified brackets beside dp_accounting, in one run."""

import pytest

import symamp as sa
from symamp.training import rounds

DELTA = "1e-6"
CASES = [pytest.param(s, t, id=f"sigma={s},t={t}") for s, t in ((1, 1000), (2, 1000), (1, 10_000))]


def forget():
    rounds._lines.cache_clear()


@pytest.mark.parametrize(("sigma", "steps"), CASES)
@pytest.mark.benchmark(group="one epoch of random allocation")
def test_both_directions(benchmark, sigma, steps):
    noise = sa.training.GaussianStep(sigma=sigma)

    def asked():
        return sa.training.random_allocation(noise=noise, steps=steps, neighbours="add_remove").epsilon(DELTA)

    found = benchmark.pedantic(asked, setup=forget, rounds=3)
    assert found.gap < 1e-10
    benchmark.extra_info["directions"] = found.directions


@pytest.mark.parametrize("epochs", [10, 100])
@pytest.mark.benchmark(group="many epochs of random allocation, sigma = 1, t = 1000")
def test_epochs(benchmark, epochs):
    noise = sa.training.GaussianStep(sigma=1)

    def asked():
        return sa.training.random_allocation(noise=noise, steps=1000, epochs=epochs, neighbours="add_remove").epsilon(
            DELTA
        )

    found = benchmark.pedantic(asked, setup=forget, rounds=2)
    assert found.gap < 1e-3
    benchmark.extra_info["directions"] = found.directions


@pytest.mark.parametrize(("sigma", "steps"), CASES)
@pytest.mark.benchmark(group="one epoch of Poisson sampling")
def test_poisson_by_dp_accounting(benchmark, sigma, steps):
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    def asked():
        one = pld.from_gaussian_mechanism(float(sigma), sampling_prob=1.0 / steps)
        return one.self_compose(steps).get_epsilon_for_delta(float(DELTA))

    benchmark.extra_info["epsilon"] = benchmark.pedantic(asked, rounds=1)


@pytest.mark.parametrize(("sigma", "steps"), CASES)
@pytest.mark.benchmark(group="one epoch of Poisson sampling")
def test_poisson(benchmark, sigma, steps):
    noise = sa.training.GaussianStep(sigma=sigma)

    def asked():
        return sa.training.poisson(noise=noise, steps=steps, rate=f"1/{steps}", neighbours="add_remove").epsilon(DELTA)

    found = benchmark.pedantic(asked, rounds=1)
    benchmark.extra_info["directions"] = found.directions
