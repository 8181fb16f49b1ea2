"""``python -m verifier cert.json``."""

import sys

from . import main


def run() -> None:
    """Check the one file that is named on the command line."""
    file, patience = (*sys.argv[1:], "1", "1")[:2]
    if len(sys.argv) not in (2, 3) or file in ("-h", "--help") or not (patience.isdecimal() and int(patience)):
        print(
            "usage: verifier FILE [PATIENCE]: check a certificate, at most PATIENCE times as long as usual; exit code 0"
        )
        print("if valid, 1 if invalid, 2 if malformed")
        sys.exit(0 if file in ("-h", "--help") else 2)
    sys.exit(main(file, int(patience)))


if __name__ == "__main__":
    run()
