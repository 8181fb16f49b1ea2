"""Laws of families: by hand and as printed, the worst pair of their tables, ranges, large members. A row for each."""

from fractions import Fraction
from itertools import combinations, product

import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.blanket import blanket, triple
from symamp.decompositions.pairs import pair_classes
from symamp.errors import ArgumentError
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.families.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from symamp.randomizers.families.duchi_vector import CorrectedDuchiVector, DuchiVector, EvenDuchiVector
from symamp.randomizers.families.hadamard import BlockHadamardResponse, HadamardResponse, sylvester
from symamp.randomizers.families.priv_unit import PrivUnit
from symamp.randomizers.families.randomized_response import ExponentialMechanism
from symamp.randomizers.families.sampled_coordinate import Harmony, PrivKV
from symamp.randomizers.families.sampling_rappor import SamplingRappor
from symamp.randomizers.families.sparse import PCKVGRR, Collision, NarrowCollision, Wheel
from symamp.randomizers.families.subsets import SubsetExponential
from symamp.randomizers.families.unary_encoding import DBitFlip, Rappor
from symamp.randomizers.families.windows import OneBitMean
from tests.oracle.convex_order import is_worse

e = EPS0.symbol
t, a = sp.exp(e), sp.exp(e / 2)
K, B, b, k, m, d, D, l = sp.symbols("K B b k m d D l", integer=True)
DISJOINT, OPPOSITE = ("x0", "x1"), ("x0", "opposite")
SYMBOLIC = SubsetExponential(s=sa.Parameter("s", lower=sp.Integer(1), integer=True))
s = SYMBOLIC["s"]


def masses(decomposition, put=()):
    return {(c.ratio0.subs(put), c.ratio1.subs(put)): c.mass.subs(put) for c in decomposition.components}


def same(found, expected):
    return found.keys() == expected.keys() and all(normal(found[r] - expected[r]) == 0 for r in expected)


def either_way(high, low, mass):
    return {(high, low): mass, (low, high): mass}


def largest_variation(table):
    return max(sum(abs(p - q) for p, q in zip(x, z, strict=True)) / 2 for x in table.rows for z in table.rows)


def missed(sets, size=s):
    return sp.binomial(d - sets * size, k)


def weight(size=s):
    return t * (missed(0) - missed(1, size)) + missed(1, size)


# ------------------------------------------------------------------------------------------------ Components, by hand

HALF, MIXED, HIGH, LOW = sp.Integer(5), sp.Rational(9, 5), sp.Rational(9, 2), sp.Rational(3, 2)
BY_HAND = [
    (PrivUnit(c="1/4", eps0="log(3)"), {**either_way(3, 1, "1/6"), (1, 1): "1/3"}),
    (Wheel(s=2, p="1/8", eps0="log(3)"), {**either_way(3, 1, "1/6"), (1, 1): "1/3"}),
    (Collision(s=2, l=5, eps0="log(3)"), {**either_way(3, 1, "2/9"), (1, 1): "1/9"}),
    (NarrowCollision(s=3, l=4, eps0="log(3)"), {**either_way(3, 1, "1/10"), (3, 3): "1/5"}),
    (PCKVGRR(s=2, d=3, eps0="log(3)"), {**either_way(3, 1, "1/5"), (1, 1): "1/5"}),
    (Harmony(d=3, eps0="log(3)"), either_way(3, 1, "1/4")),
    (DuchiVector(m=2, eps0="log(3)"), either_way(3, 1, "1/4")),
    (CorrectedDuchiVector(m=1, eps0="log(3)"), {**either_way(3, 1, "1/6"), (1, 1): "1/3"}),
    # 10 pairs out of 5: none avoids both sets of 2, 3 avoid one given set, so 4 meet both; total weight 3 * 7 + 3.
    (SubsetExponential(s=2, d=5, k=2, eps0="log(3)"), {**either_way(3, 1, "1/8"), (3, 3): "1/6"}),
    (  # bits without items are 1 with probability 1/4; densities 1/3, 5/3, 3 for 0, 1, 2 ones on a set
        SamplingRappor(s=2, d=4, eps0="log(9)"),
        {
            (1, 1): "30/256",
            (HALF, HALF): "12/256",
            **either_way(9, 1, "3/256"),
            **either_way(HALF, 1, "18/256"),
            **either_way(MIXED, 1, "10/256"),
        },
    ),
    # a = 3, two keys: ratios 3 and 1 on (j, 0), 9/2, 3/2 and 1 on (j, value)
    (
        (PrivKV(s=1, d=2, eps0="log(9)"), DISJOINT),
        {**either_way(3, 1, "1/8"), **either_way(HIGH, 1, "1/16"), **either_way(LOW, 1, "1/16")},
    ),
    (
        (PrivKV(s=1, d=2, eps0="log(9)"), OPPOSITE),
        {**either_way(HIGH, LOW, "1/16"), (3, 3): "1/8", (1, 1): "1/4"},
    ),
    # d = 2, t = 3: two ties of probability 1/3 each, 1/4 where both signs agree with v, 1/12 where none does
    ((EvenDuchiVector(m=1, eps0="log(3)"), ("x0", "x2")), {**either_way(3, 1, "1/12"), (4, 4): "1/6"}),
    ((EvenDuchiVector(m=1, eps0="log(3)"), DISJOINT), {**either_way(3, 4, "1/12"), **either_way(4, 1, "1/12")}),
]


