"""The whole law of a sum of GPARVs by one FFT on a lattice, and an enclosure of E[S_+] from it.

G goes up to a lattice in the increasing convex order (``lattice``), is tilted, and the law of the sum of n draws is
computed on a window (``wrapped``). The sum over the window bounds E[S_+] from above once the mass outside is bounded by
Chernoff, and from below after a correction for the lattice. The number of points grows like sqrt(n/gap).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, inf, log, pi

import numpy as np
from flint import arb

from symamp.errors import ArgumentError, PrecisionError
from symamp.evaluation.gparv import FloatGparv, ball_gparv, float_gparv
from symamp.evaluation.lattice import (
    Lattice,
    LatticeLaw,
    PlacedLaw,
    coarsest_lattice,
    common_step,
    lower_law,
    placed_law,
    rational_values,
    upper_law,
)
from symamp.evaluation.lattice_excess import excess_of_lattice
from symamp.evaluation.law import Law, Level, total
from symamp.evaluation.plan import gaussian_estimate, saddle_tilt
from symamp.evaluation.pointwise import Pointwise, Tail
from symamp.evaluation.tilted import TiltedLaw, log_mgf
from symamp.evaluation.tilted_balls import TiltedBalls
from symamp.evaluation.wrapped import Engine, Weight, wrap_flint, wrap_mpmath, wrap_numpy
from symamp.numbers.rounding import float_above
from symamp.numbers.surroundings import at_precision

ENGINES: dict[str, tuple[Engine, int]] = {
    "flint": (wrap_flint, 1 << 17),
    "numpy": (wrap_numpy, 1 << 22),
    "mpmath": (wrap_mpmath, 1 << 13),
}
"""The engines with the largest window that each takes, in lattice points."""

_ROUNDS = 6
_DEVIATIONS = 20
_REACH = 60
"""A rational law keeps its own lattice if so many standard deviations of the sum fit into the engine's window."""


@dataclass(frozen=True)
class FftSettings:
    """The engine, the relative width aimed at, the digits to which everything but the lattice is kept, the lattice."""

    context: str = "flint"
    gap: float = 1e-3
    digits: int | None = None
    lattice: Lattice | None = None

    @property
    def log_share(self) -> float:
        """log of what wrap-around and rounding may cost, relative to the result."""
        return log(1e-3) + min(log(self.gap), -log(10.0) * (self.digits or 0))

    @property
    def most(self) -> int:
        """The largest window of the engine, in lattice points."""
        return ENGINES[self.context][1]


@dataclass(frozen=True)
class ErrorBudget:
    """Parts of the width of an enclosure, relative to its upper end."""

    lattice: float
    wrap_around: float
    rounding: float


@dataclass(frozen=True)
class FftSum:
    """An enclosure of a divergence with the lattice law of the sum that it comes from, point by point on a window."""

    lower: arb
    upper: arb
    budget: ErrorBudget
    points: Pointwise
    step: float
    precision: int

    @property
    def relative_gap(self) -> float:
        """(upper - lower)/upper."""
        return self.budget.lattice + self.budget.wrap_around + self.budget.rounding


def enclose_by_fft(law: Law, level: Level, n: int, settings: FftSettings | None = None) -> FftSum:
    """Return an enclosure of D_E(P0 || P1) of the law at n users, with the law of the sum that gave it.

    Without a lattice in the settings the coarsest one is searched that meets the gap. Raises ArgumentError if G takes
    no positive value, PrecisionError if the gap would take more lattice points than the engine has.

    Guarantee
    ---------
    With the engine "flint", ``lower.lower() <= D_E(P0 || P1) <= upper.upper()``. With "numpy" and "mpmath" the same
    holds if the libraries round as assumed in section 6 of the proof. Proof: docs/proofs/fft.md.
    """
    settings = settings or FftSettings()
    rough = float_gparv(law, level)
    if not rough.is_positive:
        raise ArgumentError("eps", level.text, "a level at which the sum takes positive values, below the local budget")
    if settings.lattice is not None:
        _check_step(settings.lattice, rough)
        return _enclose(law, level, n, settings.lattice, settings)
    tightening = 1.0
    for _ in range(_ROUNDS):
        lattice = _search_lattice(law, level, rough, n, tightening * settings.gap, settings.most)
        found = _enclose(law, level, n, lattice, settings)
        if found.relative_gap <= settings.gap:
            return found
        tightening *= min(0.5, max(0.02, 0.5 * settings.gap / found.relative_gap))
    raise PrecisionError("gap", settings.gap, f"at this n and eps at least {found.relative_gap:.1e}, or a lattice step")


