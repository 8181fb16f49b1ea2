"""Tables of numbers: exact laws, checks, all pairs and all data sets at once, against exact enumeration."""

import itertools
import pickle
from fractions import Fraction
from random import Random

import flint
import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpq

import symamp as sa
from symamp import errors
from symamp.bounds.blanket import BLANKET
from symamp.bounds.own_law import own_law
from symamp.bounds.pairs_of_a_table import (
    MaxOverRows,
    badly_blanketed,
    best,
    chi_squares,
    kernel_bounds,
    log_divergences,
    narrowed,
    open_pairs,
    singular_above,
    worst_triples,
)
from symamp.bounds.reduction import Reduction, dataset_reduction
from symamp.decompositions.decomposition import Decomposition, merged
from symamp.decompositions.pairs import distinct_pairs, pair_classes
from symamp.decompositions.to_law import law_of, level_of
from symamp.laws.law import Level, float_gparv
from symamp.numbers.limits import NO_LIMITS
from symamp.questions.solve import epsilon_above
from symamp.settings.question import Query
from symamp.sums.divergence import Settings
from symamp.sums.kernels.floats import float_sum
from tests.oracle import histograms as oracle
from tests.sampled import some

SEEDS = range(60)


def mechanism_of(table):
    return sa.FiniteMechanism({f"x{i}": {f"y{j}": p for j, p in enumerate(row)} for i, row in enumerate(table)})


def table_of(seed):
    return oracle.random_table(Random(seed), zeros=seed % 3 == 0, symmetric=seed % 4 == 1)


def level_at(E):
    return level_of(sp.log(sp.Rational(E.numerator, E.denominator)))


def ratio_of(table):
    return oracle.local_ratio(table) or Fraction(9)


# ------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("seed", SEEDS)
def test_the_law_of_a_pair_is_the_merged_one(seed):
    table = table_of(seed)
    mechanism = mechanism_of(table)
    for i, j in itertools.permutations(range(len(table)), 2):
        law = mechanism.blanket(f"x{i}", f"x{j}").numeric_law
        components, singular = oracle.blanket_components(table, i, j)
        found = {tuple(Fraction(int(e.p), int(e.q)) for e in atom[:2]): atom[2] for atom in law.rational.atoms}
        assert found == {ratios: fmpq(m.numerator, m.denominator) for ratios, m in components.items()}
        assert sum(a for a, _ in law.rational.singular) == sum(fmpq(a.numerator, a.denominator) for a, _ in singular)
        assert [atom.equal_ratios for atom in law.atoms] == [r0 == r1 for r0, r1 in found]


def formulas(mechanism, pair, others=()):
    """The decomposition through SymPy, entry by entry, as for a table with parameters."""
    index = [mechanism.inputs.index(x) for x in pair]
    parts = []
    for column in zip(*mechanism.rows, strict=True):
        hidden = sum(w * column[mechanism.inputs.index(x)] for x, w in others) if others else sp.Min(*column)
        parts.append((column[index[0]], column[index[1]], hidden))
    return merged(parts, (), pair)


CONSTANTS = {
    "exponentials": [["exp(1/2)", 1, 1], [1, "exp(1/2)", 1], [1, 1, "exp(1/2)"]],
    "proportional columns": [["exp(1/3)", "2*exp(1/3)", 1], [1, 2, "exp(1/3)"], ["exp(1/3)", "2*exp(1/3)", 2]],
    "roots": [["sqrt(2)", 1, "sqrt(3)"], [1, "sqrt(3)", "sqrt(2)"]],
    "zeros": [["exp(1)", 0, 1], [1, "exp(1)", 0], [1, 1, 1]],
}


def constant_mechanism(name):
    weights = [[sp.sympify(w) for w in row] for row in CONSTANTS[name]]
    return sa.FiniteMechanism([[w / sp.Add(*row) for w in row] for row in weights])


