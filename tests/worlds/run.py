"""Run random worlds: ``python -m tests.worlds.run --worlds 200000 --seed 1 --findings found.jsonl``.

Worlds are numbered: a seed and a number say which it is, whatever ran before. Findings are appended at once, one JSON
object a line; so is how far the run is, and a run with the same file goes on there. ``--one NUMBER`` shows one world.
``--noise`` runs worlds of noise, whose truth is that of cells of messages.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from tests.worlds.ask import Case, Outcome, examine, examine_noise

EVERY = 100
"""After how many worlds it is noted how far a run is."""


def kind(outcome: Outcome) -> str:
    """The question without its numbers."""
    text = re.split(r"[(\[]| with World", outcome.question)[0]
    return text.replace("given ", "given points").strip()


class Tally:
    """Counts of outcomes by setting, question and method."""

    def __init__(self) -> None:
        self.worlds = 0
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.seconds: Counter[str] = Counter()

    def add(self, case: Case) -> None:
        """Count what came of one world."""
        self.worlds += 1
        for outcome in case.outcomes:
            self.counts[outcome.setting, kind(outcome), outcome.status] += 1
            self.seconds[kind(outcome)] += outcome.seconds

    def lines(self) -> Iterator[str]:
        """A table: one line for each setting and question."""
        statuses = ("answered", "refused", "slow", "false", "crash")
        yield f"{'setting':<64} {'question':<28}" + "".join(f"{s:>10}" for s in statuses)
        for setting, question in sorted({(s, q) for s, q, _ in self.counts}):
            found = [self.counts[setting, question, s] for s in statuses]
            yield f"{setting:<64} {question:<28}" + "".join(f"{c or '':>10}" for c in found)
        total = [sum(c for (_, _, s), c in self.counts.items() if s == status) for status in statuses]
        yield f"{'all':<64} {'':<28}" + "".join(f"{c:>10}" for c in total)


def record(seed: int, number: int, case: Case) -> Iterator[dict[str, object]]:
    """The findings of a world, as they are written."""
    for outcome in case.outcomes:
        if outcome.is_finding:
            yield {
                "seed": seed,
                "number": number,
                "status": outcome.status,
                "setting": outcome.setting,
                "question": outcome.question,
                "method": outcome.method,
                "detail": outcome.detail,
                "seconds": round(outcome.seconds, 3),
                "world": repr(case.world),
            }


def begun(file: Path | None, seed: int) -> int:
    """The number of the first world that a file does not have."""
    if file is None or not file.exists():
        return 0
    with file.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines if line.strip()]
    return max((f["finished"] for f in found if "finished" in f and f["seed"] == seed), default=0)


def _write(file: TextIO | None, data: dict[str, object]) -> None:
    if file is not None:
        file.write(json.dumps(data) + "\n")
        file.flush()


def run(
    seed: int,
    first: int,
    last: int,
    *,
    slow: float,
    seconds: float | None,
    file: TextIO | None,
    asked: Callable[..., Case] = examine,
) -> Tally:
    """Examine worlds one after the other, until the last, the time or an interruption."""
    tally, start, shown = Tally(), time.perf_counter(), 0.0
    number = first
    try:
        for number in range(first, last):
            passed = time.perf_counter() - start
            if seconds is not None and passed > seconds:
                break
            case = asked(seed, number, slow=slow)
            tally.add(case)
            for found in record(seed, number, case):
                print(f"{number}: {found['status']}: {found['setting']}; {found['question'][:80]}; {found['method']}; "
                      f"{found['detail'][:110]} ({found['seconds']} s)", flush=True)  # fmt: skip
                _write(file, found)
            if (number + 1) % EVERY == 0:
                _write(file, {"seed": seed, "finished": number + 1})
            if passed - shown > 30:
                shown = passed
                rate = 1000 * passed / max(1, tally.worlds)
                print(f"... {number + 1:,} of {last:,} worlds, {passed:.0f} s, {rate:.1f} ms a world", flush=True)
    except KeyboardInterrupt:
        print(f"interrupted in world {number}")
    passed = time.perf_counter() - start
    print(f"{tally.worlds:,} worlds in {passed:.0f} s: {1000 * passed / max(1, tally.worlds):.1f} ms a world")
    return tally


def main() -> None:
    """Read the words, run, print the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--worlds", type=int, default=2000, help="how many worlds, those before --first included")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--first", type=int, help="number of the first world; by default where the file ends")
    words.add_argument("--seconds", type=float, help="stop after so many seconds")
    words.add_argument("--slow", type=float, default=1.0, help="how often questions that take long are asked")
    words.add_argument("--findings", type=Path, help="file of JSON lines that findings are appended to")
    words.add_argument("--noise", action="store_true", help="worlds of noise")
    words.add_argument("--one", type=int, help="show one world and what is answered")
    given = words.parse_args()
    asked = examine_noise if given.noise else examine
    if given.one is not None:
        case = asked(given.seed, given.one, slow=given.slow)
        print(case.world)
        for outcome in case.outcomes:
            print(f"{outcome.status:<9} {outcome.question} {outcome.method} {outcome.detail} {outcome.seconds:.3f} s")
        return
    first = begun(given.findings, given.seed) if given.first is None else given.first
    file = given.findings.open("a", encoding="utf-8") if given.findings else None
    tally = run(given.seed, first, given.worlds, slow=given.slow, seconds=given.seconds, file=file, asked=asked)
    print(*tally.lines(), sep="\n")
    if file is not None:
        file.close()


if __name__ == "__main__":
    main()
