"""Families from data: components as in the catalogue, refusals, undecided orders, the pages that explain them."""

import copy
import doctest
import json
import pickle
import random
import re
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp
from alike import assert_alike
from command import run

import symamp as sa
from symamp.decompositions.blanket import triple
from symamp.decompositions.randomizer import Orbit
from symamp.errors import (
    ArgumentError,
    ExpressionError,
    FormatError,
    NegativeProbabilityError,
    RowSumError,
    SymampError,
    UndecidedOrderError,
    VerificationError,
)
from symamp.formulas.normal_form import normal
from symamp.randomizers import families
from symamp.randomizers.catalogue import by_name, catalogue
from symamp.randomizers.described import DescribedFamily, Description, described_family
from symamp.randomizers.files.load import family_from_json
from symamp.verifier import verify
from tests.exactly import replaced
from tests.oracle.histograms import worst_true_divergence
from tests.sampled import some

DOCS = Path(__file__).resolve().parents[2] / "docs"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIZE = {"lower": 2, "integer": True}
EPS0 = {"lower": 0}


def blocks(page, language):
    return [body for kind, body in FENCE.findall((DOCS / page).read_text(encoding="utf-8")) if kind == language]


def family(parameters, **members):
    return {"format": "symamp-family", "version": 1, "name": "a family", "parameters": parameters, **members}


DOCUMENTED = {document["name"]: document for document in map(json.loads, blocks("family_format.md", "json"))}
HIGH, LOW = "exp(eps0)/(exp(eps0)+k-1)", "1/(exp(eps0)+k-1)"
RESPONSE = json.loads(
    json.dumps(DOCUMENTED["k-ary randomized response"]).replace("t/(t+k-1)", HIGH).replace("1/(t+k-1)", LOW)
)
RESPONSE["parameters"] = {"k": SIZE, "eps0": EPS0}
RESPONSE_SETS = family(
    {"k": SIZE, "eps0": EPS0},
    structure={
        "exchangeable-sets": {
            "size": "k",
            "high": HIGH,
            "low": LOW,
            "shares": {
                "1,1": [{"measure": 1, "inside": 0, "outside": "k-2"}],
                "0,2": [{"measure": "k-2", "inside": 1, "outside": "k-3"}],
                "1,2": [{"measure": 1, "inside": 0, "outside": "k-3"}],
                "0,3": [{"measure": "k-3", "inside": 1, "outside": "k-4"}],
            },
        }
    },
)
# (document, name in the catalogue, members, whether a third input is described)
SAME = {
    "orbits": (RESPONSE, "krr", [{"k": 2}, {"k": 3}, {"k": 10}, {"k": 10**9}], True),
    "statistic": (DOCUMENTED["randomized response with weights"], "krr", [{"k": 2}, {"k": 10}], False),
    "sets": (RESPONSE_SETS, "krr", [{"k": 2}, {"k": 3}, {"k": 4}, {"k": 10}], True),
    "subsets": (
        DOCUMENTED["subset selection"],
        "subset-selection",
        [{"d": 2, "k": 1}, {"d": 3, "k": 2}, {"d": 16, "k": 4}, {"d": 10**5, "k": 100}],
        True,
    ),
    "one-hot": (DOCUMENTED["basic RAPPOR"], "rappor", [{"D": 2}, {"D": 3}, {"D": 16}, {"D": 10**4}], True),
    "hashing": (
        DOCUMENTED["local hashing"],
        "local-hashing",
        [{"l": 2, "D": 2}, {"l": 2, "D": 3}, {"l": 3, "D": 16}, {"l": 4, "D": 10**4}],
        True,
    ),
}


# ------------------------------------------------------------------------------------------ the catalogue's families


@pytest.mark.parametrize("case", SAME)
def test_closed_forms_are_those_of_the_catalogue(case):
    document, slug, _, _ = SAME[case]
    described, listed = family_from_json(document), by_name(slug)()
    assert isinstance(described, DescribedFamily)
    assert described.blanket().signature() == listed.blanket().signature()
    assert described.blanket().gamma == listed.blanket().gamma
    assert described.local_epsilon() == listed.local_epsilon()
    assert described.variation_ratio() == listed.variation_ratio()
    assert described.shuffle_index() == listed.shuffle_index()


