"""README.md, quickstart and doors print what the package prints; notebooks are clean."""

import doctest
import itertools
import json
import re
import shlex
import sys
import types
from pathlib import Path

import command as command_line
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from alike import assert_alike

import symamp as sa

ROOT = Path(__file__).resolve().parents[2]
DOORS = {page.name: page for page in sorted((ROOT / "docs" / "doors").glob("*.md"))}
PAGES = {"README.md": ROOT / "README.md", "quickstart.md": ROOT / "docs" / "quickstart.md"} | DOORS
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    """The fenced blocks of one language, in order."""
    return [body for kind, body in FENCE.findall(PAGES[page].read_text(encoding="utf-8")) if kind == language]


def examples(page):
    """All >>> examples of a page as one doctest, since later ones use the names of earlier ones."""
    return doctest.DocTestParser().get_doctest("\n".join(blocks(page, "pycon")), {}, page, None, 0)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder that holds the JSON file of the quickstart under the name that the page gives it."""
    (body,) = blocks("quickstart.md", "json")
    (tmp_path / "survey.json").write_text(body, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_python_examples(page, folder):
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(examples(page), out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES)
def test_every_example_is_in_a_block_that_is_run(page):
    text = PAGES[page].read_text(encoding="utf-8")
    assert text.count(">>>") == sum(body.count(">>>") for body in blocks(page, "pycon")) > 0
    assert {kind for kind, _ in FENCE.findall(text)} <= {"", "pycon", "console", "json", "text", "python"}
    for body in blocks(page, "console"):
        assert body.startswith("$ symamp ")


def console_examples(page):
    """(command line, printed lines) of each line that starts with a dollar sign."""
    for body in blocks(page, "console"):
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


def run(command, monkeypatch, capsys):
    program, *words = shlex.split(command)
    assert program == "symamp"
    code, out, err = command_line.run(monkeypatch, capsys, *words)
    return code, out + err


@pytest.mark.parametrize(("command", "printed"), list(console_examples("README.md")))
def test_command_line_examples_of_the_readme(command, printed, monkeypatch, capsys):
    code, output = run(command, monkeypatch, capsys)
    assert_alike(output, printed)
    assert code == (2 if printed.startswith("symamp: ") else 0)


@pytest.mark.parametrize(("command", "printed"), list(console_examples("quickstart.md")))
def test_command_line_examples_of_the_quickstart(command, printed, monkeypatch, capsys, folder):
    code, output = run(command, monkeypatch, capsys)
    assert code == 0, output
    assert output
    lines = printed.strip().splitlines()
    if not lines:
        return
    start = next(i for i, line in enumerate(output.splitlines()) if line[:12] == lines[0][:12])
    assert_alike("\n".join(output.splitlines()[start : start + len(lines)]).rstrip(), printed.strip())


def test_the_readme_starts_with_the_two_commands():
    first = blocks("README.md", "")[0].splitlines()
    assert [line.split("#")[0].strip() for line in first] == ["make demo", "make test"]
    text = PAGES["README.md"].read_text(encoding="utf-8")
    assert text.startswith("# symamp\n\n```\nmake demo")
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"make ([\w-]+)", text)) <= set(targets)
    assert {"demo", "test", "docs", "bench"} <= set(re.findall(r"make ([\w-]+)", text))


def test_the_readme_examples_are_about_ten_lines_each():
    (python,) = blocks("README.md", "pycon")
    (console,) = blocks("README.md", "console")
    assert 8 <= len(python.splitlines()) <= 12
    assert 8 <= len(console.splitlines()) <= 13


# --------------------------------------------------------------------------------------------------------- notebooks

NOTEBOOKS = sorted((ROOT / "notebooks").glob("**/*.ipynb"))


def test_there_is_a_quickstart_notebook():
    assert "quickstart.ipynb" in {path.name for path in NOTEBOOKS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.name)
def test_notebooks_are_kept_without_outputs(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        assert cell["cell_type"] in ("markdown", "code")
        assert not cell["metadata"], f"cell {cell['id']} carries metadata"
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], f"cell {cell['id']} has outputs"
            assert cell["execution_count"] is None, f"cell {cell['id']} has been executed"
    for first, second in itertools.pairwise(notebook["cells"]):
        assert "".join(first["source"]) != "".join(second["source"])


class Sliders(types.ModuleType):
    """Stands for ipywidgets: what is drawn at both ends of all sliders is drawn."""

    @staticmethod
    def FloatSlider(value, *, min, max, **more):  # noqa: N802
        return min, max

    IntSlider = FloatSlider

    @staticmethod
    def interact(draw, **sliders):
        for end in (0, 1):
            draw(**{name: ends[end] for name, ends in sliders.items()})


@pytest.mark.parametrize("installed", [False, True])
def test_sliders_where_ipywidgets_is_there_and_a_plain_plot_where_not(installed, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", Sliders("ipywidgets") if installed else None)
    cells = json.loads((ROOT / "notebooks" / "quickstart.ipynb").read_text(encoding="utf-8"))["cells"]
    (source,) = ("".join(cell["source"]) for cell in cells if cell["id"] == "slider")
    mpl.use("Agg")
    plt.close("all")
    exec(compile(source, "slider", "exec"), {"sa": sa})
    titles = [plt.figure(number).axes[0].get_title() for number in plt.get_fignums()]
    plt.close("all")
    assert titles == ([r"$\varepsilon_0$ = 0.25, n = $10^2$", r"$\varepsilon_0$ = 4, n = $10^9$"] if installed else
                      [r"$\varepsilon_0$ = 1, n = $10^4$"])  # fmt: skip
