"""The oracle against hand computations, brute force, and the theorems and counterexamples of the literature."""

import itertools
import math
from fractions import Fraction
from random import Random

import pytest

from .histograms import (
    blanket_components,
    blanket_divergence,
    blanket_divergence_by_histograms,
    blanket_triple,
    divergence_of_users,
    generic_triple,
    hadamard_response,
    local_ratio,
    multinomial_positive_part,
    multiset_laws,
    normalised,
    random_table,
    randomized_response,
    saturation_order,
    standard_clone_triple,
    total_variation,
    triple_divergence,
    true_divergence,
    variation_ratio_triple,
    worst_blanket_divergence,
    worst_case_triple,
    worst_true_divergence,
)
from .laws import above, combined, in_order

ORDERS = (Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(2), Fraction(7, 2), Fraction(8))
KINDS = tuple(itertools.product((False, True), repeat=2))


def brute_force_divergence(rows0, rows1, E):
    """Enumerate every sequence of reports, sort it, and compare the two laws of the sorted sequence."""
    return above(*map(in_order, (rows0, rows1)), E)


def brute_force_positive_part(values, masses, n):
    atoms = [*zip(values, masses, strict=True), (Fraction(0), 1 - sum(masses))]
    return sum(
        math.prod(mass for _, mass in draws) * max(sum(value for value, _ in draws), Fraction(0))
        for draws in itertools.product(atoms, repeat=n)
    )


# --- by hand


def test_one_user_is_the_local_divergence():
    table = randomized_response(2, Fraction(3))
    assert true_divergence(table, [0], [1], Fraction(1)) == Fraction(1, 2)
    assert true_divergence(table, [0], [1], Fraction(2)) == Fraction(3, 4) - 2 * Fraction(1, 4)
    assert true_divergence(table, [0], [1], Fraction(3)) == 0


def test_two_users_of_binary_response_by_hand():
    # t = 3, data sets (0, 0) and (1, 0): counts of message 0 are 2, 1, 0 with
    # probabilities (9, 6, 1)/16 and (3, 10, 3)/16.
    table = randomized_response(2, Fraction(3))
    assert true_divergence(table, [0, 0], [1, 0], Fraction(1)) == Fraction(6, 16)
    assert true_divergence(table, [0, 0], [1, 0], Fraction(2)) == Fraction(3, 16)
    assert true_divergence(table, [1, 0], [0, 0], Fraction(1)) == Fraction(4 + 2, 16)
    assert true_divergence(table, [1, 0], [0, 0], Fraction(2)) == Fraction(1, 16)


def test_blanket_of_binary_response_by_hand():
    # t = 3, n = 2, E = 2: G is 1, -5, 0 with mass 1/4, 1/4, 1/2; S > 0 at (1, 1) and (1, 0).
    table = randomized_response(2, Fraction(3))
    expected = (Fraction(1, 16) * 2 + 2 * Fraction(1, 8) * 1) / 2
    assert blanket_divergence(table, 0, 1, 2, Fraction(2)) == expected == Fraction(3, 16)
    assert blanket_divergence_by_histograms(table, 0, 1, 2, Fraction(2)) == expected


def test_singular_part_by_hand():
    # Message 2 betrays input 0, message 3 input 1; input 2 emits neither, m = (1/4, 1/4, 0, 0).
    table = [
        [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2), Fraction(0)],
        [Fraction(1, 4), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)],
        [Fraction(1, 2), Fraction(1, 2), Fraction(0), Fraction(0)],
    ]
    components, singular = blanket_components(table, 0, 1)
    assert components == {(Fraction(1), Fraction(1)): Fraction(1, 2)}
    assert singular == [(Fraction(1, 2), Fraction(1, 4)), (Fraction(0), Fraction(1, 4))]
    assert blanket_divergence(table, 0, 1, 5, Fraction(3, 2)) == Fraction(1, 2) - Fraction(3, 8)
    assert blanket_divergence(table, 1, 0, 5, Fraction(3, 2)) == Fraction(1, 4)
    assert local_ratio(table) is None


