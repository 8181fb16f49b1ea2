"""The comparison of two versions: questions are the same for the same seed, and what differs is found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.worlds import large


def test_a_question_is_asked_again_by_its_number() -> None:
    first, again = (large.ask(7, which=2, seconds=60) for _ in range(2))
    assert {**first, "seconds": 0} == {**again, "seconds": 0}
    assert "crash" not in first


@pytest.mark.parametrize(
    ("new", "found"),
    [
        ({"lower": "1.5", "upper": "2", "seconds": 1.0}, "DISJOINT"),
        ({"lower": "1", "upper": "1.21", "seconds": 1.0}, "looser: upper"),
        ({"lower": "0.9", "upper": "1.2", "seconds": 1.0}, "looser: lower"),
        ({"lower": "1", "upper": "inf", "seconds": 1.0}, "looser: upper"),
        ({"lower": "1", "upper": "1.2", "seconds": 2.0}, "slower"),
        ({"crash": "TypeError", "seconds": 1.0}, "answered -> TypeError"),
        ({"refused": "no", "seconds": 1.0}, "answered -> no"),
    ],
)
def test_what_differs_is_said(new: dict[str, object], found: str) -> None:
    said = list(large.differences({"lower": "1", "upper": "1.2", "seconds": 1.0}, new))
    assert any(found in line for line in said)


@pytest.mark.parametrize("family", [*large.FAMILIES, *large.NOISES])
def test_every_family_is_complete(family: Callable[[str], Any]) -> None:
    assert not family("1").parameters


def test_what_is_the_same_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "answers"
    file.write_text('{"which": 0, "said": "a", "lower": "1", "upper": "1.2", "seconds": 1.0}\n')
    large.compare(file, file)
    assert capsys.readouterr().out == "1 questions, 1.0 -> 1.0 s\n"
