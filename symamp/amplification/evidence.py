"""What an answer rests on, in words: intervals, and the data sets that attain a lower bound."""

from __future__ import annotations

from dataclasses import dataclass

from symamp.analyses.fixed_counts import FixedCounts
from symamp.analyses.part import DataSet


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

    ``member`` is the mechanism, where the question was about many (``PureLDP``). Where ``counted``, weights are numbers
    of users and nothing is drawn.
    """

    x0: str
    x1: str
    others: tuple[tuple[str, str], ...]
    member: str = ""
    counted: bool = False

    @staticmethod
    def of(reduction: DataSet | FixedCounts) -> DataSets:
        """Return the data sets of a lower bound."""
        if isinstance(reduction, FixedCounts):
            held = tuple((x, str(c)) for x, c in zip(reduction.inputs, reduction.counts, strict=True) if c)
            return DataSets(*reduction.pair, held, counted=True)
        return DataSets(*reduction.pair, tuple((x, str(w)) for x, w in reduction.dataset), reduction.member)

    def __str__(self) -> str:
        if self.counted and len(self.others) > 1:
            held = " and ".join(f"{w} user{'s' * (w != '1')} at {x}" for x, w in self.others)
            return f"({self.x0}, {held}) against ({self.x1}, {held})"
        rest = (
            self.others[0][0] if len(self.others) == 1 else "{" + ", ".join(f"{x}: {w}" for x, w in self.others) + "}"
        )
        member = f" for {self.member}" if self.member else ""
        return f"({self.x0}, {rest}, ...) against ({self.x1}, {rest}, ...){member}"
