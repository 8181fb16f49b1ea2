"""The oracle of worlds against hand computations, brute force, and the oracles that were written before it."""

import itertools
from fractions import Fraction
from random import Random

import pytest

from tests.sampled import some

from . import composition, histograms, joint, users_who_differ
from .laws import above, in_order, mixed
from .world import (
    Adaptive,
    AnyTwo,
    Chosen,
    Curve,
    Data,
    Drawn,
    Everyone,
    Group,
    Joint,
    Listed,
    OneAttribute,
    OthersLost,
    Poisson,
    Silent,
    Table,
    Truth,
    Within,
    World,
)

F = Fraction
ORDERS = (F(1, 2), F(1), F(11, 10), F(3, 2), F(2), F(9))


def response(k, t):
    return Table(tuple(tuple(row) for row in histograms.randomized_response(k, F(t))))


def table(rows, places=None):
    return Table(tuple(tuple(map(F, row)) for row in rows), places)


def hundredths(*rows):
    return table([[F(p, 100) for p in row] for row in rows])


def alike(n, runs, neighbours=None, **words):
    return Truth(World((Group(n, runs, neighbours or AnyTwo()),), **words))


def drawn_table(rng, inputs=3, messages=3):
    return users_who_differ.random_table(inputs, messages, rng)


# --- by hand


def test_one_and_two_users_of_binary_response():
    # t = 3: one user has 3/4 - E/4. Two users, (0, 0) and (1, 0): counts of message 0 are 2, 1, 0 with probabilities
    # (9, 6, 1)/16 and (3, 10, 3)/16.
    assert alike(1, response(2, 3)).delta(F(2)) == F(1, 4)
    truth = alike(2, response(2, 3))
    assert truth.between([(0, 0), (0, 0)], [(0, 1), (0, 0)], F(1)) == F(6, 16)
    assert truth.between([(0, 0), (0, 0)], [(0, 1), (0, 0)], F(2)) == F(3, 16)
    assert truth.between([(0, 1), (0, 0)], [(0, 0), (0, 0)], F(2)) == F(1, 16)
    assert truth.delta(F(2)) == F(3, 16)
    assert truth.total_variation() == F(3, 8)
    assert truth.kinks() == [F(5, 3), F(3)]


def test_moments_and_tradeoffs():
    truth = alike(1, response(2, 3))
    assert truth.moment(2) == F(9, 16) / F(1, 4) + F(1, 16) / F(3, 4)
    # Reject on message 1: a first kind of 1/4, a second kind of 1/4; linear between (0, 1), there and (1, 0).
    assert [truth.tradeoff(F(x)) for x in (0, F(1, 8), F(1, 4), F(5, 8), 1)] == [1, F(5, 8), F(1, 4), F(1, 8), 0]
    sure = alike(1, table([[1, 0], [F(1, 2), F(1, 2)]]))
    assert sure.moment(2) is None
    assert (sure.unbounded(), sure.delta(F(10**9))) == (F(1, 2), F(1, 2))
    assert sure.tradeoff(F(0)) == F(1, 2)


def test_two_rounds_of_one_user():
    # P = (9, 6, 1)/16 and Q = (1, 6, 9)/16 by the number of zeros.
    truth = alike(1, response(2, 3), rounds=2)
    assert truth.delta(F(1)) == F(8, 16)
    assert truth.delta(F(5)) == F(4, 16)
    assert truth.delta(F(9)) == 0
    assert truth.delta(9 - F(1, 10**19)) == F(1, 16 * 10**19)


def test_one_part_is_drawn():
    f = response(2, 50)
    truth = alike(1, Drawn(((F(1, 10), f), (F(9, 10), f))), OneAttribute())
    assert truth.delta(F(1)) == F(9, 10) * F(49, 51)
    assert alike(1, Drawn(((F(1, 10), f), (F(9, 10), f)))).delta(F(1)) == F(49, 51)


def test_two_attributes():
    # Both differ: (9, 3, 3, 1)/16 against (1, 3, 3, 9)/16. One differs: as one report alone.
    both = Joint((response(2, 3), response(2, 3)))
    assert alike(1, both).delta(F(1)) == F(1, 2)
    assert alike(1, both, OneAttribute()).delta(F(1)) == F(1, 2)
    assert alike(1, both).delta(F(2)) == F(7, 16)
    assert alike(1, both, OneAttribute()).delta(F(2)) == F(1, 4)


