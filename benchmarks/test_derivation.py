"""The derivation from a description to formulas, with nothing remembered from an earlier one."""

import sys

import pytest
from sympy.core.cache import clear_cache

import symamp as sa
from symamp.decompositions.pairs import pair_classes
from symamp.randomizers.catalogue import catalogue


def forget(part: str = "symamp."):
    """Empty every cache of symamp, or of a part of it."""
    for name, module in list(sys.modules.items()):
        if name.startswith(part):
            for value in vars(module).values():
                if callable(value) and hasattr(value, "cache_clear"):
                    value.cache_clear()


def forget_everything():
    """Empty SymPy's own caches too: what the very first derivation costs."""
    forget()
    clear_cache()


def forget_derivations():
    """Empty the caches of the derivation and of SymPy: finding the families is not part of a derivation."""
    forget("symamp.decompositions")
    clear_cache()


def table(k: int) -> dict[str, dict[str, str]]:
    return {
        f"x{i}": {f"y{j}": f"{'exp(eps0)' if i == j else '1'}/(exp(eps0) + {k - 1})" for j in range(k)}
        for i in range(k)
    }


STATES = [pytest.param(forget, id="caches of symamp empty"), pytest.param(forget_everything, id="all caches empty")]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.benchmark(group="k-ary randomized response, k and eps0 symbols: blanket")
def test_symbolic_blanket(benchmark, state):
    found = benchmark.pedantic(lambda: sa.RandomizedResponse().blanket(), setup=state, rounds=7)
    assert str(found.gamma) == "k/(k + exp(eps0) - 1)"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.benchmark(group="10 x 10 table in eps0: parse, check, one blanket")
def test_table_one_pair(benchmark, state):
    found = benchmark.pedantic(lambda: sa.FiniteMechanism(table(10)).blanket("x0", "x1"), setup=state, rounds=5)
    assert len(found.components) == 3


@pytest.mark.parametrize("state", STATES)
@pytest.mark.benchmark(group="10 x 10 table in eps0: parse, check, all 90 ordered pairs")
def test_table_all_pairs(benchmark, state):
    found = benchmark.pedantic(lambda: pair_classes(sa.FiniteMechanism(table(10))), setup=state, rounds=5)
    assert len(found) == 1


@pytest.mark.parametrize("slug", list(catalogue()))
@pytest.mark.benchmark(group="every family, all sizes symbols: blanket, gamma, local budget, shuffle index")
def test_every_family(benchmark, slug):
    def derive():
        family = catalogue()[slug]()
        return family.blanket(*family.pairs()[0]).gamma, family.local_epsilon(), family.shuffle_index()

    benchmark.pedantic(derive, setup=forget_derivations, rounds=3)
