"""A certificate is about its mechanism: what is changed there, or left out of what it compares, is noticed."""

import copy
import json
from fractions import Fraction

import pytest

import symamp as sa
from symamp.verifier import verify
from tests.certificates import honest
from tests.exactly import as_read, replaced, status
from tests.exactly import mechanism_in as mechanism
from tests.oracle import histograms as oracle

F = Fraction
TABLE = sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"], ["1/8", "3/8", "1/2"]])
KRR = sa.RandomizedResponse(k=5, eps0="log(3)")
QUESTIONS = {
    "blankets": lambda: sa.delta(TABLE, n=40, eps="log(6/5)", method="blanket"),
    "an envelope": lambda: sa.delta(TABLE, n=40, eps="log(6/5)", method="envelope"),
    "all data sets": lambda: sa.delta(TABLE, n=40, eps="log(6/5)", method="all_data_sets"),
    "histograms": lambda: sa.delta(TABLE, n=3, eps="log(6/5)", method="every_data_set"),
    "orbits": lambda: sa.delta(KRR, n=60, eps="log(6/5)", method="blanket"),
    "an envelope of orbits": lambda: sa.delta(KRR, n=60, eps="log(6/5)", method="envelope"),
    "all data sets of orbits": lambda: sa.delta(KRR, n=60, eps="log(6/5)", method="all_data_sets"),
    "several classes of pairs": lambda: sa.delta(
        sa.families.EvenDuchiVector(m=2, eps0=1), n=100, eps="1/10", method="blanket"
    ),
    "several rounds": lambda: sa.profile(KRR, n=100, method="blanket").rounds(3).delta("1/4", gap="0.1"),
}
MADE = {}


def certificate(name):
    if name not in MADE:
        MADE[name] = as_read(QUESTIONS[name]())
    return copy.deepcopy(MADE[name])


def views(data):
    found = mechanism(data)
    return found["pairs"] if found["kind"] == "orbits" else []


ALL_DATA_SETS = pytest.param("all data sets", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [ALL_DATA_SETS if name == "all data sets" else name for name in QUESTIONS])
def test_a_mechanism_with_one_entry_moved_is_another_one(name):
    """A little probability from one message to another of one input, in every place: the laws of two rows differ."""
    base, moved = certificate(name), 0
    assert status(base) == "valid"
    rows = mechanism(base).get("rows")
    places = [(x, y) for x in range(len(rows)) for y in range(len(rows[0]))] if rows else []
    table = "settings", 0, "groups", 0, "mechanism"
    for x, y in places:
        row, other = list(rows[x]), (y + 1) % len(rows[0])
        part = Fraction(row[y]) * Fraction(9, 10)
        row[y], row[other] = str(Fraction(row[y]) - part), str(Fraction(row[other]) + part)
        moved += status(replaced(base, *table, "rows", x, to=row)) != "valid"
        more = str(Fraction(rows[x][y]) * Fraction(1001, 1000))
        assert status(replaced(base, *table, "rows", x, y, to=more)) == "invalid"  # no law any more
    assert moved >= len(places) // 2
    for k, view in enumerate(views(base)):
        for y, column in enumerate(view["columns"][:5]):
            more = f"({column['on'][0]})*1001/1000"
            assert status(replaced(base, *table, "pairs", k, "columns", y, "on", 0, to=more)) == "invalid"


@pytest.mark.parametrize("name", [name for name in QUESTIONS if "orbit" in name or "several" in name])
def test_a_multiplicity_is_that_of_the_messages(name):
    base = certificate(name)
    for k, view in enumerate(views(base)):
        known = all(count != "any" for column in view["columns"] for _, count in column["rest"])
        for y, column in enumerate(view["columns"][:5]):
            place = "settings", 0, "groups", 0, "mechanism", "pairs", k, "columns", y
            for size in (f"{column['size']} + 1", "0", "-1", f"({column['size']})/2"):
                assert status(replaced(base, *place, "size", to=size)) == "invalid", size
            for i, (_, count) in enumerate(column["rest"] if known else ()):
                assert status(replaced(base, *place, "rest", i, 1, to=f"{count} + 1")) == "invalid"


@pytest.mark.parametrize("name", ["blankets", "an envelope", ALL_DATA_SETS, "several classes of pairs"])
def test_evidence_for_some_pairs_does_not_count_for_all(name):
    base = certificate(name)
    evidence = base["above"]["evidence"]
    assert len(evidence) > 1
    keys = [(e["kind"], e["pair"]) for e in evidence]
    needed = 0
    for i in range(len(evidence)):
        found = verify(json.dumps(replaced(base, "above", "evidence", to=evidence[:i] + evidence[i + 1 :])))
        needed += found.status == "invalid" and "not covered" in found.reason
    assert needed >= len(keys) - 1  # one pair may be left to one user alone
    for kept in evidence:
        assert status(replaced(base, "above", "evidence", to=[kept] * len(evidence))) == "invalid"


