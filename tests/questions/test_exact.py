"""symamp.exact against the independent oracle, and the small statements of docs/findings."""

import csv
import importlib.util
import itertools
import math
import re
from collections import Counter
from fractions import Fraction
from math import comb
from pathlib import Path
from random import Random

import flint
import pytest
import sympy as sp
from oracle.histograms import (
    normalised,
    random_table,
    randomized_response,
    true_divergence,
    unary_encoding,
    worst_true_divergence,
)

import symamp as sa
from symamp.errors import ArgumentError, SymampError, UnknownInputError
from symamp.exact.histograms import finite_table, merged_columns
from symamp.exact.worst_dataset import Exchanges

FINDINGS = Path(__file__).resolve().parents[2] / "docs" / "findings"
LABELS = "abcdefgh"
KINDS = tuple(itertools.product((False, True), repeat=2))
ORDERS = (Fraction(1), Fraction(4, 3), Fraction(2), Fraction(11, 2))


def as_mechanism(table):
    rows = ({str(y): value for y, value in enumerate(row)} for row in table)
    return sa.FiniteMechanism(dict(zip(LABELS, rows, strict=False)))


def log_of(E):
    return f"log({E})" if E != 1 else 0


def as_fraction(value):
    assert value is not None
    assert value.is_Rational
    return Fraction(int(value.p), int(value.q))


def holds(divergence, value):
    """The floats enclose the exact value as narrowly as doubles can."""
    assert Fraction(divergence.lower) <= value <= Fraction(divergence.upper)
    assert divergence.upper <= math.nextafter(math.nextafter(divergence.lower, 2), 2)


# --------------------------------------------------------------------------------------------------- two data sets


@pytest.mark.parametrize("seed", range(40))
def test_neighbours_against_the_oracle(seed):
    rng = Random(seed)
    zeros, symmetric = KINDS[seed % 4]
    table = random_table(rng, zeros=zeros, symmetric=symmetric)
    n = rng.randint(1, 5)
    data0 = [rng.randrange(len(table)) for _ in range(n)]
    data1 = [rng.randrange(len(table)), *data0[1:]]
    labels0, labels1 = [LABELS[x] for x in data0], [LABELS[x] for x in data1]
    for E in ORDERS:
        found = sa.exact.divergence(as_mechanism(table), rng.sample(labels0, n), labels1, log_of(E))
        value = true_divergence(table, data0, data1, E)
        assert as_fraction(found.exact) == value
        holds(found, value)


@pytest.mark.parametrize("seed", range(20))
def test_data_sets_that_are_no_neighbours_against_the_oracle(seed):
    rng = Random(100 + seed)
    table = random_table(rng, zeros=seed % 2 == 0)
    n = rng.randint(2, 4)
    data0, data1 = ([rng.randrange(len(table)) for _ in range(n)] for _ in range(2))
    for E in ORDERS:
        found = sa.exact.divergence(
            as_mechanism(table), [LABELS[x] for x in data0], tuple(LABELS[x] for x in data1), log_of(E)
        )
        assert as_fraction(found.exact) == true_divergence(table, data0, data1, E)


@pytest.mark.parametrize("seed", range(16))
def test_irrational_orders_lie_between_rational_ones(seed):
    rng = Random(200 + seed)
    table = random_table(rng, zeros=seed % 2 == 0)
    data0 = [rng.randrange(len(table)) for _ in range(4)]
    data1 = [(data0[0] + 1) % len(table), *(data0[1:] if seed % 4 else reversed(data0[:3]))]
    for eps in (0.1, 0.7, 1.9):
        found = sa.exact.divergence(as_mechanism(table), [LABELS[x] for x in data0], [LABELS[x] for x in data1], eps)
        below, above = Fraction(math.nextafter(math.exp(eps), 0)), Fraction(math.nextafter(math.exp(eps), 9))
        assert Fraction(found.lower) <= true_divergence(table, data0, data1, below)
        assert Fraction(found.upper) >= true_divergence(table, data0, data1, above)
        assert found.upper <= math.nextafter(found.lower, 2)


