"""The built site: complete, and readable without a network."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from offline import remote

import symamp as sa

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", ROOT / "docs", folder / "html"]
    done = subprocess.run([*command, "-d", folder / "trees"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def described(site):
    """The names that the index of the site lists."""
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {name for kind in inventory.data for name in inventory.data[kind] if kind.startswith("py:")}


def test_every_attribute_of_every_public_class_is_described(site):
    found = described(site)
    for module, names in (("symamp", sa.__all__), ("symamp.exact", sa.exact.__all__)):
        for name in names:
            value = getattr(sys.modules[module], name)
            if inspect.ismodule(value):
                continue
            assert f"{module}.{name}" in found
            if inspect.isclass(value):
                own = {a for c in value.__mro__ if c.__module__.startswith("symamp") for a in vars(c)}
                own |= {a for c in value.__mro__ for a in vars(c).get("__dataclass_fields__", ())}
                for attribute in own:
                    if not attribute.startswith("_"):
                        assert f"{module}.{name}.{attribute}" in found, f"{name}.{attribute} is not described"


def test_formulas_show_and_nothing_is_loaded_from_elsewhere(site):
    assert not list(remote(site))
    page = (site / "theory.html").read_text(encoding="utf-8")
    assert "_static/tex-svg-full.js" in page
    assert (site / "_static" / "tex-svg-full.js").stat().st_size > 10**6


def test_the_index_has_four_doors_with_a_picture_each(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    assert page.count('class="door ') == 4
    assert page.count("<img") >= 4
