"""Normal approximations: for finite n they are not bounds."""

from __future__ import annotations

from functools import reduce

from flint import arb

from symamp.bounds.hypotheses import BUDGET, ProofStatus
from symamp.decompositions.to_law import number
from symamp.laws.law import Law, total
from symamp.literature.closed_form import FEW_PAIRS, ClosedForm, Provenance, Setting, root
from symamp.literature.forms.clones import BINARY_ONLY
from symamp.settings.users_who_differ import HeterogeneousUsers


def normal_tail(x: arb) -> arb:
    """Return P(N > x) for a standard normal N."""
    return (x / arb(2).sqrt()).erfc() / 2


def normal_density(x: arb) -> arb:
    """Return the density of a standard normal variable."""
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def gaussian_delta(mu: arb, eps: arb) -> arb:
    """Return delta(eps) of mu-Gaussian differential privacy."""
    return normal_tail(eps / mu - mu / 2) - eps.exp() * normal_tail(eps / mu + mu / 2)


def _gspa(s: Setting, eps: arb) -> arb:
    if s.n < 2:
        return arb("nan")
    return gaussian_delta(root(2 * (s.t + 1) / (s.n - 1)), eps)


def gspa_of(crowd: HeterogeneousUsers) -> ClosedForm:
    """Return the approximation for users with budgets of their own: mu^-2 = (sum of w - largest w)/2, w = 1/(1 + t).

    The paper states it for data that are shuffled, and applies it to messages that are.
    """

    def delta(_: Setting, eps: arb) -> arb:
        weights = [1 / (1 + number(subject.local_ratio())()) for _, subject in crowd.groups]
        left = total([count * w for (count, _), w in zip(crowd.groups, weights, strict=True)])
        left -= reduce(arb.max, weights)
        return gaussian_delta(root(2 / left), eps) if left > 0 else arb("nan")

    source = "Chen, Cao, Ge 2024, Theorem 2"
    return ClosedForm(
        "gspa", ProofStatus.REFUTED, source, "Gaussian privacy", delta=delta, provenance=Provenance.RESTATED
    )


def _index_square(law: Law) -> arb:
    """Return chi^-2, the sum of mass (r0 - r1)^2."""
    # A product, as the power of a ball around 0 is no number.
    differences = [(a.mass(), a.ratio0() - a.ratio1()) for a in law.atoms if not a.equal_ratios]
    return total([m * d * d for m, d in differences])


def _shuffle_index(s: Setting, eps: arb) -> arb:
    result = arb(0)
    for law in s.laws:
        mu = root(_index_square(law) / s.n)
        if not mu.is_zero():
            value = _mean_above(mu, eps)
            if not value.is_finite():
                return value
            result = result.max(value)
    return result


def _mean_above(mu: arb, eps: arb) -> arb:
    """Return mu (phi(x) - x Phi(-x)), x = eps/mu: the mean of what a normal variable is above eps."""
    x = eps / mu
    return mu * (normal_density(x) - x * normal_tail(x))


def _fixed_composition(s: Setting, eps: arb) -> arb:
    """Return it for mu^2 = (p - q)^2/(n p q), whatever the numbers are."""
    return _mean_above(root((s.t - 1) ** 2 / (s.t * s.n)), eps)


FORMS = (
    ClosedForm(
        "gspa",
        ProofStatus.REFUTED,
        "Chen, Cao, Ge 2024, Theorem 2 (equal budgets)",
        "Gaussian privacy with mu = sqrt(2 (e^eps0 + 1)/(n - 1)), approximate by its own words",
        delta=_gspa,
        provenance=Provenance.RESTATED,
    ),
    ClosedForm(
        "shuffle_index",
        ProofStatus.APPROXIMATE,
        "Takagi, Liew 2026",
        "central limit theorem for the blanket: n to infinity, eps sqrt(n) fixed",
        delta=_shuffle_index,
        hypotheses=(*BUDGET, FEW_PAIRS),
        provenance=Provenance.RESTATED,
    ),
    ClosedForm(
        "fixed_composition",
        ProofStatus.APPROXIMATE,
        "arXiv:2602.09029, abstract",
        "normal limit for numbers of inputs that are known, binary response",
        delta=_fixed_composition,
        hypotheses=BINARY_ONLY,
        provenance=Provenance.RESTATED,
    ),
)
