"""E(T - E T')_+ for sums T, T' of the two likelihood ratios of a message that is moved by 1 or by -1, over unmoved.

Both have heavy tails, so that the payoff is a wave, which is its Fourier series: at each frequency the transform of one
summand is an integral whose path is moved to where both ratios damp it (docs/proofs/random_allocation.md, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, log, pi, sqrt
from typing import Any

import numpy as np
from flint import acb, arb

from symamp.numbers.surroundings import at_precision
from symamp.sums.kernels.balls import power, powers_of, sums_of_powers
from symamp.sums.kernels.one_jump import parameters_of_jumps, stop_loss_of_jumps
from symamp.sums.kernels.one_sided import MOST_FREQUENCIES, Lognormal

# What is tuned. Every choice gives a bound; these trade time against width.
_MOST_WORK, _SPARE_BITS, _BITS_OF_BOUNDS = 2e9, 40, 64
"""Frequencies, times nodes, times bits; bits beyond those that magnitudes say, and those of a bound on what is left."""
_FARTHER, _MOST_TRIES, _PART = 1.25, 30, 16.0
"""By how much, and how often, what T exceeds is enlarged until that is proved to be rare enough; and the height of a
wave where it may be 0, as a part of what lies below."""
_TILTS, _COUNTS = np.geomspace(1e-4, 1e20, 401), np.geomspace(1.0, 1e5, 60)
TURNS = np.concatenate([np.geomspace(2e-3, 0.04, 6), np.linspace(0.05, 1.5, 10)])
"""Tilts, numbers of frequencies and turns that are tried: with much noise the best turns are small."""
_TURN, _TURN_OF_BOUNDS = 1.2, 1.5
"""By what angle paths are moved at most; strips of real integrands are as wide as this allows."""


@dataclass(frozen=True)
class Wave:
    """The wave that rises from 0 to ``peak`` and falls again, then is 0 for the length ``left``; and its frequencies.

    T - ``end`` and ``start`` - T are positive so seldom that they are left out; ``tilt`` proves it of the latter, and
    ``turn`` bounds further frequencies.
    """

    start: float
    end: float
    tilt: float
    peak: float
    left: float
    count: int
    turn: float
    bits: int

    @staticmethod
    def of(law: Lognormal, n: int, level: float, log_accuracy: float) -> Wave | None:
        """Return a wave for one level E with an error of about e^log_accuracy; None if it takes too much work."""
        start, tilt = _seldom_below(law, n, log_accuracy)
        end = _seldom_above(law, n, log_accuracy)
        if end is None:
            return None
        left = (level * end - start) * (1.0 + 1e-9)
        peak = max((end - level * start) * (1.0 + 1e-9), left / _PART)
        step = 2.0 * pi / (2.0 * peak + left)
        weights, values = law.rough_nodes
        both = values + level * exp(-1.0 / float(law.sigma().mid()) ** 2) / values
        u = step * _COUNTS
        with np.errstate(all="ignore"):
            damped = np.array([np.log(np.exp(-np.outer(u * np.sin(x), both)) @ weights) for x in TURNS])
        logs = damped + (float(law.sigma().mid()) * TURNS[:, None]) ** 2 / 2.0
        small = n * logs.min(axis=0) + log(8.0 / (2.0 * pi * step)) - np.log(_COUNTS) < log_accuracy
        if not small.any():
            return None
        k = int(small.argmax())
        bits = int((log(n / step) - log_accuracy) / log(2.0)) + _SPARE_BITS
        count = ceil(_COUNTS[k])
        found = Wave(start, end, tilt, peak, left, count, float(TURNS[logs[:, k].argmin()]), bits)
        return found if count < MOST_FREQUENCIES and found.work(law) < _MOST_WORK else None

    def work(self, law: Lognormal) -> float:
        """Return frequencies, times nodes, times bits."""
        a, _, last = _path(float(law.sigma().mid()), self.bits)
        return self.count * 2.0 * last * (self.bits + a * a / 2.0)

    def precision(self, law: Lognormal) -> int:
        """Return the bits of frequencies and of the level: moving a path enlarges what they are off by."""
        a = _path(float(law.sigma().mid()), self.bits)[0]
        return int(self.bits + 0.75 * a * a / log(2.0)) + _SPARE_BITS

    def shown(self, law: Lognormal, n: int) -> dict[str, Any] | None:
        """Return what a certificate says of it; None where nothing proves what T seldom exceeds."""
        tail = parameters_of_jumps(law, n, self.end)
        names = ("start", "end", "tilt", "peak", "left", "turn")
        about = {name: float(getattr(self, name)) for name in names}
        return None if tail is None else {
            "kind": "wave", "precision": self.precision(law), "count": self.count, **about, "tail": tail.shown
        }  # fmt: skip


def expected_excess(law: Lognormal, n: int, e: arb, wave: Wave) -> tuple[arb, arb]:
    """Return balls whose outer ends enclose E(T - E T')_+ at the level E, for every wave.

    Guarantee
    ---------
    The value lies between them. Proof: docs/proofs/random_allocation.md, section 2, a wave.
    """
    with at_precision(wave.precision(law)):
        peak, left, start, end, tilt, turn = (
            arb(x) for x in (wave.peak, wave.left, wave.start, wave.end, wave.tilt, wave.turn)
        )
        period = 2 * peak + left
        if not (peak >= end - e * start and left >= e * end - start and peak > 0 and left > 0):
            return arb(0), arb("+inf")
        step, found = 2 * arb.pi() / period, arb(0)
        for k, phi in enumerate(transforms(law, e, step, wave.count, wave.bits), 1):
            x = step * k
            found += ((1 - (x * peak).cos()) / (x * x) * (acb(0, -x * peak).exp() * power(phi, n))).real
        s, beyond = law.sigma(), step * (wave.count + 1)
        # Its n-th power matters, and what moving the path by this turn enlarges it by.
        bits = _BITS_OF_BOUNDS + wave.bits / n + float((s * turn) ** 2) / (2.0 * log(2.0))
        bound = ((s * turn) ** 2 / 2).exp() * damping(law, e, beyond * turn.sin(), bits)
        rest = (
            8
            * bound.upper() ** n
            / (period * step * step)
            * (arb(1) / (wave.count + 1) ** 2 + arb(1) / (wave.count + 1))
        )
        value = peak * peak / period + 4 * found / period
        above = stop_loss_of_jumps(law, n, end)[1]
        below = (
            (tilt * start - 1).exp() * power(law.phi(acb(tilt), _BITS_OF_BOUNDS), n).real / tilt
            if start > 0
            else arb(0)
        )
        high, low = above + e * below, below + e * above
        return (value - rest - low).max(arb(0)), (value + rest + 2 * high).max(arb(0))


def transforms(law: Lognormal, e: arb, step: arb, count: int, bits: float) -> list[acb]:
    """Return E exp(iu(L - E L')) at u = step, 2 step, ..., with errors of about 2^-bits (section 3)."""
    a, h, last = _path(float(law.sigma().mid()), bits)
    with at_precision(int(bits + a * a / 2.0 / log(2.0)) + _SPARE_BITS):
        width, s = arb(a), law.sigma()
        back = acb(0, width / s - arb.pi() / 2).exp()
        grid = law.grid(h, -last, last)
        rates = [-step * (back * x + e * back.conjugate() * y) for (_, x), (_, y) in zip(grid, grid[::-1], strict=True)]
        ratios = [x.exp() for x in rates]
        turned = powers_of(acb(0, -width * h).exp(), len(grid))
        first = [w * x * y for (w, _), x, y in zip(grid, turned, ratios, strict=True)]
        shift, scale = acb(0, width * h * last).exp(), (width * width / 2).exp()
        error = scale * ((width * width).exp() + (-width * width).exp()) / (2 * arb.pi() * width / h).expm1()
        ball = ((error + (arb(last) * h / arb(2).sqrt()).erfc()) * scale).upper() * arb(0, 1)
        return [scale * shift * x + acb(ball, ball) for x in sums_of_powers(first, ratios, count)]


def damping(law: Lognormal, e: arb, y: arb, bits: float) -> arb:
    """Return a bound on E exp(-y(L + E L')), y > 0 (section 3)."""
    s, wanted = float(law.sigma().mid()), bits * log(2.0)
    a = min(sqrt(2.0 * wanted), _TURN_OF_BOUNDS * s)
    h = 2.0 * pi * a / (wanted + a * a / 2.0)
    last = ceil(sqrt(2.0 * wanted) / h) + 1
    grid = law.grid(h, -last, last)
    found = sum((w * (-y * (x + e * z)).exp() for (w, x), (_, z) in zip(grid, grid[::-1], strict=True)), arb(0))
    width = arb(a)
    error = 2 * (width * width / 2).exp() / (2 * arb.pi() * width / h).expm1()
    return (found + error + (arb(last) * h / arb(2).sqrt()).erfc()).upper()


def _path(s: float, bits: float) -> tuple[float, float, int]:
    """Return by how much the path is moved, which is the strip's half width, a step and the last node."""
    wanted = bits * log(2.0) + 3.0
    a = min(sqrt(wanted / 2.0), _TURN * s)
    h = 2.0 * pi * a / (wanted + 2.0 * a * a)
    return a, h, ceil(sqrt(2.0 * wanted + a * a) / h) + 1


@lru_cache(maxsize=64)
def _seldom_above(law: Lognormal, n: int, log_accuracy: float) -> float | None:
    """Return a number a with E(T - a)_+ of about e^log_accuracy or less; None if none is found."""
    excess = sqrt(n * min(law.variance, float(n))) * sqrt(2.0 * max(-log_accuracy, 1.0))
    while log(n) + law.rough_tail(1.0 + excess) > log_accuracy:
        excess *= _FARTHER
    for _ in range(_MOST_TRIES):
        with at_precision(_BITS_OF_BOUNDS):
            if stop_loss_of_jumps(law, n, arb(n + excess))[1] < arb(log_accuracy).exp():
                return n + excess
        excess *= _FARTHER
    return None


@lru_cache(maxsize=64)
def _seldom_below(law: Lognormal, n: int, log_accuracy: float) -> tuple[float, float]:
    """Return a number b >= 0 with E(b - T)_+ of about e^log_accuracy or less, and the tilt that shows it."""
    tilts = _TILTS / sqrt(n * min(law.variance, float(n)))
    places = (log_accuracy - n * law.rough(tilts) + 1.0 + np.log(tilts)) / tilts
    best = int(np.nanargmax(places))
    return max(float(places[best]), 0.0), float(tilts[best])
