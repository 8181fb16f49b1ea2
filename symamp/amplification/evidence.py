"""What an answer rests on, in words: intervals, and the data sets that attain a lower bound."""

from __future__ import annotations

from dataclasses import dataclass

from symamp.analyses.reduction import Reduction


@dataclass(frozen=True)
class Interval:
    """Two doubles, rounded outward."""

    lower: float
    upper: float

    def __str__(self) -> str:
        return f"[{self.lower!r}, {self.upper!r}]"


@dataclass(frozen=True)
class DataSets:
    """Two neighbouring data sets: the first user holds x0 or x1, all others an input drawn with the given weights.

    ``member`` is the mechanism, where the question was about many (``PureLDP``).
    """

    x0: str
    x1: str
    others: tuple[tuple[str, str], ...]
    member: str = ""

    @staticmethod
    def of(reduction: Reduction) -> DataSets:
        """Return the data sets of a lower bound's triple."""
        return DataSets(*reduction.pair, tuple((x, str(w)) for x, w in reduction.dataset), reduction.member)

    def __str__(self) -> str:
        rest = (
            self.others[0][0] if len(self.others) == 1 else "{" + ", ".join(f"{x}: {w}" for x, w in self.others) + "}"
        )
        member = f" for {self.member}" if self.member else ""
        return f"({self.x0}, {rest}, ...) against ({self.x1}, {rest}, ...){member}"
