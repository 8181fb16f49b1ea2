"""Noise on an interval: every pair of inputs, whatever inputs the other users hold, from a grid of inputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, floor, inf, log, log1p
from typing import ClassVar, NamedTuple

import numpy as np
import sympy as sp
from flint import arb
from numpy.typing import NDArray

from symamp.bounds.all_data_sets.bound import AllDataSetsPairBound, is_rough
from symamp.bounds.bound import Bound, MaxOverPairs, PairBoundDefaults
from symamp.bounds.hypotheses import SHUFFLED, Hypothesis, ProofStatus, every
from symamp.bounds.noise_table import Cut, Grid, Noise, NoiseTable, grid_of, shape_of
from symamp.bounds.pairs_of_a_table import log_divergences
from symamp.bounds.reduction import Reduction
from symamp.bounds.subject import Subject
from symamp.decompositions.decomposition import LawTriple
from symamp.decompositions.to_law import number
from symamp.laws.law import Floats, Level
from symamp.numbers.disks import LARGEST, UNIT, exponentials, logarithms_above
from symamp.numbers.dyadic import float_above
from symamp.numbers.limits import TRIPLES, Limits
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.randomizers.discrete_laplace import DiscreteLaplace
from symamp.randomizers.noise.density_mechanism import IntervalDensities
from symamp.sums.all_data_sets.floats import Parameters
from symamp.sums.all_data_sets.laws import raised_to_majorant
from symamp.sums.all_data_sets.marked_messages import added_by_marks
from symamp.sums.all_data_sets.moments import bounds_by_moments, rough_bounds
from symamp.sums.all_data_sets.normal import is_worth_asking, moments_of_laws, moments_of_rows, normal_bound
from symamp.sums.all_data_sets.search import Found, Others, Searches
from symamp.sums.divergence import Enclosure, Settings
from symamp.sums.inversion import LARGEST_EPS, falling_root

SOURCE = "Theorem I (docs/proofs/interval.md)"
# What is tuned. All grids, boxes and tilts give a bound; these trade time against width. Rules of thumb.
_ROOM, _OF_MOMENTS, _OF_NORMAL = (2e-4, 4e-4), 4.5e-3, 1e-3
"""How far, relatively in epsilon, the bound may be above that of the pair of the ends, for what cells cost; and more,
in log delta, for what moments do, and where the normal law serves. The gap that is aimed at is room, too. Of pairs of
numbers the second is for shapes that are flat at the ends."""
_FEW = 0, 1000
"""With so many users there is twice the room, as moments are farther off than with many; the second, too, is for flat
shapes."""
_SHORTEST, _LONGEST = 0.0005, 0.125
"""The least and the largest cell of compared inputs, as parts of the interval."""
_POWER, _CHANGE, _ATTEMPTS = 0.6, 2.0, 3
"""What a cell costs is about this power of its length, inverted; a length that is changed by more than a factor is
corrected so many times."""
_OF_CELL, _OF_REMAINDER = 0.35, 0.04
"""Shares of the room: of a cell of either side, and of the remainder of either side in units of delta."""
_OF_ENDS = 0.35, 0.75
"""Which part of the room cells are left where the ends' own bound is above it; where inputs near them are as bad."""
_OF_LOSS = 0.2, 0.1
"""And which part of what the ends' bound is above their divergence, by an estimate, is room but for more effort."""
_MOST_ROOM, _CELLS = 1.3e-3, 24
"""There: up to which part of epsilon the room is what the shortest cells ask for, but for more effort; and how many
cells of the first input have a table in common, as their ends are messages of it."""
_OF_SLACK = 0.65
"""What cells may take, in log delta, of the distance of their pairs from the worst one; moments cost some of it."""
_MOST_LOWERED = 0.03
"""Cells lower eps by at most this part of it, on either side."""
_LEAST, _PARTS = 0.0002, 6
"""The least cell that is cut, as a part of the interval; and into how many parts at once."""
_CUTS, _WORTH = 8, 0.1
"""How often cells are cut, and which part of the room a cell has to cost."""
_GAINED, _HOPELESS = 0.3, 10.0
"""Cells are cut again where the last time gained this part, in log delta, of what is above the aim; and not at all
where the first ones are so many times above it: parameters are poor then, and shorter cells do not help."""
_MISSED, _FAR_MISSED = 0.25, 4.0
"""And of many levels only where the aim is missed, in log delta, by more than the first and less than the second times
the room."""
_LEAST_USERS, _LARGEST_RATIO, _LARGEST_OF_UNBOUNDED = 100, 1e3, 50.0
"""For fewer users the blanket is as good; larger ratios, or of messages that are no integers those of one in a thousand
where they are unbounded, take too long for the default: many messages, or parameters that are sought for seconds."""
_MOST_MESSAGES = 2_000
"""More messages take too long for the default, as those of noise that is truncated far out do."""
_FEWEST_STEPS = 33
"""Tables of fewer integers have the bound of all their pairs."""
_LEAST_LOG, _LEAST_WITHOUT_CUT = -600.0, -20_000.0
"""Smaller divergences, in logarithms, are left to other bounds: what is cut off is a double."""
_FARTHER, _FEWEST = 1.1, 100
"""Where ratios are unbounded, a bound that by an estimate is farther out than this factor is not asked for, nor one for
fewer users, for whom the estimate is too low: it takes long, and was above that of the worst pair."""
_POOR = 30.0
"""Nor one where the square of the largest value that is not marked is so many variances of the sum: the bound of the
ends is far above all data sets then."""
_SURE, _SURE_OF_MARKS = 2e-3, 8e-4
"""How far, in log delta, beyond the place where the bound is to be delta it is asked, but for the room: a second trial
takes as long. And as a part of eps, where marks and the cut add all of delta."""
_MOST_PLACES, _MOST_PAIRS = 300, 3_000
"""With more places, or twice as many pairs of them, cells are longer; with more pairs they are not cut further."""
_NEAR, _STRAIGHT = 0.1, 0.02
"""Up to which distance, in log delta, a straight line says where the bound is delta; and, as a part of eps, roughly how
it changes."""
_WIDER = (1.0, 4.0, 16.0)
"""Factors by which cells are longer if the usual length gives too many."""
_VALUES = 200
"""About how many values laws have in the search for parameters of the ends, where they have more."""
_SETTLED = 0.95
"""Boxes that a blanket bounds by this part of the target need no more work."""
_ASKED_AGAIN = 0.9
"""Boxes above this part of the target are listed in later stages, too: the verifier's bounds are others."""
_TILTS = np.geomspace(0.3, 3.0, 7)
"""Tilts of blankets, in units of a rough guess: others settle next to no pair."""
_BITS_LOST, _BITS_OF_CUT, _USUAL_CUT = 14, 4, Cut(-60)
"""What is cut off beyond the messages has a mass of 2^-14 of delta, but for steps of 2^4; and where delta is not known
yet."""
_CLOSE = 1e-3
"""How near, in log delta, the level is found at which the bound with marks is delta."""
_BITS_OF_MANY = -48
"""The mass up to which many levels share tables where ratios are bounded; else more of it needs a lower cap."""
_SAME_CAP = 1.5
"""Caps that differ by less than this factor are as good as each other."""
_OF_MANY = 8.0
"""Where many levels are asked for messages and classes of other users cost so many times more: it is a part of a
thousandth of eps, and each level takes half of the time."""
_PLACES = 12
"""The number of places of compared inputs that are ranked for the sizes of cells."""
_POORER, _SEARCHED = 0.5, 3
"""Corners that are so far, in log delta, above what they are below the ends by an estimate, have parameters of their
own; and how often these are searched in a stage."""


