"""All bounds and theorems, and all that they suppose: a setting that fails one hypothesis alone is refused for it."""

import importlib
import itertools
import pkgutil
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
import sympy as sp

import symamp as sa
from symamp.bounds.bound import Bound
from symamp.bounds.hypotheses import Hypothesis, Theorem
from symamp.bounds.own_law import own_law
from symamp.bounds.registry import BOUNDS, named
from symamp.errors import SupportMismatchError
from symamp.literature.compare import CLOSED_FORMS
from symamp.randomizers.catalogue import catalogue
from symamp.settings.rounds import Sample
from tests.sampled import some

PROOFS = Path(__file__).resolve().parents[2] / "docs" / "proofs"
MODULES = [
    importlib.import_module(m.name)
    for m in pkgutil.walk_packages(sa.__path__, "symamp.")
    if not m.name.endswith("__main__")
]
THEOREMS = {v.name: v for m in MODULES for v in vars(m).values() if isinstance(v, Theorem)}
STATEMENTS = {**BOUNDS, **THEOREMS, **CLOSED_FORMS}
X, Y = sp.symbols("x y", real=True)
AFFINE = 1 + X * (2 * Y - 1) / 2
TRUNCATED = sp.exp(-sp.Abs(Y - X)) / (2 - sp.exp(-X) - sp.exp(X - 1))

RR2, RR3 = (sa.RandomizedResponse(k=k, eps0=1) for k in (2, 3))
COIN = sa.FiniteMechanism([["3/4", "1/4"], ["1/4", "3/4"]])
THREE = sa.FiniteMechanism(
    {"0": {"a": "3/4", "b": "1/4"}, "1": {"a": "1/2", "b": "1/2"}, "2": {"a": "1/4", "b": "3/4"}}
)
SUBJECTS = {
    "binary response": RR2,
    "binary response of another budget": sa.RandomizedResponse(k=2, eps0=2),
    "three-ary response": RR3,
    "a table of two messages": COIN,
    "another table of two messages": sa.FiniteMechanism([["2/3", "1/3"], ["1/3", "2/3"]]),
    "a table of two messages and three inputs": THREE,
    "a table of two messages, some pairs": THREE.near(1),
    "a table that others hold a rare input of": sa.FiniteMechanism(
        {"0": {"a": "1/2", "b": "1/2"}, "1": {"a": "1/3", "b": "2/3"}, "2": {"a": "1/3", "b": "1/3", "c": "1/3"}}
    ).near([("0", "1")]),
    "a table of nine inputs": sa.FiniteMechanism([[f"{i + 1}/20", f"{19 - i}/20"] for i in range(9)]),
    "a table with a zero": sa.FiniteMechanism([["1/2", "1/2"], ["1", "0"]]),
    "a family that shows some inputs": catalogue()["pckv-grr"](s=1, d=4, eps0=2),
    "noise on many integers": sa.DiscreteLaplace(B=100, eps0=1),
    "a family that shows its worst pair": catalogue()["sampling-rappor"](**catalogue()["sampling-rappor"].small[-1]),
    "a budget": sa.PureLDP(eps0=1),
    "a triple": own_law([(3, 1, "1/4"), (1, 3, "1/4")]),
    "another triple": own_law([(4, 1, "1/5"), (1, 4, "1/5")]),
    "noise": sa.Laplace(eps0=1),
    "other noise": sa.Laplace(eps0=2),
    "noise without a budget": sa.Gaussian(sigma=1),
    "discrete Gaussian noise": sa.DiscreteGaussian(B=40, sigma=40),
    "densities": sa.DensityMechanism(AFFINE, inputs=[0, 1], messages=(0, 1)),
    "other densities": sa.DensityMechanism(AFFINE, inputs=[0, "1/2"], messages=(0, 1)),
    "densities without a budget": sa.DensityMechanism(
        sp.Piecewise((1, Y < 1 + X), (0, True)) / (1 + X), inputs=[0, 1], messages=(0, 2)
    ),
    "a density whose worst pair is proved": sa.DensityMechanism(TRUNCATED, inputs=(0, 1), messages=(0, 1)),
    "another density whose worst pair is proved": sa.DensityMechanism(TRUNCATED, inputs=(0, "1/2"), messages=(0, 1)),
}


@dataclass(frozen=True)
class Facts:
    """A setting that says what it is: groups that run these, who takes part, what is shuffled."""

    randomizers: tuple[object, ...]
    takes_part: sp.Rational = sp.S.One
    shuffled: str = "messages"
    participation: None = None

    @property
    def compares_all(self):
        return all(r.compares_all for r in self.randomizers)

    def local_ratio(self):
        return max((r.local_ratio() for r in self.randomizers), key=float)

    def compared_ratio(self):
        return max((r.compared_ratio() for r in self.randomizers), key=float)


