"""Renyi divergences, trade-off functions, sampling, given profiles and exports."""

import json
import math
import pickle
from fractions import Fraction
from statistics import NormalDist

import mpmath
import pytest
from flint import fmpq

import symamp as sa
from symamp.accounting.curves import CurvePoint
from symamp.accounting.exports import to_document
from symamp.accounting.round import ShuffledRound
from symamp.numbers.limits import Limits
from symamp.settings.question import Question
from symamp.verifier import verify
from tests.exactly import replaced, status
from tests.oracle import composition as oracle
from tests.oracle.world import Chosen, Group, Table, Truth, World
from tests.sampled import some

KRR = sa.RandomizedResponse(k=10, eps0=1)


def rows(k, t):
    low = Fraction(1) / (t + k - 1)
    return [[t * low if i == j else low for j in range(k)] for i in range(k)]


# ------------------------------------------------------------------------------------------------------------- Renyi


@pytest.mark.parametrize(
    ("eps0", "n", "order", "bracket"),
    [
        (1, 10**6, 2, "5.03681621e-07 5.03978214e-07"),
        (1, 10**6, 1024, "2.57885008e-4 2.58036801e-4"),
        pytest.param(4, 10**4, 16, "0.0726052279 0.0726485062", marks=pytest.mark.slow),
    ],
)
def test_renyi_overlaps_the_reference(eps0, n, order, bracket):
    low, high = map(float, bracket.split())
    curve = sa.profile(sa.RandomizedResponse(k=10, eps0=eps0), n=n, method="blanket").renyi(order, gap=1e-3)
    assert curve.lower[0] <= high
    assert low <= curve.upper[0]
    assert curve.upper[0] <= curve.lower[0] * 1.004


@pytest.mark.parametrize("order", ["3/2", 2, 7])
def test_renyi_encloses_brute_force(order):
    k, t, n = 3, Fraction(3), 3
    table = rows(k, t)
    curve = sa.profile(sa.RandomizedResponse(k=k, eps0="log(3)"), n=n, method="blanket").rounds(2).renyi(order)
    others = [min(c) for c in zip(*table, strict=True)]

    def divergence(a2):
        a = float(Fraction(order))
        pair = oracle.pair_of_triple((table[0], table[1], a2), n)
        return 2 * math.log(math.fsum(float(p) * float(r) ** (a - 1) for r, p in pair.items())) / (a - 1)

    assert divergence(others) <= curve.upper[0] * (1 + 1e-12)
    assert curve.lower[0] <= max(divergence(table[2]), divergence(table[0])) * (1 + 1e-12)
    assert curve.upper[0] <= divergence(others) * 1.002


def test_renyi_adds_up_and_grows_with_the_order():
    profile = sa.profile(KRR, n=10**6)
    one, many = profile.renyi([2, 8], gap=1e-3), profile.rounds(50).renyi([2, 8], gap=1e-3)
    for a, b in zip(one.upper, many.lower, strict=True):
        assert b <= 50 * a
    assert one.lower[0] < one.upper[0] < one.lower[1]


@pytest.mark.slow
def test_the_detour_by_renyi_costs():
    rounds = sa.profile(KRR, n=10**6).rounds(100)
    direct = rounds.epsilon("1e-8", gap=1e-3).upper
    assert direct * 1.05 < rounds.renyi_epsilon("1e-8") < direct * 1.12


@pytest.mark.parametrize("order", [1, 0.5, -2, "sqrt(2)", 10**7])
def test_orders_out_of_range(order):
    with pytest.raises(sa.errors.ArgumentError):
        sa.profile(KRR, n=100).renyi(order)


# --------------------------------------------------------------------------------------------------------- trade-off


