"""Many rounds: kernel, sandwich and brackets against brute force, reference values and single rounds."""

import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, exp, inf
from random import Random

import flint
import numpy as np
import pytest
from flint import arb, fmpq

import symamp as sa
from symamp.accounting.curves import CurvePoint, CurvePoints, DominatingPair, Grid, descend, optimistic
from symamp.accounting.losses import FloatProduct, enclose_divergence, estimate_divergence
from symamp.laws.law import Level
from symamp.numbers.limits import Limits
from symamp.numbers.systems import FLINT, NUMPY
from symamp.sums.divergence import Settings
from symamp.sums.divergence import enclose_divergence as enclose_one_round
from symamp.sums.kernels.hockey_stick import HockeyStickKernel
from symamp.sums.kernels.kernel import Blocks
from symamp.sums.kernels.tilted import Plan, Window
from tests.exactly import as_fmpq as q
from tests.oracle import composition as oracle
from tests.oracle.laws import merged
from tests.sampled import some


def krr(k, eps0, n, method="blanket"):
    return sa.profile(sa.RandomizedResponse(k=k, eps0=eps0), n=n, method=method)


# -------------------------------------------------------------------------------------------------------- the kernel


def interpolants(lam, further, xs):
    """f, b- and b+ of Theorem 5 in units of d at some points, as balls: sums over nodes, which converge geometrically.

    The nodes from the k-th on add at most 2 (further + 1) e^(-lam k)/(1 - e^-lam) where they are farther than 1.
    """

    def gam(u):
        return u / u.expm1()

    nodes = int(160 / float(lam)) + 10

    def series(a, first):
        found = []
        for k in range(first, nodes):
            slow, fast = (-lam * (k + a)).exp(), (-further * (k + a)).exp()
            found.append((k + a, slow - fast, further * fast - lam * slow))
        return found

    alpha = 1 - (gam(lam) / gam(further)).log() / (further - lam)
    left = 2 * (further + 1) * (-lam * nodes).exp() / (1 - (-lam).exp()) * arb(0, 1)
    kinds = (arb(0), series(arb(0), 1)), (alpha, series(alpha, 0))
    for x in xs:
        f = (-lam * x).exp() - (-further * x).exp() if x > 0 else arb(0)
        below, above = (
            (arb.pi() * (x - a)).sin() ** 2 / arb.pi() ** 2
            * sum((v / (x - y) ** 2 + slope / (x - y) for y, v, slope in known), left)
            for a, known in kinds
        )  # fmt: skip
        yield f, below + (arb.pi() * x).sin() ** 2 / arb.pi() ** 2 * (gam(lam) - gam(further)) / x, above


def test_the_kernel_dominates_in_sixty_digits():
    random, count = Random(7), 0
    with flint.ctx.workprec(240):
        for _ in range(20):
            theta, d = (arb(10) ** random.uniform(*exponents) for exponents in ((-1, 2), (-0.7, 0.7)))
            for f, below, above in interpolants(
                theta * d, theta * d + d, [arb(random.uniform(-4, 6)) for _ in "x" * 20]
            ):
                assert below < f < above
                assert max(below.rad(), above.rad()) < arb("1e-59")
                count += 1
    assert count == 400


@pytest.mark.parametrize(("theta", "window", "terms"), [(0.3, 9.0, 8), (20.0, 1.0, 32), (1e3, 0.02, 16)])
def test_transforms_are_those_of_the_interpolants(theta, window, terms):
    """The inverse transform by quadrature, at some points."""
    kernel = HockeyStickKernel(NUMPY, theta, window, terms)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    u = (nodes + 1.0) * kernel.top / 2.0
    points = (-1.3, 0.2, 0.55, 2.4)
    with flint.ctx.workprec(128):
        found = interpolants(theta * arb(kernel.d), (theta + 1) * arb(kernel.d), map(arb, points))
        for x, (_, *expected) in zip(points, found, strict=True):
            for transform, value in zip(kernel.at(u), expected, strict=True):
                inverse = float((transform * np.exp(1j * u * x * kernel.d)).real @ weights) * kernel.top / 2.0 / np.pi
                assert inverse == pytest.approx(float(value), rel=1e-7, abs=1e-9 * kernel.d)


