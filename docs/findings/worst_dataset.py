"""Which neighbouring data sets are worst: exact maps for small n, certified comparisons for large n.

Run: python docs/findings/worst_dataset.py (about two minutes). Writes worst_dataset.txt, worst_dataset.svg and
worst_dataset_boundary.svg beside it.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from random import Random
from typing import NamedTuple

import flint
import sympy as sp
from flint import arb

import symamp as sa
from symamp.bounds.reduction import dataset_reduction
from symamp.laws.law import Level
from symamp.sums.divergence import Settings, enclose_divergence

HERE = Path(__file__).parent
GRID = 24
KINDS = {"D": "constant, x* distinct", "0": "constant, x* = x0", "1": "constant, x* = x1", "M": "mixed"}


def response(k, t):
    return sa.RandomizedResponse(k=k, eps0=f"log({t})")


def rappor(D, t):
    return sa.UnaryEncoding.rappor(D=D, eps0=f"log({t})")


def orders(t, steps=GRID):
    """Rational E with log E close to j/steps * log t, j = 0, ..., steps - 1."""
    return [Fraction(round(float(t) ** (j / steps) * 1000), 1000) for j in range(steps)]


def level(E):
    return f"log({E})" if E != 1 else 0


def kind(found):
    """D, 0 or 1 if a data set with constant others attains the maximum, M if only mixed ones do."""
    kinds = set()
    for best in found.maximisers:
        if len(set(best.others)) > 1:
            kinds.add("M")
        else:
            kinds.add({best.x0: "0", best.x1: "1"}.get(best.others[0], "D"))
    return next((c for c in "D01M" if c in kinds), "-")


def constant(mechanism, n, E, kinds="D01"):
    """The largest divergence of (x0, x*, ..., x*) against (x1, x*, ..., x*), over x* of the given kinds; 0 if none."""
    symmetric = not isinstance(mechanism, sa.FiniteMechanism)  # the families asked here are symmetric in all inputs
    inputs = (mechanism.table() if symmetric else mechanism).inputs
    pairs = [("x0", "x1")] if symmetric else list(permutations(inputs, 2))
    values = (
        sa.exact.divergence(mechanism, [x0, *[other] * (n - 1)], [x1, *[other] * (n - 1)], level(E)).exact
        for x0, x1 in pairs
        for other in (inputs[:3] if symmetric else inputs)
        if {x0: "0", x1: "1"}.get(other, "D") in kinds
    )
    return max(values, default=sp.Integer(0))


def rows(mechanism, t, users, steps=GRID):
    """Yield one Row for each number of users."""
    for n in users:
        kinds, first, gain = "", None, Fraction(1)
        for E in orders(t, steps):
            found = sa.exact.worst_dataset(mechanism, n, level(E))
            kinds += kind(found)
            if kinds[-1] == "M":
                gain = max(gain, Fraction(str(found.value.exact / constant(mechanism, n, E))))
            if kinds[-1] != "D" and first is None and (distinct := constant(mechanism, n, E, "D")):
                first = (E, found.value.lower, Fraction(str(found.value.exact / distinct)))
        yield Row(n, kinds, gain, first)


class Row(NamedTuple):
    """Kinds over the grid of E; the largest truth / best constant data set; where distinct x* fails first."""

    n: int
    kinds: str
    gain: Fraction
    first: tuple | None

    def __str__(self):
        text = f"n = {self.n:2d}  {self.kinds}  truth / best constant <= {float(self.gain):.5f}"
        if self.first and self.kinds[0] == "D":
            E, delta, ratio = self.first
            text += f"; first exception at E = {E}, delta = {delta:.3g}: truth / best distinct = {float(ratio):.5f}"
        return text


def random_mechanism(seed):
    """Three inputs, three or four messages, weights of 1 to 9."""
    rng = Random(seed)
    messages = 3 + seed % 2
    weights = [[rng.randint(1, 9) for _ in range(messages)] for _ in range(3)]
    return sa.FiniteMechanism(
        {f"x{i}": {f"y{j}": Fraction(w, sum(row)) for j, w in enumerate(row)} for i, row in enumerate(weights)}
    )


def local_ratio(mechanism):
    return max(Fraction(str(max(c))) / Fraction(str(min(c))) for c in zip(*mechanism.rows, strict=True))


# ------------------------------------------------------------------------------------------------------- many users


def law(k, E, other):
    """Values and probabilities of G for k-ary response with ratio t, as a function of t: others all hold ``other``."""

    def at(t):
        z = t + k - 1
        weight = [[t if i == j else arb(1) for j in range(3)] for i in range(3)]
        parts = [((weight[0][j] - E * weight[1][j]) / weight[other][j], weight[other][j] / z) for j in range(3)]
        return [*parts, (1 - E, (k - 3) / z)]

    return at


def generating(parts, theta):
    total = arb(0)
    for value, mass in parts:
        total += mass * (theta * value).exp()
    return total


def slope(parts, theta):
    total = arb(0)
    for value, mass in parts:
        total += mass * value * (theta * value).exp()
    return total


def least(parts):
    """Enclose log of min over theta > 0 of E e^{theta G}: a convex function between two tangents."""
    low, high = 0.0, 1.0
    while not slope(parts, arb(high)) > 0:
        high *= 2
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(parts, arb(middle)) > 0 else (middle, high)
    a, b = arb(low), arb(high)
    below = generating(parts, a) + slope(parts, a) * (b - a)
    return below.log(), generating(parts, b).log()


def distinct_minus_same(k, t, E):
    """Enclose the difference of the exponential rates of delta, x* distinct minus x* = x0."""
    with flint.ctx.workprec(128):
        e = arb(E.numerator) / E.denominator
        d, s = (least(law(k, e, other)(arb(t))) for other in (2, 0))
        return d[0] - s[1], d[1] - s[0]


def threshold(k, t, digits=4):
    """Bracket the eps/eps0 at which the rates of x* distinct and x* = x0 cross, with certified signs at both ends."""
    low, high = 1, 10**digits - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if distinct_minus_same(k, t, share(t, middle, digits))[0] > 0 else (low, middle)
    assert distinct_minus_same(k, t, share(t, high, digits))[1] < 0
    return low / 10**digits, high / 10**digits


def same_is_worse_from(k, t, high):
    """Certify that x* = x0 has the larger rate at all multiples of eps0/100 from ``high`` on."""
    for percent in range(math.ceil(100 * high), 100):
        assert distinct_minus_same(k, t, share(t, percent, 2))[1] < 0


def share(t, j, digits):
    return Fraction(round(float(t) ** (j / 10**digits) * 10**9), 10**9)


def crossing(k, t, n, digits=3):
    """Return a point of a grid of eps/eps0 at which x* distinct is certified to be worse than x* = x0, and delta there.

    At the next point of the grid it is not.
    """
    mechanism = response(k, t)
    laws = [dataset_reduction(mechanism, ("x0", "x1"), ((x, sp.Integer(1)),)).law for x in ("x2", "x0")]
    low, high = 10, 10**digits - 1
    value = arb(0)
    while high - low > 1:
        middle = (low + high) // 2
        at = Level.of_float(middle / 10**digits * math.log(t))
        distinct, same = (enclose_divergence(each, at, n, Settings(gap=1e-4)) for each in laws)
        if distinct.lower.lower() >= same.upper.upper():
            low, value = middle, distinct.lower
        else:
            high = middle
    with flint.ctx.workprec(64):
        return low / 10**digits, float((value.log() / arb(10).log()).mid())


# ------------------------------------------------------------------------------------------------------------- all


MAPS = (
    ("2-RR", lambda t: response(2, t), (3, 9), range(2, 25)),
    ("3-RR", lambda t: response(3, t), (3, 9), (*range(2, 25), 30, 40)),
    ("4-RR", lambda t: response(4, t), (3, 9), range(2, 15)),
    ("5-RR", lambda t: response(5, t), (3, 9), range(2, 12)),
    ("RAPPOR D=2", lambda t: rappor(2, t), (4, 9), range(2, 25)),
    ("RAPPOR D=3", lambda t: rappor(3, t), (4, 9), range(2, 13)),
)
MANY = ((3, 3), (5, 3), (10, 3), (3, 9), (10, 9))
RESPONSES, RATIOS = (3, 4, 5, 10, 100), (2, 3, 9, 20)
USERS = (10, 30, 100, 300, 1000, 3000, 10_000)


def plot(maps, crossings, thresholds):
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "symamp", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    colours = {"D": "#4c9f70", "0": "#e0a030", "1": "#7b6fb0", "M": "#c0504d"}
    figure, axes = plt.subplots(3, 4, figsize=(13, 9.2), layout="constrained")
    for axis, (title, table) in zip(axes.flat, maps.items(), strict=False):
        table = [row for row in table if row.n < 25]
        users = [row.n for row in table]
        cells = [["D01M".index(c) for c in row.kinds] for row in table]
        axis.imshow(
            cells, aspect="auto", origin="lower", cmap=ListedColormap(list(colours.values())), vmin=0, vmax=3,
            extent=(-0.5 / GRID, 1 - 0.5 / GRID, users[0] - 0.5, users[-1] + 0.5), interpolation="nearest",
        )  # fmt: skip
        axis.set(title=title, xlabel="eps / eps0", ylabel="n")
    patches = [Patch(color=colours[c], label=text) for c, text in KINDS.items()]
    figure.legend(handles=patches, loc="outside lower center", ncol=4)
    figure.savefig(HERE / "worst_dataset.svg", metadata={"Date": None})
    figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for i, (k, t) in enumerate(MANY):
        axis.semilogx(USERS, [crossings[k, t, n][0] for n in USERS], "o-", color=f"C{i}", label=f"{k}-RR, t = {t}")
        axis.axhline(thresholds[k, t][0], color=f"C{i}", linestyle=":", linewidth=1)
    axis.set(xlabel="n", ylabel="eps / eps0", title="above: x* = x0 is worse than x* distinct; dotted: the limit")
    axis.legend(fontsize=8)
    figure.savefig(HERE / "worst_dataset_boundary.svg", metadata={"Date": None})


def main():
    lines, maps = [], {}
    for name, make, ratios, users in MAPS:
        for t in ratios:
            title = f"{name}, t = {t}"
            maps[title] = list(rows(make(t), t, users))
            lines.append(f"{title}: one column for each E = t^(j/{GRID}), rounded to 1/1000, j = 0, ..., {GRID - 1}")
            lines += [f"  {row}" for row in maps[title]]
            print("\n".join(lines[-len(maps[title]) - 1 :]), flush=True)
    lines.append("50 random mechanisms: t, then for n = 2, 4, 6, 8, 10 the kinds over E = t^(j/12)")
    counts, never, gain = Counter(), 0, Fraction(1)
    for seed in range(50):
        mechanism = random_mechanism(seed)
        t = local_ratio(mechanism)
        table = list(rows(mechanism, t, (2, 4, 6, 8, 10), 12))
        found = " ".join(row.kinds for row in table)
        gain = max(gain, *(row.gain for row in table))
        counts.update(found.replace(" ", ""))
        never += "D" not in found
        lines.append(f"  {seed:2d}  t = {t!s:6}  {found}")
        print(lines[-1], flush=True)
    shares = ", ".join(f"{KINDS[c]}: {counts[c]}" for c in KINDS)
    lines.append(f"  cells of each kind: {shares}; in {never} mechanisms distinct x* is never worst")
    lines.append(f"  truth / best constant <= {float(gain):.5f}")
    thresholds = {(k, t): threshold(k, t) for k in RESPONSES for t in RATIOS}
    for (k, t), (_, high) in thresholds.items():
        same_is_worse_from(k, t, high)
    crossings = {(k, t, n): crossing(k, t, n) for k, t in MANY for n in USERS}
    lines.append(
        "k-RR, x* distinct against x* = x0: largest eps/eps0 at which distinct is worse, and log10 delta there"
    )
    for k, t in MANY:
        cells = "  ".join(f"n={n}: {crossings[k, t, n][0]:.3f}, {crossings[k, t, n][1]:.1f}" for n in USERS)
        lines.append(f"  k = {k}, t = {t}: {cells}")
        print(lines[-1], flush=True)
    lines.append("k-RR: bracket of the eps/eps0 at which the exponential rates of x* distinct and x* = x0 cross")
    for t in RATIOS:
        lines.append(f"  t = {t}: " + ", ".join(f"k = {k}: {thresholds[k, t]}" for k in RESPONSES))
        print(lines[-1], flush=True)
    (HERE / "worst_dataset.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    plot(maps, crossings, thresholds)


if __name__ == "__main__":
    main()
