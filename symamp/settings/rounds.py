"""Many rounds as a setting: a description of each round and its number of repetitions."""

from __future__ import annotations

from dataclasses import dataclass

COVERED = (
    "adaptive rounds with fresh randomness: mechanism, users (n or more) and all inputs may depend on earlier outputs; "
    "not covered: memoised randomness, budgets chosen from the transcript"
)
OF_GROUPS = (
    "adaptive rounds with fresh randomness: all inputs, and who is of which group, may depend on earlier outputs (a "
    "victim of one group is of that group in every round), while the groups keep their numbers (or have more users, "
    "where messages are shuffled); not covered: memoised randomness, budgets chosen from the transcript"
)


@dataclass(frozen=True)
class Rounds:
    """Adaptive rounds with fresh randomness: each in words, with how often it is run."""

    listed: tuple[tuple[str, int], ...]
    covered: str = COVERED
    text: str = ""
    """How all of them are written, if not one by one."""

    @property
    def mechanism(self) -> None:
        """The one mechanism that all users run: there is none."""

    def __repr__(self) -> str:
        return self.text or " + ".join(f"{count:,} x ({text})" for text, count in self.listed)
