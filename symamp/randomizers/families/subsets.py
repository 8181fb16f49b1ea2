"""A random subset of the options: subset selection, and the k-subset exponential mechanism for sets."""

from __future__ import annotations

from functools import partial
from itertools import combinations, product
from math import comb

import sympy as sp

from symamp.decompositions.pair_groups import PairGroup, Pattern, by_excess, free_sets_groups, of_patterns
from symamp.formulas.parameter import EPS0, Parameter, Value
from symamp.numbers.unevaluated import binomial
from symamp.randomizers.finite import FiniteMechanism, check_size, subsets
from symamp.randomizers.mechanism import Utility
from symamp.randomizers.protocols import Protocol, as_set, first_two, sets, two_sets
from symamp.randomizers.structures import ExchangeableSets, Share


class SubsetSelection(ExchangeableSets):
    """Send a k-subset y of the d inputs, with weight t = e^eps0 if it contains the input and 1 if not.

    >>> SubsetSelection(k=1).blanket().gamma
    d/(d + exp(eps0) - 1)
    """

    name = "subset selection"
    slug = "subset-selection"
    source = "Ye, Barg 2018"
    small = tuple({"d": d, "k": k, "eps0": "log(3)"} for d, k in ((2, 1), (3, 1), (4, 2), (5, 2), (5, 4), (6, 3)))
    typical = {"d": 16, "k": 4}
    declared = (
        Parameter("d", lower=2, integer=True),
        Parameter("k", lower=1, upper=sp.Symbol("d", integer=True) - 1, integer=True),
        EPS0,
    )
    size = "d"

    def __init__(self, *, d: Value = None, k: Value = None, eps0: Value = None) -> None:
        super().__init__(d=d, k=k, eps0=eps0)

    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        """The reference measure is the uniform law of a k-subset."""
        d, k, t = self["d"], self["k"], sp.exp(self["eps0"])
        return t * d / (t * k + d - k), d / (t * k + d - k)

    def shares(self, inside: int, outside: int) -> tuple[Share, ...]:
        """A uniform k-subset contains ``inside`` given inputs and misses ``outside`` others."""
        d, k = self["d"], self["k"]
        contains = sp.Mul(*(k - i for i in range(inside)))
        misses = sp.Mul(*(d - k - i for i in range(outside)))
        orders = sp.Mul(*(d - i for i in range(inside + outside)))
        return (Share("", contains * misses / orders, k - inside, d - k - outside),)

    def message_bits(self) -> sp.Expr:
        return sp.log(sp.binomial(self["d"], self["k"]), 2)

    def protocol(self) -> Protocol:
        """Reports are the k items that are sent, an item itself if k = 1."""
        return sets(self["d"], sp.S.One, self["k"], sp.exp(self["eps0"]), label=as_set, shown=first_two)

    def table(self) -> FiniteMechanism:
        d, k, t = int(self["d"]), int(self["k"]), sp.exp(self["eps0"])
        check_size(d, subsets(d, k))
        messages = list(combinations(range(d), k))
        weights = {x: [t if x in y else sp.Integer(1) for y in messages] for x in range(d)}
        return FiniteMechanism(
            {
                f"x{x}": {str(y): w / sp.Add(*row) for y, w in zip(messages, row, strict=True)}
                for x, row in weights.items()
            },
            name=repr(self),
        )


# ------- PrivSet (Wang, Huang, Nie, Wang, Xu, Yang 2018): the exponential mechanism over k-subsets, for sets of s items

_S, _D = sp.Symbol("s", integer=True), sp.Symbol("d", integer=True)


_MOST_LISTED = 12
"""Up to so many items all types of third inputs are listed."""
_MOST_TYPES = 40
"""Of more types of third inputs, where sets overlap, few laws are a bound: a longer list is nearer and slower."""


def _missed(d: int, k: int, items: int) -> sp.Rational:
    """Return the chance that a uniform k-subset of d options avoids so many items."""
    return sp.Rational(comb(d - items, k), comb(d, k)) if items <= d else sp.Integer(0)


def _patterns(s: int, d: int, k: int, common: int) -> dict[Pattern, str]:
    """Return the patterns of all inputs at a pair with so many common items, and an input that has each."""
    miss = partial(_missed, d, k)
    union, found = 2 * s - common, dict[Pattern, str]()
    for i0, i1, both in product(range(s - common + 1), range(s - common + 1), range(common + 1)):
        rest = s - i0 - i1 - both  # items of x that are in neither set
        if 0 <= rest <= d - union:
            without0, without1, whole = miss(2 * s - i0 - both), miss(2 * s - i1 - both), miss(union + rest)
            p = miss(s) - miss(union)
            a, b = p - without1 + whole, p - without0 + whole
            pattern = Pattern(p, a, b, miss(s) - without0 - without1 + whole, miss(union) - whole)
            found.setdefault(pattern, f"{i0 + both} items of x0, {i1 + both} of x1, {rest} others")
    return found


