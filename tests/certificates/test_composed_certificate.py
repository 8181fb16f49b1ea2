"""Certificates about many rounds, and the commands that write them."""

import copy
import json
from fractions import Fraction
from functools import cache

import pytest
import sympy as sp
from click.testing import CliRunner
from falsehoods import checked
from flint import fmpq

import symamp as sa
from symamp.accounting.round import ShuffledRound, level_at
from symamp.bounds.registry import CandidateBounds
from symamp.certificates import one_round
from symamp.certificates.one_round import Users
from symamp.certificates.text import At
from symamp.command_line.cli import app
from symamp.sums.divergence import Settings
from symamp.verifier import main
from tests.exactly import as_read, replaced, status

PROFILE = sa.profile(sa.RandomizedResponse(k=3, eps0=1), n=1000, method="blanket")
SKEW = [["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"], ["1/8", "3/8", "1/2"]]


@cache
def answered():
    return PROFILE.rounds(20).epsilon("1e-6", gap="0.05")


@cache
def certified():
    return as_read(answered())


def test_it_is_valid_and_states_the_bracket():
    assert status(certified()) == "valid"
    low, high = (float(Fraction(certified()["claim"][k])) for k in ("lower", "upper"))
    assert low == pytest.approx(answered().lower, rel=1e-8)
    assert low <= answered().lower < answered().upper <= high


@pytest.mark.slow
def test_delta_sampling_given_points_and_orders_that_differ():
    table = sa.RandomizedResponse(k=2, eps0=1)
    sampled = sa.profile(table, n=200, method="blanket").sampled(n=200, of=1000)
    mixed = sa.compose([sampled.rounds(3), sa.from_privacy_profile([(0, "1/100"), (1, 0)]).rounds(2)])
    for answer in (
        PROFILE.rounds(5).delta("1/4", gap="0.05"),
        mixed.epsilon("1e-3", gap="0.05"),
        sa.profile(sa.FiniteMechanism(SKEW), n=60, method="blanket").rounds(3).delta("1/4", gap="0.1"),
    ):
        checked(answer)


@pytest.mark.parametrize(
    ("mechanism", "n", "kind"),
    [
        (sa.RandomizedResponse(k=2, eps0=1), 10**4, "message counts"),
        pytest.param(sa.FiniteMechanism(SKEW), 1000, "all data sets", marks=pytest.mark.slow),
        pytest.param(sa.PureLDP(eps0=1), 10**4, "every randomizer", marks=pytest.mark.slow),
    ],
)
def test_rounds_of_default_bounds_have_certificates(mechanism, n, kind):
    answer = sa.profile(mechanism, n=n).rounds(20).epsilon("1e-6", gap="0.1" if n > 1000 else None)
    data = checked(answer)
    assert kind in {e["kind"] for p in data["above"]["curves"][0]["first"] for e in p["evidence"]}
    assert float(Fraction(data["claim"]["upper"])) == pytest.approx(answer.upper, rel=1e-8)


def test_pairs_that_another_bound_settles_are_listed_with_it():
    table = [[f"{share}/8" for share in row] for row in ((4, 2, 1, 1), (2, 1, 1, 4), (1, 2, 4, 1), (1, 4, 2, 1))]
    found = ShuffledRound(sa.profile(sa.FiniteMechanism(table), n=1000).question)
    # Which bounds a round takes is decided by estimates, that may tie.
    bounds = [CandidateBounds(found.question.subject, method).first for method in ("all_data_sets", "envelope")]
    chosen = tuple((bound, bound.ranked(level_at(fmpq(11, 10)), 1000, Settings())[0]) for bound in bounds)
    vars(found)["_choice"] = chosen, 0.0
    evidence, at = found.evidence(fmpq(11, 10)), At.of(sp.log(sp.Rational(11, 10)))
    bound = max(e.upper for e in evidence).fraction * fmpq(1001, 1000)
    proof = one_round.proof_above(found.question, evidence, at, bound)
    made = Users.of(found.question, [proof], [], at).above(proof, 32)
    assert {e["kind"] for e in made["evidence"]} == {"all data sets", "envelope"}


@pytest.mark.parametrize(
    "changes",
    [
        {"claim__upper": "1/1000"},
        {"claim__lower": "3"},
        {"claim__delta": "1/10000000"},
        {"settings__0__count": 21},
        {"settings__0__rate": "1/2"},
        {"settings__0__rate": "2"},
        {"settings__0__groups__0__users": 10**6},
        {"settings__0__groups__0__users": 100},
        {"settings__0__groups__0__mechanism__pairs__0__columns__0__size": "2"},
        {"above__curves__0__first": []},
        {"above__curves__0__setting": 1},
        {"above__curves": []},
        {"above__plan__N": 3},
        {"above__plan__evaluated": []},
        {"below__plan__theta_above": "0"},
        {"above__curves__0__first__3__high": "1/10**9"},
        {"above__curves__0__first__3__evidence": []},
        {"above__curves__0__top": "11/10"},
        {"above__curves__0__bottom": "9/10"},
        {"below__curves__0__top": "11/10"},
        {"below__curves__0__bottom": "9/10"},
        {"below__curves__0__setting": 1},
        {"below__curves__0__first__2__low": "1/10"},
        {"below__curves__0__first__2__evidence__0__others": [[0, "1"]]},
        {"above": None},
        {"settings": 7},
    ],
)
def test_changes_are_noticed(changes):
    ((path, value),) = changes.items()
    place = (int(key) if key.isdigit() else key for key in path.split("__"))
    assert status(replaced(certified(), *place, to=value)) in ("invalid", "malformed")


