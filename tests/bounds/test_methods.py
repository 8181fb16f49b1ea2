"""The analyses against each other: order, proof status, and the counterexample that refutes one of them."""

from fractions import Fraction

import pytest
from flint import fmpq
from gallery import pages

import symamp as sa
from symamp.bounds.registry import BOUNDS
from symamp.randomizers.catalogue import catalogue, named
from symamp.sums.enumeration import exact_divergence
from tests.sampled import some

FAMILIES = list(catalogue().values())


def typical(family):
    budget = {"eps0": 1} if any(p.name == "eps0" for p in family.declared) else {}
    return family(**family.typical, **budget)


@pytest.mark.parametrize("family", some(FAMILIES, 14), ids=lambda f: f.slug)
def test_blanket_below_corrected_variation_ratio_below_generic(family):
    """Theorems A and B, as certified numbers: the lower end of the smaller one is not above the larger one."""
    member = typical(family)
    names = ("blanket", "variation_ratio", "generic", "standard_clone")
    deltas = {m: sa.delta(member, n=1000, eps="0.05", method=m, gap=1e-4).bound for m in names}
    assert deltas["blanket"].lower <= deltas["variation_ratio"].upper
    assert deltas["variation_ratio"].lower <= deltas["generic"].upper
    assert deltas["generic"].lower <= deltas["standard_clone"].upper


def test_the_counterexample_to_theorem_41_of_002():
    five = sa.RandomizedResponse(k=5, eps0="log(6)")
    e = fmpq(11, 2)

    def exact(method):
        return Fraction(str(exact_divergence(BOUNDS[method].bound(five).parts[0].law.rational, e, 4)))

    assert exact("blanket") == Fraction(27, 2500)
    assert exact("variation_ratio_2023") == Fraction(1, 20000)
    assert exact("variation_ratio") == Fraction(4913, 160000)
    assert exact("generic") == Fraction(108, 2401)
    refuted = sa.delta(five, n=4, eps="log(11/2)", method="variation_ratio_2023")
    assert refuted.proof_status is sa.ProofStatus.REFUTED
    assert refuted.claimed.upper < refuted.lower <= refuted.upper  # the bracket stays certified
    assert "WITHOUT GUARANTEE" in str(refuted)
    four = sa.RandomizedResponse(k=4, eps0="log(3)")
    printed = exact_divergence(BOUNDS["variation_ratio_2023"].bound(four).parts[0].law.rational, fmpq(13, 10), 6)
    assert printed == fmpq(4471, 46656)


def test_general_parameters_give_the_generic_bound():
    everything = sa.PureLDP(eps0=1)
    a = sa.delta(everything, n=1000, eps="0.1", method="variation_ratio")
    b = sa.delta(everything, n=1000, eps="0.1", method="generic")
    assert a.bound.lower <= b.bound.upper
    assert b.bound.lower <= a.bound.upper


@pytest.mark.parametrize(
    ("n", "eps"), some([(10, "log(3/2)"), (1000, "0.05"), (10**6, "0.003")], lambda case: case[0] < 10**6)
)
def test_independent_methods_overlap(n, eps):
    found = sa.method_check(sa.RandomizedResponse(k=4, eps0="log(3)"), n=n, eps=eps)
    assert {"compact kernel", "gaussian kernel"} <= set(found)
    answer = sa.delta(sa.RandomizedResponse(k=4, eps0="log(3)"), n=n, eps=eps)
    for interval in found.values():
        assert interval.lower <= answer.bound.upper
        assert answer.bound.lower <= interval.upper


@pytest.mark.slow
def test_every_named_mechanism_has_a_page():
    found = {name: text for name, text, _ in pages()}
    assert set(found) == {*named(), "index"}
    for slug, mechanism in named().items():
        assert found[slug].startswith(f"# {mechanism.name}\n")
        assert f"](../generated/of_{slug}.svg)" in found[slug]
        assert f"| [`{slug}`]({slug}.md) | {mechanism.name} |" in found["index"]
