"""Points of a curve become pairs that lie above and below it: against brute force in fractions."""

from fractions import Fraction
from random import Random

import pytest
from flint import fmpq

import symamp as sa
from symamp.accounting.curves import CurvePoint, CurvePoints, optimistic, pessimistic
from tests.exactly import as_fmpq as q
from tests.exactly import as_fraction as f
from tests.oracle import composition as oracle
from tests.oracle.histograms import blanket_triple, divergence_of_users
from tests.oracle.histograms import randomized_response as krr
from tests.sampled import some

SKEW = (
    [Fraction(9, 20), Fraction(2, 5), Fraction(3, 20)],
    [Fraction(3, 20), Fraction(7, 10), Fraction(3, 20)],
    [Fraction(3, 20), Fraction(2, 5), Fraction(3, 20)],
)


TABLE = [
    (blanket_triple(krr(2, Fraction(3)), 0, 1), 2, "51/160 1101/2560 10917/20480", "19/32 343/512 2957/4096"),
    (blanket_triple(krr(2, Fraction(3)), 0, 1), 3, "79/320 1513/4096 602017/1310720", "73/128 5167/8192 44555/65536"),
    (
        blanket_triple(krr(4, Fraction(5, 2)), 0, 1),
        4,
        "6594/73205 169552443/1071794405 3346897381983/15692141883605",
        "7391/14641 113177239/214358881 1729693229843/3138428376721",
    ),
    (SKEW, 2, "687/4000 409563/1600000 205747479/640000000", "1/2 5553/10000 9450891/16000000"),
]


@pytest.mark.parametrize(("triple", "n", "above", "below"), TABLE)
def test_reference_values_of_rounds(triple, n, above, below):
    pair = oracle.pair_of_triple(triple, n)
    for level, values in ((Fraction(13, 10), above), (Fraction(1, 2), below)):
        for rounds, value in enumerate(values.split(), start=1):
            assert oracle.divergence(oracle.product([pair] * rounds), level) == Fraction(value)


def test_the_oracle_of_pairs_agrees_with_that_of_histograms():
    a0, a1, a2 = SKEW
    others = [[*a2, 1 - sum(a2)]] * 2
    for level in (Fraction(1, 3), Fraction(1), Fraction(6, 5)):
        users = divergence_of_users([[*a0, Fraction(0)], *others], [[*a1, Fraction(0)], *others], level)
        assert oracle.divergence(oracle.pair_of_triple(SKEW, 3), level) == users


def test_an_adversary_who_adapts_the_order_beats_both_fixed_orders():
    first = oracle.pair_of_triple(SKEW, 2)
    second = oracle.swapped(first)
    level = Fraction(11, 10)
    fixed = [oracle.divergence(oracle.product(pairs), level) for pairs in ([first] * 2, [second] * 2, [first, second])]
    adaptive = oracle.adaptive_two_rounds(first, [first, second], level)
    assert adaptive == Fraction(125721, 400000) > max(fixed)
    points = [
        CurvePoint(q(e), fmpq(0), q(max(oracle.divergence(p, e) for p in (first, second))))
        for e in sorted({r for p in (first, second) for r in p} | {Fraction(1)})
    ]
    envelope = pessimistic(CurvePoints(tuple(points)))
    square = oracle.divergence(oracle.product([{f(e): f(p) for e, p in envelope.atoms}] * 2), level)
    assert adaptive < square
    assert float(square) == pytest.approx(0.32718938, rel=1e-6)


def points_of(pair, levels, random, noise):
    """Values at the levels with noise outward, and a top where the curve vanishes."""
    found = []
    for level in levels:
        value = oracle.divergence(pair, level)
        low = value * (1 - Fraction(random.randint(0, noise), 1000))
        found.append(CurvePoint(q(level), q(low), q(value * (1 + Fraction(random.randint(0, noise), 1000)))))
    return tuple(found)


def random_triple(random):
    kind = random.randrange(4)
    if kind == 0:
        return blanket_triple(krr(random.choice([2, 4]), Fraction(random.randint(3, 12), 2)), 0, 1)
    if kind == 1:
        a, b, c = krr(5, Fraction(random.randint(3, 12), 2))[:3]
        return a, b, c
    if kind == 2:
        return SKEW
    rows = [[random.randint(1, 5) for _ in range(3)] for _ in range(3)]
    return blanket_triple([[Fraction(x, sum(row)) for x in row] for row in rows], 0, 1)


