"""The part of the envelope bound: one pair of inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from symamp.bounds.pair_of_inputs import PairOfInputs
from symamp.laws.law import Level
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.envelope import enclose_envelope, estimate_envelope_epsilon, estimate_log_envelope

SOURCE = "Theorem E (docs/proofs/envelope.md)"


@dataclass(frozen=True)
class EnvelopePairBound(PairOfInputs):
    """The envelope of one pair of inputs."""

    method: ClassVar[str] = "envelope"
    source: ClassVar[str] = SOURCE

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
        return estimate_log_envelope(self.laws, level, n, settings)

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the bound is delta: 0 if it is smaller at 0, inf if never."""
        return estimate_envelope_epsilon(self.laws, n, log_delta, settings, start)

    def slope_proxy(self, level: Level, n: int, settings: Settings) -> None:
        """Return None: the part itself is cheap to estimate, and data sets may fall faster."""

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the bound of the dominating law.

        Guarantee
        ---------
        The upper end is at least the divergence for this pair, whatever inputs the other users hold.
        Proof: docs/proofs/envelope.md.
        """
        return enclose_envelope(self.laws, level, n, settings)
