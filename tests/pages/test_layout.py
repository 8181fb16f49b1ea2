"""No circle of files, no import hidden in a function, rooms on their floors, and a sketch that is that of the code."""

import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import layout
import pytest

KNOWN = layout.modules()


@cache
def imports():
    return {module: list(layout.imports(path, KNOWN)) for module, path in KNOWN.items()}


def test_no_import_is_hidden_in_a_function():
    assert not {(module, name) for module, found in imports().items() for name, inside in found if inside}


def test_what_is_slow_to_start_is_loaded_when_it_is_called():
    slow = {"scipy.optimize", "scipy.special", "matplotlib", "pandas"}
    code = f"import sys, symamp; symamp.epsilon; print(*sorted({slow} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=layout.ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_package_itself_loads_nothing():
    code = (
        "import sys, symamp; dir(symamp); print(*sorted({'sympy', 'numpy', 'flint', 'symamp.errors'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=layout.ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_there_is_no_circle_of_files():
    """Imports for the sake of types count, too."""
    graph = {m: {name for name, _ in found if name != m} for m, found in imports().items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"a circle: {' -> '.join(error.args[1])}")
    assert set(order) == set(KNOWN)


def test_a_circle_would_be_found(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from symamp.numbers import dyadic\n")
    assert list(layout.imports(file, KNOWN)) == [("symamp.numbers.dyadic", False)]
    inner = tmp_path / "b.py"
    inner.write_text("def f():\n    import symamp.errors\n")
    assert list(layout.imports(inner, KNOWN)) == [("symamp.errors", True)]


def test_the_sketch_is_that_of_the_code():
    assert layout.page() == layout.PAGE.read_text(encoding="utf-8"), "python docs/layout.py writes it anew"


def test_the_picture_is_that_of_the_code():
    assert layout.picture() == layout.PICTURE.read_text(encoding="utf-8"), "python docs/layout.py draws it anew"


def test_the_contract_of_the_rooms_holds():
    pytest.importorskip("importlinter")
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command, "--no-cache"], cwd=layout.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
