"""Discrete Laplace noise with many inputs: coarse tables, cells of inputs, answers (docs/proofs/interval.md)."""

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from math import exp, log, log1p

import numpy as np
import pytest
from flint import arb

import symamp as sa
from symamp.bounds.interval import NoiseInterval
from symamp.bounds.noise_table import Cut, NoiseTable, grid_of, shape_of
from symamp.laws.law import Level
from symamp.numbers.surroundings import at_precision
from symamp.sums.divergence import Settings
from tests.noise.test_interval import divergence_of
from tests.sampled import some

# --------------------------------------- From the definition, in fractions or doubles: P(Z = z) ~ a^|z|, clipped


def law(B, a, x):
    """Return the probabilities of x + Z, clipped to 0..B."""
    inside = [(1 - a) / (1 + a) * a ** abs(y - x) for y in range(1, B)]
    # what is beyond an end is sent as the end: a geometric series
    ends = [(1 - a) / (1 + a) * a**z / (1 - a) for z in (x, B - x)]
    return [ends[0], *inside, ends[1]]


def interpolating(B, a, nodes):
    """Return, for each node, the values at all messages of what is 1 there, 0 at the others, and spanned by a^(+-y)."""

    def sine(k):
        return a**-k - a**k

    found = [[0] * (B + 1) for _ in nodes]
    for k, (p, q) in enumerate(pairwise(nodes)):
        for y in range(p, q + 1):
            found[k][y], found[k + 1][y] = sine(q - y) / sine(q - p), sine(y - p) / sine(q - p)
    return found


def mixed(a, start, end, x):
    """Return how the laws of two inputs are mixed for one between them."""
    return [w[0] for w in ([f[x]] for f in interpolating(end, a, sorted({0, start, end}))[-2:])]


def weights(B, a):
    """Return the probabilities of messages divided by a^|y - x|."""
    return [1 / (1 + a), *[(1 - a) / (1 + a)] * (B - 1), 1 / (1 + a)]


def combined(*parts):
    return [sum(c * row[y] for c, row in parts) for y in range(len(parts[0][1]))]


def table_of(B, eps0, nodes):
    """Return the noise and the table with the messages k/B for some integers k."""
    noise = sa.DiscreteLaplace(B=B, eps0=eps0)
    shape = shape_of(noise)
    return noise, NoiseTable(shape, [shape.rounded(k / B) for k in nodes])


@pytest.mark.parametrize(
    ("B", "nodes"), [(1, (0, 1)), (4, (0, 4)), (6, (0, 1, 4, 6)), (7, (0, 3, 5, 7)), (9, tuple(range(10)))]
)
def test_noise_is_made_of_the_messages_of_a_coarse_table(B, nodes):
    """In fractions, a = 1/2: for inputs among the nodes the random map of the proof gives the noise."""
    a = Fraction(1, 2)
    maps, w = interpolating(B, a, nodes), weights(B, a)
    whole = [sum(f * v for f, v in zip(row, w, strict=True)) for row in maps]
    _, table = table_of(B, f"{B}*log(2)", nodes)
    with at_precision(200):
        for x in nodes:
            row = [v * a ** abs(k - x) for v, k in zip(whole, nodes, strict=True)]
            assert sum(row) == 1
            found = table.probabilities(table.shape.rounded(x / B))
            for value, exact in zip(found, row, strict=True):
                assert value.overlaps(arb(exact.numerator) / exact.denominator)
                assert value.rel_accuracy_bits() > 150
            drawn = [sum(p * f[y] * w[y] / v for p, f, v in zip(row, maps, whole, strict=True)) for y in range(B + 1)]
            assert drawn == law(B, a, x)


BOXES = (6, (0, 2), (4, 6)), (6, (0, 3), (3, 6)), (5, (0, 4), (4, 5)), (7, (0, 4), (2, 7))


