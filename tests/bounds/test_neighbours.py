"""Neighbouring inputs: against exhaustion over all data sets, known total variations, and what is refused."""

from fractions import Fraction
from itertools import combinations, pairwise
from random import Random

import flint
import mpmath
import pytest
import sympy as sp
from flint import arb

import symamp as sa
from symamp.errors import ArgumentError, SupportMismatchError, UnknownInputError
from symamp.randomizers.noise.nearby import simulated, strip_mass
from tests.literature.test_literature_refutations import geometric
from tests.oracle.laws import above
from tests.oracle.users_who_differ import messages_shuffled
from tests.sampled import some

F = Fraction


def table(rows, labels=None):
    names = [str(i) for i in range(len(rows))] if labels is None else labels
    return sa.FiniteMechanism({x: {str(j): v for j, v in enumerate(row)} for x, row in zip(names, rows, strict=True)})


def truth(rows, pairs, E, n):
    return max(messages_shuffled([rows[x] for x in pair], [rows] * (n - 1), E) for pair in pairs)


def within(size, d):
    return [(i, j) for i, j in combinations(range(size), 2) if j - i <= d]


@pytest.mark.parametrize(("size", "ratio", "n", "E"), [(4, 2, 2, F(37, 10)), (4, 2, 3, F(3, 2)), (5, 3, 2, F(5, 2))])
def test_geometric_noise_at_every_distance(size, ratio, n, E):
    """Exact: the largest divergence over all data sets whose victim moves by at most d."""
    rows = geometric(size, ratio)
    found = []
    for d in range(1, size):
        answer = sa.delta(table(rows), n=n, eps=f"log({E})", neighbours=d)
        exact = truth(rows, within(size, d), E, n)
        assert answer.lower <= float(exact) * (1 + 1e-12)
        assert float(exact) <= answer.upper * (1 + 1e-12)
        found.append(answer.upper)
    assert found == sorted(found)
    assert found[-1] == sa.delta(table(rows), n=n, eps=f"log({E})").upper


def test_what_the_printed_bound_of_metric_privacy_misses():
    """002, Theorem 4.2 prints 1/120 for inputs at distance 2; the truth is 1/24, and the bracket says so."""
    answer = sa.delta(table(geometric(4, 2)), n=2, eps="log(37/10)", neighbours=2)
    assert answer.lower <= 1 / 24 <= answer.upper
    assert answer.upper == pytest.approx(1 / 24, rel=1e-9)
    printed = sa.delta(table(geometric(4, 2)), n=2, eps="log(37/10)", neighbours=2, method="variation_ratio_2023")
    assert printed.claimed.upper == pytest.approx(1 / 120, rel=1e-9)
    corrected = sa.delta(table(geometric(4, 2)), n=2, eps="log(37/10)", neighbours=2, method="variation_ratio")
    assert corrected.upper == pytest.approx(0.04479, abs=1e-5)


@pytest.mark.parametrize("method", ["blanket", "envelope", "all_data_sets", "variation_ratio", "generic"])
def test_every_analysis_bounds_the_neighbours(method):
    rows, E = geometric(4, 2), F(3, 2)
    answer = sa.delta(table(rows), n=3, eps="log(3/2)", neighbours=1, method=method)
    assert float(truth(rows, within(4, 1), E, 3)) <= answer.upper * (1 + 1e-12)


def test_points_and_pairs():
    rows = [[F(1, 2), F(1, 4), F(1, 8), F(1, 8)], [F(1, 4), F(1, 2), F(1, 8), F(1, 8)],
            [F(1, 8), F(1, 8), F(1, 2), F(1, 4)], [F(1, 8), F(1, 8), F(1, 4), F(1, 2)]]  # fmt: skip
    square = table(rows, ["(0, 0)", "(0, 1)", "(1, 1)", "(1, 0)"])
    near = square.near(1)
    assert {frozenset(p) for p in near.pairs()} == {frozenset(p) for p in combinations(square.inputs, 2)} - {
        frozenset({"(0, 0)", "(1, 1)"}),
        frozenset({"(0, 1)", "(1, 0)"}),
    }
    assert square.near("sqrt(2)") == square
    listed = square.near([("(0, 0)", "(0, 1)")])
    assert listed.pairs() == (("(0, 0)", "(0, 1)"), ("(0, 1)", "(0, 0)"))
    assert listed != square
    assert hash(listed) != hash(square)
    assert "2 ordered pairs of neighbours" in repr(listed)
    exact = truth(rows, [(0, 1)], F(5, 4), 3)
    answer = sa.delta(square, n=3, eps="log(5/4)", neighbours=[("(0, 0)", "(0, 1)")])
    assert answer.lower <= float(exact) * (1 + 1e-12)
    assert float(exact) <= answer.upper * (1 + 1e-12)


