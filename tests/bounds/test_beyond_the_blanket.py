"""The least of all proved bounds: never looser than one of them, above every data set, and as sharp as promised."""

import dataclasses
from fractions import Fraction
from math import e, log10
from random import Random

import pytest

import symamp as sa
from symamp.bounds.registry import BOUNDS, LOOSE
from symamp.decompositions.pairs import distinct_pairs, pairs_with_equal_laws
from symamp.laws.law import Level
from symamp.randomizers.catalogue import catalogue
from symamp.sums.divergence import Settings
from tests.sampled import some

PROVED = [name for name, a in BOUNDS.items() if a.proof_status.is_guarantee]
SLOW = pytest.mark.slow


def check(question, mechanism, n, **asked):
    """The default against every proved bound that it does not leave out as too costly, up to what it looks for."""
    answer = question(mechanism, n=n, gap=1e-4, **asked)
    assert answer.lower <= answer.upper
    assert answer.bound.lower <= answer.bound.upper
    patience, level = Settings().limits.patience, Level.of_float(0.05)
    for bound in (BOUNDS[name] for name in PROVED):
        if bound.unsupported_reason(mechanism) is None and not bound.too_costly(mechanism, level, n, patience):
            single = question(mechanism, n=n, gap=1e-4, method=bound.name, **asked)
            assert answer.lower <= single.upper * (1 + 1e-12)
            assert answer.upper <= single.upper * (1 + 2 * LOOSE)


def check_delta(mechanism, n, eps):
    check(sa.delta, mechanism, n, eps=eps)


def check_epsilon(mechanism, n, delta):
    check(sa.epsilon, mechanism, n, delta=delta)


def random_table(rng, most=3):
    inputs, messages = rng.randint(2, most), rng.randint(2, most)
    weights = [[rng.choice((1, 1, 2, 3, 5, 9)) for _ in range(messages)] for _ in range(inputs)]
    rows = {f"x{i}": {str(y): Fraction(w, sum(row)) for y, w in enumerate(row)} for i, row in enumerate(weights)}
    return sa.FiniteMechanism(rows) if any(row != rows["x0"] for row in rows.values()) else random_table(rng, most)


def check_table(seed):
    rng = Random(seed)
    table, n = random_table(rng), rng.choice((1, 2, 3, 7, 40, 300))
    order = 1 + Fraction(rng.randint(0, 8), rng.choice((5, 10, 40)))
    check_delta(table, n, f"log({order})")
    if n <= 3:
        worst = float(Fraction(str(sa.exact.worst_dataset(table, n, f"log({order})").value.exact)))
        answer = sa.delta(table, n=n, eps=f"log({order})")
        assert answer.lower <= worst * (1 + 1e-12)
        assert worst <= answer.upper * (1 + 1e-12)


@pytest.mark.parametrize("seed", some(range(8), lambda k: k not in (2, 3)))
def test_random_tables(seed):
    check_table(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 220))
def test_random_tables_in_bulk(seed):
    check_table(seed)
    check_epsilon(random_table(Random(seed)), 200, "1e-3")


MEMBERS = [(slug, cls.small[0]) for slug, cls in catalogue().items()]


@pytest.mark.parametrize(("slug", "sizes"), [m for m in MEMBERS if m[0] == "krr"])
def test_some_of_the_catalogue(slug, sizes):
    check_delta(catalogue()[slug](**sizes), 200, "1/10")


@pytest.mark.slow
@pytest.mark.parametrize(("slug", "sizes"), MEMBERS)
def test_the_catalogue(slug, sizes):
    mechanism = catalogue()[slug](**sizes)
    check_delta(mechanism, 50, "1/5")
    check_epsilon(mechanism, 1000, "1e-4")


NOISE_AND_MORE = sa.joint([sa.Laplace(eps0="1/10"), sa.RandomizedResponse(k=2, eps0="1/10000")])


