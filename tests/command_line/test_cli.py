"""The command line: what each command prints, and one clear line with exit code 2 for every kind of bad input."""

import json
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command import run

import symamp as sa
from symamp.command_line import cli
from symamp.command_line import words as listed
from tests.words import words as every_word

COIN = {
    "format": "symamp-mechanism",
    "version": 1,
    "name": "coin",
    "parameters": {"eps0": {"lower": 0}},
    "inputs": ["no", "yes"],
    "messages": ["0", "1"],
    "table": {
        "no": {"0": "exp(eps0)/(exp(eps0) + 1)", "1": "1/(exp(eps0) + 1)"},
        "yes": {"0": "1/(exp(eps0) + 1)", "1": "exp(eps0)/(exp(eps0) + 1)"},
    },
}
FIXED = {
    **COIN,
    "parameters": {},
    "inputs": ["low", "middle", "high"],
    "table": {"low": {"0": 0.5, "1": 0.5}, "middle": {"0": 0.25, "1": 0.75}, "high": {"0": "1/8", "1": "7/8"}},
}
LEAK = {**COIN, "parameters": {}, "table": {"no": {"0": 0.5, "1": 0.5}, "yes": {"0": 1}}}


@pytest.fixture
def symamp(monkeypatch, capsys, tmp_path):
    """Run the command in a folder with a few mechanism files; return (exit code, standard output, standard error)."""
    for name, document in {"coin": COIN, "fixed": FIXED, "leak": LEAK}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "broken.json").write_text('{"format": "symamp-mechanism", ', encoding="utf-8")
    (tmp_path / "empty.json").write_text("{}", encoding="utf-8")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "rows.json").write_text(json.dumps({**FIXED, "table": {**FIXED["table"], "low": {"0": 1, "1": 1}}}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    return lambda line: run(monkeypatch, capsys, *(shlex.split(line) if isinstance(line, str) else line))


def answer_of(result):
    code, out, err = result
    assert (code, err) == (0, "")
    return json.loads(out)


# ------------------------------------------------------------------------------------------------------------ derive


def test_derive_prints_components_gamma_budget_and_index(symamp):
    code, out, err = symamp("derive krr --k 10")
    assert (code, err) == (0, "")
    for part in ("R(x0)/m", "R(x1)/m", "mass", "GPARV value", "null", "local epsilon = eps0", "shuffle index = "):
        assert part in out
    (gamma,) = (line for line in out.splitlines() if line.startswith("gamma = "))
    assert gamma.startswith("gamma = 10/(")
    assert "eps0 > 0" in gamma


def test_derive_with_symbolic_k(symamp):
    code, out, err = symamp("derive krr")
    assert (code, err) == (0, "")
    assert "integer k >= 2" in out
    assert "k - 2" in out


def test_derive_as_json(symamp):
    found = answer_of(symamp("derive krr --k 10 --json"))
    assert found["mechanism"] == "RandomizedResponse(k=10, eps0=eps0)"
    assert found["local_epsilon"] == "eps0"
    (decomposition,) = found["decompositions"]
    assert decomposition["pair"] == ["x0", "x1"]
    assert decomposition["gamma"] == "10/(exp(eps0) + 9)"
    assert decomposition["singular"] == []
    assert ["exp(eps0)", "1", "1/(exp(eps0) + 9)"] in decomposition["components"]
    assert len(decomposition["components"]) == 3


def test_derive_lists_each_class_of_pairs(symamp):
    found = answer_of(symamp("derive --mechanism fixed.json --json"))
    assert len(found["decompositions"]) == 6
    assert found["local_epsilon"] == "2*log(2)"


def test_derive_for_one_pair(symamp):
    found = answer_of(symamp("derive --mechanism fixed.json --pair low,high --json"))
    (decomposition,) = found["decompositions"]
    assert decomposition["pair"] == ["low", "high"]
    assert decomposition["gamma"] == "5/8"
    code, out, _ = symamp("derive --mechanism fixed.json --pair 'low, high'")
    assert code == 0
    assert "low, high" in out


def test_derive_shows_messages_that_name_their_sender(symamp):
    code, out, _ = symamp("derive --mechanism leak.json --pair no,yes")
    assert code == 0
    assert "names its sender" in out
    (decomposition,) = answer_of(symamp("derive --mechanism leak.json --pair no,yes --json"))["decompositions"]
    assert decomposition["singular"] == [["1/2", "0"]]


# -------------------------------------------------------------------------------------------------- epsilon and delta


def test_epsilon_prints_one_line_for_the_bracket_and_one_for_the_data_set(symamp):
    code, out, err = symamp("epsilon krr --k 10 --eps0 1 --n 1e6 --delta 1e-8")
    assert (code, err) == (0, "")
    bracket, dataset = out.splitlines()
    assert bracket == str(sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**6, delta="1e-8"))
    assert dataset.startswith("lower bound: victim x0 against x1, everyone else holds x2")


def test_epsilon_as_json(symamp):
    found = answer_of(symamp("epsilon krr --k 10 --eps0 1 --n 1e4 --delta 1e-6 --json"))
    expected = sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**4, delta="1e-6")
    assert (found["lower"], found["upper"]) == (expected.lower, expected.upper)
    assert found["bound"] == [expected.bound.lower, expected.bound.upper]
    assert (found["quantity"], found["n"], found["delta"]) == ("epsilon", 10**4, "1e-6")
    assert (found["method"], found["proof_status"]) == ("blanket", "proved")
    assert found["log10_upper"] == pytest.approx(math.log10(expected.upper))
    assert found["parameters"]["evaluator"] == "compact kernel"


