"""``python -m verifier cert.json``."""

import sys

from . import main


def run() -> None:
    """Check the one file that is named on the command line."""
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: verifier FILE: check a certificate; exit code 0 if valid, 1 if invalid, 2 if malformed")
        sys.exit(0 if len(sys.argv) == 2 else 2)
    sys.exit(main(sys.argv[1]))


if __name__ == "__main__":
    run()
