"""What an analysis is: a name, a proof status, a source, and a bound for the subjects that it supports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import sympy as sp

from symamp.bounds.bound import MaxOverPairs, PairBound
from symamp.bounds.proof_status import ProofStatus
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
class Bound:
    """A bound in the literature, or of this project, that a question can ask for by name.

    ``parts`` gives the parts of the bound (triples, or anything else with the methods of ``PairBound``) for a subject
    that it supports. ``lacks`` says why a subject is not supported. ``rank`` places it in the search for the
    least upper bound: cheap ones first, None if it is evaluated on request only; ``skip_by_default`` tells where
    another one is known to be at least as good, or where it takes too long to be a default. ``floor`` gives parts that
    the bound is not below: where they are cheap, the bound is made only where it can be the least. ``too_costly`` tells
    the levels and numbers of users at which it takes too long to be a default.

    >>> from symamp.bounds.registry import BOUNDS
    >>> import symamp as sa
    >>> BOUNDS["blanket"].supports(sa.PureLDP(eps0=1))
    'a mechanism: of this subject nothing is known but its budget'
    """

    name: str
    proof_status: ProofStatus
    source: str
    summary: str
    parts: Callable[[Subject], Iterable[PairBound] | MaxOverPairs] = field(repr=False)
    lacks: Lack = field(repr=False, default=finite_budget)
    rank: int | None = None
    skip_by_default: Callable[[Subject], bool] = field(repr=False, default=lambda _: False)
    floor: Callable[[Subject], Iterable[PairBound]] | None = field(repr=False, default=None)
    too_costly: Callable[[Subject, Level, int], bool] = field(repr=False, default=lambda subject, level, n: False)

    def supports(self, subject: Subject) -> str | None:
        """Return None if the analysis applies to the subject, else what it would have to be."""
        return self.lacks(subject)

    def bound(self, subject: Subject) -> MaxOverPairs:
        """Return the bound for a subject that is supported."""
        found = self.parts(subject)
        return found if isinstance(found, MaxOverPairs) else MaxOverPairs.of(found)