@pytest.mark.parametrize(("mechanism", "others"), [(NOISE_AND_MORE, ["blanket"])])
def test_every_randomizer_of_a_budget_is_less_than_what_is_known_of_one(mechanism, others):
    """Where not all inputs are described, what holds for every randomizer may be the least bound."""
    answer = sa.epsilon(mechanism, n=10**4, delta="1e-6")
    assert answer.method == "generic_all_data_sets"
    assert all(answer.upper < 0.995 * sa.epsilon(mechanism, n=10**4, delta="1e-6", method=m).upper for m in others)


def pairs_in_blocks(most_hidden=4, size=6):
    """Inputs 2b and 2b + 1 differ at messages 2b and 2b + 1 only, where one more input hides one block badly."""
    rows = {}
    for x in range(2 * size):
        rows[f"x{x}"] = [17 if y == x else 1 if y == x ^ 1 else 9 for y in range(2 * size)]
    rows["z"] = [1 if y // 2 == most_hidden else 13 if y < 4 else 9 for y in range(2 * size)]
    return sa.FiniteMechanism(
        {x: {str(y): Fraction(w, sum(row)) for y, w in enumerate(row)} for x, row in rows.items()}
    )


def test_pairs_with_equal_blankets_are_not_alike():
    """All blocks have the same blanket, and one of them is far worse: what the others can hold differs."""
    mechanism = pairs_in_blocks()
    table, level = mechanism.numeric, Level.of_float(0.2)
    assert len(distinct_pairs(table, [(0, 1), (8, 9)])) == 1
    assert len(pairs_with_equal_laws(table, [(0, 1), (8, 9)])) == 2
    bound = BOUNDS["all_data_sets"].bound(mechanism)
    harmless = bound.part((0, 1))
    found = bound.evidence(level, 3000, Settings(gap=1e-2), first=harmless)
    assert found[0].part.pair in (("x8", "x9"), ("x9", "x8"))
    lower = sa.delta(mechanism, n=3000, eps=0.2, method="blanket").lower
    assert harmless.enclose(level, 3000, Settings()).upper < 0.01 * lower < lower < found[0].upper.above < 1.02 * lower


def test_bounds_that_cannot_help_are_not_made():
    """Binary and three-ary response are randomizers of the budget: a bound below theirs needs no bound on all."""
    generic = BOUNDS["generic_all_data_sets"]
    mechanism = sa.RandomizedResponse(k=10, eps0=1)
    floor, bound = generic.floor(mechanism), generic.bound(mechanism)
    level = Level.of_float(0.03)
    least = max(part.log_estimate(level, 10**4, Settings()) for part in floor)
    assert least <= max(part.log_estimate(level, 10**4, Settings()) for part in bound.parts)
    assert least > sa.delta(mechanism, n=10**4, eps=0.03, method="blanket").log10_upper / log10(e)


def raised_apart(rng):
    """Rows that are raised above a common one at messages of their own: seen from two, any third hides them worst."""
    rows, parts = {}, [[1, 3], [2, 2], [4]]
    for x in range(3):
        rng.shuffle(part := rng.choice(parts))
        rows[f"x{x}"] = [3] * (2 * x) + [3 + b for b in (*part, 0)[:2]] + [3] * (2 * (2 - x))
    return sa.FiniteMechanism({x: {str(y): Fraction(w, 22) for y, w in enumerate(row)} for x, row in rows.items()})


@pytest.mark.parametrize("seed", range(6))
def test_a_worst_data_set_is_the_worst(seed):
    """What is said to be the truth is, by exact histograms of all pairs and data sets; so is what attains it."""
    table = raised_apart(Random(seed))
    answer = sa.delta(table, n=4, eps=0, method="envelope", gap=1e-9)
    truth = float(Fraction(str(sa.exact.worst_dataset(table, 4, 0).value.exact)))
    assert answer.upper >= truth * (1 - 1e-12)
    assert answer.tight == (answer.worst_data_set is not None)
    if answer.tight:
        assert answer.upper == pytest.approx(truth, rel=1e-8)


def test_a_pair_that_may_be_worse_is_not_forgotten():
    """An input attains the envelope of every pair here; that a pair is the worst has to be shown, too."""
    answers = [sa.delta(raised_apart(Random(seed)), n=4, eps=0, method="envelope", gap=1e-9) for seed in range(6)]
    assert sum(a.tight and len(a.evidence_above) > 1 for a in answers) > 2
    for answer in answers:
        last = min(answer.evidence_above, key=lambda e: e.upper)
        rest = [e for e in answer.evidence_above if e != last]
        if last.upper < answer.evidence_above[0].lower:
            assert dataclasses.replace(answer, evidence_above=(last, *rest)).worst_data_set is None


# --------------------------------------------------------------------------------------------------- reference values


def bracket(mechanism, n, **options):
    return sa.epsilon(mechanism, n=n, delta="1e-6", gap=1e-4, **options)


def test_hadamard_response_to_its_last_digits():
    answer = bracket(sa.HadamardResponse(K=128, eps0=8), 10**4)
    assert answer.lower <= 1.842384316963242 <= answer.upper
    assert answer.upper - answer.lower < 1e-3
    assert answer.upper == pytest.approx(1.8424, rel=1e-4)


@pytest.mark.parametrize(
    ("eps0", "n", "most", "blanket"),
    [
        (1, 10**3, 0.1270, 0.14867),
        (2, 10**3, 0.32387, 0.39709),
        (4, 10**4, 0.31485, 0.41081),
        (4, 10**3, 1.6911, 1.8529),
        (6, 10**6, 0.07302, 0.10305),
        (8, 10**5, 1.0102, 1.1767),
    ],
)
def test_binary_response(eps0, n, most, blanket):
    mechanism = sa.RandomizedResponse(k=2, eps0=eps0)
    answer = bracket(mechanism, n)
    assert answer.upper <= most
    assert answer.upper <= 1.0001 * answer.lower
    assert bracket(mechanism, n, method="blanket").upper == pytest.approx(blanket, rel=1e-4)


@pytest.mark.parametrize("n", [10**6, 10**9])
def test_binary_response_of_many_users(n):
    answer = bracket(sa.RandomizedResponse(k=2, eps0=1), n)
    assert answer.upper <= 1.0001 * answer.lower


def test_local_hashing():
    answer = bracket(sa.LocalHashing(l=2, D=100, eps0=4), 10**4)
    assert answer.upper <= 0.2013
    assert answer.upper <= 1.002 * answer.lower


@pytest.mark.parametrize(
    ("slug", "sizes", "n", "most", "least"),
    [
        pytest.param("local-hashing", {"l": 4, "D": 100, "eps0": 6}, 10**6, 0.0758, 0.0755, marks=SLOW),
        pytest.param("local-hashing", {"l": 2, "D": 100, "eps0": 1}, 10**3, 0.0850, 0.0847, marks=SLOW),
        pytest.param("oue", {"D": 100, "eps0": 1}, 10**3, 0.0930, 0.0926, marks=SLOW),
        pytest.param("rappor", {"D": 100, "eps0": 8}, 10**4, 4.5872, 4.5767, marks=SLOW),
        pytest.param("d-bit-flip", {"k": 100, "d": 4, "eps0": 8}, 10**6, 0.0132, 0.0115, marks=SLOW),
    ],
)
def test_other_mechanisms(slug, sizes, n, most, least):
    answer = bracket(catalogue()[slug](**sizes), n)
    assert least <= answer.lower <= answer.upper <= most


@pytest.mark.parametrize(
    ("mechanism", "n", "loss"),
    [
        (sa.LocalHashing(l=2, D=16, eps0=8), 10**3, 6e-3),
        (sa.SubsetSelection(d=16, k=4, eps0=8), 10**4, 2e-3),
    ],
)
def test_less_than_a_handful_of_positive_messages(mechanism, n, loss):
    """Their sum has to outweigh the negative values, so it is large where it counts: the envelope is 4 to 6 % above."""
    answer = sa.epsilon(mechanism, n=n, delta="1e-6")
    assert answer.method == "all_data_sets"
    assert answer.lower < answer.upper < answer.lower * (1 + loss)
    assert sa.epsilon(mechanism, n=n, delta="1e-6", method="envelope").upper > 1.04 * answer.upper
