"""The answer to a question: a certified bracket, and everything that is needed to judge it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, log10
from typing import Any

import mpmath
import sympy as sp
from flint import arb, fmpq

from symamp.analyses.reduction import Reduction
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject
from symamp.evaluation.divergence import Enclosure
from symamp.numbers.precision import working_precision
from symamp.numbers.rounding import float_above, float_below


@dataclass(frozen=True)
class Interval:
    """Two doubles, rounded outward."""

    lower: float
    upper: float

    def __str__(self) -> str:
        return f"[{self.lower!r}, {self.upper!r}]"


@dataclass(frozen=True)
class DataSets:
    """Two neighbouring data sets: the first user holds x0 or x1, all others an input drawn with the given weights.

    ``member`` is the mechanism, where the question was about many (``PureLDP``).
    """

    x0: str
    x1: str
    others: tuple[tuple[str, str], ...]
    member: str = ""

    def __str__(self) -> str:
        rest = (
            self.others[0][0] if len(self.others) == 1 else "{" + ", ".join(f"{x}: {w}" for x, w in self.others) + "}"
        )
        member = f" for {self.member}" if self.member else ""
        return f"({self.x0}, {rest}, ...) against ({self.x1}, {rest}, ...){member}"


@dataclass(frozen=True)
class Evidence:
    """One certified evaluation: the reduction, the exact level eps as an expression, and the enclosure."""

    reduction: Reduction
    eps: str
    enclosure: Enclosure


@dataclass(frozen=True)
class Question:
    """What was asked, exactly: the mechanism, delta as a fraction or eps as an expression, and the method's triples."""

    subject: Subject
    given: fmpq | sp.Expr
    uppers: tuple[Reduction, ...]


