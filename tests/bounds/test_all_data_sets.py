"""The bound over all data sets against exact maxima, its steps against sampling, its evaluation against quadrature."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import e, erfc, exp, pi, sqrt

import flint
import numpy as np
import pytest
import sympy as sp
from flint import arb
from oracle.histograms import _hockey_stick, multiset_laws

import symamp as sa
from symamp.bounds.reduction import law_of
from symamp.decompositions.blanket import triple
from symamp.errors import ArgumentError
from symamp.laws.law import Atom, BallGparv, Law, Level
from symamp.randomizers.catalogue import by_name
from symamp.sums.all_data_sets.bound import enclose_all_data_sets, estimate_log_all_data_sets
from symamp.sums.all_data_sets.floats import AllDataSetsEvidence, Parameters, Term, best_inverse_scale
from symamp.sums.all_data_sets.laws import missing_factor, raised_to_majorant
from symamp.sums.all_data_sets.normal import moments_of_laws, moments_of_rows, normal_bound
from symamp.sums.all_data_sets.search import Searches
from symamp.sums.divergence import enclose_divergence
from symamp.verifier import verify
from tests.exactly import as_number as number
from tests.exactly import level_of
from tests.recomputed import recomputed_bound
from tests.sampled import some

# ------------------------------------------------------------------------------------------- oracles, without symamp


def binary_maximum(t, E, n):
    """The largest D_E over all compositions of the other n - 1 users of binary randomised response, in floats."""
    high, low = t / (1 + t), 1 / (1 + t)
    binomials = [[np.ones(1)], [np.ones(1)]]
    for row, p in zip(binomials, (low, high), strict=True):  # x0 reports 0 with probability high, counts are of 1
        for _ in range(n - 1):
            row.append(np.convolve(row[-1], [1 - p, p]))
    g = np.array([high - E * low, low - E * high])
    sizes = []
    for a in range(n):
        others = np.convolve(binomials[0][a], binomials[1][n - 1 - a])
        sizes.append(np.maximum(np.convolve(others, g), 0.0).sum())
    return max(sizes)


def rows_maximum(table, n, E):
    """For every ordered pair of rows, the largest exact D_E over the inputs of the others."""
    laws = multiset_laws(table, n)
    total = int(np.lcm.reduce([p.denominator for row in table for p in row])) ** n
    result = {}
    for x0, x1 in itertools.permutations(range(len(table)), 2):
        result[x0, x1] = max(
            _hockey_stick(laws[tuple(sorted((x0, *rest)))], laws[tuple(sorted((x1, *rest)))], E, total)
            for rest in itertools.combinations_with_replacement(range(len(table)), n - 1)
        )
    return result


def float_laws(table, pair, E):
    """(values, masses) of G^x for every row x."""
    rows = np.array([[float(p) for p in row] for row in table])
    g = rows[pair[0]] - E * rows[pair[1]]
    return [(g / row, row) for row in rows]


def simple_bound(laws, n, thetas, p_lo, a, U, terms):
    """The simple version of the bound: no smoothing, one tilt, alpha and log|M| maximised apart; and its parts."""
    plus = [np.maximum(z, 0.0) for z, _ in laws]
    gain = float(laws[0][1] @ plus[0])
    N, largest = (n - 1) * min(thetas), max(thetas)
    top = max(t * z.max() for t, z in zip(thetas, plus, strict=True))
    decay = max(np.log(m @ np.exp(-a * t * z)) / t for t, z, (_, m) in zip(thetas, plus, laws, strict=True))
    parts = [gain * exp(a * (p_lo + top) + N * decay)]
    nodes, weights = np.polynomial.legendre.leggauss(20)
    u = (U / 100 * (np.arange(100)[:, None] + 0.5 * (nodes + 1.0))).ravel()
    weights = np.tile(weights, 100) / 100
    for weight, lam, s in terms:
        zeta = s + 1j * u
        sizes, heights = [], []
        for t, (value, m) in zip(thetas, laws, strict=True):
            z = t * value
            p, q = np.maximum(z, 0.0), np.maximum(-z, 0.0)
            waves = np.exp(np.multiply.outer(zeta, z))
            M = (waves * np.exp(-lam * p)) @ m
            grown = np.exp(np.multiply.outer(zeta, p))
            A = t * gain * (grown @ (m * p)) + ((grown - 1.0) @ (m * p)) * (waves @ (m * q))
            sizes.append(abs(A) / t**2)
            heights.append(np.log(abs(M)) / t)
        integrand = np.max(sizes, axis=0) * np.exp((N - largest) * np.max(heights, axis=0)) / abs(zeta) ** 2
        parts.append(weight * (N + largest) / (2 * pi) * U * float(weights @ integrand))
    return parts


def full_bound(laws, n, evidence):
    """The bound itself (theta = 1) by the trapezoidal rule, from the formulas as they are written, with every c."""
    parameters = evidence.parameters
    p_lo, a, b = parameters.p_lo, parameters.tilt_a, parameters.tilt_b
    N = n - 1
    gain = float(laws[0][1] @ np.maximum(laws[0][0], 0.0))
    victim = max(m @ (np.maximum(z, 0) * np.exp(b * z)) for z, m in laws) * exp(a * p_lo)
    totals = [victim * (m @ np.exp(b * z - a * np.maximum(z, 0))) ** N for z, m in laws]
    for term, cells in zip(parameters.terms, evidence.cells, strict=True):
        u = np.linspace(0.0, cells.ends[-1], 60_000)
        ends = np.array(cells.ends)
        k = np.minimum(np.searchsorted(ends, u, side="right") - 1, len(ends) - 2)
        middle = 0.5 * (ends[k] + ends[k + 1])
        c = np.array(cells.scales)[k] * np.exp(np.array(cells.slopes)[k] * (u - middle))
        zeta = term.s + 1j * u
        square = (term.sigma * zeta) ** 2
        for i, (z, m) in enumerate(laws):
            p, q = np.maximum(z, 0.0), np.maximum(-z, 0.0)
            beta = 1.0 / (1.0 + np.sqrt(1.0 + p / p_lo))
            M = sum(w * np.exp(zeta * v - term.lam * max(v, 0.0)) for v, w in zip(z, m, strict=True))
            A = gain * sum(w * v * np.exp((zeta - term.lam) * v) for v, w in zip(p, m, strict=True))
            mixed = sum(
                w * v * (np.exp(zeta * v) - 1.0 + square) * np.exp(-term.lam * k * v)
                for v, w, k in zip(p, m, beta, strict=True)
            )
            A = A + mixed * sum(w * v * np.exp(-zeta * v) for v, w in zip(q, m, strict=True))
            larger = np.maximum(abs(M), abs(A) / c)  # any larger number may stand for |M|: this one is the best
            size = np.exp(N * (np.log(larger) + abs(A) / (larger * c)) - 1.0) * c
            size *= np.exp(0.5 * term.sigma**2 * (term.s**2 - u * u)) / abs(zeta) ** 2
            totals[i] += term.a / pi * (size.sum() - 0.5 * size[0]) * (u[1] - u[0])
    return max(totals)


# ------------------------------------------------------------------------------------------------------------- laws


def laws_of(table, pair):
    """The laws as the package takes them, of a table of fractions."""
    columns = list(zip(*table, strict=True))
    return [
        Law(tuple(Atom(number(c[pair[0]] / c[x]), number(c[pair[1]] / c[x]), number(c[x])) for c in columns), (), True)
        for x in range(len(table))
    ]


def laws_of_mechanism(mechanism):
    pair = mechanism.inputs[:2]
    inputs = dict.fromkeys((*pair, *mechanism.further_inputs(pair)))
    return [law_of(triple(mechanism, pair, ((x, sp.Integer(1)),)), True) for x in inputs]


def binary(t):
    t = Fraction(t)
    return [[t / (1 + t), 1 / (1 + t)], [1 / (1 + t), t / (1 + t)]]


ROWS = [[Fraction(k, 7) for k in row] for row in ((4, 2, 1), (2, 3, 2), (1, 2, 4))]
BINARY_E = [[e / (1 + e), 1 / (1 + e)], [1 / (1 + e), e / (1 + e)]]


def upper_of(enclosure):
    with flint.ctx.workprec(128):
        return float(enclosure.upper.upper())


# ------------------------------------------------------------------------------------------------ the simple version


@pytest.mark.parametrize(
    ("laws", "n", "thetas", "p_lo", "a", "U", "terms", "parts"),
    [
        (
            float_laws(BINARY_E, (0, 1), exp(0.0359)), 10_000, (1, 1.0451), 4070, 0.08, 0.18,
            [(1.556e-9, 0, 0.0362), (8.05e-8, 2.2e-4, 0.0362), (7.079e-9, 4.4e-4, 0.0362), (8.937e-7, 8.8e-4, 0.0364)],
            [7.87814688863673e-9, 3.31657052827342e-8, 6.19990646204179e-7, 1.9700894473452e-8, 3.24691625928241e-7],
        ),
        (
            float_laws(binary(5), (0, 1), 1.2), 1_000, (1, 1.25), 370, 0.125, 0.4,
            [(4.684e-7, 0, 0.054), (9.88e-6, 0.003, 0.0545), (2.445e-5, 0.006, 0.055), (359300, 0.05, 0.06)],
            [1.68625539569955e-7, 7.03961047557011e-6, 2.03939892057585e-5, 6.93286411480438e-6, 2.32896489758524e-8],
        ),
        (
            float_laws(ROWS, (0, 2), 1.05), 4_000, (1, 1.25, 1.04), 1320, 0.09, 0.25,
            [(9.936e-8, 0, 0.036), (1.182e-6, 0.0012, 0.0362), (5.542e-6, 0.0024, 0.0364)],
            [5.7972980195466e-8, 1.98170251698007e-5, 2.95267739936646e-5, 1.7347555902608e-5],
        ),
    ],
)  # fmt: skip
def test_reference_values_of_the_simple_version(laws, n, thetas, p_lo, a, U, terms, parts):
    assert simple_bound(laws, n, thetas, p_lo, a, U, terms) == pytest.approx(parts, rel=1e-7)


@pytest.mark.parametrize(
    ("table", "E", "n", "simple"),
    [(binary(5), Fraction(6, 5), 1_000, 3.45583789846788e-5), (ROWS, Fraction(21, 20), 4_000, 6.67493280462687e-5)],
)
def test_the_full_version_is_below_the_simple_one(table, E, n, simple):
    pair = (0, len(table) - 1)
    assert upper_of(enclose_all_data_sets(Searches(laws_of(table, pair)), level_of(E), n)) < simple


# ------------------------------------------------------------------------------------------------------ exact maxima


@pytest.mark.parametrize(
    ("eps0", "n", "eps", "maximum", "ratio"),
    [
        (1, 300, 0.15, 2.000145e-4, 1.0185),
        (1, 300, 0.25, 1.063153e-6, 1.0177),
        (1, 1000, 0.13, 6.739767e-7, 1.0091),
        (2, 300, 0.5, 4.879712e-5, 1.0276),
        (2, 1000, 0.3, 2.931016e-6, 1.0082),
        (sp.Rational(1, 2), 300, 0.1, 3.643553e-6, 1.0246),
    ],
)
def test_binary_response_against_all_compositions(eps0, n, eps, maximum, ratio):
    assert binary_maximum(exp(eps0), exp(eps), n) == pytest.approx(maximum, rel=1e-6)
    found = upper_of(
        enclose_all_data_sets(
            Searches(laws_of_mechanism(sa.RandomizedResponse(k=2, eps0=eps0))), Level.of_float(eps), n
        )
    )
    assert maximum < found < maximum * ratio * 1.002


TABLES = [
    ROWS,
    [[Fraction(k, 10) for k in row] for row in ((6, 3, 1), (1, 6, 3), (3, 1, 6))],
    [[Fraction(k, 9) for k in row] for row in ((5, 2, 2), (3, 3, 3), (2, 2, 5))],
    [[Fraction(k, 20) for k in row] for row in ((10, 9, 1), (6, 6, 8), (1, 13, 6))],
]


@pytest.mark.parametrize(
    ("table", "n", "E", "ratios"),
    [
        (TABLES[0], 20, Fraction(11, 10), (1.3, 1.6)),
        pytest.param(TABLES[1], 18, Fraction(11, 10), (1.9, 1.3), marks=pytest.mark.slow),
        pytest.param(TABLES[2], 12, Fraction(13, 10), (1.5, 1.2), marks=pytest.mark.slow),
        pytest.param(TABLES[0], 12, Fraction(13, 10), (1.7, 2.1), marks=pytest.mark.slow),
        pytest.param(TABLES[3], 12, Fraction(11, 10), (1.5, 2.2), marks=pytest.mark.slow),
    ],
)
def test_three_messages_against_all_data_sets(table, n, E, ratios):
    maxima = rows_maximum(table, n, E)
    for pair, ratio in zip(((0, 1), (0, 2)), ratios, strict=True):
        upper = upper_of(enclose_all_data_sets(Searches(laws_of(table, pair)), level_of(E), n))
        assert maxima[pair] < upper < 1.1 * ratio * maxima[pair]


@pytest.mark.slow
def test_other_parameters_also_bound_every_data_set():
    """Whatever was searched: poor parameters give poor bounds, never wrong ones."""
    E, n = Fraction(11, 10), 12
    maxima = rows_maximum(TABLES[2], n, E)
    rng = np.random.default_rng(7)
    for pair in ((0, 1), (0, 2)):
        maximum, laws = maxima[pair], laws_of(TABLES[2], pair)
        enclosure = enclose_all_data_sets(Searches(laws), level_of(E), n)
        for _ in range(2):
            factors = rng.uniform(0.7, 1.4, 6)
            old = enclosure.evidence.parameters
            terms = tuple(
                replace(t, s=t.s * factors[0], sigma=t.sigma * factors[1], lam=t.lam * factors[2]) for t in old.terms
            )
            parameters = Parameters(old.p_lo * factors[3], old.tilt_a * factors[4], old.tilt_b * factors[5], terms)
            with flint.ctx.workprec(128):
                parameters = raised_to_majorant(parameters)
                moved = AllDataSetsEvidence(parameters, enclosure.evidence.cells)
                other = float(recomputed_bound(laws, level_of(E), n, moved).upper())
            assert not other <= maximum  # inf where the cells no longer fit


# -------------------------------------------------------------------------------------------------- the certificate


@pytest.mark.parametrize(
    ("table", "pair", "E", "n"),
    [
        (binary(3), (0, 1), Fraction(11, 10), 500),
        (ROWS, (0, 2), Fraction(21, 20), 4_000),
        (ROWS, (1, 0), Fraction(1), 60),
    ],
)
def test_evaluation_in_balls_against_quadrature(table, pair, E, n):
    laws = laws_of(table, pair)
    enclosure = enclose_all_data_sets(Searches(laws), level_of(E), n)
    plain = full_bound(float_laws(table, pair, float(E)), n, enclosure.evidence)
    assert plain * (1 - 1e-6) < upper_of(enclosure) < plain * 1.002
    with flint.ctx.workprec(160):
        again = recomputed_bound(laws, level_of(E), n, enclosure.evidence)
        assert again.upper() < enclosure.upper.upper() * (1 + arb(1e-12))
        assert again.upper() > enclosure.upper.upper() * (1 - arb(2e-3))
    assert upper_of(enclosure) == pytest.approx(
        exp(estimate_log_all_data_sets(Searches(laws), level_of(E), n)), rel=2e-3
    )


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9, 10**12])
def test_close_to_the_best_constant_data_set_at_any_number_of_users(n):
    laws = laws_of_mechanism(sa.RandomizedResponse(k=2, eps0=1))
    level = Level.of_float(4.0 / n**0.5)
    upper = upper_of(enclose_all_data_sets(Searches(laws), level, n))
    lower = max(float(enclose_divergence(law, level, n).lower.lower()) for law in laws)
    assert lower < upper < 1.012 * lower


def moments(laws, level, n):
    with flint.ctx.workprec(128):
        found, gains, _ = Searches(laws).prepared(level, n, 128)
        return moments_of_laws(found, gains)


@pytest.mark.parametrize(("t", "E", "n"), [(2, 1.0, 400), (2, 1.03, 400), (5, 1.05, 300)])
def test_the_normal_law_is_above_all_compositions(t, E, n):
    with flint.ctx.workprec(128):
        found = float(normal_bound(moments(laws_of(binary(t), (0, 1)), level_of(Fraction(E)), n), n))
    assert found >= binary_maximum(t, E, n)


@pytest.mark.parametrize(
    "table", [ROWS, [[Fraction(k, 20) for k in row] for row in ((10, 9, 1), (6, 6, 8), (1, 13, 6))]]
)
def test_the_normal_law_is_near_to_a_data_set_of_very_many_users(table):
    """At n = 10^9 the error is some ten-thousandths of it; whatever the level, data sets are not above."""
    laws, n = laws_of(table, (0, 2)), 10**9
    for eps, most in ((0.0, 1.0003), (2e-5, 1.0006), (1e-4, 1.06)):
        level = Level.of_float(eps)
        with flint.ctx.workprec(128):
            found = float(normal_bound(moments(laws, level, n), n))
        lower = max(float(enclose_divergence(law, level, n).lower.lower()) for law in laws)
        assert lower < found < most * lower
        if eps == 2e-5:  # sharp enough: nothing is searched
            searches = Searches(laws)
            assert lower < float(enclose_all_data_sets(searches, level, n).upper) < most * lower
            assert searches.is_settled(level, n)
            assert not searches.knows(level, n)


def test_the_distance_to_the_normal_law_of_sums_of_unlike_variables():
    """By zero bias the L1 distance is at most the sum of E|X|^3 + 2 Var(X) E|X|, divided by the variance."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        law, cubes = {0.0: 1.0}, 0.0
        for _ in range(rng.integers(1, 4)):
            x, p = rng.normal(size=3) ** 3, rng.dirichlet(np.full(3, 0.5))
            x = x - p @ x
            cubes += p @ abs(x) ** 3 + 2.0 * (p @ x**2) * (p @ abs(x))
            pairs = [(a + b, m * q) for a, m in law.items() for b, q in zip(x, p, strict=True)]
            law = {v: sum(m for w, m in pairs if w == v) for v, _ in pairs}
        v, m = np.array(sorted(law)), np.array([law[k] for k in sorted(law)])
        s = np.sqrt(m @ v**2)
        at = np.linspace(min(v[0], -7 * s), max(v[-1], 7 * s), 20_001)
        below = np.concatenate([[0.0], np.cumsum(m)])[np.searchsorted(v, at, "right")]
        distance = np.trapezoid(np.abs(below - [0.5 * erfc(-x / s / sqrt(2)) for x in at]), at)
        assert distance <= cubes / s**2 * (1 + 1e-3)


