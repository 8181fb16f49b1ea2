"""The envelope as formulas: do the inputs that a description names stand for all others?"""

import itertools
from fractions import Fraction

import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.blanket import triple
from symamp.decompositions.envelope import envelope, envelope_classes, two_level_law
from symamp.decompositions.to_law import law_of
from symamp.errors import ArgumentError, SupportMismatchError, UnknownInputError
from symamp.formulas.normal_form import normal
from symamp.laws.law import Level
from symamp.randomizers.catalogue import catalogue
from symamp.sums.divergence import Settings
from symamp.sums.envelope import enclose_envelope, envelope_law
from tests.oracle.envelope import difference, kinks, own_law, transform
from tests.sampled import some

FAMILIES = list(catalogue().values())
INCOMPLETE = {"priv-kv", "sampling-rappor", "duchi-vector-even"}


def rational_rows(member) -> dict[str, list[Fraction]]:
    table = member.table()
    rows = {x: [] for x in table.inputs}
    for orbit in table.orbits(table.inputs):
        for i, x in enumerate(table.inputs):
            entry = normal(orbit.mass(i))
            rows[x].append(Fraction(int(entry.p), int(entry.q)))
    return rows


@pytest.mark.parametrize("family", some([f for f in FAMILIES if f.slug not in INCOMPLETE], 8), ids=lambda f: f.slug)
def test_no_input_and_no_pair_of_the_table_exceeds_the_envelope(family):
    """Against tables written from the published definitions: every ordered pair, every input, at every kink."""
    compared = 0
    for size in sorted(family.small, key=lambda s: sum(v for v in s.values() if isinstance(v, int))):
        member = family(**size)
        rows = rational_rows(member)
        if compared and len(rows) ** 3 * len(next(iter(rows.values()))) > 20_000:
            continue
        compared += 1
        t = normal(sp.exp(member.local_epsilon()))
        for E in (Fraction(1), (1 + Fraction(int(t.p), int(t.q))) / 2):
            covering = [(c.pair, x) for c in envelope_classes(member) for x in c.others]
            covered = [own_law(difference(rows[a], rows[b], E), rows[x]) for (a, b), x in covering]
            nodes = kinks(covered)
            limits = [max(transform(law, u) + s for law, s in covered) for u in nodes]
            seen = set()
            for a, b in itertools.permutations(rows, 2):
                g = difference(rows[a], rows[b], E)
                for x in rows:
                    law, singular = own_law(g, rows[x])
                    key = frozenset(law.items())
                    if key not in seen:
                        seen.add(key)
                        assert singular == 0
                        assert all(transform(law, u) <= limit for u, limit in zip(nodes, limits, strict=True))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.slug)
def test_all_inputs_are_listed_where_that_is_claimed(family):
    """What the table has for a pair and all its inputs is, law by law, what the description has for some pair."""
    for size in sorted(family.small, key=lambda s: sum(v for v in s.values() if isinstance(v, int)))[:3]:
        member = family(**size)
        if not member.lists_all_inputs or family.slug == "one-bit-mean":  # inputs between 0 and 1 mix these two
            continue
        rows = rational_rows(member)
        e = Fraction(5, 4)

        def laws(a, b, others, rows=rows, e=e):
            g = difference(rows[a], rows[b], e)
            return {frozenset(own_law(g, rows[x])[0].items()) for x in others}

        listed = [laws(*c.pair, c.others) for c in envelope_classes(member)]
        for a, b in itertools.permutations(rows, 2):
            assert any(laws(a, b, rows) <= found for found in listed)


@pytest.mark.slow
def test_what_is_no_function_of_transforms_takes_what_is_declared():
    """PCKV-GRR with one pair is 2d-ary response, but shows two inputs: enough for the envelope; more is declared."""
    shown, full = catalogue()["pckv-grr"](s=1, d=4, eps0=2), sa.RandomizedResponse(k=8, eps0=2)
    assert not shown.lists_all_inputs
    assert full.lists_all_inputs
    with pytest.raises(SupportMismatchError, match="every class"):
        sa.epsilon(sa.DiscreteLaplace(B=100, eps0=2), n=10**4, delta=1e-6, method="all_data_sets")
    ends = [sa.epsilon(m, n=10**4, delta=1e-6, method="all_data_sets").upper for m in (shown, full)]
    assert ends[0] == pytest.approx(ends[1], rel=5e-3)
    bounds = [sa.epsilon(m, n=10**4, delta=1e-6, method="envelope").upper for m in (shown, full)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-6)
    answer = sa.epsilon(shown, n=10**4, delta=1e-6)
    assert answer.lower <= answer.upper


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.slug in INCOMPLETE], ids=lambda f: f.slug)
def test_families_that_show_their_worst_pair_only_are_refused(family):
    member = family()
    with pytest.raises(SupportMismatchError, match="worst pair"):
        member.envelope(*member.pairs()[0])


