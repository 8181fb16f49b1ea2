"""Choosing a mechanism: variances against exact sums over explicit tables, ranks, and equal central privacy."""

import math
from fractions import Fraction
from itertools import product

import pytest
import sympy as sp
from oracle.histograms import hadamard_response, randomized_response, subset_selection, unary_encoding

import symamp as sa
from symamp.randomizers.catalogue import catalogue
from symamp.randomizers.mechanism import variance_of

T = Fraction(3)


def counted(rows, supports):
    """(p, q) from a table and the messages that count for each input; q must be the same for all other inputs."""
    p = {sum(rows[x][y] for y in supports[x]) for x in range(len(rows))}
    q = {sum(rows[z][y] for y in supports[x]) for x in range(len(rows)) for z in range(len(rows)) if z != x}
    assert len(p) == len(q) == 1
    return p.pop(), q.pop()


def likely(rows):
    return [[y for y in range(len(rows[0])) if row[y] == max(row)] for row in rows]


def ones(D):
    return [[y for y, word in enumerate(product((0, 1), repeat=D)) if word[x]] for x in range(D)]


OUE = unary_encoding(3, Fraction(1, 2), 1 / (T + 1))
KNOWN = [
    (sa.RandomizedResponse(k=4, eps0="log(3)"), randomized_response(4, T), None),
    (sa.SubsetSelection(d=4, k=2, eps0="log(3)"), subset_selection(4, 2, T), None),
    (sa.HadamardResponse(K=8, eps0="log(3)"), hadamard_response(8, T), None),
    (sa.UnaryEncoding.oue(D=3, eps0="log(3)"), OUE, ones(3)),
]


@pytest.mark.parametrize(("mechanism", "rows", "supports"), KNOWN)
def test_variances_against_tables(mechanism, rows, supports):
    p, q = counted(rows, supports or likely(rows))
    assert tuple(Fraction(int(e.p), int(e.q)) for e in mechanism.support_probabilities()) == (p, q)
    value = variance_of(mechanism, "frequency")
    assert Fraction(int(value.p), int(value.q)) == q * (1 - q) / (p - q) ** 2


def test_one_bit_of_a_mean():
    """The largest variance of (bit - a)/s over x, by hand at t = 3: a = 1/4, s = 1/2, bit of variance at most 1/4."""
    assert variance_of(sa.OneBitMean(eps0="log(3)"), "mean") == 1
    assert variance_of(sa.Laplace(eps0=2), "mean") == sp.Rational(1, 2)
    assert sa.Laplace(eps0=2).message_bits() is None


def test_candidates_have_equal_central_privacy_and_are_ranked():
    families = [sa.RandomizedResponse(k=16), sa.UnaryEncoding.oue(D=16), sa.HadamardResponse(K=32)]
    found = sa.choose(families, n=10**6, eps="0.05", delta="1e-8", method="blanket")
    spread = [c.variance for c in found.candidates]
    assert spread == sorted(spread)
    for c in found.candidates:
        assert c.budget.private.upper <= 1e-8
        assert c.eps0 < c.budget.upper
    assert found.best.is_efficient
    assert "standard deviation" in str(found)
    assert found._repr_html_().count("<tr>") == 4
    assert len(found.to_dict()["rows"]) == 3


@pytest.mark.parametrize("slug", sorted(catalogue()))
def test_messages_are_counted_as_in_the_tables(slug):
    for sizes in catalogue()[slug].small[:3]:
        member = catalogue()[slug](**sizes)
        bits = member.message_bits()
        if bits is None:
            assert slug in {"piecewise", "priv-unit", "square-wave", "staircase", "wheel"}
        else:
            assert float(bits) == pytest.approx(math.log2(len(member.table().messages)), rel=1e-12)


def test_means():
    found = sa.choose([sa.OneBitMean(), sa.Laplace()], n=10**4, eps="0.5", delta="1e-6", utility="mean")
    assert {c.bits for c in found.candidates} == {1.0, None}


@pytest.mark.parametrize(
    ("families", "utility", "error"),
    [
        ([], "frequency", sa.errors.ArgumentError),
        ([sa.RandomizedResponse(k=3)], "median", sa.errors.ArgumentError),
        ([sa.RandomizedResponse(k=3)], "mean", sa.errors.SupportMismatchError),
        ([sa.OneBitMean()], "frequency", sa.errors.SupportMismatchError),
    ],
)
def test_refusals(families, utility, error):
    with pytest.raises(error):
        sa.choose(families, n=100, eps=1, delta="1e-6", utility=utility)
