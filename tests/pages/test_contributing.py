"""The diffs of the contributing page, applied to a copy of the package: each adds what it says by one file."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
DIFF = re.compile(r"^```diff\n--- /dev/null\n\+\+\+ b/(\S+)\n@@ -0,0 \+1,(\d+) @@\n((?:\+.*\n)+)```$", re.MULTILINE)
SENTENCE = re.compile(r"^ +```python\n((?:.*\n)*?) +```$", re.MULTILINE)
QUESTIONS = """
import inspect
import json
import math
from fractions import Fraction
from fractions import Fraction as F

from flint import arb

import symamp as sa
from symamp.bounds.unshuffled import Unshuffled
from symamp.data_sets.search import PROPOSERS
from symamp.randomizers.catalogue import catalogue
from symamp.randomizers.two_inputs import TwoInputs
from symamp.laws.law import BallGparv
from symamp.sums.divergence import Settings
from symamp.sums.groups import Group, enclose_payoff
from symamp.sums.kernels.positive import Positive
from symamp.verifier import verify
from tests.oracle import world

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

for eps in ("0.2", "0.9", "1.5"):
    alone = sa.delta(responses, n=1000, eps=eps, method="unshuffled")
    known = max((math.e - math.exp(float(eps))) / (math.e + 1), 0.0)
    assert known <= alone.upper <= known * (1 + 1e-12), eps
end = sa.epsilon(responses, n=1000, delta="0.1", method="unshuffled").upper
assert abs(end - math.log(math.e - 0.1 * (math.e + 1))) < 1e-2
pure = sa.delta(sa.PureLDP(eps0=1), n=1000, eps="0.2", method="unshuffled")
assert verify(json.dumps(pure.certificate())).status == "valid"
Unshuffled.sharper_triple = None
try:
    pure.certificate()
except sa.errors.ArgumentError as refusal:
    assert refusal.accepted == "ask with method='generic'"
    assert sa.delta(sa.PureLDP(eps0=1), n=1000, eps="0.2", method="generic").certificate()
else:
    raise AssertionError
try:
    sa.delta(sa.Gaussian(sigma=1), n=10, eps=1, method="unshuffled")
except sa.errors.SupportMismatchError as refusal:
    print("no-triple", refusal.accepted)

row = sa.compare(responses, n=1000, delta="1e-6", names=["local_budget"])["local_budget"]
print("form", round(row.value, 9), row.verdict)

values, masses = (Fraction(3, 2), Fraction(-1, 3)), (Fraction(1, 6), Fraction(1, 2))
def source():
    atoms = (tuple(arb(x.numerator) / x.denominator for x in numbers) for numbers in (values, masses))
    return BallGparv(*atoms, arb(1) / 3, arb(0))
n, above, reached = 25, Fraction(0), Fraction(0)
for a in range(n + 1):
    for b in range(n + 1 - a):
        ways = math.comb(n, a) * math.comb(n - a, b)
        chance = ways * masses[0] ** a * masses[1] ** b * Fraction(1, 3) ** (n - a - b)
        total = a * values[0] + b * values[1]
        above, reached = above + chance * (total > 0), reached + chance * (total >= 0)
found = enclose_payoff([Group(n - 5, source), Group(5, source)], Positive, Settings(1e-3))
low, high = float(found.lower.lower()), float(found.upper.upper())
assert 0.97 * above < low <= above < reached <= high < 1.03 * reached, (low, float(above), float(reached), high)
print("payoff", found.evaluator)


rows = {"a": ("1/2", "1/4"), "b": ("1/4", "1/2"), "c": ("1/4", "1/4")}
kind, table = TwoInputs(rows), sa.FiniteMechanism([[r[i] for r in rows.values()] for i in (0, 1)])
answers = [sa.epsilon(m, n=1000, delta="1e-4") for m in (kind, table)]
assert kind.blanket("no", "yes").gamma == table.blanket("x0", "x1").gamma
assert max(a.lower for a in answers) <= min(a.upper for a in answers)
print("kind", kind.local_epsilon())

response, asked = sa.RandomizedResponse(k=2, eps0="log(3)").table(), {"eps": "0.01", "method": "blanket"}
half = "victim x0 against x1, 1 user holds x0 and 1 user holds x1"
assert str(sa.delta(response, n=3, **asked).dataset) == half
assert sa.least_n(response, delta="0.3", **asked).lower == 4  # 3 by data sets in which all others hold one input
rows = [[30, 2, 1, 1], [30, 1, 100, 2], [1, 100, 1, 1], [30, 5, 1, 30], [100, 2, 1, 1], [2, 1, 1, 1], [100, 2, 1, 1]]
rows.append([2, 5, 100, 1])
crowded = sa.FiniteMechanism([[str(Fraction(x, sum(row))) for x in row] for row in rows])
rounds = sa.profile(crowded, n=4, method="blanket").rounds(3).epsilon("0.3")
assert rounds.lower > 14  # 12.94 by the ranking of triples: two equal inputs are a triple that it leaves out
crowd = sa.heterogeneous([(3, sa.RandomizedResponse(k=2, eps0=1)), (2, sa.RandomizedResponse(k=2, eps0=2))],
                         shuffled="messages")
differ = sa.delta(crowd, eps="0.01")
assert differ.lower > 0.358 and "2 users hold x0 and 2 users hold x1" in str(differ.dataset)  # 0.322 by one input
print("proposers", *(p.name for p in PROPOSERS))

