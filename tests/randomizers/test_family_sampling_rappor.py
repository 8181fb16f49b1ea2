"""Sampling RAPPOR: closed forms for each s, and the total variation that Wang (2023) prints."""

from fractions import Fraction
from itertools import combinations, product

import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.pairs import pair_classes
from symamp.errors import ArgumentError
from symamp.formulas.normal_form import normal
from symamp.randomizers.families.sampling_rappor import SamplingRappor
from symamp.randomizers.families.unary_encoding import Rappor
from symamp.randomizers.finite import FiniteMechanism
from tests.oracle.convex_order import is_worse

a = sp.exp(sp.Symbol("eps0", real=True) / 2)


def printed(s, d, a):
    return sp.Integer(s) * (a - 1) / (d * (a + 1))


def largest_variation(table):
    return max(sum(abs(p - q) for p, q in zip(x, z, strict=True)) / 2 for x in table.rows for z in table.rows)


def test_components_by_hand():
    # Bits without items are 1 with probability 1/4; densities 1/3, 5/3, 3 for 0, 1, 2 ones on a set.
    found = SamplingRappor(s=2, d=4, eps0="log(9)").blanket()
    masses = {(c.ratio0, c.ratio1): c.mass * 256 for c in found.components}
    half, mixed = sp.Integer(5), sp.Rational(9, 5)
    one_way = {(9, 1): 3, (half, 1): 18, (mixed, 1): 10}
    assert masses == {(1, 1): 30, (half, half): 12, **one_way, **{(y, x): m for (x, y), m in one_way.items()}}


def test_one_item_is_rappor():
    ours, theirs = SamplingRappor(s=1).blanket(), Rappor().blanket()
    size = theirs.parameters[0].symbol
    found = {(c.ratio0, c.ratio1): c.mass for c in ours.components}
    expected = {(c.ratio0, c.ratio1): c.mass.subs(size, sp.Symbol("d", integer=True)) for c in theirs.components}
    assert found.keys() == expected.keys()
    assert all(normal(found[r] - expected[r]) == 0 for r in found)


def test_total_variation_in_closed_form():
    closed = {
        1: (a - 1) / (a + 1),
        2: (a - 1) * (a**2 + a + 1) / (a + 1) ** 3,
        3: (a - 1) * (a**4 + 2 * a**3 + 4 * a**2 + 2 * a + 1) / (a + 1) ** 5,
    }
    for s, beta in closed.items():
        found = SamplingRappor(s=s).variation_ratio()
        assert normal(found.beta - beta) == 0
        assert (found.p, found.q) == (a**2, a**2)


@pytest.mark.parametrize(("s", "d"), [(1, 3), (2, 4), (2, 5), (3, 6)])
def test_total_variation_of_all_pairs(s, d):
    member = SamplingRappor(s=s, d=d, eps0="log(9)")
    assert largest_variation(member.table()) == member.variation_ratio().beta


def test_printed_total_variation_is_refuted():
    # Wang (2023), Table 1 divides by d. With one item the mechanism is RAPPOR, whose row there says (a-1)/(a+1).
    member = SamplingRappor(s=1, d=2, eps0="log(9)")
    assert (largest_variation(member.table()), printed(1, 2, 3)) == (sp.Rational(1, 2), sp.Rational(1, 4))
    member = SamplingRappor(s=2, d=5, eps0="log(9)")
    assert (largest_variation(member.table()), printed(2, 5, 3)) == (sp.Rational(13, 32), sp.Rational(1, 5))


def test_other_readings_of_the_printed_formula():
    """Drawing one of all d options gives the printed value with one item only, and less with more."""
    keep = sp.Rational(3, 4)

    def rappor(item, y):
        return sp.Mul(*(keep if bit == (i == item) else 1 - keep for i, bit in enumerate(y)))

    def drawn(s, d):
        rows = {
            str(x): {
                str(y): sum(rappor(j if j in x else None, y) for j in range(d)) / d for y in product((0, 1), repeat=d)
            }
            for x in combinations(range(d), s)
        }
        return FiniteMechanism(rows)

    assert largest_variation(drawn(1, 3)) == printed(1, 3, 3)
    assert largest_variation(drawn(2, 4)) == sp.Rational(2, 4) * sp.Rational(13, 32) < printed(2, 4, 3)
    # (j, bit of option j through randomized response with eps0/2): twice the printed value for disjoint sets.
    bits = {
        str(x): {f"{j}{b}": (keep if b == (j in x) else 1 - keep) / 4 for j in range(4) for b in (0, 1)}
        for x in combinations(range(4), 2)
    }
    assert largest_variation(FiniteMechanism(bits)) == 2 * printed(2, 4, 3)


@pytest.mark.parametrize(("s", "d"), [(2, 4), (2, 5)])
def test_a_disjoint_pair_is_worst(s, d):
    member = SamplingRappor(s=s, d=d, eps0="log(9)")
    for other in pair_classes(member.table()):
        assert is_worse(member.blanket(), other.decomposition, Fraction(4, 3))


def test_s_is_a_number():
    with pytest.raises(ArgumentError, match="s:"):
        SamplingRappor(s=sa.Parameter("s", lower=sp.Integer(1), integer=True))
    assert SamplingRappor().at(s=1, d=2, eps0="log(9)").blanket().gamma == sp.Rational(1, 2)
    with pytest.raises(ArgumentError):
        SamplingRappor().at(s=3, d=5)


@pytest.mark.slow
def test_large_sizes():
    assert 0 < sa.epsilon(SamplingRappor(s=3, d=1000, eps0=1), n=10**6, delta="1e-8", gap=1e-3).upper < 0.01
