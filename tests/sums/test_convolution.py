"""Sums on graded lattices: against exact sums in fractions, and against the kernel for laws with a density."""

from fractions import Fraction
from itertools import pairwise
from math import comb, log

import flint
import numpy as np
import pytest
import sympy as sp
from flint import arb

import symamp as sa
from symamp.decompositions.to_law import level_of
from symamp.laws.density import finite_sandwich
from symamp.laws.law import BallGparv, FloatGparv, Level, ball_gparv, quick_gparv
from symamp.sums import divergence as choice
from symamp.sums.convolution import Grading, coarser, convolved_sum, estimated_log_sum, of_atoms, places_of
from symamp.sums.divergence import OneLaw, Settings, enclose_divergence, enclose_level
from tests.exactly import as_ball as ball
from tests.oracle.laws import positive_part, sums

LAWS = [
    {Fraction(3, 7): Fraction(1, 3), Fraction(-5, 7): Fraction(1, 2)},
    {
        Fraction(9, 10): Fraction(1, 100),
        Fraction(1, 3): Fraction(1, 5),
        Fraction(-22, 7): Fraction(3, 10),
        Fraction(-1, 10): Fraction(1, 4),
    },
    {Fraction(1): Fraction(1, 1000), Fraction(-40): Fraction(999, 1000)},
    {Fraction(2): Fraction(1, 10**4), Fraction(-1, 64): Fraction(1, 2), Fraction(1, 65): Fraction(1, 10)},
    # Nearly constant with rare large values of both signs: a lattice around 0 alone cannot tell most values apart.
    {Fraction(-300_001, 3): 1 - Fraction(1, 10**5), Fraction(10**9, 7): Fraction(1, 10**5) - Fraction(1, 10**9)},
]


def exact(law, n):
    return positive_part(sums([law | {Fraction(0): 1 - sum(law.values())}] * n))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_exact_sum_lies_between_the_ends(law, n):
    values, masses = list(law), list(law.values())
    g = BallGparv(tuple(map(ball, values)), tuple(map(ball, masses)), ball(1 - sum(masses)), arb(0))
    floats = [np.array([float(x) for x in xs]) for xs in (values, masses)]
    mean = float(sum(v * m for v, m in law.items()))
    lower, upper = convolved_sum(g, g, FloatGparv(*floats, float(1 - sum(masses)), mean, 0.0), n, 1e-3)
    truth = exact(law, n)
    assert Fraction(lower) <= truth <= Fraction(upper)
    assert upper - lower < 0.02 * upper


@pytest.mark.parametrize("n", [64, 255])
def test_many_users_lie_between_the_ends(n):
    heads, win, lose = Fraction(1, 50), Fraction(7, 3), Fraction(-2, 11)
    g = BallGparv((ball(win), ball(lose)), (ball(heads), ball(1 - heads)), arb(0), arb(0))
    floats = FloatGparv(np.array([7 / 3, -2 / 11]), np.array([0.02, 0.98]), 0.0, float(win / 50 + lose * 49 / 50), 0.0)
    lower, upper = convolved_sum(g, g, floats, n, 1e-3)
    sums = ((k * win + (n - k) * lose, comb(n, k) * heads**k * (1 - heads) ** (n - k)) for k in range(n + 1))
    truth = sum(x * p for x, p in sums if x > 0)
    assert Fraction(lower) <= truth <= Fraction(upper)
    assert upper - lower < 0.05 * upper
    assert abs(estimated_log_sum(floats, n) - log(truth)) < 0.02


