"""Combined mechanisms against explicit product tables in exact rationals, and against themselves."""

import json
import pickle
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpq
from oracle.histograms import random_table, randomized_response, subset_selection, worst_true_divergence
from oracle.joint import comparisons, components, joint_table, parallel_table

import symamp as sa
from symamp.decompositions import composed
from symamp.decompositions.composed import Composed
from symamp.decompositions.to_law import level_of
from symamp.decompositions.worst_pair import dominating_pair
from symamp.randomizers.combined import part_triple
from symamp.sums.divergence import one_user_divergence
from tests.exactly import as_fraction, log_of

ROOT = Path(__file__).resolve().parents[2]
RR2, RR3 = (sa.RandomizedResponse(k=k, eps0="log(3)") for k in (2, 3))
SUBSETS = sa.SubsetSelection(d=4, k=2, eps0="log(3)")
KNOWN = {RR2: randomized_response(2, Fraction(3)), RR3: randomized_response(3, Fraction(3))}
KNOWN[SUBSETS] = subset_selection(4, 2, Fraction(3))


def fractions(entries):
    return list(map(as_fraction, entries))


def exact(found):
    law = Counter()
    for r0, r1, mass in found.components:
        a, b, m = fractions((r0, r1, mass))
        assert (a, b) not in law
        law[a, b] += m
    return dict(law), sorted(tuple(fractions(both)) for both in found.singular)


def random_parts(seed, zeros=False):
    rng = Random(seed)
    tables = [random_table(rng, zeros=zeros) for _ in range(2)]
    return [sa.FiniteMechanism(t) for t in tables], tables


def labels(parts, choice):
    return [p.inputs[i] for p, i in zip(parts, choice, strict=True)]


def compare(combined, inputs, rows, most=12):
    """Ordered pairs of inputs, drawn: blanket and data sets of the combination and of the product table."""
    named = dict(zip(inputs, combined.inputs, strict=True))
    pairs = [(i, j) for i in range(len(inputs)) for j in range(len(inputs)) if i != j]
    for i, j in Random(len(pairs)).sample(pairs, min(most, len(pairs))):
        x, z = named[inputs[i]], named[inputs[j]]
        assert exact(combined.blanket(x, z)) == components(rows, i, j)
        other = (i + j) % len(inputs)
        assert exact(combined.dataset(x, z, named[inputs[other]])) == components(rows, i, j, other)


