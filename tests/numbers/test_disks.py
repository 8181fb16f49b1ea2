"""Sums in doubles with radii against the same in balls of 300 bits."""

from math import inf, isfinite
from random import Random

import flint
import numpy as np
import pytest
from flint import acb, arb

import symamp as sa
from symamp.laws.law import Level, ball_gparv
from symamp.numbers.disks import Disks
from symamp.numbers.systems import FLINT
from symamp.sums.divergence import Settings, enclose_divergence
from symamp.sums.kernels.balls import certified_sum, coarse_two_sided
from symamp.sums.kernels.kernel import Kernel


def disks(random, count, scale=1.0):
    parts = [
        np.array([random.uniform(-1, 1) * 10 ** random.uniform(-12, 3) * scale for _ in range(count)]) for _ in "ab"
    ]
    return Disks(*parts, np.array([10 ** random.uniform(-25, -3) * scale for _ in range(count)]))


def points(found, random):
    """Exact numbers on the border of each disk, as far as balls of 300 bits tell."""
    for x, y, r in zip(found.real, found.imag, found.radius, strict=True):
        angle = arb(random.uniform(0, 7))
        yield acb(float(x), float(y)) + acb(angle.cos(), angle.sin()) * arb(float(r))


def contains(found, exact):
    for x, y, r, z in zip(found.real, found.imag, found.radius, exact, strict=True):
        assert abs(z - acb(float(x), float(y))).lower() <= arb(float(r))


@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e90])
def test_operations_contain_what_they_do_to_exact_numbers(scale):
    random = Random(11)
    with flint.ctx.workprec(300), np.errstate(all="ignore"):
        for _ in range(20):
            a, b = disks(random, 30, scale), disks(random, 30)
            x, y = list(points(a, random)), list(points(b, random))
            contains(a + b, [p + q for p, q in zip(x, y, strict=True)])
            contains(a - b, [p - q for p, q in zip(x, y, strict=True)])
            contains(a * b, [p * q for p, q in zip(x, y, strict=True)])
            contains(a.inverse(), [1 / p for p in x])
            contains(b**13, [p**13 for p in y])
            assert abs(sum((p.real for p in x), arb(0)) - a.real_sum().mid()).lower() <= a.real_sum().rad()
        tight = Disks(*(np.array([x]) for x in (0.6, 0.8, 0.0))) ** (10**6)
        assert tight.radius[0] < 1e-8
        assert Disks(*(np.array([x]) for x in (1.0, 0.0, 0.6))).inverse().radius[0] == inf
        assert not Disks(*(np.array([x]) for x in (inf, 0.0, 1.0))).real_sum().is_finite()
        whole = Disks.of(acb(arb("0.1", 1e-30), arb(3).sqrt()))
        contains(whole, [acb(arb("0.1"), arb(3).sqrt())])
        assert whole.radius[0] < 1e-15


@pytest.mark.parametrize(("theta", "window", "terms"), [(0.3, 50.0, 90), (2e-3, 900.0, 5_000), (4.0, 3.0, 2)])
def test_the_kernel_is_that_in_balls(theta, window, terms):
    random = Random(3)
    indices = sorted(random.sample(range(1, terms), min(terms - 1, 400)))
    with flint.ctx.workprec(200):
        kernel = Kernel(FLINT, arb(theta), arb(window), terms)
        z = [complex(random.gauss(0, 1), random.gauss(0, 1)) for _ in indices]
        exact = kernel.sums([(j, acb(x.real, x.imag)) for j, x in zip(indices, z, strict=True)], arb(0))
        factors = Disks(*(np.array(x) for x in ([x.real for x in z], [x.imag for x in z], [0.0] * len(z))))
        scale = sum((abs(b) for j in indices for b in kernel.at(kernel.step * j)), arb(0))
        for found, true in zip(coarse_two_sided(kernel, indices, factors), exact, strict=True):
            assert found.contains(true.mid())
            assert found.rad() < 1e-9 * scale


@pytest.mark.parametrize("n", [50, 20_000])
def test_certified_sums_contain_those_in_balls(n):
    """A law of 25 values with ratios up to e^8, where kernels take thousands of frequencies."""
    part = sa.profile(sa.SamplingRappor(s=2, d=16, eps0=8), n=n, method="blanket").rounds(2).rounds[0][0]
    law = part._chosen[0][1].law
    for eps in (0.5, 3.0):
        level = Level.of_float(eps)
        plan = enclose_divergence(law, level, n, Settings(gap=1e-4, most_steps=1, most_outcomes=1)).plan
        with flint.ctx.workprec(128):
            g = ball_gparv(law, level)
            rough, careful = (certified_sum(g, n, plan, roughly=roughly) for roughly in (True, False))
        for x, y in zip(rough, careful, strict=True):
            assert x.contains(y.mid())
            assert isfinite(float(x.rad()))
            assert x.rad() < 1e-6 * x.mid()
