"""How the command line ends when something outside it fails: pipes, full disks, interruptions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import symamp as sa
from symamp.command_line import cli
from symamp.verifier import verify
from tests.sampled import some

COMMAND = [sys.executable, "-m", "symamp.command_line.cli"]
QUESTION = ["delta", "krr", "--k", "2", "--eps0", "1", "--n", "10", "--eps", "0.1"]


def run(words, **streams):
    here = os.environ | {"PYTHONPATH": str(Path(sa.__file__).parents[1])}
    return subprocess.run([*COMMAND, *words], stderr=subprocess.PIPE, text=True, check=False, env=here, **streams)


def test_a_reader_that_has_gone_ends_the_command_in_silence():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        done = run(["mechanisms", "--json"], stdout=out)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words", some([["mechanisms"], ["mechanisms", "--json"], QUESTION], lambda words: words != ["mechanisms"])
)
def test_a_full_disk_is_one_line(words):
    with open("/dev/full", "w") as out:
        done = run(words, stdout=out)
    assert done.returncode == 2
    assert done.stderr.startswith("symamp: cannot write: ")
    assert done.stderr.count("\n") == 1


def test_a_certificate_for_standard_output_is_all_that_is_printed(tmp_path):
    done = run([*QUESTION, "--method", "blanket", "--certificate", "-"], stdout=subprocess.PIPE, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["format"] == "symamp-certificate"
    assert verify(done.stdout).status == "valid"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["refuse_repeated", "main"])
def test_an_interruption_ends_with_130(monkeypatch, capsys, place):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    target = cli.app if place == "main" else cli.options
    monkeypatch.setattr(target, place, interrupted)
    monkeypatch.setattr(sys, "argv", ["symamp", "mechanisms"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "symamp: interrupted\n"


def test_other_failures_of_streams_are_one_line(capsys):
    def failing(_):
        raise OSError(5, "Input/output error")

    with pytest.raises(SystemExit) as end:
        cli.guarded(failing, [])
    assert end.value.code == 2
    assert capsys.readouterr().err == "symamp: cannot write: Input/output error\n"


@pytest.mark.parametrize("command", [["epsilon", "--delta", "1e-6"], ["delta", "--eps", "0.1"]])
def test_the_law_of_the_sum_is_no_method(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["symamp", *command, "krr", "--k=2", "--eps0=1", "--n=100", "--method", "fft"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("symamp: method: got fft, expected ")