def test_irrational_probabilities():
    mechanism = sa.RandomizedResponse(k=3, eps0=1)
    table = randomized_response(3, Fraction(math.e))
    for data0, data1 in (([0, 2, 2, 1], [1, 2, 2, 1]), ([0, 0, 1], [1, 2, 2])):
        for E in (Fraction(1), Fraction(3, 2)):
            labels = ([f"x{x}" for x in data] for data in (data0, data1))
            found = sa.exact.divergence(mechanism, *labels, log_of(E))
            assert found.lower == pytest.approx(float(true_divergence(table, data0, data1, E)), rel=1e-14)
            assert found.upper == math.nextafter(found.lower, 2)
            assert found.exact is None


@pytest.mark.parametrize("eps", [1, 1.5, "1 + log(2)"])
def test_beyond_the_local_budget_the_divergence_is_exactly_zero(eps):
    mechanism = sa.RandomizedResponse(k=3, eps0=1)
    found = sa.exact.divergence(mechanism, ["x0", "x2", "x2"], ["x1", "x2", "x2"], eps)
    assert (found.exact, found.lower, found.upper) == (0, 0.0, 0.0)
    worst = sa.exact.worst_dataset(mechanism, 3, eps)
    assert (worst.value.exact, worst.maximisers) == (0, ())


def test_equal_data_sets_have_no_divergence():
    mechanism = sa.RandomizedResponse(k=3, eps0=1)
    assert sa.exact.divergence(mechanism, ["x0", "x1", "x1"], ["x1", "x0", "x1"], 0.3).exact == 0


def test_proportional_messages_are_merged():
    table = finite_table(sa.RandomizedResponse(k=8, eps0=1))
    assert [len(merged_columns(table, table.inputs[:i])) for i in (1, 2, 3, 8)] == [1, 3, 4, 8]
    assert len(merged_columns(finite_table(sa.UnaryEncoding.rappor(D=3, eps0=1)), ("x0", "x1", "x2"))) == 7
    zeros = sa.FiniteMechanism({"a": {"0": "1/2", "1": "1/2"}, "b": {"0": "1/4", "1": "3/4"}, "c": {"2": 1}})
    assert merged_columns(zeros, ("a", "b")) == (
        (sp.Rational(1, 2), sp.Rational(1, 4)),
        (sp.Rational(1, 2), sp.Rational(3, 4)),
    )


def test_many_users_on_few_messages():
    data = ["x0"] * 300
    found = sa.exact.divergence(sa.RandomizedResponse(k=2, eps0="log(3)"), ["x1", *data], ["x0", *data], "log(5/4)")
    reduction = sa.delta(sa.RandomizedResponse(k=2, eps0="log(3)"), n=301, eps="log(5/4)")
    assert 0 < found.exact <= sp.Rational(Fraction(reduction.upper))
    value = found.exact
    with flint.ctx.workprec(53):
        assert (
            sa.exact.divergence(
                sa.RandomizedResponse(k=2, eps0="log(3)"), ["x1", *data], ["x0", *data], "log(5/4)"
            ).exact
            == value
        )
        assert flint.ctx.prec == 53


# ---------------------------------------------------------------------------------------------------- the worst one


@pytest.mark.parametrize("seed", range(24))
def test_worst_data_set_against_the_oracle(seed):
    rng = Random(300 + seed)
    zeros, symmetric = KINDS[seed % 4]
    table = random_table(rng, zeros=zeros, symmetric=symmetric)
    n = 2 + (len(table) * len(table[0]) < 16) + (seed % 3 == 0)
    mechanism = as_mechanism(table)
    for E in (Fraction(1), Fraction(3, 2), Fraction(4)):
        found = sa.exact.worst_dataset(mechanism, n, log_of(E))
        value, _, _ = worst_true_divergence(table, n, E)
        assert as_fraction(found.value.exact) == value
        holds(found.value, value)
        k = len(table)
        assert found.total == comb(n + k - 2, k - 1) * k * (k - 1) >= found.examined
        for best in found.maximisers:
            data = ([LABELS.index(x) for x in labels] for labels in (best.data0, best.data1))
            assert true_divergence(table, *data, E) == value
        assert bool(found.maximisers) == (value > 0)


