"""Densities of one's own: cases, point masses, a few inputs or an interval of them, against what is known."""

import json
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy as sp

import symamp as sa
from symamp.bounds.bound import ROUGH
from symamp.bounds.reduction import dataset_reduction
from symamp.data_sets.mechanisms import SmoothDataSet
from symamp.laws.law import Level
from symamp.randomizers.noise.densities import Boxes, Densities, dominating_table, fallback_atoms
from symamp.randomizers.noise.density import largest_value
from symamp.sums.divergence import enclose_divergence
from symamp.verifier import verify
from tests.between import enclosed
from tests.oracle.laws import merged, positive_part, sums
from tests.sampled import some

X, Y = sp.symbols("x y", real=True)
Q = sp.Rational
LAPLACE = sp.exp(-sp.Abs(Y - X)) / 2
TRUNCATED = sp.exp(-sp.Abs(Y - X)) / (2 - sp.exp(-X) - sp.exp(X - 1))
APART = sp.Piecewise((1, (Y > X) & (Y < X + 1)), (0, True))
WINDOW = sp.Piecewise((Q(3, 2), sp.Abs(Y - X) < Q(1, 4)), (Q(1, 2), True))
# Three densities on [0, 1] whose least one changes.
MANY = sp.Piecewise(
    (sp.exp(-Y) / (1 - sp.exp(-1)), Q(1, 4) > X),
    (sp.exp(Y) / (sp.E - 1), Q(3, 4) < X),
    ((sp.exp(Y) + sp.exp(-Y)) / (sp.E - sp.exp(-1)), True),
)


METHODS = {tuple: "worst_pair", list: "density_pairs"}


def overlap(one, other):
    return one.bound.lower <= other.bound.upper and other.bound.lower <= one.bound.upper


def test_two_inputs_of_laplace_noise_are_its_worst_pair():
    two = sa.DensityMechanism(LAPLACE, inputs=[0, 1])
    noise = sa.delta(sa.Laplace(eps0=1), n=10**6, eps="0.00446", method="worst_pair")
    found = sa.delta(two, n=10**6, eps="0.00446", method="density_pairs")
    assert overlap(found, noise)
    assert found.bound.lower < 7.898897904e-9 < found.bound.upper
    assert found.bound.upper / found.bound.lower < 1 + 3e-4
    assert two.local_ratio() == sp.E
    low, high = two.gamma()
    assert abs(low - float(sp.exp(-Q(1, 2)))) < 1e-15 > high - low


def test_clipped_laplace_noise_with_point_masses_has_the_law_of_laplace_noise():
    ends = {0: sp.exp(-X) / 2, 1: sp.exp(X - 1) / 2}
    clipped = sa.DensityMechanism(LAPLACE, inputs=[0, 1], messages=(0, 1), masses=ends)
    noise = sa.delta(sa.Laplace(eps0=1), n=1000, eps="0.141", method="worst_pair")
    assert overlap(sa.delta(clipped, n=1000, eps="0.141", method="density_pairs"), noise)


def test_a_density_that_is_constant_on_windows_is_a_table():
    given = sa.DensityMechanism(WINDOW, inputs=["1/4", "1/2", "3/4"], messages=(0, 1))
    # Messages in quarters: three halves of a quarter each inside the window, a half of it outside.
    table = sa.FiniteMechanism([[Q(3, 8) if j in (x, x + 1) else Q(1, 8) for j in range(4)] for x in range(3)])
    assert given.local_epsilon() == sp.log(3)
    for n in (1, 2, 5, 100):
        one = sa.delta(given, n=n, eps="1/10", method="density_pairs")
        assert overlap(one, sa.delta(table, n=n, eps="1/10", method="blanket"))


def test_a_message_that_one_input_never_sends_is_singular():
    given = sa.DensityMechanism(sp.Piecewise((1, Y < 1 + X), (0, True)) / (1 + X), inputs=[0, 1], messages=(0, 2))
    table = sa.FiniteMechanism({"0": {"a": 1, "b": 0}, "1": {"a": "1/2", "b": "1/2"}})
    assert given.local_epsilon() is sp.oo
    one, other = sa.delta(given, n=5, eps="1/10"), sa.delta(table, n=5, eps="1/10", method="blanket")
    assert overlap(one, other)


