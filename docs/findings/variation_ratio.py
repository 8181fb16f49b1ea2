"""The printed variation-ratio bound against exact and certified values.

Run: python docs/findings/variation_ratio.py (about ten minutes). Writes variation_ratio.csv and variation_ratio.svg;
with the argument "plot" it only draws the plot again.
"""

import csv
import sys
from fractions import Fraction
from pathlib import Path

from flint import fmpq

import symamp as sa
from symamp.bounds.registry import BOUNDS
from symamp.randomizers.catalogue import catalogue
from symamp.sums.enumeration import exact_divergence

HERE = Path(__file__).parent
CASES = ((3, 2, 2, "7/4"), (5, 6, 4, "11/2"), (4, 3, 6, "13/10"))
RESPONSES = (3, 5, 10, 30, 100)
BUDGETS = ("1/2", 1, 2, 3, 4, 6, 8)
USERS = (10, 30, 100, 1000, 10**4, 10**5, 10**6)
DELTAS = ("1e-3", "1e-6", "1e-9")
HIGHLIGHTS = (
    (10, 1, 10**6, "1e-6"), (10, 1, 10**4, "1e-6"), (10, 4, 10**4, "1e-6"), (10, 4, 1000, "1e-6"), (10, 4, 100, "1e-9"),
    (10, 6, 1000, "1e-6"), (10, 8, 10**4, "1e-6"), (100, 6, 1000, "1e-6"), (100, 8, 1000, "1e-6"), (5, 8, 1000, "1e-6"),
    (5, 8, 1000, "1e-9"),
)  # fmt: skip
FIELDS = ("k", "eps0", "n", "delta", "lower", "printed", "corrected", "blanket")


def response(k, t):
    return sa.RandomizedResponse(k=k, eps0=f"log({t})")


def bound(mechanism, method, n, E):
    """The exact value of a bound at rational E: the largest over its triples."""
    order = fmpq(*Fraction(E).as_integer_ratio())
    values = [exact_divergence(r.law.rational, order, n) for r in BOUNDS[method].bound(mechanism).parts]
    return max(Fraction(int(v.p), int(v.q)) for v in values)


def truth(mechanism, n, E):
    """The largest divergence over all neighbouring data sets, and where it is attained."""
    worst = sa.exact.worst_dataset(mechanism, n, f"log({E})")
    return Fraction(str(worst.value.exact)), worst.maximisers[0]


def counterexample(k, t, n, E):
    """(truth, where, printed, corrected, generic, blanket) for k-ary randomized response, exactly."""
    mechanism = response(k, t)
    methods = ("variation_ratio_2023", "variation_ratio", "generic", "blanket")
    return (*truth(mechanism, n, E), *(bound(mechanism, method, n, E) for method in methods))


def near_local_budget(k, t, n):
    """Check the proposition of the page at an order E near t: (truth, printed) = (t - E)/Z^n times (t^(n-1), 1)."""
    t, Z = Fraction(t), Fraction(t) + k - 1
    c = (k - 2) / (t + k - 3)
    E = ((n - 1) * t + c) / (n - 1 + c)  # the least E that satisfies (n-1)(t-E) <= (E-1) c
    value, _ = truth(response(k, t), n, E)
    printed = bound(response(k, t), "variation_ratio_2023", n, E)
    assert printed == (t - E) / Z**n, (k, t, n)
    assert value >= t ** (n - 1) * printed, (k, t, n)
    E = (n * t - t + 1) / n  # the least E that satisfies (n-1)(t-E) <= E-1
    if k > 2:
        value, _ = truth(response(k, t), n, E)
        assert value == bound(response(k, t), "blanket", n, E) == t ** (n - 1) * (t - E) / Z**n, (k, t, n)
    return t ** (n - 1)


def exact_survey(sizes=(3, 4, 5), ratios=(2, 3, 6), users=(2, 3, 4, 5, 6), steps=20):
    """Count the points of a grid at which the truth exceeds the printed bound, all numbers exact."""
    found, points, largest = 0, 0, (Fraction(0), None)
    for k in sizes:
        for t in ratios:
            for n in users:
                for j in range(1, steps):
                    E = 1 + Fraction((t - 1) * j, steps)
                    value, _ = truth(response(k, t), n, E)
                    ratio = value / bound(response(k, t), "variation_ratio_2023", n, E)
                    assert value <= bound(response(k, t), "variation_ratio", n, E)
                    found, points = found + (ratio > 1), points + 1
                    largest = max(largest, (ratio, (k, t, n, E)))
    return found, points, largest


