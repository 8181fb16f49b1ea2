"""Noise on an interval: the table above it, remainders, boxes of pairs, answers (docs/proofs/interval.md)."""

import copy
import json
import pickle
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, pairwise, permutations, product
from math import comb, erfc, exp, factorial, log, log1p, pi, prod, sinh, sqrt

import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpq

import symamp as sa
from symamp.bounds.interval import NoiseInterval
from symamp.bounds.noise_table import Cut, NoiseTable, grid_of, shape_of
from symamp.certificates import evidence
from symamp.certificates.mechanisms import of_noise
from symamp.laws.law import Level
from symamp.numbers.limits import Limits
from symamp.numbers.surroundings import at_precision
from symamp.randomizers.noise.additive_noise import AdditiveNoise, Z
from symamp.randomizers.noise.density_mechanism import truncated
from symamp.schemas.validation import check_document
from symamp.sums.all_data_sets.marked_messages import added_by_marks
from symamp.sums.divergence import Settings
from symamp.verifier import noise as verifier_noise
from symamp.verifier.check import INFINITY, Check, working
from symamp.verifier.documents import Invalid
from symamp.verifier.evidence import all_data_sets, boxes_of_pairs
from symamp.verifier.setting import At, Setting

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
    return divergence_of(g, [ROWS[u] for u in others])


def divergence_of(g, rows):
    """Return the same for others with these laws."""
    chances = {}
    for messages in product(range(len(g)), repeat=len(rows)):
        key = tuple(sorted(messages))
        chances[key] = chances.get(key, 0) + prod(row[y] for row, y in zip(rows, messages, strict=True))
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
        table = NoiseTable(shape_of(sa.Laplace(eps0="4*log(2)")), (0.0, 0.25, 0.5, 0.75, 1.0))
        found = [table.probabilities(k / 4) for k in range(INPUTS)]
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


def row_in_window(x):
    """Return the probabilities of the cells between the inputs where messages are truncated to them."""
    masses = row(x)[1:-1]
    return [m / sum(masses) for m in masses]


def test_truncated_noise_bounds_every_pair_and_data_set_exactly():
    """Boxes of pairs with the ends 0, 2, 4, in fractions: remainders of all data sets of two and three users."""
    rows, E = [[*row_in_window(x), Fraction(0), Fraction(0)] for x in range(INPUTS)], Fraction(3, 2)

    def both(a, b):
        return zip(rows[a], rows[b], strict=True)

    mass = [sum(row(x)[1:-1]) for x in range(INPUTS)]
    with at_precision(128):
        table = NoiseTable(shape_of(laplace_in_window(4 * sp.log(2))), [k / 32 for k in range(33)])
        for x in range(INPUTS):  # the masses of nodes between two inputs, half of the outer ones, are those of the cell
            found = np.array([float(p) for p in table.probabilities(x / 4)])
            for k in range(INPUTS - 1):
                inside = found[8 * k : 8 * k + 9].sum() - sum(found[y] / 2 for y in (8 * k, 8 * k + 8) if 0 < y < 32)
                assert inside == pytest.approx(float(rows[x][k]), rel=1e-12)
        for kappa, low in ((Fraction(1, 10), Fraction(1, 20)), (Fraction(1), Fraction(1, 2))):
            for n, s in product((2, 3), (0.01, 0.1, 0.5)):
                above = table.remainder(0.0, 0.5, True).side(n, float(kappa), s).rest
                below = table.remainder(0.5, 1.0, False).side(n, float(low), s).rest
                for others in combinations_with_replacement(range(INPUTS), n - 1):
                    held = [rows[u] for u in others]
                    # F(1) = (2/5) (F(0) + F(2)) and what is left: sinh(log 2)/sinh(2 log 2) = 2/5
                    P, Q = (
                        [(mass[a] * x + mass[b] * y) / (mass[a] + mass[b]) for x, y in both(a, b)]
                        for a, b in ((0, 2), (2, 4))
                    )
                    rest = divergence_of([x - (1 + kappa) * y for x, y in zip(rows[1], P, strict=True)], held)
                    rest_too = divergence_of([(1 - low) * y - x for x, y in zip(rows[3], Q, strict=True)], held)
                    assert rest <= above
                    assert rest_too <= below
                    whole = divergence_of([x - E * y for x, y in both(1, 3)], held)
                    lowered = E * (1 - low) / (1 + kappa)
                    corners = max(
                        divergence_of([x - lowered * y for x, y in both(i, j)], held)
                        for i, j in product((0, 2), (2, 4))
                    )
                    assert whole <= (1 + kappa) * corners + rest + E * rest_too


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
                table = NoiseTable(shape_of(sa.Laplace(eps0="4*log(2)")), [k / 32 for k in range(33)])
                for s in (0.01, 0.1):
                    for value, above, k, ends in ((rest, True, kappa, (0.0, 0.5)), (rest_too, False, low, (0.5, 1.0))):
                        bound = table.remainder(*ends, above).side(n, float(k), s).rest
                        assert bound >= float(value)
            assert kappa < 1 or rest == 0  # e^(h/2) - 1 = 1
            assert low < eta or rest_too == 0


def test_messages_that_are_marked_bound_what_a_cut_adds():
    """Lemma 5 in fractions, at random tables of three inputs: two messages are marked, two and three users."""
    draws = np.random.default_rng(11)
    for n in (2, 3, 3):
        for _ in range(12):
            rows = [[Fraction(int(x), 100) for x in draws.multinomial(90, [0.2] * 5) + 2] for _ in range(3)]
            g = [x - Fraction(5, 4) * y for x, y in zip(*rows[:2], strict=True)]
            marked = sorted(range(5), key=lambda y: rows[0][y] / rows[1][y])[-2:]
            if min(g[y] for y in marked) < 0:
                continue
            m = {y: min(row[y] for row in rows) * Fraction(2, 3) for y in marked}
            held = [rows[k] for k in draws.integers(0, 3, n - 1).tolist()]
            left = [[x - m.get(y, 0) for y, x in enumerate(row)] for row in held]
            ratios = [[0 if y in m else g[y] / row[y] for y in range(5)] for row in held]
            bound = divergence_of(
                [0 if y in m else x for y, x in enumerate(g)] + [0, 0], [row + [m[y] for y in marked] for row in left]
            )
            for k in range(1, n + 1):
                for gone in combinations(range(n - 1), k - 1):
                    stay = [u for u in range(n - 1) if u not in gone]
                    for marks, sent in product(product(marked, repeat=k), product(range(5), repeat=len(stay))):
                        chance = prod(m[y] for y in marks) * prod(left[u][y] for u, y in zip(stay, sent, strict=True))
                        value = sum(g[y] / m[y] for y in marks)
                        value += sum(ratios[u][y] for u, y in zip(stay, sent, strict=True))
                        bound += chance * max(value, 0) / k
            assert divergence_of(g, held) <= bound


def of_like_users(g, row, n):
    """Return D(g) where all others hold one law of three messages, by their counts: a mean of positive parts."""
    total = Fraction(0)
    for i in range(n + 1):
        for j in range(n + 1 - i):
            k = n - i - j
            chance = comb(n, i) * comb(n - i, j) * row[0] ** i * row[1] ** j * row[2] ** k
            total += chance * max(sum(c * x / p for c, x, p in zip((i, j, k), g, row, strict=True)), 0)
    return total / n


@pytest.mark.parametrize(("n", "E", "rare"), [(20, 1.25, 1e-4), (40, 1.125, 1e-4), (60, 1.25, 1e-4), (20, 1.5, 1e-2)])
def test_what_marks_add_is_near_to_what_they_tell_where_many_users_hold_one_input(n, E, rare):
    """One rare message, whose ratio is what the sum of all others misses about: exact in fractions, by counts."""
    rare = Fraction(rare)
    second = [rare, Fraction(1, 2) - rare, Fraction(1, 2)]
    at, closest = np.array([True, False, False]), []
    for ratio in (Fraction(E - 1) * n * k / 4 for k in (3, 4, 5, 12)):
        first = [ratio * rare, Fraction(3, 4) - ratio * rare, Fraction(1, 4)]
        whole, left = ([x - Fraction(E) * y for x, y in zip(p, second, strict=True)] for p in (first, [0, *first[1:]]))
        left[0] = Fraction(0)
        pairs = [tuple(np.array([[float(x) for x in row]]) for row in (first, second))]
        pairs.append(tuple(np.where(at, 0.0, row) for row in pairs[0]))
        added = Fraction(float(added_by_marks(pairs[0][1], *pairs, np.array([[E]]), n, at)[0]))
        told = of_like_users(whole, second, n) - of_like_users(left, second, n)
        assert told <= added
        closest.append(float(told / added))
    assert max(closest) > 0.95 - 25 * rare


