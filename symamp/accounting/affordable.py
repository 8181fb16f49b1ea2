"""How many values of a dear bound a curve has: as many as some work allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from symamp.analyses.part import Evidence
from symamp.evaluation.all_data_sets_plan import AllDataSetsEvidence

_MOST_WORK, _FAR_WORK = 40_000, 6_000
"""Cells of frequencies, times laws, of the bounds over all data sets for one list of levels: some seconds."""
_SEARCH = 400
"""What a search for parameters takes, in the same units."""


@dataclass
class Work:
    """Work that is counted and not measured, so that answers do not depend on the machine; ``far`` ones get less."""

    far: bool
    spent: int = field(default=0, init=False)

    def is_left(self) -> bool:
        """Return whether another value may be evaluated."""
        return self.spent < (_FAR_WORK if self.far else _MOST_WORK)

    def count(self, evidence: Iterable[Evidence]) -> None:
        """Add what evaluations took."""
        self.spent += sum(map(_work, evidence))


def _work(found: Evidence) -> int:
    if not isinstance(found.details, AllDataSetsEvidence):
        return 0
    cells = sum(len(c.ends) for region in found.details.regions for c in region.cells)
    return _SEARCH + cells * len(getattr(found.part, "laws", (0,)))
