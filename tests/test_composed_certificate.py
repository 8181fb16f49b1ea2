"""Certificates about many rounds, the verifier of its own, and the commands that write them."""

import copy
import json
from functools import cache

import pytest
from click.testing import CliRunner
from flint import fmpq

import symamp as sa
from symamp.accounting import composition as composed_certificate
from symamp.accounting.round import ShuffledRound, level_at
from symamp.bounds.search import CandidateBounds
from symamp.command_line.cli import app
from symamp.sums.divergence import Settings
from symamp.verifier import main, many_rounds, one_round
from symamp.verifier.many_rounds import verify

PROFILE = sa.profile(sa.RandomizedResponse(k=3, eps0=1), n=1000, method="blanket")
SKEW = [["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"], ["1/8", "3/8", "1/2"]]


@cache
def answered():
    return PROFILE.rounds(20).epsilon("1e-6", gap="0.05")


@cache
def certified():
    return json.loads(json.dumps(answered().certificate()))


def test_it_is_valid_and_states_the_bracket():
    assert verify(certified()).status == "valid"
    low, high = (float(many_rounds._number(certified()["claim"][k])) for k in ("lower", "upper"))
    assert low == pytest.approx(answered().lower, rel=1e-8)
    assert low <= answered().lower < answered().upper <= high


def test_delta_sampling_given_points_and_orders_that_differ():
    table = sa.RandomizedResponse(k=2, eps0=1)
    sampled = sa.profile(table, n=200, method="blanket").sampled(n=200, of=1000)
    mixed = sa.compose([sampled.rounds(3), sa.from_privacy_profile([(0, "1/100"), (1, 0)]).rounds(2)])
    for answer in (
        PROFILE.rounds(5).delta("1/4", gap="0.05"),
        mixed.epsilon("1e-3", gap="0.05"),
        sa.profile(sa.FiniteMechanism(SKEW), n=60, method="blanket").rounds(3).delta("1/4", gap="0.1"),
    ):
        assert verify(json.loads(json.dumps(answer.certificate()))).status == "valid"


@pytest.mark.parametrize(
    ("mechanism", "n", "evaluator"),
    [
        (sa.RandomizedResponse(k=2, eps0=1), 10**4, "counts of messages"),
        pytest.param(sa.FiniteMechanism(SKEW), 1000, "all data sets", marks=pytest.mark.slow),
        pytest.param(sa.PureLDP(eps0=1), 10**4, "all randomizers", marks=pytest.mark.slow),
    ],
)
def test_rounds_of_default_bounds_have_certificates(mechanism, n, evaluator):
    answer = sa.profile(mechanism, n=n).rounds(20).epsilon("1e-6", gap="0.1" if n > 1000 else None)
    data = answer.certificate()
    points = [e["evaluator"] for p in data["above"]["rounds"][0]["first"] for e in p["above"]]
    assert evaluator in points
    assert float(many_rounds._number(data["claim"]["upper"])) == pytest.approx(answer.upper, rel=1e-8)


def test_pairs_that_another_bound_settles_are_listed_with_it():
    table = [[f"{share}/8" for share in row] for row in ((4, 2, 1, 1), (2, 1, 1, 4), (1, 2, 4, 1), (1, 4, 2, 1))]
    found = ShuffledRound(sa.profile(sa.FiniteMechanism(table), n=1000).question)
    # Which bounds a round takes is decided by estimates, that may tie.
    bounds = [CandidateBounds(found.question.subject, method).first for method in ("all_data_sets", "envelope")]
    chosen = tuple((bound, bound.ranked(level_at(fmpq(11, 10)), 1000, Settings())[0]) for bound in bounds)
    vars(found)["_choice"] = chosen, 0.0
    point = composed_certificate._point_above(found, fmpq(11, 10), careful=False)
    assert {e["method"] for e in point["above"]} == {"all_data_sets", "envelope"}
    assert {e["evaluator"] for e in point["above"]} >= {"all data sets", "compact kernel"}
    assert one_round.verify(json.dumps(point)).status == "valid"


