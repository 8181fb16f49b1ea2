"""Certificates of training: the verifier recomputes both directions, and refuses what is not true."""

import copy
import json
from random import Random

import numpy as np
import pytest
import sympy as sp
from flint import fmpq
from scipy.stats import norm

import symamp as sa
from symamp.errors import ArgumentError
from symamp.verifier import verify
from tests.exactly import replaced, status, tightened
from tests.sampled import some

TRUTH = {"remove": 0.1717286844498395, "add": 0.1494309548131120}
"""Of sigma = 1 and 1000 steps at delta = 1e-6, computed independently."""


def training(sigma=1, steps=1000, neighbours="add_remove", **further):
    noise = sa.training.GaussianStep(sigma=sigma)
    return sa.training.random_allocation(noise=noise, steps=steps, neighbours=neighbours, **further)


def of_step(step, rate=None, **numbers):
    if rate is None:
        return sa.training.random_allocation(noise=step, neighbours="add_remove", **numbers)
    return sa.training.poisson(noise=step, rate=rate, neighbours="add_remove", **numbers)


@pytest.fixture(scope="module")
def honest():
    return training().epsilon("1e-6").certificate()


def wider(sigma):
    return {"step": {"kind": "gaussian", "sigma": sigma}}


@pytest.mark.parametrize(
    ("sigma", "steps", "delta"),
    [
        (1, 1000, "1e-50"),
        pytest.param("3/10", 1000, "1e-6", marks=pytest.mark.slow),
        pytest.param(1, 1000, "1e-30", marks=pytest.mark.slow),
        ("20.1", 100, "1e-6"),
    ],
)
def test_answers_have_certificates(sigma, steps, delta):
    answer = training(sigma, steps).epsilon(delta)
    data = answer.certificate()
    verdict = verify(json.dumps(data))
    assert verdict.status == "valid"
    assert "remove, from below" in verdict.checked
    assert float(sa.training.GaussianStep(sigma=data["training"]["step"]["sigma"]).sigma) == float(
        sa.training.GaussianStep(sigma=sigma).sigma
    )


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "steps", "delta"), [("3/10", 10, "1e-3"), ("5", 10, "1e-30")])
def test_few_replaced_steps_have_certificates(sigma, steps, delta):
    data = training(sigma, steps, neighbours="replace").epsilon(delta).certificate()
    plan = data["above"]["replace"]
    assert status(data) == "valid"
    assert plan["kind"] == "progression"
    changes = {"order": 2, "step": f"({plan['step']})*3", "strip": "1/9", "count": 9, "first": -(10**10), "rate": "40"}
    for name, other in (changes | {"turn": "2", "precision": 64}).items():
        assert status(replaced(data, "above", "replace", name, to=other)) != "valid"
    for end, factor in (("upper", 10**10 - 1), ("lower", 10**10 + 1)):
        assert status(tightened(data, end, f"{factor}/{10**10}")) == "invalid"


def test_replacement_has_certificates():
    """0.267473573245 was computed independently."""
    data = training(neighbours="replace").epsilon("1e-6").certificate()
    assert status(data) == "valid"
    assert fraction(data["claim"]["lower"]) == pytest.approx(0.267473573245, rel=1e-10)
    plan = data["above"]["replace"]
    for name, factor in (("end", "1/2"), ("peak", "1/2"), ("left", "9/10"), ("turn", "10")):
        assert status(replaced(data, "above", "replace", name, to=f"({plan[name]})*{factor}")) != "valid"
    for end, factor in (("upper", 10**11 - 1), ("lower", 10**11 + 1)):
        assert status(tightened(data, end, f"{factor}/{10**11}")) == "invalid"
    changed = replaced(data, "training", "neighbours", to="add_remove")
    assert status(changed) == "malformed"
    changed["above"] = {"remove": plan, "add": plan}
    changed["below"]["direction"] = "remove"
    assert status(changed) == "invalid"


def test_deltas_have_certificates():
    data = training().delta("1/10").certificate()
    assert status(data) == "valid"
    assert data["claim"]["eps"] == "1/10"