def test_a_larger_table_and_its_certificate():
    rows = geometric(7, 2)
    near, every = (sa.epsilon(table(rows), n=10**4, delta="1e-6", neighbours=d) for d in (1, "all"))
    assert near.lower <= near.upper < every.lower
    assert abs(int(near.pair[0]) - int(near.pair[1])) == 1
    assert abs(int(near.dataset.x0) - int(near.dataset.x1)) == 1
    blanket = sa.epsilon(table(rows), n=10**4, delta="1e-6", neighbours=1, method="blanket")
    compared = blanket.certificate()["settings"][0]["groups"][0]["mechanism"]["compared"]
    assert compared == [[i, i + 1] for i in range(6)]


def test_profiles_and_comparisons():
    mechanism = table(geometric(3, 2))
    profile = sa.profile(mechanism, n=5, neighbours=1)
    assert profile.delta(eps="1/10").upper == sa.delta(mechanism, n=5, eps="1/10", neighbours=1).upper
    found = sa.compare(mechanism, n=5, eps="1/10", neighbours=1, names=["blanket", "variation_ratio"])
    assert found["blanket"].value < found["variation_ratio"].value


# ---------------------------------------------------------------------------------------------------------------- noise

STRIPS = {
    "1/2": 0.1552599132063,
    "1": 0.2959600664881,
    "2": 0.5229738549615,
    "3": 0.6836494976743,
    "5": 0.8661243614554,
}
"""Formula: 002, Table 2, the double integral of planar Laplace noise, by another quadrature."""


@pytest.mark.parametrize("d", STRIPS)
def test_the_strip_of_planar_laplace_noise(d):
    low, high = strip_mass(sp.Rational(d))
    assert 0 < high - low < sp.Rational(1, 10**13)
    assert float(low) == pytest.approx(STRIPS[d], rel=1e-11)


def test_the_strip_by_struve_functions():
    """Exact: the antiderivative of x K_1 is x (pi/2)(K_0 L_-1 + K_1 L_0) - x K_0, L modified Struve functions."""
    low, high = strip_mass(sp.Rational(1))
    with mpmath.workdps(30):
        x = mpmath.mpf(1) / 2
        k0, k1 = (mpmath.besselk(i, x) for i in (0, 1))
        inner = mpmath.pi / 2 * (k0 * mpmath.struvel(-1, x) + k1 * mpmath.struvel(0, x))
        value = 2 / mpmath.pi * x * (inner - k0)
        assert mpmath.mpf(low.p) / low.q <= value <= mpmath.mpf(high.p) / high.q


@pytest.mark.parametrize("mechanism", [sa.Laplace(eps0=2), sa.PlanarLaplace(eps0=2)])
def test_noise_at_a_distance(mechanism):
    found = [sa.epsilon(mechanism, n=10**4, delta="1e-6", neighbours=d) for d in ("1/10", "1/2")]
    for answer in found:
        assert 0 < answer.lower < answer.upper
        assert answer.certificate()["settings"][0]["groups"][0]["users"] == 10**4
    assert found[0].upper < found[1].lower
    assert found[1].upper < sa.epsilon(mechanism, n=10**4, delta="1e-6").upper


def test_laplace_noise_has_the_printed_parameters():
    p, beta, q = sa.Laplace(eps0=1).near("1/2").variation_ratio()
    assert (p, beta, q) == (sp.exp(sp.Rational(1, 2)), 1 - sp.exp(-sp.Rational(1, 4)), sp.E)
    whole = sa.epsilon(sa.Laplace(eps0=1), n=1000, delta="1e-6")
    one = sa.epsilon(sa.Laplace(eps0=1), n=1000, delta="1e-6", neighbours=1)
    assert one.upper == pytest.approx(whole.upper, rel=1e-6)


def test_the_table_below_laplace_noise_loses_no_test():
    """With one user alone the cells tell 0 and d apart as well as the messages: at E = 1, the total variation."""
    (cells,) = sa.Laplace(eps0="log(16)").near("1/2").members()
    rows = [[float(v) for v in row] for row in cells.rows]
    variation = above(dict(enumerate(rows[0])), dict(enumerate(rows[1])), 1.0)
    assert variation == pytest.approx(1 - 16**-0.25)


