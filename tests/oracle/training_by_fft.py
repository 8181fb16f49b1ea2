"""The divergence of one epoch of random allocation with normal noise, by Fourier transforms in doubles.

The sum of the t variables L1 - E L2 has a law on a lattice: masses of messages are put on the two next values.
"""

import numpy as np

_PLACES, _SIZE, _REACH = 400_001, 2**20, 9.0


def divergence(sigma, steps, e, direction):
    """Return about D_E in a direction: "remove", "add" or "replace"."""
    z = np.linspace(-_REACH, _REACH, _PLACES)
    weights = np.exp(-z * z / 2)
    weights /= weights.sum()
    up, down = (np.exp(sign * z / sigma - 0.5 / sigma**2) for sign in (1, -1))
    first, second = {"remove": (up, 1.0), "add": (np.ones_like(z), up), "replace": (up, down)}[direction]
    values = first - e * second
    mean = weights @ values
    deviation = np.sqrt(steps * (weights @ (values - mean) ** 2))
    # What is beyond the lattice is rare: single messages up to about 1e-13 of probability, and deviations of the sum.
    common = abs(z) < 7.4
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