def test_both_directions_are_checked(honest):
    """The upper end of the smaller direction alone is not accepted for both."""
    for value, expected in ((TRUTH["remove"] + 1e-8, "valid"), (TRUTH["add"] + 1e-8, "invalid")):
        changed = {"upper": f"{int(value * 10**15)}/{10**15}", "lower": "0"}
        assert status(honest | {"claim": honest["claim"] | changed}) == expected
    data = replaced(honest, "below", "direction", to="add")
    assert status(data) == "invalid"
    del data["above"]["add"]
    assert status(data) == "malformed"


@pytest.mark.parametrize("seed", range(16))
def test_what_was_changed_is_refused_or_true(honest, seed):
    rng, data = Random(seed), copy.deepcopy(honest)
    plan = rng.choice([data["above"]["remove"], data["above"]["add"], data["below"]["evidence"]])
    kind = rng.choice(["claim", "training", "plan", "kind"])
    if kind == "claim":
        end = rng.choice(["lower", "upper"])
        data["claim"][end] = str(
            fmpq(*map(int, data["claim"][end].split("/"))) * fmpq(rng.choice([9, 10**9 - 1]), 10**9)
        )
    elif kind == "training":
        data["training"] |= rng.choice([wider("99/100"), {"steps": 990}, {"steps": 0}, wider("0")])
    elif kind == "kind":
        plan |= {"kind": rng.choice(["jump", "other"])}
    else:
        name = rng.choice(["tilt", "step", "further", "turn", "count", "precision"])
        if name in ("count", "precision"):
            plan[name] = int(plan[name] * rng.uniform(0.0, 1.5))
        else:
            plan[name] = f"({plan[name]})*{rng.randrange(1, 300)}/100"
    verdict = verify(json.dumps(data))
    if verdict.status == "valid":  # then of the same training, and true
        lower, upper = (fmpq(*map(int, data["claim"][x].split("/"))) for x in ("lower", "upper"))
        assert data["training"] == honest["training"]
        assert float(lower.p) / float(lower.q) <= TRUTH["remove"] * (1 + 1e-12)
        assert float(upper.p) / float(upper.q) >= TRUTH["remove"] * (1 - 1e-12)


# ----------------------------------------------------------------------------------------- Many rounds, and replacement


SAMPLED = {"remove": 2.12451517, "add": 1.58908776}
"""Of Poisson sampling: sigma = 1, a thousand steps, each at the rate 1/100, delta = 1e-6, computed independently."""


@pytest.fixture(scope="module")
def sampled():
    asked = of_step(sa.training.GaussianStep(sigma=1), "1/100", steps=1000)
    return asked.epsilon("1e-6", gap=5e-2).certificate()


def test_poisson_sampling(sampled):
    verdict = verify(json.dumps(sampled))
    assert verdict.status == "valid"
    assert "1000 Poisson sampled steps at the rate 1/100" in verdict.reason
    lower, upper = (fraction(sampled["claim"][x]) for x in ("lower", "upper"))
    assert lower <= SAMPLED["remove"] <= upper < 1.2 * lower


@pytest.mark.parametrize("seed", range(12))
def test_what_was_changed_of_many_rounds_is_refused_or_true(sampled, seed):
    rng, data = Random(seed), copy.deepcopy(sampled)
    points, kind = data["points"], ("upper", "lower", "training", "high", "low", "place", "plan", "direction")[seed % 8]
    if kind in ("upper", "lower"):
        data["claim"][kind] = f"({data['claim'][kind]})*{100 + (5 if kind == 'lower' else -5)}/100"
    elif kind == "training":
        data["training"] |= rng.choice([wider("99/100"), {"steps": 1001}, {"epochs": 2}, {"rate": "1/99"}])
    elif kind in ("high", "low"):
        point = rng.choice([p for p in points if p["low"] != "0" and fraction(p["high"]) < 1])
        point[kind] = f"({point[kind]})*{'1001' if kind == 'low' else '999'}/1000"
    elif kind == "place":
        curve = data["above"]["remove"]["curves"][0]
        curve["right"][0], curve["left"][0] = curve["left"][0], curve["right"][0]
    elif kind == "plan":
        data["above"]["remove"]["plan"]["W"] = f"({data['above']['remove']['plan']['W']})*{rng.randrange(20, 95)}/100"
    else:
        rng.choice(points)["direction"] = rng.choice(["add", "replace"])
    verdict = verify(json.dumps(data))
    if verdict.status == "valid":
        assert kind == "plan" or data == sampled
        assert fraction(data["claim"]["lower"]) <= SAMPLED["remove"] <= fraction(data["claim"]["upper"])
    else:
        assert verdict.error in ("Invalid", "Malformed", "CrossedEnds")


