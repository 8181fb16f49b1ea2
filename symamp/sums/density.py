"""The divergence of a law with a density at n users: that of finite laws below and above it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from symamp.laws.density import SmoothLaw, finite_sandwich
from symamp.laws.law import Law, Level
from symamp.sums.divergence import Enclosure, Settings, enclose_divergence, estimate_log_divergence
from symamp.sums.inversion import approximate_log_divergence, estimate_root

# What is tuned. Every sandwich gives a bound; these trade time against width, and were chosen on the noise of the
# catalogue with 2 to 10^9 users.
_CELLS, _FEWEST, _MOST = 160, 16, 800
"""Cells of a piece at the usual gap and at least, and of all pieces: the width falls with the square."""
_FINER = 6
"""By how much cells are finer for digits, or a smaller gap."""
_COARSER = 20.0
"""The gap of sums of finite laws, in units of that of the question: cells leave about as much."""
_FREQUENCIES = 3_000
"""Frequencies of a kernel: where rare large ratios ask for more, sums on a lattice are closer and quicker."""
_ACCURACY = 0.1
"""The part of the gap to which a root is sought: laws that are cut anew at each level leave small jumps."""


def finite_laws(below: SmoothLaw, above: SmoothLaw, settings: Settings) -> tuple[Law, Law]:
    """Return a finite law below the first law and one above the second, closer where more than usual is asked for."""
    finer = _FINER if _are_close(settings) else 1
    return _sandwich(below, finer)[0], _sandwich(above, finer)[1]


@lru_cache(maxsize=64)
def _sandwich(law: SmoothLaw, finer: int) -> tuple[Law, Law]:
    cells = min(_CELLS, max(_MOST // max(len(law.pieces), 1), _FEWEST))
    return finite_sandwich(law, finer * cells)


def estimate_log_smooth(law: SmoothLaw, level: Level, n: int, settings: Settings | None = None) -> float:
    """Return an estimate of log D_E(P0 || P1), in floats; -inf for zero. Not a bound."""
    settings = settings or Settings()
    return estimate_log_divergence(finite_laws(law, law, settings)[1], level, n, _coarser(settings))


def estimate_smooth_epsilon(
    law_at: Callable[[Level], SmoothLaw],
    n: int,
    log_delta: float,
    settings: Settings,
    top: float,
    start: float | None = None,
) -> float:
    """Return an estimate of the eps at which the law of that level has divergence delta: 0 if it has less at eps = 0.

    ``top`` is where it reaches 0, inf if nowhere.
    """

    def rough(eps: float) -> float:
        law = law_at(Level.of_float(eps))
        return approximate_log_divergence(finite_laws(law, law, settings)[1], eps, n)

    def value(eps: float) -> float:
        level = Level.of_float(eps)
        return estimate_log_smooth(law_at(level), level, n, settings)

    return estimate_root(value, rough, n, log_delta, settings, top, start, _ACCURACY * settings.gap)


def enclose_smooth(
    law: SmoothLaw, level: Level, n: int, settings: Settings | None = None, below: SmoothLaw | None = None
) -> Enclosure:
    """Return an enclosure of D_E(P0 || P1) for the law at n users; the lower end for ``below`` if that is another law.

    Guarantee
    ---------
    ``lower.lower() <= D_E(P0 || P1) <= upper.upper()``, whatever the cells are.
    Proof: docs/proofs/smooth_laws.md, with docs/proofs/kernel_sandwich.md.
    """
    settings = settings or Settings()
    finite = finite_laws(below or law, law, settings)
    low, high = (enclose_divergence(x, level, n, _coarser(settings)) for x in finite)
    return Enclosure(low.lower, high.upper, f"finite sandwich, {high.evaluator}", high.precision, high.plan)


def _coarser(settings: Settings) -> Settings:
    if _are_close(settings):
        return settings
    return replace(settings, gap=max(settings.gap, _COARSER * Settings.gap), most_frequencies=_FREQUENCIES)


def _are_close(settings: Settings) -> bool:
    """Return whether more than usual is asked for, by a gap or by digits."""
    return settings.gap < Settings.gap or settings.most_frequencies > Settings.most_frequencies
