"""Families with symbolic sizes as data, and from JSON documents: format version 1, docs/family_format.md."""

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
from symamp.mechanisms.described import DescribedFamily, member
from symamp.mechanisms.families.local_hashing import LocalHashing
from symamp.mechanisms.file_format import (
    FAMILY_FORMAT,
    read_expression,
    read_header,
    read_label,
    read_members,
    refuse,
)
from symamp.mechanisms.finite import FiniteMechanism
from symamp.mechanisms.structures.exchangeable import Share
from symamp.mechanisms.structures.one_hot import Letter

_MOST_ORBITS, _MOST_REST, _MOST_LETTERS, _MOST_SHARES = 100, 16, 5, 16
_COUNTS = {f"{i},{n - i}": (i, n - i) for n in (2, 3) for i in range(n, -1, -1)}
_MOST_EXPONENT = 1000
_SIZE = "the name of an integer parameter with a lower bound of at least 2"


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


def described_family(data: Description) -> DescribedFamily:
    """Return the family that the data describe, with all parameters free.

    Raises FormatError for parts that do not fit together; RowSumError, NegativeProbabilityError or
    UndecidedOrderError unless this is proved to be a local randomizer for all admissible parameters.

    >>> p = Parameter("p", lower="1/2", upper=1)
    >>> seen = Orbit("0", 1, (p.symbol, 1 - p.symbol)), Orbit("1", 1, (1 - p.symbol, p.symbol))
    >>> coin = described_family(Description("coin", (p,), orbits=seen))
    >>> coin.blanket().gamma, coin.at(p="3/4").local_epsilon()
    (2 - 2*p, log(3))
    """
    _check_shape(data)
    powers = {
        s.name for e in _expressions(data) for power in e.atoms(sp.Pow) for s in power.exp.free_symbols if s.is_integer
    }
    if data.letters:
        powers.add(data.size)
    for p in data.parameters:  # proofs by cases put the lower bound in
        if p.name in powers and p.lower is not None and p.lower.is_Rational and p.lower > _MOST_EXPONENT:
            raise FormatError("parameters", p.describe(), f"lower bounds of at most {_MOST_EXPONENT} in exponents")
    family = member(replace(data, exponents=tuple(sorted(powers))), {})
    counted = next((p for p in data.parameters if p.name == data.size), None)
    three = data.third or any(sum(counts) == 3 for counts, _ in data.shares)
    if three and counted is not None and counted.lower == 2 and counted.upper != 2:
        # What three inputs see holds from a size of 3 on, and is checked for these sizes now rather than at the first.
        family.at(**{data.size: replace(counted, lower=sp.Integer(3))})
    return family


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


def family_from_json(data: object) -> DescribedFamily:
    """Return the family that a decoded JSON document describes, with all parameters free.

    Raises FormatError for a document that does not have the documented shape, ExpressionError for an expression
    outside the grammar, and what ``described_family`` raises.

    >>> family_from_json({
    ...     "format": "symamp-family", "version": 1, "name": "noisy one-hot vector",
    ...     "parameters": {"D": {"lower": 2, "integer": True}, "f": {"lower": 0, "upper": "1/2"}},
    ...     "structure": {"one-hot": {"size": "D", "letters": [
    ...         {"label": "0", "own": "f", "other": "1 - f"}, {"label": "1", "own": "1 - f", "other": "f"}]}},
    ... }).at(D=2).blanket().gamma
    2*f
    """
    document, name, parameters = read_header(data, FAMILY_FORMAT, (), ("orbits", "third", "size", "structure"))
    reader = _Reader(parameters)
    if "structure" not in document:
        described = {k: document[k] for k in ("orbits", "third", "size") if k in document}
        return described_family(Description(name, parameters, **reader.orbits(described, "", "orbits", "density")))
    if len(document.keys() & {"orbits", "third", "size", "structure"}) > 1:
        raise FormatError("document", "structure beside orbits, third or size", "either orbits or a structure")
    kinds = {
        "one-hot": reader.one_hot,
        "exchangeable-sets": reader.sets,
        "hashing": reader.hashing,
        "statistic": reader.statistic,
    }
    structure = read_members(document["structure"], "structure", (), tuple(kinds))
    if len(structure) != 1:
        refuse("structure", structure, f"an object with one key, of {', '.join(kinds)}")
    ((kind, content),) = structure.items()
    return described_family(Description(name, parameters, **kinds[kind](content, f'structure["{kind}"]')))


