"""What searches have found for one pair of inputs: parameters that other levels near by take over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flint import arb

from symamp.evaluation.all_data_sets_carried import carried
from symamp.evaluation.all_data_sets_floats import FloatClasses
from symamp.evaluation.all_data_sets_laws import has_bound, prepared_laws
from symamp.evaluation.all_data_sets_plan import Region
from symamp.evaluation.all_data_sets_regions import FoundRegion, carried_regions, covering, searched
from symamp.evaluation.all_data_sets_saddles import positive_messages
from symamp.evaluation.all_data_sets_search import SHARP, Found
from symamp.evaluation.gparv import BallGparv
from symamp.evaluation.law import Law, Level
from symamp.evaluation.work import is_spent
from symamp.numbers.surroundings import at_precision

_FEWEST_POSITIVE, _LEAST_SPREAD = 1.0, 1e-2
"""With fewer positive messages, plainly or by their spread, no parameters give a bound near to the truth."""
_MOST_KEPT, _MOST_SEARCHED = 256, 63
_MOST_BORROWED = 2
"""So many of what was searched last for other pairs are tried."""

Regions = tuple[FoundRegion, ...]
Prepared = tuple[list[BallGparv], list[arb], float]
Others = list[tuple[int, float, Found]]
"""What was searched for many pairs of inputs, the last one last: n, E[G_+] and the parameters."""


@dataclass
class _Kept:
    """What was found level by level, and what of it was searched for: n, the mean 1 - E and the regions."""

    found: dict[tuple[Level, int], Regions] = field(default_factory=dict)
    searched: list[tuple[int, float, Regions]] = field(default_factory=list)


class Searches:
    """The searches for the laws of one pair of inputs: nothing is searched twice, and near levels share parameters.

    A level takes over the weights of one that was searched, with the same number of users, where by an estimate they
    are hardly worse there; on lines that suit it. ``others`` is a list that many pairs of inputs share: where rough
    parameters will do, those of another pair may be taken over.
    """

    def __init__(self, laws: Sequence[Law], mixed: bool = False, others: Others | None = None) -> None:
        self._laws, self._mixed, self._others = tuple(laws), mixed, others
        self._whole, self._covered = _Kept(), _Kept()
        self._borrowed: dict[tuple[Level, int], Regions] = {}
        self.are_met = True
        """Whether no evaluation came out far above the estimate of its parameters."""
        self._classes: tuple[tuple[Level, int], FloatClasses | None] | None = None
        self._prepared: tuple[tuple[Level, int, int], Prepared] | None = None

    def prepared(self, level: Level, n: int, bits: int) -> Prepared:
        """Return what ``prepared_laws`` makes of the laws; the last is kept."""
        if self._prepared is None or self._prepared[0] != (level, n, bits):
            self._prepared = (level, n, bits), prepared_laws(self._laws, level, n, bits, self._mixed)
        return self._prepared[1]

    def regions(self, level: Level, n: int, halved: bool, rough: bool = False) -> Regions:
        """Return what is found for all data sets at once, or for regions that cover them."""
        return self._halved(level, n) if halved else self.whole(level, n, rough)

    def whole(self, level: Level, n: int, rough: bool = False) -> Regions:
        """Return what is found for all data sets at once; where it may be ``rough`` perhaps that of another pair."""

        def search(g: FloatClasses) -> Regions:
            found = searched(g, n, Region())
            if self._others is not None and found.found is not None:
                self._others.append((n, g.gain, found.found))
                del self._others[:-_MOST_SEARCHED]
            return (found,)

        borrowed = self._borrowed_at(level, n) if rough and not self._whole.searched else None
        return borrowed or self._found(self._whole, level, n, search)

    def _borrowed_at(self, level: Level, n: int) -> Regions | None:
        """Return the parameters of another pair that suit this one, None without any."""
        if is_spent():
            return self._borrowed.get((level, n))
        g = self._floats(level, n) if self._others and (level, n) not in self._borrowed else None
        for users, gain, other in (self._others or [])[: -_MOST_BORROWED - 1 : -1]:
            found = None if g is None or users != n else carried(other, g, n, gain)
            if found is not None:
                self._borrowed[level, n] = (FoundRegion(Region(), found),)
                break
        return self._borrowed.get((level, n))

    def knows(self, level: Level, n: int) -> bool:
        """Return whether there are parameters for all data sets that nobody has to search."""
        return (level, n) in self._whole.found or (level, n) in self._borrowed

    def are_for(self, n: int) -> bool:
        """Return whether something was searched for so many users, for other levels to take over."""
        return any(users == n for users, *_ in self._whole.searched)

    def _halved(self, level: Level, n: int) -> Regions:

        def search(g: FloatClasses) -> Regions:
            (whole,) = found = self.whole(level, n)
            return found if whole.found is None or whole.found.excess < SHARP else covering(g, n, whole.found)

        return self._found(self._covered, level, n, search)

    def _found(self, kept: _Kept, level: Level, n: int, search: Callable[[FloatClasses], Regions]) -> Regions:
        if (level, n) in kept.found:
            return kept.found[level, n]
        same = [found for found in kept.searched if found[0] == n]
        nothing = (FoundRegion(Region(), None),)
        g = self._floats(level, n) if same or not is_spent() else None
        if g is None:
            return nothing
        near = min(same, key=lambda found: abs(found[1] - g.mean), default=None)
        regions = None if near is None else carried_regions(near[2], g, n)
        if regions is None:
            regions = nothing if is_spent() else search(g)
            if any(r.found is None for r in regions) and is_spent():  # other questions may ask for it again
                return regions
            kept.searched = [*kept.searched[-_MOST_SEARCHED:], (n, g.mean, regions)]
        if len(kept.found) >= _MOST_KEPT:
            kept.found.clear()
        kept.found[level, n] = regions
        return regions

    def _floats(self, level: Level, n: int) -> FloatClasses | None:
        """Return the classes of inputs for the search; None where there is nothing to search."""
        if self._classes is None or self._classes[0] != (level, n):
            self._classes = (level, n), self._made(level, n)
        return self._classes[1]

    def _made(self, level: Level, n: int) -> FloatClasses | None:
        balls, *_ = self.prepared(level, n, 128)
        if n < 2 or not has_bound(balls):
            return None
        with at_precision(128):
            mean = -float(level.exponential_minus_one())
        classes = FloatClasses.of(balls, mean, self._mixed)
        if not (n - 1) * classes.gain > _FEWEST_POSITIVE:
            return None
        return classes if positive_messages(classes, n) > _LEAST_SPREAD else None
