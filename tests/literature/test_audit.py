"""The audit of printed formulas: every finding, and that a wrong formula is caught."""

import json
import math
import re
from fractions import Fraction
from functools import cache

import pytest
import sympy as sp
from published.__main__ import main
from published.audit import Printed, audit, check
from published.printed import PRINTED
from published.statements import statements

from tests.oracle.histograms import randomized_response as response
from tests.oracle.users_who_differ import messages_shuffled
from tests.sampled import some


@cache
def findings():
    return list(audit())


def verdicts(place, slug):
    return {f.printed.quantity: f.verdict for f in findings() if (f.printed.place, f.printed.slug) == (place, slug)}


@pytest.mark.parametrize("slug", ["krr", "local-hashing", "rappor", "oue"])
def test_table_2_of_000_is_right(slug):
    assert verdicts("Su, Cheng, Wang (2025), Table 2", slug) == dict.fromkeys("pqr", "agrees exactly")


def test_hadamard_row_of_000_is_only_a_limit():
    assert verdicts("Su, Cheng, Wang (2025), Table 2", "hadamard-response") == {
        "p": "agrees exactly",
        "q": "agrees in the limit",
        "r": "agrees in the limit",
    }
    (found,) = [
        f
        for f in findings()
        if (f.printed.place, f.printed.slug, f.printed.quantity)
        == ("Su, Cheng, Wang (2025), Table 2", "hadamard-response", "q")
    ]
    sizes, printed, exact = found.counterexample
    t, size = sp.exp(sizes["eps0"]), sizes["K"]
    assert printed == 1 / (2 * (t + 1))
    assert exact == 1 / (2 * (t + 1)) - 2 / (size * (t + 1))


@pytest.mark.parametrize("slug", ["local-hashing", "rappor", "oue"])
def test_table_3_of_000_is_a_limit(slug):
    assert set(verdicts("Su, Cheng, Wang (2025), Table 3", slug).values()) <= {"agrees exactly", "agrees in the limit"}


def test_beta_of_002():
    by_slug = {f.printed.slug: f.verdict for f in findings() if f.printed.quantity in ("beta", "ratio")}
    differing = {slug for slug, verdict in by_slug.items() if verdict != "agrees exactly"}
    assert differing == {"local-hashing", "sampling-rappor", "priv-kv", "duchi-vector-even"}
    for f in findings():
        assert (f.verdict == "agrees exactly") == (f.counterexample is None)


def in_fractions(formula, sizes):
    """A printed formula at e^eps0 = 9, by Python's own arithmetic."""
    text = re.sub(r"\b(\d+)\b", r"F(\1)", formula)
    names = {"F": Fraction, "exp": lambda x: Fraction(3) ** int(2 * x), "eps0": Fraction(1)}
    names["binomial"] = lambda n, k: Fraction(math.comb(int(n), int(k)) if n >= 0 <= k else 0)
    return eval(text, names | {name: Fraction(value) for name, value in sizes.items()})


def by_table(rows, pair, quantity):
    """A quantity of a table of fractions, message by message: the masses are those of the least entries of columns."""
    if quantity == "beta":
        return max(sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 2 for a in rows for b in rows)
    if quantity == "ratio":
        return max(x / y for a in rows for b in rows for x, y in zip(a, b, strict=True) if y)
    columns = [column for column in zip(*rows, strict=True) if min(column)]
    ratios = {"p": (9, 1), "q": (9, 9), "r": (1, 1)}
    if quantity == "null":
        return 1 - sum(map(min, columns))
    return sum(min(c) for c in columns if tuple(c[x] / min(c) for x in pair) == ratios[quantity])


@pytest.mark.parametrize("row", some(PRINTED, 31), ids=lambda row: f"{row.place} {row.slug} {row.quantity}")
def test_verdicts_in_fractions(row):
    """Each row with its small members at e^eps0 = 9: equal at all of them, or different at one, as the audit says."""
    (found,) = (f for f in findings() if f.printed == row)
    fixed, equal = dict(row.fixed), []
    for small in type(row.family).small:
        sizes = {name: value for name, value in small.items() if name not in ("eps0", *fixed)}
        if any(small.get(name, value) != value for name, value in fixed.items()):
            continue
        table = row.family.at(**sizes, eps0="log(9)").table()
        if len(table.inputs) < 20:
            rows = [[Fraction(int(p.p), int(p.q)) for p in line] for line in table.rows]
            pair = [table.inputs.index(x) for x in table.pairs()[0]]
            equal.append(by_table(rows, pair, row.quantity) == in_fractions(row.formula, sizes | fixed))
    assert equal
    assert all(equal) == (found.verdict == "agrees exactly")


def test_a_wrong_formula_is_caught():
    found = check(Printed("here", "krr", "p", "1/(exp(eps0) + k)"))
    assert found.verdict == "differs"
    assert found.counterexample[1:] == (sp.Rational(1, 5), sp.Rational(1, 4))
    assert check(Printed("here", "krr", "p", "1/(exp(eps0) + k)", "k")).verdict == "agrees in the limit"


def test_everything_is_printed(capsys):
    main(["--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [r["place"] for r in rows[: len(findings())]] == [f.printed.place for f in findings()]
    places = {r["place"] for r in rows}
    assert places >= {f"Wang (2023), Table {i}" for i in range(1, 6)} | {
        f"Su, Cheng, Wang (2025), Table {i}" for i in range(1, 4)
    }
    assert {"Wang (2023), Theorem 4.1", "Wang (2023), Theorem 6.1"} <= {
        r["place"] for r in rows if r["verdict"] == "refuted"
    }


def test_statements_of_002():
    """Counterexamples by hand: two users hold 0 and 0, or 2 and 0, and send 0 both (clipped noise)."""
    found = {}
    for s in statements():
        found.setdefault(s.place, []).append(s)
    (metric,), (parallel,) = found["Wang (2023), Theorem 4.2, Table 2"], found["Wang (2023), Theorem 6.1"]
    assert (metric.verdict, metric.case) == ("refuted", "ratio 2 on 0..2, inputs 0 and 2, n = 2, E = 3")
    assert Fraction(metric.exact) == Fraction(2, 3) ** 2 - 3 * Fraction(1, 6) * Fraction(2, 3)
    assert Fraction(metric.printed) == Fraction(1, 12)
    assert (parallel.exact, parallel.printed) == ("8/225", "4/225")
    assert {s.verdict for s in found["Wang (2023), Table 4"]} == {"above the certified value"}
    assert len(found["Wang (2023), Table 4"]) == 24
    assert {s.verdict for s in found["Wang (2023), Table 2"]} == {"agrees exactly", "impossible"}
    assert {s.verdict for s in found["Wang (2023), Table 1"]} == {"agrees exactly"}


def test_the_smallest_parallel_counterexample_by_exhaustion():
    """Range queries, t = 2, two users, E = 7/4, leaves 0 and 2: all other inputs tried."""
    leaf, half = response(4, Fraction(2)), response(2, Fraction(2))
    table = [[v / 2 for v in leaf[x]] + [v / 2 for v in half[x // 2]] for x in range(4)]
    assert messages_shuffled([table[0], table[2]], [table], Fraction(7, 4)) == Fraction(8, 225)