def fraction(text):
    p, _, q = text.partition("/")
    return int(p) / int(q or 1)


STEP = sa.training.TableStep([("1/6", "1/2"), ("1/3", "1/3"), ("1/2", "1/6")])
REPLACED = sa.training.TableStep([("1/10", "1/4", "6/10"), ("3/10", "1/2", "3/10"), ("6/10", "1/4", "1/10")])
OF_TABLES = {
    (4, 1, 1): ("1099/12960", "167/1440"),
    (2, 1, 2): ("397/1440", "3769/12960"),
    (4, 2, 1): ("391/1440", "3673/12960"),
    (4, 3, 1): ("611/1440", "1901/4320"),
}
"""By steps, how many of them an example is in, and epochs: exact values in both directions at E = 13/10."""


@pytest.mark.parametrize("case", OF_TABLES, ids=str)
def test_tables_have_certificates(case):
    steps, selected, epochs = case
    found = of_step(STEP, steps=steps, selected=selected, epochs=epochs)
    data = found.delta("log(13/10)", gap=1e-2).certificate()
    assert status(data) == "valid"
    truth = max(fraction(x) for x in OF_TABLES[case])
    assert 0 < fraction(data["claim"]["lower"]) <= truth <= fraction(data["claim"]["upper"]) < 1.2 * truth
    for end, factor in (("lower", 1.2), ("upper", 1 / 1.2)):
        assert status(replaced(data, "claim", end, to=str(fmpq(int(truth * factor * 10**9), 10**9)))) == "invalid"
    assert status(replaced(data, "training", "step", "rows", 0, to=["1/7", "1/2"])) != "valid"
    statistic = {"direction": "remove", "evidence": {"kind": "statistic", "precision": 128}}
    assert selected > 1 or status(replaced(data, "below", to=statistic)) == "invalid"


REVEALING = sa.training.TableStep([("1/6", "1/2"), ("1/3", "1/2"), ("1/2", "0")])


@pytest.mark.parametrize(
    ("made", "exact"),
    [
        (of_step(REVEALING, steps=2, epochs=2), "3/4"),
        (of_step(REVEALING, "1/2", steps=3), "37/64"),
        (of_step(sa.training.TableStep([("1", "1/3"), ("0", "2/3")]), steps=2, epochs=3), "604/729"),
    ],
    ids=str,
)
def test_infinite_losses_of_many_rounds_have_certificates(made, exact):
    """Beyond all finite losses what is left is the chance of messages of one world alone, in one round or another."""
    data = made.delta(9, gap=1e-2).certificate()
    assert status(data) == "valid"
    assert fraction(data["claim"]["lower"]) <= fraction(exact) <= fraction(data["claim"]["upper"])
    assert fraction(data["claim"]["upper"]) < 1.0001 * fraction(data["claim"]["lower"])
    for end, factor in (("lower", 10**4 + 1), ("upper", 10**4 - 1)):
        changed = {"lower": "0", "upper": "1"} | {end: f"({exact})*{factor}/{10**4}"}
        assert status(data | {"claim": data["claim"] | changed}) == "invalid"


def test_an_eps_beyond_all_losses_of_one_direction():
    """Losses of "add" are less than log(14/11) a step, those of "remove" less than log(23/14)."""
    step = sa.training.TableStep([("3/7", "3/4"), ("4/7", "1/4")])
    found = of_step(step, "1/2", steps=3).delta("log(3)")
    assert found.directions["add"] == (0, 0)
    assert verify(json.dumps(found.certificate())).status == "valid"


def test_statistics_prove_no_upper_end():
    data = of_step(STEP, steps=4, selected=2).delta("log(13/10)", gap=1e-2).certificate()
    assert data["below"]["evidence"]["kind"] == "statistic"
    data["above"]["remove"] = data["above"]["add"] = data["below"]["evidence"]
    assert status(data) == "invalid"