@pytest.mark.parametrize("seed", range(8))
def test_what_marks_and_a_cap_add_bounds_what_they_leave_out(seed):
    """Lemma 6 at random tables in fractions: rare messages are marked, others are kept in part; two to four users."""
    draws = np.random.default_rng(seed)
    closest, E = 0.0, Fraction(5, 4)
    for n in (2, 3, 3, 4):
        rare = [Fraction(int(x), 10**4) for x in draws.integers(1, 30, 3)]
        rows = [[Fraction(int(x), 100) for x in draws.multinomial(90, [1 / 3] * 3) + 2] for _ in range(3)]
        rows = [[*(f * (20 if k == 0 else 1) for f in rare[:2]), *row] for k, row in enumerate(rows)]
        rows = [[x / sum(row) for x in row] for row in rows]
        marked = np.array([True, True, False, False, False])
        kept = [[0, 0, *(min(x, Fraction(3, 10)) for x in row[2:])] for row in rows[:2]]
        held = [rows[k] for k in draws.integers(0, 3, n - 1).tolist()]
        whole, left = (
            divergence_of([x - E * y for x, y in zip(*some, strict=True)], held) for some in (rows[:2], kept)
        )
        pairs = (tuple(np.array([[float(x) for x in row]]) for row in some) for some in (rows[:2], kept))
        floats = np.array([[float(x) for x in row] for row in rows])
        added = float(added_by_marks(floats, *pairs, np.array([[float(E)]]), n, marked)[0])
        assert whole <= left + Fraction(added)
        closest = max(closest, float(whole / (left + Fraction(added))))
    assert closest > 0.4


@pytest.mark.parametrize("m", [1e-100, 1e-170, 1e-250])
def test_marks_of_tiny_probabilities_add_what_they_do_in_fractions(m):
    """Squares of them are below all doubles."""
    first, second, other = [m, 0.5, 0.25], [m / 4, 0.5, 0.5], [m / 4, 0.5, 0.4]
    at, rows = np.array([True, False, False]), tuple(np.array([x]) for x in (first, second))
    kept = tuple(np.where(at, 0.0, row) for row in rows)
    added = float(added_by_marks(np.array([other]), rows, kept, np.ones((1, 1)), 2, at)[0])
    exact = [[Fraction(x) for x in row] for row in (first, second, other)]
    g = [x - y for x, y in zip(*exact[:2], strict=True)]
    held = [[*exact[2], 1 - sum(exact[2])]]
    assert divergence_of([*g, 0], held) <= divergence_of([0, *g[1:], 0], held) + Fraction(added)


def test_what_is_kept_is_not_all_where_roundings_hide_the_difference():
    """The second row is so large that the first one's difference does not show in P - E Q."""
    p, at = 1e-10, np.array([True, False, False])
    rows, kept = [np.array([[0.0, x, 1 - p]]) for x in (p, p - 1e-17)], np.array([[0.0, 0.9, 0.1]])
    found = added_by_marks(np.array([[0.0, 0.5, 0.5]]), (rows[0], kept), (rows[1], kept), np.ones((1, 1)), 2, at)
    assert found[0] >= 1e-17


def test_nothing_is_known_of_marks_where_the_rest_is_not_less_under_the_first_input():
    """The mean of the sum is to be at most 0: else the bound of Lemma 6 is none."""
    first, second = np.array([[0.01, 0.6, 0.39]]), np.array([[0.01, 0.5, 0.49]])
    kept = np.array([[0.0, 0.6, 0.39]]), np.array([[0.0, 0.5, 0.2]])
    classes, marked = np.vstack([first, second]), np.array([True, False, False])
    assert added_by_marks(classes, (first, second), kept, np.ones((1, 1)), 10, marked)[0] == np.inf


def test_no_pair_is_worse_than_the_ends_with_the_same_others():
    """Laplace noise in cells: no counterexample among all pairs and data sets of five inputs."""
    for n, E in product((2, 3), (Fraction(11, 10), Fraction(3, 2), Fraction(4))):
        for others in combinations_with_replacement(range(INPUTS), n - 1):
            worst = divergence(combined((1, ROWS[0]), (-E, ROWS[-1])), others)
            pairs = [(0, 2), (0, 3), (1, 3), (1, 4), (2, 4)]
            assert all(divergence(combined((1, ROWS[a]), (-E, ROWS[b])), others) <= worst for a, b in pairs)


X, Y = sp.symbols("x y", real=True)
FAR = sp.Abs(X - Y)


class Kinked(AdditiveNoise):
    """Noise with the density log(1 + e^-z)'/(2 log 2) for z > 0, up to the sign: f' falls at 0, and q is not 0."""

    name, slug, source, declared = "noise with a kink", "kinked", "a test", ()

    def half_density(self):
        return 1 / (1 + sp.exp(Z)) / (2 * sp.log(2))

    def survival(self, z):
        return (1 + (-z).exp()).log() / (2 * arb(2).log())

    def local_ratio(self):
        return sp.E

    def gamma(self):
        return sp.log(1 + sp.exp(-sp.Rational(1, 2))) / sp.log(2)


def shifted(f):
    """Return the density of a message on an input, of noise with the density f."""
    return lambda y, x: f(y - x)


def cut(f, far=0.0):
    """Return the same of noise that is truncated to messages from -far to 1 + far, its mass by quadrature."""

    @cache
    def whole(x):
        places, weights = np.polynomial.legendre.leggauss(50)
        wide = far + x, far + 1.0 - x
        return sum(w / 2 * float(weights @ f(w * (1 + places) / 2)) for w in wide)

    return lambda y, x: f(y - x) / whole(float(x))


def laplace_in_window(c):
    """Return Laplace noise on [0, 1] that is truncated to it."""
    c = sp.S(c)
    return sa.DensityMechanism(c * sp.exp(-c * FAR) / (2 - sp.exp(-c * X) - sp.exp(c * (X - 1))), X, Y, messages=(0, 1))


def normal_in_window(sigma):
    """Return the same of normal noise."""
    a, b = ((z / sp.S(sigma) / sp.sqrt(2)) for z in (X, 1 - X))
    whole = sp.sqrt(sp.pi / 2) * sp.S(sigma) * (sp.erf(a) + sp.erf(b))
    return sa.DensityMechanism(sp.exp(-((FAR / sp.S(sigma)) ** 2) / 2) / whole, X, Y, messages=(0, 1))


def logistic_in_window(c, far=0):
    """Return the same of logistic noise, truncated to messages from -far to 1 + far."""
    c, wave = sp.S(c), sp.exp(-sp.S(c) * FAR)
    low, high = (1 / (1 + sp.exp(-c * (y - X))) for y in (-sp.S(far), 1 + sp.S(far)))
    window = (-sp.S(far), 1 + sp.S(far))
    return sa.DensityMechanism(c * wave / (1 + wave) ** 2 / (high - low), X, Y, messages=window)


def kinked_in_window():
    """Return normal noise whose exponent has a linear term, truncated to the interval: it is no normal noise."""
    a, b = (sp.erf((1 + z) / sp.sqrt(2)) - sp.erf(1 / sp.sqrt(2)) for z in (X, 1 - X))
    whole = sp.sqrt(sp.pi / 2) * sp.exp(sp.Rational(1, 2)) * (a + b)
    return sa.DensityMechanism(sp.exp(-FAR - FAR**2 / 2) / whole, X, Y, messages=(0, 1))


def logistic(c):
    return lambda z: c * np.exp(-c * abs(z)) / (1 + np.exp(-c * abs(z))) ** 2


NOISES = {
    "Laplace": (sa.Laplace(eps0=2), shifted(lambda z: np.exp(-2 * abs(z)))),
    "logistic": (sa.Logistic(eps0=2), shifted(logistic(2))),
    "own": (
        sa.DensityMechanism((1 + FAR) * sp.exp(-FAR) / 4, X, Y),
        shifted(lambda z: (1 + abs(z)) * np.exp(-abs(z)) / 4),
    ),
    "kinked": (Kinked(), shifted(lambda z: 1 / (1 + np.exp(abs(z))) / log(4))),
    "Gaussian": (
        sa.Gaussian(sigma=sp.Rational(3, 4)),
        shifted(lambda z: np.exp(-z * z * 8 / 9) / (0.75 * np.sqrt(2 * np.pi))),
    ),
    "Laplace in a window": (laplace_in_window(2), cut(lambda z: np.exp(-2 * abs(z)))),
    "normal in a window": (normal_in_window("1/2"), cut(lambda z: np.exp(-2 * z * z))),
    "kinked in a window": (kinked_in_window(), cut(lambda z: np.exp(-abs(z) - z * z / 2))),
    "logistic in a wide window": (logistic_in_window(3, "1/2"), cut(logistic(3), 0.5)),
}