def test_one_law_bounds_all_pairs_of_an_interval():
    whole = sa.DensityMechanism(TRUNCATED, inputs=(0, 1), messages=(0, 1))
    bound = sa.delta(whole, n=10**6, eps="0.0015", method="fallback_law").bound
    two = sa.DensityMechanism(TRUNCATED, inputs=[0, 1], messages=(0, 1))
    ends = sa.delta(two, n=10**6, eps="0.0015", method="density_pairs").bound
    # Boxes cost some per cent of eps, here 12 % of delta.
    assert ends.upper <= bound.upper <= 1.2 * ends.lower
    # The ends are the worst pair: no more than two inputs, where all data sets do not take part.
    worst = sa.delta(whole, n=10**6, eps="0.0015", method="worst_pair")
    assert overlap(worst, sa.delta(two, n=10**6, eps="0.0015", method="density_pairs"))
    # They do take part by default.
    answer = sa.delta(whole, n=10**6, eps="0.0015")
    assert answer.method == "interval"
    assert worst.lower <= answer.lower <= answer.upper < worst.upper
    assert whole.local_epsilon() == 1


def test_a_density_that_is_affine_in_the_input_is_that_of_its_ends():
    affine = 1 + (X - Q(1, 4)) * (2 * Y - 1)
    whole, ends = (sa.DensityMechanism(affine, inputs=inputs, messages=(0, 1)) for inputs in ((0, 1), [0, 1]))
    assert whole == ends
    found = sa.epsilon(whole, n=10**6, delta="1e-6")
    assert found.lower <= found.upper < 1.01 * found.lower
    inner = sa.DensityMechanism(affine, inputs=["1/3", "4/5"], messages=(0, 1))
    assert sa.epsilon(inner, n=10**6, delta="1e-6", method="density_data_sets").upper < found.lower
    bent = sa.DensityMechanism(affine + (X**2 - X) * (2 * Y - 1) / 9, inputs=(0, 1), messages=(0, 1))
    assert bent.is_interval


def test_all_data_sets_of_two_inputs_of_laplace_noise_meet_the_worst_one():
    two = sa.DensityMechanism(LAPLACE, inputs=[0, 1])
    found = sa.epsilon(two, n=1000, delta="1e-6")
    assert found.method == "density_data_sets"
    # The data set in which all others hold 0; the blanket has 0.1302.
    assert found.lower <= 0.1104736 <= found.upper < 0.1106


@pytest.mark.parametrize(("density", "inputs"), [(TRUNCATED, (0, 1)), (WINDOW, ["1/4", "3/4"])])
def test_finite_laws_above_densities_have_certificates(density, inputs):
    given = sa.DensityMechanism(density, inputs=inputs, messages=(0, 1))
    found = sa.delta(given, n=10**6, eps="0.002", method=METHODS[type(inputs)])
    with pytest.raises(sa.errors.ArgumentError, match="finite_sandwich"):
        found.certificate()
    above = sa.delta(given, n=10**6, eps="0.002", method="finite_sandwich")
    assert found.lower <= above.upper < 1e-3
    assert above.bound.upper <= 1.001 * found.bound.upper
    assert verify(json.dumps(above.certificate())).status == "valid"


@pytest.mark.parametrize("method", ["density_data_sets", "density_envelope"])
def test_the_table_above_densities_has_a_certificate_with_its_roundings(method):
    found = sa.delta(sa.DensityMechanism(LAPLACE, inputs=[0, 1]), n=1000, eps="1/8", method=method).certificate()
    assert verify(json.dumps(found)).status == "valid"
    table = found["settings"][0]["groups"][0]["mechanism"]
    rows = [[Fraction(x) for x in row] for row in table["rows"]]
    assert all(sum(row) == 1 for row in rows)
    common = sum(map(min, *rows))  # at most 1 - TV of the densities
    assert -1e-3 < float(common) - np.exp(-0.5) < 1e-15
    upper = Fraction(found["claim"]["upper"])
    found["claim"]["upper"] = str(upper * Fraction(101, 100))
    for rounded, status in ((0, "valid"), (upper / 10**6, "valid"), (upper / 10**3, "invalid"), (-1, "invalid")):
        table["rounded"] = str(rounded)
        assert verify(json.dumps(found)).status == status


@pytest.mark.parametrize("density", some([LAPLACE, MANY], 1))
def test_a_mechanism_is_its_table_mapped_at_random(density):
    """Stop-loss transforms of the table, for each input among the others, are at least those of the densities."""
    whole = (-sp.oo, sp.oo) if density is LAPLACE else (0, 1)
    given = sa.DensityMechanism(density, inputs=[0, "1/2", 1], messages=whole)
    table = dominating_table(given)
    level = Level.of_float(0.125)
    for pair, other in ((("0", "1"), "0"), (("0", "1"), "1/2"), (("1/2", "0"), "1")):
        law = dataset_reduction(table, pair, ((other, sp.S.One),)).law
        for n in (1, 3, 50):
            above = enclose_divergence(law, level, n, ROUGH)
            below = enclosed(given.law(pair, other), level, n, ROUGH)
            assert float(below.lower) <= float(above.upper)
            assert float(above.lower) <= 1.03 * float(below.upper)