@pytest.mark.parametrize("window", [2e-6, 3e-3, 40.0])
def test_doubles_follow_balls(window):
    with flint.ctx.workprec(256):
        for terms in (7, 500):
            exact, floats = (HockeyStickKernel(s, s.rational(3, 2) / window, w, terms) for s, w in
                             ((FLINT, arb(window)), (NUMPY, window)))  # fmt: skip
            for a, b in zip(exact.at(exact.step * 3), floats.at(floats.step * 3), strict=True):
                assert abs(complex(a) - b) <= 1e-7 * abs(b)
            for a, b in zip(exact.at_zero(), floats.at_zero(), strict=True):
                assert float(a) == pytest.approx(float(b), rel=1e-7)


# ------------------------------------------------------------------------------------------------------ the sandwich


def random_rounds(random):
    """Pairs of 2 to 4 atoms with some mass at infinity, and the same for the oracle."""
    rounds, all_pairs = [], []
    for _ in range(random.choice([1, 1, 2])):
        ratios = sorted({Fraction(random.randint(1, 60), random.choice([10, 20])) for _ in range(random.randint(2, 4))})
        weights = [Fraction(random.randint(1, 20)) for _ in ratios]
        whole = max(sum(weights), sum(w / r for r, w in zip(ratios, weights, strict=True)))
        share = Fraction(random.choice([50, 50, 49]), 50)
        pair = {r: w / whole * share for r, w in zip(ratios, weights, strict=True)}
        count = random.randint(1, 4)
        rounds.append((DominatingPair(tuple((q(r), q(p)) for r, p in pair.items()), q(1 - sum(pair.values()))), count))
        all_pairs += [{**pair, None: 1 - sum(pair.values())}] * count
    return rounds, oracle.product(all_pairs)


def truth_at(product, eps):
    e = arb(eps).exp()
    return sum(
        (arb(q(p)) * (arb(1) if r is None else (1 - e / arb(q(r))).max(arb(0))) for r, p in product.items()), arb(0)
    )


@pytest.mark.parametrize("seed", range(25))
def test_the_sandwich_against_brute_force(seed):
    random = Random(seed)
    rounds, product = random_rounds(random)
    eps, gap = random.choice([0.0, 0.1, 2 * random.random()]), 10.0 ** -random.uniform(1, 5)
    plan = estimate_divergence(FloatProduct.of(rounds), eps, gap).plan
    lower, upper, _ = enclose_divergence(rounds, arb(eps), plan)
    with flint.ctx.workprec(300):
        truth = truth_at(product, eps)
        assert lower.lower() <= truth.upper()
        assert truth.lower() <= upper.upper()
        assert upper.upper() - lower.lower() <= 1.05 * gap * upper.upper()


@pytest.mark.parametrize("seed", range(15))
def test_any_plan_gives_bounds(seed):
    random = Random(100 + seed)
    rounds, product = random_rounds(random)
    theta, eps, terms = random.uniform(0.1, 8.0), random.random(), random.randint(1, 60)
    cut = random.randint(1, terms)
    blocks = Blocks(((1, cut - 1),) if cut > 1 else (), ((cut, terms - 1),) if cut < terms else ())
    plan = Plan(Window(theta, random.uniform(0.5, 40.0), theta * 1.7, theta * random.choice([0.0, 0.4])), terms, blocks)
    lower, upper, _ = enclose_divergence(rounds, arb(eps), plan)
    with flint.ctx.workprec(300):
        truth = truth_at(product, eps)
        assert lower.lower() <= truth.upper()
        assert truth.lower() <= upper.upper()


# ------------------------------------------------------------------------------------------------ rounds of a profile

REFERENCE = [
    (1, 10**6, 2, "1e-8", "0.003937603148 0.003940770644"),
    (1, 10**6, 10, "1e-8", "0.009217222792 0.009218503230"),
    (1, 10**6, 100, "1e-8", "0.03092536690 0.03092648133"),
    (1, 10**6, 10**4, "1e-8", "0.3442013443 0.3442477722"),
    (4, 10**4, 100, "1e-6", "4.617325269 4.618793630"),
    (4, 10**4, 10**4, "1e-8", "97.75952830 97.89717300"),
    (4, 10**9, 10**4, "1e-8", "0.1400161483 0.1401598384"),
    (1, 10**12, 10**4, "1e-10", "0.0003089600246 0.0003090555332"),
]


MORE = [
    (1, 10**6, 1000, "1e-8", "0.1032551372 0.1032693891"),
    (1, 10**4, 100, "1e-6", "0.2750835142 0.2751702610"),
    (0.5, 10**4, 10**4, "1e-8", "1.462716074 1.464231871"),
    (4, 10**6, 1000, "1e-8", "1.571136341 1.571627891"),
    (1, 10**9, 10**4, "1e-30", "0.02402629321 0.02403343252"),
]


