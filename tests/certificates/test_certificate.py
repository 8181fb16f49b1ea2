"""Certificates of answers: one document, complete for every question, which the verifier accepts."""

import copy
import dataclasses
import json
import math
from fractions import Fraction
from functools import lru_cache
from random import Random

import flint
import mpmath
import pytest
import sympy as sp
from falsehoods import checked, number
from flint import fmpq
from oracle.histograms import random_table

import symamp as sa
from symamp.bounds.all_data_sets.generic import above, below
from symamp.errors import ArgumentError
from symamp.numbers.rationals import rational_of
from symamp.randomizers.catalogue import by_name
from symamp.verifier import verify
from symamp.verifier.check import Check
from symamp.verifier.evidence import every_randomizer
from tests.exactly import mechanism_in as mechanism
from tests.exactly import replaced, status
from tests.oracle.histograms import normalised
from tests.sampled import chunks, some

COIN = sa.RandomizedResponse(k=2, eps0="log(3)")
TERNARY = sa.RandomizedResponse(k=3, eps0=1)
LEAK = sa.FiniteMechanism({"no": {"0": "1/2", "1": "1/2"}, "yes": {"0": "1"}})
RARE = sa.FiniteMechanism({"a": {"0": "9/10", "1": "1/10"}, "b": {"0": "9/10", "2": "1/10"}, "c": {"0": "1"}})
UNEVEN = sa.FiniteMechanism(
    {"low": {"0": "1/2", "1": "1/2"}, "middle": {"0": "1/4", "1": "3/4"}, "high": {"0": "1/8", "1": "7/8"}}
)
THREE = sa.FiniteMechanism(
    {
        "low": {"0": "1/2", "1": "1/4", "2": "1/4"},
        "middle": {"0": "1/4", "1": "1/2", "2": "1/4"},
        "high": {"0": "1/8", "1": "1/4", "2": "5/8"},
    }
)


# --- every answer has a certificate ---------------------------------------------------------------------------------

EPSILON = {
    "krr": (sa.RandomizedResponse(k=10, eps0=1), 10**4, "1e-6"),
    "one user": (TERNARY, 1, "1e-6"),
    "two users": (TERNARY, 2, "1/3"),
    "nearly the local budget": (TERNARY, 3, "1e-40"),
    "the local budget, a double": (TERNARY, 1000, "1e-5000"),
    "the local budget, rounded up": (COIN, 1000, "1e-5000"),
    "tiny": (TERNARY, 1000, "1e-300"),
    "zero without shuffling": (TERNARY, 10, "9/10"),
    "zero by shuffling": (TERNARY, 10**12, "1e-3"),
    "most users": (TERNARY, 10**18, "1e-20"),
    "no eps": (LEAK, 10, "1e-3"),
    "a singular part": (RARE, 100, "2/10"),
    "a plateau": (RARE, 50, "1/10"),
    "below a plateau": (RARE, 50, "99/1000"),
    "three inputs, triples": (UNEVEN, 1000, "1e-5", "blanket"),
    "three inputs, an envelope": (UNEVEN, 1000, "1e-5", "envelope"),
    "three inputs, all data sets": (UNEVEN, 1000, "1e-5", "all_data_sets"),
    "three messages": (THREE, 1000, "1e-5"),
    "any randomizer": (sa.PureLDP(eps0=1), 10**3, "1e-6", "generic"),
    "any randomizer, the local budget": (sa.PureLDP(eps0=1), 10**3, "1e-5000"),
    "rappor": (by_name("rappor")(D=50, eps0=1), 10**4, "1e-6"),
    "hadamard": (sa.HadamardResponse(K=16, eps0=2), 10**4, "1e-6"),
    "subset selection": (sa.SubsetSelection(d=20, k=4, eps0="log(7)"), 10**5, "1e-8"),
}
DELTA = {
    "krr": (sa.RandomizedResponse(k=10, eps0=1), 10**4, "1/10"),
    "eps = 0": (TERNARY, 100, 0),
    "one user": (TERNARY, 1, "1/2"),
    "exact": (COIN, 3, "log(2)"),
    "eps = eps0": (TERNARY, 100, 1),
    "eps = eps0, a logarithm": (COIN, 100, "log(3)"),
    "eps = eps0, a root": (sa.RandomizedResponse(k=3, eps0="log(3)/2"), 100, "log(3)/2"),
    "eps = eps0, a product": (by_name("rappor")(D=4, eps0=2), 20, 2),
    "eps above eps0": (TERNARY, 100, 1e6),
    "eps just below eps0": (TERNARY, 2, Fraction(999999999999, 10**12)),
    "below all doubles": (TERNARY, 10**9, "1/2"),
    "many users": (TERNARY, 10**12, "1/200000"),
    "a logarithm": (TERNARY, 1000, "log(11/10)"),
    "a leak": (LEAK, 10, 1),
    "a leak at a huge eps": (LEAK, 10, 10**4),
    "a singular part": (RARE, 100, "1/10"),
    "three inputs, triples": (UNEVEN, 1000, "1/5", "blanket"),
    "three inputs, an envelope": (UNEVEN, 1000, "1/5", "envelope"),
    "three inputs, all data sets": (UNEVEN, 1000, "1/5", "all_data_sets"),
    "three messages": (THREE, 1000, "1/5"),
    "any randomizer": (sa.PureLDP(eps0=1), 10**3, "1/10", "generic"),
}