def test_a_deterministic_mechanism_has_no_blanket():
    identity = [[Fraction(int(x == y)) for y in range(3)] for x in range(3)]
    for n in (1, 2, 4):
        assert blanket_components(identity, 0, 1)[0] == {}
        assert worst_blanket_divergence(identity, n, Fraction(5))[0] == 1
        assert worst_true_divergence(identity, n, Fraction(5))[0] == 1


def test_worst_data_set_covers_every_neighbour():
    table = random_table(Random(5), zeros=True)
    n, E = 3, Fraction(3, 2)
    k = len(table)
    every = max(
        true_divergence(table, [x0, *others], [x1, *others], E)
        for x0, x1 in itertools.permutations(range(k), 2)
        for others in itertools.product(range(k), repeat=n - 1)
    )
    value, (x0, x1), others = worst_true_divergence(table, n, E)
    assert value == every == true_divergence(table, [x0, *others], [x1, *others], E)
    assert worst_true_divergence(table, n, E, multiset_laws(table, n))[0] == value


# --- brute force


@pytest.mark.parametrize("seed", range(12))
def test_convolution_against_all_sequences_of_reports(seed):
    rng = Random(seed)
    table = random_table(rng, zeros=seed % 2 == 1)
    n = 3
    data0 = [rng.randrange(len(table)) for _ in range(n)]
    data1 = [(data0[0] + 1) % len(table), *data0[1:]]
    for E in ORDERS:
        expected = brute_force_divergence([table[x] for x in data0], [table[x] for x in data1], E)
        assert true_divergence(table, data0, data1, E) == expected


@pytest.mark.parametrize("seed", range(10))
def test_positive_part_against_all_sequences_of_draws(seed):
    rng = Random(seed)
    values = [Fraction(rng.randint(-9, 9), rng.randint(1, 4)) for _ in range(3)]
    weights = [rng.randint(1, 5) for _ in range(4)]
    masses = [Fraction(w, sum(weights)) for w in weights[:3]]
    for n in (1, 2, 4):
        assert multinomial_positive_part(values, masses, n) == brute_force_positive_part(values, masses, n)


@pytest.mark.parametrize("seed", range(24))
def test_the_identity_on_random_tables(seed):
    """E[S_+]/n plus the singular part is the divergence of the explicit histograms."""
    rng = Random(1000 + seed)
    zeros, symmetric = KINDS[seed % 4]
    table = random_table(rng, zeros=zeros, symmetric=symmetric)
    x0, x1 = rng.sample(range(len(table)), 2)
    for n in (1, 2, 4):
        for E in ORDERS:
            expected = blanket_divergence_by_histograms(table, x0, x1, n, E)
            assert blanket_divergence(table, x0, x1, n, E) == expected


def test_the_identity_at_twelve_users():
    table = randomized_response(2, Fraction(4))
    for E in ORDERS:
        assert blanket_divergence(table, 0, 1, 12, E) == blanket_divergence_by_histograms(table, 0, 1, 12, E)
    table = normalised([[5, 1, 0], [1, 1, 2], [2, 3, 1]])
    for E in ORDERS:
        assert blanket_divergence(table, 0, 1, 9, E) == blanket_divergence_by_histograms(table, 0, 1, 9, E)


@pytest.mark.parametrize("seed", range(8))
def test_the_identity_for_general_triples(seed):
    """Any sub-probability A2, also one that A0 and A1 exceed by infinite ratios."""
    rng = Random(seed)
    size = rng.randint(2, 4)
    a0, a1 = normalised([[rng.randint(0, 5) for _ in range(size - 1)] + [1] for _ in range(2)])
    weights = [rng.randint(0, 4) for _ in range(size)]
    a2 = [Fraction(w, sum(weights) + rng.randint(1, 5)) for w in weights]
    for n, E in itertools.product((1, 3, 5), ORDERS):
        smooth = [(x - E * y, z) for x, y, z in zip(a0, a1, a2, strict=True) if z]
        singular = sum((max(x - E * y, Fraction(0)) for x, y, z in zip(a0, a1, a2, strict=True) if not z), Fraction(0))
        value = multinomial_positive_part([g / z for g, z in smooth], [z for _, z in smooth], n) / n + singular
        assert triple_divergence(a0, a1, a2, n, E) == value


