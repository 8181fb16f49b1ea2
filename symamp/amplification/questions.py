"""The questions people ask: the central epsilon, or delta, of n shuffled users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Literal, overload

import mpmath
import sympy as sp
from flint import arb, fmpq

from symamp.algebra.order import sign
from symamp.amplification.answer import Answer, DataSets, Evidence, Interval, Question
from symamp.amplification.estimate import Estimate
from symamp.analyses.convex_order import is_worse
from symamp.analyses.lower_bounds import lower_reductions, mixed_lower_reductions
from symamp.analyses.reduction import Reduction, level_of, number
from symamp.analyses.registry import local_ratio, upper_reductions
from symamp.analyses.subject import Subject
from symamp.errors import ArgumentError, UndecidedOrderError
from symamp.evaluation.divergence import Enclosure, Settings, enclose_divergence, estimate_log_divergence
from symamp.evaluation.inversion import (
    LARGEST_EPS,
    certify_above,
    certify_below,
    estimate_epsilon,
    largest_epsilon,
    limit_divergence,
    log_of,
    one_user_divergence,
)
from symamp.evaluation.law import Level
from symamp.evaluation.second_opinion import mpmath_divergence
from symamp.mechanisms.mechanism import Mechanism
from symamp.mechanisms.pure_ldp import PureLDP
from symamp.numbers.arguments import budget, digit_count, failure_probability, relative_gap, users
from symamp.numbers.precision import working_precision
from symamp.numbers.rounding import float_above, float_below

if TYPE_CHECKING:
    from symamp.amplification.sum_law import SumLaw

_ROUGH = Settings(gap=1e-3, most_frequencies=2_000)
"""Accuracy at which candidates are compared: only the best one is evaluated with care."""
_FFT_GAP = 1e-3
"""What a lattice reaches at moderate length; for more, ``sum_law`` takes the gap and the step."""
_LOOSE = 1e-3
"""Relative gap between the bounds from which on mixtures of inputs are searched, too."""


@overload
def delta(  # type: ignore[overload-overlap]
    mechanism: Subject,
    *,
    n: object,
    eps: object,
    method: Literal["fft"],
    gap: float = ...,
    digits: int | None = ...,
    context: str = ...,
) -> SumLaw: ...


@overload
def delta(
    mechanism: Subject,
    *,
    n: object,
    eps: object,
    method: str = ...,
    gap: float = ...,
    digits: int | None = ...,
    context: Literal["flint"] = ...,
) -> Answer: ...


@overload
def delta(
    mechanism: Subject,
    *,
    n: object,
    eps: object,
    method: str = ...,
    gap: float = ...,
    digits: int | None = ...,
    context: str,
) -> Answer | Estimate: ...


def delta(
    mechanism: Subject,
    *,
    n: object,
    eps: object,
    method: str = "blanket",
    gap: float = 1e-6,
    digits: int | None = None,
    context: str = "flint",
) -> Answer | Estimate | SumLaw:
    """Return a certified bracket of delta: the shuffled mechanism is (eps, upper)-private, not (eps, < lower).

    ``eps`` is a number >= 0 (an int, float, Fraction, string or exact SymPy number), ``n`` the number of users, the
    victim included, ``gap`` the relative width aimed at for the enclosure of the method's own bound. ``method`` is
    "blanket" (optimal decomposition), "generic" (any randomizer of the same budget), "standard_clone",
    "variation_ratio" (corrected), or "variation_ratio_2023" (as printed: refuted, ``upper`` is then no guarantee).

    "fft" is another engine for the blanket: it returns the whole law of the sum, see ``sum_law``.

    ``digits`` asks for so many digits of the method's bound instead of a gap: all of them where the outcomes can be
    enumerated or the law is rational and n small, elsewhere as many as the kernel gives; ``Answer.digits`` says how
    many are proved. ``context`` is "flint" (balls: the certified answer), "numpy" or "mpmath": an ``Estimate`` of the
    method's bound without a guarantee, in doubles or to ``digits`` digits (15 if left out).

    Raises ArgumentError for arguments out of range, UndecidedOrderError if the decomposition cannot be proved,
    SupportMismatchError for a generic method without a finite local budget.

    Guarantee
    ---------
    For all neighbouring data sets of n users D_{e^eps} <= ``upper``, and for some pair of them it is >= ``lower``.
    Proof: docs/proofs/blanket_reduction.md, with docs/proofs/kernel_sandwich.md for the numbers.

    >>> import symamp as sa
    >>> sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps=0.1).upper
    8.2011...e-05
    """
    if isinstance(method, str) and method == "fft":
        from symamp.amplification.sum_law import sum_law  # that module builds on this one

        return sum_law(mechanism, n=n, eps=eps, gap=max(relative_gap(gap), _FFT_GAP), digits=digits, context=context)
    subject = _checked(mechanism)
    users_, level_number = users(n), budget(eps)
    settings = Settings(gap=relative_gap(gap)) if digits is None else Settings.of_digits(digit_count(digits))
    uppers = upper_reductions(subject, method)
    if context != "flint":
        return _estimated(uppers, level_of(level_number), users_, context, 15 if digits is None else digits)
    given = {"eps": str(eps)}
    question = Question(subject, level_number, tuple(uppers))
    if _beyond_local_budget(subject, level_number):
        return _exact(question, "delta", 0.0, users_, given)
    beyond = float(sp.N(level_number, 15)) > LARGEST_EPS
    # The divergence decreases in eps: a smaller eps bounds it from above, its limit from below.
    level = level_of(sp.Integer(int(LARGEST_EPS)) if beyond else level_number)
    above = _worst_above(uppers, level, users_, settings)
    best, low_value = _largest_divergence(lower_reductions(subject), level, users_)
    if low_value < estimate_log_divergence(above[0].reduction.law, level, users_, _ROUGH) - _LOOSE:
        best, _ = _largest_divergence([best, *mixed_lower_reductions(subject)], level, users_)
    if beyond:
        with working_precision(256):
            limit = limit_divergence(best.law, users_)
            below = Evidence(best, "inf", Enclosure(limit, limit, "limit of large eps", 256))
    else:
        below = Evidence(best, level.text, enclose_divergence(best.law, level, users_, settings))
    with working_precision(256):
        low = below.enclosure.lower.max(arb(0)).lower()
        high = _largest([e.enclosure.upper.upper() for e in above]).min(arb(1)).upper()
        lows = [limit_divergence(e.reduction.law, users_) if beyond else e.enclosure.lower for e in above]
        method_low = _largest([x.lower() for x in lows]).max(arb(0))
        return Answer(
            "delta",
            float_below(low),
            float_above(high),
            Interval(float_below(method_low), float_above(high)),
            users_,
            given,
            above[0].reduction.method,
            above[0].reduction.standing,
            above[0].reduction.source,
            above[0].reduction.pair,
            _datasets(best),
            tuple(above),
            (below,),
            repr(subject),
            (low, high),
            question,
        )


def epsilon(mechanism: Subject, *, n: object, delta: object, method: str = "blanket", gap: float = 1e-6) -> Answer:
    """Return a certified bracket of the least eps at which n shuffled users are (eps, delta)-private.

    ``delta`` in (0, 1) may be far below the smallest double (strings such as "1e-1000", Fractions and mpmath numbers
    are exact). ``gap`` is the relative width in delta aimed at. ``upper`` is inf if no eps suffices. The other
    arguments, and what is raised, are those of ``delta``.

    Guarantee
    ---------
    The shuffled mechanism is (``upper``, delta)-private, and for every eps < ``lower`` it is not (eps, delta)-private.
    Proof: docs/proofs/inversion.md, with docs/proofs/blanket_reduction.md and docs/proofs/kernel_sandwich.md.

    >>> import symamp as sa
    >>> sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**4, delta=1e-6).upper
    0.0232533...
    """
    subject = _checked(mechanism)
    users_, target = users(n), failure_probability(delta)
    settings = Settings(gap=relative_gap(gap))
    uppers = upper_reductions(subject, method)
    given = {"delta": str(delta)}
    question = Question(subject, target, tuple(uppers))
    log_delta = log_of(target)

    if _is_trivial(uppers, target):
        return _exact(question, "epsilon", 0.0, users_, given)
    guess, worst = _largest_root(uppers, users_, log_delta, settings)
    upper, above = _epsilon_above(subject, uppers, worst, users_, target, guess, settings)
    method_low, _ = _below(worst, users_, target, guess, settings)

    candidates = list(lower_reductions(subject))
    low_guess, best = _largest_root(candidates, users_, log_delta, settings, start=guess)
    if low_guess < (1.0 - _LOOSE) * guess:
        mixed = [*mixed_lower_reductions(subject), best]
        low_guess, best = _largest_root(mixed, users_, log_delta, settings, start=low_guess)
    hopeless = next((c for c in candidates if _never_below(c, users_, target)), None)
    best, low_guess = (best, low_guess) if hopeless is None else (hopeless, inf)
    lower, below = _below(best, users_, target, low_guess, settings) if hopeless is None else (inf, ())
    return Answer(
        "epsilon",
        lower,
        upper,
        Interval(method_low, upper),
        users_,
        given,
        worst.method,
        worst.standing,
        worst.source,
        worst.pair,
        _datasets(best),
        above,
        below,
        repr(subject),
        question=question,
    )


def _estimated(uppers: Sequence[Reduction], level: Level, n: int, context: str, digits: int) -> Estimate:
    worst = _by_divergence(uppers, level, n)[0]
    if context == "numpy":
        with mpmath.workdps(25):
            value = mpmath.exp(mpmath.mpf(estimate_log_divergence(worst.law, level, n)))
    elif context == "mpmath":
        value = mpmath_divergence(worst.law, level, n, digits)
    else:
        raise ArgumentError("context", context, "one of flint, numpy, mpmath")
    return Estimate("delta", value, context, worst.method)


def worst_reduction(mechanism: Subject, method: str, level: Level, n: int) -> Reduction:
    """Return the reduction of a method with the largest divergence, by float estimates."""
    return _by_divergence(upper_reductions(_checked(mechanism), method), level, n)[0]


def _checked(mechanism: object) -> Subject:
    if not isinstance(mechanism, Mechanism | PureLDP):
        raise ArgumentError("mechanism", type(mechanism).__name__, "a mechanism of symamp")
    if mechanism.parameters:
        free = [p.name for p in mechanism.parameters]
        told = f"numbers for all parameters: --{free[0]} ... on the command line, .at({free[0]}=...) in Python"
        raise ArgumentError("mechanism", f"{mechanism!r} with {', '.join(free)} free", told)
    ratio = local_ratio(mechanism)
    if ratio is not sp.oo:
        with working_precision(64):
            if number(ratio)().log() > LARGEST_EPS:
                raise ArgumentError("mechanism", repr(mechanism), f"a local budget of at most {LARGEST_EPS:g}")
    return mechanism


def _beyond_local_budget(subject: Subject, eps: sp.Expr) -> bool:
    """Return whether eps >= eps0 is proved: then delta is exactly 0."""
    ratio = local_ratio(subject)
    if ratio is sp.oo:
        return False
    try:
        return sign(sp.exp(eps) - ratio, ()) >= 0
    except UndecidedOrderError:
        return False


def _exact(question: Question, quantity: str, value: float, n: int, given: dict[str, str]) -> Answer:
    reduction = question.uppers[0]
    return Answer(
        quantity,
        value,
        value,
        Interval(value, value),
        n,
        given,
        reduction.method,
        reduction.standing,
        reduction.source,
        None,
        None,
        subject=repr(question.subject),
        question=question,
    )


def _worst_above(uppers: Sequence[Reduction], level: Level, n: int, settings: Settings) -> list[Evidence]:
    """Return certified evaluations of all classes of pairs not proved better than the first, the worst."""
    order = _by_divergence(uppers, level, n)
    worst, *others = order
    found = [Evidence(worst, level.text, enclose_divergence(worst.law, level, n, settings))]
    for other in others:
        if not is_worse(worst.decomposition, other.decomposition, level):
            found.append(Evidence(other, level.text, enclose_divergence(other.law, level, n, settings)))
    return found


def _by_divergence(reductions: Iterable[Reduction], level: Level, n: int) -> list[Reduction]:
    """Return the reductions, largest estimated divergence first, without repeated component lists."""
    distinct = _distinct(reductions)
    if len(distinct) == 1:
        return distinct
    value = {id(r): estimate_log_divergence(r.law, level, n, _ROUGH) for r in distinct}
    return sorted(distinct, key=lambda r: -value[id(r)])


def _distinct(reductions: Iterable[Reduction]) -> list[Reduction]:
    first: dict[object, Reduction] = {}
    for reduction in reductions:
        first.setdefault(reduction.decomposition.signature(), reduction)
    return list(first.values())


def _largest_divergence(candidates: Iterable[Reduction], level: Level, n: int) -> tuple[Reduction, float]:
    best = _by_divergence(candidates, level, n)[0]
    return best, estimate_log_divergence(best.law, level, n, _ROUGH)


def _largest_root(
    reductions: Iterable[Reduction], n: int, log_delta: float, settings: Settings, start: float | None = None
) -> tuple[float, Reduction]:
    """Return (eps, reduction) with the largest estimated eps at which a reduction has divergence delta."""
    distinct = _distinct(reductions)
    if start is not None and 0.0 < start < inf:
        distinct = _by_divergence(distinct, Level.of_float(start), n)
    best, root = distinct[0], estimate_epsilon(distinct[0].law, n, log_delta, settings, start)
    for other in distinct[1:]:
        if root == inf:
            break
        if estimate_log_divergence(other.law, Level.of_float(root), n, _ROUGH) > log_delta - _ROUGH.gap:
            candidate = estimate_epsilon(other.law, n, log_delta, settings, root)
            if candidate > root:
                best, root = other, candidate
    return root, best


def _epsilon_above(
    subject: Subject,
    uppers: Sequence[Reduction],
    worst: Reduction,
    n: int,
    target: fmpq,
    guess: float,
    settings: Settings,
) -> tuple[float, tuple[Evidence, ...]]:
    """Return a certified upper bound on eps with its evidence."""
    if guess == 0.0:
        at_zero = _worst_above(uppers, Level.of_float(0.0), n, settings)
        if all(e.enclosure.is_at_most(target) for e in at_zero):
            return 0.0, tuple(at_zero)
    eps, enclosures = certify_above([worst.law], n, target, guess, settings)
    evidence = _evidence([worst], eps, enclosures)
    if eps < inf:
        level = Level.of_float(eps)
        rest = [u for u in uppers if u is not worst and not is_worse(worst.decomposition, u.decomposition, level)]
        if rest:
            eps, enclosures = certify_above([u.law for u in (worst, *rest)], n, target, eps, settings)
            evidence = _evidence([worst, *rest], eps, enclosures)
    ratio = local_ratio(subject)
    if ratio is not sp.oo:
        with working_precision(128):
            cap = float_above(number(sp.log(ratio))())
        if cap <= eps:
            return cap, ()  # (eps0, 0)-private without any shuffling
    return eps, evidence


def _below(
    reduction: Reduction, n: int, target: fmpq, guess: float, settings: Settings
) -> tuple[float, tuple[Evidence, ...]]:
    """Return a certified lower bound on the eps at which the reduction has divergence delta."""
    if guess in (0.0, inf):  # inf: not proved
        return 0.0, ()
    eps, enclosures = certify_below(reduction.law, n, target, guess, settings)
    return eps, _evidence([reduction], eps, enclosures)


def _is_trivial(uppers: Sequence[Reduction], target: fmpq) -> bool:
    """Return whether even one user alone has divergence <= delta at eps = 0; no number of users has more."""
    with working_precision(128):
        return all(one_user_divergence(u.law, Level.of_float(0.0)) <= arb(target) for u in uppers)


def _never_below(reduction: Reduction, n: int, target: fmpq) -> bool:
    """Return whether the divergence stays above delta for every eps, proved."""
    if largest_epsilon(reduction.law) < inf:
        return False
    with working_precision(256):
        return bool(limit_divergence(reduction.law, n) > arb(target))


def _evidence(reductions: Sequence[Reduction], eps: float, enclosures: Sequence[Enclosure]) -> tuple[Evidence, ...]:
    text = Level.of_float(eps).text if eps < inf else "inf"
    return tuple(Evidence(r, text, e) for r, e in zip(reductions, enclosures, strict=False))


def _datasets(reduction: Reduction) -> DataSets:
    return DataSets(*reduction.pair, tuple((x, str(w)) for x, w in reduction.dataset), reduction.member)


def _largest(values: Sequence[arb]) -> arb:
    result = values[0]
    for value in values[1:]:
        result = result.max(value)
    return result
