"""Risk in words: against every test on the outputs of few users, in fractions."""

from fractions import Fraction
from itertools import product as every

import numpy as np
import pytest
from oracle import composition as oracle
from oracle.histograms import randomized_response
from scipy.special import gammaln
from scipy.stats import binom

import symamp as sa

RATES = "1/100", "1/10", "1/2"
PRIOR = Fraction(1, 5)


def attained(pair, rate):
    """The largest true positive rate at a false positive rate: outputs by their ratios, the last one in part."""
    found, left = Fraction(0), rate
    for p, q in sorted(pair, key=lambda masses: -masses[0] / masses[1] if masses[1] else float("-inf")):
        share = min(Fraction(1), left / q) if q else Fraction(1)
        found, left = found + share * p, left - share * q
    return found


def truths(n, count, t):
    """For every two inputs and every input of all others: advantage, success, and true positive rates."""
    table = randomized_response(3, t)
    for x0, x1, other in every(range(3), repeat=3):
        if x0 != x1:
            one = oracle.pair_of_triple((table[x0], table[x1], table[other]), n)
            pair = masses(oracle.product([one] * count))
            advantage = sum(max(p - q, 0) for p, q in pair)
            success = sum(max(PRIOR * p, (1 - PRIOR) * q) for p, q in pair)
            yield advantage, success, [attained(pair, Fraction(rate)) for rate in RATES]


def masses(pair):
    return [(p, p / ratio) for ratio, p in pair.items()]


@pytest.mark.parametrize(("n", "count"), [(2, 1), (2, 2), (3, 1)])
def test_ranges_of_profiles_and_answers_hold_for_every_test(n, count):
    mechanism = sa.RandomizedResponse(k=3, eps0="log(3)")
    whole = sa.profile(mechanism, n=n).rounds(count)
    known = list(truths(n, count, Fraction(3)))
    asked = {"prior": "1/5", "rates": RATES}
    risks = [whole.risk(**asked), whole.epsilon("1/20").risk(**asked), whole.delta("1/4").risk(**asked)]
    for risk in risks:
        largest = [max(t[0] for t in known), max(t[1] for t in known)]
        largest += [max(t[2][i] for t in known) for i in range(len(RATES))]
        found = [risk.advantage, risk.success, *(r for _, r in risk.true_positive)]
        for truth, ends in zip(largest, found, strict=True):
            assert truth <= Fraction(ends.upper)
        if n == 2:  # all data sets of two users are constant: these are all there are
            for truth, ends in zip(largest, found, strict=True):
                assert Fraction(ends.lower) <= truth
        for rate, (_, tpr), (_, right) in zip(RATES, risk.true_positive, risk.posterior, strict=True):
            for beta, end, up in ((tpr.lower, right.lower, False), (tpr.upper, right.upper, True)):
                value = PRIOR * Fraction(beta) / (PRIOR * Fraction(beta) + (1 - PRIOR) * Fraction(rate))
                assert float(value) == pytest.approx(end, rel=1e-12)
                assert (value <= end + 1e-15) if up else (value >= end - 1e-15)
    assert risks[0].advantage.gap < 0.2
    assert all(risks[0].advantage.upper <= risk.advantage.upper + 1e-3 for risk in risks[1:])


def test_one_bracket_says_what_its_guarantee_says():
    answer = sa.delta(sa.RandomizedResponse(k=2, eps0="log(3)"), n=1, eps=0)
    assert answer.risk().advantage.lower == pytest.approx(0.5)
    assert answer.risk().advantage.upper == pytest.approx(0.5)
    alone = sa.epsilon(sa.RandomizedResponse(k=2, eps0="log(3)"), n=1, delta="1e-9").risk(rates=["0.1"])
    assert alone.true_positive[0][1].upper == pytest.approx(0.3, abs=1e-6)
    assert alone.posterior[0][1].upper == pytest.approx(0.75, abs=1e-6)


def test_nothing_is_claimed_where_nothing_is_known():
    never = sa.FiniteMechanism({"a": {"y": "1/2", "a": "1/2"}, "b": {"y": "1/2", "b": "1/2"}})
    risk = sa.epsilon(never, n=1, delta="0.1").risk()
    assert risk.advantage.upper == 1.0
    nothing = sa.FiniteMechanism([["1/2", "1/2"], ["1/2", "1/2"]])
    silent = sa.epsilon(nothing, n=5, delta="1e-6").risk()
    assert silent.advantage.lower == 0.0
    assert silent.advantage.upper < 1e-5
    given = sa.from_privacy_profile([(0, "1e-2"), ("0.1", "1e-6")]).risk(rates=["1/10"])
    assert given.advantage.lower == 0.0
    assert given.advantage.upper == pytest.approx(0.01)


