"""The page on new analyses: its file is found in the folder, and its examples give what they print."""

import doctest
import importlib
import re
import sys
from pathlib import Path

import pytest

import symamp as sa
from symamp import bounds as analyses
from symamp.bounds import registry
from symamp.errors import SupportMismatchError

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "new_bound.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def added(monkeypatch, tmp_path):
    """The analysis of the page, in a folder that counts as the package's, and in the registry."""
    (body,) = blocks("python")
    (tmp_path / "two_parameters.py").write_text(body, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(analyses, "__path__", [*analyses.__path__, str(tmp_path)])
    before, found = registry.BOUNDS, registry._found()
    for module in list(sys.modules.values()):
        if getattr(module, "BOUNDS", None) is before:
            monkeypatch.setattr(module, "BOUNDS", found)
    yield found["two_parameters"]
    for name in ("two_parameters", f"{analyses.__name__}.two_parameters"):
        sys.modules.pop(name, None)


def test_the_page(added):
    report = []
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks("pycon")), {}, "page", None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(examples, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
    assert runner.tries > 5


def test_one_file_adds_an_analysis(added):
    answer = sa.epsilon(sa.RandomizedResponse(k=3, eps0=1), n=1000, delta="1e-6", method="two_parameters", gap=1e-2)
    assert (answer.method, answer.proof_status, answer.source) == (added.name, added.proof_status, added.source)
    mechanism = answer.certificate()["settings"][0]["groups"][0]["mechanism"]
    assert (mechanism["kind"], len(mechanism["pairs"])) == ("triples", 1)
    table = sa.FiniteMechanism({"a": {"0": "1/2", "1": "1/2"}, "b": {"0": 1}})
    with pytest.raises(SupportMismatchError, match="two_parameters"):
        sa.delta(table, n=10, eps=1, method="two_parameters")
    importlib.import_module(f"{analyses.__name__}.two_parameters")