@pytest.mark.parametrize("seed", range(8))
def test_orders_below_one_from_the_other_direction(seed):
    """D_E(P0 || P1) = 1 - E + E D_{1/E}(P1 || P0)."""
    rng = Random(seed)
    table = random_table(rng, zeros=seed % 2 == 0)
    data0, data1 = [0, 1, 0], [1, 1, 0]
    for E in ORDERS:
        reverse = true_divergence(table, data1, data0, 1 / E)
        assert true_divergence(table, data0, data1, E) == 1 - E + E * reverse


# --- bounds and their order


@pytest.mark.parametrize("seed", range(32))
def test_lower_bounds_truth_and_blanket_are_ordered(seed):
    rng = Random(2000 + seed)
    zeros, symmetric = KINDS[seed % 4]
    table = random_table(rng, zeros=zeros, symmetric=symmetric)
    n = 3 if len(table) * len(table[0]) > 16 else 4
    laws = multiset_laws(table, n)
    inputs = range(len(table))
    mean = [sum(column) / len(table) for column in zip(*table, strict=True)]
    for E in (Fraction(1), Fraction(3, 2), Fraction(4)):
        truth = worst_true_divergence(table, n, E, laws)[0]
        assert truth <= worst_blanket_divergence(table, n, E)[0]
        x0, x1 = rng.sample(inputs, 2)
        for other in inputs:
            bound = triple_divergence(*worst_case_triple(table, x0, x1, other), n, E)
            assert bound == true_divergence(table, [x0] + [other] * (n - 1), [x1] + [other] * (n - 1), E) <= truth
        assert triple_divergence(table[x0], table[x1], mean, n, E) <= truth


@pytest.mark.parametrize("seed", range(40))
def test_blanket_corrected_variation_ratio_generic_standard_clone_are_ordered(seed):
    """Theorems A and B on identical users, n up to 8."""
    rng = Random(3000 + seed)
    table = random_table(rng, symmetric=seed % 2 == 1)
    t = local_ratio(table)
    x0, x1 = rng.sample(range(len(table)), 2)
    rows = table[x0], table[x1]
    beta = total_variation(*rows)
    p = max(max(a / b, b / a) for a, b in zip(*rows, strict=True))
    for share in (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(1)):
        E = 1 + (t - 1) * share
        for n in (1, 3, 5):
            blanket = blanket_divergence(table, x0, x1, n, E)
            generic = triple_divergence(*generic_triple(t), n, E)
            assert blanket <= generic <= triple_divergence(*standard_clone_triple(t), n, E)
            if p > 1 and p >= E:
                corrected = triple_divergence(*variation_ratio_triple(p, beta, t, corrected=True), n, E)
                assert blanket <= corrected <= generic
        assert blanket_divergence(table, x0, x1, 8, E) <= blanket_divergence(randomized_response(2, t), 0, 1, 8, E)


@pytest.mark.parametrize("seed", range(25))
def test_corrected_variation_ratio_for_users_that_differ(seed):
    """Theorem A with another randomizer for every other user."""
    rng = Random(5000 + seed)
    messages, n = rng.randint(2, 4), rng.randint(2, 4)
    rows = normalised([[rng.randint(1, 9) for _ in range(messages)] for _ in range(n + 1)])
    first0, first1, *others = rows
    ratios = [max(a / b, b / a) for a, b in zip(first0, first1, strict=True)]
    p, beta = max(ratios), total_variation(first0, first1)
    if p == 1:
        return
    q = max(max(a, b) / c for row in others for a, b, c in zip(first0, first1, row, strict=True))
    for share in (Fraction(0), Fraction(1, 4), Fraction(3, 4), Fraction(1)):
        E = 1 + (p - 1) * share
        truth = divergence_of_users([first0, *others], [first1, *others], E)
        assert truth <= triple_divergence(*variation_ratio_triple(p, beta, q, corrected=True), n, E)


