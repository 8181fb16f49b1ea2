"""Mechanism files: the documented example, each refusal with its place, and mutations of a valid file."""

import copy
import json
import os
import random
import re
import sys
import time
from pathlib import Path

import pytest
import sympy as sp

from symamp.errors import ExpressionError, FormatError, RowSumError, SymampError
from symamp.formulas.parameter import Parameter
from symamp.randomizers.files.load import load_mechanism, mechanism_from_json
from tests.sampled import some

COIN = {
    "format": "symamp-mechanism",
    "version": 1,
    "name": "coin",
    "description": "a biased coin",
    "parameters": {"p": {"lower": "1/2", "upper": 1}},
    "inputs": ["a", "b"],
    "messages": ["0", "1"],
    "table": {"a": {"0": "p", "1": "1 - p"}, "b": {"0": "1 - p", "1": "p"}},
}


def changed(**members):
    return {**copy.deepcopy(COIN), **members}


@pytest.fixture
def write(tmp_path):
    def writer(content):
        file = tmp_path / "mechanism.json"
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return file

    return writer


def documented_example():
    page = Path(__file__).parents[2] / "docs" / "mechanism_format.md"
    return re.search(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[1]


def test_the_documented_example(write):
    mechanism = load_mechanism(write(documented_example()))
    assert mechanism.name == "levels"
    assert mechanism.inputs == mechanism.messages == ("low", "middle", "high")
    assert [parameter.name for parameter in mechanism.parameters] == ["eps0"]
    assert sp.simplify(mechanism.local_epsilon() - Parameter("eps0").symbol) == 0
    assert load_mechanism(str(write(documented_example()))) == mechanism
    assert mechanism_from_json(json.loads(documented_example())) == mechanism


def test_entries():
    mechanism = mechanism_from_json(COIN)
    p = Parameter("p").symbol
    assert mechanism.rows == ((p, 1 - p), (1 - p, p))
    assert mechanism.parameters == (Parameter("p", sp.Rational(1, 2), sp.Integer(1)),)


def test_a_missing_message_has_probability_0_and_order_is_that_of_the_lists():
    table = {"b": {"0": 1}, "a": {"1": "1/3", "0": "2/3"}}
    mechanism = mechanism_from_json(changed(parameters={}, table=table))
    assert mechanism.inputs == ("a", "b")
    assert mechanism.messages == ("0", "1")
    assert mechanism.rows == ((sp.Rational(2, 3), sp.Rational(1, 3)), (1, 0))


def test_numbers_are_taken_as_written(write):
    table = '{"a": {"0": 0.1, "1": 9e-1}, "b": {"0": 0.90, "1": 0.1000000000000000000000000000000000000000}}'
    content = json.dumps(changed(table="TABLE", parameters={})).replace('"TABLE"', table)
    tenth = sp.Rational(1, 10)
    assert load_mechanism(write(content)).rows == ((tenth, 9 * tenth), (9 * tenth, tenth))
    assert mechanism_from_json(json.loads(content)).rows == ((tenth, 9 * tenth), (9 * tenth, tenth))


def test_bounds_use_earlier_parameters_only():
    parameters = {"q": {"lower": 0, "upper": "1/2"}, "p": {"lower": "q", "upper": "1 - q"}, "k": {"integer": True}}
    found = mechanism_from_json(changed(parameters=parameters)).parameters
    q = Parameter("q").symbol
    assert found[1] == Parameter("p", q, 1 - q)
    assert found[2] == Parameter("k", integer=True)
    with pytest.raises(ExpressionError) as refusal:
        mechanism_from_json(changed(parameters={"p": {"lower": "q"}, "q": {}}))
    assert refusal.value.argument == 'parameters["p"]["lower"]'


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"format": "other"}, "format"),
        ({"format": None}, "format"),
        ({"version": 2}, "version"),
        ({"version": True}, "version"),
        ({"version": 1.0}, "version"),
        ({"version": "1"}, "version"),
        ({"name": 3}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"description": 1}, "description"),
        ({"description": "x" * 10001}, "description"),
        ({"extra": 1}, "document"),
        ({"inputs": "ab"}, "inputs"),
        ({"inputs": []}, "inputs"),
        ({"inputs": ["a", "a"]}, "inputs"),
        ({"inputs": ["a", 1]}, "inputs[1]"),
        ({"inputs": [str(i) for i in range(401)]}, "inputs"),
        ({"messages": {}}, "messages"),
        ({"messages": [str(i) for i in range(4001)]}, "messages"),
        ({"inputs": [str(i) for i in range(11)], "messages": [str(i) for i in range(4000)]}, "table"),
        ({"table": []}, "table"),
        ({"table": {"a": {}}}, "table"),
        ({"table": {"a": {}, "b": {}, "c": {}}}, "table"),
        ({"table": {"a": [], "b": {}}}, 'table["a"]'),
        ({"table": {"a": {"2": 1}, "b": {}}}, 'table["a"]'),
        ({"table": {"a": {"0": None}, "b": {}}}, 'table["a"]["0"]'),
        ({"table": {"a": {"0": True}, "b": {}}}, 'table["a"]["0"]'),
        ({"table": {"a": {"0": [1]}, "b": {}}}, 'table["a"]["0"]'),
        ({"table": {"a": {"0": "1 +"}, "b": {}}}, 'table["a"]["0"]'),
        ({"table": {"a": {"0": "q"}, "b": {}}}, 'table["a"]["0"]'),
        ({"table": {"a": {"0": float("nan")}, "b": {}}}, 'table["a"]["0"]'),
        ({"table": {"a": {"0": float("inf")}, "b": {}}}, 'table["a"]["0"]'),
        ({"table": {"a": {"0": 10**9999}, "b": {}}}, 'table["a"]["0"]'),
        ({"parameters": []}, "parameters"),
        ({"parameters": {f"p{i}": {} for i in range(17)}}, "parameters"),
        ({"parameters": {"1p": {}}}, 'parameters["1p"]'),
        ({"parameters": {"if": {}}}, 'parameters["if"]'),
        ({"parameters": {"exp": {}}}, 'parameters["exp"]'),
        ({"parameters": {"p" * 33: {}}}, f'parameters["{"p" * 33}"]'),
        ({"parameters": {"\ud800": {}}}, 'parameters["\\ud800"]'),
        ({"parameters": {"p": 1}}, 'parameters["p"]'),
        ({"parameters": {"p": {"low": 1}}}, 'parameters["p"]'),
        ({"parameters": {"p": {"integer": 1}}}, 'parameters["p"]["integer"]'),
        ({"parameters": {"p": {"lower": None}}}, 'parameters["p"]["lower"]'),
        ({"parameters": {"p": {"lower": "1/0"}}}, 'parameters["p"]["lower"]'),
        ({"parameters": {"p": {"lower": 1, "upper": 1}}}, 'parameters["p"]'),
        ({"parameters": {"p": {"lower": 2, "upper": 1, "integer": True}}}, 'parameters["p"]'),
    ],
)
def test_refusals_name_the_place(members, place):
    with pytest.raises(SymampError) as refusal:
        mechanism_from_json(changed(**members))
    assert refusal.value.argument == place
    str(refusal.value).encode()


