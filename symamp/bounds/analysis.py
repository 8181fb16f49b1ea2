"""What a bound is: a name, a proof status, a source, what it supposes, and what it says of settings like that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from symamp.bounds.bound import MaxOverPairs, PairBound
from symamp.bounds.hypotheses import SHUFFLED, Hypothesis, Statement
from symamp.bounds.proof_status import ProofStatus
from symamp.bounds.subject import Setting, Subject
from symamp.laws.law import Level

Parts = Callable[[Any], Iterable[PairBound] | MaxOverPairs]
"""Of what all users run, a ``Subject``; once in a ``Bound``, of a ``Setting``, whose hypotheses are checked."""


@dataclass(frozen=True)
class Bound(Statement):
    """A bound in the literature, or of this project, that a question can ask for by name.

    ``hypotheses`` lists what its theorem supposes; a setting that fails one is refused, with the reason. ``parts``
    gives the parts of the bound (triples, or anything else with the methods of ``PairBound``) for what all users run.
    ``proof`` names its page in docs/proofs, "" where nothing is proved. ``rank`` places it in the search for the least
    upper bound: cheap ones first, None if it is evaluated on request only; ``skip_by_default`` tells where another one
    is known to be at least as good, or where it takes too long to be a default. ``floor`` gives parts that the bound is
    not below: where they are cheap, the bound is made only where it can be the least. ``too_costly`` tells the levels
    and numbers of users at which it takes too long to be a default.

    >>> from symamp.bounds.registry import BOUNDS
    >>> import symamp as sa
    >>> print(BOUNDS["blanket"].unsupported_reason(sa.PureLDP(eps0=1)))
    settings where the probability of every message is known on every input; here nothing is known but its budget: \
give a table or a family
    """

    name: str
    proof_status: ProofStatus
    source: str
    summary: str
    proof: str
    hypotheses: tuple[Hypothesis, ...]
    parts: Parts = field(repr=False)
    rank: int | None = None
    skip_by_default: Callable[[Subject], bool] = field(repr=False, default=lambda _: False)
    floor: Callable[[Subject], Iterable[PairBound]] | None = field(repr=False, default=None)
    too_costly: Callable[[Subject, Level, int], bool] = field(repr=False, default=lambda subject, level, n: False)

    def __post_init__(self) -> None:
        # A bound that left these out would be built for users who differ.
        missing = (h for h in SHUFFLED if h not in self.hypotheses)
        object.__setattr__(self, "hypotheses", (*missing, *self.hypotheses))
        object.__setattr__(self, "parts", partial(self._checked, self.parts))

    def bound(self, setting: Setting) -> MaxOverPairs:
        """Return the bound for a setting; SupportMismatchError with the reason if it fails a hypothesis."""
        found = self.parts(setting)
        return found if isinstance(found, MaxOverPairs) else MaxOverPairs.of(found)

    def _checked(self, parts: Parts, setting: Setting) -> Iterable[PairBound] | MaxOverPairs:
        self.check(setting)
        return parts(setting.randomizers[0])
