"""Numbers printed before this package could give them, of inputs on an interval: by definitions, and its answers."""

import json
from itertools import combinations_with_replacement, permutations
from math import cosh, e, exp, sinh
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, optimize

import symamp as sa
from symamp.randomizers.catalogue import by_name
from tests.sampled import some

ENDS = json.loads((Path(__file__).parent / "interval_values.json").read_text(encoding="utf-8"))
"""Mechanism, parameters, n, delta, the lower end of eps, and the upper one where it is asked for."""


def density(y, x):
    return 0.5 * np.exp(-np.abs(y - x))


class Cell:
    """Laplace noise for inputs in [0, L]: the input in the middle of the first or the last cell of length h."""

    def __init__(self, L, h, is_first):
        self.L, self.h, self.left = L, h, 0.0 if is_first else L - h
        self.alpha = self.beta = sinh(h / 2) / sinh(h)
        self.eta, self.top = 1.0 - 1.0 / cosh(h / 2), sinh(h / 2) ** 2 / sinh(h)
        self.least = 0.5 * exp(-L)

    def mixture(self, y):
        ends = self.alpha * density(y, self.left), self.beta * density(y, self.left + self.h)
        return sum(ends) / (1.0 - self.eta)

    def rest(self, y):
        return density(y, self.left + self.h / 2) - (1.0 - self.eta) * self.mixture(y)

    def integral(self, f):
        """The integral over all messages, piece by piece."""
        kinks = sorted({-60.0, 0.0, self.left, self.left + self.h / 2, self.left + self.h, self.L / 2, self.L})
        pieces = zip(kinks, [*kinks[1:], self.L + 60.0], strict=True)
        return sum(integrate.quad(f, *piece, epsabs=1e-16, epsrel=1e-13, limit=200)[0] for piece in pieces)

    def explicit(self, s, kappa, is_above):
        v = s * self.top / self.least
        if is_above:
            bent = self.least * self.h * (exp(v) - 1 - v - v * v / 2) / v
            return 1 - s * kappa + 0.5 * (s * (self.eta + kappa)) ** 2 * exp(self.L) + bent
        tau = self.eta - kappa
        squares = 0.5 * (s * tau) ** 2 * exp(self.L + s * tau * exp(self.L))
        return 1 - s * kappa + squares + s * s * self.h * self.top**2 / (6 * self.least)

    def exact(self, s, kappa, is_above):
        def change(y):
            m = 0.5 * exp(-max(y, self.L - y))
            sign = 1.0 if is_above else -1.0
            tau = self.eta + kappa if is_above else self.eta - kappa
            return m * np.expm1(s * sign * (self.rest(y) - tau * self.mixture(y)) / m)

        return 1.0 + self.integral(change)


@pytest.mark.parametrize(
    ("h", "eta", "top", "square"),
    [
        (1 / 8, 0.0019499511274648, 0.031209373373756, 4.0563248527036e-5),
        (1 / 32, 0.00012205789609842, 0.0078118642792044, 6.356587196649e-7),
    ],
)
def test_green_functions(h, eta, top, square):
    cell = Cell(1.0, h, is_first=True)
    assert cell.eta == pytest.approx(eta, rel=1e-12)
    assert cell.integral(cell.rest) == pytest.approx(eta, rel=1e-9)
    assert cell.top == pytest.approx(top, rel=1e-12)
    assert cell.rest(h / 2) == pytest.approx(top, rel=1e-12)
    assert cell.integral(lambda y: cell.rest(y) ** 2) == pytest.approx(square, rel=1e-9)


REMAINDERS = [  # L, h, s, kappa, n; above and below by the explicit bound, then exact; the bounds on the divergence
    (1.0, 1 / 8, 3.0, 0.0008, 10**4, (0.99882576710845, 0.99860920611248, 0.99858534596869, 0.99840057645591),
     (9.68186870569e-11, 1.1072328469967e-11, 8.7190689905561e-12, 1.3702984750001e-12)),
    (4.0, 1 / 32, 0.5, 3.6e-5, 10**6, (0.9999918573055, 0.99999072739283, 0.99999133711694, 0.99998962735727),
     (2.13990171645e-10, 6.9131298765e-11, 1.27197011743e-10, 2.30107434933e-11)),
]  # fmt: skip


@pytest.mark.parametrize(("L", "h", "s", "kappa", "n", "values", "bounds"), REMAINDERS)
def test_remainders(L, h, s, kappa, n, values, bounds):
    first, last = Cell(L, h, is_first=True), Cell(L, h, is_first=False)
    found = [first.explicit(s, kappa, True), last.explicit(s, kappa, False)]
    found += [first.exact(s, kappa, True), last.exact(s, kappa, False)]
    assert found == pytest.approx(values, rel=2e-13)
    assert [x**n / (n * e * s) for x in found] == pytest.approx(bounds, rel=1e-6)


