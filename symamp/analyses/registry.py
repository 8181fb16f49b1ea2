"""The analyses by name: which reductions give an upper bound, which a lower one."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from symamp.analyses.blanket_bound import blanket_reductions
from symamp.analyses.generic import generic_reduction
from symamp.analyses.reduction import Reduction
from symamp.analyses.standard_clone import standard_clone_reduction
from symamp.analyses.subject import Subject
from symamp.analyses.variation_ratio import corrected_reduction, printed_reduction
from symamp.derivation.local_budget import largest_ratio
from symamp.derivation.variation_parameters import VariationRatio
from symamp.errors import ArgumentError, SupportMismatchError
from symamp.mechanisms.mechanism import Mechanism
from symamp.mechanisms.pure_ldp import PureLDP

_GENERIC: dict[str, Callable[[sp.Expr], Reduction]] = {
    "generic": generic_reduction,
    "standard_clone": standard_clone_reduction,
}
_VARIATION: dict[str, Callable[[VariationRatio], Reduction]] = {
    "variation_ratio": corrected_reduction,
    "variation_ratio_2023": printed_reduction,
}
METHODS = ("blanket", *_GENERIC, *_VARIATION)


def upper_reductions(subject: Subject, method: str) -> tuple[Reduction, ...]:
    """Return the reductions whose largest divergence is the bound of the method.

    Raises ArgumentError for an unknown method, SupportMismatchError for a generic method without a finite budget.
    """
    if not isinstance(method, str) or method not in METHODS:
        raise ArgumentError("method", method, f"one of {', '.join(METHODS)}")
    if method == "blanket" and isinstance(subject, Mechanism):
        return blanket_reductions(subject)
    ratio = local_ratio(subject)
    if ratio is sp.oo:
        raise SupportMismatchError(
            "method", method, "method='blanket': a message has probability 0 on one input and not on another"
        )
    if method in _VARIATION:
        return (_VARIATION[method](subject.variation_ratio()),)
    # The blanket of "any randomizer" is that of the worst one, binary randomized response.
    return (_GENERIC.get(method, generic_reduction)(ratio),)


def local_ratio(subject: Subject) -> sp.Expr:
    """Return e^eps0, ``oo`` if there is no finite local budget."""
    return subject.local_ratio() if isinstance(subject, PureLDP) else largest_ratio(subject)
