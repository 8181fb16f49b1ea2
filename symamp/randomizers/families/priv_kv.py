"""PrivKV (Ye, Hu, Meng, Zheng 2019): one sampled key, its presence and its value randomized in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product

import sympy as sp

from symamp.decompositions.decomposition import Component
from symamp.decompositions.pair_groups import PairGroup, listed_group
from symamp.formulas.normal_form import normal
from symamp.formulas.parameter import EPS0, Parameter
from symamp.randomizers.finite import FiniteMechanism, check_size, strings, subsets
from symamp.randomizers.structures.state_channel import StateChannel

_ABSENT, _PLUS, _MINUS = "absent", "+1", "-1"


_MOST_KEYS = 8
"""Up to so many keys a user all pairs of inputs are listed."""


def _group(
    blocks: Mapping[tuple[str, str], int], s: int, d: int, parts: Mapping[tuple[str, ...], tuple[Component, ...]]
) -> PairGroup:
    """Return the group of a pair with so many keys for each two states, and the inputs that stand for all others."""
    equal, opposite = (blocks.get((_PLUS, state), 0) for state in (_PLUS, _MINUS))
    common = f" with {equal} equal and {opposite} opposite keys" if equal + opposite else ""
    pair = "x0", f"x1{common}"

    def law(keys: Iterable[tuple[tuple[str, ...], int]]) -> Iterator[Component]:
        for states, number in keys:
            for r0, r1, mass in parts[states]:
                yield Component(r0, r1, mass * sp.Rational(number, d))

    laws = {}
    for split, size in blocks.items():
        whole = [other for other in blocks if other != split]
        for states in product((_PLUS, _MINUS, _ABSENT), repeat=len(whole)):
            left = s - sum(blocks[b] for b, state in zip(whole, states, strict=True) if state != _ABSENT)
            for value in (_PLUS, _MINUS) if 0 <= left <= size else ():
                keys = {(*b, state): blocks[b] for b, state in zip(whole, states, strict=True)}
                keys |= {(*split, value): left, (*split, _ABSENT): size - left}
                held = {k: number for k, number in keys.items() if number}
                said = ", ".join(
                    f"{n} keys {v} where x0 is {a} and x1 {b}" for (a, b, v), n in held.items() if v != _ABSENT
                )
                laws[said] = list(law(held.items()))
    group = listed_group(pair, laws)
    return replace(group, held=group.held if pair[1] == "x1" else (), listed=False)


class PrivKV(StateChannel):
    """For s of d keys with values in [-1, 1]: draw a key j, perturb its value, then its presence, eps0/2 each.

    Let a = e^(eps0/2). The value of a present key is rounded to +1 or -1 and then flipped with probability 1/(a+1);
    an absent key gets a value drawn uniformly from [-1, 1], treated the same way. Presence is flipped with
    probability 1/(a+1); an absent (or now absent) key is sent as (j, 0), a present one as (j, value).

    The states are absent, +1 and -1: values between mix the last two. All users hold s keys, d >= 2s. The pairs are
    (x0, x1), disjoint sets of keys, and (x0, opposite), the same keys with opposite values; the tool finds which is
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
        {"s": s, "d": d, "eps0": e}
        for s, d, e in (
            (1, 2, "log(9)"),
            (1, 3, "log(9)"),
            (1, 5, "log(4)"),
            (2, 4, "log(9)"),
            (2, 5, "log(25)"),
            (2, 6, "log(9)"),
        )
    )
    typical = {"s": 4, "d": 64}
    declared = (
        Parameter("s", lower=sp.Integer(1), integer=True),
        Parameter("d", lower=2 * sp.Symbol("s", integer=True), integer=True),
        EPS0,
    )

    def __init__(self, *, s: object = None, d: object = None, eps0: object = None) -> None:
        super().__init__(s=s, d=d, eps0=eps0)

    def coordinate_number(self) -> sp.Expr:
        """The number of keys."""
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
        """One group for each number of common keys with equal values and with opposite ones.

        The law of an input is affine in the numbers of keys at which it has a state, block by block of keys at which
        the pair has the same two states: those that fill all blocks but one stand for all.
        """
        s, d = int(self["s"]), int(self["d"])
        if s > _MOST_KEYS:
            return None
        parts = self._contributions()
        groups = []
        for common in range(s + 1):
            for equal in range(min(common, s - 1) + 1):
                blocks = {
                    (_PLUS, _PLUS): equal,
                    (_PLUS, _MINUS): common - equal,
                    (_PLUS, _ABSENT): s - common,
                    (_ABSENT, _PLUS): s - common,
                    (_ABSENT, _ABSENT): d - 2 * s + common,
                }
                groups.append(_group({pair: size for pair, size in blocks.items() if size}, s, d, parts))
        return tuple(groups)

    def _contributions(self) -> dict[tuple[str, ...], tuple[Component, ...]]:
        """Return what a key contributes, d times, at states of x0, x1 and x."""
        channel, found = self.channel(), dict[tuple[str, ...], tuple[Component, ...]]()
        for u, v, x in product(channel, repeat=3):
            row = channel[x]
            ratios = ((channel[u][z] / row[z], channel[v][z] / row[z], row[z]) for z in row)
            found[u, v, x] = tuple(Component(*map(normal, parts)) for parts in ratios)
        return found

    def message_bits(self) -> sp.Expr:
        """Return log2 of the keys, each with one of three values."""
        return sp.log(3 * self["d"], 2)

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