def sum_of(laws):
    """The values and the probabilities of a sum of independent variables on -k..k."""
    law = reduce(np.convolve, laws, np.ones(1))
    return np.arange(law.size) - law.size // 2, law


@pytest.mark.parametrize("N", [3, 5, 12])
def test_what_adds_to_the_positive_part_of_the_sum_of_users_with_unlike_laws_nearly_cancels(N):
    """The three terms beside E R_+ in the proof, summed over the users, against what is left of them."""
    rng, most, G, mean = np.random.default_rng(N), 4, 0.3, -0.1
    values, laws = np.arange(-most, most + 1), np.zeros((N, 2 * most + 1))
    plus, minus = np.maximum(values, 0), np.maximum(-values, 0)
    for law in laws:  # E w+ = G and E w- = G - mean
        for part, centre in ((plus, G), (minus, G - mean)):
            shares = rng.dirichlet(np.full(most, 0.3))
            law[part > 0] = shares * centre / (shares @ part[part > 0])
        law[most] = 1.0 - law.sum()
    added = 0.0
    for u in range(N):
        r, rest = sum_of(np.delete(laws, u, axis=0))
        for v, w in itertools.product(range(1, most + 1), repeat=2):  # the victim's label and that of user u, c = v - w
            weight = laws[u, most + v] * laws[u, most - w] * v * w / (G * (G - mean))
            added += weight * (rest @ (np.maximum(r + v - w, 0) - np.maximum(r, 0)))
            for j in set(range(N)) - {u}:
                r_j, others = sum_of(np.delete(laws, [u, j], axis=0))
                f = np.maximum(r_j[:, None] + values + v - w, 0).T @ others
                for part, centre in ((plus, G), (minus, G - mean)):
                    added -= weight * (laws[j] @ (f * (part - centre))) / ((N - 1) * centre)
    everyone, law = sum_of(laws)
    up, down = laws @ plus**2, laws @ minus**2
    near = law[abs(everyone) < 4 * most].sum()
    assert added <= near * np.sum(up / G + np.sqrt((up + down) * down) / (G - mean)) + 1e-12


