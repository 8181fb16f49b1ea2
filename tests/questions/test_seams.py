"""Facts of all inputs against facts of the compared ones, exact numbers next to each other, and answers that check."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

import symamp as sa
from symamp.errors import ContradictionError, SupportMismatchError
from symamp.numbers.dyadic import Dyadic
from symamp.questions.bracket import Interval
from tests.oracle.histograms import randomized_response
from tests.oracle.laws import histogram

BINARY = randomized_response(2, Fraction(3))

RR3 = sa.RandomizedResponse(k=2, eps0="log(3)")
ATTRIBUTE = sa.joint([RR3] * 2, neighbours="one_attribute")


def table(**rows: str) -> sa.FiniteMechanism:
    """A table of hundredths; labels are the names of the rows without their first letter."""
    return sa.FiniteMechanism(
        {x[1:]: {f"y{i}": f"{p}/100" for i, p in enumerate(row.split())} for x, row in rows.items()}
    )


NEAR = table(x0="34 33 33", x1="33 34 33", x9="10 10 80")


# ------------------------------------------------------------------------------- all inputs and the compared inputs


def test_the_budget_of_all_inputs_and_of_the_compared_ones():
    assert (ATTRIBUTE.local_ratio(), ATTRIBUTE.compared_ratio()) == (9, 3)
    assert ATTRIBUTE.variation_ratio() == (3, sp.Rational(1, 2), 9)
    near = NEAR.near(1)
    assert (near.local_ratio(), near.compared_ratio()) == (sp.Rational(17, 5), sp.Rational(34, 33))
    assert not ATTRIBUTE.compares_all
    assert not near.compares_all
    assert NEAR.compares_all
    laplace = sa.Laplace(eps0=2).near("1/2")
    assert (laplace.local_ratio(), laplace.compared_ratio()) == (sp.exp(2), sp.E)


def test_no_loss_exceeds_the_largest_ratio_of_compared_inputs():
    assert sa.delta(ATTRIBUTE, n=4, eps="log(3)").upper == 0.0
    assert sa.epsilon(NEAR.near(1), n=1, delta="1e-9").upper <= math.log(34 / 33) * (1 + 1e-12)
    assert sa.profile(NEAR.near(1), n=2).rounds(2).delta("2*log(34/33)").upper == 0.0


def test_parts_that_compare_some_inputs_stand_alone():
    thinned = sa.poisson_subsample(ATTRIBUTE, "1/2")
    assert (thinned.compared_ratio(), thinned.local_ratio()) == (3, 9)
    assert sa.poisson_subsample(ATTRIBUTE, 1) is ATTRIBUTE
    with pytest.raises(sa.errors.ArgumentError, match="compares some of its inputs only"):
        sa.joint([ATTRIBUTE, RR3])
    with pytest.raises(sa.errors.ArgumentError, match="compares some of its inputs only"):
        sa.parallel([("1/2", ATTRIBUTE), ("1/2", RR3)])


def test_a_table_compares_what_its_mechanism_compares():
    table = ATTRIBUTE.table()
    assert len(table.pairs()) == 8  # four squares' sides in both orders, no diagonal
    assert sa.joint([RR3] * 2).table().compares_all
    part = sa.FiniteMechanism([["p", "1 - p"], ["1 - p", "p"]], parameters=[sa.Parameter("p", lower="1/2", upper=1)])
    with pytest.raises(SupportMismatchError, match="has free parameters"):
        sa.joint([part] * 2, neighbours="one_attribute").table()


@pytest.mark.parametrize("subject", [NEAR.near(1), ATTRIBUTE, [(3, 1, "1/4"), (1, 3, "1/4")]])
def test_sampling_needs_all_pairs(subject):
    with pytest.raises(SupportMismatchError, match="any two inputs are compared"):
        sa.profile(subject, n=2).sampled(n=2, of=4)


def test_a_triple_is_bounded_by_itself_alone():
    """A0 and A1 of ratio 3 beside a blanket of mass 1/50: budgets say nothing of what others send."""
    law = [(75, 25, "1/100"), (25, 75, "1/100")]
    found = sa.delta(law, n=1000, eps="1/10")
    assert found.method == "own_law"
    assert found.lower <= found.upper
    for method in ("generic", "standard_clone", "generic_all_data_sets", "variation_ratio", "two_level"):
        with pytest.raises(SupportMismatchError):
            sa.delta(law, n=1000, eps="1/10", method=method)


def test_positions_that_compare_different_inputs_are_refused():
    other = table(x0="25 50 25", x1="25 50 25", x9="50 25 25")
    with pytest.raises(SupportMismatchError, match="compare the same pairs"):
        sa.heterogeneous([(2, NEAR.near(1)), (2, other)], shuffled="data")
    assert sa.heterogeneous([(2, NEAR.near(1)), (2, other.near(1))], shuffled="data").n == 4


def test_a_victim_keeps_the_number_of_the_group():
    """Groups without an honest user are left out of the sum, not of the numbers."""
    near = sa.FiniteMechanism([["1/2", "1/2"], ["4/9", "5/9"]])
    far = sa.FiniteMechanism([["4/5", "1/5"], ["1/5", "4/5"]])
    groups = [(1, far), (2, near), (1, far)]
    crowd = sa.heterogeneous(groups, shuffled="messages", honest=[0, 2, 1])
    every = sa.delta(crowd, eps="1/10")
    assert set(every.victims) == {1, 2}
    assert every.victims[1][1] < every.victims[2][0]
    named = sa.delta(crowd, eps="1/10", victim=1)
    assert named.victims == {1: every.victims[1]}
    with pytest.raises(sa.errors.ArgumentError, match="with an honest user"):
        sa.delta(crowd, eps="1/10", victim=0)


def test_rounds_take_proved_methods_only():
    """The values of a refuted method are shown beside a bracket, and never become its end."""
    pair = sa.joint([sa.RandomizedResponse(k=2, eps0="log(7)")] * 2)
    refuted = sa.profile(pair, n=3, method="variation_ratio_2023")
    assert refuted.epsilon("1/10").claimed is not None
    for ask in (lambda: refuted.rounds(2), lambda: refuted.renyi(2), lambda: refuted.sampled(n=2, of=4)):
        with pytest.raises(SupportMismatchError, match="a proved method"):
            ask()


# --------------------------------------------------------------------------------------- equal parts, other weights


def test_choices_of_values_for_unequal_weights_are_told_apart():
    """Without a dominating pair, values that differ for either part are classes of their own."""
    rows = [["2/3", "1/6", "1/6"], ["1/6", "2/3", "1/6"], ["1/4", "1/4", "1/2"]]
    part = sa.FiniteMechanism(rows)
    drawn = sa.parallel([("1/10", part), ("9/10", part)])
    whole = Fraction(1, 10) * Fraction(1, 2) + Fraction(9, 10) * Fraction(1, 2)
    assert Fraction(sa.delta(drawn, n=1, eps=0).upper) >= whole


# ------------------------------------------------------------------------------------------ exact numbers, compared


@pytest.mark.parametrize("below", ["1e-30", "1e-19", "1e-6"])
def test_rounds_next_to_the_largest_loss(below):
    """Both rounds have the largest loss: 2 users, both messages named; nothing else exceeds eps."""
    rounds = sa.profile(RR3, n=2).rounds(2)
    answer = rounds.delta(f"2*log(3)-{below}")
    p = histogram([BINARY[0]] * 2)
    q = histogram([BINARY[1], BINARY[0]])
    assert max(p[h] / q[h] for h in p) == 3
    some = max(m for h, m in p.items() if m / q[h] == 3) ** 2
    assert 0.0 < answer.lower <= float(some) * float(below) * (1 + 1e-4)
    assert answer.upper >= float(some) * float(below) * (1 - 1e-4)
    assert answer.upper <= 1.001 * answer.lower


def test_rounds_at_the_largest_loss():
    rounds = sa.profile(RR3, n=2).rounds(2)
    for eps in ("2*log(3)", "log(9)", "log(9)+1e-30"):
        assert rounds.delta(eps).upper == 0.0
    one = sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=2).rounds(2)
    assert one.delta("2").upper == 0.0
    assert 0.0 < one.delta("2-1e-25").upper < 1e-25


def test_losses_that_share_a_double():
    given = sa.from_privacy_profile([(1, "1e-30"), ("1.00000000000000000001", 0)])
    assert 4.99e-31 < given.delta("1.000000000000000000005").upper < 5.01e-31
    assert given.delta("1.00000000000000000001").upper < 1e-38  # levels are rounded up to 128 bits


# ---------------------------------------------------------------------------------------- answers check themselves


ANSWER = sa.delta(RR3, n=3, eps="log(2)")


@pytest.mark.parametrize(
    ("least", "most"), [(ANSWER.most, Dyadic(1, -60)), (Dyadic(-1), ANSWER.most), (ANSWER.least, Dyadic(3, -1))]
)
def test_an_answer_that_contradicts_itself_is_none(least, most):
    with pytest.raises(ContradictionError, match=r"delta of RandomizedResponse.*n = 3, eps = log\(2\)"):
        replace(ANSWER, least=least, most=most)


def test_rounds_users_who_differ_and_inverse_questions_check_themselves():
    composed = sa.profile(RR3, n=30).rounds(2).epsilon("1/100")
    with pytest.raises(ContradictionError, match="2 x"):
        replace(composed, least=composed.most, most=composed.least)
    crowd = sa.delta(sa.heterogeneous([(3, RR3), (2, RR3)], shuffled="messages"), eps="1/10")
    with pytest.raises(ContradictionError, match="victim 1"):
        replace(crowd, of_victims=((0, Interval(0.0, 1.0)), (1, Interval(0.5, 0.25))))
    inverse = sa.least_n(RR3, eps="1/2", delta="1/100")
    with pytest.raises(ContradictionError, match="n of"):
        replace(inverse, lower=inverse.upper + 1)


def test_curves_and_sweeps_check_their_order():
    curve = sa.profile(RR3, n=10).curve(["1/10", "1"])
    first, last = curve.answers
    wrong = replace(last, least=Dyadic(1, -1), most=Dyadic(3, -2), bound=Interval(0.5, 0.75))
    with pytest.raises(ContradictionError, match="curve of"):
        replace(curve, answers=(first, wrong))
    sweep = sa.sweep({"2-RR": RR3}, n=[10, 100], eps="1/10")
    with pytest.raises(ContradictionError, match="delta of 2-RR"):
        replace(sweep, lower=sweep.lower[:, :, ::-1, :], upper=sweep.upper[:, :, ::-1, :])
    renyi = sa.profile(RR3, n=10).renyi([2, 4])
    with pytest.raises(ContradictionError, match="Renyi"):
        replace(renyi, lower=renyi.upper, upper=renyi.lower)


def test_a_contradiction_travels_and_says_what_to_do():
    import pickle

    error = ContradictionError("epsilon of x", "[1, 0]", "a against b")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert "please report" in str(error)
