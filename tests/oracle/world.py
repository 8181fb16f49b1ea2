"""Small worlds of reports that are shuffled, and what they truly tell: exact fractions, no code of the package.

A *world* is one sentence: what each user runs, which two inputs of the victim are compared, who takes part, what is
seen, and how many rounds there are::

    World((Group(2, Table(rows), Within(1)), Group(1, Silent(Table(other), Fraction(1, 2)))), Everyone(), Messages(), 2)

`Truth(world)` enumerates all neighbouring data sets and all views from these words, and has the largest of what is
asked for: the hockey-stick divergence ``delta(E)``, sum (P - E Q)_+, for an order E = e^eps; moments, trade-off
functions. A new setting is a new class beside those of its kind, with the one method that the others have.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Protocol

ZERO, ONE = Fraction(0), Fraction(1)
Input = Hashable
Message = Hashable
Person = tuple[int, Input]
"""The number of a user's group, and what the user holds; where reports leak, the user's own number stands before."""
ABSENT = "absent"
"""What a user holds who is not there: nothing is sent."""
GONE = "gone"
"""What stands for another user who sent nothing, where it may be told who that is."""


# ------------------------------------------------------------------------------------------------ what each user runs


class Runs(Protocol):
    """What a user runs: its inputs, and the probabilities of the messages on each."""

    @property
    def inputs(self) -> tuple[Input, ...]: ...

    def row(self, x: Input) -> dict[Message, Fraction]: ...


@dataclass(frozen=True)
class Table:
    """One message: column y with the probability ``rows[x][y]``. ``places`` says where inputs lie, for distances."""

    rows: tuple[tuple[Fraction, ...], ...]
    places: tuple[Fraction, ...] | None = None

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(range(len(self.rows)))

    def row(self, x: Input) -> dict[Message, Fraction]:
        return {y: p for y, p in enumerate(self.rows[x]) if p}

    def place(self, x: Input) -> Fraction:
        return Fraction(x) if self.places is None else self.places[x]


@dataclass(frozen=True)
class Joint:
    """All parts are answered, each about its own coordinate of the input; the message has a coordinate of each."""

    parts: tuple[Runs, ...]

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(itertools.product(*(part.inputs for part in self.parts)))

    def row(self, x: Input) -> dict[Message, Fraction]:
        rows = [part.row(coordinate).items() for part, coordinate in zip(self.parts, x, strict=True)]
        return {tuple(y for y, _ in c): math.prod((p for _, p in c), start=ONE) for c in itertools.product(*rows)}


@dataclass(frozen=True)
class Drawn:
    """One part is drawn with its weight and answered about its own coordinate; the message is (number, message)."""

    parts: tuple[tuple[Fraction, Runs], ...]

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(itertools.product(*(part.inputs for _, part in self.parts)))

    def row(self, x: Input) -> dict[Message, Fraction]:
        return {(i, y): w * p for i, (w, part) in enumerate(self.parts) if w for y, p in part.row(x[i]).items()}


@dataclass(frozen=True)
class Silent:
    """With probability ``rate`` the message of the part, else a silent one that is counted."""

    part: Runs
    rate: Fraction

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self.part.inputs

    def row(self, x: Input) -> dict[Message, Fraction]:
        said = {("said", y): self.rate * p for y, p in self.part.row(x).items()}
        return said if self.rate == 1 else {**said, "silent": 1 - self.rate}

    def place(self, x: Input) -> Fraction:
        return self.part.place(x)


@dataclass(frozen=True)
class Unary:
    """A bit for each option, all independent: 1 with probability p at the user's own option, with q at the others."""

    size: int
    p: Fraction
    q: Fraction

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(range(self.size))

    def row(self, x: Input) -> dict[Message, Fraction]:
        chances = [self.p if i == x else self.q for i in range(self.size)]
        bits = itertools.product((0, 1), repeat=self.size)
        return {y: math.prod((c if b else 1 - c for c, b in zip(chances, y, strict=True)), start=ONE) for y in bits}


# ------------------------------------------------------------------------------ which inputs of the victim are compared


class Neighbours(Protocol):
    """Whether two inputs of the victim are compared; in both orders. Others hold any inputs."""

    def are(self, runs: Runs, x: Input, z: Input) -> bool: ...


