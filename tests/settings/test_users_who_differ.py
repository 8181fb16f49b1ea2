"""Users who differ: Theorems C and D against exhaustion, brackets against known values, and what is refused."""

import json
import math
import pickle
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, permutations, product
from random import Random

import flint
import pytest
import sympy as sp
from flint import arb

import symamp as sa
from symamp.errors import ArgumentError, FormatError, SupportMismatchError
from symamp.laws.law import BallGparv, Level, nearest_doubles
from symamp.literature.forms.normal import gaussian_delta
from symamp.questions.profile import OneRound
from symamp.settings.users_who_differ import budget_gparv, victims
from symamp.sums.divergence import Settings, enclose_level
from symamp.sums.groups import Group, enclose_groups
from symamp.sums.step_sums import Steps, StepSum
from symamp.verifier import verify
from tests.exactly import as_ball as ball
from tests.exactly import level_of as level
from tests.oracle import users_who_differ as oracle
from tests.oracle import world
from tests.oracle.histograms import randomized_response as response
from tests.oracle.laws import above, sums
from tests.sampled import some

F = Fraction
LEVELS = [F(1), F(5, 4), F(3, 2), F(2), F(7, 2), F(6)]


def log(x):
    return f"log({x})"


# ------------------------------------------------------------------------------------------------- the sums over groups


@pytest.mark.parametrize("seed", some(range(8), 3))
@pytest.mark.parametrize("counts", [(2, 1), (3, 4), (20, 9, 5), (60, 40)])
def test_sums_over_groups_by_exhaustion(seed, counts):
    random = Random(f"{seed} {counts}")
    laws = []
    for _ in counts:
        masses = oracle.random_row(3, random)
        values = (F(random.randint(1, 5)), -F(random.randint(1, 9), 2))
        laws.append(dict(zip((*values, F(0)), masses, strict=True)))
    exact = oracle.expectation([law for law, count in zip(laws, counts, strict=True) for _ in range(count)])

    def source(law):
        atoms = [(v, m) for v, m in law.items() if v != 0]
        return lambda: BallGparv(
            tuple(ball(v) for v, _ in atoms), tuple(ball(m) for _, m in atoms), ball(law[F(0)]), arb(0)
        )

    found = enclose_groups([Group(c, source(law)) for c, law in zip(counts, laws, strict=True)], Settings(1e-5))
    with flint.ctx.workprec(256):
        assert found.lower.lower() <= ball(exact) <= found.upper.upper()
        assert found.relative_gap < 1e-3


@dataclass(frozen=True)
class OfBudget:
    """The law of the generic bound for the budget 1."""

    def floats(self, level, bits=None):
        return nearest_doubles(lambda: self.balls(level))

    def balls(self, level):
        return budget_gparv(lambda: arb(1).exp(), level)


def test_one_law_in_two_groups_is_one_group():
    law, level = OfBudget(), Level.of_float(0.04)
    split = enclose_groups([Group(c, lambda: law.balls(level)) for c in (4000, 6000)])
    whole = enclose_level(law, level, 10_000, Settings())
    assert split.lower.lower() / 10_000 <= whole.upper
    assert whole.lower <= split.upper.upper() / 10_000
    assert split.relative_gap < 2e-6


# ------------------------------------------------------------------------------------------------------------ Theorem C


@pytest.mark.parametrize("seed", range(40))
def test_theorem_c_against_adaptive_instances(seed):
    random = Random(seed)
    n = {0: 3, 1: 4}.get(seed % 4, 2)
    inputs, messages = (3, 3) if n == 2 else (2, 2)
    budgets = [random.choice((F(3, 2), F(2), F(3), F(6))) for _ in range(n)]
    positions = [oracle.adaptive(inputs, messages, t, 10 * seed + i) for i, t in enumerate(budgets)]
    for E in LEVELS:
        assert oracle.data_shuffled(positions, inputs, E) <= oracle.theorem_c(budgets, E)


@pytest.mark.parametrize(("n", "value"), [(2, F(9, 32)), (3, F(27, 128))])
def test_theorem_c_is_attained(n, value):
    positions = [oracle.constant(response(2, F(3)))] * n
    assert oracle.data_shuffled(positions, 2, F(3, 2)) == oracle.theorem_c([F(3)] * n, F(3, 2)) == value


