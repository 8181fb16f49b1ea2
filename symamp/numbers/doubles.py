"""Root finding and normal tails in doubles, without loading SciPy."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, pi, sqrt
from typing import Any

import numpy as np

_STEPS = 200
"""More than halving needs between any two doubles that are met."""
_SPACING, _TERMS = 0.5, 14
"""Of a trapezoidal rule for e^(-t^2): the terms beyond are below rounding, and so is its error."""
_LARGEST_LOG = 700.0
"""Beyond it exponentials overflow, so that larger numbers are not distinguished."""


def root_between(
    function: Callable[[float], float], low: float, high: float, *, xtol: float = 0.0, rtol: float = 1e-15
) -> float:
    """Return a root of a function that has one sign at ``low`` and the other at ``high``, by Chandrupatla's method.

    It is within ``xtol`` or ``rtol``, absolutely or relatively, of a place where the sign changes. Steps are those of
    inverse quadratic interpolation where three points are as of a smooth function, else halves.

    >>> root_between(lambda x: x * x - 2.0, 1.0, 2.0)
    1.41421356237309...
    """
    a, b = high, low
    at_a, at_b = function(a), function(b)
    if at_a * at_b > 0.0:
        raise ValueError(f"the function has one sign at {low!r} and {high!r}")
    best, least = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
    share = 0.5
    for _ in range(_STEPS):
        room = (xtol + rtol * abs(best)) / abs(b - a)
        if least == 0.0 or room >= 0.5:
            break
        x = a + min(max(share, room), 1.0 - room) * (b - a)
        if x in (a, b):
            break
        value = function(x)
        if (value > 0.0) == (at_a > 0.0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = x, value
        best, least = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
        share = 0.5
        if isfinite(at_c) and at_b != at_c != at_a:
            place, height = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
            if height**2 < place and (1.0 - height) ** 2 < 1.0 - place:
                share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
                share += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    return best


def erfcx(x: Any) -> Any:
    """Return e^(x^2) erfc(x) of a number or an array, to about 1e-15, relatively; to 1e-15/|x| where x is small.

    It is 2x/pi times the integral of e^(-t^2)/(x^2 + t^2) over t > 0, by the trapezoidal rule and, where x is small,
    with the residue that this leaves out.

    >>> erfcx(np.array([0.5, 30.0]))
    array([0.61569034, 0.01879...])
    """
    size = np.maximum(np.abs(np.asarray(x, dtype=float)), 1e-12)
    nodes = (_SPACING * np.arange(1, _TERMS)) ** 2
    series = (np.exp(-nodes) / (size[..., None] ** 2 + nodes)).sum(axis=-1)
    near = np.minimum(size, pi / _SPACING)
    left_out = np.where(size < pi / _SPACING, 2.0 * np.exp(near**2) / -np.expm1(2.0 * pi / _SPACING * near), 0.0)
    found = _SPACING / pi * (1.0 / size + 2.0 * size * series) + left_out
    return np.where(np.asarray(x) < 0.0, 2.0 * np.exp(np.minimum(size**2, _LARGEST_LOG)) - found, found)


def log_ndtr(x: Any) -> Any:
    """Return the logarithm of the standard normal distribution function of a number or an array.

    >>> [round(float(x), 4) for x in log_ndtr(np.array([-40.0, 1.0]))]
    [-804.6084, -0.1728]
    """
    with np.errstate(all="ignore"):
        low = np.log(0.5 * erfcx(np.abs(x) / sqrt(2.0))) - 0.5 * x * x
        return np.where(np.asarray(x) < 0.0, low, np.log1p(-np.exp(low)))[()]
