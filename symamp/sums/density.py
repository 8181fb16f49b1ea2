"""The divergence of a law with a density at n users: the search of a plan, and enclosures without discretisation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import inf, log, log1p

import flint
import numpy as np
from flint import arb

from symamp.errors import PrecisionError
from symamp.laws.density import Nodes, SmoothLaw, finite_sandwich, nodes
from symamp.laws.law import (
    BallGparv,
    FloatGparv,
    FloatLaw,
    Law,
    Level,
    ball_gparv,
    evaluated,
    nearest_doubles,
    quick_gparv,
)
from symamp.numbers.limits import CERTIFIED_LATTICE_SUM, KERNEL_IN_BALLS, KERNEL_IN_DOUBLES, KERNEL_PLAN, LATTICE_SUM
from symamp.numbers.surroundings import at_precision
from symamp.sums.convolution import convolved_sum, estimated_log_sum
from symamp.sums.divergence import (
    AS_SHARP,
    KERNEL_GAP,
    ROUGH_GAP,
    Enclosure,
    Settings,
    enclose_divergence,
    estimate_log_divergence,
    is_settled,
    positive_part,
    settled,
    starting_precision,
)
from symamp.sums.inversion import approximate_log_law, estimate_root, log_of_ball
from symamp.sums.kernels.balls import RoughlyTiltedNodes, TiltedNodes, node_gparv, suits_doubles, tilted_sum
from symamp.sums.kernels.floats import FloatSum, float_sum
from symamp.sums.kernels.tilted import Plan, Power, TiltedLaw, normal_spread, raised_tilt, saddle_tilt

# What is tuned. Every plan and every sandwich gives a bound; these trade time against width, and were chosen on the
# noise of the catalogue with 2 to 10^9 users.
SEARCHED, _BITS, _BITS_OF_GAPS, _LARGEST_PRECISION = 64, 128, 40, 1024
"""Bits of nodes that say where to look, of those of a search, how far below n errors of nodes are, and the most."""
_SLACK, _SHARE = 1.05, 4.0
"""A search asks for nodes up to a frequency that it guesses by the second, and again where it needs the first more."""
_FEW_USERS, _MANY_USERS = 12, 1_000
"""Up to the first no kernel is tried; from the second on it is asked for the least gap."""
_GAP_OF_MANY, _FREQUENCIES_OF_FEW, _FREQUENCIES_OF_MANY, _MOST_FREQUENCIES = 5e-7, 300, 500, 3_000
"""That gap, the frequencies a kernel may take before sums on a lattice are preferred, and where those are too wide."""
_WIDE, _WIDE_SHARE = 0.22, 5e-3
"""The ratio of the ends, as a logarithm, from which on a long kernel is tried: the larger of a number and a share of
that of the divergence itself. The latter moves eps by about half of that share."""
_COARSER, _COARSEST = 32.0, 1e-3
"""Estimates aim at a gap so much larger than the enclosure's, up to the second."""
_CELLS, _FEW_CELLS, _FEW_ATOMS, _GAP_OF_SANDWICH = 200, 24, 8, 5e-4
"""Cells of a piece of a sandwich, those for one user, how many atoms alone are summed exactly, and the gap of its sums:
as close as other evaluations come with few users."""
_DIVERGENCE_BITS, _ROUNDED = 128, 0.01
"""Bits of sums on a lattice; how far estimates may be above what they cannot exceed, as logarithms."""

# ----------------- The plan for a law with a density: found in floats, with nodes that are good for all its frequencies


@dataclass(frozen=True)
class Search:
    """What floats have found: G of the nodes in doubles, the sum, and the tilt and frequencies that nodes are for."""

    g: FloatGparv
    sum: FloatSum | None
    tilt: float
    reach: float


