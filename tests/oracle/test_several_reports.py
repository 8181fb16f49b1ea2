"""Several reports of one user: all shuffled, in rounds, bundled, memoised over days. Exact fractions by enumeration."""

import itertools
import json
import math
import pickle
import random
from dataclasses import replace
from fractions import Fraction
from math import exp, log

import pytest
from flint import arb

import symamp as sa
from symamp.decompositions.to_law import level_of
from symamp.errors import SymampError
from symamp.numbers.reading import budget
from symamp.numbers.surroundings import at_precision
from symamp.sums.step_sums import steps_of
from symamp.verifier import verify
from symamp.verifier.certificate import VERSION

from . import histograms
from .laws import above, merged, mixed, sums, together
from .laws import histogram as law_of_counts
from .world import Days, Group, Joint, Table, Truth, World

F = Fraction
E = F(3, 2)


def divergence(first, second):
    return above(first, second, E)


def three_ways(k, r, n):
    """r reports of each of n users, the victim at 0 or 1 and all others at the last input."""
    rows = [tuple(row) for row in histograms.randomized_response(k, F(3))]
    tuples = [[math.prod(c) for c in itertools.product(row, repeat=r)] for row in rows]
    other = k - 1
    shuffled = [law_of_counts([rows[x]] * r + [rows[other]] * (r * (n - 1))) for x in (0, 1)]
    rounds = [together(*[law_of_counts([rows[x]] + [rows[other]] * (n - 1))] * r) for x in (0, 1)]
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


LEVEL = "log(3/2)"


SLOW = [pytest.param(case, marks=pytest.mark.slow) for case in ((2, 2, 1), (3, 2, 2), (3, 3, 2))]


@pytest.mark.parametrize("case", [(2, 2, 3), *SLOW])
def test_all_of_it_is_bracketed(case):
    k, r, n = case
    response = sa.RandomizedResponse(k=k, eps0="log(3)")
    for seen, truth in zip(("shuffled", "rounds", "bundled"), three_ways(*case), strict=True):
        several = sa.several_reports(response, n=n, reports=r, seen=seen)
        found, alone = several.delta(LEVEL, gap=0.05), several.rounds(1).delta(LEVEL, gap=0.05)
        assert truth <= F(found.upper)
        assert truth <= F(alone.upper)
        assert alone.lower == 0 or seen != "shuffled"
        assert F(several.risk().advantage.upper) >= F(several.delta(0, gap=0.05).lower)
        if seen == "shuffled" and k == 2:
            assert truth * (1 - F(1, 10**12)) <= F(found.lower)
        low = sa.several_reports(response, n=n, reports=r, seen=seen).epsilon("1/20", gap=0.05).lower
        assert sa.several_reports(response, n=n, reports=r, seen=seen).delta(low, gap=0.05).upper >= 0.05


UNEVEN = Table(((F(3, 5), F(2, 5)), (F(1, 4), F(3, 4)), (F(1, 2), F(1, 2))))
VIEWS = {
    "shuffled": ({"seen": "shuffled"}, World((Group(2, UNEVEN),), reports=2)),
    "rounds": ({"seen": "rounds"}, World((Group(2, UNEVEN),), rounds=2)),
    "bundled": ({"seen": "bundled"}, World((Group(2, Joint((UNEVEN, UNEVEN))),))),
    "kept": ({"kept": True}, World((Group(2, UNEVEN),), seen=Days(((0, 1), (0, 1))))),
    "attending": ({"kept": True, "attending": 1}, World((Group(2, UNEVEN),), seen=Days(((0, 1), (0,))))),
}


@pytest.mark.parametrize("name", VIEWS)
def test_renyi_divergences_and_trade_offs(name):
    words, world = VIEWS[name]
    table = sa.FiniteMechanism([list(row) for row in UNEVEN.rows])
    several, truth = sa.several_reports(table, n=2, reports=2, **words), Truth(world)
    renyi, errors = several.renyi(2, gap=0.01), several.tradeoff("1/10", gap=0.01)
    moment, missed = log(truth.moment(2)), truth.tradeoff(F(1, 10))
    assert renyi.lower[0] <= moment * (1 + 1e-12)
    assert moment * (1 - 1e-12) <= renyi.upper[0]
    assert F(errors.lower[0]) <= missed <= F(errors.upper[0])
    if name == "bundled":
        twice = Truth(replace(world, rounds=2)).delta(E)
        assert twice <= F(several.rounds(2).delta(LEVEL, gap=0.05).upper)