def _check_step(lattice: Lattice, rough: FloatGparv) -> None:
    """Refuse steps that are so far from the values of G that neither doubles nor the usual precision place them."""
    with at_precision(128):
        largest = arb(float(np.abs(rough.values).max())) * arb(2) ** rough.exponent
        ends = [largest * arb(2) ** e for e in (-_REACH, _REACH)]
        size = lattice.size()
        if not ends[0] <= size <= ends[1]:
            low, high = (end.str(3, radius=False) for end in ends)
            raise ArgumentError("step", size.str(3, radius=False), f"a step from about {low} to {high}")


def _search_lattice(law: Law, level: Level, rough: FloatGparv, n: int, gap: float, most: int) -> Lattice:
    """Return the lattice of a rational law if it is coarse enough, else one that should cost at most the gap."""
    tilted = TiltedLaw.of(rough, saddle_tilt(rough, n))
    mean = n * tilted.cumulants.k1
    sigma2 = max(n * tilted.cumulants.k2, (1e-3 / tilted.theta) ** 2)
    density = np.exp(-0.5 * mean**2 / sigma2) / np.sqrt(2.0 * pi * sigma2)
    # The correction costs about pi x step^2 density, x = n f(1 - f), or 2 sqrt(x) step^2 density if that is more.
    allowed = gap * gaussian_estimate(tilted, n) / density if density > 0.0 else inf
    allowed = min(allowed, sigma2)
    limits = (allowed / (pi * n), allowed / (2.0 * np.sqrt(n)))
    smallest = min(np.sqrt(4.0 * limits[0]), np.sqrt(2.0 * limits[1]))
    if law.rational is None or level.rational is None:
        index, count = coarsest_lattice(rough.values, smallest, limits)
        signed = count if rough.values[index] > 0.0 else -count
        return Lattice(lambda: ball_gparv(law, level).values[index] / signed, None, index, signed)
    exact, _ = rational_values(law.rational, level.rational)
    step, unit = common_step(exact), arb(2) ** rough.exponent
    if float(arb(step) / unit) * most < _DEVIATIONS * np.sqrt(sigma2):
        index, count = coarsest_lattice(np.array([float(arb(v) / unit) for v in exact]), smallest, limits)
        step = abs(exact[index]) / count
    return Lattice(lambda: arb(step), step)


def _enclose(law: Law, level: Level, n: int, lattice: Lattice, settings: FftSettings) -> FftSum:
    # Twice the digits: a ball around a value on the lattice costs the square root of its radius.
    bits = 64 * ceil((n.bit_length() - 2.0 * settings.log_share / log(2.0) + 64.0) / 64.0)
    with at_precision(bits):
        g = placed_law(law, level, lattice)
        up = _Summation.of(upper_law(g), n, settings)
        upper = up.tilted.scale * (up.positive + up.missed)
        excess = excess_of_lattice(up.law, n, (g.null_mass / up.tilted.m) ** n, up.points)
        lower = up.tilted.scale * (up.positive - up.missed - excess)
        if not (upper - lower) < settings.gap * upper:
            lower = lower.max(_from_below(g, n, settings))
        unit = g.step / n
        upper, lower = (unit * x.max(arb(0)) + g.singular for x in (upper, lower))
        # Where the step is far above the values of G, no more is known than that D_E <= P0(all).
        most = total([a.ratio0() * a.mass() for a in law.atoms]) + total([p0() for p0, _ in law.singular])
        upper = upper.min(most) if upper.is_finite() else most
        lower = lower if lower.is_finite() else arb(0)
        return FftSum(
            lower,
            upper,
            _budget(lower, upper, 2 * unit * up.tilted.scale * up.missed),
            up.points,
            float(g.step),
            bits,
        )


