"""A law in doubles, made once: G = r0 - E r1 at any level in floats, where floats resolve it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symamp.evaluation.gparv import FloatGparv, float_gparv
from symamp.evaluation.law import Atom, Law, Level, Number, total
from symamp.numbers.surroundings import at_precision

_BITS, _RESOLVED = 256, 64
_CLOSE = 1e-9
_HARMLESS = 1e40


@dataclass(frozen=True)
class FloatLaw:
    """Differences r0 - r1, ratios r1 and masses of a law, each the nearest double, and the masses of A0 - A1 and A1."""

    differences: NDArray[np.float64]
    ratios: NDArray[np.float64]
    masses: NDArray[np.float64]
    null_mass: float
    excess: float
    whole: float
    singular: NDArray[np.float64]

    @staticmethod
    def of(law: Law) -> FloatLaw | None:
        """Return the law in doubles, None where one of the numbers is not resolved."""
        with at_precision(_BITS):
            rows = [evaluated(atom) for atom in law.atoms]
            rest = arb(0) if law.complete else (1 - total([mass for *_, mass in rows])).max(arb(0))
            return FloatLaw.of_rows(rows, rest, law.singular)

    @staticmethod
    def of_rows(
        rows: Sequence[tuple[arb, arb, arb]], rest: arb, singular: Sequence[tuple[Number, Number]]
    ) -> FloatLaw | None:
        """Return the law of (r0 - r1, r1, mass) in doubles, with ``rest`` for the null symbol."""
        differences, ratios, masses = zip(*rows, strict=True) if rows else ((), (), ())
        both = [d + r for d, r, _ in rows]
        if not all(x.rel_accuracy_bits() > _RESOLVED for x in (*both, *ratios, *masses) if not x.is_zero()):
            return None
        # A difference that is not resolved is 0 for all purposes: the ratios agree in far more than a double.
        return FloatLaw(
            _array(differences),
            _array(ratios),
            _array(masses),
            float(rest),
            float(total([d * m for d, _, m in rows])),
            float(total([r * m for _, r, m in rows])),
            np.array([(float(a() - b()), float(b())) for a, b in singular]).reshape(-1, 2),
        )

    def gparv(self, level: Level) -> FloatGparv | None:
        """Return G at a level, None where a value is a difference of numbers that are nearly equal."""
        with at_precision(_BITS):
            minus_one = float(level.exponential_minus_one())
        if 0.0 < minus_one < 1.0 / _HARMLESS:
            return None
        with np.errstate(all="ignore"):
            taken = minus_one * self.ratios
            values = self.differences - taken
            sizes = np.abs(values)
            alone = self.singular[:, 0] - minus_one * self.singular[:, 1]
            none = (self.differences == 0.0) & (taken == 0.0)
            clear = (
                (sizes > _CLOSE * (np.abs(self.differences) + taken)) & (sizes < _HARMLESS) & (sizes > 1 / _HARMLESS)
            )
            if not ((clear | none).all() and np.isfinite(alone).all()):
                return None
        return FloatGparv(
            values[~none],
            self.masses[~none],
            self.null_mass + float(self.masses[none].sum()),
            self.excess - minus_one * self.whole,
            float(np.maximum(alone, 0.0).sum()),
        )


def evaluated(atom: Atom) -> tuple[arb, arb, arb]:
    """Return (r0 - r1, r1, mass) of an atom at the ambient precision."""
    ratio1 = atom.ratio1()
    return arb(0) if atom.equal_ratios else atom.ratio0() - ratio1, ratio1, atom.mass()


@lru_cache(maxsize=256)
def float_law(law: Law) -> FloatLaw | None:
    """Return the law in doubles, kept: searches ask for it again and again."""
    return FloatLaw.of(law)


def quick_gparv(law: Law, level: Level) -> FloatGparv:
    """Return G in doubles, from balls only where doubles do not resolve it: for searches, which need no last digit.

    >>> from symamp.evaluation.law import Atom
    >>> one, two, share = (lambda: arb(1)), (lambda: arb(2)), (lambda: arb(1) / 4)
    >>> quick_gparv(Law((Atom(two, one, share), Atom(one, two, share))), Level.of_float(0.0)).values.tolist()
    [1.0, -1.0]
    """
    known = float_law(law)
    found = None if known is None else known.gparv(level)
    return float_gparv(law, level) if found is None else found


def _array(values: Sequence[arb]) -> NDArray[np.float64]:
    return np.array([float(v) for v in values], dtype=np.float64)