def test_a_sample_of_one():
    # One of two people, who hold (x, z): half of what is told of x, half of z. The other one cancels nothing at E = 1.
    truth = alike(2, response(2, 3), takes_part=Chosen(1))
    assert truth.delta(F(1)) == F(1, 4)
    # (x, x) against (z, x): 3/4 against 1/2, 1/4 against 1/2.
    assert truth.delta(F(3, 2)) == F(1, 8)
    assert truth.delta(F(2)) == 0


def test_neighbours_are_compared_and_others_hold_anything():
    rows = hundredths((34, 33, 33), (33, 34, 33), (10, 10, 80))
    near = alike(4, rows, Listed(((0, 1),)), takes_part=Chosen(2))
    assert near.delta(F(101, 100)) == F(1, 500)
    places = Table(rows.rows, (F(0), F(1), F(5)))
    assert alike(4, places, Within(F(1)), takes_part=Chosen(2)).delta(F(101, 100)) == F(1, 500)
    assert alike(2, rows, Listed(((0, 1), (1, 2), (2, 0)))).delta(F(1)) == alike(2, rows).delta(F(1))


def test_data_shuffled_by_hand():
    # Positions of ratios 3 and 1 (nothing is told at the second): the victim is at the first with chance 1/2.
    world = World((Group(1, response(2, 3)), Group(1, table([[F(1, 2)] * 2] * 2))), seen=Data())
    assert Truth(world).delta(F(1)) == F(1, 4)
    assert Truth(World(world.groups)).delta(F(1)) == F(1, 4)  # messages: a histogram of her own and a coin


def test_lost_messages_by_hand():
    # The other's message arrives with chance 1/2: the mean of one user and of two.
    lost = alike(2, response(2, 3), takes_part=OthersLost(F(1, 2)))
    assert lost.between([(0, 0), (0, 0)], [(0, 1), (0, 0)], F(2)) == (F(3, 16) + F(1, 4)) / 2
    alone = World((Group(2, response(2, 3), honest=1),))
    assert Truth(alone).delta(F(2)) == F(1, 4)


# --- against what was written before


@pytest.mark.parametrize("seed", range(6))
def test_all_users_alike(seed):
    rng = Random(seed)
    rows, n = histograms.random_table(rng, zeros=seed % 2 == 1), rng.randint(1, 3)
    truth = alike(n, table(rows))
    for E in ORDERS:
        assert truth.delta(E) == histograms.worst_true_divergence(rows, n, E)[0]


@pytest.mark.parametrize("seed", range(4))
def test_joint_and_drawn_tables(seed):
    rng = Random(seed)
    parts = [drawn_table(rng, 2, 2), drawn_table(rng, 2, 3 if seed % 2 else 2)]
    w = (F(1, 3), F(2, 3))
    joint_inputs, joint_rows = joint.joint_table(parts)
    drawn_inputs, drawn_rows = joint.parallel_table(w, parts)
    tables = tuple(table(part) for part in parts)
    for what, inputs, rows in (
        (Joint(tables), joint_inputs, joint_rows),
        (Drawn(tuple(zip(w, tables, strict=True))), drawn_inputs, drawn_rows),
    ):
        assert what.inputs == tuple(inputs)
        one = [
            (a, b) for a, b in itertools.combinations(range(4), 2) if sum(map(int.__ne__, inputs[a], inputs[b])) == 1
        ]
        for E in (F(1), F(6, 5)):
            assert alike(2, what).delta(E) == histograms.worst_true_divergence(rows, 2, E)[0]
            known = max(users_who_differ.messages_shuffled([rows[a], rows[b]], [rows], E) for a, b in one)
            assert alike(2, what, OneAttribute()).delta(E) == known


@pytest.mark.parametrize("seed", some(range(4), 2))
def test_users_who_differ(seed):
    rng = Random(seed)
    first, second = drawn_table(rng), drawn_table(rng)
    groups = Group(2, table(first)), Group(1, table(second))
    for E in ORDERS:
        positions = [users_who_differ.constant(t) for t in (first, first, second)]
        assert Truth(World(groups, seen=Data())).delta(E) == users_who_differ.data_shuffled(positions, 3, E)
        for chance in (F(0), F(1, 3)):
            found = [Truth(World(groups, OthersLost(chance), victim=v)).delta(E) for v in (0, 1)]
            assert found[0] == users_who_differ.messages_shuffled(first, [first, second], E, chance)
            assert found[1] == users_who_differ.messages_shuffled(second, [first, first], E, chance)
            assert Truth(World(groups, OthersLost(chance))).delta(E) == max(found)