def _from_below(g: PlacedLaw, n: int, settings: FftSettings) -> arb:
    """Return a lower bound on E[S_+] in steps, from the law of conditional means."""
    law = lower_law(g)
    if max(law.masses) <= 0:
        return arb(0)
    try:
        low = _Summation.of(law, n, settings)
    except PrecisionError:
        return arb(0)
    return low.tilted.scale * (low.positive - low.missed)


def _budget(lower: arb, upper: arb, wrap_around: arb) -> ErrorBudget:
    top = upper.upper()
    if not top > 0:
        return ErrorBudget(0.0, 0.0, 0.0)
    rounding, wrapped = (upper.rad() + lower.rad()) / top, wrap_around.upper() / top
    lattice = (top - lower.lower()) / top - wrapped - rounding
    return ErrorBudget(*(float_above(part.max(arb(0))) for part in (lattice, wrapped, rounding)))


@dataclass(frozen=True)
class _Summation:
    """The sum of n draws of a lattice law, in steps: its wrapped law and E_theta[S_+ e^(-theta S)] on the window."""

    law: LatticeLaw
    n: int
    tilted: TiltedBalls
    points: Pointwise
    positive: arb

    @staticmethod
    def of(law: LatticeLaw, n: int, settings: FftSettings) -> _Summation:
        """Choose tilt and window in floats, then evaluate with the engine. Any choice gives valid bounds."""
        rough = law.floats()
        search = TiltedLaw.of(rough, saddle_tilt(rough, n))
        window = _choose_window(search, law, n, settings.log_share + log(gaussian_estimate(search, n)))
        length = 1 << max(1, (window.last - window.first).bit_length())
        if length > settings.most:
            most = f"at most {settings.most} for context={settings.context!r}"
            raise PrecisionError("lattice points", length, f"{most}: a larger gap or step, fewer users, or sa.delta")
        first = window.first - (length - 1 - window.last + window.first) // 2
        tilted = TiltedBalls.of(law.gparv(), n, search.theta)
        others = sorted(k for k in law.masses if k)
        one = dict(zip(others, tilted.probabilities, strict=True)) | {0: tilted.null}
        wrapped = ENGINES[settings.context][0](one, n, first, length)
        positive = arb(0)
        if wrapped.last > 0:
            positive = wrapped.expectation(Weight(search.theta), max(first, 1), wrapped.last)
        above = Tail.of(tilted, window.above, n * max(law.masses) + 1)
        below = Tail.of(tilted, window.below, n * min(law.masses) - 1)
        points = Pointwise(wrapped, below, above, search.theta, tilted.m.log() * n)
        return _Summation(law, n, tilted, points, positive)

    @property
    def missed(self) -> arb:
        """What the mass outside the window may add to ``positive`` or take from it: x e^(-theta x) <= 1/(e theta)."""
        return self.points.outside() / (self.tilted.theta * arb.const_e())


@dataclass(frozen=True)
class _Window:
    """Lattice points of a window, and the tilts that bound the mass below and above it."""

    first: int
    last: int
    below: float
    above: float


def _choose_window(tilted: TiltedLaw, law: LatticeLaw, n: int, log_allowance: float) -> _Window:
    """Return a window outside of which 1/(e theta) times the tilted mass is about the allowance."""
    g, theta = tilted.g, tilted.theta
    wanted = max(-1.0 - log(theta) - log_allowance, 1.0)
    scale = np.sqrt(2.0 * wanted) / max(np.sqrt(n) * tilted.deviation, 1e-3 / theta)
    up = scale * np.geomspace(0.1, 10.0, 41)
    down = np.minimum(up, theta + 600.0 / float(np.abs(g.values).max()))  # further down the transform underflows
    with np.errstate(all="ignore"):
        above = (n * (log_mgf(g, theta + up) - tilted.cumulants.k0) + wanted) / up
        below = (n * (log_mgf(g, theta - down) - tilted.cumulants.k0) + wanted) / down
    i, j = int(np.nanargmin(above)), int(np.nanargmin(below))
    last = min(ceil(above[i]), n * max(law.masses))
    first = max(floor(-below[j]), n * min(law.masses))
    return _Window(min(first, last), last, theta - float(down[j]), theta + float(up[i]))
