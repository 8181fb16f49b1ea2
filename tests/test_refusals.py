"""What is too large, unknown or nobody's business is refused at once, whatever the mechanism; and progress is told."""

import io
import json
from math import inf

import pytest
import sympy as sp
from rich.console import Console

import symamp as sa
from symamp.bounds.blanket import BLANKET
from symamp.command_line import cli, output
from symamp.decompositions.printing import text
from symamp.laws.law import Level
from symamp.randomizers.catalogue import catalogue
from symamp.sums.divergence import Settings

HUGE = 10**12
SIZED = {
    slug: [family.small[0] | {p.name: HUGE} for p in family.declared if p.integer]
    for slug, family in catalogue().items()
}


@pytest.mark.parametrize("slug", SIZED)
def test_labels_that_a_member_does_not_have_are_refused(slug):
    member = catalogue()[slug](**catalogue()[slug].small[0])
    first = member.inputs[0]
    for labels in (("nobody",), (first, "nobody"), (first, first), 5, (None,)):
        with pytest.raises(sa.errors.UnknownInputError):
            member.orbits(labels)
    assert member.orbits(member.pairs()[0])


@pytest.mark.parametrize("slug", SIZED)
def test_a_table_that_is_too_large_is_refused_before_it_is_written(slug):
    for values in SIZED[slug]:
        try:
            member = catalogue()[slug](**values)
        except sa.errors.ArgumentError:  # sizes that do not fit together
            continue
        with pytest.raises(sa.errors.FormatError, match=r"table: got .*, expected "):
            member.table()


@pytest.mark.parametrize(
    "member",
    [
        sa.SquareWave.optimal(eps0=1),
        sa.Staircase.optimal(eps0=1),
        sa.PiecewiseMechanism(eps0=1),
        sa.SquareWave(b="1/1000003", eps0=1),
        sa.Staircase(g="1/1000003", eps0=1),
        sa.PiecewiseMechanism(eps0="2*log(1000003/1000000)"),
    ],
    ids=repr,
)
def test_a_table_of_windows_without_few_equal_cells_is_refused(member):
    with pytest.raises(sa.errors.SymampError, match=r"table: (got .*, expected|.* irrational length .*;) "):
        member.table()
    assert member.blanket()


@pytest.mark.parametrize("method", ["generic", "standard_clone", "blanket"])
def test_no_data_set_is_called_the_worst_unless_all_pairs_are_covered(method):
    """For (x0, x1), close to each other, one input attains the envelope; the worst pair is another one."""
    rows = [["3/4", "1/4"], ["5/7", "2/7"], ["4/5", "1/5"]]
    mechanism, eps = sa.FiniteMechanism(rows), "log(21/20)"
    found = sa.delta(mechanism, n=3, eps=eps, method=method).worst_data_set
    if found is not None:
        others = [found.others[0][0]] * 2
        value = sa.exact.divergence(mechanism, [found.x0, *others], [found.x1, *others], eps).exact
        assert value == sa.exact.worst_dataset(mechanism, 3, eps).value.exact


def test_a_named_worst_data_set_has_to_be_one_of_the_mechanism():
    answer = sa.delta(sa.OneBitMean(eps0="log(3)"), n=2, eps=0, method="generic")
    assert answer.to_dict()["worst_data_set"] in (None, str(answer.worst_data_set))
    assert set(vars(answer.worst_data_set)["others"] if answer.worst_data_set else ()) <= {("0", "1"), ("1", "1")}


def table(size):
    return [[(1 + (i * j + i + j) % 7) / 100 for j in range(size)] for i in range(size)]


def mechanism_of(size):
    rows = [[x / sum(row) for x in row] for row in table(size)]
    return sa.FiniteMechanism(rows, normalise=True)


def test_progress_is_told_up_to_the_end():
    told = []
    bound = BLANKET.bound(mechanism_of(12)).watched(lambda done, every: told.append((done, every)))
    bound.evidence(Level.of_float(0.05), 1000, Settings(gap=1e-2))
    assert {every for _, every in told} == {12 * 11}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[0][0] == 0
    assert told[-1][0] == 12 * 11


@pytest.mark.parametrize("terminal", [True, False])
def test_the_bar_is_for_terminals_only(terminal, monkeypatch, capsys, tmp_path):
    errors = io.StringIO()
    shown = Console(file=errors, force_terminal=terminal)
    monkeypatch.setattr(output, "Console", lambda **words: shown if words.get("stderr") else Console())
    rows = {f"x{i}": [1 + (i * j) % 5 for j in range(6)] for i in range(7)}
    table = {x: {f"y{j}": f"{w}/{sum(row)}" for j, w in enumerate(row)} for x, row in rows.items()}
    document = {"format": "symamp-mechanism", "version": 1, "name": "t", "table": table}
    file = tmp_path / "table.json"
    file.write_text(json.dumps(document | {"inputs": list(table), "messages": list(table["x0"])}))
    words = ["symamp", "delta", "--mechanism", str(file), "--n", "100", "--eps", "0.1", "--method", "blanket"]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("delta in [")
    assert ("pairs of inputs" in errors.getvalue()) == terminal


def test_a_certificate_of_many_rounds_is_printed_on_request(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    words = ["compose", "krr", "--k", "3", "--eps0", "1", "--n", "100", "--rounds", "2", "--delta", "1e-3"]
    monkeypatch.setattr("sys.argv", ["symamp", *words, "--gap", "1e-2", "--method", "blanket", "--certificate", "-"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert json.loads(capsys.readouterr().out)["format"]
    assert not list(tmp_path.iterdir())


def test_a_number_of_thousands_of_digits_is_shown_rounded():
    assert text(sp.Integer(3) ** 10_000) == "1.631350185e+4771..."


def test_a_mean_that_outweighs_the_spread_needs_a_small_tilt():
    rows = {"x0": ["1", "0"], "x1": ["3/4", "1/4"], "x2": ["1", "0"], "x3": ["3/5", "2/5"]}
    table = sa.FiniteMechanism({x: dict(zip("ab", row, strict=True)) for x, row in rows.items()})
    assert sa.least_n(table, eps="1/2", delta="1e-400", method="blanket").upper == inf


def test_the_table_of_ten_thousand_attributes_is_refused_at_once():
    """Its number of inputs has more digits than Python prints."""
    with pytest.raises(sa.errors.FormatError, match="got 10\\^18 or more inputs"):
        sa.joint([sa.SubsetSelection(d=6, k=2, eps0=1)] * 10**4).table()
