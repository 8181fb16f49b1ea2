"""Several reports of one user: all shuffled, in rounds, bundled, memoised over days. Exact fractions by enumeration."""

import itertools
import math
from fractions import Fraction

import pytest

import symamp as sa

from . import histograms

F = Fraction
E = F(3, 2)


def law_of_counts(rows):
    """The law of the histogram of independent messages."""
    law = {(0,) * len(rows[0]): F(1)}
    for row in rows:
        step = {}
        for view, mass in law.items():
            for y, p in enumerate(row):
                key = (*view[:y], view[y] + 1, *view[y + 1 :])
                step[key] = step.get(key, F(0)) + mass * p
        law = step
    return law


def together(laws):
    """The law of independent views."""
    return {
        tuple(v for v, _ in views): math.prod(p for _, p in views)
        for views in itertools.product(*(law.items() for law in laws))
    }


def divergence(first, second):
    return sum(max(p - E * second.get(view, 0), 0) for view, p in first.items())


def three_ways(k, r, n):
    """r reports of each of n users, the victim at 0 or 1 and all others at the last input."""
    rows = [tuple(row) for row in histograms.randomized_response(k, F(3))]
    tuples = [[math.prod(c) for c in itertools.product(row, repeat=r)] for row in rows]
    other = k - 1
    shuffled = [law_of_counts([rows[x]] * r + [rows[other]] * (r * (n - 1))) for x in (0, 1)]
    rounds = [together([law_of_counts([rows[x]] + [rows[other]] * (n - 1))] * r) for x in (0, 1)]
    bundled = [law_of_counts([tuples[x]] + [tuples[other]] * (n - 1)) for x in (0, 1)]
    return tuple(divergence(*laws) for laws in (shuffled, rounds, bundled))


EXACT = {
    (2, 2, 1): ("15/32", "15/32", "15/32"),
    (2, 2, 2): ("173/512", "191/512", "209/512"),
    (2, 2, 3): ("949/4096", "61/256", "2879/8192"),
    (2, 2, 4): ("21701/131072", "24671/131072", "39089/131072"),
    (3, 2, 2): ("81/250", "417/1250", "429/1250"),
    (3, 2, 3): ("3973/15625", "834/3125", "4573/15625"),
    (3, 3, 2): ("6442/15625", "6652/15625", "7162/15625"),
}


@pytest.mark.parametrize("case", EXACT)
def test_all_shuffled_rounds_and_bundled(case):
    found = three_ways(*case)
    assert found == tuple(map(F, EXACT[case]))
    assert found[0] <= found[1] <= found[2]


@pytest.mark.parametrize(("k", "r", "n"), [(2, 2, 3), (3, 2, 2)])
def test_rounds_and_joints_bound_them(k, r, n):
    response = sa.RandomizedResponse(k=k, eps0="log(3)")
    shuffled, rounds, bundled = three_ways(k, r, n)
    above = F(sa.profile(response, n=n).rounds(r).delta("log(3/2)", gap=0.05).upper)
    assert shuffled <= rounds <= above
    assert bundled <= F(sa.delta(sa.joint([response] * r), n=n, eps="log(3/2)").upper)


def memoised(n, absent):
    """Each user draws one report and sends it on both days; the victim is absent on the second, or not."""
    rows = [tuple(row) for row in histograms.randomized_response(3, F(3))]

    def law(data):
        found = {}
        for messages in itertools.product(range(3), repeat=n):
            mass = math.prod(rows[x][y] for x, y in zip(data, messages, strict=True))
            days = tuple(sorted(messages)), tuple(sorted(messages[1:] if absent else messages))
            found[days] = found.get(days, F(0)) + mass
        return found

    return divergence(*(law((x,) + (2,) * (n - 1)) for x in (0, 1)))


@pytest.mark.parametrize(("n", "told"), [(2, "11/50"), (3, "41/250"), (4, "157/1250")])
def test_memoised_reports(n, told):
    rows = [tuple(row) for row in histograms.randomized_response(3, F(3))]
    one_day = divergence(*(law_of_counts([rows[x]] + [rows[2]] * (n - 1)) for x in (0, 1)))
    assert memoised(n, absent=False) == one_day == F(told)
    assert memoised(n, absent=True) == F(3, 10) == divergence(*(law_of_counts([rows[x]]) for x in (0, 1)))
    response = sa.RandomizedResponse(k=3, eps0="log(3)")
    batch = sa.delta(response, n=100, eps="log(3/2)", participation=sa.participation(batches=n))
    assert one_day <= F(batch.upper)
    alone = sa.delta(response, n=100, eps="log(3/2)", participation=sa.participation(batches=1))
    assert F(alone.upper) >= F(3, 10) * (1 - F(1, 10**15))