def test_worst_data_set_in_enclosures():
    worst = sa.exact.worst_dataset(sa.RandomizedResponse(k=3, eps0=1), 5, 0.25)
    rational, _, _ = worst_true_divergence(randomized_response(3, Fraction(math.e)), 5, Fraction(math.exp(0.25)))
    assert worst.value.exact is None
    assert worst.value.lower == pytest.approx(float(rational), rel=1e-13)
    assert worst.value.upper == math.nextafter(worst.value.lower, 2)
    assert len(worst.maximisers) == 1


def test_a_family_by_its_table():
    rappor = sa.UnaryEncoding.rappor(D=3, eps0="log(9)")
    table = unary_encoding(3, Fraction(3, 4), Fraction(1, 4))
    assert (
        as_fraction(sa.exact.worst_dataset(rappor, 3, "log(2)").value.exact)
        == worst_true_divergence(table, 3, Fraction(2))[0]
    )


@pytest.mark.parametrize(
    ("k", "t", "n", "E", "value", "constant"),
    [
        (5, 6, 4, "11/2", "27/2500", True),
        (4, 3, 6, "13/10", "4493/46656", True),
        (2, 2, 3, "1", "5/27", False),
        (2, 3, 6, "7/5", "27/256", False),
        (3, 3, 4, "2", "33/625", False),
        (4, 3, 6, "2", "67/5184", False),
    ],
)
def test_known_worst_data_sets(k, t, n, E, value, constant):
    worst = sa.exact.worst_dataset(sa.RandomizedResponse(k=k, eps0=f"log({t})"), n, f"log({E})")
    assert worst.value.exact == sp.Rational(value)
    assert {len(set(best.others)) == 1 for best in worst.maximisers} == {constant}


def test_twenty_users_on_four_messages():
    """Every other data set that is tried by hand is no worse."""
    mechanism = sa.RandomizedResponse(k=4, eps0="log(3)")
    worst = sa.exact.worst_dataset(mechanism, 20, "log(3/2)")
    assert (worst.examined, worst.total) == (825, 18480)
    assert [(b.x0, b.x1, set(b.others)) for b in worst.maximisers] == [("x1", "x2", {"x0"})]
    rng = Random(0)
    for _ in range(20):
        others = rng.choices(["x0", "x1", "x2", "x3"], k=19)
        assert sa.exact.divergence(mechanism, ["x0", *others], ["x1", *others], "log(3/2)").exact <= worst.value.exact


# ----------------------------------------------------------------------------------------------------------- symmetry


def exchanged(columns):
    """The products of exchanges of two inputs that permute the columns, by trial of all exchanges."""
    every, inputs = Counter(columns), range(len(columns[0]))
    swaps = [
        tuple({i: j, j: i}.get(x, x) for x in inputs)
        for i, j in itertools.combinations(inputs, 2)
        if Counter(tuple(c[{i: j, j: i}.get(x, x)] for x in inputs) for c in columns) == every
    ]
    group = waiting = {tuple(inputs)}
    while waiting:
        waiting = {tuple(g[i] for i in h) for g in waiting for h in swaps} - group
        group = group | waiting
    return group


def orbit(group, counts, pair):
    return {
        (tuple(counts[images.index(i)] for i in range(len(counts))), images[pair[0]], images[pair[1]])
        for images in group
    }


CYCLE = [[int((i - j) % 6 in (1, 5)) + 1 for j in range(6)] for i in range(6)]
SQUARES = [[1 + (i ^ j) % 3 for j in range(8)] for i in range(6)]
PAIRS = [[5, 5, 1, 1, 1, 1], [5, 5, 1, 1, 1, 1], [1, 1, 5, 5, 1, 1], [1, 1, 5, 5, 1, 1], [1, 1, 1, 1, 5, 5]]


