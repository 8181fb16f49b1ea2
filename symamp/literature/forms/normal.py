"""Normal approximations: what they say of finite n is no bound."""

from __future__ import annotations

from flint import arb

from symamp.analyses.analysis import finite_budget
from symamp.analyses.standing import Standing
from symamp.analyses.subject import Subject
from symamp.evaluation.law import Law, total
from symamp.literature.closed_form import ClosedForm, Provenance, Setting, few_laws, root


def normal_tail(x: arb) -> arb:
    """Return P(N > x) for a standard normal N."""
    return (x / arb(2).sqrt()).erfc() / 2


def normal_density(x: arb) -> arb:
    """Return the density of a standard normal variable."""
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def gaussian_delta(mu: arb, eps: arb) -> arb:
    """Return delta(eps) of mu-Gaussian differential privacy.

    >>> gaussian_delta(arb(1), arb(0)).str(5, radius=False)
    '0.38292'
    """
    return normal_tail(eps / mu - mu / 2) - eps.exp() * normal_tail(eps / mu + mu / 2)


def _gspa(s: Setting, eps: arb) -> arb:
    if s.n < 2:
        return arb("nan")
    return gaussian_delta(root(2 * (s.t + 1) / (s.n - 1)), eps)


def _index_square(law: Law) -> arb:
    """Return chi^-2, the sum of mass (r0 - r1)^2."""
    return total([a.mass() * (a.ratio0() - a.ratio1()) ** 2 for a in law.atoms])


def _shuffle_index(s: Setting, eps: arb) -> arb:
    result = arb(0)
    for law in s.laws:
        mu = root(_index_square(law) / s.n)
        if mu > 0:
            x = eps / mu
            result = result.max(mu * (normal_density(x) - x * normal_tail(x)))
    return result


def _few_pairs(subject: Subject) -> str | None:
    reason = finite_budget(subject)
    if reason is None and few_laws(subject) is None:
        return "a mechanism with few pairs of inputs and a blanket wherever a message has mass"
    return reason


FORMS = (
    ClosedForm(
        "gspa",
        Standing.REFUTED,
        "Chen, Cao, Ge 2024, Theorem 2 (equal budgets)",
        "Gaussian privacy with mu = sqrt(2 (e^eps0 + 1)/(n - 1)), approximate by its own words",
        delta=_gspa,
        provenance=Provenance.RESTATED,
    ),
    ClosedForm(
        "shuffle_index",
        Standing.APPROXIMATE,
        "Takagi, Liew 2026",
        "central limit theorem for the blanket: n to infinity, eps sqrt(n) fixed",
        delta=_shuffle_index,
        lacks=_few_pairs,
        provenance=Provenance.RESTATED,
    ),
)
