"""A bound is the largest divergence of its parts; a part is a pair of inputs, and one certified evaluation of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import inf
from typing import Any, Protocol, TypeAlias

from flint import arb, fmpq

from symamp.bounds.hypotheses import SHUFFLED, Hypothesis, ProofStatus, Statement
from symamp.bounds.subject import Setting, Subject
from symamp.decompositions.numeric_table import NumericTable
from symamp.laws.law import Level
from symamp.numbers.dyadic import Dyadic, float_above
from symamp.numbers.rationals import ball_of
from symamp.numbers.surroundings import at_precision
from symamp.sums.binomial_tails import TailPlan
from symamp.sums.divergence import GUARD, ROUGH, Enclosure, Settings
from symamp.sums.inversion import LARGEST_EPS, log_of_ball
from symamp.sums.kernels.tilted import Plan
from symamp.sums.large_values import LargePlan

# -------------------------------------------------- A part of a bound, and one certified evaluation of it as plain data

COARSEST, COARSE, CLOSER, _OF_MARGIN = 4.0, 0.05, 0.005, 0.8
"""The gaps of first evaluations: most parts are shown to be smaller by these, at a fraction of the time."""
_MOST_STEPS, _INSIDE = 6, 0.999
"""The most steps from one worst data set to the next, and how near to the last eps they go."""
_MANY, _FAR_BELOW = 1000, 2.0
"""With so many users a part is not the worst one whose saddle point is so far below delta, in the logarithm: where eps
is not 0, estimates were at most 0.6 above it."""


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

    def __str__(self) -> str:
        if len(self.others) == 1:
            held = f"everyone else holds {self.others[0][0]}"
        elif self.counted:
            held = " and ".join(f"{w} user{'s hold' if w != '1' else ' holds'} {x}" for x, w in self.others)
        else:
            drawn = " or ".join(f"{x} (probability {w})" for x, w in self.others)
            held = f"everyone else holds {drawn}, independently"
        return f"victim {self.x0} against {self.x1}, {held}{f', for {self.member}' if self.member else ''}"


class PairBoundDefaults(Protocol):
    """The methods of a part, and defaults of its optional members: no known data sets, no relation to other parts."""

    def __getstate__(self) -> dict[str, object]:
        """Return what travels: laws are functions, and are made again where they are needed, as are searches."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.compare}  # type: ignore[arg-type]

    def log_estimate(self, level: Level, n: int, settings: Settings) -> float:
        """Return an estimate of the logarithm of the divergence, in floats; -inf for zero. Not a bound."""

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the divergence is delta: 0 if it is smaller at 0, inf if never."""

    def enclose(self, level: Level, n: int, settings: Settings) -> Enclosure:
        """Return a certified enclosure of the divergence."""

    @property
    def estimate_error(self) -> float:
        """The relative distance of estimates from certified values; 0 where the gap of the question decides."""
        return 0.0

    @property
    def cost(self) -> float:
        """How long an evaluation takes, about, in units of that of one pair of inputs."""
        return 1.0

    @property
    def gap_floor(self) -> float:
        """The relative gap that enclosures are not aimed below, whatever the gap of the question."""
        return 0.0

    @property
    def fixed_background(self) -> tuple[PairBound, ...]:
        """The data sets (x0, x, ..., x), one for each class of inputs x, where the part is known by them; else none."""
        return ()

    def steepest(self, n: int) -> tuple[PairBound, ...]:
        """Return data sets of which the largest falls in eps about as this one does; none if that is itself."""
        return self.fixed_background

    @property
    def looser_proxy(self) -> PairBound | None:
        """A part for the same inputs whose divergence is at least this one's and is evaluated sooner, None if none."""
        return None

    def shown_below(self, level: Level, n: int, log_limit: float, settings: Settings) -> Enclosure | None:
        """Return an enclosure up to e^log_limit at most, where one is had sooner than an estimate; None elsewhere."""
        return None

    @property
    def sharper_triple(self) -> PairBound | None:
        """A proved triple for the same inputs whose divergence is at most this one's, as certificates show it."""
        return None

    def limit(self, n: int) -> arb:
        """Return a ball around the limit of the divergence as eps grows, or 0 where none is known."""
        return arb(0)

    def saddle_estimate(self, level: Level, n: int) -> float:
        """Return about the logarithm of the divergence in a fraction of the time of an estimate, inf where none is."""
        return inf


