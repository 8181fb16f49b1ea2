"""The parameters of one evaluation of the bound over all data sets: plain doubles, from which it can be recomputed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One exponential a e^(-lam p) of the majorant of 1/p^2, with the line s + iu and the smoothing sigma."""

    a: float
    lam: float
    s: float
    sigma: float


@dataclass(frozen=True)
class Parameters:
    """p_lo, the tilts (a, b) of the bad part, and the terms. Every number is a double, hence an exact dyadic."""

    p_lo: float
    tilt_a: float
    tilt_b: float
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Cells:
    """The frequencies of one term: 0 = ends[0] < ... < ends[-1], and c = scale e^(slope (u - middle)) in each cell."""

    ends: tuple[float, ...]
    scales: tuple[float, ...]
    tail_scale: float
    slopes: tuple[float, ...]


@dataclass(frozen=True)
class Region:
    """Data sets whose shares of the classes of inputs lie in a simplex; at first its corners are the classes alone.

    A step (i, j, half) halves the edge between corners i and j: its middle replaces corner i (half 0) or j (half 1).
    """

    steps: tuple[tuple[int, int, int], ...] = ()

    def halves(self, i: int, j: int) -> tuple[Region, Region]:
        """Return the two halves."""
        return Region((*self.steps, (i, j, 0))), Region((*self.steps, (i, j, 1)))

    def corners(self, classes: int) -> list[list[float]]:
        """Return the shares of the classes at each corner: dyadic numbers."""
        found = [[float(i == k) for k in range(classes)] for i in range(classes)]
        for i, j, half in self.steps:
            found[j if half else i] = [(a + b) / 2.0 for a, b in zip(found[i], found[j], strict=True)]
        return found


@dataclass(frozen=True)
class RegionEvidence:
    """What bounds the data sets of one region: parameters, and cells term by term."""

    region: Region
    parameters: Parameters
    cells: tuple[Cells, ...]


@dataclass(frozen=True)
class AllDataSetsEvidence:
    """All that a recomputation of the bound needs besides the laws, eps and n: regions that cover all data sets."""

    regions: tuple[RegionEvidence, ...]
