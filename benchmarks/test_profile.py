"""Questions to one profile: a second one, a curve of 200 points, and how often anything is evaluated."""

from collections import Counter
from itertools import count

import numpy as np
import pytest

import symamp as sa
from tests.evaluations import counted

N = 10**6
RAPPOR = sa.UnaryEncoding.rappor(D=16, eps0=1)
KRR = sa.RandomizedResponse(k=10, eps0=1)


@pytest.mark.benchmark(group="a second question to a profile, n = 1e6")
@pytest.mark.parametrize("quantity", ["epsilon", "delta"])
def test_second_question(benchmark, quantity):
    profile, numbers = sa.profile(KRR, n=N), count(1)
    profile.epsilon("1e-8")
    profile.delta("0.002")

    def ask():
        i = next(numbers)  # never the same question: nothing is remembered
        return profile.epsilon(f"{i + 10}e-9") if quantity == "epsilon" else profile.delta(f"0.00{2000 + i}")

    with counted() as found:
        ask()
    benchmark.extra_info["evaluated"] = dict(Counter(key[0] for key in found.elements()))
    benchmark.extra_info["most often at one point"] = max(found.values())
    benchmark(ask)


@pytest.mark.benchmark(group="certified curve of 200 points, RAPPOR, D = 16, n = 1e6")
@pytest.mark.parametrize("method", ["blanket", None])
def test_curve(benchmark, method):
    grid = [float(x) for x in np.linspace(2e-4, 6e-3, 200)]

    def draw():
        with counted() as found:
            curve = sa.profile(RAPPOR, n=N, method=method).curve(eps=grid)
        return curve, found

    curve, found = benchmark.pedantic(draw, rounds=1)
    benchmark.extra_info["evaluated"] = dict(Counter(key[0] for key in found.elements()))
    benchmark.extra_info["most often at one point"] = max(found.values())
    benchmark.extra_info["upper/lower, largest"] = float((curve.upper / curve.lower).max())


@pytest.mark.benchmark(group="one delta of any eps0-LDP randomizer, n = 1e4")
def test_any_randomizer(benchmark):
    def ask():
        with counted() as found:
            sa.profile(sa.PureLDP(eps0=1), n=10**4, method="generic").delta("0.02")
        return found

    found = benchmark.pedantic(ask, rounds=1)
    benchmark.extra_info["evaluated"] = dict(Counter(key[0] for key in found.elements()))
    benchmark.extra_info["most often at one point"] = max(found.values())