# ---------------------------------------------------------------------------- All boxes of pairs at one level, together


class _Ends(AllDataSetsPairBound):
    """The pair of the ends, with all messages of the table."""

    @cached_property
    def searches(self) -> Searches:
        """What was found at the levels asked before."""
        fewer = Searches(self.laws, most=_VALUES) if len(self.laws[0].atoms) > _VALUES else None
        return Searches(self.laws, others=self.others, most=0, fewer=fewer)

    def log_normal(self, level: Level, n: int) -> float:
        """Return the logarithm of the bound by the normal law, an estimate."""
        with at_precision(BALL_BITS):
            laws, gains, _ = self.searches.prepared(level, n, BALL_BITS)
            return float(normal_bound(moments_of_laws(laws, gains), n).log())


def _corner(
    table: NoiseTable, pair: tuple[float, float], places: Sequence[float], others: Others | None = None
) -> _Ends:
    """Return the bound of the pair of two inputs of a table over all data sets."""
    held, names = (("others", sp.Integer(1)),), (f"{pair[0]:g}", f"{pair[1]:g}")
    laws = (LawTriple(table.law(pair, other), names) for other in table.classes(places))
    found = (Reduction(NoiseInterval.method, NoiseInterval.proof_status, SOURCE, x, held) for x in laws)
    return _Ends(tuple(found), others=others)


