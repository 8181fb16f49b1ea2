"""The profile of a round, with all that an accountant does with it."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

from symamp.accounting.composition import LARGEST_ROUNDS, Composition
from symamp.accounting.round import ShuffledRound
from symamp.amplification import profile as one_round
from symamp.amplification.question import Question
from symamp.analyses.subject import Subject
from symamp.errors import ArgumentError


class Profile(one_round.Profile):
    """delta as a function of eps for n users of one mechanism, its inverse, and what becomes of them in many rounds.

    What is derived (classes of pairs, laws, data sets for the lower bound) is derived at the first question and kept.
    ``method`` is None for the least of all proved upper bounds, else the name of one analysis.

    >>> import symamp as sa
    >>> profile = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6)
    >>> profile.epsilon(delta="1e-8").upper
    0.0027292...
    >>> profile.delta(eps="0.002").upper
    5.1000...e-07
    >>> print(profile.rounds(100).epsilon(delta="1e-8", gap="0.01"))
    epsilon in [0.0307..., 0.0309...]  (delta = 1e-8; 100 x (RandomizedResponse(k=10, eps0=1), n = 1,000,000))
    """

    def rounds(self, count: object) -> Composition:
        """Return ``count`` rounds, adaptively composed.

        >>> import symamp as sa
        >>> profile = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6)
        >>> 0.0308 < profile.rounds(100).epsilon(delta="1e-8", gap=1e-3).upper < 0.0310
        True
        """
        return Composition.of([(ShuffledRound(self.question), round_count(count))])


def profile(mechanism: Subject, *, n: object, method: str | None = None) -> Profile:
    """Return the privacy profile of n shuffled users: prepared once, asked often for delta, epsilon and many rounds.

    The arguments, and what is raised, are those of ``delta``.

    >>> import symamp as sa
    >>> sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=1000)
    Profile(RandomizedResponse(k=2, eps0=1), n=1000)
    """
    return Profile(Question.of(mechanism, n, method))


def compose(compositions: Iterable[Composition]) -> Composition:
    """Return all the rounds of some compositions as one, in any order and adaptively.

    >>> import symamp as sa
    >>> krr, binary = sa.RandomizedResponse(k=10, eps0=1), sa.RandomizedResponse(k=2, eps0=1)
    >>> both = sa.compose([sa.profile(krr, n=10**6).rounds(50), sa.profile(binary, n=10**6).rounds(20)])
    >>> both.count
    70
    """
    found = list(compositions)
    if not all(isinstance(c, Composition) for c in found):
        raise ArgumentError("rounds", [type(c).__name__ for c in found], "compositions, such as profile.rounds(10)")
    return Composition.of(r for c in found for r in c.rounds)


def round_count(count: object) -> int:
    """Return how many rounds there are, as an int.

    >>> round_count(100)
    100
    """
    if isinstance(count, bool) or not isinstance(count, Integral) or not 1 <= int(count) <= LARGEST_ROUNDS:
        raise ArgumentError("rounds", count, f"an integer from 1 to {LARGEST_ROUNDS}")
    return int(count)
