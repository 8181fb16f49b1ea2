"""Reports of two messages (docs/proofs/two_messages.md): against exact fractions over all compositions."""

import pickle
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import exp
from random import Random

import flint
import pytest
from flint import arb, fmpq

import symamp as sa
from symamp.errors import SupportMismatchError
from symamp.laws.law import Level
from symamp.sums.step_sums import StepPlan
from symamp.sums.two_messages import (
    Search,
    TwoMessages,
    enclose_counts,
    enclose_two_messages,
)
from tests.exactly import as_fmpq as exact
from tests.exactly import as_number as number
from tests.exactly import level_of as level
from tests.oracle.two_messages import compositions, divergence
from tests.sampled import chunks

BITS = 192


def random_question(rng):
    """(first, second, high, low, E) with first > E second, the victim's inputs among those of others or not."""
    while True:
        size = rng.choice((4, 10, 100, 10**4))
        first, second, *rest = (Fraction(rng.randint(0, size), size) for _ in range(4))
        high, low = max(rest), min(rest)
        if rng.random() < 0.6:
            high, low = max(first, second), min(first, second)
        order = 1 + Fraction(rng.randint(0, 30), rng.choice((10, 100, 1000)))
        if first > order * second:
            return first, second, high, low, order


def reports_of(first, second, high, low):
    return TwoMessages(*(number(p) for p in (first, second, high, low)))


@pytest.mark.parametrize("seeds", chunks(range(60), 10, range(1000, 3000), 100))
def test_one_composition(seeds):
    for rng in map(Random, seeds):
        first, second, high, low, order = random_question(rng)
        counts = rng.randint(0, 14), rng.randint(0, 14)
        truth = divergence(first, second, order, [high] * counts[0] + [low] * counts[1])
        reports = reports_of(first, second, high, low)
        found = enclose_counts(reports, level(order), sum(counts) + 1, counts)
        with flint.ctx.workprec(BITS):
            assert found.lower.lower() <= exact(truth) <= found.upper.upper()
            assert found.upper.upper() - found.lower.lower() <= 1e-6 * arb(exact(truth))
        assert exp(Search.of(reports, level(order), sum(counts) + 1).at(counts)) == pytest.approx(
            float(truth), rel=1e-4
        )


