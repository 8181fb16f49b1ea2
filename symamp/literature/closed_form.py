"""A closed form: a bound that the literature gives as a formula in the local budget, n and delta (or eps)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import sympy as sp
from flint import arb, fmpq

from symamp.bounds.bound import MaxOverPairs
from symamp.bounds.hypotheses import BUDGET, Hypothesis, ProofStatus, Statement, every
from symamp.bounds.reduction import is_triple
from symamp.bounds.registry import BOUNDS
from symamp.bounds.subject import Subject
from symamp.decompositions.to_law import number
from symamp.laws.law import Law
from symamp.numbers.dyadic import float_above
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.questions.solve import bisected

_LARGEST_LOG10 = 10.0**12  # of 1/delta below which nothing is sought
_MOST_PAIRS = 64  # of inputs: formulas with laws are evaluated for each
_SMALLEST_EPS = 1e-300  # at which a formula is evaluated
_MOST_TRIES = 200  # of smaller values, a quarter of a doubling each
_TOPS = (-1e-3, -0.05, -0.31, -0.61, -1.0, -1.5, -2.001, -3.0, -4.0, -6.0, -9.0, -12.0, -20.0)
"""log10 of the deltas from which a search starts: some theorems ask for a small delta, others for a large one."""


class Provenance(Enum):
    """Where a formula was read."""

    PRINT = "read in the paper"
    CODE = "read in the authors' code"
    RESTATED = "read where another paper restates it"
    RECALLED = "formula not checked against the paper"


@dataclass(frozen=True)
class Condition:
    """A condition of a theorem, and whether it is proved to hold at the point."""

    text: str
    met: bool


@dataclass(frozen=True)
class Setting:
    """A subject and a number of users, as balls at the ambient precision."""

    subject: Subject
    n: int

    @property
    def t(self) -> arb:
        """e^eps0."""
        return number(self.subject.local_ratio())()

    @property
    def eps0(self) -> arb:
        """The local budget."""
        return self.t.log()

    @property
    def variation(self) -> tuple[arb, arb, arb]:
        """(p, beta, q) of Wang (2023)."""
        p, beta, q = self.subject.variation_ratio()
        return number(p)(), number(beta)(), number(q)()

    @property
    def laws(self) -> tuple[Law, ...]:
        """The laws of the blanket, one for each class of pairs; those of binary response where it is not known."""
        found = few_laws(self.subject)
        assert found is not None
        return found


def few_laws(subject: Subject, generic: bool = False) -> tuple[Law, ...] | None:
    """Return the laws of the blanket's parts, of binary response's where only a budget is known; None if too many."""
    bound = BOUNDS["generic" if generic or subject.mechanism is None else "blanket"]
    if bound.name == "blanket" and subject.mechanism is not None and subject.mechanism.numeric is not None:
        size = len(subject.mechanism.inputs)
        if size * (size - 1) > _MOST_PAIRS:
            return None
    found = bound.bound(subject)
    laws = [part.law for part in MaxOverPairs.of(found.parts).parts if is_triple(part)]
    return None if any(law.singular for law in laws) else tuple(laws)


def _many_pairs(subject: Subject) -> str | None:
    if subject.mechanism is None or few_laws(subject) is not None:  # binary response stands for a budget
        return None
    return "here there are more, or a message names its sender: take a bound that is no closed form"


FEW_PAIRS = Hypothesis(
    "few_pairs",
    f"There are at most {_MOST_PAIRS} pairs of inputs, and a blanket wherever a message has mass.",
    every(_many_pairs),
)


Formula = Callable[[Setting, arb], arb]
"""A ball for the value at (setting, what is given): not finite where the formula has no value."""


@dataclass(frozen=True)
class Reading:
    """What a closed form says at a point: a value rounded up (None if it has none), why not, and its conditions."""

    value: float | None
    conditions: tuple[Condition, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class ClosedForm(Statement):
    """A bound in the literature that is a formula: ``epsilon`` of delta, or ``delta`` of eps, whichever it states.

    ``conditions`` are those of its theorem at (setting, delta or eps). ``proof_status`` is what is known of it for
    every subject that it applies to; where ``proved_for`` holds it is proved. The other direction of a question is
    answered by a search for the least value at which the formula, in balls, gives what is asked.

    >>> import symamp as sa
    >>> from symamp.literature.compare import CLOSED_FORMS
    >>> CLOSED_FORMS["fmt_2022"].epsilon_at(sa.PureLDP(eps0=1), 10**4, fmpq(1, 10**6)).value
    0.21402565...
    """

    name: str
    proof_status: ProofStatus
    source: str
    summary: str
    epsilon: Formula | None = field(repr=False, default=None)
    delta: Formula | None = field(repr=False, default=None)
    conditions: Callable[[Setting, arb], Sequence[Condition]] = field(repr=False, default=lambda _, __: ())
    hypotheses: tuple[Hypothesis, ...] = field(repr=False, default=BUDGET)
    provenance: Provenance = Provenance.PRINT
    proved_for: Callable[[Subject], bool] = field(repr=False, default=lambda _: False)

    def proof_status_for(self, subject: Subject) -> ProofStatus:
        """Return what is known of the formula for this subject."""
        return ProofStatus.PROVED if self.proved_for(subject) else self.proof_status

    def epsilon_at(self, subject: Subject, n: int, delta: fmpq) -> Reading:
        """Return the eps that the formula gives for delta, rounded up."""
        setting = Setting(subject, n)
        with at_precision(_bits(n)):
            target = arb(delta)
            if self.epsilon is not None:
                return self._stated(self.epsilon, setting, target)
            assert self.delta is not None
            formula, most = self.delta, 2.0 * float(setting.eps0.mid()) + 10.0
            tops = (most * 2.0 ** (-k / 4.0) for k in range(_MOST_TRIES))
            found = _least(lambda x: _at_most(formula(setting, arb(x)), target), tops, lambda x: x / 2.0, _SMALLEST_EPS)
            if found is None:
                return Reading(None, (), f"delta is reached nowhere below eps = {most:.3g}")
            return Reading(found, tuple(self.conditions(setting, arb(found))))

    def delta_at(self, subject: Subject, n: int, eps: sp.Expr) -> Reading:
        """Return the delta that the formula gives for eps, rounded up."""
        setting, level = Setting(subject, n), number(eps)
        with at_precision(_bits(n)):
            if self.delta is not None:
                return self._stated(self.delta, setting, level())
            assert self.epsilon is not None
            formula = self.epsilon

            def holds(log10_delta: float) -> bool:
                delta = arb(10) ** arb(log10_delta)
                met = all(c.met for c in self.conditions(setting, delta))
                return met and _at_most(formula(setting, delta), level())

            top = _least(holds, _TOPS, lambda x: 2.0 * x - 1.0, -_LARGEST_LOG10)
            if top is None:
                return Reading(None, (), "no delta at which its conditions hold gives this eps")
            found = arb(10) ** arb(top)
            return Reading(float_above(found), tuple(self.conditions(setting, found)))

    def _stated(self, formula: Formula, setting: Setting, given: arb) -> Reading:
        conditions, value = tuple(self.conditions(setting, given)), formula(setting, given)
        if not value.is_finite():
            return Reading(None, conditions, "the formula has no value here")
        return Reading(float_above(value), conditions)


def _bits(n: int) -> int:
    """Return a working precision at which n times a rounding error is harmless."""
    return BALL_BITS + 2 * n.bit_length()


def _at_most(value: arb, target: arb) -> bool:
    return bool(value.is_finite() and value <= target)


def _least(
    holds: Callable[[float], bool], tops: Iterable[float], lower: Callable[[float], float], least: float
) -> float | None:
    """Return about the least x from which ``holds`` is true, up to the first of the falling ``tops`` at which it is."""
    at = next((x for x in tops if holds(x)), None)
    if at is None:
        return None
    while lower(at) > least and holds(lower(at)):
        at = lower(at)
    return at if lower(at) <= least else bisected(holds, lower(at), at)


def log_one_plus(x: arb) -> arb:
    """Return log(1 + x) for a nonnegative ball; no number where that is not known."""
    return x.log1p() if x >= 0 else arb("nan")


def root(x: arb) -> arb:
    """Return the square root; no number for what may be negative."""
    return x.sqrt() if x >= 0 else arb("nan")


def quotient_of_positive(x: arb, y: arb) -> arb:
    """Return x/y; no number unless y is proved positive."""
    return x / y if y > 0 else arb("nan")