@pytest.mark.parametrize(("member", "by_hand"), BY_HAND, ids=lambda v: "" if isinstance(v, dict) else str(v))
def test_components_by_hand(member, by_hand):
    member, pair = member if isinstance(member, tuple) else (member, member.pairs()[0])
    assert masses(member.blanket(*pair)) == {ratios: sp.Rational(mass) for ratios, mass in by_hand.items()}


# --------------------------------------------------------------------------------------------------- Closed forms

IN_CLOSED_FORM = {
    "Hadamard response, all rows": (
        HadamardResponse().blanket,
        {
            **either_way(t, 1, 1 / (2 * (t + 1))),
            (t, t): 1 / (2 * (t + 1)) - 2 / (K * (t + 1)),
            (1, 1): 1 / (2 * (t + 1)) + 2 * t / (K * (t + 1)),
        },
        2 / (t + 1) + 2 * (t - 1) / (K * (t + 1)),
    ),
    "Hadamard count mean sketch": (
        HadamardCountMeanSketch().blanket,
        {
            **either_way(t, 1, 1 / (2 * (t + 1))),
            (t, t): 1 / (2 * (t + 1)) - 1 / (m * (t + 1)),
            (1, 1): 1 / (2 * (t + 1)) + t / (m * (t + 1)),
        },
        2 / (t + 1) + (t - 1) / (m * (t + 1)),
    ),
    # The number b of messages in a block drops out: the masses are those of randomized response on 2B options.
    "different blocks": (
        lambda: blanket(BlockHadamardResponse(), ("0:1", "1:1")),
        {r: mass.subs(k, 2 * B) for r, mass in masses(sa.RandomizedResponse().blanket()).items()},
        None,
    ),
    "the same block": (
        lambda: blanket(BlockHadamardResponse(), ("0:1", "0:2")),
        {
            **either_way(t, 1, 1 / (2 * (t + 2 * B - 1))),
            (t, t): 1 / (2 * (t + 2 * B - 1)),
            (1, 1): (4 * B - 3) / (2 * (t + 2 * B - 1)),
        },
        None,
    ),
    "subset exponential, in binomials": (
        SYMBOLIC.blanket,
        {
            (t, t): (missed(0) - 2 * missed(1) + missed(2)) / weight(),
            **either_way(t, 1, (missed(1) - missed(2)) / weight()),
            (1, 1): missed(2) / weight(),
        },
        missed(0) / weight(),
    ),
    "one-bit mean": (OneBitMean().blanket, masses(sa.RandomizedResponse(k=2).blanket()), None),
    "count mean sketch": (CountMeanSketch().blanket, masses(Rappor().blanket(), {D: m}), None),
    "exponential": (ExponentialMechanism().blanket, masses(sa.RandomizedResponse().blanket(), {e: e / 2}), None),
    "sampling RAPPOR of one item": (SamplingRappor(s=1).blanket, masses(Rappor().blanket(), {D: d}), None),
}


