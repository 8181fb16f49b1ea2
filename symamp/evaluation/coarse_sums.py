"""The sum over frequencies in doubles with radii: what the kernel takes in balls, in a sixteenth of the time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import acb, arb

from symamp.evaluation.coarse_phi import coarse_turns, turn_error
from symamp.evaluation.kernel import Kernel
from symamp.evaluation.work import spend
from symamp.numbers.disks import Disks

_FREQUENCY = 3.0


def coarse_two_sided(kernel: Kernel, indices: Sequence[int], factors: Disks) -> tuple[arb, arb]:
    """Return Re sum B(jh) factor over frequencies j h, 0 < j < N, for B- and B+.

    B/d^2 depends on lam = theta d, N and j alone: 1 + is/T = 1 - j/N + i lam/(2 pi), and e^(-sd) = e^(-lam) e^(-2 pi i
    j/N).

    Guarantee
    ---------
    The balls contain the sums for all numbers in the disks ``factors``. Proof: docs/proofs/disks.md.
    """
    terms, lam, turn = kernel.terms, kernel.theta * kernel.d, 1 / (2 * arb.pi())
    spend(_FREQUENCY * len(indices))
    error, one = turn_error(max(indices)), Disks.of(arb(1))
    with np.errstate(all="ignore"):  # what overflows has no finite radius
        waves = [
            Disks(found.real, found.imag, np.full(len(indices), error))
            for found in coarse_turns([-kernel.d, -kernel.alpha * kernel.d], kernel.step, indices).T
        ]
        q = waves[0] * Disks.of((-lam).exp())
        inverse = (one - q).inverse()
        ratio, z0 = q * inverse, waves[1] * Disks.of((-lam * kernel.alpha).exp()) * inverse
        left = (terms - np.array(indices, dtype=np.float64)) / terms
        bend = Disks(left, np.zeros_like(left), 2.0**-52 * left) + Disks.of(acb(arb(0), lam * turn))
        over_t, alpha, c = (Disks.of(x) for x in (acb(arb(0), turn), kernel.alpha, kernel.c))
        above = (bend * (ratio + alpha) - over_t) * z0 * factors
        below = (bend * (ratio * inverse) - over_t * (ratio + c)) * factors
        square = kernel.d * kernel.d
        return below.real_sum() * square, above.real_sum() * square
