"""What one step of training publishes, with an example and without: finite laws around it, and numbers of its messages.

PROVED: of two laws the first is below the triple of the step, and the second above it, at every level and number of
steps (docs/proofs/random_allocation.md, section 4). A table is its own law; noise has cells of messages, or integers.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import ceil, sqrt
from typing import Any

from flint import arb, ctx, fmpq

from .check import Check, Number, working
from .claims import given
from .documents import shaped
from .mechanisms import Component, Triple, mark
from .refusals import require

CELLS = {"from": str, "to": str, "count": int}
STATISTIC = {"size": int, "first": int, "places": [str], "numbers": [int]}
REPLACE = "replace"
_MOST_CELLS, _MOST_SIZE, _MOST_ROWS = 20_000, 2**16, 10_000
Numbers = tuple[Number, ...]


class Step:
    """A step with noise: where its messages go by, and by how much the example moves them."""

    parameter, kind = "sigma", ""
    replaces = True
    """Whether the two examples that move messages most, in opposite directions, are the worst."""

    def __init__(self, check: Check, data: Any, what: str) -> None:
        shaped(data, {"kind": str, self.parameter: str}, what)
        self.check, self.text = check, data[self.parameter]
        with working(256):
            size = self.size()
            require(size * 100 >= 1 and size <= 10**6, f"{what}: a {self.parameter} out of range")

    def size(self) -> arb:
        """Return the parameter."""
        return arb(self.check.number(self.text))

    def told(self) -> str:
        """Return what the step is, in words."""
        return f"{self.kind} noise of {given(self.text, self.size())}"

    def beyond(self, y: fmpq, shift: int) -> arb:
        """Return the probability of a message above y that is moved by a shift."""
        raise NotImplementedError

    def ratio(self, y: fmpq, shift: int) -> arb:
        """Return the density that is moved over the one that is not."""
        raise NotImplementedError

    def limits(self, shift: int) -> tuple[arb, arb] | None:
        """Return the ratio far out on both sides; None where it has no bound."""
        return None

    def is_flat(self, a: fmpq | None, b: fmpq | None, shift: int) -> bool:
        """Return whether the ratio of a shift is the same between two places; None for what is far out."""
        return shift == 0

    def masses(self, a: fmpq | None, b: fmpq | None, shift: int) -> arb:
        """Return the probability between two places; small ones are exact on both sides, as noise is even."""
        if b is not None and b < 0:
            a, b, shift = -b, None if a is None else -a, -shift
        return (arb(1) if a is None else self.beyond(a, shift)) - (arb(0) if b is None else self.beyond(b, shift))

    def laws(self, name: str, cells: Any) -> tuple[Triple, Triple]:
        """Return the triple of a direction where messages of a cell are one; and where they are its corners."""
        shifts, places = (1, -1) if name == REPLACE else (1, 0), self._places(name, cells)
        at = [tuple(self.ratio(y, s) for s in shifts) for y in places]
        ends = [*zip([None, *places], [*places, None], strict=True)]
        masses = [tuple(self.masses(a, b, s) for s in (*shifts, 0)) for a, b in ends]
        lower = [_point(m) for m in masses]
        far = [self.limits(s) for s in shifts]
        edges: list[Any] = [None, *at, None]
        named: list[tuple[str, Number, Number]] = []
        if None not in far:
            edges[0], edges[-1] = (tuple(x[side] for x in far if x) for side in (0, 1))
        upper: list[Component] = []
        for m, (a, b), (start, end) in zip(masses, ends, pairwise(edges), strict=True):
            if start is None or end is None:
                named += [("", m[0], arb(0)), ("", arb(0), m[1])]
            else:
                upper += _corners(m, start, end, [self.is_flat(a, b, s) for s in shifts])
        null = sum((m[2] for m, (a, b) in zip(masses, pairwise(edges), strict=True) if a is None or b is None), arb(0))
        return _ordered(Triple(lower, [], arb(0)), name), _ordered(Triple(upper, named, null), name)

    def _places(self, name: str, cells: Any) -> list[fmpq]:
        require(cells is not None, "laws: no cells of messages")
        require(self.replaces or name != REPLACE, f"laws: nothing is known of replacement with {self.kind} noise")
        low, high, count = self.check.fraction(cells["from"]), self.check.fraction(cells["to"]), cells["count"]
        require(low < high and 0 < count <= _MOST_CELLS, "laws: cells out of range", "invalid")
        self.check.spend(100 * count)
        return [low + (high - low) * k / count for k in range(count + 1)]

    def numbered(self, name: str, statistic: Any) -> list[list[arb]]:
        """Return the laws of the number of a message, modulo the size: with the example, in the other world, without.

        Below the first place it is the ``first`` one, and rises by 1 at each place.
        """
        places = [self.check.fraction(y) for y in statistic["places"]]
        good = places and not statistic["numbers"] and all(a < b for a, b in pairwise(places))
        require(good, "statistic: places out of order", "invalid")
        cells = list(zip([None, *places], [*places, None], strict=True))
        return [
            _cyclic(statistic, [(statistic["first"] + k, self.masses(a, b, s)) for k, (a, b) in enumerate(cells)])
            for s in ((1, -1, 0) if name == REPLACE else (1, 0, 0))
        ]


def _cyclic(statistic: Any, masses: list[tuple[int, Number]]) -> list[arb]:
    found = [arb(0)] * statistic["size"]
    for k, mass in masses:
        found[k % statistic["size"]] += mass
    return found


def _point(m: Numbers) -> Component:
    return Component("", m[0] / m[2], m[1] / m[2], m[2])


def _ordered(found: Triple, name: str) -> Triple:
    if name != "add":
        return found
    components = [Component(c.mark, c.ratio1, c.ratio0, c.mass) for c in found.components]
    return Triple(components, [(s, b, a) for s, a, b in found.singular], found.null)


def _corners(m: Numbers, start: Numbers, end: Numbers, flat: list[bool]) -> list[Component]:
    """Return messages at the ends of a cell, and at the corner of their ratios, with its masses."""
    (p, r, q), (a0, a1), (b0, b1) = m, start, end
    if all(flat):
        return [_point(m)]
    if flat[0]:
        share = (r - a1 * q) / (b1 - a1)
        return [Component("", a0, a1, q - share), Component("", b0, b1, share)]
    second = (p - a0 * q) / (b0 - a0)
    if flat[1]:
        return [Component("", a0, a1, q - second), Component("", b0, b1, second)]
    first = (r - b1 * q) / (a1 - b1)
    return [Component("", a0, a1, first), Component("", b0, b1, second), Component("", a0, b1, q - first - second)]


class Gaussian(Step):
    """Normal noise."""

    kind = "normal"

    def beyond(self, y: fmpq, shift: int) -> arb:
        """Return the probability of a message above y that is moved by a shift."""
        return ((y - shift) / (self.size() * arb(2).sqrt())).erfc() / 2

    def ratio(self, y: fmpq, shift: int) -> arb:
        """Return the density that is moved over the one that is not."""
        return (arb(shift * (2 * y - shift)) / (2 * self.size() ** 2)).exp()


class Laplace(Step):
    """Laplace noise: beyond the two shifts ratios do not change."""

    parameter, kind = "eps0", "Laplace"

    def beyond(self, y: fmpq, shift: int) -> arb:
        """Return the probability of a message above y that is moved by a shift."""
        half = (-self.size() * abs(y - shift)).exp() / 2
        return half if y >= shift else 1 - half

    def ratio(self, y: fmpq, shift: int) -> arb:
        """Return the density that is moved over the one that is not."""
        return (self.size() * (abs(y) - abs(y - shift))).exp()

    def limits(self, shift: int) -> tuple[arb, arb]:
        """Return the ratio far out on both sides."""
        return (-self.size() * shift).exp(), (self.size() * shift).exp()

    def _places(self, name: str, cells: Any) -> list[fmpq]:
        places = super()._places(name, cells)
        least, even = (-1, len(places) % 2 == 1) if name == REPLACE else (0, True)
        require((places[0], places[-1]) == (least, 1) and even, "laws: cells with a corner of a ratio", "invalid")
        return places

    def is_flat(self, a: fmpq | None, b: fmpq | None, shift: int) -> bool:
        """Return whether a ratio is the same between two places: where both are on one side of both shifts."""
        return (b is not None and b <= min(shift, 0)) or (a is not None and a >= max(shift, 0))


class Integers(Step):
    """Discrete Gaussian noise: a whole number z has a probability that is proportional to e^(-z^2/(2 sigma^2))."""

    kind = "discrete Gaussian"

    def laws(self, name: str, cells: Any) -> tuple[Triple, Triple]:
        """Return the triple where all integers far out are one message; and where they name their world."""
        shifts, places = (1, -1, 0) if name == REPLACE else (1, 0, 0), self._places(name, cells)
        require(all(y.q == 1 for y in places), "laws: no integers", "invalid")
        first, last = int(places[0].p), int(places[-1].p)
        weights, beyond, whole = _weights(self, max(-first, last) + 2, ctx.prec)
        self.check.spend(10 * len(weights), hard=True)
        masses = [tuple(weights[abs(y - s)] / whole for s in shifts) for y in range(first, last + 1)]
        tail = tuple((beyond[last + 1 - s] + beyond[s + 1 - first]) / whole for s in shifts)
        points = [_point(m) for m in masses]
        named = [("", tail[0], arb(0)), ("", arb(0), tail[1])]
        lower = Triple([*points, _point(tail)], [], arb(0))
        return _ordered(lower, name), _ordered(Triple(points, named, tail[2]), name)

    def numbered(self, name: str, statistic: Any) -> list[list[arb]]:
        """Return the laws of the number of an integer: those from -m to m have one, all others have 0."""
        numbers, shifts = statistic["numbers"], (1, -1, 0) if name == REPLACE else (1, 0, 0)
        require(len(numbers) % 2 == 1 and not statistic["places"], "statistic: no numbers around 0", "invalid")
        most, found = len(numbers) // 2, []
        self.check.spend(10 * most, hard=True)
        weights, _, whole = _weights(self, most + 2, ctx.prec)
        for s in shifts:
            masses = [(k, weights[abs(z - s)] / whole) for z, k in enumerate(numbers, -most)]
            found.append(_cyclic(statistic, [*masses, (0, 1 - sum((p for _, p in masses), arb(0)))]))
        return found


@lru_cache(maxsize=8)
def _weights(step: Integers, end: int, bits: int) -> tuple[list[arb], list[arb], arb]:
    """Return weights of 0, ..., end, sums of weights from each of these on, and the sum over all integers."""
    s = step.size()
    far = ceil(sqrt(end**2 + 2.0 * float(s) ** 2 * bits)) + 1
    require(far <= _MOST_CELLS, f"too large: more than {_MOST_CELLS} integers")
    found = [(-arb(z * z) / (2 * s * s)).exp() for z in range(far + 1)]
    rest = (-arb((far + 1) ** 2) / (2 * s * s)).exp() / (1 - (-arb(2 * far + 3) / (2 * s * s)).exp())
    beyond = [rest.union(arb(0))]  # at most a geometric series
    for weight in reversed(found):
        beyond.append(beyond[-1] + weight)
    return found, beyond[::-1], found[0] + 2 * beyond[-2]


class Table(Step):
    """Messages with their probabilities: with the example, without, and with another one where it is replaced."""

    kind = "a table"

    def __init__(self, check: Check, data: Any, what: str) -> None:
        shaped(data, {"kind": str, "rows": [[str]]}, what)
        with working(256):
            self.rows = [[check.fraction(x) for x in row] for row in data["rows"]]
        width = {len(row) for row in self.rows}
        require(len(self.rows) <= _MOST_ROWS and (width == {2} or width == {3}), f"{what}: no table")
        good = all(x >= 0 for row in self.rows for x in row)
        good = good and all(sum(column) == 1 for column in zip(*self.rows, strict=True))
        require(good, f"{what}: probabilities do not sum to 1", "invalid")
        ratios = sorted((r[0] / r[1], -r[2] / r[1]) for r in self.rows if len(r) == 3 and r[1] != 0)
        self.replaces = len(ratios) == len(self.rows) and all(a[1] <= b[1] for a, b in pairwise(ratios))

    def told(self) -> str:
        """Return what the step is, in words."""
        return f"a table of {len(self.rows)} messages"

    def laws(self, name: str, cells: Any) -> tuple[Triple, Triple]:
        """Return the triple of a direction twice."""
        require(cells is None, "laws: cells of a table")
        require(self.replaces or name != REPLACE, "laws: examples that move messages in other ways", "invalid")
        i, j = {"remove": (0, 1), "add": (1, 0), REPLACE: (0, 2)}[name]
        alike = [mark(str(r[i]), str(r[j])) for r in self.rows]
        rows = list(zip(alike, self.rows, strict=True))
        components = [Component(s, r[i] / r[1], r[j] / r[1], r[1]) for s, r in rows if r[1] != 0]
        found = Triple(components, [(s, r[i], r[j]) for s, r in rows if r[1] == 0], fmpq(0))
        return found, found

    def numbered(self, name: str, statistic: Any) -> list[list[arb]]:
        """Return the laws of the number that each message is given, modulo the size."""
        good = len(statistic["numbers"]) == len(self.rows) and not statistic["places"]
        require(good, "statistic: no number for each message", "invalid")
        require(name != REPLACE or len(self.rows[0]) == 3, "statistic: no other example", "invalid")
        return [
            _cyclic(statistic, [(k, arb(r[i])) for k, r in zip(statistic["numbers"], self.rows, strict=True)])
            for i in ((0, 2, 1) if name == REPLACE else (0, 1, 1))
        ]


STEPS = {"gaussian": Gaussian, "laplace": Laplace, "discrete": Integers, "table": Table}
"""What a certificate names."""


def read(check: Check, data: Any, what: str) -> Step:
    """Return the step from data."""
    kind = data.get("kind") if isinstance(data, dict) else None
    require(isinstance(kind, str) and kind in STEPS, f"{what}: another kind of step")
    assert isinstance(kind, str)
    return STEPS[kind](check, data, what)


def require_statistic(data: Any) -> None:
    """Refuse a statistic of another shape, or of too many values."""
    shaped(data, STATISTIC, "statistic")
    good = 0 < data["size"] <= _MOST_SIZE and len(data["places"]) <= _MOST_SIZE and abs(data["first"]) <= 10**9
    require(good and all(abs(x) <= 10**9 for x in data["numbers"]), "statistic: a number out of range")
