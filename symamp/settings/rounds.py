"""Many rounds as a setting, each in words with its number of repetitions; and a sample of people in a round."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symamp.bounds.hypotheses import ANY_TWO, ONE_RANDOMIZER, Theorem
from symamp.bounds.subject import SettingOf, Subject

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