@dataclass(frozen=True)
class AnyTwo:
    """Any two inputs."""

    def are(self, runs: Runs, x: Input, z: Input) -> bool:
        return True


@dataclass(frozen=True)
class Listed:
    """The pairs of a list."""

    pairs: tuple[tuple[Input, Input], ...]

    def are(self, runs: Runs, x: Input, z: Input) -> bool:
        return (x, z) in self.pairs or (z, x) in self.pairs


@dataclass(frozen=True)
class Within:
    """Inputs whose places are at most so far apart."""

    distance: Fraction

    def are(self, runs: Runs, x: Input, z: Input) -> bool:
        return abs(runs.place(x) - runs.place(z)) <= self.distance


@dataclass(frozen=True)
class OneAttribute:
    """Inputs that differ in one coordinate."""

    def are(self, runs: Runs, x: Input, z: Input) -> bool:
        return sum(a != b for a, b in zip(x, z, strict=True)) == 1


@dataclass(frozen=True)
class Removed:
    """Any input and none: the victim is there, or is not."""

    def are(self, runs: Runs, x: Input, z: Input) -> bool:
        return ABSENT in (x, z)


# ------------------------------------------------------------------------------------------------------ who takes part


class TakesPart(Protocol):
    """Weights (whole numbers) of the sets of people whose messages arrive; the victim is number 0."""

    def sets(self, people: int) -> list[tuple[int, tuple[int, ...]]]: ...


@dataclass(frozen=True)
class Everyone:
    """All people."""

    def sets(self, people: int) -> list[tuple[int, tuple[int, ...]]]:
        return [(1, tuple(range(people)))]


@dataclass(frozen=True)
class Chosen:
    """So many of the people, all such sets alike."""

    n: int

    def sets(self, people: int) -> list[tuple[int, tuple[int, ...]]]:
        return [(1, chosen) for chosen in itertools.combinations(range(people), self.n)]


@dataclass(frozen=True)
class Poisson:
    """Each by himself with this probability, the victim, too; nobody sees who, nor how many were asked."""

    rate: Fraction

    def sets(self, people: int) -> list[tuple[int, tuple[int, ...]]]:
        return _independent(people, (), range(people), self.rate)


@dataclass(frozen=True)
class OthersLost:
    """The victim's message arrives; that of every other user is lost with this probability, unseen."""

    chance: Fraction

    def sets(self, people: int) -> list[tuple[int, tuple[int, ...]]]:
        return _independent(people, (0,), range(1, people), 1 - self.chance)


@dataclass(frozen=True)
class OthersReplaced(OthersLost):
    """The same, with a report of this law in place of a lost one: how many are lost is not seen."""

    report: tuple[tuple[Message, Fraction], ...] = ()


@dataclass(frozen=True)
class Replaced(OthersReplaced):
    """The same, and the victim's message is lost and replaced as all others."""

    def sets(self, people: int) -> list[tuple[int, tuple[int, ...]]]:
        return _independent(people, (), range(people), 1 - self.chance)


def _independent(people: int, always: tuple[int, ...], others: range, rate: Fraction) -> list:
    a, b = rate.numerator, rate.denominator
    found = []
    for size in range(len(others) + 1):
        weight = a**size * (b - a) ** (len(others) - size)
        found += [(weight, (*always, *chosen)) for chosen in itertools.combinations(others, size) if weight]
    return found


# ------------------------------------------------------------------------------------------------------- what is seen

Law = dict[int, int]
"""Weights of views, over a common denominator; a view is a number whose digits are counts, or messages."""


class Seen(Protocol):
    """The law of the view of some people, given each one's weights of messages.

    Those are {step of the view: weight}; where it is seen in which order they arrive, {number of message: weight}.
    """

    def law(self, people: Sequence[Person], weights: Callable[[Person], Mapping[int, int]], base: int) -> Law: ...

    def others(self, groups: Sequence["Group"], victim: int) -> Iterator[tuple[Person, ...]]: ...


