"""The same number by independent methods: a check that a user can run on any question."""

from __future__ import annotations

import flint
from flint import arb

from symamp.amplification.estimate import worst_triple
from symamp.amplification.evidence import Interval
from symamp.amplification.question import Question
from symamp.analyses.subject import Subject
from symamp.derivation.crossing import level_of
from symamp.errors import PrecisionError
from symamp.evaluation.certified import certified_sum
from symamp.evaluation.divergence import ENUMERATE_AT_MOST, Settings, starting_precision
from symamp.evaluation.enumeration import count_outcomes, enumerated_sum
from symamp.evaluation.exact import exact_divergence
from symamp.evaluation.fast import float_sum
from symamp.evaluation.gaussian import gaussian_sum
from symamp.evaluation.gparv import ball_gparv, float_gparv
from symamp.numbers.arguments import budget
from symamp.numbers.rounding import float_above, float_below

_GAUSSIAN_GAP = 1e-5


def method_check(mechanism: Subject, *, n: object, eps: object, method: str = "blanket") -> dict[str, Interval]:
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
    users_, law = question.n, worst_triple(question, level).law
    found: dict[str, tuple[arb, arb]] = {}
    rough = float_gparv(law, level)
    with flint.ctx.workprec(starting_precision(users_, 1e-9) + 64):
        g = ball_gparv(law, level)
        if rough.is_positive:
            plan = float_sum(rough, users_, 1e-6, Settings().most_frequencies).plan
            found["compact kernel"] = certified_sum(g, users_, plan)
            coarse = float_sum(rough, users_, _GAUSSIAN_GAP, Settings().most_frequencies).plan
            width = coarse.window.length / coarse.terms / 8**0.5
            found["gaussian kernel"] = gaussian_sum(g, users_, coarse.window, width)
            if count_outcomes(rough, users_, ENUMERATE_AT_MOST // 10) <= ENUMERATE_AT_MOST // 10:
                value = enumerated_sum(g, users_)
                found["enumeration"] = (value, value)
        results = {name: (low / users_ + g.singular, high / users_ + g.singular) for name, (low, high) in found.items()}
        if law.rational is not None and level.rational is not None and users_ <= 12:
            value = arb(exact_divergence(law.rational, level.rational, users_))
            results["exact"] = (value, value)
        _check_overlap(results)
        return {name: Interval(float_below(low), float_above(high)) for name, (low, high) in results.items()}


def _check_overlap(results: dict[str, tuple[arb, arb]]) -> None:
    for name, (low, _) in results.items():
        for other, (_, high) in results.items():
            if low > high:
                raise PrecisionError("method_check", f"{name} above {other}", "enclosures that overlap")
