"""RAPPOR in Chrome: one report, and all reports of a value that is kept, as if they were shuffled in a cohort.

Run: python docs/deployments/rappor.py. Writes rappor.txt and a certificate beside it.
"""

from fractions import Fraction
from itertools import combinations, product

from figures import Row, of, write

import symamp as sa

DELTA = "1e-9"
FAKE, ONE, ZERO = Fraction(1, 2), Fraction(3, 4), Fraction(1, 4)  # f, q, p of the paper
PERMANENT = 1 - FAKE / 2, FAKE / 2
REPORTED = tuple(x * ONE + (1 - x) * ZERO for x in PERMANENT)
"""The chances that a bit is 1 where the value's bit is 1 and where it is 0."""


def bloom(bits, chances, fewest=1):
    """The table of a Bloom filter of so many bits with two hash functions, which may collide, bit by bit."""
    inputs = [x for size in range(fewest, 3) for x in combinations(range(bits), size)]

    def row(x):
        for word in product((0, 1), repeat=bits):
            chance = Fraction(1)
            for i, bit in enumerate(word):
                one = chances[0] if i in x else chances[1]
                chance *= one if bit else 1 - one
            yield "".join(map(str, word)), chance

    return sa.FiniteMechanism({str(x): dict(row(x)) for x in inputs}, name=f"Bloom filter of {bits} bits")


def rows():
    for said, chances in (("one report", REPORTED), ("the permanent response", PERMANENT)):
        small, few = bloom(8, chances), bloom(6, chances)
        budget = small.local_epsilon()
        yield Row(f"local ε₀, {said}", *(float(budget.evalf(17)),) * 2)
        for n in (10**4, 10**6):
            yield of(f"central ε, 8 bits, {said}, n = {n}", sa.epsilon(small, n=n, delta=DELTA))
            answer = sa.epsilon(few, n=n, delta=DELTA, method="all_data_sets")
            yield of(f"central ε, 128 bits, {said}, n = {n}", answer)


if __name__ == "__main__":
    write("rappor", rows(), sa.epsilon(bloom(5, REPORTED), n=10**4, delta=DELTA, method="blanket").certificate())
