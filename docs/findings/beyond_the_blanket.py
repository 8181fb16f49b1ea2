"""How far the blanket is from the truth: certified bounds over the catalogue, cell by cell.

Run: python docs/findings/beyond_the_blanket.py (finished cells are kept in beyond_the_blanket.csv and never computed
again, so it can be stopped at any time). ``--cells REGEX`` computes those whose name matches, such as
"krr .* n=1000 "; ``--apart`` computes those whose ends are apart anew, ``--effort thorough`` with more work, and keeps
what is nearer; ``--no-cells`` only writes the tables and the plot of the finding from what is finished.
"""

import argparse
import csv
import re
import signal
import time
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import NamedTuple

import symamp as sa
from symamp.errors import SymampError
from symamp.randomizers.catalogue import by_name, catalogue

HERE = Path(__file__).parent
TABLE, PAGE, PLOT = (HERE / f"beyond_the_blanket.{end}" for end in ("csv", "md", "svg"))
BUDGETS, USERS, DELTAS = ("1/2", "1", "2", "4", "8"), (10**4, 10**3, 10**6, 10**9), ("1e-6", "1e-12")
FIELDS = ("mechanism", "sizes", "eps0", "n", "delta", "blanket", "envelope", "all_data_sets", "two_messages")
FIELDS += ("upper", "method", "lower", "data_set", "seconds", "effort")
METHODS = FIELDS[5:9]
GAP, MOST_SECONDS = 1e-5, 120
NOISE = (
    *((slug, {}) for slug in ("laplace", "clipped-laplace", "logistic", "planar-laplace", "pure-ldp")),
    *(("gaussian", {"sigma": 1}), ("gaussian", {"sigma": 2}), ("cauchy", {"scale": 1})),
    *(("discrete-laplace", {"B": 32}), ("discrete-gaussian", {"B": 16, "sigma": 16})),
)
LOCAL = "local-hashing"
PRINTED = {
    "envelope": [
        *(("hadamard-response", {"K": 128}, e, 10**4) for e in ("6", "8", "12")),
        *((LOCAL, {"l": 2, "D": 100}, e, 10**4) for e in ("4", "6", "8")),
        (LOCAL, {"l": 4, "D": 100}, "12", 10**6),
        ("rappor", {"D": 100}, "8", 10**4),
        *(("d-bit-flip", {"k": 100, "d": 4}, e, 10**6) for e in ("1", "2", "4", "8")),
    ],
    "all data sets": [
        (slug, sizes, eps0, n)
        for slug, sizes in (
            ("krr", {"k": 2}),
            (LOCAL, {"l": 2, "D": 100}),
            (LOCAL, {"l": 4, "D": 100}),
            ("oue", {"D": 100}),
        )
        for eps0, n in (("1", 10**3), ("2", 10**3), ("4", 10**4), ("4", 10**5), ("6", 10**6), ("8", 10**6))
    ],
}


class Cell(NamedTuple):
    """A mechanism of the catalogue, a number of users and a delta."""

    slug: str
    sizes: tuple[tuple[str, object], ...]
    eps0: str
    n: int
    delta: str

    @property
    def shown_sizes(self):
        return ", ".join(f"{name} = {value}" for name, value in self.sizes)

    def __str__(self):
        sizes = " ".join(f"{name}={value}" for name, value in self.sizes)
        return f"{self.slug} {sizes} eps0={self.eps0} n={self.n} delta={self.delta} "

    @property
    def key(self):
        return self.slug, self.shown_sizes, self.eps0, str(self.n), self.delta

    @property
    def mechanism(self):
        budget = {"eps0": self.eps0} if self.eps0 else {}
        return by_name(self.slug)(**dict(self.sizes), **budget)


def cells():
    """All cells; the first ones cover all mechanisms."""
    members = [(slug, cls.typical, any(p.name == "eps0" for p in cls.declared)) for slug, cls in catalogue().items()]
    members.append(("krr", {"k": 2}, True))
    members += [(slug, sizes, any(p.name == "eps0" for p in by_name(slug).declared)) for slug, sizes in NOISE]
    for delta in DELTAS:
        for n in USERS:
            for eps0 in ("1", "4", "2", "8", "1/2"):
                for slug, sizes, has_budget in members:
                    if has_budget or eps0 == "1":
                        yield Cell(slug, tuple(sizes.items()), eps0 if has_budget else "", n, delta)
        if delta == DELTAS[0]:
            for rows in PRINTED.values():
                yield from (Cell(slug, tuple(sizes.items()), eps0, n, delta) for slug, sizes, eps0, n in rows)