def test_the_table_of_constant_densities_is_exact():
    given = sa.DensityMechanism(WINDOW, inputs=["1/4", "1/2", "3/4"], messages=(0, 1))
    found = [[Fraction(int(p.p), int(p.q)) for p in row] for row in dominating_table(given).rows]
    assert found == [[Fraction(3, 8) if j in (x, x + 1) else Fraction(1, 8) for j in range(4)] for x in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "eps"), [(2, 0.3), (10**4, 0.03)])
def test_no_pair_of_thirteen_inputs_is_worse_than_the_ends_of_laplace_noise(n, eps):
    inputs = tuple(Q(k, 12) for k in range(13))
    noise = Densities(LAPLACE, X, Y, inputs, (-sp.oo, sp.oo), {})
    level = Level.of_float(eps)
    worst = enclosed(noise.law(("0", "1")), level, n, ROUGH)
    for pair in noise.pairs():
        assert float(enclosed(noise.law(pair), level, n, ROUGH).lower) <= float(worst.upper)


@pytest.mark.slow
def test_others_in_the_middle_of_truncated_noise_are_worse_than_at_the_ends():
    whole = sa.DensityMechanism(TRUNCATED, inputs=(0, 1), messages=(0, 1))
    answer = sa.delta(whole, n=10**4, eps="0.0197")
    at_end = SmoothDataSet(whole, ("0", "1"), "data set", "", "0").enclose(Level.of_float(0.0197), 10**4, ROUGH)
    assert answer.dataset.others == (("1/2", "1"),)
    assert answer.lower > 1.1 * float(at_end.upper)


@pytest.mark.slow
def test_thirteen_by_thirteen_pairs_lie_below_the_law_of_all_pairs():
    whole = sa.DensityMechanism(TRUNCATED, inputs=(0, 1), messages=(0, 1))
    bound = sa.delta(whole, n=10**4, eps="0.015", method="fallback_law").bound.upper
    pairs = Densities(TRUNCATED, X, Y, tuple(Q(k, 12) for k in range(13)), (sp.S.Zero, sp.S.One), {})
    for pair in pairs.pairs():
        assert float(enclosed(pairs.law(pair), Level.of_float(0.015), 10**4, ROUGH).lower) <= bound


def _positive_part(law, level, n):
    """E[(G_1 + ... + G_n)_+]/n by the law of the sum."""
    rest = Fraction(0), 1 - sum(mass for *_, mass in law)
    return positive_part(sums([merged([*((r0 - level * r1, mass) for r0, r1, mass in law), rest])] * n)) / n


@pytest.mark.parametrize("seed", range(4))
def test_the_law_is_above_all_pairs_of_rows_in_fractions(seed):
    draw = random.Random(seed)
    rows = []
    for _ in range(4):
        cuts = sorted(draw.sample(range(1, 64), 3))
        rows.append([Fraction(b - a, 64) for a, b in zip([0, *cuts], [*cuts, 64], strict=True)])
    least = [min(column) for column in zip(*rows, strict=True)]
    law = fallback_atoms(Boxes(np.ones(4), np.array(least, float), np.array(rows, float)))
    assert sum(r0 * m for r0, _, m in law) == sum(r1 * m for _, r1, m in law) == 1
    for n, level in ((1, Fraction(1)), (1, Fraction(3, 2)), (2, Fraction(6, 5))):
        bound = _positive_part(law, level, n)
        for a, b in product(rows, repeat=2):
            pair = [(p / m, q / m, m) for p, q, m in zip(a, b, least, strict=True)]
            assert _positive_part(pair, level, n) <= bound


def test_the_finite_sandwich_of_pieces_on_which_both_ratios_vary():
    law = sa.DensityMechanism(MANY, inputs=[0, "1/2", 1], messages=(0, 1)).law(("0", "1"))
    assert any(isinstance(p.ratio0.formula, sp.Expr) and p.ratio0.formula.free_symbols for p in law.pieces)
    level = Level.of_float(0.1)
    fewer, more = (enclosed(law, level, 20, ROUGH, cells) for cells in (40, 200))
    assert float(fewer.lower) <= float(more.upper)
    assert float(more.lower) <= float(fewer.upper)
    assert float(fewer.upper) / float(fewer.lower) < 1.01