def test_mixtures_with_other_gains_are_covered_by_the_normal_law():
    """Two laws of one mean whose mixture is admissible, as cells of shares of a group have them."""
    n, rows = 10**6, [((3.0, 0.1), (-2.0, 0.2)), ((1.0, 0.2), (-1.5, 0.2))]
    laws = [
        BallGparv(*zip(*((arb(v), arb(m)) for v, m in x), strict=True), 1 - arb(x[0][1] + x[1][1]), arb(0))
        for x in rows
    ]
    both = BallGparv(
        laws[0].values + laws[1].values,
        tuple(m / 2 for law in laws for m in law.masses),
        (laws[0].null_mass + laws[1].null_mass) / 2,
        arb(0),
    )
    gains = [law.values[0] * law.masses[0] for law in laws]
    listed = normal_bound(moments_of_laws(laws, gains), n)
    assert all(normal_bound(moments_of_laws([x], [y]), n) <= listed for x, y in zip(laws, gains, strict=True))
    assert normal_bound(moments_of_laws([both], [(gains[0] + gains[1]) / 2]), n) <= listed < 1e-3


def test_moments_of_rows_in_doubles_are_above_those_in_balls():
    rng = np.random.default_rng(3)
    rows, e, n = rng.dirichlet(np.full(30, 0.5), 4), np.array([[1.0 + 2e-5], [1.0 + 1e-9]]), 10**9
    first, second, classes = rows[:2], 0.9 * rows[:2] + 0.1 * rows[1::-1], 0.2 * rows + 0.8 * rows.mean(axis=0)
    for p, q, x, found in zip(first, second, e, moments_of_rows(classes, first, second, e), strict=True):
        g = [arb(a) - arb(x[0]) * arb(b) for a, b in zip(p, q, strict=True)]
        laws = [
            BallGparv(tuple(a / arb(m) for a, m in zip(g, row, strict=True)), tuple(map(arb, row)), arb(0), arb(0))
            for row in classes
        ]
        exact = moments_of_laws(laws, [sum((y for y in g if y > 0), arb(0))])
        assert found.mean.overlaps(exact.mean + arb(0, 1e-11))
        assert found.gain < exact.gain < found.most_gain
        assert all(y < x < y * (1 + 1e-6) for x, y in zip(found[3:], exact[3:], strict=True))
        assert normal_bound(exact, n) < normal_bound(found, n) < normal_bound(exact, n) * (1 + 1e-5)


