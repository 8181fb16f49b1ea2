"""Shuffled histograms in exact rationals: small, slow, and sharing no code with the package.

A mechanism is a *table*: one row per input, one Fraction per message. Laws of histograms are dictionaries from tuples
of counts to integer weights over a common denominator, so that no rounding happens anywhere. `E` is the rational order
e^eps of the hockey-stick divergence, `n` the number of users, the victim included.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random

from .laws import merged, together

Row = Sequence[Fraction]
Table = Sequence[Row]
Law = dict[tuple[int, ...], int]
Triple = tuple[list[Fraction], list[Fraction], list[Fraction]]


# ----------------------------------------------------------------------------------------------- laws of histograms


def _denominator(rows: Table) -> int:
    return math.lcm(*(entry.denominator for row in rows for entry in row))


def _integers(row: Row, denominator: int) -> list[int]:
    return [entry.numerator * (denominator // entry.denominator) for entry in row]


def _add_report(law: Law, weights: Sequence[int]) -> Law:
    """Law of the histogram with one more independent report, which is message y with weight `weights[y]`."""
    out: Law = {}
    for histogram, mass in law.items():
        for y, weight in enumerate(weights):
            if weight:
                key = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
                out[key] = out.get(key, 0) + mass * weight
    return out


def _histogram_law(rows: Table, denominator: int) -> Law:
    """Law of the histogram of independent reports, one per row, times denominator ** len(rows)."""
    law: Law = {(0,) * len(rows[0]): 1}
    for row in rows:
        law = _add_report(law, _integers(row, denominator))
    return law


def _hockey_stick(law0: Law, law1: Law, E: Fraction, total: int) -> Fraction:
    """sum (P0 - E P1)_+ of two integer laws with the same total weight."""
    a, b = E.numerator, E.denominator
    excess = 0
    for histogram, mass in law0.items():
        difference = b * mass - a * law1.get(histogram, 0)
        if difference > 0:
            excess += difference
    return Fraction(excess, b * total)


def divergence_of_users(rows0: Table, rows1: Table, E: Fraction) -> Fraction:
    """D_E between shuffled histograms when user i reports from rows0[i], respectively rows1[i] (users may differ)."""
    if len(rows0) != len(rows1):
        raise ValueError("neighbouring data sets have the same number of users")
    denominator = _denominator([*rows0, *rows1])
    law0, law1 = _histogram_law(rows0, denominator), _histogram_law(rows1, denominator)
    return _hockey_stick(law0, law1, Fraction(E), denominator ** len(rows0))


def true_divergence(table: Table, data0: Sequence[int], data1: Sequence[int], E: Fraction) -> Fraction:
    """D_E(P0 || P1) of the shuffled histograms of two data sets, given as lists of input indices."""
    return divergence_of_users([table[x] for x in data0], [table[x] for x in data1], E)


def multiset_laws(table: Table, n: int) -> dict[tuple[int, ...], Law]:
    """The histogram law of every data set of n inputs (sorted tuple of indices), times the common denominator ** n."""
    denominator = _denominator(table)
    weights = [_integers(row, denominator) for row in table]
    laws: dict[tuple[int, ...], Law] = {(): {(0,) * len(table[0]): 1}}
    for _ in range(n):
        laws = {
            (*data, x): _add_report(law, weights[x])
            for data, law in laws.items()
            for x in range(data[-1] if data else 0, len(table))
        }
    return laws


def worst_true_divergence(
    table: Table, n: int, E: Fraction, laws: dict[tuple[int, ...], Law] | None = None
) -> tuple[Fraction, tuple[int, int], tuple[int, ...]]:
    """Maximum of D_E over all neighbouring data sets, the ordered pair (x0, x1) and the n-1 other inputs.

    `laws` takes the result of `multiset_laws(table, n)` when several orders E are asked of one table.
    """
    E = Fraction(E)
    laws = multiset_laws(table, n) if laws is None else laws
    total = _denominator(table) ** n
    best: tuple[Fraction, tuple[int, int], tuple[int, ...]] = (Fraction(-1), (0, 0), ())
    for others in itertools.combinations_with_replacement(range(len(table)), n - 1):
        shuffled = [laws[tuple(sorted((x, *others)))] for x in range(len(table))]
        for x0, x1 in itertools.permutations(range(len(table)), 2):
            value = _hockey_stick(shuffled[x0], shuffled[x1], E, total)
            if value > best[0]:
                best = (value, (x0, x1), others)
    return best


def saturation_order(table: Table, n: int) -> Fraction:
    """An order E from which on every divergence of n users equals its limit, the mass of P0 where P1 has none."""
    return Fraction(_denominator(table) ** n)


# ----------------------------------------------------------------------------------------------------------- triples


def triple_divergence(a0: Row, a1: Row, a2: Row, n: int, E: Fraction) -> Fraction:
    """D_E between histograms of one draw of a0 (respectively a1) and n-1 draws of a2.

    The mass that a2 lacks is a null symbol, which is part of the histogram and which a0 and a1 never emit.
    """
    if not (sum(a0) == sum(a1) == 1 and sum(a2) <= 1):
        raise ValueError("a0 and a1 are probabilities, a2 a sub-probability")
    others = [[*a2, 1 - sum(a2)]] * (n - 1)
    return divergence_of_users([[*a0, Fraction(0)], *others], [[*a1, Fraction(0)], *others], E)


def generic_triple(t: Fraction) -> Triple:
    """The stronger clone's generic triple for local budget log t: binary randomized response and its blanket."""
    high, low = t / (t + 1), 1 / (t + 1)
    return [high, low], [low, high], [low, low]