class PairBound(PairBoundDefaults, Protocol):
    """A bound for one class of ordered pairs of inputs: a divergence for every level and number of users.

    Parts are plain data. Two with equal ``signature`` have equal divergences. ``pair`` represents the class.
    """

    @property
    def method(self) -> str:
        """The name of the bound."""

    @property
    def proof_status(self) -> ProofStatus:
        """What is known of it."""

    @property
    def source(self) -> str:
        """Where its theorem is stated."""

    @property
    def pair(self) -> tuple[str, str]:
        """The ordered pair of inputs (x0, x1) that is compared."""

    @property
    def signature(self) -> Hashable:
        """What parts with the same divergence share."""


class DataSetBound(PairBound, Protocol):
    """A part of a lower bound: two neighbouring data sets."""

    @property
    def data_sets(self) -> DataSets | None:
        """The data sets, None where none are known and the divergence is 0."""


class AttainedBound(PairBoundDefaults):
    """A bound that is the largest divergence of all data sets itself: no other bound is less."""

    def attained(self, level: Level, n: int) -> DataSetBound:
        """Return the data sets by which it is attained, or nearly."""
        raise NotImplementedError

    def largest_eps(self) -> float:
        """Return about the eps from which on the divergence is 0, inf if there is none."""
        raise NotImplementedError

    def root(self, n: int, log_delta: float, settings: Settings, start: float | None = None) -> float:
        """Return an estimate of the eps at which the bound is delta: 0 if it is smaller at 0, inf if never.

        It goes from the worst data sets at one level to those at the next.
        """
        top = min(self.largest_eps(), LARGEST_EPS)
        if top == LARGEST_EPS and self.log_estimate(Level.of_float(top), n, settings) > log_delta:
            return inf
        root = start if start is not None and 0.0 < start < top else 0.0
        seen: dict[Hashable, float] = {}
        for _ in range(_MOST_STEPS):
            worst = self.attained(Level.of_float(min(root, _INSIDE * top)), n)
            if worst.signature in seen:
                break
            seen[worst.signature] = worst.root(n, log_delta, settings, root or None)
            root = max(seen.values())
        return root


@dataclass(frozen=True)
class Evidence:
    """A part of a bound, the exact level eps as an expression, and ends that enclose its divergence there.

    ``exact`` is the divergence itself as (numerator, denominator) where it is known as a fraction. ``plan`` holds the
    parameters that the evaluator searched, ``details`` what another evaluator needs to repeat the evaluation.
    ``merging`` is how far the merging of many values or inputs raised a stop-loss transform at most, a double rounded
    up: a divergence by a law above all others is raised by no more than that.
    """

    part: PairBound
    eps: str
    lower: Dyadic
    upper: Dyadic
    evaluator: str
    precision: int
    plan: Plan | TailPlan | LargePlan | None = field(default=None, repr=False)
    exact: tuple[int, int] | None = field(default=None, repr=False)
    details: object = field(default=None, repr=False)
    merging: float = field(default=0.0, repr=False)

    @staticmethod
    def of(part: PairBound, eps: Level | str, found: Enclosure) -> Evidence:
        """Return the enclosure of a part at a level as evidence."""
        exact = None if found.exact is None else (int(found.exact.p), int(found.exact.q))
        text = eps if isinstance(eps, str) else eps.text
        merging = float_above(found.merging)
        return Evidence(
            part, text, *found.ends, found.evaluator, found.precision, found.plan, exact, found.evidence, merging
        )

    @property
    def fraction(self) -> fmpq | None:
        """The divergence itself where it is known as a fraction."""
        return None if self.exact is None else fmpq(*self.exact)

    def is_at_most(self, delta: fmpq | Dyadic) -> bool:
        """Whether the divergence is proved to be at most delta; ties with a fraction are decided if it is known."""
        if isinstance(delta, Dyadic):
            return not delta < self.upper
        exact = self.fraction
        return bool(exact <= delta) if exact is not None else self.upper.at_most(delta)

    def is_above(self, delta: fmpq) -> bool:
        """Whether the divergence is proved to be above delta."""
        exact = self.fraction
        return bool(exact > delta) if exact is not None else self.lower.exceeds(delta)

    @property
    def relative_gap(self) -> float:
        """(upper - lower)/upper as a float for judging quality; 0 for an exact value."""
        if self.exact is not None or self.upper.mantissa == 0:
            return 0.0
        with at_precision(self.precision + GUARD):
            upper, lower = self.upper.ball, self.lower.ball
            return float((upper - lower.max(arb(0))) / upper)


