"""``python -m verifier cert.json``."""

import sys

from . import main

sys.exit(main(sys.argv[-1]))
