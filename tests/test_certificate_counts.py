"""Certificates of reports of two messages: all data sets by boxes of counts above, one data set by its counts below."""

import copy
import json
from fractions import Fraction
from functools import lru_cache, partial
from random import Random

import pytest
from falsehoods import checked, judged

import symamp as sa
from symamp.verifier import verify
from tests.oracle.two_messages import compositions, divergence

EVALUATOR = "counts of messages"
THREE = sa.FiniteMechanism([["3/4", "1/4"], ["1/2", "1/2"], ["1/5", "4/5"]])


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [
        (sa.RandomizedResponse(k=2, eps0=1), 1000),
        (sa.RandomizedResponse(k=2, eps0=1), 10**9),
        (sa.OneBitMean(eps0=2), 10**4),
        (THREE, 300),
    ],
)
def test_both_ends_of_default_answers_are_certified(mechanism, n):
    answer = sa.epsilon(mechanism, n=n, delta="1e-6")
    data = checked(answer)
    assert answer.method == "two_messages"
    assert [Fraction(data["claim"][end]) for end in ("lower", "upper")] == [
        Fraction(answer.lower),
        Fraction(answer.upper),
    ]
    assert data["version"] == 2
    for end, factor in (("upper", Fraction(999, 1000)), ("lower", Fraction(1001, 1000))):
        further = copy.deepcopy(data)
        further["claim"][end] = str(Fraction(data["claim"][end]) * factor)
        assert verify(json.dumps(further)).status == "invalid"


def test_a_mixed_data_set_is_certified_from_below():
    data = checked(sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps="0.13"))
    (below,) = data["below"]
    assert (below["evaluator"], sorted(below["plan"]["counts"])) == (EVALUATOR, [1, 998])


def with_row(data, law, row):
    """The certificate with another second message of one law, of the same probabilities under x0 and x1."""
    changed = copy.deepcopy(data)
    for side in ("above", "below"):
        for evidence in changed[side]:
            place = evidence["laws"][law]["components"][1]
            place[:] = row(*map(Fraction, place))
    return json.dumps(changed)


def test_laws_have_two_messages_and_no_more():
    data = sa.delta(THREE, n=25, eps="log(8/7)", method="two_messages").certificate()
    assert verify(with_row(data, 0, lambda a, b, m: map(str, (a, b, m)))).status == "valid"
    for law in range(len(data["above"][0]["laws"])):
        halved = with_row(data, law, lambda a, b, m: map(str, (2 * a, 2 * b, m / 2)))
        assert "not two messages" in verify(halved).reason


def test_laws_of_rare_messages_belong_to_one_pair():
    rare = sa.FiniteMechanism([[f"{k}*10**-30", f"1 - {k}*10**-30"] for k in (1, 2, 4)])
    data = sa.delta(rare, n=3, eps="1/10", method="two_messages").certificate()
    changed = copy.deepcopy(data)
    for evidence in changed["above"]:
        for row, sign in zip(evidence["laws"][0]["components"], (1, -1), strict=True):
            row[0] = str(Fraction(row[0]) + sign * Fraction(1, 10**30) / Fraction(row[2]))
    assert verify(json.dumps(data)).status == "valid"
    assert "one pair" in verify(json.dumps(changed)).reason


# --- the truth of what is claimed, in fractions -----------------------------------------------------------------------

SMALL = {
    "one of six moved": (sa.RandomizedResponse(k=2, eps0="log(3)"), 7, "7/5"),
    "forty": (sa.RandomizedResponse(k=2, eps0="log(2)"), 40, "6/5"),
    "three inputs": (THREE, 25, "8/7"),
}


@lru_cache(maxsize=8)
def small(name):
    mechanism, n, e = SMALL[name]
    data = sa.delta(mechanism, n=n, eps=f"log({e})", method="two_messages").certificate()
    assert data["above"][0]["evaluator"] == EVALUATOR
    return data


worst = lru_cache(maxsize=None)(lambda *question: max(compositions(*question)))
of_one = lru_cache(maxsize=None)(divergence)