@pytest.mark.parametrize("name", CONSTANTS)
def test_laws_of_constants_are_those_of_the_formulas(name):
    mechanism = constant_mechanism(name)
    for pair in itertools.permutations(mechanism.inputs, 2):
        for others in ((), (("x0", sp.Integer(1)),), (("x0", sp.Rational(1, 3)), ("x1", sp.Rational(2, 3)))):
            found = mechanism.dataset(*pair, dict(others)) if others else mechanism.blanket(*pair)
            expected = formulas(mechanism, pair, others)
            laws = found.numeric_law, law_of(expected, bool(others))
            assert Decomposition.signature(found) == expected.signature()
            with flint.ctx.workprec(128):
                values = [
                    sorted((float(a.ratio0()), float(a.ratio1()), float(a.mass())) for a in x.atoms) for x in laws
                ]
                assert len(values[0]) == len(values[1])
                assert np.allclose(values[0], values[1], rtol=1e-12)
                assert sorted(a.equal_ratios for a in laws[0].atoms) == sorted(a.equal_ratios for a in laws[1].atoms)
                assert len(laws[0].singular) >= len(laws[1].singular)
                assert sum(float(a()) for a, _ in laws[0].singular) == pytest.approx(
                    sum(float(a()) for a, _ in laws[1].singular), rel=1e-12
                )


@pytest.mark.slow
def test_columns_in_proportion_have_a_certificate():
    """Equal ratios of different entries are one component: its lower end was refused where they were two."""
    assert sa.epsilon(constant_mechanism("proportional columns"), n=100, delta="1e-8").certificate()


def test_numbers_that_are_equal_in_disguise_are_one_number():
    half, same = "sqrt(2)*sqrt(3)/(sqrt(6) + sqrt(24)/2)", "1/2"
    mechanism = sa.FiniteMechanism([[half, same], [same, half]])
    assert len(mechanism.numeric.numbers) == 1
    assert mechanism.local_epsilon() == 0


def test_rows_of_constants_are_proved_to_sum_to_one():
    with pytest.raises(errors.RowSumError, match='row of input "x1"'):
        sa.FiniteMechanism([["1/2", "1/2"], ["exp(-1)", "1 - exp(-1) + 1e-200"]])
    with pytest.raises(errors.NegativeProbabilityError, match=r"table..x0....y1"):
        sa.FiniteMechanism([["exp(1)/2", "1 - exp(1)/2"], ["1/2", "1/2"]])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_local_budget_of_a_table(seed):
    table = table_of(seed)
    expected = oracle.local_ratio(table)
    assert sp.exp(mechanism_of(table).local_epsilon()) == (sp.oo if expected is None else sp.Rational(str(expected)))


def test_classes_of_pairs_are_found_exactly():
    assert len(pair_classes(sa.RandomizedResponse(k=6, eps0=1).table())) == 1
    table = mechanism_of(table_of(2)).numeric
    pairs = list(itertools.permutations(range(len(table.inputs)), 2))
    assert sorted(p for group in distinct_pairs(table, pairs) for p in group) == sorted(pairs)


# ------------------------------------------------------------------------------------------------------ all pairs


@pytest.mark.parametrize("seed", some(SEEDS, 20))
def test_a_pair_that_is_closed_lies_below_the_bound(seed):
    rng, table = Random(1000 + seed), table_of(seed)
    n, E = rng.choice((1, 2, 4, 6)), 1 + (ratio_of(table) - 1) * Fraction(rng.randint(0, 6), 10)
    pairs = list(itertools.permutations(range(len(table)), 2))
    exact = {pair: oracle.blanket_divergence(table, *pair, n, E) for pair in pairs}
    numeric, level = mechanism_of(table).numeric, level_at(E)
    worst = best(badly_blanketed(numeric, level, n), 1)
    for factor in (Fraction(1, 3), Fraction(1), Fraction(3)):
        for bound in {value * factor for value in exact.values() if value > 0}:
            with flint.ctx.workprec(256):
                ball = arb(fmpq(bound.numerator, bound.denominator))
                left = open_pairs(numeric, level, n, ball)
                assert all(exact[pair] <= bound for pair in pairs if pair not in left)
                if left and worst:
                    law = mechanism_of(table).blanket(*(f"x{i}" for i in worst[0])).numeric_law
                    fewer = narrowed(numeric, level, n, ball, left, law, NO_LIMITS)
                    assert set(fewer) <= set(left)
                    assert all(exact[pair] <= bound for pair in left if pair not in fewer)
                    for pair, most in fewer.items():
                        assert arb(fmpq(exact[pair].numerator, exact[pair].denominator)).lower() <= most


