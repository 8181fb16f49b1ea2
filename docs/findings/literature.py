"""Every bound in print on a grid, beside the certified truth: which fall below it, where, and by how much.

Run: python docs/findings/literature.py (half an hour or more; it goes on where it was stopped). Writes literature.csv
and literature.svg; with the argument "plot" it only draws, and prints the table of the page.
"""

import csv
import itertools
import sys
from collections import defaultdict
from pathlib import Path

import symamp as sa
from symamp.literature.shelf import CLOSED_FORMS

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
NAMES = ("blanket", "variation_ratio", "variation_ratio_2023", "standard_clone", "generic", *CLOSED_FORMS)
FIELDS = ("mechanism", "eps0", "n", "delta", "lower", "upper", "name", "value", "standing", "applies", "refuted_here")


def cells():
    return itertools.product(MECHANISMS, BUDGETS, USERS, DELTAS)


def rows_of(mechanism, eps0, n, delta):
    table = sa.compare(MECHANISMS[mechanism](eps0), n=n, delta=delta, names=NAMES)
    for row in table.rows:
        values = (row.name, row.value, row.standing, row.applies, row.refuted_here)
        yield dict(zip(FIELDS, (mechanism, eps0, n, delta, table.truth.lower, table.truth.upper, *values), strict=True))


def done():
    if not FILE.exists():
        return set()
    with FILE.open(encoding="utf-8", newline="") as stream:
        return {(r["mechanism"], r["eps0"], int(r["n"]), r["delta"]) for r in csv.DictReader(stream)}


def run():
    known = done()
    with FILE.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        if not known:
            writer.writeheader()
        for cell in cells():
            if cell not in known:
                writer.writerows(rows_of(*cell))
                stream.flush()


def read():
    with FILE.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def summary(rows):
    """Yield (name, cells, with a value and conditions met, refuted, least value/lower, where)."""
    by_name = defaultdict(list)
    for row in rows:
        by_name[row["name"]].append(row)
    for name, found in by_name.items():
        seen = [r for r in found if r["value"] and r["applies"] == "True" and float(r["lower"]) > 0]
        bad = [r for r in seen if r["refuted_here"] == "True"]
        worst = min(seen, key=lambda r: float(r["value"]) / float(r["lower"]), default=None)
        yield name, found[0]["standing"], len(found), len(seen), len(bad), worst


def draw(rows):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "symamp"
    names = [name for name, _, _, _, bad, _ in summary(rows) if bad]
    fig, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 4), sharey=True, squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        for r in rows:
            if r["name"] != name or not r["value"] or r["applies"] != "True" or float(r["lower"]) <= 0:
                continue
            bad = r["refuted_here"] == "True"
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
    for name, standing, cells_, seen, bad, worst in summary(table):
        at = "" if worst is None else f"{worst['mechanism']}, {worst['eps0']}, n = {worst['n']}, {worst['delta']}"
        ratio = "" if worst is None else f"{float(worst['value']) / float(worst['lower']):.4g}"
        print(f"| `{name}` | {standing} | {cells_} | {seen} | {bad} | {ratio} | {at} |")
