"""The accountant of Koskela, Heikkila and Honkela (2023), written afresh, to compare with.

The dominating pair of one round lives on counts: C other users are clones, binomially many, and send one of two
messages at random; the victim sends its own with probability t/(t + 1), and a of the C + 1 messages are of the first
kind. The losses are rounded up to a grid of ``points`` on [-length, length), so are those of T rounds by one
convolution in the Fourier domain; losses that do not fit come back at the other end. Clones beyond Hoeffding's tails
are left out. All in doubles.

``every_cell=False`` leaves out the counts without a message of the second kind, as the authors' loops do: those with
the largest loss.
"""

from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np
from scipy.stats import binom

_TAIL = 1e-25


@dataclass(frozen=True)
class ClonePair:
    """n users, local ratio t = e^eps0, each other user a clone with probability ``clones``."""

    n: int
    t: float
    clones: float

    def losses(self, every_cell=True):
        """Yield losses and probabilities under the first data set, for one number of clones after the other."""
        others, share = self.n - 1, self.t / (self.t + 1.0)
        slack = ceil(sqrt(others * -log(_TAIL) / 2.0))
        middle = round(others * self.clones)
        for c in range(max(0, middle - slack), min(others, middle + slack) + 1):
            a = np.arange(0, c + 2)
            b = c + 1 - a
            one = np.concatenate([[0.0], binom.pmf(np.arange(c + 1), c, 0.5)])  # the victim is among the a
            other = np.concatenate([one[1:], [0.0]])
            mass = binom.pmf(c, others, self.clones) * (share * one + (1.0 - share) * other)
            kept = slice(None) if every_cell else slice(0, c + 1)
            yield np.log((self.t * a + b) / (a + self.t * b))[kept], mass[kept]

    def grid(self, points, length, every_cell=True):
        """Return the masses of the losses, rounded up to the grid."""
        step, masses = 2.0 * length / points, np.zeros(points)
        for losses, mass in self.losses(every_cell):
            np.add.at(masses, np.ceil((losses + length) / step).astype(np.int64), mass)
        return masses


def composed(masses, count):
    """Return the masses of the losses of ``count`` rounds; what does not fit comes back at the other end."""
    half = len(masses) // 2
    return np.roll(np.fft.irfft(np.fft.rfft(np.roll(masses, half)) ** count, len(masses)), half)


def divergence(masses, length, eps):
    """Return delta at eps, from the masses of losses on the grid over [-length, length)."""
    losses = -length + 2.0 * length / len(masses) * np.arange(len(masses))
    beyond = losses > eps
    return float(np.sum(masses[beyond] * -np.expm1(eps - losses[beyond])))
