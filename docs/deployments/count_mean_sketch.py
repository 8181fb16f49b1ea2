"""Apple's count mean sketch at budgets 4 and 8, as if its reports were shuffled.

Run: python docs/deployments/count_mean_sketch.py. Writes count_mean_sketch.txt and a certificate beside it.
"""

from figures import of, write

import symamp as sa

DELTA = "1e-9"


def sketch(eps0=None):
    return sa.CountMeanSketch(k=65536, m=1024, eps0=eps0)


def rows():
    for eps0 in (4, 8):
        for n in (10**4, 10**6, 10**8):
            yield of(f"central ε, ε₀ = {eps0}, n = {n}", sa.epsilon(sketch(eps0), n=n, delta=DELTA))
    for n in (10**4, 10**6):
        found = sa.largest_eps0(sketch(), n=n, eps=1, delta=DELTA)
        yield of(f"largest ε₀ with central ε = 1, n = {n}", found)


if __name__ == "__main__":
    write("count_mean_sketch", rows(), sa.epsilon(sketch(4), n=10**6, delta=DELTA).certificate())
