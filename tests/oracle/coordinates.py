"""Sums of the coordinates of messages, from the definition: exact fractions, no code of the package."""

import itertools
import math
from fractions import Fraction

ZERO, ONE = Fraction(0), Fraction(1)


def unary(size, p, q):
    """The chances of a 1 in each coordinate, for each input."""
    return [[p if i == x else q for i in range(size)] for x in range(size)]


def law_of_sums(chances, data):
    """The law of the sums of independent bits, coordinate by coordinate, by all messages of all users."""
    found = {}
    size = len(chances[0])
    for messages in itertools.product(itertools.product((0, 1), repeat=size), repeat=len(data)):
        pairs = [(chances[x][i], y[i]) for x, y in zip(data, messages, strict=True) for i in range(size)]
        mass = math.prod((p if one else 1 - p for p, one in pairs), start=ONE)
        key = tuple(map(sum, zip(*messages, strict=True)))
        found[key] = found.get(key, ZERO) + mass
    return found


def law_by_convolution(chances, data):
    """The same where there are more users: the coordinates are independent given the data."""
    columns = []
    for i in range(len(chances[0])):
        law = {0: ONE}
        for x in data:
            step = {}
            for k, mass in law.items():
                step[k] = step.get(k, ZERO) + mass * (1 - chances[x][i])
                step[k + 1] = step.get(k + 1, ZERO) + mass * chances[x][i]
            law = step
        columns.append(law)
    return {
        tuple(k for k, _ in view): math.prod((p for _, p in view), start=ONE)
        for view in itertools.product(*(law.items() for law in columns))
    }


def divergence(chances, data0, data1, E):
    """sum (P - E Q)_+ of the sums of two data sets."""
    p, q = (law_by_convolution(chances, data) for data in (data0, data1))
    return sum(max(p[v] - E * q[v], ZERO) for v in p)


def delta(chances, n, E):
    """The largest over all neighbouring data sets."""
    size = range(len(chances))
    others = list(itertools.combinations_with_replacement(size, n - 1))
    return max(divergence(chances, (x, *o), (z, *o), E) for o in others for x in size for z in size if x != z)
