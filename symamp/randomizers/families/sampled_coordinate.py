"""One sampled coordinate through a channel: Harmony and PrivKV."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import sympy as sp

from symamp.decompositions.decomposition import Component
from symamp.decompositions.pair_groups import PairGroup, antipodal_groups, listed_group
from symamp.decompositions.randomizer import Orbit
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.rationals import rational_of
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism, check_size, strings, subsets
from symamp.randomizers.protocols import FREQUENCIES, VECTOR, Array, Domain, Protocol, Rng, double, interval, whole


class StateChannel(Family):
    """A family whose message is (j, z): j uniform over the coordinates, z from P(z | state of coordinate j).

    Inputs are vectors of states. Distinguished ones are described by their joint counts: how many coordinates have
    which combination of states. Every state occurs at every coordinate for some input, so the infimum over inputs is
    that over states, coordinate by coordinate.

    The component law of a pair is the sum, over coordinates, of what the two states contribute. Two identities order
    the pairs, for every E >= 0 and so for every number of users. With r the ratios to the infimum, u and v states:
    (u, u) and (v, v) at two coordinates together are below (u, v) and (v, u), because r_u - E r_v and r_v - E r_u
    is a mean-preserving spread of (1 - E) r_u and (1 - E) r_v. And a contribution is convex in the two channel rows,
    so that states which mix others never make a worse pair.
    """

    _internal_names = "channel coordinate_number joint_counts"

    lists_all_inputs = False  # vectors that mix states otherwise are not shown

    @abstractmethod
    def coordinate_number(self) -> sp.Expr:
        """Return the number of coordinates."""

    @abstractmethod
    def channel(self) -> Mapping[str, Mapping[str, sp.Expr]]:
        """Return P(z | state) as {state: {z: probability}}."""

    @abstractmethod
    def joint_counts(self) -> tuple[tuple[sp.Expr, Mapping[str, str]], ...]:
        """Return (number of coordinates, {input: its state there}), which together make up all coordinates."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(self.joint_counts()[0][1])

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """One orbit for each combination of states and each z."""
        d, channel = self.coordinate_number(), self.channel()
        numbers: dict[tuple[str, ...], sp.Expr] = {}
        for number, states in self.joint_counts():
            seen = tuple(states[x] for x in distinguished)
            numbers[seen] = numbers.get(seen, sp.Integer(0)) + number
        return tuple(
            Orbit(
                f"z = {z} at a coordinate with states {', '.join(seen)}",
                number,
                tuple(channel[state][z] / d for state in seen),
                tuple((row[z] / d, None if state in seen else sp.Integer(1)) for state, row in channel.items()),
            )
            for seen, number in numbers.items()
            if number != 0
            for z in channel[seen[0]]
        )


