"""What is told by the sums of coordinates: exact fractions, the table of an Internet draft, refusals."""

import json
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from command import run
from flint import arb
from oracle.world import Coordinates, Group, Joint, Truth, Unary, World
from scipy.stats import binom

import symamp as sa
from symamp.decompositions.to_law import level_of, number
from symamp.errors import SymampError
from symamp.numbers.reading import budget, failure_probability
from symamp.numbers.surroundings import at_precision
from symamp.schemas.validation import check_document
from symamp.sums.coordinate_sums import UnarySums
from symamp.verifier import verify
from symamp.verifier.certificate import VERSION
from tests.oracle.test_participation import response
from tests.sampled import some
from tests.worlds.ask import ends

F = Fraction
EXACT = {  # the worst data sets of three options
    ("3/4", "1/4", "6/5"): ("551/1280", "7263/20480", "96147/327680"),
    ("1/2", "1/5", "6/5"): ("137/625", "2779/15625", "11577/78125"),
    ("3/4", "1/4", "2"): ("75/256", "837/4096", "10935/65536"),
}


def summed(size, p, q, n, rounds=1):
    return Truth(World((Group(n, Unary(size, F(p), F(q))),), seen=Coordinates(), rounds=rounds))


def between(truth, others, e):
    """The first option against the second, while so many of the other users hold each of all options."""
    held = [(0, x) for x, count in enumerate(others) for _ in range(count)]
    return truth.between([(0, 0), *held], [(0, 1), *held], e)


@pytest.mark.parametrize("key", [pytest.param(key, marks=[pytest.mark.slow] * (i > 0)) for i, key in enumerate(EXACT)])
def test_exact_fractions_and_brackets(key):
    p, q, e = map(F, key)
    mechanism = sa.UnaryEncoding(p=key[0], q=key[1], D=3)
    for n, told in zip((2, 3, 4), EXACT[key], strict=True):
        world = summed(3, p, q, n)
        truth = world.delta(e)
        assert truth == F(told)
        low, high = ends(sa.profile(mechanism, n=n, view="coordinates").delta(f"log({e})", gap=0.1))
        at_x0 = between(world, (n - 1,), e)
        assert at_x0 * (1 - F(1, 10**12)) <= low <= truth <= high


def sums(p, q, n, held, delta="1e-9"):
    with at_precision(128):
        return UnarySums(number(p), number(q), n, held, float(arb(failure_probability(delta)).log()))


@pytest.mark.parametrize(("n", "size"), [(1, 2), (2, 2), (2, 3), (5, 3), (12, 2)])
def test_the_lower_end_is_that_of_the_data_sets(n, size):
    for p, q, e in (("3/4", "1/4", "6/5"), ("9/10", "1/20", "3"), ("1/2", "1/5", "1")):
        world, level = summed(size, p, q, n), level_of(budget(f"log({e})"))
        for held in UnarySums.candidates(n, size):
            truth = between(world, (*held, n - 1 - sum(held)), F(e))
            made = sums(budget(p), budget(q), n, held)
            found = made.divergence(level)
            with at_precision(192):
                assert abs(found - arb(truth.numerator) / truth.denominator) < 1e-40
            assert made.estimate(level) == pytest.approx(float(truth), rel=1e-12, abs=1e-15)


DRAFT = {"5": 0.297408154759, "13/2": 0.700164503498, "7": 0.950456935756}


@pytest.mark.parametrize("eps0", DRAFT)
def test_the_lower_ends_of_the_draft(eps0):
    """n = 10^5, delta = 10^-9: bits flipped with probability 1/(e^eps0 + 1), all others at the victim's first input."""
    p, q = sa.UnaryEncoding.rappor(D=100, eps0=f"2*({eps0})").probabilities()
    made = sums(p, q, 10**5, (10**5 - 1, 0))
    with at_precision(192):
        delta = arb(failure_probability("1e-9"))
    found = made.epsilon(delta, 2.0)
    assert found == pytest.approx(DRAFT[eps0], rel=1e-11)
    assert all(sums(p, q, 10**5, x).epsilon(delta, 2.0) <= found for x in UnarySums.candidates(10**5, 100))