def test_replacement_of_tables_has_certificates():
    for steps, exact in ((1, "47/100"), (4, "13/64")):
        found = sa.training.random_allocation(noise=REPLACED, steps=steps, neighbours="replace")
        data = found.delta("log(13/10)").certificate()
        assert status(data) == "valid"
        assert fraction(data["claim"]["lower"]) <= fraction(exact) <= fraction(data["claim"]["upper"])
        for rows in (
            [["1/10", "1/4", "1/10"], ["3/10", "1/2", "6/10"], ["6/10", "1/4", "3/10"]],
            [["6/10", "1/3", "2/10"], ["3/10", "1/3", "4/10"], ["1/10", "1/3", "4/10"]],
        ):
            data["training"]["step"]["rows"] = rows
            assert status(data) == "invalid"


@pytest.mark.parametrize(
    "noise",
    [
        sa.training.NoiseStep(sa.Laplace(eps0=1)),
        pytest.param(sa.training.NoiseStep(sa.Logistic(eps0=1)), marks=pytest.mark.slow),
        sa.training.DiscreteGaussianStep(sigma=4),
    ],
    ids=["Laplace", "logistic", "discrete Gaussian"],
)
def test_other_noise_has_certificates(noise):
    found = of_step(noise, steps=20).delta("1/5")
    data = found.certificate()
    assert status(data) == "valid"
    assert fraction(data["claim"]["upper"]) < 1.01 * found.upper
    assert status(tightened(data, "upper", "98/100")) == "invalid"
    # Corners of Laplace noise are ends of cells, and integers are on both sides of 0; the ends of others are free.
    for place, text in (("from", "1/2"), ("to", "1/2")) * (data["training"]["step"]["kind"] != "logistic"):
        assert status(replaced(data, "above", "remove", "cells", place, to=text)) == "invalid"


@pytest.mark.slow
def test_several_steps_of_normal_noise():
    answer = training(2, 4, selected=2).delta("1/10", gap=5e-2)
    data = answer.certificate()
    assert status(data) == "valid"
    assert 0 < fraction(data["claim"]["lower"]) < fraction(data["claim"]["upper"])
    assert [c["steps"] for c in data["above"]["add"]["curves"]] == [2]
    data["claim"]["lower"] = data["claim"]["upper"]
    assert status(data) == "invalid"


@pytest.mark.slow
def test_epochs_have_certificates():
    answer = training(epochs=2).epsilon("1e-6", gap=3e-3)
    data = answer.certificate()
    assert status(data) == "valid"
    assert fraction(data["claim"]["lower"]) <= 0.23793856328 <= fraction(data["claim"]["upper"]) < 0.2389
    data["training"]["epochs"] = 3
    assert status(data) == "invalid"


@pytest.mark.slow
def test_epochs_of_discrete_noise_have_certificates():
    noise = sa.training.DiscreteGaussianStep(sigma=2)
    answer = of_step(noise, steps=100, epochs=10).epsilon("1e-6", gap=1e-2)
    data = answer.certificate()
    assert status(data) == "valid"
    assert 0.69 < answer.lower < answer.upper < 0.7
    lower, upper = (fraction(data["claim"][end]) for end in ("lower", "upper"))
    assert 0.9998 * answer.lower <= lower < upper <= 1.0002 * answer.upper  # hardly is a claim moved outward


# ------------------------------------------------------- Shuffled batches, closed forms, and what has no certificate


def shuffled(sigma=1, steps=10, neighbours="add_remove", epochs=1):
    noise = sa.training.GaussianStep(sigma=sigma)
    return sa.training.shuffled_batches(noise=noise, steps=steps, neighbours=neighbours, epochs=epochs)


def largest_sum(s, t, e):
    """Return the divergence of one event: that the largest batch sum is above the best of many places."""
    c = np.linspace(-2 * s, 2 + 8 * s, 4001)
    first, second = (1 - norm.cdf(c / s) ** (t - 1) * norm.cdf((c - shift) / s) for shift in (2, 1))
    return float((first - e * second).max())


