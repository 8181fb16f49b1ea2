"""A slice of the fuzzing, the same in every run, and every call that failed once. ``make fuzz`` draws new ones."""

import json
from pathlib import Path

import pytest

from fuzz.calls import random_call
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
    assert play("[x for x in iter(int, 1)]", seconds=0.2).kind == "over time"