@pytest.mark.parametrize("delta", ["1e-100", "1e-250", "1e-400"])
def test_lower_ends_of_small_deltas_are_attained(delta):
    p, q = sa.UnaryEncoding.oue(D=9, eps0=2).probabilities()
    made = sums(p, q, 300, (299, 0), delta)
    eps, given = made.epsilon(arb(failure_probability(delta)), 4.0), arb(failure_probability(delta))
    with at_precision(192):
        assert made.divergence(level_of(budget(eps))) > given > made.divergence(level_of(budget(eps * (1 + 1e-6))))


def bit_sum(counts, chances, extra):
    """The law of a sum of bits of two kinds and of one more, in doubles; chances below 1e-30 are left out."""
    found = np.array([1 - extra, extra])
    for n, p in zip(counts, chances, strict=True):
        law = binom.pmf(np.arange(n + 1), n, p)
        kept = np.nonzero(law > 1e-30)[0]
        found = np.convolve(found, law[kept[0] : kept[-1] + 1])
    return found


COLUMNS = {  # of the other users so many hold the victim's first input, so many the second; None: one bit alone
    (99_999, 0): (0.297408154759, 0.700164503498, 0.950456935756),
    (0, 0): (0.284737409498, 0.645246546149, 0.863794819780),
    (49_999, 50_000): (0.281791892676, 0.612834748026, 0.790020134249),
    (0, None): (0.211952442599, 0.515008740170, 0.714759210809),
}


@pytest.mark.parametrize("held", COLUMNS)
def test_the_data_sets_of_the_draft(held):
    others = 10**5 - 1
    for eps0, eps in zip((5, 6.5, 7), COLUMNS[held], strict=True):
        p = 1 / (1 + np.exp(-eps0))
        q, e = 1 - p, np.exp(eps)
        u0, u1 = (bit_sum((held[0], others - held[0]), (p, q), x) for x in (p, q))
        if held[1] is None:
            found = np.maximum(u1 - e * u0, 0).sum()
        else:
            v0, v1 = (bit_sum((held[1], others - held[1]), (p, q), x) for x in (q, p))
            found = np.maximum(np.outer(u0, v0) - e * np.outer(u1, v1), 0).sum()
        assert found == pytest.approx(1e-9, rel=1e-7, abs=0)


@pytest.mark.parametrize(
    ("eps0", "low", "high"), [("5", 5.69596, 5.69965), ("13/2", 9.27149, 9.27196), ("7", 10.56738, 10.56763)]
)
def test_the_vectors_of_the_draft(eps0, low, high):
    """Shuffled whole, in place of sums."""
    found = sa.epsilon(sa.UnaryEncoding.rappor(D=100, eps0=f"2*({eps0})"), n=10**5, delta="1e-9")
    assert low <= found.lower <= found.upper <= high


@pytest.mark.parametrize(("size", "p", "q"), some([(2, "3/4", "1/4"), (3, "1/2", "1/5"), (3, "3/4", "1/4")], 2))
def test_two_collections_from_below(size, p, q):
    n, e = 4, F(6, 5)
    world, mechanism = summed(size, p, q, n, rounds=2), sa.UnaryEncoding(p=p, q=q, D=size)
    truth = max(between(world, x, e) for x in ((n - 1,), (0, n - 1), (0, 0, n - 1))[:size])
    low, high = ends(sa.profile(mechanism, n=n, view="coordinates").rounds(2).delta(f"log({e})", gap=1e-3))
    assert 0.98 * truth <= low <= truth <= high


@pytest.mark.slow
def test_many_collections_are_enclosed():
    rounds = sa.profile(sa.UnaryEncoding.oue(D=16, eps0=2), n=10**4, view="coordinates").rounds(10)
    found = rounds.epsilon("1e-8")
    assert 0.2512 < found.lower < found.upper < 0.2524


