"""The vector mechanism of Duchi, Jordan, Wainwright: odd and even dimension, and the correction of the even one."""

from fractions import Fraction

import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.pairs import pair_classes
from symamp.errors import ArgumentError
from symamp.formulas.normal_form import normal
from symamp.randomizers.families.duchi_vector import CorrectedDuchiVector, DuchiVector, EvenDuchiVector
from tests.oracle.convex_order import is_worse

t = sp.exp(sp.Symbol("eps0", real=True))
PRINTED = (t - 1) / (t + 1)


def masses(decomposition):
    return {(c.ratio0, c.ratio1): c.mass for c in decomposition.components}


def largest_variation(table):
    return max(sum(abs(p - q) for p, q in zip(x, z, strict=True)) / 2 for x in table.rows for z in table.rows)


def test_odd_dimension_is_binary_randomized_response():
    quarter = sp.Rational(1, 4)
    assert masses(DuchiVector(m=2, eps0="log(3)").blanket()) == {(3, 1): quarter, (1, 3): quarter}
    assert DuchiVector().blanket().signature() == sa.RandomizedResponse(k=2).blanket().signature()
    found = DuchiVector().variation_ratio()
    assert normal(found.beta - PRINTED) == 0
    assert (found.p, found.q) == (t, t)


def test_even_dimension_by_hand():
    # d = 2, t = 3: two ties of probability 1/3 each, 1/4 where both signs agree with v, 1/12 where none does.
    member = EvenDuchiVector(m=1, eps0="log(3)")
    twelfth = sp.Rational(1, 12)
    assert masses(member.blanket("x0", "x2")) == {(3, 1): twelfth, (1, 3): twelfth, (4, 4): 2 * twelfth}
    assert masses(member.blanket("x0", "x1")) == dict.fromkeys([(3, 4), (4, 3), (4, 1), (1, 4)], twelfth)


def test_even_dimension_is_not_private_at_its_budget():
    """Ties belong to both sides, so their probability is t + 1 times the least: p = t is printed."""
    member = EvenDuchiVector(m=1, eps0="log(3)")
    assert sp.exp(member.table().local_epsilon()) == 4
    for m in (1, 2, 3):
        assert EvenDuchiVector(m=m).local_epsilon() == sp.log(t + 1)
        assert EvenDuchiVector(m=m).variation_ratio().p == t + 1


def test_even_dimension_total_variation():
    assert EvenDuchiVector(m=1).variation_ratio().beta == sp.Rational(1, 3)
    assert normal(EvenDuchiVector(m=2).variation_ratio().beta - (5 * t + 1) / (11 * (t + 1))) == 0
    # d = 2, t = 3/2: twice (and at eps0 -> 0 infinitely often) what is printed; at t = 3 less than that.
    member = EvenDuchiVector(m=1, eps0="log(3/2)")
    assert (largest_variation(member.table()), PRINTED.subs(t, sp.Rational(3, 2))) == (
        sp.Rational(1, 3),
        sp.Rational(1, 5),
    )
    assert largest_variation(EvenDuchiVector(m=1, eps0="log(3)").table()) == sp.Rational(1, 3) < PRINTED.subs(t, 3)


@pytest.mark.parametrize("m", [1, 2])
def test_even_dimension_lists_all_pairs_of_corners(m):
    member = EvenDuchiVector(m=m, eps0="log(3)")
    listed = {c.decomposition.signature() for c in pair_classes(member)}
    table = member.table()
    corners = [x for x in table.inputs if x != "average"]
    assert {table.blanket(x, z).signature() for x in corners for z in corners if x != z} == listed


def test_corrected_even_dimension():
    member = CorrectedDuchiVector(m=1, eps0="log(3)")
    sixth = sp.Rational(1, 6)
    assert masses(member.blanket()) == {(3, 1): sixth, (1, 3): sixth, (1, 1): 2 * sixth}
    assert CorrectedDuchiVector(m=3).local_epsilon() == sp.Symbol("eps0", real=True)
    # C = 5 of 16 corners lie strictly on one side.
    assert normal(CorrectedDuchiVector(m=2).variation_ratio().beta - 5 * (t - 1) / (5 * (t - 1) + 16)) == 0


@pytest.mark.parametrize("member", [DuchiVector(m=1, eps0="log(3)"), CorrectedDuchiVector(m=2, eps0="log(3)")], ids=str)
def test_opposite_corners_are_worst(member):
    for other in pair_classes(member.table()):
        assert is_worse(member.blanket(), other.decomposition, Fraction(4, 3))


def test_even_dimensions_are_numbers():
    for family in (EvenDuchiVector, CorrectedDuchiVector):
        with pytest.raises(ArgumentError, match="m:"):
            family(m=sa.Parameter("m", lower=sp.Integer(1), integer=True))


def test_members_can_be_evaluated():
    for member in (DuchiVector(m=50, eps0=1), CorrectedDuchiVector(m=50, eps0=1), EvenDuchiVector(m=2, eps0=1)):
        answer = sa.epsilon(member, n=10**5, delta="1e-6", gap=1e-3)
        assert 0 < answer.lower <= answer.upper < 1
