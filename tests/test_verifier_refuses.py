"""What a certificate must not get past the verifier: each was accepted, or not said, once."""

import copy
import json
import threading
import time
from fractions import Fraction
from functools import cache

import flint
import pytest

import symamp as sa
from symamp.schemas.validation import check_document
from symamp.verifier import documents, many_rounds, sums, verify
from symamp.verifier.claims import outward
from symamp.verifier.one_round import Check
from symamp.verifier.working import working

COIN = sa.RandomizedResponse(k=2, eps0="log(3)")
TABLE = sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"], ["1/8", "3/8", "1/2"]])


def triple(**changes):
    """An evaluation of binary response, by binomial tails unless changed."""
    evidence = {
        "method": "blanket", "proof_status": "proved", "pair": ["x0", "x1"], "others": [], "singular": [],
        "components": [["3/2", "1/2", "1/2"], ["1/2", "3/2", "1/2"]],
        "eps": "log(3/2)", "evaluator": "binomial tails", "precision": 128,
        "plan": {"theta": "1", "windows": [[1, 1]]},
    }  # fmt: skip
    return evidence | changes


def certificate(above, below=(), version=2, **claim):
    claim = {"quantity": "delta", "n": 4, "eps": "log(3/2)", "lower": "0", "upper": "1/2"} | claim
    texts = dict.fromkeys(("mechanism", "method", "proof_status", "source"), "")
    return texts | {
        "format": "symamp-certificate", "version": version, "claim": claim, "above": [*above], "below": [*below],
    }  # fmt: skip


def verdict(data):
    return verify(data if isinstance(data, str) else json.dumps(data))


# --- what is left out because its mass is 0 ---------------------------------------------------------------------------