@pytest.mark.parametrize(
    ("eps0", "n", "count", "delta", "bracket"), some([*REFERENCE, *MORE], lambda case: case in REFERENCE[::4])
)
def test_brackets_overlap_the_reference_and_are_as_narrow_as_asked(eps0, n, count, delta, bracket):
    low, high = map(float, bracket.split())
    answer = krr(10, eps0, n).rounds(count).epsilon(delta=delta, gap=1e-3)
    assert answer.lower <= high
    assert low <= answer.upper
    assert answer.gap <= 1.6e-3


def test_far_tails_and_a_million_rounds():
    answer = krr(10, 1, 10**6).rounds(100).epsilon(delta="1e-1000", gap=1e-3)
    assert 0.4799 < answer.lower < 0.4801428931 < 0.4802823134 < answer.upper < 0.4805
    assert krr(10, 1, 10**6).rounds(10**6).epsilon(delta="1e-8", gap=1e-3).gap < 1.5e-3


@pytest.mark.parametrize(
    ("eps0", "count", "low", "high"),
    [(1, 100, 0.04043772590, 0.04047919926), pytest.param(4, 1000, 1.488080431, 1.489619704, marks=pytest.mark.slow)],
)
def test_the_blanket_of_rappor(eps0, count, low, high):
    rappor = sa.UnaryEncoding.rappor(D=16, eps0=eps0)
    answer = sa.profile(rappor, n=10**6, method="blanket").rounds(count).epsilon("1e-8", gap=1e-3)
    assert low <= answer.upper <= high * 1.001


def test_different_rounds():
    krr1, krr4, rappor = *(sa.RandomizedResponse(k=10, eps0=e) for e in (1, 4)), sa.UnaryEncoding.rappor(D=16, eps0=1)
    parts = (krr1, 50), (rappor, 20), (krr4, 30)
    whole = sa.compose(sa.profile(m, n=10**6, method="blanket").rounds(c) for m, c in parts)
    answer = whole.epsilon(delta="1e-8", gap=1e-3)
    assert answer.gap < 3e-3  # the data sets of RAPPOR attain less than its blanket
    assert 0.250822609 <= answer.upper <= 0.250897971 * 1.001
    assert answer.lower < whole.gaussian_epsilon("1e-8") * 1.002


def test_one_round_is_answered_as_ever():
    profile = krr(10, 1, 10**6)
    for answer, single in (
        (profile.rounds(1).epsilon(delta="1e-8"), profile.epsilon(delta="1e-8")),
        (profile.rounds(1).delta(eps="0.002"), profile.delta(eps="0.002")),
    ):
        assert (answer.lower, answer.upper) == (single.lower, single.upper)


def test_equal_rounds_are_counted_together():
    profile = krr(3, 1, 1000)
    assert sa.compose([profile.rounds(2), profile.rounds(3)]) == profile.rounds(5)


def exact_rounds(k, t, n, count, level, other):
    low = Fraction(1) / (t + k - 1)
    rows = [[t * low if i == j else low for j in range(k)] for i in range(k)]
    pair = oracle.pair_of_triple((rows[0], rows[1], other(rows)), n)
    return oracle.divergence(oracle.product([pair] * count), level)


@pytest.mark.parametrize(("k", "n", "count"), [(2, 3, 2), (3, 3, 3), (4, 4, 2)])
def test_brackets_of_delta_enclose_brute_force(k, n, count):
    profile = sa.profile(sa.RandomizedResponse(k=k, eps0="log(3)"), n=n, method="blanket")
    for level in (Fraction(13, 10), Fraction(2)):
        answer = profile.rounds(count).delta(eps=f"log({level})", gap=1e-4)
        above = exact_rounds(k, Fraction(3), n, count, level, lambda rows: [min(c) for c in zip(*rows, strict=True)])
        below = max(exact_rounds(k, Fraction(3), n, count, level, lambda rows, i=i: rows[i]) for i in range(k))
        assert above <= Fraction(answer.upper) <= above * Fraction(1003, 1000)
        assert Fraction(answer.lower) <= below


