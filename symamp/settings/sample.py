"""A sample: some of the people take part in a round, drawn uniformly without replacement and kept secret."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symamp.bounds.hypotheses import ANY_TWO, ONE_RANDOMIZER, Theorem
from symamp.bounds.subject import SettingOf, Subject

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
