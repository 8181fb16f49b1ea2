"""The audit of printed formulas: every finding, and that a wrong formula is caught."""

import json

import pytest
import sympy as sp

from symamp.command_line.cli import main
from symamp.literature.audit import Printed, audit, check

FINDINGS = list(audit())


def verdicts(place, slug):
    return {f.printed.quantity: f.verdict for f in FINDINGS if (f.printed.place, f.printed.slug) == (place, slug)}


@pytest.mark.parametrize("slug", ["krr", "local-hashing", "rappor", "oue"])
def test_table_2_of_000_is_right(slug):
    assert verdicts("000 Table 2", slug) == dict.fromkeys("pqr", "agrees exactly")


def test_hadamard_row_of_000_is_only_a_limit():
    assert verdicts("000 Table 2", "hadamard-response") == {
        "p": "agrees exactly",
        "q": "agrees in the limit",
        "r": "agrees in the limit",
    }
    (found,) = [
        f
        for f in FINDINGS
        if (f.printed.place, f.printed.slug, f.printed.quantity) == ("000 Table 2", "hadamard-response", "q")
    ]
    sizes, printed, exact = found.counterexample
    t, size = sp.exp(sizes["eps0"]), sizes["K"]
    assert printed == 1 / (2 * (t + 1))
    assert exact == 1 / (2 * (t + 1)) - 2 / (size * (t + 1))


@pytest.mark.parametrize("slug", ["local-hashing", "rappor", "oue"])
def test_table_3_of_000_is_a_limit(slug):
    assert set(verdicts("000 Table 3", slug).values()) <= {"agrees exactly", "agrees in the limit"}


def test_beta_of_002():
    by_slug = {f.printed.slug: f.verdict for f in FINDINGS if f.printed.quantity in ("beta", "ratio")}
    differing = {slug for slug, verdict in by_slug.items() if verdict != "agrees exactly"}
    assert differing == {"local-hashing", "sampling-rappor", "priv-kv", "duchi-vector-even"}
    for f in FINDINGS:
        assert (f.verdict == "agrees exactly") == (f.counterexample is None)


def test_a_wrong_formula_is_caught():
    found = check(Printed("here", "krr", "p", "1/(exp(eps0) + k)"))
    assert found.verdict == "differs"
    assert found.counterexample[1:] == (sp.Rational(1, 5), sp.Rational(1, 4))
    assert check(Printed("here", "krr", "p", "1/(exp(eps0) + k)", "k")).verdict == "agrees in the limit"


def test_command_line(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["symamp", "audit", "--json"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == len(FINDINGS)