TWO_LEVEL = {
    "krr": "1/(k + t - 1)",
    "local-hashing": "(l - 1)/(l*(l + t - 1))",
    "hadamard-response": "1/(2*(t + 1))",
    "hcms": "1/(2*(t + 1))",
    "subset-selection": "k*(d - k)/((d - 1)*(d + k*t - k))",
    "oue": "1/(2*(t + 1))",
    "rappor": "1/(sqrt(t) + 1)**2",
    "harmony": "1/(t + 1)",
}


@pytest.mark.parametrize("slug", TWO_LEVEL)
def test_four_atoms_for_all_sizes(slug):
    """p = TV/(t - 1), from total variations worked out by hand."""
    member = catalogue()[slug]()
    law = member.envelope(*member.pairs()[0]).two_level
    assert law is not None
    names = {p.name: p.symbol for p in member.parameters}
    expected = sp.sympify(TWO_LEVEL[slug], locals={**names, "t": sp.exp(names["eps0"])})
    assert normal(law.components[0].mass - expected) == 0
    p, t = law.components[0].mass, law.components[0].ratio0
    assert [c.mass for c in law.components[:2]] == [p, p]
    if len(law.components) > 2:
        assert normal(law.components[2].mass - (1 - p - t * p)) == 0


def test_equal_distances_give_equal_envelopes():
    """Binary local hashing, Hadamard response and OUE: one law, whatever their blankets."""
    laws = [m.envelope(*m.pairs()[0]).two_level for m in (sa.LocalHashing(l=2), sa.HadamardResponse())]
    masses = [[normal(c.mass) for c in law.components] for law in laws]
    assert masses[0] == masses[1]


@pytest.mark.parametrize("family", [sa.RandomizedResponse(k=4), sa.LocalHashing(l=2, D=6), sa.HadamardResponse(K=8)])
def test_four_atoms_are_the_envelope_at_numbers(family):
    member = family.at(eps0=2)
    derived = member.envelope(*member.pairs()[0])
    level = Level.of_float(0.75)
    laws = [law_of(t, complete=True) for t in derived.triples]
    both = envelope_law(laws, level).law, envelope_law([law_of(derived.two_level)], level).law
    for a, b in zip(*(sorted(zip(map(float, g.values), map(float, g.masses), strict=True)) for g in both), strict=True):
        assert a == pytest.approx(b)
    assert float(both[0].null_mass) == pytest.approx(float(both[1].null_mass), abs=1e-15)


def test_a_mechanism_with_other_ratios_has_no_four_atom_law():
    assert sa.DBitFlip(k=5, d=2, eps0=1).envelope().two_level is None
    table = sa.FiniteMechanism({"a": {"u": "1/2", "v": "1/2"}, "b": {"u": "1/3", "v": "2/3"}})
    assert table.envelope("a", "b").two_level is None


def test_another_input_further_away_has_no_four_atom_law():
    rows = {"a": (3, 1, 1, 3), "b": (1, 3, 1, 3), "c": (3, 1, 3, 1)}
    table = sa.FiniteMechanism({x: {str(y): sp.Rational(w, 8) for y, w in enumerate(r)} for x, r in rows.items()})
    assert table.envelope("a", "b").two_level is None
    assert table.envelope("b", "c").two_level is not None


@pytest.mark.parametrize(
    ("mechanism", "eps", "expected"),
    [
        (sa.HadamardResponse(K=8, eps0="log(5)"), 0, "3"),
        (sa.HadamardResponse(K=8, eps0="log(5)"), "log(2)", None),
        (sa.RandomizedResponse(k=2, eps0=1), "1/2", None),
        (sa.RandomizedResponse(k=3, eps0=1), 1, "x0"),
    ],
)
def test_attained_by(mechanism, eps, expected):
    assert mechanism.envelope(*mechanism.pairs()[0]).attained_by(eps) == expected


def test_attained_by_an_input_without_the_distinguishing_messages():
    """Singular parts count: an input that never sends a message reveals who did."""
    rows = {"a": ("1/2", "1/2", 0), "b": ("1/2", 0, "1/2"), "c": (1, 0, 0)}
    table = sa.FiniteMechanism({x: dict(zip("uvw", row, strict=True)) for x, row in rows.items()})
    derived = table.envelope("a", "b")
    assert derived.attained_by(0) == "c"
    assert derived.attained_by("1/10") is None