@pytest.mark.parametrize(
    ("table", "size"),
    [
        (randomized_response(4, Fraction(3)), 24),
        (normalised([[5, 2, 1, 1], [1, 5, 2, 1], [1, 1, 5, 2], [2, 1, 1, 5]]), 1),
        (normalised([[5, 2, 1], [1, 5, 2], [1, 2, 6]]), 1),
        (normalised([[4, 1, 1], [1, 4, 1], [1, 2, 3]]), 1),
        (normalised([[4, 1, 2], [1, 4, 2], [2, 2, 3]]), 2),
        (normalised(CYCLE), None),
        (normalised(SQUARES), None),
        (normalised(PAIRS), None),
        (unary_encoding(3, Fraction(3, 4), Fraction(1, 4)), 6),
    ],
)
def test_exchanges_and_representatives(table, size):
    """Each class of neighbouring data sets under exchanges is represented exactly once."""
    columns = list(zip(*table, strict=True))
    symmetries, group = Exchanges(columns), exchanged(columns)
    assert size is None or len(group) == size
    inputs, users = len(table), 3
    seen = set()
    assert len(symmetries.representatives(users)) == symmetries.count(users)
    for counts in symmetries.representatives(users):
        assert counts == max(other for other, _, _ in orbit(group, counts, (0, 1)))
        for pair in symmetries.pair_representatives(counts):
            members = orbit(group, counts, pair)
            assert not seen & members
            seen |= members
    assert len(seen) == comb(users + inputs - 1, inputs - 1) * inputs * (inputs - 1)


@pytest.mark.parametrize("k", [8, 9, 10, 30])
def test_symmetry_is_used_at_any_number_of_inputs(k):
    """As many data sets are examined whatever k is, and the value is the oracle's for one of them."""
    worst = sa.exact.worst_dataset(sa.RandomizedResponse(k=k, eps0="log(6)"), 4, "log(11/2)")
    assert worst.examined == 14
    assert worst.total == comb(k + 2, 3) * k * (k - 1)
    best = worst.maximisers[0]
    assert len(worst.maximisers) == 1
    sizes = [int(label[1:]) for label in (*best.data0, *best.data1)]
    assert max(sizes) < k
    table = randomized_response(k, Fraction(6))
    if k < 10:
        data = ([int(label[1:]) for label in labels] for labels in (best.data0, best.data1))
        assert as_fraction(worst.value.exact) == true_divergence(table, *data, Fraction(11, 2))


def test_many_inputs_without_any_symmetry_are_all_examined():
    weights = [[1 + (3 * i * i + 5 * i * j + 7 * j) % 11 for j in range(3)] for i in range(8)]
    worst = sa.exact.worst_dataset(as_mechanism(normalised(weights)), 2, 0)
    columns = list(zip(*normalised(weights), strict=True))
    assert exchanged(columns) == {tuple(range(8))}
    assert worst.examined == worst.total == 8 * 8 * 7


# ------------------------------------------------------------------------------------------------------------ progress


def test_progress_is_told_of_every_group_of_data_sets():
    steps = []
    mechanism = as_mechanism(normalised([[5, 2, 1], [1, 5, 2], [1, 2, 6]]))
    sa.exact.worst_dataset(mechanism, 6, "log(3/2)", progress=lambda *step: steps.append(step))
    assert steps == [(i, 21) for i in range(22)]


def test_the_bar_leaves_standard_output_alone(capsys):
    mechanism = sa.RandomizedResponse(k=2, eps0=1)
    assert sa.exact.worst_dataset(mechanism, 4, 0, progress=True) == sa.exact.worst_dataset(
        mechanism, 4, 0, progress=False
    )
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------------------------------------------------ refusals

RR = sa.RandomizedResponse(k=3, eps0=1)


