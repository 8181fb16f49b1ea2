"""Profiles: prepared once, asked often; answers and curves travel."""

import copy
import pickle
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from evaluations import counted

import symamp as sa

KRR = sa.RandomizedResponse(k=10, eps0=1)


def asked(delta):
    return sa.epsilon(KRR, n=10**6, delta=delta)


def drawn(points):
    return sa.profile(KRR, n=10**4).curve(eps=points)


def test_answers_travel_between_processes():
    with ProcessPoolExecutor(1) as pool:
        for delta in ("1e-8", "1e-400"):
            there, here = pool.submit(asked, delta).result(), asked(delta)
            assert there == here
            assert hash(there) == hash(here)
            assert str(there) == str(here)
            assert there.certificate() == here.certificate()
        curve = pool.submit(drawn, ("0.01", "0.02")).result()
    assert curve == drawn(("0.01", "0.02"))


def test_answers_are_plain_data():
    answer = asked("1e-8")
    for other in (pickle.loads(pickle.dumps(answer)), copy.deepcopy(answer)):
        assert other == answer
        assert other.bound == answer.bound
        assert other.evidence_above[0].plan == answer.evidence_above[0].plan
    assert answer != asked("1e-9")
    assert len({answer, asked("1e-8")}) == 1


def test_a_profile_gives_what_the_questions_give():
    profile = sa.profile(KRR, n=10**4)
    assert profile.delta("0.02") == sa.delta(KRR, n=10**4, eps="0.02")
    first = profile.epsilon("1e-6")
    assert first.upper == pytest.approx(sa.epsilon(KRR, n=10**4, delta="1e-6").upper, rel=1e-6)
    assert profile.epsilon("1e-8").lower > first.upper


def test_a_curve_falls_and_brackets():
    curve = sa.profile(KRR, n=10**4).curve(eps=np.linspace(0.005, 0.05, 12))
    assert (curve.lower <= curve.upper).all()
    assert (np.diff(curve.upper) < 0).all()
    assert (np.diff(curve.log10_lower) < 0).all()
    assert len(curve) == len(curve.methods) == 12


@pytest.mark.parametrize(
    ("mechanism", "n", "middle"),
    [
        (sa.UnaryEncoding.rappor(D=16, eps0=1), 10**6, 0.003),
        (sa.LocalHashing(l=2, D=16, eps0=4), 10**4, 0.2),
    ],
)
def test_a_curve_is_no_looser_than_single_questions_but_by_what_is_stated(mechanism, n, middle):
    """Points so near to each other that one search serves several, in any order."""
    grid = [middle * (1 + k / 80) for k in (3, -2, 0, 5, -4, 2)]
    curve = sa.profile(mechanism, n=n).curve(eps=grid)
    singles = [sa.delta(mechanism, n=n, eps=x, gap=1e-4) for x in grid]
    assert [a.asked.given for a in curve.answers] == [a.asked.given for a in singles]
    assert set(curve.methods) == {"all_data_sets"}
    for one, single in zip(curve.answers, singles, strict=True):
        assert max(one.lower, single.lower) <= min(one.upper, single.upper)
        assert one.upper <= 1.003 * single.upper
    assert any(one.upper != single.upper for one, single in zip(curve.answers, singles, strict=True))


def test_a_curve_as_a_file_and_a_plot(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    curve = sa.profile(KRR, n=1000).curve(eps=["0.01", "0.05", 2])
    assert curve.upper[-1] == 0.0  # beyond the local budget
    curve.to_csv(tmp_path / "curve.csv")
    lines = (tmp_path / "curve.csv").read_text().splitlines()
    assert lines[0].startswith("eps,lower,upper")
    assert float(lines[1].split(",")[2]) == curve.upper[0]
    assert curve.plot().get_xlabel() == "central ε"


def test_any_randomizer_answers_to_its_own_name():
    assert sa.epsilon(sa.PureLDP(eps0=1), n=1000, delta="1e-6", method="generic").method == "generic"
    with pytest.raises(sa.errors.SupportMismatchError, match="nothing is known but its budget"):
        sa.epsilon(sa.PureLDP(eps0=1), n=1000, delta="1e-6", method="blanket")


def test_digits_are_had_or_refused():
    two = sa.RandomizedResponse(k=2, eps0=1)
    assert sa.delta(two, n=1000, eps="0.1", digits=20, method="blanket").digits >= 20
    assert sa.epsilon(two, n=1000, delta="1e-6", digits=9, method="blanket").digits >= 9
    with pytest.raises(sa.errors.PrecisionError, match="digits: got 16, expected at most 15"):
        sa.epsilon(two, n=1000, delta="1e-6", digits=16)


def test_the_least_bound_is_taken():
    """Never looser than any one analysis, up to the gaps of the enclosures."""
    for mechanism, n, eps in ((KRR, 100, "0.2"), (sa.HadamardResponse(K=8, eps0=4), 1000, 1)):
        best = sa.delta(mechanism, n=n, eps=eps)
        for method in ("blanket", "envelope", "all_data_sets", "generic"):
            assert best.upper <= sa.delta(mechanism, n=n, eps=eps, method=method).upper * (1 + 2e-3)
        assert best.lower <= best.upper


MECHANISMS = {
    "table": sa.RandomizedResponse(k=3, eps0="9/10").table(),
    "responses": sa.RandomizedResponse(k=10, eps0="11/10"),
    "rappor": sa.UnaryEncoding.rappor(D=8, eps0="9/10"),
    "any": sa.PureLDP(eps0="9/10"),
}


@pytest.mark.parametrize("name", [*list(MECHANISMS)[:3], pytest.param("any", marks=pytest.mark.slow)])
def test_no_reduction_is_evaluated_twice_at_the_same_point(name):
    with counted() as found:
        profile = sa.profile(MECHANISMS[name], n=20_000)
        for delta in ("1e-6", "2e-6", "1e-6"):
            profile.epsilon(delta=delta)
        profile.curve(eps=["0.021", "0.023", "0.021"])
    assert found, "nothing was counted"
    assert not {point for point, times in found.items() if times > 1}


def test_a_second_question_needs_few_evaluations():
    """Two roots, two comparisons, two slopes; three enclosures, one of them for the analysis's own lower end."""
    profile = sa.profile(sa.RandomizedResponse(k=10, eps0="13/10"), n=10**6)
    profile.epsilon(delta="1e-8")
    with counted() as found:
        profile.epsilon(delta="3e-8")
    kinds = Counter(point[0] for point in found)
    assert kinds["enclose_divergence"] <= 4
    assert kinds["estimate_log_divergence"] <= 14


def test_results_are_their_text_wherever_they_are_shown():
    profile = sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=100, method="blanket")
    answer = profile.delta("0.1")
    shown = [answer, profile.curve(eps=["0.1"]), sa.estimate(sa.RandomizedResponse(k=2, eps0=1), n=100, eps="0.1")]
    assert repr(shown) == "[" + ", ".join(f"<{type(x).__name__}: {x}>" for x in shown) + "]"
    assert repr(answer).startswith("<Answer: delta in [")