@pytest.mark.parametrize("seed", SEEDS)
def test_one_plan_bounds_all_pairs(seed):
    table = table_of(seed)
    n, E = 2 + seed % 5, 1 + (ratio_of(table) - 1) / 4
    numeric, level = mechanism_of(table).numeric, level_at(E)
    pairs = list(itertools.permutations(range(len(table)), 2))
    worst = best(badly_blanketed(numeric, level, n), 1)
    rough = float_gparv(numeric.law(worst[0] if worst else (0, 1)), level)
    if not rough.is_positive:
        return
    plan = float_sum(rough, n, 0.05, 400).plan
    with flint.ctx.workprec(160):
        bounds = kernel_bounds(numeric, level, n, pairs, plan)
        lone = singular_above(numeric, level)
        for pair, bound in zip(pairs, bounds, strict=True):
            exact = oracle.blanket_divergence(table, *pair, n, E)
            assert (bound + float(lone[pair])).upper() >= arb(fmpq(exact.numerator, exact.denominator)).lower()


def test_the_ranking_knows_the_chi_squares():
    rows = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    expected = [[((a - b) ** 2 / rows.min(axis=0)).sum() for b in rows] for a in rows]
    assert np.allclose(chi_squares(rows, rows.min(axis=0)), expected)


# ------------------------------------------------------------------------------------------------------ data sets


def geometric(size, eps0=1):
    q = sp.exp(-sp.Rational(eps0, size - 1))
    weights = [[q ** abs(x - y) for y in range(size)] for x in range(size)]
    return sa.FiniteMechanism([[w / sp.Add(*row) for w in row] for row in weights])


def test_the_worst_data_set_of_a_large_table_is_found():
    """The end points, hidden by the middle: far from the first pairs of the table."""
    answer = sa.epsilon(geometric(16), n=10**4, delta="1e-6", gap=1e-3)
    assert answer.lower > 0.0211
    assert {answer.dataset.x0, answer.dataset.x1} == {"x0", "x15"}
    assert answer.dataset.others[0][0] in ("x7", "x8")


@pytest.mark.parametrize("seed", some(range(8), 4))
def test_the_ranking_of_triples_finds_the_worst_constant_data_set(seed):
    """All triples, estimated one by one, hold none that is much worse than the best of the ranking."""
    table = oracle.random_table(Random(seed), symmetric=seed % 4 == 1)
    mechanism, inputs, n = mechanism_of(table), range(len(table)), 1000
    level = level_at(1 + (ratio_of(table) - 1) / 20)
    every = {
        (i, j, k): dataset_reduction(mechanism, (f"x{i}", f"x{j}"), ((f"x{k}", sp.Integer(1)),)).log_estimate(
            level, n, Settings()
        )
        for i, j in itertools.permutations(inputs, 2)
        for k in inputs
    }
    found = worst_triples(mechanism.numeric, level, n, 8)
    assert max(every[t] for t in found) >= max(every.values()) - 0.05


# ------------------------------------------------------------------------------------------------------- own laws


def test_a_law_of_ones_own_has_the_divergence_of_its_triple():
    mechanism = sa.RandomizedResponse(k=4, eps0="log(3)")
    blanket = mechanism.blanket()
    rows = [tuple(c) for c in blanket.components]
    for given in (blanket, rows):
        answer = sa.delta(own_law(given), n=100, eps="1/5", method="own_law")
        expected = sa.delta(mechanism, n=100, eps="1/5", method="blanket")
        assert answer.bound.upper == pytest.approx(expected.upper, rel=1e-5)
        assert answer.upper >= expected.lower


@pytest.mark.parametrize(
    ("given", "singular"),
    [([(2, 1, "1/2")], ()), ([(1, 1, 2)], ()), ([(-1, 1, 1)], ()), ([(1, 1)], ()), (5, ()), ("abc", ()), ([1], ())],
    ids=str,
)
def test_laws_that_are_no_triples_are_refused(given, singular):
    with pytest.raises(errors.SymampError):
        own_law(given, singular)


# --------------------------------------------------------------------------------------------------- what is a table


FLOATS = [[0.3, 0.6, 0.1], [0.1, 0.3, 0.6], [0.6, 0.1, 0.3]]