def test_the_default_is_above_all_data_sets_and_below_the_blanket():
    """Binary response, two rounds: others with any numbers of ones, which may change from round to round."""
    n, p, level = 9, Fraction(3, 4), Fraction(2)

    def counts(ones):
        """The law of the number of messages 1, where so many users hold 1."""
        law = [Fraction(1)]
        for r in [p] * ones + [1 - p] * (n - ones):
            law = [a * (1 - r) + b * r for a, b in zip([*law, 0], [0, *law], strict=True)]
        return law

    def pair(others, order):
        first, second = (counts(others + b) for b in ((0, 1) if order else (1, 0)))
        return merged((a / b, a) for a, b in zip(first, second, strict=True))

    rounds = [pair(others, order) for others in range(n) for order in (False, True)]
    worst = max(oracle.divergence(oracle.product(x), level) for x in combinations_with_replacement(rounds, 2))
    default, blanket = (
        sa.profile(sa.RandomizedResponse(k=2, eps0="log(3)"), n=n, method=method).rounds(2).delta(f"log({level})")
        for method in (None, "blanket")
    )
    assert worst <= Fraction(default.upper) < 0.97 * Fraction(blanket.upper)
    assert Fraction(default.lower) <= worst


def test_the_brackets_of_epsilon_and_delta_agree():
    rounds = krr(10, 1, 10**6).rounds(100)
    eps = rounds.epsilon(delta="1e-8", gap=1e-3)
    assert rounds.delta(eps=eps.upper, gap=1e-3).lower <= 1e-8 <= rounds.delta(eps=eps.lower, gap=1e-3).upper


def test_the_gaussian_approximation_is_told_with_its_error():
    """Below the truth for large budgets and few users; no bound, and outside the bracket of one round of them."""
    far = krr(10, 4, 10**4).rounds(2).epsilon("1e-6", gap=1e-2)
    assert far.gaussian < far.lower
    assert far.gaussian_place == f"{1 - far.gaussian / far.lower:.2g} relative below the bracket"
    near = krr(10, 1, 10**6).rounds(100).epsilon("1e-8", gap=1e-2)
    assert near.lower < near.gaussian < near.upper
    assert near.to_dict()["gaussian_place"] == "inside the bracket"
    assert near.gap_limited_by == ""
    assert krr(3, 1, 1000).rounds(1).epsilon("1e-6").gaussian is None


def test_no_more_than_all_local_budgets():
    rounds = krr(2, "log(2)", 5).rounds(4)
    assert rounds.epsilon(delta="1e-300").upper <= 2.7725887222397816
    assert rounds.delta(eps=3).upper == 0.0
    assert rounds.delta(eps="2.7").upper <= 1.0


def test_a_loss_that_is_infinite():
    """A message that one input never sends: from some delta on no eps suffices."""
    table = [["1/2", "1/2", "0"], ["1/2", "1/4", "1/4"]]
    rounds = sa.profile(sa.FiniteMechanism(table), n=3, method="blanket").rounds(5)
    answer = rounds.epsilon(delta="1e-9")
    assert answer.upper == answer.lower == float("inf")
    assert answer.to_dict()["upper"] == "inf"
    assert rounds.delta(eps=40).upper > 0.0


@pytest.mark.parametrize("count", [0, -1, 10**6 + 1, 2.5, True, "7.5"])
def test_counts_out_of_range(count):
    with pytest.raises(sa.errors.ArgumentError):
        krr(2, 1, 10).rounds(count)


def test_counts_are_read_as_numbers_of_users_are():
    one = krr(3, 1, 100)
    assert one.rounds("1e2") == one.rounds(1e2) == one.rounds(100)
    several = [sa.several_reports(sa.RandomizedResponse(k=3, eps0=1), n=100, reports=x) for x in (3, 3.0, "3")]
    assert several[0] == several[1] == several[2]
    step = sa.training.GaussianStep(sigma=1)
    made = (sa.training.poisson(noise=step, steps=x, rate="1/10", neighbours="add_remove") for x in (10, "1e1"))
    first, second = (m.delta(1, gap=0.1) for m in made)
    assert first == second
    with pytest.raises(sa.errors.SymampError, match="seven"):
        one.rounds("seven")


def test_arguments_out_of_range():
    rounds = krr(2, 1, 10).rounds(2)
    for call in (
        lambda: rounds.epsilon(delta=2),
        lambda: rounds.epsilon(delta="1e-6", gap=1),
        lambda: rounds.delta(eps=-1),
        lambda: sa.compose([]),
        lambda: sa.compose([3]),
    ):
        with pytest.raises(sa.errors.ArgumentError):
            call()


# ------------------------------------------------------------------------------------------------------ exact powers


