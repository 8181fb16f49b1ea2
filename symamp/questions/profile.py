"""The privacy profile of n shuffled users: prepared once, asked often, or asked once by epsilon and delta."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import sympy as sp

from symamp.bounds.bound import Progress
from symamp.bounds.registry import BOUNDS
from symamp.bounds.search import CandidateBounds, OnlyBound
from symamp.bounds.subject import Subject
from symamp.data_sets.search import DataSetSearch
from symamp.errors import ArgumentError, Problem
from symamp.numbers.reading import budget
from symamp.numbers.surroundings import undisturbed
from symamp.questions.answer import Answer
from symamp.questions.bracketing import Bracketing
from symamp.questions.curve import Curve
from symamp.randomizers.finite import ALL
from symamp.settings.participation import Participation
from symamp.settings.question import Query, Question
from symamp.settings.users_who_differ import HeterogeneousUsers
from symamp.settings.victims import Victims

# -------------------------------------------------- The privacy profile of n shuffled users: prepared once, asked often


class Profile:
    """What ``symamp.profile`` answers about a single round.

    ``progress`` is told how many pairs of inputs of a large table are settled, and of how many.
    """

    def __init__(self, question: Question, progress: Progress | None = None) -> None:
        self.question = question
        self.subject, self.n = question.subject, question.n
        if isinstance(question.subject, HeterogeneousUsers):
            self._victims: dict[int | None, Bracketing] = {
                v.number: Bracketing(question, OnlyBound(v.bound), DataSetSearch(v), v.compared_ratio())
                for v in Victims.of(question.subject, question.victim)
            }
            return
        is_proved = question.method is None or BOUNDS[question.method].proof_status.is_guarantee
        claimed = None if is_proved else CandidateBounds(self.subject, question.method)
        bounds = CandidateBounds(self.subject, question.method if is_proved else None, progress)
        ratio = self.subject.compared_ratio()
        self._victims = {None: Bracketing(question, bounds, DataSetSearch(self.subject), ratio, claimed)}

    @undisturbed()
    def delta(self, eps: object, *, gap: float = 1e-6, digits: int | None = None, effort: str = "default") -> Answer:
        """Return a certified bracket of delta at ``eps``; the arguments are those of ``symamp.delta``.

        Guarantee
        ---------
        For all neighbouring data sets of n users D_{e^eps} <= ``upper``, and for some pair of them it is >= ``lower``.
        Proof: docs/proofs/blanket_reduction.md, with docs/proofs/kernel_sandwich.md for the numbers.
        """
        return self.answer(Query.of_delta(eps, gap, digits, effort))

    @undisturbed()
    def epsilon(
        self, delta: object, *, gap: float = 1e-6, digits: int | None = None, effort: str = "default"
    ) -> Answer:
        """Return a certified bracket of the least eps for ``delta``; the arguments are those of ``symamp.epsilon``.

        Guarantee
        ---------
        The shuffled mechanism is (``upper``, delta)-private, and for every eps < ``lower`` it is not
        (eps, delta)-private. Proof: docs/proofs/inversion.md, with docs/proofs/blanket_reduction.md.
        """
        return self.answer(Query.of_epsilon(delta, gap, digits, effort))

    def answer(self, query: Query) -> Answer:
        """Return the answer to a question that is read already, about all victims."""
        return Answer.worst({v: found.answer(query) for v, found in self._victims.items()})

    def curve(self, eps: Iterable[object], *, gap: float = 1e-4, effort: str = "default") -> Curve:
        """Return certified brackets of delta at every eps of a grid.

        Each is that of ``delta`` with this ``gap`` and ``effort``. Only the bound over all data sets takes over
        parameters from points that were asked before: its ``upper`` may be above that of a single question by 0.3 % of
        delta, where many messages tell the inputs apart.

        >>> import symamp as sa
        >>> curve = sa.profile(sa.RandomizedResponse(k=3, eps0=1), n=1000).curve(eps=[0.05, 0.1])
        >>> bool((curve.lower <= curve.upper).all()), len(curve)
        (True, 2)
        """
        grid = list(eps)
        budgets = [float(sp.N(budget(x), 17)) for x in grid]
        # Neighbours follow each other: they share what was searched for.
        order = sorted(range(len(grid)), key=lambda i: -budgets[i])
        answers = {i: self.delta(grid[i], gap=gap, effort=effort) for i in order}
        return Curve.of(repr(self.subject), self.n, tuple(answers[i] for i in range(len(grid))))

    def __repr__(self) -> str:
        method = "" if self.question.method is None else f", method={self.question.method!r}"
        return f"Profile({self.subject!r}, n={self.n}{method})"

    def _repr_html_(self) -> str:
        shown = getattr(self.subject, "_repr_html_", lambda: f"<code>{escape(repr(self.subject))}</code>")()
        method = self.question.method or "the least of all proved upper bounds"
        return f"<b>privacy profile</b> of n = {self.n:,} users, {escape(method)}<br>{shown}"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.question,)


# ----------------------------------------- The questions people ask: the central epsilon, or delta, of n shuffled users


def delta(
    mechanism: Subject | HeterogeneousUsers,
    *,
    n: object = None,
    eps: object,
    method: str | None = None,
    gap: float = 1e-6,
    digits: int | None = None,
    effort: str = "default",
    victim: int | None = None,
    neighbours: object = ALL,
    participation: Participation | None = None,
) -> Answer:
    """Return a certified bracket of delta: the shuffled mechanism is (eps, upper)-private, not (eps, < lower)-private.

    ``eps`` is a number >= 0 (an int, float, Fraction, string or exact SymPy number), ``n`` the number of users, the
    victim included, ``gap`` the relative width aimed at for the enclosure of the upper bound's own value. By default
    ``upper`` is the least of all proved upper bounds; ``method`` asks for one analysis: METHODS. One that is no
    guarantee leaves the bracket alone and says what it claims in ``Answer.claimed``.

    ``mechanism`` may also be a numeric ``Decomposition`` or a list of (ratio0, ratio1, mass): both ends of the answer
    are then for that triple itself, whatever mechanism has it.

    ``effort`` alone decides how long searches may go on: "quick", "default" (some seconds) or "thorough" (about a
    minute), by work that is counted and is the same on every machine. Where a search is capped the bracket is wider and
    ``Answer.limited`` is True. ``gap`` and ``digits`` alone decide how closely numbers are computed.

    ``digits`` asks for so many digits of the bound (``Answer.bound``; of ``claimed``, too) instead of a gap: they are
    proved, or refused with what can be had.

    ``neighbours`` says which two inputs of the victim are compared: "all", those at distance at most so much, or those
    of a list of pairs; the other users hold any inputs. It needs a metric: a table whose inputs are numbers or points,
    ``Laplace``, ``PlanarLaplace``. ``participation`` says who takes part (``symamp.participation``): lost and leaked
    reports, colluders, random numbers of users, batches, removal. Users who differ (``heterogeneous``) bring their
    number with them; ``victim`` asks for one group.

    Raises ArgumentError for arguments out of range, UndecidedOrderError if the decomposition cannot be proved,
    SupportMismatchError for a method that does not apply, PrecisionError for digits that cannot be had.

    Guarantee
    ---------
    For all neighbouring data sets of n users D_{e^eps} <= ``upper``, and for some pair of them it is >= ``lower``.
    Proof: docs/proofs/blanket_reduction.md, with docs/proofs/kernel_sandwich.md for the numbers.

    >>> import symamp as sa
    >>> sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps=0.1, method="blanket").upper
    8.2011...e-05
    """
    found = _profile(mechanism, n, method, neighbours, victim, participation)
    return found.delta(eps, gap=gap, digits=digits, effort=effort)


def epsilon(
    mechanism: Subject | HeterogeneousUsers,
    *,
    n: object = None,
    delta: object,
    method: str | None = None,
    gap: float = 1e-6,
    digits: int | None = None,
    effort: str = "default",
    victim: int | None = None,
    neighbours: object = ALL,
    participation: Participation | None = None,
) -> Answer:
    """Return a certified bracket of the least eps at which n shuffled users are (eps, delta)-private.

    ``delta`` in (0, 1) may be far below the smallest double (strings such as "1e-1000", Fractions and mpmath numbers
    are exact). ``gap`` is the relative width in delta aimed at; ``digits`` asks for digits of eps, at most 15.
    ``upper`` is inf if no eps suffices. The other arguments, and what is raised, are those of ``delta``.

    Guarantee
    ---------
    The shuffled mechanism is (``upper``, delta)-private, and for every eps < ``lower`` it is not (eps, delta)-private.
    Proof: docs/proofs/inversion.md, with docs/proofs/blanket_reduction.md and docs/proofs/kernel_sandwich.md.

    >>> import symamp as sa
    >>> sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**4, delta=1e-6).upper
    0.0232533...
    """
    found = _profile(mechanism, n, method, neighbours, victim, participation)
    return found.epsilon(delta, gap=gap, digits=digits, effort=effort)


def _profile(
    mechanism: Subject | HeterogeneousUsers,
    n: object,
    method: object,
    neighbours: object,
    victim: object,
    participation: Participation | None,
) -> Profile:
    if not isinstance(mechanism, HeterogeneousUsers):
        if victim is not None:
            raise ArgumentError("victim", Problem("all users run one mechanism"), "leave it out")
        return Profile(Question.of(mechanism, n, method, neighbours, participation))
    if participation is not None:
        given = Problem("users who differ say themselves who takes part")
        raise ArgumentError("participation", given, "take heterogeneous(..., honest=..., dropout=...)")
    for name, value in (("n", n), ("method", method)):
        if value is not None:
            raise ArgumentError(name, Problem("n follows from the groups, and there is one bound"), "leave it out")
    if neighbours != ALL:
        raise ArgumentError("neighbours", neighbours, f"{ALL!r} for users who differ, or mechanisms .near(neighbours)")
    return Profile(Question.of_users(mechanism, victim))


# The names of the analyses come from the registry: no second list of them can fall behind.
if delta.__doc__ is not None:
    delta.__doc__ = delta.__doc__.replace("METHODS", ", ".join(f'"{name}"' for name in BOUNDS))
