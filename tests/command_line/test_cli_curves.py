"""The commands curve, sweep, plan and choose."""

import csv
import json

import pytest
from click.testing import CliRunner

import symamp as sa
from symamp.command_line.cli import app

SWEEP = """
n = [1e4, 100000]
eps0 = [1, 0.5]
delta = ["1e-6"]
method = "blanket"

[mechanisms.three]
family = "krr"
k = 3

[mechanisms.bits]
family = "oue"
D = 4
"""


def run(*words):
    return CliRunner().invoke(app, words, catch_exceptions=False, standalone_mode=False)


def test_a_curve_is_printed_written_and_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    table, picture = tmp_path / "a.csv", tmp_path / "a.svg"
    words = ("curve", "krr", "--k", "3", "--eps0", "1", "--n", "1e4,1e5", "--delta", "1e-6,1e-8")
    found = run(*words, "--csv", str(table), "--plot", str(picture))
    assert found.output.count("epsilon in [") == 4
    assert len(list(csv.reader(table.read_text().splitlines()))) == 5
    assert picture.read_text().startswith("<?xml")
    data = json.loads(run(*words, "--json").output)
    upper = data["rows"][0][data["columns"].index("upper")]
    assert upper == pytest.approx(sa.epsilon(sa.RandomizedResponse(k=3, eps0=1), n=10**4, delta="1e-6").upper, rel=1e-3)


def test_a_sweep_from_a_file_goes_on_from_its_points(tmp_path):
    file, points = tmp_path / "sweep.toml", tmp_path / "points.jsonl"
    file.write_text(SWEEP)
    first = run("sweep", str(file), "--points", str(points), "--json")
    assert len(points.read_text().splitlines()) == len(json.loads(first.output)["rows"]) == 8
    assert run("sweep", str(file), "--points", str(points), "--json").output == first.output
    assert len(points.read_text().splitlines()) == 8


def test_plans():
    users = run("plan", "krr", "--k", "10", "--eps0", "1", "--eps", "0.01", "--delta", "1e-8").output
    assert users.startswith("least n in [")
    assert "report of one more user" in users
    budget = json.loads(
        run("plan", "krr", "--k", "10", "--n", "1e6", "--eps", "0.01", "--delta", "1e-8", "--json").output
    )
    assert budget["quantity"] == "eps0"
    assert 2.0904 < budget["lower"] < budget["upper"] < 2.0905


def test_plans_and_choices_are_written_and_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    common = ("--eps", "0.1", "--delta", "1e-6", "--csv", str(tmp_path / "a.csv"), "--plot", str(tmp_path / "a.svg"))
    for words in (
        ("plan", "krr", "--k", "4", "--eps0", "1"),
        ("plan", "krr", "--k", "4", "--n", "1e5"),
        ("choose", "krr:k=8", "hadamard-response:K=8", "--n", "1e5"),
    ):
        found = run(*words, *common)
        assert found.output
        rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
        assert len(rows) == 2 + (words[0] == "choose")
        assert (tmp_path / "a.svg").read_text().startswith("<?xml")
        (tmp_path / "a.svg").unlink()


def test_rounds_are_planned():
    common = ("--n", "1e6", "--eps", "1", "--delta", "1e-8")
    month = json.loads(run("plan", "krr", "--k", "16", "--rounds", "30", *common, "--json").output)
    assert 6.48 < month["lower"] < month["upper"] < 6.5
    assert month["rounds"] == "30"
    found = run("plan", "krr", "--k", "16", "--eps0", "6", "--rounds", "most", *common).output
    assert found.startswith("most rounds in [49, 49]")
    assert "Fewer rounds are also private" in found
    with pytest.raises(sa.errors.ArgumentError, match="fewer users"):
        run("plan", "krr", "--k", "4", "--eps0", "1", "--sampled-from", "1e6", "--eps", "1", "--delta", "1e-8")


@pytest.mark.slow
def test_attributes_are_planned():
    words = ("choose", "page=3", "agrees=2", "--n", "1e5", "--rounds", "2", "--eps", "1", "--delta", "1e-6")
    data = json.loads(run(*words, "--json").output)
    assert set(data["mechanisms"]) == {"page", "agrees"}
    assert data["answer"]["upper"] <= 1


def test_choices():
    words = ("choose", "krr:k=8", "oue:D=8", "--n", "1e5", "--eps", "0.1", "--delta", "1e-6")
    data = json.loads(run(*words, "--json").output)
    assert sorted(row[1] for row in data["rows"]) == ["krr:k=8", "oue:D=8"]
    assert "krr:k=8" in run(*words).output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n = 1\n", "mechanisms, n"),
        ("n = [\n", "TOML"),
        ("n = 1\nwhat = 2\n[mechanisms.a]\nfamily='krr'", "what"),
        ("n = 1\ndelta = '1e-3'\n[mechanisms]\na = 3", "family and its parameters"),
    ],
)
def test_files_that_are_refused(tmp_path, text, message):
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    with pytest.raises(sa.errors.FormatError, match=message):
        run("sweep", str(file))


def test_words_that_are_refused():
    with pytest.raises(sa.errors.ArgumentError, match="krr:k=16"):
        run("choose", "krr:k", "--n", "10", "--eps", "1", "--delta", "0.1")


def test_a_curve_of_one_point_is_drawn(tmp_path):
    file = tmp_path / "one.svg"
    run("curve", "krr", "--k", "3", "--eps0", "1", "--n", "10", "--eps", "0.1", "--plot", str(file))
    assert "<svg" in file.read_text(encoding="utf-8")
