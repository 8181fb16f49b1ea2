"""Sets and sparse vectors: Collision, Wheel and PCKV-GRR."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import sympy as sp

from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.reading import LARGEST_N, whole_number
from symamp.randomizers import protocols
from symamp.randomizers.finite import FiniteMechanism, check_size, strings, subsets
from symamp.randomizers.structures import DisjointCover, with_average

_ENTRIES = Parameter("s", lower=1, integer=True)
_S = _ENTRIES.symbol


class Collision(DisjointCover):
    """Hash the s entries of a sparse vector to l >= 2s buckets, send one bucket z.

    With t = e^eps0 and W = s t + l - s a bucket that an entry is hashed to has probability t/W. The rest of the
    probability is spread evenly, which gives 1/W if the entries have s different buckets and more if not.

    An input is the set of its buckets; the hash function is sent along, so it is given. The pair is two disjoint
    sets of s buckets. It is worst: 1/W is below every input everywhere, so for every pair and every hash the law of
    the ratios to it is below that of the pair in convex order (see DisjointCover; ratios strictly between 1 and t
    split to their ends, a mean-preserving spread). The mechanism with a random hash is a mixture over hashes: upper
    bounds hold for it as they are, lower bounds are those of the worst hash. The dimension d does not enter.

    >>> Collision(s=2, l=8, eps0="log(3)").blanket().gamma
    2/3
    """

    name = "Collision, l >= 2s"
    slug = "collision"
    source = "Wang, Li, Qian, Du, Lin, Yang 2021"
    small = tuple({"s": s, "l": l, "eps0": "log(3)"} for s, l in ((1, 2), (1, 5), (2, 4), (2, 5), (2, 7), (3, 9)))
    typical = {"s": 4, "l": 32}
    declared = (_ENTRIES, Parameter("l", lower=2 * _S, integer=True), EPS0)
    packs = True

    def __init__(self, *, s: Value = None, l: Value = None, eps0: Value = None) -> None:
        super().__init__(s=s, l=l, eps0=eps0)

    def coverage(self) -> sp.Expr:
        return self["s"] / self["l"]

    def message_bits(self) -> sp.Expr:
        """Return log2 of the values; the hash function is shared."""
        return sp.log(self["l"], 2)

    def protocol(self) -> protocols.Protocol:
        """Values are rows of s different buckets (buckets if s = 1); estimated are the shares of users with each."""
        s, l = self["s"], self["l"]

        def shown() -> dict[str, Any]:
            found = protocols.two_sets(s)
            return found if l >= 2 * s else {**found, "x1": list(range(int(l - s), int(l)))}

        return protocols.sets(l, s, sp.S.One, sp.exp(self["eps0"]), shown=shown)

    def table(self) -> FiniteMechanism:
        """Return the table over the buckets, for all sets of 1 to s buckets that the entries may be hashed to."""
        s, buckets, t = int(self["s"]), int(self["l"]), sp.exp(self["eps0"])
        check_size(subsets(buckets, s), buckets)
        total = s * t + buckets - s
        names = {tuple(range(s)): "x0"}
        if buckets >= 2 * s:
            names.update({tuple(range(i * s, (i + 1) * s)): f"x{i}" for i in range(1, buckets // s)})
            if buckets < 3 * s:
                outside, shared = tuple(range(2 * s, buckets)), 3 * s - buckets
                names |= {tuple(range(i * s, i * s + shared)) + outside: f"x{i + 2}" for i in range(2) if outside}
        else:
            names[tuple(range(buckets - s, buckets))] = "x1"
        rows = {}
        for size in range(1, s + 1):
            for hashed in combinations(range(buckets), size):
                high = t / total
                low = (1 - high * size) / (buckets - size)
                rows[names.get(hashed, f"buckets {hashed}")] = {
                    str(z): high if z in hashed else low for z in range(buckets)
                }
        return FiniteMechanism(with_average(rows), name=repr(self))


class NarrowCollision(Collision):
    """Collision with s < l <= 2s buckets, too few for two disjoint sets: the worst pair has 2s - l in common.

    >>> NarrowCollision(s=3, l=4, eps0="log(3)").blanket().gamma
    2/5
    """

    name = "Collision, s < l <= 2s"
    slug = "collision-narrow"
    small = tuple({"s": s, "l": l, "eps0": "log(3)"} for s, l in ((1, 2), (2, 3), (2, 4), (3, 4), (3, 5), (4, 7)))
    typical = {"s": 4, "l": 6}
    declared = (_ENTRIES, Parameter("l", lower=_S + 1, upper=2 * _S, integer=True), EPS0)
    packs = False

    def overlap(self) -> sp.Expr:
        """Two sets of s out of l buckets have at least 2s - l in common."""
        return 2 * self["s"] / self["l"] - 1


class Wheel(DisjointCover):
    """Hash the s items to points of a ring of length 1, cover an arc of length p from each, send a point z.

    With t = e^eps0 and W = s p t + 1 - s p the density of z is t/W where an arc covers it. The rest of the
    probability is spread evenly, which gives 1/W if no arcs overlap and more if they do.

    An input is the s hashed points; the hash function is sent along, so it is given. The pair is two inputs whose
    arcs are disjoint among themselves and from each other, as s p < 1/2 permits. It is worst: 1/W is below every
    input everywhere, so for every pair and every hash the law of the ratios to it is below that of the pair in convex
    order (see DisjointCover; ratios strictly between 1 and t split to their ends, a mean-preserving spread). The
    mechanism with a random hash is a mixture over hashes: upper bounds hold for it as they are, lower bounds are those
    of the worst hash. The number D of options does not enter: it is optional, and asked for by estimates alone.

    >>> Wheel(s=2, p="1/8", eps0="log(3)").blanket().gamma
    2/3
    >>> Wheel(s=1, p="1/4", eps0="log(3)", D=5).variance()
    3
    """

    name = "Wheel"
    slug = "wheel"
    source = "Wang, Qian, Du, Yang, Huang, Xu 2020"
    small = tuple(
        {"s": s, "p": p, "eps0": f"log({e})"}
        for s, p, e in ((1, "1/4", 3), (1, "2/5", 2), (2, "1/6", 3), (2, "1/5", 5), (3, "1/9", 3), (3, "1/7", 2))
    )
    typical = {"s": 4, "p": "1/16"}
    declared = (
        Parameter("s", lower=1, integer=True),
        Parameter("p", lower=0, upper=1 / (2 * sp.Symbol("s", integer=True))),
        EPS0,
    )
    packs = True

    def __init__(self, *, s: Value = None, p: Value = None, eps0: Value = None, D: Value = None) -> None:
        super().__init__(s=s, p=p, eps0=eps0)
        least = max(int(self["s"]), 2) if self["s"].is_Integer else 2
        self.keep("D", None if D is None else whole_number(D, "D", LARGEST_N, least=least))

    def coverage(self) -> sp.Expr:
        return self["s"] * self["p"]

    def protocol(self) -> protocols.Protocol:
        """Values are rows of s points of the ring (points if s = 1), reports are points.

        With a number of options values are rows of s of them, and a report is behind the points of all options, drawn
        anew for each user, as hash functions do. It supports the options in whose arcs it is.
        """
        s, p, t = self["s"], self["p"], sp.exp(self["eps0"])

        def draw(values: protocols.Array, rng: protocols.Rng) -> protocols.Array:
            n, arc, starts = len(values), protocols.double(p), values.reshape(len(values), protocols.whole(s))
            total = protocols.double(s * p + (1 - s * p) / t)
            gaps = np.diff(np.column_stack((ordered := np.sort(starts, axis=1), ordered[:, :1] + 1.0)), axis=1)
            inside = rng.random(n) < np.minimum(gaps, arc).sum(axis=1) / total

            def covering(z: protocols.Array, users: protocols.Array) -> protocols.Array:
                found: protocols.Array = ((z[:, None] - starts[users]) % 1.0 < arc).sum(axis=1)
                return found

            def point(users: protocols.Array) -> protocols.Array:
                somewhere, chosen = rng.random(len(users)), rng.integers(protocols.whole(s), size=len(users))
                return np.where(inside[users], (starts[users, chosen] + arc * somewhere) % 1.0, somewhere)

            def fits(z: protocols.Array, users: protocols.Array) -> protocols.Array:
                arcs = covering(z, users)
                found: protocols.Array = np.where(inside[users], rng.random(len(users)) * arcs < 1.0, arcs == 0)
                return found

            return protocols.retried(n, point, fits)

        one, size = sp.S.One, self.values.get("D")
        if size is not None:

            def hashed(values: protocols.Array, rng: protocols.Rng) -> protocols.Array:
                points = rng.random((len(values), protocols.whole(size)))
                own = np.take_along_axis(points, values.reshape(len(values), protocols.whole(s)), 1)
                return np.column_stack((points, draw(own, rng)))

            def count(reports: protocols.Array) -> protocols.Array:
                return np.asarray(((reports[:, -1:] - reports[:, :-1]) % 1.0 < protocols.double(p)).sum(axis=0))

            values, reports = protocols.items(size, None if s == 1 else s), protocols.interval(sp.S.Zero, one, size + 1)
            mine = p * t / (s * p * t + 1 - s * p)
            return protocols.supported((mine, p), values, reports, protocols.in_parts(hashed, size + 1), count)
        domains = protocols.interval(sp.S.Zero, one, None if s == 1 else s), protocols.interval(sp.S.Zero, one)
        none = protocols.no_estimate("Wheel without a number of options", "give D=..., how many options there are")
        told: dict[str, Any] = {"label": lambda z: str(int(z * int(p.q))), "shown": self._points}
        return protocols.Protocol(protocols.FREQUENCIES, *domains, draw, none, **told)

    def _points(self) -> dict[str, Any]:
        s, p = int(self["s"]), self["p"]
        found = {f"x{i}": [float((i * s + j) * p) for j in range(s)] for i in range(2)}
        return found if s > 1 else {x: points[0] for x, points in found.items()}

    def table(self) -> FiniteMechanism:
        """Return the mechanism on a ring cut into cells, at all s points (also equal ones) on borders of cells."""
        s, p, t = int(self["s"]), self["p"], sp.exp(self["eps0"])
        cells = int(p.q)
        check_size(subsets(cells + s - 1, s), cells)
        arc = int(p * cells)
        total = s * p * t + 1 - s * p
        starts = {"x0": 0, "x1": s * arc, "x2": 2 * s * arc, "x3": cells - s * arc}
        names = {tuple(sorted((starts[x] + j * arc) % cells for j in range(s))): x for x in self.inputs if x in starts}
        rows = {}
        for points in combinations_with_replacement(range(cells), s):
            covered = {(start + i) % cells for start in points for i in range(arc)}
            high = t / total / cells
            low = (1 - high * len(covered)) / (cells - len(covered))
            rows[names.get(points, f"points {points}")] = {str(z): high if z in covered else low for z in range(cells)}
        return FiniteMechanism(with_average(rows), name=repr(self))


class PCKVGRR(DisjointCover):
    """Sample one of the user's s key-value pairs, out of d keys, round its value to +1 or -1, randomize the pair.

    d counts the dummy keys that pad sets to s pairs. Over the 2d symbols (key, sign) a pair is kept with probability
    a P, its sign flipped with a(1 - P), each symbol of another key sent with (1 - a)/(2(d - 1)), where
    a = (s(t - 1) + 2)/(s(t - 1) + 2d), P = (s(t - 1) + 1)/(s(t - 1) + 2), t = e^eps0: the published choice for GRR.
    Sampling then leaves the symbols of the set with weight t and all others with weight 1.

    Inputs are sets with values in {-1, +1}; a value between mixes two of them, and mixtures are never worse. The pair
    has disjoint sets of symbols (other keys, or the same keys with opposite values; both have the same law), the
    worst case (see DisjointCover).

    >>> PCKVGRR(s=1).blanket().gamma
    2*d/(2*d + exp(eps0) - 1)
    """

    name = "PCKV-GRR"
    slug = "pckv-grr"
    source = "Gu, Li, Cheng, Xiong, Cao 2020"
    small = tuple({"s": s, "d": d, "eps0": "log(3)"} for s, d in ((1, 2), (1, 4), (2, 2), (2, 3), (2, 5), (3, 4)))
    typical = {"s": 4, "d": 64}
    declared = (
        Parameter("s", lower=1, integer=True),
        Parameter("d", lower=sp.Symbol("s", integer=True), integer=True),
        EPS0,
    )
    packs = True

    def __init__(self, *, s: Value = None, d: Value = None, eps0: Value = None) -> None:
        super().__init__(s=s, d=d, eps0=eps0)

    def coverage(self) -> sp.Expr:
        return self["s"] / (2 * self["d"])

    def message_bits(self) -> sp.Expr:
        return sp.log(2 * self["d"], 2)

    def protocol(self) -> protocols.Protocol:
        """Values are rows of s symbols (symbols if s = 1): key for the value +1, key + d for -1.

        A value between is rounded to +1 or -1 first, with its mean kept. Estimated are the shares of users with each
        symbol: that of a key is the sum of its two, the mean of its values their difference over the sum.
        """
        s, d = self["s"], self["d"]

        def label(y: int) -> str:
            return str((y % int(d), 1 if y < d else -1))

        return protocols.sets(
            2 * d, s, sp.S.One, sp.exp(self["eps0"]), label=label, shown=lambda: protocols.two_sets(s)
        )

    def table(self) -> FiniteMechanism:
        """Return the table over the 2d symbols, for all sets of s keys and signs of their values."""
        s, d, t = int(self["s"]), int(self["d"]), sp.exp(self["eps0"])
        check_size(subsets(d, s) * strings(2, s), 2 * d)
        kept = (s * (t - 1) + 2) / (s * (t - 1) + 2 * d)
        right = (s * (t - 1) + 1) / (s * (t - 1) + 2)
        symbols = [(key, sign) for sign in (1, -1) for key in range(d)]

        def chance(sent: tuple[int, int], true: tuple[int, int]) -> sp.Expr:
            if sent[0] != true[0]:
                return (1 - kept) / (2 * (d - 1))
            return kept * (right if sent == true else 1 - right)

        # Blocks of s symbols in this order never repeat a key, as s <= d.
        names = {frozenset(symbols[i * s : (i + 1) * s]): f"x{i}" for i in range(2 * d // s)}
        if s < d < sp.Rational(3, 2) * s:
            names |= {frozenset(symbols[i * d : i * d + 3 * s - 2 * d] + symbols[2 * s :]): f"x{i + 2}" for i in (0, 1)}
        rows = {}
        for keys in combinations(range(d), s):
            for signs in product((1, -1), repeat=s):
                pairs = list(zip(keys, signs, strict=True))
                rows[names.get(frozenset(pairs), str(pairs))] = {
                    str(y): sp.Add(*(chance(y, pair) for pair in pairs)) / s for y in symbols
                }
        return FiniteMechanism(with_average(rows), name=repr(self))