@pytest.mark.parametrize("seeds", chunks(range(60), 10, range(1000, 3000), 100))
def test_a_range_of_compositions(seeds):
    """The smooth bound of a range lies above all compositions in it, for plans of any number of nodes."""
    for rng in map(Random, seeds):
        first, second, high, low, order = random_question(rng)
        users = rng.randint(1, 24)
        begin, end = sorted((rng.randint(0, users), rng.randint(0, users)))
        truth = max(divergence(first, second, order, [high] * c + [low] * (users - c)) for c in range(begin, end + 1))
        nodes = rng.choice((3, 4, 9, 20, 41, 90))
        last = rng.uniform(0.05, 3.0), nodes, rng.choice((nodes // 2, rng.randint(0, nodes // 2)))
        with flint.ctx.workprec(BITS):
            plan = StepPlan(0, *last, BITS, 0.0)
            found = reports_of(first, second, high, low).spread(level(order), begin, end, users, plan)
            assert not found.upper() < exact(truth)


@pytest.mark.parametrize("seeds", chunks(range(12), 1, range(1000, 1200), 10))
def test_all_compositions(seeds):
    for seed in seeds:
        rng = Random(seed)
        first, second, high, low, order = random_question(rng)
        n = rng.randint(1, 20 if seed < 1000 else 60)
        values = compositions(first, second, order, high, low, n)
        reports = reports_of(first, second, high, low)
        found = enclose_two_messages(reports, level(order), n)
        with flint.ctx.workprec(BITS):
            truth, told = exact(max(values)), exact(values[Search.of(reports, level(order), n).best[0][0]])
            assert found.lower.lower() <= told <= truth <= found.upper.upper()
            assert found.upper.upper() - found.lower.lower() <= 2.001e-4 * arb(truth)


def test_extreme_probabilities_are_worst_for_every_user():
    """Over a grid of probabilities between the extremes, each user another one: no data set exceeds the best corner."""
    rng = Random(5)
    for _ in range(40):
        first, second, high, low, order = random_question(rng)
        steps = [low + (high - low) * Fraction(i, 3) for i in range(4)]
        corner = max(compositions(first, second, order, high, low, 4))
        inside = max(divergence(first, second, order, others) for others in combinations_with_replacement(steps, 3))
        assert inside == corner


def binary(eps0):
    def one():
        return 1 / (1 + (-arb(eps0)).exp())

    def zero():
        return 1 / (1 + arb(eps0).exp())

    return TwoMessages(one, zero, one, zero)


@pytest.mark.parametrize(
    ("eps0", "n", "eps", "value"),
    [
        (1, 300, "0.15", 2.000145e-4),
        (1, 300, "0.25", 1.063153e-6),
        (1, 1000, "0.1", 1.709740e-5),
        (1, 1000, "0.13", 6.739767e-7),
        (1, 4000, "0.05", 6.928964e-6),
        (1, 10**4, "0.0359", 9.162006e-7),
        (2, 1000, "0.25", 2.457914e-5),
        (2, 10**4, "0.08", 3.025163e-6),
    ],
)
def test_reference_values_of_binary_response(eps0, n, eps, value):
    answer = sa.delta(sa.RandomizedResponse(k=2, eps0=eps0), n=n, eps=eps, method="two_messages")
    assert answer.lower == pytest.approx(value, rel=3e-7)
    assert answer.lower <= answer.upper <= 1.00021 * answer.lower


def test_a_mixed_data_set_is_worst():
    """At n = 1000 and eps = 0.13 one user at the other input makes it worse than none does."""
    at = Level(lambda: arb("0.13"), lambda: "13/100")
    assert Search.of(binary(1), at, 1000).best[0] in ((998, 1), (1, 998))
    mixed, constant = (enclose_counts(binary(1), at, 1000, c) for c in ((998, 1), (999, 0)))
    assert mixed.lower > constant.upper
    assert float(mixed.lower) == pytest.approx(6.73976697430e-7, rel=1e-8)
    assert float(constant.upper) == pytest.approx(6.69604782e-7, rel=1e-8)


@pytest.mark.parametrize(("eps0", "n", "eps"), [(4, 10**9, 1e-3), (1, 10**12, 1e-6), (8, 10**9, 0.01), (1, 10**6, 0.0)])
def test_the_truth_for_any_number_of_users(eps0, n, eps):
    found = enclose_two_messages(binary(eps0), Level.of_float(eps), n)
    assert 0 < found.relative_gap < 2.1e-4
    assert len(found.evidence.boxes) < 20


def test_boxes_cover_all_compositions():
    for eps0, n, eps in ((1, 1000, 0.1), (8, 10**4, 0.7), (4, 10**6, 0.03)):
        boxes = sorted(
            (b.first, b.last) for b in enclose_two_messages(binary(eps0), Level.of_float(eps), n).evidence.boxes
        )
        assert boxes[0][0] == 0
        assert boxes[-1][1] == n - 1
        assert all(after[0] == before[1] + 1 for before, after in pairwise(boxes))


def test_who_is_supported():
    table = sa.FiniteMechanism({"a": {"0": "1/10", "1": "9/10"}, "b": {"0": "1/2", "1": "1/2"}, "c": {"0": 0, "1": 1}})
    assert sa.delta(table, n=100, eps=1, method="two_messages").pair == ("b", "c")
    assert sa.epsilon(table, n=100, delta="1e-3", method="two_messages").upper == float("inf")
    assert sa.epsilon(sa.OneBitMean(eps0=1), n=100, delta="1e-3").method == "two_messages"
    for other in (sa.RandomizedResponse(k=3, eps0=1), sa.Harmony(d=2, eps0=1), sa.PureLDP(eps0=1)):
        with pytest.raises(SupportMismatchError):
            sa.epsilon(other, n=100, delta="1e-3", method="two_messages")


def test_the_worst_pair_of_a_table_is_that_of_the_extremes():
    rows = {"a": ("1/10", "9/10"), "b": ("1/2", "1/2"), "c": ("1/3", "2/3"), "d": ("2/5", "3/5")}
    table = sa.FiniteMechanism({x: dict(zip("01", row, strict=True)) for x, row in rows.items()})
    answer = sa.delta(table, n=6, eps="log(11/10)", method="two_messages")
    worst = sa.exact.worst_dataset(table, 6, "log(11/10)")
    assert answer.lower <= float(Fraction(str(worst.value.exact))) <= answer.upper <= 1.0001 * answer.lower


def test_the_data_set_of_a_lower_bound_is_named():
    answer = sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps="0.13")
    assert "998 users hold" in str(answer.dataset)
    assert "1 user holds" in str(answer.dataset)
    assert answer.dataset.counted
    assert answer.tight
    assert pickle.loads(pickle.dumps(answer)) == answer


@pytest.mark.parametrize("digits", [12, 16, 30, 100])
@pytest.mark.parametrize("swapped", [False, True])
def test_rare_messages_are_told_apart(digits, swapped):
    ones = [Fraction(k, 10**digits) for k in (1, 2, 4)]
    rows = [[str(p), str(1 - p)][:: -1 if swapped else 1] for p in ones]
    answer = sa.delta(sa.FiniteMechanism(rows), n=3, eps="log(11/10)", method="two_messages")
    values = compositions(ones[2], ones[0], Fraction(11, 10), ones[2], ones[0], 3)
    truth, worst = max(values), values.index(max(values))
    low, high = (Fraction(*map(int, (end.fraction.p, end.fraction.q))) for end in (answer.least, answer.most))
    assert low <= truth <= high < low * Fraction(10003, 10000)
    assert (worst, [x for x, _ in answer.dataset.others]) == (0, ["x0"])


@pytest.mark.parametrize("digits", [40, 400])
def test_gains_that_doubles_do_not_see_are_bounded_by_one_user(digits):
    rows = [[f"{k}*10**-{digits}", f"1 - {k}*10**-{digits}"] for k in (1, 2)]
    table, level = sa.FiniteMechanism(rows), f"log(2 - 10**-{digits})"
    answer = sa.delta(table, n=3, eps=level, method="two_messages")
    assert 0 < answer.most.fraction <= fmpq(1, 10 ** (digits + 39))  # the gain is 10^(-2 digits)
    assert answer.least.fraction <= answer.most.fraction


@pytest.mark.parametrize(("n", "eps"), [(3, "0"), (10, "0"), (3, "1/10000")])
def test_bounds_that_tie_leave_the_data_set_that_attains_them(n, eps):
    mechanism = sa.RandomizedResponse(k=2, eps0="1/2")
    answer, truth = sa.delta(mechanism, n=n, eps=eps), sa.delta(mechanism, n=n, eps=eps, method="two_messages")
    assert answer.gap < 1e-4
    assert answer.lower <= truth.upper
    assert truth.lower <= answer.upper
