"""Every link from a page, README or notebook to a file or a heading of the project leads there."""

import json
import re
from functools import cache
from pathlib import Path

from symamp.randomizers.catalogue import named

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = {"_build", "generated", "mechanisms", "notebooks", "jupyter_execute"}
"""Folders of docs/ that docs/conf.py writes."""
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(p for p in DOCS.rglob("*.md") if p.relative_to(DOCS).parts[0] not in {*MADE, "audit.md"}),
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
    ROOT / "verifier" / "README.md",
    ROOT / "paper" / "paper.md",
]
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`|^\$\$.*?\$\$|\$[^$\n]+\$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"\{download\}`[^`]*<([^>`]+)>`|^```\{(?:literal)?include\} (\S+)", re.MULTILINE)


@cache
def text_of(page):
    """The prose of a page, or of all cells of a notebook that hold prose."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    return "\n\n".join("".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "markdown")


@cache
def anchors(page):
    """The places of a page that a link may name: headings, as GitHub and MyST write them, and labels."""
    text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", t.lower().strip()).replace(" ", "-") for t in titles}


def made(target):
    """Whether docs/conf.py writes a file of docs/."""
    folder, name = target.relative_to(DOCS).parts[0], target.stem
    if folder == "notebooks":
        return (ROOT / target.relative_to(DOCS)).exists()
    if folder == "mechanisms":
        return name == "index" or name in named()
    drawn = re.findall(r"^def (\w+)\(", (DOCS / "pictures.py").read_text(encoding="utf-8"), re.MULTILINE)
    return target == DOCS / "audit.md" or name.removeprefix("finding_") in drawn


def broken(page):
    """The links of a page that lead nowhere."""
    links = LINK.findall(CODE.sub("", text_of(page)))
    for link in links + [a or b for a, b in FILE.findall(text_of(page))]:
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if DOCS in target.parents and not target.exists() and made(target):
            continue
        written = target.suffix in (".md", ".ipynb") and target.parent.name not in MADE - {"notebooks"}
        if not target.exists() or (anchor and written and anchor not in anchors(target)):
            yield link


def test_all_links_lead_somewhere():
    assert {str(p.relative_to(ROOT)): list(broken(p)) for p in PAGES if list(broken(p))} == {}


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One title: *here*\n[a](#one-title-here) [b](#other) [c](page.md) [d](none.md) `[e](none.md)`\n")
    assert list(broken(page)) == ["#other", "none.md"]
