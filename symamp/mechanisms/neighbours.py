"""Which inputs are neighbours: all, those at distance at most d, or pairs given one by one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import sympy as sp

from symamp.algebra.order import sign
from symamp.derivation.randomizer import known_label
from symamp.errors import ArgumentError
from symamp.numbers.exact_number import exact_number
from symamp.numbers.rationals import rational_of

ALL = "all"
_ACCEPTED = "'all', a distance > 0, or a list of pairs of inputs"
_PAIRS = "pairs of two different inputs"
_METRIC = "inputs that are numbers or points with a metric: labels such as 0, 1/2 or (1, 2), or a list of pairs"


def neighbouring(inputs: Sequence[str], neighbours: object) -> list[tuple[int, int]]:
    """Return the pairs of inputs, by index, that are neighbours: in one order each, at least one pair.

    A number is a distance, Euclidean, for labels that are numbers or points; a list has the pairs themselves. Raises
    ArgumentError for anything else and where there is no pair, UnknownInputError for labels that are none.

    >>> neighbouring(["0", "1", "2"], 1), neighbouring(["(0, 0)", "(1, 1)"], "sqrt(2)")
    ([(0, 1), (1, 2)], [(0, 1)])
    """
    if isinstance(neighbours, Sequence) and not isinstance(neighbours, str | bytes):
        found = [_pair(inputs, item) for item in neighbours]
    else:
        square = distance(neighbours) ** 2
        points = [_point(x) for x in inputs]
        if len({len(p) for p in points}) > 1:
            raise ArgumentError("neighbours", neighbours, _METRIC)
        found = [
            (i, j) for i, j in combinations(range(len(points)), 2) if sign(square - _square(points[i], points[j])) >= 0
        ]
    if not found:
        raise ArgumentError("neighbours", neighbours, "a distance, or a list, with at least one pair of inputs")
    return found


def distance(value: object) -> sp.Expr:
    """Return a distance as an exact positive number."""
    number = exact_number(value, "neighbours", accepted=_ACCEPTED)
    if sign(number) <= 0:
        raise ArgumentError("neighbours", value, _ACCEPTED)
    return number


def _pair(inputs: Sequence[str], item: object) -> tuple[int, int]:
    if isinstance(item, str | bytes) or not isinstance(item, Sequence) or len(item) != 2:
        raise ArgumentError("neighbours", item, _PAIRS)
    first, second = (known_label("neighbours", x, inputs) for x in item)
    if first == second:
        raise ArgumentError("neighbours", item, _PAIRS)
    return inputs.index(first), inputs.index(second)


def _point(label: str) -> tuple[Fraction, ...]:
    try:
        return tuple(Fraction(part.strip()) for part in label.strip().removeprefix("(").removesuffix(")").split(","))
    except (ValueError, ZeroDivisionError):
        raise ArgumentError("neighbours", f"a distance between inputs such as {label!r}", _METRIC) from None


def _square(x: Sequence[Fraction], z: Sequence[Fraction]) -> sp.Rational:
    return rational_of(sum(((a - b) ** 2 for a, b in zip(x, z, strict=True)), Fraction(0)))