@dataclass(frozen=True)
class Messages:
    """The messages are shuffled: how often each arrived is seen, and not who runs what."""

    def counted(self, user: int, message: Message) -> tuple[Hashable, ...]:
        """What is counted once more when a user's message arrives."""
        return (message,)

    def law(self, people: Sequence[Person], weights: Callable[[Person], Mapping[int, int]], base: int) -> Law:
        law = {0: 1}
        for person in people:
            law = _added(law, weights(person))
        return law

    def others(self, groups: Sequence["Group"], victim: int) -> Iterator[tuple[Person, ...]]:
        """All data of the other users, up to the order within a group."""
        sets = []
        for number, group in enumerate(groups):
            size = group.counted - (number == victim)
            held = itertools.combinations_with_replacement(group.runs.inputs, size)
            sets.append([tuple((number, x) for x in inputs) for inputs in held])
        return (tuple(itertools.chain(*chosen)) for chosen in itertools.product(*sets))


@dataclass(frozen=True)
class Coordinates(Messages):
    """Each coordinate of the messages is shuffled, or summed, by itself."""

    def counted(self, user: int, message: Message) -> tuple[Hashable, ...]:
        return tuple(enumerate(message))


@dataclass(frozen=True)
class Days(Messages):
    """Each user draws one message and sends it on the days on which she is there; each day is shuffled by itself.

    ``attends[user]`` are the days of a user, the victim first: who attends is known, and fixed beforehand.
    """

    attends: tuple[tuple[int, ...], ...]

    def counted(self, user: int, message: Message) -> tuple[Hashable, ...]:
        return tuple((day, message) for day in self.attends[user])

    def others(self, groups: Sequence["Group"], victim: int) -> Iterator[tuple[Person, ...]]:
        """All data of the other users: who is there on which days tells them apart."""
        (group,) = groups
        for held in itertools.product(group.runs.inputs, repeat=group.counted - 1):
            yield tuple((0, x) for x in held)


@dataclass(frozen=True)
class Data:
    """The data are permuted, position i runs mechanism i on the i-th of them, and the outputs are seen in order."""

    def law(self, people: Sequence[Person], weights: Callable[[Person], Mapping[int, int]], base: int) -> Law:
        positions = sorted(number for number, _ in people)
        law: Law = {}
        for order in itertools.permutations([x for _, x in people]):
            partial = {0: 1}
            for number, x in zip(positions, order, strict=True):
                messages = weights((number, x)).items()
                partial = {view * base + y: mass * w for view, mass in partial.items() for y, w in messages}
            for view, mass in partial.items():
                law[view] = law.get(view, 0) + mass
        return law

    def others(self, groups: Sequence["Group"], victim: int) -> Iterator[tuple[Person, ...]]:
        """All data of the other users, up to their order: who holds what does not matter."""
        owners = [number for number, group in enumerate(groups) for _ in range(group.counted - (number == victim))]
        inputs = groups[victim].runs.inputs
        for held in itertools.combinations_with_replacement(inputs, len(owners)):
            yield tuple(zip(owners, held, strict=True))


def _added(law: Law, weights: Mapping[int, int]) -> Law:
    found: Law = {}
    for step, weight in weights.items():
        for view, mass in law.items():
            key = view + step
            found[key] = found.get(key, 0) + mass * weight
    return found


# ------------------------------------------------------------------------------------------------------------- worlds


@dataclass(frozen=True)
class Group:
    """So many users who run this, of whom so many are honest: what the others sent is known to the adversary."""

    users: int
    runs: Runs
    neighbours: Neighbours = field(default_factory=AnyTwo)
    honest: int | None = None

    @property
    def counted(self) -> int:
        """Users whose messages hide anything; those that are known change no divergence."""
        return self.users if self.honest is None else self.honest


@dataclass(frozen=True)
class World:
    """Who runs what, who takes part, what is seen, how often; the victim is of any group, or of the one named.

    Each round has its own randomness, and everybody holds the same in all of them.
    """

    groups: tuple[Group, ...]
    takes_part: TakesPart = field(default_factory=Everyone)
    seen: Seen = field(default_factory=Messages)
    rounds: int = 1
    victim: int | None = None
    leaks: Fraction = ZERO
    """The chance with which a report, by itself, is seen with its sender."""
    colluding: Fraction = ZERO
    """The chance with which another user, by herself, tells the adversary what she sent, or that she sent nothing."""
    reports: int = 1
    """How many reports each user sends in a round, all about what she holds, all seen together."""

    @property
    def people(self) -> int:
        """The number of users that count."""
        return sum(group.counted for group in self.groups)


