"""Certificates of users who differ: valid ones verify, tightened ones do not; attacks are in tests/certificates."""

import copy
from fractions import Fraction
from random import Random

import pytest
from falsehoods import checked, number

import symamp as sa
from tests.certificates import exact
from tests.exactly import as_read, replaced, status, tightened

F = Fraction


def respond(k, eps0):
    return sa.RandomizedResponse(k=k, eps0=eps0)


def table(weight):
    return sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], [weight, weight, f"1-2*({weight})"]])


MANY = [(500, respond(10, 1)), (400, respond(10, 2)), (100, respond(10, 3))]
BUDGETS = [(500, sa.PureLDP(eps0=1)), (500, sa.PureLDP(eps0=5))]
FEW = [(3, respond(3, 1)), (2, respond(3, 2))]
MIXED = [*BUDGETS[:1], (2, BUDGETS[1][1])]
COINS = [(2, respond(2, "log(2)")), (3, respond(2, "log(3)"))]
TABLES = [(50, table("1/3")), (40, table("2/5"))]


def among(groups, shuffled, **options):
    crowd = {key: options.pop(key) for key in ("dropout", "honest") if key in options}
    question = sa.delta if "eps" in options else sa.epsilon
    return lambda: question(sa.heterogeneous(groups, shuffled=shuffled, **crowd), **options)


ANSWERS = {
    "data, k-ary": among(MANY, "data", delta="1e-6"),
    "data, budgets": among(BUDGETS, "data", delta="1e-6"),
    "data, delta": among(BUDGETS, "data", eps="0.9"),
    "data, a budget below eps": among(MIXED, "data", eps=2, gap=1e-3),
    "data, few": among(FEW, "data", delta="1e-9"),
    "data, nothing to show": among(BUDGETS, "data", delta="99/100"),
    "messages, a hundred million": among([(n * 10**5, m) for n, m in MANY], "messages", delta="1e-6", victim=2),
    "messages, drop-out": among(MANY[1:], "messages", dropout="1/4", delta="1e-5", victim=0),
    "messages, tables": among(TABLES, "messages", delta="1e-2", gap=1e-3),
    "messages, few": among(COINS, "messages", eps="log(3/2)"),
    "messages, thirty": among([(20, respond(10, 1)), (10, respond(10, 2))], "messages", delta="1e-4"),
    "messages, alone": among(COINS, "messages", honest=[0, 1], eps="1/2"),
    "messages, the local budget": among(FEW, "messages", delta="1e-40"),
}


@pytest.mark.parametrize("name", list(ANSWERS))
def test_brackets_have_certificates(name):
    answer = ANSWERS[name]()
    data = checked(answer)
    ends = [float(number(data["claim"][end])) for end in ("lower", "upper")]
    assert ends == pytest.approx([answer.lower, answer.upper], rel=1e-15)
    assert (data["below"] is not None) == (answer.lower > 0)
    groups = data["settings"][0]["groups"]
    assert [g["users"] for g in groups] == [count for count, _ in answer.question.subject.groups]
    assert len({e.get("victim") for e in data["above"]["evidence"]}) <= max(len(answer.victims), 1)


@pytest.mark.parametrize("name", ["data, budgets", "data, delta", "messages, drop-out", "messages, thirty"])
def test_tightened_claims_are_refused(name):
    data = as_read(ANSWERS[name]())
    for end, factor in (("upper", 1 - F(1, 10**4)), ("lower", 1 + F(1, 10**4))):
        changed = tightened(data, end, factor)
        if data["claim"]["quantity"] == "epsilon":
            changed["above" if end == "upper" else "below"]["eps"] = changed["claim"][end]
        assert status(changed) == "invalid"
    for key in ("evaluated", "dropped"):
        changed = copy.deepcopy(data)
        plan = changed["above"]["evidence"][0]["plan"]
        if plan and plan[key]:
            plan[key].pop()
            assert status(changed) != "valid"


def test_every_key_is_needed():
    for name in ("data, few", "messages, few"):
        data = ANSWERS[name]().certificate()
        for side in ("above", "below"):
            found = data[side]["evidence"][0]
            for key in found:
                left = {other: value for other, value in found.items() if other != key}
                assert status(replaced(data, side, "evidence", 0, to=left)) == "malformed", key


