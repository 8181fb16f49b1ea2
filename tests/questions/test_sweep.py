"""Sweeps: the same as single questions, on every executor, and resumed without loss."""

import csv
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import symamp as sa
from symamp.accounting import sweep as module
from symamp.accounting.sweep import Task

ROOT = Path(__file__).resolve().parents[2]
MECHANISMS = {"3-RR": sa.RandomizedResponse(k=3), "10-RR": sa.RandomizedResponse(k=10)}
ASKED = {"eps0": [1, "1/2"], "n": [10**4, 10**5], "delta": ["1e-6", "1e-400"], "method": "blanket"}


@pytest.fixture(scope="module")
def expected():
    return sa.sweep(MECHANISMS, **ASKED)


def agree(found, expected):
    """Both are searched in floats, whose sums may differ in the last digit from process to process."""
    assert (found.mechanisms, found.eps0, found.n, found.given) == (
        expected.mechanisms,
        expected.eps0,
        expected.n,
        expected.given,
    )
    for name in ("lower", "upper"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-7)
    assert (found.methods == expected.methods).all()


def test_points_are_those_of_single_questions(expected):
    assert expected.lower.shape == (2, 2, 2, 2)
    answer = sa.epsilon(MECHANISMS["10-RR"].at(eps0="1/2"), n=10**5, delta="1e-6", method="blanket", gap=1e-4)
    assert expected.upper[1, 1, 1, 0] == pytest.approx(answer.upper, rel=1e-3)
    assert expected.lower[1, 1, 1, 0] <= answer.upper
    assert (expected.lower <= expected.upper).all()
    deltas = sa.sweep(MECHANISMS, eps0=1, n=10**4, eps=["0.01", "0.02"])
    assert deltas.quantity == "delta"
    assert (np.diff(deltas.upper) < 0).all()


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_agree(pool, expected):
    with pool(2) as executor:
        agree(sa.sweep(MECHANISMS, **ASKED, executor=executor), expected)


@pytest.mark.filterwarnings("ignore")
def test_dask_agrees(expected):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        agree(sa.sweep(MECHANISMS, **ASKED, executor=client.get_executor()), expected)


def test_finished_points_are_not_computed_again(tmp_path, monkeypatch, expected):
    file = tmp_path / "points.jsonl"
    part = {**ASKED, "n": [10**4]}
    sa.sweep(MECHANISMS, **part, file=file)
    solved = []
    monkeypatch.setattr(module, "solve", lambda task: solved.append(task) or task.solved())
    agree(sa.sweep(MECHANISMS, **ASKED, file=file), expected)
    assert len(solved) == 4
    assert {t.n for t in solved} == {10**5}
    solved.clear()
    agree(sa.sweep(MECHANISMS, **ASKED, file=file), expected)
    assert not solved


def test_a_torn_line_is_left_out(tmp_path, expected):
    file = tmp_path / "points.jsonl"
    sa.sweep(MECHANISMS, **ASKED, file=file)
    text = file.read_text()
    file.write_text(text[: len(text) // 2])
    agree(sa.sweep(MECHANISMS, **ASKED, file=file), expected)
    agree(sa.sweep(MECHANISMS, **ASKED, file=file), expected)
    assert len(file.read_text().splitlines()) in (16, 17)  # 17 if a line was torn


KILLED = """
import sys, time
import symamp as sa
from symamp.accounting import sweep as module
slow = module.solve
def solve(task):
    found = slow(task)
    time.sleep(0.3)
    return found
module.solve = solve
sa.sweep({"3-RR": sa.RandomizedResponse(k=3), "10-RR": sa.RandomizedResponse(k=10)}, eps0=[1, "1/2"],
         n=[10**4, 10**5], delta=["1e-6", "1e-400"], method="blanket", file=sys.argv[1])
"""


def test_killed_and_resumed(tmp_path, expected, monkeypatch):
    file = tmp_path / "points.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file)], cwd=ROOT, env={**os.environ, "PYTHONPATH": "."}
    )
    for _ in range(600):
        if file.exists() and file.read_text().count("\n") >= 4:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = file.read_text().count("\n")
    assert 4 <= kept < 16
    solved = []
    monkeypatch.setattr(module, "solve", lambda task: solved.append(task) or task.solved())
    agree(sa.sweep(MECHANISMS, **ASKED, file=file), expected)
    assert sum(len(t.given) for t in solved) == 16 - kept


def test_tables_of_one_name_are_told_apart():
    one, two = (sa.FiniteMechanism([[p, 1 - p], [1 - p, p]]) for p in (0.75, 0.625))
    assert repr(one) == repr(two)
    for a, b in ((one, two), (sa.joint(one, one), sa.joint(one, two))):
        first, second = (Task(x, 10, "epsilon", ("1e-6",), None, 1e-4).known_by("1e-6") for x in (a, b))
        assert first != second


def test_results_travel_and_are_written(tmp_path, expected):
    pandas = pytest.importorskip("pandas")
    assert pickle.loads(pickle.dumps(expected)) == expected
    frame = expected.to_pandas()
    assert list(frame.columns) == list(expected.columns)
    assert isinstance(frame, pandas.DataFrame)
    expected.to_csv(tmp_path / "a.csv")
    rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert len(rows) == 17
    assert [float(r[5]) for r in rows[1:]] == expected.upper.ravel().tolist()
    assert expected._repr_html_().count("<tr>") == 17
    assert len(expected.to_dict()["rows"]) == 16


def test_a_plot_shows_bands(expected):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = expected.plot(x="n")
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert len(axes.collections) == 8


def test_curves_take_lists():
    found = sa.curve(sa.RandomizedResponse(k=3, eps0=1), n=[10**3, 10**4], delta=["1e-6", "1e-8"])
    assert found.upper.shape == (1, 1, 2, 2)
    assert found.upper[0, 0, 0, 0] > found.upper[0, 0, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 10}, "one of delta and eps"),
        ({"n": 10, "delta": 0.1, "eps": 1}, "one of delta and eps"),
        ({"n": [10, 10], "delta": 0.1}, "different numbers"),
        ({"n": [], "delta": 0.1}, "different numbers"),
        ({"n": 10, "delta": 2}, "delta"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(sa.errors.ArgumentError, match=message):
        sa.sweep(sa.RandomizedResponse(k=3), eps0=1, **arguments)


def test_a_file_of_something_else_is_refused(tmp_path):
    file = tmp_path / "other.txt"
    file.write_text("hello\nworld\n")
    with pytest.raises(sa.errors.FormatError, match="line 1"):
        sa.sweep(MECHANISMS, **ASKED, file=file)