def largest_upper(evidence: Iterable[Evidence]) -> Dyadic:
    """Return what is at least the divergence of every part."""
    return max(e.upper for e in evidence)


def gap_of_largest(evidence: Sequence[Evidence]) -> float:
    """Return the relative width of what is proved of the largest divergence: others are only shown to be smaller."""
    largest = max(evidence, key=lambda e: e.upper)
    known = largest.fraction
    if known is not None and all(e.is_at_most(known) for e in evidence):
        return 0.0
    return replace(largest, lower=max(e.lower for e in evidence), exact=None).relative_gap


# ------------------------------------------------------ A bound without a name: the largest divergence of its parts

Progress: TypeAlias = Callable[[int, int], None]
"""A function that is called with how much is done, and with how much there is to do."""


@dataclass(frozen=True)
class MaxOverPairs:
    """Parts that together cover everything that is to be bounded; those that repeat others are left out."""

    parts: tuple[PairBound, ...]

    @staticmethod
    def of(parts: Iterable[PairBound]) -> MaxOverPairs:
        """Return the bound with one part for each signature."""
        first: dict[object, PairBound] = {}
        for part in parts:
            first.setdefault(part.signature, part)
        return MaxOverPairs(tuple(first.values()))

    @property
    def searched_table(self) -> NumericTable | None:
        """The table whose pairs of rows are the parts, where those are searched and not listed."""
        return None

    @property
    def begins_with_data_set(self) -> bool:
        """Whether the pair of inputs of the worst data set found leads the search for the root."""
        return self.searched_table is not None

    def watched(self, progress: Progress) -> MaxOverPairs:
        """Return the bound that reports its progress where an evaluation may take long."""
        return self

    def for_many(self) -> MaxOverPairs:
        """Return the bound for many levels: it may be a little larger where each takes less time."""
        return self

    def ranked(self, level: Level, n: int, settings: Settings) -> tuple[PairBound, ...]:
        """Return the parts, largest estimated divergence first."""
        if len(self.parts) == 1:
            return self.parts
        value, largest = dict[int, float](), -inf
        for p in self.parts:  # a part that a faster bound shows to be smaller needs no evaluation
            cheap = p.looser_proxy
            value[id(p)] = inf if cheap is None else cheap.log_estimate(level, n, settings.rough)
            if not value[id(p)] <= largest:
                value[id(p)] = p.log_estimate(level, n, settings.rough)
            largest = max(largest, value[id(p)])
        return tuple(sorted(self.parts, key=lambda p: -value[id(p)]))

    def root(
        self, n: int, log_delta: float, settings: Settings, start: float | None = None, first: PairBound | None = None
    ) -> tuple[float, PairBound]:
        """Return (eps, part) with the largest estimated eps at which a part has divergence delta.

        ``start`` is an eps near it, ``first`` a part that is likely to have it: then parts are not ranked before.
        """
        parts = self.parts
        if first is not None:
            parts = tuple(sorted(parts, key=lambda part: part.signature != first.signature))
        elif start is not None and 0.0 < start < inf:
            parts = self.ranked(Level.of_float(start), n, settings)
        best, root = parts[0], parts[0].root(n, log_delta, settings, start)
        left, ordered = list(parts[1:]), 0.0
        while left and root != inf:
            level, least = Level.of_float(root), log_delta - ROUGH.gap
            if root != ordered:  # those that look worst first
                scores = {id(p): p.saddle_estimate(level, n) for p in left}
                left.sort(key=lambda p: -scores[id(p)])
                ordered = root
            other = left.pop(0)
            if n >= _MANY and root > 0.0 and scores[id(other)] < least - _FAR_BELOW:  # and so are those behind it
                break
            if all(
                part.log_estimate(level, n, settings.rough) > least
                for part in (other.looser_proxy, other)
                if part is not None
            ):
                candidate = other.root(n, log_delta, settings, root)
                if candidate > root:
                    best, root = other, candidate
        return root, best

    def evidence(
        self,
        level: Level,
        n: int,
        settings: Settings,
        goal: fmpq | None = None,
        first: PairBound | Evidence | None = None,
        known: Iterable[Evidence] = (),
    ) -> tuple[Evidence, ...]:
        """Return certified evaluations whose largest upper end bounds every part at this level.

        ``first``, or the part that it is an evaluation of here, is evaluated first, and the others only as sharply as
        it takes to see that they are not above it, or the goal. With a ``goal`` the search ends at the first evaluation
        that is not proved to be at most the goal.
        ``known`` are evaluations, at this level, of another bound on the same pairs: they are used where they prove the
        limit.

        Guarantee
        ---------
        The divergence of every part is at most the largest ``upper`` of the result, unless the last of them is above
        the goal. Proof: docs/proofs/blanket_reduction.md.
        """
        found = [evaluated(self.parts[0] if first is None else first, level, n, settings)]
        others = [p for p in self.parts if p is not found[0].part]
        limit = found[0].upper if goal is None else goal
        bounded = {e.part.pair: e for e in known if e.is_at_most(limit)}
        for other in others:
            if goal is not None and not found[-1].is_at_most(goal):
                break
            if other.pair in bounded:
                found.append(bounded[other.pair])
            else:
                found.append(sharp_enough(other, level, n, limit, settings))
        return tuple(found)