@pytest.mark.parametrize("key", ["format", "version", "name", "inputs", "messages", "table"])
def test_a_missing_member_is_named(key):
    with pytest.raises(FormatError, match=f"missing key .{key}"):
        mechanism_from_json({k: v for k, v in COIN.items() if k != key})


@pytest.mark.parametrize("document", [None, 1, "text", [], [COIN], {1: 2}, {}, float("nan")])
def test_documents_that_are_no_objects(document):
    with pytest.raises(FormatError):
        mechanism_from_json(document)


def test_containers_that_contain_themselves_are_refused():
    loop: list[object] = []
    loop.append(loop)
    for member in COIN:
        with pytest.raises(FormatError):
            mechanism_from_json(changed(**{member: loop}))


def test_a_row_that_does_not_sum_to_1_passes_the_format_and_is_refused_by_the_mechanism():
    with pytest.raises(RowSumError):
        mechanism_from_json(changed(table={"a": {"0": "p"}, "b": {"1": 1}}))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "JSON"),
        (b"\xff\xfe", "UTF-8"),
        (b'"\xed\xa0\x80"', "UTF-8"),
        (b"\xef\xbb\xbf{}", "JSON"),
        ("{", "JSON"),
        ("{} {}", "JSON"),
        ("[" * 100_000, "deeply"),
        ('{"a":' * 100_000, "deeply"),
        ('{"a": 1, "a": 1}', "twice"),
        ('{"a": {"b": 1, "b": 2}}', "twice"),
        ("NaN", "finite"),
        ('{"a": Infinity}', "finite"),
        ("[-Infinity]", "finite"),
        ("1" * 5000, "digits"),
        ('{"\\ud800": 1, "\\ud800": 2}', "twice"),
        (b" " * (4 * 2**20 + 1), "bytes"),
        ("// comment\n{}", "JSON"),
        ('{"a": 01}', "JSON"),
        ("1e999999999", "object"),
        ('"a\nb"', "JSON"),
    ],
    ids=range(20),
)
def test_files_that_are_no_documents(write, content, reason):
    with pytest.raises(FormatError, match=reason) as refusal:
        load_mechanism(write(content))
    str(refusal.value).encode()


def test_paths_that_are_no_files(tmp_path):
    for path in [tmp_path / "missing.json", tmp_path, "", "\0", "a\0b", "x" * 5000, os.devnull, 0, None, b"x", 1.5, []]:
        with pytest.raises(FormatError) as refusal:
            load_mechanism(path)
        assert refusal.value.argument == "path"
        str(refusal.value).encode()


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes")
def test_a_pipe_is_refused_rather_than_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError):
        load_mechanism(tmp_path / "pipe")


def test_extreme_decimals_are_refused_at_their_place(write):
    for number in ["1e999999999", "1e-999999999", "-1e99999", "1e-100001"]:
        content = json.dumps(COIN).replace('"0": "p"', f'"0": {number}')
        with pytest.raises(SymampError) as refusal:
            load_mechanism(write(content))
        assert refusal.value.argument == 'table["a"]["0"]'