def shuffled_at(rows, r, n, steps, x0, x1, other):
    """The divergence of the sum of steps, by all messages."""
    each = [merged(zip(steps, row, strict=True)) for row in rows]
    return divergence(*(sums([each[x]] * r + [each[other]] * (r * (n - 1))) for x in (x0, x1)))


@pytest.mark.parametrize(("k", "r", "n"), [(2, 3, 4), (3, 2, 1), (3, 3, 4), (5, 2, 6)])
def test_the_sum_of_steps(k, r, n):
    rows = [tuple(row) for row in histograms.randomized_response(k, F(3))]
    truth = shuffled_at(rows, r, n, [2, 0, *[1] * (k - 2)], 0, 1, k - 1)
    numbers = [[lambda p=p: arb(p.numerator) / p.denominator for p in column] for column in zip(*rows, strict=True)]
    counts = r, r * (n - 1)
    made = steps_of([(c[0], c[1], c[k - 1]) for c in numbers], counts, only_two=False, may_be_lost=False)
    at = level_of(budget(LEVEL))
    with at_precision(256):
        exact = arb(truth.numerator) / truth.denominator
        assert exact * (1 - arb("1e-12")) <= made[0].below(at).lower() <= exact
    assert exp(made[0].log_estimate(at)) == pytest.approx(float(truth), rel=1e-12)


REFERENCE = {
    ("shuffled", 1, 2): (0.1811727812, 0.18117932),
    ("shuffled", 1, 3): (0.2237606594, 0.22379349),
    ("shuffled", 3, 2): (0.9313695061, 0.93419),
    ("shuffled", 3, 3): (1.1238120137, 1.12751),
    ("rounds", 1, 2): (0.1811885276,),
    ("rounds", 1, 3): (0.2237943426,),
    ("rounds", 3, 2): (0.9370569057,),
    ("rounds", 3, 3): (1.1306635660,),
    ("rounds", 1, 1): (0.126614480961,),
    ("rounds", 3, 1): (0.694847479998,),
    ("bundled", 1, 2): (0.2330687114,),
    ("bundled", 3, 2): (2.7602546658,),
}
"""Binary response, n = 1000, delta = 1e-6, all others at one input: eps of that data set, which the bracket encloses;
all shuffled, its lower end, and what steps for the worst of these make of it, the upper end."""


@pytest.mark.slow
@pytest.mark.parametrize("case", REFERENCE)
def test_reference_values(case):
    seen, eps0, r = case
    below, *above = REFERENCE[case]
    several = sa.several_reports(sa.RandomizedResponse(k=2, eps0=eps0), n=1000, reports=r, seen=seen)
    found = several.epsilon("1e-6", gap=1e-2)
    if above:
        assert [found.lower, found.upper] == [pytest.approx(below, rel=1e-9), pytest.approx(*above, rel=3e-5)]
        assert found.upper < REFERENCE["rounds", eps0, r][0]
    else:
        assert found.lower <= below <= found.upper


def test_values_that_differ():
    rows = [tuple(row) for row in histograms.randomized_response(3, F(3))]

    def orders(first, second, others):
        laws = [law_of_counts([rows[x] for x in (*own, *others)]) for own in (first, second)]
        return divergence(*laws), divergence(*laws[::-1])

    assert orders((0, 1), (1, 0), (2, 2)) == (0, 0)
    assert orders((0, 1), (2, 2), (2, 2)) == (F("24/125"), F("63/250"))
    assert orders((0, 1), (2, 2), (0, 0)) == orders((0, 1), (2, 2), (1, 1)) == (F("32/125"), F("67/250"))


def test_one_report_is_a_round():
    response = sa.RandomizedResponse(k=2, eps0=1)
    assert sa.several_reports(response, n=9, reports=1).delta("1/10") == sa.delta(response, n=9, eps="1/10")


