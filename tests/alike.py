"""Printed output that is the same but for the last digits of its numbers: those depend on search and machine."""

import re

import pytest

_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?")


def assert_alike(found: str, expected: str, rel: float = 2e-6) -> None:
    """The texts agree, numbers with a decimal point to so many digits."""
    assert _NUMBER.sub("#", found) == _NUMBER.sub("#", expected)
    numbers = zip(_NUMBER.findall(found), _NUMBER.findall(expected), strict=True)
    for a, b in numbers:
        assert float(a) == pytest.approx(float(b), rel=rel)
