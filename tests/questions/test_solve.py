"""The one solver: from a root that floats have found to the first place that proves a side."""

from dataclasses import dataclass, field
from math import inf, log

import pytest

import symamp as sa
from symamp.questions.solve import WORTH, Trial, step_out
from symamp.settings.question import Query


@dataclass
class Falling:
    """delta = e^(-rate x), known up to a factor e^(+-noise): what is proved holds of every value in between."""

    root: float
    outward: int
    rate: float = 20.0
    noise: float = 1e-6
    told: float = 1.0
    error: float = 0.0
    width: float = 1e-6
    places: list[float] = field(default_factory=list)
    log_delta: float = log(1e-6)

    def slope(self, place):
        return self.rate * self.told

    def trial(self, place):
        self.places.append(place)
        miss = self.outward * (-self.rate * place - self.log_delta) + self.noise
        return Trial(place if miss <= 0.0 else None, miss, WORTH if self.error > 0.0 else inf)


TRUTH = -log(1e-6) / 20.0


@pytest.mark.parametrize("outward", [1, -1])
@pytest.mark.parametrize("off", [0.0, 1e-9, -1e-9, 1e-4, -1e-4, 0.05, -0.05])
@pytest.mark.parametrize("told", [0.1, 1.0, 100.0])
def test_the_first_place_that_is_proved_is_near_the_root(outward, off, told):
    side = Falling(TRUTH * (1.0 + off), outward, told=told)
    place, proof = step_out(side)
    assert proof == place
    assert outward * (place - TRUTH) >= side.noise / side.rate * (1.0 - 1e-6)
    assert len(side.places) <= 30
    if (
        told == 1.0
    ):  # where the slope is right there are few steps, and the place is nearly that of the root or the truth
        assert len(side.places) <= 4
        assert abs(place - TRUTH) <= 1.2 * abs(off) * TRUTH + 1e-5


def test_rough_estimates_are_tried_nearer():
    side = Falling(1.2 * TRUTH, 1, error=0.01, width=0.01)
    place, _ = step_out(side)
    assert TRUTH < place < 1.01 * TRUTH
    assert len(side.places) == 2


@dataclass
class Blurred(Falling):
    """Ends that are nearer than what is missed, and smaller each time, prove nothing near the root."""

    def trial(self, place):
        self.places.append(place)
        near = abs(place - self.root) < 1e-3
        return Trial(None if near else place, -1e-3 * len(self.places), inf)


@pytest.mark.parametrize("outward", [1, -1])
def test_steps_grow_where_misses_say_nothing(outward):
    place, _ = step_out(Blurred(TRUTH, outward))
    assert 1e-3 <= abs(place - TRUTH) < 3e-3


def test_where_nothing_is_proved_there_is_none():
    assert step_out(Falling(inf, 1)) is None
    assert step_out(Falling(1e-3, -1, noise=50.0)) is None
    at_zero = Falling(0.0, 1, log_delta=0.5)
    assert step_out(at_zero) == (0.0, 0.0)
    assert at_zero.places == [0.0]


def test_a_query_is_read_once():
    query = Query.of_epsilon("1e-1000", 1e-4)
    assert query.log_delta == pytest.approx(-1000 * log(10))
    assert query.to_gap(1e-9).settings.gap == 1e-9
    assert query.to_gap(1e-9) == query  # of one question there is one answer, however close
    at = Query.of_delta("log(3)", 1e-4, digits=None)
    assert float(at.level.eps().mid()) == pytest.approx(log(3))
    assert (at.written, at.usual.settings.gap) == ("log(3)", 1e-6)


def test_all_questions_have_one_kind_of_answer():
    mechanism = sa.RandomizedResponse(k=3, eps0=1)
    crowd = sa.heterogeneous([(30, mechanism), (20, sa.RandomizedResponse(k=3, eps0=2))], shuffled="messages")
    answers = [
        sa.epsilon(mechanism, n=50, delta="1e-3"),
        sa.epsilon(crowd, delta="1e-3"),
        sa.profile(mechanism, n=50).rounds(3).epsilon("1e-3", gap=0.01),
    ]
    keys = {frozenset(answer.to_dict()) for answer in answers}
    assert len(keys) == 1
    assert [type(answer) for answer in answers] == [sa.Answer] * 3
    one, among, many = answers
    assert (bool(one.victims), bool(among.victims), bool(many.victims)) == (False, True, False)
    assert (one.rounds, among.rounds, len(many.rounds)) == ((), (), 1)
    assert among.bound.lower <= among.upper
    assert among.pair == ("x0", "x1")


def test_a_root_just_below_the_end_of_a_curve_is_found():
    """Where delta is tiny, eps is within 1e-5 of the budget, and the curve falls from there to zero at once."""
    users = [(n, sa.RandomizedResponse(k=5, eps0=eps0)) for n, eps0 in ((19, "log(3)"), (13, 8))]
    assert sa.epsilon(sa.heterogeneous(users, shuffled="messages"), delta="1e-12").lower > 7.99
    rounds = sa.profile(sa.SubsetSelection(d=16, k=4, eps0=6), n=37).rounds(10)
    assert rounds.epsilon(delta="1e-12").upper < 48.7
