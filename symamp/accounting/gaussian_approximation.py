"""The Gaussian approximation of many rounds: mu-GDP. Not a bound on either side."""

from __future__ import annotations

from math import exp, inf, log1p, sqrt

from symamp.numbers.scipy_functions import brentq, log_ndtr


def gaussian_log_delta(mu: float, eps: float) -> float:
    """Return log delta of mu-GDP at eps, in floats; -inf where it is too small for them.

    >>> round(exp(gaussian_log_delta(1.0, 1.0)), 6)
    0.126937
    """
    first = log_ndtr(-eps / mu + mu / 2.0)
    second = eps + log_ndtr(-eps / mu - mu / 2.0)
    return first + log1p(-exp(second - first)) if second < first else -inf


def gaussian_epsilon(mu: float, log_delta: float) -> float:
    """Return the eps at which mu-GDP has this delta, in floats; 0 if it has less at eps = 0.

    >>> round(gaussian_epsilon(1.0, gaussian_log_delta(1.0, 0.7)), 9)
    0.7
    """
    if gaussian_log_delta(mu, 0.0) <= log_delta:
        return 0.0
    high = mu * mu / 2.0 + mu * sqrt(-2.0 * log_delta)
    return brentq(lambda eps: max(gaussian_log_delta(mu, eps), -1e300) - log_delta, 0.0, high, rtol=1e-13)
