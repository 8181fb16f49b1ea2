"""Mechanisms for one number with exact finite laws: against infima by brute force, printed laws, reference numbers."""

import math
from fractions import Fraction

import pytest
import sympy as sp

import symamp as sa
from symamp.formulas.normal_form import normal
from tests.sampled import some

T = sp.exp(sp.Symbol("eps0", real=True))
S = sp.sqrt(T)


def _piecewise(eps0):
    s = math.exp(eps0 / 2)
    c, high = (s + 1) / (s - 1), (s * s - s) / (2 * s + 2)

    def density(x, y):
        left = (c + 1) / 2 * x - (c - 1) / 2
        return high if left <= y <= left + c - 1 else high / s**2

    return density, -1.0, 1.0, -c, c


def _square_wave(eps0):
    t = math.exp(eps0)
    b = (eps0 * t - t + 1) / (2 * t * (t - 1 - eps0))

    def density(x, y):
        return (t if abs(y - x) < b else 1.0) / (2 * b * t + 1)

    return density, 0.0, 1.0, -b, 1 + b


def _staircase(g):
    def made(eps0):
        t = math.exp(eps0)
        a = (1 - 1 / t) / (2 * (g + (1 - g) / t))

        def density(x, y):
            whole, part = divmod(abs(y - x), 1.0)
            return a * t ** -(whole if part < g else whole + 1)

        return density, 0.0, 1.0, -30.0, 31.0

    return made


CASES = [
    (sa.PiecewiseMechanism(), _piecewise),
    (None, _square_wave),
    (sa.Staircase(g="3/10"), _staircase(0.3)),
    (sa.Staircase(g="7/10"), _staircase(0.7)),
]


@pytest.mark.parametrize("eps0", some([1.0, 2.5], 1))
@pytest.mark.parametrize(("mechanism", "published"), CASES)
def test_laws_are_those_of_numerical_infima(mechanism, published, eps0):
    density, low, high, start, end = published(eps0)
    cells, inputs = 12_000, 41
    found, t = {}, math.exp(eps0)
    for k in range(cells):
        y = start + (k + 0.5) * (end - start) / cells
        least = min(density(low + (high - low) * i / (inputs - 1), y) for i in range(inputs))
        ratios = tuple(round(math.log(density(x, y) / least, t), 6) for x in (low, high))
        found[ratios] = found.get(ratios, 0.0) + least * (end - start) / cells
    assert set(found) <= {(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)}
    member = sa.SquareWave.optimal(eps0=eps0) if mechanism is None else mechanism.at(eps0=eps0)
    for c in member.blanket().components:
        key = (float(sp.N(sp.log(c.ratio0))) / eps0, float(sp.N(sp.log(c.ratio1))) / eps0)
        assert found.pop(tuple(round(v, 6) for v in key)) == pytest.approx(float(sp.N(c.mass)), abs=6e-3)
    assert sum(found.values()) < 6e-3


def test_laws_are_identities():
    d = sa.PiecewiseMechanism().blanket()
    assert normal(d.components[0].mass - 1 / (S * (S + 1))) == 0
    assert normal(d.components[2].mass - (S - 1) / (S * (S + 1))) == 0
    b, d = sp.Symbol("b", real=True), sa.SquareWave().blanket()
    assert normal(d.components[0].mass - 2 * b / (2 * b * T + 1)) == 0
    assert normal(d.gamma - (1 + 2 * b) / (2 * b * T + 1)) == 0
    g, d = sp.Symbol("g", real=True), sa.Staircase().blanket()
    height = (1 - 1 / T) / (2 * (g + (1 - g) / T))
    assert normal(d.gamma - (1 + height) / T) == 0
    assert normal(d.components[0].mass - (1 - d.gamma) / (T - 1)) == 0
    wide = sp.Rational(7, 10)
    height, gamma = height.subs(g, wide), sa.Staircase(g=wide).blanket().gamma
    assert normal(gamma - (1 / T + 2 * height * (wide - sp.Rational(1, 2)) + 2 * height * (1 - wide) / T)) == 0
    # Duchi et al. in one dimension sends one of two messages: the law of the 1-bit mean.
    assert sa.OneBitMean().blanket().gamma == 2 / (T + 1)