def evaluated(first: PairBound | Evidence, level: Level, n: int, settings: Settings) -> Evidence:
    """Return a certified evaluation of a part, if it is not one."""
    return first if isinstance(first, Evidence) else Evidence.of(first, level, first.enclose(level, n, settings))


def sharp_enough(part: PairBound, level: Level, n: int, limit: fmpq | Dyadic, settings: Settings) -> Evidence:
    """Return an evaluation, as rough as it may be, that proves the limit, else the careful one."""
    whole = limit.ball if isinstance(limit, Dyadic) else ball_of(limit)
    looser = part.looser_proxy
    if looser is not None and looser.log_estimate(level, n, settings.rough) < log_of_ball(whole) - COARSE:
        found = Evidence.of(looser, level, looser.enclose(level, n, replace(settings, gap=max(settings.gap, COARSE))))
        if found.is_at_most(limit):
            return found
    shown = part.shown_below(level, n, log_of_ball(whole), settings)
    if shown is not None and (found := Evidence.of(part, level, shown)).is_at_most(limit):
        return found
    margin = log_of_ball(whole) - part.log_estimate(level, n, settings.rough)  # what is wider would prove nothing
    if margin <= 0.0 and part.estimate_error > 0.0:  # with parameters of another pair perhaps, which are poor here
        margin = log_of_ball(whole) - part.log_estimate(level, n, settings.usual)
    rough = (min(_OF_MARGIN * abs(margin), COARSEST),) if part.estimate_error > 0.0 else (COARSE, CLOSER)
    is_hopeless = isinstance(limit, fmpq) and margin < -COARSE  # a given goal: how far above it does not matter
    for gap in (*(gap for gap in rough if settings.gap < gap < (-margin if is_hopeless else margin)), settings.gap):
        found = Evidence.of(part, level, part.enclose(level, n, replace(settings, gap=gap)))
        if found.is_at_most(limit) or is_hopeless:
            break
    return found