@pytest.mark.parametrize("method", ["blanket", "generic", "standard_clone"])
def test_methods(symamp, method):
    found = answer_of(symamp(f"epsilon krr --k 10 --eps0 1 --n 1e4 --delta 1e-6 --method {method} --json"))
    assert found["method"] == method


def test_delta(symamp):
    found = answer_of(symamp("delta krr --k 2 --eps0 1 --n 1000 --eps 0.8 --json"))
    assert found["upper"] == pytest.approx(2.3117e-88, rel=5e-5)
    assert found["eps"] == "0.8"
    code, out, _ = symamp("delta krr --k 2 --eps0 'log(3)' --n 1000 --eps 'log(3/2)'")
    assert code == 0
    assert out.startswith("delta in [")


def test_numbers_beyond_doubles(symamp):
    found = answer_of(symamp("delta krr --k 10 --eps0 1 --n 1e4 --eps 0.5 --json"))
    assert found["lower"] == 0.0
    assert found["log10_lower"] <= found["log10_upper"] < -1000
    assert answer_of(symamp("epsilon krr --k 10 --eps0 1 --n 1e12 --delta 1e-1000 --json"))["upper"] < 1e-3
    assert answer_of(symamp("epsilon --mechanism leak.json --n 10 --delta 1e-9 --json"))["upper"] == "inf"
    assert answer_of(symamp("delta krr --k 10 --eps0 1 --n 10 --eps 1 --json"))["log10_upper"] == "-inf"


def test_only_the_budget(symamp):
    found = answer_of(symamp("epsilon pure-ldp --eps0 1 --n 1e4 --delta 1e-6 --method generic --json"))
    assert found["upper"] == pytest.approx(0.0432062, rel=2e-6)


def test_options_with_an_equals_sign(symamp):
    one = symamp("epsilon krr --k=10 --eps0=1 --n=1e4 --delta=1e-6")
    assert one == symamp("epsilon krr --k 10 --eps0 1 --n 1e4 --delta 1e-6")


def test_the_order_of_options_does_not_matter(symamp):
    expected = symamp("epsilon krr --k 10 --eps0 1 --n 1e4 --delta 1e-6")
    assert symamp("epsilon krr --delta 1e-6 --eps0 1 --n 1e4 --k 10") == expected
    assert symamp("epsilon --delta 1e-6 --n 1e4 krr --k 10 --eps0 1") == expected


# ------------------------------------------------------------------------------------------------------------- files


def test_a_file_without_parameters(symamp):
    found = answer_of(symamp("epsilon --mechanism fixed.json --n 1e4 --delta 1e-6 --json"))
    expected = sa.epsilon(sa.load_mechanism("fixed.json"), n=10**4, delta="1e-6")
    assert (found["lower"], found["upper"]) == (expected.lower, expected.upper)
    assert found["pair"] == list(expected.pair)


