"""A question with checked arguments: subject, number of users, analysis."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import sympy as sp
from flint import fmpq

from symamp.bounds.own_law import own_law
from symamp.bounds.registry import named
from symamp.bounds.subject import Subject
from symamp.decompositions.decomposition import Decomposition
from symamp.decompositions.to_law import level_of, number
from symamp.errors import ArgumentError, PrecisionError, Problem, SupportMismatchError
from symamp.formulas.order import largest
from symamp.laws.law import Level
from symamp.numbers.limits import Limits, checked_effort
from symamp.numbers.reading import budget, digit_count, failure_probability, relative_gap, users
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.finite import ALL
from symamp.settings.participation import Participation, checked_participation
from symamp.settings.users_who_differ import HeterogeneousUsers
from symamp.settings.victims import Victims
from symamp.sums.divergence import Settings
from symamp.sums.inversion import LARGEST_EPS, log_of

_DOUBLE_DIGITS = 15
"""Digits that doubles can carry."""
_ASKED = ("compared_ratio", "local_ratio", "members", "parameters", "variation_ratio")


@dataclass(frozen=True)
class Question:
    """What is asked: the subject, the number of users and the analysis (None: the least of all proved bounds).

    The subject may be users who differ; ``victim`` is then the number of the group that is asked about, None for all.
    """

    subject: Any  # a Subject, or users who differ; the protocol itself cannot be compared or hashed
    n: int
    method: str | None = None
    victim: int | None = None

    @staticmethod
    def of(
        subject: object, n: object, method: object, neighbours: object = ALL, participation: Participation | None = None
    ) -> Question:
        """Return the question, after checking that it can be asked.

        ``neighbours`` is "all", or says which inputs are compared: the subject is then ``subject.near(neighbours)``.

        ``participation`` says who takes part: the subject is then seen through it, and n are the users that count.

        A ``Decomposition``, or a list of (ratio0, ratio1, mass), is a subject, too: the question is then about this
        triple, whatever mechanism has it (``symamp.bounds.own_law``).

        Raises ArgumentError for what is no mechanism, parameters that are still free, a local budget beyond what
        can be evaluated, n out of range and unknown methods, SupportMismatchError for a method that does not apply.
        """
        checked = checked_subject(own_law(subject) if isinstance(subject, Decomposition | list | tuple) else subject)
        if not isinstance(neighbours, str) or neighbours != ALL:
            if not hasattr(checked, "near"):
                told = Problem(f"inputs of {checked!r} have no distance")
                raise SupportMismatchError("neighbours", told, "leave it out, or list pairs of inputs of its .table()")
            checked = checked.near(neighbours)
        count = users(n)
        if participation is not None:
            checked, count = checked_participation(participation).subject(checked), participation.users(count)
        if method is not None:
            method = named(method, checked).name
        return Question(checked, count, method)

    @staticmethod
    def of_users(crowd: HeterogeneousUsers, victim: object = None) -> Question:
        """Return the question about users who differ: about all groups of victims, or about one by its number."""
        if crowd.parameters:
            told = "give a number, eps0=1 in the group or .at(eps0=1), or ask sa.largest_eps0"
            raise ArgumentError("groups", Problem("some groups have eps0 free"), told)
        for _, subject in crowd.groups:
            _require_budget(subject, "groups")
        numbers = crowd.numbers
        if victim is not None and (isinstance(victim, bool) or victim not in numbers):
            known = ", ".join(map(str, numbers))
            told = f"the number of a group with an honest user ({known}), or None for all"
            raise ArgumentError("victim", victim, told)
        return Question(crowd, crowd.n, None, None if victim is None else numbers[numbers.index(victim)])

    @property
    def victims(self) -> tuple[Victims, ...]:
        """The groups of users who differ that are asked about; none where all users run one mechanism."""
        subject = self.subject
        return Victims.of(subject, self.victim) if isinstance(subject, HeterogeneousUsers) else ()

    def compared_ratio(self) -> sp.Expr:
        """Return e^eps0 of the inputs that are compared, of those who are asked about; ``oo`` without a limit."""
        return largest([v.compared_ratio() for v in self.victims]) if self.victims else self.subject.compared_ratio()


@dataclass(frozen=True)
class Query:
    """One question to a profile, read at the door: nothing on the way to its answer converts a number again.

    ``quantity`` is "epsilon" or "delta", ``given`` the other of the two, exactly, and ``written`` as it was given.
    ``digits`` are those wanted, None where ``settings`` say how near enclosures are to be; ``effort`` how long searches
    may go on.
    """

    quantity: str
    given: fmpq | sp.Expr
    written: str
    digits: int | None = None
    settings: Settings = field(default=Settings(), compare=False, repr=False)
    effort: str = "default"

    @staticmethod
    def of(quantity: str, given: object, gap: object, digits: object = None, effort: object = "default") -> Query:
        """Return the question for "epsilon" or for "delta"."""
        return (Query.of_epsilon if quantity == "epsilon" else Query.of_delta)(given, gap, digits, effort)

    @staticmethod
    def of_epsilon(delta: object, gap: object, digits: object = None, effort: object = "default") -> Query:
        """Return the question for the least eps at ``delta``; its ends are doubles, and so are at most 15 digits."""
        told = "epsilon, whose ends are doubles"
        return Query(
            "epsilon", failure_probability(delta), str(delta), *_accuracy(gap, digits, told), checked_effort(effort)
        )

    @staticmethod
    def of_delta(eps: object, gap: object, digits: object = None, effort: object = "default") -> Query:
        """Return the question for delta at ``eps``."""
        return Query("delta", budget(eps), str(eps), *_accuracy(gap, digits), checked_effort(effort))

    @cached_property
    def log_delta(self) -> float:
        """The logarithm of the delta that is given."""
        return log_of(self.given)

    @property
    def level(self) -> Level:
        """The level of the eps that is given."""
        return level_of(self.given)

    @property
    def usual(self) -> Self:
        """The same question with the usual gap in place of digits."""
        return replace(self, digits=None, settings=Settings())

    def limited(self) -> Self:
        """Return the question with limits of its own, as its effort says."""
        return self.under(Limits.of(self.effort))

    def under(self, limits: Limits) -> Self:
        """Return the question with these limits."""
        return replace(self, settings=self.settings.under(limits))

    def to_gap(self, gap: float) -> Self:
        """Return the question with another relative gap in delta."""
        return replace(self, settings=replace(self.settings, gap=gap))


def checked_subject(subject: Any) -> Subject:
    """Return the subject if a number can be asked of it, else raise ArgumentError."""
    if isinstance(subject, HeterogeneousUsers):
        raise ArgumentError("mechanism", Problem("users run different ones"), "ask sa.epsilon or sa.delta about them")
    if isinstance(subject, type):
        made = Problem(f"{subject.__name__} is a class")
        raise ArgumentError("mechanism", made, f"give a member, such as {subject.__name__}(eps0=1)")
    if not all(hasattr(subject, name) for name in _ASKED):
        accepted = (
            "a mechanism of symamp: sa.FiniteMechanism(table) for a table, sa.load_mechanism(path) for a file, or one "
            "with a name, such as sa.RandomizedResponse(k=10, eps0=1)"
        )
        raise ArgumentError("mechanism", type(subject).__name__, accepted)
    if subject.parameters:
        free = [p.name for p in subject.parameters]
        told = f"give numbers for all parameters: --{free[0]} ... on the command line, .at({free[0]}=...) in Python"
        raise ArgumentError("mechanism", Problem(f"{subject!r} has {', '.join(free)} free"), told)
    checked: Subject = subject
    _require_budget(checked, "mechanism")
    return checked


def _require_budget(subject: Subject, argument: str) -> None:
    """Refuse a finite local budget of which doubles do not search."""
    ratio = subject.local_ratio()
    if ratio is not sp.oo:
        with at_precision(64):
            if number(ratio)().log() > LARGEST_EPS:
                wrong = Problem(f"the local budget of {subject!r} is too large")
                raise ArgumentError(argument, wrong, f"the limit is {LARGEST_EPS:g}")


def _accuracy(gap: object, digits: object, doubles: str = "") -> tuple[int | None, Settings]:
    """Return the digits wanted, and what an evaluation aims at: a relative gap in delta, or so many digits.

    ``doubles`` says why the answer has no more digits than doubles have, where that is so: PrecisionError for more.
    """
    if digits is None:
        return None, Settings(gap=relative_gap(gap))
    wanted = digit_count(digits)
    if doubles and wanted > _DOUBLE_DIGITS:
        raise PrecisionError("digits", wanted, f"at most {_DOUBLE_DIGITS} for {doubles}")
    return wanted, Settings.of_digits(wanted)