NAMED = {"Laplace": {"kind": "laplace", "eps0": "2"}, "logistic": {"kind": "logistic", "eps0": "2"}}
NAMED |= {"Gaussian": {"kind": "gaussian", "sigma": "3/4"}}


def read_by_the_verifier(name, table, others, n=10**4, cells=(), mechanism=None, cap="inf"):
    """Return what the verifier makes of the same messages and places; ``cells`` are a start, kappa and s each."""
    texts = [str(Fraction(y)) for y in table.nodes], [str(Fraction(x)) for x in others]
    side = [[str(Fraction(x)) for x in cell] for cell in cells] or [["0", "1", "1"]]
    stage = {"nodes": texts[0], "first": side, "second": side}
    setting = Setting(Check(), evidence.setting(name, [(n, True, mechanism or NAMED[name])]), "setting")
    at = At(Check(), setting, "1/10", fmpq(1, 10**6))
    data = {"others": texts[1], "cap": cap, "tilts": [], "plan": None}
    return boxes_of_pairs._Stage(at, setting.groups[0].mechanism, data, stage, "stage")


@pytest.mark.parametrize("n", [300, 10**5])
def test_the_verifier_has_the_same_marks_and_what_they_add(n):
    """Doubles rounded outward and balls agree in eight digits, by the blanket and by classes of other users."""
    grid, level = grid_of(NOISES["Gaussian"][0], Cut(-40, 64.0)), 1.125
    table = grid.table([0.25, 0.75])
    with at_precision(128):
        stage = read_by_the_verifier("Gaussian", table, grid.places, n=n, cap="64")
        assert stage.hidden
        assert stage.classes
    assert stage.marked == table.marked.tolist()
    assert 3 < sum(stage.marked) < len(stage.marked) / 3
    for a, b in ((0.0, 1.0), (0.25, 1.0), (0.25, 0.75), (0.0, 0.25)):
        pairs = [tuple(rows([x]) for x in (a, b)) for rows in (table.whole_rows, table.rows)]
        for mine, theirs in (
            (table.hidden[None], lambda: [stage.blanket]),
            (table.laws(grid.places)[:, :-1], lambda: stage.classes),
        ):
            ours = float(added_by_marks(mine, *pairs, np.array([[level]]), n, table.marked)[0])
            with at_precision(128):
                found = stage.added((fmpq(*a.as_integer_ratio()), fmpq(*b.as_integer_ratio())), arb(level), theirs())
            assert abs(float(found) / ours - 1) < 1e-8
            assert float(found.upper()) < ours * (1 + 1e-6)


def interpolating(name, a, b, at):
    """Return the functions that are 1 at one end of a cell and 0 at the other, at some messages of the cell."""
    noise, density = NOISES[name]
    if name == "Gaussian":  # combinations of the densities of the inputs 0 and 1
        ends = [np.array([density(y, x) for x in (0, 1)]) for y in (a, b, at)]
        whole = ends[0][0] * ends[1][1] - ends[0][1] * ends[1][0]
        first, second = (ends[k][0] * ends[2][1] - ends[k][1] * ends[2][0] for k in (1, 0))
        return -first / whole, second / whole
    c = shape_of(noise).float_rate
    return np.sinh(c * (b - at)) / np.sinh(c * (b - a)), np.sinh(c * (at - a)) / np.sinh(c * (b - a))


def weights_of_ends(name, start, end, x):
    """Return how the laws of two inputs are mixed for one in between, up to a factor."""
    if name == "Gaussian":
        return (end - x) / (end - start), (x - start) / (end - start)
    c, density = shape_of(NOISES[name][0]).float_rate, NOISES[name][1]
    # of truncated noise f itself is interpolated: the density at x itself is f(0) over the mass
    first, second = (density(x, x) / density(place, place) for place in (start, end))
    first, second = first * sinh(c * (end - x)), second * sinh(c * (x - start))
    return first / sinh(c * (end - start)), second / sinh(c * (end - start))


@pytest.mark.parametrize("name", NOISES)
def test_densities_are_near_what_interpolates_them(name):
    """What is left of a density between two inputs and two messages is below its bound, at random places."""
    noise, density = NOISES[name]
    table = grid_of(noise, Cut(-40)).table([0.3, 0.4])
    draws, y = np.random.default_rng(7), table.y
    weights = np.array([float(w) for w in table.weights])
    low, high = (np.array([float(m) for m in table.row(x)[0]]) / weights for x in (0.3, 0.4))
    left = table.remainder(0.3, 0.4, True)
    bounds = table._between_inputs(0.3, 0.4) + np.maximum(table._left_over(0.3), table._left_over(0.4))
    touched = (table.y[:-1] < 0.4) & (table.y[1:] > 0.3)
    bounds = bounds + np.where(touched, 0.1 * table.shape.kink / 4, 0.0)
    if name in NAMED:
        with working(192):
            stage = read_by_the_verifier(name, table, (0.0, 1.0))
            again, h = [float(b) for b in stage.left_over(*(fmpq(*x.as_integer_ratio()) for x in (0.3, 0.4)))], 0.1
            again = np.array(again) + touched * h * float(stage.noise.fall) / 4
        assert (again <= 1.05 * bounds).all()
        bounds = np.minimum(bounds, again)
    inside = np.flatnonzero((y[:-1] > -2) & (y[1:] < 3))
    for j in draws.choice(inside, 60):
        x, at = draws.uniform(0.3, 0.4), draws.uniform(y[j], y[j + 1])
        phi = interpolating(name, y[j], y[j + 1], at)
        between = [phi[0] * row[j] + phi[1] * row[j + 1] for row in (low, high)]
        first, second = weights_of_ends(name, 0.3, 0.4, x)
        rest = float(density(at, x)) - (first * between[0] + second * between[1])
        assert (-bounds[j] if left.either else 0.0) - 1e-12 <= rest <= bounds[j] * (1 + 1e-9) + 1e-12
    assert 0.0 <= left.eta < (0.03 if "window" in name else 0.02)


@pytest.mark.parametrize("name", NOISES)
def test_densities_are_above_mixtures_of_classes(name):
    noise, density = NOISES[name]
    grid = grid_of(noise, Cut(-40))
    table, places = grid.table(), grid.places
    classes = np.array([[float(x) for x in row[:-1]] for row in table.classes(places)])
    classes = classes / np.array([float(w) for w in table.weights])
    if name in NAMED:
        with working(192):
            stage = read_by_the_verifier(name, table, places)
            weights = np.array([float(w) for w in stage.weights])
            classes = np.maximum(classes, np.array([[float(x) for x in row] for row in stage.classes]) / weights)
    draws, y = np.random.default_rng(5), table.y
    for j in draws.choice(len(y) - 1, 60):
        k, share, at = draws.integers(len(places) - 1), draws.uniform(), draws.uniform(y[j], y[j + 1])
        x = (1 - share) * places[k] + share * places[k + 1]
        phi = interpolating(name, y[j], y[j + 1], at)
        first, second = (phi[0] * row[j] + phi[1] * row[j + 1] for row in classes[k : k + 2])
        weight = share
        if "window" in name:
            weight = weights_of_ends(name, *places[k : k + 2], x)
            weight = weight[1] / sum(weight)
        assert (1 - weight) * first + weight * second <= density(at, x) * (1 + 1e-9)


def true_moment(name, table, ends, share, s, kappa, above):
    """Return M(s) - 1 of a remainder by quadrature, against the least density of the table."""
    (start, end), y, density = ends, table.y, NOISES[name][1]
    x = start + (end - start) * share
    sums = [float(table.row(place)[1]) for place in ends]
    parts = [w * size for w, size in zip(weights_of_ends(name, start, end, x), sums, strict=True)]

    def inner(at):
        j = np.clip(np.searchsorted(y, at, "right") - 1, 0, len(y) - 2)
        a, b = y[j], y[j + 1]
        phi = interpolating(name, a, b, at)
        first, second = (phi[0] * density(a, place) + phi[1] * density(b, place) for place in ends)
        least = [np.minimum(density(z, 0.0), density(z, 1.0)) for z in (a, b)]
        m = phi[0] * least[0] + phi[1] * least[1]
        P = (parts[0] / sums[0] * first + parts[1] / sums[1] * second) / sum(parts)
        sigma = density(at, x) - (1 + kappa) * P if above else (1 - kappa) * P - density(at, x)
        return m * np.expm1(s * sigma / m)

    cuts = np.array(sorted({*y.tolist(), x}))
    places, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(cuts)[:, None] / 2
    found = float((inner(cuts[:-1, None] + half * (1 + places)) * half * weights).sum())
    c = table.shape.float_rate
    return found + (float(inner(y[[0, -1]]).sum()) / c if table.shape.has_exponential_tail else 0.0)