def search(law: SmoothLaw, level: Level, n: int, gap: float, most: int) -> Search:
    """Return the plan, found with nodes that are good for all its frequencies; no sum if there is none to be had."""
    g = rough_gparv(law, level, 0.0, 0.0, SEARCHED)
    if not g.is_positive:
        return Search(g, None, 0.0, 0.0)
    transform = Power(g, n)
    saddle = saddle_tilt(transform)
    tilt, unit = raised_tilt(transform, saddle), 2.0**g.exponent
    tilted = TiltedLaw.of(g, n, tilt)
    # About what the search will ask for: with too few nodes phi would not fall, and it would ask for much more.
    width = np.sqrt(_SHARE * gap * normal_spread(tilted))
    if not width > 0.0:  # one value has all the mass of the tilted law
        return Search(g, None, 0.0, 0.0)
    reach = float(2.0 * np.pi / width)
    while True:
        try:
            g = rough_gparv(law, level, tilt / unit, reach / unit, accuracy_of(n))
        except PrecisionError:  # too many nodes
            return Search(g, None, 0.0, 0.0)
        found = float_sum(g, n, gap, most)
        needed = _needed(found.plan, g)
        if needed <= _SLACK * reach:
            return Search(g, found, tilt / unit, reach / unit)
        reach = 2.0 ** np.ceil(np.log2(needed))


def accuracy_of(n: int) -> int:
    """Return bits for which n errors of nodes are far below every gap that is aimed at first."""
    return n.bit_length() + _BITS_OF_GAPS


def _needed(plan: Plan, g: FloatGparv) -> float:
    """Return the largest frequency at which nodes have to give phi, in units of the floats."""
    step = 2.0 * np.pi / plan.window.length * 2.0**g.exponent
    last = [last * step for _, last in plan.blocks.evaluated]
    return max(last + [(a + b) / 2.0 * step for a, b in plan.blocks.dropped], default=0.0)


def rough_gparv(law: SmoothLaw, level: Level, tilt: float, reach: float, accuracy: int) -> FloatGparv:
    """Return G of the nodes in doubles, from balls at the level only where doubles do not resolve it."""

    def source() -> BallGparv:
        return node_gparv(law, level, nodes_near(law, level, tilt, reach, flint.ctx.prec, accuracy))

    known = _float_law(law, nodes_near(law, level, tilt, reach, _BITS, accuracy))
    return (known and known.gparv(level)) or nearest_doubles(source, _BITS)


@lru_cache(maxsize=64)
def _float_law(law: SmoothLaw, found: Nodes) -> FloatLaw | None:
    with at_precision(_BITS):
        rows = [(r0 - r1, r1, mass) for r0, r1, mass in found.values]
        return FloatLaw.of_rows([*rows, *(evaluated(atom) for atom in law.atoms)], law.null(), law.singular)


def nodes_near(law: SmoothLaw, level: Level, theta: float, reach: float, bits: int, accuracy: int) -> Nodes:
    """Return nodes for levels, tilts and frequencies near those given: neighbours share them."""
    with at_precision(64):
        e = float(level.exponential())
    return nodes(law.pieces, *(_above(x) for x in (e, theta, reach)), bits, accuracy)


def _above(x: float) -> float:
    """Return a power of sqrt 2 that is at least x."""
    return 0.0 if x == 0.0 else float(2.0 ** (np.ceil(2.0 * np.log2(x)) / 2.0))


# -------- The divergence of a law with a density at n users: estimates in floats, enclosures without any discretisation

EVALUATOR = "compact kernel over pieces"


def estimate_log_smooth(law: SmoothLaw, level: Level, n: int, settings: Settings | None = None) -> float:
    """Return an estimate of log D_E(P0 || P1), in floats; -inf for zero. Not a bound."""
    settings = settings or Settings()
    found = _kernel_estimate(law, level, n, settings)
    return _sandwich_estimate(law, level, n, settings) if found is None else found


def _search(law: SmoothLaw, level: Level, n: int, gap: float, settings: Settings, most: int) -> Search:
    most = min(settings.most_frequencies, most)
    found = search(law, level, n, gap, most)
    frequencies = most if found.sum is None else found.sum.plan.blocks.evaluations
    settings.limits.charge(KERNEL_PLAN.of(len(found.g.values) * frequencies))
    return found


def _kernel_estimate(law: SmoothLaw, level: Level, n: int, settings: Settings) -> float | None:
    """Return the same by a kernel, None for few users and where it takes too many frequencies."""
    if n <= _FEW_USERS:
        return None
    gap = _gap(min(_COARSER * settings.gap, max(settings.gap, _COARSEST)), n)
    found = _search(law, level, n, gap, settings, _cheap(n))
    if found.g.is_positive and (found.sum is None or found.sum.gap > gap):
        return None
    singular = log(found.g.singular) if found.g.singular > 0.0 else -inf
    if found.sum is None:
        return singular
    # The errors of the extremal minorant and majorant stand about 2 to 1: far better than the middle.
    value = found.sum.lower + (found.sum.upper - found.sum.lower) * 2.0 / 3.0
    log_value = found.sum.log_scale + log(value) - log(n) if value > 0.0 else -inf
    return float(np.logaddexp(log_value, singular))


