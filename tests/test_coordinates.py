"""What is told by the sums of coordinates: exact fractions, the table of an Internet draft, refusals."""

import json
from fractions import Fraction

import pytest
from oracle import coordinates

import symamp as sa
from symamp.accounting.coordinates import UnarySums
from symamp.decompositions.to_law import level_of, number
from symamp.errors import SymampError
from symamp.numbers.reading import budget, failure_probability
from symamp.numbers.surroundings import at_precision
from symamp.verifier import verify
from tests.worlds.ask import ends

F = Fraction
EXACT = {  # the worst data sets of three options
    ("3/4", "1/4", "6/5"): ("551/1280", "7263/20480", "96147/327680"),
    ("1/2", "1/5", "6/5"): ("137/625", "2779/15625", "11577/78125"),
    ("3/4", "1/4", "2"): ("75/256", "837/4096", "10935/65536"),
}


def test_the_oracle_counts_messages():
    chances = coordinates.unary(2, F(3, 4), F(1, 5))
    for data in ((0, 1), (0, 0), (1, 0)):
        assert coordinates.law_of_sums(chances, data) == coordinates.law_by_convolution(chances, data)


@pytest.mark.parametrize("key", EXACT)
def test_exact_fractions_and_brackets(key):
    p, q, e = map(F, key)
    chances = coordinates.unary(3, p, q)
    mechanism = sa.UnaryEncoding(p=key[0], q=key[1], D=3)
    for n, told in zip((2, 3, 4), EXACT[key], strict=True):
        truth = coordinates.delta(chances, n, e)
        assert truth == F(told)
        low, high = ends(sa.profile(mechanism, n=n, view="coordinates").delta(f"log({e})", gap=0.05))
        at_x0 = coordinates.divergence(chances, (0,) * n, (1, *(0,) * (n - 1)), e)
        assert at_x0 * (1 - F(1, 10**12)) <= low <= truth <= high


@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_lower_end_is_that_of_the_data_sets(n):
    for p, q, e in (("3/4", "1/4", "6/5"), ("9/10", "1/20", "3"), ("1/2", "1/5", "1")):
        chances = coordinates.unary(2, F(p), F(q))
        truth = coordinates.divergence(chances, (0,) * n, (1, *(0,) * (n - 1)), F(e))
        with at_precision(192):
            found = UnarySums(*(number(budget(x)) for x in (p, q)), n).divergence(level_of(budget(f"log({e})")))
            assert abs(found - found.mid()) < 1e-40
            assert float(found) == pytest.approx(float(truth), rel=1e-14)


DRAFT = {"5": 0.297408154759, "13/2": 0.700164503498, "7": 0.950456935756}


@pytest.mark.parametrize("eps0", DRAFT)
def test_the_lower_ends_of_the_draft(eps0):
    """n = 10^5, delta = 10^-9: bits flipped with probability 1/(e^eps0 + 1), all others at the victim's first input."""
    p, q = sa.UnaryEncoding.rappor(D=100, eps0=f"2*({eps0})").probabilities()
    found = UnarySums(number(p), number(q), 10**5).epsilon(failure_probability("1e-9"), 2.0)
    assert found == pytest.approx(DRAFT[eps0], rel=1e-11)
    assert found < DRAFT[eps0] * (1 + 1e-11)


UPPER = {"5": 0.29780, "13/2": 0.70158, "7": 0.95299}


@pytest.mark.slow
@pytest.mark.parametrize("eps0", DRAFT)
def test_the_brackets_of_the_draft(eps0):
    mechanism = sa.UnaryEncoding.rappor(D=100, eps0=f"2*({eps0})")
    found = sa.profile(mechanism, n=10**5, view="coordinates").epsilon("1e-9", gap=5e-3)
    assert found.lower == pytest.approx(DRAFT[eps0], rel=1e-9)
    assert found.lower < found.upper < UPPER[eps0]


def test_joint_mechanisms():
    coin = sa.RandomizedResponse(k=2, eps0="log(3)")
    both = sa.joint([coin, coin])
    seen = sa.profile(both, n=3, view="coordinates").delta("log(6/5)", gap=0.05)
    rows = [[F(1, 4), F(3, 4)], [F(3, 4), F(1, 4)]]
    chances = [[rows[a][1], rows[b][1]] for a in (0, 1) for b in (0, 1)]
    low, high = ends(seen)
    assert low <= coordinates.delta(chances, 3, F(6, 5)) <= high
    assert seen.upper < sa.delta(both, n=3, eps="log(6/5)").upper


def test_certificates_claim_the_upper_end():
    found = sa.profile(sa.UnaryEncoding(p="3/4", q="1/4", D=3), n=4, view="coordinates").delta("1/5", gap=0.05)
    assert found.lower > 0
    data = found.certificate()
    assert data["claim"]["lower"] == "0"
    assert verify(json.dumps(data)).status == "valid"


@pytest.mark.parametrize(
    ("mechanism", "words", "remedy"),
    [
        (sa.SubsetSelection(d=5, k=2, eps0=1), {}, "view='messages'"),
        (sa.RandomizedResponse(k=3, eps0=1), {}, "not known to be independent"),
        (sa.joint([sa.RandomizedResponse(k=2, eps0=1)] * 2, neighbours="one_attribute"), {}, "any two inputs"),
        (sa.UnaryEncoding.oue(D=4, eps0=1), {"method": "blanket"}, "leave them out"),
        (sa.UnaryEncoding.oue(D=4, eps0=1), {"view": "sums"}, "one of 'messages'"),
    ],
)
def test_refusals(mechanism, words, remedy):
    with pytest.raises(SymampError, match=remedy):
        sa.profile(mechanism, n=10, **{"view": "coordinates", **words})


@pytest.mark.parametrize(("p", "q", "size"), [("1/4", "3/4", 3), ("1/2", "1/2", 3), ("3/4", "1/4", 1)])
def test_bits_that_say_nothing_are_refused(p, q, size):
    with pytest.raises(SymampError):
        sa.UnaryEncoding(p=p, q=q, D=size)