# ------------- A bound whose parts are too many to be evaluated one by one: a common ranking proposes the worst of them


@dataclass(frozen=True)
class MaxOverSearchedPairs(MaxOverPairs):
    """A bound with ``proposed`` parts for each level and number of users in place of a list of all."""

    parts: tuple[PairBound, ...] = field(init=False, compare=False, default=())

    def proposed(self, level: Level, n: int, settings: Settings) -> Sequence[PairBound]:
        """Return a few parts, among them those with the largest divergence by a rough ranking; at least one."""
        raise NotImplementedError

    def own(self, part: PairBound | None) -> PairBound | None:
        """Return the part for the pair of inputs of another bound's part, if the search is to begin with it."""
        return None

    def ranked(self, level: Level, n: int, settings: Settings) -> tuple[PairBound, ...]:
        return MaxOverPairs.of(self.proposed(level, n, settings)).ranked(level, n, settings)

    def root(
        self, n: int, log_delta: float, settings: Settings, start: float | None = None, first: PairBound | None = None
    ) -> tuple[float, PairBound]:
        """Return (eps, part) with the largest estimated eps at which a part has divergence delta.

        What is proposed depends on eps: it is asked for again at each eps that is found. Only the one that is left is
        evaluated with more care than it takes to compare them, if its estimates can be told so closely.
        """
        root, best = self._compared(n, log_delta, replace(settings, gap=max(settings.gap, ROUGH.gap)), start, first)
        is_close = best.estimate_error > 0.0 or not 0.0 < root < inf
        return (root if is_close else best.root(n, log_delta, settings, root)), best

    def _compared(
        self, n: int, log_delta: float, settings: Settings, start: float | None, first: PairBound | None
    ) -> tuple[float, PairBound]:
        root = 0.0 if start is None or start == inf else start
        tried: dict[object, PairBound] = {}
        best = self.own(first)
        if best is not None:
            tried[best.signature], root = best, best.root(n, log_delta, settings, start)
            best = best if 0.0 < root < inf else None
        while True:
            if best is not None and settings.limits.is_spent():
                return root, best
            proposed = self.proposed(Level.of_float(root), n, settings)
            # Reversed: of parts with one signature the first is kept.
            new = {part.signature: part for part in reversed(proposed) if part.signature not in tried}
            new = dict(reversed(new.items()))
            if best is not None and (proposed[0].signature in tried or not new):
                return root, best
            tried.update(new)
            some = list(new.values()) if best is None else [best, *new.values()]
            before = root
            root, best = MaxOverPairs.of(some).root(n, log_delta, settings, root or start, best or first)
            if 0.0 < root == before:  # what is proposed here is known
                return root, best
            if root in (0.0, inf):
                # At eps = 0 all candidates of the first ranking were compared.
                value = {id(p): p.log_estimate(Level.of_float(0.0), n, settings.rough) for p in some}
                return root, best if root == inf else max(some, key=lambda p: value[id(p)])


# --------------------------------------------- A bound with a name: what it supposes, and what it says of such settings

Parts = Callable[[Any], Iterable[PairBound] | MaxOverPairs]
"""Of what all users run, a ``Subject``; once in a ``Bound``, of a ``Setting``, whose hypotheses are checked."""