@dataclass(frozen=True)
class Answer:
    """A certified bracket for the central budget ``epsilon`` or for ``delta`` of n shuffled users.

    The mechanism is private at ``upper`` and provably not below ``lower``; both are doubles rounded outward.
    ``blanket`` encloses the value of the upper-bound method itself, so that numerical slack (its width) and
    analytical gap (from ``lower`` to it) can be told apart. ``pair`` attains the upper bound, ``dataset`` the lower.

    >>> import symamp as sa
    >>> answer = sa.epsilon(sa.RandomizedResponse(k=3, eps0=1), n=1000, delta="1e-6")
    >>> print(answer)
    epsilon in [0.130566..., 0.130695...]  (n = 1,000, delta = 1e-6; blanket, proved)
    >>> answer.pair, str(answer.dataset), answer.standing.is_guarantee
    (('x0', 'x1'), '(x0, x2, ...) against (x1, x2, ...)', True)
    """

    quantity: str
    lower: float
    upper: float
    blanket: Interval
    n: int
    given: Mapping[str, str]
    method: str
    standing: Standing
    source: str
    pair: tuple[str, str] | None
    dataset: DataSets | None
    evidence_above: tuple[Evidence, ...] = field(default=(), repr=False)
    evidence_below: tuple[Evidence, ...] = field(default=(), repr=False)
    subject: str = ""
    _exact: tuple[arb, arb] | None = field(default=None, repr=False, compare=False)
    question: Question | None = field(default=None, repr=False, compare=False)

    @property
    def log10_lower(self) -> float:
        """log10 of the lower bound, rounded down: right also below the smallest double."""
        return self._log10(0)

    @property
    def log10_upper(self) -> float:
        """log10 of the upper bound, rounded up: right also below the smallest double."""
        return self._log10(1)

    def as_mpf(self) -> tuple[mpmath.mpf, mpmath.mpf]:
        """Return (lower, upper) as mpmath numbers that carry the exact ends of the enclosure."""
        if self._exact is None:
            return mpmath.mpf(self.lower), mpmath.mpf(self.upper)
        return _as_mpf(self._exact[0]), _as_mpf(self._exact[1])

    @property
    def digits(self) -> int:
        """How many significant digits of the method's own delta (at the evaluated eps) are proved; 1000 if exact."""
        gaps = [e.enclosure.relative_gap for e in self.evidence_above]
        worst = max(gaps, default=0.0)
        return 1000 if worst == 0.0 else max(0, min(1000, int(-log10(worst))))

    @property
    def parameters(self) -> dict[str, Any]:
        """Evaluator, precision, tilt, window, smoothing and number of frequencies of the evaluation of ``upper``."""
        if not self.evidence_above:
            return {"evaluator": "exact"}
        enclosure = self.evidence_above[0].enclosure
        shown: dict[str, Any] = {"evaluator": enclosure.evaluator, "precision": enclosure.precision}
        shown["relative_gap"] = enclosure.relative_gap
        if enclosure.plan is not None:
            plan = enclosure.plan
            shown |= {"theta": plan.window.theta, "W": plan.window.length, "terms": plan.terms}
            shown["frequencies"] = plan.blocks.evaluations
            shown["dropped_blocks"] = len(plan.blocks.dropped)
        return shown

    def certificate(self) -> dict[str, Any]:
        """Return the claim and all that is needed to check it without a search, as JSON-ready data."""
        from symamp.amplification.certificate import certificate

        return certificate(self)

    def __str__(self) -> str:
        question = ", ".join([f"n = {self.n:,}", *(f"{k} = {v}" for k, v in self.given.items())])
        return f"{self._claim(' in ', ' >= ')}  ({question}; {self.method}, {self.standing.value})"

    def _repr_markdown_(self) -> str:
        given = ", ".join(f"{k} = {v}" for k, v in self.given.items())
        return f"{self._claim(' ∈ ', ' ≥ ')} for n = {self.n:,}, {given} (*{self.method}*, {self.standing.value})"

    def _claim(self, within: str, at_least: str) -> str:
        """Return the bracket; without a guarantee above, only the lower bound, and the other value apart from it."""
        low, high = self.decimals()
        if self.standing.is_guarantee:
            return f"{self.quantity}{within}[{low}, {high}]"
        return f"{self.quantity}{at_least}{low}; the {self.standing.value} analysis says {high}, WITHOUT GUARANTEE"

    def decimals(self) -> tuple[str, str]:
        """Return (lower, upper) as decimals, rounded outward to ten digits."""
        low, high = self.as_mpf()
        return _decimal(low, down=True), _decimal(high, down=False)

    def _log10(self, end: int) -> float:
        with working_precision(128):
            value = self._exact[end] if self._exact is not None else arb((self.lower, self.upper)[end])
            if not value > 0:
                return -inf
            logarithm = value.log() / arb.const_log10()
            return float_below(logarithm) if end == 0 else float_above(logarithm)


def _as_mpf(x: arb) -> mpmath.mpf:
    mantissa, exponent = x.man_exp()
    with mpmath.workprec(max(53, int(mantissa).bit_length())):
        return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))


def _decimal(x: mpmath.mpf, *, down: bool, digits: int = 10) -> str:
    if x == 0 or not mpmath.isfinite(x):
        return "0" if x == 0 else "inf"
    with mpmath.workprec(200):
        exponent = int(mpmath.floor(mpmath.log10(x)))
        scaled = x * mpmath.mpf(10) ** (digits - 1 - exponent)
        whole = int(mpmath.floor(scaled)) if down else int(mpmath.ceil(scaled))
    if whole >= 10**digits:
        whole, exponent = whole // 10, exponent + 1
    text = str(whole)
    if -5 <= exponent < 6:
        value = text if exponent >= digits - 1 else _placed(text, exponent)
        return value.rstrip("0").rstrip(".") if "." in value else value
    return f"{text[0]}.{text[1:]}".rstrip("0").rstrip(".") + f"e{exponent:+03d}"


def _placed(text: str, exponent: int) -> str:
    return "0." + "0" * (-exponent - 1) + text if exponent < 0 else f"{text[: exponent + 1]}.{text[exponent + 1 :]}"
