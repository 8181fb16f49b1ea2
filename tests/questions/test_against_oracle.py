"""The package against exact rational enumeration of shuffled histograms (tests/oracle).

Floats are compared with Fractions exactly. Orders E = e^eps are passed as log(rational), so that the oracle's answer is
a rational number; other eps are enclosed between two rationals E by ball arithmetic.
"""

import itertools
import math
from fractions import Fraction
from random import Random

import flint
import pytest
import sympy
from oracle.histograms import (
    blanket_components,
    blanket_divergence,
    generic_triple,
    hadamard_response,
    local_ratio,
    multiset_laws,
    normalised,
    random_table,
    randomized_response,
    saturation_order,
    standard_clone_triple,
    subset_selection,
    triple_divergence,
    worst_blanket_divergence,
    worst_true_divergence,
)

import symamp as sa
from symamp.errors import SupportMismatchError
from tests.exactly import log_of
from tests.sampled import chunks

INPUTS = "abcdefgh"
RELATIVE_WIDTH = Fraction(1001, 10**9)
BEST_PAIR_SLACK = Fraction(1, 10**6)
ZERO_SLACK = Fraction(1, 10**30)  # an upper end for an exact zero: a ball around zero at 128 bits is far smaller
TRIPLES = {"generic": generic_triple, "standard_clone": standard_clone_triple}
KINDS = tuple(itertools.product((False, True), repeat=2))  # (zeros, symmetric)


# ----------------------------------------------------------------------------------------------------------- helpers


def as_mechanism(table, entry=lambda value: sympy.Rational(value.numerator, value.denominator)):
    rows = ({str(y): entry(value) for y, value in enumerate(row)} for row in table)
    return sa.FiniteMechanism(dict(zip(INPUTS, rows, strict=False)))


def as_fraction(expression):
    value = sympy.sympify(expression)
    assert value.is_Rational, f"{expression!r} is not an exact rational"
    return Fraction(int(value.p), int(value.q))


def exp_bounds(eps):
    """Rational E below and above e^eps for a finite rational or float eps, 2^-200 apart relatively."""
    eps = Fraction(eps)
    if eps == 0:
        return Fraction(1), Fraction(1)
    with flint.ctx.workprec(256):
        ball = flint.arb(flint.fmpq(eps.numerator, eps.denominator)).exp()
        ends = ball.lower(), ball.upper()
    bounds = []
    for end in ends:
        mantissa, exponent = (int(part) for part in end.man_exp())
        bounds.append(Fraction(mantissa) * Fraction(2) ** exponent)
    low, high = bounds
    assert low < high < low * (1 + Fraction(1, 2**200))
    return low, high


def affordable_users(table, most=6, budget=60_000):
    """The largest n (at most `most`) whose data sets times pairs times histograms stay within the budget."""
    k, messages = len(table), len(table[0])

    def cost(n):
        return math.comb(n + k - 2, n - 1) * k * (k - 1) * math.comb(n + messages - 1, n)

    return max([n for n in range(2, most + 1) if cost(n) <= budget], default=2)


def affordable_blanket_users(table, most=12, budget=40_000):
    """The largest n (at most `most`) for which enumerating every pair's multinomial stays within the budget."""
    k, messages = len(table), len(table[0])
    return max([n for n in range(2, most + 1) if k * (k - 1) * math.comb(n + messages, n) <= budget], default=2)


def random_order(rng, table):
    """A rational E >= 1: one, moderate, near the local budget, or beyond it."""
    t = local_ratio(table) or Fraction(8)
    share = rng.choice((Fraction(0), Fraction(1, 9), Fraction(1, 4), Fraction(1, 2), Fraction(5, 6), Fraction(8, 7)))
    return 1 + (t - 1) * share


def exact_bound(table, method, n, E):
    """The bound of the method itself, exactly."""
    if method == "blanket":
        return worst_blanket_divergence(table, n, E)[0]
    return triple_divergence(*TRIPLES[method](local_ratio(table)), n, E)


