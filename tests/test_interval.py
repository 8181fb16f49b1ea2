"""Laplace noise on an interval: the table above it, remainders, boxes of pairs, answers (docs/proofs/interval.md)."""

import pickle
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, permutations, product
from math import exp, factorial, log, prod

import numpy as np
import pytest
from flint import arb
from mpmath import cosh, inf, mp, mpf, quad, sinh
from mpmath import exp as mexp

import symamp as sa
from symamp.bounds.interval import LaplaceInterval, LaplaceTable, others_places, remainder
from symamp.laws.law import Level
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Settings

# -------------------------------------- An oracle in fractions: inputs at multiples of log 2, messages in cells

INPUTS = 5  # at 0, log 2, ..., 4 log 2
HALF = Fraction(1, 2)


def distribution(y, x):
    """Return P(x + Z <= y) for places in units of log 2."""
    return HALF ** (x - y) / 2 if y <= x else 1 - HALF ** (y - x) / 2


def row(x):
    """Return the probabilities of the tails and of the cells between the inputs."""
    at = [Fraction(0), *(distribution(y, x) for y in range(INPUTS)), Fraction(1)]
    return [b - a for a, b in pairwise(at)]


ROWS = [row(x) for x in range(INPUTS)]


def divergence(g, others):
    """Return the largest sum of g(y) E T(y, others) over symmetric tests, by all histograms."""
    chances = {}
    for messages in product(range(len(g)), repeat=len(others)):
        key = tuple(sorted(messages))
        chances[key] = chances.get(key, 0) + prod(ROWS[u][y] for u, y in zip(others, messages, strict=True))
    signed = {}
    for y, weight in enumerate(g):
        for key, chance in chances.items():
            together = tuple(sorted((*key, y)))
            signed[together] = signed.get(together, 0) + weight * chance
    return sum(max(x, 0) for x in signed.values())


def combined(*parts):
    """Return the sum of multiples of rows."""
    return [sum(c * r[y] for c, r in parts) for y in range(INPUTS + 1)]


def test_the_table_is_above_the_noise():
    """With h = log 2 all numbers are rational: messages are drawn from the functions that interpolate e^y and e^-y."""
    with at_precision(200):
        table = LaplaceTable(lambda: arb(2).log() * 4, (0.0, 0.25, 0.5, 0.75, 1.0))
        found = [table.row(k / 4) for k in range(INPUTS)]
        for x in range(INPUTS):
            for i, value in enumerate(found[x]):
                mu = Fraction(2, 3) if i in (0, INPUTS - 1) else Fraction(1, 3)
                expected = mu * HALF ** abs(i - x)
                assert value.overlaps(arb(expected.numerator) / expected.denominator)
                assert value.rel_accuracy_bits() > 150
    for x in range(INPUTS):
        weights = [Fraction(2, 3) if i in (0, INPUTS - 1) else Fraction(1, 3) for i in range(INPUTS)]
        assert sum(w * HALF ** abs(i - x) for i, w in enumerate(weights)) == 1
        # Of the weight mu = (tanh(h/2) + tanh(h'/2))/2 of a message each part goes to the cell on that side.
        cells = [sum(Fraction(1, 6) * HALF ** abs(i - x) for i in (k, k + 1)) for k in range(INPUTS - 1)]
        assert cells == ROWS[x][1:-1]


def test_the_mixture_and_its_remainders_bound_every_pair_exactly():
    """Pairs between the inputs 0, 2 and 4 of a grid, all data sets of two and three users, in fractions."""
    # cosh(h/2) with h = 2 log 2: P = (R(0) + R(2))/2, eta = 1 - 1/cosh(log 2) = 1/5
    eta, E = Fraction(1, 5), Fraction(3, 2)
    for kappa, low in ((Fraction(1, 10), Fraction(1, 20)), (Fraction(1), eta)):
        lowered = E * (1 - low) / (1 + kappa)
        for others in [(x,) for x in range(INPUTS)] + list(combinations_with_replacement(range(INPUTS), 2))[::2]:
            P, Q = combined((HALF, ROWS[0]), (HALF, ROWS[2])), combined((HALF, ROWS[2]), (HALF, ROWS[4]))
            left = divergence(combined((1, ROWS[1]), (-E, ROWS[3])), others)
            pairs = [combined((1, ROWS[i]), (-lowered, ROWS[j])) for i, j in product((0, 2), (2, 4))]
            corners = max(divergence(g, others) for g in pairs)
            rest = divergence(combined((1, ROWS[1]), (-(1 + kappa), P)), others)
            rest_too = divergence(combined((1 - low, Q), (-1, ROWS[3])), others)
            assert left <= (1 + kappa) * corners + rest + E * rest_too
            n = len(others) + 1
            with at_precision(128):
                length = arb(2).log() * 4
                for s in (0.01, 0.1, 1.0):
                    for value, above, k, ends in ((rest, True, kappa, (0.0, 0.5)), (rest_too, False, low, (0.5, 1.0))):
                        bound = remainder(*ends, length, n, float(k), s, above)
                        assert not bound < arb(value.numerator) / value.denominator
            assert kappa < 1 or rest == 0  # e^(h/2) - 1 = 1
            assert low < eta or rest_too == 0