@dataclass(frozen=True)
class NoiseInterval(PairBoundDefaults):
    """All pairs of inputs of an interval with noise: boxes of pairs, each by the pairs of its corners.

    The worst corners are 0 and 1; ``ends`` is their bound, whatever the others hold. A ``coarse`` one has fewer
    messages and classes of other users, which cost so many times what they usually do.
    """

    noise: Noise
    coarse: float = 1.0

    method: ClassVar[str] = "interval"
    proof_status: ClassVar[ProofStatus] = ProofStatus.PROVED
    source: ClassVar[str] = SOURCE
    estimate_error: ClassVar[float] = 1e-3
    cost: ClassVar[float] = 3.3

    @property
    def pair(self) -> tuple[str, str]:
        """The worst corners: the ends."""
        return self.noise.pairs()[0]

    @property
    def signature(self) -> Hashable:
        """The noise, and which bound it is."""
        return self.method, self.noise, self.coarse

    @cached_property
    def _ends(self) -> dict[Cut, _Ends]:
        return {}

    @cached_property
    def _others(self) -> Others:
        return Others(are_compared=False)

    @cached_property
    def _cuts(self) -> dict[int, Cut]:
        """Where messages were cut last for a number of users: near levels share tables."""
        return {}

    @cached_property
    def _lines(self) -> dict[int, tuple[float, float, float]]:
        """Where the bound was delta last for a number of users: eps, log delta, and about how it falls there."""
        return {}

    def ends(self, cut: Cut) -> _Ends:
        """Return the bound of the pair of the ends over all data sets, of what the cut leaves."""
        if cut not in self._ends:
            grid = grid_of(self.noise, cut)
            self._ends[cut] = _corner(grid.with_places, (0.0, 1.0), grid.places, self._others)
        return self._ends[cut]

    @property
    def _least_log(self) -> float:
        return _LEAST_WITHOUT_CUT if shape_of(self.noise).is_whole else _LEAST_LOG

    def _mass(self, log_delta: float) -> Cut:
        """Return where messages are cut for a divergence about this, without a cap."""
        shape = shape_of(self.noise)
        bits = floor((min(max(log_delta, _LEAST_LOG), 0.0) / log(2.0) - _BITS_LOST) / _BITS_OF_CUT)
        most = _BITS_OF_MANY if self.coarse > 1.0 and shape.has_rate else 0
        return Cut(0 if shape.is_whole else min(_BITS_OF_CUT * bits, most), coarse=self.coarse)

    def cut(self, log_delta: float, n: int) -> Cut:
        """Return what is cut off for a divergence about this."""
        shape, cut = shape_of(self.noise), self._mass(log_delta)
        if shape.is_whole or shape.has_rate:
            return cut
        grid = grid_of(self.noise, cut)
        self._cuts[n] = cut._replace(cap=grid.best_cap(n, exp(grid.eps_for(n, log_delta)))[0])
        return self._cuts[n]

    def cut_at(self, level: Level, n: int) -> Cut:
        """Return the same for a level, by an estimate of the divergence of the ends."""
        shape, e = shape_of(self.noise), 1.0 + level.rough_minus_one()
        if shape.is_whole or shape.has_rate:
            return self._mass(0.0 if shape.is_whole else self._at_one_end(level, n))
        cut = self._mass(grid_of(self.noise, _USUAL_CUT).best_cap(n, e)[1])
        cut, known = cut._replace(cap=grid_of(self.noise, cut).best_cap(n, e)[0]), self._cuts.get(n)
        is_near = known is not None and 1.0 / _SAME_CAP < known.cap / cut.cap < _SAME_CAP
        if known is None or known.log2_mass != cut.log2_mass or not is_near:
            self._cuts[n] = known = cut
        return known

    def _at_one_end(self, level: Level, n: int) -> float:
        """Return an estimate of the logarithm of the divergence of the ends where all others are at one of them."""
        rows = grid_of(self.noise, _USUAL_CUT).with_places.rows((0.0, 1.0))
        return float(log_divergences(rows, rows[0], level.rough_minus_one(), n)[0, 1])

    def found(self, level: Level, n: int, limits: Limits) -> tuple[Cut, Found | None]:
        """Return where messages are cut, and the parameters for the pair of the ends."""
        cut = self.cut_at(level, n)
        grid = grid_of(self.noise, cut)
        return cut, self.ends(cut).searches.found(level, n, limits, rough=True) if grid.is_known else None

    def of_ends(self, cut: Cut, level: Level, n: int, found: Found, settings: Settings) -> tuple[float, float]:
        """Return estimates, in the logarithm, of the bound of the pair of the ends and of how far above all may be."""
        room, ends = self._room(level, n, found), self.ends(cut)
        if not is_worth_asking(found.log_value, n):
            return found.log_value, _OF_MOMENTS + room
        normal = ends.log_normal(level, n)
        by_normal = normal + _OF_NORMAL < found.log_value + _OF_MOMENTS + settings.gap
        return (normal, _OF_NORMAL + room) if by_normal else (found.log_value, _OF_MOMENTS + room)

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of the logarithm of the bound, in floats; -inf for zero. Not a bound."""
        if level.rough_minus_one() == 0.0:  # where cells leave no room for a bound
            return self._at_one_end(level, n)
        if is_rough(settings) and n in self._lines:
            eps, log_delta, slope = self._lines[n]
            if abs((level.double or inf) - eps) <= _STRAIGHT * eps:
                return log_delta - slope * ((level.double or inf) - eps)
        cut, found = self.found(level, n, settings.limits)
        if found is None or not found.log_value > self._least_log:
            return inf
        own = sum(self.of_ends(cut, level, n, found, settings))
        lost = grid_of(self.noise, cut).lost(n, 1.0 + level.rough_minus_one())
        return float(np.logaddexp(own, log(lost))) if lost > 0.0 else own

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the bound is delta: 0 if it is smaller at 0, inf if never."""
        cut = self.cut(log_delta, n)
        room = _OF_NORMAL if is_worth_asking(log_delta, n) else _OF_MOMENTS
        ends, grid = self.ends(cut), grid_of(self.noise, cut)

        def share_at(eps: float) -> float:
            """Return which part of delta is not left to the ends."""
            return min(grid.lost(n, exp(min(eps, LARGEST_EPS))) * exp(min(-log_delta, 700.0)), 1.0)

        def aim_at(eps: float) -> float:
            """Return the logarithm of what is left; -inf for nothing."""
            share = share_at(eps)
            return log_delta + log1p(-share) - room if share < 1.0 else -inf

        def missed(eps: float) -> float:
            return ends.log_estimate(Level.of_float(eps), n, settings.usual) - max(aim_at(eps), self._least_log)

        if cut.cap < inf:
            near = grid_of(self.noise, self._mass(log_delta)).eps_for(n, log_delta)
            is_poor = grid.share_of_one(n) > _POOR * max(settings.limits.patience, 1.0)
            if start is not None and (n < _FEWEST or near > _FARTHER * start or is_poor):
                return inf
            ends.searches.found(Level.of_float(near), n, settings.limits, rough=True)  # what follows begins there
            root = falling_root(missed, near, -2.0 * log_delta / near, inf, _CLOSE)
        else:
            root = ends.root(n, aim_at(0.0), settings.usual, start) if aim_at(0.0) > -inf else inf
        boxes = self._boxes(root, n, settings) if 0.0 < root < inf else None
        if boxes is not None and not boxes.is_by_normal:
            more, slope = log(boxes.aim_of_ends) - room, boxes.slope
            if more >= _NEAR:
                there = root + more / slope
                slope = -missed(there) / (there - root)
                boxes = self._boxes(there, n, settings) or boxes
                more = log(boxes.aim_of_ends) - room
            sure = min(_SURE / slope, self._of_eps * root) + _SURE_OF_MARKS * share_at(root) * root
            place = root + more / slope + sure
            self._lines[n] = place, log_delta, boxes.slope
            return place
        return (1.0 + self._of_eps) * root

    def _boxes(self, eps: float, n: int, settings: Settings) -> _Boxes | None:
        """Return the boxes at a level, before anything is proved of them; None where no parameters are found."""
        level = Level.of_float(eps)
        cut, found = self.found(level, n, settings.limits)
        parameters = None if found is None else raised_to_majorant(found.parameters)
        if found is None or parameters is None:
            return None
        at_ends = self.of_ends(cut, level, n, found, settings)
        return _Boxes(grid_of(self.noise, cut), level, n, found, at_ends, parameters, settings)

    @property
    def _of_eps(self) -> float:
        return _ROOM[shape_of(self.noise).is_flat]

    def _room(self, level: Level, n: int, found: Found) -> float:
        """Return what cells may cost, in log delta."""
        minus_one, few = level.rough_minus_one(), 1.0 + _FEW[shape_of(self.noise).is_flat] / n
        return self._of_eps * few * log1p(minus_one) * (n - 1) * found.saddle * (1.0 + minus_one)

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return an enclosure whose upper end bounds the divergence of every pair of inputs of the interval.

        Guarantee
        ---------
        The upper end is at least the divergence for every pair of inputs and every choice of the other users' inputs.
        Proof: docs/proofs/interval.md.
        """
        cut, found = self.found(level, n, settings.limits)
        with at_precision(BALL_BITS):
            everywhere = one_user(self.noise, level)
            parameters = None if found is None else raised_to_majorant(found.parameters)
            if found is None or parameters is None or not self._least_log < found.log_value < 0.0:
                return Enclosure(arb(0), everywhere, "one user", BALL_BITS)
            ends, room = self.of_ends(cut, level, n, found, settings)
            if room > max(1.0, -ends):
                return Enclosure(arb(0), everywhere, "one user", BALL_BITS)
            boxes = _Boxes(grid_of(self.noise, cut), level, n, found, (ends, room), parameters, settings)
            upper = boxes.largest().min(everywhere)
            evidence = BoxesEvidence(cut, tuple(boxes.stages), boxes.tilts, boxes.work)
        return Enclosure(arb(0), upper, "boxes of pairs", BALL_BITS, evidence=evidence)


def one_user(noise: Noise, level: Level) -> arb:
    """Return at least the divergence of one user alone, which no pair and no number of users exceeds."""
    ratio = shape_of(noise).noise.local_ratio()
    if ratio is sp.oo:
        return arb(1)
    largest, e = number(ratio)(), level.exponential()
    return ((largest - e) / (largest + 1)).max(arb(0)).upper()  # that of binary response


class Cell(NamedTuple):
    """Where a cell of a compared input starts, its kappa, and the tilt of its remainder."""

    start: float
    kappa: float = 0.0
    tilt: float = 1.0


class Stage(NamedTuple):
    """The messages of a table, and cells of both compared inputs; those of boxes that were not asked are bare."""

    nodes: tuple[float, ...]
    first: tuple[Cell, ...]
    second: tuple[Cell, ...]


@dataclass(frozen=True)
class BoxesEvidence:
    """What an evaluation by boxes can be repeated from, with parameters of the bound of the ends.

    ``work`` is the number of messages in the laws of other users, of all pairs that no tilt settled.
    """

    cut: Cut
    stages: tuple[Stage, ...]
    tilts: tuple[float, ...]
    work: int


class _Boxes:
    """Boxes of pairs at one level and number of users: their sizes by doubles, then what is proved of each corner.

    Divergences are in units of that of the ends, of e^``log_unit``.
    """

    def __init__(
        self,
        grid: Grid,
        level: Level,
        n: int,
        found: Found,
        ends: tuple[float, float],
        parameters: Parameters,
        settings: Settings,
    ) -> None:
        self.grid, self.level, self.n, self.parameters, self.limits = grid, level, n, parameters, settings.limits
        self.log_unit, room = ends
        self.is_by_normal = self.log_unit != found.log_value
        self.e = 1.0 + level.rough_minus_one()
        self.lost = self._in_units(grid.lost(n, self.e))
        self.room = min((room + settings.gap) * (1.0 + self.lost), 1.0)
        self.aim = exp(self.room) + self.lost
        self.log_rest = log(_OF_REMAINDER * self.room / self.e) + self.log_unit
        self.tilts, self.slope = tuple((found.saddle * _TILTS).tolist()), self._slope(found.saddle)
        # what messages cost is so in the least cells, too
        self.least = up, down = self._kappas_at_ends(0.0)
        self.least_e = self.e * (1.0 - down) / (1.0 + up) * (1.0 - 2.0**-46)
        self.shortest, room = (
            (0.0, 0.0),
            log(self._ends_by_moments + self.lost) * _OF_LOSS[grid.shape.is_flat],
        )
        if self.limits.patience <= 1.0 and grid.shape.is_flat:
            up, down = ((x - k) * self.slope for x, k in zip(self._kappas_at_ends(_SHORTEST), self.least, strict=True))
            if (wider := 0.5 * (up + down) / _OF_CELL) <= _MOST_ROOM * log(self.e) * self.slope:
                self.shortest, room = (up, down), max(room, wider)
        if self.room < room < 1.0 and self.limits.patience <= 1.0:
            self.room, self.aim = room, exp(room) + self.lost
            self.log_rest = log(_OF_REMAINDER * room / self.e) + self.log_unit
        self.stages, self.work = list[Stage](), 0

    def largest(self) -> arb:
        """Return a bound on the divergence of all pairs in all boxes; cells of boxes above the aim are cut.

        Each box has a table of its own: what is known of one is known of its parts.
        """
        for wider in _WIDER:
            first, second = (self._places(above, wider) for above in (True, False))
            if max(len(first), len(second)) <= _MOST_PLACES and len(first) * len(second) <= 2 * _MOST_PAIRS:
                break
        else:
            return arb("inf")
        known, least = np.where(self._compared(first, second), inf, 0.0), inf
        for _ in range(_CUTS):
            before = least
            known, kappas = self._all_values(first, second, known)
            least = float(known.max())
            high = known > self.aim
            if not high.any() or least > _HOPELESS * self.aim:
                break
            if self.grid.coarse > 1.0 and not _MISSED < log(least / self.aim) / self.room < _FAR_MISSED:
                break
            if before < inf and log(before / least) < _GAINED * log(before / self.aim):
                break
            costs = [np.maximum(x - k, 0.0) * self.slope for x, k in zip(kappas, self.least, strict=True)]
            with np.errstate(divide="ignore", invalid="ignore"):
                over = np.where(high, np.log(known / self.aim) / (costs[0][:, None] + costs[1]), 0.0)
            first, rows = self._cut(first, costs[0], over, high)
            second, columns = self._cut(second, costs[1], over.T, high.T)
            shape, known = known.shape, np.where(self._compared(first, second), known[np.ix_(rows, columns)], 0.0)
            if known.shape == shape or (known > self.aim).sum() > _MOST_PAIRS:
                break
        return arb(least * (1.0 + 1e-12)) * arb(self.log_unit).exp()

    def _in_units(self, x: float) -> float:
        """Return at least a divergence in units of that of the ends."""
        return x * exp(-self.log_unit) * (1.0 + 1e-12) if x > 0.0 else 0.0

    def _all_values(
        self, first: Sequence[float], second: Sequence[float], known: Floats
    ) -> tuple[Floats, tuple[Floats, Floats]]:
        """Return what ``_values`` does, by a table for each few cells of the first input where there are many."""
        size, found = _CELLS if self.grid.shape.is_flat else len(known), known
        sides = np.zeros(len(first) - 1), np.zeros(len(second) - 1)
        for k in range(0, len(known), size):
            rows = np.zeros_like(known)
            rows[k : k + size] = known[k : k + size]
            if (rows > self.aim).any():
                some, kappas = self._values(first, second, rows)
                found = np.vstack([found[:k], some[k : k + size], found[k + size :]])
                sides = np.maximum(sides[0], kappas[0]), np.maximum(sides[1], kappas[1])
        return found, sides

    def _values(
        self, first: Sequence[float], second: Sequence[float], known: Floats
    ) -> tuple[Floats, tuple[Floats, Floats]]:
        """Return bounds on the divergences of the pairs of each box, and the kappas of both sides.

        Only boxes that are not known to be below the aim are asked.
        """
        asked, listed = known > self.aim, known > _ASKED_AGAIN * self.aim
        used, every = (self._ends_of(x, first, second) for x in (asked, listed))
        table = self.grid.table(sorted(used))
        whole = table if every == used else self.grid.table(sorted(every))
        sides = [np.zeros((2, len(places) - 1)) for places in (first, second)]
        kept = [[Cell(place) for place in places[:-1]] for places in (first, second)]
        for k, places in enumerate((first, second)):
            within = np.asarray(asked.any(axis=1 - k))
            for c in np.flatnonzero(listed.any(axis=1 - k)).tolist():
                remainder = (table if within[c] else whole).remainder(places[c], places[c + 1], k == 0)
                kappa, s = remainder.kappa(self.n, self.log_rest)
                kept[k][c] = Cell(places[c], kappa, s)
                if within[c]:
                    sides[k][:, c] = remainder.side(self.n, kappa, s, self.log_unit)
        self.stages.append(Stage(whole.nodes, *map(tuple, kept)))
        self.work += int((listed & ~asked).sum()) * len(whole.nodes) * len(self.grid.places)
        (up, left), (down, right) = sides
        e = np.where(asked, self.e * (1.0 - down) / (1.0 + up[:, None]) * (1.0 - 2.0**-46), inf)
        levels = _of_four(np.pad(e, 1, constant_values=inf), np.minimum)
        if self.grid.shape.places:  # boxes have the pairs of their corners and no others
            levels[np.array(first)[:, None] >= np.array(second)] = inf
        nodes = self._nodes(table, first, second, levels)
        corners = _of_four(nodes, np.maximum)
        values = (1.0 + up[:, None]) * corners + left[:, None] + self.e * (1 + 4 * UNIT) * right
        values = values + self._in_units(self.grid.outside)
        return np.where(asked, np.minimum(values, known), known), (up, down)

    @staticmethod
    def _ends_of(boxes: NDArray[np.bool_], first: Sequence[float], second: Sequence[float]) -> set[float]:
        """Return the places at which sides of some boxes begin or end."""
        sides = (np.flatnonzero(boxes.any(axis=1 - k)).tolist() for k in (0, 1))
        return {
            places[c + end] for places, side in zip((first, second), sides, strict=True) for c in side for end in (0, 1)
        }

    def _cut(
        self, places: Sequence[float], costs: Floats, over: Floats, high: NDArray[np.bool_]
    ) -> tuple[tuple[float, ...], NDArray[np.int_]]:
        """Return the places with some more between the ends of cells of high boxes.

        A cell is cut where it loses more than a part of the room, into as many parts as lose less, by the part ``over``
        of what both cells of a high box lose. And of which cell each of theirs is a part.
        """
        found, most = set(places), over.max(axis=1)
        for k in np.flatnonzero(high.any(axis=1)).tolist():
            size = places[k + 1] - places[k]
            if costs[k] > _WORTH * self.room and size > _LEAST:
                share = 1.0 - float(most[k])
                parts = min(ceil(share**-_POWER), _PARTS) if 0.0 < share < 1.0 else _PARTS if most[k] < inf else 2
                found |= {self.grid.shape.rounded(places[k] + i / parts * size) for i in range(1, max(parts, 2))}
        cut = tuple(sorted(found))
        return cut, np.searchsorted(places, cut[:-1], "right") - 1

    def _compared(self, first: Sequence[float], second: Sequence[float]) -> NDArray[np.bool_]:
        """Return which boxes have pairs that are compared: others are mirror images."""
        return np.asarray(np.array(first[:-1])[:, None] < np.array(second[1:])[None, :])

    def _places(self, above: bool, wider: float) -> tuple[float, ...]:
        """Return places of one compared input, whose cells cost what the distance from the worst pair is.

        ``wider`` is how much longer cells may be than the room says.
        """
        if self.grid.shape.places:
            return self.grid.shape.places
        slack, shortest, most = self._slacks[not above], wider * _SHORTEST, wider * _MOST_LOWERED * log(self.e)
        least, places, size = self.least[not above], [0.0], shortest
        cost, other = self.shortest if above else self.shortest[::-1]
        own = max(wider * _OF_CELL * self.room + 0.25 * (cost - other), cost)
        while places[-1] < 1.0 and len(places) <= _MOST_PLACES:
            last = places[-1]
            budget = min((own + _OF_SLACK * slack(last)) / self.slope, most)
            for _ in range(_ATTEMPTS):
                end = min(self.grid.shape.after(last, size), 1.0)
                ends = (last, end) if above else (1.0 - end, 1.0 - last)
                kappa = self._kappa(*ends, above) - least
                factor = (budget / kappa) ** _POWER if kappa > 0.0 else inf
                size = min(max(size * min(max(factor, 1.0 / _CHANGE), _CHANGE), shortest), _LONGEST)
                if 1.0 / _CHANGE < factor < _CHANGE:
                    break
            following = self.grid.shape.after(last, size)
            places.append(1.0 if following > 1.0 - 0.3 * size else following)
        return tuple(places) if above else tuple(1.0 - x for x in places[::-1])

    def _kappas_at_ends(self, size: float) -> tuple[float, float]:
        """Return about the kappas of cells of some length at both ends, the first input's and the second one's."""
        after = self.grid.shape.after(0.0, size)
        return self._kappa(0.0, after, True), self._kappa(1.0 - after, 1.0, False)

    def _kappa(self, start: float, end: float, above: bool) -> float:
        """Return about the kappa of a cell of one compared input."""
        return self.grid.usual.remainder(start, end, above).kappa(self.n, self.log_rest)[0]

    def _slope(self, saddle: float) -> float:
        """Return about how log delta of the ends falls with eps: the saddle point in the worst law of other users."""
        first, second = self._usual.rows([0.0, 1.0])
        laws, exponents = self._laws, saddle * (first - self.e * second) / self._laws
        tilted = laws * np.exp(exponents - exponents.max(axis=1, keepdims=True))
        worst = int((exponents.max(axis=1) + np.log(tilted.sum(axis=1))).argmax())
        weights = tilted[worst] / tilted[worst].sum()
        return (self.n - 1) * saddle * self.e * float(weights @ (second / laws[worst]))

    @property
    def _usual(self) -> NoiseTable:
        return self.grid.with_places

    @property
    def _laws(self) -> Floats:
        """The laws of other users of a usual table, without symbols of their own."""
        return self.grid.laws[:, :-1]

    @cached_property
    def _slacks(self) -> tuple[Callable[[float], float], Callable[[float], float]]:
        return self._slack(True), self._slack(False)

    def _slack(self, above: bool) -> Callable[[float], float]:
        """How far, in log delta, pairs with this input away from its end are below the pair of the ends, about."""
        places = sorted({self.grid.shape.rounded(x) for x in (np.linspace(0.0, 1.0, _PLACES + 1) ** 2.0).tolist()})
        rows = self._usual.rows([x if above else 1.0 - x for x in places])
        end = np.broadcast_to(self._usual.rows([1.0 if above else 0.0]), rows.shape)
        pairs, e = (rows, end) if above else (end, rows), np.full((len(rows), 1), self.e)
        worst = np.max([_by_blanket(x, pairs, e, self.n, self.tilts, self.log_unit) for x in self._laws], axis=0)
        with np.errstate(all="ignore"):
            gaps = np.maximum.accumulate(np.nan_to_num(np.log(worst[0] / worst), posinf=1e3))
        return lambda x: float(np.interp(x, places, gaps))

    @staticmethod
    def _rows(rows: Callable[[Sequence[float]], Floats], places: Sequence[float], asked: NDArray[np.int_]) -> Floats:
        """Return the rows of some of the places."""
        some, where = np.unique(asked, return_inverse=True)
        return rows([places[k] for k in some.tolist()])[where]

    @property
    def _left(self) -> float:
        """What cells may cost, in log delta, where the ends' own bound is above what it was estimated."""
        return _OF_ENDS[self.grid.shape.is_flat] * self.room

    @property
    def aim_of_ends(self) -> float:
        """What the divergence of all boxes may be, in units, without what is cut off."""
        ends = self._ends_by_moments * exp(self._left)
        return max(exp(self.room), ends) if ends < inf else exp(self.room)

    @property
    def _ends_by_moments(self) -> float:
        """At least the divergence of the ends by moments in the shortest cells, in units; nan for none."""
        rows = [np.pad(row, (0, 1))[None] for row in self._usual.rows([0.0, 1.0])]
        e = np.array([[self.least_e]])
        found = bounds_by_moments(self.grid.laws, (rows[0], rows[1]), e, self.n, self.parameters, self.log_unit)
        return float(found[0])

    @np.errstate(over="ignore")  # what is too large is no bound
    def _nodes(self, table: NoiseTable, first: Sequence[float], second: Sequence[float], levels: Floats) -> Floats:
        """Return bounds on the divergences of all pairs of places at their levels; 0 for those that are not asked."""
        found = np.zeros(levels.shape)
        asked = np.argwhere(np.isfinite(levels))
        i, j = asked.T
        e = levels[i, j][:, None]
        p, q = (self._rows(table.rows, places, k) for places, k in ((first, i), (second, j)))
        aim, slack = log(self.aim) + self.log_unit, 1.0 + 1e-12 + 8.0 * UNIT * abs(self.log_unit)

        def lost(classes: Floats, some: NDArray[np.int_]) -> Floats:
            """Return what marks and the cap add to the divergences of some pairs."""
            if table.cap == inf:
                return np.zeros(len(some))
            left, right = (self._rows(table.whole_rows, places, k[some]) for places, k in ((first, i), (second, j)))
            added = added_by_marks(classes, (left, right), (p[some], q[some]), e[some], self.n, table.marked)
            return added * exp(-self.log_unit) * slack

        added = lost(table.hidden[None], np.arange(len(asked)))
        values = _by_blanket(table.hidden, (p, q), e, self.n, self.tilts, aim)
        values = np.where(e[:, 0] >= 1.0, values * self.aim * slack + added, inf)
        settled = _SETTLED * (self.aim - self._in_units(self.grid.outside))
        open_ = np.flatnonzero(~(values <= settled) & (e[:, 0] >= 1.0))
        classes = table.laws(self.grid.places) if len(open_) else np.zeros(0)
        if len(open_) and not self.is_by_normal:
            self.limits.charge(TRIPLES.of(len(open_) * classes.size))
            added[open_] = np.minimum(added[open_], lost(classes[:, :-1], open_))
            left, right = (np.pad(x[open_], ((0, 0), (0, 1))) for x in (p, q))
            rough = rough_bounds(classes, (left, right), e[open_], self.n, aim) * self.aim * slack
            values[open_] = np.fmin(values[open_], rough + added[open_])
            open_ = open_[~(values[open_] <= settled)]
        if len(open_):
            order = open_[np.argsort([first[a] + 1.0 - second[b] for a, b in asked[open_]])]
            self.work += len(open_) * classes.size
            self.limits.charge(TRIPLES.of(len(open_) * classes.size * (3 + len(self.parameters.terms))))
            ends = table.rows([0.0, 1.0])  # first, as parameters are theirs
            p, q = (np.pad(np.vstack([x, y[order]]), ((0, 0), (0, 1))) for x, y in zip(ends, (p, q), strict=True))
            levels = np.vstack([[[self.least_e]], e[order]])
            if self.is_by_normal:
                every = moments_of_rows(classes, p, q, levels)
                better = np.array([float_above(normal_bound(x, self.n)) for x in every]) * exp(-self.log_unit) * slack
            else:
                better = bounds_by_moments(classes, (p, q), levels, self.n, self.parameters, aim)
                better = np.nan_to_num(better, nan=inf) * self.aim * slack
            values[order] = np.minimum(values[order], better[1:] + added[order])
            if not self.is_by_normal:
                corners, rows = [(first[a], second[b]) for a, b in asked[order]], (p[1:], q[1:])
                values[order] = self._by_own(table, corners, classes, rows, e[order], added[order], values[order])
            if better[0] < inf:  # what the ends themselves are above the estimate no cell makes less
                self.aim = max(self.aim, float(better[0]) * exp(self._left) + self.lost)
        found[i, j] = values
        return found

    def _by_own(
        self,
        table: NoiseTable,
        corners: Sequence[tuple[float, float]],
        classes: Floats,
        rows: tuple[Floats, Floats],
        e: Floats,
        added: Floats,
        values: Floats,
    ) -> Floats:
        """Return bounds on corners, where those that are poor have parameters that are searched for the worst one."""
        first, second = self._slacks
        far = np.array([first(a) + second(1.0 - b) for a, b in corners])
        for _ in range(_SEARCHED):
            poor = np.flatnonzero((values > self.aim) & (values > self.aim * np.exp(_POORER - far)))
            if not len(poor):
                break
            poor = poor[np.argsort(-values[poor])]
            worst = _corner(table, corners[poor[0]], self.grid.places).searches
            found = worst.found(Level.of_float(log(e[poor[0], 0])), self.n, self.limits, rough=True)
            parameters = None if found is None else raised_to_majorant(found.parameters)
            if parameters is None:
                break
            log_unit, pairs = log(self.aim) + self.log_unit, (rows[0][poor], rows[1][poor])
            own = bounds_by_moments(classes, pairs, e[poor], self.n, parameters, log_unit)
            own = np.nan_to_num(own, nan=inf) * self.aim * (1.0 + 1e-12 + 8.0 * UNIT * abs(self.log_unit)) + added[poor]
            if not own[0] < values[poor[0]]:
                break
            values[poor] = np.minimum(values[poor], own)
        return values