def test_trade_off_against_brute_force():
    table = rows(3, Fraction(3))
    f = sa.profile(sa.RandomizedResponse(k=3, eps0="log(3)"), n=3, method="blanket").tradeoff()

    def exact(a2, x):
        pair = oracle.pair_of_triple((table[0], table[1], a2), 3)
        return max(1 - oracle.divergence(pair, e) - e * x for e in [*pair, Fraction(0)])

    for x in (Fraction(0), Fraction(1, 100), Fraction(1, 5), Fraction(1, 2), Fraction(1)):
        low, high = f.at(x)
        assert low <= exact([min(c) for c in zip(*table, strict=True)], x)
        assert min(exact(table[2], x), exact(table[0], x)) <= high
        assert low >= exact([min(c) for c in zip(*table, strict=True)], x) - Fraction(1, 50)


def test_trade_off_of_rounds_that_hide_nothing_is_cut_where_doubles_end():
    # Binary response with e^eps0 = 3, 2500 times: the likelihood ratio is 3^(2k - 2500), k binomial with 3/4 or 1/4.
    rounds, t = 2500, mpmath.mpf(3)
    f = sa.from_privacy_profile([(0, "1/2"), ("log(3)", 0)]).rounds(rounds).tradeoff()
    with mpmath.workprec(128):
        # The probability of k threes; that of k ones is the one of 2500 - k threes.
        masses = [mpmath.binomial(rounds, k) * t**k / 4**rounds for k in range(rounds + 1)]
        for x in ("1e-320", "1e-300", "1e-100", "1/3"):
            level, error = mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator, mpmath.mpf(1)
            for k in range(rounds, -1, -1):
                share = min(mpmath.mpf(1), level / masses[rounds - k])
                level, error = level - share * masses[rounds - k], error - share * masses[k]
                if share < 1:
                    break
            assert 0.0 <= f.at(x)[0] <= error
    given = sa.from_privacy_profile([(0, 0.5), (1, 0), (10, 1)]).rounds(10**5).tradeoff()
    low, high = given.at("1/3")
    assert low == 0.0
    assert 2 / 3 <= high < 0.667
    assert len(given.above) < 50


@pytest.mark.slow
def test_trade_off_of_many_rounds_is_nearly_gaussian():
    rounds = sa.profile(KRR, n=10**6).rounds(100)
    f, normal = rounds.tradeoff(), NormalDist()
    for x in (1e-4, 0.05, 0.5, 0.9):
        low, high = f.at(x)
        assert low <= high <= low + 3e-4
        assert normal.cdf(normal.inv_cdf(1 - x) - rounds.mu) == pytest.approx(low, abs=5e-4)


def test_levels_out_of_range():
    f = sa.from_privacy_profile([(0, "1e-3")]).tradeoff()
    assert f.at("1/2")[1] == 0.5  # nothing is known from below: two equal laws are the best that a test can meet
    with pytest.raises(sa.errors.ArgumentError):
        f.at(2)
    with pytest.raises(sa.errors.ArgumentError, match="level"):
        sa.from_privacy_profile([(0, "1e-3")]).tradeoff([0, 2])


# ---------------------------------------------------------------------------------------------------------- sampling


@pytest.mark.parametrize("level", [Fraction(1), Fraction(5, 4), Fraction(3, 2)])
def test_losses_that_are_eps_itself_do_not_count(level):
    """One user of two: half of what is left of the report itself at 1 + 2 (E - 1)."""
    inner, table = 1 + 2 * (level - 1), sa.FiniteMechanism([["3/4", "1/4"], ["1/4", "3/4"]])
    answer = sa.profile(table, n=1).sampled(n=1, of=2).delta(f"log({level})")
    truth = (Fraction(3, 4) - inner * Fraction(1, 4)) / 2
    assert truth <= Fraction(answer.upper) <= truth * (1 + Fraction(1, 10**9))
    assert verify(json.dumps(answer.certificate())).status == "valid"


def test_sampling_against_the_reference():
    """The reference is Theorem 8; of the blanket the sample itself has a bound that is less, Theorem 9."""
    whole, own = (
        sa.profile(KRR, n=10**4, method=method).sampled(n=10**4, of=10**6).rounds(1000).epsilon("1e-8", gap=1e-3)
        for method in ("envelope", "blanket")
    )
    assert max(whole.lower, own.lower) <= 0.00921881801
    assert 0.00924318927 <= whole.upper <= 0.00924613661 * 1.0012
    assert own.upper < whole.upper
    assert own.upper <= own.lower * 1.0012


