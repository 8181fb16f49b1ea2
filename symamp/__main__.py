"""The entry point of the command line: ``symamp`` and ``python -m symamp``."""

import os
from importlib import import_module

from symamp.command_line.words import answers_the_shell


def main() -> None:
    """Complete a word where a shell asks for it, else run the command line, which loads SymPy."""
    if not answers_the_shell(os.environ.get("_SYMAMP_COMPLETE", "")):
        import_module("symamp.command_line.cli").main()


if __name__ == "__main__":
    main()
