"""Theorem L (docs/proofs/labels.md) in exact rationals, over random users, laws and weights."""

import itertools
from fractions import Fraction
from random import Random

import pytest

from tests.oracle.envelope import (
    ONE,
    ZERO,
    Law,
    divergence_of_signed,
    envelope_law,
    labels_bound,
    own_law,
    psi,
    random_row,
    share,
)
from tests.sampled import chunks


def random_measure(rng: Random, messages: int) -> list[Fraction]:
    """R(x0) - E R(x1), or any signed measure."""
    if rng.random() < 0.3:
        return [Fraction(rng.randint(-6, 4), 7) for _ in range(messages)]
    E = Fraction(rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2)))
    rows = random_row(rng, messages), random_row(rng, messages)
    return [a - max(E, ONE) * b for a, b in zip(*rows, strict=True)]


def admissible(rng: Random, g: list[Fraction], rows: list[list[Fraction]]) -> list[Law]:
    """The own law of each user, or that of the envelope of a group of users."""
    laws = [own_law(g, row)[0] for row in rows]
    if rng.random() < 0.5:
        group = [u for u in range(len(rows)) if rng.random() < 0.6]
        if group:
            common, limit = envelope_law([(laws[u], ZERO) for u in group])
            assert limit == 0
            laws = [common if u in group else law for u, law in enumerate(laws)]
    return laws


@pytest.mark.parametrize("seeds", chunks(range(120), 20, range(1000, 5000), 250))
def test_bound(seeds):
    for rng in map(Random, seeds):
        messages, users = rng.randint(2, 3), rng.randint(1, 3)
        g = random_measure(rng, messages)
        kinds = [random_row(rng, messages) for _ in range(rng.randint(1, users))]
        rows = [rng.choice(kinds) for _ in range(users)]
        laws = admissible(rng, g, rows)
        weights = [rng.choice((ONE, ONE, Fraction(1, 2), Fraction(3, 2), Fraction(4))) for _ in rows]
        assert divergence_of_signed(g, rows) <= labels_bound(laws, weights)


def random_values(rng: Random, users: int) -> tuple[list[Fraction], list[Fraction], Fraction]:
    values = [Fraction(rng.randint(-5, 5)) for _ in range(users)]
    weights = [Fraction(rng.choice((1, 2, 3)), rng.choice((1, 2))) for _ in range(users)]
    return values, weights, Fraction(rng.randint(-5, 5))


@pytest.mark.parametrize("seed", range(10))
def test_shares_are_a_probability(seed):
    rng = Random(seed)
    for _ in range(200):
        values, _, _ = random_values(rng, rng.randint(1, 5))
        for positive in (True, False):
            shares = [share(values, u, positive) for u in range(len(values))]
            assert min(shares) >= 0
            assert sum(shares) == 1


@pytest.mark.parametrize("seed", range(10))
def test_psi_has_the_sign_of_the_sum_and_its_printed_form(seed):
    rng = Random(seed)
    for _ in range(300):
        values, weights, victim = random_values(rng, rng.randint(1, 5))
        u = rng.randrange(len(values))
        z = [w * theta for w, theta in zip(values, weights, strict=True)]
        zv, zu, rest = victim * weights[u], z[u], [x for i, x in enumerate(z) if i != u]
        total, found = sum(z) + zv, psi(values, weights, u, victim) * weights[u]
        assert found * total >= 0
        assert total != 0 or found == 0
        p, m = (sum(max(s * x, ZERO) for x in rest) for s in (1, -1))
        if total > 0 and (any(rest) or (zv != 0 and zu != 0)):
            assert found == printed(zv, zu, p, m, total)


def printed(zv: Fraction, zu: Fraction, p: Fraction, m: Fraction, total: Fraction) -> Fraction:
    """theta psi for a positive sum, as docs/proofs/labels.md states it."""
    if zv < zu:
        zv, zu = zu, zv
    if zv > 0 > zu:
        return zv * -zu * min(zv, total) / ((p + zv) * max(p, m - zu))
    if zu > 0:
        return zv * zu * sum(max(p + z - m, ZERO) / (p + z) ** 2 for z in (zu, zv))
    return ZERO


@pytest.mark.parametrize("seed", range(8))
def test_equivalent_form(seed):
    """B_theta written with one draw fewer: the victim's value integrated out."""
    rng = Random(seed)
    messages, users = 3, rng.randint(2, 3)
    g = random_measure(rng, messages)
    rows = [random_row(rng, messages) for _ in range(users)]
    laws = [own_law(g, row)[0] for row in rows]
    weights = [rng.choice((ONE, Fraction(1, 2), Fraction(3))) for _ in rows]
    positive = sum((max(x, ZERO) for x in g), ZERO)
    total = ZERO
    for combination in itertools.product(*(law.items() for law in laws)):
        chance = ONE
        for _, mass in combination:
            chance *= mass
        z = [w * theta for (w, _), theta in zip(combination, weights, strict=True)]
        s, p = sum(z), sum(max(x, ZERO) for x in z)
        m = p - s
        if s >= 0:
            lost = ZERO
            for u, x in enumerate(z):
                if x > 0:
                    below = sum(q * -w for w, q in laws[u].items() if w < 0 and -w * weights[u] < s)
                    lost += x / p * below
            total += chance * (positive - lost)
        else:
            for u, x in enumerate(z):
                if x < 0:
                    above = sum(q * w for w, q in laws[u].items() if w > 0 and w * weights[u] > -s)
                    total += chance * -x / m * above
    assert total == labels_bound(laws, weights)


def test_each_users_own_law_in_the_exchangeable_bound_is_no_bound():
    """(w_1 + ... + w_n)_+/n needs one law for all users: with the own laws of two users it falls below the truth."""
    g = [ONE, -ONE]
    rows = [[Fraction(1, 4), Fraction(3, 4)], [Fraction(3, 4), Fraction(1, 4)]]
    laws = [own_law(g, row)[0] for row in rows]
    for victim in laws:
        sums = itertools.product(*(law.items() for law in (*laws, victim)))
        mean = sum(a * b * c * max(x + y + z, ZERO) for (x, a), (y, b), (z, c) in sums) / 3
        assert mean == Fraction(13, 24)
    assert divergence_of_signed(g, rows) == labels_bound(laws, [ONE, ONE]) == Fraction(5, 8)
