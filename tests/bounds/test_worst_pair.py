"""Theorem P and what follows from it, in exact fractions on random mechanisms, and what mechanisms say of it."""

import random
from fractions import Fraction
from itertools import product

import pytest
from flint import fmpq

import symamp as sa
from symamp.decompositions.worst_pair import theorem_p
from tests.oracle.laws import merged

ZERO = Fraction(0)


def stop_loss(law, u):
    return sum((mass * (value - u) for value, mass in law if value > u), ZERO)


def noise(rng, reach):
    """Symmetric unimodal noise on -reach..reach: not log-concave, with plateaus."""
    steps = sorted((rng.randint(1, 60) for _ in range(reach + 1)), reverse=True)
    total = steps[0] + 2 * sum(steps[1:])
    return {z: Fraction(steps[abs(z)], total) for z in range(-reach, reach + 1)}


def rows_of(rng, inputs):
    """Integer noise with unbounded support, cut far out: beyond the cut the mass is on one message for each side."""
    reach = rng.randint(inputs, inputs + 4)
    f = noise(rng, reach)
    messages = range(-reach, inputs + reach)
    return [[f.get(y - x, ZERO) for y in messages] for x in range(inputs)]


def blanket_law(rows, i, j, e):
    law = []
    for y in range(len(rows[0])):
        least = min(row[y] for row in rows)
        if least:
            law.append(((rows[i][y] - e * rows[j][y]) / least, least))
    law.append((ZERO, 1 - sum(m for _, m in law)))
    return law


def singular(rows, i, j, e):
    return sum(max(a - e * b, ZERO) for a, b, *rest in zip(rows[i], rows[j], *rows, strict=True) if min(rest) == 0)


def assert_below(small, s, large, t):
    """Compare two laws at all their values, exactly; return the number of comparisons."""
    places = {v for v, _ in small} | {v for v, _ in large}
    for u in places:
        assert stop_loss(small, u) + s <= stop_loss(large, u) + t
    assert sum(v * m for v, m in small) + s <= sum(v * m for v, m in large) + t
    return len(places) + 1


def clipped(rows, first, last):
    """The mechanism whose messages beyond two places are moved there."""
    return [[sum(row[: first + 1]), *row[first + 1 : last], sum(row[last:])] for row in rows]


def compare_all_pairs(rows, levels):
    """Compare every ordered pair of inputs, equal ones too, with the pair of the ends."""
    end, compared = len(rows) - 1, 0
    for e in levels:
        large, t = blanket_law(rows, 0, end, e), singular(rows, 0, end, e)
        for i, j in product(range(end + 1), repeat=2):
            compared += assert_below(blanket_law(rows, i, j, e), singular(rows, i, j, e), large, t)
    return compared


def test_the_ends_are_the_worst_pair_of_symmetric_unimodal_noise():
    rng = random.Random(5)
    for _ in range(5):
        inputs = rng.randint(3, 6)
        compare_all_pairs(rows_of(rng, inputs), (Fraction(1), Fraction(rng.randint(10, 40), 10), Fraction(1, 3)))


@pytest.mark.slow
def test_tens_of_thousands_of_exact_comparisons():
    """Random noise on the integers at up to 13 inputs, all ordered pairs, several levels."""
    rng, compared = random.Random(25), 0
    for inputs in (*(rng.randint(3, 8) for _ in range(20)), 13):
        compared += compare_all_pairs(rows_of(rng, inputs), (ZERO, Fraction(1), Fraction(rng.randint(10, 40), 10)))
    assert compared > 30_000


def geometric_rows(inputs, root):
    """Discrete Laplace noise with a rational ratio, far tails summed up."""
    inside, end = (1 - root) / (1 + root), inputs - 1
    wide = [[inside * root ** abs(y - x) for y in range(-2, end + 3)] for x in range(inputs)]
    for x, row in enumerate(wide):
        row[0], row[-1] = root ** (x + 2) / (1 + root), root ** (end + 2 - x) / (1 + root)
    return wide


def test_clipping_discrete_laplace_noise_changes_nothing():
    root = Fraction(3, 5)
    for inputs in (2, 4, 7):
        rows, e = geometric_rows(inputs, root), Fraction(5, 4)
        assert all(sum(row) == 1 for row in rows)
        tight = clipped(rows, 2, inputs + 1)
        assert merged(blanket_law(rows, 0, inputs - 1, e)) == merged(blanket_law(tight, 0, inputs - 1, e))


@pytest.mark.parametrize("inputs", [5, pytest.param(13, marks=pytest.mark.slow)])
def test_a_grid_of_pairs_of_clipped_noise(inputs):
    """Discrete Laplace noise clipped to the inputs: every pair lies below that of the ends."""
    rows = clipped(geometric_rows(inputs, Fraction(4, 5)), 2, inputs + 1)
    assert compare_all_pairs(rows, (Fraction(1), Fraction(6, 5))) > 2 * inputs**2


