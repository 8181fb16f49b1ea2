"""Multi-message protocols: exact triples against exhaustion, and the verdicts on the printed rows."""

import itertools
from fractions import Fraction

import pytest
from published.table_three import audit_table_three, balcer_cheu, balls_into_bins, cheu_zhilyaev, mix_dump

import symamp as sa
from symamp.errors import ArgumentError
from tests.oracle.laws import above, histogram

F = Fraction
FINDINGS = list(audit_table_three())


def by_hand(real0, real1, blanket, blankets, E):
    """The divergence of the multisets, by exhaustion."""
    laws = [histogram([row] + [blanket] * blankets) for row in (real0, real1)]
    return max(above(a, b, E) for a, b in itertools.permutations(laws, 2))


@pytest.mark.parametrize(
    ("protocol", "blankets", "order", "exact"),
    [
        (balcer_cheu("1/4"), 7, 2, F(729, 4096)),
        (balcer_cheu("1/2"), 7, 2, F(13, 128)),
        (balls_into_bins(6, 2), 3, 2, F(1, 3)),
        (mix_dump(5, "1/4"), 3, 4, F(103, 1000)),
        (cheu_zhilyaev("1/4"), 1, 2, F(75, 256)),
        (cheu_zhilyaev("1/4"), 7, 4, F(20893869, 2**32)),
    ],
)
def test_exact_values(protocol, blankets, order, exact):
    """Exact: computed by enumeration of histograms, independently of the package."""
    assert protocol.divergences(blankets, order)[0] == exact


def test_the_triples_are_those_of_the_protocols():
    """From the definitions, message by message, on small message spaces."""
    f, E = F(1, 4), F(2)
    vectors = list(itertools.product((0, 1), repeat=3))

    def noisy(x):
        return [_chance(x, y, f) for y in vectors]

    real0, real1, blanket = noisy((1, 0, 0)), noisy((0, 1, 0)), noisy((0, 0, 0))
    assert by_hand(real0, real1, blanket, 2, E) == cheu_zhilyaev("1/4").divergences(2, 2)[0]
    d, flip = 4, F(1, 5)
    rows = [[1 - flip if x == y else flip / (d - 1) for y in range(d)] for x in range(2)]
    assert by_hand(*rows, [F(1, d)] * d, 3, E) == mix_dump(4, "1/5").divergences(3, 2)[0]
    bins = [[F(1, 2), F(1, 2), 0, 0, 0], [0, 0, F(1, 2), F(1, 2), 0]]
    bins = [[F(x) for x in row] for row in bins]
    assert by_hand(*bins, [F(1, 5)] * 5, 3, E) == balls_into_bins(5, 2).divergences(3, 2)[0]


def _chance(x, y, f):
    result = F(1)
    for a, b in zip(x, y, strict=True):
        result *= 1 - f if a == b else f
    return result


def test_the_printed_values_of_the_refuted_row():
    assert cheu_zhilyaev("1/4").divergences(1, 2)[1] == F(73, 256)
    assert float(cheu_zhilyaev("1/4").divergences(7, 4)[1]) == pytest.approx(0.00159472, rel=1e-5)
    assert float(balcer_cheu("1/4").divergences(7, 2)[1]) == pytest.approx(0.2239, rel=1e-3)


def test_the_full_protocol_refutes_the_row_too():
    """Two users with two blankets each, the other's real message counted: f = 1/4, E = 4."""
    f, E = F(1, 4), F(4)
    vectors = list(itertools.product((0, 1), repeat=2))
    law = {x: [_chance(x, y, f) for y in vectors] for x in vectors}
    worst = F(0)
    for other in ((1, 0), (0, 1)):
        rest = [law[other]] + [law[0, 0]] * 4
        laws = [histogram([law[x], *rest]) for x in ((1, 0), (0, 1))]
        worst = max([worst, *(above(a, b, E) for a, b in itertools.permutations(laws, 2))])
    assert worst == F(125631, 8388608)
    assert cheu_zhilyaev("1/4").divergences(4, 4)[1] == F(11907, 1048576)
    assert worst > F(11907, 1048576)


def test_verdicts():
    verdicts = {}
    for f in FINDINGS:
        verdicts.setdefault(f.protocol.name, set()).add(f.verdict)
    assert verdicts == {
        "Balcer, Cheu": {"safe", "exact"},
        "balls into bins": {"exact"},
        "pureDUMP": {"exact"},
        "mixDUMP": {"exact"},
        "Cheu, Zhilyaev": {"refuted"},
    }
    for f in FINDINGS:
        if f.case is not None:
            assert (f.case[2] > f.case[3]) == (f.verdict == "refuted")


def test_a_protocol_is_asked_like_any_triple():
    protocol = cheu_zhilyaev("2/5")
    answer = sa.delta(protocol.triple, n=30, eps="log(123/100)")
    assert answer.lower <= 0.00109377476 * (1 + 1e-8)
    assert answer.upper >= 0.00109377476 * (1 - 1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: balcer_cheu(0),
        lambda: balcer_cheu(1),
        lambda: balls_into_bins(4, 3),
        lambda: balls_into_bins(4, "1/2"),
        lambda: mix_dump(1),
        lambda: mix_dump(3, "3/4"),
        lambda: cheu_zhilyaev("1/2"),
    ],
)
def test_what_is_refused(call):
    with pytest.raises(ArgumentError):
        call()