@pytest.mark.parametrize("case", IN_CLOSED_FORM)
def test_components_in_closed_form(case):
    made, expected, gamma = IN_CLOSED_FORM[case]
    assert same(masses(made()), expected)
    assert gamma is None or normal(made().gamma - gamma) == 0


ALIKE = [
    *((family(), sa.RandomizedResponse(k=2)) for family in (Harmony, DuchiVector)),
    *((Collision(s=x, l=2 * x, eps0=1), NarrowCollision(s=x, l=2 * x, eps0=1)) for x in (1, 2, 5)),
    *((DBitFlip(k=size, d=size), Rappor(D=size)) for size in (2, 3, 4)),
    (SubsetExponential(s=1, d=9, k=4), sa.SubsetSelection(d=9, k=4)),
]


@pytest.mark.parametrize(("one", "other"), ALIKE, ids=str)
def test_families_that_agree_where_their_ranges_meet(one, other):
    assert one.blanket().signature() == other.blanket().signature()


def test_d_bit_flip_in_closed_form():
    found = DBitFlip().blanket()
    # 1/a unless all d bits of the message are 1
    assert normal(found.gamma - (1 / a + (1 - 1 / a) * (a + 1) ** -d)) == 0
    found, both, one = masses(found), d * (d - 1) / (k * (k - 1)), d * (k - d) / (k * (k - 1))
    assert normal(found[t, 1] - both / (a + 1) ** 2) == 0
    assert normal(found[a, 1] - one * (1 / (a + 1) ** d + 1 / (a + 1))) == 0
    assert normal(found[t, a] - one * (1 / (a + 1) - 1 / (a + 1) ** d) / a) == 0
    assert len(found) == 9


# --------------------------------------------------------------------------- Total variations, as printed and of tables

PRINTED = [  # Wang 2023, Tables 1 and 5, where no other source is named: (family, total variation, p = q)
    (PCKVGRR(), PCKVGRR()["s"] * (t - 1) / (PCKVGRR()["s"] * t + 2 * d - PCKVGRR()["s"]), t),
    (Wheel(), (w := Wheel()["s"] * Wheel()["p"]) * (t - 1) / (w * t + (1 - w)), t),
    (Collision(), (c := Collision()["s"]) * (t - 1) / (c * t + l - c), t),  # min(s, l - s) = s
    (NarrowCollision(), (l - c) * (t - 1) / (c * t + l - c), t),  # min(s, l - s) = l - s
    (PrivUnit(), (u := PrivUnit()["c"]) * (t - 1) / (u * t + 1 - u), t),  # not printed: named in the text
    # One block, s = K/2, and B > 1 blocks, s = b/2, K = B*b.
    (HadamardResponse(), K / 2 * (t - 1) / 2 / (K / 2 * t + K - K / 2), t),
    (BlockHadamardResponse(), b / 2 * (t - 1) / (b / 2 * t + B * b - b / 2), t),
    (HadamardCountMeanSketch(), None, t),
    # Printed with a parenthesis missing: e^eps binom(d,k) - binom(d-s,k)) + binom(d-s,k).
    (SYMBOLIC, (t - 1) * (missed(1) - missed(2)) / weight(), t),
    (SubsetExponential(s=2), (t - 1) * (missed(1, 2) - missed(2, 2)) / weight(2), None),
    (ExponentialMechanism(), (a - 1) / (a + k - 1), None),  # general randomized response at half the budget
    (OneBitMean(), (t - 1) / (t + 1), t),
    (CountMeanSketch(), Rappor().variation_ratio().beta, None),
    (Harmony(), (a**2 - 1) / (a**2 + 1), t),
    (DuchiVector(), (t - 1) / (t + 1), t),
    # The budget eps1 + eps2 is not exhausted: the largest ratio is 2 e^eps1 e^eps2/(1 + e^eps2).
    (PrivKV(), 2 * PrivKV()["s"] * (a - 1) / (PrivKV()["d"] * (a + 1)), 2 * a**2 / (a + 1)),
    # One input drawn, or both with different bits.
    (DBitFlip(), (a - 1) / (a + 1) * (2 * d * (k - d) + d * (d - 1)) / (k * (k - 1)), None),
    (SamplingRappor(s=1), (a - 1) / (a + 1), t),
    (SamplingRappor(s=2), (a - 1) * (a**2 + a + 1) / (a + 1) ** 3, t),
    (SamplingRappor(s=3), (a - 1) * (a**4 + 2 * a**3 + 4 * a**2 + 2 * a + 1) / (a + 1) ** 5, t),
    (EvenDuchiVector(m=1), sp.Rational(1, 3), None),
    (EvenDuchiVector(m=2), (5 * t + 1) / (11 * (t + 1)), None),
    (CorrectedDuchiVector(m=2), 5 * (t - 1) / (5 * (t - 1) + 16), None),  # 5 of 16 corners lie strictly on one side
]


