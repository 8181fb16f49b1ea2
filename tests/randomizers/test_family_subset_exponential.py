"""k-subset exponential mechanism: closed form in d, k for each s, and in binomials for a symbolic s."""

from fractions import Fraction

import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.pairs import pair_classes
from symamp.errors import ArgumentError
from symamp.formulas.normal_form import normal
from symamp.randomizers.families.subsets import SubsetExponential
from tests.oracle.convex_order import is_worse

SYMBOLIC = SubsetExponential(s=sa.Parameter("s", lower=sp.Integer(1), integer=True))
s, d, k, t = (SYMBOLIC["s"], SYMBOLIC["d"], SYMBOLIC["k"], sp.exp(SYMBOLIC["eps0"]))


def missed(sets, size=s):
    return sp.binomial(d - sets * size, k)


def total(size=s):
    return t * (missed(0) - missed(1, size)) + missed(1, size)


def test_components_by_hand():
    # 10 pairs out of 5: none avoids both sets of 2, 3 avoid one given set, so 4 meet both; total weight 3 * 7 + 3.
    found = SubsetExponential(s=2, d=5, k=2, eps0="log(3)").blanket()
    masses = {(c.ratio0, c.ratio1): c.mass for c in found.components}
    assert masses == {(3, 3): sp.Rational(1, 6), (3, 1): sp.Rational(1, 8), (1, 3): sp.Rational(1, 8)}


def test_total_variation_of_table_5():
    # Printed with a parenthesis missing: e^eps binom(d,k) - binom(d-s,k)) + binom(d-s,k).
    found = SYMBOLIC.variation_ratio()
    assert normal(found.beta - (t - 1) * (missed(1) - missed(2)) / total()) == 0
    assert (found.p, found.q) == (t, t)
    two = SubsetExponential(s=2).variation_ratio().beta
    assert normal(two - (t - 1) * (missed(1, 2) - missed(2, 2)) / total(2)) == 0


def test_closed_form_in_binomials():
    masses = {(c.ratio0, c.ratio1): c.mass for c in SYMBOLIC.blanket().components}
    expected = {
        (t, t): missed(0) - 2 * missed(1) + missed(2),
        (t, 1): missed(1) - missed(2),
        (1, t): missed(1) - missed(2),
        (1, 1): missed(2),
    }
    assert all(normal(masses[ratios] * total() - m) == 0 for ratios, m in expected.items())
    assert len(masses) == 4
    assert normal(SYMBOLIC.blanket().gamma - missed(0) / total()) == 0
    assert len(SYMBOLIC.verify(*SubsetExponential.small)) == len(SubsetExponential.small)


def test_one_item_is_subset_selection():
    family = sa.SubsetSelection(d=9, k=4)
    ours = SubsetExponential(s=1, d=9, k=4).blanket()
    assert ours.signature() == family.blanket().signature()


@pytest.mark.parametrize(("size", "options", "subset"), [(2, 4, 2), (2, 5, 2), (2, 6, 3)])
def test_a_disjoint_pair_is_worst(size, options, subset):
    member = SubsetExponential(s=size, d=options, k=subset, eps0="log(3)")
    for other in pair_classes(member.table()):
        assert is_worse(member.blanket(), other.decomposition, Fraction(4, 3))


def test_ranges_follow_s():
    assert SubsetExponential().at(s=1, d=2, k=1, eps0=1).blanket().gamma == normal(2 / (1 + sp.E))
    for sizes in ({"s": 2, "d": 3}, {"s": 2, "d": 6, "k": 5}, {"s": 0}):
        with pytest.raises(ArgumentError):
            SubsetExponential(**sizes)


@pytest.mark.slow
def test_large_sizes():
    assert sa.epsilon(SubsetExponential(s=8, d=10**4, k=200, eps0=1), n=10**6, delta="1e-8", gap=1e-3).upper < 0.02