RARE = "a message that one input never sends"
DRAWN_TABLES = {
    "3-ary randomized response": [["3/5", "1/5", "1/5"], ["1/5", "3/5", "1/5"], ["1/5", "1/5", "3/5"]],
    "binary randomized response": [["4/5", "1/5"], ["1/5", "4/5"]],
    RARE: [["1/2", "1/2", 0], ["1/8", "3/8", "1/2"], ["1/3", "1/3", "1/3"]],
    "two inputs far apart": [["1/30", "29/30"], ["1/2", "1/2"], ["29/30", "1/30"]],
}


@pytest.mark.parametrize(
    ("name", "method"),
    [
        (x, m)
        for x in DRAWN_TABLES
        for m in (None, "blanket", "two_level", "generic")
        if m in (None, "blanket") or x != RARE
    ],
)
def test_samples_enclose_the_truth(name, method):
    table = Table(tuple(tuple(map(Fraction, row)) for row in DRAWN_TABLES[name]))
    for n, people, level in ((1, 2, "1"), (2, 3, "6/5"), (2, 4, "11/10"), (2, 4, "1"), (3, 4, "3/2")):
        found = sa.profile(sa.FiniteMechanism(DRAWN_TABLES[name]), n=n, method=method)
        answer = found.sampled(n=n, of=people).delta(f"log({level})", gap=1e-4)
        truth = Truth(World((Group(people, table),), Chosen(n))).delta(Fraction(level))
        assert Fraction(answer.lower) <= truth <= Fraction(answer.upper)


@pytest.mark.parametrize(
    ("mechanism", "method", "ratio"),
    some([(sa.RandomizedResponse(k=16, eps0=4), None, 1.001), (sa.HadamardResponse(K=32, D=16, eps0=4), None, 1.001),
          (sa.PureLDP(eps0=4), None, 1.02), (sa.Laplace(eps0=1), "finite_sandwich", 1.25)], 1),
)  # fmt: skip
def test_samples_are_bounded_themselves(mechanism, method, ratio):
    answer = sa.profile(mechanism, n=951, method=method).sampled(n=951, of=9510).rounds(30).epsilon("1e-8")
    assert 0 < answer.lower < answer.upper < ratio * answer.lower


def test_certificates_of_samples_say_what_their_points_are_about():
    answer = (
        sa.profile(sa.RandomizedResponse(k=4, eps0=2), n=100, method="blanket")
        .sampled(n=100, of=1000)
        .epsilon("1e-6", gap=0.05)
    )
    good = answer.certificate()
    assert status(good) == "valid"
    points = good["above"]["curves"][0]["first"]
    assert all(p["drawn"] is True for p in points)
    undrawn = [{name: value for name, value in p.items() if name != "drawn"} for p in points]
    for forged in (undrawn, [p | {"drawn": False} for p in points]):
        assert status(replaced(good, "above", "curves", 0, "first", to=forged)) == "invalid"
    assert status(replaced(good, "settings", 0, "rate", to="1/20")) == "invalid"


def test_sampling_more_than_there_are_is_refused():
    with pytest.raises(sa.errors.ArgumentError):
        sa.profile(KRR, n=100).sampled(n=100, of=100)


# ---------------------------------------------------------------------------------------------------- given profiles


def test_a_document_travels():
    profile = sa.profile(KRR, n=10**6)
    text = json.dumps(profile.to_dict())
    again = sa.GivenProfile.from_dict(json.loads(text))
    direct = profile.rounds(100).epsilon("1e-8", gap=1e-3)
    answer = again.rounds(100).epsilon("1e-8")
    assert answer.lower == 0.0
    assert direct.lower < answer.upper < direct.upper * 1.002
    assert to_document(again.round.text, again.round.above((), limits=Limits.of("default"))) == json.loads(text)


