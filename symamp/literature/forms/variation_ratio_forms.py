"""Theorems 4.7 and 4.8 of Wang (2023): as printed, with the condition that makes 4.7 true of its pair, and generic.

Both are derived there for a pair of laws (P, Q) with parameters p, beta, q. At the worst beta, (p - 1)/(p + 1), the
pair bounds every eps0-LDP randomizer; at a smaller one it does so only where the third symbol of the other users tells
nothing. Theorem 4.8 is true all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb

from symamp.bounds.hypotheses import ProofStatus
from symamp.bounds.subject import Subject
from symamp.formulas.normal_form import normal
from symamp.formulas.order import is_zero
from symamp.literature.closed_form import ClosedForm, Condition, Setting, log_one_plus, quotient_of_positive, root


@dataclass(frozen=True)
class _Pair:
    """The parameters of the pair, and what the theorems derive from them."""

    n: int
    p: arb
    beta: arb
    q: arb

    @staticmethod
    def of(s: Setting) -> _Pair:
        return _Pair(s.n, *s.variation)

    @staticmethod
    def worst(s: Setting) -> _Pair:
        """The parameters that hold for every randomizer of the same budget."""
        t = s.t
        return _Pair(s.n, t, (t - 1) / (t + 1), t)

    @property
    def alpha(self) -> arb:
        return self.beta / (self.p - 1)

    @property
    def r(self) -> arb:
        return self.alpha * self.p / self.q

    @property
    def third(self) -> arb:
        """What each message that is no clone adds to the denominator of the ratio."""
        rest = 1 - self.alpha - self.alpha * self.p
        if rest.contains(0) and rest.rad() < arb(2) ** -64:
            return arb(0) * rest  # the worst beta: there is no third symbol, whatever 1 - 2r is
        return quotient_of_positive(rest * self.r, 1 - 2 * self.r)

    def clones(self, delta: arb) -> arb:
        """The number Omega of clones that there are at least, with probability 1 - delta/2."""
        two_r, users, log4 = 2 * self.r, self.n - 1, (4 / delta).log()
        return two_r * users - root((6 * self.r).min(arb(1) / 2) * users * log4)

    def excess(self, clones: arb, delta: arb) -> arb:
        """F(C): how far the ratio of the laws exceeds 1 when there are C clones."""
        s = root(clones * (4 / delta).log() / 2)
        below = self.alpha * clones + self.beta * (clones / 2 - s) + self.third * (self.n - 1 - clones)
        return quotient_of_positive(self.beta * (2 * s + 1), below)

    @property
    def slope(self) -> arb:
        return (self.p + 1) * self.alpha / 2 - self.third

    @property
    def least_clones(self) -> arb:
        """From how many clones on F is proved to decrease (docs/proofs/closed_forms.md)."""
        return quotient_of_positive(self.third * (self.n - 1) + self.beta / 2, self.slope)

    @property
    def printed_least_clones(self) -> arb:
        p, b, q = self.p, self.beta, self.q
        return (2 * p * (b + 1 + (b - 1) * p) * (self.n - 1) + b) / (q + p * (b - 1 + (b + 1) * p) - p * q)


def _printed_47(s: Setting, delta: arb) -> arb:
    pair = _Pair.of(s)
    return log_one_plus(pair.excess(pair.clones(delta), delta))


def _enough_clones(text: str, least: Callable[[_Pair], arb]) -> Callable[[Setting, arb], tuple[Condition, ...]]:
    def conditions(s: Setting, delta: arb) -> tuple[Condition, ...]:
        pair = _Pair.of(s)
        slope = Condition("(p+1) alpha/2 >= (1-alpha-alpha p) r/(1-2r)", pair.slope >= 0)
        return slope, Condition(f"Omega >= {text}", pair.clones(delta) >= least(pair))

    return conditions


def generic_47(s: Setting, delta: arb) -> arb:
    """Return Theorem 4.7 at the parameters (t, (t-1)/(t+1), t) of every randomizer with t = e^eps0.

    Guarantee
    ---------
    n shuffled users of one eps0-LDP randomizer are (value, delta)-private wherever the formula has a value.
    Proof: docs/proofs/closed_forms.md.
    """
    pair = _Pair.worst(s)
    return log_one_plus(pair.excess(pair.clones(delta), delta))


def _at_48(pair: _Pair, delta: arb) -> arb:
    p, b, r = pair.p, pair.beta, pair.r
    room = 1 - 2 * r
    c = (arb(4) / 9 * (1 - 3 * r) / room).max(arb(0)) if room > 0 else arb(0)
    shrink = b / ((1 - c) * (1 + p) * b / (p - 1) + c)
    return log_one_plus(shrink * (root(32 * (4 / delta).log() / (r * (pair.n - 1))) + 4 / (r * pair.n)))


def short_48(s: Setting, delta: arb) -> arb:
    """Return Theorem 4.8 at the parameters of the mechanism; no number for one user.

    Guarantee
    ---------
    n shuffled users are (value, delta)-private if n r >= 8 log(2/delta). Proof: docs/proofs/closed_forms.md.
    """
    return _at_48(_Pair.of(s), delta) if s.n > 1 else arb("nan")


def _printed_48_conditions(s: Setting, delta: arb) -> tuple[Condition, ...]:
    pair = _Pair.of(s)
    return (Condition("n >= 8 log(2/delta)/r", s.n * pair.r >= 8 * (2 / delta).log()),)


def _is_worst(subject: Subject) -> bool:
    p, beta, _ = subject.variation_ratio()
    return is_zero(normal(beta - (p - 1) / (p + 1)))


FORMS = (
    ClosedForm(
        "wang_4_7",
        ProofStatus.REFUTED,
        "Wang 2023, Theorem 4.7 as printed",
        "three parameters of the mechanism, closed form",
        epsilon=_printed_47,
        conditions=_enough_clones("the printed threshold", lambda pair: pair.printed_least_clones),
        proved_for=_is_worst,
    ),
    ClosedForm(
        "wang_4_7_corrected",
        ProofStatus.UNPROVED,
        "Wang 2023, Theorem 4.7 with its second condition corrected (docs/proofs/closed_forms.md)",
        "three parameters of the mechanism, closed form; true of its own pair",
        epsilon=_printed_47,
        conditions=_enough_clones("(k(n-1) + beta/2)/slope", lambda pair: pair.least_clones),
        proved_for=_is_worst,
    ),
    ClosedForm(
        "wang_4_7_generic",
        ProofStatus.PROVED,
        "Wang 2023, Theorem 4.7 at the worst parameters (docs/proofs/closed_forms.md)",
        "any randomizer of the same budget, closed form",
        epsilon=generic_47,
    ),
    ClosedForm(
        "wang_4_8",
        ProofStatus.PROVED,
        "Wang 2023, Theorem 4.8 (docs/proofs/closed_forms.md)",
        "three parameters of the mechanism, short closed form",
        epsilon=short_48,
        conditions=_printed_48_conditions,
    ),
)