@pytest.mark.parametrize(("count", "eps"), [(40, "26"), (300, "180"), (2000, "1100")])
def test_the_sandwich_against_exact_powers_of_a_polynomial(count, eps):
    """Losses on a lattice, ratios 2^j: the law of the sum is the power of a polynomial, and all of it is exact."""
    ratios = [Fraction(2) ** j for j in (-2, -1, 0, 1, 2)]
    masses = [Fraction(m, 1000) for m in (20, 60, 300, 400, 220)]
    assert sum(masses) == 1
    assert sum(m / r for m, r in zip(masses, ratios, strict=True)) <= 1
    rounds = [(DominatingPair(tuple((q(r), q(m)) for r, m in zip(ratios, masses, strict=True))), count)]
    plan = estimate_divergence(FloatProduct.of(rounds), float(eps), 1e-3).plan
    lower, upper, _ = enclose_divergence(rounds, arb(eps), plan)
    power = flint.fmpz_poly([int(m * 1000) for m in masses]) ** count
    with flint.ctx.workprec(20_000):
        level, truth = arb(eps).exp(), arb(0)
        for j in range(4 * count + 1):
            truth += arb(power[j]) / arb(1000) ** count * (1 - level / arb(2) ** (j - 2 * count)).max(arb(0))
        assert lower.lower() <= truth.upper()
        assert truth.lower() <= upper.upper()
        assert upper.upper() <= lower.lower() * (1 + arb("0.002"))


def test_noise_with_a_density_has_a_lower_end():
    """Messages that are told apart by cells only: below the truth at an eps that is proved too small, and close."""
    profile = sa.profile(sa.Laplace(eps0=1), n=10**4)
    one, (found, _) = profile.epsilon("1e-6"), profile.rounds(2).rounds[0]
    reduction, n = found.below(one.lower)
    cells = reduction.enclose(Level.of_float(one.lower), n, Settings())
    whole = found._data_sets.largest_value(Level.of_float(one.lower), n, Settings())[1].enclose(
        Level.of_float(one.lower), n, Settings()
    )
    assert whole.upper * 0.99 <= cells.lower <= cells.upper <= whole.upper
    answer = sa.profile(sa.Laplace(eps0=1), n=10**4, method="worst_pair").rounds(2).epsilon("1e-6", gap=0.1)
    assert one.lower < answer.lower < answer.upper < 2 * one.upper
    assert answer.to_dict()["gap_limited_by"].startswith("the bounds behind both ends are apart: the width is 0.3")


# ------------------------------------------------------------------------------------------------------- dear bounds


@pytest.mark.slow
def test_dear_bounds_at_some_levels_only(monkeypatch):
    """The curve stays above that with all of them, and below the cheap one; certificates use what was evaluated."""
    ends = []
    for work in (1e12, 1e6, 1.0):
        monkeypatch.setattr("symamp.accounting.round.NEAR", work)
        found = sa.profile(sa.SubsetSelection(d=5, k=2, eps0=1), n=60).rounds(20).epsilon("1e-6")
        ends.append(found.upper)
        assert found.lower < found.upper
    assert ends[0] * 1.001 < ends[1] < ends[2] * 0.999


def test_rounds_say_where_the_effort_has_capped_their_search(monkeypatch):
    def asked():
        rounds = sa.profile(sa.RandomizedResponse(k=4, eps0=1), n=10**4).rounds(7)
        return rounds.epsilon("1e-6", gap=1e-2), rounds.delta("1/10", gap=1e-2)

    whole = asked()
    assert not any(answer.limited for answer in whole)
    assert not any("capped" in answer.gap_limited_by for answer in whole)
    monkeypatch.setattr("symamp.accounting.round.NEAR", 1e4)
    capped = asked()
    assert all(answer.limited for answer in capped)
    for less, all_of_it in zip(capped, whole, strict=True):
        assert less.upper > 1.05 * all_of_it.upper
        assert less.to_dict()["gap_limited_by"] == "Search is capped; ask for effort='thorough'"


def test_dear_levels_are_spread_evenly_and_counted():
    """In the middle of the longest interval first; none after the work is done, and no level at all is fine."""
    levels, asked, limits = [fmpq(i) for i in range(1, 10)], [], Limits(4.0)

    def point(e):
        asked.append(int(e.p))
        limits.charge(1.0)
        return CurvePoint(e, fmpq(0), 1 / e)

    assert [p.level for p in descend(levels, point, 1e-5)] == levels
    assert asked == [1, 9, 8, 4, 2, 6, 3, 5, 7]
    limits = Limits(4.0)
    some = descend(levels, point, 1e-5, limits)
    assert [p.level for p in some] == [1, 4, 8, 9]
    assert not descend((), point, 1e-5)
    assert len(descend(levels[:1], point, 1e-5)) == 1