class SubsetExponential(ExchangeableSets):
    """Send a k-subset y of d options, with weight t = e^eps0 if it meets the user's set x of s options, 1 if not.

    Inputs are s-subsets; d counts the options that pad sets to s, and d >= 2s, k <= d - s (with more, every y meets
    every x). The distinguished inputs are disjoint. A disjoint pair is worst for every number of users: the measure
    of the y that meet both is least when the union is largest, and y that meet both or none make components (t, t)
    and (1, 1) in equal numbers, of which (t, 1) and (1, t) are a mean-preserving spread (convex order).

    >>> SubsetExponential(s=1, k=1).blanket().gamma
    d/(d + exp(eps0) - 1)
    """

    name = "k-subset exponential"
    slug = "subset-exponential"
    source = "Wang, Huang, Nie, Wang, Xu, Yang 2018"
    small = tuple(
        {"s": s, "d": d, "k": k, "eps0": "log(3)"}
        for s, d, k in ((1, 4, 2), (2, 4, 1), (2, 4, 2), (2, 5, 3), (2, 6, 2), (2, 7, 3), (3, 6, 2))
    )
    typical = {"s": 2, "d": 16, "k": 4}
    declared = (
        Parameter("s", lower=1, integer=True),
        Parameter("d", lower=2 * _S, integer=True),
        Parameter("k", lower=1, upper=_D - _S, integer=True),
        EPS0,
    )
    lists_all_inputs = False  # sets that overlap are not shown
    size = "d"

    def __init__(self, *, s: Value = None, d: Value = None, k: Value = None, eps0: Value = None) -> None:
        super().__init__(s=s, d=d, k=k, eps0=eps0)

    @property
    def inputs(self) -> tuple[str, ...]:
        """As many disjoint s-sets as surely fit into d options, at most three."""
        fit = self["d"] / self["s"]
        return tuple(f"x{i}" for i in range(min(int(fit), 3) if fit.is_Rational else 2))

    def covering_inputs(self, pair: tuple[str, str]) -> tuple[str, ...] | None:
        """The disjoint pair alone: there are two levels, and no inputs are further apart.

        Proof: docs/proofs/envelope.md, section 4.
        """
        return pair

    def pair_groups(self) -> tuple[PairGroup, ...]:
        """One group for each number of common items: all types of third inputs, or a bound of many."""
        s, d, k, t = int(self["s"]), int(self["d"]), int(self["k"]), self.levels()[0]
        c = 1 - _missed(d, k, s)
        if s > _MOST_LISTED:
            return free_sets_groups(t, c)
        patterns = [_patterns(s, d, k, common) for common in range(s)]
        groups = [of_patterns(t, c, list(patterns[0]), names=patterns[0])]
        for common, found in enumerate(patterns[1:], 1):
            few = (
                list(found)
                if len(found) <= _MOST_TYPES
                else by_excess(c, max(v.h - v.F for v in found))(next(iter(found)).p)
            )
            groups.append(of_patterns(t, c, few, (f"a set with {common} items", "of the other one")))
        return tuple(groups)

    def support_probabilities(self) -> tuple[sp.Expr, sp.Expr]:
        """Refuse: inputs are sets, which may overlap."""
        return Utility.support_probabilities(self)

    def levels(self) -> tuple[sp.Expr, sp.Expr]:
        """The reference measure is the law of a message that misses all sets: weight 1 over the total weight."""
        return sp.exp(self["eps0"]), sp.Integer(1)

    def shares(self, inside: int, outside: int) -> tuple[Share, ...]:
        """A uniform k-subset meets ``inside`` given disjoint sets and misses ``outside`` others: sieve."""
        d, s, k, t = self["d"], self["s"], self["k"], sp.exp(self["eps0"])
        chance = sp.Add(*((-1) ** i * binomial(inside, i) * self._miss(outside + i) for i in range(inside + 1)))
        total = t * (1 - self._miss(1)) + self._miss(1)
        missing = binomial(d - k, s)
        return (Share("", chance / total, binomial(d, s) - missing - inside, missing - outside),)

    def _miss(self, sets: int) -> sp.Expr:
        """The chance that a uniform k-subset avoids so many disjoint s-sets."""
        d, s, k = self["d"], self["s"], self["k"]
        return binomial(d - sets * s, k) / binomial(d, k)

    def message_bits(self) -> sp.Expr:
        return sp.log(sp.binomial(self["d"], self["k"]), 2)

    def protocol(self) -> Protocol:
        """Values are rows of s items (items if s = 1), reports are the k items that are sent; estimated are items."""
        s = self["s"]
        return sets(self["d"], s, self["k"], sp.exp(self["eps0"]), label=as_set, shown=lambda: two_sets(s))

    def table(self) -> FiniteMechanism:
        s, d, k, t = int(self["s"]), int(self["d"]), int(self["k"]), sp.exp(self["eps0"])
        check_size(subsets(d, s), subsets(d, k))
        messages = list(combinations(range(d), k))
        names = {tuple(range(i * s, (i + 1) * s)): f"x{i}" for i in range(d // s)}
        rows = {}
        for x in combinations(range(d), s):
            weights = {str(y): t if set(x) & set(y) else sp.Integer(1) for y in messages}
            total = sp.Add(*weights.values())
            rows[names.get(x, f"set {x}")] = {y: w / total for y, w in weights.items()}
        return FiniteMechanism(rows, name=repr(self))