@pytest.mark.parametrize("window", [[1, 1], [1, 4], [2, 3], [4, 4]])
def test_a_symbol_of_mass_zero_whose_window_leaves_out_the_count_zero(window):
    """There is no null symbol: its count is 0 for certain, and all that happens is outside of the window."""
    plan = {"theta": "1", "windows": [window]}
    for upper in ("0", "1/100", "1/10"):
        assert verdict(certificate([triple(plan=plan)], upper=upper)).status == "invalid"


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_what_lies_outside_of_a_window_is_bounded_for_every_mass(n):
    with working(200):
        for p in (Fraction(0), Fraction(1, 10**30), Fraction(1, 3), 1 - Fraction(1, 10**30), Fraction(1)):
            ball = flint.arb(p.numerator) / p.denominator
            for low, high in ((0, 0), (0, n), (1, 1), (1, n), (n, n)):
                law = [sa_binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
                outside = 1 - sum(law[low : high + 1])
                bound = sums._outside(n, ball, low, high)
                assert not bound < flint.arb(outside.numerator) / outside.denominator, (p, low, high)


def sa_binomial(n, k):
    result = 1
    for i in range(k):
        result = result * (n - i) // (i + 1)
    return result


@pytest.mark.parametrize(
    "changes",
    [
        {"components": []},
        {"components": [["1", "1", "0"]]},
        {"components": [["2", "0", "1/2"], ["0", "2", "1/2"], ["7", "0", "0"]], "singular": []},
        {"evaluator": "enumeration", "plan": None, "components": []},
        {"evaluator": "enumeration", "plan": None, "components": [["1", "1", "0"]]},
        {"plan": {"theta": "1", "windows": []}},
        {"plan": {"theta": "1", "windows": [[]]}},
        {"plan": {"theta": "1", "windows": [[2, 1]]}},
        {"plan": {"theta": "1", "windows": [[0, 4], [0, 4]]}},
    ],
)
def test_empty_lists_and_masses_of_zero_prove_nothing(changes):
    assert verdict(certificate([triple(**changes)], upper="1/1000")).status != "valid"


# --- whose guarantee --------------------------------------------------------------------------------------------------


@cache
def of_crowd(shuffled, victim=None, quantity="delta"):
    crowd = sa.heterogeneous([(2, COIN), (3, sa.RandomizedResponse(k=2, eps0="log(2)"))], shuffled=shuffled)
    given = {"eps": "log(3/2)"} if quantity == "delta" else {"delta": "1/10"}
    options = {"victim": victim} if victim is not None else {}
    found = getattr(sa, quantity)(crowd, **given, **options)
    return json.loads(json.dumps(found.certificate()))


def test_the_claim_says_whose_guarantee_it_is():
    assert "for the 2 users of group 0 only, of 2 groups of 2, 3 users" in verdict(of_crowd("messages", 0)).reason
    assert "for the 3 users of group 1 only" in verdict(of_crowd("messages", 1)).reason
    assert "for every user of 2 groups of 2, 3 users" in verdict(of_crowd("messages")).reason
    assert "for every user" in verdict(of_crowd("data")).reason


@pytest.mark.parametrize("quantity", ["delta", "epsilon"])
def test_evidence_for_one_group_does_not_count_for_all(quantity):
    data = copy.deepcopy(of_crowd("messages", None, quantity))
    for victim in (0, 1):
        left = copy.deepcopy(data)
        left["above"] = [e for e in data["above"] if e["victim"] == victim]
        assert "all victims" in verdict(left).reason
    one = copy.deepcopy(of_crowd("messages", 0, quantity))
    one["claim"]["victims"] = [0, 1]
    assert verdict(one).status == "invalid"
    for wrong in ([], [0, 0], [2], [-1]):
        one["claim"]["victims"] = wrong
        assert verdict(one).status == "malformed"
    del one["claim"]["victims"]
    assert verdict(one).status == "malformed"


def test_a_lower_end_is_of_a_victim_of_the_claim():
    data, other = copy.deepcopy(of_crowd("messages", 1)), of_crowd("messages", 0)
    data["below"], data["claim"]["lower"] = other["below"], "1/10000"
    assert "of whom nothing is claimed" in verdict(data).reason


def test_groups_are_those_of_one_crowd():
    data = copy.deepcopy(of_crowd("messages"))
    data["above"][0]["groups"] = [3, 2]
    assert "different groups" in verdict(data).reason
    data = copy.deepcopy(of_crowd("messages"))
    data["above"] += of_crowd("data")["above"]
    assert verdict(data).status == "invalid"


def test_version_3_did_not_say_it():
    data = copy.deepcopy(of_crowd("messages", 0))
    data["version"] = 3
    assert (verdict(data).status, "whose guarantee" in verdict(data).reason) == ("malformed", True)


# --- ends that cross --------------------------------------------------------------------------------------------------


@cache
def one_round():
    return sa.epsilon(COIN, n=60, delta="1/100", method="blanket").certificate()


@cache
def few():
    return json.loads(json.dumps(sa.delta(TABLE, n=3, eps="log(6/5)", method="every_data_set").certificate()))


@cache
def composed():
    found = sa.profile(sa.RandomizedResponse(k=3, eps0=1), n=1000, method="blanket").rounds(20)
    return json.loads(json.dumps(found.epsilon("1e-6", gap="0.05").certificate()))


@cache
def of_budget():
    return json.loads(json.dumps(sa.delta(sa.PureLDP(eps0=1), n=1000, eps="1/10", gap=1e-2).certificate()))


def with_claim(data, **claim):
    changed = copy.deepcopy(data)
    changed["claim"] |= claim
    return changed


@pytest.mark.parametrize(
    ("quantity", "lower", "upper", "error"),
    [
        ("delta", "1/2", "1/3", "CrossedEnds"),
        ("delta", "1/2", "1", "Invalid"),
        ("delta", "0", "2", "Malformed"),
        ("delta", "-1", "1", "Malformed"),
        ("delta", "-1", "-1/2", "Malformed"),
        ("delta", "2", "3", "Malformed"),
        ("delta", "sqrt(2) - 1", "log(3/2) + 0*E", "CrossedEnds"),
        ("epsilon", "5015142392/10**10", "1490205243/10**10", "CrossedEnds"),
        ("epsilon", "inf", "1", "CrossedEnds"),
        ("epsilon", "-1", "1", "Malformed"),
        ("epsilon", "nan", "1", "Malformed"),
        ("epsilon", "0", "nan", "Malformed"),
        ("epsilon", "0", "0/0", "Malformed"),
    ],
)
def test_ends_that_cross_or_are_out_of_range_are_errors(quantity, lower, upper, error):
    key = {"delta": {"eps": "log(3/2)"}, "epsilon": {"delta": "1/100"}}[quantity]
    claim = {"quantity": quantity, "n": 4, "lower": lower, "upper": upper} | key
    data = certificate([], [])
    data["claim"] = claim
    found = verdict(data)
    assert (found.status != "valid", found.error) == (True, error), found


def test_ends_that_cross_are_errors_about_rounds():
    low, high = (composed()["claim"][end] for end in ("lower", "upper"))
    crossed = with_claim(composed(), lower=high, upper=low)
    assert verdict(crossed).error == "CrossedEnds"
    for changes in ({"lower": "-1"}, {"delta": "-1"}, {"delta": "1"}, {"delta": "2"}):
        assert verdict(with_claim(composed(), **changes)).status != "valid"
    for changes in ({"upper": "nan"}, {"lower": "nan"}, {"upper": "1/0"}, {"lower": "inf"}):
        assert verdict(with_claim(composed(), **changes)).status != "valid"


def test_what_is_proved_must_not_cross_either():
    """Above of a mechanism with little noise removed, below of one with none: each end is proved of its own."""
    above, below = (
        sa.delta(sa.RandomizedResponse(k=2, eps0=f"log({t})"), n=4, eps="log(5/4)", method="blanket").certificate()
        for t in (2, 9)
    )
    data = copy.deepcopy(above)
    data["below"], data["claim"]["lower"] = below["below"], "1/10**9"
    found = verdict(data)
    assert (found.status, found.error) == ("invalid", "CrossedEnds")
    above, below = (
        sa.epsilon(sa.RandomizedResponse(k=2, eps0=f"log({t})"), n=60, delta="1/100", method="blanket").certificate()
        for t in (2, 9)
    )
    data = copy.deepcopy(above)
    data["below"], data["claim"]["lower"] = below["below"], "1/10**9"
    assert verdict(data).error == "CrossedEnds"


def test_curves_of_rounds_must_not_cross():
    data = copy.deepcopy(composed())
    data["rounds"][0] |= {"given": True}
    data["above"] = {
        "rounds": [{"round": 0, "bottom": None, "top": None, "first": [["1", "1/10**9"]], "second": None}],
        "floor": 228, "precision": 128, "plan": None,
    }  # fmt: skip
    data["above"]["rounds"][0]["first"] = [["1", "1/1000000000"]]
    data["claim"]["upper"] = "inf"
    assert verdict(data).status == "valid"  # nothing is claimed above
    data["claim"]["upper"] = "100"
    data["claim"]["delta"] = "1/1000000"
    assert verdict(data).status == "invalid"


# --- what is printed --------------------------------------------------------------------------------------------------


def test_numbers_are_printed_whole_and_outward():
    lines = verdict(composed()).text().splitlines()
    assert lines[0].startswith("valid: epsilon in [0.")
    assert "delta = 1/1000000, for 20 rounds" in lines[0]
    low, high = (Fraction(x) for x in lines[0].partition("[")[2].partition("]")[0].split(", "))
    mantissa = (many_rounds._number(composed()["claim"][end]) for end in ("lower", "upper"))
    exact = [Fraction(int(x.p), int(x.q)) for x in mantissa]
    assert (
        exact[0] * (1 - Fraction(1, 10**8))
        <= low
        <= exact[0]
        <= exact[1]
        <= high
        <= exact[1] * (1 + Fraction(1, 10**8))
    )
    assert "  rounds of kind 0: 20, with n = 1000, sampling rate 1" in lines
    supposed = lines[lines.index("supposed, not checked:") :]
    assert any("(top)" in line for line in supposed)


def test_given_profiles_and_rates_are_printed():
    sampled = sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=200, method="blanket").sampled(n=200, of=1000)
    mixed = sa.compose([sampled.rounds(3), sa.from_privacy_profile([(0, "1/100"), (1, 0)]).rounds(2)])
    text = verdict(mixed.epsilon("1e-3", gap="0.05").certificate()).text()
    assert "3, with n = 200, sampling rate 1/5" in text
    assert "2, with a given profile" in text
    assert "given bounds on delta at e^eps, 1: 1/100" in text


