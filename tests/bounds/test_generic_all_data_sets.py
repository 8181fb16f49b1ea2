"""Every eps0-LDP randomizer at once: the refinement, the polytope of third inputs, and what is known exactly."""

from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, pairwise
from math import e, exp, pi
from random import Random

import flint
import numpy as np
import pytest
import sympy as sp
from flint import arb
from test_all_data_sets import binary_maximum

import symamp as sa
from symamp.bounds.all_data_sets.generic import PatternCell, _shares, above, below
from symamp.bounds.registry import BOUNDS, by_default
from symamp.laws.law import Level
from symamp.sums.all_data_sets.bound import enclose_all_data_sets
from symamp.sums.divergence import Settings
from tests.recomputed import recomputed_bound
from tests.sampled import some

NAME = "generic_all_data_sets"

# ------------------------------------------------------------------------------------------- oracles, without symamp


def polytope_vertices(t, p):
    """All vertices of {x1 + x2 + f2 - f1/t = p, 0 <= x1, x2 <= p, f1, f2 >= 0, f1 + f2 <= 1 - p (1 + t)}, by search."""
    rest = 1 - p * (1 + t)
    walls = [  # (coefficients, value): coefficients . (x1, x2, f1, f2) >= value
        ((1, 0, 0, 0), 0), ((-1, 0, 0, 0), -p), ((0, 1, 0, 0), 0), ((0, -1, 0, 0), -p),
        ((0, 0, 1, 0), 0), ((0, 0, 0, 1), 0), ((0, 0, -1, -1), -rest),
    ]  # fmt: skip
    found = set()
    for chosen in combinations(walls, 3):
        rows = [(1, 1, -1 / t, 1, p), *((*c, v) for c, v in chosen)]
        solution = sp.Matrix([[sp.Rational(str(Fraction(x))) for x in row] for row in rows])
        left = solution[:, :4]
        if left.det() == 0:
            continue
        point = tuple(Fraction(str(x)) for x in left.LUsolve(solution[:, 4]))
        if all(sum(a * x for a, x in zip(c, point, strict=True)) >= v for c, v in walls):
            found.add(point)
    return found


def random_table(seed):
    """A table of positive rationals, and its e^eps0."""
    rng = Random(seed)
    rows = [[Fraction(rng.randint(1, 9)) for _ in range(rng.randint(2, 4))]]
    rows += [[Fraction(rng.randint(1, 9)) for _ in rows[0]] for _ in range(rng.randint(1, 3))]
    rows = [[x / sum(row) for x in row] for row in rows]
    t = max(max(column) / min(column) for column in zip(*rows, strict=True))
    return rows, t


def refined(rows, t):
    """{(message, pattern): mass}: one threshold for all inputs; pattern says which inputs have ratio t."""
    result = {}
    for y, column in enumerate(zip(*rows, strict=True)):
        m = min(column)
        share = [(x / m - 1) / (t - 1) for x in column]
        ends = sorted({Fraction(0), Fraction(1), *share})
        for low, high in pairwise(ends):
            result[y, tuple(s >= high for s in share)] = m * (high - low)
    return result


def pair_bound(laws, gains, n, parameters):
    """The bound by the trapezoidal rule, with the middles of every two laws: M and A are means of (j, k) and (k, j)."""
    N, p_lo = n - 1, parameters.p_lo
    a, b = parameters.tilt_a, parameters.tilt_b
    total = max(m @ (np.maximum(z, 0) * np.exp(b * z)) for z, m in laws) * exp(
        a * p_lo + N * max(np.log(m @ np.exp(b * z - a * np.maximum(z, 0))) for z, m in laws)
    )
    for term in parameters.terms:
        u = np.linspace(0.0, 5.5 / term.sigma, 20_000)
        zeta = term.s + 1j * u
        M, P, Q, R = [], [], [], []
        for z, m in laws:
            p, q = np.maximum(z, 0.0), np.maximum(-z, 0.0)
            beta = 1.0 / (1.0 + np.sqrt(1.0 + p / p_lo))
            waves = np.exp(np.multiply.outer(zeta, z))
            M.append((waves * np.exp(-term.lam * p)) @ m)
            P.append((waves * np.exp(-term.lam * p)) @ (m * p))
            slow = m * p * np.exp(-term.lam * beta * p)
            Q.append((waves - 1.0 + ((term.sigma * zeta) ** 2)[:, None]) @ slow)
            R.append(waves @ (m * q))
        pairs = list(combinations_with_replacement(range(len(laws)), 2))
        sizes = np.array([abs(gains[k] * P[j] + Q[j] * R[k] + gains[j] * P[k] + Q[k] * R[j]) / 2 for j, k in pairs])
        sums = np.array([abs(M[j] + M[k]) / 2 for j, k in pairs])
        exponents, alphas = N * np.log(sums), N * sizes / sums
        candidates = [np.max(exponents + alphas / c, axis=0) - 1.0 + np.log(c) for c in alphas]
        size = np.exp(np.min(candidates, axis=0)) * np.exp(0.5 * term.sigma**2 * (term.s**2 - u * u)) / abs(zeta) ** 2
        total += term.a / pi * (size.sum() - size[0] / 2) * (u[1] - u[0])
    return total