@pytest.mark.parametrize("case", SAME)
def test_members_are_those_of_the_catalogue(case):
    document, slug, sizes, third = SAME[case]
    for size in sizes:
        for eps0 in ("log(3)", 1):
            one = family_from_json(document).at(**size, eps0=eps0)
            other = by_name(slug)(**size, eps0=eps0)
            assert one.blanket().signature() == other.blanket().signature()
            assert one.blanket("x1", "x0").signature() == other.blanket("x1", "x0").signature()
            assert one.local_epsilon() == other.local_epsilon()
            assert len(one.inputs) >= min(len(other.inputs), 3 if third else 2)
            for x in one.inputs:
                weights = ((x, sp.Integer(1)),)
                assert (
                    triple(one, ("x0", "x1"), weights).signature() == triple(other, ("x0", "x1"), weights).signature()
                )


@pytest.mark.parametrize("case", SAME)
def test_answers_are_those_of_the_catalogue(case):
    document, slug, sizes, third = SAME[case]
    values = {**sizes[-1 if max(sizes[-1].values()) < 100 else -2], "eps0": 1}
    one, other = (
        sa.epsilon(m, n=10**5, delta="1e-8", gap=1e-3)
        for m in (family_from_json(document).at(**values), by_name(slug)(**values))
    )
    assert one.upper == pytest.approx(other.upper, rel=1e-6)  # atoms may come in another order
    assert one.lower == pytest.approx(other.lower, rel=1e-6) if third else 0 < one.lower < other.lower


@pytest.mark.parametrize("case", SAME)
def test_verified_against_the_tables_of_the_catalogue(case):
    document, slug, _, _ = SAME[case]
    listed = by_name(slug)
    described = family_from_json(document).with_table(lambda member: listed(**member.values).table())
    assert len(described.verify(*listed.small[:4])) == 4


def test_a_family_without_a_table_cannot_be_verified():
    with pytest.raises(ArgumentError, match="with_table"):
        family_from_json(RESPONSE).verify({"k": 3, "eps0": 1})


def test_the_third_input_is_interchangeable_with_the_others():
    member = family_from_json(RESPONSE).at(k=4, eps0="log(2)")
    expected = member.blanket("x0", "x1").signature()
    for pair in (("x0", "x2"), ("x2", "x0"), ("x1", "x2"), ("x2", "x1")):
        assert member.blanket(*pair).signature() == expected
    with pytest.raises(SymampError):
        member.blanket("x0", "x3")


# -------------------------------------------------------------------------------------------------- use from Python


def coin(name="coin", upper=1):
    p = sa.Parameter("p", lower="1/2", upper=upper)
    seen = Orbit("0", 1, (p.symbol, 1 - p.symbol)), Orbit("1", 1, (1 - p.symbol, p.symbol))
    return described_family(Description(name, (p,), orbits=seen))


def test_equality_repr_and_pickle():
    assert coin() == coin("of another name")
    assert hash(coin()) == hash(coin("of another name"))
    assert coin() != coin(upper="3/4")
    assert coin() != coin().at(p="3/4") == coin().at(p=0.75)
    assert repr(coin().at(p="3/4")) == "DescribedFamily('coin', p=3/4)"
    for one in (coin(), coin().at(p="3/4"), family_from_json(RESPONSE).at(k=sa.Parameter("k", lower=5, integer=True))):
        again = pickle.loads(pickle.dumps(one))
        assert again == one
        assert again.name == one.name
        assert again.blanket() == one.blanket()


def test_pairs_may_differ_by_order():
    """A Z channel: only one of the two inputs can send message 1."""
    p = sa.Parameter("p", lower=0, upper=1)
    seen = Orbit("0", 1, (1, 1 - p.symbol)), Orbit("1", 1, (0, p.symbol))
    channel = described_family(Description("Z", (p,), orbits=seen))
    assert channel.blanket("x0", "x1") != channel.blanket("x1", "x0")
    assert channel.local_epsilon() == sp.oo
    table = sa.FiniteMechanism({"x0": {"0": 1}, "x1": {"0": "1/3", "1": "2/3"}})
    member = channel.at(p="2/3")
    for pair in (("x0", "x1"), ("x1", "x0")):
        assert member.blanket(*pair).signature() == table.blanket(*pair).signature()


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": ()},
        {"parameters": (sa.Parameter("p", lower="1/2", upper=1),) * 2},
        {"orbits": ()},
        {"orbits": (Orbit("0", sp.Integer(1), (sp.Integer(1),)),)},
        {"third": (Orbit("0", sp.Integer(1), (sp.Integer(1),) * 3),)},
        {"size": "p"},
        {"size": "k"},
        {"levels": (sp.Integer(1), sp.Integer(0))},
        {"shares": (((1, 1), ()),), "orbits": ()},
        {"shares": (((2, 2), ()),), "orbits": (), "levels": (sp.Integer(1), sp.Integer(0))},
    ],
)
def test_descriptions_that_do_not_fit_together(changes):
    with pytest.raises(FormatError):
        described_family(Description(**{**vars(coin().data), **changes}))