@pytest.mark.parametrize("name", NOISES)
def test_remainders_are_bounded(name):
    """The bound of log M(s) against quadrature, for long and short cells and some of their inputs."""
    short = 2.0**-9
    table = grid_of(NOISES[name][0], Cut(-40)).table([0.125, 0.875, short, 1.0 - short])
    for ends, above in (((0.0, 0.125), True), ((0.875, 1.0), False), ((0.0, short), True), ((1.0 - short, 1.0), False)):
        left = table.remainder(*ends, above)
        for s, kappa in ((1.0, 0.002), (4.0, 0.0005), (60.0, 0.0002)):
            t = np.array([left.eta + kappa])
            x, w = np.maximum(left.heights(t)[:, 0], 1e-6), left.squares(t)[:, 0]
            s *= min(10.0 / float(x.max()), 1.0)  # the largest heights of Gaussian noise are very rare
            bound = s * (left.lost - kappa) + float(((np.expm1(s * x) - s * x) * w / x**2).sum())
            for share in (0.15, 0.5):
                found = true_moment(name, table, ends, share, s, kappa, above)
                if above or left.either or kappa < left.eta * share:
                    assert log1p(found) <= bound + 1e-12
                    assert found > -0.5


def test_nothing_is_left_where_kappa_is_large():
    table = grid_of(sa.Laplace(eps0=2), Cut(0)).table([0.25, 0.375])
    for above in (True, False):
        left = table.remainder(0.25, 0.375, above)
        assert left.side(10, left.whole, 1.0).rest == 0.0
        assert left.side(10, 0.5 * left.whole, 1.0).rest > 0.0
        assert left.side(10, 0.5 * left.whole, 1e6).rest == float("inf")
    assert table.remainder(0.25, 0.375, True).whole >= exp(0.125) - 1  # the largest ratio of R to P
    assert table.remainder(0.25, 0.375, False).whole >= 1 - 1 / np.cosh(0.125)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_cauchy_noise_seen_on_the_circle(scale):
    """What interpolation leaves of densities for the angle, and classes, at random places; M(s) by quadrature."""
    table = grid_of(sa.Cauchy(scale=sp.Rational(str(scale))), Cut(0)).table()
    tau, y, draws = sqrt(scale**2 + 0.25), table.y, np.random.default_rng(3)
    wide, c = 2 * np.arctan(0.5 / tau), float(table.shape._c)

    def density(t, x):
        angle = np.clip((t - 0.5) * wide, -pi / 2 + 1e-9, pi / 2 - 1e-9)
        message, grown = 0.5 + tau * np.tan(angle), tau / np.cos(angle) ** 2
        return scale / pi / (scale**2 + (message - x) ** 2) * grown * wide

    def interpolated(values, t):
        j = np.clip(np.searchsorted(y, t, "right") - 1, 0, len(y) - 2)
        a, b = y[j], y[j + 1]
        return (np.sinh(c * (b - t)) * values[j] + np.sinh(c * (t - a)) * values[j + 1]) / np.sinh(c * (b - a))

    ends, t = (0.25, 0.375), np.concatenate([y[:-1], draws.uniform(y[0], y[-1], 400)])
    at_nodes = [np.array([float(f) for f in table.shape.row(y, x)]) for x in ends]
    assert at_nodes[0] == pytest.approx(density(y, ends[0]), rel=1e-6)
    bounds = table._between_inputs(*ends) + np.maximum(*(table._left_over(x) for x in ends))
    j = np.clip(np.searchsorted(y, t, "right") - 1, 0, len(y) - 2)
    b, h = float(sqrt(8 * table.shape.bend)), 0.125
    for x in (*ends, 0.28, 0.3125, 0.36):
        first, second = sinh(b * (ends[1] - x)) / sinh(b * h), sinh(b * (x - ends[0])) / sinh(b * h)
        rest = density(t, x) - first * interpolated(at_nodes[0], t) - second * interpolated(at_nodes[1], t)
        assert (rest >= -1e-9).all()
        assert (rest <= bounds[j] + 1e-9).all()
        assert rest.max() > 0.05 * bounds.max() or x in ends
    places = grid_of(table.shape.noise, Cut(0)).places
    weights = np.array([float(w) for w in table.weights])
    classes = [np.array([float(z) for z in row[:-1]]) / weights for row in table.classes(places)]
    for k, share in ((k, share) for k in range(len(places) - 1) for share in (0.1, 0.5, 0.8)):
        x = (1 - share) * places[k] + share * places[k + 1]
        mixed = (1 - share) * interpolated(classes[k], t) + share * interpolated(classes[k + 1], t)
        assert (mixed <= density(t, x) * (1 + 1e-9)).all()
    with working(128):  # the verifier, which makes all of it anew, says the same
        stage = read_by_the_verifier(
            "Cauchy", table, places, mechanism={"kind": "cauchy", "scale": str(Fraction(scale))}
        )
        told = [float(x) for x in stage.left_over(*map(fmpq, (1, 3), (4, 8)))]
        assert told[1:-1] == pytest.approx(bounds[1:-1], rel=1e-6)  # its ends are those of the circle
        for mine, theirs in zip(classes, stage.classes, strict=True):
            assert [float(x) for x in theirs] == pytest.approx(mine * weights, rel=1e-9)
    least = np.minimum(*(density(y, x) for x in (0.0, 1.0)))
    assert (interpolated(least, t) <= np.minimum(density(t, 0.0), density(t, 1.0)) * (1 + 1e-9)).all()
    assert weights @ at_nodes[0] == pytest.approx(1.0, abs=2e-3)


def test_discrete_gaussian_noise_is_its_own_table():
    noise, n = sa.DiscreteGaussian(B=3, sigma=2), 10**4
    table = grid_of(noise, Cut(-40)).table()
    masses = np.exp(-np.square(np.arange(-60, 61)) / 8)
    masses /= masses.sum()
    for k, place in enumerate(table.shape.places):
        found = [round(3 * y) - k for y in table.nodes]
        assert list(map(float, table.row(place)[0])) == pytest.approx(masses[[z + 60 for z in found]], rel=1e-9)
        assert sum(map(float, table.row(place)[0])) == pytest.approx(1.0, abs=1e-9)
    others = grid_of(sa.DiscreteGaussian(B=9, sigma=5), Cut(-40))
    assert [round(9 * x) for x in others.places] == [0, 1, 3, 6, 8, 9]
    classes = np.array([[float(x) for x in row[:-1]] for row in others.table().classes(others.places)])
    rows = np.array([list(map(float, others.table().row(k / 9)[0])) for k in range(10)])
    assert classes[0] == pytest.approx(rows[0])
    assert (classes[1] <= rows[1] * (1 + 1e-9)).all()
    assert (0.5 * (classes[1] + classes[2]) <= rows[2] * (1 + 1e-9)).all()
    assert (1 / 3 * classes[2] + 2 / 3 * classes[3] <= rows[5] * (1 + 1e-9)).all()
    for above in (True, False):
        left = table.remainder(*table.shape.places[:2], above)
        kappa, s = left.kappa(n, -30.0)
        assert kappa < 1e-9
        assert left.side(n, kappa, s).rest == 0.0


def test_the_message_of_cauchy_noise_at_an_input_has_a_density():
    """With the scale 4 what is 0 there has a ball on both sides of 0."""
    table = grid_of(sa.Cauchy(scale=4), Cut(0)).table()
    assert abs(table.rows([0.0]).sum() - 1.0) < 1e-9
    answer = sa.delta(sa.Cauchy(scale=4), n=10**6, eps="5e-4")
    assert answer.method == "interval"
    assert answer.upper < 1.05 * answer.lower


