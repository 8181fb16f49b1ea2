"""Theorem P and what follows from it, in exact fractions on random mechanisms: nothing from the package."""

import random
from fractions import Fraction
from itertools import product

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
    for u in {v for v, _ in small} | {v for v, _ in large}:
        assert stop_loss(small, u) + s <= stop_loss(large, u) + t
    assert sum(v * m for v, m in small) + s <= sum(v * m for v, m in large) + t


def test_the_ends_are_the_worst_pair_of_symmetric_unimodal_noise():
    rng = random.Random(5)
    for _ in range(10):
        inputs = rng.randint(3, 6)
        rows = rows_of(rng, inputs)
        for e in (Fraction(1), Fraction(rng.randint(10, 40), 10), Fraction(1, 3)):
            large, t = blanket_law(rows, 0, inputs - 1, e), singular(rows, 0, inputs - 1, e)
            for i, j in product(range(inputs), repeat=2):
                assert_below(blanket_law(rows, i, j, e), singular(rows, i, j, e), large, t)


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
