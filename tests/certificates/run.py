"""Campaigns against the verifier: ``python -m tests.certificates.run --mutations 50000 --plans 50000 --texts 1000``.

Every accepted certificate whose claim can be compared is compared with exact values in fractions; none may be false.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from symamp.verifier import verify
from tests import campaign
from tests.certificates import exact
from tests.certificates.honest import Data, aimed, some_certificate
from tests.certificates.mutations import mutant
from tests.certificates.texts import forge

Found = tuple[str, str, Data, str]
"""A kind of certificate, what became of it ("refused", "compared", "false", ...), it, and why."""
OUTCOMES = ("refused", "compared", "trivial", "not compared", "slow", "false")


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


def mutation(seed: int, number: int) -> Found:
    """A certificate that was changed, most of them after they were honest."""
    return judged(*mutant(Random(f"mutation {seed} {number}")))


def plan(seed: int, number: int) -> Found:
    """An honest law with random plans, the claim as sharp as the verifier lets it be."""
    rng = Random(f"plan {seed} {number}")
    name, data = some_certificate(rng)
    return judged(name, aimed(data, rng))


def misleading(seed: int, number: int) -> Found:
    """A certificate with misleading texts: what is said to be checked is as before, and no line is added."""
    rng = Random(f"text {seed} {number}")
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
    return name, ("compared" if found.status == "valid" else "refused") if good else "false", forged, printed[:300]


CAMPAIGNS: dict[str, Callable[[int, int], Found]] = {"mutations": mutation, "plans": plan, "texts": misleading}


def run(name: str, count: int, seed: int, first: int | None = None, file: Path | None = None) -> campaign.Tally:
    """How often each outcome occurred, by kind."""

    def case(number: int) -> list[campaign.Came]:
        kind, outcome, data, why = CAMPAIGNS[name](seed, number)
        return [campaign.Came((kind,), outcome, {"why": why, "data": data} if outcome in ("false", "slow") else None)]

    return campaign.run(name, case, seed, count, first=first, file=file)


def main() -> int:
    words = campaign.words(__doc__)
    for name in CAMPAIGNS:
        words.add_argument(f"--{name}", type=int, default=0)
    given, false = words.parse_args(), 0
    for name in CAMPAIGNS:
        if count := getattr(given, name):
            found = run(name, count, given.seed, given.first, given.findings)
            print(*found.lines(OUTCOMES), sep="\n")
            false += found.of("false")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
