"""The same number by independent methods: a check that a user can run on any question."""

from __future__ import annotations

from flint import arb

from symamp.bounds.subject import Subject
from symamp.decompositions.to_law import level_of
from symamp.errors import PrecisionError, Problem
from symamp.laws.law import ball_gparv, float_gparv
from symamp.numbers.dyadic import float_above, float_below
from symamp.numbers.reading import budget
from symamp.numbers.surroundings import at_precision, undisturbed
from symamp.questions.bracket import Interval
from symamp.questions.estimate import worst_triple
from symamp.settings.question import Question
from symamp.sums.divergence import starting_precision
from symamp.sums.evaluator import Case
from symamp.sums.evaluators import EVALUATORS


@undisturbed()
def method_check(mechanism: Subject, *, n: object, eps: object, method: str = "blanket") -> dict[str, Interval]:
    """Return enclosures of the delta of one analysis by every evaluator that applies, by name.

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
        found = {e.name: ends for e in EVALUATORS.values() if (ends := e.enclose(case)) is not None}
        _check_overlap(found)
        return {name: Interval(float_below(low), float_above(high)) for name, (low, high) in found.items()}


def _check_overlap(results: dict[str, tuple[arb, arb]]) -> None:
    for name, (low, _) in results.items():
        for other, (_, high) in results.items():
            if low > high:
                raise PrecisionError("method_check", Problem(f"{name} contradicts {other}"), "please report this")
