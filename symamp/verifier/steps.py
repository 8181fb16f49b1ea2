"""What one step of training publishes, with an example and without: finite laws around it, and numbers of its messages.

PROVED: of two laws the first is below the triple of the step, and the second above it, at every level and number of
steps (docs/proofs/random_allocation.md, section 4). A table is its own law; noise has cells of messages, or integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from flint import arb, ctx, fmpq

from .check import INFINITY, Check, Number, working
from .claims import given
from .documents import require, shaped
from .mechanisms import Component, Triple, mark
from .noise import DiscreteGaussian, Gaussian, Laplace, Logistic

CELLS = {"from": str, "to": str, "count": int}
STATISTIC = {"size": int, "first": int, "places": [str], "numbers": [int]}
REPLACE = "replace"
_MOST_CELLS, _MOST_SIZE, _MOST_ROWS = 20_000, 2**16, 10_000
Numbers = tuple[Number, ...]


def _shifts(name: str, opposite: int = 0) -> tuple[int, int, int]:
    """Return by how much messages are moved; ``opposite`` is what all other gradients of a batch are short of."""
    return (1 + opposite, opposite - 1 if name == REPLACE else opposite, 0)


def _cyclic(statistic: Any, masses: Iterable[tuple[int, Number]]) -> list[arb]:
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


class Noise:
    """Even noise, whose messages the example moves by 1: the ratio of two densities falls or rises with the message."""

    def __init__(self, check: Check, data: Any, what: str) -> None:
        self.kind, self.check = data["kind"], check
        self.parameter = _DENSITIES[self.kind].parameters[-1]
        shaped(data, {"kind": str, self.parameter: str}, what)
        self.text, self.replaces, self._known = data[self.parameter], self.kind != "logistic", dict[int, Laplace]()
        with working(256):
            size = arb(check.number(self.text))
            require(size * 100 >= 1 and size <= 10**6, f"{what}: a {self.parameter} out of range")

    @property
    def noise(self) -> Laplace:
        """The noise at the working precision."""
        if ctx.prec not in self._known:
            self._known[ctx.prec] = self.made(arb(self.check.number(self.text)))
        return self._known[ctx.prec]

    def made(self, size: arb) -> Laplace:
        """Return the noise from its parameter."""
        return _DENSITIES[self.kind](size)

    def told(self) -> str:
        """Return what the step is, in words."""
        return f"{self.noise.name} noise of {given(self.text, self.noise.size)}"

    def ratio(self, y: fmpq, shift: int) -> arb:
        """Return the density that is moved by a shift over the one that is not."""
        noise = self.noise
        return noise.density(arb(abs(y - shift))) / noise.density(arb(abs(y))) if shift else arb(1)

    def is_flat(self, a: fmpq | None, b: fmpq | None, shift: int) -> bool:
        """Return whether that ratio is the same between two places: of Laplace noise also beyond 0 and the shift."""
        beyond = (b is not None and b <= min(shift, 0)) or (a is not None and a >= max(shift, 0))
        return shift == 0 or (self.kind == "laplace" and beyond)

    def mass(self, a: fmpq | None, b: fmpq | None, shift: int) -> arb:
        """Return the probability between two places; small ones are exact on both sides, as noise is even."""
        if b is not None and b < 0:
            a, b, shift = -b, None if a is None else -a, -shift

        def above(y: fmpq) -> arb:
            tail = self.noise.beyond(arb(abs(y - shift)))
            return tail if y >= shift else 1 - tail

        return (arb(1) if a is None else above(a)) - (arb(0) if b is None else above(b))

    def laws(self, name: str, cells: Any, opposite: int = 0) -> tuple[Triple, Triple]:
        """Return the triple where messages of a cell are one; and where they are at its corners."""
        shifts, places = _shifts(name, opposite), self.places(name, cells)
        at = [tuple(self.ratio(y, s) for s in shifts[:2]) for y in places]
        ends = [*zip([None, *places], [*places, None], strict=True)]
        masses = [tuple(self.mass(a, b, s) for s in shifts) for a, b in ends]
        edges: list[Any] = [None, *at, None]
        if self.noise.ratio < INFINITY:  # far out ratios have a limit
            edges[0], edges[-1] = (tuple(self.noise.ratio ** (side * s) for s in shifts[:2]) for side in (-1, 1))
        named: list[tuple[str, Number, Number]] = []
        upper, null = list[Component](), arb(0)
        for m, (a, b), (start, end) in zip(masses, ends, pairwise(edges), strict=True):
            if start is None or end is None:
                named, null = [*named, ("", m[0], arb(0)), ("", arb(0), m[1])], null + m[2]
            else:
                upper += _corners(m, start, end, [self.is_flat(a, b, s) for s in shifts[:2]])
        lower = Triple(list(map(_point, masses)), [], arb(0))
        return _ordered(lower, name), _ordered(Triple(upper, named, null), name)

    def places(self, name: str, cells: Any) -> list[fmpq]:
        """Return the ends of the cells of messages."""
        require(cells is not None, "laws: no cells of messages")
        require(self.replaces or name != REPLACE, f"laws: nothing is known of replacement with {self.kind} noise")
        low, high, count = self.check.fraction(cells["from"]), self.check.fraction(cells["to"]), cells["count"]
        require(low < high and 0 < count <= _MOST_CELLS, "laws: cells out of range", "invalid")
        self.check.spend(100 * count)
        found = [low + (high - low) * k / count for k in range(count + 1)]
        corners = set(_shifts(name)) if self.kind == "laplace" else set[int]()
        require(corners <= set(found), "laws: cells with a corner of a ratio", "invalid")
        return found

    def numbered(self, name: str, statistic: Any) -> list[list[arb]]:
        """Return the laws of the number of a message, modulo the size: with the example, in the other world, without.

        It is the ``first`` one below the first place, and rises by 1 at each place.
        """
        places = [self.check.fraction(y) for y in statistic["places"]]
        good = places and not statistic["numbers"] and all(a < b for a, b in pairwise(places))
        require(good, "statistic: places out of order", "invalid")
        cells = list(enumerate(zip([None, *places], [*places, None], strict=True), statistic["first"]))
        return [_cyclic(statistic, ((k, self.mass(a, b, s)) for k, (a, b) in cells)) for s in _shifts(name)]


def _corners(m: Numbers, start: Numbers, end: Numbers, flat: list[bool]) -> list[Component]:
    """Return messages at the ends of a cell, and at the corner of their ratios, with its masses."""
    (p, r, q), (a0, a1), (b0, b1) = m, start, end
    if all(flat):
        return [_point(m)]
    second = (r - a1 * q) / (b1 - a1) if flat[0] else (p - a0 * q) / (b0 - a0)
    if any(flat):
        return [Component("", a0, a1, q - second), Component("", b0, b1, second)]
    first = (r - b1 * q) / (a1 - b1)
    return [Component("", a0, a1, first), Component("", b0, b1, second), Component("", a0, b1, q - first - second)]


class Integers(Noise):
    """Discrete Gaussian noise: a whole number z has a probability that is proportional to e^(-z^2/(2 sigma^2))."""

    def made(self, size: arb) -> Laplace:
        return DiscreteGaussian(arb(1), size)

    def laws(self, name: str, cells: Any, opposite: int = 0) -> tuple[Triple, Triple]:
        """Return the triple where all integers far out are one message; and where they name their world."""
        shifts, places = _shifts(name), self.places(name, cells)
        good = all(y.q == 1 for y in places) and places[0] < 0 and places[-1] > 0
        require(good, "laws: no integers on both sides of 0", "invalid")
        self.check.spend(30 * len(places), hard=True)
        points = [_point(tuple(self.noise.at(y, fmpq(s)) for s in shifts)) for y in places]
        beyond = self.noise.beyond
        tail = tuple(beyond(arb(places[-1] - s)) + beyond(arb(s - places[0])) for s in shifts)
        named = [("", tail[0], arb(0)), ("", arb(0), tail[1])]
        lower = Triple([*points, _point(tail)], [], arb(0))
        return _ordered(lower, name), _ordered(Triple(points, named, tail[2]), name)

    def numbered(self, name: str, statistic: Any) -> list[list[arb]]:
        """Return the laws of the number of an integer: those from -m to m have one, all others have 0."""
        numbers, found = statistic["numbers"], []
        require(len(numbers) % 2 == 1 and not statistic["places"], "statistic: no numbers around 0", "invalid")
        self.check.spend(30 * len(numbers), hard=True)
        for s in _shifts(name):
            masses = [(k, self.noise.at(fmpq(z), fmpq(s))) for z, k in enumerate(numbers, -(len(numbers) // 2))]
            found.append(_cyclic(statistic, [*masses, (0, 1 - sum((p for _, p in masses), arb(0)))]))
        return found


class Table:
    """Messages with their probabilities: with the example, without, and with another one where it is replaced."""

    kind = "table"

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
        falls = len(ratios) == len(self.rows) and all(a[1] <= b[1] for a, b in pairwise(ratios))
        self.replaces = falls and sorted(self.rows) == sorted(row[::-1] for row in self.rows)

    def told(self) -> str:
        """Return what the step is, in words."""
        return f"a table of {len(self.rows)} messages"

    def laws(self, name: str, cells: Any, opposite: int = 0) -> tuple[Triple, Triple]:
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


_DENSITIES: dict[str, type[Laplace]] = {
    "gaussian": Gaussian, "laplace": Laplace, "logistic": Logistic, "discrete": DiscreteGaussian,
}  # fmt: skip
STEPS: dict[str, Any] = dict.fromkeys(_DENSITIES, Noise) | {"discrete": Integers, "table": Table}
"""What a certificate names."""
Step = Noise | Table


def read(check: Check, data: Any, what: str) -> Step:
    """Return the step from data."""
    kind = str(data.get("kind")) if isinstance(data, dict) else ""
    require(kind in STEPS, f"{what}: another kind of step")
    found: Step = STEPS[kind](check, data, what)
    return found


def require_statistic(data: Any) -> None:
    """Refuse a statistic of another shape, or of too many values."""
    shaped(data, STATISTIC, "statistic")
    good = 0 < data["size"] <= _MOST_SIZE and len(data["places"]) <= _MOST_SIZE and abs(data["first"]) <= 10**9
    require(good and all(abs(x) <= 10**9 for x in data["numbers"]), "statistic: a number out of range")
