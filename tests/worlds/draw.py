"""Random worlds over all combinations of settings."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from random import Random

from tests.oracle.world import (
    AnyTwo,
    Chosen,
    Data,
    Drawn,
    Everyone,
    Group,
    Joint,
    Listed,
    Messages,
    Neighbours,
    OneAttribute,
    OthersLost,
    Poisson,
    Removed,
    Replaced,
    Runs,
    Silent,
    Table,
    TakesPart,
    Unary,
    Within,
    World,
)

ZERO, ONE = Fraction(0), Fraction(1)
_MOST_ENTRIES = 100_000
RATIOS = tuple(Fraction(t) for t in ("3/2", "2", "3", "4", "5/2", "7", "50"))


def world(rng: Random, most: int = 4000) -> World:
    """A world of at most so much work: pairs of data sets times views."""
    while True:
        found = _world(rng)
        if work(found) <= most:
            return found


def size(what: Runs) -> tuple[int, int]:
    """How many inputs and messages there are, without a list of them."""
    if isinstance(what, Table):
        return len(what.rows), len(what.rows[0])
    if isinstance(what, Silent):
        inputs, messages = size(what.part)
        return inputs, messages + 1
    if isinstance(what, Unary):
        return what.size, 2**what.size
    sizes = [size(part) for part in (what.parts if isinstance(what, Joint) else [part for _, part in what.parts])]
    inputs, messages = zip(*sizes, strict=True)
    return math.prod(inputs), math.prod(messages) if isinstance(what, Joint) else sum(messages)


def work(found: World) -> int:
    """Roughly how many numbers the truth of a world compares; of tables that are too large to list, their size."""
    people = found.people
    if people == 0:
        return 0
    if (largest := max(math.prod(size(group.runs)) for group in found.groups)) > _MOST_ENTRIES:
        return largest
    sets = pairs = 1
    for group in found.groups:
        inputs = len(group.runs.inputs)
        sets *= math.comb(group.counted + inputs - 1, inputs - 1)
        pairs = max(pairs, inputs * (inputs - 1) // 2)
    messages = len({y for g in found.groups for x in g.runs.inputs for y in g.runs.row(x)})
    messages *= 1 + people * bool(found.leaks or found.colluding)
    people *= found.reports
    if isinstance(found.seen, Data):
        inputs = len(found.groups[0].runs.inputs)
        sets = math.comb(people + inputs - 2, inputs - 1)
        return sets * pairs * messages**people * 2
    views = math.comb(people + messages - 1, messages - 1)
    if isinstance(found.takes_part, Chosen | OthersLost | Poisson):
        views *= 3
    return sets * pairs * views


def _world(rng: Random) -> World:
    kind = rng.random()
    if kind < 0.62:
        group = _alike(rng, rng.choice((1, 2, 2, 3, 3, 4)))
        takes_part: TakesPart = Everyone()
        if group.users > 1 and rng.random() < 0.05:
            takes_part = Chosen(rng.randint(1, group.users - 1))
        elif not isinstance(group.runs, Silent) and rng.random() < 0.1:
            takes_part = Poisson(_share(rng))
        elif rng.random() < 0.15:
            return _not_everyone(rng, group)
        return World((group,), takes_part)
    return _crowd(rng)


def _not_everyone(rng: Random, group: Group) -> World:
    """Reports are lost or leak, or one is removed: of few users, for leaks make many messages."""
    group = replace(group, users=min(group.users, 3))
    lost = OthersLost(1 - _share(rng))
    takes_part = rng.choice((Everyone(), lost, lost, Poisson(_share(rng))))
    leaks = ZERO if rng.random() < 0.5 else _share(rng)
    hidden = getattr(takes_part, "chance", 0) > 0 or getattr(takes_part, "rate", 1) < 1
    if hidden and rng.random() < 0.5:
        group = replace(group, neighbours=Removed())
    colluding = rng.choice((ZERO, ZERO, Fraction(1, 3), Fraction(9, 10)))
    if leaks or colluding:
        group = replace(group, users=min(group.users, 2))
    elif isinstance(takes_part, Poisson) and hidden and isinstance(group.runs, Table) and group.neighbours == AnyTwo():
        uniform = Fraction(1, len(group.runs.rows[0]))
        takes_part = Replaced(1 - takes_part.rate, tuple((y, uniform) for y in range(len(group.runs.rows[0]))))
    return World((group,), takes_part, leaks=leaks, colluding=colluding)


def _alike(rng: Random, users: int) -> Group:
    what = runs(rng)
    return Group(users, what, neighbours(rng, what))


def runs(rng: Random, depth: int = 0) -> Runs:
    """Anything that a user may run."""
    kind = rng.random()
    if depth > 1 or kind < (0.5 if depth == 0 else 0.75):
        small = depth > 0
        return table(rng, rng.choice((2, 2, 3)) if not small else rng.choice((2, 2, 2, 3)), rng.choice((2, 2, 3, 4)))
    if kind < (0.66 if depth == 0 else 0.85):
        return Joint(parts(rng, depth))
    if kind < (0.86 if depth == 0 else 0.95):
        chosen = parts(rng, depth)
        return Drawn(tuple(zip(weights(rng, len(chosen)), chosen, strict=True)))
    if depth == 0:
        return Silent(runs(rng, 1), _share(rng))
    return table(rng, 2, 2)


def as_sent(what: Runs) -> Runs:
    """The same with messages as the package names them, which other users may send too.

    One part alone is that mechanism itself, and parts of weight 0 have no number.
    """
    if isinstance(what, Joint):
        parts = tuple(as_sent(part) for part in what.parts)
        return parts[0] if len(parts) == 1 else Joint(parts)
    if isinstance(what, Drawn):
        drawn = tuple((w, as_sent(part)) for w, part in what.parts if w)
        return drawn[0][1] if len(drawn) == 1 else Drawn(drawn)
    return what


def parts(rng: Random, depth: int) -> tuple[Runs, ...]:
    """Two parts, rarely one or three; often equal ones, or responses."""
    count = rng.choice((1, 2, 2, 2, 2, 2, 3))
    kind = rng.random()
    if kind < 0.35:
        return (response(rng.choice((2, 2, 3)), rng.choice(RATIOS)),) * count
    if kind < 0.6:
        return tuple(response(rng.choice((2, 2, 3)), rng.choice(RATIOS)) for _ in range(count))
    if kind < 0.7:
        return (runs(rng, depth + 1),) * count
    return tuple(runs(rng, depth + 1) for _ in range(count))


def weights(rng: Random, count: int) -> list[Fraction]:
    """Weights that sum to 1: equal, unequal, tiny, or with one that is 0."""
    kind = rng.random()
    if kind < 0.1 and count > 1:
        return [ONE, *[ZERO] * (count - 1)]
    if kind < 0.2 and count > 1:
        tiny = Fraction(1, 10**20)
        return [tiny, ONE - tiny * (count - 1), *[tiny] * (count - 2)]
    numbers = [rng.choice((1, 1, 2, 3, 7, 9)) for _ in range(count)]
    return [Fraction(w, sum(numbers)) for w in numbers]


def response(k: int, t: Fraction) -> Table:
    """k-ary randomized response of ratio t."""
    return Table(tuple(tuple((t if x == y else ONE) / (t + k - 1) for y in range(k)) for x in range(k)))


def table(rng: Random, inputs: int, messages: int) -> Table:
    """A table of one of many kinds, for so many inputs and about so many messages."""
    kind = rng.random()
    if kind < 0.2:
        return response(inputs, rng.choice(RATIOS))
    if kind < 0.27:  # two levels: subsets
        return _subsets(3, rng.choice((1, 2)), rng.choice(RATIOS))
    if kind < 0.35:  # one row, permuted
        row = [rng.choice((1, 1, 2, 3, 5)) for _ in range(messages)]
        orders = rng.sample(sorted(set(permutations(row))), min(inputs, len(set(permutations(row)))))
        rows = [list(order) for order in orders]
        return _normal(rows if len(rows) > 1 else [*rows, rows[0]])
    rows = [[rng.choice((1, 1, 2, 3, 4, 5, 7, 9, 14)) for _ in range(messages)] for _ in range(inputs)]
    if kind < 0.45:  # what is never sent by some
        for _ in range(rng.randint(1, 3)):
            rows[rng.randrange(inputs)][rng.randrange(messages)] = 0
        rows = [row if any(row) else [1] * messages for row in rows]
    elif kind < 0.55:  # tiny entries
        for _ in range(rng.randint(1, 2)):
            x, y = rng.randrange(inputs), rng.randrange(messages)
            rows[x] = [v * 10 ** rng.choice((10, 20)) if i != y else 1 for i, v in enumerate(rows[x])]
    elif kind < 0.62:  # an outsider, as others far away may be
        total = 30
        rows = [[total + rng.randint(-2, 2) for _ in range(messages)] for _ in range(inputs)]
        rows[-1] = [rng.choice((1, 10, 200)) for _ in range(messages)]
    elif kind < 0.7:  # a hundredth each, so that ratios agree often
        rows = [_split(rng, 10, messages) for _ in range(inputs)]
    return _normal(rows)


def _split(rng: Random, total: int, count: int) -> list[int]:
    cuts = sorted(rng.sample(range(1, total), count - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


def _subsets(d: int, k: int, t: Fraction) -> Table:
    chosen = list(combinations(range(d), k))
    rows = [[t if x in s else ONE for s in chosen] for x in range(d)]
    return Table(tuple(tuple(p / sum(row) for p in row) for row in rows))


def _normal(rows: list[list[int]]) -> Table:
    return Table(tuple(tuple(Fraction(p, sum(row)) for p in row) for row in rows))


def neighbours(rng: Random, what: Runs) -> Neighbours:
    """A relation that fits what is run."""
    inner = what.part if isinstance(what, Silent) else what
    if isinstance(inner, Joint | Drawn):
        return OneAttribute() if rng.random() < 0.6 else AnyTwo()
    if rng.random() < 0.5:
        return AnyTwo()
    if rng.random() < 0.5:
        pairs = list(combinations(inner.inputs, 2))
        return Listed(tuple(rng.sample(pairs, rng.randint(1, len(pairs)))))
    return Within(Fraction(rng.choice((1, 1, 2))))


def _share(rng: Random) -> Fraction:
    return Fraction(rng.choice(("1/2", "1/3", "1/10", "9/10", "99/100", "1/1000", "1")))


def _crowd(rng: Random) -> World:
    """Users who differ: a common message space, at most three groups."""
    inputs, messages = rng.choice((2, 2, 3)), rng.choice((2, 2, 3))
    same = rng.random()
    relation: Neighbours = AnyTwo()
    groups = []
    for _ in range(rng.choice((1, 2, 2, 2, 3))):
        if same < 0.35:
            what = response(messages, rng.choice(RATIOS))
        elif same < 0.9:
            what = table(rng, inputs, messages)
            if rng.random() < 0.8 and any(0 in row for row in what.rows):  # most bounds ask for finite budgets
                what = response(messages, rng.choice(RATIOS)) if inputs == messages else table(rng, inputs, messages)
        else:
            what = as_sent(runs(rng, 1))
        groups.append(Group(rng.choice((1, 1, 2, 3)), what))
    if rng.random() < 0.2:
        relation = neighbours(rng, groups[0].runs)
    groups = [replace(group, neighbours=relation) for group in groups]
    if any(group.runs.inputs != groups[0].runs.inputs for group in groups):
        groups = groups[:1]
    if rng.random() < 0.25:
        groups = [replace(group, honest=rng.randint(0, group.users)) for group in groups]
        if not any(group.honest for group in groups):
            groups[0] = replace(groups[0], honest=1)
    if sum(group.counted for group in groups) > 4:
        groups = groups[:2]
    if sum(group.counted for group in groups) > 4:
        groups = [replace(group, users=min(group.users, 2), honest=None) for group in groups]
    if rng.random() < 0.45:
        return World(tuple(groups), seen=Data())
    lost = OthersLost(Fraction(rng.choice(("1/2", "1/3", "1/100")))) if rng.random() < 0.3 else Everyone()
    every = all(group.counted for group in groups)  # the package numbers groups without those of no honest user
    victim = rng.randrange(len(groups)) if every and rng.random() < 0.3 else None
    alike = all(group.honest is None for group in groups)
    colluding = Fraction(1, 3) if rng.random() < 0.1 and alike else ZERO
    leaks = Fraction(rng.choice(("1/2", "1/10", "1"))) if rng.random() < 0.15 and alike else ZERO
    takes_part = Poisson(1 - lost.chance) if isinstance(lost, OthersLost) and rng.random() < 0.3 else lost
    if isinstance(lost, OthersLost) and relation == AnyTwo() and rng.random() < 0.4:
        groups = [replace(group, neighbours=Removed()) for group in groups]
    return World(tuple(groups), takes_part, Messages(), victim=victim, colluding=colluding, leaks=leaks)