def _sandwich_estimate(law: SmoothLaw, level: Level, n: int, settings: Settings) -> float:
    below, above = _sandwich(law, n, settings)
    g = quick_gparv(above, level)
    settings.limits.charge(LATTICE_SUM)
    value = -inf if not g.is_positive else g.log_gain if n == 1 else estimated_log_sum(g, n) - log(n)
    if -inf < value <= g.log_gain + _ROUNDED:  # more than one user alone has: values too far apart for a lattice
        return float(np.logaddexp(value, log(g.singular) if g.singular > 0.0 else -inf))
    coarse = replace(settings, gap=max(settings.gap, _GAP_OF_SANDWICH))
    low, high = (estimate_log_divergence(x, level, n, coarse) for x in (below, above))
    return float(np.logaddexp(low, high)) - log(2.0)


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
        level = Level.of_float(eps)
        return approximate_log_law(rough_gparv(law_at(level), level, 0.0, 0.0, SEARCHED), n)

    kernel_is_cheap = True

    @cache
    def value(eps: float) -> float:
        nonlocal kernel_is_cheap
        level = Level.of_float(eps)
        law = law_at(level)
        found = _kernel_estimate(law, level, n, settings) if kernel_is_cheap else None
        # One kind of estimate for all: where they change, a search would follow the difference.
        kernel_is_cheap = found is not None
        return _sandwich_estimate(law, level, n, settings) if found is None else found

    return estimate_root(
        value,
        rough,
        n,
        log_delta,
        settings,
        top,
        start,
    )


def enclose_smooth(
    law: SmoothLaw, level: Level, n: int, settings: Settings | None = None, below: SmoothLaw | None = None
) -> Enclosure:
    """Return an enclosure of D_E(P0 || P1) for the law at n users; the lower end for ``below`` if that is another law.

    Guarantee
    ---------
    ``lower.lower() <= D_E(P0 || P1) <= upper.upper()``, whatever floats have planned.
    Proof: docs/proofs/smooth_laws.md, with docs/proofs/kernel_sandwich.md and docs/proofs/convolution.md.
    """
    settings = settings or Settings()
    below = below or law
    above = _by_kernel(law, level, n, settings, _cheap(n)) if n > _FEW_USERS else None
    if above is None:
        coarse = replace(settings, gap=max(settings.gap, _GAP_OF_SANDWICH))
        found = _by_convolution(law, level, n, coarse, below)
        if n > _FEW_USERS and (found is None or _is_wide(found)):
            above = _by_kernel(law, level, n, settings, _MOST_FREQUENCIES, 1.0 if found is None else found.relative_gap)
        if above is None:
            return found or _by_finite_laws(law, level, n, coarse, below)
    if below is law:
        return above
    other = enclose_smooth(below, level, n, settings)
    return Enclosure(other.lower, above.upper, above.evaluator, above.precision, above.plan)


def _is_wide(found: Enclosure) -> bool:
    gap, size = found.relative_gap, log_of_ball(found.upper)
    return gap >= 1.0 or (size > -inf and -log1p(-gap) > max(_WIDE, -_WIDE_SHARE * size))


