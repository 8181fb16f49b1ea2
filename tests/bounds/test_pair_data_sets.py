"""Pairs of rows settled over all data sets by moments, and tables of one's own with many inputs."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import comb, exp, log

import flint
import numpy as np
import pytest
from flint import arb
from scipy.special import gammaln

import symamp as sa
from symamp.bounds.all_data_sets.bound import PairGroupBound, common, table_pairs
from symamp.decompositions.pairs import pairs_with_equal_laws
from symamp.decompositions.randomizer import groups_of
from symamp.laws.law import Atom, Law, Level
from symamp.numbers.disks import UNIT, exponentials, logarithms_above, turns
from symamp.numbers.limits import NO_LIMITS
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.randomizers.catalogue import by_name
from symamp.sums.all_data_sets.bound import enclose_all_data_sets, moments_below
from symamp.sums.all_data_sets.floats import FloatClasses
from symamp.sums.all_data_sets.laws import raised_to_majorant
from symamp.sums.all_data_sets.moments import MOMENTS, _product, bound_of_laws, bounds_by_moments, rough_bounds
from symamp.sums.all_data_sets.search import Others, Searches, search
from symamp.sums.divergence import Settings, enclose_divergence
from tests.sampled import some


def table_of(rng, inputs, messages, spread):
    return normalised(np.exp(rng.uniform(0.0, spread, (inputs, messages))))


def normalised(rows):
    return sa.FiniteMechanism(rows / rows.sum(axis=1, keepdims=True), normalise=True)


def geometric(size, eps0):
    distances = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return normalised(np.exp(-eps0 * distances / (size - 1)))


@pytest.mark.parametrize("largest", [1e-9, 0.2, 3.0, 80.0, 299.0])
def test_exponentials_have_their_errors(largest):
    x = np.random.default_rng(1).uniform(-largest, largest, 400)
    allowed = UNIT * (4.0 + 32.0 * np.abs(x).max())
    with flint.ctx.workprec(200):
        for argument, value in zip(x.tolist(), exponentials(x).tolist(), strict=True):
            assert abs(arb(value) / arb(argument).exp() - 1) <= allowed


def test_logarithms_are_above():
    x = np.random.default_rng(2).uniform(-200.0, 200.0, 400)
    values = np.concatenate([np.exp(x), 1.0 + 1e-9 * x])
    found = logarithms_above(values)
    with flint.ctx.workprec(200):
        exact = [arb(value).log() for value in values.tolist()]
        assert all(arb(above) >= log_x for above, log_x in zip(found.tolist(), exact, strict=True))
        assert all(arb(above) - log_x < 1e-10 for above, log_x in zip(found.tolist(), exact, strict=True))
    assert np.isnan(logarithms_above(np.array([np.nan, np.inf, 0.0, -1.0]))).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_common_bound_is_above_all_constant_data_sets(seed):
    rng = np.random.default_rng(seed)
    mechanism = table_of(rng, int(rng.integers(2, 6)), int(rng.integers(2, 9)), float(rng.choice([0.1, 1.0, 3.0])))
    table, n = mechanism.numeric, int(10 ** rng.uniform(2.0, 10.0))
    bound = table_pairs(mechanism)
    of = bound.part(table.pairs[0])
    eps = of.triples[0].root(n, -rng.uniform(3.0, 30.0), Settings())
    level = Level.of_float(eps)
    found = common(of, table, level, n, table.pairs, 0.0, NO_LIMITS)
    assert found[0] > 0.0
    for pair, upper in zip(table.pairs, found.tolist(), strict=True):
        least = max(t.log_estimate(level, n, Settings()) for t in bound.part(pair).triples)
        assert not log(upper) < least + 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_the_common_bound_is_above_the_truth_of_two_messages(seed):
    """Over all data sets, by boxes of counts: another theorem."""
    rng = np.random.default_rng(100 + seed)
    mechanism, n = table_of(rng, 2, 2, 1.5), 2000
    truth = sa.epsilon(mechanism, n=n, delta="1e-5", method="two_messages")
    part = table_pairs(mechanism)
    level, pairs = Level.of_float(truth.lower), mechanism.numeric.pairs
    own = [common(part.part(p), mechanism.numeric, level, n, [p], log(1e-5), NO_LIMITS)[0] for p in pairs]
    every = [common(part.part(p), mechanism.numeric, level, n, pairs, log(1e-5), NO_LIMITS) for p in pairs]
    assert 0.999 < max(own) < 1.6
    assert all(found.max() > 0.999 for found in every)


def test_the_common_bound_is_above_the_worst_of_all_data_sets():
    rng = np.random.default_rng(5)
    mechanism = table_of(rng, 3, 3, 0.7)
    truth = sa.exact.worst_dataset(mechanism, 6, "1/20").value
    pairs, part = mechanism.numeric.pairs, table_pairs(mechanism).part
    found = [common(part(p), mechanism.numeric, Level.of_float(0.05), 6, [p], 0.0, NO_LIMITS)[0] for p in pairs]
    assert not max(np.nan_to_num(found, nan=np.inf)) < float(truth.lower)


def test_nothing_is_claimed_where_a_message_names_its_sender():
    rows = [[0, "1/2", "1/2"], ["1/4", "1/4", "1/2"], ["1/2", "1/4", "1/4"]]
    mechanism = sa.FiniteMechanism({f"x{i}": {f"y{j}": p for j, p in enumerate(row)} for i, row in enumerate(rows)})
    other = sa.FiniteMechanism([["1/3", "1/6", "1/2"], ["1/4", "1/4", "1/2"], ["1/2", "1/4", "1/4"]])
    of = table_pairs(other).part((0, 1))
    assert np.isnan(
        common(of, mechanism.numeric, Level.of_float(0.01), 10**4, mechanism.numeric.pairs, 0.0, NO_LIMITS)
    ).all()


@pytest.mark.parametrize("method", some([None, "all_data_sets"], 1))
def test_many_inputs_are_bounded_over_all_data_sets(method):
    """Nearly all pairs are nearly as bad as the worst: their blankets are 27 % above the truth."""
    answer = sa.epsilon(geometric(24, 2), n=10**4, delta="1e-6", method=method)
    assert answer.method == "all_data_sets"
    assert answer.gap < 0.005


def test_a_bound_of_zero_is_not_compared_in_logarithms():
    rows = np.exp(14.0 * np.random.default_rng(1005).uniform(size=(9, 2)))
    answer = sa.epsilon(normalised(rows), n=1, delta="1e-6", method="all_data_sets")
    assert answer.lower <= answer.upper
    assert Fraction(answer.upper) > 0


def test_cosines_and_sines_have_their_errors():
    points = np.append(np.random.default_rng(3).uniform(-9999.0, 9999.0, 400), [0.0, 0.25, -9999.0])
    room = UNIT * (8.0 + 64.0 * 1e4)
    with at_precision(128):
        for x, cosine, sine in zip(points.tolist(), *(v.tolist() for v in turns(points)), strict=True):
            both = arb(x).sin_cos()
            assert abs(both[1] - cosine) < room
            assert abs(both[0] - sine) < room


# At n = 400 few messages tell the inputs apart: rough bounds may say nothing there.
@pytest.mark.parametrize(("n", "room", "rougher"), [(400, 5.0, np.inf), (4000, 1.2, np.inf), (40_000, 1.2, 2.0)])
@pytest.mark.parametrize("seed", range(4))
def test_thinned_classes_and_levels_of_their_own(seed, n, room, rougher):
    """Moments for pairs that are no rows, where others may send a symbol of their own, against two users' truth."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(4, 3.0), size=4)
    kept = rng.uniform(0.7, 1.0, size=(2, 1))
    classes = np.hstack([kept * rows[2:], 1.0 - kept])
    pairs = np.hstack([rows[:2], np.zeros((2, 1))])
    levels = 1.0 + np.array([[0.05], [0.0], [0.3]]) * (400 / n) ** 0.5
    laws = []
    for other in classes:
        atoms = [(arb(a / o), arb(b / o), arb(o)) for a, b, o in zip(pairs[0], pairs[1], other, strict=True)]
        laws.append(Law(tuple(Atom(*(partial(arb, x) for x in atom), atom[0] == 0) for atom in atoms), (), False))
    first, second = (np.tile(pairs[k], (3, 1)) for k in (0, 1))
    found = search_parameters(classes, pairs, levels[0, 0], n)
    assert found is not None
    bounds = bounds_by_moments(classes, (first, second), levels, n, found, 0.0)
    units = np.log(bounds)
    rough = [rough_bounds(classes, (first, second), levels, n, unit) * np.exp(unit) for unit in units.tolist()]
    tightest, roughest = np.inf, np.inf
    for k, level in enumerate(levels[:, 0].tolist()):
        for law in laws:
            truth = enclose_divergence(law, Level.of_float(float(np.log(level))), n, Settings(gap=1e-6)).lower
            assert all(float(truth) <= some[k] * (1.0 + 1e-9) for some in (bounds, *rough) if not np.isnan(some[k]))
            tightest, roughest = min(tightest, bounds[k] / float(truth)), min(roughest, rough[k][k] / float(truth))
    assert tightest < room
    assert roughest <= rougher


