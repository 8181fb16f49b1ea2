"""Harmony and PrivKV: components by hand, printed formulas, and the worst pair of the tables."""

from fractions import Fraction

import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.pairs import pair_classes
from symamp.formulas.normal_form import normal
from symamp.randomizers.families.sampled_coordinate import Harmony, PrivKV
from tests.oracle.convex_order import is_worse

a = sp.exp(sp.Symbol("eps0", real=True) / 2)
DISJOINT, OPPOSITE = ("x0", "x1"), ("x0", "opposite")


def masses(decomposition):
    return {(c.ratio0, c.ratio1): c.mass for c in decomposition.components}


def printed_variation(s, d, a, b):
    """Table 5 for PrivKV, a = e^eps1 for the key, b = e^eps2 for the value."""
    return 2 * s * sp.Max(a * (b - 1) / (b + 1), a - 1 + (b - 1) / (2 * (b + 1))) / (d * (a + 1))


def test_harmony_is_binary_randomized_response():
    quarter = sp.Rational(1, 4)
    assert masses(Harmony(d=3, eps0="log(3)").blanket()) == {(3, 1): quarter, (1, 3): quarter}
    assert Harmony().blanket().signature() == sa.RandomizedResponse(k=2).blanket().signature()
    found = Harmony().variation_ratio()
    assert normal(found.beta - (a**2 - 1) / (a**2 + 1)) == 0
    assert (found.p, found.q) == (a**2, a**2)


def test_priv_kv_components_by_hand():
    # a = 3, two keys: ratios 3 and 1 on (j, 0), 9/2, 3/2 and 1 on (j, value).
    member = PrivKV(s=1, d=2, eps0="log(9)")
    high, low = sp.Rational(9, 2), sp.Rational(3, 2)
    one_way = {(3, 1): sp.Rational(1, 8), (high, 1): sp.Rational(1, 16), (low, 1): sp.Rational(1, 16)}
    assert masses(member.blanket(*DISJOINT)) == {**one_way, **{(y, x): m for (x, y), m in one_way.items()}}
    sixteenth = sp.Rational(1, 16)
    assert masses(member.blanket(*OPPOSITE)) == {
        (high, low): sixteenth,
        (low, high): sixteenth,
        (3, 3): 2 * sixteenth,
        (1, 1): 4 * sixteenth,
    }


def test_priv_kv_total_variation():
    s, d = PrivKV()["s"], PrivKV()["d"]
    found = PrivKV().variation_ratio()
    assert normal(found.beta - 2 * s * (a - 1) / (d * (a + 1))) == 0
    # The budget eps1 + eps2 is not exhausted: the largest ratio is 2 e^eps1 e^eps2/(1 + e^eps2).
    assert normal(found.p - 2 * a**2 / (a + 1)) == normal(found.q - found.p) == 0


def test_priv_kv_printed_formulas_are_refuted():
    member = PrivKV(s=1, d=2, eps0="log(9)")
    rows = member.table().rows
    largest = max(sum(abs(p - q) for p, q in zip(x, z, strict=True)) / 2 for x in rows for z in rows)
    assert largest == member.variation_ratio().beta == sp.Rational(1, 2)
    assert printed_variation(1, 2, sp.Integer(3), sp.Integer(3)) == sp.Rational(9, 16)
    assert sp.exp(member.table().local_epsilon()) == sp.Rational(9, 2)  # printed: e^eps = 9
    # The printed value of the other pair, same keys and opposite values, is twice the true one.
    orbits = member.orbits(OPPOSITE)
    assert sum(abs(o.mass(0) - o.mass(1)) for o in orbits) / 2 == sp.Rational(3, 16)


def test_priv_kv_disjoint_keys_are_worse():
    member = PrivKV(s=2, d=5, eps0="log(9)")
    disjoint, opposite = (member.blanket(*pair) for pair in (DISJOINT, OPPOSITE))
    for E in (Fraction(21, 20), Fraction(3, 2)):
        assert is_worse(disjoint, opposite, E)
    assert sa.epsilon(member, n=10**5, delta="1e-8", gap=1e-3).pair == DISJOINT


@pytest.mark.parametrize(
    "member", [PrivKV(s=1, d=3, eps0="log(9)"), PrivKV(s=2, d=4, eps0="log(9)"), Harmony(d=2, eps0="log(3)")], ids=str
)
def test_the_first_pair_is_the_worst_of_the_table(member):
    worst = member.blanket(*DISJOINT)
    for other in pair_classes(member.table()):
        assert is_worse(worst, other.decomposition, Fraction(4, 3))


def test_priv_kv_third_set_of_keys_if_there_is_room():
    assert PrivKV(s=2, d=6, eps0=1).further_inputs(DISJOINT) == ("opposite", "opposite1", "x2")
    assert PrivKV(s=2, d=5, eps0=1).further_inputs(DISJOINT) == ("opposite", "opposite1")
    assert PrivKV().further_inputs(OPPOSITE) == ("x1", "opposite1")


def test_large_sizes():
    one, two = (
        sa.epsilon(PrivKV(s=s, d=64 * s, eps0=1), n=10**6, delta="1e-8", gap=1e-3, method="blanket") for s in (1, 1000)
    )
    assert one.upper == two.upper > 0
