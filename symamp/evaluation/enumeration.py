"""E[S_+] by enumeration of the multinomial outcomes with S > 0, in balls: no gap but rounding.

For few users that is all there is to do; deep in the tail only a handful of outcomes is positive, however many users.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import inf, log
from typing import Any

from flint import arb

from symamp.evaluation.evaluator import Case, Evaluator
from symamp.evaluation.gparv import BallGparv, FloatGparv
from symamp.evaluation.work import spend
from symamp.numbers.number_system import FLINT, NumberSystem

_FEW_OUTCOMES, _OUTCOME = 30_000, 2.0
_MOST_VALUES = 200
_SURE = 1e-3
"""More than rounding does to the logarithm of a number of outcomes."""
_MOST_TABULATED = 5_000


def count_outcomes(g: FloatGparv, n: int, most: int) -> int:
    """Return about how many nodes the enumeration visits, or ``most + 1`` as soon as there are more than ``most``."""
    values = [float(v) for v in g.values] + ([0.0] if g.null_mass > 0.0 else [])
    values.sort(reverse=True)
    if len(values) > _MOST_VALUES or (values and values[0] > 0.0 and _log_fewest(values, n) > log(most) + _SURE):
        return most + 1
    seen = 0

    def visit(j: int, left: int, partial: float) -> bool:
        nonlocal seen
        seen += 1
        if left == 0 or j == len(values) - 1:
            return True
        value, following = values[j], values[j + 1]
        # How many counts c of this value keep a positive sum within reach, by the largest possible remainder.
        room = partial + left * value
        counts = left + 1 if partial + left * following > 0.0 else int(room / (value - following)) + 1
        if seen + counts > most:
            return False
        if j == len(values) - 2:  # nothing but leaves below
            seen += counts
            return True
        return all(
            visit(j + 1, left - c, partial + c * value)
            for c in range(left, left - counts, -1)
            if c >= 0 and partial + c * value + (left - c) * following > 0.0
        )

    found = not values or (values[0] > 0.0 and visit(0, n, 0.0))
    spend(_OUTCOME * seen)
    return seen if found else most + 1


def _log_fewest(values: list[float], n: int) -> float:
    """Return the logarithm of a number below that of the outcomes with a positive sum, -inf at least; one per node.

    The counts of all but the largest value are the lattice points of a simplex (and its volume is at most their
    number), where each draw of another value takes what it is short of the largest, or all of it if that is more.
    """
    largest = values[0]
    room = log(n) + log(largest)
    logs = accumulate(room - log(max(largest - v, largest)) - log(k) for k, v in enumerate(values[1:], 1))
    return max(logs, default=-inf)


def enumerated_sum(g: BallGparv, n: int) -> arb:
    """Return a ball around E[S_+], S the sum of n copies of G.

    Guarantee
    ---------
    The ball contains E[S_+]: only outcomes whose sum is certainly <= 0 are left out.
    Proof: docs/proofs/enumeration.md.
    """
    law = list(zip(g.values, g.masses, strict=True))
    if not g.null_mass.is_zero():
        law.append((arb(0), g.null_mass))
    return positive_expectation(law, n, FLINT)


def positive_expectation(law: list[tuple[Any, Any]], n: int, numbers: NumberSystem) -> Any:
    """Return E[S_+] of a law of (value, probability) pairs that includes the value 0, in any number system."""
    law = sorted(law, key=lambda atom: float(atom[0]), reverse=True)
    zero = numbers.rational(0, 1)
    weight = _weights([mass for _, mass in law], n, numbers)
    # The largest value from the j-th on; a maximum of balls, because balls that overlap may be out of order.
    largest = [value for value, _ in law]
    for j in range(len(law) - 2, -1, -1):
        largest[j] = numbers.maximum(largest[j], largest[j + 1])

    def expected(j: int, left: int, partial: Any) -> Any:
        spend(_OUTCOME)
        if left == 0:  # of all further values there is none
            return numbers.maximum(partial, zero)
        value = law[j][0]
        if j == len(law) - 1:
            return weight(j, left, left) * numbers.maximum(partial + left * value, zero)
        result = zero
        for c in range(left, -1, -1):
            here = partial + c * value
            if here + (left - c) * largest[j + 1] <= 0:
                # What is within reach falls with c, if the balls can tell the values apart.
                if value >= largest[j + 1]:
                    break
                continue
            result += weight(j, c, left) * expected(j + 1, left - c, here)
        return result

    if not law:
        return zero
    return expected(0, n, zero) * (numbers.factorial(n) if n <= _MOST_TABULATED else 1)


def _weights(masses: list[Any], n: int, numbers: NumberSystem) -> Callable[[int, int, int], Any]:
    """Return the factor of c draws of the j-th value among ``left``: mass^c/c! from a table for moderate n.

    The factor n! then comes at the end. For large n only few c are needed, and binomials are taken directly.
    """
    if n > _MOST_TABULATED:
        return lambda j, c, left: numbers.binomial(left, c) * masses[j] ** c
    tables = []
    for mass in masses:
        powers = [numbers.rational(1, 1)]
        for c in range(1, n + 1):
            powers.append(powers[-1] * mass / c)
        tables.append(powers)
    return lambda j, c, left: tables[j][c]


def _enclosed(case: Case) -> tuple[arb, arb] | None:
    if not case.rough.is_positive or count_outcomes(case.rough, case.n, _FEW_OUTCOMES) > _FEW_OUTCOMES:
        return None
    value = enumerated_sum(case.balls, case.n)
    return case.of_sum(value, value)


ENUMERATION = Evaluator("enumeration", _enclosed)
