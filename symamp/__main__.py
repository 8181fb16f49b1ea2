"""The command line by ``python -m symamp``."""

from symamp.command_line.cli import main

if __name__ == "__main__":
    main()
