"""Random formulas: what the package reads has the value of the text, in balls; failures are kept and run again.

``make fuzz`` searches with a fresh seed for SYMAMP_FUZZ_SECONDS; ``make test`` runs a fixed part. A text whose value
differs, or that ends in anything but ExpressionError, is appended to regressions_formulas.txt.
"""

from __future__ import annotations

import os
import random
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import sympy as sp

from symamp.errors import ExpressionError
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import Parameter
from symamp.numbers.reading import parse_expression
from symamp.numbers.substitution import put
from symamp.numbers.systems import arb_value

sys.path.insert(0, str(Path(__file__).parent))
from formulas import INTEGERS, POINTS, REALS, random_formula, value

KEPT = Path(__file__).with_name("regressions_formulas.txt")
SECONDS = float(os.environ.get("SYMAMP_FUZZ_SECONDS", "0"))
SYMBOLS = {n: Parameter(n, integer=True).symbol for n in INTEGERS} | {n: Parameter(n).symbol for n in REALS}


def wrong(text: str) -> str | None:
    """Return what is wrong with the reading of the text: its value, or that of its normal form, at some point."""
    try:
        expr = parse_expression(text, SYMBOLS)
    except ExpressionError:
        return None
    forms = [expr]
    with suppress(ExpressionError):
        forms.append(normal(expr))
    for point in POINTS:
        expected = value(text, point)
        if not expected.is_finite():
            continue
        numbers = {SYMBOLS[n]: sp.Rational(v.numerator, v.denominator) for n, v in point.items()}
        for form in forms:
            try:
                found = arb_value(put(form, numbers), 300)
            except ExpressionError:  # not a real number on the way, such as a root of a negative factor
                continue
            if not found.overlaps(expected):
                return f"{text} is read as {form}: {found.str(10)} for {expected.str(10)} at {point}"
    return None


def texts_kept() -> list[str]:
    return KEPT.read_text().splitlines() if KEPT.exists() else []


@pytest.mark.parametrize("text", texts_kept())
def test_what_failed_once(text):
    assert wrong(text) is None


def test_random_formulas_are_read_as_they_are_written():
    seed = random.SystemRandom().randrange(2**32) if SECONDS else 1
    dice, end, count = random.Random(seed), time.monotonic() + SECONDS, 0
    while time.monotonic() < end if SECONDS else count < 80:
        text, count = random_formula(dice, dice.choice((2, 3, 3, 4))), count + 1
        try:
            found = wrong(text)
        except Exception as error:
            found = f"{text}: {error!r}"
        if found:
            if SECONDS:
                KEPT.write_text("\n".join([*texts_kept(), text]) + "\n")
            pytest.fail(f"{found} (seed {seed}, formula {count})")
    print(f"{count} formulas, seed {seed}")