@pytest.mark.parametrize(
    "change",
    [{"format": "x"}, {"version": 2}, {"points": []}, {"points": [["1"]]}, {"points": [["1/0", "1"]]}, {"base": 10},
     {"points": [["1/2", "1"]]}, {"points": [["1", "x"]]}, {"points": [["1", "1"], ["1", "1"]]}, {"round": 3}],
)  # fmt: skip
def test_documents_of_another_kind_are_refused(change):
    data = {**to_document("a", [CurvePoint(fmpq(2), fmpq(0), fmpq(1, 3))]), **change}
    with pytest.raises(sa.errors.FormatError):
        sa.GivenProfile.from_dict(data)


def test_given_points_bound_what_follows():
    """Randomized response's own curve at few points: at least the truth, and exact where all its losses are given."""
    given = sa.from_privacy_profile([(0, "1/2"), ("log(3)", 0)])
    exact = oracle.product([{Fraction(3): Fraction(3, 4), Fraction(1, 3): Fraction(1, 4)}] * 5)
    answer = given.rounds(5).delta(eps="log(2)", gap=1e-5)
    truth = oracle.divergence(exact, Fraction(2))
    assert truth <= Fraction(answer.upper) <= truth * Fraction(1001, 1000)


@pytest.mark.parametrize("points", [[], [(-1, 0.1)], [(0, 2)], [(0, 0.1), (0, 0.2)], [(0, "sqrt(2)/4")]])
def test_what_is_no_profile_is_refused(points):
    with pytest.raises(sa.errors.SymampError):
        sa.from_privacy_profile(points)


# ----------------------------------------------------------------------------------------------------------- exports


def test_the_callable_is_above_the_truth():
    profile = sa.profile(KRR, n=10**6)
    delta = profile.to_callable()
    for eps in (0.0, 1e-4, 0.001, 0.0027):
        assert profile.delta(eps).upper <= delta(eps) * (1 + 1e-6)
        assert delta(eps) <= profile.delta(eps).upper * 1.01


def test_dp_accounting_composes_the_round():
    pytest.importorskip("dp_accounting")
    profile = sa.profile(KRR, n=10**6)
    one = profile.to_dp_accounting()
    direct = profile.rounds(100).epsilon("1e-8", gap=1e-3)
    assert direct.lower <= one.self_compose(100).get_epsilon_for_delta(1e-8) <= direct.upper * 1.003
    accountant = sa.pld_accountant(3e-5)
    accountant.compose(profile.to_dp_event(), 100)
    assert direct.lower <= accountant.get_epsilon(1e-8) <= direct.upper * 1.003


def test_dp_accounting_knows_reports_that_tell_all():
    pytest.importorskip("dp_accounting")
    alone = sa.profile(sa.FiniteMechanism([[1, 0], [0, 1]]), n=1)
    assert alone.to_dp_accounting().get_delta_for_epsilon(2.0) == 1.0


def test_an_accountant_mixes_shuffled_rounds_with_other_events():
    dp = pytest.importorskip("dp_accounting")
    accountant = sa.pld_accountant(1e-3)
    event = sa.profile(sa.RandomizedResponse(k=3, eps0=2), n=1000, method="blanket").to_dp_event()
    accountant.compose(event, 3)
    alone = accountant.get_epsilon(1e-6)
    accountant.compose(dp.GaussianDpEvent(10.0))
    assert accountant.get_epsilon(1e-6) > alone


def test_opendp_takes_the_profile():
    pytest.importorskip("opendp")
    profile = sa.profile(KRR, n=10**6)
    taken = profile.to_opendp()
    assert 1e-8 < taken.delta(0.0027292) < 1.01e-8
    assert taken.epsilon(1e-8) == pytest.approx(0.00273, rel=2e-3)


def test_opendp_may_ask_about_any_eps():
    """It searches up to infinity where the bounds stay above the delta: then no eps is known."""
    pytest.importorskip("opendp")
    rounds = sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=10**4).rounds(30)
    known, taken = rounds.to_callable(), rounds.to_opendp()
    assert 1e-12 < known(10.0**6) == known(1e300) == known(math.inf) < 2e-12
    assert taken.epsilon(1e-12) == math.inf
    assert taken.epsilon(1e-11) == pytest.approx(rounds.epsilon("1e-11").upper, rel=1e-2)
    with pytest.raises(sa.errors.ArgumentError, match="eps"):
        known(math.nan)