def test_the_first_law_alone_would_not_do():
    """t = (2, 100), E = 50: the law (t, t) at the first position gives more than binary response there."""
    first = {F(2) - 50: F(1, 3), F(1) - 100: F(1, 3), F(0): F(1, 3)}
    second = oracle.budget_law(F(100), F(50))
    both = {F(2) * (1 - 50): F(1, 2), F(0): F(1, 2)}
    assert oracle.expectation([first, second]) / 2 == F(26, 303)
    assert oracle.expectation([both, second]) / 2 == oracle.theorem_c([F(2), F(100)], F(50)) == F(25, 202)


@pytest.mark.parametrize("budgets", [(2, 3), (2, 2, 6), (2, 100)])
def test_the_package_computes_theorem_c(budgets):
    crowd = sa.heterogeneous([(1, sa.PureLDP(eps0=log(t))) for t in budgets], shuffled="data")
    for E in (F(3, 2), F(5, 2), F(50)):
        answer = sa.delta(crowd, eps=log(E))
        assert answer.upper == pytest.approx(float(oracle.theorem_c([F(t) for t in budgets], E)), rel=1e-12)
        members = [[oracle.constant(response(k, F(t))) for t in budgets] for k in (2, 3)]
        truth = max(oracle.data_shuffled(m, k, E) for k, m in zip((2, 3), members, strict=True))
        assert answer.lower <= float(truth) * (1 + 1e-12)


def test_known_randomizers_need_no_budgets():
    tables = [response(3, F(2)), response(3, F(5))]
    crowd = sa.heterogeneous([(1, sa.RandomizedResponse(k=3, eps0=log(t))) for t in (2, 5)], shuffled="data")
    for E in (F(5, 4), F(2), F(4)):
        truth = float(oracle.data_shuffled([oracle.constant(t) for t in tables], 3, E))
        answer = sa.delta(crowd, eps=log(E))
        assert answer.lower <= truth * (1 + 1e-12)
        assert truth <= answer.upper * (1 + 1e-12)
        assert answer.upper <= float(oracle.theorem_c([F(2), F(5)], E)) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("groups", "d", "lower", "upper"),
    [
        (((500, 1), (500, 5)), "1e-3", 0.94920139, 0.95592495),
        (((500, 1), (500, 5)), "1e-6", 1.4561748, 1.4707086),
        (((800, "0.5"), (200, 5)), "1e-6", 0.88513402, 0.88902903),
        (((900, 1), (100, 4)), "1e-6", 0.41377431, 0.42309231),
        (((5400, "0.1"), (3700, "0.5"), (900, 1)), "1e-6", 0.014155922, 0.016451834),
    ],
)
def test_brackets_where_data_are_shuffled(groups, d, lower, upper):
    """Reference: an independent float64 Gaussian sandwich, good to 1e-5."""
    crowd = sa.heterogeneous([(n, sa.PureLDP(eps0=e)) for n, e in groups], shuffled="data")
    answer = sa.epsilon(crowd, delta=d)
    assert answer.lower == pytest.approx(lower, rel=2e-5)
    assert answer.upper == pytest.approx(upper, rel=2e-5)


def test_equal_users_are_the_generic_bound():
    crowd = sa.heterogeneous([(400, sa.PureLDP(eps0=1)), (600, sa.PureLDP(eps0=1))], shuffled="data")
    one = sa.epsilon(sa.PureLDP(eps0=1), n=1000, delta="1e-6", method="generic")
    assert sa.epsilon(crowd, delta="1e-6").upper == pytest.approx(one.upper, rel=1e-6)


# ------------------------------------------------------------------------------------------------------------ Theorem D


def upper_delta(crowd, victim, E):
    return sa.delta(crowd, eps=log(E), victim=victim).upper


