"""How many values a curve of a round has: as many as some work allows, which is counted and not measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from symamp.evaluation.work import spent

NEAR, FAR, CHEAP, BELOW, TRADE_OFF = 3e6, 5e5, 1e6, 2e6, 6e5
"""For the levels that matter and for those far out, for cheap bounds where dear ones take too long, for a lower end,
and for each curve behind a trade-off function."""


@dataclass
class Share:
    """Work that may be spent on one list of levels."""

    most: float
    before: float = field(default_factory=spent, init=False)

    def is_left(self) -> bool:
        """Return whether another value may be evaluated."""
        return spent() - self.before < self.most