@pytest.mark.parametrize(
    ("n", "is_above", "explicit", "exact"),
    [
        (10**4, True, 7.73e-4, 6.96e-4),
        (10**4, False, 7.02e-4, 6.11e-4),
        (10**6, True, 6.418e-5, 5.887e-5),
        (10**6, False, 6.359e-5, 5.813e-5),
    ],
)
def test_least_kappa(n, is_above, explicit, exact):
    """For a remainder of 2e-10, L = 1, h = 1/8."""
    cell = Cell(1.0, 1 / 8, is_first=is_above)

    def least(mgf):
        def excess(kappa):
            def height(log_s):
                return n * np.log(mgf(exp(log_s), kappa, is_above)) - log_s

            return optimize.minimize_scalar(height, bounds=(-2.0, 6.0), method="bounded").fun - np.log(2e-10 * n * e)

        return optimize.brentq(excess, 0.7 * explicit, 1.2 * explicit, rtol=1e-4)

    assert least(cell.explicit) == pytest.approx(explicit, rel=1.5e-3)
    assert least(cell.exact) == pytest.approx(exact, rel=1.5e-3)


def test_grids_of_other_inputs():
    for places, etas in (
        ((0, 0.055965, 0.5, 1 - 0.055965, 1), (3.9138e-4, 0.0241497)),
        ((0, 0.056101, 0.717948, 4 - 0.717948), (3.9329e-4, 0.0523633, 0.4847344)),
    ):
        lost = [1 - 1 / cosh(h / 2) for h in np.diff(places)]
        assert lost[: len(etas)] == pytest.approx(etas, rel=3e-5)


@pytest.mark.parametrize(
    ("slug", "sizes", "eps0", "mass", "share"),
    [
        ("square-wave", {"b": "1/4"}, 1, 0.63582467285126, 0.21194155761709),
        ("square-wave", {"b": "1/4"}, 2, 0.3195209367576, 0.1065069789192),
        ("square-wave", {"b": "1/4"}, 4, 0.053005266042144, 0.017668422014048),
        ("piecewise", {}, 1, 0.60653065971263, 0.22898999091449),
        ("piecewise", {}, 2, 0.36787944117144, 0.098938019801447),
        ("piecewise", {}, 4, 0.13533528323661, 0.016132361214495),
        ("staircase", {"g": "1/3"}, 1, 0.5688383649313, 0.25092602850567),
        ("staircase", {"g": "1/3"}, 2, 0.27347452337735, 0.11371405499855),
        ("staircase", {"g": "1/3"}, 4, 0.044332859253792, 0.01783022623272),
    ],
)
def test_masses_of_two_levels(slug, sizes, eps0, mass, share):
    gamma = float(by_name(slug)(**sizes, eps0=eps0).blanket().gamma)
    assert gamma == pytest.approx(mass, rel=1e-12)
    assert (1 - gamma) / (exp(eps0) - 1) == pytest.approx(share, rel=1e-12)


@pytest.mark.parametrize(
    ("L", "cells", "n", "eps", "value"),
    [(2.0, 8, 2, 0.3, 0.465328), (2.0, 6, 3, 0.3, 0.396469), (4.0, 6, 3, 2.5, 0.343504)],
)
def test_tiny_cases(L, cells, n, eps, value):
    """Laplace noise in cells: all pairs and all data sets of nine inputs; (0, 1) is worst."""
    ends = np.concatenate([[-np.inf], np.linspace(0.0, L, cells + 1), [np.inf]])

    def below(y):
        return np.where(y < 0, 0.5 * np.exp(np.minimum(y, 0.0)), 1.0 - 0.5 * np.exp(-np.maximum(y, 0.0)))

    rows = np.array([np.diff(below(ends - x)) for x in np.linspace(0.0, L, 9)])

    def divergence(a, b, others):
        g, whole = rows[a] - exp(eps) * rows[b], 0.0
        for words in combinations_with_replacement(range(len(g)), n):
            terms = (g[first] * rows[others, rest].prod() for first, *rest in set(permutations(words)))
            whole += max(sum(terms), 0.0)
        return whole

    worst = max(divergence(0, 8, others) for others in combinations_with_replacement(range(9), n - 1))
    assert worst == pytest.approx(value, rel=2e-6)
    assert divergence(1, 7, (0,) * (n - 1)) < worst


@pytest.mark.parametrize(("slug", "parameters", "n", "delta", "lower", "upper"), some(map(tuple, ENDS), 3), ids=str)
def test_answers_hold_what_is_printed(slug, parameters, n, delta, lower, upper):
    answer = sa.epsilon(by_name(slug)(**parameters), n=n, delta=delta)
    assert answer.upper >= lower * (1 - 1e-6)
    assert answer.lower >= lower * (1 - 4e-4)
    assert upper is None or answer.lower <= upper