def evidence(data, side="above"):
    return data[side]["evidence"]


def complete(answer):
    """The certificate of an answer, which is valid and complete: the claim of the answer, about its mechanism."""
    data = json.loads(json.dumps(checked(answer)))
    claim, (setting,) = data["claim"], data["settings"]
    verdict = verify(json.dumps(data))
    assert (claim["quantity"], setting["groups"][0]["users"]) == (answer.quantity, answer.n)
    assert setting["name"] == repr(answer.question.subject)
    assert any(setting["name"][:60] in line for line in verdict.supposed)
    if answer.quantity == "epsilon":
        ends = [str(Fraction(x)) if x < math.inf else "inf" for x in (answer.lower, answer.upper)]
        assert [claim["lower"], claim["upper"]] == ends
    else:
        assert number(claim["lower"]) >= answer.lower
        assert number(claim["upper"]) <= answer.upper
    assert (data["above"] is not None) == (answer.upper < (math.inf if answer.quantity == "epsilon" else 1.0))
    assert (data["below"] is not None) == (claim["lower"] != "0")
    return data


@pytest.mark.parametrize("case", some(EPSILON, lambda case: not case.startswith("three")))
def test_epsilon_has_a_certificate(case):
    subject, n, delta, *method = EPSILON[case]
    data = complete(sa.epsilon(subject, n=n, delta=delta, method=next(iter(method), None)))
    assert Check().number(data["claim"]["delta"]) == flint.fmpq(*Fraction(delta).as_integer_ratio())


@pytest.mark.parametrize("case", some(DELTA, lambda case: not case.startswith("three")))
def test_delta_has_a_certificate(case):
    subject, n, eps, *method = DELTA[case]
    complete(sa.delta(subject, n=n, eps=eps, method=next(iter(method), None)))


@pytest.mark.parametrize("method", some(["generic", "standard_clone", "variation_ratio", "variation_ratio_2023"], 2))
@pytest.mark.parametrize("subject", some([TERNARY, THREE], 1), ids=["krr", "table"])
def test_every_method_has_a_certificate(method, subject):
    complete(sa.epsilon(subject, n=500, delta="1e-5", method=method))
    complete(sa.delta(subject, n=500, eps="1/10", method=method))