@pytest.mark.parametrize(
    "line",
    [
        "epsilon --mechanism coin.json --eps0 1 --n 1e4 --delta 1e-6 --json",
        "epsilon --mechanism coin.json --eps0=1 --n 1e4 --delta 1e-6 --json",
        "epsilon --eps0 1 --mechanism coin.json --n 1e4 --delta 1e-6 --json",
        "epsilon --n 1e4 --delta 1e-6 --json --eps0 1 --mechanism coin.json",
    ],
)
def test_a_file_with_a_parameter(symamp, line):
    binary = answer_of(symamp("epsilon krr --k 2 --eps0 1 --n 1e4 --delta 1e-6 --json"))
    assert answer_of(symamp(line))["upper"] == pytest.approx(binary["upper"], rel=1e-6)


def test_a_file_with_a_parameter_for_delta_and_derive(symamp):
    assert answer_of(symamp("delta --mechanism coin.json --eps0 1 --n 1000 --eps 0.8 --json"))["upper"] < 1e-80
    found = answer_of(symamp("derive --mechanism coin.json --pair no,yes --eps0 'log(3)' --json"))
    assert found["decompositions"][0]["gamma"] == "1/2"
    found = answer_of(symamp("derive --mechanism coin.json --pair no,yes --json"))
    assert found["decompositions"][0]["gamma"] == "2/(exp(eps0) + 1)"


# --------------------------------------------------------------------------------------------------------- mechanisms


def test_users_who_differ(symamp):
    code, out, _ = symamp("crowd 500:pure-ldp:eps0=1 500:pure-ldp:eps0=5 --shuffled data --delta 1e-3")
    assert code == 0
    assert out.startswith("epsilon in [0.949")
    line = (
        "crowd 50:krr:k=2,eps0=1 50:krr:k=2,eps0=2 --shuffled messages --eps 1/10 --honest 40,0 --dropout 1/10 --json"
    )
    code, out, _ = symamp(line)
    found = json.loads(out)
    assert (code, found["n"], list(found["victims"])) == (0, 40, ["0"])
    assert 0 < found["lower"] < found["upper"]
    for shuffled, rounds in (("data", ""), ("messages", ""), ("messages", "--rounds 3 --gap 0.1")):
        line = f"crowd 5:krr:k=3,eps0=1 4:krr:k=3,eps0=2 --shuffled {shuffled} --delta 1e-2 --certificate c.json"
        code, out, _ = symamp(f"{line} {rounds}")
        assert (code, "3 x" in out) == (0, bool(rounds))
        code, out, _ = symamp("verify c.json")
        assert (code, out[:6]) == (0, "valid:")
    for wrong in (
        "500",
        "5:krr:k",
        "5:krr:k=2",
        "5:krr:k=2,eps0=1 --victim 3",
        "5:nothing",
        "5:krr:K=2,eps0=1",
        "x:krr:k=2,eps0=1",
    ):
        code, _, error = symamp(f"crowd {wrong} --shuffled data --delta 1e-3")
        assert code == 2
        assert error.count("\n") == 1


def test_mechanisms(symamp):
    code, out, err = symamp("mechanisms")
    assert (code, err) == (0, "")
    assert "krr" in out
    assert "pure-ldp" in out
    rows = {row["name"]: row for row in answer_of(symamp("mechanisms --json"))}
    assert rows["krr"]["parameters"] == "integer k >= 2, eps0 > 0"
    assert all(set(row) == {"name", "parameters", "description"} and row["description"] for row in rows.values())


def test_every_listed_mechanism_is_found_by_its_name(symamp):
    for row in answer_of(symamp("mechanisms --json")):
        code, _, err = symamp(f"epsilon {row['name']} --n 10 --delta 0.1")
        assert code == 2
        assert "free" in err or "got None" in err


@pytest.mark.slow
def test_noise_has_a_name(symamp):
    for words, mechanism in (
        ("laplace --eps0 1", sa.Laplace(eps0=1)),
        ("logistic --eps0 1", sa.Logistic(eps0=1)),
        ("discrete-laplace --B 3 --eps0 1", sa.DiscreteLaplace(B=3, eps0=1)),
    ):
        expected = sa.epsilon(mechanism, n=10**4, delta="1e-6", gap=1e-3)
        found = answer_of(symamp(f"epsilon {words} --n 1e4 --delta 1e-6 --gap 1e-3 --json"))
        assert (found["lower"], found["upper"]) == (expected.lower, expected.upper)


