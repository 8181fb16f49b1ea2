"""Exact rational evaluation: for rational ratios and rational E the divergence is a rational number."""

from __future__ import annotations

from flint import arb, fmpq

from symamp.errors import ArgumentError
from symamp.evaluation.evaluator import Case, Evaluator
from symamp.evaluation.law import RationalLaw

_FEW_USERS = 12

_MOST_VALUES = 200_000


def exact_divergence(law: RationalLaw, e: fmpq, n: int) -> fmpq:
    """Return D_E(P0 || P1) as an exact fraction: E[S_+]/n plus the singular part (000, Theorem 12).

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
        if len(result) > _MOST_VALUES:
            raise ArgumentError("n", "too many values of the sum", f"sums with at most {_MOST_VALUES} distinct values")
    return result


def _enclosed(case: Case) -> tuple[arb, arb] | None:
    if case.law.rational is None or case.level.rational is None or case.n > _FEW_USERS:
        return None
    value = arb(exact_divergence(case.law.rational, case.level.rational, case.n))
    return value, value


EXACT = Evaluator("exact", _enclosed)