ANSWERS = {
    "a trillion users": lambda: sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**12, delta="1e-14"),
    "tiny delta": lambda: sa.epsilon(sa.RandomizedResponse(k=10, eps0=1), n=10**5, delta="1e-1000"),
    "binomial tails": lambda: sa.epsilon(sa.HadamardResponse(K=128, eps0=8), n=10**4, delta="1e-6"),
    "local hashing": lambda: sa.epsilon(sa.LocalHashing(D=100, l=2, eps0=4), n=10**4, delta="1e-6"),
    "all data sets": lambda: sa.delta(COIN, n=1000, eps="1/10", method="all_data_sets"),
    "one user, all data sets": lambda: sa.delta(TERNARY, n=1, eps="1/10", method="all_data_sets"),
    "a law of one's own": lambda: sa.delta([(75, 25, "1/100"), (25, 75, "1/100")], n=1000, eps="1/10"),
    "two attributes": lambda: sa.delta(sa.joint([TERNARY] * 2), n=1000, eps="1/10"),
    "one attribute": lambda: sa.delta(sa.joint([COIN] * 2, neighbours="one_attribute"), n=1000, eps="1/10"),
    "three attributes, few users": lambda: sa.delta(
        sa.joint([sa.FiniteMechanism([["7/15", "8/15"], ["5/8", "3/8"]])] * 3), n=2, eps="1/10"
    ),
    "in parallel": lambda: sa.delta(sa.parallel([("1/2", COIN), ("1/2", TERNARY)]), n=1000, eps="1/10"),
    "worst inputs only": lambda: sa.delta(sa.families.PrivKV(s=4, d=64, eps0=1), n=1000, eps="1/10"),
    "harmony": lambda: sa.epsilon(sa.families.Harmony(d=10, eps0=2), n=10**5, delta="1e-6"),
    "two messages": lambda: sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps="0.13"),
    "means": lambda: sa.epsilon(sa.families.OneBitMean(eps0=2), n=10**4, delta="1e-6"),
}
KINDS = {
    "all data sets": "all data sets", "two messages": "message counts",
    "binomial tails": "envelope",
}  # fmt: skip
DESCRIBED = {
    "a law of one's own": "triples",
    "harmony": "triples",
}


@pytest.mark.parametrize("name", some(ANSWERS, lambda name: name not in ("in parallel", "worst inputs only")))
def test_default_answers_have_certificates(name):
    answer = ANSWERS[name]()
    data = complete(answer)
    if name in KINDS:
        assert {e["kind"] for e in evidence(data)} == {KINDS[name]}
    assert mechanism(data)["kind"] == DESCRIBED.get(name, mechanism(data)["kind"])
    tightened = replaced(data, "claim", "upper", to=str(number(data["claim"]["upper"]) * Fraction(9, 10)))
    assert status(tightened) == "invalid" or answer.quantity == "delta"


def test_tables_of_many_inputs_are_certified_over_all_data_sets():
    """Nine inputs: a common tilt, blankets, and for pairs that neither settles the plan of all data sets."""
    answer = sa.epsilon(sa.joint([TERNARY] * 2), n=1000, delta="1e-6")
    assert answer.method == "all_data_sets"
    data = complete(answer)
    kinds = [e["kind"] for e in evidence(data)]
    assert {"all data sets", "common tilt"} <= set(kinds)
    for i, kind in enumerate(kinds):
        if kind != "common tilt":
            left = [e for j, e in enumerate(evidence(data)) if j != i]
            assert status(replaced(data, "above", "evidence", to=left)) == "invalid"


