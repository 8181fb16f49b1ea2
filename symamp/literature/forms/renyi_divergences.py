"""Bounds in Rényi divergences (Girgis, Data, Diggavi, Suresh, Kairouz 2021), turned into eps for a delta."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import comb

from flint import arb

from symamp.bounds.hypotheses import ProofStatus
from symamp.literature.closed_form import ClosedForm, Provenance, Setting, log_one_plus

_ORDERS = (*range(2, 33), *range(36, 65, 4), *range(72, 129, 8), *range(144, 257, 16))


def shuffled_order(s: Setting, order: int) -> arb:
    """Return the Rényi bound of the shuffled messages at an integer order >= 2, CCS 2021."""
    rest = (s.eps0 * order - (arb(s.n) - 1) / (8 * s.t)).exp()
    return log_one_plus(_common(s, order) + rest) / (order - 1)


def sampled_order(s: Setting, order: int) -> arb:
    """Return the Rényi bound of NeurIPS 2021 at an integer order >= 2, with all users sampled."""
    t = s.t
    x = (t * t - 1) / (2 * t)
    rest = ((1 + x) ** order - 1 - order * x) * (-(arb(s.n) - 1) / (8 * t)).exp()
    return log_one_plus(_common(s, order, 4) + rest) / (order - 1)


def _common(s: Setting, order: int, first: int = 1) -> arb:
    t, clones = s.t, _clones(s)
    result = first * comb(order, 2) * (t - 1) ** 2 / (clones * t)
    step = (2 * (t * t - 1) ** 2 / (clones * t * t)).sqrt()
    for j in range(3, order + 1):
        result += comb(order, j) * j * (arb(j) / 2).gamma() * step**j
    return result


def _clones(s: Setting) -> arb:
    """Return floor((n-1)/(2t)) + 1, or less where a ball does not tell."""
    return ((arb(s.n) - 1) / (2 * s.t)).lower().floor() + 1


def _least(divergence: Callable[[Setting, int], arb]) -> Callable[[Setting, arb], arb]:
    def epsilon(s: Setting, delta: arb) -> arb:
        values = [divergence(s, order) - delta.log() / (order - 1) for order in _ORDERS]
        finite = [v for v in values if v.is_finite()]
        return reduce(arb.min, finite) if finite else arb("nan")

    return epsilon


def _least_delta(divergence: Callable[[Setting, int], arb]) -> Callable[[Setting, arb], arb]:
    def delta(s: Setting, eps: arb) -> arb:
        values = (((order - 1) * (divergence(s, order) - eps)).exp() for order in _ORDERS)
        return reduce(arb.min, (v for v in values if v.is_finite()), arb(1))

    return delta


FORMS = (
    ClosedForm(
        "girgis_2021",
        ProofStatus.PROVED,
        "Girgis, Data, Diggavi, Suresh, Kairouz 2021 (CCS)",
        "Rényi bound for discrete randomizers, best order up to 256",
        epsilon=_least(shuffled_order),
        delta=_least_delta(shuffled_order),
        provenance=Provenance.RECALLED,
    ),
    ClosedForm(
        "girgis_2021_sampled",
        ProofStatus.PROVED,
        "Girgis, Data, Diggavi 2021 (NeurIPS), all users sampled",
        "Rényi bound with subsampling, best order up to 256",
        epsilon=_least(sampled_order),
        delta=_least_delta(sampled_order),
        provenance=Provenance.CODE,
    ),
)