@pytest.mark.parametrize(("sigma", "steps"), some([(1, 10), (1, 1000), (2, 100)], 2))
def test_shuffled_batches_have_certificates(sigma, steps):
    data = shuffled(sigma, steps).epsilon("1e-6", effort="quick").certificate()
    verdict = verify(json.dumps(data))
    assert verdict.status == "valid"
    assert f"{steps} shuffled batches" in verdict.reason
    assert data["below"]["evidence"]["kind"] == "statistic"
    lower, upper = (fraction(data["claim"][end]) for end in ("lower", "upper"))
    assert largest_sum(sigma, steps, np.exp(lower)) > 0.99e-6 > largest_sum(sigma, steps, np.exp(1.02 * lower))
    z = upper * sigma
    assert norm.cdf(0.5 / sigma - z) - np.exp(upper) * norm.cdf(-0.5 / sigma - z) == pytest.approx(1e-6, rel=1e-6)
    for end, factor in (("lower", 1.02), ("upper", 1 - 1e-8)):
        assert status(tightened(data, end, f"{round(factor * 10**9)}/{10**9}")) == "invalid"
    others = {"shuffled": False}, {"steps": 2 * steps}, {"epochs": 2}, {"rate": "1/2"}, {"selected": 2}
    for change in (wider("11/10"), *others):
        assert status(data | {"training": data["training"] | change}) != "valid"
    left = {name: value for name, value in data["training"].items() if name != "shuffled"}
    assert status(data | {"training": left}) == "invalid"
    assert status(replaced(data, "above", "remove", to=data["below"]["evidence"])) == "invalid"
    assert status(replaced(data, "statistic", "places", to=data["statistic"]["places"][::-1])) == "invalid"


@pytest.mark.parametrize("steps", [1, 10])
def test_shuffled_batches_by_replacement_are_random_allocation_with_half_the_noise(steps):
    data = shuffled(1, steps, "replace").epsilon("1e-6").certificate()
    assert status(data) == "valid"
    other = training("1/2", steps).epsilon("1e-6")
    assert fraction(data["claim"]["lower"]) == pytest.approx(other.lower, rel=1e-10)
    data["claim"]["lower"] = f"({data['claim']['lower']})*1000001/1000000"
    assert status(data) == "invalid"


def test_random_allocation_is_no_upper_end_of_shuffled_batches(honest):
    assert status(replaced(honest, "training", "shuffled", to=True)) == "invalid"


@pytest.mark.slow
def test_the_pair_of_shuffled_batches_on_a_lattice_has_none():
    with pytest.raises(ArgumentError, match=r"lattice have no certificate; .* of shuffled batches effort='quick'"):
        shuffled(2, 10).epsilon("1e-3").certificate()
    assert status(shuffled(2, 10).epsilon("1e-3", effort="quick").certificate()) == "valid"


@pytest.mark.slow
def test_epochs_of_shuffled_batches_have_certificates():
    data = shuffled(epochs=3).epsilon("1e-6", gap=1e-2).certificate()
    assert status(data) == "valid"
    curve = data["below"]["evidence"]["curves"][0]
    point = next(data["points"][i] for i in curve["right"])
    assert point["evidence"]["kind"] == "statistic"
    # A curve that is the larger one of two data sets is not attained, so that no product is.
    allocated = training(steps=10).delta("1").certificate()
    changed = copy.deepcopy(data)
    changed["points"].append({**point, "level": "19/7", "low": "0", "high": "1"})
    curve = changed["below"]["evidence"]["curves"][0]
    places = sorted([*curve["right"], len(data["points"])], key=lambda i: fraction(changed["points"][i]["level"]))
    curve["right"] = places
    assert status(changed) != "malformed"
    changed["points"][-1]["evidence"] = allocated["above"]["remove"]
    verdict = verify(json.dumps(changed))
    assert verdict.status == "invalid"
    assert "several data sets" in verdict.reason