def test_certificates_by_the_normal_law():
    found = sa.epsilon(by_name("d-bit-flip")(k=32, d=4, eps0=1), n=10**9, delta="1e-6")
    data = found.certificate()
    assert not any(e["plan"]["terms"] for e in data["above"]["evidence"] if e["kind"] == "all data sets")
    assert verify(json.dumps(data)).status == "valid"
    assert found.upper < 1.002 * found.lower


@pytest.mark.parametrize("n", [30, 120])
def test_pairs_that_few_messages_tell_apart_have_the_envelope_if_that_is_less(n):
    rows = [[4, 3, 3, 5, 6, 4], [9, 4, 3, 4, 7, 5], [1, 6, 7, 3, 3, 5], [2, 6, 5, 1, 6, 2]]
    table = {x: {y: Fraction(w, sum(row)) for y, w in enumerate(row)} for x, row in enumerate(rows)}
    answer = sa.epsilon(sa.FiniteMechanism(table), n=n, delta="1e-6")
    assert answer.upper <= 1.03 * answer.lower
    assert verify(json.dumps(answer.certificate())).status == "valid"


def test_two_classes_that_are_nearly_as_bad_with_few_positive_messages():
    """About twelve messages tell the inputs apart: others at x0 and at a third input are nearly as bad."""
    laws, level, n = laws_of_mechanism(sa.LocalHashing(l=2, D=16, eps0=6)), Level.of_float(0.62), 10_000
    lower = max(float(enclose_divergence(law, level, n).lower.lower()) for law in laws)
    assert lower < exp(estimate_log_all_data_sets(Searches(laws), level, n)) < 2.1 * lower