@pytest.mark.parametrize(("family", "beta", "ratio"), PRINTED, ids=lambda v: repr(v) if hasattr(v, "slug") else "")
def test_total_variations(family, beta, ratio):
    found = family.variation_ratio()
    assert beta is None or normal(found.beta - beta) == 0
    assert ratio is None or normal(found.p - ratio) == normal(found.q - ratio) == 0


OF_TABLES = [
    *((SamplingRappor(s=x, d=y, eps0="log(9)"), None) for x, y in ((1, 3), (2, 4), (3, 6))),
    (SamplingRappor(s=1, d=2, eps0="log(9)"), "1/2"),
    (SamplingRappor(s=2, d=5, eps0="log(9)"), "13/32"),
    (PrivKV(s=1, d=2, eps0="log(9)"), "1/2"),
    *((EvenDuchiVector(m=1, eps0=x), "1/3") for x in ("log(3)", "log(3/2)")),
]


@pytest.mark.parametrize(("member", "value"), OF_TABLES, ids=str)
def test_total_variation_of_all_pairs_of_the_table(member, value):
    largest = largest_variation(member.table())
    assert largest == member.variation_ratio().beta
    assert value is None or largest == sp.Rational(value)


def printed_of_sampling(s, d, a):
    """Wang 2023, Table 1: it divides by d. With one item it is RAPPOR, whose row there says (a - 1)/(a + 1)."""
    return sp.Integer(s) * (a - 1) / (d * (a + 1))


def printed_of_keys(s, d, a, b):
    """The same, Table 5, for PrivKV; a = e^eps1 for the key, b = e^eps2 for the value."""
    return 2 * s * sp.Max(a * (b - 1) / (b + 1), a - 1 + (b - 1) / (2 * (b + 1))) / (d * (a + 1))


def test_printed_total_variations_that_are_refuted():
    """Those of the tables are above, at the same members."""
    assert (printed_of_sampling(1, 2, 3), printed_of_sampling(2, 5, 3)) == (sp.Rational(1, 4), sp.Rational(1, 5))
    assert printed_of_keys(1, 2, sp.Integer(3), sp.Integer(3)) == sp.Rational(9, 16)
    member = PrivKV(s=1, d=2, eps0="log(9)")
    assert sp.exp(member.table().local_epsilon()) == sp.Rational(9, 2)  # printed: e^eps = 9
    # The printed value of the other pair, same keys and opposite values, is twice the true one.
    assert sum(abs(o.mass(0) - o.mass(1)) for o in member.orbits(OPPOSITE)) / 2 == sp.Rational(3, 16)
    # Of corners in even dimension: twice (and at eps0 -> 0 infinitely often) what is printed; at t = 3 less than that.
    of_corners = (t - 1) / (t + 1)
    assert of_corners.subs(t, sp.Rational(3, 2)) == sp.Rational(1, 5)
    assert of_corners.subs(t, 3) > sp.Rational(1, 3)


