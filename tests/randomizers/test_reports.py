"""Client and server: reports against tables, estimates and variances against exact sums, and simulated users.

Seeds are fixed, so that nothing here fails by luck; what the chance would be with other seeds is written down.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy as sp

import symamp as sa
from symamp.formulas.normal_form import normal
from symamp.randomizers.catalogue import catalogue
from symamp.randomizers.mechanism import variance_of

OPTIONAL = {"priv-unit": {"d": 2}, "wheel": {"D": 5}}  # sizes that no privacy figure depends on
CELLS = {"piecewise", "priv-unit", "square-wave", "staircase", "wheel"}  # reports are points, the tables have cells
FURTHER = {
    "laplace": sa.Laplace(eps0=2),
    "clipped-laplace": sa.ClippedLaplace(eps0=2),
    "gaussian": sa.Gaussian(sigma="3/2"),
    "logistic": sa.Logistic(eps0=2),
    "discrete-laplace": sa.DiscreteLaplace(B=5, eps0=2),
    "discrete-gaussian": sa.DiscreteGaussian(B=5, sigma="5/2"),
    "planar-laplace": sa.PlanarLaplace(eps0=3),
    "table": sa.FiniteMechanism([["1/2", "1/4", "1/4", 0], ["1/8", "1/2", "1/8", "1/4"], [0, "1/3", "1/3", "1/3"]]),
    "priv-unit-5": sa.PrivUnit(c="1/5", eps0=2, d=5),
    "hadamard-3": sa.HadamardResponse(K=8, D=3, eps0=1),
    "hcms-large": sa.HadamardCountMeanSketch(k=100, m=16, eps0=2),
}


def small(slug, number=1):
    size = dict(catalogue()[slug].small[number])
    return catalogue()[slug](**size, **OPTIONAL.get(slug, {}))


def drawn(mechanism, n, rng):
    """n values that are not uniform."""
    domain = mechanism.protocol().values
    shape = n if domain.columns is None else (n, int(domain.columns))
    if domain.unit:
        found = rng.standard_normal(shape) + 0.5
        return found / np.sqrt((found**2).sum(axis=1, keepdims=True))
    low, high = (0.0, 1.0) if domain.high == sp.oo else (float(domain.low), float(domain.high))
    if domain.sets:
        keys = rng.random((n, int(high) + 1)) + np.arange(int(high) + 1) / (high + 1)
        return np.argsort(keys, axis=1)[:, : shape[1]]
    found = low + (high - low + domain.integers) * rng.beta(1.0, 2.0, size=shape)
    return np.floor(found).astype(int) if domain.integers else found


def truth(mechanism, values):
    """The frequencies or the mean of values, as users hold them."""
    if mechanism.estimand != "frequencies":
        return values.mean(axis=0)
    if isinstance(mechanism, sa.PrivKV):
        return np.concatenate(((values == 1).mean(axis=0), (values == -1).mean(axis=0)))
    number = int(mechanism.protocol().values.high) + 1
    return np.bincount(values.ravel(), minlength=number) / len(values)


def check_simulated(mechanism, n, seed):
    """A normal error is over 6 standard deviations with chance 2e-9: 1e-6 for some 500 entries."""
    rng = np.random.default_rng(seed)
    values = drawn(mechanism, n, rng)
    reports = mechanism.randomize(values, rng)
    assert len(reports) == n
    found, expected = np.atleast_1d(mechanism.estimate(reports)), np.atleast_1d(truth(mechanism, values))
    assert found.shape == expected.shape
    if mechanism.estimand == "frequencies":
        share = sp.Symbol("f", positive=True)
        formula = sp.lambdify(share, mechanism.variance(n, frequency=share), "math")
        spread = np.sqrt([formula(f) for f in expected])
    else:
        spread = np.sqrt(float(mechanism.variance(n)) * (len(found) if len(found) > 1 else 1))
    assert (abs(found - expected) < 6 * spread).all()


@pytest.mark.parametrize("slug", sorted({*catalogue(), *FURTHER}))
def test_estimates_are_within_their_error(slug):
    check_simulated(FURTHER.get(slug) or small(slug), 2000, 29)


@pytest.mark.slow
@pytest.mark.parametrize("slug", sorted({*catalogue(), *FURTHER}))
def test_estimates_of_a_million_users(slug):
    check_simulated(FURTHER.get(slug) or small(slug, 2), 10**6, 2029)


def rational(score):
    """The fraction that a score is, as t is a small fraction."""
    found = Fraction(float(score)).limit_denominator(10**5)
    assert abs(found - float(score)) < 1e-9
    return found


@pytest.mark.parametrize("slug", sorted(set(catalogue()) - CELLS))
def test_variances_are_those_of_the_tables(slug):
    """What one report adds, message by message: its mean is the truth, its variance the formula, in fractions."""
    mechanism = small(slug)
    protocol, table = mechanism.protocol(), mechanism.table()
    largest, seen = {0: Fraction(0), 1: Fraction(0)}, set()
    for name, value in protocol.shown().items():
        held = np.array([value])
        reports = mechanism.randomize(np.repeat(held, 3000, axis=0), 5)
        kinds = {protocol.label(report): report for report in reports.tolist()}
        row = dict(zip(table.messages, table.rows[table.inputs.index(name)], strict=True))
        assert set(kinds) == {y for y, p in row.items() if p > 0}
        law = [(Fraction(int(row[y].p), int(row[y].q)), np.atleast_1d(mechanism.estimate([kinds[y]]))) for y in kinds]
        expected = np.atleast_1d(truth(mechanism, held))
        spread = []
        for v, true in enumerate(expected):
            scores = [(p, rational(score[v])) for p, score in law]
            assert sum(p * score for p, score in scores) == Fraction(true)
            spread.append(sum(p * score**2 for p, score in scores) - Fraction(true) ** 2)
            if mechanism.estimand == "frequencies":
                seen.add(int(true))
                largest[int(true)] = max(largest[int(true)], spread[-1])
        if mechanism.estimand != "frequencies":
            assert sum(spread) / len(spread) <= Fraction(str(mechanism.variance()))
    if mechanism.estimand == "frequencies":
        assert all(
            mechanism.variance(frequency=i) == sp.Rational(largest[i].numerator, largest[i].denominator) for i in seen
        )


@pytest.mark.parametrize(("s", "arc", "cells", "options"), [(1, 2, 8, 3), (2, 1, 8, 3), (2, 2, 12, 2)])
def test_wheel_over_all_hash_functions(s, arc, cells, options):
    """On a ring of cells, t = 3: the mean and variance of what a report adds, over all points of the options."""
    wheel = sa.Wheel(s=s, p=f"{arc}/{cells}", eps0="log(3)", D=options)
    total, moments = Fraction(3 * s * arc + cells - s * arc, cells), np.zeros((options, 2), dtype=object)
    seen = {}
    for points in product(range(cells), repeat=options):
        covered = {(start + i) % cells for start in points[:s] for i in range(arc)}
        high = Fraction(3, cells) / total
        rest = (1 - high * len(covered)) / (cells - len(covered))
        for z in range(cells):
            chance = (high if z in covered else rest) / cells**options
            held = tuple((z - start) % cells < arc for start in points)
            if held not in seen:
                report = [*(start / cells for start in points), (z + 0.5) / cells]
                seen[held] = [rational(score) for score in wheel.estimate([report])]
            for v, score in enumerate(seen[held]):
                moments[v] += (chance * score, chance * score**2)
    for v, (first, second) in enumerate(moments):
        assert first == (v < s)
        assert sp.Rational(*(second - first**2).as_integer_ratio()) == wheel.variance(frequency=int(first))


def test_joints_are_estimated_part_by_part():
    """Over all messages of the table of both parts, in fractions."""
    parts = sa.RandomizedResponse(k=3, eps0="log(3)"), sa.HadamardResponse(K=4, eps0="log(2)")
    both = sa.joint(*parts)
    assert both.estimand == ("frequencies", "frequencies")
    own = [part.table() for part in parts]
    for values in product(range(3), repeat=2):
        rows = [t.rows[v] for t, v in zip(own, values, strict=True)]
        law = {(y, z): Fraction(str(rows[0][y] * rows[1][z])) for y in range(len(rows[0])) for z in range(len(rows[1]))}
        scores = {(y, z): both.estimate(([y], [z])) for y, z in law}
        for part, (held, variance) in enumerate(zip(values, both.variance(frequency=1), strict=True)):
            terms = [(p, rational(scores[y][part][held])) for y, p in law.items()]
            assert sum(p * score for p, score in terms) == 1
            assert sum(p * score**2 for p, score in terms) - 1 == Fraction(str(variance))


def check_joint(n):
    """As for single mechanisms; and Cauchy noise on bits, whose share of reports above 1/2 is unbiased for theirs."""
    rng = np.random.default_rng(31)
    both = sa.joint([sa.RandomizedResponse(k=4, eps0=1), sa.joint([sa.Laplace(eps0=1), sa.OneBitMean(eps0=2)])])
    items, numbers = rng.integers(4, size=n), rng.random(n)
    shares, means = both.estimate(both.randomize((items, (numbers, numbers)), rng))
    spread, spreads = both.variance(n, frequency="1/4")
    assert (abs(shares - np.bincount(items) / n) < 6 * float(spread) ** 0.5).all()
    assert all(abs(m - numbers.mean()) < 6 * float(v) ** 0.5 for m, v in zip(means, spreads, strict=True))
    cauchy, bits = sa.Cauchy(scale=1), (numbers < 0.3).astype(int)
    p = 0.5 + np.arctan(0.5) / np.pi
    found = ((cauchy.randomize(bits, rng) > 0.5).mean() - (1 - p)) / (2 * p - 1)
    assert abs(found - bits.mean()) < 6 * (p * (1 - p) / n) ** 0.5 / (2 * p - 1)


def test_joints_are_within_their_error():
    check_joint(2000)


@pytest.mark.slow
def test_joints_of_a_million_users():
    check_joint(10**6)


@pytest.mark.parametrize(
    ("mechanism", "worst"),
    [
        (sa.OneBitMean(eps0="log(3)"), 0.5),
        (sa.SquareWave(b="1/4", eps0="log(3)"), 0.0),
        (sa.SquareWave(b="3/8", eps0="log(3)"), 0.0),
        (sa.PiecewiseMechanism(eps0="2*log(2)"), 1.0),
        (sa.Staircase(g="2/5", eps0="log(3)"), 0.3),
        (sa.ClippedLaplace(eps0=3), 0.5),
        (sa.DiscreteLaplace(B=4, eps0=2), 2),
        (sa.DiscreteGaussian(B=4, sigma=3), 2),
        (sa.Logistic(eps0=2), 0.5),
    ],
)
def test_variances_of_means_are_the_largest(mechanism, worst):
    """At the worst value the sample variance of 2000 scores is within 20 % of the formula, and elsewhere below."""
    bound = float(mechanism.variance())
    unbiased = lambda reports: np.array([mechanism.estimate([y]) for y in reports])  # noqa: E731
    domain = mechanism.protocol().values
    for value in (float(domain.low), worst, float(domain.high)):
        score = unbiased(mechanism.randomize([value] * 2000, 3))
        assert score.var() < 1.2 * bound
        assert value != worst or score.var() > 0.8 * bound
        assert abs(score.mean() - value) < 6 * np.sqrt(bound / len(score))


def test_formulas():
    f, n, d = sp.Symbol("f"), sp.Symbol("n"), sa.Parameter("d", lower=2, integer=True)
    k, t = sa.RandomizedResponse()["k"], sp.exp(sa.RandomizedResponse()["eps0"])
    given = sa.RandomizedResponse().variance(n, frequency=f) * n * (t - 1) ** 2
    assert normal(given - (f * t * (k - 1) + (1 - f) * (t + k - 2))) == 0
    assert normal(sa.UnaryEncoding.oue().variance() - 4 * t / (t - 1) ** 2) == 0  # Wang, Blocki, Li, Jha 2017
    assert normal(sa.Harmony(d=d).variance() - d.symbol * (t + 1) ** 2 / (t - 1) ** 2) == 0
    assert sa.PiecewiseMechanism(eps0="2*log(3)").variance() == 1  # Wang et al. 2019: 4 s/(3 (s - 1)^2) at s = 3
    assert sa.SubsetSelection(d=10**4, k=100, eps0=1).variance() > 0
    for family in catalogue().values():
        found = family(**OPTIONAL.get(family.slug, {}), **dict.fromkeys(family.numbers, 2))
        if family.slug != "priv-unit":
            assert found.variance().free_symbols <= {p.symbol for p in found.parameters}


def test_utilities_are_on_one_scale():
    assert variance_of(sa.PiecewiseMechanism(eps0=1), "mean") == sa.PiecewiseMechanism(eps0=1).variance() / 4
    assert float(variance_of(sa.DiscreteLaplace(B=1000, eps0=2), "mean")) == pytest.approx(
        float(variance_of(sa.ClippedLaplace(eps0=2), "mean")), rel=1e-2
    )


RR, ENCODING = sa.RandomizedResponse(k=3, eps0=1), sa.UnaryEncoding.rappor(D=3, eps0=1)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: RR.randomize([0, 3]), "values: got 3, expected an array of integers from 0 to 2, one for each user"),
        (lambda: RR.randomize([]), "values: no user; give an array of integers"),
        (lambda: RR.randomize([[0]]), "values"),
        (lambda: RR.randomize([0.5]), "values: got 0.5"),
        (lambda: RR.randomize([[0], [1, 2]]), "values"),
        (lambda: RR.randomize([0], rng="x"), "rng"),
        (lambda: RR.randomize(np.ma.masked_array([0, 1], [0, 1])), "values: with entries that are missing"),
        (lambda: RR.randomize([float("nan")]), "missing, or not finite; give an array of integers"),
        (lambda: RR.randomize(["a"]), "of dtype"),
        (lambda: RR.randomize([0], rng=-1), "rng"),
        (lambda: RR.estimate([-1]), "reports"),
        (lambda: ENCODING.estimate([[0, 1]]), "reports"),
        (lambda: ENCODING.estimate([[0, 1, 2]]), "reports: got 2"),
        (lambda: sa.SubsetExponential(s=2, d=5, k=1, eps0=1).randomize([[1, 1]]), "a row has a number twice"),
        (lambda: sa.PrivUnit(c="1/4", eps0=1, d=3).randomize([[1, 1, 0]]), "a row is not a unit vector"),
        (lambda: sa.PrivUnit(c="1/4", eps0=1).randomize([[1, 0]]), "d: got None"),
        (lambda: sa.RandomizedResponse(k=3).randomize([0]), "no number for eps0"),
        (lambda: RR.variance(0), "n: got 0"),
        (lambda: RR.variance(frequency=2), "frequency: got 2"),
        (lambda: sa.Wheel(s=1, p="1/4", eps0=1).estimate([0.5]), "no estimate from its reports alone"),
        (lambda: sa.Wheel(s=1, p="1/4", eps0=1).variance(), "no estimate from its reports alone"),
        (lambda: sa.Cauchy(scale=1).variance(), "no estimate from its reports alone"),
        (lambda: sa.PureLDP(eps0=1).randomize([0]), "has no sampler"),
        (lambda: sa.joint([RR, RR]).randomize([0]), "part by part"),
        (lambda: sa.joint([RR, RR]).estimate(([0], [0, 1])), "different numbers of users"),
        (lambda: sa.joint([RR, RR]).estimate(([0], [7])), "reports: got 7"),
        (lambda: sa.Wheel(s=3, p="1/8", D=2), "D: got 2"),
        (lambda: sa.audit_sampler(len, sa.Wheel(s=1, p="1/4", eps0=1, D=3)), "not described"),
        (lambda: sa.FiniteMechanism([[1, 0], ["1/2", "1/2"], [0, 1]]).estimate([0]), "mixtures of others"),
        (lambda: sa.FiniteMechanism([[1, 0], ["1/2", "1/2"], [0, 1]]).variance(), "mixtures of others"),
    ],
)  # fmt: skip
def test_refusals(call, error):
    with pytest.raises(sa.errors.SymampError, match=error):
        call()


@pytest.mark.parametrize("eps0", ["1/10**6", "50", "1000"])
def test_extreme_budgets(eps0):
    for mechanism in (
        sa.RandomizedResponse(k=10**4, eps0=eps0),
        sa.UnaryEncoding.oue(D=4, eps0=eps0),
        sa.LocalHashing(l=2, D=4, eps0=eps0),
        sa.HadamardResponse(K=8, eps0=eps0),
        sa.Laplace(eps0=eps0),
        sa.DiscreteLaplace(B=3, eps0=eps0),
        sa.PiecewiseMechanism(eps0=eps0),
        sa.Harmony(d=3, eps0=eps0),
    ):
        rng = np.random.default_rng(1)
        values = drawn(mechanism, 50, rng)
        assert np.isfinite(mechanism.estimate(mechanism.randomize(values, rng))).all()
