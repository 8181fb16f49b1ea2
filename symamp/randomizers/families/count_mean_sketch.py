"""Apple's count mean sketches, CMS and HCMS (Differential Privacy Team, Apple 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import sympy as sp

from symamp.decompositions.pair_groups import PairGroup, Pattern, groups_by_share, sketch
from symamp.decompositions.randomizer import Orbit
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.randomizers.families.hadamard import sylvester
from symamp.randomizers.family import Family
from symamp.randomizers.finite import FiniteMechanism, check_size, strings
from symamp.randomizers.protocols import Protocol, bits, first_two, signs, with_key
from symamp.randomizers.structures import Letter, OneHot


class CountMeanSketch(OneHot):
    """Draw j uniformly from k public hash functions h_j into [m] and send j with a noisy one-hot vector.

    The vector in {-1, 1}^m is +1 at h_j(x) and -1 elsewhere; each of its entries is flipped with probability 1/(s+1),
    s = e^(eps0/2).

    What is described: every h_j is onto [m], and the inputs x0, x1, ... collide under none of the k hash functions.
    That is the worst case. Values that no input hashes to can only raise the infimum over inputs. And for a pair of
    inputs that collides under some h_j, messages with that j have G = (1 - e^eps) r0, whereas without the collision
    G = r0 - e^eps r1 with (r0, r1) exchangeable and r0 of the same law: {u - e^eps v, v - e^eps u} majorizes
    {(1 - e^eps) u, (1 - e^eps) v}, hence G without the collision is larger in convex order, for every n.

    >>> CountMeanSketch(k=5).blanket() == CountMeanSketch(k=1).blanket()
    True
    """

    name = "count mean sketch (CMS)"
    exponents = ("m",)
    slug = "cms"
    source = "Differential Privacy Team, Apple 2017"
    lists_all_inputs = False  # inputs that collide under some hash function are not shown
    small = tuple({"k": k, "m": m, "eps0": "log(9)"} for k, m in ((1, 2), (2, 2), (1, 3), (2, 3), (3, 4), (2, 5)))
    typical = {"k": 1024, "m": 64}
    declared = (Parameter("k", lower=1, integer=True), Parameter("m", lower=2, integer=True), EPS0)
    size = "m"

    def __init__(self, *, k: Value = None, m: Value = None, eps0: Value = None) -> None:
        super().__init__(k=k, m=m, eps0=eps0)

    def letters(self) -> tuple[Letter, ...]:
        """An entry is -1 or +1; under every h_j the inputs have coordinates of their own, so j can be left out."""
        s = sp.exp(self["eps0"] / 2)
        return Letter("-", 1 / (s + 1), s / (s + 1)), Letter("+", s / (s + 1), 1 / (s + 1))

    def pair_groups(self) -> tuple[PairGroup, ...]:
        """Under a hash function a third input has the bit of x0, that of x1, or one that is independent of both."""
        zero, c = sp.Integer(0), 1 / (sp.exp(self["eps0"] / 2) + 1)
        p = c * (1 - c)
        third = Pattern(p, c * p, c * p, c * p, p * (1 - c))
        base = Pattern(p, p, zero, zero, zero), Pattern(p, zero, p, zero, zero), third
        return groups_by_share(sp.exp(self["eps0"]), c, p, sketch(base))

    def message_bits(self) -> sp.Expr:
        return self["m"] + sp.log(self["k"], 2)

    def protocol(self) -> Protocol:
        """Values are items v with h_j(v) = v for all j, reports are j and the bits, 0 for -1 and 1 for +1."""
        s = sp.exp(self["eps0"] / 2)

        def label(report: Sequence[int]) -> str:
            return f"{report[0]}{tuple(2 * bit - 1 for bit in report[1:])}"

        sent = bits(self["m"], s / (s + 1), 1 / (s + 1), label=label, shown=first_two)
        return with_key(sent, self["k"])

    def table(self) -> FiniteMechanism:
        """Return the table for inputs (a, c), c = 0 or 1, and h_j(a, c) = a + c*j mod m; input x_a is (a, 0)."""
        k, m, s = int(self["k"]), int(self["m"]), sp.exp(self["eps0"] / 2)
        check_size(2 * m, k * strings(2, m))
        stays, flips = s / (s + 1), 1 / (s + 1)
        rows = {}
        for c, a in product((0, 1), range(m)):
            row = {}
            for j in range(k):
                vector = [1 if i == (a + c * j) % m else -1 for i in range(m)]
                for sent in product((-1, 1), repeat=m):
                    agree = sum(u == v for u, v in zip(vector, sent, strict=True))
                    row[f"{j}{sent}"] = stays**agree * flips ** (m - agree) / k
            rows[f"{'z' if c else 'x'}{a}"] = row
        return FiniteMechanism(rows, name=repr(self))


class HadamardCountMeanSketch(Family):
    """Draw j uniformly from k public hash functions h_j into [m], and l from [m]; send (j, l) with one noisy sign.

    The sign is H[h_j(x), l], H the m by m Sylvester Hadamard matrix (m a power of two; a symbol stands for one),
    flipped with probability 1/(t+1), t = e^eps0. At l = 0 all rows agree, so these messages say nothing of the input.

    As for CMS, every h_j is onto [m] and the inputs x0, x1, ... collide under none of the hash functions. That is the
    worst case, by the proof given there: (r0, r1) is exchangeable under the blanket here, too.

    >>> HadamardCountMeanSketch(m=4, eps0="log(3)").blanket().gamma
    5/8
    """

    name = "Hadamard count mean sketch (HCMS)"
    slug = "hcms"
    source = "Differential Privacy Team, Apple 2017"
    lists_all_inputs = False  # inputs that collide under some hash function are not shown
    small = tuple({"k": k, "m": m, "eps0": "log(3)"} for k, m in ((1, 2), (2, 2), (1, 4), (3, 4), (2, 8), (3, 8)))
    typical = {"k": 65536, "m": 1024}
    declared = (
        Parameter("k", lower=1, integer=True),
        Parameter("m", lower=2, integer=True, predicate="a power of two"),
        EPS0,
    )

    def __init__(self, *, k: Value = None, m: Value = None, eps0: Value = None) -> None:
        super().__init__(k=k, m=m, eps0=eps0)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Up to three inputs without collisions; any three rows have the same joint law, four need not."""
        return ("x0", "x1", "x2") if self.count("m") >= 3 else ("x0", "x1")

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """The pair and a third input: collisions make no transform larger (docs/proofs/envelope.md, section 4)."""
        return (*pair, *self.further_inputs(pair))

    def pair_groups(self) -> tuple[PairGroup, ...]:
        """Under a hash function a third input has the row of x0, that of x1, or one that is independent of both."""
        zero, p, half = sp.Integer(0), sp.Rational(1, 4), sp.Rational(1, 8)
        base = Pattern(p, p, zero, zero, zero), Pattern(p, zero, p, zero, zero), Pattern(p, half, half, half, half)
        return groups_by_share(sp.exp(self["eps0"]), sp.Rational(1, 2), p, sketch(base))

    def orbits(self, distinguished: tuple[str, ...]) -> tuple[Orbit, ...]:
        """Which inputs' entries the sign agrees with; the reference measure is uniform on the messages (j, l, sign).

        Where column l agrees on three rows or fewer is decided by the sums over GF(2) of the first with the others,
        which are independent: all patterns are equally frequent, under every h_j. l = 0 is one of the columns on which
        all agree; on every other column half of the rows are -1.
        """
        t = sp.exp(self["eps0"])
        high, low = 2 * t / (t + 1), 2 / (t + 1)
        found = []
        for agrees in product((True, False), repeat=len(distinguished)):
            density = tuple(high if a else low for a in agrees)
            label = f"sign {''.join('=' if a else '!' for a in agrees)}"
            share = sp.Rational(1, 2 ** len(agrees))
            seen: tuple[tuple[sp.Expr, sp.Expr | None], ...] = ((high, None), (low, None))
            if len(set(agrees)) == 1:
                constant = 1 / (2 * self["m"])
                found.append(Orbit(f"l = 0, {label}", constant, density, ((density[0], None),)))
                share -= constant
                # Some further input is hashed to a row on which column l has the other sign.
                seen = (((low if agrees[0] else high), sp.Integer(1)), *seen)
            if share != 0:
                found.append(Orbit(label, share, density, seen))
        return tuple(found)

    def message_bits(self) -> sp.Expr:
        return sp.log(2 * self["k"] * self["m"], 2)

    def protocol(self) -> Protocol:
        """Values are items v with h_j(v) = v + j mod m, reports are j, l and the sign."""

        def label(report: Sequence[int]) -> str:
            return "{},{},{}".format(*report)

        return signs(self["m"], self["k"], sp.exp(self["eps0"]), label=label, shown=first_two)

    def table(self) -> FiniteMechanism:
        """Return the table for inputs (a, c), c = 0 or 1, and h_j(a, c) = a + (c + 1)*j mod m; input x_a is (a, 0)."""
        k, m, t = int(self["k"]), int(self["m"]), sp.exp(self["eps0"])
        check_size(2 * m, 2 * k * m)
        matrix = sylvester(m)
        rows = {}
        for c, a in product((0, 1), range(m)):
            row = {}
            for j, column, sign in product(range(k), range(m), (1, -1)):
                kept = sign == matrix[(a + (c + 1) * j) % m][column]
                row[f"{j},{column},{sign}"] = (t if kept else 1) / (t + 1) / (k * m)
            rows[f"{'z' if c else 'x'}{a}"] = row
        return FiniteMechanism(rows, name=repr(self))