def test_rounds_against_products_of_pairs():
    t = F(3)
    a0, a1, a2 = histograms.generic_triple(t)
    pair = composition.pair_of_triple((a0, a1, a0), 2)
    truth = alike(2, response(2, 3), rounds=3)
    data = [(0, 0), (0, 0)], [(0, 1), (0, 0)]
    for E in ORDERS:
        assert truth.between(*data, E) == composition.divergence(composition.product([pair] * 3), E)
    assert a2 == [F(1, 4), F(1, 4)]


# --- equalities between sentences


@pytest.mark.parametrize("seed", range(3))
def test_a_poisson_sample_is_a_silent_message(seed):
    rng = Random(seed)
    rows, rate = table(drawn_table(rng)), F(2, 5)
    sampled, silent = alike(3, rows, takes_part=Poisson(rate)), alike(3, Silent(rows, rate))
    for E in ORDERS:
        assert sampled.delta(E) == silent.delta(E)


@pytest.mark.parametrize("seed", range(3))
def test_all_chosen_none_lost_and_data_of_users_alike(seed):
    rows = table(drawn_table(Random(seed)))
    plain = alike(3, rows)
    first_only = Listed(tuple(((x, 0), (z, 0)) for x, z in itertools.combinations(range(3), 2)))
    same = (
        alike(3, rows, takes_part=Chosen(3)),
        alike(3, rows, takes_part=OthersLost(F(0))),
        alike(3, rows, takes_part=Poisson(F(1))),
        alike(3, Silent(rows, F(1))),
        alike(3, Joint((rows,))),
        alike(3, Drawn(((F(1), rows), (F(0), response(2, 7)))), first_only),
        Truth(World((Group(1, rows), Group(2, rows)))),
        Truth(World((Group(2, rows), Group(1, rows)), seen=Data())),
        Truth(World((Group(2, rows), Group(7, rows, honest=1)))),
    )  # fmt: skip
    for E in ORDERS:
        assert {truth.delta(E) for truth in same} == {plain.delta(E)}


def test_chosen_by_enumerating_reports():
    """A sample by the law of sorted reports, subset by subset."""
    rows = drawn_table(Random(5), 2, 3)
    laws = [
        mixed(*((F(1, 3), in_order([rows[x] for x in chosen])) for chosen in itertools.combinations(data, 2)))
        for data in ((0, 1, 1), (1, 1, 1))
    ]
    truth = alike(3, table(rows), takes_part=Chosen(2))
    for E in ORDERS:
        found = truth.between([(0, 0), (0, 1), (0, 1)], [(0, 1), (0, 1), (0, 1)], E)
        assert found == above(*laws, E)


def test_rounds_whose_data_are_chosen_later():
    one, two = alike(2, response(3, 3)), alike(2, response(3, 3), rounds=2)
    for E in ORDERS:
        assert Adaptive([one]).delta(E) == one.delta(E)
        assert Adaptive([one, one]).delta(E) >= two.delta(E)
    pair = composition.pair_of_triple(tuple(response(2, 3).rows[i] for i in (0, 1, 0)), 1)
    single = alike(1, response(2, 3))
    known = composition.adaptive_two_rounds(pair, [pair, composition.swapped(pair)], F(2))
    assert Adaptive([single, single]).delta(F(2)) == known == alike(1, response(2, 3), rounds=2).delta(F(2))


def test_a_curve_and_the_pair_that_has_it():
    curve = Curve([(F(1), F(1, 5)), (F(3, 2), F(1, 10)), (F(2), F(1, 5)), (F(3), F(0))])
    assert [curve.rounds(1, E) for E in (F(1), F(5, 4), F(2), F(3), F(7))] == [F(1, 5), F(3, 20), F(1, 15), 0, 0]
    assert sum(p for p, _ in curve.views) == sum(q for _, q in curve.views) == curve.total
    assert Curve([(F(1), F(1, 2)), (F(11, 10), F(0))]).views is None  # too steep for any pair that is alike both ways
    tail = Curve([(F(1), F(1, 5))])
    assert tail.rounds(1, F(100)) == F(1, 5)
    assert tail.rounds(2, F(1)) == 1 - F(4, 5) ** 2


def test_words_are_seen_at_a_glance():
    world = World((Group(2, response(2, 3)),), Everyone(), rounds=2, victim=0)
    assert (world.people, world.rounds) == (2, 2)
    assert Truth(World((Group(2, response(2, 3), honest=0), Group(1, response(2, 3))))).delta(F(1)) == F(1, 2)