def test_pieces_of_noise(symamp):
    found = answer_of(symamp("derive laplace --json"))
    assert found["gamma"] == "exp(-eps0/2)"
    assert [(p["start"], p["end"]) for p in found["pieces"]] == [("1/2", "1"), ("1", "oo")]
    assert found["pieces"][1]["ratio1"] == "exp(eps0)"
    code, out, _ = symamp("derive laplace --eps0 1")
    assert code == 0
    assert "gamma = exp(-1/2)" in out


def test_help_shows_the_parameters_of_what_is_named(symamp):
    for line in ("epsilon krr --help", "epsilon --n 10 krr --help", "derive krr -h", "delta krr --k 3 --help"):
        code, out, err = symamp(line)
        assert (code, err) == (0, "")
        for part in ("--k INTEGER", "integer k >= 2", "--eps0 NUMBER", "eps0 > 0"):
            assert part in out
    assert "--K INTEGER" in symamp("derive hadamard-response --help")[1]
    assert "--D INTEGER" in symamp("derive hadamard-response --help")[1]
    assert "--k " not in symamp("epsilon --help")[1]
    assert "--eps0 NUMBER" in symamp("epsilon --mechanism coin.json --help")[1]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("epsilon kr", ["krr"]),
        ("epsilon krr --e", ["--eps0", "--effort"]),
        ("derive krr --", ["--k", "--eps0", "--mechanism", "--pair", "--json", "--help"]),
        ("derive hadamard-response --", ["--K", "--eps0", "--D", "--mechanism", "--pair", "--json", "--help"]),
        ("derive --mechanism coin.json --e", ["--eps0"]),
        ("derive nowhere --e", []),
        ("crowd 500:kr", ["500:krr"]),
        ("crowd 500:krr:k=2,e", ["500:krr:k=2,eps0="]),
        ("choose krr:", ["krr:k=", "krr:eps0="]),
        ("epsilon krr --k --method st", ["standard_clone"]),
        ("schema m", ["mechanism"]),
        ("verif", ["verify"]),
        ("--v", ["--version"]),
        ("epsilon krr --gap 1e-3 --n", ["--n", "--neighbours"]),
        ("epsilon krr --gap", ["--gap"]),
        ("epsilon --method sta", ["standard_clone"]),
        ("epsilon --method=sta", ["standard_clone"]),
        ("epsilon krr k", []),
        ("nothing k", []),
        ("crowd 500:krr:k=2 3:subset-s", ["3:subset-selection"]),
        ("training p", ["poisson"]),
    ],
)
def test_completion(symamp, words, found):
    """By click with all of symamp loaded, and from the list of words, which does not hold what a file declares."""
    from click.shell_completion import ShellComplete

    *args, incomplete = words.split()
    completions = ShellComplete(cli.app, {}, "symamp", "_SYMAMP_COMPLETE").get_completions([*args], incomplete)
    assert [item.value for item in completions] == found
    if "coin.json" not in words:
        assert [item.value for item in listed.completions(args, incomplete)] == found


def test_the_listed_words_are_those_of_the_commands():
    assert json.loads(listed.WORDS.read_text(encoding="utf-8")) == every_word(), "python -m tests.words writes it anew"


