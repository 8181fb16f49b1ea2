"""What is refuted in print, in exact fractions by code of its own: the smallest counterexamples that are known."""

import itertools
import math
from fractions import Fraction
from functools import partial

import flint
import pytest
from flint import arb

import symamp as sa
from symamp.literature.closed_form import Setting
from symamp.literature.forms.renyi_divergences import sampled_order, shuffled_order
from tests.oracle.histograms import randomized_response as response
from tests.oracle.histograms import triple_divergence, variation_ratio_triple
from tests.oracle.laws import above, histogram, mixed
from tests.oracle.users_who_differ import budget_law, expectation, messages_shuffled

F = Fraction


def bound(p, beta, q, E, n, *, corrected):
    """That of Wang (2023), Theorem 4.1, as printed, or corrected (Theorem A)."""
    return triple_divergence(*variation_ratio_triple(p, beta, q, corrected=corrected), n, E)


printed_pair, corrected_pair = partial(bound, corrected=False), partial(bound, corrected=True)


def truth(table, pair, E, n):
    """The largest divergence for one ordered pair of the victim's inputs, in either order."""
    victim = [table[x] for x in pair]
    return messages_shuffled(victim, [table] * (n - 1), E)


def distance(table, pair):
    return sum(max(a - b, F(0)) for a, b in zip(table[pair[0]], table[pair[1]], strict=True))


def geometric(size, ratio):
    """Two-sided geometric noise, clipped to 0, ..., size - 1: R(x)(y) proportional to ratio^-|x - y|, ends take all."""
    a = F(1, ratio)
    rows = []
    for x in range(size):
        row = [(1 - a) / (1 + a) * a ** abs(x - y) for y in range(size)]
        row[0], row[-1] = a**x / (1 + a), a ** (size - 1 - x) / (1 + a)
        assert sum(row) == 1
        rows.append(row)
    return rows


# --------------------------------------------------------------------------------------------- 002, Theorems 4.1, 4.2


@pytest.mark.parametrize(
    ("k", "t", "n", "E", "true", "printed", "corrected"),
    [
        (5, 6, 4, F(11, 2), F(27, 2500), F(1, 20000), F(4913, 160000)),
        (4, 3, 6, F(13, 10), F(4493, 46656), F(4471, 46656), F(5686553, 56687040)),
    ],
)
def test_the_shared_third_symbol(k, t, n, E, true, printed, corrected):
    table, (beta, t) = response(k, F(t)), (F(t - 1, t + k - 1), F(t))
    assert truth(table, (0, 1), E, n) == true
    assert printed_pair(t, beta, t, E, n) == printed
    assert corrected_pair(t, beta, t, E, n) == corrected


@pytest.mark.parametrize(
    ("size", "ratio", "pair", "n", "E", "true", "printed"),
    [
        (4, 2, (0, 2), 2, F(37, 10), F(1, 24), F(1, 120)),
        (5, 3, (1, 3), 3, F(41, 5), F(121, 2160), F(17, 6480)),
    ],
)
def test_metric_privacy_by_the_clipped_geometric_mechanism(size, ratio, pair, n, E, true, printed):
    """Theorem 4.2 with p = e^d, the true total variation, and q the largest ratio over the domain."""
    table = geometric(size, ratio)
    gap = pair[1] - pair[0]
    p, beta = F(ratio) ** gap, distance(table, pair)
    q = max(table[x][y] / row[y] for x in pair for row in table for y in range(size))
    found = truth(table, pair, E, n)
    assert (found, printed_pair(p, beta, q, E, n)) == (true, printed)
    assert found > printed
    assert corrected_pair(p, beta, q, E, n) >= found


def test_adjacent_inputs_are_bounded():
    """At distance 1 the printed bound of the same mechanism holds, at these orders with equality."""
    table = geometric(4, 2)
    for pair, E in itertools.product(((0, 1), (1, 2)), (F(5, 4), F(3, 2), F(19, 10))):
        p, beta = F(2), distance(table, pair)
        q = max(table[x][y] / row[y] for x in pair for row in table for y in range(4))
        assert truth(table, pair, E, 2) <= corrected_pair(p, beta, q, E, 2)


def test_the_impossible_total_variation_of_witch_hat():
    """Wang (2023), Table 2 prints 2(e^m - e^(d/F) + d/F - m)/(F(e^m - 1) + 2B): at distance 0 it is not 0."""

    def printed(m, big_f, b, d):
        return 2 * (math.exp(m) - math.exp(d / big_f) + d / big_f - m) / (big_f * (math.exp(m) - 1) + 2 * b)

    assert printed(1, 1, 1, 0) == pytest.approx(0.3863514718, rel=1e-9)
    assert printed(1, 1, 1, 1) == pytest.approx(0, abs=1e-12)
    values = [printed(1, 1, 1, d / 10) for d in range(11)]
    assert values == sorted(values, reverse=True)


# --------------------------------------------------------------------------------------------------- 002, Theorem 6.1


