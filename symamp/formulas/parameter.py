"""A parameter of a mechanism: a symbol together with the assumptions under which orders are proved."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from keyword import iskeyword
from typing import TypeAlias

import sympy as sp

from symamp.errors import ArgumentError, ExpressionError, Problem, checked_class
from symamp.numbers.reading import Real, check_formula, constant_value, printable_number, sign_of_constant
from symamp.numbers.substitution import put

_LARGEST_EPS0 = 1000  # a local budget beyond is refused
_PROBES = 24  # places that go over the range of a real parameter, where a formula must be defined
_INTEGER_PROBES = 7  # and over that of an integer

_NAME = re.compile(r"[A-Za-z_]\w{0,31}", re.ASCII)
_PREDICATES: Mapping[str, Callable[[int], bool]] = {
    "even": lambda n: n % 2 == 0,
    "odd": lambda n: n % 2 == 1,
    "a power of two": lambda n: n > 0 and n & (n - 1) == 0,
    "a prime power": lambda n: n > 1 and _is_prime_power(n),
}


@checked_class
@dataclass(frozen=True)
class Parameter:
    """A named unknown with the range it may take.

    Real parameters range over the *open* interval (lower, upper); integer ones over lower, lower + 1, ..., upper
    (ends included). A bound may be an expression in parameters declared *before* this one, so that ``p > q`` is
    ``Parameter("p", lower=q)``. ``None`` is no bound. ``predicate`` says more of an integer: "even", "odd",
    "a power of two" or "a prime power"; numbers are checked for it, and formulas hold for such values.

    Raises ArgumentError for a range that is empty, ExpressionError for a bound outside the grammar.

    >>> Parameter("k", lower=2, integer=True).symbol
    k
    >>> Parameter("p", lower=2, upper=1)
    Traceback (most recent call last):
    ...
    symamp.errors.ArgumentError: range of p: 2 < p < 1 holds for no number; widen the range
    """

    name: str
    lower: sp.Expr | None = None
    upper: sp.Expr | None = None
    integer: bool = False
    predicate: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name) or iskeyword(self.name):
            accepted = "an ASCII identifier of at most 32 characters that is no keyword of Python, such as lam"
            raise ArgumentError("parameter name", self.name, accepted)
        if not isinstance(self.integer, bool):
            raise ArgumentError(f"integer of {self.name}", self.integer, "True or False")
        if self.predicate is not None and not (
            self.integer and isinstance(self.predicate, str) and self.predicate in _PREDICATES
        ):
            accepted = f"one of {', '.join(map(repr, _PREDICATES))}, for an integer parameter"
            raise ArgumentError(f"predicate of {self.name}", self.predicate, accepted)
        for side in ("lower", "upper"):
            bound, place = getattr(self, side), f"{side} bound of {self.name}"
            if isinstance(bound, sp.Expr) and bound.free_symbols:
                check_formula(bound, place)
            elif bound is not None:
                number = printable_number(bound, place)
                if self.integer and number.is_Rational:
                    number = sp.Integer(number.p // number.q if side == "upper" else -(-number.p // number.q))
                object.__setattr__(self, side, number)
        if self._is_empty():
            wrong = Problem(f"{self.describe()} holds for no number")
            raise ArgumentError(f"range of {self.name}", wrong, "widen the range")

    def _is_empty(self) -> bool:
        if self.lower is not None and self.lower == self.upper and not self.integer:
            return True
        if self.lower is None or self.upper is None or self.lower.free_symbols or self.upper.free_symbols:
            return False
        if self.integer and self.lower.is_Integer and self.upper.is_Integer:
            # A range of more numbers than this holds a power of two, hence one that meets any predicate, or is long.
            few = range(int(self.lower), min(int(self.upper), int(self.lower) + 10_000) + 1)
            return int(self.upper) - int(self.lower) < 10_000 and not any(map(self.meets, few))
        gap = sign_of_constant(self.upper - self.lower)
        return gap < 0 or (gap == 0 and not self.integer)

    @property
    def symbol(self) -> sp.Symbol:
        """The SymPy symbol: always the same one for the same name, real (or integer), without a sign."""
        return sp.Symbol(self.name, integer=True) if self.integer else sp.Symbol(self.name, real=True)

    def meets(self, value: int) -> bool:
        """Return whether the predicate holds for an integer; True if there is none.

        >>> Parameter("K", lower=4, integer=True, predicate="a power of two").meets(12)
        False
        """
        return self.predicate is None or _PREDICATES[self.predicate](value)

    def given(self, values: Mapping[sp.Symbol, sp.Expr]) -> Parameter:
        """Return the parameter with the values of others put into its bounds."""
        lower, upper = (None if b is None else put(b, values) for b in (self.lower, self.upper))
        return replace(self, lower=lower, upper=upper)

    def describe(self) -> str:
        """Return the range as a text, e.g. ``integer k >= 2``."""
        kind = "integer " if self.integer else ""
        less = "<=" if self.integer else "<"
        left = f"{self.lower} {less} " if self.lower is not None and self.upper is not None else ""
        right = f" {less} {self.upper}" if self.upper is not None else ""
        if self.lower is not None and self.upper is None:
            right = f" {less.replace('<', '>')} {self.lower}"
        more = "" if self.predicate is None else f" ({self.predicate})"
        return f"{kind}{left}{self.name}{right}{more}"


Value: TypeAlias = "Real | Parameter | None"
"""What a family reads as a parameter: a number, a Parameter with a range of its own, or None, which leaves a symbol."""

EPS0 = Parameter("eps0", lower=0)
"""The local budget, a positive real."""


def check_range(parameter: Parameter, value: sp.Expr, earlier: Mapping[sp.Symbol, sp.Expr]) -> None:
    """Raise ArgumentError unless the number lies in the parameter's range, given the values of earlier parameters."""
    accepted = "an " * parameter.integer + parameter.describe()
    if parameter.integer and not (value.is_Integer and parameter.meets(int(value))):
        raise ArgumentError(parameter.name, value, accepted)
    if parameter.name == EPS0.name and sign_of_constant(value - _LARGEST_EPS0) > 0:
        raise ArgumentError(parameter.name, value, f"a local budget of at most {_LARGEST_EPS0}")
    for bound, side in ((parameter.lower, 1), (parameter.upper, -1)):
        gap = sp.Integer(1) if bound is None else side * (value - put(bound, earlier))
        if not gap.free_symbols and sign_of_constant(gap) <= -int(parameter.integer):
            raise ArgumentError(parameter.name, value, accepted)


