"""What users install: sdist and wheel are built, and each passes the demonstration in an environment of its own.

``SYMAMP_PYTHONS=python3.12,python3.14`` names further interpreters.
"""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import symamp

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [sys.executable, *filter(None, os.environ.get("SYMAMP_PYTHONS", "").split(","))]
MADE = (".git", ".*cache", ".venv*", "__pycache__", "_build", "generated", "*.egg-info", "build", "dist", ".hypothesis")


def run(*command, cwd):
    # The tree must not be found by way of the environment.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def installed(archive, python, folder):
    """The interpreter of a new environment that holds an archive and what it needs."""
    run(python, "-m", "venv", folder / "env", cwd=folder)
    own = folder / "env" / "bin" / "python"
    run(own, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", archive, cwd=folder)
    return own


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the sdists of symamp and of its verifier, and the wheels made from them."""
    source, out = tmp_path_factory.mktemp("source") / "tree", tmp_path_factory.mktemp("dist")
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*MADE), symlinks=True)
    for tree in (source, source / "verifier"):
        run(sys.executable, "-m", "build", "--outdir", out, tree, cwd=source)
    return out


def archive(built, name, kind):
    (found,) = built.glob(f"{name}-{kind}")
    return found


def test_every_file_that_names_the_version_names_the_same():
    said = [re.search(r'^version\W+([\d.]+)"?$', (ROOT / f).read_text(encoding="utf-8"), re.M)[1]
            for f in ("CITATION.cff", "verifier/pyproject.toml")]  # fmt: skip
    said.append(json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))["version"])
    said.append(re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)[1])
    said.append(re.search(r"version = \{([\d.]+)\}", (ROOT / "README.md").read_text(encoding="utf-8"))[1])
    assert {*said, symamp.__version__} == {PROJECT["version"]}


@pytest.mark.slow
def test_what_package_indexes_show(built):
    """The description has no link that leads nowhere, and what is said of the package is there."""
    with zipfile.ZipFile(archive(built, "symamp", "*.whl")) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
        said = email.message_from_bytes(wheel.read(name))
        assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
    links = re.findall(r"\]\(([^)]+)\)", said.get_payload())
    assert "docs/quickstart.md" in said.get_payload()
    assert all(link.startswith(("#", "https://")) for link in links), links
    assert (said["License-Expression"], said["Author"]) == ("MIT", PROJECT["authors"][0]["name"])
    assert {"plot", "dask", "export"} == set(said.get_all("Provides-Extra"))


@pytest.mark.slow
def test_the_source_archive_has_all_that_make_needs(built):
    with tarfile.open(archive(built, "symamp", "*.tar.gz")) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = {"Makefile", "constraints.txt", "docs/index.md", "tests/oracle/world.py", "notebooks/quickstart.ipynb"}
    assert wanted | {"CITATION.cff", "paper/paper.md", "verifier/pyproject.toml", "SECURITY.md"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("docs/_build")]


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_an_installation_from_nothing_passes_the_demonstration(built, kind, python, tmp_path):
    own = installed(archive(built, "symamp", kind), python, tmp_path)
    assert "certified: epsilon in [0.00272920" in run(own, "-m", "symamp.command_line.demo", cwd=tmp_path)
    command = own.with_name("symamp")
    assert run(own, "-m", "symamp", "--version", cwd=tmp_path) == run(command, "--version", cwd=tmp_path)
    assert '"symamp family file, version 1"' in run(command, "schema", "family", cwd=tmp_path)
    (tmp_path / "coin.json").write_text(
        '{"format": "symamp-mechanism", "version": 1, "name": "coin", "inputs": ["no", "yes"], "messages": ["0", "1"],'
        '"table": {"no": {"0": 0.75, "1": 0.25}, "yes": {"0": 0.25, "1": 0.75}}}'
    )
    assert "gamma = 1/2" in run(command, "derive", "--mechanism", "coin.json", cwd=tmp_path)
    typed = run(own, "-c", "import symamp; print(*(p.name for p in __import__('pathlib').Path("
                "symamp.__file__).parent.iterdir()))", cwd=tmp_path)  # fmt: skip
    assert "py.typed" in typed.split()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_the_verifier_checks_a_certificate_without_symamp(built, kind, tmp_path):
    own = installed(archive(built, "symamp_verifier", kind), sys.executable, tmp_path)
    answer = symamp.epsilon(symamp.RandomizedResponse(k=3, eps0=1), n=100, delta="1e-3")
    (tmp_path / "cert.json").write_text(json.dumps(answer.certificate()), encoding="utf-8")
    told = run(own.with_name("symamp-verifier"), "cert.json", cwd=tmp_path)
    assert told.startswith("valid: epsilon in [")
    assert run(own, "-m", "symamp_verifier", "cert.json", cwd=tmp_path) == told
    there = run(own, "-m", "pip", "list", "--format=freeze", cwd=tmp_path).split()
    assert {line.partition("==")[0].lower().replace("_", "-") for line in there} <= {
        "pip", "setuptools", "python-flint", "symamp-verifier",
    }  # fmt: skip
