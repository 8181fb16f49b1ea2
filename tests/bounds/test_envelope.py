"""The envelope bound (docs/proofs/envelope.md): against exact truths, the blanket, and printed reference values."""

import itertools
import math
from fractions import Fraction
from random import Random

import flint
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from symamp.errors import ArgumentError
from symamp.laws.law import Atom, Law, Level
from symamp.numbers.dyadic import float_above, float_below
from symamp.sums.divergence import Settings, enclose_divergence, estimate_log_divergence
from symamp.sums.envelope import enclose_envelope, envelope_law, estimate_envelope_epsilon, estimate_log_envelope
from tests.exactly import as_fmpq
from tests.exactly import as_number as number
from tests.exactly import level_of as level
from tests.oracle.envelope import (
    constant_bound,
    difference,
    divergence_of_signed,
    envelope_bound,
    kinks,
    lattice_bound,
    own_law,
    transform,
    two_level_bound,
    two_level_law,
)
from tests.oracle.histograms import (
    blanket_divergence,
    hadamard_response,
    local_ratio,
    normalised,
    randomized_response,
    total_variation,
)
from tests.sampled import chunks

ONE = Fraction(1)


def as_law(rows: list[list[Fraction]], x0: int, x1: int, other: int) -> Law:
    """The triple (R(x0), R(x1), R(other)) as it crosses to the evaluation."""
    atoms, singular = [], []
    for a, b, c in zip(rows[x0], rows[x1], rows[other], strict=True):
        if c == 0:
            singular.append((number(a), number(b)))
        else:
            atoms.append(Atom(number(a / c), number(b / c), number(c), a == b))
    return Law(tuple(atoms), tuple(singular), complete=True)


def as_blanket(rows: list[list[Fraction]], x0: int, x1: int) -> Law:
    least = [min(column) for column in zip(*rows, strict=True)]
    pairs = list(zip(rows[x0], rows[x1], least, strict=True))
    return Law(
        tuple(Atom(number(a / c), number(b / c), number(c), a == b) for a, b, c in pairs if c > 0),
        tuple((number(a), number(b)) for a, b, c in pairs if c == 0),
    )


def worst(g: list[Fraction], rows: list[list[Fraction]], n: int) -> tuple[Fraction, tuple[int, ...]]:
    """The largest divergence over all data sets of the other users."""
    others = itertools.combinations_with_replacement(range(len(rows)), n - 1)
    return max((divergence_of_signed(g, [rows[x] for x in data]), data) for data in others)


def random_table(rng: Random, zeros: bool = False) -> list[list[Fraction]]:
    inputs, messages = rng.randint(2, 4), rng.randint(2, 4)
    pool = (0, 1, 1, 2, 3, 5, 9) if zeros else (1, 1, 2, 3, 5, 9)
    while True:
        weights = [[rng.choice(pool) for _ in range(messages)] for _ in range(inputs)]
        if all(map(sum, weights)):
            return normalised(weights)


def check_table(seed: int, most_users: int) -> None:
    """The worst data set is below the exact bound, the bound below the blanket; certified ends enclose the bound."""
    rng = Random(seed)
    rows = random_table(rng, zeros=rng.random() < 0.3)
    E = Fraction(rng.choice((1, 2, 3, 5)), rng.choice((1, 2, 3)))
    E = max(E, ONE)
    n = rng.randint(1, most_users)
    g = difference(rows[0], rows[1], E)
    truth, _ = worst(g, rows, n)
    bound = envelope_bound(g, rows, n)
    assert truth <= bound <= blanket_divergence(rows, 0, 1, n, E)
    found = enclose_envelope([as_law(rows, 0, 1, x) for x in range(len(rows))], level(E), n)
    exact = as_fmpq(bound)
    with flint.ctx.workprec(256):
        assert found.upper.upper() >= exact
        assert found.upper.upper() <= exact * (1 + arb("2e-6")) + arb("1e-60")
        assert found.lower.lower() * (1 - arb("1e-30")) <= exact


@pytest.mark.parametrize("seeds", chunks(range(120), 20, range(1000, 4000), 100))
def test_between_truth_and_blanket(seeds):
    for seed in seeds:
        check_table(seed, 4 if seed < 1000 else 5)


# ------------------------------------------------------------------------------------------------------- exact cases


def two_level_rows(patterns: list[tuple[int, ...]], t: Fraction) -> list[list[Fraction]]:
    """Rows with weight t or 1 for each message, in equal proportions."""
    rows = [[t if bit else ONE for bit in pattern] for pattern in patterns]
    return [[entry / sum(row) for entry in row] for row in rows]