@pytest.mark.parametrize("delta", ["1e-12", "1e-100", "1e-1000"])
def test_far_out(delta):
    krr = sa.RandomizedResponse(k=3, eps0=1)
    for n in (1, 10**9):
        risk = sa.epsilon(krr, n=n, delta=delta).risk()
        assert 0.0 <= risk.advantage.lower <= risk.advantage.upper < 0.7
    assert sa.delta(krr, n=10**9, eps=1).risk().advantage.lower == 0.0


def test_a_risk_is_shown():
    risk = sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=10, eps="1/4").risk(prior="0.1", rates=["0.01"])
    assert "alarm is right" in str(risk)
    assert "false positive rate 0.01" in str(risk)
    assert risk._repr_html_().count("<tr>") == 5
    assert len(risk.to_dict()["rows"]) == 4


@pytest.mark.parametrize(
    "asked", [{"prior": 0}, {"prior": 1}, {"prior": "x"}, {"rates": ["0"]}, {"rates": [2]}, {"prior": "sqrt(2)/2"}]
)
def test_refusals(asked, monkeypatch):
    answer = sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=10, eps="1/4")
    rounds = sa.profile(sa.Laplace(eps0=3), n=10**6).rounds(30)
    monkeypatch.setattr(type(rounds), "known", None)  # what is refused costs no curve
    for whole in (answer, rounds):
        with pytest.raises(sa.errors.SymampError, match=next(iter(asked))):
            whole.risk(**asked)


def test_advantage_is_as_close_as_delta_at_eps_0_and_rates_are_close():
    krr = sa.profile(sa.RandomizedResponse(k=16, eps0=6), n=10**6)
    for whole, width in ((krr, 3e-4), (krr.rounds(30), 2e-3)):
        risk, known = whole.risk(), whole.delta(0)
        found = risk.advantage
        assert known.lower <= found.upper
        assert found.lower <= known.upper
        assert found.gap < width
        assert all(ends.gap < 2e-3 for _, ends in risk.true_positive)


def test_leaks_of_several_rounds_against_the_best_test_by_convolution():
    n, leak, rounds, step = 1000, 0.01, 5, 1e-4
    t = np.e
    other, held = 1 / (t + 2), t / (t + 2)  # what others send, who hold the third input
    m = np.arange(950, n)[:, None, None]  # others whose reports do not leak
    a, b = np.arange(120, 310)[:, None], np.arange(120, 310)[None, :]
    c = m + 1 - a - b
    log = gammaln(m + 1) - gammaln(a + 1) - gammaln(b + 1) - gammaln(c + 1) + (a + b) * np.log(other) + c * np.log(held)
    drawn = binom.pmf(m, n - 1, 1 - leak) * np.exp(log) / (t + 2)  # the victim's report is any of these
    first, second = (drawn * (t**u * a / other + t**v * b / other + c / held) for u, v in ((1, 0), (0, 1)))
    losses = [np.log(first / second).ravel(), np.array([1.0, -1.0, 0.0])]
    masses = [(1 - leak) * first.ravel(), leak * np.array([t, 1, 1]) / (t + 2)]
    size = 2**17
    grid = np.bincount(
        np.concatenate([np.rint(x / step).astype(int) for x in losses]) % size, np.concatenate(masses), size
    )
    assert grid.sum() == pytest.approx(1, abs=1e-6)
    places = np.fft.fftfreq(size, 1 / size) * step
    order = np.argsort(-places)
    p = np.maximum(np.fft.ifft(np.fft.fft(grid) ** rounds).real, 0.0)[order]
    q = p * np.exp(-places[order])
    who = sa.participation(leaks="1/100")
    risk = sa.profile(sa.RandomizedResponse(k=3, eps0=1), n=n, participation=who).rounds(rounds).risk()
    for rate, found in risk.true_positive:
        truth = np.interp(float(rate), np.cumsum(q), np.cumsum(p))
        assert found.lower * (1 - 1e-4) <= truth <= found.upper * (1 + 1e-4), rate
        assert found.gap < 0.02, rate
