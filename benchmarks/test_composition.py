"""Many rounds: the certified bracket beside two other accountants, in one run."""

import pytest

import symamp as sa
from benchmarks import accountants

MECHANISM, N, DELTA = sa.RandomizedResponse(k=10, eps0=1), 10**6, "1e-8"
COUNTS = [pytest.param(10**e, id=f"T=1e{e}") for e in (1, 2, 4)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.benchmark(group="many rounds, width 3e-4, both sides")
def test_bracket(benchmark, count):
    def asked():
        return sa.profile(MECHANISM, n=N, method="blanket").rounds(count).epsilon(DELTA)

    found = benchmark(asked)
    assert found.gap < 4e-4
    benchmark.extra_info["lower, upper"] = (found.lower, found.upper)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.benchmark(group="many rounds, width 3e-4, both sides")
def test_dp_accounting(benchmark, count):
    pytest.importorskip("dp_accounting")
    truth = sa.profile(MECHANISM, n=N, method="blanket").rounds(count).epsilon(DELTA)

    def asked():
        one = sa.profile(MECHANISM, n=N, method="blanket").to_dp_accounting(interval=2e-5)
        return one.self_compose(count).get_epsilon_for_delta(float(DELTA))

    found = benchmark(asked)
    assert truth.lower <= found
    benchmark.extra_info["upper, above the bracket by"] = (found, found / truth.upper - 1.0)


@pytest.mark.parametrize("count", [16, 128])
@pytest.mark.parametrize("call", [accountants.by_symamp, accountants.by_dp_accounting, accountants.by_koskela])
@pytest.mark.benchmark(group="every randomizer with budget 4, 10^4 users, delta = 1e-6")
def test_accountants(benchmark, call, count):
    if call is accountants.by_dp_accounting:
        pytest.importorskip("dp_accounting")
    found, bracket = benchmark(call, count), accountants.generic().rounds(count).epsilon(accountants.DELTA)
    assert abs(found / bracket.upper - 1.0) < 1e-3
    benchmark.extra_info["eps"] = found