def assert_tight_enclosure(enclosure, low, high=None):
    """The enclosure contains the number known to lie in [low, high], and is narrow."""
    high = low if high is None else high
    lower, upper = Fraction(enclosure.lower), Fraction(enclosure.upper)
    assert lower <= upper
    assert lower <= high
    assert low <= upper
    if low == high:
        assert lower <= low <= upper
    if high == 0:
        assert lower == 0
        assert upper <= ZERO_SLACK
    elif low > 0:
        assert upper - lower <= RELATIVE_WIDTH * high


def check_delta(table, n, E, method="blanket", laws=None, truth=True):
    """One answer of `sa.delta` at eps = log E against the exact bound and the exact divergences of all data sets."""
    answer = sa.delta(as_mechanism(table), n=n, eps=log_of(E), method=method)
    exact = exact_bound(table, method, n, E)
    assert_tight_enclosure(answer.bound, exact)
    assert 0 <= answer.lower <= answer.upper
    if truth:
        worst, _, _ = worst_true_divergence(table, n, E, laws)
        assert Fraction(answer.lower) <= worst <= Fraction(answer.upper)
    else:
        assert Fraction(answer.lower) <= exact
    if method == "blanket" and exact > 0:
        x0, x1 = (INPUTS.index(label) for label in answer.pair)
        assert x0 != x1
        assert blanket_divergence(table, x0, x1, n, E) >= exact * (1 - BEST_PAIR_SLACK)
    return answer


def check_epsilon(table, n, delta, method="blanket"):
    """`sa.epsilon` is private at its upper end, not before its lower end, and encloses the bound's own epsilon."""
    answer = sa.epsilon(as_mechanism(table), n=n, delta=delta, method=method)
    delta = Fraction(delta)
    laws = multiset_laws(table, n)

    def truth(E):
        return worst_true_divergence(table, n, E, laws)[0]

    def bound(E):
        return exact_bound(table, method, n, E)

    for enclosure, divergence in ((answer, truth), (answer.bound, bound)):
        assert 0 <= enclosure.lower <= enclosure.upper
        limit = divergence(saturation_order(table, n))
        if enclosure.upper == math.inf:
            # Allowed only where the bound itself never comes down to delta.
            assert bound(saturation_order(table, n)) >= delta
        else:
            assert divergence(exp_bounds(enclosure.upper)[0]) <= delta
        if enclosure.lower == math.inf:
            assert limit >= delta
        elif enclosure.lower > 0:
            assert divergence(exp_bounds(enclosure.lower)[1]) >= delta
    if answer.bound.upper != math.inf and local_ratio(table) is not None:
        assert answer.bound.upper - answer.bound.lower <= 1e-3
    return answer


def check_components(table, x0, x1):
    """Components, gamma and the singular part of one ordered pair, as exact rationals."""
    decomposition = as_mechanism(table).blanket(INPUTS[x0], INPUTS[x1])
    components, singular = blanket_components(table, x0, x1)
    found = [tuple(as_fraction(part) for part in component) for component in decomposition.components]
    assert sorted(found) == sorted((r0, r1, mass) for (r0, r1), mass in components.items())
    assert as_fraction(decomposition.gamma) == sum(components.values(), Fraction(0))
    merged = [tuple(as_fraction(part) for part in masses) for masses in decomposition.singular]
    # How singular messages are merged is free, what it may not change is the divergence that they contribute.
    kinks = {a / b for a, b in singular if b} | {Fraction(0), Fraction(1)}
    for E in kinks | {kink + 1 for kink in kinks}:
        for swap in (1, -1):
            contributions = [
                sum((max(a - E * b, Fraction(0)) for a, b in (pair[::swap] for pair in pairs)), Fraction(0))
                for pairs in (merged, singular)
            ]
            assert contributions[0] == contributions[1]
    assert len(merged) <= len(singular)


def check_table(seed, users):
    """Everything that one random table is asked: its components, small n against all data sets, larger n."""
    rng = Random(seed)
    zeros, symmetric = KINDS[seed % 4]
    table = random_table(rng, zeros=zeros, symmetric=symmetric)
    check_components(table, *rng.sample(range(len(table)), 2))
    n = rng.randint(1, affordable_users(table, users))
    check_delta(table, n, random_order(rng, table))
    if seed % 3 == 0:
        most = affordable_blanket_users(table)
        check_delta(table, rng.randint(max(2, most - 4), most), random_order(rng, table), truth=False)


