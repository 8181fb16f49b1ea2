"""Theorem B on random mechanisms, exactly and for all n and eps at once; and who lies in the restricted class.

Run: python docs/findings/generic_bound.py (about three minutes). Writes generic_bound.csv and generic_bound.svg.
"""

import csv
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path
from random import Random

import sympy as sp
from flint import fmpq

import symamp as sa
from symamp.bounds.budget import generic_reduction
from symamp.decompositions.budget import largest_ratio
from symamp.decompositions.pairs import pair_classes
from symamp.errors import UndecidedOrderError
from symamp.formulas.normal_form import normal
from symamp.formulas.order import sign
from symamp.randomizers.catalogue import catalogue
from symamp.sums.enumeration import exact_divergence

HERE = Path(__file__).parent
Point = tuple[Fraction, Fraction]
WEIGHTS = (1, 1, 2, 3, 4, 5, 7, 9, 14)
FIELDS = ("family", "member", "largest r0 + r1 - t - 1", "in the class", "eps blanket", "eps generic")


# ------------------------------------------------------------------------------------------------ convex order, exactly


def random_table(seed):
    """2 to 5 inputs, 2 to 6 messages, positive rational entries; every third has entries of two sizes only."""
    rng = Random(seed)
    inputs, messages = rng.randint(2, 5), rng.randint(2, 6)
    while True:
        if seed % 3:
            rows = [[rng.choice(WEIGHTS) for _ in range(messages)] for _ in range(inputs)]
        else:
            high, size = rng.choice((2, 3, 5, 20)), rng.randint(1, messages - 1)
            row = [high] * size + [1] * (messages - size)
            rows = [rng.sample(row, messages) for _ in range(inputs)]
        if any(row != rows[0] for row in rows):
            return [[Fraction(weight, sum(row)) for weight in row] for row in rows]


def blanket(table, x0, x1):
    """{(r0, r1): mass} of the blanket of a positive table."""
    law: dict[Point, Fraction] = {}
    for column in zip(*table, strict=True):
        m = min(column)
        law[column[x0] / m, column[x1] / m] = law.get((column[x0] / m, column[x1] / m), Fraction(0)) + m
    return law


def local_ratio(table):
    return max(max(column) / min(column) for column in zip(*table, strict=True))


def corners(lines: list[Point], t: Fraction) -> Iterator[Point]:
    """Points (E, u), 1 <= E <= t, where two of the lines u = r0 - E r1 meet, or one meets E = 1 or E = t."""
    for r0, r1 in lines:
        for E in (Fraction(1), t):
            yield E, r0 - E * r1
    for (a0, a1), (b0, b1) in combinations(lines, 2):
        if a1 != b1 and 1 < (E := (a0 - b0) / (a1 - b1)) < t:
            yield E, a0 - E * a1


def stop_loss(law, E, u):
    return sum((max(r0 - E * r1 - u, Fraction(0)) * mass for (r0, r1), mass in law.items()), Fraction(0))


def with_null(law):
    return {**law, (Fraction(0), Fraction(0)): 1 - sum(law.values())}


def generic(t):
    return with_null({(t, Fraction(1)): 1 / (t + 1), (Fraction(1), t): 1 / (t + 1)})


def margin(law, t):
    """The least value of E(G2 - u)_+ - E(G - u)_+ over 1 <= E <= t and all u, exactly.

    As a function of (E, u) it is linear between the lines u = r0 - E r1 of both laws, and 0 above and below all of
    them (the means are equal), so that its least value is at a corner.
    """
    law, other = with_null(law), generic(t)
    lines = list({**law, **other})
    return min(stop_loss(other, E, u) - stop_loss(law, E, u) for E, u in set(corners(lines, t)))


def check_convex_order(seeds):
    """Numbers of mechanisms and ordered pairs for which the convex order holds; AssertionError if it fails."""
    mechanisms = pairs = 0
    for seed in seeds:
        table = random_table(seed)
        t = local_ratio(table)
        mechanisms += 1
        for x0, x1 in permutations(range(len(table)), 2):
            pairs += 1
            assert margin(blanket(table, x0, x1), t) >= 0, (seed, x0, x1)
    return mechanisms, pairs


