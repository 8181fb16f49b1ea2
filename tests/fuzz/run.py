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
from dataclasses import asdict, dataclass, field
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
        """The failure as (kind, call, detail), or None, and whether there was an answer; some end the process."""
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], _PATIENCE)
        answer = self.process.stdout.readline() if ready else None
        if answer:
            return json.loads(answer)
        self.end()
        return ["ended the process" if ready else "hangs", call, f"exit code {self.process.returncode}"], False

    def end(self):
        self.process.kill()
        self.process.wait()


@dataclass
class Run:
    """What was played from a seed on; kept in a file, a run that was interrupted goes on where it stood."""

    first: int
    played: int = 0
    answered: int = 0
    seconds: float = 0.0
    failures: dict = field(default_factory=dict)

    def __str__(self):
        kinds = f"{sum(self.failures.values())} failures of {len(self.failures)} kinds"
        return f"{self.played} calls from seed {self.first}, {self.answered} answered, {self.seconds:.0f} s, {kinds}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SYMAMP_FUZZ_SECONDS", "600")))
    parser.add_argument("--calls", type=int, default=10**9, help="so many at most")
    parser.add_argument("--seed", type=int, default=None, help="the first seed; a fresh one if left out")
    parser.add_argument("--keep", type=Path, default=KEPT)
    parser.add_argument("--state", type=Path, default=None, help="a file to go on from")
    asked = parser.parse_args()
    run = Run(secrets.randbelow(10**15) if asked.seed is None else asked.seed)
    if asked.state is not None and asked.state.exists():
        run = Run(**json.loads(asked.state.read_text(encoding="utf-8")))
    found, player, last = {}, Player(), time.monotonic()
    end = last + asked.seconds
    try:
        while last < end and run.played < asked.calls:
            if run.played % _LIFE == _LIFE - 1 or player.process.poll() is not None:
                player.end()
                player = Player()
            failure, answered = player.play(random_call(run.first + run.played))
            run.played += 1
            run.answered += answered
            now = time.monotonic()
            run.seconds, last = run.seconds + now - last, now
            if failure is not None:
                kind, call, _ = failure
                print(f"{kind}: {call}", flush=True)
                run.failures[kind] = run.failures.get(kind, 0) + 1
                if kind not in found or len(call) < len(found[kind][1]):
                    found[kind] = failure
                    _keep(asked.keep, found)
            if run.played % 200 == 0:
                print(run, flush=True)
                if asked.state is not None:
                    asked.state.write_text(json.dumps(asdict(run)), encoding="utf-8")
    finally:
        player.end()
    print(f"{run}: {run.failures}")
    return 1 if run.failures else 0


def _keep(path, found):
    known = {}
    if path.exists():
        known = {json.loads(line)["kind"]: line for line in path.read_text(encoding="utf-8").splitlines()}
    for kind, call, detail in found.values():
        if kind not in known or len(call) < len(json.loads(known[kind])["call"]):
            known[kind] = json.dumps({"kind": kind, "call": call, "detail": detail})
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(known.values()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
