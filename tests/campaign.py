"""Long runs of numbered cases: outcomes are counted, and findings appended to a file at once, one JSON object a line.

A seed and a number say which case it is, whatever ran before. How far a run is stands in the file, too: a run with the
same file goes on there.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

EVERY = 100
"""After how many cases it is noted how far a run is."""


class Came(NamedTuple):
    """What came of a part of a case: what it is about, the outcome, and what is written of it, if it is a finding."""

    about: tuple[str, ...]
    outcome: str
    finding: dict[str, Any] | None = None


class Tally(Counter[tuple[tuple[str, ...], str]]):
    """How often each outcome occurred, by what it is about; ``cases`` is the number of cases."""

    cases = 0

    def of(self, outcome: str) -> int:
        """How often this was the outcome."""
        return sum(count for (_, found), count in self.items() if found == outcome)

    def lines(self, outcomes: Sequence[str]) -> Iterator[str]:
        """A table: one line for all that has the same words."""
        yield f"{'':<92}" + "".join(f"{x:>13}" for x in outcomes)
        for about in sorted({about for about, _ in self}):
            yield f"{', '.join(about):<92}" + "".join(f"{self[about, x] or '':>13}" for x in outcomes)
        yield f"{'all':<92}" + "".join(f"{self.of(x):>13}" for x in outcomes)


def begun(file: Path | None, name: str, seed: int) -> int:
    """The number of the first case of a run that a file does not have."""
    lines = file.read_text(encoding="utf-8").splitlines() if file is not None and file.exists() else []
    found = (json.loads(line) for line in lines if line.strip())
    return max((f["finished"] for f in found if "finished" in f and (f["run"], f["seed"]) == (name, seed)), default=0)


def run(
    name: str,
    case: Callable[[int], Iterable[Came]],
    seed: int,
    last: int,
    *,
    first: int | None = None,
    seconds: float | None = None,
    file: Path | None = None,
) -> Tally:
    """Examine cases one after the other, until the last, the time or an interruption."""
    tally, start, shown = Tally(), time.perf_counter(), 0.0
    number = begin = begun(file, name, seed) if first is None else first

    def write(found: dict[str, Any]) -> None:
        if file is not None:
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"run": name, "seed": seed} | found) + "\n")

    try:
        for number in range(begin, last):
            passed = time.perf_counter() - start
            if seconds is not None and passed > seconds:
                break
            for came in case(number):
                tally[came.about, came.outcome] += 1
                if came.finding is not None:
                    print(f"{number}: {came.outcome}: {'; '.join(map(str, came.finding.values()))[:300]}", flush=True)
                    write({"number": number, "outcome": came.outcome} | came.finding)
            tally.cases += 1
            if (number + 1) % EVERY == 0:
                write({"finished": number + 1})
            if passed - shown > 30:
                shown = passed
                print(f"... {number + 1:,} of {last:,} {name}, {passed:.0f} s", flush=True)
    except KeyboardInterrupt:
        print(f"interrupted in number {number}")
    passed = time.perf_counter() - start
    print(f"{tally.cases:,} {name} in {passed:.0f} s: {1000 * passed / max(1, tally.cases):.1f} ms each")
    return tally


def words(told: str | None) -> argparse.ArgumentParser:
    """What the command line of every run takes."""
    found = argparse.ArgumentParser(description=told, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--seed", type=int, default=1)
    found.add_argument("--first", type=int, help="number of the first case; by default where the file ends")
    found.add_argument("--seconds", type=float, help="stop after so many seconds")
    found.add_argument("--findings", type=Path, help="file of JSON lines that findings are appended to")
    return found
