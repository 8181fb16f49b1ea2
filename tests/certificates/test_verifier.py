"""Certificates as untrusted input: what is malformed, too large or says too much is refused, and nothing is raised."""

import ast
import copy
import json
import math
import subprocess
import sys
import threading
import time
from fractions import Fraction
from functools import cache
from pathlib import Path
from shutil import copytree, ignore_patterns

import flint
import pytest
import sympy as sp
from fuzz.documents import mutated_certificate

import symamp as sa
from symamp import verifier
from symamp.command_line import cli
from symamp.errors import PrecisionError
from symamp.schemas.validation import check_document
from symamp.verifier import check as checks
from symamp.verifier import documents, sums, verify
from symamp.verifier.check import Check, working
from symamp.verifier.claims import outward
from tests.certificates import exact
from tests.exactly import as_ball, as_fmpq, as_read, replaced
from tests.sampled import chunks

COIN = sa.RandomizedResponse(k=2, eps0="log(3)")
TABLE = sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"], ["1/8", "3/8", "1/2"]])
SOURCES = sorted(Path(sa.__file__).parent.glob("verifier/[!_]*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_verifier_stands_alone(source):
    imported = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported.add((node.module or "").split(".")[0])
    assert imported <= {"flint", *sys.stdlib_module_names}


def verdict(data):
    return verify(data if isinstance(data, str) else json.dumps(data))


@cache
def made(name):
    questions = {
        "kernel": lambda: sa.epsilon(COIN, n=100, delta="1/1000", gap=1e-2, method="blanket"),
        "one round": lambda: sa.epsilon(COIN, n=60, delta="1/100", method="blanket"),
        "table": lambda: sa.delta(TABLE, n=4, eps="log(3/2)", method="blanket"),
        "few": lambda: sa.delta(TABLE, n=3, eps="log(6/5)", method="every_data_set"),
        "budget": lambda: sa.delta(sa.PureLDP(eps0=1), n=1000, eps="1/10", gap=1e-2, method="generic"),
        "data": lambda: crowd("data"),
        "messages": lambda: crowd("messages"),
        "first": lambda: crowd("messages", 0),
        "second": lambda: crowd("messages", 1),
        "rounds": lambda: (
            sa.profile(sa.RandomizedResponse(k=3, eps0=1), n=1000, method="blanket")
            .rounds(20)
            .epsilon("1e-6", gap="0.05")
        ),
    }
    return as_read(questions[name]())


def crowd(shuffled, victim=None):
    groups = [(2, COIN), (3, sa.RandomizedResponse(k=2, eps0="log(2)"))]
    options = {"victim": victim} if victim is not None else {}
    return sa.delta(sa.heterogeneous(groups, shuffled=shuffled), eps="log(3/2)", **options)


def changed(name, *path, to):
    return replaced(made(name), *path, to=to)


def plan_of(name):
    return made(name)["above"]["evidence"][0]["plan"]


# --- the commands -----------------------------------------------------------------------------------------------------


def test_the_verifier_runs_by_itself(tmp_path):
    good = json.dumps(made("one round"))
    folder = Path(verifier.__file__).parent
    copytree(folder, tmp_path / folder.name, ignore=ignore_patterns("__pycache__"))
    (tmp_path / "good.json").write_text(good, encoding="utf-8")
    (tmp_path / "bad.json").write_text(good.replace('"users": 60', '"users": 59'), encoding="utf-8")
    (tmp_path / "none.json").write_text("{}", encoding="utf-8")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    names = {"good": "valid", "bad": "invalid", "none": "malformed", "binary": "malformed", "absent": "malformed"}
    for name, status in names.items():
        command = [sys.executable, "-m", "verifier", f"{name}.json", *["6"] * (name != "good")]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (run.returncode, run.stderr) == (("valid", "invalid", "malformed").index(status), "")
        assert run.stdout.startswith(f"{status}: ")
        assert run.stdout.count("\n") == 1 or (status == "valid" and "\nsupposed, not checked:\n" in run.stdout)


@pytest.mark.parametrize(
    "command",
    ["epsilon krr --k 3 --eps0 1 --n 100 --delta 1e-3", "delta krr --k 3 --n 9 --eps0 1 --eps 0.1"],
)
def test_the_command_line_writes_and_verifies(command, tmp_path, monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["symamp", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code or 0, capsys.readouterr()

    file = tmp_path / "cert.json"
    assert run(*command.split(), "--certificate", str(file))[0] == 0
    code, printed = run("verify", str(file))
    assert (code, printed.out[:7]) == (0, "valid: ")
    data = json.loads(file.read_text(encoding="utf-8"))
    data["claim"]["upper"] = data["claim"]["lower"]
    file.write_text(json.dumps(data), encoding="utf-8")
    code, printed = run("verify", str(file))
    assert (code, printed.out[:9]) == (1, "invalid: ")
    code, printed = run("verify", str(tmp_path / "absent.json"))
    assert (code, printed.out[:11]) == (2, "malformed: ")
    code, printed = run(*command.split(), "--certificate", str(tmp_path / "no" / "folder.json"))
    assert code == 2
    assert "certificate" in printed.err


@pytest.mark.slow
def test_the_command_line_refuses_in_one_line(monkeypatch, capsys):
    words = "epsilon gaussian --sigma 1 --n 500 --delta 1e-5 --certificate -"
    monkeypatch.setattr(sys, "argv", ["symamp", *words.split()])
    with pytest.raises(SystemExit) as end:
        cli.main()
    printed = capsys.readouterr()
    assert (end.value.code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert "'interval' have some, with more users than here" in printed.err


# --- what is refused and why ------------------------------------------------------------------------------------------


def test_what_is_refused_and_why():
    plan, first = plan_of("kernel"), ("above", "evidence", 0)
    one = ("settings", 0, "groups", 0)
    column = (*one, "mechanism", "pairs", 0, "columns", 0)
    for data, status, word in [
        (changed("kernel", "above", to=None), "invalid", "listed"),
        (changed("kernel", "above", "evidence", to=[]), "invalid", "not covered"),
        (changed("kernel", *first, "plan", "N", to=plan["N"] + 1), "invalid", "blocks"),
        (changed("kernel", *first, "plan", "evaluated", to=plan["evaluated"][1:]), "invalid", "blocks"),
        (changed("kernel", *first, "plan", "dropped", to=[*plan["dropped"], [1, 1]]), "invalid", "blocks"),
        (changed("kernel", *first, "plan", "dropped", to=[*plan["dropped"], [1, 0]]), "invalid", "blocks"),
        (changed("kernel", *first, "plan", "theta_below", to=plan["theta"]), "invalid", "theta"),
        (changed("kernel", *first, "plan", "theta_above", to=plan["theta"]), "invalid", "theta"),
        (changed("kernel", *first, "plan", "theta_below", to="0"), "invalid", "theta"),
        (changed("kernel", *first, "plan", "W", to="-1"), "invalid", "W"),
        (changed("kernel", *first, "plan", "W", to="inf"), "invalid", "W"),
        (changed("kernel", *column, "on", 0, to="1/5"), "invalid", "sum to 1"),
        (changed("kernel", *column, "on", 0, to="-3"), "invalid", ">= 0"),
        (changed("kernel", *column, "on", 0, to="inf"), "invalid", ">= 0"),
        (changed("kernel", *column, "size", to="2"), "invalid", "sum to 1"),
        (changed("kernel", "above", "eps", to="1"), "invalid", "eps"),
        (changed("kernel", "claim", "delta", to="0"), "malformed", "range"),
        (changed("kernel", "claim", "lower", to="-1"), "malformed", "range"),
        (changed("kernel", *one, "users", to=0), "malformed", "users"),
        (changed("kernel", *one, "users", to=10**18 + 1), "malformed", "users"),
        (changed("kernel", *one, "victim", to=False), "malformed", "victim"),
        (changed("kernel", "settings", to=[]), "malformed", "settings"),
        (changed("kernel", "settings", 0, "count", to=2), "invalid", "many rounds"),
        (changed("kernel", "settings", 0, "rate", to="1/2"), "invalid", "many rounds"),
        (changed("kernel", *first, "evaluator", to="faith"), "malformed", "evaluator"),
        (changed("kernel", *first, "kind", to="faith"), "malformed", "no known kind"),
        (changed("kernel", *first, "kind", to="data set"), "malformed", "no known kind"),
        (changed("kernel", *first, "plan", to=None), "malformed", "evaluator"),
        ({k: v for k, v in made("kernel").items() if k != "claim"}, "malformed", "missing key 'claim'"),
        (changed("kernel", "note", to=""), "malformed", "unknown key 'note'"),
        (changed("kernel", "version", to=99), "malformed", "version 99"),
        (changed("kernel", "above", "precision", to=64), "malformed", "precision"),
        (changed("kernel", "above", "precision", to=8193), "malformed", "precision"),
        (changed("kernel", *first, "pair", to=[]), "malformed", "pair"),
        (changed("kernel", *first, "pair", to=[0, 7]), "malformed", "pair"),
        (changed("table", *one, "mechanism", "rows", to=[[]]), "malformed", "rows"),
        (changed("table", *one, "mechanism", "kind", to="wonder"), "malformed", "kind"),
        (changed("table", "below", "evidence", 0, "others", to=[[0, "1/2"]]), "invalid", "weights"),
        (changed("budget", *one, "mechanism", "ratio", to="1/2"), "invalid", "ratio"),
        (changed("messages", "settings", 0, "shuffled", to="data"), "invalid", "shuffled"),
        (changed("messages", "settings", 0, "kept", to="0"), "invalid", "kept"),
    ]:
        found = verdict(data)
        assert found.status == status, (found, word)
        assert word in found.reason, (found, word)


# --- malformed ------------------------------------------------------------------------------------------------------

NUMBERS = [
    "",
    "1.5",
    "1e-3",
    "nan",
    "-inf",
    "x",
    "1;2",
    "__import__('os')",
    "().__class__",
    "lambda: 1",
    "exp",
    "exp()",
]
NUMBERS += [
    "exp(1, 2)",
    "exp(*E)",
    "f(1)",
    "1/0",
    "0**(-1)",
    "sqrt(-1)",
    "log(0)",
    "1 if 1 else 2",
    "[1]",
    "True",
    "1j",
]
NUMBERS += ["1_0", "'1'", "２", "1\n", "2**10**400", "exp(exp(exp(exp(9))))", "(" * 300 + "1" + ")" * 300, "9" * 5000]
NUMBERS += ["-" * 100_000 + "1", "+".join("1" * 100_000)]


@pytest.mark.parametrize("text", NUMBERS, ids=range(len(NUMBERS)))
def test_what_is_no_number_is_malformed(text):
    on = ("settings", 0, "groups", 0, "mechanism", "pairs", 0, "columns", 0, "on", 0)
    for path in (("claim", "delta"), on, ("above", "eps")):
        assert verdict(changed("one round", *path, to=text)).status == "malformed"


def test_expressions_of_sympy_are_read_as_they_are_meant():
    check = Check()
    texts = ["exp(1/2)", "sqrt(2)", "E", "pi", "log(3)", "(E + 9)**(-1)", "2**(1/3)", "7/3**5", "-2**2", "2**(-1074)"]
    texts += ["-2*exp(1/2) - E - 1 + (1 + exp(1/2))**50", "sqrt(2)/4 + 2**(3/2)*log(7/5)", "exp(-1)*(1 + E)**(-301)/2"]
    with flint.ctx.workprec(300):
        for text in texts:
            exact = flint.arb(str(sp.N(sp.sympify(text), 80)))
            assert abs(flint.arb(check.number(text)) / exact - 1) < flint.arb(10) ** -60, text
        assert check.number("exp(log(7/5))") == flint.fmpq(7, 5)
        assert check.number("exp(0)") == 1
        assert check.number("0x10/0x3") == flint.fmpq(16, 3)


TEXTS = ["", "null", "[]", "0", '"valid"', "{", "[" * 100_000, '{"a":' * 100_000, "\ufeff{}", "\x00", "9" * 5000]
TEXTS += [
    '{"format": "symamp-certificate", "format": "symamp-certificate"}',
    '"' + "a" * 2**24 + '"',
    '"' + '\\"' * 2**23,
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_what_is_no_certificate_is_malformed(text):
    assert verify(text).status == "malformed"


def test_keys_and_types_are_strict():
    text = json.dumps(made("kernel"))
    n = '"users": 100'
    for old, new in [
        (n, n + ".0"),
        (n, '"users": "60"'),
        (n, '"users": NaN'),
        (n, '"users": Infinity'),
        (n, '"users": true'),
        (n, '"users": null'),
        (n, n + ", " + n),
        (n, n + ', "m": 1'),
        ('"version": 6', '"version": 5'),
        ('"version": 6', '"version": 7'),
        ('"version": 6', '"version": true'),
        ('"version": 6', '"version": 6, "version": 6'),
        ('"format": "symamp-certificate"', '"format": "x"'),
        ('"quantity": "epsilon"', '"quantity": "x"'),
        ('"quantity": "epsilon"', '"quantity": "delta"'),
        ('"quantity": "epsilon"', '"quantity": "epsilon", "x": "1"'),
        ('"N": ', '"N": 0.5e'),
        ('"plan": {', '"plan": {"x": 1, '),
        ('"supposed": ', '"assumed": '),
    ]:
        assert old in text
        assert verdict(text.replace(old, new, 1)).status == "malformed", new
    text = json.dumps(made("rounds"))
    for old, new in [
        ('"count": 20', '"count": 20, "more": 1'),
        ('"count": 20', '"count": 20, "count": 20'),
        ('"count": 20', '"count": 20.0'),
        ('"floor": ', '"x": 1, "floor": '),
        ('"theta": ', '"theta": "1", "theta": '),
    ]:
        assert old in text
        assert verdict(text.replace(old, new, 1)).status == "malformed", new


NAMES = ["one round", "table", "few", "messages", "data", "budget"]


def is_false(data):
    """What is false about a certificate, where that is found out."""
    try:
        return exact.falsehood(data)
    except (exact.NotComparedError, exact.NothingClaimedError):
        return None


@pytest.mark.parametrize("seeds", chunks(range(300), 150, range(300, 2000), 425))
def test_any_change_gets_a_right_verdict(seeds):
    """Of the structure, and of the text."""
    for seed in seeds:
        text = mutated_certificate(seed, tuple(made(name) for name in NAMES))
        found = verify(text)
        assert found.status in ("valid", "invalid", "malformed")
        assert "\n" not in found.reason
        assert found.status != "valid" or not is_false(json.loads(text))


# --- work -------------------------------------------------------------------------------------------------------------


def quick(text, seconds=3.0):
    start = time.process_time()
    found = verdict(text)
    assert time.process_time() - start < seconds
    assert "\n" not in found.reason
    return found


def test_an_enumeration_too_large_is_given_up_early(monkeypatch):
    """A mutated number of users made ten times as many outcomes as any answer has before it was refused."""
    assert checks.MOST_WORK <= 10**7
    visited = []
    spend = Check.spend
    monkeypatch.setattr(Check, "spend", lambda *given, **kind: (visited.append(1), spend(*given, **kind)))
    monkeypatch.setattr(verifier.certificate, "MOST_WORK", 10**6)
    data = changed("table", "settings", 0, "groups", 0, "users", to=10**12)
    for found in data["above"]["evidence"]:
        found |= {"evaluator": "enumeration", "plan": None}
    found = verdict(data)
    assert (found.status, "too large" in found.reason) == ("malformed", True)
    assert len(visited) < 250_000


def test_the_work_of_a_whole_certificate_is_counted_before_any_of_it():
    data = copy.deepcopy(made("kernel"))
    (found, *_) = data["above"]["evidence"]
    found["plan"] |= {"N": 10**5, "evaluated": [[1, 10**5 - 1]], "dropped": []}
    data["above"]["evidence"] = [found] * 200
    assert "are announced" in quick(json.dumps(data)).reason
    data = copy.deepcopy(made("rounds"))
    point = data["above"]["curves"][0]["first"][0]
    point["evidence"] = [found]
    data["above"]["curves"][0]["first"] = [copy.deepcopy(point) for _ in range(1000)]
    assert quick(json.dumps(data), 6).error == "TooLarge"
    long = "*".join(["3**300000"] * 500)
    path = ("settings", 0, "groups", 0, "mechanism", "pairs", 0, "columns", 0, "on", 0)
    assert verdict(changed("one round", *path, to=long)).status != "valid"


@pytest.mark.parametrize("name", ["kernel", "rounds"])
def test_patience_multiplies_what_a_check_may_take(name, monkeypatch):
    text = json.dumps(made(name))
    monkeypatch.setattr(verifier.certificate, "MOST_WORK", 1000)
    assert (verify(text).error, verify(text, 2).error, verify(text, 10_000).status) == ("TooLarge", "TooLarge", "valid")


def test_what_takes_the_verifier_too_long_is_certified_by_a_thorough_answer(monkeypatch):
    quick, thorough = (
        sa.epsilon(COIN, n=60, delta="1/100", method="blanket", effort=x) for x in ("default", "thorough")
    )
    monkeypatch.setattr(verifier.certificate, "MOST_WORK", 1000)
    with pytest.raises(PrecisionError, match=r"too large.*thorough.*--patience 6"):
        quick.certificate()
    text = json.dumps(thorough.certificate())
    assert (verify(text).error, verify(text, 6).status) == ("TooLarge", "valid")


def test_a_table_of_noise_that_is_too_large_has_a_certificate_by_the_interval(monkeypatch):
    noise = sa.DiscreteLaplace(B=8, eps0=4)
    table, boxes = (sa.epsilon(noise, n=10**4, delta="1e-6", **x) for x in ({}, {"method": "interval"}))
    assert table.method == "all_data_sets"
    assert boxes.upper < 1.001 * table.upper
    assert verify(json.dumps(boxes.certificate())).status == "valid"
    monkeypatch.setattr(verifier.certificate, "MOST_WORK", 1000)
    with pytest.raises(PrecisionError, match=r"too large.*method='interval'"):
        table.certificate()


@pytest.mark.parametrize("filling", ["[],", "{},", "1,", '"",', "[[[[[[[[", '{"a":[' * 4, '"' + "x" * 5000 + '",'])
def test_texts_are_measured_before_they_are_read(filling):
    text = '{"format": "symamp-certificate", "settings": [' + filling * (2**25 // len(filling) + 1) + "1]}"
    assert quick(text).error == "TooLarge"


def test_limits_are_far_above_what_is_written():
    text = json.dumps(made("rounds"))
    assert len(text) * 20 < documents.MOST_BYTES
    assert (text.count(",") + text.count("[") + text.count("{")) * 20 < documents.MOST_ITEMS


# --- what is left out because its mass is 0 ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_what_lies_outside_of_a_window_is_bounded_for_every_mass(n):
    with working(200):
        for p in (Fraction(0), Fraction(1, 10**30), Fraction(1, 3), 1 - Fraction(1, 10**30), Fraction(1)):
            ball = as_ball(p)
            for low, high in ((0, 0), (0, n), (1, 1), (1, n), (n, n)):
                law = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
                outside = 1 - sum(law[low : high + 1])
                bound = sums._outside(n, ball, low, high)
                assert not bound < flint.arb(outside.numerator) / outside.denominator, (p, low, high)


# --- whose guarantee --------------------------------------------------------------------------------------------------


def test_the_claim_says_whose_guarantee_it_is():
    assert "for the 2 users of group 0 only, of 2 groups of 2, 3 users" in verdict(made("first")).reason
    assert "for the 3 users of group 1 only" in verdict(made("second")).reason
    assert "for every user of 2 groups of 2, 3 users" in verdict(made("messages")).reason
    assert "for every user" in verdict(made("data")).reason


def test_evidence_for_one_group_does_not_count_for_all():
    for victim in (0, 1):
        left = copy.deepcopy(made("messages"))
        left["above"]["evidence"] = [e for e in left["above"]["evidence"] if e["victim"] == victim]
        assert f"victim {1 - victim}" in verdict(left).reason
    one = changed("first", "settings", 0, "groups", 1, "victim", to=True)
    assert verdict(one).status == "invalid"
    nobody = changed("first", "settings", 0, "groups", 0, "victim", to=False)
    assert verdict(nobody).status == "malformed"


def test_a_lower_end_is_of_a_victim_of_the_claim():
    data = copy.deepcopy(made("second"))
    data["below"], data["claim"]["lower"] = made("first")["below"], "1/10000"
    assert "of whom nothing is claimed" in verdict(data).reason


def test_a_member_is_within_the_budget():
    data = copy.deepcopy(made("budget"))
    assert verdict(data).status == "valid"
    assert "t = E" in verdict(data).text()
    louder = made("one round")["settings"][0]["groups"][0]["mechanism"]  # of ratio 3
    data["below"]["evidence"][0]["members"] = [louder]
    assert "ratios above that of the budget" in verdict(data).reason


# --- ends that cross --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quantity", "lower", "upper", "error"),
    [
        ("delta", "1/2", "1/3", "CrossedEnds"),
        ("delta", "1/2", "1", "Invalid"),
        ("delta", "0", "2", "Malformed"),
        ("delta", "-1", "1", "Malformed"),
        ("delta", "2", "3", "Malformed"),
        ("delta", "sqrt(2) - 1", "log(3/2) + 0*E", "CrossedEnds"),
        ("epsilon", "5015142392/10**10", "1490205243/10**10", "CrossedEnds"),
        ("epsilon", "inf", "1", "CrossedEnds"),
        ("epsilon", "-1", "1", "Malformed"),
        ("epsilon", "nan", "1", "Malformed"),
        ("epsilon", "0", "0/0", "Malformed"),
    ],
)
def test_ends_that_cross_or_are_out_of_range_are_errors(quantity, lower, upper, error):
    key = {"delta": {"eps": "log(3/2)"}, "epsilon": {"delta": "1/100"}}[quantity]
    for name in ("one round", "rounds"):
        data = changed(name, "claim", to={"quantity": quantity, "lower": lower, "upper": upper} | key)
        data |= {"above": None, "below": None}
        found = verdict(data)
        assert (found.status != "valid", found.error) == (True, error), found


def test_what_is_proved_must_not_cross_either():
    """A table whose two inputs are exchanged below has another divergence: each end is proved of its own mechanism."""
    data = copy.deepcopy(made("rounds"))
    low, high = (data["claim"][end] for end in ("lower", "upper"))
    data["claim"] |= {"lower": high, "upper": low}
    assert verdict(data).error == "CrossedEnds"


# --- what is printed --------------------------------------------------------------------------------------------------


def test_numbers_are_printed_whole_and_outward():
    lines = verdict(made("rounds")).text().splitlines()
    assert lines[0].startswith("valid: epsilon in [0.")
    assert "delta = 1/1000000, for 20 rounds" in lines[0]
    low, high = (Fraction(x) for x in lines[0].partition("[")[2].partition("]")[0].split(", "))
    exact_ends = [Fraction(made("rounds")["claim"][end]) for end in ("lower", "upper")]
    room = Fraction(1, 10**8)
    assert exact_ends[0] * (1 - room) <= low <= exact_ends[0] <= exact_ends[1] <= high <= exact_ends[1] * (1 + room)
    assert any(line.startswith("  rounds of kind 0: 20, with n = 1000, for every user") for line in lines)
    assert "supposed, not checked:" in lines


def test_given_profiles_and_rates_are_printed():
    sampled = sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=200, method="blanket").sampled(n=200, of=1000)
    mixed = sa.compose([sampled.rounds(3), sa.from_privacy_profile([(0, "1/100"), (1, 0)]).rounds(2)])
    text = verdict(mixed.epsilon("1e-3", gap="0.05").certificate()).text()
    assert "3, with n = 200, for every user, sampling rate 1/5" in text
    assert "2, with a given profile" in text
    assert "given bounds on delta at e^eps, '1': '1/100'" in text


def test_only_what_is_claimed_is_told_as_evidence():
    trivial = changed("one round", "claim", "upper", to="inf")
    assert "evidence: 1 below" in verdict(trivial).text()
    alone = copy.deepcopy(made("rounds"))
    alone["claim"] |= {"lower": "0", "upper": "inf"}
    text = verdict(alone).text()
    assert text.index("supposed") < text.index("sampling rate 1, without evidence")


@pytest.mark.parametrize(
    "x", [Fraction(1, 3), Fraction(1, 10), Fraction(2, 7) / 10**40, Fraction(10**30, 7), Fraction(5)]
)
def test_decimal_numbers_are_on_the_right_side(x):
    exact = as_fmpq(x)
    with flint.ctx.workprec(400):
        for number in (exact, flint.arb(exact)):
            low, high = (Fraction(outward(number, up)) for up in (False, True))
            assert low <= x <= high
            assert high - low <= x / 10**8


def test_what_is_written_has_the_published_schema():
    for name in ("one round", "few", "messages", "data", "second", "budget", "rounds"):
        check_document(made(name), "certificate")
        assert verdict(made(name)).status == "valid"


# --- the arithmetic of the process ------------------------------------------------------------------------------------


def test_the_precision_outside_does_not_matter_and_does_not_change():
    text = json.dumps(made("one round"))
    reasons = set()
    for bits in (2, 53, 400):
        with flint.ctx.workprec(bits):
            reasons.add(verify(text))
            assert verify(text.replace('"users": 60', '"users": 59')).status == "invalid"
            assert verify(text.replace('"1/100"', '"sqrt(-1)"')).status == "malformed"
            assert flint.ctx.prec == bits
    assert [r.status for r in reasons] == ["valid"]


@pytest.mark.slow
def test_series_are_as_long_as_they_must_be_whatever_the_caller_has():
    data = json.dumps(
        sa.delta(
            sa.FiniteMechanism([["1/2", "1/2"], ["1/4", "3/4"], ["1/8", "7/8"]]),
            n=50,
            eps="1/5",
            gap=1e-1,
            method="all_data_sets",
        ).certificate()
    )
    tight = json.loads(data)
    tight["claim"]["upper"] = str(Fraction(tight["claim"]["upper"]) * Fraction(4, 5))
    before = flint.ctx.cap, flint.ctx.prec
    try:
        for cap in (1, 10):
            flint.ctx.cap = cap
            assert verify(data).status == "valid"
            assert verify(json.dumps(tight)).status == "invalid"
            assert flint.ctx.cap == cap
    finally:
        flint.ctx.cap, flint.ctx.prec = before


def test_threads_do_not_share_a_precision():
    texts = [json.dumps(made(x)) for x in ("one round", "few", "messages")]
    expected, found = [verify(x) for x in texts], []
    before = flint.ctx.prec
    threads = [threading.Thread(target=lambda: found.append([verify(x) for x in texts])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
    assert flint.ctx.prec == before
    with pytest.raises(ZeroDivisionError), working(777):
        _ = 1 // 0
    assert flint.ctx.prec == before
