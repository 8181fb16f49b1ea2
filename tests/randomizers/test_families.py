"""Every family of the catalogue: closed forms against explicit tables, and the contract of a description."""

import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.checks import check_probabilities
from symamp.formulas.normal_form import normal
from symamp.randomizers.catalogue import catalogue
from tests.sampled import some

FAMILIES = list(catalogue().values())


@pytest.mark.parametrize("sizes", [3, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.slug)
def test_closed_forms_agree_with_tables(family, sizes):
    assert len(family.small) >= 5
    assert len(family().verify(*family.small[:sizes])) == (sizes or len(family.small))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.slug)
def test_symbolic_description_is_a_randomizer(family):
    symbolic = family()
    check_probabilities(symbolic)
    for pair in symbolic.pairs():
        d = symbolic.blanket(*pair)
        for ratio in (0, 1):
            total = sp.Add(*(c.mass * c[ratio] for c in d.components), *(s[ratio] for s in d.singular))
            assert normal(total) == 1
    assert symbolic.source
    assert symbolic.local_epsilon() is not None


@pytest.mark.parametrize("family", some(FAMILIES, 7), ids=lambda f: f.slug)
def test_large_sizes_cost_no_more(family):
    member = family(**{**family.typical, **({"eps0": 1} if "eps0" in {p.name for p in family.declared} else {})})
    answer = sa.epsilon(member, n=10**6, delta="1e-8", gap=1e-4)
    assert 0 < answer.lower <= answer.upper < 1


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.exponents], ids=lambda f: f.slug)
def test_large_exponents_are_not_multiplied_out(family):
    """A large size is put into the closed form: same components as the exact expansion at a size where both work."""
    (name,) = family.exponents
    budget = {"eps0": "log(9)"} if "eps0" in {p.name for p in family.declared} else {}
    sizes = {**family.typical, **({"k": 100} if family.slug == "d-bit-flip" else {})}
    member = family(**{**sizes, name: 30, **budget})
    assert member.general()[1]
    closed = {(c.ratio0, c.ratio1): c.mass for c in member.blanket(*member.pairs()[0]).components}
    expanded = type(member).orbits.__wrapped__  # at this size itself, nothing put in afterwards
    orbits = expanded(member, member.pairs()[0])
    for orbit, put_in in zip(orbits, member.orbits(member.pairs()[0]), strict=True):
        assert orbit.measure >= 0
        assert all(normal(orbit.mass(i) - put_in.mass(i)) == 0 for i in (0, 1))
    masses = sum(
        normal(o.measure * min(normal(d) for d in [*o.density, *(r for r, k in o.rest if k is None or k >= 1)]))
        for o in orbits
    )
    assert normal(sum(closed.values()) - masses) == 0
    for size in (10**3, 10**4):
        large = family(**{**sizes, **({"k": 10**5} if family.slug == "d-bit-flip" else {}), name: size, **budget})
        assert sa.delta(large, n=10**5, eps="0.1", gap=1e-3).upper < 1
    largest = family(**{**sizes, **({"k": 10**18} if family.slug == "d-bit-flip" else {}), name: 10**18, **budget})
    assert len(largest.orbits(largest.pairs()[0])) == len(orbits)


def test_partly_fixed_members_keep_their_ranges():
    assert sa.SubsetSelection(d=5).blanket().gamma == sa.SubsetSelection().at(d=5).blanket().gamma
    with pytest.raises(sa.errors.ArgumentError, match="k: got 9"):
        sa.SubsetSelection().at(d=5, k=9)
