"""The privacy profile of n shuffled users, prepared once for many questions, and how one bracket is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from functools import cached_property
from html import escape
from math import inf, sqrt
from operator import itemgetter

import sympy as sp
from flint import fmpq

from symamp.bounds.bound import Evidence, PairBound, Progress, largest_upper
from symamp.bounds.registry import BOUNDS, FAR, LOOSE, CandidateBounds, OnlyBound, Tried, attained_first
from symamp.data_sets.search import DataSetSearch, attained
from symamp.decompositions.to_law import level_of, log_above
from symamp.errors import PrecisionError, UndecidedOrderError
from symamp.formulas.order import sign
from symamp.laws.law import Level
from symamp.numbers.dyadic import INFINITE, ZERO, Dyadic
from symamp.numbers.limits import Limits
from symamp.numbers.reading import Real, budget, listed
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.public_names import PublicNames
from symamp.questions.answer import Answer
from symamp.questions.bracket import Interval
from symamp.questions.curve import Curve
from symamp.questions.solve import epsilon_above, epsilon_below, own_bracket
from symamp.settings.question import Query, Question
from symamp.sums.divergence import KERNEL_GAP, ROUGH, Enclosure
from symamp.sums.inversion import LARGEST_EPS, log_of_ball

# ------------------------- The computation of one bracket: the smallest proved upper bound and the worst data set found

_ONE = Dyadic(1)

# What is tuned: time against width. bounds.registry.LOOSE says how near ends must be for slower bounds to be left out.
_BELOW, _ABOVE, _AGAIN = 0.4, 0.8, 0.5
"""The shares of the work of a question that are spent at most when the searches for data sets and for upper bounds end,
and what has to be left for more digits."""
_USUAL_DIGITS = 4
"""Digits of epsilon that are sought where none are asked for: near what is left of delta for large eps it is flat."""
_MOST_USERS_BEYOND_KERNELS = 1000
"""The most users for whom sums beyond the accuracy of kernels take little time."""
_FARTHER = 0.12
"""By which part of what is between the ends a rough estimate may be too small."""
_OF_ROOT = 0.96
"""Where less than this part of an estimated lower end is certified another data set is tried."""
_REFINEMENTS = 3
"""How often an epsilon is sought to a finer accuracy in delta."""


class Bracketing:
    """What brackets the privacy of a victim: candidate bounds above and data sets below, made once and kept.

    ``claimed`` is an analysis that is no guarantee: it is shown beside the bracket, and is not its end.
    """

    def __init__(
        self,
        question: Question,
        bounds: CandidateBounds,
        data_sets: DataSetSearch,
        ratio: sp.Expr,
        claimed: CandidateBounds | None = None,
    ) -> None:
        self.question, self.n = question, question.n
        self._ladder, self._below, self._ratio, self._claimed = bounds, data_sets, ratio, claimed
        self._last: tuple[float, float] | None = None

    def answer(self, query: Query) -> Answer:
        """Return the answer, with the usual ends where those are nearer: not all bounds are had to digits.

        Guarantee
        ---------
        Both ends are those that the question asks for: docs/proofs/inversion.md, docs/proofs/blanket_reduction.md.
        """
        ask = self._delta if query.quantity == "delta" else self._epsilon
        answer = ask(query.limited())
        if query.digits is None or self.question.method is not None or answer.upper <= (1.0 + LOOSE) * answer.lower:
            return answer
        return answer.narrowed(ask(query.usual.limited()))

    def log_estimate_above(self, query: Query) -> float:
        """Return what the logarithm of the upper end for delta hardly exceeds; -inf for zero. Not a bound."""
        settings = query.limited().settings
        low, _ = self._below.largest_value(query.level, self.n, settings.until(_BELOW))
        value, _, part = self._ladder.least_value(query.level, self.n, settings.until(_ABOVE), low)
        is_rough = part.estimate_error > 0.0 and low > -inf
        return value + (_FARTHER * max(value - low, 0.0) if is_rough else settings.gap)

    def _delta(self, query: Query) -> Answer:
        settings, limits = query.settings, query.settings.limits
        if self._beyond_local_budget(query.given):
            return Answer(self.question, query, ZERO, ZERO, Interval(0.0, 0.0))
        beyond = float(sp.N(query.given, 15)) > LARGEST_EPS
        # The divergence decreases in eps: a smaller eps bounds it from above, its limit from below.
        level = level_of(sp.Integer(int(LARGEST_EPS))) if beyond else query.level
        low_value, best = self._below.largest_value(level, self.n, settings.until(_BELOW))
        tried = self._ladder.values(level, self.n, settings.until(_ABOVE), low_value, query.digits is not None)
        worst = attained_first(tried, LOOSE)[2]  # at eps = 0 bounds tie

        def value(part: PairBound) -> float:
            return part.log_estimate(level, self.n, settings.usual)

        _, shown = attained(worst, level, self.n, (low_value, best), value)

        def certified(one: Tried) -> tuple[float, tuple[Evidence, ...]]:
            found = one[1].evidence(level, self.n, settings, None, one[2])
            return log_of_ball(largest_upper(found).ball), found

        above = self._least(tried, certified, is_log=True)[1]
        below = (self._limit(best) if beyond else Evidence.of(shown, level, shown.enclose(level, self.n, settings)),)
        low, high = below[0].lower, largest_upper(above)
        low, high = (low if low.mantissa > 0 else ZERO), (_ONE if high.exceeds(fmpq(1)) else high)
        own = max((Evidence.of(e.part, "", self._at_limit(e.part)) if beyond else e).lower for e in above)
        claimed = None
        if self._claimed is not None:
            claimed = _outer(self._claimed.first.evidence(level, self.n, settings))
        enclosed = Interval(max(own, low).below, high.above)
        found = Answer(self.question, query, low, high, enclosed, above, below, claimed, limits.was_met)
        return found.checked()

    def _epsilon(self, query: Query) -> Answer:
        # Next to delta = 1 it is 1 - delta that tells eps; of many users kernels know no more than their least gap.
        gap, limits = query.settings.gap, query.settings.limits
        near_one = gap * min(-2.0 * query.log_delta, 1.0)
        if near_one < gap:
            gap = max(near_one, 0.0 if self.n <= _MOST_USERS_BEYOND_KERNELS else min(gap, KERNEL_GAP))
        answer = self._to_gap(query, query.to_gap(gap))
        for _ in range(_REFINEMENTS):
            missing = (query.digits or _USUAL_DIGITS) - answer.digits
            if missing <= 0 or answer.gap_of_evidence > gap:
                break
            if answer.evidence_above and answer.evidence_above[0].part.estimate_error > 0.0:  # nor is it nearer then
                break
            if query.digits is None and answer.bound.lower <= 0.0:  # no accuracy of delta tells eps from 0
                break
            # Where delta falls slowly in eps, digits of eps take more of delta.
            gap *= 10.0**-missing
            if limits.left < _AGAIN * limits.most and query.digits is None:
                break
            again = Limits(max(limits.left, _AGAIN * limits.most), patience=limits.patience)
            finer = self._to_gap(query, query.to_gap(gap).under(again))
            limits.charge(again.spent)
            if again.was_met:
                break
            answer = finer
        return answer.checked()

    def _to_gap(self, asked: Query, query: Query) -> Answer:
        """Return the bracket that certified evaluations to the accuracy of ``query`` give."""
        n = self.n
        log_delta, settings, limits = query.log_delta, query.settings, query.settings.limits
        if self._no_user_exceeds(query):
            exact, claimed = Interval(0.0, 0.0), self._said_by_claim(query)
            return Answer(self.question, asked, ZERO, ZERO, exact, (), (), claimed, limits.was_met)
        # Between answers of one profile eps grows about as the root of log(1/delta) does.
        start = None if self._last is None else self._last[0] * sqrt(log_delta / self._last[1])
        hopeless = self._below.never_below(n, query.given) if self._ratio is sp.oo else None
        low, best = inf, hopeless
        if best is None:
            low, best = self._below.largest_root(n, log_delta, settings.until(_BELOW), start)
        ask = (n, log_delta, settings.until(_ABOVE), low, asked.digits is not None, best)
        tried = self._ladder.roots(*ask)
        guess, _, worst = tried[0]
        root, _, shown = attained_first(tried, LOOSE * guess if guess < inf else 0.0)
        lowest: tuple[float, PairBound] = low, best
        if 0.0 < root < inf:
            at = Level.of_float(root)
            lowest = attained(shown, at, n, lowest, lambda part: part.root(n, log_delta, settings, root))

        found: dict[tuple[int, float], tuple[float, tuple[Evidence, ...]]] = {}

        def certified(one: Tried) -> tuple[float, tuple[Evidence, ...]]:
            guessed, bound, part = one
            if (id(bound), guessed) not in found:
                found[id(bound), guessed] = epsilon_above(bound, part, n, query, guessed)
            return found[id(bound), guessed]

        upper, above = self._least(tried, certified, is_log=False)
        if 0.0 < guess <= (1.0 + FAR) * low < upper:  # bounds that are farther were left out
            with suppress(PrecisionError) if above else nullcontext():
                every = self._least(self._ladder.roots(*ask, every=True), certified, is_log=False)
                upper, above = min((upper, above), every, key=itemgetter(0))
        if above and above[0].part is not worst:
            worst = above[0].part
            guess = worst.root(n, log_delta, settings, upper)
        upper, above = self._capped(upper, above)
        own = 0.0
        if asked.digits is not None or not limits.is_spent():
            with suppress(PrecisionError):
                own, _ = epsilon_below(worst, n, query, guess)
        lower, below = (inf, (self._limit(hopeless),)) if hopeless else self._proved_below(*lowest, query)
        claimed = self._said_by_claim(query)
        self._last = (guess, log_delta)
        least, most = (INFINITE if x == inf else Dyadic.of_float(x) for x in (lower, upper))
        enclosed = Interval(max(own, min(lower, upper)), upper)
        return Answer(self.question, asked, least, most, enclosed, above, below, claimed, limits.was_met)

    def _proved_below(self, root: float, part: PairBound, query: Query) -> tuple[float, tuple[Evidence, ...]]:
        """Return what is certified of a data set, or of another where sums on a lattice say little of it."""
        found = epsilon_below(part, self.n, query, root)
        if root == inf or found[0] > _OF_ROOT * root:
            return found
        level, log_delta, settings = Level.of_float(found[0]), query.log_delta, query.settings
        other = self._below.other_above(level, self.n, log_delta, settings, part)
        if other is None:
            return found
        again = epsilon_below(other, self.n, query, other.root(self.n, log_delta, settings, root))
        return max(found, again, key=itemgetter(0))

    @cached_property
    def _local_budget(self) -> float:
        return log_above(self._ratio)

    def _beyond_local_budget(self, eps: sp.Expr) -> bool:
        """Return whether no ratio between compared inputs is proved to exceed e^eps: then delta is exactly 0."""
        ratio = self._ratio
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
        worst = self._ladder.first.ranked(zero, 1, ROUGH)[0]
        return Evidence.of(worst, zero, worst.enclose(zero, 1, ROUGH))

    def _no_user_exceeds(self, query: Query) -> bool:
        """Return whether even one user alone has divergence <= delta at eps = 0; no number of users has more."""
        worst = self._alone_at_zero
        if not worst.is_at_most(query.given):
            return False
        every = self._ladder.first.evidence(Level.of_float(0.0), 1, query.settings.rough, query.given, worst.part)
        return all(e.is_at_most(query.given) for e in every)

    def _capped(self, eps: float, above: tuple[Evidence, ...]) -> tuple[float, tuple[Evidence, ...]]:
        """Return eps0 where that is less: (eps0, 0)-private without any shuffling."""
        return (self._local_budget, ()) if self._local_budget <= eps else (eps, above)

    def _least(
        self, tried: Sequence[Tried], ask: Callable[[Tried], tuple[float, tuple[Evidence, ...]]], is_log: bool
    ) -> tuple[float, tuple[Evidence, ...]]:
        """Return what is certified of the least bound, and of the next ones where it came out above these.

        Only some bounds are evaluated to any accuracy; so none of those that were tried is less.
        """
        least, above = inf, tuple[Evidence, ...]()
        for one in tried:
            slack = LOOSE * (1.0 if is_log else one[0])
            if above and least <= one[0] + slack * (above[0].part.estimate_error == 0.0):
                break
            with nullcontext() if one[1] is self._ladder.first and not above else suppress(PrecisionError):
                least, above = min((least, above), ask(one), key=itemgetter(0))
        return least, above

    def _said_by_claim(self, query: Query) -> Interval | None:
        return None if self._claimed is None else Interval(*own_bracket(self._claimed.first, self.n, query))

    def _limit(self, reduction: PairBound) -> Evidence:
        return Evidence.of(reduction, "inf", self._at_limit(reduction))

    def _at_limit(self, part: PairBound) -> Enclosure:
        with at_precision(256):
            limit = part.limit(self.n)
            return Enclosure(limit, limit, "limit of large eps", 256)


def _outer(evidence: tuple[Evidence, ...]) -> Interval:
    low, high = max(e.lower for e in evidence), largest_upper(evidence)
    return Interval(max(low.below, 0.0), high.above)


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