@pytest.mark.parametrize("B", [2, 5])
def test_the_verifier_makes_noise_on_integers(B):
    """Masses by hand, what the cut takes, and laws of others below those of inputs that have no class."""
    sigma, most = 2, 11
    with working(128):
        noise = verifier_noise.DiscreteGaussian(arb(B), arb(sigma))
        masses = {z: exp(-z * z / (2 * sigma**2)) for z in range(-60, 61)}
        whole = sum(masses.values())
        assert float(noise.at(fmpq(3, B), fmpq(1, B))) == pytest.approx(masses[2] / whole, rel=1e-12)
        assert float(noise.beyond(arb(fmpq(most, B)))) == pytest.approx(sum(masses[z] for z in range(12, 61)) / whole)
        nodes = [fmpq(z, B) for z in range(-most, B + most + 1)]
        noise.check(nodes, "nodes")
        for wrong in ([*nodes[:5], *nodes[6:]], [fmpq(-1, 7), *nodes[1:]]):
            with pytest.raises(Invalid, match="integers of a range"):
                noise.check(wrong, "nodes")
        for x in range(B + 1):
            first, last, middle = (noise.at(fmpq(4, B), fmpq(k, B)) for k in (0, B, x))
            mixed = (1 - arb(x) / B) * first + arb(x) / B * last
            assert noise.kept(first, last, fmpq(1)) * mixed <= middle * (1 + arb(2) ** -100)
        assert noise.kept(first, last, fmpq(1, B)) == 1


@pytest.mark.parametrize("length", [0.05, 1.0, 4.0, 8.0])
def test_places_of_others_cover_the_interval(length):
    for noise in (sa.Laplace(eps0=sp.Rational(str(length))), sa.Logistic(eps0=sp.Rational(str(length)))):
        places = grid_of(noise, Cut(-40)).places
        assert places[0] == 0.0
        assert places[-1] == 1.0
        assert 1 - np.array(places[::-1]) == pytest.approx(np.array(places), abs=0)
        assert len(places) < 16
        assert all(0.0 <= float(row[-1]) < 0.9 for row in grid_of(noise, Cut(-40)).table().classes(places))


def below_laplace(z):
    return np.where(z >= 0.0, 1.0 - 0.5 * np.exp(-np.abs(z)), 0.5 * np.exp(-np.abs(z)))


def below_logistic(z):
    return 1.0 / (1.0 + np.exp(-z))


def below_normal(z):
    return np.array([0.5 * erfc(-x / sqrt(2)) for x in z])


def below_cauchy(z):
    return 0.5 + np.arctan(z) / pi


SEVEN = np.arange(-45, 45) / 7 + 1 / 14


def below_integers(z):
    """Return the distribution function of discrete Gaussian noise with sigma = 7, in units of 7."""
    masses = np.exp(-np.square(np.arange(-80, 81) / 7) / 2)
    return np.cumsum(masses / masses.sum())[np.floor(7 * z + 80 + 1e-9).astype(int)]


def constant_data_set(below, L, pair, other, n, eps, bins=1200, in_window=False):
    """Return D where all others hold one input, or each draws one of some: a contour integral in bins of messages.

    Nothing of the package is used. Inputs that are drawn are no worse than the worst that are held. Messages may be
    truncated to the interval of inputs.
    """
    if below in (below_cauchy, below_integers):
        edges = 0.5 * L + np.tan(np.linspace(-0.499, 0.499, bins + 1) * pi) if below is below_cauchy else SEVEN
    else:
        far = {below_laplace: 0.0, below_logistic: 8.0, below_normal: 6.5}[below]
        edges = np.linspace(-far, L + far, bins + 1)
    if in_window:
        edges = np.linspace(0.0, L, bins + 1)
    a, b, *held = (np.diff(np.concatenate([[0.0], below(edges - x), [1.0]])) for x in (*pair, *np.atleast_1d(other)))
    if in_window:
        a, b, *held = (row[1:-1] / row[1:-1].sum() for row in (a, b, *held))
    o = np.mean(held, axis=0)
    w = (a - exp(eps) * b) / o

    def height(theta):
        with np.errstate(over="ignore"):
            return n * np.log(o @ np.exp(theta * w)) - 2.0 * log(theta)

    thetas = np.geomspace(1e-4, 3.0, 400)
    theta = min(thetas.tolist(), key=height)
    spread = np.sqrt(n * (o @ w**2))
    u = np.linspace(0.0, 12.0 / spread, 800)
    z = theta + 1j * u
    logs = n * np.log1p(np.expm1(z[:, None] * w) @ o)
    values = (np.exp(logs) / z**2).real
    return float(np.trapezoid(values, u)) / np.pi / n


@pytest.mark.parametrize(
    ("family", "below", "eps0", "n", "eps"),
    [
        (sa.Laplace, below_laplace, 1, 1000, 0.11),
        pytest.param(sa.Laplace, below_laplace, 2, 10**4, 0.072, marks=pytest.mark.slow),
        (sa.Laplace, below_laplace, 4, 300, 2.14),  # corners with parameters of their own
        (lambda eps0: sa.Cauchy(scale=1 / sp.Integer(eps0)), below_cauchy, 4, 1000, 0.391),
        (sa.Logistic, below_logistic, 1, 10**4, 0.0195),
        pytest.param(sa.Logistic, below_logistic, 2, 1000, 0.166, marks=pytest.mark.slow),
        (lambda eps0: sa.Gaussian(sigma=1 / sp.Integer(eps0)), below_normal, 1, 10**6, 0.00524),
        pytest.param(
            lambda eps0: sa.Cauchy(scale=1 / sp.Integer(eps0)), below_cauchy, 1, 1000, 0.0817, marks=pytest.mark.slow
        ),
        pytest.param(
            lambda eps0: sa.Cauchy(scale=1 / sp.Integer(eps0)), below_cauchy, 2, 10**6, 0.005, marks=pytest.mark.slow
        ),
        (lambda eps0: sa.DiscreteGaussian(B=7 * eps0, sigma=7), below_integers, 1, 10**6, 0.00368),
    ],
)
def test_the_bound_is_above_pairs_inside_of_the_interval(family, below, eps0, n, eps):
    upper = float(NoiseInterval(family(eps0=eps0)).enclose(Level.of_float(eps), n, Settings()).upper.upper())
    is_rare = below in (below_normal, below_integers)
    held = eps0 if is_rare else 0.0  # where rare messages tell most the others differ from the victim
    worst = constant_data_set(below, eps0, (0.0, eps0), held, n, eps)
    shares = [((0.03, 1.0), 0.0), ((0.0, 0.97), 0.0), ((0.05, 0.93), 0.02), ((0.0, 1.0), 0.4), ((0.5, 1.0), 0.0)]
    shares += [((0.33, 1.0), 0.0), ((0.33, 1.0), 1.0)]
    if below is below_integers:
        shares = [((i / 7, j / 7), k / 7) for i, j, k in ((0, 6, 7), (1, 7, 7), (0, 7, 3), (2, 5, 4), (0, 7, 0))]
    for (a, b), x in shares[: 1 if below is below_normal else None]:
        assert constant_data_set(below, eps0, (a * eps0, b * eps0), x * eps0, n, eps) <= upper
    assert worst <= upper <= (1.08 if eps0 < 4 else 3.0) * worst


@pytest.mark.parametrize(
    ("noise", "below", "L", "worst", "n", "eps"),
    [
        (laplace_in_window(1), below_laplace, 1, 0.5, 10**4, 0.01974),
        pytest.param(laplace_in_window(4), below_laplace, 4, 0.0, 10**6, 0.01316, marks=pytest.mark.slow),
        (normal_in_window("1/2"), below_normal, 2, 0.0, 10**6, 0.00353),
        pytest.param(logistic_in_window(2), below_logistic, 2, 0.0, 10**4, 0.01655, marks=pytest.mark.slow),
    ],
)
def test_the_bound_of_truncated_noise_is_above_data_sets(noise, below, L, worst, n, eps):
    upper = float(NoiseInterval(noise).enclose(Level.of_float(eps), n, Settings()).upper.upper())
    shares = [((0.03, 1.0), worst), ((0.0, 0.97), 0.0), ((0.05, 0.93), 0.02), ((0.0, 1.0), 0.4), ((0.5, 1.0), 0.0)]
    shares += [((0.0, 1.0), (0.0, 1.0)), ((0.0, 1.0), (0.0, 0.5, 1.0)), ((0.0, 0.99), (0.3, 0.6)), ((1.0, 0.0), worst)]
    found = [constant_data_set(below, L, (0.0, L), worst * L, n, eps, in_window=True)]
    for (a, b), x in shares:
        found.append(constant_data_set(below, L, (a * L, b * L), np.multiply(x, L), n, eps, in_window=True))
    assert found[0] <= upper <= 1.05 * found[0]
    assert max(found) <= upper


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
    part = NoiseInterval(sa.Laplace(eps0="4*log(2)"))
    level = Level(lambda: (arb(3) / 2).log(), lambda: "log(3/2)")
    found = part.enclose(level, n, Settings())
    assert not found.upper < arb(most.numerator) / most.denominator
    assert factorial(n) * found.lower == 0