@contextmanager
def at_most(seconds):
    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def computed(cell, effort="default"):
    """The row of a cell: the answer, and the blanket, or all methods for a table of reference values.

    A bound is empty where the analysis does not apply, or takes too long. ``seconds`` are those of the answer.
    """
    mechanism, found = cell.mechanism, {}
    is_printed = cell.key in {c.key for group in PRINTED.values() for c in as_cells(group)}
    started = time.process_time()
    with at_most(MOST_SECONDS):
        best = sa.epsilon(mechanism, n=cell.n, delta=cell.delta, gap=GAP, effort=effort)
    seconds = time.process_time() - started
    for method in METHODS if is_printed else METHODS[:1]:
        names = (method, "worst_pair") if method == "blanket" else (method,)  # of noise it is that of the worst pair
        for name in names:
            with suppress(SymampError, TimeoutError), at_most(MOST_SECONDS):
                found[method] = sa.epsilon(mechanism, n=cell.n, delta=cell.delta, method=name, gap=GAP).upper
                break
    least = min([(best.upper, best.method), *((x, m) for m, x in found.items())])
    bounds = [f"{found[m]:.6g}" if m in found else "" for m in METHODS]
    lower = [f"{least[0]:.6g}", least[1], f"{best.lower:.6g}", str(best.dataset or "")]
    return [*cell.key, *bounds, *lower, f"{seconds:.2f}", effort]


def finished():
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {tuple(row[name] for name in FIELDS[:5]): row for row in csv.DictReader(file)}


def run(pattern, effort="default", again=False):
    done = finished()
    todo = [c for c in dict.fromkeys(cells()) if re.search(pattern, str(c))]
    todo = [c for c in todo if (again and is_apart(done[c.key]) if c.key in done else not again)]
    for i, cell in enumerate(todo):
        try:
            row = computed(cell, effort)
        except (SymampError, TimeoutError) as error:
            print(f"{i + 1}/{len(todo)} {cell}: {error!r}", flush=True)
            continue
        print(f"{i + 1}/{len(todo)} {cell}: {' '.join(row[5:])}", flush=True)
        new, old = dict(zip(FIELDS, row, strict=True)), done.get(cell.key)
        if old is None or ratio(new) < ratio(old):
            done[cell.key] = new
            store(done)


def is_apart(row):
    """Whether the ends are further apart than half a per cent, or than the goal."""
    return not (ratio(row) or inf) <= min(goal(row) or SHARE, SHARE)


def store(rows):
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, restval="default", lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for _, row in sorted(rows.items(), key=lambda row: in_order(*row[0])))


# ------------------------------------------------------------------------------------------------------ exact instances


def divergence_of_count(first, second, order, others):
    """The divergence of the number of ones, in fractions: the others send a one with the given probabilities."""
    law = [Fraction(1)]
    for p in others:
        law = [a * (1 - p) + b * p for a, b in zip([*law, 0], [0, *law], strict=True)]
    gains = first - order * second, (1 - first) - order * (1 - second)
    return sum(max(gains[0] * a + gains[1] * b, 0) for a, b in zip([0, *law], [*law, 0], strict=True))


def binary_instance(t, n, order):
    """(worst composition, users at the other input, constant) for binary response, exactly."""
    one, zero = Fraction(t, t + 1), Fraction(1, t + 1)
    values = [divergence_of_count(one, zero, order, [one] * (n - 1 - c) + [zero] * c) for c in range(n)]
    return max(values), values.index(max(values)), max(values[0], values[-1])


def exact_instances():
    for t, n, order in ((2, 3, Fraction(21, 20)), (2, 5, Fraction(5, 4)), (3, 7, Fraction(7, 5))):
        worst, moved, constant = binary_instance(t, n, order)
        print(f"binary response, t = {t}, n = {n}, E = {order}: {worst} with {moved} moved, constant {constant}")


# ----------------------------------------------------------------------------------------------------------- the page


def number(row, name):
    return float(row[name]) if row[name] else None


def ratio(row, name="upper"):
    value, lower = number(row, name), number(row, "lower")
    return value / lower if value is not None and lower and value < float("inf") else None


