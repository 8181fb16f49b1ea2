"""A round for the package opendp: its privacy profile as a callable."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from flint import arb, fmpq

from symamp.derivation.crossing import number
from symamp.numbers.arguments import budget
from symamp.numbers.convex_hull import Vertex
from symamp.numbers.optional import optional
from symamp.numbers.rounding import float_above
from symamp.numbers.surroundings import at_precision, undisturbed


def profile_callable(vertices: list[Vertex]) -> Callable[[float], float]:
    """Return delta as a function of eps >= 0: the chords of certified upper bounds, rounded up.

    Guarantee
    ---------
    The value is at least delta of the round at eps, a double taken as the number that it is.
    Proof: docs/proofs/composition.md, section 2.

    >>> profile_callable([(fmpq(0), fmpq(1)), (fmpq(1), fmpq(1, 4)), (fmpq(3), fmpq(0))])(0.0)
    0.25
    """
    levels = [e for e, _ in vertices]

    @undisturbed()
    def delta(eps: float) -> float:
        with at_precision(128):
            ball = number(budget(eps))().exp()
            mantissa, exponent = ball.lower().man_exp()
            shift = int(exponent)
            level = fmpq(int(mantissa) << shift) if shift >= 0 else fmpq(int(mantissa), 1 << -shift)
            i = bisect_right(levels, level)
            if i == len(levels):
                return float_above(arb(vertices[-1][1]))
            (e0, d0), (e1, d1) = vertices[i - 1], vertices[i]
            return min(1.0, float_above(arb(d0 + (d1 - d0) * (level - e0) / (e1 - e0))))

    return delta


def opendp_profile(delta: Callable[[float], float]) -> Any:
    """Return the opendp PrivacyProfile of a function; ImportError without the package.

    Its methods ``delta`` and ``epsilon`` work in opendp's own arithmetic.
    """
    optional("opendp.prelude", "symamp[export]").enable_features("contrib", "honest-but-curious")
    return optional("opendp.measures", "symamp[export]").new_privacy_profile(delta)