@pytest.mark.parametrize("seed", range(15))
def test_poisson_binomial_clones_for_users_that_differ(seed):
    """A random number C of clones of the average of the two rows: delta <= E[delta_{C+1}]."""
    rng = Random(6000 + seed)
    messages, n = rng.randint(2, 4), rng.randint(2, 4)
    first0, first1, *others = normalised([[rng.randint(0, 6) for _ in range(messages - 1)] + [1] for _ in range(n + 1)])
    common = [(a + b) / 2 for a, b in zip(first0, first1, strict=True)]
    weights = [min(c / b for b, c in zip(common, row, strict=True) if b) for row in others]
    clones = [Fraction(1)]
    for weight in weights:
        kept = [mass * (1 - weight) for mass in clones] + [Fraction(0)]
        clones = [a + b * weight for a, b in zip(kept, [Fraction(0), *clones], strict=True)]
    for E in ORDERS:
        bound = sum(mass * triple_divergence(first0, first1, common, c + 1, E) for c, mass in enumerate(clones))
        assert divergence_of_users([first0, *others], [first1, *others], E) <= bound


# --- published statements and counterexamples


def test_generic_triple_is_the_blanket_of_binary_response():
    for t in (Fraction(3, 2), Fraction(4)):
        assert blanket_triple(randomized_response(2, t), 0, 1) == generic_triple(t)


@pytest.mark.parametrize("K", [4, 8, 16])
def test_hadamard_response_has_one_constant_message(K):
    t = Fraction(3)
    table = hadamard_response(K, t)
    p = 1 / (2 * (t + 1))
    q = p - 2 / (K * (t + 1))
    r = p + 2 * t / (K * (t + 1))
    expected = {(t, Fraction(1)): p, (Fraction(1), t): p, (t, t): q, (Fraction(1), Fraction(1)): r}
    assert blanket_components(table, 0, 1) == ({key: mass for key, mass in expected.items() if mass}, [])
    assert 2 * p + q + r == 2 / (t + 1) + 2 * (t - 1) / (K * (t + 1))


@pytest.mark.parametrize("seed", range(6))
def test_blanket_of_a_joint_mechanism_multiplies(seed):
    rng = Random(seed)
    first, second = (random_table(rng, zeros=rng.random() < 0.5) for _ in range(2))
    joint = [[a * b for a in row1 for b in row2] for row1 in first for row2 in second]
    # The joint mechanism's inputs are pairs: x0 = (0, 1) and x1 = (1, 0) differ in both coordinates.
    x0, x1 = 1, len(second)
    (c1, _), (c2, _) = blanket_components(first, 0, 1), blanket_components(second, 1, 0)
    assert blanket_components(joint, x0, x1)[0] == combined([c2], lambda r, s: (r[0] * s[0], r[1] * s[1]), c1)


# --- the generator


@pytest.mark.parametrize(("zeros", "symmetric"), KINDS)
def test_random_tables_are_what_they_claim(zeros, symmetric):
    for seed in range(60):
        table = random_table(Random(seed), zeros=zeros, symmetric=symmetric)
        assert 2 <= len(table) <= 5
        assert 2 <= len(table[0]) <= 6
        assert all(sum(row) == 1 and min(row) >= 0 for row in table)
        assert all(map(any, zip(*table, strict=True)))
        assert (local_ratio(table) is None) == zeros
        assert not symmetric or len({tuple(sorted(row)) for row in table}) == 1
        assert table == random_table(Random(seed), zeros=zeros, symmetric=symmetric)


@pytest.mark.parametrize("seed", range(6))
def test_divergences_are_constant_beyond_the_saturation_order(seed):
    table = random_table(Random(seed), zeros=True)
    n = 2
    limit = saturation_order(table, n)
    assert worst_true_divergence(table, n, limit)[0] == worst_true_divergence(table, n, 2 * limit)[0]
    assert worst_blanket_divergence(table, n, limit) == worst_blanket_divergence(table, n, 2 * limit)
