"""The Hadamard families: closed forms for finite sizes, a misprint, and dependent rows."""

from itertools import combinations

import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.blanket import blanket, triple
from symamp.decompositions.pairs import pair_classes
from symamp.errors import ArgumentError
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.families.count_mean_sketch import HadamardCountMeanSketch
from symamp.randomizers.families.hadamard import BlockHadamardResponse, HadamardResponse, sylvester

t = sp.exp(EPS0.symbol)
K, B, b, k, m = sp.symbols("K B b k m", integer=True)
PRINTED = {(t, 1): 1 / (2 * (t + 1)), (1, t): 1 / (2 * (t + 1)), (t, t): 1 / (2 * (t + 1)), (1, 1): 1 / (2 * (t + 1))}
"""Su, Cheng, Wang 2025, Table 2."""


def masses(decomposition):
    return {(c.ratio0, c.ratio1): c.mass for c in decomposition.components}


def same(found, expected):
    return found.keys() == expected.keys() and all(normal(found[r] - expected[r]) == 0 for r in expected)


def test_all_rows_in_closed_form():
    d = HadamardResponse().blanket()
    expected = {
        (t, 1): 1 / (2 * (t + 1)),
        (1, t): 1 / (2 * (t + 1)),
        (t, t): 1 / (2 * (t + 1)) - 2 / (K * (t + 1)),
        (1, 1): 1 / (2 * (t + 1)) + 2 * t / (K * (t + 1)),
    }
    assert same(masses(d), expected)
    assert normal(d.gamma - 2 / (t + 1) - 2 * (t - 1) / (K * (t + 1))) == 0


def test_printed_row_is_the_limit_and_only_the_limit():
    found = masses(HadamardResponse().blanket())
    assert found.keys() == PRINTED.keys()
    differ = {r for r in PRINTED if normal(found[r] - PRINTED[r]) != 0}
    assert differ == {(t, t), (1, 1)}
    for ratios, mass in PRINTED.items():
        assert normal(sp.limit(found[ratios], K, sp.oo) - mass) == 0


def test_printed_row_misses_that_column_0_is_constant():
    table = HadamardResponse(K=8, eps0="log(3)").table()
    least = [min(column) for column in zip(*table.rows, strict=True)]
    assert least == [sp.Rational(3, 16), *[sp.Rational(1, 16)] * 7]
    assert sum(least) == sp.Rational(5, 8) != sp.Rational(2, 4)


def test_printed_row_is_not_that_of_all_rows_with_row_0_either():
    # With row 0 in use, its uniform law is the least in column 0; gamma is 9/16 and not 1/2 for K = 8, t = 3.
    rows = {str(x): [3 if entry > 0 else 1 for entry in row] for x, row in enumerate(sylvester(8))}
    table = sa.FiniteMechanism(
        {x: {str(y): sp.Rational(w, sum(row)) for y, w in enumerate(row)} for x, row in rows.items()}
    )
    assert blanket(table, ("1", "2")).gamma == sp.Rational(9, 16)


@pytest.mark.parametrize(("D", "sizes"), [(2, (4, 8)), (3, (4, 16)), (4, (8, 16)), (5, (8,)), (6, (8,)), (11, (16,))])
def test_first_rows_have_one_constant_column_for_each_pattern_of_unused_bits(D, sizes):
    family = HadamardResponse(D=D)
    family.verify(*({"K": size, "eps0": "log(3)"} for size in sizes))
    full = HadamardResponse().blanket().gamma.subs(K, 2 ** D.bit_length())
    assert normal(family.blanket().gamma - full) == 0


def test_all_rows_by_number_or_by_default():
    assert HadamardResponse(K=8, D=7).blanket() == HadamardResponse(K=8).blanket()
    assert HadamardResponse().at(K=8, D=5, eps0=1) == HadamardResponse(K=8, eps0=1, D=5)


@pytest.mark.parametrize(("size", "D"), [(4, None), (8, None), (16, None), (8, 5), (16, 9)])
def test_dependent_and_independent_rows(size, D):
    member = HadamardResponse(K=size, eps0="log(3)", D=D)
    table = member.table()
    for pair in combinations(member.inputs, 2):
        rest = [x for x in member.inputs if x not in pair]
        assert blanket(member, pair).signature() == blanket(table, pair).signature()
        for x, z in combinations([*rest, *pair], 2):
            weights = ((x, sp.Rational(1, 3)), (z, sp.Rational(2, 3)))
            assert triple(member, pair, weights).signature() == triple(table, pair, weights).signature()


