"""What analyses may ask of the subject of a question, answered for one of which nothing is known but its budget."""

from __future__ import annotations

from typing import Any

import sympy as sp

from symamp.derivation.decomposition import Decomposition
from symamp.mechanisms.utility import Useful


class SubjectBase(Useful):
    """The answers of a subject of which nothing is known; mechanisms, noise and laws of one's own say what is."""

    local_ratio: Any
    """Returns e^eps0 for any two inputs."""
    known_by_parameters: bool = False
    """Whether (p, beta, q) of Wang (2023) tell more of the subject than the rest that is known of it."""

    @property
    def mechanism(self) -> Any:
        """The one mechanism with a finite description that the question is about, None if there is none."""
        return None

    @property
    def noise(self) -> Any:
        """The noise with a density whose worst pair of inputs bounds the subject, None if there is none."""
        return None

    @property
    def densities(self) -> Any:
        """The densities that the question is about, on finitely many inputs or at the ends of an interval of inputs."""
        return None

    @property
    def triple(self) -> Decomposition | None:
        """The triple that the question is about, whatever mechanism has it; None for everything else."""
        return None

    @property
    def compares_all(self) -> bool:
        """Whether any two inputs are compared; otherwise the victim's two inputs are of some pairs only."""
        return True

    def compared_ratio(self) -> sp.Expr:
        """Return the largest ratio of probabilities of two inputs that are compared, ``oo`` if there is none.

        It is at most ``local_ratio()``, the one of any two inputs: those of other users are any.
        """
        ratio: sp.Expr = self.local_ratio()
        return ratio

    def members(self) -> tuple[Any, ...]:
        """Return mechanisms whose lower bounds hold for the subject."""
        return ()

    def degradation(self) -> str | None:
        """Return why each member is a randomization of the members with larger eps0; None where this is not proved.

        The parameter eps0 is free.

        Guarantee
        ---------
        A text means: for eps0' < eps0 there is one kernel that turns the report of the member with eps0 into that of
        the member with eps0', for every input. So the true delta of n shuffled users does not fall as eps0 grows.
        Proof: docs/proofs/inverse_questions.md.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=3).degradation()
        'a smaller eps0 mixes the report with one that does not depend on the input'
        """
        return None