class Harmony(StateChannel):
    """For x in [-1, 1]^d draw a coordinate j, send (j, +) with probability 1/2 + x_j (t-1)/(2(t+1)), t = e^eps0.

    The states are the values +1, 0, -1 of a coordinate. The pair is opposite at every coordinate. It is worst for
    every number of users: the channel is linear in x_j, so extreme values are, and equal signs are below opposite
    ones (see StateChannel; + and - are mirror images). Of the other users ``origin`` holds the zero vector.

    >>> Harmony(d=3).blanket().gamma
    2/(exp(eps0) + 1)
    """

    name = "Harmony"
    slug = "harmony"
    source = "Nguyen, Xiao, Yang, Hui, Shin, Shin 2016"
    small = tuple({"d": d, "eps0": f"log({e})"} for d, e in ((1, 3), (2, 3), (3, 2), (4, 3), (5, 5)))
    typical = {"d": 16}
    declared = (Parameter("d", lower=1, integer=True), EPS0)

    def __init__(self, *, d: Value = None, eps0: Value = None) -> None:
        super().__init__(d=d, eps0=eps0)

    def coordinate_number(self) -> sp.Expr:
        return self["d"]

    def channel(self) -> Mapping[str, Mapping[str, sp.Expr]]:
        """Binary randomized response, and a fair coin for 0."""
        t, half = sp.exp(self["eps0"]), sp.Rational(1, 2)
        return {
            "+1": {"+": t / (t + 1), "-": 1 / (t + 1)},
            "-1": {"+": 1 / (t + 1), "-": t / (t + 1)},
            "0": {"+": half, "-": half},
        }

    def joint_counts(self) -> tuple[tuple[sp.Expr, Mapping[str, str]], ...]:
        return ((self["d"], {"x0": "+1", "x1": "-1", "origin": "0"}),)

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """The opposite pair alone: corners have two levels, none are further apart, and other inputs mix corners.

        Proof: docs/proofs/envelope.md, section 4.
        """
        return pair if set(pair) == {"x0", "x1"} else None

    def pair_groups(self) -> tuple[PairGroup, ...]:
        """A sign turned at all coordinates maps the messages that belong to a corner to those that do not."""
        d = self["d"]
        shares = [sp.Rational(k, 2 * d) for k in range(int(d), 0, -1)] if d.is_Integer else []
        return antipodal_groups(sp.exp(self["eps0"]), shares)

    def message_bits(self) -> sp.Expr:
        return sp.log(2 * self["d"], 2)

    def protocol(self) -> Protocol:
        """Values are rows of d numbers in [-1, 1], reports are j and the sign."""
        d, one, t = self["d"], sp.S.One, sp.exp(self["eps0"])
        scale = d * (t + 1) / (t - 1)

        def draw(values: Array, rng: Rng) -> Array:
            n = len(values)
            place = rng.integers(whole(d), size=n)
            chance = 0.5 + values[np.arange(n), place] * double((t - 1) / (2 * (t + 1)))
            return np.column_stack((place, np.where(rng.random(n) < chance, 1, -1)))

        def estimated(reports: Array) -> Array:
            sums = np.bincount(reports[:, 0], weights=reports[:, 1], minlength=whole(d))
            return np.asarray(sums * (double(scale) / len(reports)))

        largest, label = normal(scale**2 / d), lambda report: f"{report[0]}{'+' if report[1] > 0 else '-'}"
        vectors, reports = interval(-one, one, d), Domain(-one, sp.Max(1, d - 1), sp.Integer(2))

        def shown() -> dict[str, list[int]]:
            return {"x0": [1] * int(d), "x1": [-1] * int(d)}

        return Protocol(VECTOR, vectors, reports, draw, estimated, largest, largest, label, shown)

    def table(self) -> FiniteMechanism:
        """Return the table over (j, sign) for all inputs in {-1, 0, 1}^d."""
        d, t = int(self["d"]), sp.exp(self["eps0"])
        check_size(strings(3, d), 2 * d)
        names = {(1,) * d: "x0", (-1,) * d: "x1", (0,) * d: "origin"}
        rows = {
            names.get(x, str(x)): {
                f"{j}{'+' if sign > 0 else '-'}": (sign * v * (t - 1) + t + 1) / (2 * t + 2) / d
                for j, v in enumerate(x)
                for sign in (1, -1)
            }
            for x in product((1, 0, -1), repeat=d)
        }
        return FiniteMechanism(rows, name=repr(self))


# -------------------- PrivKV (Ye, Hu, Meng, Zheng 2019): one sampled key, its presence and its value randomized in turn

_ABSENT, _PLUS, _MINUS = "absent", "+1", "-1"


_MOST_LISTED = 4
"""The most keys a user for which each number of common keys is a case; with more, cells are: wider, and faster."""
_States = tuple[str, str, str]
_Blocks = Mapping[tuple[tuple[str, str], ...], Fraction]
"""Keys by the states of x0 and x1: how many are in one of several."""


def _corners(blocks: _Blocks, s: int) -> Iterator[dict[_States, Fraction]]:
    """Yield how many keys have which states of (x0, x1, x), for x that stand for all: one block at most is parted."""
    absent, present = (
        [[(*pair, x) for pair in block for x in states if (*pair, x) != (_ABSENT, _ABSENT, _MINUS)] for block in blocks]
        for states in ((_ABSENT,), (_PLUS, _MINUS))
    )
    sizes = list(blocks.values())
    for parted, size in enumerate(sizes):
        others = [[(x, sizes[i]) for x in absent[i] + present[i]] for i in range(len(sizes)) if i != parted]
        for chosen in product(*others):
            left = Fraction(s) - sum(number for states, number in chosen if states[2] != _ABSENT)
            if 0 <= left <= size:
                for held, missing in product(present[parted], absent[parted]):
                    found = dict([*chosen, (held, left), (missing, size - left)])
                    yield {states: number for states, number in found.items() if number}


def _said(keys: Mapping[_States, Fraction]) -> str:
    """Return what x holds."""
    return ", ".join(f"{n} keys {v} where x0 is {a} and x1 {b}" for (a, b, v), n in keys.items() if v != _ABSENT)