def search_parameters(classes, pairs, e, n):
    """Return parameters of the bound over all data sets for a pair of rows, their majorant proved."""
    g = pairs[0] - e * pairs[1]
    found = search(FloatClasses(g / classes, classes, 1.0 - e), n, NO_LIMITS)
    with at_precision(128):
        return raised_to_majorant(found.parameters)


def flipped(words, chance=0.25):
    """Each bit of a word is flipped with some chance."""
    flip = Fraction(chance)

    def chances(word):
        away = (
            sum(a != b for a, b in zip(word, message, strict=True)) for message in product((0, 1), repeat=len(word))
        )
        return {str(k): flip**far * (1 - flip) ** (len(word) - far) for k, far in enumerate(away)}

    return sa.FiniteMechanism({str(word): chances(word) for word in words})


def test_one_pair_stands_for_those_that_are_rearranged():
    words = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    alike, other = (flipped(some).numeric for some in (words, [*words, (1, 1, 1), (1, 1, 0)]))
    assert pairs_with_equal_laws(alike, alike.pairs) == [alike.pairs]
    groups = pairs_with_equal_laws(other, other.pairs)
    group = {pair: k for k, some in enumerate(groups) for pair in some}
    # (1, 1, 0) tells the third bit from the others
    assert group[0, 1] == group[1, 0] != group[0, 2] == group[1, 2]
    assert len(groups) < len(other.pairs)
    ragged = table_of(np.random.default_rng(5), 5, 9, 1.0).numeric
    assert pairs_with_equal_laws(ragged, ragged.pairs) == [[pair] for pair in ragged.pairs]


