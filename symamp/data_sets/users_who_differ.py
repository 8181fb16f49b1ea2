"""Data sets of users who differ: sums over positions if data are shuffled, sums of signs if messages are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, inf, log

from flint import arb

from symamp.bounds.bound import DataSetBound, DataSets
from symamp.data_sets.mechanisms import SeenSpace
from symamp.data_sets.proposer import DataSpace, Pair, in_turn
from symamp.decompositions.blanket import Weights
from symamp.decompositions.to_law import number
from symamp.laws.law import Level, total
from symamp.numbers.surroundings import BALL_BITS, at_precision
from symamp.randomizers.mechanism import DATA, Mechanism
from symamp.settings.group_sums import GroupSum, Sides
from symamp.settings.users_who_differ import HeterogeneousUsers, Positions, StepTest, Victim, members_below
from symamp.settings.victims import STEPS, OfVictims, Victims, against_a_mean, columns_of
from symamp.sums.divergence import Enclosure, Settings


def spaces_of_victims(victims: Victims) -> tuple[DataSpace, ...]:
    """Return the data sets in which the data of some victims differ: one space for each list of mechanisms."""
    if victims.crowd.shuffled == DATA:
        known = tuple(members_below(victims.crowd)) or (("", ()),)
        return tuple(PositionSpace(victims, *found) for found in known)
    if victims.crowd.who.is_poisson:
        return (SeenSpace(PoissonSpace(victims), victims.crowd.who),)
    return (MessageSpace(victims),)


# ------------------------------------ Data shuffled: the divergence is a sum over positions if all know the same inputs


class PositionSpace(DataSpace):
    """The data sets of positions that run some mechanisms, in which one item of data differs."""

    def __init__(self, victims: Victims, member: str, mechanisms: Sequence[Mechanism]) -> None:
        self._victims, self.member, self._mechanisms = victims, member, mechanisms
        self.table = mechanisms[0].numeric if mechanisms else None  # ranks what is tried of all positions

    @property
    def pairs(self) -> Sequence[Pair]:
        """The pairs of the first position, which are those of all; empty names where nothing is known."""
        return self._mechanisms[0].pairs() if self._mechanisms else [("", "")]

    def others(self, pair: Pair) -> Sequence[str]:
        known = [(*m.further_inputs(pair), *pair) for m in self._mechanisms]
        return [x for x in (known[0] if known else ()) if all(x in found for found in known)] or [""]

    def drawn(self, pair: Pair, weights: Weights) -> DataOfPositions:
        return DataOfPositions(self._victims, self.member, pair, weights)


@lru_cache(maxsize=256)
def _positions(crowd: HeterogeneousUsers, member: str, pair: Pair, weights: Weights) -> Positions | None:
    mechanisms = dict(members_below(crowd)).get(member, ())
    if not mechanisms or weights[0][0] == "" or (len(weights) > 1 and any(m.is_composed for m in mechanisms)):
        return None
    laws = tuple(m.dataset(*pair, dict(weights)) for m in mechanisms)
    counts = tuple(count for count, _ in crowd.groups)
    return None if any(law.singular for law in laws) else Positions(counts, laws, complete=True)


@dataclass(frozen=True)
class DataOfPositions(OfVictims, GroupSum):
    """Two neighbouring data sets whose other items are one input, or are drawn with these probabilities.

    The divergence is 0, or not known, where it is no sum over positions.
    """

    member: str
    compared: Pair
    dataset: Weights

    @property
    def pair(self) -> Pair:
        return self.compared

    @property
    def data_sets(self) -> DataSets | None:
        """The data sets, None where nothing is known of them."""
        if self.positions is None:
            return None
        return DataSets(*self.compared, tuple((x, str(w)) for x, w in self.dataset), self.member)

    @property
    def positions(self) -> Positions | None:
        """The laws of the positions."""
        return _positions(self.crowd, self.member, self.compared, self.dataset)

    def swapped(self) -> DataOfPositions:
        """Return the same with the two data sets exchanged."""
        return replace(self, compared=self.compared[::-1])

    def sides(self, level: Level, n: int) -> Sides:
        return self.positions(level) if self.positions else (), lambda: arb(self.crowd.n), lambda: arb(0)


# ----------------------------------------------- Messages shuffled: what is summed is how messages distinguish the pair


class MessageSpace(DataSpace):
    """The data sets in which a victim's data differ, and all others hold inputs in turn."""

    def __init__(self, victims: Victims) -> None:
        self._victims = victims

    @property
    def pairs(self) -> Sequence[Pair]:
        return self._victims.pairs

    def others(self, pair: Pair) -> Sequence[str]:
        return columns_of(self._victims.crowd)[self._victims.group, pair].others

    def held(self, pair: Pair, inputs: Sequence[str], n: int) -> DataSetBound | None:
        return StepSums(self._victims, pair, tuple(inputs) if len(in_turn(inputs, n - 1)) > 1 else (inputs[0],))

    def drawn(self, pair: Pair, weights: Weights) -> DataSetBound | None:
        """Return the data sets in which all others hold one input; mixtures have more variance, and are not tried."""
        return StepSums(self._victims, pair, (weights[0][0],)) if len(weights) == 1 else None


