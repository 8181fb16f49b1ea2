"""Randomized response of event-level reports, eps0 = 14: the exact budgets, and what shuffling could make of them.

Run: python docs/deployments/event_reports.py. Writes event_reports.txt and a certificate beside it.
"""

from math import comb

import sympy as sp
from figures import Row, of, write

import symamp as sa

DELTA = "1e-9"
SOURCES = {"navigation": (comb(3 * 8 + 3, 3), "24/10000"), "event": (comb(2 + 1, 1), "25/10000000")}
"""How many outputs: at most 3 of 3 windows x 8 values, at most 1 of 2 values; the printed chance of a random one."""


def budget(k, chance):
    """The local budget of a random output with this chance: log(1 + k (1 - p)/p)."""
    p = sp.Rational(chance)
    return sp.log(1 + k * (1 - p) / p)


def rows():
    for name, (k, chance) in SOURCES.items():
        exact = float(budget(k, chance).evalf(17))
        yield Row(f"local ε₀, {name}, {k} outputs, p = {chance}", exact, exact)
        pick = float((sp.Integer(k) / (k - 1 + sp.exp(14))).evalf(17))
        yield Row(f"p with ε₀ = 14, {name}", pick, pick)
        for n in (10**6, 10**8):
            found = sa.epsilon(sa.RandomizedResponse(k=k, eps0=14), n=n, delta=DELTA)
            yield of(f"central ε if shuffled without names, {name}, n = {n}", found)
        largest = sa.largest_eps0(sa.RandomizedResponse(k=k), n=10**6, eps=1, delta=DELTA)
        yield of(f"largest ε₀ with central ε = 1, {name}, n = 1000000", largest)


if __name__ == "__main__":
    k = SOURCES["navigation"][0]
    write("event_reports", rows(), sa.epsilon(sa.RandomizedResponse(k=k, eps0=14), n=10**8, delta=DELTA).certificate())