# ----------------------------------------------------------------------------------------------------- random tables


@pytest.mark.parametrize("seeds", chunks(range(40), 8, range(40, 1000), 40))
def test_delta_of_random_tables(seeds):
    for seed in seeds:
        check_table(seed, users=5 if seed < 40 else 6)


@pytest.mark.parametrize("method", sorted(TRIPLES))
@pytest.mark.parametrize("seeds", chunks(range(10_000, 10_030), 6, range(200_000, 200_320), 40))
def test_budget_only_methods_on_random_tables(method, seeds):
    for seed in seeds:
        rng = Random(seed)
        table = random_table(rng, symmetric=seed % 2 == 0)
        most = affordable_users(table, 5 if seed < 200_000 else 6)
        check_delta(table, rng.randint(1, most), random_order(rng, table), method)
        if seed % 3 == 0:
            check_delta(table, rng.randint(8, 12), random_order(rng, table), method, truth=False)


@pytest.mark.parametrize("method", sorted(TRIPLES))
@pytest.mark.parametrize("seed", range(3))
def test_budget_only_methods_need_a_finite_budget(method, seed):
    mechanism = as_mechanism(random_table(Random(seed), zeros=True))
    with pytest.raises(SupportMismatchError):
        sa.delta(mechanism, n=4, eps=log_of(Fraction(3, 2)), method=method)
    with pytest.raises(SupportMismatchError):
        sa.epsilon(mechanism, n=4, delta=Fraction(1, 1000), method=method)


@pytest.mark.parametrize("seeds", chunks(range(20_000, 20_012), 4, range(300_000, 300_160), 8))
def test_epsilon_of_random_tables(seeds):
    for seed in seeds:
        rng = Random(seed)
        zeros, symmetric = KINDS[seed % 4]
        table = random_table(rng, zeros=zeros, symmetric=symmetric)
        method = "blanket" if zeros else rng.choice(("blanket", *sorted(TRIPLES)))
        n = rng.randint(1, affordable_users(table, 4, 30_000))
        for delta in rng.sample((Fraction(1, 3), Fraction(1, 20), Fraction(1, 1000), Fraction(1, 10**5)), 1 + seed % 2):
            check_epsilon(table, n, delta, method)


@pytest.mark.parametrize("method", ["blanket", *sorted(TRIPLES)])
@pytest.mark.parametrize("seed", range(4))
def test_epsilon_encloses_a_known_epsilon(method, seed):
    """delta is the exact bound at E = e^eps, so that eps = log E is the exact answer."""
    rng = Random(30_000 + seed)
    table = random_table(rng, symmetric=seed % 2 == 0)
    E = 1 + (local_ratio(table) - 1) / rng.choice((2, 3, 7))
    n = rng.randint(2, 3)
    answer = check_epsilon(table, n, exact_bound(table, method, n, E), method)
    assert exp_bounds(answer.bound.lower)[0] <= E <= exp_bounds(answer.bound.upper)[1]


# ---------------------------------------------------------------------------------------- named mechanisms, edge cases


@pytest.mark.parametrize(
    "table",
    [
        randomized_response(2, Fraction(3)),
        randomized_response(5, Fraction(6)),
        subset_selection(4, 2, Fraction(3)),
        hadamard_response(4, Fraction(5, 2)),
    ],
    ids=["2-RR", "5-RR", "subset selection", "Hadamard response"],
)
def test_textbook_mechanisms(table):
    check_components(table, 0, 1)
    n = affordable_users(table)
    laws = multiset_laws(table, n)
    for E, method in itertools.product((Fraction(1), Fraction(3, 2), Fraction(9, 4)), ("blanket", *TRIPLES)):
        check_delta(table, n, E, method, laws)


@pytest.mark.parametrize("method", ["blanket", *sorted(TRIPLES)])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_delta_vanishes_from_the_local_budget_on(method, n):
    table = normalised([[3, 1, 2], [1, 1, 4], [2, 2, 2]])
    t = local_ratio(table)
    for E in (t, t + Fraction(1, 10**9), 2 * t):
        check_delta(table, n, E, method, truth=n < 5)


