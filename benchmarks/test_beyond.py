"""The bounds beyond the blanket: the envelope beside the blanket, all data sets for any n, and a default that stops."""

from fractions import Fraction
from itertools import count
from statistics import median
from time import process_time

import pytest

import symamp as sa
from symamp.errors import SymampError
from symamp.randomizers.catalogue import by_name, catalogue

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


# ------------------------------------------------------------------------------------------ the whole catalogue at once

_FRESH = count(1)


def seconds(mechanism, n, method=None):
    """The least CPU time of three questions not asked before, delta about 0.01/n; inf where the method is refused."""
    found = []
    for _ in range(3):
        delta, started = f"1.{next(_FRESH):04d}e-{len(str(n)) + 1}", process_time()
        try:
            sa.epsilon(mechanism, n=n, delta=delta, method=method)
        except SymampError:
            return float("inf")
        found.append(process_time() - started)
    return min(found)


def members(budgets=(1, 4)):
    for slug, cls in sorted(catalogue().items()):
        if any(p.name == "eps0" for p in cls.declared):
            yield from ((f"{slug}, eps0 = {eps0}", cls(**cls.typical, eps0=eps0)) for eps0 in budgets)


def record(benchmark, figures):
    """Keep the median of what a function returns by name, and the worst."""
    found = benchmark.pedantic(figures, rounds=1)
    worst = max(found, key=lambda name: found[name])
    benchmark.extra_info |= {"median": median(found.values()), "worst": (worst, found[worst]), "asked": len(found)}


@pytest.mark.parametrize("n", MANY)
@pytest.mark.benchmark(group="catalogue: envelope over blanket")
def test_envelope_over_blanket(benchmark, n):
    def ratios():
        both = {name: [seconds(m, n, method) for method in ("blanket", "envelope")] for name, m in members()}
        return {name: envelope / blanket for name, (blanket, envelope) in both.items() if envelope < float("inf")}

    record(benchmark, ratios)


@pytest.mark.parametrize("n", MANY)
@pytest.mark.benchmark(group="catalogue: all data sets")
def test_all_data_sets_of_the_catalogue(benchmark, n):
    def times():
        found = {name: seconds(m, n, "all_data_sets") for name, m in members()}
        return {name: t for name, t in found.items() if t < float("inf")}

    record(benchmark, times)


@pytest.mark.parametrize("n", MANY)
@pytest.mark.benchmark(group="catalogue: default where the blanket meets the lower bound within 1e-3")
def test_default_of_the_catalogue_where_the_blanket_suffices(benchmark, n):
    def times():
        found = {}
        for name, m in members():
            blanket = sa.epsilon(m, n=n, delta="1e-6", method="blanket")
            if blanket.upper <= 1.001 * blanket.lower:
                found[name] = seconds(m, n)
        return found

    record(benchmark, times)


@pytest.mark.parametrize(
    ("slug", "sizes", "eps0", "n"),
    [
        ("local-hashing", {"l": 2, "D": 16}, 4, 10**3),
        ("local-hashing", {"l": 2, "D": 16}, 6, 10**4),
        ("local-hashing", {"l": 2, "D": 16}, 8, 10**5),
        ("d-bit-flip", {"k": 16, "d": 4}, 8, 10**3),
        ("block-hadamard", {"B": 4, "b": 4}, 8, 10**4),
    ],
)
@pytest.mark.benchmark(group="few messages tell the inputs apart")
def test_few_messages_tell_the_inputs_apart(benchmark, slug, sizes, eps0, n):
    mechanism = by_name(slug)(**sizes, eps0=eps0)
    benchmark.extra_info["CPU seconds"] = benchmark.pedantic(lambda: seconds(mechanism, n, "all_data_sets"), rounds=1)


@pytest.mark.parametrize("method", [None, "all_data_sets"])
@pytest.mark.benchmark(group="a table of 64 inputs")
def test_a_table_of_64_inputs(benchmark, method):
    share = Fraction(10, 11)
    weights = [[share ** abs(x - y) for y in range(64)] for x in range(64)]
    rows = {f"x{x}": {str(y): w / sum(row) for y, w in enumerate(row)} for x, row in enumerate(weights)}
    benchmark.extra_info["CPU seconds"] = benchmark.pedantic(
        lambda: seconds(sa.FiniteMechanism(rows), 10**4, method), rounds=1
    )