def _of_four(x: Floats, chosen: np.ufunc) -> Floats:
    """Return the least or the largest of each four neighbours in a square."""
    return np.asarray(chosen.reduce([x[:-1, :-1], x[1:, :-1], x[:-1, 1:], x[1:, 1:]]))


def _by_blanket(
    hidden: Floats, pairs: tuple[Floats, Floats], e: Floats, n: int, tilts: Sequence[float], log_unit: float
) -> Floats:
    """Return upper bounds on D(P - E Q) of pairs of rows by the blanket and one tilt, in units; inf for none.

    Guarantee
    ---------
    Every pair has at most this divergence, whatever laws above ``hidden`` the other users have.
    Proof: docs/proofs/interval.md.
    """
    first, second = pairs
    with np.errstate(all="ignore"):
        g, size = first - e * second, first + e * second
        w, reach = g / hidden, (size / hidden).max(axis=1)
        rest = max(1.0 - float(hidden.sum()), 0.0) + (len(hidden) + 8) * 4.0 * UNIT
        best = np.full(len(first), inf)
        for theta in tilts:
            error = 2.0 * UNIT * (len(hidden) + 16.0 + 64.0 * np.minimum(theta * reach, LARGEST))
            moments = (exponentials(theta * w) @ hidden + rest) * (1.0 + error)
            logs = n * logarithms_above(moments) - 1.0 - log(n * theta)
            best = np.fmin(best, np.where(theta * reach <= LARGEST, logs, inf))
        room = 1e-9 + 1e-13 * np.abs(best)
        return np.asarray(np.exp(np.minimum(best + room - log_unit, 700.0)) * (1.0 + 1e-12))