def standard_clone_triple(t: Fraction) -> Triple:
    """The standard clone for local budget log t."""
    high, low = t / (t + 1), 1 / (t + 1)
    return [high, low], [low, high], [1 / (2 * t), 1 / (2 * t)]


def variation_ratio_triple(p: Fraction, beta: Fraction, q: Fraction, *, corrected: bool) -> Triple:
    """The variation-ratio triple; as printed the third symbol takes all the rest, corrected only a q-th of its mass."""
    alpha = beta / (p - 1)
    r, rest = alpha * p / q, 1 - alpha - p * alpha
    third = rest / q if corrected else 1 - 2 * r
    return [p * alpha, alpha, rest], [alpha, p * alpha, rest], [r, r, third]


def worst_case_triple(table: Table, x0: int, x1: int, other: int) -> Triple:
    """All other users hold the input `other`: a lower bound on the worst true divergence."""
    return list(table[x0]), list(table[x1]), list(table[other])


def blanket_triple(table: Table, x0: int, x1: int) -> Triple:
    """R(x0), R(x1) and the pointwise minimum of all rows."""
    return list(table[x0]), list(table[x1]), [min(column) for column in zip(*table, strict=True)]


# ----------------------------------------------------------------------------------------------- the blanket identity


def blanket_components(
    table: Table, x0: int, x1: int
) -> tuple[dict[tuple[Fraction, Fraction], Fraction], list[tuple[Fraction, Fraction]]]:
    """Mass of m by ratios (R(x0)/m, R(x1)/m), and the pairs of masses of the messages with m(y) = 0, unmerged."""
    columns = [(min(column), column[x0], column[x1]) for column in zip(*table, strict=True)]
    return merged(((a / m, b / m), m) for m, a, b in columns if m > 0), [(a, b) for m, a, b in columns if m == 0]


def multinomial_positive_part(values: Sequence[Fraction], masses: Sequence[Fraction], n: int) -> Fraction:
    """E[(G_1 + ... + G_n)_+] for independent G with the given law; mass that is missing sits at the value 0."""
    if not values:
        return Fraction(0)
    scale = math.lcm(*(value.denominator for value in values))
    denominator = math.lcm(*(mass.denominator for mass in masses))
    v, w = _integers(values, scale), _integers(masses, denominator)
    null = denominator - sum(w)
    if null < 0:
        raise ValueError("the masses exceed one")

    def walk(j: int, left: int, weight: int, total: int) -> int:
        if j == len(v):
            return weight * null**left * total if total > 0 else 0
        return sum(
            walk(j + 1, left - c, weight * math.comb(left, c) * w[j] ** c, total + c * v[j]) for c in range(left + 1)
        )

    return Fraction(walk(0, n, 1, 0), scale * denominator**n)


def blanket_divergence(table: Table, x0: int, x1: int, n: int, E: Fraction) -> Fraction:
    """The blanket bound on D_E for the ordered pair, through E[S_+]/n and the singular part."""
    E = Fraction(E)
    components, singular = blanket_components(table, x0, x1)
    law = merged((r0 - E * r1, mass) for (r0, r1), mass in components.items())
    smooth = multinomial_positive_part(list(law), list(law.values()), n) / n
    return smooth + sum((max(a0 - E * a1, Fraction(0)) for a0, a1 in singular), Fraction(0))


def blanket_divergence_by_histograms(table: Table, x0: int, x1: int, n: int, E: Fraction) -> Fraction:
    """The same number from its meaning: one draw of R(x0) or R(x1) among n-1 draws of the blanket or the null."""
    return triple_divergence(*blanket_triple(table, x0, x1), n, E)


def worst_blanket_divergence(table: Table, n: int, E: Fraction) -> tuple[Fraction, tuple[int, int]]:
    """Maximum of the blanket bound over ordered pairs of inputs, and the pair; equivalent pairs are computed once."""
    known: dict[object, Fraction] = {}
    best = (Fraction(-1), (0, 0))
    for x0, x1 in itertools.permutations(range(len(table)), 2):
        components, singular = blanket_components(table, x0, x1)
        key = (frozenset(components.items()), tuple(sorted(singular)))
        if key not in known:
            known[key] = blanket_divergence(table, x0, x1, n, E)
        if known[key] > best[0]:
            best = (known[key], (x0, x1))
    return best


