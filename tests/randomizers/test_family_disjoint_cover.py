"""PrivUnit, Wheel, Collision, PCKV-GRR: components by hand, printed formulas, and the worst pair of the tables."""

import pytest
import sympy as sp

import symamp as sa
from symamp.decompositions.pairs import pair_classes
from symamp.errors import ArgumentError
from symamp.formulas.normal_form import normal
from symamp.randomizers.families.priv_unit import PrivUnit
from symamp.randomizers.families.sparse import PCKVGRR, Collision, NarrowCollision, Wheel

t = sp.exp(sp.Symbol("eps0", real=True))
MEMBERS = (
    PrivUnit(c="2/5", eps0="log(2)"),
    Wheel(s=2, p="1/6", eps0="log(3)"),
    Collision(s=2, l=5, eps0="log(3)"),
    NarrowCollision(s=3, l=4, eps0="log(3)"),
    PCKVGRR(s=2, d=3, eps0="log(3)"),
)


def components(decomposition):
    return {(c.ratio0, c.ratio1): c.mass for c in decomposition.components}


def stop_loss(decomposition, level, u):
    """E(G - u)_+, exactly, with the null symbol at 0."""
    law = [(c.ratio0 - level * c.ratio1, c.mass) for c in decomposition.components] + [(0, 1 - decomposition.gamma)]
    return sum(mass * max(value - u, 0) for value, mass in law)


@pytest.mark.parametrize(
    ("member", "one", "both", "none"),
    [
        (PrivUnit(c="1/4", eps0="log(3)"), "1/6", None, "1/3"),
        (Wheel(s=2, p="1/8", eps0="log(3)"), "1/6", None, "1/3"),
        (Collision(s=2, l=5, eps0="log(3)"), "2/9", None, "1/9"),
        (NarrowCollision(s=3, l=4, eps0="log(3)"), "1/10", "1/5", None),
        (PCKVGRR(s=2, d=3, eps0="log(3)"), "1/5", None, "1/5"),
    ],
    ids=str,
)
def test_components_by_hand(member, one, both, none):
    by_hand = {(3, 1): one, (1, 3): one, (3, 3): both, (1, 1): none}
    assert components(member.blanket()) == {k: sp.Rational(m) for k, m in by_hand.items() if m is not None}


def test_total_variation_of_table_1_and_5():
    c, s, p, d, l = PrivUnit()["c"], Wheel()["s"], Wheel()["p"], PCKVGRR()["d"], Collision()["l"]
    printed = {
        PCKVGRR: s * (t - 1) / (s * t + 2 * d - s),
        Wheel: s * p * (t - 1) / (s * p * t + (1 - s * p)),
        Collision: s * (t - 1) / (s * t + l - s),  # min(s, l - s) = s
        NarrowCollision: (l - s) * (t - 1) / (s * t + l - s),  # min(s, l - s) = l - s
        PrivUnit: c * (t - 1) / (c * t + 1 - c),  # not printed: named in the text
    }
    for family, beta in printed.items():
        found = family().variation_ratio()
        assert normal(found.beta - beta) == 0
        assert (found.p, found.q) == (t, t)


@pytest.mark.parametrize("member", MEMBERS, ids=str)
def test_the_pair_is_the_worst_of_the_table(member):
    worst = member.blanket()
    for level in (sp.Integer(1), sp.Rational(21, 20), sp.Rational(7, 4)):
        for other in (c.decomposition for c in pair_classes(member.table())):
            kinks = {c.ratio0 - level * c.ratio1 for d in (worst, other) for c in d.components} | {sp.Integer(0)}
            assert all(stop_loss(worst, level, u) >= stop_loss(other, level, u) for u in kinks)


def test_both_collisions_agree_where_their_ranges_meet():
    for s in (1, 2, 5):
        wide, narrow = (f(s=s, l=2 * s, eps0=1).blanket() for f in (Collision, NarrowCollision))
        assert wide.signature() == narrow.signature()


def test_a_third_set_if_it_fits():
    assert Collision(s=2, l=6, eps0=1).further_inputs(("x0", "x1")) == ("x2",)
    assert Collision(s=2, l=5, eps0=1).further_inputs(("x0", "x1")) == ("x2", "x3")
    assert Collision(s=2, l=4, eps0=1).further_inputs(("x0", "x1")) == ("average",)
    assert PrivUnit(c="1/10", eps0=1).further_inputs(("x0", "x1")) == ("average",)


def test_ranges():
    for make in (
        lambda: PrivUnit(c="1/2"),
        lambda: Wheel(s=2, p="1/4"),
        lambda: Collision(s=2, l=3),
        lambda: NarrowCollision(s=2, l=2),
        lambda: PCKVGRR(s=2, d=1),
    ):
        with pytest.raises(ArgumentError):
            make()


def test_large_members_are_as_easy():
    one = sa.epsilon(PCKVGRR(s=10**3, d=10**6, eps0=1), n=10**6, delta="1e-8", gap=1e-3)
    two = sa.epsilon(Collision(s=10**3, l=2 * 10**6, eps0=1), n=10**6, delta="1e-8", gap=1e-3)
    assert one.upper == two.upper > 0