def test_another_mechanism_with_the_same_evidence_is_noticed():
    other = sa.profile(sa.RandomizedResponse(k=3, eps0=2), n=1000, method="blanket").rounds(20)
    foreign = json.loads(json.dumps(other.epsilon("1e-6", gap="0.05").certificate()))
    assert status(certified() | {"settings": foreign["settings"]}) == "invalid"
    data = copy.deepcopy(certified())
    data["below"]["curves"][0]["first"][2] = foreign["below"]["curves"][0]["first"][2]
    assert status(data) == "invalid"


def test_one_round_has_the_certificate_of_its_profile():
    one, alone = PROFILE.rounds(1), sa.epsilon(PROFILE.subject, n=PROFILE.n, delta="1e-6", method="blanket")
    answer = one.epsilon("1e-6")
    assert (answer.least, answer.most) == (alone.least, alone.most)
    assert answer.certificate() == alone.certificate()
    assert one.delta("0.2").certificate() == PROFILE.delta("0.2").certificate()


@pytest.mark.slow
def test_rounds_of_noise_have_certificates_by_finite_laws():
    """The laws above the density reveal messages far out: no level is claimed from which on nothing is left."""
    data = checked(sa.profile(sa.Laplace(eps0=1), n=10**4, method="finite_sandwich").rounds(10).epsilon("1e-6"))
    assert {(c["bottom"], c["top"]) for c in data["above"]["curves"]} == {(None, None)}


@pytest.mark.slow
def test_rounds_of_small_joints_have_certificates():
    answer = sa.profile(sa.joint([sa.RandomizedResponse(k=3, eps0=1)] * 2), n=1000).rounds(3).epsilon("1e-6")
    kinds = {e["kind"] for c in checked(answer)["above"]["curves"] for p in c["first"] for e in p["evidence"]}
    assert {"all data sets", "common tilt"} <= kinds


def test_beyond_all_losses_nothing_is_left():
    """Of delta from the sum of all budgets on, and of eps where that sum is the upper end."""
    few = sa.profile(sa.RandomizedResponse(k=3, eps0=1), n=50, method="blanket").sampled(n=50, of=250).rounds(2)
    sampled = PROFILE.sampled(n=1000, of=5000).rounds(2)
    for answer in (
        sa.from_privacy_profile([(0, 0.2), (1, 0)]).rounds(2).delta("5"),
        sampled.delta("3/2"),
        few.epsilon("1e-300"),
    ):
        claim = checked(answer)["claim"]
        assert (claim["quantity"], claim["upper"]) == ("delta", "0") or float(
            Fraction(claim["upper"])
        ) == pytest.approx(answer.upper)
    less = json.loads(json.dumps(sampled.delta("3/2").certificate()))
    less["claim"]["eps"] = "1/2"
    assert status(less) == "invalid"


def test_next_to_nothing_is_claimed_at_exactly_the_largest_losses():
    """Balls do not tell that eps is the sum of the largest losses, so that 0 itself is not proved."""
    sampled = PROFILE.sampled(n=1000, of=5000)
    for answer in (sampled.delta("log(1 + (exp(1) - 1)/5)"), PROFILE.rounds(2).delta("2")):
        assert (answer.upper, checked(answer)["claim"]["upper"]) == (0.0, f"1/{2**100}")


@pytest.mark.slow
def test_a_delta_far_beyond_all_losses_has_a_certificate():
    assert Fraction(checked(PROFILE.sampled(n=1000, of=5000).rounds(2).epsilon("1e-5000"))["claim"]["lower"]) > 0


# ----------------------------------------------------------------------------------------------------- command line


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False, standalone_mode=False)


def test_compose_and_verify(tmp_path, capfd):
    file = tmp_path / "c.json"
    words = ("krr", "--k", "3", "--eps0", "1", "--n", "1e3", "--rounds", "20", "--method", "blanket")
    found = run("compose", *words, "--delta", "1e-6", "--gap", "0.05", "--json", "--certificate", file)
    answer = json.loads(found.output)
    assert (answer["lower"], answer["upper"]) == (answered().lower, answered().upper)
    assert main(str(file)) == 0


def test_compose_reads_rounds_from_a_file(tmp_path):
    file = tmp_path / "rounds.toml"
    file.write_text(
        '[[round]]\nmechanism = "krr"\nk = 3\neps0 = 1.0\nn = 1e3\nrounds = 5\nmethod = "blanket"\n'
        '[[round]]\nmechanism = "krr"\nk = 3\neps0 = 1.0\nn = 1000\nrounds = 15\nmethod = "blanket"\n'
    )
    answer = json.loads(run("compose", file, "--delta", "1e-6", "--gap", "0.05", "--json").output)
    assert answer["upper"] == answered().upper