@pytest.mark.parametrize("quantity", ["epsilon", "delta"])
def test_certificates_of_steps(quantity):
    asked = sa.several_reports(sa.RandomizedResponse(k=2, eps0=1), n=20, reports=2)
    found = asked.epsilon("1/100", gap=0.1) if quantity == "epsilon" else asked.delta(LEVEL, gap=0.1)
    assert "2 steps among 40 messages" in found.proof.shown
    data = found.certificate()
    assert pickle.loads(pickle.dumps(found)).certificate() == data
    assert F(data["claim"]["lower"]) == pytest.approx(F(found.lower), rel=1e-8)
    verdict = verify(json.dumps(data))
    assert verdict.status == "valid"
    assert "each sends 2 of these messages" in verdict.reason
    too_much = str(F(data["claim"]["lower"]) * F(10001, 10000))
    at = {"eps": too_much} if quantity == "epsilon" else {}
    more = data | {"claim": data["claim"] | {"lower": too_much}, "below": data["below"] | at}
    assert verify(json.dumps(more)).status == "invalid"
    for reports in (0, 3, 4):  # more steps, or messages that are not so many for each user
        data["settings"][0]["reports"] = reports
        assert verify(json.dumps(data)).status != "valid"
    data["settings"][0] |= {"reports": 2, "count": 2}
    assert verify(json.dumps(data)).status == "invalid"


def random_claim(rng):
    """A lower end alone by any steps, threshold and nodes, near the truth for its data sets, and that truth."""
    r, n, lost = rng.randint(1, 3), rng.randint(1, 3), rng.choice((F(0), F(1, 3)))
    rows = [[F(x, 12) for x in rng.choice(((6, 4, 2), (1, 5, 6), (3, 3, 6), (8, 0, 4)))] for _ in range(3)]
    signs = [rng.randint(-2, 2) for _ in range(3)]
    each = [merged(zip(signs, row, strict=True)) for row in rows]
    laws = [sums([each[x]] * r + [mixed((1 - lost, each[2]), (lost, {0: 1}))] * (r * (n - 1))) for x in (0, 1)]
    k = rng.randint(-2, 4)
    value = sum(p - E * laws[1].get(s, F(0)) for s, p in laws[0].items() if s >= k)
    value -= E * sum(q for s, q in laws[1].items() if s >= k and s not in laws[0])
    nodes = rng.choice((40, 90, 300))
    plan = {"threshold": k, "theta": str(F(rng.randint(1, 20), 10)), "N": nodes}
    plan["last"] = nodes // 2 if rng.random() < 0.7 else rng.randint(0, nodes // 2)
    setting = {"name": "", "count": 1, "rate": "1", "shuffled": "messages", "kept": "1", "reports": r}
    if lost:
        alone = {"poisson": False, "removal": False, "victim": "1", "numbers": []}
        setting["participation"] = {"honest": "1", "present": str(1 - lost), "leaks": "0", **alone}
    table = {"kind": "table", "inputs": list("012"), "compared": None, "rounded": None}
    table["rows"] = [list(map(str, row)) for row in rows]
    setting["groups"] = [{"users": n * r, "victim": True, "mechanism": table}]
    claimed = max(value, F(1, 50)) * rng.choice((F(1, 2), F(999, 1000), F(1001, 1000), F(2)))
    piece = {"kind": "steps", "victim": 0, "pair": [0, 1], "others": [[[2, (n - 1) * r]]], "signs": signs, "plan": plan}
    data = {"format": "symamp-certificate", "version": VERSION, "settings": [setting], "above": None, "supposed": []}
    data["claim"] = {"quantity": "delta", "eps": LEVEL, "lower": str(claimed), "upper": "1"}
    data["below"] = {"eps": LEVEL, "precision": 192, "evidence": [piece]}
    return data, claimed <= value


def test_no_false_lower_end_of_steps_is_accepted():
    rng, accepted = random.Random("steps of several reports"), 0
    for _ in range(150):
        data, is_true = random_claim(rng)
        verdict = verify(json.dumps(data))
        assert verdict.status == "invalid" or (verdict.status == "valid" and is_true), verdict.reason
        accepted += verdict.status == "valid"
    assert accepted > 4