def test_product_row_and_independent_row_are_different_classes():
    family = HadamardResponse(K=Parameter("K", lower=sp.Integer(8), integer=True))
    one = sp.Integer(1)
    assert family.further_inputs(("1", "2")) == ("3", "4")
    assert HadamardResponse().further_inputs(("1", "2")) == ("3",)
    product, independent = (triple(family, ("1", "2"), ((x, one),)) for x in ("3", "4"))
    assert len(product.components) == 4
    assert len(independent.components) == 7
    # The product row is +1 where the two rows agree: all others are least likely to hide where they differ.
    answer = sa.epsilon(HadamardResponse(K=16, eps0=1), n=10**6, delta="1e-8")
    assert str(answer.dataset) == "victim 1 against 2, everyone else holds 3"
    assert answer.upper < answer.lower * (1 + 1e-4)


@pytest.mark.parametrize(
    ("given", "name"),
    [({"K": 6}, "K"), ({"K": 2}, "K"), ({"K": 8, "D": 8}, "D"), ({"D": 1}, "D"), ({"D": K}, "D"), ({"D": 2.5}, "D")],
)
def test_hadamard_refuses(given, name):
    with pytest.raises(ArgumentError, match=f"^{name}:"):
        HadamardResponse(**given)


def test_blocks_in_closed_form():
    family = BlockHadamardResponse()
    # The number b of messages in a block drops out: the masses are those of randomized response on 2B options.
    different = blanket(family, ("0:1", "1:1"))
    options = sa.RandomizedResponse().blanket()
    assert same(masses(different), {r: mass.subs(k, 2 * B) for r, mass in masses(options).items()})
    total = t + 2 * B - 1
    same_block = {(t, 1): 1 / (2 * total), (1, t): 1 / (2 * total), (t, t): 1 / (2 * total)}
    same_block[1, 1] = (4 * B - 3) / (2 * total)
    assert same(masses(blanket(family, ("0:1", "0:2"))), same_block)
    assert len(pair_classes(family)) == 2


def test_different_blocks_are_worse():
    member = BlockHadamardResponse(B=4, b=16, eps0=1)
    answer = sa.epsilon(member, n=10**6, delta="1e-8")
    assert answer.pair in {("0:1", "1:1"), ("1:1", "0:1")}
    assert answer.lower < answer.upper < answer.lower * (1 + 1e-4)


def test_blocks_of_two_messages():
    family = BlockHadamardResponse(b=2)
    family.verify(*({"B": size, "eps0": "log(3)"} for size in (2, 3, 4)))
    assert family.pairs() == (("0:1", "1:1"),)
    assert family.blanket().gamma == BlockHadamardResponse().blanket("0:1", "1:1").gamma


@pytest.mark.parametrize("given", [{"B": 1}, {"b": 6}, {"b": 1}])
def test_blocks_refuse(given):
    with pytest.raises(ArgumentError):
        BlockHadamardResponse(**given)


def test_total_variations_of_2023():
    # Wang 2023, Table 1 (one block, s = K/2) and Table 5 (B > 1 blocks, s = b/2, K = B*b).
    s = K / 2
    assert normal(HadamardResponse().variation_ratio().beta - s * (t - 1) / 2 / (s * t + K - s)) == 0
    s = b / 2
    assert normal(BlockHadamardResponse().variation_ratio().beta - s * (t - 1) / (s * t + B * b - s)) == 0
    for family in (HadamardResponse(), BlockHadamardResponse(), HadamardCountMeanSketch()):
        assert family.variation_ratio().p == family.variation_ratio().q == t


def test_hadamard_count_mean_sketch_in_closed_form():
    d = HadamardCountMeanSketch().blanket()
    expected = {
        (t, 1): 1 / (2 * (t + 1)),
        (1, t): 1 / (2 * (t + 1)),
        (t, t): 1 / (2 * (t + 1)) - 1 / (m * (t + 1)),
        (1, 1): 1 / (2 * (t + 1)) + t / (m * (t + 1)),
    }
    assert same(masses(d), expected)
    assert normal(d.gamma - 2 / (t + 1) - (t - 1) / (m * (t + 1))) == 0
    with pytest.raises(ArgumentError, match="power of two"):
        HadamardCountMeanSketch(m=12)


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (HadamardResponse(K=16, eps0=1), HadamardResponse(K=2**20, eps0=1)),
        (HadamardResponse(K=16, D=9, eps0=1), HadamardResponse(K=2**40, D=10**9, eps0=1)),
        (BlockHadamardResponse(B=4, b=16, eps0=1), BlockHadamardResponse(B=2**10, b=2**20, eps0=1)),
        (HadamardCountMeanSketch(k=16, m=16, eps0=1), HadamardCountMeanSketch(k=2**16, m=2**20, eps0=1)),
    ],
    ids=lambda f: f.slug,
)
def test_large_sizes_take_as_long_as_small_ones(small, large):
    for member in (small, large):
        answer = sa.epsilon(member, n=10**6, delta="1e-8", method="blanket")
        assert 0 < answer.lower < answer.upper < 0.01
    pairs = small.pairs()[0], large.pairs()[0]
    assert len(large.blanket(*pairs[1]).components) <= len(small.blanket(*pairs[0]).components) + 1
