"""Noise as a part of combined mechanisms: against integrals in closed form, and tables of cells of messages."""

import json
from fractions import Fraction
from itertools import pairwise
from math import exp, inf, log

import pytest
from oracle.histograms import randomized_response, worst_true_divergence
from oracle.joint import joint_table

import symamp as sa
from symamp.command_line import cli
from symamp.decompositions import composed as coarse_laws

NOISE, EVEN = sa.Laplace(eps0=1), sa.RandomizedResponse(k=3, eps0="1/2")


@pytest.fixture(autouse=True)
def _few_atoms(monkeypatch):
    monkeypatch.setattr(coarse_laws, "_LATTICE_ATOMS", 400)


def below(y):
    return exp(y) / 2 if y < 0 else 1 - exp(-y) / 2


def excess(a, b, eps0=1.0):
    """The integral of (a f(y) - b f(y - 1))_+ for Laplace noise f."""
    where = inf if a == 0 or b == 0 else log(a / b)
    if abs(where) >= eps0:
        return max(a - b, 0.0)
    y = (eps0 + where) / 2  # in units of the scale
    return a * below(y) - b * below(y - eps0)


def three(eps0):
    t = exp(eps0)
    return [(t / (t + 2), 1 / (t + 2)), (1 / (t + 2), t / (t + 2)), (1 / (t + 2), 1 / (t + 2))]


def holds(mechanism, eps, expected, width):
    answer = sa.delta(mechanism, n=1, eps=eps, method="blanket", gap=1e-4)
    assert answer.lower <= expected * (1 + 1e-12)
    assert expected * (1 - 1e-12) <= answer.upper
    assert answer.gap < width


@pytest.mark.parametrize("eps", ["1/2", "5/4"])
def test_one_user_of_a_joint(eps):
    e = exp(float(Fraction(eps)))
    expected = sum(excess(p, e * q) for p, q in three(0.5))
    holds(sa.joint(NOISE, EVEN), eps, expected, 2e-2)


def test_one_user_of_two_noises():
    other, count = 0.5, 4000
    # The midpoint rule over the smaller noise, cut where both ratios are constant.
    step, e = 1 / count, exp(0.75)
    cells = [(below(other * y), below(other * (y - 1))) for y in (k * step for k in range(count + 1))]
    parts = [cells[0], *((b[0] - a[0], b[1] - a[1]) for a, b in pairwise(cells))]
    parts.append(tuple(1 - x for x in cells[-1]))
    expected = sum(excess(p, e * q) for p, q in parts)
    answer = sa.delta(sa.joint(NOISE, sa.Laplace(eps0="1/2")), n=1, eps="3/4", method="blanket", gap=1e-4)
    assert answer.lower <= expected * (1 + 1e-6)
    assert expected * (1 - 1e-6) <= answer.upper
    assert answer.gap < 3e-2


def test_one_user_of_a_choice_and_of_a_sample():
    e = exp(0.25)
    noise, even = excess(1.0, e), sum(max(p - e * q, 0.0) for p, q in three(0.5))
    holds(sa.parallel([("1/4", NOISE), ("3/4", EVEN)]), "1/4", noise / 4 + 3 * even / 4, 1e-2)
    holds(sa.poisson_subsample(NOISE, "1/8"), "1/4", noise / 8, 1e-2)


def test_one_attribute_differs():
    e = exp(0.25)
    answer = sa.delta(sa.joint(NOISE, EVEN, neighbours="one_attribute"), n=1, eps="1/4", method="blanket")
    noise, even = excess(1.0, e), sum(max(p - e * q, 0.0) for p, q in three(0.5))
    assert answer.lower * (1 - 1e-12) <= max(noise, even) <= answer.upper
    assert answer.gap < 2e-2


def test_users_of_cells_of_messages():
    """Cells cut at 0, 1/2 and 1, with e^eps0 = 4: what they tell is told by the noise itself."""
    half, eighth = Fraction(1, 2), Fraction(1, 8)
    left = [half, Fraction(1, 4), eighth, eighth]
    cells = [left, [Fraction(1, 4)] * 4, left[::-1]]
    _, rows = joint_table([cells, randomized_response(2, Fraction(2))])
    noise, asked = sa.Laplace(eps0="log(4)"), sa.RandomizedResponse(k=2, eps0="log(2)")
    truth, *_ = worst_true_divergence(rows, 2, Fraction(3, 2))
    answer = sa.delta(sa.joint(noise, asked), n=2, eps="log(3/2)", gap=1e-3)
    assert float(truth) <= answer.upper
    assert 0 < answer.lower <= answer.upper


def test_what_is_shown_and_symbols():
    both = sa.joint(sa.Laplace(), EVEN)
    assert both.local_epsilon().free_symbols
    assert both.at(eps0=1) == sa.joint(NOISE, EVEN)
    assert repr(both.at(eps0=1)) == "joint(Laplace(eps0=1), RandomizedResponse(k=3, eps0=1/2))"
    assert both.at(eps0=1).worst_is_all_different
    shown = both.at(eps0=1).blanket()
    assert "a density" in str(shown)
    assert r"\times" in shown._repr_latex_()
    assert "Laplace" in both._repr_html_()
    with pytest.raises(sa.errors.SupportMismatchError, match="no finite list"):
        _ = shown.components
    with pytest.raises(sa.errors.SupportMismatchError, match="finite local budget"):
        sa.joint(sa.Gaussian(sigma=1), EVEN)
    assert sa.poisson_subsample(NOISE, 1) is NOISE
    assert sa.joint(NOISE) is NOISE


def test_files_and_the_command_line(tmp_path, monkeypatch, capsys):
    parts = [{"family": "laplace", "parameters": {"eps0": 1}}, {"family": "krr", "parameters": {"k": 3, "eps0": 0.5}}]
    file = tmp_path / "both.json"
    file.write_text(json.dumps({"format": "symamp-combined", "version": 1, "name": "both", "joint": parts}))
    assert sa.load_mechanism(file) == sa.joint(NOISE, EVEN)
    words = ["delta", "--mechanism", str(file), "--n", "1", "--eps", "0.5", "--gap", "1e-3", "--json"]
    monkeypatch.setattr("sys.argv", ["symamp", *words])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    found = json.loads(capsys.readouterr().out)
    answer = sa.delta(sa.joint(NOISE, EVEN), n=1, eps="0.5", gap=1e-3)
    assert (found["lower"], found["upper"]) == (answer.lower, answer.upper)
    assert 0 < answer.lower < answer.upper


def test_no_certificate_of_merged_atoms():
    answer = sa.delta(sa.joint(NOISE, EVEN), n=1, eps="1/2", method="blanket", gap=1e-3)
    with pytest.raises(sa.errors.ArgumentError, match="too many components to list"):
        answer.certificate()