exec(SENTENCE, vars(world))
two, who = world.Table(((F(3, 4), F(1, 4)), (F(1, 4), F(3, 4)))), sa.participation(shufflers=2)
coin, responses = sa.RandomizedResponse(k=2, eps0="log(3)"), sa.RandomizedResponse(k=2)
at = {"participation": who}
for n in (1, 2, 3, 4):
    truth = world.Truth(world.World((world.Group(n, two),), world.Assigned(2))).delta(F(13, 10))
    found = sa.delta(coin, n=n, eps="log(13/10)", **at)
    assert found.lower <= truth * (1 + F(1, 10**12)) and truth <= found.upper, n
    assert found.upper == sa.delta(coin, n=n, eps="log(13/10)", participation=sa.participation(colluding="1/2")).upper
assert sa.delta(coin, n=4, eps="log(13/10)").upper < found.lower
assert verify(json.dumps(found.certificate())).status == "valid"
mixed = sa.heterogeneous([(2, coin), (3, responses.at(eps0=2))], shuffled="messages")
profile, removed = sa.profile(coin, n=30, **at), sa.participation(shufflers=2, dropout="1/5", compared="removal")
both, told = {"eps": 1, "delta": "1/10"}, []
for asked in (
    lambda: sa.epsilon(coin, n=30, delta="1/100", **at), lambda: profile.delta("1/2"),
    lambda: profile.rounds(2).delta(1),
    lambda: sa.least_n(coin, eps="1/2", delta="1/20", **at), lambda: sa.largest_eps0(responses, n=30, **both, **at),
    lambda: sa.most_rounds(coin, n=30, **both, **at), lambda: sa.compare(coin, n=30, eps="1/2", **at)["blanket"],
    lambda: sa.curve(coin, n=30, eps=["1/2"], **at), lambda: sa.delta(mixed, eps="1/2", **at),
    lambda: sa.delta(sa.PureLDP(eps0=1), n=30, eps="1/2", **at),
    lambda: sa.delta(sa.joint([coin] * 2), n=9, eps=1, **at),
    lambda: sa.delta(sa.Laplace(eps0=1), n=30, eps="1/2", gap=0.1, **at),
    lambda: sa.delta(coin, n=30, eps="1/2", participation=removed),
    lambda: sa.sweep({"coin": coin}, n=[30], eps=["1/2"], progress=False, **at),
    lambda: sa.plan({"browser": 2}, n=300, **both, **at),
):
    told.append(type(asked()).__name__)
for refused in ({"batches": 3, "shufflers": 2}, {"shufflers": "1/2"}, {"shuffler": 2}):
    try:
        sa.participation(**refused)
    except sa.errors.SymampError as refusal:
        told.append(type(refusal).__name__)
print("word", len(told), found.upper, who, repr(inspect.signature(sa.participation).parameters["shufflers"]))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package, and the files of the page, which are in it."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "symamp", copy / "symamp", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    found = DIFF.findall(PAGE)
    assert len(found) == PAGE.count("```diff") == 8
    for path, count, lines in found:
        assert not (copy / path).exists(), f"{path} is there already"
        assert len(lines.splitlines()) == int(count), path
        (copy / path).write_text(re.sub("^\\+", "", lines, flags=re.MULTILINE), encoding="utf-8")
    return copy, [path for path, *_ in found]


def output(copy, *command):
    """Return what a command prints there."""
    environment = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def printed(copy):
    """What the questions print there."""
    sentence = f"SENTENCE = {textwrap.dedent(SENTENCE.search(PAGE)[1])!r}\n"
    found = output(copy[0], sys.executable, "-W", "error", "-c", sentence + QUESTIONS)
    return dict(line.split(" ", 1) for line in found.splitlines())


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ruff", ["check", "--no-cache"]),
        ("ruff", ["format", "--no-cache", "--check"]),
        ("mypy", ["--cache-dir", "types"]),
        ("lint-imports", None),
    ],
)
def test_what_is_added_passes_the_linters(copy, tool, arguments):
    folder, paths = copy
    command = Path(sys.executable).with_name(tool)
    if tool == "mypy" and (ROOT / ".mypy_cache").exists():  # what is known of the other files need not be found anew
        shutil.copytree(ROOT / ".mypy_cache", folder / "types")
    if not command.exists():
        pytest.skip(f"{tool} is not installed")
    output(folder, command, *(["--no-cache"] if arguments is None else [*arguments, *paths]))


def test_one_file_adds_a_family(printed):
    assert printed["family"] == "k/(k*exp(eps0) - exp(eps0) + 1)"


def test_one_file_adds_an_analysis(printed):
    assert printed["analysis"] == "halved_blanket"


def test_one_file_adds_a_bound_that_is_no_triple(printed):
    assert printed["no-triple"].startswith("it supposes that the budget e^eps0 of any two inputs")


def test_one_file_adds_a_closed_form(printed):
    assert printed["form"] == "1.0 proved"


def test_one_file_adds_a_payoff(printed):
    assert printed["payoff"] == "compact kernel, groups"


def test_one_file_adds_a_kind_of_mechanism(printed):
    assert printed["kind"] == "log(2)"


def test_one_file_adds_a_way_to_propose_data_sets(printed):
    assert "halves" in printed["proposers"].split()


def test_one_file_adds_a_word_for_who_takes_part(copy, printed):
    """All questions know it, and the command line; a certificate says its facts, which the verifier checks."""
    count, upper, said = printed["word"].split(" ", 2)
    assert (count, said) == ("18", 'participation(shufflers=2) <Parameter "shufflers=1">')
    words = ["delta", "krr", "--k", "2", "--eps0", "log(3)", "--n", "4", "--eps", "log(13/10)", "--json"]
    told = output(copy[0], sys.executable, "-m", "symamp", *words, "--participation", "shufflers=2")
    assert json.loads(told)["upper"] == float(upper)