def test_transforms_beyond_the_range_of_doubles_are_no_reason_to_fail():
    rows = ((1, 2, 2, 9), (2, 2, 2, 9), (2, 5, 2, 1), (5, 9, 1, 1))
    table = [[Fraction(k, sum(row)) for k in row] for row in rows]
    assert -4 < estimate_log_all_data_sets(Searches(laws_of(table, (3, 1))), level_of(Fraction(11, 4)), 8) < -2


def test_majorant_is_refused_where_it_fails():
    terms = (Term(1e-6, 0.0, 0.1, 0.3), Term(2e-4, 0.01, 0.1, 0.3))
    factor = missing_factor(terms, 90.0)
    p = np.geomspace(90.0, 2000.0, 100_000)
    q = 1e-6 + 2e-4 * np.exp(-0.01 * p)
    assert factor >= 1 / (p * p * q).min() > 1.0
    assert factor <= 1.001 / (p * p * q).min()
    assert missing_factor(terms[1:], 90.0) == float("inf")


def test_repeated_laws_change_nothing():
    laws = laws_of_mechanism(sa.LocalHashing(l=2, D=16, eps0=1))
    level = Level.of_float(0.1)
    once, twice = (enclose_all_data_sets(Searches(given), level, 2_000) for given in (laws, [*laws, *reversed(laws)]))
    assert upper_of(twice) == pytest.approx(upper_of(once), rel=1e-9)


