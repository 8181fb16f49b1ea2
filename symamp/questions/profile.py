"""The privacy profile of n shuffled users: prepared once, asked often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from functools import cached_property
from html import escape
from math import inf, sqrt
from operator import itemgetter

import sympy as sp
from flint import fmpq

from symamp.bounds.bound import ROUGH, Evidence, MaxOverPairs, PairBound, Progress, gap_of_largest, largest_upper
from symamp.bounds.registry import BOUNDS
from symamp.bounds.search import (
    LOOSE,
    CandidateBounds,
    Tried,
    attained_first,
)
from symamp.data_sets.search import DataSetSearch
from symamp.decompositions.to_law import level_of, log_above
from symamp.errors import PrecisionError, UndecidedOrderError
from symamp.formulas.order import sign
from symamp.laws.law import Level
from symamp.numbers.dyadic import INFINITE, ZERO, Dyadic
from symamp.numbers.reading import budget
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.numbers.work import QUESTION, is_spent, question, stage, was_limited, work_left
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval
from symamp.questions.curve import Curve
from symamp.questions.solve import epsilon_above, epsilon_below
from symamp.settings.question import Query, Question
from symamp.sums.divergence import KERNEL_GAP, Enclosure, Settings
from symamp.sums.inversion import LARGEST_EPS, log_of_ball

_ONE = Dyadic(1)
_NEAR = 1.0 + LOOSE
"""Ends so near to each other no dearer bound is tried for."""
_BELOW, _ABOVE, _MIXED, _AGAIN = 0.4, 0.8, 0.85, 0.5
"""The shares of the work of a question that are spent at most when the searches for data sets, for upper bounds and
for mixtures end, and what has to be left for more digits."""
_USUAL_DIGITS = 4
"""Digits of epsilon that are sought where none are asked for: near what is left of delta for large eps it is flat."""
_COUNTED = 1000
"""Up to so many users sums beyond the accuracy of kernels take little time."""
_FINER = 3
"""How often an epsilon is sought to a finer accuracy in delta."""


class Profile:
    """What ``symamp.profile`` answers about a single round.

    ``progress`` is told how many pairs of inputs of a large table are settled, and of how many.
    """

    def __init__(self, question: Question, progress: Progress | None = None) -> None:
        self.question = question
        self.subject, self.n = question.subject, question.n
        proof_status = None if question.method is None else BOUNDS[question.method].proof_status
        # What is no guarantee is shown beside the bracket, not as its end.
        self._claimed = (
            None
            if proof_status is None or proof_status.is_guarantee
            else CandidateBounds(self.subject, question.method)
        )
        self._ladder = CandidateBounds(self.subject, None if self._claimed else question.method, progress)
        self._below = DataSetSearch(self.subject)
        self._last: tuple[float, float] | None = None

    @undisturbed()
    def delta(self, eps: object, *, gap: float = 1e-6, digits: int | None = None) -> Answer:
        """Return a certified bracket of delta at ``eps``; the arguments are those of ``symamp.delta``.

        Guarantee
        ---------
        For all neighbouring data sets of n users D_{e^eps} <= ``upper``, and for some pair of them it is >= ``lower``.
        Proof: docs/proofs/blanket_reduction.md, with docs/proofs/kernel_sandwich.md for the numbers.
        """
        return self._answered(Query.of_delta(eps, gap, digits), self._delta)

    @undisturbed()
    def epsilon(self, delta: object, *, gap: float = 1e-6, digits: int | None = None) -> Answer:
        """Return a certified bracket of the least eps for ``delta``; the arguments are those of ``symamp.epsilon``.

        Guarantee
        ---------
        The shuffled mechanism is (``upper``, delta)-private, and for every eps < ``lower`` it is not
        (eps, delta)-private. Proof: docs/proofs/inversion.md, with docs/proofs/blanket_reduction.md.
        """
        return self._answered(Query.of_epsilon(delta, gap, digits), self._least_epsilon)

    def _answered(self, query: Query, ask: Callable[[Query], Answer]) -> Answer:
        """Return the answer, with the usual ends where those are nearer: not all bounds are had to digits."""
        with question(QUESTION if query.is_limited else inf):
            answer = ask(query)
        if query.digits is None or self.question.method is not None or answer.upper <= _NEAR * answer.lower:
            return answer
        with question():
            return answer.narrowed(ask(query.usual))

    def _delta(self, query: Query) -> Answer:
        if self._beyond_local_budget(query.given):
            return Answer(self.question, query, ZERO, ZERO, Interval(0.0, 0.0), limited=was_limited())
        beyond = float(sp.N(query.given, 15)) > LARGEST_EPS
        # The divergence decreases in eps: a smaller eps bounds it from above, its limit from below.
        level = level_of(sp.Integer(int(LARGEST_EPS))) if beyond else query.level
        with stage(_BELOW):
            low_value, best = self._below.largest_value(level, self.n)
        with stage(_ABOVE):
            tried = self._ladder.values(level, self.n, low_value, query.digits is not None)
        value, _, worst = tried[0]
        if low_value < value - LOOSE:
            with stage(_MIXED):
                low_value, best = self._below.largest_mixed_value(level, self.n, best)
        worst = attained_first(tried, LOOSE)[2]  # at eps = 0 bounds tie
        _, attained = self._below.attained_value(level, self.n, worst, best, low_value)
        above = self._values_above(level, query.settings, tried)
        below = (
            self._limit(best)
            if beyond
            else Evidence.of(attained, level, attained.enclose(level, self.n, query.settings)),
        )
        low, high = below[0].lower, largest_upper(above)
        low, high = (low if low.mantissa > 0 else ZERO), (_ONE if high.exceeds(fmpq(1)) else high)
        own = max((Evidence.of(e.part, "", self._at_limit(e.part)) if beyond else e).lower for e in above)
        claimed = None
        if self._claimed is not None:
            claimed = _outer(self._claimed.first.evidence(level, self.n, query.settings))
        enclosed = Interval(max(own, low).below, high.above)
        found = Answer(self.question, query, low, high, enclosed, above, below, claimed, was_limited())
        return found.checked()

    def _least_epsilon(self, query: Query) -> Answer:
        # Next to delta = 1 it is 1 - delta that tells eps; of many users kernels know no more than their least gap.
        gap = query.settings.gap
        near_one = gap * min(-2.0 * query.log_delta, 1.0)
        if near_one < gap:
            gap = max(near_one, 0.0 if self.n <= _COUNTED else min(gap, KERNEL_GAP))
        answer = self._epsilon(query, query.to_gap(gap))
        for _ in range(_FINER):
            missing = (query.digits or _USUAL_DIGITS) - answer.digits
            if missing <= 0 or not answer.evidence_above or gap_of_largest(answer.evidence_above) > gap:
                break
            if query.digits is None and answer.bound.lower <= 0.0:  # no accuracy of delta tells eps from 0
                break
            # Where delta falls slowly in eps, digits of eps take more of delta.
            gap *= 10.0**-missing
            left = work_left()
            if left < _AGAIN * QUESTION:
                break
            with question(left):
                finer = self._epsilon(query, query.to_gap(gap))
                if was_limited():
                    break
            answer = finer
        return answer.checked()

    def _epsilon(self, asked: Query, query: Query) -> Answer:
        """Return the bracket that certified evaluations to the accuracy of ``query`` give."""
        n, log_delta, settings = self.n, query.log_delta, query.settings
        claimed = None if self._claimed is None else self._own_epsilon(self._claimed.first, query)
        if self._no_user_exceeds(query.given):
            return Answer(self.question, asked, ZERO, ZERO, Interval(0.0, 0.0), (), (), claimed, was_limited())
        # Between answers of one profile eps grows about as the root of log(1/delta) does.
        start = None if self._last is None else self._last[0] * sqrt(log_delta / self._last[1])
        hopeless = self._below.never_below(n, query.given)
        with stage(_BELOW):
            low, best = (inf, hopeless) if hopeless else self._below.largest_root(n, log_delta, settings, start)
        with stage(_ABOVE):
            tried = self._ladder.roots(n, log_delta, settings, low, asked.digits is not None, best)
        guess, _, worst = tried[0]
        if low < (1.0 - LOOSE) * guess:
            with stage(_MIXED):
                low, best = self._below.largest_mixed_root(n, log_delta, settings, best, low)
        root, _, shown = attained_first(tried, LOOSE * guess if guess < inf else 0.0)
        low, attained = self._below.attained_root(n, log_delta, settings, shown, root, best, low)
        upper, above = self._epsilon_above(query, tried)
        if above and above[0].part is not worst:
            worst = above[0].part
            guess = worst.root(n, log_delta, settings, upper)
        upper, above = self._capped(upper, above)
        own = 0.0
        if not is_spent():
            with suppress(PrecisionError):
                own, _ = epsilon_below(worst, n, query, guess)
        lower, below = (inf, (self._limit(hopeless),)) if hopeless else epsilon_below(attained, n, query, low)
        self._last = (guess, log_delta)
        least, most = (INFINITE if x == inf else Dyadic.of_float(x) for x in (lower, upper))
        enclosed = Interval(max(own, min(lower, upper)), upper)
        return Answer(self.question, asked, least, most, enclosed, above, below, claimed, was_limited())

    def curve(self, eps: Iterable[object], *, gap: float = 1e-4) -> Curve:
        """Return certified brackets of delta at every eps of a grid.

        Each is that of ``delta`` with this ``gap``. Only the bound over all data sets takes over parameters from points
        that were asked before: its ``upper`` may be above that of a single question by 0.3 % of delta, where many
        messages tell the inputs apart.

        >>> import symamp as sa
        >>> curve = sa.profile(sa.RandomizedResponse(k=3, eps0=1), n=1000).curve(eps=[0.05, 0.1])
        >>> bool((curve.lower <= curve.upper).all()), len(curve)
        (True, 2)
        """
        grid = list(eps)
        budgets = [float(sp.N(budget(x), 17)) for x in grid]
        # Neighbours follow each other: they share what was searched for.
        answers = {i: self.delta(grid[i], gap=gap) for i in sorted(range(len(grid)), key=lambda i: -budgets[i])}
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

    @cached_property
    def _local_budget(self) -> float:
        return log_above(self.subject.compared_ratio())

    def _beyond_local_budget(self, eps: sp.Expr) -> bool:
        """Return whether no ratio between compared inputs is proved to exceed e^eps: then delta is exactly 0."""
        ratio = self.subject.compared_ratio()
        if ratio is sp.oo:
            return False
        try:
            return sign(sp.exp(eps) - ratio, ()) >= 0
        except UndecidedOrderError:
            return False

    @cached_property
    def _alone_at_zero(self) -> Evidence:
        """The divergence of one user alone at eps = 0, for the pair of inputs that estimates find worst."""
        zero = Level.of_float(0.0)
        worst = self._ladder.first.ranked(zero, 1)[0]
        return Evidence.of(worst, zero, worst.enclose(zero, 1, ROUGH))

    def _no_user_exceeds(self, target: fmpq) -> bool:
        """Return whether even one user alone has divergence <= delta at eps = 0; no number of users has more."""
        worst = self._alone_at_zero
        if not worst.is_at_most(target):
            return False
        every = self._ladder.first.evidence(Level.of_float(0.0), 1, ROUGH, target, worst.part)
        return all(e.is_at_most(target) for e in every)

    def _capped(self, eps: float, above: tuple[Evidence, ...]) -> tuple[float, tuple[Evidence, ...]]:
        """Return eps0 where that is less: (eps0, 0)-private without any shuffling."""
        return (self._local_budget, ()) if self._local_budget <= eps else (eps, above)

    def _values_above(self, level: Level, settings: Settings, tried: Sequence[Tried]) -> tuple[Evidence, ...]:
        """Return certified evaluations of the least bound, and of the next ones where it came out above these.

        Only some bounds are evaluated to any accuracy; so none of those that were tried is less.
        """
        best: tuple[Evidence, ...] = ()
        for value, bound, worst in tried:
            least = log_of_ball(largest_upper(best).ball) if best else inf
            if best and least <= value + LOOSE * (best[0].part.estimate_error == 0.0):
                break
            with nullcontext() if bound is self._ladder.first and not best else suppress(PrecisionError):
                found = bound.evidence(level, self.n, settings, None, worst)
                best = min((e for e in (best, found) if e), key=largest_upper)
        return best

    def _epsilon_above(self, query: Query, tried: Sequence[Tried]) -> tuple[float, tuple[Evidence, ...]]:
        """Return a certified upper bound on eps in the same way."""
        upper, above = inf, tuple[Evidence, ...]()
        for root, bound, worst in tried:
            if above and upper <= root * (1.0 + LOOSE * (above[0].part.estimate_error == 0.0)):
                break
            with nullcontext() if bound is self._ladder.first and not above else suppress(PrecisionError):
                upper, above = min((upper, above), epsilon_above(bound, worst, self.n, query, root), key=itemgetter(0))
        return upper, above

    def _own_epsilon(self, bound: MaxOverPairs, query: Query) -> Interval:
        """Return an enclosure of the eps that an analysis gives by itself."""
        root, worst = bound.root(self.n, query.log_delta, query.settings)
        high, _ = epsilon_above(bound, worst, self.n, query, root)
        low, _ = epsilon_below(worst, self.n, query, root)
        return Interval(low, high)

    def _limit(self, reduction: PairBound) -> Evidence:
        return Evidence.of(reduction, "inf", self._at_limit(reduction))

    def _at_limit(self, part: PairBound) -> Enclosure:
        with at_precision(256):
            limit = part.limit(self.n)
            return Enclosure(limit, limit, "limit of large eps", 256)


def _outer(evidence: tuple[Evidence, ...]) -> Interval:
    low, high = max(e.lower for e in evidence), largest_upper(evidence)
    return Interval(max(low.below, 0.0), high.above)
