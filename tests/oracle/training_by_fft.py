"""The divergence of one epoch of random allocation with normal noise, by Fourier transforms in doubles.

The sum of the t variables L1 - E L2 has a law on a lattice: masses of messages are put on the two next values.
"""

import numpy as np

_PLACES, _SIZE, _REACH = 400_001, 2**20, 9.0


def divergence(sigma, steps, e, direction, *, discrete=False):
    """Return about D_E in a direction: "remove", "add" or "replace".

    ``discrete`` is noise on integers. Of batches where all other gradients are opposite: "shuffled", or "shuffled,
    add" for the other order.
    """
    z = np.arange(-60, 61) / sigma if discrete else np.linspace(-_REACH, _REACH, _PLACES)
    weights = np.exp(-z * z / 2)
    weights /= weights.sum()
    up, down = (np.exp(sign * z / sigma - 0.5 / sigma**2) for sign in (1, -1))
    twice = np.exp(2 * z / sigma - 2 / sigma**2)
    first, second = {
        "remove": (up, 1.0),
        "add": (np.ones_like(z), up),
        "replace": (up, down),
        "shuffled": (twice, up),
        "shuffled, add": (up, twice),
    }[direction]
    values = first - e * second
    weights = weights * (values >= -steps * values.max())  # from one such message no others get back
    mean = weights @ values
    deviation = np.sqrt(steps * (weights @ (values - mean) ** 2))
    # What is beyond the lattice is rare: single messages up to about 1e-13 of probability, and deviations of the sum.
    common = (abs(z) < 7.4) & (weights > 0)
    low = steps * mean - 10 * deviation + min(values[common].min(), 0)
    high = steps * mean + 10 * deviation + max(values[common].max(), 0)
    unit = (high - low) / _SIZE
    places = np.clip(values, low, high) / unit
    start = np.floor(places)
    law = np.zeros(_SIZE)
    for shift, share in ((0, 1 - (places - start)), (1, places - start)):
        law += np.bincount((start + shift).astype(int) % _SIZE, weights * share, minlength=_SIZE)
    total = np.fft.irfft(np.fft.rfft(law) ** steps, _SIZE)
    origin = int(np.floor(low / unit))
    sums = unit * (origin + (np.arange(_SIZE) - origin) % _SIZE)
    return float(total @ np.maximum(sums, 0)) / steps


def poisson(sigma, rate, steps, eps, direction):
    """Return about the divergence of so many sampled steps: losses on a lattice, convolved."""
    z = np.linspace(-_REACH, _REACH + 2 / sigma, _PLACES)
    ratio = np.log1p(rate * np.expm1(z / sigma - 0.5 / sigma**2))
    without = np.exp(-z * z / 2)
    without /= without.sum()
    first = without if direction == "add" else without * np.exp(ratio)
    losses = -ratio if direction == "add" else ratio
    mean = first @ losses / first.sum()
    deviation = np.sqrt(steps * (first @ (losses - mean) ** 2))
    likely = first > 1e-17
    low = steps * mean - 12 * deviation + min(losses[likely].min(), 0)
    high = steps * mean + 12 * deviation + max(losses[likely].max(), 0)
    unit = (high - low) / _SIZE
    start = np.floor(losses / unit)
    # Both shares so that e^-loss has its mean, too.
    share = np.expm1(-(losses / unit - start) * unit) / np.expm1(-unit)
    law = np.zeros(_SIZE)
    for shift, part in ((0, 1 - share), (1, share)):
        law += np.bincount((start + shift).astype(int) % _SIZE, first * part, minlength=_SIZE)
    total = np.fft.irfft(np.fft.rfft(law) ** steps, _SIZE)
    origin = int(np.floor(low / unit))
    sums = unit * (origin + (np.arange(_SIZE) - origin) % _SIZE)
    return float(total @ np.maximum(-np.expm1(eps - sums), 0))
