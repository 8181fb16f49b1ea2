"""Taylor expansions of log|M_x| and log|A_x| of one term over a panel of frequencies that many cells share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import acb, acb_mat, acb_series, arb, arb_poly
from numpy.polynomial.polynomial import polyval

from symamp.evaluation.all_data_sets_transforms import ClassTransforms
from symamp.evaluation.gparv import Floats
from symamp.evaluation.work import spend

_ORDER = 8  # of the remainder; flint's series end at 10
_FEWEST = 2.0
"""Panels are at least so many times as long as the cell they are made for."""

_MOST_FAILED = 4
"""After so many refusals cells of this term are taken to be as long as panels."""

_EXPANSION, _VALUE = 100.0, 10.0  # units of work

Jet = tuple[arb, arb, arb]


@dataclass(frozen=True)
class ExpandedClass:
    """log|M| and log|A| with their first two derivatives, as polynomials in t about the middle of the panel.

    The last coefficient is a ball that makes each an enclosure for all t of the panel (Lagrange's remainder).
    """

    log_m: tuple[arb_poly, arb_poly, arb_poly]
    log_a: tuple[arb_poly, arb_poly, arb_poly]
    remainders: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Panel:
    """The expansions of some classes on the frequencies from ``start`` to ``end``.

    ``added`` is about what the remainders may add to the exponent of a class.
    """

    start: float
    end: float
    classes: dict[int, ExpandedClass]
    added: float

    def at(self, i: int, u: arb) -> tuple[Jet, Jet]:
        """Return log|M| and log|A| of one class with two derivatives at a ball of frequencies of the panel."""
        found, t = self.classes[i], u - (arb(self.start) + arb(self.end)) / 2
        return _jet(found.log_m, t), _jet(found.log_a, t)

    def in_floats(self, i: int, u: Floats) -> tuple[Floats, Floats]:
        """Return about log|M| and log|A| of one class at some frequencies of the panel."""
        t, found = u - (self.start + self.end) / 2, self.classes[i]
        log_m, log_a = ([float(x) for x in f[0].coeffs()] for f in (found.log_m, found.log_a))
        return np.asarray(polyval(t, log_m)), np.asarray(polyval(t, log_a))


class PanelSource:
    """Panels for one term and some of its classes: what the remainders add to the exponent is at most ``most``."""

    def __init__(self, classes: dict[int, ClassTransforms], gain: arb, N: arb, length: float, most: float) -> None:
        self._sums = {i: _Series(c, gain) for i, c in classes.items()}
        self._length, self._most, self._N, self._failed = length, most, float(N), 0

    def panel(self, lo: float, hi: float) -> Panel | None:
        """Return a panel that begins with the cell from lo to hi; None where it would hold little more than that."""
        if self._failed > _MOST_FAILED:
            return None
        if self._length < _FEWEST * (hi - lo):
            self._length *= 1.2
            self._failed += 1
            return None
        found = self.on(lo, lo + self._length)
        if found is None or not found.added <= self._most:
            self._length *= 0.5
            self._failed += 1
            return None
        self._length *= 1.5 if found.added < 0.02 * self._most else 1.0
        return found

    def on(self, start: float, end: float) -> Panel | None:
        """Return the panel with these ends, None where a zero of M or A is not excluded."""
        found, added = dict[int, ExpandedClass](), 0.0
        for i, series in self._sums.items():
            expanded = series.expanded(start, end)
            if expanded is None:
                return None
            added = max(added, self._N * expanded.remainders[0], expanded.remainders[1])
            found[i] = expanded
        return Panel(start, end, found, added)


class _Series:
    """The Taylor series of M and A of one class on the line s + iu."""

    def __init__(self, c: ClassTransforms, gain: arb) -> None:
        self._c, self._gain = c, gain
        # M, the two factors of A over positive values, and that over negative ones: rows 0, 1, 4 and 8 of the weights.
        rows = c.weights.tolist()
        self._weights = acb_mat([*c.whole.tolist(), rows[1], rows[4], [-x for x in rows[8]]])
        self._powers = []  # (iz)^k/k!
        for z in c.values:
            row = [acb(1)]
            for k in range(1, _ORDER + 1):
                row.append(row[-1] * acb(0, z / k))
            self._powers.append(row)

    def expanded(self, start: float, end: float) -> ExpandedClass | None:
        """Return the expansions on a panel, None where a zero of M or A is not excluded."""
        left, right = arb(start), arb(end)
        over = self._logarithms(left.union(right))
        if over is None:
            return None
        middle = self._logarithms((left + right) / 2)
        if middle is None:
            return None
        half = (right - left) / 2
        polynomials = [arb_poly([*at[:_ORDER], around[_ORDER]]) for at, around in zip(middle, over, strict=True)]
        sizes = [float(around[_ORDER].rad() * half**_ORDER) for around in over]
        log_m, log_a = ((f, f.derivative(), f.derivative().derivative()) for f in polynomials)
        return ExpandedClass(log_m, log_a, (sizes[0], sizes[1]))

    def _logarithms(self, u: arb) -> tuple[list[arb], list[arb]] | None:
        """Return the Taylor coefficients of log|M(u + t)| and log|A(u + t)| in t."""
        c, size = self._c, _ORDER + 1
        spend(_EXPANSION + _VALUE * len(c.values))
        waves = [acb(0, u * z).exp() for z in c.values]
        columns = [[wave * x for x in row] for wave, row in zip(waves, self._powers, strict=True)]
        m, gained, slow, lost = (acb_series(row, prec=size) for row in (self._weights * acb_mat(columns)).tolist())
        m += c.null
        zeta = acb_series([acb(c.s, u), acb(0, 1)], prec=size)
        a = self._gain * gained + (slow + c.plain * (c.square * zeta * zeta - 1)) * lost
        if not (abs(acb(m[0])) > 0 and abs(acb(a[0])) > 0):
            return None
        log_m, log_a = m.log(), a.log()
        return [log_m[k].real for k in range(size)], [log_a[k].real for k in range(size)]


def _jet(polynomials: Sequence[arb_poly], t: arb) -> Jet:
    f0, f1, f2 = (f(t) for f in polynomials)
    return f0, f1, f2
