"""How many values a curve of a round has: as many as some work allows, which is counted and not measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from symamp.analyses.part import Evidence
from symamp.evaluation.all_data_sets_plan import AllDataSetsEvidence
from symamp.evaluation.binomial_tails import TailPlan, tail_work
from symamp.evaluation.certified import suits_doubles
from symamp.evaluation.choice import LATTICE
from symamp.evaluation.divergence import Enclosure
from symamp.evaluation.plan import Plan

NEAR, FAR, CHEAP, BELOW = 4_000_000, 600_000, 1_500_000, 3_000_000
"""Microseconds of a usual core, about, for the levels that matter and for those far out, for cheap bounds where dear
ones take too long, and for a lower end."""
_CELL, _SEARCH = 100, 40_000
"""Of the bounds over all data sets: a cell of frequencies for each law, and the search for parameters."""
_FREQUENCY, _VALUE, _BITS = 16.0, 0.3, 128
"""Of a kernel in balls: a frequency at so many bits, and what each value of the law adds."""
_IN_DOUBLES, _VALUE_IN_DOUBLES = 3.0, 0.1
_MISSED, _TRIED = 4.0, 80_000
"""Where a kernel misses its gap by such a factor, larger ones were tried."""
_STEP, _MOST_STEPS, _LATTICE, _OTHER = 1.5, 10**6, 250_000, 4_000
"""Of binomial tails: a step, and how many are counted. Of sums on a lattice, and of other evaluators: all of it."""
_CELLS_OF_NOISE = 200
"""How many values a law with a density stands for."""


@dataclass
class Work:
    """Work that may be spent on one list of levels; the same on every machine, whatever was evaluated before."""

    most: float
    spent: float = field(default=0.0, init=False)

    def is_left(self) -> bool:
        """Return whether another value may be evaluated."""
        return self.spent < self.most

    def count(self, found: Evidence | Enclosure, n: int, gap: float, values: int | None = None) -> None:
        """Add about what an evaluation took, for a law of so many values, or one with a density."""
        details = found.details if isinstance(found, Evidence) else None
        if isinstance(details, AllDataSetsEvidence):
            assert isinstance(found, Evidence)
            cells = sum(len(c.ends) for region in details.regions for c in region.cells)
            self.spent += _SEARCH + _CELL * cells * len(getattr(found.part, "laws", (0,)))
        elif isinstance(found.plan, Plan):
            each = (_FREQUENCY + _VALUE * (values or _CELLS_OF_NOISE)) * found.precision / _BITS
            if values and suits_doubles(found.plan, values, n, max(gap, found.relative_gap)):
                each = _IN_DOUBLES + _VALUE_IN_DOUBLES * values
            self.spent += found.plan.blocks.evaluations * each
            self.spent += _TRIED if found.relative_gap > _MISSED * gap else 0
        elif isinstance(found.plan, TailPlan):
            self.spent += _OTHER + _STEP * tail_work(found.plan, n, _MOST_STEPS)
        else:
            self.spent += _LATTICE if LATTICE in found.evaluator else _OTHER