def message_one(law):
    """The probabilities under x0, x1 and x of the message that is likelier under x0; None if it is no such law."""
    components = [tuple(map(Fraction, row)) for row in law["components"]]
    rows = [(a * m, b * m, m) for a, b, m in components]
    rows += [(Fraction(a), Fraction(b), Fraction(0)) for a, b in law["singular"]]
    proper = (
        len(rows) == 2
        and all(x >= 0 for row in rows for x in row)
        and all(sum(c) == 1 for c in zip(*rows, strict=True))
    )
    return max(rows, key=lambda row: row[0] - row[1]) if proper and len(rows) == 2 else None


def is_true(data, e):
    """Whether what is claimed holds: above for all compositions, below for that which is listed."""
    try:
        claim, n = data["claim"], data["claim"]["n"]
        lower, upper = Fraction(claim["lower"]), Fraction(claim["upper"])
        for side in ("above", "below"):
            for evidence in data[side]:
                laws = evidence.get("laws", [evidence])
                seen = [message_one(law) for law in laws]
                if None in seen or len({row[:2] for row in seen}) > 1:
                    return False
                (first, second, _), ones = seen[0], [row[2] for row in seen]
                if side == "above" and worst(first, second, e, max(ones), min(ones), n) > upper:
                    return False
                if side == "below" and lower > 0:
                    counts = evidence["plan"]["counts"] if "laws" in evidence else [n - 1]
                    others = tuple(p for p, c in zip(ones, counts, strict=True) for _ in range(c))
                    if len(others) != n - 1 or of_one(first, second, e, others) < lower:
                        return False
        return True
    except (ValueError, ZeroDivisionError, TypeError):
        return False


def places(data, path=()):
    """The paths of all numbers and flags."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in ("method", "proof_status", "evaluator", "precision", "eps", "other", "source", "version"):
                yield from places(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from places(value, (*path, i))
    elif type(data) in (int, bool) or (isinstance(data, str) and data[:1].isdigit()):
        yield path


def mutated(data, rng):
    """The claim with some room or none, and one number or flag changed."""
    changed = copy.deepcopy(data)
    room = rng.choice([Fraction(0), Fraction(1, 100), Fraction(1, 3)])
    for end, sign in (("lower", -1), ("upper", 1)):
        changed["claim"][end] = str(Fraction(data["claim"][end]) * (1 + sign * room))
    groups = {}
    for path in places(changed):
        groups.setdefault(tuple(step for step in path if isinstance(step, str)), []).append(path)
    *path, last = rng.choice(rng.choice(list(groups.values())))
    place = changed
    for step in path:
        place = place[step]
    if type(place[last]) is bool:
        place[last] = not place[last]
    elif type(place[last]) is int:
        place[last] = max(0, place[last] + rng.choice([-2, -1, 1, 2, 5]))
    else:
        factors = [Fraction(0), Fraction(1, 2), 1 - Fraction(1, 10**6), 1 + Fraction(1, 10**6), Fraction(3, 2)]
        place[last] = str(Fraction(place[last]) * rng.choice(factors))
    return changed


def judged_cases(name, count, seed):
    return judged(small(name), mutated, partial(is_true, e=Fraction(SMALL[name][2])), count, Random(f"{name} {seed}"))


@pytest.mark.parametrize("name", SMALL)
def test_no_mutation_that_states_a_falsehood_is_accepted(name):
    false, accepted = judged_cases(name, 20, 0)
    assert false > 0
    assert accepted > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("name", SMALL)
def test_of_more_mutations_none_that_states_a_falsehood_is_accepted(name, seed):
    false, accepted = judged_cases(name, 400, seed)
    assert false > 40
    assert accepted > 40


def test_boxes_that_leave_a_composition_out_are_refused():
    data = small("forty")
    boxes = data["above"][0]["plan"]["boxes"]
    for i in range(len(boxes)):
        less = copy.deepcopy(data)
        del less["above"][0]["plan"]["boxes"][i]
        assert verify(json.dumps(less)).status == "invalid"
    upper_only = copy.deepcopy(data)
    upper_only["below"] = [upper_only["above"][0]]
    assert verify(json.dumps(upper_only)).status == "malformed"