def test_hadamard_attains_it_for_few_users():
    rows = hadamard_response(4, Fraction(5))
    g = difference(rows[0], rows[1], Fraction(2))
    for n, value in ((2, Fraction(3, 16)), (3, Fraction(79, 576)), (4, Fraction(223, 2304))):
        assert worst(g, rows, n)[0] == envelope_bound(g, rows, n) == value
        assert constant_bound(g, rows[2], n) == value
    assert worst(g, rows, 5)[0] == Fraction(5735, 82944) < envelope_bound(g, rows, 5) == Fraction(181, 2592)


def test_local_hashing_lies_between():
    functions = list(itertools.product((0, 1), repeat=3))
    rows = two_level_rows([tuple(int(h[x] == y) for h in functions for y in (0, 1)) for x in range(3)], Fraction(5))
    g = difference(rows[0], rows[1], Fraction(2))
    for n, truth, bound in (
        (2, Fraction(7, 48), Fraction(3, 16)),
        (3, Fraction(97, 1152), Fraction(79, 576)),
    ):
        assert worst(g, rows, n)[0] == truth
        assert envelope_bound(g, rows, n) == bound
    assert blanket_divergence(rows, 0, 1, 2, Fraction(2)) == Fraction(7, 36)
    assert float(blanket_divergence(rows, 0, 1, 3, Fraction(2))) == pytest.approx(0.15119, rel=1e-4)


def test_five_ary_response_attains_it_with_a_constant_data_set():
    rows = randomized_response(5, Fraction(6))
    g = difference(rows[0], rows[1], Fraction(11, 2))
    for n, value in ((2, Fraction(3, 100)), (3, Fraction(9, 500)), (4, Fraction(27, 2500))):
        assert worst(g, rows, n) == (value, (0,) * (n - 1)) or worst(g, rows, n)[0] == value
        assert constant_bound(g, rows[0], n) == envelope_bound(g, rows, n) == value


def test_a_signed_measure_attains_it():
    rows = [[Fraction(x, 12) for x in (1, 1, 5, 5)], [Fraction(1, 4)] * 4]
    g = [Fraction(x, 12) for x in (-19, 1, -19, -3)]
    scale = [[Fraction(x) for x in (-19, 1, -19, -3)], g]
    values = [(divergence_of_signed(h, rows), envelope_bound(h, rows, 3)) for h in scale]
    assert (Fraction(1, 12), Fraction(1, 12)) in values


def test_constant_data_sets_are_not_always_worst():
    million = Fraction(1, 10**6)
    rows = [[x * million for x in row] for row in ((335392, 7, 664601), (814081, 1807, 184112))]
    g = [Fraction(x) * million for x in ("-198427", "2.4", "-198429")]
    truth, data = worst(g, rows, 3)
    constant = max(constant_bound(g, row, 3) for row in rows)
    assert data == (0, 1)
    assert 25 < truth / constant < 27
    assert truth <= envelope_bound(g, rows, 3)


# --------------------------------------------------------------------------------------------------- the two-level law


def test_the_largest_distance_is_needed():
    """With TV(R(x0), R(x1)) alone the four-atom law is not a bound: another input is further away."""
    rows = [[Fraction(x, 8) for x in row] for row in ((3, 1, 1, 3), (1, 3, 1, 3), (3, 1, 3, 1))]
    E, t = Fraction(2), Fraction(3)
    g = difference(rows[0], rows[1], E)
    assert divergence_of_signed(g, [rows[2], rows[2]]) == Fraction(9, 256)
    assert two_level_bound(E, t, total_variation(rows[0], rows[1]), 3) == Fraction(13, 512)
    furthest = max(total_variation(a, b) for a, b in itertools.combinations(rows, 2))
    assert worst(g, rows, 3)[0] <= two_level_bound(E, t, furthest, 3)


@pytest.mark.parametrize("seeds", chunks(range(400), 100, range(1000, 11000), 1000))
def test_four_atoms_dominate_every_randomizer(seeds):
    """For every randomizer the four-atom law of its budget and largest distance dominates every envelope."""
    for rng in map(Random, seeds):
        rows = random_table(rng)
        t = local_ratio(rows)
        assert t is not None
        if t == 1:
            continue
        E = 1 + (t - 1) * Fraction(rng.randint(0, 6), 6)
        furthest = max(total_variation(a, b) for a, b in itertools.combinations(rows, 2))
        law = two_level_law(E, t, furthest)
        laws = [own_law(difference(rows[0], rows[1], E), row) for row in rows]
        for u in sorted({*kinks(laws), *law}):
            assert transform(law, u) >= max(transform(own, u) for own, _ in laws)


