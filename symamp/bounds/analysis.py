"""What an analysis is: a name, a standing, a source, and a bound for the subjects that it supports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import sympy as sp

from symamp.bounds.bound import Bound, Part
from symamp.bounds.standing import Standing
from symamp.bounds.subject import Subject
from symamp.laws.law import Level

Lack = Callable[[Subject], str | None]
"""Returns what a subject would have to be for the analysis to apply, None if it is."""


def finite_budget(subject: Subject) -> str | None:
    """Return why an analysis that needs a finite local budget of all inputs does not apply, None if it does."""
    if subject.triple is not None:
        return "a mechanism, or a budget that all users keep: of a law of one's own only the triple is known"
    if subject.local_ratio() is sp.oo:
        return "method='blanket': a message has probability 0 on one input and not on another"
    return None


def one_mechanism(subject: Subject) -> str | None:
    """Return why an analysis of a mechanism's own probabilities does not apply, None if it does."""
    if subject.mechanism is not None:
        return None
    if subject.noise is not None or subject.densities is not None:
        return "a mechanism with finitely many messages: this one has a density"
    return "a mechanism: of this subject nothing is known but its budget"


@dataclass(frozen=True)
class Analysis:
    """A bound in the literature, or of this project, that a question can ask for by name.

    ``parts`` gives the parts of the bound (triples, or anything else with the methods of ``Part``) for a subject that
    it supports. ``lacks`` says why a subject is not supported. ``rank`` places it in the search for the least upper
    bound: cheap ones first, None if it is evaluated on request only; ``needless`` tells
    where another one is known to be at least as good, or where it takes too long to be a default. ``floor`` gives parts
    that the bound is not below: where they are cheap, the bound is made only where it can be the least. ``dear`` tells
    the levels and numbers of users at which it takes too long to be a default.

    >>> from symamp.bounds.registry import ANALYSES
    >>> import symamp as sa
    >>> ANALYSES["blanket"].supports(sa.PureLDP(eps0=1))
    'a mechanism: of this subject nothing is known but its budget'
    """

    name: str
    standing: Standing
    source: str
    summary: str
    parts: Callable[[Subject], Iterable[Part] | Bound] = field(repr=False)
    lacks: Lack = field(repr=False, default=finite_budget)
    rank: int | None = None
    needless: Callable[[Subject], bool] = field(repr=False, default=lambda _: False)
    floor: Callable[[Subject], Iterable[Part]] | None = field(repr=False, default=None)
    dear: Callable[[Subject, Level, int], bool] = field(repr=False, default=lambda subject, level, n: False)

    def supports(self, subject: Subject) -> str | None:
        """Return None if the analysis applies to the subject, else what it would have to be."""
        return self.lacks(subject)

    def bound(self, subject: Subject) -> Bound:
        """Return the bound for a subject that is supported."""
        found = self.parts(subject)
        return found if isinstance(found, Bound) else Bound.of(found)