# -------------------------------------------------------------------------------------------------------------- Answers

SLOW = (4, 10**4, 1.0035), (1, 1000, 1.005), (2, 1000, 1.005)


@pytest.mark.parametrize(
    ("eps0", "n", "ratio"),
    [(1, 10**4, 1.0025), (4, 350, 1.014), *(pytest.param(*x, marks=pytest.mark.slow) for x in SLOW)],
)
def test_ends_are_near_to_each_other(eps0, n, ratio):
    answer = sa.epsilon(sa.Laplace(eps0=eps0), n=n, delta="1e-6")
    assert answer.method == "interval"
    assert 1.0 < answer.upper / answer.lower < ratio


@pytest.mark.slow
def test_it_is_less_than_what_holds_for_every_randomizer():
    noise, asked = sa.Laplace(eps0="1/10"), {"n": 10**4, "delta": "1e-6"}
    answer = sa.epsilon(noise, **asked)
    assert answer.method == "interval"
    for method in ("worst_pair", "generic_all_data_sets"):
        assert answer.upper < 0.995 * sa.epsilon(noise, **asked, method=method).upper


@pytest.mark.slow
def test_thorough_effort_tries_it_for_large_ratios():
    noise, asked = sa.Laplace(eps0=8), {"n": 10**9, "delta": "1e-12"}
    usual, thorough = sa.epsilon(noise, **asked), sa.epsilon(noise, **asked, effort="thorough")
    assert "effort='thorough'" in usual.gap_limited_by
    assert thorough.upper < 1.001 * thorough.lower < usual.upper / 1.3


@pytest.mark.slow
def test_clipped_noise_has_the_same_bound():
    clipped, plain = (sa.epsilon(m(eps0=2), n=10**4, delta="1e-8") for m in (sa.ClippedLaplace, sa.Laplace))
    assert clipped.method == "interval"
    assert clipped.upper == plain.upper


def test_bounds_are_parts_that_travel():
    part = NoiseInterval(sa.Laplace(eps0=1))
    level = Level.of_float(0.05)
    before = part.enclose(level, 1000, Settings())
    after = pickle.loads(pickle.dumps(part)).enclose(level, 1000, Settings())
    assert float(before.upper) == float(after.upper)


@pytest.mark.parametrize(
    ("noise", "why"),
    [
        (sa.DiscreteGaussian(B=40, sigma=1), "more than 33 inputs"),
        (sa.DiscreteGaussian(B=2, sigma=900), "too many messages"),
        (sa.DiscreteGaussian(B=4, sigma="1/10"), "too far apart"),
        (sa.RandomizedResponse(k=2, eps0=1), "noise"),
    ],
)
def test_the_named_bound_is_refused_elsewhere(noise, why):
    with pytest.raises(sa.errors.SupportMismatchError, match=why):
        sa.epsilon(noise, n=1000, delta="1e-6", method="interval")


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "most"), [(sa.Laplace(eps0=4), 1.0095), (sa.Logistic(eps0=4), 1.0075)], ids=str)
def test_few_users_with_a_large_budget(noise, most):
    """Twenty messages tell the inputs apart: parameters that suit the ends do not suit all pairs."""
    answer = sa.epsilon(noise, n=1000, delta="1e-6")
    assert answer.upper <= most * answer.lower


def test_normal_tails_with_a_kink_are_not_gaussian_noise():
    """Densities are not spanned by those of the ends then: the second derivative of log f tells nothing of a kink."""
    b = sp.Rational(1, 10)
    mass = sp.sqrt(2 * sp.pi) * sp.exp(b**2 / 2) * (1 - sp.erf(b / sp.sqrt(2)))
    noise = sa.DensityMechanism(sp.exp(-b * FAR - FAR**2 / 2) / mass, X, Y)
    with pytest.raises(sa.errors.SupportMismatchError, match="not Gaussian"):
        sa.epsilon(noise, n=10**6, delta="1e-6", method="interval")


def test_noise_of_ones_own_that_is_laplace_noise_has_the_same_bound():
    own, level = sa.DensityMechanism(sp.exp(-FAR) / 2, X, Y), Level.of_float(0.032)
    found = [float(NoiseInterval(m).enclose(level, 10**4, Settings()).upper) for m in (own, sa.Laplace(eps0=1))]
    assert found[0] == found[1] < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "n", "delta", "ratio"),
    [(1, 10**6, 1e-8, 1.0035), (1, 10**4, 1e-6, 1.01), (1, 10**4, 1e-8, 1.03), (1, 10**3, 1e-6, 1.08)],
)
def test_gaussian_noise_has_near_ends(sigma, n, delta, ratio):
    """The blanket leaves a third; few messages far out tell the inputs apart where users are few."""
    answer = sa.epsilon(sa.Gaussian(sigma=sigma), n=n, delta=delta)
    assert answer.method == "interval"
    assert 1.0 < answer.upper / answer.lower < ratio


@pytest.mark.filterwarnings("error")
def test_gaussian_noise_of_small_scale_has_no_bound_but_an_answer():
    """The cap is sought at ever larger eps, as ratios are huge."""
    part = NoiseInterval(sa.Gaussian(sigma="1/2"))
    assert part.root(10**4, log(1e-6), Settings(), 1.94) > 1.94


@pytest.mark.filterwarnings("ignore:invalid value")
def test_ratios_beyond_all_doubles_have_the_largest_cap():
    grid = grid_of(sa.Gaussian(sigma="1/2"), Cut(-860))
    assert grid.best_cap(10**9, exp(30.0))[0] > 2.0**39


@pytest.mark.parametrize(
    ("noise", "n", "others"),
    [
        (laplace_in_window(1), 10**6, "1/2"),  # in the middle they are worse than at the ends
        *(
            pytest.param(noise, n, others, marks=pytest.mark.slow)
            for n in (10**4, 10**6)
            for noise, others in (
                (laplace_in_window(2), "0"),
                (laplace_in_window(4), "0"),
                (normal_in_window(1), None),
                (normal_in_window("3/8"), None),
                (logistic_in_window(4), None),
                (logistic_in_window(2, "1/4"), None),
            )
        ),
    ],
)
def test_ends_of_truncated_noise_are_near_to_each_other(noise, n, others):
    """The blanket of the pair of the ends leaves 1.1 to 1.42."""
    answer = sa.epsilon(noise, n=n, delta="1e-6")
    assert answer.method == "interval"
    assert 1.0 < answer.upper / answer.lower < 1.0035
    assert others in (None, answer.dataset.others[0][0])


X_TIMES = sp.exp(-FAR) * sp.Piecewise((sp.S.One, Y > X), (sp.exp(Y - X), True))


@pytest.mark.parametrize(
    ("noise", "why"),
    [
        pytest.param(
            sa.DensityMechanism(X_TIMES / sp.integrate(X_TIMES, (Y, 0, 1)), X, Y, messages=(0, 1)),
            "truncated noise",
            marks=pytest.mark.slow,
        ),
        pytest.param(normal_in_window("1/7"), "truncated noise", marks=pytest.mark.slow),
        (logistic_in_window(2, "1/3"), "multiple of 2"),
    ],
    ids=["rates 1 and 2", "the worst pair is not known", "no dyadic window"],
)
def test_truncated_noise_that_is_not_shown_to_be_like_that_is_refused(noise, why):
    with pytest.raises(sa.errors.SupportMismatchError, match=why):
        sa.epsilon(noise, n=1000, delta="1e-6", method="interval")


def test_places_of_others_where_densities_underflow():
    """Thinned to nothing, others of two messages are 0 where both compared inputs are."""
    assert len(grid_of(sa.Gaussian(sigma="1/2"), Cut(-880, 1e12)).places) > 2