# --------------------------------------------------------------------------------------------------------- refusals


def changed(*path, to, document=RESPONSE):
    return replaced(document, *path, to=to)


def without(key):
    return {k: v for k, v in RESPONSE.items() if k != key}


SETS = ("structure", "exchangeable-sets", "shares")


@pytest.mark.parametrize(
    ("document", "error", "said"),
    [
        (changed("version", to=2), FormatError, "version"),
        (changed("name", to=""), FormatError, "name"),
        (changed("inputs", to=["a"]), FormatError, "document"),
        (without("orbits"), FormatError, "missing key 'orbits'"),
        (changed("structure", to=DOCUMENTED["local hashing"]["structure"]), FormatError, "either orbits"),
        (changed("structure", to={}), FormatError, "structure"),
        ({**family({}), "structure": {}}, FormatError, "structure"),
        ({**family({}), "structure": {"one-hot": {}, "hashing": {}}}, FormatError, "structure"),
        ({**family({}), "structure": {"other": {}}}, FormatError, "structure"),
        (without("size"), FormatError, "size"),
        (changed("size", to="eps0"), FormatError, "size"),
        (changed("size", to=["k"]), FormatError, "size"),
        (changed("parameters", "k", "lower", to=1), FormatError, "size"),
        (changed("parameters", "k", "integer", to=False), FormatError, "size"),
        (changed("orbits", to=[]), FormatError, "orbits"),
        (changed("orbits", to=RESPONSE["orbits"] * 34), FormatError, "orbits: "),
        (changed("orbits", 0, "density", to=["1"]), FormatError, r'orbits\[0\]\["density"\]'),
        (changed("third", 0, "density", to=[HIGH, LOW]), FormatError, r'third\[0\]\["density"\]'),
        (changed("orbits", 0, "rest", 0, to=[LOW]), FormatError, r'orbits\[0\]\["rest"\]\[0\]'),
        (changed("orbits", 0, "weights", to=[1, 1]), FormatError, "weights"),
        (changed("orbits", 0, "measure", to="m"), ExpressionError, r'orbits\[0\]\["measure"\]'),
        (changed("orbits", 0, "measure", to=2), RowSumError, "x0"),
        (changed("orbits", 0, "measure", to=-1), NegativeProbabilityError, "-1"),
        (changed("orbits", 0, "measure", to="1/(k - 5)"), UndecidedOrderError, "k > 5"),
        (changed("orbits", 0, "rest", to=[]), FormatError, "k - 2"),
        (changed("orbits", 2, "rest", to=[[HIGH, 2], [LOW, "k - 4"]]), RowSumError, "further inputs"),
        (changed("orbits", 2, "rest", to=[["-1", 1], [LOW, "k - 3"]]), NegativeProbabilityError, "rest of"),
        (changed("orbits", 2, "rest", to=[[HIGH, -1], [LOW, "k - 1"]]), NegativeProbabilityError, "rest of"),
        (changed("third", 0, "density", to=[LOW, LOW, LOW]), FormatError, "third"),
        (changed("third", 3, "rest", to=[[LOW, "k - 3"]]), RowSumError, "further inputs"),
        (changed(*SETS, "2,2", to=[], document=RESPONSE_SETS), FormatError, "shares"),
        (changed(*SETS, to={}, document=RESPONSE_SETS), FormatError, "missing key '1,1'"),
        (changed(*SETS, "1,1", to=[], document=RESPONSE_SETS), FormatError, r'\["1,1"\]'),
        (changed(*SETS, "0,3", 0, "measure", to="k - 2", document=RESPONSE_SETS), RowSumError, "further inputs"),
        (changed(*SETS, "1,1", 0, "inside", to=1, document=RESPONSE_SETS), FormatError, "rest of"),
        (
            changed("structure", "one-hot", "letters", 0, "own", to=0, document=DOCUMENTED["basic RAPPOR"]),
            RowSumError,
            "own",
        ),
        (
            family({"D": SIZE}, structure={"one-hot": {"size": "D", "letters": [
                {"label": "0", "own": 1, "other": 1}, {"label": "1", "own": 0, "other": 0}]}}),
            UndecidedOrderError,
            'other of "1"',
        ),
        (
            changed("structure", "hashing", "range", to="l/2", document=DOCUMENTED["local hashing"]),
            FormatError,
            "range",
        ),
        (
            changed("parameters", "D", "lower", to=10**5, document=DOCUMENTED["local hashing"]),
            FormatError,
            "lower bounds of at most 1000",
        ),
        (changed("structure", "hashing", "low", to="0", document=DOCUMENTED["local hashing"]), RowSumError, "x0"),
        (changed("structure", "hashing", "size", to="L", document=DOCUMENTED["local hashing"]), FormatError, "size"),
        (
            family({}, structure={"statistic": {"values": [{"measure": 1, "weights": [0, 1]}]}}),
            FormatError,
            "weights",
        ),
        (
            family({}, structure={"statistic": {"values": [{"measure": 1, "weights": [1, 2]}]}}),
            RowSumError,
            "x1",
        ),
    ],
)  # fmt: skip
def test_refusals(document, error, said):
    with pytest.raises(error, match=said) as refusal:
        sa.mechanism_from_json(document)
    str(refusal.value).encode()


