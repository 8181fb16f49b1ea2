"""The bounds beyond the blanket: the envelope beside the blanket, all data sets for any n, and a default that stops."""

import pytest

import symamp as sa
from symamp.mechanisms.catalogue import by_name

SLUGS = ("hadamard-response", "local-hashing", "oue", "subset-selection")
MANY = [pytest.param(10**e, id=f"n=1e{e:02}") for e in (4, 8, 12)]


def asked(benchmark, mechanism, n, method=None):
    found = benchmark(sa.epsilon, mechanism, n=n, delta="1e-6", method=method)
    benchmark.extra_info["lower, upper"] = (found.lower, found.upper)
    return found


def member(slug, eps0=2):
    family = by_name(slug)
    return family(**family.typical, eps0=eps0)


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("method", ["blanket", "envelope"])
@pytest.mark.benchmark(group="blanket and envelope, n = 1e6")
def test_envelope_beside_blanket(benchmark, slug, method):
    asked(benchmark, member(slug), 10**6, method)


@pytest.mark.parametrize("n", MANY)
@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.benchmark(group="all data sets")
def test_all_data_sets(benchmark, slug, n):
    asked(benchmark, member(slug), n, "all_data_sets")


@pytest.mark.parametrize("n", MANY)
@pytest.mark.benchmark(group="default where the blanket suffices")
def test_default_where_the_blanket_suffices(benchmark, n):
    found = asked(benchmark, sa.RandomizedResponse(k=10, eps0=1), n)
    assert found.method == "blanket"


@pytest.mark.parametrize("n", MANY[:2])
@pytest.mark.benchmark(group="default for two messages")
def test_default_for_two_messages(benchmark, n):
    found = asked(benchmark, sa.RandomizedResponse(k=2, eps0=1), n)
    assert found.method == "two_messages"