class _Reader:
    """Reads the parts of a document over the declared parameters."""

    def __init__(self, parameters: tuple[Parameter, ...]) -> None:
        self.parameters = parameters
        self.symbols = {p.name: p.symbol for p in parameters}
        self.seen: dict[str, sp.Expr] = {}

    def one_hot(self, value: object, place: str) -> dict[str, Any]:
        members = read_members(value, place, ("size", "letters"), ())
        letters = []
        for at, item in _items(members["letters"], f'{place}["letters"]', _MOST_LETTERS):
            letter = read_members(item, at, ("label", "own", "other"), ())
            label = read_label(letter["label"], f'{at}["label"]')
            letters.append(Letter(label, *(self._expression(letter, at, key) for key in ("own", "other"))))
        return {"size": _text(members["size"], f'{place}["size"]'), "letters": tuple(letters)}

    def sets(self, value: object, place: str) -> dict[str, Any]:
        members = read_members(value, place, ("size", "high", "low", "shares"), ())
        given = read_members(members["shares"], f'{place}["shares"]', ("1,1",), tuple(_COUNTS))
        shares = []
        for key, items in given.items():
            found = []
            for at, item in _items(items, f'{place}["shares"]["{key}"]', _MOST_SHARES):
                share = read_members(item, at, ("measure", "inside", "outside"), ("label",))
                label = f": {read_label(share['label'], at)}" if "label" in share else ""
                numbers = (self._number(share, at, key) for key in ("inside", "outside"))
                found.append(Share(label, self._expression(share, at, "measure"), *numbers))
            shares.append((_COUNTS[key], tuple(found)))
        levels = tuple(self._expression(members, place, key) for key in ("high", "low"))
        return {"size": _text(members["size"], f'{place}["size"]'), "levels": levels, "shares": tuple(shares)}

    def hashing(self, value: object, place: str) -> dict[str, Any]:
        members = read_members(value, place, ("size", "range", "high", "low"), ())
        high, low, values = (self._expression(members, place, key) for key in ("high", "low", "range"))
        size = _text(members["size"], f'{place}["size"]')
        if size not in self.symbols:
            refuse(f'{place}["size"]', size, _SIZE)
        if not values.is_integer or sign(values - 2, self.parameters) < 0:
            raise FormatError(f'{place}["range"]', str(values), "an integer of at least 2")
        # Local hashing with these symbols: only the mechanism behind the hash differs.
        swap = dict(zip((p.symbol for p in LocalHashing.declared[:2]), (values, self.symbols[size]), strict=True))

        def put(expr: sp.Expr | None) -> sp.Expr | None:
            return None if expr is None else expr.subs(swap, simultaneous=True)

        shares = tuple(
            (counts, tuple(Share(s.label, *(put(e) for e in s[1:])) for s in LocalHashing().shares(*counts)))
            for counts in _COUNTS.values()
        )
        return {"size": size, "levels": (high, low), "shares": shares}

    def statistic(self, value: object, place: str) -> dict[str, Any]:
        found = self.orbits(value, place, "values", "weights")
        return {key: part if key == "size" else normalised(part) for key, part in found.items()}

    def orbits(self, value: object, place: str, name: str, densities: str) -> dict[str, Any]:
        members = read_members(value, place or "document", (name,), ("third", "size"))
        found: dict[str, Any] = {}
        for key, inputs in ((name, 2), ("third", 3)):
            if key in members:
                here = f'{place}["{key}"]' if place else key
                items = _items(members[key], here, _MOST_ORBITS)
                seen = tuple(self._orbit(item, at, densities, inputs) for at, item in items)
                found["orbits" if key == name else key] = seen
        if "size" in members:
            found["size"] = _text(members["size"], f'{place}["size"]' if place else "size")
        return found

    def _orbit(self, value: object, place: str, densities: str, inputs: int) -> Orbit:
        members = read_members(value, place, ("measure", densities), ("label", "rest"))
        label = read_label(members["label"], f'{place}["label"]') if "label" in members else place
        given = members[densities]
        if not isinstance(given, list) or len(given) != inputs:
            refuse(f'{place}["{densities}"]', given, f"a list of {inputs} expressions, one for each input")
        density = tuple(self._entry(d, f'{place}["{densities}"][{i}]') for i, d in enumerate(given))
        rest = []
        for at, item in _items(members.get("rest", []), f'{place}["rest"]', _MOST_REST, least=0):
            if not isinstance(item, list) or len(item) != 2:
                refuse(at, item, "a pair [expression, number of further inputs or null]")
            number = None if item[1] is None else self._entry(item[1], f"{at}[1]")
            rest.append((self._entry(item[0], f"{at}[0]"), number))
        return Orbit(label, self._expression(members, place, "measure"), density, tuple(rest))

    def _expression(self, members: dict[str, object], place: str, key: str) -> sp.Expr:
        return self._entry(members[key], f'{place}["{key}"]')

    def _number(self, members: dict[str, object], place: str, key: str) -> sp.Expr | None:
        return None if members[key] is None else self._expression(members, place, key)

    def _entry(self, value: object, place: str) -> sp.Expr:
        return read_expression(value, place, self.symbols, self.seen)