Weighted = list[tuple[int, int]]
"""The weights of each view under both of two data sets, over one denominator."""


class Truth:
    """What a world tells at most: every quantity is the largest over all neighbouring data sets, in both orders."""

    def __init__(self, world: World) -> None:
        self.world = world
        rows = {(i, x): group.runs.row(x) for i, group in enumerate(world.groups) for x in group.runs.inputs}
        if isinstance(world.takes_part, OthersReplaced):
            rows[0, ABSENT] = dict(world.takes_part.report)
        tells = bool(world.leaks or world.colluding)
        self._is_named = tells or isinstance(world.seen, Days)
        if self._is_named:
            leaking = self._leaking if tells else lambda k, row: row
            rows = {(k, *person): leaking(k, row) for k in range(world.people) for person, row in rows.items()}
        users = {person: person[0] if self._is_named else 0 for person in rows}
        is_shuffled = isinstance(world.seen, Messages)
        counted = world.seen.counted if is_shuffled else lambda user, y: (y,)
        number: dict[Hashable, int] = {}
        for person, row in rows.items():
            for y in row:
                for one in counted(users[person], y):
                    number.setdefault(one, len(number))
        gone = [(k, GONE) for k in range(1, world.people)] if world.colluding else []
        number |= {person: len(number) + i for i, person in enumerate(gone)}
        self._base = max(len(number), world.people * world.reports + 1)
        self._denominator = math.lcm(
            world.colluding.denominator, *(p.denominator for row in rows.values() for p in row.values())
        )
        d = self._denominator

        def step(user: int, y: Message) -> int:
            return sum(self._base ** number[one] if is_shuffled else number[one] for one in counted(user, y))

        self._weights = {
            person: {step(users[person], y): p.numerator * (d // p.denominator) for y, p in row.items()}
            for person, row in rows.items()
        }
        told = int(world.colluding * d)
        self._weights |= {person: {self._base ** number[person]: told, 0: d - told} for person in gone}
        self._known: dict[tuple[Person, ...], Law] = {}

    def _leaking(self, number: int, row: Mapping[Message, Fraction]) -> dict[Message, Fraction]:
        """Each message as it is, or with the name of its sender."""
        r = 1 - (1 - self.world.leaks) * (1 - self.world.colluding * (number > 0))
        named = {("leaked", number, y): r * p for y, p in row.items()}
        return row if r == 0 else named if r == 1 else {**named, **{y: (1 - r) * p for y, p in row.items()}}

    # -------------------------------------------------------------------------------------------------- laws of views

    def law(self, data: tuple[Person, ...]) -> Law:
        """The law of one round's view of a data set, the victim first: weights that sum to ``total(data)``."""
        found: Law = {}
        is_filled = isinstance(self.world.takes_part, OthersReplaced)
        for weight, chosen in self.world.takes_part.sets(len(data)):
            there = [i for i in chosen if data[i][1] != ABSENT]
            people = [(i, *data[i]) if self._is_named else data[i] for i in there] * self.world.reports
            if self.world.colluding:
                people += [(i, GONE) for i in range(1, len(data)) if i not in chosen]
            people += [(0, ABSENT)] * (len(data) - len(chosen)) if is_filled else []
            scale = weight * self._denominator ** (len(data) * self.world.reports - len(people))
            for view, mass in self._of(tuple(sorted(people, key=repr))).items():
                found[view] = found.get(view, 0) + scale * mass
        return found

    def _of(self, people: tuple[Person, ...]) -> Law:
        if people not in self._known:
            self._known[people] = self.world.seen.law(people, self._weights.__getitem__, self._base)
        return self._known[people]

    def pair(self, data0: Sequence[Person], data1: Sequence[Person]) -> tuple[Weighted, int]:
        """Both laws of all rounds, view by view, and their total; views with equal ratios are taken together."""
        first, second = self.law(tuple(data0)), self.law(tuple(data1))
        once = _merged((p, second.get(view, 0)) for view, p in first.items())
        once += [(0, q) for q in (sum(q for view, q in second.items() if view not in first),) if q]
        total = sum(p for p, _ in once)
        views = once
        for _ in range(self.world.rounds - 1):
            views = _merged((p * a, q * b) for p, q in views for a, b in once)
        return views, total**self.world.rounds

    def neighbours(self) -> Iterator[tuple[tuple[Person, ...], tuple[Person, ...]]]:
        """All pairs of data sets that differ in what the victim holds, who comes first, in one of the two orders."""
        groups = self.world.groups
        for victim, group in enumerate(groups):
            if not group.counted or self.world.victim not in (None, victim):
                continue
            inputs = group.runs.inputs + (ABSENT,) * isinstance(group.neighbours, Removed)
            pairs = [c for c in itertools.combinations(inputs, 2) if group.neighbours.are(group.runs, *c)]
            for others in self.world.seen.others(groups, victim):
                for x, z in pairs:
                    yield ((victim, x), *others), ((victim, z), *others)

    @cached_property
    def pairs(self) -> list[tuple[Weighted, int]]:
        """Both laws for all neighbouring data sets, in one of the two orders, each once."""
        found = {}
        for data0, data1 in self.neighbours():
            views, total = self.pair(data0, data1)
            found[frozenset(views)] = views, total
        return list(found.values())

    # ----------------------------------------------------------------------------------------------------- quantities

    def delta(self, E: Fraction) -> Fraction:
        """The largest sum (P - E Q)_+."""
        return max((_hockey_stick(views, total, E) for views, total in self.pairs), default=ZERO)

    def between(self, data0: Sequence[Person], data1: Sequence[Person], E: Fraction) -> Fraction:
        """sum (P - E Q)_+ of two data sets, the victim first in both, in this order."""
        views, total = self.pair(data0, data1)
        return _one_order(views, total, E)

    def total_variation(self) -> Fraction:
        """The largest total variation."""
        return self.delta(ONE)

    def moment(self, order: int) -> Fraction | None:
        """The largest sum P^order Q^(1 - order), None if infinite; its log over order - 1 is the Renyi divergence."""
        found = [_moment(v, total, order) for views, total in self.pairs for v in (views, _swapped(views))]
        return None if None in found else max(found, default=ONE)

    def tradeoff(self, level: Fraction) -> Fraction:
        """The least error of the second kind of a test of this level, over all neighbouring data sets."""
        found = [_tradeoff(v, total, level) for views, total in self.pairs for v in (views, _swapped(views))]
        return min(found, default=1 - level)

    def unbounded(self) -> Fraction:
        """The limit of ``delta`` for large E: the largest mass of what the other data set never shows."""
        found = [sum(p for p, q in v if not q) * ONE / total for vs, total in self.pairs for v in (vs, _swapped(vs))]
        return max(found, default=ZERO)

    def kinks(self) -> list[Fraction]:
        """The orders from 1 on at which ``delta`` may have a kink: the ratios of the views of some pair."""
        ratios = {Fraction(max(p, q), min(p, q)) for views, _ in self.pairs for p, q in views if p and q}
        return sorted(ratios)


class Adaptive:
    """What rounds tell if the data of a round may be chosen after the earlier ones were seen: each with its pair."""

    def __init__(self, truths: Sequence[Truth]) -> None:
        """Rounds one after the other; each truth is that of a world of one round."""
        self.truths = truths
        self._known: dict[tuple[int, Fraction], Fraction] = {}

    def delta(self, E: Fraction, start: int = 0) -> Fraction:
        """The largest divergence over all ways to choose."""
        if start == len(self.truths):
            return max(ONE - E, ZERO)
        if (start, E) not in self._known:
            last = start == len(self.truths) - 1
            self._known[start, E] = max(
                (
                    _one_order(v, total, E) if last else self._chosen(v, total, E, start)
                    for views, total in self.truths[start].pairs
                    for v in (views, _swapped(views))
                ),
                default=max(ONE - E, ZERO),
            )
        return self._known[start, E]

    def _chosen(self, views: Weighted, total: int, E: Fraction, start: int) -> Fraction:
        after = (p * (self.delta(E * q / p, start + 1) if q else ONE) for p, q in views if p)
        return sum(after, ZERO) / total


class Curve:
    """The pair of laws, alike in both orders, whose divergences are the largest that some points allow.

    ``points`` are (E, delta) with E >= 1. ``views`` is None if no pair has that curve, because it falls too fast at 1.
    """

    def __init__(self, points: Iterable[tuple[Fraction, Fraction]]) -> None:
        given = sorted({(ZERO, ONE), *((E, min(d, ONE)) for E, d in points)})
        hull: list[tuple[Fraction, Fraction]] = []
        for E, d in given:
            if hull and d >= hull[-1][1]:
                continue
            while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], (E, d)):
                hull.pop()
            hull.append((E, d))
        self.hull = hull

    def delta(self, E: Fraction) -> Fraction:
        """The hull of the points at E >= 1; constant beyond the last."""
        for (a, d), (b, e) in itertools.pairwise(self.hull):
            if a <= E <= b:
                return d + (e - d) * (E - a) / (b - a)
        return self.hull[-1][1]

    @cached_property
    def views(self) -> Weighted | None:
        """Weights of the two laws, if there are any: Q has the mass of each change of slope."""
        places = [(ONE, self.delta(ONE)), *((E, d) for E, d in self.hull if E > 1)]
        slopes = [*(_slope(a, b) for a, b in itertools.pairwise(places)), ZERO]
        at_one = 1 - places[0][1] + 2 * slopes[0]
        if at_one < 0:
            return None
        end = places[-1][1]
        masses: list[tuple[Fraction, Fraction]] = [(at_one, at_one), (end, ZERO), (ZERO, end)]
        for (E, _), before, after in zip(places[1:], slopes[:-1], slopes[1:], strict=True):
            q = after - before
            masses += [(E * q, q), (q, E * q)]
        scale = math.lcm(*(m.denominator for pair in masses for m in pair))
        self.total = scale
        return [(int(p * scale), int(q * scale)) for p, q in masses if p or q]

    def rounds(self, count: int, E: Fraction) -> Fraction | None:
        """The divergence of so many independent rounds of the pair."""
        once = self.views
        if once is None:
            return None
        views = once
        for _ in range(count - 1):
            views = _merged((p * a, q * b) for p, q in views for a, b in once)
        return _one_order(views, self.total**count, E)


