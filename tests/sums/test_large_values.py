"""Large values one by one: ends around exact sums, for any threshold and plans, here and in the verifier."""

from random import Random

import flint
import pytest
from flint import arb, fmpq
from test_evaluation import by_convolution, contains, law_of, level_of

from symamp.certificates.evidence import evaluation
from symamp.laws.law import BallGparv, Level, RationalLaw, ball_gparv, float_gparv
from symamp.sums.divergence import LARGE, Enclosure, Settings, enclose_divergence
from symamp.sums.large_values import LargePlan, large_sum, plan_large
from symamp.training import DiscreteGaussianStep
from symamp.verifier import sums
from symamp.verifier.check import Check

E = fmpq(5, 4)


def heavy(rng):
    """Ratios of which some are rare and up to some thousands; sometimes the null symbol, and 0."""
    ratios = [fmpq(rng.randint(0, 5), 4) for _ in range(rng.randint(1, 3))]
    ratios += [fmpq(rng.randint(10, 90) * 10**i) for i in range(rng.randint(1, 3))]
    masses = [fmpq(rng.randint(1, 9)) / (1 + 1000 * int(r > 2)) for r in ratios]
    whole = sum(masses, fmpq(rng.choice((0, 1))))
    return RationalLaw(tuple((r, fmpq(1), m / whole) for r, m in zip(ratios, masses, strict=True)))


@pytest.mark.parametrize("seed", range(60))
def test_ends_are_around_the_exact_value(seed):
    rng = Random(seed)
    rational, n = heavy(rng), rng.randint(2, 6)
    law, level, exact = law_of(rational), level_of(E), by_convolution(rational, E, n)
    planned = plan_large(float_gparv(law, level), n, 1e-4)
    other = LargePlan(rng.choice((-2.0, 0.0, 5.0, 500.0)), None, ())
    with flint.ctx.workprec(160):
        g = ball_gparv(law, level)
        other = LargePlan(other.threshold, None, (None,) * sum(v.mid() > other.threshold for v in g.values))
        for plan in (other, *([planned[0]] if planned else [])):
            low, high = large_sum(g, n, plan)
            assert contains(low / n, high / n, exact)
            how = evaluation(Enclosure(low, high, LARGE, 160, plan))
            atoms = list(zip(g.values, g.masses, strict=True))
            ends = [sums.evaluated(Check(), how, [(atoms, g.null_mass, n)], up, "") for up in (False, True)]
            assert contains(ends[0] / n, ends[1] / n, exact)


def test_rare_large_values_are_known_to_some_digits():
    """Ten steps, sigma = 1/2: the sum of the others is some thousand, the largest likelihood ratio some billion."""
    _, law = DiscreteGaussianStep(sigma="1/2").laws((1, 0, 0), -20.0)
    found = enclose_divergence(law, level_of(fmpq(3000)), 10, Settings(3e-4, 4_000, 2_000, 1_000))
    assert found.evaluator == LARGE
    assert found.relative_gap < 1e-5


def test_two_large_values_are_counted():
    """G = 10 with probability 1/20, else -1, two draws: E[S_+] = 20/400 + 2 (19/400) 9."""
    g = BallGparv((arb(10), arb(-1)), (arb(1) / 20, arb(19) / 20), arb(0), arb(0))
    low, high = large_sum(g, 2, LargePlan(5.0, None, (None,)))
    assert low.contains(fmpq(342, 400))
    assert high.upper() >= arb(fmpq(362, 400)) > low.upper()


def test_a_sum_that_needs_more_bits_is_no_answer():
    """Three steps, sigma = 1, eps = 8: with few bits nothing is known; the value is from an enumeration."""
    _, law = DiscreteGaussianStep(sigma=1).laws((1, 0, 0), -80.0)
    found = enclose_divergence(law, Level.of_float(8.0), 3, Settings(3e-4, 4_000, 2_000, 1_000))
    assert found.lower.is_finite()
    assert 3.400709e-19 < float(found.lower.lower()) <= float(found.upper.upper()) < 3.400710e-19
