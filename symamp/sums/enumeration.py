"""E[S_+] by enumeration of the multinomial outcomes with S > 0: in balls, and as a fraction."""

from __future__ import annotations

from itertools import accumulate
from math import inf, log
from typing import Any

from flint import arb, fmpq

from symamp.errors import ArgumentError, Problem
from symamp.laws.law import BallGparv, FloatGparv, RationalLaw
from symamp.numbers.systems import FLINT, NumberSystem

# What is tuned: rules of thumb that trade time and memory against how many laws are served, never width. How many
# outcomes a question enumerates is chosen in sums/divergence.py.
_MOST_SUMS, _MOST_VALUES = 200_000, 200
"""A sum of more values than the first is refused; values of G, each of which is a level of a recursion."""
_LOG_ROUNDING = 1e-3
"""More than rounding does to the logarithm of a number of outcomes."""

# -------------------- Exact rational evaluation: for rational ratios and rational E the divergence is a rational number


def exact_divergence(law: RationalLaw, e: fmpq, n: int) -> fmpq:
    """Return D_E(P0 || P1) as an exact fraction: E[S_+]/n plus the singular part (Su, Cheng, Wang 2025, Theorem 12).

    The law of S is built by repeated squaring over its distinct values. Raises ArgumentError when S takes too many
    values for that.

    >>> t = fmpq(3)
    >>> binary = RationalLaw(((t, fmpq(1), 1 / (t + 1)), (fmpq(1), t, 1 / (t + 1))))
    >>> exact_divergence(binary, fmpq(2), 1)
    1/4
    """
    one: dict[fmpq, fmpq] = {}
    null = fmpq(1)
    for r0, r1, mass in law.atoms:
        value = r0 - e * r1
        one[value] = one.get(value, fmpq(0)) + mass
        null -= mass
    one[fmpq(0)] = one.get(fmpq(0), fmpq(0)) + null
    total = {fmpq(0): fmpq(1)}
    for bit in bin(n)[2:]:
        total = _convolved(total, total)
        if bit == "1":
            total = _convolved(total, one)
    zero = fmpq(0)
    positive = sum((p * s for s, p in total.items() if s > 0), zero)
    singular = sum((max(a0 - e * a1, zero) for a0, a1 in law.singular), zero)
    return positive / n + singular


def exact_plateau(law: RationalLaw, e: arb, n: int) -> fmpq | None:
    """Return the divergence where it does not depend on E, None where it does or might.

    >>> exact_plateau(RationalLaw((), ((fmpq(2, 3), fmpq(0)), (fmpq(1, 3), fmpq(1)))), arb(2).sqrt(), 9)
    2/3
    """
    hidden = [(mass * r0, mass * r1) for r0, r1, mass in law.atoms]
    if n > 1 and any(a0 > 0 and a1 == 0 for a0, a1 in hidden):  # then sums of several users count
        return None
    terms = hidden + list(law.singular)
    if any(a1 > 0 and not a0 - e * a1 <= 0 for a0, a1 in terms):
        return None
    return sum((a0 for a0, a1 in terms if a1 == 0), fmpq(0))


def _convolved(left: dict[fmpq, fmpq], right: dict[fmpq, fmpq]) -> dict[fmpq, fmpq]:
    result: dict[fmpq, fmpq] = {}
    for s, p in left.items():
        for r, q in right.items():
            result[s + r] = result.get(s + r, fmpq(0)) + p * q
        if len(result) > _MOST_SUMS:
            wrong = Problem(f"the sum has more than {_MOST_SUMS} values")
            raise ArgumentError("n", wrong, "take fewer users, or another method")
    return result


# -------------------------- E[S_+] by enumeration of the multinomial outcomes with S > 0, in balls: no gap but rounding


def count_outcomes(g: FloatGparv, n: int, most: int) -> int:
    """Return about how many nodes the enumeration visits, or ``most + 1`` as soon as there are more than ``most``."""
    values = [float(v) for v in g.values] + ([0.0] if g.null_mass > 0.0 else [])
    values.sort(reverse=True)
    if len(values) > _MOST_VALUES or (
        values and values[0] > 0.0 and _log_fewest(values, n) > log(most) + _LOG_ROUNDING
    ):
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
    return seen if found else most + 1


def _log_fewest(values: list[float], n: int) -> float:
    """Return the logarithm of a number below that of the outcomes with a positive sum, -inf at least; one per node."""
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
    # The largest value from the j-th on; a maximum of balls, because balls that overlap may be out of order.
    largest = [value for value, _ in law]
    for j in range(len(law) - 2, -1, -1):
        largest[j] = numbers.maximum(largest[j], largest[j + 1])

    def weight(j: int, c: int, left: int) -> Any:
        return numbers.binomial(left, c) * numbers.power(law[j][1], c)

    def expected(j: int, left: int, partial: Any) -> Any:
        if left == 0:  # of all further values there is none
            return numbers.maximum(partial, zero)
        value, mass = law[j]
        if j == len(law) - 1:
            return weight(j, left, left) * numbers.maximum(partial + left * value, zero)
        result = zero
        if j == len(law) - 2 and mass > 0:
            last, ratio = law[-1][0], law[-1][1] / mass
            here, chance = partial + left * value, weight(j, left, left)
            for c in range(left, -1, -1):
                if here <= 0 and value >= last:
                    break
                result += chance * numbers.maximum(here, zero)
                here, chance = here - (value - last), chance * ratio * c / (left - c + 1)
            return result
        for c in range(left, -1, -1):
            here = partial + c * value
            if here + (left - c) * largest[j + 1] <= 0:
                # What is within reach falls with c, if the balls can tell the values apart.
                if value >= largest[j + 1]:
                    break
                continue
            result += weight(j, c, left) * expected(j + 1, left - c, here)
        return result

    return expected(0, n, zero) if law else zero