@pytest.mark.parametrize("parts", [(RR2, RR3), (RR2, RR2), (RR2, RR2, RR2), (RR3, SUBSETS)])
def test_a_joint_is_the_product_table(parts):
    inputs, rows = joint_table([KNOWN[p] for p in parts])
    combined = sa.joint(*parts)
    compare(combined, inputs, rows)
    x0, x1 = combined.pairs()[0]
    assert exact(combined.blanket(x0, x1)) == components(rows, 0, len(inputs) - 1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("zeros", [False, True])
def test_joints_and_parallels_of_random_tables(seed, zeros):
    parts, tables = random_parts(seed, zeros)
    inputs, rows = joint_table(tables)
    compare(sa.joint(parts), inputs, rows, 6)
    share = Fraction(2, 7)
    inputs, rows = parallel_table([share, 1 - share], tables)
    compare(sa.parallel([(share, parts[0]), (1 - share, parts[1])]), inputs, rows, 6)


@pytest.mark.parametrize("parts", [(RR2, RR2), (RR2, RR3)])
def test_tables_are_those_of_the_oracle(parts):
    _, rows = joint_table([KNOWN[p] for p in parts])
    assert [fractions(row) for row in sa.joint(*parts).table().rows] == rows


def test_theorem_2_by_exact_comparisons():
    found = list(comparisons((2, 3), (0.1, 1, 4), 6))
    assert len(found) > 600
    assert all(holds for *_, holds in found)


@pytest.mark.parametrize(
    ("m", "eps0", "eps", "low", "high"),
    [
        (sa.UnaryEncoding.rappor(D=16, eps0="1/32"), 1, ".00068", 4.07288620e-10, 4.07288971e-10),
        pytest.param(
            sa.UnaryEncoding.rappor(D=16, eps0="1/8"), 4, ".0055", 1.40076060e-8, 1.40076181e-8, marks=pytest.mark.slow
        ),
        (sa.RandomizedResponse(k=10, eps0="1/8"), 4, ".0018", 6.38266539e-10, 6.38267088e-10),
    ],
)
def test_reference_numbers_of_32_attributes(m, eps0, eps, low, high):
    many = sa.joint([m] * 32)
    assert many.local_ratio() == sp.exp(eps0)
    answer = sa.delta(many, n=10**6, eps=eps, method="blanket")
    assert low * (1 - 1e-8) <= answer.bound.upper
    assert answer.bound.lower <= high * (1 + 1e-8)
    assert answer.bound.upper / answer.bound.lower < 1 + 2e-6
    assert many.blanket().size <= 33**2


@pytest.fixture
def coarse(monkeypatch):
    """Products are merged from a few components on, to some dozen lattice points."""
    monkeypatch.setattr(composed, "MOST_CELLS", 5)
    monkeypatch.setattr(composed, "_LATTICE_ATOMS", 60)


def parts_of(seed):
    rng = Random(seed)
    return [
        [[Fraction(a, 2 * a + b + 1), Fraction(a + 1, 2 * a + b + 1), Fraction(b, 2 * a + b + 1)] for a, b in rows]
        for rows in ([(rng.randint(1, 5), rng.randint(1, 5)) for _ in "ab"] for _ in "cde")
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("nested", [False, True])
def test_merged_laws_enclose_the_exact_ones(coarse, seed, nested):
    """Blanket and data sets of three parts, in fractions by the oracle, lie between the laws below and above."""
    tables = parts_of(seed)
    parts = [sa.FiniteMechanism(t) for t in tables]
    whole, rows = sa.joint(parts), joint_table(tables)[1]
    if nested:
        half = Fraction(1, 2)
        whole = sa.parallel([("1/2", sa.joint(parts[:2])), ("1/2", parts[2])])
        rows = parallel_table([half, half], [joint_table(tables[:2])[1], tables[2]])[1]
    x0, x1 = whole.inputs[0], whole.inputs[-1]
    for found, other in ((whole.blanket(x0, x1), None), (whole.dataset(x0, x1, x1), len(rows) - 1)):
        law = components(rows, 0, len(rows) - 1, other)[0]
        below, above = found.enclosing_laws
        assert len(below.atoms) < 60
        for E in (Fraction(1), Fraction(11, 10), Fraction(3, 2)):
            level = level_of(log_of(E))
            true = sum(m * max(a - E * b, 0) for (a, b), m in law.items())
            low, high = (one_user_divergence(found, level) for found in (below, above))
            value = arb(fmpq(true.numerator, true.denominator))
            assert not low > value
            assert not value > high
            assert high < 1.2 * low + 0.01


@pytest.mark.parametrize("seed", range(2))
def test_the_truth_lies_inside_where_components_are_merged(coarse, seed):
    tables = [t[:2] for t in parts_of(seed)[:2]]
    whole = sa.joint([sa.FiniteMechanism(t) for t in tables])
    rows = joint_table(tables)[1]
    for E in (Fraction(1), Fraction(5, 4)):
        answer = sa.delta(whole, n=2, eps=log_of(E))
        true = float(worst_true_divergence(rows, 2, E)[0])
        assert answer.lower <= true * (1 + 1e-12)
        assert true <= answer.upper * (1 + 1e-12)
        assert answer.lower > 0.5 * answer.upper


@pytest.mark.slow
def test_unequal_parts_are_merged_to_a_bounded_number_of_atoms(monkeypatch):
    """Against 12 parts on a common lattice, which need no merging: budgets that differ from theirs by a millionth."""
    monkeypatch.setattr(composed, "_LATTICE_ATOMS", 1500)
    sizes = [1, 2, 3, 2] * 3
    near = sa.joint([sa.RandomizedResponse(k=10, eps0=f"{k / 16 + i * 1e-7:.7f}") for i, k in enumerate(sizes)])
    exact = sa.joint([sa.RandomizedResponse(k=10, eps0=f"{k}/16") for k in sizes])
    found, known = (sa.delta(m, n=10**6, eps="1/1000", method="blanket") for m in (near, exact))
    assert near.blanket().enclosing_laws is not None
    assert exact.blanket().enclosing_laws is None
    assert found.bound.lower * (1 - 1e-4) <= known.bound.upper
    assert known.bound.lower <= found.bound.upper * (1 + 1e-4)
    assert 0 < found.lower < found.bound.lower
    assert found.bound.upper < 2 * found.bound.lower
    assert "merged atoms" in found.evidence_above[0].evaluator
    assert "more than" in str(near.blanket())
    with pytest.raises(sa.errors.SymampError):
        found.certificate()


TABLE = sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/5", "1/4", "11/20"]])


@pytest.mark.parametrize(
    "whole",
    [
        sa.joint([sa.RandomizedResponse(k=4, eps0="1/2"), sa.RandomizedResponse(k=2, eps0=1)]),
        sa.joint([sa.RandomizedResponse(k=3, eps0=1), TABLE], neighbours="one_attribute"),
        sa.parallel([("1/3", sa.RandomizedResponse(k=4, eps0="1/2")), ("2/3", TABLE)]),
        sa.poisson_subsample(TABLE, "1/10"),
    ],
    ids=repr,
)
def test_small_combinations_are_asked_as_their_tables(whole):
    """Their blankets leave 4 to 28 percent; lower ends are data sets of the table."""
    found = sa.epsilon(whole, n=10**4, delta="1e-6")
    assert found.method == "all_data_sets"
    assert found.upper < 1.002 * found.lower
    assert found.upper < 0.97 * sa.epsilon(whole, n=10**4, delta="1e-6", method="blanket").upper
    assert set(whole.listed.inputs) == set(whole.inputs)


def test_merging_needs_ratios_above_zero(coarse):
    revealing = [[Fraction(1, 2), Fraction(1, 2), Fraction(0)], [Fraction(1, 4), Fraction(1, 3), Fraction(5, 12)]]
    with pytest.raises(sa.errors.ArgumentError, match="ratio of 0"):
        sa.delta(sa.joint([sa.FiniteMechanism(t) for t in (revealing, *parts_of(0)[:2] * 2)]), n=10, eps="1/10")


def test_only_pairs_that_differ_everywhere_are_compared_where_that_is_proved():
    both = sa.joint(RR3, SUBSETS)
    assert both.worst_is_all_different
    assert both.pairs() == (("(x0, x0)", "(x1, x1)"),)
    parts, _ = random_parts(1)
    loose = sa.joint(parts)
    assert all(dominating_pair(p) is None for p in parts)
    assert not loose.worst_is_all_different
    assert "not every part" in loose.compared
    assert "proved to be worst" in both._repr_html_()
    assert "one part" in sa.joint([RR3] * 2, neighbours="one_attribute").compared
    size = [len(p.inputs) for p in parts]
    assert len(loose.pairs()) == size[0] ** 2 * size[1] ** 2 - size[0] * size[1]


def test_one_attribute_protects_better_than_all():
    parts = [sa.RandomizedResponse(k=3, eps0="1/4")] * 4
    one, every = (sa.joint(parts, neighbours=kind) for kind in ("one_attribute", "all"))
    assert one.compared_ratio() == sp.exp(sp.Rational(1, 4))
    assert one.local_ratio() == sp.E  # other users may differ for all parts
    assert len(one.pairs()) == 1
    a, b = (sa.epsilon(m, n=10**4, delta="1e-6") for m in (one, every))
    assert a.upper < b.upper
    assert a.lower <= a.upper


def test_small_combinations_are_bounded_over_all_data_sets_by_their_tables():
    alone = sa.joint([RR2] * 2, neighbours="one_attribute")
    found = sa.epsilon(alone, n=10**6, delta="1e-6")
    assert found.method == "all_data_sets"
    assert found.upper < 1.001 * found.lower
    assert found.upper < 0.9 * sa.epsilon(alone, n=10**6, delta="1e-6", method="blanket").upper
    whole = sa.joint([RR2] * 2)
    truth = sa.exact.worst_dataset(whole.table(), 3, "0.2").value.lower
    for method in ("all_data_sets", "envelope"):
        assert sa.delta(whole, n=3, eps="0.2", method=method).upper >= truth
    # Only inputs that differ for one attribute: fewer pairs, and every input for the other users.
    assert len(sa.joint([RR3, RR2], neighbours="one_attribute").listed.pairs()) == 2 * (2 * 3 + 3 * 1)


@pytest.mark.parametrize("seed", range(3))
def test_trivial_combinations_and_order(seed):
    (m, other), _ = random_parts(seed)
    assert sa.joint(m) == m
    assert sa.parallel([(1, m), (0, other)]) == m
    assert sa.poisson_subsample(m, 1) == m
    E = "1/20"
    half = sa.delta(sa.parallel([("1/2", RR3), ("1/2", RR2)]), n=50, eps=E, method="blanket").bound
    ends = sorted((sa.delta(x, n=50, eps=E, method="blanket").bound for x in (RR2, RR3)), key=lambda b: b.lower)
    assert ends[0].lower <= half.upper
    assert half.lower <= ends[1].upper


@pytest.mark.parametrize("seed", range(6))
def test_a_mixture_of_comparable_parts_lies_between_them(seed):
    """One mechanism with two budgets: the smaller one is a function of the other's messages. Exact for few users."""
    rng = Random(seed)
    low, high = sorted(rng.sample(range(2, 9), 2))
    k, share, n = rng.randint(2, 4), Fraction(rng.randint(1, 9), 10), rng.randint(1, 3)
    parts = [sa.RandomizedResponse(k=k, eps0=f"log({t})") for t in (low, high)]
    mixed = sa.parallel([(share, parts[0]), (1 - share, parts[1])])
    eps = f"log({rng.choice(['1', '11/10', '3/2'])})"
    values = [sa.delta(m, n=n, eps=eps, method="blanket").most.fraction for m in (parts[0], mixed, parts[1])]
    assert values == sorted(values)
    assert sa.poisson_subsample(parts[1], share).blanket().gamma == 1 - share + share * parts[1].blanket().gamma


def test_a_mixture_need_not_lie_between_its_parts():
    """Found by exact comparisons of random tables: above both of its parts, and below both of them."""

    def table(*rows):
        return sa.FiniteMechanism([[sp.Rational(x) for x in row.split()] for row in rows])

    one, other = table("11/18 1/18 1/3", "3/5 1/5 1/5"), table("2/11 8/11 1/11", "8/15 1/3 2/15")
    mixed = sa.parallel([("1/2", one), ("1/2", other)])
    answers = [sa.delta(m, n=3, eps="log(3)", method="blanket") for m in (one, other, mixed)]
    exact = fmpq(1, 750), fmpq(0), fmpq(140051, 58806000)
    assert all(a.bound.lower <= float(x.p) / float(x.q) <= a.bound.upper for a, x in zip(answers, exact, strict=True))
    assert answers[2].bound.lower > max(answers[0].bound.upper, answers[1].bound.upper)
    one, other = table("7/12 5/12", "3/7 4/7"), table("7/16 1/16 1/2", "7/18 1/6 4/9")
    mixed = sa.parallel([("4/5", one), ("1/5", other)])
    answers = [sa.delta(m, n=2, eps="log(11/10)", method="blanket") for m in (one, other, mixed)]
    exact = fmpq(47, 720), fmpq(219, 2560), fmpq(1784291, 28224000)
    assert all(a.bound.lower <= float(x.p) / float(x.q) <= a.bound.upper for a, x in zip(answers, exact, strict=True))
    assert answers[2].bound.upper < min(answers[0].bound.lower, answers[1].bound.lower)


def test_symbols_are_left_and_put_in():
    k = sa.Parameter("k", lower=2, integer=True)
    pair = sa.joint([sa.RandomizedResponse(k=k)] * 2)
    assert [p.name for p in pair.parameters] == ["k", "eps0"]
    derived = pair.blanket()
    fixed = sa.joint([sa.RandomizedResponse(k=5, eps0="log(2)")] * 2)
    assert pair.at(k=5, eps0="log(2)") == fixed
    swap = {p.symbol: v for p, v in zip(pair.parameters, (5, sp.log(2)), strict=True)}
    masses = Counter()
    for c in derived.components:
        masses[c.ratio0.subs(swap), c.ratio1.subs(swap)] += sp.simplify(c.mass.subs(swap))
    assert dict(masses) == {(c.ratio0, c.ratio1): c.mass for c in fixed.blanket().components}


def test_nested():
    inner = sa.joint([RR2] * 2)
    nested = sa.joint(inner, RR2)
    flat = sa.joint([RR2] * 3)
    assert nested.blanket().gamma == flat.blanket().gamma
    assert exact(nested.blanket()) == exact(flat.blanket())
    mixed = sa.poisson_subsample(sa.parallel([("1/2", inner), ("1/2", RR3)]), "1/3")
    answer = sa.epsilon(mixed, n=10**4, delta="1e-6")
    assert 0 < answer.lower < answer.upper < sa.epsilon(inner, n=10**4, delta="1e-6").upper


def test_equal_inputs_of_a_part():
    same = part_triple(RR3, "x0", "x0", None)
    assert all(c.ratio0 == c.ratio1 for c in same.components)
    assert sum(c.mass for c in same.components) == RR3.blanket().gamma


def test_shown_and_sent():
    many = sa.joint([sa.RandomizedResponse(k=10, eps0="1/8")] * 16)
    derived = many.blanket()
    assert isinstance(derived, Composed)
    assert "taken 16 times" in str(derived)
    assert "^{16}" in derived._repr_latex_()
    answer = sa.delta(many, n=10**5, eps="1/100")
    assert pickle.loads(pickle.dumps(answer)) == answer
    assert repr(many).endswith("* 16)")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sa.joint(), "1 to"),
        (lambda: sa.joint(3), "a mechanism of symamp"),
        (lambda: sa.joint(RR2, RR2, neighbours="some"), "all, one_attribute"),
        (lambda: sa.parallel([("1/2", RR2)]), "sum to exactly 1"),
        (lambda: sa.parallel([("-1/2", RR2), ("3/2", RR2)]), ">= 0"),
        (lambda: sa.parallel([RR2]), "a pair"),
        (lambda: sa.poisson_subsample(RR2, 0), r"\(0, 1\]"),
        (
            lambda: sa.joint(
                sa.RandomizedResponse(k=2), sa.RandomizedResponse(k=sa.Parameter("k", lower=3, integer=True))
            ).at(d=2),
            "the free ones are",
        ),
        (
            lambda: sa.joint(
                sa.RandomizedResponse(), sa.RandomizedResponse(k=sa.Parameter("k", lower=3, integer=True))
            ),
            "one range",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(sa.errors.ArgumentError, match=message):
        make()


EXAMPLES = re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "combined_format.md").read_text(), re.DOTALL)


