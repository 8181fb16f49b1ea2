"""Run random worlds: ``python -m tests.worlds.run --worlds 200000 --seed 1 --findings found.jsonl``.

``--one NUMBER`` shows one world. ``--noise`` runs worlds of noise, whose truth is that of cells of messages.
"""

import re
from collections.abc import Callable, Iterator

from tests import campaign
from tests.worlds.ask import Case, Outcome, examine, examine_noise

STATUSES = ("answered", "refused", "slow", "false", "crash")


def kind(outcome: Outcome) -> str:
    """The question without its numbers."""
    text = re.split(r"[(\[]| with World", outcome.question)[0]
    return text.replace("given ", "given points").strip()


def came(case: Case) -> Iterator[campaign.Came]:
    """What came of the questions about a world."""
    for x in case.outcomes:
        told = {"setting": x.setting, "question": x.question, "method": x.method, "detail": x.detail}
        told |= {"seconds": round(x.seconds, 3), "world": repr(case.world)}
        yield campaign.Came((x.setting, kind(x)), x.status, told if x.is_finding else None)


def numbered(seed: int, slow: float, asked: Callable[..., Case] = examine) -> Callable[[int], Iterator[campaign.Came]]:
    """What examines a world by its number."""
    return lambda number: came(asked(seed, number, slow=slow))


def main() -> None:
    """Read the words, run, print the table."""
    words = campaign.words(__doc__)
    words.add_argument("--worlds", type=int, default=2000, help="how many worlds, those before --first included")
    words.add_argument("--slow", type=float, default=1.0, help="how often questions that take long are asked")
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
    each = numbered(given.seed, given.slow, asked)
    more = {"first": given.first, "seconds": given.seconds, "file": given.findings}
    tally = campaign.run("worlds of noise" if given.noise else "worlds", each, given.seed, given.worlds, **more)
    print(*tally.lines(STATUSES), sep="\n")


if __name__ == "__main__":
    main()