def test_values_at_which_an_expression_is_not_defined():
    orbits = [{"measure": "a**2", "density": ["1/a**2", "1/a**2"]}]
    described = sa.mechanism_from_json(family({"a": {}}, orbits=orbits))
    with pytest.raises(ExpressionError, match="a=0"):
        described.at(a=0)
    assert described.at(a=-2).blanket().gamma == 1


def test_members_are_checked_again():
    """What is proved for the declared range is no proof for another one."""
    with pytest.raises(NegativeProbabilityError):
        coin().at(p=sa.Parameter("p", lower=2, upper=3))


HOSTILE = [
    None, True, 0, 1, -1, 2, 0.5, 1e3, float("nan"), 10**5, "", "k", "k - 2", "k - 9", "eps0", "1/0", "2**10**10",
    "exp(exp(exp(k)))", "k" * 300, "\ud800", "1 +", "__import__('os')", [], [[]], [1, 1], ["k"], [[1, 1]], [[1, None]],
    {}, {"k": {}}, {"lower": "k"}, {"one-hot": {}}, "k**k", "log(k)", "sqrt(k - 3)", "binomial(k, 2)", "1/(k - k)",
    "1/2**k", "one-hot", "1,1",
]  # fmt: skip


def _places(value, path=()):
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from _places(value[key], (*path, key))


@pytest.mark.parametrize("documents", some([300, 1500], 1))
def test_fuzz_documents(documents):
    """Parts replaced, removed, renamed and doubled: a typed refusal, or a family whose decomposition adds up."""
    rng = random.Random(20240603)
    originals = [document for document, *_ in SAME.values()]
    loaded = 0
    for _ in range(documents):
        document = copy.deepcopy(rng.choice(originals))
        for _ in range(rng.choice([1, 1, 2])):
            *path, last = rng.choice([place for place in _places(document) if place])
            parent = document
            for step in path:
                parent = parent[step]
            match rng.randrange(5):
                case 0:
                    del parent[last]
                case 1 if isinstance(parent, dict):
                    parent[rng.choice(["size", "rest", "third", "orbits", "structure", "2,0", "label", "x"])] = parent[
                        last
                    ]
                case 1:
                    parent.append(copy.deepcopy(parent[last]))
                case 2 if isinstance(parent[last], str) and parent[last]:
                    text, i = parent[last], rng.randrange(len(parent[last]))
                    parent[last] = text[:i] + rng.choice("0k-+*/()^e .\0é") + text[i + rng.randrange(2) :]
                case _:
                    parent[last] = copy.deepcopy(rng.choice(HOSTILE))
        start = time.perf_counter()
        try:
            found = sa.mechanism_from_json(document)
            decomposition = found.blanket("x0", "x1")
            for i in (0, 1):
                parts = [c.mass * c[i] for c in decomposition.components] + [s[i] for s in decomposition.singular]
                assert normal(sp.Add(*parts)) == 1
            loaded += 1
        except SymampError as refusal:
            str(refusal).encode()
        assert time.perf_counter() - start < 10, document
    assert loaded > documents // 25  # enough of them are families


