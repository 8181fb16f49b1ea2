"""Noise on an interval of inputs: all pairs of inputs, in boxes, by the pairs of their corners.

PROVED: at this level no pair of inputs and no data set has a larger divergence than the number that is returned
(docs/proofs/interval.md). Tables, laws of other users and remainders are made here from the density and the places
of the certificate; corners are settled by one tilt, or by the integrals over all data sets. The interval of inputs is
[0, 1]. Messages beyond the first and the last node are another user's own symbol; of the victim's, what is beyond the
first is added to the divergence.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from itertools import pairwise, product
from math import log
from typing import Any

from flint import arb, fmpq

from ..check import INFINITY, ZERO, Number, larger, largest, least
from ..mechanisms import NoiseOnInterval
from ..setting import At
from . import all_data_sets
from .other_inputs import PLAN

KIND = "boxes of pairs"
_CELL = (str, str, str)
_STAGE: dict[str, Any] = {"nodes": [str], "first": [_CELL], "second": [_CELL]}
SHAPE: dict[str, Any] = {"others": [str], "cap": str, "tilts": [str], "plan": PLAN, "stages": [_STAGE]}
_MOST_PLACES, _SETTLED, _APART, _NO_RISE = 1024, fmpq(19, 20), log(4), fmpq(1, 10**6)
"""Of one stage; a corner below this part of the claim by one tilt is settled; how much, in logarithms, ratios in one
part of a remainder differ where they have no limit; and up to which exponent (e^x - 1 - x)/x^2 is e^x/2."""
_ONE, _ZEROS = fmpq(1), (arb(0), arb(0))
Box = tuple[int, int]


def bound(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper end bounds the divergence of every pair of inputs and every data set."""
    check, mechanism = at.check, at.only(what)
    check.require(isinstance(mechanism, NoiseOnInterval), f"{what}: no noise on an interval", "invalid")
    good = at.n >= 2 and 0 < at.value < 1 and data["plan"] is not None
    check.require(good, f"{what}: one user, a trivial claim, or no plan", "invalid")
    result, left, before = ZERO, {(0, 0)}, [[ZERO, _ONE]] * 2
    for i, stage in enumerate(data["stages"]):
        found = _Stage(at, mechanism, data, stage, f"{what}.stages[{i}]")
        first, second = (list(_touched(*places)) for places in zip(found.places, before, strict=True))
        asked = [(i, j) for i, j in found.boxes if not left.isdisjoint(product(first[i], second[j]))]
        values, before = found.values(asked), found.places
        left = {box for box in asked if not values[box] <= at.value}
        result = reduce(larger, (values[box] for box in asked if box not in left), result)
    check.require(not left, f"{what}: a box of pairs above the claim", "invalid")
    return result


def _touched(cells: Sequence[fmpq], old: Sequence[fmpq]) -> Iterator[range]:
    """Yield the places of the old cells with which each cell has inner points in common."""
    for start, end in pairwise(cells):
        yield range(bisect_right(old, start) - 1, bisect_left(old, end))


