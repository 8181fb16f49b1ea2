"""The reference lists every public name, once, and nothing else; what a site loads from elsewhere is noticed."""

import inspect
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from offline import remote

import symamp as sa

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "api").glob("*.md"))
LISTED = [
    n for p in PAGES for n in re.findall(r"^\.\. auto(?:class|function|data):: (\S+)$", p.read_text(), re.MULTILINE)
]
PROPERTIES = (property, cached_property)
ERRORS = {n for n, v in vars(sa.errors).items() if isinstance(v, type) and issubclass(v, Exception)}


def test_every_public_name_is_listed_once():
    public = {f"symamp.{n}" for n in sa.__all__ if n not in ("describe", "exact", "errors", "families", "training")}
    public |= {f"symamp.describe.{n}" for n in sa.describe.__all__ if n not in sa.__all__}
    public |= {f"symamp.families.{n}" for n in sa.families.__all__ if n not in sa.__all__}
    public |= {f"symamp.training.{n}" for n in sa.training.__all__}
    public |= {f"symamp.exact.{n}" for n in sa.exact.__all__} | {f"symamp.errors.{n}" for n in ERRORS}
    assert sorted(LISTED) == sorted(public)


def test_every_public_method_has_words_or_inherits_them():
    modules = [import_module(m.name) for m in walk_packages(sa.__path__, "symamp.") if not m.name.endswith("__main__")]
    classes = {c for m in modules for c in vars(m).values() if isinstance(c, type) and c.__module__ == m.__name__}
    bare = [
        f"{c.__module__}.{c.__qualname__}.{name}"
        for c in classes
        for name, value in vars(c).items()
        if name[0] != "_" and c.__name__[0] != "_" and (inspect.isroutine(value) or isinstance(value, PROPERTIES))
        if getattr(value, "__name__", "") != "<lambda>"
        if not any(inspect.getdoc(vars(b)[name]) for b in c.__mro__ if name in vars(b))
    ]
    assert bare == []


def test_every_page_of_the_reference_is_in_its_contents():
    contents = (PAGES[0].parent.parent / "api.md").read_text()
    assert re.findall(r"^api/(\w+)$", contents, re.MULTILINE)
    assert {f"api/{p.stem}" for p in PAGES} == set(re.findall(r"^api/\w+$", contents, re.MULTILINE))


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ('<script defer src="https://host/a.js"></script>', 1),
        ("<script src='//host/a.js'></script>", 1),
        ('<link rel="stylesheet" type="text/css" href="http://host/a.css">', 1),
        ('<link href="https://host/a.css" rel="stylesheet">', 1),
        ('<script type="module">import x from "https://host/x.mjs"</script>', 1),
        ("<style>@font-face { src: url(https://host/f.woff) }</style>", 1),
        ('<img alt="a" src="https://host/a.png">', 1),
        ('<a href="https://host/page">a link to follow</a><script src="_static/a.js"></script>', 0),
        ('<link rel="stylesheet" href="_static/a.css"><img src="a.svg"><link rel="next" href="https://host">', 0),
    ],
)
def test_what_comes_from_elsewhere_is_found(tmp_path, content, count):
    (tmp_path / "page.html").write_text(content)
    assert len(list(remote(tmp_path))) == count