# ------------------------------------------------------------------------------------------------------ the refinement


@pytest.mark.parametrize("seed", range(40))
def test_every_randomizer_is_refined_to_two_levels(seed):
    rows, t = random_table(seed)
    if t == 1:
        return
    cells = refined(rows, t)
    for x, row in enumerate(rows):
        for y, probability in enumerate(row):  # forgetting the pattern gives the randomizer back
            ratio = [(t if pattern[x] else 1) * m for (z, pattern), m in cells.items() if z == y]
            assert sum(ratio) == probability
    for x0, x1 in combinations(range(len(rows)), 2):
        told = [sum(m for (_, s), m in cells.items() if s[a] and not s[b]) for a, b in ((x0, x1), (x1, x0))]
        p = told[0]
        assert told[1] == p <= 1 / (t + 1)
        for x in range(len(rows)):
            x1_mass = sum(m for (_, s), m in cells.items() if s[x0] and not s[x1] and s[x])
            x2_mass = sum(m for (_, s), m in cells.items() if s[x1] and not s[x0] and s[x])
            f1 = t * sum(m for (_, s), m in cells.items() if s[x0] and s[x1] and not s[x])
            f2 = sum(m for (_, s), m in cells.items() if not s[x0] and not s[x1] and s[x])
            assert x1_mass + x2_mass + f2 - f1 / t == p
            assert f1 + f2 <= 1 - p * (1 + t)
            assert max(x1_mass, x2_mass) <= p


def law_of(point, t, p, E):
    """The values of w and their masses for a third input."""
    x1, x2, f1, f2 = point
    masses = [p - x1, t * x1, p - x2, t * x2, f1 / t, 1 - p * (1 + t) - f1 - f2, t * f2]
    return list(
        zip([t - E, (t - E) / t, 1 - t * E, (1 - t * E) / t, t * (1 - E), 1 - E, (1 - E) / t], masses, strict=True)
    )


def stop_loss(law, u):
    return sum(m * max(v - u, 0) for v, m in law)


@pytest.mark.parametrize("t", some([Fraction(11, 10), Fraction(2), Fraction(3), Fraction(20)], 2))
@pytest.mark.parametrize(
    "share", [Fraction(-9), Fraction(-1, 3), Fraction(0), Fraction(1, 3), Fraction(9, 10), Fraction(1)]
)
def test_all_third_inputs_are_below_the_listed_ones(t, share):
    """The raised law is above in convex order, exactly, and lies on a line between two that are listed."""
    middle = 1 / (t + 2)
    p = middle + share * (1 / (t + 1) - middle if share > 0 else middle / 10)
    exact = (sp.Rational(x.numerator, x.denominator) for x in (t, p))
    listed = [tuple(Fraction(str(x)) for x in v) for v in (above if share > 0 else below)(*exact)]
    corners, rest = sorted(polytope_vertices(t, p)), 1 - p * (1 + t)
    assert set(listed) <= set(corners)
    rng = Random(1)
    for point in [*corners, *(mixture(rng, corners) for _ in range(5))]:
        x1, x2, f1, f2 = point
        room = rest - f1 - f2
        f1, f2 = f1 + room * t / (1 + t), f2 + room / (1 + t)
        less = min(x2, f1 * (1 + t) / t)
        raised = x1, x2 - less, f1 - less * t / (1 + t), f2 + less * t / (1 + t)
        for E in (Fraction(1), (1 + t) / 2, t - Fraction(1, 100)):
            old, new = law_of(point, t, p, E), law_of(raised, t, p, E)
            assert all(m >= 0 for _, m in new)
            assert sum(m for _, m in new) == sum(m for _, m in old) == 1
            assert sum(v * m for v, m in new) == sum(v * m for v, m in old) == 1 - E
            assert stop_loss(new, 0) == stop_loss(old, 0) == p * (t - E)
            assert all(stop_loss(new, u) >= stop_loss(old, u) for u, _ in new)
        assert any(between(raised, a, b) for a, b in combinations_with_replacement(listed, 2))