def test_only_what_is_claimed_says_whose_guarantee_it_is():
    """Evidence above a bound that claims nothing has not been looked at."""
    data = copy.deepcopy(of_budget())
    assert "any randomizer" in verdict(data).reason
    trivial = with_claim(data, upper="1")
    assert "any randomizer" not in verdict(trivial).text()
    assert "t = " not in verdict(trivial).text()
    alone = with_claim(composed(), lower="0", upper="inf")
    text = verdict(alone).text()
    assert text.index("supposed") < text.index("n = 1000, sampling rate 1, without evidence")


def test_points_below_of_sampled_users_leave_the_law_of_the_others():
    data = copy.deepcopy(composed())
    data["rounds"][0]["rate"], data["claim"]["upper"] = "1/10", "inf"
    assert "without that sampling rate" in verdict(data).reason
    sampled = sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=200, method="blanket").sampled(n=200, of=1000)
    assert verdict(sampled.rounds(3).epsilon("1e-3", gap="0.05").certificate()).status == "valid"


@pytest.mark.parametrize(
    "x", [Fraction(1, 3), Fraction(1, 10), Fraction(2, 7) / 10**40, Fraction(10**30, 7), Fraction(5)]
)
def test_decimal_numbers_are_on_the_right_side(x):
    exact = flint.fmpq(x.numerator, x.denominator)
    with flint.ctx.workprec(400):
        for number in (exact, flint.arb(exact)):
            low, high = (Fraction(outward(number, up)) for up in (False, True))
            assert low <= x <= high
            assert high - low <= x / 10**8