def true_moment(L, start, end, theta, s, kappa, above):
    """Return M(s) of a remainder by quadrature."""
    h = end - start
    a, b = sinh(h - theta) / sinh(h), sinh(theta) / sinh(h)

    def density(x, y):
        return mexp(-abs(y - x)) / 2

    def inner(y):
        m = mexp(-max(y, L - y)) / 2
        P = (a * density(start, y) + b * density(end, y)) / (a + b)
        R = density(start + theta, y)
        sigma = R - (1 + kappa) * P if above else (1 - kappa) * P - R
        return m * mp.expm1(s * sigma / m)

    return 1 + quad(inner, sorted({-inf, mpf(0), start, start + theta, end, L / 2, L, inf}))


@pytest.mark.parametrize(
    ("L", "places", "s", "kappa", "values"),
    [
        (1, (0, 0.125), 3.0, 0.0008, (0.99882576710845, 0.99860920611248)),
        (4, (0, 0.0078125), 0.5, 3.6e-5, (0.9999918573055, 0.99999072739283)),
    ],
)
def test_remainders_are_bounded_as_written(L, places, s, kappa, values):
    """The explicit M, from D^ = M^n/(n e s) at n = 1, against values and against quadrature."""
    with at_precision(128):
        for above, expected in zip((True, False), values, strict=True):
            ends = places if above else (1 - places[1], 1 - places[0])
            found = remainder(*ends, arb(L), 1, kappa, s, above) * arb(1).exp() * s
            assert float(found) == pytest.approx(expected, abs=1e-13)
            start, end = (mpf(L) * mpf(x) for x in ends)
            for share in (0.2, 0.5, 0.9):
                theta = (end - start) * share
                eta = 1 - cosh((end - start) / 2 - theta) / cosh((end - start) / 2)
                own = kappa if above else min(kappa, eta)
                assert own < kappa or true_moment(mpf(L), start, end, theta, s, own, above) <= float(found)


def test_nothing_is_left_where_kappa_is_large():
    with at_precision(128):
        assert remainder(0.25, 0.5, arb(2), 10, exp(0.25) - 1 + 1e-9, 1.0, True) == 0
        assert remainder(0.25, 0.5, arb(2), 10, exp(0.25) - 1 - 1e-9, 1.0, True) > 0
        assert remainder(0.25, 0.5, arb(2), 10, 1 - 1 / np.cosh(0.25) + 1e-9, 1.0, False) == 0
        assert not remainder(0.25, 0.5, arb(2), 10, 0.1, 1e6, True).is_finite()  # s tau e^L > 2