def test_files(tmp_path):
    file = tmp_path / "survey.json"
    file.write_text(EXAMPLES[0])
    survey = sa.load_mechanism(file)
    questions = [sa.RandomizedResponse(k=4, eps0="1/8")] * 8
    assert survey == sa.joint(sa.UnaryEncoding.oue(D=16, eps0="1/2"), *questions)
    parts = ("1/3", sa.RandomizedResponse(k=4, eps0=1)), ("2/3", sa.UnaryEncoding.rappor(D=8, eps0=1))
    assert sa.mechanism_from_json(json.loads(EXAMPLES[1])) == sa.poisson_subsample(sa.parallel(parts), "1/10")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sampled": {"rate": 1, "part": {"family": "krr"}}}, "joint, sampled"),
        ({"joint": [{}]}, "family or mechanism"),
        ({"joint": [{"family": "krr", "mechanism": {}}]}, "one of the keys family and mechanism"),
        ({"joint": [{"family": "krr", "times": 0}]}, "1 to 1000"),
    ],
)
def test_files_that_are_refused(change, message):
    with pytest.raises(sa.errors.FormatError, match=message):
        sa.mechanism_from_json({**json.loads(EXAMPLES[0]), **change})


def test_results_show_themselves_in_notebooks():
    few = sa.RandomizedResponse(k=3, eps0=0.1)
    curve = sa.profile(few, n=100).curve(eps=["0.01", "0.02"])
    assert curve._repr_html_().count("<tr>") == 3
    for found in (sa.profile(few, n=100), sa.least_n(few, eps="0.05", delta="1e-3"), sa.sum_law(few, n=8, eps="0.01")):
        assert "eps0=0.1" in found._repr_html_() or "law of S" in found._repr_html_()
    assert "eps0" in sa.RandomizedResponse(k=3)._repr_html_()