def test_arrays_lists_and_frames_are_tables():
    pandas = pytest.importorskip("pandas")
    made = sa.FiniteMechanism(FLOATS, normalise=True)
    assert made.inputs == ("x0", "x1", "x2")
    assert made.messages == ("y0", "y1", "y2")
    assert made == sa.FiniteMechanism(np.array(FLOATS), normalise=True)
    assert made == sa.FiniteMechanism([np.array(row) for row in FLOATS], normalise=True)
    frame = pandas.DataFrame(FLOATS, index=list("abc"), columns=["no", "yes", "?"])
    framed = sa.FiniteMechanism(frame, normalise=True)
    assert (framed.inputs, framed.messages) == (("a", "b", "c"), ("no", "yes", "?"))
    assert framed.rows == made.rows
    exact = [[Fraction(1, 3), "2/3"], ["2/3", Fraction(1, 3)]]
    assert sa.FiniteMechanism(exact) == sa.FiniteMechanism(
        pandas.DataFrame(exact).rename("x{}".format).rename("y{}".format, axis=1)
    )


def test_rows_of_floats_are_divided_by_their_exact_sum():
    made = sa.FiniteMechanism(FLOATS, normalise=True)
    for row, given in zip(made.rows, FLOATS, strict=True):
        exact = [Fraction(*p.as_integer_ratio()) for p in given]
        assert [Fraction(str(p)) for p in row] == [p / sum(exact) for p in exact]
    with pytest.raises(errors.RowSumError, match="normalise=True"):
        sa.FiniteMechanism(FLOATS)
    with pytest.raises(errors.RowSumError, match="2\\*\\*-20"):
        sa.FiniteMechanism([[0.3, 0.3], [0.5, 0.5]], normalise=True)
    assert sa.FiniteMechanism([["1/3", "2/3"], [0.5, 0.5]], normalise=True).rows[0][0] == sp.Rational(1, 3)


@pytest.mark.parametrize(
    "table", [[[1, 0], [1]], [[1, 0], "10"], np.ones(3), np.ones((2, 2, 2)), 5, "table", [1, 2], [[], []]], ids=str
)
def test_what_is_no_table_is_refused(table):
    with pytest.raises(errors.FormatError):
        sa.FiniteMechanism(table)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, 1j, True])
def test_entries_that_are_no_numbers_are_refused(value):
    with pytest.raises(errors.SymampError):
        sa.FiniteMechanism(np.array([[value, 0], [0, 1]], dtype=object), normalise=True)


def test_a_large_table_of_floats_is_ranked_and_settled():
    """Too many pairs for one evaluation each: 24 rows, 552 ordered pairs."""
    rng = np.random.default_rng(7)
    weights = rng.random((24, 12)) + 0.5
    mechanism = sa.FiniteMechanism(weights / weights.sum(axis=1, keepdims=True), normalise=True)
    told = []
    bound = BLANKET.bound(mechanism)
    object.__setattr__(bound, "progress", lambda done, every: told.append((done, every)))
    answer = sa.epsilon(mechanism, n=10**4, delta="1e-6", gap=1e-3, method="blanket")
    assert 0 < answer.lower < answer.upper
    level = Level.of_float(answer.upper)
    worst = bound.ranked(level, 10**4, Settings())[0]
    assert worst.pair == answer.pair
    assert all(e.is_at_most(fmpq(1, 10**6)) for e in bound.evidence(level, 10**4, Settings(gap=1e-3), fmpq(1, 10**6)))
    assert len(told) < 20


def halving(size):
    """R(x)(y) ~ 2^-|x - y|: few messages hide a report that is far out."""
    weights = [[Fraction(1, 2 ** abs(x - y)) for y in range(size)] for x in range(size)]
    return mechanism_of([[w / sum(row) for w in row] for row in weights])


@pytest.mark.parametrize(("n", "eps"), [(10**4, 0.02), (10**9, 1e-4)])
def test_the_ranking_is_right_where_few_messages_hide_a_report(n, eps):
    table = halving(14).numeric
    scores = log_divergences(table.floats, table.least_floats, np.expm1(eps), n)
    level = Level.of_float(eps)
    parts = BLANKET.bound(halving(14))
    true = {p: parts.part(p).log_estimate(level, n, Settings(gap=1e-3)) for p in [*table.pairs[:12], (5, 7), (6, 1)]}
    top = max(true.values())
    found = max((p for p in true), key=lambda p: scores[p])
    assert true[found] > top - 0.1
    assert all(abs(scores[p] - v) < 0.6 for p, v in true.items() if v > top - 10)


