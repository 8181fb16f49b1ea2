"""Evidence by counts of values, where other users have one of two laws: boxes of compositions.

PROVED: the divergence of a pair of inputs is at most the number that is returned, whatever inputs the other users hold
(docs/proofs/few_messages.md). What is left out of a sum is what its weights lack of those of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise, takewhile
from operator import mul
from typing import Any, NamedTuple

from flint import arb

from ..check import INFINITY, NEARLY, Number
from ..mechanisms import ALL, law
from ..setting import At, covering
from ..sums import binomial

_BOX: dict[str, Any] = {"from": int, "to": int, "counted": bool, "tilt": str, "light": str, "grid": str}
SHAPE: dict[str, Any] = {"pair": (int, int), "inputs": [int], "weights": [str], "boxes": [_BOX]}
"""An input for each law, its weight, and boxes of users who have the first law."""
_ZERO, _ONE = arb(0), arb(1)
_TINY, _UNTOLD = arb(2) ** -96, arb(2) ** -60
"""Below what a difference of laws need have no sign, and what that costs for each user."""

Atoms = list[tuple[arb, arb]]  # values, the largest first, with masses
Interval = tuple[arb, arb, arb]  # the least and the largest value, and a mass
Point = tuple[arb, arb, arb, arb]  # p from below and from above, m from below, a weight


class _Kind(NamedTuple):
    """The law of a label times its weight, and the weight."""

    atoms: Atoms
    weight: arb

    @property
    def gained(self) -> Atoms:
        return [(v, v * m / self.weight) for v, m in self.atoms if v > 0]

    @property
    def lost(self) -> Atoms:
        return [(-v, -v * m) for v, m in self.atoms if v < 0]


class _Sums(NamedTuple):
    """Points, what their weights lack, and the moment to whose power the weights are relative."""

    points: list[Point]
    lack: arb
    unit: arb


_NOBODY = _Sums([(_ZERO, _ZERO, _ZERO, _ONE)], _ZERO, _ONE)


def bound(at: At, data: dict[str, Any], up: bool, what: str) -> Number:
    """Return a number whose upper end bounds the divergence of the pair for all data sets of the other users."""
    check, pair, mechanism = at.check, (data["pair"][0], data["pair"][1]), at.only(what)
    check.require(mechanism.stands_for == ALL, f"{what}: not all inputs of other users are listed", "invalid")
    weights = [arb(check.number(w)) for w in data["weights"]]
    good = 1 <= len(data["inputs"]) == len(weights) <= 2 and all(w > 0 for w in weights)
    check.require(good, f"{what}: not one or two laws with weights")
    found = {x: law(check, triple, at.eps) for x, triple in mechanism.laws(pair)}
    check.require(all(x in found for x in data["inputs"]), f"{what}: no law of an input", "invalid")
    check.require(all(x.visible == 0 for x in found.values()), f"{what}: a singular part", "invalid")
    laws = {x: _atoms(check, x_law.atoms, x_law.null, what) for x, x_law in found.items()}
    chosen = [laws[x] for x in data["inputs"]]
    covered = all(any(_same(one, other) for other in chosen) for one in laws.values())
    check.require(covered, f"{what}: an input with a law of its own", "invalid")
    gains = [_total(v * m for v, m in atoms if v > 0) for atoms in chosen]
    gain = reduce(arb.max, gains)
    if mechanism.mixed:
        good = all(w == 1 for w in weights) and all(abs(x - gain) <= gain * arb(2) ** -NEARLY for x in gains)
        check.require(good and _are_comonotone(chosen), f"{what}: mixtures of laws that are not ordered", "invalid")
    if at.n == 1 or not gain > 0:
        return gain.max(_ZERO)
    others = at.n - 1
    boxes = covering(data["boxes"], 0 if len(chosen) > 1 else others, others, what)
    kinds = [_Kind([(v * w, m) for v, m in atoms], w) for atoms, w in zip(chosen, weights, strict=True)]
    result = _ZERO
    for box in boxes:
        tilt, light, grid = (arb(check.number(box[key])) for key in ("tilt", "light", "grid"))
        good = 0 <= tilt < 2**64 and 0 <= light < 1 and 2**-64 < grid < 2**64
        check.require(good, f"{what}: parameters out of range", "invalid")
        least = [box["from"], others - box["to"]][: len(kinds)]
        one = _Box(check, kinds, gain, least, box["to"] - box["from"], tilt, light, float(grid), {})
        value = one.counted() if box["counted"] else one.chernoff()
        result = result.max(value if value.is_finite() else gain)
    return (result + (others * _UNTOLD if mechanism.mixed else _ZERO)).min(gain)


def _atoms(check: Any, atoms: Sequence[tuple[Number, Number]], null: Number, what: str) -> Atoms:
    """Return the values of a law, the largest first, that are distinct and have a sign."""
    rows = [(arb(v), arb(m)) for v, m in atoms] + ([] if null == 0 else [(_ZERO, arb(null))])
    rows.sort(key=lambda row: float(row[0].mid()), reverse=True)
    told = all(a > b for (a, _), (b, _) in pairwise(rows))
    signed = all(v > 0 or v < 0 or v == 0 for v, _ in rows)
    check.require(told and signed, f"{what}: values that are not told apart", "invalid")
    return rows


def _same(one: Atoms, other: Atoms) -> bool:
    pairs = [(x, y) for row in zip(one, other, strict=False) for x, y in zip(*row, strict=True)]
    return len(one) == len(other) and all(abs(x - y) <= abs(x) * arb(2) ** -NEARLY for x, y in pairs)


def _are_comonotone(laws: list[Atoms]) -> bool:
    """Return whether of two laws one has E[w_+; w_+ > y] and E[w_-; w_- < x] at least as large for all y and x."""
    signs = set[bool]()
    for side in (1, -1):
        rows = [[(v * side, v * m * side) for v, m in atoms if v * side > 0] for atoms in laws]
        for place in (*(v for row in rows for v, _ in row), _ZERO):
            sums = list[arb]()
            for row in rows:
                near = [abs(v - place) <= v * _TINY for v, _ in row]
                if not all(same or v > place or v < place for same, (v, _) in zip(near, row, strict=True)):
                    return False
                above = [not same and bool(v > place) for same, (v, _) in zip(near, row, strict=True)]
                # Beyond a place where the label is positive; up to it where it is negative.
                sums.append(_total(x for up, (_, x) in zip(above, row, strict=True) if up == (side > 0)))
            difference = sums[0] - sums[-1]
            if abs(difference) < _TINY:
                continue
            if not (difference > 0 or difference < 0):
                return False
            signs.add(bool(difference > 0))
    return len(signs) < 2


class _Box(NamedTuple):
    """At least so many users of each kind, ``free`` more of whom nothing else is known.

    ``known`` are sums of users of one kind, the free ones last, by their numbers.
    """

    check: Any
    kinds: list[_Kind]
    gain: arb
    least: list[int]
    free: int
    tilt: arb
    light: arb
    grid: float
    known: dict[tuple[int, int], _Sums]

    def chernoff(self) -> arb:
        """Return Chernoff's bound: all of the others have the larger moment."""
        moments = [_moment([(v, v, m) for v, m in k.atoms], self.tilt) for k in self.kinds]
        fixed = reduce(mul, (x**c for x, c in zip(moments, self.least, strict=True)), _ONE)
        front = reduce(arb.max, (_total(x * (self.tilt * v).exp() for v, x in k.gained) for k in self.kinds))
        return front * fixed * reduce(arb.max, moments) ** self.free

    def counted(self) -> arb:
        """Return the bound by the counts of values."""
        whole = self._rest(self.least, self.free)
        result = _ZERO
        for _, high, m, weight in whole.points:
            share = _ONE if m == 0 else (1 - m / high).max(_ZERO) if high > 0 else _ZERO
            result += weight * share * (-self.tilt * (high - m)).exp()
        result = self.gain * whole.unit * (result + whole.lack)
        mixed = [self._mixed(k) if c or self.free else _ZERO for k, c in enumerate(self.least)]
        result += _total(c * x for c, x in zip(self.least, mixed, strict=True))
        return result + self.free * reduce(arb.max, mixed)

    def _mixed(self, k: int) -> arb:
        """Return the expectation of two labels of opposite signs of one user of a kind."""
        one_less = [c - (i == k) for i, c in enumerate(self.least)]
        rest = self._rest(one_less, self.free) if self.least[k] else self._rest(self.least, self.free - 1)
        gained, lost = self.kinds[k].gained, self.kinds[k].lost
        result = _ZERO
        for low, high, m, weight in rest.points:
            if m >= high + gained[0][0]:
                continue
            self.check.spend(5 * len(lost) * len(gained), hard=True)
            ends = [(1 / (high + v), x) for v, x in gained]
            here = _total(
                y * x * (inverse - end).max(_ZERO)
                for inverse, y in ((1 / low.max(m + w), y) for w, y in lost)
                for end, x in ends
            )
            result += weight * here * (-self.tilt * (high - m)).exp()
        most = _total(x * (self.tilt * v).exp() for v, x in gained)
        most *= _total(y / w * (-self.tilt * w).exp() for w, y in lost)
        return rest.unit * (result + most * rest.lack)

    def _rest(self, counts: list[int], free: int) -> _Sums:
        numbers = [(k, c) for k, c in enumerate([*counts, free]) if c]
        laws = [*([(v, v, m) for v, m in x.atoms] for x in self.kinds), _between([x.atoms for x in self.kinds])]
        for k, c in numbers:
            if (k, c) not in self.known:
                self.known[k, c] = self._points(laws[k], c)
        found = [self.known[of] for of in numbers]
        *some, last = found or [_NOBODY]
        most = reduce(arb.max, (v for k in self.kinds for v, _ in k.gained), _ZERO)
        return self._both(reduce(self._both, some, _NOBODY), last, most)

    def _points(self, users: list[Interval], n: int) -> _Sums:
        """Return the sums of n users, by how many have each value."""
        moment = _moment(users, self.tilt)
        shares = [m * (self.tilt * high).exp() / moment for _, high, m in users]
        order = sorted(range(len(users)), key=lambda i: float(shares[i].mid()))
        *rare, common = order
        states: list[tuple[int, arb, arb, arb, arb]] = [(0, _ZERO, _ZERO, _ZERO, _ONE)]
        rest = _total(shares)
        for i in rare:
            share, before, rest = shares[i], rest, rest - shares[i]
            parts, following = _parts(users[i]), []
            for used, low, high, m, weight in states:
                left = n - used
                # The mode of the binomial law of those who have this value among those who are left, and outward.
                start = min(max(int(float((left * share / before).mid())), 0), left)
                part = share / before
                top = weight * binomial(left, start) * part**start * (1 - part) ** (left - start)
                for side in (1, -1):
                    j, size = start, top
                    while 0 <= j <= left and size.upper() > self.light:
                        if j != start or side > 0:
                            self.check.spend(4, hard=True)
                            low_, high_, m_ = (x + j * part for x, part in zip((low, high, m), parts, strict=True))
                            following.append((used + j, low_, high_, m_, size))
                        size *= (
                            (left - j) * share / ((j + 1) * rest) if side > 0 else j * rest / ((left - j + 1) * share)
                        )
                        j += side
            states = following
        parts = _parts(users[common])
        points = [
            (*(x + (n - used) * part for x, part in zip((low, high, m), parts, strict=True)), weight)
            for used, low, high, m, weight in states
        ]
        lack = (_total(shares) ** n - _total(w for *_, w in points)).max(_ZERO)
        return _Sums(self._merged(points), lack, moment**n)

    def _both(self, one: _Sums, other: _Sums, most: arb = INFINITY) -> _Sums:
        """Return the sums of users of both, without those where m is above p by ``most``: they count for nothing."""
        if one is _NOBODY:
            return other
        points, dropped = list[Point](), _ZERO
        heaviest_first = sorted(other.points, key=lambda x: -float(x[-1].mid()))
        for low, high, m, weight in one.points:
            weights = takewhile(lambda x: x.upper() > self.light, (weight * x[-1] for x in heaviest_first))
            kept = list(zip(weights, heaviest_first, strict=False))
            self.check.spend(1 + len(kept), hard=True)
            for both, (low_, high_, m_, _) in kept:
                if m + m_ >= high + high_ + most:
                    dropped += both
                else:
                    points.append((low + low_, high + high_, m + m_, both))
        whole = (_total(w for *_, w in one.points) + one.lack) * (_total(w for *_, w in other.points) + other.lack)
        lack = (whole - dropped - _total(w for *_, w in points)).max(_ZERO)
        return _Sums(self._merged(points), lack, one.unit * other.unit)

    def _merged(self, points: list[Point]) -> list[Point]:
        """Return points with those of one cell of the grid put together: p and weights grow, m and the least p fall."""
        cells: dict[tuple[int, ...], list[Point]] = {}
        for point in points:
            cells.setdefault(tuple(int(float(x.mid()) // self.grid) for x in point[:3]), []).append(point)
        self.check.spend(3 * len(points), hard=True)
        found = list[Point]()
        for some in cells.values():
            low, high, m, weight = some[0]
            if len(some) > 1:
                lows, highs, ms, _ = zip(*some, strict=True)
                low, high, m = reduce(arb.min, lows), reduce(arb.max, highs), reduce(arb.min, ms)
                weight = _total(w * (self.tilt * (high - x - m + y)).exp() for _, x, y, w in some)
            found.append((low, high, m, weight))
        return found


def _total(numbers: Any) -> arb:
    return sum(numbers, _ZERO)


def _moment(users: list[Interval], tilt: arb) -> arb:
    return _total(m * (tilt * high).exp() for _, high, m in users)


def _parts(user: Interval) -> tuple[arb, arb, arb]:
    low, high, _ = user
    return low.max(_ZERO), high.max(_ZERO), (-high).max(_ZERO)


def _between(laws: list[Atoms]) -> list[Interval]:
    """Return intervals for users who have any of the laws: their quantiles go in parallel."""
    cuts = [(_total(m for _, m in atoms[: k + 1]), i) for i, atoms in enumerate(laws) for k in range(len(atoms) - 1)]
    cuts.sort(key=lambda cut: float(cut[0].mid()))
    place, last, found = [0] * len(laws), _ZERO, list[Interval]()
    for cut, i in (*cuts, (_ONE, -1)):
        values = [atoms[k][0] for atoms, k in zip(laws, place, strict=True)]
        mass = cut - last
        if not mass > 0:  # which of the two comes first is not told
            values, mass = [v for atoms in laws for v, _ in atoms], abs(mass).upper().max(arb(2) ** -NEARLY)
        found.append((reduce(arb.min, values), reduce(arb.max, values), mass))
        last = cut
        if i >= 0:
            place[i] += 1
    return found
