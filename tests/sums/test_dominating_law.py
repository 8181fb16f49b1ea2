"""Laws that dominate several others: against transforms summed by hand in exact fractions."""

from fractions import Fraction
from random import Random

import flint
import pytest
from flint import arb

from symamp.errors import ArgumentError
from symamp.laws.law import BallGparv
from symamp.sums.envelope import DominatingLaw, StopLoss, dominating_law, excess, maximum, thinned
from tests.exactly import as_ball as ball
from tests.oracle import envelope
from tests.oracle.envelope import kinks
from tests.oracle.histograms import normalised
from tests.oracle.laws import merged
from tests.sampled import some

Exact = tuple[dict[Fraction, Fraction], Fraction]


def fraction(x: arb) -> Fraction:
    assert x.is_exact()
    mantissa, exponent = x.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def as_balls(law: Exact) -> BallGparv:
    values, singular = law
    pairs = [(v, m) for v, m in values.items() if v != 0]
    return BallGparv(
        tuple(ball(v) for v, _ in pairs),
        tuple(ball(m) for _, m in pairs),
        ball(values.get(Fraction(0), Fraction(0))),
        ball(singular),
    )


def as_exact(g: BallGparv) -> Exact:
    assert all(fraction(m) > 0 for m in g.masses)
    atoms = zip((arb(0), *g.values), (g.null_mass, *g.masses), strict=True)
    law = merged((fraction(v), fraction(m)) for v, m in atoms)
    assert sum(law.values()) == 1
    return law, fraction(g.singular)


def transform(law: Exact, u: Fraction) -> Fraction:
    return law[1] + envelope.transform(law[0], u)


def random_law(rng: Random, size: int, singular: bool, scale: Fraction) -> Exact:
    weights = [rng.randint(1, 9) for _ in range(size)]
    values = [scale * Fraction(rng.randint(-12, 12), rng.choice((1, 3, 7))) for _ in weights]
    law = merged(zip(values, normalised([weights])[0], strict=True))
    return law, scale * Fraction(rng.randint(0, 3), 7) if singular else Fraction(0)


def check(laws: list[Exact], found: DominatingLaw, rounding: Fraction) -> Fraction:
    """Check domination and the stated loss at every point where either side bends; return that loss."""
    result, merging = as_exact(found.law), fraction(found.merging)
    for u in sorted({*kinks(laws), *result[0]}):
        truth = max(transform(law, u) for law in laws)
        assert truth <= transform(result, u) < truth + rounding + merging
    return merging
    for u in sorted({*kinks(laws), *result[0]}):
        truth = max(transform(law, u) for law in laws)
        assert truth <= transform(result, u) < truth + rounding + merging
    return merging


@pytest.mark.parametrize("seed", range(60))
def test_domination_at_every_kink(seed: int) -> None:
    rng = Random(seed)
    scale = Fraction(10) ** rng.randint(-9, 9)
    laws = [random_law(rng, rng.randint(1, 5), rng.random() < 0.3, scale) for _ in range(rng.randint(1, 5))]
    bits = rng.choice((64, 100, 128, 300))
    with flint.ctx.workprec(bits):
        found = dominating_law([as_balls(law) for law in laws])
    assert check(laws, found, scale * Fraction(1, 2 ** (bits - 40))) == 0


@pytest.mark.parametrize("seed", some(range(20), 8))
def test_merged_nodes(seed: int) -> None:
    rng = Random(seed)
    laws = [random_law(rng, 12, rng.random() < 0.3, Fraction(1)) for _ in range(4)]
    with flint.ctx.workprec(100):
        balls = [as_balls(law) for law in laws]
        law = dominating_law(balls).law
    unmerged = len(law.values) + (not law.null_mass.is_zero())
    for most in (2, 3, 7):
        with flint.ctx.workprec(100):
            found = dominating_law(balls, most)
        assert len(found.law.values) + (not found.law.null_mass.is_zero()) <= most
        assert (check(laws, found, Fraction(1, 2**60)) > 0) == (unmerged > most)


def test_equal_laws_by_rounded_numbers_have_no_spurious_values() -> None:
    third = arb(1) / 3
    one = BallGparv((third, -2 * third), (third, third), third, arb(0))
    other = BallGparv((1 - 2 * third, -(1 - third)), (1 - third - third, third), third, arb(0))
    assert len(dominating_law([one, other]).law.values) == 2


def test_atoms_close_to_the_null_value_join_it() -> None:
    tiny = arb(2) ** -127
    laws = [
        BallGparv((arb(-1), sign * tiny, arb(1)), (arb(0.25), arb(0.5), arb(0.25)), arb(0), arb(0)) for sign in (1, -1)
    ]
    law = dominating_law(laws).law
    assert len(law.values) == 2
    assert law.null_mass > 0.49


def test_no_mass_at_positive_values_is_invented() -> None:
    third = arb(1) / 3
    law = dominating_law([BallGparv((-third, -third * 2), (third, 1 - third), arb(0), arb(0))]).law
    assert all(v < 0 for v in law.values)
    assert law.null_mass.is_zero()


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="at least one law"):
        dominating_law([])
    with pytest.raises(ArgumentError, match="finite"):
        dominating_law([BallGparv((arb("nan"),), (arb(1),), arb(0), arb(0))])


@pytest.mark.parametrize("seed", range(40))
def test_maximum_is_least(seed: int) -> None:
    """Away from the cells of crossings the maximum is attained, and it never exceeds it by more than a grid unit."""
    rng = Random(seed)

    def random_transform() -> StopLoss:
        nodes = sorted(rng.sample(range(-30, 30), rng.randint(1, 6)))
        tails = [16, *sorted(rng.sample(range(1, 16), len(nodes) - 1), reverse=True)]
        return StopLoss(tuple(nodes), tuple(tails), rng.choice((0, 0, 5)), 4)

    f, g = random_transform(), random_transform()
    h = maximum(f, g)
    nodes = list(range(-31, 32))
    for a, b, c in zip(f.on(nodes)[1], g.on(nodes)[1], h.on(nodes)[1], strict=True):
        assert c == max(a, b)
    thin = thinned(h, 3)
    assert len(thin.nodes) <= 3
    assert all(a >= b for a, b in zip(thin.on(nodes)[1], h.on(nodes)[1], strict=True))
    assert excess(thin, h) == max(a - b for a, b in zip(thin.on(nodes)[1], h.on(nodes)[1], strict=True))