def test_noise_that_is_truncated_is_seen():
    """Formulas by hand; a mass that is right at the ends and in the middle alone, and other densities, are not it."""
    whole = (sp.S.Zero, sp.S.One), (sp.S.Zero, sp.S.One)
    mass = 2 - sp.exp(-X) - sp.exp(X - 1)
    wave, bump = sp.exp(-FAR) / mass, 1 + X * (1 - X) * (1 - 2 * X) ** 2 / 9
    found = truncated(wave, (X, Y), *whole)
    assert sp.simplify(found.half - sp.exp(-Z) / (1 - sp.exp(-1))) == 0
    assert sp.simplify(found.whole.subs(found.whole.free_symbols.pop(), X) * (1 - sp.exp(-1)) - mass) == 0
    tilted = (X - sp.Rational(1, 2)) * (Y - sp.Rational(1, 2))
    asymmetric = sp.exp(-FAR) * sp.Piecewise((sp.S.One, Y > X), (sp.exp(Y - X), True))
    for other in (wave * bump, wave * (1 + tilted / 9), asymmetric, wave * sp.exp(Y - X)):
        assert truncated(other, (X, Y), *whole) is None
    assert truncated(wave, (X, Y), (sp.S.Zero, sp.S.One), (sp.S.Zero, sp.Integer(2))) is None
    assert truncated(wave, (X, Y), (sp.S.Zero, sp.S.One), (sp.Rational(1, 4), sp.Rational(3, 4))) is None


@pytest.mark.parametrize("name", ["logistic", pytest.param("own", marks=pytest.mark.slow)])
def test_ends_are_near_to_each_other_for_other_noise(name):
    answer = sa.epsilon(NOISES[name][0], n=10**4, delta="1e-6")
    assert answer.method == "interval"
    assert 1.0 < answer.upper / answer.lower < 1.005


@pytest.mark.slow
def test_where_the_bound_is_useless_another_one_is_taken():
    """eps0 = 8: an estimate of the bound above 1, too large for doubles, is no reason to fail."""
    assert sa.epsilon(sa.Laplace(eps0=8), n=1000, delta="1e-6", method="interval").upper <= 8.0
    answer = sa.epsilon(sa.Laplace(eps0=8), n=10**4, delta=1e-6)
    assert 2.67 < answer.lower < answer.upper < 3.25


# ---------------------------------------------------------------------------------------------------------- Many rounds


def composed(curve, count, step, cells, eps):
    """Return D of many rounds, each with two curves of D, one for each order: losses in cells are convolved."""
    right, left = ([curve(order, i * step) for i in range(cells + 1)] for order in (0, 1))
    levels = np.exp(step * np.arange(-cells, cells + 1))
    values = np.array([1.0 - exp(-i * step) + left[i] * exp(-i * step) for i in range(cells, 0, -1)] + right)
    slopes = np.concatenate([[-1.0], np.diff(values) / np.diff(levels), [0.0]])
    law = once = np.diff(slopes) * levels
    for _ in range(count - 1):
        law = np.convolve(law, once)
    losses = step * np.arange(-count * cells, count * cells + 1)
    return float(law @ np.maximum(1.0 - np.exp(eps - losses), 0.0))


def test_points_of_many_rounds_are_those_of_the_bound():
    found = sa.profile(sa.Laplace(eps0=1), n=1000).round
    levels = [1 + fmpq(k, 100) for k in (3, 8)]
    assert [e.part.method for level in levels for e in found.evidence(level)] == ["interval"] * 2
    for level, point in zip(levels, found.above(levels, limits=Limits()), strict=True):
        eps = log(float(level.p) / float(level.q))
        worst = max(constant_data_set(below_laplace, 1, (0.0, b), 0.0, 1000, eps, bins=200) for b in (0.95, 1.0))
        assert worst < float(point.high.p) / float(point.high.q) < 1.12 * worst


@pytest.mark.slow
def test_many_rounds_are_above_those_of_data_sets():
    """Three rounds: the blanket leaves more than twice as much."""
    n, eps = 1000, 0.152

    def curve(order, eps):
        return constant_data_set(below_laplace, 1, ((0.0, 1.0), (1.0, 0.0))[order], 0.0, n, eps, bins=200)

    deviation = curve(0, 0.0) * sqrt(2.0 * pi)
    worst = composed(curve, 3, 0.1 * deviation, 70, eps)
    answer = sa.profile(sa.Laplace(eps0=1), n=n).rounds(3).delta(eps)
    assert answer.lower < worst
    assert worst * 0.995 < answer.upper < 1.25 * worst


# ------------------------------------------------------------------------------------------------------- Certificates

CERTIFIED = {
    "Laplace": (sa.Laplace(eps0="1/2"), 10**4, "0.0203"),
    "logistic": (sa.Logistic(eps0=1), 10**4, "0.0196"),
    "Gaussian": (sa.Gaussian(sigma=2), 10**4, "0.0172"),
    "Cauchy": (sa.Cauchy(scale=2), 10**4, "0.0104"),
    "discrete Laplace": (sa.DiscreteLaplace(B=41, eps0="1/2"), 10**4, "0.0203"),
    "discrete Gaussian": (sa.DiscreteGaussian(B=3, sigma=3), 10**6, "0.006"),
}
FAST = "Laplace", "discrete Gaussian"
EACH = [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in CERTIFIED if name not in FAST)]


@cache
def certified(name):
    noise, n, eps = CERTIFIED[name]
    answer = sa.delta(noise, n=n, eps=eps)
    return answer, answer.certificate()


def changed(name, **given):
    """Return the verdict on the certificate where its claim, its mechanism or its evidence is another one."""
    found = copy.deepcopy(certified(name)[1])
    (evidence,) = found["above"]["evidence"]
    for part in (found["claim"], found["settings"][0]["groups"][0]["mechanism"], evidence, evidence["stages"][0]):
        part |= {key: value for key, value in given.items() if key in part}
    return sa.verifier.verify(json.dumps(found))


@pytest.mark.parametrize("name", EACH)
def test_certificates_are_verified_alone(name):
    answer, found = certified(name)
    assert changed(name).status == "valid"
    assert 0 < Fraction(found["claim"]["upper"]) <= Fraction(answer.upper)
    assert (found["claim"]["lower"] == "0") == (name != "discrete Laplace")
    assert Fraction(found["claim"]["lower"]) <= Fraction(answer.lower)
    assert len(json.dumps(found)) < 25_000
    check_document(found, "certificate")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "below", "L"),
    [
        ("Laplace", below_laplace, 0.5),
        ("logistic", below_logistic, 1),
        ("Gaussian", below_normal, 0.5),
        ("Cauchy", below_cauchy, 0.5),
    ],
)
def test_verified_claims_are_above_data_sets_inside_of_the_interval(name, below, L):
    """In cells of messages that are finer than those of the certificate, which make no divergence larger."""
    _, n, eps = CERTIFIED[name]
    claim = float(Fraction(certified(name)[1]["claim"]["upper"]))
    asked = [((0.0, 1.0), 0.0), ((0.0, 1.0), 1.0), ((0.0, 1.0), 0.37), ((0.03, 0.98), 0.01), ((0.4, 1.0), 0.9)]
    asked += [((0.0, 1.0), np.array([0.0, 0.0, 1.0])), ((0.02, 0.97), np.array([0.0, 0.15, 0.5, 1.0]))]
    found = [constant_data_set(below, L, (a * L, b * L), x * L, n, float(eps), bins=4800) for (a, b), x in asked]
    assert max(found) <= claim <= 1.04 * max(found)


def test_densities_that_the_verifier_knows():
    own = sa.DensityMechanism(sp.exp(-FAR) / (1 + sp.exp(-FAR)) ** 2, X, Y)
    known = [own, sa.Gaussian(sigma=sp.sqrt(2)), sa.ClippedLaplace(eps0=sp.log(3)), NOISES["own"][0], Kinked()]
    assert [found and found.data for found in map(of_noise, known)] == [
        {"kind": "logistic", "eps0": "1"},
        {"kind": "gaussian", "sigma": "sqrt(2)"},
        {"kind": "laplace", "eps0": "log(3)"},
        None,
        None,
    ]


@pytest.mark.parametrize("name", NAMED)
def test_the_verifier_bounds_remainders(name):
    """M(s) by quadrature, at inputs inside of a cell of either side."""
    n, starts = 10**4, (0.0, 0.0625, 0.9375)
    table = NoiseTable(shape_of(NOISES[name][0]), grid_of(NOISES[name][0], Cut(-40)).table(starts).nodes)
    most = 0.01 if name == "Gaussian" else 2.0  # the largest ratios of Gaussian noise are very rare
    cells = list(zip(starts, (3e-4, 2.0**200, 4e-4), (0.5 * most, 1.0, most), strict=True))
    with working(192):
        stage = read_by_the_verifier(name, table, (0.0, 0.5, 1.0), n, cells)
        for k, i in product((0, 1), (0, 2)):
            (start, kappa, s), end = cells[i], (0.0625, 0.9375, 1.0)[i]
            rest, left = stage.cell(k, i)[1], table.remainder(start, end, k == 0)
            assert 0 < rest < INFINITY
            for share in (0.2, 0.5):
                if k == 0 or left.either or kappa < left.eta * share:  # else sigma is nowhere positive
                    found = true_moment(name, table, (start, end), share, s, kappa, k == 0)
                    assert n * log1p(found) - 1.0 - log(n * s) <= float(rest.log()) + 1e-9
        assert all(stage.cell(k, 1)[1] == 0 for k in (0, 1))