def test_other_readings_of_a_printed_formula():
    """Drawing one of all d options gives the printed value with one item only, and less with more."""
    keep = sp.Rational(3, 4)

    def rappor(item, y):
        return sp.Mul(*(keep if bit == (i == item) else 1 - keep for i, bit in enumerate(y)))

    def drawn(s, d):
        return sa.FiniteMechanism(
            {
                str(x): {
                    str(y): sum(rappor(j if j in x else None, y) for j in range(d)) / d
                    for y in product((0, 1), repeat=d)
                }
                for x in combinations(range(d), s)
            }
        )

    assert largest_variation(drawn(1, 3)) == printed_of_sampling(1, 3, 3)
    assert largest_variation(drawn(2, 4)) == sp.Rational(2, 4) * sp.Rational(13, 32) < printed_of_sampling(2, 4, 3)
    # (j, bit of option j through randomized response with eps0/2): twice the printed value for disjoint sets.
    bits = {
        str(x): {f"{j}{bit}": (keep if bit == (j in x) else 1 - keep) / 4 for j in range(4) for bit in (0, 1)}
        for x in combinations(range(4), 2)
    }
    assert largest_variation(sa.FiniteMechanism(bits)) == 2 * printed_of_sampling(2, 4, 3)


def test_printed_row_of_hadamard_is_the_limit_and_only_the_limit():
    """Su, Cheng, Wang 2025, Table 2: it misses that column 0 is constant."""
    found, printed = masses(HadamardResponse().blanket()), dict.fromkeys(product((t, 1), repeat=2), 1 / (2 * (t + 1)))
    assert found.keys() == printed.keys()
    assert {r for r in printed if normal(found[r] - printed[r]) != 0} == {(t, t), (1, 1)}
    assert all(normal(sp.limit(found[r], K, sp.oo) - mass) == 0 for r, mass in printed.items())
    least = [min(column) for column in zip(*HadamardResponse(K=8, eps0="log(3)").table().rows, strict=True)]
    assert least == [sp.Rational(3, 16), *[sp.Rational(1, 16)] * 7]
    assert sum(least) == sp.Rational(5, 8) != sp.Rational(2, 4)
    # With row 0 in use, its uniform law is the least in column 0; gamma is 9/16 and not 1/2 for K = 8, t = 3.
    rows = {str(x): [3 if entry > 0 else 1 for entry in row] for x, row in enumerate(sylvester(8))}
    table = {x: {str(y): sp.Rational(w, sum(row)) for y, w in enumerate(row)} for x, row in rows.items()}
    assert blanket(sa.FiniteMechanism(table), ("1", "2")).gamma == sp.Rational(9, 16)


def test_corners_of_even_dimension_are_not_private_at_their_budget():
    """Ties belong to both sides, so their probability is t + 1 times the least: p = t is printed."""
    assert sp.exp(EvenDuchiVector(m=1, eps0="log(3)").table().local_epsilon()) == 4
    for size in (1, 2, 3):
        assert EvenDuchiVector(m=size).local_epsilon() == sp.log(t + 1)
        assert EvenDuchiVector(m=size).variation_ratio().p == t + 1


BUDGETS = [
    (DBitFlip(d=1), e / 2, a),
    (ExponentialMechanism(), e / 2, a),
    (CorrectedDuchiVector(m=3), e, t),
]


@pytest.mark.parametrize(("family", "budget", "ratio"), BUDGETS, ids=str)
def test_local_budgets(family, budget, ratio):
    assert family.local_epsilon() == budget
    assert family.variation_ratio().p == ratio