def _items(value: object, place: str, most: int, least: int = 1) -> Iterator[tuple[str, object]]:
    if not isinstance(value, list) or not least <= len(value) <= most:
        refuse(place, value, f"a list of {least} to {most} entries")
    return ((f"{place}[{i}]", item) for i, item in enumerate(value))


def _text(value: object, place: str) -> str:
    return value if isinstance(value, str) and value.isprintable() else refuse(place, value, _SIZE)


def _check_shape(data: Description) -> None:
    """Refuse undeclared symbols, a size that counts no inputs, and descriptions with parts missing or left over."""
    symbols = {p.symbol for p in data.parameters}
    if len(symbols) < len(data.parameters):
        raise FormatError("parameters", ", ".join(p.name for p in data.parameters), "different names")
    unknown = sorted({str(s) for e in _expressions(data) for s in e.free_symbols - symbols})
    if unknown:
        raise FormatError("expressions", f"the symbols {', '.join(unknown)}", "the symbols of the parameters only")
    if sum(map(bool, (data.orbits, data.letters, data.shares))) != 1 or len(data.levels) != 2 * bool(data.shares):
        raise FormatError("description", "another choice", "orbits, letters, or shares with two levels")
    lengths = [{len(o.density) for o in section} for section in (data.orbits, data.third)]
    if (data.third and not data.orbits) or lengths[0] - {2} or lengths[1] - {3}:
        raise FormatError("density", "another number", "2 densities in orbits, 3 in third")
    if any(counts not in _COUNTS.values() for counts, _ in data.shares):
        raise FormatError("shares", "other numbers of inputs", f"(inside, outside) of {', '.join(_COUNTS)}")
    if data.size or data.third or not data.orbits:
        counted = next((p for p in data.parameters if p.name == data.size), None)
        bound = None if counted is None or not counted.integer else counted.lower
        if bound is None or sign(bound - 2, data.parameters) < 0:
            raise FormatError("size", data.size or "none", _SIZE)


def _expressions(value: object) -> Iterator[sp.Expr]:
    """Yield the expressions of a description."""
    if isinstance(value, Description):
        value = (value.orbits, value.third, value.letters, value.levels, value.shares)
    elif isinstance(value, Orbit):
        value = (value.measure, value.density, value.rest)
    if isinstance(value, sp.Expr):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _expressions(part)