def local_ratio(table: Table) -> Fraction | None:
    """t = e^eps0, the largest ratio of two inputs' probabilities of one message; None when it is infinite."""
    columns = list(zip(*table, strict=True))
    if any(min(column) == 0 < max(column) for column in columns):
        return None
    return max(max(column) / min(column) for column in columns if min(column) > 0)


def total_variation(row0: Row, row1: Row) -> Fraction:
    """Total variation between two rows."""
    return sum((abs(a - b) for a, b in zip(row0, row1, strict=True)), Fraction(0)) / 2


# ------------------------------------------------------------------------------------------------------------ tables


def normalised(weights: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Rows of nonnegative integer weights as rows of probabilities."""
    return [[Fraction(entry, sum(row)) for entry in row] for row in weights]


def randomized_response(k: int, t: Fraction) -> list[list[Fraction]]:
    """k-ary randomized response with ratio t."""
    t = Fraction(t)
    return [[(t if y == x else 1) / (t + k - 1) for y in range(k)] for x in range(k)]


def subset_selection(d: int, k: int, t: Fraction) -> list[list[Fraction]]:
    """Subset selection: messages are the k-subsets of d inputs, those that hold the input weigh t times more."""
    subsets = list(itertools.combinations(range(d), k))
    rows = [[Fraction(t) if x in subset else Fraction(1) for subset in subsets] for x in range(d)]
    return [[entry / sum(row) for entry in row] for row in rows]


def hadamard_response(K: int, t: Fraction) -> list[list[Fraction]]:
    """Hadamard response, inputs 1..K-1: message y weighs t where the Sylvester-Hadamard entry (x, y) is +1."""
    t = Fraction(t)
    rows = [[t if (x & y).bit_count() % 2 == 0 else Fraction(1) for y in range(K)] for x in range(1, K)]
    return [[entry / sum(row) for entry in row] for row in rows]


def unary_encoding(D: int, keep: Fraction, flip: Fraction) -> list[list[Fraction]]:
    """Unary encoding: bit x is 1 with probability `keep`, every other bit with probability `flip`."""
    coins = [[{0: 1 - p, 1: p} for p in (keep if i == x else flip for i in range(D))] for x in range(D)]
    return [list(together(*row).values()) for row in coins]


WEIGHTS = (1, 1, 2, 3, 4, 5, 7, 9, 14)


def _symmetric_weights(rng: Random, zeros: bool, inputs: int, messages: int) -> list[list[int]]:
    low, high = rng.choice((1, 1, 2)), rng.choice((3, 4, 5, 9))
    low = 0 if zeros else low
    kind = rng.choice(("response", "subset", "cyclic", "permuted"))
    if kind == "response":
        k = min(inputs, messages)
        return [[high if y == x else low for y in range(k)] for x in range(k)]
    if kind == "subset":
        d, k = rng.choice([(3, 2), (4, 2), (5, 1), (5, 4)])
        return [[high if x in s else low for s in itertools.combinations(range(d), k)] for x in range(d)]
    row = [rng.choice(WEIGHTS) for _ in range(messages)]
    row[0] = 0 if zeros else row[0]
    if kind == "cyclic":
        return [[row[(y - x) % messages] for y in range(messages)] for x in range(min(inputs, messages))]
    return [rng.sample(row, messages) for _ in range(inputs)]


def _candidates(rng: Random, zeros: bool, symmetric: bool) -> Iterator[list[list[int]]]:
    while True:
        inputs, messages = rng.randint(2, 5), rng.randint(2, 6)
        if symmetric:
            weights = _symmetric_weights(rng, zeros, inputs, messages)
        else:
            weights = [[rng.choice(WEIGHTS) for _ in range(messages)] for _ in range(inputs)]
            for _ in range(rng.randint(1, 3) if zeros else 0):
                weights[rng.randrange(inputs)][rng.randrange(messages)] = 0
        if len(weights) >= 2 and all(any(row) for row in weights) and all(map(any, zip(*weights, strict=True))):
            yield weights


def random_table(rng: Random, *, zeros: bool = False, symmetric: bool = False) -> list[list[Fraction]]:
    """A table of 2 to 5 inputs and 2 to 6 messages with small rational entries and at least two different rows.

    `zeros`: some message has m(y) = 0 although an input emits it. `symmetric`: all rows hold the same probabilities in
    another order (randomized response, subset selection, shifts, permutations).
    """
    for weights in _candidates(rng, zeros, symmetric):
        table = normalised(weights)
        if any(row != table[0] for row in table) and (local_ratio(table) is None) == zeros:
            return table
    raise AssertionError("unreachable")