# -------------------------------------------------------------------------------------------------- The worst pair

WORST = [
    *(
        (member, x)
        for member in (
            PrivUnit(c="2/5", eps0="log(2)"),
            Wheel(s=2, p="1/6", eps0="log(3)"),
            Collision(s=2, l=5, eps0="log(3)"),
            NarrowCollision(s=3, l=4, eps0="log(3)"),
            PCKVGRR(s=2, d=3, eps0="log(3)"),
        )
        for x in ("1", "21/20", "7/4")
    ),
    *((OneBitMean(eps0="log(3)"), x) for x in ("1", "5/3", "8/3")),
    *((SamplingRappor(s=2, d=x, eps0="log(9)"), "4/3") for x in (4, 5)),
    *((SubsetExponential(s=2, d=x, k=y, eps0="log(3)"), "4/3") for x, y in ((4, 2), (5, 2), (6, 3))),
    *((PrivKV(s=x, d=y, eps0="log(9)"), "4/3") for x, y in ((1, 3), (2, 4))),
    (Harmony(d=2, eps0="log(3)"), "4/3"),
    (DuchiVector(m=1, eps0="log(3)"), "4/3"),
    (CorrectedDuchiVector(m=2, eps0="log(3)"), "4/3"),
]


@pytest.mark.parametrize(("member", "E"), WORST, ids=str)
def test_the_first_pair_is_the_worst_of_the_table(member, E):
    worst, table = member.blanket(*member.pairs()[0]), member.table()
    assert len(table.inputs) > (10 if isinstance(member, OneBitMean) else 1)
    assert all(is_worse(worst, other.decomposition, Fraction(E)) for other in pair_classes(table))


@pytest.mark.parametrize(
    "member", [CountMeanSketch(k=2, m=4, eps0="log(9)"), HadamardCountMeanSketch(k=3, m=4, eps0="log(3)")]
)
@pytest.mark.parametrize("E", [Fraction(1), Fraction(4, 3), Fraction(5, 2)])
def test_collisions_only_help(member, E):
    # In the tables, x_a and z_b collide under one hash function or none.
    table, worst = member.table(), member.blanket()
    found = [blanket(table, (x, z)) for x in ("x0", "x1") for z in table.inputs if z != x]
    assert any(other.signature() != worst.signature() for other in found)
    assert all(is_worse(worst, other, E) for other in found)


def test_disjoint_keys_are_worse():
    member = PrivKV(s=2, d=5, eps0="log(9)")
    disjoint, opposite = (member.blanket(*pair) for pair in (DISJOINT, OPPOSITE))
    assert all(is_worse(disjoint, opposite, E) for E in (Fraction(21, 20), Fraction(3, 2)))
    assert sa.epsilon(member, n=10**5, delta="1e-8", gap=1e-3).pair == DISJOINT


def test_different_blocks_are_worse():
    answer = sa.epsilon(BlockHadamardResponse(B=4, b=16, eps0=1), n=10**6, delta="1e-8")
    assert answer.pair in {("0:1", "1:1"), ("1:1", "0:1")}
    assert answer.lower < answer.upper < answer.lower * (1 + 1e-4)
    assert len(pair_classes(BlockHadamardResponse())) == 2


@pytest.mark.parametrize("size", [1, 2])
def test_corners_of_even_dimension_list_all_pairs(size):
    member = EvenDuchiVector(m=size, eps0="log(3)")
    listed, table = {c.decomposition.signature() for c in pair_classes(member)}, member.table()
    inputs = [x for x in table.inputs if x != "average"]
    assert {table.blanket(x, z).signature() for x in inputs for z in inputs if x != z} == listed


# ------------------------------------------------------------------------------------------------------ Third inputs