@pytest.mark.slow
def test_inputs_in_turn_are_listed_with_their_numbers():
    """Where others hold inputs in turn, a certificate says how many of each group hold which."""
    found = 0
    for eps in ("1/10", "1/4", "1/2"):
        data = checked(sa.delta(sa.heterogeneous(TABLES, shuffled="messages"), eps=eps))
        for e in (data["below"] or {"evidence": []})["evidence"]:
            assert [sum(c for _, c in group) for group in e["others"]] in ([49, 40], [50, 39])
            found += 1
    assert found


@pytest.mark.parametrize("seed", range(4))
def test_the_kernel_over_groups_encloses_the_exact_sum(seed):
    """A dozen users each: a claim just above the exact bound of the laws is accepted, one below it is not."""
    rng = Random(seed)
    ratios = [F(3, 2), rng.choice((F(2), F(4)))]
    counts = [rng.randint(12, 20) for _ in ratios]
    E = rng.choice((F(11, 10), F(6, 5)))
    groups = [(c, sa.PureLDP(eps0=f"log({t})")) for c, t in zip(counts, ratios, strict=True)]
    data = sa.delta(sa.heterogeneous(groups, shuffled="data"), eps=f"log({E})", gap=1e-3).certificate()
    assert data["above"]["evidence"][0]["evaluator"] == "compact kernel"
    laws = [exact.oracle.budget_law(t, E) for t, c in zip(ratios, counts, strict=True) for _ in range(c)]
    bound = exact.oracle.expectation(laws) / sum(counts)
    data["claim"]["lower"], data["below"] = "0", None
    for factor, verdict in ((1 + F(1, 50), "valid"), (1 - F(1, 10**30), "invalid")):
        assert status(replaced(data, "claim", "upper", to=str(bound * factor))) == verdict


def taking(**who):
    return lambda: sa.delta(
        sa.heterogeneous(SMALL, shuffled="messages"), eps="log(13/10)", participation=sa.participation(**who)
    )


SMALL = [(2, table("1/3")), (1, table("2/5"))]
REMOVED = {"compared": "removal", "dropout": "1/5", "leaks": "1/7"}
MISSING = {"dropout": "1/3", "victim_drops": True}
POISSON = {"arrivals": "poisson", "compared": "removal", "leaks": "1/10"}
MEAN = {"arrivals": "poisson", "colluding": "1/4"}


@pytest.mark.parametrize("who", [REMOVED, MISSING, *(pytest.param(x, marks=pytest.mark.slow) for x in (POISSON, MEAN))])
def test_victims_who_may_be_missing_and_poisson_numbers(who):
    """Both ends; with a setting that tells more, evidence of another order or victim, or without a pair, neither."""
    answer = taking(**who)()
    data = checked(answer)
    ends = [number(data["claim"][end]) for end in ("lower", "upper")]
    assert 0 < answer.lower <= ends[0] < ends[1] <= answer.upper
    kinds = {e["kind"] for side in ("above", "below") for e in data[side]["evidence"]}
    assert kinds == ({"hidden users"} if "arrivals" in who else {"hidden users", "steps"})

    def refused(change):
        changed = copy.deepcopy(data)
        change(changed, changed["settings"][0]["participation"])
        return status(changed) != "valid"

    def every(changed):
        return [e for side in ("above", "below") for e in changed[side]["evidence"]]

    assert not refused(lambda changed, part: None)
    for key, value in (("leaks", "1/2"), ("removal", "compared" not in who), ("victim", "1/9")):
        assert refused(lambda changed, part, key=key, value=value: part.update({key: value})), key
    assert refused(lambda changed, part: changed["settings"][0].pop("participation"))
    assert refused(lambda changed, part: changed["above"].update(evidence=[]))
    assert refused(lambda changed, part: [e.update(victim=0) for e in changed["above"]["evidence"]])
    assert refused(
        lambda changed, part: [e.update(order=1) if "order" not in e else e.pop("order") for e in every(changed)]
    )
    assert status(replaced(data, "claim", "upper", to=str(ends[1] * F(9999, 10000)))) == "invalid"


@pytest.mark.parametrize("words", [{"victim_drops": True}, {"compared": "removal"}])
def test_messages_that_tell_the_same_once_a_report_may_be_missing(words):
    """The verifier counts messages of equal ratios once, and so does the plan of an answer."""
    groups = [(20, sa.RandomizedResponse(k=3, eps0=1)), (10, sa.RandomizedResponse(k=3, eps0=2))]
    who = sa.participation(dropout="1/5", **words)
    checked(sa.delta(sa.heterogeneous(groups, shuffled="messages"), eps="1/2", participation=who))
