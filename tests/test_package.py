"""What users install: sdist and wheel are built, and each passes the demonstration in an environment of its own."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.slow


def run(*command, cwd):
    # The tree must not be found by way of the environment.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the sdist, and the wheel made from it."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "symamp", source / "symamp", ignore=shutil.ignore_patterns("__pycache__"))
    run(sys.executable, "-m", "build", "--outdir", out, source, cwd=source)
    return out


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_an_installation_from_nothing_passes_the_demonstration(built, kind, tmp_path):
    (archive,) = built.glob(kind)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", archive, cwd=tmp_path)
    assert "certified: epsilon in [0.00272920" in run(python, "-m", "symamp.command_line.demo", cwd=tmp_path)
    command = tmp_path / "env" / "bin" / "symamp"
    assert '"symamp family file, version 1"' in run(command, "schema", "family", cwd=tmp_path)
    (tmp_path / "coin.json").write_text(
        '{"format": "symamp-mechanism", "version": 1, "name": "coin", "inputs": ["no", "yes"], "messages": ["0", "1"],'
        '"table": {"no": {"0": 0.75, "1": 0.25}, "yes": {"0": 0.25, "1": 0.75}}}'
    )
    assert "gamma = 1/2" in run(command, "derive", "--mechanism", "coin.json", cwd=tmp_path)
    typed = run(python, "-c", "import symamp; print(*(p.name for p in __import__('pathlib').Path("
                "symamp.__file__).parent.iterdir()))", cwd=tmp_path)  # fmt: skip
    assert "py.typed" in typed.split()
