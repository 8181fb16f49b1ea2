"""Families and the inputs of the other users: their published tables, against all data sets in fractions."""

from fractions import Fraction
from functools import cache
from math import comb

import pytest
import sympy as sp

import symamp as sa
from symamp.formulas.normal_form import normal
from symamp.randomizers.catalogue import catalogue
from tests.oracle.histograms import local_ratio, multiset_laws, worst_true_divergence

FAMILIES = (
    "cms",
    "collision",
    "collision-narrow",
    "duchi-vector",
    "duchi-vector-corrected",
    "duchi-vector-even",
    "harmony",
    "hcms",
    "pckv-grr",
    "piecewise",
    "priv-kv",
    "priv-unit",
    "sampling-rappor",
    "square-wave",
    "staircase",
    "subset-exponential",
    "wheel",
)
MOST = 40_000
"""Data sets times histograms."""


@cache
def rows_of(slug, i):
    member = catalogue()[slug](**catalogue()[slug].small[i])
    table = member.table()
    orbits = table.orbits(table.inputs)
    rows = {tuple(Fraction(str(normal(o.mass(k)))) for o in orbits) for k in range(len(table.inputs))}
    return member, sorted(rows)


def cases():
    for slug in FAMILIES:
        for i in range(len(catalogue()[slug].small)):
            yield pytest.param(slug, i, id=f"{slug}-{i}")


@pytest.mark.parametrize(("slug", "i"), list(cases()))
def test_the_bracket_holds_the_worst_of_all_data_sets(slug, i):
    """All pairs, all inputs of the others, up to four users: no end is false."""
    member, rows = rows_of(slug, i)
    messages = len(rows[0])
    for n in (2, 3, 4):
        if comb(len(rows) + n - 1, n) * comb(messages + n - 1, n) > MOST:
            break
        laws = multiset_laws(rows, n)
        ratio = local_ratio(rows)
        for E in (Fraction(1), 1 + (ratio - 1) / 4):
            truth = worst_true_divergence(rows, n, E, laws)[0]
            found = sa.delta(member, n=n, eps=sp.log(sp.Rational(E.numerator, E.denominator)))
            assert Fraction(found.lower) <= truth * (1 + Fraction(1, 10**12))
            assert Fraction(found.upper) >= truth


WORST = {  # slug, sizes, n: the data sets that are shown contain the worst ones of all
    "square-wave": 0,
    "piecewise": 0,
    "staircase": 0,
    "duchi-vector-corrected": 0,
}


@pytest.mark.parametrize("slug", WORST)
def test_two_users_the_worst_data_set_is_among_those_shown(slug):
    member, rows = rows_of(slug, WORST[slug])
    E = Fraction(5, 4)
    truth = worst_true_divergence(rows, 2, E)[0]
    found = sa.delta(member, n=2, eps=sp.log(sp.Rational(5, 4)))
    assert found.lower == pytest.approx(float(truth), rel=1e-9)


@pytest.mark.parametrize(
    ("slug", "sizes", "least"),
    [
        ("square-wave", {"b": "1/4"}, 0.04981048),
        ("piecewise", {}, 0.04900603),
        ("staircase", {"g": "1/4"}, 0.04813520),
        ("duchi-vector-corrected", {"m": 8}, 0.04634969),
        ("priv-kv", {"s": 4, "d": 64}, 0.00827009),
    ],
)
def test_lower_ends_of_third_inputs(slug, sizes, least):
    """n = 10^4, delta = 1e-8: the others hold an input between the two, or one that few messages tell from either."""
    assert sa.epsilon(catalogue()[slug](**sizes, eps0=1), n=10**4, delta=1e-8).lower >= least


def test_a_window_in_the_middle():
    assert sa.epsilon(sa.SquareWave(b="1/4", eps0=2), n=10**4, delta=1e-6).lower >= 0.10766
