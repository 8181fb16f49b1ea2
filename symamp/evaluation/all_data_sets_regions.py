"""Regions of data sets: where different inputs are worst in different terms, each region has parameters of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from symamp.evaluation.all_data_sets_carried import carried
from symamp.evaluation.all_data_sets_floats import FloatClasses
from symamp.evaluation.all_data_sets_plan import Region
from symamp.evaluation.all_data_sets_search import SHARP, Found, search

_MOST_REGIONS = 4
_FEWEST_USERS = 200
"""With fewer users each region takes many frequencies, and small cases can be enumerated."""
_WORTH = 0.02
"""A corner that counts for less than this is not worth a region of its own."""
_LEAST_GAIN, _BEYOND = 0.005, 1.5
"""What a halving has to gain in the logarithm, and an excess that no halving mends: each costs a search."""


@dataclass(frozen=True)
class FoundRegion:
    """A region, and what the search found for it; None if nothing."""

    region: Region
    found: Found | None

    @property
    def log_value(self) -> float:
        """The logarithm of the bound on its data sets."""
        return inf if self.found is None else self.found.log_value


def covering(g: FloatClasses, n: int, whole: Found | None) -> tuple[FoundRegion, ...]:
    """Return regions that cover all data sets, given what was found for all at once; the largest bound comes first.

    The region with the largest bound is halved between the two corners that bind it, while its bound is far
    above the largest divergence at a corner.
    """
    regions = [FoundRegion(Region(), whole)]
    if whole is None or g.mixed or n < _FEWEST_USERS:
        return tuple(regions)
    while len(regions) < _MOST_REGIONS:
        worst = regions[0].found
        if worst is None or not SHARP <= worst.excess <= _BEYOND:
            break
        second, first = np.argsort(worst.binding, kind="stable")[-2:].tolist()
        if worst.binding[second] < _WORTH:
            break
        halves = [searched(g, n, half) for half in regions[0].region.halves(min(first, second), max(first, second))]
        if max(half.log_value for half in halves) > worst.log_value - _LEAST_GAIN:
            break
        regions = sorted([*regions[1:], *halves], key=lambda r: -r.log_value)
    return tuple(regions)


def carried_regions(regions: Sequence[FoundRegion], g: FloatClasses, n: int) -> tuple[FoundRegion, ...] | None:
    """Return the same regions with their parameters for a level near by, None where one of them is not as good."""
    result = []
    for r in regions:
        # Laws that are merged may be more or fewer at another level.
        if r.found is None or r.found.weights.shape[1] != len(g.values):
            return None
        found = carried(r.found, _confined(g, r.region), n)
        if found is None:
            return None
        result.append(FoundRegion(r.region, found))
    return tuple(sorted(result, key=lambda r: -r.log_value))


def searched(g: FloatClasses, n: int, region: Region) -> FoundRegion:
    """Return what the search finds for a region."""
    return FoundRegion(region, search(_confined(g, region), n))


def _confined(g: FloatClasses, region: Region) -> FloatClasses:
    corners = np.array(region.corners(len(g.values))) if region.steps else None
    return replace(g, corners=corners)