def test_many_messages_are_no_obstacle_where_pairs_are_alike():
    words = [tuple(int(i in x) for i in range(7)) for x in [(a, b) for b in range(7) for a in range(b)]]
    found = sa.epsilon(flipped(words, 0.375), n=10**4, delta="1e-9")
    assert found.method == "all_data_sets"
    assert found.upper < 1.002 * found.lower


@pytest.mark.parametrize(
    ("mechanism", "eps"),
    [
        (by_name("harmony")(d=4, eps0=1), 0.04),
        (by_name("priv-kv")(s=2, d=8, eps0=4), 0.1),
        (by_name("collision-narrow")(s=4, l=6, eps0=1), 0.03),  # laws of cells of pairs: their E[G_+] differ
        (by_name("hcms")(k=64, m=8, eps0=1), 0.03),
    ],
)
@pytest.mark.parametrize("n", some([10**4, 10**6], 1))
def test_moments_of_declared_laws_are_above_mixtures_and_next_to_the_integrals(mechanism, eps, n):
    rng = np.random.default_rng(n)
    level = Level.of_float(eps * (1e4 / n) ** 0.5)
    for group in groups_of(mechanism)[:2]:
        part = PairGroupBound.of(group)
        by_moments = enclose_all_data_sets(part.searches, level, n, Settings(gap=0.5))
        assert by_moments.evaluator == MOMENTS
        closer = enclose_all_data_sets(part.searches, level, n, Settings(gap=1e-2))
        assert closer.evaluator == "all data sets"
        assert 1.0 - 2e-3 < float(by_moments.upper / closer.upper) < 1.15
        for _ in range(3):
            chosen = [i for i in range(len(group.laws)) if rng.random() < 0.5] or [0]
            mixture = mixed(part, rng.dirichlet(np.ones(len(chosen))).tolist(), chosen)
            assert enclose_divergence(mixture, level, n, Settings(gap=1e-3)).lower <= by_moments.upper