# Mutations. Only SymampError may escape; a hang would show in the total.

HOSTILE = [
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e300, float("nan"), float("inf"), 10**400, "", "p", "q", "1/0", "1 - p",
    "2**10**10", "exp(exp(exp(p)))", "p" * 300, "\0", "\ud800", "ä", "1 +", "0.5", "__import__('os')", [], [[]], ["a"],
    ["a", "b"], ["a", "a"], [1], {}, {"a": 1}, {"p": {}}, {"p": {"lower": 0}}, {"lower": "p"}, {"": {}}, {1: 1},
    {"a": {"0": 1}}, {"p": {"integer": True}}, "p**1000", "log(p)", "sqrt(p**2)", "binomial(p, 2)", "1e-3000",
    "p/(p - p)",
]  # fmt: skip


def _places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from _places(value[key], (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _places(item, (*path, i))


def _mutated(document, rng):
    document = copy.deepcopy(document)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        *path, last = rng.choice([place for place in _places(document) if place])
        parent = document
        for step in path:
            parent = parent[step]
        value = copy.deepcopy(rng.choice(HOSTILE))
        match rng.randrange(5):
            case 0:
                del parent[last]
            case 1 if isinstance(parent, dict):
                parent[rng.choice(["a", "b", "0", "p", "lower", "integer", "x", ""])] = value
            case 1:
                parent.append(value)
            case 2 if isinstance(parent[last], str) and parent[last]:
                text, i = parent[last], rng.randrange(len(parent[last]))
                parent[last] = text[:i] + rng.choice("0p-+*/()^e .\0é") + text[i + rng.randrange(2) :]
            case _:
                parent[last] = value
    return document


def _survives(load, argument):
    start = time.perf_counter()
    try:
        load(argument)
    except SymampError as refusal:
        str(refusal).encode()
    assert time.perf_counter() - start < 10, argument


@pytest.mark.parametrize("documents", some([400, 4000], 1))
def test_fuzz_documents(documents):
    rng = random.Random(20240601)
    for _ in range(documents):
        _survives(mechanism_from_json, _mutated(COIN, rng))


@pytest.mark.parametrize("files", some([400, 4000], 1))
def test_fuzz_files(tmp_path, files):
    """Bytes of a valid file replaced, removed, doubled."""
    rng = random.Random(20240602)
    file = tmp_path / "mechanism.json"
    valid = json.dumps(COIN).encode()
    for _ in range(files):
        content = bytearray(valid)
        for _ in range(rng.randrange(1, 4)):
            i = rng.randrange(len(content))
            match rng.randrange(4):
                case 0:
                    content[i] = rng.randrange(256)
                case 1:
                    content[i] = rng.choice(b'{}[]",:0123456789.eE+-*/()pNI\\ \n')
                case 2:
                    del content[i : i + rng.randrange(1, 6)]
                case _:
                    content[i:i] = content[i : i + rng.randrange(1, 30)]
        file.write_bytes(bytes(content))
        _survives(load_mechanism, file)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("1/(1 + sqrt(b)**4)", "roots of what is not negative"),
        ("exp(-exp(log(b))**2)", "logarithms of what is positive"),
        ("1/2 + 0*log(b)", "logarithms of what is positive"),
        ("1/2 + (1/8)*sqrt(b)*sqrt(b)/b", "denominators that are not 0"),
        ("1/2 + sqrt(b)/(4*sqrt(sqrt(b)**2))", "denominators that are not 0"),
        ("1/2 + 0*sqrt(b + 1.999)", "roots of what is not negative"),
        ("1/2 + 0*log(4.999 - b)", "logarithms of what is positive"),
        ("1/2 + 0/(3*b - 1)**2", "denominators that are not 0"),
        ("1/2 + 0*b**-2", "denominators that are not 0"),
        ("1/2 + 0*b**(1/3)", "roots of what is not negative"),
    ],
)
def test_what_is_undefined_in_the_range_is_refused(entry, reason):
    parameters = {"b": {"lower": -2, "upper": 5}}
    rows = {"a": {"0": entry, "1": f"1 - ({entry})"}, "b": {"0": f"1 - ({entry})", "1": entry}}
    with pytest.raises(ExpressionError, match=reason):
        mechanism_from_json(changed(parameters=parameters, table=rows))
    inside = {"b": {"lower": 5, "upper": 6}}
    if "4.999" not in entry:
        assert mechanism_from_json(changed(parameters=inside, table=rows)).parameters


@pytest.mark.parametrize("entry", ["1/(2 + b**2)", "exp(b)/(1 + exp(b))", "2**b/(2**b + 1)", "1/2 + 0*sqrt(b + 2)"])
def test_what_is_defined_in_the_range_is_accepted(entry):
    rows = {"a": {"0": entry, "1": f"1 - ({entry})"}, "b": {"0": f"1 - ({entry})", "1": entry}}
    assert mechanism_from_json(changed(parameters={"b": {"lower": -2, "upper": 5}}, table=rows)).parameters