SETTINGS = dict(SUBJECTS)
for (one, first), (other, second) in itertools.product(SUBJECTS.items(), repeat=2):
    if one != other:
        SETTINGS[f"{one} and {other}, messages shuffled"] = Facts((first, second))
for name, subject in SUBJECTS.items():
    SETTINGS[f"{name}, half of the messages lost"] = Facts((subject,), sp.Rational(1, 2))
    for other in ("a budget", "a table of two messages", "a table with a zero", "a triple"):
        SETTINGS[f"{name} and {other}, data shuffled"] = Facts((subject, SUBJECTS[other]), shuffled="data")
SETTINGS["one table, data shuffled, half of the reports lost"] = Facts((COIN,), sp.Rational(1, 2), "data")

VIOLATING = {
    "one_randomizer": "binary response and a table of two messages, messages shuffled",
    "everyone": "a table of two messages, half of the messages lost",
    "messages_shuffled": "a table of two messages and a budget, data shuffled",
    "data_shuffled": "a table of two messages",
    "any_two": "a table of two messages, some pairs",
    "one_comparison": "a table of two messages, some pairs and a budget, data shuffled",
    "message_space": "binary response and a table of two messages, messages shuffled",
    "randomizer": "a triple",
    "triple": "a budget",
    "finite_budget": "a table with a zero",
    "probabilities": "a budget",
    "described": "a family that shows its worst pair",
    "every_class": "a family that shows some inputs",
    "covered": "noise on many integers",
    "table": "binary response",
    "two_messages": "three-ary response",
    "listed_densities": "noise",
    "worst_ends": "densities",
    "finite_pairs": "a budget",
    "moderate_ratios": "noise without a budget",
    "noise": "discrete Gaussian noise",
    "density_on_interval": "densities",
    "few_pairs": "a table of nine inputs",
    "binary_response": "three-ary response",
}
"""For each fact a setting that fails it."""


@cache
def fails(hypothesis, setting):
    return hypothesis.fails(SETTINGS[setting]) is not None


def failing(name):
    """For each setting the hypotheses that it fails."""
    return {s: [h for h in STATEMENTS[name].hypotheses if fails(h, s)] for s in SETTINGS}


CASES = [(name, h) for name, statement in STATEMENTS.items() for h in statement.hypotheses]
USED = {h.name: h for statement in STATEMENTS.values() for h in statement.hypotheses}


def attempts(statement, setting):
    """All ways to a bound, or to what a theorem or a closed form says."""
    yield lambda: statement.check(setting)
    if isinstance(statement, Bound):
        yield lambda: statement.bound(setting)
        yield lambda: statement.parts(setting)
        yield lambda: named(statement.name, setting)


@pytest.mark.parametrize(("name", "hypothesis"), CASES, ids=lambda x: getattr(x, "name", x))
def test_what_fails_one_hypothesis_alone_is_refused_for_it(name, hypothesis):
    found = [s for s, failed in failing(name).items() if failed == [hypothesis]]
    assert found
    for setting in found[:3]:
        for attempt in attempts(STATEMENTS[name], SETTINGS[setting]):
            with pytest.raises(SupportMismatchError) as refusal:
                attempt()
            told = refusal.value.accepted
            assert refusal.value.value == f"{name} does not apply"
            assert told == f"it supposes that {hypothesis.clause}; {hypothesis.fails(SETTINGS[setting])}"
            assert "\n" not in told


@pytest.mark.parametrize("name", some(STATEMENTS, lambda name: name != "fallback_law"))
def test_what_meets_all_is_not_refused(name):
    found = [s for s, failed in failing(name).items() if not failed]
    assert found
    for setting in found[:3]:
        for attempt in attempts(STATEMENTS[name], SETTINGS[setting]):
            attempt()
    if name in BOUNDS:
        assert BOUNDS[name].bound(SETTINGS[found[0]]).parts


@pytest.mark.parametrize("name", sorted(USED))
def test_each_fact_has_a_setting_that_fails_it_and_one_that_does_not(name):
    hypothesis = USED[name]
    assert hypothesis.fails(SETTINGS[VIOLATING[name]]).startswith("here ")
    assert any(hypothesis.fails(setting) is None for setting in SETTINGS.values())


def test_each_hypothesis_is_used_and_has_a_name_and_a_sentence_of_its_own():
    found = {id(v): v for m in MODULES for v in vars(m).values() if isinstance(v, Hypothesis)}.values()
    used = {id(h) for statement in STATEMENTS.values() for h in statement.hypotheses}
    assert all(id(h) in used for h in found)
    assert len({h.name for h in found}) == len({h.sentence for h in found}) == len(found)
    assert all(re.fullmatch(r"[A-Z].*\.", h.sentence) for h in found)