def test_orders_that_differ_are_both_evaluated():
    """A data set whose two orders have different laws: the curve below 1 is that of the other order."""
    table = sa.FiniteMechanism([["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"], ["1/8", "3/8", "1/2"]])
    found = ShuffledRound(Question.of(table, 5, "blanket")).below(0.3)
    reduction, _ = found
    other = reduction.swapped()
    assert other.pair == reduction.pair[::-1]
    rounds = sa.profile(table, n=5, method="blanket").rounds(2)
    answer = rounds.delta(eps="log(5/4)", gap=1e-4)
    assert 0 < answer.lower <= answer.upper


@pytest.mark.slow
def test_tests_that_never_err_on_one_side():
    """Where no loss is infinite they always err on the other."""
    f = sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=1000).rounds(2).tradeoff([0, 1])
    assert (f.lower, f.upper) == ((1.0, 0.0), (1.0, 0.0))
    assert sa.from_privacy_profile([(0, "1e-3")]).tradeoff(0).lower[0] < 1.0


@pytest.mark.slow
def test_sums_that_overflow_leave_the_value_open():
    """Losses of a million in 10^5 rounds: no precision makes the sum finite, and nothing is claimed of it."""
    found = sa.from_privacy_profile([(999999, 0), ("1/7", "1e-30"), (1e-9, "1e-8")]).rounds(10**5).tradeoff()
    assert all(0.0 <= low <= high <= 1.0 for low, high in map(found.at, ("1/10", 0, 1, "1/2")))


@pytest.mark.slow
def test_every_round_has_curves_and_documents():
    krr = sa.RandomizedResponse(k=2, eps0=1)
    drawn = sa.profile(krr, n=100).sampled(n=100, of=1000)
    again = sa.GivenProfile.from_dict(drawn.to_dict(delta="1e-6"))
    (upper,) = drawn.curve(["0.05"]).upper
    assert upper <= again.delta("0.05").upper < 1.1 * upper
    days = sa.several_reports(krr, n=100, reports=2, seen="rounds")
    assert days.to_callable(delta="1e-6")(0.2) >= days.curve(["0.2"]).upper[0]


@pytest.mark.slow
def test_coordinates_have_what_rounds_have():
    seen = sa.profile(sa.UnaryEncoding.oue(D=4, eps0=1), n=2000, view="coordinates")
    again = sa.GivenProfile.from_dict(seen.to_dict(delta="1e-8"))
    assert seen.epsilon("1e-6").upper <= again.epsilon("1e-6").upper < 1.01 * seen.epsilon("1e-6").upper
    assert seen.risk(rates=["0.01"]).advantage.upper < 0.01
    assert seen.renyi(2).upper[0] > 0


@pytest.mark.slow
def test_rounds_of_a_joint_have_a_certificate():
    """Some points are of its table over all data sets, others of the blanket of the pair that is worst."""
    joint = sa.joint([sa.RandomizedResponse(k=3, eps0=1), sa.RandomizedResponse(k=2, eps0=1)])
    answer = sa.profile(joint, n=2000).rounds(3).epsilon("1e-6", gap="0.05")
    assert verify(json.dumps(answer.certificate())).status == "valid"


@pytest.mark.parametrize("drawn", [False, True])
def test_rounds_of_noise_travel(drawn):
    """Their data sets have laws in balls, which travel as their middles and radii."""
    one = sa.profile(sa.Laplace(eps0=1), n=100, method="finite_sandwich")
    answer = (one.sampled(n=100, of=1000) if drawn else one).rounds(2).epsilon("1e-3", gap=0.1)
    again = pickle.loads(pickle.dumps(answer))
    assert again == answer
    assert hash(again) == hash(answer)
    assert answer.lower > 0