@pytest.mark.parametrize("name", ["blankets", "an envelope", "histograms"])
def test_a_table_that_compares_less_says_so(name):
    """What is compared stands in the first line: a pair that is left out is not claimed."""
    data = certificate(name)
    assert "for all pairs of 3 inputs" in verify(json.dumps(data)).reason
    mechanism(data)["compared"], data["below"], data["claim"]["lower"] = [[0, 1], [0, 2]], None, "0"
    pieces = data["above"]["evidence"]
    data["above"]["evidence"] = [e for e in pieces if "pair" not in e or set(e["pair"]) != {1, 2}]
    found = verify(json.dumps(data))
    assert found.status == "valid"
    assert "for these pairs of 3 inputs only: 0 and 1, 0 and 2" in found.reason
    for wrong in ([], [[0, 0]], [[0, 3]], [[0, -1]]):
        mechanism(data)["compared"] = wrong
        assert status(data) == "invalid"


@pytest.mark.parametrize("name", ["an envelope of orbits", "all data sets of orbits"])
def test_an_input_that_is_left_out_is_missed(name):
    """Another input has a density beside the pair's that no listed one has; or its law is not covered by the rest."""
    base = certificate(name)
    assert len(views(base)) == 1
    for left in ([0], [1], [2, 3]):
        data = copy.deepcopy(base)
        data["below"], data["claim"]["lower"] = None, "0"
        for k in left[::-1]:
            for column in views(data)[0]["columns"]:
                del column["on"][k]
            del views(data)[0]["inputs"][k]
        found = verify(json.dumps(data))
        assert found.status != "valid"
        assert left[0] < 2 or "another class is not listed" in found.reason
    data = copy.deepcopy(base)
    mechanism(data)["stand_for"] = "blanket"
    assert "not all inputs of other users" in verify(json.dumps(data)).reason


def test_an_input_that_is_left_out_of_a_table_makes_another_table():
    data = certificate("an envelope")
    mechanism(data)["rows"].append(["9/10", "1/20", "1/20"])
    mechanism(data)["inputs"].append("another")
    assert "not covered" in verify(json.dumps(data)).reason


def test_a_table_that_is_near_to_the_mechanism_bounds_from_above_only():
    data = certificate("blankets")
    mechanism(data)["rounded"] = "1/10**9"
    assert status(data) == "invalid"
    data["below"], data["claim"]["lower"] = None, "0"
    assert status(data) == "invalid"
    data["claim"]["upper"] = str(Fraction(data["claim"]["upper"]) + Fraction(1, 10**7))
    assert status(data) == "valid"


@pytest.mark.parametrize(
    "named",
    [
        {"version": 5},
        {"version": 7},
        {"format": "symamp-composed-certificate"},
        {"format": "symamp-training-certificate"},
    ],
)
def test_other_formats_and_versions_are_refused(named):
    found = verify(json.dumps(certificate("blankets") | named))
    assert (found.status, found.error, found.reason.count("\n")) == ("malformed", "Malformed", 0)
    assert "version 6: the document has" in found.reason


def test_rounds_repeat_a_data_set_and_no_mixture():
    """Inputs that are drawn anew in each round are no data set of many rounds, whatever the points say of one."""
    data = certificate("several rounds")
    for curve in data["below"]["curves"]:
        for point in (*curve["first"], *(curve["second"] or ())):
            (evidence,) = point["evidence"]
            evidence["others"] = [[0, "1/2"], [1, "1/2"]]
    verdict = verify(json.dumps(data))
    assert (verdict.status, "several inputs" in verdict.reason) == ("invalid", True)


def forged(mechanism, n, lower, upper, above=None, below=None, shuffled="messages"):
    """A certificate about delta at eps = 0 from the parts of a forger."""
    settings = [honest.one([(n, True, mechanism)]) | {"shuffled": shuffled}]
    return honest.certificate(settings, F(1), above, below, lower=str(lower), upper=str(upper))


def of_rows(rows, compared=None, rounded=None):
    names = [str(x) for x in range(len(rows))]
    rows = [[str(p) for p in row] for row in rows]
    return {"kind": "table", "inputs": names, "rows": rows, "compared": compared, "rounded": rounded}


NEAR_AND_FAR = [[F(9, 10), F(1, 10)], [F(1, 10), F(9, 10)], [F(4, 5), F(1, 5)]]


@pytest.mark.parametrize("kind", ["data set", "histograms", "positions"])
def test_pairs_that_are_not_compared_bound_nothing_from_below(kind):
    """Inputs 0 and 2 are compared and alike; 1 is not compared with any, and shows far more."""
    E = F(1)
    lower = oracle.true_divergence(NEAR_AND_FAR, (0, 0), (1, 0), E)
    assert lower > 5 * max(
        oracle.true_divergence(NEAR_AND_FAR, (i, x), (j, x), E) for i, j in ((0, 2), (2, 0)) for x in range(3)
    )
    held = [1, 0, 0] if kind == "histograms" else [[0, "1"]]
    how = {} if kind == "histograms" else {"evaluator": "enumeration", "plan": None}
    below = [{"kind": kind, "pair": [0, 1], "others": held} | how]
    shuffled = "data" if kind == "positions" else "messages"
    for compared, expected in ((None, "valid"), ([[0, 2]], "invalid")):
        data = forged(of_rows(NEAR_AND_FAR, compared), 2, lower * F(1, 2), 1, below=below, shuffled=shuffled)
        assert status(data) == expected