def test_nothing_is_evaluated_where_the_curve_is_flat():
    """Between two levels with the same divergence there is nothing to find; where it falls, every level is needed."""
    values = [fmpq(1)] * 40 + [fmpq(1, i) for i in range(1, 10)] + [fmpq(0)] * 40
    points = [CurvePoint(fmpq(i + 1), v, v) for i, v in enumerate(values)]
    found = descend([p.level for p in points], lambda e: points[int(e.p) - 1], 1e-5)
    assert len(found) < 25
    assert set(found) >= set(points[40:49])
    for p in points:  # chords and the values before are as close
        before, after = [q for q in found if q.level <= p.level][-1], next(q for q in found if q.level >= p.level)
        assert after.high <= p.high <= before.high
        assert before.high == after.high or p in found


def test_what_is_negligible_takes_no_search():
    """The tail of 10^12 users: bounds below all that counts, without a frequency; others as without the limit."""
    part = sa.profile(sa.UnaryEncoding.rappor(D=4, eps0=1), n=10**12, method="blanket").rounds(2).rounds[0][0]
    law = part._chosen[0][1].law
    settings = Settings(gap=1e-4, negligible=-1000.0)
    far, near = (enclose_one_round(law, Level.of_float(eps), 10**12, settings) for eps in (0.1, 1e-5))
    assert far.plan.blocks.evaluations == 0
    with flint.ctx.workprec(64):
        assert far.upper.log() < -(10**6)
    whole = enclose_one_round(law, Level.of_float(1e-5), 10**12, replace(settings, negligible=-inf))
    assert near.lower <= whole.upper
    assert whole.lower <= near.upper
    assert near.relative_gap < 1e-4


def test_the_grid_reaches_its_end_where_that_is_next_to_the_local_budget():
    """The last level was short of it, and what is beyond counted as infinite: eps was the sum of all budgets."""
    grid = Grid(0.1, 0.2, 0.99999, 35.0)
    last = grid.levels()[-1]
    assert float(last.p) / float(last.q) == pytest.approx(np.exp(0.99999), rel=1e-12)
    found = sa.profile(sa.LocalHashing(l=2, D=16, eps0=1), n=20, method="blanket").rounds(100).epsilon("1e-6")
    assert found.lower < found.upper < 20


@pytest.mark.slow
def test_a_lower_curve_that_ends_above_zero_does_not_rise():
    """A message that one input never sends: the bounds before the plateau were looser, and the hull came up to it."""
    rows = {"x0": {"a": "3/5", "c": "1/5", "d": "1/5"}, "x1": {"a": "1/11", "b": "2/11", "c": "1/11", "d": "7/11"}}
    rounds = sa.profile(sa.FiniteMechanism(rows), n=1000).rounds(100)
    answer = rounds.delta(0)
    assert 0.999 < answer.lower <= answer.upper <= 1
    assert rounds.delta(3).upper >= 1 - (1 - 2 / 11) ** 100 - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_the_lower_pair_has_no_negative_mass(seed):
    """Points of a falling convex curve with a plateau, each known on both sides by more or less."""
    rng = Random(seed)
    levels = sorted({fmpq(rng.randint(10, 60), 10) for _ in range(8)})

    def truth(e):
        return max(1 - e, fmpq(1, 5) + max(fmpq(3) - e, fmpq(0)) / 8 if e >= 1 else fmpq(9, 20) - 11 * (e - 1) / 20)

    points = []
    for e in levels:
        d = truth(e)
        exact = e > 3 and rng.random() < 0.7
        loose = fmpq(0) if exact else fmpq(rng.randint(0, 100), 2000)
        points.append(CurvePoint(e, max(d - loose, 0), d + loose))
    pair = optimistic(CurvePoints(tuple(points)))
    assert all(p > 0 for _, p in pair.atoms)
    assert sum(p for _, p in pair.atoms) + pair.infinite == 1
    for k in range(10, 90):
        e = fmpq(k, 10)
        assert pair.divergence(e) <= truth(e)


def test_outputs_that_tell_everything():
    told = sa.profile(sa.FiniteMechanism([[0, 1], [1, 0]]), n=4).rounds(2)
    assert told.delta("log(2)").lower == told.delta("log(2)").upper == 1


