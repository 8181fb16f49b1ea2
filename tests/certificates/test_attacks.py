"""A certificate is about its mechanism: what is changed there, or left out of what it compares, is noticed."""

import copy
import json
from fractions import Fraction

import pytest

import symamp as sa
from symamp.verifier import verify

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
        MADE[name] = json.loads(json.dumps(QUESTIONS[name]().certificate()))
    return copy.deepcopy(MADE[name])


def status(data):
    return verify(json.dumps(data)).status


def mechanism(data):
    return data["settings"][0]["groups"][0]["mechanism"]


def views(data):
    found = mechanism(data)
    return found["pairs"] if found["kind"] == "orbits" else []


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_mechanism_with_one_entry_moved_is_another_one(name):
    """A little probability from one message to another of one input, in every place: the laws of two rows differ."""
    base, moved = certificate(name), 0
    assert status(base) == "valid"
    rows = mechanism(base).get("rows")
    places = [(x, y) for x in range(len(rows)) for y in range(len(rows[0]))] if rows else []
    for x, y in places:
        data = copy.deepcopy(base)
        row, other = mechanism(data)["rows"][x], (y + 1) % len(rows[0])
        part = Fraction(row[y]) * Fraction(9, 10)
        row[y], row[other] = str(Fraction(row[y]) - part), str(Fraction(row[other]) + part)
        moved += status(data) != "valid"
        data = copy.deepcopy(base)
        mechanism(data)["rows"][x][y] = str(Fraction(rows[x][y]) * Fraction(1001, 1000))
        assert status(data) == "invalid"  # no law any more
    assert moved >= len(places) // 2
    for k, view in enumerate(views(base)):
        for y in range(len(view["columns"][:5])):
            data = copy.deepcopy(base)
            column = views(data)[k]["columns"][y]
            column["on"][0] = f"({column['on'][0]})*1001/1000"
            assert status(data) == "invalid"


@pytest.mark.parametrize("name", [name for name in QUESTIONS if "orbit" in name or "several" in name])
def test_a_multiplicity_is_that_of_the_messages(name):
    base = certificate(name)
    for k, view in enumerate(views(base)):
        known = all(count != "any" for column in view["columns"] for _, count in column["rest"])
        for y, column in enumerate(view["columns"][:5]):
            for size in (f"{column['size']} + 1", "0", "-1", f"({column['size']})/2"):
                data = copy.deepcopy(base)
                views(data)[k]["columns"][y]["size"] = size
                assert status(data) == "invalid", size
            for i in range(len(column["rest"])):
                if known:
                    data = copy.deepcopy(base)
                    views(data)[k]["columns"][y]["rest"][i][1] += " + 1"
                    assert status(data) == "invalid"


@pytest.mark.parametrize("name", ["blankets", "an envelope", "all data sets", "several classes of pairs"])
def test_evidence_for_some_pairs_does_not_count_for_all(name):
    base = certificate(name)
    evidence = base["above"]["evidence"]
    assert len(evidence) > 1
    keys = [(e["kind"], e["pair"]) for e in evidence]
    needed = 0
    for i in range(len(evidence)):
        data = copy.deepcopy(base)
        del data["above"]["evidence"][i]
        found = verify(json.dumps(data))
        needed += found.status == "invalid" and "not covered" in found.reason
    assert needed >= len(keys) - 1  # one pair may be left to one user alone
    for kept in evidence:
        data = copy.deepcopy(base)
        data["above"]["evidence"] = [kept] * len(evidence)
        assert status(data) == "invalid"


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


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_older_versions_are_refused_by_version(version):
    data = certificate("blankets") | {"version": version}
    found = verify(json.dumps(data))
    assert (found.status, found.error, found.reason.count("\n")) == ("malformed", "Malformed", 0)
    assert "before version 5" in found.reason
    composed = {"format": "symamp-composed-certificate", "version": 2}
    assert "before version 5" in verify(json.dumps(composed)).reason
    assert "not version 5" in verify(json.dumps(data | {"version": 6})).reason


def test_rounds_repeat_a_data_set_and_no_mixture():
    """Inputs that are drawn anew in each round are no data set of many rounds, whatever the points say of one."""
    data = certificate("several rounds")
    for curve in data["below"]["curves"]:
        for point in (*curve["first"], *(curve["second"] or ())):
            (evidence,) = point["evidence"]
            evidence["others"] = [[0, "1/2"], [1, "1/2"]]
    verdict = verify(json.dumps(data))
    assert (verdict.status, "several inputs" in verdict.reason) == ("invalid", True)