@pytest.mark.parametrize(
    ("size", "eps0", "n", "delta"),
    [
        (8, 4, 10**4, "1e-6"),
        *(pytest.param(32, *of, marks=pytest.mark.slow) for of in (("1/2", 10**4, "1e-6"), (2, 10**4, "1e-6"))),
        pytest.param(32, 1, 10**6, "1e-12", marks=pytest.mark.slow),
    ],
)
def test_discrete_laplace_noise_is_certified_by_its_table(size, eps0, n, delta):
    """A family that compares its ends, with others at all integers: the verifier has the table, for the common tilt."""
    data = complete(sa.epsilon(sa.DiscreteLaplace(B=size, eps0=eps0), n=n, delta=delta))
    assert mechanism(data)["kind"] == "table"
    assert {"all data sets", "common tilt"} <= {e["kind"] for e in evidence(data)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "eps0"),
    [(x, n, e) for x in ("krr", "rappor", "oue", "hadamard-response") for n in (10**3, 10**6) for e in (1, 4)],
)
def test_default_answers_over_the_catalogue_have_certificates(name, n, eps0):
    sizes = {"krr": {"k": 5}, "rappor": {"D": 20}, "oue": {"D": 20}, "hadamard-response": {"K": 32}}
    subject = by_name(name)(eps0=eps0, **sizes[name])
    complete(sa.epsilon(subject, n=n, delta="1e-6"))
    complete(sa.delta(subject, n=n, eps="1/10"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "n", "delta"),
    [
        (lambda: by_name("collision-narrow")(**by_name("collision-narrow").typical, eps0=4), 10**3, "1e-6"),
        pytest.param(lambda: sa.PureLDP(eps0="log(3)"), 100, "1e-3", marks=pytest.mark.slow),
    ],
)
def test_mixtures_of_classes_that_bind_in_other_cells_are_certified(subject, n, delta):
    """In some cells one class is bounded better by a constant, and another one, which counts, is not."""
    found = sa.epsilon(subject(), n=n, delta=delta)
    assert "all data sets" in {e.evaluator for e in found.evidence_above}
    complete(found)


def test_columns_alike_are_one_whether_their_ratio_is_exact_or_a_ball():
    """A message that everyone sends with chance 1/2, beside messages of irrational chances whose ratio is 1, too."""
    e, rest = sp.E, 2 * (sp.E + 3)
    table = [[(e if x == y else 1) / rest for y in range(4)] + [sp.Rational(1, 2)] for x in range(4)]
    complete(sa.epsilon(sa.FiniteMechanism(table), n=50, delta="1e-6", method="blanket"))


@pytest.mark.parametrize("digits", [20, 60])
def test_more_digits_than_doubles_have_are_claimed(digits):
    answer = sa.delta(COIN, n=100, eps="1/3", digits=digits, method="blanket")
    claim = complete(answer)["claim"]
    with mpmath.workdps(120):
        low, high = (mpmath.mpf(x.numerator) / x.denominator for x in (number(claim["lower"]), number(claim["upper"])))
        for end, exact in zip((low, high), answer.as_mpf(), strict=True):
            assert abs(end / exact - 1) < mpmath.mpf(10) ** -digits
        assert low <= answer.as_mpf()[0] < answer.as_mpf()[1] <= high


def test_leaks_claim_that_no_eps_suffices():
    data = complete(sa.epsilon(LEAK, n=10, delta="1e-3"))
    assert (data["claim"]["lower"], data["claim"]["upper"]) == ("inf", "inf")
    assert [e["evaluator"] for e in evidence(data, "below")] == ["limit"]


def test_an_exact_zero_is_shown_by_equal_texts():
    data = complete(sa.delta(TERNARY, n=100, eps=1, method="blanket"))
    assert (data["claim"]["upper"], evidence(data)) == ("0", [])
    (first, *_) = mechanism(data)["pairs"][0]["columns"]
    assert first["on"][0] == f"exp(1)*({first['on'][1]})"


def test_huge_integers_are_written_so_that_they_can_be_read():
    unary = by_name("unary-encoding")
    complete(sa.delta(unary(D=20_000, p="3/4", q="1/5"), n=100, eps="1/2", method="blanket"))
    p, q = Fraction(3, 4) + Fraction(1, 10**3000), Fraction(1, 5) + Fraction(1, 7**3500)
    coins = sa.FiniteMechanism({"x": {"0": p, "1": 1 - p}, "y": {"0": q, "1": 1 - q}})
    complete(sa.delta(coins, n=100, eps="1/2", method="blanket"))


def test_an_answer_without_its_question_has_no_certificate():
    answer = dataclasses.replace(sa.delta(TERNARY, n=10, eps=1), question=None)
    with pytest.raises(ArgumentError, match="certificate"):
        answer.certificate()