def certified(mechanism, n, delta):
    """Certified lower bound of the true eps, then the printed, the corrected and the blanket bound."""
    methods = ("variation_ratio_2023", "variation_ratio", "blanket")
    answers = [sa.epsilon(mechanism, n=n, delta=delta, method=method) for method in methods]
    # The lower end of each holds for the mechanism, whatever the method: their searches may end at different data sets.
    # What is no guarantee is beside the bracket.
    return max(a.lower for a in answers), *((a.claimed or a).upper for a in answers)


def survey(sizes=RESPONSES, budgets=BUDGETS, users=USERS, deltas=DELTAS):
    for k in sizes:
        for eps0 in budgets:
            for n in users:
                for delta in deltas:
                    yield (k, eps0, n, delta, *certified(sa.RandomizedResponse(k=k, eps0=eps0), n, delta))


def others(eps0=4, n=100, delta="1e-6"):
    """The families of the catalogue at typical sizes for which the certified lower bound exceeds the printed one."""
    for slug, family in catalogue().items():
        if any(p.name == "eps0" for p in family.declared):
            member = family(**family.typical, eps0=eps0)
            lower, printed, corrected, blanket = certified(member, n, delta)
            if lower > printed:
                yield slug, member, lower, printed, corrected, blanket


def true_delta(mechanism, n, delta):
    """The printed eps, and a certified lower bound of the true delta at this eps, divided by the delta asked for."""
    printed = sa.epsilon(mechanism, n=n, delta=delta, method="variation_ratio_2023").upper
    return printed, sa.delta(mechanism, n=n, eps=printed).lower / float(delta)


def stored():
    with (HERE / "variation_ratio.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield int(row["k"]), row["eps0"], int(row["n"]), row["delta"], *(float(row[name]) for name in FIELDS[4:])


def plot(rows):
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "symamp", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt
    from matplotlib.colors import LogNorm

    excess = {(r[0], str(r[1]), r[2], r[3]): r[4] / r[5] - 1 if r[5] else 0.0 for r in rows}
    figure, axes = plt.subplots(len(DELTAS), len(RESPONSES), figsize=(13, 7), layout="constrained")
    for row, delta in zip(axes, DELTAS, strict=True):
        for axis, k in zip(row, RESPONSES, strict=True):
            cells = [[excess[k, str(eps0), n, delta] for n in USERS] for eps0 in BUDGETS]
            shown = [[cell if cell > 0 else float("nan") for cell in line] for line in cells]
            image = axis.imshow(shown, origin="lower", norm=LogNorm(1e-7, 1), cmap="plasma", aspect="auto")
            axis.set_xticks(range(len(USERS)), [f"{n:.0e}".replace("e+0", "e") for n in USERS], fontsize=6)
            axis.set_yticks(range(len(BUDGETS)), [str(b) for b in BUDGETS], fontsize=7)
            axis.set_title(f"{k}-RR, delta = {delta}", fontsize=8)
            axis.set(xlabel="n", ylabel="eps0")
    figure.colorbar(image, ax=axes, label="certified lower bound of the true eps / printed upper bound - 1")
    figure.savefig(HERE / "variation_ratio.svg", metadata={"Date": None})


def main():
    for case in CASES:
        print("k, t, n, E =", *case, ": truth, where, printed, corrected, generic, blanket =", end=" ")
        print(*counterexample(*case))
    for k in (3, 4, 5):
        for t in (2, 3, 6):
            print(f"{k}-RR, t = {t}: factors near E = t,", *(near_local_budget(k, t, n) for n in (2, 3, 4, 5, 6)))
    found, points, (ratio, where) = exact_survey()
    print(
        f"exact: truth > printed at {found} of {points} points; largest ratio {float(ratio):.1f} at {where}", flush=True
    )
    rows = []
    for row in survey():
        rows.append(row)
        print(*row, "REFUTED" if row[4] > row[5] else "", flush=True)
    refuted = [row for row in rows if row[4] > row[5]]
    print(f"certified lower bound above the printed one at {len(refuted)} of {len(rows)} points")
    with (HERE / "variation_ratio.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(rows)
    plot(list(stored()))
    for k, eps0, n, delta in HIGHLIGHTS:
        eps, factor = true_delta(sa.RandomizedResponse(k=k, eps0=eps0), n, delta)
        print(
            f"{k}-RR, eps0 = {eps0}, n = {n}: printed ({eps:.6f}, {delta}); true delta there >= {factor:.4g} * {delta}"
        )
    for n in (100, 10_000):
        for slug, member, lower, printed, corrected, blanket in others(n=n):
            print(
                slug, member, f"n = {n}: {lower:.6f} > {printed:.6f}; corrected {corrected:.6f}, blanket {blanket:.6f}"
            )


if __name__ == "__main__":
    if sys.argv[1:] == ["plot"]:
        plot(list(stored()))
    else:
        main()