class _OnePart(MaxOverPairs):
    """The bound: of many levels a coarse one."""

    def for_many(self) -> MaxOverPairs:
        return MaxOverPairs(tuple(NoiseInterval(p.noise, _OF_MANY) for p in self.parts if isinstance(p, NoiseInterval)))


def _noise_of(subject: Subject) -> Noise | None:
    mechanism, densities = subject.mechanism, subject.densities
    if isinstance(densities, IntervalDensities):
        return densities
    return mechanism if isinstance(mechanism, DiscreteLaplace) else subject.noise


def interval_bound(subject: Subject) -> MaxOverPairs:
    """Return the bound of one part, for all pairs of inputs and all data sets.

    Guarantee
    ---------
    Its divergence is at least that of the shuffled reports of every two neighbouring data sets, for every level and
    number of users. Proof: docs/proofs/interval.md.
    """
    noise = _noise_of(subject)
    assert noise is not None
    return _OnePart((NoiseInterval(noise),))


def _is_too_costly(subject: Subject, level: Level, n: int, patience: float) -> bool:
    """Return whether one message may decide, so that the blanket is as good, or messages would be too many."""
    noise = _noise_of(subject)
    if isinstance(noise, DiscreteLaplace) and noise.B < _FEWEST_STEPS:
        return True
    if noise is None:
        return True
    shape = shape_of(noise)
    ratio, is_usual = shape.usual_ratio, shape.steps or shape.noise.local_ratio() is not sp.oo
    most = _LARGEST_RATIO if is_usual else _LARGEST_OF_UNBOUNDED
    if n < max(_LEAST_USERS, 4.0 * ratio) or ratio > most * patience:
        return True
    table = grid_of(noise, _USUAL_CUT).with_places if isinstance(noise, IntervalDensities) else None
    return table is not None and len(table.nodes) > _MOST_MESSAGES * patience


def _no_smooth_noise(subject: Subject) -> str | None:
    noise = _noise_of(subject)
    return "here there is no such noise: leave out the method" if noise is None else shape_of(noise).unsupported


NOISE = Hypothesis(
    "noise",
    "Messages carry noise with a log-concave density, or Cauchy noise, and inputs fill an interval; or such noise is "
    "truncated to messages around the inputs, and their ends are proved to be the worst pair; or inputs are integers, "
    "and messages carry discrete Laplace noise that is clipped to them, or discrete Gaussian noise where they are few.",
    every(_no_smooth_noise),
)
INTERVAL = Bound(
    "interval",
    ProofStatus.PROVED,
    SOURCE,
    "all pairs of an interval of inputs and all data sets, for noise",
    "interval",
    (*SHUFFLED, NOISE),
    interval_bound,
    rank=3,
    too_costly=_is_too_costly,
)
