"""Every function that claims a guarantee names a proof that exists, and every public name shows an example."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import symamp as sa

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "docs" / "proofs"
HEADING = re.compile(r"^\s*Guarantee\s*\n\s*-{3,}\s*$", re.MULTILINE)
PROOF_FILE = re.compile(r"docs/proofs/([\w-]+\.md)")


def modules():
    """The package and all its modules, except those that run when imported."""
    yield sa
    for info in pkgutil.walk_packages(sa.__path__, "symamp."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def callables(module):
    """(qualified name, docstring) of the module's own functions, classes and methods, properties included."""
    for name, value in vars(module).items():
        value = inspect.unwrap(value) if callable(value) else value
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value) or inspect.isclass(value):
            yield f"{module.__name__}.{name}", value.__doc__ or ""
        if inspect.isclass(value):
            for attribute, member in vars(value).items():
                inner = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
                inner = getattr(inner, "func", inner)  # cached_property
                if inspect.isfunction(inner):
                    yield f"{module.__name__}.{name}.{attribute}", inner.__doc__ or ""


CLAIMS = {}
for _module in modules():
    for _name, _doc in callables(_module):
        if found := HEADING.search(_doc):
            CLAIMS[_name] = _doc[found.end() :]


def test_the_claims_include_the_front_door_and_each_kind_of_evaluation():
    assert len(CLAIMS) >= 8
    assert {"symamp.accounting.privacy_profile.epsilon", "symamp.accounting.privacy_profile.delta"} <= set(CLAIMS)
    assert any(name.startswith("symamp.sums.") for name in CLAIMS)
    assert HEADING.search(inspect.getdoc(sa.epsilon))
    assert HEADING.search(inspect.getdoc(sa.delta))


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_a_claim_names_proofs_that_exist_and_are_listed(name):
    files = PROOF_FILE.findall(CLAIMS[name])
    assert files, f"{name} claims a guarantee without naming a file of docs/proofs"
    index = (PROOFS / "index.md").read_text(encoding="utf-8")
    for file in files:
        assert (PROOFS / file).is_file(), f"{name} names docs/proofs/{file}, which does not exist"
        assert f"]({file})" in index, f"docs/proofs/index.md does not link {file}"


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_a_claim_says_something(name):
    text = re.sub(r"Proofs?:.*", "", CLAIMS[name].split(">>>")[0], flags=re.DOTALL).strip()
    assert len(text.split()) >= 5


def test_proof_files_that_docstrings_mention_anywhere_exist():
    """Outside of Guarantee sections too."""
    for module in modules():
        source = inspect.getsource(module)
        for file in PROOF_FILE.findall(source):
            assert (PROOFS / file).is_file(), f"{module.__name__} names docs/proofs/{file}"


def test_documents_that_docstrings_mention_exist():
    for module in modules():
        for file in re.findall(r"docs/[\w/-]+\.md", inspect.getsource(module)):
            assert (ROOT / file).is_file(), f"{module.__name__} names {file}"


def test_the_index_links_every_proof_in_text_and_in_the_table_of_contents():
    index = (PROOFS / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in PROOFS.glob("*.md")} - {"index.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == pages
    contents = index.split("```{toctree}")[1].split("```")[0]
    assert {f"{line.strip()}.md" for line in contents.splitlines() if line.strip() and line[0] != ":"} == pages


# ------------------------------------------------------------------------------------------------------ public names


def test_the_public_names_are_there():
    assert len(set(sa.__all__)) == len(sa.__all__)
    assert all(hasattr(sa, name) for name in sa.__all__)


@pytest.mark.parametrize("name", sa.__all__)
def test_a_public_name_has_a_docstring_with_an_example(name):
    doc = inspect.getdoc(getattr(sa, name)) or ""
    assert doc
    assert ">>>" in doc, f"symamp.{name} shows no example"