def test_what_the_theorems_suppose_stands_apart():
    data = complete(sa.delta(TERNARY, n=100, eps="1/10", method="blanket"))
    assert data["supposed"] == ["All users run one randomizer.", "Every user takes part, and no message is lost."]
    printed = verify(json.dumps(data)).text()
    assert all(
        f"stated: {sentence!r}" in printed.partition("supposed, not checked:")[2] for sentence in data["supposed"]
    )


# --- tables -----------------------------------------------------------------------------------------------------------


def table(size, seed, top=9):
    """A table of random fractions."""
    rng = Random(seed)
    rows = normalised([[rng.randint(0 if seed % 2 else 1, top) for _ in range(size)] for _ in range(size)])
    return sa.FiniteMechanism({f"x{i}": {str(j): p for j, p in enumerate(row)} for i, row in enumerate(rows)})


@lru_cache(maxsize=8)
def small(name):
    questions = {
        "envelope": lambda: sa.delta(COIN4, n=6, eps="log(3/2)", method="envelope"),
        "three laws": lambda: sa.delta(table(3, 2), n=5, eps="log(5/4)", method="envelope"),
        "all data sets": lambda: sa.delta(COIN2, n=40, eps="log(11/10)", method="all_data_sets", gap=1e-1),
        "a table": lambda: sa.delta(table(5, 4), n=4, eps="log(6/5)", method="blanket"),
        "a table with zeros": lambda: sa.delta(table(6, 5, top=3), n=3, eps="log(3/2)", method="blanket"),
        "counts": lambda: sa.delta(COIN2, n=40, eps="log(6/5)", method="two_messages"),
        "budget": lambda: sa.delta(sa.PureLDP(eps0="log(3)"), n=30, eps="log(6/5)", method=PATTERNS, gap=1e-1),
    }
    return json.loads(json.dumps(complete(questions[name]())))


COIN2, COIN4 = (sa.RandomizedResponse(k=2, eps0=f"log({t})") for t in (2, 4))
PATTERNS = "generic_all_data_sets"


def test_a_law_above_all_others_counts_with_what_it_lacks():
    """Where a law is not above another one, the difference is added: the claim decides."""
    data = small("envelope")
    values = evidence(data)[0]["dominating"]["values"]
    for i, value in enumerate(values):
        less = str(Fraction(value) - Fraction(1, 2**20))
        assert status(replaced(data, "above", "evidence", 0, "dominating", "values", i, to=less)) == "invalid"
    masses = evidence(data)[0]["dominating"]["masses"]
    wrong = replaced(data, "above", "evidence", 0, "dominating", "masses", to=["-1", "2", *masses[2:]])
    assert status(wrong) == "invalid"


def test_what_is_refused_of_all_data_sets_and_why():
    data = small("all data sets")
    path = ("above", "evidence", 0, "plan")
    plan = evidence(data)[0]["plan"]
    terms, ends = plan["terms"], plan["terms"][0]["ends"]
    shrunk = [{**t, "a": str(Fraction(t["a"]) * Fraction(99, 100))} for t in terms]
    for changed, word in [
        (replaced(data, *path, "terms", to=[]), "not proved"),
        (replaced(data, *path, "terms", to=shrunk), "1/p^2"),
        (replaced(data, *path, "p_lo", to=f"1/{10**30}"), "1/p^2"),
        (replaced(data, *path, "terms", 0, "ends", to=["1", *ends[1:]]), "cells"),
        (replaced(data, *path, "terms", 0, "ends", to=[ends[0], ends[2], ends[1], *ends[3:]]), "cells"),
        (replaced(data, *path, "terms", 0, "scales", 0, to="0"), "cells"),
        (replaced(data, *path, "terms", 0, "sigma", to="0"), "cells"),
    ]:
        verdict = verify(json.dumps(changed))
        assert verdict.status != "valid", word
        assert word in verdict.reason


