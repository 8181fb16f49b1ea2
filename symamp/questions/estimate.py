"""An estimate: a number without a guarantee, and never to be mistaken for an answer."""

from __future__ import annotations

from dataclasses import dataclass

import mpmath

from symamp.bounds.reduction import Reduction, is_triple
from symamp.bounds.search import CandidateBounds
from symamp.bounds.subject import Subject
from symamp.decompositions.to_law import level_of
from symamp.errors import ArgumentError, Problem
from symamp.laws.law import Level
from symamp.numbers.reading import budget, digit_count
from symamp.numbers.surroundings import mpmath_at, undisturbed
from symamp.questions.bracket import ShownAsText
from symamp.settings.question import Question
from symamp.sums.divergence import Settings
from symamp.sums.other_methods import mpmath_divergence

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


@undisturbed()
def estimate(
    mechanism: Subject,
    *,
    n: object,
    eps: object,
    method: str = "blanket",
    system: str = "numpy",
    digits: int = 15,
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
        raise ArgumentError("system", system, f"one of {', '.join(_SYSTEMS)}")
    return Estimate("delta", value, system, worst.method)


def worst_triple(question: Question, level: Level) -> Reduction:
    """Return the triple of the question's analysis with the largest divergence, by float estimates.

    Raises ArgumentError for an analysis whose bound is no triple.
    """
    worst = CandidateBounds(question.subject, question.method).first.ranked(level, question.n, Settings())[0]
    if not is_triple(worst):
        raise ArgumentError("method", Problem(f"{worst.method} has no estimate"), "take blanket or finite_sandwich")
    return worst
