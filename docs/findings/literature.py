"""Every bound in print on a grid, beside the certified truth: which fall below it, where, and by how much.

Run: python docs/findings/literature.py (half an hour or more; it goes on where it was stopped). Writes literature.csv
and literature.svg; with the argument "plot" it only draws, and prints the table of the page.
"""

import csv
import itertools
import sys
from pathlib import Path

import symamp as sa
from symamp.literature.compare import CLOSED_FORMS

HERE = Path(__file__).parent
FILE = HERE / "literature.csv"
BUDGETS = ("0.1", "0.4", "1", "2", "4", "6", "8")
USERS = (10**2, 10**3, 10**4, 10**6, 10**8)
DELTAS = ("1e-2", "1e-4", "1e-6", "1e-12")
MECHANISMS = {
    "2-RR": lambda eps0: sa.RandomizedResponse(k=2, eps0=eps0),
    "10-RR": lambda eps0: sa.RandomizedResponse(k=10, eps0=eps0),
    "100-RR": lambda eps0: sa.RandomizedResponse(k=100, eps0=eps0),
    "RAPPOR, D = 16": lambda eps0: sa.UnaryEncoding.rappor(D=16, eps0=eps0),
}
# One limit is left out: it is about 2-RR only, and no bound.
FORMS = [name for name in CLOSED_FORMS if name != "fixed_composition"]
NAMES = ("blanket", "variation_ratio", "variation_ratio_2023", "standard_clone", "generic", *FORMS)
HEAD = ("mechanism", "eps0", "n", "delta", "lower", "upper")
"""The certified bracket; then one column for each bound: its eps, * outside its conditions, ! refuted, nothing if it
has no value or does not apply."""


def cells():
    return itertools.product(MECHANISMS, BUDGETS, USERS, DELTAS)


def line_of(mechanism, eps0, n, delta):
    table = sa.compare(MECHANISMS[mechanism](eps0), n=n, delta=delta, names=NAMES)
    line = dict(zip(HEAD, (mechanism, eps0, n, delta, table.truth.lower, table.truth.upper), strict=True))
    for row in table.rows:
        mark = "!" if row.refuted_here else "" if row.applies else "*"
        line[row.name] = "" if row.value is None else f"{row.value:.7g}{mark}"
    return line


def read():
    if not FILE.exists():
        return []
    with FILE.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def run():
    known = {(r["mechanism"], r["eps0"], int(r["n"]), r["delta"]) for r in read()}
    with FILE.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, (*HEAD, *NAMES), lineterminator="\n")
        if not known:
            writer.writeheader()
        for cell in cells():
            if cell not in known:
                writer.writerow(line_of(*cell))
                stream.flush()


def values(lines, name):
    """Yield (cell, ratio to the certified lower end, refuted) wherever the theorem says something and eps > 0."""
    for r in lines:
        text = r[name]
        if text and not text.endswith("*") and float(r["lower"]) > 0:
            yield r, float(text.rstrip("!")) / float(r["lower"]), text.endswith("!")


def summary(lines):
    """Yield (name, cells with a claim, refuted, least ratio and where, largest ratio)."""
    for name in NAMES:
        found = list(values(lines, name))
        if found:
            worst = min(found, key=lambda v: v[1])
            yield name, len(found), sum(bad for _, _, bad in found), worst, max(v[1] for v in found)


def draw(rows):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "symamp"
    names = [name for name, _, bad, _, _ in summary(rows) if bad]
    fig, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 4), sharey=True, squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        for r, _, bad in values(rows, name):
            shift = 0.15 * (list(MECHANISMS).index(r["mechanism"]) - 1.5)
            x, y = BUDGETS.index(r["eps0"]) + shift, DELTAS.index(r["delta"]) + USERS.index(int(r["n"])) * 5
            ax.plot(x, y, "x" if bad else ".", color="tab:red" if bad else "0.7", markersize=5 if bad else 2)
        ax.set_title(name, fontsize=9)
        ax.set_xticks(range(len(BUDGETS)), BUDGETS)
        ax.set_xlabel("local budget")
        ax.set_yticks([5 * i + 1.5 for i in range(len(USERS))], [f"n = {n:.0e}" for n in USERS])
    fig.tight_layout()
    fig.savefig(HERE / "literature.svg", metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1:] != ["plot"]:
        run()
    table = read()
    draw(table)
    for name, seen, bad, (r, least, _), most in summary(table):
        at = f"{r['mechanism']}, {r['eps0']}, n = {int(r['n']):,}, {r['delta']}"
        print(f"| `{name}` | {seen} | {bad} | {least:.4g} | {at} | {most:.4g} |")
