"""What describes a family: its messages as data, and the checks that the parts fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy as sp

from symamp.algebra.normal_form import normal
from symamp.algebra.order import sign
from symamp.algebra.parameter import Parameter
from symamp.derivation.orbit import Orbit
from symamp.errors import FormatError
from symamp.mechanisms.finite import FiniteMechanism
from symamp.mechanisms.structures.exchangeable import Share
from symamp.mechanisms.structures.one_hot import Letter

COUNTS = {f"{i},{n - i}": (i, n - i) for n in (2, 3) for i in range(n, -1, -1)}
"""Of how many given inputs a message lies in the sets, and of how many it does not."""
SIZE = "the name of an integer parameter with a lower bound of at least 2"


@dataclass(frozen=True)
class Description:
    """What ``described_family`` makes a family of. Expressions are over the symbols of the ``parameters``.

    One of these is given: ``orbits``, messages as seen from inputs x0 and x1, all pairs of inputs being like this one
    or its reverse (and, if inputs are alike, as seen from x0, x1, x2 in ``third``); the ``letters`` of a one-hot
    channel; ``levels`` (high, low) with ``shares`` of the messages by numbers (inside, outside) of given inputs, 2 of
    them and perhaps 3, whose sets contain a message or not.

    ``size`` names the parameter that counts the inputs; only orbits without ``third`` may do without. ``exponents``
    are found. ``table`` is a function that writes members out, for ``verify``.
    """

    name: str = field(compare=False)
    parameters: tuple[Parameter, ...]
    size: str = ""
    orbits: tuple[Orbit, ...] = ()
    third: tuple[Orbit, ...] = ()
    letters: tuple[Letter, ...] = ()
    levels: tuple[sp.Expr, ...] = ()
    shares: tuple[tuple[tuple[int, int], tuple[Share, ...]], ...] = ()
    exponents: tuple[str, ...] = ()
    table: Callable[[Any], FiniteMechanism] | None = field(default=None, compare=False)


def normalised(orbits: Sequence[Orbit]) -> tuple[Orbit, ...]:
    """Return the orbits with densities that are weights divided by the total weight under the first input.

    >>> one, two = sp.Integer(1), sp.Integer(2)
    >>> normalised([Orbit("a", one, (two,)), Orbit("b", two, (one,))])[0].density
    (1/2,)
    """
    total = normal(sp.Add(*(orbit.mass(0) for orbit in orbits)))
    if total == 0:
        raise FormatError("weights", "total 0", "weights whose total is positive")
    return tuple(
        replace(o, density=tuple(d / total for d in o.density), rest=tuple((d / total, n) for d, n in o.rest))
        for o in orbits
    )


def check_description(data: Description) -> None:
    """Refuse undeclared symbols, a size that counts no inputs, and descriptions with parts missing or left over."""
    symbols = {p.symbol for p in data.parameters}
    if len(symbols) < len(data.parameters):
        raise FormatError("parameters", ", ".join(p.name for p in data.parameters), "different names")
    unknown = sorted({str(s) for e in expressions(data) for s in e.free_symbols - symbols})
    if unknown:
        raise FormatError("expressions", f"the symbols {', '.join(unknown)}", "the symbols of the parameters only")
    if sum(map(bool, (data.orbits, data.letters, data.shares))) != 1 or len(data.levels) != 2 * bool(data.shares):
        raise FormatError("description", "another choice", "orbits, letters, or shares with two levels")
    lengths = [{len(o.density) for o in section} for section in (data.orbits, data.third)]
    if (data.third and not data.orbits) or lengths[0] - {2} or lengths[1] - {3}:
        raise FormatError("density", "another number", "2 densities in orbits, 3 in third")
    if any(counts not in COUNTS.values() for counts, _ in data.shares):
        raise FormatError("shares", "other numbers of inputs", f"(inside, outside) of {', '.join(COUNTS)}")
    if data.size or data.third or not data.orbits:
        counted = next((p for p in data.parameters if p.name == data.size), None)
        bound = None if counted is None or not counted.integer else counted.lower
        if bound is None or sign(bound - 2, data.parameters) < 0:
            raise FormatError("size", data.size or "none", SIZE)


def expressions(value: object) -> Iterator[sp.Expr]:
    """Yield the expressions of a description, or of a part of one."""
    if isinstance(value, Description):
        value = (value.orbits, value.third, value.letters, value.levels, value.shares)
    elif isinstance(value, Orbit):
        value = (value.measure, value.density, value.rest)
    if isinstance(value, sp.Expr):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from expressions(part)
