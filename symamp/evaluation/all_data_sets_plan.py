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
    """The frequencies of one term: 0 = ends[0] < ... < ends[-1], and the positive number c of each cell."""

    ends: tuple[float, ...]
    scales: tuple[float, ...]
    tail_scale: float


@dataclass(frozen=True)
class AllDataSetsEvidence:
    """All that a recomputation of the bound needs besides the laws, eps and n: parameters, and cells term by term."""

    parameters: Parameters
    cells: tuple[Cells, ...]
