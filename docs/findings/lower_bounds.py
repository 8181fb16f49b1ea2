"""How far the lower and upper bounds are apart, and why: search, class of data sets, or upper bound.

Run: python docs/findings/lower_bounds.py (about half a minute). Writes lower_bounds.txt beside it.
"""

from fractions import Fraction
from itertools import chain
from pathlib import Path
from random import Random

import numpy as np
import sympy as sp

import symamp as sa
from symamp.bounds.bound import MaxOverPairs
from symamp.data_sets.mechanisms import MechanismSpace
from symamp.decompositions.pairs import pair_classes
from symamp.sums.divergence import Settings

HERE = Path(__file__).parent


def geometric(size, eps0):
    q = sp.exp(-sp.Rational(eps0, size - 1))
    weights = [[q ** abs(x - y) for y in range(size)] for x in range(size)]
    return sa.FiniteMechanism([[w / sp.Add(*row) for w in row] for row in weights])


def random_table(seed, inputs, messages):
    weights = np.random.default_rng(seed).random((inputs, messages)) + 0.5
    return sa.FiniteMechanism(weights / weights.sum(axis=1, keepdims=True), normalise=True)


MANY = {
    "geometric, 16 inputs, eps0 = 1": (geometric(16, 1), 10**4),
    "local hashing, l = 4, eps0 = 12": (sa.LocalHashing(l=4, D=100, eps0=12), 10**6),
    "local hashing, l = 2, eps0 = 8": (sa.LocalHashing(l=2, D=100, eps0=8), 10**4),
    "10-ary response, eps0 = 1": (sa.RandomizedResponse(k=10, eps0=1), 10**4),
    "2-ary response, eps0 = 1": (sa.RandomizedResponse(k=2, eps0=1), 10**3),
    "RAPPOR, D = 100, eps0 = 4": (sa.UnaryEncoding.rappor(D=100, eps0=4), 10**4),
    "Hadamard, K = 128, eps0 = 6": (sa.HadamardResponse(K=128, eps0=6), 10**4),
    **{f"random table {k} x {m}": (random_table(1, k, m), 10**4) for k, m in ((4, 6), (8, 8), (16, 16), (32, 32))},
}


def first_pairs(mechanism, n, delta):
    """What a search of the first 12 classes of pairs finds, as an estimate: the search before."""
    pairs = [c.pairs[0] for c in pair_classes(mechanism)[:12]]
    if mechanism.numeric is not None:  # a table has no symmetry that would put several pairs into one class
        pairs = [p for x, z in mechanism.pairs()[:6] for p in ((x, z), (z, x))]
    space = MechanismSpace(mechanism)
    parts = [space.constant(pair, x) for pair in pairs for x in space.others(pair)]
    return MaxOverPairs.of(parts).root(n, float(np.log(delta)), Settings(gap=1e-3))[0]


def many_users():
    yield "n users, delta = 1e-6: first 12 pairs | lower | blanket | least proved bound | lower/least"
    for name, (mechanism, n) in MANY.items():
        blanket = sa.epsilon(mechanism, n=n, delta="1e-6", method="blanket", gap=1e-3)
        least = sa.epsilon(mechanism, n=n, delta="1e-6", gap=1e-3)
        ends = " | ".join(
            f"{x:.5g}" for x in (first_pairs(mechanism, n, 1e-6), blanket.lower, blanket.upper, least.upper)
        )
        yield f"{name}, n = {n:.0e} | {ends} | {least.lower / least.upper:.4f}"


def few_users(count=40):
    """delta of all data sets, of the constant ones and of the answer, for random tables of rationals."""
    yield "few users: truth / lower, truth / best constant data set, blanket / truth, least / truth: median and largest"
    for n in (3, 5, 8):
        rows = []
        for seed in range(count):
            rng = Random(seed)
            weights = [[rng.randint(1, 9) for _ in range(3)] for _ in range(3)]
            table = [[Fraction(w, sum(row)) for w in row] for row in weights]
            t = max(max(c) / min(c) for c in zip(*table, strict=True))
            if t == 1:
                continue
            E = 1 + (t - 1) / 6
            mechanism, eps = sa.FiniteMechanism(table), f"log({E})"
            truth = sa.exact.worst_dataset(mechanism, n, eps).value.lower
            if truth <= 0:
                continue
            x = mechanism.inputs
            constant = max(
                sa.exact.divergence(mechanism, [a, *[c] * (n - 1)], [b, *[c] * (n - 1)], eps).lower
                for a in x for b in x if a != b for c in x
            )  # fmt: skip
            answer = sa.delta(mechanism, n=n, eps=eps, method="blanket", gap=1e-3)
            least = sa.delta(mechanism, n=n, eps=eps, gap=1e-3).upper
            rows.append((truth / answer.lower, truth / constant, answer.upper / truth, least / truth))
        middle, most = np.median(rows, axis=0), np.max(rows, axis=0)
        yield f"n = {n}: " + ", ".join(f"{a:.3f} ({b:.3f})" for a, b in zip(middle, most, strict=True))


def main():
    lines = []
    for line in chain(many_users(), few_users()):
        print(line, flush=True)
        lines.append(line)
    (HERE / "lower_bounds.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