def test_steps_are_of_a_pair_that_is_compared():
    plan = {"threshold": 1, "theta": "1", "N": 64, "last": 32}
    below = [{"kind": "steps", "victim": 0, "pair": [0, 1], "others": [[[0, 1]]], "signs": [1, 0], "plan": plan}]
    for compared, expected in ((None, "valid"), ([[0, 2]], "invalid")):
        assert status(forged(of_rows(NEAR_AND_FAR, compared), 2, "1/20", 1, below=below)) == expected


def test_the_triple_of_one_of_several_inputs_is_no_blanket():
    """Others at input 2 hide the pair well, at input 3 hardly."""
    rows = [[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)], [F(1, 2), F(1, 2)], [F(99, 100), F(1, 100)]]

    def law(pair, x):
        columns = [[str(rows[i][y] / rows[x][y]) for i in pair] + [str(rows[x][y])] for y in range(2)]
        return {"input": x, "components": columns, "singular": []}

    def triples(inputs):
        pairs = [
            {"pair": pair, "compared": True, "above": None, "others": [law(pair, x) for x in inputs]}
            for pair in ([0, 1], [1, 0])
        ]
        return {"kind": "triples", "inputs": list("abcd"), "exact": False, "mixed": False, "pairs": pairs}

    at = {x: oracle.true_divergence(rows, (0, x), (1, x), F(1)) for x in (2, 3)}
    assert at[2] < at[3]
    above = [{"kind": "blanket", "pair": pair, "evaluator": "exact", "plan": None} for pair in ([0, 1], [1, 0])]
    assert status(forged(triples([2]), 2, 0, at[2], above)) == "valid"
    assert status(forged(triples([2, 3]), 2, 0, at[2], above)) == "invalid"


def test_what_one_message_tells_is_the_worst_of_all_triples():
    """A triple in which nothing differs does not speak for another one of the same pair."""
    same = {"input": 2, "components": [["1", "1", "1"]], "singular": []}
    other = {"input": 3, "components": [["3/2", "1/2", "1/2"], ["1/2", "3/2", "1/2"]], "singular": []}
    for others in ([same, other], [other, same]):
        pairs = [{"pair": [0, 1], "compared": True, "above": None, "others": others}]
        found = {"kind": "triples", "inputs": list("abcd"), "exact": False, "mixed": False, "pairs": pairs}
        assert status(forged(found, 1, 0, "1/4", [])) == "invalid"
        assert status(forged(found, 1, 0, "1/2", [])) == "valid"


def test_a_common_tilt_leaves_room_for_what_is_rounded():
    """One user: a mechanism that is so near to the table has a larger divergence than a tilt proves of the table."""
    rows, upper = [[F(3, 5), F(2, 5)], [F(2, 5), F(3, 5)]], F(27, 100)
    rounded = upper / 2
    near = [[rows[0][0] + rounded, rows[0][1] - rounded], [rows[1][0] - rounded, rows[1][1] + rounded]]
    assert oracle.true_divergence(near, (0,), (1,), F(1)) > upper
    above = [{"kind": "common tilt", "theta": "2"}]
    assert status(forged(of_rows(rows), 1, 0, upper, above)) == "valid"
    assert status(forged(of_rows(rows, rounded=str(rounded)), 1, 0, upper, above)) == "invalid"
    assert status(forged(of_rows(rows, rounded=str(rounded)), 1, 0, 2 * upper, above)) == "valid"


def test_a_budget_of_shuffled_data_is_not_that_of_one_randomizer():
    """Positions may run different randomizers there, each chosen after the outputs of the others."""
    above = [{"kind": "every randomizer", "shares": ["0", "1"], "cells": [None]}]
    above[0]["low"] = {"evaluator": "one user", "plan": None}
    for shuffled, expected in (("messages", "valid"), ("data", "invalid")):
        data = forged({"kind": "budget", "ratio": "3"}, 4, 0, "1/2", above, shuffled=shuffled)
        assert status(data) == expected


def test_a_question_about_a_triple_is_not_one_about_inputs():
    one = {"components": [["3/2", "1/2", "1/2"], ["1/2", "3/2", "1/2"]], "singular": []}
    same = {"input": 2, "components": [["1", "1", "1"]], "singular": []}
    above = [
        {
            "kind": "envelope", "pair": [0, 1], "evaluator": "exact", "plan": None,
            "dominating": {"values": ["0"], "masses": ["1"], "singular": "0"},
        }
    ]  # fmt: skip
    pairs = [{"pair": [0, 1], "compared": True, "above": None, "others": [same]}]
    found = {"kind": "triples", "inputs": list("abc"), "exact": True, "mixed": False, "pairs": pairs}
    assert status(forged(found, 2, 0, "1/10", above)) == "valid"
    pairs[0]["above"] = one
    assert status(forged(found, 2, 0, "1/10", above)) == "invalid"