def test_whole_messages_tell_more():
    for key, told in (("3/4", ("569/1280", "8279/20480")), ("1/2", ("29/125", "12199/62500"))):
        (p, q, e), sums = next((k, v) for k, v in EXACT.items() if k[0] == key)
        for n, whole, summed in zip((2, 3), told, sums, strict=False):
            truth = Truth(World((Group(n, Unary(3, F(p), F(q))),))).delta(F(e))
            assert truth == F(whole) > F(summed)


UPPER = {"5": 0.29780, "13/2": 0.70158, "7": 0.95299}


@pytest.mark.slow
@pytest.mark.parametrize("eps0", DRAFT)
def test_the_brackets_of_the_draft(eps0):
    mechanism = sa.UnaryEncoding.rappor(D=100, eps0=f"2*({eps0})")
    found = sa.epsilon(mechanism, n=10**5, delta="1e-9", view="coordinates")
    assert found.lower == pytest.approx(DRAFT[eps0], rel=1e-9)
    assert found.lower < found.upper < UPPER[eps0]
    told = verify(json.dumps(found.certificate()))
    assert told.status == "valid"
    assert "sums of the 100 bits" in told.reason


def test_joint_mechanisms():
    coin = sa.RandomizedResponse(k=2, eps0="log(3)")
    both = sa.joint([coin, coin])
    seen = sa.profile(both, n=3, view="coordinates").delta("log(6/5)", gap=0.1)
    low, high = ends(seen)
    assert low <= Truth(World((Group(3, Joint((response(2),) * 2)),), seen=Coordinates())).delta(F(6, 5)) <= high
    assert seen.upper < sa.delta(both, n=3, eps="log(6/5)").upper


def certified(size=3, **asked):
    mechanism = sa.UnaryEncoding(p="3/4", q="1/4", D=size)
    found = (sa.delta if "eps" in asked else sa.epsilon)(mechanism, n=4, view="coordinates", gap=0.1, **asked)
    return found, found.certificate()


def test_certificates_claim_both_ends():
    for asked in ({"eps": "1/5"}, {"delta": "1/5"}):
        found, data = certified(**asked)
        told = verify(json.dumps(data))
        assert told.status == "valid"
        assert F(found.lower) * (1 - F(1, 10**15)) <= F(data["claim"]["lower"]) <= F(data["claim"]["upper"])
        assert F(data["claim"]["lower"]) > 0
        check_document(data, "certificate")
    world, (_, data) = summed(3, "3/4", "1/4", 4), certified(eps="1/5")
    assert F(data["claim"]["lower"]) <= world.delta(F("1.221"))  # e^(1/5) = 1.2214...
    assert F(data["claim"]["upper"]) >= world.delta(F("1.222"))


@pytest.mark.parametrize(("p", "q", "n", "eps"), [("29/50", "3/10", 3, 0), ("3/4", "1/4", 4, "log(4)")])
def test_ends_that_are_attained_have_certificates(p, q, n, eps):
    """Balls cannot tell that a number is at least itself."""
    found = sa.profile(sa.UnaryEncoding(p=p, q=q, D=2), n=n, view="coordinates").delta(eps, gap=0.1)
    assert verify(json.dumps(found.certificate())).status == "valid"


def refused(data):
    return verify(json.dumps(data)).status != "valid"


