"""A slice of the golden answers: nothing contradicts what was recorded, and a contradiction is seen."""

import json
from pathlib import Path

from tests.golden.__main__ import answered, moved
from tests.golden.questions import questions

RECORDED = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))


def test_every_question_is_recorded():
    assert set(RECORDED) == set(questions())


def test_a_slice_is_answered_as_recorded():
    for name, after in answered(["gamma", "budget", "epsilon krr", "table 2x2", "given"]).items():
        said = moved(RECORDED[name] | {"seconds": 1e9}, after)
        assert not [x for x in said if not x.startswith(("closer", "looser"))], name  # ends differ between machines


def test_what_moves_is_named():
    before = {"answer": [1.0, 2.0], "seconds": 1.0}
    assert moved(before, {"answer": [2.5, 3.0], "seconds": 1.0}) == ["CONTRADICTS [1.0, 2.0] -> [2.5, 3.0]"]
    assert moved(before, {"answer": [1.0, 2.1], "seconds": 1.0})[0].startswith("looser")
    assert moved(before, {"answer": [1.5, 2.0], "seconds": 2.0})[1].startswith("slower")
    assert moved({"answer": "a", "seconds": 0.0}, {"answer": "b", "seconds": 0.0}) == ["'a' -> 'b'"]
    assert moved(before, before) == []


def test_questions_at_random_are_the_same_for_a_seed():
    first, again = (answered(["random", "7", "3"]) for _ in range(2))
    assert {name: x["answer"] for name, x in first.items()} == {name: x["answer"] for name, x in again.items()}
    assert all(isinstance(x["answer"], list) for x in first.values())
