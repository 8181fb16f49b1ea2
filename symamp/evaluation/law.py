"""What crosses from derivation to evaluation: a finite list of (r0, r1, mass), and no SymPy.

Numbers cross as functions of no argument that return a ball (``flint.arb``) at the ambient precision, so that every
precision sees the exact number and not a rounded copy of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from flint import arb, fmpq

from symamp.numbers.surroundings import at_precision

Number: TypeAlias = Callable[[], arb]
_LARGEST = 1e100


@dataclass(frozen=True)
class Atom:
    """A component: the ratios of A0 and A1 to A2, its mass under A2, and whether the ratios are equal as formulas."""

    ratio0: Number
    ratio1: Number
    mass: Number
    equal_ratios: bool = False


@dataclass(frozen=True)
class Law:
    """A triple (A0, A1, A2) as it is evaluated.

    ``atoms`` are the components where A2 has mass; the rest of A2 is the null symbol. ``singular`` lists the pairs
    (A0 mass, A1 mass) of the messages where A2 has none: a message there names its sender. ``complete`` says that the
    masses of the atoms sum to exactly 1, so that there is no null symbol. ``rational`` repeats atoms and singular
    part as fractions when all of them are rational.
    """

    atoms: tuple[Atom, ...]
    singular: tuple[tuple[Number, Number], ...] = ()
    complete: bool = False
    rational: RationalLaw | None = None

    def __hash__(self) -> int:
        # Numbers are functions, which no two laws share by chance; fractions take long to hash.
        return hash((len(self.atoms), self.atoms[:1], self.singular[:1], self.complete))

    def swapped(self) -> Law:
        """Return the law of the other order of the pair, (A1, A0, A2)."""
        return Law(
            tuple(Atom(a.ratio1, a.ratio0, a.mass, a.equal_ratios) for a in self.atoms),
            tuple((b, a) for a, b in self.singular),
            self.complete,
            None if self.rational is None else self.rational.swapped(),
        )


@dataclass(frozen=True)
class RationalLaw:
    """The same in exact fractions."""

    atoms: tuple[tuple[fmpq, fmpq, fmpq], ...]
    singular: tuple[tuple[fmpq, fmpq], ...] = ()

    def swapped(self) -> RationalLaw:
        """Return the law of the other order of the pair."""
        return RationalLaw(tuple((b, a, m) for a, b, m in self.atoms), tuple((b, a) for a, b in self.singular))


@dataclass(frozen=True, eq=False)
class Level:
    """A central budget eps >= 0 as an exact number, how it is written, and E = e^eps as a fraction where it is one.

    Levels are equal where they are written alike. ``double`` is eps where a search has chosen it.
    """

    eps: Number
    written: Callable[[], str]
    rational: fmpq | None = None
    double: float | None = None

    @staticmethod
    def of_float(eps: float) -> Level:
        """Return the level of a finite double, taken as the dyadic number that it is."""
        return Level(lambda: arb(eps), lambda: str(Fraction(eps)), fmpq(1) if eps == 0.0 else None, eps)

    @cached_property
    def text(self) -> str:
        """The exact number eps as an expression."""
        return self.written()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Level) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def exponential(self) -> arb:
        """Return a ball around E = e^eps."""
        return arb(self.rational) if self.rational is not None else self.eps().exp()

    def exponential_minus_one(self) -> arb:
        """Return a ball around E - 1 without the cancellation."""
        return arb(self.rational - 1) if self.rational is not None else self.eps().expm1()

    def rough_minus_one(self) -> float:
        """Return E - 1 as a double for searches, or a smaller number where its square would not be one.

        >>> Level.of_float(0.0).rough_minus_one(), Level.of_float(1e4).rough_minus_one()
        (0.0, 1e+100)
        """
        with at_precision(128):
            return min(float(self.exponential_minus_one()), _LARGEST)


def total(values: Sequence[arb]) -> arb:
    """Return the sum of some balls.

    >>> total([arb(1), arb(2)])
    3.00000000000000
    """
    result = arb(0)
    for value in values:
        result += value
    return result
