"""Users who differ, in exact rationals: the two models by exhaustion, sharing no code with the package."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random

from .histograms import normalised
from .laws import ONE, ZERO, above, histogram, merged, mixed, sums

Table = Sequence[Sequence[Fraction]]
Adaptive = Callable[[tuple[int, ...]], Table]
"""The table of a position, given all earlier outputs."""


def transcripts(positions: Sequence[Adaptive], data: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """The law of the published outputs when the data are permuted uniformly."""
    laws, orders = [], list(itertools.permutations(data))
    for order in orders:
        partial: dict[tuple[int, ...], Fraction] = {(): Fraction(1, len(orders))}
        for position, x in zip(positions, order, strict=True):
            partial = {
                (*z, y): mass * chance
                for z, mass in partial.items()
                for y, chance in enumerate(position(z)[x])
                if chance
            }
        laws.append((ONE, partial))
    return mixed(*laws)


def data_shuffled(positions: Sequence[Adaptive], inputs: int, E: Fraction) -> Fraction:
    """The largest divergence over all neighbouring data sets, data shuffled."""
    n, worst = len(positions), ZERO
    for others in itertools.combinations_with_replacement(range(inputs), n - 1):
        laws = [transcripts(positions, (x, *others)) for x in range(inputs)]
        worst = max([worst, *(above(a, b, E) for a, b in itertools.permutations(laws, 2))])
    return worst


def random_row(size: int, random: Random) -> list[Fraction]:
    return normalised([[random.randint(1, 6) for _ in range(size)]])[0]


def random_table(inputs: int, messages: int, random: Random) -> Table:
    """A table of any ratios."""
    return [random_row(messages, random) for _ in range(inputs)]


def random_private_table(inputs: int, messages: int, t: Fraction, random: Random) -> Table:
    """A table with ratios of at most t between any two inputs: extremal rows, each message at level 1 or t, mixed."""
    while True:
        levels = [[random.choice((ONE, t)) for _ in range(messages)] for _ in range(inputs)]
        weights = random_row(messages, random)
        rows = [[w * v for w, v in zip(weights, row, strict=True)] for row in levels]
        sums = {sum(row) for row in rows}
        if len(sums) == 1:
            return [[v / sum(row) for v in row] for row in rows]
        # Sums that differ break the ratio: keep only tables where it still holds.
        found = [[v / sum(row) for v in row] for row in rows]
        if all(a[y] <= t * b[y] for a, b in itertools.permutations(found, 2) for y in range(messages)):
            return found


def adaptive(inputs: int, messages: int, t: Fraction, seed: int) -> Adaptive:
    """A randomizer that depends on all earlier outputs, of ratio t given each of them."""
    known: dict[tuple[int, ...], Table] = {}

    def position(past: tuple[int, ...]) -> Table:
        if past not in known:
            known[past] = random_private_table(inputs, messages, t, Random(f"{seed} {past}"))
        return known[past]

    return position


def constant(table: Table) -> Adaptive:
    return lambda _: table


def expectation(laws: Sequence[dict[Fraction, Fraction]]) -> Fraction:
    """E[S_+] for a sum of independent variables with these laws: in integers, over common denominators."""
    scale, whole = math.lcm(*(v.denominator for law in laws for v in law)), 1
    total = {0: 1}
    for law in laws:
        shared = math.lcm(*(chance.denominator for chance in law.values()))
        steps = [(int(v * scale), int(chance * shared)) for v, chance in law.items()]
        out: dict[int, int] = {}
        for s, mass in total.items():
            for v, chance in steps:
                out[s + v] = out.get(s + v, 0) + mass * chance
        total, whole = out, whole * shared
    return Fraction(sum(s * mass for s, mass in total.items() if s > 0), scale * whole)


def budget_law(t: Fraction, E: Fraction) -> dict[Fraction, Fraction]:
    """G* of a budget."""
    high, share = (t - E, 1 / (t + 1)) if t >= E else (-t * (E - t), 1 / (t * (t + 1)))
    return merged([(ZERO, ONE - share - 1 / (t + 1)), (high, share), (1 - t * E, 1 / (t + 1))])


def theorem_c(budgets: Sequence[Fraction], E: Fraction) -> Fraction:
    """The bound for data that are shuffled."""
    return expectation([budget_law(t, E) for t in budgets]) / len(budgets)


# ---------------------------------------------------------------------------------------------------- messages shuffled


def messages_shuffled(victim: Table, others: Sequence[Table], E: Fraction, dropout: Fraction = ZERO) -> Fraction:
    """The largest divergence over the victim's pairs and all inputs of the others; theirs may be lost unseen."""
    worst = ZERO
    for chosen in itertools.product(*(range(len(table)) for table in others)):
        rest = [[*((1 - dropout) * p for p in table[x]), dropout] for table, x in zip(others, chosen, strict=True)]
        laws = [merged((seen[:-1], p) for seen, p in histogram([[*row, ZERO], *rest]).items()) for row in victim]
        worst = max([worst, *(above(a, b, E) for a, b in itertools.permutations(laws, 2))])
    return worst


def delta_bar(
    victim: Table, pair: tuple[int, int], masses: Sequence[Fraction], blanket: Sequence[Fraction], E: Fraction
):
    """E[Delta_{C+1}] of Theorem D, for a blanket that is nowhere 0."""
    law = merged(((a - E * c) / b, b) for a, c, b in zip(victim[pair[0]], victim[pair[1]], blanket, strict=True))
    hidden = sums({0: 1 - g, 1: g} for g in masses)
    return sum((p * expectation([law] * (m + 1)) / (m + 1) for m, p in hidden.items()), ZERO)


def behind_poisson(
    rows: Sequence[Sequence[Fraction]],
    means: Sequence[Fraction],
    E: Fraction,
    leaks: Fraction,
    there: tuple[Fraction, Fraction],
    most: int = 40,
) -> float:
    """The divergence of a victim's two rows among Poisson numbers of each message, by all counts, in doubles.

    The victim is there with two probabilities; her message is then seen with its sender with the chance ``leaks``.
    """
    laws = [
        [0.0 if k < 0 else math.exp(-float(m)) * float(m) ** k / math.factorial(k) for k in range(-1, most)]
        for m in means
    ]
    value = sum(max(leaks * (there[0] * a - E * there[1] * c), ZERO) for a, c in zip(*rows, strict=True)) * 1.0
    for counts in itertools.product(range(1, most + 1), repeat=len(means)):
        alone = math.prod(law[k] for law, k in zip(laws, counts, strict=True))
        chances = []
        for row, p in zip(rows, there, strict=True):
            shown = sum(
                float(row[y]) * laws[y][k - 1] * math.prod(laws[z][j] for z, j in enumerate(counts) if z != y)
                for y, k in enumerate(counts)
            )
            chances.append(float(p * (1 - leaks)) * shown + float(1 - p) * alone)
        value += max(chances[0] - float(E) * chances[1], 0.0)
    return float(value)