@pytest.mark.parametrize(
    ("arguments", "error", "name"),
    [
        ((sa.RandomizedResponse(k=3), ["x0"], ["x1"], 0), ArgumentError, "mech"),
        ((sa.PureLDP(eps0=1), ["x0"], ["x1"], 0), ArgumentError, "mech"),
        (("krr", ["x0"], ["x1"], 0), ArgumentError, "mech"),
        ((sa.RandomizedResponse(k=10**6, eps0=1), ["x0"], ["x1"], 0), ArgumentError, "k"),
        ((sa.UnaryEncoding.rappor(D=16, eps0=1), ["x0"], ["x1"], 0), ArgumentError, "D"),
        ((RR, ["x0"], ["x9"], 0), UnknownInputError, "data1"),
        ((RR, ["x0", 1], ["x1", "x1"], 0), UnknownInputError, "data0"),
        ((RR, [["x0"]], ["x1"], 0), UnknownInputError, "data0"),
        ((RR, ["x0", "x1"], ["x1"], 0), ArgumentError, "data1"),
        ((RR, [], [], 0), ArgumentError, "data0"),
        ((RR, "x0", "x1", 0), ArgumentError, "data0"),
        ((RR, {"x0": 1}, ["x1"], 0), ArgumentError, "data0"),
        ((RR, None, ["x1"], 0), ArgumentError, "data0"),
        ((RR, ["x0"], ["x1"], -0.1), ArgumentError, "eps"),
        ((RR, ["x0"], ["x1"], float("nan")), ArgumentError, "eps"),
        ((RR, ["x0"], ["x1"], 10**5), ArgumentError, "eps"),
        ((RR, ["x0"] * 10**5, ["x1"] + ["x0"] * (10**5 - 1), 0), ArgumentError, "data0"),
    ],
)
def test_bad_questions_about_two_data_sets(arguments, error, name):
    with pytest.raises(error) as caught:
        sa.exact.divergence(*arguments)
    assert isinstance(caught.value, SymampError)
    assert caught.value.argument == name


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((sa.RandomizedResponse(k=3), 3, 0), "mech"),
        ((RR, 0, 0), "n"),
        ((RR, 2.5, 0), "n"),
        ((RR, True, 0), "n"),
        ((RR, 10**6, 0), "n"),
        ((sa.RandomizedResponse(k=40, eps0=1), 6, 0), "n"),
        ((RR, 3, "oo"), "eps"),
        ((RR, 3, 0, "yes"), "progress"),
    ],
)
def test_bad_questions_about_the_worst_data_set(arguments, name):
    with pytest.raises(SymampError) as caught:
        sa.exact.worst_dataset(*arguments)
    assert name in str(caught.value)


# ------------------------------------------------------------------------------------------------------------ findings


def script(name):
    spec = importlib.util.spec_from_file_location(f"findings_{name}", FINDINGS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["variation_ratio", "generic_bound", "worst_dataset"])
def test_every_finding_has_a_page_a_script_and_a_plot(name):
    page = (FINDINGS / f"{name}.md").read_text(encoding="utf-8")
    assert f"python docs/findings/{name}.py" in page
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", page):
        assert 1000 < (FINDINGS / picture).stat().st_size < 300_000
    assert f"{name}.svg" in page
    assert name in (FINDINGS / "index.md").read_text(encoding="utf-8")


def test_finding_variation_ratio_exactly():
    finding = script("variation_ratio")
    values = {case: finding.counterexample(*case) for case in finding.CASES}
    assert [(str(v[0]), str(v[2]), str(v[3]), str(v[4])) for v in values.values()] == [
        ("1/32", "1/64", "5/128", "1/18"),
        ("27/2500", "1/20000", "4913/160000", "108/2401"),
        ("4493/46656", "4471/46656", "5686553/56687040", "2941/20480"),
    ]
    for k, t, n in ((3, 2, 2), (3, 3, 5), (5, 6, 4)):
        assert finding.near_local_budget(k, t, n) == t ** (n - 1)
    found, points, _ = finding.exact_survey(sizes=(3,), ratios=(3,), users=(2, 4), steps=8)
    assert 0 < found < points