class _Stage:
    """A table, and the cells of both compared inputs."""

    def __init__(self, at: At, mechanism: Any, data: dict[str, Any], stage: dict[str, Any], what: str) -> None:
        check = at.check
        self.at, self.check, self.what, self.n, self.data = at, check, what, at.n, data
        self.noise, self.e = mechanism.noise(), arb(check.number(f"exp({at.eps})"))
        self.cap = arb(check.number(data["cap"]))
        self.nodes = [check.fraction(x) for x in stage["nodes"]]
        self.others = [check.fraction(x) for x in data["others"]]
        self.sides = [[[check.number(x) for x in cell] for cell in stage[key]] for key in ("first", "second")]
        good = all(0 < len(x) <= _MOST_PLACES for x in (self.nodes, *self.sides))
        check.require(good, f"{what}: too large, or no places")
        self.places = [[check.fraction(cell[0]) for cell in stage[key]] + [_ONE] for key in ("first", "second")]
        for places in (self.nodes, self.others, *self.places):
            check.require(all(a < b for a, b in pairwise(places)), f"{what}: places out of order", "invalid")
        for places in (self.others, *self.places):
            good = len(places) > 1 and places[0] == 0 and places[-1] == 1
            check.require(good, f"{what}: places do not go from 0 to 1", "invalid")
        seen = {*(() if self.noise.steps else (fmpq(1, 2),)), *(self.others if self.noise.is_translated else ())}
        good = seen <= set(self.nodes) and self.nodes[0] + self.nodes[-1] == 1
        check.require(good, f"{what}: a place of other users, or the middle, is no node, or nodes end", "invalid")
        good = self.cap > 0 and all(0 <= k < INFINITY and 0 < s < INFINITY for side in self.sides for _, k, s in side)
        check.require(good, f"{what}: numbers of a cell out of range", "invalid")
        self.noise.check(self.nodes, what)
        gaps = (b - a for places in self.places for a, b in pairwise(places))
        good = self.noise.skips or all(gap == self.noise.step for gap in gaps)
        check.require(good, f"{what}: places leave inputs out", "invalid")
        self.known = {y: j for j, y in enumerate(self.nodes)}
        self.cells = [self.noise.length(a, b) for a, b in pairwise(self.nodes)]
        self.outside = self.noise.outside(arb(-self.nodes[0]))
        self._rows: dict[fmpq, list[arb]] = {}
        self._laws: dict[fmpq, tuple[list[arb], list[arb]]] = {}

    @property
    def boxes(self) -> list[Box]:
        """All boxes with pairs a < b: others are mirror images."""
        first, second = self.places
        self.check.spend(len(first) * len(second))
        return [(i, j) for i, j in product(range(len(first) - 1), range(len(second) - 1)) if first[i] < second[j + 1]]

    def place(self, box: Box) -> tuple[fmpq, fmpq, fmpq, fmpq]:
        """Return the ends of a box."""
        (first, second), (i, j) = self.places, box
        return first[i], first[i + 1], second[j], second[j + 1]

    # The table

    def row(self, x: fmpq) -> list[arb]:
        """Return the densities at the nodes for the input x, which is a node."""
        if x not in self._rows:
            good = x in self.known or not self.noise.is_translated
            self.check.require(good, f"{self.what}: an input that is no node, or a box above the claim", "invalid")
            self.check.spend(len(self.nodes), hard=True)
            self._rows[x] = [self.noise.at(y, x) for y in self.nodes]
        return self._rows[x]

    def whole(self, x: fmpq) -> arb:
        """Return the sum of the masses of the nodes for the input x."""
        return sum((f * w for f, w in zip(self.row(x), self.weights, strict=True)), arb(0))

    def probabilities(self, x: fmpq) -> list[arb]:
        """Return the probabilities of the nodes for the input x."""
        whole = self.whole(x)
        return [f * w / whole for f, w in zip(self.row(x), self.weights, strict=True)]

    @cached_property
    def marked(self) -> list[bool]:
        """Which nodes are told apart from all others: those on the left with ratios above the cap."""
        every = zip(self.nodes, self.probabilities(ZERO), self.blanket, strict=True)
        return [y < fmpq(1, 2) and not p <= self.cap * m for y, p, m in every]

    def law(self, x: fmpq) -> tuple[list[arb], list[arb]]:
        """Return the probabilities of the nodes for the input x; and what is kept: no mark, and up to the cap."""
        if x not in self._laws:
            found = self.probabilities(x)
            every = zip(found, self.blanket, self.marked, strict=True)
            self._laws[x] = found, [arb(0) if is_marked else p.min(self.cap * m) for p, m, is_marked in every]
        return self._laws[x]

    def added(self, pair: tuple[fmpq, fmpq], level: arb, classes: Sequence[Sequence[arb]]) -> arb:
        """Return what the divergence of a pair is above that of what is kept, at most: marks and the cap."""
        if not self.cap < INFINITY:
            return arb(0)
        self.check.spend(4 * len(classes) * len(self.nodes), hard=True)
        (a, left), (b, right) = map(self.law, pair)
        g, rest = ([p - level * q for p, q in zip(*rows, strict=True)] for rows in ((a, b), (left, right)))
        few, marks = self.n - 1, [j for j, is_marked in enumerate(self.marked) if is_marked]
        hidden, told = [least([x[j] for x in classes]) for j in marks], [g[j].max(arb(0)) for j in marks]
        kept = [j for j, is_marked in enumerate(self.marked) if not is_marked]
        squares = largest([sum((rest[j] ** 2 / x[j] for j in kept), arb(0)) for x in classes])
        mean, capped = sum(rest, arb(0)), sum(((g[j] - rest[j]).max(arb(0)) for j in kept), arb(0))
        p, gain, square = sum(hidden, arb(0)), sum(told, arb(0)), few * (squares - mean**2).max(arb(0))
        if not (p < 1 and mean <= 0):
            return INFINITY  # the box stays open
        for m, x in zip(hidden, told, strict=True):
            y = x + few * m * mean
            root = (y**2 + m**2 * square).sqrt()
            capped += (m**2 * square / (root - y) if y < 0 else root + y) / 2
        return capped + few * p * gain + self.n * p**2 / 4 * (few * squares / (1 - p)).sqrt()

    @cached_property
    def weights(self) -> list[arb]:
        """The integrals of the functions that are 1 at a node and 0 at its neighbours."""
        return list(self.noise.weights(self.nodes))

    @cached_property
    def hidden(self) -> list[arb]:
        """The densities at the nodes that every input's law has at least."""
        return [a.min(b) for a, b in zip(self.row(ZERO), self.row(_ONE), strict=True)]

    @cached_property
    def blanket(self) -> list[arb]:
        """Their masses."""
        return [m * w for m, w in zip(self.hidden, self.weights, strict=True)]

    @cached_property
    def classes(self) -> list[list[arb]]:
        """The masses of the nodes, one list for each class of other users; the rest is a symbol of their own."""
        found, kept = [], []
        for x, y in pairwise(self.others):
            kept.append([self.noise.kept(a, b, y - x) for a, b in zip(self.row(x), self.row(y), strict=True)])
        for k, x in enumerate(self.others):
            beside = kept[max(k - 1, 0) : k + 1]
            here = [least([cell[j] for cell in beside]) for j in range(len(self.nodes))]
            near = [least(here[max(j - 1, 0) : j + 2]) for j in range(len(self.nodes))]
            found.append([a * b * w for a, b, w in zip(self.row(x), near, self.weights, strict=True)])
        return found

    # Cells of a compared input

    @cached_property
    def bent(self) -> list[arb]:
        """How much of its lesser end is left of what interpolates between two nodes."""
        found = [1 - wide**2 / 8 * self.noise.steep(wide) for wide in self.cells]
        self.check.require(all(x > 0 for x in found), f"{self.what}: nodes too far apart", "invalid")
        return found

    def left_over(self, start: fmpq, end: fmpq) -> list[arb]:
        """Return what interpolation between messages, and between inputs, leaves on each cell of messages."""
        found, rows = [], list(zip((start, end), (self.row(start), self.row(end)), strict=True))
        for j, (y, z) in enumerate(pairwise(self.nodes)):
            tops = [row[j].max(row[j + 1]) for _, row in rows]
            rest = [self.noise.left_over(x, y, z, top) for (x, _), top in zip(rows, tops, strict=True)]
            found.append(largest(rest) + self.noise.between(start, end, y, z, largest(tops)))
        return found

    def cell(self, k: int, i: int) -> tuple[arb, arb]:
        """Return kappa of a cell, and what (1 + kappa) or (1 - kappa) times a mixture of its ends leaves."""
        (start, end), (_, kappa, s) = self.places[k][i : i + 2], map(arb, self.sides[k][i])
        noise, h, m = self.noise, arb(end - start), self.hidden
        small = least([self.whole(x) for x in (start, end)])
        if end - start == noise.step:  # nobody is between
            return ((1 - small).max(arb(0)) if k else arb(0)), arb(0)
        eta, height = 1 - (1 - noise.curve * h**2 / 8) * small, h * noise.fall / 4
        ends = list(zip(self.row(start), self.row(end), strict=True))
        ratio = [a.max(b) / (small * low) for (a, b), low in zip(ends, m, strict=True)]
        self.check.spend(16 * len(m), hard=True)
        rest, places = self.left_over(start, end), (self.known[x] if noise.is_translated else 0 for x in (start, end))
        touched = range(*places) if height > 0 else range(0)  # where the kink may be
        lowest = [bent * x.min(y) for bent, (x, y) in zip(self.bent, pairwise(m), strict=True)]
        tops = [height + x if j in touched else x for j, x in enumerate(rest)]
        mixed = [bent * least([*a, *b]) for bent, (a, b) in zip(self.bent, pairwise(ends), strict=True)]
        whole = largest([x / y for x, y in zip(tops, mixed, strict=True)])
        if kappa >= (eta + whole if noise.is_signed else eta) if k else kappa >= whole:
            return kappa, arb(0)  # nothing is left
        parts: dict[int, list[arb]] = {}
        for j, wide in enumerate(self.cells):
            most = ratio[j].max(ratio[j + 1])
            group = int(log(float(most)) / _APART) if noise.is_signed else int(j in touched)
            part = parts.setdefault(group, [*_ZEROS, *_ZEROS])
            found = wide * rest[j] ** 2 / lowest[j], wide * m[j].max(m[j + 1]) * most**2
            part[:] = part[0] + found[0], part[1] + found[1], part[2].max(tops[j] / lowest[j]), part[3].max(most)
        if touched:
            parts[1][0] += (h + noise.step) * height**2 / 3 / least([lowest[j] for j in touched])
        for j in (0, -1) if noise.tail > 0 else ():
            part = parts.setdefault(0, [*_ZEROS, *_ZEROS])
            part[1], part[3] = part[1] + noise.tail * m[j] * ratio[j] ** 2, part[3].max(ratio[j])
        t, log_m = eta + kappa, s * ((2 * self.outside if k else 0) - kappa)
        for w0, w1, x0, x1 in parts.values():
            w = w0 + w1 * t**2 + (2 * t * (w0 * w1).sqrt() if noise.is_signed else 0)
            x = arb((x0 + x1 * t if noise.is_signed else x1 * eta.max(arb(0)) if k else x0).upper())
            log_m += w * (s**2 / 2 * (s * x).exp() if s * x < _NO_RISE else ((s * x).expm1() - s * x) / x**2)
        return kappa, (self.n * log_m - 1).exp() / (self.n * s)

    # Boxes

    @cached_property
    def gain(self) -> arb:
        """E[G_+] of the pair of the ends."""
        every = zip(self.law(ZERO)[1], self.law(_ONE)[1], strict=True)
        return sum(((p - self.e * q).max(arb(0)) for p, q in every), arb(0))

    def values(self, asked: Sequence[Box]) -> dict[Box, arb]:
        """Return bounds on the divergences of the pairs of some boxes, where they are at most the claim."""
        cells = [{i: self.cell(k, i) for i in {box[k] for box in asked}} for k in (0, 1)]
        corners, levels = dict[Box, list[tuple[fmpq, fmpq]]](), dict[tuple[fmpq, fmpq], arb]()
        for box in asked:
            a0, a1, b0, b1 = self.place(box)
            every = product((a0, a1), (b1, b0))  # the farthest first
            corners[box] = [(a, b) for a, b in every if self.noise.skips or a < b]  # else there are no others
            level = self.e * (1 - cells[1][box[1]][0]) / (1 + cells[0][box[0]][0])
            for corner in corners[box]:
                levels[corner] = level.min(levels.get(corner, level))
        found, values = dict[tuple[fmpq, fmpq], arb](), {}
        for box in asked:
            (up, left), (_, right) = cells[0][box[0]], cells[1][box[1]]
            values[box] = rest = left + self.e * right + self.outside
            for corner in sorted(corners[box], key=lambda x: x not in found):
                if not values[box] <= self.at.value:
                    break  # the box stays open
                if corner not in found:
                    found[corner] = self.corner(corner, levels[corner])
                values[box] = values[box].max((1 + up) * found[corner] + rest)
        return values

    def corner(self, pair: tuple[fmpq, fmpq], level: arb) -> arb:
        """Return a bound on the divergence of the table's laws for a pair, whatever the others hold."""
        if not level >= 1:
            return INFINITY  # the box stays open
        g = [p - level * q for p, q in zip(*(self.law(x)[1] for x in pair), strict=True)]
        best, enough = INFINITY, arb(self.at.value * _SETTLED) - self.outside
        values, added = [x / m for x, m in zip(g, self.blanket, strict=True)], self.added(pair, level, [self.blanket])
        for text in self.data["tilts"]:
            theta = arb(self.check.number(text))
            self.check.require(theta > 0, f"{self.what}: a tilt that is not positive", "invalid")
            self.check.spend(2 * len(g), hard=True)
            moment = 1 + sum((m * (theta * v).expm1() for m, v in zip(self.blanket, values, strict=True)), arb(0))
            best = best.min((self.n * moment.log() - 1).exp() / (self.n * theta) + added)
            if best <= enough:
                return best
        added = added.min(self.added(pair, level, self.classes))
        return best.min(self._integrals(g, enough - added) + added)

    def _integrals(self, g: Sequence[arb], enough: arb) -> arb:
        """Return the bound over all data sets by the integrals of the plan, in units of the gain of the ends."""
        kept = [j for j, is_marked in enumerate(self.marked) if not is_marked]
        gain = sum((x for x in g if x > 0), arb(0))
        good = not any(g[j].contains(0) for j in kept) and gain > 0
        self.check.require(good, f"{self.what}: a value that may be 0", "invalid")
        unit = gain / self.gain
        laws = []
        for masses in self.classes:
            atoms = [(g[j] / (masses[j] * unit), masses[j]) for j in kept]
            laws.append((atoms, (1 - sum((m for _, m in atoms), arb(0))).max(arb(0))))
        plan, enough, most = self.data["plan"], enough / unit, arb(self.at.value) / unit
        return unit * all_data_sets.bound(self.check, laws, [self.gain], self.n, plan, self.what, True, enough, most)
