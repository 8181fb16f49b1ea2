"""A sample: some of the people take part in a round, drawn uniformly without replacement and kept secret."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symamp.bounds.hypotheses import ANY_TWO, ONE_RANDOMIZER, Theorem
from symamp.bounds.subject import Subject

SAMPLING = Theorem("sampling", "composition", (ONE_RANDOMIZER, ANY_TWO))
"""The person who is drawn instead of the victim may hold any input: any two must be compared."""


@dataclass(frozen=True)
class Sample:
    """The ``n`` of ``people`` who take part in a round, and what each of them runs.

    Raises SupportMismatchError where the theorem on samples supposes more.
    """

    subject: Subject
    n: int
    people: int

    def __post_init__(self) -> None:
        SAMPLING.check(self, "sampled")

    @property
    def randomizers(self) -> tuple[Subject, ...]:
        """What users run."""
        return self.subject.randomizers

    @property
    def takes_part(self) -> sp.Rational:
        """The probability with which one of the people takes part."""
        return sp.Rational(self.n, self.people)

    @property
    def participation(self) -> None:
        """Nothing else is left to chance."""

    @property
    def shuffled(self) -> str:
        """What the shuffler permutes."""
        return self.subject.shuffled

    @property
    def compares_all(self) -> bool:
        """Whether any two inputs are compared."""
        return self.subject.compares_all

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0 for any two inputs, compared or not; ``oo`` if there is no finite local budget."""
        return self.subject.local_ratio()

    def compared_ratio(self) -> sp.Expr:
        """Return the same for two inputs that are compared."""
        return self.subject.compared_ratio()