def _by_kernel(
    law: SmoothLaw, level: Level, n: int, settings: Settings, most: int, wide: float | None = None
) -> Enclosure | None:
    """Return the enclosure by the kernel; None if the gap, or a ``wide`` one, takes more than ``most`` frequencies.

    None, too, where no precision tells the values at those frequencies.
    """
    gap = _gap(settings.gap, n)
    found = _search(law, level, n, gap, settings, most)
    if found.sum is None or found.sum.gap > (wide or gap):
        return None
    first = starting_precision(n, settings.gap)

    def enclosed(bits: int, roughly: float | None = None) -> Enclosure:
        assert found.sum is not None
        work = KERNEL_IN_BALLS if roughly is None else KERNEL_IN_DOUBLES
        settings.limits.charge(work.of(len(found.g.values) * found.sum.plan.blocks.evaluations))
        return _enclosed(law, level, n, found, bits, accuracy_of(n) * bits // first, roughly)

    with at_precision(first), suppress(PrecisionError):  # no double is known of some value
        aimed = max(settings.gap, found.sum.gap)
        quick = enclosed(first, aimed)
        if is_settled(quick, settings.gap) and quick.relative_gap <= AS_SHARP * aimed:
            return quick
    try:
        return settled(enclosed, first, settings.gap, _LARGEST_PRECISION)
    except PrecisionError:  # values beyond all frequencies: sums on a lattice serve
        return None


def _gap(gap: float, n: int) -> float:
    """Return the gap that a kernel aims at: few users keep phi large over a long range of frequencies."""
    return max(gap, KERNEL_GAP, _GAP_OF_MANY * float((_MANY_USERS / n) ** 1.5))


def _cheap(n: int) -> int:
    """Return how many frequencies a kernel may take before sums on a lattice are preferred."""
    return _FREQUENCIES_OF_FEW if n < _MANY_USERS else _FREQUENCIES_OF_MANY


def _enclosed(
    law: SmoothLaw, level: Level, n: int, found: Search, bits: int, accuracy: int, roughly: float | None
) -> Enclosure:
    """Return the enclosure at a precision; with phi in doubles where that saves time and ``roughly``, a gap, allows."""
    assert found.sum is not None
    plan = found.sum.plan
    # At first those of the search: their remainder is bounded for this plan, whatever they were made for.
    rule = nodes_near(law, level, found.tilt, found.reach, bits, accuracy)
    with at_precision(bits):
        e = level.exponential()
        g = node_gparv(law, level, rule)
        in_doubles = roughly is not None and suits_doubles(plan, len(g.values), n, roughly)
        kind = RoughlyTiltedNodes if in_doubles else TiltedNodes
        lower, upper = tilted_sum(kind.of_nodes(g, rule, e, n, plan.window.theta), plan)
        # One user has at most divergence 1; where a sum overflows that is all there is.
        lower = (lower / n).max(arb(0)) if lower.is_finite() else arb(0)
        upper = (upper / n).min(arb(1)) if upper.is_finite() else arb(1)
        return Enclosure(lower + g.singular, upper + g.singular, EVALUATOR, bits, plan)


def _sandwich(law: SmoothLaw, n: int, settings: Settings) -> tuple[Law, Law]:
    # One user has no sums: cells on which G has one sign are exact.
    return _finite(law, _FEW_CELLS if n == 1 and settings.gap >= ROUGH_GAP else _CELLS)


@lru_cache(maxsize=32)
def _finite(law: SmoothLaw, cells: int) -> tuple[Law, Law]:
    return finite_sandwich(law, cells)


def _by_finite_laws(law: SmoothLaw, level: Level, n: int, settings: Settings, below: SmoothLaw) -> Enclosure:
    low = enclose_divergence(_sandwich(below, n, settings)[0], level, n, settings)
    high = enclose_divergence(_sandwich(law, n, settings)[1], level, n, settings)
    return Enclosure(low.lower, high.upper, f"finite sandwich, {high.evaluator}", high.precision, high.plan)


def _by_convolution(law: SmoothLaw, level: Level, n: int, settings: Settings, below: SmoothLaw) -> Enclosure | None:
    """Return the enclosure by the finite sandwich and sums on a lattice, None where doubles do not serve."""
    if not law.pieces and len(law.atoms) <= _FEW_ATOMS:  # a lattice costs accuracy: few atoms are summed exactly
        return None
    finite = _sandwich(below, n, settings)[0], _sandwich(law, n, settings)[1]
    rough = quick_gparv(finite[1], level)
    if not rough.is_positive:
        return None
    with at_precision(_DIVERGENCE_BITS):
        low, high = (ball_gparv(x, level) for x in finite)
        lower, upper = positive_part(low), positive_part(high)
        if n > 1:
            settings.limits.charge(CERTIFIED_LATTICE_SUM)
            found = convolved_sum(low, high, rough, n, settings.gap)
            if found is None:
                return None
            lower, upper = arb(found[0]) / n, (arb(found[1]) / n).min(upper)
        return Enclosure(lower + low.singular, upper + high.singular, "finite sandwich, convolution", _DIVERGENCE_BITS)