THIRD = [
    (Collision(s=2, l=6, eps0=1), DISJOINT, ("x2",)),
    (Collision(s=2, l=5, eps0=1), DISJOINT, ("x2", "x3")),
    (Collision(s=2, l=4, eps0=1), DISJOINT, ("average",)),
    (PrivUnit(c="1/10", eps0=1), DISJOINT, ("average",)),
    (PrivKV(s=2, d=6, eps0=1), DISJOINT, ("opposite", "opposite1", "x2")),
    (PrivKV(s=2, d=5, eps0=1), DISJOINT, ("opposite", "opposite1")),
    (PrivKV(), OPPOSITE, ("x1", "opposite1")),
    (HadamardResponse(K=Parameter("K", lower=sp.Integer(8), integer=True)), ("1", "2"), ("3", "4")),
    (HadamardResponse(), ("1", "2"), ("3",)),
]


@pytest.mark.parametrize(("member", "pair", "others"), THIRD, ids=str)
def test_third_inputs_where_there_is_room(member, pair, others):
    assert member.further_inputs(pair) == others


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
    family, one = HadamardResponse(K=Parameter("K", lower=sp.Integer(8), integer=True)), sp.Integer(1)
    assert [len(triple(family, ("1", "2"), ((x, one),)).components) for x in ("3", "4")] == [4, 7]
    # The product row is +1 where the two rows agree: all others are least likely to hide where they differ.
    answer = sa.epsilon(HadamardResponse(K=16, eps0=1), n=10**6, delta="1e-8")
    assert str(answer.dataset) == "victim 1 against 2, everyone else holds 3"
    assert answer.upper < answer.lower * (1 + 1e-4)


# -------------------------------------------------------------------------------------- Ranges, and members inside them


@pytest.mark.parametrize(("D", "sizes"), [(2, (4, 8)), (3, (4, 16)), (4, (8, 16)), (5, (8,)), (6, (8,)), (11, (16,))])
def test_first_rows_have_one_constant_column_for_each_pattern_of_unused_bits(D, sizes):
    family = HadamardResponse(D=D)
    family.verify(*({"K": size, "eps0": "log(3)"} for size in sizes))
    full = HadamardResponse().blanket().gamma.subs(K, 2 ** D.bit_length())
    assert normal(family.blanket().gamma - full) == 0


VERIFIED = [
    (BlockHadamardResponse(b=2), [{"B": x, "eps0": "log(3)"} for x in (2, 3, 4)]),
    (DBitFlip(d=1), [{"k": x, "eps0": "log(9)"} for x in (2, 3, 4, 5)]),
    *((DBitFlip(k=x, d=x), [{"eps0": "log(9)"}]) for x in (2, 3, 4)),
    (SYMBOLIC, SubsetExponential.small),
]


@pytest.mark.parametrize(("family", "members"), VERIFIED, ids=lambda v: "" if isinstance(v, list | tuple) else repr(v))
def test_members_at_the_ends_of_ranges_agree_with_their_tables(family, members):
    assert len(family.verify(*members)) == len(members)


def test_parameters_by_number_or_by_default():
    assert HadamardResponse(K=8, D=7).blanket() == HadamardResponse(K=8).blanket()
    assert HadamardResponse().at(K=8, D=5, eps0=1) == HadamardResponse(K=8, eps0=1, D=5)
    assert BlockHadamardResponse(b=2).pairs() == (("0:1", "1:1"),)
    assert BlockHadamardResponse(b=2).blanket().gamma == BlockHadamardResponse().blanket("0:1", "1:1").gamma
    assert SamplingRappor().at(s=1, d=2, eps0="log(9)").blanket().gamma == sp.Rational(1, 2)
    assert SubsetExponential().at(s=1, d=2, k=1, eps0=1).blanket().gamma == normal(2 / (1 + sp.E))
    for partly in (DBitFlip(k=6), DBitFlip(d=3), DBitFlip().at(k=6), DBitFlip().at(d=3)):
        member = partly.at(k=6) if partly["k"] == k else partly.at(d=3)
        assert normal(partly.blanket().gamma.subs({k: 6, d: 3}) - member.blanket().gamma) == 0