def check(random):
    pair = oracle.pair_of_triple(random_triple(random), random.randint(2, 4))
    ratios = [r for r in pair if r is not None]
    top = max(*ratios, *(1 / r for r in ratios)) * Fraction(random.choice([100, 110]), 100)
    levels = sorted({Fraction(random.randint(1, 400), 100) for _ in range(random.randint(1, 12))})
    noise = random.choice([0, 1, 50])
    ends = random.choice([(None, None), (1 / q(top), q(top)), (1 / q(top), None), (None, q(top))])
    curve = CurvePoints(points_of(pair, levels, random, noise), *ends)
    dominating, dominated = pessimistic(curve), optimistic(curve)
    above, below = ({f(e): f(p) for e, p in d.atoms} for d in (dominating, dominated))
    assert dominated.infinite == 0
    above[None] = f(dominating.infinite)
    assert sum(above.values()) == 1
    rounds = random.randint(1, 3) if len(above) <= 8 else 2
    truth, high, low = (oracle.product([p] * rounds) for p in (pair, above, below))
    for level in (Fraction(1, 2), Fraction(1), Fraction(13, 10), Fraction(2), Fraction(random.randint(1, 300), 100)):
        assert oracle.divergence(low, level) <= oracle.divergence(truth, level) <= oracle.divergence(high, level)
    return 10


@pytest.mark.parametrize("seed", some(range(20), 10))
def test_pairs_enclose_the_curve_and_its_powers(seed):
    assert sum(check(Random(seed * 1000 + i)) for i in range(5)) == 50


@pytest.mark.slow
def test_pairs_enclose_the_curve_and_its_powers_often():
    assert sum(check(Random(10**6 + i)) for i in range(2500)) == 25_000


@pytest.mark.parametrize("seed", range(20))
def test_tests_of_a_pair_make_one_below_it(seed):
    """Of some sets of outcomes their chances, by less on P and by more on Q; the power of two is below, too."""
    random = Random(seed)
    first, second = ([Fraction(random.randint(0, 9), 45) for _ in range(5)] for _ in range(2))
    first[0], second[0] = 1 - sum(first[1:]), 1 - sum(second[1:])
    tests = []
    for _ in range(6):
        chosen = [random.random() < 0.5 for _ in first]
        low, high = (sum(x for x, c in zip(row, chosen, strict=True) if c) for row in (first, second))
        tests.append((low * Fraction(9, 10), min(high * Fraction(11, 10), Fraction(1))))
    pair = optimistic(
        CurvePoints.of_tests([(fmpq(*a.as_integer_ratio()), fmpq(*b.as_integer_ratio())) for a, b in tests])
    )
    assert all(mass > 0 for _, mass in pair.atoms)
    assert sum(mass for _, mass in pair.atoms) + pair.infinite == 1
    mine = [(f(e), f(mass)) for e, mass in pair.atoms]
    for E in map(Fraction, ("0", "1/2", "1", "3/2", "4")):
        best = max([Fraction(0), 1 - E, *(a - E * b for a, b in tests)])
        assert f(pair.divergence(q(E))) == best
        pairs = list(zip(first, second, strict=True))
        twice = sum(max(a * c - E * b * d, 0) for a, b in pairs for c, d in pairs)
        powers = sum(a * c * max(1 - E / (e * g), 0) for e, a in mine for g, c in mine)
        infinite = f(pair.infinite)
        assert powers + 1 - (1 - infinite) ** 2 <= twice


def test_what_is_no_curve_is_refused():
    for bad in (
        (CurvePoint(fmpq(1, 2), fmpq(0), fmpq(1, 4)),),
        (CurvePoint(fmpq(1), fmpq(1, 2), fmpq(1, 4)),),
        (CurvePoint(fmpq(2), fmpq(0), fmpq(0)), CurvePoint(fmpq(1), fmpq(0), fmpq(1))),
    ):
        with pytest.raises(sa.errors.ArgumentError):
            CurvePoints(bad)
