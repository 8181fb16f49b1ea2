"""One analysis by other means: an estimate, methods side by side, the law of the sum by FFT."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import mpmath
import numpy as np
from flint import arb

from symamp.bounds.reduction import Reduction, is_triple
from symamp.bounds.registry import CandidateBounds
from symamp.bounds.subject import Subject
from symamp.decompositions.printing import axes_for
from symamp.decompositions.to_law import level_of, number
from symamp.errors import ArgumentError, PrecisionError, Problem, checked_call, one_of
from symamp.formulas.order import sign
from symamp.laws.law import Floats, Level, ball_gparv, float_gparv
from symamp.numbers.dyadic import decimal_end, float_above, float_below
from symamp.numbers.rationals import fmpq_of
from symamp.numbers.reading import Count, Real, budget, digit_count, exact_number, relative_gap
from symamp.numbers.surroundings import at_precision, mpmath_at, undisturbed
from symamp.public_names import PublicNames
from symamp.questions.bracket import Interval, ShownAsText
from symamp.settings.question import Question
from symamp.sums.divergence import Settings, starting_precision
from symamp.sums.lattice import ENGINES, ErrorBudget, FftSettings, FftSum, Lattice, enclose_by_fft
from symamp.sums.other_methods import METHODS, Case, mpmath_divergence

# ------------------------------------ An estimate: a number without a guarantee, and never to be mistaken for an answer

_SYSTEMS = ("numpy", "mpmath")


@dataclass(frozen=True, repr=False)
class Estimate(ShownAsText):
    """The value of one analysis, computed in floats or in mpmath: rounding is kept small but is not bounded.

    >>> print(Estimate("delta", mpmath.mpf("8.2e-5"), "numpy", "blanket"))
    delta ~ 8.2e-5 (estimate by numpy, no guarantee; blanket)
    """

    quantity: str
    value: mpmath.mpf
    system: str
    method: str

    @property
    def log10(self) -> float:
        """log10 of the value."""
        return float(mpmath.log10(self.value))

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        shown = mpmath.nstr(self.value, 15)
        return f"{self.quantity} ~ {shown} (estimate by {self.system}, no guarantee; {self.method})"


@checked_call
@undisturbed()
def estimate(
    mechanism: Subject, *, n: Count, eps: Real, method: str = "blanket", system: str = "numpy", digits: int = 15
) -> Estimate:
    """Return the delta of one analysis without a guarantee: a quick look, or a second opinion to many digits.

    ``system`` is "numpy" (doubles) or "mpmath" (to about ``digits`` digits). The other arguments, and what is raised,
    are those of ``delta``.

    >>> import symamp as sa
    >>> sa.estimate(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps=0.1)
    <Estimate: delta ~ 8.2011...e-5 (estimate by numpy, no guarantee; blanket)>
    """
    question = Question.of(mechanism, n, method)
    level, wanted = level_of(budget(eps)), digit_count(digits)
    worst = worst_triple(question, level)
    if system == "numpy":
        with mpmath_at(86):
            value = mpmath.exp(mpmath.mpf(worst.log_estimate(level, question.n, Settings())))
    elif system == "mpmath":
        value = mpmath_divergence(worst.law, level, question.n, wanted)
    else:
        raise ArgumentError("system", system, one_of(_SYSTEMS, system))
    return Estimate("delta", value, system, worst.method)


def worst_triple(question: Question, level: Level) -> Reduction:
    """Return the triple of the question's analysis with the largest divergence, by float estimates.

    Raises ArgumentError for an analysis whose bound is no triple.
    """
    worst = CandidateBounds(question.subject, question.method).first.ranked(level, question.n, Settings())[0]
    if not is_triple(worst):
        raise ArgumentError("method", Problem(f"{worst.method} has no estimate"), "take blanket or finite_sandwich")
    return worst


# ---------------------------------- The same number by independent methods: a check that a user can run on any question


@checked_call
@undisturbed()
def method_check(mechanism: Subject, *, n: Count, eps: Real, method: str = "blanket") -> dict[str, Interval]:
    """Return enclosures of the delta of one analysis by every method that applies, by name.

    "compact kernel" and "gaussian kernel" always; "enumeration" for few positive outcomes; "exact" for rational laws
    and levels with few users. All of them are certified, so any two must overlap: PrecisionError if two do not, which
    would be an error of the program.

    Guarantee
    ---------
    Every interval contains the divergence of the reduction (not of the mechanism: that is what ``delta`` is for).
    Proof: docs/proofs/kernel_sandwich.md, docs/proofs/gaussian_sandwich.md, docs/proofs/enumeration.md.

    >>> import symamp as sa
    >>> sorted(method_check(sa.RandomizedResponse(k=2, eps0="log(3)"), n=8, eps="log(3/2)"))
    ['compact kernel', 'enumeration', 'exact', 'gaussian kernel']
    """
    question, level = Question.of(mechanism, n, method), level_of(budget(eps))
    law, n = worst_triple(question, level).law, question.n
    with at_precision(starting_precision(n, 1e-9) + 64):
        case = Case(law, level, n, float_gparv(law, level), ball_gparv(law, level))
        found = {name: ends for name, enclose in METHODS.items() if (ends := enclose(case)) is not None}
        _check_overlap(found)
        return {name: Interval(float_below(low), float_above(high)) for name, (low, high) in found.items()}


def _check_overlap(results: dict[str, tuple[arb, arb]]) -> None:
    for name, (low, _) in results.items():
        for other, (_, high) in results.items():
            if low > high:
                raise PrecisionError("method_check", Problem(f"{name} contradicts {other}"), "please report this")


# ----------------------------------------------------- The whole law of the sum behind a delta, by FFT, and its picture

_MOST_DRAWN = 2000
"""Points of a drawing: a rule of thumb."""


@dataclass(frozen=True)
class SumLaw(PublicNames):
    """The law of S = G_1 + ... + G_n on a lattice, and an enclosure of delta = E[S_+]/n + ``singular``.

    ``grid`` are the lattice points of a window, ``log_probabilities`` enclose the law on them, and ``outside`` says
    what mass is not accounted for. The lattice law is above G in the increasing convex order, and the law of G itself
    where all values are on the lattice. ``lower`` and ``upper`` enclose delta of G itself; ``budget`` says what parts
    of their distance come from the lattice, the wrap-around and rounding.

    Guarantee
    ---------
    If ``certified``, ``log_probabilities``, ``probability`` and ``outside`` enclose the law on the lattice.
    Proof: docs/proofs/fft.md, section 3.

    delta is that of one analysis, ``method``; what it says of the mechanism depends on its ``proof_status``.

    >>> import symamp as sa
    >>> found = sa.sum_law(sa.RandomizedResponse(k=2, eps0="log(3)"), n=8, eps="log(3/2)")
    >>> found.step, found.certified
    (0.5, True)
    >>> chance = found.probability(0.5)  # 21/4096
    >>> chance.lower <= 21 / 4096 <= chance.upper, chance.upper - chance.lower < 1e-15
    (True, True)
    >>> print(found)
    delta in [0.07611846923828..., 0.07611846923828...]  (n = 8, eps = log(3/2); blanket, proved; flint, step 0.5)
    """

    _internal_names = "context enclosure reduction"

    n: int
    eps: str
    method: str
    context: str
    reduction: Reduction = field(repr=False)
    _sum: FftSum = field(repr=False)

    @property
    def lower(self) -> float:
        """Lower end for delta, rounded down."""
        return max(0.0, float_below(self._sum.lower))

    @property
    def upper(self) -> float:
        """Upper end for delta, rounded up."""
        return min(1.0, float_above(self._sum.upper))

    @property
    def log10_bounds(self) -> tuple[float, float]:
        """log10 of both ends, rounded outward: right also below the smallest double."""
        with at_precision(self._sum.precision):
            low, high = self._sum.lower.lower(), self._sum.upper.upper()
            below = float_below(low.log() / arb.const_log10()) if low > 0 else -np.inf
            return below, float_above(high.log() / arb.const_log10()) if high > 0 else -np.inf

    @property
    def enclosure(self) -> tuple[arb, arb]:
        """Balls whose outer ends enclose delta."""
        return self._sum.lower, self._sum.upper

    @property
    def certified(self) -> bool:
        """Whether every operation was done in balls; if not, rounding is bounded under assumptions on libraries."""
        return self.context == "flint"

    @property
    def budget(self) -> ErrorBudget:
        """What lattice, wrap-around and rounding cost, relative to ``upper``."""
        return self._sum.budget

    @property
    def relative_gap(self) -> float:
        """(upper - lower)/upper."""
        return self._sum.relative_gap

    @property
    def step(self) -> float:
        """The distance of two lattice points."""
        return self._sum.step

    @cached_property
    def grid(self) -> Floats:
        """The lattice points of the window."""
        wrapped = self._sum.points.wrapped
        return self.step * np.arange(wrapped.first, wrapped.last + 1, dtype=np.float64)

    @property
    def log_probabilities(self) -> tuple[Floats, Floats]:
        """The natural logarithm of the probability of each point of ``grid``: bounds from below and from above.

        The bound from below is -inf where nothing is proved, the one from above where the sum cannot be.
        """
        return self._pointwise[:2]

    @property
    def outside(self) -> Interval:
        """How much of the law is not accounted for: 1 less what is proved to lie on the points of ``grid``."""
        lower, upper = self._pointwise[2:]
        with at_precision(self._sum.precision):
            return Interval(max(0.0, float_below(1 - upper)), min(1.0, float_above(1 - lower)))

    @undisturbed()
    def probability(self, x: object) -> Interval:
        """Return an enclosure of the probability of the lattice point nearest to x, also outside the window.

        Raises ArgumentError if x is not a real number.
        """
        place = number(exact_number(x, "x"))
        with at_precision(self._sum.precision):
            low, high = self._sum.points.at(int((place() / arb(self.step) + 0.5).mid().floor().unique_fmpz()))
            return Interval(max(0.0, float_below(low)), min(1.0, float_above(high)))

    def plot(self, ax: Any = None) -> Any:
        """Draw the law as a band between its bounds, and the part that makes delta; return the matplotlib Axes.

        Points for which nothing is proved are not drawn; the legend says what mass is not accounted for.
        """
        ax = axes_for(ax)
        x, below, above = self._outline()
        low, high = self.log10_bounds
        label = f"law of S, lattice of step {self.step:.3g}; mass not shown in {self.outside}"
        ax.fill_between(x, below, above, color="0.3", linewidth=1, label=label)
        tail = x > 0.0
        label = f"S > 0: log10 delta in [{decimal_end(low, 6, down=True)}, {decimal_end(high, 6, down=False)}]"
        least = below.min(initial=0.0)
        ax.fill_between(x[tail], least, below[tail], color="tab:red", alpha=0.4, linewidth=0, label=label)
        ax.axvline(0.0, color="tab:red", linewidth=1, linestyle="--", label="threshold")
        ax.set_xlabel(f"S, sum of n = {self.n:,} GPARVs at eps = {self.eps}")
        ax.set_ylabel("log10 P(S)")
        ax.legend()
        return ax

    @cached_property
    def _pointwise(self) -> tuple[Floats, Floats, arb, arb]:
        points = self._sum.points
        with at_precision(self._sum.precision):
            return points.in_doubles() if self.context == "numpy" else points.in_balls()

    def _outline(self) -> tuple[Floats, Floats, Floats]:
        """Return at most _MOST_DRAWN points (x, log10 P from below and above): of each run of points the likeliest."""
        lower, upper = self.log_probabilities
        run = -(-self.grid.size // _MOST_DRAWN)
        whole = self.grid.size // run * run
        best = np.arange(0, whole, run) + lower[:whole].reshape(-1, run).argmax(axis=1)
        seen = best[np.isfinite(lower[best])]
        return self.grid[seen], lower[seen] / np.log(10.0), upper[seen] / np.log(10.0)

    def _repr_html_(self) -> str:
        return f"<b>law of S</b> on {self.grid.size:,} lattice points: <code>{escape(str(self))}</code>"

    def __str__(self) -> str:
        claim = f"delta in [{self.lower!r}, {self.upper!r}]"
        if not self.certified:
            claim += ", rounding bounded under assumptions"
        what = f"{self.method}, {self.reduction.proof_status.value}; {self.context}, step {self.step:.4g}"
        return f"{claim}  (n = {self.n:,}, eps = {self.eps}; {what})"


@checked_call
@undisturbed()
def sum_law(
    mechanism: Subject,
    *,
    n: Count,
    eps: Real,
    method: str = "blanket",
    step: object = None,
    gap: Real = 1e-3,
    context: str = "flint",
    digits: int | None = None,
) -> SumLaw:
    """Return the law of the sum of n GPARVs on a lattice, with an enclosure of the delta of the method.

    ``context`` is "flint" (balls; certified) or "numpy" (doubles, up to four million lattice points, rounding
    bounded under assumptions). Without a ``step`` the coarsest lattice is searched on which the enclosure has
    relative width ``gap``: the number of points grows like sqrt(n/gap), so that this is for smaller n and larger gaps
    than ``delta``. Rational laws keep their own lattice where it is short enough; the width is then that of wrap-around
    and rounding, below 10^-``digits``.

    Raises ArgumentError for arguments out of range and for eps at which the sum is never positive; PrecisionError if
    the lattice gets too long for the context or the gap is not reached.

    Guarantee
    ---------
    With context "flint" the divergence of the reduction (not of the mechanism: that is what ``delta`` is for) lies
    between ``lower`` and ``upper``. Proof: docs/proofs/fft.md.

    >>> import symamp as sa
    >>> found = sa.sum_law(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps=0.1, context="numpy")
    >>> found.upper
    8.2011...e-05
    >>> found.relative_gap < 1e-3
    True
    """
    if not isinstance(context, str) or context not in ENGINES:
        raise ArgumentError("context", context, one_of(ENGINES, context))
    if digits is not None and context == "numpy":
        wrong = Problem("context='numpy' computes with doubles")
        raise ArgumentError("digits", wrong, "leave it out, or take context='flint'")
    question, level = Question.of(mechanism, n, method), level_of(budget(eps))
    users_ = question.n
    kept = None if digits is None else digit_count(digits)
    settings = FftSettings(context, relative_gap(gap), kept, None if step is None else _lattice(step))
    reduction = worst_triple(question, level)
    found = enclose_by_fft(reduction.law, level, users_, settings)
    return SumLaw(users_, str(eps), reduction.method, context, reduction, found)


def _lattice(step: object) -> Lattice:
    size = exact_number(step, "step")
    if sign(size, ()) <= 0:
        raise ArgumentError("step", step, "a number > 0")
    return Lattice(number(size), fmpq_of(size) if size.is_Rational else None)
