"""The blanket bound by Hoeffding's and Bennett's inequalities (Balle, Bell, Gascón, Nissim 2019), in closed sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from flint import arb

from symamp.bounds.hypotheses import BUDGET, FINITE_BUDGET, PROBABILITIES, SHUFFLED, Hypothesis, ProofStatus
from symamp.laws.law import Law, total
from symamp.literature.closed_form import FEW_PAIRS, ClosedForm, Setting, few_laws

_SOURCE = "Balle, Bell, Gascón, Nissim 2019, section 5; closed sums: docs/proofs/closed_forms.md"


@dataclass(frozen=True)
class Moments:
    """What the inequalities know of L = gamma (r0 - E r1) under the blanket's law.

    gamma is a lower bound on the mass of the blanket; the range, the largest value and the second moment are upper
    bounds.
    """

    gamma: arb
    range: arb
    largest: arb
    square: arb


def moments_of(law: Law, e: arb) -> Moments:
    """Return the moments of a blanket law at E = e."""
    masses = [a.mass() for a in law.atoms]
    gamma = arb(1) if law.complete else total(masses).min(arb(1))
    values = [gamma * (a.ratio0() - e * a.ratio1()) for a in law.atoms]
    largest, least = reduce(arb.max, values), reduce(arb.min, values)
    square = total([m * v * v for m, v in zip(masses, values, strict=True)]) / gamma
    return Moments(gamma, largest - least, largest, square)


def published_generic(s: Setting, e: arb) -> Moments:
    """Return the parameters that the paper gives for every eps0-LDP randomizer."""
    t = s.t
    return Moments(1 / t, (e + 1) * (t - 1 / t), t * (1 - e / t**2), t * (e * e + 1) - 2 * e / t**3)


def hoeffding(m: Moments, n: int, eps: arb) -> arb:
    """Return the bound on delta by Hoeffding's inequality.

    Guarantee
    ---------
    It is at least E[S_+]/n of every law with these moments. Proof: docs/proofs/closed_forms.md.
    """
    a = eps.expm1()
    if not a > 0:
        return arb("nan")
    kept = 1 - m.gamma * -(-2 * a * a / m.range**2).expm1()
    return m.range**2 / (4 * a * m.gamma * n) * kept**n


def bennett(m: Moments, n: int, eps: arb) -> arb:
    """Return the bound on delta by Bennett's inequality; 0 if no value is positive.

    Guarantee
    ---------
    It is at least E[S_+]/n of every law with these moments. Proof: docs/proofs/closed_forms.md.
    """
    a = eps.expm1()
    if m.largest <= 0:
        return arb(0)
    if not (a > 0 and m.largest > 0):
        return arb("nan")
    u = a * m.largest / m.square
    rate = m.square / m.largest**2 * ((1 + u) * u.log1p() - u)
    none = 1 - m.gamma
    tail = (1 + m.gamma * (-rate).expm1()) ** n - (none**n if none > 0 else arb(0))
    return m.largest / (m.gamma * n * u.log1p()) * tail


_Inequality = Callable[[Moments, int, arb], arb]


def _of_laws(inequality: _Inequality, generic: bool = False) -> Callable[[Setting, arb], arb]:
    def bound(s: Setting, eps: arb) -> arb:
        laws = few_laws(s.subject, generic)
        assert laws is not None
        values = [inequality(moments_of(law, eps.exp()), s.n, eps) for law in laws]
        return reduce(arb.max, values) if all(v.is_finite() for v in values) else arb("nan")

    return bound


def _published(inequality: _Inequality) -> Callable[[Setting, arb], arb]:
    return lambda s, eps: inequality(published_generic(s, eps.exp()), s.n, eps)


def _form(
    name: str, summary: str, delta: Callable[[Setting, arb], arb], hypotheses: tuple[Hypothesis, ...]
) -> ClosedForm:
    return ClosedForm(name, ProofStatus.PROVED, _SOURCE, summary, delta=delta, hypotheses=hypotheses)


_KNOWN = (*SHUFFLED, PROBABILITIES, FINITE_BUDGET, FEW_PAIRS)
FORMS = tuple(
    form
    for name, inequality in (("hoeffding", hoeffding), ("bennett", bennett))
    for form in (
        _form(name, f"{name.title()}'s inequality for the blanket", _of_laws(inequality), _KNOWN),
        _form(
            f"{name}_generic", f"{name.title()}'s inequality for binary response", _of_laws(inequality, True), BUDGET
        ),
        _form(f"{name}_bbgn", f"{name.title()} with the paper's generic parameters", _published(inequality), BUDGET),
    )
)