@pytest.mark.parametrize(("line", "shown"), [("epsilon kr", "plain,krr"), ("epsilon --mechanism no.json --n", "--n")])
def test_a_shell_is_answered_without_sympy_where_no_file_is_named(line, shown):
    words = f"symamp {line}"
    asked = {"_SYMAMP_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    code = "import sys, symamp.__main__ as m\ntry: m.main()\nfinally: print('sympy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | asked)
    *found, loaded = done.stdout.splitlines()
    assert any(shown in line for line in found)
    assert loaded == str("--mechanism" in line)


def test_schemas_are_printed(symamp):
    assert answer_of(symamp("schema mechanism"))["title"] == "symamp mechanism file, version 1"
    code, out, err = symamp("schema other")
    assert (code, out) == (2, "")
    assert "mechanism" in err


def test_help(symamp):
    for line in ("--help", "derive --help", "epsilon --help", "delta --help", "mechanisms --help"):
        code, out, err = symamp(line)
        assert (code, err) == (0, "")
        assert "Usage:" in out


# ---------------------------------------------------------------------------------------------------------- bad input

QUESTION = "--n 1e4 --delta 1e-6"
BAD = {
    # what is wrong: (command line, words that the line on standard error must contain)
    "unknown mechanism": (f"epsilon foo {QUESTION}", ["foo", "krr"]),
    "unknown mechanism to derive": ("derive foo", ["foo", "krr"]),
    "no mechanism": (f"epsilon {QUESTION}", ["mechanism"]),
    "nothing to derive": ("derive", ["mechanism"]),
    "a name and a file": (
        f"epsilon krr --mechanism fixed.json {QUESTION}",
        ["mechanism", "a name and --mechanism are given"],
    ),
    "two names": (f"epsilon krr foo --k 10 --eps0 1 {QUESTION}", ["foo"]),
    "k = 1": (f"epsilon krr --k 1 --eps0 1 {QUESTION}", ["k: got 1", "k >= 2"]),
    "k = 5/2": ("derive krr --k 2.5", ["k", "5/2", "integer"]),
    "k a word": ("derive krr --k ten", ["k: got ten", "number"]),
    "eps0 = 0": (f"epsilon krr --k 10 --eps0 0 {QUESTION}", ["eps0: got 0", "eps0 > 0"]),
    "eps0 a word": (f"epsilon krr --k 10 --eps0 one {QUESTION}", ["eps0: got one", "number"]),
    "eps0 code": (f"epsilon krr --k 10 --eps0 \"__import__('os')\" {QUESTION}", ["eps0"]),
    "n = 0": ("epsilon krr --k 10 --eps0 1 --n 0 --delta 1e-6", ["n: got 0", "integer from 1"]),
    "n a word": ("epsilon krr --k 10 --eps0 1 --n many --delta 1e-6", ["n: got many", "number"]),
    "delta = 2": ("epsilon krr --k 10 --eps0 1 --n 1e4 --delta 2", ["delta: got 2", "(0, 1)"]),
    "delta a word": ("epsilon krr --k 10 --eps0 1 --n 1e4 --delta abc", ["delta: got abc", "number"]),
    "eps < 0": ("delta krr --k 10 --eps0 1 --n 1e4 --eps -1", ["eps: got -1", ">= 0"]),
    "gap": (f"epsilon krr --k 10 --eps0 1 {QUESTION} --gap 5", ["gap: got 5", "0.1"]),
    "a gap that is a large fraction": (f"epsilon krr --k 10 --eps0 1 {QUESTION} --gap 1/2", ["gap: got 1/2", "0.1"]),
    "a folder that is not there": (
        f"choose page=16 --eps 1 {QUESTION} --plot nowhere/x.svg",
        ["plot: nowhere/x.svg cannot be written", "there is no folder nowhere"],
    ),
    "an attribute": (f"plan page=16 --eps 1 {QUESTION}", ["page=16 is an attribute", "symamp choose"]),
    "unknown method": (
        f"epsilon krr --k 10 --eps0 1 {QUESTION} --method magic",
        ["method: got magic", "standard_clone"],
    ),
    "unknown parameter": (f"epsilon krr --k 10 --eps0 1 {QUESTION} --foo 3", ["foo", "k"]),
    "unknown parameter of a file": (f"epsilon --mechanism coin.json --eps0 1 --k 3 {QUESTION}", ["k", "eps0"]),
    "unknown flag": (f"epsilon krr --k 10 --eps0 1 {QUESTION} --foo", ["foo"]),
    "unknown short flag": ("derive krr -k 10", ["-k"]),
    "an option of another command": ("derive krr --k 10 --n 5", ["n"]),
    "no value for k": (f"epsilon krr --eps0 1 {QUESTION} --k", ["k", "value"]),
    "no value for eps0": (f"epsilon krr --k 10 --eps0 {QUESTION}", ["eps0", "value"]),
    "no value for n": ("epsilon krr --k 10 --eps0 1 --delta 1e-6 --n", ["--n"]),
    "no value for delta": ("epsilon krr --k 10 --eps0 1 --n 1e4 --delta", ["--delta"]),
    "no value for method": (f"epsilon krr --k 10 --eps0 1 {QUESTION} --method", ["--method"]),
    "no value for mechanism": (f"epsilon {QUESTION} --mechanism", ["--mechanism"]),
    "k twice": (f"epsilon krr --k 10 --k 11 --eps0 1 {QUESTION}", ["k", "twice"]),
    "n twice": (f"epsilon krr --k 10 --eps0 1 {QUESTION} --n 10", ["n", "twice"]),
    "missing --n": ("epsilon krr --k 10 --eps0 1 --delta 1e-6", ["--n"]),
    "missing --delta": ("epsilon krr --k 10 --eps0 1 --n 1e4", ["--delta"]),
    "missing --eps": ("delta krr --k 10 --eps0 1 --n 1e4", ["--eps"]),
    "a free parameter": (f"epsilon krr --k 10 {QUESTION}", ["eps0", "free", "--eps0"]),
    "a free parameter in a file": (f"epsilon --mechanism coin.json {QUESTION}", ["eps0", "free"]),
    "missing file": (f"epsilon --mechanism nowhere.json {QUESTION}", ["nowhere.json", "existing file"]),
    "a folder": (f"epsilon --mechanism . {QUESTION}", ["file"]),
    "broken JSON": (f"epsilon --mechanism broken.json {QUESTION}", ["broken.json", "JSON"]),
    "not a mechanism": (f"epsilon --mechanism empty.json {QUESTION}", ["format"]),
    "not text": ("derive --mechanism binary.json", ["binary.json", "UTF-8"]),
    "a bad row": (f"epsilon --mechanism rows.json {QUESTION}", ["low", "sum"]),
    "support": (f"epsilon --mechanism leak.json {QUESTION} --method generic", ["generic", "blanket"]),
    "no decomposition": ("derive pure-ldp", ["PureLDP"]),
    "noise of whom only the budget counts": (
        "crowd 5:laplace:eps0=1 5:krr:k=2,eps0=1 --shuffled messages --delta 0.1",
        ["users who differ", "tables"],
    ),
    "a pair of numbers": ("derive laplace --pair 0,1", ["Laplace"]),
    "one input": ("derive krr --k 10 --pair x0", ["pair", "two inputs"]),
    "three inputs": ("derive krr --k 10 --pair x0,x1,x2", ["pair", "two inputs"]),
    "equal inputs": ("derive krr --k 10 --pair x0,x0", ["pair", "two different inputs"]),
    "unknown input": ("derive krr --k 10 --pair x0,nobody", ["nobody", "x1"]),
    "unknown command": ("evaluate krr", ["evaluate"]),
    "an argument for mechanisms": ("mechanisms krr", ["krr"]),
    "a newline": (["derive", "krr", "--k", "1\n2"], ["k"]),
    "a newline in a name": (["derive", "k\nrr"], ["rr"]),
}


@pytest.mark.parametrize(("line", "words"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_code_2_and_one_clear_line(symamp, line, words):
    code, out, err = symamp(line)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert err.startswith("symamp: ")
    assert err.endswith("\n")
    for word in words:
        assert word in err
    assert "Traceback" not in err


def test_the_installed_command_and_the_module():
    """One good and one bad call through a process: exit code, streams, no traceback."""
    command = Path(sys.executable).with_name("symamp")
    good = ["epsilon", "krr", "--k", "10", "--eps0", "1", "--n", "1e6", "--delta", "1e-8"]
    done = subprocess.run([command, *good], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("epsilon in [0.0027292")
    bad = [sys.executable, "-m", "symamp.command_line.cli", "derive", "krr", "--k", "1"]
    done = subprocess.run(bad, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "symamp: k: got 1, expected an integer k >= 2\n"


def test_ends_are_printed_outward(symamp):
    groups = "crowd 5:krr:k=3,eps0=1 4:krr:k=3,eps0=2 --shuffled messages --delta 1e-2"
    exact = json.loads(symamp(f"{groups} --json")[1])
    printed = re.findall(r"\[([^,]*), ([^]]*)\]", symamp(groups)[1])
    assert len(printed) == 3
    assert max(float(low) for low, _ in printed[1:]) <= exact["lower"]
    assert max(float(high) for _, high in printed[1:]) >= exact["upper"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("crowd 5:krr:k=3,eps0=1,eps0=2 --shuffled data --delta 1e-3", "eps0 occurs twice"),
        ("choose krr:k=3,k=4 --n 100 --eps 1 --delta 1e-3", "k occurs twice"),
        ("curve krr --k 3 --eps0 1 --n 10 --eps 0.1,0.2 --plot x.xyz", "ends in one of"),
    ],
)
def test_what_is_given_twice_and_names_of_no_picture(symamp, words, said):
    code, _, error = symamp(words)
    assert code == 2
    assert said in error