class PoissonSpace(MessageSpace):
    """The same for Poisson numbers of the others of each group: their messages are drawn by one mean law."""

    @property
    def pairs(self) -> Sequence[Pair]:
        return list(dict.fromkeys(v.pair for v in self._victims.each))

    def others(self, pair: Pair) -> Sequence[str]:
        return self._victim(pair).others

    def _victim(self, pair: Pair) -> Victim:
        return next(v for v in self._victims.each if v.pair == pair)

    def held(self, pair: Pair, inputs: Sequence[str], n: int) -> DataSetBound | None:
        return DataSpace.held(self, pair, inputs, n)

    def drawn(self, pair: Pair, weights: Weights) -> DataSetBound | None:
        return against_a_mean(self._victim(pair), weights)


@dataclass(frozen=True)
class StepSums(OfVictims):
    """A threshold for the sum of signs of messages, when all others hold these inputs in turn."""

    compared: Pair
    inputs: tuple[str, ...]
    is_swapped: bool = False

    @property
    def pair(self) -> Pair:
        return self.compared[::-1] if self.is_swapped else self.compared

    @property
    def victim(self) -> Victim:
        """The columns of all mechanisms."""
        found = columns_of(self.crowd)[self.victims.group, self.compared]
        return found.swapped() if self.is_swapped else found

    def swapped(self) -> StepSums:
        """Return the same with the two data sets exchanged."""
        return replace(self, is_swapped=not self.is_swapped)

    @property
    def held(self) -> tuple[dict[str, int], ...]:
        """How many of the others of each group hold each input: the first group begins, the next one goes on."""
        found, first = list[dict[str, int]](), 0
        for count in self.victim.counts:
            start = first % len(self.inputs)
            found.append(in_turn(self.inputs[start:] + self.inputs[:start], count))
            first += count
        return tuple(found)

    @property
    def data_sets(self) -> DataSets:
        """The data sets."""
        if len(self.inputs) == 1:
            return DataSets(*self.pair, ((self.inputs[0], "1"),))
        counts = in_turn(self.inputs, sum(self.victim.counts))
        return DataSets(*self.pair, tuple((x, str(count)) for x, count in counts.items()), counted=True)

    def test(self, level: Level) -> StepTest | None:
        """Return the sum over messages that distinguishes most at a level, None if none does."""
        with at_precision(BALL_BITS):
            tests = list(self.victim.tests(level, self.held))
        best = max(tests, key=lambda test: test.sum.log_estimate(level), default=None)
        return None if best is None or best.sum.plan(level) is None else best

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        found = self.test(level)
        value = -inf if found is None else found.sum.log_estimate(level)
        with at_precision(BALL_BITS):
            revealed, least = float(self.victim.revealed(level)), float(self.limit(n))
        value = log(revealed + exp(value)) if revealed > 0.0 else value
        return max(value, log(least)) if least > 0.0 else value

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return the divergence of the best sum of signs as a lower end; nothing is said of the upper one.

        Guarantee
        ---------
        The lower end is at most the divergence of the data sets. Proof: docs/proofs/users_who_differ.md, section 4.
        """
        found = self.test(level)
        plan = None if found is None else found.sum.plan(level)
        with at_precision(BALL_BITS):
            # The divergence falls in eps, so that its limit is below it.
            revealed, least = self.victim.revealed(level).lower(), self.limit(n).lower()
        if found is None or plan is None:
            return Enclosure(revealed.max(least), arb(1), STEPS, BALL_BITS)
        with at_precision(plan.bits):
            return Enclosure((revealed + found.sum.below(level)).lower().max(least), arb(1), STEPS, plan.bits)

    def chances(self, levels: Iterable[Level]) -> Iterator[tuple[arb, arb]]:
        """Yield bounds on the chances of the sets of views that distinguish most at these levels.

        Guarantee
        ---------
        Of each set, the first data set has at least the first chance, and the second at most the second one.
        Proof: docs/proofs/users_who_differ.md, section 7.
        """
        yield self.limit(self.crowd.n).lower(), arb(0)
        known = set()
        for level in levels:
            test = self.test(level)
            plan = None if test is None else test.sum.plan(level)
            with at_precision(BALL_BITS):
                shown, e = list(zip(*self.victim.rows(True), strict=True)), level.exponential()
                seen = tuple(i for i, (x, y) in enumerate(shown) if x - e * y > 0)
            sums = (test.up, test.down, plan.threshold) if test and plan else None
            if (seen, sums) not in known:
                known.add((seen, sums))
                low, high = test.sum.chances(plan) if test and plan else (arb(0), arb(0))
                with at_precision(max(BALL_BITS, plan.bits if plan else 0)):
                    yield low + total([shown[i][0] for i in seen]), high + total([shown[i][1] for i in seen])

    def limit(self, n: int) -> arb:
        """Return a ball around the limit of the divergence as eps grows: of what the second data set never shows."""
        who, (hidden, never), (revealed, unseen) = self.crowd.who, self.victim.rows(), self.victim.rows(True)
        rest = who.honest * (1 - who.present) if never[0].is_zero() else who.seen
        alone = total([x for x, y in zip(hidden, never, strict=True) if y.is_zero()])
        shown = total([x for x, y in zip(revealed, unseen, strict=True) if y.is_zero()])
        return shown + alone * number(1 - rest)() ** (self.crowd.n - 1)