def test_finding_variation_ratio_certified():
    """Two points of the committed map, and what the map says in all."""
    with (FINDINGS / "variation_ratio.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    refuted = [row for row in rows if float(row["lower"]) > float(row["printed"])]
    text = (FINDINGS / "variation_ratio.md").read_text(encoding="utf-8")
    assert f"{len(refuted)} of {len(rows)}" in text
    assert all(float(row["lower"]) <= float(row["blanket"]) for row in rows)
    assert all(float(row["blanket"]) <= float(row["corrected"]) * (1 + 1e-5) for row in rows)
    finding = script("variation_ratio")
    for k, eps0, n, delta in ((10, 1, 10**4, "1e-6"), (10, 4, 100, "1e-9")):
        lower, printed, corrected, _ = finding.certified(sa.RandomizedResponse(k=k, eps0=eps0), n, delta)
        assert printed < lower < corrected
        (row,) = (r for r in refuted if (r["k"], r["eps0"], r["n"], r["delta"]) == (str(k), str(eps0), str(n), delta))
        assert float(row["lower"]) == pytest.approx(lower, rel=1e-6)


def test_finding_generic_bound():
    finding = script("generic_bound")
    assert finding.check_convex_order(range(60))[0] == 60
    assert finding.check_truth(range(4), users=(2, 3)) <= 1
    binary, ternary = (
        sa.exact.worst_dataset(sa.RandomizedResponse(k=k, eps0="log(9)"), 10, "log(6/5)") for k in (2, 3)
    )
    assert ternary.value.exact > binary.value.exact  # the bound of binary response is the largest, not its truth
    t = Fraction(3)
    above = {(t, Fraction(1)): 1 / (t + 1) + Fraction(1, 100), (Fraction(1), t): 1 / (t + 1) + Fraction(1, 100)}
    assert finding.margin(above, t) < 0  # the check can fail


def test_finding_generic_bound_classes():
    finding = script("generic_bound")
    with (FINDINGS / "generic_bound.csv").open(encoding="utf-8", newline="") as file:
        inside = {row["member"]: row["in the class"] == "True" for row in csv.DictReader(file)}
    for mechanism in (
        sa.RandomizedResponse(k=4, eps0="log(3)"),
        sa.UnaryEncoding.rappor(D=2, eps0="log(9)"),
        sa.UnaryEncoding.rappor(D=3, eps0="log(9)"),
        sa.SubsetSelection(d=4, k=2, eps0="log(3)"),
        sa.HadamardResponse(K=4, eps0="log(3)"),
        sa.HadamardResponse(K=8, eps0="log(3)"),
    ):
        assert inside[repr(mechanism)] == (finding.excess(mechanism) <= 0)
    assert [finding.in_class_for_all_budgets(sa.HadamardResponse, {"K": K}) for K in (4, 8)] == [True, False]


def test_finding_worst_dataset():
    finding = script("worst_dataset")
    data = (FINDINGS / "worst_dataset.txt").read_text(encoding="utf-8")
    for title, mechanism in (("2-RR, t = 3", finding.response(2, 3)), ("3-RR, t = 3", finding.response(3, 3))):
        part = data.split(f"{title}: ")[1]
        for row in finding.rows(mechanism, 3, (2, 3, 4)):
            assert str(row) in part.split("\n\n")[0]
    part = data.split("5-RR, t = 9: ")[1].split("RAPPOR")[0]
    kinds = dict(re.findall(r"n = +(\d+)  ([D01M]{24})", part))
    assert set(kinds["3"]) == set("DM0")
    for title, part in re.findall(r"^(.*), t = \d+: one column.*\n((?:  .*\n)+)", data, re.MULTILINE):
        table = re.findall(r"n = +\d+  ([D01M]{24})", part)
        assert len(table) >= 10
        assert all(row[-1] == "0" for row in table)
        if title in ("3-RR", "4-RR", "5-RR"):
            assert all(row.startswith("D" * 9) for row in table)
        if title == "2-RR":
            assert [row[0] for row in table] == ["0", *"M" * 22]


def test_finding_worst_dataset_rates():
    """Exponential rates of delta: distinct inputs lose to x* = x0 above the threshold, and win below it."""
    finding = script("worst_dataset")
    low, high = finding.threshold(3, 3, digits=2)
    assert (low, high) == (0.67, 0.68)
    for percent in (70, 80, 90, 95):
        assert finding.distinct_minus_same(3, 3, finding.share(3, percent, 2))[1] < 0
    for percent in (20, 40, 60):
        assert finding.distinct_minus_same(3, 3, finding.share(3, percent, 2))[0] > 0
