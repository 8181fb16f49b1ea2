"""Who takes part: numbers, exact fractions, refusals, certificates and the command line."""

import json
import math
from fractions import Fraction

import pytest
from command import run
from oracle.world import ABSENT, AnyTwo, Group, OthersLost, Poisson, Removed, Replaced, Truth, World

import symamp as sa
from symamp.bounds.registry import CandidateBounds
from symamp.decompositions.to_law import level_of
from symamp.errors import SymampError
from symamp.numbers.reading import budget
from symamp.settings.question import Question
from symamp.sums.divergence import Settings
from symamp.verifier import verify
from tests.exactly import replaced, status
from tests.oracle.test_participation import response
from tests.sampled import some
from tests.worlds.ask import ends

F = Fraction
TEN = sa.RandomizedResponse(k=10, eps0=1)
E = F(13, 10)
LEVEL = "log(13/10)"


def asked(n=1000, eps="0.05", mechanism=TEN, method="blanket", **who):
    return sa.delta(mechanism, n=n, eps=eps, method=method, participation=sa.participation(**who))


LOST = {"dropout": "1/5"}
POISSON = {"arrivals": "poisson"}
REMOVAL = {"compared": "removal"}
SLOW = pytest.mark.slow
VALUES = {  # blanket triple, eps = 0.05, n = 1000
    "everyone": ({}, 1.0343579936e-4),
    "lost": (LOST, 2.2210652025e-4),
    "Poisson": (LOST | POISSON, 2.2262891738e-4),
    "leaks": ({"leaks": "1/10"}, 0.01436126931),
    "removal": (LOST | REMOVAL, 0.01424397105),
    "removal, the victim may drop out": (LOST | REMOVAL | {"victim_drops": True}, 0.00901183580),
    "a batch of 100": ({"batches": 100}, 0.01024764453),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_deployment(name):
    who, value = VALUES[name]
    answer = asked(**who)
    assert value == pytest.approx(answer.upper, rel=2e-6)
    assert answer.bound.lower <= value * (1 + 1e-9)
    assert 0.98 * value < answer.lower < value


def test_everyone_takes_part():
    found = sa.delta(TEN, n=1000, eps="0.05")
    assert 1.03329932e-4 * (1 - 1e-8) <= found.lower <= found.upper <= 1.03435859e-4 * (1 + 1e-8)


ORDERS = {
    "removal": (LOST | REMOVAL, (0.01424397105, 0.01378693354)),
    "removal, the victim may drop out": (LOST | REMOVAL | {"victim_drops": True}, (0.00901183580, 0.00834838309)),
    "default": ({"compared": "default", "default": "uniform"}, (2.4258624279e-6, 1.1742204129e-6)),
}


@pytest.mark.parametrize("name", ORDERS)
def test_both_orders(name):
    who, values = ORDERS[name]
    subject = Question.of(TEN, 1000, "blanket", participation=sa.participation(**who)).subject
    bound = CandidateBounds(subject, "blanket").everyone
    parts = bound.parts if subject.participation is None else subject.participation.parts(bound)
    found = [float(part.enclose(level_of(budget("1/20")), 1000, Settings()).upper) for part in parts]
    assert sorted(found) == pytest.approx(sorted(values), rel=2e-6, abs=0)


def test_a_default_report():
    law = sa.delta(TEN, n=1000, eps="0.05", participation=sa.participation(compared="default", default="uniform"))
    assert 2.26e-6 < law.lower <= law.upper < 2.28e-6
    blanket = asked(compared="default", default="uniform")
    assert blanket.upper == pytest.approx(2.4258624279e-6, rel=2e-6)


def test_the_mean_number_is_no_bound():
    # 999 others, each there with probability 4/5: 800.2 users in the mean
    lost = asked(**LOST)
    told = [sa.delta(TEN, n=n, eps="0.05", method="blanket").upper for n in (800, 801)]
    assert [lost.upper, *told] == pytest.approx([2.2211e-4, 2.21978e-4, 2.21104e-4], rel=2e-5, abs=0)
    assert sa.delta(TEN, n=801, eps="0.05", method="blanket").upper < lost.bound.lower
    assert sa.delta(TEN, n=800, eps="0.05", method="blanket").upper < lost.bound.lower


def truth(k, n, neighbours=None, **words):
    return Truth(World((Group(n, response(k), neighbours or AnyTwo()),), **words))


def holds(answer, found):
    low, high = ends(answer)
    assert low <= found <= high
    return low, high


@pytest.mark.parametrize("report", ["uniform", "x1", {"0": "1/2", "2": "1/2"}])
def test_reports_that_are_replaced(report):
    """Lost reports of all users, the victim's, too: nobody sees how many, and less than where they are missing."""
    three, lost = sa.RandomizedResponse(k=3, eps0="log(3)"), LOST | {"victim_drops": True}
    table = response(3)
    law = {"uniform": dict.fromkeys(range(3), F(1, 3)), "x1": table.row(1)}.get(str(report), {0: F(1, 2), 2: F(1, 2)})
    if isinstance(report, dict):
        report = dict(zip((three.table().messages[0], three.table().messages[2]), report.values(), strict=True))
    for n in (1, 2, 3):
        found = asked(n, LEVEL, three, None, **lost, filled=report)
        world = truth(3, n, takes_part=Replaced(F(1, 5), tuple(law.items())))
        holds(found, world.delta(E))
        assert world.delta(E) <= truth(3, n, takes_part=Poisson(F(4, 5))).delta(E)
    assert verify(json.dumps(found.certificate())).status == "valid"
    assert "filled" in repr(sa.participation(**lost, filled=report))


def test_data_sets_are_exact():
    # x0, x1 and x* distinct of three inputs; the lower end is the worst of constant data sets
    three = sa.RandomizedResponse(k=3, eps0="log(3)")
    world = truth(3, 3, takes_part=OthersLost(F(1, 5)))
    others = [[(0, x)] * 2 for x in range(3)]
    worst = max(world.between([(0, 0), *o], [(0, 1), *o], E) for o in others)
    low, _ = holds(asked(3, LEVEL, three, None, **LOST), world.delta(E))
    assert low >= worst - F(1, 10**12)
    assert world.between([(0, 0), *others[2]], [(0, 1), *others[2]], E) == F(7121, 31250)
    removed = truth(3, 3, Removed(), takes_part=OthersLost(F(1, 5)))
    worst = max(removed.between(*pair, E) for o in others for pair in _orders([(0, 0), *o], [(0, ABSENT), *o]))
    low, _ = holds(asked(3, LEVEL, three, None, **LOST, **REMOVAL), removed.delta(E))
    assert low >= worst - F(1, 10**12)


def _orders(first, second):
    return (first, second), (second, first)


def test_a_poisson_number_is_a_mean_over_numbers():
    # sum_k P(k) Delta_{k+1}, with each Delta bracketed by itself and the tail at most P(N >= 30)
    coin, rate = sa.RandomizedResponse(k=2, eps0=1), 3
    rows = [sa.delta(coin, n=k + 1, eps="0.1", method="blanket").bound for k in range(30)]
    chances = [math.exp(-rate) * rate**k / math.factorial(k) for k in range(30)]
    low = sum(p * r.lower for p, r in zip(chances, rows, strict=True)) * (1 - 1e-12)
    high = (sum(p * r.upper for p, r in zip(chances, rows, strict=True)) + 1e-15) * (1 + 1e-12)
    found = asked(rate, "0.1", coin, **POISSON)
    assert found.bound.lower <= high
    assert low <= found.bound.upper
    assert found.bound.upper < 1.00001 * high


def test_means_over_numbers():
    both, few, many = asked(batches={100: 5, 500: 1}), asked(batches=100), asked(batches=500)
    assert both.upper == pytest.approx((few.upper + many.upper) / 2, rel=1e-5)
    whole = asked(unshuffled="1/100")
    alone = sa.delta(TEN, n=1, eps="0.05").upper
    plain = sa.delta(TEN, n=1000, eps="0.05", method="blanket").upper
    assert whole.upper == pytest.approx(alone / 100 + 0.99 * plain, rel=1e-5)


@pytest.mark.parametrize("who", [{"batches": "drawn"}, {"dropout": 0}, {"colluders": 0}])
def test_what_changes_nothing(who):
    assert asked(**who).upper == sa.delta(TEN, n=1000, eps="0.05", method="blanket").upper


def test_colluders():
    plain = sa.delta(TEN, n=900, eps="0.05", method="blanket").upper
    assert asked(colluders=100).upper == asked(colluding_share="1/10").upper == plain
    assert asked(colluding="1/5").upper == asked(**LOST).upper
    assert asked(colluders=100).n == 900


@pytest.mark.parametrize("batches", [100, "drawn"])
def test_a_share_of_all_users_may_be_all_of_a_batch(batches):
    """Of 3 users in batches of 2, one of 3 who colludes may be the only other one of the victim's batch."""
    with pytest.raises(SymampError, match="may all be in the victim's batch"):
        sa.participation(colluding_share="1/3", batches=batches)
    table = sa.FiniteMechanism([["2/3", "1/3"], ["1/3", "2/3"]])
    alone = sa.delta(table, n=3, eps=0, participation=sa.participation(colluders=1, batches=2))
    assert alone.lower <= 1 / 3 <= alone.upper


@pytest.mark.parametrize("who", some([{"leaks": "1/1000"}, {"unshuffled": "1/10"}, {"arrivals": "poisson"}], 2))
def test_noise_of_a_large_budget(who):
    """Cells of noise whose mass is not told from 0 are joined with their neighbours."""
    answer = sa.delta(sa.Laplace(eps0=24), n=100, eps=1, gap=1e-2, participation=sa.participation(**who))
    assert (0.3 if "arrivals" not in who else 0) <= answer.lower <= answer.upper <= 1


@pytest.mark.parametrize("mechanism", [TEN, sa.FiniteMechanism([["1/2", "1/2"], ["1/9", "8/9"]])])
def test_no_eps_is_enough_where_the_number_of_reports_tells_of_a_removal(mechanism):
    """With three users all reports arrive with probability 16/25 if the victim's is there."""
    answer = sa.epsilon(mechanism, n=3, delta="1/2", participation=sa.participation(**LOST, **REMOVAL))
    assert answer.lower == math.inf


@pytest.mark.parametrize("who", [{"victim_drops": True}, {"dropout": "4/5", "leaks": "1/3"}, {"leaks": 1}])
def test_reports_that_nobody_hides(who):
    """Others never send what the victim does, or what they send hides nothing: that she is there is seen."""
    table = sa.FiniteMechanism([[1, 0], [0, 1]])
    for n in (1, 10**9):
        found = asked(n, "1/5", table, None, **POISSON, **REMOVAL, **who)
        assert found.lower == found.upper == 1


def test_who_takes_part_composes_with_what_is_there():
    lost = sa.participation(dropout="1/5", leaks="1/100")
    joint = sa.delta(sa.joint([TEN, TEN]), n=1000, eps="0.05", participation=lost)
    assert 0 < joint.lower <= joint.upper < 1.1 * joint.lower
    noise = sa.delta(sa.Laplace(eps0=1), n=1000, eps="0.05", participation=lost)
    assert 0 < noise.lower <= noise.upper
    budget = sa.delta(sa.PureLDP(eps0=1), n=1000, eps="0.05", participation=lost)
    assert noise.upper < budget.upper
    coin = sa.RandomizedResponse(k=2, eps0=1)
    profile = sa.profile(coin, n=10, participation=sa.participation(dropout="1/5"))
    assert profile.delta("0.1").upper < profile.rounds(2).delta("0.1", gap=0.05).lower


def test_inverse_questions():
    who = sa.participation(dropout="1/5", colluders=50)
    found = sa.least_n(TEN, eps="0.1", delta="1e-6", participation=who)
    assert sa.delta(TEN, n=found.upper, eps="0.1", participation=who).upper <= 1e-6
    assert sa.delta(TEN, n=found.lower - 1, eps="0.1", participation=who).lower > 1e-6
    family = sa.RandomizedResponse(k=10)
    largest = sa.largest_eps0(family, n=1000, eps="0.1", delta="1e-6", participation=sa.participation(dropout="1/5"))
    assert largest.upper < sa.largest_eps0(family, n=1000, eps="0.1", delta="1e-6").lower
    assert "participation" in largest.subject


def test_users_who_differ():
    """Who drops out or colludes by chance hides nobody; exact truths of colluders are among the worlds."""
    groups = [(5, TEN), (5, sa.RandomizedResponse(k=10, eps0=2))]
    some = sa.delta(sa.heterogeneous(groups, shuffled="messages", dropout="1/2"), eps="1/10")
    crowd = sa.heterogeneous(groups, shuffled="messages")
    for who in ({"dropout": "1/2"}, {"colluding": "1/2"}, {"dropout": "1/5", "colluding": "3/8"}):
        assert sa.delta(crowd, eps="1/10", participation=sa.participation(**who)).upper == some.upper
    assert sa.delta(crowd, eps="1/10").upper < some.lower


def test_tables_of_questions():
    lost = sa.participation(dropout="1/5")
    one = asked(method=None, **LOST)
    found = sa.curve(TEN, n=1000, eps=["0.05"], participation=lost)
    assert found.lower.item() <= one.upper
    assert one.lower <= found.upper.item() < 1.001 * one.upper


def test_compare_shows_bounds_that_are_triples():
    table = sa.compare(TEN, n=1000, eps="0.05", participation=sa.participation(dropout="1/5"))
    assert {row.name for row in table.rows} >= {"blanket", "generic", "data_set"}
    assert "all_data_sets" not in {row.name for row in table.rows}
    assert not table.refuted


def test_refusals_of_questions():
    lost = sa.participation(dropout="1/5")
    for call, remedy in (
        (lambda: sa.delta(TEN, n="800.2", eps="0.05", participation=lost), "an integer"),
        (lambda: sa.delta(TEN, n=10, eps="0.05", participation="1/5"), "sa.participation"),
        (lambda: sa.delta(TEN, n=10, eps="0.05", participation=sa.participation(colluders=10)), "fewer than the users"),
        (lambda: sa.delta(TEN, n=10, eps="0.05", participation=sa.participation(batches={4: 2})), "8, the users"),
        (lambda: sa.delta(TEN, n=10, eps="0.05", method="all_data_sets", participation=lost), "leave out the method"),
        (lambda: sa.profile(TEN, n=10, participation=lost).sampled(n=10, of=20), "leave out one"),
    ):
        with pytest.raises(SymampError, match=remedy):
            call()
    seen = sa.profile(TEN, n=10, participation=lost).subject
    with pytest.raises(SymampError, match="already has one; give one"):
        sa.delta(seen, n=10, eps="0.05", participation=sa.participation(leaks="1/10"))
    with pytest.raises(SymampError, match="for all groups"):
        sa.heterogeneous([(5, seen), (5, sa.PureLDP(eps0=1))], shuffled="data")
    rows = {"0": ("3/4", "1/4"), "1": ("1/2", "1/2"), "2": ("1/4", "3/4")}
    near = sa.FiniteMechanism({x: dict(zip("ab", row, strict=True)) for x, row in rows.items()}).near(1)
    with pytest.raises(SymampError, match="any two inputs are compared"):
        sa.delta(near, n=10, eps=0, participation=sa.participation(**LOST, **REMOVAL))
    with pytest.raises(SymampError, match="two inputs are compared"):
        sa.delta(TEN, n=10, eps=0, method="two_level", participation=sa.participation(**LOST, **REMOVAL))


# --- certificates

CERTIFIED = {
    "lost": LOST,
    "Poisson": LOST | POISSON,
    "leaks": {"leaks": "1/10"},
    "removal": LOST | REMOVAL,
    "Poisson removal": LOST | POISSON | REMOVAL | {"leaks": "1/100", "colluding": "1/10", "victim_drops": True},
    "batches": {"batches": {100: 5, 500: 1}},
    "colluders": {"colluders": 100, "colluding": "1/10"},
}
OTHERS = {
    "a budget": sa.PureLDP(eps0=1),
    "a table": sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/3", "1/3", "1/3"], ["1/6", "1/2", "1/3"]]),
    "unary encoding": sa.UnaryEncoding.oue(D=8, eps0=1),
}


def certificates(who, mechanism=TEN):
    taking = sa.participation(**who)
    yield sa.delta(mechanism, n=1000, eps="0.05", participation=taking).certificate()
    yield sa.epsilon(mechanism, n=1000, delta="0.015", participation=taking).certificate()


@pytest.mark.parametrize("name", CERTIFIED)
def test_certificates(name):
    for data in certificates(CERTIFIED[name]):
        found = verify(json.dumps(data))
        assert found.status == "valid", found.reason
        assert not any("Every user takes part" in line for line in found.supposed)


@pytest.mark.parametrize("name", OTHERS)
def test_certificates_of_other_mechanisms(name):
    for who in (LOST, LOST | REMOVAL):
        for data in certificates(who, OTHERS[name]):
            assert verify(json.dumps(data)).status == "valid"


@pytest.mark.parametrize(
    ("who", "n", "eps"), [(REMOVAL, 1, "log(3/2)"), ({"dropout": "1/3", "victim_drops": True}, 2, 0)]
)
def test_certificates_of_few_poisson_users(who, n, eps):
    """One in the mean is not one for certain; and at eps = 0 a victim who may be missing shifts no sum."""
    coin = sa.FiniteMechanism([["2/3", "1/3"], ["1/3", "2/3"]])
    answer = sa.delta(coin, n=n, eps=eps, participation=sa.participation(**POISSON | who))
    assert status(answer.certificate()) == "valid"


def _changed(data, **entries):
    return status(replaced(data, "settings", 0, "participation", to=data["settings"][0]["participation"] | entries))


def test_forged_certificates():
    """Each change makes the claim false: the evidence does not prove it."""
    lost, leak, removal, poisson = (
        sa.delta(TEN, n=1000, eps="0.05", participation=sa.participation(**who)).certificate()
        for who in (LOST, {"leaks": "1/10"}, LOST | REMOVAL, LOST | POISSON)
    )
    assert _changed(lost) == "valid"
    for entries in ({"present": "1/2"}, {"honest": "1/2"}, {"leaks": "1/10"}, {"numbers": [["1", 10]]}):
        assert _changed(lost, **entries) == "invalid"
    assert _changed(lost, present="6/5") == "invalid"
    assert _changed(lost, removal=True) == "invalid"
    assert _changed(leak, leaks="1/5") == "invalid"
    assert _changed(removal, present="9/10", victim="9/10") == "invalid"
    assert _changed(removal, present="1") == "invalid"
    assert _changed(poisson, present="1/2") == "invalid"
    one_order = [e for e in removal["above"]["evidence"] if e["order"] == 0]
    assert status(replaced(removal, "above", "evidence", to=one_order)) == "invalid"
    everyone = {name: value for name, value in lost["settings"][0].items() if name != "participation"}
    assert status(replaced(lost, "settings", 0, to=everyone)) == "invalid"  # the lower end
    plain = sa.delta(sa.FiniteMechanism([["3/4", "1/4"], ["1/4", "3/4"]]), n=5, eps="0.05").certificate()
    plain["settings"][0]["participation"] = lost["settings"][0]["participation"]
    assert status(plain) == "invalid"  # histograms are about users who all take part


ROUNDS = {
    "lost": (sa.RandomizedResponse(k=2, eps0=1), LOST),
    "Poisson": (sa.PureLDP(eps0=1), LOST | POISSON | {"victim_drops": True}),
    "removal": (TEN, LOST | REMOVAL),
    "Poisson removal": (TEN, POISSON | REMOVAL),
    "batches": (sa.RandomizedResponse(k=2, eps0=1), {"batches": {50: 1, 20: 5}}),
    "leaks": (TEN, {"leaks": "1/10"}),
}


@pytest.mark.parametrize("name", ["Poisson removal", *(pytest.param(x, marks=SLOW) for x in ROUNDS)])
def test_certificates_of_rounds(name):
    """Both ends, by curves whose points are those of the setting; another setting is not proved by them."""
    mechanism, who = ROUNDS[name]
    profile = sa.profile(mechanism, n=150, participation=sa.participation(**who))
    found, once = profile.rounds(2).delta("0.2", gap=0.1), profile.delta("0.2")
    assert 0 < once.lower < found.lower < found.upper
    data = found.certificate()
    verdict = verify(json.dumps(data))
    assert verdict.status == "valid"
    assert any("drawn anew in each round" in line for line in verdict.supposed)
    assert data["claim"]["lower"] != "0"
    assert _changed(data, leaks="1/5") == "invalid"
    assert _changed(data, honest="1/2") == "invalid"


# --- the command line


def test_several_reports_on_the_command_line(monkeypatch, capsys, tmp_path):
    words = ["reports", "krr", "--k", "2", "--eps0", "1", "--n", "20"]
    coin, proof = sa.RandomizedResponse(k=2, eps0=1), tmp_path / "proof.json"
    more = ["--reports", "2", "--eps", "1/2", "--gap", "0.1", "--json", "--certificate", str(proof)]
    told = json.loads(run(monkeypatch, capsys, *words, *more)[1])
    found = sa.several_reports(coin, n=20, reports=2).delta("1/2", gap=0.1)
    assert (told["lower"], told["upper"]) == (found.lower, found.upper)
    assert verify(proof.read_text()).status == "valid"
    kept = ["--reports", "9", "--delta", "1/100", "--kept", "--attending", "5", "--json"]
    told = json.loads(run(monkeypatch, capsys, *words, *kept)[1])
    assert told["upper"] == sa.epsilon(coin, n=5, delta="1/100").upper
    for wrong, remedy in (
        (["--reports", "1.5", "--eps", "1"], "reports: got 1.5"),
        (["--reports", "2", "--eps", "1", "--seen", "all"], "one of 'shuffled'"),
        (["--reports", "2", "--eps", "1", "--attending", "3"], "give kept=True"),
        (["--reports", "2"], "exactly one"),
    ):
        code, _, told = run(monkeypatch, capsys, *words, *wrong)
        assert code == 2
        assert remedy in told


def test_the_command_line(tmp_path, monkeypatch, capsys):
    words = ["delta", "krr", "--k", "10", "--eps0", "1", "--n", "1000", "--eps", "0.05"]
    _, out, _ = run(monkeypatch, capsys, *words, "--participation", "dropout=1/5", "--json")
    assert json.loads(out)["upper"] == asked(method=None, **LOST).upper
    code, _, told = run(monkeypatch, capsys, *words, "--participation", "drop=1/5")
    assert code == 2
    assert "dropout" in told
    rounds = tmp_path / "rounds.toml"
    rounds.write_text(
        '[[round]]\nmechanism = "krr"\nk = 2\neps0 = 1\nn = 10\nrounds = 2\nparticipation = "dropout=1/5"\n'
    )
    assert "dropout=1/5" in run(monkeypatch, capsys, "compose", str(rounds), "--eps", "1/2", "--gap", "0.05")[1]
