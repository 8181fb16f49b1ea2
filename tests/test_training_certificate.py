"""Certificates of training: the verifier recomputes both directions, and refuses what is not true."""

import copy
import json
from random import Random

import pytest
from flint import fmpq

import symamp as sa
from symamp.errors import ArgumentError
from symamp.verifier import verify

TRUTH = {"remove": 0.1717286844498395, "add": 0.1494309548131120}
"""Of sigma = 1 and 1000 steps at delta = 1e-6, computed independently."""


def training(sigma=1, steps=1000, **further):
    return sa.training.random_allocation(noise=sa.training.GaussianStep(sigma=sigma), steps=steps, **further)


@pytest.fixture(scope="module")
def honest():
    return training().epsilon("1e-6").certificate()


def judged(data):
    return verify(json.dumps(data)).status


@pytest.mark.parametrize(
    ("sigma", "steps", "delta"),
    [(1, 1000, "1e-50"), pytest.param("3/10", 1000, "1e-6", marks=pytest.mark.slow), ("20.1", 100, "1e-6")],
)
def test_answers_have_certificates(sigma, steps, delta):
    answer = training(sigma, steps).epsilon(delta)
    data = answer.certificate()
    verdict = verify(json.dumps(data))
    assert verdict.status == "valid"
    assert "remove, from below" in verdict.checked
    assert float(sa.training.GaussianStep(sigma=data["training"]["sigma"]).sigma) == float(
        sa.training.GaussianStep(sigma=sigma).sigma
    )


def test_deltas_have_certificates():
    data = training().delta("1/10").certificate()
    assert judged(data) == "valid"
    assert data["claim"]["eps"] == "1/10"


def test_both_directions_are_checked(honest):
    """The upper end of the smaller direction alone is not accepted for both."""
    for value, expected in ((TRUTH["remove"] + 1e-8, "valid"), (TRUTH["add"] + 1e-8, "invalid")):
        data = copy.deepcopy(honest)
        data["claim"] |= {"upper": f"{int(value * 10**15)}/{10**15}", "lower": "0"}
        assert judged(data) == expected
    data = copy.deepcopy(honest)
    data["below"]["direction"] = "add"
    assert judged(data) == "invalid"
    del data["above"]["add"]
    assert judged(data) == "malformed"


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
        data["training"] |= rng.choice([{"sigma": "99/100"}, {"steps": 990}, {"steps": 0}, {"sigma": "0"}])
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


@pytest.mark.slow
def test_what_has_none():
    for other in (training(epochs=2), training(steps=100, neighbours="replace"), training(steps=1)):
        with pytest.raises(ArgumentError, match="certificate"):
            other.epsilon("1e-4", gap=1e-1).certificate()
