"""Who takes part, in the language of worlds: exact fractions of small cases, which the package is held against."""

import itertools
from fractions import Fraction

import pytest

from . import histograms
from .laws import above, merged, together
from .world import (
    ABSENT,
    AnyTwo,
    Everyone,
    Group,
    Listed,
    OthersLost,
    OthersReplaced,
    Poisson,
    Removed,
    Table,
    Truth,
    World,
)

F = Fraction
E = F(13, 10)


def response(k, t=3, *more):
    rows = [tuple(row) for row in histograms.randomized_response(k, F(t))]
    return Table((*rows, *(tuple(map(F, row)) for row in more)))


def truth(runs, n, neighbours=None, **words):
    return Truth(World((Group(n, runs, neighbours or AnyTwo()),), **words))


def between(found, n, x0, x1, other):
    """Both orders of two data sets in which all others hold the same."""
    others = [(0, other)] * (n - 1)
    data = [((0, x), *others) for x in (x0, x1)]
    return found.between(*data, E), found.between(*data[::-1], E)


THREE, TWO = response(3), response(2)
LOST = OthersLost(F(1, 5))
REPLACED = {
    (3, 0): ["17/50", "13/50", "128/625", "207/1250"],
    (2, 0): ["17/40", "39/160", "9/64", "339/2560"],
    (3, LOST): [None, "69/250", "7121/31250", "29861/156250"],
    (2, LOST): [None, "7/25", "37/200", "743/5000"],
    (3, "leaks"): [None, "172/625", "285599/1250000"],
    (2, "leaks"): [None, "4451/16000", "12053/64000"],
}


@pytest.mark.parametrize(("k", "how"), REPLACED)
def test_replacement(k, how):
    # x0, x1 and x* distinct for three inputs, x* = x1 for two
    for n, told in enumerate(REPLACED[k, how], 1):
        if told is not None:
            words = {"leaks": F(1, 10)} if how == "leaks" else {"takes_part": how or Everyone()}
            assert between(truth(response(k), n, **words), n, 0, 1, k - 1)[0] == F(told)


REMOVED = {
    (3, LOST): {2: ("4/5", "37/50"), 3: ("2016/3125", "3653/6250"), 4: ("41552/78125", "76117/156250")},
    (2, LOST): {2: ("4/5", "37/50"), 3: ("81/125", "59/100")},
    (3, Poisson(F(4, 5))): {2: ("16/25", "673/1250"), 3: ("1608/3125", "13169/31250")},
}


@pytest.mark.parametrize(("k", "how"), REMOVED)
def test_removal(k, how):
    for n, told in REMOVED[k, how].items():
        found = truth(response(k), n, Removed(), takes_part=how)
        assert between(found, n, 0, ABSENT, k - 1) == tuple(map(F, told))


def test_a_visible_count_hides_no_removal():
    assert truth(TWO, 2, Removed()).delta(F(100)) == 1


def test_a_default_report():
    # the uniform report is an input more; others at x0, at the least masses, at another input
    with_default = response(3, 3, [F(1, 3)] * 3)
    found = truth(with_default, 2, Listed(((0, 3), (1, 3), (2, 3))))
    assert between(found, 2, 0, 3, 1) == (F(13, 150), F(44, 375))
    assert found.delta(E) <= max(F(1, 10), F(44, 375))


def test_batches_that_the_shuffler_draws_lose_nothing():
    # a uniform order of all four messages, cut in two: the pair of histograms
    def law(data):
        every = together(*(THREE.row(x) for x in data)).items()
        orders = ((order, p / 24) for y, p in every for order in itertools.permutations(y))
        return merged(((tuple(sorted(order[:2])), tuple(sorted(order[2:]))), p) for order, p in orders)

    assert above(law((0, 2, 2, 2)), law((1, 2, 2, 2)), E) == F("207/1250")


def test_lost_reports_that_are_replaced_are_seen_less():
    for report in (dict.fromkeys(range(3), F(1, 3)), THREE.row(2)):
        filled = truth(THREE, 3, takes_part=OthersReplaced(F(1, 5), tuple(report.items())))
        assert filled.delta(E) <= truth(THREE, 3).delta(E) < truth(THREE, 3, takes_part=LOST).delta(E)


def test_who_takes_part_composes():
    # lost by chance and leaked: as if each were dropped by either, and the victim's own leak beside it
    both = truth(TWO, 3, takes_part=LOST, leaks=F(1, 10))
    alone = truth(TWO, 1).delta(E)
    fewer = truth(TWO, 3, takes_part=OthersLost(1 - F(4, 5) * F(9, 10)))
    assert both.delta(E) == F(1, 10) * alone + F(9, 10) * fewer.delta(E)