def test_a_pair_of_rows_that_is_left_out_is_missed():
    data = small("a table")
    assert len(evidence(data)) > 1
    tilt = [e for e in evidence(data) if e["kind"] == "common tilt"]
    assert "not covered" in verify(json.dumps(replaced(data, "above", "evidence", to=tilt))).reason


def test_tables_beyond_64_inputs_are_refused():
    answer = sa.delta(table(65, 2), n=10**3, eps="1/2", method="blanket")
    with pytest.raises(ArgumentError, match="64 inputs"):
        answer.certificate()


def test_work_is_bounded():
    data = small("all data sets")
    term = evidence(data)[0]["plan"]["terms"][0]
    many = {**term, "ends": [str(i) for i in range(10**5)], "scales": ["1"] * (10**5 - 1)}
    assert status(replaced(data, "above", "evidence", 0, "plan", "terms", to=[many] * 20)) != "valid"
    tails = {"theta": "1", "windows": [[0, 10**9], [0, 10**9]]}
    dominating = {"values": ["3", "2", "1", "-1"], "masses": ["1/4"] * 4, "singular": "0"}
    found = {"kind": "envelope", "pair": [0, 1], "dominating": dominating, "evaluator": "binomial tails", "plan": tails}
    changed = replaced(data, "above", "evidence", to=[found])
    changed["settings"][0]["groups"][0]["users"] = 10**12
    assert status(changed) != "valid"


# --- two messages -----------------------------------------------------------------------------------------------------

UNEVEN_COINS = sa.FiniteMechanism([["3/4", "1/4"], ["1/2", "1/2"], ["1/5", "4/5"]])


@pytest.mark.parametrize(
    ("subject", "n"), [(sa.RandomizedResponse(k=2, eps0=1), 10**9), (UNEVEN_COINS, 300)], ids=["coins", "three inputs"]
)
def test_both_ends_of_two_messages_are_certified(subject, n):
    answer = sa.epsilon(subject, n=n, delta="1e-6")
    data = complete(answer)
    assert answer.method == "two_messages"
    for end, factor in (("upper", Fraction(999, 1000)), ("lower", Fraction(1001, 1000))):
        assert status(replaced(data, "claim", end, to=str(Fraction(data["claim"][end]) * factor))) == "invalid"


def test_a_mixed_data_set_is_certified_from_below():
    data = complete(sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=1000, eps="0.13"))
    (found,) = evidence(data, "below")
    assert (found["kind"], sorted(c for _, c in found["others"][0])) == ("steps", [1, 998])


def test_boxes_that_leave_a_composition_out_are_refused():
    data = small("counts")
    for i in range(len(evidence(data)[0]["boxes"])):
        less = copy.deepcopy(data)
        del evidence(less)[0]["boxes"][i]
        assert status(less) == "invalid"


# --- every randomizer of a budget -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "share"), [("3/2", "0"), ("3", "1/7"), ("9/5", "1/2"), ("8", "1"), ("5", "-1/10"), ("3/2", "-1/2")]
)
def test_the_verifier_makes_the_laws(t, share):
    t, share, e = rational_of(Fraction(t)), Fraction(share), fmpq(11, 10)
    p = 1 / (t + 2) + rational_of(share) * (1 / (t + 2) if share < 0 else 1 / (t + 1) - 1 / (t + 2))
    rho, order = 1 - p * (1 + t), rational_of(Fraction(11, 10))
    expected = set()
    for a, b, f, h in (below if share < 0 else above)(t, p):
        values = (t - order, (t - order) / t, 1 - t * order, (1 - t * order) / t)
        values += (t * (1 - order), 1 - order, (1 - order) / t)
        atoms = zip(values, (p - a, t * a, p - b, t * b, f / t, rho - f - h, t * h), strict=True)
        expected.add(frozenset((str(v), str(m)) for v, m in atoms if m != 0))
    found = every_randomizer._laws(fmpq(int(t.p), int(t.q)), 1 - e, fmpq(share.numerator, share.denominator), share < 0)
    laws = {frozenset((str(v), str(m)) for v, m in atoms) for atoms, null in found if null == 0}
    assert laws == expected
    for atoms in laws:
        values = [(Fraction(v), Fraction(m)) for v, m in atoms]
        assert sum(m for _, m in values) == 1
        assert sum(v * m for v, m in values) == Fraction(-1, 10)
        assert sum(max(v, 0) * m for v, m in values) == Fraction(str(p)) * Fraction(str(t - order))