@pytest.mark.parametrize(
    "noise",
    [*(sa.Gaussian(sigma=x) for x in ("1/3", 1, 5)), *(sa.Logistic(eps0=x) for x in ("1/50", 2, 11))],
    ids=str,
)
def test_densities_of_noise_are_next_to_exact_ones(noise):
    shape, nodes = shape_of(noise), grid_of(noise, Cut(-60)).usual.nodes
    for x in (0.0, 3 / 1024, 0.5, 1.0):
        for y, found in zip(nodes, shape.densities(nodes, x).tolist(), strict=True):
            assert abs(arb(found) / shape.at(y - x) - 1) <= arb(2) ** -44


@pytest.mark.parametrize("name", NOISES)
def test_densities_of_a_shape_are_those_of_its_noise(name):
    """In units of that of the message 1/2 on the input 1/4: not all of the other side are normed."""
    (noise, density), nodes = NOISES[name], (0.0, 0.125, 0.5, 0.75, 1.0)
    one = shape_of(noise).densities((0.5,), 0.25)[0] / density(0.5, 0.25)
    for x in (0.0, 0.25, 0.5, 0.875):
        there = [density(y, x) for y in nodes]
        assert np.allclose(shape_of(noise).densities(nodes, x), np.multiply(there, one), rtol=1e-11, atol=0.0)
        assert np.allclose([float(f) for f in shape_of(noise).row(nodes, x)], np.multiply(there, one), rtol=1e-11)


@pytest.mark.slow
def test_normal_noise_with_ten_thousand_users():
    """Lines near poor ones are poor, too: all rates are offered again."""
    answer = sa.epsilon(sa.Gaussian(sigma=1), n=10**4, delta="1e-6")
    assert answer.upper <= 1.007 * answer.lower


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "n", "delta"),
    [
        (sa.Gaussian(sigma=1), 10**9, "1e-12"),  # rare ratios and long cells
        (sa.Gaussian(sigma=1), 10**4, "1e-6"),  # corners far from the worst, with the tilts of the worst
        (sa.Gaussian(sigma=1), 3000, "1e-6"),
        (sa.Laplace(eps0=4), 1000, "1e-6"),  # few positive messages of pairs that are far from the worst
        (sa.Logistic(eps0=4), 10**6, "1e-6"),
        (sa.DiscreteGaussian(B=16, sigma=16), 10**6, "1e-6"),
    ],
)
def test_certificates_of_many_corners(noise, n, delta):
    answer = sa.epsilon(noise, n=n, delta=delta)
    assert answer.method == "interval"
    assert Fraction(answer.certificate()["claim"]["upper"]) <= Fraction(answer.upper)


def test_tilts_may_be_in_any_unit():
    """All values times 3, with tilts and frequencies divided by it: three times the bound."""
    noise, n, found = sa.Laplace(eps0=1), 10**4, []
    ends = NoiseInterval(noise).ends(Cut(0)).enclose(Level.of_float(0.0315), n, Settings(gap=1e-2)).evidence
    plan = evidence._all_data_sets_plan(ends, 1)

    def times(text, x):
        return str(Fraction(text) * x)

    with working(160):
        table, places = grid_of(noise, Cut(0)).table(), grid_of(noise, Cut(0)).places
        g = [a - exp(0.0315) * b for a, b in zip(*map(table.probabilities, (0.0, 1.0)), strict=True)]
        for k in (1, 3):
            laws = [([(k * x / m, m) for x, m in zip(g, row, strict=False)], row[-1]) for row in table.classes(places)]
            scaled = {
                key: times(plan[key], Fraction(k) ** power) for key, power in {"a": -1, "b": -1, "p_lo": 1}.items()
            }
            terms = []
            for term in plan["terms"]:
                powers, cells = {"a": -2, "lam": -1, "tail": 2, "s": -1, "sigma": 1}, len(term["ends"]) - 1
                scales = [times(x, k * k if i < cells else k) for i, x in enumerate(term["scales"])]
                own = {key: times(term[key], Fraction(k) ** power) for key, power in powers.items()}
                terms.append(term | own | {"scales": scales, "ends": [times(x, Fraction(1, k)) for x in term["ends"]]})
            gain = k * sum((x for x in g if x > 0), arb(0))
            for is_other in (False, True):
                given = Check(), laws, [gain], n, scaled | {"terms": terms}, "plan", is_other
                found.append(float(all_data_sets.bound(*given)) / k)
        assert found[2:] == pytest.approx(found[:2], rel=1e-9)
        assert found[1] <= 1.02 * found[0]
        # one class with exponents beyond doubles: there is no bound, and no error
        atoms, rest = laws[1]
        huge = [(z * 10**5, mass) for z, mass in atoms], rest
        bound = all_data_sets.bound(Check(), [laws[0], huge], [gain], n, plan, "plan", True)
        assert not bound < INFINITY


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_false_claims_are_refused(name):
    _, found = certified(name)
    (evidence,) = found["above"]["evidence"]
    mechanism, first = found["settings"][0]["groups"][0]["mechanism"], evidence["stages"][0]["first"]
    key = next(key for key in ("sigma", "scale", "eps0") if key in mechanism)
    larger = str(Fraction(mechanism[key]) * (Fraction(6, 5) if key == "eps0" else Fraction(5, 6)))
    nodes, is_continuous = evidence["stages"][0]["nodes"], name != "discrete Gaussian"
    is_clipped = name == "discrete Laplace"
    changes = [
        {"upper": str(Fraction(found["claim"]["upper"]) * Fraction(97, 100))},
        {key: larger},
        {"plan": None},
        {"others": evidence["others"][1:]},
        {"others": ["0", "1"]},
        {"cap": "0"},
        {"first": first[1:]},
        *([{"first": [[start, "0", s] for start, _, s in first]}] if is_continuous else [{"B": "4"}]),
        *([{"B": "40"}, {"B": "42"}, {"B": "1/2"}, {"nodes": [*nodes[:1], "1/82", *nodes[1:]]}] if is_clipped else []),
        {"nodes": nodes[::2]},
        {"nodes": nodes[1:]},
        *([{"nodes": [x for x in nodes if x != "1/2"]}] if "1/2" in nodes else []),
        {"stages": []},
    ]
    for change in changes:
        assert changed(name, **change).status != "valid", change
    far = [str(Fraction(nodes[0]) - 60), *nodes[1:-1], str(Fraction(nodes[-1]) + 60)]
    verdict = changed(name, nodes=far)  # bounds on what is between them would be negative
    if name == "Cauchy":  # the ends of the circle have any name
        assert verdict.status == "valid"
        assert changed(name, nodes=[nodes[0], str(Fraction(nodes[0]) / 2 - 40), *nodes[1:]]).status != "valid"
    else:
        is_known = name in ("logistic", "Gaussian")
        assert (verdict.status, "too far apart" in verdict.reason) == ("invalid", is_known)
    others = {"laplace", "logistic"} - {mechanism["kind"]} if key == "eps0" else set()
    assert all(changed(name, kind=kind).status != "valid" for kind in others)


# --------------------------------------------------------------------------------------------------------- Tiny deltas


@pytest.mark.parametrize(
    ("delta", "noise"),
    [("1e-1000", sa.Laplace(eps0=1)), pytest.param("1e-300", sa.Logistic(eps0=1), marks=pytest.mark.slow)],
)
def test_deltas_that_are_no_doubles(delta, noise):
    answer = sa.epsilon(noise, n=10**6, delta=delta)
    assert answer.upper < (1.001 if answer.method == "interval" else 1.25) * answer.lower
    assert (answer.method == "interval") == isinstance(noise, sa.Laplace)  # what is cut off is a double


@pytest.mark.slow
def test_boxes_are_met_at_large_budgets():
    part, level = NoiseInterval(sa.Laplace(eps0=5)), Level.of_float(0.0727)
    upper = float(part.enclose(level, 10**5, Settings()).upper.upper())
    assert log(upper) < part.log_estimate(level, 10**5, Settings()) + 0.03


def test_ratios_that_are_all_near_to_one_are_one_part_of_a_remainder_for_the_verifier():
    found = sa.epsilon(sa.Gaussian(sigma=5), n=10**4, delta="1e-6").certificate()
    assert sa.verifier.verify(json.dumps(found)).status == "valid"