def test_what_cannot_be_bounded_is_bounded_by_one_user():
    half = Fraction(1, 2)
    table = [[half, half, Fraction(0)], [Fraction(1, 4), half, Fraction(1, 4)]]
    for n, rows in ((1, binary(3)), (50, [[Fraction(9, 10), Fraction(1, 10)]] * 2)):
        enclosure = enclose_all_data_sets(Searches(laws_of(rows, (0, 1))), level_of(Fraction(6, 5)), n)
        assert enclosure.evidence is None
        assert enclosure.evaluator == "one user"
    named = Law(laws_of([table[0][:2], table[1][:2]], (0, 1))[0].atoms, ((lambda: arb(0), lambda: arb("0.25")),), True)
    assert enclose_all_data_sets(Searches([named]), level_of(Fraction(6, 5)), 50).evaluator == "one user"
    with pytest.raises(ArgumentError):
        enclose_all_data_sets(Searches([]), level_of(Fraction(6, 5)), 50)
    with pytest.raises(ArgumentError):
        enclose_all_data_sets(
            Searches([replace(laws_of(ROWS, (0, 1))[0], complete=False)]), level_of(Fraction(6, 5)), 50
        )


@pytest.mark.slow
@pytest.mark.parametrize("eps", some(["log(7/5)", "log(4/3)"], 1))
def test_a_message_that_tells_nothing_at_a_level(eps):
    """At these levels a message of one pair has the value 0; next to them it has not."""
    table = sa.FiniteMechanism([["3/13", "4/13", "6/13"], ["4/13", "7/13", "2/13"], ["5/13", "5/13", "3/13"]])
    found = sa.delta(table, n=12, eps=eps, method="all_data_sets")
    beside = sa.delta(table, n=12, eps=f"{eps}-1e-9", method="all_data_sets")
    assert found.bound.upper < beside.bound.upper * (1 + 1e-3) < sa.delta(table, n=1, eps=eps).upper
    truth = sa.exact.worst_dataset(table, 12, eps).value.exact
    assert float(Fraction(str(truth))) <= found.bound.upper
    assert verify(json.dumps(found.certificate())).status == "valid"