def test_certificates_of_what_tells_more():
    """Reports of one user in one message; and those of the users who attend the same days, once."""
    far = sa.FiniteMechanism([["3/4", 0, "1/4"], ["5/13", "4/13", "4/13"]])
    kept = sa.several_reports(sa.RandomizedResponse(k=3, eps0=1), n=9, reports=3, kept=True, attending=4)
    for found, who in (
        (sa.several_reports(far, n=1, reports=2).delta(1, gap=0.1), "n = 1"),
        (kept.delta("1/5"), "n = 4"),
    ):
        told = verify(json.dumps(found.certificate()))
        assert told.status == "valid"
        assert who in told.reason
        assert any("All reports together tell no more than" in line for line in told.supposed)


def test_certificates_of_rounds_where_they_are_less(monkeypatch):
    monkeypatch.setattr("symamp.accounting.several_reports._STEPS", 0)
    asked = sa.several_reports(sa.RandomizedResponse(k=2, eps0=1), n=20, reports=2)
    data = asked.epsilon("1/100", gap=0.1).certificate()
    assert data["claim"]["lower"] == "0"
    assert verify(json.dumps(data)).status == "valid"


@pytest.mark.slow
def test_reports_with_a_density_have_a_lower_end():
    """Messages are told apart by cells only; one report of the same users tells less."""
    found = sa.several_reports(sa.Laplace(eps0=1), n=50, reports=2).delta("1/2", gap=0.1)
    assert 0 < found.lower < found.upper


def test_rounds_of_reports_that_are_kept_are_refused():
    kept = sa.several_reports(sa.RandomizedResponse(k=2, eps0=1), n=10, reports=2, kept=True)
    with pytest.raises(SymampError, match="fresh randomness"):
        kept.rounds(3)
    anew = sa.several_reports(sa.RandomizedResponse(k=2, eps0=1), n=10, reports=2)
    assert anew.rounds(3).count == 6


@pytest.mark.parametrize("delta", ["1e-12", "1e-100"])
def test_small_deltas(delta):
    found = sa.several_reports(sa.RandomizedResponse(k=2, eps0=1), n=30, reports=2).epsilon(delta, gap=0.1)
    assert 0 < found.lower <= found.upper <= 2


def test_extreme_numbers():
    coin = sa.RandomizedResponse(k=2, eps0=1)
    assert sa.several_reports(coin, n=10**9, reports=2).delta(0, gap=0.1).lower > 0
    assert sa.several_reports(coin, n=1, reports=2).epsilon("1e-12", gap=0.1).upper == pytest.approx(2)
    assert sa.several_reports(coin, n=5, reports=2).delta(2, gap=0.1).upper == 0
    far = sa.FiniteMechanism([["1e-21", "2/3", "1/3 - 1e-21"], ["1/4", "1/8", "5/8"]])  # e^(2 eps) may be no double
    assert 0 < sa.several_reports(far, n=2, reports=2).epsilon("0.2008", gap=0.1).upper < 200


def memoised(n, absent):
    """Each user draws one report and sends it on both days; the victim is absent on the second, or not."""
    rows = [tuple(row) for row in histograms.randomized_response(3, F(3))]

    def law(data):
        every = together(*(dict(enumerate(rows[x])) for x in data))
        return merged(((tuple(sorted(y)), tuple(sorted(y[1:] if absent else y))), mass) for y, mass in every.items())

    return divergence(*(law((x,) + (2,) * (n - 1)) for x in (0, 1)))


@pytest.mark.parametrize(("n", "told"), [(2, "11/50"), (3, "41/250"), (4, "157/1250")])
def test_memoised_reports(n, told):
    rows = [tuple(row) for row in histograms.randomized_response(3, F(3))]
    one_day = divergence(*(law_of_counts([rows[x]] + [rows[2]] * (n - 1)) for x in (0, 1)))
    assert memoised(n, absent=False) == one_day == F(told)
    assert memoised(n, absent=True) == F(3, 10) == divergence(*(law_of_counts([rows[x]]) for x in (0, 1)))
    response = sa.RandomizedResponse(k=3, eps0="log(3)")
    same = sa.several_reports(response, n=n, reports=2, kept=True).delta(LEVEL)
    assert F(same.lower) <= one_day <= F(same.upper)
    alone = sa.several_reports(response, n=n, reports=2, kept=True, attending=1).delta(LEVEL)
    assert F(alone.lower) <= F(3, 10) <= F(alone.upper)
    assert F(alone.upper) <= F(3, 10) * (1 + F(1, 10**9))
    batch = sa.delta(response, n=100, eps=LEVEL, participation=sa.participation(batches=n))
    assert batch.upper == sa.several_reports(response, n=100, reports=9, kept=True, attending=n).delta(LEVEL).upper


