"""The subject of a question and its setting: who runs what, who is compared, who takes part, what is seen."""

from __future__ import annotations

from typing import Any, Protocol

import sympy as sp

from symamp.decompositions.budget import VariationRatio
from symamp.decompositions.decomposition import Decomposition
from symamp.formulas.parameter import Parameter
from symamp.randomizers.mechanism import Mechanism
from symamp.randomizers.noise.additive_noise import AdditiveNoise
from symamp.randomizers.noise.densities import Densities


class Setting(Protocol):
    """The facts that hypotheses of theorems ask for; each has one name, and the setting alone answers it.

    Mechanisms, noise and ``PureLDP`` are settings in which all users run the same and take part; users who differ and
    samples are others.
    """

    @property
    def randomizers(self) -> tuple[Subject, ...]:
        """What users run: one entry for each group of users."""

    @property
    def takes_part(self) -> sp.Rational:
        """The probability with which another user's message is there."""

    @property
    def participation(self) -> Any:
        """Who takes part, which turns bounds for a full round into bounds for this setting; None if all do."""

    @property
    def shuffled(self) -> str:
        """What the shuffler permutes: "messages", or "data", whose positions then publish their outputs in order."""

    @property
    def compares_all(self) -> bool:
        """Whether any two inputs are compared."""

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0 for any two inputs, compared or not; ``oo`` if there is no finite local budget."""

    def compared_ratio(self) -> sp.Expr:
        """Return the same for two inputs that are compared."""


class SettingOf:
    """A setting in which all users run what ``base`` says: what is not said of it is what is said of the latter."""

    base: Any

    @property
    def randomizers(self) -> tuple[Subject, ...]:
        """What users run."""
        found: tuple[Subject, ...] = self.base.randomizers
        return found

    @property
    def shuffled(self) -> str:
        """What the shuffler permutes."""
        return str(self.base.shuffled)

    @property
    def compares_all(self) -> bool:
        """Whether any two inputs are compared."""
        return bool(self.base.compares_all)

    def local_ratio(self) -> sp.Expr:
        """Return e^eps0 for any two inputs, compared or not; ``oo`` if there is no finite local budget."""
        return self.base.local_ratio()

    def compared_ratio(self) -> sp.Expr:
        """Return the same for two inputs that are compared."""
        return self.base.compared_ratio()


class Subject(Setting, Protocol):
    """The interface that bounds need of a mechanism or a class of mechanisms, such as ``PureLDP``.

    ``mechanism`` is the mechanism itself, None where the question is about many at once; ``members`` are mechanisms
    whose lower bounds hold for the subject. ``SubjectBase`` answers where nothing more is known.
    """

    parameters: tuple[Parameter, ...]
    known_by_parameters: bool

    @property
    def mechanism(self) -> Mechanism | None:
        """The one mechanism that the question is about, None if there are many."""

    @property
    def noise(self) -> AdditiveNoise | None:
        """The noise with a density whose worst pair of inputs bounds the subject, None if there is none."""

    @property
    def densities(self) -> Densities | None:
        """The densities that the question is about, on finitely many inputs or at the ends of an interval of inputs."""

    @property
    def triple(self) -> Decomposition | None:
        """The triple that the question is about, whatever mechanism has it; None for everything else."""

    def members(self) -> tuple[Mechanism, ...]:
        """Mechanisms that the subject cannot be better protected than."""

    def degradation(self) -> str | None:
        """Return why privacy can only fall as the parameter eps0, still free, grows; None where it is not proved."""

    def variation_ratio(self) -> VariationRatio:
        """Return (p, beta, q) of Wang (2023) for the subject."""
