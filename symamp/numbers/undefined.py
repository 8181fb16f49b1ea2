"""Where a formula has no real, finite value: at one of some admissible points, or at a pole between two of them.

SymPy cancels what is undefined, as in sqrt(x)**2/x; so the formula is looked at as it was written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from flint import arb

from symamp.numbers.enclosure import Point, node_values
from symamp.numbers.formula import Formula
from symamp.numbers.surroundings import at_precision

_BITS = 128


def undefined_part(written: Formula, points: Sequence[Point], integers: Collection[str]) -> tuple[Formula, str] | None:
    """Return a part that is proved to have no real value at an admissible point, and why; None if none is found.

    What is continuous, must not be 0 and has both signs at points that agree in the ``integers`` has a pole between
    them: ranges are intervals.

    >>> x = Formula("symbol", name="x")
    >>> undefined_part(Formula("log", (x,)), [{"x": 2}, {"x": -1}], ())[1]
    'logarithms of what is positive at all admissible parameters; it is not at x = -1'
    """
    parts = list(_parts(written))
    names = {f.name for f in parts if f.kind == "symbol"}
    partial = [f for f in parts if _is_partial(f)]
    if not names or not partial:
        return None
    seen = {tuple((name, point[name]) for name in sorted(names)) for point in points if names <= point.keys()}
    simple = sorted(seen, key=lambda items: (max(value.denominator for _, value in items), items))
    places: list[Point] = [dict(items) for items in simple]
    with at_precision(_BITS):
        values = node_values(written, places)
        for f in partial:
            found = _at_points(f, values, places) or _between(f, values, places, integers)
            if found is not None:
                return f, found
    return None


def _parts(formula: Formula) -> Iterator[Formula]:
    seen, left = set(), [formula]
    while left:
        f = left.pop()
        if id(f) not in seen:
            seen.add(id(f))
            yield f
            left.extend(f.parts)


def _is_partial(f: Formula) -> bool:
    """Whether a function is not defined for every number: binomial(n, 2) is a polynomial, binomial(n, k) counts."""
    if f.kind == "**":
        exponent = f.parts[1]
        return exponent.kind != "number" or exponent.number < 0 or exponent.number.denominator > 1
    return f.kind == "log" or (f.kind == "binomial" and f.parts[1].kind != "number")


def _at_points(f: Formula, values: dict[int, list[arb]], places: Sequence[Point]) -> str | None:
    bases = values[id(f.parts[0])]
    exponents = values[id(f.parts[1])] if f.kind == "**" else bases
    for point, base, exponent in zip(places, bases, exponents, strict=True):
        at = ", ".join(f"{name} = {value}" for name, value in point.items())
        if f.kind == "log":
            if base <= 0:
                return f"logarithms of what is positive at all admissible parameters; it is not at {at}"
        elif f.kind == "binomial":
            if base < 0:
                return f"binomials of what is not negative at any admissible parameters; it is at {at}"
        elif base < 0 and exponent.is_finite() and not exponent.contains_integer():
            return f"roots of what is not negative at any admissible parameters; it is at {at}"
        elif base == 0 and exponent < 0:
            return f"denominators that are not 0 at any admissible parameters; it is at {at}"
    return None


def _between(
    f: Formula, values: dict[int, list[arb]], places: Sequence[Point], integers: Collection[str]
) -> str | None:
    if f.kind == "binomial" or (f.kind == "**" and not all(exponent < 0 for exponent in values[id(f.parts[1])])):
        return None
    for factor in _factors(f.parts[0]):
        signs: dict[tuple[object, ...], set[bool]] = {}
        for point, value in zip(places, values[id(factor)], strict=True):
            if value > 0 or value < 0:
                fixed = tuple(v for name, v in point.items() if name in integers)
                signs.setdefault(fixed, set()).add(bool(value > 0))
        if any(len(found) == 2 for found in signs.values()):
            what = "logarithms of what is positive" if f.kind == "log" else "denominators that are not 0"
            return f"{what} at all admissible parameters; a factor changes its sign among them"
    return None


def _factors(formula: Formula) -> Iterator[Formula]:
    """Yield parts that must not be 0 if the formula must not."""
    yield formula
    if formula.kind in ("*", "abs"):
        for part in formula.parts:
            yield from _factors(part)
    elif formula.kind == "**" and formula.parts[1].kind == "number" and formula.parts[1].number > 0:
        yield from _factors(formula.parts[0])
