"""Few users of a small table: answers against all data sets in fractions, their certificates, and what is refused."""

import json
from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
import sympy as sp
from falsehoods import checked

import symamp as sa
from symamp.errors import ArgumentError, SupportMismatchError
from symamp.exact.worst_dataset import EveryDataSet
from symamp.verifier import verify
from tests.exactly import replaced, status, tightened
from tests.oracle.histograms import normalised, worst_true_divergence

MIXED = [[3, 9, 1, 4], [2, 7, 7, 7], [7, 3, 1, 7], [1, 6, 6, 9]]
"""Weights of a table whose worst data sets hold two inputs."""


def random_weights(seed):
    rng = Random(seed)
    inputs, messages = rng.choice(((2, 3), (3, 3), (3, 4), (4, 2), (4, 3)))
    least = rng.choice((0, 1))
    weights = [[rng.randint(least, 9) for _ in range(messages)] for _ in range(inputs)]
    return [[max(w, int(y == 0)) for y, w in enumerate(row)] for row in weights], rng.randint(2, 5)


@pytest.mark.parametrize("seed", range(12))
def test_the_truth(seed):
    weights, n = random_weights(seed)
    table, E = normalised(weights), 1 + Fraction(Random(seed).randint(0, 9), 7)
    mechanism = sa.FiniteMechanism(table)
    truth = worst_true_divergence(table, n, E)[0]
    answer = sa.delta(mechanism, n=n, eps=f"log({E})", method="every_data_set")
    assert not answer.evidence_above or max(Fraction(*e.exact) for e in answer.evidence_above) == truth
    assert Fraction(answer.lower) <= truth <= Fraction(answer.upper)
    default = sa.delta(mechanism, n=n, eps=f"log({E})")
    assert Fraction(default.lower) <= truth <= Fraction(default.upper) <= truth * (1 + Fraction(11, 10**4))


def test_the_default_is_the_truth_and_names_the_data_set():
    table = normalised(MIXED)
    mechanism = sa.FiniteMechanism(table)
    answer = sa.delta(mechanism, n=5, eps="log(2)")
    assert (answer.method, answer.tight) == ("every_data_set", True)
    assert answer.lower == pytest.approx(answer.upper, rel=1e-14)
    value, *_ = worst_true_divergence(table, 5, Fraction(2))
    assert Fraction(answer.lower) <= value <= Fraction(answer.upper)
    held = answer.worst_data_set
    others = [x for x, count in held.others for _ in range(int(count))]
    others = others if held.counted else held.others[0][:1] * 4
    truth = sa.exact.divergence(mechanism, [held.x0, *others], [held.x1, *others], "log(2)")
    assert Fraction(str(truth.exact)) == value


def test_irrational_entries_and_digits():
    row = ["exp(1)/(2+exp(1))", "1/(2+exp(1))", "1/(2+exp(1))"]
    mechanism = sa.FiniteMechanism([row, ["1/3", "1/3", "1/3"], row[::-1]])
    answer = sa.delta(mechanism, n=6, eps="1/10", digits=60, method="every_data_set")
    truth = sa.exact.worst_dataset(mechanism, 6, "1/10").value
    assert answer.digits >= 60
    assert answer.lower <= truth.upper
    assert truth.lower <= answer.upper


def test_rough_values_settle_none_that_is_the_worst():
    mechanism = sa.FiniteMechanism(normalised(MIXED))
    few = EveryDataSet.of(mechanism, 4)
    for eps in (sp.Integer(0), sp.log(sp.Rational(5, 4)), sp.log(3), sp.Integer(2), sp.Integer(250)):
        for pair in permutations(range(4), 2):
            found = few.extreme(pair, eps)
            every = [few.divergence(pair, counts, eps) for counts in few._others]
            assert found.upper == max(high for _, high in every)
            assert found.lower == max(low for low, _ in every)


def test_certificates_hold_and_falsehoods_do_not():
    mechanism = sa.FiniteMechanism(normalised(MIXED))
    for answer in (sa.delta(mechanism, n=5, eps="log(2)"), sa.epsilon(mechanism, n=6, delta="1e-2")):
        data = checked(answer)
        assert {e["kind"] for e in data["above"]["evidence"]} == {"histograms"}
        for end, factor in (("upper", Fraction(999, 1000)), ("lower", Fraction(1001, 1000))):
            assert status(tightened(data, end, factor)) == "invalid"
        group = "settings", 0, "groups", 0
        for *path, value in (
            ("rows", 0, 0, "9/14"),
            ("rows", 0, 0, "-1/2"),
            ("compared", []),
            ("compared", [[0, 9]]),
            ("rows", 0, ["1"]),
        ):
            assert status(replaced(data, *group, "mechanism", *path, to=value)) in ("invalid", "malformed")
    assert "too large" in verify(json.dumps(replaced(data, *group, "users", to=10**4))).reason


def test_a_data_set_below_is_counted_in_its_certificate():
    data = checked(sa.delta(sa.FiniteMechanism(normalised(MIXED)), n=6, eps="log(2)"))
    assert sum(data["below"]["evidence"][0]["others"]) == 5
    data["below"]["evidence"][0]["others"] = [6, 0, 0, 0]
    assert status(data) == "invalid"


def test_restricted_tables_compare_their_pairs():
    table = sa.FiniteMechanism(normalised(MIXED)).near([("x0", "x1")])
    answer = sa.delta(table, n=4, eps="1/10", method="every_data_set")
    assert {e.part.pair for e in answer.evidence_above} == {("x0", "x1"), ("x1", "x0")}
    assert answer.upper <= sa.delta(table, n=4, eps="1/10", method="blanket").upper
    assert checked(answer)["settings"][0]["groups"][0]["mechanism"]["compared"] == [[0, 1]]


def test_what_takes_too_long_is_refused_or_left_to_others():
    mechanism = sa.FiniteMechanism(normalised(MIXED))
    with pytest.raises(ArgumentError, match="terms"):
        sa.delta(mechanism, n=10**6, eps=1, method="every_data_set")
    assert sa.delta(mechanism, n=10**6, eps="1/100").method != "every_data_set"
    with pytest.raises(SupportMismatchError):
        sa.delta(sa.PureLDP(eps0=1), n=3, eps="1/10", method="every_data_set")
