"""The success of an attacker, from bounds on the divergences of neighbouring data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import sympy as sp
from flint import arb, fmpq

from symamp.decompositions.to_law import rounded_fraction
from symamp.errors import ArgumentError, ContradictionError
from symamp.numbers.dyadic import float_above, float_below
from symamp.numbers.rationals import Vertex, fmpq_of
from symamp.numbers.reading import Real, exact_number, listed
from symamp.numbers.surroundings import at_precision
from symamp.questions.bracket import Interval, ManyEnds

RATES = "0.001", "0.01", "0.1"
"""False positive rates that are looked at where none are given."""
_ONE = fmpq(1)


@dataclass(frozen=True, repr=False)
class Risk(ManyEnds):
    """Certified ranges of the success of an attacker who knows all inputs but the victim's, which is one of two.

    The attacker sees the output and guesses which of the two inputs the victim had. No attacker exceeds an upper end,
    whatever the two inputs and those of all others are; for some data sets an attacker reaches the lower end.

    - ``advantage``: the largest difference of true and false positive rate.
    - ``true_positive``: pairs of a false positive rate and the range of the largest true positive rate.
    - ``posterior``: the same false positive rates, each with the range of the probability that an alarm of such a test
      is right, if the accused input had the probability ``prior`` before the attack.
    - ``success``: the range of the probability that the best guess between the two inputs is right, at this prior.

    >>> import symamp as sa
    >>> risk = sa.profile(sa.RandomizedResponse(k=10, eps0=1), n=10**6).rounds(1000).risk()
    >>> print(risk)
    risk of 1,000 x (RandomizedResponse(k=10, eps0=1), n = 1,000,000); prior 1/2
    advantage in [0.0089..., 0.0089...]
    best guess is right with probability in [0.5044..., 0.5044...]
    at false positive rate 0.001: true positive rate in [0.0010..., 0.0010...], an alarm is right in [0.51..., 0.51...]
    at false positive rate 0.01: true positive rate in [0.0106..., 0.0106...], an alarm is right in [0.51..., 0.51...]
    at false positive rate 0.1: true positive rate in [0.103..., 0.10...], an alarm is right in [0.509..., 0.509...]
    """

    text: str
    prior: str
    advantage: Interval
    success: Interval
    true_positive: tuple[tuple[str, Interval], ...]
    posterior: tuple[tuple[str, Interval], ...]

    _internal_names = "largest"

    columns = ("what", "false positive rate", "lower", "upper")
    _digits = 5

    @staticmethod
    def largest(found: Sequence[Risk]) -> Risk:
        """Return the risk where an attacker may choose among several orders of the two worlds."""

        def worst(ends: Iterable[Interval]) -> Interval:
            known = list(ends)
            return Interval(max(x.lower for x in known), max(x.upper for x in known))

        def rates(each: Iterable[tuple[tuple[str, Interval], ...]]) -> tuple[tuple[str, Interval], ...]:
            return tuple((found[0][0], worst(ends for _, ends in found)) for found in zip(*each, strict=True))

        return replace(
            found[0],
            advantage=worst(r.advantage for r in found),
            success=worst(r.success for r in found),
            true_positive=rates(r.true_positive for r in found),
            posterior=rates(r.posterior for r in found),
        )

    def rows(self) -> list[tuple[object, ...]]:
        """Return (what, false positive rate, lower, upper) for each range."""
        alone = [("advantage", None, self.advantage), ("best guess is right", None, self.success)]
        rates = [("true positive rate", rate, found) for rate, found in self.true_positive]
        alarms = [("alarm is right", rate, found) for rate, found in self.posterior]
        return [(what, rate, found.lower, found.upper) for what, rate, found in (*alone, *rates, *alarms)]

    def to_dict(self) -> dict[str, object]:
        rows = [list(row) for row in self.rows()]
        return {"risk": self.text, "prior": self.prior, "columns": list(self.columns), "rows": rows}

    def _title(self) -> str:
        return f"risk of {self.text}; prior {self.prior}"

    def _text(self, shown: Callable[[Interval], str]) -> str:
        lines = [
            self._title(),
            f"advantage in {shown(self.advantage)}",
            f"best guess is right with probability in {shown(self.success)}",
        ]
        for (rate, found), (_, right) in zip(self.true_positive, self.posterior, strict=True):
            alarm = f"an alarm is right in {shown(right)}"
            lines.append(f"at false positive rate {rate}: true positive rate in {shown(found)}, {alarm}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Accusation:
    """The prior probability of the accused input, and false positive rates, each as written and as a fraction."""

    prior: tuple[str, fmpq]
    rates: tuple[tuple[str, fmpq], ...]

    @staticmethod
    def of(prior: Real, rates: Iterable[object]) -> Accusation:
        """Return what is asked about, its numbers read: before anything is computed."""
        levels = tuple(_probability(rate, "rates") for rate in listed(rates, "rates"))
        return Accusation(_probability(prior, "prior"), levels)


def risk_of(text: str, above: Sequence[Vertex], below: Sequence[Vertex], asked: Accusation) -> Risk:
    """Return the risk behind two piecewise linear curves E -> D_E, by their vertices; constant after the last.

    Guarantee
    ---------
    If ``above`` is at least D_E of every ordered pair of neighbours, and ``below`` at most that of one, all ranges are
    as ``Risk`` says. Proof: docs/proofs/risk.md.
    """
    written, share = asked.prior
    odds = (1 - share) / share
    guesses = [(1 - share) + share * value_at(curve, odds) for curve in (below, above)]
    least = max(share, 1 - share)
    positive = [
        (name, x, [1 - max(1 - d - e * x for e, d in curve) for curve in (below, above)]) for name, x in asked.rates
    ]
    rising = [(name, x, [min(max(y, x), _ONE) for y in ends]) for name, x, ends in positive]
    right = [(name, [share * y / (share * y + (1 - share) * x) for y in ends]) for name, x, ends in rising]
    advantage = _range(text, [value_at(curve, _ONE) for curve in (below, above)])
    success = _range(text, [min(max(g, least), _ONE) for g in guesses])
    rates = tuple((name, _range(text, ends)) for name, _, ends in rising)
    return Risk(text, written, advantage, success, rates, tuple((name, _range(text, ends)) for name, ends in right))


def curves_of_bracket(
    above: tuple[sp.Expr, fmpq] | None, below: tuple[sp.Expr, fmpq] | None
) -> tuple[list[Vertex], list[Vertex]]:
    """Return the curves that follow from D <= delta at one eps, for all ordered neighbours, and D >= delta at another.

    Guarantee
    ---------
    The first is at least D_E of every ordered pair of neighbours, the second at most that of one.
    Proof: docs/proofs/risk.md.
    """
    high, low = [(fmpq(0), _ONE)], [(fmpq(0), _ONE), (_ONE, fmpq(0))]
    if above is not None:
        e, d = rounded_fraction(sp.exp(above[0])), above[1]
        if e > 1:
            high.append((1 / e, 1 - 1 / e + d / e))
        high.append((e, d))
    if below is not None and 0 < below[1] < 1:
        e, d = rounded_fraction(sp.exp(below[0]), up=False), below[1]
        low = [(fmpq(0), _ONE), (1 - d, d), (e, d), (e / (1 - d), fmpq(0))]
    elif below is not None and below[1] == 1:
        low = [(fmpq(0), _ONE)]
    return high, low


def value_at(curve: Sequence[Vertex], at: fmpq) -> fmpq:
    """Return the value of a piecewise linear function that is constant after its last vertex."""
    for (e0, d0), (e1, d1) in pairwise(curve):
        if e0 <= at <= e1:
            return d0 + (d1 - d0) * (at - e0) / (e1 - e0)
    return curve[-1][1]


def _range(text: str, ends: list[fmpq]) -> Interval:
    low, high = ends
    if low > high:
        raise ContradictionError(f"risk of {text}", f"at least {low} and at most {high}", "two curves")
    with at_precision(128):
        return Interval(max(0.0, float_below(arb(low))), min(1.0, float_above(arb(high))))


def _probability(value: object, name: str) -> tuple[str, fmpq]:
    found = exact_number(value, name)
    if not (found.is_Rational and 0 < found < 1):
        raise ArgumentError(name, value, "rational numbers strictly between 0 and 1")
    return str(value), fmpq_of(found)
