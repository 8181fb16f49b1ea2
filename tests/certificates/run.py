"""Campaigns against the verifier: ``python -m tests.certificates.run --mutations 50000 --plans 50000 --texts 1000``.

Every accepted certificate whose claim can be compared is compared with exact values in fractions; none may be false.
Progress is shown, an interruption ends with the numbers so far, and ``--out`` keeps what was found, one JSON a line.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TextIO

from symamp.verifier import verify
from tests.certificates import exact
from tests.certificates.honest import Data, aimed, some_certificate
from tests.certificates.mutations import mutant
from tests.certificates.texts import forge

Found = tuple[str, str, Data, str]
"""A kind of certificate, what became of it ("refused", "compared", "false", ...), it, and why."""


def judged(name: str, data: Data) -> Found:
    """What becomes of a certificate: "false" if it is accepted and its claim is not true."""
    text = json.dumps(data)
    start = time.perf_counter()
    try:
        verdict = verify(text)
    except Exception as error:  # nothing is raised, whatever the text is
        return name, "false", data, f"raised {error!r}"
    if time.perf_counter() - start > 20:
        return name, "slow", data, f"{time.perf_counter() - start:.1f} seconds"
    printed = verdict.text()
    if not (printed.isascii() and printed.replace("\n", "").isprintable() and "\n" not in verdict.reason):
        return name, "false", data, "unprintable"
    if verdict.status != "valid":
        return name, "refused", data, verdict.reason
    try:
        why = exact.falsehood(data)
    except exact.NothingClaimedError:
        return name, "trivial", data, ""
    except exact.NotComparedError:
        return name, "not compared", data, ""
    except Exception as error:  # accepted, and of a shape that has no meaning
        return name, "false", data, f"no meaning: {error!r}"
    return (name, "false", data, why) if why else (name, "compared", data, "")


def mutations(count: int, seed: int) -> Iterator[Found]:
    """Certificates that were changed, most of them after they were honest."""
    for i in range(count):
        yield judged(*mutant(Random(f"mutation {seed} {i}")))


def plans(count: int, seed: int) -> Iterator[Found]:
    """Honest laws with random plans, each claim as sharp as the verifier lets it be."""
    for i in range(count):
        rng = Random(f"plan {seed} {i}")
        name, data = some_certificate(rng)
        yield judged(name, aimed(data, rng))


def texts(count: int, seed: int) -> Iterator[Found]:
    """Certificates with misleading texts: what is said to be checked is as before, and no line is added."""
    for i in range(count):
        rng = Random(f"text {seed} {i}")
        name, data = some_certificate(rng)
        data = aimed(data, rng)
        forged = copy.deepcopy(data)
        forge(forged, rng)
        honest, found = verify(json.dumps(data)), verify(json.dumps(forged))
        printed = found.text()
        lines = printed.splitlines()
        same = (honest.status, honest.reason, honest.checked) == (found.status, found.reason, found.checked)
        whole = len(lines) == 1 + len(found.checked) + bool(found.supposed) + len(found.supposed)
        plain = printed.isascii() and printed.replace("\n", "").isprintable()
        good = same and whole and plain
        yield name, ("compared" if found.status == "valid" else "refused") if good else "false", forged, printed[:300]


CAMPAIGNS: dict[str, Callable[[int, int], Iterator[Found]]] = {"mutations": mutations, "plans": plans, "texts": texts}


def campaign(name: str, count: int, seed: int, out: TextIO | None = None, progress: bool = False) -> Counter[str]:
    """How often each outcome occurred, by kind and in all."""
    found: Counter[str] = Counter()
    start = shown = time.perf_counter()
    try:
        for kind, outcome, data, why in CAMPAIGNS[name](count, seed):
            found[outcome] += 1
            found[f"{kind}: {outcome}"] += 1
            if outcome in ("false", "slow") and out is not None:
                out.write(
                    json.dumps({"campaign": name, "kind": kind, "outcome": outcome, "why": why, "data": data}) + "\n"
                )
                out.flush()
            now = time.perf_counter()
            if progress and now - shown > 5:
                shown, done = now, sum(found[x] for x in OUTCOMES)
                print(
                    f"{name}: {done} of {count}, {found['false']} false, {now - start:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
    return found


OUTCOMES = ("refused", "compared", "trivial", "not compared", "slow", "false")


def summary(name: str, found: Counter[str], seconds: float) -> dict[str, Any]:
    total = sum(found[x] for x in OUTCOMES)
    accepted = total - found["refused"] - found["slow"]
    return {
        "campaign": name, "certificates": total, "accepted": accepted, **{x: found[x] for x in OUTCOMES},
        "seconds": round(seconds, 1), "kinds": {k: v for k, v in sorted(found.items()) if ": " in k},
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in CAMPAIGNS:
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=argparse.FileType("a", encoding="utf-8"))
    args = parser.parse_args()
    false = 0
    for name in CAMPAIGNS:
        count = getattr(args, name)
        if count:
            start = time.perf_counter()
            found = campaign(name, count, args.seed, args.out, progress=True)
            told = summary(name, found, time.perf_counter() - start)
            print(json.dumps(told))
            if args.out:
                args.out.write(json.dumps(told) + "\n")
            false += found["false"]
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