@pytest.mark.parametrize("seed", range(25))
def test_theorem_d_against_all_data_sets(seed):
    random = Random(seed)
    k, n = random.choice(((2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (4, 3)))
    budgets = [random.choice((F(3, 2), F(2), F(3), F(6))) for _ in range(n)]
    tables = [response(k, t) for t in budgets]
    masses = [F(k) / (t + k - 1) for t in budgets[1:]]
    crowd = sa.heterogeneous([(1, sa.RandomizedResponse(k=k, eps0=log(t))) for t in budgets], shuffled="messages")
    for E in (F(1), F(5, 4), F(2)):
        truth = oracle.messages_shuffled(tables[0], tables[1:], E)
        exact = oracle.delta_bar(tables[0], (0, 1), masses, [F(1, k)] * k, E)
        assert truth <= exact
        answer = sa.delta(crowd, eps=log(E), victim=0)
        assert answer.upper == pytest.approx(float(exact), rel=1e-12, abs=1e-40)
        assert answer.lower <= float(truth) * (1 + 1e-12)
        if k == 2:
            assert answer.lower >= 0.5 * float(truth)


def test_theorem_d_value_and_the_sum_above_it():
    """t = (2, 2, 2, 5, 5 | victim 3), E = 3/2, in fractions."""
    masses = [F(2) / (t + 1) for t in (F(2), F(2), F(2), F(5), F(5))]
    exact = oracle.delta_bar(response(2, F(3)), (0, 1), masses, [F(1, 2)] * 2, F(3, 2))
    assert float(exact) == pytest.approx(0.09632201646, rel=1e-9)
    crowd = sa.heterogeneous(
        [(3, sa.RandomizedResponse(k=2, eps0=log(2))), (2, sa.RandomizedResponse(k=2, eps0=log(5))),
         (1, sa.RandomizedResponse(k=2, eps0=log(3)))],
        shuffled="messages",
    )  # fmt: skip
    (victim,) = [v for v in victims(crowd) if v.group == 2]
    groups, divisor, rest = victim.sides(level(F(3, 2)))
    found = enclose_groups(groups, Settings(1e-8))
    assert float(found.upper / divisor() + rest()) == pytest.approx(0.1060109, rel=1e-5)


def test_budgets_are_not_averaged():
    table, half = response(2, F(2)), [F(1, 2)] * 2
    right = oracle.delta_bar(table, (0, 1), [F(1), F(3, 5), F(1)], half, F(1))
    averaged = oracle.delta_bar(table, (0, 1), [F(13, 15)] * 3, half, F(1))
    assert (right, averaged) == (F(17, 120), F(2267, 16200))
    assert averaged < right


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_data_try_every_pair_below(seed):
    """The lower end is the largest divergence of all data sets in which the others hold one input."""
    random, E = Random(seed), F(5, 4)
    tables = [oracle.random_table(3, 3, random) for _ in range(3)]
    users = [oracle.constant(t) for t in tables]
    laws = {x: [oracle.transcripts(users, (i, x, x)) for i in range(3)] for x in range(3)}
    worst = max(above(a, b, E) for found in laws.values() for a, b in permutations(found, 2))
    groups = [(1, sa.FiniteMechanism([[str(p) for p in row] for row in t])) for t in tables]
    answer = sa.delta(sa.heterogeneous(groups, shuffled="data"), eps=log(E))
    assert worst * F(999_999, 10**6) <= F(answer.lower) <= worst


def test_brackets_where_messages_are_shuffled():
    """Reference: 500 users of budget 1 and 500 of budget 5, binary response."""
    crowd = sa.heterogeneous([(500, sa.RandomizedResponse(k=2, eps0=e)) for e in (1, 5)], shuffled="messages")
    answer = sa.epsilon(crowd, delta="1e-6")
    assert answer.victims[0][1] == pytest.approx(0.213053, abs=2e-6)
    assert answer.victims[1][1] == pytest.approx(0.487063, abs=1e-5)
    assert answer.upper == answer.victims[1][1]
    for low, high in answer.victims.values():
        assert 0.8 * high < low < high


@pytest.mark.parametrize("shuffled", ["data", "messages"])
@pytest.mark.parametrize("n", [10**4, 10**8])
def test_three_groups_of_many(shuffled, n):
    groups = [(n // 2, 1), (n // 10 * 4, 2), (n // 10, 3)]
    crowd = sa.heterogeneous([(c, sa.RandomizedResponse(k=10, eps0=e)) for c, e in groups], shuffled=shuffled)
    answer = sa.epsilon(crowd, delta="1e-6")
    assert answer.lower <= answer.upper < 1
    if shuffled == "data":
        assert answer.upper < 1.0001 * answer.lower


def test_drop_out_and_dishonest_users():
    groups = [(300, sa.RandomizedResponse(k=3, eps0=1)), (300, sa.RandomizedResponse(k=3, eps0=2))]
    plain = sa.epsilon(sa.heterogeneous(groups, shuffled="messages"), delta="1e-5", victim=0).upper
    lost = sa.epsilon(sa.heterogeneous(groups, shuffled="messages", dropout="1/4"), delta="1e-5", victim=0).upper
    few = sa.heterogeneous(groups, shuffled="messages", honest=[200, 0])
    assert few.n == 200
    assert plain < lost < sa.epsilon(few, delta="1e-5", victim=0).upper
    equal = sa.heterogeneous([(200, groups[0][1])], shuffled="messages")
    assert sa.epsilon(few, delta="1e-5").upper == sa.epsilon(equal, delta="1e-5").upper


def test_equal_users_are_the_blanket():
    m = sa.RandomizedResponse(k=10, eps0=1)
    one = sa.epsilon(m, n=1000, delta="1e-6", method="blanket")
    for shuffled in ("data", "messages"):
        crowd = sa.heterogeneous([(1000, m)], shuffled=shuffled)
        assert sa.epsilon(crowd, delta="1e-6").upper == pytest.approx(one.upper, rel=1e-6)


def test_one_user_alone():
    m = sa.RandomizedResponse(k=2, eps0=log(3))
    for shuffled in ("data", "messages"):
        crowd = sa.heterogeneous([(1, m)], shuffled=shuffled)
        assert sa.delta(crowd, eps=log(2)).upper == pytest.approx(1 / 4, rel=1e-12)
        assert sa.epsilon(crowd, delta="1/2").upper == 0.0


@pytest.mark.parametrize(
    ("groups", "d", "gspa", "refuted"),
    [
        (((500, 1), (500, 5)), "1e-3", 0.24768154, True),
        (((500, 1), (500, 5)), "1e-6", 0.48482548, True),
        (((800, "0.5"), (200, 5)), "1e-3", 0.15338201, True),
        (((800, "0.5"), (200, 5)), "1e-6", 0.31784758, True),
        (((900, 1), (100, 4)), "1e-6", 0.35717071, True),
        (((5400, "0.1"), (3700, "0.5"), (900, 1)), "1e-6", 0.077879489, False),
    ],
)
def test_the_gaussian_approximation_beside_the_truth(groups, d, gspa, refuted):
    """Formula: mu-GDP with mu^2 = 2/(sum w - max w); refuted by the certified lower end in its own model."""
    table = sa.compare(sa.heterogeneous([(n, sa.PureLDP(eps0=e)) for n, e in groups], shuffled="data"), delta=d)
    assert table["gspa"].value == pytest.approx(gspa, rel=1e-7)
    assert table["gspa"].refuted_here == refuted


def test_the_gaussian_approximation_is_refuted_by_hand():
    """n = 101: budgets 0 at 100 positions, t = 1000 at one, E = 5: a histogram of 3-ary response tells."""
    t, n, E = 1000, 101, 5
    exact = F(t + n - 1 - n * E, n * (t + 2))
    assert exact == F(595, 101202)
    weights = [F(1, 2)] * (n - 1) + [F(1, 1 + t)]
    mu = float(2 / (sum(weights) - max(weights))) ** 0.5
    assert float(gaussian_delta(arb(mu), arb(5).log())) < 1e-15 < float(exact)


# ------------------------------------------------------------------------------------------------- sums of steps, below


@pytest.mark.parametrize("seed", range(24))
def test_sums_of_steps_by_exhaustion(seed):
    """Exact: the law of the sum in fractions; the best threshold is found, and its value met to 12 digits."""
    random = Random(seed)
    chances = [(F(random.randint(0, 8), 40), F(random.randint(0, 8), 40)) for _ in range(random.randint(1, 3))]
    counts = [random.choice((1, 2, 5, 20, 60)) for _ in chances]
    own = F(random.randint(10, 20), 40), F(random.randint(0, 4), 40)
    E = random.choice(LEVELS)
    users = ([{1: up, -1: down, 0: 1 - up - down}] * n for (up, down), n in zip(chances, counts, strict=True))
    gain = {1: own[0] - E * own[1], -1: own[1] - E * own[0], 0: (1 - E) * (1 - sum(own))}
    excess = sums([*chain.from_iterable(users), gain])
    best = max([F(0), *(sum(v for s, v in excess.items() if s >= k) for k in excess)])
    with flint.ctx.workprec(256):
        groups = [Steps({1: ball(u), -1: ball(d)}, n) for (u, d), n in zip(chances, counts, strict=True)]
        laws = (Steps({1: ball(u), -1: ball(d)}) for u, d in (own, own[::-1]))
        found = StepSum(*laws, tuple(groups)).below(level(E))
        assert found <= ball(best)
        assert found >= ball(best) * (1 - arb("1e-12"))


@pytest.mark.parametrize("n", [10**4, 10**8])
def test_the_bracket_is_narrow_where_messages_are_shuffled(n):
    crowd = sa.heterogeneous(
        [(n // 2, sa.RandomizedResponse(k=10, eps0=1)), (n // 2, sa.RandomizedResponse(k=10, eps0=2))],
        shuffled="messages",
    )
    for low, high in sa.epsilon(crowd, delta="1e-6").victims.values():
        assert 0.998 * high < low < high


# ---------------------------------------------------------------------------------------------------------- what is not


def test_what_is_refused():
    m, pure = sa.RandomizedResponse(k=3, eps0=1), sa.PureLDP(eps0=1)
    with pytest.raises(SupportMismatchError, match="message space"):
        sa.heterogeneous([(10, pure)], shuffled="messages")
    with pytest.raises(ArgumentError, match="shuffled"):
        sa.heterogeneous([(10, m)], shuffled="both")
    for wrong in ([], "abc", [m], [(1, 2, 3)]):
        with pytest.raises(FormatError):
            sa.heterogeneous(wrong, shuffled="data")
    with pytest.raises(ArgumentError):
        sa.heterogeneous([(0, m)], shuffled="data")
    with pytest.raises(ArgumentError):
        sa.heterogeneous([(5, 3)], shuffled="data")
    with pytest.raises(ArgumentError, match="honest"):
        sa.heterogeneous([(5, m)], shuffled="data", honest=[6])
    with pytest.raises(SupportMismatchError, match="no message is lost; here others take part with probability 1/2"):
        sa.heterogeneous([(5, m)], shuffled="data", dropout="1/2")
    with pytest.raises(ArgumentError, match="dropout"):
        sa.heterogeneous([(5, m)], shuffled="messages", dropout=1)
    with pytest.raises(SupportMismatchError, match="message space"):
        sa.heterogeneous([(5, m), (5, sa.RandomizedResponse(k=4, eps0=1))], shuffled="messages")
    crowd = sa.heterogeneous([(5, m)], shuffled="data")
    with pytest.raises(ArgumentError, match="victim"):
        sa.epsilon(crowd, delta="1e-3", victim=1)
    with pytest.raises(ArgumentError, match="fixed n and one bound"):
        sa.epsilon(crowd, n=5, delta="1e-3")
    with pytest.raises(ArgumentError, match="victim"):
        sa.epsilon(m, n=5, delta="1e-3", victim=0)
    steep = sa.FiniteMechanism([["1e-200", "1 - 1e-200"], ["1/2", "1/2"]])
    with pytest.raises(ArgumentError, match=r"groups: the local budget .* is too large"):
        sa.epsilon(
            sa.heterogeneous([(1, steep), (1, sa.RandomizedResponse(k=2, eps0=1).table())], shuffled="data"),
            delta="1e-3",
        )


def test_answers_are_of_the_one_type_and_plain_data():
    """Whoever reads answers needs not know what they are about."""
    crowd = sa.heterogeneous([(20, sa.PureLDP(eps0=1)), (10, sa.PureLDP(eps0=2))], shuffled="data")
    for answer in (sa.delta(crowd, eps="1/2"), sa.epsilon(crowd, delta="1e-3", gap=1e-4)):
        assert isinstance(answer, sa.Answer)
        assert pickle.loads(pickle.dumps(answer)) == answer
        assert hash(pickle.loads(pickle.dumps(answer))) == hash(answer)
        assert {"lower", "upper", "method", "proof_status", "victims"} <= answer.to_dict().keys()
        assert answer.victims == {0: (answer.lower, answer.upper)}
        assert answer.digits < 15  # the bracket itself is what is known of the bound
        assert answer.pair is None
        assert answer.worst_data_set is None


# --------------------------------------------------------------------------------------------------------- many rounds


def worlds_of_rounds(seed):
    """Two groups of at most three users, of whom the messages or the data are shuffled, and the crowd."""
    random = Random(seed)
    size, counts = random.choice((2, 3)), random.choice(((1, 1), (1, 2)))
    tables = [world.Table(tuple(map(tuple, oracle.random_table(2, size, random)))) for _ in counts]
    seen, victim = (world.Messages(), seed % 3 or None) if seed % 2 else (world.Data(), None)
    victim = None if victim is None else victim - 1
    groups = tuple(world.Group(n, table) for n, table in zip(counts, tables, strict=True))
    mechanisms = [sa.FiniteMechanism([list(row) for row in table.rows]) for table in tables]
    crowd = sa.heterogeneous(list(zip(counts, mechanisms, strict=True)), shuffled=("data", "messages")[seed % 2])
    return world.World(groups, seen=seen, victim=victim), sa.profile(crowd, victim=victim)


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(s, marks=pytest.mark.slow) for s in range(6, 40))])
def test_rounds_against_all_data_sets_and_all_ways_to_choose_them(seed):
    """Above, whoever is the victim, and whatever the data, of the second round; below, the same data in both."""
    found, profile = worlds_of_rounds(seed)
    once, twice = world.Truth(found), world.Truth(replace(found, rounds=2))
    chosen = world.Adaptive([once, once])
    for E in (F(1), F(3, 2)):
        answer = profile.rounds(2).delta(log(E), gap=0.1)
        assert F(answer.upper) >= max(chosen.delta(E), twice.delta(E))
        assert F(answer.lower) <= twice.delta(E)
        assert answer.lower > 0 or twice.delta(E) < F(1, 100)


@pytest.mark.slow
def test_a_group_by_itself_and_all_of_them():
    coins = [sa.RandomizedResponse(k=3, eps0=x) for x in (1, 2)]
    crowd = sa.heterogeneous([(400, coins[0]), (600, coins[1])], shuffled="messages")
    every, *alone = (sa.profile(crowd, victim=v).rounds(20).epsilon("1e-6", gap=0.1) for v in (None, 0, 1))
    assert alone[0].upper < alone[1].lower <= every.upper
    assert every.lower < alone[1].upper < 1.2 * every.lower
    assert "who is of which group" in every.question.subject.covered
    assert sa.profile(crowd).rounds(1).epsilon("1e-6") == sa.epsilon(crowd, delta="1e-6")
    same = sa.profile(sa.heterogeneous([(500, coins[0]), (500, coins[0])], shuffled="data")).rounds(20)
    plain = sa.profile(coins[0], n=1000, method="blanket").rounds(20)
    first, second = (x.epsilon("1e-6", gap=0.1) for x in (same, plain))
    assert max(first.lower, second.lower) <= min(first.upper, second.upper)


@pytest.mark.parametrize("n", [1, pytest.param(10**9, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shuffled", ["data", "messages"])
def test_rounds_far_out(n, shuffled):
    crowd = sa.heterogeneous(
        [(n, sa.RandomizedResponse(k=3, eps0="1e-6")), (n, sa.RandomizedResponse(k=3, eps0=1))], shuffled=shuffled
    )
    for delta in ("1e-12", "1e-100", "1/2"):
        found = sa.profile(crowd).rounds(10).epsilon(delta, gap=0.1)
        assert 0 <= found.lower <= found.upper <= 10.0001
    assert found.upper < 10
    assert sa.profile(crowd).rounds(10).delta(0, gap=0.1).lower > 0


@pytest.mark.parametrize(("shuffled", "users", "fewer"), some([("data", (50, 40), 30), ("messages", (20, 16), 12)], 1))
def test_certificates_of_rounds_prove_the_upper_end_for_all_groups(shuffled, users, fewer):
    crowd = sa.heterogeneous(
        [(n, sa.RandomizedResponse(k=3, eps0=x)) for n, x in zip(users, (1, 2), strict=True)], shuffled=shuffled
    )
    found = sa.profile(crowd).rounds(3).delta("1/2", gap=0.1)
    data = found.certificate()
    assert verify(json.dumps(data)).status == "valid"
    assert found.upper <= float(F(data["claim"]["upper"])) <= found.upper * (1 + 1e-8)
    points, setting = data["above"]["curves"][0]["first"], data["settings"][0]
    for part, key, value in (
        (points[0], "evidence", points[0]["evidence"][1:]),
        (points[1], "high", str(F(points[1]["high"]) * F(99, 100))),
        (setting, "count", 4),
        (setting["groups"][0], "users", fewer),
        (setting, "shuffled", {"data": "messages", "messages": "data"}[shuffled]),
        (data["claim"], "upper", str(F(data["claim"]["upper"]) * F(99, 100))),
    ):
        kept, part[key] = part[key], value
        assert verify(json.dumps(data)).status != "valid", key
        part[key] = kept
    alone = sa.profile(crowd, victim=0).rounds(3).delta("1/2", gap=0.1) if shuffled == "messages" else found
    told = alone.certificate()["settings"][0]["groups"]
    assert [g["victim"] for g in told] == ([True, True] if shuffled == "data" else [True, False])


@pytest.mark.slow
def test_a_certificate_at_eps_0_where_a_message_tells_nothing():
    crowd = sa.heterogeneous([(500, sa.RandomizedResponse(k=3, eps0=x)) for x in (1, 2)], shuffled="messages")
    data = sa.delta(crowd, eps=0).certificate()
    assert F(data["claim"]["lower"]) > F(data["claim"]["upper"]) * F(99, 100)


@pytest.mark.slow
def test_the_rounds_of_a_removal_and_of_poisson_numbers():
    coin = sa.RandomizedResponse(k=2, eps0="log(3)")
    groups = tuple(world.Group(n, world.Table(response(2, F(3))), world.Removed()) for n in (1, 2))
    truth = world.Truth(world.World(groups, world.OthersLost(F(1, 3)), rounds=2))
    crowd = sa.heterogeneous([(1, coin), (2, coin)], shuffled="messages")
    lost = sa.participation(dropout="1/3", compared="removal")
    found = sa.profile(crowd, participation=lost).rounds(2).delta("log(3/2)", gap=0.1)
    assert 0 < found.lower <= truth.delta(F(3, 2)) <= found.upper
    who = sa.participation(arrivals="poisson", dropout="1/5")
    alike = sa.profile(sa.heterogeneous([(10, coin), (10, coin)], shuffled="messages"), participation=who)
    plain = sa.profile(coin, n=20, participation=who)
    first, second = (x.rounds(3).epsilon("1e-2", gap=0.1) for x in (alike, plain))
    assert max(first.lower, second.lower) <= min(first.upper, second.upper) < 10


def test_copies_of_shuffled_data_are_never_less_private_but_a_position_more_may_be():
    def delta(*groups):
        tables = [(n, world.Table(response(2, F(t)))) for n, t in groups]
        return world.Truth(world.World(tuple(world.Group(*g) for g in tables), seen=world.Data())).delta(F(1))

    assert delta((1, 1)) == 0 < delta((1, 1), (1, 9)) == F(2, 5)
    assert delta((1, 1), (1, 9)) > delta((2, 1), (2, 9)) > delta((3, 1), (3, 9))


# ------------------------------------------------------------------------------------------------------ who takes part


RELATIONS = {False: "replacement", True: "removal"}


@pytest.mark.parametrize("removed", some([True, False], 1))
@pytest.mark.parametrize("given", [{}, {"dropout": "1/3", "leaks": "1/10", "colluding": "1/4", "victim_drops": True}])
def test_poisson_numbers_of_users_who_differ(removed, given):
    """The lower end is the divergence of data sets, which sums over all counts have in doubles; the upper is above."""
    tables = response(2, F(3)), response(2, F(6))
    counts, who = (2, 1), {"dropout": "0", "leaks": "0", "colluding": "0", **given}
    lost, leaks, colluding = (F(who[key]) for key in ("dropout", "leaks", "colluding"))
    there, seen = 1 - lost * bool(given), (1 - lost) * (1 - leaks) * (1 - colluding)
    worlds = [(there, 0), (0, there)] if removed else [(there, there)]
    worst = 0.0
    for victim, held, (p, q) in product(tables, product(range(2), repeat=2), worlds):
        means = [seen * sum(c * t[x][y] for c, t, x in zip(counts, tables, held, strict=True)) for y in range(2)]
        worst = max(worst, oracle.behind_poisson(victim[:2], means, F(3, 2), leaks, (p, q)))
    crowd = sa.heterogeneous(
        [(c, sa.RandomizedResponse(k=2, eps0=log(t))) for c, t in zip(counts, (3, 6), strict=True)], shuffled="messages"
    )
    who = sa.participation(**given, arrivals="poisson", compared=RELATIONS[removed])
    found = sa.delta(crowd, eps=log(F(3, 2)), participation=who, gap=1e-4)
    assert found.lower <= worst * (1 + 1e-9)
    assert worst <= found.upper * (1 + 1e-9)
    assert found.lower > 0.99 * worst


def test_groups_that_are_alike_are_users_of_one_mechanism():
    one = sa.RandomizedResponse(k=3, eps0=1)
    crowd = sa.heterogeneous([(30, one), (20, one)], shuffled="messages")
    for who in ({"leaks": "1/10"}, {"dropout": "1/5", "compared": "removal"}, {"unshuffled": "1/7"}):
        taking = sa.participation(**who)
        first, second = (sa.delta(x, n=n, eps="1/2", participation=taking) for x, n in ((crowd, None), (one, 50)))
        assert max(first.lower, second.lower) <= min(first.upper, second.upper)
    apart = crowd.taking_part(sa.participation(batches="drawn"))
    assert sa.delta(apart, eps="1/2").upper == sa.delta(crowd, eps="1/2").upper


@pytest.mark.slow
def test_questions_backwards_with_participation():
    family = sa.heterogeneous(
        [(20, sa.RandomizedResponse(k=2)), (10, sa.RandomizedResponse(k=2, eps0="1/2"))], shuffled="messages"
    )
    who, goal = sa.participation(dropout="1/5", leaks="1/10000"), {"eps": "1/2", "delta": "1/1000"}
    largest = sa.largest_eps0(family, participation=who, **goal)
    assert sa.delta(family.at(eps0=largest.lower), eps="1/2", participation=who).upper <= 0.001
    assert sa.delta(family.at(eps0=largest.upper), eps="1/2", participation=who).lower > 0.001
    least = sa.least_n(family.at(eps0=2), participation=who, **goal)
    copies = (least.upper // 30, least.lower // 30 - 1)
    assert sa.delta(family.at(eps0=2).copies(copies[0]), eps="1/2", participation=who).upper <= 0.001
    assert sa.delta(family.at(eps0=2).copies(copies[1]), eps="1/2", participation=who).lower > 0.001


def test_no_printed_bound_is_refuted_by_users_who_are_lost():
    crowd = sa.heterogeneous([(200, sa.RandomizedResponse(k=3, eps0=1))], shuffled="messages", dropout="9/10")
    assert [row.name for row in sa.compare(crowd, delta="1e-6").rows] == ["messages_shuffled"]


def test_a_certificate_of_leaks_says_what_leaks():
    mechanisms = [sa.RandomizedResponse(k=3, eps0=x) for x in (1, 2)]
    for groups in ([(20, mechanisms[0])], [(20, mechanisms[0]), (10, mechanisms[1])]):
        crowd = sa.heterogeneous(groups, shuffled="messages")
        who = sa.participation(leaks="1/10", dropout="1/5", unshuffled="1/7", colluding="1/3")
        found = sa.delta(crowd, eps="1/2", participation=who)
        data = found.certificate()
        assert verify(json.dumps(data)).status == "valid"
        told, claim = data["settings"][0]["participation"], data["claim"]
        lower, upper = (F(str(sp.sympify(claim[end]))) for end in ("lower", "upper"))
        for part, key, value in (
            (told, "leaks", "1/20"),
            (told, "leaks", "1/5"),
            (told, "leaks", "1"),
            (told, "honest", "1"),
            (told, "honest", "1/2"),
            (told, "present", "1"),
            (told, "present", "1/2"),
            (told, "removal", True),
            (told, "poisson", True),
            (told, "victim", "4/5"),
            (told, "numbers", []),
            (told, "numbers", [["1/2", 1], ["1/2", crowd.n]]),
            (claim, "lower", str(lower * F(1001, 1000))),
            (claim, "upper", str((lower + 99 * upper) / 100 if lower < upper * F(99, 100) else upper * F(99, 100))),
        ):
            kept, part[key] = part[key], value
            assert verify(json.dumps(data)).status != "valid", (key, value)
            part[key] = kept
    everything = sa.delta(crowd, eps="1/2", participation=sa.participation(leaks=1)).certificate()
    everything |= {"claim": {**everything["claim"], "upper": "1/1000"}}
    assert verify(json.dumps(everything)).status == "invalid"


def test_a_flat_delta_is_asked_at_the_end_of_the_range(monkeypatch):
    """The others hide a victim who says what she holds: the end of the range tells, and few places before it."""
    crowd = sa.heterogeneous(
        [(3, sa.RandomizedResponse(k=2)), (20, sa.RandomizedResponse(k=2, eps0=1))], shuffled="messages"
    )
    asked, answer = [], OneRound.answer
    monkeypatch.setattr(OneRound, "answer", lambda self, *given: asked.append(given) or answer(self, *given))
    found = sa.largest_eps0(crowd, eps="1/2", delta="1/10")
    assert (found.lower, found.upper) == (300.0, math.inf)
    assert len(asked) < 40