class PrivKV(StateChannel):
    """For s of d keys with values in [-1, 1]: draw a key j, perturb its value, then its presence, eps0/2 each.

    Let a = e^(eps0/2). The value of a present key is rounded to +1 or -1 and then flipped with probability 1/(a+1);
    an absent key gets a value drawn uniformly from [-1, 1], treated the same way. Presence is flipped with
    probability 1/(a+1); an absent (or now absent) key is sent as (j, 0), a present one as (j, value).

    The states are absent, +1 and -1: values between mix the last two. All users hold s keys, d >= 2s. The pairs are
    (x0, x1), disjoint sets of keys, and (x0, opposite), the same keys with opposite values; symamp finds which is
    worse. Between them: a common key with equal values is below two keys of one user each (see StateChannel), and so
    is a common key with opposite values together with a key absent twice, because on the messages (j, +) and (j, -)
    no state has a smaller probability than absent, ratio 1, so that ``r_+ - E, 1 - E r_-`` is a mean-preserving spread
    of ``r_+ - E r_-, 1 - E``. Hence disjoint sets are worst for every number of users.

    >>> PrivKV().blanket("x0", "x1").gamma
    2/(exp(eps0/2) + 1)
    """

    name = "PrivKV, equal split"
    slug = "priv-kv"
    source = "Ye, Hu, Meng, Zheng 2019"
    small = tuple(
        {"s": s, "d": d, "eps0": f"log({e})"}
        for s, d, e in ((1, 2, 9), (1, 3, 9), (1, 5, 4), (2, 4, 9), (2, 5, 25), (2, 6, 9))
    )
    typical = {"s": 4, "d": 64}
    declared = (
        Parameter("s", lower=1, integer=True),
        Parameter("d", lower=2 * sp.Symbol("s", integer=True), integer=True),
        EPS0,
    )

    def __init__(self, *, s: Value = None, d: Value = None, eps0: Value = None) -> None:
        super().__init__(s=s, d=d, eps0=eps0)

    def coordinate_number(self) -> sp.Expr:
        return self["d"]

    def channel(self) -> Mapping[str, Mapping[str, sp.Expr]]:
        """Presence and value, each through binary randomized response."""
        a = sp.exp(self["eps0"] / 2)
        keep, flip = a / (a + 1), 1 / (a + 1)
        return {
            _ABSENT: {"0": keep, "+": flip / 2, "-": flip / 2},
            _PLUS: {"0": flip, "+": keep * keep, "-": keep * flip},
            _MINUS: {"0": flip, "+": keep * flip, "-": keep * keep},
        }

    def joint_counts(self) -> tuple[tuple[sp.Expr, Mapping[str, str]], ...]:
        """x0 and x1 have s keys each, opposite and opposite1 the same with other values, x2 s more if so many exist."""
        s, d = self["s"], self["d"]
        sets = (("x0", _PLUS), ("opposite", _MINUS)), (("x1", _PLUS), ("opposite1", _MINUS)), (("x2", _PLUS),)
        shown = sets if d.is_Integer and s.is_Integer and d >= 3 * s else sets[:2]
        absent = {x: _ABSENT for some in shown for x, _ in some}
        return (*((s, absent | dict(some)) for some in shown), (d - len(shown) * s, absent))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Disjoint sets of keys, and the same keys with opposite values."""
        return ("x0", "x1"), ("x0", "opposite")

    def pair_groups(self) -> tuple[PairGroup, ...] | None:
        """Groups by the numbers of common keys, with equal and with opposite values; in cells where these are many.

        The law of an input is affine in the numbers of keys with given states of the pair and of the input.
        """
        s, d = int(self["s"]), int(self["d"])
        parts, one, equal, opposite = self._contributions(), Fraction(1), (_PLUS, _PLUS), (_PLUS, _MINUS)

        def law(keys: Mapping[_States, Fraction]) -> list[Component]:
            shares = {states: rational_of(Fraction(number, d)) for states, number in keys.items()}
            return [Component(r0, r1, m * shares[states]) for states in keys for r0, r1, m in parts[states]]

        def blocks(shared: _Blocks) -> _Blocks:
            c = Fraction(sum(shared.values()))
            own: _Blocks = {
                ((_PLUS, _ABSENT),): s - c,
                ((_ABSENT, _PLUS),): s - c,
                ((_ABSENT, _ABSENT),): d - 2 * s + c,
            }
            return {block: size for block, size in {**shared, **own}.items() if size}

        def group(name: str, corners: Iterable[_Blocks], said: Callable[[Any], str] = str) -> PairGroup:
            some = {frozenset(keys.items()): keys for found in corners for keys in _corners(found, s)}
            return replace(listed_group(("x0", name), {said(x): law(x) for x in some.values()}), listed=False)

        first = group("x1", [blocks({})], _said)
        cells: Iterable[tuple[Fraction, ...]] = ((one * c,) for c in range(1, s + 1))
        if s > _MOST_LISTED:  # where the numbers of present keys of some blocks sum to s, vertices change
            ends = {one, *(one * x for x in (s, 3 * s - d)), Fraction(s, 2), Fraction(3 * s - d, 2)}
            cells = pairwise(sorted(x for x in ends if 1 <= x <= s))
        others = (
            group(f"x1 with {' to '.join(map(str, cell))} common keys", [blocks({(equal, opposite): c}) for c in cell])
            for cell in cells
        )
        return (first, *(replace(found, held=()) for found in others))

    def _contributions(self) -> dict[_States, tuple[Component, ...]]:
        """Return what a key contributes, d times, at states of x0, x1 and x."""
        channel, found = self.channel(), dict[_States, tuple[Component, ...]]()
        for u, v, x in product(channel, repeat=3):
            row = channel[x]
            ratios = ((channel[u][z] / row[z], channel[v][z] / row[z], row[z]) for z in row)
            found[u, v, x] = tuple(Component(*map(normal, parts)) for parts in ratios)
        return found

    def message_bits(self) -> sp.Expr:
        return sp.log(3 * self["d"], 2)

    def protocol(self) -> Protocol:
        """Values are rows of d numbers: 0 for an absent key, +1 or -1 for the value of a present one.

        A value between is rounded to +1 or -1 first, with its mean kept. Reports are j and 0, +1 or -1. Estimated are
        the shares of users with each key and value, those with +1 at the d keys and then those with -1: that of a key
        is the sum of its two, the mean of its values their difference over the sum.
        """
        d = self["d"]
        rows = [[row[z] for z in "0+-"] for row in (self.channel()[x] for x in (_ABSENT, _PLUS, _MINUS))]
        # Scores of the answers 0, + and - for the value +1: of mean 1 where it is held, 0 where not.
        plus = [normal(x) for x in sp.Matrix(rows).LUsolve(sp.Matrix([0, 1, 0]))]
        absent, own, minus = (normal(d * sum(p * x**2 for p, x in zip(row, plus, strict=True))) for row in rows)

        def shown() -> dict[str, list[int]]:
            numbers, counts = {_ABSENT: 0, _PLUS: 1, _MINUS: -1}, self.joint_counts()
            return {x: [numbers[held[x]] for number, held in counts for _ in range(int(number))] for x in self.inputs}

        def draw(values: Array, rng: Rng) -> Array:
            n = len(values)
            place = rng.integers(whole(d), size=n)
            sums = np.cumsum([[double(p) for p in row] for row in rows], axis=1)
            answer = (rng.random((n, 1)) >= sums[values[np.arange(n), place], :2]).sum(axis=1)
            return np.column_stack((place, np.array((0, 1, -1))[answer]))

        def estimated(reports: Array) -> Array:
            counts = np.zeros((3, whole(d)))
            np.add.at(counts, (reports[:, 1], reports[:, 0]), 1.0)
            scores = np.array([double(score) for score in plus])
            plain, signed = scores @ counts, scores[[0, 2, 1]] @ counts
            return np.asarray(np.concatenate((plain, signed)) * (double(d) / len(reports)))

        domains = Domain(-sp.S.One, sp.S.One, d), Domain(-sp.S.One, sp.Max(1, d - 1), sp.Integer(2))
        variances, label = (normal(own - 1), sp.Max(absent, minus)), lambda y: f"{y[0]}{'0+-'[y[1]]}"
        return Protocol(FREQUENCIES, *domains, draw, estimated, *variances, label, shown)

    def table(self) -> FiniteMechanism:
        """Return the table over (j, 0), (j, +), (j, -) for all sets of s keys with values in {-1, 1}."""
        s, d, a = int(self["s"]), int(self["d"]), sp.exp(self["eps0"] / 2)
        check_size(subsets(d, s) * strings(2, s), 3 * d)
        keep = a / (a + 1)

        def plus(value: sp.Expr) -> sp.Expr:
            """The chance that a value is sent as +1; linear, so a uniform value counts as its mean."""
            rounded = (1 + value) / 2
            return rounded * keep + (1 - rounded) * (1 - keep)

        def key(value: int | None) -> dict[str, sp.Expr]:
            present = 1 - keep if value is None else keep
            up = plus(sp.Integer(value or 0))
            return {"0": 1 - present, "+": present * up, "-": present * (1 - up)}

        names = {
            (tuple(range(s)), (1,) * s): "x0",
            (tuple(range(s, 2 * s)), (1,) * s): "x1",
            (tuple(range(s)), (-1,) * s): "opposite",
            (tuple(range(s, 2 * s)), (-1,) * s): "opposite1",
            (tuple(range(2 * s, 3 * s)), (1,) * s): "x2",
        }
        rows = {}
        for keys in combinations(range(d), s):
            for values in product((1, -1), repeat=s):
                held = dict(zip(keys, values, strict=True))
                rows[names.get((keys, values), str(held))] = {
                    f"{j}{z}": chance / d for j in range(d) for z, chance in key(held.get(j)).items()
                }
        return FiniteMechanism(rows, name=repr(self))