# ------------------------------------------------------------------------------------------------------------ two laws


def _slope(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction]) -> Fraction:
    return (b[1] - a[1]) / (b[0] - a[0])


def _merged(views: Iterable[tuple[int, int]]) -> Weighted:
    """Views with equal ratios as one."""
    found: dict[tuple[int, int], int] = {}
    for p, q in views:
        shared = math.gcd(p, q)
        if shared:
            ratio = p // shared, q // shared
            found[ratio] = found.get(ratio, 0) + shared
    return [(a * shared, b * shared) for (a, b), shared in found.items()]


def _swapped(views: Weighted) -> Weighted:
    return [(q, p) for p, q in views]


def _one_order(views: Weighted, total: int, E: Fraction) -> Fraction:
    a, b = E.numerator, E.denominator
    return Fraction(sum(b * p - a * q for p, q in views if b * p > a * q), b * total)


def _hockey_stick(views: Weighted, total: int, E: Fraction) -> Fraction:
    a, b = E.numerator, E.denominator
    forth = back = 0
    for p, q in views:
        if b * p > a * q:
            forth += b * p - a * q
        if b * q > a * p:
            back += b * q - a * p
    return Fraction(max(forth, back), b * total)


def _moment(views: Weighted, total: int, order: int) -> Fraction | None:
    if any(p and not q for p, q in views):
        return None
    return sum((Fraction(p**order, q ** (order - 1)) for p, q in views if p), ZERO) / total


def _tradeoff(views: Weighted, total: int, level: Fraction) -> Fraction:
    """What is missed by the most powerful test: views are rejected by falling Q/P until the level is spent."""
    left, missed = level * total, Fraction(total)
    for p, q in sorted(views, key=lambda v: (v[0] > 0, Fraction(-v[1], v[0]) if v[0] else ZERO)):
        share = ONE if p <= left else left / p
        left -= share * p
        missed -= share * q
        if share < 1:
            break
    return missed / total