def check_truth(seeds, users=(2, 3, 4)):
    """Truth <= generic bound at small n, exactly; the largest truth divided by the truth of binary response."""
    largest = Fraction(0)
    for seed in seeds:
        table = random_table(seed)
        t = local_ratio(table)
        rows = {f"x{i}": {f"y{j}": p for j, p in enumerate(row)} for i, row in enumerate(table)}
        mechanism, binary = sa.FiniteMechanism(rows), sa.RandomizedResponse(k=2, eps0=f"log({t})")
        law = generic_reduction(sa.PureLDP(eps0=sp.log(sp.Rational(t.numerator, t.denominator)))).law.rational
        for n in users:
            for share in (Fraction(0), Fraction(1, 4), Fraction(3, 4)):
                E = 1 + (t - 1) * share
                eps = f"log({E})" if E != 1 else 0
                value = sa.exact.worst_dataset(mechanism, n, eps).value.exact
                assert fmpq(int(value.p), int(value.q)) <= exact_divergence(law, fmpq(E.numerator, E.denominator), n)
                largest = max(largest, Fraction(str(value / sa.exact.worst_dataset(binary, n, eps).value.exact)))
    return largest


def ternary_over_binary(t, n, E):
    """True divergence of 3-ary randomized response divided by that of binary randomized response, same budget."""
    three, two = (sa.exact.worst_dataset(sa.RandomizedResponse(k=k, eps0=f"log({t})"), n, f"log({E})") for k in (3, 2))
    return three.value.exact / two.value.exact


# ---------------------------------------------------------------------------------------------------- the catalogue


def members():
    for slug, family in catalogue().items():
        for values in family.small:
            yield slug, family(**values)


def excess(mechanism):
    """The largest r0 + r1 - t - 1 over the components of all pairs: at most 0 in the restricted class."""
    t = largest_ratio(mechanism)
    if t is sp.oo:
        return sp.oo
    components = [c for pairs in pair_classes(mechanism) for c in pairs.decomposition.components]
    values = {normal(c.ratio0 + c.ratio1 - t - 1) for c in components}
    best, *rest = values
    for value in rest:
        best = value if sign(value - best) > 0 else best
    return best


def in_class_for_all_budgets(family, values):
    """Whether r0 + r1 <= t + 1 on all components for every eps0 > 0; None if it is not decided for all at once."""
    member = family(**{name: value for name, value in values.items() if name != "eps0"})
    t = largest_ratio(member)
    try:
        signs = [
            sign(c.ratio0 + c.ratio1 - t - 1, member.parameters)
            for pairs in pair_classes(member)
            for c in pairs.decomposition.components
        ]
    except UndecidedOrderError:
        return None
    return not any(s > 0 for s in signs)


def budgets(member, n=10**4, delta="1e-6"):
    return sa.epsilon(member, n=n, delta=delta).upper, sa.epsilon(member, n=n, delta=delta, method="generic").upper


def plot(rows):
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "symamp", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt

    families = sorted({row[0] for row in rows}, reverse=True)
    figure, axis = plt.subplots(figsize=(7, 5.5), layout="constrained")
    for inside, colour, marker in ((True, "#4c9f70", "o"), (False, "#c0504d", "s")):
        points = [(row[4] / row[5], families.index(row[0])) for row in rows if row[3] == inside]
        label = "in the restricted class" if inside else "outside"
        axis.plot(*zip(*points, strict=True), marker, color=colour, markersize=5, alpha=0.7, label=label)
    axis.set_yticks(range(len(families)), families, fontsize=8)
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set(xlabel="blanket bound / generic bound on eps (n = 10^4, delta = 1e-6)")
    axis.legend(fontsize=8)
    figure.savefig(HERE / "generic_bound.svg", metadata={"Date": None})


def main():
    mechanisms, pairs = check_convex_order(range(5000))
    print(
        f"convex order for all n and all eps in [0, eps0]: {mechanisms} mechanisms, {pairs} ordered pairs", flush=True
    )
    largest = check_truth(range(150))
    print(f"truth <= generic bound for n = 2, 3, 4; truth / truth of 2-RR <= {float(largest):.6f}", flush=True)
    for t, n, E in ((3, 10, "11/10"), (3, 20, "11/10"), (9, 10, "13/10"), (9, 20, "13/10"), (9, 40, "13/10")):
        ratio = ternary_over_binary(t, n, E)
        print(f"truth of 3-RR / truth of 2-RR at t = {t}, n = {n}, E = {E}: {float(ratio):.5f}", flush=True)
    rows = []
    for slug, member in members():
        value = excess(member)
        inside = value is not sp.oo and sign(value) <= 0
        rows.append((slug, repr(member), sp.sstr(value), inside, *budgets(member)))
        print(*rows[-1], flush=True)
    with (HERE / "generic_bound.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(rows)
    plot(rows)
    for slug, family in catalogue().items():
        if any(p.name == "eps0" for p in family.declared):
            sizes = {tuple((n, v) for n, v in values.items() if n != "eps0") for values in family.small}
            for size in sorted(sizes, key=str):
                print(slug, dict(size), "for every eps0:", in_class_for_all_budgets(family, dict(size)), flush=True)


if __name__ == "__main__":
    main()
