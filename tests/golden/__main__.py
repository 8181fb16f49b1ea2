"""``python -m tests.golden record FILE`` writes answers and their times; ``compare FILE`` says what moved since.

``random SEED COUNT`` behind it asks so many questions at random sizes, other words those whose names begin with one.
Ends may move within the gaps of their own brackets. Named are ends that cross the recorded ones, brackets that are
looser by more than 0.1 %, other texts, and questions that take over a tenth longer. One question is asked before the
clock starts: what is loaded and derived first is no part of a time.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import process_time
from typing import Any

from rich.progress import track

import symamp as sa
from tests.golden.at_random import at_random
from tests.golden.questions import member, questions

_LOOSER, _SLOWER, _SHORT = 1e-3, 1.1, 0.3
"""What is named: so much looser, so much slower, and no times below so many seconds."""


def _plain(found: Any) -> Any:
    if isinstance(found, str | list):
        return found
    return [end[0] if isinstance(end, tuple) else end for end in (found.lower, found.upper)]  # of orders each has one


def answered(names: list[str]) -> dict[str, dict[str, Any]]:
    """Ask the questions whose name begins with one of ``names``, all where there is none; or those at random."""
    found: dict[str, dict[str, Any]] = {}
    if names[:1] == ["random"]:
        chosen = dict(at_random(*map(int, names[1:])))
    else:
        chosen = {k: v for k, v in questions().items() if not names or k.startswith(tuple(names))}
    sa.epsilon(member("krr"), n=100, delta="1e-3")
    for name, ask in track(chosen.items(), description="asking", console=None):
        start = process_time()
        try:
            answer = _plain(ask())
        except Exception as error:  # what is no refusal is seen by its name
            answer = f"{type(error).__name__}: {error}"
        found[name] = {"answer": answer, "seconds": round(process_time() - start, 3)}
    return found


def moved(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is to be named of one question."""
    old, new, said = before["answer"], after["answer"], []
    if isinstance(old, str) or isinstance(new, str) or len(old) != len(new):
        said += [] if old == new else [f"{old!r} -> {new!r}"]
    else:
        for k in range(0, len(old), 2):
            (a, b), (c, d) = old[k : k + 2], new[k : k + 2]
            if c > b or a > d:
                said.append(f"CONTRADICTS [{a}, {b}] -> [{c}, {d}]")
            elif d > b * (1 + _LOOSER) or c < a * (1 - _LOOSER):
                said.append(f"looser [{a}, {b}] -> [{c}, {d}]")
            elif d < b * (1 - _LOOSER) or c > a * (1 + _LOOSER):
                said.append(f"closer [{a}, {b}] -> [{c}, {d}]")
    if after["seconds"] > max(_SHORT, before["seconds"] * _SLOWER):
        said.append(f"slower {before['seconds']} -> {after['seconds']} s")
    return said


def main(words: list[str]) -> int:
    """Record or compare; the number of questions that moved."""
    if len(words) < 2 or words[0] not in ("record", "compare"):
        sys.exit(str(__doc__))
    file = Path(words[1])
    found = answered(words[2:])
    if words[0] == "record":
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"{len(found)} answers, {sum(x['seconds'] for x in found.values()):.0f} s of CPU")
        return 0
    before, count = json.loads(file.read_text(encoding="utf-8")), 0
    for name, after in found.items():
        said = moved(before[name], after) if name in before else ["new"]
        count += bool(said)
        for line in said:
            print(f"{name}: {line}")
    print(f"{count} of {len(found)} moved")
    return min(count, 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