@dataclass(frozen=True)
class Bound(Statement):
    """A bound in the literature, or of this project, that a question can ask for by name.

    ``hypotheses`` lists what its theorem supposes; a setting that fails one is refused, with the reason. ``parts``
    gives the parts of the bound (triples, or anything else with the methods of ``PairBound``) for what all users run.
    ``proof`` names its page in docs/proofs, "" where nothing is proved. ``rank`` places it in the search for the least
    upper bound: fast ones first, None if it is evaluated on request only. ``skip_by_default`` says if another bound is
    known to be at least as good; ``too_costly`` if this one takes too long at a level and a number of users, for a
    question with a multiple of the usual work (``Limits.patience``); ``only_above`` is the relative width of the
    bracket of epsilon below which the bound is not tried; ``takes_seconds`` says that curves of many levels leave it
    out. ``floor`` gives parts that the bound is never below: if they are fast, the bound is made only if it can be the
    smallest.

    If not everyone takes part, a bound applies if its parts are ``triples`` that are valid for every number of users.
    It applies to samples if these are ``ordered``: at every level from 1 to the largest ratio their law of r0 - E r1 is
    above that of the blanket, or of every other input, in convex order (of the randomizer or of a refinement).
    ``removed`` gives the parts for the removal of the victim's report, for which A2 lies below what each other user
    sends and A0 is what the victim sends; None if the bound does not apply then.

    >>> from symamp.bounds.registry import BOUNDS
    >>> import symamp as sa
    >>> print(BOUNDS["blanket"].unsupported_reason(sa.PureLDP(eps0=1)))
    it supposes that the probability of every message is known on every input; here nothing is known but its budget: \
give a table or a family
    """

    name: str
    proof_status: ProofStatus
    source: str
    summary: str
    proof: str
    hypotheses: tuple[Hypothesis, ...]
    parts: Parts = field(repr=False)
    rank: int | None = None
    skip_by_default: Callable[[Subject], bool] = field(repr=False, default=lambda _: False)
    floor: Callable[[Subject], Iterable[PairBound]] | None = field(repr=False, default=None)
    too_costly: Callable[[Subject, Level, int, float], bool] = field(repr=False, default=lambda *_: False)
    only_above: float = 0.0
    takes_seconds: Callable[[Subject], bool] = field(repr=False, default=lambda _: False)
    triples: bool = False
    ordered: bool = False
    removed: Parts | None = field(repr=False, default=None)

    def __post_init__(self) -> None:
        # A bound that left these out would be built for users who differ.
        missing = (h for h in SHUFFLED if h not in self.hypotheses)
        object.__setattr__(self, "hypotheses", (*missing, *self.hypotheses))
        object.__setattr__(self, "parts", partial(self._checked, self.parts))

    def bound(self, setting: Setting) -> MaxOverPairs:
        """Return the bound for a setting; SupportMismatchError with the reason if it fails a hypothesis."""
        taking = setting.participation
        return self.everyone(setting) if taking is None else taking.above(self.everyone(setting))

    def everyone(self, setting: Setting) -> MaxOverPairs:
        """Return what the bound for a setting is made of: the bound for a round in which everyone takes part."""
        self.check(setting)
        parts = self.removed if setting.participation is not None and setting.participation.removal else self.parts
        assert parts is not None
        found = parts(setting.randomizers[0])
        return found if isinstance(found, MaxOverPairs) else MaxOverPairs.of(found)

    def unsupported_reason(self, setting: Setting) -> str | None:
        taking = setting.participation
        if taking is None:
            return super().unsupported_reason(setting)
        if not self.triples:
            return "it supposes that every user takes part: leave out the method"
        if taking.removal and self.removed is None:
            return "it supposes that two inputs are compared: leave out the method, or take compared='replacement'"
        return super().unsupported_reason(setting.randomizers[0])

    def _checked(self, parts: Parts, setting: Setting) -> Iterable[PairBound] | MaxOverPairs:
        self.check(setting)
        return parts(setting.randomizers[0])