@pytest.mark.parametrize(
    "text", ["x = 1", "[[round]]\nn = 3", "[[round]]\nmechanism = 'krr'\nn = 3\nrounds = 2.5\nk=2\neps0=1", "["]
)
def test_files_of_another_shape_are_refused(tmp_path, text):
    file = tmp_path / "rounds.toml"
    file.write_text(text)
    with pytest.raises(sa.errors.SymampError):
        run("compose", file, "--delta", "1e-6")


def test_renyi_command():
    words = ("--k", "10", "--eps0", "1", "--n", "1e6", "--order", "2", "--gap", "1e-2", "--json")
    found = json.loads(run("renyi", "krr", *words).output)
    assert found["lower"][0] < 5.04e-7 < found["upper"][0]


def test_tradeoff_command_and_a_plot(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "f.svg"
    words = ("--k", "3", "--eps0", "1", "--n", "1e3", "--method", "blanket", "--level", "1/20, 0.5", "--gap", "0.1")
    found = json.loads(run("tradeoff", "krr", *words, "--plot", file, "--json").output)
    function = PROFILE.tradeoff(["1/20", "0.5"], gap=0.1)
    expected = [function.at(x) for x in ("1/20", "0.5")]
    assert (found["lower"], found["upper"]) == tuple(map(list, zip(*expected, strict=True)))
    assert "<svg" in file.read_text()


def test_risk_command():
    words = ("--k", "3", "--eps0", "1", "--n", "1e3", "--method", "blanket", "--rounds", "20", "--gap", "0.1", "--json")
    found = json.loads(run("risk", "krr", *words, "--prior", "1/10", "--rates", "1/20, 0.5").output)
    assert found == PROFILE.rounds(20).risk(prior="1/10", rates=["1/20", "0.5"], gap="0.1").to_dict()


def test_an_exported_profile_is_read_again(tmp_path):
    file = tmp_path / "rounds.json"
    words = ("krr", "--k", "3", "--eps0", "1", "--n", "1e3", "--rounds", "20", "--method", "blanket", "--delta", "1e-6")
    answer = json.loads(run("compose", *words, "--gap", "0.05", "--json", "--export", file).output)
    document = json.loads(file.read_text())
    assert document == json.loads(run("compose", *words, "--gap", "0.05", "--export", "-").output)
    assert answer["lower"] < sa.GivenProfile.from_dict(document).epsilon("1e-6").upper < 1.05 * answer["upper"]


def test_a_certificate_on_standard_output(capfd):
    words = ("krr", "--k", "3", "--eps0", "1", "--n", "1e3", "--rounds", "20", "--method", "blanket")
    found = run("compose", *words, "--delta", "1e-6", "--gap", "0.05", "--certificate", "-")
    assert json.loads(found.output)["claim"] == certified()["claim"]


def test_options_that_do_not_fit():
    for words in (("--delta", "1e-6"), ("--n", "9"), ("--n", "9", "--delta", "1e-3", "--eps", "1")):
        with pytest.raises(sa.errors.ArgumentError):
            run("compose", "krr", "--k", "3", "--eps0", "1", *words)


def test_a_plan_that_depends_on_roundings_has_more_room():
    """Rare losses beside a fine plan: the lower end is claimed to a part in 10^6."""
    table = sa.FiniteMechanism([["1/2", "3/10", "1/5"], ["1/5", "1/2", "3/10"], ["3/10", "3/10", "2/5"]])
    who = sa.participation(batches={10: 2, 5: 2})
    found = sa.profile(table, n=30, participation=who).rounds(3).delta(1, gap=0.05)
    claim = checked(found)["claim"]
    assert found.lower * (1 - 2e-6) < Fraction(claim["lower"]) < found.lower


def test_losses_that_may_be_infinite_have_a_certified_lower_end():
    """The verifier knows the chance of an infinite loss itself: no chord after the last points says what is left."""
    for share, eps in (
        (Fraction(2, 3), 0),
        (Fraction(2, 3), "log(3)"),
        (Fraction(2, 3), "log(9)"),
        (Fraction(3, 8), 3),
    ):
        found = sa.profile(sa.FiniteMechanism([["0", "1"], [share, 1 - share]]), n=3).rounds(2).delta(eps)
        claim = checked(found)["claim"]
        truth = 1 - (1 - share) ** 2
        assert (1 - 2e-6) * found.lower < Fraction(claim["lower"]) <= truth <= Fraction(claim["upper"])


def test_rounds_of_what_is_made_of_others_whose_losses_are_all_below_eps():
    pair = sa.joint([sa.RandomizedResponse(k=2, eps0="1/1000")] * 2)
    for who in (None, sa.participation(dropout="1/5")):
        found = sa.profile(pair, n=3, participation=who).rounds(2).delta("1/10")
        assert checked(found)["claim"]["upper"] == "0"