@pytest.mark.parametrize("end", [1, 2, 3, 7])
def test_discrete_laplace_noise_as_printed_and_as_a_table(end):
    found = sa.DiscreteLaplace(B=end)
    root = sp.exp(-sp.Symbol("eps0", real=True) / end)
    for c in found.blanket().components:
        j = next(j for j in range(end + 1) if normal(c.ratio1 / c.ratio0 - root ** (end - 2 * j)) == 0)
        share = 1 / (1 + root) if j in (0, end) else (1 - root) / (1 + root)
        assert normal(c.mass - root ** max(j, end - j) * share) == 0
    fixed = found.at(eps0="log(16)")
    assert fixed.table().blanket("0", str(end)).components == fixed.blanket().components
    assert sp.simplify(fixed.local_epsilon() - sp.log(16)) == 0


def test_the_ends_are_the_worst_pair_of_the_table():
    table = sa.DiscreteLaplace(B=3, eps0="log(8)").table()
    n, eps = 40, "1/4"
    largest = max(
        sa.delta(table.blanket(str(i), str(j)), n=n, eps=eps).upper for i in range(4) for j in range(4) if i != j
    )
    ends = sa.delta(sa.DiscreteLaplace(B=3, eps0="log(8)"), n=n, eps=eps, method="blanket")
    assert largest == pytest.approx(ends.bound.upper, rel=1e-6)


REFERENCE = [
    (sa.PiecewiseMechanism(eps0=1), "1.705567596e-8"),
    (sa.SquareWave.optimal(eps0=1), "9.331417967e-9"),
    (sa.Staircase(g="0.3", eps0=1), "3.177954029e-8"),
    (sa.Staircase(g="0.7", eps0=1), "1.579265401e-8"),
    (sa.OneBitMean(eps0=1), "6.317247721e-8"),
    (sa.DiscreteLaplace(B=2, eps0=1), "1.705567596e-8"),
    (sa.DiscreteLaplace(B=10, eps0=1), "8.182003655e-9"),
    (sa.DiscreteLaplace(B=101, eps0=1), "7.901641327e-9"),
]


@pytest.mark.parametrize(("mechanism", "digits"), REFERENCE, ids=lambda v: repr(v))
def test_reference_numbers(mechanism, digits):
    found = sa.delta(mechanism, n=10**6, eps="0.00446", method="blanket").bound
    assert found.lower < float(Fraction(digits)) < found.upper
    assert found.upper / found.lower < 1 + 2e-6


@pytest.mark.parametrize("family", [sa.PiecewiseMechanism, sa.SquareWave, sa.Staircase])
def test_no_input_hides_in_the_reference_measure(family):
    """Windows do not tile the messages: others hold one of the ends."""
    assert family().inputs == ("x0", "x1")
    answer = sa.delta(family(**{**family.typical, "eps0": 1}), n=1000, eps="0.1")
    assert "average" not in str(answer.dataset)
    assert answer.lower > 0


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "x", 10**6])
def test_sizes_that_are_refused(wrong):
    with pytest.raises(sa.errors.SymampError, match="B"):
        sa.DiscreteLaplace(B=wrong)


def test_steps_that_are_refused():
    with pytest.raises(sa.errors.ArgumentError, match="g"):
        sa.Staircase(g=1)
    with pytest.raises(sa.errors.ArgumentError, match="below 1/2"):
        sa.Staircase(g=sa.Parameter("g", lower=0, upper=1))
    assert sa.Staircase.optimal(eps0="log(4)")["g"] == sp.Rational(1, 3)