@pytest.mark.parametrize("name", ["staircase", "collision-narrow"])
def test_moments_that_rule_out_a_group_are_above_its_integrals_and_below_the_limit(name):
    mechanism = by_name(name)(**by_name(name).typical, eps0=4)
    level, n, others = Level.of_float(0.35), 10**4, Others()
    first, second = (PairGroupBound.of(group, others) for group in groups_of(mechanism)[:2])
    enclose_all_data_sets(first.searches, level, n)
    closer = enclose_all_data_sets(second.searches, level, n, Settings(gap=1e-2))
    log_closer = float(closer.upper.log())
    found = moments_below(second.searches, level, n, log_closer + 0.1, NO_LIMITS)
    assert log_closer - 0.01 < float(found.upper.log()) <= log_closer + 0.1
    assert moments_below(second.searches, level, n, log_closer - 0.02, NO_LIMITS) is None


def mixed(part, weights, chosen):
    """The law that takes each of some laws with its weight."""
    laws = [part.triples[i].law for i in chosen]
    atoms = [
        replace(a, mass=partial(lambda w, a: w * a.mass(), w, a))
        for w, law in zip(weights, laws, strict=True)
        for a in law.atoms
    ]
    return Law(tuple(atoms), (), False)


def test_products_of_means_of_mixtures_are_below_what_the_classes_bear():
    rng = np.random.default_rng(2)
    for _ in range(300):
        x, y, powers = rng.exponential(size=(3, 1, 6)) ** 2
        order = np.argsort(-powers, axis=1)
        for weights in rng.dirichlet(np.full(6, 0.4), size=20):
            assert (weights @ x[0]) * (weights @ y[0]) <= weights @ _product(x, y, order)[0] * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("largest", "chance", "eps", "most"),
    [(90, 1e-6, 0.1, 1.6), (90, 1e-5, 0.2, 3.0), (60, 1e-6, 0.15, 1.4), (40, 1e-6, 0.1, 1.4)],
)
def test_moments_know_that_rare_large_values_turn_round(largest, chance, eps, most):
    """Exact sums of a law on integers, where one rare value counts as much as all others together."""
    n, level = 1000, Level.of_float(eps)
    with at_precision(256):
        e = arb(eps).exp()
        # G = R0/O - e R1/O under O: rare values near `largest`, and a coin for the rest
        masses = [arb(chance), (1 - arb(chance)) / 2, (1 - arb(chance)) / 2]
        first = [largest * masses[0], arb("1.3") * masses[1]]
        first.append(1 - sum(first, arb(0)))
        second = [arb(0), masses[1] * arb("0.7")]
        second.append(1 - sum(second, arb(0)))
        atoms = tuple(
            Atom(*(lambda x=x: x for x in (p / m, q / m, m))) for p, q, m in zip(first, second, masses, strict=True)
        )
    searches = Searches((Law(atoms, (), True),))
    found = searches.found(level, n, NO_LIMITS)
    with at_precision(BALL_BITS):
        parameters = raised_to_majorant(found.parameters)
        distinct, *_ = searches.prepared(level, n, BALL_BITS)
        by_moments = exp(found.log_value) * bound_of_laws(distinct, False, n, parameters, found.log_value)
    values = [float(p / m - e * q / m) for p, q, m in zip(first, second, masses, strict=True)]
    chances = [float(m) for m in masses]
    rare = np.arange(30)
    exact = 0.0
    for k in rare.tolist():
        weight = comb(n, k) * chances[0] ** k * (1 - chances[0]) ** (n - k)
        others = np.arange(n - k + 1)
        sums = k * values[0] + others * values[1] + (n - k - others) * values[2]
        logs = gammaln(n - k + 1) - gammaln(others + 1) - gammaln(n - k - others + 1) - (n - k) * log(2.0)
        exact += weight * float(np.exp(logs) @ np.maximum(sums, 0.0)) / n
    assert 1.0 - 1e-6 < by_moments / exact < most


def test_a_data_set_whose_saddle_points_are_poor_is_looked_at():
    """A report of Harmony is one of binary response, whose few positive messages have no saddle point at small eps."""
    asked = {"n": 1000, "delta": "1e-12"}
    found = sa.epsilon(sa.Harmony(d=16, eps0=8), **asked)
    assert found.lower == pytest.approx(sa.epsilon(sa.RandomizedResponse(k=2, eps0=8), **asked).lower, rel=1e-6)
