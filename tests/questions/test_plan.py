"""Plans: variances against exact sums over explicit tables, ranks, equal central privacy, and all rounds together."""

import contextlib
import json
import math
from fractions import Fraction
from io import StringIO
from itertools import product

import numpy as np
import pytest
import sympy as sp
from oracle.histograms import hadamard_response, randomized_response, subset_selection, unary_encoding
from rich.console import Console

import symamp as sa
from symamp.formulas.normal_form import normal
from symamp.planning.plan import candidates_for
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


def test_variances_of_protocols_are_those_of_the_descriptions():
    """What a protocol declares against (p, q) that are derived from orbits, as formulas."""
    checked = set()
    for slug, family in catalogue().items():
        with contextlib.suppress(sa.errors.SupportMismatchError):
            p, q = family().support_probabilities()
            assert normal(family().variance() - q * (1 - q) / (p - q) ** 2) == 0
            assert normal(family().variance(frequency=1) - p * (1 - p) / (p - q) ** 2) == 0
            checked.add(slug)
    assert {"krr", "oue", "rappor", "subset-selection", "hadamard-response", "local-hashing", "cms"} <= checked


def test_one_bit_of_a_mean():
    """The largest variance of (bit - a)/s over x, by hand at t = 3: a = 1/4, s = 1/2, bit of variance at most 1/4."""
    assert variance_of(sa.OneBitMean(eps0="log(3)"), "mean") == 1
    assert variance_of(sa.Laplace(eps0=2), "mean") == sp.Rational(1, 2)
    assert sa.Laplace(eps0=2).message_bits() is None


def test_a_number_of_categories_may_be_that_of_numpy():
    assert candidates_for("page", np.int64(16)) == candidates_for("page", 16)


FAMILIES = [sa.RandomizedResponse(k=16), sa.UnaryEncoding.oue(D=16), sa.HadamardResponse(K=32)]


def test_candidates_have_equal_central_privacy_and_are_ranked():
    found = sa.plan({"page": FAMILIES}, n=10**6, eps="0.05", delta="1e-8", method="blanket")
    efficient = [c for c in found.candidates if c.is_efficient]
    spread = [c.variance for c in efficient]
    assert spread == sorted(spread)
    assert found.candidates[: len(efficient)] == tuple(efficient)
    for c in found.candidates:
        assert c.budget.private.upper <= 1e-8
        assert c.eps0 < c.budget.upper
        assert c.is_efficient or any(b.variance <= c.variance and b.bits <= c.bits for b in efficient)
    first, second = (line.split("┃")[4].strip() for line in str(found).splitlines()[1:3])
    assert (first, second) == ("standard", "deviation")
    assert found._repr_html_().count("<tr>") == 4
    shown = json.loads(json.dumps(found.to_dict()))
    assert len(shown["rows"]) == 3
    assert shown["private"]["upper"] <= 1e-8
    assert found.answer.upper == sa.epsilon(found.mechanisms["page"], n=10**6, delta="1e-8", method="blanket").upper


def test_a_table_of_80_columns_breaks_no_name():
    found = sa.plan({"browser": FAMILIES}, n=10**6, eps="0.05", delta="1e-8", method="blanket", effort="quick")
    out = StringIO()
    Console(file=out, width=80).print(found.table())
    assert max(len(line) for line in out.getvalue().splitlines()) <= 80
    assert all(f"┃{c.name}" in out.getvalue().replace("│", "┃") for c in found.candidates)


@pytest.mark.slow
def test_attributes_and_rounds_are_certified_together():
    shapes = {"page": [sa.RandomizedResponse(k=4)], "agrees": {"coin": sa.RandomizedResponse(k=2)}}
    found = sa.plan(shapes, n=10**5, eps=1, delta="1e-8", rounds=5, method="blanket")
    assert list(found.mechanisms) == ["page", "agrees"]
    assert found.composition.count == 10
    assert found.private.upper <= 1e-8
    assert 0.8 < found.answer.lower < found.answer.upper < 1.001
    parts = [sa.profile(m, n=10**5, method="blanket").rounds(5) for m in found.mechanisms.values()]
    assert sa.compose(parts) == found.composition
    for c in found.candidates:
        alone = sa.profile(c.family.at(eps0=c.eps0), n=10**5, method="blanket").rounds(10)
        assert alone.delta(1).upper <= 1e-8
    assert found.best["agrees"].name == "coin"
    assert [row[0] for row in found.rows()] == ["page", "agrees"]