FORGED = [
    "proved for every randomizer",
    "a\nvalid: delta in [0, 0]",
    "\x1b[2K\rvalid",
    "\u202egnihton",
    "\u2028x",
    "' \"",
    "\x00",
]


@pytest.mark.parametrize("text", FORGED)
def test_texts_are_echoed_as_supposed_only(text):
    for data in (one_round(), few(), of_crowd("messages"), composed()):
        changed = copy.deepcopy(data)
        for key in ("mechanism", "method", "proof_status", "source"):
            if key in changed:
                changed[key] = text
        for side in ("above", "below"):
            for evidence in changed[side] if isinstance(changed[side], list) else ():
                evidence |= {"method": text, "proof_status": text}
                evidence |= {"pair": [text, text]} if "pair" in evidence else {}
        if "rounds" in changed:
            for curve in changed["above"]["rounds"]:
                for entry in curve["first"]:
                    entry |= {"mechanism": text, "method": text}
            changed["rounds"][0]["round"] = text
        found, honest = verdict(changed), verdict(data)
        assert (found.status, found.reason, found.checked) == (honest.status, honest.reason, honest.checked)
        assert len(found.text().splitlines()) == len(found.checked) + len(found.supposed) + 2
        assert found.text().isascii()
        assert found.text().replace("\n", "").isprintable()


# --- few users --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [[[0, 0]], [[0, 0], [0, 1], [1, 0]], [[0, 1]], [[0, 3], [3, 0]], [[0, -1]], []])
def test_a_pair_is_of_two_inputs_and_stands_in_both_orders(pairs):
    data = copy.deepcopy(few())
    assert verdict(data).status == "valid"
    data["above"][0]["compared"] = pairs
    data["claim"]["lower"] = "0"
    assert verdict(data).status != "valid"


def test_pairs_that_are_not_all_are_named():
    assert "for all pairs of 3 inputs" in verdict(few()).reason
    data = copy.deepcopy(few())
    data["above"][0]["compared"], data["claim"]["lower"] = [[0, 1], [1, 0]], "0"
    assert "for these pairs of 3 inputs only: 0 and 1" in verdict(data).reason


def test_above_and_below_are_of_one_table():
    other = sa.FiniteMechanism([["3/5", "1/5", "1/5"], ["1/5", "3/5", "1/5"], ["1/5", "1/5", "3/5"]])
    data = copy.deepcopy(few())
    data["below"] = sa.delta(other, n=3, eps="log(6/5)", method="every_data_set").certificate()["below"]
    assert "different tables" in verdict(data).reason
    data = with_claim(few(), lower="0")
    assert "about one mechanism" not in verdict(data).text()


def test_a_triple_below_is_within_the_budget_above():
    data = copy.deepcopy(of_budget())
    assert verdict(data).status == "valid"
    assert "t = E" in verdict(data).text()
    louder = copy.deepcopy(data)
    louder["below"] = [triple(eps="1/10", evaluator="enumeration", plan=None)]
    louder["claim"]["lower"] = "1/10**12"
    assert "ratios above that of the budget" in verdict(louder).reason
    assert "about one mechanism" in verdict(data).text()


# --- work -------------------------------------------------------------------------------------------------------------


def quick(text, seconds=2.0):
    start = time.process_time()
    found = verdict(text)
    assert time.process_time() - start < seconds
    assert "\n" not in found.reason
    return found