def quartiles(values):
    ordered = sorted(v for v in values if v is not None)
    return (ordered[0], ordered[len(ordered) // 2], ordered[-1]) if ordered else None


def in_catalogue(rows):
    keys = {c.key for c in cells()} - {c.key for group in PRINTED.values() for c in as_cells(group)}
    return [row for key, row in rows.items() if key in keys]


def as_cells(group):
    return [Cell(slug, tuple(sizes.items()), eps0, n, DELTAS[0]) for slug, sizes, eps0, n in group]


def summary(rows):
    """How many cells are within 1 % and 5 %, per mechanism and in all, before and after."""
    groups = defaultdict(list)
    for row in in_catalogue(rows):
        groups[f"{row['mechanism']} ({row['sizes']})" if row["sizes"] else row["mechanism"]].append(row)
    groups = {**dict(sorted(groups.items())), "**all**": [row for some in groups.values() for row in some]}
    yield "| mechanism | cells | blanket/lower: least, median, largest | least upper/lower | within 0.5 % (blanket) | within 5 % (blanket) | which bound is least |"  # noqa: E501
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, some in groups.items():
        texts = []
        for column in ("blanket", "upper"):
            found = quartiles(ratio(row, column) for row in some)
            texts.append(", ".join(f"{v:.4f}" for v in found) if found else "")
        counts = []
        for share in (1.005, 1.05):
            both = [sum((ratio(r, c) or 9.0) <= share for r in some) for c in ("upper", "blanket")]
            counts.append(f"{both[0]} ({both[1]})")
        methods = ", ".join(f"{m} {c}" for m, c in Counter(row["method"] for row in some).most_common())
        yield f"| {name} | {len(some)} | {' | '.join([*texts, *counts])} | {methods} |"


SHARE = 1.005
CAUSES = {
    "plane": "The set of points is not given but its diameter: the lower end holds in every such set, and so does the "
    "upper one. Sets differ by more than that ([Metric privacy](../proofs/metric.md), last section).",
    "cut": "Noise with unbounded ratios and few users: single messages far out decide, with ratios of about nε. They "
    "are bounded by themselves; where few messages of middling ratios decide, too, that over all data sets is poor, "
    "and the blanket may be the least that is known ([Noise on an interval](../proofs/interval.md)).",
    "few": "Few positive messages decide: no parameters of the bound over all data sets suit all inputs, or all pairs.",
    "shared": "Pairs of inputs share parameters: those of a cell of pairs, or of a large table, by moments.",
    "boxes": "What boxes of pairs and cells of inputs leave of the bound on an interval: 2 to 4 % in δ, which is the "
    "more in ε the larger δ is ([Noise on an interval](../proofs/interval.md)).",
    "flat": "Very many users, by the normal law, whose error takes 0.1 to 0.3 % of δ, which is more in ε where δ is "
    "near the divergence at ε = 0 ([very many users](../proofs/all_data_sets.md)).",
}


def cause(row):
    """Why the two ends of a cell are apart."""
    if row["mechanism"] == "planar-laplace":
        return "plane"
    if row["mechanism"] in {"gaussian", "discrete-gaussian"} and int(row["n"]) <= 10**4:
        return "cut"
    if row["method"] == "interval" and (ratio(row) or inf) <= SHARE:
        return "boxes"
    if int(row["n"]) < 10**6:
        return "few"
    return "shared" if row["mechanism"] in {"collision-narrow", "discrete-laplace"} else "flat"


def share(rows):
    """How many cells are within half a per cent, in all and by delta."""
    rows = in_catalogue(rows)
    for name, some in {
        "all": rows,
        "where the set of inputs is given, which is all but planar Laplace noise": [
            r for r in rows if r["mechanism"] != "planar-laplace"
        ],
        "named mechanisms other than noise": [r for r in rows if r["mechanism"] not in {slug for slug, _ in NOISE}],
        "ε₀ ≤ 4, n ≥ 10⁴": [r for r in rows if Fraction(r["eps0"] or "1") <= 4 and int(r["n"]) >= 10**4],
    }.items():
        near, before = (sum((ratio(r, c) or inf) <= SHARE for r in some) for c in ("upper", "blanket"))
        yield f"- {name}: {near} of {len(some)} cells ({100 * near / len(some):.1f} %), with the blanket {before}"
    for aim in (1.002, 1.01):
        asked = [ratio(r) or inf for r in rows if goal(r) == aim and r["mechanism"] != "planar-laplace"]
        yield f"- within the goal of {aim}, but for planar noise: {sum(x <= aim for x in asked)} of {len(asked)} cells"
    more = Counter(r["mechanism"] for r in rows if r["effort"] != "default")
    listed = ", ".join(f"{name} {count}" for name, count in sorted(more.items()))
    yield f"- with `effort='thorough'`: {sum(more.values())} of all cells ({listed}); all others by default"


def apart(rows):
    """All cells whose ends are further apart than half a per cent, by cause."""
    groups = defaultdict(lambda: defaultdict(list))
    for row in in_catalogue(rows):
        if not (ratio(row) or inf) <= SHARE:
            groups[cause(row)][row["mechanism"]].append(row)
    yield "| cause | mechanism | cells | largest upper/lower | where: eps0, n, delta |"
    yield "| --- | --- | --- | --- | --- |"
    for name, text in CAUSES.items():
        for mechanism, some in sorted(groups[name].items()):
            worst = max(some, key=lambda r: ratio(r) or inf)
            where = "; ".join(f"{r['eps0'] or '-'}, {int(r['n']):.0e}, {r['delta']}" for r in some[:8])
            more = "; ..." * (len(some) > 8)
            yield f"| {text} | {mechanism} | {len(some)} | {ratio(worst) or inf:.4f} | {where}{more} |"
            text = ""


def goal(row):
    """How near the ends should be: None where nothing is asked."""
    n, eps0 = int(row["n"]), Fraction(row["eps0"] or "1")
    return 1.002 if n >= 10**4 and eps0 <= 4 else 1.01 if n == 10**3 and eps0 <= 2 else None


def missed(rows):
    """The cells with eps0 <= 4 and n >= 10^4, or eps0 <= 2 and n = 10^3, further apart than asked, by cause."""
    asked, groups = Counter(), defaultdict(lambda: defaultdict(list))
    for row in in_catalogue(rows):
        if (most := goal(row)) is not None:
            name = f"{row['mechanism']} ({row['sizes']})" if row["sizes"] else row["mechanism"]
            asked[name] += 1
            if not (ratio(row) or inf) <= most:
                groups[cause(row)][name].append(row)
    yield "| cause | mechanism | cells | further apart | largest upper/lower | where: eps0, n, delta, upper/lower |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for kind, text in CAUSES.items():
        for name, some in sorted(groups[kind].items()):
            bad = sorted(some, key=lambda r: -(ratio(r) or inf))
            cells = "; ".join(
                f"{r['eps0'] or '-'}, {int(r['n']):.0e}, {r['delta']}, {ratio(r) or inf:.4f}" for r in bad[:8]
            )
            more = "; ..." * (len(bad) > 8)
            yield f"| {text} | {name} | {asked[name]} | {len(bad)} | {ratio(bad[0]) or inf:.4f} | {cells}{more} |"
            text = ""


def printed(rows, group):
    """Certified values of a table of reference values."""
    yield "| mechanism | eps0 | n | blanket | envelope | all data sets | two messages | lower | upper/lower |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for cell in as_cells(group):
        if cell.key in rows:
            row = rows[cell.key]
            values = " | ".join(f"{number(row, m):.5f}" if row[m] else "" for m in (*METHODS, "lower"))
            shown = ratio(row)
            ends = "" if shown is None else f"{shown:.4f}"
            yield f"| {cell.slug} ({cell.shown_sizes}) | {cell.eps0} | {cell.n:.0e} | {values} | {ends} |"


def in_order(slug, sizes, eps0, n, delta):
    return slug, sizes, Fraction(eps0 or "0"), int(n), -float(delta)


def write(rows):
    store(rows)
    text = PAGE.read_text(encoding="utf-8")
    tables = {
        "summary": summary(rows),
        "share": share(rows),
        "apart": apart(rows),
        "missed": missed(rows),
        **{name: printed(rows, group) for name, group in PRINTED.items()},
    }
    for name, lines in tables.items():
        block = "\n".join([f"<!-- {name} -->", "", *lines, "", "<!-- end -->"])
        text = re.sub(rf"<!-- {name} -->.*?<!-- end -->", lambda _, b=block: b, text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")
    plot(in_catalogue(rows))


def plot(rows):
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "symamp", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt

    names = sorted({row["mechanism"] for row in rows}, reverse=True)
    figure, axis = plt.subplots(figsize=(7, 6), layout="constrained")
    for name, colour, label, shift in (
        ("blanket", "#c0504d", "blanket", 0.15),
        ("upper", "#4c9f70", "least bound", -0.15),
    ):
        points = [(max(ratio(r, name), 1.00001), names.index(r["mechanism"]) + shift) for r in rows if ratio(r, name)]
        axis.plot(*zip(*points, strict=True), "o", color=colour, markersize=3, alpha=0.5, label=label)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set(xscale="log", xlabel="upper bound / best lower bound on eps")
    axis.legend(fontsize=8)
    figure.savefig(PLOT, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", default="", help="regular expression of the cells to compute")
    parser.add_argument("--apart", action="store_true", help="those that are finished and apart, anew")
    parser.add_argument("--effort", default="default", help="how long searches may go on")
    parser.add_argument("--no-cells", action="store_true", help="only write the tables and the plot")
    options = parser.parse_args()
    exact_instances()
    if not options.no_cells:
        run(options.cells, options.effort, options.apart)
    write(finished())


if __name__ == "__main__":
    main()