def free(name):
    return sa.Parameter(name, lower=sp.Integer(1), integer=True)


REFUSED = [
    *((HadamardResponse, given, "^K:") for given in ({"K": 6}, {"K": 2})),
    *((HadamardResponse, given, "^D:") for given in ({"K": 8, "D": 8}, {"D": 1}, {"D": K}, {"D": 2.5})),
    *((BlockHadamardResponse, given, None) for given in ({"B": 1}, {"b": 6}, {"b": 1})),
    (HadamardCountMeanSketch, {"m": 12}, "power of two"),
    *((DBitFlip, given, None) for given in ({"k": 4, "d": 5}, {"d": 0}, {"k": 1}, {"k": 2})),
    *((SubsetExponential, given, None) for given in ({"s": 2, "d": 3}, {"s": 2, "d": 6, "k": 5}, {"s": 0})),
    (SamplingRappor, {"s": free("s")}, "s:"),
    (SamplingRappor().at, {"s": 3, "d": 5}, None),
    *((family, {"m": free("m")}, "m:") for family in (EvenDuchiVector, CorrectedDuchiVector)),
    (PrivUnit, {"c": "1/2"}, None),
    (Wheel, {"s": 2, "p": "1/4"}, None),
    (Collision, {"s": 2, "l": 3}, None),
    (NarrowCollision, {"s": 2, "l": 2}, None),
    (PCKVGRR, {"s": 2, "d": 1}, None),
]


@pytest.mark.parametrize(("family", "given", "told"), REFUSED, ids=lambda v: getattr(v, "slug", str(v)))
def test_what_is_out_of_range_is_refused(family, given, told):
    with pytest.raises(ArgumentError, match=told):
        family(**given)


# ----------------------------------------------------------------------------------------------------- Large members

LARGE = [
    *(
        (member, 10**6, "1e-8", 1e-4, 0.1)
        for member in (
            ExponentialMechanism(k=10**6, eps0=1),
            DBitFlip(k=10**6, d=16, eps0=1),
            CountMeanSketch(k=2**16, m=16, eps0=1),
            OneBitMean(eps0=4),
        )
    ),
    *(
        (member, 10**5, "1e-6", 1e-3, 1)
        for member in (DuchiVector(m=50, eps0=1), CorrectedDuchiVector(m=50, eps0=1), EvenDuchiVector(m=2, eps0=1))
    ),
    pytest.param(SubsetExponential(s=8, d=10**4, k=200, eps0=1), 10**6, "1e-8", 1e-3, 0.02, marks=pytest.mark.slow),
    pytest.param(SamplingRappor(s=3, d=1000, eps0=1), 10**6, "1e-8", 1e-3, 0.01, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("member", "n", "delta", "gap", "most"), LARGE, ids=lambda v: getattr(v, "slug", ""))
def test_large_members(member, n, delta, gap, most):
    answer = sa.epsilon(member, n=n, delta=delta, gap=gap)
    assert 0 < answer.lower <= answer.upper < most


EQUAL = [
    (PCKVGRR(s=10**3, d=10**6, eps0=1), Collision(s=10**3, l=2 * 10**6, eps0=1), {}),
    (PrivKV(s=1, d=64, eps0=1), PrivKV(s=1000, d=64_000, eps0=1), {"method": "blanket"}),
    (ExponentialMechanism(k=10, eps0=1), sa.RandomizedResponse(k=10, eps0="1/2"), {}),
]


@pytest.mark.parametrize(("one", "two", "method"), EQUAL, ids=str)
def test_members_of_equal_laws_have_equal_ends(one, two, method):
    first, second = (sa.epsilon(x, n=10**6, delta="1e-8", gap=1e-3, **method) for x in (one, two))
    apart = 1e-6 if isinstance(one, ExponentialMechanism) else 0.0
    assert first.upper == pytest.approx(second.upper, rel=apart, abs=0.0)
    assert second.upper > 0


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