@pytest.mark.parametrize(
    ("t", "E", "true", "printed"),
    [(6, F(11, 2), F(16384, 583443), F(22016, 15752961)), (3, F(2), F(6025, 110592), F(5945, 110592))],
)
def test_parallel_composition(t, E, true, printed):
    """Range queries over four leaves on two levels: 4-ary response of the leaf, binary response of its half."""
    t = F(t)
    leaves, halves = response(4, t), response(2, t)
    table = [[v / 2 for v in leaves[x]] + [v / 2 for v in halves[x // 2]] for x in range(4)]
    found = max(truth(table, pair, E, 4) for pair in ((0, 1), (0, 2)))
    beta = max(distance(table, pair) for pair in itertools.combinations(range(4), 2))
    assert beta == ((t - 1) / (t + 3) + (t - 1) / (t + 1)) / 2
    assert found == true
    assert printed_pair(t, beta, t, E, 4) == printed
    assert corrected_pair(t, beta, t, E, 4) >= found > printed


def test_the_script_behind_figure_5_computes_another_number():
    """It assigns the last level's share of beta where it should add: e^1, 64 leaves."""
    t, levels = math.e, 6
    shares = [(t - 1) / (t + 2**level - 1) / levels for level in range(1, levels + 1)]
    assert shares[-1] == pytest.approx(0.00435770, rel=1e-4)
    assert sum(shares) == pytest.approx(0.185583, rel=1e-4)


# ---------------------------------------------------------------------------------------------------- 002, section 5, 7


def test_the_recipe_for_lower_bounds_may_give_no_distribution():
    """Theorem 5.1 for R(x0) = (3/5, 2/5), R(x1) = (1/5, 4/5): p = 2, beta = 2/5, and alpha (1 + p) exceeds 1."""
    p, beta = F(4, 5) / F(2, 5), F(2, 5)
    assert beta / (p - 1) * (1 + p) == F(6, 5) > 1


@pytest.mark.parametrize(("k", "t"), [(2, 3), (3, 2), (3, 6)])
@pytest.mark.parametrize(("total", "sampled"), [(3, 1), (3, 2), (4, 2), (4, 3)])
def test_sampling_without_replacement(k, t, total, sampled):
    """Lemma 7.4: delta'(eps) = g delta(log(1 + (e^eps - 1)/g)), g = n/N, is never below the truth."""
    table, g = response(k, F(t)), F(sampled, total)
    for E in (F(1), F(5, 4), F(3, 2)):
        inner = 1 + (E - 1) / g
        bound = g * messages_shuffled(table, [table] * (sampled - 1), inner)
        worst = F(0)
        for others in itertools.combinations_with_replacement(range(k), total - 1):
            groups = [itertools.combinations((x, *others), sampled) for x in (0, 1)]
            share = F(1, math.comb(total, sampled))
            laws = [mixed(*((share, histogram([table[z] for z in group])) for group in each)) for each in groups]
            worst = max(worst, above(*laws, E), above(*laws[::-1], E))
        assert worst <= bound


# --------------------------------------------------------------------------------------------------------- 001, model O


@pytest.mark.parametrize(
    ("budget", "others", "E", "true", "gaussian"),
    [(50, [2] * 4, F(59, 10), 0.170806, 0.140453), (1000, [1] * 8, F(1009, 10), 0.0035086, 5.7e-10)],
)
def test_the_gaussian_approximation_where_messages_are_shuffled(budget, others, E, true, gaussian):
    tables = [response(2, F(t)) for t in others]
    found = float(messages_shuffled(response(2, F(budget)), tables, E))
    weights = [1 / (1 + t) for t in (budget, *others)]
    mu = math.sqrt(2 / (sum(weights) - max(weights)))
    eps = math.log(E)
    tail = [math.erfc(x / math.sqrt(2)) / 2 for x in (eps / mu - mu / 2, eps / mu + mu / 2)]
    assert found == pytest.approx(true, rel=1e-5)
    assert tail[0] - float(E) * tail[1] == pytest.approx(gaussian, rel=2e-2)
    assert found > tail[0] - float(E) * tail[1]


def test_the_generic_triple_of_the_withdrawn_proof_is_right():
    """Binary response attains it: t = 3, n = 3, E = 3/2."""
    E = F(3, 2)
    assert truth(response(2, F(3)), (0, 1), E, 3) == expectation([budget_law(F(3), E)] * 3) / 3


# ------------------------------------------------------------------------------------------------------- Rényi bounds


@pytest.mark.parametrize("t", [F(11, 10), F(3), F(8)])
@pytest.mark.parametrize(("k", "users"), [(2, (2, 5, 9)), (3, (2, 4))])
def test_no_case_refutes_the_renyi_bounds(k, users, t):
    """Exact moments sum P^a/Q^(a-1) of all data sets of k-ary response: the formulas of Girgis et al. are above all."""
    rows = [[(t if x == y else F(1)) / (t + k - 1) for y in range(k)] for x in range(k)]
    for n in users:
        setting = Setting(sa.PureLDP(eps0=f"log({t})"), n)
        largest = dict.fromkeys((2, 3, 8), F(0))
        for others in itertools.combinations_with_replacement(range(k), n - 1):
            p, q = (histogram([rows[x], *(rows[y] for y in others)]) for x in (0, 1))
            for order in largest:
                moment = sum(p[h] * (p[h] / q[h]) ** (order - 1) for h in p)
                largest[order] = max(largest[order], moment)
        with flint.ctx.workprec(128):
            for order, moment in largest.items():
                for bound in (shuffled_order, sampled_order):
                    claimed = ((order - 1) * bound(setting, order)).exp()
                    assert claimed > arb(moment.numerator) / moment.denominator
