"""Sums of the coordinates of messages, from the definition: exact fractions, no code of the package."""

import itertools

from .laws import above, combined, sums, together


def unary(size, p, q):
    """The chances of a 1 in each coordinate, for each input."""
    return [[p if i == x else q for i in range(size)] for x in range(size)]


def law_of_sums(chances, data):
    """The law of the sums of independent bits, coordinate by coordinate, by all messages of all users."""
    messages = (together(*({0: 1 - p, 1: p} for p in chances[x])) for x in data)
    return combined(messages, lambda a, b: tuple(map(sum, zip(a, b, strict=True))), {(0,) * len(chances[0]): 1})


def law_by_convolution(chances, data):
    """The same where there are more users: the coordinates are independent given the data."""
    return together(*(sums({0: 1 - chances[x][i], 1: chances[x][i]} for x in data) for i in range(len(chances[0]))))


def divergence(chances, data0, data1, E):
    """sum (P - E Q)_+ of the sums of two data sets."""
    return above(*(law_by_convolution(chances, data) for data in (data0, data1)), E)


def delta(chances, n, E):
    """The largest over all neighbouring data sets."""
    size = range(len(chances))
    others = list(itertools.combinations_with_replacement(size, n - 1))
    return max(divergence(chances, (x, *o), (z, *o), E) for o in others for x in size for z in size if x != z)
