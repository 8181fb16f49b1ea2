"""The package's words for a world."""

from fractions import Fraction
from random import Random

import symamp as sa
from symamp.settings.question import Question
from tests.oracle.world import (
    AnyTwo,
    Chosen,
    Data,
    Drawn,
    Everyone,
    Joint,
    Listed,
    Neighbours,
    OneAttribute,
    OthersLost,
    Poisson,
    Removed,
    Replaced,
    Runs,
    Silent,
    Table,
    Unary,
    Within,
    World,
)
from tests.worlds.noise import Cells


def name(x: int, table: Table, relation: Neighbours) -> str:
    """The label of an input: where it lies, if there is a distance."""
    return str(table.place(x)) if isinstance(relation, Within) else f"x{x}"


def mechanism(runs: Runs, relation: Neighbours, rng: Random, families: float = 0.6):
    """What each user runs, in one of the ways in which it can be written; responses as families with this chance."""
    if isinstance(runs, Silent):
        return sa.poisson_subsample(mechanism(runs.part, relation, rng), str(runs.rate))
    if isinstance(runs, Joint | Drawn):
        among = "one_attribute" if isinstance(relation, OneAttribute) else "all"
        if isinstance(runs, Joint):
            return sa.joint([mechanism(part, AnyTwo(), rng) for part in runs.parts], neighbours=among)
        parts = [(str(w), mechanism(part, AnyTwo(), rng)) for w, part in runs.parts]
        return sa.parallel(parts, neighbours=among)
    if isinstance(runs, Unary):
        return sa.UnaryEncoding(p=str(runs.p), q=str(runs.q), D=runs.size)
    if isinstance(runs, Cells):
        return runs.mechanism(relation)
    assert isinstance(runs, Table)
    ratio = response_ratio(runs)
    if ratio is not None and isinstance(relation, AnyTwo) and rng.random() < families:
        return sa.RandomizedResponse(k=len(runs.rows), eps0=f"log({ratio})")
    written = str if rng.random() < 0.2 else Fraction
    rows = {
        name(x, runs, relation): {f"y{y}": written(p) for y, p in enumerate(row) if p or rng.random() < 0.5}
        for x, row in enumerate(runs.rows)
    }
    every = {y: None for row in rows.values() for y in row}
    if len(every) < len(runs.rows[0]):  # a message that nobody sends is listed by one of the rows at least
        unsaid = {f"y{y}": written(Fraction(0)) for y in range(len(runs.rows[0])) if f"y{y}" not in every}
        rows = {x: {**row, **unsaid} for x, row in rows.items()}
    found = sa.FiniteMechanism(rows)
    return found if isinstance(relation, AnyTwo) else found.near(listed(runs, relation))


def listed(runs: Table, relation: Neighbours) -> object:
    """The package's words for a relation of a table."""
    if isinstance(relation, Within):
        return str(relation.distance)
    assert isinstance(relation, Listed)
    return [(name(x, runs, relation), name(z, runs, relation)) for x, z in relation.pairs]


def response_ratio(table: Table) -> Fraction | None:
    """The ratio t of k-ary randomized response, None if the table is another one."""
    rows = table.rows
    if len(rows) != len(rows[0]) or not rows[0][1]:
        return None
    t = rows[0][0] / rows[0][1]
    k = len(rows)
    right = all(p == (t if x == y else 1) / (t + k - 1) for x, row in enumerate(rows) for y, p in enumerate(row))
    return t if right and t > 1 else None


def taking(world: World):
    """The package's words for who takes part, None where everyone does or the words are those of what is run."""
    (group, *more), who = world.groups, world.takes_part
    removed = isinstance(group.neighbours, Removed)
    plain = isinstance(who, Everyone | Chosen | Poisson) and not (world.leaks or world.colluding or removed)
    if more or plain or isinstance(world.seen, Data) or group.honest is not None or world.victim is not None:
        return None
    return sa.participation(**words(world))


def words(world: World) -> dict[str, object]:
    """The words of sa.participation."""
    who = world.takes_part
    words = {
        "leaks": str(world.leaks),
        "colluding": str(world.colluding),
        "compared": "removal" if isinstance(world.groups[0].neighbours, Removed) else "replacement",
    }
    if isinstance(who, OthersLost):
        words["dropout"] = str(who.chance)
    if isinstance(who, Replaced):
        words |= {"victim_drops": True, "filled": "uniform"}
    if isinstance(who, Poisson):
        words |= {"dropout": str(1 - who.rate), "victim_drops": True}
    return words


def subject(world: World, rng: Random):
    """What is asked about: a mechanism, perhaps of which not everyone takes part, or the crowd."""
    who = taking(world)
    if who is not None:
        (group,) = world.groups
        relation = AnyTwo() if isinstance(group.neighbours, Removed) else group.neighbours
        return Question.of(mechanism(group.runs, relation, rng), 1, None, participation=who).subject
    if len(world.groups) == 1 and not isinstance(world.seen, Data) and not isinstance(world.takes_part, OthersLost):
        (group,) = world.groups
        if group.honest is None and world.victim is None:
            found = mechanism(group.runs, group.neighbours, rng)
            if isinstance(world.takes_part, Poisson):
                found = sa.poisson_subsample(found, str(world.takes_part.rate))
            return found
    return crowd(world, rng)


def crowd(world: World, rng: Random):
    """Users who differ."""
    ratios = [isinstance(g.runs, Table) and response_ratio(g.runs) is not None for g in world.groups]
    families = float(all(ratios) and rng.random() < 0.7)
    removed = isinstance(world.groups[0].neighbours, Removed)
    groups = [
        (group.users, mechanism(group.runs, AnyTwo() if removed else group.neighbours, rng, families))
        for group in world.groups
    ]
    honest = None
    if any(group.honest is not None for group in world.groups):
        honest = [group.counted for group in world.groups]
    shuffled, chance = ("data" if isinstance(world.seen, Data) else "messages"), 0
    plain = not (world.leaks or world.colluding or removed)
    if isinstance(world.takes_part, OthersLost) and plain and rng.random() < 0.5:
        chance = world.takes_part.chance
    found = sa.heterogeneous(groups, shuffled=shuffled, honest=honest, dropout=str(chance))
    everyone = chance or (plain and isinstance(world.takes_part, Everyone))
    return found if everyone else found.taking_part(sa.participation(**words(world)))


def is_crowd(world: World) -> bool:
    """Whether the subject is a crowd."""
    if taking(world) is not None:
        return False
    if len(world.groups) > 1 or isinstance(world.seen, Data) or isinstance(world.takes_part, OthersLost):
        return True
    return world.groups[0].honest is not None or world.victim is not None


def budget(world: World) -> Fraction | None:
    """The largest ratio of probabilities of one message on two inputs of one group, None if infinite."""
    largest = Fraction(1)
    for group in world.groups:
        rows = [group.runs.row(x) for x in group.runs.inputs]
        for y in {y for row in rows for y in row}:
            entries = [row.get(y, 0) for row in rows]
            if not min(entries):
                return None
            largest = max(largest, Fraction(max(entries), min(entries)))
    return largest