@pytest.mark.parametrize(("B", "first", "second"), some(BOXES, 2))
@pytest.mark.parametrize("nodes", ["coarse", "all"])
def test_boxes_bound_every_pair_exactly(B, first, second, nodes):
    """All data sets of two and three users, all pairs of a box, in fractions; what is left by the bound of a table."""
    a, E, slack = Fraction(1, 2), Fraction(3, 2), Fraction(10**12 - 1, 10**12)
    rows = [law(B, a, x) for x in range(B + 1)]
    _, table = table_of(B, f"{B}*log(2)", sorted({0, B, *first, *second}) if nodes == "coarse" else range(B + 1))
    place, share = table.shape.rounded, {}
    for cell in (first, second):
        for x in range(cell[0], cell[1] + 1):
            f = interpolating(B, a, sorted({0, B, *cell}))
            parts = [f[sorted({0, B, *cell}).index(end)][x] for end in cell]
            share[cell, x] = [p / sum(parts) for p in parts]
    for kappa, low, others in product(
        (Fraction(1, 20), Fraction(1)),
        (Fraction(1, 50), Fraction(1, 4)),
        [*((x,) for x in range(B + 1)), *list(combinations_with_replacement(range(B + 1), 2))[::7]],
    ):
        held, n, lowered = [rows[u] for u in others], len(others) + 1, E * (1 - low) / (1 + kappa)
        corners = [combined((1, rows[i]), (-lowered, rows[j])) for i, j in product(first, second)]
        worst = max(divergence_of(g, held) for g in corners)
        ends = [[place(x / B) for x in cell] for cell in (first, second)]
        with at_precision(128):
            rest = [
                min(table.remainder(*cell, above).side(n, float(k), s).rest for s in (0.03, 0.3, 1.0))
                for cell, above, k in ((ends[0], True, kappa), (ends[1], False, low))
            ]
        for x in range(first[0], first[1] + 1):
            P = combined(*zip(share[first, x], (rows[i] for i in first), strict=True))
            assert divergence_of(combined((1, rows[x]), (-(1 + kappa), P)), held) * slack <= rest[0]
            for y in range(second[0], second[1] + 1):
                value = divergence_of(combined((1, rows[x]), (-E, rows[y])), held)
                assert float(value) <= (float((1 + kappa) * worst) + rest[0] + float(E) * rest[1]) * (1 + 1e-12)
        for y in range(second[0], second[1] + 1):
            Q = combined(*zip(share[second, y], (rows[j] for j in second), strict=True))
            assert divergence_of(combined((1 - low, Q), (-1, rows[y])), held) * slack <= rest[1]