@pytest.mark.slow
def test_the_error_is_drawn_against_eps():
    pytest.importorskip("matplotlib")
    found = sa.plan({"page": FAMILIES[:2]}, n=10**6, eps=1, delta="1e-8", rounds=3, method="blanket")
    axes = found.plot()
    assert len(axes.get_legend_handles_labels()[1]) == 2
    (line, *_) = axes.lines
    eps, error = line.get_data()
    assert list(eps) == sorted(eps)
    assert list(error) == sorted(error, reverse=True)


def test_a_candidate_without_an_estimator_comes_last_and_has_no_error():
    families = {"private": sa.PrivUnit(c="1/4"), "coin": sa.RandomizedResponse(k=2)}
    found = sa.plan({"x": families}, n=10**4, eps="0.5", delta="1e-6", method="blanket")
    assert [c.name for c in found.candidates] == ["coin", "private"]
    assert found.candidates[1].standard_deviation is None
    assert not found.candidates[1].is_efficient


@pytest.mark.parametrize("slug", sorted(catalogue()))
def test_messages_are_counted_as_in_the_tables(slug):
    for sizes in catalogue()[slug].small[:3]:
        member = catalogue()[slug](**sizes)
        bits = member.message_bits()
        if bits is None:
            assert slug in {"piecewise", "priv-unit", "square-wave", "staircase", "wheel"}
        else:
            assert float(bits) == pytest.approx(math.log2(len(member.table().messages)), rel=1e-12)


def test_shapes_have_candidates():
    found = [repr(f) for f in candidates_for("x", 16).values()]
    assert len(found) == 4
    assert any("D=16" in text for text in found)
    assert "OneBitMean" in candidates_for("x", "number")
    assert len(candidates_for("x", 2)) == 3


@pytest.mark.slow
def test_means():
    shapes = {"minutes": [sa.OneBitMean(), sa.Laplace()]}
    found = sa.plan(shapes, n=10**4, eps="0.5", delta="1e-6")
    assert {c.bits for c in found.candidates} == {1.0, None}


@pytest.mark.parametrize(
    "attributes",
    [
        {1: 2, "1": 3},
        {},
        {"x": []},
        {"x": 1},
        {"x": "median"},
        {"x": True},
        {"x": [3]},
        [sa.RandomizedResponse(k=3)],
        {"x": {}},
    ],
)
def test_refusals(attributes):
    with pytest.raises(sa.errors.ArgumentError):
        sa.plan(attributes, n=100, eps=1, delta="1e-6")


@pytest.mark.parametrize("second", [[sa.RandomizedResponse(k=4, eps0=1)], [sa.Cauchy()], [sa.PureLDP()]])
def test_a_plan_is_refused_before_work_is_done(second, monkeypatch):
    monkeypatch.setattr("symamp.planning.plan.largest_near", None)
    with pytest.raises(sa.errors.SymampError, match=r"free|method"):
        sa.plan({"first": 4, "second": second}, n=100, eps=1, delta="1e-6", method="blanket")


def test_lost_reports_make_the_error_larger():
    given = {"attributes": {"x": [sa.RandomizedResponse(k=4)]}, "n": 10**4, "eps": 1, "delta": "1e-6"}
    some = sa.plan(**given, method="blanket", participation=sa.participation(dropout="1/5"))
    (found,) = some.candidates
    assert found.variance == pytest.approx(float(found.family.at(eps0=found.eps0).variance()) / 8000)
    assert "dropout=1/5" in some.to_dict()["participation"]


@pytest.mark.slow
def test_budgets_that_differ_much_are_scaled_to_the_goal():
    """With leaks eps is that of largest losses: both attributes together need smaller budgets than each of its kind."""
    families = {"page": [sa.RandomizedResponse(k=16)], "minutes": [sa.OneBitMean()]}
    some = sa.participation(leaks="1/1000")
    found = sa.plan(families, n=10**6, eps=1, delta="1e-8", participation=some)
    assert math.log(found.mechanisms["page"].local_ratio()) < 0.99 * found.best["page"].eps0
    assert found.private.upper <= 1e-8
    assert 0.99 < found.answer.lower < found.answer.upper <= 1
