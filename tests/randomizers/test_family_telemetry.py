"""Mechanisms in deployment (1-bit mean, dBitFlip, Apple's CMS) and the exponential mechanism."""

from fractions import Fraction

import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.blanket import blanket
from symamp.errors import ArgumentError
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0
from symamp.randomizers.families.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from symamp.randomizers.families.randomized_response import ExponentialMechanism
from symamp.randomizers.families.unary_encoding import DBitFlip, Rappor
from symamp.randomizers.families.windows import OneBitMean
from tests.oracle.convex_order import is_worse

e = EPS0.symbol
t, s = sp.exp(e), sp.exp(e / 2)
k, d, m, D = sp.symbols("k d m D", integer=True)


def masses(decomposition, swap=()):
    return {(c.ratio0.subs(swap), c.ratio1.subs(swap)): normal(c.mass.subs(swap)) for c in decomposition.components}


def test_one_bit_mean_is_binary_randomized_response():
    assert masses(OneBitMean().blanket()) == masses(sa.RandomizedResponse(k=2).blanket())
    assert OneBitMean().variation_ratio() == (t, normal((t - 1) / (t + 1)), t)


@pytest.mark.parametrize("E", [Fraction(1), Fraction(5, 3), Fraction(8, 3)])
def test_end_points_are_the_worst_pair_of_the_one_bit_mean(E):
    table = OneBitMean(eps0="log(3)").table()
    assert len(table.inputs) > 10
    worst = blanket(table, ("0", "1"))
    assert all(is_worse(worst, blanket(table, pair), E) for pair in table.pairs())


def test_d_bit_flip_in_closed_form():
    blanket_ = DBitFlip().blanket()
    # 1/s unless all d bits of the message are 1
    assert normal(blanket_.gamma - (1 / s + (1 - 1 / s) * (s + 1) ** -d)) == 0
    found = masses(blanket_)
    both = d * (d - 1) / (k * (k - 1))
    one = d * (k - d) / (k * (k - 1))
    assert normal(found[t, 1] - both / (s + 1) ** 2) == 0
    assert normal(found[s, 1] - one * (1 / (s + 1) ** d + 1 / (s + 1))) == 0
    assert normal(found[t, s] - one * (1 / (s + 1) - 1 / (s + 1) ** d) / s) == 0
    assert len(found) == 9
    # The total variation: one input drawn, or both with different bits
    beta = (s - 1) / (s + 1) * (2 * one + both)
    assert normal(DBitFlip().variation_ratio().beta - beta) == 0


def test_d_bit_flip_with_one_or_all_buckets():
    one = DBitFlip(d=1)
    one.verify(*({"k": size, "eps0": "log(9)"} for size in (2, 3, 4, 5)))
    assert one.local_epsilon() == e / 2
    assert one.variation_ratio().p == s
    for size in (2, 3, 4):
        every = DBitFlip(k=size, d=size)
        every.verify({"eps0": "log(9)"})
        assert every.blanket().signature() == Rappor(D=size).blanket().signature()


def test_d_bit_flip_ranges():
    for partly in (DBitFlip(k=6), DBitFlip(d=3), DBitFlip().at(k=6), DBitFlip().at(d=3)):
        member = partly.at(k=6) if partly["k"] == k else partly.at(d=3)
        assert normal(partly.blanket().gamma.subs({k: 6, d: 3}) - member.blanket().gamma) == 0
    for given in ({"k": 4, "d": 5}, {"d": 0}, {"k": 1}, {"k": 2}):
        with pytest.raises(ArgumentError):
            DBitFlip(**given)


def test_count_mean_sketch_is_rappor_on_the_hash_values():
    assert masses(CountMeanSketch().blanket()) == masses(Rappor().blanket(), {D: m})
    assert CountMeanSketch().variation_ratio().beta == Rappor().variation_ratio().beta


@pytest.mark.parametrize(
    "member", [CountMeanSketch(k=2, m=4, eps0="log(9)"), HadamardCountMeanSketch(k=3, m=4, eps0="log(3)")]
)
@pytest.mark.parametrize("E", [Fraction(1), Fraction(4, 3), Fraction(5, 2)])
def test_collisions_only_help(member, E):
    # In the tables, x_a and z_b collide under one hash function or none.
    table = member.table()
    worst = member.blanket()
    found = [blanket(table, (x, z)) for x in ("x0", "x1") for z in table.inputs if z != x]
    assert any(other.signature() != worst.signature() for other in found)
    assert all(is_worse(worst, other, E) for other in found)


def test_exponential_mechanism_wastes_half_its_budget():
    family = ExponentialMechanism()
    assert family.local_epsilon() == e / 2
    assert masses(family.blanket()) == masses(sa.RandomizedResponse().blanket(), {e: e / 2})
    # Wang 2023, Table 1, general randomized response at half the budget
    assert normal(family.variation_ratio().beta - (s - 1) / (s + k - 1)) == 0
    half = sa.epsilon(sa.RandomizedResponse(k=10, eps0="1/2"), n=10**4, delta=1e-6)
    assert sa.epsilon(ExponentialMechanism(k=10, eps0=1), n=10**4, delta=1e-6).upper == pytest.approx(half.upper)


@pytest.mark.parametrize(
    "member",
    [
        ExponentialMechanism(k=10**6, eps0=1),
        DBitFlip(k=10**6, d=16, eps0=1),
        CountMeanSketch(k=2**16, m=16, eps0=1),
        OneBitMean(eps0=4),
    ],
    ids=lambda f: f.slug,
)
def test_certified_at_large_sizes(member):
    answer = sa.epsilon(member, n=10**6, delta="1e-8", gap=1e-4)
    assert 0 <= answer.lower <= answer.upper < 0.1