def test_order_at_an_interior_ratio():
    """Here a component's value r0 - E r1 is exactly zero."""
    table = normalised([[6, 3, 3], [2, 6, 4], [1, 3, 8]])
    components, _ = blanket_components(table, 0, 1)
    orders = sorted({r0 / r1 for r0, r1 in components if r0 > r1})
    assert orders
    for E in orders:
        check_delta(table, 4, E)


def test_singular_mechanism_where_the_message_names_its_sender():
    """Message 2 betrays input a, message 3 betrays b: delta keeps a positive limit and epsilon may be infinite."""
    table = normalised([[2, 2, 1, 0], [2, 2, 0, 1], [1, 4, 0, 0]])
    check_components(table, 0, 1)
    for n, E in itertools.product((1, 3, 5), (Fraction(1), Fraction(7, 2), Fraction(1000))):
        assert check_delta(table, n, E).upper >= 0.2
    assert check_epsilon(table, 3, Fraction(1, 10)).upper == math.inf
    assert check_epsilon(table, 3, Fraction(3, 10)).upper < math.inf


def test_mechanism_without_a_blanket():
    table = [[Fraction(int(x == y)) for y in range(3)] for x in range(3)]
    check_components(table, 0, 1)
    for n in (1, 3):
        answer = check_delta(table, n, Fraction(2))
        assert answer.upper >= 1


def test_the_worst_direction_is_found():
    """Not symmetric: one ordered pair is strictly worse than the same pair reversed."""
    table = normalised([[1, 1, 8], [1, 1, 1]])
    n, E = 3, Fraction(2)
    assert blanket_divergence(table, 0, 1, n, E) != blanket_divergence(table, 1, 0, n, E)
    _, pair = worst_blanket_divergence(table, n, E)
    assert check_delta(table, n, E).pair == tuple(INPUTS[x] for x in pair)


@pytest.mark.parametrize(
    ("eps", "exact"),
    [
        (0, Fraction(0)),
        (1, Fraction(1)),
        (0.25, Fraction(1, 4)),
        (0.1, Fraction(0.1)),
        (Fraction(1, 3), Fraction(1, 3)),
        ("0.1", Fraction(1, 10)),
        (sympy.Rational(2, 7), Fraction(2, 7)),
    ],
    ids=str,
)
def test_every_form_of_eps(eps, exact):
    table, n = normalised([[6, 3, 3], [2, 6, 4], [1, 3, 8]]), 5
    answer = sa.delta(as_mechanism(table), n=n, eps=eps, method="blanket")
    low, high = exp_bounds(exact)
    assert_tight_enclosure(answer.bound, exact_bound(table, "blanket", n, high), exact_bound(table, "blanket", n, low))
    assert Fraction(answer.lower) <= worst_true_divergence(table, n, low)[0]
    assert Fraction(answer.upper) >= worst_true_divergence(table, n, high)[0]


def test_every_form_of_delta():
    table, n = normalised([[6, 3, 3], [2, 6, 4], [1, 3, 8]]), 4
    for delta, exact in ((0.01, Fraction(0.01)), ("1/100", Fraction(1, 100)), ("1e-2", Fraction(1, 100))):
        answer = sa.epsilon(as_mechanism(table), n=n, delta=delta, method="blanket")
        assert worst_blanket_divergence(table, n, exp_bounds(answer.bound.upper)[0])[0] <= exact
        assert worst_blanket_divergence(table, n, exp_bounds(answer.bound.lower)[1])[0] >= exact


@pytest.mark.parametrize(
    "entry", [Fraction, str, lambda value: sympy.Rational(str(value))], ids=["Fraction", "str", "sympy"]
)
def test_every_form_of_entry(entry):
    table, n, E = normalised([[6, 3, 3], [2, 6, 4], [1, 3, 8]]), 4, Fraction(3, 2)
    answer = sa.delta(as_mechanism(table, entry), n=n, eps=log_of(E), method="blanket")
    assert_tight_enclosure(answer.bound, exact_bound(table, "blanket", n, E))
