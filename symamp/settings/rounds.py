"""Many rounds as a setting, each in words with its number of repetitions; and a sample of people in a round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import sympy as sp

from symamp.bounds.bound import Bound, MaxOverPairs
from symamp.bounds.hypotheses import ANY_TWO, ONE_RANDOMIZER, Theorem
from symamp.bounds.reduction import Reduction, is_triple
from symamp.bounds.registry import BOUNDS
from symamp.bounds.subject import SettingOf, Subject
from symamp.decompositions.decomposition import Component, Decomposition, LawTriple
from symamp.decompositions.to_law import number
from symamp.formulas.normal_form import normal
from symamp.laws.law import Atom, Law, Number, total

COVERED = (
    "adaptive rounds with fresh randomness: mechanism, users (n or more) and all inputs may depend on earlier outputs; "
    "not covered: memoised randomness, budgets chosen from the transcript"
)
OF_GROUPS = (
    "adaptive rounds with fresh randomness: all inputs, and who is of which group, may depend on earlier outputs (a "
    "victim of one group is of that group in every round), while the groups keep their numbers (or have more users, "
    "where messages are shuffled); not covered: memoised randomness, budgets chosen from the transcript"
)


@dataclass(frozen=True)
class Rounds:
    """Adaptive rounds with fresh randomness: each in words, with how often it is run."""

    listed: tuple[tuple[str, int], ...]
    covered: str = COVERED
    text: str = ""
    """How all of them are written, if not one by one."""

    @property
    def mechanism(self) -> None:
        """The one mechanism that all users run: there is none."""

    def __repr__(self) -> str:
        return self.text or " + ".join(f"{count:,} x ({text})" for text, count in self.listed)


# ------------------------------------------------------------------------------------------------------------- A sample


SAMPLING = Theorem("sampling", "composition", (ONE_RANDOMIZER, ANY_TWO))
"""The person who is drawn instead of the victim may hold any input: any two must be compared."""


@dataclass(frozen=True)
class Sample(SettingOf):
    """The ``n`` of ``people`` who take part in a round, and what each of them runs.

    Raises SupportMismatchError where the theorem on samples supposes more.
    """

    base: Subject
    n: int
    people: int

    def __post_init__(self) -> None:
        SAMPLING.check(self, "sampled")

    @property
    def takes_part(self) -> sp.Rational:
        """The probability with which one of the people takes part."""
        return sp.Rational(self.n, self.people)

    @property
    def participation(self) -> None:
        """Nothing else is left to chance."""

    def above(self, method: str | None) -> Iterator[MaxOverPairs]:
        """Yield what bounds the sample itself, by the blanket or a law above it: of a method, or of all proved ones.

        Guarantee
        ---------
        Each is at least the divergence of every two neighbouring data sets at levels from 1 to the largest ratio of
        the sample. Proof: docs/proofs/composition.md, Theorem 9.
        """
        for bound in BOUNDS.values() if method is None else (BOUNDS[method],):
            if not bound.ordered or not bound.proof_status.is_guarantee or bound.unsupported_reason(self.base):
                continue
            if method is None and bound.skip_by_default(self.base.randomizers[0]):
                continue
            found = self._of(bound)
            if found is not None:
                yield found

    def _of(self, bound: Bound) -> MaxOverPairs | None:
        whole = bound.bound(self.base)
        table = whole.searched_table
        if table is not None and len(table.pairs) > _MOST_PAIRS:
            return None
        triples = [part for part in whole.parts if is_triple(part)]
        good = len(triples) == len(whole.parts) and all(map(_is_listed, triples))
        return MaxOverPairs.of(Drawn.of(part, self.takes_part) for part in triples) if good else None


_MOST_PAIRS = 1024
"""Pairs of rows of a table that are evaluated one by one."""


def _is_listed(part: Reduction) -> bool:
    found = part.decomposition
    return isinstance(found, LawTriple) or (found.is_listed and found.enclosing_laws is None)


@dataclass(frozen=True)
class Drawn(Reduction):
    """The triple of a sample: who is drawn in place of the first person sends a message of A2, or the null symbol."""

    base: Reduction = field(default=None, repr=False)  # type: ignore[assignment]

    @staticmethod
    def of(base: Reduction, rate: sp.Rational) -> Drawn:
        """Return the triple of people who take part with this probability, so many of whom always do."""
        own = base.method, base.proof_status, base.source
        return Drawn(*own, _drawn(base.decomposition, rate, base.has_null), base.dataset, base.member, base)

    @property
    def has_null(self) -> bool:
        return False

    def swapped(self) -> Drawn:
        return replace(self, decomposition=self.decomposition.swapped(), base=self.base.swapped())


def _drawn(d: Decomposition, rate: sp.Rational, has_null: bool) -> Decomposition:
    """Return a triple in which both worlds have (1 - rate) A2 and the rate of what they had."""
    rest = 1 - rate
    if isinstance(d, LawTriple):
        atoms, law = [Atom(_mixed(a.ratio0, rate), _mixed(a.ratio1, rate), a.mass) for a in d.law.atoms], d.law
        if has_null and not law.complete:
            masses = [a.mass for a in law.atoms]
            atoms.append(Atom(number(rest), number(rest), lambda: 1 - total([m() for m in masses]), True))
        singular = tuple((_times(a, rate), _times(b, rate)) for a, b in law.singular)
        return LawTriple(Law(tuple(atoms), singular, True), d.pair)
    components = [Component(rest + rate * c.ratio0, rest + rate * c.ratio1, c.mass) for c in d.components]
    null = normal(1 - d.gamma) if has_null else sp.S.Zero
    components += [Component(rest, rest, null)] if null != 0 else []
    singular = tuple((rate * a, rate * b) for a, b in d.singular)
    return Decomposition(tuple(components), singular, d.parameters, d.pair)


def _times(x: Number, rate: sp.Rational) -> Number:
    factor = number(rate)
    return lambda: factor() * x()


def _mixed(x: Number, rate: sp.Rational) -> Number:
    factor = number(rate)
    return lambda: 1 + factor() * (x() - 1)