def test_formulas_take_arrays():
    evaluate = sa.joint([sa.RandomizedResponse(k=3)] * 2).blanket().lambdify("numpy")
    grid = np.array([[0.5, 1.0, 2.0], [0.1, 0.2, 0.3]])
    columns = [np.broadcast_to(m, grid.shape) for _, _, m in evaluate(eps0=grid)]
    alone = np.array([sum(float(m) for _, _, m in evaluate(eps0=float(x))) for x in grid.ravel()])
    np.testing.assert_allclose(sum(columns).ravel(), alone, rtol=1e-12)


def test_what_a_notebook_shows():
    shown = sa.joint([sa.RandomizedResponse(k=3)] * 2)._repr_html_()
    assert "joint([RandomizedResponse(k=3, eps0=eps0)] * 2)" in shown
    assert "local ε = 2*eps0" in shown
    assert "&lt;" not in sa.RandomizedResponse(k=3, eps0=0.1)._repr_html_()
    assert repr(sa.poisson_subsample(RR2, 0.3)) == f"poisson_subsample({RR2!r}, 0.3)"
    profile = sa.profile(RR3, n=100, method="blanket")
    rounds = profile.rounds(1)
    known = sa.RenyiCurve((fmpq(2),), (0.1,), (0.2,), "rounds < 2"), sa.TradeOff((), (), "rounds < 2", 1.0)
    for found in (profile.delta("0.2"), rounds.delta("0.2"), rounds.curve(["0.2", "0.3"]), *known):
        assert str(found).splitlines()[0].replace("<", "&lt;") in found._repr_html_()
    assert "eps0=0.1" in sa.RandomizedResponse(k=3, eps0=0.1)._repr_html_()
    planar = sa.PlanarLaplace(eps0=2)
    for subject in (sa.PureLDP(eps0=2), planar, planar.near("1/2")):
        assert "local ε = 2" in subject._repr_html_()
    crowd = sa.heterogeneous([(2000, RR2), (3000, RR2)], shuffled="messages", dropout="1/10")
    assert crowd._repr_html_().startswith("<b>5,000 users who differ</b>, messages shuffled, participation(dropout=")
    assert crowd._repr_html_().count("<tr>") == 3


