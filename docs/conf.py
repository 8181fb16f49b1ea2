"""Sphinx configuration: MyST-NB pages, furo theme, no network access needed to build."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = _PROJECT["name"]
release = version = _PROJECT["version"]
author = f"the {project} authors"
copyright = author

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
exclude_patterns = ["_build", "jupyter_execute", "**.ipynb_checkpoints"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # pages are rendered as stored; the notebooks are executed by the test suite

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"{project} {release}"


def _bold_headings(app, what, name, obj, options, lines):
    """Turn underlined headings inside docstrings ("Guarantee") into bold paragraphs: RST allows no sections there."""
    for i in range(len(lines) - 1, 0, -1):
        rule = lines[i].strip()
        if rule and set(rule) == {"-"} and len(rule) >= len(lines[i - 1].strip()) > 0:
            lines[i - 1 : i + 1] = [f"**{lines[i - 1].strip()}**", ""]


def _write_pages(app):
    """Generate the gallery and the audit from the catalogue."""
    from gallery import gallery

    from symamp.literature.audit import audit_page

    for name, page in (("gallery", gallery), ("audit", audit_page)):
        (ROOT / "docs" / f"{name}.md").write_text("\n".join(page()) + "\n", encoding="utf-8")


def setup(app):
    """Register the docstring filter and the generated pages."""
    app.connect("autodoc-process-docstring", _bold_headings)
    app.connect("builder-inited", _write_pages)