@pytest.mark.parametrize("length", [0.05, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_places_of_others_cover_the_interval(length):
    places, cells = zip(*others_places(length), strict=True)
    assert places[0] == 0.0
    assert places[-1] == 1.0
    assert 0.5 in places
    assert 1 - np.array(places[::-1]) == pytest.approx(np.array(places), abs=0)
    gaps = np.diff(places)
    assert all(cells[k] >= max(gaps[max(k - 1, 0) : k + 1]) for k in range(len(cells)))
    assert len(places) < 16


def constant_data_set(L, pair, other, n, eps, bins=1200):
    """Return D where all others hold one input, messages in bins: a contour integral, nothing of the package."""
    edges = np.linspace(0.0, L, bins + 1)

    def probabilities(x):
        below = np.where(edges <= x, 0.5 * np.exp(-np.abs(x - edges)), 1.0 - 0.5 * np.exp(-np.abs(edges - x)))
        return np.diff(np.concatenate([[0.0], below, [1.0]]))

    a, b, o = (probabilities(x) for x in (*pair, other))
    w = (a - exp(eps) * b) / o

    def height(theta):
        return n * log(o @ np.exp(theta * w)) - 2.0 * log(theta)

    thetas = np.geomspace(1e-4, 3.0, 400)
    theta = min(thetas.tolist(), key=height)
    spread = np.sqrt(n * (o @ w**2))
    u = np.linspace(0.0, 12.0 / spread, 800)
    z = theta + 1j * u
    logs = n * np.log1p(np.expm1(z[:, None] * w) @ o)
    values = (np.exp(logs) / z**2).real
    return float(np.trapezoid(values, u)) / np.pi / n


@pytest.mark.parametrize(("eps0", "n", "eps"), [(1, 1000, 0.11), (2, 10**4, 0.072)])
def test_the_bound_is_above_pairs_inside_of_the_interval(eps0, n, eps):
    part = LaplaceInterval(sa.Laplace(eps0=eps0))
    upper = float(part.enclose(Level.of_float(eps), n, Settings()).upper.upper())
    worst = constant_data_set(eps0, (0.0, eps0), 0.0, n, eps)
    shares = [((0.03, 1.0), 0.0), ((0.0, 0.97), 0.0), ((0.05, 0.93), 0.02), ((0.0, 1.0), 0.4), ((0.5, 1.0), 0.0)]
    for (a, b), x in shares:
        assert constant_data_set(eps0, (a * eps0, b * eps0), x * eps0, n, eps) <= upper
    assert worst <= upper
    assert upper <= (1.08 if eps0 < 4 else 10.0) * worst


@pytest.mark.parametrize("n", [2, 3])
def test_the_bound_is_above_all_data_sets_of_few_users(n):
    """All pairs and data sets of five inputs, messages in cells: at eps = log(3/2), eps0 = 4 log 2."""
    E = Fraction(3, 2)
    others = list(combinations_with_replacement(range(INPUTS), n - 1))[:: 1 if n == 2 else 3]
    most = max(
        divergence(combined((1, ROWS[a]), (-E, ROWS[b])), held)
        for a, b in permutations((0, 1, 3, 4), 2)
        for held in others
    )
    part = LaplaceInterval(sa.Laplace(eps0="4*log(2)"))
    level = Level(lambda: (arb(3) / 2).log(), lambda: "log(3/2)")
    found = part.enclose(level, n, Settings())
    assert not found.upper < arb(most.numerator) / most.denominator
    assert factorial(n) * found.lower == 0


# -------------------------------------------------------------------------------------------------------------- Answers


@pytest.mark.parametrize(
    ("eps0", "n", "ratio"), [(1, 10**4, 1.0025), (4, 10**4, 1.0035), (1, 1000, 1.005), (2, 1000, 1.005)]
)
def test_ends_are_near_to_each_other(eps0, n, ratio):
    answer = sa.epsilon(sa.Laplace(eps0=eps0), n=n, delta="1e-6")
    assert answer.method == "interval"
    assert 1.0 < answer.upper / answer.lower < ratio


def test_it_is_less_than_what_holds_for_every_randomizer():
    noise, asked = sa.Laplace(eps0="1/10"), {"n": 10**4, "delta": "1e-6"}
    answer = sa.epsilon(noise, **asked)
    assert answer.method == "interval"
    for method in ("worst_pair", "generic_all_data_sets"):
        assert answer.upper < 0.995 * sa.epsilon(noise, **asked, method=method).upper


def test_clipped_noise_has_the_same_bound():
    clipped, plain = (sa.epsilon(m(eps0=2), n=10**4, delta="1e-8") for m in (sa.ClippedLaplace, sa.Laplace))
    assert clipped.method == "interval"
    assert clipped.upper == plain.upper


def test_bounds_are_parts_that_travel():
    part = LaplaceInterval(sa.Laplace(eps0=1))
    level = Level.of_float(0.05)
    before = part.enclose(level, 1000, Settings())
    after = pickle.loads(pickle.dumps(part)).enclose(level, 1000, Settings())
    assert float(before.upper) == float(after.upper)


def test_the_named_bound_is_refused_elsewhere():
    with pytest.raises(sa.errors.SupportMismatchError, match="Laplace noise"):
        sa.epsilon(sa.Logistic(eps0=1), n=1000, delta="1e-6", method="interval")


@pytest.mark.slow
def test_where_the_bound_is_useless_another_one_is_taken():
    """eps0 = 8: an estimate of the bound above 1, too large for doubles, is no reason to fail."""
    answer = sa.epsilon(sa.Laplace(eps0=8), n=10**4, delta=1e-6)
    assert 2.67 < answer.lower < answer.upper < 3.25