def mixture(rng, points):
    weights = [Fraction(rng.randint(0, 9) + 1) for _ in points]
    return tuple(sum(w * x for w, x in zip(weights, c, strict=True)) / sum(weights) for c in zip(*points, strict=True))


def between(point, a, b):
    """Whether a point is on the line from a to b."""
    moved = next((k for k in range(4) if a[k] != b[k]), None)
    share = Fraction(0) if moved is None else (point[moved] - a[moved]) / (b[moved] - a[moved])
    return 0 <= share <= 1 and all(x == u + share * (v - u) for x, u, v in zip(point, a, b, strict=True))


@pytest.mark.parametrize("t", [Fraction(3, 2), Fraction(5)])
@pytest.mark.parametrize(("found", "left", "right"), [(below, "9/10", "1"), (above, "1", None)])
def test_the_listed_laws_are_affine_in_p(t, found, left, right):
    exact = sp.Rational(t.numerator, t.denominator)
    ends = [1 / (exact + 1) if x is None else sp.Rational(x) / (exact + 2) for x in (left, right)]
    low, high, middle = (found(exact, p) for p in (*ends, sum(ends) / 2))
    for a, b, m in zip(low, high, middle, strict=True):
        assert all((x + y) / 2 == z for x, y, z in zip(a, b, m, strict=True))


@pytest.mark.parametrize("t", [1.001, 1.5, 2.0, 2.5, 3.0, 50.0, 1e40])
def test_cells_cover_the_range(t):
    shares = _shares(t)
    assert shares[0] == 0
    assert shares[-1] == 1
    assert all(a < b for a, b in pairwise(shares))


def test_blankets_of_small_p_are_below_the_one_that_is_used():
    """Exactly, at all kinks: the stop-loss transform of every law of Theorem B grows with p."""
    rng = Random(1)
    for _ in range(300):
        t = 1 + Fraction(rng.randint(1, 60), 10)
        E = 1 + (t - 1) * Fraction(rng.randint(0, 10), 10)
        top = 1 / (t + 2)
        p = top * Fraction(rng.randint(0, 10), 10)
        q = (1 - (t + 1) * p) / t * Fraction(rng.randint(0, 10), 10)
        r = 1 - (t + 1) * p - t * q
        high = [(t - E, top), (1 - t * E, top), (t * (1 - E), (1 - (t + 1) * top) / t)]
        low = [(t - E, p), (1 - t * E, p), (t * (1 - E), q), (1 - E, r)]
        for law in (high, low):
            law.append((Fraction(0), 1 - sum(m for _, m in law)))
        for u in {v for v, _ in (*high, *low)}:
            below, above = (sum(m * max(v - u, 0) for v, m in law) for law in (low, high))
            assert below <= above


def test_mixtures_are_below_the_classes():
    """|M| exp(|A|/(c |M|)) of a mixture, made monotone in |M|, is at most its largest value over the classes.

    Each class bears what mixtures with the classes before it add, some of them that and those after it, roughly.
    """
    rng = np.random.default_rng(1)
    for _ in range(2000):
        count = rng.integers(2, 6)
        M, P, Q, R = rng.normal(size=(4, count)) + 1j * rng.normal(size=(4, count))
        gain, c, fine = rng.random(count), rng.random() * 3, rng.integers(0, count + 1)
        weight = rng.dirichlet(np.ones(count))
        m, a = abs(weight @ M), abs((weight @ gain) * (weight @ P) + (weight @ Q) * (weight @ R))
        m = max(m, a / c)
        rough = abs(P) * gain.max() + abs(Q) * abs(R).max()
        sizes = [
            abs(gain[k] * P[k] + Q[k] * R[k])
            + max(
                [abs(gain[k] - gain[j]) * abs(P[k] - P[j]) + abs(Q[k] - Q[j]) * abs(R[k] - R[j]) for j in range(k)],
                default=0.0,
            )
            if k < fine
            else rough[k] + (rough.max() if fine else 0.0)
            for k in range(count)
        ]
        most = max(np.log(max(abs(x), s / c)) + s / (c * max(abs(x), s / c)) for x, s in zip(M, sizes, strict=True))
        assert np.log(m) + a / (c * m) <= most + 1e-9


# --------------------------------------------------------------------------------------------------------- the numbers


def cells(eps0):
    return [part for part in BOUNDS[NAME].bound(sa.PureLDP(eps0=eps0)).parts if isinstance(part, PatternCell)]