def worst_of_lost(rows, r, n, lost, E, seen):
    """The largest divergence where each report of another user is lost by itself; bundled, whole messages are."""
    every = list(itertools.product(range(len(rows)), repeat=r))
    whole = [tuple(math.prod(c) for c in itertools.product(*(rows[x] for x in values))) for values in every]
    worst = F(0)
    for others in itertools.product(every, repeat=n - 1):
        laws = []
        for values in every:
            if seen == "bundled":
                sent = [[*whole[every.index(x)], F(0)] for x in (values, *others)]
                views = [[[p * (1 - lost) for p in row[:-1]] + [lost] if i else row for i, row in enumerate(sent)]]
            else:
                sent = [[[*rows[x], F(0)] for x in values]]
                sent += [[[*(p * (1 - lost) for p in rows[x]), lost] for x in held] for held in others]
                views = (
                    [[row for user in sent for row in user]] if seen == "shuffled" else list(zip(*sent, strict=True))
                )
            laws.append(together(*(law_of_counts(view) for view in views)))
        worst = max(worst, *(above(a, b, E) for a, b in itertools.permutations(laws, 2)))
    return worst


@pytest.mark.parametrize("seen", ["shuffled", "rounds", "bundled"])
@pytest.mark.parametrize("rows", [((F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))), ((F(1, 2), F(1, 2)), (F(1, 5), F(4, 5)))])
def test_reports_that_are_lost(rows, seen):
    who = sa.participation(dropout="1/3", colluders=1)
    several = sa.several_reports(sa.FiniteMechanism(rows), n=3, reports=2, seen=seen, participation=who)
    for E in (F(1), F(3, 2), F(4)):
        exact = worst_of_lost(rows, 2, 2, F(1, 3), E, seen)
        found = several.delta(f"log({E})", gap=0.05)
        assert F(found.lower) <= exact <= F(found.upper)
        if seen == "shuffled" and E < 4:
            assert found.lower > 0.5 * exact


def test_what_the_verifier_says_of_reports_that_are_lost():
    several = sa.several_reports(
        sa.RandomizedResponse(k=10, eps0=1), n=1000, reports=3, participation=sa.participation(dropout="1/5")
    )
    whole = several.epsilon("1e-6", gap=1e-2).certificate()
    assert verify(json.dumps(whole)).status == "valid"
    assert F(whole["claim"]["lower"]) > 0
    (setting,) = whole["settings"]
    data = whole | {"below": None, "claim": whole["claim"] | {"lower": "0"}}
    for key, value in (("present", "1"), ("present", "1/2"), ("leaks", "1/10"), ("honest", "1/2"), ("removal", True)):
        kept, setting["participation"][key] = setting["participation"][key], value
        assert verify(json.dumps(whole)).status != "valid"
        refused = verify(json.dumps(data)).status != "valid"
        assert refused or key == "present", key  # more reports than are claimed hide no less
        assert refused == (value != "1")
        setting["participation"][key] = kept
    assert verify(json.dumps(data | {"settings": [setting | {"reports": 4}]})).status != "valid"


def test_what_happens_to_a_user_once_is_refused():
    coin = sa.RandomizedResponse(k=2, eps0=1)
    once = {"leaks": "1/10"}, {"colluding": "1/3"}, {"dropout": "1/3", "compared": "removal"}, {"batches": {5: 2}}
    for who in once:
        with pytest.raises(SymampError, match="say dropout, of each report by itself"):
            sa.several_reports(coin, n=10, reports=2, participation=sa.participation(**who))
    with pytest.raises(SymampError, match="give attending="):
        sa.several_reports(coin, n=9, reports=2, kept=True, participation=sa.participation(colluders=1))
