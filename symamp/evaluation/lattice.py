"""A finite law of G moved to a lattice, upward and downward in the increasing convex order.

Upward every atom is split between its two neighbours with its mean kept: that costs a variance of order step^2 a draw,
where rounding the values up costs a shift of order step. Downward, atoms are merged into conditional means
(docs/proofs/fft.md). The mass is exactly 1 throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm

import numpy as np
from flint import arb, fmpq

from symamp.errors import PrecisionError
from symamp.evaluation.gparv import BallGparv, FloatGparv, Floats, ball_gparv
from symamp.evaluation.law import Law, Level, Number, RationalLaw, total

_MOST_CANDIDATES = 1 << 17
_SAME_POINT = 1e-14


@dataclass(frozen=True)
class Lattice:
    """The multiples of a step, an exact number: ``fraction`` where it is rational.

    ``anchor`` and ``count`` say that the value of that index is exactly ``count`` steps; a ball could not know.
    """

    size: Number
    fraction: fmpq | None = None
    anchor: int = -1
    count: int = 0


@dataclass(frozen=True)
class PlacedLaw:
    """G in units of the step: positions of the values, an exact integer only where G is known to be on the lattice."""

    step: arb
    positions: tuple[arb, ...]
    masses: tuple[arb, ...]
    null_mass: arb
    singular: arb


@dataclass(frozen=True)
class LatticeLaw:
    """A probability law on the integers, G in units of the step.

    ``offsets`` are the parts of a step by which the atoms of G lay above the lattice point below them, and ``lift``
    bounds how far an atom was moved up because its ball straddles a lattice point.
    """

    masses: dict[int, arb]
    offsets: tuple[arb, ...]
    lift: arb

    def gparv(self) -> BallGparv:
        """Return the law as values and masses: what the tilt and its bounds are computed from."""
        others = sorted(k for k in self.masses if k)
        values, masses = tuple(arb(k) for k in others), tuple(self.masses[k] for k in others)
        return BallGparv(values, masses, self.masses.get(0, arb(0)), arb(0))

    def floats(self) -> FloatGparv:
        """Return the same in doubles, for the search of parameters."""
        g = self.gparv()
        mean = total([v * w for v, w in zip(g.values, g.masses, strict=True)])
        values, masses = (np.array([float(x) for x in xs]) for xs in (g.values, g.masses))
        return FloatGparv(values, masses, float(g.null_mass), float(mean), 0.0)


def placed_law(law: Law, level: Level, lattice: Lattice) -> PlacedLaw:
    """Return G of the law in units of the step, at the ambient precision."""
    if lattice.fraction is not None and law.rational is not None and level.rational is not None:
        values, masses = rational_values(law.rational, level.rational)
        positions = tuple(arb(v / lattice.fraction) for v in values)
        null = 1 - sum(masses, fmpq(0))
        singular = ball_gparv(law, level).singular
        return PlacedLaw(arb(lattice.fraction), positions, tuple(arb(m) for m in masses), arb(null), singular)
    g, step = ball_gparv(law, level), lattice.size()
    positions = tuple(arb(lattice.count) if i == lattice.anchor else v / step for i, v in enumerate(g.values))
    return PlacedLaw(step, positions, g.masses, g.null_mass, g.singular)


def rational_values(law: RationalLaw, e: fmpq) -> tuple[list[fmpq], list[fmpq]]:
    """Return the nonzero values of G with their masses."""
    atoms = [(r0 - e * r1, mass) for r0, r1, mass in law.atoms if r0 != e * r1]
    return [v for v, _ in atoms], [m for _, m in atoms]


def common_step(values: Sequence[fmpq]) -> fmpq:
    """Return the largest number of which all values are multiples.

    >>> common_step([fmpq(3, 2), fmpq(-7, 4)])
    1/4
    """
    denominator = lcm(*(int(v.q) for v in values))
    return fmpq(gcd(*(int(v.p) * denominator // int(v.q) for v in values)), denominator)


def upper_law(g: PlacedLaw) -> LatticeLaw:
    """Return a law on the lattice that is above G in the increasing convex order.

    Guarantee
    ---------
    E[(s + G)_+] <= E[(s + G')_+] for every s, so E[S_+] does not fall for any number of users. The mean is the same,
    but for the bounded ``lift``. Proof: docs/proofs/fft.md.

    >>> g = PlacedLaw(arb(1), (arb("2.5"),), (arb("0.5"),), arb("0.5"), arb(0))
    >>> {k: float(m) for k, m in upper_law(g).masses.items()}
    {0: 0.5, 2: 0.25, 3: 0.25}
    """
    masses = {0: g.null_mass}
    offsets, lift = [], arb(0)
    for position, mass in zip(g.positions, g.masses, strict=True):
        if position.is_integer():
            _add(masses, _integer(position), mass)
            continue
        # The last lattice point that is not certainly at or above the value; a ball around it may reach below it.
        below = _integer(position.upper().ceil()) - 1
        lift = lift.max((below - position).max(arb(0)).upper())
        part = (position - below).max(arb(0)).min(arb(1))
        _add(masses, below, mass * (1 - part))
        _add(masses, below + 1, mass * part)
        offsets.append(part)
    return LatticeLaw(masses, tuple(offsets), lift)


def lower_law(g: PlacedLaw) -> LatticeLaw:
    """Return a law on the lattice that is below G in the increasing convex order.

    Each atom is merged with a piece of the heaviest atom on the lattice (mostly the null symbol), just so much that
    their common mean is the lattice point before it; where that atom is used up the value is rounded down. The loss
    is of order step for isolated atoms, whatever the law on the lattice (docs/proofs/fft.md).

    Guarantee
    ---------
    E[(s + G)_+] >= E[(s + G')_+] for every s, so E[S_+] does not grow for any number of users.
    Proof: docs/proofs/fft.md.

    >>> g = PlacedLaw(arb(1), (arb("2.5"),), (arb("0.5"),), arb("0.5"), arb(0))
    >>> {k: float(m) for k, m in lower_law(g).masses.items()}
    {0: 0.375, 2: 0.625}
    """
    masses = {0: g.null_mass}
    loose = []
    for position, mass in zip(g.positions, g.masses, strict=True):
        if position.is_integer():
            _add(masses, _integer(position), mass)
        else:
            loose.append((position, mass))
    bank = max(masses, key=lambda k: float(masses[k]))
    # The farther an atom, the smaller the piece that it needs.
    for position, mass in sorted(loose, key=lambda atom: -abs(float(atom[0]) - bank)):
        below, above = _integer(position.lower().floor()), _integer(position.upper().ceil())
        target = below if below >= bank else above
        if target != bank:
            piece = mass * (position - target) / (target - bank)
            if piece >= 0 and masses[bank] - piece >= 0:
                masses[bank] -= piece
                _add(masses, target, mass + piece)
                continue
        _add(masses, below, mass)
    return LatticeLaw(masses, (), arb(0))


def coarsest_lattice(values: Floats, smallest: float, acceptable: Sequence[float]) -> tuple[int, int]:
    """Return (index, count): the step |value|/count is the coarsest that keeps the spread within the limits.

    With f the offsets of the other values, step^2 f(1 - f) and step^2 sqrt(f(1 - f)) have to stay below the two
    limits; a step below ``smallest`` always does, and is what is left where no coarser one serves.
    """
    largest = int(np.argmax(np.abs(values)))
    best = (largest, max(1, int(np.ceil(abs(values[largest]) / smallest))))
    finest = abs(float(values[largest])) / best[1]
    room = _MOST_CANDIDATES // max(1, len(values) ** 2)
    for index, value in enumerate(np.abs(values)):
        counts = np.arange(1, min(int(value / finest), room) + 1, dtype=np.float64)
        steps = value / counts
        positions = values[:, None] / steps
        part = np.abs(positions - np.rint(positions))
        part[part < _SAME_POINT * np.abs(positions)] = 0.0
        bernoulli = (part * (1.0 - part)).max(axis=0)
        fits = (steps**2 * bernoulli <= acceptable[0]) & (steps**2 * np.sqrt(bernoulli) <= acceptable[1])
        if fits.any() and steps[fits.argmax()] > finest:
            finest = float(steps[fits.argmax()])
            best = (index, int(counts[fits.argmax()]))
    return best


def _add(masses: dict[int, arb], point: int, mass: arb) -> None:
    masses[point] = masses.get(point, arb(0)) + mass


def _integer(x: arb) -> int:
    found = x.unique_fmpz()
    if found is None:
        raise PrecisionError("lattice", "values that balls do not place", "a larger step")
    return int(found)
