"""The public questions ``epsilon``, ``delta`` and ``profile``, and the profile of a round with its accounting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

from symamp.accounting import exports
from symamp.accounting.composition import Composition, RoundProfile
from symamp.accounting.coordinates import MESSAGES, CoordinateSums, coordinate_sums, is_by_coordinates
from symamp.accounting.round import Round, SampledRound, ShuffledRound
from symamp.bounds.registry import BOUNDS
from symamp.bounds.subject import Subject
from symamp.errors import ArgumentError, Problem, SupportMismatchError, checked_call
from symamp.numbers.reading import Compared, Count, Real, listed, users
from symamp.questions.answer import Answer
from symamp.questions.curve import HasCurve
from symamp.questions.profile import OneRound
from symamp.randomizers.finite import ALL
from symamp.settings.participation import Participation
from symamp.settings.question import Question
from symamp.settings.rounds import Sample
from symamp.settings.users_who_differ import HeterogeneousUsers

_GAP = 1e-6
"""The relative width in delta, where it is not said."""


class Profile(OneRound, RoundProfile):
    """The privacy profile of n users of one mechanism: delta as a function of eps, its inverse, and many rounds.

    Classes of pairs, laws and data sets are derived at the first question and kept for the next ones. ``method`` is
    None for the smallest of all proved upper bounds, else the name of one analysis. Many rounds need a whole curve:
    there, bounds that are slow at each point ("all_data_sets", "interval") are used if they lower eps by 2% or more.

    >>> import symamp as sa
    >>> profile = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6)
    >>> profile.epsilon(delta="1e-8").upper
    0.0027292...
    >>> profile.delta(eps="0.002").upper
    5.1000...e-07
    >>> print(profile.rounds(100).epsilon(delta="1e-8", gap="0.01"))
    epsilon in [0.0307..., 0.0309...]  (delta = 1e-8; 100 x (RandomizedResponse(k=10, eps0=1), n = 1,000,000))
    """

    _internal_names = "of_users"

    @cached_property
    def round(self) -> ShuffledRound:
        """One round of the n users; SupportMismatchError for a method whose values are no bounds."""
        return ShuffledRound(_with_guarantee(self.question))

    def of_users(self, n: int) -> Profile:
        """Return the profile of another number of users; rounds of it share what is derived of rounds of this one."""
        found = Profile(replace(self.question, n=n))
        found.round = replace(self.round, question=found.question, like=self.round)
        return found

    def sampled(self, *, n: Count, of: Count) -> GivenProfile:
        """Return the profile of a round of n users drawn from ``of`` people, uniformly and without replacement.

        The adversary sees only the shuffled messages; the users are drawn anew in each round, and who was drawn stays
        secret. Raises SupportMismatchError if only some pairs of inputs are compared, and for a single triple, because
        the person who is drawn in place of the victim may hold any input.

        >>> import symamp as sa
        >>> profile = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**4)
        >>> 0.0091 < profile.sampled(n=10**4, of=10**6).rounds(1000).epsilon("1e-8", gap=1e-3).upper < 0.0093
        True
        """
        if self.subject.participation is not None:
            two = Problem("sampling and participation cannot be combined")
            raise SupportMismatchError("participation", two, "leave out one of the two")
        drawn, people = users(n), users(of)
        if drawn >= people:
            raise ArgumentError("n", n, f"fewer users than the {people} people from whom they are drawn")
        Sample(self.subject, drawn, people)
        base = replace(self.round, question=replace(self.question, n=drawn))
        return GivenProfile(SampledRound(base, drawn, people))


@dataclass(frozen=True, repr=False)
class GivenProfile(RoundProfile, HasCurve):
    """The profile of a round that is no plain shuffled one: sampled, read from a document, or analysed elsewhere.

    Of a given one only upper ends are known, as far as it goes.

    >>> import symamp as sa
    >>> given = sa.from_privacy_profile([(0, 0.2), (0.5, 0.01), (1, 0)])
    >>> given
    GivenProfile(given profile)
    >>> given.rounds(2).epsilon("0.05").upper
    0.8198...
    """

    found: Round

    def __repr__(self) -> str:
        return f"GivenProfile({self.found.text})"

    @property
    def round(self) -> Round:
        return self.found

    def _asked(self, quantity: str, given: object, gap: Real | None, effort: str) -> Answer:
        return self.rounds(1)._asked(quantity, given, gap, effort)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> GivenProfile:
        """Return the profile that ``to_dict`` wrote, its upper side. Raises FormatError if it is none."""
        return GivenProfile(exports.from_document(data))


def _with_guarantee(question: Question) -> Question:
    """Return the question if its method is proved: rounds, exports and divergences take its values as upper ends."""
    if question.method is not None and not BOUNDS[question.method].proof_status.is_guarantee:
        status = Problem(f"{question.method} is {BOUNDS[question.method].proof_status.value}, not proved")
        raise SupportMismatchError("method", status, "take a proved method, or none")
    return question


@overload
def profile(
    mechanism: Subject | HeterogeneousUsers,
    *,
    n: Count | None = None,
    method: str | None = None,
    victim: int | None = None,
    neighbours: Compared = ALL,
    participation: Participation | None = None,
) -> Profile: ...


@overload
def profile(
    mechanism: Subject | HeterogeneousUsers,
    *,
    n: Count | None = None,
    method: str | None = None,
    victim: int | None = None,
    neighbours: Compared = ALL,
    participation: Participation | None = None,
    view: str,
) -> CoordinateSums | Profile: ...


@checked_call
def profile(
    mechanism: Subject | HeterogeneousUsers,
    *,
    n: Count | None = None,
    method: str | None = None,
    victim: int | None = None,
    neighbours: Compared = ALL,
    participation: Participation | None = None,
    view: str = MESSAGES,
) -> Profile | CoordinateSums:
    """Return the privacy profile of n shuffled users: prepared once, asked often for delta, epsilon and many rounds.

    The arguments, and what is raised, are those of ``delta``. With ``view="coordinates"`` the adversary sees each
    coordinate of the messages shuffled, or summed, by itself, as with secure aggregation. This is for unary encodings
    and ``joint`` mechanisms, whose coordinates are independent given the input.

    For users who differ (``heterogeneous``) the groups have the given sizes in each of many rounds, and a user may
    change the group between rounds; with ``victim`` the victim belongs to this group in all rounds.

    >>> import symamp as sa
    >>> sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=1000)
    Profile(RandomizedResponse(k=2, eps0=1), n=1000)
    >>> crowd = sa.heterogeneous([(500, sa.PureLDP(eps0=1)), (500, sa.PureLDP(eps0=2))], shuffled="data")
    >>> 1.0 < sa.profile(crowd).rounds(10).epsilon("1e-6", gap=0.01).upper < 1.1
    True
    """
    return _whole(mechanism, n, method, neighbours, victim, participation, view)


@checked_call
def from_privacy_profile(points: Iterable[tuple[Real, Real]], *, name: str = "given profile") -> GivenProfile:
    """Return the profile of a round that was analysed elsewhere, from pairs (eps, delta) that are upper bounds.

    Their proof status is "given": what follows is as true as they are, for both orders of neighbours. There is no lower
    side. A point with delta = 0 says that no loss is larger. Raises ArgumentError or FormatError for what is no list of
    pairs with eps >= 0 and a rational delta in [0, 1].

    >>> import symamp as sa
    >>> sa.from_privacy_profile([(0, "1e-2"), ("0.1", "1e-6")]).rounds(3).delta("0.3").upper
    2.9999...e-06
    """
    return GivenProfile(exports.given_round(exports.points_of_profile(points), name))


_COMPOSITIONS = "compositions, such as [profile.rounds(10)], or of training [training.composition('remove')]"


@checked_call
def compose(compositions: Iterable[Composition]) -> Composition:
    """Return all the rounds of some compositions as one, in any order and adaptively.

    Raises ArgumentError for anything but a list of compositions, and for more than 10**6 rounds in all.

    >>> import symamp as sa
    >>> krr, binary = sa.RandomizedResponse(k=10, eps0=1), sa.RandomizedResponse(k=2, eps0=1)
    >>> both = sa.compose([sa.profile(krr, n=10**6).rounds(50), sa.profile(binary, n=10**6).rounds(20)])
    >>> both.count
    70
    """
    found = listed(compositions, "compositions", _COMPOSITIONS)
    if not all(isinstance(c, Composition) for c in found):
        raise ArgumentError("compositions", [type(c).__name__ for c in found], f"a list of {_COMPOSITIONS}")
    return Composition.of(r for c in found for r in c.rounds)


@checked_call
def pld_accountant(interval: float = 1e-4, *, delta: float = 1e-10) -> Any:
    """Return a ``PLDAccountant`` of dp_accounting that also composes the events of ``to_dp_event``.

    ``interval`` is the step of its lattice; it must be small beside the deviation of a round's loss. Neighbours differ
    by the replacement of one person. Raises MissingPackageError without the package dp-accounting.

    >>> import symamp as sa
    >>> accountant = sa.pld_accountant(2e-5)
    >>> event = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).to_dp_event()
    >>> 0.0309 < accountant.compose(event, 100).get_epsilon(1e-8) < 0.0310
    True
    """
    return exports.event_classes()[1](interval, delta)


# ----------------------------------------- The questions people ask: the central epsilon, or delta, of n shuffled users


@checked_call
def delta(
    mechanism: Subject | HeterogeneousUsers,
    *,
    n: Count | None = None,
    eps: Real,
    method: str | None = None,
    gap: Real | None = None,
    digits: int | None = None,
    effort: str = "default",
    victim: int | None = None,
    neighbours: Compared = ALL,
    participation: Participation | None = None,
    view: str = MESSAGES,
) -> Answer:
    """Return a certified bracket of delta: the shuffled mechanism is (eps, upper)-private, not (eps, < lower)-private.

    ``mechanism`` is what each user runs, ``n`` the number of users, the victim included, and ``eps`` a number >= 0 (an
    int, float, Fraction, string or exact SymPy number). A numeric ``Decomposition`` or a list of (ratio0, ratio1, mass)
    may stand for the mechanism: both ends are then for that triple itself. For users who differ (``heterogeneous``)
    ``n`` is left out, and ``victim`` is the number of the group whose privacy is in question.

    By default ``upper`` is the smallest of all proved upper bounds; ``method`` selects one analysis: METHODS. An
    analysis that is not proved does not change the bracket; its value is ``Answer.claimed``.

    ``gap`` and ``digits`` say how closely numbers are computed: ``gap`` is the relative width of the enclosure of the
    upper bound's own value (1e-6 by default), ``digits`` the number of its digits that are to be proved
    (``Answer.bound``, ``Answer.claimed``). ``effort`` says how long searches may take: "quick", "default" (some
    seconds) or "thorough" (about a minute). It limits counted operations, so that answers are the same on every
    machine; if the limit is reached, the bracket is wider and ``Answer.limited`` is True.

    ``neighbours`` says which two inputs of the victim are compared: "all", those within a given distance, or a list of
    pairs; the other users hold any inputs. A distance needs a metric: a table whose inputs are numbers or points,
    ``Laplace``, ``PlanarLaplace``. ``participation`` (``symamp.participation``) says who takes part: lost and leaked
    reports, colluders, random numbers of users, batches, removal. With ``view="coordinates"`` the adversary sees each
    coordinate of the messages shuffled, or summed, by itself (``profile``); ``gap`` is then a relative width of eps.

    Raises ArgumentError for arguments out of range, UndecidedOrderError if the decomposition cannot be proved,
    SupportMismatchError for a method that does not apply, PrecisionError for digits that cannot be proved.

    Guarantee
    ---------
    For all neighbouring data sets of n users D_{e^eps} <= ``upper``, and for some pair of them it is >= ``lower``.
    Proof: docs/proofs/blanket_reduction.md, with docs/proofs/kernel_sandwich.md for the numbers.

    >>> import symamp as sa
    >>> sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps=0.1, method="blanket").upper
    8.2011...e-05
    """
    found = _whole(mechanism, n, method, neighbours, victim, participation, view, digits)
    return found.delta(eps, effort=effort, **_accuracy(found, gap, digits))


@checked_call
def epsilon(
    mechanism: Subject | HeterogeneousUsers,
    *,
    n: Count | None = None,
    delta: Real,
    method: str | None = None,
    gap: Real | None = None,
    digits: int | None = None,
    effort: str = "default",
    victim: int | None = None,
    neighbours: Compared = ALL,
    participation: Participation | None = None,
    view: str = MESSAGES,
) -> Answer:
    """Return a certified bracket of the least eps at which n shuffled users are (eps, delta)-private.

    ``delta`` in (0, 1) may be far below the smallest double (strings such as "1e-1000", Fractions and mpmath numbers
    are exact). ``gap`` is a relative width in delta, ``digits`` a number of digits of eps, at most 15. ``upper`` is inf
    if no eps suffices. The other arguments, and what is raised, are those of ``delta``.

    Guarantee
    ---------
    The shuffled mechanism is (``upper``, delta)-private, and for every eps < ``lower`` it is not (eps, delta)-private.
    Proof: docs/proofs/inversion.md, with docs/proofs/blanket_reduction.md and docs/proofs/kernel_sandwich.md.

    >>> import symamp as sa
    >>> sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**4, delta=1e-6).upper
    0.0232533...
    """
    found = _whole(mechanism, n, method, neighbours, victim, participation, view, digits)
    return found.epsilon(delta, effort=effort, **_accuracy(found, gap, digits))


def _accuracy(found: Profile | CoordinateSums, gap: Real | None, digits: int | None) -> dict[str, Any]:
    """Return how closely numbers are asked for: of coordinates ``gap`` is a width of eps."""
    if isinstance(found, CoordinateSums):
        return {"gap": gap}
    return {"gap": _GAP if gap is None else gap, "digits": digits}


def _whole(
    mechanism: Any,
    n: Any,
    method: object,
    neighbours: Compared,
    victim: object,
    participation: Participation | None,
    view: str,
    digits: object = None,
) -> Profile | CoordinateSums:
    """Return what is asked about: shuffled messages, of one mechanism or of users who differ, or coordinates."""
    every = isinstance(neighbours, str) and neighbours == ALL
    if is_by_coordinates(view, participation, (method, None if every else neighbours, victim, digits)):
        return coordinate_sums(mechanism, n, participation)
    if not isinstance(mechanism, HeterogeneousUsers):
        if victim is not None:
            raise ArgumentError("victim", Problem("all users run one mechanism"), "leave it out")
        return Profile(Question.of(mechanism, n, method, neighbours, participation))
    crowd = mechanism.seen(participation)
    for name, value in (("n", n), ("method", method)):
        if value is not None:
            raise ArgumentError(name, Problem("users who differ have a fixed n and one bound"), "leave it out")
    if not every:
        raise ArgumentError("neighbours", neighbours, f"{ALL!r} for users who differ, or mechanisms .near(neighbours)")
    return Profile(Question.of_users(crowd, victim))


# The names of the analyses come from the registry: no second list of them can fall behind.
if delta.__doc__ is not None:
    delta.__doc__ = delta.__doc__.replace("METHODS", ", ".join(f'"{name}"' for name in BOUNDS))