def changed(changes):
    data = copy.deepcopy(certified())
    for path, value in changes.items():
        *keys, last = path.split("__")
        place = data
        for key in keys:
            place = place[int(key) if key.isdigit() else key]
        place[last] = value
    return data


@pytest.mark.parametrize(
    "changes",
    [
        {"claim__upper": "1/1000"},
        {"claim__lower": "3"},
        {"claim__delta": "1/10000000"},
        {"above__rounds__0__count": 19},
        {"rounds__0__count": 21},
        {"above__rounds__0__first": []},
        {"above__plan__N": 3},
        {"above__plan__evaluated": []},
        {"below__rounds__0__count": 21},
        {"below__plan__theta_above": "0"},
        {"above__rounds__0__first__3__claim__upper": "1/10**9"},
        {"above__rounds__0__first__0__claim__n": 10**6},
        {"above__rounds__0__rate": "1/2"},
        {"rounds__0__rate": "2"},
        {"rounds__0__n": 10**6},
        {"rounds__0__round": "RandomizedResponse(k=2, eps0=1), n = 1,000"},
        {"above__rounds__0__top": "11/10"},
        {"above__rounds__0__bottom": "9/10"},
        {"below__rounds__0__top": "11/10"},
        {"below__rounds__0__bottom": "9/10"},
        {"below__rounds__0__round": 1},
        {"above__rounds__0__first": [["1", "1/100"]]},
        {"above": None},
        {"rounds": 7},
    ],
)
def test_changes_are_noticed(changes):
    assert verify(changed(changes)).status in ("invalid", "malformed")


@pytest.mark.parametrize("data", [None, 3, {}, {"claim": {}}])
def test_anything_is_answered(data):
    assert verify(data).status in ("invalid", "malformed")


def test_points_of_another_law_do_not_count_below():
    other = sa.profile(sa.RandomizedResponse(k=3, eps0=2), n=1000, method="blanket").rounds(20)
    foreign = json.loads(json.dumps(other.epsilon("1e-6", gap="0.05").certificate()))
    data = copy.deepcopy(certified())
    data["below"]["rounds"][0]["first"][2] = foreign["below"]["rounds"][0]["first"][2]
    assert verify(data).status == "invalid"


def test_one_round_has_the_certificate_of_its_profile():
    one, alone = PROFILE.rounds(1), sa.epsilon(PROFILE.subject, n=PROFILE.n, delta="1e-6", method="blanket")
    answer = one.epsilon("1e-6")
    assert (answer.least, answer.most) == (alone.least, alone.most)
    assert answer.certificate() == alone.certificate()
    assert one.delta("0.2").certificate() == PROFILE.delta("0.2").certificate()
    with pytest.raises(sa.errors.ArgumentError, match="points behind it"):
        sa.from_privacy_profile([(0, 0.2), (1, 0)]).rounds(2).delta("5").certificate()


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
    function = PROFILE.tradeoff(gap=0.1)
    expected = [function.at(x) for x in ("1/20", "0.5")]
    assert (found["lower"], found["upper"]) == tuple(map(list, zip(*expected, strict=True)))
    assert "<svg" in file.read_text()


def test_a_certificate_on_standard_output(capfd):
    words = ("krr", "--k", "3", "--eps0", "1", "--n", "1e3", "--rounds", "20", "--method", "blanket")
    found = run("compose", *words, "--delta", "1e-6", "--gap", "0.05", "--certificate", "-")
    assert json.loads(found.output)["claim"] == certified()["claim"]


def test_options_that_do_not_fit():
    for words in (("--delta", "1e-6"), ("--n", "9"), ("--n", "9", "--delta", "1e-3", "--eps", "1")):
        with pytest.raises(sa.errors.ArgumentError):
            run("compose", "krr", "--k", "3", "--eps0", "1", *words)