def test_a_table_with_a_large_budget_takes_few_evaluations(monkeypatch):
    """The budget of 21 log 2 makes common tilts useless: one user's divergence settles the pairs."""
    counted = []
    of = Reduction.enclose
    monkeypatch.setattr(Reduction, "enclose", lambda part, *args: counted.append(part.pair) or of(part, *args))
    answer = sa.epsilon(halving(22), n=1000, delta="1e-6")
    assert len(counted) < 8
    assert set(answer.pair) == {"x0", "x21"}
    assert 21 * np.log(2) - 1e-4 < answer.upper < 21 * np.log(2) - 1e-6
    assert answer.lower > 10.0


def test_a_part_that_misses_delta_shows_where_it_is_delta():
    """A search that starts from a pair that is not the worst does not creep along."""
    mechanism, query = geometric(12), Query.of_epsilon("1e-6", 1e-4)
    bound, settings = BLANKET.bound(mechanism), query.settings
    part = bound.part((5, 6))
    guess = part.root(10**4, float(np.log(1e-6)), settings)
    levels = []
    of = MaxOverRows.evidence
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            MaxOverRows, "evidence", lambda self, level, *args: levels.append(level) or of(self, level, *args)
        )
        eps, found = epsilon_above(bound, part, 10**4, query, guess)
    assert found[0].part.pair in {("x0", "x11"), ("x11", "x0")}
    assert len(levels) < 4
    assert eps == pytest.approx(bound.part((0, 11)).root(10**4, float(np.log(1e-6)), settings), rel=1e-4)


def test_parts_of_a_wide_table_are_told_apart_without_formulas():
    weights = np.random.default_rng(3).random((3, 80)) + 0.5
    mechanism = sa.FiniteMechanism(weights[[0, 1, 2, 0]] / weights[[0, 1, 2, 0]].sum(axis=1)[:, None], normalise=True)
    bound = BLANKET.bound(mechanism)
    first, second, same = (bound.part(pair) for pair in ((0, 1), (1, 0), (3, 1)))
    assert first.signature == same.signature != second.signature
    assert "_formulas" not in first.decomposition.__dict__


def test_a_proposal_is_asked_for_once_at_each_eps():
    asked = []
    of = MaxOverRows.proposed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MaxOverRows, "proposed", lambda self, level, *rest: asked.append(level) or of(self, level, *rest))
        BLANKET.bound(geometric(8)).root(10**4, float(np.log(1e-6)), Settings(gap=1e-3))
    assert len(asked) == len(set(asked))


def test_inputs_that_doubles_do_not_tell_apart():
    near = sa.FiniteMechanism([["7/10 - 10**-60", "3/10 + 10**-60"], ["7/10", "3/10"]])
    answer = sa.delta(near, n=2, eps=0, method="generic")
    assert 0 < answer.lower <= 7e-61 * (1 + 1e-15)  # the difference times the likelier message of the other user
    assert answer.upper >= 7e-61 * (1 - 1e-15)


@pytest.mark.parametrize("delta", ["0.99999998", "0.99999999998"])
def test_levels_beyond_doubles_are_met_near_the_total_variation(delta):
    steep = sa.FiniteMechanism([["1/(10**8 + 1)", "10**8/(10**8 + 1)"], ["1 - 1/(10**11 + 1)", "1/(10**11 + 1)"]])
    answer = sa.epsilon(steep, n=2, delta=delta, method="blanket")
    assert answer.lower <= answer.upper <= 26


def test_levels_at_which_tilts_are_next_to_nothing():
    steep = sa.FiniteMechanism([["1e-200", "1 - 1e-200"], ["1/9", "8/9"], [1, 0]]).near([("x0", "x1")])
    answer = sa.epsilon(steep, n=2, delta="1e-6")
    assert answer.lower <= 458.31978502143 <= answer.upper <= 458.3198  # log((1/9 - delta) 1e200): x2 hides nothing