# ---------------------------------------------------------------------------------------------- the steps of the proof


def random_sums(rng, size):
    p, m = rng.exponential(1.0, (2, size)) * rng.choice([0.1, 1.0, 10.0, 100.0], (2, size))
    return p, m, *rng.exponential(2.0, (2, size))


def test_step_three_the_mixed_term_pointwise():
    """(p + beta z)^2 <= p (p + z) for p >= p_lo, with equality at p_lo."""
    rng = np.random.default_rng(3)
    p_lo, more, z, _ = random_sums(rng, 100_000)
    beta = 1.0 / (1.0 + np.sqrt(1.0 + z / p_lo))
    for p in (p_lo, p_lo + more):
        assert ((p + beta * z) ** 2 <= p * (p + z) * (1 + 1e-12)).all()
    assert np.allclose((p_lo + beta * z) ** 2, p_lo * (p_lo + z), rtol=1e-10)


def test_step_four_the_kernel_pointwise():
    """min(z, t + z)_+ <= K(t + z) - K(t) + sigma phi(t/sigma)."""
    from scipy.stats import norm

    rng = np.random.default_rng(4)
    t = rng.normal(0.0, 5.0, 100_000)
    z, sigma = rng.exponential(2.0, (2, 100_000)) + 1e-3

    def kernel(x):
        return x * norm.cdf(x / sigma) + sigma * norm.pdf(x / sigma)

    majorant = kernel(t + z) - kernel(t) + sigma * norm.pdf(t / sigma)
    assert (np.minimum(z, t + z).clip(0.0) <= majorant + 1e-12).all()


