"""Two inputs in fixed numbers: the normal limit where the adversary knows how many others hold each."""

from __future__ import annotations

from flint import arb

from symamp.bounds.proof_status import ProofStatus
from symamp.literature.closed_form import ClosedForm, Provenance, Setting, root
from symamp.literature.forms.clones import BINARY_ONLY
from symamp.literature.forms.normal import normal_density, normal_tail


def _delta(s: Setting, eps: arb) -> arb:
    """Return mu (phi(x) - x Phi(-x)), x = eps/mu, mu^2 = (p - q)^2/(n p q), whatever the numbers are."""
    mu = root((s.t - 1) ** 2 / (s.t * s.n))
    x = eps / mu
    return mu * (normal_density(x) - x * normal_tail(x))


FORM = ClosedForm(
    "fixed_composition",
    ProofStatus.APPROXIMATE,
    "arXiv:2602.09029, abstract",
    "normal limit for numbers of inputs that are known, binary response",
    delta=_delta,
    hypotheses=BINARY_ONLY,
    provenance=Provenance.RESTATED,
)