# ------------------------------------------------------------------------------------------------- undecided orders


WEIGHTED = json.loads(
    json.dumps(DOCUMENTED["randomized response with weights"]).replace("exp(eps0)", "w").replace("eps0", "w")
)


def test_an_undecided_order_names_the_assumption_and_adding_it_helps():
    described = family_from_json(WEIGHTED)
    with pytest.raises(UndecidedOrderError, match="w > 1"):
        described.blanket()
    narrowed = described.at(w=sa.Parameter("w", lower=1))
    k, w = sp.Symbol("k", integer=True), sp.Symbol("w", real=True)
    assert sp.simplify(narrowed.blanket().gamma - k / (k + w - 1)) == 0
    other = described.at(w=sa.Parameter("w", lower=0, upper=1))
    assert sp.simplify(other.blanket().gamma - k * w / (k + w - 1)) == 0
    assumed = changed("parameters", "w", "lower", to=1, document=WEIGHTED)
    assert family_from_json(assumed).blanket().signature() == narrowed.blanket().signature()
    assert narrowed.at(k=4, w=3).blanket().signature() == described.at(k=4, w=3).blanket().signature()


def test_an_undecided_sign_names_the_assumption_and_adding_it_helps():
    """The rest of the probability goes to a message of its own: p must leave some."""
    orbits = [
        {"measure": 1, "density": ["p", "p/2"]},
        {"measure": 1, "density": ["p/2", "p"]},
        {"label": "nothing", "measure": 1, "density": ["1 - 3*p/2", "1 - 3*p/2"]},
    ]
    with pytest.raises(UndecidedOrderError, match="nothing"):
        family_from_json(family({"p": {"lower": 0}}, orbits=orbits))
    assert family_from_json(family({"p": {"lower": 0, "upper": "2/3"}}, orbits=orbits)).local_epsilon() == sp.log(2)


def test_further_inputs_that_may_not_exist_leave_the_infimum_undecided():
    orbits = copy.deepcopy(RESPONSE["orbits"])
    # More likely where the sender is not, so that the least density is that of a further input.
    far = "exp(-eps0)/(exp(-eps0)+k-1)"
    document = json.loads(json.dumps(family({"k": SIZE, "eps0": EPS0}, size="k", orbits=orbits)).replace(HIGH, far))
    document = json.loads(json.dumps(document).replace(LOW, "1/(exp(-eps0)+k-1)"))
    assert family_from_json(document).blanket().gamma is not None
    document["orbits"][2]["rest"] = [[far, None], ["1/(exp(-eps0)+k-1)", None]]
    with pytest.raises(UndecidedOrderError, match="not proved to exist"):
        family_from_json(document).blanket()


