"""Print, for noise whose inputs are compared at a distance, brackets and what Theorem A's three numbers cost."""

import sys

import numpy as np

import symamp as sa

N, DELTA = 10**4, "1e-6"
CASES = [(1, 0.1), (1, 0.5), (2, 0.1), (2, 0.5), (4, 0.1), (4, 0.5), (1, 1.0), (4, 1.0)]


def on_interval(eps0, d, x):
    """Return I for Laplace noise on [0, 1] and the inputs x, x + d."""
    y = np.linspace(-30 / eps0, 1 + 30 / eps0, 2_000_001)
    law0, law1 = np.exp(-eps0 * abs(y - x)), np.exp(-eps0 * abs(y - x - d))
    blanket = np.exp(-eps0 * np.maximum(abs(y), abs(y - 1)))
    return float(((law0 - law1) ** 2 / blanket).sum() * (y[1] - y[0]) * eps0 / 2)


def on_disc(eps0, d, x):
    """Return I for planar Laplace noise on the disc of diameter 1 and two inputs at distance d around (x, 0)."""

    def part(u, v, area):
        law0, law1 = (np.exp(-eps0 * np.hypot(u - x + s * d / 2, v)) for s in (1, -1))
        blanket = np.exp(-eps0 * (np.hypot(u, v) + 0.5))
        return float(((law0 - law1) ** 2 / blanket).sum() * area * eps0**2 / (2 * np.pi))

    fine, coarse, far = min(0.004, d / 25), 0.02, 0.5 + 30 / eps0
    near = np.arange(-1.2, 1.2, fine) + fine / 2
    wide = np.arange(-far, far, coarse) + coarse / 2
    u, v = np.meshgrid(wide, wide)
    out = (abs(u) > 1.2) | (abs(v) > 1.2)
    return part(*np.meshgrid(near, near), fine**2) + part(u[out], v[out], coarse**2)


def any_set(eps0, d):
    """Return what Theorem A costs against the best blanket that is right for every set of diameter 1 in the plane.

    A further input may be anywhere at most 1 from both inputs of the pair.
    """
    angles = np.linspace(0, 2 * np.pi, 180, endpoint=False)
    edge = [(side * d / 2 + np.cos(a), np.sin(a)) for side in (-1, 1) for a in angles]
    edge = [(u, v) for u, v in edge if max(np.hypot(u - d / 2, v), np.hypot(u + d / 2, v)) < 1 + 1e-9]
    far, variation, exact = 0.5 + 30 / eps0, 0.0, 0.0
    for reach, step in ((1.2, min(0.004, d / 25)), (far, 0.03)):
        places = np.arange(-reach, reach, step) + step / 2
        u, v = (x.ravel() for x in np.meshgrid(places, places))
        keep = np.full(len(u), True) if reach == 1.2 else (abs(u) > 1.2) | (abs(v) > 1.2)
        u, v = u[keep], v[keep]
        laws = [np.exp(-eps0 * np.hypot(u + s * d / 2, v)) for s in (1, -1)]
        furthest = np.zeros(len(u))
        for x, y in edge:
            np.maximum(furthest, np.hypot(u - x, v - y), out=furthest)
        unit = step**2 * eps0**2 / (2 * np.pi)
        variation += float(abs(laws[0] - laws[1]).sum()) * unit / 2
        exact += float(((laws[0] - laws[1]) ** 2 * np.exp(eps0 * furthest)).sum()) * unit
    return (2 * np.exp(eps0) * variation * (1 - np.exp(-eps0 * d)) / exact) ** 0.5


def one_third_input(eps0):
    """Return sqrt(I_A/I) at d = 1 for data sets where all others hold one input, and whose messages are seen how.

    Strips across the pair, others at its middle or at one of it; the whole plane, others at one of it; the same with
    others at the third corner of an equilateral triangle, which is in some sets of diameter 1, not in all.
    """
    far = 1 + 14 / eps0
    x, step = np.linspace(-far, far + 1, 2400, retstep=True)
    u, v = np.meshgrid(x, x - 0.5, indexing="ij")
    laws = [
        eps0**2 / (2 * np.pi) * np.exp(-eps0 * np.hypot(u - a, v - b)) * step**2
        for a, b in ((0, 0), (1, 0), (0.5, 0), (0.5, 0.75**0.5))
    ]
    strips = [law.sum(axis=1) for law in laws]
    costs = [
        ((rows[0] - rows[1]) ** 2 / rows[other]).sum()
        for rows, other in ((strips, 2), (strips, 0), (laws, 0), (laws, 3))
    ]
    variation = abs(laws[0] - laws[1]).sum() / 2
    return [(2 * (np.exp(eps0) - 1) * variation / cost) ** 0.5 for cost in costs]


def main():
    for eps0 in (1, 4):
        print(f"planar, {eps0}: others at one input {', '.join(f'{x:.2f}' for x in one_third_input(eps0))}")
    for noise, integral in ((sa.Laplace, on_interval), (sa.PlanarLaplace, on_disc)):
        for eps0, d in CASES:
            mechanism = noise(eps0=eps0)
            p, beta, q = (float(v) for v in mechanism.near(str(d)).variation_ratio())
            centre = (0.5 - d / 2) if noise is sa.PlanarLaplace else (1 - d)
            largest = max(integral(eps0, d, centre * share) for share in (0, 0.5, 1))
            found = sa.epsilon(mechanism, n=N, delta=DELTA, neighbours=str(d), gap=1e-3)
            cost = (2 * q * beta * (p - 1) / p / largest) ** 0.5
            bracket = f"[{found.lower:.5f}, {found.upper:.5f}]"
            name = "Laplace" if noise is sa.Laplace else "planar"
            known = "" if name == "Laplace" else f"{any_set(eps0, d):.2f}"
            print(f"| {name} | {eps0} | {d} | {bracket} | {found.lower / found.upper:.2f} | {cost:.2f} | {known} |")


if __name__ == "__main__":
    sys.exit(main())
