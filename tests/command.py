"""The command line as a user meets it: words in, exit code and what is printed out."""

import sys

from symamp.command_line import cli


def run(monkeypatch, capsys, *words):
    """Return (exit code, standard output, standard error) of the command ``symamp`` with these words."""
    monkeypatch.setattr(sys, "argv", ["symamp", *words])
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = end.code or 0
    captured = capsys.readouterr()
    return code, captured.out, captured.err
