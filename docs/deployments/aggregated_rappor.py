"""The table of draft-wang-ppm-differential-privacy for symmetric RAPPOR whose reports are summed.

Run: python docs/deployments/aggregated_rappor.py (about a minute). Writes aggregated_rappor.txt and a certificate.
"""

from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import floor, log

from figures import Row, of, write

import symamp as sa

N, DELTA, LENGTH = 10**5, "1e-9", 100
PRINTED = {"5": "0.317", "6.5": "0.906", "7": "1.528"}
STEP = Fraction(1, 100)


def encoding(per_bit):
    """Each bit is flipped with probability 1/(e^per_bit + 1): by replacement the budget is twice that."""
    return sa.UnaryEncoding.rappor(D=LENGTH, eps0=str(2 * Fraction(per_bit)))


@cache
def summed(per_bit):
    return sa.profile(encoding(per_bit), n=N, view="coordinates").epsilon(DELTA)


def largest(claimed, per_bit):
    """The largest multiple of 1/100 that is proved to meet the claim, and the next one that is proved not to."""
    best, aim = Fraction(per_bit), float(claimed)
    slope = 0.6
    while True:  # log eps is nearly linear
        found = log(aim / summed(best).upper) / slope
        other = max(floor((best + Fraction(found)) / STEP), 1) * STEP
        if abs(other - best) <= STEP:
            break
        slope = log(summed(other).upper / summed(best).upper) / float(other - best)
        best = other
    while summed(best).upper > aim:
        best -= STEP
    while summed(best + STEP).upper <= aim:
        best += STEP
    failing = best + STEP
    while summed(failing).lower <= aim:
        failing += STEP
    return (Decimal(x.numerator) / Decimal(x.denominator) for x in (best, failing))


def rows():
    for per_bit, claimed in PRINTED.items():
        yield of(f"central ε, sums, EPSILON_0 = {per_bit} (printed: {claimed})", summed(Fraction(per_bit)))
        shuffled = sa.epsilon(encoding(per_bit), n=N, delta=DELTA)
        yield of(f"central ε, shuffled vectors, EPSILON_0 = {per_bit}", shuffled)
    for per_bit, claimed in PRINTED.items():
        yield Row(f"largest EPSILON_0 with central ε = {claimed}, sums", *largest(claimed, per_bit))


if __name__ == "__main__":
    write("aggregated_rappor", rows(), summed("5").certificate())
