"""Random worlds of all settings, each answer against the truth; and the page that says what is answered where."""

import json
from fractions import Fraction
from random import Random

import pytest

from symamp.bounds.registry import BOUNDS
from tests import campaign
from tests.oracle.world import Truth, World
from tests.sampled import some
from tests.worlds import ask, combinations, draw, levels, run

CHUNK = 100


def falsehoods(seed, first, last, slow):
    """What is found false in the worlds of these numbers; how long an answer takes is no falsehood."""
    found = []
    for number in range(first, last):
        case = ask.examine(seed, number, slow=slow)
        found += [(number, case.world, o) for o in case.outcomes if o.status in ("false", "crash")]
    return found


@pytest.mark.parametrize("chunk", some(range(20), lambda chunk: chunk == 12))
def test_random_worlds(chunk):
    """Two thousand worlds, with few of the questions that take long; ``tests.worlds.run --one`` shows one of them."""
    assert falsehoods(1, chunk * CHUNK, (chunk + 1) * CHUNK, slow=0.2) == []


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(100))
def test_more_random_worlds(chunk):
    assert falsehoods(2, chunk * CHUNK, (chunk + 1) * CHUNK, slow=1) == []


@pytest.mark.parametrize("worlds", [10, pytest.param(1000, marks=pytest.mark.slow)])
def test_several_reports_and_coordinates(worlds):
    """Small worlds, since each of these questions takes some tenths of a second."""
    found = []
    for number in range(worlds):
        rng = Random(f"several {number}")
        case = ask.Case(draw.world(rng, 800), rng)
        rng.choice((ask.ask_several_reports, ask.ask_coordinates, ask.ask_certificate))(case)
        found += [(number, case.world, o) for o in case.outcomes if o.status in ("false", "crash")]
    assert found == []


@pytest.mark.parametrize("worlds", [4, pytest.param(1500, marks=pytest.mark.slow)])
def test_worlds_of_noise(worlds):
    """No upper end is below what cells of messages show."""
    cases = [ask.examine_noise(1, number, slow=0.2) for number in range(worlds)]
    assert [(k, o) for k, case in enumerate(cases) for o in case.outcomes if o.status in ("false", "crash")] == []


@pytest.mark.slow
def test_the_page_of_combinations_is_what_is_answered():
    """Written anew by ``python -m tests.worlds.combinations``."""
    assert combinations.PAGE.read_text(encoding="utf-8") == combinations.page()


# --- the net itself


def test_a_world_is_known_by_its_number():
    assert [draw.world(Random(f"1 {i}")) for i in range(50)] == [draw.world(Random(f"1 {i}")) for i in range(50)]


def test_worlds_that_are_too_large_are_known_by_their_size():
    inner = draw.Joint((draw.response(3, Fraction(2)),) * 3)
    assert draw.size(draw.Drawn(((Fraction(1, 2), inner), (Fraction(1, 2), draw.response(2, Fraction(2)))))) == (54, 29)
    assert draw.size(draw.Joint((inner,) * 3)) == (3**9, 3**9)
    assert draw.work(World((draw.Group(1, draw.Joint((inner,) * 3)),))) > 4000


def test_all_words_of_settings_are_drawn():
    drawn = {word for i in range(1000) for word in ask.setting(draw.world(Random(f"1 {i}"))).split(", ")}
    drawn |= {"unary encoding"}  # where coordinates are asked about
    assert {word for world in combinations.SETTINGS.values() for word in ask.setting(world).split(", ")} <= drawn


def test_all_methods_are_asked_but_those_about_densities_alone():
    assert set(BOUNDS) - set(ask.TABLE_METHODS) == {
        "density_pairs", "density_envelope", "density_data_sets", "fallback_law", "interval", "own_law"
    }  # fmt: skip


class _Answer:
    def __init__(self, lower, upper):
        self.lower, self.upper = lower, upper

    def as_mpf(self):
        import mpmath

        return mpmath.mpf(self.lower), mpmath.mpf(self.upper)


@pytest.mark.parametrize("ends", [(0.1, 0.2), (0.26, 0.3), (0.3, 0.2), (float("nan"), 0.3), (0.2, 1.5), (-0.1, 0.3)])
def test_what_is_false_is_found(ends):
    truth = Fraction(1, 4)
    with pytest.raises(ask.FalseAnswerError):
        ask.check_delta(_Answer(*ends), truth, lambda: truth)
    ask.check_delta(_Answer(0.25, 0.25), truth, lambda: truth)


def test_a_false_eps_is_found():
    truth = Truth(World((draw.Group(1, draw.response(2, Fraction(3))),)))  # delta = (3 - E)/4
    good = levels.Level("log(2)", Fraction(2), Fraction(2))
    assert truth.delta(good.low) == Fraction(1, 4)
    ask.check_epsilon(_Answer(0.6931, 0.6932), Fraction(1, 4), truth.delta, truth.unbounded())
    for ends in ((0.6932, 0.7), (0.6, 0.6931), (0.7, 0.69), (0.6931, float("nan")), (float("inf"), float("inf"))):
        with pytest.raises(ask.FalseAnswerError):
            ask.check_epsilon(_Answer(*ends), Fraction(1, 4), truth.delta, truth.unbounded())


@pytest.mark.parametrize("x", ["0", "1e-19", "-1e-19", "1/3", "1", "20", "-3"])
def test_exponentials_in_fractions(x):
    import mpmath

    low, high = levels.exponential(Fraction(x))
    with mpmath.workdps(90):
        q = Fraction(x)
        value = mpmath.exp(mpmath.mpf(q.numerator) / q.denominator)
        assert mpmath.mpf(low.numerator) / low.denominator <= value <= mpmath.mpf(high.numerator) / high.denominator
    assert high - low < Fraction(1, 10**55)


def test_levels_beside_a_budget():
    level = levels.moved(Fraction(3), "-1e-19", 2)
    assert level.text == "2*log(3)-1e-19"
    assert 9 - Fraction(9, 10**19) <= level.low <= level.high < 9 - Fraction(8, 10**19)


def test_a_run_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(campaign, "EVERY", 20)
    file = tmp_path / "found.jsonl"
    tally = campaign.run("worlds", run.numbered(1, slow=0), 1, 20, file=file)
    assert tally.cases == campaign.begun(file, "worlds", 1) == 20
    assert campaign.begun(file, "worlds", 2) == campaign.begun(None, "worlds", 1) == 0
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[-1]) == {"run": "worlds", "seed": 1, "finished": 20}
    assert campaign.run("worlds", run.numbered(1, slow=0), 1, 21, file=file).cases == 1
    assert "ms each" in capsys.readouterr().out
    assert "answered" in next(tally.lines(run.STATUSES))