def test_rounds_whose_losses_are_infinite_but_for_hardly_any():
    """A given bound of 1 up to eps = 1/7 and of 0 only from 999999 on: what is finite is less than a double tells."""
    given = sa.from_privacy_profile([("1/7", 1), (999_999, 0), (10**6, "1e-30")])
    assert given.rounds(10**5).delta(5).upper == 1


@pytest.mark.parametrize(("eps0", "rounds", "delta"), some([(8, 100, 0.5), (2, 1000, 1e-6), (5, 400, 1e-9)], 1))
def test_eps_of_many_hundreds(eps0, rounds, delta):
    """One user with a bit, so that losses are +-eps0: the binomial law says what eps is, far beyond 300."""
    p = Fraction(1 / (1 + np.exp(-eps0)))
    masses = {
        eps0 * (2 * x - rounds): comb(rounds, x) * p**x * (1 - p) ** (rounds - x)
        for x in range(rounds // 2 + 1, rounds + 1)
    }
    answer = krr(2, eps0, 1).rounds(rounds).epsilon(delta)

    def divergence(eps):
        return sum(float(m) * -np.expm1(eps - loss) for loss, m in masses.items() if loss > eps)

    assert divergence(answer.upper * (1 + 1e-9)) <= delta <= divergence(answer.lower * (1 - 1e-9))
    assert 300 < answer.lower < answer.upper < answer.lower * (1 + 1e-5)


@pytest.mark.slow
def test_where_windows_of_many_hundreds_overflow():
    """With few terms the sums are undefined there, and no estimate may rest on them."""
    found = krr(3, 8, 4).rounds(100).epsilon("1e-6")
    assert 300 < found.lower < found.upper < 1.01 * found.lower


# ------------------------------------------------------------------------------------- what is exported of many rounds


@pytest.mark.slow
def test_exports_of_many_rounds_are_above_the_rounds():
    whole = krr(3, 1, 10**4).rounds(3)
    bound = whole.to_callable(delta="1e-6")
    for eps in ("0", "0.01", "0.04", "0.08", "0.2"):
        answer = whole.delta(eps, gap=1e-2)
        assert answer.lower <= bound(float(eps)) <= 1.1 * answer.upper + 2e-6
    again = sa.GivenProfile.from_dict(whole.to_dict(delta="1e-6"))
    known = whole.epsilon("1e-4", gap=1e-2)
    assert known.lower <= again.epsilon("1e-4").upper <= 1.02 * known.upper


def test_exports_reach_the_losses_of_leaks():
    """Of one leak and of two, far beyond the normal law: eps is finite and near there, not infinite."""
    some = sa.participation(leaks="1/100")
    rounds = sa.profile(sa.RandomizedResponse(k=3, eps0=2), n=10**5, participation=some).rounds(2)
    bound = rounds.to_callable(delta="1e-5")
    for delta in ("1e-3", "1e-4", "1e-5"):
        known = rounds.epsilon(delta, gap="1e-2")
        assert float(delta) / 1.2 < bound(known.upper) < 1.2 * float(delta)
    assert bound(4.0) < 1e-6


def test_exports_of_slow_bounds_are_as_close_as_others():
    noise = sa.profile(sa.Laplace(eps0=1), n=1000)
    assert noise.to_callable(delta="1e-7")(1.008 * noise.epsilon("1e-6").upper) <= 1e-6


def test_events_of_many_rounds_and_of_training():
    pytest.importorskip("dp_accounting")
    assert krr(3, 1, 10**4).rounds(3).to_dp_event().rounds.count == 3
    training = sa.training.random_allocation(noise=sa.training.GaussianStep(sigma=1), steps=10, neighbours="add_remove")
    with pytest.raises(sa.errors.ArgumentError, match="both"):
        training.composition("remove").to_dp_event()


def test_a_wide_bracket_says_so():
    wide = sa.profile(sa.RandomizedResponse(k=2, eps0=6), n=10**4, method="blanket").rounds(5).epsilon("1e-8", gap=1e-2)
    assert wide.upper > 1.1 * wide.lower
    assert "WIDE: upper/lower = 1." in str(wide)
    assert "gap_limited_by" in wide.caution
    narrow = krr(3, 1, 10**4).rounds(2).epsilon("1e-6")
    assert narrow.caution == ""
    assert "WIDE" not in str(narrow)


def test_what_a_wide_bracket_tells_to_do_makes_it_narrow():
    binary = sa.RandomizedResponse(k=2, eps0=4)
    lossy = sa.epsilon(binary, n=10**4, delta="1e-6", participation=sa.participation(dropout="1/5"))
    assert "WIDE" in str(lossy)
    assert "by colluders=" in lossy.caution
    counted = sa.epsilon(binary, n=10**4, delta="1e-6", participation=sa.participation(colluders=2100))
    assert counted.upper < 1.001 * counted.lower
    crowd = sa.heterogeneous([(500, sa.RandomizedResponse(k=2, eps0=1)), (500, binary)], shuffled="messages")
    assert "the only one for users who differ; one mechanism for all" in sa.epsilon(crowd, delta="1e-6").caution
    two, three = (sa.RandomizedResponse(k=k, eps0=4) for k in (2, 3))
    wide, narrow = (sa.profile(m, n=100).sampled(n=100, of=1000).epsilon("1e-6") for m in (two, three))
    assert wide.caution.endswith("no data set that is found attains the upper end, which holds; take another mechanism")
    assert narrow.caution == ""
    asked = {"noise": sa.training.GaussianStep(sigma=2), "steps": 25, "neighbours": "add_remove"}
    shuffled = sa.training.shuffled_batches(**asked).epsilon("1e-4", effort="quick")
    assert "WIDE" in str(shuffled)
    assert "random_allocation" in shuffled.caution
    assert sa.training.random_allocation(**asked).epsilon("1e-4").caution == ""


@pytest.mark.slow
def test_a_wide_bracket_of_one_round_says_so():
    """Not that of a method that was asked for, and not twofold delta, which is little of eps."""
    noise = sa.Gaussian(sigma=1)
    wide = sa.epsilon(noise, n=300, delta="1e-6")
    assert wide.upper > 1.1 * wide.lower
    assert f"; WIDE: upper/lower = {wide.upper / wide.lower:.3g}: " in str(wide)
    assert wide.gap_limited_by in wide.caution
    assert sa.epsilon(noise, n=300, delta="1e-6", method=wide.method).caution == ""
    assert sa.epsilon(sa.RandomizedResponse(k=3, eps0=1), n=10**4, delta="1e-6").caution == ""
    below_doubles = sa.delta(sa.RandomizedResponse(k=10, eps0=1), n=10**5, eps="0.7")
    assert below_doubles.lower == 0.0
    assert below_doubles.caution == ""
    named = sa.FiniteMechanism([["1/5", "4/5", 0], [0, "4/5", "1/5"]])
    assert "no eps is enough" in str(sa.epsilon(named, n=10, delta="1e-6"))


def test_answers_of_all_kinds_of_rounds_travel_and_have_a_hash():
    coin, step = sa.RandomizedResponse(k=2, eps0=1), sa.training.TableStep([("1/3", "2/3"), ("2/3", "1/3")])
    for asked in (
        sa.several_reports(coin, n=3, reports=2),
        sa.profile(sa.UnaryEncoding.oue(D=2, eps0=1), n=3, view="coordinates"),
        sa.training.random_allocation(noise=step, steps=2, neighbours="add_remove"),
    ):
        answer = asked.delta("1/2", gap=0.1)
        again = pickle.loads(pickle.dumps(answer))
        assert hash(answer) == hash(again) == hash(asked.delta("1/2", gap=0.1))
        assert again == answer


def test_a_sample_has_the_worse_order():
    """Of binary responses, all others at one input: the counts of one message are mixtures of binomial laws."""
    n, people, p = 96, 960, exp(4) / (1 + exp(4))
    counts = range(n + 1)
    without = [comb(n, k) * (1 - p) ** k * p ** (n - k) for k in counts]
    others = [comb(n - 1, k) * (1 - p) ** k * p ** (n - 1 - k) for k in range(n)] + [0.0]
    drawn = [p * others[k - 1] * (k > 0) + (1 - p) * others[k] for k in counts]
    own = [(1 - n / people) * a + n / people * b for a, b in zip(without, drawn, strict=True)]
    profile = sa.profile(sa.RandomizedResponse(k=2, eps0=4), n=n).sampled(n=n, of=people)
    for eps in ("0.1", "0.2", "0.4"):
        worlds = ((own, without), (without, own))
        known = [sum(max(a - exp(float(eps)) * b, 0) for a, b in zip(*w, strict=True)) for w in worlds]
        assert known[0] > 1.2 * known[1]
        answer = profile.delta(eps)
        assert 0.99 * known[0] < answer.lower < (1 + 1e-9) * known[0] < answer.upper