@pytest.mark.parametrize(("eps0", "n", "eps"), [("log(3)", 1000, 0.15), (0.5, 2000, 0.04), (2, 4000, 0.17)])
def test_the_evaluation_is_that_of_the_pairs(eps0, n, eps):
    part, E = cells(eps0)[0], exp(eps)
    level = Level.of_float(eps)
    found = enclose_all_data_sets(part.searches, level, n)
    assert found.evaluator == "all data sets"
    laws = []
    with flint.ctx.workprec(128):
        for law in part.laws:
            atoms = [(float(a.ratio0()) - E * float(a.ratio1()), float(a.mass())) for a in law.atoms]
            laws.append(tuple(np.array(x) for x in zip(*atoms, strict=True)))
        again = recomputed_bound(part.laws, level, n, found.evidence, mixed=True)
    gains = [float(m @ np.maximum(z, 0.0)) for z, m in laws]
    value = pair_bound(laws, gains, n, found.evidence.parameters)
    assert value * (1 - 1e-9) <= float(found.upper) <= value * 1.015
    assert float(again) == pytest.approx(float(found.upper), rel=2e-3)


@pytest.mark.parametrize(
    ("eps0", "t", "n", "eps"), some([(0.5, exp(0.5), 500, 0.06), ("log(2)", 2.0, 1000, 0.06), (1, e, 500, 0.15)], 1)
)
def test_binary_response_with_any_inputs_is_below(eps0, t, n, eps):
    truth = binary_maximum(t, exp(eps), n)
    bound = sa.delta(sa.PureLDP(eps0=eps0), n=n, eps=Fraction(eps), method=NAME).upper
    assert truth <= bound
    if t < 2:
        assert bound <= 1.05 * truth


@cache
def any_at_2000():
    return sa.delta(sa.PureLDP(eps0=1), n=2000, eps="0.07")


@pytest.mark.parametrize("k", [2, 3, 4, 7, 20, 1000])
def test_no_response_is_above(k):
    mechanism = sa.RandomizedResponse(k=k, eps0=1)
    below = sa.delta(mechanism, n=2000, eps="0.07", method="blanket", gap=1e-3).lower
    assert below <= any_at_2000().upper


@pytest.mark.slow
def test_random_randomizers_are_below():
    for seed in range(5):
        weights = np.exp(np.random.default_rng(seed).integers(0, 2, size=(3, 5)))
        table = sa.FiniteMechanism((weights / weights.sum(axis=1, keepdims=True)).tolist(), normalise=True)
        budget = float(sp.log(table.local_ratio()))
        eps = 0.05 * budget
        bound = sa.delta(sa.PureLDP(eps0=budget * (1 + 1e-12)), n=3000, eps=eps, gap=1e-2)
        assert sa.delta(table, n=3000, eps=eps, gap=1e-2, method="blanket").lower <= bound.upper


@pytest.mark.parametrize(("eps0", "most"), [(1, 0.0384), (0.5, 0.01625)])
def test_below_the_stronger_clone(eps0, most):
    subject = sa.PureLDP(eps0=eps0)
    answer = sa.epsilon(subject, n=10**4, delta="1e-6")
    assert answer.method == NAME
    assert answer.upper <= most
    assert answer.gap < 0.005
    assert sa.epsilon(subject, n=10**4, delta="1e-6", method="generic").lower < answer.upper


def test_a_default_after_all_that_know_more():
    assert [a.name for a in by_default(sa.PureLDP(eps0=1))] == ["generic", NAME]
    names = [a.name for a in by_default(sa.RandomizedResponse(k=2, eps0=1))]
    assert names[-1] == NAME  # which costs more than all others
    assert [a.name for a in by_default(sa.Laplace(eps0=1))][-1] == NAME


@pytest.mark.parametrize(
    ("n", "eps"),
    some([(1, "0.5"), (5, "0.5"), (40, "0.4"), (1000, "0.9"), (1000, 0)], lambda case: case[1] in ("0.5", 0)),
)
def test_never_above_the_generic_bound(n, eps):
    subject = sa.PureLDP(eps0=1)
    assert sa.delta(subject, n=n, eps=eps).upper <= sa.delta(subject, n=n, eps=eps, method="generic").upper * (1 + 1e-5)


def test_a_part_is_not_cut_short():
    """Where no parameters are good the bound is that of one user alone, for the mass p at which that is largest."""
    part = cells(1)[-1]
    found = part.enclose(Level.of_float(0.1), 2, Settings())
    with flint.ctx.workprec(128):
        t = arb(1).exp()
        assert found.upper > (t - arb("0.1").exp()) / (t + 1) - arb("1e-12")
