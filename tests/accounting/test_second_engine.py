"""Many rounds by a second engine: losses on a lattice, tilted, convolved by two discrete Fourier transforms in balls.

What wraps around is bounded by Chernoff: outside the window of L points the tilted sum X has at most the probability
e^(K(theta + s) - K(theta) - s b) beyond b, and as much on the other side; the integrand lies in [0, 1].
"""

import flint
import pytest
from flint import acb, arb, fmpq

import symamp as sa
from symamp.accounting.curves import CurvePoints, pessimistic
from symamp.accounting.losses import FloatProduct, enclose_divergence, estimate_divergence
from symamp.accounting.round import ShuffledRound
from symamp.numbers.limits import Limits
from symamp.settings.question import Question


def lattice_pair(eps0, n, ratio, reach):
    """A pair above one round of 10-ary response whose losses are multiples of log(ratio)."""
    found = ShuffledRound(Question.of(sa.RandomizedResponse(k=10, eps0=eps0), n, "blanket"))
    return pessimistic(
        CurvePoints.of_orders(found.above([ratio**j for j in range(reach + 1)], limits=Limits.of("default")))
    )


def by_transforms(pair, ratio, count, eps, theta, shift, size):
    """A ball around D_E of ``count`` rounds, E = e^eps, from a window of ``size`` points around the tilted mean."""
    step = arb(ratio).log()
    atoms = [(round(float(arb(e).log() / step)), arb(p)) for e, p in pair.atoms]
    assert all(pair.atoms[i][0] == ratio**j for i, (j, _) in enumerate(atoms))

    def cumulant(t):
        return sum((p * (t * j * step).exp() for j, p in atoms), arb(0)).log()

    tilt = cumulant(theta)
    masses = [acb(0)] * size
    for j, p in atoms:
        masses[j % size] += p * (theta * j * step - tilt).exp()
    composed = acb.dft([x**count for x in acb.dft(masses)], inverse=True)
    middle = round(count * float(sum((p * j * (theta * j * step - tilt).exp() for j, p in atoms), arb(0))))
    first, last = middle - size // 2, middle + size // 2 - 1
    value = arb(0)
    for j in range(first, last + 1):
        x = j * step - eps
        if x > 0:
            value += composed[j % size].real * ((-theta * x).exp() - (-(theta + 1) * x).exp())
    above = count * (cumulant(theta + shift) - tilt) - shift * (last + 1) * step
    below = count * (cumulant(theta - shift) - tilt) + shift * (first - 1) * step
    outside = above.exp() + below.exp()
    infinite = -(count * (-arb(pair.infinite)).log1p()).expm1()
    return (count * tilt - theta * eps).exp() * (value + outside * arb(0, 1)) + infinite


@pytest.mark.parametrize(
    ("eps0", "n", "ratio", "reach", "count", "eps", "size"),
    [
        pytest.param(1, 10**6, fmpq(10_001, 10_000), 50, 2, "0.0039", 512, marks=pytest.mark.slow),
        (1, 10**6, fmpq(10_001, 10_000), 50, 100, "0.03", 2048),
        (1, 10**6, fmpq(5001, 5000), 25, 10_000, "0.34", 8192),
        (4, 10**4, fmpq(101, 100), 60, 100, "4.6", 4096),
    ],
)
def test_both_engines_overlap(eps0, n, ratio, reach, count, eps, size):
    rounds = [(lattice_pair(eps0, n, ratio, reach), count)]
    plan = estimate_divergence(FloatProduct.of(rounds), float(eps), 1e-4).plan
    with flint.ctx.workprec(256):
        lower, upper, _ = enclose_divergence(rounds, arb(eps), plan)
        theta = arb(plan.window.theta)
        shift = arb(min(plan.window.theta_above - plan.window.theta, plan.window.theta))
        other = by_transforms(rounds[0][0], ratio, count, arb(eps), theta, shift, size)
        assert lower.lower() <= other.upper()
        assert other.lower() <= upper.upper()
        assert upper.upper() - lower.lower() <= arb("1.1e-4") * upper.upper()
        assert other.rad() <= arb("1e-4") * other.mid()
