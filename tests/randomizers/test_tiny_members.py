"""No end is false: explicit tiny members of every family, all inputs, all pairs, all data sets, in fractions."""

from fractions import Fraction
from math import comb

import pytest

import symamp as sa
from symamp.bounds.registry import BOUNDS
from symamp.randomizers.catalogue import by_name, catalogue
from tests.oracle.histograms import local_ratio, multiset_laws, worst_true_divergence
from tests.oracle.published import coarse, krr, merged, subset_selection, tiny
from tests.sampled import some

MOST, MOST_QUICKLY = 40_000, 1_500
"""Data sets times histograms: up to how many of them a number of users is asked for."""
PROVED = [name for name, bound in BOUNDS.items() if bound.proof_status.is_guarantee]


def orders(rows):
    """Between the divergence at 0 and the local budget."""
    ratio = local_ratio(rows) or Fraction(4)
    return [1 + (ratio - 1) * share for share in (Fraction(0), Fraction(1, 5), Fraction(3, 5))]


def truths(rows, most):
    """(n, E, the largest divergence of all data sets)."""
    rows = merged(rows)
    for n in (1, 2, 3, 4):
        if n > 2 and comb(len(rows) + n - 1, n) * comb(len(rows[0]) + n - 1, n) > most:
            break
        laws = multiset_laws(rows, n)
        for E in orders(rows):
            yield n, E, worst_true_divergence(rows, n, E, laws)[0]


def of(slug, sizes):
    return by_name(slug)(
        **{name: str(value) if isinstance(value, Fraction) else value for name, value in sizes.items()}
    )


def check(mechanism, n, E, truth, *, lower=True, **options):
    found = sa.delta(mechanism, n=n, eps=f"log({E})", **options)
    assert Fraction(found.upper) >= truth
    assert not lower or Fraction(found.lower) <= truth * (1 + Fraction(1, 10**12))


def test_every_family_has_a_tiny_member():
    assert {slug for slug, _, _ in tiny()} >= set(catalogue())


FIRST = {slug: sizes for slug, sizes, _ in reversed([*tiny()])}


@pytest.mark.parametrize(("slug", "sizes", "rows"), some(tiny(), lambda case: FIRST[case[0]] == case[1]))
def test_brackets_hold_the_worst_of_all_data_sets(slug, sizes, rows):
    mechanism = of(slug, sizes)
    for n, E, truth in truths(rows, MOST_QUICKLY if FIRST[slug] == sizes else MOST):
        check(mechanism, n, E, truth)


@pytest.mark.slow
@pytest.mark.parametrize(("slug", "sizes", "rows"), [*tiny()])
def test_every_proved_bound_is_above_all_data_sets(slug, sizes, rows):
    mechanism = of(slug, sizes)
    methods = [name for name in PROVED if BOUNDS[name].unsupported_reason(mechanism) is None]
    assert methods
    for n, E, truth in truths(rows, MOST_QUICKLY):
        for method in methods:
            check(mechanism, n, E, truth, method=method)


@pytest.mark.parametrize(("slug", "sizes", "rows"), some(coarse(), 1))
def test_noise_seen_through_cells_is_below_the_upper_end(slug, sizes, rows):
    mechanism = of(slug, sizes)
    for n, E, truth in truths(rows, MOST_QUICKLY):
        check(mechanism, n, E, truth, lower=False)


@pytest.mark.parametrize("t", [2, 5])
def test_what_holds_for_all_randomizers_holds_for_these(t):
    mechanism = sa.PureLDP(eps0=f"log({t})")
    for rows in (krr(2, t), krr(3, t), subset_selection(4, 2, t)):
        for n, E, truth in truths(rows, MOST_QUICKLY):
            check(mechanism, n, E, truth, lower=False)