def test_forged_certificates_are_refused():
    found, data = certified(delta="1/5")
    above = str(F(found.upper) * F(99, 100))
    too_much = data | {"claim": data["claim"] | {"lower": above}, "below": data["below"] | {"eps": above}}
    assert refused(too_much)
    setting, (evidence,) = data["settings"][0], data["below"]["evidence"]

    def with_setting(**words):
        return data | {"settings": [setting | words]}

    assert refused(with_setting(coordinates=1))
    assert refused(
        with_setting(coordinates=2, count=1) | {"below": data["below"] | {"evidence": [evidence | {"held": [0, 0]}]}}
    )  # of two options everybody holds one
    assert refused(data | {"settings": [{k: v for k, v in setting.items() if k != "coordinates"}]})
    assert refused(data | {"settings": [{k: v for k, v in setting.items() if k != "coordinates"} | {"count": 2}]})
    for change in ({"held": [4, 0]}, {"held": [-1, 0]}, {"counts": [[0, 9], [0, 4]]}, {"counts": [[0, 4]]}):
        assert refused(data | {"below": data["below"] | {"evidence": [evidence | change]}})
    whole = sa.delta(sa.RandomizedResponse(k=2, eps0=1), n=4, eps="1/5", method="blanket").certificate()
    assert refused(whole | {"settings": [whole["settings"][0] | {"coordinates": 3}]})
    three = sa.RandomizedResponse(k=3, eps0=1).table()
    rounds = sa.profile(three, n=3).rounds(2).epsilon("1/5", gap=0.1).certificate()
    assert refused(rounds | {"settings": [rounds["settings"][0] | {"coordinates": 3, "count": 1}]})
    # The lower curve of two rounds is about one data set for both, which is none of a unary encoding.
    two = sa.RandomizedResponse(k=2, eps0=1).table()
    rounds = sa.profile(two, n=4).rounds(2).epsilon("1/5", gap=0.1).certificate()
    assert not refused(rounds)
    assert refused(rounds | {"settings": [rounds["settings"][0] | {"coordinates": 3, "count": 1}]})


def random_claim(rng):
    """A certificate of a lower end alone, near the truth for its data sets, with whatever counts; if it is true."""
    q = F(rng.randint(1, 8), 20)
    p, size, n = q + F(rng.randint(1, 10), 20), rng.choice((2, 3)), rng.randint(1, 4)
    a = rng.randint(0, n - 1)
    held = [a, n - 1 - a if size == 2 or rng.random() < 0.3 else rng.randint(0, n - 1 - a)]
    counts = [[0, n] if rng.random() < 0.7 else sorted(rng.choices(range(n + 1), k=2)) for _ in range(2)]
    eps, truth_at = "1/5", (F("1.2214"), F("1.2215"))  # e^(1/5) is between
    world = summed(size, p, q, n)
    most, least = (between(world, (*held, n - 1 - sum(held)), e) for e in truth_at)
    claimed = most * rng.choice((F(1, 2), F(99, 100), F(9999, 10000), F(1001, 1000), F(3, 2)))
    rows = [[str(1 - x), str(x)] for x in (p, q)]
    mechanism = {"kind": "table", "inputs": ["1", "0"], "compared": None, "rows": rows, "rounded": None}
    setting = {"name": "", "count": 1, "rate": "1", "shuffled": "messages", "kept": "1", "coordinates": size}
    setting["groups"] = [{"users": n, "victim": True, "mechanism": mechanism}]
    evidence = {"kind": "sums of coordinates", "held": held, "counts": counts}
    data = {"format": "symamp-certificate", "version": VERSION, "settings": [setting], "above": None, "supposed": []}
    data["claim"] = {"quantity": "delta", "eps": eps, "lower": str(claimed), "upper": "1"}
    data["below"] = {"eps": eps, "precision": 128, "evidence": [evidence]}
    return data, claimed <= most, counts == [[0, n]] * 2 and claimed < least


def test_no_false_claim_about_sums_is_accepted():
    rng, accepted = Random("sums of coordinates"), 0
    for _ in range(100):
        data, is_true, is_proved = random_claim(rng)
        status = verify(json.dumps(data)).status
        assert status != "valid" or is_true
        accepted += status == "valid"
        assert status == "valid" or not is_proved
    assert accepted > 20


def test_the_view_on_all_doors(monkeypatch, capsys):
    mechanism = sa.UnaryEncoding.oue(D=4, eps0=1)
    seen = sa.profile(mechanism, n=3, view="coordinates")
    by_eps, by_delta = seen.delta("1/4", gap=0.1), seen.epsilon("1/10", gap=0.1)
    assert sa.delta(mechanism, n=3, eps="1/4", view="coordinates", gap=0.1) == by_eps
    assert sa.epsilon(mechanism, n=3, delta="1/10", view="coordinates", gap=0.1) == by_delta
    words = ("--D", "4", "--eps0", "1", "--n", "3", "--view", "coordinates", "--gap", "0.1", "--json")
    told = json.loads(run(monkeypatch, capsys, "epsilon", "oue", "--delta", "1/10", *words)[1])
    assert (told["lower"], told["upper"]) == (by_delta.lower, by_delta.upper)