def test_budgets_of_many_digits():
    tiny, usual = (sa.RandomizedResponse(k=2, eps0=e) for e in ("1e-25", 1))
    both = sa.delta(sa.joint([tiny, usual]), n=2, eps="1/2")
    alone = sa.delta(usual, n=2, eps="1/2")
    assert alone.lower <= both.upper
    assert both.lower <= alone.upper * (1 + 1e-15)
    assert sa.delta(sa.poisson_subsample(tiny, "1/2"), n=2, eps=0).upper < 1e-25
    uneven = [sa.RandomizedResponse(k=2, eps0=f"1/{p}") for p in (10**9 + 7, 10**9 + 9, 10**9 + 21)]
    found, even = (sa.delta(sa.joint(parts), n=2, eps="1e-10") for parts in (uneven, [uneven[0]] * 3))
    assert found.lower <= found.upper
    assert found.upper == pytest.approx(even.upper, rel=1e-6)


def test_a_sample_of_users_with_two_attributes():
    part = sa.FiniteMechanism([["1/5", "1/5", "3/5"], ["1/2", "0", "1/2"]])
    sampled = sa.poisson_subsample(sa.joint([part, part]), "1/2")
    rows = [[*(p / 2 for p in row), "1/2"] for row in sa.joint([part, part]).table().rows]
    answer, table = (sa.delta(m, n=5, eps="1/10", method="blanket") for m in (sampled, sa.FiniteMechanism(rows)))
    assert answer.upper == pytest.approx(table.upper, rel=1e-5)
    assert answer.lower <= table.upper
