"""What is too large, unknown or nobody's business is refused at once, whatever the mechanism; and progress is told."""

import inspect
import io
import json
import pickle
import re
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
from tests.command import run

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


PROFILE = sa.profile(sa.RandomizedResponse(k=2, eps0=1), n=10)
CALLED = {name: getattr(sa, name) for name in sa.__all__ if inspect.isroutine(getattr(sa, name))}
CALLED |= {name: kind for name, kind in vars(sa).items() if name in sa.families.__all__}
CALLED |= {f"profile.{name}": getattr(PROFILE, name) for name in ("epsilon", "curve", "rounds", "risk")}
CALLED |= {"FiniteMechanism": sa.FiniteMechanism, "at": sa.RandomizedResponse().at, "poisson": sa.training.poisson}
CALLED |= {kind.__name__: kind for kind in (sa.Parameter, sa.Participation, sa.training.GaussianStep)}
CALLED |= {kind.__name__: kind for kind in (sa.training.TableStep, sa.training.NoiseStep)}


@pytest.mark.parametrize("name", CALLED)
def test_a_call_that_does_not_fit_is_refused_with_what_is_taken(name):
    with pytest.raises(sa.errors.SymampError, match=r"it takes|expected one of") as refused:
        CALLED[name](nonsense=1)
    assert isinstance(refused.value, TypeError) or name == "at"
    again = pickle.loads(pickle.dumps(refused.value))
    assert (type(again), str(again)) == (type(refused.value), str(refused.value))


def test_a_type_error_of_the_work_itself_is_not_taken_for_a_misfit():
    @sa.errors.checked_call
    def work(x):
        return x + 1

    with pytest.raises(TypeError, match="concatenate") as raised:
        work("a")
    assert not isinstance(raised.value, sa.errors.SymampError)


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: PROFILE.curve(eps=x),
        lambda x: PROFILE.risk(rates=x),
        lambda x: sa.compose(x),
        lambda x: sa.from_privacy_profile(x),
        lambda x: sa.compare(sa.RandomizedResponse(k=2, eps0=1), n=10, delta="1e-3", names=x),
        lambda x: sa.training.TableStep(x),
    ],
)
@pytest.mark.parametrize("given", [3, b"x", object()])
def test_what_is_no_list_is_refused(ask, given):
    with pytest.raises(sa.errors.ArgumentError, match="expected a list of"):
        ask(given)


TABLE = {"format": "symamp-mechanism", "version": 1, "name": "t", "inputs": ["a", "b"], "messages": ["0"]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is empty; write a JSON object"),
        ("[", "no JSON: Expecting value in line 1, column 2; "),
        (json.dumps(TABLE | {"inputs": ["a", "a"], "table": {"a": {"0": 1}}}), "inputs: 'a' occurs twice; "),
        (json.dumps(TABLE | {"table": {"a": {"0": 1}}}), "table: input 'b' has no row; "),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text, told, tmp_path):
    file = tmp_path / "mechanism.json"
    file.write_text(text)
    with pytest.raises(sa.errors.FormatError, match=re.escape(told)):
        sa.load_mechanism(file)


def test_a_keyword_of_python_is_no_name_of_a_parameter():
    with pytest.raises(sa.errors.ArgumentError, match=r"no keyword of Python, such as lam"):
        sa.Parameter("lambda")
    with pytest.raises(sa.errors.ExpressionError, match="a name that is no keyword of Python: lambda is one"):
        sa.FiniteMechanism({"a": {"0": "lambda", "1": "1 - lambda"}, "b": {"0": 1}})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("crowd", "500:krr:k=3,eps0=1"), "Missing option '--shuffled'. Choose from: messages, data (see"),
        (("epsilon", "--k", "3", "--n", "10", "--delta", "0.1"), "mechanism: no mechanism is given; give a name from"),
        (("sweep", "no.toml"), "file: there is no file no.toml; give the path of"),
    ],
)
def test_the_command_line_says_in_one_line_what_is_missing(words, told, monkeypatch, capsys):
    code, out, err = run(monkeypatch, capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"symamp: {told}")