def test_no_end_is_above_the_local_budget():
    for n in (1, 3):
        found = sa.epsilon(sa.UnaryEncoding.oue(D=4, eps0=1), n=n, delta="1e-12", view="coordinates", gap=0.1)
        assert 0.9 < found.lower < found.upper == pytest.approx(1)  # two bits alone could lose 1.24
    assert sa.delta(sa.UnaryEncoding.oue(D=4, eps0=1), n=3, eps=1, view="coordinates", gap=0.1).upper == 0


@pytest.mark.parametrize("odd", [None, 1.5, b"coordinates", ["coordinates"], 0, "5/2"])
def test_words_of_other_kinds_are_refused(odd):
    oue = sa.UnaryEncoding.oue(D=3, eps0=1)
    with pytest.raises(SymampError):
        sa.epsilon(oue, n=3, delta="1/10", view=odd)
    with pytest.raises(SymampError):
        sa.profile(oue, n=3, view="coordinates").rounds(odd)


@pytest.mark.slow
def test_bits_that_hardly_differ():
    """Where divergences are tiny, boxes are not made as small as they could be."""
    found = sa.delta(sa.UnaryEncoding(p="500001/1000000", q="1/2", D=5), n=20, eps="1e-9", view="coordinates", gap=0.1)
    assert 0 < found.lower < found.upper < 1.1 * found.lower


def test_very_many_users_have_the_lower_end_of_one_bit(monkeypatch):
    mechanism = sa.UnaryEncoding.oue(D=4, eps0=1)
    whole = sa.delta(mechanism, n=7, eps="1/10", view="coordinates", gap=0.1)
    monkeypatch.setattr("symamp.sums.coordinate_sums._MOST_COUNTS", 10)
    found = sa.delta(mechanism, n=7, eps="1/10", view="coordinates", gap=0.1)
    assert 0 < found.lower < whole.lower
    assert found.upper == whole.upper


@pytest.mark.parametrize(
    ("p", "q", "E", "n", "worst"),
    [
        ("1/2", "1/100", "3/2", 2, (0, 0)),
        ("1/2", "1/20", "8", 2, (1, 0)),
        ("9/10", "1/5", "4", 3, (1, 1)),
        ("9/10", "1/100", "11/10", 5, (0, 4)),
        ("1/2", "1/4", "1", 5, (0, 1)),
        ("3/5", "2/5", "1", 5, (0, 2)),
        ("39/50", "11/50", "4", 5, (3, 0)),
    ],
)
def test_the_worst_counts_are_any(p, q, E, n, worst):
    """How many others hold each of the two inputs: all at a third one, at either, or at both, not only in corners."""
    world, held = summed(3, p, q, n), [(a, b) for a in range(n) for b in range(n - a)]
    found = {at: between(world, (*at, n - 1 - sum(at)), F(E)) for at in held}
    assert max(found, key=found.get) == worst
    told = sa.delta(sa.UnaryEncoding(p=p, q=q, D=3), n=n, eps=f"log({E})", view="coordinates", gap=0.1)
    assert found[worst] * (1 - F(1, 10**12)) <= F(told.lower) <= found[worst] <= F(told.upper)


def test_users_who_do_not_count():
    mechanism = sa.UnaryEncoding.oue(D=4, eps0=1)
    few = sa.delta(mechanism, n=3, eps="1/4", view="coordinates", gap=0.1)
    for n, who in ((8, {"colluders": 5}), (4, {"colluding_share": "1/4"}), (50, {"batches": 3})):
        found = sa.delta(mechanism, n=n, eps="1/4", view="coordinates", gap=0.1, participation=sa.participation(**who))
        assert found == few