@pytest.mark.parametrize("seed", range(30))
def test_four_atoms_are_the_envelope_of_two_level_mechanisms(seed):
    """Where no other input is further from x1 than x0 is; and x1 attains it for u >= 0, x0 for u <= 0."""
    rng = Random(seed)
    t = Fraction(rng.choice((2, 3, 5)))
    messages = rng.randint(3, 6)
    raised = rng.randint(1, messages - 1)
    patterns = [rng.sample([1] * raised + [0] * (messages - raised), messages) for _ in range(4)]
    rows = two_level_rows([tuple(p) for p in patterns], t)
    distance = total_variation(rows[0], rows[1])
    E = 1 + (t - 1) * Fraction(rng.randint(0, 6), 6)
    if distance == 0:
        return
    near = [row for row in rows if total_variation(rows[1], row) <= distance]
    g = difference(rows[0], rows[1], E)
    law = two_level_law(E, t, distance)
    laws = [own_law(g, row) for row in near]
    for u in sorted({*kinks(laws), *law}):
        at = [transform(own, u) for own, _ in laws]
        attained = own_law(g, rows[1] if u >= 0 else rows[0])[0]
        assert transform(law, u) == max(at) == transform(attained, u)


# --------------------------------------------------------------------------------------------------- reference values


def four_atoms(t: int, distance: Fraction) -> Law:
    p = distance / (t - 1)
    parts = ((Fraction(t), ONE, p), (ONE, Fraction(t), p), (ONE, ONE, 1 - p - t * p))
    return Law(tuple(Atom(number(a), number(b), number(m), a == b) for a, b, m in parts))


@pytest.mark.parametrize(
    ("t", "distance", "E", "n", "value"),
    [
        (5, Fraction(1, 3), Fraction(6, 5), 1000, "2.84016553331826547483e-6"),
        (5, Fraction(1, 3), Fraction(2), 100, "2.26120729941499248092e-7"),
        (3, Fraction(1, 4), Fraction(11, 10), 2000, "4.95340101593839364385e-8"),
    ],
)
def test_reference_values_of_four_atoms(t, distance, E, n, value):
    assert lattice_bound(two_level_law(E, Fraction(t), distance), n) == pytest.approx(float(value), rel=1e-14)
    check_reference([four_atoms(t, distance)], E, n, value)


def check_reference(laws: list[Law], E: Fraction, n: int, value: str) -> None:
    found = enclose_envelope(laws, level(E), n, Settings(1e-7))
    with flint.ctx.workprec(128):
        digits = arb(value)
        assert found.lower.lower() <= digits * (1 + arb("1e-17"))
        assert found.upper.upper() >= digits * (1 - arb("1e-17"))
    assert found.relative_gap <= (2e-7 if found.plan else 1e-17)


def test_reference_value_of_three_rows():
    rows = [[Fraction(x, 7) for x in row] for row in ((4, 2, 1), (2, 3, 2), (1, 2, 4))]
    laws = [as_law(rows, 0, 2, x) for x in range(3)]
    check_reference(laws, Fraction(6, 5), 20, "0.0764705285545679224")
    law = envelope_law(laws, level(Fraction(6, 5))).law
    atoms = {round(float(v), 12): float(m) for v, m in zip(law.values, law.masses, strict=True)}
    assert atoms == pytest.approx({-3.8: 1 / 7, -0.2: 2 / 7, 2.8: 1 / 7})
    assert float(law.null_mass) == pytest.approx(3 / 7)


# ---------------------------------------------------------------------------------------------------------- evaluation


@st.composite
def tables(draw):
    inputs, messages = draw(st.integers(2, 4)), draw(st.integers(2, 5))
    entry = st.integers(1, 40)
    return normalised([draw(st.lists(entry, min_size=messages, max_size=messages)) for _ in range(inputs)])


@settings(max_examples=40, deadline=None)
@given(tables(), st.floats(0.0, 1.5), st.sampled_from([1, 2, 17, 10**3, 10**6, 10**9]))
def test_never_looser_than_the_blanket(rows, eps, n):
    laws = [as_law(rows, 0, 1, x) for x in range(len(rows))]
    at = Level.of_float(eps)
    aim = Settings(1e-4)
    envelope = enclose_envelope(laws, at, n, aim)
    blanket = enclose_divergence(as_blanket(rows, 0, 1), at, n, aim)
    constant = enclose_divergence(laws[-1], at, n, aim)
    assert envelope.lower.lower() <= blanket.upper.upper()
    assert constant.lower.lower() <= envelope.upper.upper()
    assert envelope.relative_gap <= 2e-4 or envelope.upper.upper() < 1e-300


