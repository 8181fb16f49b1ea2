"""The proof status of a bound, which is shown wherever the bound is."""

from __future__ import annotations

from enum import Enum


class ProofStatus(Enum):
    """The proof status of a bound in the literature, as checked by this project.

    >>> import symamp as sa
    >>> mechanism = sa.RandomizedResponse(k=10, eps0=1)
    >>> sa.epsilon(mechanism, n=1000, delta="1e-6", method="variation_ratio_2023").proof_status
    <ProofStatus.REFUTED: 'refuted'>
    >>> sa.ProofStatus.REFUTED.is_guarantee, sa.ProofStatus.PROVED.is_guarantee
    (False, True)
    """

    PROVED = "proved"
    PROVED_FOR_CLASS = "proved for a class"
    APPROXIMATE = "approximate"
    WITHDRAWN = "proof withdrawn"
    UNPROVED = "not proved"
    REFUTED = "refuted"
    LOWER = "lower bound"

    @property
    def is_guarantee(self) -> bool:
        """Whether a value above it is private (upper bounds) or below it is not (lower bounds)."""
        return self in (ProofStatus.PROVED, ProofStatus.PROVED_FOR_CLASS, ProofStatus.LOWER)