def test_without_unimodality_the_ends_need_not_be_worst():
    """The condition is needed: noise on even numbers mostly."""
    f = {-2: 5, -1: 1, 0: 5, 1: 1, 2: 5}
    total = sum(f.values())
    rows = [[Fraction(f.get(y - x, 0), total) for y in range(-3, 6)] for x in range(3)]
    e = Fraction(1)

    def one_user(i, j):
        return sum(max(a - e * b, ZERO) for a, b in zip(rows[i], rows[j], strict=True))

    assert one_user(0, 1) > one_user(0, 2)


def test_cells_and_their_ends_enclose_a_law():
    """The finite sandwich on an arm: means below, ends with the same mass and mean above."""
    rng = random.Random(7)
    for _ in range(20):
        values = sorted(Fraction(rng.randint(0, 400), 100) for _ in range(12))
        masses = [Fraction(rng.randint(1, 9), 200) for _ in values]
        for constant, order in product((Fraction(1), Fraction(2)), (0, 1)):
            whole, low, high = [], [], []
            e = Fraction(rng.randint(10, 30), 10)

            def g(v, constant=constant, order=order, e=e):
                return v - e * constant if order == 0 else constant - e * v

            for start in range(0, 12, 4):
                v, w = values[start : start + 4], masses[start : start + 4]
                c, a = sum(w), sum(x * y for x, y in zip(v, w, strict=True))
                whole += [(g(x), y) for x, y in zip(v, w, strict=True)]
                low.append((g(a / c), c))
                share = (a - v[0] * c) / (v[-1] - v[0]) if v[-1] > v[0] else ZERO
                high += [(g(v[0]), c - share), (g(v[-1]), share)]
            assert_below(low, ZERO, whole, ZERO)
            assert_below(whole, ZERO, high, ZERO)


def test_the_atom_at_infinity_is_above():
    """A tail with ratios at least (v0, v1): one atom there, and what is left over named."""
    rng = random.Random(9)
    for _ in range(60):
        tail = [(Fraction(rng.randint(20, 90), 10), Fraction(rng.randint(10, 90), 10)) for _ in range(5)]
        masses = [Fraction(rng.randint(1, 9), 900) for _ in tail]
        v = [min(r[b] for r in tail) for b in (0, 1)]
        total = sum(masses)
        over = [sum(r[b] * m for r, m in zip(tail, masses, strict=True)) - v[b] * total for b in (0, 1)]
        for e in (ZERO, Fraction(1), Fraction(rng.randint(5, 40), 10)):
            whole = [(a - e * b, m) for (a, b), m in zip(tail, masses, strict=True)]
            # The labels of A0 and of A1 name their sender: the singular part of A0 alone counts.
            assert_below(whole, ZERO, [(v[0] - e * v[1], total)], over[0])


def table_of(rows):
    return sa.FiniteMechanism({str(x): {str(y): p for y, p in enumerate(row)} for x, row in enumerate(rows)})


def test_mechanisms_say_how_their_worst_pair_is_known():
    noise = table_of(clipped(geometric_rows(4, Fraction(3, 5)), 2, 5)).worst_pair()
    assert (set(noise.pair), noise.proved) == ({"0", "3"}, True)
    assert "Theorem P" in noise.reason
    assert sa.PiecewiseMechanism(eps0=1).worst_pair().proved
    assert sa.DiscreteLaplace(B=5).worst_pair()[:2] == (("0", "5"), True)
    assert sa.RandomizedResponse().worst_pair().proved
    assert sa.Cauchy(scale=1).worst_pair().pair == ("0", "1")
    rows = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/5", "1/5", "3/5"]]
    other = table_of([[Fraction(v) for v in row] for row in rows]).worst_pair()
    assert not other.proved
    assert "no theorem" in other.reason


def test_what_theorem_p_says_of_tables_holds_for_all_pairs():
    """Random tables: where both conditions hold, every pair lies below the one that is named."""
    rng, found = random.Random(11), 0
    for _ in range(400):
        weights = [[rng.randint(1, 4) for _ in range(3)] for _ in range(3)]
        rows = [[Fraction(w, sum(row)) for w in row] for row in weights]
        ends = theorem_p([[fmpq(p.numerator, p.denominator) for p in row] for row in rows])
        if ends is None:
            continue
        found += 1
        for e in (Fraction(1), Fraction(7, 5)):
            large = blanket_law(rows, *ends, e)
            for i, j in product(range(3), repeat=2):
                assert_below(blanket_law(rows, i, j, e), ZERO, large, ZERO)
    assert found >= 10