@pytest.mark.parametrize(
    ("density", "asked", "error"),
    [
        (LAPLACE, {"inputs": [0, 1], "messages": (0, 1)}, sa.errors.RowSumError),
        (sp.Piecewise((1, Y < X), (0, True)), {"inputs": [0, 1], "messages": (0, 1)}, sa.errors.RowSumError),
        (sp.Piecewise((2 * Y, Y < 1), (0, True)), {"inputs": [0, 1], "messages": (-1, 1)}, sa.errors.SymampError),
        (LAPLACE, {"inputs": [0]}, sa.errors.ArgumentError),
        (LAPLACE, {"inputs": [0, 0]}, sa.errors.ArgumentError),
        (LAPLACE, {"inputs": 3}, sa.errors.ArgumentError),
        (LAPLACE, {"inputs": (0, 1), "messages": (1, 0)}, sa.errors.ArgumentError),
        (LAPLACE, {"inputs": (0, 1), "messages": (0, sp.oo)}, sa.errors.SymampError),
        (sp.exp(-((Y - X) ** 2)) / sp.sqrt(sp.pi), {"inputs": [0, 1]}, sa.errors.SymampError),
        (LAPLACE, {"inputs": [0, 1], "masses": {0: Q(1, 2)}}, sa.errors.RowSumError),
        (LAPLACE, {"inputs": [0, 1], "masses": {0: Y}}, sa.errors.ArgumentError),
        (LAPLACE, {"inputs": [0, 1], "masses": {0: -X}}, sa.errors.NegativeProbabilityError),
        (sp.Abs(Y**2 - X), {"inputs": [0, 1], "messages": (0, 1)}, sa.errors.ArgumentError),
        (0.5 * LAPLACE, {"inputs": [0, 1]}, sa.errors.ArgumentError),
        (
            sp.Piecewise((1, (Y > X) & (Y < X + 1)), (0, True)),
            {"inputs": [0, 2], "messages": (0, 3)},
            sa.errors.SupportMismatchError,
        ),
        ("x", {}, sa.errors.ArgumentError),
    ],
)
def test_what_is_not_shown_is_refused(density, asked, error):
    with pytest.raises(error):
        sa.DensityMechanism(density, **asked)


def test_symbols_of_which_more_is_known_are_refused():
    y = sp.Symbol("y", positive=True)
    with pytest.raises(sa.errors.ArgumentError, match="without assumptions"):
        sa.DensityMechanism(sp.exp(-sp.Abs(y - X)) / 2, inputs=[0, 1])


def test_a_mechanism_shows_its_intervals_of_messages():
    given = sa.DensityMechanism(WINDOW, inputs=["1/4", "3/4"], messages=(0, 1))
    assert r"\left(0,\,\frac{1}{2}\right)" in given._repr_latex_()
    assert isinstance(given, Densities)
    assert given == sa.DensityMechanism(WINDOW, inputs=["1/4", "3/4"], messages=(0, 1))
    assert given.worst_pair().pair == ("1/4", "3/4")


def test_the_largest_ratio_inside_a_piece_is_rounded_up():
    q = Y * (1 - Y)
    inside = largest_value([(1 + q, sp.S.Zero, sp.S.One), (sp.Rational(5, 4) - q, sp.S.Zero, sp.S.One)])
    # 5/4 is taken inside by one formula, where only balls know it, and at an end by the other.
    assert Q(5, 4) <= inside < Q(5, 4) + Q(1, 10**9)
    assert largest_value([(sp.exp(Y), sp.S.Zero, sp.S.One), (sp.exp(1 - Y), sp.S.Zero, sp.S.One)]) == sp.E


def test_pieces_of_a_pair_are_shown_and_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    given = sa.DensityMechanism(MANY, inputs=[0, "1/2", 1], messages=(0, 1))
    shown = given.pieces(("0", "1"))
    # All three densities cross at 1/2; left of it that of the input 1 is least.
    assert [(p.ratio0 == 1, p.ratio1 == 1) for p in shown] == [(False, True), (True, False)]
    assert abs(float(shown[0].end) - 0.5) < 1e-6 > abs(float(shown[1].start) - 0.5)
    assert given.plot_ratios(("0", "1")).get_xlabel()
    assert given.plot_distribution("1/10", ("0", "1")).get_ylabel()
    with pytest.raises(sa.errors.UnknownInputError):
        given.pieces(("0", "2"))
