"""The diffs of the contributing page, applied to a copy of the package: each adds what it says by one file."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
DIFF = re.compile(r"^```diff\n--- /dev/null\n\+\+\+ b/(\S+)\n@@ -0,0 \+1,(\d+) @@\n((?:\+.*\n)+)```$", re.MULTILINE)
QUESTIONS = """
import symamp as sa
from symamp.randomizers.catalogue import catalogue
from symamp.randomizers.two_inputs import TwoInputs

contrary = catalogue()["contrary"]
for values in contrary.small:
    member = contrary(**values)
    assert member.blanket().gamma == member.table().blanket("x0", "x1").gamma, values
print("family", contrary().blanket().gamma)

responses = sa.RandomizedResponse(k=3, eps0=1)
whole = sa.delta(responses, n=1000, eps="0.2", method="blanket")
half = sa.delta(responses, n=1000, eps="0.2", method="halved_blanket")
assert (half.method, half.proof_status) == ("halved_blanket", whole.proof_status) and half.upper >= whole.lower
print("analysis", half.method)

row = sa.compare(responses, n=1000, delta="1e-6", names=["local_budget"])["local_budget"]
print("form", round(row.value, 9), row.verdict)

print("evaluator", *sa.method_check(sa.RandomizedResponse(k=2, eps0="log(3)"), n=8, eps="log(3/2)"))

rows = {"a": ("1/2", "1/4"), "b": ("1/4", "1/2"), "c": ("1/4", "1/4")}
kind, table = TwoInputs(rows), sa.FiniteMechanism([[r[i] for r in rows.values()] for i in (0, 1)])
answers = [sa.epsilon(m, n=1000, delta="1e-4") for m in (kind, table)]
assert kind.blanket("no", "yes").gamma == table.blanket("x0", "x1").gamma
assert max(a.lower for a in answers) <= min(a.upper for a in answers)
print("kind", kind.local_epsilon())
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the questions print in a copy of the package with the files of the page."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "symamp", copy / "symamp", ignore=shutil.ignore_patterns("__pycache__"))
    found = DIFF.findall(PAGE)
    assert len(found) == PAGE.count("```diff") == 5
    for path, count, lines in found:
        assert not (copy / path).exists(), f"{path} is there already"
        assert len(lines.splitlines()) == int(count), path
        (copy / path).write_text(re.sub("^\\+", "", lines, flags=re.MULTILINE), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    command = [sys.executable, "-W", "error", "-c", QUESTIONS]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_one_file_adds_a_family(printed):
    assert printed["family"] == "k/(k*exp(eps0) - exp(eps0) + 1)"


def test_one_file_adds_an_analysis(printed):
    assert printed["analysis"] == "halved_blanket"


def test_one_file_adds_a_closed_form(printed):
    assert printed["form"] == "1.0 proved"


def test_one_file_adds_an_evaluator(printed):
    assert printed["evaluator"] == "compact kernel enumeration exact gaussian kernel two means"


def test_one_file_adds_a_kind_of_mechanism(printed):
    assert printed["kind"] == "log(2)"