@pytest.mark.parametrize("rows", [[["1/3", "2/3"], ["1/2", "1/2"]], [["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]]])
def test_answers_about_tables_travel(rows):
    for mechanism in (
        sa.FiniteMechanism(rows),
        sa.joint([sa.FiniteMechanism(rows), sa.RandomizedResponse(k=2, eps0=1)]),
    ):
        answer = sa.delta(mechanism, n=20, eps="1/10", method="blanket")
        again = pickle.loads(pickle.dumps(answer))
        assert (again, hash(again), again.certificate()) == (answer, hash(answer), answer.certificate())


def test_inputs_may_be_named_by_what_the_table_was_given():
    half = Fraction(1, 2)
    rows = {0: {0: "2/3", 1: "1/3"}, 1: {0: "1/3", 1: "2/3"}, half: {0: "1/2", 1: "1/2"}}
    table = sa.FiniteMechanism(rows)
    written = sa.FiniteMechanism({str(x): {str(y): p for y, p in row.items()} for x, row in rows.items()})
    assert table == written
    assert table.blanket(0, 1).components == written.blanket("0", "1").components
    assert table.blanket(np.int64(0), "1").components == written.blanket("0", "1").components
    assert table.envelope(0, half).pair == ("0", "1/2")
    assert table.dataset(0, 1, half).components == written.dataset("0", "1", "1/2").components
    mixed = table.dataset(0, 1, {0: "1/3", half: "2/3"})
    assert mixed.components == written.dataset("0", "1", {"0": "1/3", "1/2": "2/3"}).components
    assert table.near([(0, half)]).pairs() == (("0", "1/2"), ("1/2", "0"))
    assert [o.density for o in table.orbits((0, 1))] == [o.density for o in written.orbits(("0", "1"))]
    assert sa.epsilon(table, n=5, delta="0.1", neighbours=[(0, 1)]) == sa.epsilon(
        written, n=5, delta="0.1", neighbours=[("0", "1")]
    )
    data = [0, half], [1, half]
    assert (
        sa.exact.divergence(table, *data, 0).exact == sa.exact.divergence(written, ["0", "1/2"], ["1", "1/2"], 0).exact
    )
    x, y = sp.symbols("x y", real=True)
    noise = sa.DensityMechanism(sp.exp(-sp.Abs(y - x)) / 2, x, y, inputs=[0, 1])
    assert noise.pieces((0, 1)) == noise.pieces(("0", "1"))


@pytest.mark.parametrize(
    ("ask", "refusal"),
    [
        (lambda t: t.blanket(0, 2), errors.UnknownInputError),
        (lambda t: t.blanket(0, 10**5000), errors.UnknownInputError),
        (lambda t: t.blanket(0, "0"), errors.UnknownInputError),
        (lambda t: t.blanket(0, 1.0), errors.UnknownInputError),
        (lambda t: t.dataset(0, 1, {0: "1/2", "0": "1/2"}), errors.ArgumentError),
        (lambda t: t.dataset(0, 1, [0]), errors.ArgumentError),
        (lambda t: t.dataset(0, 1, None), errors.ArgumentError),
        (lambda t: t.near([(0, "0")]), errors.ArgumentError),
    ],
)
def test_what_names_no_input_or_one_twice_is_refused(ask, refusal):
    table = sa.FiniteMechanism({0: {"a": "2/3", "b": "1/3"}, 1: {"a": "1/3", "b": "2/3"}})
    with pytest.raises(refusal):
        ask(table)


def test_tables_of_many_messages_are_bounded_over_all_data_sets_by_default():
    rng = np.random.default_rng(1)
    table = sa.FiniteMechanism(rng.dirichlet(np.full(200, 2.0), 6), normalise=True)
    found = sa.epsilon(table, n=10**5, delta="1e-6")
    assert found.method == "all_data_sets"
    assert found.upper < 1.02 * found.lower


def test_the_blanket_of_one_order_that_a_data_set_attains_does_not_lead_where_the_other_is_larger():
    rows = [[1, 31, 3, 8], [6, 2, 5, 8]]
    table = {x: {y: Fraction(w, sum(row)) for y, w in enumerate(row)} for x, row in enumerate(rows)}
    answer = sa.epsilon(sa.FiniteMechanism(table), n=30, delta="1e-6")
    assert answer.upper <= 1.0001 * answer.lower