@pytest.mark.parametrize("upward", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_moves_are_ordered_for_all_stop_loss_transforms(upward, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=30) * 10.0 ** rng.integers(-2, 4, size=30)
    masses = rng.dirichlet(np.ones(30)) * 0.999
    rows = of_atoms(values, masses, Grading(-5, 8, upward))
    coarse = {level + 1: coarser(row, upward) for level, row in rows.items()}
    before, after, further = (
        [(Fraction(float(v)), Fraction(float(m))) for v, m in zip(*both, strict=True) if m > 0.0]
        for both in ((values, masses), *(_flat(x) for x in (rows, coarse)))
    )
    for point in {v for v, _ in (*before, *after, *further)}:
        losses = [sum(m * (v - point) for v, m in law if v > point) for law in (before, after, further)]
        # Sums of masses are rounded, which the evaluation counts.
        assert all(x <= y * (1 + Fraction(1, 2**48)) for x, y in pairwise(losses if upward else losses[::-1]))


def _flat(rows):
    found = list(rows.items())
    return np.concatenate([places_of(*x) for x in found]), np.concatenate([row[1] for _, row in found])


def _by_convolution(noise, level, n):
    """The ends of the divergence, by two finite laws around noise and sums on a lattice."""
    lower, upper = noise.blanket_laws(level, n)
    with flint.ctx.workprec(128):
        below, above = finite_sandwich(lower)[0], finite_sandwich(upper)[1]
        low, high = (ball_gparv(x, level) for x in (below, above))
        sums = convolved_sum(low, high, quick_gparv(above, level), n, 5e-3)
        return float(low.singular + sums[0] / n), float(high.singular + sums[1] / n), (below, above)


@pytest.mark.parametrize(("noise", "n", "eps"), [(sa.Gaussian(sigma=1), 40, 0.5), (sa.Laplace(eps0=2), 20, 0.3)])
def test_it_overlaps_with_the_kernel(noise, n, eps):
    level = Level.of_float(eps)
    low, high, laws = _by_convolution(noise, level, n)
    below, above = (enclose_divergence(law, level, n, Settings(gap=5e-3)) for law in laws)
    assert low <= above.upper.upper()
    assert below.lower.lower() <= high
    assert low < high < 1.05 * low


def test_a_billion_users_with_rare_large_ratios():
    """The drift of the sum is a thousand times its scale: only around the mean are values told apart."""
    low, high, _ = _by_convolution(sa.Gaussian(sigma="1/4"), Level.of_float(5.64), 10**9)
    assert low <= 1.01e-6
    assert high >= 0.99e-6
    assert high < 1.01 * low


@pytest.mark.parametrize("upward", [True, False])
def test_a_lone_mass_keeps_the_mean_where_others_can_move(upward):
    """All lies far below, or above, an odd multiple: halves of neighbours have nothing to pair it with."""
    row = np.zeros(40)
    row[[0, 1, 2, 37]] = 0.3, 0.2, 0.1, 0.4
    first, masses = coarser((-20, row), upward)
    mean = float((first + np.arange(len(masses))) * 2.0 @ masses)
    assert mean == pytest.approx(float((-20 + np.arange(40.0)) @ row), rel=1e-6)


@pytest.mark.parametrize(
    ("ratio", "level"),
    [(10**4, Fraction(7, 2)), (10**12, Fraction(7, 2)), (10**12, Fraction(9)), (10**14, Fraction(10**13))],
)
def test_a_lattice_answers_where_a_kernel_says_hardly_anything(monkeypatch, ratio, level):
    """With hardly any frequency, and nothing else to choose: the sum in fractions lies between the ends."""
    monkeypatch.setattr(choice, "ENUMERATE_AT_ONCE", 1)
    monkeypatch.setattr(choice, "plan_large", lambda *_: None)
    n = 4
    raw = [(ratio, 1, Fraction(1, ratio)), (1, 3, 2), (3, 1, 2), (2, 5, 1), (1, 1, 4)]
    sums = [sum(row[i] * row[2] for row in raw) for i in (0, 1)]
    most = max(1, sum(m for *_, m in raw))
    rows = [(a / sums[0] * most, b / sums[1] * most, Fraction(m) / most) for a, b, m in raw]
    answer = sa.delta([tuple(map(str, row)) for row in rows], n=n, eps=f"log({level})")
    part = next(e.part for e in answer.evidence_above)
    laws = [{a - level * b: m for a, b, m in rows}, {b - level * a: m for a, b, m in rows}]
    settings = Settings(most_frequencies=30, most_outcomes=1, most_steps=1)
    found = enclose_level(OneLaw(part.law), level_of(sp.log(sp.Rational(*level.as_integer_ratio()))), n, settings)
    assert found.evaluator == choice.LATTICE
    assert found.relative_gap < 0.02
    with flint.ctx.workprec(300):
        assert any(found.lower <= ball(Fraction(exact(law, n)) / n) <= found.upper for law in laws)


@pytest.mark.slow
def test_data_sets_are_shown_where_ratios_are_enormous():
    """By a kernel alone the lower end was 0, and the search took over a minute."""
    answer = sa.epsilon(sa.SubsetExponential(s=2, d=16, k=4, eps0=100), n=10**4, delta="1/3", method="variation_ratio")
    assert 89.95 < answer.lower < answer.upper < 99.3
    assert Fraction(answer.certificate()["claim"]["lower"]) > Fraction("89.95")


def test_values_beyond_the_precision_of_the_first_try_take_more_bits():
    """Ratios of e^60 times a frequency: turns of which no double was known were refused."""
    answer = sa.epsilon(sa.SubsetExponential(s=2, d=16, k=4, eps0=60), n=1000, delta="1e-3")
    assert 54.09 < answer.lower < answer.upper < 54.12


@pytest.mark.slow
def test_the_size_of_a_sum_is_not_guessed_for_ever():
    """Each guess was smaller by the least that counts as smaller, hundreds of times; before lattices: [7, 93.9]."""
    answer = sa.epsilon(sa.Collision(s=4, l=8, eps0=100), n=1000, delta="1e-8", gap=0.1)
    assert 0.9 * answer.upper < answer.lower < answer.upper
