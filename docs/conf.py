"""Sphinx configuration: MyST-NB pages, furo theme; no network is needed to build the site or to read it."""

import os
import re
import shutil
import sys
import tomllib
from importlib.metadata import files
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from symamp import public_names  # noqa: E402

# Pages describe the names that completion leaves out, too: they serve those who describe a mechanism or a bound.
del public_names._ListedNames.__dir__

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_MATHJAX = next(f for f in files("sphinx-mathjax-offline") or () if f.name == "tex-svg-full.js")

project = _PROJECT["name"]
release = version = _PROJECT["version"]
author = f"the {project} authors"
copyright = author

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.intersphinx", "sphinx.ext.mathjax"]
exclude_patterns = ["_build", "jupyter_execute", "**.ipynb_checkpoints"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"  # of the notebooks, which are kept without outputs; an error in one is an error here
nb_execution_cache_path = str(ROOT / "docs" / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True  # all that a cell prints is one block

# Types of other packages link to their pages where the build may use a network; else their names stand there as text.
_OTHERS = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "sympy": "https://docs.sympy.org/latest",
    "mpmath": "https://mpmath.org/doc/current",
    "matplotlib": "https://matplotlib.org/stable",
    "pandas": "https://pandas.pydata.org/docs",
}
intersphinx_mapping = {name: (url, None) for name, url in _OTHERS.items() if os.environ.get("SYMAMP_INTERSPHINX")}

# One file with glyphs and all: nothing is loaded later on, and so the menu, which would load more, is off.
mathjax_path = _MATHJAX.name
mathjax3_config = {"options": {"enableMenu": False}}

autodoc_default_options = {
    "members": True,
    "undoc-members": True,
    "inherited-members": "tuple, Enum",
    "exclude-members": "args, add_note, with_traceback",
}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in ("Real", "Count", "Compared", "Value")}
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["static", str(_MATHJAX.locate())]
html_css_files = ["doors.css"]


def _bold_headings(app, what, name, obj, options, lines):
    """Turn underlined headings inside docstrings ("Guarantee") into bold paragraphs: RST allows no sections there."""
    for i in range(len(lines) - 1, 0, -1):
        rule = lines[i].strip()
        if rule and set(rule) == {"-"} and len(rule) >= len(lines[i - 1].strip()) > 0:
            lines[i - 1 : i + 1] = [f"**{lines[i - 1].strip()}**", ""]


_PAGE = re.compile(r"(?<!`)\bdocs/(\w+(?:/\w+)?)\.md\b")


def _link_pages(app, what, name, obj, options, lines):
    """Turn what docstrings call docs/proofs/identity.md into a link to that page."""
    lines[:] = [_PAGE.sub(r":doc:`/\1`", line) for line in lines]


def _name_types(app, what, name, obj, options, signature, returns):
    """Show aliases of types by their names, in unions, too."""
    return tuple(text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, returns))


def _is_made():
    """Whether pictures and pages are newer than all that they are made from."""
    docs = ROOT / "docs"
    code = (*docs.glob("*.py"), *(docs / "published").glob("*.py"), *(ROOT / "symamp").rglob("*.py"))
    page, latest = docs / "audit.md", max(path.stat().st_mtime for path in (*code, *(docs / "findings").iterdir()))
    return page.exists() and page.stat().st_mtime > latest


def _write_pages(app):
    """Generate pictures, the pages on mechanisms and the audit from the package, if need be; take the notebooks in."""
    shutil.rmtree(ROOT / "docs" / "notebooks", ignore_errors=True)  # one that was renamed would stay
    shutil.copytree(ROOT / "notebooks", ROOT / "docs" / "notebooks")
    if _is_made():
        return
    import pictures
    from gallery import typical, write
    from published.audit import audit_page

    from symamp.randomizers.catalogue import catalogue

    for name, draw in pictures.DOORS.items():
        pictures.save(draw(), name)
    for name, draw in pictures.FINDINGS.items():
        pictures.save(draw(), f"finding_{name}")
    members = {slug: typical(cls) for slug, cls in catalogue().items()}
    pictures.save(pictures.amplification(members), "amplification")
    for name, found in write():
        if found:
            pictures.save(pictures.mechanism(found), f"of_{name}")
    (ROOT / "docs" / "audit.md").write_text("\n".join(audit_page()) + "\n", encoding="utf-8")


def _place_notebooks(app, name, source):
    """Let links of a notebook to pages, which are right in the folder of notebooks, be right in the site."""
    if name.startswith("notebooks/"):
        source[0] = source[0].replace("](../docs/", "](../")


def _check_offline(app, exception):
    """Fail if a page would load anything from another host."""
    from offline import remote
    from sphinx.errors import ExtensionError

    found = list(remote(Path(app.outdir))) if exception is None else []
    if found:
        raise ExtensionError("not readable without a network:\n" + "\n".join(found))


def setup(app):
    """Register the docstring filter, the generated pages, the links of notebooks and the check of the result."""
    app.connect("autodoc-process-docstring", _bold_headings)
    app.connect("autodoc-process-docstring", _link_pages)
    app.connect("autodoc-process-signature", _name_types)
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _place_notebooks)
    app.connect("build-finished", _check_offline)
