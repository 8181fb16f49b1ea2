"""Fuzz with fresh seeds: ``python tests/fuzz/run.py --seconds 600``. What fails is kept in tests/fuzz/cases.

The calls run in a process of their own, so that nothing they do ends the search; of each kind of failure the shortest
call is kept, and ``make test`` plays it from then on.
"""

import argparse
import json
import os
import secrets
import select
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from fuzz.calls import random_call  # noqa: E402

KEPT = Path(__file__).with_name("cases") / "found.jsonl"
_PATIENCE = 150
"""Seconds after which a process that does not answer is ended: it hangs where no signal reaches it."""
_LIFE = 10_000
"""Calls after which a fresh process takes over."""


class Player:
    """A process that plays calls."""

    def __init__(self):
        one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{TESTS.parent}:{TESTS}"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.play"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=os.environ | one_thread,
        )  # fmt: skip

    def play(self, call):
        """The failure as (kind, call, detail), or None; the process is over after some of them."""
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], _PATIENCE)
        answer = self.process.stdout.readline() if ready else None
        if answer:
            return json.loads(answer)
        self.end()
        return ["ended the process" if ready else "hangs", call, f"exit code {self.process.returncode}"]

    def end(self):
        self.process.kill()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SYMAMP_FUZZ_SECONDS", "600")))
    parser.add_argument("--seed", type=int, default=None, help="the first seed; a fresh one if left out")
    parser.add_argument("--keep", type=Path, default=KEPT)
    asked = parser.parse_args()
    first = secrets.randbelow(10**15) if asked.seed is None else asked.seed
    end = time.monotonic() + asked.seconds
    found, seen, played = {}, Counter(), 0
    player = Player()
    try:
        while time.monotonic() < end:
            if played % _LIFE == _LIFE - 1 or player.process.poll() is not None:
                player.end()
                player = Player()
            failure = player.play(random_call(first + played))
            played += 1
            if failure is not None:
                kind, call, _ = failure
                seen[kind] += 1
                if kind not in found or len(call) < len(found[kind][1]):
                    found[kind] = failure
                    _keep(asked.keep, found)
            if played % 200 == 0:
                print(f"{played} calls, {sum(seen.values())} failures of {len(found)} kinds", flush=True)
    finally:
        player.end()
    print(f"{played} calls from seed {first}, failures of {len(found)} kinds: {dict(seen)}")
    return 1 if found else 0


def _keep(path, found):
    known = {}
    if path.exists():
        known = {json.loads(line)["kind"]: line for line in path.read_text(encoding="utf-8").splitlines()}
    for kind, call, detail in found.values():
        if kind not in known or len(call) < len(json.loads(known[kind])["call"]):
            known[kind] = json.dumps({"kind": kind, "call": call, "detail": detail})
    path.write_text("\n".join(known.values()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
