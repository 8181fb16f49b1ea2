"""A search for a violation of Theorem 4.8 of Wang (2023), without any code of symamp.

Run: python docs/findings/theorem_4_8.py [draws] [climbs]. The corrected bound (Theorem A) holds for every randomizer
with parameters (p, beta, q); its divergence at the printed eps, over delta, is maximised over p, beta, q, n and delta:
draws of all magnitudes, then climbs from the largest, by saddle points in doubles. The ends of the climbs are
integrated (recomputed.py). Prints how many points had a claim below log p, and the largest ratios.
"""

import sys
from math import ceil, exp, inf, log, pi, sqrt
from random import Random

from recomputed import divergence

LOW, HIGH = (0.01, 1e-4, -6.0, 0.0, 0.11), (31.0, 1.0, 16.0, 4.0, 30.0)
"""Ranges of log p (above 30: infinite), the share of the largest beta, log(q - 1), log(n/fewest), log(1/delta)."""


def parameters(v):
    """Return (p, p alpha, q, n, delta) of a point."""
    p, q, delta = inf if v[0] > 30 else exp(v[0]), 1 + exp(v[2]), exp(-v[4])
    beta = v[1] * min(1.0 if p == inf else (p - 1) / (p + 1), q - 1)
    mass = beta if p == inf else beta * p / (p - 1)
    return p, mass, q, max(2, ceil(8 * log(2 / delta) * q / mass * exp(v[3]))), delta


def printed(p, mass, q, n, delta):
    """Return e^eps of the theorem."""
    r = mass / q
    c = max(0.0, 4 / 9 * (1 - 3 * r) / (1 - 2 * r)) if 1 - 2 * r > 1e-12 else 0.0
    below = (1 - c) * mass * (1 + 1 / p) + c
    return 1 + mass * (1 - 1 / p) / below * (sqrt(32 * log(4 / delta) / (r * (n - 1))) + 4 / (r * n))


def law(p, mass, q):
    """Return the triple of Theorem A as (ratio0, ratio1, mass)."""
    rest = max(0.0, 1 - mass * (1 + 1 / p))
    return [(q, q / p, mass / q), (q / p, q, mass / q), (q, q, rest / q)]


def log_divergence(triple, E, n):
    """Return log E[S_+]/n at the saddle point of n K(x) - 2 log x; a few per cent."""
    atoms = [(r0 - E * r1, m) for r0, r1, m in triple if m > 0]
    null, top = max(1 - sum(m for _, m in atoms), 0.0), max(v for v, _ in atoms)

    def moments(x):
        weights = [m * exp(x * v) for v, m in atoms]
        first, second = (sum(w * v**k for w, (v, _) in zip(weights, atoms, strict=True)) for k in (1, 2))
        whole = null + sum(weights)
        return log(whole), first / whole, second / whole - (first / whole) ** 2

    low, high = -60.0, log(690 / top)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if n * exp(middle) * moments(exp(middle))[1] < 2 else (low, middle)
    x = exp(low)
    value, _, spread = moments(x)
    return n * value - 2 * log(x) - 0.5 * log(2 * pi * (n * spread + 2 / x**2)) - log(n)


def score(v):
    """Return log(divergence/delta) at the printed eps; -inf where that is log p or more."""
    p, mass, q, n, delta = parameters(v)
    E = printed(p, mass, q, n, delta)
    return log_divergence(law(p, mass, q), E, n) - log(delta) if p > E and n < 10**9 else -inf


def drawn(random):
    """Return a point, of all magnitudes, often at the edge."""
    wide = [exp(random.uniform(log(low), log(high))) for low, high in zip(LOW, HIGH, strict=True) if low > 0]
    return [wide[0], min(1.0, wide[1] * 5), random.uniform(LOW[2], HIGH[2]), max(0.0, random.uniform(-2, 4)), wide[2]]


def climbed(v, random, steps=150):
    """Return (score, point) after steps that are taken where they help."""
    best, size = score(v), 0.5
    for _ in range(steps):
        moved = [x + size * s * random.gauss(0, 1) for x, s in zip(v, (1, 0.3, 1, 1, 1), strict=True)]
        moved = [min(max(x, low), high) for x, low, high in zip(moved, LOW, HIGH, strict=True)]
        if (found := score(moved)) > best:
            best, v = found, moved
        else:
            size = max(0.97 * size, 0.01)
    return best, v


def main(draws=20_000, climbs=40):
    """Print what was found."""
    random = Random(8)
    points = sorted(((score(v), v) for v in (drawn(random) for _ in range(draws))), reverse=True)
    seen = sum(s > -inf for s, _ in points)
    print(f"{draws} draws, {seen} claims, {sum(s > 0 for s, _ in points)} refuted, the largest {exp(points[0][0]):.3g}")
    for _ in range(climbs):  # half from the largest, half from anywhere
        start = points[random.randrange(climbs if random.random() < 0.5 else seen)][1]
        best, v = climbed(start, random)
        p, mass, q, n, delta = parameters(v)
        E = printed(p, mass, q, n, delta)
        exact = divergence(law(p, mass, q), E, n) / delta if n < 10**5 else exp(best)
        print(f"{exact:.4g}: p {p:.4g}, p alpha {mass:.4g}, q {q:.4g}, n {n}, delta {delta:.3g}, e^eps {E:.4g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