@pytest.mark.parametrize(("t", "z"), [(-1.5, 2.0), (0.7, 0.3), (-0.2, 0.1)])
def test_the_contour_identity(t, z):
    from scipy.stats import norm

    s, sigma = 0.8, 0.6
    u = np.linspace(-60.0, 60.0, 400_001)
    zeta = s + 1j * u
    plain = np.exp(zeta * t + sigma**2 * zeta**2 / 2)
    integral = (plain * ((np.exp(zeta * z) - 1.0) / zeta**2 + sigma**2)).real.sum() * (u[1] - u[0]) / (2 * pi)

    def kernel(x):
        return x * norm.cdf(x / sigma) + sigma * norm.pdf(x / sigma)

    assert integral == pytest.approx(kernel(t + z) - kernel(t) + sigma * norm.pdf(t / sigma), rel=1e-9)


def test_a_budget_whose_square_is_no_double():
    answer = sa.delta(sa.RandomizedResponse(k=2, eps0=300), n=3, eps=150, method="all_data_sets")
    assert answer.lower <= answer.upper <= 1


def test_the_scale_is_best_where_newtons_steps_go_to_and_fro():
    # Duchi's vectors, m = 2, eps0 = 8, n = 1000, at one frequency; then such rows at random.
    rng = np.random.default_rng(3)
    exponents = np.vstack([[-17.06, -17.46, -20.8, -23.37, -31.68], rng.uniform(-35.0, 0.0, (200, 5))])
    alphas = np.vstack([[222.0, 222.8, 201253.8, 203721.4, 694643.2], np.exp(rng.uniform(0.0, 15.0, (200, 5)))])

    def size(v):
        return -np.log(v) + np.logaddexp.reduce(exponents + alphas * v[:, None], axis=1)

    ends = -np.log(alphas.max(axis=1)), -np.log(alphas.min(axis=1))
    tried = (np.exp(ends[0] + share * (ends[1] - ends[0])) for share in np.linspace(0.0, 1.0, 600))
    least = np.minimum.reduce([size(v) for v in tried])
    assert (size(best_inverse_scale(exponents, alphas)) <= least + 0.1).all()


@pytest.mark.parametrize(("n", "delta", "most"), [(1000, "1e-6", 1.06), (10**4, "1e-12", 1.04)])
@pytest.mark.slow
def test_few_positive_messages_of_several_classes(n, delta, most):
    answer = sa.epsilon(by_name("duchi-vector-even")(m=2, eps0=8), n=n, delta=delta)
    assert answer.lower < answer.upper < most * answer.lower