@pytest.mark.parametrize("eps", ["1/10", "1/2", "1"])
@pytest.mark.parametrize("n", [3, 50, 10**4, 10**8])
def test_estimate_is_near_the_enclosure(eps, n):
    rows = randomized_response(4, Fraction(7))
    laws = [as_law(rows, 0, 1, x) for x in range(3)]
    at = Level.of_float(float(Fraction(eps)))
    found = enclose_envelope(laws, at, n)
    middle = (found.lower + found.upper) / 2
    assert estimate_log_envelope(laws, at, n) == pytest.approx(float(middle.log()), rel=1e-5)


@pytest.mark.parametrize(("n", "delta"), [(1, 0.3), (5, 1e-3), (10**3, 1e-6), (10**6, 1e-12)])
def test_root(n, delta):
    rows = randomized_response(4, Fraction(7))
    laws = [as_law(rows, 0, 1, x) for x in range(3)]
    root = estimate_envelope_epsilon(laws, n, math.log(delta), Settings())
    found = enclose_envelope(laws, Level.of_float(root), n)
    assert float(found.upper) == pytest.approx(delta, rel=1e-5)
    near = estimate_envelope_epsilon(laws, n, math.log(delta), Settings(), start=1.3 * root)
    assert near == pytest.approx(root, rel=1e-6)


def test_root_at_the_ends():
    rows = randomized_response(3, Fraction(3))
    laws = [as_law(rows, 0, 1, x) for x in range(3)]
    assert estimate_envelope_epsilon(laws, 10**4, math.log(0.5), Settings()) == 0.0
    revealing = [[ONE / 2, ONE / 2, ONE * 0], [ONE / 2, ONE * 0, ONE / 2]]
    laws = [as_law(revealing, 0, 1, x) for x in range(2)]
    assert estimate_envelope_epsilon(laws, 10, math.log(1e-3), Settings()) == math.inf


def test_one_law_is_its_own_envelope():
    rows = randomized_response(3, Fraction(3))
    law = as_law(rows, 0, 1, 2)
    at = Level.of_float(0.25)
    for n in (1, 10, 10**5):
        direct, found = enclose_divergence(law, at, n), enclose_envelope([law], at, n)
        assert float_above(found.upper) >= float_below(direct.lower)
        assert float_above(direct.upper) >= float_below(found.lower)
        assert found.upper.upper() <= direct.upper.upper() * 1.000003
        assert estimate_log_envelope([law], at, n) == pytest.approx(estimate_log_divergence(law, at, n), rel=1e-6)


def test_beyond_the_local_budget_nothing_is_left():
    rows = randomized_response(3, Fraction(3))
    laws = [as_law(rows, 0, 1, x) for x in range(3)]
    for E in (Fraction(3), Fraction(4)):
        assert enclose_envelope(laws, level(E), 10).upper.upper() < 1e-60
        assert estimate_log_envelope(laws, level(E), 10) == -float("inf")


def test_tiny_divergences_are_resolved():
    """Rounding the law costs an absolute error, so the precision must follow the size of the divergence."""
    rows = randomized_response(2, Fraction(3))
    laws = [as_law(rows, 0, 1, x) for x in range(2)]
    found = enclose_envelope(laws, Level.of_float(0.9), 4000)
    assert 0 < found.upper.upper() < arb("1e-150")
    assert found.relative_gap <= 1e-6


def test_merged_values_keep_the_bound():
    rng = Random(5)
    rows = normalised([[rng.randint(1, 60) for _ in range(40)] for _ in range(6)])
    laws = [as_law(rows, 0, 1, x) for x in range(6)]
    at = Level.of_float(0.1)
    full = enclose_envelope(laws, at, 500, most_nodes=10**6)
    merged = enclose_envelope(laws, at, 500, most_nodes=24)
    assert full.lower.lower() <= merged.upper.upper()
    assert merged.upper.upper() <= 1.2 * full.upper.upper()


def test_no_law_is_refused():
    with pytest.raises(ArgumentError, match="at least one law"):
        enclose_envelope([], Level.of_float(0.1), 10)


def test_values_far_below_are_lifted_and_change_no_bound():
    """At E = e^40000 a message that x1 sends has G below -2^50000: the law has short numbers, and the limit stays."""
    rows = [[Fraction(9, 14), Fraction(5, 14), Fraction(0)], [Fraction(5, 14), Fraction(4, 14), Fraction(5, 14)]]
    huge = Level.of_float(40000.0)
    for x0, x1, truth in ((0, 1, Fraction(0)), (1, 0, Fraction(5, 14))):
        laws = [as_law(rows, x0, x1, other) for other in (0, 1)]
        assert all(value > -(arb(2) ** 70) for value in envelope_law(laws, huge).law.values)
        upper = enclose_envelope(laws, huge, 3).upper
        assert number(truth)().lower() <= upper.upper() < number(truth)() + arb(2) ** -60
