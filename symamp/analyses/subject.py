"""What a question can be about: one mechanism, or everything that shares a property."""

from __future__ import annotations

from typing import Protocol

import sympy as sp

from symamp.algebra.parameter import Parameter
from symamp.derivation.variation_parameters import VariationRatio
from symamp.mechanisms.mechanism import Mechanism


class Subject(Protocol):
    """What analyses ask of the subject of a question; mechanisms and ``PureLDP`` are subjects.

    ``mechanism`` is the mechanism itself, None where the question is about many at once; ``members`` are mechanisms
    whose lower bounds hold for the subject.
    """

    parameters: tuple[Parameter, ...]

    @property
    def mechanism(self) -> Mechanism | None:
        """The one mechanism that the question is about, None if there are many."""

    def members(self) -> tuple[Mechanism, ...]:
        """Mechanisms that the subject cannot be better protected than."""

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0, ``oo`` if there is no finite local budget."""

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of Wang (2023) for the subject."""