@pytest.mark.slow
@pytest.mark.parametrize("sigma", ["3/10", "1/2"])
def test_closed_forms_of_replaced_examples_have_certificates(sigma):
    data = training(sigma, 10, neighbours="replace").epsilon("1e-300").certificate()
    assert status(data) == "valid"
    plan = data["above"]["replace"]
    assert plan["kind"] == "parts"
    lower, upper = (fraction(data["claim"][end]) for end in ("lower", "upper"))
    assert lower < upper < 1.4 * lower
    changes = [("first", "-1"), ("first", "1000"), ("event", plan["event"][::-1]), ("event", []), ("remove", plan)]
    for name, value in [*changes, ("add", plan["remove"])]:
        assert status(replaced(data, "above", "replace", name, to=value)) != "valid"
    for end, factor in (("upper", 10**6 - 1), ("lower", 10**6 + 1)):
        assert status(tightened(data, end, f"{factor}/{10**6}")) == "invalid"
    changed = replaced(data, "training", "neighbours", to="add_remove")
    assert status(changed | {"above": {"remove": plan, "add": plan}}) != "valid"


def test_a_sigma_that_is_no_fraction_is_an_expression():
    data = training(sp.sqrt(2), 10).epsilon("1e-6").certificate()
    assert status(data) == "valid"
    assert data["training"]["step"]["sigma"] == "sqrt(2)"
    data["training"]["step"]["sigma"] = "sqrt(199)/10"
    assert status(data) == "invalid"


X, Y = sp.symbols("x y", real=True)


@pytest.mark.parametrize("noise", [sa.Cauchy(scale=1), sa.DensityMechanism(sp.exp(-sp.Abs(Y - X)) / 2, X, Y)], ids=repr)
def test_a_density_of_ones_own_has_none(noise):
    step = sa.training.NoiseStep(noise)
    found = of_step(step, steps=10).epsilon("1e-3")
    with pytest.raises(ArgumentError, match="a density that the verifier does not read; ask about a TableStep"):
        found.certificate()


SILENT = sa.training.TableStep([("1/2", "1/2"), ("1/2", "1/2")])


@pytest.mark.parametrize(
    ("asked", "eps"),
    [
        (of_step(sa.training.NoiseStep(sa.Laplace(eps0=1)), steps=2), 1),
        (of_step(STEP, "1/2", steps=2), "log(4)"),
        (of_step(STEP, steps=1, epochs=2), "log(9)"),
        (of_step(SILENT, "1/3", steps=10), 0),
    ],
)
def test_the_largest_loss_has_certificates(asked, eps):
    """The divergence is 0 there, and more before: a lower delta is refused, and so is a smaller eps."""
    data = asked.delta(eps).certificate()
    assert status(data) == "valid"
    assert fraction(data["claim"]["upper"]) < 1e-30
    assert status(replaced(data, "claim", "eps", to=f"({eps})-1/1000")) != "valid"


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("sigma", ["1/4", "2/5"])
def test_integers_with_hardly_any_noise_have_certificates(sigma, neighbours):
    """What a message misses beyond the range is below the precision of the verifier, and still no 0."""
    step = sa.training.DiscreteGaussianStep(sigma=sigma)
    asked = sa.training.random_allocation(noise=step, steps=1, neighbours=neighbours)
    data = asked.epsilon("1e-3").certificate()
    assert status(data) == "valid"
    for end, part in (("upper", "(1-1/10**6)"), ("lower", "(1+1/10**6)")):
        assert status(tightened(data, end, part)) != "valid"


@pytest.mark.parametrize(("sigma", "steps"), [("1/2", 10), pytest.param(1, 1000, marks=pytest.mark.slow)])
def test_integers_with_little_noise_have_certificates(sigma, steps):
    """Likelihood ratios of rare integers are far larger than the sum of all others."""
    step = sa.training.DiscreteGaussianStep(sigma=sigma)
    answer = of_step(step, steps=steps).epsilon("1e-6")
    data = answer.certificate()
    how = data["above"]["remove"]["above"]
    assert status(data) == "valid"
    assert answer.upper - answer.lower < 1e-3 * answer.upper
    assert how["evaluator"] == "large values"
    for name, other in (("threshold", "-10**9"), ("plans", how["plan"]["plans"][1:])):
        assert status(replaced(data, "above", "remove", "above", "plan", name, to=other)) != "valid"
    assert status(replaced(data, "claim", "upper", to=f"({data['claim']['lower']})*(1-1/10**9)")) != "valid"