# ------------------------------------------------------------------------------------------ command line and pages


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder with the files of the tutorial, on the import path."""
    (module,) = blocks("new_family.md", "python")
    (document,) = blocks("new_family.md", "json")
    (tmp_path / "dont_know.py").write_text(module, encoding="utf-8")
    (tmp_path / "dont_know.json").write_text(document, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    yield tmp_path
    sys.modules.pop("dont_know", None)


def test_tutorial(folder):
    report = []
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks("new_family.md", "pycon")), {}, "page", None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(examples, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
    assert runner.tries > 10


def test_tutorial_on_the_command_line(folder, monkeypatch, capsys):
    (body,) = blocks("new_family.md", "console")
    command, _, printed = body.removeprefix("$ symamp ").partition("\n")
    code, output, errors = run(monkeypatch, capsys, *command.split())
    assert (code, errors) == (0, "")
    assert_alike(output, printed)


def test_one_file_adds_a_family_to_the_catalogue(folder, monkeypatch, capsys):
    monkeypatch.setattr(families, "__path__", [*families.__path__, str(folder)])
    catalogue.cache_clear()
    try:
        added = by_name("dont-know")
        assert len(added().verify(*added.small)) == len(added.small)
        code, out, _ = run(monkeypatch, capsys, "epsilon", "dont-know", "--k=10", "--c=10", "--eps0=1", "--n=1e6",
                           "--delta=1e-8")  # fmt: skip
        assert code == 0
        assert out.startswith("epsilon in [0.0019668")
    finally:
        catalogue.cache_clear()
        sys.modules.pop(f"{families.__name__}.dont_know", None)


def test_command_line_round_trip(tmp_path, monkeypatch, capsys):
    file = tmp_path / "family.json"
    file.write_text(json.dumps(RESPONSE), encoding="utf-8")
    named = ["--mechanism", str(file)]
    for more in ([], ["--k", "10"], ["--k", "10", "--eps0", "1"]):
        code, out, _ = run(monkeypatch, capsys, "derive", *named, *more, "--json")
        _, expected, _ = run(monkeypatch, capsys, "derive", "krr", *more, "--json")
        assert code == 0
        found, expected = json.loads(out), json.loads(expected)
        for one in (found, expected):
            one["decompositions"][0]["components"].sort()
            del one["mechanism"]
        assert found == expected
    question = ["--k", "10", "--eps0", "1", "--n", "1e4", "--delta", "1e-6"]
    assert run(monkeypatch, capsys, "epsilon", *named, *question) == run(
        monkeypatch, capsys, "epsilon", "krr", *question
    )
    for arguments, said in [
        (["epsilon", *named, "--n", "1e4", "--delta", "1e-6"], "k, eps0 free"),
        (["derive", *named, "--k", "1"], "integer k >= 2"),
        (["derive", *named, "--m", "1"], "--m, expected one of --eps0"),
    ]:
        code, out, err = run(monkeypatch, capsys, *arguments)
        assert (code, out) == (2, "")
        assert said in err


def test_documented_files_are_families():
    assert len(DOCUMENTED) == 5
    for document in DOCUMENTED.values():
        assert family_from_json(document).blanket().gamma is not None


# ----------------------------------------------------------------- Laws that a file declares for all other inputs


def declared():
    """What the example of the page defines: document, table and family."""
    found = {}
    exec(next(code for code in blocks("family_format.md", "python") if "bit_count" in code), found)
    return found


def test_laws_of_other_inputs_in_a_file():
    """The bracket of the family in the catalogue, with a verified certificate; above all data sets of a tiny member."""
    page = declared()
    found = sa.epsilon(page["family"].at(K=16, t="exp(1)"), n=10**4, delta=1e-6, method="all_data_sets")
    own = sa.epsilon(sa.HadamardResponse(K=16, eps0=1), n=10**4, delta=1e-6)
    assert own.lower * (1 - 1e-6) <= found.lower <= found.upper <= own.upper * 1.0005
    assert verify(json.dumps(found.certificate())).status == "valid"
    member = page["family"].at(K=8, t=3)
    table = page["table"](member)
    rows = [tuple(Fraction(str(o.mass(i))) for o in table.orbits(table.inputs)) for i in range(len(table.inputs))]
    for n, level in ((2, Fraction(1)), (2, Fraction(3, 2)), (3, Fraction(3, 2))):
        truth = worst_true_divergence(rows, n, level)[0]
        answer = sa.delta(member, n=n, eps=sp.log(sp.Rational(str(level))), method="all_data_sets")
        assert Fraction(answer.lower) <= truth * (1 + Fraction(1, 10**12))
        assert Fraction(answer.upper) >= truth


def test_too_few_laws_are_refuted_by_the_table():
    page = declared()
    few = {**page["document"], "others": page["document"]["others"][1:]}
    family = sa.mechanism_from_json(few).with_table(page["table"])
    with pytest.raises(VerificationError, match="is above those of the list"):
        family.verify({"K": 8, "t": 3})
    assert family.compared_laws(K=8, t=3)["refuted"]


@pytest.mark.parametrize(
    ("others", "error", "said"),
    [
        ([{"label": "z", "law": [[1, 1, "1/2"], ["t", "t", "1/2"]]}], FormatError, "ratio0/ratio1"),
        ([{"label": "z", "law": [[1, 1, "1/2"]]}], RowSumError, "sum to 1/2"),
        ([{"label": "x1", "law": [[1, 1, 1]]}], FormatError, "another label"),
        ([{"label": "z", "law": [[1, 1]]}], FormatError, "3 expressions"),
        ([{"label": "z", "law": [["t", "1-t", 1]]}], SymampError, "others: z|1 - t"),
    ],
)
def test_laws_that_cannot_be_those_of_another_input(others, error, said):
    with pytest.raises(error, match=said):
        sa.mechanism_from_json({**declared()["document"], "others": others})


def test_laws_need_the_pair_that_they_are_for():
    document = {**RESPONSE_SETS, "others": declared()["document"]["others"]}
    with pytest.raises(FormatError, match="either orbits or a structure"):
        sa.mechanism_from_json(document)
