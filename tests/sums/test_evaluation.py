"""The evaluators against exact fractions, against each other, and against a second precision."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from random import Random

import flint
import mpmath
import numpy as np
import pytest
from flint import acb, arb, fmpq

from symamp.laws.law import Atom, BallGparv, FloatGparv, Law, Level, RationalLaw, ball_gparv, float_gparv, quick_gparv
from symamp.numbers.dyadic import float_above, float_below
from symamp.numbers.systems import NUMPY
from symamp.sums.divergence import Settings, enclose_divergence, estimate_log_divergence
from symamp.sums.enumeration import enumerated_sum, exact_divergence
from symamp.sums.kernels.balls import certified_sum, coarse_error, coarse_sums
from symamp.sums.kernels.floats import float_sum
from symamp.sums.kernels.kernel import Kernel
from symamp.sums.kernels.tilted import TiltedLaw, exp_minus_linear, log_mgf, turned
from symamp.sums.other_methods import gaussian_sum
from tests.exactly import as_fmpq, law_of, level_of
from tests.exactly import law_of_response as krr
from tests.oracle.laws import merged, positive_part, sums


def random_law(rng: Random) -> RationalLaw:
    atoms = []
    for _ in range(rng.randint(1, 5)):
        atoms.append(tuple(fmpq(rng.randint(0, 9), rng.randint(1, 5)) for _ in range(2)))
    masses = [rng.randint(1, 9) for _ in atoms]
    total = sum(masses) + rng.choice([0, 0, 3, 20])
    return RationalLaw(tuple((a, b, fmpq(m, total)) for (a, b), m in zip(atoms, masses, strict=True)))


def by_convolution(law: RationalLaw, e: fmpq, n: int) -> Fraction:
    """E[S_+]/n by a plain loop over draws, in Python fractions: shares nothing with the package."""
    one = [(Fraction(str(a)) - Fraction(str(e)) * Fraction(str(b)), Fraction(str(m))) for a, b, m in law.atoms]
    one.append((Fraction(0), 1 - sum((m for _, m in one), Fraction(0))))
    return Fraction(positive_part(sums([merged(one)] * n))) / n


def contains(low: arb, high: arb, exact: Fraction) -> bool:
    value = as_fmpq(exact)
    with flint.ctx.workprec(2000):
        return bool(low.lower() <= arb(value).upper()) and bool(arb(value).lower() <= high.upper())


@pytest.mark.parametrize("seed", range(60))
def test_every_evaluator_contains_the_exact_value(seed):
    rng = Random(seed)
    rational, e, n = random_law(rng), fmpq(rng.randint(4, 12), 4), rng.randint(1, 9)
    law, level = law_of(rational), level_of(e)
    exact = by_convolution(rational, e, n)
    assert Fraction(str(exact_divergence(rational, e, n))) == exact
    found = enclose_divergence(law, level, n)
    assert contains(found.lower, found.upper, exact)
    assert found.relative_gap <= 1e-6
    rough = float_gparv(law, level)
    if not rough.is_positive:
        assert exact == 0
        return
    plan = float_sum(rough, n, 1e-3, 3000).plan
    with flint.ctx.workprec(128):
        g = ball_gparv(law, level)
        for roughly in (False, True):
            low, high = certified_sum(g, n, plan, roughly=roughly)
            assert contains(low / n, high / n, exact)
        listed = enumerated_sum(g, n) / n
        assert contains(listed, listed, exact)
        width = plan.window.length / max(plan.terms, 2) / 3
        if plan.window.length / width < 2000:
            low, high = gaussian_sum(g, n, plan.window, width)
            assert contains(low / n, high / n, exact)
    if exact:
        assert estimate_log_divergence(law, level, n) == pytest.approx(
            float(mpmath.log(mpmath.mpf(exact.numerator) / exact.denominator)), abs=2e-3
        )


@pytest.mark.parametrize(("theta", "d"), [(0.3, 0.7), (2.0, 0.1), (0.05, 0.2), (5.0, 2.0)])
def test_kernel_is_the_transform_of_a_majorant_and_a_minorant(theta, d):
    """Invert B+ and B- numerically: the functions must lie above and below x_+ e^(-theta x), and nearly touch it."""
    t, kernel = 2 * np.pi / d, Kernel(NUMPY, theta, 20.0 * d, 20)
    u = (np.arange(20000) + 0.5) * t / 20000
    below, above = kernel.at(u)
    scale = 1 / theta
    for x in np.concatenate([np.linspace(-6 * d, 6 * d, 41), np.linspace(0, 8 / theta, 30)]):
        f = max(x, 0.0) * np.exp(-theta * x)
        high = float((above * np.exp(1j * u * x)).real.sum()) * (t / 20000) / np.pi
        low = float((below * np.exp(1j * u * x)).real.sum()) * (t / 20000) / np.pi
        assert low - 1e-6 * scale <= f <= high + 1e-6 * scale
    assert kernel.at_zero()[1] == pytest.approx(1 / theta**2, abs=d * d / 20)
    assert kernel.at_zero()[0] == pytest.approx(1 / theta**2, abs=d * d / 10)


@pytest.mark.parametrize(
    ("eps", "value"), [("0.1", 8.2012e-5), ("0.2", 2.2657e-9), ("0.4", 5.7705e-26), ("0.8", 2.3117e-88)]
)
def test_reference_numbers_of_binary_randomized_response(eps, value):
    level = Level(lambda: arb(fmpq(*Fraction(eps).as_integer_ratio())), lambda: eps)
    found = enclose_divergence(krr(2), level, 1000)
    assert found.relative_gap <= 1e-6
    assert float(found.upper) == pytest.approx(value, rel=5e-5)
    with localcontext(prec=50):
        t, e = Decimal(1).exp(), Decimal(eps).exp()
        p = 1 / (t + 1)
        exact = Decimal(0)
        outer = (1 - 2 * p) ** 1000
        for a in range(1001):
            # outer = P(a first values, the rest null); inner runs over the number b of second values.
            inner = outer
            for b in range(1001 - a):
                s = a * (t - e) + b * (1 - t * e)
                if s <= 0:
                    break
                exact += inner * s
                inner *= p / (1 - 2 * p) * (1000 - a - b) / (b + 1)
            outer *= p / (1 - 2 * p) * (1000 - a) / (a + 1)
        exact /= 1000
        assert Decimal(found.lower.lower().str(40, radius=False)) <= exact * (1 + Decimal(10) ** -30)
        assert exact <= Decimal(found.upper.upper().str(40, radius=False)) * (1 + Decimal(10) ** -30)


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-9])
def test_gap_is_settable(gap):
    found = enclose_divergence(krr(10), Level.of_float(0.02325), 10**4, Settings(gap=gap))
    assert 0 < found.relative_gap <= gap


@pytest.mark.parametrize("n", [10**4, 10**8, 10**12, 10**15])
def test_two_precisions_and_two_methods_agree(n):
    level = Level.of_float(2.3 / n**0.5)
    law = krr(10)
    found = enclose_divergence(law, level, n)
    assert found.plan is not None
    results = []
    for bits in (found.precision, 400):
        with flint.ctx.workprec(bits):
            g = ball_gparv(law, level)
            low, high = certified_sum(g, n, found.plan)
            results.append((low.lower(), high.upper()))
    with flint.ctx.workprec(200):
        low, high = gaussian_sum(
            ball_gparv(law, level), n, found.plan.window, 40 * found.plan.window.length / found.plan.terms
        )
        results.append((low.lower(), high.upper()))
        lows, highs = zip(*results, strict=True)
        assert all(a <= b for a in lows for b in highs)
        assert abs(float(lows[0] / lows[1]) - 1) < 1e-9


def test_phi_in_doubles_is_as_near_to_the_exact_one_as_it_says():
    rng = np.random.default_rng(5)
    values, masses = rng.normal(size=30) * 10.0 ** rng.uniform(-6, 3, 30), rng.dirichlet(np.ones(31))
    indices = [1, 2, 63, 64, 65, 4095, 4096, 99_999]
    with flint.ctx.workprec(256):
        exact = [arb(v) for v in values.tolist()], [arb(p) for p in masses.tolist()]
        found = coarse_sums(exact[0], exact[1][1:], exact[1][0], arb("0.7"), indices)
        for j, z in zip(indices, found.tolist(), strict=True):
            phi = acb(exact[1][0])
            for v, p in zip(exact[0], exact[1][1:], strict=True):
                phi += p * (acb(0, j) * v * arb("0.7")).exp()
            assert abs(phi - acb(z.real, z.imag)) < coarse_error(30, 99_999)
    law = FloatGparv(values / 1e3, masses[1:], float(masses[0]), float(masses[1:] @ values) / 1e3, 0.0)
    plan = float_sum(law, 1000, 1e-3, 4000).plan
    with flint.ctx.workprec(128):
        g = BallGparv(tuple(arb(v) for v in law.values.tolist()), tuple(exact[1][1:]), exact[1][0], arb(0))
        (low, high), (below, above) = (certified_sum(g, 1000, plan, roughly=roughly) for roughly in (False, True))
        assert below.overlaps(low)
        assert above.overlaps(high)
        assert below.rad() + above.rad() < 1e-8 * high


def test_series_meet_the_plain_formulas():
    x = np.array([-3.0, -0.06, -0.0599, -1e-3, -1e-9, 0.0, 1e-12, 1e-5, 0.0599, 0.06, 0.5, 20.0])
    for value, fast, *turn in zip(x, exp_minus_linear(x), *turned(x), strict=True):
        with mpmath.workdps(40):
            assert fast == pytest.approx(float(mpmath.expm1(value) - mpmath.mpf(value)), rel=1e-14)
            exact = 2 * mpmath.sin(mpmath.mpf(value) / 2) ** 2, mpmath.sin(value), mpmath.sin(value) - mpmath.mpf(value)
            assert turn == pytest.approx([float(v) for v in exact], rel=1e-12, abs=0.0)


@pytest.mark.parametrize("n", [10**3, 3 * 10**5, 10**6, 10**9])
def test_positive_mean_at_large_n(n):
    """With a singular part E[G] may be positive: then E[S_+]/n tends to it, and the sum must not lose its way."""

    def ten(k):
        return lambda: arb(fmpq(k, 10))

    one = fmpq(1)
    law = Law((Atom(lambda: arb(9), lambda: arb(1), ten(1)),), ((ten(1), lambda: arb(0)), (lambda: arb(0), ten(9))))
    level = Level(lambda: arb(fmpq(1, 10)), lambda: "1/10")
    found = enclose_divergence(law, level, n)
    with flint.ctx.workprec(200):
        mean = (9 - level.exponential()) / 10 + arb(one) / 10
        assert found.upper.upper() >= mean
        assert found.relative_gap <= 1e-6
        assert abs(float(found.upper - mean)) < 1e-6


def test_precision_state_never_leaks():
    before = flint.ctx.prec
    for bits in (53, 77, 300):
        flint.ctx.prec = bits
        enclose_divergence(krr(3), Level.of_float(0.3), 50, Settings(gap=1e-3))
        assert flint.ctx.prec == bits
    flint.ctx.prec = before
    with pytest.raises(ZeroDivisionError), flint.ctx.workprec(99):
        raise ZeroDivisionError
    assert flint.ctx.prec == before


def test_rounding_is_outward():
    with flint.ctx.workprec(200):
        for value in (arb(1) / 3, -arb(1) / 3, arb(10) ** -310, arb(2) ** 1000, arb(0), arb("0.1")):
            low, high = float_below(value), float_above(value)
            assert arb(low) <= value.upper()
            assert arb(high) >= value.lower()
            assert low <= high <= np.nextafter(low, np.inf)
        assert float_above(arb(10) ** -1000) == 5e-324
        assert float_below(arb(10) ** -1000) == 0.0
        assert float_above(arb(10) ** 400) == np.inf


def test_blocks_cover_every_frequency():
    plan = float_sum(float_gparv(krr(10), Level.of_float(0.0232)), 10**4, 1e-6, 20000).plan
    ranges = sorted([*plan.blocks.evaluated, *plan.blocks.dropped])
    assert ranges[0][0] == 1
    assert ranges[-1][1] == plan.terms - 1
    assert all(b + 1 == c for (_, b), (c, _) in pairwise(ranges))


def test_tilts_raise_masses_that_are_nearly_0():
    """A thousand reports in one: the law of the sum is about values whose masses are no doubles, or hardly any."""
    values = np.linspace(-1.0, 1.0, 201)
    masses = np.exp(-740.0 * (values + 1.0) / 2.0)
    masses /= masses.sum()
    g = FloatGparv(values, masses, 0.0, float(masses @ values), 0.0)
    for theta in (360.0, 400.0, 760.0):
        with np.errstate(all="raise", under="ignore"):
            tilted = TiltedLaw.of(g, 1, theta)
            logs = log_mgf(g, np.array([theta]))
        assert tilted.probabilities.sum() == pytest.approx(1.0, rel=1e-9)
        assert logs[0] == pytest.approx(tilted.cumulants.k0, rel=1e-12)
    terms = (mpmath.mpf(m) * mpmath.exp(760 * mpmath.mpf(v)) for v, m in zip(values, masses, strict=True))
    assert logs[0] == pytest.approx(float(mpmath.log(mpmath.fsum(terms))), rel=1e-12)


def test_a_search_ends_where_doubles_do_not_tell_both_sums_apart():
    masses = np.array([0.00666667, 0.94666667, 0.00333333])
    values = np.array([-7.75145891, -2.50058357, 0.49941643])
    g = FloatGparv(values, masses, 1.0 - float(masses.sum()), float(masses @ values), 0.0)
    found = float_sum(g, 4396693236, 0.0485, 20000, 2.419189836287921)
    assert found.upper > 0.0


def test_values_small_at_all_frequencies_enter_by_their_moments() -> None:
    rng = np.random.default_rng(3)
    for _ in range(4):
        values = np.exp(rng.uniform(-30.0, 5.0, 20)) * rng.choice([-1.0, 1.0], 20)
        masses = rng.dirichlet(np.ones(20))
        top = float(np.abs(values).max())
        tilted = TiltedLaw.of(FloatGparv(values, masses, 0.0, float(values @ masses), 0.0), 1, 1e-3 / top)
        u = np.sort(rng.uniform(1e-3, 1.0, 3)) * 10.0 ** rng.uniform(-4.0, 2.0) / top
        with mpmath.workdps(40):
            for frequency, modulus, phase in zip(u.tolist(), *tilted.log_phi(u), strict=True):
                phi = 1 + mpmath.mpc(0, frequency) * float(tilted.cumulants.k1)
                for p, value in zip(tilted.probabilities.tolist(), values.tolist(), strict=True):
                    x = mpmath.mpf(frequency) * value
                    phi += p * (mpmath.expj(x) - 1 - mpmath.mpc(0, x))
                assert abs(modulus / mpmath.log(abs(phi)) - 1) < 1e-11
                assert abs(phase / mpmath.arg(phi) - 1) < 1e-11


def test_a_value_that_cancels_beside_larger_ones_is_taken_as_it_comes():
    """At the ratio of a message its value is 0, which no precision of balls shows."""
    ratios = (lambda: arb("0.5").exp(), lambda: arb(3), lambda: arb("0.25"))
    law = Law(tuple(Atom(ratio, lambda: arb(1), lambda: arb(1) / 3) for ratio in ratios), (), True)
    for level in (Level.of_float(0.5), Level.of_float(0.5 + 1e-12), Level.of_float(1.0)):
        quick, careful = quick_gparv(law, level), float_gparv(law, level)
        assert quick.values == pytest.approx(careful.values, rel=1e-3, abs=1e-14)
        assert quick.masses == pytest.approx(careful.masses)
    alone = Law(law.atoms[:1] + law.atoms[2:], (), False)
    near = Level.of_float(0.5 - 1e-13)
    assert quick_gparv(alone, near).values == pytest.approx(float_gparv(alone, near).values, rel=1e-12)