@pytest.mark.slow
def test_questions_backwards():
    mechanism, asked = sa.UnaryEncoding.oue(D=4, eps0=1), {"view": "coordinates"}
    n = sa.least_n(mechanism, eps="1/4", delta="1/100", **asked)
    assert n.lower <= n.upper
    assert sa.delta(mechanism, n=n.upper, eps="1/4", gap=0.05, **asked).lower <= 0.01
    assert sa.delta(mechanism, n=n.lower - 1, eps="1/4", gap=0.05, **asked).upper > 0.01
    rounds = sa.most_rounds(mechanism, n=50, eps=1, delta="1/100", **asked)
    assert rounds.lower == sa.most_rounds(sa.profile(mechanism, n=50, **asked), eps=1, delta="1/100").lower


@pytest.mark.slow
def test_questions_backwards_of_eps0_and_of_joints():
    asked = {"view": "coordinates", "eps": "1/4", "delta": "1/100"}
    largest = sa.largest_eps0(sa.UnaryEncoding.oue(D=4), n=50, **asked)
    for eps0, is_private in ((largest.lower, True), (largest.upper, False)):
        found = sa.delta(sa.UnaryEncoding.oue(D=4, eps0=eps0), n=50, eps="1/4", view="coordinates", gap=0.01)
        assert found.lower <= 0.01 if is_private else found.upper > 0.01
    colluding = sa.participation(colluders=5)
    joint = sa.joint([sa.RandomizedResponse(k=2, eps0=1)] * 2)
    n = sa.least_n(joint, participation=colluding, **asked)
    assert n.lower == 5 + sa.least_n(joint, **asked).lower


def test_tables_of_questions(monkeypatch, capsys, tmp_path):
    mechanism, asked = sa.UnaryEncoding.oue(D=4, eps0=1), {"view": "coordinates"}
    one = sa.delta(mechanism, n=3, eps="1/4", gap=0.1, **asked)
    file = tmp_path / "points.jsonl"
    found = sa.sweep(mechanism, n=3, eps="1/4", gap=0.1, file=file, **asked)
    assert (found.lower.item(), found.upper.item()) == (one.lower, one.upper)
    assert sa.sweep(mechanism, n=3, eps="1/4", gap=0.1, file=file).lower.item() != one.lower  # another question
    table = sa.compare(mechanism, n=3, eps="1/4", names=["data_set", "blanket"], **asked)
    assert table["data_set"].value == table.truth.lower < table.truth.upper < table["blanket"].value
    assert table.truth.n == 3
    words = ("oue", "--D", "4", "--eps0", "1", "--n", "3", "--eps", "1/4", "--view", "coordinates")
    told = run(monkeypatch, capsys, "curve", *words)[1]
    assert "delta in" in told
    code, _, refused = run(monkeypatch, capsys, "curve", *words, "--participation", "leaks=1/10")
    assert code == 2
    assert "by colluders or batches" in refused
    rounds = tmp_path / "rounds.toml"
    rounds.write_text('[[round]]\nmechanism = "oue"\nD = 4\neps0 = 1\nn = 3\nrounds = 2\nview = "coordinates"\n')
    told = json.loads(run(monkeypatch, capsys, "compose", str(rounds), "--eps", "1/4", "--gap", "0.1", "--json")[1])
    assert told["upper"] == sa.profile(mechanism, n=3, **asked).rounds(2).delta("1/4", gap=0.1).upper


@pytest.mark.slow
def test_two_rounds_have_a_largest_budget():
    """Estimates of bounds far beyond the local budget are no numbers that a curve may have."""
    found = sa.largest_eps0(
        sa.families.UnaryEncoding.oue(D=4), n=1000, eps=1, delta="1e-8", rounds=2, view="coordinates"
    )
    assert 3.6 < found.lower < 4
    one = sa.profile(sa.families.UnaryEncoding.oue(D=4, eps0=str(found.lower)), n=1000, view="coordinates")
    assert one.rounds(2).delta(1).upper <= 1e-8
