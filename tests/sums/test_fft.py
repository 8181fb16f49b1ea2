"""The FFT engines: one contract for all engines, their rounding and lattice bounds one by one, and the law itself."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb
from random import Random

import flint
import mpmath
import numpy as np
import pytest
from flint import arb, fmpq

import symamp as sa
from symamp.laws.law import Atom, Law, Level, RationalLaw, ball_gparv, float_gparv
from symamp.questions.bracket import Interval
from symamp.sums.divergence import Settings, enclose_divergence
from symamp.sums.enumeration import count_outcomes, enumerated_sum, exact_divergence
from symamp.sums.kernels.floats import float_sum
from symamp.sums.lattice import (
    FftSettings,
    Lattice,
    PlacedLaw,
    Weight,
    coarsest_lattice,
    enclose_by_fft,
    upper_law,
    wrap_flint,
    wrap_numpy,
)
from symamp.sums.other_methods import gaussian_sum
from tests.exactly import as_number as number
from tests.exactly import law_of, level_of
from tests.exactly import law_of_response as krr
from tests.sampled import some


def decimal_level(eps):
    return Level(number(fmpq(*Fraction(eps).as_integer_ratio())), lambda: eps)


def random_case(seed):
    """A rational law with a positive value of G, a level and a number of users."""
    rng = Random(seed)
    while True:
        atoms = [tuple(fmpq(rng.randint(0, 9), rng.randint(1, 5)) for _ in range(2)) for _ in range(rng.randint(1, 5))]
        masses = [rng.randint(1, 9) for _ in atoms]
        total = sum(masses) + rng.choice([0, 0, 3, 20])
        rational = RationalLaw(tuple((a, b, fmpq(m, total)) for (a, b), m in zip(atoms, masses, strict=True)))
        e = fmpq(rng.randint(4, 12), 4)
        if any(a > e * b for a, b in atoms):
            return rational, e, rng.randint(1, 9)


# ------------------------------------------------------------------------------------------------------- the contract


def by_kernel(law, level, n):
    found = enclose_divergence(law, level, n, Settings(gap=1e-6))
    return found.lower, found.upper, 1e-6


def by_gaussian(law, level, n):
    rough = float_gparv(law, level)
    plan = float_sum(rough, n, 1e-4, 20_000).plan
    width = plan.window.length / plan.terms / 8**0.5
    if plan.window.length / width > 3000:
        return None
    with flint.ctx.workprec(160):
        g = ball_gparv(law, level)
        low, high = gaussian_sum(g, n, plan.window, width)
        return low / n + g.singular, high / n + g.singular, 1.0


def by_enumeration(law, level, n):
    if count_outcomes(float_gparv(law, level), n, 20_000) > 20_000:
        return None
    with flint.ctx.workprec(192):
        g = ball_gparv(law, level)
        value = enumerated_sum(g, n) / n + g.singular
        return value, value, 1e-30


def by_exact(law, level, n):
    if law.rational is None or n > 12:
        return None
    value = arb(exact_divergence(law.rational, level.rational, n))
    return value, value, 0.0 if value.is_exact() else 1e-9


def by_fft(context, gap):
    def engine(law, level, n):
        found = enclose_by_fft(law, level, n, FftSettings(context=context, gap=gap))
        assert found.relative_gap == pytest.approx(float((found.upper - found.lower) / found.upper), abs=1e-9)
        return found.lower, found.upper, gap

    return engine


ENGINES = {
    "compact kernel": by_kernel,
    "gaussian kernel": by_gaussian,
    "enumeration": by_enumeration,
    "exact": by_exact,
    "fft in flint": by_fft("flint", 1e-3),
    "fft in numpy": by_fft("numpy", 1e-4),
}

SINGULAR = Law(
    (Atom(number(9), number(1), number(fmpq(1, 10))),),
    ((number(fmpq(1, 10)), number(0)), (number(0), number(fmpq(9, 10)))),
)


def cases():
    for seed in range(24):
        rational, e, n = random_case(seed)
        yield pytest.param(law_of(rational), level_of(e), n, id=f"rational {seed}")
        # The same law, not known to be rational: no lattice fits it exactly.
        yield pytest.param(replace(law_of(rational), rational=None), level_of(e), n, id=f"hidden {seed}")
    for k, eps, n in (
        (2, "0.1", 1000),
        (2, "0.8", 300),
        (2, "0", 50),
        (3, "0.3", 200),
        (10, "0.1", 100),
        (10, "0.9", 3),
    ):
        yield pytest.param(krr(k), decimal_level(eps), n, id=f"{k}-RR, eps = {eps}, n = {n}")
    for n in (1, 7, 1000):
        yield pytest.param(SINGULAR, decimal_level("0.1"), n, id=f"singular part, n = {n}")


@pytest.mark.parametrize(("law", "level", "n"), some(cases(), 24))
def test_all_engines_keep_one_contract(law, level, n):
    rng = Random(n)
    before = flint.ctx.prec, mpmath.mp.prec
    flint.ctx.prec, mpmath.mp.prec = state = rng.choice([53, 64, 333]), rng.choice([20, 53, 200])
    try:
        found = {}
        for name, engine in ENGINES.items():
            if (ends := engine(law, level, n)) is not None:
                found[name] = ends
            assert (flint.ctx.prec, mpmath.mp.prec) == state, f"{name} leaks its precision"
    finally:
        flint.ctx.prec, mpmath.mp.prec = before
    assert len(found) >= 4
    with flint.ctx.workprec(2000):
        for (one, (low, _, _)), (other, (_, high, _)) in [*combinations(found.items(), 2)]:
            assert low.lower() <= high.upper(), f"{one} above {other}"
            assert found[other][0].lower() <= found[one][1].upper(), f"{other} above {one}"
        for name, (low, high, gap) in found.items():
            assert high.upper() - low.lower() <= gap * high.upper() * (1 + arb(2) ** -40) + arb(2) ** -1000, name
        if law.rational is not None:
            exact = arb(exact_divergence(law.rational, level.rational, n))
            assert all(
                low.lower() <= exact.upper() and exact.lower() <= high.upper() for low, high, _ in found.values()
            )


REFERENCE = {"0.1": 8.2012e-5, "0.2": 2.2657e-9, "0.4": 5.7705e-26, "0.8": 2.3117e-88}


@pytest.mark.parametrize("context", ["flint", "numpy"])
@pytest.mark.parametrize("eps", REFERENCE)
def test_reference_numbers_of_binary_randomized_response(eps, context):
    gap = 1e-3 if context == "flint" else 1e-6
    found = sa.sum_law(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps=eps, context=context, gap=gap)
    assert found.lower <= REFERENCE[eps] * (1 + 2e-5)
    assert found.upper >= REFERENCE[eps] * (1 - 2e-5)
    assert found.relative_gap <= gap
    assert found.upper == pytest.approx(REFERENCE[eps], rel=2e-5 + gap)
    assert found.certified is (context == "flint")


def test_digits_of_a_rational_law():
    mechanism = sa.RandomizedResponse(k=2, eps0="log(3)")
    law = sa.sum_law(mechanism, n=12, eps="log(3/2)", digits=40)
    t = fmpq(3)
    exact = exact_divergence(RationalLaw(((t, fmpq(1), 1 / (t + 1)), (fmpq(1), t, 1 / (t + 1)))), fmpq(3, 2), 12)
    low, high = law.enclosure
    with flint.ctx.workprec(400):
        assert low.lower() <= arb(exact) <= high.upper()
        assert 0 < high.upper() - low.lower() <= arb(10) ** -40 * high
    assert law.step == 0.5
    assert law.budget.lattice < 1e-50


# ------------------------------------------------------------------------------------------------------------- lattice


def placed(seed, step):
    """A rational law in units of a step, with its positions and masses as fractions."""
    rational, e, _ = random_case(seed)
    atoms = [((a - e * b) / step, m) for a, b, m in rational.atoms]
    values = [(p, m) for p, m in atoms if p != 0]
    null = 1 - sum((m for _, m in values), fmpq(0))
    law = PlacedLaw(arb(step), tuple(arb(p) for p, _ in values), tuple(arb(m) for _, m in values), arb(null), arb(0))
    return law, [*values, (fmpq(0), null)]


def stop_loss(atoms, u):
    return sum((m * max(p - u, type(p)(0)) for p, m in atoms), type(u)(0))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("step", [fmpq(1, 7), fmpq(2, 3), fmpq(5)])
def test_a_lattice_law_is_above_the_law_in_increasing_convex_order(seed, step):
    with flint.ctx.workprec(200):
        law, exact = placed(seed, step)
        points = {p for p, _ in exact} | {fmpq(k) for k in range(-80, 80)}
        mean = sum((p * m for p, m in exact), fmpq(0))
        found = upper_law(law)
        assert abs(sum(found.masses.values(), arb(0)) - 1) < 1e-50
        assert all(m > -(arb(2) ** -150) for m in found.masses.values())
        for u in points:
            transform = sum((m * max(k - u, fmpq(0)) for k, m in found.masses.items()), arb(0))
            assert transform - arb(stop_loss(exact, u)) > -(arb(2) ** -150)
        assert abs(sum((m * k for k, m in found.masses.items()), arb(0)) - arb(mean)) < 1e-50


def test_a_value_that_may_lie_on_the_lattice_moves_up_by_no_more_than_its_ball():
    with flint.ctx.workprec(64):
        near = arb(3, 1e-15)
        law = PlacedLaw(arb(1), (near,), (arb("0.5"),), arb("0.5"), arb(0))
        found = upper_law(law)
        assert 0 < found.lift <= 2e-15
        assert set(found.masses) == {0, 3, 4}


def test_the_coarsest_lattice_fits_commensurable_values():
    assert coarsest_lattice(np.array([1.5, -3.5]), 1e-3, (1e-9, 1e-9)) == (0, 3)
    index, count = coarsest_lattice(np.array([1.0, np.sqrt(2.0)]), 1e-3, (1e-7, 1e-4))
    step = np.array([1.0, np.sqrt(2.0)])[index] / count
    part = np.sqrt(2.0) / step % 1.0 if index == 0 else 1.0 / step % 1.0
    assert step > 1e-3
    assert step**2 * part * (1.0 - part) <= 1e-7


@pytest.mark.parametrize("step", ["0.05", "0.3", "1.7", "6"])
@pytest.mark.parametrize("seed", range(6))
def test_every_step_gives_a_valid_enclosure(seed, step):
    rational, e, n = random_case(seed)
    lattice = Lattice(number(fmpq(*Fraction(step).as_integer_ratio())))
    exact = arb(exact_divergence(rational, e, n))
    for context in ("flint", "numpy"):
        found = enclose_by_fft(law_of(rational), level_of(e), n, FftSettings(context=context, lattice=lattice))
        assert found.lower.lower() <= exact.upper()
        assert exact.lower() <= found.upper.upper()


def test_the_step_for_a_gap_does_not_fall_with_n():
    """A variance of step^2 a draw, against the n draws: the shift upward of Algorithm 7 needs step ~ 1/sqrt(n)."""
    steps = []
    for n in (10**3, 10**4, 10**6):
        level = Level.of_float(2.3 / n**0.5)
        steps.append(enclose_by_fft(krr(10), level, n, FftSettings("numpy", 1e-2)).step)
    assert min(steps) >= 0.5 * steps[0]


# ------------------------------------------------------------------------------------------------- the rounding bounds


@pytest.mark.parametrize("n", [1, 2, 17, 1000, 10**6])
@pytest.mark.parametrize("seed", range(4))
def test_engines_err_by_less_than_they_say(seed, n):
    rng = Random(seed)
    points = rng.sample(range(-40, 41), 4)
    weights = [arb(rng.randint(1, 9)) for _ in points]
    whole = sum(weights, arb(0))
    with flint.ctx.workprec(256):
        law = {k: w / whole for k, w in zip(points, weights, strict=True)}
        mean = float(sum((k * p for k, p in law.items()), arb(0)))
        first = round(n * mean) - 128
        reference = wrap_flint(law, n, first, 256)
    with flint.ctx.workprec(80):
        coarse = {k: w / whole for k, w in zip(points, weights, strict=True)}
        other = wrap_numpy(coarse, n, first, 256)
    truth = reference.floats()
    assert truth.sum() == pytest.approx(1.0)
    assert np.linalg.norm(other.floats() - truth) <= other.noise + 2e-16
    assert other.noise < 1e-14 * max(100.0, n)
    for weight in (Weight(0.01), Weight(0.01, 0.5)):
        low, high = max(first, -100), min(first + 255, 300)
        if low <= high:
            with flint.ctx.workprec(256):
                exact = reference.expectation(weight, low, high)
                assert other.expectation(weight, low, high).overlaps(exact)


def test_the_wrapped_law_is_the_law_of_the_sum_wrapped():
    with flint.ctx.workprec(128):
        law = {0: arb("0.5"), 3: arb("0.25"), -7: arb("0.25")}
        exact = {}
        for a in range(9):
            for b in range(9 - a):
                k = (3 * a - 7 * b) % 64
                p = Fraction(comb(8, a) * comb(8 - a, b), 4**8) * 2 ** (8 - a - b)
                exact[k] = exact.get(k, 0) + p
        found = wrap_flint(law, 8, -30, 64)
        assert found.floats() == pytest.approx([float(exact.get(k % 64, 0)) for k in range(-30, 34)], abs=1e-17)


# ----------------------------------------------------------------------------------------------------- the law, shown


@pytest.fixture
def found():
    return sa.sum_law(sa.RandomizedResponse(k=10, eps0=1), n=100, eps=0.2, context="numpy")


def test_the_law_adds_up_to_what_it_encloses(found):
    lower, upper = (np.exp(ends) for ends in found.log_probabilities)
    assert found.grid.size == lower.size == upper.size
    low, high = (float(p @ np.maximum(found.grid, 0.0)) / found.n for p in (lower, upper))
    assert low <= found.upper * (1 + 1e-9)
    assert high >= found.upper * (1 - found.budget.wrap_around - 1e-9)
    assert high - low < 1e-3 * high
    assert found.lower < found.upper
    budget = found.budget
    assert found.relative_gap == pytest.approx((found.upper - found.lower) / found.upper, rel=1e-6)
    assert budget.lattice + budget.wrap_around + budget.rounding == found.relative_gap
    low, high = found.log10_bounds
    assert low == pytest.approx(np.log10(found.lower))
    assert high == pytest.approx(np.log10(found.upper))


# G of binary response with t = 3 at E = 3/2, in steps of 1/2, with weights in quarters.
COIN = {3: 1, -7: 1, 0: 2}


@cache
def exact_law(n):
    """P(S = k/2) by multiplication of integer polynomials: no tilt, no window."""
    law = {0: 1}
    for _ in range(n):
        following = Counter()
        for k, p in law.items():
            for v, w in COIN.items():
                following[k + v] += p * w
        law = following
    return {k: Fraction(p, 4**n) for k, p in law.items()}


@pytest.mark.parametrize("context", ["flint", "numpy"])
@pytest.mark.parametrize("n", [8, 200])
def test_every_probability_shown_encloses_the_exact_one(n, context):
    found = sa.sum_law(sa.RandomizedResponse(k=2, eps0="log(3)"), n=n, eps="log(3/2)", context=context)
    exact = exact_law(n)
    places = [round(2 * x) for x in found.grid]
    assert found.step == 0.5
    logs = found.log_probabilities
    for k, low, high in zip(places, *logs, strict=True):
        true = exact.get(k, Fraction(0))
        assert Fraction(math.exp(low)) <= true * (1 + Fraction(1, 10**9))
        assert Fraction(math.exp(high)) >= true * (1 - Fraction(1, 10**9))
    shown = {k for k, low in zip(places, logs[0], strict=True) if low > -math.inf}
    missing = 1 - sum(exact.get(k, Fraction(0)) for k in shown)
    assert Fraction(found.outside.upper) >= missing
    assert Fraction(found.outside.lower) <= 1 - sum(exact.get(k, Fraction(0)) for k in places)
    middle = [i for i, k in enumerate(places) if -20 <= k <= 20 and exact.get(k)]
    assert middle
    assert all(logs[1][i] - logs[0][i] < 1e-6 for i in middle)


@pytest.mark.parametrize("context", ["flint", "numpy"])
def test_probability_encloses_inside_and_outside_the_window(context):
    found = sa.sum_law(sa.RandomizedResponse(k=2, eps0="log(3)"), n=200, eps="log(3/2)", context=context)
    exact = exact_law(200)
    for k in (*range(-1410, 610, 11), -1401, -1400, 600, 601, 10**9):
        chance = found.probability(Fraction(k, 2))
        assert Fraction(chance.lower) <= exact.get(k, Fraction(0)) <= Fraction(chance.upper), k
    assert found.probability(301) == Interval(0.0, 0.0)
    assert found.probability("1e500") == Interval(0.0, 0.0)
    first = found.probability(found.grid[0])  # most of what the window wraps around to its edge is somewhere else
    assert first.upper <= 1.0
    for wrong in (math.nan, "x", None, [1], np.array([0.5, 1.0])):
        with pytest.raises(sa.errors.SymampError):
            found.probability(wrong)


def test_bounds_below_the_smallest_double_keep_their_logarithms():
    found = sa.sum_law(sa.RandomizedResponse(k=10, eps0=1), n=10**4, eps=0.3, context="numpy", gap=0.05)
    low, high = found.log10_bounds
    assert low < high < -400
    assert (found.lower, found.upper) == (0.0, 5e-324)


def test_plot_shows_law_threshold_and_tail(found):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    ax = found.plot()
    try:
        assert len(ax.lines) == 1
        assert len(ax.collections) == 2
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert any("delta" in label for label in labels)
        assert "threshold" in labels
        assert any("not shown" in label for label in labels)
        band = ax.collections[0].get_paths()[0].vertices
        assert np.isfinite(band).all()
        assert found.plot(ax) is ax
    finally:
        plt.close(ax.figure)


def test_uncertified_laws_say_so(found):
    assert "under assumptions" in str(found)
    assert not found.certified


def test_the_law_of_an_analysis_carries_its_proof_status():
    found = sa.sum_law(sa.RandomizedResponse(k=4, eps0=1), n=20, eps=0.5, method="variation_ratio_2023", gap=0.1)
    assert not found.reduction.proof_status.is_guarantee
    assert "refuted" in str(found)


@pytest.mark.parametrize(
    ("arguments", "error", "argument"),
    [
        ({"context": "decimal"}, sa.errors.ArgumentError, "context"),
        ({"context": np.array([1.0, 2.0])}, sa.errors.ArgumentError, "context"),
        ({"context": "numpy", "digits": 20}, sa.errors.ArgumentError, "digits"),
        ({"digits": 0}, sa.errors.ArgumentError, "digits"),
        ({"gap": 0.5}, sa.errors.ArgumentError, "gap"),
        ({"step": 0}, sa.errors.ArgumentError, "step"),
        ({"step": "-1/3"}, sa.errors.ArgumentError, "step"),
        ({"step": "1e-9"}, sa.errors.PrecisionError, "lattice points"),
        ({"n": 0}, sa.errors.ArgumentError, "n"),
        ({"n": 10**15}, sa.errors.PrecisionError, "lattice points"),
        ({"eps": 2}, sa.errors.ArgumentError, "eps"),
        ({"method": "magic"}, sa.errors.ArgumentError, "method"),
    ],
)
def test_refusals(arguments, error, argument):
    with pytest.raises(error) as raised:
        sa.sum_law(sa.RandomizedResponse(k=3, eps0=1), **({"n": 100, "eps": 0.2} | arguments))
    assert raised.value.argument == argument


def test_delta_by_fft_returns_the_law():
    """``sa.delta(method="fft")`` is ``sa.sum_law`` of the blanket: its enclosure meets the other engine's."""
    member = sa.RandomizedResponse(k=10, eps0=1)
    law = sa.sum_law(member, n=1000, eps="0.05")
    answer = sa.delta(member, n=1000, eps="0.05")
    assert isinstance(law, sa.SumLaw)
    assert law.lower <= answer.bound.upper
    assert answer.bound.lower <= law.upper
