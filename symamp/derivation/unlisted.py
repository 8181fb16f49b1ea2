"""Triples without a finite list of formulas: those of a density, and those that are known by numbers alone."""

from __future__ import annotations

from typing import Never

from flint import arb

from symamp.derivation.decomposition import Decomposition
from symamp.errors import SupportMismatchError
from symamp.evaluation.law import Atom, Law, Number
from symamp.numbers.surroundings import at_precision

_BITS = 256


class Unlisted(Decomposition):
    """A triple that has a law, or laws around it, and no components."""

    def _refused(self) -> Never:
        told = "numbers: a law with a density has no finite list of components"
        raise SupportMismatchError("decomposition", str(self), told)

    @property
    def is_listed(self) -> bool:
        """False."""
        return False

    @property
    def components(self) -> Never:
        """Refuse: there is no finite list of them."""
        self._refused()

    @property
    def singular(self) -> Never:
        """Refuse, as for components."""
        self._refused()

    def __repr__(self) -> str:
        return str(self)


class LawTriple(Unlisted):
    """A triple known by a finite law, whose numbers are balls of 256 bits that are made once."""

    law: Law

    def __init__(self, law: Law, pair: tuple[str, str]) -> None:
        vars(self).update(law=_fixed(law), parameters=(), pair=pair)

    @property
    def numeric_law(self) -> Law:
        """The law."""
        return self.law

    def swapped(self) -> LawTriple:
        """Return the triple of the other order of the pair."""
        return LawTriple(self.law.swapped(), (self.pair[1], self.pair[0]))

    def signature(self) -> tuple[frozenset[object], frozenset[object]]:  # type: ignore[override]
        """Return the law: only the same one is known to be equal."""
        return frozenset((self.law,)), frozenset()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LawTriple) and (self.law, self.pair) == (other.law, other.pair)

    def __hash__(self) -> int:
        return hash((self.law, self.pair))

    def __str__(self) -> str:
        return f"a finite law of {len(self.law.atoms)} atoms, {self.pair[0]} against {self.pair[1]}"


def _fixed(law: Law) -> Law:
    with at_precision(_BITS):
        atoms = tuple(
            Atom(_constant(a.ratio0()), _constant(a.ratio1()), _constant(a.mass()), a.equal_ratios) for a in law.atoms
        )
        singular = tuple((_constant(a()), _constant(b())) for a, b in law.singular)
    return Law(atoms, singular, law.complete)


def _constant(value: arb) -> Number:
    return lambda: value
