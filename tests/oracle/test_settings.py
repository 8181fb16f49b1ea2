"""Sentences on views, on who takes part and on several reports, from their definitions: exact fractions, no package."""

import itertools
import math
from fractions import Fraction
from math import comb

import pytest

from . import histograms, laws
from .histograms import divergence_of_users as divergence
from .laws import histogram as law_of
from .laws import mixed, together
from .world import Coordinates, Curve, Days, Group, Table, Truth, Unary, World

F = Fraction
E = F(13, 10)
THREE, TWO = (histograms.randomized_response(k, F(3)) for k in (3, 2))
SKEW = [[F(x, 12) for x in row] for row in ((6, 4, 2), (1, 5, 6), (3, 3, 6))]
FAR = [[F(x, 12) for x in row] for row in ((8, 0, 4), (2, 6, 4), (1, 1, 10))]
TABLES = THREE, SKEW, FAR


def above(p, q, E=E):
    return laws.above(p, q, E)


# --- views


@pytest.mark.parametrize("n", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_sums_are_at_most_two_rounds_of_the_worst_bit(n):
    p, q = F(3, 4), F(1, 4)
    bit = Truth(World((Group(n, Table(((1 - p, p), (1 - q, q)))),)))
    curve = Curve((x, bit.delta(x)) for x in (F(1), *bit.kinks()))
    sums = Truth(World((Group(n, Unary(3, p, q)),), seen=Coordinates()))
    for order in (F(1), F(6, 5), F(2)):
        assert sums.delta(order) <= curve.rounds(2, order)


def test_coordinates_that_depend_on_each_other_are_no_product():
    """Sums of one-hot messages are their histogram; two bits whose sum mod 2 is the input say nothing one by one."""
    rows = [tuple(row) for row in THREE]
    hot = [{tuple(int(i == y) for i in range(3)): p for y, p in enumerate(row)} for row in rows]

    def sums(row, other):
        return laws.combined([other], lambda a, b: tuple(map(sum, zip(a, b, strict=True))), row)

    bits = [[{0: 1 - row[i], 1: row[i]} for i in (0, 1)] for row in rows[:2]]
    assert above(sums(hot[0], hot[2]), sums(hot[1], hot[2])) == divergence([rows[0], rows[2]], [rows[1], rows[2]], E)
    assert above(*(together(*b) for b in bits)) > divergence(rows[:1], rows[1:2], E)
    parity = [{(0, x): F(1, 2), (1, 1 - x): F(1, 2)} for x in (0, 1)]
    single = [[mixed(*((p, {v[i]: F(1)}) for v, p in row.items())) for row in parity] for i in (0, 1)]
    assert above(*parity, F(1)) == 1 > above(*single[0], F(1)) == above(*single[1], F(1)) == 0


@pytest.mark.parametrize("most", [0, 1, 2])
def test_rejected_vectors_cost_little(most):
    """Vectors with more than so many ones are left out: delta may grow by (1 + E) n f, f the chance of one that is."""
    n, p, q = 2, F(3, 4), F(1, 5)
    rows = [Unary(3, p, q).row(x) for x in range(3)]
    f = max(sum(mass for y, mass in row.items() if sum(y) > most) for row in rows)

    def seen(messages, kept):
        left = [y for y in messages if not kept or sum(y) <= most]
        return len(left), tuple(map(sum, zip((0, 0, 0), *left, strict=True)))

    def law(data, kept):
        return laws.merged((seen(c, kept), m) for c, m in together(*(rows[x] for x in data)).items())

    whole, less = ([law((x, 2), kept) for x in (0, 1)] for kept in (False, True))
    assert above(*less) <= above(*whole) + (1 + E) * n * f
    assert most < 2 or above(*less) != above(*whole)


# --- who takes part


@pytest.mark.parametrize("rows", TABLES)
def test_one_more_user_of_any_kind_hides_more(rows):
    for n in (1, 2, 3):
        assert histograms.worst_true_divergence(rows, n + 1, E)[0] <= histograms.worst_true_divergence(rows, n, E)[0]
    for more in (SKEW[1], FAR[0], [F(1), F(0), F(0)]):
        users = [rows[0], rows[2]], [rows[1], rows[2]]
        assert divergence(*([*u, more] for u in users), E) <= divergence(*users, E)


def lost(rows, x, others, chances):
    """The law of the histogram of what arrives: of others each with its chance."""
    return law_of(
        [[*rows[x], F(0)], *([*(c * p for p in rows[z]), 1 - c] for z, c in zip(others, chances, strict=True))]
    )


@pytest.mark.parametrize("rows", TABLES)
@pytest.mark.parametrize("n", [2, 3])
def test_drop_out_is_a_mean_and_a_scaled_triple(rows, n):
    rho, other = F(4, 5), rows[2]
    truth = above(*(lost(rows, x, (2,) * (n - 1), (rho,) * (n - 1)) for x in (0, 1)))
    each = [divergence([rows[0], *[other] * k], [rows[1], *[other] * k], E) for k in range(n)]
    assert truth == sum(comb(n - 1, k) * rho**k * (1 - rho) ** (n - 1 - k) * d for k, d in enumerate(each))
    assert truth == histograms.triple_divergence(rows[0], rows[1], [rho * p for p in other], n, E)
    kept = [y for y, p in enumerate(other) if p]
    G = [(rows[0][y] - E * rows[1][y]) / other[y] for y in kept]
    sums = histograms.multinomial_positive_part(G, [rho * other[y] for y in kept], n) / (n * rho)
    assert truth == sums + sum(max(a - E * b, 0) for a, b, c in zip(*rows, strict=True) if not c)
    blanket = [rho * min(column) for column in zip(*rows, strict=True)]
    assert truth <= histograms.triple_divergence(rows[0], rows[1], blanket, n, E)


def test_users_who_are_lost_with_chances_of_their_own():
    """The mean over who is there, and at most Theorem D's: C others hide, each with her chance times the blanket's."""
    chances = F(4, 5), F(1, 3)
    blanket = [min(column) for column in zip(*SKEW, strict=True)]
    mass = sum(blanket)
    hidden = [F(1)]
    for c in chances:
        hidden = [
            a + b
            for a, b in zip(
                [*(x * (1 - c * mass) for x in hidden), F(0)], [F(0), *(x * c * mass for x in hidden)], strict=True
            )
        ]
    drawn = [p / mass for p in blanket]
    bound = sum(p * divergence([SKEW[0], *[drawn] * k], [SKEW[1], *[drawn] * k], E) for k, p in enumerate(hidden))
    for others in itertools.product(range(3), repeat=2):
        truth = above(*(lost(SKEW, x, others, chances) for x in (0, 1)))
        there = {k: math.prod(c if i in k else 1 - c for i, c in enumerate(chances)) for k in ((), (0,), (1,), (0, 1))}
        mean = sum(
            w * divergence(*([SKEW[x], *(SKEW[others[i]] for i in k)] for x in (0, 1)), E) for k, w in there.items()
        )
        assert truth <= mean <= bound  # equal where all others hold one input: who is lost is then not asked


@pytest.mark.parametrize("law", [{0: F(1, 2), 3: F(1, 2)}, {1: F(1, 3), 2: F(2, 3)}])
def test_a_number_of_others_is_at_best_the_least(law):
    for rows in TABLES:
        each = {k: divergence([rows[0], *[rows[2]] * k], [rows[1], *[rows[2]] * k], E) for k in law}
        assert sum(p * each[k] for k, p in law.items()) <= each[min(law)]


def test_a_poisson_number_without_the_victim():
    """Histogram by histogram: the ratio of having her and not is the mean of her ratios, over lambda."""
    rate, row, other = F(3, 2), THREE[0], SKEW[2]
    for k in range(3):
        first, second = law_of([row] + [other] * k), law_of([other] * (k + 1))
        for v, p in first.items():
            ratio = sum(c * row[y] / other[y] for y, c in enumerate(v))
            chance = rate**k / math.factorial(k), rate ** (k + 1) / math.factorial(k + 1)
            assert chance[0] * p == chance[1] * second[v] * ratio / rate
        assert rate**k / (math.factorial(k) * (k + 1)) == rate ** (k + 1) / math.factorial(k + 1) / rate


@pytest.mark.parametrize("rho", [F(4, 5), F(1, 3)])
def test_a_removal_is_hidden_up_to_numbers_that_one_world_never_has(rho):
    for n in (2, 3):
        slots = [[*(rho * p for p in THREE[2]), 1 - rho]] * (n - 1)
        there, missing = [*THREE[0], F(0)], [F(0)] * 3 + [F(1)]
        for order in (F(1), F(100), F(10**6)):
            assert divergence([there, *slots], [missing, *slots], order) >= rho ** (n - 1)
            assert divergence([missing, *slots], [there, *slots], order) >= (1 - rho) ** (n - 1)
        assert divergence([missing, *slots], [there, *slots], F(10**9)) == (1 - rho) ** (n - 1)


def test_default_reports():
    """The blanket of all inputs serves where nobody else sends one, if it covers their mass."""
    m = [min(column) for column in zip(*THREE, strict=True)]
    uniform, gamma = [F(1, 3)] * 3, sum(m)
    assert all(w == x / gamma for w, x in zip(uniform, m, strict=True))  # so that its ratios are 1/gamma
    told = [histograms.triple_divergence(*pair, m, 2, E) for pair in ((THREE[0], uniform), (uniform, THREE[0]))]
    assert told == [F(1, 10), F(44, 375)]
    sure = [F(1), F(0), F(0)]  # less than the blanket somewhere: only others who never send it keep the blanket
    bound = histograms.triple_divergence(THREE[1], sure, m, 2, E)
    assert all(divergence([THREE[1], row], [sure, row], E) <= bound for row in THREE)
    assert divergence([THREE[1], sure], [sure, sure], E) > bound
    for rows in TABLES:
        mean = [sum(column) / 3 for column in zip(*rows, strict=True)]
        for n, order in itertools.product((1, 2, 3), (F(1), E, F(2))):
            for others in itertools.combinations_with_replacement(range(3), n - 1):
                held = [rows[x] for x in others]
                step = {
                    (a, b): divergence([rows[a], *held], [rows[b], *held], order)
                    for a, b in itertools.permutations(range(3), 2)
                }
                first, last = (
                    divergence(*([row, *held] for row in pair), order) for pair in ((rows[0], mean), (mean, rows[1]))
                )
                assert first <= max(step[0, b] for b in (1, 2))
                assert divergence([rows[0], *held], [rows[1], *held], order**2) <= first + order * last


def test_reports_that_are_not_shuffled():
    """The whole batch with a chance, seen or not; by name, no level below the local budget is free."""
    r, users = F(1, 10), [[THREE[x], THREE[2], THREE[2]] for x in (0, 1)]
    one, many = divergence(*(u[:1] for u in users), E), divergence(*users, E)

    def in_order(rows):
        return together(*(dict(enumerate(row)) for row in rows))

    def law(rows, seen):
        shuffled = mixed(*((p, {("shuffled", y): F(1)}) for y, p in sorted_law(rows).items()))
        plain = {("plain", y) if seen else ("shuffled", y): p for y, p in in_order(rows).items()}
        return mixed((1 - r, shuffled), (r, plain))

    def sorted_law(rows):
        """A uniform order of the messages."""
        orders = list(itertools.permutations(rows))
        return mixed(*((F(1, len(orders)), in_order(order)) for order in orders))

    assert above(*(law(u, True) for u in users)) == r * one + (1 - r) * many
    assert above(*(law(u, False) for u in users)) < r * one + (1 - r) * many
    for order in (E, F(2), F(299, 100)):
        assert r * divergence(*(u[:1] for u in users), order) > 0


def test_a_shuffler_that_is_not_quite_uniform():
    rows, tau, orders = (
        [[THREE[x], THREE[2], THREE[1]] for x in (0, 1)],
        F(1, 12),
        list(itertools.permutations(range(3))),
    )
    chances = [F(1, 6)] * 6
    chances[0], chances[3] = chances[0] + tau, chances[3] - tau

    def law(users, chances):
        laws = (together(*(dict(enumerate(users[i])) for i in order)) for order in orders)
        return mixed(*zip(chances, laws, strict=True))

    exact, off = ([law(u, c) for u in rows] for c in ([F(1, 6)] * 6, chances))
    assert above(*exact) == divergence(*rows, E) < above(*off) <= above(*exact) + (1 + E) * tau


# --- several reports of one user


def symmetric(ratios, r):
    """The elementary symmetric sum of degree r."""
    return sum((math.prod(c) for c in itertools.combinations(ratios, r)), F(0))


@pytest.mark.parametrize(("rows", "r", "n"), [(TWO, 2, 2), (TWO, 2, 3), (TWO, 3, 2), (SKEW, 2, 2)])
def test_all_shuffled_is_a_symmetric_sum(rows, r, n):
    """r places of n r; of the blanket in place of the law of the others a bound, its null symbols with ratio 0."""

    def by_sums(mu):
        law = [(row, p) for *row, p in zip(*rows[:2], mu, strict=True)]
        law = [((a / p, b / p), p) for (a, b), p in law] + [((F(0), F(0)), 1 - sum(mu))]
        found = F(0)
        for c in itertools.product([x for x in law if x[1]], repeat=n * r):
            gain = symmetric([x[0] for x, _ in c], r) - E * symmetric([x[1] for x, _ in c], r)
            found += max(gain, F(0)) * math.prod(p for _, p in c)
        return found / comb(n * r, r)

    def truth(others):
        return divergence(*([rows[x]] * r + [rows[z] for z in others] for x in (0, 1)), E)

    last = len(rows) - 1
    assert by_sums(rows[last]) == truth((last,) * (r * (n - 1)))
    held = itertools.product(range(len(rows)), repeat=n - 1)
    bound = by_sums([min(column) for column in zip(*rows, strict=True)])
    assert max(truth(tuple(x for x in h for _ in range(r))) for h in held) <= bound


@pytest.mark.parametrize(("r", "n"), [(2, 1), (2, 2), (3, 1), pytest.param(2, 3, marks=pytest.mark.slow)])
def test_groups_take_steps_among_all_messages(r, n):
    """e^(r eps) of the user is at most that of n r users of one report, times a sum; without the sum it is false."""
    for rows in (TWO, SKEW):
        largest = 0
        for order in (F(1), F(11, 10), F(3, 2)):
            step = histograms.worst_true_divergence(rows, n * r, order)[0]
            for values in itertools.product(itertools.combinations_with_replacement(range(len(rows)), r), repeat=n + 1):
                first, second, *others = ([rows[x] for x in v] for v in values)
                told = divergence(sum(others, first), sum(others, second), order**r)
                assert told <= step * sum(order**j for j in range(r))
                largest = max(largest, told / step if step else 0)
        assert largest > 1


def test_values_that_differ_are_at_most_rounds_of_their_own():
    for rows, (v, w) in itertools.product((THREE, SKEW), (((0, 1), (2, 2)), ((0, 0), (1, 2)), ((0, 1), (1, 0)))):
        for others in itertools.product(range(3), repeat=2):
            shuffled = [law_of([rows[x] for x in (*own, *others)]) for own in (v, w)]
            rounds = [
                together(*(law_of([rows[x], rows[z]]) for x, z in zip(own, others, strict=True))) for own in (v, w)
            ]
            assert above(*shuffled) <= above(*rounds)


def test_chi_squared_of_bundles():
    def chi(p, q):
        return sum(a * a / b for a, b in zip(p, q, strict=True)) - 1

    for rows, r in itertools.product((THREE, SKEW), (2, 3)):
        bundled = [[math.prod(c) for c in itertools.product(row, repeat=r)] for row in rows[:2]]
        assert chi(*bundled) == (1 + chi(*rows[:2])) ** r - 1


RESPONSE = Table(tuple(map(tuple, THREE)))


def on_days(*attends):
    return Truth(World((Group(len(attends), RESPONSE),), seen=Days(attends)))


@pytest.mark.parametrize(
    ("attends", "alike", "is_exact"),
    [
        (((0, 1), (0, 1), (0,)), 2, True),  # days tell the classes apart: the second shows the victim's alone
        (((0, 1), (0,), (0,)), 1, True),
        (((0,), (1,), (0, 1)), 1, False),  # of three classes two days are seen
        (((0,), (0,), (0, 1)), 2, True),
        (((0, 2), (1, 2), (0, 1)), 1, True),
    ],
)
def test_reports_that_are_kept_tell_no_more_than_one_day(attends, alike, is_exact):
    order = F(3, 2)
    told = on_days(*attends).delta(order)
    bound = Truth(World((Group(alike, RESPONSE),))).delta(order)
    assert told == bound if is_exact else told < bound
    assert told <= Truth(World((Group(1, RESPONSE),))).delta(order)


def test_fresh_noise_on_top_of_what_is_kept():
    """Each day's answer about a report that is kept: at most that report's histogram, and at most the days'."""
    noise, n = [[F(2, 3), F(1, 3)], [F(1, 3), F(2, 3)]], 2

    def law(data):
        found = []
        for kept in itertools.product((0, 1), repeat=n):
            weight = math.prod(TWO[x][y] for x, y in zip(data, kept, strict=True))
            day = law_of([noise[y] for y in kept])
            found.append((weight, together(day, day)))
        return mixed(*found)

    both = [[sum(TWO[x][y] * noise[y][z] for y in (0, 1)) for z in (0, 1)] for x in (0, 1)]
    day = Truth(World((Group(n, Table(tuple(map(tuple, both)))),), rounds=2))
    kept = Truth(World((Group(n, Table(tuple(map(tuple, TWO)))),)))
    for order in (F(1), F(11, 10), F(3, 2)):
        told = max(above(law((x, z)), law((1 - x, z)), order) for x in (0, 1) for z in (0, 1))
        assert told <= kept.delta(order)
        assert told <= day.delta(order)


def test_values_that_change_at_times_that_depend_on_data():
    """One user: a constant value, whose report is kept, against one that changes and is drawn anew."""
    row = TWO[0]
    constant = {(y, y): p for y, p in enumerate(row)}
    changed = together(dict(enumerate(row)), dict(enumerate(TWO[1])))
    for order in (F(1), F(9), F(10**6)):
        assert above(changed, constant, order) == F(5, 8)
    blocks = Truth(World((Group(1, Table(tuple(map(tuple, TWO)))),), rounds=2))
    assert blocks.delta(F(9)) == 0 < blocks.delta(F(89, 10))
    fixed = [together(dict(enumerate(TWO[x])), dict(enumerate(TWO[z]))) for x, z in ((0, 1), (1, 0))]
    assert above(*fixed) <= blocks.delta(E)