def admissible_points(parameters: Sequence[Parameter], count: int = 4) -> list[dict[str, Fraction]]:
    """Return points, by name, at which all parameters lie within their ranges; fewer, or none, where none are found."""
    found = (_completed({}, parameters, place, 1 + place // 4) for place in range(3 * count))
    return list(islice((point for point in found if point is not None), count))


def probing_points(parameters: Sequence[Parameter]) -> list[dict[str, Fraction]]:
    """Return the points of ``admissible_points``, and near ones in which one parameter goes over its range."""
    found = admissible_points(parameters)
    for start in found[:2]:
        for i, p in enumerate(parameters):
            for k in range(_PROBES):
                point = {q.name: start[q.name] for q in parameters[:i]}
                value = _probe(p, point, k)
                if value is None:
                    break
                more = _completed({**point, p.name: value}, parameters[i + 1 :], k, 0)
                found = found if more is None else [*found, more]
    return found


def _completed(
    point: dict[str, Fraction], parameters: Sequence[Parameter], place: int, step: int
) -> dict[str, Fraction] | None:
    """Return the point with admissible values for further parameters, each of another place; None if one has none."""
    for i, p in enumerate(parameters):
        value = _admissible(p, point, place + i * step)
        if value is None:
            return None
        point[p.name] = value
    return point


def _probe(p: Parameter, point: Mapping[str, Fraction], k: int) -> Fraction | None:
    """Return the k-th of values that go over the range of a parameter, from near its lower end to near its upper."""
    if p.integer and k >= _INTEGER_PROBES:
        return None
    share = min(max(Fraction(k, _PROBES - 1), Fraction(1, 2**40)), 1 - Fraction(1, 2**40))
    far = share / (1 - share) if k < _PROBES - 1 else Fraction(_PROBES**2)  # from near 0 to hundreds
    return _inside(p, point, k, share, far, (2 * share - 1) * _PROBES)


def _admissible(p: Parameter, point: Mapping[str, Fraction], place: int) -> Fraction | None:
    """Return a value of the parameter within bounds at a point, another one for each place."""
    share = (Fraction(3, 7), Fraction(10, 11), Fraction(1, 13), Fraction(16, 23), Fraction(2, 9))[place % 5]
    far = share * (1, 3, 2)[place % 3]
    return _inside(p, point, place, share, far, far * (-1) ** (place % 2))


def _inside(
    p: Parameter, point: Mapping[str, Fraction], place: int, share: Fraction, far: Fraction, middle: Fraction
) -> Fraction | None:
    """Return a value inside the range at a point, by the share of it, how far it is from one end, or if there is none.

    Of an integer one of the ten least that meet the predicate.
    """
    try:
        lower, upper = (None if b is None else constant_value(b, point) for b in (p.lower, p.upper))
    except (ExpressionError, KeyError):
        return None
    if p.integer:
        least = math.ceil(lower[1]) if lower else (math.floor(upper[0]) - 40 if upper else 2)
        end = least + 3000 if upper is None else min(least + 3000, math.floor(upper[0]) + 1)
        found = list(islice(filter(p.meets, range(least, end)), 10))
        return Fraction(found[(0, 3, 1, 6, 2, 9, 4)[place % 7] % len(found)]) if found else None
    if lower and upper:
        return lower[1] + share * (upper[0] - lower[1]) if lower[1] < upper[0] else None
    if lower:
        return lower[1] + far
    return upper[0] - far if upper else middle


def _is_prime_power(n: int) -> bool:
    return any(
        (root := sp.integer_nthroot(n, e))[1] and bool(sp.isprime(root[0])) for e in range(1, n.bit_length() + 1)
    )
