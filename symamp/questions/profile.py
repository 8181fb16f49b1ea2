"""The privacy profile of n shuffled users: prepared once for many questions."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import sympy as sp

from symamp.bounds.bound import Progress
from symamp.bounds.registry import BOUNDS, CandidateBounds, OnlyBound
from symamp.data_sets.search import DataSetSearch
from symamp.numbers.reading import Real, budget, listed
from symamp.numbers.surroundings import undisturbed
from symamp.public_names import PublicNames
from symamp.questions.answer import Answer
from symamp.questions.bracketing import Bracketing
from symamp.questions.curve import Curve
from symamp.settings.question import Query, Question


class OneRound(PublicNames):
    """One round of n shuffled users: what ``symamp.profile`` answers about it.

    ``progress`` is called with the number of pairs of inputs of a large table that are done, and of all.
    """

    _internal_names = "log_estimate_above"

    def __init__(self, question: Question, progress: Progress | None = None) -> None:
        self.question = question
        self.subject, self.n = question.subject, question.n
        if question.victims:
            self._victims: dict[int | None, Bracketing] = {
                v.number: Bracketing(question, OnlyBound(v.bound), DataSetSearch((v,)), v.compared_ratio())
                for v in question.victims
            }
            return
        is_proved = question.method is None or BOUNDS[question.method].proof_status.is_guarantee
        claimed = None if is_proved else CandidateBounds(self.subject, question.method)
        bounds = CandidateBounds(self.subject, question.method if is_proved else None, progress)
        ratio = self.subject.compared_ratio()
        self._victims = {None: Bracketing(question, bounds, DataSetSearch(self.subject), ratio, claimed)}

    @undisturbed()
    def delta(self, eps: Real, *, gap: Real = 1e-6, digits: int | None = None, effort: str = "default") -> Answer:
        """Return a certified bracket of delta at ``eps``; the arguments are those of ``symamp.delta``.

        Guarantee
        ---------
        For all neighbouring data sets of n users D_{e^eps} <= ``upper``, and for some pair of them it is >= ``lower``.
        Proof: docs/proofs/blanket_reduction.md, with docs/proofs/kernel_sandwich.md for the numbers.
        """
        return self.answer(Query.of_delta(eps, gap, digits, effort))

    @undisturbed()
    def epsilon(self, delta: Real, *, gap: Real = 1e-6, digits: int | None = None, effort: str = "default") -> Answer:
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

    def log_estimate_above(self, query: Query) -> float:
        """Return what the logarithm of the upper end of an answer for delta hardly exceeds. Not a bound."""
        return max(found.log_estimate_above(query) for found in self._victims.values())

    def curve(self, eps: Iterable[object], *, gap: Real = 1e-4, effort: str = "default") -> Curve:
        """Return certified brackets of delta at every eps of a grid.

        Each is that of ``delta`` with this ``gap`` and ``effort``. Only the bound over all data sets takes over
        parameters from points that were asked before: its ``upper`` may be above that of a single question by 0.3 % of
        delta, where many messages distinguish the inputs.

        >>> import symamp as sa
        >>> curve = sa.profile(sa.RandomizedResponse(k=3, eps0=1), n=1000).curve(eps=[0.05, 0.1])
        >>> bool((curve.lower <= curve.upper).all()), len(curve)
        (True, 2)
        """
        grid = listed(eps, "eps")
        budgets = [float(sp.N(budget(x), 17)) for x in grid]
        # Neighbours follow each other: they share what was searched for.
        order = sorted(range(len(grid)), key=lambda i: -budgets[i])
        answers = {i: self.delta(grid[i], gap=gap, effort=effort) for i in order}
        return Curve(repr(self.subject), self.n, tuple(answers[i] for i in range(len(grid))))

    def __repr__(self) -> str:
        method = "" if self.question.method is None else f", method={self.question.method!r}"
        return f"Profile({self.subject!r}, n={self.n}{method})"

    def _repr_html_(self) -> str:
        shown = getattr(self.subject, "_repr_html_", lambda: f"<code>{escape(repr(self.subject))}</code>")()
        method = self.question.method or "the least of all proved upper bounds"
        return f"<b>privacy profile</b> of n = {self.n:,} users, {escape(method)}<br>{shown}"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.question,)
