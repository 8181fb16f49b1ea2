"""The pages on deployments: figures are what the scripts compute, certificates are valid, assumptions are stated."""

import importlib.util
import math
import re
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from symamp.verifier import verify

PAGES = Path(__file__).resolve().parents[2] / "docs" / "deployments"
NAMES = ("count_mean_sketch", "rappor", "aggregated_rappor", "sample_and_threshold", "event_reports")


def script(name):
    sys.path.insert(0, str(PAGES))
    try:
        spec = importlib.util.spec_from_file_location(f"deployments_{name}", PAGES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(PAGES))
    return module


def recorded(name):
    return {row.said: row for row in script("figures").read(name)}


@pytest.mark.parametrize("name", NAMES)
def test_pages_state_claim_model_and_assumptions(name):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for heading in ("Source", "What is claimed", "Assumptions of this page", "Download", "Reproduce"):
        assert f"**{heading}.**" in page
    assert f"python docs/deployments/{name}.py" in page
    assert f"```{{include}} {name}.txt" in page
    assert all((PAGES / file).is_file() for file in re.findall(r"`[^`]*<(\w+\.\w+)>`", page))
    assert f"]({name}.md)" in (PAGES / "index.md").read_text(encoding="utf-8")
    assert all(row.lower <= row.upper for row in recorded(name).values())


@pytest.mark.parametrize("name", [n for n in NAMES if n != "sample_and_threshold"])
def test_certificates_are_valid(name):
    assert verify((PAGES / f"{name}.json").read_text(encoding="utf-8")).status == "valid"


def test_sample_and_threshold_quickly():
    found, rows = script("sample_and_threshold"), recorded("sample_and_threshold")
    for k in (20, 11, 10):
        low, high = found.delta(k)
        row = rows[f"δ at ε = 1, p = 0.105, K = {k}"]
        assert row.lower <= low <= high <= row.upper
        assert (high <= 1e-8) is (k > 10)


def test_budgets_of_event_reports():
    found, rows = script("event_reports"), recorded("event_reports")
    assert [k for k, _ in found.SOURCES.values()] == [2925, 3]
    for name, (k, chance) in found.SOURCES.items():
        row = rows[f"local ε₀, {name}, {k} outputs, p = {chance}"]
        assert row.lower <= float(found.budget(k, chance)) <= row.upper


def test_a_figure_that_differs_is_seen():
    figures = script("figures")
    rows = figures.read("rappor")
    assert not list(figures.differences("rappor", rows))
    changed = rows[0]._replace(upper=1.01 * rows[0].upper, lower=1.01 * rows[0].lower)
    assert [rows[0].said in found for found in figures.differences("rappor", [changed, *rows[1:]])] == [True]
    assert "the rows are" in next(figures.differences("rappor", rows[1:]))


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in NAMES if n != "aggregated_rappor"])
def test_figures_are_those_of_the_scripts(name):
    assert not list(script("figures").differences(name, script(name).rows()))


@pytest.mark.slow
def test_the_table_of_the_draft():
    found, rows = script("aggregated_rappor"), recorded("aggregated_rappor")
    for per_bit, claimed in found.PRINTED.items():
        row = rows[f"central ε, sums, EPSILON_0 = {per_bit} (printed: {claimed})"]
        answer = found.summed(per_bit)
        assert answer.lower <= row.upper < float(claimed)
        assert row.lower <= answer.upper <= (1 + 2e-3) * row.upper
    best = rows["largest EPSILON_0 with central ε = 0.317, sums"]
    assert found.summed(str(best.lower)).upper <= 0.317 < found.summed(str(best.upper)).lower


def divergence_by_a_contour(values, masses, n):
    """E[S_+]/n of n independent values: phi(s)^n/s^2 on the vertical line through the saddle point, in doubles."""
    thetas = np.exp(np.linspace(-14.0, 4.0, 4000)) / np.abs(values).max()
    heights = n * np.log1p(np.expm1(np.outer(thetas, values)) @ masses) - 2.0 * np.log(thetas)
    theta = thetas[int(np.argmin(heights))]
    tilted = masses * np.exp(theta * values)
    tilted /= tilted.sum()
    spread = math.sqrt(n * (tilted @ values**2 - (tilted @ values) ** 2))
    u, step = np.linspace(0.0, 9.0 / spread, 20_001, retstep=True)
    s = theta + 1j * u
    f = np.exp(n * np.log1p(np.expm1(np.outer(s, values)) @ masses)) / s**2
    return (f.sum() - 0.5 * (f[0] + f[-1])).real * step / np.pi / n


def divergence_of_words(victim, other, held, chances, n, eps):
    """Words of bits that are 1 with the first chance where a value has them: all others hold one value."""
    ones = [[chances[0] if i in x else chances[1] for i in range(6)] for x in (victim, other, held)]
    r0, r1, r = (
        np.array([math.prod(p if bit else 1 - p for p, bit in zip(row, word, strict=True)) for word in WORDS])
        for row in ones
    )
    return divergence_by_a_contour((r0 - math.exp(eps) * r1) / r, r, n)


WORDS = list(product((0, 1), repeat=6))


@pytest.mark.parametrize(
    ("page", "said", "sets", "chances", "n"),
    [
        ("count_mean_sketch", "central ε, ε₀ = 4, n = 100000000", ((0,), (1,), (2,)), (math.exp(2), 1), 10**8),
        ("count_mean_sketch", "central ε, ε₀ = 8, n = 1000000", ((0,), (1,), (2,)), (math.exp(4), 1), 10**6),
        ("rappor", "central ε, 128 bits, one report, n = 10000", ((0, 1), (2, 3), (4, 5)), (5, 3), 10**4),
        ("rappor", "central ε, 128 bits, one report, n = 1000000", ((0, 1), (2, 3), (4, 5)), (5, 3), 10**6),
        ("rappor", "central ε, 128 bits, the permanent response, n = 10000", ((0, 1), (2, 3), (4, 5)), (3, 1), 10**4),
        ("rappor", "central ε, 128 bits, the permanent response, n = 1000000", ((0, 1), (2, 3), (4, 5)), (3, 1), 10**6),
    ],
)
def test_lower_ends_by_other_code(page, said, sets, chances, n):
    """At the recorded ends delta = 1e-9 is met and missed by a data set in which all others hold a third value."""
    row, chances = recorded(page)[said], [x / sum(chances) for x in chances]
    assert row.upper < 1.001 * row.lower
    assert divergence_of_words(*sets, chances, n, row.lower) >= 1e-9 * (1 - 1e-3)
    assert divergence_of_words(*sets, chances, n, row.upper) <= 1e-9 * (1 + 1e-3)
