"""eps from delta, certified: one evaluation on each side of a guess that floats have found."""

from __future__ import annotations

from math import inf, isfinite, nextafter

from flint import fmpq

from symamp.analyses.bound import ROUGH, Bound
from symamp.analyses.pair_bounds import MOMENTS
from symamp.analyses.part import Evidence, Part
from symamp.evaluation.divergence import Settings
from symamp.evaluation.inversion import log_of, log_of_ball
from symamp.evaluation.law import Level
from symamp.evaluation.work import is_spent
from symamp.numbers.dyadic import Dyadic
from symamp.numbers.surroundings import at_precision

_STEPS = 40
_LEAST = 2e-16
_WORTH = 3e-4
"""So much less of eps is worth another evaluation."""
_WIDE, _STEP_SIZES, _SMALL = 1e-2, (1e-4, 1e-7, 1e-10), 1e-3


def epsilon_above(
    bound: Bound, worst: Part, n: int, delta: fmpq, guess: float, settings: Settings
) -> tuple[float, tuple[Evidence, ...]]:
    """Return a double eps >= guess, as close as can be certified, at which all parts have divergence <= delta.

    Guarantee
    ---------
    Every evaluation of the evidence is proved to be at most delta at the returned eps, and together they cover the
    bound; divergences decrease in eps, so this holds for all larger eps. (inf, ()) if no eps is certified.
    Proof: docs/proofs/inversion.md.
    """
    guess = _at_tie(worst, n, delta, guess)
    if guess == inf:
        return inf, ()
    slope, shift = _first_step(worst, guess, n, delta, settings)
    missed: tuple[float, float] | None = None
    for _ in range(_STEPS):
        eps = guess if guess == shift == 0.0 else nextafter(guess + shift, inf)
        found = bound.evidence(Level.of_float(eps), n, settings, delta, worst)
        miss = _miss(found[-1].upper, delta)
        if missed is not None and missed[1] > miss:
            slope = (missed[1] - miss) / (shift - missed[0])
        if all(e.is_at_most(delta) for e in found):
            closer = eps + (miss + 0.25 * worst.accuracy) / slope
            if worst.accuracy > 0.0 and len(found) == 1 and not is_spent() and 0.0 < closer < eps * (1.0 - _WORTH):
                again = bound.evidence(Level.of_float(closer), n, settings, delta, worst)
                if all(e.is_at_most(delta) for e in again):
                    return closer, again
            return eps, found
        if is_spent() and worst.accuracy > 0.0 and found[-1].evaluator == MOMENTS:
            return inf, ()  # pairs are left to their blankets: another bound is as good
        part = found[-1].part
        if part is not worst:  # it is the worse one here, and shows by itself where it is delta
            root = _at_tie(part, n, delta, part.root(n, log_of(delta), settings, guess))
            if guess < root < inf:
                worst, guess = part, root
                slope, shift = _first_step(worst, guess, n, delta, settings)
                missed = None
                continue
        missed = shift, miss
        shift = _further(shift, miss + worst.accuracy, slope, guess, settings)
    return inf, ()


def _first_step(worst: Part, guess: float, n: int, delta: fmpq, settings: Settings) -> tuple[float, float]:
    """Return the slope at a guess, and how far beyond it the divergence is likely to be proved."""
    slope = _slope(worst, guess, n, delta)
    return slope, 0.0 if guess == 0.0 else max(0.6 * max(settings.gap, worst.finest), worst.accuracy) / slope


def epsilon_below(
    part: Part, n: int, delta: fmpq, guess: float, settings: Settings
) -> tuple[float, tuple[Evidence, ...]]:
    """Return a double eps <= guess, as close as can be certified, at which the part has divergence > delta.

    Guarantee
    ---------
    At the returned eps > 0 the left end of the evidence is > delta, and so for all smaller eps; (0, ()) if none is
    certified. Proof: docs/proofs/inversion.md.
    """
    guess = _at_tie(part, n, delta, guess)
    if guess in (0.0, inf) or part.accuracy > 0.0:  # inf: not proved; accuracy: the part has no lower end
        return 0.0, ()
    slope = _slope(part, guess, n, delta)
    shift = 0.6 * max(settings.gap, part.finest) / slope
    for _ in range(_STEPS):
        eps = nextafter(guess - shift, -inf)
        if eps <= 0.0:
            return 0.0, ()
        level = Level.of_float(eps)
        found = Evidence.of(part, level, part.enclose(level, n, settings))
        if found.is_above(delta):  # strictly: on a plateau at delta itself every eps is private
            return eps, (found,)
        shift = _further(shift, abs(_miss(found.lower, delta)), slope, guess, settings)
    return 0.0, ()


def _at_tie(part: Part, n: int, delta: fmpq, guess: float) -> float:
    """Return the guess, or where the divergence comes down to delta, if delta is what is left of it for large eps."""
    plateau = part.plateau
    if plateau == inf:
        return guess
    with at_precision(256):
        return plateau if part.limit(n).contains(delta) else guess


def _further(shift: float, miss: float, slope: float, guess: float, settings: Settings) -> float:
    """Return a larger shift after an evaluation whose end missed delta by ``miss`` in the logarithm."""
    miss = min(miss, 50.0)
    return max(2.0 * shift, shift + 1.1 * miss / slope, abs(guess) * _LEAST, 0.6 * settings.gap / slope)


def _miss(value: Dyadic, delta: fmpq) -> float:
    """Return log(value / delta), -inf for 0 and 1 where it is not known."""
    if value.mantissa <= 0:
        return -inf
    miss = log_of_ball(value.ball) - log_of(delta)
    return miss if isfinite(miss) else 1.0


def _slope(part: Part, eps: float, n: int, delta: fmpq) -> float:
    """Return a positive float near -d log D / d eps at the eps where D is delta, for choosing a first step."""
    wide = _WIDE * eps
    cheap = part.alike(Level.of_float(eps), n)
    if cheap is not None:
        part = cheap
    elif wide > 0.0:
        slope = (log_of(delta) - part.log_estimate(Level.of_float(eps + wide), n, ROUGH)) / wide
        if isfinite(slope) and slope > 0.0:
            return slope
    b = part.log_estimate(Level.of_float(eps), n, ROUGH)
    for relative in _STEP_SIZES:
        # Near the local budget the divergence vanishes a short way on: then the next step is smaller.
        step = relative * (eps or _SMALL)
        slope = (b - part.log_estimate(Level.of_float(eps + step), n, ROUGH)) / step
        if isfinite(slope) and slope > 0.0:
            return slope
    return 1.0 / (eps or _SMALL)
