"""Data sets if not everyone takes part: those of the mechanism, transformed by the setting."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from symamp.bounds.bound import DataSetBound
from symamp.data_sets.densities import SmoothDataSet
from symamp.data_sets.proposer import DataSpace
from symamp.laws.law import Level
from symamp.settings.participation import Participation


class SeenSpace(DataSpace):
    """The triples of a space; data sets that are none, such as counts of inputs, are left out."""

    def __init__(self, proposed: DataSpace, participation: Participation) -> None:
        self._proposed, self._participation = proposed, participation
        self.member, self.table = proposed.member, proposed.table

    @property
    def proposed(self) -> DataSpace:
        return self._proposed

    def seen(self, part: DataSetBound, level: Level | None, n: int) -> Iterable[DataSetBound]:
        """Return the parts of the data sets, in both orders where the victim's report is removed."""
        if isinstance(part, SmoothDataSet):
            if level is None:
                return ()
            part = part.in_cells(level, n)
        return cast(Iterable[DataSetBound], self._participation.of(part))
