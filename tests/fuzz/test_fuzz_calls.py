"""A slice of the fuzzing, the same in every run, and every call that failed once. ``make fuzz`` draws new ones."""

import json
from pathlib import Path
from random import Random

import pytest

from fuzz.calls import random_call
from fuzz.draw import NUMBERS, ODD, TEXTS
from fuzz.play import play
from tests.sampled import some

CASES = [
    pytest.param(json.loads(line)["call"], id=f"{file.stem}:{number}")
    for file in sorted(Path(__file__).with_name("cases").glob("*.jsonl"))
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
]
LONG = (
    "sa.epsilon(sa.FiniteMechanism([[",
    "sa.joint([sa.OneBitMean(eps0='log(3)')] * 10**4)",
    "(5, sa.PureLDP(eps0=100))",
    "(s=4, l=6, eps0=100), n=10**18",
    "step='log(1+1e-300)'",
)

TABLE = "{'a': {'0': '2/3', '1': '1/3'}, 'b': {'0': '1/3', '1': '2/3'}}"
PLACES = {
    "n": "sa.epsilon(RR, n=VALUE, delta='1e-6', gap=1e-3)",
    "n of delta": "sa.delta(RR, n=VALUE, eps='1/100', gap=1e-3)",
    "delta": "sa.epsilon(RR, n=3, delta=VALUE, gap=1e-3)",
    "eps": "sa.delta(RR, n=3, eps=VALUE, gap=1e-3)",
    "gap": "sa.epsilon(RR, n=3, delta='1e-3', gap=VALUE)",
    "method": "sa.epsilon(RR, n=3, delta='1e-3', method=VALUE)",
    "mechanism": "sa.epsilon(VALUE, n=3, delta='1e-3', gap=1e-3)",
    "mechanism of delta": "sa.delta(VALUE, n=3, eps='1/2', gap=1e-3)",
    "k": "evaluated(sa.RandomizedResponse(k=VALUE, eps0=1))",
    "eps0": "evaluated(sa.RandomizedResponse(k=3, eps0=VALUE))",
    "eps0 of PureLDP": "evaluated(sa.PureLDP(eps0=VALUE))",
    "at": "evaluated(sa.RandomizedResponse(k=3).at(eps0=VALUE))",
    "table": "evaluated(sa.FiniteMechanism(VALUE))",
    "row": "evaluated(sa.FiniteMechanism({'a': VALUE, 'b': VALUE}))",
    "entry": "evaluated(sa.FiniteMechanism({'a': {'x': VALUE, 'y': '1/2'}, 'b': {'x': '1/2', 'y': '1/2'}}))",
    "label": "evaluated(sa.FiniteMechanism({'a': {VALUE: 1}, 'b': {'x': 1}}))",
    "parameters": f"sa.FiniteMechanism({TABLE}, parameters=VALUE)",
    "name": f"sa.FiniteMechanism({TABLE}, name=VALUE)",
    "first input": "RR.blanket(VALUE, 'x1')",
    "second input": "RR.blanket('x0', VALUE)",
    "eps of the GPARV": "RR.blanket().gparv(VALUE)",
    "number system": "RR.blanket().lambdify(VALUE)",
    "path": "sa.load_mechanism(VALUE)",
    "document": "sa.mechanism_from_json(VALUE)",
    "parameter name": "sa.Parameter(VALUE)",
    "parameter bound": "sa.FiniteMechanism(" + TABLE + ", parameters=[sa.Parameter('p', lower=VALUE)])",
}


@pytest.mark.parametrize(
    "place", some(PLACES, lambda place: place not in ("n of delta", "eps0 of PureLDP", "eps of the GPARV"))
)
def test_any_value_in_any_place(place):
    """Numbers, symbols, texts and objects of every kind are refused, or answered sanely."""
    rng = Random(place)
    drawn = [repr("".join(rng.choices("0123456789.eE+-*/() xplogsqrt", k=rng.randint(1, 12)))) for _ in range(40)]
    call = PLACES[place].replace("RR", "sa.RandomizedResponse(k=3, eps0='log(2)')")
    failures = [play(call.replace("VALUE", f"({value})")) for value in (*NUMBERS, *TEXTS, *ODD, *drawn)]
    assert not [failure for failure in failures if failure is not None]


@pytest.mark.parametrize("first", some(range(1000, 1200, 20), 3))
def test_random_calls_keep_what_is_promised(first):
    failures = [play(random_call(seed)) for seed in range(first, first + 20)]
    assert not [failure for failure in failures if failure is not None]


@pytest.mark.parametrize("call", some(CASES, lambda call: not any(part in call for part in LONG)))
def test_calls_that_failed_once(call):
    failure = play(call)
    assert failure is None, failure


def test_a_failure_is_noticed():
    """The harness itself: each kind of broken promise is reported."""
    assert play("1/0 if sa else 0") is None  # the language's own refusal
    assert "NaN" in play("float('nan')").detail
    assert play("sa.errors.shown(Odd())") is None
    assert "without saying why" in play("(_ for _ in ()).throw(sa.errors.SymampError('', 0, ''))").detail
    assert play("[x for x in iter(int, 1)]", seconds=0.2).kind == "over time"