@pytest.mark.parametrize("filling", ["[],", "{},", "1,", '"",', "[[[[[[[[", '{"a":[' * 4, '"' + "x" * 5000 + '",'])
def test_texts_are_measured_before_they_are_read(filling):
    text = '{"format": "symamp-composed-certificate", "rounds": [' + filling * (2**25 // len(filling) + 1) + "1]}"
    assert quick(text).error == "TooLarge"


def test_points_of_many_bits_are_counted_before_any_is_looked_at():
    data = copy.deepcopy(composed())
    data["rounds"][0]["given"] = True
    for bits in (6000, 60_000, 10**6):
        points = [[f"{i + 2}", f"1/{hex((1 << min(bits, 24_000)) + i)}"] for i in range(1000)]
        data["above"]["rounds"][0] |= {"first": points, "top": None, "bottom": None}
        data["above"]["floor"] = min(bits, 2**16)
        assert quick(json.dumps(data)).status != "valid"
    point = copy.deepcopy(composed()["above"]["rounds"][0]["first"][0])
    point["above"][0]["plan"] = {
        "theta": "1", "W": "1", "theta_above": "2", "theta_below": "1/2", "N": 10**5,
        "evaluated": [[1, 10**5 - 1]], "dropped": [],
    }  # fmt: skip
    point["above"][0]["evaluator"] = "compact kernel"
    data = copy.deepcopy(composed())
    data["above"]["rounds"][0]["first"] = [copy.deepcopy(point) for _ in range(1000)]
    assert quick(json.dumps(data), 6).error == "TooLarge"


def test_the_work_of_a_whole_certificate_is_counted_before_any_of_it():
    kernel = copy.deepcopy(sa.epsilon(COIN, n=100, delta="1/1000", gap=1e-1, method="blanket").certificate())
    evidence = next(e for e in kernel["above"] if e["evaluator"] == "compact kernel")
    evidence["plan"] |= {"N": 10**5, "evaluated": [[1, 10**5 - 1]], "dropped": []}
    kernel["above"] = [evidence] * 200
    found = quick(json.dumps(kernel), 1)
    assert "are announced" in found.reason
    assert str(Check().most) in found.reason


def test_keys_twice_or_unknown_are_refused_about_rounds():
    text = json.dumps(composed())
    assert verdict(text).status == "valid"
    for old, new in [
        ('"version": 2, "claim"', '"version": 2, "version": 2, "claim"'),
        ('"quantity": "epsilon"', '"quantity": "epsilon", "quantity": "epsilon"'),
        ('"quantity": "epsilon"', '"quantity": "epsilon", "x": "1"'),
        ('"count": 20', '"count": 20, "more": 1'),
        ('"count": 20', '"count": 20, "count": 20'),
        ('"floor": ', '"x": 1, "floor": '),
        ('"theta": ', '"x": 1, "theta": '),
        ('"theta": ', '"theta": "1", "theta": '),
        ('"count": 20', '"count": 20.0'),
        ('"count": 20', '"count": true'),
    ]:
        assert old in text
        assert verdict(text.replace(old, new, 1)).status == "malformed", new


def test_limits_are_far_above_what_is_written():
    text = json.dumps(composed())
    assert len(text) * 20 < documents.MOST_BYTES
    assert (text.count(",") + text.count("[") + text.count("{")) * 20 < documents.MOST_ITEMS


# --- names of evaluators ----------------------------------------------------------------------------------------------


def test_what_is_written_has_the_published_schema():
    for data in (one_round(), few(), of_crowd("messages"), of_crowd("data"), of_crowd("messages", 1, "epsilon")):
        check_document(json.loads(json.dumps(data)), "certificate")
        assert verdict(data).status == "valid"


# --- the arithmetic of the process ------------------------------------------------------------------------------------


def test_series_are_as_long_as_they_must_be_whatever_the_caller_has():
    data = json.dumps(
        sa.delta(
            sa.FiniteMechanism([["1/2", "1/2"], ["1/4", "3/4"], ["1/8", "7/8"]]),
            n=50,
            eps="1/5",
            gap=1e-1,
            method="all_data_sets",
        ).certificate()
    )
    tight = json.loads(data)
    tight["claim"]["upper"] = str(Fraction(tight["claim"]["upper"]) * Fraction(4, 5))
    before = flint.ctx.cap, flint.ctx.prec
    try:
        for cap in (1, 2, 3, 10):
            flint.ctx.cap = cap
            assert verify(data).status == "valid"
            assert verify(json.dumps(tight)).status == "invalid"
            assert flint.ctx.cap == cap
    finally:
        flint.ctx.cap, flint.ctx.prec = before


def test_threads_do_not_share_a_precision():
    texts = [json.dumps(x) for x in (one_round(), few(), of_crowd("messages"))]
    expected, found = [verify(x) for x in texts], []
    before = flint.ctx.prec
    threads = [threading.Thread(target=lambda: found.append([verify(x) for x in texts])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
    assert flint.ctx.prec == before
    with pytest.raises(ZeroDivisionError), working(777):
        _ = 1 // 0
    assert flint.ctx.prec == before
