"""Noise in random worlds: tables become noise of which a world sees cells of messages only.

What the cells show is a post-processing of the messages, so that no upper end may lie below the truth of the cells;
lower ends may lie above it. Chances of cells are from mpmath at 40 digits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from random import Random

import mpmath

import symamp as sa
from tests.oracle.world import Drawn, Joint, Neighbours, Runs, Silent, Table, Within, World

ROUNDED = Fraction(1, 10**28)
"""More than what rounding the chances of cells moves a divergence by."""
_CONTEXT = mpmath.mp.clone()
_CONTEXT.dps = 40
_EDGES = ("0 1", "0 1/2 1", "1/2", "-1/2 1/2 3/2", "-2 0 1", "1/4 3/4 2")
_SCALES = ("1/2", "1", "2", "4")
_FAR = 200  # integers beyond which discrete Gaussian noise has no chance that counts


@dataclass(frozen=True)
class Cells(Table):
    """Noise in cells of messages: ``made`` is the class of the noise, and its parameters."""

    made: tuple[str, tuple[tuple[str, str], ...]] = ("", ())

    def mechanism(self, relation: Neighbours) -> object:
        """The noise itself, which compares at least the inputs that are compared."""
        name, parameters = self.made
        found = getattr(sa, name)(**dict(parameters))
        near = isinstance(relation, Within) and name == "Laplace" and relation.distance <= 1
        return found.near(str(relation.distance)) if near else found


def _fraction(x: mpmath.mpf) -> Fraction:
    sign, mantissa, exponent, _ = x._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


def _rows(below: Callable[[Fraction], mpmath.mpf], places: Sequence[Fraction], edges: Sequence[Fraction]) -> list:
    """The chances of cells: ``below`` is the chance of noise up to a number."""
    at = [[Fraction(0), *(_fraction(below(e - p)) for e in edges), Fraction(1)] for p in places]
    return [tuple(b - a for a, b in pairwise(row)) for row in at]


def _real(x: Fraction) -> mpmath.mpf:
    return _CONTEXT.mpf(x.numerator) / x.denominator


@lru_cache(maxsize=512)
def _below(name: str, scale: Fraction) -> Callable[[Fraction], mpmath.mpf]:
    """The distribution function of noise with a density."""
    c, a = _CONTEXT, _real(scale)
    if name in ("Laplace", "ClippedLaplace"):
        return lambda z: c.exp(a * _real(z)) / 2 if z < 0 else 1 - c.exp(-a * _real(z)) / 2
    if name == "Logistic":
        return lambda z: 1 / (1 + c.exp(-a * _real(z)))
    if name == "Gaussian":
        return lambda z: c.ncdf(_real(z) / a)
    return lambda z: c.mpf(1) / 2 + c.atan(_real(z) / a) / c.pi


@lru_cache(maxsize=64)
def _of_integers(name: str, scale: Fraction, size: int) -> Callable[[Fraction], mpmath.mpf]:
    """The chance that integer noise is less than a number: discrete Laplace noise with a budget, or a deviation."""
    c = _CONTEXT
    if name == "DiscreteLaplace":
        q = c.exp(-_real(scale) / size)
        return lambda z: q ** int(1 - z) / (1 + q) if z <= 0 else 1 - q ** int(z) / (1 + q)
    weights = {k: c.exp(-k * k / (2 * _real(scale) ** 2)) for k in range(-_FAR, _FAR + 1)}
    total = sum(weights.values())
    return lambda z: sum(w for k, w in weights.items() if k < z) / total


def cells(rng: Random, inputs: int) -> Cells:
    """Noise of a random kind seen from two or three inputs, in cells."""
    name = rng.choice(
        ("Laplace", "Logistic", "Gaussian", "Cauchy", "ClippedLaplace", "DiscreteLaplace", "DiscreteGaussian")
    )
    parts = Fraction(1, inputs - 1)
    places = [k * parts for k in range(inputs)]
    if name.startswith("Discrete"):
        size, scale = rng.choice((2, 4)), rng.choice(("1", "2", "4"))
        places = [p * size for p in places]
        least, most = (1, size) if name == "DiscreteLaplace" else (-3, size + 4)  # one is clipped to its inputs
        edges = sorted(map(Fraction, rng.sample(range(least, most + 1), min(3, most + 1 - least))))
        below = _of_integers(name, Fraction(scale), size)
        made = (("B", str(size)), ("eps0" if name == "DiscreteLaplace" else "sigma", scale))
        return Cells(tuple(_rows(below, places, edges)), tuple(places), (name, made))
    edges, scale = list(map(Fraction, rng.choice(_EDGES).split())), rng.choice(_SCALES)
    parameter = {"Gaussian": "sigma", "Cauchy": "scale"}.get(name, "eps0")
    if name == "ClippedLaplace":
        edges = [e for e in edges if 0 < e < 1] or [Fraction(1, 2)]
    return Cells(
        tuple(_rows(_below(name, Fraction(scale)), places, edges)), tuple(places), (name, ((parameter, scale),))
    )


def _seen(what: Runs, rng: Random) -> Runs:
    if isinstance(what, Silent):
        return replace(what, part=_seen(what.part, rng))
    if isinstance(what, Joint):
        return replace(what, parts=tuple(_seen(part, rng) for part in what.parts))
    if isinstance(what, Drawn):
        return replace(what, parts=tuple((weight, _seen(part, rng)) for weight, part in what.parts))
    few = isinstance(what, Table) and len(what.rows) in (2, 3)
    return cells(rng, len(what.rows)) if few and rng.random() < 0.75 else what


def with_noise(world: World, rng: Random) -> World:
    """The world with noise in place of most of its tables; groups of equal users keep one mechanism."""
    kinds: dict[Runs, Runs] = {}
    groups = [replace(g, runs=kinds.setdefault(g.runs, _seen(g.runs, rng))) for g in world.groups]
    return replace(world, groups=tuple(groups))


def has_noise(what: object) -> bool:
    """Whether a world, or what a user runs, has noise."""
    if isinstance(what, World):
        return any(has_noise(group.runs) for group in what.groups)
    parts = [part for _, part in what.parts] if isinstance(what, Drawn) else getattr(what, "parts", ())
    return isinstance(what, Cells) or any(map(has_noise, [*parts, *([what.part] if isinstance(what, Silent) else [])]))