@pytest.mark.parametrize("d", some(["1/2", "1"], 1))
def test_the_strips_below_planar_noise(d):
    """Exact to quadrature: the masses of strips by another integral, along the line through the points."""
    (cells,) = sa.PlanarLaplace(eps0=2).near(d).members()
    width = float(sp.Rational(d))
    third = 1.0 if width < 1 else 0.5
    with mpmath.workdps(15):
        for x, row in zip((0.0, width, third), cells.rows, strict=True):
            ends = [2 * (width * i / 4 - x) for i in range(5)]
            inner = [
                mpmath.quad(lambda u: abs(u) * mpmath.besselk(1, abs(u)) / mpmath.pi, sorted({a, b, min(max(0, a), b)}))
                for a, b in pairwise(ends)
            ]
            assert [float(v) for v in row[1:-1]] == pytest.approx([float(v) for v in inner], abs=1e-7)
    assert sum(cells.rows[1]) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_simulated_table_comes_from_the_mechanism_by_a_channel(seed):
    """In fractions: the channel of the proof is found again, and has no negative entry."""
    random = Random(seed)
    weights = [[random.randint(1, 99) for _ in range(5)] for _ in range(3)]
    rows = sp.Matrix([[sp.Rational(w, sum(row)) for w in row] for row in weights])
    with flint.ctx.workprec(192):
        balls = {f"x{i}": [arb(v.p) / v.q for v in rows.row(i)] for i in range(3)}
        table = sp.Matrix(simulated(balls, ("x0", "x1"), "noise").rows)
    # The least common factor of the uniform law that leaves an answer: the channel is linear in it.
    inverse = rows.T * (rows * rows.T).inv()
    for share in (sp.Rational(1, 2**k) for k in range(24, 90)):
        near = (table - sp.ones(3, 5) * share / 5) / (1 - share)
        channel = (1 - share) * (sp.eye(5) + inverse * (near - rows)) + share * sp.ones(5, 5) / 5
        assert rows * channel == table
        if min(channel) >= 0:
            break
    else:
        raise AssertionError("no channel")
    assert max(abs(v) for v in table - rows) < sp.Rational(1, 2**24)


def test_points_too_close_are_told_apart_by_one_test():
    (table,) = sa.PlanarLaplace(eps0=1).near("1e-20").members()
    assert len(table.inputs) == 2


# ---------------------------------------------------------------------------------------------------------- what is not


@pytest.mark.parametrize("neighbours", [0, -1, [], [("0", "0")], [("0", "1", "2")], "1/2", None, True])
def test_what_are_no_neighbours(neighbours):
    with pytest.raises(ArgumentError, match="neighbours"):
        sa.epsilon(table(geometric(4, 2)), n=10, delta="1e-2", neighbours=neighbours)


def test_what_is_refused():
    words = sa.FiniteMechanism([[0.5, 0.5], [0.25, 0.75]])
    with pytest.raises(ArgumentError, match="numbers or points"):
        sa.epsilon(words, n=10, delta="1e-2", neighbours=1)
    with pytest.raises(UnknownInputError, match="neighbours"):
        words.near([("x0", "x7")])
    with pytest.raises(SupportMismatchError, match="no distance"):
        sa.epsilon(sa.RandomizedResponse(k=3, eps0=1), n=10, delta="1e-2", neighbours=1)
    for noise in (sa.Laplace(eps0=1), sa.PlanarLaplace(eps0=1)):
        with pytest.raises(ArgumentError, match="at most 1"):
            noise.near(2)
        with pytest.raises(ArgumentError, match="number for eps0"):
            type(noise)().near("1/2")
    near = table(geometric(4, 2)).near(1)
    with pytest.raises(ArgumentError, match="compares some"):
        sa.joint([near, near])
    with pytest.raises(ArgumentError, match="compared"):
        sa.exact.worst_dataset(near, 2, 1)
    with pytest.raises(SupportMismatchError, match="any two"):
        sa.epsilon(near, n=10, delta="1e-2", method="two_level")
    crowd = sa.heterogeneous([(5, near)], shuffled="messages")
    with pytest.raises(ArgumentError, match="neighbours"):
        sa.epsilon(crowd, delta="1e-2", neighbours=1)


def test_the_command(tmp_path, capsys, monkeypatch):
    import json

    from symamp.command_line.cli import main

    rows = {x: {str(j): str(v) for j, v in enumerate(row)} for x, row in zip("0123", geometric(4, 2), strict=True)}
    file = tmp_path / "geometric.json"
    document = {"format": "symamp-mechanism", "version": 1, "name": "geometric", "table": rows}
    file.write_text(json.dumps({**document, "inputs": list("0123"), "messages": list("0123")}))
    words = ["symamp", "delta", "--mechanism", str(file), "--n", "2", "--eps", "log(37/10)", "--neighbours"]
    for given in ("2", "0,2; 1,3"):
        monkeypatch.setattr("sys.argv", [*words, given, "--json"])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 0
        assert json.loads(capsys.readouterr().out)["upper"] == pytest.approx(1 / 24)