@pytest.mark.slow
def test_cells_must_cover_all_randomizers():
    data = small("budget")
    (found,) = evidence(data)
    assert (found["kind"], mechanism(data)["kind"]) == ("every randomizer", "budget")
    shares, cells = found["shares"], found["cells"]
    assert len(cells) > 1

    def changed(**changes):
        return status(replaced(data, "above", "evidence", 0, to=found | changes))

    assert changed(shares=shares[2:], cells=cells[2:]) == "invalid"
    assert changed(shares=shares[:-1], cells=cells[:-1]) == "invalid"
    assert changed(shares=shares[::-1]) == "invalid"
    assert status(replaced(data, "settings", 0, "groups", 0, "mechanism", "ratio", to="9")) == "invalid"
    for changes in ({"low": None}, {"cells": 3}, {"low": {"evaluator": 3, "plan": None}}):
        assert changed(**changes) == "malformed"


# --- the verifier agrees with what is certified -----------------------------------------------------------------------


def agree(seed):
    """The verifier accepts what the evaluator certified, for a random table and a random question."""
    rng = Random(seed)
    rows = random_table(rng, zeros=seed % 3 == 0)
    subject = sa.FiniteMechanism({f"x{i}": {f"y{j}": p for j, p in enumerate(row)} for i, row in enumerate(rows)})
    n = rng.choice([1, 2, 7, 60, 1000, 10**6])
    eps = f"log({Fraction(rng.randint(10, 30), 10)})"
    checked(sa.delta(subject, n=n, eps=eps, gap=1e-4, method="blanket"))


@pytest.mark.parametrize("seeds", chunks(range(10), 10, [*range(10, 40), *range(1000, 2000)], 52))
def test_verifier_agrees_with_evaluator_on_random_tables(seeds):
    for seed in seeds:
        agree(seed)


def test_a_table_of_many_inputs_beyond_its_budget_has_a_certificate():
    agree(1888)  # delta = 0


def random_law(rng):
    """A triple with two to four components, rational or with exponentials."""
    size = rng.randint(2, 4)
    unit = rng.choice(["1", f"exp(1/{rng.randint(2, 9)})"])
    weights = [f"({rng.randint(1, 9)} + {rng.randint(0, 3)}*({unit} - 1))" for _ in range(size)]
    mass = [Fraction(rng.randint(1, 9), 10 * size) for _ in range(size)]
    total = "(" + " + ".join(weights) + ")"
    order = rng.sample(weights, size)
    return [(f"{a}/{total}/({m})", f"{b}/{total}/({m})", m) for a, b, m in zip(weights, order, mass, strict=True)]


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_no_claim_beyond_the_other_end_is_accepted(seed):
    rng = Random(seed)
    for _ in range(6):
        n = rng.choice([1, 2, 5, 30, 100, 10**3, 10**4, 10**6, 10**9, 10**12])
        eps = rng.choice([f"{rng.randint(0, 50)}/{10 * math.isqrt(n) + 10}", "log(11/10)"])
        data = checked(sa.delta(random_law(rng), n=n, eps=eps, gap=rng.choice([1e-2, 1e-4, 1e-6])))
        low, high = (number(data["claim"][end]) for end in ("lower", "upper"))
        if 0 < low <= high < 1:
            beyond = {"upper": low * Fraction(999, 1000), "lower": high * Fraction(1001, 1000)}
            for end, claim in beyond.items():
                other = {"upper": "lower", "lower": "upper"}[end]
                changed = replaced(data, "claim", end, to=str(claim))
                changed["claim"][other] = {"lower": "0", "upper": "1"}[other]
                assert status(changed) == "invalid"