@pytest.mark.parametrize(("B", "eps0"), some([(34, 1), (57, 4), (100, 2), (1000, 6)], 2))
def test_what_cells_leave_is_bounded(B, eps0):
    """Sums over all messages, at random inputs of random cells of either side."""
    noise, draws, a = sa.DiscreteLaplace(B=B, eps0=eps0), np.random.default_rng(B), exp(-eps0 / B)
    grid = grid_of(noise, Cut(0))
    rows, place = [np.array(law(B, a, x)) for x in range(B + 1)], grid.shape.rounded
    for _ in range(12):
        start = int(draws.integers(0, B - 1))
        end = min(start + int(draws.integers(1, max(B // 6, 3))), B)
        table = grid.table([place(start / B), place(end / B)])
        nodes = [round(y * B) for y in table.nodes]
        assert [table.shape.exact(y) for y in table.nodes] == [Fraction(k, B) for k in nodes]
        f, w = np.array(interpolating(B, a, nodes)), np.array(weights(B, a))
        m = np.array([min(a**k, a ** (B - k)) for k in nodes]) @ f * w
        assert all((m <= row * (1 + 1e-12)).all() for row in rows)
        for above in (True, False):
            left = table.remainder(place(start / B), place(end / B), above)
            kappa = float(draws.choice([0.0, 0.3 * left.eta, 0.5 * left.whole]))
            t = np.array([left.eta + kappa])
            squares, heights = float(left.squares(t).sum()), float(left.heights(t).max())
            for x in range(start, end + 1):
                # with h >= 2 steps the mixture of sinh, with one step an end itself
                cell = np.array(interpolating(B, a, sorted({0, start, end, B})))
                parts = [cell[sorted({0, start, end, B}).index(k)][x] for k in (start, end)]
                P = (parts[0] * rows[start] + parts[1] * rows[end]) / sum(parts)
                sigma = rows[x] - (1 + kappa) * P if above else (1 - kappa) * P - rows[x]
                if end > start + 1 and (above or kappa < 1 - sum(parts)):
                    assert float((sigma**2 / m).sum()) <= squares * (1 + 1e-9)
                    assert float((sigma / m).max()) <= heights * (1 + 1e-9) + 1e-12
                    for s, n in ((0.1 / max(heights, 0.01), 10**4), (5.0 / max(heights, 0.01), 100)):
                        moment = float((m * np.expm1(s * sigma / m)).sum())
                        with at_precision(128):
                            rest = left.side(n, kappa, s).rest
                        assert rest == 0.0 or n * log1p(moment) - 1.0 - log(n * s) <= log(rest) + 1e-9
                most = float((sigma / m).max())
                assert kappa < left.whole or most <= 1e-9
                assert end > start + 1 or left.whole <= 1e-9


@pytest.mark.parametrize("B", some([3, 40, 57], 1))
@pytest.mark.parametrize("eps0", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_it_is_near_to_the_bound_of_the_table(B, eps0):
    asked = {"n": 10**4, "delta": 1e-8}
    noise = sa.DiscreteLaplace(B=B, eps0=eps0)
    found, table = (sa.epsilon(noise, **asked, method=method) for method in ("interval", "all_data_sets"))
    assert found.lower <= table.upper
    assert table.lower <= found.upper
    assert table.upper * 0.999 < found.upper < table.upper * 1.0015


@pytest.mark.parametrize(
    ("B", "eps0", "n", "ratio"),
    [
        (100, 1, 10**4, 1.002),
        *(
            pytest.param(*x, marks=pytest.mark.slow)
            for x in [(101, 4, 10**4, 1.002), (64, 2, 1000, 1.01), (100, "1/2", 1000, 1.01), (2000, 1, 10**6, 1.002)]
        ),
    ],
)
def test_ends_are_near_to_each_other_for_many_inputs(B, eps0, n, ratio):
    answer = sa.epsilon(sa.DiscreteLaplace(B=B, eps0=eps0), n=n, delta="1e-8")
    assert answer.method == "interval"
    assert 1.0 < answer.upper / answer.lower < ratio


@pytest.mark.slow
def test_divergences_of_data_sets_are_below():
    """Others at inputs inside, and compared inputs inside: 60 inputs, convolved on a fine lattice of values."""
    B, eps0, n, eps = 60, 1.0, 1000, 0.12
    upper = float(NoiseInterval(sa.DiscreteLaplace(B=B, eps0=1)).enclose(Level.of_float(eps), n, Settings()).upper)
    a = exp(-eps0 / B)
    rows = [np.array(law(B, a, x)) for x in range(B + 1)]
    worst = 0.0
    for x, y, u in ((0, B, 0), (0, B, B), (0, B, 7), (1, B, 0), (0, B - 2, B), (3, B - 1, 30), (10, 50, 25)):
        worst = max(worst, _of_constant(rows[x], rows[y], rows[u], n, exp(eps)))
    assert 0.8 * upper < worst <= upper


def _of_constant(p, q, r, n, E, step=2e-4):
    """Return D where n - 1 others send r: E(g_1 + ... + g_n)_+ / n for g = (p - E q)/r, values rounded to a lattice.

    Rounding keeps the mean of each value, so that it makes the result larger: by less than a part in a thousand here.
    """
    g = (p - E * q) / r
    low = np.floor(g / step).astype(int)
    share = g / step - low
    first, size = int(low.min()), 2**21
    single = np.zeros(size)
    np.add.at(single, low - first, r * (1 - share))
    np.add.at(single, low - first + 1, r * share)
    total = np.fft.irfft(np.fft.rfft(single) ** n, size)
    # the support wraps around: the mean is what tells where it begins
    center = n * (float(single @ np.arange(size)) + first)
    values = (np.arange(size) + n * first) % size
    values = values + size * np.round((center - values) / size)
    return float(np.maximum(values * step, 0.0) @ total) / n / (1 + 1e-3)


@pytest.mark.parametrize("delta", ["1e-6", "1e-8"])
def test_corners_have_parameters_of_their_own_where_users_are_few(delta):
    answer = sa.epsilon(sa.DiscreteLaplace(B=64, eps0=4), n=1000, delta=delta)
    assert answer.upper <= 1.01 * answer.lower