def test_classes_of_pairs_are_not_those_of_the_blanket():
    """Equal blankets, different laws of others: the classes of pairs must be told apart."""
    rows = {"a": (3, 1, 1, 3), "b": (1, 3, 1, 3), "c": (3, 1, 3, 1), "d": (3, 1, 3, 1)}
    table = sa.FiniteMechanism({x: {str(y): sp.Rational(w, 8) for y, w in enumerate(r)} for x, r in rows.items()})
    classes = envelope_classes(table)
    assert len({c.signature() for c in classes}) == len(classes)
    for pair in itertools.permutations(rows, 2):
        assert envelope(table, pair).signature() in {c.signature() for c in classes}


def test_equal_inputs_give_one_class():
    rows = {"a": (3, 1), "b": (1, 3), "c": (3, 1)}
    table = sa.FiniteMechanism({x: {str(y): sp.Rational(w, 4) for y, w in enumerate(r)} for x, r in rows.items()})
    assert table.envelope("a", "b").others == ("a", "b")


def test_certified_numbers_of_published_tables():
    """Hadamard K = 128 at eps0 = 8, n = 10^4: the envelope at its eps has delta = 1e-6 (blanket: eps 5.02)."""
    settings = Settings(1e-8)
    for mechanism, eps, slack in (
        (sa.HadamardResponse(K=128, eps0=8), 1.842384316963242, 1e-7),
        (sa.LocalHashing(l=2, D=100, eps0=8), 1.842384316963242, 1e-7),
        (sa.UnaryEncoding.rappor(D=100, eps0=8), 4.587186151863188, 1e-7),
        (sa.HadamardResponse(K=128, eps0=6), 0.82536942432, 1e-6),
        (sa.HadamardResponse(K=128, eps0=12), 4.59635330035, 1e-6),
    ):
        laws = [law_of(t, complete=True) for t in mechanism.envelope(*mechanism.pairs()[0]).triples]
        found = enclose_envelope(laws, Level.of_float(eps), 10**4, settings)
        assert float(found.upper) == pytest.approx(1e-6, rel=slack)
        assert float(found.lower) == pytest.approx(1e-6, rel=slack)


def test_two_level_analysis_is_never_looser_than_the_generic_bound():
    for mechanism in (
        sa.HadamardResponse(K=8, eps0=4),
        sa.DBitFlip(k=6, d=2, eps0=2),
        sa.RandomizedResponse(k=2, eps0=1),
    ):
        for n in (10, 10**4):
            two, generic = (sa.delta(mechanism, n=n, eps="1/10", method=m) for m in ("two_level", "generic"))
            assert two.upper <= generic.upper * (1 + 1e-5)


def test_lambdify_and_printing():
    derived = sa.HadamardResponse().envelope()
    assert derived.components["2"] == derived.triples[1].components
    found = derived.lambdify()(K=8, eps0=1.0)
    assert set(found) == set(derived.others)
    assert all(sum(m for _, _, m in law) == pytest.approx(1) for law in found.values())
    assert "GPARV" in str(derived)
    assert "for integer K >= 4" in str(derived)
    assert derived._repr_latex_().startswith("$")


def test_plot():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    axes = sa.LocalHashing(l=2).envelope().plot("1/2", eps0=2, D=4)
    labels = [line.get_label() for line in axes.lines]
    assert labels[-1] == "blanket"
    blanket = axes.lines[-1].get_ydata()
    for line in axes.lines[:-1]:
        assert (line.get_ydata() <= blanket + 1e-12).all()
        assert (line.get_ydata() >= -1e-12).all()
    pyplot.close("all")


def test_refusals():
    with pytest.raises(ArgumentError, match="no number is given"):
        sa.RandomizedResponse(k=3).envelope().attained_by(0)
    with pytest.raises(UnknownInputError):
        sa.RandomizedResponse(k=3).envelope("x0")


def test_two_level_law_of_numbers():
    law = two_level_law(sp.Integer(5), sp.Rational(1, 3))
    assert [c.mass for c in law.components] == [sp.Rational(1, 12), sp.Rational(1, 12), sp.Rational(1, 2)]
    assert triple(sa.RandomizedResponse(k=2, eps0="log(5)"), ("x0", "x1"), (("x1", sp.Integer(1)),)).gamma == 1