def test_what_asks_for_probabilities_stands_behind_that_they_are_known():
    """Some hypotheses say nothing of a setting that fails another one; both are supposed, that one first."""
    behind = {name: {"probabilities"} for name in ("described", "every_class", "covered")}
    behind |= {"two_messages": {"every_class"}}
    for statement in STATEMENTS.values():
        names = [h.name for h in statement.hypotheses]
        for i, name in enumerate(names):
            assert behind.get(name, set()) <= set(names[:i])


# ------------------------------------------------------------------------------------------------ who answers the facts


def test_users_who_differ_answer_the_facts():
    users = sa.heterogeneous([(3, COIN), (4, RR2)], shuffled="data")
    assert (users.randomizers, users.takes_part, users.shuffled) == ((COIN, RR2), 1, "data")
    assert (users.compares_all, users.local_ratio(), users.compared_ratio()) == (True, 3, 3)
    lost = sa.heterogeneous([(3, COIN), (4, COIN)], shuffled="messages", dropout="1/3")
    assert lost.takes_part == sp.Rational(2, 3)
    for name, bound in BOUNDS.items():
        with pytest.raises(SupportMismatchError, match=name):
            bound.bound(users)
        with pytest.raises(SupportMismatchError, match=name):
            bound.bound(lost)
    pairs = sa.heterogeneous([(2, THREE.near(1)), (2, THREE.near(1))], shuffled="data")
    assert (pairs.compares_all, pairs.local_ratio(), pairs.compared_ratio()) == (False, 3, 2)


def test_a_group_alone_is_what_its_users_run():
    alone = sa.heterogeneous([(5, COIN)], shuffled="messages")
    assert BOUNDS["blanket"].bound(alone).parts == BOUNDS["blanket"].bound(COIN).parts


def test_a_sample_answers_the_facts():
    sample = Sample(COIN, 2, 5)
    assert (sample.randomizers, sample.takes_part, sample.shuffled) == ((COIN,), sp.Rational(2, 5), "messages")
    for name, bound in BOUNDS.items():
        with pytest.raises(SupportMismatchError, match=name):
            bound.bound(sample)


@pytest.mark.parametrize("refused", [THREE.near(1), [(3, 1, "1/4"), (1, 3, "1/4")]])
def test_the_front_door_says_the_same(refused):
    with pytest.raises(SupportMismatchError, match="method: two_level does not apply; it supposes"):
        sa.delta(refused, n=5, eps=1, method="two_level")
    with pytest.raises(SupportMismatchError, match="sampled: sampling does not apply; it supposes"):
        sa.profile(refused, n=5).sampled(n=2, of=5)


# ------------------------------------------------------------------------------------------------------ the proof pages

LIST = re.compile(r"^(`.+?`(?: and `.+?`)*) supposes?:\n\n((?:- .*\n)+)", re.MULTILINE)


def listed():
    """{(page, name): sentences} of what stands under the heading Hypotheses of the proof pages."""
    found = {}
    for page in PROOFS.glob("*.md"):
        head, _, rest = page.read_text(encoding="utf-8").partition("## Hypotheses\n")
        assert "supposes:\n" not in head
        for names, lines in LIST.findall(rest.split("\n## ")[0] + "\n"):
            sentences = [line.removeprefix("- ") for line in lines.splitlines()]
            found.update({(page.stem, name): sentences for name in re.findall("`(.+?)`", names)})
    return found


def test_proof_pages_list_what_the_bounds_suppose():
    proved = {t.name: t for t in (*BOUNDS.values(), *THEOREMS.values()) if t.proof}
    assert listed() == {(t.proof, t.name): [h.sentence for h in t.hypotheses] for t in proved.values()}


def test_each_proved_bound_has_a_proof_page():
    assert {name for name, b in BOUNDS.items() if not b.proof} == {
        name for name, b in BOUNDS.items() if not b.proof_status.is_guarantee
    }


def test_a_bound_cannot_leave_out_who_takes_part():
    """Every bound is on one round in which all run the same: that is supposed even where it is not listed."""
    blanket = BOUNDS["blanket"]
    bare = Bound("bare", blanket.proof_status, "", "", "", (), lambda subject: [])
    assert [h.name for h in bare.hypotheses] == ["one_randomizer", "everyone"]
    assert Fraction(str(SETTINGS["a budget, half of the messages lost"].takes_part)) == Fraction(1, 2)
    with pytest.raises(SupportMismatchError, match="bare"):
        bare.bound(SETTINGS["a budget, half of the messages lost"])
